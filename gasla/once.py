"""What several threads need at the same time is made once: the others wait for the first, and get the same object.

`functools.cached_property` lets each thread make a value of its own. In Python 3.11 it has one lock for all objects
instead, with which two threads can wait for each other forever. `functools.cache` calls its function once for each
thread as well.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])

_MISSING = object()
_Lock = type(threading.RLock())  # threading.RLock is a function that calls it
# What is being made now, by the id of its owner and a name: a lock, and how often its holder has entered.
_entries: dict[tuple[int, Hashable], list[Any]] = {}


@contextmanager
def only_one(owner: object, name: Hashable) -> Iterator[None]:
    """Let a thread make something, named so, of an object, while others that need it wait.

    After waiting, a thread has to look whether the value is there. The same thread may enter again.
    """
    key = id(owner), name
    while True:
        entry = _entries.setdefault(key, [_Lock(), 0])
        with entry[0]:
            if _entries.get(key) is not entry:  # its holder has left, and another thread may have begun anew
                continue
            entry[1] += 1
            try:
                yield
            finally:
                entry[1] -= 1
                if not entry[1]:
                    _entries.pop(key, None)
            return


class once_property(Generic[T]):
    """A property that is made when it is first read, by one thread, and kept in the object's `__dict__`.

    Examples
    --------
    >>> class Circle:
    ...     radius = 2
    ...     @once_property
    ...     def area(self): return 3.14 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, vars(circle)
    (12.56, {'area': 12.56})
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: type | None = None) -> T: ...
    def __get__(self, owner: Any, kind: type | None = None) -> Self | T:
        if owner is None:
            return self
        made: dict[str, T] = owner.__dict__
        key = id(owner), self.name
        while True:  # as `only_one`, whose generator takes 2 µs
            entry = _entries.setdefault(key, [_Lock(), 0])
            with entry[0]:
                if _entries.get(key) is not entry:
                    continue
                entry[1] += 1
                try:
                    if self.name not in made:
                        made.setdefault(self.name, self.make(owner))
                    return made[self.name]
                finally:
                    entry[1] -= 1
                    if not entry[1]:
                        _entries.pop(key, None)


def once(most: int | None = None, typed: bool = False) -> Callable[[Function], Function]:
    """Cache a function's results, each of which one thread makes, while others that need it wait.

    No lock is held that another result needs: a function that calls the user's code may wait for another thread.

    Parameters
    ----------
    most
        Of so many results, the one made first is forgotten.
    typed
        Whether equal arguments of different types have results of their own.

    Examples
    --------
    >>> @once()
    ... def square(x): return print("made") or x**2
    >>> square(3), square(3)
    made
    (9, 9)
    """

    def cached(make: Function) -> Function:
        made = OrderedDict[Hashable, Any]()

        @wraps(make)
        def result(*given: Any, **named: Any) -> Any:
            key = (given, *map(type, given), *named.items()) if typed else (given, *named.items())
            value = made.get(key, _MISSING)
            if value is _MISSING:
                with only_one(made, key):
                    value = made.get(key, _MISSING)
                    if value is _MISSING:
                        value = made[key] = make(*given, **named)
                        if most is not None and len(made) > most:
                            made.popitem(last=False)
            return value

        result.cache_clear = made.clear  # type: ignore[attr-defined]
        return result  # type: ignore[return-value]

    return cached


if hasattr(os, "register_at_fork"):  # threads of the parent process may hold locks
    os.register_at_fork(after_in_child=_entries.clear)
