"""The direction in which vertex programs follow the edges of an undirected graph."""

from typing import Literal

from gasla.graph.graph import Graph


def undirected(graph: Graph, *, weighted: bool = False) -> Literal["in", "all"]:
    """Return the direction of a program over an undirected graph: "in" if the matrix is symmetric, else "all"."""
    return "in" if (graph.has_symmetric_values if weighted else graph.is_symmetric) else "all"
