"""`networkx_report`: which calls of NetworkX ran on gasla and which on NetworkX, how long they took, and why.

Calls that gasla runs or declines are always counted, by the hooks of the backend. NetworkX's own runs have no hook, so
they are measured from the first call of `networkx_report` on, by a wrapper around each of NetworkX's functions.
"""

import atexit
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from time import perf_counter
from typing import Any, NamedTuple

from gasla.log import LOG

GASLA, NETWORKX = "gasla", "networkx"
CONVERSION = "(conversion)"


class Call(NamedTuple):
    """The calls of one NetworkX function that one library ran for one reason."""

    function: str  # name in NetworkX, or "(conversion)" for conversions of graphs
    ran_on: str  # the library that ran the calls, "gasla" or "networkx"
    calls: int
    # seconds without those of other NetworkX functions that the calls made, or None if time was not measured
    seconds: float | None
    reason: str  # why gasla did not run the calls, or "" if it did


class Report:
    """The calls of NetworkX until now, which print as a table. The report grows while the program runs."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], list[Any]] = {}
        self._lock = threading.Lock()
        self._local = threading.local()
        self._measures = False

    @property
    def calls(self) -> list[Call]:
        """The calls until now as a list of `Call`, the slowest first."""
        with self._lock:
            result = [Call(name, where, count, took, why) for (name, where, why), (count, took) in self._counts.items()]
        return sorted(result, key=lambda call: (-(call.seconds or 0), -call.calls, call.function))

    def clear(self) -> None:
        """Forget the calls until now."""
        with self._lock:
            self._counts.clear()

    def __repr__(self) -> str:
        rows = [("function", "ran on", "calls", "seconds", "why not on gasla")]
        for name, where, calls, seconds, why in self.calls:
            rows.append((name, where, f"{calls:,}", "?" if seconds is None else f"{seconds:.3f}", why))
        if len(rows) == 1:
            return "no call of NetworkX has reached gasla; expected NETWORKX_BACKEND_PRIORITY=gasla, or backend='gasla'"
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = [
            f"{name:{widths[0]}}  {where:{widths[1]}}  {calls:>{widths[2]}}  {seconds:>{widths[3]}}  {why}".rstrip()
            for name, where, calls, seconds, why in rows
        ]
        if any(call.seconds is None for call in self.calls):
            lines.append("? not measured: call gasla.networkx_report() first, or set GASLA_NETWORKX_REPORT=1")
        return "\n".join(lines)

    # --- methods that the functions of the NetworkX backend call
    # ----------------------------------------------------------

    def add(self, name: str, where: str, seconds: float | None, why: str = "") -> None:
        """Count one call of a function that the library `where` ran. `why` is the reason if that is not gasla."""
        with self._lock:
            count = self._counts.setdefault((name, where, why), [0, None if seconds is None else 0.0])
            count[0] += 1
            if seconds is not None:
                count[1] = (count[1] or 0.0) + seconds

    def decline(self, name: str, why: str) -> None:
        """Record that NetworkX is going to run a call of the function `name`, and the reason why gasla does not."""
        LOG.debug("networkx.%s runs on NetworkX: %s", name, why)
        if self._measures:
            self._reasons()[name] = why
        else:
            self.add(name, NETWORKX, None, why)

    def _reasons(self) -> dict[str, str]:
        reasons: dict[str, str] = self._local.__dict__.setdefault("reasons", {})
        return reasons

    @contextmanager
    def measuring(self, name: str, where: str, why: str = "") -> Iterator[None]:
        """Count one call of the function `name`, and measure the time of a `with` block as the time of the call.

        The time of other calls that are measured within the block is subtracted, so that times of all calls add up.
        """
        inner: list[float] = self._local.__dict__.setdefault("inner", [])
        inner.append(0.0)
        start = perf_counter()
        try:
            yield
        finally:
            elapsed, inner_time = perf_counter() - start, inner.pop()
            if inner:
                inner[-1] += elapsed
            self.add(name, where, max(0.0, elapsed - inner_time), why)

    def measure_networkx(self) -> None:
        """Measure the calls that NetworkX itself runs from now on, by replacing NetworkX's functions by wrappers."""
        if self._measures:
            return
        try:
            from networkx.utils import backends
        except ImportError:
            raise ImportError("networkx_report needs NetworkX: pip install 'gasla[networkx]'") from None

        self._measures = True
        for name, function in getattr(backends, "_registered_algorithms", {}).items():
            # Functions with such names are constructors of graphs, which are not measured.
            if name.endswith("__new__"):
                continue
            # the object through which NetworkX chooses a backend for a call of the function
            dispatcher = function.__wrapped__
            dispatcher.orig_func = self._wrap_function(name, dispatcher)

    def _wrap_function(self, name: str, dispatcher: Any) -> Callable[..., Any]:
        run, default_reason = (
            dispatcher.orig_func,
            "gasla was not asked" if GASLA in dispatcher.backends else "not offered",
        )
        if GASLA in dispatcher.backends and getattr(dispatcher, "_returns_graph", False):
            default_reason = f"{default_reason}: it returns a graph, set NETWORKX_BACKEND_PRIORITY_GENERATORS=gasla"

        @wraps(run)
        def measured(*args: Any, **kwargs: Any) -> Any:
            with self.measuring(name, NETWORKX, self._reasons().pop(name, default_reason)):
                return run(*args, **kwargs)

        return measured


REPORT = Report()


def networkx_report() -> Report:
    """Say which of NetworkX's functions ran on gasla and which on NetworkX, how long they took, and why.

    Returns
    -------
    Report
        `calls` is a list of named tuples (function, ran_on, calls, seconds, reason); the text is a table of them, the
        slowest first. It goes on to grow while the program runs; `clear()` empties it.

    Notes
    -----
    Call it before the program begins, or set the environment variable ``GASLA_NETWORKX_REPORT=1``, which prints the
    table when the program ends: times of NetworkX's own runs are measured from then on, by a function around each of
    NetworkX's functions, which costs about a microsecond a call. Without that, such calls of functions that gasla
    has are counted, with reasons, and not measured. The time of a call does not include other calls of NetworkX's
    functions in it, so times add up; for functions that return iterators, it ends when the iterator is returned.

    Examples
    --------
    >>> import gasla, networkx as nx
    >>> report = gasla.networkx_report()
    >>> _ = nx.pagerank(nx.path_graph(5), backend="gasla")
    >>> ("pagerank", "gasla") in [(call.function, call.ran_on) for call in report.calls]
    True
    """
    REPORT.measure_networkx()
    return REPORT


def print_at_exit() -> None:
    """Print the report of calls when the program ends, if the environment variable GASLA_NETWORKX_REPORT is set."""
    if os.environ.get("GASLA_NETWORKX_REPORT", "0") not in ("", "0"):
        networkx_report()
        atexit.register(lambda: print(REPORT, file=sys.stderr))
