"""Walk programs on the GPU: the text of a kernel for each, a thread a walker, and how it is launched."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gasla.gpu.runtime import compile as gpu
from gasla.graph.lists_gpu import C_TYPES
from gasla.program.tracing import Function
from gasla.program.walk_plan import Input, WalkBinding, WalkPlan
from semirings.printers import cuda

Array = Any  # CuPy's

THREADS = 256  # of a block
NULL = np.uint64(0)

SOURCE = """\
typedef {vertex_t} vertex_t;
typedef {offset_t} offset_t;
constexpr bool weighted = {weighted};
{prelude}
#include "walks.cuh"

{functions}
struct Program {{
    static constexpr bool stops = {stops}, restarts = {restarts}, accepts = {accepts}, looks_up = {looks_up};
    const offset_t* indptr;
    const vertex_t* indices;
    gasla::u64 self_n;
{members}

{methods}
}};

extern "C" __global__ void walk(
    gasla::u64 walkers, gasla::u64 steps, gasla::u64 n, const offset_t* indptr, const vertex_t* indices,
    const double* sums, const gasla::u32* guides, const offset_t* near_indptr, const vertex_t* near_indices,
    const vertex_t* starts, gasla::u64 key, double bound, gasla::u64* complaint, vertex_t* walks{parameters}
) {{
    const Program program = {{indptr, indices, n{given}}};
    const gasla::Near near = {{near_indptr, near_indices, n}};
    const gasla::Complaint noted = {{complaint}};
    gasla::walk_all(program, walkers, steps, sums, guides, near, starts, key, bound, noted, walks);
}}
"""
METHOD = """\
    __device__ __forceinline__ {kind} {name}({takes}) const {{
{lines}
    }}"""
AT_VERTEX, AT_EDGE = "const gasla::Walker& walker", "const gasla::Walker& walker, gasla::u64 k"


def walk(walking: WalkBinding, starts: Array, steps: int, key: int, weights: tuple[Array, Array] | None) -> Array:
    """Walks of so many steps, a row a walker."""
    import cupy

    plan, lists, count = walking.plan, walking.graph.out, len(starts)
    walks = cupy.empty((count, steps + 1), lists.indices.dtype)
    if not count:
        return walks
    complaint: Any = cupy.zeros(4, np.uint64) if plan.functions else NULL
    kernel = _kernel(plan, lists.indptr.dtype.itemsize, weights is not None, gpu.device())
    blocks = min(-(-count // THREADS), kernel.blocks)
    kernel.plain(blocks, *arguments(walking, starts, key, weights, complaint, walks))
    if plan.functions:
        check_complaint(walking, complaint.get())
    return walks


def arguments(
    walking: WalkBinding, starts: Array, key: int, weights: tuple[Array, Array] | None, complaint: Array, walks: Array
) -> list[Any]:
    """What the kernel is passed."""
    plan, graph = walking.plan, walking.graph
    lists, near = graph.out, graph.sorted_out if plan.pair_count else graph.out
    bound = walking.bound() if plan.accepts else 1.0
    return [
        *(np.uint64(walks.shape[0]), np.uint64(walks.shape[1] - 1), np.uint64(graph.n), lists.indptr, lists.indices),
        *((NULL, NULL) if weights is None else weights),
        *(near.indptr, near.indices, starts, np.uint64(key)),
        *(np.float64(bound), complaint, walks, *walking.arrays()),
    ]


def check_complaint(walking: WalkBinding, words: np.ndarray) -> None:
    """Refuse what a kernel has noted."""
    if words[0]:
        walking.refuse(int(words[0]) - 1, int(words[1]), int(words[2]), float(words[3:].view(np.float64)[0]))


@functools.cache
def _kernel(plan: WalkPlan, offset_size: int, weighted: bool, device: int) -> gpu.Kernel:
    return gpu.Kernel(source(plan, offset_size, weighted), "walk", THREADS, blocks_per_multiprocessor=32)


def source(plan: WalkPlan, offset_size: int = 4, weighted: bool = False) -> str:
    """The kernel of a program, for offsets of so many bytes."""
    functions = plan.functions
    members = [(_ctype(one), one.name) for one in plan.inputs]
    methods = [_method(plan, name, "double", AT_VERTEX) for name in ("stop", "restart") if name in functions]
    methods += [_method(plan, "range", "auto", AT_EDGE), *_pairs(plan)] if plan.pair_count else []
    methods += [_accept(plan)] if plan.accepts else []
    return SOURCE.format(
        vertex_t=C_TYPES[plan.traced.id_type.itemsize],
        offset_t=C_TYPES[offset_size],
        weighted=_flag(weighted),
        prelude=cuda.PRELUDE,
        functions="\n".join(cuda.function(f.printed, f.symbols, f.result) for f in functions.values()),
        stops=_flag(plan.stops),
        restarts=_flag(plan.restarts),
        accepts=_flag(plan.accepts),
        looks_up=_flag(plan.pair_count > 0),
        members="\n".join(f"    {kind} {name};" for kind, name in members),
        methods="\n".join(methods),
        parameters="".join(f", {kind} {name}" for kind, name in members),
        given="".join(f", {name}" for _, name in members),
    )


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _ctype(one: Input) -> str:
    return cuda.ctype(one.type) if one.is_number else f"const {cuda.ctype(one.type)}*"


def _method(plan: WalkPlan, name: str, kind: str, takes: str) -> str:
    """A function of where a walker is, which loads what the program's own reads."""
    return METHOD.format(
        kind=kind, name=name, takes=takes, lines=f"        return {_called(plan, plan.functions[name])};"
    )


def _pairs(plan: WalkPlan) -> list[str]:
    """The ends of edges that accept asks for."""
    return [_method(plan, f"pair_{number}", "auto", AT_EDGE) for number in range(plan.pair_count)]


def _accept(plan: WalkPlan) -> str:
    """What accept gives, with what is looked up for that."""
    lines = []
    for i in range(plan.pair_count):
        lines.append(f"const auto ends_{i} = pair_{i}(walker, k);")
        lines.append(f"const bool near_{i} = near.has((gasla::u64)ends_{i}.item0, (gasla::u64)ends_{i}.item1);")
    lines.append(f"return {_called(plan, plan.functions['accept'])};")
    text = "\n".join(f"        {line}" for line in lines)
    return METHOD.format(kind="double", name="accept", takes=f"{AT_EDGE}, const gasla::Near& near", lines=text)


def _called(plan: WalkPlan, f: Function) -> str:
    return f"{f.printed}({', '.join(_load(*f.sources[s.name]) for s in f.symbols)})"


def _load(role: str, field: str) -> str:
    """What a symbol of a function stands for, where a walker has drawn the edge at position `k`."""
    known = {
        ("previous", "id"): "walker.previous",
        ("self", "start"): "walker.start",
        ("self", "step"): "(long long)walker.step",
        ("self", "n"): "(long long)self_n",
    }
    if (role, field) in known:
        return known[role, field]
    if role in ("self", "near"):
        return f"{role}_{field}"
    if role == "other":
        return f"v_{field}"
    if role == "edge":
        return f"e_{field}[k]"
    at = {"vertex": "walker.v", "target": "indices[k]"}[role]
    if field == "id":
        return at
    return f"(long long)(indptr[{at} + 1] - indptr[{at}])" if field == "out_degree" else f"v_{field}[{at}]"
