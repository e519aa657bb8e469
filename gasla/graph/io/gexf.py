"""GEXF files, the format of Gephi, with names, weights and attributes.

Names are labels, or ids if labels are missing or equal. Values that change in time and looks are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from gasla.graph.dates import TimeColumn
from gasla.graph.exchange.libraries import Records
from gasla.graph.io import record_files
from gasla.graph.io.files import FormatError
from gasla.graph.io.record_files import (
    distinct_texts,
    known_ends,
    known_node,
    number_or_text,
    rows_of,
    weighted_columns,
)

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".gexf",)
NOT_IN_XML = re.compile("[^\\t\\n\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
# Attributes can't have these names, because GEXF or NetworkX uses them. ("key" is one that NetworkX does not read.)
_RESERVED = ("id", "label", "source", "target", "type", "start", "end", "pid", "key")
_INTEGERS, _REALS = ("integer", "long", "short", "byte", "biginteger"), ("float", "double", "bigdecimal")
_TYPES = {"b": "boolean", "i": "long", "u": "long", "f": "double"}  # type name in GEXF, by the kind of a NumPy dtype
Keys = dict[str | None, tuple[str, str, str | None]]  # title, type and default of each attribute, by its id


def read(path: Path) -> Graph:
    """Return the graph in a GEXF file."""
    return record_files.read(path, "GEXF", lambda stream: _parse(path, stream))


def _parse(path: Path, stream: IO[bytes]) -> Records:
    root = ElementTree.parse(stream).getroot()
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    if (graph := root.find("graph")) is None:
        raise FormatError(path, None, "has no element graph; expected GEXF")
    keys: dict[str | None, Keys] = {"node": {}, "edge": {}}
    for group in graph.iter("attributes"):
        for key in group.findall("attribute"):
            description = str(key.get("title", key.get("id"))), key.get("type", "string"), key.findtext("default")
            keys.setdefault(group.get("class"), {})[key.get("id")] = description
    known_names: set[Any] = set()
    nodes, labels = [], []
    for index, node in enumerate(graph.iter("node")):
        name = known_node(path, index, node.get("id"), known_names)
        nodes.append((name, _read_values(path, f"node {name!r}", node, keys["node"])))
        labels.append(node.get("label"))
    edges, undirected = [], []
    for index, edge in enumerate(graph.iter("edge")):
        end_names = edge.get("source"), edge.get("target")
        known_ends(path, index, end_names, known_names)
        data = _read_values(path, f"edge {index}", edge, keys["edge"])
        if (weight := edge.get("weight")) is not None:
            data["weight"] = number_or_text(weight)
        edges.append((*end_names, data))
        undirected.append(edge.get("type", graph.get("defaultedgetype", "undirected")) != "directed")
    record_files.weighted_by_default(edges)
    return record_files.named_by(path, Records(nodes, edges, undirected), labels)


def _read_values(path: Path, where: str, element: Element, keys: Keys) -> dict[str, Any]:
    """Return the attributes of a node or an edge, by their titles.

    An attribute that the element lacks has the default that the file states, if any. Of an attribute with several
    values, which change in time, the value is a text, so that it is left out later.
    """
    values: dict[str, Any] = {}
    for value in element.findall("./attvalues/attvalue"):
        title, type_name, _ = keys.get(id := value.get("for", value.get("id")), (str(id), "string", None))
        values[title] = (
            "several values"
            if title in values
            else _convert_value(path, where, title, type_name, value.get("value", ""))
        )
    for title, type_name, default in keys.values():
        if default is not None and title not in values:
            values[title] = _convert_value(path, where, title, type_name, default)
    return values


def _convert_value(path: Path, where: str, title: str, type_name: str, text: str) -> Any:
    """Return the value of an attribute, converted from its text in the file according to the type that GEXF states."""
    convert: Callable[[str], Any] = int if type_name in _INTEGERS else float if type_name in _REALS else str
    try:
        return text.strip().lower() in ("true", "1") if type_name == "boolean" else convert(text)
    except ValueError:
        raise FormatError(path, None, f"{where} has {title} {text!r}; expected a value of type {type_name}") from None


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a graph as a GEXF file with directed edges.

    Raise ValueError for attributes with names that GEXF itself uses.
    """
    columns, names = weighted_columns(path, graph), distinct_texts(path, graph)
    weights = columns.pop("weight").tolist() if "weight" in columns else [None] * graph.m
    attribute_columns = {"node": graph.vertex_attributes.columns(), "edge": columns}
    _require_texts(path, names, attribute_columns)
    root = Element("gexf", xmlns="http://gexf.net/1.3", version="1.3")
    top = SubElement(root, "graph", defaultedgetype="directed")
    for element_name, each in attribute_columns.items():
        group = SubElement(top, "attributes", {"class": element_name})
        for index, (name, column) in enumerate(each.items()):
            type_name = "string" if isinstance(column, TimeColumn) else _TYPES[column.dtype.kind]
            SubElement(group, "attribute", id=str(index), title=name, type=type_name)
    nodes, edges = SubElement(top, "nodes"), SubElement(top, "edges")
    for name, values in zip(names, rows_of(attribute_columns["node"], graph.n)):
        _add_values(SubElement(nodes, "node", id=name, label=name), values)
    src, dst = (end.tolist() for end in graph.edges())
    for index, (u, v, edge_weight, values) in enumerate(
        zip(src, dst, weights, rows_of(attribute_columns["edge"], graph.m))
    ):
        edge = SubElement(edges, "edge", id=str(index), source=names[u], target=names[v])
        if edge_weight is not None:
            edge.set("weight", str(int(edge_weight) if isinstance(edge_weight, bool) else edge_weight))
        _add_values(edge, values)
    stream.write(ElementTree.tostring(root, "utf-8", xml_declaration=True))


def _require_texts(path: Path, names: list[str], attribute_columns: dict[str, dict[str, Any]]) -> None:
    """Raise ValueError for names of vertices or attributes that GEXF can't store or would read as keys of its own."""
    for text in chain(names, *attribute_columns.values()):
        if NOT_IN_XML.search(text):
            raise ValueError(f"{path}: {text!r} has a character that XML lacks; write .npz, .csv or .parquet")
    for element_name, columns_by_name in attribute_columns.items():
        if reserved_names := [name for name in columns_by_name if name in _RESERVED]:
            problem = f"the attribute {reserved_names[0]!r} of a {element_name} has the name of one of GEXF's own keys"
            raise ValueError(f"{path}: {problem}; rename it, or write .npz")


def _add_values(element: Element, values: tuple[Any, ...]) -> None:
    if values:
        group = SubElement(element, "attvalues")
        for column_index, value in enumerate(values):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            SubElement(group, "attvalue", {"for": str(column_index), "value": text})
