"""Primitives that everybody has: what a user writes with them finds what the library finds, and as fast."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pytest

import gasla
from benchmarks import programs
from gasla import primitives, stages
from gasla.bench import graphs, peers
from gasla.engines import CardOnly, HostOnly, Primitives

OTHERWISE = {  # what an engine offers, and the public function that is made of it
    "count_at_edges": primitives.count_common_neighbors,
    "link_groups": gasla.connected_components,
    "extremes_of_subtrees": primitives.Trees.extremes,
    "walk": gasla.random_walks,
    "sample": gasla.sample_neighbors,
    "sample_lists": gasla.sample_neighbors,
    "append_distinct": gasla.sample_neighbors,
    "search_lists": gasla.sample_neighbors,
    "list_sums": gasla.random_walks,
    "list_guides": gasla.random_walks,
    "top_k": gasla.top_k,
    "match_by_degrees": primitives.match_heaviest,
    "degrees": gasla.louvain_communities,
    "join": gasla.subgraph_matches,
    "edge_triples": gasla.temporal_motif_counts,
}


def test_every_primitive_of_an_engine_is_public() -> None:
    """Everything an engine offers has a public function, most of its name; stages have theirs from here."""
    offered = {name for kind in (Primitives, HostOnly, CardOnly) for name in vars(kind) if not name.startswith("_")}
    others = {"Oriented", "Trees", "fits_lightest_forest", "fits_one_card", "fits_one_thread"}
    assert offered - OTHERWISE.keys() | others == set(primitives.__all__)
    assert all(callable(function) for function in OTHERWISE.values())
    for name in set(primitives.__all__) & set(stages.__all__):
        assert getattr(stages, name) is getattr(primitives, name)


@pytest.mark.parametrize("algorithm", ["components", "triangles"])
@pytest.mark.parametrize("name", ["rmat8", "grid8"])
def test_a_users_own_find_the_same(name: str, algorithm: str) -> None:
    graph = graphs.load(name)
    own, library = programs.Own(graph), peers.make("gasla-cpu", graph)
    found = getattr(library, algorithm)()
    np.testing.assert_array_equal(getattr(own, algorithm)(), getattr(found, "labels", found))


def by_turns(calls: list[Callable[[], Any]], rounds: int) -> list[float]:
    """The median of each over rounds in which one follows the other."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, taken in zip(calls, seconds):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return [median(taken) for taken in seconds]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["components", "triangles"])
@pytest.mark.parametrize(("name", "rounds"), [("rmat10", 501), ("grid10", 501), ("rmat16", 7), ("grid20", 5)])
def test_a_users_own_are_as_fast_as_the_librarys(name: str, rounds: int, algorithm: str) -> None:
    graph = graphs.load(name)
    calls = [getattr(of, algorithm) for of in (programs.Own(graph), peers.make("gasla-cpu", graph))]
    for call in calls:
        call()
    found = []
    for _ in range(5):  # others on the machine may disturb one or the other
        own, library = by_turns(calls, rounds)
        found.append(own / library)
        if found[-1] <= 1.15:
            return
    pytest.fail(f"times as long as the library's: {found}; expected at most 1.15")
