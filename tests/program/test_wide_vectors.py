"""Programs over vectors of more items than are values of their own: features, many sources at once."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

import gasla
import semirings
from gasla.cpu.program.generate import module_source
from gasla.program.fields import MOST_LANES
from tests.helpers.waiting import count_sleepers

pytestmark = pytest.mark.thorough


class Total(gasla.VertexProgram):
    """The weighted sum, and how many there are, of the in-neighbors' features."""

    x = gasla.vertex((np.float32, (20,)))
    total = gasla.vertex((np.float32, (20,)))
    count = gasla.vertex(np.int32)
    w = gasla.edge(np.float32)
    reduce = semirings.Monoid(lambda a, b: (a[0] + b[0], a[1] + b[1]), 0, name="sums")
    everyone = True

    def gather(self, src, dst, edge):
        return src.x * edge.w, np.int32(1)

    def apply(self, vertex, gathered):
        return {"total": gathered[0], "count": gathered[1]}

    def activate(self, before, after):
        return False


class Nearest(gasla.VertexProgram):
    """Distances from as many sources as there are lanes."""

    distance = gasla.vertex((np.float64, (12,)), init=np.inf)
    w = gasla.edge(np.float64)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.distance + edge.w

    def apply(self, vertex, gathered):
        return {"distance": semirings.minimum(vertex.distance, gathered)}


class Swap(gasla.VertexProgram):
    """Two vectors that change places, and what activate and an aggregate see of that."""

    x = gasla.vertex((np.int32, (9,)))
    y = gasla.vertex((np.int32, (9,)), init=7)
    everyone = True

    def apply(self, vertex, gathered):
        return {"x": vertex.y, "y": vertex.x}

    @gasla.aggregate(semirings.plus, np.int64)
    def gained(self, before, after):
        return semirings.plus(after.x - before.x)

    def activate(self, before, after):
        return semirings.plus(after.x) > semirings.plus(before.x)


def star(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1, n), np.zeros(n - 1, int)


SHAPES: dict[str, tuple[Any, Any, int]] = {
    "nothing": ([], [], 0),
    "one vertex": ([], [], 1),
    "a loop": ([0], [0], 1),
    "no edges": ([], [], 70),
    "parallel edges": ([0] * 9 + [1], [1] * 9 + [1], 3),
    "star": (*star(200), 200),
    "star turned round": (*star(200)[::-1], 200),
    "path": (np.arange(299), np.arange(1, 300), 300),
    "apart": ([0, 1, 7, 7, 8, 9], [1, 0, 8, 9, 9, 7], 12),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("offsets", [np.int32, pytest.param(np.int64, marks=pytest.mark.slow)])
def test_features_of_neighbors_add_up(shape: str, offsets: Any) -> None:
    src, dst, n = SHAPES[shape]
    weights = np.arange(1, len(src) + 1, dtype=np.float32) % 5
    graph = gasla.Graph.from_edges(np.array(src, int), np.array(dst, int), weights, n=n)
    graph = gasla.Graph.from_csr(graph.out.indptr.astype(offsets), graph.out.indices, graph.out_values)
    x = (np.arange(n * 20).reshape(n, 20) % 17).astype(np.float32)
    given = x.copy()
    found = gasla.run(Total, graph, x=x, max_iterations=1)
    weighted = sp.csr_array((weights, (np.array(dst, int), np.array(src, int))), shape=(n, n))
    np.testing.assert_array_equal(found.total, weighted @ x if n else x)
    np.testing.assert_array_equal(found.count, np.bincount(np.array(dst, int), minlength=n))
    np.testing.assert_array_equal(x, given)


@pytest.mark.parametrize("threads", ["as it is", "two"])
def test_many_sources_at_once_find_shortest_paths(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    src, dst, weights = rng.integers(0, 150, 500), rng.integers(0, 150, 500), rng.integers(1, 9, 500).astype(float)
    graph = gasla.Graph.from_edges(src, dst, weights, n=150)
    if threads == "two":
        monkeypatch.setattr("gasla.cpu.program.workspace.SMALL", 0)
        count_sleepers(-1000)
    sources = rng.choice(150, 12, replace=False)
    start = np.full((150, 12), np.inf)
    start[sources, np.arange(12)] = 0
    try:
        found = gasla.run(Nearest, graph, active=sources, distance=start)
    finally:
        count_sleepers(1000 * (threads == "two"))
    least = np.full((150, 150), np.inf)
    np.minimum.at(least, (src, dst), weights)
    right = shortest_path(sp.csr_array(np.where(np.isinf(least), 0, least)), indices=sources)
    np.testing.assert_array_equal(found.distance, right.T)
    assert found.converged


def test_a_vector_is_seen_as_it_was_until_all_is_applied() -> None:
    x = np.arange(27, dtype=np.int32).reshape(3, 9)
    once = gasla.run(Swap, sp.csr_array((3, 3)), x=x, max_iterations=1)
    np.testing.assert_array_equal(once.x, np.full((3, 9), 7))
    np.testing.assert_array_equal(once.y, x)
    assert once.aggregates["gained"] == 7 * 27 - x.sum()
    twice = gasla.run(Swap, sp.csr_array((3, 3)), x=x, max_iterations=2, trace=True)
    np.testing.assert_array_equal(twice.x, x)
    assert twice.trace is not None
    assert twice.trace["active"].tolist() == [3, np.count_nonzero(x.sum(axis=1) < 63)]


def test_half_precision_is_taken_and_summed_in_single() -> None:
    graph = gasla.Graph.from_edges([0, 1, 2], [3, 3, 3], np.ones(3, np.float32), n=4)
    x = np.full((4, 20), 2048.5, np.float16)  # rounds to 2048: sums of it would stay where they are in half precision
    x[1] = 1
    found = gasla.run(Total, graph, x=x, max_iterations=1)
    np.testing.assert_array_equal(found.total[3], np.full(20, 2048 + 1 + 2048, np.float32))


@pytest.mark.parametrize("length", [20, *(pytest.param(short, marks=pytest.mark.slow) for short in (3, 0))])
def test_half_precision_is_stored_and_computed_with_in_single(length: int) -> None:
    """Vectors wide and short, and single numbers; of vertices, and of edges, which scatter writes."""
    kind: Any = (np.float16, (length,)) if length else np.float16

    class Half(gasla.VertexProgram):
        x = gasla.vertex(kind, init=1)
        total = gasla.vertex(kind)
        sent = gasla.edge(kind, init=0)
        reduce = semirings.plus

        def gather(self, src, dst, edge):
            return src.x * 0.1 + edge.sent

        def apply(self, vertex, gathered):
            return {"total": gathered * 3, "x": vertex.x * 0.7}

        def scatter(self, src, dst, edge):
            return {"sent": src.x / 3}

        def mask(self, vertex):
            return (semirings.plus(vertex.x) if length else vertex.x) < 1e4

    rng = np.random.default_rng(2)
    graph = gasla.Graph.from_edges(rng.integers(0, 30, 90), rng.integers(0, 30, 90), n=30)
    x = rng.random((30, length) if length else 30).astype(np.float16)
    found = gasla.run(Half, graph, x=x, max_iterations=3)
    right = gasla.run(Half, graph, x=x, max_iterations=3, compile=False)
    for name in ("x", "total", "sent"):
        got = getattr(found, name)
        assert got.dtype == np.float16
        np.testing.assert_array_equal(got, getattr(right, name), err_msg=name)


def test_half_precision_is_for_fields_alone_and_refused_elsewhere() -> None:
    with pytest.raises(TypeError, match="float16 is not a supported type"):
        type("P", (gasla.VertexProgram,), {"p": gasla.parameter(np.float16, 1)}).traced(np.dtype(np.int32))
    with pytest.raises(TypeError, match="convert first"):
        semirings.Symbol("x", np.float16) + 1


def test_the_text_of_a_program_does_not_grow_with_lanes() -> None:
    def lines(length: int) -> int:
        body = {**vars(Nearest), "distance": gasla.vertex((np.float64, (length,)), init=np.inf)}
        return len(module_source(type("P", (gasla.VertexProgram,), body).traced(np.dtype(np.int32))).splitlines())

    assert lines(64) == lines(MOST_LANES)


def test_a_monoid_that_mixes_lanes_is_refused() -> None:
    for mixing in (lambda a, b: a + b[0], lambda a, b: semirings.where(semirings.plus(a) < semirings.plus(b), a, b)):
        body = {**vars(Nearest), "reduce": semirings.Monoid(mixing, 0, name="mixing")}
        program = type("P", (gasla.VertexProgram,), body)
        with pytest.raises(TypeError, match=r"P reduces float64\[12\] by monoid mixing, which looks at .*each item"):
            program.traced(np.dtype(np.int32))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((3, 8), np.int32), r"shape \(3, 8\); expected \(3, 9\)"),
        (np.zeros((3, 9)), "starts with float64; expected int32"),
        (np.zeros((9, 3), np.int32), r"shape \(9, 3\); expected \(3, 9\)"),
        ({1: [1, 2]}, r"Swap.x starts with \[1, 2\] for vertex 1; expected 9 numbers, or one for all"),
    ],
)
def test_features_of_the_wrong_shape_or_type_are_refused(given: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        gasla.run(Swap, sp.csr_array((3, 3)), x=given, max_iterations=1)


def test_each_item_of_a_wide_field_may_start_for_itself() -> None:
    found = gasla.run(Swap, sp.csr_array((3, 3)), x={1: range(9)}, y=np.arange(9), max_iterations=1)
    np.testing.assert_array_equal(found.y, [[0] * 9, range(9), [0] * 9])
    np.testing.assert_array_equal(found.x, [range(9)] * 3)
