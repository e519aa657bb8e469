"""Functions shared by formats that NetworkX reads and writes (`pip install 'gasla[networkx]'`), with all attributes."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from itertools import chain
from numbers import Number
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gasla.graph.dates import iso
from gasla.graph.exchange.libraries import Records, records_of
from gasla.graph.io import record_files
from gasla.graph.io.files import FormatError, is_count, open_text, require_memory, translate_errors
from gasla.graph.validate import are_sparse

if TYPE_CHECKING:
    from gasla.graph.graph import Graph


def networkx() -> Any:
    """Import NetworkX and return it. If it is missing, the ImportError says how to install it."""
    try:
        import networkx
    except ImportError:
        raise ImportError("GraphML and GML files need NetworkX: pip install 'gasla[networkx]'") from None
    return networkx


def read(path: Path, format: str, parse: Callable[[IO[bytes]], Any]) -> Graph:
    """Return the graph in a file that NetworkX reads.

    `parse` makes a NetworkX graph from a stream. `format` names the file's format in error messages.
    """
    nx = networkx()

    def records(stream: IO[bytes]) -> Records:
        try:
            return records_of(parse(stream))
        except nx.NetworkXError as error:
            raise ValueError(str(error)) from error

    return record_files.read(path, format, records, f"{format} as NetworkX reads it")


def has_dicts(path: Path) -> bool:
    """Return whether an edge list has attributes in braces after the ids, as `networkx.write_edgelist` writes them."""
    with translate_errors(path), open_text(path) as text:
        first_words = next((line.split(None, 2) for line in text if line.strip() and line[0] not in "#%"), [])
    return len(first_words) == 3 and first_words[2].startswith("{")


def read_edge_list(path: Path) -> Graph:
    """Return the graph in an edge list with attributes in braces.

    Ids are vertex numbers if all of them are whole numbers, else they are names of vertices.
    """
    with translate_errors(path):
        return record_files.read(path, "an edge list", lambda stream: _parse_edge_list(path, stream.read()))


def _parse_edge_list(path: Path, content: bytes) -> Records:
    edges: list[tuple[Any, Any, dict[str, Any]]] = []
    for line, text in enumerate(record_files.decoded(path, content).split("\n"), start=1):
        words_of_line = text.split(None, 2)
        if not words_of_line or words_of_line[0][0] in "#%":
            continue
        try:
            u, v, attributes = words_of_line[0], words_of_line[1], literal_eval(words_of_line[2])
            edges.append((u, v, dict(attributes)))
        except (ValueError, TypeError, SyntaxError, IndexError):
            expected = "expected `source target {'name': value}`, as in the first row"
            raise FormatError(path, line, f"{text.strip()[:60]!r}; {expected}") from None
    end_words = [end for edge in edges for end in edge[:2]]
    if not all(is_count(end) for end in end_words):
        return Records([(name, {}) for name in dict.fromkeys(end_words)], edges)
    n = 1 + max(map(int, end_words), default=-1)
    require_memory(n, len(edges))
    if doubt := are_sparse(n, len(edges)):
        raise FormatError(path, None, doubt)
    return Records([(v, {}) for v in range(n)], [(int(u), int(v), attributes) for u, v, attributes in edges])


def have_names(G: Any) -> bool:
    """Return whether each node of a NetworkX graph has a different text as its attribute "name".

    igraph stores the names of vertices in this attribute.
    """
    names = [attributes.get("name") for _, attributes in G.nodes(data=True)]
    return all(isinstance(name, str) and name for name in names) and 0 < len(names) == len({*names})


def named(G: Any) -> Any:
    """Return a NetworkX graph whose nodes are named by their attribute "name", not by the numbers of igraph."""
    names = {node: attributes.pop("name") for node, attributes in G.nodes(data=True)}
    return networkx().relabel_nodes(G, names)


def change_attributes(G: Any, change: Callable[[Any], Any]) -> None:
    """Replace the value of each attribute of nodes and edges of a NetworkX graph by `change(value)`."""
    for *_, attributes in chain(G.nodes(data=True), G.edges(data=True)):
        attributes.update({name: change(value) for name, value in attributes.items()})


def write(path: Path, graph: Graph, save: Callable[[Any], None]) -> None:
    """Write a graph to a file by NetworkX. `save` is called with a directed NetworkX graph and writes it.

    Values of edges become the attribute "weight".
    """
    nx = networkx()
    if graph.values is None and "weight" in graph.edge_attributes:
        raise ValueError(f"{path}: the edge attribute 'weight' would be read as the values; rename it")
    try:
        G = graph.to_networkx(directed=True, attributes=True)
        change_attributes(G, lambda value: value if isinstance(value, str | Number) else iso(value))
        save(G)
    except (nx.NetworkXError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
