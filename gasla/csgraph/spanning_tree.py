"""`minimum_spanning_tree` with the arguments and results of SciPy's function."""

from typing import Any

import numpy as np

from gasla.algorithms.components.minimum_spanning_forest import minimum_spanning_forest
from gasla.arrays import array_module, running_sums
from gasla.csgraph import passthrough
from gasla.csgraph.inputs import graph_of, is_foreign, is_sparse, most_edges, require_real, rows_of, sparse_module
from gasla.graph.graph import Graph

FEW = 1 << 17  # Up to this number of entries in the matrix, SciPy is as fast.
# Up to this number of entries per vertex, SciPy is as fast on larger graphs, too, such as grids and roads (measured on
# two CPU cores).
FEW_EACH = 4


def minimum_spanning_tree(csgraph: Any, overwrite: bool = False) -> Any:
    """Find a minimum spanning tree of each component.

    Parameters
    ----------
    csgraph, overwrite
        As for `scipy.sparse.csgraph.minimum_spanning_tree`; CuPy's arrays, too. `overwrite` changes nothing: the array
        is never written to.

    Returns
    -------
    tree : CSR array or matrix, (n, n) float64
        The edges that SciPy chooses: edges of equal weight are taken in row order, and NaN counts as larger than all
        numbers. As in SciPy, an edge of weight 0 joins its ends, but is left out of the result.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import csgraph
    >>> A = np.array([[0, 8, 0, 3], [0, 0, 2, 5], [0, 0, 0, 6], [0, 0, 0, 0]])
    >>> csgraph.minimum_spanning_tree(A).toarray().astype(int)
    array([[0, 0, 0, 3],
           [0, 0, 2, 5],
           [0, 0, 0, 0],
           [0, 0, 0, 0]])
    """
    require_real(csgraph)
    if is_foreign(csgraph):
        return passthrough.by_scipy("minimum_spanning_tree", "an array of PyData's sparse", csgraph)
    few = max(FEW, FEW_EACH * sum(np.shape(csgraph)[:1]))
    if most_edges(csgraph) <= few and (reason := passthrough.sparing("few edges", csgraph)):
        return passthrough.by_scipy("minimum_spanning_tree", reason, csgraph)
    rows = rows_of(csgraph) if is_sparse(csgraph) else csgraph
    graph = graph_of(rows)
    weights: Any = graph.values
    xp: Any = array_module(weights)
    # False if any weight is NaN or minus infinity, so that weights have to be compared in SciPy's order.
    is_usual = graph.m == 0 or bool(weights.min() > -np.inf)
    if not (is_usual and graph.out.is_sorted and graph.has_symmetric_values):
        if reason := passthrough.sparing("a matrix that is not symmetric", csgraph):
            return passthrough.by_scipy("minimum_spanning_tree", reason, csgraph)
        graph = _ranked(graph)
    edges = minimum_spanning_forest(graph).edges
    values = weights[edges].astype(np.float64, copy=False)
    is_nonzero = values != 0
    edges, values, lists = edges[is_nonzero], values[is_nonzero], graph.out
    is_taken = xp.zeros(graph.m, bool)
    is_taken[edges] = True
    indptr = running_sums(is_taken)[lists.indptr].astype(graph.id_dtype)
    result_type = (
        type(rows) if is_sparse(rows) else getattr(sparse_module(values), "csr_array" if xp is np else "csr_matrix")
    )
    return result_type((values, lists.indices[edges], indptr), shape=(graph.n, graph.n))


def _ranked(graph: Graph) -> Graph:
    """Return the graph with each weight replaced by its rank. Among equal weights, the position in row order decides.

    SciPy chooses edges in this order. gasla prefers, among edges of equal weight, the one with the smaller end vertex,
    which is the same order only in a symmetric matrix with sorted rows.
    """
    xp: Any = array_module(graph.values)
    ranks = xp.empty(graph.m, graph.offset_dtype)
    ranks[xp.argsort(graph.values, kind="stable")] = xp.arange(graph.m, dtype=graph.offset_dtype)
    return graph.with_values(ranks)
