"""What functions refuse, in one table: the call, the graph, and the error. `tests/reliability/test_roads.py` walks it.

Errors of arguments of the wrong kind are made from signatures, in `tests/algorithms/test_arguments.py`. Those of
weights come from `HARD`, graphs for the calls of `tests/helpers/laws.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

import gasla
import semirings
from gasla import Graph
from gasla.arrays import module_of
from tests.helpers import programs
from tests.helpers.roads import by_rows


class Wrong(NamedTuple):
    """A call that ends with an error, whatever road the graph comes on."""

    call: Callable[[Any], Any]
    graph: str  # of `GRAPHS`
    error: str  # how its type and its message begin


def _on(graph: Any, array: Any) -> Any:
    """An array on the device of the graph."""
    return module_of(graph.device if isinstance(graph, Graph) else "cpu").asarray(array)


def _weighted(weights: Any, kind: Any = float) -> Graph:
    """A graph with a cycle, a loop, parallel edges and a vertex without edges."""
    src, dst = [0, 0, 0, 1, 1, 2, 3, 4], [1, 1, 4, 0, 2, 2, 4, 3]
    return Graph.from_edges(src, dst, np.array(weights, kind), n=6)


def _path(n: int, *more: tuple[int, int]) -> Graph:
    edges = [*zip(range(n - 1), range(1, n)), *more]
    return by_rows(Graph.from_edges(*zip(*edges), n=n))


TIMES = {"time": [1, 2, 3], "late": [1.0, np.nan, 3], "far": [0, 2**62, 1], "less": [1, 2, -1]}
GRAPHS: dict[str, Graph] = {
    "plain": _weighted(range(1, 9)),
    "negative": _weighted([1, 2, 3, -5, 1, 1, 1, 1]),
    "zeros": _weighted([0] * 8),
    "loop": _path(3, (1, 1)),
    "cycle": _path(4, (2, 1)),
    "long cycle": _path(100, (99, 0)),
    "steep": Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([3e38, 3e38, 1], np.float32)),
    "two parts": Graph.from_edges([0, 1, 2, 3], [1, 0, 3, 2]),
    "a ring": Graph.from_edges(range(6), [1, 2, 3, 4, 5, 0]).symmetrized(),
    "one vertex": Graph.from_edges([], [], n=1),
    "bytes": Graph.from_edges([0, 0, 1], [1, 2, 0], np.array([100, 100, 1], np.int8)),
    "large": Graph.from_edges([0, 0, 1], [1, 2, 0], np.array([2**62, 2**62, 2**62])),
    "huge": Graph.from_edges([0, 0, 1, 2], [1, 2, 0, 0], [1.5e308, 1.5e308, 1e308, 1e308]),
    "uneven": Graph.from_edges([0, 1], [1, 0], [1e-320, 1.0]),
    "timed": Graph.from_edges([0, 1, 2], [1, 2, 3]).with_edge_attributes(TIMES),
    "named": by_rows(Graph.from_networkx(nx.DiGraph([("a", "b"), ("b", "c"), ("d", "a")]))),
}


HARD: dict[str, Graph] = {  # graphs at the edge of what functions take, and beyond
    "empty": Graph.from_edges([], [], n=0),
    "one vertex": GRAPHS["one vertex"],
    "no edges": Graph.from_edges([], [], n=4),
    "a loop": Graph.from_edges([0], [0], [3.0]),
    "one edge": Graph.from_edges([0], [1], [1.0]),
    "no weights": _weighted([1] * 8).with_values(None),
    "plain": GRAPHS["plain"],
    "acyclic": Graph.from_edges([0, 0, 1, 1, 2], [1, 2, 3, 3, 3], [1.0, 2, 3, -1, 5], n=6),
    "symmetric": by_rows(GRAPHS["a ring"].with_values(np.ones(12))),
    "NaN": _weighted([1, 2, np.nan, 1, np.nan, 1, np.nan, 1]),
    "negative": _weighted([1, 2, 3, -1, 1, 1, 1, 1]),  # without a negative cycle, on which programs never end
    "infinite": _weighted([1, np.inf, 2, 1, 1, 1, 1, 1]),
    "infinite, negative": _weighted([1, 2, -np.inf, 1, 1, 1, 1, 1]),
    "zeros": GRAPHS["zeros"],
    "bool": _weighted([1, 0, 1, 1, 0, 1, 1, 1], bool),
    "int8": _weighted([100, 127, 1, 2, -128, 5, 100, 100], np.int8),
    "int64": _weighted([2**62, 2**62, 1, 2**62, 1, 1, 2**62, 1], np.int64),
    "uint64": _weighted([2**63, 1, 2**62, 1, 1, 2**63, 1, 1], np.uint64),
    "float32": _weighted([3e38, 3e38, 1, 3e38, 1, 1e-45, 1, 1], np.float32),
    "huge": _weighted([1e308, 1e308, 1, 1e308, 1, 1, 1e308, 1]),
    "tiny": _weighted([5e-324, 1e-300, 1, 1e-310, 1, 1e-200, 1, 1]),
}
OF_EDGE = "ValueError: edge attribute "


class Measured(programs.Hops):
    """Reads an edge attribute that graphs here don't have."""

    length = gasla.edge(np.int32, attribute="length")

    def gather(self, src, dst, edge):
        return src.hops + edge.length


ONES = np.ones(6)
ERRORS: list[Wrong] = [
    # vertices
    Wrong(lambda g: gasla.bfs(g, 6), "plain", "ValueError: source 6 is outside a graph of 6 vertices"),
    Wrong(lambda g: gasla.sssp(g, "a"), "plain", "TypeError: source is 'a'"),
    Wrong(lambda g: gasla.bfs(g, "x"), "named", "ValueError: source: no vertex is named 'x'"),
    Wrong(lambda g: gasla.pagerank(g, personalization={"x": 1}), "named", "ValueError: personalization: "),
    Wrong(lambda g: gasla.multi_source_bfs(g, ["a", "x"]), "named", "ValueError: sources: "),
    Wrong(lambda g: gasla.random_walks(g, [9], 2), "plain", "ValueError: starts has vertex 9"),
    Wrong(lambda g: gasla.betweenness_centrality(g, k=9), "plain", "ValueError: k is 9; expected 1 to 6"),
    Wrong(lambda g: gasla.closeness_centrality(g, sources=[1, 1]), "plain", "ValueError: a vertex appears twice"),
    Wrong(lambda g: gasla.preferential_attachment(g, ([0], [9])), "plain", "ValueError: "),
    Wrong(lambda g: gasla.maximal_independent_set(g, [0, 1]), "plain", "ValueError: vertex 0 and a neighbor are both"),
    Wrong(lambda g: gasla.pagerank_nibble(g, 9), "plain", "ValueError: source 9 is outside"),
    # what a graph is like
    Wrong(gasla.topological_order, "loop", "ValueError: the graph has the cycle 1 → 1; expected an acyclic one"),
    Wrong(gasla.topological_order, "cycle", "ValueError: the graph has the cycle 1 → 2 → 1; expected an acyclic one"),
    Wrong(gasla.longest_path, "long cycle", "ValueError: the graph has the cycle 0 → 1 → 2 → 3 → 4 → … → 0, of 100"),
    Wrong(lambda g: gasla.longest_path(g, weighted=False), "plain", "ValueError: the graph has the cycle 0 → 1 → 0"),
    Wrong(gasla.fiedler_vector, "two parts", "ValueError: the graph has 2 components; expected one"),
    Wrong(gasla.fiedler_vector, "one vertex", "ValueError: the graph has 1 vertices; expected 2 or more"),
    Wrong(lambda g: gasla.spectral_embedding(g, 6), "plain", "ValueError: k is 6; expected 1 to 5"),
    Wrong(lambda g: gasla.sssp(g, 0), "negative", "NegativeCycleError: a cycle through vertex "),
    Wrong(lambda g: gasla.sssp(g, 0, cutoff=3), "negative", "ValueError: a cutoff was given, but lengths are negative"),
    Wrong(lambda g: gasla.nearest_source(g, [0]), "negative", "NegativeCycleError: "),
    Wrong(lambda g: gasla.closeness_centrality(g, distance="weight"), "negative", "ValueError: a length is negative"),
    Wrong(lambda g: gasla.betweenness_centrality(g, weighted=True), "zeros", "ValueError: the weight of edge 0 is 0.0"),
    Wrong(lambda g: gasla.modularity(g, _on(g, [0] * 6)), "zeros", "ValueError: the weights of all edges sum to 0"),
    # numbers that leave their type
    Wrong(lambda g: gasla.sssp(g, 0), "steep", "ValueError: the weights on a path to vertex 2 sum to infinity"),
    Wrong(gasla.longest_path, "steep", "ValueError: the weights on a path to vertex 2 sum to infinity"),
    Wrong(
        lambda g: gasla.condensation(g, _on(g, np.array([0, 1, 1])), combine=semirings.plus),
        "bytes",
        "ValueError: condensation adds up values to 200, more than int8 holds",
    ),
    Wrong(lambda g: gasla.label_propagation(g, weighted=True), "large", "ValueError: label_propagation adds up"),
    Wrong(gasla.salsa, "huge", "ValueError: the weights at a vertex sum to infinity"),
    Wrong(gasla.salsa, "uneven", "ValueError: the weights at a vertex are so small"),
    Wrong(
        lambda g: gasla.aggregate_features(g, _on(g, np.full((3, 1), 2**40))), "large", "ValueError: the sum of integer"
    ),
    Wrong(lambda g: gasla.eigenvector_centrality(g, weighted=True), "huge", "ValueError: scores overflow in float64"),
    # shapes and types of arrays
    Wrong(lambda g: gasla.aggregate_features(g, _on(g, np.ones((4, 2)))), "plain", "ValueError: features have shape"),
    Wrong(lambda g: gasla.modularity(g, [0, 1]), "plain", "ValueError: there are 2 labels"),
    Wrong(lambda g: gasla.condensation(g, [[1], [1, 2]]), "plain", "ValueError: labels is [[1], [1, 2]]; expected an"),
    Wrong(lambda g: gasla.k_core(g, core_number=[1, 2]), "plain", "ValueError: core_number has the shape (2,)"),
    Wrong(lambda g: gasla.mxv(g, _on(g, np.ones(4))), "plain", "ValueError: x has shape (4,); expected (6,), one"),
    Wrong(lambda g: gasla.vxm(_on(g, ONES * 1j), g), "plain", "TypeError: x has type complex128; expected one of bool"),
    Wrong(lambda g: gasla.mxv(g, _on(g, ONES), complement=True), "plain", "ValueError: complement is set and there"),
    Wrong(lambda g: g.with_values(_on(g, np.ones(3))), "plain", "ValueError: there are 8 edges and values of"),
    Wrong(lambda g: g.placed(_on(g, np.ones(4))), "plain", "ValueError: values has 4 entries; expected 6"),
    Wrong(lambda g: gasla.bfs(g, 0, start=_on(g, np.zeros(6, np.int32))), "plain", "ValueError: start continues from"),
    # time
    Wrong(lambda g: gasla.earliest_arrival(g, 0, time="when"), "timed", "ValueError: time: 'when' is no edge"),
    Wrong(lambda g: gasla.earliest_arrival(g, 0, time="late"), "timed", OF_EDGE + "'late', the time, is nan at edge 1"),
    Wrong(lambda g: gasla.latest_departure(g, 0, time="far"), "timed", OF_EDGE + "'far', the time, is 46"),
    Wrong(lambda g: gasla.fastest_durations(g, 0, duration="less"), "timed", OF_EDGE + "'less', the duration, is -1"),
    Wrong(lambda g: g.weighted_by("when"), "timed", "ValueError: 'when' is no edge attribute"),
    # scores
    Wrong(lambda g: gasla.pagerank(g, personalization={0: -1}), "plain", "ValueError: personalization of vertex 0 is"),
    Wrong(lambda g: gasla.pagerank(g, personalization=[{0: 1}, {9: 1}]), "plain", "ValueError: "),
    Wrong(lambda g: gasla.katz_centrality(g, beta=0), "plain", "ValueError: beta is 0 everywhere"),
    Wrong(lambda g: gasla.katz_centrality(g, alpha=-1), "plain", "ValueError: alpha is -1"),
    # programs
    Wrong(lambda g: gasla.run(programs.Hops, g, hop={0: 0}), "plain", "TypeError: Hops has no field 'hop'"),
    Wrong(lambda g: gasla.run(programs.Hops, g, active=[9]), "plain", "ValueError: "),
    Wrong(lambda g: gasla.run(Measured, g, active=[0]), "plain", "ValueError: "),
    Wrong(lambda g: gasla.run(programs.Hops, g, delta=-1), "plain", "ValueError: delta is -1"),
    Wrong(lambda g: gasla.run(programs.Hops, g, start={"hops": 1}), "plain", "ValueError: start has hops of shape ()"),
    Wrong(lambda g: gasla.run(programs.Hops, g, callback=lambda result: 1 // 0), "plain", "ZeroDivisionError: "),
    Wrong(lambda g: gasla.run(programs.Hops, g, progress=7), "plain", "TypeError: progress is 7"),
    Wrong(lambda g: g.contract([0, 1], semirings.plus), "plain", "ValueError: "),
]  # fmt: skip
