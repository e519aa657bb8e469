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
# These amounts of work take about as long as another single-source search: searches from MANY heads that tie, or an A*
# search that reaches PATIENCE vertices, and one more for every SHARE vertices and edges of the graph.
MANY, PATIENCE, SHARE = 64, 1000, 100

OVERFLOW = (
    "the weights on a path sum to infinity in float64; expected a finite sum: divide all weights by the same number"
)


class Near(NamedTuple):
    """The edges that leave a vertex, sorted by the length of a shortest walk to the target that begins with the edge.

    This length is the length of the edge plus the distance from its head to the target.

    A bound is the length of a shortest walk to the target that begins with the edge.
    """

    bounds: list[float]
    heads: list[int]
    lengths: list[float]
    ids: Any  # the heads as an array

    def place(self, head: int) -> int:
        """Return the position of the edge to the vertex `head` in this sorted list of edges."""
        return int((self.ids == head).argmax())

    def below(self, head: int, total: float, begun: float, without: set[int]) -> list[int]:
        """Return the heads of edges of this vertex, with ids below `head`, through which a path of length `total` may
        lead.

        The heads ascend. `begun` is the length of the path up to this vertex. The heads in the set `without`, and those
        where `begun` plus the bound of the edge exceeds `total`, are left out.
        """
        heads = self.ids[: bisect_right(self.bounds, total, key=lambda bound: begun + bound)]
        return [u for u in np.sort(heads[heads < head]).tolist() if u not in without]


class Edges:
    """The edges of a graph from which the target can be reached, read vertex by vertex when a search first needs them.

    Of parallel edges, only the shortest is included. `remaining` has the distance from each vertex to the target,
    without the vertices in `avoided`.
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
        """Return a new `Edges` object, of the edges from which the target can be reached without passing the vertices
        of `path`.
        """
        return Edges(self.graph, self.against, self.target, path)

    def of(self, v: int) -> Near:
        """Return the edges from vertex `v` on which the target can be reached. They are read from the graph at the
        first call.
        """
        return self.known[v] if v in self.known else self._read(v)

    def _lists(self, v: int) -> tuple[Any, Any, slice]:
        """Return the heads and lengths of all edges that leave a vertex, and their slice of the graph's adjacency
        lists.
        """
        out, lengths = self.graph.out, self.graph.out_values
        list_slice = slice(*out.indptr[v : v + 2].tolist())
        heads = out.indices[list_slice]
        return heads, np.ones(len(heads)) if lengths is None else lengths[list_slice].astype(np.float64), list_slice

    def _read(self, v: int) -> Near:
        heads, lengths, _ = self._lists(v)
        with np.errstate(over="ignore"):  # an infinite sum of finite lengths raises an error below
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
        """Return the id of the shortest edge from v to u. Of equally long edges, it is the one of the smallest id."""
        heads, lengths, list_slice = self._lists(v)
        ids = self.graph.out.edge_ids
        numbers = np.arange(list_slice.start, list_slice.stop) if ids is None else ids[list_slice]
        (parallel_edges,) = np.nonzero(heads == u)
        return int(numbers[parallel_edges][lengths[parallel_edges] == lengths[parallel_edges].min()].min())


class Deviation:
    """A set of paths to the target that deviate from `path`: they share its vertices up to index `place`, and then
    differ.

    Their next vertex is not in `excluded`. `length` is the length of the shared beginning. `bound` is a lower bound of
    the lengths of the paths. `head` is a lower bound of the next vertex of the paths whose length is `bound`, which
    decides between deviations of equal bounds.
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
        self.found: Path = ()  # the shortest path of the set, or empty as long as it is not known
        # the queue of the A* search, with entries (bound, order, vertex, index of an edge that leaves the vertex)
        self.heap: list[tuple[float, int, int, int]] = []
        self.lengths: dict[int, float] = {}  # length of the shortest path to each vertex that the search has reached
        self.before: dict[int, int] = {}

    def __lt__(self, other: "Deviation") -> bool:
        """Return whether the search goes on with this deviation (a set of paths) before another one of the same bound.

        The one whose shortest path comes first lexicographically goes first. As long as a shortest path is not known, a
        beginning that bounds it from below stands for it.
        """
        return self._smallest_possible() < other._smallest_possible()

    def _smallest_possible(self) -> Path:
        return self.found or (*self.path[: self.place + 1], self.head)

    def resolve(self, limit: float) -> None:
        """Find the lexicographically smallest of the shortest paths of this deviation, if their length is at most
        `limit`.

        If the paths are longer, raise `bound`. In some cases the search goes on beyond `limit`, and finds the path
        anyway.
        """
        edges, smallest = self.edges, self.search(limit)
        # If a search takes long, `search` replaces `self.edges` by an object that this deviation alone uses, which
        # takes memory. In this case the search is repeated, with larger limits, until a path is found or none is left.
        # Then the object can be freed below.
        while smallest is None and self.edges is not edges and self.bound < inf:
            smallest = self.search(self.bound)
        if smallest is not None:
            self.bound, self.found = smallest[0], self.smallest(*smallest)
        if self.edges is not edges or smallest is not None:
            self.edges, self.heap, self.lengths, self.before = edges, [], {}, {}

    def search(self, limit: float) -> tuple[float, Path] | None:
        """Continue the A* search for the shortest path of this deviation (a set of paths), and return its length and
        its vertices.

        If the shortest path is longer, raise `bound` to the lower bound that the search has reached, and return None.
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
        """Begin the A* search for the shortest path of this deviation (a set of paths with the same beginning).

        It starts at the last vertex that the paths share. It begins again if the edges were replaced.
        """
        start = self.path[self.place]
        self.heap, self.before = [], {}
        self.lengths = dict.fromkeys(self.path[: self.place], 0.0) | {start: self.length}
        self._push_edge(start, 0)

    def _push_edge(self, v: int, i: int) -> None:
        """Push the edge number `i` of vertex `v`, in the order of bounds, to the queue of the A* search.

        Do nothing if `v` has no more than `i` edges.

        Of edges with equal bounds, the last one pushed is popped first, so that a search runs straight to the target.
        """
        bounds = self.edges.of(v).bounds
        if i < len(bounds):
            heappush(self.heap, (_finite_sum(self.lengths[v], bounds[i]), -len(self.lengths), v, i))

    def _trace_path(self) -> Path:
        path = [self.edges.target]
        while path[-1] in self.before:
            path.append(self.before[path[-1]])
        return self.path[: self.place] + tuple(path[::-1])

    def smallest(self, total: float, path: Path) -> Path:
        """Return the lexicographically smallest path of length `total` to the target among the paths of this deviation.

        `path` is one path of that length.

        At each vertex of the path, heads of edges with a smaller id than the next vertex are tried instead of this
        vertex.
        """
        path_position, prefix_length = self.place, self.length
        while (v := path[path_position]) != self.edges.target:
            excluded_heads = {*path[:path_position], *(self.excluded if path_position == self.place else ())}
            edges, outgoing = self.edges, self.edges.of(v)
            heads = outgoing.below(path[path_position + 1], total, prefix_length, excluded_heads)
            if len(heads) > MANY:
                edges = edges.around(path[: path_position + 1])
                heads = edges.of(v).below(path[path_position + 1], total, prefix_length, excluded_heads)
            for u in heads:
                prefix = (*path[: path_position + 1], u)
                deviation = Deviation(
                    edges, prefix, path_position + 1, prefix_length + outgoing.lengths[outgoing.place(u)]
                )
                found_path = (total, prefix) if u == self.edges.target else deviation.search(total)
                if found_path is not None:
                    path = found_path[1]
                    break
            prefix_length += outgoing.lengths[outgoing.place(path[path_position + 1])]
            path_position += 1
        return path

    def divided(self, path: Path) -> "Iterator[Deviation]":
        """Yield deviations that together contain all paths of this deviation except `path`, which is its
        shortest path.
        """
        prefix_length, passed = self.length, set(path[: self.place])
        for path_position in range(self.place, len(path) - 1):
            v, u = path[path_position : path_position + 2]
            excluded = frozenset((u, *self.excluded)) if path_position == self.place else frozenset((u,))
            outgoing = self.edges.of(v)
            for path_bound, head in zip(outgoing.bounds, outgoing.heads, strict=True):
                if head not in excluded and head not in passed:
                    yield Deviation(
                        self.edges,
                        path,
                        path_position,
                        prefix_length,
                        excluded,
                        _finite_sum(prefix_length, path_bound),
                        head,
                    )
                    break
            prefix_length += outgoing.lengths[outgoing.place(u)]
            passed.add(v)


def _finite_sum(begun: float, remaining_length: float) -> float:
    """Return the sum of two finite lengths, or raise ValueError if the sum overflows."""
    if begun + remaining_length == inf:
        raise ValueError(OVERFLOW)
    return begun + remaining_length


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
            xp.asarray([edges.number(*edge_ends) for edge_ends in pairwise(path)], dtype=np.int64),
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
            for divided_deviation in deviation.divided(deviation.found):
                heappush(heap, (divided_deviation.bound, divided_deviation))
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
