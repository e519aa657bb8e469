"""GML files, which NetworkX reads and writes. See `networkx_files`."""

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


# Matches one token of a GML file: a comment, a text in quotes, the beginning of the graph, or a word (a key or a
# number).
_TOKEN = re.compile(r"""#[^\n]*|"[^"]*"|\bgraph\s*\[|[^\s\[\]"#]+""", re.IGNORECASE)
# Matches numbers such as 1e20, nan and inf, which NetworkX does not read in this form, so they are rewritten.
_NUMBER = re.compile(r"([+-]?)(?:(nan)|(inf)(?:inity)?|(\d+)(e[+-]?\d+))", re.IGNORECASE)


def read(path: Path) -> Graph:
    """Return the graph in a GML file. Vertices are named by their labels if all differ, else by their ids."""
    return networkx_files.read(path, "GML", lambda stream: _parse(path, stream.read()))


def _parse(path: Path, content: bytes) -> Any:
    nx = networkx_files.networkx()
    text = record_files.decoded(path, content)
    label, start = "label", "graph ["
    while True:
        try:
            G = nx.parse_gml(_prepare_lines(text, start), label)
        except nx.NetworkXError as error:
            message = str(error)
            if label == "label" and ("no 'label' attribute" in message or message.startswith("node label")):
                label, why = "id", message
            elif start == "graph [" and message.startswith("edge") and "is duplicated" in message:
                # NetworkX refuses parallel edges unless the file has the key "multigraph", which only NetworkX defines,
                # so it is inserted and the file is parsed again.
                start = "graph [ multigraph 1"
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
    networkx_files.change_attributes(G, _parse_large_integer)
    return G


def _parse_large_integer(value: Any) -> Any:
    """Return the value of an attribute, converted to an integer if it is a text of digits. Other values stay unchanged.

    GML files store integers of more than 32 bits as texts.
    """
    return int(value) if isinstance(value, str) and is_whole(value, 2**64) and str(int(value)) == value else value


def _prepare_lines(text: str, start: str) -> list[str]:
    r"""Return the lines of a GML file in a form that NetworkX reads.

    Line breaks within texts are replaced, comments are removed, and numbers such as 1e20 are rewritten. `start`
    replaces the beginning of the graph, `graph [`.

    Examples
    --------
    >>> _prepare_lines('graph [ weight 1e+20 label "a\nb" ] # "', "graph [ multigraph 1")
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
    """Write a graph as a GML file with directed edges. Raise ValueError for attributes with names of GML's own."""
    for attributes, keys in ((graph.edge_attributes, _OF_EDGES), (graph.vertex_attributes, _OF_VERTICES)):
        for name in attributes:
            if name in keys:  # NetworkX would leave out an attribute with such a name, or read NaN as text.
                what = f"the {attributes.of} attribute {name!r}"
                raise ValueError(f"{path}: {what} has the name of one of GML's own keys; rename it, or write .npz")
    networkx_files.write(path, graph, lambda G: networkx_files.networkx().write_gml(G, stream))
