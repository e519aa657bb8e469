"""The flow network of a graph: checked capacities, a partner for every edge, and self loops for vertex programs."""

from typing import Any

import numpy as np

import semirings
from gasla.arrays import any_true, array_module
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph
from gasla.graph.transform.reduction import reduce_by_key
from gasla.operations.primitives import fits_one_thread

LARGEST = 2**62 - 1  # bound of integer capacities: the sum of an edge and its partner fits in 63 bits


class UnboundedFlowError(ValueError):
    """A path of infinite capacity leads from the source to the target."""


def ends(graph: Graph, source: Any, target: Any) -> tuple[int, int]:
    """Check that source and target are two vertices."""
    source, target = translate_vertex(graph, source), translate_vertex(graph, target, "target")
    if source == target:
        raise ValueError(f"source and target are both {graph.name(source)!r}; expected two different vertices")
    return source, target


def network(graph: Graph) -> Graph:
    """Return the graph with partners, which it keeps, and for programs with self loops. The input edges come first.

    Values are capacities: float64 for floats, else int64, limited to `LARGEST`. Added edges and self loops have
    capacity 0.
    """
    graph.notice_values()
    loops = not fits_one_thread(graph)
    return graph.kept(("flow network", loops), lambda graph: _made(graph, loops))


def reversed_network(network: Graph) -> Graph:
    """Return the network with the capacities of each edge and its partner exchanged. The network keeps it."""
    return network.kept("reversed", lambda net: net.with_values(net.values[net.reverse_edge_ids]))  # type: ignore[index]


def leaving(network: Graph, vertex: int) -> Any:
    """Return the ids of the edges that leave a vertex. Their partners are those that enter it."""
    lists = network.out
    first, last = (int(lists.indptr[v]) for v in (vertex, vertex + 1))
    return lists.numbers()[first:last]


def saturate(network: Graph, source: int) -> tuple[Any, Any]:
    """Return the initial preflow: the source saturates its out-edges.

    Returns the flow of each edge, and excess by vertex.
    """
    ids, heads = leaving(network, source), network.edges()[1]
    xp = array_module(heads)
    ids = ids[xp.not_equal(heads[ids], source)]
    amounts = network.values[ids]  # type: ignore[index]
    sent = xp.zeros(network.m, np.int64)
    sent[ids] = amounts
    return sent, reduce_by_key(heads[ids], amounts, semirings.plus, size=network.n)


def _made(graph: Graph, loops: bool) -> Graph:
    capacities, (src, dst) = _capacities(graph), graph.edges()
    xp = array_module(capacities)
    capacities[xp.equal(src, dst)] = 0
    made = graph.with_values(capacities).paired(fill=capacities.dtype.type(0), loops=loops)
    if isinstance(made.values, np.ndarray):
        made.values.flags.writeable = False  # so that no call looks for changes
    return made


def _capacities(graph: Graph) -> Any:
    """Return a copy of the values as int64 or float64, or 1 for each edge of a graph without values."""
    values = graph.values
    if values is None:
        return array_module(graph.out.indices).ones(graph.m, np.int64)
    xp, kind = array_module(values), values.dtype.kind
    wrong = ~xp.greater_equal(values, 0)  # NaN, too
    if any_true(wrong):
        e = int(wrong.argmax())
        raise ValueError(f"the capacity of edge {e} is {values[e].item()}; expected a number, 0 or more")
    if kind == "f":
        return values.astype(np.float64) + 0.0  # not -0.0
    return xp.minimum(values.astype(np.uint64), np.uint64(LARGEST)).astype(np.int64)
