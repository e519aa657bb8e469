"""Simple paths of bounded length, which visit no vertex twice.

A search backward from the target tells how many edges away each vertex is, so that the search forward only takes steps
from which the target can be reached with the edges that are left.
"""

from collections.abc import Hashable, Iterable
from functools import partial
from typing import Any

import numpy as np

from gasla.graph.arguments import check_flags, in_host_memory, is_one_vertex, vertex_ids, whole_number
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph
from gasla.operations.primitives import count_paths, list_paths
from gasla.operations.vertex_lists import VertexLists
from gasla.rows import Command, Row


def simple_paths(
    graph: Any,
    source: Hashable | Iterable[Hashable],
    target: Hashable | Iterable[Hashable],
    max_length: int,
    *,
    min_length: int = 1,
    count: bool = False,
    limit: int | None = None,
) -> VertexLists | int:
    """List the paths from one vertex to another that visit no vertex twice, up to a length, or count them.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Values are ignored; stored zeros are edges. In host memory.
    source, target : int or name, or arrays of them
        The ends of the paths. Of two arrays, paths lead from each source to the target at the same place; one vertex is
        an end of all paths.
    max_length, min_length : int
        The largest and the smallest number of edges of a path.
    count : bool, default False
        Whether to return only the number of paths.
    limit : int, optional
        List this many paths at most: the first ones. By default memory is the limit.

    Returns
    -------
    VertexLists, or int
        The vertices of each path from source to target: by pairs in their order, each pair's in the order of a
        depth-first search that follows edges in the order of the input, or by ascending ids if there are parallel ones.
        With `count` the exact number, of any size.

    Raises
    ------
    TypeError, ValueError
        If an end is not a vertex, the arrays differ in length, or a length is not a whole number; if the graph is on a
        GPU.
    MemoryError
        If the paths need more memory than is available; they are counted first.

    See Also
    --------
    gasla.k_shortest_paths : in the order of their lengths, by weights.
    gasla.simple_cycles : paths that lead back.

    Notes
    -----
    Parallel edges are one edge, and self loops are ignored: a path is given by its vertices. From a vertex to itself
    there is no path of one edge or more.

    A thread takes 20 bytes per vertex at most (40 with ids of 64 bits), and as much for each edge of the longest path.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 0, 1, 2, 2], [1, 2, 3, 3, 1])
    >>> gasla.simple_paths(graph, 0, 3, max_length=2).tolist()
    [[0, 1, 3], [0, 2, 3]]
    >>> gasla.simple_paths(graph, 0, 3, max_length=3, count=True)
    3
    """
    graph = in_host_memory("simple_paths", graph)
    check_flags(count=count)
    min_edges, max_edges = max(whole_number("min_length", min_length), 1), whole_number("max_length", max_length)
    sources, targets = _ends(graph, "source", source), _ends(graph, "target", target)
    if len(sources) != len(targets) and 1 not in (len(sources), len(targets)):
        raise ValueError(f"source has {len(sources)} vertices and target {len(targets)}; expected as many, or one")
    sources, targets = np.broadcast_arrays(sources, targets)
    differ = sources != targets
    simple = graph.simple() if graph.has_parallel_edges else graph
    if simple.has_self_loops:
        src, dst = simple.edges()
        simple = simple.select(src != dst)
    path_ends = sources[differ], targets[differ]
    if count:
        return count_paths(simple, *path_ends, min_edges, max_edges)
    return list_paths(simple, *path_ends, min_edges, max_edges, limit=limit)


def _ends(graph: Graph, name: str, argument: Any) -> np.ndarray:
    """Return the argument `name`, which is one vertex or several vertices, as an array of ids."""
    is_single = is_one_vertex(graph, argument)
    end_ids: np.ndarray = vertex_ids(graph, name, [translate_vertex(graph, argument, name)] if is_single else argument)
    return end_ids


def lists(f: Any) -> Any:
    """Return the lines by which a command prints the first paths or cycles that it has found, each a list of vertices.

    `f` has the command's results.
    """
    return (f"      {' – '.join(map(f.label, row.tolist()))}" for row, _ in zip(f["lists"], range(f.top)))


def vertices_of(name: str, _: Any, lists: VertexLists) -> dict[str, Any]:
    """Return the result of a function that finds paths or cycles, as a dict by which a command writes and checks the
    result.

    It has the lists of vertices, also under their `name`, which the verifier takes as an argument, and all vertices in
    one array.
    """
    return {name: lists, "lists": lists, "vertices": lists.vertices}


ROW = Row(
    simple_paths,
    Command(
        *("simple-paths", {"vertices": "on_paths"}),
        lambda f: f"{len(f['lists']):,} paths from {f.ends}{', among them:' * (len(f['lists']) > f.top)}",
        *(lists, "ids"),
        defaults={"max_length": 4},
        fixed={"count": False},
        unpack=partial(vertices_of, "paths"),
    ),
    method="backtracking bounded by distances to the target: PathEnum (Sun et al., SIGMOD 2021)",
    longer="Paths are followed one by one, and their number grows with the length.",
)
