"""The functions that a person may write in a program, its hooks: misspelt ones, and other parameters, are refused.

A kind of program names them in `_hooks`, with what each is called with beside self.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType
from typing import Any

from gasla.names import meant
from gasla.program.fields import Declared


def check_spelling(program: type[Declared]) -> None:
    """Refuse a name that is nearly a hook's or a setting's, and that no function of the program reads."""
    kind = next(base for base in program.__mro__ if "_hooks" in vars(base))
    own: dict[str, Any] = {}
    for base in reversed(program.__mro__):
        own |= {} if base in kind.__mro__ else vars(base)
    words = program._hooks.keys() | program._settings
    known = {*words, *program.vertex_fields, *program.edge_fields, *program.parameters, *program.aggregates}
    read: set[str] = set().union(*(_names_in(getattr(member, "function", member)) for member in own.values()))
    for name in own.keys() - known - read:
        if not name.startswith("_") and (hint := meant(name, words, 0.8)):
            raise TypeError(
                f"{program.__name__}.{name}: no hook and no setting is called {name!r}{hint} Helpers are called by "
                "hooks, or have names that are less like one"
            )


def check_parameters(where: str, function: Callable[..., Any], expected: tuple[str, ...]) -> None:
    """Refuse a function that can't be called with self and as many values as are expected."""
    signature = inspect.signature(function)
    try:
        signature.bind(None, *expected)
    except TypeError:
        raise TypeError(f"{where} takes {signature}; expected ({', '.join(('self', *expected))})") from None


def _names_in(function: Any) -> set[str]:
    """What a function reads of other things, and what functions within it do."""
    code = function if isinstance(function, CodeType) else getattr(function, "__code__", None)
    if code is None:
        return set()
    return {*code.co_names}.union(*(_names_in(part) for part in code.co_consts if isinstance(part, CodeType)))
