"""`Graph.changed`: a new graph with edges inserted and removed, made by passes over the arrays without a sort.

Remaining edges keep their order, and inserted edges come after them. So adjacency lists that have been built are
updated by appending the new edges to each list, and only the new edges are sorted. Other cached properties are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import Device, any_true, array_module, device_of, index_dtype, module_of, running_sums
from gasla.graph.adjacency import Adjacency, Array, lists_on
from gasla.graph.attributes import Attributes, checked
from gasla.graph.dates import TimeColumn
from gasla.graph.edge_values import Values
from gasla.graph.neighbor_lists import Lists
from gasla.graph.transform.edge_lookup import all_edge_ids
from gasla.graph.validate import as_ids, as_values, check_range

# arrays of sources, targets and values; None stands for the values of a graph without values
Edges = tuple[Array, Array, Array | None]


class Change(NamedTuple):
    """The difference between a graph made by `Graph.changed` and the graph before.

    Attributes
    ----------
    src, dst : arrays of ids
        Sources and targets of the inserted edges, which have the last numbers, in the order given.
    removed : array of int64
        The numbers that the removed edges had before, ascending.
    """

    src: Array
    dst: Array
    removed: Array


class Edition:
    """An object without content that stands for the edges and values that a graph has at one time.

    A result stores the edition of its graph, to see later whether the graph has changed. Two editions are equal only if
    they are the same object. An edition has no reference to the graph, so it does not keep the graph in memory.
    """


def changed(lists: Lists, values: Values, insert: Any, remove: Any) -> tuple[Lists, Values, Change]:
    """Return the adjacency lists and edge values of a graph after edges were removed and inserted, and the `Change`.

    `lists` and `values` are those of the graph before, and `insert` and `remove` the arguments of `Graph.changed`.
    """
    inserted = _new_edges(lists, values.each, insert)
    removed, remains = _find_removed(lists, remove)
    old_edges = (*(endpoint.astype(lists.id_dtype, copy=False) for endpoint in lists.edges()), values.each)
    src, dst, all_values = (
        _join_entries(old_entries, remains, new_entries)
        for old_entries, new_entries in zip(old_edges, inserted, strict=True)
    )
    assert src is not None and dst is not None
    new_lists = Lists(lists.n, lists.device, ends=(src, dst))
    new_values = Values(new_lists, all_values)
    _update_built_lists(lists, values, new_lists, new_values, inserted, remains)
    return new_lists, new_values, Change(*inserted[:2], removed)


def split(insert: Any, attributes: Attributes, own: str | None, device: Device) -> tuple[Any, dict[str, Array]]:
    """Split the argument `insert` of `Graph.changed` into edges and attributes of these edges.

    Return what to insert without attributes, and the checked columns of the inserted edges by name. If the graph's
    values are one of its attributes, `own` is the attribute's name, and its column becomes the weights of the inserted
    edges.
    """
    if not attributes:
        return insert, {}
    if insert is None:
        xp = module_of(device)
        return None, {name: xp.zeros(0, dtype) for name, dtype in attributes.types.items()}
    expected = f"({', '.join(map(repr, attributes))})"
    if not isinstance(insert, tuple | list) or not insert or not isinstance(insert[-1], Mapping):
        raise TypeError(
            f"insert has no edge attributes; expected a mapping of columns {expected} as its last item, as in "
            "insert=(src, dst, {'time': times})"
        )
    new_columns = insert[-1]
    if new_columns.keys() != attributes.keys():
        raise ValueError(
            f"insert has columns ({', '.join(map(repr, new_columns))}); expected all attributes: {expected}"
        )
    count = len(insert[0])
    columns = {}
    for name, dtype in attributes.types.items():
        column, description = checked("edge", name, new_columns[name], count, device), f"attribute {name!r}"
        dates = attributes.time_types.get(name)
        if (dates is None) != (not isinstance(column, TimeColumn)):
            raise TypeError(
                f"{description} is given as {new_columns[name]!r}; expected {dates or dtype}, as the graph has it"
            )
        columns[name] = (
            _convert_exactly(column, dtype, description) if dates is None else column.held_as(dates, description)
        )
    return (*insert[:-1], *([] if own is None else [columns[own]])), columns


def changed_attributes(attributes: Attributes, m: int, removed: Array, new: Mapping[str, Array]) -> Attributes:
    """Return the edge attributes of a changed graph: those of the remaining edges, then those of the inserted edges.

    `attributes` has those of the graph before, which had m edges. `removed` are the numbers of the removed edges, and
    `new` has the columns of the inserted edges by name.
    """

    def join_column(name: str, column: Array) -> Array:
        remains = None
        if len(removed):
            remains = array_module(column).ones(m, bool)
            remains[removed] = False
        new_column = _join_entries(column, remains, new[name])
        assert new_column is not None
        return new_column

    return attributes.mapped(join_column)


def _update_built_lists(
    lists: Lists, values: Values, new_lists: Lists, new_values: Values, inserted_edges: Edges, remains: Array | None
) -> None:
    """Give a changed graph the adjacency lists and the values in their order that the graph before has built already.

    They are updated for the change, which takes less time than to build them anew. `inserted_edges` are the inserted
    edges, and `remains` is a mask of the old edges that are not removed, or None if all remain.
    """
    src, dst, weights = inserted_edges
    assert new_lists.ends is not None
    for name, values_name, input_lists, inserted, endpoints in (
        ("out", "by_out", lists.rows, (src, dst, weights), new_lists.ends),
        ("in_", "by_in", lists.columns, (dst, src, weights), new_lists.ends[::-1]),
    ):
        built: Adjacency | None = lists.__dict__.get(name) or input_lists
        if built is None:
            continue
        is_in_input_order = built.edge_ids_known and built.edge_ids is None
        values_by_list = values.__dict__.get(values_name, values.each if is_in_input_order else None)
        new_lists.__dict__[name], merged_values = _merge_lists(
            built, values_by_list, inserted, remains, endpoints, new_lists.n
        )
        if merged_values is not None:
            new_values.__dict__[values_name] = merged_values


def _merge_lists(
    lists: Adjacency,
    values: Array | None,
    inserted_edges: Edges,
    stays: Array | None,
    endpoints: tuple[Array, Array],
    n: int,
) -> tuple[Adjacency, Array | None]:
    """Return adjacency lists after a change: without the removed edges, and with new edges at the end of each list.

    `inserted_edges` (the new edges) and `endpoints` (all edges of the new graph) have first the vertex in whose list an
    edge is, then its neighbor. Edge numbers that the old lists have not computed yet are computed at first use. If
    `values` is None, the returned values are None too.
    """
    owners, neighbors, weights = inserted_edges
    xp, lists_module, m = array_module(owners), lists_on(owners), len(endpoints[0])
    number_type = index_dtype(m)
    indptr, indices, numbers = lists.indptr, lists.indices, lists.numbers() if lists.edge_ids_known else None
    if stays is not None:
        remains = stays[lists.numbers()]
        indptr, indices = running_sums(remains)[indptr].astype(indptr.dtype), indices[remains]
        values = None if values is None else values[remains]
        numbers = None if numbers is None else running_sums(stays)[numbers[remains]]
    order = owners.argsort(kind="stable")
    positions = indptr[owners[order] + 1] + xp.arange(len(order), dtype=np.int64)
    plan = lists_module.insertion_plan(positions, m)
    offsets = (indptr + running_sums(lists_module.count_ids(owners, n))).astype(
        np.promote_types(indptr.dtype, number_type)
    )
    indices = lists_module.insert_entries(indices, plan, positions, neighbors[order])
    if numbers is not None:
        new_numbers = order + (m - len(order))
        numbers = lists_module.insert_entries(numbers.astype(number_type, copy=False), plan, positions, new_numbers)
    if values is not None:
        # `weights` is not None here: inserted edges have weights if and only if the graph has values
        values = lists_module.insert_entries(values, plan, positions, weights[order])  # type: ignore[index]
    compute_numbers = lambda: Adjacency.grouped(*endpoints, n).numbers()  # noqa: E731
    return Adjacency(offsets, indices, compute_numbers if numbers is None else numbers), values


def _join_entries(old_entries: Array | None, remains: Array | None, new_entries: Array | None) -> Array | None:
    """Return an array with an entry for each edge of a changed graph: first the remaining edges, then the new ones.

    `old_entries` and `new_entries` are the arrays before the change and for the inserted edges. `remains` is a mask of
    the old edges that are not removed, or None if all remain.
    """
    if old_entries is None:
        return None
    return array_module(old_entries).concatenate(
        [old_entries if remains is None else old_entries[remains], new_entries]
    )


def _find_removed(graph: Lists, argument: Any) -> tuple[Array, Array | None]:
    """Return the numbers of the edges that an argument of `Graph.changed` says to remove, ascending, and a mask.

    The mask is True for the remaining edges, or is None if all remain.
    """
    xp = module_of(graph.device)
    if argument is None:
        return xp.zeros(0, np.int64), None
    ids = (
        _edges_between(graph, *argument)
        if isinstance(argument, tuple) and len(argument) == 2
        else as_ids("remove", argument)
    )
    _check_device(graph, remove=ids)
    if len(ids) == 0:
        return xp.zeros(0, np.int64), None
    for extreme_id in (int(ids.min()), int(ids.max())):
        if not 0 <= extreme_id < graph.m:
            raise ValueError(f"remove names edge {extreme_id}; expected numbers of edges, 0 to {graph.m - 1}")
    remains = xp.ones(graph.m, bool)
    remains[ids] = False
    ids = xp.sort(ids.astype(np.int64))
    repeated = xp.equal(ids[1:], ids[:-1])
    if any_true(repeated):
        raise ValueError(f"remove names edge {int(ids[int(repeated.argmax())])} twice; expected each once")
    return ids, remains


def _edges_between(graph: Lists, sources: Any, targets: Any) -> Array:
    """Return the numbers of all edges from ``sources[k]`` to ``targets[k]``, for every k."""
    if any(np.ndim(vertices) == 0 for vertices in (sources, targets)):
        raise TypeError(
            f"remove is ({sources!r}, {targets!r}); expected (src, dst), two arrays of vertices, or an array of "
            "numbers of edges"
        )
    src, dst = as_ids("the src of remove", sources), as_ids("the dst of remove", targets)
    if len(src) != len(dst):
        raise ValueError(f"remove has {len(src)} sources and {len(dst)} targets; expected as many of each")
    _check_device(graph, src=src, dst=dst)
    for name, ids in (("the src of remove", src), ("the dst of remove", dst)):
        check_range(name, ids, graph.n)
    return all_edge_ids(graph, src, dst)


def _new_edges(graph: Lists, values_before: Array | None, argument: Any) -> Edges:
    """Return the sources, targets and values of the edges that an argument of `Graph.changed` inserts, after checks.

    They are converted to the dtypes that the graph has.
    """
    xp = module_of(graph.device)
    if argument is None:
        empty = xp.zeros(0, graph.id_dtype)
        return empty, empty, None if values_before is None else xp.zeros(0, values_before.dtype)
    expected = "(src, dst)" if values_before is None else "(src, dst, weights), as the graph has values"
    if not isinstance(argument, tuple | list) or len(argument) != (2 if values_before is None else 3):
        described = f"{len(argument)} items" if isinstance(argument, tuple | list) else type(argument).__name__
        raise TypeError(f"insert is {described}; expected {expected}")
    src, dst = as_ids("the src of insert", argument[0]), as_ids("the dst of insert", argument[1])
    if len(src) != len(dst):
        raise ValueError(f"insert has {len(src)} sources and {len(dst)} targets; expected as many of each")
    values = None if values_before is None else as_values(argument[2], len(src))
    if values_before is not None and values is None:
        raise TypeError(f"insert has None for weights; expected {expected}")
    _check_device(graph, src=src, dst=dst, weights=values)
    for name, ids in (("the src of insert", src), ("the dst of insert", dst)):
        check_range(name, ids, graph.n)
    if values is not None and values_before is not None:
        values = _convert_exactly(values, values_before.dtype)
    return src.astype(graph.id_dtype), dst.astype(graph.id_dtype), values


def _convert_exactly(weights: Array, dtype: np.dtype[Any], name: str = "weights") -> Array:
    """Convert weights or attributes of inserted edges to the dtype that the graph has for them.

    Raise TypeError if the conversion would change any number.
    """
    result = weights.astype(dtype)
    both_whole = weights.dtype.kind in "iu" and dtype.kind in "iu"
    is_convertible = both_whole or len(weights) == 0 or np.can_cast(weights.dtype, dtype, "same_kind")
    if not is_convertible or (dtype.kind in "biu" and any_true(array_module(result).not_equal(result, weights))):
        raise TypeError(
            f"insert has {name} of type {weights.dtype} and the graph values of type {dtype}, which can't hold them; "
            f"convert the {name}, or make the graph with values of a wider type"
        )
    return result


def _check_device(graph: Lists, **arrays: Any) -> None:
    """Raise TypeError for arrays that are not on the graph's device. Keywords are the arrays' names in the error."""
    for name, array in arrays.items():
        if array is not None and device_of(array) != graph.device:
            raise TypeError(
                f"{name} is on the {device_of(array)} and the graph on the {graph.device}; expected one device"
            )
