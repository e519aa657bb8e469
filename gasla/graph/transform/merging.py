"""`Graph.simple`, `Graph.contract` and `Graph.symmetrized`: graphs in which edges or vertices are merged."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gasla.arrays import array_module, index_dtype, module_of, with_bits_of_numbers
from gasla.gpu.runtime import reductions
from gasla.graph.adjacency import Adjacency, Array, lists_on
from gasla.graph.neighbor_lists import Lists
from gasla.graph.transform.origin import Derived, ExplicitIdMap, IdMap, LazyIdMap, Origin, derived, run_numbers
from gasla.graph.transform.segmented_reduce import identities, reduce_by, reduce_runs, require_closed, uses_product
from semirings import Monoid, plus
from semirings import any as any_of


def simple(lists: Lists, values: Array | None, combine: Monoid | None, loops: bool) -> Derived:
    """Return the graph without self loops, with parallel edges merged into one edge. This implements `Graph.simple`."""
    weights = _values_to_reduce(lists, values, combine)
    same_vertices = IdMap(lists.device, lists.n, lists.n)
    if loops or not lists.has_self_loops:
        return _merge_parallel_edges(lists, weights, combine, same_vertices)
    src, dst = lists.edges()
    selected = _find_non_loops(lists, src, dst)
    without_loops = Lists.of_edges(lists.n, lists.device, src[selected], dst[selected])
    del src, dst  # frees the memory of the sources, which may have been computed only for this call
    return _merge_parallel_edges(
        without_loops, None if weights is None else weights[selected], combine, same_vertices, selected, lists.m
    )


def contract(
    lists: Lists, values: Array | None, labels: Array, combine: Monoid | None, loops: bool, merges: bool
) -> Derived:
    """Return the quotient graph, in which vertices with equal labels are one vertex, for `Graph.contract`.

    With `merges`, parallel edges are merged. Without a monoid `combine`, the first of their values is kept.
    """
    weights = _values_to_reduce(lists, values, combine)
    group_of, count = number_groups(lists.n, lists.id_dtype, labels)
    if combine is not None and lists.device == "cpu":
        from gasla.graph.transform import contract_cpu  # imported here, because the module imports the compiler

        if contract_cpu.is_for(lists.rows, weights, combine, count):
            return _contract_by_tables(lists, weights, group_of, count, loops)
    return _contract_by_sorting(lists, weights, combine, group_of, count, loops, merges)


def symmetrized(lists: Lists, values: Array | None, combine: Monoid | None) -> Derived:
    """Return the undirected graph, in which each edge has a reverse edge. This implements `Graph.symmetrized`."""
    weights = _values_to_reduce(lists, values, combine)
    if lists.device == "cpu":
        return _symmetrize_by_merging(lists, weights, combine)
    return _symmetrize_by_sorting(lists, weights, combine)


def _symmetrize_by_merging(lists: Lists, weights: Array | None, combine: Monoid | None) -> Derived:
    """Return the undirected graph of a graph on the CPU, by merging the sorted out- and in-neighbors of each vertex.

    The map of edge numbers (`origin`) is computed when it is first read.
    """
    from gasla.graph.transform import symmetrize_cpu  # imported here, because the module imports the compiler

    merged_lists = symmetrize_cpu.merged(lists.sorted_out)
    merged_weights = None
    # values are reduced once for each pair of vertices, then copied to both directions
    if weights is not None and combine is not None:
        canonical, slots = symmetrize_cpu.paired(merged_lists, lists.sorted_out)
        (merged_weights,) = reduce_by(combine, slots, (weights,), len(canonical))
        del slots
        merged_weights = merged_weights[canonical]
    find_edge_map = partial(_edge_map_of_symmetrized, lists)
    same_vertices = IdMap(lists.device, lists.n, lists.n)
    new_lists = Lists(lists.n, lists.device, merged_lists)
    return Derived(
        new_lists, merged_weights, Origin(same_vertices, LazyIdMap(lists.device, lists.m, new_lists.m, find_edge_map))
    )


def _edge_map_of_symmetrized(lists: Lists) -> IdMap:
    """Return the map from a graph's edge numbers to those of the undirected graph that was made from it."""
    return _symmetrize_by_sorting(lists, None, None).origin.edge_map


def _symmetrize_by_sorting(lists: Lists, weights: Array | None, combine: Monoid | None) -> Derived:
    """Return the undirected graph of a graph on either device, by sorting its edges and their reverse edges."""
    src, dst = lists.edges()
    xp = array_module(src)
    reversed_edges = _find_non_loops(lists, src, dst)
    ids = xp.concatenate([xp.arange(lists.m, dtype=lists.offset_dtype), reversed_edges])
    endpoints = xp.concatenate([src, dst[reversed_edges]]), xp.concatenate([dst, src[reversed_edges]])
    same_vertices = IdMap(lists.device, lists.n, lists.n)
    merged_edges = _merge_parallel_edges(
        Lists.of_edges(lists.n, lists.device, *endpoints), None, combine, same_vertices
    )
    new_numbers, reverse_numbers = merged_edges.origin.new_edges[: lists.m], merged_edges.origin.new_edges[lists.m :]
    reduced_values = None
    # values are reduced once for each pair of vertices, then copied to both directions
    if weights is not None and combine is not None:
        is_up = xp.less(src[reversed_edges], dst[reversed_edges])
        upper_slots = new_numbers.copy()
        upper_slots[reversed_edges] = xp.where(is_up, new_numbers[reversed_edges], reverse_numbers)
        (reduced_values,) = reduce_by(combine, upper_slots, (weights,), merged_edges.lists.m)
        reduced_values[xp.where(is_up, reverse_numbers, new_numbers[reversed_edges])] = reduced_values[
            upper_slots[reversed_edges]
        ]
    return Derived(
        merged_edges.lists,
        reduced_values,
        Origin(same_vertices, ExplicitIdMap(lists.device, ids[merged_edges.origin.edges], new_numbers)),
    )


def _find_non_loops(lists: Lists, src: Array, dst: Array) -> Array:
    """Return the numbers of the edges that are not self loops. `src` and `dst` are the ends of all edges."""
    selected: Array = array_module(src).flatnonzero(array_module(src).not_equal(src, dst)).astype(lists.offset_dtype)
    return selected


def _merge_parallel_edges(
    lists: Lists,
    weights: Array | None,
    combine: Monoid | None,
    vertices: IdMap,
    selected: Array | None = None,
    edges_before: int | None = None,
) -> Derived:
    """Return the graph with parallel edges merged into one edge, and their values reduced by the monoid `combine`.

    `lists` may have only some edges of an original graph. That graph has `edges_before` edges, and `selected` has their
    numbers there. `vertices` is the map from its vertices to those of the result.
    """
    rows = lists.sorted_out
    ids, indices = rows.numbers(), rows.indices
    xp, m = array_module(indices), lists.m
    is_first = xp.ones(m, bool)
    is_first[1:] = xp.not_equal(indices[1:], indices[:-1])
    starts = rows.indptr[:-1]
    is_first[starts[xp.less(starts, m)]] = True
    run_starts = xp.flatnonzero(is_first).astype(lists.offset_dtype)
    del is_first, starts
    has_no_parallel = len(run_starts) == m
    merged_values = (
        rows.by_position(weights) if has_no_parallel else _reduce_runs_of_edges(weights, combine, ids, run_starts)
    )
    indptr = rows.indptr
    if not has_no_parallel:
        indptr = xp.searchsorted(run_starts, indptr).astype(index_dtype(len(run_starts)))
    adjacency = Adjacency(indptr, indices if has_no_parallel else indices[run_starts])
    if weights is not None and combine is not None and not has_no_parallel:
        merged_values = as_symmetric(adjacency, merged_values, combine, rows, weights)
    new_lists = Lists(lists.n, lists.device, adjacency)
    old_numbers = ids if selected is None else selected[ids]
    edge_map = IdMap(lists.device, edges_before or m, new_lists.m, old_numbers, None if has_no_parallel else run_starts)
    return Derived(new_lists, merged_values, Origin(vertices, edge_map))


def _contract_by_sorting(
    lists: Lists,
    weights: Array | None,
    combine: Monoid | None,
    group_of: Array,
    count: int,
    loops: bool,
    merges: bool = True,
) -> Derived:
    """Return the quotient graph by sorting edges, on either device and for any monoid.

    Vertex v becomes vertex ``group_of[v]``. `count` is the number of vertices of the quotient graph.
    """
    src, dst = (group_of[endpoints] for endpoints in lists.edges())
    selected = None
    if not loops:
        selected = _find_non_loops(lists, src, dst)
        src, dst = src[selected], dst[selected]
    weights = weights if weights is None or selected is None else weights[selected]
    vertex_map = IdMap(lists.device, lists.n, count, became=group_of)
    edges = derived(lists, count, src, dst, weights, vertex_map, selected)
    return edges if not merges else _merge_parallel_edges(edges.lists, weights, combine, vertex_map, selected, lists.m)


def _contract_by_tables(lists: Lists, weights: Any, group_of: Array, count: int, loops: bool) -> Derived:
    """Return the quotient graph of a graph on the CPU, where weights of edges between the same two groups are added.

    Each thread adds weights in a table with one entry per group. The map of edge numbers (`origin`) is computed when it
    is first read.
    """
    from gasla.graph.transform import contract_cpu

    assert lists.rows is not None
    rows, values = contract_cpu.summed(lists.rows, weights, group_of, count, loops)
    values = as_symmetric(rows, values, plus, lists.rows, weights)
    find_edge_map = partial(_edge_map_of_quotient, lists.n, lists.rows, group_of, count, loops)
    vertex_map = IdMap(lists.device, lists.n, count, became=group_of)
    new_lists = Lists(count, lists.device, rows)
    return Derived(new_lists, values, Origin(vertex_map, LazyIdMap(lists.device, lists.m, new_lists.m, find_edge_map)))


def _values_to_reduce(lists: Lists, values: Array | None, combine: Monoid | None) -> Array | None:
    """Return the edge values that a monoid reduces when edges are merged.

    If the graph has no values, these are ones, so that `plus` counts edges. For an idempotent monoid, such as `min`,
    the result is None, because the new graph has no values either.
    """
    dtype = np.dtype(np.int64) if values is None else values.dtype
    if combine is not None:
        require_closed(combine, (dtype,))
    if values is not None or combine is None or combine.idempotent:
        return values
    ones: Array = module_of(lists.device).ones(lists.m, dtype)
    return ones


def number_groups(n: int, dtype: np.dtype[Any], labels: Array) -> tuple[Array, int]:
    """Return the number of the group of each of n vertices, and how many groups there are.

    `labels` has a label for each vertex, equal within a group. Groups are numbered from 0 without gaps, in the order of
    their labels.
    """
    xp = array_module(labels)
    if n == 0:
        return labels.astype(dtype), 0
    is_used = xp.zeros(n, bool)
    is_used[labels] = True
    numbers = xp.cumsum(is_used, dtype=dtype)
    return xp.subtract(numbers, 1)[labels].astype(dtype, copy=False), int(numbers[-1])


def _edge_map_of_quotient(n: int, rows: Adjacency, group_of: Array, count: int, loops: bool) -> IdMap:
    """Return the map from a graph's edge numbers to those of its quotient graph, which merges groups of vertices.

    `rows` are the adjacency lists of the graph with n vertices, and `group_of` has the group of each vertex, of
    `count`.
    """
    return _contract_by_sorting(Lists(n, rows.device, rows), None, plus, group_of, count, loops).origin.edge_map


def as_symmetric(lists: Adjacency, values: Any, combine: Monoid, before: Adjacency, weights: Array) -> Array:
    """Return the values of merged edges, made equal in both directions if the values before the merge were symmetric.

    `values` are the reduced values of the merged edges in `lists`, and `weights` the values of the edges in `before`.
    Both directions reduce the same numbers, but in different orders, so sums of floats may differ in the last bits, and
    the monoid `any` may choose different values. So the value of i -> j, for i < j, is copied to j -> i.
    """
    has_order = combine is any_of or (weights.dtype.kind == "f" and not combine.idempotent)
    if not (has_order and combine.commutative) or (combine is plus and _adds_exactly(weights)):
        return values
    numbers = before.by_position(with_bits_of_numbers(weights))
    if not lists_on(before.indptr).is_symmetric(before.indptr, before.indices, numbers):
        return values
    return mirrored(lists, values)


def _adds_exactly(weights: Array) -> bool:
    """Return whether all weights are whole numbers whose sum is exact in floating-point arithmetic, in any order."""
    xp, largest_exact = array_module(weights), 2.0 ** (np.finfo(weights.dtype).nmant + 1)
    return bool(xp.abs(weights).sum(dtype=np.float64) <= largest_exact) and bool(
        xp.equal(xp.rint(weights), weights).all()
    )


def mirrored(lists: Adjacency, values: Array) -> Array:
    """Return edge values in which the value of i -> j is copied to j -> i, for all i < j.

    The values are in the order of `lists`, which are the adjacency lists of a simple undirected graph.
    """
    reverse_positions = lists.transposed().numbers()
    mirrored_values: Array = array_module(values).where(
        lists.owners() > lists.indices, values[reverse_positions], values
    )
    return mirrored_values


def _reduce_runs_of_edges(weights: Array | None, combine: Monoid | None, ids: Array, run_starts: Array) -> Array | None:
    """Return the value of each merged edge: the values of the edges that it consists of, reduced by a monoid.

    Without a monoid `combine`, the first value is kept. `ids` are edge numbers in an order in which edges to be merged
    are adjacent (a run), and `run_starts` has the position at which each run begins.
    """
    if weights is None:
        return None
    if combine is None:
        return weights[ids[run_starts]]
    if uses_product(combine, (weights,)):
        indptr = array_module(ids).append(run_starts, len(ids)).astype(ids.dtype)
        return reductions.by_product(combine, indptr, ids, weights)
    totals = identities(combine, (weights,), len(run_starts))
    reduce_runs(combine, run_numbers(run_starts, len(ids), run_starts.dtype), (weights[ids],), totals)
    return totals[0]
