"""What graphs can be made of a graph: new ones, on its device, that say where their vertices and edges came from.

The graph itself stays as it is. Nothing is carried over of what is known of it, unless it holds of the new one as well.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gasla.arrays import any_true, array_module, device_of, moved, running_sums, with_bits_of_numbers
from gasla.graph.adjacency import Adjacency, Array, lists_on
from gasla.graph.derive.combining import (
    is_for_product,
    nothing,
    reduce_by,
    reduce_picked,
    reduce_runs,
    require_closed,
)
from gasla.graph.derive.origin import LaterNumbers, Numbers, Origin, numbered
from gasla.graph.structure import Structure
from gasla.graph.validate import as_array, as_ids, as_labels, check_range, for_names
from semirings import Monoid, plus
from semirings import any as any_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_TURNED = {  # what is another's of the graph turned round
    "_rows": "_columns",
    "out": "in_",
    "out_edge_ids": "in_edge_ids",
    "out_degrees": "in_degrees",
    "max_out_degree": "max_in_degree",
}
_STAYING = ("n", "m", "device", "values", "is_symmetric", "has_self_loops", "has_parallel_edges", "is_simple", "_names")


class Derivable(Structure):
    """The graphs that a `Graph` makes."""

    values: Array | None
    origin: Origin | None = None
    """Where vertices and edges came from, see `Origin`; None if the graph was made of no other one."""

    # --- fewer ------------------------------------------------------------------------------------------------------

    def select(self, edges: ArrayLike) -> Self:
        """The graph of some of the edges, and all vertices.

        Edges stay in their order. Peak memory beside both graphs: 16 bytes for an edge of the new one, and 4 for each
        of this one where it has rows or columns.

        Parameters
        ----------
        edges : (m,) array of bool, or array of integers
            Which: a mask over the edges in the order of the input, or their numbers, ascending.

        Raises
        ------
        TypeError
            If they are neither, or elsewhere than the graph.
        ValueError
            If the mask has another length, or numbers don't ascend or name no edge.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [5, 3, 4])
        >>> far = graph.select(graph.values > 3)
        >>> far.values, far.origin.edges
        (array([5, 4]), array([0, 2], dtype=int32))
        """
        selected = self._chosen("edges", edges, self.m).astype(self.offset_dtype)
        if any_true(array_module(selected).less_equal(selected[1:], selected[:-1])):
            raise ValueError("the numbers of edges don't ascend; expected each once, in ascending order: numpy.unique")
        src, dst = self.edges()
        same = Numbers(self.device, self.n, self.n)
        return self._made(self.n, src[selected], dst[selected], self._of(selected), same, selected)

    def subgraph(self, vertices: ArrayLike) -> Self:
        """The graph of some vertices and all edges between them.

        Edges stay in their order. Vertices are numbered in the order in which they are given. Where the graph has its
        edges by rows or columns, only those of these vertices are looked at: on the CPU if the vertices ascend, else if
        their out-edges, by rows, are few. Peak memory beside both graphs: 4 bytes for a vertex of this one; and unless
        vertices ascend on the CPU, 17 for each of its edges, or 40 for each of those looked at.

        Parameters
        ----------
        vertices : (n,) array of bool, or array of integers
            Which: a mask over vertices, or their ids, each once, in any order.

        Raises
        ------
        TypeError
            If they are neither, or elsewhere than the graph.
        ValueError
            If the mask has another length, or ids repeat or name no vertex.

        Examples
        --------
        >>> import gasla
        >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
        >>> triangle = graph.subgraph(gasla.k_core(graph, 2))
        >>> triangle, triangle.origin.edges
        (Graph(n=3, m=3, values=None), array([0, 1, 2], dtype=int32))
        """
        chosen = self._chosen("vertices", vertices, self.n).astype(self.id_dtype)
        xp, count = array_module(chosen), len(chosen)
        number = xp.zeros(self.n, self.id_dtype)  # from 1 on, as pages of zeros that nobody touches cost nothing
        number[chosen] = own = xp.arange(1, count + 1, dtype=self.id_dtype)
        in_order = not any_true(xp.less_equal(chosen[1:], chosen[:-1]))
        if not in_order and any_true(lost := xp.not_equal(number[chosen], own)):
            raise ValueError(f"vertex {int(chosen[int(lost.argmax())])} is given twice; expected each once")
        origin = Numbers(self.device, self.n, count, chosen)
        lists = self._rows or self._columns
        if lists is not None and in_order and self.device == "cpu":
            from gasla.graph.derive import cutting  # which has kernels

            if cutting.is_for(lists):
                found, selected = cutting.cut(lists, chosen, number)
                graph = self._without_edges(count, len(selected), self._of(selected), origin, selected)
                graph._rows, graph._columns = (None, found) if self._rows is None else (found, None)
                graph._ends = None
                return graph
        src, dst, ids = self._leaving_from(chosen)
        src, dst = number[src], number[dst]
        within = xp.flatnonzero(xp.minimum(src, dst))
        selected = (within if ids is None else ids[within]).astype(self.offset_dtype)
        return self._made(count, src[within] - 1, dst[within] - 1, self._of(selected), origin, selected)

    def simple(self, combine: Monoid | None = None, *, loops: bool = False) -> Self:
        """The graph without self loops, and with one edge for all from i to j.

        Directions stay. Edges are numbered by their ends: by rows, neighbours ascending. Peak memory beside both
        graphs: 28 bytes an edge of this one and its values, less where its rows are sorted.

        Parameters
        ----------
        combine : semirings.Monoid, optional
            What the values of parallel edges come to, in the order of the input. By default, the first stays.
        loops : bool
            Whether loops stay.

        Notes
        -----
        Combined, edges without values count 1 each: `plus` counts parallel edges, in int64. With a monoid for which
        that makes no difference, such as `min`, the new graph has no values either. Sums have the values' own type.

        Examples
        --------
        >>> import semirings
        >>> from gasla import Graph
        >>> calls = Graph.from_edges([1, 0, 1, 2], [0, 1, 0, 2], [5, 3, 4, 9])
        >>> calls.simple().values, calls.simple(semirings.plus).values
        (array([3, 5]), array([3, 9]))
        """
        weights = self._combined(combine)
        same = Numbers(self.device, self.n, self.n)
        if loops or not self.has_self_loops:
            return self._merged(weights, combine, same)
        src, dst = self.edges()
        selected = array_module(src).flatnonzero(array_module(src).not_equal(src, dst)).astype(self.offset_dtype)
        less = self._made(self.n, src[selected], dst[selected], None, same, selected)
        return less._merged(None if weights is None else weights[selected], combine, same, selected, self.m)

    # --- others -----------------------------------------------------------------------------------------------------

    def contract(self, labels: ArrayLike, combine: Monoid | None = plus, *, loops: bool = True) -> Self:
        """The graph whose vertices are the groups of vertices with equal labels, and whose edges are those between.

        Groups are numbered in the order of their labels: labels 0, 1, … are the new numbers. An edge within a group
        becomes a loop; where a graph has every edge in both directions, a loop therefore holds each twice, which is
        what modularity wants. Edges are numbered by their ends: by rows, neighbours ascending. Peak memory beside both
        graphs: 36 bytes for an edge of this one and its values, and 9 for a vertex.

        Parameters
        ----------
        labels : (n,) array of integers
            From 0 to n - 1, for each vertex that of its group.
        combine : semirings.Monoid or None
            What the values of edges between the same two groups come to, in the order of the input. With None they stay
            apart, in the order of the input.
        loops : bool
            Whether edges within groups stay, as loops.

        Raises
        ------
        TypeError
            If labels are no integers or elsewhere than the graph, or `combine` can't combine the values.
        ValueError
            If there are more or fewer labels than vertices, or one is out of range.

        Notes
        -----
        Edges without values count 1 each: `plus` counts edges, in int64; with a monoid for which that makes no
        difference, such as `min`, the new graph has no values either. Sums have the values' own type; those of floats
        are added in the order of the input on the CPU, and in a fixed order on a GPU.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2])
        >>> pairs = graph.contract([0, 0, 3, 3])
        >>> pairs.out.indices, pairs.values
        (array([0, 1, 0, 1], dtype=int32), array([2, 1, 1, 2]))
        >>> pairs.origin.new_vertices
        array([0, 0, 1, 1], dtype=int32)
        """
        weights = self._combined(combine)
        given = as_labels(labels, self.n)
        self._require_here("labels", given)
        became, count = self._groups(given)
        if combine is not None and self.device == "cpu":
            from gasla.graph.derive import contracting  # which has kernels

            if contracting.is_for(self._rows, weights, combine, count):
                return self._summed(weights, became, count, loops)
        return self._grouped(weights, combine, became, count, loops)

    def symmetrized(self, combine: Monoid | None = None) -> Self:
        """The graph with every edge in both directions: one edge i -> j and one j -> i for all between the two.

        A loop is its own reverse, and is taken once. Edges are numbered by their ends: by rows, neighbours ascending.
        Peak memory beside both graphs: 64 bytes an edge and twice its values.

        Parameters
        ----------
        combine : semirings.Monoid
            What the values of all edges between i and j come to, whichever way they point, in the order of the input:
            one value for both directions. Needed if there are values.

        Raises
        ------
        ValueError
            If the graph has values and `combine` isn't given.

        Notes
        -----
        `max` and `min` leave what was symmetric as it was; `plus` adds both directions up. Without values see `simple`.
        In `origin` an edge that was there in the other direction alone is said to be of that one.

        Examples
        --------
        >>> import semirings
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 1, 1], [1, 0, 2], [5, 3, 4])
        >>> both = graph.symmetrized(semirings.plus)
        >>> both.out.indices, both.values
        (array([1, 0, 2, 1], dtype=int32), array([8, 8, 4, 4]))
        """
        if self.values is not None and combine is None:
            raise ValueError(
                "the graph has values and combine is not given; expected a monoid for those of i -> j and j -> i, such "
                "as semirings.max or semirings.plus, or a graph without: graph.with_values(None)"
            )
        weights = self._combined(combine)
        src, dst = self.edges()
        xp = array_module(src)
        turned = xp.flatnonzero(xp.not_equal(src, dst)).astype(self.offset_dtype)
        ids = xp.concatenate([xp.arange(self.m, dtype=self.offset_dtype), turned])
        ends = xp.concatenate([src, dst[turned]]), xp.concatenate([dst, src[turned]])
        same = Numbers(self.device, self.n, self.n)
        graph = self._made(self.n, *ends, None, same, None)._merged(None, combine, same)
        assert graph.origin is not None
        became, back = graph.origin.new_edges[: self.m], graph.origin.new_edges[self.m :]
        if weights is not None and combine is not None:  # once for all edges between two, so both directions have it
            is_up = xp.less(src[turned], dst[turned])
            one = became.copy()
            one[turned] = xp.where(is_up, became[turned], back)
            (graph.values,) = reduce_by(combine, one, (weights,), graph.m)
            graph.values[xp.where(is_up, back, became[turned])] = graph.values[one[turned]]
        graph.origin = Origin(same, Known(self.device, ids[graph.origin.edges], became))
        return graph

    def reversed(self) -> Self:
        """The graph with every edge turned round. Numbers stay, lists and values are shared: it takes no memory.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 0, 1], [1, 2, 2])
        >>> graph.reversed().out_degrees, graph.reversed().in_ is graph.out
        (array([0, 1, 2], dtype=int32), True)
        """
        graph: Self = type(self).__new__(type(self))
        graph.__dict__.update({name: self.__dict__[name] for name in _STAYING if name in self.__dict__})
        for name, other in [*_TURNED.items(), *((b, a) for a, b in _TURNED.items())]:
            if other in self.__dict__:
                graph.__dict__[name] = self.__dict__[other]
        graph._ends = None if self._ends is None else self._ends[::-1]
        graph.origin = Origin(Numbers(self.device, self.n, self.n), Numbers(self.device, self.m, self.m))
        return graph

    # --- how --------------------------------------------------------------------------------------------------------

    def _made(
        self, n: int, src: Array, dst: Array, values: Array | None, vertices: Numbers, selected: Array | None
    ) -> Self:
        """A graph of edges that are known to be right, of which `selected` says which they were."""
        graph = self._without_edges(n, len(src), values, vertices, selected)
        graph._hold(*(ends.astype(graph.id_dtype, copy=False) for ends in (src, dst)))
        return graph

    def _without_edges(self, n: int, m: int, values: Array | None, vertices: Numbers, selected: Array | None) -> Self:
        """The same, but that it is still without edges."""
        graph: Self = type(self).__new__(type(self))
        graph.n, graph.m, graph.device, graph.values = n, m, self.device, values
        graph.origin = Origin(vertices, Numbers(self.device, self.m, m, selected))
        graph._names = None if self._names is None else vertices.handed_on(self._names)
        return graph

    def _hold(self, src: Array, dst: Array) -> None:
        raise NotImplementedError  # Graph's

    def _merged(
        self,
        weights: Array | None,
        combine: Monoid | None,
        vertices: Numbers,
        selected: Array | None = None,
        before: int | None = None,
    ) -> Self:
        """The graph with one edge for all from i to j; of its edges, `selected` says which of `before` they were."""
        lists = self.sorted_out
        ids, indices = lists.numbers(), lists.indices
        xp, m = array_module(indices), self.m
        fresh = xp.ones(m, bool)
        fresh[1:] = xp.not_equal(indices[1:], indices[:-1])
        starts = lists.indptr[:-1]
        fresh[starts[xp.less(starts, m)]] = True
        begins = xp.flatnonzero(fresh).astype(self.offset_dtype)
        del fresh, starts
        whole = len(begins) == m
        found = lists.by_position(weights) if whole else _values(weights, combine, ids, begins)
        graph: Self = type(self).__new__(type(self))
        graph.n, graph.m, graph.device, graph.values = self.n, len(begins), self.device, found
        indptr = lists.indptr if whole else xp.searchsorted(begins, lists.indptr).astype(graph.offset_dtype)
        graph._rows = Adjacency(indptr, indices if whole else indices[begins])
        graph._columns = graph._ends = None
        graph._names = self._names
        if weights is not None and combine is not None and not whole:
            graph.values = _as_symmetric(graph._rows, found, combine, lists, weights)
        members = ids if selected is None else selected[ids]
        numbers = Numbers(self.device, before or m, graph.m, members, None if whole else begins)
        graph.origin = Origin(vertices, numbers)
        return graph

    def _grouped(self, weights: Array | None, combine: Monoid | None, became: Array, count: int, loops: bool) -> Self:
        """The graph of groups, of which each vertex became one."""
        src, dst = (became[ends] for ends in self.edges())
        selected = None
        if not loops:
            selected = array_module(src).flatnonzero(array_module(src).not_equal(src, dst)).astype(self.offset_dtype)
            src, dst = src[selected], dst[selected]
        weights = weights if weights is None or selected is None else weights[selected]
        groups = Numbers(self.device, self.n, count, became=became)
        edges = self._made(count, src, dst, weights, groups, selected)
        return edges if combine is None else edges._merged(weights, combine, groups, selected, self.m)

    def _summed(self, weights: Array | None, became: Array, count: int, loops: bool) -> Self:
        """The same, weights added up; which edges each was made of is worked out when somebody asks."""
        from gasla.graph.derive import contracting

        lists = self._rows
        assert lists is not None and weights is not None
        graph: Self = type(self).__new__(type(self))
        graph._rows, values = contracting.summed(lists, weights, became, count, loops)
        graph.values = values = _as_symmetric(graph._rows, values, plus, lists, weights)
        graph.n, graph.m, graph.device = count, len(values), self.device
        graph._columns = graph._ends = graph._names = None
        edges = partial(_edges_of_groups, type(self), lists.indptr, lists.indices, became, count, loops)
        groups = Numbers(self.device, self.n, count, became=became)
        graph.origin = Origin(groups, LaterNumbers(self.device, self.m, graph.m, edges))
        return graph

    def _combined(self, combine: Monoid | None) -> Array | None:
        """The values that are to be combined: 1 for each edge without, if that makes a difference."""
        kind = np.dtype(np.int64) if self.values is None else self.values.dtype
        if combine is not None:
            require_closed(combine, (kind,))
        if self.values is not None or combine is None or combine.idempotent:
            return self.values
        edges = self.edges()[0]
        ones: Array = array_module(edges).ones(self.m, kind)
        return ones

    def _groups(self, labels: Array) -> tuple[Array, int]:
        """The number of each vertex's group, and how many groups there are."""
        xp = array_module(labels)
        if self.n == 0:
            return labels.astype(self.id_dtype), 0
        there = xp.zeros(self.n, bool)
        there[labels] = True
        numbers = xp.cumsum(there, dtype=self.id_dtype)
        return xp.subtract(numbers, 1)[labels].astype(self.id_dtype, copy=False), int(numbers[-1])

    def _leaving_from(self, chosen: Array) -> tuple[Array, Array, Array | None]:
        """Sources, targets and numbers of the edges that leave some vertices, or of all edges, without numbers."""
        lists = self._rows or self.__dict__.get("out")
        if lists is None or len(chosen) == 0:
            return *self.edges(), None
        xp = array_module(chosen)
        starts, lengths = lists.indptr[chosen], self.out_degrees[chosen]
        offsets = running_sums(lengths)
        count = int(offsets[-1])
        if 8 * count > self.m:
            return *self.edges(), None
        owners = lists_on(offsets).owners(offsets, xp.empty(count, self.offset_dtype))
        places = xp.subtract(xp.arange(count), offsets[owners]) + starts[owners]
        ids = places if lists.edge_ids is None else lists.edge_ids[places]
        order = xp.argsort(ids)
        return chosen[owners[order]], lists.indices[places[order]], ids[order]

    def _of(self, selected: Array) -> Array | None:
        return None if self.values is None else self.values[selected]

    def _require_here(self, name: str, given: Array) -> None:
        if len(given) and device_of(given) != self.device:
            raise TypeError(f"{name} on the {device_of(given)}, the graph on the {self.device}; expected one device")

    def _chosen(self, name: str, given: Any, count: int) -> Array:
        """Vertices or edges that were named, by a mask or by their numbers, as numbers."""
        xp = array_module(given)
        chosen = as_array(name, given)
        if not chosen.ndim:
            raise TypeError(f"{name} is {given!r}; expected a mask of bool, or an array of integers: ids")
        self._require_here(name, chosen)
        if not len(chosen):  # which may be given anywhere
            chosen = moved(chosen, self.device)
        if chosen.dtype.kind == "b":
            if chosen.shape != (count,):
                raise ValueError(f"{name} is a mask of shape {chosen.shape}; expected ({count},), or an array of ids")
            return xp.flatnonzero(chosen)
        if chosen.size and chosen.dtype.kind not in "iu":
            raise TypeError(
                f"{name} holds {chosen.dtype}; expected a mask of bool, or integers: ids{for_names(chosen)}"
            )
        ids = as_ids(name, chosen if chosen.size else chosen.astype(np.int32))
        check_range(name, ids, count)
        return ids


class Known(Numbers):
    """Numbers that are known both ways."""

    def __init__(self, device: Any, first: Array, became: Array) -> None:
        super().__init__(device, len(became), len(first))
        self.__dict__.update(first=first, became=became)


def _edges_of_groups(kind: Any, indptr: Array, indices: Array, became: Array, count: int, loops: bool) -> Numbers:
    """What each edge between groups was made of."""
    found: Numbers = kind.from_csr(indptr, indices)._grouped(None, plus, became, count, loops).origin._edges
    return found


def _as_symmetric(lists: Adjacency, values: Any, combine: Monoid, before: Adjacency, weights: Array) -> Array:
    """Combined values, by rows; if the weights that they are made of were symmetric, those of i -> j for j -> i, i < j.

    Weights are in the order of the input. Both directions combine the same ones, but in two orders: sums of floats may
    then differ in the last bits, and `any` may take two of them.
    """
    has_order = combine is any_of or (weights.dtype.kind == "f" and not combine.idempotent)
    if not (has_order and combine.commutative):
        return values
    numbers = before.by_position(with_bits_of_numbers(weights))
    if not lists_on(before.indptr).is_symmetric(before.indptr, before.indices, numbers):
        return values
    return mirrored(lists, values)


def mirrored(lists: Adjacency, values: Array) -> Array:
    """Values by rows, those of i -> j for j -> i where i < j, in a symmetric pattern without parallel edges."""
    back = lists.transposed().numbers()
    chosen: Array = array_module(values).where(lists.owners() > lists.indices, values[back], values)
    return chosen


def _values(weights: Array | None, combine: Monoid | None, ids: Array, begins: Array) -> Array | None:
    """What the values of edges that come together come to; the first without a monoid."""
    if weights is None:
        return None
    if combine is None:
        return weights[ids[begins]]
    if is_for_product(combine, (weights,)):
        return reduce_picked(combine, array_module(ids).append(begins, len(ids)).astype(ids.dtype), ids, weights)
    found = nothing(combine, (weights,), len(begins))
    reduce_runs(combine, numbered(begins, len(ids), begins.dtype), (weights[ids],), found)
    return found[0]
