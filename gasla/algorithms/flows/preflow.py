"""Push-relabel: how much more leads into a vertex than out of it is pushed downhill, until it is where it should be.

Every edge has a partner that leads back. An edge's residual capacity is its own less what was sent along it, plus what
was sent back. At first the source has sent all that its edges take; vertices that have excess send it on, in rounds:

- decide: each takes the lowest neighbor along a residual edge. If that is lower, it will send there what the edge
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
from gasla.algorithms.flows.network import flood, turned
from gasla.arrays import any_true, array_module
from gasla.graph.graph import Graph
from gasla.operations.run import run
from gasla.program.fields import edge, parameter, vertex
from gasla.program.program import VertexProgram

FAR = 2**62
NONE = -1  # in place of an edge
# Rounds between two searches: as many as the last one had levels, or until so many times the edges have been looked at.
FEWEST, SHARE = 2, 2


def _lower(x: Any, y: Any) -> Any:
    """Of two neighbors the lower one, by the edge of the smaller number; and the sum of what both have sent."""
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
    """excess(v) goes to the lowest neighbor along residual edges, or v rises; iterations decide and settle in turn."""

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


def leads_to(network: Graph, target: int, **sent: Any) -> Any:
    """From which vertices edges that still take something lead to the target."""
    heights = _search(network, target, **sent).height
    return array_module(heights).less(heights, FAR)


def _search(network: Graph, goal: int, **sent: Any) -> Any:
    """The run that finds how many residual edges lead from each vertex to the goal; FAR where none do."""
    return run(DISTANCES, network, active=[goal], height={goal: 0}, notice=False, **sent)


class Preflow:
    """What has been sent by now in a network of whole numbers: `sent` along every edge, `excess` of every vertex.

    At first the edges that leave the source are full. A preflow that is `turned` round goes against all edges, from the
    target to the source: as what cannot arrive has to be sent back, the better end to begin at is the one whose edges
    take less.
    """

    def __init__(self, network: Graph, source: int, target: int, *, is_turned: bool) -> None:
        self.network, self.target, self.is_turned = network, target, is_turned
        self._graph = turned(network) if is_turned else network
        self._origin, self._goal = (target, source) if is_turned else (source, target)
        self._sent, self._excess = flood(self._graph, self._origin)

    @property
    def arrived(self) -> int:
        """What has got from one end to the other."""
        return int(self._excess[self._goal])

    def net(self) -> Any:
        """What is sent along each edge less what is sent along its partner, in int64."""
        there, back = self._sent, self._sent[self.network.reverse_edge_ids]
        return back - there if self.is_turned else there - back

    def source_side(self) -> Any:
        """Who can't send more to the target: the largest source side of the cheapest cuts, once all has arrived."""
        if self.is_turned:
            self.give_back()  # or edges would be full of what nobody sends
        sent = self._sent[self.network.reverse_edge_ids] if self.is_turned else self._sent
        return ~leads_to(self.network, self.target, sent=sent)

    def settle(self) -> None:
        """Send excess on until no more can arrive. What is left may still be anywhere."""
        self._send_to(self._goal)

    def give_back(self) -> None:
        """Send what is left back to where it came from: what remains is a flow."""
        self._send_to(self._origin)

    def _send_to(self, goal: int) -> None:
        """Send excess to the goal until no more can get there.

        Every turn sends or raises something. Heights stay a valid labelling, which no search lowers, so vertices rise
        n**2 times at most, and push-relabel's bound of O(n**2 m) operations holds [Goldberg, Tarjan 1988].
        """
        graph, rounds = self._graph, Rounds(origin=self._origin, sink=self._goal)
        while any_true(waits := self._waits()):
            found = _search(graph, goal, sent=self._sent)
            heights = found.height
            waits &= array_module(heights).less(heights, FAR)
            if not any_true(waits):
                return
            if goal != self._origin:
                heights[self._origin] = FAR
            most = SHARE * graph.m // int(graph.out_degrees[waits].sum())
            left = run(
                rounds, graph, active=waits, max_iterations=2 * max(FEWEST, min(found.iterations, most)),
                notice=False, height=heights, excess=self._excess, sent=self._sent,
            )  # fmt: skip
            self._sent, self._excess = left.sent, left.excess

    def _waits(self) -> Any:
        """The vertices that have excess, but for the two ends."""
        waits = array_module(self._excess).greater(self._excess, 0)
        waits[self._origin] = waits[self._goal] = False
        return waits
