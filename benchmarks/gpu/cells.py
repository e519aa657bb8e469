"""What is measured on a graph: one function an algorithm, which checks the answer, takes the times and yields figures.

A time is that of a Python call between two synchronisations of the stream, after a call that warms up. Where there are
several sources, each has its median over some calls, and the figure is the median of those.
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import gasla
from benchmarks import products, programs
from benchmarks.compare import BAR_PRODUCT, BAR_PROGRAM, BAR_SEMIRING
from benchmarks.gpu import answers, floors
from benchmarks.gpu.graphs import DeviceGraph, pattern
from benchmarks.interleave import interleaved
from benchmarks.peers import PAGERANK_ITERATIONS
from gasla.gpu import rows

PATIENCE = 0.15  # seconds of calls for one source
ITERATIONS = 10, 30  # two runs of PageRank, whose difference gives an iteration
ROUNDS = 8
PARENTS = 1.3  # levels and parents together take at most so many times what levels take

GRAPHS = ("rmat22", "kron21", "urand22", "rmat24", "rgg22", "grid24")
MILLISECONDS: dict[str, tuple[float | None, ...]] = {  # at most, on one H100, on the graphs above
    "bfs": (0.25, 0.15, 0.45, 0.8, 6.5, 22),
    "sssp": (4.5, 4.5, 4.2, None, 27, 60),
    "pagerank iteration": (0.85, 0.95, 1.15, 4, 0.18, 0.27),
    "pagerank": (16, 14, 13, 65, 7.5, 14),
    "components": (1.0, 0.4, 1.2, 4, 1.0, 3),
    "triangles": (100, 300, 8, None, 2.5, 0.8),
    "betweenness": (40, 40, 60, None, 150, 500),
}


class Figure(NamedTuple):
    """A number, the most that it should be, and what it comes from."""

    graph: str
    name: str
    value: float
    unit: str  # "ms", "us", "s", or "x" for a ratio
    bar: float | None = None
    wrong: str = ""  # what is wrong with the answer
    note: str = ""
    runs: Any = None  # seconds, by source or by contestant
    floor: floors.Floor | None = None


class Case(NamedTuple):
    """A graph, what is known of it, and who else measures."""

    graph: DeviceGraph
    known: dict[str, Any]
    peers: dict[str, Any]

    @property
    def work(self) -> floors.Work:
        """The graph as floors see it."""
        import cupy

        graph, device = self.graph.graph, cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())["name"]
        facts = rows.plan(graph.out.indptr, graph.out.indices).facts
        is_scattered = facts.near < 0.5 and facts.longest < 16 * graph.m / max(1, graph.n)
        return floors.Work(graph.n, graph.m, is_scattered, device.decode())

    def figure(
        self, name: str, runs: list[list[float]], wrong: str = "", note: str = "", floor: floors.Floor | None = None
    ) -> Figure:
        """The median over the sources of the median over the calls, in milliseconds."""
        medians = sorted(1e3 * median(calls) for calls in runs)
        if len(medians) > 1:
            note = f"worst source {medians[-1]:.3f}{', ' if note else ''}{note}"
        limit = bar(self.graph.name, name)
        return Figure(self.graph.name, name, median(medians), "ms", limit, wrong, note, runs, floor)

    def beside(self, algorithm: str, *arguments: Any) -> str:
        """What peers take for the same, in words."""
        said = []
        for name, peer in self.peers.items():
            if call := getattr(peer, algorithm, None):
                try:
                    call(*arguments)
                    said.append(f"{name} {1e3 * median(seconds(lambda call=call: call(*arguments))):.3f}")
                except Exception as error:  # whatever a peer raises is its answer
                    said.append(f"{name} failed: {error}")
        return ", ".join(said)


def bar(graph: str, name: str) -> float | None:
    """The most milliseconds for a cell."""
    return MILLISECONDS[name][GRAPHS.index(graph)] if graph in GRAPHS and name in MILLISECONDS else None


def _synchronize() -> None:
    import cupy

    cupy.cuda.get_current_stream().synchronize()


def seconds(call: Callable[[], Any], least: int = 1, most: int = 7) -> list[float]:
    """Times of some calls."""
    times: list[float] = []
    gc.collect()
    gc.disable()
    try:
        while len(times) < least or (len(times) < most and sum(times) < PATIENCE):
            _synchronize()
            start = time.perf_counter()
            result = call()
            _synchronize()
            times.append(time.perf_counter() - start)
            del result
    finally:
        gc.enable()
    return times


# --- algorithms ------------------------------------------------------------------------------------------------------


def bfs(case: Case) -> Iterator[Figure]:
    """Levels; and levels with parents, over levels alone."""
    graph, ends, wrong, runs, with_parents = case.graph.graph, case.graph.ends, "", [], []
    for i, source in enumerate(case.graph.sources):
        level = gasla.bfs(graph, source)
        found = gasla.bfs(graph, source, parents=True)
        if i == 0:
            wrong = answers.levels(ends, source, level) or answers.parents(ends, source, *found)
        reached = level >= 0
        known = case.known.get("bfs_reached_depthsum_maxdepth", [])[i : i + 1]
        if known and known[0] != [int(reached.sum()), int(level[reached].sum(dtype=np.int64)), int(level.max())]:
            wrong = f"levels from {source} are not those known"
        if bool((found.levels != level).any()):
            wrong = wrong or "levels differ when parents are asked for"
        runs.append(seconds(lambda source=source: gasla.bfs(graph, source)))
        with_parents.append(seconds(lambda source=source: gasla.bfs(graph, source, parents=True)))
    floor = floors.bfs(case.work, int(reached.sum()), int(level.max()))
    levels = case.figure("bfs", runs, wrong, case.beside("bfs", case.graph.sources[0]), floor)
    both = case.figure("bfs with parents", with_parents, wrong)
    yield levels
    yield both
    ratio = both.value / levels.value
    yield Figure(case.graph.name, "parents / levels", ratio, "x", PARENTS)


def sssp(case: Case) -> Iterator[Figure]:
    """Distances, with the weights as they were made."""
    graph, wrong, runs = case.graph.graph, "", []
    for i, source in enumerate(case.graph.sources):
        distance = gasla.sssp(graph, source)
        if i == 0:
            wrong = answers.distances(case.graph.ends, graph.out_values, source, distance)
        reached = np.isfinite(distance)
        known = case.known.get("sssp_reached_sum", [])[i : i + 1]
        if known and known[0] != [int(reached.sum()), int(distance[reached].sum(dtype=np.float64))]:
            wrong = f"distances from {source} are not those known"
        runs.append(seconds(lambda source=source: gasla.sssp(graph, source)))
    steps = len(iterations(*shortest_paths(case.graph.sources[0]), graph, case.graph.sources[0]))
    note = ", ".join([f"{steps} iterations", *filter(None, [case.beside("sssp", case.graph.sources[0])])])
    yield case.figure("sssp", runs, wrong, note, floors.sssp(case.work, steps))


def _pagerank(graph: Any, tol: float, iterations: int = 100) -> Any:
    with warnings.catch_warnings(action="ignore", category=gasla.ConvergenceWarning):
        return gasla.pagerank(graph, weighted=False, dtype=np.float32, tol=tol, max_iter=iterations)


def pagerank(case: Case) -> Iterator[Figure]:
    """To a change of 1e-6 in L1, and an iteration."""
    graph = case.graph.graph
    result = _pagerank(graph, 1e-6)
    wrong = answers.ranks(pattern(case.graph.matrix, np.float64), result.ranks)
    if not result.converged:
        wrong = wrong or "did not converge"
    del result
    few, many = (seconds(lambda k=k: _pagerank(graph, 0.0, k), least=3) for k in ITERATIONS)
    each = 1e3 * (median(many) - median(few)) / (ITERATIONS[1] - ITERATIONS[0])
    name, runs = case.graph.name, {"10 iterations": few, "30 iterations": many}
    note = case.beside("spmv")
    limit, floor = bar(name, "pagerank iteration"), floors.pagerank(case.work)
    yield Figure(name, "pagerank iteration", each, "ms", limit, wrong, note, runs, floor)
    note = f"{_pagerank(graph, 1e-6).iterations} iterations"
    yield case.figure("pagerank", [seconds(lambda: _pagerank(graph, 1e-6), least=3)], wrong, note)


def components(case: Case) -> Iterator[Figure]:
    """Labels and their number."""
    graph = case.graph.graph
    count, label = gasla.connected_components(graph)
    wrong = answers.labels(case.graph.ends, count, label)
    if count != case.known.get("components", count):
        wrong = f"{count} components; {case.known['components']} are known"
    runs = [seconds(lambda: gasla.connected_components(graph), least=3)]
    yield case.figure("components", runs, wrong, case.beside("components"))


def triangles(case: Case) -> Iterator[Figure]:
    """How many there are."""
    graph = case.graph.graph
    count = gasla.triangle_count(graph)
    wrong = "" if count == case.known.get("triangles", count) else f"{count}; {case.known['triangles']} are known"
    note = "" if "triangles" in case.known else "answer not checked"
    runs = [seconds(lambda: gasla.triangle_count(graph), least=2)]
    yield case.figure("triangles", runs, wrong, note or case.beside("triangles"))


def betweenness(case: Case) -> Iterator[Figure]:
    """From all eight sources in one call."""
    graph, sources = case.graph.graph, case.graph.sources

    def call() -> Any:
        return gasla.betweenness_centrality(graph, sources=sources, normalized=False)

    depths = [gasla.bfs(graph, s) for s in sources]
    wrong = answers.scores(call(), sources, depths)
    reached, depth = int((depths[0] >= 0).sum()), int(np.median([int(level.max()) for level in depths]))
    floor = floors.betweenness(case.work, reached, depth, len(sources))
    del depths
    yield case.figure("betweenness", [seconds(call, most=3)], wrong, case.beside("betweenness", sources), floor)


def levels(case: Case) -> Iterator[Figure]:
    """What every iteration of a search and of shortest paths takes, by the GPU's own clock."""
    source = case.graph.sources[0]
    for name, made in (("bfs", search(source)), ("sssp", shortest_paths(source))):
        for _ in range(2):
            rows = iterations(*made, case.graph.graph, source)
        took = np.diff(rows[:, 3]) / 1e3
        kept = [[*map(int, row[:3]), round(t, 2)] for row, t in zip(rows[1:], took.tolist())][:64]
        note = f"{len(rows)} iterations, by the GPU's clock; the longest {took.max(initial=0):.1f}"
        value = float(np.median(took)) if len(took) else 0.0
        yield Figure(case.graph.name, f"{name} iteration", value, "us", None, "", note, kept)


def search(source: int) -> tuple[Any, dict[str, Any]]:
    """The program of `gasla.bfs`, and what it starts with."""
    from gasla.algorithms.bfs import Levels

    return Levels(), {"level": {source: 0}}


def shortest_paths(source: int) -> tuple[Any, dict[str, Any]]:
    """The program of `gasla.sssp`, and what it starts with."""
    from gasla.algorithms.sssp import NearFirst

    return NearFirst.typed(distance=np.float32, weight=np.float32)(), {"distance": {source: 0}}


def iterations(program: Any, start: dict[str, Any], graph: Any, source: int) -> np.ndarray:
    """For every iteration: active vertices, edges, 1 for push or 2 for pull, nanoseconds of a clock at its end."""
    from gasla.frontier import Frontier
    from gasla.gpu.engine import Bound
    from gasla.runner import NO_LIMIT, _advance

    bound = Bound(program, graph, start)
    try:
        bound.begin(Frontier(graph.n, [source]), 0, None)
        return np.concatenate(_advance(bound, NO_LIMIT, True, None, None))
    finally:
        bound.close()


# --- products and programs -------------------------------------------------------------------------------------------


def mxv(case: Case) -> Iterator[Figure]:
    """plus_times over cuSPARSE's product, and other semirings over plus_times."""
    import cupy

    A = case.graph.matrix
    x = cupy.random.default_rng(1).random(A.shape[0], np.float32)
    calls: dict[str, Callable[[int], Any]] = {"cusparse": _waiting(lambda: A @ x)}
    for name, semiring in products.SEMIRINGS.items():
        calls[name] = _waiting(lambda semiring=semiring: gasla.mxv(A, x, semiring))
    agrees = bool(cupy.allclose(gasla.mxv(A, x), A @ x, rtol=1e-3))
    times = _in_turns(calls)
    for name in products.SEMIRINGS:
        against, limit = ("cusparse", BAR_PRODUCT) if name == "plus_times" else ("plus_times", BAR_SEMIRING)
        wrong = "" if agrees else "differs from cuSPARSE"
        yield _ratio(case, f"mxv {name}", times, name, against, limit, wrong)


def own(case: Case) -> Iterator[Figure]:
    """A user's own programs over the library's functions."""
    graph, user = case.graph.graph, programs.Own(case.graph.graph)
    sources = case.graph.sources
    pairs: dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]] = {
        "bfs": (user.bfs, lambda s: gasla.bfs(graph, s, parents=True)),
        "sssp": (user.sssp, lambda s: gasla.sssp(graph, s)),
        "pagerank": (lambda _: user.pagerank(), lambda _: _pagerank(graph, 0.0, PAGERANK_ITERATIONS)),
    }
    for name, (theirs, ours) in pairs.items():
        calls = {"user's own": _waiting(theirs, sources), "gasla": _waiting(ours, sources)}
        yield _ratio(case, f"own {name}", _in_turns(calls), "user's own", "gasla", BAR_PROGRAM)


def _waiting(call: Callable[..., Any], sources: list[int] | None = None) -> Callable[[int], Any]:
    """The call of a round, which ends when the GPU has done with it."""

    def work(number: int) -> Any:
        result = call() if sources is None else call(sources[number % len(sources)])
        _synchronize()
        return result

    return work


def _in_turns(calls: dict[str, Callable[[int], Any]]) -> dict[str, list[float]]:
    for call in calls.values():
        call(0)
    return interleaved(calls, ROUNDS, budget=2.0, keep=frozenset(calls), pause=0)  # in a pause the clock goes down


def _ratio(
    case: Case, what: str, times: dict[str, list[float]], name: str, against: str, limit: float, wrong: str = ""
) -> Figure:
    mine, theirs = median(times[name]), median(times[against])
    note = f"{1e3 * mine:.3f} over {1e3 * theirs:.3f} ms"
    runs = {who: times[who] for who in (name, against)}
    return Figure(case.graph.name, what, mine / theirs, "x", limit, wrong, note, runs)


ALGORITHMS: dict[str, Callable[[Case], Iterator[Figure]]] = {
    "bfs": bfs,
    "sssp": sssp,
    "pagerank": pagerank,
    "components": components,
    "triangles": triangles,
    "betweenness": betweenness,
    "mxv": mxv,
    "own": own,
    "levels": levels,
}
