"""Programs that run in place: what a read may see, where they end, and what is refused; on every engine."""

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
import semirings
from gasla.arrays import moved
from gasla.gpu.program.plan import Variant
from gasla.program.plan import Plan
from tests.helpers.emulated_loop import EmulatedRun

pytestmark = pytest.mark.thorough

SOME, MANY = 2, int(os.environ.get("GASLA_GENERATED", "40"))
SLOW = pytest.mark.slow
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
Start = dict[str, Any]
Engine = Callable[[Any, gasla.Graph, Start], dict[str, Any]]


def graph_of(n: int, src: Any, dst: Any) -> gasla.Graph:
    return gasla.Graph.from_edges(np.append(src, dst).astype(np.int64), np.append(dst, src).astype(np.int64), n=n)


def random_graph(seed: int, n: int, power: int = 1) -> gasla.Graph:
    rng = np.random.default_rng(seed)
    return graph_of(n, rng.integers(0, n, 3 * n), (n * rng.random(3 * n) ** power).astype(np.int64))


def wide(graph: gasla.Graph) -> gasla.Graph:
    return gasla.Graph.from_csr(graph.out.indptr.astype(np.int64), graph.out.indices)


SHAPES = {
    "empty": gasla.Graph.from_edges([], [], n=0),
    "one vertex": gasla.Graph.from_edges([], [], n=1),
    "a loop": gasla.Graph.from_edges([0], [0]),
    "parallel": graph_of(3, [2, 2, 2], [0, 0, 1]),
    "disconnected": graph_of(7, [6, 5, 1], [5, 4, 0]),
    "star": graph_of(200, [0] * 199, range(1, 200)),
    "path": graph_of(300, range(299), range(1, 300)),
    "skewed": random_graph(3, 600, 4),
    "int64 offsets": wide(random_graph(4, 200)),
}


# --- engines ---------------------------------------------------------------------------------------------------------


def compiled(program: Any, graph: gasla.Graph, start: Start) -> dict[str, Any]:
    result = gasla.run(program, graph, **start)
    return {name: moved(array, "cpu") for name, array in result.state.items()} | {"iterations": result.iterations}


def on_gpu(program: Any, graph: gasla.Graph, start: Start) -> dict[str, Any]:
    return compiled(program, graph.to("gpu"), start)


def by_numpy(program: Any, graph: gasla.Graph, start: Start) -> dict[str, Any]:
    return compiled(program, graph, start | {"compile": False})


def emulator(folder: Path, **shape: bool) -> Engine:
    """The kernel for the GPU: by one block that is alone, or by two."""
    number = itertools.count()

    def run(program: Any, graph: gasla.Graph, start: Start) -> dict[str, Any]:
        blocks, given = 1 if shape.get("small") else 2, dict(start)
        kind = Variant(graph.out.indptr.dtype, **shape)
        place = folder / str(next(number))
        place.mkdir()
        kernel = EmulatedRun(program, graph, kind, blocks, {}, place)
        fields = kernel.run(given.pop("active", None), limit=given.pop("max_iterations", 10**6), **given)
        return fields | {"iterations": kernel.page.control.iteration}

    return run


ENGINES = [
    pytest.param("cpu", id="cpu"),
    pytest.param("numpy", id="numpy"),
    pytest.param("alone", id="emulated-alone", marks=needs_compiler),
    pytest.param("grid", id="emulated-grid", marks=needs_compiler),
    pytest.param("gpu", id="gpu", marks=pytest.mark.gpu),
]


@pytest.fixture
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """What runs a program on a graph; on the CPU by two threads."""
    if request.param == "cpu":
        request.getfixturevalue("two_threads")
        return compiled
    if request.param in ("alone", "grid"):
        return emulator(tmp_path, **({"small": True} if request.param == "alone" else {}))
    return by_numpy if request.param == "numpy" else on_gpu


# --- what a read may see ---------------------------------------------------------------------------------------------


class Stamps(gasla.VertexProgram):
    """Each vertex is stamped with the number of the iteration, and notes how new the stamps are that it sees."""

    order = "in place"
    stamp = gasla.vertex(np.int64, missing=0)
    oldest = gasla.vertex(np.int64, init=9)
    newest = gasla.vertex(np.int64, init=-9)
    count = gasla.vertex(np.int64)
    reduce = semirings.product(semirings.min, semirings.max)

    def gather(self, src, dst, edge):
        return src.stamp - self.iteration, src.stamp - self.iteration

    def apply(self, vertex, gathered):
        has = vertex.in_degree > 0
        return {
            "stamp": self.iteration + 1,
            "oldest": semirings.where(has, semirings.minimum(vertex.oldest, gathered[0]), vertex.oldest),
            "newest": semirings.where(has, semirings.maximum(vertex.newest, gathered[1]), vertex.newest),
            "count": vertex.count + 1,
        }

    def activate(self, before, after):
        return True


class Everyone(Stamps):
    """The same, of everyone."""

    everyone = True


class Anywhere(gasla.VertexProgram):
    """The same of a vertex that is no neighbor."""

    order = "in place"
    everyone = True
    stamp = gasla.vertex(np.int64, missing=0)
    oldest = gasla.vertex(np.int64, init=9)
    newest = gasla.vertex(np.int64, init=-9)
    count = gasla.vertex(np.int64)

    def apply(self, vertex, gathered):
        lag = self.at((vertex.id * 7 + 3) % self.n).stamp - self.iteration
        oldest, newest = semirings.minimum(vertex.oldest, lag), semirings.maximum(vertex.newest, lag)
        return {"stamp": self.iteration + 1, "oldest": oldest, "newest": newest, "count": vertex.count + 1}

    def activate(self, before, after):
        return True


def on_engines(*programs: Any) -> list[Any]:
    """Each program on each engine; one compiler's run for each that is emulated, unless slow ones are asked for."""
    quick = {("emulated-grid", Stamps), ("emulated-alone", Everyone)}
    return [
        pytest.param(
            program,
            *engine.values,
            id=f"{program.__name__}-{engine.id}",
            marks=[*engine.marks, *([] if "emul" not in engine.id or (engine.id, program) in quick else [SLOW])],
        )
        for program in programs
        for engine in ENGINES
    ]


@pytest.mark.parametrize(("program", "engine"), on_engines(Stamps, Everyone, Anywhere), indirect=["engine"])
def test_a_read_sees_this_iteration_or_the_one_before_and_each_applies_once(program: Any, engine: Engine) -> None:
    if "run" in engine.__qualname__ and program is Everyone:  # rows on a grid need a GPU; the one block does them
        program = type("Everyone", (Everyone,), {"post_apply": lambda self, vertex: {"count": vertex.count}})
    for graph in SHAPES.values():
        found = engine(program, graph, {"max_iterations": 12})
        receives = np.ones(graph.n, bool) if program.everyone else graph.in_degrees > 0
        assert (found["count"] == np.where(receives, 12 if receives.any() else 0, 0)).all()
        seen = graph.in_degrees > 0 if program is not Anywhere else receives
        assert (found["oldest"][seen] >= 0).all() and (found["newest"][seen] <= 1).all()
        assert found["iterations"] == (12 if graph.n and (receives.any() or program.everyone) else found["iterations"])


@pytest.mark.slow
def test_one_thread_sees_what_those_before_have_applied() -> None:
    class Sums(gasla.VertexProgram):
        order = "in place"
        everyone = True
        x = gasla.vertex(np.int64, init=lambda v: v.id % 5)
        reduce = semirings.plus

        def gather(self, src, dst, edge):
            return src.x

        def apply(self, vertex, gathered):
            return {"x": (gathered + vertex.id) % 1009}

    graph = random_graph(8, 150)
    x = [v % 5 for v in range(graph.n)]
    for _ in range(3):
        for v in range(graph.n):
            x[v] = (sum(x[u] for u in graph.in_.indices[graph.in_.indptr[v] : graph.in_.indptr[v + 1]]) + v) % 1009
    assert gasla.run(Sums, graph, max_iterations=3).x.tolist() == x


# --- where programs end ----------------------------------------------------------------------------------------------

GROWS = {
    "min": (semirings.min, lambda src: (src.x + 1, src.x), lambda a, b: semirings.minimum(a, b)),
    "max": (semirings.max, lambda src: (semirings.minimum(src.x + 1, 40), src.x), lambda a, b: semirings.maximum(a, b)),
    "bor": (semirings.bor, lambda src: (src.x | 4, src.x & 27), lambda a, b: a | b),
}


def monotone(rng: np.random.Generator) -> type[gasla.VertexProgram]:
    """A program whose values only ever get better, and so to one end; it counts, too, and so doesn't absorb."""
    monoid, gathers, better = GROWS[rng.choice(list(GROWS))]
    of, kind = int(rng.integers(2)), rng.choice([np.int64, np.int32])
    everyone, at, has = bool(rng.integers(2)), bool(rng.integers(2)), rng.integers(0, 2, 6)

    def gather(self: Any, src: Any, dst: Any, edge: Any) -> Any:
        return gathers(src)[of].astype(kind)

    def apply(self: Any, vertex: Any, gathered: Any) -> Any:
        best = better(vertex.x, gathered)
        if at and everyone:
            best = better(best, self.at(vertex.id * 2 - 3).x)
        return {"x": best.astype(kind), "times": semirings.minimum(vertex.times + 1, 3)}

    body: dict[str, Any] = {
        "x": gasla.vertex(kind, init=lambda v: v.id * 5 % 31, missing=0 if monoid is semirings.bor else 17),
        "times": gasla.vertex(np.int64),
        "noted": gasla.vertex(np.int64),
        "reduce": monoid,
        "gather": gather,
        "apply": apply,
        "everyone": everyone,
        "direction": str(rng.choice(["in", "out", "all"])),
    }
    if has[0]:
        body["mask"] = lambda self, vertex: vertex.id % 4 != 1
    if has[1]:
        body["edge_mask"] = lambda self, src, dst, edge: (src.id + dst.id) % 3 != 0
    if has[2]:
        body["post_apply"] = lambda self, vertex: {"noted": vertex.x.astype(np.int64)}
    if has[3]:
        body["most"] = gasla.aggregate(semirings.max, np.int64)(lambda self, before, after: after.x.astype(np.int64))
    if has[4] and not everyone:
        body["bucket"] = lambda self, vertex: vertex.id % 3
    elif has[5]:
        body |= {
            "flow": gasla.edge(np.int64, init=1),
            "scatter": lambda self, src, dst, edge: {"flow": edge.flow + dst.x},
        }
    return type("Monotone", (gasla.VertexProgram,), body)


def try_monotone(engine: Engine, seed: int, rows: bool) -> None:
    rng = np.random.default_rng(seed)
    program = monotone(rng)
    if rows and program.everyone and not hasattr(program, "post_apply"):  # on a grid rows need a GPU
        program = type("Monotone", (program,), {"post_apply": lambda self, vertex: {"noted": vertex.times}})
    graph = random_graph(seed, int(rng.integers(2, 400)), int(rng.choice([1, 4])))
    placed = type("Monotone", (program,), {"order": "in place"})
    assert not Plan(program.traced(graph.id_dtype)).absorbs and Plan(placed.traced(graph.id_dtype)).in_place == {"x"}
    expected = gasla.run(program, graph, compile=False)
    assert (engine(placed, graph, {})["x"] == expected.x).all(), f"seed {seed}"


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
@pytest.mark.slow
def test_some_monotone_programs_end_where_synchronous_ones_do(engine: Engine) -> None:
    for seed in range(1 if "run" in engine.__qualname__ else SOME):
        try_monotone(engine, seed, "run" in engine.__qualname__)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_many_monotone_programs(engine: Engine) -> None:
    for seed in range(100, 100 + MANY):
        try_monotone(engine, seed, "run" in engine.__qualname__)


class Contraction(gasla.VertexProgram):
    """x = c + 0.9 times the mean of the neighbors' x."""

    everyone = True
    x = gasla.vertex(np.float64, init=lambda v: v.id % 7 * 1.0)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.x

    def apply(self, vertex, gathered):
        return {"x": vertex.id % 11 + 0.9 * gathered / semirings.maximum(vertex.in_degree, 1)}

    @gasla.aggregate(semirings.max)
    def change(self, before, after):
        return abs(after.x - before.x)

    def stop(self):
        return self.change < 1e-6


@pytest.mark.parametrize(("program", "engine"), on_engines(Contraction), indirect=["engine"])
@pytest.mark.slow
def test_a_contraction_is_as_near_as_its_tolerance_says(program: Any, engine: Engine) -> None:
    if "run" in engine.__qualname__:  # rows on a grid need a GPU
        noted = {"post_apply": lambda self, vertex: {"noted": vertex.id}, "noted": gasla.vertex(np.int64)}
        program = type("Contraction", (program,), noted)
    placed = type("Contraction", (program,), {"order": "in place"})
    for name in ("one vertex", "star", "skewed", "int64 offsets"):
        graph = SHAPES[name]
        x = engine(placed, graph, {})["x"]
        total = np.bincount(graph.out.indices, x[graph.out.owners()], graph.n)
        step = np.arange(graph.n) % 11 + 0.9 * total / np.maximum(graph.in_degrees, 1)
        assert np.abs(step - x).max(initial=0) <= 1e-6


@pytest.mark.slow
def test_order_is_an_option_of_runs_prepared_runs_phases_and_of_what_is_explained() -> None:
    graph = random_graph(5, 100)
    plain = gasla.run(Contraction, graph)
    for result in (
        gasla.run(Contraction, graph, order="in place"),
        gasla.prepare(Contraction, graph, order="in place")(),
        gasla.run([gasla.Phase(Contraction, until="still")], graph, order="in place"),
    ):
        np.testing.assert_allclose(result.x, plain.x, atol=1e-4)
    assert gasla.run(Contraction, graph, order="in place").iterations < plain.iterations
    out = np.zeros(graph.n)
    assert gasla.run(Contraction, graph, order="in place", out={"x": out}).x is out
    assert "x has one copy" in gasla.explain(Contraction, graph, order="in place")
    assert "x has two copies" in gasla.explain(Contraction, graph)


# --- PageRank --------------------------------------------------------------------------------------------------------

DIRECTED = gasla.Graph.from_edges(
    *np.random.default_rng(6).integers(0, 300, (2, 900)), np.random.default_rng(7).integers(1, 9, 900) / 2, n=330
)
SURFERS = {
    "uniform": {"weighted": False},
    "by weight": {},
    "personal": {"weighted": False, "personalization": {3: 2.0, 7: 1.0}, "dangling": {1: 1.0}},
    "personal, by weight": {"personalization": {3: 2.0, 7: 1.0}, "nstart": np.arange(330.0)},
}


def plain_step(ranks: np.ndarray, weighted: bool = True, **chosen: Any) -> np.ndarray:
    """One synchronous step, by SciPy and NumPy."""
    n, src, alpha = DIRECTED.n, DIRECTED.out.owners(), 0.85
    matrix = csr_array((DIRECTED.out_values if weighted else np.ones(DIRECTED.m), (src, DIRECTED.out.indices)), (n, n))
    total = matrix.sum(axis=1)
    home = np.full(n, 1 / n)
    if "personalization" in chosen:
        home = np.bincount(list(chosen["personalization"]), list(chosen["personalization"].values()), n)
        home = home / home.sum()
    refuge = np.bincount(list(chosen["dangling"]), minlength=n) if "dangling" in chosen else home
    share = np.divide(ranks, total, out=np.zeros(n), where=total > 0)
    return (1 - alpha) * home + alpha * (ranks[total == 0].sum() * refuge + matrix.T @ share)


@pytest.mark.parametrize("device", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in ("by weight", "personal") else []) for name in SURFERS],
)
def test_a_plain_step_leaves_ranks_where_they_are(name: str, device: Any, two_threads: None) -> None:
    options, graph = SURFERS[name], DIRECTED.to(device)
    for tol in (1e-4, 1e-10):
        found = gasla.pagerank(graph, order="in place", tol=tol, max_iter=300, **options)
        ranks = moved(found.ranks, "cpu")
        assert found.converged and found.residual < tol and abs(ranks.sum() - 1) < 1e-12
        assert np.abs(plain_step(ranks, **options) - ranks).sum() <= tol
    plain = gasla.pagerank(graph, tol=1e-10, max_iter=300, **options)
    assert np.abs(moved(plain.ranks, "cpu") - ranks).sum() < 1e-8
    if device == "cpu":
        assert found.iterations < 0.8 * plain.iterations


@pytest.mark.slow  # compiles for each type
def test_ranks_in_place_of_other_shapes_and_kinds(two_threads: None) -> None:
    for graph in SHAPES.values():
        plain, found = (
            gasla.pagerank(graph, order=o, weighted=False, tol=1e-9, max_iter=300) for o in ("synchronous", "in place")
        )
        np.testing.assert_allclose(found.ranks, plain.ranks, atol=1e-8)
        assert found.ranks.dtype == plain.ranks.dtype
    plain, found = (gasla.pagerank(DIRECTED, order=o, normalized=False) for o in ("synchronous", "in place"))
    np.testing.assert_allclose(found.ranks, plain.ranks, atol=1e-3)
    assert gasla.pagerank(DIRECTED, order="in place", tol=0, max_iter=7).iterations == 7
    for options in ({"order": "sideways"}, {"order": "in place", "personalization": [{0: 1}, {1: 1}]}):
        with pytest.raises(ValueError, match="expected"):
            gasla.pagerank(DIRECTED, **options)


# --- what is refused -------------------------------------------------------------------------------------------------


class Wide(Contraction):
    """Neighbors read two numbers."""

    x = gasla.vertex((np.float32, (2,)))

    @gasla.aggregate(semirings.max)
    def change(self, before, after):
        return 1.0


class Heard(Stamps):
    """Only active neighbors count."""

    sources = "active"


@pytest.mark.parametrize(
    ("program", "options", "error", "said"),
    [
        (Contraction, {"deterministic": True}, ValueError, "expected deterministic=False"),
        (Contraction, {"schedule": np.zeros(2, int)}, ValueError, "for a schedule"),
        (Wide, {}, TypeError, "x is float32.*expected a single number"),
        (Heard, {}, ValueError, "sources = 'all'"),
        (Contraction, {"order": "random"}, ValueError, "order is 'random'; expected"),
        (Contraction, {"order": ["in place"]}, ValueError, "order is .*expected"),
    ],
)
def test_what_cannot_be_right_is_refused(program: Any, options: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        gasla.run(program, graph_of(2, [0], [1]), **{"order": "in place", **options})


def test_a_program_says_one_of_two_orders_and_stages_are_synchronous() -> None:
    with pytest.raises(ValueError, match=r"Bad\.order is 'both'"):
        type("Bad", (gasla.VertexProgram,), {"order": "both"})
    with pytest.raises(ValueError, match="stages"):
        Plan(Everyone.traced(np.dtype(np.int32)), scheduled=True, staged=True)
