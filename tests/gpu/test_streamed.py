"""Graphs whose neighbor lists stay in host memory (``stream=True``): results as on the card, and what is refused."""

import gc
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from scipy import sparse

import gasla
import semirings
from gasla import cli, datasets, host_memory, io
from gasla.algorithms.traversal.bfs import LEVELS
from gasla.arrays import moved
from gasla.graph import graph as graphs
from gasla.graph import streamed
from gasla.graph.neighbor_lists import Lists
from tests.distributed.test_ranks import ACYCLIC, CLOSE, EXACT, SHAPES, random_graph
from tests.helpers.generated_programs import Case, cases
from tests.helpers.generated_runs import run as run_case
from tests.program.test_runs import CASES, NAMES

A = datasets.with_weights(datasets.rmat(8), largest=9)
STREAMS = [True, "compressed"]


# --- without a GPU ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("stream", STREAMS)
def test_streaming_is_for_gpus(device: Any, stream: Any) -> None:
    with pytest.raises(ValueError, match=rf"stream is {stream!r} and device is .*; expected device='gpu'"):
        gasla.Graph(A, device=device, stream=stream)
    with pytest.raises(ValueError, match=f"stream is {stream!r}"):
        gasla.Graph(gasla.Graph(A), device=device, stream=stream)


@pytest.mark.parametrize("stream", [1, "yes", None, np.zeros(2)])
def test_stream_is_true_or_false_or_compressed(stream: Any) -> None:
    with pytest.raises(TypeError, match=r"stream is .*; expected True or False, or 'compressed'"):
        gasla.Graph(A, device="gpu", stream=stream)


def test_a_device_may_be_given() -> None:
    graph = gasla.Graph(A, device="cpu")
    assert graph.device == "cpu" and not graph.is_streamed
    assert gasla.Graph(graph, device="cpu").lists is graph.lists
    with pytest.raises(ValueError, match="device is 'tpu'"):
        gasla.Graph(A, device="tpu")  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [1, 8])
def test_a_graph_that_does_not_fit_says_what_to_type(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = gasla.Graph(A)
    need = graph.out.indptr.nbytes + graph.out.indices.nbytes + graph.values.nbytes
    monkeypatch.setattr(streamed, "free_bytes", lambda: need // 3)
    monkeypatch.setattr(streamed, "cards", lambda: count)
    with pytest.raises(MemoryError) as caught:
        gasla.Graph(A, device="gpu")
    text = str(caught.value)
    for part in (f"{need:,} bytes on the GPU", f"{need // 3:,} are free", "gasla.Graph(A, device='gpu', stream=True)"):
        assert part in text
    assert ("gasla.distributed.Cluster(cards=4)" in text) == (count == 8)
    for call in (lambda: graph.to("gpu"), lambda: gasla.run(CASES[0][0], graph, device="gpu")):
        with pytest.raises(MemoryError, match="stream=True"):
            call()


@pytest.fixture
def no_card(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """NumPy's arrays stand for those on the card, so that all but the copies is what it is on a GPU."""

    class Bytes(host_memory.PinnedBytes):
        def __init__(self, size: int) -> None:
            self.size, self.held = size, np.empty(max(1, size), np.uint8)
            self.address = self.held.ctypes.data

    def copied(x: Any, device: str) -> Any:
        return np.array(x) if device == "gpu" else x

    def lent(array: Any) -> Any:
        return streamed.mapped(host_memory.pinned(array))

    monkeypatch.setattr(host_memory, "PinnedBytes", Bytes)
    monkeypatch.setattr(streamed, "mapped", lambda array: array)
    monkeypatch.setattr(streamed, "current_device", lambda: 0)
    for module in (streamed, graphs):
        monkeypatch.setattr(module, "moved", copied)
        monkeypatch.setattr(module, "lent", lent)
    for name in ("finish", "gasla.graph.neighbor_lists.finish", "gasla.graph.adjacency.finish"):
        monkeypatch.setattr(name if "." in name else f"gasla.graph.graph.{name}", lambda device: None)
    return


SAME = [
    *("out_degrees", "in_degrees", "leaving", "out_edge_ids", "in_edge_ids", "values", "out_values", "in_values"),
    *("value_range", "is_symmetric", "has_self_loops", "has_parallel_edges", "is_simple", "has_symmetric_values"),
    *("has_mirrored_values", "max_out_degree", "max_in_degree"),
]


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.usefixtures("no_card")
def test_lists_and_values_are_those_of_the_host(form: str, both_ways: bool, known: bool, stream: Any) -> None:
    matrix = sparse.random(60, 60, 0.1, random_state=1, format="coo", dtype=np.float32)
    matrix = (matrix + matrix.T if both_ways else matrix).asformat(form)
    graph, given_one = gasla.Graph(matrix), gasla.Graph(matrix)
    if known:  # the lists that it then has are taken over
        assert len(given_one.in_edge_ids) == given_one.m
        assert given_one.out_values is not None and given_one.in_values is not None
    there = gasla.Graph(given_one, device="gpu", stream=stream)
    assert there.is_streamed and there.device == "gpu" and "streamed" in repr(there)
    assert ("compressed" in repr(there)) == (stream == "compressed")
    for name in ("out", "in_", "both", "sorted_out"):
        one, other = getattr(graph, name), getattr(there, name)
        for numbers in (lambda lists: lists.numbers(), lambda lists: lists.owners(), lambda lists: lists.as_keys(60)):
            np.testing.assert_array_equal(numbers(one), numbers(other))
        for form_of in (lambda lists: lists, lambda lists: lists.in_order(), lambda lists: lists.transposed()):
            for a, b in zip(form_of(one), form_of(other), strict=True):
                np.testing.assert_array_equal(b, a)
        assert one.is_sorted == other.is_sorted
        assert one.indices.dtype == other.indices.dtype and one.indptr.dtype == other.indptr.dtype
    for name in SAME:
        np.testing.assert_array_equal(getattr(there, name), getattr(graph, name), err_msg=name)
    assert (there.out.indices is there.in_.indices) == (graph.out.indices is graph.in_.indices)
    assert (there.out.stored_ids is there.in_.stored_ids) == (graph.out.indices is graph.in_.indices)
    assert (there.out_values is there.in_values) == (graph.out_values is graph.in_values)
    for a, b in zip(graph.edges(), there.edges(), strict=True):
        np.testing.assert_array_equal(b, a)
    if both_ways:
        np.testing.assert_array_equal(there.reverse_edge_ids, graph.reverse_edge_ids)
    assert form == "coo" or given_one.lists.given.indices is matrix.indices  # the caller's graph stays as it was


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.usefixtures("no_card")
def test_graphs_made_of_a_streamed_one_are_streamed(stream: Any) -> None:
    graph = gasla.Graph(A)
    there = gasla.Graph(A, device="gpu", stream=stream)
    made: dict[str, Callable[[gasla.Graph], gasla.Graph]] = {
        "reversed": lambda g: g.reversed(),
        "symmetrized": lambda g: g.symmetrized(semirings.max),
        "simple": lambda g: g.simple(),
        "contract": lambda g: g.contract(np.arange(g.n) // 2),
        "select": lambda g: g.select(g.values > 4),
        "subgraph": lambda g: g.subgraph(np.arange(0, g.n, 2)),
        "paired": lambda g: g.paired(),
        "changed": lambda g: g.changed(insert=([0], [3], [7.0]), remove=[1]),
        "with_values": lambda g: g.with_values(np.arange(g.m)),
        "weighted_by": lambda g: g.with_edge_attributes(hour=np.arange(g.m)[::-1]).weighted_by("hour"),
    }
    for name, function in made.items():
        if name == "weighted_by":
            continue  # columns of NumPy are not taken for the card's here
        expected, found = function(graph), function(there)
        assert found.is_streamed and found.lists.packs == (stream == "compressed"), name
        for one, other in zip([*expected.out, expected.in_values], [*found.out, found.in_values], strict=True):
            np.testing.assert_array_equal(other, one, err_msg=name)
    assert there.to("cpu").device == "cpu" and there.to("cpu").to("gpu") is there
    for other in STREAMS:
        assert (gasla.Graph(there, device="gpu", stream=other).lists is there.lists) == (other == stream)
    again = pickle.loads(pickle.dumps(there))
    assert again.is_streamed and again.lists.packs == there.lists.packs
    np.testing.assert_array_equal(again.in_values, graph.in_values)
    np.testing.assert_array_equal(there.lists.as_type(there.values, np.float64), graph.values.astype(np.float64))
    np.testing.assert_array_equal(there.lists.ones(5, np.int8), np.ones(5, np.int8))


@pytest.mark.usefixtures("no_card")
def test_ids_are_packed_once_and_copied_only_when_read() -> None:
    matrix = datasets.rmat(10)
    there = gasla.Graph(matrix, device="gpu", stream="compressed")
    assert there.out.packed is there.in_.packed is there.reversed().out.packed
    assert there.out.packed.nbytes < 0.5 * matrix.indices.nbytes
    assert not {"unpacked"} & vars(there.out.packed).keys()
    assert there.to("cpu").out.indices is matrix.indices  # not copied either
    np.testing.assert_array_equal(there.out.indices, matrix.indices)


@pytest.mark.usefixtures("no_card")
def test_ids_of_64_bits_are_not_packed() -> None:
    lists = Lists(2**31, "cpu", ends=(np.array([0, 2**31 - 1]), np.array([2**31 - 1, 5])))
    with pytest.raises(ValueError, match=r"stream is 'compressed' and the graph has 2,147,483,648 v.*stream=True"):
        streamed.StreamedLists(lists, packs=True)


# --- with a GPU ------------------------------------------------------------------------------------------------------


def pair(graph: Any, stream: Any = True) -> tuple[gasla.Graph, gasla.Graph]:
    """A graph on the card, and one whose lists stay in host memory."""
    return gasla.Graph(graph, device="gpu"), gasla.Graph(graph, device="gpu", stream=stream)


def on_host(answer: Any) -> np.ndarray:
    return np.asarray(moved(answer, "cpu"))


FLOATS = {"aggregate_features", "betweenness_centrality", "edge_betweenness_centrality", "pagerank", "clustering"}
"""Their sums have no fixed order."""
MORE: dict[str, Callable[[Any], Any]] = {
    "effective_diameter": lambda g: gasla.effective_diameter(g, registers=None),
    "transitivity": gasla.transitivity,
    "average_clustering": gasla.average_clustering,
    "count_cliques": lambda g: gasla.count_cliques(g, 3),
    "modularity": lambda g: gasla.modularity(g, g.out_degrees * 0),
    "aggregate_features": lambda g: gasla.aggregate_features(g, (g.out_degrees + 1.0).reshape(-1, 1) / 7, "mean"),
    "triangle_count": gasla.triangle_count,
    "edge_support": gasla.edge_support,
    "k_truss": lambda g: gasla.k_truss(g, 3),
    "bridges": lambda g: gasla.bridges(g),
    "articulation_points": lambda g: gasla.articulation_points(g),
    "is_bipartite": gasla.is_bipartite,
    "jaccard": lambda g: gasla.jaccard(g, [[0, 1], [2, 3]]),
    "condensation": lambda g: gasla.condensation(g).out.indices,
    "greedy_color": lambda g: gasla.greedy_color(g, seed=1),
    "sample_neighbors": lambda g: gasla.sample_neighbors(g, [0, 5], 2, seed=1),
    "ego_graph": lambda g: gasla.ego_graph(g, 0).out.indices,
    "mxv": lambda g: gasla.mxv(g, g.in_degrees.astype(np.float64)),
    "vxm": lambda g: gasla.vxm(g.in_degrees.astype(np.float64), g),
    "mxm": lambda g: gasla.mxm(g, g).indices,
    "cliques": lambda g: gasla.count_cliques(g, 4),
    "square_clustering": gasla.square_clustering,
    "maximum_flow": lambda g: gasla.maximum_flow(g, 0, 1).value,
    "louvain_communities": lambda g: gasla.louvain_communities(g).labels,
    "strong components": lambda g: gasla.strongly_connected_components(g).labels,
    "minimum_cut": lambda g: gasla.minimum_cut(g, 0, 1).value,
    "maximum_bipartite_matching": lambda g: gasla.maximum_bipartite_matching(two_sides(g)),
    "top_k": lambda g: gasla.top_k(g, 2)[0],
    "negative_edges": lambda g: gasla.negative_edges(g, 5, seed=1),
    "shortest_path": lambda g: gasla.shortest_path(g, 0, 1).path,
    "mst of values": lambda g: gasla.minimum_spanning_forest(g.with_values(g.values * 2)).edges,
}


def two_sides(graph: Any) -> Any:
    """The edges that lead from an even vertex to an odd one."""
    src, dst = graph.edges()
    return graph.select((src % 2 == 0) & (dst % 2 == 1))


@pytest.mark.gpu
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", {**EXACT, **CLOSE, **MORE})
def test_algorithms_are_those_of_the_card(name: str, stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given, function = random_graph(), {**EXACT, **CLOSE, **MORE}[name]
    if name in ACYCLIC:
        src, dst = given.to_edge_index()
        given = given.select(src < dst)
    for small, graph in ((0, given), (10_000, given if name in ACYCLIC else given.symmetrized(semirings.max))):
        monkeypatch.setattr("gasla.gpu.program.workspace.SMALL", small)
        expected, found = (on_host(function(each)) for each in pair(graph, stream))
        if name in CLOSE or name.partition(",")[0] in FLOATS:
            np.testing.assert_allclose(found, expected, rtol=1e-6)
        else:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_those_of_the_card(name: str, stream: Any) -> None:
    graph = SHAPES[name]
    card, there = pair(graph, stream)
    if graph.n:
        np.testing.assert_array_equal(on_host(gasla.bfs(there, 0)), on_host(gasla.bfs(card, 0)))
        np.testing.assert_array_equal(on_host(gasla.sssp(there, 0)), on_host(gasla.sssp(card, 0)))
    np.testing.assert_allclose(on_host(gasla.pagerank(there).ranks), on_host(gasla.pagerank(card).ranks), rtol=1e-6)
    components = [on_host(gasla.connected_components(each).labels) for each in (card, there)]
    np.testing.assert_array_equal(*components)


@pytest.mark.gpu
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("small", [0, 10_000], ids=["several blocks", "one block"])
@pytest.mark.parametrize(("program", "start", "alone", "limit"), CASES, ids=NAMES)
def test_programs_are_those_of_the_card(
    program: Any, start: Any, alone: bool, limit: int, small: int, stream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gasla.gpu.program.workspace.SMALL", small)
    rng, n, m = np.random.default_rng(1), 700, 3000
    graph = gasla.Graph.from_edges(
        rng.integers(0, n, m) ** 2 // n, rng.integers(0, n, m) ** 4 // n**3, rng.integers(0, 9, m), n=n
    )
    source = int(np.flatnonzero(graph.out_degrees)[0])
    for direction in ("auto", "push", "pull"):
        options: dict[str, Any] = {"active": [source] if alone else None, "max_iterations": limit}
        card, there = (
            gasla.run(program, each, direction=direction, **options, **start(source)) for each in pair(graph, stream)
        )
        for name in card.state:
            np.testing.assert_array_equal(on_host(there.state[name]), on_host(card.state[name]), err_msg=name)


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("stream", STREAMS)
@settings(max_examples=30, deadline=None, database=None, suppress_health_check=[*HealthCheck])
@given(case=cases())
def test_generated_programs(stream: Any, case: Case) -> None:
    run_case(case, gasla.Graph(case.graph, device="gpu", stream=stream))


@pytest.mark.gpu
def test_packed_ids_are_read_over_the_link_and_freed_with_the_graph() -> None:
    import cupy

    matrix = datasets.rmat(14)
    card, there = pair(matrix, "compressed")
    text = str(gasla.explain(LEVELS, there))
    assert "Neighbor lists stay in host memory" in text and "with packed ids" in text
    for source in (3, 77):
        np.testing.assert_array_equal(on_host(gasla.bfs(there, source)), on_host(gasla.bfs(card, source)))
    ranks = [on_host(gasla.pagerank(each, weighted=False).ranks) for each in (card, there)]
    np.testing.assert_allclose(*ranks, rtol=1e-5)
    packed = there.in_.packed
    assert "unpacked" not in vars(packed) and packed.words.nbytes < matrix.indices.nbytes / 2
    address = packed.words.ctypes.data
    assert cupy.cuda.runtime.pointerGetAttributes(address).type == cupy.cuda.runtime.memoryTypeHost
    del packed, there
    gc.collect()
    assert cupy.cuda.runtime.pointerGetAttributes(address).type != cupy.cuda.runtime.memoryTypeHost


@pytest.mark.gpu
@pytest.mark.parametrize("stream", STREAMS)
def test_long_queues_are_put_in_order(stream: Any) -> None:
    matrix = datasets.with_weights(datasets.rmat(16), largest=9)  # thousands of vertices are active at a time
    card, there = pair(matrix, stream)
    expected = gasla.sssp(gasla.Graph(matrix), 507)
    np.testing.assert_array_equal(on_host(gasla.sssp(there, 507)), expected)
    pushed = gasla.run(LEVELS, there, active=[507], level={507: 0}, direction="push")
    np.testing.assert_array_equal(on_host(pushed.level), on_host(gasla.bfs(card, 507)))


@pytest.mark.gpu
def test_matrices_of_cupy_are_copied_to_the_host() -> None:
    import cupy
    from cupyx.scipy.sparse import csr_matrix

    B = csr_matrix((cupy.asarray(A.data), cupy.asarray(A.indices), cupy.asarray(A.indptr)), shape=A.shape)
    there = gasla.Graph(B, device="gpu", stream=True)
    assert there.is_streamed and host_memory.on_host(there.out.indices) is not None
    np.testing.assert_array_equal(on_host(gasla.bfs(there, 3)), on_host(gasla.bfs(A, 3)))
    there = there.with_values(cupy.arange(there.m, dtype=np.float32))
    np.testing.assert_array_equal(on_host(there.values), np.arange(there.m))
    hours = there.with_edge_attributes(hour=cupy.arange(there.m)).weighted_by("hour")
    assert hours.is_streamed and hours.values.dtype == np.int64


@pytest.mark.gpu
def test_results_go_on_after_edges_were_inserted() -> None:
    card, there = pair(A)
    insert = ([0, 7], [250, 3], [1.0, 1.0])
    for function in (gasla.bfs, gasla.sssp):
        before = function(there, 3)
        after, expected = there.changed(insert=insert), card.to("cpu").changed(insert=insert)
        assert after.is_streamed
        np.testing.assert_array_equal(on_host(function(after, 3, start=before)), function(expected, 3))


@pytest.mark.gpu
def test_lists_stay_in_host_memory_and_are_freed_with_the_graph() -> None:
    import cupy

    there = gasla.Graph(datasets.rmat(14), device="gpu", stream=True)
    assert "Neighbor lists stay in host memory" in gasla.explain(LEVELS, there)
    gasla.bfs(there, 3)
    for each in (there.out, there.in_):
        assert host_memory.on_host(each.indices) is not None
    address = there.out.indices.data.ptr
    assert cupy.cuda.runtime.pointerGetAttributes(address).type == cupy.cuda.runtime.memoryTypeHost
    del each, there
    gc.collect()
    assert cupy.cuda.runtime.pointerGetAttributes(address).type != cupy.cuda.runtime.memoryTypeHost


@pytest.mark.gpu
def test_a_limit_of_the_pool_decides_and_is_kept() -> None:
    import cupy

    graph = gasla.Graph(datasets.with_weights(datasets.rmat(17)))
    need = graph.out.indptr.nbytes + graph.out.indices.nbytes + graph.values.nbytes
    expected = gasla.bfs(graph, 3)
    pool = cupy.get_default_memory_pool()
    gc.collect()
    pool.free_all_blocks()
    pool.set_limit(size=pool.total_bytes() + need // 2)
    try:
        with pytest.raises(MemoryError, match=rf"takes {need:,} bytes on the GPU, and [\d,]+ are free"):
            gasla.Graph(graph, device="gpu")
        there = gasla.Graph(graph, device="gpu", stream=True)
        np.testing.assert_array_equal(on_host(gasla.bfs(there, 3)), expected)
        np.testing.assert_allclose(on_host(gasla.sssp(there, 3)), gasla.sssp(graph, 3))
    finally:
        pool.set_limit(size=0)


@pytest.mark.gpu
def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    io.write(tmp_path / "graph.mtx", A)
    assert cli.main(["bfs", str(tmp_path / "graph.mtx"), "--stream", "--check", "--stats"]) == 0
    assert "check: the answer is correct" in capsys.readouterr().out


@pytest.mark.gpu
def test_page_locked_memory_that_cannot_be_had() -> None:
    import cupy

    with pytest.raises(MemoryError, match=r"[\d,]+ bytes of page-locked host memory can't be allocated"):
        host_memory.PinnedBytes(1 << 50)
    assert int(cupy.ones(3).sum()) == 3  # the card still works
