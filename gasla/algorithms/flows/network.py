"""A graph as push-relabel needs it: capacities of whole numbers, a partner for every edge, a loop at every vertex."""

import math
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import any_true, array_module
from gasla.graph.arguments import source_vertex
from gasla.graph.derive.reduction import reduce_by_key
from gasla.graph.graph import Graph

BITS = 62  # that capacities have, and those of all edges of a vertex together: residual capacities then fit in 64


class Network(NamedTuple):
    """The graph with partners and loops. First come the edges given, with their numbers; others take nothing.

    Where capacities are floats, they were multiplied by 2**shift and rounded down.
    """

    graph: Graph
    edges: int
    shift: int | None

    def flood(self, source: int) -> tuple[Any, Any]:
        """What is sent along every edge, and each vertex's excess, when the source has sent all that its edges take."""
        graph, lists = self.graph, self.graph.out
        first, last = (int(lists.indptr[v]) for v in (source, source + 1))
        heads, ids = lists.indices[first:last], lists.numbers()[first:last]
        xp = array_module(heads)
        leaves = xp.not_equal(heads, source)
        heads, ids = heads[leaves], ids[leaves]
        amounts = graph.values[ids]  # type: ignore[index]
        sent = xp.zeros(graph.m, np.int64)
        sent[ids] = amounts
        return sent, reduce_by_key(heads, amounts, semirings.plus, size=graph.n)

    def turned(self) -> "Network":
        """The network whose edges lead the other way: each takes what its partner did. The graph keeps it."""
        return self._replace(graph=self.graph.kept("turned", _turned))

    def leaving(self, vertex: int) -> float:
        """The capacities of the edges that leave a vertex, together."""
        return self._total(vertex, self.graph)

    def entering(self, vertex: int) -> float:
        """The same of those that enter it."""
        return self._total(vertex, self.turned().graph)

    def _total(self, vertex: int, graph: Graph) -> float:
        lists = graph.out
        first, last = (int(lists.indptr[v]) for v in (vertex, vertex + 1))
        return float(graph.values[lists.numbers()[first:last]].sum(dtype=np.float64))  # type: ignore[index]

    def flow(self, sent: Any) -> Any:
        """What flows along each of the edges given: what was sent along it, less what was sent back."""
        back = self.graph.reverse_edge_ids[: self.edges]
        net = sent[: self.edges] - sent[back]
        xp = array_module(net)
        net *= xp.greater(net, 0)
        return net if self.shift is None else xp.ldexp(net.astype(np.float64), np.int32(-self.shift))

    def value(self, amount: int) -> int | float:
        """What an amount is in the capacities' own unit."""
        return amount if self.shift is None else math.ldexp(float(amount), -self.shift)


def ends(graph: Graph, source: Any, target: Any) -> tuple[int, int]:
    """Source and target as ids of two vertices."""
    source, target = source_vertex(graph, source), source_vertex(graph, target, "target")
    if source == target:
        raise ValueError(f"source and target are both {source}; expected two vertices")
    return source, target


def network(graph: Graph) -> Network:
    """The network of a graph, which the graph keeps."""
    graph.notice_values()
    return graph.kept("flow network", _made)


def _turned(graph: Graph) -> Graph:
    return graph.with_values(graph.values[graph.reverse_edge_ids])  # type: ignore[index]


def _made(graph: Graph) -> Network:
    capacities, shift = _capacities(graph)
    return Network(graph.with_values(capacities).paired(fill=0, loops=True), graph.m, shift)


def _capacities(graph: Graph) -> tuple[Any, int | None]:
    """The values as int64, 1 for each edge of a graph without; and the power of two of floats."""
    values = graph.values
    if values is None:
        return array_module(graph.out.indices).ones(graph.m, np.int64), None
    xp, kind = array_module(values), values.dtype.kind
    wrong = ~(xp.greater_equal(values, 0) & xp.less_equal(values, np.inf if kind == "f" else 2**BITS - 1))
    wrong |= xp.isinf(values) if kind == "f" else False
    if any_true(wrong):
        e = int(wrong.argmax())
        wanted = "a finite number, 0 or more" if kind == "f" else "a number from 0 to 2**62 - 1"
        raise ValueError(f"the capacity of edge {e} is {values[e].item()}; expected {wanted}")
    if kind != "f":
        return values.astype(np.int64), None
    floats = values.astype(np.float64)
    most = float(reduce_by_key(graph._edges()[0], floats, semirings.plus, size=graph.n).max()) if graph.m else 0.0
    shift = BITS - 1 - math.frexp(most)[1]
    return xp.floor(xp.ldexp(floats, np.int32(shift))).astype(np.int64), shift
