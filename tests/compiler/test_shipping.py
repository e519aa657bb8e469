"""Code that is compiled when gasla is built is found by processes that have compiled nothing."""

import itertools
import os
import platform
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import gasla
from gasla import cache, shipping
from gasla.compiler import system
from gasla.shipping import calls

PROGRAM = """
import sys
import numpy as np
import gasla
from gasla import cache
from gasla.compiler.function import Compiled
from pathlib import Path

cache.SHIPPED = Path(sys.argv[1])
graph = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3], np.ones(3), n=4)
made = []
compile_now = Compiled._compile
Compiled._compile = lambda function, *args: made.append(function.plain.__name__) or compile_now(function, *args)
print(gasla.bfs(graph, 0).tolist(), *made)
"""


# Code of an installed wheel is not stored again.
NOTHING_SHIPPED = """
from pathlib import Path
from gasla import cache, shipping
cache.SHIPPED = Path("nothing")
"""


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one function needs."""
    folder = tmp_path_factory.mktemp("shipped")
    run("-c", f"{NOTHING_SHIPPED}shipping.call('bfs')", cache_folder=folder)
    return folder


def run(*words: str, cache_folder: Path) -> str:
    environment = {**os.environ, "GASLA_CACHE_DIR": str(cache_folder), "GASLA_QUIET": "1"}
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(not shipping.can_ship(), reason="nothing is shipped for this processor")
def test_shipped_code_is_found(shipped: Path, tmp_path: Path) -> None:
    assert run("-c", PROGRAM, str(shipped), cache_folder=tmp_path).split("]") == ["[0, 1, 2, 3", "\n"]
    assert not (tmp_path / "kernels").exists()


@pytest.mark.skipif(not shipping.can_ship(), reason="nothing is shipped for this processor")
def test_code_is_for_every_linux_that_has_what_it_calls(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processor = platform.machine()
    assert shipping.platforms(shipped) == [f"linux_{processor}", f"manylinux_2_17_{processor}"]
    monkeypatch.setitem(system.FUNCTIONS, "linux", system.FUNCTIONS["linux"] - {"usleep"})
    assert shipping.platforms(shipped) == [f"linux_{processor}"]


@pytest.mark.skipif(not shipping.can_ship() or platform.machine() != "x86_64", reason="an older processor by name")
def test_an_older_processor_takes_none_of_the_shipped_code(shipped: Path, tmp_path: Path) -> None:
    """The wheel can be installed there: functions are compiled when they are called, for that processor."""
    older = "from gasla.compiler import function, objects\nold = objects.host()[0], 'nehalem', '+sse4.2,+popcnt'\n"
    older += "function.host = objects.host = lambda: old\nfunction.common = lambda: objects.common.__wrapped__()\n"
    levels, names = run("-c", older + PROGRAM, str(shipped), cache_folder=tmp_path).split("]")
    assert levels == "[0, 1, 2, 3" and "run_loop" in names


FOR_ANOTHER = f"""{NOTHING_SHIPPED}
import sys
shipping.also_for("aarch64", Path(sys.argv[1]))
for name in ("bfs", "edge_softmax(g, np.zeros(g.m))"):
    shipping.call(name)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="compiles for ARM on another processor")
def test_code_for_another_processor_is_shipped(tmp_path: Path) -> None:
    """Where it is called, and finds it, is `tools/try_aarch64.sh`."""
    own, other = tmp_path / "own", tmp_path / "other"
    run("-c", FOR_ANOTHER, str(other), cache_folder=own)
    assert shipping.platforms(other) == ["linux_aarch64", "manylinux_2_17_aarch64"]
    for kind in ("kernels", "programs", "parts"):
        assert len([*own.glob(f"{kind}/*")]) == len([*other.glob(f"{kind}/*")]) > 0
    own_names, other_names = ({path.name for path in folder.glob("*/*")} for folder in (own, other))
    assert not own_names & other_names  # no code for one processor is taken by the other


def test_a_damaged_file_is_compiled_anew(shipped: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    for path in shipped.rglob("*"):
        if path.is_file():
            copy = damaged / path.relative_to(shipped)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes()[:-1] + b"?")
    levels, names = run("-c", PROGRAM, str(damaged), cache_folder=tmp_path / "own").split("]")
    assert levels == "[0, 1, 2, 3" and "run_loop" in names


def test_the_users_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path / "ours"))
    cache.store("a name", b"shipped")
    monkeypatch.setattr(cache, "SHIPPED", tmp_path / "ours")
    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path / "own"))
    assert cache.load("a name") == b"shipped"
    cache.store("a name", b"own")
    assert cache.load("a name") == b"own"


@pytest.mark.thorough
@pytest.mark.parametrize("name", calls.names())
def test_every_call_is_one_that_some_graph_takes(name: str) -> None:
    """A call that all graphs refuse would compile nothing, and say nothing."""
    kinds = calls.small()[:8]
    count = sum(1 for _ in calls.calls(name, kinds[0].graph()))
    assert count
    for number in range(count):
        errors = [error for kind in kinds if (error := refusal(name, kind, number)) is not None]
        assert len(errors) < len(kinds), f"no graph takes call {number} of {name}: {errors[0]}"


def refusal(name: str, kind: calls.Kind, number: int) -> Exception | None:
    """Why a graph is refused, if it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            next(itertools.islice(calls.calls(name, kind.graph()), number, None))()
        except (ValueError, TypeError) as error:
            return error
    return None


def test_every_function_of_a_graph_is_called() -> None:
    takes = {name for name in gasla.__all__ if "graph" in getattr(getattr(gasla, name), "__annotations__", {})}
    called = {name.partition("(")[0] for name in calls.names()}
    takes_program = {"walk", "run", "explain", "workspace", "prepare"}
    assert takes - called == takes_program | {
        "table",
        "draw",
        "loader",
        "minimum_cost_flow",
    }  # which compile nothing of their own
