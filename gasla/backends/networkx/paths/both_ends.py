"""The choice among several shortest paths between two nodes that NetworkX's bidirectional Dijkstra search makes.

It follows from the order of two heaps, so the search is repeated step by step.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

from gasla.graph.graph import Graph


def path_from_both_ends(graph: Graph, back: Graph, source: int, target: int) -> list[int]:
    """Return the vertices of the shortest path that a bidirectional Dijkstra search in NetworkX's order finds.

    `graph` has the edges out of each vertex, and `back` is the reversed graph. The neighbors in both graphs are in
    NetworkX's order, so that ties between paths are broken in the same way.
    """
    done: list[dict[int, float]] = [{}, {}]
    seen: list[dict[int, float]] = [{source: 0.0}, {target: 0.0}]
    parents: list[dict[int, int]] = [{source: -1}, {target: -1}]
    heaps: list[list[tuple[float, int, int]]] = [[(0.0, 0, source)], [(0.0, 1, target)]]
    shortest, middle, count, side = float("inf"), -1, 2, 1
    while heaps[0] and heaps[1]:
        side = 1 - side
        distance, _, v = heappop(heaps[side])
        if v in done[side]:
            continue
        done[side][v] = distance
        if v in done[1 - side]:
            break
        for w, length in _edges_out_of(graph if side == 0 else back, v):
            total = distance + length
            if w in done[side] or total >= seen[side].get(w, float("inf")):
                continue
            seen[side][w], parents[side][w] = total, v
            heappush(heaps[side], (total, count, w))
            count += 1
            if w in seen[1 - side] and total + seen[1 - side][w] < shortest:
                shortest, middle = total + seen[1 - side][w], w
    return [*reversed(list(_trace_back(parents[0], middle))), *_trace_back(parents[1], parents[1][middle])]


def _edges_out_of(graph: Graph, v: int) -> Iterator[tuple[int, float]]:
    """Return an iterator over the heads and lengths of a vertex's outgoing edges, in adjacency order."""
    first, last = graph.out.indptr[v : v + 2].tolist()
    heads = graph.out.indices[first:last].tolist()
    values = graph.out_values
    return zip(heads, [1.0] * len(heads) if values is None else values[first:last].tolist())


def _trace_back(parents: dict[int, int], v: int) -> Iterator[int]:
    while v >= 0:
        yield v
        v = parents[v]
