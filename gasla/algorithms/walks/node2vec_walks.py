"""Walks of node2vec: sooner or later back, and near to where one was or away from there.

A step depends on the vertex before, so that there is no table for it. A walker draws as a plain walk does, and lets
that pass with a probability in proportion to its bias (rejection).

A. Grover, J. Leskovec: node2vec: Scalable Feature Learning for Networks. KDD 2016. K. Yang et al.: KnightKing: A Fast
Distributed Graph Random Walk Engine. SOSP 2019.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.walks.random_walks import RandomWalk
from gasla.graph.arguments import NO_LIMIT, real_number, whole_number
from gasla.operations.walks import walk
from gasla.program.fields import parameter
from gasla.program.walk_program import WalkProgram


class Node2Vec(WalkProgram):
    """Steps back weigh 1 / p, those to where no edge leads from before 1 / q."""

    p = parameter(np.float64, 1)
    q = parameter(np.float64, 1)

    def bound(self) -> Any:
        return semirings.maximum(semirings.maximum(1 / self.p, 1 / self.q), 1.0)

    def accept(self, previous: Any, vertex: Any, target: Any, edge: Any) -> Any:
        biased = semirings.where(self.has_edge(previous, target), 1.0, 1 / self.q)
        biased = semirings.where(target.id == previous.id, 1 / self.p, biased)
        return semirings.where(previous.id < 0, self.bound(), biased)  # the first step is that of a plain walk


def node2vec_walks(
    graph: Any, starts: Any, length: int, *, p: float = 1.0, q: float = 1.0, weighted: bool = False, seed: int = 0
) -> Any:
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
    program = RandomWalk() if p == q == 1 else Node2Vec(p=p, q=q)  # the same walks, sooner
    return walk(program, graph, starts, whole_number("length", length, NO_LIMIT), weighted=weighted, seed=seed)
