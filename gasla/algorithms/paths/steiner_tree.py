"""Steiner trees are light trees that join given vertices (terminals), at most twice as heavy as the lightest tree.

Every vertex belongs to the cell of its nearest terminal. An edge between two cells stands for the path along it, from
terminal to terminal. A minimum spanning forest of these paths joins all terminals. Paths in one cell follow one tree of
shortest paths, so that no cycle arises.
"""

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.components.minimum_spanning_forest import minimum_spanning_forest
from gasla.algorithms.paths.alternative_paths import Tree
from gasla.algorithms.paths.k_shortest_paths import require_lengths
from gasla.algorithms.paths.sssp import sssp
from gasla.arrays import module_of, moved
from gasla.graph.arguments import several_vertices
from gasla.graph.graph import Graph, whole_graph
from gasla.rows import Row

Array = np.ndarray[Any, Any]


class SteinerTreeResult(NamedTuple):
    """The ids of the edges of a Steiner tree in ascending order, and their total length."""

    edges: Array
    total: float


def steiner_tree(graph: Any, terminals: Iterable[Hashable]) -> SteinerTreeResult:
    """Find a light tree that joins given vertices, at most twice as heavy as the lightest one.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        Read as undirected: `A[i, j]` is the length of an edge between i and j, 0 or more; the shortest edge between two
        vertices counts, in either direction. A graph without values has edges of length 1.
    terminals : several vertices
        The vertices to join, by ids or names.

    Returns
    -------
    SteinerTreeResult(edges, total)
        The int64 ids of the edges, each once, in one of its directions, and the sum of their lengths, in float64.
        Terminals that no path joins are in separate trees.

    Raises
    ------
    TypeError, ValueError
        If a terminal is not a vertex, or a length is negative or NaN.

    See Also
    --------
    gasla.minimum_spanning_forest : joins all vertices.
    gasla.shortest_path : joins two.

    Notes
    -----
    The tree is at most 2 - 2/t times as heavy as the lightest one that joins t terminals. Its leaves are terminals.

    Takes a call of `gasla.sssp` and one of `gasla.minimum_spanning_forest`; all else is done by NumPy on the CPU.

    References
    ----------
    K. Mehlhorn: A faster approximation algorithm for the Steiner problem in graphs. Information Processing Letters 27
    (1988).

    Examples
    --------
    >>> import gasla
    >>> star = gasla.Graph.from_edges([0, 0, 0, 1, 2], [1, 2, 3, 2, 3], [1.0, 1.0, 1.0, 2.5, 2.5])
    >>> gasla.steiner_tree(star, [1, 2, 3])
    SteinerTreeResult(edges=array([0, 1, 2]), total=3.0)
    """
    graph = whole_graph(graph)
    terminal_ids = np.unique(np.array(several_vertices(graph, "terminals", terminals, "vertex"), np.int64))
    require_lengths(graph)
    numbers, u, v, lengths = _shortest_edges(graph)
    count, n = len(numbers), graph.n
    tails, heads, both_lengths = np.concatenate([u, v]), np.concatenate([v, u]), np.concatenate([lengths, lengths])
    distances = np.full(n, np.inf)
    if len(terminal_ids):
        distances = sssp(Graph.from_edges(tails, heads, both_lengths, n=n), terminal_ids, dtype=np.float64)
    # All terminals become children of an additional vertex, number n.
    tails, heads = np.append(tails, np.full(len(terminal_ids), n)), np.append(heads, terminal_ids)
    both_lengths = np.append(both_lengths, np.zeros(len(terminal_ids)))
    tree = Tree.of(tails, heads, both_lengths, np.append(distances, 0.0), n)
    cell = _roots(np.where(tree.parents == n, np.arange(n + 1), tree.parents))
    across = np.flatnonzero((cell[u] != cell[v]) & np.isfinite(distances[u]) & np.isfinite(distances[v]))
    path_lengths = distances[u[across]] + lengths[across] + distances[v[across]]
    joining_edges = across[
        minimum_spanning_forest(Graph.from_edges(cell[u[across]], cell[v[across]], path_lengths, n=n + 1)).edges
    ]
    is_taken = np.zeros(count, bool)
    is_taken[joining_edges] = True
    for end in np.concatenate([u[joining_edges], v[joining_edges]]).tolist():
        while (edge := int(tree.edges[end])) < 2 * count and not is_taken[edge % count]:
            is_taken[edge % count] = True
            end = int(tree.parents[end])
    edges = np.sort(numbers[is_taken])
    xp: Any = module_of(graph.device)
    return SteinerTreeResult(xp.asarray(edges), float(lengths[is_taken].sum()))


def _shortest_edges(graph: Graph) -> tuple[Array, Array, Array, Array]:
    """Return the ids, the two ends and the lengths of the shortest edge between each two adjacent vertices.

    Of equally long edges, the one of the smallest id counts.
    """
    src, dst = (np.asarray(moved(endpoint, "cpu")).astype(np.int64) for endpoint in graph.edges())
    lengths = np.ones(graph.m) if graph.values is None else moved(graph.values, "cpu").astype(np.float64)
    u, v = np.minimum(src, dst), np.maximum(src, dst)
    order = np.lexsort((np.arange(graph.m), lengths, v, u))
    order = order[u[order] != v[order]]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (u[order[1:]] != u[order[:-1]]) | (v[order[1:]] != v[order[:-1]])
    numbers = order[is_first]
    return numbers, u[numbers], v[numbers], lengths[numbers]


def _roots(parents: Array) -> Array:
    """Return the root of each vertex's tree, by pointer doubling along the parents."""
    while not np.array_equal(further := parents[parents], parents):
        parents = further
    return parents


ROW = Row(
    steiner_tree,
    "steiner_tree(g, [0])",
    method="Voronoi cells of the terminals, then a spanning tree (Mehlhorn, 1988; Reza et al., IPDPS 2022)",
    longer="A search from all terminals, then a spanning forest of the distances between their cells.",
)
