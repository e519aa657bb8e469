"""Runs that the first of several cards does alone, without a card: ranks are threads, and the host computes."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import gasla
from gasla import distributed
from gasla.cpu.runtime import memory
from gasla.distributed import thread_ranks
from gasla.distributed.block_array import Handle
from gasla.distributed.communicator import Dropped, Member
from gasla.distributed.engine import distributed_run, one_card
from gasla.distributed.replicas import REPLICA, on_first_card, replica_on
from tests.distributed.test_card_components import check as check_components
from tests.distributed.test_ranks import GRAPH, SHAPES, Groups, Trails, check, is_taken, over, random_graph
from tests.distributed.test_spreading import Emulated
from tests.helpers import programs
from tests.helpers.emulated_peers import without_gpus
from tests.helpers.generated_programs import Case, cases
from tests.helpers.strict_cupy import without_gpu

HOPS: dict[str, Any] = {"active": [3], "hops": {3: 0}, "compile": False}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[one_card.OneCardRun]:
    """Threads count as cards, which have a choice. The runs of one card, as they are made."""
    made: list[one_card.OneCardRun] = []

    class Noted(one_card.OneCardRun):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    without_gpus(monkeypatch)
    monkeypatch.setattr(one_card, "is_free", lambda graph, options: True)
    monkeypatch.setattr(one_card, "exchanges", distributed_run.exchanges)
    monkeypatch.setattr(distributed_run, "exchanges", lambda *_: False)
    monkeypatch.setattr(one_card, "OneCardRun", Noted)
    return made


def held(spread: distributed.Graph) -> list[bool]:
    """Which ranks hold the whole graph."""
    return [REPLICA in member.kept[spread.handle.key] for member in spread.ranks.members()]


@pytest.mark.thorough
def test_some_programs_have_the_bits_of_one_process(alone: list[Any]) -> None:
    @settings(
        max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    @given(cases(("run", "deterministic")).filter(is_taken), st.integers(1, 4))
    def attempt(case: Case, ranks: int) -> None:
        before = len(alone)
        check(case, ranks, compiled=False)
        assert len(alone) == before + 2  # `check` runs a program twice

    seed(2027)(attempt)()


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_have_the_answers_of_one_process(name: str, alone: list[Any]) -> None:
    graph = SHAPES[name]
    start: dict[str, Any] = {"active": [0], "cost": {0: 0}} if graph.n else {}
    one, found = (gasla.run(programs.Cheapest, g, compile=False, **start) for g in (graph, over(graph, 3)))
    np.testing.assert_array_equal(found.cost, one.cost)
    assert isinstance(found.cost, distributed.BlockArray) and len(alone) == 1
    check_components(graph, 3)


def test_large_graphs_are_divided_except_for_searches(alone: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    spread = over(random_graph(), 3)
    assert "The first card runs it alone" in gasla.explain(programs.Hops, spread)
    assert f"because the graph has {spread.m} edges, fewer than 268,435,456." in gasla.explain(programs.Hops, spread)
    for least in ("DIVIDED", "DIVIDED_THIN"):
        monkeypatch.setattr(one_card, least, spread.m)
    said = gasla.explain(programs.Hops, spread)
    assert said.startswith(f"All cards take part, because the graph has {spread.m} edges, {spread.m} or more.\n3 ranks")
    gasla.run(programs.Hops, spread, **HOPS)
    assert not alone
    levels = gasla.bfs(spread, 3)
    assert len(alone) == 1
    np.testing.assert_array_equal(levels, gasla.bfs(random_graph(), 3))
    np.testing.assert_array_equal(gasla.bfs(spread, 3, parents=True).levels, levels)
    assert len(alone) == 2


def test_programs_whose_supersteps_end_on_the_host_are_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    for least in ("DIVIDED", "DIVIDED_THIN"):
        monkeypatch.setattr(one_card, least, 0)
    options, spread = distributed_run.Options(0, False, True, np.dtype(np.int32), True), over(random_graph(), 2)
    bucketed = type("Bucketed", (programs.Cheapest,), {"bucket": lambda self, vertex: vertex.id, "priority": None})
    assert not one_card.choose(programs.Cheapest(), spread, options).is_one
    chosen = one_card.choose(bucketed(), spread, options)
    assert chosen == (True, "over several cards the host takes part in each of its supersteps")


def test_communities_are_found_on_one_card(alone: list[Any]) -> None:
    graph = random_graph(120, 700)
    expected = gasla.louvain_communities(graph, refine=True, seed=3)
    found = gasla.louvain_communities(over(graph, 3), refine=True, seed=3)
    assert isinstance(found.labels, distributed.BlockArray) and len(found.levels) == len(expected.levels)
    for labels, right in zip(found.levels, expected.levels, strict=True):
        np.testing.assert_array_equal(labels, right)
    np.testing.assert_array_equal(found.labels, expected.labels)


def test_a_function_is_called_with_the_whole_graph_where_there_is_room(alone: list[Any]) -> None:
    graph = random_graph()
    spread = over(graph, 3)
    assert graph.on_one_device(lambda whole: whole) is graph
    found = spread.on_one_device(lambda whole: (type(whole), whole.m))
    assert found == (gasla.Graph, graph.m) and held(spread) == [True, False, False]
    other = over(graph, 3)
    other.one_card = False
    assert other.on_one_device(lambda whole: whole) is None and held(other) == [False] * 3


def test_ranks_without_gpus_have_no_device_of_their_own() -> None:
    assert over(random_graph(), 2).on_one_device(lambda whole: whole) is None


def test_a_caller_may_decide(alone: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    spread = over(random_graph(), 3)
    spread.one_card = False
    gasla.run(programs.Hops, spread, **HOPS)
    assert not alone and held(spread) == [False] * 3
    assert "All cards take part, because the graph's one_card is False." in gasla.explain(programs.Hops, spread)
    monkeypatch.setattr(one_card, "DIVIDED", 0)
    spread.one_card = True
    gasla.run(programs.Hops, spread, **HOPS)
    assert len(alone) == 1 and held(spread) == [True, False, False]


def test_edge_attributes_are_read_by_all_cards() -> None:
    """The copy of the whole graph has none."""
    program = type("Dear", (programs.Cheapest,), {"weight": gasla.edge(np.float64, attribute="price")})
    options = distributed_run.Options(0, False, True, np.dtype(np.int32), True)
    assert not one_card.choose(program(), over(random_graph(), 2), options).is_one
    assert one_card.choose(programs.Cheapest(), over(random_graph(), 2), options).is_one


def test_without_room_all_cards_take_part(alone: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is decided once; half of what is available is the limit, and the copy counts in the report."""
    graph, spread = random_graph(), over(random_graph(), 3)
    needed = 3 * graph.m * (4 + graph.values.itemsize) + 16 * graph.n  # type: ignore[union-attr]
    monkeypatch.setattr(memory, "available", lambda: 2 * needed - 1)
    found = gasla.run(programs.Hops, spread, **HOPS).hops
    np.testing.assert_array_equal(found, gasla.run(programs.Hops, graph, **HOPS).hops)
    assert "although the graph has" in gasla.explain(programs.Hops, spread)
    monkeypatch.setattr(memory, "available", lambda: 2 * needed)
    gasla.run(programs.Hops, spread, **HOPS)
    assert not alone and held(spread) == [False] * 3
    other = over(graph, 3)
    before = other.report()
    assert set(before["free_before"]) == set(before["free_after"]) == {2 * needed}
    for _ in range(2):
        np.testing.assert_array_equal(gasla.run(programs.Hops, other, **HOPS).hops, found)
    assert len(alone) == 2 and held(other) == [True, False, False]
    grown = other.report()["bytes"] - before["bytes"]
    assert grown[0] >= graph.m * (8 + graph.values.itemsize)  # type: ignore[union-attr]
    assert grown[1:].max() <= 4 * graph.n  # ids of local vertices
    monkeypatch.setattr(memory, "available", lambda: None)
    assert on_first_card(over(graph, 2)) is not None


def test_memory_that_runs_out_on_the_way_leaves_the_run_to_all(
    alone: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError

    spread = over(random_graph(), 2)
    monkeypatch.setattr("gasla.distributed.replicas.exchange_joined", fail)
    found = gasla.run(programs.Hops, spread, **HOPS)
    np.testing.assert_array_equal(found.hops, gasla.run(programs.Hops, random_graph(), **HOPS).hops)
    assert not alone


def test_a_run_for_which_memory_is_short_on_one_card_is_left_to_all(
    alone: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy of the whole graph is freed, and later runs make none."""

    def fail(*_: Any) -> None:
        raise MemoryError

    spread = over(random_graph(), 2)
    gasla.run(programs.Hops, spread, **HOPS)
    assert len(alone) == 1 and held(spread) == [True, False]
    monkeypatch.setattr(one_card, "_runs", fail)
    for _ in range(2):
        found = gasla.run(programs.Hops, spread, **HOPS)
        np.testing.assert_array_equal(found.hops, gasla.run(programs.Hops, random_graph(), **HOPS).hops)
        assert len(alone) == 1 and held(spread) == [False, False]


def test_results_of_one_card_start_runs_over_all_and_back(alone: list[Any]) -> None:
    graph, spread = random_graph(20, 60), over(random_graph(20, 60), 3)
    for order in ((True, False, True), (False, True, False)):
        state: Any = {}
        expected: Any = {}
        for is_one in order:
            spread.one_card = is_one
            state = gasla.run(Trails, spread, compile=False, max_iterations=2, **state).state
            expected = gasla.run(Trails, graph, compile=False, max_iterations=2, **expected).state
        for name, values in expected.items():
            np.testing.assert_array_equal(state[name], values, err_msg=name)
    assert len(alone) == 3


@pytest.mark.parametrize("is_one", [True, False])
def test_fields_are_left_in_arrays_given_for_them(is_one: bool, alone: list[Any]) -> None:
    graph, spread = random_graph(), over(random_graph(), 3)
    spread.one_card = is_one
    expected = gasla.run(programs.Hops, graph, **HOPS).hops
    blocks, array = spread.placed(np.full(graph.n, 10**6, np.int32)), np.full(graph.n, 10**6, np.int32)
    for out in (blocks, array):
        found = gasla.run(programs.Hops, spread, out={"hops": out}, **HOPS)
        assert found.hops is out
        np.testing.assert_array_equal(out, expected)
    assert len(alone) == 2 * is_one
    with pytest.raises(TypeError, match=r"no vertex field .hop. to leave in .out."):
        gasla.run(programs.Hops, spread, out={"hop": array}, **HOPS)


def test_traces_and_callbacks(alone: list[Any]) -> None:
    graph, spread, seen = random_graph(), over(random_graph(), 3), list[int]()
    one, found = (gasla.run(programs.Hops, g, trace=True, **HOPS) for g in (graph, spread))
    for column in ("active", "edges", "direction", "reason"):
        np.testing.assert_array_equal(found.trace[column], one.trace[column])
    assert not found.trace["exchanges"].any() and not found.trace["bytes"].any()
    gasla.run(programs.Hops, spread, callback=lambda r: seen.append(int(r.hops.sum())), **HOPS)
    assert len(seen) == one.iterations and seen[-1] == one.hops.sum()
    half = gasla.run(programs.Hops, spread, max_iterations=1, **HOPS)
    rest = gasla.run(programs.Hops, spread, active=half.active, hops=half.hops, compile=False)
    np.testing.assert_array_equal(rest.hops, one.hops)
    assert len(alone) == 4


def test_a_progress_function_may_ask_ranks(alone: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The run has the turn over cards, and the function is called within it."""
    make, seen = one_card._runs, list[int]()

    class Telling:
        def __init__(self, *given: Any) -> None:
            self.runs = make(*given)

        def begin(self, *given: Any) -> Any:
            run = self.runs.begin(*given)
            advance = run.advance
            monkeypatch.setattr(run, "advance", lambda until, tell, trace: (tell and tell(0), advance(until)))
            return run

    monkeypatch.setattr(one_card, "_runs", Telling)
    monkeypatch.setattr(distributed.ThreadRanks, "each", _in_turn(distributed.ThreadRanks.each))
    spread = over(random_graph(), 2)

    def run() -> None:
        gasla.run(programs.Hops, spread, progress=lambda _: seen.append(spread.report()["rank"][1]), **HOPS)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert seen == [1] and not thread.is_alive()


def _in_turn(each: Any) -> Any:
    """`each` as over cards."""

    def call(ranks: Any, *given: Any) -> Any:
        with thread_ranks.turn_over_cards:
            return each(ranks, *given)

    return call


def test_ranks_start_no_runs_of_all() -> None:
    """A rank's thread would wait for the caller, who has the turn over cards."""
    ranks = distributed.ThreadRanks(2)
    with pytest.raises(RuntimeError, match="a function on a rank has called members on all ranks"):
        ranks.each(lambda rank: ranks.members())


def test_aggregates_and_phases(alone: list[Any]) -> None:
    options: dict[str, Any] = {"max_iterations": 2, "compile": False, "group": np.array([3, 0, 3, 4, -1])}
    one, found = (gasla.run(Groups, g, **options) for g in (GRAPH, over(GRAPH, 3)))
    assert isinstance(found.aggregates["count"], distributed.BlockArray)
    np.testing.assert_array_equal(found.aggregates["count"], one.aggregates["count"])
    np.testing.assert_array_equal(found.size, one.size)
    with gasla.engines.interpreted():
        scores, expected = (gasla.hits(graph) for graph in (over(random_graph(), 3), random_graph()))
    np.testing.assert_allclose(scores.hubs, expected.hubs, atol=1e-12)
    assert len(alone) == 1  # the whole call of `hits` is on one card


def test_a_wrong_start_is_refused_as_on_one_card(alone: list[Any]) -> None:
    for graph in (random_graph(), over(random_graph(), 2)):
        with pytest.raises(TypeError, match="Hops has no field 'hop' to start with"):
            gasla.run(programs.Hops, graph, active=[3], hop=0, compile=False)
        with pytest.raises(ValueError, match=r"Hops.hops is given for vertex 999, outside a graph"):
            gasla.run(programs.Hops, graph, active=[3], hops={999: 0}, compile=False)


def test_runs_that_are_saved_go_over_all_cards(alone: list[Any], tmp_path: Path) -> None:
    with distributed.Checkpoint(tmp_path):
        spread = over(random_graph(), 2)
        gasla.run(programs.Hops, spread, **HOPS)
        assert "because a Checkpoint is open, although" in gasla.explain(programs.Hops, spread)
        assert spread.on_one_device(lambda whole: whole) is None
        with pytest.raises(ValueError, match="can't be saved"):
            gasla.louvain_communities(spread)
    assert not alone and held(spread) == [False, False]


class Numbered(Emulated):
    """Emulated cards that tell their numbers."""

    def members(self) -> list[Member]:
        return [Member(rank, card=rank, host="emulated", kept=kept) for rank, kept in enumerate(self._stores)]


def test_the_graph_on_the_first_card_is_used_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    without_gpu(monkeypatch)
    graph = random_graph()
    one = graph.to("gpu")
    spread = distributed.Graph.from_graph(one, Numbered(2))
    assert spread.original_on(0) is one and spread.original_on(1) is None
    assert one.values is not None  # from now on the caller can write to them
    assert spread.original_on(0) is None
    plain = gasla.Graph.from_edges(*graph.edges(), n=graph.n).to("gpu")
    spread = distributed.Graph.from_graph(plain, Numbered(2))
    assert plain.valued.each is None and spread.original_on(0) is plain
    del plain
    assert spread.original_on(0) is None
    assert distributed.Graph.from_graph(graph, Numbered(2)).original_on(0) is None


@pytest.mark.parametrize("name", SHAPES)
def test_whole_graphs_come_from_card_to_card(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one card has it already."""
    without_gpu(monkeypatch)
    graph = SHAPES[name]
    spread = distributed.Graph.from_graph(graph, Numbered(3))
    first = on_first_card(spread)
    assert first is not None and held(spread) == [True, False, False]
    assert first.valued.are_locked, "no caller has its values"
    wholes = spread.ranks.each(replica_on, spread.handle.key)
    assert wholes[0] is first
    for whole in wholes:
        assert whole.device == "gpu" and whole.n == graph.n
        for ends, expected in zip(whole.edges(), graph.edges(), strict=True):
            np.testing.assert_array_equal(ends.get(), expected)
        assert (whole.valued.each is None) == (graph.values is None)
        if graph.values is not None:
            np.testing.assert_array_equal(whole.valued.each.get(), graph.values)


def test_another_thread_may_take_what_is_dropped() -> None:
    class Taken(list[Any]):
        """What another thread has taken since this one has looked."""

        def __bool__(self) -> bool:
            return True

        def __len__(self) -> int:
            return 1

    dropped = Dropped()
    dropped.keys, dropped.freed = Taken(), Taken()
    assert [*dropped.taken()] == []
    dropped.add_with(owner := Handle(distributed.ThreadRanks(1)), 7)
    assert [*dropped.taken()] == []
    del owner
    assert [*dropped.taken()] == [7]
