"""Values that several threads need at the same time are made once: one thread makes a value, and the others wait.

`functools.cached_property` lets each thread make its own value. In Python 3.11 it has one lock for all objects instead,
with which two threads can wait for each other forever. `functools.cache`, too, may call its function in each thread.
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
_Lock = type(threading.RLock())  # the class of the locks that threading.RLock, which is a function, returns
# For each value that a thread is making now, a lock, and how many calls of `only_one` the thread that has the lock has
# entered and not left. The keys are the id of the object that has the value, and the value's name.
_entries: dict[tuple[int, Hashable], list[Any]] = {}


@contextmanager
def only_one(owner: object, name: Hashable) -> Iterator[None]:
    """Let one thread at a time make the value `name` of an object, while other threads that need the value wait.

    After waiting, a thread must check whether the value exists now. The thread that makes the value may enter again.
    """
    key = id(owner), name
    while True:
        entry = _entries.setdefault(key, [_Lock(), 0])
        with entry[0]:
            # While this thread waited, the thread that had the lock may have removed it, and another thread may have
            # made a new lock. Then this thread tries again with the new lock.
            if _entries.get(key) is not entry:
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
    """A property that one thread computes when it is first read, and that is then stored in the object's `__dict__`.

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
        while True:  # this repeats the loop of `only_one`, because calling that generator would take 2 µs
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
    """Return a decorator that caches a function's results.

    One thread computes a result, while others that need it wait.

    Each result has its own lock, because a function that calls the user's code may wait for another thread.

    Parameters
    ----------
    most
        the number of results to keep at most; if there are more, the oldest is dropped
    typed
        whether equal arguments of different types, such as 1 and 1.0, have separate results

    Examples
    --------
    >>> @once()
    ... def square(x): return print("made") or x**2
    >>> square(3), square(3)
    made
    (9, 9)
    """

    def cached(make: Function) -> Function:
        cached_results = OrderedDict[Hashable, Any]()

        @wraps(make)
        def result(*given: Any, **named: Any) -> Any:
            key = (given, *map(type, given), *named.items()) if typed else (given, *named.items())
            value = cached_results.get(key, _MISSING)
            if value is _MISSING:
                with only_one(cached_results, key):
                    value = cached_results.get(key, _MISSING)
                    if value is _MISSING:
                        value = cached_results[key] = make(*given, **named)
                        if most is not None and len(cached_results) > most:
                            cached_results.popitem(last=False)
            return value

        result.cache_clear = cached_results.clear  # type: ignore[attr-defined]
        return result  # type: ignore[return-value]

    return cached


# a forked process gets copies of locks that other threads of its parent held, which nobody would release; so it gets
# new ones
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_entries.clear)
