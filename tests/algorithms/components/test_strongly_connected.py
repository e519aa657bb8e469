"""Strongly connected components: beside SciPy, NetworkX and igraph, on hard shapes, and what is said of wrong ones."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components as scipy_components

import gasla
from gasla import datasets, engines, verify
from gasla.cli.compute import on_host
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


@pytest.fixture(autouse=True, params=["one thread", "programs"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small graphs on the CPU run on one thread; others by vertex programs."""
    with nullcontext() if request.param == "one thread" else engines.programs_only():
        yield


def stored(n: int, src: Any, dst: Any) -> coo_array:
    src, dst = np.asarray(src, np.int32), np.asarray(dst, np.int32)
    return coo_array((np.ones(len(src), np.float32), (src, dst)), shape=(n, n))


def messy(n: int, m: int, seed: int) -> coo_array:
    """With loops and parallel edges, unsorted."""
    return stored(n, *np.random.default_rng(seed).integers(0, n, (2, m)))


def thinned(matrix: Any, share: float = 0.55) -> coo_array:
    """Edges that are each there or not, whether or not there is the one that leads back."""
    src, dst = coo_array(matrix).coords
    some = np.random.default_rng(55).random(len(src)) < share
    return stored(matrix.shape[0], src[some], dst[some])


def rings(sizes: list[int], seed: int | None = 0) -> coo_array:
    """Cycles, of which each leads to the next; vertices anywhere."""
    starts = np.cumsum([0, *sizes])
    ids = np.arange(starts[-1]) if seed is None else np.random.default_rng(seed).permutation(starts[-1])
    src = np.arange(starts[-1])
    dst = np.concatenate([np.roll(np.arange(a, b), -1) for a, b in itertools.pairwise(starts)])
    src, dst = np.concatenate([src, starts[:-2]]), np.concatenate([dst, starts[1:-1]])
    return stored(len(ids), ids[src], ids[dst])


SHAPES: dict[str, Callable[[], Any]] = {
    "random": lambda: messy(200, 300, 1),
    "dense": lambda: messy(30, 400, 2),
    "sparse": lambda: messy(100, 60, 3),
    "path": lambda: stored(2000, np.arange(1999), np.arange(1, 2000)),
    "path and back": lambda: stored(300, np.r_[:299, 1:300], np.r_[1:300, :299]),
    "ring": lambda: stored(1500, np.arange(1500), np.roll(np.arange(1500), 1)),
    "rings": lambda: rings([3, 1, 2, 40, 2, 1, 7] * 12),
    "rings in order": lambda: rings([2] * 150, None),
    "star": lambda: stored(201, np.zeros(200), np.arange(1, 201)),
    "star to and fro": lambda: stored(200, np.r_[np.zeros(199), 1:100], np.r_[1:200, np.zeros(99)]),
    "complete": lambda: csr_array(np.ones((12, 12), np.float32)),
    "loops alone": lambda: stored(4, [0, 1, 1], [0, 1, 1]),
    "no edges": lambda: csr_array((5, 5), dtype=np.float32),
    "one vertex": lambda: csr_array((1, 1), dtype=np.float32),
    "nothing": lambda: csr_array((0, 0), dtype=np.float32),
    "stored zeros": lambda: csr_array((np.zeros(4, np.float32), [1, 2, 0, 1], [0, 2, 3, 4]), shape=(3, 3)),
    "rmat": lambda: thinned(datasets.rmat(10)),
    "grid": lambda: thinned(datasets.grid(12)),
    "airports": lambda: datasets.openflights().matrix,
}


def right(matrix: Any) -> tuple[int, np.ndarray]:
    """SciPy's, numbered by their smallest vertices; it wants no parallel edges."""
    src, dst = coo_array(matrix).coords
    simple = csr_array((np.ones(len(src)), (src, dst)), shape=matrix.shape)
    simple.sum_duplicates()
    count, labels = scipy_components(simple, connection="strong") if matrix.shape[0] else (0, np.empty(0, int))
    _, first = np.unique(labels, return_index=True)
    return count, np.argsort(np.argsort(first))[labels]


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_gives_a_right_answer(shape: str, device: Any) -> None:
    matrix = SHAPES[shape]()
    found = gasla.strongly_connected_components(gasla.Graph(matrix).to(device))
    labels = on_host(found.labels)
    count, expected = right(matrix)
    assert int(found.count) == count
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, expected)
    verify.strong_components(matrix, labels, count)


@given(st.integers(1, 25), st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24)), max_size=60))
def test_any_small_graph_gives_a_right_answer(n: int, edges: list[tuple[int, int]]) -> None:
    src, dst = np.array([e for e in edges if max(e) < n] or np.empty((0, 2)), int).reshape(-1, 2).T
    graph = gasla.Graph.from_edges(src, dst, n=n)
    found = gasla.strongly_connected_components(graph)
    verify.strong_components(graph, found.labels, found.count)
    theirs = nx.strongly_connected_components(nx.DiGraph(nx.from_edgelist(zip(src, dst), nx.DiGraph)))
    parts = {frozenset(part) for part in theirs} | {frozenset([v]) for v in range(n) if v not in {*src, *dst}}
    assert {frozenset(np.flatnonzero(found.labels == c).tolist()) for c in range(found.count)} == parts
    back = gasla.strongly_connected_components(gasla.Graph.from_edges(dst, src, n=n))
    np.testing.assert_array_equal(back.labels, found.labels)


@pytest.mark.thorough
@given(st.integers(0, 2**32 - 1), st.integers(300, 3000), st.floats(0.8, 1.6))
def test_larger_graphs_give_right_answers(seed: int, n: int, degree: float) -> None:
    """Around the threshold where large components are, whose paths are long."""
    matrix = messy(n, int(n * degree), seed)
    np.testing.assert_array_equal(gasla.strongly_connected_components(matrix).labels, right(matrix)[1])


@pytest.mark.parametrize("name", ["rmat", "grid", "airports"])
def test_strong_components_equal_those_of_igraph(name: str) -> None:
    igraph = pytest.importorskip("igraph")
    matrix = coo_array(SHAPES[name]())
    theirs = igraph.Graph(n=matrix.shape[0], edges=np.stack(matrix.coords).T, directed=True)
    found = gasla.strongly_connected_components(matrix)
    membership = np.array(theirs.connected_components(mode="strong").membership)
    assert found.count == membership.max() + 1 == len({*zip(found.labels.tolist(), membership.tolist())})


def test_of_a_symmetric_matrix_they_are_the_weak_ones() -> None:
    matrix = messy(300, 200, 5)
    both = csr_array(matrix + matrix.T)
    weak, strong = gasla.connected_components(both), gasla.strongly_connected_components(both)
    assert weak.count == strong.count
    np.testing.assert_array_equal(weak.labels, strong.labels)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["offsets", pytest.param("offsets and ids", marks=pytest.mark.slow)])
def test_int64_ids_give_the_same_answer(kind: str) -> None:
    matrix = csr_array(rings([2, 3, 1, 4]))
    indices = matrix.indices if kind == "offsets" else matrix.indices.astype(np.int64)
    found = gasla.strongly_connected_components(gasla.Graph.from_csr(matrix.indptr.astype(np.int64), indices))
    np.testing.assert_array_equal(found.labels, right(matrix)[1])


def test_input_is_not_changed() -> None:
    matrix = csr_array(SHAPES["random"]())
    before = matrix.copy()
    first = gasla.strongly_connected_components(matrix)
    np.testing.assert_array_equal(matrix.toarray(), before.toarray())
    np.testing.assert_array_equal(gasla.strongly_connected_components(matrix).labels, first.labels)


def test_damaged_arrays_are_refused() -> None:
    matrix = csr_array(SHAPES["ring"]())
    matrix.indices[3] = 5000
    with pytest.raises(ValueError, match="5000"):
        gasla.strongly_connected_components(matrix)


def test_the_verifier_rejects_wrong_answers() -> None:
    matrix = rings([3, 2, 4, 1], None)
    count, labels = gasla.strongly_connected_components(matrix)
    for wrong, words in [
        (np.minimum(labels, 2), "share component 2, but not by paths in both directions within it"),
        (np.r_[0, 1, 2, labels[3:] + 2], "edge 0 → 1 leaves component 0 for component 1, from which a path leads back"),
        (labels[::-1].max() - labels, "is numbered 3; in the order of the smallest vertices it is 0"),
        (labels.astype(float), "integers were expected"),
        (labels[1:], "values were expected"),
    ]:
        with pytest.raises(VerificationError, match=words):
            verify.strong_components(matrix, wrong)
    with pytest.raises(VerificationError, match="5 components were counted, but there are 4"):
        verify.strong_components(matrix, labels, count + 1)
