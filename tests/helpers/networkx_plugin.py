"""A plugin for pytest: NetworkX's own tests run on gasla, and which calls it took is told.

    NETWORKX_TEST_BACKEND=gasla NETWORKX_FALLBACK_TO_NX=True GASLA_DOOR=counts.json \
        python -m pytest --pyargs networkx -p tests.helpers.networkx_plugin

Every graph is converted, however small; calls that fall back are counted by the reason given.
"""

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import wraps
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from gasla.backends import networkx as door
from gasla.backends.networkx.dispatch import OFFERED, Declined
from gasla.backends.networkx.expected_failures import DIFFERENT
from gasla.backends.networkx_info import get_info

served: Counter[str] = Counter()
fallen: dict[str, Counter[str]] = defaultdict(Counter)
tests: set[str] = set()  # that reach a served call
failed: set[str] = set()  # of those that are expected to fail
now = ""


def _general(reason: str) -> str:
    """A reason without what is particular to the call."""
    return re.sub(r"'[^']*'|\d+(\.\d+)?|\([^()]*\)", "…", reason)


def count_calls(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            found = function(*args, **kwargs)
        except (NotImplementedError, Declined) as refusal:
            if type(refusal) in (NotImplementedError, Declined):
                fallen[name][_general(str(refusal))] += 1
                raise
            note(name)
            raise
        except Exception:
            note(name)
            raise
        note(name)
        return found

    return call


def note(name: str) -> None:
    served[name] += 1
    tests.add(now)


def register() -> None:
    """Tell NetworkX of the backend where its entry points aren't installed."""
    known = nx.utils.backends
    if "gasla" in known.backends:
        return
    known.backends["gasla"] = EntryPoint("gasla", "gasla.backends.networkx", "networkx.backends")
    known.backend_info["gasla"] = get_info()
    known._dispatchable.__call__ = known._dispatchable._call_if_any_backends_installed


def pytest_configure() -> None:
    register()
    for name, offer in OFFERED.items():
        setattr(door, name, count_calls(name, offer.function))
    plain = door.can_run

    def can_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
        found = plain(name, args, kwargs)
        if isinstance(found, str):
            fallen[name][_general(found)] += 1
        return found

    door.can_run = can_run


def pytest_runtest_protocol(item: pytest.Item) -> None:
    global now
    now = item.nodeid


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.skipped and hasattr(report, "wasxfail"):
        file, *_, name = report.nodeid.rpartition("/")[2].split("::")
        if f"{file}::{name}" in DIFFERENT:
            failed.add(f"{file}::{name}")


def pytest_sessionfinish() -> None:
    if "GASLA_DOOR" in os.environ:
        counts = {
            "tests": len(tests),
            "failed as expected": sorted(failed),
            "functions": {name: {"served": served[name], "fallen": dict(fallen[name])} for name in sorted(OFFERED)},
        }
        Path(os.environ["GASLA_DOOR"]).write_text(json.dumps(counts, indent=1), encoding="utf-8")
