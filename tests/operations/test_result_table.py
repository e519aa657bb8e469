"""Results as tables, by the names of vertices: `gasla.table`, `Graph.named`, `Graph.name`."""

import builtins
import csv
import datetime
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import gasla
from gasla import Graph

CITIES = ["Oslo", "Rome", "Bonn", "São Paulo"]
GRAPH = Graph.from_networkx(nx.Graph([("Oslo", "Rome"), ("Rome", "Bonn")]))
RANKS = np.array([0.25, 0.5, 0.25])
PLAIN = Graph.from_edges([0, 1], [1, 2])


def rows(made: Any) -> dict[str, list[Any]]:
    if isinstance(made, pa.Table):
        return made.to_pydict()
    return made.to_dict("list") if isinstance(made, pd.DataFrame) else made.to_dict(as_series=False)


@pytest.mark.parametrize(("as_", "kind"), [("arrow", pa.Table), ("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_columns_come_by_name_from_arrays_and_constants(as_: Any, kind: type) -> None:
    found = gasla.table(GRAPH, as_=as_, rank=RANKS, core=gasla.core_number(GRAPH), run="first", alpha=0.85, ok=True)
    assert isinstance(found, kind)
    assert rows(found) == {
        **{"vertex": ["Oslo", "Rome", "Bonn"], "rank": [0.25, 0.5, 0.25], "core": [1, 1, 1]},
        **{"run": ["first"] * 3, "alpha": [0.85] * 3, "ok": [True] * 3},
    }
    assert rows(gasla.table(PLAIN, as_=as_)) == {"vertex": [0, 1, 2]}
    assert rows(gasla.table(Graph.from_edges([], []), as_=as_, x=[], y=1)) == {"vertex": [], "x": [], "y": []}


def test_named_is_the_table_of_arrow() -> None:
    scores = gasla.hits(GRAPH)
    assert GRAPH.named(scores, rank=RANKS, day=2).equals(gasla.table(GRAPH, scores, rank=RANKS, day=2))


def test_results_of_several_fields_become_several_columns() -> None:
    levels = gasla.bfs(GRAPH, "Oslo", parents=True)
    assert gasla.table(GRAPH, levels).column_names == ["vertex", "levels", "parents"]
    found = gasla.table(GRAPH, trip=levels, pagerank=gasla.pagerank(GRAPH), groups=gasla.connected_components(GRAPH))
    assert found.column_names == ["vertex", "trip_levels", "trip_parents", "pagerank", "groups"]
    with_attributes = GRAPH.with_vertex_attributes(population=[7, 28, 3])
    assert gasla.table(with_attributes, with_attributes.vertex_attributes)["population"].to_pylist() == [7, 28, 3]
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
    assert gasla.table(GRAPH, frame).column_names == ["vertex", "a", "b"]


DAY = datetime.date(2026, 1, 2)
CONSTANTS = [1, 0.5, "text", None, True, np.float32(2), np.array(3), DAY, np.datetime64("2026-01-02")]


@pytest.mark.parametrize("value", CONSTANTS, ids=str)
def test_a_constant_stands_in_every_row(value: Any) -> None:
    wanted = value.item() if hasattr(value, "item") else value
    assert gasla.table(GRAPH, x=value)["x"].to_pylist() == [wanted] * 3
    assert len(gasla.table(GRAPH, x=value, as_="pandas")) == 3


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"x": [1, 2]}, ValueError, r"x has shape \(2,\); expected \(3,\), a value a vertex"),
        ({"x": np.ones((3, 2))}, ValueError, r"x has shape \(3, 2\); expected \(3,\)"),
        ({"x": [[1], [1, 2]]}, ValueError, r"x has type list; expected \(3,\)"),
        ({"x": object()}, ValueError, r"x has type object; expected \(3,\)"),
        ({"x": {"Oslo": 1}}, TypeError, "x is a dict; a dict of columns has no name"),
        ({"vertex": 1}, ValueError, "two columns are named 'vertex'"),
        ({"x": gasla.ego_graph(GRAPH, 0)}, ValueError, "x has type Graph"),
        ({"x": [1, 2**70, 3]}, TypeError, "arrow has no type for column 'x' with values of type int"),
        ({"x": np.array(["a", 1, None], object)}, TypeError, "arrow has no type for column 'x' .* NoneType, int, str"),
        ({"x": gasla.minimum_spanning_forest(GRAPH)}, ValueError, "x is a ForestResult without an array of 3 values"),
        ({"as_": "excel"}, ValueError, "as_ is 'excel'; expected one of 'arrow', 'pandas', 'polars'"),
        ({"output": "x.xlsx"}, ValueError, r"output is 'x.xlsx'; expected a file that ends in .csv, .parquet or"),
    ],
)
def test_what_is_no_column_is_refused(columns: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gasla.table(GRAPH, **columns)


def test_names_of_mixed_types_go_to_pandas_only() -> None:
    graph = Graph.from_networkx(nx.Graph([("Oslo", 1), (1, (2, 3))]))
    for as_ in ("arrow", "polars"):
        with pytest.raises(TypeError, match=f"{as_} has no type for column 'vertex' with values of type int, str, tup"):
            gasla.table(graph, as_=as_)
    assert gasla.table(graph, as_="pandas")["vertex"].tolist() == ["Oslo", 1, (2, 3)]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.partition(".")[0] in ("pyarrow", "pandas", "polars"):
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr("importlib.import_module", lambda name: without(name))
    for as_, package in (("arrow", r"'gasla\[arrow\]'"), ("pandas", "pandas"), ("polars", "polars")):
        with pytest.raises(ImportError, match=f"pip install {package}"):
            gasla.table(GRAPH, as_=as_)  # type: ignore[arg-type]
    monkeypatch.setattr("gasla.graph.exchange.vertex_table.module_for", lambda kind: pd)
    gasla.table(GRAPH, as_="pandas", output=tmp_path / "x.csv")  # needs no pyarrow
    with pytest.raises(ImportError, match="pyarrow"):
        gasla.table(GRAPH, as_="pandas", output=tmp_path / "x.parquet")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather", ".CSV"])
def test_files_hold_the_table(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"scores{ending}"
    odd = Graph.from_networkx(nx.path_graph(['Os"lo', "", "a,b\nc", "São Paulo"]))
    made = gasla.table(odd, x=[0.1, np.nan, np.inf, 1e-300], n=[1, 2, 3, 4], text="é", output=path)
    if ending.lower() == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            first, *rest = csv.reader(file)
        assert first == made.column_names
        assert [row[0] for row in rest] == made["vertex"].to_pylist()
        np.testing.assert_array_equal([float(row[1]) for row in rest], made["x"].to_numpy())
        return
    read = pa.parquet.read_table(path) if ending == ".parquet" else pa.feather.read_table(path)
    assert read.equals(made) or str(read) == str(made)  # NaN is not equal to itself


def test_a_file_stays_as_it_was_if_the_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("before")
    with pytest.raises(ValueError, match="expected"):
        gasla.table(GRAPH, x=[1], output=path)
    assert path.read_text() == "before"
    with pytest.raises(FileNotFoundError):
        gasla.table(GRAPH, output=tmp_path / "none" / "scores.csv")


def test_numbers_of_vertices_become_names() -> None:
    found = gasla.bfs(GRAPH, "Rome", parents=True).parents
    assert GRAPH.name(found).tolist() == ["Rome", "Rome", "Rome"]
    assert GRAPH.name(0) == "Oslo"
    assert GRAPH.name(np.int32(-1)) is None
    assert GRAPH.name(np.array([[0, -1], [2, 1]])).tolist() == [["Oslo", None], ["Bonn", "Rome"]]
    assert GRAPH.name([]).tolist() == []
    large = Graph.from_table(pa.table({"src": [2**40, 5], "dst": [5, 7]}))
    assert large.name([1, 0]).tolist() == [5, 2**40]
    assert large.name([1, -1]).tolist() == [5, None]
    assert PLAIN.name([1, -1]).tolist() == [1, -1]
    assert PLAIN.name(2) == 2
    for bad in (3, -2, [0, 3]):
        with pytest.raises(ValueError, match="expected 0 to 2, or -1 for no vertex"):
            GRAPH.name(bad)
    for bad in ("Oslo", 1.0, None, ["Oslo"], [True]):
        with pytest.raises(TypeError, match="expected numbers of vertices"):
            GRAPH.name(bad)


@pytest.mark.parametrize("key", [0, None, ("a",), b"a", 1.5])
@pytest.mark.parametrize("as_", ["arrow", "pandas", "polars"])
def test_the_keys_of_a_dict_are_names_of_columns(key: Any, as_: Any) -> None:
    graph = Graph.from_edges([0], [1])
    with pytest.raises(TypeError, match=r"a dict of columns has the key .*; expected text, the name of the column"):
        gasla.table(graph, {key: [1, 2]}, as_=as_)


@pytest.mark.parametrize("zone", ["Europe/Amsterdam", "UTC", "+02:00"])
def test_dates_of_results_keep_the_zone_of_the_graph(tmp_path: Path, zone: str) -> None:
    departs = pa.array([datetime.datetime(2026, 4, 1, 0, 30)] * 2).cast(pa.timestamp("us", zone))
    graph = Graph.from_edges([0, 1], [1, 2], n=4).with_edge_attributes(at=pa.chunked_array([departs]))
    first = gasla.earliest_arrival(graph, 0, time="at")
    assert np.isnat(first[3])
    made = gasla.table(graph, first=first, day=np.array(["2026-04-01"] * 4, "M8[D]"))
    assert made.schema.field("first").type.tz == zone and made.schema.field("day").type == pa.date32()
    assert made == graph.named(first=first, day=np.array(["2026-04-01"] * 4, "M8[D]"))
    assert made["first"].to_pylist()[1:] == [departs[0].as_py()] * 2 + [None]
    assert gasla.table(graph, first=first, as_="pandas")["first"].tolist()[1] == departs[0].as_py()
    assert gasla.table(graph, first=first, as_="polars")["first"].to_list()[1] == departs[0].as_py()
    gasla.table(graph, first=first, output=tmp_path / "a.csv")
    rows = (tmp_path / "a.csv").read_text().splitlines()
    assert datetime.datetime.fromisoformat(rows[2].split(",")[1]) == departs[0].as_py() and rows[4] == "3,"
    assert rows[2].endswith("+00:00" if zone == "UTC" else "+02:00")
    mixed = graph.with_edge_attributes(seen=np.array(["2026-04-01T12"] * 2, "M8[s]"))  # whose dates may be either
    assert gasla.table(mixed, first=first).schema.field("first").type.tz is None
