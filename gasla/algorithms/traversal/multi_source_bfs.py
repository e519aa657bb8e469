"""Breadth-first searches from many sources at once, in batches of 64.

Each vertex holds two words of 64 bits. They say which of 64 sources have reached it, and which of them reached it in
the last iteration. Neighbors gather these words by bitwise or, so one read of an edge serves 64 searches. The level of
each search is stored in binary, with one word per digit. Batches are faster than single searches if many sources reach
a vertex in the same iteration, or if iterations are so short that a search mostly waits for the next one. A first
search tells whether this is so.
"""

from collections.abc import Hashable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.traversal.bfs import bfs
from gasla.arrays import Device, array_module, fills, module_of
from gasla.graph.arguments import most_iterations, several_vertices
from gasla.graph.graph import Graph, as_graph
from gasla.graph.memory_limit import require_room
from gasla.graph.weights import exact_total
from gasla.operations.on_one_device import on_one_device
from gasla.operations.prepare import prepare
from gasla.operations.result import Result
from gasla.operations.run import run
from gasla.program import VertexProgram, option, parameter, vertex
from gasla.progress import track
from gasla.rows import Row, per_source

WORD = 64  # number of sources per batch, one for each bit of a word
# how many sources, and how many binary digits of their levels, one run of `Rows` turns into rows of levels
ROWS, DIGITS = 8, 4
SHALLOW = 32  # largest depth of a search up to which several sources usually reach a vertex in the same iteration
WORTH = 16  # smallest number of sources for which a batch of 64 searches is faster than single searches


class Limits(NamedTuple):
    """Limits within which batches of 64 searches are faster on a device than single searches.

    There must be at least `sources` sources. If searches mostly wait for the next iteration, the graph may have at most
    `vertices` vertices. If they don't, no vertex may have more than `hub` times the mean degree.
    """

    sources: int
    vertices: float
    hub: float


# These limits were measured on an H100. Single searches are faster there if the words for the levels of all vertices
# far exceed the L2 cache, or if hubs let each single search switch to pulling early.
LIMITS: dict[Device, Limits] = {"cpu": Limits(0, np.inf, np.inf), "gpu": Limits(32, 1 << 21, 64)}


class Arrivals(VertexProgram):
    """seen(v) = the sources that have reached v, as bits. new(v) = the sources that reached v in the last iteration.

    The word that is gathered also contains the bits of seen(v), so that the reduction can stop once all 64 bits are
    set.
    """

    seen = vertex(np.uint64)
    new = vertex(np.uint64)
    reduce = semirings.bor
    sources = "active"

    def mask(self, vertex):
        return vertex.seen != 2**64 - 1

    def gather(self, src, dst, edge):
        return src.new | dst.seen

    def apply(self, vertex, gathered):
        new = gathered & ~vertex.seen
        return {"seen": vertex.seen | new, "new": new}

    def activate(self, before, after):
        return after.new != 0


class BinaryLevels(Arrivals):
    """The program `Arrivals` that also stores levels, by binary digits: bit i of low(v)[j] is digit j of v's level from
    source i.

    With sixteen digits, the upper eight are in high(v), since a GPU can't push a vector of sixteen words.
    """

    digits = option(4)  # number of binary digits in low(v)
    is_high = option(False)  # whether there are eight more binary digits, in high(v)
    low = vertex((np.uint64, (digits,)))
    high = vertex((np.uint64, (8,)), when=is_high)

    def apply(self, vertex, gathered):
        level, new = self.iteration + 1, gathered & ~vertex.seen
        high = {"high": _set_digits(vertex.high, level >> 8, new)} if self.is_high else {}
        return {"seen": vertex.seen | new, "new": new, "low": _set_digits(vertex.low, level, new), **high}


def _set_digits(digits, level, new):
    """Return the binary digits of the levels of 64 searches at a vertex, after the searches in the word `new` reach it.

    These searches get the number `level`. `digits` has a word for each binary digit, with a bit for each search.
    """
    is_set = (level >> np.arange(len(digits))) & 1 != 0
    return digits | semirings.where(is_set, new, semirings.cast(0, np.uint64))


class Rows(VertexProgram):
    """row_i(v) = the level of v in the search from source number `first` + i, for eight sources.

    The levels are read from the words of `BinaryLevels`, which have one binary digit for 64 searches each.

    A run reads four binary digits of the levels, of which the lowest is digit number `up`, and adds them to levels
    above `base`. A row keeps its value where all four digits are 0, or gets -1 there if `fresh`.
    """

    row0, row1, row2, row3, row4, row5, row6, row7 = (vertex(np.int32) for _ in range(ROWS))
    digit0, digit1, digit2, digit3 = (vertex(np.uint64) for _ in range(DIGITS))
    first = parameter(np.uint64, 0)
    up = parameter(np.int32, 0)
    base = parameter(np.int32, 0)
    fresh = parameter(np.int32, 1)
    everyone = True

    def apply(self, vertex, gathered):
        digits = vertex.digit0, vertex.digit1, vertex.digit2, vertex.digit3
        bits = [semirings.cast((digit >> self.first) & 255, np.int32) << j for j, digit in enumerate(digits)]
        rows = {}
        for i in range(ROWS):
            level = sum((bits[j] >> i) & (1 << j) for j in range(DIGITS))
            before = semirings.where(self.fresh != 0, -1, getattr(vertex, f"row{i}"))
            after = semirings.maximum(before, self.base) + (level << self.up)
            rows[f"row{i}"] = semirings.where(level != 0, after, before)
        return rows

    def activate(self, before, after):
        return True


PROGRAMS = {4: BinaryLevels(), 8: BinaryLevels(digits=8), 16: BinaryLevels(digits=8, is_high=True)}


@on_one_device()
def multi_source_bfs(graph: Any, sources: Iterable[Hashable], *, depth_limit: int | None = None) -> np.ndarray:
    """Find the distances from many sources to every vertex, in edges.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Values are ignored.
    sources : ids or names
        The vertices to start from: any number, in any order, repetitions allowed.
    depth_limit : int, optional
        Maximum distance to search to.

    Returns
    -------
    (len(sources), n) int32
        Row i is `gasla.bfs(graph, sources[i])`: 0 at the source, -1 if unreachable.

    Raises
    ------
    TypeError, ValueError
        If a source is not a vertex, the matrix is not square, or `depth_limit` is negative.
    MemoryError
        If the result needs more memory than is available.

    Notes
    -----
    Stored zeros are edges. Parallel edges and self loops do not matter.

    The result takes 4 bytes per source and vertex. Batches need 48 to 144 bytes per vertex besides it, and up to 156
    while levels are unpacked. Sums over many sources, such as closeness, need no levels.

    References
    ----------
    M. Then, M. Kaufmann, F. Chirigati, T.-A. Hoang-Vu, K. Pham, A. Kemper, T. Neumann, H. T. Vo:
    The More the Merrier: Efficient Multi-Source Graph Traversal. PVLDB 8 (2014).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]]))
    >>> gasla.multi_source_bfs(A, [0, 3])
    array([[ 0,  1,  1, -1],
           [ 1,  2,  2,  0]], dtype=int32)
    """
    graph = as_graph(graph)
    source_ids = several_vertices(graph, "sources", sources)
    limit = None if depth_limit is None else most_iterations("depth_limit", depth_limit)
    require_room("the levels have", len(source_ids) * graph.n, 4, graph.device, "fewer sources at a time")
    if source_ids and not graph.is_whole:  # one GPU computes rows faster than it gets them from others
        # ranks divide the sources among them, unless the whole graph does not fit on one rank
        with suppress(MemoryError):
            shared: Any = graph.map_shares(partial(_levels_from, limit), source_ids)
            level_rows: np.ndarray = shared.compute()
            return level_rows
    levels = module_of(graph.device).empty((len(source_ids), graph.n), np.int32)
    if not source_ids:
        return levels
    first_search = probe(graph, source_ids, limit)
    if first_search.is_shared and batches_are_faster(graph, source_ids, first_search):
        digits = next((k for k in PROGRAMS if 2 * first_search.depth < 1 << k), max(PROGRAMS))
        for first_source in track(range(0, len(source_ids), WORD), "batches of sources"):
            _search(
                graph,
                source_ids[first_source : first_source + WORD],
                levels[first_source : first_source + WORD],
                digits,
                limit,
            )
    else:
        for row, source in track(list(enumerate(source_ids)), "sources"):
            levels[row] = first_search.level if row == first_search.which else bfs(graph, source, depth_limit=limit)
    return levels


def _levels_from(limit: int | None, graph: Graph, sources: list[int], first_source: int) -> np.ndarray:
    """Return the levels of all vertices in searches from some sources, with a row for each source.

    If several ranks divide the sources among them, each rank calls this for its own sources.
    """
    return multi_source_bfs(graph, sources, depth_limit=limit)


class Probe(NamedTuple):
    """A first breadth-first search, from one source, and what it tells about searches from all sources."""

    which: int  # index of the source of this search among all sources
    level: Any
    depth: int
    waits: bool  # whether iterations are so short that a search mostly waits at barriers
    is_shared: bool  # whether the searches of a batch share enough work to pay off


def probe(graph: Graph, sources: list[int], depth_limit: int | None = None) -> Probe:
    """Search from the source of the largest degree, to find out whether searches in batches of 64 are faster than
    single ones.
    """
    index = int(graph.out_degrees[module_of(graph.device).asarray(sources)].argmax())
    level = bfs(graph, sources[index], depth_limit=depth_limit)
    depth, reached_count = int(level.max()), exact_total(level >= 0)
    waits = len(sources) > 1 and not fills(graph.device, reached_count / (depth + 1))
    return Probe(index, level, depth, waits, waits or (len(sources) >= WORTH and depth <= SHALLOW))


def batches_are_faster(graph: Graph, sources: list[int], seen: Probe) -> bool:
    """Return whether batches of 64 searches find the levels sooner than single searches, by the limits of the device.

    `seen` is the result of one search.
    """
    limits = LIMITS[graph.device]
    is_skewed = graph.max_out_degree > limits.hub * (graph.m // graph.n + 1)
    return len(sources) >= limits.sources and (graph.n <= limits.vertices if seen.waits else not is_skewed)


def initial_state(graph: Graph, sources: list[int]) -> dict[str, Any]:
    """Return the initial fields of `Arrivals` for up to 64 sources, as words in which bit i stands for source i.

    If there are fewer sources, the other bits are set in `seen` at every vertex, so that they change nothing.
    """
    bits_of_source: dict[int, int] = {}
    for i, source in enumerate(sources):
        bits_of_source[source] = bits_of_source.get(source, 0) | 1 << i
    xp: Any = module_of(graph.device)
    new_bits = xp.zeros(graph.n, np.uint64)
    new_bits[xp.asarray(list(bits_of_source))] = xp.asarray(np.array(list(bits_of_source.values()), np.uint64))
    return {
        "active": list(bits_of_source),
        "seen": new_bits | np.uint64((1 << WORD) - (1 << len(sources))),
        "new": new_bits,
    }


def _search(graph: Graph, sources: list[int], levels: Any, digits: int, limit: int | None) -> None:
    """Search from up to 64 sources at once, and write the levels of vertices into `levels`, which has a row per source.

    The program that searches stores levels as binary numbers of `digits` digits. When the levels no longer fit into
    these digits, another run of the program goes on where the last one ended.
    """
    xp: Any = module_of(graph.device)
    state = initial_state(graph, sources)
    max_level, first_level = (1 << digits) - 1, 0
    while state:
        iterations = max_level if limit is None else min(max_level, limit - first_level)
        result = run(PROGRAMS[digits], graph, max_iterations=iterations, **state)
        _write_levels(graph, result, levels, first_level)
        first_level += iterations
        is_over = result.converged or first_level == limit
        state = {} if is_over else {"active": result.active, "seen": result.seen, "new": result.new}
    levels[xp.arange(len(sources)), xp.asarray(sources)] = 0


def _write_levels(graph: Graph, result: Result, levels: Any, base: int) -> None:
    """Convert the levels of a run from binary digits to numbers, and write them into the rows of `levels`.

    The run began after level `base`, so its levels count from there.
    """
    xp: Any = array_module(levels)
    state = result.state
    digits = [word for name in ("low", "high") if name in state for word in xp.ascontiguousarray(state[name].T)]
    unpack = prepare(Rows, graph)
    for up in range(0, max(result.iterations.bit_length(), 1), DIGITS):
        inputs = {f"digit{j}": word for j, word in enumerate(digits[up : up + DIGITS])}
        options: dict[str, Any] = {"up": up, "base": base, "fresh": base == up == 0}
        for first_row in range(0, len(levels), ROWS):
            rows = {f"row{i}": row for i, row in enumerate(levels[first_row : first_row + ROWS])}
            unpack(first=first_row, **options, out=inputs | rows, max_iterations=1, wait=False)


ROW = Row(
    multi_source_bfs,
    per_source("multi-source-bfs", {"levels": "level"}),
    "multi_source_bfs(g, range(40))",
    method="MS-BFS: 64 searches in the bits of a word (Then et al., PVLDB 8, 2014)",
    longer="64 searches share the reading of edges, but 64 levels are written for each vertex.",
)
