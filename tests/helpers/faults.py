"""A disk that fails at the k-th call, a small module to compile, and processes that are killed: for the fault tests.

Run as a program it is one of those processes: ``python -m tests.helpers.faults FUNCTION FOLDER ARGUMENT``.
"""

from __future__ import annotations

import errno
import io as std
import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gasla import cache, datasets, io, output
from gasla.cpu.runtime import modules
from tests.helpers import ROOT

GRID = datasets.grid(4)


class Full(std.FileIO):
    """A file on a disk that writes less than it is asked to, and at some call nothing."""

    step: Callable[[], None] = staticmethod(lambda: None)

    def write(self, data: Any) -> int:
        self.step()
        return super().write(memoryview(data)[:3000])

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.step()  # some file systems find out only now


class Disk:
    """Counts what `gasla.output` asks of the system, and fails at the k-th time: then only, or from then on."""

    def __init__(self, patch: pytest.MonkeyPatch, k: int, stays: bool) -> None:
        self.k, self.stays, self.count = k, stays, 0
        patch.setattr(output, "open", self.open, raising=False)
        for name in ("fsync", "replace"):
            patch.setattr(os, name, self.failing(getattr(os, name)))

    @property
    def has_failed(self) -> bool:
        return self.count >= self.k

    def step(self) -> None:
        self.count += 1
        if self.count == self.k or (self.stays and self.count > self.k):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def failing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.step()
            return function(*arguments)

        return call

    def open(self, path: Path, mode: str, opener: Any = None) -> Any:
        self.step()
        raw = Full(path, mode, opener=opener)
        raw.step = self.step  # type: ignore[method-assign]
        return std.BufferedWriter(raw)


def disks(step: int = 1) -> Iterator[Disk]:
    """A disk for each call that can fail (or each so many), until none does any more."""
    for stays in (True, False):
        for k in itertools.count(1, step):
            with pytest.MonkeyPatch.context() as patch:
                disk = Disk(patch, k, stays)
                yield disk
            if not disk.has_failed:
                assert k > 4  # open, write, close, replace: they were counted
                break


# --- a cache ---------------------------------------------------------------------------------------------------------

SOURCE = """
from gasla.compiler.function import compiled

@compiled
def half(x):
    return x / 2

@compiled
def f(x):
    return half(x) + {nonce}
"""


def call(nonce: int, tag: str = "fault") -> tuple[int, int]:
    """As a new process would: load a module, call its function for two types; how much was found, and was compiled."""
    module = modules.load(SOURCE.format(nonce=nonce), tag)
    assert module.f(10) == 5 + nonce and module.f(9.0) == 4.5 + nonce
    sys.modules.pop(module.__name__)
    return 2 - module.f.made, module.f.made


def entries(folder: Path) -> list[Path]:
    """The files of a cache, but what was being written when a process was killed."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".tmp")


def stored(path: Path, folder: Path) -> bytes | None:
    return cache.load(str(path.relative_to(folder)))


def all_are_whole(folder: Path) -> bool:
    return all(stored(path, folder) is not None for path in entries(folder))


# --- processes -------------------------------------------------------------------------------------------------------


def process(
    name: str, folder: Path, argument: int = 0, head: tuple[str, ...] = (), **environment: Any
) -> tuple[int, str, str]:
    """Run a function below in a process of its own, with a cache in the folder: exit code, output and errors."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    settings = {**os.environ, "PYTHONPATH": path, "GASLA_CACHE_DIR": str(folder / "cache"), **environment}
    command = [*head, sys.executable, "-m", "tests.helpers.faults", name, str(folder), str(argument)]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=1200)
    return done.returncode, done.stdout, done.stderr


def print_calls(folder: Path, nonce: int) -> None:
    print(*call(nonce))


def fill_disk(folder: Path, _: int) -> None:
    """On a file system of 128 kB: outputs that don't fit, and a cache when there is no room at all."""
    io.write(folder / "a.mtx", GRID)
    before = (folder / "a.mtx").read_bytes()
    for name in ("a.mtx", "b.npz", "c.txt.gz"):
        with pytest.raises(OSError, match="No space left on device") as error:
            io.write(folder / name, datasets.grid(16))
        assert error.value.filename == str(folder / name)
    assert os.listdir(folder) == ["a.mtx"] and (folder / "a.mtx").read_bytes() == before
    with open(folder / "rest", "wb", buffering=0) as rest, suppress(OSError):
        while rest.write(bytes(512)):
            pass
    call(1)
    assert entries(folder / "cache") == []
    (folder / "rest").unlink()
    call(1)
    assert call(1) == (2, 0) and all_are_whole(folder / "cache")


def kill_often(folder: Path, rounds: int) -> None:
    """Kill at random moments who compiles into a cache and who writes files, and look at what is there."""
    rng = random.Random(rounds)
    for turn in range(rounds):
        for work in (_compiles, _writes):
            child = _fork(work, folder, turn)
            time.sleep(rng.uniform(0, 0.4))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        assert os.waitpid(_fork(_looks, folder, turn), 0)[1] == 0


def _fork(work: Callable[[Path, int], None], *arguments: Any) -> int:
    """A process that does some work, which is to end, or to be killed."""
    child = os.fork()
    if child == 0:
        try:
            work(*arguments)
        except BaseException as error:
            print(work.__name__, repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return child


def _compiles(folder: Path, turn: int) -> None:
    for nonce in range(100 * turn, 100 * turn + 100):
        call(nonce)


FORMS = [(name, datasets.grid(scale)) for scale in (4, 6) for name in ("a.mtx", "b.npz", "c.gr.gz")]


def _writes(folder: Path, turn: int) -> None:
    for name, grid in itertools.cycle(FORMS):
        io.write(folder / name, grid)


def _looks(folder: Path, turn: int) -> None:
    assert all_are_whole(folder / "cache")
    call(100 * turn)
    assert call(100 * turn) == (2, 0)
    for name, _ in FORMS:
        if (folder / name).exists():
            found = io.read(folder / name)
            assert any(found.shape == grid.shape and (found != grid).nnz == 0 for _, grid in FORMS)


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
