"""GML, read and written by NetworkX: see `networkx_files`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gasla.graph.io import networkx_files, record_files
from gasla.graph.io.files import is_whole
from gasla.log import warn

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".gml",)
_OF_EDGES, _OF_VERTICES = ("source", "target", "key", "label"), ("id", "label", "source", "target")


# A comment, a text, the begin of the graph, or a word: a key or a number.
_TOKEN = re.compile(r"""#[^\n]*|"[^"]*"|\bgraph\s*\[|[^\s\[\]"#]+""", re.IGNORECASE)
_NUMBER = re.compile(r"([+-]?)(?:(nan)|(inf)(?:inity)?|(\d+)(e[+-]?\d+))", re.IGNORECASE)  # that NetworkX lacks


def read(path: Path) -> Graph:
    """Return the graph in a GML file. Vertices are named by their ids, or by labels if all have labels that differ."""
    return networkx_files.read(path, "GML", lambda stream: _parse(path, stream.read()))


def _parse(path: Path, content: bytes) -> Any:
    nx = networkx_files.networkx()
    text = record_files.decoded(path, content)
    label, start = "label", "graph ["
    while True:
        try:
            G = nx.parse_gml(_lines(text, start), label)
        except nx.NetworkXError as error:
            said = str(error)
            if label == "label" and ("no 'label' attribute" in said or said.startswith("node label")):
                label, why = "id", said
            elif start == "graph [" and said.startswith("edge") and "is duplicated" in said:
                start = "graph [ multigraph 1"  # a key of NetworkX's own
            else:
                raise
        else:
            break
    if label == "id" and networkx_files.have_names(G):
        return networkx_files.named(G)
    if label == "id" and any("label" in data for _, data in G.nodes(data=True)):
        warn(f"{path}: vertices are named by their ids, not their labels: {why}", UserWarning)
        for _, data in G.nodes(data=True):
            data.pop("label", None)
    networkx_files.change_attributes(G, _number)
    return G


def _number(value: Any) -> Any:
    """Return the number in a text, because GML writes integers of more than 32 bits as text.

    Other values stay unchanged.
    """
    return int(value) if isinstance(value, str) and is_whole(value, 2**64) and str(int(value)) == value else value


def _lines(text: str, start: str) -> list[str]:
    r"""Return the lines of a GML file as NetworkX reads them: each text within a line, no comments, its numbers.

    Examples
    --------
    >>> _lines('graph [ weight 1e+20 label "a\nb" ] # "', "graph [ multigraph 1")
    ['graph [ multigraph 1 weight 1.0e+20 label "a&#10;b" ] ']
    """
    is_open = True

    def form(token: re.Match[str]) -> str:
        nonlocal is_open
        word = token[0]
        if word[0] == "#":
            return ""
        if word[0] == '"':
            return word.replace("\r\n", "\n").replace("\n", "&#10;")
        if word[-1] == "[":
            first, is_open = is_open, False
            return start if first else word
        if (number := _NUMBER.fullmatch(word)) is None:
            return word
        sign, nan, infinity, digits, exponent = number.groups()
        return "NAN" if nan else f"{sign}INF" if infinity else f"{sign}{digits}.0{exponent}"

    return _TOKEN.sub(form, text).split("\n")


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a directed graph as GML. Raise ValueError for attributes that have the name of one of GML's own keys."""
    for attributes, keys in ((graph.edge_attributes, _OF_EDGES), (graph.vertex_attributes, _OF_VERTICES)):
        for name in attributes:
            if name in keys:  # NetworkX would leave it out, or take NaN for text
                what = f"the {attributes.of} attribute {name!r}"
                raise ValueError(f"{path}: {what} has the name of one of GML's own keys; rename it, or write .npz")
    networkx_files.write(path, graph, lambda G: networkx_files.networkx().write_gml(G, stream))
