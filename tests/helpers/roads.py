"""The roads on which a graph can come: plain, over ranks, mapped from a file, on a GPU; and whether calls end alike."""

from __future__ import annotations

import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import gasla
from gasla import distributed
from gasla.arrays import moved

SECONDS = 60  # after which a call that waits counts as one that doesn't end


FILES: list[tempfile.TemporaryDirectory[str]] = []  # of mapped graphs, until the process ends


def _mapped(graph: gasla.Graph) -> gasla.Graph:
    FILES.append(tempfile.TemporaryDirectory())
    path = Path(FILES[-1].name) / "graph.gasla"
    gasla.io.write(path, graph)
    return gasla.io.open(path)


ROADS: dict[str, Callable[[gasla.Graph], Any]] = {
    "one rank": lambda graph: distributed.Graph.from_graph(graph, distributed.ThreadRanks(1)),
    "ranks": lambda graph: distributed.Graph.from_graph(graph, distributed.ThreadRanks(3)),
    "mapped": _mapped,
    "gpu": lambda graph: graph.to("gpu"),
    "streamed": lambda graph: gasla.Graph(graph, device="gpu", stream=True),
}


def by_rows(graph: gasla.Graph) -> gasla.Graph:
    """The graph with its edges in the order in which files have them, so that edges have the same numbers."""
    src, dst = graph.edges()
    order = np.lexsort((dst, src))
    values = None if graph.values is None else graph.values[order]
    found = gasla.Graph.from_edges(src[order], dst[order], values, n=graph.n)
    found.naming = graph.naming
    return found.with_edge_attributes({name: column[order] for name, column in graph.edge_attributes.items()})


@contextmanager
def ending() -> Iterator[None]:
    """TimeoutError in place of a call that waits for ever."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"no end after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def end_of(call: Callable[[Any], Any], graph: Any) -> tuple[str, Any]:
    """The error of a call, as text; or "", and its answer."""
    with ending(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return "", call(graph)
        except TimeoutError:
            raise
        except Exception as error:
            return f"{type(error).__name__}: {error}", None


def difference(expected: Any, found: Any) -> str:
    """In what two answers differ, beyond the last bits of floats; or ""."""
    if isinstance(expected, tuple | list):
        if len(expected) != len(found):
            return f"{len(expected)} parts against {len(found)}"
        return next(filter(None, map(difference, expected, found)), "")
    if isinstance(expected, str | int | float | bool | None):
        expected, found = np.asarray(expected), np.asarray(found)
    if not hasattr(expected, "dtype"):
        return ""  # a graph, or a result
    found = np.asarray(moved(found.compute() if hasattr(found, "compute") else found, "cpu"))
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return f"{expected.dtype}{expected.shape} against {found.dtype}{found.shape}"
    exact = expected.dtype.kind != "f"
    same = np.array_equal(found, expected) if exact else np.allclose(found, expected, 1e-6, 1e-9, equal_nan=True)
    return "" if same else f"{expected.tolist()} against {found.tolist()}"
