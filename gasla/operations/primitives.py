"""The stages that need no program: over a forest of vertices, and over neighbour lists.

Each engine has them, with the same signatures; the device of what is given first says which engine it is.
"""

from typing import Any

from gasla.arrays import device_of
from gasla.engines import engine
from gasla.graph.graph import Graph


def hook(graph: Graph) -> Any:
    """See `gasla.cpu.primitive.link.hook`."""
    return _on(graph).hook(graph)


def link(graph: Graph, parents: Any, *, first: int = 0, last: int | None = None, known: int | None = None) -> None:
    """See `gasla.cpu.primitive.link.link`."""
    _on(graph).link(graph, parents, first=first, last=last, known=known)


def compress(parents: Any) -> None:
    """See `gasla.cpu.primitive.link.compress`."""
    _on(parents).compress(parents)


def number(parents: Any) -> int:
    """See `gasla.cpu.primitive.link.number`."""
    return int(_on(parents).number(parents))


def likely_largest(parents: Any) -> int:
    """See `gasla.cpu.primitive.link.likely_largest`."""
    return int(_on(parents).likely_largest(parents))


def intersect(graph: Graph, edges: Any) -> Any:
    """See `gasla.cpu.primitive.intersect.intersect`."""
    return _on(graph).intersect(graph, edges)


def _on(where: Any) -> Any:
    return engine(where.device if isinstance(where, Graph) else device_of(where)).primitives()
