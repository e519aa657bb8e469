"""Adjacency matrices, and NetworkX's functions that compute with them.

A matrix has the same dtype and entries as NetworkX's. It is made from arrays, without a loop over edges.
"""

from typing import Any

import networkx as nx
import numpy as np
from scipy.sparse import coo_array

from gasla.backends.networkx.conversion import Array, Converted
from gasla.backends.networkx.dispatch import ALL_NODES, by_name, compose, is_multigraph, register, when
from gasla.graph.memory_limit import require_room

WEIGHT = by_name("weight")
COMBINED = {sum: np.add, min: np.minimum, max: np.maximum}


def _rows_of_nodes(G: Converted, nodelist: Any) -> tuple[int, Array]:
    """Return the number of nodes in the matrix, and the row of each node, or -1 for a node outside `nodelist`."""
    if nodelist is None:
        return len(G), np.arange(len(G))
    places = np.full(len(G), -1, np.int64)
    ids = G.numbered(nodelist)
    places[ids] = np.arange(len(ids))
    return len(ids), places


def _entries_in_matrix(G: Converted, places: Array) -> tuple[Array, Array, Array]:
    """Return a mask of the adjacency entries to put into the matrix, and the rows and columns of all entries.

    `places` has the row of each node, or -1. Of an undirected edge, only one of its two entries is in the mask.
    """
    out = G.plain().out
    tails, heads = out.owners(), out.indices
    # NetworkX yields an undirected edge only once, at the end that is first in the graph, so only this entry is taken.
    is_listed = G.is_directed() | (tails <= heads)
    rows, columns = places[tails], places[heads]
    return is_listed & (rows >= 0) & (columns >= 0), rows, columns


@register(WEIGHT, least=2_000)
def to_scipy_sparse_array(
    G: Converted, nodelist: Any = None, dtype: Any = None, weight: Any = "weight", format: Any = "csr"
) -> Any:
    """Return the adjacency matrix as a SciPy sparse array."""
    if not len(G):
        raise nx.NetworkXError("Graph has no nodes or edges")
    if nodelist is not None:
        _check_nodelist(G, nodelist)
    n, places = _rows_of_nodes(G, nodelist)
    is_in_matrix, rows, columns = _entries_in_matrix(G, places)
    values = G.each(weight, large=True)
    if G.edges.copies is not None:
        is_in_matrix, rows, columns = (np.repeat(each, G.edges.copies) for each in (is_in_matrix, rows, columns))
    rows, columns, values = rows[is_in_matrix], columns[is_in_matrix], values[is_in_matrix]
    if not len(values):
        values = np.zeros(0)
    elif not G.is_directed():
        loops = rows == columns
        if values.dtype == bool and loops.any():
            values = values.astype(np.int64)
        # The entry of a self loop is added for both directions of an undirected edge, so it is subtracted once.
        corrections = -values[loops] if loops.any() else values[:0]
        rows, columns = (np.concatenate([rows, columns, rows[loops]]), np.concatenate([columns, rows, columns[loops]]))
        values = np.concatenate([values, values, corrections])
    A = coo_array((values, (rows, columns)), shape=(n, n), dtype=dtype)
    try:
        return A.asformat(format)
    except ValueError as error:
        raise nx.NetworkXError(f"Unknown sparse matrix format: {format}") from error


def _check_nodelist(G: Converted, nodelist: Any) -> None:
    """Raise NetworkXError if a list of nodes is empty, repeats a node, or has a node that is not in the graph."""
    if not len(nodelist):
        raise nx.NetworkXError("nodelist has no nodes")
    if len(nodelist) != len(set(G.nbunch_iter(nodelist))):
        for name in nodelist:
            if name not in G:
                raise nx.NetworkXError(f"Node {name} in nodelist is not in G")
        raise nx.NetworkXError("nodelist contains duplicates.")


@register(
    WEIGHT,
    when(
        "multigraph_weight is other than sum, min or max",
        lambda given: is_multigraph(given) and given["multigraph_weight"] not in COMBINED,
    ),
    least=2_000,
)
def to_numpy_array(
    G: Converted,
    nodelist: Any = None,
    dtype: Any = None,
    order: Any = None,
    multigraph_weight: Any = sum,
    weight: Any = "weight",
    nonedge: Any = 0.0,
) -> Array:
    """Return the adjacency matrix as a NumPy array."""
    chosen = G.names if nodelist is None else nodelist
    if absent := set(chosen) - set(G):
        raise nx.NetworkXError(f"Nodes {absent} in nodelist is not in G")
    if len(set(chosen)) < len(chosen):
        raise nx.NetworkXError("nodelist contains duplicates.")
    matrix_dtype = np.dtype(dtype if dtype is not None else np.float64)
    require_room(
        "the matrix has", len(chosen) ** 2, matrix_dtype.itemsize, "cpu", "some nodes, or to_scipy_sparse_array"
    )
    A = np.full((len(chosen), len(chosen)), nonedge, dtype, order)
    if A.dtype.kind not in "biufc":
        raise NotImplementedError(f"dtype is {A.dtype}: NetworkX writes Python objects into this matrix")
    _, places = _rows_of_nodes(G, nodelist)
    is_in_matrix, rows, columns = _entries_in_matrix(G, places)
    if not len(chosen) or not len(is_in_matrix):
        return A
    if G.is_multigraph() and not is_in_matrix.any():
        raise NotImplementedError("nodelist has no adjacent nodes of the multigraph: NetworkX raises an error")
    values = G.values(weight, COMBINED.get(multigraph_weight, np.add))
    if not np.isfinite(values).all():
        raise NotImplementedError(f"{weight!r} of an edge is not finite")
    A[rows[is_in_matrix], columns[is_in_matrix]] = values[is_in_matrix]
    if not G.is_directed():
        A[columns[is_in_matrix], rows[is_in_matrix]] = values[is_in_matrix]
    return A


for theirs in (nx.adjacency_matrix, nx.laplacian_matrix, nx.normalized_laplacian_matrix):
    compose(theirs, WEIGHT, least=2_000)
for theirs in (nx.constraint, nx.effective_size):
    compose(theirs, WEIGHT, ALL_NODES, least=2_000)
