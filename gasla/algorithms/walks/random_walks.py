"""Random walks: of each of many walkers, where it is after every step.

A walker goes along one of the out-edges of the vertex where it is, by lot: all alike, or in proportion to their
weights. It is the walk program that has no functions.

D. Aldous, J. Fill: Reversible Markov Chains and Random Walks on Graphs. 2002.
"""

from __future__ import annotations

from typing import Any

from gasla.graph.arguments import NO_LIMIT, whole_number
from gasla.operations.walks import walk
from gasla.program.walk_program import WalkProgram


class RandomWalk(WalkProgram):
    """Whatever edge is drawn is gone along."""


def random_walks(graph: Any, starts: Any, length: int, *, weighted: bool = False, seed: int = 0) -> Any:
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
    Weighted walks keep 12 bytes an edge with the graph. Sums of weights are of float64, added in the order of a list:
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
    return walk(RandomWalk, graph, starts, whole_number("length", length, NO_LIMIT), weighted=weighted, seed=seed)
