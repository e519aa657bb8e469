"""Walk programs: against a walker in plain Python that calls the same functions, and by chi-square tests."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import gasla
from gasla import datasets
from gasla.graph.graph import Graph
from semirings import where
from tests.helpers.walk_programs import PROGRAMS, Everything, PlainWalker, fields_of, graph_of


def use_threads(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr("gasla.cpu.runtime.blocks.SMALL", 0)
    monkeypatch.setattr("gasla.cpu.runtime.blocks.num_threads", lambda: count)


CASES = [("RandomWalk", False, np.int32), ("Node2Vec", True, np.int64), ("Everything", False, np.int32)]
OTHERS = [("RandomWalk", True, np.int32), ("Node2Vec", False, np.int32), ("Everything", True, np.int64)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "weighted", "kind"), [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in OTHERS)]
)
def test_walks_are_those_of_plain_walkers(
    name: str, weighted: bool, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, on one thread and on two."""
    graph, program = graph_of(kind), PROGRAMS[name]
    given = fields_of(program, graph)
    before = {name: array.copy() for name, array in given.items()}
    starts = np.random.default_rng(5).integers(0, graph.n, 60)
    walks = gasla.walk(program, graph, starts, 12, weighted=weighted, seed=7, **given)
    assert walks.shape == (60, 13) and walks.dtype == np.int32
    all_ids = np.arange(graph.n)
    fields = {
        "height": given.get("height", all_ids).astype(np.float32),
        "place": np.stack([all_ids % 8 * 0.5, np.ones(graph.n)], axis=1),
        "half": np.full(graph.n, 0.5, np.float32),
    }
    plain = PlainWalker(program(), graph, 7, weighted, fields)
    assert walks.tolist() == [plain.walk(w, int(start), 12) for w, start in enumerate(starts)]
    use_threads(monkeypatch, 2)
    np.testing.assert_array_equal(gasla.walk(program, graph, starts, 12, weighted=weighted, seed=7, **given), walks)
    assert all(np.array_equal(given[name], array) for name, array in before.items())


class Heavy(gasla.WalkProgram):
    """Takes edges in proportion to a number that each end has, some of them hardly ever."""

    mass = gasla.vertex(np.float64)

    def bound(self) -> Any:
        return 1e4

    def accept(self, previous: Any, vertex: Any, target: Any, edge: Any) -> Any:
        return target.mass


def test_steps_are_fair() -> None:
    """Where little is refused, and where nearly all is, so that all are weighed; with parallel edges and loops."""
    graph = Graph.from_edges([0, 0, 0, 0, 0], [0, 1, 1, 2, 3], [2.0, 1.0, 1.0, 0.0, 3.0])
    for scale in (1e3, 1e-3):
        mass = np.array([1, 2, 3, 0.5]) * scale
        for weighted, shares in ((False, [1, 4, 3, 0.5]), (True, [2, 4, 0, 1.5])):
            walks = gasla.walk(Heavy, graph, np.zeros(6000, int), 1, weighted=weighted, seed=4, mass=mass)
            counts, likely = np.bincount(walks[:, 1], minlength=4), np.array(shares)
            assert not counts[likely == 0].any()
            some = likely > 0
            assert chisquare(counts[some], 6000 * likely[some] / likely.sum()).pvalue > 1e-3


def test_a_walker_ends_where_no_edge_is_accepted() -> None:
    """A walker ends where accept is 0 for all edges: it doesn't draw for ever, at a hub of few edges or of many."""
    hub = Graph.from_edges(np.zeros(5000, int), np.arange(1, 5001))
    assert gasla.walk(Heavy, hub, [0, 0], 3, mass=0).tolist() == [[0, -1, -1, -1]] * 2
    one = gasla.walk(Heavy, hub, np.zeros(50, int), 2, mass={4321: 1e-3})
    assert (one == [0, 4321, -1]).all()


class Ending(gasla.WalkProgram):
    """Ends, or begins anew, by two chances."""

    ends = gasla.parameter(np.float64, 0)
    begins = gasla.parameter(np.float64, 0)

    def stop(self, vertex: Any) -> Any:
        return self.ends

    def restart(self, vertex: Any) -> Any:
        return self.begins


def test_ends_and_restarts_are_fair() -> None:
    path = Graph.from_edges(np.arange(20), np.arange(1, 21))
    starts = np.zeros(4000, int)
    ended = gasla.walk(Ending, path, starts, 6, ends=0.25, seed=1)
    lengths = np.bincount((ended >= 0).sum(axis=1) - 1, minlength=7)
    expected = np.append(0.75 ** np.arange(6) * 0.25, 0.75**6)
    assert chisquare(lengths, 4000 * expected).pvalue > 1e-3
    begun = gasla.walk(Ending(begins=0.25), path, starts, 6, seed=2)
    assert chisquare(np.bincount(begun[:, 6], minlength=7), 4000 * expected).pvalue > 1e-3
    assert (gasla.walk(Ending, path, [3, 20], 2, begins=1) == [[3, 3, 3], [20, 20, 20]]).all()
    assert (gasla.walk(Ending, path, [3, 20], 2, begins=1, ends=1) == [[3, -1, -1], [20, -1, -1]]).all()


def test_hard_shapes_give_right_answers() -> None:
    empty = Graph.from_edges([], [], n=0)
    assert gasla.walk(Everything, empty, [], 3).shape == (0, 4)
    alone = Graph.from_edges([], [], n=1)
    assert gasla.walk(Heavy, alone, [0], 2, mass=1).tolist() == [[0, -1, -1]]
    assert gasla.walk(Heavy, alone, [0], 0, mass=1).tolist() == [[0]]
    loop = Graph.from_edges([0], [0])
    assert gasla.walk(Heavy, loop, [0], 2, mass=[1e-3]).tolist() == [[0, 0, 0]]


class Pairs(gasla.WalkProgram):
    def accept(self, previous: Any, vertex: Any, target: Any, edge: Any) -> Any:
        asked = [self.has_edge(target, i) for i in range(4)]
        return asked[0] & asked[1] & asked[2] & asked[3]


class Lost(gasla.WalkProgram):
    height = gasla.vertex(np.float64)

    def accept(self, previous: Any, vertex: Any, target: Any, edge: Any) -> Any:
        return previous.height


class Early(gasla.WalkProgram):
    def stop(self, vertex: Any) -> Any:
        return self.has_edge(vertex, 0)


class Bound(gasla.WalkProgram):
    most = gasla.parameter(np.float64, np.nan)

    def bound(self) -> Any:
        return self.most

    def accept(self, previous: Any, vertex: Any, target: Any, edge: Any) -> Any:
        return where(edge.id == 1, 0.5, -1)


PAIR = Graph.from_edges([0, 1], [1, 0], [1.0, -1.0])


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: gasla.walk(Ending, PAIR, [0], 4, ends=-0.5),
        ValueError,
        "Ending.stop gives -0.5 for walker 0 in step 0; expected a number from 0 to 1.0$",
    ),
    (lambda: gasla.walk(Ending, PAIR, [0], 4, begins=np.nan), ValueError, "Ending.restart gives nan for walker 0 in"),
    (lambda: gasla.walk(Bound, PAIR, [0], 4), ValueError, "Bound.bound gives nan; expected a finite number above 0"),
    (lambda: gasla.walk(Bound, PAIR, [1, 0], 4, most=1), ValueError, "Bound.accept gives -1.0 for walker 1 in"),
    (lambda: gasla.walk(Pairs, PAIR, [0], 1), TypeError, "Pairs.accept calls has_edge for more than 3 pairs"),
    (
        lambda: gasla.walk(Lost, PAIR, [0], 1),
        TypeError,
        "Lost.accept reads 'height' of another vertex, and the field has",
    ),
    (lambda: gasla.walk(Early, PAIR, [0], 1), TypeError, r"self.has_edge\(src, dst\) is for accept"),
    (lambda: gasla.walk(Heavy, PAIR, [0], 1, mass=[1, 2, 3]), ValueError, "Heavy.mass starts with an array of shape"),
    (lambda: gasla.walk(Heavy, PAIR, [0], 1, weight=1), TypeError, "has no field 'weight' to start with; expected"),
    (lambda: gasla.walk(Heavy, PAIR, [0], 1.5), TypeError, "steps is 1.5; expected a whole number"),  # type: ignore[arg-type]
    (lambda: gasla.walk(Heavy, PAIR, [0], 1, weighted=True), ValueError, "the weight of edge 1 is -1.0"),
    (lambda: gasla.walk(Heavy, PAIR, [0], 1, weighted=2), TypeError, "weighted is 2; expected True or False"),  # type: ignore[arg-type]
    (lambda: gasla.walk(gasla.VertexProgram, PAIR, [0], 1), TypeError, "expected a gasla.WalkProgram"),  # type: ignore[arg-type]
    (lambda: Ending(other=1), TypeError, "Ending has no parameter 'other'; its parameters: ends, begins"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_errors_say_what_is_wrong(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"step": gasla.vertex(int)}, "P.step: this name is gasla's own"),
        ({"used": gasla.edge(int, init=0)}, "P.used has init=0; expected gasla.edge"),
    ],
)
def test_refused_declarations(body: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        type("P", (gasla.WalkProgram,), body)


def test_the_generated_source_can_be_read() -> None:
    for target, text in (("cpu", "def accept_("), ("cuda", "double accept_(")):
        assert text in gasla.source(Everything, target)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_many_walkers_on_two_threads(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, program = Graph(datasets.rmat(10)), Everything(last=1000)  # its weights are larger
    ids = np.random.default_rng(1).integers(0, graph.n, 3000)
    expected = gasla.walk(program, graph, ids, 9, weighted=weighted, seed=5)
    use_threads(monkeypatch, 2)
    np.testing.assert_array_equal(gasla.walk(program, graph, ids, 9, weighted=weighted, seed=5), expected)
    np.testing.assert_array_equal(gasla.walk(program, graph, ids[:100], 9, weighted=weighted, seed=5), expected[:100])


# --- on a GPU --------------------------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["RandomWalk", "Node2Vec", "Everything"])
def test_gpu_gives_the_same(name: str, weighted: bool) -> None:
    graph, program = graph_of(np.int32), PROGRAMS[name]
    starts = np.random.default_rng(5).integers(0, graph.n, 3000)
    given = fields_of(program, graph)
    on_gpu = gasla.walk(program, graph.to("gpu"), starts, 12, weighted=weighted, seed=7, **given)
    np.testing.assert_array_equal(
        on_gpu.get(), gasla.walk(program, graph, starts, 12, weighted=weighted, seed=7, **given)
    )


@pytest.mark.gpu
def test_gpu_refuses_the_same() -> None:
    with pytest.raises(ValueError, match=r"Wrong.accept gives 3.0 for walker \d in step 2; expected"):
        gasla.walk(PROGRAMS["Wrong"], PAIR.to("gpu"), [0, 1], 4)
