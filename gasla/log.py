"""The library's log: one logger, "gasla", which is silent unless a program asks for it.

Nothing is logged at INFO or above in normal use. DEBUG has each compilation and each call that another library runs
instead. WARNING has what costs a service time: fewer threads than wanted, code that can't be stored.
"""

import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

LOG = logging.getLogger("gasla")
LOG.addHandler(logging.NullHandler())  # or Python would print warnings where a program has not set up logging
_unsaid: ContextVar[tuple[type[Warning], ...]] = ContextVar("unsaid", default=())  # see `unwarned`
_waiting = threading.local()  # `calls` has what this thread will say, if it puts that off


def warn(words: str, category: type[Warning]) -> None:
    """Warn the first caller outside of this package, unless within `unwarned`. Decorators are callers as well."""
    if issubclass(category, _unsaid.get()):
        return
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gasla":
        frame, level = frame.f_back, level + 1
    warnings.warn(words, category, stacklevel=level)


@contextmanager
def unwarned(category: type[Warning]) -> Iterator[None]:
    """Leave out warnings of a category in this thread. Python's filters of warnings would hold for all threads."""
    token = _unsaid.set((*_unsaid.get(), category))
    try:
        yield
    finally:
        _unsaid.reset(token)


def say(write: Callable[..., object], *given: Any, **named: Any) -> None:
    """Call a function that logs or prints, now or at the end of this thread's `speaking_later`."""
    calls = getattr(_waiting, "calls", None)
    if calls is None:
        write(*given, **named)
    else:
        calls.append((write, given, named))


@contextmanager
def speaking_later() -> Iterator[None]:
    """Put off what this thread would `say` in the block, which holds a lock: handlers of the log may call gasla."""
    before = getattr(_waiting, "calls", None)
    calls = _waiting.calls = list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]]()
    try:
        yield
    finally:
        _waiting.calls = before
        for write, given, named in calls:
            say(write, *given, **named)
