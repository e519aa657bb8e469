"""Runs like one before on the same graph, which take a shorter way to the kernel."""

import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numba
import numpy as np
import programs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from test_algorithms import chain, matrices
from test_programs import CASES, NAMES
from waiting import count_sleepers

import gasla
from gasla import datasets, verify
from gasla.algorithms.bfs import LEVELS
from gasla.cpu.program import again, engine, launch, passes
from gasla.cpu.program.passes import Passes
from gasla.cpu.program.spare import Spare
from gasla.cpu.runtime import threads
from gasla.graph.graph import Graph
from gasla.operations.run import left_running

SOON = (programs.Hops, programs.Nearest)  # one that takes the short way, and one that doesn't
SOME_AND_ALL = [pytest.param(*case[:2], case[3], marks=[] if case[0] in SOON else pytest.mark.slow) for case in CASES]
SHORT: tuple[type, ...] = (programs.Hops, programs.Paths, programs.Reach, programs.Seven, programs.Counter)
SHORT += (programs.Alarm, programs.Ring, programs.Bell)
SHORT_WAY, TAKE = again.Again.__call__, Passes.take


@pytest.fixture
def short_ways(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An entry for each run that takes the short way."""
    taken: list[int] = []

    def call(self: Any, source: Any, *others: Any) -> Any:
        left = SHORT_WAY(self, source, *others)
        if left is not None:
            taken.append(source)
        return left

    monkeypatch.setattr(again.Again, "__call__", call)
    return taken


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Even for the smallest graph."""
    monkeypatch.setattr(engine, "SMALL", 0)
    numba.set_num_threads(2)
    yield
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)


@pytest.fixture(params=["one thread", "two threads", "a second one later on", "two, arguments not kept"])
def crew(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As many threads even for the smallest graph; the second one comes at once, or in the midst of a run.

    Arguments are not kept where NumPy's arrays aren't laid out as expected.
    """
    monkeypatch.setattr(engine, "SMALL", 0)
    monkeypatch.setattr(engine, "ALONE", 3)
    monkeypatch.setattr(engine, "THIN", 2)
    monkeypatch.setattr(engine, "LASTING", 1)
    sleepers = 1000 if request.param == "a second one later on" else -1000
    count_sleepers(sleepers)
    numba.set_num_threads(1 if request.param == "one thread" else 2)
    if request.param == "two, arguments not kept":
        monkeypatch.setattr(launch, "HEAD", launch.HEAD + 8)
    yield
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    count_sleepers(-sleepers)


@pytest.mark.usefixtures("crew")
@settings(max_examples=40)
@given(A=matrices(), data=st.data())
def test_searches(A: csr_array, data: st.DataObject) -> None:
    graph, ones = Graph(A), csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    for source in data.draw(st.lists(st.integers(0, A.shape[0] - 1), min_size=2, max_size=4)):
        levels, parents = gasla.bfs(graph, source, parents=True)
        expected = dijkstra(ones, indices=source)
        np.testing.assert_array_equal(np.where(levels < 0, np.inf, levels), expected)
        verify.bfs(graph, source, levels, parents)
        np.testing.assert_array_equal(gasla.bfs(graph, source), levels)
        depth = data.draw(st.integers(0, 4))
        cut = gasla.bfs(graph, source, depth_limit=depth)
        np.testing.assert_array_equal(cut, np.where(levels > depth, -1, levels))
        np.testing.assert_array_equal(gasla.sssp(graph, source), dijkstra(A, indices=source))


@pytest.mark.usefixtures("crew")
@settings(max_examples=40)
@given(A=matrices(least=1), weighted=st.booleans())
def test_betweenness_of_all_sources_is_the_sum_of_each(A: csr_array, weighted: bool) -> None:
    n = A.shape[0]
    options = {"normalized": False, "weighted": weighted}
    alone = [gasla.betweenness_centrality(Graph(A), sources=[s], **options) for s in range(n)]
    together = gasla.betweenness_centrality(Graph(A), **options)
    # From one source it is an estimate of what all come to: n - 1 times as much.
    np.testing.assert_allclose(together, sum(alone) / max(n - 1, 1), rtol=1e-12, atol=1e-12)


def test_a_search_takes_it_from_the_second_on(short_ways: list[int]) -> None:
    graph = chain(10)
    for source in (3, 5, 7):
        gasla.bfs(graph, source)
    gasla.bfs(graph, 2, parents=True)  # another program
    gasla.bfs(graph, 4, parents=True)
    assert short_ways == [5, 7, 4]


@pytest.mark.usefixtures("crew")
@pytest.mark.parametrize(("program", "start", "limit"), SOME_AND_ALL, ids=NAMES)
def test_any_program(program: Any, start: Any, limit: int, short_ways: list[int]) -> None:
    """Whether it can take the short way, which knows no parameters, aggregates or fields of edges, or not."""
    rng = np.random.default_rng(5)
    graph = Graph.from_edges(*rng.integers(0, 50, (2, 150)), rng.integers(0, 9, 150), n=50)
    for source in (3, 8, 3):
        given = start(source)
        expected = gasla.run(program, graph, active=[source], max_iterations=limit, **given)
        fields = {name: values[source] for name, values in given.items()}
        found, iterations = left_running(program(), graph, source, limit=limit, **fields)
        assert iterations == expected.iterations
        for name, values in expected.state.items():
            np.testing.assert_array_equal(found[name], values, err_msg=name)
    assert len(short_ways) == (3 if program in SHORT else 0)


class Until(programs.Hops):
    """Ends before everybody is reached."""

    def stop(self):
        return self.iteration >= 2


@pytest.mark.usefixtures("crew")
def test_whatever_a_run_from_a_vertex_starts_with(short_ways: list[int]) -> None:
    """Nothing, a number, or an array, which is then copied; and it ends where the program says."""
    graph, own = chain(10), np.arange(10, dtype=np.int32)[::-1].copy()
    for fields in ({"hops": {3: 0}}, {}, {"hops": {3: 5}}, {"hops": own}, {"hops": {3: 0}}):
        for program in (programs.Hops, Until):
            expected = gasla.run(program, graph, active=[3], **fields)
            value = fields.get("hops")
            given = {} if value is None else {"hops": value[3] if isinstance(value, dict) else value}
            found, iterations = left_running(program(), graph, 3, **given)
            np.testing.assert_array_equal(found["hops"], expected.hops)
            assert iterations == expected.iterations
    assert len(short_ways) == 10
    np.testing.assert_array_equal(own, np.arange(10)[::-1])


@pytest.mark.usefixtures("no_collector")
def test_nobody_keeps_what_a_run_gave() -> None:
    graph = chain(10)
    kept = []
    for _ in range(3):
        levels, parents = gasla.bfs(graph, 3, parents=True)
        scores = gasla.betweenness_centrality(graph, sources=[1, 2, 3])
        kept += map(weakref.ref, (levels, parents, scores))
    del levels, parents, scores
    assert [ref() for ref in kept] == [None] * 9


@pytest.mark.parametrize("small", [0, engine.SMALL])
def test_betweenness_on_another_number_of_threads(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where one does all."""
    monkeypatch.setattr(engine, "SMALL", small)
    graph = Graph(datasets.rmat(9))
    expected = gasla.betweenness_centrality(graph, sources=range(9))
    try:
        for count in (1, 2, 2, 1, 2):
            numba.set_num_threads(count)
            found = gasla.betweenness_centrality(graph, sources=range(9))
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    finally:
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)


@pytest.fixture
def passes_taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """An entry for each source that betweenness hands to its passes: which, and whether they had done with it."""
    taken: list[tuple[int, bool]] = []

    def take(self: Passes, source: int) -> Any:
        found = TAKE(self, source)
        taken.append((source, found is True))
        return found

    monkeypatch.setattr(Passes, "take", take)
    return taken


@pytest.mark.usefixtures("crew")
def test_betweenness_goes_on_from_the_second_source(passes_taken: list[tuple[int, bool]]) -> None:
    graph = chain(10)
    first = gasla.betweenness_centrality(graph, sources=[1, 2, 0], normalized=False)
    assert passes_taken == [(2, True), (0, True)]
    before = first.copy()
    np.testing.assert_array_equal(gasla.betweenness_centrality(graph, sources=[1, 2, 0], normalized=False), before)
    assert passes_taken[2:] == [(1, True), (2, True), (0, True)]
    np.testing.assert_array_equal(first, before)  # an array of its own
    del passes_taken[:]
    gasla.betweenness_centrality(graph, sources=[1, 2], weighted=True)
    gasla.betweenness_centrality(graph, sources=[1, 2], endpoints=True)
    assert passes_taken == []


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("what", ["threads", "workspace"])
def test_betweenness_where_others_have_the_threads_or_the_workspace(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain(10)
    expected = gasla.betweenness_centrality(graph, sources=range(4))
    spare: Spare = graph.known("spare")

    def take(self: Passes, source: int) -> Any:
        if source != 2:
            return TAKE(self, source)
        if what == "threads":
            assert threads.hold(graph)
        workspace = spare.pop("workspace")
        if what == "threads":
            spare["workspace"] = workspace
        assert TAKE(self, source) is False
        threads.busy.clear()
        spare["workspace"] = workspace
        return False

    monkeypatch.setattr(Passes, "take", take)
    np.testing.assert_array_equal(gasla.betweenness_centrality(graph, sources=range(4)), expected)
    assert not threads.busy and "workspace" in spare


@pytest.mark.usefixtures("crew")
@pytest.mark.parametrize("middles", [2, 8])
def test_betweenness_of_a_source_with_more_paths_than_numbers(
    middles: int, passes_taken: list[tuple[int, bool]]
) -> None:
    """From the first vertex there are 2**1500, or surely too many; from those near the end few."""
    k = 1500
    junction = (middles + 1) * np.arange(k + 1)
    middle = junction[:-1, None] + 1 + np.arange(middles)
    src = np.concatenate([np.repeat(junction[:-1], middles), middle.ravel()])
    dst = np.concatenate([middle.ravel(), np.repeat(junction[1:], middles)])
    graph = Graph.from_edges(src, dst)
    sources = [*map(int, junction[[-3, -5, 0, -4]])]
    alone = [gasla.betweenness_centrality(Graph.from_edges(src, dst), sources=[s], normalized=False) for s in sources]
    for _ in range(2):
        together = gasla.betweenness_centrality(graph, sources=sources, normalized=False)
        keep = np.ones(graph.n, bool)
        keep[sources] = False  # of which the estimate knows three quarters
        np.testing.assert_allclose(together[keep], sum(alone)[keep] / 4, rtol=1e-12)
    assert passes_taken == 2 * [(sources[1], True), (0, False)]  # wide numbers want a larger workspace, for all anew


def test_who_has_the_workspace_makes_what_passes_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others would write to the same control words meanwhile."""
    graph, is_free = chain(10), []

    class Watched(passes.Pages):
        def __init__(self, *arguments: Any) -> None:
            is_free.append("workspace" in graph.known("spare"))
            super().__init__(*arguments)

    monkeypatch.setattr(passes, "Pages", Watched)
    for _ in range(2):
        gasla.betweenness_centrality(graph, sources=[1, 2, 3])
    assert is_free == [False]


@pytest.mark.usefixtures("two_threads")
def test_betweenness_and_searches_in_several_threads() -> None:
    """They take the threads and the workspace of one graph from each other, anywhere between two lines of Python."""
    A, sources = datasets.rmat(9), range(4)
    expected = gasla.betweenness_centrality(Graph(A), sources=sources), gasla.bfs(Graph(A), 5)

    def work(graph: Graph, what: int) -> list[np.ndarray]:
        calls = (lambda: gasla.betweenness_centrality(graph, sources=sources), lambda: gasla.bfs(graph, 5))
        return [calls[what]() for _ in range(2)]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            kinds = 0, 1, 0, 0
            with ThreadPoolExecutor(4) as executor:
                answers = executor.map(partial(work, Graph(A)), kinds)
            for what, found in zip(kinds, answers, strict=True):
                for answer in found:
                    np.testing.assert_allclose(answer, expected[what], rtol=1e-12)
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.usefixtures("two_threads")
def test_ctrl_c_in_a_pass_leaves_neither_threads_nor_workspace_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain(10)
    expected = gasla.betweenness_centrality(graph, sources=range(4))

    to_end = again.Again.to_end

    def interrupted(run: again.Again, *arguments: Any, **options: Any) -> int:
        assert threads.busy
        if options:  # a schedule's
            raise KeyboardInterrupt
        return to_end(run, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(again.Again, "to_end", interrupted)
        with pytest.raises(KeyboardInterrupt):
            gasla.betweenness_centrality(graph, sources=range(4))
    assert not threads.busy and "workspace" not in graph.known("spare")  # nobody knows what is in it
    np.testing.assert_array_equal(gasla.betweenness_centrality(graph, sources=range(4)), expected)


def test_results_are_arrays_of_their_own() -> None:
    graph = chain(10)
    found = [gasla.bfs(graph, source) for source in (3, 5, 7)]
    for source, levels in zip((3, 5, 7), found, strict=True):
        np.testing.assert_array_equal(levels, np.where(np.arange(10) < source, -1, np.arange(10) - source))


def held(graph: Graph) -> Any:
    """While another run has the threads."""
    owner = object()
    assert threads.hold(owner)
    try:
        return gasla.sssp(graph, 0)
    finally:
        del threads.busy["owner"]


def without_workspace(graph: Graph) -> Any:
    """While another run has the workspace."""
    kept: Spare = graph.known("spare")
    taken = kept.pop("workspace")
    try:
        return gasla.sssp(graph, 0)
    finally:
        kept["workspace"] = taken


def with_other_threads(graph: Graph) -> Any:
    """With another number of threads than before."""
    numba.set_num_threads(1)
    try:
        return gasla.sssp(graph, 0)
    finally:
        numba.set_num_threads(2)


WAYS = {
    "delta is given": lambda graph: gasla.sssp(graph, 0, delta=0.5),
    "others have the threads": held,
    "others have the workspace": without_workspace,
    "another number of threads": with_other_threads,
}


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("call", WAYS.values(), ids=WAYS)
def test_otherwise_the_long_way_gives_the_same(
    call: Any, short_ways: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = chain(10)
    expected = gasla.sssp(graph, 0)
    np.testing.assert_array_equal(call(graph), expected)
    assert short_ways == []
    for _ in range(2):
        np.testing.assert_array_equal(gasla.sssp(graph, 0), expected)
    assert short_ways


def test_an_open_bar_is_told_of_iterations(short_ways: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain(10)
    expected = gasla.bfs(graph, 0)
    monkeypatch.setattr("gasla.cpu.program.spare.is_watched", lambda: True)
    for most, taken in ((0, []), (100, [0])):  # the graph is small enough for nobody to have to wait
        monkeypatch.setattr("gasla.cpu.program.spare.LONG", most)
        np.testing.assert_array_equal(gasla.bfs(graph, 0), expected)
        assert short_ways == taken


@pytest.mark.usefixtures("two_threads")
def test_ctrl_c_leaves_neither_threads_nor_workspace_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain(10)
    gasla.bfs(graph, 0)

    def interrupted(run: again.Again, *_: Any) -> None:
        assert threads.are_held(run)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(again.Again, "to_end", interrupted)
        with pytest.raises(KeyboardInterrupt):
            gasla.bfs(graph, 0)
    assert not threads.busy and "workspace" not in graph.known("spare")  # nobody knows what is in it
    np.testing.assert_array_equal(gasla.bfs(graph, 0), np.arange(10))


def test_more_iterations_than_a_word_counts_are_no_limit() -> None:
    np.testing.assert_array_equal(gasla.bfs(chain(10), 0, depth_limit=10**30), np.arange(10))


def test_fields_are_left_with_the_number_of_iterations() -> None:
    graph = chain(10)
    for source in (0, 4):
        found, iterations = left_running(LEVELS, graph, source, level=0)
        assert iterations == 10 - source and list(found) == ["level"]
