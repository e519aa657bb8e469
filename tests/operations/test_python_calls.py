"""A warm call of an algorithm makes few Python calls: on small graphs they take longer than the computation."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import gasla
from gasla.datasets import openflights

PACKAGE = str(Path(gasla.__file__).parent)


def python_calls(function: Callable[[], Any]) -> list[str]:
    """The functions of gasla that a call of `function` calls in this thread, once all is compiled and cached."""
    function(), function()
    called: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            called.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return called


@pytest.mark.parametrize(
    ("name", "call", "most"),
    [
        ("a search", lambda _, graph: gasla.bfs(graph, 0), 44),
        ("a search in a SciPy array", lambda matrix, _: gasla.bfs(matrix, 0), 240),
        ("PageRank", lambda _, graph: gasla.pagerank(graph), 104),
        ("shortest paths", lambda _, graph: gasla.sssp(graph, 0), 64),
        ("components", lambda _, graph: gasla.connected_components(graph), 33),
    ],
)
def test_a_warm_call_makes_few_python_calls(name: str, call: Callable[[Any, Any], Any], most: int) -> None:
    matrix = openflights().matrix
    graph = gasla.Graph(matrix)
    called = python_calls(lambda: call(matrix, graph))
    assert 10 < len(called) < most, f"{name}: {len(called)} calls: {called}"
