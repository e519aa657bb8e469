"""The two sides of a bipartite graph: edges from rows to columns of a rectangular matrix, and the side of each vertex.

A vertex attribute has 0 or 1 for the side of each vertex, and is named "bipartite" as in NetworkX. So derived graphs,
copies and files keep the sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gasla.arrays import any_true, array_module, index_dtype, moved
from gasla.graph.adjacency import Array
from gasla.graph.exchange.columns import Edges
from gasla.graph.validate import as_coordinates, check_range, require_sparse

SIDES = "bipartite"


def edges_of_matrix(R: Any, rows: Sequence[Any] | None, columns: Sequence[Any] | None) -> Edges:
    """Return the edges of the bipartite graph of a rectangular matrix, which lead from its rows to its columns.

    `rows` and `columns` have the names of the vertices, as `Graph.from_bipartite` documents.
    """
    if isinstance(R, np.ndarray) and R.ndim == 2:
        from scipy.sparse import csr_array

        R = csr_array(R)
    require_sparse(R)
    if len(R.shape) != 2:
        raise ValueError(
            f"R has shape {R.shape}; expected two dimensions: a row and a column for each vertex of a side"
        )
    count, column_count = map(int, R.shape)
    coo = R.tocoo()
    row, col = as_coordinates(coo)
    check_range("row", row, count)
    check_range("col", col, column_count)
    n = count + column_count
    dtype = index_dtype(n)
    return Edges(
        n,
        row.astype(dtype, copy=False),
        col.astype(dtype) + dtype.type(count),
        coo.data,
        _names_of_sides(R.shape, rows, columns),
        vertex_attributes={SIDES: sides(n, count, array_module(row))},
    )


def sides(n: int, count: int, xp: Any = np) -> Array:
    """Return the side of each of n vertices: 0 for the first `count` vertices, and 1 for all others."""
    return (xp.arange(n) >= count).astype(np.uint8)


def _names_of_sides(shape: Any, rows: Sequence[Any] | None, columns: Sequence[Any] | None) -> Array | None:
    """Return the names of the vertices of both sides, rows first, or None if they have no names."""
    if rows is None and columns is None:
        return None
    if rows is None or columns is None:
        raise ValueError(f"{'rows' if rows is None else 'columns'} is missing; expected names for both sides, or none")
    names: list[Any] = []
    for argument, name, length in zip((rows, columns), ("rows", "columns"), shape):
        side_names = argument.tolist() if hasattr(argument, "tolist") else [*argument]
        if len(side_names) != length:
            raise ValueError(
                f"{name} has {len(side_names)} names; expected {length}, the number of {name} of the matrix"
            )
        names += side_names
    last_positions = {name: position for position, name in enumerate(names)}
    if len(last_positions) < len(names):
        name = next(name for position, name in enumerate(names) if last_positions[name] != position)
        raise ValueError(f"two vertices are named {name!r}; expected distinct names, also across the two sides")
    return np.fromiter(names, object, len(names))


def sides_of(graph: Any) -> Array | None:
    """Return the side, 0 or 1, of each vertex of a bipartite graph.

    The sides are the vertex attribute "bipartite". Return None if the graph does not have it, or if it has other
    numbers.
    """
    if SIDES not in graph.vertex_attributes:
        return None
    sides_now = graph.vertex_attributes[SIDES]
    return None if any_true((sides_now != 0) & (sides_now != 1)) else sides_now


def chosen(graph: Any, side: Any) -> Any:
    """Return the vertices that the argument `side` of a function on bipartite graphs selects, by default side 0.

    They are a mask of one of the graph's two sides, or the given vertices.
    """
    is_number = isinstance(side, int | np.integer) and not isinstance(side, bool)
    if side is not None and not is_number:
        return side
    if side not in (None, 0, 1):
        raise ValueError(f"side is {side}; expected 0 or 1, or the vertices of a side")
    if (side_of := graph.sides) is None:
        raise ValueError(
            f"side is {side}, and the graph does not know its sides; expected the vertices of the side, or a graph of "
            "Graph.from_bipartite, or of Graph.from_table with bipartite=True"
        )
    return side_of == (side or 0)


def require_across(src: Array, dst: Array, is_left: Array) -> None:
    """Raise ValueError for the first edge whose ends are on the same side of a bipartite graph."""
    wrong = is_left[src] == is_left[dst]
    if any_true(wrong):
        wrong_edge = int(wrong.argmax())
        u, v = (int(moved(end[wrong_edge], "cpu")) for end in (src, dst))
        raise ValueError(f"an edge joins {u} and {v}, both of one side; expected a bipartite graph")
