"""Find some cycle of a graph, as the first edge that is on a cycle, and a shortest path from its end back to its start.

A directed edge is on a cycle if both ends are in one strong component. An undirected edge is on a cycle if it is no
bridge.
"""

from typing import Any

import numpy as np

from gasla.algorithms.components.bridges import bridges
from gasla.algorithms.components.strongly_connected_components import strongly_connected_components
from gasla.algorithms.traversal.bfs import bfs
from gasla.arrays import module_of
from gasla.graph.arguments import check_flags
from gasla.graph.graph import whole_graph
from gasla.operations.primitives import simplify
from gasla.rows import Command, Row


def find_cycle(graph: Any, *, directed: bool = True) -> np.ndarray | None:
    """Find a cycle: a path that leads back to where it began, and visits no vertex twice.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. Values are ignored; stored zeros are edges.
    directed : bool, default True
        Whether the cycle follows the direction of edges. Otherwise i -> j and j -> i are one edge.

    Returns
    -------
    array of ids, or None
        The vertices of a cycle, each once; an edge leads from each to the next, and from the last to the first. That of
        a self loop, if there is one, is one vertex. None if there is no cycle.

    See Also
    --------
    gasla.simple_cycles : all cycles up to a length.
    gasla.topological_order : an order that proves that there is none.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 1])
    >>> gasla.find_cycle(graph)
    array([1, 2, 3], dtype=int32)
    >>> gasla.find_cycle(gasla.Graph.from_edges([0, 0], [1, 2])) is None
    True
    """
    graph = whole_graph(graph)
    check_flags(directed=directed)
    xp: Any = module_of(graph.device)
    src, dst = graph.edges()
    if graph.has_self_loops:
        return src[src == dst][:1]
    simple = graph.simple() if directed else simplify(graph)
    src, dst = simple.edges()
    if directed:
        labels = strongly_connected_components(simple).labels
        on_cycle = labels[src] == labels[dst]
    else:
        pairs = bridges(simple).astype(np.int64)
        smaller_end, larger_end = xp.minimum(src, dst).astype(np.int64), xp.maximum(src, dst)
        on_cycle = ~xp.isin(smaller_end * simple.n + larger_end, pairs[:, 0] * simple.n + pairs[:, 1])
    if not bool(on_cycle.any()):
        return None
    e = int(on_cycle.argmax())
    start, end = int(dst[e]), int(src[e])
    if not directed:
        simple = simple.select(~(((src == start) & (dst == end)) | ((src == end) & (dst == start))))
    parents, path = bfs(simple, start, parents=True).parents, [end]
    while path[-1] != start:
        path.append(int(parents[path[-1]]))
    return xp.asarray([end, *path[:0:-1]], dtype=graph.id_dtype)


ROW = Row(
    find_cycle,
    Command(
        *("find-cycle", {"cycle": "on_cycle"}),
        lambda f: f"a cycle of {len(f['cycle']):,} vertices" if f["found"] else "there is no cycle",
        lambda f: f.named(f["cycle"]),
        "ids",
        unpack=lambda graph, cycle: {
            "cycle": np.empty(0, graph.id_dtype) if cycle is None else cycle,
            "found": cycle is not None,
        },
    ),
    method="one depth-first search (Tarjan, SIAM J. Computing 1, 1972)",
    longer="A graph without cycles is searched to the end, by all rounds of strong components.",
)
