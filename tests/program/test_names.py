"""Names that people give: no name of a class, a field, a parameter or an aggregate breaks generated source."""

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import names, stages
from gasla.cpu.kernels import queues
from gasla.cpu.program import generate
from gasla.gpu.program.generate import Module
from gasla.gpu.program.plan import Variant
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph
from tests.helpers import ROOT
from tests.helpers.reference_engine import Reference

HOSTILE = [  # of fields, edge fields, parameters and aggregates, in turn
    *("rank", "class", "np", "x", "old_rank", "double", "named_x", "x_combine", "t", "größe", "ſ", "combine_x"),
    *("two words", "a-b", "mask_", "self", "only", 'x"""\nraise SystemExit\n"""', "//\\\n#error", "n" * 150),
    *("", "of_rank", "{x}", "名"),
]
GRAPH = Graph.from_edges([0, 0, 1, 2, 3, 4, 5, 5], [1, 2, 3, 3, 4, 0, 0, 2], np.arange(1, 9))


def total(values: Any) -> Any:
    """A sum of what may be nothing."""
    return sum(values, np.int64(0))


def of(record: Any, some: Sequence[str]) -> list[Any]:
    """Some fields of a record."""
    return [getattr(record, name) for name in some]


def everything(every: Sequence[str], everyone: bool = True, title: str = "P") -> Any:
    """A program whose fields, edge fields, parameters and aggregates have such names, and which uses all of them."""
    kinds = ["vertex", "edge", "parameter", "aggregate"]
    kind = dict(zip(every, itertools.cycle(kinds)))
    fields, edges, parameters, aggregates = ([n for n in every if kind[n] == k] for k in kinds)

    def gather(self, src, dst, edge):
        return total([*of(src, fields), *of(dst, fields[:3]), *of(edge, edges), *of(self, parameters)])

    def apply(self, vertex, gathered):
        more = total(of(self, aggregates)) if everyone else 0
        return {n: (gathered + more + x + i) % 1009 for i, (n, x) in enumerate(zip(fields, of(vertex, fields)))}

    def activate(self, before, after):
        return getattr(after, fields[0]) != getattr(before, fields[1])

    def scatter(self, src, dst, edge):
        pairs = zip(edges[1:], of(src, fields), of(dst, fields), strict=False)
        return {n: x + 2 * y for n, x, y in pairs}

    def post_apply(self, vertex):
        return {n: x + 1 for n, x in zip(fields[2:], of(vertex, fields[2:]), strict=True)}

    def measured(i: int) -> Any:
        return lambda self, before, after: getattr(after, fields[i]) - getattr(before, fields[0])

    body = {
        **{n: gasla.vertex(np.int64, init=i) for i, n in enumerate(fields)},
        **{n: gasla.edge(np.int64, init=None if i == 0 else i) for i, n in enumerate(edges)},
        **{n: gasla.parameter(np.int64, i) for i, n in enumerate(parameters)},
        **({n: gasla.aggregate(semirings.plus, np.int64)(measured(i)) for i, n in enumerate(aggregates)}),
        **{f.__name__: f for f in (gather, apply, activate, scatter, post_apply)},
        "mask": lambda self, vertex: total(of(vertex, fields)) >= getattr(self, parameters[0]),
        "edge_mask": lambda self, src, dst, edge: getattr(src, fields[0]) != getattr(edge, edges[0]) + 5000,
        "stop": lambda self: total(of(self, aggregates)) == -1,
        "reduce": semirings.plus,
        "everyone": everyone,
    }
    return type(title, (gasla.VertexProgram,), body)


def nearest(every: Sequence[str], title: str = "P") -> Any:
    """Shortest paths, near vertices first, whose fields have such names."""
    distance, weight, limit, bonus = every[:4]

    def gather(self, src, dst, edge):
        return getattr(src, distance) + getattr(edge, weight)

    body = {
        distance: gasla.vertex(np.float64, init=np.inf),
        bonus: gasla.vertex(np.float64, init=1),
        weight: gasla.edge(np.float64),
        limit: gasla.parameter(np.float64, 100),
        "gather": gather,
        "edge_mask": lambda self, src, dst, edge: getattr(edge, weight) < getattr(self, limit),
        "apply": lambda self, vertex, g: {distance: semirings.minimum(getattr(vertex, distance), g)},
        "priority": lambda self, vertex: getattr(vertex, distance) * getattr(vertex, bonus),
        "reduce": semirings.min,
    }
    return type(title, (gasla.VertexProgram,), body)


@pytest.mark.parametrize("everyone", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_programs_run_whatever_their_names(everyone: bool) -> None:
    declared = everything(HOSTILE, everyone, title="{x}/\n")
    fields, parameters = list(declared.vertex_fields), list(declared.parameters)
    start, values = {fields[0]: {0: 3}, fields[1]: np.full(6, 2)}, {parameters[-1]: 7}
    reference = Reference(declared(**values), GRAPH, **start).run(None, 4)
    result = gasla.run(declared(**values), GRAPH, max_iterations=4, **start)
    for name, expected in {**reference.vertex, **reference.edge, **reference.aggregates}.items():
        assert declared.edge_fields.get(name, gasla.edge(int)).is_value or (getattr(result, name) == expected).all()
    assert len({*result.state, *result.aggregates}) == len(HOSTILE) - len(parameters) - 1


@pytest.mark.slow
def test_stages_and_priorities_whatever_the_names() -> None:
    some = ["two words", "class", "größe", "old_x"]
    found = gasla.run(nearest(some), GRAPH, active=[0], **{"two words": {0: 0}}).state["two words"]
    assert found.tolist() == [0, 1, 2, 4, 9, np.inf]
    state = stages.start(nearest(some), GRAPH, **{"two words": {0: 0}})
    with pytest.raises(AttributeError, match="write into it"):
        setattr(state, "two words", 1)
    frontier = gasla.Frontier(6, [0])
    while frontier:
        receivers = stages.contract(state, stages.expand(state, frontier))
        frontier = stages.apply(state, receivers, stages.gather(state, receivers))
    assert getattr(state, "two words").tolist() == found.tolist()


@pytest.mark.thorough
@pytest.mark.parametrize("mode", [{"row_lanes": 1}, {"small": True}, {"staged": True}], ids=str)
def test_kernels_compile_whatever_the_names(mode: dict[str, Any]) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    module = Module(everything(HOSTILE, title="\\\n#error */").traced(), Variant(np.dtype(np.int32), **mode))
    assert compile_source(module.source, "compute_90")


def test_no_name_of_a_person_meets_one_of_the_engines() -> None:
    """Each of a person's follows a prefix and an underscore, with which none of the engines' own begins."""
    marked = [f"MARK{i}" for i in range(24)]
    programs = [everything(marked), everything(marked, everyone=False), nearest(marked)]
    i4 = np.dtype(np.int32)
    shapes: list[dict[str, Any]] = [
        *({}, {"staged": True}, {"small": True}),
        *({"row_lanes": 1}, {"row_lanes": 8, "relabelled": True}),
    ]
    texts = {
        "cpu": [gasla.source(p) for p in programs] + [generate.plan(p, i4, staged=True).source_text for p in programs],
        "cuda": [Module(p.traced(), Variant(i4, **shape)).source for p in programs for shape in shapes],
    }
    for language, sources in texts.items():
        found = {name for text in sources for name in re.findall(r"(?<!gasla::)\b[A-Za-z_]\w*", text)}
        found |= {*vars(queues)} if language == "cpu" else set()
        prefixes = {name.partition("_MARK")[0] for name in found if "MARK" in name}
        assert {name for name in found if "MARK" in name} <= {f"{p}_{m}" for p in prefixes for m in marked}
        others = {name for name in found if "MARK" not in name} | prefixes
        meetings = {(p, name.removeprefix(f"{p}_")) for p in prefixes for name in others if name.startswith(f"{p}_")}
        # A parameter of a printed function may be called `vertex_t`, as that type is not used there.
        kept = {(p, rest) for p in prefixes for rest in ("", *gasla.VertexProgram._kept_names())}
        assert meetings <= kept | {("vertex", "t")}


def test_inner_names_are_distinct_identifiers_that_lead_back() -> None:
    every = [*HOSTILE, *map(names.inner, HOSTILE), *(names.inner(names.inner(name)) for name in HOSTILE)]
    inner = {name: names.inner(name) for name in every}
    assert len(set(inner.values())) == len(set(every))
    assert all(names.given(text) == name and text.isascii() and text.isidentifier() for name, text in inner.items())


@pytest.mark.parametrize("name", ["options", "traced", "at", "parameters", "vertex_fields", "has", "_x"])
def test_names_of_a_programs_own_parts_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"P\.{name}: this name is gasla's own"):
        type("P", (gasla.VertexProgram,), {name: gasla.vertex(np.int32)})


def test_names_too_long_for_files_are_refused() -> None:
    for name in ("x" * 151, "é" * 40):
        with pytest.raises(ValueError, match=rf"P\.{name}: this name is too long; choose a shorter one"):
            type("P", (gasla.VertexProgram,), {name: gasla.vertex(np.int32)})


def test_messages_say_the_name_that_was_given() -> None:
    declared = nearest(["two words", "a-b", "c d", "e"])
    for given, kind, message in [
        ({"two words": "one"}, TypeError, r"P\.two words starts with <U3"),
        ({"two words": {9: 1}}, ValueError, r"P\.two words is given for vertex 9"),
        ({"named_two_20_words": 1}, TypeError, "no field 'named_two_20_words' to start with; expected some of: e, two"),
    ]:
        with pytest.raises(kind, match=message):
            gasla.run(declared, GRAPH, **given)
    with pytest.raises(TypeError, match=r"P\.c d is 'x'"):
        gasla.run(declared(**{"c d": "x"}), GRAPH)


def test_any_title_can_be_generated_from() -> None:
    for k, title in enumerate(("a/b", "../x", "y" * 500, 'P"""\nraise SystemExit\n"""')):
        assert generate.plan(nearest([f"a{k}", "b", "c", "d"], title), np.dtype(np.int32)).printed


def test_the_guide_lists_the_names_that_gasla_keeps() -> None:
    guide = (ROOT / "docs" / "guide" / "programs.md").read_text(encoding="utf8")
    (said,) = [
        " ".join(part.split())
        for part in guide.split("\n\n")
        if part.startswith("Fields, parameters, aggregates and options may have")
    ]
    of_vertex_programs, of_walk_programs = said.split("what results have: ")[1].split("A `WalkProgram` keeps")
    kept = {*gasla.VertexProgram._kept_names(), *gasla.VertexProgram._kept_of_edges}
    assert set(re.findall("`([a-z_]+)`", of_vertex_programs)) == kept
    assert set(re.findall("`([a-z_]+)`", of_walk_programs)) == gasla.WalkProgram._kept_names().keys()


@pytest.mark.parametrize(
    ("program", "name", "why"),
    [
        (gasla.VertexProgram, "state", "attribute of every result"),
        (gasla.VertexProgram, "active", "argument of gasla.run"),
        (gasla.VertexProgram, "key", "function that a program may have"),
        (gasla.VertexProgram, "in_degree", "every vertex has it"),
        (gasla.VertexProgram, "everyone", "setting of every program"),
        (gasla.VertexProgram, "traced", "attribute of every program"),
        (gasla.VertexProgram, "_x", "begins with _"),
        (gasla.WalkProgram, "steps", "argument of gasla.walk"),
        (gasla.WalkProgram, "step", "attribute of self"),
    ],
)
def test_an_error_on_a_kept_name_says_why_lists_all_and_suggests_one(program: Any, name: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        type("P", (program,), {name: gasla.vertex(np.int32)})
    assert all(each in str(caught.value) for each in program._kept_names())
    (suggested,) = re.findall("such as '([a-z_]+)'", str(caught.value))
    type("P", (program,), {suggested: gasla.vertex(np.int32)})


def test_the_function_of_an_aggregate_is_no_type() -> None:
    with pytest.raises(TypeError, match=r"the type of an aggregate is .*; expected a type such as np.float64"):
        gasla.aggregate(semirings.plus, lambda self, before, after: after.level)
