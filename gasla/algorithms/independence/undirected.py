"""For programs that take edges both ways: neighbors are all that an edge leads to or comes from."""

from typing import Literal

from gasla.graph.graph import Graph


def undirected(graph: Graph, *, weighted: bool = False) -> Literal["in", "all"]:
    """The direction of a program: in-edges where every edge has its other direction, else in-edges and out-edges."""
    return "in" if (graph.has_symmetric_values if weighted else graph.is_symmetric) else "all"
