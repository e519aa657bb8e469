"""GAP: its random sources, the files of its reference code, its kinds of graphs, and the table."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
from benchmarks import gap
from gasla import io

pytestmark = pytest.mark.thorough


def test_the_random_numbers_are_those_of_cpp() -> None:
    """The C++ standard gives the 10,000th number of `std::mt19937_64` with its default seed."""
    assert next(islice(gap.mersenne_twister(5489), 9999, None)) == 9981545732273789042


def test_sources_are_those_of_the_benchmark() -> None:
    """As printed by the reference code, version 1.5: `bfs -u 10 -n 5 -l`."""
    assert list(islice(gap.vertices_at_random(1 << 10), 5)) == [351, 895, 656, 206, 468]


def test_sources_have_edges() -> None:
    graph = gap.GapGraph("one", gasla.Graph.from_edges([3, 3], [1, 2], np.array([1, 2], np.int32), n=1000))
    assert graph.sources(3) == [3, 3, 3]
    with pytest.raises(ValueError, match="none has no edges; expected edges to search along"):
        gap.GapGraph("none", gasla.Graph.from_edges([], [], n=3)).sources(1)


@pytest.mark.parametrize("kind", gap.MAKERS)
def test_graphs_are_of_their_kind(kind: str) -> None:
    graph = gap.load(kind, 10).graph
    assert graph.n == 1024 and graph.values is not None and graph.values.dtype == np.int32
    assert graph.values.min() >= 1 and not graph.has_parallel_edges and not graph.has_self_loops
    assert graph.has_symmetric_values == (kind in ("kron", "urand", "road"))
    src, dst = graph.edges()
    near = (abs(src.astype(np.int64) - dst) < 256).mean()
    assert near > 0.7 if kind in ("road", "web") else near < 0.5


def test_files_are_those_of_the_reference_code(tmp_path: Path) -> None:
    graph = gap.GapGraph("g", gasla.Graph.from_edges([0, 0, 2], [1, 2, 1], np.array([7, 8, 9], np.int32)))
    graph.write(tmp_path / "g.wsg", "wsg")
    data = (tmp_path / "g.wsg").read_bytes()
    assert data[0] == 1 and np.frombuffer(data[1:17], np.int64).tolist() == [3, 3]
    assert np.frombuffer(data[17:49], np.int64).tolist() == [0, 2, 2, 3]
    assert np.frombuffer(data[49:73], np.int32).tolist() == [1, 7, 2, 8, 1, 9]
    assert np.frombuffer(data[73:105], np.int64).tolist() == [0, 0, 2, 3]
    assert np.frombuffer(data[105:], np.int32).tolist() == [0, 7, 2, 9, 0, 8]
    graph.write(tmp_path / "g.U.sg", "U.sg")
    data = (tmp_path / "g.U.sg").read_bytes()
    assert data[0] == 0 and np.frombuffer(data[1:17], np.int64).tolist() == [6, 3]
    assert np.frombuffer(data[49:], np.int32).tolist() == [1, 2, 0, 2, 0, 1]


def test_every_kernel_is_timed_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.json"
    assert gap.main(["--scale", "6", "--graphs", "kron,web", "--trials", "2", "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["rows"]
    assert [(row["kernel"], len(row["seconds"])) for row in rows] == [(name, 2) for name in gap.KERNELS] * 2
    monkeypatch.setattr(gap.gasla, "connected_components", lambda graph: type("", (), {"labels": np.arange(graph.n)}))
    assert gap.main(["--scale", "6", "--graphs", "urand", "--kernels", "cc"]) == 1
    assert "urand6      cc    wrong: " in capsys.readouterr().out


def test_the_reference_code_runs_on_the_same_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program that prints its arguments, and times as GAPBS does."""
    program = tmp_path / "bfs"
    program.write_text(
        '#!/bin/sh\necho "$@" >"$0.called"\nprintf "Trial Time:          0.50000\\nTrial Time: 1.5\\n"\n'
    )
    program.chmod(0o755)
    call = ["--scale", "6", "--graphs", "road", "--kernels", "bfs", "--trials", "2", "--gapbs", str(tmp_path)]
    assert gap.main(call) == 0
    assert "    1.000000" in capsys.readouterr().out
    assert "road6.sg -n2" in (tmp_path / "bfs.called").read_text()


def test_files_are_graphs_as_well(tmp_path: Path) -> None:
    io.write(tmp_path / "mine.mtx", csr_array([[0, 0.5, 0], [2, 0, 0], [0, 0, 0]]))
    found: Any = gap.load(str(tmp_path / "mine.mtx"), 0)
    assert found.name == "mine" and found.graph.values.tolist() == [1, 2]
    with pytest.raises(ValueError, match="there is no graph 'kronos'; expected a file, or one of kron, urand"):
        gap.load("kronos", 8)
