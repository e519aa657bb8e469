"""Compute maximum flows on one thread: each phase sends a blocking flow along the shortest residual paths.

Each phase runs two breadth-first searches, from the source and from the target. It continues the search whose next
layer has fewer edges, until an edge of positive residual capacity leads from one search to the other. The layers then
hold all shortest residual paths, and a depth-first search saturates an edge of each. So the length of a shortest path
grows from phase to phase, as in Dinitz's algorithm. A phase only reads what the two searches reach, which is little if
the ends are close to each other, or if the cut is next to one of them.

The flow of an edge is minus the flow of its reverse edge. Its residual capacity is its capacity minus its flow.

Y. Dinitz: Algorithm for solution of a problem of maximum flow in networks with power estimation. Soviet Mathematics
Doklady 11 (1970).

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices :
    (n + 1,) int64 offsets of the adjacency lists, and (m,) ids of neighbors
numbers, back :
    (m,) int64, the number of the edge of each entry in `indices`; (m,) int64, the number of each edge's reverse edge
capacity, flow :
    (m,) int64, by the number of the edge
level, marks :
    (n,) int64, the layer of each vertex; (n,) uint8, 1 for vertices that were reached
at, arc :
    (n,) int64, the position in `indices` at which the search of each vertex's list goes on; (n,) int64, the positions
    of the edges of the current path
ahead, behind, queue :
    (n,) ids, the queue of the search from the source, of that from the target, and of either one
path :
    (n,) ids, the vertices of a path from the source
state :
    (3,) int64, the source, the target, and the amount of flow that was sent so far
first, end, side :
    the range of the queue that is the last layer; 1 for the search from the source, -1 for that from the target
near, far :
    the number of the last layer from the source, and of the outermost layer from the target
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import run
from gasla.cpu.runtime.threads import is_stopped
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

_ZERO, _ONE = np.uint64(0), np.uint64(1)


def send_flow(network: Graph, source: int, target: int) -> tuple[int, Array]:
    """Return the amount of a maximum flow from `source` to `target`, and the net flow of each edge
    (`primitives.send_flow`).
    """
    flow, state = np.zeros(network.m, np.int64), np.array([source, target, 0])
    level, ids = np.zeros(network.n, np.int64), [np.empty(network.n, network.id_dtype) for _ in range(3)]
    arcs = [np.empty(network.n, np.int64) for _ in range(2)]
    _run_on_one_thread(_send_maximum_flow, network, flow, level, *arcs, *ids, state)
    return int(state[2]), flow


def residual_sources(network: Graph, flow: Array, target: int) -> Array:
    """Return a mask of the vertices from which residual edges lead to the target (`primitives.residual_sources`)."""
    marks, state = np.zeros(network.n, bool), np.array([target])
    _run_on_one_thread(_mark_sources, network, flow, marks.view(np.uint8), np.empty(network.n, network.id_dtype), state)
    return marks


def _run_on_one_thread(kernel: Any, network: Graph, *args: Array) -> None:
    """Run a kernel of this module on a flow network with one thread.

    The calling thread watches meanwhile, so that Ctrl-C ends the run.
    """
    lists, ids, capacity = network.out, network.out.numbers(), np.asarray(network.values)
    starts = lists.indptr.astype(np.int64, copy=False)
    run(kernel, 0, starts, lists.indices, ids, network.reverse_edge_ids, capacity, *args, most=1 << 62)


@compiled
def _send_maximum_flow(
    thread, threads, control, indptr, indices, numbers, back, capacity, flow, level, at, arc, ahead, behind, path, state
):
    """Send flow along shortest residual paths until none is left, and add its amount to ``state[2]``.

    `level` is 1 at the source and counts up from there. It is -1 at the target and counts down from there, and 0 at
    vertices that neither search has reached.
    """
    s, t = np.uint64(state[0]), np.uint64(state[1])
    while not is_stopped(control):
        level[s], at[s], ahead[_ZERO] = 1, indptr[s], s
        level[t], at[t], behind[_ZERO] = -1, indptr[t], t
        near, far, searches_meet = 1, -1, False
        first, last, first_behind, last_behind = _ZERO, _ONE, _ZERO, _ONE
        forward_work, backward_work = indptr[s + _ONE] - indptr[s], indptr[t + _ONE] - indptr[t]
        while not searches_meet and first < last and first_behind < last_behind:
            if forward_work <= backward_work:
                end = last
                last, forward_work, searches_meet = _extend_search(
                    control, indptr, indices, numbers, back, capacity, flow, level, at, ahead, first, end, 1
                )
                if not searches_meet:
                    first, near = end, near + 1
            else:
                end = last_behind
                last_behind, backward_work, searches_meet = _extend_search(
                    control, indptr, indices, numbers, back, capacity, flow, level, at, behind, first_behind, end, -1
                )
                if not searches_meet:
                    first_behind, far = end, far - 1
        if not searches_meet:
            return
        _send_blocking_flow(
            control, indptr, indices, numbers, back, capacity, flow, level, at, arc, path, state, near, far
        )
        for i in range(last):
            level[np.uint64(ahead[i])] = 0
        for i in range(last_behind):
            level[np.uint64(behind[i])] = 0


@compiled
def _extend_search(control, indptr, indices, numbers, back, capacity, flow, level, at, queue, first, end, side):
    """Add the next layer of a breadth-first search along residual edges to the queue of the search.

    `side` is 1 for the search from the source, and -1 for that from the target. Return the end of the queue, the number
    of edges of the new layer, and whether an edge leads to the other search.
    """
    last, work = end, 0
    for i in range(first, end):
        if is_stopped(control):
            return end, 0, False
        u = np.uint64(queue[i])
        for k in range(np.uint64(indptr[u]), np.uint64(indptr[u + _ONE])):
            v = np.uint64(indices[k])
            if level[v] * side <= 0:
                e = np.uint64(numbers[k])
                if side < 0:
                    e = np.uint64(back[e])
                if flow[e] < capacity[e]:
                    if level[v] != 0:
                        return last, work, True
                    level[v], at[v], queue[last] = level[u] + side, indptr[v], v
                    work += indptr[v + _ONE] - indptr[v]
                    last += _ONE
    return last, work, False


@compiled
def _send_blocking_flow(
    control, indptr, indices, numbers, back, capacity, flow, level, at, arc, path, state, near, far
):
    """Search depth-first from the source through the layers of vertices, and saturate an edge of each path to the
    target.

    Layers are vertices at equal distance. They count up to `near` on the side of the source, and then from `far` up to
    -1 at the target. ``at[v]`` is the position in v's adjacency list at which the search goes on.
    """
    s, t, depth = np.uint64(state[0]), np.uint64(state[1]), _ZERO
    u = s
    while not is_stopped(control):
        if u == t:
            depth = _augment(numbers, back, capacity, flow, arc, depth, state)
            u = np.uint64(path[depth])
        next_level = level[u] + 1
        if level[u] == near:
            next_level = far
        k, stop = np.uint64(at[u]), np.uint64(indptr[u + _ONE])
        while k < stop:
            e = np.uint64(numbers[k])
            if level[np.uint64(indices[k])] == next_level and flow[e] < capacity[e]:
                break
            k += _ONE
        at[u] = k
        if k < stop:
            path[depth], arc[depth] = u, k
            depth += _ONE
            u = np.uint64(indices[k])
        else:
            level[u] = 0
            if depth == _ZERO:
                return
            depth -= _ONE
            u = np.uint64(path[depth])
            at[u] += 1


@compiled
def _augment(numbers, back, capacity, flow, arc, depth, state):
    """Send as much flow along the current path of `depth` edges as the residual capacities of its edges allow.

    Return the position on the path of the first edge that is saturated now.
    """
    first_saturated, e = _ZERO, np.uint64(numbers[np.uint64(arc[_ZERO])])
    smallest_residual = capacity[e] - flow[e]
    for i in range(_ONE, depth):
        e = np.uint64(numbers[np.uint64(arc[i])])
        if capacity[e] - flow[e] < smallest_residual:
            first_saturated, smallest_residual = i, capacity[e] - flow[e]
    for i in range(depth):
        e = np.uint64(numbers[np.uint64(arc[i])])
        flow[e] += smallest_residual
        flow[np.uint64(back[e])] -= smallest_residual
    state[2] += smallest_residual
    return first_saturated


@compiled
def _mark_sources(thread, threads, control, indptr, indices, numbers, back, capacity, flow, marks, queue, state):
    """Mark all vertices from which the target is reached along residual edges, by a search backward from the target.

    Each step either extends from the vertices that were reached last, or tests all vertices that were not reached yet,
    whichever reads fewer edges.
    """
    n, t = np.uint64(len(marks)), np.uint64(state[0])
    marks[t], queue[_ZERO] = 1, t
    first, last = _ZERO, _ONE
    work = indptr[t + _ONE] - indptr[t]
    unreached_edges = indptr[n] - work
    while first < last and not is_stopped(control):
        end, edges = last, 0
        if work <= unreached_edges:
            for i in range(first, end):
                u = np.uint64(queue[i])
                for k in range(np.uint64(indptr[u]), np.uint64(indptr[u + _ONE])):
                    v = np.uint64(indices[k])
                    if marks[v] == 0:
                        e = np.uint64(back[np.uint64(numbers[k])])
                        if flow[e] < capacity[e]:
                            marks[v], queue[last] = 1, v
                            last += _ONE
                            edges += indptr[v + _ONE] - indptr[v]
        else:
            for v in range(n):
                if marks[v] == 0:
                    for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
                        e = np.uint64(numbers[k])
                        if marks[np.uint64(indices[k])] != 0 and flow[e] < capacity[e]:
                            marks[v], queue[last] = 1, v
                            last += _ONE
                            edges += indptr[v + _ONE] - indptr[v]
                            break
        first, work, unreached_edges = end, edges, unreached_edges - edges
