"""Minimum spanning forests by a built-in kernel of either engine. The public names are in `gasla.primitives`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.engines import chooses_kernels, engine
from gasla.graph.adjacency import Adjacency
from gasla.graph.arguments import check_weights
from gasla.graph.graph import Graph, require_unchanged_files, whole_graph
from gasla.operations.in_order import fits_one_card

Array = Any  # an array of NumPy or CuPy


def fits_lightest_forest(graph: Graph) -> bool:
    """Return whether `lightest_forest` takes a graph.

    It does if the graph is in host memory; or on one GPU, with ids, weights and numbers of edges of up to 32 bits. It
    should not be called within `gasla.engines.interpreted` and `gasla.engines.programs_only`.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.fits_lightest_forest(Graph.from_edges([0, 1], [1, 2]))
    True
    """
    if graph.engine == "cpu":
        return chooses_kernels()
    if not fits_one_card(graph):
        return False
    value_type = graph.value_type
    is_short = value_type is None or (value_type.itemsize <= 4 and value_type != np.float16)
    return is_short and graph.id_dtype.itemsize == 4 and graph.m < 2**32


def lightest_forest(graph: Any) -> Array:
    """Find the edges of the minimum spanning forest, on all threads, or in one launch on a GPU.

    This is a whole algorithm, for which the CPU engine and the GPU engine each have a built-in kernel.
    `gasla.minimum_spanning_forest` calls it where `fits_lightest_forest` is true.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        Read as undirected. Without values every edge weighs 1.

    Returns
    -------
    array of int64
        The ids of the edges, ascending. Of edges of equal weight, the one with the smaller end is taken, then the one
        with the smaller larger end, then the earlier one.

    Raises
    ------
    ValueError
        If a weight is NaN or -inf, or the kernel does not fit.

    Notes
    -----
    O. Borůvka: O jistém problému minimálním. Práce Moravské přírodovědecké společnosti 3 (1926). V. Osipov, P. Sanders,
    J. Singler: The Filter-Kruskal Minimum Spanning Tree Algorithm. ALENEX 2009.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.lightest_forest(Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [4, 1, 2, 3]))
    array([1, 2, 3])
    """
    graph = whole_graph(graph)
    if graph.engine != "cpu" and not fits_lightest_forest(graph):
        raise ValueError(
            f"on a GPU, weights are {graph.value_type}, ids {graph.id_dtype} and edges {graph.m}; expected at most "
            "32 bits of each: gasla.minimum_spanning_forest"
        )
    graph.notice_values()
    check_weights(graph)
    is_ordered = graph.out.edge_ids is None and graph.out.is_sorted and graph.has_mirrored_values
    lists = graph.out if is_ordered else _from_smaller_ends(graph)
    weights = graph.valued.each
    weights = weights.view(np.uint8) if weights is not None and weights.dtype == bool else weights
    edge_positions = engine(graph.engine).primitives().lightest_forest(lists, lists.by_position(weights))
    require_unchanged_files(graph)
    edges = edge_positions if lists.edge_ids is None else lists.edge_ids[edge_positions]
    if graph.engine != "cpu":
        edges.sort()
        return edges.astype(np.int64, copy=False)
    # On a CPU, this marks the edges in an array, and then lists the marked ones in a pass over all edges, which takes
    # less time than a sort.
    is_taken = np.zeros(graph.m, bool)
    is_taken[edges] = True
    return np.flatnonzero(is_taken)


def _from_smaller_ends(graph: Graph) -> Adjacency:
    """Return adjacency lists that have each undirected edge only once, in the list of its smaller end.

    Each list is sorted by the edges' larger ends. Parallel edges keep the order of the input.
    """
    src, dst, numbers = graph.out.owners(), graph.out.indices, graph.out.numbers()
    smaller_ends, larger_ends = np.empty_like(dst), np.empty_like(dst)
    smaller_ends[numbers], larger_ends[numbers] = np.minimum(src, dst), np.maximum(src, dst)
    return Graph.from_edges(smaller_ends, larger_ends, n=graph.n).sorted_out
