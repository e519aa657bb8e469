"""Greedy coloring: a color for every vertex, another one than its neighbors', from 0 on.

A component that two colors do for gets two. In any other the vertices come in an order, those of most edges first, and
each takes the least color that none of its neighbors before it has.

Whoever gives an order gets what it gives, one vertex after another, two colors or not.

Two colors do where no edge joins two vertices that are as far from a root, or both an odd or both an even number of
edges away. The others need not come one by one: all vertices that come before their neighbors without a color take
one at once, and tell the rest. Colors that are taken are bits of words. A vertex for which the first 128 are all
taken looks at what its neighbors have of the next 64, and so on.

M. T. Jones, P. E. Plassmann: A Parallel Graph Coloring Heuristic. SIAM Journal on Scientific Computing 14 (1993).
D. J. A. Welsh, M. B. Powell: An upper bound for the chromatic number of a graph and its application to timetabling
problems. The Computer Journal 10 (1967).
"""

from typing import Any, Literal, get_args

import numpy as np

import semirings
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import module_of
from gasla.graph.arguments import MOST_SEED, check_choice, vertex_numbers, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.operations.phases import Phase
from gasla.operations.primitives import compress, link
from gasla.operations.run import run
from gasla.program.fields import parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram

Strategy = Literal["largest_first", "random_sequential"]
COLORS = 64  # in a word
WORDS = 2  # of the first colors
ALL = 2**64 - 1  # of them


def _word(number):
    return semirings.cast(number, np.uint64)


def _bit(place):
    """A word with this bit; with none where there is no such place."""
    return _word(1) << _word(place)


def _least(taken):
    """The place of the lowest bit that isn't set."""
    return semirings.cast(semirings.ctz(~taken), np.int32)


class Levels(VertexProgram):
    """level(v) = how many edges v is away from the root of its component."""

    level = vertex(np.int32, init=-1)
    direction = option("in")
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.level < 0

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"level": self.iteration + 1}


class Odd(VertexProgram):
    """is_odd(v) = whether a neighbor is an even number of levels away, so that an odd cycle leads through both."""

    level = vertex(np.int32)
    is_odd = vertex(np.bool_)
    direction = option("in")
    reduce = semirings.any
    everyone = True

    def gather(self, src, dst, edge):
        return ((src.level ^ dst.level) & 1 == 0) & (src.id != dst.id)

    def apply(self, vertex, gathered):
        return {"is_odd": gathered}


class Draw(VertexProgram):
    """rank(v) = its place in the order: most edges first if `by_edges`, and by lot among those of as many."""

    rank = vertex(np.uint64)
    by_edges = parameter(np.bool_, True)
    seed = parameter(np.uint64, 0)
    everyone = True

    def apply(self, vertex, gathered):
        edges = semirings.minimum(vertex.in_degree + vertex.out_degree, 2**32 - 1)
        drawn = semirings.hash(self.seed, vertex.id) >> 32
        return {"rank": _word(semirings.where(self.by_edges, edges, 0)) << 32 | drawn}

    def activate(self, before, after):
        return True


class Count(VertexProgram):
    """waiting(v) = how many neighbors come before v. Vertices that wait for none have a color first."""

    color = vertex(np.int32, init=-1)
    waiting = vertex(np.int64)
    tells_in = vertex(np.int32, init=-1)
    rank = vertex(np.uint64)
    direction = option("in")
    reduce = semirings.plus
    everyone = True

    def mask(self, vertex):
        return vertex.color < 0

    def gather(self, src, dst, edge):
        is_before = (src.rank > dst.rank) | ((src.rank == dst.rank) & (src.id > dst.id))
        return semirings.cast(is_before, np.int64)

    def apply(self, vertex, gathered):
        is_first = gathered == 0
        return {
            "waiting": gathered,
            "color": semirings.where(is_first, 0, -1),
            "tells_in": semirings.where(is_first, 0, -1),
        }


class Color(VertexProgram):
    """color(v) = the least that is not taken, once v waits for no neighbor any more."""

    color = vertex(np.int32)
    waiting = vertex(np.int64)
    taken = vertex((np.uint64, (WORDS,)))  # of the first colors
    tells_in = vertex(np.int32, init=-1)  # what turn, if not at once
    turn = parameter(np.int32, 0)
    direction = option("in")
    reduce = semirings.product(semirings.plus, semirings.bor)
    sources = "active"

    def start(self, vertex):
        return vertex.tells_in == self.turn

    def mask(self, vertex):
        return vertex.color < 0

    def gather(self, src, dst, edge):
        return semirings.cast(1, np.int64), semirings.vector(*(_bit(src.color - COLORS * i) for i in range(WORDS)))

    def apply(self, vertex, gathered):
        waiting, taken = vertex.waiting - gathered[0], vertex.taken | gathered[1]
        color = -1
        for i in reversed(range(WORDS)):
            color = semirings.where(taken[i] == ALL, color, COLORS * i + _least(taken[i]))
        return {"waiting": waiting, "taken": taken, "color": semirings.where(waiting == 0, color, -1)}

    def activate(self, before, after):
        return after.color >= 0


class Further(VertexProgram):
    """The same for those for whom the first colors are all taken: they look at the next, a word at a time.

    The turns end, as each gives a vertex its color or has one look at higher colors, of which its degree is the last.
    """

    color = vertex(np.int32)
    waiting = vertex(np.int64)
    first = vertex(np.int32, init=COLORS * WORDS)
    tells_in = vertex(np.int32)
    turn = parameter(np.int32, 0)
    direction = option("in")
    reduce = semirings.bor
    everyone = True

    def mask(self, vertex):
        return (vertex.color < 0) & (vertex.waiting == 0)

    def gather(self, src, dst, edge):
        return _bit(src.color - dst.first)

    def apply(self, vertex, gathered):
        is_full = gathered == ALL
        color = semirings.where(is_full, -1, vertex.first + _least(gathered))
        first = vertex.first + semirings.where(is_full, COLORS, 0)
        return {"color": color, "first": first, "tells_in": semirings.where(is_full, -1, self.turn + 1)}

    def activate(self, before, after):
        return True  # all whom the mask admits; if it admits none, none is left to be told in the next turn


def greedy_color(
    graph: Any, strategy: Strategy = "largest_first", *, seed: int = 0, priority: Any = None
) -> np.ndarray:
    """A color for every vertex, such that neighbors have different ones; few in all.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is an edge between i and j, whatever its value. Directions, loops and parallel edges change nothing
        about who are neighbors; all stored entries count as edges of a vertex in its order.
    strategy : "largest_first" or "random_sequential"
        In what order vertices take their colors: those of most edges first, or all by lot.
    seed : int
        Of the lot, which also decides among those of as many edges: 0 to 2**64 - 1.
    priority : (n,) array of numbers, or dict of vertex to number, optional
        In place of a strategy: who has the largest comes first, of several the smallest id. The colors are those that
        vertices get in this order one by one, even where two would do. Finite, and compared as float64.

    Returns
    -------
    (n,) int32
        Colors from 0 on. Every vertex has a neighbor of each lower color, so there are at most as many as the most
        neighbors of a vertex, and one. Without `priority` a component that two colors do for has no more. The same
        for the same seed or priority, on either device.

    Raises
    ------
    TypeError, ValueError
        For another strategy or seed; for priorities that are not a number a vertex.

    Notes
    -----
    Takes 44 bytes a vertex beside the result. As many iterations as vertices on the longest path along which the order
    goes: on random graphs some times the number of colors.

    References
    ----------
    M. T. Jones, P. E. Plassmann: A Parallel Graph Coloring Heuristic. SIAM Journal on Scientific Computing 14 (1993).

    D. J. A. Welsh, M. B. Powell: An upper bound for the chromatic number of a graph and its application to timetabling
    problems. The Computer Journal 10 (1967).

    Examples
    --------
    >>> import gasla
    >>> ring = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> gasla.greedy_color(ring)
    array([0, 1, 0, 1], dtype=int32)
    >>> wheel = gasla.Graph.from_edges([0, 1, 2, 3, 4, 4, 4, 4], [1, 2, 3, 0, 0, 1, 2, 3])
    >>> gasla.greedy_color(wheel).max() + 1
    np.int32(3)

    Vertices in the order of their numbers:

    >>> path = gasla.Graph.from_edges([0, 3, 2], [3, 2, 1])
    >>> gasla.greedy_color(path, priority=[3, 2, 1, 0])
    array([0, 0, 1, 2], dtype=int32)
    """
    graph = as_graph(graph)
    check_choice("strategy", strategy, get_args(Strategy))
    seed = whole_number("seed", seed, MOST_SEED)
    xp: Any = module_of(graph.device)
    if priority is None:
        sides = _two_sides(graph)
        if not (sides < 0).any():
            return sides
        rank = run(Draw, graph, max_iterations=1, wait=False, seed=seed, by_edges=strategy == "largest_first").rank
    else:
        sides, rank = xp.full(graph.n, -1, np.int32), _descending(graph, priority)
    direction = undirected(graph)
    begun = run(Count(direction=direction), graph, max_iterations=1, color=sides, rank=rank)
    phases: list[Any] = [Phase(Color(direction=direction), until="still"), Further(direction=direction)]
    return run(phases, graph, color=begun.color, waiting=begun.waiting, tells_in=begun.tells_in).color


def _descending(graph: Graph, priority: Any) -> Any:
    """Ranks of which no two are the same: of equal priorities the smaller id has the higher."""
    given = vertex_numbers(graph, "priority", priority)
    xp: Any = module_of(graph.device)
    ascending = xp.argsort(given[::-1], kind="stable")
    rank = xp.empty(graph.n, np.uint64)
    rank[graph.n - 1 - ascending] = xp.arange(graph.n, dtype=np.uint64)
    return rank


def _two_sides(graph: Graph) -> Any:
    """Of every vertex whether it is an odd number of edges away from its root; -1 where there are odd cycles."""
    xp: Any = module_of(graph.device)
    root = xp.arange(graph.n, dtype=graph.id_dtype)
    link(graph, root)
    compress(root)
    is_root = root == xp.arange(graph.n, dtype=graph.id_dtype)
    direction = undirected(graph)
    level = run(Levels(direction=direction), graph, active=is_root, level=is_root.astype(np.int32) - 1).level
    is_odd = run(Odd(direction=direction), graph, max_iterations=1, level=level).is_odd
    has_odd = xp.zeros(graph.n, bool)
    has_odd[root[is_odd]] = True
    return xp.where(has_odd[root], -1, level & 1).astype(np.int32, copy=False)
