"""Every door with every value missing in every place: what an independent reader finds, or an error or a warning.

A door is a format of files, a kind of table, or a graph of another library. A value is missing as a null, an empty
text, a NaN, or by not being there: of each end, weight and attribute, in the first, a middle and the last row.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from gasla import Graph, as_graph, io

pa = pytest.importorskip("pyarrow")
feather, parquet = pytest.importorskip("pyarrow.feather"), pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

TITLES = ("src", "dst", "weight", "time")
NUMBERED = ((0, 1, 7.5, 10), (1, 2, 5.5, 20), (2, 0, 3.5, 30))
NAMED = tuple(("abc"[u], "abc"[v], w, t) for u, v, w, t in NUMBERED)
HEIGHTS = (1.5, 2.5, 4.5)
ABSENT = "absent"  # the value is not there at all, as a key of an edge or the rest of a row
ROWS = (0, 1, 2)
Row = list[Any]


class Case(NamedTuple):
    """A door with one value missing."""

    name: str
    read: Callable[[Path], Any]  # makes the graph, by files in a folder
    rows: list[Row] | None  # the edges that an independent reader finds, None where a value is missing; None: an error
    heights: list[Any] | None = None  # an attribute of vertices, likewise
    is_file: bool = True


def without(rows: Any, row: int, column: int, missing: Any = None) -> list[Row]:
    """The rows with one value missing."""
    found = [list(each) for each in rows]
    found[row][column] = missing
    return found


def known(value: Any) -> Any:
    """A value as an independent reader has it, None where it is missing."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value


# --- tables -----------------------------------------------------------------------------------------------------------


def tables() -> Iterator[Case]:
    """Tables of libraries, in memory and in files, by columns of their types."""
    for rows, row, column in itertools.product((NUMBERED, NAMED), ROWS, range(4)):
        for kind, missing in itertools.product(("pandas", "arrow", "polars", "parquet", "feather"), (None, math.nan)):
            is_text, name = isinstance(rows[0][column], str), f"{kind}-{rows is NAMED}-{row}-{TITLES[column]}-{missing}"
            if missing is None or (column > 1 and not is_text):
                expected = without(rows, row, column)
                columns = dict(zip(TITLES, map(list, zip(*without(rows, row, column, missing)))))
                if missing is not None:
                    columns[TITLES[column]] = [float(x) for x in columns[TITLES[column]]]
                yield Case(name, table_reader(kind, columns), expected, is_file=kind in ("parquet", "feather"))


def table_reader(kind: str, columns: dict[str, list[Any]]) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        if kind == "pandas":
            return Graph.from_table(pd.DataFrame(columns).convert_dtypes(convert_string=False), attributes=["time"])
        if kind == "polars":
            return Graph.from_table(pytest.importorskip("polars").DataFrame(columns), attributes=["time"])
        table = pa.table(columns)
        if kind == "arrow":
            return Graph.from_table(table, attributes=["time"])
        path = folder / f"a.{kind}"
        (parquet.write_table if kind == "parquet" else feather.write_feather)(table, path)
        return both(path, attributes=["time"])

    return read


def both(path: Path, **reading: Any) -> Any:
    """What `read` and `convert` find in a file, which must be the same, or the error that both raise."""
    outcomes = []
    for make in (
        lambda: as_graph(io.read(path, **reading)),
        lambda: io.convert(path, path.parent / "to.gasla", **reading),
    ):
        try:
            outcomes.append(make())
        except ValueError as error:
            outcomes.append(error)
    one, other = outcomes
    if isinstance(one, Exception):
        assert isinstance(other, Exception), f"read: {one}; convert: {other}"
        raise one
    assert isinstance(other, Graph), f"convert: {other}"
    assert rows_of(one) == rows_of(other)
    return one


# --- text in columns --------------------------------------------------------------------------------------------------


def texts() -> Iterator[Case]:
    """CSV files and edge lists, with and without a header, of two to four columns."""
    layouts = (("csv", ","), ("csv", ";"), ("tsv", "\t"), ("txt", " "), ("txt", ","))
    for rows, (suffix, sign), has_header in itertools.product((NUMBERED, NAMED), layouts, (True, False)):
        for count, row, missing in itertools.product((2, 3, 4), ROWS, ("", "NaN", ABSENT)):
            for column in range(count):
                if (missing == "NaN" and (column < 2 or rows is NAMED)) or (count == 4 and not has_header):
                    continue
                if sign == " " and missing == "":
                    continue  # as if absent
                name = f"{suffix}-{ord(sign)}-{rows is NAMED}-{has_header}-{count}-{row}-{TITLES[column]}-{missing}"
                yield Case(name, text_reader(suffix, sign, rows, has_header, count, row, column, missing),
                           [each[:count] for each in without(rows, row, column)])  # fmt: skip


def text_reader(
    suffix: str, sign: str, rows: Any, has_header: bool, count: int, row: int, column: int, missing: str
) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        cells = [[str(cell) for cell in each[:count]] for each in rows]
        if missing == ABSENT:
            del cells[row][column]
        else:
            cells[row][column] = missing
        lines = [TITLES[:count]] * has_header + cells
        path = folder / f"a.{suffix}"
        path.write_text("".join(sign.join(line) + "\n" for line in lines))
        asked: dict[str, Any] = {"attributes": ["time"]} if count == 4 else {}
        asked |= {"src": 0, "dst": 1} if rows is NAMED and not has_header else {}
        return both(path, **asked)

    return read


# --- GraphML and GML --------------------------------------------------------------------------------------------------

KEYS = {"weight": "edge", "time": "edge", "height": "node"}


def formatter(form: str, place: tuple[int, Any], missing: str) -> Callable[[str, Any, Any], str]:
    """Format a value and its name, or nothing if it is absent; at one place of the file it is the missing one."""

    def formatted(name: str, here: Any, value: Any) -> str:
        value = missing if here == place else value
        return "" if value == ABSENT else form.format(name, value)

    return formatted


def graphml() -> Iterator[Case]:
    """With and without defaults of keys; nodes and edges without ids; data that is empty."""
    for rows, row, default, missing in itertools.product((NUMBERED, NAMED), ROWS, (None, "2.5"), (ABSENT, "", "NaN")):
        for column in (*range(4), "height", "node"):
            if column in (0, 1, "node") and (missing == "NaN" or default):
                continue
            name = f"graphml-{rows is NAMED}-{row}-{column}-{default}-{missing}"
            yield Case(name, lambda folder, a=(rows, row, column, default, missing): graphml_file(folder, *a), [])


def graphml_file(folder: Path, rows: Any, row: int, column: Any, default: str | None, missing: str) -> Any:
    data = formatter('<data key="{}">{}</data>', (row, column), missing)
    id_of = formatter(' {}="{}"', (row, column), missing)
    declared = "" if default is None else f"<default>{default}</default>"
    text = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">' + "".join(
        f'<key id="{name}" for="{of}" attr.name="{name}" attr.type="double">{declared}</key>'
        for name, of in KEYS.items()
    )
    text += '<graph edgedefault="directed">'
    for i, (name, *_) in enumerate(rows):
        text += f"<node{id_of('id', (i, 'node'), name)}>{data('height', (i, 'height'), HEIGHTS[i])}</node>"
    for i, (u, v, w, t) in enumerate(rows):
        ends = id_of("source", (i, 0), u) + id_of("target", (i, 1), v)
        text += f"<edge{ends}>{data('weight', (i, 2), w)}{data('time', (i, 3), t)}</edge>"
    path = folder / "a.graphml"
    path.write_text(text + "</graph></graphml>")
    return path


def gml() -> Iterator[Case]:
    for rows, row, missing in itertools.product((NUMBERED, NAMED), ROWS, (ABSENT, '""', "NAN", "NaN")):
        for column in (*range(4), "height", "node"):
            if column not in (0, 1, "node") or missing == ABSENT:
                name = f"gml-{rows is NAMED}-{row}-{column}-{missing}"
                yield Case(name, lambda folder, a=(rows, row, column, missing): gml_file(folder, *a), [])


def gml_file(folder: Path, rows: Any, row: int, column: Any, missing: str) -> Any:
    data = formatter("    {} {}\n", (row, column), missing)
    text = "graph\n[\n  directed 1\n"
    for i, (name, *_) in enumerate(rows):
        label = f'    label "{name}"\n' * isinstance(name, str)
        text += f"  node\n  [\n{data('id', (i, 'node'), i)}{label}{data('height', (i, 'height'), HEIGHTS[i])}  ]\n"
    for i, (u, v, w, t) in enumerate(NUMBERED):
        ends = data("source", (i, 0), u) + data("target", (i, 1), v)
        text += f"  edge\n  [\n{ends}{data('weight', (i, 2), w)}{data('time', (i, 3), t)}  ]\n"
    path = folder / "a.gml"
    path.write_text(text + "]\n")
    return path


def by_igraph(path: Path) -> tuple[list[Row] | None, list[Any] | None]:
    """The edges and heights that igraph finds in a file; None where it refuses the file."""
    igraph = pytest.importorskip("igraph")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            g = igraph.Graph.Read_GraphML(str(path)) if path.suffix == ".graphml" else igraph.Graph.Read_GML(str(path))
    except (igraph.InternalError, ValueError, NotImplementedError):
        return None, None
    title = "label" if "label" in g.vs.attributes() else "id"
    names = [int(name) if str(name).replace(".0", "").isdigit() else name for name in g.vs[title]]
    columns = [[known(x) for x in g.es[name]] if name in g.es.attributes() else [None] * 3 for name in TITLES[2:]]
    heights = [known(x) for x in g.vs["height"]] if "height" in g.vs.attributes() else None
    ends = ((names[u], names[v]) for u, v in g.get_edgelist())
    return [[u, v, w, t] for (u, v), w, t in zip(ends, *columns, strict=True)], heights


# --- graphs of libraries ----------------------------------------------------------------------------------------------


def graphs() -> Iterator[Case]:
    for rows, row, column, missing in itertools.product(
        (NUMBERED, NAMED), ROWS, (2, 3, "height"), (None, "", math.nan, ABSENT)
    ):
        for directed, library in itertools.product((True, False), ("networkx", "igraph")):
            if library == "igraph" and missing == ABSENT:
                continue
            name = f"{library}-{directed}-{rows is NAMED}-{row}-{column}-{missing}"
            expected = [list(each) for each in rows] if column == "height" else without(rows, row, column)
            if not directed:
                expected += [[v, u, *rest] for u, v, *rest in expected]
            heights = [None if (i, "height") == (row, column) else height for i, height in enumerate(HEIGHTS)]
            reader = of_networkx if library == "networkx" else of_igraph
            yield Case(
                name,
                lambda _, make=reader, a=(rows, row, column, missing, directed): make(*a),
                expected,
                heights,
                False,
            )


def of_networkx(rows: Any, row: int, column: Any, missing: Any, directed: bool) -> Graph:
    def data(place: int, **values: Any) -> dict[str, Any]:
        given = {name: missing if (place, name) == (row, title) else x for name, x in values.items()}
        return {name: x for name, x in given.items() if x is not ABSENT}

    title = column if column == "height" else TITLES[column]

    G = nx.DiGraph() if directed else nx.Graph()
    for i, (name, *_) in enumerate(rows):
        G.add_node(name, **data(i, height=HEIGHTS[i]))
    for i, (u, v, w, t) in enumerate(rows):
        G.add_edge(u, v, **data(i, weight=w, time=t))
    return Graph.from_networkx(G, attributes=True)


def of_igraph(rows: Any, row: int, column: Any, missing: Any, directed: bool) -> Graph:
    igraph = pytest.importorskip("igraph")
    g = igraph.Graph(3, [each[:2] for each in NUMBERED], directed=directed)
    given = rows if column == "height" else without(rows, row, column, missing)
    g.es["weight"], g.es["time"] = ([each[place] for each in given] for place in (2, 3))
    g.vs["height"] = [missing if (i, "height") == (row, column) else height for i, height in enumerate(HEIGHTS)]
    if rows is NAMED:
        g.vs["name"] = [each[0] for each in rows]
    return Graph.from_igraph(g, attributes=True)


# --- matrices, and formats of numbers ---------------------------------------------------------------------------------

NUMERIC = {
    "mtx": ("%%MatrixMarket matrix coordinate real general\n3 3 3\n", "{u} {v} {w}\n"),
    "gr": ("p sp 3 3\n", "a {u} {v} {w}\n"),
    "metis": ("3 3 001\n", "{v} {w} {x} {y}\n"),
}


def numeric() -> Iterator[Case]:
    """One word of each line missing, or NaN in place of a weight."""
    for suffix, (_, form) in NUMERIC.items():
        words = re.findall("{(.)}", form)
        for row, word, missing in itertools.product(ROWS, words, ("", "NaN")):
            expected = (
                [[u, v, w] for u, v, w, _ in NUMBERED]
                if suffix != "metis" and missing == "NaN" and word == "w"
                else None
            )
            if expected is not None:
                expected[row][2] = None
            yield Case(
                f"{suffix}-{row}-{word}-{missing}",
                lambda folder, a=(suffix, row, word, missing): numeric_file(folder, *a),
                expected,
            )


def numeric_file(folder: Path, suffix: str, row: int, word: str, missing: str) -> Any:
    head, form = NUMERIC[suffix]
    lines = []
    for i, (u, v, w, _) in enumerate(NUMBERED):
        x, y = ((i + 2) % 3 + 1, 4) if suffix == "metis" else (None, None)
        given = {"u": u + 1, "v": v + 1, "w": 4 if suffix == "metis" else w, "x": x, "y": y}
        lines.append(form.format(**given | ({word: missing} if i == row else {})))
    path = folder / f"a.{suffix}"
    path.write_text(head + "".join(lines))
    return both(path)


def stored() -> Iterator[Case]:
    """NaN in an archive or a folder, and each array missing."""
    for row, suffix in itertools.product(ROWS, ("npz", "gasla")):
        yield Case(
            f"{suffix}-{row}-nan",
            lambda folder, a=(suffix, row): stored_nan(folder, *a),
            without([each[:3] for each in NUMBERED], row, 2),
        )
    for part in ("indices", "indptr", "data", "shape", "format"):
        yield Case(f"npz-{part}", lambda folder, part=part: stored_npz(folder, part), None)
    for part in (
        "rows-offsets.npy",
        "rows-ids.npy",
        "rows-values.npy",
        "columns-offsets.npy",
        "columns-values.npy",
        "graph.json",
    ):
        yield Case(f"gasla-{part}", lambda folder, part=part: stored_folder(folder, part), None)


def stored_nan(folder: Path, suffix: str, row: int) -> Any:
    src, dst, weights, _ = (np.array(column) for column in zip(*NUMBERED))
    weights[row] = math.nan
    if suffix == "npz":
        save_npz(folder / "a.npz", csr_array((weights, (src, dst)), shape=(3, 3)))
        return both(folder / "a.npz")
    io.write(folder / "a.gasla", Graph.from_edges(src, dst, weights))
    return io.read(folder / "a.gasla")


def stored_npz(folder: Path, part: str) -> Any:
    A = csr_array(([1.0, 2.0], ([0, 1], [1, 0])), shape=(2, 2))
    arrays = {
        "indices": A.indices,
        "indptr": A.indptr,
        "data": A.data,
        "shape": np.array(A.shape),
        "format": np.array(b"csr"),
    }
    del arrays[part]
    np.savez(folder / "a.npz", **arrays)
    return both(folder / "a.npz")


def stored_folder(folder: Path, part: str) -> Any:
    src, dst, weights, _ = (np.array(column) for column in zip(*NUMBERED))
    io.write(folder / "a.gasla", Graph.from_edges(src, dst, weights))
    (folder / "a.gasla" / part).unlink()
    return io.read(folder / "a.gasla")


# --- judgement --------------------------------------------------------------------------------------------------------


def rows_of(graph: Graph) -> list[Row]:
    names = range(graph.n) if graph.names is None else graph.names.tolist()
    columns = [[names[v] for v in ends.tolist()] for ends in graph.edges()]
    columns.append([None] * graph.m if graph.values is None else [known(x) for x in graph.values.tolist()])
    if "time" in graph.edge_attributes:
        columns.append([known(x) for x in graph.edge_attributes["time"].tolist()])
    return sorted(map(list, zip(*columns)), key=str)


def wrong(found: Graph, said: str, rows: list[Row], heights: list[Any] | None, is_absent: bool) -> str:
    """What differs between a graph and what an independent reader has found, unless a warning names the column."""
    key = lambda row: str(row[:2])
    mine, theirs = sorted(rows_of(found), key=key), sorted(rows, key=key)
    if [row[:2] for row in mine] != [row[:2] for row in theirs]:
        return f"{mine} for {theirs}"
    for place, title in ((2, "weight"), (3, "time")):
        columns = [[row[place] if place < len(row) else None for row in each] for each in (mine, theirs)]
        is_given = any(x is not None for x in columns[1])
        is_told = f"'{title}'" in said and (None in columns[1] or not is_absent)
        if columns[0] != columns[1] and is_given and not is_told:
            return f"{title}: {columns[0]} for {columns[1]}, without a word"
    if heights is not None:
        column = found.vertex_attributes["height"].tolist() if "height" in found.vertex_attributes else None
        is_told = "'height'" in said and (None in heights or not is_absent)
        if not is_told and (column is None or list(map(known, column)) != heights):
            return f"height: {column} for {heights}, without a word"
    return ""


PLACE = (
    r"line \d|row \d|row group|edge #?\d|edge from|vertex \d|node|column|no array|no file|entry|vertices|neighbor|"
    r"numbers|sparse"
)
CASES = [*tables(), *texts(), *graphml(), *gml(), *graphs(), *numeric(), *stored()]


def judge(case: Case, folder: Path) -> str:
    """What is wrong with what gasla makes of a case."""
    rows, heights = case.rows, case.heights
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = case.read(folder)
            if isinstance(found, Path):
                rows, heights = by_igraph(found)
                found = both(found)
        except (ValueError, TypeError) as error:
            text = str(error)
            if not re.search(PLACE, text) or not re.search("expected|pass |truncated|damaged", text):
                return f"an error without a place or a remedy: {text}"
            if case.is_file and not (isinstance(error, io.FormatError) and str(folder) in text):
                return f"an error without the file: {text}"
            is_whole = (
                rows is not None and all(x is not None for row in rows for x in row) and None not in (heights or [])
            )
            is_whole = is_whole and bool(rows) and case.name.endswith(ABSENT)
            return f"refused, though nothing is missing: {text}" if is_whole else ""
    if rows is None:
        return f"read as {rows_of(found)}, which an independent reader refuses"
    return wrong(found, " ".join(str(warning.message) for warning in said), rows, heights, case.name.endswith(ABSENT))


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.thorough)])
def test_nothing_is_missing_without_a_word(tmp_path: Path, step: int) -> None:
    found = []
    for number, case in enumerate(CASES[::step]):
        folder = tmp_path / str(number)
        folder.mkdir()
        if problem := judge(case, folder):
            found.append(f"{case.name}: {problem}")
    assert len(CASES) > 1500
    assert not found, f"{len(found)} of {len(CASES)}:\n" + "\n".join(found[:60])
