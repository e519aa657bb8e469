"""Primitives: operations without a program, on forests of vertices and on neighbor lists.

A forest is an array of parents: ``parents[v]`` is v's parent, and a root is its own parent. A parent is never larger
than its child, so a root is the smallest vertex of its tree. `hook`, `link`, `compress`, `likely_largest` and `number`
work on forests. `simplify` and `orient` prepare a graph as simple and undirected; `intersect`, `common` and `has_edges`
work on pairs of vertices.

Seven primitives are whole algorithms, and built-in kernels of both engines: `label_components` (Afforest),
`number_trees` (rooted spanning forests), `count_common_neighbors` (triangles by forward lists), `count_cliques`
(pivoting), `peel` (core numbers), `color_in_order` (greedy colors) and `lightest_forest` (Borůvka; on a GPU if
`fits_lightest_forest`). Each page names its paper.

Further primitives are whole algorithms of the CPU alone: `match_heaviest`, `count_paths`, `list_paths`, `sum_at_edges`
and `maximal_cliques` on all threads; and `louvain_levels`, `balanced_parts`,
`depth_first` and `strong_components` on one thread, for small graphs (`fits_one_thread`). `send_flow`,
`residual_sources`, `acyclic_order` and `adjacency_order` run on one thread for graphs of any size.

`label_sides` and `decide_in_order` are whole algorithms of the GPU alone (`fits_one_card`).

All others run on the graph's device. On a GPU they return while their kernels run, unless they return a Python number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from operator import index
from typing import Any, Literal

import numpy as np

from gasla.arrays import array_module, device_of, imported, module_of
from gasla.engines import Primitives, engine
from gasla.graph.adjacency import Adjacency
from gasla.graph.arguments import check_flags, in_host_memory
from gasla.graph.graph import Graph, as_graph, require_unchanged_files, whole_graph
from gasla.operations.common_neighbors import common, count_cliques, has_edges, intersect, peel_edges
from gasla.operations.enumerations import count_paths, list_paths, maximal_cliques
from gasla.operations.in_order import decide_in_order, fits_one_card, integers, label_sides, narrowed, undirected_lists
from gasla.operations.lightest_forest import fits_lightest_forest, lightest_forest
from gasla.operations.one_thread import (
    acyclic_order,
    adjacency_order,
    balanced_parts,
    depth_first,
    depth_first_order,
    dominators,
    fits_one_thread,
    kernels,
    louvain_levels,
    match_heaviest,
    residual_sources,
    send_flow,
    strong_components,
)

__all__ = [
    "Oriented",
    "Trees",
    "acyclic_order",
    "adjacency_order",
    "balanced_parts",
    "color_in_order",
    "common",
    "compress",
    "count_cliques",
    "count_common_neighbors",
    "count_paths",
    "decide_in_order",
    "depth_first",
    "depth_first_order",
    "dominators",
    "fits_lightest_forest",
    "fits_one_card",
    "fits_one_thread",
    "has_edges",
    "hook",
    "intersect",
    "label_components",
    "label_sides",
    "lightest_forest",
    "likely_largest",
    "link",
    "list_paths",
    "louvain_levels",
    "match_heaviest",
    "maximal_cliques",
    "number",
    "number_trees",
    "orient",
    "peel",
    "peel_edges",
    "residual_sources",
    "send_flow",
    "simplify",
    "strong_components",
    "sum_at_edges",
]

Array = Any  # an array of NumPy or CuPy


@cache
def _primitives_on(device: str) -> Primitives:
    return engine(device).primitives()


# --- functions on forests, which are arrays of parents ----------------------------------------------------------------


def hook(graph: Any) -> Array:
    """Make a first forest. A vertex's parent is its first out-neighbor if that is smaller. Otherwise it is a root.

    This reads no other vertex, so it is the cheapest way to join many vertices.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array

    Returns
    -------
    (n,) array of the type of ids
        The forest.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.hook(Graph.from_edges([1, 2, 2, 3], [0, 3, 0, 2]))
    array([0, 0, 2, 2], dtype=int32)
    """
    graph = whole_graph(graph)
    return _primitives_on(graph.engine).hook(graph)


def link(
    graph: Any,
    parents: Array,
    *,
    first: int = 0,
    last: int | None = None,
    known: int | None = None,
    across: Trees | None = None,
) -> None:
    """Unite the trees at both ends of every edge, in place.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
    parents : (n,) array of int32 or int64
        The forest, where the graph is; on a GPU of the type of the graph's ids.
    first, last : int
        Only the edges at these positions of every out-list: ``first=0, last=1`` is the first edge of each vertex.
    known : int, optional
        The root of a large tree. Edges inside that tree are skipped; in a symmetric graph all edges that leave it are,
        since their reverse edges are visited. A vertex of the tree must point at the root to be skipped: `compress`
        first.
    across : Trees, optional
        From `number_trees`: edges between a vertex and an ancestor of it are skipped. The graph must be symmetric.

    Raises
    ------
    TypeError
        If the forest is not an array of int32 or int64, or `across` is not Trees.
    ValueError
        If the forest does not have one entry per vertex, is on another device or read-only, or a parent is larger than
        its child (not checked on a GPU); if `first`, `last` or `known` is out of range; if the trees of `across` do
        not fit the graph, or it is not symmetric.

    Notes
    -----
    Union by compare-and-swap of roots, with path halving. M. Sutton, T. Ben-Nun, A. Barak: Optimizing Parallel
    Graph Connectivity Computation via Subgraph Sampling. IPDPS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import Graph, primitives
    >>> graph = Graph.from_edges([1, 2, 2, 3], [0, 3, 0, 2])
    >>> parents = np.arange(4)
    >>> primitives.link(graph, parents)
    >>> primitives.compress(parents)
    >>> parents
    array([0, 0, 0, 0])
    """
    graph = whole_graph(graph)
    _check_forest(parents)
    _check_forest_of(graph, parents)
    first, last = index(first), None if last is None else index(last)
    if first < 0 or (last is not None and last < 0):
        raise ValueError(f"first and last are {first} and {last}; expected positions in a list, from 0 on")
    if known is not None and not 0 <= index(known) < graph.n:
        raise ValueError(f"known is {known}; expected a vertex of the graph, 0 to {graph.n - 1}")
    tree_numbers = None
    if across is not None:
        if not graph.is_symmetric:
            raise ValueError("the graph is not symmetric; expected a symmetric one beside across: pass simplify(graph)")
        if not isinstance(across, Trees):
            raise TypeError(f"across is {across!r}; expected Trees: gasla.primitives.number_trees(graph)")
        _check_like(parents, across.numbers)
        tree_numbers = across.numbers, across.sizes
    _primitives_on(graph.engine).link(
        graph, parents, first, last, None if known is None else index(known), tree_numbers
    )


def compress(parents: Array) -> None:
    """Set every vertex's parent to the root of its tree, in place.

    Parameters
    ----------
    parents : array of int32 or int64
        The forest.

    Raises
    ------
    TypeError, ValueError
        As `link`.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import primitives
    >>> parents = np.array([0, 0, 1, 2])
    >>> primitives.compress(parents)
    >>> parents
    array([0, 0, 0, 0])
    """
    _check_forest(parents)
    _primitives_on(device_of(parents)).compress(parents)


def likely_largest(parents: Array) -> int:
    """Return the most frequent root in a sample of vertices: that of the largest tree, if one tree holds most vertices.

    Parameters
    ----------
    parents : array of int32 or int64
        The forest, after `compress`.

    Raises
    ------
    TypeError
        As `link`.
    ValueError
        If the forest has no vertex.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import primitives
    >>> primitives.likely_largest(np.array([0, 1, 1, 1, 1, 0]))
    1
    """
    _check_array(parents)
    if len(parents) == 0:
        raise ValueError("the forest is empty; expected at least one vertex")
    return int(_primitives_on(device_of(parents)).likely_largest(parents))


def number(parents: Array) -> int:
    """Replace each parent by the number of its tree, in place. Trees are numbered from 0 by ascending root.

    Parameters
    ----------
    parents : array of int32 or int64
        The forest; it need not be compressed.

    Returns
    -------
    int
        How many trees there are.

    Raises
    ------
    TypeError, ValueError
        As `link`.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import primitives
    >>> parents = np.array([0, 0, 2, 2, 4, 3])
    >>> primitives.number(parents), parents
    (3, array([0, 0, 1, 1, 2, 1]))
    """
    _check_forest(parents)
    return int(_primitives_on(device_of(parents)).number(parents))


def label_components(graph: Any) -> tuple[Any, Array]:
    """Label the weakly connected components.

    This is a whole algorithm, for which the CPU engine and the GPU engine each have a built-in kernel (one launch on a
    GPU). Its steps are hook, link, compress, link outside the largest tree, compress, and number.
    `gasla.connected_components` is this function.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Edge directions are ignored.

    Returns
    -------
    count : int
        Number of components. On a GPU a zero-dimensional array, as CuPy's sums are: `int(count)` waits for it.
    labels : (n,) array of the type of ids
        Component number of each vertex; components are numbered from 0 by ascending smallest vertex.

    Notes
    -----
    Afforest: M. Sutton, T. Ben-Nun, A. Barak: Optimizing Parallel Graph Connectivity Computation via Subgraph
    Sampling. IPDPS 2018.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.label_components(Graph.from_edges([1, 2, 2, 3], [0, 3, 0, 2], n=5))
    (2, array([0, 0, 0, 0, 1], dtype=int32))
    """
    graph = as_graph(graph)
    components = _primitives_on(graph.engine).label_components(graph)
    require_unchanged_files(graph)
    return components


def peel(graph: Any) -> Array:
    """Find core numbers by removing vertices of smallest degree, one degree after another.

    This is a whole algorithm, for which the CPU engine and the GPU engine each have a built-in kernel.
    `gasla.core_number` calls it for graphs without hubs, and on the CPU for small ones.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected.

    Returns
    -------
    (n,) array of the type of ids
        The core number of each vertex.

    Notes
    -----
    Threads remove the vertices of one degree, and those that thereby fall to it, and then meet. So this is slow for
    many different core numbers. On the CPU, a single thread removes vertex by vertex if one has more than 16 neighbors.

    V. Batagelj, M. Zaversnik: An O(m) Algorithm for Cores Decomposition of Networks. arXiv:cs/0310049 (2003).
    H. Kabir, K. Madduri: Parallel k-core decomposition on multicore platforms. IPDPS Workshops 2017.
    A. Ahmad, L. Yuan, D. Yan, G. Guo, J. Chen, C. Zhang: Accelerating k-Core Decomposition by a GPU. ICDE 2023.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.peel(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]))
    array([2, 2, 2, 1], dtype=int32)
    """
    simple = simplify(whole_graph(graph))
    cores = _primitives_on(simple.engine).peel(simple)
    require_unchanged_files(simple)
    return cores


# --- rooted spanning trees, whose subtrees are ranges of numbers ------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees of a spanning forest, rooted and numbered such that each subtree is a range of numbers.

    Attributes
    ----------
    parents : (n,) array of the type of ids
        The parent of each vertex; a root is its own.
    numbers, sizes : (n,) arrays of the type of ids
        The subtree of v has the numbers ``numbers[v]`` to ``numbers[v] + sizes[v] - 1``.
    """

    parents: Array
    numbers: Array
    sizes: Array

    def extremes(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return for each vertex the smallest entry of `low` and the largest of `high` in the vertex's subtree.

        Parameters
        ----------
        low, high : (n,) arrays of the type of ids
            Values of the vertices.

        Raises
        ------
        TypeError, ValueError
            If the values are not such arrays, where the trees are.

        Examples
        --------
        >>> from gasla import Graph, primitives
        >>> trees = primitives.number_trees(Graph.from_edges([0, 1, 0], [1, 2, 3]))
        >>> ids = np.array([3, 0, 4, 5], np.int32)
        >>> trees.extremes(ids, ids)
        (array([0, 0, 4, 5], dtype=int32), array([5, 4, 4, 5], dtype=int32))
        """
        for values in (low, high):
            _check_array(values)
            _check_like(values, self.numbers)
        return _primitives_on(device_of(self.numbers)).extremes_of_subtrees(
            (self.parents, self.numbers, self.sizes), low, high
        )

    def __repr__(self) -> str:
        return f"Trees({self.numbers.size:,} vertices)"


def number_trees(graph: Any) -> Trees:
    """Compute a spanning forest, rooted and numbered such that each subtree is a range of numbers.

    This is a whole algorithm, for which the CPU engine and the GPU engine each have a built-in kernel. On a GPU no step
    depends on the depth of the trees.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected.

    Returns
    -------
    Trees
        Each tree is rooted at its smallest vertex. Of several spanning forests, any is found: on a GPU, another each
        time.

    Notes
    -----
    On the CPU, a depth-first search on one thread. On a GPU, union-find that records which edges unite trees, and an
    Euler tour of these edges, in one launch that takes 42 bytes per vertex, twice as much with int64 ids.

    R. E. Tarjan, U. Vishkin: An efficient parallel biconnectivity algorithm. SIAM J. Computing 14 (1985).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> trees = primitives.number_trees(Graph.from_edges([0, 1, 3], [1, 2, 4]))
    >>> trees.parents, trees.sizes
    (array([0, 0, 1, 3, 3], dtype=int32), array([3, 2, 1, 2, 1], dtype=int32))
    """
    simple = simplify(whole_graph(graph))
    return Trees(*_primitives_on(simple.engine).number_trees(simple))


# --- functions on adjacency lists: simple graphs, oriented graphs, triangles, colors ----------------------------------


def simplify(graph: Any) -> Graph:
    """Make a graph simple and undirected: every edge in both directions once, no self loops, no values.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array

    Returns
    -------
    Graph
        The graph itself, with its values, if it is simple and undirected already. Otherwise a graph that is made once,
        and kept with the given one: up to 16 bytes per edge and 8 per vertex (`Graph.nbytes`).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> simple = primitives.simplify(Graph.from_edges([0, 0, 1, 2], [1, 1, 2, 2]))
    >>> simple.out.indptr, simple.out.indices
    (array([0, 1, 3, 4], dtype=int32), array([1, 0, 2, 1], dtype=int32))
    """
    graph = as_graph(graph)
    simple = _primitives_on(graph.engine).simplify(graph)
    require_unchanged_files(graph)
    return simple


@dataclass(frozen=True, eq=False)
class Oriented:
    """A simple undirected graph with a total order of its vertices, which directs each edge. Made by `orient`.

    Attributes
    ----------
    graph : Graph
        The oriented graph: simple and undirected, as from `simplify`.
    order : "ids" or "degrees"
        By ascending id; or by ascending degree, ties by ascending id.
    forward : Graph
        Only the edges from the earlier to the later vertex; made on first use.
    """

    graph: Graph
    _lists: Any  # adjacency lists of the ordered graph, in the form that the engine's kernels read
    _given: Graph  # the graph that the caller passed to `orient`; `graph` is its simple and undirected form

    @property
    def order(self) -> Literal["ids", "degrees"]:
        return "ids" if isinstance(self._lists, Adjacency) else "degrees"

    @cached_property
    def forward(self) -> Graph:
        lists = self.graph.out
        src, dst = lists.owners(), lists.indices
        keep = self.precedes(src, dst)
        return Graph.from_edges(src[keep], dst[keep], n=self.graph.n)

    def precedes(self, first: Array, second: Array) -> Array:
        """Return elementwise whether a vertex of `first` comes before the vertex of `second` in the order."""
        by_id = first < second
        if self.order == "ids":
            return by_id
        first_degree, second_degree = self.graph.out_degrees[first], self.graph.out_degrees[second]
        return (first_degree < second_degree) | ((first_degree == second_degree) & by_id)

    def __repr__(self) -> str:
        return f"Oriented({self.graph!r}, by {self.order})"


def orient(graph: Any) -> Oriented:
    """Order the vertices of a graph, so that following edges forward enumerates each triangle once.

    If all neighbor lists are short the order is by id, and the lists are used as they are. Otherwise it is by
    ascending degree, which leaves hubs with few later neighbors.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected: ``simplify(graph)`` is oriented.

    Returns
    -------
    Oriented
        Ordered by degree it takes 4 to 8 bytes per stored edge besides the graph.

    Notes
    -----
    T. Schank, D. Wagner: Finding, Counting and Listing all Triangles in Large Graphs. WEA 2005.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> oriented = primitives.orient(Graph.from_edges([0, 1, 2], [1, 2, 0]))
    >>> oriented.order, oriented.forward.out.indices
    ('ids', array([1, 2, 2], dtype=int32))
    """
    graph = as_graph(graph)
    primitives = _primitives_on(graph.engine)
    simple = primitives.simplify(graph)
    return Oriented(simple, primitives.orient(simple), graph)


def count_common_neighbors(
    oriented: Oriented, *, per_vertex: bool = False, per_edge: bool = False
) -> tuple[Any, Array | None]:
    """Count triangles: the sum, over all edges of an oriented graph, of the common neighbors that follow both ends.

    This is a whole algorithm, for which the CPU engine and the GPU engine each have a built-in kernel. Each triangle is
    counted once, at the edge of its first two vertices.

    Parameters
    ----------
    oriented : Oriented
        From `orient`.
    per_vertex : bool, default False
        Also count the triangles at each vertex.
    per_edge : bool, default False
        Count the triangles at each edge: all common neighbors of its ends, wherever they are in the order.

    Returns
    -------
    total : int
        Number of triangles. On a GPU a zero-dimensional array, as CuPy's sums are: `int(total)` waits for it.
    counts : (n,) or (m,) array of int64, or None
        With `per_vertex` one count per vertex; with `per_edge` one per stored edge of ``oriented.graph``, in the order
        of its input, the same for both directions.

    Raises
    ------
    TypeError
        If `oriented` is not an Oriented.
    ValueError
        If both `per_vertex` and `per_edge` are True.

    Notes
    -----
    The forward algorithm: T. Schank, D. Wagner: Finding, Counting and Listing all Triangles in Large Graphs. WEA 2005.

    On the CPU, counts per edge of a graph oriented by degree take 2 bytes per stored edge for each of up to 8 threads,
    and 4 per vertex for each thread, twice as much with int64 ids. On a GPU they take 8 bytes per stored edge, 4 if
    oriented by id.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> oriented = primitives.orient(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]))
    >>> primitives.count_common_neighbors(oriented, per_vertex=True)
    (1, array([1, 1, 1, 0]))
    """
    if not isinstance(oriented, Oriented):
        raise TypeError(f"oriented is {oriented!r}; expected an Oriented: gasla.primitives.orient(graph)")
    check_flags(per_vertex=per_vertex, per_edge=per_edge)
    if per_vertex and per_edge:
        raise ValueError("per_vertex and per_edge are both True; expected one of them: call it twice to have both")
    primitives = _primitives_on(oriented.graph.engine)
    if per_edge:
        return primitives.count_at_edges(oriented.graph, oriented._lists)
    graph, passes = oriented._given, oriented.graph.m // max(oriented.graph.n, 1)
    count = graph.sharers(passes) if graph.is_whole and oriented.order == "degrees" else 0
    if not count:
        return primitives.count_common_neighbors(oriented._lists, per_vertex)
    counts_and_total = graph.sum_shares(partial(_count_triangles_in_portions, per_vertex, count), range(count))
    return counts_and_total[-1], counts_and_total[:-1] if per_vertex else None


def _count_triangles_in_portions(per_vertex: bool, count: int, graph: Graph, numbers: Iterable[int]) -> Iterator[Array]:
    """Count the triangles in some portions of a graph, whose work has been divided into `count` portions.

    Each rank of a distributed graph calls it with the `numbers` of its own portions. Yield an array for each portion:
    the triangles at each vertex (if `per_vertex`), and as the last entry their total.
    """
    oriented, primitives = orient(graph), _primitives_on(graph.engine)
    for portion_number in numbers:
        triangle_total, counts = primitives.count_common_neighbors(oriented._lists, per_vertex, (portion_number, count))
        xp = array_module(oriented.graph.out.indices)
        yield xp.concatenate([*([] if counts is None else [counts]), xp.asarray(triangle_total, np.int64).reshape(1)])


def sum_at_edges(oriented: Oriented, weights: Any) -> Array | None:
    """Sum the weights of the common neighbors of the ends of each edge.

    This is a whole algorithm, for which the CPU engine has a built-in kernel. Each triangle is found once, and adds the
    weight of each of its vertices at the opposite edge.

    Parameters
    ----------
    oriented : Oriented
        From `orient`, in host memory.
    weights : (n,) array of float64
        The weight of each vertex, 0 or more. Those of vertices with fewer than two neighbors do not matter.

    Returns
    -------
    (m,) array of float64, or None
        One sum per stored edge of ``oriented.graph``, in the order of its input, the same for both directions. None if
        a weight is infinite, or so much smaller than another that it might be off by 2**-34 of itself: then call
        `intersect`.

    Raises
    ------
    TypeError
        If `oriented` is not an Oriented, or not in host memory.
    ValueError
        If there is not one weight for each vertex, or one is negative or NaN.

    Notes
    -----
    Weights are rounded to multiples of one unit, and summed as integers, so the sums are the same for any number of
    threads. Takes 4 bytes per stored edge for each of up to 8 threads, and 8 per vertex for each thread.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> oriented = primitives.orient(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]).symmetrized())
    >>> primitives.sum_at_edges(oriented, [1.0, 2.0, 4.0, 8.0])
    array([4., 2., 4., 1., 2., 1., 0., 0.])
    """
    if not isinstance(oriented, Oriented):
        raise TypeError(f"oriented is {oriented!r}; expected an Oriented: gasla.primitives.orient(graph)")
    graph = in_host_memory("sum_at_edges", oriented.graph)
    weights = np.asarray(weights, np.float64)
    if weights.shape != (graph.n,):
        raise ValueError(f"weights have shape {weights.shape}; expected ({graph.n},), one for each vertex")
    if not (weights >= 0).all():
        v = int((~(weights >= 0)).argmax())
        raise ValueError(f"the weight of vertex {v} is {weights[v]}; expected 0 or more")
    sums = kernels().sum_at_edges(graph, oriented._lists, weights)
    require_unchanged_files(graph)
    return sums


def _sort_order(ranks: np.ndarray) -> np.ndarray:
    """Return the positions of integers in ascending order, as a stable sort gives them.

    The integers are sorted by digits of 16 bits, which takes a third of the time of NumPy's sort of wider integers.
    """
    sort_keys = ranks.astype(np.int64 if ranks.dtype.kind == "i" else np.uint64).view(np.uint64)
    if ranks.dtype.kind == "i":
        # with the sign bit flipped, negative numbers come before all others as unsigned numbers too
        sort_keys = sort_keys ^ np.uint64(2**63)
    digits = np.ascontiguousarray(sort_keys.astype("<u8").view(np.uint16).reshape(-1, 4).T)
    return np.lexsort([row for row in digits if (row != row[:1]).any()] or digits[:1])


def color_in_order(graph: Any, ranks: Array, colors: Array | None = None) -> Array:
    """Color vertices greedily by falling rank.

    This is a whole algorithm, for which the CPU engine and the GPU engine each have a built-in kernel.
    `gasla.greedy_color` calls it. A GPU colors at the same time all vertices whose earlier neighbors have colors; a CPU
    colors one after another, on one thread.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as undirected. Self loops and parallel edges do not matter.
    ranks : (n,) array of integers
        Of equal ranks, the larger id comes first.
    colors : (n,) array of integers, optional
        Colors that vertices have already; -1 for the others.

    Returns
    -------
    (n,) array of int32
        Each vertex has the smallest color that no neighbor before it has, on both engines.

    Raises
    ------
    TypeError
        If the graph is streamed (a GPU reads its edges in host memory), or distributed over several processes or GPUs.
    ValueError
        If an array is not one integer per vertex, or int32 does not hold a color.

    Notes
    -----
    On a GPU fastest if vertices with long lists come first. Needs 16 to 24 bytes per vertex besides the result.

    M. T. Jones, P. E. Plassmann: A Parallel Graph Coloring Heuristic. SIAM Journal on Scientific Computing 14 (1993).

    Examples
    --------
    >>> import gasla
    >>> star = gasla.Graph.from_edges([0, 0], [1, 2])
    >>> gasla.primitives.color_in_order(star, [0, 2, 1])
    array([1, 0, 0], dtype=int32)
    """
    graph = whole_graph(graph)
    if graph.is_streamed:
        raise TypeError("color_in_order takes a graph in one memory, and this one is streamed: graph.to('gpu')")
    xp: Any = module_of(graph.device)
    ranks = integers(graph, "ranks", ranks)
    if colors is None:
        result = xp.full(graph.n, -1, np.int32)
    else:
        given_colors = integers(graph, "colors", colors)
        result = narrowed("colors", given_colors.clip(-1) if given_colors.dtype.kind == "i" else given_colors, np.int32)
    order = (_sort_order(ranks) if xp is np else xp.argsort(ranks, kind="stable"))[::-1].astype(graph.id_dtype)
    _primitives_on(graph.engine).color_in_order(undirected_lists(graph), order, result)
    require_unchanged_files(graph)
    return result


# --- checks of forests that functions above receive -------------------------------------------------------------------


def _check_array(parents: Any) -> None:
    xp: Any = array_module(imported(parents))
    if not isinstance(parents, xp.ndarray) or parents.ndim != 1 or parents.dtype not in (np.int32, np.int64):
        description = f"{parents.dtype}{parents.shape}" if isinstance(parents, xp.ndarray) else type(parents).__name__
        raise TypeError(f"the forest is {description}; expected an array of int32 or int64, the parent of each vertex")


def _check_forest(parents: Any) -> None:
    """Raise an error unless an argument can be the array of parents of a forest, which kernels read and write.

    Kernels follow parents without checking them, so a wrong parent could lead outside of the array. The parents
    themselves are checked only on the CPU.
    """
    _check_array(parents)
    # on a GPU the parents are not checked, as this would need kernels of its own
    if not isinstance(parents, np.ndarray):
        return
    if not parents.flags.writeable:
        raise ValueError("the forest is read-only; expected an array that may be written to: pass a copy")
    wrong = (parents < 0) | (parents > np.arange(len(parents)))
    if wrong.any():
        v = int(wrong.argmax())
        raise ValueError(f"the parent of vertex {v} is {parents[v]}; expected 0 to {v}, no larger than its child")


def _check_like(values: Array, numbers: Array) -> None:
    """Raise ValueError if the array `values` differs from `numbers`, an array of `Trees`, in dtype, shape or device."""
    described, expected = (f"{array.dtype}{array.shape} on the {device_of(array)}" for array in (values, numbers))
    if described != expected:
        raise ValueError(f"an array is {described}; expected {expected}, as the arrays of the trees")


def _check_forest_of(graph: Graph, parents: Array) -> None:
    device = device_of(parents)
    if device != graph.device:
        raise ValueError(f"the forest is on the {device} and the graph on the {graph.device}; expected one device")
    if len(parents) != graph.n:
        raise ValueError(f"the forest has {len(parents)} entries; expected one for each of {graph.n} vertices")
