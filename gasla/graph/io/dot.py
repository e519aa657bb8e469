"""DOT files, the language of Graphviz, with names and attributes of vertices and edges.

Edges of a `graph` lead both ways, edges of a `digraph` one way. Attributes that are numbers everywhere are kept.
Subgraphs are read as sets of their vertices, and ports are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gasla.graph.exchange.libraries import Records
from gasla.graph.io import record_files
from gasla.graph.io.files import FormatError
from gasla.graph.io.record_files import distinct_texts, number_or_text, rows_of, weighted_columns

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".dot", ".gv")
_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|^\#[^\n]*        # no tokens
    |"(?P<text>(?:[^"\\]|\\.)*)"|(?P<html><(?:[^<>]|<[^<>]*>)*>)
    |(?P<sign>->|--|[{}\[\];,=:+])|(?P<word>-?(?:\.\d+|\d+(?:\.\d*)?)|[^\W\d]\w*)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_KEYWORDS = ("strict", "graph", "digraph", "node", "edge", "subgraph")
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class _Parser:
    """A recursive-descent parser for a DOT file.

    Its methods consume tokens from position `place`, and collect vertices with their attributes in `nodes` and edges
    with their attributes in `edges`.
    """

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        end = "", "the end", 1 + text.count("\n")
        # Two tokens mark the end, because parsing a statement looks two tokens ahead.
        self.tokens = [*_tokenize(path, text), end, end]
        self.place = 0
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: list[tuple[str, str, dict[str, Any]]] = []

    @property
    def now(self) -> tuple[str, str]:
        """The kind and the text of the next token. A keyword, such as "subgraph", is a "sign", as brackets are."""
        token_kind, text, _ = self.tokens[self.place]
        return ("sign", text.lower()) if token_kind == "word" and text.lower() in _KEYWORDS else (token_kind, text)

    def take(self, *signs: str) -> bool:
        """Consume the next token if it is one of these signs or keywords, and return whether it was."""
        is_next = self.now[0] == "sign" and self.now[1] in signs
        self.place += is_next
        return is_next

    def need(self, sign: str) -> None:
        """Consume the next token. Raise FormatError if it is not this sign."""
        if not self.take(sign):
            raise self.error(f"expected {sign!r}")

    def error(self, expected: str) -> FormatError:
        """Return a FormatError that quotes the next token, with its line, and says what was expected instead."""
        return FormatError(self.path, self.tokens[self.place][2], f"{self.now[1][:60]!r}; {expected}")

    def name(self) -> str:
        """Consume a name, or several names joined by the sign +, and return the name as one string."""
        token_kind, text = self.now
        if token_kind not in ("text", "word", "html"):
            raise self.error("expected a name")
        self.place += 1
        return text + self.name() if self.take("+") else text

    def graph(self) -> bool:
        """Parse the whole file, and return whether it holds a `digraph`, whose edges are directed."""
        self.take("strict")
        is_directed = self.now[1] == "digraph"
        if not self.take("digraph", "graph"):
            raise self.error("expected 'graph' or 'digraph'")
        if self.now != ("sign", "{"):
            self.name()
        self.body(is_directed, {})
        if self.now[0]:
            raise self.error("expected the end: gasla reads one graph a file")
        return is_directed

    def body(self, is_directed: bool, defaults: dict[str, dict[str, Any]]) -> list[str]:
        """Parse the statements between two braces, and return the names of all vertices that occur in these statements.

        `defaults` are the attributes that `node [...]` and `edge [...]` have set for vertices and edges. Statements
        within the braces change a copy only.
        """
        self.need("{")
        defaults, records = {element: dict(attributes) for element, attributes in defaults.items()}, []
        while not self.take("}"):
            records += self.statement(is_directed, defaults)
            self.take(";", ",")
        return records

    def statement(self, is_directed: bool, defaults: dict[str, dict[str, Any]]) -> list[str]:
        """Parse a statement of DOT, such as `a -> b [weight=2]`, and return the names of all vertices in it."""
        element = self.now[1]
        if self.take("graph", "node", "edge"):
            defaults.setdefault(element, {}).update(self.attributes())
            return []
        if self.tokens[self.place + 1][1] == "=" and self.now[0] != "sign":
            self.name()
            self.need("=")
            self.name()
            return []
        groups = [self.vertices(is_directed, defaults)]
        while self.now in (("sign", "->"), ("sign", "--")):
            if self.now[1] != ("->" if is_directed else "--"):
                raise self.error(f"expected {'->' if is_directed else '--'} in this kind of graph")
            self.place += 1
            groups.append(self.vertices(is_directed, defaults))
        data = self.attributes()
        if len(groups) == 1:
            for name in groups[0]:
                self.nodes[name] |= data
        for some, next_group in pairwise(groups):
            self.edges += [(u, v, defaults.get("edge", {}) | data) for u, v in product(some, next_group)]
        return [name for group in groups for name in group]

    def vertices(self, is_directed: bool, defaults: dict[str, dict[str, Any]]) -> list[str]:
        """Parse one end of an edge, which is either a vertex, perhaps with a port (`a:north`), or a subgraph.

        Return the name of the vertex, or the names of all vertices of the subgraph.
        """
        if self.take("subgraph") and self.now != ("sign", "{"):
            self.name()
        if self.now == ("sign", "{"):
            return list(dict.fromkeys(self.body(is_directed, defaults)))
        name = self.name()
        self.nodes.setdefault(name, dict(defaults.get("node", {})))
        while self.take(":"):
            self.name()
        return [name]

    def attributes(self) -> dict[str, Any]:
        """Parse attributes in brackets, such as `[weight=2, color=red]`. Return a dict of their values by name."""
        values = {}
        while self.take("["):
            while not self.take("]"):
                name = self.name()
                values[name] = number_or_text(self.name()) if self.take("=") else True
                self.take(";", ",")
        return values


def _tokenize(path: Path, text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the tokens of a DOT file, without blanks and comments.

    Each token comes with its kind, its text, and the number of its line.
    """
    end, line = 0, 1
    while end < len(text):
        match = _TOKEN.match(text, end)
        if match is None:
            expected = "expected DOT; is a quote or a bracket not closed?"
            raise FormatError(path, line, f"{text[end : end + 20]!r}; {expected}")
        if token_kind := match.lastgroup:
            word = re.sub(r"\\(?:\r?\n|(\"))", r"\1", match[token_kind]) if token_kind == "text" else match[token_kind]
            yield token_kind, word, line
        line, end = line + text.count("\n", end, match.end()), match.end()


def read(path: Path) -> Graph:
    """Return the graph in a DOT file."""
    return record_files.read(path, "DOT", lambda stream: _parse(path, stream.read()))


def _parse(path: Path, content: bytes) -> Records:
    parser = _Parser(path, record_files.decoded(path, content))
    is_directed = parser.graph()
    return Records([*parser.nodes.items()], parser.edges, not is_directed)


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a graph as a DOT file with directed edges."""
    names = [*map(_quote, distinct_texts(path, graph))]
    if unsupported := next((name for name in names if "\\" in name.replace('\\"', "")), None):
        raise ValueError(f"{path}: DOT files can't store the name {unsupported}, which has a backslash; write .npz")
    columns, of_vertices = weighted_columns(path, graph), graph.vertex_attributes.columns()
    stream.write(b"digraph {\n")
    src, dst = (end.tolist() for end in graph.edges())
    vertices = zip(names, _attribute_lists(of_vertices, graph.n))
    stream.write("".join(f"{name}{values};\n" for name, values in vertices).encode())
    edges = zip(src, dst, _attribute_lists(columns, graph.m))
    stream.write("".join(f"{names[u]} -> {names[v]}{values};\n" for u, v, values in edges).encode())
    stream.write(b"}\n")


def _attribute_lists(columns: dict[str, Any], count: int) -> Iterator[str]:
    """Yield one text for each vertex or edge, which is its attributes in DOT syntax, such as ` [weight=2, x=0.5]`."""
    if not columns:
        yield from [""] * count
        return
    titles = [*map(_quote, columns)]
    for row in rows_of(columns, count):
        values = (int(value) if isinstance(value, bool) else value for value in row)
        yield f" [{', '.join(f'{title}={_quote(value)}' for title, value in zip(titles, values))}]"


def _quote(name: Any) -> str:
    text = str(name)
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _KEYWORDS
    return text if is_plain else '"' + text.replace('"', '\\"') + '"'
