"""Functions shared by the readers of files that have a record with attributes for each vertex and each edge.

Attributes that are numbers and that every edge, or every vertex, has become columns of the `Graph`; "weight" of edges
becomes its values. Vertices have names unless these are 0, 1, … in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

from gasla.graph.dates import TimeColumn, iso, of_text
from gasla.graph.exchange.libraries import Records, of_records
from gasla.graph.io.files import FormatError, is_number, is_whole, open_bytes
from gasla.log import warn

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

# Exceptions that parsers raise for damaged files, besides FormatError. Lists that are nested too deeply cause a
# RecursionError.
OF_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, RecursionError, ParseError)


def read(path: Path, format: str, parse: Callable[[IO[bytes]], Records], expected: str = "") -> Graph:
    """Return the graph in a file with a record for each vertex and edge.

    `parse` turns a stream into records. Errors that it raises become FormatError.
    """
    with open_bytes(path) as stream:
        try:
            records = parse(stream)
        except FormatError:
            raise
        except OF_DAMAGE as error:
            message = " ".join(str(error).split())
            problem = f"can't be read as {format} ({message}); expected {expected or format}"
            raise FormatError(path, None, problem) from error
    return graph_of(path, records)


def graph_of(path: Path, records: Records) -> Graph:
    """Return the graph with the vertices, edges and attributes that `records` hold."""
    from gasla.graph.graph import Graph

    labels = [label for label, _ in records.nodes]
    if unsupported := [label for label in labels if type(label) not in (int, str)]:
        raise FormatError(path, None, f"has a node {unsupported[0]!r}; expected integers or texts as ids")
    if labels == [*map(str, range(len(labels)))]:
        records = renamed(records, dict(zip(labels, range(len(labels)))))
    try:
        for *_, attributes in (*records.nodes, *records.edges):
            attributes.update({name: _convert_value(value) for name, value in attributes.items()})
        return Graph._of_edges(of_records(records, "weight", True, f"{path}: "))
    except OverflowError as error:
        raise FormatError(path, None, f"has an attribute beyond float64 ({error}); expected smaller numbers") from error
    except TypeError as error:
        raise FormatError(path, None, str(error)) from error


def _convert_value(value: Any) -> Any:
    """Return the value of an attribute as a `Graph` can hold it.

    Integers of more than 64 bits become floats, and texts of dates and durations become dates and durations. Other
    values stay unchanged.
    """
    if type(value) is int:
        return float(value) if abs(value) >= 2**64 else value
    return value if (parsed_number := of_text(value)) is None else parsed_number


def lists_of(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return columns of attributes as lists of Python numbers. Dates and durations become ISO 8601 texts."""
    return {
        name: [*map(iso, column.tolist())] if isinstance(column, TimeColumn) else column.tolist()
        for name, column in columns.items()
    }


def rows_of(columns: Mapping[str, Any], count: int) -> Iterator[tuple[Any, ...]]:
    """Return an iterator that yields a tuple with all attributes of an edge (or vertex), one edge after the other.

    `columns` are attributes, and `count` is the number of edges or vertices. Dates become texts by ISO 8601.
    """
    return zip(*lists_of(columns).values()) if columns else iter([()] * count)


def weighted_columns(path: Path, graph: Graph) -> dict[str, Any]:
    """Return the columns to write for the edges of a graph, which are the weights as "weight" and the attributes."""
    columns = graph.edge_attributes.columns()
    if "weight" in columns and graph.edge_attributes.name_of(graph.values) != "weight":
        raise ValueError(f"{path}: the edge attribute 'weight' would be read as the values; rename it")
    return columns if graph.values is None else {"weight": graph.values} | columns


def distinct_texts(path: Path, graph: Graph) -> list[str]:
    """Return a text for each vertex, which is the name of the vertex or, if vertices have no names, its number."""
    names = [*map(str, range(graph.n) if graph.names is None else graph.names.tolist())]
    if "" in names or len({*names}) < len(names):
        raise ValueError(f"{path}: names are empty, or equal as text, and can't be stored so; write .npz")
    return names


def weighted_by_default(edges: list[tuple[Any, Any, dict[str, Any]]]) -> None:
    """If any edge in a list has a weight, give all edges without a weight the weight 1, as the file formats define."""
    if any("weight" in attributes for _, _, attributes in edges):
        for _, _, attributes in edges:
            attributes.setdefault("weight", 1)


def renamed(records: Records, names: dict[Any, Any]) -> Records:
    """Return records in which the id v of each vertex is replaced by `names[v]`."""
    nodes = [(names[v], attributes) for v, attributes in records.nodes]
    return Records(nodes, [(names[u], names[v], attributes) for u, v, attributes in records.edges], records.undirected)


def named_by(path: Path, records: Records, labels: list[Any]) -> Records:
    """Return the records with labels in place of ids, if each vertex has a label and no two labels are equal."""
    ids = [v for v, _ in records.nodes]
    if all(isinstance(label, str) and label for label in labels) and len({*labels}) == len(labels):
        return renamed(records, dict(zip(ids, labels)))
    if any(label not in (None, "", str(v)) for v, label in zip(ids, labels)):
        reason = "some have none" if not all(labels) else "two are equal"
        warn(f"{path}: vertices are named by their ids, not their labels: {reason}", UserWarning)
    return records


def known_node(path: Path, place: int, name: Any, known: set[Any]) -> Any:
    """Add the id of a node to the set of known ids, and return the id.

    Raise FormatError if the id is missing, or is in the set already.
    """
    if name is None or name in known:
        raise FormatError(path, None, f"node {place} has the id {name!r}; expected one that no other node has")
    known.add(name)
    return name


def known_ends(path: Path, place: int, ends: tuple[Any, Any], known: set[Any]) -> None:
    """Raise FormatError if the source or the target of an edge is not in the set of the nodes' ids."""
    for end, name in zip(("source", "target"), ends):
        if name not in known:
            raise FormatError(path, None, f"edge {place} has the {end} {name!r}; expected the id of a node")


def number_or_text(text: str) -> Any:
    """Return the number that a text stands for, or the text itself if it is not a number."""
    return int(text) if is_whole(text, 2**64) else float(text) if is_number(text) else text


def decoded(path: Path, content: bytes) -> str:
    """Return the content of a file as text, decoded from UTF-8.

    If a byte is invalid, raise FormatError with the number of its line.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, wrong = 1 + content.count(b"\n", 0, error.start), content[error.start]
        expected = "expected ASCII or UTF-8, as `iconv -f latin1 -t utf-8` makes of Latin-1"
        raise FormatError(path, line, f"has the byte 0x{wrong:02x}, which is not UTF-8; {expected}") from error
