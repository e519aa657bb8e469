"""Edge attributes of graphs with merged edges: each column is reduced by its own monoid when it is first read."""

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

WEIGHT = "weight"  # the key of the values in a mapping of monoids, unless they are an attribute

Combine = Monoid | Mapping[str, Monoid] | None


def by_column(combine: Any, attributes: Attributes, values: Array | None) -> tuple[Any, dict[str, Any]]:
    """Check the monoids for the values and for attributes, and return both. None keeps the first value."""
    own = attributes.name_of(values) or WEIGHT
    if isinstance(combine, Mapping):
        for name in combine.keys() - {*attributes, own}:
            raise ValueError(f"combine: {attributes.unknown(name)}, and {own!r} for the values")
        of_values, each = combine.get(own), {name: combine.get(name) for name in attributes}
    else:
        of_values, each = combine, dict.fromkeys(attributes, combine)
    for name, monoid in each.items():
        if monoid is not None:
            require_closed(monoid, (attributes.types[name],), f"combine for {name!r}")
        if monoid is not None and name in attributes.time_types and not _keeps(monoid, attributes.time_types[name]):
            if isinstance(combine, Mapping):
                kind = attributes.time_types[name]
                raise TypeError(f"combine for {name!r} is {monoid}; expected min, max or first, for {kind}")
            each[name], of_values = None, None if name == own else of_values
    return of_values, each


def _keeps(monoid: Monoid, kind: TimeType) -> bool:
    """Return whether a monoid makes dates of dates, or durations of durations."""
    return monoid in (semirings.min, semirings.max, semirings.first, semirings.second, semirings.any) or (
        monoid is semirings.plus and kind.kind == "duration"
    )


def merged(attributes: Attributes, lists: Lists, made: Derived, each: Mapping[str, Any]) -> Attributes:
    """Return the attributes of a graph `made` from `lists` by merging parallel edges."""
    edges, into = made.origin.edge_map, made.lists

    def make(name: str, column: Array) -> Array:
        if (monoid := each[name]) is None:
            return column[edges.old_ids]
        keys, xp = edges.new_ids, array_module(column)
        stays = xp.flatnonzero(xp.greater_equal(keys, 0))
        (reduced,) = reduce_by(monoid, keys[stays], (column[stays],), into.m)
        return as_symmetric(into.out, reduced, monoid, lists.out, column)

    return attributes.mapped(make)


def merged_both_ways(attributes: Attributes, lists: Lists, made: Derived, each: Mapping[str, Any]) -> Attributes:
    """Return the attributes of the undirected graph `made` from `lists`.

    Those of i -> j and j -> i are reduced together.
    """
    into = made.lists

    def make(name: str, column: Array) -> Array:
        src, dst = lists.edges()
        xp, back = array_module(column), into.out.transposed().numbers()
        keys = xp.where(xp.less_equal(src, dst), made.origin.new_edges, back[made.origin.new_edges])
        if each[name] is None:
            (first,) = reduce_by(least, keys, (xp.arange(lists.m),), into.m)
            merged = column[xp.minimum(first, lists.m - 1)]
        else:
            (merged,) = reduce_by(each[name], keys, (column,), into.m)
        upper: Array = xp.where(xp.less_equal(into.out.owners(), into.out.indices), merged, merged[back])
        return upper

    return attributes.mapped(make)
