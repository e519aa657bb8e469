"""Writes C++ structs for what a program reads of an edge and its two ends, functions that load these structs, and the
functions that run the program's `scatter` on an edge.
"""

from typing import Any

import numpy as np

from gasla.gpu.program.generate.rendering import edge_member, kind_of, load, rendered
from gasla.gpu.program.generate.syntax import function, struct
from gasla.gpu.program.plan import GpuPlan
from gasla.program.hooks import ALONG
from gasla.program.statements import edge_loads, loads, read, scattered
from semirings.printers import cuda, warp

ROLES = {"Source": "src", "Target": "dst", "Edge": "edge"}


def edge_records(plan: GpuPlan) -> list[str]:
    """Return the C++ structs for what a program reads of an edge and of its two ends, the source and the target.

    The functions that load these structs from memory are returned as well.
    """
    source, target, edge = (_struct_of_fields(plan, name, *ALONG) for name in ("Source", "Target", "Edge"))
    function_texts = [
        source,
        _load_function("Source", "load_source", "vertex_t v", rendered(plan, loads(plan, "src", *ALONG))),
    ]
    function_texts += [_source_by_level(plan)] if plan.read_by_level else []
    function_texts += [
        target,
        _load_function("Target", "load_target", "vertex_t v", rendered(plan, loads(plan, "dst", *ALONG))),
        edge,
    ]
    for list_side, direction_name in (("g", "in"), ("s", "out")):
        lines = rendered(plan, edge_loads(plan, *ALONG), list_side)
        function_texts.append(_load_function("Edge", f"load_edge_{direction_name}", "offset_t e", lines))
    return [*function_texts, *(_hub_functions(plan) if plan.hub_fields else [])]


def scatter(plan: GpuPlan) -> list[str]:
    """Return the C++ functions by which an active vertex runs the program's `scatter` on one of its out-edges."""
    if "scatter" not in plan.functions:
        return []
    source = rendered(plan, loads(plan, "src", "scatter", copy="new"))
    lines = ["if (!c.a.leaving[e]) return;"] if plan.scatters_from_tails else []
    lines += ["ScatterTarget dst;", "ScatterEdge edge;", *rendered(plan, scattered(plan))]
    copy_statements = [
        f"c.a.was_{edge_field}[number] = c.a.e_{edge_field}[number];" for edge_field in sorted(plan.edges_behind)
    ]
    number_lines = [*lines[: plan.scatters_from_tails], "const offset_t number = c.a.se ? c.a.se[e] : e;"]
    catch_up = (
        [function("void catch_up_edge(const Context& c, offset_t e)", [*number_lines, *copy_statements])]
        if copy_statements
        else []
    )
    return [
        *catch_up,
        *(_struct_of_fields(plan, name, "scatter") for name in ("ScatterSource", "ScatterTarget", "ScatterEdge")),
        _load_function("ScatterSource", "load_scatter_source", "vertex_t v", source),
        function("void scatter(const Context& c, const ScatterSource& src, vertex_t v, offset_t e)", lines),
    ]


def _struct_of_fields(plan: GpuPlan, name: str, *functions: str) -> str:
    """Return a C++ struct called `name`, with a member for each field that functions of a program read of an edge.

    For the names "Source" and "Target", the fields are those of one of the edge's ends.
    """
    edge_role = ROLES[name.removeprefix("Scatter")]
    if edge_role != "edge":
        return struct(
            name, [(warp.ctype(kind_of(plan, field)), f"f_{field}") for field in read(plan, edge_role, functions)]
        )
    loads = edge_loads(plan, *functions)
    return struct(name, [(warp.ctype(_edge_kind(plan, x.field)), edge_member(x.role, x.field)) for x in loads])


def _edge_kind(plan: GpuPlan, name: str) -> Any:
    special_types = {"id": np.dtype(np.int64), "leaves": np.dtype(bool)}
    return special_types.get(name) or plan.traced.edge_types[name]


def _load_function(name: str, loader: str, index_parameter: str, lines: list[str]) -> str:
    edge_role = ROLES[name.removeprefix("Scatter")]
    return function(
        f"{name} {loader}(const Context& c, {index_parameter})",
        [f"{name} {edge_role};", *lines, f"return {edge_role};"],
    )


def _source_by_level(plan: GpuPlan) -> str:
    """Return the C++ function that loads a neighbor's fields in a program that runs by a schedule.

    A schedule gives each vertex the iteration in which it is computed. The function loads the current values if the
    neighbor has been computed already, and else the initial values.
    """
    lines = []
    for f in read(plan, "src", ALONG):
        value = load(plan, f)
        if f in plan.read_by_level:
            where = f"(had ? c.a.v_{f} : c.a.from_{f}) + v"
            value = f"gasla::load_if(had || c.a.from_{f}, {where}, v == c.a.at_{f} ? c.a.seed_{f} : c.a.start_{f})"
        lines.append(f"src.f_{f} = {value};")
    return _load_function("Source", "load_by_level", "vertex_t v, bool had", lines)


def _hub_functions(plan: GpuPlan) -> list[str]:
    """Return C++ functions that copy values of hubs (vertices of highest degree) to shared memory and load them."""
    function_texts, byte_offset = [], 0
    stage: list[str] = []
    lines = []
    for field in read(plan, "src", ALONG):
        value = load(plan, field)
        hub = f"gasla::from_either(v < (vertex_t)c.a.hubs, hubs_{field}(c) + v, &{value})"
        lines.append(f"src.f_{field} = {hub if field in plan.hub_fields else value};")
    for field in plan.hub_fields:
        type_name = cuda.ctype(kind_of(plan, field))
        start = ["extern __shared__ double hubs[];", f"return ({type_name}*)((char*)hubs + {byte_offset} * c.a.hubs);"]
        function_texts.append(function(f"{type_name}* hubs_{field}(const Context& c)", start))
        stage.append(f"gasla::stage(hubs_{field}(c), c.a.hubs, [&](vertex_t v) {{ return {load(plan, field)}; }});")
        byte_offset += kind_of(plan, field).itemsize
    function_texts.append(_load_function("Source", "load_hub_or_source", "vertex_t v", lines))
    return [*function_texts, function("void stage_hubs(const Context& c)", stage)]
