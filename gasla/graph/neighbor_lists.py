"""The edges of a graph without their values: neighbor lists in both directions, degrees, and what follows from them.

Each is built when it is first asked for, and kept. Graphs that differ in values alone share one `Lists`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np

from gasla.arrays import Device, any_true, array_module, finish, index_dtype, moved
from gasla.graph.adjacency import Adjacency, Array, lists_on

T = TypeVar("T")

_TURNED = {  # the counterpart of each in the reversed graph
    "out": "in_",
    "out_edge_ids": "in_edge_ids",
    "out_degrees": "in_degrees",
    "max_out_degree": "max_in_degree",
}
# These are as they are in the reversed graph.
_UNTURNED = ("is_symmetric", "has_self_loops", "has_parallel_edges", "is_simple", "reverse_edge_ids")


def lasting(make: Callable[[Any], T]) -> cached_property[T]:
    """A cached property whose arrays are finished before another thread sees them, which may use another stream."""

    @wraps(make)
    def made(part: Any) -> T:
        result = make(part)
        finish(part.device)
        return result

    return cached_property(made)


class Lists:
    """Edges as the input has them, and the neighbor lists that are built of them.

    Parameters
    ----------
    n : int
        Number of vertices.
    device : "cpu" or "gpu"
    rows, columns : Adjacency, optional
        Out-edges or in-edges, where the input has them.
    ends : (src, dst), optional
        Sources and targets, where it has neither.
    """

    def __init__(
        self,
        n: int,
        device: Device,
        rows: Adjacency | None = None,
        columns: Adjacency | None = None,
        ends: tuple[Array, Array] | None = None,
    ) -> None:
        self.n, self.device = n, device
        self.rows, self.columns, self.ends = rows, columns, ends
        given = rows or columns
        self.m = len(given.indices) if given is not None else 0 if ends is None else len(ends[0])

    @classmethod
    def of_edges(cls, n: int, device: Device, src: Array, dst: Array) -> Lists:
        """Stored as CSR if `src` is sorted, as CSC if `dst` is, else as pairs; of the type that ids need."""
        lists = cls(n, device, ends=(src, dst))
        xp = array_module(src)
        src, dst = (xp.ascontiguousarray(ids, dtype=lists.id_dtype) for ids in (src, dst))
        lists.ends = None
        if ascends(src):
            lists.rows = Adjacency(lists._offsets(src), dst)
        elif ascends(dst):
            lists.columns = Adjacency(lists._offsets(dst), src)
        else:
            lists.ends = src, dst
        return lists

    @property
    def id_dtype(self) -> np.dtype[Any]:
        """The type that vertex ids need: int32 where n fits, else int64."""
        return index_dtype(self.n)

    @property
    def offset_dtype(self) -> np.dtype[Any]:
        """The type that edge numbers need: int32 where m fits, else int64."""
        return index_dtype(self.m)

    @lasting
    def out(self) -> Adjacency:
        """Out-edges: the rows of the matrix."""
        if self.rows is not None:
            return self.rows
        if self.columns is not None:
            return self._reversed(self.columns)
        assert self.ends is not None
        src, dst = self.ends
        return Adjacency.grouped(src, dst, self.n)

    @lasting
    def in_(self) -> Adjacency:
        """In-edges: the columns of the matrix. Shares the arrays of `out` where they are the same."""
        if self.columns is not None:
            return self.columns
        if self.rows is not None:
            return self._reversed(self.rows)
        assert self.ends is not None
        src, dst = self.ends
        return Adjacency.grouped(dst, src, self.n)

    @property
    def given(self) -> Adjacency:
        """Lists in the direction that the input has, or else `out`."""
        return self.rows or self.columns or self.out

    @property
    def any_ids(self) -> Array:
        """An array of vertex ids that the input has."""
        return self.ends[0] if self.ends is not None else self.given.indices

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
        """Sources and targets, in the order of edge numbers."""
        if self.ends is not None:
            return self.ends
        lists = self.rows or self.columns
        assert lists is not None
        owners = lists.owners()
        return (owners, lists.indices) if self.rows is not None else (lists.indices, owners)

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
        return bool(self.given.facts.are_symmetric)

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
        return self._degrees(self.rows, "out", self.columns)

    @lasting
    def in_degrees(self) -> Array:
        """Number of in-edges of every vertex."""
        return self._degrees(self.columns, "in_", self.rows)

    @cached_property
    def max_out_degree(self) -> int:
        """The most out-edges that a vertex has; 0 without vertices."""
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
            assert self.ends is not None
            ids = self.ends[0 if name == "out" else 1]
        return lists_on(ids).count_ids(ids, self.n).astype(self.offset_dtype)

    @cached_property
    def has_self_loops(self) -> bool:
        """Whether any edge leads from a vertex to itself."""
        if self.ends is not None:
            return any_true(array_module(self.ends[0]).equal(*self.ends))
        lists = self.rows or self.columns
        assert lists is not None
        return bool(lists.facts.have_loops)

    @cached_property
    def has_parallel_edges(self) -> bool:
        """Whether any edge is stored more than once."""
        lists = self.given
        if not lists.is_sorted:
            lists = self.sorted_out
        return bool(lists.facts.repeat)

    @cached_property
    def is_simple(self) -> bool:
        """Whether the graph is simple and undirected: every edge in both directions, once, and no self loops."""
        return self.is_symmetric and not self.has_parallel_edges and not self.has_self_loops

    @lasting
    def reverse_edge_ids(self) -> Array:
        """The number of each edge's partner, which every edge has to have."""
        partners = self.partners()
        alone = array_module(partners).less(partners, 0)
        if any_true(alone):
            e = int(alone.argmax())
            src, dst = (int(ends[e]) for ends in self.edges())
            raise ValueError(
                f"edge {e}, {src} -> {dst}, has no partner: {dst} -> {src} is stored less often; expected each edge in "
                "both directions: graph.paired(fill=0) adds what is missing"
            )
        return partners

    def partners(self) -> Array:
        """The number of each edge's partner, which leads the other way; -1 for an edge without one."""
        known: Array | None = self.__dict__.get("reverse_edge_ids")
        if known is not None:
            return known
        rows = self.sorted_out  # by sources, then targets, then the input's order
        columns = self.out.transposed()  # by targets, then sources, then the input's order
        ids, others = rows.numbers(), columns.numbers()
        xp = array_module(ids)
        partners = xp.empty(self.m, self.offset_dtype)
        if not any_true(xp.not_equal(rows.indptr, columns.indptr)) and not any_true(
            xp.not_equal(rows.indices, columns.indices)
        ):
            partners[ids] = others
            return partners
        own, wanted = rows.as_numbers(self.n), columns.as_numbers(self.n)
        first = xp.searchsorted(wanted, own)
        place = first + xp.arange(self.m) - xp.searchsorted(own, own)
        there = xp.less(place, xp.searchsorted(wanted, own, side="right"))
        partners[...] = -1
        partners[ids[there]] = others[place[there]]
        return partners

    def are_both_ways(self, values: Array) -> bool:
        """Whether all edges i -> j and all j -> i have values of the same bits, in whatever order they are listed."""
        lists = self.given
        found: bool = lists_on(lists.indptr).is_symmetric(lists.indptr, lists.indices, lists.by_position(values))
        return found

    def reversed(self) -> Lists:
        """The lists with every edge reversed; arrays are shared, and edge numbers stay."""
        turned = Lists(self.n, self.device, self.columns, self.rows, None if self.ends is None else self.ends[::-1])
        known = self.__dict__
        turned.__dict__.update({name: known[name] for name in _UNTURNED if name in known})
        for name, other in [*_TURNED.items(), *((b, a) for a, b in _TURNED.items())]:
            if other in known:
                turned.__dict__[name] = known[other]
        return turned

    def to(self, device: Device) -> Lists:
        """A copy of what the input has on another device, in the type that ids need, with all yes-or-no properties."""
        rows, columns = (
            lists and Adjacency(lists.indptr, lists.indices.astype(self.id_dtype, copy=False)).to(device)
            for lists in (self.rows, self.columns)
        )
        ends = None if self.ends is None else (moved(self.ends[0], device), moved(self.ends[1], device))
        copy = Lists(self.n, device, rows, columns, ends)
        copy.__dict__.update({name: known for name, known in self.__dict__.items() if isinstance(known, bool)})
        return copy

    def arrays(self) -> list[Array]:
        """The arrays held now."""
        held: list[Array] = [] if self.ends is None else [*self.ends]
        for part in self.__dict__.values():
            if isinstance(part, Adjacency):
                held += part.arrays()
            elif isinstance(part, array_module(part).ndarray):
                held.append(part)
        return held

    def _offsets(self, ascending: Array) -> Array:
        """Where each vertex's run starts in an ascending array of ids."""
        xp = array_module(ascending)
        return xp.searchsorted(ascending, xp.arange(self.n + 1, dtype=ascending.dtype)).astype(self.offset_dtype)


def ascends(ids: Array) -> bool:
    """Whether none of some numbers is less than the one before."""
    return not any_true(array_module(ids).less(ids[1:], ids[:-1]))
