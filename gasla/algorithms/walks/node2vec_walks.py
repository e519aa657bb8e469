"""node2vec walks are random walks biased towards returning to the previous vertex, or staying near it.

The distribution of a step depends on the previous vertex, so it has no precomputed table. A walker draws as in an
unbiased walk, and accepts the step with a probability proportional to its bias (rejection sampling).

K. Yang et al.: KnightKing: A Fast Distributed Graph Random Walk Engine. SOSP 2019.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.walks.random_walks import RandomWalk
from gasla.graph.arguments import NO_LIMIT, real_number, whole_number
from gasla.graph.weights import takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.operations.walks import walk
from gasla.program import WalkProgram, parameter
from gasla.rows import Row, walks


class Node2Vec(WalkProgram):
    """A random walk whose step back to the previous vertex has weight 1 / p, as node2vec defines.

    Steps to vertices that are not adjacent to the previous one have weight 1 / q, and all other steps have weight 1.
    """

    p = parameter(np.float64, 1)
    q = parameter(np.float64, 1)

    def bound(self) -> Any:
        return semirings.maximum(semirings.maximum(1 / self.p, 1 / self.q), 1.0)

    def accept(self, previous: Any, vertex: Any, target: Any, edge: Any) -> Any:
        biased = semirings.where(self.has_edge(previous, target), 1.0, 1 / self.q)
        biased = semirings.where(target.id == previous.id, 1 / self.p, biased)
        # The first step has no previous vertex, so it is unbiased: every edge is accepted.
        return semirings.where(previous.id < 0, self.bound(), biased)


@takes_weight
@on_one_device("walkers")
def node2vec_walks(
    graph: Any, starts: Any, length: int, *, p: float = 1.0, q: float = 1.0, weighted: bool = False, seed: int = 0
) -> Any:
    """Walk at random with node2vec's bias towards returning to, or staying near, the previous vertex.

    The edge from v to x, for a walker that came from u, has its weight times 1 / p if x is u; times 1 if there is an
    edge u -> x; else times 1 / q. The first step is unbiased.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        As for `random_walks`. Stored zeros count as edges u -> x as well.
    starts, length
        As for `random_walks`.
    p : float
        Return parameter: larger values make returning to the previous vertex less likely; more than 0.
    q : float
        In-out parameter: below 1 walks move away from the previous vertex, above 1 they stay near; more than 0.
    weighted : bool
        Whether weights are the edges' values. Otherwise they are 1.
    seed : int
        Seed of at most 64 bits. With p = q = 1 the walks are those of `random_walks`.

    Returns
    -------
    (walkers, length + 1) array of the type of ids
        As for `random_walks`.

    Raises
    ------
    TypeError, ValueError
        As for `random_walks`; if p or q is not a number from 1e-100 to 1e100.

    Notes
    -----
    After degree + 32 rejected draws, all edges of the vertex are weighed and one is drawn from them: the distribution
    is the same, and the step ends. The edge u -> x is searched in the sorted list of u, which is kept with the graph if
    its lists are not sorted. Parallel edges each count.

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
    # With p = q = 1 there is no bias. The program for unbiased walks gives the same walks faster.
    program = RandomWalk() if p == q == 1 else Node2Vec(p=p, q=q)
    return walk(program, graph, starts, whole_number("length", length, NO_LIMIT), weighted=weighted, seed=seed)


ROW = Row(
    node2vec_walks,
    walks("node2vec-walks"),
    "node2vec_walks(g, [0, 1], 5, p=0.5, q=2.0)",
    method="rejection: KnightKing (Yang et al., SOSP 2019); ThunderRW (2021); on a GPU FlowWalker (2024)",
    longer="Steps are drawn until one is accepted, with a search in the list of the vertex before.",
)
