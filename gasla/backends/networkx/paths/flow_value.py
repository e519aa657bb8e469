"""Values of maximum flows and minimum cuts, on which NetworkX's algorithms agree; flows and global cuts themselves."""

from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.algorithms.flows.network import UnboundedFlowError
from gasla.arrays import moved
from gasla.backends.networkx.conversion import EXACT, Converted
from gasla.backends.networkx.dispatch import SIMPLE, UNDIRECTED, register, when
from gasla.graph.weights import exact_total

flow = nx.algorithms.flow
ALIKE = (flow.boykov_kolmogorov, flow.dinitz, flow.edmonds_karp, flow.preflow_push, flow.shortest_augmenting_path)
UNLIMITED = float("inf")
MISSING: Any = object()
UNBOUNDED = "Infinite capacity path, flow unbounded above."


CONDITIONS = (
    when("a multigraph", lambda given: given["flowG"].is_multigraph()),
    when("flow_func is a user's", lambda given: not (given["flow_func"] is None or given["flow_func"] in ALIKE)),
    when("a residual network to write into", lambda given: given["residual"] not in (MISSING, None)),
    when("a cutoff, which decides where it ends", lambda given: given["cutoff"] is not MISSING),
    when(
        "an option without a flow_func", lambda given: given["residual"] is not MISSING and given["flow_func"] is None
    ),
)


def _solve(
    flowG: Converted, _s: Any, _t: Any, capacity: Any, solve: Any, *, only_whole: bool = False
) -> tuple[Any, Any]:
    """Return the value of a flow or a cut as a number of the type that NetworkX returns, and gasla's result object.

    `solve` is gasla's function, which is called with the graph of capacities, the source and the target.
    """
    for name in (_s, _t):
        if name not in flowG:
            raise nx.NetworkXError(f"node {name} not in graph")
    if _s == _t:
        raise nx.NetworkXError("source and sink are the same node")
    # Capacities of 2**53 and more are accepted, although floats don't hold them exactly, because people write 1e20 for
    # no limit.
    limits = flowG.each(capacity, UNLIMITED, large=True)
    if np.isnan(limits).any():
        raise NotImplementedError("an edge has the capacity NaN")
    source, target = flowG.numbers[_s], flowG.numbers[_t]
    capacities = _integer_capacities(flowG, limits, capacity, source, target)
    are_integers = capacities is not None
    if only_whole and not are_integers:
        raise NotImplementedError("capacities are floats, and cuts may differ by their rounding")
    graph = flowG.plain().with_values(capacities if are_integers else np.maximum(limits, 0).astype(np.float64))
    try:
        solution = solve(graph.to(flowG.device), source, target)
    except UnboundedFlowError:
        raise nx.NetworkXUnbounded(UNBOUNDED) from None
    except ValueError as error:
        raise NotImplementedError(str(error)) from None
    return int(solution.value) if are_integers else float(solution.value) or 0, solution


def _integer_capacities(flowG: Converted, limits: Any, capacity: Any, source: int, target: int) -> Any:
    """Return the capacities of edges as int64, or None if some capacities are finite floats.

    An unlimited capacity becomes larger than all limited capacities together. Raise NetworkXUnbounded if edges of
    unlimited capacity form a path from source to target, because such integers would hide that the flow is unbounded.
    """
    is_whole, numbers = flowG.integers(capacity, UNLIMITED)
    numbers = np.maximum(numbers, 0)
    src, dst = flowG.plain().edges()
    is_counted = (src != dst) & (limits > 0)  # a mask of the edges that NetworkX takes into account
    is_unlimited = is_counted & (limits == UNLIMITED)
    if not (is_whole | is_unlimited)[is_counted].all():
        if (numbers[is_counted] >= EXACT).any():
            raise NotImplementedError("there are integer capacities of 2**53 or more beside floats, which round them")
        return None
    if is_unlimited.any():
        unlimited_graph = flowG.plain().select(is_unlimited)
        if gasla.bfs(unlimited_graph, source)[target] >= 0:
            raise nx.NetworkXUnbounded(UNBOUNDED)
        # No edge of a minimum cut carries more than this total.
        total = exact_total(numbers[is_counted & ~is_unlimited])
        numbers[is_unlimited] = min(total + 1, np.iinfo(np.int64).max)
    return numbers


def _register_value(name: str, solve: Any) -> None:
    """Register under this name a function that returns only the value of the flow or cut that `solve` finds."""

    @register(*CONDITIONS, least=5_000, name=name)
    def value(
        flowG: Converted,
        _s: Any,
        _t: Any,
        capacity: Any = "capacity",
        flow_func: Any = None,
        *,
        residual: Any = MISSING,
        cutoff: Any = MISSING,
    ) -> float | int:
        """Return the value of a maximum flow, which is the capacity of a minimum cut."""
        return _solve(flowG, _s, _t, capacity, solve)[0]


_register_value("maximum_flow_value", gasla.maximum_flow)
_register_value("minimum_cut_value", gasla.minimum_cut)


@register(*CONDITIONS, least=5_000, choice="of many maximum flows NetworkX's is its algorithm's")
def maximum_flow(
    flowG: Converted,
    _s: Any,
    _t: Any,
    capacity: Any = "capacity",
    flow_func: Any = None,
    *,
    residual: Any = MISSING,
    cutoff: Any = MISSING,
) -> tuple[float | int, dict[Any, dict[Any, float | int]]]:
    """Return the value of a maximum flow, and for each node a dictionary of the flow to each neighbor.

    There are many maximum flows, and this one may not be NetworkX's.
    """
    value, solution = _solve(flowG, _s, _t, capacity, gasla.maximum_flow)
    out = flowG.plain().out
    heads, ends = flowG.called(out.indices), out.indptr.tolist()
    flows = [along or 0 for along in moved(solution.flow, "cpu").tolist()]  # As in NetworkX, a flow of 0 is an integer
    rows = (dict(zip(heads[first:last], flows[first:last])) for first, last in pairwise(ends))
    return value, dict(zip(flowG.names, rows))


@register(*CONDITIONS, least=5_000)
def minimum_cut(
    flowG: Converted,
    _s: Any,
    _t: Any,
    capacity: Any = "capacity",
    flow_func: Any = None,
    *,
    residual: Any = MISSING,
    cutoff: Any = MISSING,
) -> tuple[float | int, tuple[set[Any], set[Any]]]:
    """Return the capacity of a minimum cut, the nodes on the source's side, and the nodes on the target's side.

    The latter are the nodes that can reach the target by edges with capacity left.
    """
    value, solution = _solve(flowG, _s, _t, capacity, gasla.minimum_cut, only_whole=True)
    is_on_source_side = moved(solution.source_side, "cpu")
    return value, (
        set(flowG.called(np.flatnonzero(is_on_source_side))),
        set(flowG.called(np.flatnonzero(~is_on_source_side))),
    )


@register(UNDIRECTED, SIMPLE, least=1_000, choice="NetworkX contracts nodes in another order")
def stoer_wagner(
    G: Converted, weight: Any = "weight", heap: Any = nx.utils.BinaryHeap
) -> tuple[float | int, tuple[list[Any], list[Any]]]:
    """Return the weight of a global minimum cut, and the lists of nodes on its two sides."""
    if len(G) < 2:
        raise nx.NetworkXError("graph has less than two nodes.")
    graph = G.plain()
    if int(gasla.connected_components(graph).count) > 1:
        raise nx.NetworkXError("graph is not connected.")
    weights = G.each(weight)
    src, dst = graph.edges()
    if (weights[src != dst] < 0).any():
        raise nx.NetworkXError("graph has a negative-weighted edge.")
    is_whole, integers = G.integers(weight)
    if is_whole[src != dst].all():  # weights of self loops don't matter
        weights = integers
    try:
        value, side = gasla.global_minimum_cut(graph.with_values(np.maximum(weights, 0)))
    except ValueError as error:
        raise NotImplementedError(str(error)) from None
    return value, (G.called(np.flatnonzero(side)), G.called(np.flatnonzero(~side)))
