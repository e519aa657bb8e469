"""Graphs that change: a Graph stays what it is, and `changed` makes another of it, at the speed of memory.

Edges that stay keep their order, and new ones come after them. So lists that have been built take the new edges at
their ends: entries move up, and nothing but the new edges is sorted. What was found out of a graph is found out anew.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from gasla.arrays import any_true, array_module, device_of, finish, module_of, running_sums
from gasla.graph.adjacency import Adjacency, Array, lists_on
from gasla.graph.structure import Structure
from gasla.graph.validate import as_ids, as_values, check_range

G = TypeVar("G", bound="Changing")
Edges = tuple[Array, Array, Array | None]  # sources, destinations, values


class Change(NamedTuple):
    """How a graph differs from the one that it was changed from.

    Attributes
    ----------
    src, dst : arrays of ids
        The ends of the new edges. They have the last numbers, in the order in which they were given.
    removed : array of int64
        The numbers that the removed edges had, ascending.
    """

    src: Array
    dst: Array
    removed: Array


class Edition:
    """A graph's edges and values at one time, to remember which they were without holding the graph."""


class Changing(Structure):
    """What a `Graph` knows of changes."""

    values: Array | None
    change: Change | None = None  # by which it was made of another
    _known: dict[Hashable, Any]

    def changed(self: G, insert: Any = None, remove: Any = None) -> G:
        """A graph of other edges: without some, and with new ones. This one stays as it is.

        Edges that stay keep their order, and where none is removed their numbers; else these close up. New edges have
        the last numbers, in the order in which they are given. The new graph's `change` says what they are, and which
        were removed.

        Parameters
        ----------
        insert : (src, dst) or (src, dst, weights), optional
            New edges ``src[e] -> dst[e]``; with weights if the graph has values, which they become.
        remove : array of integers, optional
            The numbers of edges that are to go, each once.

        Returns
        -------
        Graph
            On the same device, with as many vertices. It shares no array with this one.

        Raises
        ------
        TypeError, ValueError
            For vertices or edges outside the graph, edges removed twice, arrays on another device, and weights that are
            missing, not wanted, or of a type that the graph's values can't hold.

        Notes
        -----
        A pass over the ends of all edges, their values, and such neighbour lists as this graph has built: the new one
        has them too, and need not sort its edges. Beside what that holds it takes up to 20 bytes an edge for a moment.
        `gasla.run` may go on from a result of the graph before: see its `start`.

        Examples
        --------
        >>> from gasla import Graph
        >>> path = Graph.from_edges([0, 1, 2], [1, 2, 3], [5, 3, 4])
        >>> detour = path.changed(insert=([0], [3], [9]), remove=[1])
        >>> detour.out.indices, detour.out_edge_ids, detour.values
        (array([1, 3, 3], dtype=int32), array([0, 2, 1], dtype=int32), array([5, 4, 9]))
        >>> detour.change.removed
        array([1])
        """
        self.notice_values()
        new = _new_edges(self, insert)
        removed, stays = _removed(self, remove)
        made = type(self).__new__(type(self))
        made.n, made.m, made.device = self.n, self.m - len(removed) + len(new[0]), self.device
        made._rows = made._columns = None
        made._names = self._names
        old = (*(ends.astype(self.id_dtype, copy=False) for ends in self.edges()), self.values)
        src, dst, made.values = (_joined(a, stays, b) for a, b in zip(old, new, strict=True))
        assert src is not None and dst is not None
        made._ends = src, dst
        made.change = Change(*new[:2], removed)
        self._hand_on(made, new, stays)
        earlier = {} if len(removed) else {**self._known.get("earlier", {}), self.edition: self.m}
        made._known["earlier"] = WeakKeyDictionary(earlier)  # only those that are still referred to
        finish(self.device)
        made._note_values()
        return made

    @property
    def edition(self) -> Edition:
        """Which edges and values these are: another, once values were written to and that was noticed."""
        found: Edition | None = self._known.get("edition")
        return found or self._known.setdefault("edition", Edition())

    def ends_since(self, edition: Edition) -> tuple[Array, Array] | None:
        """Sources and destinations of the edges that are new since then; None if that is not all that has changed."""
        first = self.m if edition is self.edition else self._known.get("earlier", {}).get(edition)
        if first is None:
            return None
        if self._ends is None:  # which it has where it was changed
            nothing = module_of(self.device).zeros(0, self.id_dtype)
            return nothing, nothing
        return self._ends[0][first:], self._ends[1][first:]

    def notice_values(self) -> None:
        """Forget what was derived of values that are others now: see `Graph`."""
        raise NotImplementedError

    def _note_values(self) -> None:
        raise NotImplementedError

    def _hand_on(self, made: Changing, new: Edges, stays: Array | None) -> None:
        """Give another graph the neighbour lists that are here, with the values in their order, brought up to date."""
        src, dst, weights = new
        assert made._ends is not None
        for name, given, of_new, ends in (
            ("out", self._rows, (src, dst, weights), made._ends),
            ("in_", self._columns, (dst, src, weights), made._ends[::-1]),
        ):
            lists: Adjacency | None = self.__dict__.get(name) or given
            if lists is None:
                continue
            in_order = lists.are_numbered and lists.edge_ids is None
            values = self.__dict__.get(f"{name.rstrip('_')}_values", self.values if in_order else None)
            made.__dict__[name], found = _merged(lists, values, of_new, stays, ends, made.n)
            if found is not None:
                made.__dict__[f"{name.rstrip('_')}_values"] = found


def _merged(
    lists: Adjacency, values: Array | None, new: Edges, stays: Array | None, ends: tuple[Array, Array], n: int
) -> tuple[Adjacency, Array | None]:
    """Lists without those edges that go, and each with new ones at its end; with the values in their order, if given.

    `ends` are of all edges then; those that come first, of new edges too, say in whose list an edge is. Numbers that
    nobody has asked for yet are left for later.
    """
    owners, others, weights = new
    xp, on, m = array_module(owners), lists_on(owners), len(ends[0])
    number_type = np.dtype(np.int32 if m < 2**31 else np.int64)
    indptr, indices, numbers = lists.indptr, lists.indices, lists.numbers() if lists.are_numbered else None
    if stays is not None:
        here = stays[lists.numbers()]
        indptr, indices = running_sums(here)[indptr].astype(indptr.dtype), indices[here]
        values = None if values is None else values[here]
        numbers = None if numbers is None else running_sums(stays)[numbers[here]]
    order = owners.argsort(kind="stable")
    places = indptr[owners[order] + 1] + xp.arange(len(order), dtype=np.int64)
    moves = on.moves(places, m)
    offsets = (indptr + running_sums(on.count_ids(owners, n))).astype(np.promote_types(indptr.dtype, number_type))
    indices = on.moved_up(indices, moves, places, others[order])
    if numbers is not None:
        fresh = order + (m - len(order))
        numbers = on.moved_up(numbers.astype(number_type, copy=False), moves, places, fresh)
    if values is not None:
        values = on.moved_up(values, moves, places, weights[order])  # type: ignore[index]  # they come with values
    later = lambda: Adjacency.grouped(*ends, n).numbers()  # noqa: E731
    return Adjacency(offsets, indices, later if numbers is None else numbers), values


def _joined(old: Array | None, stays: Array | None, new: Array | None) -> Array | None:
    """What stays of an array of edges, and after it what is new."""
    if old is None:
        return None
    return array_module(old).concatenate([old if stays is None else old[stays], new])


def _removed(graph: Changing, given: Any) -> tuple[Array, Array | None]:
    """The numbers of edges that go, ascending, and of all edges whether they stay; None if all do."""
    xp = module_of(graph.device)
    if given is None:
        return xp.zeros(0, np.int64), None
    ids = as_ids("remove", given)
    _check_device(graph, remove=ids)
    if len(ids) == 0:
        return xp.zeros(0, np.int64), None
    for bad in (int(ids.min()), int(ids.max())):
        if not 0 <= bad < graph.m:
            raise ValueError(f"remove names edge {bad}; expected numbers of edges, 0 to {graph.m - 1}")
    stays = xp.ones(graph.m, bool)
    stays[ids] = False
    ids = xp.sort(ids.astype(np.int64))
    again = xp.equal(ids[1:], ids[:-1])
    if any_true(again):
        raise ValueError(f"remove names edge {int(ids[int(again.argmax())])} twice; expected each once")
    return ids, stays


def _new_edges(graph: Changing, given: Any) -> Edges:
    """Sources, destinations and values of the edges that come, in the types of the graph's."""
    xp = module_of(graph.device)
    if given is None:
        empty = xp.zeros(0, graph.id_dtype)
        return empty, empty, None if graph.values is None else xp.zeros(0, graph.values.dtype)
    wanted = "(src, dst)" if graph.values is None else "(src, dst, weights), as the graph has values"
    if not isinstance(given, tuple | list) or len(given) != (2 if graph.values is None else 3):
        found = f"{len(given)} items" if isinstance(given, tuple | list) else type(given).__name__
        raise TypeError(f"insert is {found}; expected {wanted}")
    src, dst = as_ids("the src of insert", given[0]), as_ids("the dst of insert", given[1])
    if len(src) != len(dst):
        raise ValueError(f"insert has {len(src)} sources and {len(dst)} destinations; expected as many of each")
    values = None if graph.values is None else as_values(given[2], len(src))
    if graph.values is not None and values is None:
        raise TypeError(f"insert has None for weights; expected {wanted}")
    _check_device(graph, src=src, dst=dst, weights=values)
    for name, ids in (("the src of insert", src), ("the dst of insert", dst)):
        check_range(name, ids, graph.n)
    if values is not None and graph.values is not None:
        values = _as_held(values, graph.values.dtype)
    return src.astype(graph.id_dtype), dst.astype(graph.id_dtype), values


def _as_held(weights: Array, kind: np.dtype[Any]) -> Array:
    """Weights in the type of a graph's values, which must hold them."""
    held = weights.astype(kind)
    fits = np.can_cast(weights.dtype, kind, "same_kind") or (weights.dtype.kind in "iu" and kind.kind in "iu")
    if not fits or (kind.kind in "biu" and any_true(array_module(held).not_equal(held, weights))):
        raise TypeError(
            f"insert has weights of type {weights.dtype} and the graph values of type {kind}, which can't hold them; "
            f"convert the weights, or make the graph with values of a wider type"
        )
    return held


def _check_device(graph: Changing, **arrays: Any) -> None:
    """Refuse arrays that are elsewhere."""
    for name, array in arrays.items():
        if array is not None and device_of(array) != graph.device:
            raise TypeError(
                f"{name} is on the {device_of(array)} and the graph on the {graph.device}; expected one device"
            )
