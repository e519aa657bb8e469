"""The k shortest paths from one vertex to another that visit no vertex twice.

Yen's algorithm divides the paths that are still unknown into deviations: all paths that begin with the same vertices,
and whose next vertex is none of some excluded ones. The least of the shortest paths of all deviations is the next
result, which then splits its deviation into one per vertex of the path.

One run finds the distance from every vertex to the target. It is a lower bound of what remains of a path, so A*
searches a deviation along few vertices besides its path, and no further than to the bound of the next deviation: most
deviations are never searched. These searches are short, and run in Python.
"""

from collections.abc import Hashable, Iterator
from heapq import heappop, heappush
from itertools import islice, pairwise, takewhile
from math import inf
from sys import maxsize
from typing import Any

import numpy as np

from gasla.algorithms.paths.shortest_path import PathResult
from gasla.algorithms.paths.sssp import sssp
from gasla.arrays import module_of, moved
from gasla.graph.arguments import has_negative, source_vertex, whole_number
from gasla.graph.graph import Graph, as_graph

Path = tuple[int, ...]

_OVERFLOW = (
    "the weights on a path sum to infinity in float64; expected a finite sum: divide all weights by the same number"
)


class Edges:
    """The edges by which the target can be reached, the shortest of parallel ones; read when they are first needed."""

    def __init__(self, graph: Graph, remaining: Any) -> None:
        self.out, self.lengths, self.remaining = graph.out, graph.out_values, remaining
        self.known: dict[int, list[tuple[float, int, float]]] = {}
        self.numbers: dict[tuple[int, int], int] = {}

    def of(self, v: int) -> list[tuple[float, int, float]]:
        """The edges that leave a vertex, sorted: length plus the distance from the head to the target, head, length."""
        return self.known[v] if v in self.known else self._read(v)

    def _read(self, v: int) -> list[tuple[float, int, float]]:
        first, last = self.out.indptr[v : v + 2].tolist()
        heads, ids = self.out.indices[first:last], self.out.edge_ids
        lengths = np.ones(len(heads)) if self.lengths is None else self.lengths[first:last].astype(np.float64)
        numbers = range(first, last) if ids is None else ids[first:last].tolist()
        with np.errstate(over="ignore"):  # checked below
            bounds = lengths + self.remaining[heads]
        if np.any(np.isinf(bounds) & np.isfinite(lengths) & np.isfinite(self.remaining[heads])):
            raise ValueError(_OVERFLOW)
        found = self.known[v] = []
        for bound, u, length, number in sorted(zip(bounds.tolist(), heads.tolist(), lengths.tolist(), numbers)):
            if u != v and bound < inf and (v, u) not in self.numbers:
                self.numbers[v, u] = number
                found.append((bound, u, length))
        return found

    def length(self, u: int, v: int) -> float:
        """The length of the edge from one vertex to another."""
        return next(length for _, head, length in self.of(u) if head == v)


class Deviation:
    """The paths to the target that begin as `path` does up to index `place`, and whose next vertex is not excluded.

    `bound` is a lower bound of their lengths. `head` is a lower bound of the next vertex of the paths whose length is
    `bound`, by which ties are broken. `length` is the length of the common beginning.
    """

    def __init__(
        self,
        edges: Edges,
        target: int,
        path: Path,
        place: int,
        length: float,
        excluded: frozenset[int] = frozenset(),
        bound: float = 0.0,
        head: int = -1,
    ) -> None:
        self.edges, self.target, self.path, self.place, self.length = edges, target, path, place, length
        self.excluded, self.bound, self.head = excluded, bound, head
        self.found: Path = ()  # the shortest path, once it is known
        self.heap: list[tuple[float, int, int, int]] = []  # bound, order, vertex, index of the edge that leaves it
        self.lengths: dict[int, float] = {}  # lengths of the shortest paths to the vertices reached
        self.before: dict[int, int] = {}

    def __lt__(self, other: "Deviation") -> bool:
        """The order of deviations of the same bound: by the least path, or by a beginning that bounds it."""
        return self._least() < other._least()

    def _least(self) -> Path:
        return self.found or (*self.path[: self.place + 1], self.head)

    def search(self, limit: float) -> tuple[float, Path] | None:
        """Continue an A* search. Return a shortest path of length at most `limit`, or None after raising `bound`."""
        start, heap, lengths, before = self.path[self.place], self.heap, self.lengths, self.before
        if not lengths:
            lengths.update(dict.fromkeys(self.path[: self.place], 0.0))
            lengths[start] = self.length
            self._open(start, 0)
        while heap and heap[0][0] <= limit:
            _, _, v, i = heappop(heap)
            self._open(v, i + 1)
            _, u, length = self.edges.of(v)[i]
            if u in lengths or (v == start and u in self.excluded):
                continue
            lengths[u], before[u] = lengths[v] + length, v
            if u == self.target:
                return lengths[u], self._traced()
            self._open(u, 0)
        self.bound, self.head = heap[0][0] if heap else inf, -1
        return None

    def _open(self, v: int, i: int) -> None:
        """Put an edge on the heap. Of edges with equal bounds the last goes first, so that a search runs straight."""
        edges = self.edges.of(v)
        if i < len(edges):
            heappush(self.heap, (_sum(self.lengths[v], edges[i][0]), -len(self.lengths), v, i))

    def _traced(self) -> Path:
        path = [self.target]
        while path[-1] in self.before:
            path.append(self.before[path[-1]])
        return self.path[: self.place] + tuple(path[::-1])

    def smallest(self, total: float, path: Path) -> Path:
        """The lexicographically smallest path of this length: at each vertex, try the heads below the next vertex."""
        place, begun = self.place, self.length
        while (v := path[place]) != self.target:
            near = takewhile(lambda edge: begun + edge[0] <= total, self.edges.of(v))  # noqa: B023
            for u, length in sorted((u, length) for _, u, length in near if u < path[place + 1]):
                if u in path[:place] or (place == self.place and u in self.excluded):
                    continue
                begin = (*path[: place + 1], u)
                other = Deviation(self.edges, self.target, begin, place + 1, begun + length)
                found = (total, begin) if u == self.target else other.search(total)
                if found is not None:
                    path = found[1]
                    break
            begun += self.edges.length(v, path[place + 1])
            place += 1
        return path

    def divided(self, path: Path) -> "Iterator[Deviation]":
        """Split this deviation after its path is found: the parts contain all of its other paths."""
        begun, passed = self.length, set(path[: self.place])
        for place in range(self.place, len(path) - 1):
            v, u = path[place : place + 2]
            excluded = frozenset((u, *self.excluded)) if place == self.place else frozenset((u,))
            for bound, head, _ in self.edges.of(v):
                if head not in excluded and head not in passed:
                    yield Deviation(self.edges, self.target, path, place, begun, excluded, _sum(begun, bound), head)
                    break
            begun += self.edges.length(v, u)
            passed.add(v)


def _sum(begun: float, bound: float) -> float:
    """The sum of two finite lengths; ValueError if it overflows."""
    if begun + bound == inf:
        raise ValueError(_OVERFLOW)
    return begun + bound


def k_shortest_paths(graph: Any, source: Hashable, target: Hashable, k: int) -> list[PathResult]:
    """Find the k shortest paths from one vertex to another that visit no vertex twice.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the length of the edge i -> j, 0 or more. A graph without values has edges of length 1.
    source, target : int or name
        The ends of the paths.
    k : int
        The number of paths.

    Returns
    -------
    list of PathResult(distance, path, edges)
        The paths by increasing length, those of the same length in lexicographic order of their vertices; fewer than k
        if there are no more. Each is as `gasla.shortest_path` returns it: the length, the ids of the vertices from
        source to target, and the int64 ids of the edges between them. Arrays are on the device of the graph.

    Raises
    ------
    TypeError, ValueError
        If source or target is not a vertex, `k` is negative or not an integer, a length is negative or NaN, or a sum of
        finite lengths overflows.

    See Also
    --------
    gasla.shortest_path : one path, without the distances from all vertices.
    gasla.csgraph.yen : in the form of SciPy's function.

    Notes
    -----
    Stored zeros are edges of length 0. Paths differ if their vertices do: of parallel edges the shortest counts,
    and of equally long ones that of the smallest id.

    Lengths are summed in float64. The order is exact if the sums are, as those of integers below 2**53; otherwise paths
    whose lengths differ by rounding only may change places.

    The distances to the target are found on the graph's device, the paths by Python on the CPU.

    References
    ----------
    J. Yen: Finding the K Shortest Loopless Paths in a Network. Management Science 17 (1971).

    E. Lawler: A Procedure for Computing the K Best Solutions to Discrete Optimization Problems and Its Application to
    the Shortest Path Problem. Management Science 18 (1972).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 0, 1, 1, 2], [1, 2, 2, 3, 3], [1.0, 3.0, 1.0, 4.0, 2.0])
    >>> for distance, path, edges in gasla.k_shortest_paths(graph, 0, 3, 5):
    ...     print(distance, path, edges)
    4.0 [0 1 2 3] [0 2 4]
    5.0 [0 1 3] [0 3]
    5.0 [0 2 3] [1 4]
    """
    graph = as_graph(graph)
    source, target = source_vertex(graph, source), source_vertex(graph, target, "target")
    k = whole_number("k", k)
    graph.notice_values()
    if has_negative(graph):
        assert graph.value_type is not None
        e = int(graph.values.argmin())
        raise ValueError(f"edge {e} has the length {graph.values[e].item()}; expected 0 or more")
    against: Graph = graph.kept("edges reversed", Graph.reversed)
    edges = Edges(graph.to("cpu"), moved(sssp(against, target, dtype=np.float64), "cpu"))
    xp = module_of(graph.device)
    return [
        PathResult(
            length,
            xp.asarray(path, dtype=graph.id_dtype),
            xp.asarray([edges.numbers[ends] for ends in pairwise(path)], dtype=np.int64),
        )
        for length, path in sorted(islice(_in_order(edges, source, target), min(k, maxsize)))
    ]


def _in_order(edges: Edges, source: int, target: int) -> Iterator[tuple[float, Path]]:
    """All paths, by length and then by vertices."""
    if source == target:
        yield 0.0, (source,)
        return
    every = Deviation(edges, target, (source,), 0, 0.0, bound=float(edges.remaining[source]))
    heap = [(every.bound, every)]
    while heap and heap[0][0] < inf:
        length, deviation = heappop(heap)
        if deviation.found:
            yield length, deviation.found
            for other in deviation.divided(deviation.found):
                heappush(heap, (other.bound, other))
            continue
        if found := deviation.search(heap[0][0] if heap else inf):
            deviation.bound, deviation.found = found[0], deviation.smallest(*found)
        heappush(heap, (deviation.bound, deviation))
