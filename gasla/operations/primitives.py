"""Primitives: stages that need no program, over a forest of vertices and over neighbour lists.

A forest is an array: ``parents[v]`` is v's parent, and a root is its own. A parent is never larger than its child, so
a root is the smallest vertex of its tree. `hook`, `link`, `compress`, `likely_largest` and `number` work on forests;
`label_components` is all of them in one launch. `simplify`, `orient`, `count_common_neighbours` and `count_cliques`
look at all edges of a graph read as simple and undirected, `intersect`, `common` and `has_edges` at chosen pairs.

All run where the graph is, and on a GPU return while their kernels run, unless they return a Python number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from operator import index
from typing import Any, Literal

import numpy as np

from gasla.arrays import array_module, device_of
from gasla.engines import Primitives, engine
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph, as_graph
from gasla.operations.common_neighbors import common, count_cliques, has_edges, intersect

__all__ = [
    "Oriented",
    "common",
    "compress",
    "count_cliques",
    "count_common_neighbours",
    "has_edges",
    "hook",
    "intersect",
    "label_components",
    "likely_largest",
    "link",
    "number",
    "orient",
    "simplify",
]

Array = Any  # NumPy's or CuPy's


@cache
def _on(device: str) -> Primitives:
    return engine(device).primitives()


# --- forests ---------------------------------------------------------------------------------------------------------


def hook(graph: Any) -> Array:
    """A first forest: every vertex under its first out-neighbour if that is smaller, else a root.

    Needs no reading of other vertices, so it is the cheapest way to join many.

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
    graph = as_graph(graph)
    return _on(graph.engine).hook(graph)


def link(graph: Any, parents: Array, *, first: int = 0, last: int | None = None, known: int | None = None) -> None:
    """Unite the trees at both ends of every edge, in place.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
    parents : (n,) array of int32 or int64
        The forest, where the graph is; on a GPU of the type of the graph's ids.
    first, last : int
        Only edges at these positions of every vertex's list: ``first=0, last=1`` is the first edge of each.
    known : int, optional
        A root whose tree is large. Edges inside it are passed over; in a symmetric graph, all edges from it, since they
        are met at their other end. Vertices of it that don't point at the root count as outside: `compress` first.

    Raises
    ------
    TypeError
        If the forest is no array of such integers.
    ValueError
        If it has not one entry for each vertex, is on another device or read-only, or a parent is larger than its
        child (which is not looked for on a GPU); if `first`, `last` or `known` is out of range.

    Notes
    -----
    Roots change by compare-and-swap; paths are halved on the way. M. Sutton, T. Ben-Nun, A. Barak: Optimizing Parallel
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
    graph = as_graph(graph)
    _check_forest(parents)
    _check_forest_of(graph, parents)
    first, last = index(first), None if last is None else index(last)
    if first < 0 or (last is not None and last < 0):
        raise ValueError(f"first and last are {first} and {last}; expected positions in a list, from 0 on")
    if known is not None and not 0 <= index(known) < graph.n:
        raise ValueError(f"known is {known}; expected a vertex of the graph, 0 to {graph.n - 1}")
    _on(graph.engine).link(graph, parents, first, last, None if known is None else index(known))


def compress(parents: Array) -> None:
    """Point every vertex at the root of its tree, in place.

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
    _on(device_of(parents)).compress(parents)


def likely_largest(parents: Array) -> int:
    """The root that most of a sample of vertices point at: the largest tree's, if one holds most vertices.

    Parameters
    ----------
    parents : array of int32 or int64
        The forest, compressed.

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
    return int(_on(device_of(parents)).likely_largest(parents))


def number(parents: Array) -> int:
    """Replace each parent by the number of the tree, in place; trees are numbered from 0 in the order of their roots.

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
    return int(_on(device_of(parents)).number(parents))


def label_components(graph: Any) -> tuple[Any, Array]:
    """Number the weakly connected components in one launch: hook, link, compress, link outside the largest, number.

    Labels are the vertices of the graph that is left when each component is contracted to one.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Edges join their ends whichever way they point.

    Returns
    -------
    count : int
        How many components there are. On a GPU an array of no dimension, as CuPy's sums are: `int(count)` waits for it.
    labels : (n,) array of the type of ids
        The number of each vertex's component, from 0 in the order of each component's smallest vertex.

    Notes
    -----
    Afforest, as in `gasla.connected_components`, which is this.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.label_components(Graph.from_edges([1, 2, 2, 3], [0, 3, 0, 2], n=5))
    (2, array([0, 0, 0, 0, 1], dtype=int32))
    """
    graph = as_graph(graph)
    return _on(graph.engine).label_components(graph)


# --- neighbour lists -------------------------------------------------------------------------------------------------


def simplify(graph: Any) -> Graph:
    """The graph as a simple undirected one: every edge in both directions, once; no self loops, no values.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array

    Returns
    -------
    Graph
        The graph itself where it is so, with its values. Else what is made once and kept with it: up to 8 bytes an edge
        and 4 a vertex (`Graph.nbytes`).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> simple = primitives.simplify(Graph.from_edges([0, 0, 1, 2], [1, 1, 2, 2]))
    >>> simple.out.indptr, simple.out.indices
    (array([0, 1, 3, 4], dtype=int32), array([1, 0, 2, 1], dtype=int32))
    """
    graph = as_graph(graph)
    return _on(graph.engine).simplify(graph)


@dataclass(frozen=True, eq=False)
class Oriented:
    """A simple undirected graph whose edges point forward in an order of its vertices, as `orient` makes it.

    Attributes
    ----------
    graph : Graph
        What is oriented: simple, as `simplify` gives it.
    order : "ids" or "degrees"
        Vertices of the same degree are in the order of their ids.
    forward : Graph
        The edges from the earlier to the later vertex alone; made when it is first asked for.
    """

    graph: Graph
    _lists: Any  # as the engine goes by them

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
        """Whether the one comes before the other in the order of the vertices, for arrays of vertices."""
        by_id = first < second
        if self.order == "ids":
            return by_id
        a, b = self.graph.out_degrees[first], self.graph.out_degrees[second]
        return (a < b) | ((a == b) & by_id)

    def __repr__(self) -> str:
        return f"Oriented({self.graph!r}, by {self.order})"


def orient(graph: Any) -> Oriented:
    """Put the vertices in an order, so that every edge points forward and each set of three is met once.

    Where all neighbour lists are short the order is that of the ids: lists are used as they are, and nothing is made.
    Else it is that of degrees, lowest first: hubs then have few later neighbours.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected: what is oriented is ``simplify(graph)``.

    Returns
    -------
    Oriented
        By degrees it takes 4 to 8 bytes for each stored edge beside the graph.

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
    primitives = _on(graph.engine)
    simple = primitives.simplify(graph)
    return Oriented(simple, primitives.orient(simple))


def count_common_neighbours(
    oriented: Oriented, *, per_vertex: bool = False, per_edge: bool = False
) -> tuple[Any, Array | None]:
    """Sum up, over all edges of an oriented graph, the common neighbours that follow both ends.

    Each set of three vertices that are joined by three edges is counted once, at the edge of its first two.

    Parameters
    ----------
    oriented : Oriented
        From `orient`.
    per_vertex : bool, default False
        Also count at each vertex the sets that it is in, whichever of the three it is.
    per_edge : bool, default False
        Instead count at each edge the sets that it is in: all common neighbours of its ends, wherever they are in the
        order.

    Returns
    -------
    total : int
        On a GPU an array of no dimension, as CuPy's sums are: `int(total)` waits for it.
    counts : (n,) or (m,) array of int64, or None
        With `per_vertex` one count a vertex; with `per_edge` one for each stored edge of ``oriented.graph``, in the
        order of its input, the same at both directions.

    Raises
    ------
    TypeError
        If `oriented` is something else.
    ValueError
        If both `per_vertex` and `per_edge` are asked for.

    Notes
    -----
    On the CPU, counts at edges of a graph oriented by degrees take 2 bytes a stored edge and 4 a vertex for each of up
    to 8 threads, twice as much where ids are int64. On a GPU they take 8 bytes a stored edge, 4 if oriented by ids.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> oriented = primitives.orient(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]))
    >>> primitives.count_common_neighbours(oriented, per_vertex=True)
    (1, array([1, 1, 1, 0]))
    """
    if not isinstance(oriented, Oriented):
        raise TypeError(f"oriented is {oriented!r}; expected an Oriented: gasla.primitives.orient(graph)")
    if per_vertex and per_edge:
        raise ValueError("per_vertex and per_edge are both True; expected one of them: call it twice to have both")
    primitives = _on(oriented.graph.engine)
    if per_edge:
        return primitives.count_at_edges(oriented.graph, oriented._lists)
    return primitives.count_common_neighbours(oriented._lists, per_vertex)


# --- what is passed --------------------------------------------------------------------------------------------------


def _check_array(parents: Any) -> None:
    xp: Any = array_module(parents)
    if not isinstance(parents, xp.ndarray) or parents.ndim != 1 or parents.dtype not in (np.int32, np.int64):
        kind = f"{parents.dtype}{parents.shape}" if isinstance(parents, xp.ndarray) else type(parents).__name__
        raise TypeError(f"the forest is {kind}; expected an array of int32 or int64, the parent of each vertex")


def _check_forest(parents: Any) -> None:
    """Kernels follow a forest blindly, and write into it."""
    _check_array(parents)
    if not isinstance(parents, np.ndarray):  # on a GPU to look takes kernels of its own, to be compiled
        return
    if not parents.flags.writeable:
        raise ValueError("the forest is read-only; expected an array that may be written to: pass a copy")
    wrong = (parents < 0) | (parents > np.arange(len(parents)))
    if wrong.any():
        v = int(wrong.argmax())
        raise ValueError(f"the parent of vertex {v} is {parents[v]}; expected 0 to {v}, no larger than its child")


def _check_forest_of(graph: Graph, parents: Array) -> None:
    device = device_of(parents)
    if device != graph.device:
        raise ValueError(f"the forest is on the {device} and the graph on the {graph.device}; expected one device")
    if len(parents) != graph.n:
        raise ValueError(f"the forest has {len(parents)} entries; expected one for each of {graph.n} vertices")
