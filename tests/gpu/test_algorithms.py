"""The algorithms on the GPU: the tests of tests/algorithms/test_basics.py, and those that only the device needs.

Its tests are collected here once more, with `gasla` in that module replaced by functions that move a graph to the GPU
and the answer back: the same peers, hard shapes and errors.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
from gasla import datasets, verify
from gasla.cli.compute import on_host
from tests.algorithms import test_basics
from tests.algorithms.test_basics import (  # noqa: F401  (collected)
    test_a_path_of_a_hundred_thousand,
    test_a_star_with_a_million_leaves,
    test_bad_input_is_refused,
    test_betweenness,
    test_betweenness_from_sampled_sources,
    test_betweenness_where_path_counts_exceed_float64,
    test_bfs,
    test_edge_betweenness,
    test_edge_betweenness_from_some_sources,
    test_graphs_of_no_and_of_one_vertex_give_answers,
    test_int64_offsets_and_ids_give_the_same,
    test_pagerank,
    test_pagerank_of_just_so_many_iterations,
    test_pagerank_says_that_it_did_not_converge,
    test_pagerank_without_normalisation,
    test_sssp,
    test_sssp_keeps_the_type_of_floats_and_takes_others_as_float64,
    test_sssp_with_negative_weights,
)

pytestmark = pytest.mark.gpu
ALGORITHMS = (
    *("bfs", "multi_source_bfs", "sssp", "multi_source_shortest_paths"),
    *("pagerank", "betweenness_centrality", "edge_betweenness_centrality"),
    *("closeness_centrality", "harmonic_centrality"),
)


class OnGpu:
    """gasla, with algorithms that run on the GPU."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(gasla, name)
        return there_and_back(function) if name in ALGORITHMS else function


def there_and_back(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(graph: Any, *arguments: Any, **options: Any) -> Any:
        return on_host(function(gasla.Graph(graph).to("gpu"), *arguments, **options))

    return call


@pytest.fixture(autouse=True, scope="module")
def on_gpu() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_basics, "gasla", OnGpu())
        yield


CALLS: dict[str, Callable[[Any], Any]] = {
    "bfs": lambda graph: gasla.bfs(graph, 3),
    "bfs with parents": lambda graph: gasla.bfs(graph, 3, parents=True)[0],
    "sssp": lambda graph: gasla.sssp(graph, 3),
    "pagerank": lambda graph: gasla.pagerank(graph, tol=1e-10, max_iter=500, dtype=np.float64).ranks,
    "pagerank without weights": lambda graph: gasla.pagerank(graph, weighted=False, tol=1e-10, max_iter=500).ranks,
    "personal pagerank": lambda graph: (
        gasla.pagerank(graph, personalization={3: 1, 5: 2}, dtype=np.float64, tol=1e-10, max_iter=500).ranks
    ),
    "pagerank without normalisation": lambda graph: (
        gasla.pagerank(graph, alpha=0.5, normalized=False, tol=1e-10, max_iter=500).ranks
    ),
    "betweenness": lambda graph: gasla.betweenness_centrality(graph, sources=[3, 5, 8]),
    "betweenness with endpoints": lambda graph: gasla.betweenness_centrality(graph, sources=[3, 5], endpoints=True),
    "weighted betweenness": lambda graph: gasla.betweenness_centrality(graph, sources=[3, 5], weighted=True),
    "edge betweenness": lambda graph: gasla.edge_betweenness_centrality(graph, sources=[3, 5, 8]),
    "weighted edge betweenness": lambda graph: gasla.edge_betweenness_centrality(graph, sources=[3, 5], weighted=True),
}
GRAPHS: dict[str, Callable[[], csr_array]] = {
    "rmat": lambda: datasets.with_weights(datasets.rmat(12), largest=9),
    "grid": lambda: datasets.with_weights(datasets.grid(12), largest=9),
    "directed": lambda: with_values(np.triu(np.random.default_rng(1).random((300, 300)) < 0.05, 1)),
    "hubs": lambda: hubs(700),
}
TINY: dict[str, Callable[[], csr_array]] = {
    "rmat": lambda: datasets.with_weights(datasets.rmat(8), largest=9),
    "grid": lambda: datasets.with_weights(datasets.grid(8), largest=9),
    "directed": GRAPHS["directed"],
    "hubs": lambda: hubs(20),
}


def hubs(length: int) -> csr_array:
    """Three vertices have edges to all; a path leads from the first vertex through so many more."""
    path = np.eye(700, k=1) * (np.arange(700) < length)[:, np.newaxis]
    return with_values(np.outer(np.arange(700) < 3, np.ones(700)) + path)


def with_values(pattern: np.ndarray) -> csr_array:
    A = csr_array(pattern != 0)
    A.data = 1 + np.arange(A.nnz, dtype=np.float32) % 7
    return A


@pytest.mark.parametrize("shape", GRAPHS)
@pytest.mark.parametrize("call", CALLS)
def test_equals_the_cpu(call: str, shape: str) -> None:
    equals_the_cpu(call, GRAPHS[shape]())


@pytest.mark.sanitize  # an iteration takes milliseconds under racecheck, and by the number of blocks
@pytest.mark.parametrize("small", [0, 10_000], ids=["several blocks", "one block"])
@pytest.mark.parametrize("shape", TINY)
@pytest.mark.parametrize("call", CALLS)
def test_tiny_graphs_equal_the_cpu(call: str, shape: str, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.gpu.program.workspace.SMALL", small)
    equals_the_cpu(call, TINY[shape]())


def equals_the_cpu(call: str, A: csr_array) -> None:
    answer = CALLS[call](gasla.Graph(A).to("gpu"))
    assert type(answer).__module__ == "cupy"
    np.testing.assert_allclose(answer.get(), CALLS[call](A), rtol=1e-6, atol=1e-9)


def test_cupy_in_cupy_out() -> None:
    cupy = pytest.importorskip("cupy")
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    A = datasets.with_weights(datasets.rmat(10), largest=9)
    B = sparse.csr_matrix((cupy.asarray(A.data), cupy.asarray(A.indices), cupy.asarray(A.indptr)), shape=A.shape)
    graph = gasla.Graph(A)
    source = int(datasets.sources(A, 1)[0])
    levels, parents = gasla.bfs(B, source, parents=True)
    assert isinstance(levels, cupy.ndarray) and isinstance(parents, cupy.ndarray)
    verify.bfs(graph, source, levels.get(), parents.get())
    distances, parents = gasla.sssp(B, source, parents=True)
    verify.sssp(graph, source, distances.get(), parents.get())
    home = cupy.arange(A.shape[0], dtype=np.float32)
    mine, theirs = (gasla.pagerank(X, personalization=x).ranks for X, x in ((B, home), (A, home.get())))
    np.testing.assert_allclose(mine.get(), theirs, rtol=1e-4)
    assert isinstance(gasla.betweenness_centrality(B, k=3, seed=1), cupy.ndarray)


def test_a_negative_cycle_is_found() -> None:
    graph = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 1], [1.0, -1, -1, 1]).to("gpu")
    with pytest.raises(ValueError, match=r"a cycle through vertex [123] has a negative length"):
        gasla.sssp(graph, 0)


def test_graphs_without_vertices_have_empty_results() -> None:
    graph = gasla.Graph.from_edges([], [], n=0).to("gpu")
    for answer in (gasla.pagerank(graph).ranks, gasla.betweenness_centrality(graph)):
        assert type(answer).__module__ == "cupy" and answer.shape == (0,)


@pytest.mark.parametrize("command", ["bfs", "sssp", "pagerank", "components", "triangles", "betweenness -k 4"])
def test_the_command_line(command: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from gasla import cli, io

    path = tmp_path / "graph.mtx"
    io.write(path, datasets.rmat(8))
    assert cli.main([*command.split(), str(path), "--device", "gpu", "--check", "--stats"]) == 0
    assert "check: the answer is correct" in capsys.readouterr().out
