"""What graph files contain, by other readers: SciPy, NetworkX, pyarrow, NumPy and, for text, plain Python.

`file_contents` reads a file that gasla has accepted, one record per edge; `graph_contents` gives the same of a graph.
The two are to be equal. Vertices are called by their names, or by their numbers, as strings.
"""

from __future__ import annotations

import csv
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import gasla

Rows = list[list[str]]
NOTHING: Mapping[str, Any] = MappingProxyType({})
SEPARATORS = (",", ";", "\t", "|")
ENDS = (("src", "dst"), ("source", "target"), ("from", "to"))  # usual titles


class Contents(NamedTuple):
    """A graph as Python's objects; None for what a file leaves open."""

    n: int | None
    edges: list[tuple[Any, ...]]  # source, target, weight or None, and attributes in the order of their names; sorted
    edge_attributes: list[str]
    vertices: dict[str, tuple[Any, ...]] | None = None  # attributes in the order of their names
    vertex_attributes: Sequence[str] = ()
    has_names: bool | None = None


def graph_contents(graph: gasla.Graph) -> Contents:
    """The contents of a graph."""
    names = [*map(str, range(graph.n) if graph.names is None else graph.names.tolist())]
    src, dst = (ends.tolist() for ends in graph.edges())
    values = [None] * graph.m if graph.values is None else graph.values.tolist()
    of_edges, of_vertices = dict(graph.edge_attributes), dict(graph.vertex_attributes)
    columns = [of_edges[name].tolist() for name in sorted(of_edges)]
    each = zip(*(of_vertices[name].tolist() for name in sorted(of_vertices))) if of_vertices else [()] * graph.n
    edges = [(names[u], names[v], *numbers) for u, v, *numbers in zip(src, dst, values, *columns)]
    return Contents(
        graph.n, in_order(edges), sorted(of_edges), dict(zip(names, each)), sorted(of_vertices), graph.names is not None
    )


def file_contents(path: Path, format: str) -> list[Contents]:
    """What a file may contain: one thing in most formats, and several where the reader has to guess."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*READERS[format](path)]


def difference(graph: gasla.Graph, possible: Iterable[Contents]) -> str:
    """How a graph differs from all that a file may contain; empty if it is one of them."""
    found, why = graph_contents(graph), []
    for each in possible:
        reason = _difference(found, each)
        if not reason:
            return ""
        why.append(reason)
    return "; or ".join(why)


def _difference(found: Contents, expected: Contents) -> str:
    if expected.n is not None and found.n != expected.n:
        return f"{found.n} vertices; expected {expected.n}"
    for what in ("edge_attributes", "vertex_attributes"):
        if [*getattr(found, what)] != [*getattr(expected, what)]:
            return f"{what} {[*getattr(found, what)]}; expected {[*getattr(expected, what)]}"
    if len(found.edges) != len(expected.edges):
        return f"{len(found.edges)} edges; expected {len(expected.edges)}"
    if expected.has_names not in (None, found.has_names):
        return f"has_names {found.has_names}; expected {expected.has_names}"
    are_whole = [*map(fit_integers, zip(*(edge[2:] for edge in expected.edges)))]
    for one, other in zip(found.edges, expected.edges):
        if one[:2] != other[:2] or not all(map(same, one[2:], other[2:], are_whole)):
            return f"edge {one}; expected {other}"
    if expected.vertices is not None and found.vertices is not None:
        for name, numbers in expected.vertices.items():
            if name not in found.vertices:
                return f"no vertex {name!r}"
            if not all(same(a, b, False) for a, b in zip(found.vertices[name], numbers)):
                return f"vertex {name!r} with {found.vertices[name]}; expected {numbers}"
    return ""


def fit_integers(column: Iterable[Any]) -> bool:
    """Whether all of a column are integers that int64 or uint64 holds."""
    numbers = [1 if x is None else x for x in column]
    if not all(isinstance(x, int) for x in numbers):
        return False
    return not numbers or -(2**63) <= min(numbers) <= max(numbers) < (2**63 if min(numbers) < 0 else 2**64)


def same(one: Any, other: Any, is_whole: bool) -> bool:
    """Whether two numbers are equal, unless whole as far as float64 tells; NaN equals NaN. None is a weight of 1."""
    one, other = (1 if x is None else x for x in (one, other))
    if is_whole:
        return bool(one == other)
    if isinstance(one, float) or isinstance(other, float):
        return float(one) == float(other) or (one != one and other != other)
    return bool(one == other)


def in_order(edges: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The records of edges, sorted; NaN comes last."""

    def key(edge: tuple[Any, ...]) -> tuple[Any, ...]:
        numbers = [1 if x is None else x for x in edge[2:]]
        return (*edge[:2], *((x != x, 0 if x != x else x) for x in numbers))

    return sorted(edges, key=key)


def numbered(n: int, src: Any, dst: Any, weights: Any = None, columns: Mapping[str, Any] = NOTHING) -> Contents:
    """The contents of edges whose ends are numbers."""
    ends = ([*map(str, np.asarray(side).tolist())] for side in (src, dst))
    numbers = [[None] * len(src) if weights is None else np.asarray(weights).tolist()]
    numbers += [np.asarray(columns[name]).tolist() for name in sorted(columns)]
    return Contents(n, in_order(zip(*ends, *numbers)), sorted(columns))


# --- numbers in text ------------------------------------------------------------------------------------------------


def lines_of(path: Path) -> list[str]:
    """The lines of a text file, without a byte order mark."""
    text = path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    return re.split("\r\n|\r|\n", text)  # str.splitlines splits at more characters


def number(word: str) -> Any:
    """The number in a word; its int where it is whole."""
    if word.strip().lower() in ("true", "false"):
        return word.strip().lower() == "true"
    return int(word) if re.fullmatch(r"\s*[+-]?[0-9]+\s*", word) else float(word)


def _mtx(path: Path) -> Iterator[Contents]:
    """Not by SciPy, whose reader ends the process at some files that end in a comment."""
    lines = [words for line in lines_of(path) if (words := line.split("%")[0].split())]
    field, symmetry = lines_of(path)[0].lower().split()[3:]
    sign = {"general": 0, "symmetric": 1, "skew-symmetric": -1}[symmetry]
    read = float if field in ("real", "double") else int
    arcs = []
    for u, v, *words in lines[1:]:
        ends, weight = (str(int(u) - 1), str(int(v) - 1)), read(words[0]) if words else None
        arcs.append((*ends, weight))
        if sign and ends[0] != ends[1]:
            arcs.append((*ends[::-1], weight and sign * weight))
    yield Contents(int(lines[0][0]), in_order(arcs), [])


def _gr(path: Path) -> Iterator[Contents]:
    lines = [words for line in lines_of(path) if (words := line.split()) and not words[0].startswith("c")]
    kind, n = lines[0][1], int(lines[0][2])
    if kind == "sp":
        arcs = [(str(int(u) - 1), str(int(v) - 1), number(weight)) for _, u, v, weight in lines[1:]]
    else:
        arcs = [(str(int(u) - 1), str(int(v) - 1), None) for pair in lines[1:] for u, v in (pair, pair[::-1])]
    yield Contents(n, in_order(arcs), [])


def _metis(path: Path) -> Iterator[Contents]:
    lines = [line.split() for line in lines_of(path) if not line.lstrip().startswith("%")]
    n, form = int(lines[0][0]), lines[0][2].zfill(3) if len(lines[0]) > 2 else "000"
    first = (form[0] == "1") + (int(lines[0][3]) if len(lines[0]) > 3 else 1) * (form[1] == "1")
    arcs = []
    for u, words in enumerate(lines[1 : n + 1]):
        numbers = [*map(int, words[first:])]
        pairs = zip(numbers[::2], numbers[1::2]) if form[2] == "1" else ((v, None) for v in numbers)
        arcs += [(str(u), str(v - 1), weight) for v, weight in pairs]
    yield Contents(n, in_order(arcs), [])


# --- text in columns ------------------------------------------------------------------------------------------------


def _csv(path: Path) -> Iterator[Contents]:
    text = path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode()
    lines = re.findall("[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)
    is_head = [line[:1] in ("#", "%") or not line.strip() for line in lines]
    lines = lines[is_head.index(False) :]
    for sign in SEPARATORS:
        for is_spaced in (False, True):
            rows = [row for row in csv.reader(lines, delimiter=sign, skipinitialspace=is_spaced) if row]
            yield from _of_rows([[cell.strip(" \t") for cell in row] if is_spaced else row for row in rows])


def _edges(path: Path) -> Iterator[Contents]:
    lines = lines_of(path)
    n = 0
    for line in lines:
        if line.split() and line.split()[0][0] not in "#%":
            break
        if found := re.search(r"Nodes:\s*([0-9]{1,18})\s+Edges:\s*([0-9]{1,18})\b", line, re.ASCII):
            n = int(found[1])
    decoded = (line.encode("latin-1").decode(errors="replace") for line in lines)
    quoted = [re.findall(r'"[^"]*(?:"|$)|[^\s"]+', line) for line in decoded]  # a quote ends with its line
    yield from _of_rows([[word.strip('"') for word in words] for words in quoted if words], n)
    for signs in ("#", "%", "#%"):
        bare = [re.split(rf"(?<!\S)[{signs}]", line)[0].split() for line in lines]
        yield from _of_rows([words for words in bare if words], n)
    rest = [line.encode("latin-1").decode() for line in lines if line.strip() and line[0] not in "#%"]
    for sign in SEPARATORS:
        for is_spaced in (False, True):
            rows = [row for row in csv.reader(rest, delimiter=sign, skipinitialspace=is_spaced) if row]
            yield from _of_rows([[cell.strip(" \t") for cell in row] if is_spaced else row for row in rows])
    spaced = csv.reader([line.replace("\t", " ").strip() for line in rest], delimiter=" ", skipinitialspace=True)
    yield from _of_rows([row for row in spaced if row])


def _by_titles(titles: list[str]) -> tuple[tuple[int, int], int | None]:
    """The positions of the ends and of the weight, by titles in small letters; signs in titles of ends don't count."""
    for called in (titles, [re.sub(r"\(.*|[\W_]", "", title) for title in titles]):
        usual = [(called.index(u), called.index(v)) for u, v in ENDS if called.count(u) == called.count(v) == 1]
        if usual:
            break
    return (usual or [(0, 1)])[0], titles.index("weight") if titles.count("weight") == 1 else None


def _of_rows(rows: Rows, n: int = 0) -> Iterator[Contents]:
    """The graphs of text in columns, with a header or without."""
    if not rows or len(rows[0]) < 2 or len({*map(len, rows)}) > 1:
        return
    titles = [title.casefold() for title in rows[0]]
    titled, weight = _by_titles(titles)
    for body, (u, v), w in ((rows[1:], titled, weight), (rows, (0, 1), 2 if len(titles) == 3 else None)):
        try:
            weights = [None if w is None else number(row[w]) for row in body]
        except ValueError:
            if body is not rows:
                continue
            weights = [None] * len(rows)  # a third column of text without a title is left out
        for plain in (lambda cell: str(int(cell)), str):
            if plain is str and all(re.fullmatch("[0-9]{1,9}", row[end]) for row in body for end in (u, v)):
                continue  # beyond doubt no names
            try:
                edges = [(plain(row[u]), plain(row[v]), weight) for row, weight in zip(body, weights)]
            except ValueError:
                continue
            ends = {end for edge in edges for end in edge[:2]}
            count = len(ends) if plain is str else max([n, *(1 + int(end) for end in ends)])
            yield Contents(count, in_order(edges), [], has_names=plain is str)


# --- formats of other libraries -------------------------------------------------------------------------------------


def _npz(path: Path) -> Iterator[Contents]:
    from scipy.sparse import load_npz

    A = load_npz(path).tocoo()
    with np.load(path) as arrays:
        kept = {name: arrays[name] for name in arrays.files if name.startswith(("attributes/", "gasla/"))}
    of = {of: {name.split("/", 2)[2]: column for name, column in kept.items() if name.startswith(f"attributes/{of}/")}
          for of in ("edge", "vertex")}  # fmt: skip
    has_values = bool(kept.get("attributes/", np.array(True)))
    found = numbered(A.shape[0], A.row, A.col, A.data if has_values else None, of["edge"])
    names = json.loads(kept["gasla/names"].tobytes()) if "gasla/names" in kept else None
    yield _with_vertices(found, names, of["vertex"])


def _with_vertices(found: Contents, names: list[Any] | None, columns: dict[str, Any]) -> Contents:
    """The contents with names and attributes of the vertices."""
    assert found.n is not None
    called = [*map(str, range(found.n) if names is None else names)]
    edges = [(called[int(u)], called[int(v)], *rest) for u, v, *rest in found.edges]
    numbers = zip(*(columns[name].tolist() for name in sorted(columns))) if columns else [()] * len(called)
    vertices = dict(zip(called, numbers))
    return Contents(found.n, in_order(edges), found.edge_attributes, vertices, sorted(columns), names is not None)


def _networkx(read: Callable[[Path], Any]) -> Callable[[Path], Iterator[Contents]]:
    def contents(path: Path) -> Iterator[Contents]:
        G = read(path)
        arcs = [*G.edges(data=True)]
        if not G.is_directed():
            arcs += [(v, u, data) for u, v, data in arcs if u != v]
        nodes = [*G.nodes(data=True)]
        if any("weight" in data for *_, data in arcs):  # an edge without one counts 1
            arcs = [(u, v, {"weight": 1} | data) for u, v, data in arcs]
        of_edges, of_nodes = (_columns([row[-1] for row in rows]) for rows in (arcs, nodes))
        weights = of_edges.pop("weight", [None] * len(arcs))
        called = {node: str(node) for node, _ in nodes}  # an edge may have its end 2.0 at node 2
        ends = [[called[arc[side]] for arc in arcs] for side in (0, 1)]
        edges = zip(*ends, weights, *(of_edges[name] for name in sorted(of_edges)))
        numbers = [of_nodes[name] for name in sorted(of_nodes)]
        vertices = dict(zip(called.values(), zip(*numbers) if numbers else [()] * len(nodes)))
        yield Contents(len(nodes), in_order(edges), sorted(of_edges), vertices, sorted(of_nodes))

    return contents


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The attributes that are numbers in all rows."""
    found = {}
    for name in rows[0] if rows else ():
        cells = [row.get(name) for row in rows]
        whole = [isinstance(x, str) and re.fullmatch("[+-]?[0-9]{1,20}", x) for x in cells]
        cells = [int(x) if is_whole and -(2**63) <= int(x) < 2**64 else x for x, is_whole in zip(cells, whole)]
        if name and all(isinstance(x, int | float) for x in cells):
            found[name] = cells
    return found


def _graphml(path: Path) -> Iterator[Contents]:
    import networkx as nx

    yield from _networkx(nx.read_graphml)(path)


def _gml(path: Path) -> Iterator[Contents]:
    import networkx as nx

    def read(path: Path) -> Any:
        try:
            return nx.read_gml(path)
        except nx.NetworkXError:
            return nx.read_gml(path, label="id")

    yield from _networkx(read)(path)


def _table(table: Any) -> Iterator[Contents]:
    columns, notes = table.to_pydict(), table.schema.metadata or {}
    titles = [title.casefold() for title in table.column_names]
    if len({*table.column_names}) < len(titles):
        return
    ends, place = _by_titles(titles)
    src, dst = (columns[table.column_names[end]] for end in ends)
    weights = [None] * len(src) if place is None else columns[table.column_names[place]]
    kept = sorted(json.loads(notes.get(b"gasla.attributes", b"[]")))
    edges = in_order(zip(map(str, src), map(str, dst), weights, *(columns[name] for name in kept)))
    count = notes.get(b"gasla.vertices")
    if not src:
        yield Contents(int(count or 0), [], kept)
        return
    is_named = isinstance(src[0], str) or b"gasla.names" in notes or (count is None and max(*src, *dst) >= 2**31)
    n = len({*src, *dst}) if is_named else 1 + max(*src, *dst, int(count or 0) - 1)
    yield Contents(n, edges, kept, has_names=is_named)


def _parquet(path: Path) -> Iterator[Contents]:
    from pyarrow import parquet

    yield from _table(parquet.read_table(path))


def _feather(path: Path) -> Iterator[Contents]:
    from pyarrow import feather

    yield from _table(feather.read_table(path, memory_map=False))


def _folder(path: Path) -> Iterator[Contents]:
    def array(name: str) -> Any:
        return np.load(path / f"{name}.npy")

    if (path / "indptr.npy").exists():
        indptr, ids = array("indptr"), array("indices")
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        yield numbered(len(indptr) - 1, rows, ids, array("data") if (path / "data.npy").exists() else None)
        return
    about = json.loads((path / "graph.json").read_text("utf-8"))
    rows = np.repeat(np.arange(about["n"]), np.diff(array("rows-offsets")))
    values = array("rows-values") if about["has_values"] else None
    kept = {of: {name: array(f"{of}-attribute-{i}-values") for i, name in enumerate(about.get(f"{of}_attributes", []))}
            for of in ("edge", "vertex")}  # fmt: skip
    found = numbered(about["n"], rows, array("rows-ids"), values, kept["edge"])
    file = path / "names.json"
    names = json.loads(file.read_text("utf-8")) if file.exists() else None
    yield _with_vertices(found, names, kept["vertex"])


def _gexf(path: Path) -> Iterator[Contents]:
    import networkx as nx

    def read(path: Path) -> Any:
        G = nx.read_gexf(path)
        for of, own in ((G.nodes, "label"), (G.edges, "id")):
            for *_, data in of(data=True):
                data.pop(own, None)
        return G

    yield from _networkx(read)(path)


def _json(path: Path) -> Iterator[Contents]:
    import networkx as nx

    yield from _networkx(lambda path: nx.node_link_graph(json.loads(path.read_text(encoding="utf-8"))))(path)


READERS: dict[str, Callable[[Path], Iterator[Contents]]] = {
    "mtx": _mtx, "edges": _edges, "gr": _gr, "metis": _metis, "npz": _npz, "graphml": _graphml, "gml": _gml,
    "gexf": _gexf, "json": _json,
    "csv": _csv, "parquet": _parquet, "feather": _feather, "folder": _folder,
}  # fmt: skip
