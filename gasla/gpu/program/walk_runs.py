"""Runs random walks on the GPU: generates a kernel for a user's walk program, with one thread per walker, and launches
it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gasla.arrays import current_device
from gasla.gpu.runtime import compile as gpu
from gasla.graph.lists_gpu import C_TYPES
from gasla.program.tracing import Function
from gasla.program.walk_plan import Input, WalkBinding, WalkPlan
from semirings.printers import cuda

Array = Any  # an array of CuPy

THREADS = 256  # threads per block
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
    const double* sums, const gasla::u32* guides, const offset_t* sorted_indptr, const vertex_t* sorted_indices,
    const vertex_t* starts, gasla::u64 first, gasla::u64 key, double bound, gasla::u64* error,
    vertex_t* walks{parameters}
) {{
    const Program program = {{indptr, indices, n{given}}};
    const gasla::SortedLists sorted = {{sorted_indptr, sorted_indices, n}};
    const gasla::FirstError first_error = {{error}};
    gasla::walk_all(program, walkers, steps, sums, guides, sorted, starts, first, key, bound, first_error, walks);
}}
"""
METHOD = """\
    __device__ __forceinline__ {kind} {name}({takes}) const {{
{lines}
    }}"""
AT_VERTEX, AT_EDGE = "const gasla::Walker& walker", "const gasla::Walker& walker, gasla::u64 k"


def walk(
    walking: WalkBinding, starts: Array, steps: int, key: int, weights: tuple[Array, Array] | None, first: int = 0
) -> Array:
    """Run a user's walk program: walk `steps` steps at random from each of the vertices `starts`.

    Return the visited vertices, with one row per walker. `key` is the seed of the random numbers. Walkers are numbered
    from `first` on, and a walker's random numbers depend on its number, so that walks in several batches are the same
    as in one.
    """
    import cupy

    plan, lists, count = walking.plan, walking.graph.out, len(starts)
    walks = cupy.empty((count, steps + 1), lists.indices.dtype)
    if not count:
        return walks
    error: Any = cupy.zeros(4, np.uint64) if plan.functions else NULL
    kernel = _kernel(plan, lists.indptr.dtype.itemsize, weights is not None, current_device())
    blocks = min(-(-count // THREADS), kernel.blocks)
    kernel.plain(blocks, *arguments(walking, starts, first, key, weights, error, walks))
    if plan.functions:
        raise_first_error(walking, error.get())
    return walks


def arguments(
    walking: WalkBinding,
    starts: Array,
    first: int,
    key: int,
    weights: tuple[Array, Array] | None,
    error: Array,
    walks: Array,
) -> list[Any]:
    """Return the arguments for the kernel of a walk program, in the order in which the kernel takes them.

    `first` is the number of the first walker, `key` the seed, and `weights` what walkers need to draw edges by weight,
    or None. The kernel writes the first error to `error`, and the visited vertices to `walks`.
    """
    plan, graph = walking.plan, walking.graph
    lists, ascending = graph.out, graph.sorted_out if plan.pair_count else graph.out
    largest_acceptance = walking.bound() if plan.accepts else 1.0
    return [
        *(np.uint64(walks.shape[0]), np.uint64(walks.shape[1] - 1), np.uint64(graph.n), lists.indptr, lists.indices),
        *((NULL, NULL) if weights is None else weights),
        *(ascending.indptr, ascending.indices, starts, np.uint64(first), np.uint64(key)),
        *(np.float64(largest_acceptance), error, walks, *walking.arrays()),
    ]


def raise_first_error(walking: WalkBinding, words: np.ndarray) -> None:
    """Raise the first error that a walker has recorded, if any. An error is a probability out of range.

    `words` are the four 64-bit words that the kernel writes. The first is 0 if there was no error.
    """
    if words[0]:
        walking.refuse(int(words[0]) - 1, int(words[1]), int(words[2]), float(words[3:].view(np.float64)[0]))


@functools.cache
def _kernel(plan: WalkPlan, offset_size: int, weighted: bool, device: int) -> gpu.Kernel:
    return gpu.Kernel(source(plan, offset_size, weighted), "walk", THREADS, blocks_per_multiprocessor=32)


def source(plan: WalkPlan, offset_size: int = 4, weighted: bool = False) -> str:
    """Return the CUDA source of the kernel that runs a walk program, for adjacency offsets of `offset_size` bytes.

    If `weighted`, walkers draw edges in proportion to their weights.
    """
    functions = plan.functions
    members = [(_input_ctype(value), value.name) for value in plan.inputs]
    methods = [_method_text(plan, name, "double", AT_VERTEX) for name in ("stop", "restart") if name in functions]
    methods += [_method_text(plan, "range", "auto", AT_EDGE), *_pair_methods(plan)] if plan.pair_count else []
    methods += [_accept_method(plan)] if plan.accepts else []
    return SOURCE.format(
        vertex_t=C_TYPES[plan.traced.id_type.itemsize],
        offset_t=C_TYPES[offset_size],
        weighted=_flag(weighted),
        prelude=cuda.PRELUDE,
        functions="\n".join(
            cuda.function(function.printed, function.symbols, function.result) for function in functions.values()
        ),
        stops=_flag(plan.stops),
        restarts=_flag(plan.restarts),
        accepts=_flag(plan.accepts),
        looks_up=_flag(plan.pair_count > 0),
        members="\n".join(f"    {type_name} {name};" for type_name, name in members),
        methods="\n".join(methods),
        parameters="".join(f", {type_name} {name}" for type_name, name in members),
        given="".join(f", {name}" for _, name in members),
    )


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _input_ctype(value: Input) -> str:
    return cuda.ctype(value.type) if value.is_number else f"const {cuda.ctype(value.type)}*"


def _method_text(plan: WalkPlan, name: str, return_type: str, takes: str) -> str:
    """Return a C++ method that calls one of the functions of a user's walk program, such as `stop`.

    The method first loads the fields that the function reads.
    """
    return METHOD.format(
        kind=return_type, name=name, takes=takes, lines=f"        return {_call_text(plan, plan.functions[name])};"
    )


def _pair_methods(plan: WalkPlan) -> list[str]:
    """Return C++ methods that compute, for each `has_edge` call in a walk program's `accept`, the ids of its two
    vertices.
    """
    return [_method_text(plan, f"pair_{pair_number}", "auto", AT_EDGE) for pair_number in range(plan.pair_count)]


def _accept_method(plan: WalkPlan) -> str:
    """Return the C++ method that decides for a walker whether it accepts the edge that it has drawn.

    The method first looks up each edge that the user's function `accept` asks for by `has_edge`. Then it calls that
    function with the answers.
    """
    lines = []
    for i in range(plan.pair_count):
        lines.append(f"const auto ends_{i} = pair_{i}(walker, k);")
        lines.append(f"const bool near_{i} = sorted.has((gasla::u64)ends_{i}.item0, (gasla::u64)ends_{i}.item1);")
    lines.append(f"return {_call_text(plan, plan.functions['accept'])};")
    text = "\n".join(f"        {line}" for line in lines)
    return METHOD.format(kind="double", name="accept", takes=f"{AT_EDGE}, const gasla::SortedLists& sorted", lines=text)


def _call_text(plan: WalkPlan, function: Function) -> str:
    return f"{function.printed}({', '.join(_load_text(*function.sources[symbol.name]) for symbol in function.symbols)})"


def _load_text(source_role: str, field: str) -> str:
    """Return the C++ expression for a value that a walk program reads, such as `walker.start`.

    `source_role` is the parameter of the program's function, such as "vertex" or "edge", and `field` what the function
    reads of it. In the expression, `k` is the position in the adjacency lists of the edge that the walker has just
    drawn.
    """
    expressions = {
        ("previous", "id"): "walker.previous",
        ("self", "start"): "walker.start",
        ("self", "step"): "(long long)walker.step",
        ("self", "n"): "(long long)self_n",
    }
    if (source_role, field) in expressions:
        return expressions[source_role, field]
    if source_role in ("self", "near"):
        return f"{source_role}_{field}"
    if source_role == "other":
        return f"v_{field}"
    if source_role == "edge":
        return f"e_{field}[k]"
    vertex = {"vertex": "walker.v", "target": "indices[k]"}[source_role]
    if field == "id":
        return vertex
    return f"(long long)(indptr[{vertex} + 1] - indptr[{vertex}])" if field == "out_degree" else f"v_{field}[{vertex}]"
