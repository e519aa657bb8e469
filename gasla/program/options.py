"""Options: constants of a program that are known while its functions are traced.

A program with options stands for one class for each combination of their values: a subclass in which every option is a
plain attribute, made when its values are first asked for. Everything that is traced, prepared or compiled follows from
the class, so it follows from the options, too.
"""

import functools
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

__all__ = ["option"]


class Option:
    """A constant that a program is given when it is made. In the class itself this stands in its place."""

    name = ""  # the attribute's, once the class is there

    def __init__(self, default: Any) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    def __repr__(self) -> str:
        return f"gasla.option({self.default!r})"

    def __bool__(self) -> bool:
        raise TypeError(
            "an option has no value where its class is written; ask `self.name` in a function, or declare what depends "
            "on it with `when=name`"
        )


def option(default: Any) -> Any:
    """Declare a constant that a program may set: `Program(name=value)`. It is known while functions are traced.

    So `if self.name:` is plain Python, and one program takes the place of several classes. Each combination of values
    is traced and compiled when it first runs; a number that often changes is a `gasla.parameter`.

    A declaration may name an option, too: as a type, as `init`, as the length of a vector, and in ``when=name``, with
    which the field or aggregate is there only where the option's value is true. The settings of a class may be options:
    ``direction = gasla.option("in")``, or have the value of another: ``everyone = name``.

    Parameters
    ----------
    default : bool, int, float, str, None, a dtype, or another hashable value
        Where it is True or False, so are all values; functions and arrays are none.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> class Sums(gasla.VertexProgram):
    ...     weighted = gasla.option(False)
    ...     total = gasla.vertex(np.float64, init=1)
    ...     weight = gasla.edge(np.float64, when=weighted)
    ...     reduce = semirings.plus
    ...     def gather(self, src, dst, edge): return src.total * edge.weight if self.weighted else src.total
    ...     def apply(self, vertex, gathered): return {"total": gathered}
    >>> graph = gasla.Graph.from_edges([0, 1], [2, 2], [3, 4])
    >>> gasla.run(Sums, graph, max_iterations=1).total, gasla.run(Sums(weighted=True), graph, max_iterations=1).total
    (array([1., 1., 2.]), array([1., 1., 7.]))
    """
    return Option(default)


def resolved(declared: Any, members: Mapping[str, Any]) -> Any:
    """A declaration with the values of options in their places, as far as these are known; None where it is left out.

    `members` are a class's, in which an option that has a value is that value. A member that is another one's option,
    as in ``everyone = settles``, takes that one's value.
    """
    if isinstance(declared, Option):
        return _value(declared, members)
    own = {field.name: getattr(declared, field.name) for field in fields(declared)}
    known = {name: _value(given, members) for name, given in own.items()}
    if not (isinstance(when := known.get("when", True), Option) or when):
        return None
    return declared if all(known[name] is own[name] for name in own) else replace(declared, **known)


def _value(given: Any, members: Mapping[str, Any]) -> Any:
    if isinstance(given, Option):
        if given.name not in members:
            raise TypeError(f"{given!r} is no member of the class that declares by it; expected name = gasla.option(…)")
        return members[given.name]
    if type(given) is tuple:
        values = tuple(_value(each, members) for each in given)
        return given if all(a is b for a, b in zip(values, given, strict=True)) else values
    return given


def specialized(program: type, options: Mapping[str, Option], given: Mapping[str, Any]) -> type:
    """The class that a program with options stands for where they have these values."""
    values = [given.get(name, option.default) for name, option in options.items()]
    try:
        return _made(program, *values)
    except TypeError:
        for name, value in zip(options, values, strict=True):
            check_value(f"{program.__name__}.{name}", options[name].default, value)
        raise


@functools.lru_cache(maxsize=None, typed=True)
def _made(program: Any, *values: Any) -> type:
    chosen = dict(zip(program.options, values, strict=True))
    for name, value in chosen.items():
        check_value(f"{program.__name__}.{name}", program.options[name].default, value)
    more = {"_chosen": program._chosen | chosen, "__module__": program.__module__}
    return type(program.__name__, (program,), {**chosen, **more})


def check_value(where: str, default: Any, value: Any) -> None:
    """Refuse what no option can be, or this one."""
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"{where} is {value!r}; expected a hashable value: arrays are fields") from None
    if hasattr(type(value), "__get__"):
        raise TypeError(f"{where} is {value!r}; expected a value: a function is a method, which a subclass may replace")
    if isinstance(default, bool) and not isinstance(value, bool | np.bool_):
        raise TypeError(f"{where} is {value!r}; expected True or False")
