"""Eight threads at once: what they share is made once, whole, and for all; with and without the interpreter's lock."""

import gc
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gasla
import semirings
from gasla import cache, datasets, primitives, progress
from gasla.compiler import function
from gasla.cpu.runtime import blocks, threads
from gasla.cpu.runtime.workers import MOST
from gasla.graph import lists_cpu
from gasla.graph.adjacency import Adjacency
from gasla.graph.transform import contract_cpu
from gasla.once import once, once_property, only_one
from gasla.operations import prepare as preparing
from semirings import constant
from semirings.expr import Symbol
from tests.helpers import ROOT

EIGHT = 8
SECONDS = 60


@pytest.fixture(autouse=True)
def switch_often() -> Iterator[None]:
    """Python switches threads as often as it can, so that with its lock, too, any two lines are parted soon."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(call: Callable[[int], Any], count: int = EIGHT) -> list[Any]:
    """Call a function with a number in each of several threads that begin together; the results, or an error."""
    barrier = threading.Barrier(count)

    def begin(number: int) -> Any:
        barrier.wait(SECONDS)
        return call(number)

    with ThreadPoolExecutor(count) as pool:
        return [each.result(SECONDS) for each in [pool.submit(begin, number) for number in range(count)]]


def random_matrix(seed: int = 3, n: int = 300, m: int = 2000, format: str = "coo") -> Any:
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (2, m))
    return sp.coo_array((rng.integers(1, 9, m).astype(np.float64), ends), shape=(n, n)).asformat(format)


# --- expressions ----------------------------------------------------------------------------------------------------


def test_equal_expressions_are_one_object_in_all_threads() -> None:
    """Structure is compared by identity."""
    x = Symbol("x", np.dtype(np.float64))
    for attempt in range(100):

        def build(_: int, number: int = attempt) -> Any:
            return semirings.minimum(x * constant(1000.0 + number), x + constant(2000.0 + number))

        made = at_once(build)
        assert len({id(each) for each in made}) == 1


# --- what a graph makes when it is first read -------------------------------------------------------------------------

MADE = [
    "out", "in_", "both", "leaving", "sorted_out", "out_degrees", "in_degrees", "max_out_degree", "max_in_degree",
    "out_edge_ids", "in_edge_ids", "is_symmetric", "has_self_loops", "has_parallel_edges", "in_values", "out_values",
    "value_range", "has_symmetric_values",
]  # fmt: skip


def parts_of(value: Any) -> list[Any]:
    """Arrays and numbers of a property."""
    return list(value) if isinstance(value, Adjacency | tuple) else [value]


@pytest.mark.parametrize("format", ["coo", "csr", "csc"])
@pytest.mark.parametrize("name", MADE)
def test_threads_get_the_same_lists(name: str, format: str) -> None:
    A = random_matrix(format=format)
    expected = parts_of(getattr(gasla.Graph(A), name))
    for _ in range(5):
        graph = gasla.Graph(A)
        made = at_once(lambda _, graph=graph: getattr(graph, name))
        if isinstance(made[0], Adjacency | np.ndarray):
            assert len({id(each) for each in made}) == 1, "made more than once"
        for each in made:
            for part, wanted in zip(parts_of(each), expected, strict=True):
                np.testing.assert_array_equal(part, wanted)


def test_lists_are_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight threads that begin together hold one pair of lists in memory, not eight."""
    calls, build = [], lists_cpu.transpose_pattern

    def slowly(*given: Any) -> Any:
        calls.append(threading.get_ident())
        threading.Event().wait(0.1)
        return build(*given)

    monkeypatch.setattr(lists_cpu, "transpose_pattern", slowly)
    graph = gasla.Graph(random_matrix(format="csr"))
    at_once(lambda _: graph.in_)
    assert len(calls) == 1


def test_a_failure_is_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waited for a thread that failed tries it again."""
    failures, build = itertools.count(), lists_cpu.transpose_pattern

    def fail_first(*given: Any) -> Any:
        if next(failures) == 0:
            raise MemoryError("none left")
        return build(*given)

    monkeypatch.setattr(lists_cpu, "transpose_pattern", fail_first)
    graph = gasla.Graph(random_matrix(format="csr"))

    def ask(_: int) -> Any:
        try:
            return graph.in_
        except MemoryError:
            return None

    made = at_once(ask)
    assert made.count(None) == 1
    assert len({id(each) for each in made if each is not None}) == 1


def test_who_enters_again_keeps_others_out() -> None:
    owner, said, inside = object(), list[str](), threading.Event()

    def enter() -> None:
        inside.wait(SECONDS)
        with only_one(owner, "x"):
            said.append("other")

    other = threading.Thread(target=enter)
    other.start()
    with only_one(owner, "x"):
        with only_one(owner, "x"):
            pass
        inside.set()
        other.join(0.05)
        said.append("first")
    other.join(SECONDS)
    assert said == ["first", "other"]


@pytest.mark.parametrize("first", ["fails", "waits"])
def test_one_thread_makes_a_value_after_another_failed(first: str) -> None:
    """Where the first maker fails while one waits, and a third comes later; or where one that waits is interrupted."""
    makers, most, made = 0, 0, 0
    begun, counting = threading.Semaphore(0), threading.Lock()

    class Owner:
        @once_property
        def value(self) -> object:
            nonlocal makers, most, made
            with counting:
                makers, made = makers + 1, made + 1
                most, number = max(most, makers), made
            begun.release()
            time.sleep(0.2)
            with counting:
                makers -= 1
            if number == 1 and first == "fails":
                raise MemoryError
            return object()

    owner = Owner()

    def read() -> object:
        try:
            return owner.value
        except MemoryError:
            return None

    with ThreadPoolExecutor(3) as pool:
        reads = [pool.submit(read)]
        assert begun.acquire(timeout=SECONDS)
        if first == "fails":
            reads.append(pool.submit(read))
            assert begun.acquire(timeout=SECONDS)  # the first has left
        else:
            interrupt_after(0.05, lambda: owner.value)
        reads.append(pool.submit(read))
        found = {each.result(SECONDS) for each in reads} - {None}
    assert most == 1 and len(found) == 1, (most, found)


def interrupt_after(seconds: float, call: Callable[[], object]) -> None:
    """Raise an error in a call of this thread, which waits for a lock."""

    def interrupt(*_: object) -> None:
        raise InterruptedError

    if not hasattr(signal, "setitimer"):
        pytest.skip("no alarms")
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with pytest.raises(InterruptedError):
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("call", ["of the same kind", "of another kind", "made before"])
def test_functions_of_a_program_may_wait_for_another_thread(call: str) -> None:
    """As for a lock of the caller's, whose holder calls gasla as well."""
    tracing, returned = threading.Event(), threading.Event()
    waits: list[bool] = []
    graph, other = (gasla.Graph.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0]) for _ in range(2))

    def program(gather: Callable[[Any], Any]) -> type[gasla.VertexProgram]:
        class Counting(gasla.VertexProgram):
            x = gasla.vertex(np.int64, init=0)
            reduce = semirings.plus

            def gather(self, src: Any, dst: Any, edge: Any) -> Any:
                return gather(src)

            def apply(self, vertex: Any, gathered: Any) -> Any:
                return {"x": gathered}

        return Counting

    def wait(src: Any) -> Any:
        tracing.set()
        waits.append(returned.wait(5))
        return src.x + 1

    plain = program(lambda src: src.x + 2)
    if call == "made before":
        gasla.run(plain, graph, max_iterations=1)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(gasla.run, program(wait), graph, max_iterations=1)
        assert tracing.wait(SECONDS)
        if call == "of another kind":
            gasla.mxv(graph, np.ones(3, np.float32), semirings.plus_times)
        else:
            gasla.run(plain, other, max_iterations=1)
        returned.set()
        assert waiting.result(SECONDS).x.tolist() == [1, 1, 1]
    assert waits and all(waits)


def test_a_cache_makes_each_result_once_and_keeps_the_last() -> None:
    made: list[Any] = []

    @once(most=2)
    def note(value: Any, more: int = 0) -> list[Any]:
        time.sleep(0.01)
        made.append((value, more))
        return [value]

    found = at_once(lambda number: note(number % 2))
    assert sorted(made) == [(0, 0), (1, 0)] and len({id(each) for each in found}) == 2
    assert note(0) is found[0] and note(1.0) is found[1]
    note(0, more=1)
    assert len(made) == 3
    (first, _), (second, _), _ = made
    assert note(second) is found[second] and note(first) is not found[first]  # which was forgotten
    note.cache_clear()  # type: ignore[attr-defined]
    assert note(0, more=1) is not note(0)

    @once(typed=True)
    def kind(value: Any) -> type:
        return type(value)

    assert [kind(1), kind(1.0), kind(True), kind(1)] == [int, float, bool, int]


def test_two_graphs_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """One needs its symmetry for its lists, the other one its lists for its symmetry."""
    looking, going_on, look = threading.Event(), threading.Event(), lists_cpu.ascends_within

    def stop_here(*given: Any, **options: Any) -> Any:
        if threading.current_thread().name == "by columns":
            looking.set()
            assert going_on.wait(SECONDS)
        return look(*given, **options)

    monkeypatch.setattr(lists_cpu, "ascends_within", stop_here)
    by_columns, by_ends = gasla.Graph(random_matrix(format="csc")), gasla.Graph(random_matrix())
    first = threading.Thread(target=lambda: by_columns.out, name="by columns", daemon=True)
    first.start()
    assert looking.wait(SECONDS)
    second = threading.Thread(target=lambda: by_ends.is_symmetric, daemon=True)
    second.start()
    second.join(1)
    going_on.set()
    for thread in (first, second):
        thread.join(10)
        assert not thread.is_alive(), "two threads wait for each other"


def test_edge_numbers_that_are_computed_when_read() -> None:
    """The function that computes them makes way for its result while others are about to call it."""
    for _ in range(100):
        lists = Adjacency(np.array([0, 2]), np.array([0, 0]), lambda: np.array([1, 0]))
        made = at_once(lambda _, lists=lists: lists.edge_ids, 4)
        assert len({id(each) for each in made}) == 1 and made[0].tolist() == [1, 0]


def test_attributes_that_are_computed_when_read() -> None:
    graph = gasla.Graph(random_matrix()).with_edge_attributes(hours=np.arange(2000.0))
    for _ in range(20):
        part = graph.subgraph(np.arange(100))
        made = at_once(lambda _, part=part: part.weighted_by("hours"))
        assert len({id(each) for each in made}) == 1
        assert made[0].values is part.edge_attributes["hours"]


def test_sizes_and_copies_while_others_add() -> None:
    """A thread that watches memory, or sends graphs, reads what others are adding to."""
    A = random_matrix(format="csr")
    graph = gasla.Graph(A)
    ended = threading.Event()

    def work(number: int) -> int:
        if number < 4:
            for k in range(50):
                graph.kept((number, k), lambda _: np.zeros(1))
                other = gasla.Graph(A)
                for name in MADE:
                    getattr(other, name)
            ended.set()
            return 0
        looks = 0
        while not ended.is_set():
            other = gasla.Graph(A)
            thread = threading.Thread(target=lambda g: [getattr(g, name) for name in MADE], args=(other,))
            thread.start()
            while thread.is_alive():
                assert graph.nbytes > 0 and other.nbytes > 0
                assert pickle.loads(pickle.dumps(other)).m == other.m
                assert other.lists.to("cpu").n == other.valued.to("cpu", other.lists).lists.n
            thread.join()
            looks += 1
        return looks

    assert sum(at_once(work, 6)) > 0


# --- compiling --------------------------------------------------------------------------------------------------------


@pytest.fixture
def compiled_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What is compiled, where nothing can be stored, as in a container whose files are read-only."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path / "file" / "none"))
    texts, compile_ir = list[str](), function.compile_ir

    def noted(text: str, *given: Any, **named: Any) -> bytes:
        texts.append(text)
        return compile_ir(text, *given, **named)

    monkeypatch.setattr(function, "compile_ir", noted)
    return texts


class Calls(list[int]):
    """The threads that call a function, which takes long, so that others come meanwhile."""

    def note(self) -> None:
        self.append(threading.get_ident())
        time.sleep(0.1)


def test_one_program_is_compiled_once(compiled_texts: list[str]) -> None:
    """Its functions are called once as well."""
    calls = Calls()

    class Growing(gasla.VertexProgram):
        level = gasla.vertex(np.int64, init=1)
        reduce = semirings.plus

        def gather(self, src: Any, dst: Any, edge: Any) -> Any:
            calls.note()
            return src.level * 3 + 1

        def apply(self, vertex: Any, gathered: Any) -> Any:
            return {"level": vertex.level * 2 + gathered}

    graph = gasla.Graph(random_matrix(format="csr"))
    found = at_once(lambda _: gasla.run(Growing, graph, max_iterations=3).level)
    assert len(calls) == 1
    assert compiled_texts and len(compiled_texts) == len(set(compiled_texts))
    with gasla.engines.interpreted():
        expected = gasla.run(Growing, graph, max_iterations=3).level
    for each in found:
        np.testing.assert_array_equal(each, expected)


def test_one_product_is_compiled_once(compiled_texts: list[str]) -> None:
    calls = Calls()

    def multiply(a: Any, b: Any) -> Any:
        calls.note()
        return a * 7 + b * 11

    A, x, own = random_matrix(format="csr"), np.arange(300.0), semirings.Semiring(semirings.plus, multiply)
    found = at_once(lambda _: gasla.mxv(A, x, own))
    assert len(set(calls)) == 1
    assert compiled_texts and len(compiled_texts) == len(set(compiled_texts))
    dense = A.toarray()
    for each in found:
        np.testing.assert_allclose(each, np.where(dense != 0, dense * 7 + x * 11, 0).sum(axis=1))


def test_files_of_the_cache_are_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each has its own value, whoever wrote it last."""
    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path))
    texts = [bytes([number]) * 5000 for number in range(EIGHT)]

    def work(number: int) -> None:
        for _ in range(20):
            cache.store("kernels/one", texts[number])
            assert cache.load("kernels/one") in texts

    at_once(work)
    assert [file.name for file in (tmp_path / "kernels").iterdir()] == ["one"], "a temporary file is left"


# --- runs -------------------------------------------------------------------------------------------------------------


class Hops(gasla.VertexProgram):
    hops = gasla.vertex(np.int32, init=100)
    reduce = semirings.min

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return src.hops + 1

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"hops": semirings.minimum(vertex.hops, gathered)}

    def activate(self, before: Any, after: Any) -> Any:
        return after.hops < before.hops


def test_prepared_runs_take_one_call_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call has its own answer, or the error; never do two run at once."""
    graph = gasla.Graph(random_matrix(format="csr"))
    search, inside, most, run_once = gasla.prepare(Hops, graph), itertools.count(), [], preparing.run_once
    now = set[int]()

    def counted(*given: Any) -> Any:
        number = next(inside)
        now.add(number)
        most.append(len(now))
        try:
            return run_once(*given)
        finally:
            now.discard(number)

    class Slowly:
        """What a call reads first; meanwhile others begin."""

        def __getattr__(self, name: str, variant: Any = search._variant) -> Any:
            time.sleep(0.001)
            return getattr(variant, name)

        def __iter__(self, variant: Any = search._variant) -> Iterator[Any]:
            return iter(variant)

    monkeypatch.setattr(preparing, "run_once", counted)
    monkeypatch.setattr(search, "_variant", Slowly())
    expected = [gasla.bfs(graph, source) for source in range(EIGHT)]
    refused, errors = 0, set[str]()

    def call(source: int) -> int:
        count = 0
        for _ in range(10):
            try:
                found = search(active=[source], hops={source: 0}).hops
            except RuntimeError as error:
                errors.add(str(error).partition(" was called while ")[2])
                count += 1
            else:
                np.testing.assert_array_equal(np.where(found < 100, found, -1), expected[source])
        return count

    while not refused:
        refused = sum(at_once(call))
    assert max(most) == 1
    assert errors == {"another call of it is under way; prepare one for each thread, and for use in a callback"}
    assert search(active=[0], hops={0: 0}).iterations > 0, "no call is under way any more"


def test_a_prepared_run_that_was_refused_arguments_runs_again() -> None:
    search = gasla.prepare(Hops, random_matrix())
    for _ in range(2):
        with pytest.raises(ValueError, match="with a schedule"):
            search(schedule=object())
    assert search(active=[0], hops={0: 0}).iterations > 0


@pytest.mark.parametrize("way", [{}, {"compile": False}], ids=["compiled", "interpreted"])
def test_calls_that_begin_at_once_wait_for_none(way: dict[str, Any]) -> None:
    """All are under way together: each waits for all in its callback. Later calls use what these have prepared."""
    graph, meeting = gasla.Graph(random_matrix(format="csr")), threading.Barrier(EIGHT)
    expected = [gasla.bfs(graph, source) for source in range(EIGHT)]

    def meet(_: Any) -> bool:
        meeting.wait(SECONDS)
        return True

    at_once(lambda source: gasla.run(Hops, graph, active=[source], hops={source: 0}, callback=meet, **way))
    (prepared,) = [runs for key, runs in graph._known.items() if isinstance(key, tuple) and key[0] is Hops]
    assert len(prepared) == EIGHT
    for source in range(EIGHT):
        found = gasla.run(Hops, graph, active=[source], hops={source: 0}, **way).hops
        np.testing.assert_array_equal(np.where(found < 100, found, -1), expected[source])
    assert len(prepared) == EIGHT and not any(runs.turn.locked() for runs in prepared)


def test_calls_that_were_under_way_at_once_leave_one_workspace() -> None:
    """Runs that nothing but such calls needs keep none of their own, which would stay as long as the graph."""
    graph, meeting = gasla.Graph(datasets.rmat(14)), threading.Barrier(EIGHT)
    own = gasla.workspace(Hops, graph)

    def meet(_: Any) -> bool:
        meeting.wait(SECONDS)
        return True

    def search(source: int) -> None:
        gasla.run(Hops, graph, active=[source], hops={source: 0}, callback=meet)

    gasla.run(Hops, graph, active=[0], hops={0: 0})
    tracemalloc.start()
    try:
        at_once(search)
        at_once(search)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 2.5 * own


CALLS: dict[str, Callable[[gasla.Graph], Any]] = {
    "searches": lambda graph: gasla.bfs(graph, 1),
    "shortest paths": lambda graph: gasla.sssp(graph, 1),
    "ranks": lambda graph: gasla.pagerank(graph).ranks.round(9),
    "components": lambda graph: gasla.connected_components(graph).labels,
    "triangles": lambda graph: gasla.triangle_count(graph),
}


def test_threads_that_run_while_others_set_their_number() -> None:
    """Answers stay those of one call alone, as workers come and go."""
    graph = gasla.Graph(random_matrix(format="csr")).simple(semirings.plus).symmetrized(semirings.plus)
    large = gasla.Graph(random_matrix(5, 30_000, 90_000, "csr")).simple(semirings.plus).symmetrized(semirings.plus)
    expected = {(name, g.n): call(g) for name, call in CALLS.items() for g in (graph, large)}

    def work(number: int) -> None:
        for turn in range(10):
            if number == 0:
                gasla.set_num_threads(1 + turn % 5)
                assert gasla.get_num_threads() >= 1
                continue
            for g in (graph, large):
                name = [*CALLS][(number + turn) % len(CALLS)]
                np.testing.assert_allclose(CALLS[name](g), expected[name, g.n], rtol=1e-9, err_msg=name)

    try:
        at_once(work)
    finally:
        gasla.set_num_threads(MOST)
    assert not threads.are_taken()


def test_values_that_are_written_between_calls() -> None:
    """All threads notice, whichever looks first, and none keeps what another one derived from the old values."""
    A = random_matrix(format="csr")
    graph = gasla.Graph(A)
    for turn in range(10):
        A.data[:] = np.random.default_rng(turn).integers(1, 9, A.nnz)
        expected = gasla.sssp(A.copy(), 0)
        for distances in at_once(lambda _: gasla.sssp(graph, 0)):
            np.testing.assert_array_equal(distances, expected)


COUNTED: dict[str, Callable[[gasla.Graph], Any]] = {
    "triangle_count": gasla.triangle_count,
    "clustering": gasla.clustering,
    "edge_support": gasla.edge_support,
    "connected_components": lambda graph: gasla.connected_components(graph).labels,
    "label_components": lambda graph: primitives.label_components(graph)[0],
    "minimum_spanning_forest": lambda graph: gasla.minimum_spanning_forest(graph).total,
    "core_number": gasla.core_number,
    "k_truss": gasla.k_truss,
    "louvain_communities": lambda graph: gasla.louvain_communities(graph).labels,
    "random_walks": lambda graph: gasla.random_walks(graph, np.arange(200), 5, seed=1),
    "count_cliques": lambda graph: gasla.count_cliques(graph, 4),
    "maximal_cliques": lambda graph: gasla.maximal_cliques(graph, count=True),
    "motif_counts": lambda graph: [*gasla.motif_counts(graph).values()],
    "temporal_motif_counts": lambda graph: [*gasla.temporal_motif_counts(timed(graph), 50).values()],
    "contract": lambda graph: graph.contract(np.arange(graph.n) // 3, semirings.plus).values,
    "count_common_neighbors": lambda graph: primitives.count_common_neighbors(primitives.orient(graph))[0],
}


def timed(graph: gasla.Graph) -> gasla.Graph:
    return graph.with_edge_attributes(time=np.arange(graph.m))


@pytest.mark.parametrize("name", COUNTED)
def test_another_thread_sets_the_number_in_the_midst_of_a_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel never runs on more threads than its arrays have rows for."""
    graph = gasla.Graph(random_matrix(7, 200, 3000, "csr")).simple(semirings.plus).symmetrized(semirings.plus)
    expected = COUNTED[name](graph)
    numbers = itertools.cycle([1, 4, 2, 5, 3])
    for module in (blocks, contract_cpu):
        monkeypatch.setattr(module, "SMALL", 1)
    monkeypatch.setattr(blocks, "num_threads", lambda: next(numbers))
    for _ in range(10):
        np.testing.assert_allclose(COUNTED[name](graph), expected, rtol=1e-9)


# --- the progress bar -------------------------------------------------------------------------------------------------


def test_a_bar_never_mixes_two_counts() -> None:
    """Python's lock hides it. With 3.14t several threads may share a bar: a thread has the context of its starter."""
    seen, ended = set(), threading.Event()

    class Drawn:
        n = last_print_n = 0
        total: Any = None
        unit = bar_format = ""

        def update(self, _: int) -> None:
            seen.add((self.n, self.total, self.unit))

    shown = progress._Open(Drawn())
    counts = [(lambda: (1, 10), "tens"), (lambda: (2, 20), "twenties")]

    def work(number: int) -> None:
        token = progress._open.set(shown)
        try:
            if number == 0:
                until, looks = time.monotonic() + SECONDS, 0
                while looks < 20_000 or (len(seen) < 2 and time.monotonic() < until):
                    shown.look()
                    looks += 1
                ended.set()
            for k in itertools.takewhile(lambda _: not ended.is_set(), itertools.count()):
                progress.follow(*counts[k % 2])
        finally:
            progress._open.reset(token)

    at_once(work, 2)
    assert seen <= {(0, None, ""), (1, 10, "tens"), (2, 20, "twenties")} and len(seen) > 1


# --- files ------------------------------------------------------------------------------------------------------------


def test_files_that_are_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers tell 1.5 from 1 by a filter of warnings, and all threads of a process share the filters."""
    (tmp_path / "edges.txt").write_text("".join(f"{k} {k + 1} 1.5\n" for k in range(2000)))
    before, numbers, load = list(warnings.filters), itertools.count(), np.loadtxt

    def slowly(*given: Any, **named: Any) -> Any:
        time.sleep(0.01 * (1 + next(numbers) % EIGHT))  # others begin meanwhile, and end at other times
        return load(*given, **named)

    monkeypatch.setattr(np, "loadtxt", slowly)
    for graph in at_once(lambda _: gasla.io.read(tmp_path / "edges.txt")):
        assert graph.values.dtype == np.float64 and set(graph.values.tolist()) == {1.5}
    assert list(warnings.filters) == before


FORKING = """
import os, signal, threading
import gasla
from gasla.graph.io import files

held, ended = threading.Event(), threading.Event()
def hold():
    with files.warning_filters():
        held.set()
        ended.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    signal.alarm(10)  # ends it
    assert gasla.io.read("edges.txt").m == 1
    os._exit(7)
status = os.waitpid(child, 0)[1]
ended.set()
thread.join()
assert os.waitstatus_to_exitcode(status) == 7, status
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_child_reads_files_while_a_thread_of_its_parent_does(tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("0 1 2\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING]
    done = subprocess.run(command, env=environment, cwd=tmp_path, timeout=120, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_one_thread_is_warned_while_networkx_raises_in_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's filters of warnings, which all threads share, stay as they are: here they make a warning an error."""
    nx = pytest.importorskip("networkx")
    graph = gasla.Graph(sp.eye_array(9, k=1))

    def work(number: int) -> None:
        for _ in range(20):
            if number % 2:
                with pytest.raises(gasla.ConvergenceWarning, match="ranks still changed"):
                    gasla.pagerank(graph, max_iter=1)
            else:
                with pytest.raises(nx.PowerIterationFailedConvergence):
                    nx.pagerank(nx.path_graph(9), max_iter=1, backend="gasla")

    with monkeypatch.context() as patch:
        patch.setattr(warnings, "catch_warnings", None)
        at_once(work)
