"""Strongly connected components: sets of vertices that reach each other along edges.

There are three steps, the cheapest first. Trimming repeatedly removes vertices without in-edges or without out-edges,
each of which is a component. Two searches from a pivot, a vertex of many edges, then find the vertices that the pivot
reaches and those that reach it. Their intersection is the one large component that most graphs have.

The remaining vertices are colored. Some vertices, the seeds, propagate their ranks forward, and each vertex keeps the
largest rank as its color. The vertices of a color that reach its seed are the component of the seed. The other vertices
are split by color, since no component has two colors. Seeds are drawn at random: a few at first, and eight times as
many in each further round. If all vertices were seeds at once, many vertices would be recolored often wherever paths
are long.

Graphs of at most `ONE_THREAD` vertices and edges, on the CPU, are searched depth-first
(`primitives.strong_components`).
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.components.connected_components import ComponentsResult
from gasla.arrays import any_true, array_module, module_of
from gasla.graph.graph import Graph, as_graph
from gasla.operations.ahead import compile_ahead
from gasla.operations.on_one_device import on_one_device
from gasla.operations.phases import Phase
from gasla.operations.primitives import fits_one_thread, number, strong_components
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, aggregate, option, parameter, vertex
from gasla.rows import Row, groups

ONE_THREAD = 1 << 18  # largest number of vertices and edges of a graph that one thread searches
FIRST_SEEDS = 8  # approximate number of seeds, the vertices from which searches start, in the first round
GROWTH = 3  # each round has 2 ** GROWTH times as many seeds as the round before
# golden ratio: multiples of it have evenly spread fractional parts, so ranks of vertices are spread
GOLDEN = (5**0.5 - 1) / 2


class Sources(VertexProgram):
    """waits(v) = the number of in-edges of v from vertices that are not trimmed. If it is 0, v is trimmed.

    A trimmed vertex is on no cycle, so it is a component of its own.
    """

    waits = vertex(ID, init=lambda vertex: vertex.in_degree)
    reduce = semirings.plus
    sources = "active"

    def gather(self, src, dst, edge):
        return semirings.cast(1, src.id.dtype)

    def apply(self, vertex, gathered):
        return {"waits": vertex.waits - gathered}

    def activate(self, before, after):
        return after.waits == 0


class Sinks(Sources):
    """waits(v) = the number of out-edges of v to vertices that are not trimmed. If it is 0, v is trimmed.

    A trimmed vertex is on no cycle, so it is a component of its own.
    """

    waits = vertex(ID, init=lambda vertex: vertex.out_degree)
    direction = "out"


class Descendants(VertexProgram):
    """reached(v) = whether a path leads from the pivot to v, or with direction "out" from v to the pivot.

    The pivot is a vertex of many edges. Only vertices in the mask `left` are searched, whose component is not known.
    """

    direction = option("in")
    left = vertex(bool)
    reached = vertex(bool)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.left & ~vertex.reached

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"reached": True}


class Color(VertexProgram):
    """color(v) = the largest rank of a seed from which a path leads to v within v's region, or -1 if there is none.

    Seeds are a random sample of vertices. A region is a set of vertices that contains whole components.
    """

    region = vertex(ID)
    color = vertex(ID)
    reduce = semirings.max

    def start(self, vertex):
        return vertex.color >= 0

    def mask(self, vertex):
        return vertex.region >= 0

    def edge_mask(self, src, dst, edge):
        return src.region == dst.region

    def gather(self, src, dst, edge):
        return src.color

    def apply(self, vertex, gathered):
        return {"color": semirings.maximum(vertex.color, gathered)}


class Mark(VertexProgram):
    """marked(v) = whether a path leads from v to the seed of its color, so that v is in the component of this seed."""

    color = vertex(ID)
    rank = vertex(ID)
    marked = vertex(bool)
    reduce = semirings.any
    direction = "out"
    sources = "active"

    def start(self, vertex):
        return vertex.color == vertex.rank

    def mask(self, vertex):
        return ~vertex.marked

    def edge_mask(self, src, dst, edge):
        return src.color == dst.color

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"marked": True}


class Split(VertexProgram):
    """Divide each region by color, and choose the seeds of the next round.

    A vertex whose component is known gets the region -1 - color, which is negative. The run ends: after 64 / GROWTH
    rounds all remaining vertices are seeds, and from then on each round finds at least the component of the highest
    rank.
    """

    region = vertex(ID)
    color = vertex(ID)
    rank = vertex(ID)
    marked = vertex(bool)
    limit = parameter(np.int64, 1)
    turn = parameter(np.int64, 0)
    everyone = True

    def mask(self, vertex):
        return vertex.region >= 0

    def apply(self, vertex, gathered):
        is_found = vertex.marked | (vertex.color == vertex.rank)
        is_seed = ~is_found & (vertex.rank >> GROWTH * (self.turn + 1) < self.limit)
        rest = semirings.where(vertex.color >= 0, vertex.color, vertex.region)
        return {
            "region": semirings.where(is_found, -1 - vertex.color, rest),
            "color": semirings.where(is_seed, vertex.rank, -1),
            "marked": False,
        }

    def activate(self, before, after):
        return True  # all vertices stay active, so that a round without a seed does not end the run

    @aggregate(semirings.plus)
    def left(self, before, after):
        return semirings.cast(after.region >= 0, np.int64)

    def stop(self):
        return self.left == 0


ROUND = [Phase(Color(), until="still"), Phase(Mark(), until="still"), Phase(Split())]


@on_one_device()
def strongly_connected_components(graph: Any) -> ComponentsResult:
    """Find the strongly connected components of a directed graph.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. Values are ignored.

    Returns
    -------
    ComponentsResult
        A named tuple ``(count, labels)``: the number of components, and the component of each vertex, shape (n,), ids,
        numbered from 0 in the order of the smallest vertex of each component. A vertex on no cycle is a component. The
        result is unique.

    See Also
    --------
    gasla.connected_components : components of the undirected graph.

    Notes
    -----
    Stored zeros are edges. Parallel edges and self loops do not matter. NetworkX's function of this name yields sets of
    vertices.

    References
    ----------
    L. Fleischer, B. Hendrickson, A. Pınar: On Identifying Strongly Connected Components in Parallel. IPDPS Workshops
    2000.

    S. Orzan: On Distributed Verification and Verified Distribution. Thesis, Vrije Universiteit Amsterdam 2004.

    G. Blelloch, Y. Gu, J. Shun, Y. Sun: Parallelism in Randomized Incremental Algorithms. Journal of the ACM 67 (2020).

    Examples
    --------
    A cycle of three vertices, a vertex that it leads to, and an isolated vertex:

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 2, 3, 3], [2, 3, 0, 1], n=5)
    >>> gasla.strongly_connected_components(graph)
    ComponentsResult(count=3, labels=array([0, 1, 0, 0, 2], dtype=int32))
    """
    graph = as_graph(graph)
    if fits_one_thread(graph, ONE_THREAD):
        parent = strong_components(graph)
        return ComponentsResult(number(parent), parent)
    xp: Any = module_of(graph.device)
    compile_ahead(graph, Sources, Sinks, Descendants(direction="in"), Descendants(direction="out"), ROUND)
    parent = xp.arange(graph.n, dtype=graph.id_dtype)  # for each vertex, the smallest vertex of its component
    is_left = run(Sources, graph, active=graph.in_degrees == 0).waits > 0
    is_left &= run(Sinks, graph, active=graph.out_degrees == 0).waits > 0
    if any_true(is_left):
        region = split_by_pivot(graph, is_left, parent)
        if any_true(region >= 0):
            split_by_colors(graph, region, parent)
    return ComponentsResult(number(parent), parent)


def split_by_pivot(graph: Graph, left: Any, parent: Any) -> Any:
    """Find the component of the pivot, a vertex of many edges, and write its smallest vertex into `parent`.

    Return for each vertex the number of its region, a set of vertices that contains whole components, or -1 if the
    vertex's component is known. The regions are told apart by which vertices the pivot reaches and is reached from.
    """
    pivot = int((left * graph.in_degrees.astype(np.int64) * graph.out_degrees).argmax())
    is_reached, reaching = (
        run(Descendants(direction=direction), graph, active=[pivot], left=left, reached={pivot: True}).reached
        for direction in ("in", "out")
    )
    both = is_reached & reaching
    parent[both] = int(both.argmax())
    region = is_reached.astype(parent.dtype) + 2 * reaching
    region[both | ~left] = -1
    return region


def split_by_colors(graph: Graph, region: Any, parent: Any) -> None:
    """Find the strongly connected components of the vertices whose `region` is 0 or more, by propagating colors.

    `parent` is set to the smallest vertex of the component for each of these vertices.
    """
    xp = array_module(region)
    vertices = xp.flatnonzero(region >= 0)
    bits = (graph.n - 1).bit_length()
    rank = shuffled(xp.arange(graph.n, dtype=np.int64), bits).astype(region.dtype)
    limit = (FIRST_SEEDS << bits) // len(vertices) + 1
    color = xp.where((region >= 0) & (rank < limit), rank, region.dtype.type(-1))
    result = run(ROUND, graph, region=region, color=color, rank=rank, limit=limit)
    seed = -1 - result.region[vertices]
    unsigned = np.dtype(f"u{region.itemsize}")  # unsigned, because CuPy's minimum.at takes no int64
    smallest = xp.full(1 << bits, graph.n, unsigned)
    xp.minimum.at(smallest, seed, vertices.astype(unsigned))
    parent[vertices] = smallest[seed]


def shuffled(ids: Any, bits: int) -> Any:
    """Return, for each of `ids`, the number to which a pseudorandom permutation of the numbers below 2 ** bits maps the
    id.

    Odd multiplication and xor-shift are both invertible, so different ids get different numbers.
    """
    for _ in range(2):
        ids = ids * (int(GOLDEN * 2**bits) | 1) & (1 << bits) - 1
        ids ^= ids >> bits // 2 + 1
    return ids


ROW = Row(
    strongly_connected_components,
    groups("strong-components", "component", "components"),
    method="trimming and signatures: ECL-SCC (Alabandi et al., SC 2023); on a CPU PASGAL (SIGMOD 2023)",
    longer="Searches forward and backward in rounds: each has a barrier per level, and components need neither.",
)
