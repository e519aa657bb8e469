"""Calls of every public function that takes a graph, with each of its options, on graphs of several kinds."""

from __future__ import annotations

import inspect
import itertools
import typing
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

import numpy as np

import gasla
import semirings
from gasla.graph.graph import Graph

N = 24  # vertices: few, as what is compiled does not depend on their number
WEIGHTS = None, np.float64, np.float32, np.int64
TYPES = None, np.float32, np.float64
SEMIRINGS = semirings.plus_times, semirings.plus_second, semirings.min_plus, semirings.max_plus, semirings.any_second


def graphs() -> Iterator[Graph]:
    """Symmetric graphs, and ones that are not, of each type of weights; some have loops and parallel edges."""
    for kind, weights in itertools.product((_symmetric, _directed, _acyclic, _multigraph), WEIGHTS):
        src, dst = kind(np.random.default_rng(1))
        values = None if weights is None else (1 + (src + dst) % 7).astype(weights)  # alike in both directions
        yield Graph.from_edges(src, dst, values, n=N)


def _directed(rng: np.random.Generator) -> Any:
    src, dst = rng.integers(N, size=(2, 4 * N))
    src, dst = np.divmod(np.unique(src * N + dst), N)
    return src[src != dst], dst[src != dst]


def _symmetric(rng: np.random.Generator) -> Any:
    src, dst = _directed(rng)
    return np.divmod(np.unique(np.concatenate([src * N + dst, dst * N + src])), N)


def _acyclic(rng: np.random.Generator) -> Any:
    src, dst = _directed(rng)
    return np.minimum(src, dst), np.maximum(src, dst)


def _multigraph(rng: np.random.Generator) -> Any:
    return rng.integers(N // 2, size=(2, 6 * N))


def calls(graph: Graph) -> Iterator[partial[Any]]:
    """Each function on a graph, as it is by default and with each option alone; some refuse the graph."""
    for name in gasla.__all__:
        function = getattr(gasla, name)
        if inspect.isfunction(function) and "graph" in inspect.signature(function).parameters:
            for options in _options(function, graph):
                yield partial(function, graph, **options)
    x = np.ones(graph.n, np.float64 if graph.values is None else graph.values.dtype)
    for semiring in SEMIRINGS:
        yield partial(gasla.mxv, graph, x, semiring)
        yield partial(gasla.vxm, x, graph, semiring)
        yield partial(gasla.mxv, graph, x, semiring, mask=x > 0)


def _options(function: Callable[..., Any], graph: Graph) -> Iterator[dict[str, Any]]:
    """What a function is called with beside the graph; nothing if it wants what is not known here."""
    known, hints = _known(graph), typing.get_type_hints(function)
    parameters = [*inspect.signature(function).parameters.values()][1:]
    wanted = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    if not known.keys() >= set(wanted):
        return
    needed = {name: known[name] for name in wanted}
    if any(parameter.name == "max_iter" for parameter in parameters):
        needed["max_iter"] = 3
    yield needed
    few = {parameter.name: [0, 1] for parameter in parameters if parameter.name == "sources"}
    for parameter in parameters:
        values: tuple[Any, ...] = ()
        if type(parameter.default) is bool:
            values = (not parameter.default,)
        elif typing.get_origin(hints[parameter.name]) is Literal:
            values = typing.get_args(hints[parameter.name])
        elif parameter.name == "dtype":
            values = TYPES
        elif parameter.default is None and parameter.name in known:
            values = (known[parameter.name],)
        for value in values:
            yield needed | ({} if parameter.name == "k" else few) | {parameter.name: value}


def _known(graph: Graph) -> dict[str, Any]:
    """Arguments by name."""
    labels = np.arange(graph.n, dtype=graph.id_dtype) % 5
    return {
        "source": 0,
        "target": graph.n - 1,
        "sources": [0, 1, 2, 3],
        "k": 4,
        "pairs": (labels, labels[::-1].copy()),
        "labels": labels,
        "features": np.ones((graph.n, 8), np.float32),
        "starts": labels,
        "ids": labels,
        "length": 4,
        "side": labels < 2,
        "distance": "weight",
        "personalization": np.ones(graph.n),
    }
