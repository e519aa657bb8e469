"""Maximal independent set: vertices of which no two are neighbors, and to which no other could be added.

Returned is a mask of its vertices.

All vertices draw a rank, once; those of fewer edges draw before those of more, which makes larger sets. A vertex that
comes before all neighbors that are still undecided joins; then the neighbors of those that joined leave. So the set
is that of a loop over the vertices in the order of their ranks, however many threads there are. A vertex need not look
at all neighbors: the first that comes before it says that it has to wait.

M. Luby: A Simple Parallel Algorithm for the Maximal Independent Set Problem. SIAM Journal on Computing 15 (1986).
G. E. Blelloch, J. T. Fineman, J. Shun: Greedy Sequential Maximal Independent Set and Matching are Parallel on Average.
SPAA 2012.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import any_true, module_of
from gasla.graph.arguments import MOST_SEED, several_vertices, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.operations.run import run
from gasla.program.fields import parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram

JOINED, LEFT = 2**32 - 1, 0  # ranks of those that are decided
FEW = 255  # edges, up to which their number counts


def is_undecided(vertex):
    """Whether it has neither joined nor left."""
    return (vertex.rank != LEFT) & (vertex.rank != JOINED)


def _rank(number):
    return semirings.cast(number, np.uint32)


class Draw(VertexProgram):
    """rank(v) = more for fewer edges, and by lot among those of as many. A vertex without edges joins."""

    rank = vertex(np.uint32)
    seed = parameter(np.uint64, 0)
    everyone = True

    def apply(self, vertex, gathered):
        edges = vertex.in_degree + vertex.out_degree
        drawn = semirings.hash(self.seed, vertex.id) >> 40
        rank = _rank(FEW - semirings.minimum(edges, FEW - 1)) << 24 | _rank(drawn)
        return {"rank": semirings.where(edges == 0, _rank(JOINED), rank)}

    def activate(self, before, after):
        return True


class Decide(VertexProgram):
    """Every other iteration those of the highest rank among their neighbors join, and then their neighbors leave.

    Ends after 2 n iterations: of those that are undecided the one of the highest rank, and id, joins.
    """

    rank = vertex(np.uint32)
    direction = option("in")
    reduce = semirings.any
    everyone = True

    def mask(self, vertex):
        return is_undecided(vertex)

    def gather(self, src, dst, edge):
        is_before = (src.rank > dst.rank) | ((src.rank == dst.rank) & (src.id > dst.id))
        return semirings.where(self.iteration % 2 == 0, is_before, src.rank == JOINED)

    def apply(self, vertex, gathered):
        joining = semirings.where(gathered, vertex.rank, _rank(JOINED))
        leaving = semirings.where(gathered, _rank(LEFT), vertex.rank)
        return {"rank": semirings.where(self.iteration % 2 == 0, joining, leaving)}

    def activate(self, before, after):
        return is_undecided(after)


class Quarrel(VertexProgram):
    """is_beside(v) = whether v is chosen, and so is a neighbor."""

    is_chosen = vertex(np.bool_)
    is_beside = vertex(np.bool_)
    direction = option("in")
    reduce = semirings.any
    everyone = True

    def mask(self, vertex):
        return vertex.is_chosen

    def gather(self, src, dst, edge):
        return src.is_chosen & (src.id != dst.id)

    def apply(self, vertex, gathered):
        return {"is_beside": gathered}


def maximal_independent_set(graph: Any, nodes: Iterable[int] | None = None, *, seed: int = 0) -> np.ndarray:
    """Vertices of which no two are neighbors, and such that every other vertex is a neighbor of one.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is an edge between i and j, whatever its value. Directions, loops and parallel edges change nothing
        about who are neighbors.
    nodes : ids, optional
        Vertices that have to be in the set.
    seed : int
        Of the lot: 0 to 2**64 - 1.

    Returns
    -------
    (n,) array of bool
        Whether each vertex is in the set. It is one of many such sets, not the largest; the same for the same seed, on
        either device.

    Raises
    ------
    TypeError, ValueError
        If one of `nodes` is not a vertex, or two of them are neighbors.

    Notes
    -----
    Takes 8 bytes a vertex. On random graphs the number of iterations grows as the logarithm of the number of vertices.

    References
    ----------
    M. Luby: A Simple Parallel Algorithm for the Maximal Independent Set Problem. SIAM Journal on Computing 15 (1986).

    G. E. Blelloch, J. T. Fineman, J. Shun: Greedy Sequential Maximal Independent Set and Matching are Parallel on
    Average. SPAA 2012.

    Examples
    --------
    >>> import gasla
    >>> star = gasla.Graph.from_edges([0, 0, 0], [1, 2, 3])
    >>> gasla.maximal_independent_set(star)
    array([False,  True,  True,  True])
    >>> gasla.maximal_independent_set(star, [0])
    array([ True, False, False, False])
    """
    graph = as_graph(graph)
    seed = whole_number("seed", seed, MOST_SEED)
    chosen = None if nodes is None else _chosen(graph, nodes)
    rank = run(Draw, graph, max_iterations=1, wait=False, seed=seed).rank
    if chosen is not None:
        rank[chosen] = JOINED
    return run(Decide(direction=undirected(graph)), graph, wait=False, rank=rank).rank == JOINED


def _chosen(graph: Graph, nodes: Iterable[int]) -> Any:
    """The vertices that were asked for, marked, if no two of them are neighbors."""
    chosen = module_of(graph.device).zeros(graph.n, bool)
    chosen[several_vertices(graph, "nodes", nodes, "node")] = True
    beside = run(Quarrel(direction=undirected(graph)), graph, max_iterations=1, is_chosen=chosen).is_beside
    if any_true(beside):
        raise ValueError(f"vertex {int(beside.argmax())} and a neighbor are both among nodes; leave out one of them")
    return chosen
