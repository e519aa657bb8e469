"""Checks of weights on a GPU: once where no caller can have written to the values, else in each call.

Whether a graph owns its values is decided without a GPU, too: there a graph of NumPy arrays that is called one on a
GPU takes the same way.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gasla
import semirings
from gasla import Graph
from gasla.arrays import checksum, words_of
from gasla.graph import arguments, weights
from gasla.graph.edge_values import Values
from gasla.graph.validate import range_of

A = sp.csr_array(np.array([[0, 4, 9, 0], [0, 0, 3, 0], [0, 0, 0, 2], [1, 0, 0, 0]], np.float32))


def called_a_gpu_graph(owned: bool) -> Graph:
    """A graph of NumPy arrays that says it is on a GPU."""
    graph = Graph(A.copy())
    graph.device = "gpu"
    graph.valued.are_private = owned
    return graph


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of values, for each time that the values of a graph are read for their range."""
    found: list[int] = []

    def range_and_checksum(values: Values) -> Any:
        found.append(values.lists.m)
        return range_of(values.each), checksum(*words_of(values.each))  # type: ignore[arg-type]

    def counted(values: Any) -> Any:
        found.append(len(values))
        return range_of(values)

    monkeypatch.setattr(Values, "range_and_checksum", range_and_checksum)
    monkeypatch.setattr("gasla.graph.edge_values.range_of", counted)
    for module in ("neighbor_lists", "graph"):
        monkeypatch.setattr(f"gasla.graph.{module}.finish", lambda device: None)
    return found


CHECKS: dict[str, Callable[[Graph], Any]] = {
    "bounds": arguments.weight_range,
    "shares": lambda graph: weights.in_range(graph)[1],
    "signs": arguments.has_negative,
    "overflow": lambda graph: weights.may_overflow(graph, np.dtype(np.float32)),
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_owned_values_are_read_once(check: Callable[[Graph], Any], looks: list[int]) -> None:
    owned, caller = called_a_gpu_graph(True), called_a_gpu_graph(False)
    assert [check(owned) for _ in range(3)] == [check(caller) for _ in range(3)]
    assert looks == [5] + 3 * [5]
    values: Any = owned.values
    check(owned), check(owned)
    assert len(looks) == 6, "read in each call, after `values` has returned the array"
    values[1] = np.nan
    with pytest.raises(ValueError, match="the weight of edge 1 is nan"):
        check(owned)


@pytest.mark.parametrize("owned", [True, False], ids=["owned", "caller's"])
def test_what_was_derived_is_discarded_after_a_write(owned: bool, looks: list[int]) -> None:
    graph = called_a_gpu_graph(owned)
    assert graph.valued.by_in is not None
    values: Any = graph.values
    assert graph.in_values is not None and graph.in_values.tolist() == [1, 4, 9, 3, 2]
    values[0] = 6  # before the first look
    assert arguments.weight_range(graph) == (1, 9)
    assert graph.in_values.tolist() == [1, 6, 9, 3, 2]
    kept = graph.kept("anything", lambda _: object())
    assert arguments.weight_range(graph) == (1, 9) and graph.known("anything") is kept
    values[0] = 7
    assert arguments.weight_range(graph) == (1, 9) and graph.known("anything") is None
    assert graph.in_values.tolist() == [1, 7, 9, 3, 2]


@pytest.mark.parametrize("read", [lambda g: g.values, lambda g: g.out_values, lambda g: g.in_values])
def test_who_has_the_array_may_write_to_it(read: Callable[[Graph], Any]) -> None:
    graph = called_a_gpu_graph(True)
    assert (graph.value_type, repr(graph)) == (np.float32, "Graph(n=4, m=5, values=float32)")
    assert graph.valued.are_private, "what says nothing of the array leaves it private"
    read(graph)
    assert not graph.valued.are_private


def test_graphs_that_share_an_array() -> None:
    graph = called_a_gpu_graph(True)
    fresh = graph.valued.each.copy()  # type: ignore[union-attr]
    assert graph._owns(fresh) and graph.valued.are_private
    assert not graph._owns(fresh[1:]), "a view"
    assert not graph.valued.are_private, "which may be one of this graph's own array"
    graph = called_a_gpu_graph(True)
    turned = graph.reversed()
    assert not turned.valued.are_private and not graph.valued.are_private, "both have the same array"
    assert not Graph(A)._owns(fresh), "on the CPU a checksum finds writes"


# --- on a GPU ---------------------------------------------------------------------------------------------------------


def on_gpu() -> tuple[Graph, Graph]:
    """The graph with the caller's values, and one that owns them."""
    cusp = pytest.importorskip("cupyx.scipy.sparse")
    return Graph(cusp.csr_matrix(A)), Graph(A).to("gpu")


def launches_of(call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of gasla's launches in a call."""
    from gasla.gpu.runtime.compile import Kernel

    count = 0

    def counting(launch: Any) -> Any:
        def counted(*arguments: Any, **options: Any) -> None:
            nonlocal count
            count += 1
            launch(*arguments, **options)

        return counted

    with monkeypatch.context() as patched:
        for name in ("launch", "launch_prepared"):
            patched.setattr(Kernel, name, counting(getattr(Kernel, name)))
        call()
    return count


@pytest.mark.gpu
def test_launches_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    caller, owned = on_gpu()
    attribute = Graph(A).with_edge_attributes(hours=A.data).weighted_by("hours").to("gpu")
    unsigned = caller.with_values(caller.values.astype(np.uint32))  # type: ignore[union-attr]
    for graph, expected in ((caller, 2), (owned, 1), (attribute, 1), (unsigned, 1)):
        gasla.sssp(graph, 0)
        assert launches_of(lambda graph=graph: gasla.sssp(graph, 0), monkeypatch) == expected
    assert owned.values is not None
    assert launches_of(lambda: gasla.sssp(owned, 0), monkeypatch) == 2


@pytest.mark.gpu
@pytest.mark.parametrize(
    "call",
    [
        lambda graph: gasla.sssp(graph, 0),
        lambda graph: gasla.sssp(graph, 0, parents=True),
        lambda graph: gasla.shortest_path(graph, 0, 3),
        lambda graph: gasla.multi_source_shortest_paths(graph, [0, 2]),
        lambda graph: gasla.pagerank(graph),
        lambda graph: gasla.hits(graph, tol=1e-6),
        lambda graph: gasla.betweenness_centrality(graph, weighted=True),
        lambda graph: gasla.minimum_spanning_forest(graph),
        lambda graph: gasla.closeness_centrality(graph),
        lambda graph: gasla.explain(gasla.algorithms.paths.sssp.DeltaStepping, graph),
    ],
)
def test_functions_keep_an_owned_array_to_themselves(call: Callable[[Graph], Any]) -> None:
    _, owned = on_gpu()
    call(owned), call(owned)
    assert owned.valued.are_private


@pytest.mark.gpu
@pytest.mark.parametrize("which", ["caller", "owned"])
def test_writes_between_calls_are_refused_or_right(which: str) -> None:
    graph = dict(zip(("caller", "owned"), on_gpu(), strict=True))[which]
    assert gasla.sssp(graph, 0).get().tolist() == [0, 4, 7, 9]
    values: Any = graph.values
    values[1] = 5
    assert gasla.sssp(graph, 0).get().tolist() == [0, 4, 5, 7]
    values[0] = -4
    assert gasla.sssp(graph, 0).get().tolist() == [0, -4, -1, 1]
    with pytest.raises(ValueError, match="a cutoff was given, but lengths are negative"):
        gasla.sssp(graph, 0, cutoff=3)
    values[4] = -9
    with pytest.raises(ValueError, match="negative length"):
        gasla.sssp(graph, 0)
    values[4] = np.nan
    with pytest.raises(ValueError, match="the weight of edge 4 is nan"):
        gasla.sssp(graph, 0)


@pytest.mark.gpu
def test_graphs_made_from_others_on_the_gpu_own_their_values() -> None:
    import cupy

    caller, owned = on_gpu()
    for graph in (caller, owned):
        made = [
            graph.select(cupy.arange(4)),
            graph.subgraph(cupy.arange(3)),
            graph.symmetrized(semirings.plus),
            graph.contract(cupy.arange(4) // 2),
            graph.changed(remove=cupy.zeros(1, np.int64)),
        ]
        assert [one.valued.are_private for one in made] == 5 * [True]
        assert [gasla.sssp(one, 0).get().tolist()[0] for one in made] == 5 * [0]
        values: Any = made[0].values
        values[0] = np.nan
        with pytest.raises(ValueError, match="the weight of edge 0 is nan"):
            gasla.sssp(made[0], 0)
        assert not bool((graph.valued.each != graph.valued.each).any())
    assert owned.valued.are_private and not caller.valued.are_private
    assert not caller.reversed().valued.are_private
    shared = owned.simple(semirings.min)  # has the same values, as no edges are parallel
    assert not shared.valued.are_private and not owned.valued.are_private


@pytest.mark.gpu
def test_ranges_are_found_by_several_threads_and_streams() -> None:
    """Each has its own page; a thread that comes again gets what its own launch found."""
    import cupy

    arrays = [cupy.arange(size, dtype=np.float32) - size // 2 for size in (10, 1000, 100_000, 3_000_001)]
    wrong: list[Any] = []
    cupy.cuda.get_current_stream().synchronize()

    def search(first: int) -> None:
        with cupy.cuda.Stream(non_blocking=True):
            for i in range(200):
                values = arrays[(first + i) % len(arrays)]
                size = len(values)
                if range_of(values) != (-(size // 2), size - 1 - size // 2):
                    wrong.append(size)

    threads = [threading.Thread(target=search, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.gpu
def test_a_wait_that_is_interrupted_leaves_a_page_that_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    import cupy

    from gasla.gpu.runtime import min_max

    values = cupy.arange(1_000_000)
    with monkeypatch.context() as patched:
        patched.setattr(min_max, "wait", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            range_of(values)
    assert range_of(values[5:10]) == (5, 9)
