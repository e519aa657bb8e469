"""Triangles: how many sets of three vertices are joined by three edges.

Returned is their number, or with `per_vertex` also in how many of them each vertex is. The graph is read as a simple
undirected one: direction, self loops and parallel edges don't count.

Each triangle u < v < w is found once, at its edge u -> v, as an entry w that follows v in u's list and is in v's. Where
all lists are short the order is that of the ids, and lists are merged as they lie. Otherwise it is that of degrees, so
that hubs come last and have few larger neighbors; these are marked, and the rests of lists looked up among the marks.

T. Schank, D. Wagner: Finding, Counting and Listing all Triangles in Large Graphs. WEA 2005.
"""

from typing import Any, NamedTuple

import numpy as np

from gasla.graph.arguments import check_flags
from gasla.operations.primitives import count_common_neighbours, orient


class TrianglesResult(NamedTuple):
    """How many triangles there are, and how many each vertex is in."""

    total: int
    per_vertex: np.ndarray[Any, Any]  # or CuPy's, as then is `total`, of no dimension


def triangle_count(graph: Any, *, per_vertex: bool = False) -> int | TrianglesResult:
    """Count the triangles of a graph.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected: direction, self loops and parallel edges are ignored. If it isn't both, the one
        that is so is kept with it for further calls: up to 8 bytes an edge and 4 a vertex (`Graph.nbytes`).
    per_vertex : bool, default False
        Also count the triangles that each vertex is in.

    Returns
    -------
    int, or TrianglesResult
        The number of triangles; with `per_vertex` a named tuple ``(total, per_vertex)``, the latter int64 and
        on the device of the graph.

    Notes
    -----
    On a GPU it may return while its kernels still run, as CuPy's functions do, and the number is a CuPy array of no
    dimension, as CuPy's sums are: `int(total)` waits for it.

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
    total, counts = count_common_neighbours(orient(graph), per_vertex=per_vertex)
    return total if counts is None else TrianglesResult(total, counts)
