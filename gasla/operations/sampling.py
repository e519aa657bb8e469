"""Neighbor sampling: a few random out-neighbors of each of some vertices, and the checks that walks share.

Graph neural networks that train on samples draw them layer by layer: neighbors of a batch of vertices, then neighbors
of these. With replacement, draws are independent. Without replacement they follow Floyd's algorithm: to draw k of d
positions, draw j is uniform below d - k + j + 1, and is replaced by d - k + j if it was drawn before.

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
MOST = 2**31 - 1  # entries of a list: products of 64-bit hashes and degrees stay exact, and positions fit an id


def sample_neighbors(graph: Any, ids: Any, k: int, *, seed: int = 0, replace: bool = False) -> Array:
    """Draw `k` random out-neighbors of each of some vertices.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. Edges are drawn: parallel edges each count, as do self loops and stored zeros.
    ids : (rows,) array of integers
        The vertices. A vertex may occur several times; each occurrence is an independent draw.
    k : int
        Number of neighbors per vertex, 0 or more.
    seed : int
        At most 64 bits. The same seed gives the same sample on both engines.
    replace : bool
        Whether an edge may be drawn several times. If not, a vertex of `k` out-edges or fewer gives all of them.

    Returns
    -------
    (rows, k) array of the type of vertex ids
        One row per vertex, in no particular order, padded with -1 where a vertex has too few out-edges.

    Raises
    ------
    TypeError, ValueError
        If an id is not a vertex, or `k` or `seed` is not a valid number.

    Notes
    -----
    Draw j of row i is a function of `semirings.hash(seed, i, j)`. Without replacement each draw is compared with all
    earlier draws of its row, which is fast up to some hundreds.

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
            f"k is {reprlib.repr(k)}; expected a whole number: one call draws one layer, and the next starts from what "
            "it drew, such as sample_neighbors(graph, np.unique(drawn[drawn >= 0]), k)"
        )
    graph, k, key = as_graph(graph), whole_number("k", k, NO_LIMIT), seed_hash(seed)
    check_flags(replace=replace)
    ids = vertex_ids(graph, "ids", ids)
    check_lists(graph)
    return engine(graph.engine).primitives().sample(graph, ids, k, key, bool(replace))


def seed_hash(seed: Any) -> int:
    """The hash of a seed, checked."""
    try:
        number = index(seed)
    except TypeError:
        number = None
    if number is None or isinstance(seed, TRUE_OR_FALSE):
        raise TypeError(f"seed is {seed!r}; expected a whole number")
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"seed is {number}; expected an integer of at most 64 bits")
    return int(semirings.hash(np.uint64(number % 2**64)))


def vertex_ids(graph: Graph, name: str, given: Any) -> Array:
    """Vertex ids, which may repeat, checked, on the graph's device. `name` is the argument's."""
    ids = as_array(name, given)
    ids = ids if ids.size else ids.astype(np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TypeError(
            f"{name} is {ids.dtype}{ids.shape}; expected a one-dimensional array of vertex ids{for_names(ids)}"
        )
    for bad in (int(ids.min()), int(ids.max())) if len(ids) else ():
        if not 0 <= bad < graph.n:
            raise ValueError(f"{name} has vertex {bad}, outside a graph of {graph.n} vertices")
    on: Any = module_of(graph.device)
    return on.ascontiguousarray(moved(ids, graph.device), dtype=graph.id_dtype)


def check_lists(graph: Graph) -> None:
    """Refuse out-lists too long for a position to be drawn."""
    if graph.m > MOST and graph.max_out_degree > MOST:
        raise ValueError(f"a vertex has {graph.max_out_degree} out-edges; expected at most {MOST}")


def weights_of(graph: Graph, primitives: Primitives) -> tuple[Array, Array]:
    """Prefix sums of each out-list's weights in float64, and their guide tables; kept with the graph."""
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
