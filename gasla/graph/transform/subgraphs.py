"""`Graph.select` and `Graph.subgraph`: graphs of some edges or some vertices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import any_true, array_module, device_of, moved, running_sums
from gasla.graph.adjacency import Array, lists_on
from gasla.graph.neighbor_lists import Lists
from gasla.graph.transform.origin import Derived, IdMap, Origin, derived
from gasla.graph.validate import as_array, as_ids, check_range, for_names


def select(lists: Lists, values: Array | None, edges: Any) -> Derived:
    """Return the graph with all vertices and the selected edges: `Graph.select` calls this."""
    selected = _chosen(lists, "edges", edges, lists.m).astype(lists.offset_dtype)
    if any_true(array_module(selected).less_equal(selected[1:], selected[:-1])):
        raise ValueError("the numbers of edges don't ascend; expected each once, in ascending order: numpy.unique")
    src, dst = lists.edges()
    same = IdMap(lists.device, lists.n, lists.n)
    return derived(lists, lists.n, src[selected], dst[selected], _of(values, selected), same, selected)


def subgraph(lists: Lists, values: Array | None, vertices: Any) -> Derived:
    """Return the induced subgraph of the selected vertices: `Graph.subgraph` calls this."""
    chosen = _chosen(lists, "vertices", vertices, lists.n).astype(lists.id_dtype)
    xp, count = array_module(chosen), len(chosen)
    number = xp.zeros(lists.n, lists.id_dtype)  # new numbers from 1; zeros, because untouched zero pages cost nothing
    number[chosen] = own = xp.arange(1, count + 1, dtype=lists.id_dtype)
    in_order = not any_true(xp.less_equal(chosen[1:], chosen[:-1]))
    if not in_order and any_true(lost := xp.not_equal(number[chosen], own)):
        raise ValueError(f"vertex {int(chosen[int(lost.argmax())])} is given twice; expected each once")
    numbers = IdMap(lists.device, lists.n, count, chosen)
    given = lists.rows or lists.columns
    if given is not None and in_order and lists.device == "cpu":
        from gasla.graph.transform import subgraph_cpu  # here, because it imports the compiler

        if subgraph_cpu.is_for(given):
            adjacency, selected = subgraph_cpu.cut(given, chosen, number)
            made = Lists(count, "cpu", *((None, adjacency) if lists.rows is None else (adjacency, None)))
            origin = Origin(numbers, IdMap("cpu", lists.m, made.m, selected))
            return Derived(made, _of(values, selected), origin)
    src, dst, ids = _leaving_from(lists, chosen)
    src, dst = number[src], number[dst]
    within = xp.flatnonzero(xp.minimum(src, dst))
    selected = (within if ids is None else ids[within]).astype(lists.offset_dtype)
    return derived(lists, count, src[within] - 1, dst[within] - 1, _of(values, selected), numbers, selected)


def require_here(lists: Lists, name: str, given: Array) -> None:
    """Raise TypeError for an array on another device than the graph."""
    if len(given) and device_of(given) != lists.device:
        raise TypeError(
            f"{name} is on the {device_of(given)} and the graph on the {lists.device}; expected the same device"
        )


def _leaving_from(lists: Lists, chosen: Array) -> tuple[Array, Array, Array | None]:
    """Return sources, targets and numbers of the out-edges of `chosen`.

    If these are many, return all edges, without numbers.
    """
    rows = lists.rows or lists.__dict__.get("out")
    if rows is None or len(chosen) == 0:
        return *lists.edges(), None
    xp = array_module(chosen)
    starts, lengths = rows.indptr[chosen], lists.out_degrees[chosen]
    offsets = running_sums(lengths)
    count = int(offsets[-1])
    if 8 * count > lists.m:
        return *lists.edges(), None
    owners = lists_on(offsets).owners(offsets, xp.empty(count, lists.offset_dtype))
    places = xp.subtract(xp.arange(count), offsets[owners]) + starts[owners]
    ids = places if rows.edge_ids is None else rows.edge_ids[places]
    order = xp.argsort(ids)
    return chosen[owners[order]], rows.indices[places[order]], ids[order]


def _of(values: Array | None, selected: Array) -> Array | None:
    return None if values is None else values[selected]


def _chosen(lists: Lists, name: str, given: Any, count: int) -> Array:
    """Return the numbers of vertices or edges given by a mask or by numbers."""
    chosen = as_array(name, given)
    if not chosen.ndim:
        raise TypeError(f"{name} is {given!r}; expected a mask of bool, or an array of integers (ids)")
    if not len(chosen) or not hasattr(given, "dtype"):  # an empty array may be on either device, as may a list
        chosen = moved(chosen, lists.device)
    require_here(lists, name, chosen)
    xp = array_module(chosen)
    if chosen.dtype.kind == "b":
        if chosen.shape != (count,):
            raise ValueError(f"{name} is a mask of shape {chosen.shape}; expected ({count},), or an array of ids")
        return xp.flatnonzero(chosen)
    if chosen.size and chosen.dtype.kind not in "iu":
        raise TypeError(f"{name} holds {chosen.dtype}; expected a mask of bool, or integers (ids){for_names(chosen)}")
    ids = as_ids(name, chosen if chosen.size else chosen.astype(np.int32))
    check_range(name, ids, count)
    return ids
