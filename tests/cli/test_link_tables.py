"""The commands split-edges and negative-edges: tables of what the functions return, with the names of vertices."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gasla
from gasla import verify
from gasla.cli import main

NAMED = "from,to,weight,hours\nOslo,Rome,2.5,1\nRome,Bonn,1,2\nBonn,Oslo,4,3\nOslo,Rome,7,4\nKyiv,Bonn,3,5\n"


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
def test_edges_are_split_into_tables(tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    path, outputs = tmp_path / "trips.csv", [tmp_path / f"{name}.{suffix}" for name in ("train", "test")]
    path.write_text(NAMED)
    given = ["--columns", "from,to,weight", "--attributes", "hours", "--fractions", "0.5,0.5", "--seed", "3"]
    assert main(["split-edges", str(path), *map(str, outputs), *given]) == 0
    graph = gasla.io.read(path, src="from", dst="to", weight="weight", attributes=["hours"])
    for numbers, output in zip(gasla.split_edges(graph, (0.5, 0.5), seed=3), outputs):
        table = {"csv": pd.read_csv, "parquet": pd.read_parquet, "feather": pd.read_feather}[suffix](output)
        assert [*table] == ["src", "dst", "weight", "hours"]
        assert [graph.vertex(name) for name in table["src"]] == graph.edges()[0][numbers].tolist()
        assert [graph.vertex(name) for name in table["dst"]] == graph.edges()[1][numbers].tolist()
        assert table["weight"].tolist() == graph.values[numbers].tolist()
        assert table["hours"].tolist() == graph.edge_attributes["hours"][numbers].tolist()
        assert f"wrote {output}: {len(numbers):,} edges" in capsys.readouterr().out or len(outputs) == 2


@pytest.mark.parametrize("named", [False, True])
def test_pairs_without_an_edge_are_a_table(tmp_path: Path, named: bool) -> None:
    path, output = tmp_path / ("trips.csv" if named else "edges.txt"), tmp_path / "wrong.csv"
    path.write_text(NAMED if named else "0 1\n1 2\n2 0\n3 2\n")
    columns = ["--columns", "from,to"] if named else []
    assert main(["negative-edges", str(path), str(output), "--count", "2", "--undirected", *columns]) == 0
    graph = gasla.Graph(gasla.io.read(path, **({"src": "from", "dst": "to"} if named else {})))
    table = pd.read_csv(output)
    pairs = np.array([[graph.vertex(name) for name in table[end].tolist()] for end in ("src", "dst")])
    verify.negative_edges(graph, 2, pairs, undirected=True)
    assert pairs.tolist() == gasla.negative_edges(graph, 2, undirected=True).tolist()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["split-edges", "IN", "a.npz", "--fractions", "1"], "expected a file that ends in .csv, .parquet or .feather"),
        (["split-edges", "IN", "a.csv"], "--fractions 0.8,0.1,0.1: expected one for each of 1 output files"),
        (
            ["split-edges", "IN", "a.csv", "--fractions", "all"],
            "--fractions all: expected numbers, such as 0.8,0.1,0.1",
        ),
        (["split-edges", "IN", "a.csv", "b.csv", "--fractions", "0.5,0.6"], "fractions add up to 1.1; expected 1"),
        (["negative-edges", "IN", "missing/a.csv", "--count", "1"], "folder missing does not exist"),
        (["negative-edges", "IN", "a.csv", "--count", "99"], "count is 99; expected 8 at most"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.txt").write_text("0 1\n1 2\n2 0\n3 2\n")
    assert main(["edges.txt" if word == "IN" else word for word in words]) == 2
    assert said in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == [tmp_path / "edges.txt"]
