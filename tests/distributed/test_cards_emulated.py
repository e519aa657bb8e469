"""Kernels of several GPUs that exchange values themselves, without a GPU: each rank's kernel on an emulated grid."""

import shutil
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import distributed
from gasla.gpu.program import peers
from gasla.program.plan import Plan
from tests.distributed.test_edge_attributes import attributed, reads_values
from tests.distributed.test_ranks import SHAPES, check, is_taken, over, random_graph
from tests.helpers import programs
from tests.helpers.emulated_peers import EmulatedPeerRun, without_gpus
from tests.helpers.generated_programs import Case, cases

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    without_gpus(monkeypatch)


def is_exchanged(case: Case) -> bool:
    """Whether kernels exchange the program's values themselves."""
    if not is_taken(case):
        return False
    kind: Any = case.program
    return peers.can_exchange(Plan(kind.traced(np.dtype(np.int32)), case.mode == "deterministic"))


def test_some_programs_have_the_bits_of_one_process() -> None:
    @settings(
        max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    @given(cases(("run", "deterministic")).filter(is_exchanged), st.integers(1, 4))
    def attempt(case: Case, ranks: int) -> None:
        check(case, ranks, compiled=False)

    seed(2026)(attempt)()


def test_programs_that_read_attributes_have_the_bits_of_one_process() -> None:
    @settings(
        max_examples=3, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    @given(cases(("run", "deterministic")).filter(reads_values).filter(is_exchanged).map(attributed), st.integers(1, 4))
    def attempt(case: Case, ranks: int) -> None:
        check(case, ranks, compiled=False)

    seed(2027)(attempt)()


def test_time_respecting_paths_are_those_of_one_process() -> None:
    graph = random_graph(60, 300)
    graph = graph.with_edge_attributes(time=np.arange(graph.m) * 7919 % 50, ride=np.arange(graph.m) % 4)
    spread = over(graph, 3)
    for name in ("earliest_arrival", "latest_departure", "fastest_durations"):
        expected, found = (getattr(gasla, name)(g, 3, duration="ride", window=(5, None)) for g in (graph, spread))
        np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_have_the_answers_of_one_process(name: str) -> None:
    graph = SHAPES[name]
    start: dict[str, Any] = {"active": [0], "cost": {0: 0}} if graph.n else {}
    one, found = (gasla.run(programs.Cheapest, g, compile=False, **start) for g in (graph, over(graph, 3)))
    np.testing.assert_array_equal(found.cost, one.cost)


class Converging(gasla.VertexProgram):
    """Every vertex takes part; the run stops by an aggregate of all ranks, which the program also reads."""

    everyone = True
    x = gasla.vertex(np.float64, init=lambda vertex: (vertex.id + 1) / 8)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.x

    def apply(self, vertex, gathered):
        return {"x": gathered / 16 + self.highest % 3}

    @gasla.aggregate(semirings.max, np.int64)
    def highest(self, before, after):
        return after.id

    def stop(self):
        return self.iteration >= self.highest // 8


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_run_stops_by_what_all_ranks_have(ranks: int) -> None:
    graph = random_graph()
    one, found = (gasla.run(Converging, g, max_iterations=50, compile=False) for g in (graph, over(graph, ranks)))
    np.testing.assert_array_equal(found.x, one.x)
    assert (found.iterations, found.converged, found.aggregates) == (one.iterations, one.converged, one.aggregates)


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_run_goes_on_where_it_has_ended(at_once: int) -> None:
    """Each launch begins with the numbers of active vertices of all ranks."""
    graph = gasla.Graph.from_edges(range(20), range(1, 21))
    spread, seen = over(graph, 3), list[int]()
    run = gasla.run(programs.Hops, spread, active=[0], hops={0: 0}, max_iterations=at_once, compile=False)
    while not run.converged:
        seen.append(run.iterations)
        run = gasla.run(programs.Hops, spread, active=run.active, hops=run.hops, max_iterations=at_once, compile=False)
    np.testing.assert_array_equal(run.hops, np.arange(21))
    assert len(seen) >= 20 // at_once - 1


def test_kernels_are_used_where_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(peers, "PeerRun", lambda *given: made.append(given) or EmulatedPeerRun(*given))
    graph = random_graph()
    spread = distributed.Graph.from_graph(graph, distributed.ThreadRanks(2))
    np.testing.assert_array_equal(
        gasla.run(programs.Hops, spread, active=[3], hops={3: 0}, compile=False).hops,
        gasla.run(programs.Hops, graph, active=[3], hops={3: 0}, compile=False).hops,
    )
    assert len(made) == 2
    gasla.run(programs.Hops, spread, active=[3], hops={3: 0}, trace=True, compile=False)
    assert len(made) == 2  # the host takes part in a run that is traced


def test_an_error_on_one_rank_ends_the_kernels_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that waits for a peer is asked to stop by its host, which hears of the error."""
    launch, launched = EmulatedPeerRun.launch, list[EmulatedPeerRun]()

    def fail(run: EmulatedPeerRun, until: int) -> None:
        if len(launched) == 1:
            raise OSError("no such card")
        launched.append(run)
        launch(run, until)

    spread = over(random_graph(), 3)
    with monkeypatch.context() as patched:
        patched.setattr(EmulatedPeerRun, "launch", fail)
        began = time.monotonic()
        with pytest.raises(OSError, match="no such card") as caught:
            gasla.run(programs.Hops, spread, active=[3], hops={3: 0}, compile=False)
        assert caught.value.__notes__ == ["on rank 1 of 3 on thread 1"]
        assert time.monotonic() - began < 30  # seconds, with the compilation of three kernels
    found = gasla.run(programs.Hops, spread, active=[3], hops={3: 0}, compile=False)
    np.testing.assert_array_equal(
        found.hops, gasla.run(programs.Hops, random_graph(), active=[3], hops={3: 0}, compile=False).hops
    )


class Pair(gasla.VertexProgram):
    """Two fields that neighbors read, and few active vertices, of which a rank mirrors some."""

    low = gasla.vertex(np.float64, init=np.inf)
    tag = gasla.vertex(np.float64, init=lambda vertex: vertex.id + 0.5)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.low + src.tag

    def apply(self, vertex, gathered):
        return {"low": semirings.minimum(vertex.low, gathered)}

    def activate(self, before, after):
        return after.low < before.low


@pytest.mark.parametrize("mirrored", [[1], [*range(1, 9), *range(17, 25)], range(1, 61, 2)])
def test_lists_longer_than_what_is_mirrored_have_room(mirrored: Any) -> None:
    """A list of active vertices has up to 64 places even where a peer mirrors one vertex."""
    src, dst = np.repeat([0, 100], 60), np.r_[1:61, 101:161]
    ends = np.arange(len(mirrored))
    src = np.r_[src, mirrored, np.add(mirrored, 100)]
    dst = np.r_[dst, 200 + ends, 250 + ends]
    graph = gasla.Graph.from_edges(src, dst, n=300)
    given: Any = {"active": [0, 100], "low": {0: 0.0, 100: 0.0}, "direction": "push", "compile": False}
    one, found = (gasla.run(Pair, g, **given) for g in (graph, over(graph, 3)))
    np.testing.assert_array_equal(found.low, one.low)


def test_what_a_peer_has_not_told_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that is asked to stop while it waits takes no values: a peer may be storing them."""
    launch, finish, memory = EmulatedPeerRun.launch, EmulatedPeerRun.finish, EmulatedPeerRun.memory
    runs, memories = list[EmulatedPeerRun](), list[Any]()
    monkeypatch.setattr(EmulatedPeerRun, "memory", lambda run, size: memories.append(memory(run, size)) or memories[-1])

    def start(run: EmulatedPeerRun, until: int) -> None:
        runs.append(run)
        launch(run, until if len(runs) == 1 else 2)  # the second kernel does not meet the first one again

    def wait(run: EmulatedPeerRun, progress: Any) -> None:
        if run is runs[0]:
            finish(runs[1], lambda _: None)
            time.sleep(0.5)  # until the first one waits
            memories[0][:1024].view(np.uint64)[[35, 99]] = 1  # in both notices of the second: one vertex is listed,
            memories[0][1024:1536] = 0  # the first of those that are mirrored
            memories[0][1536:] = 0x80  # its value is negative
            raise KeyboardInterrupt
        finish(run, progress)

    monkeypatch.setattr(EmulatedPeerRun, "launch", start)
    monkeypatch.setattr(EmulatedPeerRun, "finish", wait)
    graph = gasla.Graph.from_edges([*range(39), *range(1, 40)], [*range(1, 40), *range(39)])
    with pytest.raises(KeyboardInterrupt):
        gasla.run(programs.Hops, over(graph, 2), active=[0], hops={0: 0}, compile=False)
    assert (np.asarray(runs[0].state()["hops"]) >= 0).all()
