"""GraphML, read and written by NetworkX: see `networkx_files`."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

from gasla.graph.io import networkx_files

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".graphml",)


def read(path: Path) -> Graph:
    """Return the graph in a GraphML file."""
    return networkx_files.read(path, "GraphML", lambda stream: networkx_files.networkx().read_graphml(stream))


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a directed graph as GraphML."""
    networkx_files.write(path, graph, lambda G: networkx_files.networkx().write_graphml(G, stream))
