"""Attributes of edges and vertices: through graphs made from graphs, held against the values and against `origin`."""

import pickle
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import Graph
from gasla.cli import main
from gasla.graph.exchange.vertex_names import Names

MONOIDS = [semirings.plus, semirings.min, semirings.times, semirings.first, None]


@st.composite
def edge_lists(draw: Any, max_n: int = 6, max_m: int = 20) -> tuple[int, list[tuple[int, int, int]]]:
    """The number of vertices, and (source, target, value) of each edge; self loops and parallel edges included."""
    n = draw(st.integers(0, max_n))
    ids = st.integers(0, max(n - 1, 0))
    edges = draw(st.lists(st.tuples(ids, ids, st.integers(-3, 3)), max_size=max_m if n else 0))
    return n, edges + [(v, u, w) for u, v, w in edges] if draw(st.booleans()) else edges


def with_columns(n: int, edges: list[Any]) -> Graph:
    """A graph with values, the same values as an attribute, the numbers of its edges, and those of its vertices."""
    src, dst, values = np.array(edges, np.int64).reshape(-1, 3).T
    graph = Graph.from_edges(src, dst, values, n).with_edge_attributes(same=values, number=np.arange(len(edges)))
    return graph.with_vertex_attributes(number=np.arange(n))


@given(edge_lists(), st.sampled_from(MONOIDS), st.booleans(), st.data())
@settings(deadline=None, max_examples=60)
def test_merged_edges_reduce_attributes_as_values(edges: Any, monoid: Any, loops: bool, data: Any) -> None:
    n, edges = edges[0], edges[1]
    graph = with_columns(n, edges)
    labels = data.draw(st.lists(st.integers(0, max(n - 1, 0)), min_size=n, max_size=n))
    made = [graph.simple(monoid, loops=loops), graph.contract(np.array(labels, np.int64), monoid, loops=loops)]
    if monoid is not None:
        made.append(graph.symmetrized(monoid))
    for found in made:
        assert found.edge_attributes["same"].tolist() == found.values.tolist()
    first = graph.symmetrized({"weight": semirings.first})
    assert first.edge_attributes["number"].tolist() == [
        min(e for e, (u, v, _) in enumerate(edges) if {u, v} == {*pair})
        for pair in zip(*(ends.tolist() for ends in first.edges()), strict=True)
    ]


@given(edge_lists(), st.data())
@settings(deadline=None, max_examples=60)
def test_columns_follow_their_edges_and_vertices(edges: Any, data: Any) -> None:
    graph = with_columns(edges[0], edges[1])
    stays = np.array(data.draw(st.lists(st.booleans(), min_size=graph.m, max_size=graph.m)), bool)
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=graph.n, max_size=graph.n)), bool)
    for found in (graph.select(stays), graph.subgraph(chosen), graph.simple(), graph.reversed()):
        assert found.edge_attributes["number"].tolist() == found.origin.edges.tolist()
        assert found.vertex_attributes["number"].tolist() == found.origin.vertices.tolist()
        assert found.edge_attributes["same"].tolist() == found.values.tolist()
    copy = pickle.loads(pickle.dumps(graph.select(stays)))
    assert copy.edge_attributes["number"].tolist() == np.flatnonzero(stays).tolist()


@given(edge_lists(), st.data())
@settings(deadline=None, max_examples=40)
def test_changed_and_paired_graphs_have_columns_for_all_edges(edges: Any, data: Any) -> None:
    graph = with_columns(edges[0], edges[1])
    removed = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=graph.m, max_size=graph.m)))
    own = graph.weighted_by("same")
    new = {"same": [7], "number": [-1]} if graph.n else {"same": [], "number": []}
    ends = ([0], [0]) if graph.n else ([], [])
    for before, insert in ((graph, (*ends, new["same"], new)), (own, (*ends, new))):
        found = before.changed(insert=insert, remove=removed)
        kept = np.delete(np.arange(graph.m), removed)
        assert found.edge_attributes["number"].tolist() == [*kept.tolist(), *new["number"]]
        assert found.edge_attributes["same"].tolist() == found.values.tolist()
        assert found.vertex_attributes["number"].tolist() == [*range(graph.n)]
        less = before.changed(remove=removed)
        assert less.edge_attributes["number"].tolist() == kept.tolist()
    for before in (graph, own):
        pairs = before.paired(3)
        assert pairs.edge_attributes["same"].tolist() == pairs.values.tolist()


def flights() -> Graph:
    graph = Graph.from_edges([0, 0, 1, 0], [1, 2, 2, 1])
    return graph.with_edge_attributes(hours=[1.5, 4.0, 2.0, 1.0], price=[90, 300, 60, 200])


def test_weighted_by_serves_algorithms_and_is_made_once() -> None:
    graph = flights()
    assert gasla.sssp(graph.weighted_by("hours"), 0).tolist() == [0, 1, 3]
    assert gasla.sssp(graph.weighted_by("price"), 0).tolist() == [0, 90, 150]
    assert graph.weighted_by("price") is graph.weighted_by("price")
    assert graph.weighted_by("price").lists is graph.lists
    assert graph.weighted_by("price").weighted_by("hours").values.tolist() == [1.5, 4.0, 2.0, 1.0]
    assert graph.values is None
    assert graph.weighted_by("price").simple(semirings.plus).edge_attributes["price"].tolist() == [290, 300, 60]


def test_each_attribute_has_its_own_monoid() -> None:
    graph = flights().simple({"price": semirings.min, "weight": semirings.plus})
    assert graph.values.tolist() == [2, 1, 1]  # edges without values count 1 each
    assert graph.edge_attributes["price"].tolist() == [90, 300, 60]
    assert graph.edge_attributes["hours"].tolist() == [1.5, 4.0, 2.0]  # the first
    assert flights().simple({"price": semirings.min}).values is None
    merged = flights().with_values([1, 2, 3, 4]).contract([0, 0, 2], {"price": semirings.plus})
    assert merged.values.tolist() == [1, 2]
    assert merged.edge_attributes["price"].tolist() == [290, 360]


def test_symmetric_sums_have_the_same_bits_both_ways() -> None:
    ends = [0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0]
    graph = Graph.from_edges(*ends).with_edge_attributes(x=[0.1, 0.3, 0.2, 0.1, 0.3, 0.2])
    both = graph.simple(semirings.plus).edge_attributes["x"]
    assert both[0] == both[1]


def test_a_graph_without_attributes_holds_nothing() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [3, 4])
    for made in (graph, graph.simple(), graph.select([0]), graph.with_values(None), graph.changed(remove=[0])):
        assert made.edge_attributes is Graph.edge_attributes
        assert made.vertex_attributes is Graph.vertex_attributes
    assert "edge_attributes" not in graph.simple().__dict__
    before = graph.with_edge_attributes(x=[1, 2]).simple()
    assert before.nbytes == graph.simple().nbytes  # nobody has read the column
    assert before.edge_attributes["x"].tolist() == [1, 2]
    assert repr(before) == "Graph(n=3, m=2, values=int64, edge_attributes=['x'])"


def test_columns_are_read_only() -> None:
    graph = Graph.from_edges([0, 1], [1, 0]).with_edge_attributes(when=np.array(["1970-01-02", "1970-01-05"], "M8[D]"))
    with pytest.raises(ValueError, match="read-only"):
        graph.edge_attributes["when"][0] = 3
    assert "when" not in graph.with_edge_attributes(when=None).edge_attributes


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda g: g.weighted_by("prize"), ValueError, "'prize' is no edge attribute.*did you mean 'price'"),
        (lambda g: g.edge_attributes["prize"], KeyError, "did you mean 'price'"),
        (lambda g: g.with_values(None).vertex_attributes["x"], KeyError, "with_vertex_attributes"),
        (lambda g: g.with_edge_attributes(prize=None), ValueError, "did you mean 'price'"),
        (lambda g: g.with_edge_attributes(x=[1, 2]), ValueError, r"'x' has shape \(2,\); expected \(4,\)"),
        (lambda g: g.with_vertex_attributes(x=[1, 2]), ValueError, r"'x' has shape \(2,\); expected \(3,\)"),
        (lambda g: g.with_edge_attributes(x=["a"] * 4), TypeError, "'x' holds <U1; expected one of bool"),
        (lambda g: g.with_edge_attributes({3: [1] * 4}), TypeError, "named 3; expected a string"),
        (lambda g: g.with_edge_attributes(x=np.array(["NaT"] * 4, "M8[s]")), ValueError, "has no date at 0"),
        (lambda g: g.simple({"prize": semirings.plus}), ValueError, "did you mean 'price'"),
        (lambda g: g.simple({"price": "plus"}), TypeError, "combine for 'price' is 'plus'"),
        (
            lambda g: g.weighted_by("price").symmetrized({"hours": semirings.max}),
            ValueError,
            "no monoid for the values",
        ),
        (lambda g: g.changed(insert=([0], [1])), TypeError, "insert has no edge attributes"),
        (lambda g: g.changed(insert=([0], [1], {"price": [1]})), ValueError, "expected all attributes"),
        (lambda g: g.changed(insert=([0], [1], {"price": [1.5], "hours": [1]})), TypeError, "attribute 'price'"),
    ],
)
def test_errors_name_what_was_given(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call(flights())


def test_attributes_of_a_table() -> None:
    pa = pytest.importorskip("pyarrow")
    columns = {"from": ["a", "b"], "to": ["b", "c"], "amount": [5.5, 3.0], "note": ["x", "y"]}
    table = pa.table({**columns, "day": pa.array([1, 4], pa.date32()), "hole": pa.array([1, None])})
    graph = Graph.from_table(table, "from", "to", attributes=["amount", "day"])
    assert {name: column.tolist() for name, column in graph.edge_attributes.items()} == {
        "amount": [5.5, 3.0],
        "day": [date(1970, 1, 2), date(1970, 1, 5)],
    }
    assert graph.values is None
    assert Graph.from_table(table.select([0, 1, 2]), attributes=[2]).edge_attributes["amount"].tolist() == [5.5, 3.0]
    both = Graph.from_table(table, "from", "to", "amount", attributes=["amount", "day"])
    assert both.values is both.edge_attributes["amount"]
    for attributes, error, message in (
        (["amuont"], ValueError, "did you mean 'amount'"),
        (["note"], TypeError, "column 'note' holds string; expected numbers, dates or times"),
        (["hole"], ValueError, "row 1 of column 'hole' is null"),
        (["amount", 2], ValueError, "'amount' twice"),
        ("amount", TypeError, "expected a list of columns"),
    ):
        with pytest.raises(error, match=message):
            Graph.from_table(table, "from", "to", attributes=attributes)


@pytest.mark.gpu
def test_attributes_on_a_gpu() -> None:
    graph = flights().to("gpu")
    assert graph.weighted_by("price").device == "gpu"
    assert graph.simple({"price": semirings.min}).edge_attributes["price"].get().tolist() == [90, 300, 60]
    assert graph.select([0, 2]).edge_attributes["hours"].get().tolist() == [1.5, 2.0]
    assert graph.symmetrized({"price": semirings.plus}).edge_attributes["price"].get().tolist()[:2] == [290, 300]


def paid() -> Graph:
    """Parallel edges, in no order, with names and attributes."""
    pa = pytest.importorskip("pyarrow")
    graph = Graph.from_table(pa.table({"src": ["b", "a", "a", "c"], "dst": ["a", "b", "b", "b"]}))
    return graph.with_edge_attributes(amount=[1.5, 2.0, 3.0, 4.0], hour=[8, 7, 6, 5], late=[True, False, True, False])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather", "csv.gz", "txt"])
@pytest.mark.parametrize("weighted", [False, True])
def test_tables_keep_attributes(tmp_path: Path, suffix: str, weighted: bool) -> None:
    path, graph = tmp_path / f"paid.{suffix}", paid()
    graph = graph.with_values([4, 3, 2, 1]) if weighted else graph
    gasla.io.write(path, graph, "csv" if suffix == "txt" else None)
    asked: Any = {} if suffix in ("parquet", "feather") else {"attributes": ["amount", "hour", "late"]}
    found = gasla.io.read(path, **asked)
    assert found.names.tolist() == graph.names.tolist()
    assert (found.values is not None) == weighted
    for name, column in graph.edge_attributes.items():
        assert found.edge_attributes[name].tolist() == column.tolist()
        assert found.edge_attributes[name].dtype == column.dtype
    some = gasla.io.read(path, src="src", dst="dst", attributes=["hour"])
    assert [*some.edge_attributes] == ["hour"]
    picked = gasla.io.read(path, src="src", dst="dst", weight="amount", attributes=["amount", "hour"])
    assert picked.values is picked.edge_attributes["amount"]


def test_numbered_tables_keep_attributes_and_last_vertices(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    graph = Graph.from_edges([0, 1], [1, 0], n=5).with_edge_attributes(x=[1, 2])
    gasla.io.write(tmp_path / "a.parquet", graph)
    found = gasla.io.read(tmp_path / "a.parquet")
    assert found.n == 5
    assert found.edge_attributes["x"].tolist() == [1, 2]
    with pytest.raises(ValueError, match="'src' has the name of another column"):
        gasla.io.write(tmp_path / "b.parquet", graph.with_edge_attributes(src=[1, 2]))


def test_bad_attributes_have_their_line_and_may_be_skipped(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "paid.csv"
    rows = ["from,to,amount,day,ok", "a,b,5,2026-01-02,true", "b,c,x,2026-01-03,true", "c,a,7,tomorrow,false"]
    path.write_text("\n".join([*rows, "c,d,,2026-01-05,true", "d,a,1,2026-01-06,false"]))
    asked: Any = {"src": "from", "dst": "to", "attributes": ["amount", "day", "ok"]}
    with pytest.raises(gasla.io.FormatError, match="line 3: column 'amount' holds 'x'; expected a number"):
        gasla.io.read(path, **asked)
    with pytest.raises(gasla.io.FormatError, match="line 4: column 'day' holds 'tomorrow'; expected a date"):
        gasla.io.read(path, **asked | {"attributes": ["day", "ok"]})
    with pytest.warns(UserWarning, match="3 bad rows are skipped, the first in line 3"):
        graph = gasla.io.read(path, **asked, on_bad_rows="skip")
    assert graph.edge_attributes["amount"].tolist() == [5, 1]
    assert graph.edge_attributes["ok"].tolist() == [True, False]
    assert graph.edge_attributes["day"].tolist() == [date(2026, 1, 2), date(2026, 1, 6)]
    with pytest.raises(gasla.io.FormatError, match="did you mean 'amount'"):
        gasla.io.read(path, src="from", dst="to", attributes=["amuont"])


@pytest.mark.parametrize("suffix", ["npz", "npz.gz", "gasla"])
@given(edges=edge_lists(), with_values=st.booleans())
@settings(deadline=None, max_examples=15)
def test_archives_and_folders_keep_attributes(
    tmp_path_factory: Any, suffix: str, edges: Any, with_values: bool
) -> None:
    graph = with_columns(*edges)
    graph = graph if with_values else graph.with_values(None)
    path = tmp_path_factory.mktemp("kept") / f"a.{suffix}"
    gasla.io.write(path, graph)
    found = gasla.io.read(path)
    order = graph.sorted_out.numbers()
    assert found.edge_attributes["number"].tolist() == order.tolist()
    assert found.vertex_attributes["number"].tolist() == [*range(graph.n)]
    assert [ends.tolist() for ends in found.edges()] == [ends[order].tolist() for ends in graph.edges()]
    assert (found.values is not None) == with_values
    if with_values:
        assert found.values.tolist() == found.edge_attributes["same"].tolist()
    same = gasla.io.read(path, weight="same")
    assert same.values is same.edge_attributes["same"]
    with pytest.raises(ValueError, match="did you mean 'number'"):
        gasla.io.read(path, weight="numbre")
    if suffix == "gasla":
        same.notice_values()  # mapped columns can't be written to
    else:
        folder = gasla.io.convert(path, path.parent / "b.gasla")
        assert folder.edge_attributes["number"].tolist() == order.tolist()


@pytest.mark.parametrize("suffix", ["mtx", "txt", "gr", "graph", "csv", "parquet"])
def test_what_a_format_would_lose_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    plain = Graph.from_edges([0, 1], [1, 0], [3, 3])
    losses = {"the vertex attribute 'height'": plain.with_vertex_attributes(height=[1, 2])}
    if suffix not in ("csv", "parquet"):
        losses["the edge attribute 'x'"] = plain.with_edge_attributes(x=[1, 2])
        named = Graph.from_csr([0, 1, 2], [1, 0])
        named.naming = Names(np.array(["a", "b"], object))
        losses["the names of vertices"] = named
    for what, graph in losses.items():
        with pytest.raises(ValueError, match=rf"a.{suffix}: .* files can't store {what}; .npz, .*; pass lossy=True"):
            gasla.io.write(path, graph)
        assert not path.exists()
        gasla.io.write(path, graph, lossy=True)
        assert gasla.as_graph(gasla.io.read(path)).m == 2
        path.unlink()
    gasla.io.write(path, plain.with_edge_attributes(y=[3, 3]).weighted_by("y"))  # is stored as the values
    with pytest.raises(TypeError, match="lossy is 'no'"):
        gasla.io.write(path, plain, lossy="no")  # type: ignore[arg-type]


def test_formats_without_attributes_are_as_before(tmp_path: Path) -> None:
    graph = Graph.from_edges([0, 1], [1, 0], [3, 4])
    gasla.io.write(tmp_path / "a.npz", graph)
    gasla.io.write(tmp_path / "a.mtx", graph.with_edge_attributes(x=[1, 2]), lossy=True)
    assert not gasla.io.read(tmp_path / "a.npz").edge_attributes
    assert gasla.io.read(tmp_path / "a.mtx").to_scipy().toarray().tolist() == [[0, 3], [4, 0]]
    with pytest.raises(ValueError, match="'x' is no edge attribute"):
        gasla.io.read(tmp_path / "a.npz", weight="x")


def test_the_command_line_chooses_weights_and_keeps_attributes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    Path("trips.csv").write_text("from,to,hours,price\na,b,1.5,90\nb,c,2,60\na,c,4,300\n")
    asked = ["--columns", "from,to"]
    assert main(["convert", "trips.csv", "trips.gasla", *asked, "--attributes", "hours,3"]) == 0
    assert main(["convert", "trips.csv", "trips.graphml", *asked, "--attributes", "hours,price"]) == 0
    for file in (["trips.csv", *asked], ["trips.gasla"], ["trips.graphml"]):
        for weight, cost in (("hours", 3.5), ("price", 150)):
            assert main(["sssp", *file, "--weight", weight, "--source", "a", "-o", "out.csv"]) == 0
            assert max(float(line.split(",")[1]) for line in Path("out.csv").read_text().split()[1:]) == cost
    capsys.readouterr()
    assert main(["sssp", "trips.gasla", "--weight", "prize", "--source", "a"]) == 2
    assert "did you mean 'price'" in capsys.readouterr().err
    assert main(["sssp", "trips.csv", "--columns", "from,to,hours", "--weight", "price", "--source", "a"]) == 2
    assert "expected one column of weights" in capsys.readouterr().err


@pytest.mark.parametrize("name", [None, 1, ["time"], {}])
def test_a_name_of_an_attribute_is_a_string(name: Any) -> None:
    graph = gasla.Graph.from_edges([0], [1]).with_edge_attributes(time=[1])
    with pytest.raises(TypeError, match=r"attribute is .*; expected the name of an attribute"):
        graph.weighted_by(name)
