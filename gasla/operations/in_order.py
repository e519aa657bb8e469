"""Whole algorithms that only the GPU engine has, in whose kernels vertices wait for each other instead of iterating.

A vertex program takes some microseconds per iteration on a GPU, and a coloring of a skewed graph thousands of
iterations. In these kernels a vertex goes on as soon as the vertices that it depends on are finished. The public names
are in `gasla.primitives`.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from gasla.arrays import any_true, module_of
from gasla.engines import CardOnly, chooses_kernels, engine
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph, whole_graph

Array = Any  # an array of CuPy


def fits_one_card(graph: Graph) -> bool:
    """Return whether an algorithm should call a kernel of the GPU alone.

    It should if `graph` is on a GPU, neither streamed nor spread over several, except within
    `gasla.engines.interpreted` and `gasla.engines.programs_only`.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.fits_one_card(Graph.from_edges([0, 1], [1, 2]))
    False
    """
    return graph.engine == "gpu" and graph.is_whole and not graph.is_streamed and chooses_kernels()


def label_sides(graph: Any) -> Array:
    """Find the two sides of each bipartite component, in one launch.

    This is a whole algorithm, for which the GPU engine has a built-in kernel. `gasla.is_bipartite` and
    `gasla.greedy_color` call it. Its time does not depend on distances.

    Parameters
    ----------
    graph : Graph, or CuPy sparse array
        On a GPU. Read as undirected; a self loop is an odd cycle.

    Returns
    -------
    (n,) array of int32
        0 for the smallest vertex of each component, and 0 or 1 for the others; -1 in components with an odd cycle.

    Raises
    ------
    TypeError, ValueError
        If the graph is not on a GPU, or has more than 2**30 vertices of int32 ids.

    Notes
    -----
    The components of a graph with two copies of each vertex, whose edges lead from one copy to the other: both copies
    are in one component if and only if the vertex is in one with an odd cycle. Needs 16 bytes per vertex of int32 ids.

    M. Sutton, T. Ben-Nun, A. Barak: Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling. IPDPS
    2018.

    Examples
    --------
    >>> import gasla
    >>> from gasla import primitives
    >>> path = gasla.Graph.from_edges([0, 1], [1, 2])
    >>> primitives.label_sides(path.to("gpu"))  # doctest: +SKIP
    array([0, 1, 0], dtype=int32)
    """
    graph = _on_gpu("label_sides", graph)
    if 2 * graph.n > np.iinfo(graph.id_dtype).max:
        raise ValueError(f"the graph has {graph.n} vertices of {graph.id_dtype}; expected room for twice as many ids")
    return kernels().label_sides(graph)


def decide_in_order(graph: Any, ranks: Array) -> Array:
    """Find an independent set: that which a loop over the vertices by falling rank finds, but many vertices at a time.

    This is a whole algorithm, for which the GPU engine has a built-in kernel. `gasla.maximal_independent_set` calls it.

    Parameters
    ----------
    graph : Graph, or CuPy sparse array
        On a GPU. Read as undirected. Self loops and parallel edges do not matter.
    ranks : (n,) CuPy array of integers
        Of equal ranks, the larger id comes first. A vertex of rank ``2**32 - 1`` is in the set, one of rank 0 is not.

    Returns
    -------
    (n,) array of bool
        Whether each vertex is in the set: it is if no neighbor that comes before it is in the set.

    Raises
    ------
    TypeError
        If the graph is not on a GPU.
    ValueError
        If `ranks` is not one integer per vertex, or one is outside 0 to ``2**32 - 1``.

    Notes
    -----
    M. Burtscher, S. Devale, S. Azimi, J. Jaiganesh, E. Powers: A High-Quality and Fast Maximal Independent Set
    Implementation for GPUs. ACM Transactions on Parallel Computing 5 (2018).

    Examples
    --------
    >>> import cupy as cp, gasla  # doctest: +SKIP
    >>> path = gasla.Graph.from_edges([0, 1], [1, 2]).to("gpu")  # doctest: +SKIP
    >>> gasla.primitives.decide_in_order(path, cp.array([1, 2, 3]))  # doctest: +SKIP
    array([ True, False,  True])
    """
    graph = _on_gpu("decide_in_order", graph)
    return kernels().decide_in_order(
        undirected_lists(graph), narrowed("ranks", integers(graph, "ranks", ranks), np.uint32)
    )


def _on_gpu(name: str, graph: Any) -> Graph:
    graph = whole_graph(graph)
    if graph.engine != "gpu" or graph.is_streamed:
        where = "streamed" if graph.engine == "gpu" else f"on the {graph.engine}"
        raise TypeError(f"{name} takes a graph in the memory of a GPU, and this one is {where}: graph.to('gpu')")
    return graph


def integers(graph: Graph, name: str, given: Any) -> Array:
    """Check an argument that has one integer for each vertex, and return it as an array on the graph's device.

    Raise ValueError for any other array. `name` is the argument's name, for the error.
    """
    xp: Any = module_of(graph.device)
    array = xp.asarray(given)
    if array.dtype.kind not in "iu" or array.shape != (graph.n,):
        raise ValueError(f"{name} has type {array.dtype} and shape {array.shape}; expected {graph.n} integers")
    return array


def narrowed(name: str, array: Array, dtype: Any) -> Array:
    """Return a copy of an array of integers as the dtype `dtype`, which may be shorter.

    Raise ValueError if this dtype can't hold one of the integers. `name` is the argument's name, for the error.
    """
    copied = array.astype(dtype)
    if not np.can_cast(array.dtype, dtype) and any_true(copied != array):
        bounds = np.iinfo(dtype)
        raise ValueError(f"{name} has numbers that {bounds.dtype} does not hold; expected {bounds.min} to {bounds.max}")
    return copied


def undirected_lists(graph: Graph) -> Adjacency:
    """Return the adjacency lists of a graph taken as undirected: all neighbors of each vertex, in either direction."""
    return graph.out if graph.is_symmetric else graph.both


def kernels() -> CardOnly:
    """Return the part of the GPU engine whose methods are the algorithms that the CPU engine does not have."""
    return cast(CardOnly, engine("gpu").primitives())
