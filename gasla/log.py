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
LOG.addHandler(logging.NullHandler())  # otherwise Python would print warnings in programs that have not set up logging
# the categories of warnings that blocks of `unwarned` suppress now, in this thread
_suppressed: ContextVar[tuple[type[Warning], ...]] = ContextVar("unsaid", default=())
# Its attribute `calls` is the list of log calls that a block of `speaking_later` delays, one list for each thread.
_delayed = threading.local()


def warn(words: str, category: type[Warning]) -> None:
    """Issue a warning that points to the line of the user's code that called gasla, unless `unwarned` suppresses it."""
    if issubclass(category, _suppressed.get()):
        return
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gasla":
        frame, level = frame.f_back, level + 1
    warnings.warn(words, category, stacklevel=level)


@contextmanager
def unwarned(category: type[Warning]) -> Iterator[None]:
    """Suppress gasla's warnings of a category within the block, in this thread only.

    Filters of Python's module `warnings` would suppress them in all threads.
    """
    token = _suppressed.set((*_suppressed.get(), category))
    try:
        yield
    finally:
        _suppressed.reset(token)


def say(write: Callable[..., object], *given: Any, **named: Any) -> None:
    """Call the function `write`, which logs or prints, with the given arguments.

    Within a block of `speaking_later` in this thread, the call is delayed until the end of the block.
    """
    calls = getattr(_delayed, "calls", None)
    if calls is None:
        write(*given, **named)
    else:
        calls.append((write, given, named))


@contextmanager
def speaking_later() -> Iterator[None]:
    """Delay the log calls that this thread makes through `say` until the end of the block.

    For blocks that hold a lock: handlers of the log may call gasla, and would wait for the lock forever.
    """
    before = getattr(_delayed, "calls", None)
    calls = _delayed.calls = list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]]()
    try:
        yield
    finally:
        _delayed.calls = before
        for write, arguments, keywords in calls:
            say(write, *arguments, **keywords)
