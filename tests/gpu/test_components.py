"""Connected components on the GPU, in one launch and stage by stage, against SciPy and the CPU's primitives.

Compiling needs no GPU and runs everywhere.
"""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import Graph, primitives
from gasla.gpu.primitive import forest as on_gpu
from gasla.gpu.runtime.compile import compile_source
from tests.algorithms.components.test_connected import edge_lists, expected
from tests.helpers.in_turns import in_turns

pytestmark = pytest.mark.thorough


@pytest.fixture
def cupy() -> ModuleType:
    return pytest.importorskip("cupy")


@pytest.mark.parametrize(
    ("sizes", "architecture"),
    in_turns([((4, 4),), ((4, 8),), ((8, 4),), ((8, 8),)], [("compute_80",), ("compute_90",)]),
)
def test_compiles(cupy: ModuleType, architecture: str, sizes: tuple[int, int]) -> None:
    for file in ("forest", "components"):
        assert compile_source(on_gpu.source(*sizes, file), architecture)


def on_device(graph: Graph, offsets: type | None = None) -> Graph:
    import cupy

    lists = graph.out
    indptr = lists.indptr if offsets is None else lists.indptr.astype(offsets)
    return Graph.from_csr(cupy.asarray(indptr), cupy.asarray(lists.indices))


def check(graph: Graph, offsets: type | None = None) -> None:
    src = np.repeat(np.arange(graph.n), np.diff(graph.out.indptr))
    count, labels = expected(graph.n, src, graph.out.indices)
    result = gasla.connected_components(on_device(graph, offsets))
    np.testing.assert_array_equal(result.labels.get(), labels)
    assert result.count == count
    assert (result.count.dtype, result.count.shape) == (np.int64, ())  # an array, so that nobody waits
    assert result.labels.dtype == graph.id_dtype


def edges_of(src: Any, dst: Any, towards: str, n: int | None = None) -> Graph:
    if towards == "both":
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    elif towards == "backward":
        src, dst = dst, src
    return Graph.from_edges(src, dst, n=n)


directions = pytest.mark.parametrize("towards", ["forward", "backward", "both"])


# --- the whole -------------------------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 1000])
def test_without_edges_every_vertex_is_a_component(n: int) -> None:
    check(Graph.from_edges([], [], n=n))


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("offsets", [np.int32, np.int64])
def test_self_loops_and_parallel_edges(offsets: type) -> None:
    check(Graph.from_edges([0, 0, 3, 3, 3, 4], [0, 0, 1, 1, 3, 4], n=6), offsets)


@pytest.mark.gpu
@settings(max_examples=100)
@given(edge_lists(), st.sampled_from(["forward", "both"]), st.sampled_from([np.int32, np.int64]))
def test_random_graphs_give_right_answers(
    edges: tuple[int, np.ndarray, np.ndarray], towards: str, offsets: type
) -> None:
    n, src, dst = edges
    check(edges_of(src, dst, towards, n), offsets)


@pytest.mark.gpu
@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(200, 200_000), st.floats(0.2, 8), st.sampled_from(["forward", "both"]))
def test_larger_graphs_give_right_answers(seed: int, n: int, degree: float, towards: str) -> None:
    src, dst = np.random.default_rng(seed).integers(0, n, (2, int(n * degree)))
    check(edges_of(src, dst, towards, n))


@pytest.mark.gpu
@directions
@pytest.mark.parametrize("shape", [(3, 2000), (2000, 3), (300, 300)])
def test_grids_with_holes(towards: str, shape: tuple[int, int]) -> None:
    """Numbered by rows: roots are ranked by a hash, so their smallest vertices have to be found."""
    ids = np.arange(shape[0] * shape[1]).reshape(shape)
    src = np.concatenate([ids[1:].ravel(), ids[:, 1:].ravel()])
    dst = np.concatenate([ids[:-1].ravel(), ids[:, :-1].ravel()])
    for share in (0.3, 0.5, 0.9):
        stay = np.random.default_rng(1).random(len(src)) < share
        check(edges_of(src[stay], dst[stay], towards, ids.size))


@pytest.mark.gpu
def test_an_edge_out_of_the_giant_that_only_its_source_stores() -> None:
    ring = np.arange(1000)
    src = np.concatenate([ring, np.roll(ring, 1), np.full(3, 5)])
    dst = np.concatenate([np.roll(ring, 1), ring, [6, 4, 1001]])
    check(Graph.from_edges(src, dst, n=1003))


@pytest.mark.gpu
@directions
@pytest.mark.parametrize("centre", [0, 400_000, 1_000_000])
def test_a_star_of_a_million_leaves_is_one_component(towards: str, centre: int) -> None:
    leaves = np.delete(np.arange(1_000_001, dtype=np.int32), centre)
    check(edges_of(np.full_like(leaves, centre), leaves, towards))


@pytest.mark.gpu
@directions
def test_many_stars(towards: str) -> None:
    """Hubs outside the largest tree, and lists on both sides of every limit."""
    sizes = np.array([1, 31, 32, 33, 2047, 2048, 2049, 4096, 5000, 100_000] * 3)
    centres = np.cumsum(sizes + 1) - sizes - 1
    src = np.repeat(centres, sizes)
    dst = np.setdiff1d(np.arange((sizes + 1).sum()), centres)
    shuffled = np.random.default_rng(0).permutation(len(dst) + len(sizes))
    check(edges_of(src, dst, towards))
    check(edges_of(shuffled[src], shuffled[dst], towards))


@pytest.mark.gpu
@directions
@pytest.mark.parametrize("order", ["ascending", "shuffled"])
def test_path_of_a_hundred_thousand(towards: str, order: str) -> None:
    n = 100_000
    ids = np.arange(n) if order == "ascending" else np.random.default_rng(0).permutation(n)
    check(edges_of(ids[:-1], ids[1:], towards, n + 1))


@pytest.mark.gpu
def test_again_and_on_another_stream() -> None:
    import cupy

    graph = on_device(Graph.from_edges([0, 3, 4], [2, 4, 1], n=6))
    for stream in (cupy.cuda.Stream(), cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
        with stream:
            for _ in range(3):
                result = gasla.connected_components(graph)
                assert result.count == 3
                np.testing.assert_array_equal(result.labels.get(), [0, 1, 0, 1, 1, 2])


# --- stages ----------------------------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.sanitize
@settings(max_examples=50)
@given(edge_lists(), st.sampled_from(["forward", "both"]), st.sampled_from([np.int32, np.int64]))
def test_every_known_tree_gives_the_same_components(
    edges: tuple[int, np.ndarray, np.ndarray], towards: str, offsets: type
) -> None:
    n, src, dst = edges
    graph = on_device(edges_of(src, dst, towards, n), offsets)
    count, labels = expected(n, src, dst)
    start = primitives.hook(graph)
    primitives.compress(start)
    for known in [None, *np.unique(start.get()).tolist()]:
        parents = start.copy()
        primitives.link(graph, parents, known=known)
        assert (parents.get() <= np.arange(n)).all()
        assert primitives.number(parents) == count
        np.testing.assert_array_equal(parents.get(), labels)


@pytest.mark.gpu
@given(edge_lists(), st.integers(0, 3), st.integers(0, 4))
def test_stages_do_what_those_on_the_cpu_do(edges: tuple[int, np.ndarray, np.ndarray], first: int, last: int) -> None:
    n, src, dst = edges
    graph = Graph.from_edges(src, dst, n=n)
    there = on_device(graph)
    here, parents = primitives.hook(graph), primitives.hook(there)
    np.testing.assert_array_equal(parents.get(), here)
    primitives.link(graph, here, first=first, last=last)
    primitives.link(there, parents, first=first, last=last)
    primitives.compress(here)
    primitives.compress(parents)
    np.testing.assert_array_equal(parents.get(), here)
    assert primitives.number(parents) == primitives.number(here)
    np.testing.assert_array_equal(parents.get(), here)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_number_flattens_first(kind: type) -> None:
    import cupy

    parents = cupy.arange(-1, 20_000, dtype=kind).clip(0)
    parents[10_000] = 10_000
    assert primitives.number(parents) == 2
    np.testing.assert_array_equal(parents.get(), np.arange(20_001) >= 10_000)


@pytest.mark.gpu
def test_likely_largest_finds_a_tree_of_most_vertices() -> None:
    import cupy

    parents = cupy.arange(10_000)
    parents[3000:] = 7
    assert primitives.likely_largest(parents) == 7


@pytest.mark.gpu
def test_forests_that_do_not_fit_are_refused() -> None:
    import cupy

    graph = on_device(Graph.from_edges([0], [3]))
    with pytest.raises(ValueError, match="3 entries; expected one for each of 4"):
        primitives.link(graph, cupy.arange(3, dtype=np.int32))
    with pytest.raises(TypeError, match="type int64; expected that of the graph's ids, int32"):
        primitives.link(graph, cupy.arange(4))
    with pytest.raises(ValueError, match="the forest is on the cpu and the graph on the gpu; expected one device"):
        primitives.link(graph, np.arange(4, dtype=np.int32))
