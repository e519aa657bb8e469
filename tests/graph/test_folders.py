"""Graphs in folders: written by an external sort, opened by mapping, and used without being read whole."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import io
from gasla.graph.io import edge_tables, files, npz, sorting
from tests.reliability.test_files import room

KINDS = ("f8", "f4", "i8", "i1", "u8", "?")


def plain(graph: gasla.Graph) -> gasla.Graph:
    """The graph in memory that a folder of `graph` stands for: its edges are numbered by rows, targets ascending."""
    lists = graph.sorted_out
    values = None if graph.values is None else lists.by_position(graph.values)
    return gasla.Graph.from_csr(lists.indptr, lists.indices, values)


def assert_same(opened: gasla.Graph, expected: gasla.Graph) -> None:
    """All that a graph answers about its edges is equal."""
    assert (opened.n, opened.m) == (expected.n, expected.m)
    for name in ("out", "in_", "both"):
        ours, theirs = getattr(opened, name), getattr(expected, name)
        assert np.array_equal(ours.indptr, theirs.indptr), name
        assert np.array_equal(ours.indices, theirs.indices), name
        assert np.array_equal(ours.numbers(), theirs.numbers()), name
    for name in ("is_symmetric", "has_self_loops", "has_parallel_edges", "is_simple", "max_out_degree"):
        assert getattr(opened, name) == getattr(expected, name), name
    if expected.values is None:
        assert opened.values is None
        return
    for name in ("values", "out_values", "in_values"):
        assert getattr(opened, name).dtype == getattr(expected, name).dtype
        assert np.array_equal(getattr(opened, name), getattr(expected, name)), name
    assert opened.has_symmetric_values == expected.has_symmetric_values


@st.composite
def graphs(draw: Any) -> gasla.Graph:
    n = draw(st.integers(0, 12))
    m = draw(st.integers(0, 40)) if n else 0
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    src, dst = rng.integers(0, max(n, 1), (2, m))
    kind = draw(st.sampled_from((None, *KINDS)))
    values = None if kind is None else rng.integers(0, draw(st.integers(1, 5)), m).astype(kind)
    graph = gasla.Graph.from_edges(src, dst, values, n=n)
    return graph.symmetrized(semirings.max) if draw(st.booleans()) else graph


@given(graphs(), st.integers(1, 4000))
@settings(max_examples=60)
def test_a_folder_holds_the_graph(tmp_path_factory: Any, graph: gasla.Graph, memory: int) -> None:
    path = tmp_path_factory.mktemp("folders") / "a.gasla"
    sorting.write_folder(path, sorting.parts_of(graph), memory)
    assert_same(io.open(path), plain(graph))


def test_a_folder_without_a_symmetric_pattern_has_both_directions(tmp_path: Path) -> None:
    io.write(tmp_path / "a.gasla", gasla.Graph.from_edges([0, 1], [1, 2]))
    assert (tmp_path / "a.gasla" / "columns-ids.npy").exists()
    io.write(tmp_path / "b.gasla", gasla.Graph.from_edges([0, 1], [1, 0], [5, 5]))
    assert sorted(each.name for each in (tmp_path / "b.gasla").iterdir()) == [
        "graph.json",
        "rows-ids.npy",
        "rows-offsets.npy",
        "rows-values.npy",
    ]


TEXTS = {
    "a.el": "# Nodes: 7 Edges: 3\n0 1\n5 2\n\n# a comment\n1 0\n",
    "a.txt": "0 1 3\n1 2 2.5\n2 0 7\n",
    "b.txt": f"0 1 3\n1 2 {2**63}\n2 0 7\n",
    "c.txt": f"0 1 -3\n1 2 {2**63}\n2 0 7\n",
    "a.mtx": "%%MatrixMarket matrix coordinate integer symmetric\n% no\n3 3 3\n1 1 4\n2 1 5\n3 2 6\n",
    "b.mtx": "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 5\n3 2 6\n",
    "c.mtx": "%%MatrixMarket matrix coordinate pattern general\n4 4 2\n2 1\n3 2\n",
    "a.gr": "c one\np sp 3 2\na 1 2 5\na 3 1 4\n",
    "b.gr": "p tw 3 2\n1 2\n3 1\n",
    "a.graph": "3 2\n2\n1 3\n2\n",
    "a.csv": "from,to,weight\n3,1,5\n0,2,4\n",
    "b.csv": "from,to\nann,bob\nbob,eve\n",
    "c.csv": "# a comment\nfrom; to; weight\n3; 1; 5\n0; 2; 4.5\n",
    "d.csv": "0,1\n\n2,1\n",
    "e.csv": f"from,to,weight\n3,1,5\n0,2,{2**63}\n",
    "f.csv": '"from","to"\n"3","1"\n"4294967296","2"\n',
    "g.csv": "from,to\n3,1\neve,bob\n",
    "h.csv": 'from,to,"a ""note"""\n3,1,"on\ntwo ""lines"""\n1,2,"x"\n',
    "j.csv": '"from","to","of a"place"\n3,1,x\n1,2,y\n',
    "i.csv": "\ufefffrom,to\r\n3,1\r\n\r\n1,2",
    "d.el": "from to weight\n3 1 5\n# no edge\n1 0 -2\n",
    "e.txt": "from\tto\n3\t1\n1\t0\n",
    "f.txt": "3,1,2.5\n1,0,inf\n",
}
IN_PARTS = (
    "a.csv",
    "c.csv",
    "d.csv",
    "e.csv",
    "h.csv",
    "i.csv",
    "j.csv",
    "d.el",
    "e.txt",
    "f.txt",
)  # the tables with numbers


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_converted_file_holds_the_edges_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: int, is_packed: bool
) -> None:
    """By parts of one line, and of all."""
    monkeypatch.setattr(files, "PART", size)
    path = tmp_path / (f"{name}.gz" if is_packed else name)
    path.write_bytes(gzip.compress(TEXTS[name].encode()) if is_packed else TEXTS[name].encode())
    expected, found = gasla.Graph(io.read(path)), io.convert(path, tmp_path / "out.gasla")
    assert np.array_equal(found.to_scipy().toarray() != 0, expected.to_scipy().toarray() != 0)
    if found.values is not None:
        assert found.values.dtype == expected.values.dtype
        assert np.array_equal(found.to_scipy().toarray(), expected.to_scipy().toarray())
    names = None if expected.names is None else expected.names.tolist()
    assert (None if found.names is None else found.names.tolist()) == names


@pytest.mark.parametrize("name", IN_PARTS)
@pytest.mark.parametrize("names", [None, False])
def test_text_tables_are_not_read_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, names: bool | None
) -> None:
    (tmp_path / name).write_text(TEXTS[name])
    expected = gasla.as_graph(io.read(tmp_path / name, names=names))
    monkeypatch.setattr(edge_tables, "read", None)
    monkeypatch.setattr(edge_tables, "_ROWS", 1)
    monkeypatch.setattr(files, "PART", 1)
    found = io.convert(tmp_path / name, tmp_path / "a.gasla", names=names)
    assert_same(found, plain(expected if found.values is not None else expected.with_values(None)))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "a,b\n0,1\n2\n", "line 3: 1 columns"),
        ("a.csv", "a,b,weight\n0,1,5\n1,2,x\n", "line 3: column 'weight' holds 'x'"),
        ("a.csv", "a,b\n0,1\n-1,2\n", "line 3: column 'a' holds '-1'"),
        ("a.csv", "a,b\n0,1\n,2\n", "line 3: column 'a' holds ''"),
        ("a.txt", "0,1\n1,2\n1,2,3\n", "line 3: 3 columns"),
        ("a.csv", "a,b\n0,1\n07,2\n", "with a leading 0"),
        ("a.csv", "a,b\n0,1\n 07,2\n", "with a leading 0"),
    ],
)
def test_bad_rows_of_text_tables_are_refused_with_their_lines(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(io.FormatError, match=said):
        io.convert(tmp_path / name, tmp_path / "a.gasla")
    assert sorted(os.listdir(tmp_path)) == [name]


def test_other_spaces_than_ascii_are_no_part_of_a_number(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n0,1\n \t7 ,2\n", encoding="utf-8")
    assert io.convert(tmp_path / "a.csv", tmp_path / "a.gasla", names=False).n == 8
    (tmp_path / "a.csv").write_text("a,b\n0,1\n\u00a07,2\n", encoding="utf-8")
    for call in (io.read, lambda path, **names: io.convert(path, tmp_path / "b.gasla", **names)):
        with pytest.raises(io.FormatError, match=r"line 3: column 'a' holds '\\xa07'; expected a whole number"):
            call(tmp_path / "a.csv", names=False)


@pytest.mark.parametrize("name", ["a.txt", "b.txt", "a.csv", "a.parquet", "a.feather"])
def test_nine_digit_ids_are_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    """An edge between them would make 10**9 vertices."""
    table = {"src": [100_000_017], "dst": [999_999_999]}
    if name.endswith(("parquet", "feather")):
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet")
        pytest.importorskip("pyarrow.feather")
        write = pa.parquet.write_table if name.endswith("parquet") else pa.feather.write_feather
        write(pa.table(table), tmp_path / name)
    else:
        (tmp_path / name).write_text({"a.txt": "{src[0]} {dst[0]}\n"}.get(name, "{src[0]},{dst[0]}\n").format(**table))
    for call in (io.read, lambda path: io.convert(path, tmp_path / "a.gasla")):
        with pytest.raises(io.FormatError, match=r"ids go up to 999,999,999, and there is one edge; pass names=True"):
            call(tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert io.convert(tmp_path / name, tmp_path / "a.gasla", names=True).n == 2


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.filterwarnings("ignore:Feather V1")
@pytest.mark.parametrize("version", [1, 2])
def test_feather_is_read_by_batches_where_ids_are_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool, version: int
) -> None:
    pa, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    ids = np.array([0, 3, 2, 2**40 if large else 4])
    table = pa.table({"src": ids, "dst": ids[::-1], "weight": [1.5, 2, 3, 4]})
    feather.write_feather(table, tmp_path / "a.feather", version=version, **{"chunksize": 2} if version == 2 else {})
    expected = io.read(tmp_path / "a.feather")
    if not large and version == 2:
        monkeypatch.setattr(edge_tables, "read", None)
    found = io.convert(tmp_path / "a.feather", tmp_path / "a.gasla")
    assert_same(found, plain(expected))
    assert (found.names is not None) == large


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("size", [0, 1, 9])
def test_archives_are_converted_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, compressed: bool, size: int
) -> None:
    rng = np.random.default_rng(size)
    A = scipy.sparse.csr_array(rng.integers(0, 3, (size, size)).astype(np.int16)).asformat(form)
    scipy.sparse.save_npz(tmp_path / "a.npz", A, compressed)
    expected = io.read(tmp_path / "a.npz")
    monkeypatch.setattr(npz, "BLOCK", 5)
    if form != "coo":
        monkeypatch.setattr(npz, "read", None)
    assert_same(io.convert(tmp_path / "a.npz", tmp_path / "a.gasla"), plain(gasla.Graph(expected)))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8, 0.99])
def test_truncated_archives_are_not_converted(tmp_path: Path, share: float) -> None:
    io.write(tmp_path / "a.npz", gasla.datasets.rmat(6))
    whole = (tmp_path / "a.npz").read_bytes()
    for data in (whole[: int(share * len(whole))], whole[:200] + bytes(200) + whole[400:]):
        (tmp_path / "a.npz").write_bytes(data)
        with pytest.raises(io.FormatError, match=r"a\.npz"):
            io.convert(tmp_path / "a.npz", tmp_path / "a.gasla")
        assert os.listdir(tmp_path) == ["a.npz"]


def test_folders_are_converted_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = gasla.Graph.from_edges([0, 1, 2, 2, 0], [1, 2, 0, 3, 1], [1.0, 2, 3, 4, 5])
    for name, array in (("indptr", graph.out.indptr), ("indices", graph.out.indices), ("data", graph.out_values)):
        np.save(tmp_path / f"{name}.npy", array)
    monkeypatch.setattr(sorting, "BLOCK", 2)
    assert_same(io.convert(tmp_path, tmp_path / "a.gasla"), plain(graph))
    assert_same(io.convert(tmp_path / "a.gasla", tmp_path / "b.gasla"), plain(graph))
    columns = gasla.Graph(graph.to_scipy().tocsc())
    io.write(tmp_path / "c.gasla", columns)
    assert_same(io.open(tmp_path / "c.gasla"), plain(graph))


@pytest.mark.parametrize("large", [False, True])
def test_parquet_is_read_by_row_groups_where_ids_are_numbers(tmp_path: Path, large: bool) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ids = np.array([0, 3, 2, 2**40 if large else 4])
    table = pa.table({"src": ids, "dst": ids[::-1], "weight": [1.5, 2, 3, 4]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    expected, found = io.read(tmp_path / "a.parquet"), io.convert(tmp_path / "a.parquet", tmp_path / "a.gasla")
    assert_same(found, plain(expected))
    assert (found.names is not None) == large
    if large:
        assert found.vertex(2**40) == expected.vertex(2**40)


@pytest.mark.parametrize("counts", [[0], [0, 0], [0, 2]])
@pytest.mark.parametrize("names", [None, False])
def test_batches_without_rows_keep_the_vertices(tmp_path: Path, counts: list[int], names: bool | None) -> None:
    ipc, pa = pytest.importorskip("pyarrow.ipc"), pytest.importorskip("pyarrow")
    schema = pa.schema([("src", pa.int64()), ("dst", pa.int64())], {"gasla.vertices": "5", "gasla.version": "1"})
    with ipc.new_file(str(tmp_path / "a.feather"), schema) as file:
        for count in counts:
            file.write_batch(pa.record_batch([pa.array(range(count), pa.int64())] * 2, schema=schema))
    found = io.convert(tmp_path / "a.feather", tmp_path / "a.gasla", names=names)
    assert (found.n, found.m) == (5, sum(counts))


def test_tables_without_rows_are_refused_by_convert_too(tmp_path: Path) -> None:
    ipc, pa = pytest.importorskip("pyarrow.ipc"), pytest.importorskip("pyarrow")
    schema = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    with ipc.new_file(str(tmp_path / "a.feather"), schema) as file:
        file.write_batch(pa.record_batch([pa.array([], pa.int64())] * 2, schema=schema))
    with pytest.raises(io.FormatError, match="the table has no rows"):
        io.convert(tmp_path / "a.feather", tmp_path / "a.gasla", names=False)


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
@pytest.mark.parametrize("kind", ["uint8", "uint32", "uint64", "int16"])
def test_ids_of_any_type_are_converted(tmp_path: Path, suffix: str, kind: str) -> None:
    pa, module = pytest.importorskip("pyarrow"), pytest.importorskip(f"pyarrow.{suffix}")
    table = pa.table({"src": pa.array([0, 1], kind), "dst": pa.array([1, 2], kind)})
    path = tmp_path / f"a.{suffix}"
    (module.write_table if suffix == "parquet" else module.write_feather)(table, path)
    assert_same(io.convert(path, tmp_path / "a.gasla"), plain(io.read(path)))


@pytest.mark.parametrize("rows", [2, 7, 1000])
@pytest.mark.parametrize("weight", [None, "amount", "other"])
def test_parquet_with_attributes_is_read_by_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, weight: str | None
) -> None:
    """The same folder as of the whole graph, whose attributes are in the order of the rows of the matrix."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng, m = np.random.default_rng(rows), 300
    days = np.datetime64("2026-01-01") + rng.integers(0, 900, m)
    columns = {"src": rng.integers(0, 20, m), "dst": rng.integers(0, 20, m), "amount": rng.integers(0, 99, m)}
    columns |= {"day": days, "other": rng.random(m).astype(np.float32), "ok": rng.random(m) < 0.5}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=rows)
    given = {"src": "src", "dst": "dst", "weight": weight, "attributes": ["day", "amount", "ok"]}
    expected = io.read(tmp_path / "a.parquet", **given)
    io.write(tmp_path / "whole.gasla", expected)
    monkeypatch.setattr("gasla.graph.io.edge_tables.read", None)  # the file is not read as a whole
    for memory in (None, 1000):
        found = io.convert(tmp_path / "a.parquet", tmp_path / "parts.gasla", memory=memory, **given)
        assert_same(found, io.open(tmp_path / "whole.gasla"))
        assert found.edge_attributes.types == expected.edge_attributes.types
        assert found.edge_attributes.time_types == expected.edge_attributes.time_types
        for name, column in io.open(tmp_path / "whole.gasla").edge_attributes.items():
            np.testing.assert_array_equal(found.edge_attributes[name], column)
        assert not [*(tmp_path / "parts.gasla").glob("spool*")]
    pq.write_table(pa.table(columns | {"day": [None, *days[1:].tolist()]}), tmp_path / "b.parquet", row_group_size=rows)
    with pytest.raises(io.FormatError, match="row group 0: row 0 of column 'day' is null"):
        io.convert(tmp_path / "b.parquet", tmp_path / "b.gasla", **given)


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    graph = gasla.Graph.from_edges([0, 1, 2, 2, 0], [1, 2, 0, 3, 1], [1.0, 2, 3, 4, 5])
    io.write(tmp_path / "a.gasla", graph)
    return tmp_path / "a.gasla"


ARRAYS = [f"{side}-{part}.npy" for side in ("rows", "columns") for part in ("offsets", "ids", "values")]


@pytest.mark.parametrize("name", [*ARRAYS, "graph.json"])
@pytest.mark.parametrize("share", [0, 0.3, 0.9])
def test_truncated_files_are_refused(folder: Path, name: str, share: float) -> None:
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(io.FormatError, match=r"a\.gasla"):
        io.open(folder)


@pytest.mark.parametrize("name", [*ARRAYS, "graph.json"])
def test_missing_files_are_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(io.FormatError, match=name):
        io.open(folder)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rows-ids.npy", lambda x: np.where(x == 3, 4, x)),
        ("columns-ids.npy", lambda x: np.where(x == 2, -1, x)),
        ("rows-offsets.npy", lambda x: x[::-1].copy()),
        ("rows-offsets.npy", lambda x: x + 1),
        ("rows-ids.npy", lambda x: x.astype(np.float64)),
        ("rows-values.npy", lambda x: x[:-1]),
        ("rows-values.npy", lambda x: x.astype(">f8")),
        ("columns-offsets.npy", lambda x: np.append(x, 5)),
    ],
)
def test_damaged_arrays_are_refused(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    kind = np.load(folder / name).dtype
    changed = change(np.load(folder / name))
    np.save(folder / name, changed.astype(kind) if changed.dtype == np.int64 else changed)
    with pytest.raises(io.FormatError):
        io.open(folder)


@pytest.mark.parametrize(
    "change", [{"version": 3}, {"format": "x"}, {"n": -1}, {"m": "5"}, {"n": True}, {"n": 10**30}, {"has_values": 1}]
)
def test_damaged_descriptions_are_refused(folder: Path, change: dict[str, Any]) -> None:
    about = json.loads((folder / "graph.json").read_text()) | change
    (folder / "graph.json").write_text(json.dumps(about))
    with pytest.raises(io.FormatError, match=r"graph\.json|offsets"):
        io.open(folder)


def test_other_paths_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(io.FormatError, match="does not exist"):
        io.open(tmp_path / "none.gasla")
    with pytest.raises(io.FormatError, match=r"no file graph\.json"):
        io.open(tmp_path)
    (tmp_path / "a.txt").write_text("0 1\n")
    with pytest.raises(ValueError, match=r"ends in \.gasla"):
        io.convert(tmp_path / "a.txt", tmp_path / "b.npz")
    with pytest.raises(ValueError, match="memory is 0"):
        io.convert(tmp_path / "a.txt", tmp_path / "b.gasla", memory=0)
    with pytest.raises(TypeError, match="path is a int"):
        io.open(3)  # type: ignore[arg-type]


CALLS = {
    "bfs": lambda graph: gasla.bfs(graph, 0),
    "sssp": lambda graph: gasla.sssp(graph, 0),
    "pagerank": gasla.pagerank,
    "reversed": lambda graph: gasla.bfs(graph.reversed(), 0),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["rows-ids.npy", "graph.json"])
def test_files_that_change_after_opening_are_noticed(folder: Path, call: str, name: str) -> None:
    graph = io.open(folder)
    CALLS[call](graph)
    with open(folder / name, "r+b") as file:  # the same bytes, written again
        first = file.read(1)
        file.seek(0)
        file.write(first)
    os.utime(folder / name, ns=(0, 0))
    with pytest.raises(RuntimeError, match=f"{name} has changed"):
        CALLS[call](graph)


def test_a_folder_that_is_replaced_is_noticed(folder: Path) -> None:
    graph = io.open(folder)
    io.write(folder, gasla.Graph.from_edges([0], [1]))
    with pytest.raises(RuntimeError, match="has changed"):
        gasla.bfs(graph, 0)
    assert io.open(folder).m == 1


def test_pickles_hold_the_edges_themselves(folder: Path) -> None:
    import pickle

    graph = io.open(folder)
    data = pickle.dumps(graph)
    io.write(folder, gasla.Graph.from_edges([0], [1]))
    assert gasla.bfs(pickle.loads(data), 0).tolist() == [0, 1, 2, 3]


def test_nothing_can_be_written_to_mapped_arrays(folder: Path) -> None:
    graph = io.open(folder)
    for array in (graph.out.indices, graph.in_.indptr, graph.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_full_disk_leaves_what_was_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(each.name for each in folder.parent.iterdir())
    count = 0

    def write(file: Any, array: Any) -> None:
        nonlocal count
        count += 1
        if count == limit:
            raise OSError(errno.ENOSPC, "No space left on device")
        file.write(np.ascontiguousarray(array).view(np.uint8).data)

    monkeypatch.setattr(sorting, "_write", write)
    graph = gasla.Graph.from_edges([0, 1], [1, 0], [1, 2])
    limit = 0
    io.write(folder.with_name("b.gasla"), graph)
    writes = count
    assert writes > 5
    for limit in range(1, writes + 1):  # noqa: B007, which `write` reads
        count = 0
        with pytest.raises(OSError, match="No space left") as caught:
            io.write(folder, graph)
        assert caught.value.filename == str(folder)
        assert io.open(folder).m == 5
        assert sorted(each.name for each in folder.parent.iterdir()) == [*before, "b.gasla"]


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.npz"])
def test_a_limit_on_files_while_converting_is_an_error_that_says_what_to_do(
    tmp_path: Path, name: str, there: bool
) -> None:
    """RLIMIT_FSIZE, as a full disk does, ends a write early."""
    target, source = tmp_path / "b.gasla", tmp_path / name
    graph = gasla.Graph.from_edges(np.arange(2000), np.arange(1, 2001), np.arange(2000))
    io.write(source, graph)
    if there:
        io.write(target, gasla.Graph.from_edges([0], [1]))
    before = sorted(os.listdir(tmp_path))
    for size in (0, 100, 5000, 15_000):
        with pytest.raises(OSError, match="choose a folder on a larger disk") as caught, room(size):
            io.convert(source, target)
        assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(target))
        assert sorted(os.listdir(tmp_path)) == before
        assert not there or io.open(target).m == 1
    assert io.convert(source, target).m == 2000


@pytest.mark.parametrize("n", [10**10, 10**15])
@pytest.mark.parametrize("name", ["a.mtx", "a.gr", "a.txt"])
def test_headers_with_more_vertices_than_memory_are_an_error_with_both_numbers(
    tmp_path: Path, name: str, n: int
) -> None:
    texts = {"a.mtx": f"%%MatrixMarket matrix coordinate pattern general\n{n} {n} 1\n1 2\n"}
    texts |= {"a.gr": f"p sp {n} 1\na 1 2 5\n", "a.txt": f"# Nodes: {n} Edges: 1\n0 1\n"}
    (tmp_path / name).write_text(texts[name])
    for call in (io.read, lambda path: io.convert(path, tmp_path / "a.gasla")):
        with pytest.raises(MemoryError, match=rf"{n:,} vertices .*need {16 * n // 10**9:,}.*[1-9][\d,]+.* available"):
            call(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


def test_other_folders_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.gasla").mkdir()
    (tmp_path / "mine.gasla" / "diary.txt").write_text("dear diary")
    with pytest.raises(FileExistsError, match=r"no file graph\.json"):
        io.write(tmp_path / "mine.gasla", gasla.Graph.from_edges([0], [1]))
    assert (tmp_path / "mine.gasla" / "diary.txt").exists()


# --- memory -----------------------------------------------------------------------------------------------------------

SMALL = {
    "bfs": lambda graph: gasla.bfs(graph, 0, parents=True),
    "sssp": lambda graph: gasla.sssp(graph, 0),
    "pagerank": gasla.pagerank,
    "components": gasla.connected_components,
    "core numbers": gasla.core_number,
}


@pytest.mark.parametrize("name", SMALL)
def test_memory_grows_with_vertices_alone(tmp_path_factory: Any, name: str) -> None:
    """250 edges per vertex: new arrays come to 60 bytes per vertex, not to half a byte per edge."""
    path = tmp_path_factory.getbasetemp() / "dense.gasla"
    if not path.exists():
        rng = np.random.default_rng(1)
        src, dst = rng.integers(0, 4000, (2, 500_000))
        io.write(
            path,
            gasla.Graph.from_edges(src, dst, rng.integers(1, 9, 500_000))
            .symmetrized(semirings.max)
            .simple(semirings.max),
        )
    SMALL[name](io.open(path))  # compiles
    graph = io.open(path)
    tracemalloc.start()
    SMALL[name](graph)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000 + 60 * graph.n < graph.m / 2, peak


def test_sorting_keeps_to_its_memory(tmp_path: Path) -> None:
    def parts() -> Any:
        rng = np.random.default_rng(1)
        for _ in range(20):
            src, dst = rng.integers(0, 5000, (2, 100_000))
            yield files.Part(src, dst, rng.random(100_000), 5000)

    tracemalloc.start()
    sorting.write_folder(tmp_path / "a.gasla", parts(), 4_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000, peak  # 2,000,000 edges of 24 bytes come to 48 MB


CAPPED = """
import resource, sys
from pathlib import Path
from gasla import io

path, allowed = Path(sys.argv[1]), int(sys.argv[2])
for name in (f"small{path.suffix}", path.name):
    if name == path.name:  # modules are imported, threads are there
        with open("/proc/self/status") as status:
            data = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
        resource.setrlimit(resource.RLIMIT_DATA, (data + allowed,) * 2)
    else:
        io.read(path.with_name(name))  # imports what `io.read` below needs
    print(io.convert(path.with_name(name), path.with_name("a.gasla"), memory=2_000_000))
try:
    if path.suffix != ".csv":  # threads of Arrow end the process if they lack memory
        io.read(path)
except MemoryError:
    print("MemoryError")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.thorough
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.mtx", "a.npz", "a.feather", "a.parquet"])
def test_files_are_converted_in_less_memory_than_their_graphs(tmp_path: Path, name: str) -> None:
    """RLIMIT_DATA counts private writable memory; the lists in both directions come to 72 MB, the cap is 40.

    8 MB of these are the stack of a thread, in which pyarrow reads.
    """
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.csv")
    for m, path in ((10_000, tmp_path / f"small{Path(name).suffix}"), (3_000_000, tmp_path / name)):
        src, dst = np.random.default_rng(m).integers(1, 3000, (2, m))
        table = pa.table({"src": src, "dst": dst, "weight": np.arange(m)})
        if name.endswith("npz"):
            scipy.sparse.save_npz(path, gasla.Graph.from_edges(src, dst, np.arange(m), n=3000).to_scipy())
        elif name.endswith("parquet"):
            pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=50_000)
        elif name.endswith("feather"):
            pytest.importorskip("pyarrow.feather").write_feather(table, path)
        else:
            text = io_bytes(pa, table)
            header = {".mtx": f"%%MatrixMarket matrix coordinate integer general\n3000 3000 {m}\n"}
            lines = text if name == "a.csv" else text.partition(b"\n")[2].replace(b",", b" ")
            path.write_bytes(header.get(path.suffix, "").encode() + lines)
    command = [sys.executable, "-c", CAPPED, str(tmp_path / name), "40000000"]
    env = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"}  # another pool maps a GB at once, before the cap
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2], env=env)
    assert done.returncode == 0, done.stderr
    whole = [] if name == "a.csv" else ["MemoryError"]
    assert done.stdout.splitlines()[1:] == ["Graph(n=3000, m=3000000, values=int64)", *whole]


def io_bytes(pa: Any, table: Any) -> bytes:
    """A table as CSV."""
    stream = pa.BufferOutputStream()
    pa.csv.write_csv(table, stream)
    return bytes(stream.getvalue())


def test_the_command_line_converts_and_reads_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from gasla.cli import main

    (tmp_path / "a.txt").write_text("0 1 5\n1 2 3\n")
    assert main(["convert", str(tmp_path / "a.txt"), str(tmp_path / "a.gasla")]) == 0
    assert "3 vertices, 2 edges" in capsys.readouterr().out
    assert main(["sssp", str(tmp_path / "a.gasla"), "--source", "0"]) == 0
