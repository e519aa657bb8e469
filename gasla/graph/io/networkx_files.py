"""Files that NetworkX reads and writes (`pip install 'gasla[networkx]'`), with names and attributes.

Attributes that are numbers and that every edge, or every vertex, has become columns of the `Graph`; "weight" of edges
becomes its values. Vertices have names unless their labels are 0, 1, … in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

import numpy as np

from gasla.graph.io.files import Array, FormatError, is_whole, open_bytes

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

# What NetworkX raises at damaged files, besides its own errors; RecursionError at lists in lists in lists.
_OF_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


def networkx() -> Any:
    """Import NetworkX; the ImportError says how to install it."""
    try:
        import networkx
    except ImportError:
        raise ImportError("GraphML and GML files need NetworkX: pip install 'gasla[networkx]'") from None
    return networkx


def read(path: Path, format: str, parse: Callable[[IO[bytes]], Any]) -> Graph:
    """The graph in a file, which `parse` reads as one of NetworkX."""
    from gasla.graph.graph import Graph

    nx = networkx()
    with open_bytes(path) as stream:
        try:
            G = parse(stream).to_directed()
        except (nx.NetworkXError, ParseError, *_OF_DAMAGE) as error:
            said = " ".join(str(error).split())
            raise FormatError(path, None, f"is damaged, or of another format ({said}); expected {format}") from error
    labels = [*G.nodes]
    if other := [label for label in labels if type(label) not in (int, str)]:
        raise FormatError(path, None, f"has a node {other[0]!r}; expected integers or texts as ids")
    if labels == [*map(str, range(len(labels)))]:
        G = nx.relabel_nodes(G, dict(zip(labels, range(len(labels)))))
    try:
        edges = _columns(data for _, _, data in G.edges(data=True))
        vertices = _columns(data for _, data in G.nodes(data=True))
    except OverflowError as error:
        raise FormatError(path, None, f"has an attribute beyond float64 ({error}); expected smaller numbers") from error
    weight = edges.pop("weight", None)
    return Graph.from_networkx(G, None).with_values(weight).with_edge_attributes(edges).with_vertex_attributes(vertices)


def write(path: Path, graph: Graph, save: Callable[[Any], None]) -> None:
    """Write a directed graph, which `save` takes as one of NetworkX; its values become "weight"."""
    nx = networkx()
    if graph.values is None and "weight" in graph.edge_attributes:
        raise ValueError(f"{path}: the edge attribute 'weight' would be read as the values; rename it")
    try:
        save(graph.to_networkx(directed=True, attributes=True))
    except (nx.NetworkXError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def _columns(records: Iterable[dict[str, Any]]) -> dict[str, Array]:
    """The attributes that all edges, or all vertices, have as numbers."""
    rows = list(records)
    found = {}
    for name in rows[0] if rows else ():
        values = [_number(row.get(name)) for row in rows]
        if all(isinstance(value, int | float) for value in values) and name:
            found[name] = _column(values)
    return found


def _column(values: list[Any]) -> Array:
    """Numbers as an array of int64, or uint64 if they need it, or else float64; or of bool."""
    kinds = {*map(type, values)}
    if kinds == {bool}:
        return np.array(values)
    if float not in kinds:
        for kind in (np.int64, np.uint64):
            with suppress(OverflowError):
                return np.array(values, kind)
    return np.array(values, np.float64)  # NumPy alone would make objects of integers beyond 64 bits


def _number(value: Any) -> Any:
    """The number in a text, since GML writes integers of more than 32 bits as texts; anything else unchanged."""
    return int(value) if isinstance(value, str) and is_whole(value, 2**64) else value
