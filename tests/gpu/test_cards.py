"""Ranks with a card each have the results of one process. Two ranks may share a card, so one card suffices here."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import distributed
from gasla.distributed.thread_ranks import ThreadRanks
from gasla.gpu.program import engine
from gasla.gpu.runtime import compile
from gasla.operations.prepare import Variant, runs_of
from gasla.program.binding import AUTO
from tests.distributed.test_ranks import ACYCLIC, CLOSE, EXACT, GRAPH, SHAPES, Groups, random_graph
from tests.helpers import ROOT, programs

TWO = ThreadRanks(2, [0, 0])
FLOATS = {"aggregate_features", "betweenness_centrality", "edge_betweenness_centrality", "pagerank", "clustering"}
"""Add floats, for which a card chooses an order by the size of a graph."""


def test_what_is_no_card_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="threads and cards were given; expected one of them"):
        distributed.Cluster(threads=2, cards="all")

    with pytest.raises(ValueError, match="cards and gpus were given; expected one of them"):
        distributed.Cluster(cards="all", gpus=True)
    with pytest.raises(TypeError, match="gpus is 2"):
        distributed.Cluster(gpus=2)  # type: ignore[arg-type]


@pytest.mark.gpu
@pytest.mark.skipif(shutil.which("mpiexec") is None, reason="needs an MPI library")
def test_processes_with_a_card_each(tmp_path: Path) -> None:
    """Two processes share one card if there is only one."""
    (tmp_path / "script.py").write_text(
        "import gasla, numpy as np\nfrom gasla import distributed\n"
        "graph = gasla.Graph.from_edges(*np.random.default_rng(1).integers(0, 60, (2, 240)), n=60)\n"
        "with distributed.Cluster(gpus=True) as cluster:\n"
        "    assert cluster.has_cards and cluster.size == 2\n"
        "    spread = distributed.Graph.from_graph(graph)\n"
        "    assert (np.asarray(gasla.bfs(spread, 3)) == gasla.bfs(graph, 3)).all()\n"
        "    for call in (lambda graph: gasla.pagerank(graph).ranks, gasla.betweenness_centrality):\n"
        "        np.testing.assert_allclose(np.asarray(call(spread)), call(graph), 1e-6)\n"
    )
    pytest.importorskip("mpi4py", reason="needs mpi4py")
    command = ["mpiexec", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "script.py"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("cards", [0, -1, 99, [], [99], "some", True, [0, "1"]])
def test_cards_that_are_not_there_are_refused_by_name(cards: Any) -> None:
    with pytest.raises(ValueError, match=r'cards is .*; expected "all", 1 to'):
        distributed.Cluster(cards=cards)


def test_what_a_second_card_keeps_with_a_graph_is_not_what_runs_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    """1, the card's number, equals True, and a graph keeps runs by options that are true or false."""
    graph = random_graph()
    runs = runs_of(programs.Hops(), graph, Variant(AUTO, False, False, True))
    monkeypatch.setattr(compile, "device", lambda: 1)
    monkeypatch.setattr(engine, "_make_cached", lambda *_: None)
    monkeypatch.setattr(engine, "is_small", lambda _: False)
    assert runs is not None and engine._find_cached(programs.Hops(), graph, False, False, AUTO) is None


@pytest.mark.gpu
@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
def test_algorithms_are_those_of_one_process(name: str) -> None:
    graph, function = random_graph(), {**EXACT, **CLOSE}[name]
    if name in ACYCLIC:
        src, dst = graph.to_edge_index()
        graph = graph.select(src < dst)
    expected = function(graph)
    for cards in ([0], [0, 0, 0]):
        with distributed.Cluster(cards=cards):
            found = np.asarray(function(distributed.Graph.from_graph(graph)))
        if name in CLOSE or name.partition(",")[0] in FLOATS:
            np.testing.assert_allclose(found, expected, rtol=1e-6)
        else:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_those_of_one_process(name: str) -> None:
    graph = SHAPES[name]
    spread = distributed.Graph.from_graph(graph, TWO)
    if graph.n:
        np.testing.assert_array_equal(gasla.bfs(spread, 0), gasla.bfs(graph, 0))
        np.testing.assert_array_equal(gasla.sssp(spread, 0), gasla.sssp(graph, 0))
    np.testing.assert_allclose(gasla.pagerank(spread).ranks, gasla.pagerank(graph).ranks, rtol=1e-6)
    np.testing.assert_array_equal(gasla.connected_components(spread).labels, gasla.connected_components(graph).labels)


class Sent(gasla.VertexProgram):
    """An edge field, and vectors."""

    best = gasla.vertex((np.float32, (3,)), init=0)
    used = gasla.edge(np.int32, init=0)
    reduce = semirings.max
    everyone = True

    def gather(self, src, dst, edge):
        return src.best

    def apply(self, vertex, gathered):
        return {"best": semirings.maximum(vertex.best, gathered)}

    def scatter(self, src, dst, edge):
        return {"used": edge.used + 1}


@pytest.mark.gpu
def test_programs_with_edge_fields_and_vectors() -> None:
    graph = random_graph()
    spread = distributed.Graph.from_graph(graph, ThreadRanks(3, [0, 0, 0]))
    best = np.random.default_rng(2).random((graph.n, 3), np.float32)
    expected, found = (gasla.run(Sent, each, max_iterations=3, best=best) for each in (graph, spread))
    for name in ("best", "used"):
        np.testing.assert_array_equal(np.asarray(getattr(found, name)), getattr(expected, name))


@pytest.mark.gpu
def test_results_start_other_runs_and_are_traced() -> None:
    graph = random_graph()
    spread = distributed.Graph.from_graph(graph, TWO)
    first = gasla.run(programs.Hops, spread, active=[3], hops={3: 0}, max_iterations=1)
    again = gasla.run(programs.Hops, spread, active=first.active, hops=first.hops, trace=True)
    levels = gasla.bfs(graph, 3)
    np.testing.assert_array_equal(np.asarray(again.hops), np.where(levels < 0, 10**6, levels))
    assert len(again.trace) == again.iterations


@pytest.mark.gpu
def test_aggregates_at_vertices() -> None:
    options: dict[str, Any] = {"max_iterations": 2, "group": np.array([3, 0, 3, 4, -1])}
    one, found = (gasla.run(Groups, g, **options) for g in (GRAPH, distributed.Graph.from_graph(GRAPH, TWO)))
    np.testing.assert_array_equal(found.size, one.size)
    np.testing.assert_array_equal(found.aggregates["count"], one.aggregates["count"])


@pytest.mark.gpu
def test_a_rank_that_fails_is_named_and_ends_all() -> None:
    def fail(rank: distributed.Rank) -> None:
        if rank.communicator.rank == 1:
            raise OSError("no such card")
        rank.communicator.barrier()

    with distributed.Cluster(cards=[0, 0]) as cluster, pytest.raises(OSError, match="no such card"):
        cluster.each(fail)
