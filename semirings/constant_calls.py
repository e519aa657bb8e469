"""Find calls in a user's function that would give one number for a whole run, because the function is traced only once.

Random numbers of NumPy or Python and the time of day look as if they were new for each edge. Such calls are found in
the function's bytecode before it is called, by the objects that its names refer to.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

# A call of a random or time function needs a name of one of these modules. So only functions with such names are
# searched.
MODULES = ("numpy.random", "random", "time", "secrets", "uuid")
GENERATORS = (("numpy.random", "Generator"), ("numpy.random", "RandomState"), ("random", "Random"))
NOW = ("now", "utcnow", "today")
TELLING = {"random", "urandom", *NOW, *MODULES}


def constant_call(function: Callable[..., Any]) -> str | None:
    """Return the text of the first call in a user's function that would give one number for a whole run.

    Such a call draws a random number, or reads the time of day. Return None if there is none.

    Examples
    --------
    >>> import time
    >>> constant_call(lambda x: x + time.time())
    'time.time'
    >>> constant_call(lambda x: x + abs(x))
    """
    this = function.args[0] if isinstance(function, partial) and function.args else None
    plain = inspect.unwrap(getattr(function, "func", function))
    return next(_find_constant_calls(getattr(plain, "__func__", plain), this, set()), None)


def _find_constant_calls(function: Any, this: Any, seen: set[CodeType]) -> Iterator[str]:
    """Yield the texts of calls in a function that give one number for a whole run, such as `np.random.rand`.

    Functions of the same module that it calls are searched, too. `this` is the object that `self` refers to in a
    method, or None. `seen` has the code of functions that have been searched already.
    """
    if not isinstance(function, FunctionType) or function.__code__ in seen:
        return
    this = this if function.__code__.co_varnames[:1] == ("self",) else None
    if not _may_call(function, this):
        return
    seen.add(function.__code__)
    for text, value in _resolve_names(function, this):
        if _differs_per_call(value):
            yield text
        elif isinstance(value, FunctionType) and value.__module__ == function.__module__:
            yield from _find_constant_calls(value, this, seen)


def _may_call(function: FunctionType, this: Any) -> bool:
    """Return whether any of a function's names could lead to a random function or to the time of day.

    Only then the function's bytecode is searched for calls, because this takes 0.1 ms.
    """
    names = {*function.__code__.co_names}
    values = [function.__globals__[name] for name in names & function.__globals__.keys()]
    values += [_cell_content(cell) for cell in function.__closure__ or ()]
    values += [inspect.getattr_static(this, name, None) for name in names if this is not None]
    return any(
        _differs_per_call(value)
        or isinstance(value, _generators())
        or (isinstance(value, FunctionType) and value.__module__ == function.__module__)
        or (isinstance(value, ModuleType) and not TELLING.isdisjoint({value.__name__, *names}))
        or getattr(value, "__module__", None) == "datetime"
        for value in values
    )


def _resolve_names(function: FunctionType, this: Any) -> Iterator[tuple[str, Any]]:
    """Yield the text of each name in a function's code, such as `np.random.rand`, and the object that it refers to.

    Attributes of modules, of random generators and of `self` are followed. `this` is the object that `self` refers to
    in a method, or None.
    """
    closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
    name_text, value, is_resolved = "", None, False
    for instruction in dis.get_instructions(function.__code__):
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and is_resolved:
            name_text, read = f"{name_text}.{instruction.argval}", inspect.getattr_static if value is this else getattr
            is_resolved = value is this or _has_attributes(value)
            value = read(value, instruction.argval, None) if is_resolved else None
            continue
        if is_resolved:
            yield name_text, value
        name_text, is_resolved = str(instruction.argval), True
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = function.__globals__.get(instruction.argval, getattr(builtins, instruction.argval, None))
        elif instruction.opname == "LOAD_DEREF" and instruction.argval in closure:
            value = _cell_content(closure[instruction.argval])
        elif instruction.opname.startswith("LOAD_FAST") and instruction.argval == "self" and this is not None:
            value = this
        else:
            is_resolved = False


def _cell_content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable of the enclosing function is not assigned yet
        return None


def _generators() -> tuple[type, ...]:
    modules = ((sys.modules.get(module), name) for module, name in GENERATORS)
    return tuple(getattr(module, name) for module, name in modules if module is not None)


def _has_attributes(value: Any) -> bool:
    """Return whether attributes of a value may be read without running code of the user."""
    return isinstance(value, (ModuleType, *_generators())) or getattr(value, "__module__", None) == "datetime"


def _differs_per_call(value: Any) -> bool:
    """Return whether a function gives another number at each call (a random number or the time)."""
    if not callable(value) or isinstance(value, type):
        return False
    owner, module = getattr(value, "__self__", None), getattr(value, "__module__", None) or ""
    if isinstance(owner, type) and owner.__module__ == "datetime":
        return getattr(value, "__name__", "") in NOW
    inside = any(module == name or module.startswith(f"{name}.") for name in MODULES)
    return isinstance(owner, _generators()) or inside or value is sys.modules["os"].urandom
