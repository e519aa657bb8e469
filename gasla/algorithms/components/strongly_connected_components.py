"""Strongly connected components: which vertices reach each other along the edges.

Returned are the number of components and a label for each vertex: 0, 1, ... in the order of each component's smallest
vertex. A vertex on no cycle is a component of its own.

Three steps follow each other, the cheapest first. A vertex without in-edges, or without out-edges, is a component of
its own: it is trimmed, and so are those that lose their last such edge by that. Most graphs have one large component:
the vertices that a vertex of many edges both reaches and is reached by, as two searches tell. The rest is colored:
some vertices, the seeds, send their numbers forward, and each vertex keeps the largest. Those of a color that reach
its seed are the seed's component; the others are split by color, as no component has vertices of two colors. Seeds
are drawn by lot, a few first, and sixteen times as many in each turn, up to all. If all were seeds at once, a vertex
would be colored time and again on the way to its last color, wherever paths are long.

L. Fleischer, B. Hendrickson, A. Pınar: On Identifying Strongly Connected Components in Parallel. IPDPS Workshops 2000.
S. Orzan: On Distributed Verification and Verified Distribution. Thesis, Vrije Universiteit Amsterdam 2004 (coloring).
G. Blelloch, Y. Gu, J. Shun, Y. Sun: Parallelism in Randomized Incremental Algorithms. Journal of the ACM 67 (2020).
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.components.connected_components import ComponentsResult
from gasla.arrays import array_module
from gasla.graph.graph import Graph, as_graph
from gasla.operations.phases import Phase
from gasla.operations.primitives import number
from gasla.operations.run import run
from gasla.program.fields import ID, aggregate, parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram

FIRST = 8  # seeds of the first turn, about
GROWTH = 3  # in each further turn there are 2 ** GROWTH times as many
GOLDEN = (5**0.5 - 1) / 2  # its multiples' fractional parts are spread evenly


class Sources(VertexProgram):
    """waits(v) = how many in-edges come from vertices that are left; v is taken off at 0."""

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
    """waits(v) = how many out-edges lead to vertices that are left."""

    waits = vertex(ID, init=lambda vertex: vertex.out_degree)
    direction = "out"


class Descendants(VertexProgram):
    """Marks the vertices that are reached, of those that are left; with direction "out" those that reach it."""

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
    """color(v) = the largest rank of a seed that reaches v within its region, -1 if none does."""

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
    """Marks the vertices that reach the seed of their color."""

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
    """Makes a region of each color's rest, and draws the next seeds; a component's region is below 0, and its own.

    Ends: after 64 / GROWTH turns all vertices that are left are seeds, and from then on each turn finds the component
    of the highest rank.
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
        return True  # a turn without a seed is not the last

    @aggregate(semirings.plus)
    def left(self, before, after):
        return semirings.cast(after.region >= 0, np.int64)

    def stop(self):
        return self.left == 0


TURN = [Phase(Color(), until="still"), Phase(Mark(), until="still"), Phase(Split())]


def strongly_connected_components(graph: Any) -> ComponentsResult:
    """Find the strongly connected components of a directed graph.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j; values are not looked at, so that stored zeros are edges.

    Returns
    -------
    ComponentsResult
        A named tuple ``(count, labels)``: the number of components, and for each vertex the number of its own, from 0
        in the order of each component's smallest vertex. Labels are of the type of ids, on the device of the graph.
        There is one right answer.

    See Also
    --------
    gasla.connected_components : the direction of edges aside.

    Notes
    -----
    NetworkX's function of this name gives sets of vertices, one after another.

    References
    ----------
    L. Fleischer, B. Hendrickson, A. Pınar: On Identifying Strongly Connected Components in Parallel. IPDPS Workshops
    2000.

    S. Orzan: On Distributed Verification and Verified Distribution. Thesis, Vrije Universiteit Amsterdam 2004.

    G. Blelloch, Y. Gu, J. Shun, Y. Sun: Parallelism in Randomized Incremental Algorithms. Journal of the ACM 67 (2020).

    Examples
    --------
    A cycle of three, one that it leads to, and one alone.

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 2, 3, 3], [2, 3, 0, 1], n=5)
    >>> gasla.strongly_connected_components(graph)
    ComponentsResult(count=3, labels=array([0, 1, 0, 0, 2], dtype=int32))
    """
    graph = as_graph(graph)
    xp = array_module(graph.out.indptr)
    parent = xp.arange(graph.n, dtype=graph.id_dtype)  # the smallest of its component
    left = run(Sources, graph, active=graph.in_degrees == 0).waits > 0
    left &= run(Sinks, graph, active=graph.out_degrees == 0).waits > 0
    if left.any():
        region = split_by_pivot(graph, left, parent)
        if (region >= 0).any():
            split_by_colors(graph, region, parent)
    return ComponentsResult(number(parent), parent)


def split_by_pivot(graph: Graph, left: Any, parent: Any) -> Any:
    """Take off the component of a vertex of many edges; a region for each vertex, out of which no component leads."""
    pivot = int((left * graph.in_degrees.astype(np.int64) * graph.out_degrees).argmax())
    after, before = (
        run(Descendants(direction=way), graph, active=[pivot], left=left, reached={pivot: True}).reached
        for way in ("in", "out")
    )
    both = after & before
    parent[both] = int(both.argmax())
    region = after.astype(parent.dtype) + 2 * before
    region[both | ~left] = -1
    return region


def split_by_colors(graph: Graph, region: Any, parent: Any) -> None:
    """Find the components of those whose region isn't below 0, from where on they are known."""
    xp = array_module(region)
    some = xp.flatnonzero(region >= 0)
    bits = (graph.n - 1).bit_length()
    rank = shuffled(xp.arange(graph.n, dtype=np.int64), bits).astype(region.dtype)
    limit = (FIRST << bits) // len(some) + 1
    color = xp.where((region >= 0) & (rank < limit), rank, region.dtype.type(-1))
    found = run(TURN, graph, region=region, color=color, rank=rank, limit=limit)
    seed = -1 - found.region[some]
    unsigned = np.dtype(f"u{region.itemsize}")  # CuPy's minimum.at has no int64
    smallest = xp.full(1 << bits, graph.n, unsigned)
    xp.minimum.at(smallest, seed, some.astype(unsigned))
    parent[some] = smallest[seed]


def shuffled(ids: Any, bits: int) -> Any:
    """Other numbers below 2 ** bits, all different: a product with an odd number is undone, and so is such a xor."""
    for _ in range(2):
        ids = ids * (int(GOLDEN * 2**bits) | 1) & (1 << bits) - 1
        ids ^= ids >> bits // 2 + 1
    return ids
