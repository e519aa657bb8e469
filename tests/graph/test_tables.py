"""Tables in and out: columns, names, files, and what is refused; against pandas and NumPy."""

import gzip
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import Graph, io
from gasla.cli import main

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow: pip install 'gasla[arrow]'")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

TRIPS = {"from": ["Oslo", "Rome", "Rome", "Bonn"], "to": ["Rome", "Bonn", "Rome", "Oslo"], "weight": [5, 3, 1, 2]}


def edges(graph: Graph) -> list[tuple[object, ...]]:
    src, dst = graph.to_edge_index()
    ends = (src, dst) if graph.names is None else (graph.names[src], graph.names[dst])
    values = [None] * graph.m if graph.values is None else graph.values.tolist()
    return list(zip(*(side.tolist() for side in ends), values))


def table_of(kind: str, columns: dict[str, list]) -> object:
    if kind == "pyarrow":
        return pa.table(columns)
    return pytest.importorskip(kind).DataFrame(columns)


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars"])
def test_tables_of_every_kind(kind: str) -> None:
    graph = Graph.from_table(table_of(kind, TRIPS), "from", "to", "weight")
    assert graph.names.tolist() == ["Oslo", "Rome", "Bonn"]
    assert edges(graph) == list(zip(*TRIPS.values()))
    assert graph.vertex("Bonn") == 2
    assert edges(Graph.from_table(table_of(kind, TRIPS))) == edges(graph)
    numbers = Graph.from_table(table_of(kind, {"a": [0, 1], "b": [1, 3]}))
    assert numbers.names is None
    assert numbers.n == 4
    assert edges(numbers) == [(0, 1, None), (1, 3, None)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 2), min_size=1), st.booleans())
def test_names_are_numbered_in_the_order_in_which_they_appear(pairs: list[tuple[int, int]], texts: bool) -> None:
    src, dst = ([str(x) if texts else x for x in side] for side in zip(*pairs))
    half = len(src) // 2  # chunks, each with its own dictionary
    table = (
        pa.concat_tables([pa.table({"u": src[:half], "v": dst[:half]}), pa.table({"u": src[half:], "v": dst[half:]})])
        if half
        else pa.table({"u": src, "v": dst})
    )
    graph = Graph.from_table(table, names=True)
    assert graph.names.tolist() == list(dict.fromkeys(src + dst))
    assert [edge[:2] for edge in edges(graph)] == list(zip(src, dst))
    assert [graph.vertex(name) for name in graph.names.tolist()] == list(range(graph.n))


def test_wide_integers_are_names() -> None:
    assert Graph.from_table(pa.table({"u": [2**31 - 1], "v": [0]}), names=True).n == 2
    assert Graph.from_table(pa.table({"u": [2**31], "v": [7]})).names.tolist() == [2**31, 7]
    wide = pa.table({"u": pa.array([2**64 - 1], pa.uint64()), "v": [5]})
    assert Graph.from_table(wide).names.tolist() == [2**64 - 1, 5]
    with pytest.raises(ValueError, match="all within int64 or all within uint64"):
        Graph.from_table(pa.table({"u": pa.array([2**64 - 1], pa.uint64()), "v": [-5]}))


def test_categories_and_small_types() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"u": pd.Categorical(["x", "y", "x"]), "v": ["y", "z", "x"]})
    assert Graph.from_table(frame).names.tolist() == ["x", "y", "z"]
    small = pa.table({"u": pa.array([1, 0], pa.uint8()), "v": pa.array([2, 300], pa.int16()), "w": [True, False]})
    graph = Graph.from_table(small, 0, 1, 2)
    assert (graph.n, graph.values.dtype) == (301, np.dtype(bool))


ENCODED = ["string", "large_string", "string_view"]


@pytest.mark.parametrize("indices", ["int8", "uint32", "int64"])
@pytest.mark.parametrize("kind", ENCODED)
def test_a_dictionary_of_any_type_is_its_values(kind: str, indices: str) -> None:
    def encoded(texts: list[str | None]) -> object:
        known = pa.array(["x", "b", "a", "c"]).cast(kind)
        places = [None if text is None else "xbac".index(text) for text in texts]
        parts = [pa.DictionaryArray.from_arrays(pa.array([i], indices), known) for i in places]
        return pa.chunked_array(parts)

    graph = Graph.from_table(pa.table({"u": encoded(["a", "b"]), "v": pa.array(["b", "c"])}))
    assert edges(graph) == [("a", "b", None), ("b", "c", None)]
    with pytest.raises(ValueError, match="row 1 of column 'u' is null"):
        Graph.from_table(pa.table({"u": encoded(["a", None]), "v": ["b", "c"]}))


def test_a_dictionary_of_numbers_holds_numbers() -> None:
    numbers = pa.array([0.5, 0.25]).dictionary_encode()
    ids = pa.array([7, 5], pa.uint8()).dictionary_encode()
    assert edges(Graph.from_table(pa.table({"u": ids, "v": ids, "weight": numbers}))) == [(7, 7, 0.5), (5, 5, 0.25)]
    with pytest.raises(ValueError, match="column 2, 'w', holds numbers"):
        Graph.from_table(pa.table({"u": ids, "v": ids, "w": numbers}))


def test_categories_of_polars() -> None:
    pl = pytest.importorskip("polars")
    plain = pl.DataFrame({"u": ["a", "b"], "v": ["b", "c"]})
    for kind in (pl.Categorical, pl.Enum(["c", "a", "b"])):
        some = plain.with_columns(pl.all().cast(kind))
        assert edges(Graph.from_table(some)) == edges(Graph.from_table(plain))
        more = pl.concat([some, some.with_columns(pl.lit("c").cast(kind).alias("u"))], rechunk=False)
        assert edges(Graph.from_table(more))[2:] == [("c", "b", None), ("c", "c", None)]


@pytest.mark.parametrize(
    ("columns", "arguments", "error", "message"),
    [
        ({"u": [0, None], "v": [1, 2]}, {}, ValueError, "row 1 of column 'u' is null, one of 1"),
        ({"u": ["a", "b"], "v": ["c", None]}, {}, ValueError, "row 1 of column 'v' is null"),
        ({"u": [0], "v": [1], "weight": [None]}, {}, ValueError, "row 0 of column 'weight' is null"),
        (
            {"u": [0, 4], "v": [1, -3]},
            {},
            ValueError,
            "row 1 of column 'v' holds -3; expected vertex numbers from 0; pass names=True",
        ),
        ({"u": [0], "v": ["a"]}, {}, TypeError, "column 'u' holds int64 and column 'v' holds string"),
        ({"u": [0.5], "v": [1]}, {}, TypeError, "column 'u' holds double; expected integers or strings"),
        ({"u": ["a"], "v": ["b"]}, {"names": False}, TypeError, "because of names=False"),
        ({"u": [0], "v": [1], "weight": ["heavy"]}, {}, TypeError, "column 'weight' holds string; expected numbers"),
        (
            {"u": pa.array([b"a", b"\xff"]).view(pa.string()), "v": ["a", "b"]},
            {},
            ValueError,
            "a name is not valid UTF-8; expected text, or integers",
        ),
        ({"u": [], "v": []}, {}, ValueError, "the table has no rows"),
        ({"u": [0]}, {}, ValueError, "dst is column 1; expected a position, 0 to 0: 'u'"),
        (
            {"u": [0], "v": [1]},
            {"src": "u", "dst": "w"},
            ValueError,
            "dst: column 'w' does not exist; there are 'u', 'v'",
        ),
        ({"u": [0], "v": [1]}, {"src": "u"}, ValueError, "expected both columns, or neither"),
        ({"u": [0], "v": [1]}, {"src": 1.5, "dst": 0}, TypeError, "src is 1.5; expected the name of a column"),
        (
            {"weight": [0], "v": [1]},
            {},
            ValueError,
            "column 'weight' would be both an end of edges and their weight",
        ),
    ],
)
def test_unsupported_input_is_refused(columns: dict, arguments: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Graph.from_table(pa.table(columns), **arguments)


def test_numbers_that_nobody_said_a_word_about_are_not_passed_over(tmp_path) -> None:
    columns = {"minutes": [5, 3], "from": [0, 1], "to": [1, 2]}
    for write, ending in ((parquet.write_table, "parquet"), (feather.write_feather, "feather")):
        write(pa.table(columns), path := tmp_path / f"edges.{ending}")
        with pytest.raises(io.FormatError, match=r"column 0, 'minutes', holds numbers .* src=1 and dst=2 to ignore"):
            io.read(path)
        assert edges(io.read(path, src="from", dst="to")) == [(0, 1, None), (1, 2, None)]
    with pytest.raises(ValueError, match=r"column 0, 'minutes', holds numbers .* pass weight=0"):
        Graph.from_table(pa.table(columns))
    some = pytest.importorskip("pandas").DataFrame({"from": [0, 1, 2], "to": [1, 2, 0], "note": ["a", "b", "c"]})
    assert Graph.from_table(some[some["from"] != 1]).m == 2  # the index, which isn't 0 to n, comes as a column


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError, match=r"table is a ndarray; expected a table with the Arrow PyCapsule stream"):
        Graph.from_table(np.zeros((3, 2)))
    pd = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="a column of mixed types"):
        Graph.from_table(pd.DataFrame({"u": ["x", 1], "v": ["y", "z"]}))
    with pytest.raises(TypeError, match="a column of mixed types, or of a type that pyarrow lacks"):
        Graph.from_table(pd.DataFrame({"u": [0], "v": [1], "weight": [1j]}))


def test_what_is_yet_to_be_collected_is_refused() -> None:
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"table is a LazyFrame; expected .* call its collect\(\) first"):
        Graph.from_table(pl.LazyFrame({"u": [0], "v": [1]}))


@pytest.mark.parametrize("ends", [("Source", "Target"), ("SRC", "DST"), ("From", "to")])
def test_usual_names_of_columns_may_have_capitals(ends: tuple[str, str]) -> None:
    table = pa.table({"Type": ["Directed"] * 2, ends[0]: ["a", "b"], ends[1]: ["b", "c"], "Weight": [2, 3]})
    assert edges(Graph.from_table(table)) == [("a", "b", 2), ("b", "c", 3)]


def test_more_vertices_than_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.cpu.runtime.memory.available", lambda: 1000)
    with pytest.raises(
        MemoryError,
        match="ids go up to 100, and 101 vertices need 1,640 bytes, and 1,000 are available; pass names=True",
    ):
        Graph.from_table(pa.table({"u": [100], "v": [0]}))
    assert Graph.from_table(pa.table({"u": [100], "v": [0]}), names=True).n == 2


def test_names_follow_vertices() -> None:
    graph = Graph.from_table(pa.table(TRIPS))
    assert graph.subgraph([2, 0]).names.tolist() == ["Bonn", "Oslo"]
    assert graph.subgraph(np.array([False, True, True])).names.tolist() == ["Rome", "Bonn"]
    same = [
        graph.reversed(), graph.simple(), graph.symmetrized(semirings.max), graph.select([1, 2]),
        graph.with_values(None), Graph(graph), graph.changed(insert=([0], [2], [9])), pickle.loads(pickle.dumps(graph)),
    ]  # fmt: skip
    assert all(made.names.tolist() == graph.names.tolist() for made in same)
    assert graph.contract([0, 0, 1]).names is None
    assert graph.nbytes > 0


def test_results_by_name() -> None:
    graph = Graph.from_table(pa.table(TRIPS))
    ranks = np.array([0.2, 0.5, 0.3])
    assert graph.named(ranks).to_pydict() == {"vertex": graph.names.tolist(), "value": ranks.tolist()}
    found = graph.named(gasla.bfs(graph, graph.vertex("Rome")), rank=ranks)
    assert found.column_names[0] == "vertex"
    assert found.column_names[-1] == "rank"
    assert found.num_rows == 3
    assert Graph.from_edges([0], [1]).named(x=[1, 2]).to_pydict() == {"vertex": [0, 1], "x": [1, 2]}

    class Two(gasla.VertexProgram):
        rank = gasla.vertex(np.float64, init=1)
        many = gasla.vertex((np.float64, (2,)))  # which is no column

    left = gasla.run(Two, graph, max_iterations=0, compile=False)
    assert graph.named(left).to_pydict() == {"vertex": graph.names.tolist(), "rank": [1.0, 1.0, 1.0]}
    with pytest.raises(ValueError, match=r"x has shape \(2,\); expected \(3,\)"):
        graph.named(x=[1, 2])
    with pytest.raises(ValueError, match="two columns are named 'value'"):
        graph.named(ranks, ranks)
    for name in ("Paris", [1]):
        with pytest.raises(ValueError, match="no vertex is named"):
            graph.vertex(name)
    with pytest.raises(ValueError, match="numbers from 0 to 1"):
        Graph.from_edges([0], [1]).vertex(2)


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather", ".arrow", ".csv.gz", ".csv.xz"])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_conversion_there_and_back_keeps_the_graph(tmp_path, ending: str, named: bool, weighted: bool) -> None:
    columns = dict(TRIPS) if named else {"src": [3, 0, 0], "dst": [1, 0, 2], "weight": [0.1, 2.5, 3.25]}
    if not weighted:
        del columns["weight"]
    graph = Graph.from_table(pa.table(columns))
    path = tmp_path / f"graph{ending}"
    io.write(path, graph)
    assert edges(io.read(path)) == edges(graph)
    assert io.read(path).n == graph.n


IDS = {  # of three vertices, by what is special about them
    "small": [5, 9, 2],
    "wide": [2**31, 2**53 + 1, 3],
    "unsigned": [2**63 + 5, 2**64 - 1, 0],
    "negative": [-5, 2**40, 3],
    "text": ["a,b", 'q"uote', "é \n"],
    "dates": ["2020-01-01", "2020-01-02", "2020-01-03"],
    "booleans": ["true", "false", "NA"],
    "zeros": ["007", "7", "1.5"],
}
TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather"])
@pytest.mark.parametrize("ids", IDS)
def test_names_come_back(tmp_path, ids: str, ending: str) -> None:
    a, b, c = IDS[ids]
    kind = pa.uint64() if ids == "unsigned" else None
    ends = (pa.array(side, kind) for side in ([a, b, a, c], [b, c, b, c]))
    graph = Graph.from_table(pa.table(dict(zip("uv", ends), weight=[0.5, 1, 2, 3])), names=True)
    path = tmp_path / f"graph{ending}"
    io.write(path, graph)
    back = io.read(path, names=True if ending == ".csv" and ids in ("small", "zeros") else None)
    found = [tuple(map(str, edge)) for edge in edges(back)] if ids == "small" else edges(back)
    assert found == ([tuple(map(str, edge)) for edge in edges(graph)] if ids == "small" else edges(graph))
    assert back.n == 3


def spread(kind: str) -> np.ndarray:
    """Values of a type from end to end."""
    one = np.dtype(kind)
    if one.kind == "b":
        return np.array([True, False, True, True, False])
    if one.kind in "iu":
        info = np.iinfo(one)
        return np.array([info.min, info.max, 0, 1, info.max // 2], one)
    about = np.finfo(one)
    return np.array([about.max, about.smallest_subnormal, 0.1, -2.5, 2.0**40], one)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather", ".mtx", ".txt", ".wel", ".tsv", ".gr", ".npz"])
def test_values_of_every_type_come_back(tmp_path, ending: str, kind: str) -> None:
    """Loops and parallel edges beside each other, of one value; and no digit is lost."""
    values = spread(kind)
    graph = Graph.from_edges([3, 0, 1, 2, 0], [1, 2, 1, 0, 2], values[[0, 1, 2, 3, 1]])
    more = Graph.from_edges([3, 0, 1, 2], [1, 2, 1, 0], values[[4, 1, 3, 0]])
    for one in (graph, more):
        path = tmp_path / f"graph{ending}"
        io.write(path, one)
        back = gasla.as_graph(io.read(path))
        assert back.n == 4
        assert sorted(edges(back)) == sorted(edges(one))


@pytest.mark.parametrize("kind", TYPES)
def test_metis_holds_whole_numbers_of_64_bits(tmp_path, kind: str) -> None:
    values = np.sort(spread(kind))[[0, -1]]
    graph = Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], np.repeat(values, 2))
    path = tmp_path / "graph.metis"
    if kind in ("u8", "f4", "f8"):
        with pytest.raises(ValueError, match="the graph has weights"):
            io.write(path, graph)
    else:
        io.write(path, graph)
        assert sorted(edges(gasla.as_graph(io.read(path)))) == sorted(edges(graph))


def test_a_matrix_of_unsigned_values_says_so_only_where_it_must(tmp_path) -> None:
    for largest, field in ((2**63 - 1, "integer"), (2**63, "unsigned-integer")):
        graph = Graph.from_edges([0, 1], [1, 0], np.array([largest, 2], np.uint64))
        io.write(tmp_path / "graph.mtx", graph)
        assert (tmp_path / "graph.mtx").read_text().split()[3] == field


def test_vertices_without_edges_are_not_lost(tmp_path) -> None:
    graph = Graph.from_edges([0, 1], [1, 0], n=7)
    for ending in (".parquet", ".feather"):
        io.write(tmp_path / f"graph{ending}", graph)
        assert io.read(tmp_path / f"graph{ending}").n == 7
    with pytest.raises(ValueError, match="a csv file stores only edges, and vertex 6 has none"):
        io.write(tmp_path / "graph.csv", graph)
    assert not (tmp_path / "graph.csv").exists()
    some = Graph.from_table(pa.table(TRIPS)).select([0])
    with pytest.raises(ValueError, match="vertex 2 has none"):
        io.write(tmp_path / "names.parquet", some)


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("0,1\n1,2\n", {}, [(0, 1, None), (1, 2, None)]),
        ("0,1,5\n1,2,6\n", {}, [(0, 1, 5), (1, 2, 6)]),
        ("0,1,5,x\n1,2,6,y\n", {"src": 0, "dst": 1}, [(0, 1, None), (1, 2, None)]),
        ("u,v,note\n0,1,x\n", {}, [(0, 1, None)]),
        ("u,v,minutes\n0,1,5\n", {"weight": "minutes"}, [(0, 1, 5)]),
        ("u,v,minutes\n0,1,5\n", {"src": "u", "dst": "v"}, [(0, 1, None)]),
        ("0,1,5,x\n1,2,6,y\n", {"src": 1, "dst": 0, "weight": 2}, [(1, 0, 5), (2, 1, 6)]),
        ("u,v\n0,1\n", {}, [(0, 1, None)]),
        ("weight,target,source\n7,1,0\n", {}, [(0, 1, 7)]),
        ("source,target\nann,bob\n", {}, [("ann", "bob", None)]),
        ("ann,bob\nbob,cid\n", {"src": 0, "dst": 1}, [("ann", "bob", None), ("bob", "cid", None)]),
        ("ann,bob\nbob,cid\n", {"src": "ann", "dst": "bob"}, [("bob", "cid", None)]),
        ("ann,bob,3\n", {}, [("ann", "bob", 3)]),
        ("source,target\nNA,nan\nnan,bob\n", {}, [("NA", "nan", None), ("nan", "bob", None)]),
        ("source,target\n2020-01-01,2020-01-02\n", {}, [("2020-01-01", "2020-01-02", None)]),
        ("source,target\ntrue,false\n", {}, [("true", "false", None)]),
        ("source,target\n007,7\n", {"names": True}, [("007", "7", None)]),
        ("source,target\n007,7\n", {"names": False}, [(7, 7, None)]),
        ("source,target\n0,1\n", {"names": False}, [(0, 1, None)]),
        ("source,target,weight\n0,10,05\n", {}, [(0, 10, 5)]),
        ("source,target\n1,a\n", {"names": True}, [("1", "a", None)]),
        ('source,target\n"a, b","c ""d"""\n', {}, [("a, b", 'c "d"', None)]),
        ("source,target\nOrléans,Köln\n", {}, [("Orléans", "Köln", None)]),
        ("\ufeffsource,target\n0,1\n", {}, [(0, 1, None)]),
        ("source,target\r\n0,1\r\n", {}, [(0, 1, None)]),
        ("source,target,weight\n0,1,nan\n0,1,inf\n", {}, None),
    ],
)
def test_csv_files_are_read_as_tables(tmp_path, text: str, arguments: dict, expected: list | None) -> None:
    path = tmp_path / "edges.csv"
    path.write_text(text, encoding="utf-8")
    graph = io.read(path, **arguments)
    if expected is None:
        np.testing.assert_array_equal(graph.values, [np.nan, np.inf])
    else:
        assert edges(graph) == expected


@pytest.mark.parametrize(
    ("text", "arguments", "line", "message"),
    [
        ("u,v\n0,1\n2\n", {}, 3, "1 columns; expected 2"),
        ("u,v\n0,1\n2,3,4\n", {}, 3, "3 columns; expected 2"),
        ("u,v\n0,1\n2,x\n", {}, 3, "column 'v' holds 'x'; expected a whole number from 0"),
        ("u,v\n0,1\n2,\n", {}, 3, "column 'v' holds ''"),
        ("u,v\n0,1\n-2,1\n", {}, 3, "column 'u' holds '-2'"),
        ("u,v\n0,1\n1.5,1\n", {}, 3, "column 'u' holds '1.5'"),
        ("u,v\n0,1\n123456789012345678901,1\n", {}, 3, "column 'u' holds '123456789012345678901'"),
        ("u,v\n1.5,1\n2.5,1\n", {}, 2, "column 'u' holds '1.5'; expected a whole number .* names=True"),
        ("u,v\n1,2\n3,4\n", {"src": 0, "dst": 0}, None, "src and dst are both column 0, 'u'"),
        ("0 1\n1 2\n", {}, 1, "'0 1' is one column with separator .* pass separator=' ' for spaces"),
        ("0 1\n1 2\n", {"src": 0, "dst": 1}, 1, "'0 1' is one column with separator .* pass separator=' ' for spaces"),
        ("u,v,weight\n0,1,1\n0,1,NA\n", {}, 3, "column 'weight' holds 'NA'; expected a number"),
        ("u,v,weight\n0,1,1\n0,1,\n", {}, 3, "column 'weight' holds ''"),
        ("source,target\na,b\n,c\n", {}, 3, "column 'source' holds ''; expected a name"),
        ("source,target\na,b\n,c\n", {"names": True}, 3, "column 'source' holds ''; expected a name"),
        ("", {}, 1, "the file is empty"),
        ("u,v\n7,0\n1,007\n", {}, None, "'v' holds '007', .* names=True if that is another vertex than 7, names=False"),
        ("u,v\n7,0\n1, 007\t\n", {}, None, "'v' holds '007', .* names=True if that is another vertex than 7"),
        ("002 ,7000000003\n", {}, None, "'src' holds '002', .* names=True if that is another vertex than 2"),
        ("u,v\n7,0\n1,0x1F\n", {}, None, "'v' holds '0x1F', .* names=True if that is another vertex than 31"),
        (
            "0,1,5,x\n1,2,6,y\n",
            {},
            None,
            "nothing says which two columns are the ends .* 2 'column 2', 3 'column 3'; pass src= and dst=",
        ),
        ("from,to,minutes\n0,1,5\n", {}, None, "column 2, 'minutes', holds numbers .* pass weight=2"),
        ("ann,bob\nbob,cid\n", {}, 1, "'ann,bob' may be a header or an edge"),
        ("u,v\n", {"src": "u", "dst": "v"}, None, "the table has no rows"),
        ('src,dst,"we\n0,1,2\n1,0,3\n', {}, 1, "the title 'we.*' has a line break; .* is a quote not closed"),
        ('"s\nt",dst,weight\n0,1,2\n', {"src": 0, "dst": "dst"}, 1, "has a line break"),
        ("u,v\n0,1\n", {"src": "u", "dst": "w"}, None, "column 'w' does not exist; there are 'u', 'v'"),
    ],
)
def test_bad_csv_is_refused(tmp_path, text: str, arguments: dict, line: int | None, message: str) -> None:
    path = tmp_path / "edges.csv"
    path.write_text(text)
    with pytest.raises(io.FormatError, match=message) as caught:
        io.read(path, **arguments)
    assert caught.value.line == line


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv.gz", ".parquet.gz"])
def test_damaged_files_are_refused(tmp_path, ending: str) -> None:
    path = tmp_path / f"edges{ending}"
    io.write(path, Graph.from_table(pa.table(TRIPS)))
    whole = path.read_bytes()
    for bad in (b"", whole[: len(whole) // 2], b"no such thing", gzip.compress(b"nothing")):
        path.write_bytes(bad)
        with pytest.raises(io.FormatError, match="edges"):
            io.read(path)
    with pytest.raises(FileNotFoundError):
        io.read(tmp_path / f"none{ending}")


@pytest.mark.parametrize("read", [io.read, lambda path: io.convert(path, path.with_suffix(".gasla"))])
@pytest.mark.parametrize("damaged", [("src", "dst"), ("weight",)])
def test_indices_outside_a_dictionary_are_refused(tmp_path, read: Callable[[Path], object], damaged: tuple) -> None:
    path, texts = tmp_path / "edges.parquet", pa.array(["1", "2"]).dictionary_encode()
    columns = {"src": [0, 1], "dst": [1, 0], "weight": [1.5, 2.5]} | dict.fromkeys(damaged, texts)
    parquet.write_table(pa.table(columns), path, 1, compression="none", use_dictionary=[*damaged])
    content = path.read_bytes()
    # a page of one value: lengths of the levels and of the indices, then a run of one index, which becomes 64
    changed = content.replace(b"\2\0\0\0\2\1\1\2\0", b"\2\0\0\0\2\1\1\2\x40")
    assert changed != content
    path.write_bytes(changed)
    with pytest.raises(io.FormatError, match=r"is damaged .* out of bounds: 64"):
        read(path)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather"])
@pytest.mark.parametrize("read", [io.read, lambda path: io.convert(path, path.with_suffix(".gasla"))])
def test_columns_of_one_title_are_refused(tmp_path, ending: str, read: Callable[[Path], object]) -> None:
    path = tmp_path / f"edges{ending}"
    table = pa.Table.from_arrays([pa.array([0, 1]), pa.array([1, 2])], names=["a", "a"])
    save = {
        ".csv": lambda table, path: Path(path).write_text("a,a\n0,1\n1,2\n"),
        ".parquet": parquet.write_table,
        ".feather": feather.write_feather,
    }[ending]
    save(table, str(path))
    with pytest.raises(io.FormatError, match="2 columns are called 'a'; expected different titles"):
        read(path)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather"])
def test_files_larger_than_memory(tmp_path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"edges{ending}"
    io.write(path, Graph.from_table(pa.table(TRIPS)))
    monkeypatch.setattr("gasla.cpu.runtime.memory.available", lambda: 10)
    with pytest.raises(MemoryError, match=r"needs at least [0-9,]+ bytes, and 10 are available; read part"):
        io.read(path)


def test_columns_are_of_tables(tmp_path) -> None:
    (tmp_path / "edges.gr").write_text("p sp 2 1\na 1 2 3\n")
    with pytest.raises(ValueError, match="src, dst, weight, attributes, names and bipartite are for tables"):
        io.read(tmp_path / "edges.gr", src=0, dst=1)
    for arguments in ({"separator": ";"}, {"on_bad_rows": "skip"}):
        with pytest.raises(ValueError, match="separator and on_bad_rows are for CSV files and edge lists"):
            io.read(tmp_path / "edges.gr", **arguments)
    with pytest.raises(ValueError, match="is not a regular file"):
        io.read(tmp_path, format="csv")


def test_a_comment_may_end_in_a_carriage_return(tmp_path) -> None:
    (tmp_path / "a.csv").write_bytes(b"# said\rsrc,dst\r\n2,1\r\n")
    for graph in (io.read(tmp_path / "a.csv"), io.convert(tmp_path / "a.csv", tmp_path / "a.gasla")):
        assert [ends.tolist() for ends in graph.edges()] == [[2], [1]]


# --- the command line -----------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_command_line_keeps_names(
    tmp_path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    io.write("trips.parquet", Graph.from_table(pa.table(TRIPS)))
    assert main(["convert", "trips.parquet", "graph.mtx", "--names", "names.csv"]) == 0
    assert io.read("graph.mtx").m == 4
    assert (tmp_path / "names.csv").read_text() == "vertex,name\n0,Oslo\n1,Rome\n2,Bonn\n"
    assert main(["convert", "trips.parquet", "graph.mtx"]) == 2
    said = "graph.mtx can't store the names of vertices of trips.parquet; add --names FILE.csv for names, or --lossy"
    assert said in capsys.readouterr().err
    assert main(["convert", "trips.parquet", "graph.npz"]) == 0
    assert io.read("graph.npz").names.tolist() == ["Oslo", "Rome", "Bonn"]
    assert main(["convert", "graph.npz", "numbers.mtx", "--lossy"]) == 0
    assert main(["convert", "numbers.mtx", "numbers.csv"]) == 0
    assert main(["convert", "numbers.csv", "x.npz", "--names", "names.csv"]) == 2
    assert main(["bfs", "trips.parquet", "--source", "Rome", "--output", "levels.csv", "--check"]) == 0
    assert "Oslo" in (tmp_path / "levels.csv").read_text()
    assert main(["bfs", "trips.parquet", "--source", "Paris"]) == 2
    assert "no vertex is named 'Paris'" in capsys.readouterr().err
    assert main(["bfs", "trips.parquet", "--columns", "1,0", "--source", "Rome", "--output", "levels.parquet"]) == 0
    assert parquet.read_table("levels.parquet").column("name").to_pylist() == ["Rome", "Bonn", "Oslo"]
    assert main(["info", "trips.parquet", "--columns", "src"]) == 2
    assert main(["info", "numbers.csv"]) == 0
