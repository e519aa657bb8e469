"""Maximal cliques are sets of pairwise adjacent vertices to which no vertex can be added.

A clique is searched at its first vertex in degeneracy order, among the few neighbors that follow. A search tries only
candidates that are not adjacent to a pivot, because each maximal clique has the pivot or a vertex that is not adjacent
to the pivot.
"""

from functools import partial
from typing import Any

from gasla.algorithms.paths.simple_paths import lists, vertices_of
from gasla.operations import primitives
from gasla.operations.vertex_lists import VertexLists
from gasla.rows import Command, Row


def maximal_cliques(
    graph: Any, *, min_size: int = 1, count: bool = False, limit: int | None = None
) -> VertexLists | int:
    """List the maximal cliques: sets of pairwise adjacent vertices that are in no larger one. Or count them.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        Read as simple and undirected, as by `triangle_count`. Values are ignored; stored zeros are edges. In host
        memory.
    min_size : int, default 1
        The smallest number of vertices of a clique. A vertex without neighbors is a maximal clique.
    count : bool, default False
        Whether to return only the number of cliques.
    limit : int, optional
        List this many cliques at most; which ones is the same in every run. By default memory is the limit.

    Returns
    -------
    VertexLists, or int
        The vertices of each clique, ascending. Cliques have no particular order, but are deterministic. With `count`
        their number.

    Raises
    ------
    TypeError, ValueError
        If `min_size` or `limit` is not a whole number; if the graph is on a GPU.
    MemoryError
        If the cliques need more memory than is available; they are counted first.

    See Also
    --------
    gasla.count_cliques : counts the cliques of k vertices, maximal or not.

    Notes
    -----
    The work is at most n d 3^(d / 3), where d is the largest core number. A thread takes an id per vertex, and d / 8
    bytes for each neighbor of a vertex; besides, there is a copy of the graph.

    References
    ----------
    D. Eppstein, M. Löffler, D. Strash: Listing All Maximal Cliques in Large Sparse Real-World Graphs. ACM Journal of
    Experimental Algorithmics 18 (2013).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> sorted(gasla.maximal_cliques(graph).tolist())
    [[0, 1, 2], [2, 3]]
    >>> gasla.maximal_cliques(graph, min_size=3, count=True)
    1
    """
    return primitives.maximal_cliques(graph, min_size, count=count, limit=limit)


ROW = Row(
    maximal_cliques,
    Command(
        *("maximal-cliques", {"vertices": "in_cliques"}),
        lambda f: f"{len(f['lists']):,} maximal cliques{', among them:' * (len(f['lists']) > f.top)}",
        *(lists, "ids"),
        fixed={"count": False},
        unpack=partial(vertices_of, "cliques"),
    ),
    method="pivots in order of degeneracy (Eppstein, Löffler, Strash, 2013); on a GPU Almasri et al., PACT 2023",
    longer="Sets are listed by backtracking: their number, not that of edges, is the work.",
)
