"""`gasla.warm` compiles what a service uses: later processes compile nothing, of any graph and with any threads."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla.cli import main
from gasla.compiler.function import compilations

SERVICE = """
import functools, sys
import numpy as np
import gasla, semirings
from gasla.compiler.function import compilations

class Widest(gasla.VertexProgram):
    width = gasla.vertex(np.float32)
    capacity = gasla.edge(np.float32)
    reduce = semirings.max

    def gather(self, src, dst, edge):
        return semirings.minimum(src.width, edge.capacity)

    def apply(self, vertex, gathered):
        return {"width": semirings.maximum(vertex.width, gathered)}

if sys.argv[1] == "warm":
    used = gasla.bfs, functools.partial(gasla.sssp, parents=True), Widest
    print(gasla.warm(*used, lambda graph: gasla.mxv(graph, np.ones(graph.n, "f4")), values=["float32"]))
else:
    for scale in (3, 15):
        for undirected in (False, True):
            tails, heads = gasla.Graph(gasla.datasets.rmat(scale)).edges()
            some = slice(None) if undirected else tails < heads
            graph = gasla.Graph.from_edges(tails[some], heads[some], np.ones(len(tails[some]), "f4"), n=1 << scale)
            gasla.bfs(graph, 0)
            gasla.sssp(graph, 0, parents=True)
            gasla.mxv(graph, np.ones(graph.n, np.float32))
            gasla.run(Widest, graph, width={0: np.inf})
    print(compilations())
"""


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_later_process_compiles_nothing(tmp_path: Path, threads: int) -> None:
    """It was warmed on one core, as an image may be, or on two."""
    (tmp_path / "service.py").write_text(SERVICE)

    def compiled(step: str, count: int) -> int:
        environment = {**os.environ, "GASLA_CACHE_DIR": str(tmp_path / "cache"), "GASLA_NUM_THREADS": str(count)}
        command = [sys.executable, str(tmp_path / "service.py"), step]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert compiled("warm", threads) > 0  # a wheel has the code of all but the program
    assert compiled("warm", threads) == 0
    assert compiled("serve", 2) == compiled("serve", 1) == 0


class Largest(gasla.VertexProgram):
    label = gasla.vertex(np.int64)
    reduce = semirings.max

    def gather(self, src, dst, edge):
        return src.label

    def apply(self, vertex, gathered):
        return {"label": semirings.maximum(vertex.label, gathered)}


def test_what_can_be_warmed() -> None:
    calls = []
    gasla.warm(Largest, Largest(), partial(gasla.pagerank, tol=1e-3), calls.append, values=[None, np.int32])
    assert len(calls) == 24
    assert {None if graph.values is None else graph.values.dtype.name for graph in calls} == {None, "int32"}
    assert {graph.is_symmetric for graph in calls} == {True, False}
    assert gasla.warm() == gasla.warm(gasla.bfs, values=[]) == 0
    before = compilations()
    gasla.warm(gasla.topological_order, values=[None])  # which refuses graphs with a cycle
    assert gasla.warm(gasla.topological_order, values=[None]) == 0
    assert compilations() >= before


def test_an_iterator_that_a_function_returns_is_begun_and_not_run_to_its_end() -> None:
    steps = []

    def endless(graph: gasla.Graph) -> Any:
        while True:
            steps.append(graph)
            yield 1

    gasla.warm(endless, values=[None])
    assert len(steps) == 12 * 1000


@pytest.mark.parametrize(
    ("used", "values", "error", "message"),
    [
        (["bfs"], [None], TypeError, "warm got 'bfs'; expected functions of a graph and vertex programs"),
        ([gasla.is_isomorphic], [None], ValueError, "warm can't call is_isomorphic, which needs other"),
        ([gasla.bfs], ["no type"], TypeError, "no type"),
        ([lambda graph: gasla.bfs(graph, -9)], [None], ValueError, "source"),
    ],
)
def test_what_cannot_be_warmed(used: Any, values: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gasla.warm(*used, values=values)


@pytest.mark.parametrize("used", [(), (gasla.bfs,)])
def test_a_gpu_is_asked_for_before_any_work(used: Any) -> None:
    with pytest.raises(ValueError, match="device"):
        gasla.warm(*used, device="tpu")


@pytest.mark.gpu
def test_what_is_compiled_for_a_gpu_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path))

    class Own(Largest):
        def gather(self, src, dst, edge):
            return src.label + 0 * dst.id

    assert gasla.warm(Own, values=[None], device="gpu") > 0
    assert gasla.warm(Own, values=[None], device="gpu") == 0


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm", "bfs", "sssp", "--values", "none,float32"]) == 0
    assert capsys.readouterr().out.endswith("kernels of 2 functions\n")
    assert main(["warm", "bfs", "nonsense", "--gpu"]) != 0
    assert "no function 'nonsense'" in capsys.readouterr().err
    assert main(["warm", "--values", "float32"]) != 0
    assert "--values is given without a function" in capsys.readouterr().err
