"""Names that templates of kernels use: functions of which much is known, from a plan, while they are compiled.

A module that says `plan: ... = known()` holds templates. The compiler evaluates all that follows from the plan:

- of `if plan.pushes:` one branch is compiled, also within `and`, `or`, `not` and `a if b else c`; so is one `case`;
- `for name in plan.aggregates:` is unrolled, and `tuple(… for i in range(plan.width))` becomes a tuple;
- a function without a decorator is inlined into its caller. In a `for` loop over its call, `yield` stands for the body;
- a function with a decorator is compiled once for each combination of types and of `Constant` arguments.

A parameter whose annotation is a `Record` stands for the variables that functions share. `run.size` is the variable
`size` of the function that is compiled, with all that is inlined into it; what it does not set, it takes from its
caller as a further argument. `run.sum[name]` of an `Each` is a variable such as `sum_total`; `run.local[role, field]`
may have any name, such as `src_level`, and of a list of names it is a tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

PLAN = object()


if TYPE_CHECKING:
    Constant = Any
else:

    class Constant:
        """The annotation of a parameter that is known: the function is compiled once for each of its values."""


def known() -> Any:
    """Stand for a plan, which has a value only while a template is compiled."""
    return PLAN


class Each:
    """In a record: the variables whose names begin with its name, one for each key."""

    __getitem__: Callable[..., Any]
    __setitem__: Callable[..., None]
    __call__: Callable[..., Any]


class Record:
    """Declares the variables that the functions of a kernel share, as annotations.

    Variables in `local` may have any names.
    """

    local: Each


class Arrays(Each):
    """Arrays that hold the parts of values: `plan.total[i]` is the value at an index, read or assigned.

    The values of an array may begin at some offset in it.
    """

    def __init__(self, names: Sequence[str], is_tuple: bool, offsets: Sequence[int] = ()) -> None:
        self.names, self.is_tuple, self.offsets = names, is_tuple, offsets


def where_used(function: Any) -> Any:
    """Mark a function whose assignments are made at the beginning of the kernel, and only if the variables are used."""
    function.is_where_used = True
    return function
