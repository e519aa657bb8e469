"""Random walks: of each of many walkers, where it is after every step.

A walker goes along one of the out-edges of the vertex where it is, by lot. What it draws is a function of the seed, the
walker's number, the step and the draw: `semirings.hash(seed, walker, step, draw)`. So walks are the same on both
engines, on any number of threads, and however walkers are put into calls that number them alike.

A uniform step takes the upper bits of the hash times the degree. A weighted one finds a draw in the sums of weights of
the list by bisection. A step of node2vec depends on the vertex before, so that there is no table for it: it draws as a
plain walk does, and lets that pass with a probability in proportion to its bias (rejection).

D. Aldous, J. Fill: Reversible Markov Chains and Random Walks on Graphs. 2002. A. Grover, J. Leskovec: node2vec:
Scalable Feature Learning for Networks. KDD 2016. K. Yang et al.: KnightKing: A Fast Distributed Graph Random Walk
Engine. SOSP 2019.
"""

from __future__ import annotations

from typing import Any

from gasla.engines import engine
from gasla.graph.arguments import NO_LIMIT, check_flags, real_number, whole_number
from gasla.graph.graph import as_graph
from gasla.operations.chance.lots import Array, check_lists, chosen, key_of, sums_of


def random_walks(graph: Any, starts: Any, length: int, *, weighted: bool = False, seed: int = 0) -> Array:
    """Walk along edges by lot, from many vertices at once.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. Each of parallel edges counts, and a loop is a step to where one is.
    starts : (walkers,) array of integers
        Where walkers begin; a vertex may be named several times.
    length : int
        How many steps each takes, 0 or more.
    weighted : bool
        Whether an edge is taken in proportion to its value, which is finite and 0 or more; one of 0 is never taken.
        Otherwise, and in a graph without values, all out-edges of a vertex are alike, stored zeros too.
    seed : int
        Of at most 64 bits. The same seed gives the same walks, on both engines.

    Returns
    -------
    (walkers, length + 1) array of the type of ids
        A row a walker: where it begins, and where it is after each step. -1 once it was where no edge leads on, or none
        but those of weight 0.

    Raises
    ------
    TypeError, ValueError
        If a start is no vertex, `length` or `seed` no such number, or weights are negative, not finite, or add up to
        infinity at a vertex.

    Notes
    -----
    Weighted walks keep 8 bytes an edge with the graph. Sums of weights are of float64, added in the order of a list:
    an edge of less than the rounding of the sum before it is never taken. A uniform step is uniform but for the degree
    over 2**64.

    References
    ----------
    D. Aldous, J. Fill: Reversible Markov Chains and Random Walks on Graphs. 2002.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.random_walks(graph, [0, 0, 3], 5, seed=3)
    array([[ 0,  1,  2,  0,  1,  2],
           [ 0,  1,  2,  3, -1, -1],
           [ 3, -1, -1, -1, -1, -1]], dtype=int32)
    """
    return _walks(graph, starts, length, weighted, seed, (1.0, 1.0))


def node2vec_walks(
    graph: Any, starts: Any, length: int, *, p: float = 1.0, q: float = 1.0, weighted: bool = False, seed: int = 0
) -> Array:
    """Walk by lot, sooner or later back, and near to where one was or away from there.

    An edge from v to x, for a walker that came from u to v, weighs its weight times 1 / p if x is u; times 1 if there
    is an edge u -> x; else times 1 / q. The first step is that of a plain walk.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        As for `random_walks`. Stored zeros are edges u -> x, too.
    starts : (walkers,) array of integers
        Where walkers begin; a vertex may be named several times.
    length : int
        How many steps each takes, 0 or more.
    p : float
        How seldom a walker goes back to where it came from: more than 0.
    q : float
        How seldom it goes where no edge led from there: more than 0. Below 1 walks lead away, above 1 they stay near.
    weighted : bool
        Whether weights are the edges' values; otherwise they are 1.
    seed : int
        Of at most 64 bits. With p = q = 1 walks are those of `random_walks`.

    Returns
    -------
    (walkers, length + 1) array of the type of ids
        As `random_walks`.

    Raises
    ------
    TypeError, ValueError
        As `random_walks`; if p or q is no number from 1e-100 to 1e100.

    Notes
    -----
    Once as many draws as the vertex has edges, and 32 more, were refused, all edges are weighed and one is drawn of
    those: the same distribution, and an end. Whether there is an edge is searched in the sorted
    list of u, which is kept with the graph where lists don't ascend.

    References
    ----------
    A. Grover, J. Leskovec: node2vec: Scalable Feature Learning for Networks. KDD 2016.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2])
    >>> gasla.node2vec_walks(graph, [0, 3], 3, p=1e9)
    array([[0, 1, 2, 3],
           [3, 2, 1, 0]], dtype=int32)
    """
    p, q = real_number("p", p, 1e-100, 1e100), real_number("q", q, 1e-100, 1e100)
    return _walks(graph, starts, length, weighted, seed, (1 / p, 1 / q))


def _walks(graph: Any, starts: Any, length: int, weighted: bool, seed: int, bias: tuple[float, float]) -> Array:
    graph, length, key = as_graph(graph), whole_number("length", length, NO_LIMIT), key_of(seed)
    check_flags(weighted=weighted)
    starts = chosen(graph, "starts", starts)
    check_lists(graph)
    primitives = engine(graph.engine).primitives()
    sums = sums_of(graph, primitives) if weighted and graph.values is not None and graph.m else None
    return primitives.walk(graph, starts, length, key, sums, bias)
