"""Edges and their partners: for i -> j one of j -> i, as flows and messages have something to say both ways."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from gasla.arrays import any_true, array_module, finish
from gasla.graph.adjacency import Array
from gasla.graph.changes import Changing
from gasla.graph.derive.derivable import Derivable, Known
from gasla.graph.derive.origin import Numbers, Origin
from gasla.graph.structure import lasting


class Pairing(Derivable, Changing):
    """What a `Graph` knows of the two directions of its edges."""

    @lasting
    def reverse_edge_ids(self) -> Array:
        """For each edge, in the order of the input, the number of its partner, which leads the other way.

        The k-th edge from i to j is the partner of the k-th from j to i, in the order of the input. So a loop is its
        own. Made when it is first asked for, by turning lists round, and then kept.

        Raises
        ------
        ValueError
            If an edge has no partner; it names the first. `paired` adds those that are missing.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1, 2, 0, 2], [1, 0, 2, 2, 0]).reverse_edge_ids
        array([1, 0, 2, 4, 3], dtype=int32)
        """
        partners = _partners(self)
        alone = array_module(partners).less(partners, 0)
        if any_true(alone):
            e = int(alone.argmax())
            src, dst = (int(ends[e]) for ends in self.edges())
            raise ValueError(
                f"edge {e}, {src} -> {dst}, has no partner: {dst} -> {src} is stored less often; expected each edge in "
                "both directions: graph.paired(fill=0) adds what is missing"
            )
        return partners

    def paired(self, fill: Any = 0, *, loops: bool = False) -> Self:
        """The graph in which every edge has a partner: itself if that is so, else with those added that are missing.

        Edges keep their numbers. New ones come after them, in the order of the edges whose partners they are, and loops
        after these.

        Parameters
        ----------
        fill : number
            The value of the edges that are added, which becomes one of the type of the graph's values (0 becomes False
            of bool). A graph without values, whose edges count 1 each, gets values of int64, unless `fill` is None.
        loops : bool
            Whether to add a loop at every vertex as well, whether or not it has one. By such a vertex program keeps
            vertices active that no neighbour wakes.

        Returns
        -------
        Graph
            Its `origin.edges` is -1 for edges that were added.

        Raises
        ------
        TypeError
            If the type of the graph's values can't hold `fill`.

        Notes
        -----
        Streaming cost, as `changed`: lists that have been built are brought up to date.

        Examples
        --------
        >>> from gasla import Graph
        >>> path = Graph.from_edges([0, 1, 1], [1, 0, 2], [5, 3, 4])
        >>> pairs = path.paired()
        >>> pairs.values, pairs.reverse_edge_ids
        (array([5, 3, 4, 0]), array([1, 0, 3, 2], dtype=int32))
        >>> pairs.origin.edges
        array([ 0,  1,  2, -1])
        """
        partners = self.__dict__.get("reverse_edge_ids")
        partners = _partners(self) if partners is None else partners
        xp = array_module(partners)
        alone = xp.flatnonzero(xp.less(partners, 0))
        everyone = xp.arange(self.n if loops else 0, dtype=self.id_dtype)
        count = len(alone) + len(everyone)
        if count == 0:
            return self
        graph = self.with_values(xp.ones(self.m, np.int64)) if self.values is None and fill is not None else self
        src, dst = (xp.concatenate([ends[alone], everyone]) for ends in self.edges())
        values = () if graph.values is None else (xp.full(count, _as_held(fill, graph.values.dtype)),)
        made = graph.changed(insert=(dst, src, *values))
        first = xp.full(made.m, -1, np.int64)
        first[: self.m] = became = xp.arange(self.m, dtype=np.int64)
        made.origin = Origin(Numbers(self.device, self.n, self.n), Known(self.device, first, became))
        own = xp.arange(self.m, made.m, dtype=made.offset_dtype)  # numbers of the new edges
        found = xp.concatenate([partners.astype(made.offset_dtype), own])
        found[alone], found[self.m : self.m + len(alone)] = own[: len(alone)], alone
        made.__dict__["reverse_edge_ids"] = found
        finish(self.device)
        return made

    def with_values(self, values: Any) -> Self:
        """A graph of the same edges with other values: see `Graph`."""
        raise NotImplementedError


def _as_held(fill: Any, kind: np.dtype[Any]) -> Any:
    """`fill` in the type of a graph's values; refused where that is another number, rounding of floats aside."""
    given = np.asarray(fill)
    if given.ndim == 0 and given.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            held = given.astype(kind)
        if bool(np.isfinite(held) == np.isfinite(given)) if kind.kind == "f" else held.item() == given.item():
            return held
    raise TypeError(
        f"fill is {fill!r}, which the graph's values of type {kind} can't hold; pass a fill of that type, or make the "
        "graph with values of a wider one"
    )


def _partners(graph: Derivable) -> Array:
    """The number of each edge's partner; -1 for those that have none."""
    rows = graph.sorted_out  # by sources, then destinations, then the input's order
    columns = graph.out.transposed()  # by destinations, then sources, then the input's order
    ids, others = rows.numbers(), columns.numbers()
    xp = array_module(ids)
    partners = xp.empty(graph.m, graph.offset_dtype)
    if not any_true(xp.not_equal(rows.indptr, columns.indptr)) and not any_true(
        xp.not_equal(rows.indices, columns.indices)
    ):
        partners[ids] = others
        return partners
    own, wanted = rows.as_numbers(graph.n), columns.as_numbers(graph.n)
    first = xp.searchsorted(wanted, own)
    place = first + xp.arange(graph.m) - xp.searchsorted(own, own)
    there = xp.less(place, xp.searchsorted(wanted, own, side="right"))
    partners[...] = -1
    partners[ids[there]] = others[place[there]]
    return partners
