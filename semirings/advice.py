"""Error messages that say what to write instead of an operation that symbolic values don't support.

A symbolic value stands for a number that is known only when the compiled code runs. So it has no truth value and no
hash, and can't be an index. Each message says what to write instead.
"""

from __future__ import annotations

from typing import Any

BRANCH = (
    "a symbolic value has no truth value: write semirings.where(condition, a, b) for `if`, & | ~ for `and` `or` `not`, "
    "semirings.minimum and semirings.maximum for min() and max(), (a <= x) & (x < b) for `a <= x < b`, and "
    "(x == a) | (x == b) for `x in (a, b)`"
)
NUMBER = (
    "a symbolic value is not a number yet: use semirings.sqrt, semirings.exp, … (or NumPy's) for the functions of "
    "math, semirings.cast(x, np.float64) or x.astype(np.int64) for float() and int(), and semirings.vector(a, b, …) "
    "for an array of values"
)
TABLE = (
    "to look something up by a vertex, declare it as a field, table = gasla.vertex(np.float64), pass table=array to "
    "the run, and read src.table, or self.at(index).table with missing=; semirings.where chooses among few constants"
)
INDEX = (
    "a symbolic value is not a number yet, so it is no index, no length and no count for range(): loops go over "
    f"constants, and semirings.cast(x, np.int64) stands for int(x); {TABLE}"
)
ARRAY = (
    "a symbolic value cannot become an array, or an index of one: semirings.vector(a, b, …) makes a vector of values; "
    + TABLE
)
KEY = (
    "a symbolic value can't be looked up in a dict or a set, as it is known only when the code runs: write "
    f"(x == a) | (x == b) for `x in {{a, b}}`; {TABLE}"
)
ROUND = "rounding a symbolic value: use semirings.floor, ceil, trunc or rint (and cast for an integer)"

_REDUCE = (
    "a monoid reduces the items of a vector: semirings.plus(x) is their sum, "
    "and there are semirings.min(x), max(x), any(x > 0) and others"
)
_DOT = "semirings.plus(x * y) is the dot product of two vectors"
_LOOKUP = "a function of an array can't read it at a symbolic value; " + TABLE
_REPLACEMENTS = {
    **dict.fromkeys(("sum", "min", "max", "any", "all", "prod", "amin", "amax"), _REDUCE),
    **dict.fromkeys(("dot", "inner", "vdot", "matmul", "vecdot"), _DOT),
    **dict.fromkeys(("take", "choose", "searchsorted", "digitize", "interp"), _LOOKUP),
    **dict.fromkeys(("concatenate", "stack", "hstack", "vstack", "append"), "semirings.vector(a, b, …) joins values"),
    **dict.fromkeys(("round", "around"), "use semirings.floor, ceil, trunc or rint"),
    **dict.fromkeys(("zeros_like", "ones_like", "full_like"), "write the number itself, such as 0.0"),
    **dict.fromkeys(("item", "tolist", "copy", "real", "flatten"), "leave it out: the value is one already"),
    "mean": "write semirings.plus(x) / len(x)",
    "norm": "write semirings.sqrt(semirings.plus(x * x))",
    "argmin": "semirings.argmin reduces pairs (value, number), as a program's `reduce`",
    "argmax": "semirings.argmax reduces pairs (value, number), as a program's `reduce`",
    "clip": "write semirings.clip(x, low, high)",
    "select": "nest semirings.where(condition, a, b)",
    "isclose": "write abs(x - y) <= tolerance",
    "nan_to_num": "write semirings.where(np.isnan(x), 0, x)",
    "divmod": "write x // y and x % y",
    "bit_count": "write semirings.popcount(x)",
    "shape": "a value is one number, or a vector of len(x)",
    "expit": "write 1 / (1 + np.exp(-x))",
    "heaviside": "write semirings.where(x < 0, 0, semirings.where(x > 0, 1, value))",
}


def instead(name: str) -> str | None:
    """Return what to write instead of a NumPy function or an array method that symbolic values don't support.

    `name` is the name of the function or method. Return None if there is no advice.

    Examples
    --------
    >>> instead("mean")
    'write semirings.plus(x) / len(x)'
    """
    return _REPLACEMENTS.get(name)


_MONOIDS = {
    "add": "plus", "sum": "plus", "plus": "plus", "multiply": "times", "mul": "times", "prod": "times",
    "minimum": "min", "fmin": "min", "min": "min", "amin": "min", "maximum": "max", "fmax": "max", "max": "max",
    "amax": "max", "logical_or": "lor", "any": "lor", "logical_and": "land", "all": "land",
    "bitwise_or": "bor", "bitwise_and": "band", "bitwise_xor": "bxor", "logaddexp": "logaddexp",
    "argmin": "argmin", "argmax": "argmax",
}  # fmt: skip


def monoid_for(given: Any) -> str:
    """Return a phrase for an error message: which monoid was expected in place of the object `given`.

    If the name of the object tells which monoid the caller means, such as `max`, the phrase names it.
    """
    name = _MONOIDS.get(given if isinstance(given, str) else getattr(given, "__name__", ""))
    if name:
        return f"a semirings.Monoid, here semirings.{name}"
    some = "a semirings.Monoid, such as semirings.plus or semirings.min"
    return f"{some}; semirings.Monoid(function, identity) makes one" if callable(given) else some
