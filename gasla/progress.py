"""A progress bar over the phases of a command: silent in its first second, and wherever nobody is watching."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any


@contextmanager
def phases(names: Sequence[str]) -> Iterator[Callable[[], None]]:
    """Show which of some phases is running; the function that it gives is called as each phase ends.

    Nothing is drawn in the first second, or if standard error is not a terminal.

    Examples
    --------
    >>> with phases(["read", "compute"]) as done:
    ...     done()
    ...     done()
    """
    from tqdm import tqdm

    left = iter(names)
    shape = "{desc} |{bar:24}| {n} of {total} phases done, {elapsed}"
    with tqdm(total=len(names), delay=1.0, miniters=0, leave=False, disable=None, bar_format=shape) as bar:

        def name_next() -> None:
            bar.set_description_str(next(left, "done"), refresh=False)

        def done() -> None:
            name_next()
            bar.update(1)

        name_next()
        with _ticking(bar):
            yield done


@contextmanager
def _ticking(bar: Any) -> Iterator[None]:
    """Let the clock of a bar move while its phase takes its time: kernels run without Python's lock."""
    if bar.disable:
        yield
        return
    stopped = Event()

    def tick() -> None:
        while not stopped.wait(0.2):
            bar.update(0)

    thread = Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
