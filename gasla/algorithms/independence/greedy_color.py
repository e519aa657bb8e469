"""Greedy coloring: colors 0, 1, 2, ... for the vertices such that neighbors have different colors.

A bipartite component gets two colors. In any other component, the vertices are processed in an order, by default by
decreasing degree. Each vertex takes the smallest color that none of its earlier neighbors has. With an order given by
the caller, this also applies to bipartite components.

In a graph that is distributed or streamed, vertices are not processed one by one. All vertices that precede their
uncolored neighbors take a color in the same iteration, and notify these neighbors. Each vertex has a window of 128
colors, in which it marks the colors of its neighbors as bits of two words. All colors below the window are known to be
taken. When no vertex can take a color any more, vertices whose window is full examine their neighbors for the next
window.

In one memory a kernel computes the same colors without iterations (`primitives.color_in_order`), on a CPU on one
thread: in a skewed graph a vertex waits for thousands of other vertices, one after the other.
"""

from typing import Any, Literal, get_args

import numpy as np

import semirings
from gasla.algorithms.components.is_bipartite import two_sides
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import any_true, module_of
from gasla.graph.arguments import MOST_SEED, check_choice, vertex_numbers, whole_number
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.ahead import compile_ahead
from gasla.operations.phases import Phase
from gasla.operations.primitives import color_in_order, fits_one_card, fits_one_thread
from gasla.operations.run import run
from gasla.program import VertexProgram, option, parameter, vertex
from gasla.rows import Command, Row, Task

Strategy = Literal["largest_first", "random_sequential"]
COLORS_PER_WORD = 64  # number of colors for which a word of 64 bits has a bit
WINDOW_WORDS = 2  # number of words in a window, the range of colors that a vertex examines at a time
ALL_TAKEN = 2**64 - 1  # value of a word if all its 64 colors are taken by neighbors


def _to_word(number):
    """Return a number as a word of 64 bits, in which each bit stands for a color."""
    return semirings.cast(number, np.uint64)


def _word_with_bit(place):
    """Return a word of 64 bits in which only the bit at the position `place` is set, or 0 if the position is out of
    range.
    """
    return _to_word(1) << _to_word(place)


def _lowest_unset_bit(taken):
    """Return the position of the lowest bit that is not set in the word `taken`."""
    return semirings.cast(semirings.ctz(~taken), np.int32)


def _bits_of_color(color, first):
    """Return words in which only the bit of a color is set, or none if the color is not in the window.

    The words have a bit for each color of a window, a range of colors that begins with `first`.
    """
    return semirings.vector(*(_word_with_bit(color - first - COLORS_PER_WORD * i) for i in range(WINDOW_WORDS)))


def _smallest_free(taken, first):
    """Return the smallest color of a window that is not taken, or -1 if all colors of the window are taken.

    A window is a range of colors that begins with `first`. `taken` has a bit for each of its colors.
    """
    color = -1
    for i in reversed(range(WINDOW_WORDS)):
        color = semirings.where(taken[i] == ALL_TAKEN, color, first + COLORS_PER_WORD * i + _lowest_unset_bit(taken[i]))
    return color


class Draw(VertexProgram):
    """rank(v) = the priority of vertex v in a greedy coloring, which begins with the highest rank.

    Ranks are larger for larger degrees if `by_edges`, and random among equal degrees.
    """

    rank = vertex(np.uint64)
    by_edges = parameter(np.bool_, True)
    seed = parameter(np.uint64, 0)
    everyone = True

    def apply(self, vertex, gathered):
        edges = semirings.minimum(vertex.in_degree + vertex.out_degree, 2**32 - 1)
        random_bits = semirings.hash(self.seed, vertex.id) >> 32
        return {"rank": _to_word(semirings.where(self.by_edges, edges, 0)) << 32 | random_bits}

    def activate(self, before, after):
        return True


class Count(VertexProgram):
    """waiting(v) = the number of neighbors that must be colored before v, as their rank is higher.

    If there are none, v takes color 0.
    """

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
    """color(v) = the smallest color that no neighbor has, once all neighbors that precede v in the order are colored.

    A vertex examines a window of 128 colors at a time. If all of them are taken, v stays uncolored until `Advance`
    moves the window.
    """

    color = vertex(np.int32)
    waiting = vertex(np.int64)
    first = vertex(np.int32)  # the first of the 128 colors that v examines, its window
    taken = vertex((np.uint64, (WINDOW_WORDS,)))  # a bit for each color in the window, set if a neighbor has this color
    # the round in which v tells its neighbors a color that `Advance` gave it, or -1
    tells_in = vertex(np.int32, init=-1)
    turn = parameter(np.int32, 0)
    direction = option("in")
    reduce = semirings.product(semirings.plus, semirings.bor)
    sources = "active"

    def start(self, vertex):
        return vertex.tells_in == self.turn

    def mask(self, vertex):
        return vertex.color < 0

    def gather(self, src, dst, edge):
        return semirings.cast(1, np.int64), _bits_of_color(src.color, dst.first)

    def apply(self, vertex, gathered):
        waiting, taken = vertex.waiting - gathered[0], vertex.taken | gathered[1]
        color = semirings.where(waiting == 0, _smallest_free(taken, vertex.first), -1)
        return {"waiting": waiting, "taken": taken, "color": color}

    def activate(self, before, after):
        return after.color >= 0


class Advance(VertexProgram):
    """Let vertices whose window of 128 colors is full go on to the next 128 colors, and color them if it is their turn.

    It is a vertex's turn if no uncolored neighbor precedes it. The run ends, since each round moves a window or finds
    no full window. A vertex has at most 1 + degree / 128 windows.
    """

    color = vertex(np.int32)
    waiting = vertex(np.int64)
    first = vertex(np.int32)
    taken = vertex((np.uint64, (WINDOW_WORDS,)))
    tells_in = vertex(np.int32)
    turn = parameter(np.int32, 0)
    direction = option("in")
    reduce = semirings.bor
    everyone = True

    def mask(self, vertex):
        is_full = vertex.taken[0] == ALL_TAKEN
        for i in range(1, WINDOW_WORDS):
            is_full &= vertex.taken[i] == ALL_TAKEN
        return (vertex.color < 0) & is_full

    def gather(self, src, dst, edge):
        return _bits_of_color(src.color, dst.first + COLORS_PER_WORD * WINDOW_WORDS)

    def apply(self, vertex, gathered):
        first = vertex.first + COLORS_PER_WORD * WINDOW_WORDS
        color = semirings.where(vertex.waiting == 0, _smallest_free(gathered, first), -1)
        tells_in = semirings.where(color >= 0, self.turn + 1, -1)
        return {"color": color, "first": first, "taken": gathered, "tells_in": tells_in}

    def activate(self, before, after):
        # All vertices stay active. If no window is full, the next round colors no vertex, which ends the run.
        return True


def greedy_color(
    graph: Any, strategy: Strategy = "largest_first", *, seed: int = 0, priority: Any = None
) -> np.ndarray:
    """Color the vertices of a graph such that neighbors have different colors, greedily.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is an edge between i and j, read as undirected. Values are ignored; stored zeros are edges. Self loops
        and parallel edges do not matter, except that all stored edges count in the degrees that determine the order.
    strategy : "largest_first" or "random_sequential"
        The order in which vertices take their colors: by decreasing degree, or random.
    seed : int
        Seed of the random order, and of ties between equal degrees: 0 to 2**64 - 1.
    priority : (n,) array of numbers, or dict of vertex to number, optional
        Order by decreasing priority instead, ties by increasing id. The result equals that of coloring the vertices one
        by one in this order, also in bipartite components. Finite numbers, compared as float64.

    Returns
    -------
    (n,) int32
        The color of each vertex, from 0. Every vertex has a neighbor of each lower color, so there are at most 1 + the
        largest degree colors. Without `priority`, bipartite components have at most two. Deterministic for a seed or
        priority, on either device.

    Raises
    ------
    TypeError, ValueError
        If the strategy or seed is invalid, or `priority` is not one finite number per vertex.

    Notes
    -----
    Needs up to 40 bytes per vertex besides the result, and one thread of a CPU. Over ranks it needs 44 bytes, and as
    many iterations as there are vertices on the longest path that descends in the order, on random graphs a small
    multiple of the number of colors.

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

    Vertices in the order of their ids:

    >>> path = gasla.Graph.from_edges([0, 3, 2], [3, 2, 1])
    >>> gasla.greedy_color(path, priority=[3, 2, 1, 0])
    array([0, 0, 1, 2], dtype=int32)
    """
    graph = whole_graph(graph)
    check_choice("strategy", strategy, get_args(Strategy))
    seed = whole_number("seed", seed, MOST_SEED)
    xp: Any = module_of(graph.device)
    if priority is None:
        compile_ahead(graph, Draw)
        colors = two_sides(graph, loops=False)
        if not any_true(colors < 0):
            return colors
        rank = run(Draw, graph, max_iterations=1, wait=False, seed=seed, by_edges=strategy == "largest_first").rank
    else:
        colors, rank = xp.full(graph.n, -1, np.int32), _ranks_of_priority(graph, priority)
    if fits_one_card(graph) or fits_one_thread(graph):
        return color_in_order(graph, rank, colors)
    direction = undirected(graph)
    first_colors = run(Count(direction=direction), graph, max_iterations=1, color=colors, rank=rank)
    phases: list[Any] = [Phase(Color(direction=direction), until="still"), Advance(direction=direction)]
    return run(
        phases, graph, color=first_colors.color, waiting=first_colors.waiting, tells_in=first_colors.tells_in
    ).color


def _ranks_of_priority(graph: Graph, priority: Any) -> Any:
    """Return distinct ranks of the vertices that ascend with the argument `priority`.

    Of several vertices of equal priority, the one with the smallest id gets the highest rank.
    """
    priorities = vertex_numbers(graph, "priority", priority)
    xp: Any = module_of(graph.device)
    ascending = xp.argsort(priorities[::-1], kind="stable")
    rank = xp.empty(graph.n, np.uint64)
    rank[graph.n - 1 - ascending] = xp.arange(graph.n, dtype=np.uint64)
    return rank


ROW = Row(
    greedy_color,
    Command(
        *("greedy-color", {"colors": "color"}),
        lambda f: f"{f['colors'].max(initial=-1) + 1:,} colors",
        lambda f: f.histogram("colors", "color"),
    ),
    Task(form="nothing"),
    method="ECL-GC: largest degree first with shortcuts (Alabandi, Powers, Burtscher, PPoPP 2020)",
    longer="A color waits for those of all neighbors that come first, and chains of such neighbors are long.",
)
