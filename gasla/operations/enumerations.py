"""List or count paths and maximal cliques on the CPU, depth-first and in bounded memory.

The public names are in `gasla.primitives`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.engines import engine
from gasla.graph.arguments import check_flags, in_host_memory, vertex_ids, whole_number
from gasla.graph.graph import Graph
from gasla.operations.one_thread import kernels
from gasla.operations.vertex_lists import VertexLists


def count_paths(graph: Any, sources: Any, targets: Any, least: int, most: int, *, bounded: bool = False) -> int:
    """Count the paths of bounded length from some vertices to others that visit no vertex twice.

    The function runs a built-in kernel of the CPU engine. `gasla.simple_paths` and `gasla.simple_cycles` call it.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        Without self loops and parallel edges, as from ``graph.simple()``.
    sources, targets : arrays of vertices
        Paths lead from ``sources[i]`` to ``targets[i]``; if these are the same vertex, they are the cycles through it.
    least, most : int
        The numbers of edges of a path, 1 or more.
    bounded : bool, default False
        Whether paths only pass vertices of smaller ids than their source. The lists have to ascend.

    Returns
    -------
    int
        The exact number, of any size.

    Raises
    ------
    TypeError, ValueError
        If the graph is not in host memory, is not simple, or an argument is out of range.

    Notes
    -----
    A thread takes 12 bytes per vertex with ids of 32 bits, twice that with 64.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> square = Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 0])
    >>> primitives.count_paths(square, [0], [3], 1, 3), primitives.count_paths(square, [3, 0], [3, 0], 1, 3)
    (2, 4)
    """
    graph, least, most = _check_arguments("count_paths", graph, least, most, bounded)
    if least > most or not len(sources):
        return 0
    return kernels().count_paths(graph, *_check_ends(graph, sources, targets), least, most, bounded)


def list_paths(
    graph: Any,
    sources: Any,
    targets: Any,
    least: int,
    most: int,
    *,
    bounded: bool = False,
    one_way: bool = False,
    limit: int | None = None,
) -> VertexLists:
    """List the paths of bounded length from some vertices to others that visit no vertex twice.

    The function runs a built-in kernel of the CPU engine. `gasla.simple_paths` and `gasla.simple_cycles` call it.

    Parameters
    ----------
    graph, sources, targets, least, most, bounded
        As for `count_paths`.
    one_way : bool, default False
        Whether to list only paths whose second vertex is smaller than the last but one: undirected cycles, once each.
    limit : int, optional
        How many paths to list at most.

    Returns
    -------
    VertexLists
        The paths in the order of sources, each source's in the order of a depth-first search. A path from a vertex to
        itself has that vertex once. With a limit, the first ones.

    Raises
    ------
    TypeError, ValueError
        As for `count_paths`.
    MemoryError
        If the paths need more memory than is available, before they are listed.

    Notes
    -----
    The paths are counted first. A thread takes 8 bytes per vertex with ids of 32 bits, twice that with 64.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> square = Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 0])
    >>> primitives.list_paths(square, [0, 3], [3, 3], 1, 3).tolist()
    [[0, 1, 3], [0, 2, 3], [3, 0, 1], [3, 0, 2]]
    """
    graph, least, most = _check_arguments("list_paths", graph, least, most, bounded)
    check_flags(one_way=one_way)
    most_paths = None if limit is None else whole_number("limit", limit)
    if least > most or not len(sources):
        return VertexLists(np.zeros(1, np.int64), np.empty(0, graph.id_dtype))
    ids_of_ends = _check_ends(graph, sources, targets)
    return VertexLists(*kernels().list_paths(graph, *ids_of_ends, least, most, bounded, one_way, most_paths))


def maximal_cliques(graph: Any, least: int = 1, *, count: bool = False, limit: int | None = None) -> VertexLists | int:
    """List or count the maximal cliques: sets of pairwise adjacent vertices that are in no larger such set.

    This is a whole algorithm, for which the CPU engine has a built-in kernel. `gasla.maximal_cliques` is this function.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        Read as simple and undirected.
    least : int, default 1
        The smallest number of vertices of a clique.
    count, limit
        As for `gasla.maximal_cliques`.

    Returns
    -------
    VertexLists, or int

    Raises
    ------
    TypeError, ValueError
        If the graph is not in host memory, or an argument is out of range.
    MemoryError
        If the cliques need more memory than is available, before they are listed.

    Notes
    -----
    D. Eppstein, M. Löffler, D. Strash: Listing All Maximal Cliques in Large Sparse Real-World Graphs. JEA 18 (2013).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.maximal_cliques(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]), count=True)
    2
    """
    graph = in_host_memory("maximal_cliques", graph)
    check_flags(count=count)
    least, rows = whole_number("min_size", least), None if limit is None else whole_number("limit", limit)
    simple = engine("cpu").primitives().simplify(graph)
    cliques = kernels().maximal_cliques(simple, least, None if count else rows, count)
    return cliques if isinstance(cliques, int) else VertexLists(*cliques)


def _check_arguments(name: str, graph: Any, shortest: int, longest: int, bounded: bool) -> tuple[Graph, int, int]:
    graph = in_host_memory(name, graph)
    check_flags(bounded=bounded)
    if graph.has_self_loops or graph.has_parallel_edges:
        raise ValueError("the graph has self loops or parallel edges; expected neither: graph.simple()")
    if bounded and not (graph.out.is_sorted and graph.in_.is_sorted):
        raise ValueError("the neighbor lists do not ascend; expected lists that do, as those of graph.simple()")
    shortest, longest = whole_number("least", shortest), whole_number("most", longest)
    if shortest == 0:
        raise ValueError("least is 0; expected 1 or more, the edges of a path")
    return graph, shortest, min(longest, graph.n)  # no path is longer than n edges, so a larger limit has no effect


def _check_ends(graph: Graph, sources: Any, targets: Any) -> tuple[np.ndarray, np.ndarray]:
    source_ids, target_ids = (
        vertex_ids(graph, name, ids) for name, ids in (("sources", sources), ("targets", targets))
    )
    if len(source_ids) != len(target_ids):
        raise ValueError(f"there are {len(source_ids)} sources and {len(target_ids)} targets; expected as many")
    return source_ids, target_ids
