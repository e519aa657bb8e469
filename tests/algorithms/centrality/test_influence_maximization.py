"""Influence maximization: seeds reach nearly as many vertices as the best, which small graphs tell exactly."""

import math
import sys
import tracemalloc
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest

import gasla
from gasla import Graph, datasets, verify
from gasla.arrays import moved
from gasla.cpu.runtime import memory
from gasla.graph import memory_limit
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.helpers.law import VERIFIED, Answer, Array, Asked, Row
from tests.helpers.mutants import ALL, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def influenced(q: Asked) -> Answer:
    found = gasla.influence_maximization(q.given, 2, probability=0.5)
    q.check(verify.influence_maximization, *found, probability=0.5)
    return {}


LAWS = [Row("influence_maximization", influenced, order=VERIFIED, renamed=VERIFIED, split=VERIFIED, isolated=VERIFIED)]


def questions(g: Small) -> Questioned:
    """The question to the verifier: with probabilities of 1, seeds reach what a search reaches."""

    def reach(seeds: Array) -> int:
        return len(set().union(*({v, *nx.descendants(g.directed, v)} for v in seeds.tolist())))

    def is_right(seeds: Array, spread: float, ratio: float) -> bool:
        if seeds.ndim != 1 or seeds.dtype.kind not in "iu" or not len(seeds) or len({*seeds.tolist()}) < len(seeds):
            return False
        if not ((seeds >= 0) & (seeds < g.n)).all() or not 0 <= ratio <= 1:
            return False
        return abs(spread - reach(seeds)) <= 0.1 * reach(seeds)

    for seeds in ([0], [1, 3]):
        answer = {"seeds": np.array(seeds, np.int32), "spread": float(reach(np.array(seeds))), "ratio": 0.75}
        yield Question(
            lambda **a: verify.influence_maximization(g.matrix, **a, probability=1, samples=2), answer, is_right
        )


QUESTIONS: Questions = {"influence_maximization": (questions, ALL)}


def spreads(n: int, edges: list[tuple[int, int]], chances: list[float]) -> tuple[Array, Array]:
    """For each vertex and each of all worlds, what it reaches, as bits; and the probabilities of the worlds."""
    reached, weights = [], []
    for world in range(2 ** len(edges)):
        kept = [edge for i, edge in enumerate(edges) if world >> i & 1]
        graph = nx.DiGraph(kept)
        graph.add_nodes_from(range(n))
        reached.append([sum(1 << v for v in (u, *nx.descendants(graph, u))) for u in range(n)])
        weights.append(math.prod(p if world >> i & 1 else 1 - p for i, p in enumerate(chances)))
    return np.array(reached), np.array(weights)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(6))
def test_spreads_are_near_those_of_all_worlds(device: Any, seed: int) -> None:
    """The mean over all 2^m worlds is exact, so the best k vertices are known, and what the chosen ones reach."""
    rng = np.random.default_rng(seed)
    n, k = 7, 1 + seed % 3
    edges = [*zip(*rng.integers(0, n, (2, 9)).tolist(), strict=True)]  # parallel edges and loops, too
    chances = [0.3] * 9 if seed % 2 else rng.choice([0.0, 0.2, 0.5, 1.0], 9).tolist()
    graph = Graph.from_edges(*zip(*edges, strict=True), chances, n=n).to(device)
    found = gasla.influence_maximization(graph, k, probability=0.3 if seed % 2 else None, epsilon=0.05, seed=seed)
    reached, weights = spreads(n, edges, chances)

    def spread(vertices: Any) -> float:
        sizes = np.bitwise_count(np.bitwise_or.reduce(reached[:, list(vertices)], axis=1))
        return float((sizes * weights).sum())

    seeds = moved(found.seeds, "cpu").tolist()
    best = max(map(spread, combinations(range(n), k)))
    assert len({*seeds}) == k and found.seeds.dtype == graph.id_dtype
    assert spread(seeds) >= 0.95 * best >= (1 - 1 / math.e - 0.05) * best
    assert found.spread == pytest.approx(spread(seeds), rel=0.05)
    assert 1 - 1 / math.e - 0.05 <= found.ratio <= 1
    assert found.ratio * best <= spread(seeds)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [shape for shape in HARD if HARD[shape][0]])
def test_hard_shapes(device: Any, shape: str) -> None:
    graph = on(device, HARD[shape])
    for k, probability in ((1, 0.0), (min(3, graph.n), 1.0), (1, 0.3)):
        found = gasla.influence_maximization(graph, k, probability=probability)
        seeds = moved(found.seeds, "cpu")
        verify.influence_maximization(on("cpu", HARD[shape]), seeds, *found[1:], probability=probability)
        assert len(seeds) == k and found.spread >= k
        assert probability or found.spread == pytest.approx(k, rel=0.2)
    again = gasla.influence_maximization(graph, 1, probability=0.3)
    assert again.seeds.tolist() == found.seeds.tolist() and again.spread == found.spread


def test_a_path_is_best_reached_from_its_start_and_a_star_from_its_hub() -> None:
    for shape in ("a path", "a star"):
        found = gasla.influence_maximization(on("cpu", HARD[shape]), 1, probability=1, epsilon=0.6)
        assert found.seeds.tolist() == [0] and found.spread == 500


def test_few_flights_reach_most_airports() -> None:
    """The chosen airports reach more than those of most flights, which reach each other."""
    graph = Graph(datasets.openflights().matrix).with_values(None)
    found = gasla.influence_maximization(graph, 5, probability=0.02, seed=3)
    verify.influence_maximization(graph, *found, probability=0.02)
    other = gasla.influence_maximization(graph, 5, probability=0.02, seed=4)
    assert other.spread == pytest.approx(found.spread, rel=0.25)
    with pytest.raises(verify.VerificationError, match="the spread is"):
        verify.influence_maximization(graph, np.argsort(graph.out_degrees)[:5], found.spread, probability=0.02)


def test_wrong_arguments_are_named() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [0.5, 1.5])
    for options, message in (
        ({"k": 0}, "k is 0; expected 1 to 3"),
        ({"k": 4}, "k is 4; expected 1 to 3, the number of vertices"),
        ({"k": 1, "probability": None}, "the value of edge 1 is 1.5; expected probabilities, 0 to 1"),
        ({"k": 1, "probability": 1.1}, "probability is 1.1"),
        ({"k": 1, "epsilon": 0}, "epsilon is 0"),
        ({"k": 1, "epsilon": 0.7}, "epsilon is 0.7"),
        ({"k": 1, "epsilon": 1e-160}, "epsilon is 1e-160; expected a number from 1e-06 to 0.632121"),
        ({"k": 1, "epsilon": 1e-200}, "epsilon is 1e-200; expected a number from 1e-06 to 0.632121"),
        ({"k": 1, "confidence": 1}, "confidence is 1"),
    ):
        with pytest.raises(ValueError, match=message):
            gasla.influence_maximization(graph, **options)
    empty = Graph.from_edges([], [], n=0)
    for k in (0, 1):
        with pytest.raises(ValueError, match=f"k is {k}, and an empty graph has no vertices to choose"):
            gasla.influence_maximization(empty, k)
    with pytest.raises(ValueError, match="probability is None, and the graph has no values"):
        gasla.influence_maximization(graph.with_values(None), 1, probability=None)
    with pytest.raises(ValueError, match=r"weight of edge 0 is -1\.0"):
        gasla.influence_maximization(graph.with_values(np.array([-1.0, 0.5])), 1, probability=None)


def test_the_largest_seeds_are_as_good_as_others() -> None:
    graph = Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 4])
    seeds = (0, 1, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1)
    found = [gasla.influence_maximization(graph, 1, probability=0.5, seed=seed) for seed in seeds]
    assert all(each.spread == pytest.approx(2.375, rel=0.1) and each.seeds.tolist() == [0] for each in found)
    assert len({each.spread for each in found}) > 3, "the samples are the same"
    with pytest.raises(ValueError, match="seed is 18446744073709551616; expected 18446744073709551615 at most"):
        gasla.influence_maximization(graph, 1, seed=2**64)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("chance", [5e-324, 1e-310, 1e-300, 1e-20])
def test_edges_of_chances_near_0_pass_nothing_on(device: Any, chance: float) -> None:
    graph = on(device, HARD["a star"])
    valued = graph.with_values(moved(np.where(np.arange(graph.m) % 2, chance, 0.0), device))
    for found in (
        gasla.influence_maximization(graph, graph.n, probability=chance),
        gasla.influence_maximization(valued, graph.n, probability=None),
    ):
        assert found.spread == graph.n and sorted(found.seeds.tolist()) == [*range(graph.n)]


def of_large_sets(shape: str) -> tuple[Graph, float | None]:
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 1500, (2, 15_000))
    chances = rng.choice([0.3, 0.9], 15_000) if shape == "values" else None
    return Graph.from_edges(src, dst, chances, n=1500), {"values": None, "all": 1.0, "few": 0.2}[shape]


@pytest.mark.parametrize(
    "shape", [*(pytest.param(each, marks=pytest.mark.thorough) for each in ("all", "values")), "few"]
)
def test_the_memory_that_is_asked_for_covers_what_is_used(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then a run that lacks memory is refused before it takes more than there is."""
    graph, chance = of_large_sets(shape)
    module, asked = sys.modules["gasla.algorithms.centrality.influence_maximization"], []
    require_room = module.require_room

    def noted(what: str, count: int, each: int, *rest: Any) -> None:
        asked.append(count * each)
        require_room(what, count, each, *rest)

    gasla.influence_maximization(graph, 3, probability=chance, epsilon=0.6)  # makes lists and compiles
    monkeypatch.setattr(module, "require_room", noted)
    tracemalloc.start()
    gasla.influence_maximization(graph, 3, probability=chance)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used / 3 < max(asked) and used < max(asked) + 50 * graph.n

    there = max(asked) // 4
    monkeypatch.setattr(memory, "available", lambda: there)
    monkeypatch.setattr(memory_limit, "LARGE", 1 << 10)
    tracemalloc.start()
    with pytest.raises(MemoryError, match=r"the samples have .* entries, which take .* lower probabilities"):
        gasla.influence_maximization(graph, 3, probability=chance)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < there + 50 * graph.n


def test_the_verifier_refuses_probabilities_out_of_range() -> None:
    star = Graph.from_edges([0, 0, 0], [1, 2, 3])
    for wrong in (5, -0.1, 1.0001, np.nan):
        with pytest.raises(ValueError, match=f"probability is {wrong}; expected a number from 0 to 1"):
            verify.influence_maximization(star, [0], 4.0, probability=wrong)
    with pytest.raises(ValueError, match=r"the value of edge 1 is 5\.0; expected probabilities, 0 to 1"):
        verify.influence_maximization(star.with_values(np.array([1.0, 5, 1])), [0], 4.0, probability=None)
    with pytest.raises(ValueError, match=r"weight of edge 1 is -5\.0"):
        verify.influence_maximization(star.with_values(np.array([1.0, -5, 1])), [0], 1.0, probability=None)
    with pytest.raises(ValueError, match="probability is None, and the graph has no values"):
        verify.influence_maximization(star, [0], 4.0, probability=None)
    verify.influence_maximization(star.with_values(np.array([1.0, 1, 0])), [0], 3.0, probability=None)
