"""Checks of arguments that several functions take."""

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from gasla.arrays import array_module, module_of, moved
from gasla.graph.graph import Graph

NO_LIMIT = 2**62  # of iterations


def source_vertex(graph: Graph, source: Any, name: str = "source") -> int:
    """`source` as the id of a vertex of `graph`; `name` is what an error calls it."""
    try:
        vertex = operator.index(source)
    except TypeError:
        named = f": graph.vertex({source!r}) gives that of a name" if isinstance(source, str) else ""
        raise TypeError(f"{name} is {source!r}; expected the id of a vertex, an integer{named}") from None
    if not 0 <= vertex < graph.n:
        raise ValueError(f"{name} {vertex} is outside a graph of {graph.n} vertices")
    return vertex


def chosen_sources(graph: Graph, sources: Iterable[int] | None, k: int | None, seed: Any) -> list[int]:
    """The vertices that were named, each once; or `k` drawn by lot, in ascending order; or all of them."""
    if sources is not None and k is not None:
        raise ValueError("sources and k were both given; expected one of them")
    if sources is not None:
        chosen = [source_vertex(graph, s) for s in sources]
        if len(set(chosen)) != len(chosen):
            raise ValueError("a vertex appears twice among the sources; expected each once")
        return chosen
    if k is None:
        return list(range(graph.n))
    if not 0 < whole_number("k", k) <= graph.n:
        raise ValueError(f"k is {k}; expected 1 to {graph.n}, the number of vertices")
    return sorted(np.random.default_rng(seed).choice(graph.n, k, replace=False).tolist())


def whole_number(name: str, given: Any) -> int:
    """An argument that counts something."""
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{name} is {given!r}; expected a whole number") from None
    if number < 0:
        raise ValueError(f"{name} is {number}; expected 0 or more")
    return number


def most_iterations(name: str, given: Any) -> int:
    """An argument that limits the iterations of a run."""
    return min(whole_number(name, given), NO_LIMIT)


def check_weights(graph: Graph, *, positive: bool = False, shares: bool = False) -> bool:
    """Refuse NaN and minus infinity; or what is not positive, or no share of a sum. Says whether any is negative.

    On a GPU it looks anew in each call; on the CPU whoever calls has noticed whether values have changed.
    """
    values = graph.values
    if values is None or len(values) == 0 or values.dtype.kind == "b" or (values.dtype.kind == "u" and not positive):
        return False
    known = graph.value_range if graph.device == "cpu" else None
    smallest = (known[0] if known else values.min()).item()  # NaN if there is any, of which nothing is true
    largest = (known[1] if known else values.max()).item() if shares else 0
    if not (smallest > 0 if positive else smallest >= 0 and largest < np.inf if shares else smallest > -np.inf):
        bad = values <= 0 if positive else (values < 0) | (values >= np.inf) if shares else values <= -np.inf
        edge = int((bad | (values != values)).argmax())
        wanted = "a positive number" if positive else "a finite number, 0 or more" if shares else "a number"
        raise ValueError(f"the weight of edge {edge} is {values[edge].item()}; expected {wanted}")
    return bool(smallest < 0)


def has_negative(graph: Graph) -> bool:
    """`check_weights`, in a call that has noticed whether values have changed: if they haven't, that is known."""
    return graph.kept("negative", check_weights) if graph.device == "cpu" else check_weights(graph)


def float_type(graph: Graph) -> np.dtype:
    """The type for sums of edge values: that of floating-point values themselves, else float64."""
    kind = None if graph.values is None else graph.values.dtype
    return kind if kind is not None and kind.kind == "f" else np.dtype(np.float64)


def score_type(weights: np.dtype | None, dtype: Any) -> np.dtype:
    """The type of scores: the one asked for, else that of the weights if they are used and floats, else float64."""
    if dtype is None:
        return weights if weights is not None and weights.kind == "f" else np.dtype(np.float64)
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype is {kind}; expected float32 or float64")
    return kind


def vertex_numbers(graph: Graph, name: str, given: Any, *, least: float = -np.inf) -> Any:
    """An array of a finite number for each vertex, or a dict of vertex to number with 0 for all others; as float64."""
    if isinstance(given, dict):
        numbers = np.zeros(graph.n)
        for v, x in given.items():
            if not 0 <= v < graph.n:
                raise ValueError(f"{name} names vertex {v}, outside a graph of {graph.n} vertices")
            numbers[v] = x
    else:
        numbers = given if array_module(given) is not np else np.asarray(given)
    numbers = moved(numbers, graph.device).astype(np.float64, copy=False)
    if numbers.shape != (graph.n,):
        raise ValueError(f"{name} has shape {numbers.shape}; expected ({graph.n},), one number a vertex")
    bad = ~((numbers >= least) & (abs(numbers) < np.inf))
    if bool(bad.any()):
        v, wanted = int(bad.argmax()), "a finite number" + (f", {least:g} or more" if least > -np.inf else "")
        raise ValueError(f"{name} of vertex {v} is {numbers[v].item()}; expected {wanted}")
    return numbers


def new_edges(graph: Graph) -> tuple[Any, Any]:
    """The ends of a graph's new edges, where `start` holds what was so without them."""
    change = graph.change
    if change is None:
        raise ValueError(
            "start goes on where edges are new, and this graph was not changed from another; expected the graph that "
            "before.changed(insert=...) gives"
        )
    if len(change.removed):
        raise ValueError(
            f"start can't go on where edges were removed, here {len(change.removed)}: nobody knows what led through "
            "them; leave it out"
        )
    return change.src, change.dst


def known_before(graph: Graph, name: str, given: Any, kind: np.dtype[Any]) -> Any:
    """An array of what was known of each vertex, as it is."""
    xp = module_of(graph.device)
    if not isinstance(given, xp.ndarray) or given.shape != (graph.n,) or given.dtype != kind:
        is_array = hasattr(given, "dtype") and hasattr(given, "shape")
        found = f"{type(given).__module__} {given.dtype}{given.shape}" if is_array else type(given).__name__
        raise TypeError(
            f"{name} is {found}; expected a {xp.__name__} array of {graph.n} {kind}, as this returned before"
        )
    return given


def check_source(name: str, given: Any, source: int) -> None:
    """Refuse what was found from another source, as far as that shows."""
    if (found := given[source].item()) != 0:
        raise ValueError(f"{name} has {found} at the source {source}; expected 0: it is of another source")
