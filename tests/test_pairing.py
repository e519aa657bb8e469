"""Edges and their partners, against dictionaries; and what programs read at the partner of an edge."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

import gasla

EDGES = st.integers(1, 6).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=24))
)


def partners(edges):
    """The k-th i -> j with the k-th j -> i, one edge after the other; -1 for those without."""
    places = defaultdict(list)
    for e, (i, j) in enumerate(edges):
        places[i, j].append(e)
    found = np.full(len(edges), -1)
    for (i, j), own in places.items():
        for e, partner in zip(own, places.get((j, i), ())):
            found[e] = partner
    return found


def made(n, edges, form):
    src, dst = (np.array(ends, np.int64) for ends in zip(*edges, strict=True)) if edges else (np.zeros(0, int),) * 2
    if form == "csr":  # whose rows are in the order of the input
        order = np.argsort(src, kind="stable")
        indptr = np.searchsorted(src[order], np.arange(n + 1))
        matrix = csr_array((np.arange(len(edges)), dst[order], indptr), shape=(n, n))
        return gasla.Graph(matrix), [edges[e] for e in order]
    if form == "csc":
        order = np.argsort(dst, kind="stable")
        indptr = np.searchsorted(dst[order], np.arange(n + 1))
        return gasla.Graph(csc_array((np.arange(len(edges)), src[order], indptr), shape=(n, n))), [
            edges[e] for e in order
        ]
    return gasla.Graph.from_edges(src, dst, np.arange(len(edges)), n=n), edges


@given(EDGES, st.sampled_from(["edges", "csr", "csc"]))
@settings(deadline=None, max_examples=200)
def test_partners_are_as_a_dictionary_has_them(drawn, form):
    graph, edges = made(*drawn, form)
    expected = partners(edges)
    if (expected < 0).any():
        first = int(np.argmax(expected < 0))
        with pytest.raises(ValueError, match=f"^edge {first}, {edges[first][0]} -> {edges[first][1]}, has no partner"):
            _ = graph.reverse_edge_ids
    else:
        np.testing.assert_array_equal(graph.reverse_edge_ids, expected)
        assert graph.paired() is graph
    pairs = graph.paired(fill=-7)
    alone = np.flatnonzero(expected < 0)
    all_edges = edges + [edges[e][::-1] for e in alone]
    np.testing.assert_array_equal(pairs.reverse_edge_ids, partners(all_edges))
    np.testing.assert_array_equal(pairs.values, [*graph.values, *[-7] * len(alone)])
    np.testing.assert_array_equal(np.stack(pairs._edges(), axis=1), np.array(all_edges).reshape(-1, 2))
    if len(alone):
        np.testing.assert_array_equal(pairs.origin.edges, [*range(len(edges)), *[-1] * len(alone)])
        np.testing.assert_array_equal(pairs.origin.new_edges, np.arange(len(edges)))
        np.testing.assert_array_equal(pairs.origin.vertices, np.arange(graph.n))
    looped = graph.paired(fill=-7, loops=True)
    all_edges += [(v, v) for v in range(graph.n)]
    np.testing.assert_array_equal(np.stack(looped._edges(), axis=1), np.array(all_edges).reshape(-1, 2))
    np.testing.assert_array_equal(looped.reverse_edge_ids, partners(all_edges))
    back = pairs.reverse_edge_ids
    np.testing.assert_array_equal(back[back], np.arange(pairs.m))


def test_pairs_of_graphs_without_values():
    path = gasla.Graph.from_edges([0, 1], [1, 2])
    assert path.paired(fill=None).values is None
    assert path.paired().values.tolist() == [1, 1, 0, 0]
    empty = gasla.Graph.from_edges([], [], n=0)
    assert empty.paired() is empty and len(empty.reverse_edge_ids) == 0


def test_a_fill_that_values_cannot_hold_is_refused():
    path = gasla.Graph.from_edges([0, 1], [1, 2], [1, 2])
    with pytest.raises(TypeError, match="can't hold"):
        path.paired(fill=0.5)


def test_graphs_made_of_another_with_partners_find_their_own():
    pairs = gasla.Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1])
    _ = pairs.reverse_edge_ids
    assert pairs.with_values([1, 2, 3, 4]).reverse_edge_ids.tolist() == [1, 0, 3, 2]
    assert pairs.select([2, 3]).reverse_edge_ids.tolist() == [1, 0]
    assert pairs.reversed().reverse_edge_ids.tolist() == [1, 0, 3, 2]
    with pytest.raises(ValueError, match="edge 0, 0 -> 1"):
        _ = pairs.changed(remove=[1]).reverse_edge_ids
