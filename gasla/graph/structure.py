"""The edges of a graph, their values aside: neighbour lists in both directions, degrees, and what they say of it.

Each is built when it is first asked for, and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np

from gasla.arrays import Device, any_true, array_module, finish
from gasla.graph.adjacency import Adjacency, Array, lists_on
from gasla.graph.exchange.naming import Names

T = TypeVar("T")


def lasting(make: Callable[[Any], T]) -> cached_property[T]:
    """A cached property whose arrays are finished before anyone sees it: another thread may be on another stream."""

    @wraps(make)
    def made(graph: Structure) -> T:
        result = make(graph)
        finish(graph.device)
        return result

    return cached_property(made)


class Structure:
    """What a `Graph` is but for values. The input has out-edges, in-edges, or pairs of ends; the rest follows."""

    n: int
    m: int
    device: Device
    _rows: Adjacency | None  # out-edges, where the input has them
    _columns: Adjacency | None  # in-edges, likewise
    _ends: tuple[Array, Array] | None  # sources and destinations, likewise
    _names: Names | None = None  # of vertices

    @property
    def engine(self) -> str:
        """The name of what runs programs on it, as `gasla.engines` knows it: that of the device, if it is on one."""
        return self.device

    @property
    def id_dtype(self) -> np.dtype[Any]:
        """The type that vertex ids need: int32 where n fits, else int64.

        int64 arrays given stay as they are on the CPU; on the GPU indices have this type.
        """
        return np.dtype(np.int32 if self.n < 2**31 else np.int64)

    @property
    def offset_dtype(self) -> np.dtype[Any]:
        """The type that edge numbers need: int32 where m fits, else int64."""
        return np.dtype(np.int32 if self.m < 2**31 else np.int64)

    @lasting
    def out(self) -> Adjacency:
        """Out-edges: the rows of the matrix."""
        if self._rows is not None:
            return self._rows
        if self._columns is not None:
            return self._reversed(self._columns)
        assert self._ends is not None
        src, dst = self._ends
        return Adjacency.grouped(src, dst, self.n)

    @lasting
    def in_(self) -> Adjacency:
        """In-edges: the columns of the matrix. Shares the arrays of `out` where they are the same."""
        if self._columns is not None:
            return self._columns
        if self._rows is not None:
            return self._reversed(self._rows)
        assert self._ends is not None
        src, dst = self._ends
        return Adjacency.grouped(dst, src, self.n)

    @lasting
    def both(self) -> Adjacency:
        """Every edge seen from both its ends, each list in the order of the input; twice the entries of `out`."""
        lists = self._ends_in_lists()
        return Adjacency(lists.indptr, lists.indices, array_module(lists.indices).right_shift(lists.numbers(), 1))

    @lasting
    def leaving(self) -> Array:
        """Of every position of `both`, whether the edge leaves the vertex in whose list it is; a loop does once."""
        numbers = self._ends_in_lists().numbers()
        return array_module(numbers).equal(numbers & 1, 0)

    def _ends_in_lists(self) -> Adjacency:
        """The two ends of every edge, of which the tail comes first, each in the list of its vertex."""
        edges = self.edges()
        ends = array_module(edges[0]).stack(edges, axis=1)  # one edge after the other
        del edges
        return Adjacency.grouped(ends.ravel(), ends[:, ::-1].ravel(), self.n)

    def edges(self) -> tuple[Array, Array]:
        """The source and the target of each edge, in the order of edge numbers.

        Returns
        -------
        src, dst : (m,) arrays of integers
            Vertex numbers, on the graph's device; ``graph.names[src]`` are the names. They may be the graph's own
            arrays, and must not be written to.

        Notes
        -----
        Of a graph made of rows (or columns) the sources (or targets) are written out by each call, in a pass over the
        edges.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([2, 0, 1], [0, 1, 2], [5, 3, 4])
        >>> graph.edges()
        (array([2, 0, 1], dtype=int32), array([0, 1, 2], dtype=int32))
        >>> src, dst = graph.edges()
        >>> [*zip(src.tolist(), dst.tolist(), graph.values.tolist())]
        [(2, 0, 5), (0, 1, 3), (1, 2, 4)]
        """
        if self._ends is not None:
            return self._ends
        lists = self._rows or self._columns
        assert lists is not None
        owners = lists.owners()
        return (owners, lists.indices) if self._rows is not None else (lists.indices, owners)

    def _reversed(self, given: Adjacency) -> Adjacency:
        """`given` turned round; a symmetric pattern with sorted lists is its own reverse, edge numbers apart."""
        if given.is_sorted and self.is_symmetric:
            indptr, indices = given.indptr, given.indices
        else:
            indptr, indices = lists_on(given.indptr).turned(given.indptr, given.indices)
        # Edge numbers are left until they are asked for: a search over in-edges never does.
        return Adjacency(indptr, indices, given.turned_numbers)

    @lasting
    def sorted_out(self) -> Adjacency:
        """Out-edges with every row ascending; parallel edges in the order of the input. `out` itself where it is so."""
        return self.out if self.out.is_sorted else self.in_.transposed()

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether j -> i is stored as often as i -> j, for all i and j; values aside."""
        return bool((self._rows or self._columns or self.out).facts.are_symmetric)

    @lasting
    def out_edge_ids(self) -> Array:
        """The edge number of every position of `out`."""
        return self.out.numbers()

    @lasting
    def in_edge_ids(self) -> Array:
        """The edge number of every position of `in_`."""
        return self.in_.numbers()

    @lasting
    def out_degrees(self) -> Array:
        """Number of out-edges of every vertex."""
        return self._degrees(self._rows, "out", self._columns)

    @lasting
    def in_degrees(self) -> Array:
        """Number of in-edges of every vertex."""
        return self._degrees(self._columns, "in_", self._rows)

    @cached_property
    def max_out_degree(self) -> int:
        """The most out-edges that a vertex has; 0 without vertices.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 0, 1], [1, 2, 2]).max_out_degree
        2
        """
        return int(self.out_degrees.max()) if self.n else 0

    @cached_property
    def max_in_degree(self) -> int:
        """The most in-edges that a vertex has; 0 without vertices."""
        return int(self.in_degrees.max()) if self.n else 0

    def _degrees(self, given: Adjacency | None, name: str, other: Adjacency | None) -> Array:
        """Lengths of the lists, where they exist; else a count of ids, which is far cheaper than building them."""
        lists = given or self.__dict__.get(name)
        if lists is not None:
            return array_module(lists.indptr).diff(lists.indptr).astype(self.offset_dtype, copy=False)
        if other is not None:
            ids = other.indices
        else:
            assert self._ends is not None
            ids = self._ends[0 if name == "out" else 1]
        return lists_on(ids).count_ids(ids, self.n).astype(self.offset_dtype)

    @cached_property
    def has_self_loops(self) -> bool:
        """Whether any edge leads from a vertex to itself."""
        if self._ends is not None:
            return any_true(array_module(self._ends[0]).equal(*self._ends))
        lists = self._rows or self._columns
        assert lists is not None
        return bool(lists.facts.have_loops)

    @cached_property
    def has_parallel_edges(self) -> bool:
        """Whether any edge is stored more than once."""
        lists = self._rows or self._columns or self.out
        if not lists.is_sorted:
            lists = self.sorted_out
        return bool(lists.facts.repeat)

    @cached_property
    def is_simple(self) -> bool:
        """Whether the graph is simple and undirected: every edge in both directions, once, and no self loops."""
        return self.is_symmetric and not self.has_parallel_edges and not self.has_self_loops

    def _offsets(self, ascending: Array) -> Array:
        """Where each vertex's run starts in an ascending array of ids."""
        xp = array_module(ascending)
        return xp.searchsorted(ascending, xp.arange(self.n + 1, dtype=ascending.dtype)).astype(self.offset_dtype)


def ascends(ids: Array) -> bool:
    """Whether none of some numbers is less than the one before."""
    return not any_true(array_module(ids).less(ids[1:], ids[:-1]))
