"""LDBC Graphalytics: outputs against a reference in pure Python, the rules of validation, and the files."""

from __future__ import annotations

import heapq
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import graphalytics
from benchmarks.graphalytics import UNREACHED, close, equivalent, exact

pytestmark = pytest.mark.thorough

FOLDER = Path(__file__).parent / "graphalytics"
NAMES = ("tiny-directed", "tiny-undirected")


# --- the reference: straight from the definitions, on the numbers in the files ----------------------------------------


class Plain:
    """A graph as dictionaries."""

    def __init__(self, name: str) -> None:
        self.vertices = [int(line) for line in (FOLDER / f"{name}.v").read_text().split()]
        self.out: dict[int, dict[int, float]] = {v: {} for v in self.vertices}
        self.into: dict[int, dict[int, float]] = {v: {} for v in self.vertices}
        for line in (FOLDER / f"{name}.e").read_text().splitlines():
            u, v, weight = line.split()
            ends = [(int(u), int(v))] if name == "tiny-directed" else [(int(u), int(v)), (int(v), int(u))]
            for a, b in ends:
                self.out[a][b] = self.into[b][a] = float(weight)

    def near(self, v: int) -> set[int]:
        return {*self.out[v], *self.into[v]}


def reference(kernel: str, g: Plain, source: int = 5) -> dict[int, Any]:
    """The output of a kernel, by vertex."""
    return {"bfs": bfs, "pr": pr, "wcc": wcc, "cdlp": cdlp, "lcc": lcc, "sssp": sssp}[kernel](g, source)


def bfs(g: Plain, source: int) -> dict[int, Any]:
    depth, queue = {source: 0}, [source]
    for v in queue:
        for u in g.out[v]:
            if u not in depth:
                depth[u] = depth[v] + 1
                queue.append(u)
    return {v: depth.get(v, UNREACHED) for v in g.vertices}


def pr(g: Plain, _: int) -> dict[int, Any]:
    n, d = len(g.vertices), 0.85
    rank = dict.fromkeys(g.vertices, 1 / n)
    for _ in range(7):
        sinks = sum(rank[v] for v in g.vertices if not g.out[v])
        rank = {
            v: (1 - d) / n + d * sum(rank[u] / len(g.out[u]) for u in g.into[v]) + d / n * sinks for v in g.vertices
        }
    return rank


def wcc(g: Plain, _: int) -> dict[int, Any]:
    label = {v: v for v in g.vertices}
    for _ in g.vertices:
        label = {v: min([label[v], *(label[u] for u in g.near(v))]) for v in g.vertices}
    return label


def cdlp(g: Plain, _: int) -> dict[int, Any]:
    label = {v: v for v in g.vertices}
    for _ in range(3):
        counts = {v: Counter([label[u] for u in g.out[v]] + [label[u] for u in g.into[v]]) for v in g.vertices}
        label = {v: min(c, key=lambda name: (-c[name], name)) if c else label[v] for v, c in counts.items()}
    return label


def lcc(g: Plain, _: int) -> dict[int, Any]:
    found = {}
    for v in g.vertices:
        near = g.near(v)
        inside = sum(w in g.out[u] for u in near for w in near)
        found[v] = inside / (len(near) * (len(near) - 1)) if len(near) > 1 else 0.0
    return found


def sssp(g: Plain, source: int) -> dict[int, Any]:
    distance, heap = {source: 0.0}, [(0.0, source)]
    while heap:
        d, v = heapq.heappop(heap)
        for u, weight in g.out[v].items():
            if d + weight < distance.get(u, math.inf):
                distance[u] = d + weight
                heapq.heappush(heap, (distance[u], u))
    return {v: distance.get(v, math.inf) for v in g.vertices}


def write_references(name: str, folder: Path) -> None:
    for kernel in graphalytics.KERNELS:
        lines = (f"{v} {value}" for v, value in reference(kernel, Plain(name)).items())
        (folder / f"{name}-{kernel.upper()}").write_text("\n".join(lines) + "\n")


# --- tests ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_valid_and_written(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_references(name, tmp_path)
    files = ["--output", str(tmp_path / "out"), "--reference", str(tmp_path), "--json", str(tmp_path / "run.json")]
    assert graphalytics.main([str(FOLDER / name), "--runs", "1", *files]) == 0
    shown = capsys.readouterr().out
    assert shown.count("valid") == 6 and "11 vertices" in shown
    saved = json.loads((tmp_path / "run.json").read_text())
    edges = saved["graphs"][name]["m"]
    for one in saved["kernels"]:
        assert one["evps"] / one["eps"] == pytest.approx((edges + 11) / edges)
    for kernel in graphalytics.KERNELS:
        lines = [line.split(" ") for line in (tmp_path / "out" / f"{name}-{kernel.upper()}").read_text().splitlines()]
        right = reference(kernel, Plain(name))
        assert [int(v) for v, _ in lines] == list(right)
        if kernel in ("bfs", "cdlp", "wcc"):
            assert {int(v): int(value) for v, value in lines} == right
        else:
            assert {int(v): float(value) for v, value in lines} == pytest.approx(right, rel=1e-12)
    assert "144 infinity\n" in (tmp_path / "out" / f"{name}-SSSP").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_over_ranks_outputs_are_the_same(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_references(name, tmp_path)
    files = ["--output", str(tmp_path / "out"), "--reference", str(tmp_path), "--json", str(tmp_path / "run.json")]
    assert graphalytics.main([str(FOLDER / name), "--ranks", "2", "--runs", "1", *files]) == 0
    kernels = len(graphalytics.KERNELS) - (name == "tiny-directed")  # without lcc
    assert "2 ranks" in (shown := capsys.readouterr().out) and shown.count("  valid") == kernels
    assert len([*(tmp_path / "out").iterdir()]) == kernels
    assert json.loads((tmp_path / "run.json").read_text())["provenance"]["place"] == "2 ranks"


@pytest.mark.parametrize("kernel", graphalytics.KERNELS)
def test_wrong_outputs_are_named(kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "tiny-directed"
    write_references(name, tmp_path)
    file = tmp_path / f"{name}-{kernel.upper()}"
    lines = file.read_text().splitlines()
    lines[-1] = "233 12345"
    file.write_text("\n".join(lines))
    call = [str(FOLDER / name), "--runs", "1", "--kernels", kernel, "--reference", str(tmp_path)]
    assert graphalytics.main(call) == 1
    assert "values differ: that of vertex" in capsys.readouterr().out
    file.write_text("\n".join(lines[:-1]))
    assert graphalytics.main(call) == 1
    assert "has 10 lines; expected one for each of 11 vertices" in capsys.readouterr().out


def test_without_references_outputs_are_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    assert graphalytics.main([str(FOLDER / "tiny-directed"), "--runs", "1", "--kernels", "bfs"]) == 0
    assert "no reference" in capsys.readouterr().out


def test_rules_are_those_of_the_benchmark() -> None:
    assert exact(np.array([3, 1]), np.array([3, 2])).tolist() == [True, False]
    right = np.array([1, 1, 1, 2, 2, 3])
    assert equivalent(right, np.array([81, 81, 81, 32, 32, 12])).all()
    assert not equivalent(right, np.array([1, 1, 1, 2, 2, 2])).all()
    assert not equivalent(right, np.array([1, 1, 4, 2, 2, 3])).all()
    right = np.array([0, 0.3, 0.45, 0.23, np.inf, 0.001])
    assert close(right, np.array([0, 0.30002, 0.45, 0.229997, np.inf, 0.001])).all()
    wrong = np.array([1e-6, 0.3001, np.nan, -0.23, 1.79769e308, np.inf])
    assert not close(right, wrong).any()


def test_properties_name_the_graph_and_its_kernels(tmp_path: Path) -> None:
    """The name may have dots; without weights there are no shortest paths."""
    (tmp_path / "a-7.5.v").write_text("7\n9\n")
    (tmp_path / "a-7.5.e").write_text("7 9\n")
    file = tmp_path / "other.properties"
    file.write_text("# comment = x\ngraph.a-7.5.directed = true\ngraph.a-7.5.bfs.source-vertex = 9\n")
    data = graphalytics.load(tmp_path / "a-7.5", file)
    assert data.directed and data.vertex("bfs.source-vertex") == 1 and data.graph.values is None
    assert graphalytics.supported(data) == ["bfs", "pr", "wcc", "cdlp", "lcc"]
    assert graphalytics.supported(data, over_ranks=True) == ["bfs", "pr", "wcc", "cdlp"]
    file.write_text("x = 1\n")
    with pytest.raises(ValueError, match=r"0 properties graph\.NAME\.directed; expected one"):
        graphalytics.load(tmp_path / "a-7.5", file)


def test_edges_of_unknown_vertices_are_refused(tmp_path: Path) -> None:
    (tmp_path / "g.v").write_text("7\n18446744073709551615\n")
    (tmp_path / "g.e").write_text("7 8\n")
    (tmp_path / "g.properties").write_text("graph.g.directed = true\n")
    with pytest.raises(ValueError, match="an edge names the vertex 8; expected a line with it in the vertex file"):
        graphalytics.load(tmp_path / "g")
    (tmp_path / "g.e").write_text("7 18446744073709551615\n")
    assert graphalytics.load(tmp_path / "g").graph.has_edge(0, 1)


def test_graphs_without_edges_are_read(tmp_path: Path) -> None:
    (tmp_path / "g.v").write_text("7\n")
    (tmp_path / "g.e").write_text("")
    (tmp_path / "g.properties").write_text("graph.g.directed = false\n")
    data = graphalytics.load(tmp_path / "g")
    assert data.graph.n == 1 and data.edges == 0
