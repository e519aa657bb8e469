"""Progress bars for long calls: hidden in the first second, and drawn only on a terminal or in a notebook.

Long computations report their progress with `follow` and `track`, which cost nothing unless a bar is open.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread
from typing import Any, TypeVar

__all__ = ["bar", "follow", "track"]

Item = TypeVar("Item")

DELAY = 1.0  # seconds from the begin of a call until its progress bar is drawn
PERIOD = 0.2  # seconds between two updates of the progress bar on the screen

CLOCK = "{desc}, {elapsed}"
COUNTED = "{desc} |{bar:24}| {n:,} of {total:,} {unit}, {elapsed}<{remaining}"
ENDLESS = "{desc}: {n:,} {unit}, {elapsed}"


class _Open:
    """A progress bar that is open now, and the function from which the bar gets the number of finished items."""

    def __init__(self, drawn: Any) -> None:
        self.drawn = drawn
        # a function that returns the number of finished items and the total number, and the unit of both, such as
        # "sources"
        self.counted: tuple[Callable[[], tuple[int, int]], str] | None = None
        self.is_held = False  # whether a loop of `track` counts; if so, calls of `follow` within the loop are ignored

    def look(self) -> None:
        counted = self.counted  # read only once, because the computing thread may replace it at any time
        if counted is not None:
            count, unit = counted
            self.drawn.n, total = count()
            self.drawn.total, self.drawn.unit = total or None, unit
            self.drawn.bar_format = CLOCK if self.drawn.n == 0 else COUNTED if total else ENDLESS
            # tqdm draws only if the count has grown since this number, and the count may be lower than before
            self.drawn.last_print_n = self.drawn.n
        self.drawn.update(0)


_open: ContextVar[_Open | None] = ContextVar("_open", default=None)


@contextmanager
def bar(description: str) -> Iterator[None]:
    """Show a progress bar on standard error while a `with` block runs.

    The bar appears if the block takes longer than a second, and is erased when the block ends. Nothing is drawn if
    standard error is neither a terminal nor the output of a notebook's cell.

    Examples
    --------
    >>> import gasla
    >>> flights = gasla.datasets.openflights().matrix
    >>> with gasla.progress.bar("betweenness"):
    ...     scores = gasla.betweenness_centrality(flights, k=4)
    """
    from tqdm import tqdm

    settings = {"delay": DELAY, "mininterval": 0, "miniters": 0, "leave": False, "bar_format": CLOCK}
    with tqdm(desc=description, disable=False if _in_notebook() else None, **settings) as drawn:
        if drawn.disable:
            yield
            return
        shown, ended = _Open(drawn), Event()

        def keep_looking() -> None:
            while not ended.wait(PERIOD):
                shown.look()

        # kernels release Python's interpreter lock while they run, so this thread can draw the bar meanwhile
        thread = Thread(target=keep_looking, daemon=True)
        outer = _open.set(shown)
        try:  # Ctrl-C may raise KeyboardInterrupt between any two lines, so the thread is started within `try`
            thread.start()
            yield
        finally:
            _open.reset(outer)
            ended.set()
            if thread.ident is not None:
                thread.join()


def _in_notebook() -> bool:
    """Return whether this process runs a Jupyter kernel.

    Its standard error is no terminal, but can show a progress bar.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def follow(count: Callable[[], tuple[int, int]], unit: str) -> None:
    """Make the open progress bar show a count from now on. If no bar is open, do nothing.

    Parameters
    ----------
    count : function
        Returns the number done and the total, or 0 for an unknown total. Called from another thread.
    unit : str
        Name of the counted things, in the plural.

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
        shown.counted = count, unit


def is_watched() -> bool:
    """Return whether a progress bar is open, so that a count passed to `follow` would be shown."""
    shown = _open.get()
    return shown is not None and not shown.is_held


def track(items: Sequence[Item], unit: str) -> Iterator[Item]:
    """Yield items one by one, while the open progress bar shows how many are done.

    Counts of `follow` are ignored meanwhile.

    Parameters
    ----------
    items : sequence
    unit : str
        Name of the items, in the plural.

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
