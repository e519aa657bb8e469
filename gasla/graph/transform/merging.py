"""`Graph.simple`, `Graph.contract` and `Graph.symmetrized`: graphs with merged edges or vertices."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gasla.arrays import array_module, index_dtype, module_of, with_bits_of_numbers
from gasla.gpu.runtime import reductions
from gasla.graph.adjacency import Adjacency, Array, lists_on
from gasla.graph.neighbor_lists import Lists
from gasla.graph.transform.origin import Derived, ExplicitIdMap, IdMap, LazyIdMap, Origin, derived, run_numbers
from gasla.graph.transform.segmented_reduce import (
    identities,
    reduce_by,
    reduce_runs,
    require_closed,
    uses_product,
)
from semirings import Monoid, plus
from semirings import any as any_of


def simple(lists: Lists, values: Array | None, combine: Monoid | None, loops: bool) -> Derived:
    """Return the graph without self loops, with parallel edges merged into one: `Graph.simple` calls this."""
    weights = _combined(lists, values, combine)
    same = IdMap(lists.device, lists.n, lists.n)
    if loops or not lists.has_self_loops:
        return _merged(lists, weights, combine, same)
    src, dst = lists.edges()
    selected = _between_two(lists, src, dst)
    less = Lists.of_edges(lists.n, lists.device, src[selected], dst[selected])
    del src, dst  # the sources may have been computed for this call
    return _merged(less, None if weights is None else weights[selected], combine, same, selected, lists.m)


def contract(
    lists: Lists, values: Array | None, labels: Array, combine: Monoid | None, loops: bool, merges: bool
) -> Derived:
    """Return the quotient graph: `Graph.contract` calls this.

    If it `merges` parallel edges without a monoid, the first value is kept.
    """
    weights = _combined(lists, values, combine)
    became, count = number_groups(lists.n, lists.id_dtype, labels)
    if combine is not None and lists.device == "cpu":
        from gasla.graph.transform import contract_cpu  # here, because it imports the compiler

        if contract_cpu.is_for(lists.rows, weights, combine, count):
            return _summed(lists, weights, became, count, loops)
    return _grouped(lists, weights, combine, became, count, loops, merges)


def symmetrized(lists: Lists, values: Array | None, combine: Monoid | None) -> Derived:
    """Return the undirected graph: `Graph.symmetrized` calls this."""
    weights = _combined(lists, values, combine)
    if lists.device == "cpu":
        return _merged_both(lists, weights, combine)
    return _grouped_both(lists, weights, combine)


def _merged_both(lists: Lists, weights: Array | None, combine: Monoid | None) -> Derived:
    """Return the symmetrized graph by `symmetrize_cpu`. The origin of edges is computed at first use."""
    from gasla.graph.transform import symmetrize_cpu  # here, because it imports the compiler

    both = symmetrize_cpu.merged(lists.sorted_out)
    merged_weights = None
    if weights is not None and combine is not None:  # reduced once per pair of vertices, then copied to both directions
        canonical, slots = symmetrize_cpu.paired(both, lists.sorted_out)
        (merged_weights,) = reduce_by(combine, slots, (weights,), len(canonical))
        del slots
        merged_weights = merged_weights[canonical]
    edges = partial(_edges_of_both, lists)
    same = IdMap(lists.device, lists.n, lists.n)
    made = Lists(lists.n, lists.device, both)
    return Derived(made, merged_weights, Origin(same, LazyIdMap(lists.device, lists.m, made.m, edges)))


def _edges_of_both(lists: Lists) -> IdMap:
    """Return the map from edge numbers to edge numbers of the symmetrized graph."""
    return _grouped_both(lists, None, None).origin.edge_map


def _grouped_both(lists: Lists, weights: Array | None, combine: Monoid | None) -> Derived:
    """Return the symmetrized graph by sorting the edges in both directions."""
    src, dst = lists.edges()
    xp = array_module(src)
    turned = _between_two(lists, src, dst)
    ids = xp.concatenate([xp.arange(lists.m, dtype=lists.offset_dtype), turned])
    ends = xp.concatenate([src, dst[turned]]), xp.concatenate([dst, src[turned]])
    same = IdMap(lists.device, lists.n, lists.n)
    merged = _merged(Lists.of_edges(lists.n, lists.device, *ends), None, combine, same)
    became, back = merged.origin.new_edges[: lists.m], merged.origin.new_edges[lists.m :]
    both = None
    if weights is not None and combine is not None:  # reduced once per pair of vertices, then copied to both directions
        is_up = xp.less(src[turned], dst[turned])
        one = became.copy()
        one[turned] = xp.where(is_up, became[turned], back)
        (both,) = reduce_by(combine, one, (weights,), merged.lists.m)
        both[xp.where(is_up, back, became[turned])] = both[one[turned]]
    return Derived(merged.lists, both, Origin(same, ExplicitIdMap(lists.device, ids[merged.origin.edges], became)))


def _between_two(lists: Lists, src: Array, dst: Array) -> Array:
    """Return the numbers of all edges that are not self loops."""
    selected: Array = array_module(src).flatnonzero(array_module(src).not_equal(src, dst)).astype(lists.offset_dtype)
    return selected


def _merged(
    lists: Lists,
    weights: Array | None,
    combine: Monoid | None,
    vertices: IdMap,
    selected: Array | None = None,
    before: int | None = None,
) -> Derived:
    """Return the graph with parallel edges merged.

    If `lists` has only some edges of a graph with `before` edges, `selected` has their numbers there.
    """
    rows = lists.sorted_out
    ids, indices = rows.numbers(), rows.indices
    xp, m = array_module(indices), lists.m
    fresh = xp.ones(m, bool)
    fresh[1:] = xp.not_equal(indices[1:], indices[:-1])
    starts = rows.indptr[:-1]
    fresh[starts[xp.less(starts, m)]] = True
    begins = xp.flatnonzero(fresh).astype(lists.offset_dtype)
    del fresh, starts
    whole = len(begins) == m
    merged_values = rows.by_position(weights) if whole else _values(weights, combine, ids, begins)
    indptr = rows.indptr
    if not whole:
        indptr = xp.searchsorted(begins, indptr).astype(index_dtype(len(begins)))
    kept = Adjacency(indptr, indices if whole else indices[begins])
    if weights is not None and combine is not None and not whole:
        merged_values = as_symmetric(kept, merged_values, combine, rows, weights)
    made = Lists(lists.n, lists.device, kept)
    members = ids if selected is None else selected[ids]
    numbers = IdMap(lists.device, before or m, made.m, members, None if whole else begins)
    return Derived(made, merged_values, Origin(vertices, numbers))


def _grouped(
    lists: Lists,
    weights: Array | None,
    combine: Monoid | None,
    became: Array,
    count: int,
    loops: bool,
    merges: bool = True,
) -> Derived:
    """Return the quotient graph by grouping edges, for any monoid: vertex v becomes ``became[v]``."""
    src, dst = (became[ends] for ends in lists.edges())
    selected = None
    if not loops:
        selected = _between_two(lists, src, dst)
        src, dst = src[selected], dst[selected]
    weights = weights if weights is None or selected is None else weights[selected]
    groups = IdMap(lists.device, lists.n, count, became=became)
    edges = derived(lists, count, src, dst, weights, groups, selected)
    return edges if not merges else _merged(edges.lists, weights, combine, groups, selected, lists.m)


def _summed(lists: Lists, weights: Any, became: Array, count: int, loops: bool) -> Derived:
    """Return the quotient graph with `plus`, by `contract_cpu`. The origin of edges is computed at first use."""
    from gasla.graph.transform import contract_cpu

    assert lists.rows is not None
    rows, values = contract_cpu.summed(lists.rows, weights, became, count, loops)
    values = as_symmetric(rows, values, plus, lists.rows, weights)
    edges = partial(_edges_of_groups, lists.n, lists.rows, became, count, loops)
    groups = IdMap(lists.device, lists.n, count, became=became)
    made = Lists(count, lists.device, rows)
    return Derived(made, values, Origin(groups, LazyIdMap(lists.device, lists.m, made.m, edges)))


def _combined(lists: Lists, values: Array | None, combine: Monoid | None) -> Array | None:
    """Return the values to reduce: 1 per edge if the graph has no values and the monoid is not idempotent."""
    kind = np.dtype(np.int64) if values is None else values.dtype
    if combine is not None:
        require_closed(combine, (kind,))
    if values is not None or combine is None or combine.idempotent:
        return values
    ones: Array = module_of(lists.device).ones(lists.m, kind)
    return ones


def number_groups(n: int, dtype: np.dtype[Any], labels: Array) -> tuple[Array, int]:
    """Return the group of each of n vertices, and the number of groups. Groups have numbers in the order of labels."""
    xp = array_module(labels)
    if n == 0:
        return labels.astype(dtype), 0
    there = xp.zeros(n, bool)
    there[labels] = True
    numbers = xp.cumsum(there, dtype=dtype)
    return xp.subtract(numbers, 1)[labels].astype(dtype, copy=False), int(numbers[-1])


def _edges_of_groups(n: int, rows: Adjacency, became: Array, count: int, loops: bool) -> IdMap:
    """Return the map from edge numbers to edge numbers of the quotient graph."""
    return _grouped(Lists(n, rows.device, rows), None, plus, became, count, loops).origin.edge_map


def as_symmetric(lists: Adjacency, values: Any, combine: Monoid, before: Adjacency, weights: Array) -> Array:
    """Return the reduced `values` by rows. If `weights` are symmetric, the value of i -> j is copied to j -> i, i < j.

    Both directions reduce the same weights, but in different orders: float sums may differ in the last bits, and `any`
    may choose different values.
    """
    has_order = combine is any_of or (weights.dtype.kind == "f" and not combine.idempotent)
    if not (has_order and combine.commutative) or (combine is plus and _adds_exactly(weights)):
        return values
    numbers = before.by_position(with_bits_of_numbers(weights))
    if not lists_on(before.indptr).is_symmetric(before.indptr, before.indices, numbers):
        return values
    return mirrored(lists, values)


def _adds_exactly(weights: Array) -> bool:
    """Return whether floats are whole numbers whose sums are exact, in any order."""
    xp, most = array_module(weights), 2.0 ** (np.finfo(weights.dtype).nmant + 1)
    return bool(xp.abs(weights).sum(dtype=np.float64) <= most) and bool(xp.equal(xp.rint(weights), weights).all())


def mirrored(lists: Adjacency, values: Array) -> Array:
    """Return values by rows of simple symmetric lists, with the value of i -> j copied to j -> i for i < j."""
    back = lists.transposed().numbers()
    chosen: Array = array_module(values).where(lists.owners() > lists.indices, values[back], values)
    return chosen


def _values(weights: Array | None, combine: Monoid | None, ids: Array, begins: Array) -> Array | None:
    """Return the reduced values of each run of merged edges. Without a monoid, return the first value of each run."""
    if weights is None:
        return None
    if combine is None:
        return weights[ids[begins]]
    if uses_product(combine, (weights,)):
        indptr = array_module(ids).append(begins, len(ids)).astype(ids.dtype)
        return reductions.by_product(combine, indptr, ids, weights)
    totals = identities(combine, (weights,), len(begins))
    reduce_runs(combine, run_numbers(begins, len(ids), begins.dtype), (weights[ids],), totals)
    return totals[0]
