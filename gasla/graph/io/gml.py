"""GML, read and written by NetworkX: see `networkx_files`."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gasla.graph.io import networkx_files

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".gml",)
_OF_EDGES, _OF_VERTICES = ("source", "target", "key", "label"), ("id", "label")


def read(path: Path) -> Graph:
    """Return the graph in a GML file; vertices without labels are named by their ids."""
    return networkx_files.read(path, "GML", _parse)


def _parse(stream: IO[bytes]) -> Any:
    nx = networkx_files.networkx()
    try:
        return nx.read_gml(stream)
    except nx.NetworkXError as error:
        if "no 'label' attribute" not in str(error):
            raise
        stream.seek(0)
        return nx.read_gml(stream, label="id")


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a directed graph as GML; ValueError for attributes that have the name of one of GML's own keys."""
    for attributes, keys in ((graph.edge_attributes, _OF_EDGES), (graph.vertex_attributes, _OF_VERTICES)):
        for name in attributes:
            if name in keys:  # NetworkX would leave it out
                what = f"the {attributes.of} attribute {name!r}"
                raise ValueError(f"{path}: {what} has the name of one of GML's own keys; rename it, or write .npz")
    networkx_files.write(path, graph, lambda G: networkx_files.networkx().write_gml(G, stream))
