"""Contraction in chunks, as a GPU does it, on NumPy arrays: the sums that `Graph.contract` finds, in any chunks."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gasla
import semirings
from gasla import Graph, engines
from gasla.algorithms.community import community_programs, community_search
from gasla.graph.transform import contract_gpu
from gasla.graph.transform.merging import number_groups

PAIRS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.integers(0, 2**26)), max_size=60)
KINDS = [None, np.float32, np.float64, np.int32]


def undirected(edges: list[tuple[int, int, int]], kind: Any, n: int = 12) -> Graph:
    src, dst, weights = np.array(edges, np.int64).reshape(-1, 3).T
    values = None if kind is None else np.concatenate([weights, weights]).astype(kind)
    return Graph.from_edges(np.concatenate([src, dst]), np.concatenate([dst, src]), values, n=n)


@given(PAIRS, st.lists(st.integers(0, 11), min_size=12, max_size=12), st.integers(1, 40), st.sampled_from(KINDS))
def test_sums_equal_those_of_contract(
    edges: list[tuple[int, int, int]], labels: list[int], chunk: int, kind: Any
) -> None:
    graph = undirected(edges, kind)
    weighted = graph.with_values(np.ones(graph.m) if graph.values is None else graph.values.astype(np.float64))
    expected = weighted.contract(labels, semirings.plus)
    group_of, count = number_groups(graph.n, graph.id_dtype, np.array(labels))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contract_gpu, "CHUNK", chunk)
        lists, values = contract_gpu.summed(graph.lists.out, graph.values, group_of, count)
    assert np.array_equal(lists.indptr, expected.out.indptr) and lists.indptr.dtype == expected.out.indptr.dtype
    assert np.array_equal(lists.indices, expected.out.indices) and lists.indices.dtype == expected.out.indices.dtype
    assert np.array_equal(values, expected.out_values)  # whole numbers, whose sums are exact
    assert (values.dtype == np.float32) == (values.max(initial=0) <= 2**24)


def test_sums_of_fractions_are_the_same_in_both_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 30, (2, 400))
    weights = rng.random(400)
    graph = Graph.from_edges(np.concatenate([src, dst]), np.concatenate([dst, src]), np.concatenate([weights] * 2))
    monkeypatch.setattr(contract_gpu, "CHUNK", 37)
    group_of, count = number_groups(graph.n, graph.id_dtype, np.arange(graph.n) // 4)
    lists, values = contract_gpu.summed(graph.lists.out, graph.values, group_of, count)
    expected = graph.contract(group_of, semirings.plus)
    assert np.allclose(values, expected.out_values, rtol=1e-12, atol=0)
    dense = np.zeros((count, count))
    dense[lists.owners(), lists.indices] = values
    assert np.array_equal(dense, dense.T)


@pytest.mark.parametrize("function", [gasla.louvain_communities, gasla.leiden_communities])
@pytest.mark.parametrize("kind", KINDS)
def test_communities_do_not_depend_on_how_weights_are_kept(
    function: Any, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    ends = rng.integers(0, 300, (1500, 2)) // rng.integers(1, 20, (1500, 1))
    graph = undirected([(int(a), int(b), int(w)) for (a, b), w in zip(ends, rng.integers(1, 9, 1500))], kind, 300)
    with engines.programs_only():
        expected = function(graph, seed=4)
        for module in (community_programs, community_search):
            monkeypatch.setattr(module, "keeps_weights", lambda graph: graph.is_whole)
        monkeypatch.setattr(contract_gpu, "CHUNK", 100)
        found = function(graph, seed=4)
    assert len(found.levels) > 1 and len(found.levels) == len(expected.levels)
    assert all(np.array_equal(a, b) for a, b in zip(found.levels, expected.levels))
