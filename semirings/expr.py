"""The typed expression graph that a user's function builds when it is called with symbols.

Nodes are hash-consed: two structurally equal expressions are one object, so common subexpressions are
computed once and structure is compared with ``is``. Arithmetic goes through NumPy's ufuncs, which dispatch to the
functions that `semirings.ufuncs` registers here (`means`). Every operation is on scalars: tuples are split into their
items, and so are vectors of at most `SHORT` items.

A longer vector is *wide*: operations on it are loops over its items, called lanes. A wide vector is a source (a symbol,
an item of a symbol of a tuple, or a ``"table"`` of constants) or an ``"each"``, whose only argument is the body of the
loop: a scalar with the leaves ``"lane"``, the item of a source at the loop's index, and ``"lane_number"``, the index.
An operation on vectors combines their bodies into one (`lanewise`), so an expression is a single loop, however long it
is; parts that don't depend on the lane are computed once, before the loop. A ``"fold"`` reduces the lanes to a scalar:
its arguments are the value of the first lane, the body, and the combination of ``"left"`` (the result so far) and
``"right"`` (the next value). Loops may be nested: leaves belong to the innermost loop around them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any, NoReturn, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from semirings import advice
from semirings.types import HALF, SHORT, TupleType, Type, VectorType, as_type, cast_array, scalar_type

_NODES: WeakValueDictionary[tuple[Any, ...], Expr] = WeakValueDictionary()
# A thread holds this lock while it looks up a node, and makes it if there is none, so that two threads never make the
# same node twice.
_nodes_lock = RLock()

_IS_TRACING: ContextVar[bool] = ContextVar("reading", default=False)  # whether a user's function is being traced

F = TypeVar("F", bound=Callable[..., Any])
_MEANINGS: dict[Any, Callable[..., Any]] = {}
LOOPS = ("each", "fold")


def means(function: Any) -> Callable[[F], F]:
    """Register the decorated function as the implementation of a NumPy function (or str) for symbolic values.

    `np.ufunc` stands for all ufuncs.
    """

    def register(meaning: F) -> F:
        _MEANINGS[function] = meaning
        return meaning

    return register


@contextmanager
def reading() -> Iterator[None]:
    """Make symbolic values unhashable within a `with` statement, in which a user's function is traced.

    Otherwise the function could use symbolic values as keys of a dict, where a lookup would silently not find them.
    """
    token = _IS_TRACING.set(True)
    try:
        yield
    finally:
        _IS_TRACING.reset(token)


def _binary(ufunc: np.ufunc) -> tuple[Callable[[Expr, Any], Expr], Callable[[Expr, Any], Expr]]:
    """Return two methods of `Expr` for a binary operator of Python, which apply a ufunc.

    The first is for ``x + y``, for example, and the second, the reflected one, is for ``y + x`` where y is no `Expr`.
    """

    def method(self: Expr, other: Any) -> Expr:
        result: Expr = ufunc(self, other)
        return result

    def reflected(self: Expr, other: Any) -> Expr:
        result: Expr = ufunc(other, self)
        return result

    return method, reflected


def _unary(ufunc: np.ufunc) -> Callable[[Expr], Expr]:
    """Return the method of `Expr` for a unary operator of Python, such as ``-x``, which applies a ufunc."""

    def method(self: Expr) -> Expr:
        result: Expr = ufunc(self)
        return result

    return method


class Expr:
    """
    A node of the expression graph. Made by `Symbol`, `constant` and operations on them, never directly.

    Attributes
    ----------
    op : str
        ``"symbol"``, ``"constant"``, ``"item"``, ``"vector"``, ``"tuple"``, ``"where"``, ``"cast"``, ``"load"``,
        the name of a NumPy ufunc, or one of the operations on wide vectors, above.
    type : numpy.dtype, VectorType or TupleType
    args : tuple of Expr
    payload : object
        A symbol's name, a constant's NumPy scalar, a table's bytes, an item's index, a fold's number of lanes, or the
        `Weak` of a ``where`` of Python numbers; otherwise None.
    """

    __slots__ = ("__weakref__", "args", "op", "payload", "type")
    op: str
    type: Type
    args: tuple[Expr, ...]
    payload: Any

    def __hash__(self) -> int:
        if _IS_TRACING.get():
            raise TypeError(advice.KEY)
        return object.__hash__(self)

    __add__, __radd__ = _binary(np.add)
    __sub__, __rsub__ = _binary(np.subtract)
    __mul__, __rmul__ = _binary(np.multiply)
    __truediv__, __rtruediv__ = _binary(np.true_divide)
    __floordiv__, __rfloordiv__ = _binary(np.floor_divide)
    __mod__, __rmod__ = _binary(np.remainder)
    __rpow__ = _binary(np.power)[1]
    __and__, __rand__ = _binary(np.bitwise_and)
    __or__, __ror__ = _binary(np.bitwise_or)
    __xor__, __rxor__ = _binary(np.bitwise_xor)
    __lshift__, __rlshift__ = _binary(np.left_shift)
    __rshift__, __rrshift__ = _binary(np.right_shift)
    __lt__, __gt__ = _binary(np.less)[0], _binary(np.greater)[0]
    __le__, __ge__ = _binary(np.less_equal)[0], _binary(np.greater_equal)[0]
    __eq__, __ne__ = _binary(np.equal)[0], _binary(np.not_equal)[0]  # type: ignore[assignment]
    __neg__, __pos__ = _unary(np.negative), _unary(np.positive)
    __invert__, __abs__ = _unary(np.invert), _unary(np.absolute)

    def __pow__(self, exponent: Any, modulus: Any = None) -> Expr:
        if modulus is not None:
            raise TypeError("pow of a symbolic value with a modulus: write (x ** y) % m")
        result: Expr = np.power(self, exponent)
        return result

    def __divmod__(self, other: Any) -> tuple[Expr, Expr]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Expr, Expr]:
        return other // self, other % self

    def astype(self, dtype: Any) -> Expr:
        """Convert to another type. See `semirings.cast`."""
        result: Expr = _MEANINGS[np.ndarray.astype](self, dtype)
        return result

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a scalar, or of a vector's items."""
        if isinstance(self.type, TupleType):
            raise TypeError(f"{self} is a tuple of type {self.type}: its items have their own types")
        return self.type.scalar if isinstance(self.type, VectorType) else self.type

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Expr:
        if method != "__call__" or options:
            name = ufunc.__name__
            what = f"np.{name}.{method}" if method != "__call__" else f"the options {sorted(options)} of np.{name}"
            hint = f"; {advice.instead('sum')}" if method in ("reduce", "accumulate") else ""
            raise TypeError(f"{what} on a symbolic value: call np.{name} with values alone{hint}")
        result: Expr = _MEANINGS[np.ufunc](ufunc, *operands)
        return result

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Expr:
        if function not in _MEANINGS:
            name = function.__name__
            what_to_do = advice.instead(name) or "use operators, NumPy's ufuncs or semirings.where"
            raise TypeError(f"np.{name} on a symbolic value: {what_to_do}")
        result: Expr = _MEANINGS[function](*args, **kwargs)
        return result

    def __getitem__(self, index: Any) -> Expr:
        if isinstance(self.type, np.dtype):
            raise TypeError(f"{self} is a scalar of type {self.type}: only vectors and tuples have items")
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise TypeError(
                f"index {index!r} of {self}: an index is a constant integer; several items are "
                "semirings.vector(x[0], x[1], …), and the one that a condition chooses semirings.where(condition, a, b)"
            )
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is outside {self}, which has {len(self)} items")
        return item(self, int(index) % len(self))

    def __getattr__(self, name: str) -> Expr:
        names = self.type.names if isinstance(self.type, TupleType) else None
        if names is None or name not in names:
            fields = f"; its items are {', '.join(names)}" if names else ""
            if (hint := advice.instead(name)) is not None:
                fields = f": {hint}"
            raise AttributeError(f"a symbolic value of type {self.type} has no attribute {name!r}{fields}")
        return item(self, names.index(name))

    def __len__(self) -> int:
        if isinstance(self.type, VectorType):
            return self.type.length
        if isinstance(self.type, TupleType):
            return len(self.type.items)
        raise TypeError(f"{self} is a scalar of type {self.type}: it has no length")

    def __iter__(self) -> Iterator[Expr]:
        if isinstance(self.type, np.dtype):
            raise TypeError(f"{self} is a scalar of type {self.type}: only vectors and tuples can be iterated over")
        return iter([item(self, index) for index in range(len(self))])

    def __contains__(self, _: Any) -> bool:
        raise TypeError("`in` on a symbolic value: compare the items with == and join them with |")

    def __bool__(self) -> bool:
        raise TypeError(advice.BRANCH)

    def _no_number(self, *_: Any) -> NoReturn:
        raise TypeError(advice.NUMBER)

    __float__ = __int__ = __complex__ = _no_number

    def __index__(self) -> NoReturn:
        raise TypeError(advice.INDEX)

    def _no_rounding(self, *_: Any) -> NoReturn:
        raise TypeError(advice.ROUND)

    __floor__ = __ceil__ = __trunc__ = __round__ = _no_rounding

    def _no_product(self, *_: Any) -> NoReturn:
        raise TypeError(f"@ on a symbolic value: {advice.instead('matmul')}")

    __matmul__ = __rmatmul__ = _no_product

    def __array__(self, dtype: Any = None, **_: Any) -> NoReturn:
        if dtype is not None:
            kind = "bool" if dtype == np.bool_ else f"np.{dtype}"
            raise TypeError(
                f"{kind}(x) of a symbolic value: write semirings.cast(x, {kind}) to convert it; {advice.TABLE}"
            )
        raise TypeError(advice.ARRAY)

    def __format__(self, spec: str) -> str:
        return str(self)  # A format such as `.2f` is for numbers, so it is ignored.

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle the nodes as a flat list, because nested tuples may exceed Python's recursion limit.
        nodes = in_order(self)
        places = {id(e): place for place, e in enumerate(nodes)}
        return _copied, ([(e.op, e.type, [places[id(arg)] for arg in e.args], e.payload) for e in nodes],)

    def __str__(self) -> str:
        text: str = _MEANINGS[str](self)
        return text

    def __repr__(self) -> str:
        return f"<{self}: {self.type}>"


class Symbol(Expr):
    """
    A leaf that stands for a value known only when the generated code runs.

    Parameters
    ----------
    name : str
        Any text; the printers turn it into an identifier.
    type : dtype-like, (dtype, (k,)) or tuple of types
        See `as_type`.

    Examples
    --------
    >>> distance = Symbol("distance", np.float32)
    >>> distance + 1
    <distance + 1.0: float32>
    """

    __slots__ = ()

    def __new__(cls, name: str, type: Any) -> Symbol:
        symbol = node("symbol", as_type(type, stored=True), payload=str(name))
        assert isinstance(symbol, Symbol)
        return symbol

    @property
    def name(self) -> str:
        """The name that the symbol was given."""
        return str(self.payload)


def node(op: str, type: Type, *args: Expr, payload: Any = None) -> Expr:
    """Return the one node of the expression graph with this operation, type, arguments and payload.

    If there is no such node yet, it is made.
    """
    key = (op, type, tuple(map(id, args)), payload.tobytes() if isinstance(payload, np.generic) else payload)
    with _nodes_lock:
        unique_node = _NODES.get(key)
        if unique_node is None:
            unique_node = object.__new__(Symbol if op == "symbol" else Expr)
            unique_node.op, unique_node.type, unique_node.args, unique_node.payload = op, type, args, payload
            _NODES[key] = unique_node
        return unique_node


def _after_fork() -> None:
    global _nodes_lock
    # A thread of the parent process may have held the old lock during the fork. No thread of this process would release
    # it, so there is a new lock.
    _nodes_lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _copied(nodes: list[tuple[str, Type, list[int], Any]]) -> Expr:
    """Return the expression that consists of a list of nodes, as when an expression is copied or unpickled.

    `nodes` has, for each node, its operation, its type, the positions of its arguments in the list, and its payload.
    Each node comes after its arguments, so the expression itself is last.
    """
    done: list[Expr] = []
    for op, type, places, payload in nodes:
        done.append(node(op, type, *(done[place] for place in places), payload=payload))
    return done[-1]


def constant(value: Any, type: Any = None) -> Expr:
    """
    Return `value` as a constant expression, of its own type or cast to `type`.

    Examples
    --------
    >>> constant(3), constant(3, np.float32)
    (<3: int64>, <3.0: float32>)
    """
    if type is not None:
        return cast_expr(constant(value), as_type(type))
    scalar = np.asarray(value)[()]
    if not hasattr(scalar, "dtype"):
        raise OverflowError(f"the constant {value} needs more than 64 bits: expected -2**63 to 2**64 - 1, or a float")
    dtype = scalar_type(scalar.dtype)
    return node("constant", dtype, payload=dtype.type(scalar))


def as_expr(value: Any) -> Expr:
    """
    Return a symbolic value for `value`: itself, a constant, or a tuple or vector of those.

    A Python tuple becomes a tuple value (a NamedTuple keeps its names). A one-dimensional NumPy array becomes a vector,
    and so does a single column, as vectors on arrays lie along the first axis.

    Examples
    --------
    >>> as_expr(2.5), as_expr(np.array([1, 2]))
    (<2.5: float64>, <vector(1, 2): int64[2]>)
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, tuple):
        return make_tuple([as_expr(entry) for entry in value], getattr(value, "_fields", None))
    if isinstance(value, np.ndarray) and value.ndim and value.shape in ((value.size,), (value.size, 1)):
        return make_vector([constant(entry) for entry in value.ravel()])
    if isinstance(value, bool | int | float | np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return constant(value)
    raise TypeError(f"{value!r} is not a value: expected a symbolic value, a number, or a tuple of those")


def item(container: Expr, index: int) -> Expr:
    """Return item `index` of a vector or tuple."""
    if container.op in ("vector", "tuple"):
        return container.args[index]
    if container.op == "each":
        return _body_at_lane(container.args[0], index)
    if container.op == "table":
        return constant(table_values(container)[index])
    kind = container.type
    assert isinstance(kind, VectorType | TupleType)
    return node("item", kind.scalar if isinstance(kind, VectorType) else kind.items[index], container, payload=index)


def make_vector(items: Iterable[Expr]) -> Expr:
    """Return the vector of the given scalars as an expression. The scalars must have one type."""
    entries = tuple(items)
    types = {entry.type for entry in entries}
    first = entries[0].type
    if len(types) > 1 or not isinstance(first, np.dtype):
        given = ", ".join(str(entry.type) for entry in entries)
        raise TypeError(f"a vector of {given}: its elements must be scalars of one type")
    return (
        node("vector", VectorType(first, len(entries)), *entries)
        if len(entries) <= SHORT
        else _vector_of_constants(entries)
    )


def _vector_of_constants(entries: tuple[Expr, ...]) -> Expr:
    """Return a wide vector (a vector of more than `SHORT` items) of constants as an expression.

    If all constants are equal, or are 0, 1, 2, …, a loop computes them. Otherwise they are stored in a table.
    """
    if any(entry.op != "constant" for entry in entries):
        raise TypeError(
            f"a vector of {len(entries)} values, each computed by itself: expected at most {SHORT}, or constants; "
            f"write a longer one as one expression of vectors: of fields, or of np.arange({len(entries)})"
        )
    values = np.array([entry.payload for entry in entries])
    if all(entry is entries[0] for entry in entries):
        return each(entries[0], len(entries))
    if values.dtype.kind != "b" and np.array_equal(values, np.arange(len(values))):
        return each(cast_expr(node("lane_number", np.dtype(np.int64)), values.dtype), len(entries))
    return node("table", VectorType(values.dtype, len(entries)), payload=values.tobytes())


def table_values(table: Expr) -> np.ndarray[Any, Any]:
    """Return the constants of a node ``"table"``, a wide vector of constants, as an array."""
    return np.frombuffer(table.payload, table.dtype)


def make_tuple(items: Iterable[Expr], names: tuple[str, ...] | None = None) -> Expr:
    """Return the tuple of some symbolic values as one expression, optionally with names for its items."""
    entries = tuple(items)
    return node("tuple", TupleType(tuple(entry.type for entry in entries), names), *entries)


def cast_expr(value: Expr, target: Type) -> Expr:
    """Return `value` as type `target`.

    Vectors and tuples are cast item by item, and a scalar is repeated for a vector.
    """
    if value.type == target:
        return value
    if isinstance(target, VectorType):
        return lanewise(lambda part: cast_expr(part, target.scalar), target.length, value)
    if isinstance(target, TupleType):
        if not isinstance(value.type, TupleType) or len(value) != len(target.items):
            raise TypeError(f"cannot cast {value}, of type {value.type}, to {target}")
        return make_tuple([cast_expr(part, kind) for part, kind in zip(value, target.items, strict=True)], target.names)
    if not isinstance(value.type, np.dtype):
        raise TypeError(f"cannot cast {value}, of type {value.type}, to the scalar type {target}")
    if value.op == "constant" and target != HALF:
        return constant(cast_array(value.payload, target))
    return node("cast", target, value)


def lanewise(function: Callable[..., Expr], length: int, *values: Any) -> Expr:
    """Apply a function of scalars to vectors of a given length, item by item. Scalars are repeated.

    Examples
    --------
    >>> lanewise(lambda x, y: x * y, 64, Symbol("x", ("f4", (64,))), Symbol("y", "f4"))
    <each(x[lane] * y): float32[64]>
    """
    for value in values:
        kind = value.type if isinstance(value, Expr) else None
        if isinstance(kind, TupleType) or (isinstance(kind, VectorType) and kind.length != length):
            raise TypeError(f"{value}, of type {kind}, does not match a vector of {length} items")
    if length > SHORT:
        return each(function(*map(at_lane, values)), length)
    columns = [value if _is_vector(value) else [value] * length for value in values]
    return make_vector([function(*row) for row in zip(*columns, strict=True)])


def _is_vector(value: Any) -> bool:
    return isinstance(value, Expr) and isinstance(value.type, VectorType)


def at_lane(value: Any) -> Any:
    """Return one item of a wide vector as a scalar expression, for the body of a loop over the items (lanes).

    It is the item at the loop's index. A scalar is returned unchanged.
    """
    if not _is_vector(value):
        return value
    return value.args[0] if value.op == "each" else node("lane", value.dtype, value)


def each(body: Expr, length: int) -> Expr:
    """Return an expression for the wide vector of `length` items that a loop computes.

    `body` is the scalar expression for one item.
    """
    if body.op == "lane":
        return body.args[0]
    assert isinstance(body.type, np.dtype)
    return node("each", VectorType(body.type, length), body)


def fold(combine: Callable[[Expr, Expr], Expr], vector: Expr) -> Expr:
    """Return a scalar expression that reduces a wide vector's items by `combine`, from the first to the last."""
    body, kind = at_lane(vector), vector.dtype
    return node(
        "fold",
        kind,
        _body_at_lane(body, 0),
        body,
        combine(node("left", kind), node("right", kind)),
        payload=len(vector),
    )


def _body_at_lane(body: Expr, lane: int) -> Expr:
    """Return one value of a loop over vectors as an expression outside of the loop: `body` at index `lane`."""
    # keys are ids of nodes, because nodes are not hashable while a user's function is traced
    replacements: dict[int, Expr] = {}
    for e in in_order(body, within=False):
        if e.op == "lane":
            replacements[id(e)] = item(e.args[0], lane)
        elif e.op == "lane_number":
            replacements[id(e)] = constant(lane, np.int64)
        else:
            stays = e.op in LOOPS or not e.args
            replacements[id(e)] = (
                e if stays else node(e.op, e.type, *(replacements[id(arg)] for arg in e.args), payload=e.payload)
            )
    return replacements[id(body)]


def load(array: Expr, index: Expr, count: Expr, outside: Expr) -> Expr:
    """Return an expression that reads item `index` of an array of `count` items.

    If the index is out of range, the value is `outside`. The array is a symbol whose type is that of its items.
    """
    return node("load", array.type, array, index, count, outside)


def of_lanes(exprs: Iterable[Expr]) -> set[Expr]:
    """Return the nodes of some expressions whose value differs between iterations of the innermost loop around them.

    The loops are over the items (lanes) of vectors. All other nodes can be computed once, before the loop.
    """
    vary: set[Expr] = set()
    for e in in_order(exprs):
        if e.op in ("lane", "lane_number", "left", "right") or (e.op not in LOOPS and not vary.isdisjoint(e.args)):
            vary.add(e)
    return vary


def free_symbols(exprs: Expr | Iterable[Expr]) -> list[Expr]:
    """
    Return the distinct symbols in some expressions, in order of appearance.

    Examples
    --------
    >>> x, y = Symbol("x", np.int32), Symbol("y", np.int32)
    >>> free_symbols([x * y + x])
    [<x: int32>, <y: int32>]
    """
    return [expr for expr in in_order(exprs) if expr.op == "symbol"]


def in_order(exprs: Expr | Iterable[Expr], within: bool = True) -> list[Expr]:
    """Return the distinct nodes of some expressions in topological order: each node comes after its arguments.

    With `within=False`, a loop over the items of vectors (a node of `LOOPS`) counts as a leaf, so that its arguments
    are left out.
    """
    visited: dict[int, Expr] = {}
    pending = [exprs] if isinstance(exprs, Expr) else list(exprs)[::-1]
    while pending:
        expr = pending[-1]
        waiting = [arg for arg in reversed(expr.args) if id(arg) not in visited and (within or expr.op not in LOOPS)]
        if id(expr) in visited or not waiting:
            pending.pop()
            visited[id(expr)] = expr
        else:
            pending += waiting
    return list(visited.values())


def rebuilt(expr: Expr, change: Callable[[Expr, list[Expr]], Expr | None]) -> Expr:
    """Return an expression in which some nodes are replaced, and all nodes that depend on them are made anew.

    `change` is called with each node and its already replaced arguments. It returns the replacement, or None to keep
    the node with these arguments.
    """
    replacements: dict[Expr, Expr] = {}
    for e in in_order(expr):
        args = [replacements[arg] for arg in e.args]
        changed = change(e, args)
        if changed is None:
            changed = node(e.op, e.type, *args, payload=e.payload) if args else e
        replacements[e] = changed
    return replacements[expr]
