"""Push-relabel: how much more leads into a vertex than out of it is pushed downhill, until it is where it should be.

Every edge has a partner that leads back. An edge's residual capacity is its own less what was sent along it, plus what
was sent back. At first the source has sent all that its edges take; vertices that have excess send it on, in rounds:

- decide: each takes the lowest neighbour along a residual edge. If that is lower, it will send there what the edge
  still takes; if not, it rises above it.
- settle: what is sent is subtracted at one end of the edge and added at the other, and the edge's tail notes it.

A loop at every vertex keeps one active that no other wakes. Heights say how far the goal is, and would rise slowly
where there is no way to it any more; so after some rounds they are measured anew, by a search from the goal along
residual edges. When it reaches no vertex that has excess, no more can get there, and that is the end, whatever heights
were in between. All is in integers and each edge is decided by its own ends, so the flow is the same every time.

A. V. Goldberg, R. E. Tarjan: A new approach to the maximum-flow problem. Journal of the ACM 35 (1988).
B. Hong, Z. He: An asynchronous multithreaded algorithm for the maximum network flow problem with nonblocking global
relabeling heuristic. IEEE Transactions on Parallel and Distributed Systems 22 (2011).
N. Baumstark, G. Blelloch, J. Shun: Efficient implementation of a synchronous parallel push-relabel algorithm. ESA 2015.
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.flows.network import BITS, Network
from gasla.arrays import any_true, array_module
from gasla.operations.run import run
from gasla.program.fields import edge, parameter, vertex
from gasla.program.program import VertexProgram

FAR = 2**62
NONE = -1  # in place of an edge
# Rounds between two searches: as many as the last one had levels, or until so many times the edges have been looked at.
FEWEST, SHARE = 2, 2


def _lower(x: Any, y: Any) -> Any:
    """Of two neighbours the lower one, by the edge of the smaller number; and the sum of what both have sent."""
    is_first = (x[0] < y[0]) | ((x[0] == y[0]) & (x[1] < y[1]))
    return *(semirings.where(is_first, x[i], y[i]) for i in range(3)), x[3] + y[3]


def residual_back(edge: Any) -> Any:
    """The residual capacity of an edge's partner, towards `src`."""
    return edge.back.capacity - edge.back.sent + edge.sent


class Distances(VertexProgram):
    """height(v) = how many residual edges lead to the goal."""

    height = vertex(np.int64, init=FAR)
    capacity = edge(np.int64)
    sent = edge(np.int64, init=0)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.height == FAR

    def edge_mask(self, src, dst, edge):
        return residual_back(edge) > 0

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"height": self.iteration + 1}


class Rounds(VertexProgram):
    """excess(v) goes to the lowest neighbour along residual edges, or v rises; iterations decide and settle in turn."""

    height = vertex(np.int64)
    excess = vertex(np.int64)
    arc = vertex(np.int64, init=NONE)  # along which edge it sends now
    amount = vertex(np.int64)
    capacity = edge(np.int64)
    sent = edge(np.int64, init=0)
    origin = parameter(np.int64, -1)
    sink = parameter(np.int64, -1)
    reduce = semirings.Monoid(_lower, (FAR, FAR, 0, 0), commutative=True, name="lowest and sum")

    def settles(self):
        return self.iteration % 2 == 1

    def has_excess(self, vertex):
        return (vertex.excess > 0) & (vertex.id != self.origin) & (vertex.id != self.sink) & (vertex.height < self.n)

    def mask(self, vertex):
        return self.settles() | self.has_excess(vertex)

    def edge_mask(self, src, dst, edge):
        is_arc = (src.arc == edge.id) | (dst.arc == edge.back.id)
        return (src.id == dst.id) | semirings.where(self.settles(), is_arc, residual_back(edge) > 0)

    def gather(self, src, dst, edge):
        height = semirings.where(src.id == dst.id, FAR, src.height)
        came = semirings.where((src.arc == edge.id) & (src.height > dst.height), src.amount, 0)
        left = semirings.where((dst.arc == edge.back.id) & (dst.height > src.height), dst.amount, 0)
        return height, edge.back.id, residual_back(edge), came - left

    def apply(self, vertex, gathered):
        lowest, arc, residual, change = gathered
        rises = lowest >= vertex.height
        where, settles = semirings.where, self.settles()
        return {
            "height": where(settles | ~rises, vertex.height, lowest + 1),
            "arc": where(settles, vertex.arc, where(rises, NONE, arc)),
            "amount": where(settles, vertex.amount, semirings.minimum(vertex.excess, residual)),
            "excess": where(settles, vertex.excess + change, vertex.excess),
        }

    def activate(self, before, after):
        return (after.arc >= 0) | self.has_excess(after)

    def scatter(self, src, dst, edge):
        is_sent = self.settles() & (src.arc == edge.id) & (src.height > dst.height)
        return {"sent": semirings.where(is_sent, edge.sent + src.amount, edge.sent)}

    def post_apply(self, vertex):
        return {"arc": semirings.where(self.settles(), NONE, vertex.arc)}


DISTANCES = Distances()


class Preflow:
    """What has been sent by now: `sent` along every edge of a network, and the `excess` of its vertices."""

    def __init__(self, network: Network, source: int, target: int, sent: Any, excess: Any) -> None:
        self.network, self.source, self.target = network, source, target
        self.sent, self.excess = sent, excess

    @property
    def arrived(self) -> int:
        """What has got to the target."""
        return int(self.excess[self.target])

    def heights(self, goal: int) -> Any:
        """How many residual edges lead from each vertex to the goal; FAR where none do."""
        return self._search(goal).height

    def _search(self, goal: int) -> Any:
        """The run that finds them."""
        graph = self.network.graph
        return run(DISTANCES, graph, active=[goal], height={goal: 0}, sent=self.sent, notice=False)

    def send_to(self, goal: int) -> None:
        """Send excess to the goal until no more can get there."""
        graph, rounds = self.network.graph, Rounds(origin=self.source, sink=self.target)
        while any_true(waits := self._waits()):
            found = self._search(goal)
            heights = found.height
            waits &= array_module(heights).less(heights, FAR)
            if not any_true(waits):
                return
            if goal != self.source:
                heights[self.source] = FAR
            most = SHARE * graph.m // int(graph.out_degrees[waits].sum())
            left = run(
                rounds, graph, active=waits, max_iterations=2 * max(FEWEST, min(found.iterations, most)),
                notice=False, height=heights, excess=self.excess, sent=self.sent,
            )  # fmt: skip
            self.sent, self.excess = left.sent, left.excess

    def _waits(self) -> Any:
        """The vertices that have excess, but for source and target."""
        waits = array_module(self.excess).greater(self.excess, 0)
        waits[self.source] = waits[self.target] = False
        return waits


def settled(network: Network, source: int, target: int, whole: bool) -> Preflow:
    """A preflow of which no more can get to the target; the `whole` of it a flow, of which nothing is left elsewhere.

    It is found from the end whose edges take less, as what they take in vain has to be sent back.
    """
    leaving, entering = network.leaving(source), network.entering(target)
    if min(leaving, entering) > 2**BITS:
        raise ValueError(
            f"the edges that leave source {source} have capacities of {leaving:.3g} together, those that enter target "
            f"{target} of {entering:.3g}; expected at most 2**62 of either: no more can flow, so lower the largest"
        )
    if leaving <= entering:
        found = Preflow(network, source, target, *network.flood(source))
        found.send_to(target)
        if whole:
            found.send_to(source)
        return found
    turned = network.turned()
    found = Preflow(turned, target, source, *turned.flood(target))
    found.send_to(source)
    found.send_to(target)
    excess = array_module(found.excess).zeros_like(found.excess)
    excess[target] = found.excess[source]
    return Preflow(network, source, target, found.sent[network.graph.reverse_edge_ids], excess)
