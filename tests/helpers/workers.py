"""Work in another process, with a time limit: what hangs or crashes there is a failed test here.

It says which work it was. The process serves many tasks; after one that did not return, the next gets a new process.
"""

import contextlib
import multiprocessing
import os
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable
from typing import Any


def _serve(pipe: Any, cache: str) -> None:
    os.setsid()  # what it starts ends with it
    os.environ["GASLA_CACHE_DIR"] = cache
    while True:
        function, arguments = pipe.recv()
        try:
            pipe.send((True, function(*arguments)))
        except BaseException:
            pipe.send((False, traceback.format_exc()))


class Worker:
    """A process that calls functions. What it generates lies in a folder of its own, which goes with it."""

    def __init__(self, seconds: float, tasks: int = 50) -> None:
        self.seconds, self.tasks = seconds, tasks  # of a task at most; in a process, which keeps what it has compiled
        self._process: Any = None

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function gives; an AssertionError if it raises anything, ends the process, or doesn't end."""
        if self._process is None:
            self._begin()
        self._pipe.send((function, arguments))
        self._left -= 1
        try:
            if not self._pipe.poll(self.seconds):
                self.close()
                raise AssertionError(f"not ended after {self.seconds} s: {arguments}")
            done, value = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            code = self._process.exitcode
            self.close()
            raise AssertionError(f"the process ended with {code}: {arguments}") from None
        if not done:
            raise AssertionError(f"{value}\n{arguments}")
        if self._left <= 0:
            self.close()
        return value

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._cache, self._left = tempfile.mkdtemp(), self.tasks
        self._process = context.Process(target=_serve, args=(other, self._cache), daemon=True)
        self._process.start()
        other.close()

    def close(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()  # if it had not got so far
            self._process.join()
            self._pipe.close()
            shutil.rmtree(self._cache, ignore_errors=True)
            self._process = None
