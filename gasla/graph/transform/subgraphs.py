"""`Graph.select` and `Graph.subgraph`: graphs with some of the edges or some of the vertices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import any_true, array_module, device_of, moved, running_sums
from gasla.graph.adjacency import Array, lists_on
from gasla.graph.neighbor_lists import Lists
from gasla.graph.transform.origin import Derived, IdMap, Origin, derived
from gasla.graph.validate import as_array, as_ids, check_range, for_names


def select(lists: Lists, values: Array | None, edges: Any) -> Derived:
    """Return the graph with all vertices and the selected edges. This implements `Graph.select`."""
    selected = _ids_of_selection(lists, "edges", edges, lists.m).astype(lists.offset_dtype)
    if any_true(array_module(selected).less_equal(selected[1:], selected[:-1])):
        raise ValueError("the numbers of edges don't ascend; expected each once, in ascending order: numpy.unique")
    src, dst = lists.edges()
    same_vertices = IdMap(lists.device, lists.n, lists.n)
    return derived(
        lists, lists.n, src[selected], dst[selected], _select_values(values, selected), same_vertices, selected
    )


def subgraph(lists: Lists, values: Array | None, vertices: Any) -> Derived:
    """Return the induced subgraph of the selected vertices. This implements `Graph.subgraph`."""
    chosen_ids = _ids_of_selection(lists, "vertices", vertices, lists.n).astype(lists.id_dtype)
    xp, count = array_module(chosen_ids), len(chosen_ids)
    # New numbers count from 1, and 0 stands for a vertex that is not selected. So parts of the array without selected
    # vertices are never written, and take no memory.
    new_ids = xp.zeros(lists.n, lists.id_dtype)
    new_ids[chosen_ids] = numbers_in_order = xp.arange(1, count + 1, dtype=lists.id_dtype)
    in_order = not any_true(xp.less_equal(chosen_ids[1:], chosen_ids[:-1]))
    if not in_order and any_true(is_repeated := xp.not_equal(new_ids[chosen_ids], numbers_in_order)):
        raise ValueError(f"vertex {int(chosen_ids[int(is_repeated.argmax())])} is given twice; expected each once")
    vertex_map = IdMap(lists.device, lists.n, count, chosen_ids)
    stored_lists = lists.rows or lists.columns
    if stored_lists is not None and in_order and lists.device == "cpu":
        from gasla.graph.transform import subgraph_cpu  # imported here, because the module imports the compiler

        if subgraph_cpu.is_for(stored_lists):
            adjacency, selected = subgraph_cpu.cut(stored_lists, chosen_ids, new_ids)
            new_lists = Lists(count, "cpu", *((None, adjacency) if lists.rows is None else (adjacency, None)))
            origin = Origin(vertex_map, IdMap("cpu", lists.m, new_lists.m, selected))
            return Derived(new_lists, _select_values(values, selected), origin)
    src, dst, ids = _out_edges_of(lists, chosen_ids)
    src, dst = new_ids[src], new_ids[dst]
    inner_edges = xp.flatnonzero(xp.minimum(src, dst))
    selected = (inner_edges if ids is None else ids[inner_edges]).astype(lists.offset_dtype)
    return derived(
        lists, count, src[inner_edges] - 1, dst[inner_edges] - 1, _select_values(values, selected), vertex_map, selected
    )


def require_here(lists: Lists, name: str, given: Array) -> None:
    """Raise TypeError if an array is on another device than the graph. `name` is the argument's name in the error."""
    if len(given) and device_of(given) != lists.device:
        raise TypeError(
            f"{name} is on the {device_of(given)} and the graph on the {lists.device}; expected the same device"
        )


def _out_edges_of(lists: Lists, chosen_ids: Array) -> tuple[Array, Array, Array | None]:
    """Return the sources, targets and numbers of the out-edges of the vertices `chosen_ids`.

    If these are more than an eighth of all edges, or the adjacency lists of out-edges aren't stored, return all edges
    instead, and None for their numbers.
    """
    rows = lists.rows or lists.__dict__.get("out")
    if rows is None or len(chosen_ids) == 0:
        return *lists.edges(), None
    xp = array_module(chosen_ids)
    starts, lengths = rows.indptr[chosen_ids], lists.out_degrees[chosen_ids]
    offsets = running_sums(lengths)
    count = int(offsets[-1])
    if 8 * count > lists.m:
        return *lists.edges(), None
    owners = lists_on(offsets).owners(offsets, xp.empty(count, lists.offset_dtype))
    positions = xp.subtract(xp.arange(count), offsets[owners]) + starts[owners]
    ids = positions if rows.edge_ids is None else rows.edge_ids[positions]
    order = xp.argsort(ids)
    return chosen_ids[owners[order]], rows.indices[positions[order]], ids[order]


def _select_values(values: Array | None, selected: Array) -> Array | None:
    return None if values is None else values[selected]


def _ids_of_selection(lists: Lists, name: str, argument: Any, count: int) -> Array:
    """Return the numbers of the vertices or edges that an argument selects by a mask or by numbers, after checks.

    There are `count` vertices or edges in all. `name` is the argument's name in errors.
    """
    selected_ids = as_array(name, argument)
    if not selected_ids.ndim:
        raise TypeError(f"{name} is {argument!r}; expected a mask of bool, or an array of integers (ids)")
    # A list has no device, and an empty array may be on either. So both are moved to the graph's device.
    if not len(selected_ids) or not hasattr(argument, "dtype"):
        selected_ids = moved(selected_ids, lists.device)
    require_here(lists, name, selected_ids)
    xp = array_module(selected_ids)
    if selected_ids.dtype.kind == "b":
        if selected_ids.shape != (count,):
            raise ValueError(f"{name} is a mask of shape {selected_ids.shape}; expected ({count},), or an array of ids")
        return xp.flatnonzero(selected_ids)
    if selected_ids.size and selected_ids.dtype.kind not in "iu":
        raise TypeError(
            f"{name} holds {selected_ids.dtype}; expected a mask of bool, or integers (ids){for_names(selected_ids)}"
        )
    ids = as_ids(name, selected_ids if selected_ids.size else selected_ids.astype(np.int32))
    check_range(name, ids, count)
    return ids
