"""A progress bar over whatever takes its time: silent in its first second, and wherever nobody is watching.

What goes on for long says how far it is (`follow`, `track`); that costs nothing unless a bar is open to look at it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread
from typing import Any, TypeVar

__all__ = ["bar", "follow", "track"]

Item = TypeVar("Item")

DELAY = 1.0  # seconds until a bar is drawn
PERIOD = 0.2  # seconds between two looks

CLOCK = "{desc}, {elapsed}"
COUNTED = "{desc} |{bar:24}| {n:,} of {total:,} {unit}, {elapsed}<{remaining}"
ENDLESS = "{desc}: {n:,} {unit}, {elapsed}"


class _Open:
    """A bar that is being drawn, and the count that it shows."""

    def __init__(self, drawn: Any) -> None:
        self.drawn = drawn
        self.count: Callable[[], tuple[int, int]] | None = None
        self.unit = ""
        self.is_held = False  # by a loop, whatever is counted inside it

    def look(self) -> None:
        if self.count is not None:
            self.drawn.n, total = self.count()
            self.drawn.total, self.drawn.unit = total or None, self.unit
            self.drawn.bar_format = CLOCK if self.drawn.n == 0 else COUNTED if total else ENDLESS
            self.drawn.last_print_n = self.drawn.n  # a count may start anew
        self.drawn.update(0)


_open: ContextVar[_Open | None] = ContextVar("_open", default=None)


@contextmanager
def bar(description: str) -> Iterator[None]:
    """Show on standard error how far the work inside has come.

    Nothing is drawn in the first second, or if standard error is not a terminal; nothing is left behind at the end.

    Examples
    --------
    >>> import gasla
    >>> flights = gasla.datasets.openflights().matrix
    >>> with gasla.progress.bar("betweenness"):
    ...     scores = gasla.betweenness_centrality(flights, k=4)
    """
    from tqdm import tqdm

    settings = {"delay": DELAY, "mininterval": 0, "miniters": 0, "leave": False, "bar_format": CLOCK}
    with tqdm(desc=description, disable=None, **settings) as drawn:
        if drawn.disable:
            yield
            return
        shown, ended = _Open(drawn), Event()

        def keep_looking() -> None:
            while not ended.wait(PERIOD):
                shown.look()

        thread = Thread(target=keep_looking, daemon=True)  # kernels run without Python's lock
        outer = _open.set(shown)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            _open.reset(outer)


def follow(count: Callable[[], tuple[int, int]], unit: str) -> None:
    """Let an open bar show a count from now on.

    Parameters
    ----------
    count : function
        Gives how many are done, and of how many; of 0 if nobody knows. Called from another thread.
    unit : str
        What is counted, in the plural.

    Examples
    --------
    >>> import time
    >>> done = 0
    >>> with bar("waiting"):
    ...     follow(lambda: (done, 3), "hundredths of a second")
    ...     for done in range(3):
    ...         time.sleep(0.01)
    """
    shown = _open.get()
    if shown is not None and not shown.is_held:
        shown.count, shown.unit = count, unit


def is_watched() -> bool:
    """Whether an open bar shows what `follow` has it count."""
    shown = _open.get()
    return shown is not None and not shown.is_held


def track(items: Sequence[Item], unit: str) -> Iterator[Item]:
    """Go through items; an open bar shows how many are done, and nothing of what is counted inside the loop.

    Parameters
    ----------
    items : sequence
    unit : str
        What they are, in the plural.

    Examples
    --------
    >>> [source + 1 for source in track([4, 7], "sources")]
    [5, 8]
    """
    shown, done = _open.get(), 0
    if shown is None or shown.is_held:
        yield from items
        return
    follow(lambda: (done, len(items)), unit)
    shown.is_held = True
    try:
        for item in items:
            yield item
            done += 1
    finally:
        shown.is_held = False
