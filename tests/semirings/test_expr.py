"""Symbolic values: sharing, types, vectors and tuples, tracing, and the errors that say what to write instead."""

from __future__ import annotations

import copy
import functools
import gc
import math
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import semirings
from semirings import Symbol, TupleType, VectorType, as_type, cast, constant, free_symbols, trace, vector, where
from semirings.expr import _NODES, in_order
from semirings.types import SCALAR_NAMES
from semirings.ufuncs import WeakArray

X = Symbol("x", np.float32)
N = Symbol("n", np.int32)
V = Symbol("v", (np.float32, (3,)))
T = Symbol("t", {"distance": np.float32, "parent": np.int32})


def test_equal_expressions_are_one_object() -> None:
    assert X is Symbol("x", "f4")
    assert X is not Symbol("x", "f8")
    assert X * 2 + 1 is X * 2 + 1
    assert (X * 2).args[1] is constant(2, np.float32)
    assert len(in_order((X * 2) + (X * 2))) == 4


def test_constants_are_told_apart_by_their_bits() -> None:
    assert constant(0.0) is not constant(-0.0)
    assert constant(math.nan) is constant(math.nan)
    assert constant(1) is not constant(1.0)
    assert constant(True) is not constant(1)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_are_the_same_node(copied: Callable[[Any], Any]) -> None:
    x = Symbol("x", np.float32)
    long = functools.reduce(lambda total, _: total * x + 1, range(2000), x)
    for expr in (x, x + 1, where(x > np.float32(np.nan), x, -0.0), vector(x, 2), semirings.as_expr((x, 1)), long):
        assert copied(expr) is expr


def test_unused_nodes_are_freed() -> None:
    gc.collect()
    before = len(_NODES)
    for number in range(100):
        X + float(number) * Symbol(f"unused{number}", np.float32)
    gc.collect()
    assert len(_NODES) <= before + 5


def test_constants_fold() -> None:
    assert constant(2) + 3 is constant(5)
    assert where(constant(True), X, 0) is X
    assert where(X > 0, X, X) is X
    assert np.isnan(N).payload == np.False_
    assert cast(X, np.float32) is X


def test_deep_expressions_do_not_recurse() -> None:
    total = X
    for _ in range(20_000):
        total = total + X
    assert free_symbols(total) == [X]
    assert str(total).endswith("…")
    assert len(semirings.printers.python.function("f", [X], total).splitlines()) == 20_000 + 2


@given(st.lists(st.sampled_from([X, N, X + N]), max_size=5))
def test_free_symbols_are_in_order_and_unique(exprs: list[Any]) -> None:
    found = free_symbols(exprs)
    assert len(found) == len({id(symbol) for symbol in found})
    assert {symbol.payload for symbol in found} == {name for expr in exprs for name in "xn" if name in str(expr)}


def test_in_place_operators_make_new_values() -> None:
    def function(x: Any, y: Any) -> Any:
        total = x
        total += y
        total *= 2
        return total

    assert trace(function, X, X) is (X + X) * 2


class TestTypes:
    def test_types_have_several_spellings(self) -> None:
        assert as_type(float) == np.float64
        assert as_type(">i4") == np.dtype("=i4")
        assert as_type(("f4", (3,))) == VectorType(np.dtype("f4"), 3)
        assert as_type(("f4", ())) == np.float32
        assert as_type(("f4", "i4")) == TupleType((np.dtype("f4"), np.dtype("i4")))
        assert as_type(["f4"]) == TupleType((np.dtype("f4"),))
        assert as_type({"a": "f4"}) != as_type(("f4",))
        assert as_type(("f4", (3,))) != np.dtype("f4")
        assert np.dtype("f4") != as_type(("f4", (3,)))
        assert as_type(np.dtype([("p", "f4"), ("q", "i4", (2,))])) == as_type({"p": "f4", "q": ("i4", (2,))})
        assert as_type(np.dtype("3f4")) == VectorType(np.dtype("f4"), 3)
        assert as_type(as_type(("f4", "i4"))) == as_type(("f4", "i4"))

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            (complex, "complex128 is not a supported type: use one of bool, int8"),
            (np.float16, "float16 is not"),
            ("M8[s]", "not a supported type"),
            ("nonsense", "'nonsense' is not a type"),
            (("f4", (2, 2)), "only scalars, shape"),
            (("f4", ("f4", "f4")), "holds a tuple"),
        ],
    )
    def test_other_types_are_refused_by_name(self, spec: Any, message: str) -> None:
        with pytest.raises(TypeError, match=message):
            as_type(spec)

    def test_types_without_items_are_refused(self) -> None:
        with pytest.raises(ValueError, match="at least one element"):
            VectorType(np.dtype("f4"), 0)
        with pytest.raises(ValueError, match="at least one"):
            TupleType(())

    def test_bad_item_names_are_refused(self) -> None:
        with pytest.raises(ValueError, match="one name an item"):
            TupleType((np.dtype("f4"),), ("a", "b"))
        with pytest.raises(ValueError, match="called 'type'"):
            as_type({"type": "f4"})


class TestVectorsAndTuples:
    def test_vectors_work_item_by_item(self) -> None:
        assert (V + X).args == tuple(V[i] + X for i in range(3))
        assert (V > 0).type == as_type((bool, (3,)))
        assert where(X > 0, V, 0).args[1] is where(X > 0, V[1], 0)
        assert where(V > 0, X, 0).type == V.type
        assert (V * np.array([1.0, 2.0, 3.0])).type == as_type((np.float64, (3,)))
        assert len(V) == 3
        assert V[-1] is V[2]
        assert V.dtype == np.float32

    def test_sum_of_a_vector(self) -> None:
        def dot(a: Any, b: Any) -> Any:
            return sum(a * b)

        assert trace(dot, V, V).type == np.float32
        arrays = np.arange(6, dtype=np.float32).reshape(3, 2)
        np.testing.assert_array_equal(dot(arrays, arrays), (arrays * arrays).sum(axis=0))

    def test_vector_makes_a_common_type(self) -> None:
        assert vector(X, 1, 2.5).type == V.type
        assert vector(X, N).type == as_type((np.float64, (2,)))
        assert vector(np.array([1, 2]), 3).shape == (2, 2)

    def test_lengths_must_match(self) -> None:
        with pytest.raises(TypeError, match="vectors of 2 and 3 items"):
            V + vector(X, X)
        with pytest.raises(TypeError, match="does not match a vector of 3"):
            where(X > 0, V, vector(X, X))

    def test_items_are_read_by_name_and_position(self) -> None:
        assert T.distance is T[0]
        assert T.parent.type == np.int32
        assert list(T) == [T[0], T[1]]
        assert where(X > 0, T, (0, 1)).type == T.type
        assert where(X > 0, (0, 1), T).parent.type == np.int32
        assert [part.type for part in where(X > 0, (X, N), (X, N))] == [np.float32, np.int32]
        with pytest.raises(IndexError, match="index 3 is outside v, which has 3 items"):
            V[3]
        with pytest.raises(TypeError, match="index is a constant integer"):
            V[N]
        with pytest.raises(AttributeError, match="its items are distance, parent"):
            T.length  # noqa: B018
        with pytest.raises(TypeError, match="work on its items"):
            T + 1
        with pytest.raises(TypeError, match="scalar"):
            X[0]
        with pytest.raises(TypeError, match="both must be tuples"):
            where(X > 0, T, X)

    def test_tuples_and_vectors_are_cast_by_items(self) -> None:
        assert cast(T, (np.float64, np.int64)).type == as_type((np.float64, np.int64))
        assert cast(X, (np.float32, (2,))).args == (X, X)
        assert cast(V, np.int8).type == V.astype(np.int8).type == as_type((np.int8, (len(V),)))
        with pytest.raises(TypeError, match="cannot cast t"):
            cast(T, np.float32)
        with pytest.raises(TypeError, match="cannot cast x"):
            cast(X, (np.float32, np.int32))
        first, second = cast((np.array([1.5]), np.array([2])), (np.int32, np.float32))
        assert (first.dtype, second.dtype) == (np.int32, np.float32)


class TestTrace:
    def test_results_of_a_trace_are_typed(self) -> None:
        class Pair(NamedTuple):
            distance: Any
            parent: Any

        assert trace(lambda: 1).type == np.int64
        assert trace(lambda: True).type == np.bool_
        assert trace(lambda: np.float32(1)).type == np.float32
        assert trace(lambda x: (x, 1), X)[1] is constant(1)
        assert trace(lambda x: {"a": (x, x)}, X)["a"].type == as_type(("f4", "f4"))
        assert semirings.as_expr(Pair(X, N)).parent is N
        assert trace(lambda: Pair(X, 1)).parent is constant(1)

    def test_objects_with_symbolic_attributes(self) -> None:
        class Vertex:
            rank = X

        assert trace(lambda vertex: vertex.rank * 2, Vertex()) is X * 2

    @pytest.mark.parametrize(
        ("result", "message"),
        [
            (None, r"gather returned None \(is a return missing\?\)"),
            ("text", "gather returned 'text': expected a symbolic value, a number, a tuple or a dict"),
            ({"a": None}, "gather, field 'a', returned None"),
            ({1: X}, "the key 1: keys must be field names"),
            ((X, [X]), "gather, item 1, returned"),
        ],
    )
    def test_untypable_results_are_refused(self, result: Any, message: str) -> None:
        def gather() -> Any:
            return result

        gather.__qualname__ = "gather"
        with pytest.raises(TypeError, match=message):
            trace(gather)


class TestErrorsNameTheReplacement:
    @pytest.mark.parametrize(
        ("function", "advice"),
        [
            (lambda: 1 if X > 0 else 2, r"where\(condition, a, b\)"),
            (lambda: X > 0 and X < 1, "& | ~"),
            (lambda: X or 1, "& | ~"),
            (lambda: not X, "& | ~"),
            (lambda: min(X, 1), "semirings.minimum"),
            (lambda: max(X, N), "semirings.maximum"),
            (lambda: 0 < X < 1, r"\(a <= x\) & \(x < b\)"),
            (lambda: X in (1, 2), "no truth value"),
            (lambda: 1 in V, "join them with"),
            (lambda: math.sqrt(X), "semirings.sqrt"),
            (lambda: float(X), "semirings.cast"),
            (lambda: int(X), "semirings.cast"),
            (lambda: [1, 2][N], "semirings.cast"),
            (lambda: math.floor(X), "semirings.floor"),
            (lambda: round(X), "rint"),
            (lambda: list(X), "only vectors and tuples can be iterated"),
            (lambda: len(X), "no length"),
            (lambda: np.array(X), "semirings.vector"),
            (lambda: np.cumsum(V), "use operators, NumPy's ufuncs or semirings.where"),
            (lambda: np.sum(V), r"np.sum on a symbolic value: .*semirings.plus\(x\) is their sum"),
            (lambda: np.max(V), r"np.max on a symbolic value: .*semirings.min\(x\), max\(x\)"),
            (lambda: semirings.popcount(X), r"popcount of float32: it takes integers; semirings.cast\(x"),
            (lambda: semirings.ctz(X > 0), "ctz of bool: it takes integers"),
            (lambda: semirings.hash(N, 0.5), "hash of float64: it takes integers"),
            (lambda: semirings.hash(N, 2**64), "hash of an integer of more than 64 bits"),
            (lambda: semirings.hash(), r"hash\(\) has no arguments; give at least one integer"),
            (lambda: semirings.random(T), "is a tuple"),
            (lambda: semirings.plus(X), "expected a vector, to reduce its items, or two values to combine"),
            (lambda: semirings.min(T), "expected a vector"),
            (lambda: np.add.reduce(V), "call np.add with values alone"),
            (lambda: np.add(X, 1, dtype=np.float64), r"the options \['dtype'\]"),
            (lambda: np.gcd(N, N), "np.gcd is not available on symbolic values; there are absolute"),
            (lambda: X + "a", "is not a value"),
            (lambda: X & 1.5, "np.bitwise_and is not defined for float32, float"),
            (lambda: N**N, "semirings.cast"),
            (lambda: np.reciprocal(N), "write 1 / x"),
            (lambda: np.sqrt(Symbol("b", bool)), "computed in float16"),
        ],
    )
    def test_type_errors(self, function: Callable[[], Any], advice: str) -> None:
        with pytest.raises(TypeError, match=advice):
            function()

    def test_constants_that_do_not_fit_are_refused(self) -> None:
        with pytest.raises(OverflowError, match="the constant 300 does not fit int8"):
            Symbol("i", np.int8) + 300
        with pytest.raises(OverflowError, match="the constant 300 does not fit int8"):
            Symbol("i", np.int8) + where(X > 0, 1, 300)

    def test_reductions_as_methods(self) -> None:
        with pytest.raises(AttributeError, match=r"no attribute 'sum': .*semirings.plus\(x\) is their sum"):
            V.sum()


def test_numpy_functions_work() -> None:
    assert np.where(X > 0, X, 0) is where(X > 0, X, 0)
    assert np.clip(X, 0, 1) is semirings.clip(X, 0, 1)
    assert np.maximum(X, 0) is semirings.maximum(X, 0)
    assert np.float64(2) * X is constant(np.float64(2)) * X


def test_numbers_chosen_by_where_are_weak() -> None:
    number = where(X > 0, 1, where(N > 0, 2, 3))
    half = where(X > 0, 1, 0.5)
    assert (number.type, half.type) == (np.int64, np.float64)
    for kind in SCALAR_NAMES[1:]:  # of bool and a number, NumPy makes the number's type
        symbol = Symbol("s", kind)
        assert (symbol + number).type == np.maximum(number, symbol).type == where(X > 0, number, symbol).type == kind
        assert (half * symbol).type == (symbol * 0.5).type
        assert vector(number, symbol).type.scalar == kind
    assert (X * (number + 1)).type == np.float64  # computed of it alone: strong
    assert (X + np.where(X > 0, 1, 2)).type == (X + np.where(X > 0, number, 3)).type == np.float64
    assert (X + where(X > 0, True, 2)).type == np.float64
    assert (X + where(X > 0, 2**63, 2**64 - 1)).type == np.float64  # no int64, and so uint64
    assert (V * where(V > 0, 1, 2)).type == V.type
    assert (Symbol("i", np.int8) < where(X > 0, 300, 2)).type == (X > 0).type
    assert pickle.loads(pickle.dumps(number)) is number
    returned = trace(lambda: (number, vector(number, 1)))
    assert (X + returned[0]).type == (X + returned[1][0]).type == np.float64  # a result is int64


def test_numbers_chosen_by_where_are_weak_on_arrays() -> None:
    condition, x = np.array([True, False]), np.array([2, 4], np.float32)
    number = where(condition, 1, where(condition, 2, 3))
    for got in (x + number, x + where(condition, 1, 3.0), where(condition, number, x), where(False, 1, 2) + x):
        assert type(got) is np.ndarray and got.dtype == np.float32
    np.testing.assert_array_equal(x + number, [3, 7])
    for got in (number + 1, -number, number.astype(np.int64), semirings.cast(number, np.int64), np.add.reduce(number)):
        assert not isinstance(got, WeakArray) and got.dtype == np.int64
    assert (np.array([100, 2], np.int8) < where(condition, 300, 1)).tolist() == [True, False]
    assert (x + where(np.array([], bool), 1, 2)[:0].reshape(0, 1)).dtype == np.float32
    with pytest.raises(OverflowError, match="the constant 300 does not fit int8: cast the other side of add"):
        np.array([1, 2], np.int8) + where(condition, 1, 300)
    assert (where(True, 1, 2) * X).type == (X * where(True, 1, 2)).type == np.float32  # beside symbols, a number


def test_expressions_print_as_formulas() -> None:
    assert repr(where(X > 0, -X * 2, N)) == "<where(x > 0.0, float64((-x) * 2.0), float64(n)): float64>"
    assert str(T.distance + V[0]) == "t.distance + v[0]"
