"""Maximal independent set: vertices of which no two are neighbors, and to which no vertex can be added.

All vertices draw a random rank once. Vertices of small degree get higher ranks, which makes larger sets. An undecided
vertex that has the highest rank among its undecided neighbors joins the set, and then its neighbors leave. So the set
is that of a sequential loop over the vertices by falling rank, whatever the number of threads. A vertex stops reading
at the first neighbor of higher rank. On a GPU a kernel finds the same set without iterations
(`primitives.decide_in_order`).
"""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import any_true, module_of
from gasla.graph.arguments import MOST_SEED, several_vertices, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.operations.on_one_device import on_one_device
from gasla.operations.primitives import decide_in_order, fits_one_card
from gasla.operations.run import run
from gasla.program import VertexProgram, option, parameter, vertex
from gasla.rows import Command, Row, Task

JOINED, LEFT = 2**32 - 1, 0  # values of `rank` for vertices that have joined the set, and for vertices that have left
DEGREE_LIMIT = 255  # degrees above 254 are not distinguished, so that a degree takes 8 bits of a rank


def is_undecided(vertex):
    """Return whether a vertex has neither joined the independent set nor left, so that it is still to be decided."""
    return (vertex.rank != LEFT) & (vertex.rank != JOINED)


def _to_rank(number):
    """Return a number as uint32, the dtype of the ranks by which vertices join the independent set."""
    return semirings.cast(number, np.uint32)


class Draw(VertexProgram):
    """rank(v) = a random priority of v, by which it joins the independent set before its neighbors. Small degrees rank
    higher.

    A vertex without edges joins the set at once.
    """

    rank = vertex(np.uint32)
    seed = parameter(np.uint64, 0)
    everyone = True

    def apply(self, vertex, gathered):
        edges = vertex.in_degree + vertex.out_degree
        random_bits = semirings.hash(self.seed, vertex.id) >> 40
        rank = _to_rank(DEGREE_LIMIT - semirings.minimum(edges, DEGREE_LIMIT - 1)) << 24 | _to_rank(random_bits)
        return {"rank": semirings.where(edges == 0, _to_rank(JOINED), rank)}

    def activate(self, before, after):
        return True


class Decide(VertexProgram):
    """Let vertices join the set in even iterations, and let the neighbors of vertices in the set leave in odd
    iterations.

    An undecided vertex has neither joined nor left. It joins if its rank is higher than those of its undecided
    neighbors. The run ends after at most 2 n iterations, since the undecided vertex of the highest rank and id joins.
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
        joining = semirings.where(gathered, vertex.rank, _to_rank(JOINED))
        leaving = semirings.where(gathered, _to_rank(LEFT), vertex.rank)
        return {"rank": semirings.where(self.iteration % 2 == 0, joining, leaving)}

    def activate(self, before, after):
        return is_undecided(after)


class ChosenNeighbors(VertexProgram):
    """in_conflict(v) = whether v and one of its neighbors are both among the vertices that the caller requires in the
    set.
    """

    is_chosen = vertex(np.bool_)
    in_conflict = vertex(np.bool_)
    direction = option("in")
    reduce = semirings.any
    everyone = True

    def mask(self, vertex):
        return vertex.is_chosen

    def gather(self, src, dst, edge):
        return src.is_chosen & (src.id != dst.id)

    def apply(self, vertex, gathered):
        return {"in_conflict": gathered}


@on_one_device()
def maximal_independent_set(graph: Any, nodes: Iterable[Hashable] | None = None, *, seed: int = 0) -> np.ndarray:
    """Find a maximal independent set: no two of its vertices are neighbors, and no vertex can be added.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is an edge between i and j, read as undirected. Values are ignored; stored zeros are edges. Self loops
        and parallel edges do not matter.
    nodes : ids or names, optional
        Vertices that must be in the set.
    seed : int
        Seed of the random ranks: 0 to 2**64 - 1.

    Returns
    -------
    (n,) array of bool
        Whether each vertex is in the set. One of many maximal sets, not the largest; deterministic for a seed, on
        either device.

    Raises
    ------
    TypeError, ValueError
        If one of `nodes` is not a vertex, or two of them are neighbors.

    Notes
    -----
    Needs 8 bytes per vertex. On random graphs the number of iterations grows logarithmically with n.

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
    required = None if nodes is None else _required_mask(graph, nodes)
    rank = run(Draw, graph, max_iterations=1, wait=False, seed=seed).rank
    if required is not None:
        rank = module_of(graph.device).where(required, rank.dtype.type(JOINED), rank)
    if fits_one_card(graph):
        return decide_in_order(graph, rank)
    return run(Decide(direction=undirected(graph)), graph, wait=False, rank=rank).rank == JOINED


def _required_mask(graph: Graph, nodes: Iterable[Hashable]) -> Any:
    """Return the argument `nodes`, the vertices that must be in the set, as a mask.

    Raise ValueError if two of them are neighbors.
    """
    required = module_of(graph.device).zeros(graph.n, bool)
    required[several_vertices(graph, "nodes", nodes, "node")] = True
    in_conflict = run(
        ChosenNeighbors(direction=undirected(graph)), graph, max_iterations=1, is_chosen=required
    ).in_conflict
    if any_true(in_conflict):
        raise ValueError(
            f"vertex {int(in_conflict.argmax())} and a neighbor are both among nodes; leave out one of them"
        )
    return required


ROW = Row(
    maximal_independent_set,
    Command(
        *("maximal-independent-set", {"members": "member"}),
        *(lambda f: f.inside("members", "vertices are members"), lambda f: f.named(f.members("members"))),
    ),
    Task(form="nothing"),
    method="ECL-MIS: priorities by degree, no barriers (Burtscher et al., ACM TOPC 5, 2018)",
    longer="Several rounds, each of which waits for the one before.",
)
