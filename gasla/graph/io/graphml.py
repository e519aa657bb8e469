"""GraphML, read and written by NetworkX: see `networkx_files`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gasla.graph.io import networkx_files

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".graphml",)
_NOT_IN_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def read(path: Path) -> Graph:
    """Return the graph in a GraphML file."""
    return networkx_files.read(path, "GraphML", lambda stream: networkx_files.networkx().read_graphml(stream))


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a directed graph as GraphML."""
    for name in () if graph.names is None else graph.names.tolist():
        if isinstance(name, str) and _NOT_IN_XML.search(name):
            raise ValueError(f"{path}: the name {name!r} has a character that XML lacks; write .gml, .csv or .parquet")
    networkx_files.write(path, graph, lambda G: networkx_files.networkx().write_graphml(G, stream))
