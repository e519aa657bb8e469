"""What a person would write first in a program's function, and can't: each error says what to write instead."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla.graph.graph import Graph

GRAPH = Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], [1.0, 2.0, 3.0, 4.0])
TABLE, LIST, DICT = np.arange(4.0), [1, 2, 3, 4], {0: 1, 1: 2}
FIELD, CAST, WHERE = "gasla.vertex", "semirings.cast", r"semirings\.where\(condition, a, b\)"


def _assigned(v: Any) -> None:
    v.x = 3


def _increased(v: Any) -> None:
    v.x += 3


def _stored(v: Any) -> Any:
    array = np.zeros(4)
    array[0] = v.x
    return array[0]


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        *((f, FIELD) for f in (lambda v: TABLE[v.id], lambda v: np.take(TABLE, v.id), lambda v: TABLE.take(v.id))),
        *((f, FIELD) for f in (lambda v: LIST[v.id], lambda v: TABLE[: v.id], lambda v: "abcd"[v.id])),
        *((f, FIELD) for f in (lambda v: DICT[v.id], lambda v: DICT.get(v.id, 5), lambda v: {True: 1}[v.x > 0])),
        *((f, FIELD) for f in (lambda v: np.searchsorted(TABLE, v.x), lambda v: np.interp(v.x, TABLE, TABLE))),
        *((f, FIELD) for f in (lambda v: v.x in {1, 2}, lambda v: {v.x: 1}, lambda v: v.id in TABLE)),
        *((f, CAST) for f in (lambda v: np.float64(v.x), lambda v: np.int32(v.x), lambda v: np.bool_(v.x))),
        *((f, CAST) for f in (lambda v: float(v.x), lambda v: int(v.x), lambda v: complex(v.x), _stored)),
        *((f, CAST) for f in (lambda v: list(range(v.id)), lambda v: v.x & 1, lambda v: math.comb(v.id, 2))),
        *((f, WHERE) for f in (lambda v: 1 if v.x > 0 else 2, lambda v: bool(v.x), lambda v: not v.x)),
        *((f, WHERE) for f in (lambda v: v.x > 0 and v.x < 1, lambda v: v.x or 1, lambda v: 0 < v.x < 1)),
        *((f, r"\(x == a\) \| \(x == b\)") for f in (lambda v: v.x in (1, 2), lambda v: v.id in range(3))),
        *((f, "semirings.maximum") for f in (lambda v: max(v.x, 1), lambda v: sorted([v.x, 2]), lambda v: max(v.w))),
        *((f, "semirings.sqrt") for f in (lambda v: math.sqrt(v.x), lambda v: math.isnan(v.x))),
        *((f, "semirings.floor") for f in (lambda v: round(v.x), lambda v: math.floor(v.x), lambda v: np.round(v.x))),
        *((f, r"semirings.plus\(x \* y\)") for f in (lambda v: v.w @ v.w, lambda v: np.dot(v.w, v.w))),
        *((f, r"semirings.plus\(x\)") for f in (lambda v: v.w.sum(), lambda v: np.mean(v.w), lambda v: v.w.mean())),
        *((f, "values alone.*semirings.plus") for f in (lambda v: np.add.reduce(v.w),)),
        *((f, "it has no length|only vectors") for f in (lambda v: len(v.x), lambda v: list(v.x))),
        *((f, "return {'x': value}") for f in (_assigned, _increased)),
        *((f, r"semirings.vector\(x\[0\]") for f in (lambda v: v.w[:2], lambda v: v.w[v.id])),
        *((f, r"compute with its fields, such as vertex\.id") for f in (lambda v: v + 1, lambda v: v == v)),
        *((f, "compute with its fields") for f in (lambda v: 1 if v else 2, lambda v: v["x"], lambda v: TABLE[v])),
        *((f, "compute with its fields") for f in (lambda v: len(v), lambda v: np.sqrt(v), lambda v: v in {1})),
        (lambda v: np.divmod(v.x, 2)[0], "x // y and x % y"),
        (lambda v: pow(v.id, 2, 3), r"\(x \*\* y\) % m"),
    ],
)
def test_what_to_write_instead(function: Callable[[Any], Any], advice: str) -> None:
    class P(gasla.VertexProgram):
        everyone = True
        x = gasla.vertex(np.float64, init=1)
        w = gasla.vertex((np.float64, (4,)))

        def apply(self, vertex, gathered):
            return {"x": function(vertex)}

    with pytest.raises((TypeError, AttributeError), match=advice):
        P.traced()


def test_what_does_no_harm_works() -> None:
    class P(gasla.VertexProgram):
        everyone = True
        x = gasla.vertex(np.float64, init=5)

        def apply(self, vertex, gathered):
            assert f"{vertex.x} %s" % vertex.x
            whole, rest = divmod(vertex.x, 3)
            return {"x": np.where(vertex.x > 0, np.clip(whole + rest, 0, 10) + sum([1, vertex.x]), abs(vertex.x))}

    assert gasla.run(P, GRAPH, max_iterations=1, compile=False).x.tolist() == [9.0] * 4
    assert str(P.traced().functions["apply"].result["x"]).startswith("where(vertex_x > 0.0")


def test_errors_of_others_say_where_the_guide_is() -> None:
    class P(gasla.VertexProgram):
        everyone = True
        x = gasla.vertex(np.float64)

        def apply(self, vertex, gathered):
            return {"x": np.ones(vertex.id)}

    with pytest.raises(TypeError) as caught:
        P.traced()
    assert "P.apply is called with symbols" in caught.value.__notes__[0]


def test_symbols_are_formatted_as_they_are() -> None:
    assert f"{semirings.Symbol('x', np.float64) + 1:.2f}" == "x + 1.0"


def test_symbols_have_a_hash_elsewhere() -> None:
    x = semirings.Symbol("x", np.float64)
    assert x in {x} and {x: 1}[x] == 1


@pytest.mark.parametrize(
    ("given", "named"),
    [(np.minimum, "min"), (max, "max"), (sum, "plus"), (np.add, "plus"), ("min", "min"), (np.logical_or, "lor")],
)
def test_a_monoid_is_named(given: Any, named: str) -> None:
    class P(gasla.VertexProgram):
        x = gasla.vertex(np.float64)
        reduce = given

        def gather(self, src, dst, edge):
            return src.x

    message = rf"expected a semirings\.Monoid, here semirings\.{named}"
    for function in (
        P.traced,
        lambda: gasla.reduce_by_key(np.array([0, 0]), np.array([1, 2]), given),
        lambda: Graph.from_edges([0], [1], [1.0], combine=given),
        lambda: semirings.Semiring(given, lambda x, y: x),
        lambda: type("Q", (P,), {"reduce": semirings.min, "a": gasla.aggregate(given)(lambda s, b, a: 1)}).traced(),
    ):
        with pytest.raises(TypeError, match=message):
            function()


def test_a_semiring_is_named() -> None:
    for given, hint in [("min_plus", r"did you mean semirings\.min_plus\?"), (semirings.min, "multiply. makes one")]:
        with pytest.raises(TypeError, match=hint):
            gasla.mxv(GRAPH, np.ones(4), given)


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: gasla.bfs("graph.mtx", 0), r"gasla\.io\.read\(path\)"),
        (lambda: gasla.pagerank(GRAPH, personalization=[0, 3]), r"such as \{0: 1, 3: 1\}"),
        (lambda: gasla.sample_neighbors(GRAPH, [0], [10, -1]), r"for all neighbors give a large number"),
        (lambda: gasla.io.write(GRAPH, "x.mtx"), r"gasla\.io\.write\('graph\.mtx', graph\)"),
        (lambda: gasla.io.read(GRAPH), r"gasla\.io\.read\('graph\.mtx'\)"),
        (lambda: gasla.Frontier(4, [0.5]), r"such as \[0, 3\], or a mask of 4 bools"),
        (lambda: GRAPH.named(degree=[1, 2]), r"graph\.named\(degree=graph\.out_degrees\)"),
    ],
)
def test_arguments_show_what_to_type(call: Callable[[], Any], shown: str) -> None:
    with pytest.raises((TypeError, ValueError), match=shown):
        call()


def test_a_dict_of_results_is_named_by_its_keys() -> None:
    pytest.importorskip("pyarrow")
    table = GRAPH.named({"degree": GRAPH.out_degrees}, rank=[1, 2, 3, 4])
    assert table.to_pydict() == {"vertex": [0, 1, 2, 3], "degree": [2, 1, 1, 0], "rank": [1, 2, 3, 4]}


def test_assigning_to_self_is_refused() -> None:
    class P(gasla.VertexProgram):
        everyone = True
        x = gasla.vertex(np.float64)
        rate = gasla.parameter(np.float64, 1)

        def apply(self, vertex, gathered):
            self.rate = 2
            return {"x": self.rate}

    with pytest.raises(TypeError, match=r"P\.apply assigns self\.rate, .* idle\(\) returns new parameters"):
        P.traced()


def test_an_aggregate_without_a_monoid_is_refused() -> None:
    with pytest.raises(TypeError, match=r"as in @gasla\.aggregate\(semirings\.plus\)"):
        gasla.aggregate(lambda self, before, after: 1)
