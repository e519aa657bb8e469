"""Batches of graphs: many small graphs as one graph without edges between them, so that one call serves all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from gasla.arrays import module_of
from gasla.graph.attributes import Attributes
from gasla.graph.graph import Graph, whole_graph
from gasla.rows import Row

Of = Literal["vertex", "edge"]


class Batch(NamedTuple):
    """Several graphs as one graph, and where the vertices and edges of each begin.

    Vertex v of graph i is vertex `vertex_starts[i] + v` of `graph`, and edge e is edge `edge_starts[i] + e`.
    """

    graph: Graph
    # the number of the first vertex of each graph in the batch, and at the end the number of all vertices
    vertex_starts: np.ndarray[Any, Any]
    edge_starts: np.ndarray[Any, Any]

    def split(self, result: Any, of: Of = "vertex") -> list[Any]:
        """Split a result on the batch into the results of the single graphs, as views of the array.

        Parameters
        ----------
        result : array
            A result on `graph`, such as distances. Its first axis has one entry for each vertex, or for each edge.
        of : {"vertex", "edge"}
            Whether the result has an entry per vertex, or per edge.

        Raises
        ------
        ValueError
            If the result has another length.

        Examples
        --------
        >>> import gasla
        >>> triangle, path = gasla.Graph.from_edges([0, 1, 2], [1, 2, 0]), gasla.Graph.from_edges([0, 1], [1, 2])
        >>> batch = gasla.batch([triangle, path])
        >>> batch.split(gasla.triangle_count(batch.graph, per_vertex=True).per_vertex)
        [array([1, 1, 1]), array([0, 0, 0])]
        """
        if of not in ("vertex", "edge"):
            raise ValueError(f"of is {of!r}; expected 'vertex' or 'edge'")
        starts = self.vertex_starts if of == "vertex" else self.edge_starts
        shape = getattr(result, "shape", None)
        if not shape or shape[0] != starts[-1]:
            noun = {"vertex": "vertices", "edge": "edges"}[of]
            described = type(result).__name__ if shape is None else f"an array of shape {shape}"
            raise ValueError(
                f"result is {described}; expected an array of {starts[-1]} entries, one for each of the {noun}"
            )
        return [
            result[first_vertex:last_vertex]
            for first_vertex, last_vertex in zip(starts[:-1].tolist(), starts[1:].tolist())
        ]


def batch(graphs: Iterable[Any]) -> Batch:
    """Put many small graphs into one graph, side by side, so that one call of an algorithm serves all of them.

    Parameters
    ----------
    graphs : Graph objects or SciPy sparse arrays
        All have to be on one device, and all or none have values. Names of vertices are not kept.

    Returns
    -------
    Batch(graph, vertex_starts, edge_starts)
        `graph` has the vertices and edges of the first graph, then of the second, and so on. Its values, and the
        attributes that all graphs have, are theirs in the common type. Vertex v of graph i is `vertex_starts[i] + v`.
        `Batch.split` cuts a result into one for each graph.

    Raises
    ------
    ValueError
        If some graphs have values and others have none, or graphs are on two devices.
    TypeError
        If an item is not a graph.

    Notes
    -----
    Searches start at a vertex of each graph: `gasla.sssp(batch.graph, batch.vertex_starts[:-1])` at vertex 0 of all.

    Results are those of single calls where they depend on a vertex's component alone: distances, components, triangles,
    clustering, core numbers, matchings. They differ where a whole graph is scaled or stopped at once: ranks of
    `pagerank` sum to 1 over the batch, and iterations end when all graphs have converged.

    Examples
    --------
    >>> import gasla
    >>> molecules = [gasla.Graph.from_edges([0, 1], [1, 2], [1.0, 2.0]), gasla.Graph.from_edges([0], [1], [5.0])]
    >>> batch = gasla.batch(molecules)
    >>> batch.graph, batch.vertex_starts
    (Graph(n=5, m=3, values=float64), array([0, 3, 5]))
    >>> batch.split(gasla.sssp(batch.graph, batch.vertex_starts[:-1]))
    [array([0., 1., 3.]), array([0., 5.])]
    """
    all_graphs = [whole_graph(graph) for graph in graphs]
    first_graph = all_graphs[0] if all_graphs else Graph.from_edges([], [], n=0)
    for i, each_graph in enumerate(all_graphs):
        if each_graph.device != first_graph.device:
            raise ValueError(
                f"graph {i} is on the {each_graph.device}, and graph 0 on the {first_graph.device}; expected one device"
            )
        if (each_graph.values is None) != (first_graph.values is None):
            without, with_values = (i, 0) if each_graph.values is None else (0, i)
            raise ValueError(
                f"graph {without} has no values, and graph {with_values} has; expected values in all, or in none"
            )
    xp: Any = module_of(first_graph.device)
    vertex_starts = np.cumsum([0, *(each_graph.n for each_graph in all_graphs)])
    edge_starts = np.cumsum([0, *(each_graph.m for each_graph in all_graphs)])
    all_graphs = all_graphs or [first_graph]
    n = int(vertex_starts[-1])
    dtype = np.int32 if n < 2**31 and all(each_graph.id_dtype == np.int32 for each_graph in all_graphs) else np.int64
    src, dst = (
        xp.concatenate(endpoints_of_graphs)
        for endpoints_of_graphs in zip(*(each_graph.edges() for each_graph in all_graphs), strict=True)
    )
    counts = np.diff(edge_starts).tolist()
    shift = xp.repeat(xp.asarray(vertex_starts[:-1]), counts).astype(dtype) if counts else src
    values = None if first_graph.values is None else xp.concatenate([each_graph.values for each_graph in all_graphs])
    joined_graph = Graph.from_edges(src.astype(dtype) + shift, dst.astype(dtype) + shift, values, n=n)
    joined_graph = joined_graph.with_edge_attributes(
        _join_attributes([each_graph.edge_attributes for each_graph in all_graphs], xp)
    )
    joined_graph = joined_graph.with_vertex_attributes(
        _join_attributes([each_graph.vertex_attributes for each_graph in all_graphs], xp)
    )
    return Batch(joined_graph, vertex_starts, edge_starts)


def _join_attributes(columns_of_graphs: list[Attributes], xp: Any) -> dict[str, Any]:
    """Return by name the attributes that all graphs of a batch have, with the columns of the graphs joined."""
    names = [name for name in columns_of_graphs[0] if all(name in columns for columns in columns_of_graphs)]
    joined_columns = {name: xp.concatenate([columns.numbers(name) for columns in columns_of_graphs]) for name in names}
    for name in names:
        if len(type_names := {str(columns.time_types.get(name)) for columns in columns_of_graphs}) > 1:
            raise TypeError(
                f"attribute {name!r} is {' and '.join(sorted(type_names))} in different graphs; expected one type"
            )
    return {name: columns_of_graphs[0].column(name, column) for name, column in joined_columns.items()}


ROW = Row(
    batch,
    method="a copy with shifted ids, as in DGL and PyTorch Geometric; no paper",
    longer="64 copies of the part are written.",
)
