"""What gasla writes to the log "gasla", at which level, and that calls which compile nothing write nothing."""

import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from scipy import sparse

import gasla
from gasla import cache, csgraph
from gasla.cpu.runtime import cores, threads, workers
from gasla.log import LOG

LINE = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0])
STAR = gasla.Graph.from_edges([0, 0, 0, 0], [1, 2, 3, 4])
FRESH = """
import logging, sys
import gasla
{setting}
print(gasla.bfs(gasla.Graph.from_edges([0, 1], [1, 2]), 0).tolist())
"""


def in_a_fresh_process(folder: Path, setting: str = "", **variables: str) -> tuple[str, list[str]]:
    """What a first search with nothing compiled prints, and the lines of its log or of its standard error."""
    environment = {**os.environ, "GASLA_CACHE_DIR": str(folder), **variables}
    command = [sys.executable, "-W", "error", "-c", FRESH.format(setting=setting)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    return done.stdout, done.stderr.splitlines()


def test_a_compilation_is_worth_a_line_at_debug(tmp_path: Path) -> None:
    setting = "logging.basicConfig(level=logging.{}, format='%(name)s %(levelname)s %(message)s')"
    printed, lines = in_a_fresh_process(tmp_path / "a", setting.format("DEBUG"))
    assert printed == "[0, 1, 2]\n"
    compiled = [line for line in lines if re.fullmatch(r"gasla DEBUG compiled \S+ in \d+\.\d{3} s", line)]
    assert compiled and compiled == [line for line in lines if line.startswith("gasla ")]
    assert in_a_fresh_process(tmp_path / "a", setting.format("DEBUG")) == ("[0, 1, 2]\n", [])  # all is stored
    assert in_a_fresh_process(tmp_path / "b", setting.format("INFO")) == ("[0, 1, 2]\n", [])


CALLING = """
import faulthandler
faulthandler.dump_traceback_later(60, exit=True)
class Calling(logging.Handler):
    calls = 0
    def emit(self, record):
        self.calls += 1
        if self.calls == 1:
            gasla.mxv(gasla.Graph.from_edges([0, 1], [1, 0], [1.0, 2.0]), [1.0, 2.0])
        print("heard" if "{word}" in record.getMessage() else record.getMessage())
logging.getLogger("gasla").setLevel("{level}")
logging.getLogger("gasla").addHandler(Calling())
"""


def test_a_handler_may_call_gasla(tmp_path: Path) -> None:
    """It hears of a compilation, or of damaged code, when other code can be compiled."""
    printed, lines = in_a_fresh_process(tmp_path, CALLING.format(word="compiled", level="DEBUG"))
    assert set(printed.splitlines()) == {"heard", "[0, 1, 2]"} and not lines
    for path in tmp_path.glob("kernels/*"):
        path.write_bytes(b"nonsense")
    printed, lines = in_a_fresh_process(tmp_path, CALLING.format(word="damaged", level="WARNING"))
    assert set(printed.splitlines()) == {"heard", "[0, 1, 2]"} and not lines


def test_a_program_without_logging_sees_nothing(tmp_path: Path) -> None:
    """Not even what is logged as a warning, as of a cache that is a file."""
    (tmp_path / "file").write_text("")
    assert in_a_fresh_process(tmp_path / "file") == ("[0, 1, 2]\n", [])


def test_a_cache_that_cannot_be_written_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path / "file"))
    for name in ("a", "b"):
        cache.store(name, b"code")
    (record,) = caplog.records
    assert record.name == "gasla" and record.levelno == logging.WARNING
    assert f"can't be stored in {tmp_path / 'file'} (File exists)" in record.getMessage()
    assert cache.load("a") is None


def test_a_damaged_file_of_the_cache_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path))
    cache.store("a", b"code")
    assert cache.load("a") == b"code" and not caplog.records
    (tmp_path / "a").write_bytes(b"nonsense")
    assert cache.load("a") is None
    assert caplog.messages == [f"{tmp_path / 'a'} is damaged, so it counts as absent"]


def test_fewer_threads_than_asked_for_are_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(threads, "_limit", [1])
    monkeypatch.setattr(cores, "usable", lambda: 3)
    caplog.set_level(logging.DEBUG, "gasla")
    for count in (1, 3, workers.MOST):
        gasla.set_num_threads(count)
    assert not caplog.records
    gasla.set_num_threads(5)
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert record.getMessage().startswith("5 threads are asked for; runs use 3")


def test_threads_that_cannot_be_started_are_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(worker: workers.Worker) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers, "pool", np.zeros_like(workers.pool))
    monkeypatch.setattr(workers, "_workers", [])
    monkeypatch.setattr(workers, "mailboxes", np.zeros_like(workers.mailboxes))
    monkeypatch.setattr(workers, "most_started", [workers.MOST])
    monkeypatch.setattr(workers.Worker, "begin", refuse)
    with pytest.warns(RuntimeWarning, match="uses 1 thread instead of 3"):
        assert workers.start_workers(3) == 1
    (record,) = caplog.records
    assert record.levelno == logging.WARNING and "uses 1 thread instead of 3" in record.getMessage()


def test_calls_of_other_libraries_are_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "gasla")
    csgraph.floyd_warshall(sparse.csr_array(np.eye(3, k=1)))
    assert caplog.messages == ["csgraph.floyd_warshall runs on SciPy: passed through"]
    caplog.clear()
    nx = pytest.importorskip("networkx")
    from gasla.backends import networkx as backend

    assert backend.can_run("core_number", (nx.Graph(), 1, 2, 3), {}) != True  # noqa: E712 - or a reason
    (message,) = caplog.messages
    assert message.startswith("networkx.core_number runs on NetworkX: ")


def test_calls_that_compile_nothing_log_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a question whether anyone listens, so that it costs nothing."""
    calls = [
        lambda: gasla.bfs(LINE, 0),
        lambda: gasla.sssp(LINE, 0),
        lambda: gasla.pagerank(LINE).ranks,
        lambda: gasla.connected_components(LINE).labels,
        lambda: gasla.mxv(LINE, np.ones(4)),
    ]
    for call in calls:
        call()
    log = MagicMock(spec=LOG)
    for module in [each for name, each in sys.modules.items() if name.startswith("gasla.")]:
        if vars(module).get("LOG") is LOG:
            monkeypatch.setattr(module, "LOG", log)
    for call in calls:
        call()
    assert log.mock_calls == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: gasla.pagerank(LINE, max_iter=1),
        lambda: gasla.pagerank(LINE, max_iter=1, weight="weight"),
        lambda: gasla.hits(LINE, max_iter=1),
        lambda: gasla.katz_centrality(LINE, max_iter=1),
        lambda: gasla.eigenvector_centrality(gasla.Graph.from_edges([0, 1, 2, 0], [1, 2, 0, 2]), max_iter=1),
        lambda: gasla.top_k_pagerank(LINE, [0], 2, max_iter=1),
        lambda: gasla.geolocate(STAR, [[np.nan, np.nan], [0, 0], [0, 1], [0, 50], [7, 9]], max_iter=1),
    ],
)
def test_warnings_name_the_line_that_called(call: Callable[[], Any]) -> None:
    with pytest.warns(gasla.ConvergenceWarning) as warned:
        call()
    assert {warning.filename for warning in warned} == {__file__}
