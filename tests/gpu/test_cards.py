"""Ranks with a card each have the results of one process. Two ranks may share a card, so one card suffices here."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import distributed
from gasla.arrays import require_gpu
from gasla.distributed import thread_ranks
from gasla.distributed.communicator import RankError
from gasla.distributed.engine.rank_run import RankRun
from gasla.distributed.thread_ranks import ThreadRanks
from gasla.gpu.program import engine, peers, relabel
from gasla.gpu.program.generate import Module
from gasla.gpu.program.plan import Variant as KernelVariant
from gasla.gpu.runtime import compile, nccl
from gasla.operations.prepare import Variant, runs_of
from gasla.program.binding import AUTO
from gasla.program.part import in_part
from tests.distributed.test_ranks import ACYCLIC, CLOSE, EXACT, GRAPH, SHAPES, Groups, random_graph
from tests.helpers import ROOT, programs

TWO = ThreadRanks(2, [0, 0])


@pytest.fixture(autouse=True)
def on_all_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs as small as these would be left to the first card."""
    monkeypatch.setattr(distributed.Graph, "one_card", False)


FLOATS = {
    *("aggregate_features", "betweenness_centrality", "clustering", "edge_betweenness_centrality", "pagerank"),
    "spectral_embedding",
}
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
    run_script(["mpiexec", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "script.py"], tmp_path)


@pytest.mark.gpu
def test_dask_workers_with_a_card_each(tmp_path: Path) -> None:
    """Two workers share one card if there is only one; else they exchange values by NCCL."""
    pytest.importorskip("distributed", reason="needs Dask")
    (tmp_path / "script.py").write_text(
        "import gasla, numpy as np\nfrom gasla import distributed\nfrom distributed import Client, LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    graph = gasla.Graph.from_edges(*np.random.default_rng(1).integers(0, 60, (2, 240)), n=60)\n"
        "    workers = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)\n"
        "    with workers, Client(workers) as client, distributed.Cluster(client, gpus=True) as cluster:\n"
        "        assert cluster.has_cards and cluster.size == 2\n"
        "        spread = distributed.Graph.from_graph(graph)\n"
        "        levels = gasla.bfs(spread, 3)\n"
        "        assert (np.asarray(levels) == gasla.bfs(graph, 3)).all()\n"
        "        assert (levels.to_dask_array().compute() == gasla.bfs(graph, 3)).all()\n"
        "        for call in (lambda graph: gasla.pagerank(graph).ranks, gasla.betweenness_centrality):\n"
        "            np.testing.assert_allclose(np.asarray(call(spread)), call(graph), 1e-6)\n"
        "        print('link:', cluster.each(lambda rank: rank.communicator.link.obstacle), flush=True)\n"
    )
    said = run_script([sys.executable, "script.py"], tmp_path)
    if require_gpu().cuda.runtime.getDeviceCount() > 1 and not nccl.obstacle():
        assert "link: ['', '']" in said


def run_script(command: list[str], folder: Path) -> str:
    """Run a script in a folder; returns what it prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [programs.Hops, programs.Cheapest, programs.Flow])
def test_kernels_that_exchange_values_compile(kind: Any) -> None:
    """NVRTC also finds the struct of arguments to have the size that Python gives it."""
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    local = in_part(kind, np.dtype(np.int32), True, together=True)
    lanes = 4 if local.everyone else 0
    module = Module(
        local.traced(np.dtype(np.int32)), peers.peers_variant(KernelVariant(np.dtype(np.int32), row_lanes=lanes))
    )
    size = f"static_assert(sizeof(Program::Arguments) == {ctypes.sizeof(module.struct)});"
    assert compile.compile_source(f"{module.source}\n{size}", "compute_90", "peers")


@pytest.mark.gpu
@pytest.mark.parametrize("cards", [0, -1, 99, [], [99], "some", True, [0, "1"]])
def test_cards_that_are_not_there_are_refused_by_name(cards: Any) -> None:
    with pytest.raises(ValueError, match=r'cards is .*; expected "all", 1 to'):
        distributed.Cluster(cards=cards)


def test_what_a_second_card_keeps_with_a_graph_is_not_what_runs_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    """1, the card's number, equals True, and a graph keeps runs by options that are true or false."""
    graph = random_graph()
    runs = runs_of(programs.Hops(), graph, Variant(AUTO, False, False, True), threading.Lock())
    monkeypatch.setattr(engine, "current_device", lambda: 1)
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
@pytest.mark.parametrize("is_copied", [False, True])
@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
def test_algorithms_on_one_of_the_cards(name: str, is_copied: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first card has the graph already, or receives a copy."""
    monkeypatch.setattr(distributed.Graph, "one_card", None)
    graph, function = random_graph(), {**EXACT, **CLOSE}[name]
    if name in ACYCLIC:
        src, dst = graph.to_edge_index()
        graph = graph.select(src < dst)
    expected, last = function(graph), cards_there() - 1
    with distributed.Cluster(cards=[0, last]):
        one = graph if is_copied else graph.to("gpu")
        spread = distributed.Graph.from_graph(one)
        assert (spread.original_on(0) is one) != is_copied
        for _ in range(2):
            found = np.asarray(function(spread))
            if name in CLOSE or name.partition(",")[0] in FLOATS:
                np.testing.assert_allclose(found, expected, rtol=1e-6)
            else:
                np.testing.assert_array_equal(found, expected)


@pytest.mark.gpu
def test_one_card_and_all_go_on_from_each_other() -> None:
    graph = random_graph()
    for cards in ([0, 0], [0, cards_there() - 1]):
        spread = distributed.Graph.from_graph(graph, ThreadRanks(2, cards))
        for order in ((True, False, True), (False, True, False)):
            found: dict[str, Any] = {}
            for is_one in order:
                spread.one_card = is_one
                found = dict(gasla.run(programs.Hops, spread, active=[3], max_iterations=1, **found or HOPS).state)
            expected = gasla.run(programs.Hops, graph, active=[3], max_iterations=3, **HOPS).hops
            assert (np.asarray(found["hops"]) >= expected).all()
            found = dict(gasla.run(programs.Hops, spread, **found).state)
            np.testing.assert_array_equal(found["hops"], gasla.run(programs.Hops, graph, active=[3], **HOPS).hops)


HOPS: dict[str, Any] = {"hops": {3: 0}}


def cards_there() -> int:
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())


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


# --- faults: an error that names the card and the superstep, soon, on all ranks --------------------------------------

SOON = 5.0  # seconds
CARDS = [None, pytest.param([0, 0], marks=pytest.mark.gpu)]
# A trace has the host take part in every superstep, over cards as well.
OPTIONS: dict[str, Any] = {"active": [9], "hops": {9: 0}, "max_iterations": 50, "trace": True}
PLACE = {True: r"rank 1 of 2 on card 0 of \S+, superstep 3", False: r"rank 1 of 2 on \S+, superstep 3"}


@pytest.fixture(params=CARDS, ids=["threads", "cards"])
def cards(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The messages of the RankErrors that are raised."""
    found: list[str] = []

    def telling(self: Any, message: str) -> None:
        found.append(message)
        RuntimeError.__init__(self, message)

    monkeypatch.setattr(RankError, "__init__", telling)
    return found


def path_over(cards: Any) -> distributed.Graph:
    """A path of 20 vertices over two ranks."""
    path = gasla.Graph.from_edges(range(19), range(1, 20), n=20)
    return distributed.Graph.from_graph(path, ThreadRanks(2, cards))


def check_place(error: BaseException, heard: list[str], cards: Any) -> None:
    """The error has a note, and the other rank heard, where it was."""
    place = PLACE[cards is not None]
    assert re.fullmatch(f"on {place}", error.__notes__[0])
    assert heard and re.match(f"{place} failed: {type(error).__name__}", heard[0])


def test_a_rank_that_runs_out_of_memory(cards: Any, heard: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    iterate = RankRun._iterate

    def starved(self: RankRun) -> np.ndarray:
        if self.communicator.rank != 1 or self.iteration != 3:
            return iterate(self)
        if cards is None:
            raise MemoryError("out of memory")
        with cupy_without_memory():
            return iterate(self)

    graph = path_over(cards)
    gasla.run(programs.Hops, graph, **OPTIONS)
    with monkeypatch.context() as patched:
        patched.setattr(RankRun, "_iterate", starved)
        began = time.monotonic()
        with pytest.raises(MemoryError) as caught:
            gasla.run(programs.Hops, graph, **OPTIONS)
        assert time.monotonic() - began < SOON
    check_place(caught.value, heard, cards)
    assert gasla.run(programs.Hops, graph, **OPTIONS).hops[19] == 10, "ranks are ready for the next run"


def cupy_without_memory() -> Any:
    """A context in which each allocation of this thread on a card fails."""
    import cupy

    def fail(size: int) -> Any:
        raise cupy.cuda.memory.OutOfMemoryError(size, 0)

    return cupy.cuda.using_allocator(fail)


def test_a_rank_with_an_error_in_a_run(cards: Any, heard: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    iterate = RankRun._iterate

    def failing(self: RankRun) -> np.ndarray:
        if self.communicator.rank == 1 and self.iteration == 3:
            raise ZeroDivisionError("no such number")
        return iterate(self)

    graph = path_over(cards)
    with monkeypatch.context() as patched:
        patched.setattr(RankRun, "_iterate", failing)
        began = time.monotonic()
        with pytest.raises(ZeroDivisionError, match="no such number") as caught:
            gasla.run(programs.Hops, graph, **OPTIONS)
        assert time.monotonic() - began < SOON
    check_place(caught.value, heard, cards)
    assert gasla.run(programs.Hops, graph, **OPTIONS).hops[19] == 10


def test_an_error_in_a_callback_leaves_the_ranks_ready(cards: Any) -> None:
    """The caller's process calls it, between two supersteps."""
    graph, began = path_over(cards), time.monotonic()
    with pytest.raises(ZeroDivisionError):
        gasla.run(programs.Hops, graph, callback=lambda result: 0 // (result.iterations - 3), **OPTIONS)
    assert time.monotonic() - began < SOON
    assert gasla.run(programs.Hops, graph, **OPTIONS).hops[19] == 10


def test_a_rank_that_meets_no_other_is_not_waited_for(cards: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error comes, though the other rank still works; the next call begins when it has ended."""
    monkeypatch.setattr(thread_ranks, "PATIENCE", 0.1)
    ranks, ended, go = ThreadRanks(2, cards), [], threading.Event()

    def work(rank: distributed.Rank) -> int:
        if rank.communicator.rank == 1:
            raise OSError("no such card")
        go.wait(SOON)
        ended.append(rank)
        return 0

    began = time.monotonic()
    with pytest.raises(OSError, match="no such card") as caught:
        ranks.each(work)
    assert time.monotonic() - began < 1 and not ended
    assert re.match(r"on rank 1 of 2 on (card 0 of )?\S+$", caught.value.__notes__[0])
    go.set()
    assert ranks.each(lambda rank: len(ended)) == [1, 1]


ENDLESS = """
import sys, threading, time
import gasla
from gasla import distributed
from gasla.distributed import thread_ranks
from gasla.distributed.communicator import RankError
from gasla.distributed.engine.rank_run import RankRun
from gasla.distributed.thread_ranks import ThreadRanks
from tests.helpers import programs

class Endless(gasla.VertexProgram):
    count = gasla.vertex(int, init=0)
    import semirings
    reduce = semirings.plus
    everyone = True
    def gather(self, src, dst, edge): return 1
    def apply(self, vertex, gathered): return {"count": vertex.count + 1}

path = gasla.Graph.from_edges(range(19), range(1, 20), n=20)
graph = distributed.Graph.from_graph(path, ThreadRanks(2, %s))
graph.one_card = False
gasla.run(Endless, graph, max_iterations=3)
work = %s
print("running", flush=True)
try:
    work()
except KeyboardInterrupt:
    print("interrupted", flush=True)
assert (gasla.run(Endless, graph, max_iterations=3).count.compute() == 3).all()
print("ready", flush=True)
"""
RUN = "lambda: gasla.run(Endless, graph, max_iterations=10**12)"
MAP = "lambda: graph.map_shares(lambda one, items, first: time.sleep(20), [0, 1])"


@pytest.mark.parametrize("work", [RUN, MAP], ids=["run", "function"])
def test_ctrl_c_is_heard(cards: Any, work: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ENDLESS % (cards, work))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "running\n"
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            assert process.stdout.readline() == "interrupted\n"
            assert time.monotonic() - began < SOON
            if work is RUN:
                assert process.stdout.readline() == "ready\n"
        finally:
            process.kill()


@pytest.mark.gpu
def test_a_rank_that_fails_is_named_and_ends_all() -> None:
    def fail(rank: distributed.Rank) -> None:
        if rank.communicator.rank == 1:
            raise OSError("no such card")
        rank.communicator.barrier()

    with distributed.Cluster(cards=[0, 0]) as cluster, pytest.raises(OSError, match="no such card"):
        cluster.each(fail)


@pytest.mark.gpu
def test_renumbered_vertices_are_mirrored(monkeypatch: pytest.MonkeyPatch) -> None:
    """On skewed graphs kernels number vertices by use, and mirrors are sent in the order of their owner's numbers."""
    monkeypatch.setattr(relabel, "is_worthwhile", lambda *_: True)
    monkeypatch.setattr(relabel, "HOT", 40)
    rng = np.random.default_rng(3)
    graph = gasla.Graph.from_edges(rng.integers(0, 500, 9000), (500 * rng.random(9000) ** 3).astype(int), n=500)
    spread = distributed.Graph.from_graph(graph, ThreadRanks(3, [0, 0, 0]))
    for _ in range(2):  # the second run finds the orders of mirrors
        np.testing.assert_allclose(gasla.pagerank(spread).ranks, gasla.pagerank(graph).ranks, rtol=1e-9)
    np.testing.assert_allclose(gasla.hits(spread).hubs, gasla.hits(graph).hubs, atol=1e-6)
