"""Graphs over ranks from files and from Dask's collections are the graph of the same edges in one process."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import distributed
from gasla.distributed.engine.partition import Edges
from gasla.distributed.loading import file_shares as files
from gasla.distributed.loading.edge_numbering import Piece, number_edges, take_share
from gasla.distributed.loading.file_shares import Columns, Unit, list_files, read_share
from gasla.graph.exchange.vertex_names import Names
from gasla.graph.io import FormatError
from gasla.graph.io.edges import read_part
from tests.helpers.programs import Hops

N, M = 40, 300


def levels(graph: Any) -> np.ndarray:
    """The numbers of hops from vertex 3, with nothing compiled."""
    return np.asarray(gasla.run(Hops, graph, active=[3], hops={3: 0}, compile=False).hops)


@pytest.fixture(scope="module")
def edges() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(7)
    src, dst = drawn.integers(0, N - 1, (2, M))
    return src, dst, drawn.integers(1, 100, M)


def write(folder: Path, kind: str, edges: tuple[np.ndarray, ...], files: int = 4) -> str:
    """The edges in several files; the pattern that they are like."""
    for i, part in enumerate(np.array_split(np.arange(len(edges[0])), files)):
        rows = list(zip(*(column[part].tolist() for column in edges), strict=True))
        text = "".join(" ".join(map(str, row)) + "\n" for row in rows)
        if kind == "txt":
            (folder / f"{i}.txt").write_text("# a comment\n" + text)
        elif kind == "gz":
            (folder / f"{i}.txt.gz").write_bytes(gzip.compress(text.encode()))
        elif kind == "csv":
            (folder / f"{i}.csv").write_text("src,dst,km\n" + text.replace(" ", ","))
        else:
            pa = pytest.importorskip("pyarrow")
            names = ["src", "dst", "km"][: len(edges)]
            table = pa.table({name: column[part] for name, column in zip(names, edges, strict=True)})
            if kind == "parquet":
                pytest.importorskip("pyarrow.parquet").write_table(table, folder / f"{i}.parquet", row_group_size=17)
            else:
                pytest.importorskip("pyarrow.feather").write_feather(table, folder / f"{i}.feather")
    return f"{folder}/*"


def shares(size: int, *arguments: Any) -> tuple[int, Edges]:
    """What ranks read together: how many vertices, and all edges in the order of their places."""
    with distributed.Cluster(threads=size) as cluster:
        counts = cluster.each(read_share, "share", *arguments)
        parts = cluster.each(take_share, "share")
    assert len(set(counts)) == 1
    if parts[0].values is not None:
        assert len({part.values.dtype for part in parts}) == 1
    columns = [np.concatenate(column) for column in zip(*(part.columns() for part in parts), strict=True)]
    together = Edges(*columns[:3], columns[3] if len(columns) == 4 else None)
    together = together.taken(np.argsort(together.ids))
    assert np.array_equal(together.ids, np.arange(len(together.ids)))
    return counts[0], together


@pytest.mark.parametrize("kind", ["txt", "gz", "csv", "parquet", "feather"])
@pytest.mark.parametrize("size", [1, 3, 6])
def test_files_are_read_in_shares(
    kind: str, size: int, tmp_path: Path, edges: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "RANGE", 101)
    pattern = write(tmp_path, kind, edges)
    columns = Columns(None, None, None) if kind in ("txt", "gz") else Columns("src", "dst", "km")
    n, found = shares(size, pattern, None, columns, None)
    assert n == 1 + max(edges[0].max(), edges[1].max())
    for column, wanted in zip((found.src, found.dst, found.values), edges, strict=True):
        assert np.array_equal(column, wanted)
    assert found.values is not None and found.values.dtype == np.int64


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["0 1", "12 3", "7 7", "", "# Nodes: 9", "100000 2"]), max_size=12), st.integers(1, 40))
def test_ranges_of_bytes_have_every_line_once(lines: list[str], step: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "edges.txt")
        for text in ("\n".join(["5 6", *lines]), "\n".join(["5 6", *lines]) + "\n"):
            path.write_text(text)
            parts = [read_part(path, start, start + step)[:2] for start in range(0, len(text), step)]
            wanted = [tuple(map(int, line.split())) for line in ["5 6", *lines] if line and line[0] != "#"]
            assert [pair for src, dst in parts for pair in zip(src.tolist(), dst.tolist(), strict=True)] == wanted


def test_matrices_are_read_in_shares(tmp_path: Path) -> None:
    for i in range(2):
        A = sp.random_array((5 + i, 5 + i), density=0.3, rng=i, format="csr")
        sp.save_npz(tmp_path / f"{i}.npz", A)
    n, found = shares(2, f"{tmp_path}/*.npz", None, Columns(None, None, None), None)
    graphs = [gasla.Graph(sp.load_npz(tmp_path / f"{i}.npz")) for i in range(2)]
    assert n == 6 and np.array_equal(found.src, np.concatenate([g.edges()[0] for g in graphs]))
    assert np.array_equal(found.values, np.concatenate([g.values for g in graphs]))  # type: ignore[arg-type]


def test_files_with_names_are_refused(tmp_path: Path) -> None:
    """Vertex 0 of one file and vertex 0 of another may have different names."""
    for i, names in enumerate((["Oslo", "Rome"], ["Rome", "Bonn"])):
        graph = gasla.Graph.from_edges([0], [1])
        graph.naming = Names(np.array(names, object))
        gasla.io.write(tmp_path / f"{i}.npz", graph)
    with pytest.raises(FormatError, match=r"\d\.npz: vertices have names, and ranks number no names"):
        shares(2, f"{tmp_path}/*.npz", None, Columns(None, None, None), None)


def test_a_graph_from_files(tmp_path: Path, edges: Any) -> None:
    pattern = write(tmp_path, "txt", edges)
    one = gasla.Graph.from_edges(*edges, n=N)
    with distributed.Cluster(threads=2):
        g = distributed.Graph.from_files(pattern, n=N)
        assert (g.n, g.m) == (one.n, one.m)
        assert np.array_equal(levels(g), levels(one))
        with pytest.raises(ValueError, match="ids below n = 5"):
            distributed.Graph.from_files(pattern, n=5)
    with pytest.raises(RuntimeError, match="no cluster is open"):
        distributed.Graph.from_files(pattern)


def test_a_broken_file_is_an_error_on_all_ranks(tmp_path: Path, edges: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One rank finds them broken; all hear of it, and the error is that of the file."""
    monkeypatch.setattr(files, "RANGE", 101)
    pattern = write(tmp_path, "txt", edges)
    none = Columns(None, None, None)
    (tmp_path / "2.txt").write_text("0 1 2\n0 x 3\n")
    with pytest.raises(FormatError, match=r"2\.txt, line 2: vertex 'x'") as caught:
        shares(3, pattern, None, none, None)
    assert "of 3 on" in caught.value.__notes__[0]
    (tmp_path / "2.txt").write_text("0 1\n")
    with pytest.raises(ValueError, match=r"has weights and .*2\.txt has none"):
        shares(3, pattern, None, none, None)
    (tmp_path / "2.txt").write_text("0 -1 3\n")
    with pytest.raises(FormatError, match="whole number from 0"):
        shares(3, pattern, None, none, None)
    (tmp_path / "2.txt").write_text("# nothing\n")
    shares(3, pattern, None, none, None)
    (tmp_path / "2.txt").write_text("")
    with pytest.raises(FormatError, match="the file is empty"):
        shares(3, pattern, None, none, None)
    (tmp_path / "2.txt").write_text("# Nodes: 50 Edges: 4\n" + "1 2 3\n" * 3)
    with pytest.raises(FormatError, match=r"the header says 4 edges, and 3 follow"):
        shares(3, pattern, None, none, None)
    (tmp_path / "2.txt").write_text("# Nodes: 50 Edges: 3\n" + "1 2 3\n" * 3)
    assert shares(3, pattern, None, none, None)[0] == 50
    (tmp_path / "9.parquet").write_text("no Parquet")
    with pytest.raises((FormatError, ImportError), match=r"9\.parquet|pyarrow"):
        shares(2, f"{tmp_path}/9.parquet", None, none, None)
    for wrong in (f"{tmp_path}/nothing*", str(tmp_path), [], [tmp_path / "no.txt"]):
        with pytest.raises(FileNotFoundError, match=r"no file|folder|does not exist|paths is empty"):
            shares(2, wrong, None, none, None)
    with pytest.raises(ValueError, match="are for tables"):
        shares(2, pattern, "edges", Columns("a", "b", None), None)
    with pytest.raises(ValueError, match="unknown file name suffix"):
        shares(2, [__file__], None, none, None)


def test_shares_are_balanced() -> None:
    class Two:
        size = 2

    units = [Unit("", 0, -1, size) for size in (10, 10, 10, 90, 10)]
    found = []
    for Two.rank in range(2):
        found.append(files._own(Two, units))  # type: ignore[arg-type]
    assert found == [(0, 3), (3, 5)]
    assert list_files(__file__) == [__file__]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), max_size=8))
def test_pieces_may_be_anywhere(placed: list[tuple[int, int]]) -> None:
    """Each edge gets its place in the input, wherever its piece is."""

    def work(rank: Any) -> tuple[int, Edges]:
        own = [
            Piece(number, "here", np.full(length, number), np.arange(length), None, 0)
            for number, (there, length) in enumerate(placed)
            if there == rank.communicator.rank
        ]
        return number_edges(rank, "share", reversed(own), None), take_share(rank, "share")

    with distributed.Cluster(threads=3) as cluster:
        found = cluster.each(work)
    lengths = [length for _, length in placed]
    src, dst, ids = (np.concatenate([getattr(share, name) for _, share in found]) for name in ("src", "dst", "ids"))
    order = np.argsort(ids)
    assert np.array_equal(src[order], np.repeat(np.arange(len(placed)), lengths))
    assert np.array_equal(dst[order], np.concatenate([np.zeros(0, int), *map(np.arange, lengths)]))
    used = [max(number, length - 1) for number, (_, length) in enumerate(placed) if length]
    assert {n for n, _ in found} == {max(used, default=-1) + 1}


# --- Dask's collections ----------------------------------------------------------------------------------------------


def test_dataframes_and_arrays(edges: Any) -> None:
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    da = pytest.importorskip("dask.array")
    one = gasla.Graph.from_edges(*edges, n=N)
    frame = pd.DataFrame({"km": edges[2], "src": edges[0], "dst": edges[1]})
    pairs = da.from_array(np.stack(edges[:2], axis=1), chunks=(70, 1))
    with distributed.Cluster(threads=3):
        for parts in (1, 7):
            table = dd.from_pandas(frame, npartitions=parts, sort=False)
            for some in (table, table[table.km > 0]):
                g = distributed.Graph(some, weight="km", n=N)
                assert (g.n, g.m, g.value_range) == (N, M, (edges[2].min(), edges[2].max()))
                assert np.array_equal(levels(g), levels(one))
        g = distributed.Graph(pairs)
        assert g.m == M and np.array_equal(levels(g), levels(one)[: g.n])
        assert distributed.Graph(table[table.km < 0], weight="km").n == 0
        with pytest.raises(ValueError, match="column 'a' does not exist"):
            distributed.Graph(table, src="a", dst="dst")
        with pytest.raises(TypeError, match="columns have no names"):
            distributed.Graph(pairs, src="a", dst="b")
        with pytest.raises(ValueError, match=r"expected \(m, 2\)"):
            distributed.Graph(pairs.T)
        with pytest.raises(TypeError, match="expected integers"):
            distributed.Graph(pairs.astype(float))
        with pytest.raises(ValueError, match="vertex -1"):
            distributed.Graph(-pairs - 1 + pairs)
        with pytest.raises(TypeError, match="expected a Dask dataframe"):
            distributed.Graph(one, n=3)
        names = dd.from_pandas(pd.DataFrame({"src": ["a", "b"], "dst": ["b", "c"]}), npartitions=1)
        with pytest.raises(TypeError, match="partition 0: column 'src' holds strings"):
            distributed.Graph(names)


def test_format_errors_travel() -> None:
    import pickle

    error = FormatError(Path("a.txt"), 3, "no good")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.path, again.line) == (str(error), error.path, 3)
