"""For programs that read edges in both directions."""

from typing import Literal

from gasla.graph.graph import Graph


def undirected(graph: Graph, *, weighted: bool = False) -> Literal["in", "all"]:
    """Return the direction of a program over an undirected graph: "in" if the matrix is symmetric, else "all"."""
    return "in" if (graph.has_symmetric_values if weighted else graph.is_symmetric) else "all"
