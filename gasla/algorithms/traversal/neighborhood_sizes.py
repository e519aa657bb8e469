"""Numbers of vertices within some hops of each vertex, exactly or by HyperLogLog counters.

A counter is a row of registers. The hash of a vertex chooses a register, and its rank is one more than the number of
leading zeros of its other bits. The register holds the largest rank of all vertices counted. The counter of a union is
the maximum of the counters, register by register. So one iteration over the out-edges turns counters of h hops into
counters of h + 1 hops.

P. Boldi, M. Rosa, S. Vigna: HyperANF: Approximating the Neighbourhood Function of Very Large Graphs on a Budget.
WWW 2011.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.traversal.multi_source_bfs import multi_source_bfs
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import MOST_SEED, whole_number
from gasla.graph.exchange.vertex_names import as_numbers
from gasla.graph.graph import Graph
from gasla.graph.memory_limit import require_room
from gasla.operations.prepare import prepare
from gasla.program import VertexProgram, option, vertex
from gasla.progress import track
from semirings.functions import splitmix64

BATCH = 64  # number of breadth-first searches that run at once
SIZES = 16, 32, 64, 128, 256, 512, 1024  # allowed numbers of registers (bytes of a HyperLogLog counter)
BITS = 53  # number of bits of a hash whose leading zeros are counted; float64 holds 53 bits exactly
# copies of all counters in memory: the current values, and an array for the next ones that is stored with the graph
COPIES = 2
AT_ONCE = 1 << 16  # number of registers in one step of the estimates, so that their powers of two fit in a core's cache
MANY_AT_ONCE = 1 << 24  # number of registers in one step on a GPU, larger because each step launches a few kernels


class Counters(VertexProgram):
    """counter(v) = the maximum of the counters of v and its out-neighbors, register by register.

    A counter is a HyperLogLog sketch of a set of vertices, and this maximum is the counter of the union of the sets.
    Registers only grow, so the run ends.
    """

    direction = "out"
    type = option(None)
    counter = vertex(type)
    reduce = semirings.max

    def gather(self, src, dst, edge):
        return src.counter

    def apply(self, vertex, gathered):
        return {"counter": semirings.maximum(vertex.counter, gathered)}


def check_registers(registers: Any, seed: Any) -> tuple[int | None, int]:
    """Return the arguments `registers` and `seed` after checks. If `registers` is None, counts are exact."""
    seed_number = whole_number("seed", seed, MOST_SEED)
    if registers is None:
        return None, seed_number
    if whole_number("registers", registers) not in SIZES:
        raise ValueError(
            f"registers is {registers}; expected a power of two from {SIZES[0]} to {SIZES[-1]}, or None: exact"
        )
    return int(registers), seed_number


def counters_by_hops(graph: Graph, registers: int, seed: int, hops: int | None = None) -> Iterator[Any]:
    """Yield HyperLogLog counters of the vertices within 0, 1, 2, … hops of each vertex, up to `hops` hops.

    It also ends when no counter changes any more. The same array may be yielded again with new values.
    """
    xp: Any = module_of(graph.device)
    require_room("the counters have", graph.n * registers, COPIES, graph.device, "fewer registers")
    counters = _of_each(graph, registers, seed)
    step = prepare(Counters(type=(np.uint8, (registers,))), graph, deterministic=True)
    active: Any = xp.arange(graph.n)
    done = 0
    while True:
        yield counters
        if done == hops:
            return
        inputs: Any = {"out": {"counter": counters}} if graph.is_whole else {"counter": counters}
        result = step(active=active, max_iterations=1, **inputs)
        if not len(result.active):
            return
        counters, active, done = result.counter, result.active, done + 1


def exact_sizes(graph: Graph, hops: int) -> Any:
    """Return the number of vertices within `hops` hops of each vertex, by searches from all vertices."""
    xp: Any = module_of(graph.device)
    sizes = xp.zeros(graph.n)
    for batch, levels in _searches(graph, hops):
        sizes[batch] = (levels >= 0).sum(axis=1)
    return sizes


def exact_pairs(graph: Graph) -> Any:
    """Return an array with the numbers of pairs of vertices at distance 0, 1, 2, …, by searches from all vertices."""
    xp: Any = module_of(graph.device)
    counts = xp.zeros(1, np.int64)
    for _, levels in _searches(graph, None):
        new_counts = xp.bincount(levels[levels >= 0])
        longer = xp.zeros(max(len(new_counts), len(counts)), np.int64)
        longer[: len(counts)] += counts
        longer[: len(new_counts)] += new_counts
        counts = longer
    return counts


def _searches(graph: Graph, hops: int | None) -> Iterator[tuple[slice, Any]]:
    for batch_start in track(range(0, graph.n, BATCH), "batches of sources"):
        sources = as_numbers(graph, list(range(batch_start, min(batch_start + BATCH, graph.n))))
        yield slice(batch_start, batch_start + len(sources)), multi_source_bfs(graph, sources, depth_limit=hops)


def _of_each(graph: Graph, registers: int, seed: int) -> Any:
    """Return a HyperLogLog counter for each vertex that has counted only the vertex itself, as the counters of 0 hops.

    The hash of the vertex's id decides which register is set, and to which number.
    """
    xp: Any = module_of(graph.device)
    hashes = splitmix64(np.uint64(seed), xp.arange(graph.n, dtype=np.uint64))
    register = (hashes & np.uint64(registers - 1)).astype(np.int64)
    # number of bits of the hash after its leading zeros
    length = xp.frexp((hashes >> np.uint64(64 - BITS)).astype(np.float64))[1]
    counters = xp.zeros((graph.n, registers), np.uint8)
    counters[xp.arange(graph.n), register] = (BITS + 1 - length).astype(np.uint8)
    return counters


def estimates(counters: Any) -> Any:
    """Return an estimate of the number of vertices in each HyperLogLog counter, as float64.

    Small numbers are estimated from the number of registers that are still 0.
    """
    xp: Any = array_module(counters)
    counters = xp.asarray(counters)
    n, m = counters.shape
    alpha = {16: 0.673, 32: 0.697, 64: 0.709}.get(m, 0.7213 / (1 + 1.079 / m))
    estimated, step = xp.empty(n), (AT_ONCE if xp is np else MANY_AT_ONCE) // m
    for i in range(0, n, step):
        block = counters[i : i + step]
        raw, empty = alpha * m * m / _negative_powers(block).sum(axis=1), (block == 0).sum(axis=1)
        is_small = (raw <= 2.5 * m) & (empty > 0)
        estimated[i : i + step] = xp.where(is_small, m * xp.log(m / xp.maximum(empty, 1)), raw)
    return estimated


def _negative_powers(exponents: Any) -> Any:
    """Return 2**-e for each entry e of an array of uint8, as float64, by setting the bits of the floats.

    The exponent field of such a float64 is 1023 - e, above 52 bits of 0.
    """
    return ((np.int64(1023) - exponents) << np.int64(52)).view(np.float64)
