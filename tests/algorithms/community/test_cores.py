"""Core numbers and k-cores: beside NetworkX and igraph, on hard shapes, and what is said of what can't be."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

import gasla
from gasla import datasets, engines, primitives, verify
from gasla.cli.compute import on_host
from gasla.verify import VerificationError
from tests.algorithms.community.test_triangles import edge_lists, use_threads

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


@pytest.fixture(autouse=True, params=["one thread", pytest.param("programs", marks=pytest.mark.thorough)])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small graphs on the CPU run on one thread; others by vertex programs."""
    with nullcontext() if request.param == "one thread" else engines.programs_only():
        yield


Edges = list[tuple[int, int]]


def stored(n: int, src: Any, dst: Any) -> coo_array:
    src, dst = np.asarray(src, np.int32), np.asarray(dst, np.int32)
    return coo_array((np.ones(len(src), np.float32), (src, dst)), shape=(n, n))


def messy(n: int, m: int, seed: int) -> coo_array:
    """Edges in one direction or both, with loops and parallel ones, unsorted."""
    return stored(n, *np.random.default_rng(seed).integers(0, n, (2, m)))


def cliques() -> csr_array:
    """Complete graphs of 1 to 12 vertices, each joined to the next by an edge: a bucket each."""
    made = nx.disjoint_union_all([nx.complete_graph(k) for k in range(1, 13)])
    first = np.cumsum([0, *range(1, 12)])
    made.add_edges_from(zip(first[:-1].tolist(), first[1:].tolist()))
    return csr_array(nx.to_scipy_sparse_array(made, dtype=np.float32))


SHAPES: dict[str, Callable[[], Any]] = {
    "random": lambda: messy(80, 300, 1),
    "dense": lambda: messy(30, 600, 2),
    "sparse": lambda: messy(100, 60, 3),
    "path": lambda: stored(300, np.arange(299), np.arange(1, 300)),
    "ring": lambda: stored(50, np.arange(50), np.roll(np.arange(50), 1)),
    "star": lambda: stored(201, np.zeros(200), np.arange(1, 201)),
    "complete": lambda: csr_array(np.ones((12, 12), np.float32)),
    "cliques": cliques,
    "loops alone": lambda: stored(4, [0, 1, 1], [0, 1, 1]),
    "no edges": lambda: csr_array((5, 5), dtype=np.float32),
    "one vertex": lambda: csr_array((1, 1), dtype=np.float32),
    "nothing": lambda: csr_array((0, 0), dtype=np.float32),
    "stored zeros": lambda: csr_array((np.zeros(4, np.float32), [1, 2, 0, 1], [0, 2, 3, 4]), shape=(3, 3)),
    "rmat": lambda: datasets.rmat(9),
    "grid": lambda: datasets.grid(10),
    "airports": lambda: datasets.openflights().matrix,
}


def as_networkx(matrix: Any) -> nx.Graph:
    """Simple and undirected."""
    made = nx.Graph()
    made.add_nodes_from(range(matrix.shape[0]))
    ends = np.stack(coo_array(matrix).coords).T
    made.add_edges_from(ends[ends[:, 0] != ends[:, 1]].tolist())
    return made


def by_vertex(numbers: dict[int, int]) -> np.ndarray:
    return np.array([number for _, number in sorted(numbers.items())], int)


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_core_numbers_equal_those_of_networkx(shape: str, device: Any) -> None:
    matrix = SHAPES[shape]()
    graph = gasla.Graph(matrix).to(device)
    numbers = on_host(gasla.core_number(graph))
    verify.core_number(matrix, numbers)
    assert numbers.dtype == np.int32
    np.testing.assert_array_equal(numbers, by_vertex(nx.core_number(as_networkx(matrix))))
    np.testing.assert_array_equal(on_host(gasla.core_number(graph)), numbers)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [name for name in SHAPES if name not in ("nothing", "airports")])
@pytest.mark.parametrize("k", [None, 2, *(pytest.param(k, marks=pytest.mark.thorough) for k in (0, 5))])
def test_k_cores_equal_those_of_networkx(shape: str, k: int | None, device: Any) -> None:
    matrix = SHAPES[shape]()
    graph = gasla.Graph(matrix).to(device)
    members = gasla.k_core(graph, k)
    verify.k_core(matrix, on_host(members), k)
    assert np.flatnonzero(on_host(members)).tolist() == sorted(nx.k_core(as_networkx(matrix), k))
    known = gasla.k_core(graph, k, gasla.core_number(graph))
    np.testing.assert_array_equal(on_host(known), on_host(members))


def test_without_vertices_no_core_has_any() -> None:
    assert gasla.k_core(SHAPES["nothing"]()).shape == gasla.k_core(SHAPES["nothing"](), 3).shape == (0,)


@pytest.mark.thorough
@given(st.integers(0, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=60))
def test_any_small_graph_gives_a_right_answer(n: int, edges: Edges) -> None:
    src, dst = np.array([e for e in edges if max(e) < n] or np.empty((0, 2)), int).reshape(-1, 2).T
    graph = gasla.Graph.from_edges(src, dst, n=n)
    numbers = gasla.core_number(graph)
    verify.core_number(graph, numbers)
    np.testing.assert_array_equal(numbers, by_vertex(nx.core_number(as_networkx(stored(n, src, dst)))))
    for k in range(int(numbers.max(initial=0)) + 2):
        verify.k_core(graph, gasla.k_core(graph, k, numbers), k)
    np.testing.assert_array_equal(gasla.core_number(gasla.Graph.from_edges(dst, src, n=n)), numbers)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["rmat", "airports", "roads"])
def test_core_numbers_equal_those_of_igraph(name: str) -> None:
    igraph = pytest.importorskip("igraph")
    matrix = coo_array(datasets.ny_roads() if name == "roads" else SHAPES[name]())
    ends = np.unique(np.sort(np.stack(matrix.coords).T, axis=1), axis=0)
    theirs = igraph.Graph(n=matrix.shape[0], edges=ends[ends[:, 0] < ends[:, 1]])
    np.testing.assert_array_equal(gasla.core_number(matrix), theirs.coreness())


@pytest.mark.parametrize("kind", ["offsets", pytest.param("offsets and ids", marks=pytest.mark.slow)])
def test_int64_ids_give_the_same_answer(kind: str) -> None:
    indptr = np.array([0, 2, 4, 6, 7, 7], np.int64)
    indices = np.array([2, 1, 0, 2, 1, 0, 0], np.int32 if kind == "offsets" else np.int64)
    np.testing.assert_array_equal(gasla.core_number(gasla.Graph.from_csr(indptr, indices)), [2, 2, 2, 1, 0])


def test_input_is_not_changed() -> None:
    matrix = csr_array(SHAPES["random"]())
    before = matrix.copy()
    gasla.core_number(matrix)
    np.testing.assert_array_equal(matrix.toarray(), before.toarray())


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"k": 1.5}, TypeError, "k is 1.5; expected a whole number"),
        ({"k": -1}, ValueError, "k is -1; expected 0 or more"),
        ({"core_number": [1, 2]}, ValueError, r"the shape \(2,\); expected \(12,\)"),
        ({"core_number": np.ones(12)}, TypeError, "holds float64; expected integers"),
    ],
)
def test_impossible_input_is_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        gasla.k_core(SHAPES["complete"](), **options)


def test_the_verifier_rejects_wrong_answers() -> None:
    matrix = SHAPES["cliques"]()
    numbers = gasla.core_number(matrix)
    for v in (0, 5, len(numbers) - 1):
        for wrong in (numbers[v] - 1, numbers[v] + 1):
            changed = numbers.copy()
            changed[v] = wrong
            with pytest.raises(VerificationError):
                verify.core_number(matrix, changed)
    lowered = np.minimum(numbers, numbers.max() - 1)
    with pytest.raises(VerificationError, match="is in a core of 11 or more"):
        verify.core_number(matrix, lowered)
    with pytest.raises(VerificationError, match="integers were expected"):
        verify.core_number(matrix, numbers.astype(float))
    members = gasla.k_core(matrix, 5)
    for k, wrong in [(4, members), (6, members), (None, members), (5, ~members), (None, members & False)]:
        with pytest.raises(VerificationError):
            verify.k_core(matrix, wrong, k)


@settings(max_examples=60)
@given(edge_lists(), st.integers(1, 3))
def test_threads_drain_levels_as_one_thread_peels(edges: tuple[int, np.ndarray, np.ndarray], threads: int) -> None:
    """A graph of 14 vertices is flat; another one has a hub besides."""
    n, src, dst = edges
    numbers = nx.core_number(nx.Graph([(u, v) for u, v in zip(src.tolist(), dst.tolist()) if u != v]))
    hub = np.full(20, n), np.arange(n + 1, n + 21)
    for more in (np.empty((2, 0), int), hub):
        graph = gasla.Graph.from_edges(np.append(src, more[0]), np.append(dst, more[1]), n=n + 21)
        with pytest.MonkeyPatch.context() as patch:
            use_threads(patch, threads)
            patch.setattr("gasla.cpu.runtime.blocks.SMALL", 1)  # kernels that ask for no work have one thread
            found = primitives.peel(graph)
        assert found[:n].tolist() == [numbers.get(v, 0) for v in range(n)]
        assert (found[n:] == min(len(more[0]), 1)).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_grid_is_drained_from_its_corners(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use_threads(monkeypatch, threads)
    graph = gasla.Graph(datasets.grid(12))
    assert not graph.has_self_loops and graph.max_out_degree <= 4
    found = primitives.peel(graph)
    verify.core_number(graph, found)
    np.testing.assert_array_equal(found, gasla.core_number(graph))


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["grid", "uniform", "rgg", "rmat", "path", "tree", "clique", "nothing"])
def test_a_gpu_drains_levels_as_the_cpu_does(name: str) -> None:
    n = 30_000
    path, below = np.arange(n - 1), np.random.default_rng(1).integers(0, np.arange(1, n))
    made = {
        "path": lambda: gasla.Graph.from_edges(path, path + 1),
        "tree": lambda: gasla.Graph.from_edges(path + 1, below),
        "clique": lambda: gasla.Graph.from_edges(*np.triu_indices(300, 1), n=400),
        "nothing": lambda: gasla.Graph.from_edges([], [], n=70),
    }
    graph = primitives.simplify(made[name]() if name in made else gasla.Graph(getattr(datasets, name)(14)))
    expected = primitives.peel(graph)
    there = graph.to("gpu")
    for _ in range(2):
        np.testing.assert_array_equal(primitives.peel(there).get(), expected)
    np.testing.assert_array_equal(gasla.core_number(there).get(), expected)


def test_one_thread_takes_graphs_in_host_memory_alone() -> None:
    graph = gasla.distributed.Graph.from_graph(gasla.Graph(SHAPES["ring"]()), gasla.distributed.ThreadRanks(2))
    for call in (primitives.peel, primitives.depth_first, primitives.louvain_levels):
        with pytest.raises(TypeError, match="of which no process has all edges"):
            call(graph)
