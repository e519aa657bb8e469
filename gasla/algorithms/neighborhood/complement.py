"""Complement: the graph of all pairs of vertices that no edge joins."""

from typing import Any

from gasla.arrays import module_of, running_sums
from gasla.graph.exchange.two_sides import SIDES
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.rows import Row

CELLS = 1 << 22  # number of pairs of vertices that are tested in one step, with a byte for each


def complement(graph: Any) -> Graph:
    """Make the complement of a graph: an edge i -> j wherever the graph has none.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Values are ignored; stored zeros are edges.

    Returns
    -------
    Graph
        On the same vertices, without self loops. Neighbors ascend. It has neither values nor edge attributes.

    Raises
    ------
    MemoryError
        If the edges, which are counted first, need more memory than is available.

    See Also
    --------
    gasla.negative_edges : some pairs that no edge joins, drawn at random.

    Notes
    -----
    The work is O(n²), and so are the edges, unless the graph has nearly all. The complement of a symmetric graph is
    symmetric.

    References
    ----------
    R. Diestel: Graph Theory. Springer (2017), section 1.1.

    Examples
    --------
    >>> import gasla
    >>> others = gasla.complement(gasla.Graph.from_edges([0, 1, 1], [1, 0, 2]))
    >>> others.edges()
    (array([0, 2, 2], dtype=int32), array([2, 0, 1], dtype=int32))
    """
    graph = whole_graph(graph)
    xp: Any = module_of(graph.device)
    rows, n = graph.with_values(None).simple().out, graph.n
    src, dst = rows.owners(), rows.indices
    counts = n - 1 - (rows.indptr[1:] - rows.indptr[:-1])
    edge_total = n * (n - 1) - len(dst)
    require_room(
        "the complement has", edge_total, graph.id_dtype.itemsize, graph.device, "the complement of a subgraph"
    )
    indices = xp.empty(edge_total, graph.id_dtype)
    height, filled = max(1, CELLS // max(n, 1)), 0
    for first_row in range(0, n, height):
        row_end = min(first_row + height, n)
        block = slice(*rows.indptr[[first_row, row_end]].tolist())
        is_apart = xp.ones((row_end - first_row, n), bool)
        is_apart[src[block] - first_row, dst[block]] = False
        is_apart[xp.arange(row_end - first_row), xp.arange(first_row, row_end)] = False
        absent = xp.nonzero(is_apart)[1]
        indices[filled : filled + len(absent)] = absent
        filled += len(absent)
    result = Graph.from_csr(running_sums(counts), indices)
    if graph.sides is not None:
        # edges of the complement may join vertices of one side, so the attribute of sides is dropped
        graph = graph.with_vertex_attributes({SIDES: None})
    result.naming, result.vertex_attributes = graph.naming, graph.vertex_attributes
    return result


ROW = Row(
    complement,
    method="one pass over all pairs, as the result has them; no paper",
    longer="The result has nearly all pairs of the part's vertices.",
)  # no command: the result is a graph
