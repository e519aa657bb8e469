"""What walks and samples are given, checked: vertices, seed, and the weight of each edge."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

import semirings
from gasla.arrays import module_of, moved
from gasla.engines import Primitives
from gasla.graph.arguments import TRUE_OR_FALSE, check_weights
from gasla.graph.graph import Graph
from gasla.graph.validate import as_array, for_names

Array = Any  # NumPy's or CuPy's
MOST = 2**31 - 1  # entries of a list, so that shares of 64 bits are exact, and positions are ids


def key_of(seed: Any) -> int:
    """The hash of a seed."""
    try:
        number = index(seed)
    except TypeError:
        number = None
    if number is None or isinstance(seed, TRUE_OR_FALSE):
        raise TypeError(f"seed is {seed!r}; expected a whole number")
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"seed is {number}; expected one of at most 64 bits")
    return int(semirings.hash(np.uint64(number % 2**64)))


def chosen(graph: Graph, name: str, given: Any) -> Array:
    """An array of vertices, of any number, which may repeat, where the graph is."""
    ids = as_array(name, given)
    ids = ids if ids.size else ids.astype(np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TypeError(
            f"{name} is {ids.dtype}{ids.shape}; expected an array of one dimension, of ids of vertices{for_names(ids)}"
        )
    for bad in (int(ids.min()), int(ids.max())) if len(ids) else ():
        if not 0 <= bad < graph.n:
            raise ValueError(f"{name} has vertex {bad}, outside a graph of {graph.n} vertices")
    on: Any = module_of(graph.device)
    return on.ascontiguousarray(moved(ids, graph.device), dtype=graph.id_dtype)


def check_lists(graph: Graph) -> None:
    """Refuse lists of which no position can be drawn."""
    if graph.m > MOST and graph.max_out_degree > MOST:
        raise ValueError(f"a vertex has {graph.max_out_degree} out-edges; expected at most {MOST}")


def weights_of(graph: Graph, primitives: Primitives) -> tuple[Array, Array]:
    """The sums of weights up to each position of each list, as float64, and their guides; made once."""
    graph.notice_values()
    check_weights(graph, shares=True)

    def made(graph: Graph) -> tuple[Array, Array]:
        sums = primitives.list_sums(graph.out, graph.out_values)
        bad = ~(sums < np.inf)
        if bool(bad.any()):
            v = int(graph.out.owners()[int(bad.argmax())])
            raise ValueError(f"the weights of the out-edges of vertex {v} add up to infinity; expected a finite sum")
        return sums, primitives.list_guides(graph.out, sums)

    return graph.kept("sums of weights", made)
