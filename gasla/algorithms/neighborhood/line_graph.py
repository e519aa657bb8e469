"""Line graph: its vertices are the edges of a graph, joined where one edge follows the other or shares an end."""

from typing import Any

import numpy as np

from gasla.arrays import index_dtype, module_of, running_sums
from gasla.graph.adjacency import Adjacency
from gasla.graph.arguments import check_flags
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.rows import Row

Array = Any  # a NumPy or CuPy array
BYTES_PER_EDGE = 40  # bytes of memory that each edge of the line graph takes while the graph is built


def line_graph(graph: Any, *, undirected: bool = False) -> Graph:
    """Make the line graph: a vertex for each edge, and an edge from e to f if f begins where e ends.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Values are ignored; stored zeros are edges.
    undirected : bool
        Whether to join edges that have an end in common, whatever their directions. Then all edges between the same two
        vertices, in either direction, are one vertex.

    Returns
    -------
    Graph
        Vertex e is edge e; if `undirected`, vertices are the first edges between their two ends, in the order of the
        input. The vertex attribute "edge" has the number of the edge. There are neither values nor parallel edges.
        Directed, a self loop follows itself, so its vertex has a self loop, and neighbors ascend. Undirected, both
        directions of each edge are stored, there are no self loops, and neighbors are grouped by the end in common.

    Raises
    ------
    MemoryError
        If the edges, which are counted first, need more memory than is available.

    See Also
    --------
    gasla.project : of a bipartite graph, vertices joined by common neighbors, with the numbers of these.

    Notes
    -----
    The line graph has an edge for each path of two edges: the sum over vertices of in-degree times out-degree, or of
    d (d - 1) for d incident edges.

    References
    ----------
    F. Harary, R. Z. Norman: Some properties of line digraphs. Rendiconti del Circolo Matematico di Palermo 9 (1960).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 1], [1, 2, 3])
    >>> gasla.line_graph(graph).edges()
    (array([0, 0], dtype=int32), array([1, 2], dtype=int32))
    >>> gasla.line_graph(graph, undirected=True).to_scipy().toarray().astype(int)
    array([[0, 1, 1],
           [1, 0, 1],
           [1, 1, 0]])
    """
    check_flags(undirected=undirected)
    graph = whole_graph(graph)
    if undirected:
        edges, indptr, indices = _undirected_lists(graph)
    else:
        edges = module_of(graph.device).arange(graph.m, dtype=index_dtype(graph.m))
        adjacency = _concatenate_lists(graph, Adjacency(graph.out.indptr, graph.out.numbers()), graph.edges()[1])
        indptr, indices = adjacency.indptr, adjacency.indices
    result = Graph.from_csr(indptr, indices.astype(index_dtype(len(edges)), copy=False))
    return result.with_vertex_attributes(edge=edges)


def _undirected_lists(graph: Graph) -> tuple[Array, Array, Array]:
    """Return the line graph of an undirected graph: its vertices, and its adjacency lists as `indptr` and `indices`.

    A vertex of the line graph is the first of all edges that join the same two vertices. Its neighbors are the other
    such edges that share an end with it. Two different ones share at most one end, so no neighbor appears twice.
    """
    xp: Any = module_of(graph.device)
    src, dst = graph.edges()
    smaller_end, larger_end = xp.minimum(src, dst), xp.maximum(src, dst)
    edges = xp.sort(xp.unique(smaller_end.astype(np.int64) * graph.n + larger_end, return_index=True)[1])
    edge_endpoints = xp.stack([smaller_end[edges], larger_end[edges]], axis=1)
    counts = 1 + (edge_endpoints[:, 0] != edge_endpoints[:, 1])
    # a self loop has one end, which counts once
    is_end = xp.stack([counts > 0, counts > 1], axis=1).ravel()
    edge_endpoints, owners = edge_endpoints.ravel()[is_end], xp.repeat(xp.arange(len(edges)), 2)[is_end]
    at_vertex = Graph.from_edges(edge_endpoints, owners, n=max(graph.n, len(edges))).out
    adjacency, firsts = _concatenate_lists(graph, at_vertex, edge_endpoints), running_sums(counts)
    # an edge is among the edges at each of its ends, and is left out as a neighbor of itself
    is_other = adjacency.indices != owners[adjacency.owners()]
    return edges, adjacency.indptr[firsts] - firsts, adjacency.indices[is_other]


def _concatenate_lists(graph: Graph, lists: Adjacency, vertices: Array) -> Adjacency:
    """Return the adjacency lists of `vertices`, one after another, of which a line graph is made.

    Raise MemoryError if they don't fit in memory.
    """
    lengths = lists.indptr[1:] - lists.indptr[:-1]
    entry_total = int(lengths[vertices].sum(dtype=np.int64))
    require_room("the line graph has up to", entry_total, BYTES_PER_EDGE, graph.device, "the line graph of a subgraph")
    return lists.of(vertices)


ROW = Row(
    line_graph,
    method="one pass over the pairs of edges at each vertex (Harary, Norman, 1960)",
    longer="The result has an edge for each pair of edges that meet, of which hubs have many.",
)  # no command: the result is a graph
