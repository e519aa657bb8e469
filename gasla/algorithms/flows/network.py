"""The flow network of a graph: checked capacities, a partner for every edge, and self loops for vertex programs.

The partner of an edge is the paired edge in the other direction, which is added with capacity 0 if the graph has none.
"""

from typing import Any

import numpy as np

import semirings
from gasla.arrays import any_true, array_module
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph
from gasla.graph.transform.reduction import reduce_by_key
from gasla.operations.primitives import fits_one_thread

# largest integer capacity, so that the sum of an edge's and its reverse edge's capacities fits in 63 bits
LARGEST = 2**62 - 1


class UnboundedFlowError(ValueError):
    """The error for a flow network in which a path of infinite capacity leads from the source to the target."""


def ends(graph: Graph, source: Any, target: Any) -> tuple[int, int]:
    """Return the ids of the vertices that a user gave as source and target of a flow. Raise ValueError if they are the
    same.
    """
    source, target = translate_vertex(graph, source), translate_vertex(graph, target, "target")
    if source == target:
        raise ValueError(f"source and target are both {graph.name(source)!r}; expected two different vertices")
    return source, target


def network(graph: Graph) -> Graph:
    """Return the flow network of a graph, in which every edge has a reverse edge (its partner), and store it for later
    calls.

    The input edges come first. Values are capacities: float64 for floats, else int64, limited to `LARGEST`. Added edges
    have capacity 0, and so have self loops, of which every vertex has one if vertex programs compute the flow.
    """
    graph.notice_values()
    loops = not fits_one_thread(graph)
    return graph.kept(("flow network", loops), lambda graph: _build_network(graph, loops))


def reversed_network(network: Graph) -> Graph:
    """Return the flow network with the capacities of each edge and its reverse edge exchanged, and store it for later
    calls.
    """
    return network.kept("reversed", lambda net: net.with_values(net.values[net.reverse_edge_ids]))  # type: ignore[index]


def leaving(network: Graph, vertex: int) -> Any:
    """Return the ids of the edges of a flow network that leave a vertex.

    Their reverse edges are those that enter it.
    """
    adjacency = network.out
    first_edge, end = (int(adjacency.indptr[v]) for v in (vertex, vertex + 1))
    return adjacency.numbers()[first_edge:end]


def saturate(network: Graph, source: int) -> tuple[Any, Any]:
    """Return the state in which push-relabel starts: the source sends as much along each of its out-edges as the edge
    takes.

    The two arrays are the flow along each edge of the network, and the excess (inflow minus outflow) of each vertex.
    """
    ids, heads = leaving(network, source), network.edges()[1]
    xp = array_module(heads)
    ids = ids[xp.not_equal(heads[ids], source)]
    amounts = network.values[ids]  # type: ignore[index]
    flow = xp.zeros(network.m, np.int64)
    flow[ids] = amounts
    return flow, reduce_by_key(heads[ids], amounts, semirings.plus, size=network.n)


def _build_network(graph: Graph, loops: bool) -> Graph:
    """Return the flow network of a graph: each edge gets a reverse edge, and if `loops`, each vertex a self loop.

    Capacities are checked. Vertex programs need the self loops.
    """
    capacities, (src, dst) = _checked_capacities(graph), graph.edges()
    xp = array_module(capacities)
    capacities[xp.equal(src, dst)] = 0
    result = graph.with_values(capacities).paired(fill=capacities.dtype.type(0), loops=loops)
    if isinstance(result.values, np.ndarray):
        # The array is read-only, so that the caller can't change it, and later runs need not check it for changes.
        result.values.flags.writeable = False
    return result


def _checked_capacities(graph: Graph) -> Any:
    """Return the capacities of a graph's edges as int64 or float64: a copy of its values, or 1 for each edge without
    values.

    Raise ValueError if a capacity is negative or NaN.
    """
    values = graph.values
    if values is None:
        return array_module(graph.out.indices).ones(graph.m, np.int64)
    xp, dtype_kind = array_module(values), values.dtype.kind
    is_wrong = ~xp.greater_equal(values, 0)  # written so that it is also true for NaN
    if any_true(is_wrong):
        e = int(is_wrong.argmax())
        raise ValueError(f"the capacity of edge {e} is {values[e].item()}; expected a number, 0 or more")
    if dtype_kind == "f":
        return values.astype(np.float64) + 0.0  # adding 0.0 turns -0.0 into 0.0
    return xp.minimum(values.astype(np.uint64), np.uint64(LARGEST)).astype(np.int64)
