"""Push-relabel: excess, inflow minus outflow, is pushed downhill until it reaches the goal.

Every edge has a partner in the other direction. The residual capacity of an edge is its capacity, minus the flow along
the edge, plus the flow along its partner. At first the source saturates its edges. Then vertices with excess push it
on, in rounds of two iterations:

- decide: each vertex selects the lowest neighbor along a residual edge. If this neighbor is lower than the vertex, the
  vertex will push excess to it. If not, the vertex is relabeled: its height becomes that of the neighbor plus one.
- push: the amount is subtracted at one end of the edge and added at the other, and the tail records it on the edge.

A self loop at every vertex lets an active vertex stay active. Heights estimate the distance to the goal, and would rise
slowly where no residual path leads to the goal. So after some rounds they are recomputed, by a search from the goal
along residual edges (global relabeling). When the search reaches no vertex with excess, no more excess can arrive, and
the run ends. All numbers are integers and each edge is decided by its own ends, so the flow is deterministic.

A. V. Goldberg, R. E. Tarjan: A new approach to the maximum-flow problem. Journal of the ACM 35 (1988).
B. Hong, Z. He: An asynchronous multithreaded algorithm for the maximum network flow problem with nonblocking global
relabeling heuristic. IEEE Transactions on Parallel and Distributed Systems 22 (2011).
N. Baumstark, G. Blelloch, J. Shun: Efficient implementation of a synchronous parallel push-relabel algorithm. ESA 2015.
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.flows.network import reversed_network, saturate
from gasla.arrays import any_true, array_module
from gasla.graph.graph import Graph
from gasla.graph.weights import exact_total
from gasla.operations.ahead import compile_ahead
from gasla.operations.run import run
from gasla.program import VertexProgram, edge, parameter, vertex

UNREACHABLE = 2**62  # height of a vertex from which no path of residual edges leads to the goal
NO_EDGE = -1  # value of `arc` at a vertex that pushes its excess along no edge
# Heights are recomputed by a search after as many rounds as the last search had levels. They are recomputed sooner if
# the rounds have read about EDGE_SHARE * m edges, but not before FEWEST_ROUNDS rounds.
FEWEST_ROUNDS, EDGE_SHARE = 2, 2


def _lowest_and_sum(x: Any, y: Any) -> Any:
    """Combine two tuples (height, edge id, residual capacity, change of excess) that a vertex gathers from two edges.

    The first three entries become those of the tuple with the smaller height, or at equal heights with the smaller edge
    id: the lowest neighbor to which the vertex can push. The changes of excess are added.
    """
    is_first = (x[0] < y[0]) | ((x[0] == y[0]) & (x[1] < y[1]))
    return *(semirings.where(is_first, x[i], y[i]) for i in range(3)), x[3] + y[3]


def residual_back(edge: Any) -> Any:
    """Return the residual capacity of the reverse edge of `edge`: how much more can flow back."""
    return edge.back.capacity - edge.back.sent + edge.sent


class Distances(VertexProgram):
    """height(v) = the number of edges on a shortest path with residual capacity from v to the goal of a flow.

    If there is no such path, height(v) is UNREACHABLE.
    """

    height = vertex(np.int64, init=UNREACHABLE)
    capacity = edge(np.int64)
    sent = edge(np.int64, init=0)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.height == UNREACHABLE

    def edge_mask(self, src, dst, edge):
        return residual_back(edge) > 0

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"height": self.iteration + 1}


class Rounds(VertexProgram):
    """Push the excess of vertex v (its inflow minus outflow) to its lowest neighbor with residual capacity on the edge.

    If this neighbor is not lower than v, raise v instead.

    A round has two iterations. Even iterations choose the edge along which to push, or raise the vertex. Odd iterations
    push.
    """

    height = vertex(np.int64)
    excess = vertex(np.int64)
    arc = vertex(np.int64, init=NO_EDGE)  # the edge that v pushes along in this round
    amount = vertex(np.int64)
    capacity = edge(np.int64)
    sent = edge(np.int64, init=0)
    origin = parameter(np.int64, -1)
    sink = parameter(np.int64, -1)
    reduce = semirings.Monoid(
        _lowest_and_sum, (UNREACHABLE, UNREACHABLE, 0, 0), commutative=True, name="lowest and sum"
    )

    def pushes(self):
        return self.iteration % 2 == 1

    def has_excess(self, vertex):
        return (vertex.excess > 0) & (vertex.id != self.origin) & (vertex.id != self.sink) & (vertex.height < self.n)

    def mask(self, vertex):
        return self.pushes() | self.has_excess(vertex)

    def edge_mask(self, src, dst, edge):
        is_arc = (src.arc == edge.id) | (dst.arc == edge.back.id)
        return (src.id == dst.id) | semirings.where(self.pushes(), is_arc, residual_back(edge) > 0)

    def gather(self, src, dst, edge):
        height = semirings.where(src.id == dst.id, UNREACHABLE, src.height)
        came = semirings.where((src.arc == edge.id) & (src.height > dst.height), src.amount, 0)
        left = semirings.where((dst.arc == edge.back.id) & (dst.height > src.height), dst.amount, 0)
        return height, edge.back.id, residual_back(edge), came - left

    def apply(self, vertex, gathered):
        lowest, arc, residual, change = gathered
        rises = lowest >= vertex.height
        where, pushes = semirings.where, self.pushes()
        return {
            "height": where(pushes | ~rises, vertex.height, lowest + 1),
            "arc": where(pushes, vertex.arc, where(rises, NO_EDGE, arc)),
            "amount": where(pushes, vertex.amount, semirings.minimum(vertex.excess, residual)),
            "excess": where(pushes, vertex.excess + change, vertex.excess),
        }

    def activate(self, before, after):
        return (after.arc >= 0) | self.has_excess(after)

    def scatter(self, src, dst, edge):
        is_sent = self.pushes() & (src.arc == edge.id) & (src.height > dst.height)
        return {"sent": semirings.where(is_sent, edge.sent + src.amount, edge.sent)}

    def post_apply(self, vertex):
        return {"arc": semirings.where(self.pushes(), NO_EDGE, vertex.arc)}


DISTANCES = Distances()


def leads_to(network: Graph, target: int, **sent: Any) -> Any:
    """Return a mask of the vertices from which a path of edges with residual capacity leads to the target."""
    heights = _search(network, target, **sent).height
    return array_module(heights).less(heights, UNREACHABLE)


def _search(network: Graph, goal: int, **sent: Any) -> Any:
    """Search from the goal of a flow against edges with residual capacity, and return the result of the search's run.

    It has the height of each vertex: the number of edges on a shortest path to the goal, or `UNREACHABLE` without a
    path.
    """
    return run(DISTANCES, network, active=[goal], height={goal: 0}, notice=False, **sent)


class Preflow:
    """A preflow in a network of integer capacities: the flow of every edge, and the excess of every vertex.

    At first all edges at one end, the start, are saturated. Excess is then pushed to the other end, the goal. The start
    is the source, or, if `is_reversed`, the target, with all edges reversed. Excess that can't reach the goal has to
    return to the start, so the start should be the end whose edges have less capacity.
    """

    def __init__(self, network: Graph, source: int, target: int, *, is_reversed: bool) -> None:
        self.network, self.target, self.is_reversed = network, target, is_reversed
        self._graph = reversed_network(network) if is_reversed else network
        self._origin, self._goal = (target, source) if is_reversed else (source, target)
        compile_ahead(self._graph, DISTANCES, Rounds(origin=self._origin, sink=self._goal))
        self._sent, self._excess = saturate(self._graph, self._origin)

    @property
    def arrived(self) -> int:
        """The amount of flow that has arrived at the goal: the target, or the source if the preflow is reversed."""
        return int(self._excess[self._goal])

    def net(self) -> Any:
        """Return the net flow of each edge as int64: its flow minus that of its reverse edge."""
        flow, sent_back = self._sent, self._sent[self.network.reverse_edge_ids]
        return sent_back - flow if self.is_reversed else flow - sent_back

    def source_side(self) -> Any:
        """Return a mask of the largest source side of a minimum cut: all vertices that can't reach the target.

        A vertex can't reach the target if no path of edges with residual capacity leads there.
        """
        if self.is_reversed:
            # Excess that has yet to return to the target may saturate edges, which would hide residual paths.
            self.return_excess()
        flow = self._sent[self.network.reverse_edge_ids] if self.is_reversed else self._sent
        return ~leads_to(self.network, self.target, sent=flow)

    def push_to_goal(self) -> None:
        """Push excess until no more can arrive at the goal. What can't arrive is left at the vertices where it is."""
        self._push_to(self._goal)

    def return_excess(self) -> None:
        """Push the remaining excess back to the start, where it came from, so that the preflow becomes a flow."""
        self._push_to(self._origin)

    def _push_to(self, goal: int) -> None:
        """Push excess to vertex `goal` until no more can arrive.

        Every round pushes or relabels. Heights stay a valid labeling, which no search lowers, so vertices rise at most
        n**2 times, and push-relabel's bound of O(n**2 m) operations holds [Goldberg, Tarjan 1988].
        """
        graph, rounds = self._graph, Rounds(origin=self._origin, sink=self._goal)
        while any_true(has_excess := self._excess_mask()):
            search = _search(graph, goal, sent=self._sent)
            heights = search.height
            has_excess &= array_module(heights).less(heights, UNREACHABLE)
            if not any_true(has_excess):
                return
            if goal != self._origin:
                heights[self._origin] = UNREACHABLE
            round_limit = EDGE_SHARE * graph.m // exact_total(graph.out_degrees[has_excess])
            result = run(
                rounds, graph, active=has_excess, notice=False,
                max_iterations=2 * max(FEWEST_ROUNDS, min(search.iterations, round_limit)),
                height=heights, excess=self._excess, sent=self._sent,
            )  # fmt: skip
            self._sent, self._excess = result.sent, result.excess

    def _excess_mask(self) -> Any:
        """Return a mask of the vertices, other than source and target, that have excess: inflow minus outflow."""
        has_excess = array_module(self._excess).greater(self._excess, 0)
        has_excess[self._origin] = has_excess[self._goal] = False
        return has_excess
