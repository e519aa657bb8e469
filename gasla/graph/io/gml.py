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


# Matches a comment, a text in quotes, the beginning of the graph, or a word (a key or a number).
_TOKEN = re.compile(r"""#[^\n]*|"[^"]*"|\bgraph\s*\[|[^\s\[\]"#]+""", re.IGNORECASE)
# Forms of numbers that NetworkX does not read, such as 1e20, nan and inf, so they are rewritten.
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
                label, reason = "id", message
            elif start == "graph [" and message.startswith("edge") and "is duplicated" in message:
                # NetworkX refuses parallel edges unless the file has this key, which only NetworkX defines.
                start = "graph [ multigraph 1"
            else:
                raise
        else:
            break
    if label == "id" and networkx_files.have_names(G):
        return networkx_files.named(G)
    if label == "id" and any("label" in attributes for _, attributes in G.nodes(data=True)):
        warn(f"{path}: vertices are named by their ids, not their labels: {reason}", UserWarning)
        for _, attributes in G.nodes(data=True):
            attributes.pop("label", None)
    networkx_files.change_attributes(G, _parse_large_integer)
    return G


def _parse_large_integer(value: Any) -> Any:
    """Return a text that is an integer as an integer, because GML writes integers of more than 32 bits as text.

    Other values stay unchanged.
    """
    return int(value) if isinstance(value, str) and is_whole(value, 2**64) and str(int(value)) == value else value


def _prepare_lines(text: str, start: str) -> list[str]:
    r"""Return the lines of a GML file in a form that NetworkX reads.

    Texts are each within a line, comments are removed, and numbers are rewritten. `start` replaces the beginning of the
    graph.

    Examples
    --------
    >>> _prepare_lines('graph [ weight 1e+20 label "a\nb" ] # "', "graph [ multigraph 1")
    ['graph [ multigraph 1 weight 1.0e+20 label "a&#10;b" ] ']
    """
    is_open = True

    def form(token: re.Match[str]) -> str:
        nonlocal is_open
        token_text = token[0]
        if token_text[0] == "#":
            return ""
        if token_text[0] == '"':
            return token_text.replace("\r\n", "\n").replace("\n", "&#10;")
        if token_text[-1] == "[":
            is_first, is_open = is_open, False
            return start if is_first else token_text
        if (number_match := _NUMBER.fullmatch(token_text)) is None:
            return token_text
        sign, nan, infinity, digits, exponent = number_match.groups()
        return "NAN" if nan else f"{sign}INF" if infinity else f"{sign}{digits}.0{exponent}"

    return _TOKEN.sub(form, text).split("\n")


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a graph as a GML file with directed edges. Raise ValueError for attributes with names of GML's own."""
    for attributes, keys in ((graph.edge_attributes, _OF_EDGES), (graph.vertex_attributes, _OF_VERTICES)):
        for name in attributes:
            if name in keys:  # NetworkX would leave out this attribute, or take NaN for text
                attribute_text = f"the {attributes.of} attribute {name!r}"
                raise ValueError(
                    f"{path}: {attribute_text} has the name of one of GML's own keys; rename it, or write .npz"
                )
    networkx_files.write(path, graph, lambda G: networkx_files.networkx().write_gml(G, stream))
