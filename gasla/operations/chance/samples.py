"""Samples of neighbours: of each of some vertices a few out-neighbours, by lot.

Layers of graph neural networks that learn from samples ask for these: from a batch of vertices, then from what was
drawn, and so on. With replacement draws don't know of each other. Without, they are Floyd's: of k positions below the
degree, the j-th is drawn below degree - k + j + 1, and is the last of those if it was drawn before.

W. Hamilton, R. Ying, J. Leskovec: Inductive Representation Learning on Large Graphs. NIPS 2017. J. Bentley, B. Floyd:
A Sample of Brilliance. Communications of the ACM 30 (1987).
"""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from gasla.engines import engine
from gasla.graph.arguments import NO_LIMIT, check_flags, whole_number
from gasla.graph.graph import as_graph
from gasla.operations.chance.lots import Array, check_lists, chosen, key_of


def sample_neighbors(graph: Any, ids: Any, k: int, *, seed: int = 0, replace: bool = False) -> Array:
    """Draw `k` out-neighbours of each of some vertices.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. What is drawn are edges: each of parallel ones, loops and stored zeros too.
    ids : (rows,) array of integers
        The vertices; one may be named several times, and is drawn for anew.
    k : int
        How many, 0 or more.
    seed : int
        Of at most 64 bits. The same seed gives the same sample, on both engines.
    replace : bool
        Whether an edge may be drawn several times. Otherwise a vertex of `k` out-edges or fewer gives all.

    Returns
    -------
    (rows, k) array of the type of ids
        A row a vertex, in no particular order. -1 behind those of a vertex that has fewer, or with `replace` none.

    Raises
    ------
    TypeError, ValueError
        If an id is no vertex, or `k` or `seed` no such number.

    Notes
    -----
    Draw j of row i goes by `semirings.hash(seed, i, j)`. Without replacement each draw is compared with those before
    it, which is quick for up to some hundreds.

    References
    ----------
    W. Hamilton, R. Ying, J. Leskovec: Inductive Representation Learning on Large Graphs. NIPS 2017.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 0, 0, 0, 1], [1, 2, 3, 4, 0])
    >>> gasla.sample_neighbors(graph, [0, 1, 2], 3)
    array([[ 2,  3,  4],
           [ 0, -1, -1],
           [-1, -1, -1]], dtype=int32)
    """
    given: Any = k
    if isinstance(given, list | tuple | np.ndarray):
        raise TypeError(
            f"k is {reprlib.repr(k)}; expected a whole number: one call draws one step, and the next begins with what "
            "it drew, such as sample_neighbors(graph, np.unique(drawn[drawn >= 0]), k)"
        )
    graph, k, key = as_graph(graph), whole_number("k", k, NO_LIMIT), key_of(seed)
    check_flags(replace=replace)
    ids = chosen(graph, "ids", ids)
    check_lists(graph)
    return engine(graph.engine).primitives().sample(graph, ids, k, key, bool(replace))
