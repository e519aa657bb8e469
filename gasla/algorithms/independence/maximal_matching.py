"""Maximal matching: edges of which no two share an end, and to which no other could be added.

Returned is the mate of every vertex.

Every free vertex chooses the best of its edges to free neighbors, and the two ends of an edge that both choose are
mates. Better is the heavier edge; among those of a weight the one with an end of fewer edges, which else may find all
its neighbors taken; and among those the one whose ends' numbers agree in more of their leading bits. No two edges of a
vertex are as good: `u ^ v` tells them apart, and the other end. So some vertex always finds a mate, and the matching is
the one that takes edges from the best to the worst, those whose ends are free. Most graphs take few rounds, and a path
along which weights rise half as many as vertices: after `ROUNDS` of them the edges that are left are put in order, and
taken one after the other.
No edge outweighs what its ends are matched by, so that all weigh at least half of what the heaviest matching does.

R. Preis: Linear Time 1/2-Approximation Algorithm for Maximum Weighted Matching in General Graphs. STACS 1999.
F. Manne, R. H. Bisseling: A Parallel Approximation Algorithm for the Weighted Maximum Matching Problem. PPAM 2007.
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import module_of, moved
from gasla.graph.arguments import check_flags, check_weights
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import sum_type
from gasla.operations.run import run
from gasla.program.fields import ID, edge, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram

FEW = 255  # edges, up to which their number counts
BITS = 48  # of a vertex's number, above which that of edges stands
NONE = 2**63 - 1  # no edge to a free neighbor
ROUNDS = 64  # after which edges are sorted


def _of_edges(vertex):
    edges = vertex.in_degree + vertex.out_degree
    return semirings.cast(semirings.minimum(edges, FEW), np.uint8)


class Free(VertexProgram):
    """degree(v) = how many edges v has, while it is free and has a free neighbor, and then 0."""

    degree = vertex(np.uint8, init=_of_edges)
    best = vertex(np.int64, missing=NONE)
    everyone = True

    def mask(self, vertex):
        return vertex.degree != 0

    def activate(self, before, after):
        return after.degree != 0


class Choose(Free):
    """best(v) = the best of the edges to free neighbors, or of the heaviest: a number, the less the better."""

    weights = option(None)  # their type, where heavier edges are better
    reduce = option(semirings.min)  # argmin by weight
    direction = option("in")
    weight = edge(weights, when=weights)

    def gather(self, src, dst, edge):
        degree = semirings.cast(semirings.minimum(src.degree, dst.degree), np.int64)
        is_free = (src.degree != 0) & (src.id != dst.id)
        offered = semirings.where(is_free, degree << BITS | (src.id ^ dst.id), semirings.cast(NONE, np.int64))
        if not self.weights:
            return offered
        kind = self.weights
        reversed_order, last = (-edge.weight, np.inf) if kind.kind == "f" else (~edge.weight, np.iinfo(kind).max)
        return semirings.where(offered == NONE, semirings.cast(last, kind), reversed_order), offered

    def apply(self, vertex, gathered):
        best = gathered[1] if self.weights else gathered
        is_last = best == NONE  # no neighbor is free any more: it drops out
        return {"best": best, "degree": semirings.where(is_last, semirings.cast(0, np.uint8), vertex.degree)}


class Agree(Free):
    """mate(v) = the other end of the edge that v chose, if that one chose it too.

    Ends after n / 2 turns: the best edge that is left is the choice of both its ends.
    """

    mate = vertex(ID, init=-1)

    def apply(self, vertex, gathered):
        other = vertex.id ^ semirings.cast(vertex.best & (2**BITS - 1), vertex.id.dtype)
        has_mate = self.at(other).best == vertex.best
        degree = semirings.where(has_mate, semirings.cast(0, np.uint8), vertex.degree)
        return {"mate": semirings.where(has_mate, other, -1), "degree": degree}


def maximal_matching(graph: Any, *, weighted: bool = False) -> np.ndarray:
    """The mate of every vertex in a matching to which no edge could be added.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is an edge between i and j, in either direction. A loop is no edge; of parallel edges, the two
        directions among them, the heaviest counts.
    weighted : bool
        Whether heavier edges, by the matrix's values, are better; otherwise it is as many edges as it may find.

    Returns
    -------
    (n,) array of ids
        The mate of each vertex, -1 where it has none: `mate[mate[v]] == v`. One of many such matchings, and not the
        largest; the same every time, on either device. It has at least half the edges of the largest; with
        `weighted=True`, and no negative weights, at least half the weight of the heaviest.

    Raises
    ------
    ValueError
        If a weight is NaN or minus infinity.

    Notes
    -----
    Takes 9 bytes a vertex beside the result. Most graphs take few passes over the edges between free vertices. What 64
    have left, as of a path along which weights rise, is sorted and matched edge by edge, on the CPU: about 100 bytes
    and a microsecond for each edge that is left. An edge of negative weight is one all the same, the last choice.

    References
    ----------
    R. Preis: Linear Time 1/2-Approximation Algorithm for Maximum Weighted Matching in General Graphs. STACS 1999.

    F. Manne, R. H. Bisseling: A Parallel Approximation Algorithm for the Weighted Maximum Matching Problem. PPAM 2007.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> path = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([1, 5, 1], np.float32))
    >>> gasla.maximal_matching(path)
    array([1, 0, 3, 2], dtype=int32)
    >>> gasla.maximal_matching(path, weighted=True)
    array([-1,  2,  1, -1], dtype=int32)
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    weighted = weighted and graph.values is not None
    form: dict[str, Any] = {"direction": undirected(graph, weighted=weighted)}
    if weighted:
        graph.notice_values()
        check_weights(graph)
        kind = graph.values.dtype
        form |= {
            "weights": kind if kind.kind == "f" else sum_type(kind),
            "reduce": semirings.argmin,
        }  # rounds no integer
    found = run([Choose(**form), Agree], graph, max_iterations=ROUNDS, notice=False)
    mate: np.ndarray = found.mate
    if not found.converged:
        ends, mates = _in_order(graph.subgraph(found.degree != 0), found.degree, weighted)
        mate[ends] = mates
    return mate


def _in_order(left: Graph, degree: Any, weighted: bool) -> tuple[Any, Any]:
    """Match the vertices that are left along their edges, from the best to the worst: who has a mate, and which."""
    origin: Any = left.origin
    number = moved(origin.vertices, "cpu").astype(np.int64)
    few = moved(degree[origin.vertices], "cpu").astype(np.int64)
    u, v = (moved(ends, "cpu") for ends in (left.out.owners(), left.out.indices))
    offered = np.minimum(few[u], few[v]) << BITS | (number[u] ^ number[v])
    weights = moved(left.out_values, "cpu") if weighted else np.zeros(len(u))
    order = np.lexsort((-offered, weights))[::-1]  # the heaviest first, by the values as they are
    mate = [-1] * left.n
    for a, b in zip(u[order].tolist(), v[order].tolist()):
        if a != b and mate[a] < 0 and mate[b] < 0:
            mate[a], mate[b] = b, a
    mates = np.array(mate, np.int64)
    has_mate = np.flatnonzero(mates >= 0)
    xp: Any = module_of(left.device)
    return tuple(xp.asarray(number[ends]) for ends in (has_mate, mates[has_mate]))
