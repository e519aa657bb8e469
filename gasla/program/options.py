"""Options: constants of a program that are known while its functions are traced.

Each combination of option values has a class of its own, made on first use. It is a subclass of the program in which
every option is a plain attribute. As tracing, prepared runs and compiled code are cached per class, each combination
is traced and compiled once.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from gasla.once import once

__all__ = ["option"]


class Option:
    """The declaration of an option, a constant of a program. In an instance of the program, its value replaces it."""

    name = ""  # name of the option, which Python passes to `__set_name__` when the declaring class is made

    def __init__(self, default: Any) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    def __repr__(self) -> str:
        return f"gasla.option({self.default!r})"

    def __bool__(self) -> bool:
        raise TypeError(
            "an option has no value in the class body; read `self.name` in a function, or declare fields that depend "
            "on it with `when=name`"
        )


def option(default: Any) -> Any:
    """Declare a constant that an instance may set: `Program(name=value)`. It is known while functions are traced.

    So `if self.name:` in a function is plain Python, and one program replaces several classes. Each combination of
    values is traced and compiled when it first runs: use `gasla.parameter` for a number that changes often.

    A declaration may use an option as a type, as `init`, as the length of a vector, and in ``when=name``, with which
    the field or aggregate exists only if the option's value is true. The settings of a class may be options:
    ``direction = gasla.option("in")``, or take the value of another option: ``everyone = name``.

    Parameters
    ----------
    default : bool, int, float, str, None, a dtype, or another hashable value
        A bool allows only bools. Functions and arrays are not allowed.

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
    """Return the declaration of a field or another member of a program, with options replaced by their values.

    Return None if the declaration's option `when` is false. `members` are the members of the class by name. An option
    that has a value is in `members` as that value. A member that is the option of another member, as in ``everyone =
    settles``, gets that member's value.
    """
    if isinstance(declared, Option):
        return _resolve_value(declared, members)
    declared_values = {field.name: getattr(declared, field.name) for field in fields(declared)}
    resolved_values = {
        name: _resolve_value(declared_value, members) for name, declared_value in declared_values.items()
    }
    if not (isinstance(when := resolved_values.get("when", True), Option) or when):
        return None
    return (
        declared
        if all(resolved_values[name] is declared_values[name] for name in declared_values)
        else replace(declared, **resolved_values)
    )


def _resolve_value(declared_value: Any, members: Mapping[str, Any]) -> Any:
    if isinstance(declared_value, Option):
        if declared_value.name not in members:
            raise TypeError(
                f"{declared_value!r} is not a member of the class that uses it; expected name = gasla.option(…)"
            )
        return members[declared_value.name]
    if type(declared_value) is tuple:
        values = tuple(_resolve_value(item, members) for item in declared_value)
        return (
            declared_value
            if all(new_item is old_item for new_item, old_item in zip(values, declared_value, strict=True))
            else values
        )
    return declared_value


def specialized(program: type, options: Mapping[str, Option], given: Mapping[str, Any]) -> type:
    """Return the subclass of a program in which each option is a plain attribute: its value in `given`, or else its
    default.
    """
    values = [given.get(name, option.default) for name, option in options.items()]
    try:
        return _make_subclass(program, *values)
    except TypeError:
        for name, value in zip(options, values, strict=True):
            check_value(f"{program.__name__}.{name}", options[name].default, value)
        raise


@once(typed=True)
def _make_subclass(program: Any, *values: Any) -> type:
    option_values = dict(zip(program.options, values, strict=True))
    for name, value in option_values.items():
        check_value(f"{program.__name__}.{name}", program.options[name].default, value)
    attributes = {"_chosen": program._chosen | option_values, "__module__": program.__module__}
    return type(program.__name__, (program,), {**option_values, **attributes})


def check_value(where: str, default: Any, value: Any) -> None:
    """Raise TypeError if an option of a program can't have a value. Errors call the option `where`.

    The value must be hashable, and neither a function nor an array. If the default is a bool, the value must be a bool.
    """
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"{where} is {value!r}; expected a hashable value: arrays are fields") from None
    if hasattr(type(value), "__get__"):
        raise TypeError(f"{where} is {value!r}; expected a value: write a function as a method, and override it")
    if isinstance(default, bool) and not isinstance(value, bool | np.bool_):
        raise TypeError(f"{where} is {value!r}; expected True or False")
