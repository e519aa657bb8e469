"""The direction in which vertex programs follow the edges of an undirected graph."""

from typing import Literal

from gasla.graph.graph import Graph


def undirected(graph: Graph, *, weighted: bool = False) -> Literal["in", "all"]:
    """Return the direction in which a vertex program follows the edges of an undirected graph.

    It is "in" if the graph's matrix is symmetric, so that in-edges are all edges of a vertex, and otherwise "all".
    """
    return "in" if (graph.has_symmetric_values if weighted else graph.is_symmetric) else "all"
