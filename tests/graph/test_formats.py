"""The table of formats, and what each door says about directions, vertices and what it leaves out."""

import itertools
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from gasla import Graph, datasets, io
from gasla.cli import main
from gasla.graph.io.formats import FORMATS

pa = pytest.importorskip("pyarrow")


def edges(graph: Graph) -> list[tuple[Any, ...]]:
    src, dst = (end if graph.names is None else graph.names[end] for end in graph.edges())
    values = [None] * graph.m if graph.values is None else graph.values.tolist()
    return [*zip(src.tolist(), dst.tolist(), values)]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# --- one table ------------------------------------------------------------------------------------------------------


def test_the_reference_errors_and_the_command_line_follow_from_the_table(tmp_path, capsys) -> None:
    suffixes = [suffix for row in FORMATS.values() for suffix in row.suffixes]
    assert len({*suffixes}) == len(suffixes)
    assert io.__doc__ is not None
    for row in FORMATS.values():
        assert f'``"{row.name}"``' in io.__doc__ and row.content in io.__doc__
        for suffix in row.suffixes:
            assert io.format_of(f"a{suffix}") == row.name == io.format_of(f"a{suffix.upper()}.gz")
        if not row.is_written:
            with pytest.raises(ValueError, match=f"gasla reads {row.name} files, and doesn't write them"):
                io.write(tmp_path / "a.txt", datasets.grid(4), format=row.name)
    with pytest.raises(ValueError, match="unknown file name suffix") as error:
        io.read(tmp_path / "a.unknown")
    assert all(suffix in str(error.value) for suffix in suffixes)
    with pytest.raises(SystemExit):
        main(["info", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert ", ".join(FORMATS) in said


def test_every_door_gives_a_graph(tmp_path: Path) -> None:
    graph = Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1])
    for row in FORMATS.values():
        if row.is_written:
            path = tmp_path / f"a{row.suffixes[0]}"
            io.write(path, graph)
            back = io.read(path)
            assert isinstance(back, Graph) and (back.n, back.m) == (3, 4), row.name


@pytest.mark.parametrize("suffix", [".mtx.zst", ".txt.zst", ".csv.zst", ".npz.zst", ".graphml.zst", ".parquet.zst"])
def test_zstandard(tmp_path: Path, suffix: str) -> None:
    graph = Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], [1.5, 2.5, 3.5, 4.5])
    path = tmp_path / f"a{suffix}"
    io.write(path, graph)
    assert path.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"  # as the format says
    assert sorted(edges(io.read(path))) == sorted(edges(graph))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(io.FormatError, match="damaged"):
        io.read(path)


# --- directions -----------------------------------------------------------------------------------------------------


def test_undirected_edges_lead_both_ways_in_every_format(tmp_path: Path) -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 2], [5.0, 7.0, 9.0])
    expected = [(0, 1, 5.0), (1, 0, 5.0), (1, 2, 7.0), (2, 1, 7.0), (2, 2, 9.0)]
    for row in FORMATS.values():
        if not row.is_written:
            continue
        path = tmp_path / f"a{row.suffixes[0]}"
        if row.name == "metis":  # stores both directions, and no loops
            io.write(path, Graph.from_edges([0, 1], [1, 0]))
            assert io.read(path, undirected=True).m == 2
            continue
        io.write(path, graph)
        back = io.read(path, undirected=True)
        assert sorted(edges(back)) == expected, row.name
        io.write(path, back)
        again = io.read(path, undirected=True)  # each edge has its reverse already
        assert sorted(edges(again)) == expected, row.name
        assert sorted(edges(io.read(path, undirected=False))) == expected, row.name


def test_undirected_edges_keep_their_attributes_and_the_weight(tmp_path: Path) -> None:
    graph = Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(hours=[1.5, 2.5], day=[1, 2])
    io.write(tmp_path / "a.npz", graph)
    back = io.read(tmp_path / "a.npz", weight="hours", undirected=True)
    assert edges(back) == [(0, 1, 1.5), (1, 0, 1.5), (1, 2, 2.5), (2, 1, 2.5)]
    assert back.values is back.edge_attributes["hours"] and back.edge_attributes["day"].tolist() == [1, 1, 2, 2]
    with pytest.raises(TypeError, match="undirected is 'yes'; expected True or False"):
        io.read(tmp_path / "a.npz", undirected="yes")  # type: ignore[arg-type]


def test_every_command_that_reads_takes_undirected(tmp_path, capsys) -> None:
    path = written(tmp_path / "a.txt", "0 1\n1 2\n")
    out = str(tmp_path / "out.csv")
    for words in (["info"], ["bfs", "--source", "2"], ["table", "pagerank", "--output", out], ["strong-components"],
                  ["ego-graph", "--source", "2", "--radius", "1"]):  # fmt: skip
        assert main([words[0], str(path), *words[1:], "--undirected"]) == 0
        said = capsys.readouterr().out
        assert words[0] != "info" or ("symmetric" in said and "yes" in said)
    target = tmp_path / "b.mtx"
    assert main(["convert", str(path), str(target), "--undirected"]) == 0
    assert sorted(edges(io.read(target))) == [(0, 1, None), (1, 0, None), (1, 2, None), (2, 1, None)]
    assert main(["convert", str(path), str(tmp_path / "b.gasla"), "--undirected"]) == 0
    assert io.open(tmp_path / "b.gasla").m == 4


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".gasla"])
def test_a_table_of_gephi(tmp_path: Path, suffix: str) -> None:
    text = "Source,Target,Type,Id,Label,timeset,Weight\n1,2,Undirected,0,,,1.5\n2,3,Directed,1,,,2.0\n"
    path = written(tmp_path / "a.csv", text)
    if suffix == ".tsv":
        path = written(tmp_path / "a.tsv", text.replace(",", "\t"))
    if suffix == ".parquet":
        table = pa.table({"Source": [1, 2], "Target": [2, 3], "Type": ["Undirected", "Directed"], "Weight": [1.5, 2.0]})
        pytest.importorskip("pyarrow.parquet").write_table(table, path := tmp_path / "a.parquet")
    graph = io.convert(path, tmp_path / "b.gasla") if suffix == ".gasla" else io.read(path)
    assert sorted(edges(graph)) == [(1, 2, 1.5), (2, 1, 1.5), (2, 3, 2.0)]
    if suffix != ".gasla":
        assert sorted(edges(io.read(path, undirected=False))) == [(1, 2, 1.5), (2, 3, 2.0)]
        assert len(edges(io.read(path, undirected=True))) == 4


# --- vertices -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "table", "semicolon"])
def test_a_table_of_vertices_beside_a_file(tmp_path: Path, form: str) -> None:
    path = written(tmp_path / "edges.csv", "src,dst\n007,1\n")
    columns = {"name": ["1", "x", "007"], "height": [1.5, 2.5, 4.5]}
    sign = {"tsv": "\t", "semicolon": ";"}.get(form, ",")
    rows = [sign.join(columns), *(sign.join(map(str, row)) for row in zip(*columns.values()))]
    vertices: Any = written(tmp_path / f"vertices.{'tsv' if form == 'tsv' else 'csv'}", "\n".join(rows) + "\n")
    if form == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), vertices := tmp_path / "vertices.parquet")
    elif form == "table":
        vertices = pa.table(columns)
    graph = io.read(path, names=True, vertices=vertices)
    assert graph.names.tolist() == ["1", "x", "007"]
    assert edges(graph) == [("007", "1", None)]
    assert graph.vertex_attributes["height"].tolist() == [1.5, 2.5, 4.5]


def test_vertices_without_a_header(tmp_path: Path) -> None:
    path = written(tmp_path / "edges.csv", "src,dst,weight\n4,2,1.5\n")
    graph = io.read(path, vertices=written(tmp_path / "a.v", "2\n3\n4\n"))  # as in LDBC Graphalytics
    assert graph.names.tolist() == [2, 3, 4] and edges(graph) == [(4, 2, 1.5)]
    with pytest.raises(io.FormatError, match="nothing says which column holds the ids of vertices"):
        io.read(path, vertices=written(tmp_path / "b.csv", "2,7\n4,8\n"))
    graph = io.read(path, vertices=tmp_path / "b.csv", vertex=0)
    assert graph.names.tolist() == [2, 4] and graph.vertex_attributes["column 1"].tolist() == [7, 8]
    with pytest.raises(ValueError, match="edge 0 has the end 4, which column 'id' of the vertices lacks"):
        io.read(path, vertices=written(tmp_path / "b.csv", "id\n2\n"))


def test_coordinates_of_roads(tmp_path: Path, capsys) -> None:
    roads = written(tmp_path / "a.gr", "c\np sp 4 2\na 1 2 5\na 2 3 7\n")
    places = written(tmp_path / "a.co", "c\np aux sp co 4\nv 1 -73 40\nv 3 -71.5 42\nv 2 -72 41\nv 4 0 0\n")
    graph = io.read(roads, vertices=places)
    assert graph.names is None and edges(graph) == [(0, 1, 5), (1, 2, 7)]
    assert graph.vertex_attributes["x"].tolist() == [-73, -72, -71.5, 0]
    assert graph.vertex_attributes["y"].tolist() == [40, 41, 42, 0]
    assert main(["convert", str(roads), str(tmp_path / "b.npz"), "--vertex-table", str(places)]) == 0
    assert [*io.read(tmp_path / "b.npz").vertex_attributes] == ["x", "y"]
    written(places, "v 1 x 4\n")
    with pytest.raises(io.FormatError, match=r"line 1: 'v 1 x 4'; expected `v id x y`, ids from 1"):
        io.read(roads, vertices=places)
    with pytest.raises(ValueError, match="the file itself has attributes of vertices, 'x', 'y'; expected one"):
        io.read(tmp_path / "b.npz", vertices=pa.table({"id": [0, 1, 2, 3]}))


# --- DIMACS and Matrix Market ---------------------------------------------------------------------------------------


def test_colorings_and_flows_of_dimacs(tmp_path: Path) -> None:
    path = written(tmp_path / "a.col", "c myciel\np edge 3 2\ne 1 2\ne 3 2\n")
    assert sorted(edges(io.read(path))) == [(0, 1, None), (1, 0, None), (1, 2, None), (2, 1, None)]
    path = written(tmp_path / "b.col", "p col 2 2\ne 1 2\n")  # the header counts both directions
    assert io.read(path).m == 2
    path = written(tmp_path / "a.max", "c\np max 4 2\nn 1 s\nn 4 t\na 1 2 5\na 2 4 2.5\n")
    with pytest.warns(UserWarning, match="2 lines about vertices are left out, such as source.*n 1 s; n 4 t"):
        assert edges(io.read(path)) == [(0, 1, 5.0), (1, 3, 2.5)]
    for text, line, said in (("p edge 2 1\ne 1 3\n", 2, "vertex '3'; expected 1 to 2"),
                             ("p edge 2 1\na 1 2\n", 2, "expected `e u v`"),
                             ("p max 2 1\na 1 2\n", 2, "expected `a from to weight`")):  # fmt: skip
        with pytest.raises(io.FormatError, match=f"line {line}: .*{said}"):
            io.read(written(path, text))
    with pytest.raises(ValueError, match=r"expected a \.gr file"):
        io.write(tmp_path / "c.max", datasets.grid(4))


@pytest.mark.filterwarnings("ignore:The default value for `spmatrix` is changing:DeprecationWarning")  # in SciPy 1.18
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_arrays_of_matrix_market(tmp_path: Path, symmetry: str, n: int) -> None:
    rng = np.random.default_rng(n)
    for kind in (np.int64, np.float64):
        A = rng.integers(-3, 4, (n, n)).astype(kind)
        A = {"general": A, "symmetric": A + A.T, "skew-symmetric": A - A.T}[symmetry]
        field = "integer" if kind is np.int64 else "real"
        first = {"general": None, "symmetric": 0, "skew-symmetric": 1}[symmetry]
        cells = [A[i, j] for j in range(n) for i in range(0 if first is None else j + first, n)]
        text = f"%%MatrixMarket matrix array {field} {symmetry}\n% by hand\n{n} {n}\n"
        path = written(tmp_path / "a.mtx", text + "".join(f"{cell}\n" for cell in cells))
        graph = io.read(path)
        assert (graph.to_scipy().toarray() == A).all() and graph.m == np.count_nonzero(A)
        assert io.convert(path, tmp_path / "a.gasla").m == graph.m
        if n > 1:
            short = "".join(f"{cell}\n" for cell in cells[1:])
            for wrong, said in ((short, "is the file truncated"), ("1 2\n", "'1 2'"), ("x\n", "value 'x'")):
                with pytest.raises(io.FormatError, match=said):
                    io.read(written(tmp_path / "b.mtx", text + wrong))


def test_a_rectangular_matrix_has_two_sides(tmp_path: Path) -> None:
    R = sp.coo_array(np.array([[1.5, 0, 2.5], [0, 3.5, 0]]))
    scipy.io.mmwrite(tmp_path / "a.mtx", R)
    scipy.io.mmwrite(tmp_path / "b.mtx", R.toarray())
    for path in (tmp_path / "a.mtx", tmp_path / "b.mtx"):
        graph = io.read(path, bipartite=True)
        assert graph.sides.tolist() == [0, 0, 1, 1, 1]
        assert sorted(edges(graph)) == sorted(edges(Graph.from_bipartite(R)))
        with pytest.raises(io.FormatError, match="a matrix of 2 x 3; expected a square matrix, or bipartite=True"):
            io.read(path)


def test_parallel_edges_loops_and_isolated_vertices_stay(tmp_path: Path) -> None:
    G = nx.MultiDiGraph()
    G.add_nodes_from(range(5))
    G.add_weighted_edges_from([(0, 1, 2), (0, 1, 3), (2, 2, 4)])
    graph = Graph.from_networkx(G)
    for row, n in itertools.product(FORMATS.values(), (5,)):
        if row.is_written and row.name not in ("metis", "csv"):
            io.write(path := tmp_path / f"a{row.suffixes[0]}", graph)
            back = io.read(path)
            assert back.n == n and sorted(edges(back)) == [(0, 1, 2), (0, 1, 3), (2, 2, 4)], row.name


def test_what_a_matrix_has_leads_to_the_matrix(tmp_path: Path) -> None:
    graph = io.read(written(tmp_path / "a.txt", "0 1\n"))
    with pytest.raises(AttributeError, match=r"no attribute 'toarray'; graph\.to_scipy\(\) is its matrix"):
        graph.toarray()
    with pytest.raises(AttributeError, match="no attribute 'edgs'"):
        graph.edgs()
    assert not hasattr(graph, "shape") and not hasattr(graph, "indptr")


def test_files_of_pairs_of_names(tmp_path: Path) -> None:
    named = io.read(written(tmp_path / "a.ncol", "ann bob\nbob cy\n"))
    assert edges(named) == [("ann", "bob", None), ("bob", "cy", None)]
    assert edges(io.read(written(tmp_path / "b.edges", "% sym\n1,2\n2,3\n"))) == [(1, 2, None), (2, 3, None)]
    assert edges(io.read(written(tmp_path / "c.edgelist", "0 1\n1 2\n"))) == [(0, 1, None), (1, 2, None)]
