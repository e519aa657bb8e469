"""JSON files of graphs: node-link (NetworkX), d3, Cytoscape.js, graphology and JSON Graph Format.

Vertices are named by their ids; without ids, by their positions, as d3 has them, or by their names. In a file that does
not say whether it is directed, each link leads from its source to its target.
"""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gasla.graph.exchange.libraries import Records
from gasla.graph.io import record_files
from gasla.graph.io.files import FormatError, parsed_json
from gasla.graph.io.record_files import known_ends, known_node, rows_of, weighted_columns

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".json",)
_EXPECTED = "expected lists of nodes and of links or edges: node-link, d3, Cytoscape.js, graphology or JGF"
# Attributes can't have these names, because the keys have another meaning when the file is read.
_OF_NODES = ("id", "name", "label", "value", "data", "attributes", "metadata")
_OF_EDGES = ("source", "target", "key", "id", "directed", "undirected", "data", "attributes", "metadata")


def read(path: Path) -> Graph:
    """Return the graph in a JSON file."""
    return record_files.read(path, "JSON", lambda stream: _parse(path, stream.read()), _EXPECTED)


def _parse(path: Path, content: bytes) -> Records:
    nodes, links, directed = _nodes_and_links(path, parsed_json(path, content))
    for element_name, node_or_link_list in (("node", nodes), ("edge", links)):
        if invalid := [index for index, record in enumerate(node_or_link_list) if not isinstance(record, dict)]:
            raise FormatError(
                path, None, f"{element_name} {invalid[0]} is {node_or_link_list[invalid[0]]!r:.60}; expected an object"
            )
    nodes, links = ([_flatten(record) for record in node_or_link_list] for node_or_link_list in (nodes, links))
    known_names: set[Any] = set()
    id_key = "id" if any("id" in node for node in nodes) else "key" if any("key" in node for node in nodes) else None
    node_names = [
        known_node(path, index, node.pop(id_key, None) if id_key else index, known_names)
        for index, node in enumerate(nodes)
    ]
    # Ids are also found by their texts, because Cytoscape.js writes all ids as text and NetworkX does not.
    as_text = {str(name): name for name in node_names}
    link_ends = [link.get(end) for link in links for end in ("source", "target")]
    are_texts = id_key is not None and all(isinstance(name, str) for name in node_names)
    if are_texts and all(
        type(end) is int and 0 <= end < len(node_names) and str(end) not in as_text for end in link_ends
    ):
        for link in links:  # In the older form of d3, the ends of links are positions of nodes.
            link["source"], link["target"] = node_names[link["source"]], node_names[link["target"]]
    edges, undirected = [], []
    for index, link in enumerate(links):
        link_ends = [link.pop(end, None) for end in ("source", "target")]
        u, v = (
            end if type(end) in (int, str) and end in known_names else as_text.get(str(end), end) for end in link_ends
        )
        known_ends(path, index, (u, v), known_names)
        link.pop("key", None)
        is_directed = link.pop("directed", not link.pop("undirected", not directed))
        edges.append((u, v, {name: value for name, value in link.items() if name != "id"}))
        undirected.append(not is_directed)
    records = Records([*zip(node_names, nodes)], edges, undirected)
    labels = [node.get("name", node.get("label")) for node in nodes]
    if id_key is None and all(isinstance(label, str) for label in labels) and len({*labels}) == len(labels):
        records = record_files.renamed(records, dict(zip(node_names, labels)))
    for name, node in records.nodes:  # attributes that only repeat the id are removed
        for key in ("name", "label", "value"):
            if key in node and str(node[key]) == str(name):
                del node[key]
    return records


def _nodes_and_links(path: Path, content: Any) -> tuple[list[Any], list[Any], bool]:
    """Return the list of nodes, the list of links, and whether links are directed."""
    if isinstance(content, dict) and isinstance(content.get("graph"), dict) and "nodes" not in content:
        content = content["graph"]
    if isinstance(content, dict):
        directed = bool(content.get("directed", content.get("options", {}).get("type") != "undirected"))
        lists = content.get("elements", content)
    else:
        directed, lists = True, content
    if isinstance(lists, list):  # In Cytoscape.js, elements may be one list, in which each has a group.
        if any(not isinstance(element, dict) for element in lists):
            raise FormatError(path, None, f"is a list of other things; {_EXPECTED}")
        is_edge = [element.get("group") == "edges" or "source" in element.get("data", {}) for element in lists]
        groups = ([e for e, edge in zip(lists, is_edge) if edge == takes_edges] for takes_edges in (False, True))
        return *groups, directed  # type: ignore[return-value]
    if not isinstance(lists, dict):
        raise FormatError(path, None, f"is {lists!r:.60}; {_EXPECTED}")
    nodes, links = lists.get("nodes"), lists.get("links", lists.get("edges"))
    if isinstance(nodes, dict):  # JSON Graph Format has nodes by their ids
        nodes = [{"id": name, **(node or {})} for name, node in nodes.items()]
    if not isinstance(nodes, list) or not isinstance(links, list):
        raise FormatError(path, None, f"has the keys {', '.join(map(repr, lists))[:60]}; {_EXPECTED}")
    return nodes, links, directed


def _flatten(record: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a node or a link as one dictionary, with those that some formats nest deeper."""
    inner = [record[key] for key in ("data", "attributes", "metadata") if isinstance(record.get(key), dict)]
    if not inner:
        return dict(record)
    outer = {name: value for name, value in record.items() if not isinstance(value, dict | list)}
    if "data" in record:  # In Cytoscape.js, what stands next to the data are styles and positions, which are left out.
        outer = {}
    return dict(chain(outer.items(), *(inner_object.items() for inner_object in inner)))


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a graph as directed node-link JSON, which NetworkX and d3 read."""
    for attributes, own_keys in ((graph.vertex_attributes, _OF_NODES), (graph.edge_attributes, _OF_EDGES)):
        if taken_names := [name for name in attributes if name in own_keys]:
            problem = f"the {attributes.of} attribute {taken_names[0]!r} has the name of a key of JSON"
            raise ValueError(f"{path}: {problem}; rename it")
    names = [*range(graph.n)] if graph.names is None else graph.names.tolist()
    if len({*map(str, names)}) < len(names):
        raise ValueError(f"{path}: two names are equal as text; JSON files can't store them; write .npz")
    columns, of_vertices = weighted_columns(path, graph), graph.vertex_attributes.columns()
    nodes = [{"id": name} | dict(zip(of_vertices, row)) for name, row in zip(names, rows_of(of_vertices, graph.n))]
    end_names = ([names[v] for v in end.tolist()] for end in graph.edges())
    edges = [
        {"source": u, "target": v} | dict(zip(columns, row)) for u, v, row in zip(*end_names, rows_of(columns, graph.m))
    ]
    header = {"directed": True, "multigraph": bool(graph.has_parallel_edges), "graph": {}}
    try:
        text = json.dumps(header | {"nodes": nodes, "edges": edges}, allow_nan=False, ensure_ascii=False)
        stream.write(text.encode())
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: JSON can't store a value ({error}), such as NaN or infinity; write .npz") from error
