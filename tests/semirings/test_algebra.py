"""Operators, monoids and semirings: their values, reductions, laws, and the structure an engine asks about."""

from __future__ import annotations

import copy
import functools
import math
import pickle
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import semirings
from semirings import (
    ANY,
    BinaryOp,
    Held,
    Monoid,
    Semiring,
    Symbol,
    as_expr,
    as_type,
    cast,
    check_laws,
    maximum,
    minimum,
    trace,
    vector,
    where,
)
from semirings.catalogue import __all__ as PREDEFINED
from semirings.order import are_combined, order_in
from semirings.types import SCALAR_NAMES

pytestmark = pytest.mark.thorough

TYPES = [np.dtype(name) for name in SCALAR_NAMES]
NUMBERS = [dtype for dtype in TYPES if dtype.kind != "b"]
INTEGERS = [dtype for dtype in TYPES if dtype.kind in "iu"]
FLOATS = [dtype for dtype in TYPES if dtype.kind == "f"]
BOOL = [np.dtype(bool)]
PAIRS = [as_type(("f4", "i4")), as_type(("i8", "f8")), as_type(("u1", "?", "i2"))]

LAWFUL: dict[str, list[Any]] = {
    "plus": TYPES, "times": TYPES, "min": TYPES, "max": TYPES, "any": TYPES + PAIRS, "first": TYPES + PAIRS,
    "second": TYPES + PAIRS, "lor": BOOL, "land": BOOL, "lxor": BOOL, "bor": BOOL + INTEGERS, "band": BOOL + INTEGERS,
    "bxor": BOOL + INTEGERS, "logaddexp": FLOATS, "argmin": PAIRS, "argmax": PAIRS,
    "plus_times": TYPES, "min_plus": NUMBERS, "max_plus": NUMBERS, "min_max": TYPES, "max_min": TYPES, "or_and": TYPES,
    "and_or": TYPES, "xor_and": TYPES, "bor_band": BOOL + INTEGERS, "any_pair": TYPES, "any_first": TYPES,
    "any_second": TYPES, "any_secondi": TYPES, "min_first": TYPES, "min_second": TYPES, "min_firsti": TYPES,
    "min_secondi": TYPES, "max_first": TYPES, "max_second": TYPES, "max_secondi": TYPES, "logaddexp_plus": FLOATS,
    "argmin_plus": TYPES, "argmax_plus": TYPES, "argmax_times": TYPES,
    "min_times": [dtype for dtype in TYPES if dtype.kind == "u"],
    "max_times": [dtype for dtype in TYPES if dtype.kind == "u"],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LAWFUL))
def test_predefined_algebras_are_lawful(name: str) -> None:
    for kind in LAWFUL[name]:
        report = check_laws(getattr(semirings, name), kind)
        assert report.ok, str(report)


@pytest.mark.parametrize("name", ["plus_first", "plus_second", "plus_pair", "plus_plus", "plus_min"])
def test_others_fail_distributivity_alone(name: str) -> None:
    """They are useful all the same: each product is computed once, then added."""
    report = check_laws(getattr(semirings, name), np.int32)
    assert report.failures
    assert all(violation.law.startswith("distributive") for violation in report.failures), str(report)


def test_every_predefined_name_was_checked() -> None:
    others = {"binary", "plus_first", "plus_second", "plus_pair", "plus_plus", "plus_min"}
    assert set(LAWFUL) | others == set(PREDEFINED)
    for name in PREDEFINED:
        algebra = getattr(semirings, name)
        assert isinstance(algebra, Monoid | Semiring) or name == "binary"
        assert getattr(algebra, "name", name) == name


def is_absorbing(result: Any, old: Any, gathered: Any, monoid: Monoid) -> bool:
    parts = semirings.independent(monoid, old.type)
    return parts is not None and are_combined(parts, result, old, gathered)


class TestCheckLaws:
    @pytest.mark.parametrize(
        ("monoid", "dtype", "law"),
        [
            (Monoid(np.maximum, 0, name="max from 0"), np.int8, "identity"),
            (Monoid(np.subtract, 0, name="minus", commutative=False), np.float32, "associative"),
            (Monoid(lambda x, y: x, 0, name="left"), np.int8, "commutative"),
            (Monoid(np.add, 0, name="plus", idempotent=True), np.int8, "idempotent"),
            (Monoid(np.add, 0, name="plus", terminal=7), np.int8, "terminal"),
            (Monoid(np.minimum, 1e9, name="min of small"), np.float64, "identity"),
            (Monoid(np.add, 0, name="anything", terminal=ANY), np.int8, "any"),
            (Monoid(np.true_divide, 1, name="over"), np.int32, "closed"),
            (Monoid(np.add, 0, name="sum", held=Held(np.square, semirings.plus, np.sqrt)), np.float64, "held: lower("),
            (Monoid(np.add, 0, name="a", held=Held(abs, semirings.times, abs)), np.float64, "held: lower of"),
        ],
        ids=lambda item: getattr(item, "name", None),
    )
    def test_a_false_claim_is_found(self, monoid: Monoid, dtype: Any, law: str) -> None:
        report = check_laws(monoid, dtype)
        assert not report
        assert any(violation.law.startswith(law) for violation in report.failures), str(report)

    def test_the_counterexample_is_one(self) -> None:
        (violation,) = check_laws(Monoid(np.maximum, 0, name="max", commutative=True), np.int8).failures[:1]
        assert str(violation) == "identity: op(e, x) = x: for x = -1 the left side is 0, the right side -1"
        x = violation.values["x"]
        assert np.maximum(0, x) == violation.left
        assert x == violation.right

    def test_laws_of_given_values(self) -> None:
        """Probabilities, lengths and pairs; a false claim is found among them as well."""
        either = Monoid(lambda x, y: x + y - x * y, 0, name="either", terminal=1, commutative=True)
        assert not check_laws(either, np.float64) and check_laws(either, np.float64, values=[0, 0.25, 0.5, 1]).ok
        semiring = Semiring(either, lambda x, y: x * y)
        (violation, *_) = check_laws(semiring, np.float64, values=[0, 0.5, 1]).failures
        assert violation.law.startswith("distributive") and set(violation.values.values()) <= {0, 0.5, 1}
        small = Monoid(np.minimum, 9, name="min of small")
        assert check_laws(small, np.int32, values=range(10)).ok and not check_laws(small, np.int32, values=range(11))
        pairs = check_laws(semirings.argmin, (np.float64, np.int64), values=[(0.5, 1), (2, 3)])
        assert pairs.ok and not pairs.caveats

    @pytest.mark.parametrize("values", [[], 3, [300], [0.5], ["a"], range(200), [(1, 2)]])
    def test_values_to_try_are_of_the_type(self, values: Any) -> None:
        with pytest.raises(ValueError, match=r"^values is .*; expected (1 to 100 values of type|numbers that) uint8"):
            check_laws(semirings.plus, np.uint8, values=values)

    def test_extreme_values_are_caveats(self) -> None:
        report = check_laws(semirings.plus_times, np.float64)
        assert report.ok
        assert any("associative" in violation.law for violation in report.caveats)
        assert "caveat" in str(report)

    def test_what_no_program_can_say_is_told_with_advice(self) -> None:
        for algebra, advice in (
            (Monoid(lambda x, y: x if x > y else y, 0), "write semirings.where"),
            (Semiring(semirings.plus, lambda x, y: math.hypot(x, y)), "for the functions of math"),
            (Semiring(semirings.plus, lambda x, y, i, k, j: x if i else y), "write semirings.where"),
            (max, "expected a Monoid or a Semiring"),
        ):
            with pytest.raises(TypeError, match=advice):
                check_laws(algebra, np.float64)  # type: ignore[arg-type]

    def test_vectors_are_checked_as_their_items(self) -> None:
        assert check_laws(semirings.plus, (np.float32, (3,))).type == np.float32


class TestMonoid:
    def test_monoids_know_their_identity(self) -> None:
        assert semirings.min.identity(np.int8) == 127
        assert semirings.min.identity(np.float32) == np.inf
        assert semirings.min.identity(bool)
        assert isinstance(semirings.min.identity("f4"), np.float32)
        assert semirings.max.identity(np.uint8) == 0
        assert semirings.band.identity(np.uint16) == 65535
        assert semirings.argmin.identity(("f4", "i4")) == (np.float32(np.inf), np.int32(2**31 - 1))
        np.testing.assert_array_equal(semirings.plus.identity(("f4", (2,))), np.zeros(2, np.float32), strict=True)
        assert Monoid(lambda x, y: x, (1, 2.5), name="m").identity(("i4", "f4")) == (1, 2.5)

    def test_monoids_know_their_terminal(self) -> None:
        assert semirings.min.terminal(np.int8) == -128
        assert semirings.min.terminal(np.float32) is None  # NaN still wins over minus infinity
        assert semirings.times.terminal(np.int8) == 0
        assert semirings.times.terminal(np.float64) is None
        assert semirings.lor.terminal(bool)
        assert semirings.any.terminal(np.int8) is ANY
        assert semirings.plus.terminal(np.int8) is None
        assert semirings.argmin.terminal(("f4", "i4")) is None
        assert semirings.argmin.terminal(("i1", "i1")) == (-128, -128)

    def test_errors_say_what_is_wrong(self) -> None:
        x = Symbol("x", np.int32)
        with pytest.raises(ValueError, match=r"monoid low: its identity inf is not a value of int32: give a function"):
            Monoid(minimum, np.inf, name="low").identity(np.int32)
        for value, kind in ((0.5, np.int32), (2, np.bool_), (np.nan, np.bool_)):
            with pytest.raises(ValueError, match=f"its identity {value} is not a value of"):
                Monoid(minimum, value).identity(kind)
        with pytest.raises(TypeError, match="band has no identity for float32"):
            semirings.band.identity(np.float32)
        with pytest.raises(TypeError, match="mean combines two values of int32 into float64"):
            Monoid(lambda a, b: (a + b) / 2, 0, name="mean").combine(x, x)
        with pytest.raises(TypeError, match=r"min does not work on tuples: semirings\.argmin"):
            semirings.min.combine((x, x), (x, x))
        with pytest.raises(TypeError, match="it compares tuples"):
            semirings.argmin.combine(x, x)
        with pytest.raises(ValueError, match="the identity has 2 items; expected 1"):
            Monoid(minimum, (1, 2), name="m").identity(("i4",))
        with pytest.raises(TypeError, match="is not a function"):
            BinaryOp("plus", 3)  # type: ignore[arg-type]

    def test_combine_on_symbols(self) -> None:
        x, y = Symbol("x", np.int8), Symbol("y", np.int8)
        assert semirings.plus(x, y) is x + y
        assert semirings.lor.combine(x > 0, y > 0) is ((x > 0) | (y > 0))
        named = Symbol("t", {"distance": "f4", "parent": "i4"})
        assert semirings.argmin.combine(named, (cast(x, "f4"), cast(y, "i4"))).type == named.type

    @given(arrays.arrays(np.int16, st.integers(0, 20)), st.sampled_from(["plus", "times", "min", "max", "bxor"]))
    def test_reduce_is_a_fold(self, values: np.ndarray, name: str) -> None:
        monoid = getattr(semirings, name)
        expected = functools.reduce(monoid.combine, values, monoid.identity(np.int16))
        result = monoid.reduce(values)
        assert result == expected
        assert result.dtype == np.int16
        np.testing.assert_array_equal(monoid.reduce(np.array([values, values])), [expected] * 2)

    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_reduce_keeps_the_type(self, count: int) -> None:
        for name in PREDEFINED:
            monoid = getattr(semirings, name)
            for kind in LAWFUL.get(name, []) if isinstance(monoid, Monoid) else []:
                if isinstance(kind, np.dtype):
                    expected = functools.reduce(monoid.combine, np.ones(count, kind))
                    np.testing.assert_array_equal(monoid.reduce(np.ones(count, kind)), expected, strict=True)
        assert semirings.lor.reduce(np.array([0, 0.5])) is np.True_

    @given(st.lists(st.integers(-3, 3), max_size=12))
    def test_ordered_reduction_keeps_the_order(self, values: list[int]) -> None:
        """The product of upper triangular matrices ((a, b), (0, 1)), held as (a, b), depends on the order."""

        def compose(f: Any, g: Any) -> Any:
            return (f[0] * g[0], f[1] + f[0] * g[1])

        affine = Monoid(compose, (1, 0), name="compose", commutative=False)
        pairs = [(np.int64(value), np.int64(i)) for i, value in enumerate(values)]
        expected = functools.reduce(compose, pairs, (1, 0))
        columns = tuple(np.array([pair[i] for pair in pairs], np.int64) for i in range(2))
        assert affine.reduce(columns) == expected
        assert check_laws(affine, ("i8", "i8")).ok

    @pytest.mark.parametrize(("monoid", "best", "nan"), [(semirings.argmin, min, -1), (semirings.argmax, max, 1)])
    @given(
        pairs=st.lists(
            st.tuples(st.sampled_from([np.nan, 1.5, np.inf]) | st.floats(width=32), st.integers(0, 5)),
            min_size=1,
            max_size=12,
        )
    )
    def test_pairs_reduce_in_lexicographic_order(
        self, monoid: Monoid, best: Any, nan: int, pairs: list[tuple[float, int]]
    ) -> None:
        columns = (np.array([p[0] for p in pairs], np.float32), np.array([p[1] for p in pairs], np.int32))
        expected = best(pairs, key=lambda pair: (nan, 0, pair[1]) if math.isnan(pair[0]) else (0, *pair))
        np.testing.assert_array_equal(monoid.reduce(columns), np.float32(expected))

    def test_first_and_second(self) -> None:
        assert semirings.first.reduce(np.array([3, 0, 5])) == 3
        assert semirings.second.reduce(np.array([3, 5, 0])) == 0
        assert np.isnan(semirings.first.reduce(np.array([np.nan, 2.0, 3.0])))
        assert not semirings.first.commutative


class TestSemiring:
    def test_names_and_arity(self) -> None:
        custom = Semiring(semirings.min, BinaryOp("gap", lambda x, y: abs(x - y)))
        assert custom.name == "min_gap"
        assert not custom.positional
        assert custom.multiply(3, 5) == 2
        assert semirings.any_secondi.positional
        assert semirings.any_secondi.multiply(1.0, 2.0, 10, 11, 12) == 11
        assert Semiring(semirings.max, np.hypot).name == "max_hypot"

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
    def test_copies_are_as_good(self, copied: Callable[[Any], Any]) -> None:
        assert copied(ANY) is ANY
        assert copied(semirings.any).terminal(np.int8) is ANY
        for name in LAWFUL:
            kind = LAWFUL[name][0]
            assert str(check_laws(copied(getattr(semirings, name)), kind)) == str(
                check_laws(getattr(semirings, name), kind)
            )

    def test_pair_counts_in_int64(self) -> None:
        x = Symbol("x", np.uint8)
        assert trace(semirings.plus_pair.multiply, x, x).type == np.int64
        assert semirings.plus_pair.multiply(np.ones(3, bool), 1).dtype == np.int64

    def test_errors_say_what_is_wrong(self) -> None:
        with pytest.raises(TypeError, match=r"not <ufunc 'add'>; expected a semirings.Monoid, here semirings.plus"):
            Semiring(np.add, np.multiply)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a function of 2 values, or of 5"):
            Semiring(semirings.plus, lambda x: x)

    def test_a_tropical_semiring_in_one_line(self) -> None:
        bottleneck = Semiring(Monoid(maximum, 0, idempotent=True), minimum)
        assert bottleneck.name == "maximum_minimum"
        assert check_laws(bottleneck, np.uint32).ok


class TestHeld:
    """A monoid's values in another form, while they are reduced."""

    @staticmethod
    def in_turn(values: np.ndarray[Any, Any], held: bool) -> Any:
        """The values one after another, as an engine reduces them in one form or the other."""
        assert semirings.logaddexp.held
        lift, add, lower = semirings.logaddexp.held
        if not held:
            return functools.reduce(np.logaddexp, values)
        with np.errstate(invalid="ignore"):
            return lower(functools.reduce(add, map(lift, values), add.identity((values.dtype,) * 2)))

    @staticmethod
    def error(found: Any, values: np.ndarray[Any, Any]) -> float:
        """How many units of rounding a logarithm of a sum of exponentials is off."""
        assert found.dtype == values.dtype
        with localcontext() as context:
            context.prec = 60
            exact = sum(Decimal(float(value)).exp() for value in values).ln()
            return float(abs(Decimal(float(found)) - exact) / Decimal(float(np.finfo(values.dtype).eps)))

    @pytest.mark.parametrize("dtype", ["f4", "f8"])
    def test_log_sum_exp_is_accurate(self, dtype: str) -> None:
        @given(st.lists(st.floats(-300, 300, width=32), min_size=1, max_size=40))
        def run(numbers: list[float]) -> None:
            values = np.array(numbers, dtype)
            found = self.in_turn(values, held=True)
            assert self.error(found, values) <= abs(found) + len(values) + 2

        run()

    @pytest.mark.parametrize("dtype", ["f4", "f8"])
    @pytest.mark.parametrize(("middle", "spread", "times"), [(0, 1, 1), (-6, 0.1, 2), (1000, 1, 1), (0, 30, 1)])
    def test_log_sum_exp_beside_a_logarithm_each(self, dtype: str, middle: float, spread: float, times: float) -> None:
        """It errs less, but for many equal terms that come to about zero."""
        rng = np.random.default_rng(7)
        rows = [rng.normal(middle, spread, 300).astype(dtype) for _ in range(20)]
        held, plain = ([self.error(self.in_turn(row, form), row) for row in rows] for form in (True, False))
        assert np.mean(held) <= times * np.mean(plain)
        assert max(held) <= times * max(plain)

    @pytest.mark.parametrize("dtype", ["f4", "f8"])
    def test_log_sum_exp_of_awkward_values(self, dtype: str) -> None:
        awkward = np.array([-np.inf, np.inf, np.nan, 0, -0.0, 88, -1e30, 1e30, np.finfo(dtype).tiny], dtype)
        for x in awkward:
            assert np.array_equal(self.in_turn(np.array([x]), held=True), x, equal_nan=True)
            for y in awkward:
                pair = np.array([x, y])
                with np.errstate(invalid="ignore"):
                    expected = np.logaddexp(x, y)
                assert np.array_equal(self.in_turn(pair, held=True), expected, equal_nan=True), pair


class TestAny:
    X, K = Symbol("x", np.float32), Symbol("i", np.int64)

    @pytest.mark.parametrize("value", [
        True, -3, 0.5, K + 1, K + K + 1, where(X > 0, K + 1, 7), cast(K + 1, np.int8), cast(True, np.int32) + K,
        (X, K + 1), (0, 7), vector(K + 1, 2), cast(K, np.uint8) + np.uint8(2),
    ], ids=str)  # fmt: skip
    def test_the_first_is_the_answer(self, value: Any) -> None:
        assert semirings.any.takes_first(as_expr(value), {"i": (0, 99)})
        assert not semirings.plus.takes_first(as_expr(value), {"i": (0, 99)})

    @pytest.mark.parametrize("value", [
        False, 0, -0.0, K, X, X + 1, K - 1, np.nan, cast(K + 1000, np.int8), cast(K, np.int8) + np.int8(100), K * 2 + 1,
        Symbol("u", np.uint8) + 1, where(X > 0, K, 7), (X, K), vector(K + 1, K), cast(K, np.float32) + 1,
        Symbol("b", bool), where(K > 5, -1, K + 3),
    ], ids=str)  # fmt: skip
    def test_the_first_may_be_the_identity(self, value: Any) -> None:
        assert not semirings.any.takes_first(as_expr(value), {"i": (0, 99)})

    def test_where_a_reduction_can_stop(self) -> None:
        x, pair, three = self.X, Symbol("t", ("f4", "?")), Symbol("v", ("i4", (3,)))
        some_number = Monoid(lambda x, y: where(np.isnan(x), y, x), np.nan, terminal=ANY)
        assert semirings.any.is_final(x) is (x != 0)
        assert some_number.is_final(x) is ~np.isnan(x)
        assert not some_number.takes_first(as_expr(1.0), {})
        assert check_laws(some_number, np.float32)
        assert semirings.any.is_final(pair) is ((pair[0] != 0) | (pair[1] != False))  # noqa: E712
        assert semirings.any.is_final(three) is ((three[0] != 0) & (three[1] != 0) & (three[2] != 0))
        assert semirings.min.is_final(Symbol("i", np.int8)) is (Symbol("i", np.int8) == -128)
        assert semirings.min.is_final(x) is semirings.plus.is_final(x) is None


class TestAbsorbing:
    OLD, NEW = Symbol("old", np.float32), Symbol("new", np.float32)

    @pytest.mark.parametrize(
        ("result", "monoid"),
        [
            (minimum(OLD, NEW), semirings.min),
            (minimum(NEW, OLD), semirings.min),
            (where(NEW < OLD, NEW, OLD), semirings.min),
            (where(OLD > NEW, NEW, OLD), semirings.min),
            (where(OLD <= NEW, OLD, NEW), semirings.min),
            (where(NEW > OLD, NEW, OLD), semirings.max),
            (maximum(NEW, OLD), semirings.max),
            (OLD + NEW, semirings.plus),
            (cast(minimum(OLD, NEW), np.float64), semirings.min),
        ],
    )
    def test_absorbing(self, result: Any, monoid: Monoid) -> None:
        assert is_absorbing(result, self.OLD, self.NEW, monoid)

    @pytest.mark.parametrize(
        ("result", "monoid"),
        [
            (minimum(OLD, NEW), semirings.max),
            (where(NEW > OLD, NEW, OLD), semirings.min),
            (minimum(OLD, NEW + 1), semirings.min),
            (OLD, semirings.min),
            (NEW, semirings.min),
            (where(NEW < OLD, OLD, OLD + 1), semirings.min),
        ],
    )
    def test_not_absorbing(self, result: Any, monoid: Monoid) -> None:
        assert not is_absorbing(result, self.OLD, self.NEW, monoid)

    def test_bool_and_tuples(self) -> None:
        old, new = Symbol("old", bool), Symbol("new", bool)
        assert is_absorbing(old | new, old, new, semirings.lor)
        assert is_absorbing(semirings.logical_or(new, old), old, new, semirings.lor)


class TestOrder:
    """What grows with a symbol, as far as its structure shows."""

    x, w, n = semirings.Symbol("x", "f8"), semirings.Symbol("w", "f8"), semirings.Symbol("n", "i8")

    @pytest.mark.parametrize(
        ("expr", "grows"),
        [
            (x, True), (w * 0 + 3, True), (x + w, True), (w + x * 2, True), (x - w, True), (minimum(x, w), True),
            (x / w, True), (semirings.sqrt(x) + maximum(x, 3), True), (-(w - x), True), (5 - (3 - x), True),
            (where(w > 0, x, x + 1), True), (semirings.cast(x, np.float32), True), (x * -2 * -3, True), (x // 3, True),
            (w - x, False), (-x, False), (x * -2, False), (x * x, False), (x % 5, False), (w / x, False),
            (where(x > 0, x, 1), False), (abs(x), False), (x + (w - x), False), (semirings.cast(x, bool), False),
        ],
    )  # fmt: skip
    def test_numbers(self, expr: Any, grows: bool) -> None:
        assert semirings.grows_with(expr, [self.x]) == grows
        values = np.linspace(-4, 4, 33)
        if grows and "sqrt" not in str(expr):
            for w in (0.5, 2.0):
                got = _evaluate(expr, x=values, w=w)
                assert (np.diff(np.broadcast_to(got, values.shape).astype(float)) >= 0).all()

    @pytest.mark.parametrize(
        ("expr", "grows"),
        [(n | 3, True), (n & 5, True), (n << 1, True), (~(~n & 3), True), (n + 1, False), (n ^ 3, False), (~n, False)],
    )
    def test_bits(self, expr: Any, grows: bool) -> None:
        assert semirings.grows_with(expr, [self.n], "bits") == grows

    def test_of_an_unknown_order_only_choices_grow(self) -> None:
        assert semirings.grows_with(where(self.w > 0, self.x, 2.0), [self.x], "any")
        assert not semirings.grows_with(self.x + 1, [self.x], "any")
        assert order_in(self.x + self.w) == "any"


def _evaluate(expr: Any, **values: Any) -> Any:
    """The expression on arrays, node by node."""
    from semirings.expr import in_order

    found: dict[Any, Any] = {}
    for e in in_order(expr):
        args = [found[arg] for arg in e.args]
        if e.op in ("symbol", "constant"):
            found[e] = values[e.payload] if e.op == "symbol" else e.payload
        elif e.op in ("where", "cast"):
            found[e] = np.where(*args) if e.op == "where" else np.asarray(args[0]).astype(e.type)
        else:
            found[e] = getattr(np, e.op)(*args)
    return found[expr]


class TestProducts:
    KIND = as_type((np.int32, np.float32))

    def test_each_item_combines_on_its_own(self) -> None:
        both = semirings.product(semirings.plus, semirings.max)
        assert both.name == "product(plus, max)"
        assert both.commutative and not both.idempotent
        assert semirings.product(semirings.min, semirings.bor).idempotent
        assert not semirings.product(semirings.plus, semirings.first).commutative
        assert both.identity(self.KIND) == (0, -np.inf)
        assert both.terminal(self.KIND) is None
        assert semirings.product(semirings.min, semirings.max).terminal(("i1", "i1")) == (-128, 127)
        assert semirings.product(semirings.any, semirings.any).terminal(("i1", "i1")) is semirings.ANY
        assert both.reduce((np.array([1, 2, 3]), np.array([2.0, 9.0, 4.0]))) == (6, 9.0)

    def test_its_laws_are_those_of_the_items(self) -> None:
        report = check_laws(semirings.product(semirings.plus, semirings.any), ("i4", "i4"))
        assert report and "item 1, any: op(x, y) is x or y" in report.holds
        mean = Monoid(lambda x, y: (x + y) // 2, 0, name="mean")
        failed = check_laws(semirings.product(semirings.plus, mean), ("u1", "u1"))
        assert not failed and str(failed.failures[0]).startswith("item 1, identity")
        scaled = Semiring(semirings.product(semirings.plus, semirings.max), lambda x, y: (x[0] * y[0], x[1] + y[1]))
        assert "item 0, associative: op(op(x, y), z) = op(x, op(y, z))" in check_laws(scaled, ("i4", "i4")).holds

    def test_it_is_final_where_all_items_are(self) -> None:
        x = Symbol("x", ("i1", "i1"))
        lowest = semirings.product(semirings.min, semirings.max).is_final(x)
        assert lowest is ((x[0] == -128) & (x[1] == 127))
        assert semirings.product(semirings.min, semirings.plus).is_final(x) is None
        found = semirings.product(semirings.any, semirings.any)
        assert found.takes_first(as_expr((1, 2)), {}) and not found.takes_first(as_expr((0, 2)), {})

    def test_names_stay(self) -> None:
        class Pair(NamedTuple):
            count: Any
            most: Any

        both = semirings.product(semirings.plus, semirings.max)
        assert both.combine(Pair(1, 5), Pair(2, 3)) == Pair(3, 5)
        x, y = (Symbol(name, {"count": "i4", "most": "f4"}) for name in "xy")
        assert both.combine(x, y).type == x.type
        assert both.combine(x, y).most is maximum(x[1], y[1])

    def test_what_is_no_tuple_of_so_many_items_is_refused(self) -> None:
        both = semirings.product(semirings.plus, semirings.max)
        with pytest.raises(TypeError, match="combines tuples of 2 items, not values of int32"):
            both.identity(np.int32)
        with pytest.raises(TypeError, match="tuples of as many items"):
            both.combine((1, 2, 3), (1, 2, 3))
        for wrong in ((), (semirings.plus, np.maximum)):
            with pytest.raises(TypeError, match="expected monoids, one for each item"):
                semirings.product(*wrong)

    def test_parts_are_independent_by_structure(self) -> None:
        x, y = Symbol("x", "i4"), Symbol("y", "i4")
        own = Monoid(lambda a, b: (a[0] + b[0], maximum(a[1], b[1])), (0, 0))
        assert semirings.independent(own, ("i4", "i4")) == (x + y, maximum(x, y))
        assert semirings.independent(semirings.any, ("i4", (2,))) == (where(x != 0, x, y),) * 2
        crossed = Monoid(lambda a, b: semirings.vector(a[1] + b[1], a[0]), 0)
        for monoid in (semirings.any, semirings.argmin, Monoid(lambda a, b: (a[0] + b[1], a[1] + b[0]), 0)):
            assert semirings.independent(monoid, ("i4", "i4")) is None
        assert semirings.independent(crossed, ("i4", (2,))) is None
        mixed = semirings.product(semirings.min, semirings.plus)
        assert semirings.independent(mixed, (("i4", (2,)), "i4")) == (minimum(x, y), minimum(x, y), x + y)

    def test_parts_are_absorbed_one_by_one(self) -> None:
        old, new = Symbol("old", ("f4", (2,))), Symbol("new", ("f4", (2,)))
        assert is_absorbing(minimum(old, new), old, new, semirings.min)
        assert is_absorbing(where(new < old, new, old), old, new, semirings.min)
        mixed = semirings.vector(minimum(old[0], new[0]), minimum(old[1], new[0]))
        assert not is_absorbing(mixed, old, new, semirings.min)
        assert not is_absorbing(minimum(old[0], new[0]), old, new, semirings.min)
        a, b = (Symbol(name, ("i4", "u1")) for name in "ab")
        both = semirings.product(semirings.min, semirings.bor)
        assert is_absorbing(as_expr((minimum(b[0], a[0]), a[1] | b[1])), a, b, both)
        assert not is_absorbing(as_expr((minimum(b[0], a[0]), b[1])), a, b, both)
