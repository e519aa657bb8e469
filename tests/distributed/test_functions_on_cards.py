"""Every function that takes a distributed graph, over emulated cards: where it computes, and its answers."""

import re
import weakref
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
from benchmarks.functions_on_cards import CALLS, compare
from gasla import distributed
from gasla.bench.graphs import BenchmarkGraph
from gasla.cpu.runtime import memory
from gasla.distributed import replicas
from gasla.distributed.collectives.properties import FREE, SHARE
from gasla.distributed.engine import distributed_run, one_card
from gasla.gpu.program import peers
from gasla.operations.on_one_device import DECORATED, Gains, on_one_device
from tests.distributed.test_ranks import MARKED, over
from tests.helpers import ROOT, programs
from tests.helpers.emulated_peers import without_gpus

NEED_ATTRIBUTES = [what for what, call in CALLS.items() if call.graph == "temporal"]
TABLE = {
    name: (alone, shared, without)
    for names, alone, shared, without in re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \| (one card|one or all) \| ?([^|]*?) ?\| ([^|]*) \|",
        (ROOT / "docs/ranks.md").read_text(),
        re.M,
    )
    for name in re.findall(r"\w+", names)
}


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads count as cards, and what they compute on the host as computed there."""
    without_gpus(monkeypatch)
    monkeypatch.setattr(one_card, "is_free", lambda graph, options: True)
    emulated = vars(distributed_run)["exchanges"]
    monkeypatch.setattr(one_card, "exchanges", emulated)
    monkeypatch.setattr(distributed_run, "exchanges", lambda *_: False)
    monkeypatch.setattr(replicas, "MUCH", 0)
    memory = peers.joint_memory
    monkeypatch.setattr(memory, "spread_array", lambda counts, cards, kind: [np.empty(sum(counts), kind)] * len(cards))
    monkeypatch.setattr(memory, "spreading", lambda cards, least, free: nullcontext())


def tiny() -> BenchmarkGraph:
    """A connected graph with hubs, and whole numbers as weights."""
    n = 140
    src, dst = np.nonzero(
        np.triu((np.add.outer(3 * np.arange(n), 7 * np.arange(n)) % 11 < 2) | (np.arange(n) == 0)[:, None], 1)
    )
    src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    return BenchmarkGraph("tiny", csr_array(((1 + (src + dst) % 5).astype(np.float32), (src, dst)), shape=(n, n)))


def test_there_is_a_call_of_each_function() -> None:
    assert {name.partition(",")[0] for name in CALLS} == MARKED
    assert TABLE.keys() == MARKED


@pytest.mark.thorough
@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("room", ["on each card", "on all cards", "for none"])
def test_answers_are_those_of_one_card(what: str, room: str, cards: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of floats up to rounding, as each card adds up its own terms first."""
    q, call = tiny(), CALLS[what]
    one = getattr(q, call.graph)
    spread = over(one, 3)
    name = what.partition(",")[0]
    has_room = room == "on each card"
    if not has_room:
        monkeypatch.setattr(replicas, "available", lambda device: 1 << 10)
    if room == "for none":
        monkeypatch.setattr(peers, "are_peers", lambda cards: False)
    with nullcontext() if "personalizations" in what else gasla.engines.interpreted():
        expected = call.function(one, q)
        if room == "for none" and "MemoryError" in TABLE[name][2]:
            with pytest.raises(MemoryError, match=name):
                call.function(spread, q)
        else:
            compare(call, [expected, call.function(spread, q)])
    is_held = [replicas.REPLICA in member.kept[spread.handle.key] for member in spread.ranks.members()]
    assert is_held == ([False] * 3 if not has_room else is_held)
    over_cards = spread.ranks.members()[0].kept[spread.handle.key].get(replicas.OVER_CARDS)
    if name in DECORATED:
        assert (over_cards is not None) == (room == "on all cards" and what not in NEED_ATTRIBUTES)
    if has_room and TABLE[name][0] == "one card":
        assert is_held[0] and all(is_held[1:]) == bool(TABLE[name][1])


@pytest.mark.parametrize("name", sorted(MARKED))
def test_the_table_says_what_explain_says(name: str, cards: None) -> None:
    spread = over(tiny().graph, 3)
    said, (alone, shared, _) = gasla.explain(getattr(gasla, name), spread), TABLE[name]
    assert said.startswith("The first card computes it" if name in DECORATED else "Each of its programs")
    assert (f"The other cards share the {shared}," in said) == bool(shared)
    assert DECORATED.get(name, Gains("", True)) == Gains(shared, alone == "one or all")


def test_what_is_explained_depends_on_memory_and_wishes(cards: None, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tiny().graph
    assert gasla.explain(gasla.core_number, graph) == "It runs on the CPU, which has the whole graph."
    spread = over(graph, 2)
    spread.one_card = False
    assert "All cards take part, because the graph's one_card is False." in gasla.explain(gasla.core_number, spread)
    monkeypatch.setattr(memory, "available", lambda: 1 << 10)
    said = gasla.explain(gasla.core_number, over(graph, 2))
    assert said.startswith("The first card computes it, with neighbor lists in the memory of all, because no card has")
    monkeypatch.setattr(peers, "are_peers", lambda cards: False)
    said = gasla.explain(gasla.core_number, over(graph, 2))
    assert "because the first has no room" in said and f"{replicas.bytes_of_replica(spread):,} bytes" in said


def test_results_on_one_card_are_in_blocks(cards: None) -> None:
    spread = over(tiny().graph, 3)
    found = gasla.betweenness_centrality(spread, k=4, seed=1)
    assert isinstance(found, distributed.BlockArray)
    again = gasla.modularity(spread, gasla.strongly_connected_components(spread).labels)
    assert again == gasla.modularity(tiny().graph, np.zeros(140, int))
    assert isinstance(gasla.condensation(spread), gasla.Graph)


def test_entries_of_as_many_edges_as_vertices_are_whole(cards: None) -> None:
    ring = gasla.Graph.from_edges(range(6), [1, 2, 3, 4, 5, 0])
    assert isinstance(gasla.core_number(over(ring, 2)), np.ndarray)


def test_lists_over_cards_are_those_of_the_graph(cards: None) -> None:
    """Rows where edges are numbered by their sources; else both ends."""
    drawn = np.random.default_rng(1).integers(0, 30, (2, 200))
    for ends, is_by_source in ((drawn, False), (drawn[:, np.argsort(drawn[0], kind="stable")], True)):
        graph = gasla.Graph.from_edges(*ends, np.arange(200.0), n=30)
        spread = over(graph, 3)
        whole = replicas.over_cards(spread)
        assert whole is not None and whole is replicas.over_cards(spread)
        assert (whole.lists.rows is not None) == is_by_source
        for found, expected in zip([*whole.edges(), whole.values], [*graph.edges(), graph.values], strict=True):
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(
            gasla.minimum_spanning_forest(whole).edges, gasla.minimum_spanning_forest(graph).edges
        )


def test_few_walkers_are_left_to_the_first_card(cards: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step counts as some visits of edges."""
    graph = tiny().graph
    for much, are_shared in ((4 * 10 * 6, True), (4 * 10 * 6 + 1, False)):
        monkeypatch.setattr(replicas, "MUCH", much)
        spread = over(graph, 2)
        walks = gasla.random_walks(spread, range(10), 6, seed=3)
        np.testing.assert_array_equal(walks, gasla.random_walks(graph, range(10), 6, seed=3))
        assert (replicas.REPLICA in spread.ranks.members()[1].kept[spread.handle.key]) == are_shared


@pytest.fixture
def starved(cards: None) -> Iterator[tuple[Any, list[str]]]:
    """A function for which no memory suffices on one card, and where it was called."""
    calls = list[str]()

    @on_one_device()
    def vertices(graph: Any) -> int:
        calls.append(type(graph.whole.lists).__name__ if graph.is_whole else "all")
        if graph.is_whole:
            raise MemoryError
        return int(graph.n)

    yield vertices, calls
    del DECORATED["vertices"]


def test_without_room_on_the_way_all_cards_take_part(
    starved: tuple[Any, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do when lists over all cards were tried twice: the second time without what earlier calls keep."""
    vertices, calls = starved
    graph, made = tiny().graph, list[Any]()
    joined = replicas._joined_lists
    monkeypatch.setattr(replicas, "_joined_lists", lambda *given: made.append(given) or joined(*given))
    monkeypatch.setattr(replicas, "available", lambda device: 1 << 10)
    assert vertices(over(graph, 2)) == graph.n
    assert len(calls) == 3 and calls[-1] == "all" and len(made) == 2


def test_a_copy_that_leaves_too_little_memory_is_given_up(
    starved: tuple[Any, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists over all cards take its place, in later calls as well."""
    vertices, calls = starved
    graph, freed = tiny().graph, list[Any]()
    monkeypatch.setattr(peers, "free_unused", freed.append)
    spread = over(graph, 2)
    gasla.core_number(spread)
    gasla.run(programs.Hops, spread, active=[3], hops={3: 0}, compile=False)
    kept = [member.kept[spread.handle.key] for member in spread.ranks.members()]
    assert replicas.REPLICA in kept[0]
    assert vertices(spread) == graph.n
    assert len(calls) == 4 and len(freed) == 3
    assert all(store.keys() <= {SHARE, FREE, replicas.ASKED, replicas.ALL_ASKED} for store in kept)
    np.testing.assert_array_equal(gasla.core_number(spread), gasla.core_number(graph))
    assert replicas.REPLICA not in kept[0] and kept[0][replicas.OVER_CARDS] is not None


def test_memory_that_runs_out_while_lists_are_copied_is_freed(cards: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors refer to frames, and these to arrays."""
    held = list[weakref.ref[np.ndarray]]()

    def fail(*_: Any) -> None:
        column = np.zeros(9)
        held.append(weakref.ref(column))
        raise MemoryError

    freed, graph = list[bool](), tiny().graph
    spread = over(graph, 2)
    monkeypatch.setattr(peers, "free_unused", lambda _: freed.append(all(one() is None for one in held)))
    monkeypatch.setattr(replicas, "exchange_joined", fail)
    assert replicas.on_first_card(spread) is None
    assert held and freed == [True]


def test_lists_are_not_spread_by_a_driver_that_maps_no_memory(cards: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicas, "available", lambda device: 1 << 10)
    monkeypatch.setattr(peers.joint_memory, "can_map", lambda cards: False)
    graph = tiny().graph
    spread = over(graph, 2)
    with gasla.engines.interpreted():
        np.testing.assert_array_equal(gasla.core_number(spread), gasla.core_number(graph))
    assert replicas.over_cards(spread) is None
