"""Random walks of many walkers at once, with uniform or weighted steps.

In each step a walker follows a random out-edge of its vertex. This is the walk program without a function that
restarts or rejects a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.graph.arguments import NO_LIMIT, real_number, whole_number
from gasla.graph.weights import takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.operations.walks import walk
from gasla.program import WalkProgram, parameter
from gasla.rows import Row, walks


class RandomWalk(WalkProgram):
    """A walk that accepts each edge that is drawn, and so has no bias."""


class Restarting(WalkProgram):
    """A walk that returns to its start with a fixed probability at every step, and otherwise follows the edge that is
    drawn.
    """

    chance = parameter(np.float64, 0)

    def restart(self, vertex: Any) -> Any:
        return self.chance


@takes_weight
@on_one_device("walkers")
def random_walks(
    graph: Any, starts: Any, length: int, *, restart: float = 0.0, weighted: bool = False, seed: int = 0
) -> Any:
    """Walk at random along the edges, from many vertices at once.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j.
    starts : (walkers,) array of ids or names
        The first vertex of each walker; repetitions allowed.
    length : int
        Number of steps of each walker, 0 or more.
    restart : float
        Probability, 0 to 1, that a walker returns to its start, which is its next step then.
    weighted : bool
        Whether edges are drawn in proportion to their values, which must be finite and not negative. Otherwise, and in
        a graph without values, all out-edges of a vertex are equally likely.
    seed : int
        Seed of at most 64 bits. The same seed gives the same walks, on both engines.

    Returns
    -------
    (walkers, length + 1) array of the type of ids
        One row per walker: its first vertex, and its vertex after each step; -1 after a vertex without out-edges (of
        positive weight).

    Raises
    ------
    TypeError, ValueError
        If a start is not a vertex, `length`, `restart` or `seed` is out of range, or weights are negative, not finite,
        or sum to infinity at a vertex.

    Notes
    -----
    Each of parallel edges counts; a self loop is a step to the same vertex. Stored zeros are edges, which are never
    drawn if `weighted`.

    Weighted walks keep 12 bytes per edge with the graph. Weights are summed in float64 in the order of the list, so an
    edge below the rounding error of the preceding sum is never drawn. The probability of a uniform step is exact up to
    degree / 2**64.

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
    chance, length = real_number("restart", restart, 0, 1), whole_number("length", length, NO_LIMIT)
    program = Restarting(chance=chance) if chance else RandomWalk()
    return walk(program, graph, starts, length, weighted=weighted, seed=seed)


ROW = Row(
    random_walks,
    walks("random-walks"),
    "random_walks(g, [0, 1], 5, restart=0.15)",
    method="interleaved steps: ThunderRW (Sun et al., PVLDB 14, 2021); on a GPU FlowWalker (PVLDB 17, 2024)",
    longer="Sixteen steps of n walkers are dependent random reads, two for each step.",
)
