"""Runs on the GPU as they meet the rest of the world: Ctrl-C, threads and streams, memory, the caller's arrays.

What programs compute is tested in tests/gpu/test_programs.py.
"""

import _thread
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import verify
from gasla.algorithms.centrality.pagerank import PageRank
from gasla.algorithms.traversal.bfs import LEVELS
from gasla.graph.graph import Graph
from gasla.program.schedule import Schedule
from tests.helpers import programs
from tests.helpers.reference_engine import Reference
from tests.program.test_runs import CASES, NAMES

pytestmark = pytest.mark.gpu
SPREAD = next(case for case in CASES if case[0] is programs.Spread)


class Turning(gasla.VertexProgram):
    """Never ends, every vertex in every iteration."""

    x = gasla.vertex(np.int64, init=lambda vertex: vertex.id)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.x

    def apply(self, vertex, gathered):
        return {"x": (gathered + vertex.x) % 1009}

    def activate(self, before, after):
        return True


class Waking(programs.Waking):
    """Never ends where there is a cycle: whoever receives wakes others."""

    def activate(self, before, after):
        return True


class Falling(gasla.VertexProgram):
    """Never ends where there is a cycle: a step costs less than nothing."""

    cost = gasla.vertex(np.int64, init=0)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.cost - 1

    def apply(self, vertex, gathered):
        return {"cost": semirings.minimum(vertex.cost, gathered)}


class Nearing(Falling):
    """The same, least first."""

    def priority(self, vertex):
        return vertex.cost


ENDLESS = [Turning, Waking, Falling, Nearing]
NO_END = 2**40  # iterations, for runs that something else ends: one that nothing ends is refused


class FloatSum(gasla.VertexProgram):
    """Sums whose last bits tell in which order they were made, and an aggregate of them."""

    x = gasla.vertex(np.float32, init=lambda vertex: 1 / (1 + vertex.id.astype(np.float32)))
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.x * np.float32(0.1)

    def apply(self, vertex, gathered):
        return {"x": gathered}

    @gasla.aggregate(semirings.plus)
    def total(self, before, after):
        return after.x


class Largest(gasla.VertexProgram):
    """The largest out-neighbor: reads nothing but the out-edges."""

    largest = gasla.vertex(gasla.ID, init=-1)
    reduce = semirings.max
    direction = "out"
    everyone = True

    def gather(self, src, dst, edge):
        return src.id

    def apply(self, vertex, gathered):
        return {"largest": gathered}

    def stop(self):
        return True


class Doubled(gasla.VertexProgram):
    """Adds up what comes in, and what was there."""

    x = gasla.vertex(np.int64)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.x

    def apply(self, vertex, gathered):
        return {"x": (vertex.x + gathered) % 1009}


def random_graph(n: int = 1500, m: int = 7000, seed: int = 5) -> Graph:
    """A directed graph with parallel edges, on the GPU, that nobody has used yet; of several blocks, as those below."""
    rng = np.random.default_rng(seed)
    src, dst, values = rng.integers(0, n, m) ** 2 // n, rng.integers(0, n, m), rng.integers(0, 9, m)
    return Graph.from_edges(src, dst, values, n=n).to("cpu").to("gpu")


def ring(n: int = 5000) -> Graph:
    ids = np.arange(n)
    return Graph.from_edges(ids, (ids + 1) % n).to("gpu")


def wheel(n: int = 3000) -> Graph:
    """A ring, and a hub that leads everywhere: too many edges at one vertex for a thin frontier."""
    ids = np.arange(n)
    return Graph.from_edges(np.append(ids, np.full(n, n)), np.append((ids + 1) % n, ids)).to("gpu")


def run_case(graph: Graph, case: tuple[Any, Any, bool, int], source: int = 0, **options: Any) -> Any:
    program, start, alone, limit = case
    active = [source] if alone else None
    return gasla.run(program, graph, active=active, max_iterations=limit, **start(source), **options)


def bits(result: Any) -> dict[str, bytes]:
    return {name: field.get().tobytes() for name, field in result.state.items()}


@pytest.fixture
def pool() -> Iterator[Any]:
    """CuPy's pool of device memory, with nothing left over, and without a limit afterwards."""
    cupy = pytest.importorskip("cupy")
    gc.collect()
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    yield pool
    pool.set_limit(size=0)


# --- ending a run ----------------------------------------------------------------------------------------------------


def assert_all_is_well(graph: Graph) -> None:
    """The next runs give what they should: the same program's, and another's."""
    reference = Reference(programs.Spread(), graph.to("cpu")).run(None, 4)
    for _ in range(2):
        np.testing.assert_array_equal(run_case(graph, SPREAD).x.get().T, reference.vertex["x"])


def interrupt_after(seconds: float, call: Callable[[], Any]) -> None:
    """Ctrl-C in the midst of a call, made again and again if it ends."""
    timer = threading.Timer(seconds, _thread.interrupt_main)

    def repeat() -> None:
        timer.start()
        while True:
            call()

    with pytest.raises(KeyboardInterrupt):
        repeat()


@pytest.mark.parametrize("make", [ring, wheel])
@pytest.mark.parametrize("program", ENDLESS, ids=lambda p: p.__name__)
def test_ctrl_c_ends_a_run(program: Any, make: Callable[[], Graph]) -> None:
    graph = make()
    short = gasla.run(program, graph, active=[0], max_iterations=20)
    began = time.perf_counter()
    interrupt_after(0.3, lambda: gasla.run(program, graph, active=[0], max_iterations=NO_END))
    assert time.perf_counter() - began < 5
    assert bits(gasla.run(program, graph, active=[0], max_iterations=20)) == bits(short)
    assert_all_is_well(graph)


def test_ctrl_c_at_any_moment() -> None:
    """Also while arrays are made and the kernel is launched: no kernel is left running, nor its workspace given on."""
    graph = ring(200)
    expected = bits(gasla.run(Falling, graph, active=[0], max_iterations=50))
    for delay in np.linspace(0, 3e-3, 100):
        interrupt_after(float(delay), lambda: gasla.run(Falling, graph, active=[0]))
        assert bits(gasla.run(Falling, graph, active=[0], max_iterations=50)) == expected


def test_ctrl_c_ends_betweenness() -> None:
    """Also while several of its runs are under way; the next call gives what it should."""
    graph = ring(1000)
    sources = range(0, 1000, 20)
    expected = gasla.betweenness_centrality(graph.to("cpu"), sources=sources)
    for delay in np.linspace(0, 0.1, 20):
        interrupt_after(float(delay), lambda: gasla.betweenness_centrality(graph, sources=sources))
    np.testing.assert_allclose(gasla.betweenness_centrality(graph, sources=sources).get(), expected)
    assert_all_is_well(graph)


def test_progress_moves_while_a_kernel_runs() -> None:
    class EnoughError(Exception):
        pass

    seen: list[int] = []

    def look(iterations: int) -> None:
        seen.append(iterations)
        if len(seen) == 5:
            raise EnoughError  # whatever is raised here ends the run

    graph = ring()
    with pytest.raises(EnoughError):
        gasla.run(Turning, graph, progress=look, max_iterations=NO_END)
    assert seen == sorted(set(seen))
    assert seen[1] > seen[0] > 0
    assert_all_is_well(graph)


def test_an_exception_of_a_callback_ends_the_run() -> None:
    graph = ring()
    with pytest.raises(ZeroDivisionError):
        gasla.run(Turning, graph, callback=lambda result: 1 // (3 - result.iterations) > 9)
    assert_all_is_well(graph)


# --- runs that go on -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [ring, wheel, random_graph])
def test_searches_under_way_at_once(make: Callable[[], Graph]) -> None:
    """Each has a workspace, and knows its last level, in whatever order they are asked."""
    graph = make()
    search = gasla.prepare(LEVELS, graph)
    left = [search(active=[source], level={source: 0}, wait=False) for source in range(6)]
    for source in (3, 0, 5, 1, 4, 2):
        found = left[source]
        np.testing.assert_array_equal(found.level.get(), gasla.bfs(graph, source).get())
        assert found.iterations == found.level.max() + 1  # the last reaches nothing
        assert found.converged and found.edges > 0 and not found.active and found.aggregates == {}


def test_what_is_asked_of_a_run_under_way_is_what_is_told_of_one_that_was_waited_for() -> None:
    """Also if others have run in between, and of one that ends while somebody is active."""
    graph = random_graph(50_000, 400_000)
    for limit in (None, 2):
        options = {"active": [0], "level": {0: 0}, "max_iterations": limit}
        expected = gasla.run(LEVELS, graph, **options)
        left = gasla.run(LEVELS, graph, wait=False, **options)
        others = [gasla.bfs(graph, source) for source in range(5)]
        assert (left.iterations, left.converged) == (expected.iterations, expected.converged)
        assert bool((left.active.mask == expected.active.mask).all())
        np.testing.assert_array_equal(left.level.get(), expected.level.get())
        del others


def test_ctrl_c_while_a_run_is_asked_for_its_end() -> None:
    """The kernel, which would never end, is told to."""
    graph = wheel()
    left = [gasla.run(Falling, graph, active=[0], wait=False)]
    interrupt_after(0.3, lambda: left.pop().iterations)
    assert_all_is_well(graph)


@pytest.mark.parametrize(("program", "start", "alone", "limit"), CASES, ids=NAMES)
def test_fields_that_live_in_arrays_of_the_callers(program: Any, start: Any, alone: bool, limit: int) -> None:
    if program.everyone:
        return
    graph = Graph(gasla.datasets.rmat(6)).to("gpu")
    options: dict[str, Any] = {"active": [3] if alone else None, "max_iterations": limit}
    expected = gasla.run(program, graph, **options, **start(3)).state
    begun = gasla.run(program, graph, **options | {"max_iterations": 0}, **start(3)).state
    for values in ({}, start(3)):
        out = {name: (begun[name] if not values else expected[name]).copy() for name in program.vertex_fields}
        found = gasla.run(program, graph, **options, out=out, wait=False, **values).state
        for name in program.vertex_fields:
            assert found[name] is out[name]
            np.testing.assert_array_equal(out[name].get(), expected[name].get())


def test_runs_left_running_follow_each_other() -> None:
    """Many more than are waited for: what one makes the next one finds, and workspaces are not shared."""
    graph = ring(2000)
    schedule = Schedule((gasla.bfs(graph, 0) - 1).astype(np.int32))
    paths: Any = {0: 1}
    expected: Any = {0: 1}
    for _ in range(12):
        paths = gasla.run(Doubled, graph, schedule=schedule, x=paths, wait=False).x
        expected = gasla.run(Doubled, graph, schedule=schedule, x=expected).x
    np.testing.assert_array_equal(paths.get(), expected.get())


def all_levels(graph: Graph, sources: range) -> list[np.ndarray]:
    return [gasla.bfs(graph.to("cpu"), source) for source in sources]


def workspaces_of(graph: Graph) -> list[Any]:
    """The workspaces that are kept."""
    from gasla.gpu.program.workspace import Cached

    return [workspace for known in graph._known.values() if isinstance(known, Cached) for workspace in known.workspaces]


@pytest.mark.parametrize("weighted", [False, True], ids=["bfs", "sssp"])
@pytest.mark.parametrize("n", [500, 50_000], ids=["small", "large"])
def test_searches_in_a_row_are_not_waited_for(n: int, weighted: bool) -> None:
    """Each finds what it should, in the one workspace, though none has waited for those before."""
    graph, search = random_graph(n, 5 * n), gasla.sssp if weighted else gasla.bfs
    found = [search(graph, source) for source in range(60)]
    assert len(workspaces_of(graph)) == 1
    on_host = graph.to("cpu")
    for source, field in enumerate(found):
        np.testing.assert_array_equal(field.get(), search(on_host, source))


def test_parents_and_depths_of_searches_in_a_row() -> None:
    graph = random_graph(50_000, 400_000)
    on_host = graph.to("cpu")
    found = [gasla.bfs(graph, source, parents=True, depth_limit=source % 5) for source in range(30)]
    for source, (levels, parents) in enumerate(found):
        depth = source % 5
        np.testing.assert_array_equal(levels.get(), gasla.bfs(on_host, source, depth_limit=depth))
        verify.bfs(on_host, source, levels.get(), parents.get(), depth_limit=depth)


def test_searches_on_two_streams_by_turns() -> None:
    """None is given the workspace of one that may still run on the other."""
    cupy = pytest.importorskip("cupy")
    graph, sources = random_graph(50_000, 400_000), range(40)
    expected = all_levels(graph, sources)
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    found = []
    for source in sources:
        with streams[source % 2]:
            found.append(gasla.bfs(graph, source))
    cupy.cuda.runtime.deviceSynchronize()
    assert len(workspaces_of(graph)) < 10
    for field, levels in zip(found, expected):
        np.testing.assert_array_equal(field.get(), levels)


def test_graphs_that_go_while_they_are_searched() -> None:
    """The page that a kernel is still to write to isn't given to the next one."""
    graphs = [random_graph(20_000, 100_000, seed) for seed in range(8)]
    expected = [all_levels(graph, range(3)) for graph in graphs]
    found = []
    while graphs:
        graph = graphs.pop(0)
        found.append([gasla.bfs(graph, source) for source in range(3)])
        del graph
    for fields, levels in zip(found, expected):
        np.testing.assert_array_equal([field.get() for field in fields], levels)


def test_the_page_of_a_space_that_only_the_collector_finds() -> None:
    """Whatever else it finds there, it ends first: the memory of the page is not to be among it."""
    graph, other = random_graph(2000, 10_000), random_graph(3000, 20_000)
    gasla.pagerank(graph)
    for workspace in workspaces_of(graph):
        workspace.itself = workspace
    del graph, workspace
    gc.collect()
    np.testing.assert_allclose(gasla.pagerank(other).ranks.get(), gasla.pagerank(other.to("cpu")).ranks, rtol=1e-9)


def test_a_run_that_is_stopped_stops_none_before_it() -> None:
    """Both are of one workspace, and the first still runs when the second is told to end."""

    class EnoughError(Exception):
        pass

    def enough(_: int) -> None:
        raise EnoughError

    graph, limit = wheel(), 100_000
    expected = gasla.run(Falling, graph, active=[0], max_iterations=limit).cost
    left = gasla.run(Falling, graph, active=[0], max_iterations=limit, wait=False).cost
    with pytest.raises(EnoughError):
        gasla.run(Falling, graph, active=[0], progress=enough)
    np.testing.assert_array_equal(left.get(), expected.get())


def test_what_may_take_long_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches of many levels, and PageRank for long; and any, where a bar shows how far they are."""
    cupy = pytest.importorskip("cupy")

    def search(graph: Graph, source: int) -> None:
        gasla.bfs(graph, source)

    def rank(graph: Graph, _: int) -> None:
        gasla.pagerank(graph, tol=0)

    def always_ends(graph: Graph, call: Callable[[Graph, int], None] = search) -> bool:
        """Whether each of some calls has ended when it returns."""
        ended = []
        for source in range(10):
            call(graph, source)
            ended.append(not any(workspace.is_busy for workspace in workspaces_of(graph)))
            cupy.cuda.runtime.deviceSynchronize()
        return all(ended)

    graph = random_graph(1_000_000, 20_000_000)
    assert always_ends(ring(100_000))
    assert not always_ends(graph)
    assert not always_ends(graph, rank)
    with monkeypatch.context() as patch:
        patch.setattr("gasla.gpu.program.engine.LONG", 10**9)
        assert always_ends(graph, rank)
    monkeypatch.setattr("gasla.gpu.program.engine.is_watched", lambda: True)
    assert always_ends(graph)
    assert always_ends(graph, rank)


@pytest.mark.parametrize("iterations", [0, 3, 4])
def test_just_so_many_iterations(iterations: int) -> None:
    """Also of fields with two copies, of which it is known beforehand in which the values will be."""
    graph = random_graph()
    found = gasla.run(PageRank(until_converged=False), graph, max_iterations=iterations, wait=False)
    expected = gasla.run(PageRank(until_converged=False), graph, max_iterations=iterations)
    assert found.state.keys() == expected.state.keys()
    for name, array in found.state.items():
        np.testing.assert_allclose(array.get(), expected.state[name].get(), rtol=1e-12)
    assert found.aggregates.keys() == expected.aggregates.keys()
    for name, value in found.aggregates.items():
        np.testing.assert_allclose(value.get(), expected.aggregates[name], rtol=1e-9, atol=1e-15)
    assert (found.iterations, found.converged, found.edges) == (iterations, False, expected.edges)


# --- memory ----------------------------------------------------------------------------------------------------------


def assert_names_numbers(error: pytest.ExceptionInfo[MemoryError]) -> None:
    """What is needed, and what is free."""
    words = str(error.value).replace(",", "").split()
    assert len([word for word in words if word.isdigit()]) == 2, error.value


@pytest.mark.parametrize("program", [programs.Hops, programs.Flow, programs.Spread], ids=lambda p: p.__name__)
def test_too_little_memory_is_told_before_anything_runs(program: Any, pool: Any) -> None:
    graph = random_graph(n=300_000, m=10)
    graph.in_, graph.in_values, graph.out_degrees, graph.in_degrees  # noqa: B018
    pool.free_all_blocks()
    pool.set_limit(size=pool.used_bytes() + (1 << 20))
    with pytest.raises(MemoryError, match=f"{program.__name__} needs [0-9,]+ bytes .* [0-9,]+ are free") as error:
        gasla.run(program, graph, max_iterations=3)
    assert_names_numbers(error)
    pool.set_limit(size=0)
    assert gasla.run(program, graph, max_iterations=3).iterations


@pytest.mark.parametrize("program", [case[0] for case in CASES[:4]], ids=lambda p: p.__name__)
def test_workspace_is_at_most_what_is_told(program: Any, pool: Any) -> None:
    from gasla.gpu.program.workspace import Cached, workspace_sizes

    graph = random_graph(n=100_000, m=100_000)
    gasla.run(program, graph, max_iterations=1)
    (found,) = (known for known in graph._known.values() if isinstance(known, Cached))
    (workspace,) = found.workspaces
    sizes = workspace_sizes(found.plan, graph, workspace.blocks)
    assert 0 < sum(workspace.arrays[name].nbytes for name in sizes) <= gasla.workspace(program, graph)


def test_fields_that_do_not_fit_are_told_the_same_way(pool: Any) -> None:
    graph = random_graph(n=300_000, m=10)
    gasla.run(programs.Spread, graph, max_iterations=2)  # the workspace is kept
    pool.free_all_blocks()
    pool.set_limit(size=pool.used_bytes() + (1 << 20))
    with pytest.raises(MemoryError, match=r"Spread needs [0-9,]+ bytes .* [0-9,]+ are free") as error:
        gasla.run(programs.Spread, graph, max_iterations=2)
    assert_names_numbers(error)
    pool.set_limit(size=0)
    assert gasla.run(programs.Spread, graph, max_iterations=2).iterations == 2


def test_kept_workspaces_go_before_a_run_is_refused(pool: Any) -> None:
    """What is kept for the next run of other programs gives way."""
    graph = random_graph(n=1_000_000, m=10)
    for case in CASES[:4]:
        run_case(graph, case)
    kept = pool.used_bytes()
    pool.free_all_blocks()
    pool.set_limit(size=kept + (1 << 20))
    assert run_case(graph, CASES[4]).converged
    assert run_case(graph, SPREAD).iterations == 4


@pytest.mark.slow
def test_a_full_card_is_told(pool: Any) -> None:
    cupy = pytest.importorskip("cupy")
    graph = random_graph(n=8_000_000, m=100)
    graph.in_, graph.in_degrees, graph.out_degrees  # noqa: B018
    pool.free_all_blocks()
    free = cupy.cuda.runtime.memGetInfo()[0]
    hoard = cupy.empty(free - (64 << 20), np.uint8)
    with pytest.raises(MemoryError, match="needs") as error:
        run_case(graph, CASES[0])
    assert_names_numbers(error)
    del hoard
    assert run_case(graph, CASES[0]).converged


def mixed_runs(graphs: list[Graph], count: int) -> None:
    for i in range(count):
        run_case(graphs[i % len(graphs)], CASES[i % len(CASES)], direction=("auto", "push", "pull")[i % 3])


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_memory_stays_flat(count: int, pool: Any) -> None:
    graphs = [random_graph(seed=1), random_graph(n=50, m=3000, seed=2), ring(300)]
    mixed_runs(graphs, 12 * 9)  # every program on every graph, each way
    gc.collect()
    used, held = pool.used_bytes(), pool.total_bytes()
    mixed_runs(graphs, count)
    assert pool.used_bytes() == used
    assert pool.total_bytes() == held


def test_a_graph_takes_its_memory_with_it(pool: Any) -> None:
    before = pool.used_bytes()
    graph = random_graph()
    for case in CASES:
        run_case(graph, case)
    gasla.mxv(graph, pytest.importorskip("cupy").ones(graph.n))
    gasla.connected_components(graph)
    gasla.triangle_count(graph)
    watched = [weakref.ref(thing) for thing in (graph, graph.out.indptr, graph.in_.indices)]
    del graph
    gc.collect()
    assert [ref() for ref in watched] == [None] * len(watched)
    assert pool.used_bytes() - before < 100_000  # what components keep for all graphs: a few counters


@pytest.mark.slow
def test_two_graphs_larger_than_half_the_card_in_turn(pool: Any) -> None:
    """Rows of 64 random entries, lists of over 2**31 entries where the card has room for that."""
    cupy = pytest.importorskip("cupy")
    draw = cupy.ElementwiseKernel(
        "uint64 first, uint64 seed, uint64 n", "int32 v",
        "unsigned long long z = seed + (first + i) * 0x9E3779B97F4A7C15ULL;"
        "z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL; z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;"
        "v = (int)(((z ^ (z >> 31)) >> 32) * n >> 32)", "draw_ids",
    )  # fmt: skip
    degree, step = 64, 1 << 29
    for seed in (1, 2):
        pool.free_all_blocks()
        free = cupy.cuda.runtime.memGetInfo()[0]
        n = int(0.55 * free) // (4 * degree)
        indices = cupy.empty(n * degree, np.int32)
        for first in range(0, len(indices), step):
            piece = indices[first : first + step]
            draw(np.uint64(first), np.uint64(seed << 40), np.uint64(n), piece)
        graph = Graph.from_csr(cupy.arange(n + 1, dtype=np.int64) * degree, indices)
        assert 4 * graph.m > 0.5 * free
        found = gasla.run(Largest, graph).largest
        for v in (0, 1, n // 2, n - 1):
            assert int(found[v]) == int(indices[v * degree : (v + 1) * degree].max())
        rows = indices[-(step // degree) * degree :].reshape(-1, degree)  # the places beyond 2**31
        assert bool((found[-len(rows) :] == rows.max(axis=1)).all())
        del graph, indices, found, rows, piece


# --- threads and streams ---------------------------------------------------------------------------------------------


def in_two_threads(work: list[Callable[[], list[dict[str, bytes]]]]) -> list[list[dict[str, bytes]]]:
    """Each piece of work in a thread and on a stream of its own, starting at once."""
    cupy = pytest.importorskip("cupy")
    start = threading.Barrier(len(work))

    def on_a_stream(piece: Callable[[], Any]) -> Any:
        with cupy.cuda.Stream(non_blocking=True) as stream:
            start.wait()
            result = piece()
            stream.synchronize()
            return result

    cupy.cuda.runtime.deviceSynchronize()
    with ThreadPoolExecutor(len(work)) as executor:
        return list(executor.map(on_a_stream, work))


@pytest.mark.parametrize("shared", [True, False], ids=["same graph", "two graphs"])
@pytest.mark.parametrize("cases", [(0, 3), (2, 7), (8, 9), (1, 1), (11, 6)], ids=str)
def test_two_threads_on_two_streams(cases: tuple[int, int], shared: bool) -> None:
    expected = [[bits(run_case(random_graph(), CASES[case]))] * 30 for case in cases]
    for _ in range(3):  # with graphs whose lists are still to be made, by both threads at once
        first = random_graph()
        graphs = (first, first if shared else random_graph())
        work = [
            lambda graph=graph, case=case: [bits(run_case(graph, CASES[case])) for _ in range(30)]
            for graph, case in zip(graphs, cases)
        ]
        assert in_two_threads(work) == expected


@pytest.mark.parametrize("n", [1000, 1_000_000], ids=["small", "all multiprocessors"])
def test_two_threads_end_their_runs_each_for_itself(n: int) -> None:
    """One thread stops an endless run after a while; the other's short ones go on meanwhile, or wait for their turn."""
    graph, other = ring(n), random_graph(n, 3 * n)
    expected = bits(run_case(other, CASES[0]))

    def stop_after_a_while(_: int) -> None:
        raise TimeoutError

    def endless() -> list[dict[str, bytes]]:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                gasla.run(Turning, graph, progress=stop_after_a_while, max_iterations=NO_END)
        return []

    def short() -> list[dict[str, bytes]]:
        return [bits(run_case(other, CASES[0])) for _ in range(20)]

    assert in_two_threads([endless, short]) == [[], [expected] * 20]


def test_betweenness_in_two_threads() -> None:
    """Runs of both are under way on one graph, and each has a workspace of its own."""
    graph, sources = ring(2000), range(0, 2000, 100)

    def scores() -> dict[str, bytes]:
        return {"": gasla.betweenness_centrality(graph, sources=sources, normalized=False).get().tobytes()}

    assert in_two_threads([lambda: [scores() for _ in range(5)]] * 2) == [[scores()] * 5] * 2


def test_two_threads_that_both_want_all_multiprocessors() -> None:
    graphs = [random_graph(400_000, 1_000_000, seed) for seed in (1, 2)]
    cases = CASES[2], SPREAD
    expected = [[bits(run_case(graph, case))] * 20 for graph, case in zip(graphs, cases)]
    work = [
        lambda graph=graph, case=case: [bits(run_case(graph, case)) for _ in range(20)]
        for graph, case in zip(graphs, cases)
    ]
    assert in_two_threads(work) == expected


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_on_another_stream(case: Any) -> None:
    cupy = pytest.importorskip("cupy")
    expected = bits(run_case(random_graph(), case))
    with cupy.cuda.Stream(non_blocking=True):
        assert bits(run_case(random_graph(), case)) == expected
    graph = random_graph()
    cupy.cuda.runtime.deviceSynchronize()
    for _ in range(3):  # the workspace goes from stream to stream
        with cupy.cuda.Stream(non_blocking=True):
            assert bits(run_case(graph, case)) == expected
        assert bits(run_case(graph, case)) == expected


# --- arrays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_results_keep_what_they_are(case: Any) -> None:
    """A later run, from elsewhere or with another program, changes nothing in them."""
    graph = random_graph()
    source = int(graph.out_degrees.argmax())
    for direction in ("push", "pull"):
        first = run_case(graph, case, source, direction=direction)
        before = bits(first)
        active = [(held, held.copy()) for held in vars(first.active).values() if hasattr(held, "copy")]
        aggregates = {name: value.tobytes() for name, value in first.aggregates.items()}
        for other in (case, *CASES):
            run_case(graph, other, 1)
        assert bits(first) == before
        assert {name: value.tobytes() for name, value in first.aggregates.items()} == aggregates
        assert all(bool((held == copy).all()) for held, copy in active)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
@pytest.mark.parametrize("wide", [False, True], ids=["int32", "int64"])
def test_the_callers_arrays_never_change(case: Any, wide: bool) -> None:
    cupy = pytest.importorskip("cupy")
    program, start, alone, limit = case
    given = random_graph()
    kind = np.int64 if wide else np.int32
    arrays = [given.out.indptr.astype(kind), given.out.indices.astype(kind), given.out_values]
    if case[0].vertex_fields.keys() == {"hops"}:
        arrays.append(cupy.arange(given.n, dtype=np.int32))
    copies = [array.copy() for array in arrays]
    graph, alike = Graph.from_csr(*arrays[:3]), Graph.from_csr(*(array.astype(np.int32) for array in arrays[:3]))
    fields = {"hops": arrays[3]} if len(arrays) == 4 else start(0)
    active = cupy.zeros(given.n, bool)
    active[0] = True
    expected = gasla.run(program, alike, active=[0] if alone else None, max_iterations=limit, **fields)
    for direction in ("auto", "push", "pull"):
        result = gasla.run(
            program, graph, active=active if alone else None, max_iterations=limit, direction=direction, **fields
        )
        assert bits(result) == bits(expected)
    for array, copy in zip(arrays, copies):
        assert bool((array == copy).all())
    assert active.sum() == 1


def test_int64_arrays_of_a_sparse_matrix() -> None:
    """CuPy's matrices may hold 64-bit indices where those were set."""
    cupy, sparse = pytest.importorskip("cupy"), pytest.importorskip("cupyx.scipy.sparse")
    given = random_graph()
    A = sparse.csr_matrix((cupy.ones(given.m, np.float32), given.out.indices, given.out.indptr), shape=(given.n,) * 2)
    narrow = gasla.bfs(A, 0)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    assert bool((gasla.bfs(A, 0) == narrow).all())
    assert A.indices.dtype == A.indptr.dtype == np.int64


@pytest.mark.parametrize("everyone", [False, True], ids=["receivers", "rows"])
def test_deterministic_runs_give_the_same_bits(everyone: bool) -> None:
    """Float sums over rows of every length, a hub of 40,000 among them, and their aggregate."""
    program = type("FloatSumOfAll", (FloatSum,), {"everyone": True}) if everyone else FloatSum
    rng = np.random.default_rng(9)
    n, m = 20_000, 300_000
    dst = np.where(rng.random(m) < 0.15, 7, rng.integers(0, n, m) ** 2 // n)
    graph = Graph.from_edges(rng.integers(0, n, m), dst, n=n).to("gpu")
    runs = [gasla.run(program, graph, max_iterations=5, deterministic=True) for _ in range(20)]
    assert len({bits(r)["x"] for r in runs}) == 1
    assert len({r.total.tobytes() for r in runs}) == 1
