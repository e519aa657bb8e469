"""Alternative paths lead from source to target, share no more than is allowed, and are found where there are any."""

import re
from itertools import combinations, pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import Graph, verify
from gasla.cli.compute import on_host
from tests.algorithms.community.test_edge_support import DEVICES
from tests.algorithms.paths.test_shortest_path import SHAPES
from tests.helpers.law import COPIED_WEIGHTS, TIMES, WEIGHS_0, Asked, Row, times
from tests.helpers.mutants import ALL, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned

Array = np.ndarray[Any, Any]


def asked(q: Asked) -> dict[str, Any]:
    found = gasla.alternative_paths(q.given, q.v(0), q.v(1))
    q.check(verify.alternative_paths, q.v(0), q.v(1), on_host(found))
    return {"shortest": np.array([path.distance for path in found[:1]])}


LAWS = [
    Row(
        *("alternative_paths", asked),
        **{"weights": True, "split": COPIED_WEIGHTS, "zeros": WEIGHS_0},
        scaled=times(TIMES, shortest=1),
    )
]


def alternatives(g: Small) -> Questioned:
    """The questions to the verifier: of all simple paths, the shortest one and the next that is allowed."""
    for target in (5, g.n - 1):
        every: list[tuple[float, list[int], list[int]]] = []
        for path in nx.all_simple_paths(g.directed, 0, target):
            steps = [(u, v, g.directed.edges[u, v]["weight"]) for u, v in pairwise(path)]
            every.append((sum(w for *_, w in steps), path, [g.edges.index(step) for step in steps]))
        every.sort()

        def fit(one: int, other: int, every: Any = every) -> bool:
            common = sum(g.edges[e][2] for e in {*every[one][2]} & {*every[other][2]})
            return bool(common <= 0.5 * min(every[one][0], every[other][0]) + 1e-9)

        def is_right(lengths: Array, which: Array, every: Any = every, fit: Any = fit) -> bool:
            if lengths.shape != which.shape or not all(0 <= i < len(every) for i in which):
                return False
            chosen = which.tolist()
            if len(chosen) > 2 or bool(chosen) != bool(every):
                return False
            if not np.allclose(lengths, [every[i][0] for i in chosen]) or (np.diff(lengths) < 0).any():
                return False
            if chosen and not np.isclose(every[chosen[0]][0], every[0][0]):
                return False
            within = all(every[i][0] <= 1.5 * every[0][0] + 1e-9 for i in chosen)
            return within and all(fit(a, b) for a, b in combinations(chosen, 2))

        def check(lengths: Array, which: Array, every: Any = every, target: int = target) -> None:
            if which.ndim != 1 or not all(0 <= i < len(every) for i in which):
                raise ValueError("no such path")
            paths = [(length, *every[i][1:]) for length, i in zip(lengths, which, strict=True)]
            verify.alternative_paths(g.matrix, 0, target, paths, k=2)

        more = [i for i in range(1, len(every)) if every[i][0] <= 1.5 * every[0][0] and fit(0, i)][:1]
        which = np.array([0, *more] if every else [], int)
        yield Question(check, {"lengths": np.array([every[i][0] for i in which], float), "which": which}, is_right)


QUESTIONS: Questions = {"alternative_paths": (alternatives, ALL)}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_hard_shapes(shape: str, device: Any) -> None:
    graph = Graph(SHAPES[shape]())
    for source, target in {(0, graph.n - 1), (graph.n // 2, 0)}:
        found = gasla.alternative_paths(graph.to(device), source, target, 5, max_overlap=0.7, stretch=2)
        verify.alternative_paths(graph, source, target, on_host(found), k=5, max_overlap=0.7, stretch=2)
        for _, path, edges in found:
            assert path.dtype == graph.id_dtype and edges.dtype == np.int64


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(0, 30), st.integers(0, 10**6), st.floats(0, 1), st.floats(1, 3))
def test_paths_of_random_graphs(n: int, m: int, seed: int, max_overlap: float, stretch: float) -> None:
    """Many lengths are 0 or equal; directed graphs have ways that cross themselves."""
    random = np.random.default_rng(seed)
    graph = Graph.from_edges(*random.integers(0, n, (2, m)), random.integers(0, 4, m), n=n)
    options: dict[str, Any] = {"max_overlap": max_overlap, "stretch": stretch}
    found = gasla.alternative_paths(graph, 0, n - 1, 4, **options)
    verify.alternative_paths(graph, 0, n - 1, found, k=4, **options)
    again = gasla.alternative_paths(graph, 0, n - 1, 4, **options)
    assert [(path.path.tolist(), path.edges.tolist()) for path in found] == [
        (path.path.tolist(), path.edges.tolist()) for path in again
    ]


def parallel_roads(lengths: list[float], steps: int = 4) -> Graph:
    """Several roads from 0 to 1, of some steps each, which have nothing in common."""
    src, dst, each = [], [], []
    for road, length in enumerate(lengths):
        inner = [2 + road * (steps - 1) + i for i in range(steps - 1)]
        src += [0, *inner]
        dst += [*inner, 1]
        each += [length / steps] * steps
    return Graph.from_edges(src, dst, each)


def test_all_roads_are_found_up_to_the_stretch() -> None:
    graph = parallel_roads([10, 12, 14, 16, 30])
    assert [path.distance for path in gasla.alternative_paths(graph, 0, 1, 9)] == [10, 12, 14]
    assert [path.distance for path in gasla.alternative_paths(graph, 0, 1, 9, stretch=3)] == [10, 12, 14, 16, 30]
    assert [path.distance for path in gasla.alternative_paths(graph, 0, 1, 2, stretch=3)] == [10, 12]
    assert gasla.alternative_paths(graph, 0, 1, 0) == [] == gasla.alternative_paths(graph, 1, 0)
    (alone,) = gasla.alternative_paths(graph, 3, 3)
    assert alone.distance == 0 and alone.path.tolist() == [3] and alone.edges.tolist() == []


def test_a_detour_of_one_block_is_no_alternative() -> None:
    """The long way round is; the k shortest paths are all detours of one block."""
    blocks = nx.convert_node_labels_to_integers(nx.ladder_graph(30))  # 0 to 29 and 30 to 59
    src, dst = np.array(blocks.edges).T
    street = Graph.from_edges(
        *(np.concatenate(ends) for ends in ((src, [0, 60, 61]), (dst, [60, 61, 29]))),
        np.append(np.where(src + 30 == dst, 0.5, np.where(src < 30, 1.0, 1.1)), [11.0, 11, 11]),
    )
    street = street.symmetrized(semirings.min)
    close = gasla.k_shortest_paths(street, 0, 29, 3)
    apart = gasla.alternative_paths(street, 0, 29, max_overlap=0.2)
    assert len({*close[0].edges.tolist()} & {*close[1].edges.tolist()}) > 25
    assert [(path.distance, path.path.tolist()) for path in apart] == [(29, [*range(30)]), (33, [0, 60, 61, 29])]


def test_routes_through_a_town_differ() -> None:
    matrix, *_ = gasla.datasets.town()
    town = Graph(matrix)
    found = gasla.alternative_paths(town, 130, 1900, 4, max_overlap=0.6)
    verify.alternative_paths(town, 130, 1900, found, k=4, max_overlap=0.6)
    assert len(found) == 4
    edges = [{*path.edges.tolist()} for path in gasla.k_shortest_paths(town, 130, 1900, 4)]
    assert min(len(edges[0] & other) / len(other) for other in edges[1:]) > 0.7


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "overlap": ({"max_overlap": 1.5}, "max_overlap is 1.5; expected a number from 0 to 1"),
    "stretch": ({"stretch": 0.5}, "stretch is 0.5; expected a number"),
    "k": ({"k": -1}, "k is -1; expected 0 or more"),
    "target": ({"target": 7}, "target 7 is outside a graph of 3 vertices"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused(case: str) -> None:
    options, message = WRONG[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        gasla.alternative_paths(Graph.from_edges([0, 1], [1, 2]), **{"source": 0, "target": 2, **options})


@pytest.mark.parametrize(
    ("length", "message"),
    [(-1.0, "edge 1 has the length -1.0; expected 0 or more"), (1.7e308, "sum to infinity in float64")],
)
def test_lengths_that_have_no_sums_are_refused(length: float, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        gasla.alternative_paths(Graph.from_edges([0, 1], [1, 2], [1.7e308, length]), 0, 2)
