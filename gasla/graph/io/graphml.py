"""GraphML files, which NetworkX reads and writes. See `networkx_files`."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from xml.etree import ElementTree

from gasla.graph.io import networkx_files
from gasla.graph.io.files import FormatError

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".graphml",)
_NOT_IN_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"


def read(path: Path) -> Graph:
    """Return the graph in a GraphML file. If only some edges are directed, the undirected edges lead both ways."""
    return networkx_files.read(path, "GraphML", lambda stream: _parse(path, stream))


def _parse(path: Path, stream: IO[bytes]) -> Any:
    """Return the content of a GraphML file as a NetworkX graph.

    The document is changed before, where NetworkX would ignore, misunderstand or refuse something.
    """
    nx = networkx_files.networkx()
    document = ElementTree.parse(stream).getroot()
    for element in document.iter():  # Some writers leave out the namespace, which NetworkX requires, so it is added.
        element.tag = element.tag if element.tag[:1] == "{" else f"{{{_NAMESPACE}}}{element.tag}"
    if len(graphs := _find_children(document, "graph")) > 1:
        raise FormatError(path, None, f"has {len(graphs)} graphs, and gasla reads one; expected a file for each")
    nodes, edges = ([*document.iter(f"{{{_NAMESPACE}}}{tag}")] for tag in ("node", "edge"))
    _require_ids(path, nodes, edges)
    for node in nodes:
        if _find_children(node, "graph"):
            # NetworkX would ignore a graph within a node. This attribute, which yEd uses, makes NetworkX read it.
            node.set("yfiles.foldertype", "group")
    for key in _find_children(document, "key"):
        _set_default(key, nodes, "node")
        _set_default(key, edges, "edge")
    _unify_directions([*document.iter(f"{{{_NAMESPACE}}}graph")])
    for edge_number, edge in enumerate(document.iter(f"{{{_NAMESPACE}}}edge")):
        # Of several edges with equal ends and equal id or "key", NetworkX keeps only one, so each edge gets a unique
        # id.
        edge.set("id", str(edge_number))
    G = nx.read_graphml(BytesIO(ElementTree.tostring(document)), force_multigraph=True)
    is_of_igraph = [*G.nodes] == [f"n{vertex_number}" for vertex_number in range(len(G))]
    return networkx_files.named(G) if is_of_igraph and networkx_files.have_names(G) else G


def _find_children(element: ElementTree.Element, tag: str) -> list[ElementTree.Element]:
    return element.findall(f"{{{_NAMESPACE}}}{tag}")


def _require_ids(path: Path, nodes: list[ElementTree.Element], edges: list[ElementTree.Element]) -> None:
    """Raise FormatError for a node whose id is missing or repeated, or an edge whose source or target is not a node.

    NetworkX would add the missing nodes without an error.
    """
    known_names: set[str | None] = set()
    for index, node in enumerate(nodes):
        if (name := node.get("id")) is None or name in known_names:
            raise FormatError(path, None, f"node {index} has the id {name!r}; expected one that no other node has")
        known_names.add(name)
    for index, edge in enumerate(edges):
        for end in ("source", "target"):
            if (name := edge.get(end)) not in known_names:
                raise FormatError(path, None, f"edge {index} has the {end} {name!r}; expected the id of a node")


def _set_default(key: ElementTree.Element, elements: list[ElementTree.Element], element_name: str) -> None:
    """Give the default value of an attribute to all nodes, or to all edges, that have no value of this attribute.

    `key` is the element that declares the attribute, and `element_name` is "node" or "edge".
    """
    if key.get("for") not in (element_name, "all", None) or not (defaults := _find_children(key, "default")):
        return
    for element in elements:
        if all(data_element.get("key") != key.get("id") for data_element in _find_children(element, "data")):
            ElementTree.SubElement(element, f"{{{_NAMESPACE}}}data", key=str(key.get("id"))).text = defaults[0].text


def _unify_directions(graphs: list[ElementTree.Element]) -> None:
    """Make all edges of a GraphML document directed, or all undirected, because NetworkX can't read a mixture.

    If any edge is directed, each undirected edge gets a reverse edge, and all edges become directed. `graphs` are the
    main graph of the document and the graphs within its nodes.
    """
    edges = []
    for graph in graphs:
        for edge in _find_children(graph, "edge"):
            is_directed = edge.attrib.pop("directed", str(graph.get("edgedefault") == "directed").lower()) == "true"
            edges.append((graph, edge, is_directed))
    if edges:
        graphs[0].set("edgedefault", "undirected")
    if any(is_directed for _, _, is_directed in edges):
        graphs[0].set("edgedefault", "directed")
        for graph, edge, is_directed in edges:
            source, target = edge.get("source", ""), edge.get("target", "")
            if not is_directed and source != target:
                ElementTree.SubElement(graph, edge.tag, source=target, target=source).extend(edge)


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a graph as a GraphML file with directed edges."""
    for name in () if graph.names is None else graph.names.tolist():
        if isinstance(name, str) and _NOT_IN_XML.search(name):
            raise ValueError(f"{path}: the name {name!r} has a character that XML lacks; write .gml, .csv or .parquet")
    networkx_files.write(path, graph, lambda G: networkx_files.networkx().write_graphml(G, stream))
