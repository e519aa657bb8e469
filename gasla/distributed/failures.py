"""Error messages for failures of ranks, which say the rank, its host, and the superstep."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from gasla.distributed.communicator import RankError


class WorkerLost(RankError):
    """A Dask worker that is a rank was lost.

    Attributes
    ----------
    rank : int
    address : str
        Address of the worker.
    superstep : int
        The superstep of the other ranks when they were notified; 0 outside of a run.
    """

    def __init__(self, rank: int, size: int, address: str, superstep: int) -> None:
        super().__init__(f"{place(rank, size, address, superstep)}: the worker was lost")
        self.rank, self.address, self.superstep = rank, address, superstep


def place(rank: int, size: int, host: str, superstep: int) -> str:
    """Return a text for error messages that says on which rank, on which host, and in which superstep something has
    failed.

    Examples
    --------
    >>> place(1, 4, "node7", 17)
    'rank 1 of 4 on node7, superstep 17'
    """
    return f"rank {rank} of {size} on {host}" + (f", superstep {superstep}" if superstep else "")


def describe_failure(where: str, error: BaseException) -> str:
    """Return a line that describes a failure, for the RankErrors that are raised on the other ranks.

    Examples
    --------
    >>> describe_failure("rank 1 of 4 on node7", ValueError("no such source"))
    'rank 1 of 4 on node7 failed: ValueError: no such source'
    """
    text = str(error)
    return f"{where} failed: {type(error).__name__}" + (f": {text}" if text else "")


def note(error: BaseException, where: str) -> None:
    """Add a note to an exception that says on which rank it was raised, unless the exception already has that note.

    Examples
    --------
    >>> error = ValueError("no such source")
    >>> for _ in range(2):
    ...     note(error, "rank 1 of 4 on node7")
    >>> error.__notes__
    ['on rank 1 of 4 on node7']
    """
    text = f"on {where}"
    if text not in getattr(error, "__notes__", ()):
        error.add_note(text)


def raise_first(errors: Mapping[int, BaseException], places: Sequence[str]) -> NoReturn:
    """Raise the exception of the first rank that has failed by itself, and not because another rank has failed.

    A note says which rank raised the exception. There is no note if all ranks have raised the same exception, as for
    invalid arguments.
    """
    failed_ranks = [rank for rank, error in sorted(errors.items()) if not isinstance(error, RankError)]
    rank = failed_ranks[0] if failed_ranks else min(errors)
    error = errors[rank]
    alike = {(type(errors[rank]), str(errors[rank])) for rank in failed_ranks}
    if (len(failed_ranks) < len(places) or len(alike) > 1) and not isinstance(error, RankError):
        # A SystemExit on a rank must not end the calling process, so a RankError is raised in its place.
        if not isinstance(error, Exception):
            raise RankError(describe_failure(places[rank], error)) from error
        note(error, places[rank])
    raise error


class TerminationMessage:
    """A handler for SIGTERM that prints the text that `words()` returns, and then ends the process.

    An MPI launcher that has lost a rank ends the other ranks by SIGTERM. A rank that waits for a message inside MPI
    runs no Python code, so Python's signal handlers don't run. Therefore a thread waits on the signal wakeup file
    descriptor.

    It does nothing outside of the main thread, or if the user has set a handler for SIGTERM.
    """

    def __init__(self, words: Callable[[], str]) -> None:
        self._words = words
        self._ends: tuple[socket.socket, socket.socket] | None = None
        if not _is_main() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            return
        self._ends = reading, writing = socket.socketpair()
        writing.setblocking(False)
        self._before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        # An event loop of the user's program uses the file descriptor for signals, so leave it to that loop.
        if self._before != -1:
            self.forget()
            return
        signal.signal(signal.SIGTERM, self._end)
        if hasattr(os, "register_at_fork"):
            # A child process inherits the file descriptor for signals. Without this, its signals would be reported
            # here.
            os.register_at_fork(after_in_child=self.forget)
        threading.Thread(target=self._listen, args=(reading,), daemon=True).start()

    def _listen(self, reading: socket.socket) -> None:
        with reading:
            while signals := reading.recv(64):
                if signal.SIGTERM in signals:
                    self._end()

    def _end(self, *_: Any) -> None:
        os.write(2, f"{self._words()}\n".encode())
        os._exit(128 + signal.SIGTERM)

    def forget(self) -> None:
        """Restore the handling of SIGTERM that the process had before this object was made."""
        if self._ends is None or not _is_main():
            return
        _, writing = self._ends
        self._ends = None
        signal.set_wakeup_fd(self._before)
        if signal.getsignal(signal.SIGTERM) == self._end:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        writing.close()


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
