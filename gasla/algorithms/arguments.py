"""Checks of arguments that several algorithms take."""

import operator
from typing import Any

import numpy as np

from gasla.graph import Graph


def source_vertex(graph: Graph, source: Any) -> int:
    """`source` as the id of a vertex of `graph`."""
    try:
        vertex = operator.index(source)
    except TypeError:
        raise TypeError(f"source is {source!r}; expected the id of a vertex, an integer") from None
    if not 0 <= vertex < graph.n:
        raise ValueError(f"source {vertex} is outside a graph of {graph.n} vertices")
    return vertex


def check_weights(graph: Graph, least: float = -np.inf, *, positive: bool = False) -> bool:
    """Refuse NaN, minus infinity and weights below `least` (or not positive); says whether any weight is negative."""
    values, bounds = graph.values, graph.value_range
    if values is None or bounds is None or values.dtype.kind == "b":
        return False
    smallest = bounds[0].item()  # NaN if there is any, of which nothing is true
    if not (smallest > -np.inf and smallest >= least) or (positive and smallest <= 0):
        bad = (values != values) | (values <= -np.inf) | (values < least) | (values <= 0 if positive else False)
        edge = int(bad.argmax())
        wanted = "a positive number" if positive else "a number, 0 or more" if least == 0 else "a number"
        raise ValueError(f"the weight of edge {edge} is {values[edge].item()}; expected {wanted}")
    return smallest < 0


def float_type(graph: Graph) -> np.dtype:
    """The type for sums of edge values: that of floating-point values themselves, else float64."""
    kind = None if graph.values is None else graph.values.dtype
    return kind if kind is not None and kind.kind == "f" else np.dtype(np.float64)
