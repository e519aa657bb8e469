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
# Attributes of vertices and edges can't have these names, because readers of the file would give the keys another
# meaning.
_OF_NODES = ("id", "name", "label", "value", "data", "attributes", "metadata")
_OF_EDGES = ("source", "target", "key", "id", "directed", "undirected", "data", "attributes", "metadata")


def read(path: Path) -> Graph:
    """Return the graph in a JSON file."""
    return record_files.read(path, "JSON", lambda stream: _parse(path, stream.read()), _EXPECTED)


def _parse(path: Path, content: bytes) -> Records:
    nodes, links, directed = _nodes_and_links(path, parsed_json(path, content))
    for of, each in (("node", nodes), ("edge", links)):
        if invalid := [place for place, record in enumerate(each) if not isinstance(record, dict)]:
            raise FormatError(path, None, f"{of} {invalid[0]} is {each[invalid[0]]!r:.60}; expected an object")
    nodes, links = ([_flatten(record) for record in each] for each in (nodes, links))
    known: set[Any] = set()
    id_key = "id" if any("id" in node for node in nodes) else "key" if any("key" in node for node in nodes) else None
    places = [
        known_node(path, place, node.pop(id_key, None) if id_key else place, known) for place, node in enumerate(nodes)
    ]
    # Cytoscape.js writes all ids as texts, and NetworkX writes numbers as numbers, so the end of a link may match an id
    # only as text.
    as_text = {str(name): name for name in places}
    ends = [link.get(end) for link in links for end in ("source", "target")]
    are_texts = id_key is not None and all(isinstance(name, str) for name in places)
    if are_texts and all(type(end) is int and 0 <= end < len(places) and str(end) not in as_text for end in ends):
        # In the older form of d3, links refer to nodes by position, so positions are replaced by ids.
        for link in links:
            link["source"], link["target"] = places[link["source"]], places[link["target"]]
    edges, undirected = [], []
    for place, link in enumerate(links):
        ends = [link.pop(end, None) for end in ("source", "target")]
        u, v = (end if type(end) in (int, str) and end in known else as_text.get(str(end), end) for end in ends)
        known_ends(path, place, (u, v), known)
        link.pop("key", None)
        is_directed = link.pop("directed", not link.pop("undirected", not directed))
        edges.append((u, v, {name: value for name, value in link.items() if name != "id"}))
        undirected.append(not is_directed)
    records = Records([*zip(places, nodes)], edges, undirected)
    labels = [node.get("name", node.get("label")) for node in nodes]
    if id_key is None and all(isinstance(label, str) for label in labels) and len({*labels}) == len(labels):
        records = record_files.renamed(records, dict(zip(places, labels)))
    for name, node in records.nodes:  # Attributes that only repeat the id of their vertex are removed.
        for key in ("name", "label", "value"):
            if key in node and str(node[key]) == str(name):
                del node[key]
    return records


def _nodes_and_links(path: Path, content: Any) -> tuple[list[Any], list[Any], bool]:
    """Return the nodes and the links in a JSON file, each as a list of dicts, and whether links are directed."""
    if isinstance(content, dict) and isinstance(content.get("graph"), dict) and "nodes" not in content:
        content = content["graph"]
    if isinstance(content, dict):
        directed = bool(content.get("directed", content.get("options", {}).get("type") != "undirected"))
        lists = content.get("elements", content)
    else:
        directed, lists = True, content
    # In Cytoscape.js, the elements may be one list of both nodes and edges, each of which has a "group".
    if isinstance(lists, list):
        if any(not isinstance(element, dict) for element in lists):
            raise FormatError(path, None, f"is a list of other things; {_EXPECTED}")
        is_edge = [element.get("group") == "edges" or "source" in element.get("data", {}) for element in lists]
        groups = ([e for e, edge in zip(lists, is_edge) if edge == wanted] for wanted in (False, True))
        return *groups, directed  # type: ignore[return-value]
    if not isinstance(lists, dict):
        raise FormatError(path, None, f"is {lists!r:.60}; {_EXPECTED}")
    nodes, links = lists.get("nodes"), lists.get("links", lists.get("edges"))
    if isinstance(nodes, dict):  # JSON Graph Format stores nodes as a dict from their ids to their attributes.
        nodes = [{"id": name, **(node or {})} for name, node in nodes.items()]
    if not isinstance(nodes, list) or not isinstance(links, list):
        raise FormatError(path, None, f"has the keys {', '.join(map(repr, lists))[:60]}; {_EXPECTED}")
    return nodes, links, directed


def _flatten(record: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a node or a link as one dict, with those that some formats nest one level deeper."""
    inner = [record[key] for key in ("data", "attributes", "metadata") if isinstance(record.get(key), dict)]
    if not inner:
        return dict(record)
    outer = {name: value for name, value in record.items() if not isinstance(value, dict | list)}
    if "data" in record:  # In Cytoscape.js, the keys next to "data" hold styles and positions, which gasla leaves out.
        outer = {}
    return dict(chain(outer.items(), *(each.items() for each in inner)))


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a graph as directed node-link JSON, which NetworkX and d3 read."""
    for attributes, reserved_names in ((graph.vertex_attributes, _OF_NODES), (graph.edge_attributes, _OF_EDGES)):
        if clashing_names := [name for name in attributes if name in reserved_names]:
            what = f"the {attributes.of} attribute {clashing_names[0]!r} has the name of a key of JSON"
            raise ValueError(f"{path}: {what}; rename it")
    names = [*range(graph.n)] if graph.names is None else graph.names.tolist()
    if len({*map(str, names)}) < len(names):
        raise ValueError(f"{path}: two names are equal as text; JSON files can't store them; write .npz")
    columns, of_vertices = weighted_columns(path, graph), graph.vertex_attributes.columns()
    nodes = [{"id": name} | dict(zip(of_vertices, row)) for name, row in zip(names, rows_of(of_vertices, graph.n))]
    ends = ([names[v] for v in end.tolist()] for end in graph.edges())
    edges = [
        {"source": u, "target": v} | dict(zip(columns, row)) for u, v, row in zip(*ends, rows_of(columns, graph.m))
    ]
    header = {"directed": True, "multigraph": bool(graph.has_parallel_edges), "graph": {}}
    try:
        text = json.dumps(header | {"nodes": nodes, "edges": edges}, allow_nan=False, ensure_ascii=False)
        stream.write(text.encode())
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: JSON can't store a value ({error}), such as NaN or infinity; write .npz") from error
