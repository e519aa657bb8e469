"""Binary operators, monoids and semirings, built from ordinary functions of two values."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from semirings.advice import monoid_for
from semirings.bounds import Bounds, bounds
from semirings.expr import Expr, Symbol, as_expr, at_lane, fold, make_tuple
from semirings.functions import is_symbolic, is_tuple, where
from semirings.types import TupleType, Type, VectorType, as_type, has_wide, scalar_type


class _Any:
    """The type of the constant `ANY`, by which a monoid says that each value except the identity is terminal."""

    def __repr__(self) -> str:
        return "semirings.ANY"

    def __reduce__(self) -> str:
        # Python pickles and copies this name only, so that a copy is the same object. ANY is compared by identity.
        return "ANY"


ANY = _Any()
"""The terminal of a monoid for which any value except the identity is a valid result, so that a reduction can stop
there.
"""


class BinaryOp:
    """
    A named function of two values.

    Parameters
    ----------
    name : str
    function : callable
        Works on symbolic values and on arrays; a NumPy ufunc or any function written with operators and
        `semirings.where`.

    Examples
    --------
    >>> absdiff = BinaryOp("absdiff", lambda x, y: abs(x - y))
    >>> absdiff(np.array([1, 5]), 3)
    array([2, 2])
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"operator {name}: {function!r} is not a function of two values")
        self.name = name
        self.function = function

    def __call__(self, x: Any, y: Any) -> Any:
        return self.function(x, y)

    def __repr__(self) -> str:
        return f"BinaryOp({self.name!r})"


def as_operator(op: BinaryOp | Callable[..., Any], name: str | None = None) -> BinaryOp:
    """Return `op` itself, or a BinaryOp of a function, with the function's name unless `name` is given."""
    if isinstance(op, BinaryOp):
        return op
    return BinaryOp(name or getattr(op, "__name__", "op").strip("<>"), op)


class Held(NamedTuple):
    """
    Another representation of a monoid's values during a reduction, which is faster to combine or more precise.

    ``lower(monoid(lift(x), lift(y)))`` is ``op(x, y)``, and ``lower`` maps the identity of `monoid` to the identity.
    """

    lift: Callable[[Any], Any]
    monoid: Monoid
    lower: Callable[[Any], Any]


class Monoid:
    """
    An associative operator, usually with an identity, that reduces many values to one.

    Parameters
    ----------
    op : BinaryOp or function of two values
    identity : scalar, tuple, or function of a dtype
        ``op(identity, x)`` is x; also the result of reducing no values. A scalar for all types, or a function from a
        scalar type to its identity. For a tuple type, a tuple has one entry per item.
    name : str, optional
        By default the operator's.
    commutative : bool
        If False, gasla reduces in the order of the input.
    idempotent : bool
        Whether ``op(x, x)`` is x, so that reducing a value twice is harmless.
    terminal : scalar, tuple, function of a dtype, ANY, or None
        The value z with ``op(z, x) == z`` for all x, at which a reduction can stop; a function may return None for a
        type without one. ANY means that any value except the identity is a valid result.
    held : Held, optional
        The form in which `gasla.mxv` and `gasla.vxm` reduce: each product is lifted, and the total of a row lowered.
    is_neutral : bool
        Whether ``op(identity, x)`` is x. If False, as for `first`, which has no identity, `identity` is only the result
        of reducing no values, and a reduction starts from its first value. See `held_of`.

    Examples
    --------
    >>> product_mod_7 = Monoid(lambda x, y: x * y % 7, 1, name="product_mod_7")
    >>> product_mod_7.reduce(np.array([3, 4, 5]))
    np.int64(4)
    >>> product_mod_7.identity(np.int8)
    np.int8(1)

    Resistors in parallel, with one division per value instead of three:

    >>> from semirings import plus, reciprocal
    >>> parallel = Monoid(lambda x, y: 1 / (1 / x + 1 / y), np.inf, held=Held(reciprocal, plus, reciprocal))
    >>> parallel.held.lower(plus.reduce(parallel.held.lift(np.array([2.0, 4, 4]))))
    np.float64(1.0)
    """

    def __init__(
        self,
        op: BinaryOp | Callable[[Any, Any], Any],
        identity: Any,
        *,
        name: str | None = None,
        commutative: bool = True,
        idempotent: bool = False,
        terminal: Any = None,
        held: Held | None = None,
        is_neutral: bool = True,
    ) -> None:
        self.op = as_operator(op, name)
        self.name = name or self.op.name
        self.commutative = commutative
        self.idempotent = idempotent
        self.held = held
        self.is_neutral = is_neutral
        self._identity = identity
        self._terminal = terminal

    def identity(self, type: Any) -> Any:
        """Return the identity for a type: a NumPy scalar, an array for a vector, a tuple of these for a tuple."""
        value = self._value(self._identity, as_type(type), "identity")
        if value is None:
            raise TypeError(f"monoid {self.name} has no identity for {as_type(type)}")
        return value

    def terminal(self, type: Any) -> Any:
        """Return the terminal value for a type, which is the value at which a reduction can stop.

        It is ANY if a reduction can stop at any value except the identity, and None if it can't stop early.
        """
        if self._terminal is ANY or self._terminal is None:
            return self._terminal
        return self._value(self._terminal, as_type(type), "terminal value")

    def held_of(self, type: Any) -> Held | None:
        """Return the representation of values of a type in which a reduction can start from an identity.

        For a monoid without an identity, each value gets a flag, and a value without the flag is the identity. For any
        other monoid return None, as its values need no other representation.

        Examples
        --------
        >>> import semirings
        >>> held = semirings.first.held_of(np.int8)
        >>> held.lift(np.int8(-128)), held.monoid.identity((np.int8, bool))
        ((np.int8(-128), True), (np.int8(-128), np.False_))
        >>> semirings.plus.held_of(np.int8) is None
        True
        """
        return None if self.is_neutral else _held_with_flags(self, as_type(type))

    def is_final(self, value: Expr) -> Expr | None:
        """
        Return an expression for whether a symbolic value is terminal, so that a reduction can stop at it.

        Return None if no value of its type is terminal, or if a test would take too long (for wide vectors).

        Examples
        --------
        >>> import semirings
        >>> x = semirings.Symbol("x", np.int8)
        >>> semirings.any.is_final(x), semirings.max.is_final(x), semirings.plus.is_final(x)
        (<x != 0: bool>, <x == 127: bool>, None)
        """
        terminal = self.terminal(value.type)
        # Whether a long vector is terminal is not tested, because testing all items takes as long as continuing the
        # reduction.
        if terminal is None or has_wide(value.type):
            return None
        if terminal is not ANY:
            return as_expr(
                functools.reduce(operator.and_, (part == end for part, end in _pair_scalars(value, terminal)))
            )
        present = (differs(*part) for part in _pair_scalars(value, self.identity(value.type)))
        return as_expr(functools.reduce(_operator_for_tests(value), present))

    def takes_first(self, value: Expr, known: Mapping[str, Bounds]) -> bool:
        """
        Return whether a reduction can stop at the first value that it gathers, as any gathered value is a valid result.

        For this the monoid's terminal must be ANY, and the symbolic value can't be the identity.

        `known` gives the bounds of symbols by name; see `semirings.bounds`.

        Examples
        --------
        >>> import semirings
        >>> x = semirings.Symbol("x", np.int64)
        >>> semirings.any.takes_first(x + 1, {"x": (0, 99)}), semirings.any.takes_first(x, {"x": (0, 99)})
        (True, False)
        """
        if self.terminal(value.type) is not ANY:
            return False
        ranges = ((bounds(part, known), e) for part, e in _pair_scalars(value, self.identity(value.type)))
        return bool(functools.reduce(_operator_for_tests(value), (low > e or high < e for (low, high), e in ranges)))

    def _value(self, given: Any, type: Type, what: str) -> Any:
        """Return the identity or the terminal value for a type, item by item for tuples and vectors.

        `given` is what the monoid was made with: a number, a tuple, or a function of the dtype. If there is no value
        for an item, return None. `what` names the value in errors.
        """
        if isinstance(type, TupleType):
            each = given if isinstance(given, tuple) else (given,) * len(type.items)
            if len(each) != len(type.items):
                raise ValueError(
                    f"monoid {self.name}: the {what} has {len(each)} items; expected {len(type.items)}, as {type} has"
                )
            parts = [self._value(part, kind, what) for part, kind in zip(each, type.items, strict=True)]
            return None if any(part is None for part in parts) else tuple(parts)
        if isinstance(type, VectorType):
            part = self._value(given, type.scalar, what)
            return None if part is None else np.full(type.length, part)
        value = given(type) if callable(given) else given
        if value is None:
            return None
        try:
            converted = type.type(value)
        except (OverflowError, TypeError, ValueError):
            converted = None
        # the conversion to the type has changed the number, such as 0.5 to 0
        if converted is None or (type.kind != "f" and converted != value):
            raise ValueError(
                f"monoid {self.name}: its {what} {value!r} is not a value of {type}: give a function of the dtype"
            )
        return converted

    def combine(self, x: Any, y: Any) -> Any:
        """
        Return ``op(x, y)`` of symbolic values, arrays or tuples of either. It must have the type of x and y.

        Raises
        ------
        TypeError
            If the operator returns another type than its arguments', so that the result could not be combined again.
        """
        if isinstance(self.op.function, np.ufunc) and (is_tuple(x) or is_tuple(y)):
            raise TypeError(
                f"monoid {self.name} does not work on tuples: semirings.argmin and argmax do (in lexicographic order), "
                "or a Monoid of your own function of two tuples"
            )
        result = self.op(x, y)
        if not is_symbolic((x, y)):
            return result
        result, x, y = as_expr(result), as_expr(x), as_expr(y)
        if x.type == y.type and not same_layout(result.type, x.type):
            raise TypeError(
                f"monoid {self.name} combines two values of {x.type} into {result.type}: "
                "cast inside the operator, or use it on another type"
            )
        return result

    def combination(self, type: Any, x: str = "x", y: str = "y") -> Expr:
        """
        Return the monoid's operation as an expression: ``op(x, y)`` of two symbols of a type.

        Raises
        ------
        TypeError, ValueError
            If values of the type can't be reduced: the operator does not work on them or returns another type, or the
            identity or the terminal value is not of the type.

        Examples
        --------
        >>> import semirings
        >>> semirings.min.combination(np.int8)
        <minimum(x, y): int8>
        """
        kind = as_type(type)
        _ = self.identity(kind), self.terminal(kind)
        return as_expr(self.combine(Symbol(x, kind), Symbol(y, kind)))

    def __call__(self, x: Any, *y: Any) -> Any:
        """
        Combine two values by `combine`, or reduce the items of a single vector from the first to the last.

        The result has the type of the items. On arrays, the items lie along the first axis.

        Examples
        --------
        >>> import semirings
        >>> semirings.min(np.array([[4, 1], [2, 3]]))
        array([2, 1])
        >>> semirings.plus(semirings.Symbol("x", (np.float32, (3,))))
        <(x[0] + x[1]) + x[2]: float32>
        """
        if y:
            return self.combine(x, *y)
        is_vector = isinstance(x.type, VectorType) if isinstance(x, Expr) else getattr(x, "ndim", 0) > 0 and len(x)
        if not is_vector:
            raise TypeError(f"{self.name}({x!r}): expected a vector, to reduce its items, or two values to combine")
        if isinstance(x, Expr) and x.type.is_wide:  # type: ignore[union-attr]
            return fold(self.combine, x)
        return functools.reduce(self.combine, x)

    def reduce(self, array: Any) -> Any:
        """
        Reduce the last axis of an array, or of a tuple of arrays, in order. An empty axis gives the identity.

        Examples
        --------
        >>> from semirings import argmin, plus
        >>> plus.reduce(np.array([1, 2, 3], np.int8))
        np.int8(6)
        >>> argmin.reduce((np.array([2.0, 1.0, 1.0]), np.array([7, 9, 8])))
        (np.float64(1.0), np.int64(8))
        """
        parts = tuple(map(np.asarray, array)) if isinstance(array, tuple) else (np.asarray(array),)
        single = not isinstance(array, tuple)
        if parts[0].shape[-1] == 0:
            types = tuple(scalar_type(array_part.dtype) for array_part in parts)
            empty = self.identity(types[0]) if single else self.identity(TupleType(types))
            shape = parts[0].shape[:-1]
            return np.full(shape, empty)[()] if single else empty
        if single and isinstance(self.op.function, np.ufunc) and self.op.function.nin == 2:
            return self.op.function.reduce(parts[0], axis=-1, dtype=_dtype_to_reduce(self.op.function, parts[0].dtype))
        while (count := parts[0].shape[-1]) > 1:
            parts = self._halve(parts, count, single)
        result = tuple(array_part[..., 0][()] for array_part in parts)
        return result[0] if single else result

    def _halve(self, parts: tuple[Any, ...], count: int, single: bool) -> tuple[Any, ...]:
        """Combine neighboring values of arrays in pairs, so that half as many values remain, in the same order.

        `parts` has one array for each item of the values, and `count` is the number of values. If it is odd, the last
        value is not combined. `single` says that values are not tuples.
        """
        even = tuple(part[..., 0 : count - count % 2 : 2] for part in parts)
        odd = tuple(part[..., 1:count:2] for part in parts)
        results = (self.combine(even[0], odd[0]),) if single else self.combine(even, odd)
        # An operator may return a constant, which is repeated for all values.
        combined = tuple(np.broadcast_to(c, p.shape) for c, p in zip(results, even, strict=True))
        if count % 2:
            combined = tuple(np.concatenate([c, p[..., -1:]], axis=-1) for c, p in zip(combined, parts, strict=True))
        return combined

    def __repr__(self) -> str:
        return f"Monoid({self.name!r})"


class Product(Monoid):
    """A monoid of tuples that combines each item by a monoid of its own. The function `product` makes it."""

    def __init__(self, monoids: tuple[Monoid, ...], name: str | None) -> None:
        self.monoids = monoids
        super().__init__(
            functools.partial(_by_items, monoids),
            None,
            name=name or f"product({', '.join(monoid.name for monoid in monoids)})",
            commutative=all(monoid.commutative for monoid in monoids),
            idempotent=all(monoid.idempotent for monoid in monoids),
            is_neutral=all(monoid.is_neutral for monoid in monoids),
        )

    def each(self, type: Any) -> list[tuple[Monoid, Type]]:
        """Return, for each item of tuples of this type, the monoid that reduces the item, and the item's type."""
        kind = as_type(type)
        if not isinstance(kind, TupleType) or len(kind.items) != len(self.monoids):
            raise TypeError(f"monoid {self.name} combines tuples of {len(self.monoids)} items, not values of {kind}")
        return list(zip(self.monoids, kind.items, strict=True))

    def identity(self, type: Any) -> Any:
        """Return the identity of tuples of a type: the tuple of the identities of the items' monoids."""
        return tuple(monoid.identity(kind) for monoid, kind in self.each(type))

    def terminal(self, type: Any) -> Any:
        """Return the terminal value of tuples of a type, at which a reduction can stop: the tuple of the items' values.

        It is ANY if those of all items are ANY, and None if an item has none, or only some are ANY.
        """
        ends = [monoid.terminal(kind) for monoid, kind in self.each(type)]
        if all(end is ANY for end in ends):
            return ANY
        return None if any(end is None or end is ANY for end in ends) else tuple(ends)

    def is_final(self, value: Expr) -> Expr | None:
        """Return an expression for whether each item of a tuple is terminal, so that the reduction of tuples can stop.

        Return None if the monoid of an item has no terminal value.
        """
        ends = [monoid.is_final(item) for monoid, item in zip(self.monoids, value, strict=True)]
        return None if any(end is None for end in ends) else as_expr(functools.reduce(operator.and_, ends))

    def takes_first(self, value: Expr, known: Mapping[str, Bounds]) -> bool:
        """Return whether the first gathered value of a tuple is a valid result of the reduction, for each of its items.

        `known` maps the names of symbols to their bounds.
        """
        return all(monoid.takes_first(item, known) for monoid, item in zip(self.monoids, value, strict=True))


def product(*monoids: Monoid, name: str | None = None) -> Monoid:
    """
    Return a monoid of tuples whose items combine independently, each by its own monoid.

    It commutes if all of them do, and is idempotent if all of them are. In a program that reduces by a product, active
    vertices push the items of a tuple independently, each by an atomic operation.

    Parameters
    ----------
    *monoids : Monoid
        One per item of the tuples.
    name : str, optional
        By default ``product(…)`` with their names.

    Raises
    ------
    TypeError
        If there are no monoids, or an argument is not a monoid; later, for values other than tuples of this many items.

    Examples
    --------
    >>> from semirings import max, plus
    >>> count_and_most = product(plus, max)
    >>> count_and_most.reduce((np.array([1, 1, 1]), np.array([4, 9, 2])))
    (np.int64(3), np.int64(9))
    >>> count_and_most.commutative, count_and_most.idempotent
    (True, False)
    """
    if not monoids or not all(isinstance(monoid, Monoid) for monoid in monoids):
        wrong = [monoid_for(monoid) for monoid in monoids if not isinstance(monoid, Monoid)]
        hint = f"; expected {wrong[0]}" if wrong else ""
        raise TypeError(f"product of {monoids!r}; expected monoids, one for each item: product(plus, max){hint}")
    return Product(monoids, name)


def _by_items(monoids: tuple[Monoid, ...], x: Any, y: Any) -> Any:
    """Return a tuple whose items are combined from the items of x and y, each by its own monoid.

    If the items of the tuples have names, the result has the same names.
    """
    if not (is_tuple(x) and is_tuple(y) and len(x) == len(y) == len(monoids)):
        raise TypeError(f"a product of {len(monoids)} monoids combines tuples of as many items, not {x!r} and {y!r}")
    combined = tuple(monoid.combine(a, b) for monoid, a, b in zip(monoids, x, y, strict=True))
    names = getattr(x.type, "names", None) if isinstance(x, Expr) else None
    if names:
        return make_tuple(map(as_expr, combined), names)
    return x._make(combined) if hasattr(x, "_make") else combined


class _Flagged(Monoid):
    """A monoid with an identity, made from a monoid without one: a flag says whether a value is present.

    A value is a tuple of the items of the other monoid's value, and the flag. The identity is a value that is not
    present.
    """

    def __init__(self, monoid: Monoid, type: Type) -> None:
        self.of, self.type = monoid, type
        super().__init__(
            self._combine, None, name=monoid.name, commutative=monoid.commutative, idempotent=monoid.idempotent
        )

    def identity(self, type: Any) -> Any:
        """Return the identity of values with a flag: a value whose flag is False, so that no value is present."""
        return *_items(self.of.identity(self.type)), np.False_

    def lift(self, x: Any) -> Any:
        """Return a value of the monoid without an identity together with a flag that says that the value is present."""
        return *_items(x), True

    def lower(self, lifted: Any) -> Any:
        """Return the value that `lifted`, a value with a flag, stands for in the monoid without an identity."""
        items = tuple(lifted)[:-1]
        if not isinstance(self.type, TupleType):
            return items[0]
        return make_tuple(map(as_expr, items), self.type.names) if is_symbolic(items) else items

    def _combine(self, x: Any, y: Any) -> Any:
        has_x, has_y = tuple(x)[-1], tuple(y)[-1]
        x, y = self.lower(x), self.lower(y)
        both = self.of.combine(x, y)
        return *_items(where(has_x & has_y, both, where(has_x, x, y))), has_x | has_y


def _held_with_flags(monoid: Monoid, type: Type) -> Held:
    """Return the form in which a monoid without an identity is reduced: values with a flag that says they exist."""
    flagged = _Flagged(monoid, type)
    return Held(flagged.lift, flagged, flagged.lower)


def _items(value: Any) -> tuple[Any, ...]:
    """Return the items of a tuple. Any other value is returned as a tuple of one item."""
    return tuple(value) if is_tuple(value) else (value,)


def differs(x: Any, number: Any) -> Any:
    """Return whether a value differs from a number: a bool, an array or an expression. NaN counts as equal to NaN."""
    return ~np.isnan(x) if number != number else x != number


def _operator_for_tests(value: Expr) -> Callable[[Any, Any], Any]:
    """Return the operator that joins tests of a value's items to one test whether the value differs from the identity.

    It is "or" for a tuple, which differs if one of its items does, and "and" for a vector, which differs only if all
    do.
    """
    return operator.or_ if isinstance(value.type, TupleType) else operator.and_


def _pair_scalars(value: Expr, other: Any) -> list[tuple[Expr, Any]]:
    """Return pairs of a scalar of a symbolic value and the scalar at the same place of the constant `other`.

    Both have the same type.
    """
    return list(zip(scalars(value), (e.payload for e in scalars(as_expr(other))), strict=True))


def scalars(value: Expr) -> list[Expr]:
    """Return the scalar expressions of which a tuple or vector consists, in order. A scalar consists of itself.

    A wide vector counts as one scalar: the body of the loop that computes its items.
    """
    if isinstance(value.type, TupleType) or (isinstance(value.type, VectorType) and not value.type.is_wide):
        return [s for part in value for s in scalars(part)]
    return [at_lane(value)]


@functools.cache
def _dtype_to_reduce(ufunc: np.ufunc, dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """Return the dtype to pass to `ufunc.reduce`, without which NumPy would widen small integers.

    It is the given dtype if the operation on it returns the same dtype. Otherwise it is None.
    """
    return dtype if ufunc.resolve_dtypes((dtype, dtype, None)) == (dtype,) * 3 else None


def same_layout(a: Type, b: Type) -> bool:
    """Return whether two types are equal, ignoring the names of a tuple's items."""
    return a == b or (isinstance(a, TupleType) and isinstance(b, TupleType) and a.items == b.items)


class Semiring:
    """
    A semiring: a monoid for addition and an operator for multiplication.

    Parameters
    ----------
    monoid : Monoid
    multiply : BinaryOp or function
        Of two values (x of the left operand, y of the right), or of five: ``(x, y, i, k, j)``, where x is
        entry [i, k] and y is entry [k, j].
    name : str, optional
        By default ``{monoid}_{multiply}``.

    Examples
    --------
    >>> import semirings
    >>> closest = Semiring(semirings.min, lambda x, y: abs(x - y), name="closest")
    >>> closest
    Semiring('closest')
    >>> Semiring(semirings.min, semirings.binary.plus)
    Semiring('min_plus')
    """

    def __init__(self, monoid: Monoid, multiply: BinaryOp | Callable[..., Any], name: str | None = None) -> None:
        if not isinstance(monoid, Monoid):
            raise TypeError(f"a semiring adds with a Monoid, not {monoid!r}; expected {monoid_for(monoid)}")
        self.monoid = monoid
        self.operator = as_operator(multiply)
        self.positional = _arity(self.operator.function) == 5
        self.name = name or f"{monoid.name}_{self.operator.name}"

    def multiply(self, x: Any, y: Any, i: Any = None, k: Any = None, j: Any = None) -> Any:
        """Multiply entry x at [i, k] by entry y at [k, j]. The indices are used only by operators of five values."""
        if self.positional:
            return self.operator.function(x, y, i, k, j)
        return self.operator.function(x, y)

    def __repr__(self) -> str:
        return f"Semiring({self.name!r})"


def _arity(function: Callable[..., Any]) -> int:
    """Return the number of values that a multiplication takes, 2 or 5. Raise TypeError for any other number."""
    if isinstance(function, np.ufunc):
        count = function.nin
    else:
        parameters = inspect.signature(function).parameters.values()
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        count = sum(p.kind in kinds and p.default is p.empty for p in parameters)
    if count not in (2, 5):
        raise TypeError(f"a semiring multiplies with a function of 2 values, or of 5 (x, y, i, k, j), not of {count}")
    return count
