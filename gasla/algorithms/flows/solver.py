"""The largest flow of a network, exact for integers and nearly so for floats of any size.

Push-relabel counts in int64. Integers are taken as they are. Floats may lie hundreds of powers of ten apart, so they
are taken in rounds. Each round knows a bound of what can still come:

- No edge needs to take more than that: capacities above it, infinite ones too, are lowered to a number above the bound.
- The unit is the smallest power of two for which the lowered capacities, and what one end can send, have 61 bits. All
  are rounded down to multiples of it.
- The flow found fills a cut of the rounded network. What rounding took from the edges of this cut is all that may be
  missing. If that is at most `ENOUGH` of the value, the round was the last one. One is usually enough.
- If the bound turns out to be far too large, the round is forgotten and made again with the better one. Otherwise the
  next round looks for what is missing in the capacities that are left.

There are few rounds. Say the sending end has d edges and the cut k. A round leaves less than k units missing; a unit is
at most d 2**-58 of the bound; so where d k < 2**56, each bound is less than a quarter of the one before. Rounding ends
when the unit is as small as the smallest float, or earlier.

The value is what the cut costs, as a sum without rounding. It is between the largest flow and ENOUGH above that. It
is the largest flow where all capacities are multiples of a power of two of which the value has less than 2**53.
"""

import math
import sys
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.flows.network import LARGEST, UnboundedFlowError, ends, leaving, network
from gasla.algorithms.flows.preflow import Preflow, leads_to
from gasla.arrays import any_true, array_module
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import exact_total

BITS = 61  # of capacities in units, and of what an end sends
ENOUGH = Fraction(1, 2**40)  # of the value: what may be missing of it
SMALLEST, MOST = Fraction(1, 2**1074), sys.float_info.max  # floats above 0
TOO_LARGE = (
    "the largest flow is more than float64 holds, 1.8e308; expected capacities that add up to less: divide them by a "
    "power of two"
)


class Largest(NamedTuple):
    """The value of a largest flow; the flow along each edge given; the source's side of the cheapest cut."""

    value: int | float
    flow: Any
    source_side: Any


def largest(graph: Any, source: Any, target: Any, *, cut: bool) -> Largest:
    """Find the source side of a cheapest `cut`, or else the flow along every edge; the other is None."""
    graph = as_graph(graph)
    source, target = ends(graph, source, target)
    net = network(graph)
    find = _of_floats if net.values.dtype.kind == "f" else _of_integers  # type: ignore[union-attr]
    found = find(net, source, target, cut)
    return found if cut else found._replace(flow=found.flow[: graph.m])


def _of_integers(net: Graph, source: int, target: int, cut: bool) -> Largest:
    out, into = _ends_of(net, source, target)
    sends, takes = (_total(net.values[ids]) for ids in (out, into))  # type: ignore[index]
    if min(sends, takes) >= LARGEST:
        said = (
            f"the edges that leave source {source} have capacities of {float(sends):.3g} together, those that enter "
            f"target {target} of {float(takes):.3g}; expected at most 2**62 - 2 of either, or a cut that costs much "
            "less: lower the largest, or give floats"
        )
        net = _lowered(net, source, target)
        sends, takes = (_total(net.values[ids]) for ids in (out, into))  # type: ignore[index]
        if min(sends, takes) >= LARGEST:
            raise ValueError(said)
    found = Preflow(net, source, target, is_turned=takes < sends)
    found.settle()
    if cut:
        return Largest(found.arrived, None, found.source_side())
    found.give_back()
    return Largest(found.arrived, _positive(found.net()), None)


def _lowered(net: Graph, source: int, target: int) -> Graph:
    """The network in which capacities far above what can come are lowered, if there are such.

    What can come is at most the cost of a cut without large capacities; all that are not stay below 2**62 together.
    """
    capacity: Any = net.values
    xp = array_module(capacity)
    is_large = xp.greater(capacity, LARGEST // net.m)
    between = _cut_beyond(net, is_large, source, target)
    return net if between is None else net.with_values(xp.minimum(capacity, _total(capacity[between]) + 1))


def _of_floats(net: Graph, source: int, target: int, cut: bool) -> Largest:
    out, into = _ends_of(net, source, target)
    capacity: Any = net.values
    xp, back, (src, dst) = array_module(capacity), net.reverse_edge_ids, net.edges()
    bound = min(_total(capacity[out]), _total(capacity[into]))
    if bound == math.inf:
        between = _cut_beyond(net, xp.isinf(capacity), source, target)
        if between is None:
            raise UnboundedFlowError(
                f"edges of infinite capacity lead from source {source} to target {target}, so that the flow between "
                "them has no largest value; expected a finite capacity on every path"
            )
        bound = _total(capacity[between])
    bound = max(bound, SMALLEST)
    before, flow, left = Fraction(0), 0.0, capacity
    while True:
        units, unit = _rounded(left, bound, out, into)
        useful = units.copy()
        useful[back[out]] = useful[back[into]] = 0  # into the source, out of the target
        sends, takes = (float(useful[ids].sum(dtype=np.float64)) for ids in (out, into))
        found = Preflow(net.with_values(useful), source, target, is_turned=takes < sends)
        found.settle()
        with np.errstate(all="ignore"):
            over = xp.where(xp.isinf(left), left, left - xp.ldexp(units.astype(np.float64), np.int32(unit)))
        loses = xp.greater(over, 0)
        side = found.source_side() if cut or any_true(loses) else None
        missing = Fraction(0) if side is None else _total(over[loses & side[src] & ~side[dst]])
        if missing == math.inf:
            raise ValueError(TOO_LARGE)
        arrived = found.arrived * Fraction(2) ** unit
        value = before + arrived + missing
        if missing == 0 or (missing <= ENOUGH * value and not _are_multiples(capacity, value)):
            break
        if missing > bound / 4:
            raise ValueError(
                f"{len(out):,} edges leave source {source}, {len(into):,} enter target {target}, and the cut between "
                "them has too many to add up their capacities within 1e-12; expected fewer, or integers"
            )
        if arrived + missing < bound / 4:
            bound = arrived + missing
            continue
        found.give_back()
        net_flow = found.net()
        with np.errstate(over="ignore"):
            left = over + xp.ldexp((units - net_flow).astype(np.float64), np.int32(unit))
        flow = flow + xp.ldexp(net_flow.astype(np.float64), np.int32(unit))
        before, bound = before + arrived, missing
    if cut:
        return Largest(_as_float(value), None, side)
    found.give_back()
    flow = flow + xp.ldexp(found.net().astype(np.float64), np.int32(unit))
    return Largest(_as_float(value), xp.minimum(_positive(flow), xp.minimum(capacity, MOST)), None)


def _rounded(left: Any, bound: Fraction, out: Any, into: Any) -> tuple[Any, int]:
    """Capacities in units, in int64, and the power of two of a unit.

    Those above the bound are lowered to 2**BITS units or less, which is above the bound, or to the largest float. The
    end that takes less takes 2**BITS units at most.
    """
    xp, unit = array_module(left), _exponent(bound) + 1 - BITS
    with np.errstate(over="ignore"):
        units = xp.minimum(xp.ldexp(xp.minimum(left, MOST), np.int32(-unit)), 2.0**BITS)
    more = max(0, _exponent(min(_total(units[out]), _total(units[into]))) - BITS)
    return xp.floor(xp.ldexp(units, np.int32(-more))).astype(np.int64), unit + more


def _ends_of(net: Graph, source: int, target: int) -> tuple[Any, Any]:
    """The numbers of the edges that leave the source, and of those that enter the target."""
    return leaving(net, source), net.reverse_edge_ids[leaving(net, target)]


def _cut_beyond(net: Graph, is_large: Any, source: int, target: int) -> Any:
    """Which edges lead into the vertices from which large edges lead to the target; None if the source is one."""
    src, dst = net.edges()
    side = ~leads_to(net.with_values(is_large.astype(np.int64)), target)
    return side[src] & ~side[dst] if bool(side[source]) else None


def _total(values: Any) -> Any:
    """The sum of numbers, 0 or more, without rounding of integers, and of floats as exact as a float can be.

    It does not depend on their order, and does not overflow: an int, a Fraction, or inf where one of them is.
    """
    xp = array_module(values)
    if values.dtype.kind != "f":
        return exact_total(values)
    top = float(values.max()) if len(values) else 0.0
    if top == 0 or top == math.inf:
        return math.inf if top else Fraction(0)
    scale = math.frexp(top)[1]
    return Fraction(math.fsum(xp.ldexp(values, np.int32(-scale)).tolist())) * Fraction(2) ** scale


def _exponent(number: Fraction) -> int:
    """The smallest e with number < 2**e, for a number whose denominator is a power of two; or any, for 0."""
    return number.numerator.bit_length() - number.denominator.bit_length() + 1


def _are_multiples(capacity: Any, value: Fraction) -> bool:
    """Whether all capacities are multiples of a float's last bit where it is as large as the value, or infinite."""
    xp = array_module(capacity)
    with np.errstate(over="ignore"):
        parts = xp.ldexp(capacity, np.int32(53 - _exponent(value)))
    return not any_true(xp.not_equal(parts, xp.floor(parts)))


def _positive(net: Any) -> Any:
    xp = array_module(net)
    return xp.where(xp.greater(net, 0), net, net.dtype.type(0))


def _as_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError(TOO_LARGE) from None
