"""Names that templates of kernels use. A template is a kernel that is specialized for a plan while it is compiled.

A plan is an object with decisions about the kernel. A module that says `plan: ... = known()` holds templates. The
compiler evaluates all that follows from the plan:

- of `if plan.pushes:` one branch is compiled, also within `and`, `or`, `not` and `a if b else c`, and of `match` one
  case;
- `for name in plan.aggregates:` is unrolled, and `tuple(… for i in range(plan.width))` becomes a tuple;
- a function without a decorator is inlined into its caller. In a `for` loop over its call, `yield` stands for the body;
- a function with a decorator is compiled once for each combination of types and of `Constant` arguments.

A parameter whose annotation is a `Record` stands for the variables that functions share. `run.size` is the variable
`size` of the function that is compiled, with all that is inlined into it. A variable that the function does not set is
taken from its caller, as a further argument. `run.sum[name]` of an `Each` is a variable such as `sum_total`.
`run.local[role, field]` may have any name, such as `src_level`, and for a list of names it is a tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

PLAN = object()


if TYPE_CHECKING:
    Constant = Any
else:

    class Constant:
        """The annotation of a template's parameter that is known while compiling, so that a function is compiled for
        each value.
        """


def known() -> Any:
    """Return the object that stands for a plan in a module of templates. The compiler replaces it by the real plan."""
    return PLAN


class Each:
    """In a record, a family of variables, one for each key. `run.sum["total"]` is the variable `sum_total`."""

    __getitem__: Callable[..., Any]
    __setitem__: Callable[..., None]
    __call__: Callable[..., Any]


class Record:
    """The base of classes that declare, by annotations, the variables that the functions of a kernel share.

    Variables in `local` may have any names.
    """

    local: Each


class Arrays(Each):
    """Several arrays of a kernel that together hold values with several parts, and are used like one array.

    `plan.total[i]` is the value at index `i`. The values of an array may begin at an offset, a number of items.
    """

    def __init__(self, names: Sequence[str], is_tuple: bool, offsets: Sequence[int] = ()) -> None:
        self.names, self.is_tuple, self.offsets = names, is_tuple, offsets


def where_used(function: Any) -> Any:
    """Mark a function of a template whose assignments are made at the beginning of the kernel.

    An assignment is left out if the kernel does not use its variable.
    """
    function.is_where_used = True
    return function
