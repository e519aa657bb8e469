"""Edge attributes of graphs with merged edges. Each column is reduced by its own monoid when it is first read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import semirings
from gasla.arrays import array_module
from gasla.graph.adjacency import Array
from gasla.graph.attributes import Attributes
from gasla.graph.dates import TimeType
from gasla.graph.neighbor_lists import Lists
from gasla.graph.transform.merging import as_symmetric
from gasla.graph.transform.origin import Derived
from gasla.graph.transform.segmented_reduce import reduce_by, require_closed
from semirings import Monoid
from semirings import min as least

# In a mapping of names to monoids, the name that stands for the graph's values, unless the values are an attribute.
WEIGHT = "weight"

Combine = Monoid | Mapping[str, Monoid] | None


def by_column(combine: Any, attributes: Attributes, values: Array | None) -> tuple[Any, dict[str, Any]]:
    """Return by which monoids the values and the attributes of edges are reduced when edges are merged, after checks.

    The first result is the monoid for the values, and the second has the monoid for each attribute by name. None in
    place of a monoid means that the first of several values is kept. `combine` is the caller's argument: one monoid for
    all, or a mapping of names to monoids.
    """
    value_name = attributes.name_of(values) or WEIGHT
    if isinstance(combine, Mapping):
        for name in combine.keys() - {*attributes, value_name}:
            raise ValueError(f"combine: {attributes.unknown(name)}, and {value_name!r} for the values")
        of_values, monoids = combine.get(value_name), {name: combine.get(name) for name in attributes}
    else:
        of_values, monoids = combine, dict.fromkeys(attributes, combine)
    for name, monoid in monoids.items():
        if monoid is not None:
            require_closed(monoid, (attributes.types[name],), f"combine for {name!r}")
        if (
            monoid is not None
            and name in attributes.time_types
            and not _keeps_type(monoid, attributes.time_types[name])
        ):
            if isinstance(combine, Mapping):
                time_type = attributes.time_types[name]
                raise TypeError(f"combine for {name!r} is {monoid}; expected min, max or first, for {time_type}")
            monoids[name], of_values = None, None if name == value_name else of_values
    return of_values, monoids


def _keeps_type(monoid: Monoid, time_type: TimeType) -> bool:
    """Return whether a monoid reduces several dates to a date, or several durations to a duration."""
    return monoid in (semirings.min, semirings.max, semirings.first, semirings.second, semirings.any) or (
        monoid is semirings.plus and time_type.kind == "duration"
    )


def merged(attributes: Attributes, lists: Lists, made: Derived, each: Mapping[str, Any]) -> Attributes:
    """Return the edge attributes of a graph in which parallel edges of another graph are merged.

    `attributes` and `lists` are those of the graph before, and `made` has the parts of the new graph. `each` has the
    monoid that reduces each attribute, by name, or None to keep the first value.
    """
    edges, merged_lists = made.origin.edge_map, made.lists

    def reduce_column(name: str, column: Array) -> Array:
        if (monoid := each[name]) is None:
            return column[edges.old_ids]
        keys, xp = edges.new_ids, array_module(column)
        remaining = xp.flatnonzero(xp.greater_equal(keys, 0))
        (reduced,) = reduce_by(monoid, keys[remaining], (column[remaining],), merged_lists.m)
        return as_symmetric(merged_lists.out, reduced, monoid, lists.out, column)

    return attributes.mapped(reduce_column)


def merged_both_ways(attributes: Attributes, lists: Lists, made: Derived, each: Mapping[str, Any]) -> Attributes:
    """Return the edge attributes of a graph that was made undirected from another graph.

    `attributes` and `lists` are those of the graph before, and `made` has the parts of the new graph. The attributes of
    all edges i -> j and j -> i are reduced together. `each` has the monoid for each attribute by name, or None to keep
    the first value.
    """
    merged_lists = made.lists

    def reduce_column(name: str, column: Array) -> Array:
        src, dst = lists.edges()
        xp, reverse_positions = array_module(column), merged_lists.out.transposed().numbers()
        keys = xp.where(xp.less_equal(src, dst), made.origin.new_edges, reverse_positions[made.origin.new_edges])
        if each[name] is None:
            (first_edges,) = reduce_by(least, keys, (xp.arange(lists.m),), merged_lists.m)
            merged_column = column[xp.minimum(first_edges, lists.m - 1)]
        else:
            (merged_column,) = reduce_by(each[name], keys, (column,), merged_lists.m)
        upper: Array = xp.where(
            xp.less_equal(merged_lists.out.owners(), merged_lists.out.indices),
            merged_column,
            merged_column[reverse_positions],
        )
        return upper

    return attributes.mapped(reduce_column)
