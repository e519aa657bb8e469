"""Numbers of vertices within some hops of each vertex, exactly or by HyperLogLog counters.

A counter is a row of registers. The hash of a vertex chooses a register, and its rank is one more than the number of
leading zeros of its other bits; the register holds the largest rank of all vertices counted. The counter of a union is
the maximum of the counters, register by register, so one iteration over the out-edges turns counters of h hops into
those of h + 1.

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

BATCH = 64  # searches at once
SIZES = 16, 32, 64, 128, 256, 512, 1024  # numbers of registers
BITS = 53  # bits of a hash whose leading zeros are counted: a float64 holds 53 bits exactly
COPIES = 2  # copies of the counters in memory: one for the next values is kept with the graph
AT_ONCE = 1 << 16  # registers estimated at once, so that their powers of two stay in the core's cache
MANY_AT_ONCE = 1 << 24  # this limit on a GPU, where each step costs a few launches


class Counters(VertexProgram):
    """counter(v) = max of counter over v and its out-neighbors, register by register. Ends: registers only grow."""

    direction = "out"
    type = option(None)
    counter = vertex(type)
    reduce = semirings.max

    def gather(self, src, dst, edge):
        return src.counter

    def apply(self, vertex, gathered):
        return {"counter": semirings.maximum(vertex.counter, gathered)}


def check_registers(registers: Any, seed: Any) -> tuple[int | None, int]:
    """Return the number of registers, None to count exactly, and the seed."""
    given = whole_number("seed", seed, MOST_SEED)
    if registers is None:
        return None, given
    if whole_number("registers", registers) not in SIZES:
        raise ValueError(
            f"registers is {registers}; expected a power of two from {SIZES[0]} to {SIZES[-1]}, or None: exact"
        )
    return int(registers), given


def counters_by_hops(graph: Graph, registers: int, seed: int, hops: int | None = None) -> Iterator[Any]:
    """Yield counters of the vertices within 0, 1, 2, … hops of each vertex, until none changes, all in one array."""
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
        given: Any = {"out": {"counter": counters}} if graph.is_whole else {"counter": counters}
        result = step(active=active, max_iterations=1, **given)
        if not len(result.active):
            return
        counters, active, done = result.counter, result.active, done + 1


def exact_sizes(graph: Graph, hops: int) -> Any:
    """Return the number of vertices within some hops of each vertex, by searches from all of them."""
    xp: Any = module_of(graph.device)
    sizes = xp.zeros(graph.n)
    for some, levels in _searches(graph, hops):
        sizes[some] = (levels >= 0).sum(axis=1)
    return sizes


def exact_pairs(graph: Graph) -> Any:
    """Return the number of pairs of vertices at distance 0, 1, 2, …, by searches from all vertices."""
    xp: Any = module_of(graph.device)
    counts = xp.zeros(1, np.int64)
    for _, levels in _searches(graph, None):
        more = xp.bincount(levels[levels >= 0])
        longer = xp.zeros(max(len(more), len(counts)), np.int64)
        longer[: len(counts)] += counts
        longer[: len(more)] += more
        counts = longer
    return counts


def _searches(graph: Graph, hops: int | None) -> Iterator[tuple[slice, Any]]:
    for first in track(range(0, graph.n, BATCH), "batches of sources"):
        some = as_numbers(graph, list(range(first, min(first + BATCH, graph.n))))
        yield slice(first, first + len(some)), multi_source_bfs(graph, some, depth_limit=hops)


def _of_each(graph: Graph, registers: int, seed: int) -> Any:
    """Return the counter of each vertex alone: one register has the rank of the hash of its id."""
    xp: Any = module_of(graph.device)
    hashes = splitmix64(np.uint64(seed), xp.arange(graph.n, dtype=np.uint64))
    register = (hashes & np.uint64(registers - 1)).astype(np.int64)
    length = xp.frexp((hashes >> np.uint64(64 - BITS)).astype(np.float64))[1]  # the number of bits
    counters = xp.zeros((graph.n, registers), np.uint8)
    counters[xp.arange(graph.n), register] = (BITS + 1 - length).astype(np.uint8)
    return counters


def estimates(counters: Any) -> Any:
    """Return how many vertices each counter has counted, as float64. Registers that are still 0 tell small numbers."""
    xp: Any = array_module(counters)
    counters = xp.asarray(counters)
    n, m = counters.shape
    alpha = {16: 0.673, 32: 0.697, 64: 0.709}.get(m, 0.7213 / (1 + 1.079 / m))
    estimated, step = xp.empty(n), (AT_ONCE if xp is np else MANY_AT_ONCE) // m
    for i in range(0, n, step):
        some = counters[i : i + step]
        raw, empty = alpha * m * m / _negative_powers(some).sum(axis=1), (some == 0).sum(axis=1)
        is_small = (raw <= 2.5 * m) & (empty > 0)
        estimated[i : i + step] = xp.where(is_small, m * xp.log(m / xp.maximum(empty, 1)), raw)
    return estimated


def _negative_powers(exponents: Any) -> Any:
    """Return 2 to the power of minus each uint8, as float64.

    Its bits are the exponent, plus 1023, above 52 bits of 0.
    """
    return ((np.int64(1023) - exponents) << np.int64(52)).view(np.float64)
