"""Dates survive every door: unit and zone in graphs made from graphs, in other libraries, and in files."""

import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import Graph, distributed
from gasla.graph.dates import TimeColumn, TimeType, iso, length, of_text, parsed_time_types, time_column

BERLIN = ZoneInfo("Europe/Berlin")
TYPES = [
    TimeType("datetime", "us"),
    TimeType("datetime", "ms", "Europe/Berlin"),
    TimeType("datetime", "ns", "UTC"),
    TimeType("datetime", "us", "+05:30"),
    TimeType("date", "D"),
    TimeType("time", "us"),
    TimeType("duration", "us"),
    TimeType("duration", "ns"),
]
NUMBERS = [0, 1, 86_399]


def dated(types: list[TimeType] = TYPES) -> Graph:
    """A graph with names, and a column of each type at its edges and its vertices."""
    columns = {
        f"t{i}": TimeColumn(np.array(NUMBERS) * 1000 ** (kind.unit == "ns"), kind) for i, kind in enumerate(types)
    }
    graph = Graph.from_networkx(_cycle(["a", "b", "c"]))
    return graph.with_edge_attributes(columns).with_vertex_attributes(columns)


def _cycle(names: list[str]) -> Any:
    import networkx as nx

    return nx.DiGraph([*zip(names, names[1:] + names[:1])])


def assert_equal(found: Any, expected: Any, units: bool = True, zones: bool = True) -> None:
    """Whether two mappings of attributes have the same dates, in the same units and zones."""
    assert [*found] == [*expected]
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name].astype(found[name].dtype), name)
        own, other = found.time_types[name], expected.time_types[name]
        assert own.kind == other.kind, name
        assert not units or own.unit == other.unit, name
        assert (own.zone == other.zone) if zones else ((own.zone is None) == (other.zone is None)), name


MADE: list[Callable[[Graph], Graph]] = [
    lambda graph: graph.select([0, 1, 2]),
    lambda graph: graph.subgraph([0, 1, 2]),
    lambda graph: graph.simple(),
    lambda graph: graph.simple(semirings.plus),
    lambda graph: graph.reversed(),
    lambda graph: graph.changed(remove=[]),
    lambda graph: graph.with_values([1, 2, 3]),
    lambda graph: gasla.batch([graph]).graph,
    lambda graph: pickle.loads(pickle.dumps(graph)),
    lambda graph: (
        Graph.from_edges(*graph.edges())
        .with_edge_attributes(graph.edge_attributes.columns())
        .with_vertex_attributes(graph.vertex_attributes.columns())
    ),
]


@pytest.mark.parametrize("number", range(len(MADE)))
def test_graphs_made_from_graphs_keep_dates(number: int) -> None:
    graph = dated()
    made = MADE[number](graph)
    assert_equal(made.edge_attributes, graph.edge_attributes)
    assert_equal(made.vertex_attributes, graph.vertex_attributes)


@pytest.mark.parametrize("suffix", ["npz", "npz.gz", "gasla", "parquet", "feather", "csv", "csv.gz", "graphml", "gml"])
def test_files_keep_dates(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    graph, is_own = dated(), suffix in ("npz", "npz.gz", "gasla")
    has_vertices = is_own or suffix in ("graphml", "gml")
    graph = graph if has_vertices else graph.with_vertex_attributes(dict.fromkeys(graph.vertex_attributes))
    gasla.io.write(tmp_path / f"a.{suffix}", graph)
    asked: Any = {"attributes": [*graph.edge_attributes]} if suffix.startswith("csv") else {}
    found = gasla.io.read(tmp_path / f"a.{suffix}", **asked)
    assert found.names.tolist() == ["a", "b", "c"]
    exact = is_own or suffix in ("parquet", "feather")  # text has no zones, but offsets
    assert_equal(found.edge_attributes, graph.edge_attributes, exact, exact)
    assert_equal(found.vertex_attributes, graph.vertex_attributes, exact, exact)


def test_converted_tables_keep_dates(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    graph = dated().with_vertex_attributes(dict.fromkeys(dated().vertex_attributes))
    graph.naming = None
    gasla.io.write(tmp_path / "a.parquet", graph)
    gasla.io.convert(tmp_path / "a.parquet", tmp_path / "a.gasla")
    assert_equal(gasla.io.open(tmp_path / "a.gasla").edge_attributes, graph.edge_attributes)


def test_networkx_and_igraph_keep_dates() -> None:
    pytest.importorskip("igraph")
    kept = [kind for kind in TYPES if kind.unit != "ms"]  # the objects of Python's datetime have microseconds
    graph = dated(kept)
    theirs = graph.to_networkx(attributes=True)
    assert_equal(Graph.from_networkx(theirs, attributes=True).edge_attributes, graph.edge_attributes, units=False)
    assert_equal(Graph.from_networkx(theirs, attributes=True).vertex_attributes, graph.vertex_attributes, units=False)
    assert theirs.edges["a", "b"]["t0"] == datetime(1970, 1, 1)
    both = graph.symmetrized().to_networkx(attributes=["t1"])
    assert not both.is_directed()
    theirs = graph.to_igraph(attributes=True)
    assert_equal(Graph.from_igraph(theirs, attributes=True).edge_attributes, graph.edge_attributes, units=False)
    odd = Graph.from_networkx(_cycle(["a", "b"])).with_edge_attributes(t=np.array([1, 1001], "M8[ns]"))
    again = Graph.from_networkx(odd.to_networkx(attributes=True), attributes=True)
    assert_equal(again.edge_attributes, odd.edge_attributes)


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_tables_of_other_libraries_keep_dates(kind: TimeType) -> None:
    pa = pytest.importorskip("pyarrow")
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    column = TimeColumn(np.array(NUMBERS), kind).to_arrow(pa)
    table = pa.table({"src": ["a", "b", "c"], "dst": ["b", "c", "a"], "t": column})
    right = Graph.from_table(table, attributes=["t"]).edge_attributes
    assert right.time_types["t"] == kind
    assert right.numbers("t").tolist() == NUMBERS
    others = [table.to_pandas()]
    if kind.zone != "+05:30":  # polars has no zone that is an offset
        others.append(pl.from_arrow(table))
    for other, units in ((other, kind.kind != "time") for other in others):
        assert_equal(Graph.from_table(other, attributes=["t"]).edge_attributes, right, units)
        graph = Graph.from_edges([0, 1, 2], [1, 2, 0])
        assert_equal(graph.with_edge_attributes(t=other["t"]).edge_attributes, right, units=False)
    assert_equal(graph.with_edge_attributes(t=table["t"]).edge_attributes, right, units=False)
    objects = TimeColumn(np.array(NUMBERS), kind).tolist()
    assert_equal(graph.with_edge_attributes(t=objects).edge_attributes, right, units=False)
    assert pd.Series(right["t"]).dt is not None


@pytest.mark.parametrize("as_", ["arrow", "pandas", "polars"])
def test_two_tables_keep_dates(as_: str) -> None:
    pytest.importorskip("pyarrow"), pytest.importorskip(as_ if as_ != "arrow" else "pyarrow")
    graph = dated([kind for kind in TYPES if kind.zone != "+05:30"])  # polars has no zone that is an offset
    edges, vertices = graph.to_tables(as_)
    found = Graph.from_table(edges, attributes=True, vertices=vertices)
    assert_equal(found.edge_attributes, graph.edge_attributes, units=False)
    assert_equal(found.vertex_attributes, graph.vertex_attributes, units=False)


def test_ranks_keep_dates() -> None:
    graph = dated()
    spread = distributed.Graph.from_graph(graph, distributed.ThreadRanks(2))
    assert spread.edge_attributes.time_types == graph.edge_attributes.time_types
    assert_equal(spread.vertex_attributes, graph.vertex_attributes)
    later = spread.with_edge_attributes(t0=lambda edges: edges["t0"] + np.timedelta64(1, "h"))
    assert later.edge_attributes["t0"][np.array([2])].tolist() == [datetime(1970, 1, 1, 1, 0, 0, 86_399)]
    assert later.edge_attributes["t0"].max() == np.datetime64(3_600_000_000 + 86_399, "us")
    numbers = graph.with_edge_attributes(time=graph.edge_attributes["t0"])
    there = distributed.Graph.from_graph(numbers, distributed.ThreadRanks(2))
    for window in (None, ("1970-01-01", "1s")):
        expected = gasla.earliest_arrival(numbers, 0, duration="1ms", window=window)
        np.testing.assert_array_equal(gasla.earliest_arrival(there, 0, duration="1ms", window=window), expected)


@pytest.mark.gpu
def test_a_gpu_has_integers_and_brings_dates_back() -> None:
    graph = dated()
    there = graph.to("gpu")
    assert there.edge_attributes["t0"].get().tolist() == NUMBERS
    assert there.edge_attributes.time_types == graph.edge_attributes.time_types
    assert_equal(there.select([0, 1, 2]).to("cpu").edge_attributes, graph.edge_attributes)


def test_dates_that_are_merged_stay_dates() -> None:
    days = np.array(["2026-01-05", "2026-01-02", "2026-01-03"], "M8[D]")
    graph = Graph.from_edges([0, 0, 0], [1, 1, 1], [1, 2, 3]).with_edge_attributes(
        day=days, takes=np.full(3, 2, "m8[s]")
    )
    merged = graph.simple(semirings.plus)
    assert merged.values.tolist() == [6]
    assert merged.edge_attributes["takes"].tolist() == [timedelta(seconds=6)]
    assert merged.edge_attributes["day"].tolist() == [date(2026, 1, 5)]  # the first: dates have no sum
    assert graph.simple({"day": semirings.min}).edge_attributes["day"].tolist() == [date(2026, 1, 2)]
    assert graph.weighted_by("day").simple(semirings.plus).edge_attributes["day"].tolist() == [date(2026, 1, 5)]
    with pytest.raises(TypeError, match=r"combine for 'day' is .*plus.*; expected min, max or first, for datetime64"):
        graph.simple({"day": semirings.plus})


def test_changed_graphs_take_dates_of_the_same_kind_and_zone() -> None:
    when = [datetime(2026, 1, 1, 12, tzinfo=BERLIN), datetime(2026, 1, 2, tzinfo=BERLIN)]
    graph = Graph.from_edges([0, 1], [1, 0]).with_edge_attributes(t=when)
    more = graph.changed(insert=([0], [0], {"t": [datetime(2026, 7, 1, tzinfo=UTC)]}))
    assert more.edge_attributes["t"].astype(str).tolist()[-1] == "2026-07-01T00:00:00.000000"
    assert more.edge_attributes.time_types["t"] == TimeType("datetime", "us", "Europe/Berlin")
    for wrong in ([5], [datetime(2026, 7, 1)], [timedelta(1)]):
        with pytest.raises(TypeError, match=r"attribute 't' is given as .*; expected datetime64\[us\] in zone Europe"):
            graph.changed(insert=([0], [0], {"t": wrong}))
    days = Graph.from_edges([0], [1]).with_edge_attributes(t=np.zeros(1, "M8[D]"))
    with pytest.raises(ValueError, match=r"and datetime64\[D\] does not hold all of it"):
        days.changed(insert=([0], [0], {"t": np.ones(1, "M8[s]")}))
    added = Graph.from_edges([0], [1]).with_edge_attributes(t=np.zeros(1, "M8[D]")).paired()
    assert np.isnat(added.edge_attributes["t"]).tolist() == [False, True]
    with pytest.raises(ValueError, match="is NaT at edge 1; expected a date"):
        gasla.earliest_arrival(added, 0, time="t")


ONE = Graph.from_edges([0, 1], [1, 0])


@pytest.mark.parametrize(
    ("column", "error", "words"),
    [
        ([date(2026, 1, 1), None], ValueError, "has no date at 1; expected one in each"),
        (np.array(["2026-01-01", "NaT"], "M8[s]"), ValueError, "has no date at 1"),
        (np.ones(2, "m8[M]"), TypeError, r"'t': got timedelta64\[M\]; expected a unit from days to nanoseconds"),
        (np.ones(2, "M8[ps]"), TypeError, r"'t': got datetime64\[ps\]"),
        (np.full(2, 2**60, "M8[Y]"), ValueError, "does not hold"),
        ([datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)], TypeError, "some dates have a zone and others"),
        ([date(2026, 1, 1), 5], TypeError, "'t' holds object; expected one of bool"),
    ],
)
def test_columns_that_are_no_dates_are_refused(column: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ONE.with_edge_attributes(t=column)


def test_dates_of_other_units_are_kept_as_days_or_nanoseconds() -> None:
    graph = ONE.with_edge_attributes(
        year=np.full(2, "2026", "M8[Y]"), week=np.ones(2, "m8[W]"), k=np.ones(2, "m8[25s]")
    )
    assert (
        str(graph.edge_attributes) == "Attributes('year': datetime64[D], 'week': timedelta64[D], 'k': timedelta64[s])"
    )
    zone = timezone(timedelta(hours=2))
    mixed = ONE.with_edge_attributes(t=[datetime(2026, 1, 1, tzinfo=zone), datetime(2026, 1, 1, tzinfo=UTC)])
    assert mixed.edge_attributes.time_types["t"].zone == "UTC"
    swapped = ONE.with_edge_attributes(t=np.array(["2026-01-01"] * 2, ">M8[s]"))
    assert swapped.edge_attributes["t"].astype(str).tolist() == ["2026-01-01T00:00:00"] * 2


@given(st.timedeltas(timedelta(-9999), timedelta(9999)))
@settings(deadline=None, max_examples=60)
def test_durations_in_text_are_those_of_python(given_: timedelta) -> None:
    text = iso(given_)
    assert of_text(text) == np.timedelta64(given_)
    assert length(text) == length(given_) == given_ // timedelta(microseconds=1) * 1000
    pd = pytest.importorskip("pandas")
    assert pd.Timedelta(text) == given_
    if given_ >= timedelta(0):
        assert length(str(pd.Timedelta(given_))) == length(given_)
        assert length(str(given_)) == length(given_)


@pytest.mark.parametrize(
    "text", ["", "h", "5", "P1M", "P1Y", "1 month", "2026-01-01", "1h x", None, 5, np.timedelta64("NaT", "s")]
)
def test_other_texts_are_no_durations(text: Any) -> None:
    assert length(text) is None


@given(st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)))
@settings(deadline=None, max_examples=60)
def test_dates_in_text_are_read_back(when: datetime) -> None:
    for value in (when, when.replace(tzinfo=BERLIN), when.date(), when.time()):
        found = of_text(iso(value))
        assert found == value and type(found) is type(value)
    assert of_text(f"{when.date()}T00:00:00.123456789") == np.datetime64(f"{when.date()}T00:00:00.123456789")
    assert of_text("05-01-2026") is of_text("2026-13-01") is of_text(5) is None


def test_stored_types_are_checked() -> None:
    columns = {"t": np.zeros(2, np.int64), "f": np.zeros(2)}
    assert parsed_time_types({"t": ["date", "D", None]}, columns) == {"t": TimeType("date", "D")}
    for wrong in ({"t": ["day", "D", None]}, {"t": ["date", "Y", None]}, {"t": 5}, {"u": ["date", "D", None]}, 5,
                  {"f": ["date", "D", None]}, {"t": ["date", [], None]}):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            parsed_time_types(wrong, columns)


def test_arrays_that_hold_no_dates_are_left_alone() -> None:
    assert time_column([1, 2]) is None and time_column(["a"]) is None and time_column([[1], [2]]) is None
    assert time_column(time_column([time(1)])).tolist() == [time(1)]  # type: ignore[union-attr]
