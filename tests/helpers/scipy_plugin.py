"""A plugin for pytest: SciPy's own tests of csgraph call gasla's functions, and which calls were handed over is told.

    GASLA_DOOR=counts.json python -m pytest --pyargs scipy.sparse.csgraph -p tests.helpers.scipy_plugin

What would be handed over for no other reason than time is not: otherwise small graphs, which all tests have, would
never be ours.
"""

import json
import os
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import scipy.sparse.csgraph

from gasla import csgraph
from gasla.csgraph import passthrough

OWN = (
    "bellman_ford",
    "connected_components",
    "dijkstra",
    "laplacian",
    "minimum_spanning_tree",
    "shortest_path",
    "yen",
)
calls: Counter[str] = Counter()
handed: dict[str, Counter[str]] = {name: Counter() for name in OWN}


def count_calls(name: str) -> Callable[..., Any]:
    function = getattr(csgraph, name)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        calls[name] += 1
        return function(*args, **kwargs)

    return call


def pytest_configure() -> None:
    plain = passthrough.by_scipy

    def note_reason(name: str, reason: str, *args: Any, **kwargs: Any) -> Any:
        if name in OWN:
            handed[name][reason] += 1
        return plain(name, reason, *args, **kwargs)

    passthrough.by_scipy, passthrough.SPARES_TIME = note_reason, False
    for name in passthrough.SCIPY:
        if name != "NegativeCycleError":
            setattr(scipy.sparse.csgraph, name, count_calls(name))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One test wants SciPy's choice among predecessors that are equally right; `tests/csgraph` checks that ours are.

    That it passes would be a failure: the number of tests that fail is exactly this one.
    """
    for item in items:
        if item.name == "test_predecessors":
            item.add_marker(pytest.mark.xfail(reason="another of several right predecessors", strict=True))


def pytest_sessionfinish() -> None:
    told = {name: {"calls": calls[name], "handed over": dict(handed[name])} for name in OWN}
    Path(os.environ["GASLA_DOOR"]).write_text(json.dumps(told), encoding="utf-8")
