"""Maximum flows and minimum cuts: exact for integers, and nearly exact for floats of any magnitude.

Graphs in host memory are solved by blocking flows on one thread (augmented.py), which took between a thousandth and 1.6
times the time of the two threads of push-relabel, on all graphs that were tried; others by push-relabel (preflow.py).
Both compute in int64. Integer capacities are used as they are. Float capacities may differ by hundreds of
orders of magnitude, so they are scaled to integers in rounds. Each round has a bound of the flow that is still missing:

- Capacities above the bound, infinite ones too, are lowered to a number slightly above it.
- The unit is the smallest power of two for which the lowered capacities, and the total that one end can send, have 61
  bits. All capacities are rounded down to multiples of it.
- The flow found saturates a cut of the rounded network. The amount by which the edges of this cut were rounded bounds
  the missing flow. If it is at most `ENOUGH` times the value, the round was the last one. One round usually suffices.
- If the bound turns out to be far too large, the round is discarded and repeated with a better one. Otherwise the next
  round looks for the missing flow in the residual capacities.

The number of rounds is small: let the sending end have d edges and the cut k edges. A round leaves less than k units
missing, and a unit is at most d 2**-58 times the bound; so if d k < 2**56, each bound is less than a quarter of the
previous one. Rounding ends at the latest when the unit is the smallest positive float.

The value is the capacity of the cut, summed without rounding. It is at least the maximum flow, and exceeds it by at
most the fraction `ENOUGH`. It equals the maximum flow if all capacities are multiples of a power of two, and the value
is less than 2**53 times that.
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

BITS = 61  # bits of scaled capacities, and of their sum at the source or the target
ENOUGH = Fraction(1, 2**40)  # fraction of the value that may be missing
SMALLEST, MOST = Fraction(1, 2**1074), sys.float_info.max  # least and greatest positive floats
TOO_LARGE = (
    "the maximum flow exceeds float64, 1.8e308; expected capacities with a smaller sum: divide them by a power of two"
)


class Solution(NamedTuple):
    """The value of a maximum flow, the flow along each input edge, and the source side of a minimum cut."""

    value: int | float
    flow: Any
    source_side: Any


def solve(graph: Any, source: Any, target: Any, *, cut: bool) -> Solution:
    """Find the source side of a minimum cut if `cut`, or else the flow along every edge."""
    graph = whole_graph(graph)
    source, target = ends(graph, source, target)
    net = network(graph)
    find = _of_floats if net.values.dtype.kind == "f" else _of_integers  # type: ignore[union-attr]
    solution = find(net, source, target, cut)
    return solution if cut else solution._replace(flow=solution.flow[: graph.m])


def _of_integers(net: Graph, source: int, target: int, cut: bool) -> Solution:
    out, into = _ends_of(net, source, target)
    sends, takes = (_total(net.values[ids]) for ids in (out, into))  # type: ignore[index]
    if min(sends, takes) >= LARGEST and not fits_one_thread(net):  # where excess might not fit int64
        net = _lowered(net, source, target)
        lowered = [_total(net.values[ids]) for ids in (out, into)]  # type: ignore[index]
        if min(lowered) >= LARGEST:
            raise _too_large(net, source, target, sends, takes)
        sends, takes = lowered
    preflow = _sent(net, source, target, takes < sends)
    if preflow.arrived >= LARGEST:  # capacities were limited to it
        raise _too_large(net, source, target, sends, takes)
    if cut:
        return Solution(preflow.arrived, None, preflow.source_side())
    preflow.return_excess()
    return Solution(preflow.arrived, _positive(preflow.net()), None)


def _too_large(net: Graph, source: int, target: int, sends: int, takes: int) -> ValueError:
    """Return the error for a flow that may not fit int64."""
    return ValueError(
        f"the capacities of the edges that leave source {net.name(source)!r} sum to {float(sends):.3g} or more, those "
        f"of the edges that enter target {net.name(target)!r} to {float(takes):.3g} or more; expected at most "
        "2**62 - 2 for either, or a much smaller cut: lower the largest capacities, or pass floats"
    )


def _sent(net: Graph, source: int, target: int, is_reversed: bool) -> AugmentedFlow | Preflow:
    """Return a maximum flow of integer capacities, or on a large graph a preflow that sends as much to its goal."""
    if fits_one_thread(net):
        return AugmentedFlow(net, source, target)
    preflow = Preflow(net, source, target, is_reversed=is_reversed)
    preflow.push_to_goal()
    return preflow


def _lowered(net: Graph, source: int, target: int) -> Graph:
    """Lower capacities that far exceed the possible flow, if there are any.

    The flow is at most the capacity of a cut without large edges; all edges that are not large sum to less than 2**62.
    """
    capacity: Any = net.values
    xp = array_module(capacity)
    is_large = xp.greater(capacity, LARGEST // net.m)
    between = _cut_beyond(net, is_large, source, target)
    return net if between is None else net.with_values(xp.minimum(capacity, _total(capacity[between]) + 1))


def _of_floats(net: Graph, source: int, target: int, cut: bool) -> Solution:
    out, into = _ends_of(net, source, target)
    capacity: Any = net.values
    xp, back, (src, dst) = array_module(capacity), net.reverse_edge_ids, net.edges()
    bound = min(_total(capacity[out]), _total(capacity[into]))
    if bound == math.inf:
        between = _cut_beyond(net, xp.isinf(capacity), source, target)
        if between is None:
            raise UnboundedFlowError(
                f"a path of infinite capacity leads from source {net.name(source)!r} to target {net.name(target)!r}, "
                "so the flow is unbounded; expected a finite capacity on every path"
            )
        bound = _total(capacity[between])
    bound = max(bound, SMALLEST)
    before, flow, left = Fraction(0), 0.0, capacity
    while True:
        units, unit = _rounded(left, bound, out, into)
        useful = units.copy()
        useful[back[out]] = useful[back[into]] = 0  # edges into the source and out of the target
        sends, takes = (float(useful[ids].sum(dtype=np.float64)) for ids in (out, into))
        preflow = _sent(net.with_values(useful), source, target, takes < sends)
        with np.errstate(all="ignore"):
            over = xp.where(xp.isinf(left), left, left - xp.ldexp(units.astype(np.float64), np.int32(unit)))
        loses = xp.greater(over, 0)
        side = preflow.source_side() if cut or any_true(loses) else None
        missing = Fraction(0) if side is None else _total(over[loses & side[src] & ~side[dst]])
        if missing == math.inf:
            raise ValueError(TOO_LARGE)
        arrived = preflow.arrived * Fraction(2) ** unit
        value = before + arrived + missing
        if missing == 0 or (missing <= ENOUGH * value and not _are_multiples(capacity, value)):
            break
        if missing > bound / 4:
            raise ValueError(
                f"{len(out):,} edges leave source {net.name(source)!r}, {len(into):,} enter target "
                f"{net.name(target)!r}, and the minimum cut has too many edges to sum their capacities within 1e-12; "
                "expected fewer, or integers"
            )
        if arrived + missing < bound / 4:
            bound = arrived + missing
            continue
        preflow.return_excess()
        net_flow = preflow.net()
        with np.errstate(over="ignore"):
            left = over + xp.ldexp((units - net_flow).astype(np.float64), np.int32(unit))
        flow = flow + xp.ldexp(net_flow.astype(np.float64), np.int32(unit))
        before, bound = before + arrived, missing
    if cut:
        return Solution(_as_float(value), None, side)
    preflow.return_excess()
    flow = flow + xp.ldexp(preflow.net().astype(np.float64), np.int32(unit))
    return Solution(_as_float(value), xp.minimum(_positive(flow), xp.minimum(capacity, MOST)), None)


def _rounded(left: Any, bound: Fraction, out: Any, into: Any) -> tuple[Any, int]:
    """Round capacities down to units. Returns int64 numbers of units, and the exponent of the unit.

    Capacities above the bound are lowered to at most 2**BITS units, which exceeds the bound. The total of the end that
    sends or takes less is at most 2**BITS units.
    """
    xp, unit = array_module(left), _exponent(bound) + 1 - BITS
    with np.errstate(over="ignore"):
        units = xp.minimum(xp.ldexp(xp.minimum(left, MOST), np.int32(-unit)), 2.0**BITS)
    more = max(0, _exponent(min(_total(units[out]), _total(units[into]))) - BITS)
    return xp.floor(xp.ldexp(units, np.int32(-more))).astype(np.int64), unit + more


def _ends_of(net: Graph, source: int, target: int) -> tuple[Any, Any]:
    """Return the ids of the edges that leave the source, and of those that enter the target."""
    return leaving(net, source), net.reverse_edge_ids[leaving(net, target)]


def _cut_beyond(net: Graph, is_large: Any, source: int, target: int) -> Any:
    """Mark the edges into the set of vertices from which large edges lead to the target.

    Return None if it has the source.
    """
    src, dst = net.edges()
    side = ~leads_to(net.with_values(is_large.astype(np.int64)), target)
    return side[src] & ~side[dst] if bool(side[source]) else None


def _total(values: Any) -> Any:
    """Return the sum of nonnegative numbers: exact for integers, and correctly rounded for floats.

    Independent of their order, and without overflow: an int, a Fraction, or inf if a number is inf.
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
    """Return the smallest e with number < 2**e, for a fraction whose denominator is a power of two.

    For 0, any e will do.
    """
    return number.numerator.bit_length() - number.denominator.bit_length() + 1


def _are_multiples(capacity: Any, value: Fraction) -> bool:
    """Return whether all finite capacities are multiples of the last bit of a float of the size of `value`."""
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
