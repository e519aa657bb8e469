"""Run long computations of other libraries in new threads, so that Ctrl-C has an effect while they run.

Python handles Ctrl-C in the main thread, between two of its own instructions. Code of another library that computes for
seconds delays this. If such code waits for threads of its own, Ctrl-C ends the wait, and the library frees arrays that
its threads still read and write.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_apart(*computations: Iterable[Any]) -> None:
    """Run computations side by side, each in a new thread, and wait for their end. Ctrl-C ends the wait at once.

    Parameters
    ----------
    *computations : iterables
        As a rule calls of generators, which yield between steps of at most some tenths of a second. The frame of a
        generator holds references to all that a step reads and writes. After Ctrl-C, or an error in one computation,
        each thread ends with its present step, and its results are dropped. If no thread can be started, the
        computation runs in this one.

    Examples
    --------
    >>> squares = []
    >>> run_apart(squares.append(x * x) for x in range(4))
    >>> squares
    [0, 1, 4, 9]
    """
    ended, is_left = SimpleQueue[BaseException | None](), False

    def work(computation: Iterable[Any]) -> None:
        error: BaseException | None = None
        try:
            for _ in computation:
                if is_left:
                    break
        except BaseException as raised:
            error = raised
        ended.put(error)

    try:
        for computation in computations:
            # This is no daemon thread, because Python would stop a daemon thread at the end of the process, even within
            # code of another library.
            try:
                Thread(target=work, args=(computation,), name="gasla", daemon=False).start()
            except (RuntimeError, MemoryError):  # raised if the system can't start a new thread
                work(computation)
        for _ in computations:
            if (error := _next(ended)) is not None:
                raise error
    finally:
        is_left = True


def call_apart(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a new thread, and return its result. Ctrl-C ends the wait at once, and drops the result.

    Examples
    --------
    >>> call_apart(divmod, 7, 2)
    (3, 1)
    """
    results: list[Result] = []

    def computation() -> Iterator[None]:
        results.append(function(*arguments))
        yield

    run_apart(computation())
    return results[0]


def _next(ended: "SimpleQueue[BaseException | None]") -> BaseException | None:
    """Wait until the next of the threads that run computations has ended. Return the error that it ended with, or None.

    Once CUDA is loaded, Ctrl-C does not interrupt a wait without a timeout, so this waits for a tenth of a second at a
    time.
    """
    while True:
        with suppress(Empty):
            return ended.get(timeout=0.1)
