"""Calls a user's function with symbols in place of numbers, and collects the expressions that it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semirings.constant_calls import constant_call
from semirings.expr import Expr, as_expr, reading
from semirings.ufuncs import settled


def trace(function: Callable[..., Any], *args: Any) -> Expr | tuple[Expr, ...] | dict[str, Expr]:
    """
    Call a user's function once with symbols in place of numbers, and return its result as expressions.

    Parameters
    ----------
    function : callable
        Any Python function of values; it may branch on anything except a symbolic value.
    *args : Expr or objects with symbolic attributes
        Passed unchanged.

    Returns
    -------
    Expr, tuple of Expr, or dict of str to Expr
        The function's result, with numbers converted to constants of definite type. A NamedTuple keeps its names.

    Examples
    --------
    >>> import numpy as np
    >>> from semirings import Symbol
    >>> trace(lambda x, y: {"larger": np.maximum(x, y), "count": 1}, Symbol("x", "f4"), Symbol("y", "f4"))
    {'larger': <maximum(x, y): float32>, 'count': <1: int64>}
    """
    # a functools.partial has no name of its own, so errors name the function that it calls
    named = getattr(function, "func", function)
    name = getattr(named, "__qualname__", repr(named))
    if (call := constant_call(function)) is not None:
        raise TypeError(
            f"{name} calls {call}, but is called only once, with symbols in place of numbers: that would be "
            "one number for a whole run; expected semirings.random(seed, edge.id, self.iteration), or vertex.id, or a "
            "constant that is computed outside the function"
        )
    try:
        with reading():
            result = function(*args)
    except Exception as error:
        if isinstance(error, ValueError) and isinstance(error.__cause__, TypeError):
            # NumPy replaces the TypeError that has the advice for the user by an error of its own, which is misleading.
            # So raise the TypeError.
            raise error.__cause__ from None
        error.add_note(
            f"{name} is called with symbols in place of numbers; the user guide lists what it may contain, under "
            '"What may stand in a function"'
        )
        raise
    if isinstance(result, dict):
        for key in result:
            if not isinstance(key, str):
                raise TypeError(f"{name} returned a dict with the key {key!r}: keys must be field names")
        return {key: _as_returned_expr(value, f"{name}, field {key!r},") for key, value in result.items()}
    if isinstance(result, tuple):
        items = [_as_returned_expr(value, f"{name}, item {index},") for index, value in enumerate(result)]
        return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
    return _as_returned_expr(result, name)


def _as_returned_expr(value: Any, where: str) -> Expr:
    """Convert a value that the user's function has returned to an expression.

    `where` names the function in errors.
    """
    try:
        result: Expr = settled(as_expr(value))
    except TypeError:
        forgotten = " (is a return missing?)" if value is None else ""
        raise TypeError(
            f"{where} returned {value!r}{forgotten}: expected a symbolic value, a number, a tuple or a dict of those"
        ) from None
    return result
