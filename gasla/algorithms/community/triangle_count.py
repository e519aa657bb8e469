"""Triangle counting: the number of sets of three vertices that are pairwise adjacent.

Each triangle u < v < w is counted once, at its edge u -> v, where w is a later entry in both adjacency lists. If all
lists are short, vertices are ordered by id, and the lists of u and v are merged. Otherwise vertices are ordered by
degree, so that hubs come last and have few larger neighbors. The larger neighbors of u are then marked, and those of v
are looked up among the marks.
"""

from typing import Any, NamedTuple

import numpy as np

from gasla.graph.arguments import check_flags
from gasla.operations.on_one_device import on_one_device
from gasla.operations.primitives import count_common_neighbors, orient
from gasla.rows import Row, Task, scores


class TrianglesResult(NamedTuple):
    """The number of triangles, and the number at each vertex."""

    total: int
    per_vertex: np.ndarray[Any, Any]  # on a GPU a CuPy array, and `total` is a CuPy array with 0 dimensions


@on_one_device("triangles")
def triangle_count(graph: Any, *, per_vertex: bool = False) -> int | TrianglesResult:
    """Count the triangles of a graph.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected: direction, self loops, parallel edges and values are ignored; stored zeros are
        edges. The simple undirected graph, if not the graph itself, is kept for later calls: up to 16 bytes per edge
        and 8 per vertex (`Graph.nbytes`).
    per_vertex : bool, default False
        Whether to count the triangles at each vertex as well.

    Returns
    -------
    int, or TrianglesResult
        The number of triangles; with `per_vertex` a named tuple ``(total, per_vertex)``, in which `per_vertex` is an
        (n,) array of int64 on the device of the graph.

    Notes
    -----
    On a GPU the function may return before its kernels finish, as CuPy's functions do; the number is then a CuPy array
    with 0 dimensions, and `int(total)` waits for it.

    References
    ----------
    T. Schank, D. Wagner: Finding, Counting and Listing all Triangles in Large Graphs. WEA 2005.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.triangle_count(graph)
    1
    >>> gasla.triangle_count(graph, per_vertex=True)
    TrianglesResult(total=1, per_vertex=array([1, 1, 1, 0]))
    """
    check_flags(per_vertex=per_vertex)
    triangle_total, counts = count_common_neighbors(orient(graph), per_vertex=per_vertex)
    return triangle_total if counts is None else TrianglesResult(triangle_total, counts)


ROW = Row(
    triangle_count,
    scores(
        *("triangles", {"per_vertex": "triangles"}),
        lambda f: f"{f['total']:,} triangles; vertices in the most triangles:",
        fixed={"per_vertex": True},
    ),
    Task("triangles", checked_by="", form="whole_numbers"),
    method="oriented lists, intersected by hashing or bits: TRUST (Pandey et al., TPDS 32, 2021)",
    longer="Lists are intersected at every edge: the work grows with m to the power of 1.5, not with m.",
)
