"""Isomorphism, which tells whether two graphs are the same but for the numbers of their vertices.

Both graphs are colored together, by rounds of Weisfeiler's and Lehman's refinement. If each color occurs equally often
in both, vertices of one graph are matched with vertices of the same color in the other. Each vertex is next to a vertex
matched before, and edges must lead to edges. Where no vertex is left, the search takes back the last match. In trees,
and in most graphs without symmetries, colors determine the vertex, and no match is taken back.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from gasla.algorithms.components.connected_components import connected_components
from gasla.algorithms.patterns.weisfeiler_lehman_colors import first_hashes, next_hashes
from gasla.arrays import moved
from gasla.graph.graph import Graph, whole_graph
from gasla.rows import Row

Array = np.ndarray[Any, Any]
Near = list[Counter[int]]  # for each vertex, a dictionary from its neighbors to the number of edges to them


def is_isomorphic(graph: Any, other: Any, *, labels: Any = None, other_labels: Any = None) -> bool:
    """Return whether two graphs are isomorphic: equal, but for the numbers of their vertices.

    Parameters
    ----------
    graph, other : Graph, or SciPy or CuPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Values are ignored; stored zeros are edges. Self loops and parallel edges count.
    labels, other_labels : (n,) arrays of integers, optional
        Labels of the vertices of each graph, both or none: vertices correspond only if theirs are equal.

    Returns
    -------
    bool

    Raises
    ------
    TypeError, ValueError
        If only one of `labels` and `other_labels` is given, or one does not have an integer per vertex.

    See Also
    --------
    gasla.isomorphisms : which vertices correspond.
    gasla.weisfeiler_lehman_hash : compares many graphs.

    Notes
    -----
    Colors are found on the device of the graphs, and correspondence by Python on the CPU, in time that grows with the
    edges where colors decide. For regular graphs without symmetries it may grow exponentially.

    Examples
    --------
    >>> import gasla
    >>> path, turned = gasla.Graph.from_edges([0, 1], [1, 2]), gasla.Graph.from_edges([2, 0], [0, 1])
    >>> gasla.is_isomorphic(path, turned)
    True
    """
    return next(isomorphisms(graph, other, labels=labels, other_labels=other_labels), None) is not None


def isomorphisms(graph: Any, other: Any, *, labels: Any = None, other_labels: Any = None) -> Iterator[Array]:
    """Yield all isomorphisms of two graphs: for each vertex of the first one, the vertex of the other one.

    Parameters
    ----------
    graph, other, labels, other_labels
        As for `gasla.is_isomorphic`.

    Yields
    ------
    (n,) array of ids
        ``other.subgraph(found)`` has the same edges as `graph`.

    Raises
    ------
    TypeError, ValueError
        As `is_isomorphic`.

    Examples
    --------
    >>> import gasla
    >>> path, turned = gasla.Graph.from_edges([0, 1], [1, 2]), gasla.Graph.from_edges([2, 0], [0, 1])
    >>> next(gasla.isomorphisms(path, turned))
    array([2, 0, 1], dtype=int32)
    """
    first_graph = whole_graph(graph)
    try:
        second_graph = whole_graph(other)
    except TypeError as error:
        raise TypeError(f"other: {error}") from None
    hashes = first_hashes(first_graph, labels), first_hashes(second_graph, other_labels, "other_labels")
    if (labels is None) != (other_labels is None):
        raise ValueError("labels and other_labels are for both graphs; expected both, or none")
    if (first_graph.n, first_graph.m) != (second_graph.n, second_graph.m):
        return iter(())
    large = _vertices_of_large_components(first_graph.to("cpu"))
    return (
        match
        for colors in _matching_colors(first_graph, second_graph, hashes, large)
        for match in _search(first_graph.to("cpu"), second_graph.to("cpu"), *colors)
    )


def _matching_colors(
    first_graph: Graph, second_graph: Graph, hashes: tuple[Array, Array], large: list[Array]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield pairs of colorings of two graphs, one for each graph, such that every isomorphism keeps the colors of one
    pair.

    Colors are refined until they are stable. A vertex of the rarest color in each large component of the first graph
    then gets a color of its own, which shortens the search. An isomorphism may map it to any vertex of the same color,
    so a pair of colorings is yielded for each of these. Both graphs have each color equally often, or nothing is
    yielded.
    """
    count = 0
    while True:
        hashes_of_one, hashes_of_two = (moved(x, "cpu") for x in hashes)
        distinct, numbers, sizes = np.unique(hashes_of_one, return_inverse=True, return_counts=True)
        if not np.array_equal(np.sort(hashes_of_one), np.sort(hashes_of_two)):
            return
        if len(distinct) <= count:
            break
        count = len(distinct)
        hashes = next_hashes(first_graph, hashes[0]), next_hashes(second_graph, hashes[1])
    rarest = [vertices[sizes[numbers[vertices]].argmin()] for vertices in large]
    ambiguous = [i for i, v in enumerate(rarest) if sizes[numbers[v]] > 1]
    if not ambiguous:
        yield numbers.tolist(), np.searchsorted(distinct, hashes_of_two).tolist()
        return
    v = rarest[ambiguous[0]]
    for candidate in np.flatnonzero(hashes_of_two == hashes_of_one[v]).tolist():
        individualized = hashes[0].copy(), hashes[1].copy()
        individualized[0][v] = individualized[1][candidate] = ~hashes[0][v]
        yield from _matching_colors(first_graph, second_graph, individualized, large[ambiguous[0] :])


def _vertices_of_large_components(graph: Graph) -> list[Array]:
    """Return arrays of vertices, one for each component that has more than a sixteenth of all vertices."""
    labels = connected_components(graph).labels
    return [np.flatnonzero(labels == component) for component in np.flatnonzero(np.bincount(labels) > graph.n // 16)]


def _neighbor_counts(graph: Graph) -> tuple[Near, Near]:
    """Return two lists, which have the number of edges to each out-neighbor and from each in-neighbor of every
    vertex.
    """
    both: tuple[Near, Near] = tuple([Counter() for _ in range(graph.n)] for _ in range(2))  # type: ignore[assignment]
    src, dst = (endpoint.tolist() for endpoint in graph.edges())
    for u, v in zip(src, dst, strict=True):
        both[0][u][v] += 1
        both[1][v][u] += 1
    return both


def _search_order(neighbor_counts: tuple[Near, Near], colors: list[int]) -> list[tuple[int, int]]:
    """Return the order in which the vertices of the first graph are matched, as pairs of a vertex and a neighbor.

    The neighbor is matched before the vertex. Each component begins with a vertex of the rarest color, whose neighbor
    is -1, and goes on by breadth-first search.
    """
    sizes, out, in_ = Counter(colors), *neighbor_counts
    order: list[tuple[int, int]] = []
    seen = [False] * len(colors)
    for root in sorted(range(len(colors)), key=lambda v: sizes[colors[v]]):
        if seen[root]:
            continue
        seen[root] = True
        next_position = len(order)
        order.append((root, -1))
        while next_position < len(order):
            u = order[next_position][0]
            next_position += 1
            for v in chain(out[u], in_[u]):
                if not seen[v]:
                    seen[v] = True
                    order.append((v, u))
    return order


def _search(first_graph: Graph, second_graph: Graph, colors: list[int], other_colors: list[int]) -> Iterator[Array]:
    """Yield isomorphisms by backtracking: match vertices in order, and take back the last match where no vertex fits.

    `colors` and `other_colors` are the colors of the vertices of the first and of the second graph.
    """
    neighbors_in_one, neighbors_in_two = _neighbor_counts(first_graph), _neighbor_counts(second_graph)
    image, preimage = [-1] * first_graph.n, [-1] * second_graph.n
    order, candidates = _search_order(neighbors_in_one, colors), _Candidates(neighbors_in_two, other_colors, preimage)
    # for each vertex that is matched or being matched, in order: an iterator over the candidates not yet tried
    untried: list[Iterator[int]] = []
    while True:
        if len(untried) == len(order):
            yield np.array(image, first_graph.id_dtype)
        else:
            v, parent = order[len(untried)]
            untried.append(candidates.of(colors[v], image[parent] if parent >= 0 else -1))
        while untried:
            v, candidate = order[len(untried) - 1][0], next(untried[-1], -1)
            if image[v] >= 0:
                preimage[image[v]] = image[v] = -1
            if candidate < 0:
                untried.pop()
            elif all(
                _edges_agree(mine, counts_in_two, v, candidate, image, preimage)
                for mine, counts_in_two in zip(neighbors_in_one, neighbors_in_two)
            ):
                image[v], preimage[candidate] = candidate, v
                break
        if not untried:
            return


class _Candidates:
    """Lists of the second graph's vertices by color, and by color and neighbor: candidates for a vertex of the first
    graph.

    While an iteration over a list is under way, later iterations begin after the candidates at its front that were
    taken already.
    """

    def __init__(self, far: tuple[Near, Near], colors: list[int], taken: list[int]) -> None:
        self.far, self.colors, self.taken = far, colors, taken
        self.lists: dict[tuple[int, int], list[int]] = {}
        self.starts: dict[tuple[int, int], int] = {}
        for v, color in enumerate(colors):
            self.lists.setdefault((color, -1), []).append(v)

    def of(self, color: int, beside: int) -> Iterator[int]:
        """Yield the vertices of the second graph that have a color, are neighbors of the vertex `beside`, and are not
        matched.

        If `beside` is -1, they need not be neighbors of any vertex.
        """
        key = color, beside
        if key not in self.lists:
            around = dict.fromkeys(chain(self.far[0][beside], self.far[1][beside]))
            for neighbor in around:
                self.lists.setdefault((self.colors[neighbor], beside), []).append(neighbor)
        candidates, first_index = self.lists.get(key, []), self.starts.get(key, 0)
        start = first_index
        while start < len(candidates) and self.taken[candidates[start]] >= 0:
            start += 1
        self.starts[key] = start
        for i in range(start, len(candidates)):
            if self.taken[candidates[i]] < 0:
                yield candidates[i]
        self.starts[key] = first_index


def _edges_agree(counts_in_one: Near, far: Near, v: int, candidate: int, image: list[int], preimage: list[int]) -> bool:
    """Return whether the vertex v of the first graph can be matched with w of the second, by the edges to matched
    vertices.

    Both must have equally many edges to each pair of matched vertices, and equally many self loops.
    """
    matched = [(image[u], count) for u, count in counts_in_one[v].items() if image[u] >= 0]
    neighbors_of_w = far[candidate]
    if counts_in_one[v][v] != neighbors_of_w[candidate] or any(neighbors_of_w[x] != count for x, count in matched):
        return False
    return sum(preimage[x] >= 0 for x in neighbors_of_w) == len(matched)


ROW = [
    Row(
        is_isomorphic,
        "is_isomorphic(g, g)",
        method="refined colors, then individualization: nauty, Traces (McKay, Piperno, J. Symbolic Comp. 60, 2014)",
        longer="Both graphs are colored in rounds until no color splits, with a sort of all colors in each.",
    ),
    Row(
        isomorphisms,
        "isomorphisms(g, g).__next__()",
        method="refined colors, then individualization: nauty, Traces (McKay, Piperno, J. Symbolic Comp. 60, 2014)",
        longer="Both graphs are colored until no color splits, then vertices of one color are told apart by trial.",
    ),
]
