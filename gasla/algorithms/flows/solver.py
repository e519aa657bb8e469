"""Maximum flows and minimum cuts: exact for integers, and nearly exact for floats of any magnitude.

Graphs in host memory are solved by blocking flows on one thread (augmented.py), other graphs by push-relabel
(preflow.py). On all graphs that were tried, blocking flows took between a thousandth and 1.6 times the time that
push-relabel took on two threads. Both compute in int64. Integer capacities are used as they are. Float capacities may
differ by hundreds of orders of magnitude, so they are scaled to integers in rounds. Each round has a bound of the flow
that is still missing:

- Capacities above the bound, infinite ones too, are lowered to a number slightly above it.
- The unit is the smallest power of two for which the lowered capacities, and the total that one end can send, have 61
  bits. All capacities are rounded down to multiples of the unit.
- The flow found saturates a cut of the rounded network. The amount by which the edges of this cut were rounded bounds
  the missing flow. If it is at most `ENOUGH` times the value, the round was the last one. One round usually suffices.
- If the bound turns out to be far too large, the round is discarded and repeated with a better one. Otherwise the next
  round looks for the missing flow in the residual capacities.

The number of rounds is small: let the sending end have d edges and the cut k edges. A round leaves less than k units
missing, and a unit is at most d 2**-58 times the bound; so if d k < 2**56, each bound is less than a quarter of the
previous one. Rounding ends at the latest when the unit is the smallest positive float.

The value is the capacity of the cut, summed without rounding. It is at least the maximum flow, and exceeds it by at
most the fraction `ENOUGH`. It equals the maximum flow if all capacities are multiples of a power of two, and the value
is less than 2**53 times that power.
"""

import math
import sys
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.flows.augmented import AugmentedFlow
from gasla.algorithms.flows.network import LARGEST, UnboundedFlowError, ends, leaving, network
from gasla.algorithms.flows.preflow import Preflow, leads_to
from gasla.arrays import any_true, array_module
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.weights import exact_total
from gasla.operations.primitives import fits_one_thread

# number of bits of the largest scaled capacity, and of the smaller sum of capacities, at the source or the target
BITS = 61
# scaling of floats ends when the flow that may be missing is at most this fraction of the flow
ENOUGH = Fraction(1, 2**40)
SMALLEST, MOST = Fraction(1, 2**1074), sys.float_info.max  # smallest and largest positive floats
TOO_LARGE = (
    "the maximum flow exceeds float64, 1.8e308; expected capacities with a smaller sum: divide them by a power of two"
)


class Solution(NamedTuple):
    """The value of a maximum flow, the flow along each input edge, and the source side of a minimum cut."""

    value: int | float
    flow: Any
    source_side: Any


def solve(graph: Any, source: Any, target: Any, *, cut: bool) -> Solution:
    """Return a maximum flow or, if `cut`, a minimum cut, whose value is the same.

    The solution for a cut has the source side of the cut. The solution for a flow has the flow along every edge.
    """
    graph = whole_graph(graph)
    source, target = ends(graph, source, target)
    net = network(graph)
    find = _solve_floats if net.values.dtype.kind == "f" else _solve_integers  # type: ignore[union-attr]
    solution = find(net, source, target, cut)
    return solution if cut else solution._replace(flow=solution.flow[: graph.m])


def _solve_integers(net: Graph, source: int, target: int, needs_cut: bool) -> Solution:
    """Return a maximum flow or, with `needs_cut`, a minimum cut in a flow network of integer capacities.

    Raise ValueError if the flow may not fit int64.
    """
    out, target_edges = _end_edges(net, source, target)
    out_capacity, in_capacity = (_exact_sum(net.values[ids]) for ids in (out, target_edges))  # type: ignore[index]
    # If both sums are large, the excess of a vertex in a preflow might not fit int64, so capacities are lowered.
    if min(out_capacity, in_capacity) >= LARGEST and not fits_one_thread(net):
        net = _lower_capacities(net, source, target)
        lowered = [_exact_sum(net.values[ids]) for ids in (out, target_edges)]  # type: ignore[index]
        if min(lowered) >= LARGEST:
            raise _too_large_error(net, source, target, out_capacity, in_capacity)
        out_capacity, in_capacity = lowered
    preflow = _send_flow(net, source, target, in_capacity < out_capacity)
    if preflow.arrived >= LARGEST:  # capacities were limited to LARGEST, so the graph may allow a larger flow
        raise _too_large_error(net, source, target, out_capacity, in_capacity)
    if needs_cut:
        return Solution(preflow.arrived, None, preflow.source_side())
    preflow.return_excess()
    return Solution(preflow.arrived, _positive_part(preflow.net()), None)


def _too_large_error(net: Graph, source: int, target: int, out_capacity: int, in_capacity: int) -> ValueError:
    """Return the error for a network whose maximum flow may not fit int64.

    `out_capacity` is the sum of the capacities of the edges from the source, and `in_capacity` that of the edges to
    the target.
    """
    return ValueError(
        f"the capacities of the edges that leave source {net.name(source)!r} sum to {float(out_capacity):.3g} or more, "
        f"those of the edges that enter target {net.name(target)!r} to {float(in_capacity):.3g} or more; expected "
        "at most 2**62 - 2 for either, or a much smaller cut: lower the largest capacities, or pass floats"
    )


def _send_flow(net: Graph, source: int, target: int, is_reversed: bool) -> AugmentedFlow | Preflow:
    """Return a maximum flow of integer capacities, or a preflow if vertex programs compute it, as on a GPU.

    In both, the same amount arrives at the target. The excess of a preflow has yet to return to where it came from.
    With `is_reversed`, a preflow begins at the target.
    """
    if fits_one_thread(net):
        return AugmentedFlow(net, source, target)
    preflow = Preflow(net, source, target, is_reversed=is_reversed)
    preflow.push_to_goal()
    return preflow


def _lower_capacities(net: Graph, source: int, target: int) -> Graph:
    """Return the network with capacities lowered to about the largest possible flow, if they are far larger.

    If a cut has no large edge, the flow is at most the capacity of this cut, and larger capacities are lowered to just
    above it. Edges that are not large have capacities that sum to less than 2**62.
    """
    capacity: Any = net.values
    xp = array_module(capacity)
    is_large = xp.greater(capacity, LARGEST // net.m)
    cut_edges = _small_edge_cut(net, is_large, source, target)
    return net if cut_edges is None else net.with_values(xp.minimum(capacity, _exact_sum(capacity[cut_edges]) + 1))


def _solve_floats(net: Graph, source: int, target: int, needs_cut: bool) -> Solution:
    """Return a maximum flow or, with `needs_cut`, a minimum cut in a flow network of float capacities.

    Several rounds solve the network with capacities that are scaled to integers.
    """
    out, target_edges = _end_edges(net, source, target)
    capacity: Any = net.values
    xp, back, (src, dst) = array_module(capacity), net.reverse_edge_ids, net.edges()
    flow_bound = min(_exact_sum(capacity[out]), _exact_sum(capacity[target_edges]))
    if flow_bound == math.inf:
        cut_edges = _small_edge_cut(net, xp.isinf(capacity), source, target)
        if cut_edges is None:
            raise UnboundedFlowError(
                f"a path of infinite capacity leads from source {net.name(source)!r} to target {net.name(target)!r}, "
                "so the flow is unbounded; expected a finite capacity on every path"
            )
        flow_bound = _exact_sum(capacity[cut_edges])
    flow_bound = max(flow_bound, SMALLEST)
    earlier_flow, flow, residual = Fraction(0), 0.0, capacity
    while True:
        units, unit = _round_to_units(residual, flow_bound, out, target_edges)
        useful = units.copy()
        # flow into the source or out of the target is never useful, so these edges get capacity 0
        useful[back[out]] = useful[back[target_edges]] = 0
        out_capacity, in_capacity = (float(useful[ids].sum(dtype=np.float64)) for ids in (out, target_edges))
        preflow = _send_flow(net.with_values(useful), source, target, in_capacity < out_capacity)
        with np.errstate(all="ignore"):
            remainder = xp.where(
                xp.isinf(residual), residual, residual - xp.ldexp(units.astype(np.float64), np.int32(unit))
            )
        has_remainder = xp.greater(remainder, 0)
        is_on_source_side = preflow.source_side() if needs_cut or any_true(has_remainder) else None
        remainder_flow = (
            Fraction(0)
            if is_on_source_side is None
            else _exact_sum(remainder[has_remainder & is_on_source_side[src] & ~is_on_source_side[dst]])
        )
        if remainder_flow == math.inf:
            raise ValueError(TOO_LARGE)
        arrived = preflow.arrived * Fraction(2) ** unit
        value = earlier_flow + arrived + remainder_flow
        if remainder_flow == 0 or (remainder_flow <= ENOUGH * value and not _are_multiples(capacity, value)):
            break
        if remainder_flow > flow_bound / 4:
            raise ValueError(
                f"{len(out):,} edges leave source {net.name(source)!r}, {len(target_edges):,} enter target "
                f"{net.name(target)!r}, and the minimum cut has too many edges to sum their capacities within 1e-12; "
                "expected fewer, or integers"
            )
        if arrived + remainder_flow < flow_bound / 4:
            flow_bound = arrived + remainder_flow
            continue
        preflow.return_excess()
        net_flow = preflow.net()
        with np.errstate(over="ignore"):
            residual = remainder + xp.ldexp((units - net_flow).astype(np.float64), np.int32(unit))
        flow = flow + xp.ldexp(net_flow.astype(np.float64), np.int32(unit))
        earlier_flow, flow_bound = earlier_flow + arrived, remainder_flow
    if needs_cut:
        return Solution(_to_float(value), None, is_on_source_side)
    preflow.return_excess()
    flow = flow + xp.ldexp(preflow.net().astype(np.float64), np.int32(unit))
    return Solution(_to_float(value), xp.minimum(_positive_part(flow), xp.minimum(capacity, MOST)), None)


def _round_to_units(residual: Any, flow_bound: Fraction, out: Any, target_edges: Any) -> tuple[Any, int]:
    """Round the residual capacities of a round down to multiples of a unit, a power of two, so that they become
    integers.

    Return the number of units of each capacity as int64, and the exponent of the unit. Capacities above `flow_bound`
    are lowered to at most 2**BITS units, which exceeds the bound. At the source or the target, whichever has less, the
    capacities sum to at most 2**BITS units. `out` and `target_edges` are the ids of the edges at the source and the
    target.
    """
    xp, unit = array_module(residual), _exponent(flow_bound) + 1 - BITS
    with np.errstate(over="ignore"):
        units = xp.minimum(xp.ldexp(xp.minimum(residual, MOST), np.int32(-unit)), 2.0**BITS)
    extra_bits = max(0, _exponent(min(_exact_sum(units[out]), _exact_sum(units[target_edges]))) - BITS)
    return xp.floor(xp.ldexp(units, np.int32(-extra_bits))).astype(np.int64), unit + extra_bits


def _end_edges(net: Graph, source: int, target: int) -> tuple[Any, Any]:
    """Return the ids of the edges that leave the source, and of the edges that enter the target."""
    return leaving(net, source), net.reverse_edge_ids[leaving(net, target)]


def _small_edge_cut(net: Graph, is_large: Any, source: int, target: int) -> Any:
    """Return a mask of the edges of a cut that has no large edges, or None if every cut has one.

    `is_large` marks the large edges. The target's side of the cut consists of the vertices from which large edges lead
    to the target. If the source is among these vertices, every cut has a large edge.
    """
    src, dst = net.edges()
    is_on_source_side = ~leads_to(net.with_values(is_large.astype(np.int64)), target)
    return is_on_source_side[src] & ~is_on_source_side[dst] if bool(is_on_source_side[source]) else None


def _exact_sum(values: Any) -> Any:
    """Return the sum of nonnegative numbers: exact for integers, and correctly rounded for floats.

    The sum is an int, a Fraction, or inf if a number is inf. It does not depend on the order of the numbers, and does
    not overflow.
    """
    xp = array_module(values)
    if values.dtype.kind != "f":
        return exact_total(values)
    largest = float(values.max()) if len(values) else 0.0
    if largest == 0 or largest == math.inf:
        return math.inf if largest else Fraction(0)
    scale = math.frexp(largest)[1]
    return Fraction(math.fsum(xp.ldexp(values, np.int32(-scale)).tolist())) * Fraction(2) ** scale


def _exponent(fraction: Fraction) -> int:
    """Return the smallest integer e with `fraction` < 2**e, for a fraction whose denominator is a power of two.

    For 0, which is below every power of two, the result is arbitrary, and callers accept any number.
    """
    return fraction.numerator.bit_length() - fraction.denominator.bit_length() + 1


def _are_multiples(capacity: Any, value: Fraction) -> bool:
    """Return whether float64 can add up the finite capacities to `value`, the capacity of a cut, without rounding.

    That is so if all are multiples of the last bit that a float64 as large as `value` has.
    """
    xp = array_module(capacity)
    with np.errstate(over="ignore"):
        scaled_capacity = xp.ldexp(capacity, np.int32(53 - _exponent(value)))
    return not any_true(xp.not_equal(scaled_capacity, xp.floor(scaled_capacity)))


def _positive_part(net: Any) -> Any:
    """Return the flow along each edge, given the net flow: the edge's flow minus that of its reverse edge.

    Where the net flow is negative, the flow is 0, as the reverse edge has it.
    """
    xp = array_module(net)
    return xp.where(xp.greater(net, 0), net, net.dtype.type(0))


def _to_float(value: Fraction) -> float:
    """Return the value of a flow, a fraction, as a float. Raise ValueError if the value exceeds float64."""
    try:
        return float(value)
    except OverflowError:
        raise ValueError(TOO_LARGE) from None
