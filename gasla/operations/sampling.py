"""Samples of neighbours: of each of some vertices a few out-neighbours, by lot.

Layers of graph neural networks that learn from samples ask for these: from a batch of vertices, then from what was
drawn, and so on. With replacement draws don't know of each other. Without, they are Floyd's: of k positions below the
degree, the j-th is drawn below degree - k + j + 1, and is the last of those if it was drawn before.

W. Hamilton, R. Ying, J. Leskovec: Inductive Representation Learning on Large Graphs. NIPS 2017. J. Bentley, B. Floyd:
A Sample of Brilliance. Communications of the ACM 30 (1987).
"""

from __future__ import annotations

import reprlib
from operator import index
from typing import Any

import numpy as np

import semirings
from gasla.arrays import module_of, moved
from gasla.engines import Primitives, engine
from gasla.graph.arguments import NO_LIMIT, TRUE_OR_FALSE, check_flags, check_weights, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.validate import as_array, for_names

Array = Any  # NumPy's or CuPy's
MOST = 2**31 - 1  # entries of a list, so that shares of 64 bits are exact, and positions are ids


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


def key_of(seed: Any) -> int:
    """The hash of a seed."""
    try:
        number = index(seed)
    except TypeError:
        number = None
    if number is None or isinstance(seed, TRUE_OR_FALSE):
        raise TypeError(f"seed is {seed!r}; expected a whole number")
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"seed is {number}; expected one of at most 64 bits")
    return int(semirings.hash(np.uint64(number % 2**64)))


def chosen(graph: Graph, name: str, given: Any) -> Array:
    """An array of vertices, of any number, which may repeat, where the graph is."""
    ids = as_array(name, given)
    ids = ids if ids.size else ids.astype(np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TypeError(
            f"{name} is {ids.dtype}{ids.shape}; expected an array of one dimension, of ids of vertices{for_names(ids)}"
        )
    for bad in (int(ids.min()), int(ids.max())) if len(ids) else ():
        if not 0 <= bad < graph.n:
            raise ValueError(f"{name} has vertex {bad}, outside a graph of {graph.n} vertices")
    on: Any = module_of(graph.device)
    return on.ascontiguousarray(moved(ids, graph.device), dtype=graph.id_dtype)


def check_lists(graph: Graph) -> None:
    """Refuse lists of which no position can be drawn."""
    if graph.m > MOST and graph.max_out_degree > MOST:
        raise ValueError(f"a vertex has {graph.max_out_degree} out-edges; expected at most {MOST}")


def weights_of(graph: Graph, primitives: Primitives) -> tuple[Array, Array]:
    """The sums of weights up to each position of each list, as float64, and their guides; made once."""
    graph.notice_values()
    check_weights(graph, shares=True)

    def made(graph: Graph) -> tuple[Array, Array]:
        sums = primitives.list_sums(graph.out, graph.out_values)
        bad = ~(sums < np.inf)
        if bool(bad.any()):
            v = int(graph.out.owners()[int(bad.argmax())])
            raise ValueError(f"the weights of the out-edges of vertex {v} add up to infinity; expected a finite sum")
        return sums, primitives.list_guides(graph.out, sums)

    return graph.kept("sums of weights", made)
