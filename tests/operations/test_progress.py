"""Progress bars: they move while work goes on, and are silent in the first second and without a terminal."""

import io
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gasla
from gasla import datasets, progress
from gasla.graph.graph import Graph
from gasla.graph.io.files import open_text
from tests.helpers import programs
from tests.helpers.waiting import wait_until


class Terminal(io.StringIO):
    """Somebody is watching."""

    def isatty(self) -> bool:
        return True

    def counts(self, unit: str) -> list[int]:
        """The numbers of this unit that were shown, one after another."""
        found = re.findall(rf"([\d,]+)(?: of ([\d,]+))? {unit}", self.getvalue())
        assert all(not total or 0 < number(done) <= number(total) for done, total in found)
        return [number(done) for done, _ in found]


def number(text: str) -> int:
    return int(text.replace(",", ""))


def watch(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal in the place of standard error. (A fixture can't: pytest puts its own there afterwards.)"""
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    return found


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw at once, and often."""
    monkeypatch.setattr(progress, "DELAY", 1e-6)
    monkeypatch.setattr(progress, "PERIOD", 1e-3)


def moved(counts: list[int]) -> bool:
    return len(set(counts)) > 2 and counts == sorted(counts)


def test_a_bar_is_drawn_after_a_second_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    with progress.bar("thinking"):
        time.sleep(0.8)
        assert terminal.getvalue() == ""
        time.sleep(0.8)
        assert "thinking, 00:01" in terminal.getvalue()
    assert terminal.getvalue().rpartition("thinking")[2].split("\r", 1)[1].strip() == ""


def test_whether_anybody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where a loop has taken the bar for itself."""
    assert not progress.is_watched()
    with progress.bar("thinking"):
        assert not progress.is_watched()  # no terminal
    watch(monkeypatch)
    with progress.bar("thinking"):
        assert progress.is_watched()
        assert [progress.is_watched() for _ in progress.track([1, 2], "numbers")] == [False, False]
        assert progress.is_watched()


def test_a_bar_is_silent_in_its_first_second(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    with progress.bar("thinking"):
        pass
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("has_kernel", [False, True])
def test_a_notebook_shows_a_bar_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, hasty: None, capsys: pytest.CaptureFixture[str], has_kernel: bool
) -> None:
    shell = SimpleNamespace(**({"kernel": None} if has_kernel else {}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with progress.bar("thinking"):
        time.sleep(0.05)
    assert ("thinking" in capsys.readouterr().err) == has_kernel


def test_without_a_terminal_nobody_looks(hasty: None, capsys: pytest.CaptureFixture[str]) -> None:
    threads = threading.active_count()
    with progress.bar("thinking"):
        assert threading.active_count() == threads
        progress.follow(pytest.fail, "thoughts")
        for _ in progress.track(range(3), "thoughts"):
            time.sleep(0.01)
    assert capsys.readouterr() == ("", "")


@pytest.mark.thorough
def test_a_bar_moves_while_a_program_runs(monkeypatch: pytest.MonkeyPatch, hasty: None) -> None:
    terminal = watch(monkeypatch)

    class Enough(Exception):
        pass

    def look(iterations: int) -> None:
        if moved(terminal.counts("iterations")):
            raise Enough

    n = 300
    ring = Graph.from_edges(np.arange(n), np.roll(np.arange(n), -1), n=n)
    with progress.bar("counting"), pytest.raises(Enough):
        gasla.run(programs.Counter, ring, progress=look)  # for ever


def test_a_loop_hides_what_is_counted_inside(monkeypatch: pytest.MonkeyPatch, hasty: None) -> None:
    terminal = watch(monkeypatch)
    with progress.bar("looping"):
        for step in progress.track(range(4), "steps"):
            progress.follow(lambda: (7, 9), "iterations")
            assert list(progress.track("ab", "letters")) == ["a", "b"]
            wait_until(lambda step=step: not step or step in terminal.counts("steps"))
        progress.follow(lambda: (7, 9), "turns")
        wait_until(lambda: bool(terminal.counts("turns")))
    assert terminal.counts("steps")[-1] in (3, 4)
    assert not terminal.counts("iterations") + terminal.counts("letters")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("unit", "work"),
    [
        ("sources", lambda path, flights: gasla.betweenness_centrality(flights, k=200)),
        ("blocks", lambda path, flights: datasets.rmat(16)),
        ("blocks", lambda path, flights: gasla.io.write(path / "g.mtx.gz", datasets.grid(18))),
    ],
    ids=["betweenness", "generate", "write"],
)
def test_a_bar_moves(
    unit: str, work: Callable[[Path, Any], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hasty: None
) -> None:
    terminal = watch(monkeypatch)
    flights = datasets.openflights().matrix
    with progress.bar("working"):
        work(tmp_path, flights)
    assert len(set(terminal.counts(unit))) > 2


@pytest.mark.parametrize("name", ["graph.mtx", "graph.txt.gz", pytest.param("graph.gr.xz", marks=pytest.mark.thorough)])
def test_a_bar_moves_as_a_file_is_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hasty: None) -> None:
    """Python reads a compressed one in pieces of up to 128 KiB, so each look is at several more of them."""
    terminal, matrix = watch(monkeypatch), datasets.rmat(12).astype(np.int64)
    matrix.data[:] = np.random.default_rng(0).integers(1, 1 << 30, matrix.nnz)  # little to compress
    gasla.io.write(tmp_path / name, matrix)
    with progress.bar("reading"), open_text(tmp_path / name) as stream:
        for looks in (1, 2, 3):
            assert len(stream.read(600_000)) == 600_000
            wait_until(lambda looks=looks: len(set(terminal.counts("bytes"))) >= looks)
    assert moved(terminal.counts("bytes"))


@pytest.mark.parametrize("algorithm", [gasla.connected_components, gasla.triangle_count])
def test_passes_over_all_vertices_are_counted(algorithm: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    followed: list[Callable[[], tuple[int, int]]] = []
    monkeypatch.setattr("gasla.cpu.runtime.blocks.follow", lambda count, unit: followed.append(count))
    algorithm(datasets.rmat(12))
    ends = [count() for count in followed]
    assert all(done == total for done, total in ends)
    assert max(total for _, total in ends) > 10


COMMAND = """
import sys
from gasla import progress
from gasla.cli import main

progress.DELAY, progress.PERIOD = 1e-6, 1e-3
sys.exit(main(["betweenness", "openflights", "-k", "200"]))
"""


@pytest.mark.thorough
def test_a_command_draws_on_a_terminal_alone() -> None:
    termios, pty = pytest.importorskip("termios"), pytest.importorskip("pty")
    piped = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, check=True)
    assert piped.stderr == ""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (40, 100))
    process = subprocess.Popen([sys.executable, "-c", COMMAND], stdout=subprocess.PIPE, stderr=its, text=True)
    os.close(its)
    drawn = b""
    try:
        while data := os.read(ours, 4096):
            drawn += data
    except OSError:  # how Linux tells the end
        pass
    os.close(ours)
    assert process.communicate()[0] == piped.stdout
    found = Terminal(drawn.decode())
    assert moved(found.counts("sources"))
    assert "computing betweenness" in found.getvalue()
