"""Shortest paths from one vertex to another: beside NetworkX, with and without bounds, and what is refused."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_array, csr_array

import gasla
from gasla import datasets, verify
from gasla.cli.compute import on_host
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
METHODS = ["bidirectional", "dijkstra"]


def edges(n: int, m: int, seed: int, largest: int = 9) -> coo_array:
    """Some parallel, some loops, some of length 0, in any order."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, n, (2, m), dtype=np.int32)
    return coo_array((rng.integers(0, largest + 1, m).astype(np.float32), (src, dst)), shape=(n, n))


def path(n: int) -> coo_array:
    ids = np.arange(n, dtype=np.int32)
    return coo_array((np.ones(n - 1, np.float32), (ids[:-1], ids[1:])), shape=(n, n))


def star(n: int) -> coo_array:
    ids, hub = np.arange(1, n, dtype=np.int32), np.zeros(n - 1, np.int32)
    ends = np.concatenate([hub, ids]), np.concatenate([ids, hub])
    return coo_array((np.ones(2 * n - 2, np.float32), ends), shape=(n, n))


SHAPES: dict[str, Any] = {
    "random": lambda: edges(200, 800, 1),
    "sparse": lambda: edges(300, 330, 2),
    "all of length 0": lambda: edges(60, 300, 3, largest=0),
    "columns": lambda: csc_array(edges(100, 400, 4)),
    "path": lambda: path(400),
    "star": lambda: star(500),
    "no edges": lambda: coo_array((4, 4), dtype=np.float32),
    "one vertex": lambda: coo_array((1, 1), dtype=np.float32),
    "rmat": lambda: datasets.with_weights(datasets.rmat(9), largest=9),
    "grid": lambda: datasets.with_weights(datasets.grid(10), largest=9),
}


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_paths_are_shortest_on_hard_shapes(shape: str, device: Any) -> None:
    matrix = SHAPES[shape]()
    graph, rng = gasla.Graph(matrix), np.random.default_rng(0)
    there = graph.to(device)
    for source, target in {(0, graph.n - 1), *zip(*rng.integers(0, graph.n, (2, 4)).tolist())}:
        distances = gasla.sssp(graph, source)
        to_target = gasla.sssp(gasla.Graph(coo_array(matrix).T), target)
        bound = np.where(np.isfinite(to_target), to_target, 1e6).astype(np.float64)
        for options in (*({"method": method} for method in METHODS), {"bound": bound}, {"bound": bound // 2}):
            distance, whole, by = on_host(gasla.shortest_path(there, source, target, **options))
            verify.shortest_path(graph, source, target, distance, whole, by)
            assert distance == distances[target]
            assert whole.dtype == graph.id_dtype
            assert by.dtype == np.int64


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_graph_gives_a_right_answer(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    matrix = edges(n, data.draw(st.integers(0, 40)), data.draw(st.integers(0, 10**6)), data.draw(st.integers(0, 5)))
    source, target = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    # Bounds that are no higher than what remains, but rise and fall along edges by more than these are long.
    to_target = gasla.sssp(gasla.Graph(coo_array(matrix).T), target)
    shares = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
    bound = np.where(np.isfinite(to_target), to_target, 1e6) * shares
    for options in ({"method": "bidirectional"}, {"bound": bound}, {"bound": bound, "delta": 0.7}):
        verify.shortest_path(matrix, source, target, *gasla.shortest_path(matrix, source, target, **options))


@pytest.mark.thorough
def test_flights_are_as_short_as_in_networkx() -> None:
    flights, airports = datasets.openflights()
    graph, other = gasla.Graph(flights), nx.from_scipy_sparse_array(flights, create_using=nx.DiGraph)
    place = airports.latitude, airports.longitude

    def straight(ids: Any, target: int) -> Any:
        return datasets.great_circle(*(x[ids] for x in place), *(x[target] for x in place))

    codes = airports.iata.tolist()
    for a, b in (("TXL", "WLG"), ("JFK", "LHR"), ("USH", "LYR")):
        source, target = codes.index(a), codes.index(b)
        right = nx.dijkstra_path_length(other, source, target)
        both = gasla.shortest_path(graph, source, target)
        guided = gasla.shortest_path(graph, source, target, bound=straight, check_bound=True, method="a*")
        for found in (both, guided):
            assert found.distance == pytest.approx(right, rel=1e-12)
            verify.shortest_path(graph, source, target, *found)


@pytest.mark.thorough
def test_lengths_of_other_types() -> None:
    matrix = edges(50, 200, 7)
    right = float(gasla.sssp(matrix, 0)[49])
    whole = csr_array((matrix.data.astype(np.int32), matrix.coords), shape=matrix.shape)
    assert gasla.shortest_path(whole, 0, 49).distance == gasla.sssp(whole, 0)[49]
    assert gasla.shortest_path(coo_array(matrix, dtype=np.float64), 0, 49).distance == right
    assert gasla.shortest_path(gasla.Graph(matrix).with_values(None), 0, 49).distance == gasla.bfs(matrix, 0)[49]


def test_parallel_edges_and_loops() -> None:
    graph = gasla.Graph.from_edges([0, 0, 0, 1, 0], [1, 1, 0, 2, 1], np.array([5, 2, 0, 1, 3], np.float32))
    distance, whole, by = gasla.shortest_path(graph, 0, 2)
    assert (distance, whole.tolist(), by.tolist()) == (3, [0, 1, 2], [1, 3])
    assert gasla.shortest_path(graph, 1, 1)[1].tolist() == [1]
    distance, whole, by = gasla.shortest_path(graph, 2, 0)
    assert (distance, len(whole), len(by)) == (np.inf, 0, 0)


def test_a_search_sees_what_has_been_written_into_values() -> None:
    values = np.array([1, 1, 5], np.float32)
    graph = gasla.Graph.from_edges([0, 1, 0], [1, 2, 2], values)
    assert gasla.shortest_path(graph, 0, 2).distance == 2
    values[0] = 9
    assert gasla.shortest_path(graph, 0, 2).distance == 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": 4}, "target 4 is outside a graph of 4 vertices"),
        ({"source": -1}, "source -1 is outside"),
        ({"method": "best"}, "method is 'best'"),
        ({"method": "a*"}, "without a bound; give one"),
        ({"method": "bidirectional", "bound": [0, 0, 0, 0]}, "with a bound; leave it out"),
        ({"check_bound": True}, "check_bound was asked for without a bound"),
        ({"delta": 0}, "delta is 0"),
        ({"bound": [1, 2, 3]}, r"bound has shape \(3,\)"),
        ({"bound": [0, -1, 0, 0]}, "bound of vertex 1 is -1.0"),
        ({"bound": [0, np.nan, 0, 0]}, "bound of vertex 1 is nan"),
        ({"bound": [0, 0, 0, 2]}, "bound of the target 3 is 2.0; expected 0"),
        ({"bound": [3, 9, 1, 0], "check_bound": True}, "bound of vertex 1 is 9.0, but edge 1 of length 2.0"),
    ],
)
def test_unsupported_input_is_refused(options: dict[str, Any], words: str) -> None:
    graph = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3], [1.0, 2.0, 1.0])
    with pytest.raises(ValueError, match=words):
        gasla.shortest_path(graph, **{"source": 0, "target": 3} | options)


def test_negative_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"edge 1 has the length -2\.0; expected 0 or more, or call gasla\.sssp"):
        gasla.shortest_path(gasla.Graph.from_edges([0, 1], [1, 2], [1.0, -2.0]), 0, 2)
    with pytest.raises(ValueError, match="the weight of edge 1 is nan"):
        gasla.shortest_path(gasla.Graph.from_edges([0, 1], [1, 2], [1.0, np.nan]), 0, 2)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((4.0, [0, 1, 2], [0, 1]), "has length 3.0, not 4.0"),
        ((5.0, [0, 2], [2]), "there is one of length 3.0"),
        ((3.0, [0, 1, 2], [0, 2]), "by edge 2, which does not lead there"),
        ((3.0, [0, 1], [0]), "leads from 0 to 1, not from 0 to 2"),
        ((3.0, [0, 1, 2], [0]), "3 vertices and 1 edges"),
        ((np.inf, [], []), "unreached, but there is a path of length 3.0"),
        ((3.0, [], []), "there is no path, but the length 3.0"),
    ],
)
def test_the_verifier_rejects_wrong_answers(answer: Any, words: str) -> None:
    graph = gasla.Graph.from_edges([0, 1, 0], [1, 2, 2], [1.0, 2.0, 5.0])
    verify.shortest_path(graph, 0, 2, 3.0, [0, 1, 2], [0, 1])
    with pytest.raises(VerificationError, match=words):
        verify.shortest_path(graph, 0, 2, *answer)
