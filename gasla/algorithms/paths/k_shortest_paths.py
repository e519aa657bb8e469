"""The k shortest paths from one vertex to another that visit no vertex twice.

Yen's algorithm divides the paths that are still unknown into deviations. A deviation is the set of all paths that begin
with the same vertices, and whose next vertex is none of some excluded vertices. Each deviation has a shortest path. The
shortest of these is the next result, which then splits its deviation into one per vertex of the path.

One run finds the distance from every vertex to the target. This is a lower bound of what remains of a path, so A*
searches a deviation along few vertices besides its path, and no further than to the bound of the next deviation. So
most deviations are never searched. These searches are short, and run in Python. The bound misleads a search where many
vertices lead back to its path alone, as the leaves of a hub do. Once a search has followed as many edges as another run
would take time for, that run finds the distances to the target around the path.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterator
from heapq import heappop, heappush
from itertools import islice, pairwise
from math import inf
from sys import maxsize
from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.paths.shortest_path import PathResult
from gasla.algorithms.paths.sssp import sssp
from gasla.arrays import module_of, moved
from gasla.graph.arguments import has_negative, whole_number
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.weights import takes_weight
from gasla.rows import Command, Row

Path = tuple[int, ...]
# These take about as long as another run: MANY searches from heads that tie, or an A* search that reaches PATIENCE
# vertices, and one more for every SHARE vertices and edges of the graph.
MANY, PATIENCE, SHARE = 64, 1000, 100

OVERFLOW = (
    "the weights on a path sum to infinity in float64; expected a finite sum: divide all weights by the same number"
)


class Near(NamedTuple):
    """The edges that leave a vertex, sorted by `bounds`, which are the length plus the distance from the head to the
    target.
    """

    bounds: list[float]
    heads: list[int]
    lengths: list[float]
    ids: Any  # the heads as an array

    def place(self, head: int) -> int:
        """Return the index of a head among the edges."""
        return int((self.ids == head).argmax())

    def below(self, head: int, total: float, begun: float, without: set[int]) -> list[int]:
        """Return the heads with ids below `head`, in ascending order, without those in the set `without`.

        A head is left out, too, if the length `begun` plus its bound is more than `total`.
        """
        heads = self.ids[: bisect_right(self.bounds, total, key=lambda bound: begun + bound)]
        return [u for u in np.sort(heads[heads < head]).tolist() if u not in without]


class Edges:
    """The edges from which the target can be reached, without parallel edges that are longer. They are read when first
    needed.
    """

    def __init__(self, graph: Graph, against: Graph, target: int, avoided: Path = ()) -> None:
        self.graph, self.against, self.target, self.is_whole = graph, against, target, not avoided
        if avoided:
            xp: Any = module_of(against.device)
            is_avoided = xp.zeros(graph.n, bool)
            is_avoided[list(avoided)] = True
            against = against.select(~is_avoided[against.edges()[1]])
        self.patience = PATIENCE + (graph.n + graph.m) // SHARE
        self.remaining = moved(sssp(against, target, dtype=np.float64), "cpu")
        self.known: dict[int, Near] = {}

    def around(self, path: Path) -> "Edges":
        """Return the edges from which the target can be reached without passing the vertices of a path."""
        return Edges(self.graph, self.against, self.target, path)

    def of(self, v: int) -> Near:
        """Return the edges that leave a vertex and lead to the target, which are read if they have not been yet."""
        return self.known[v] if v in self.known else self._read(v)

    def _lists(self, v: int) -> tuple[Any, Any, slice]:
        """Return the heads and lengths of all edges that leave a vertex, and the slice of the graph's arrays that they
        are in.
        """
        out, lengths = self.graph.out, self.graph.out_values
        places = slice(*out.indptr[v : v + 2].tolist())
        heads = out.indices[places]
        return heads, np.ones(len(heads)) if lengths is None else lengths[places].astype(np.float64), places

    def _read(self, v: int) -> Near:
        heads, lengths, _ = self._lists(v)
        with np.errstate(over="ignore"):  # an infinite sum raises an error below
            bounds = lengths + self.remaining[heads]
        is_usable = np.isfinite(bounds)
        if not is_usable.all() and np.any(~is_usable & np.isfinite(lengths) & np.isfinite(self.remaining[heads])):
            raise ValueError(OVERFLOW)
        is_usable &= heads != v
        bounds, heads, lengths = bounds[is_usable], heads[is_usable], lengths[is_usable]
        order = np.lexsort((heads, bounds))
        if self.graph.has_parallel_edges:
            order = order[np.sort(np.unique(heads[order], return_index=True)[1])]
        heads = heads[order]
        edges = self.known[v] = Near(bounds[order].tolist(), heads.tolist(), lengths[order].tolist(), heads)
        return edges

    def number(self, v: int, u: int) -> int:
        """Return the id of the shortest edge from one vertex to another. Of equally long edges it is the smallest
        id.
        """
        heads, lengths, places = self._lists(v)
        ids = self.graph.out.edge_ids
        numbers = np.arange(places.start, places.stop) if ids is None else ids[places]
        (both,) = np.nonzero(heads == u)
        return int(numbers[both][lengths[both] == lengths[both].min()].min())


class Deviation:
    """The set of paths to the target that begin as `path` does up to index `place`, and whose next vertex is not
    excluded.

    `bound` is a lower bound of their lengths. `head` is a lower bound of the next vertex of the paths whose length is
    `bound`, by which ties are broken. `length` is the length of the common beginning.
    """

    def __init__(
        self,
        edges: Edges,
        path: Path,
        place: int,
        length: float,
        excluded: frozenset[int] = frozenset(),
        bound: float = 0.0,
        head: int = -1,
    ) -> None:
        self.edges, self.path, self.place, self.length = edges, path, place, length
        self.excluded, self.bound, self.head = excluded, bound, head
        self.found: Path = ()  # the shortest path, once it is known
        # entries are (bound, order, vertex, index of the edge that leaves the vertex)
        self.heap: list[tuple[float, int, int, int]] = []
        self.lengths: dict[int, float] = {}  # lengths of the shortest paths to the vertices that the search has reached
        self.before: dict[int, int] = {}

    def __lt__(self, other: "Deviation") -> bool:
        """Return whether this deviation comes first among deviations of the same bound.

        They are ordered by their smallest path, or by a beginning that bounds the path if it isn't known.
        """
        return self._smallest_possible() < other._smallest_possible()

    def _smallest_possible(self) -> Path:
        return self.found or (*self.path[: self.place + 1], self.head)

    def resolve(self, limit: float) -> None:
        """Find the lexicographically smallest of the shortest paths, if their length is at most `limit`.

        If they are longer, raise `bound`. The search may also go on, and find the path anyway.
        """
        edges, smallest = self.edges, self.search(limit)
        # Edges around the path take memory, so a search that has read them goes on until it finds a path.
        while smallest is None and self.edges is not edges and self.bound < inf:
            smallest = self.search(self.bound)
        if smallest is not None:
            self.bound, self.found = smallest[0], self.smallest(*smallest)
        if self.edges is not edges or smallest is not None:
            self.edges, self.heap, self.lengths, self.before = edges, [], {}, {}

    def search(self, limit: float) -> tuple[float, Path] | None:
        """Continue the A* search. Return the length and the vertices of a shortest path of length at most `limit`.

        If there is none, raise `bound` to what is known, and return None.
        """
        start, target = self.path[self.place], self.edges.target
        if not self.lengths:
            self._begin()
        while self.heap and self.heap[0][0] <= limit:
            _, _, v, i = heappop(self.heap)
            self._push_edge(v, i + 1)
            outgoing = self.edges.of(v)
            u = outgoing.heads[i]
            if u in self.lengths or (v == start and u in self.excluded):
                continue
            self.lengths[u], self.before[u] = self.lengths[v] + outgoing.lengths[i], v
            if u == target:
                return self.lengths[u], self._trace_path()
            self._push_edge(u, 0)
            if self.edges.is_whole and len(self.lengths) > self.place + self.edges.patience:
                self.edges = self.edges.around(self.path[: self.place + 1])
                self._begin()
        self.bound, self.head = self.heap[0][0] if self.heap else inf, -1
        return None

    def _begin(self) -> None:
        """Begin the search from the end of the common beginning, or begin it again after the edges have changed."""
        start = self.path[self.place]
        self.heap, self.before = [], {}
        self.lengths = dict.fromkeys(self.path[: self.place], 0.0) | {start: self.length}
        self._push_edge(start, 0)

    def _push_edge(self, v: int, i: int) -> None:
        """Put the edge number `i` of vertex `v` on the heap, if `v` has so many.

        Of edges with equal bounds, the last one put on the heap is taken first, so that a search runs straight to the
        target.
        """
        bounds = self.edges.of(v).bounds
        if i < len(bounds):
            heappush(self.heap, (_sum(self.lengths[v], bounds[i]), -len(self.lengths), v, i))

    def _trace_path(self) -> Path:
        path = [self.edges.target]
        while path[-1] in self.before:
            path.append(self.before[path[-1]])
        return self.path[: self.place] + tuple(path[::-1])

    def smallest(self, total: float, path: Path) -> Path:
        """Return the lexicographically smallest path of length `total`, given one path of that length.

        At each vertex of the path, the heads with smaller ids than the next vertex are tried.
        """
        place, begun = self.place, self.length
        while (v := path[place]) != self.edges.target:
            without = {*path[:place], *(self.excluded if place == self.place else ())}
            edges, outgoing = self.edges, self.edges.of(v)
            heads = outgoing.below(path[place + 1], total, begun, without)
            if len(heads) > MANY:
                edges = edges.around(path[: place + 1])
                heads = edges.of(v).below(path[place + 1], total, begun, without)
            for u in heads:
                begin = (*path[: place + 1], u)
                other = Deviation(edges, begin, place + 1, begun + outgoing.lengths[outgoing.place(u)])
                rest = (total, begin) if u == self.edges.target else other.search(total)
                if rest is not None:
                    path = rest[1]
                    break
            begun += outgoing.lengths[outgoing.place(path[place + 1])]
            place += 1
        return path

    def divided(self, path: Path) -> "Iterator[Deviation]":
        """Yield deviations that together contain all paths of this deviation other than `path`, its shortest."""
        begun, passed = self.length, set(path[: self.place])
        for place in range(self.place, len(path) - 1):
            v, u = path[place : place + 2]
            excluded = frozenset((u, *self.excluded)) if place == self.place else frozenset((u,))
            outgoing = self.edges.of(v)
            for bound, head in zip(outgoing.bounds, outgoing.heads, strict=True):
                if head not in excluded and head not in passed:
                    yield Deviation(self.edges, path, place, begun, excluded, _sum(begun, bound), head)
                    break
            begun += outgoing.lengths[outgoing.place(u)]
            passed.add(v)


def _sum(begun: float, bound: float) -> float:
    """Return the sum of two finite lengths, or raise ValueError if the sum overflows."""
    if begun + bound == inf:
        raise ValueError(OVERFLOW)
    return begun + bound


@takes_weight
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
    gasla.alternative_paths : paths that have little in common, where these differ in a few edges.
    gasla.csgraph.yen : in the form of SciPy's function.

    Notes
    -----
    Stored zeros are edges of length 0. Paths differ if their vertices do: of parallel edges the shortest counts,
    and of equally long ones that of the smallest id.

    Lengths are summed in float64. The order is exact if the sums are, as those of integers below 2**53; otherwise paths
    whose lengths differ by rounding only may change places.

    The distances to the target are found on the graph's device, the paths by Python on the CPU. For each path a few
    searches follow, each of which takes about as long as `gasla.sssp` at most, and usually much less.

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
    graph = whole_graph(graph)
    source, target = translate_vertex(graph, source), translate_vertex(graph, target, "target")
    k = whole_number("k", k)
    require_lengths(graph)
    against: Graph = graph.kept("edges reversed", Graph.reversed)
    edges = Edges(graph.to("cpu"), against, target)
    xp = module_of(graph.device)
    return [
        PathResult(
            length,
            xp.asarray(path, dtype=graph.id_dtype),
            xp.asarray([edges.number(*ends) for ends in pairwise(path)], dtype=np.int64),
        )
        for length, path in sorted(islice(_paths_by_length(edges, source), min(k, maxsize)))
    ]


def require_lengths(graph: Graph) -> None:
    """Raise ValueError if the length of an edge is negative or NaN."""
    graph.notice_values()
    if has_negative(graph):
        assert graph.values is not None
        e = int(graph.values.argmin())
        raise ValueError(f"edge {e} has the length {graph.values[e].item()}; expected 0 or more")


def _paths_by_length(edges: Edges, source: int) -> Iterator[tuple[float, Path]]:
    """Yield all paths to the target with their lengths, by length and then by vertices."""
    if source == edges.target:
        yield 0.0, (source,)
        return
    every = Deviation(edges, (source,), 0, 0.0, bound=float(edges.remaining[source]))
    heap = [(every.bound, every)]
    while heap and heap[0][0] < inf:
        length, deviation = heappop(heap)
        if deviation.found:
            yield length, deviation.found
            for other in deviation.divided(deviation.found):
                heappush(heap, (other.bound, other))
            continue
        deviation.resolve(heap[0][0] if heap else inf)
        heappush(heap, (deviation.bound, deviation))


ROW = Row(
    k_shortest_paths,
    Command(
        *("k-shortest-paths", {"vertices": "on_paths"}),
        lambda f: f"{len(f['paths']):,} shortest paths from {f.ends}, by length:",
        *(lambda f: f.paths(), "ids"),
        defaults={"k": 5},
        unpack=lambda _, found: {
            "paths": found,
            "vertices": np.concatenate([[], *(p.path for p in found)]).astype(int),
        },
    ),
    method="Yen's deviations within one tree of shortest paths (Kurz, Mutzel, ISAAC 2016)",
    longer="One search for bounds, then short searches in Python for each vertex of each path.",
)
