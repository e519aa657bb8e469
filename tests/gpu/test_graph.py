"""Graphs on the GPU are those on the CPU: the same lists, numbers, answers and errors.

What builds the lists runs here on NumPy arrays too, and so is tested where there is no GPU.
"""

import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

import gasla
from gasla import Graph, datasets
from gasla.arrays import array_module
from gasla.graph import lists_cpu as cpu_lists
from gasla.graph import lists_gpu as lists
from gasla.graph.arguments import check_weights, float_type
from gasla.graph.exchange.vertex_names import translate_vertex
from tests.graph.test_graph import check, edge_lists

pytestmark = pytest.mark.thorough

PROPERTIES = [
    *("n", "m", "id_dtype", "offset_dtype", "values", "value_range", "out_values", "in_values"),
    *("is_symmetric", "has_symmetric_values", "has_self_loops", "has_parallel_edges"),
    *("out_edge_ids", "in_edge_ids", "out_degrees", "in_degrees"),
]


def host(x):
    return x if isinstance(x, np.ndarray) else x.get()


def plain(x):
    """For comparison: arrays by their bits, numbers by type and digits."""
    if hasattr(x, "tobytes") and getattr(x, "ndim", 0):
        return x.dtype, host(x).tobytes()
    return type(x), repr(x)


def described(adjacency):
    ids = range(len(adjacency.indices)) if adjacency.edge_ids is None else host(adjacency.edge_ids).tolist()
    return host(adjacency.indptr).tolist(), host(adjacency.indices).tolist(), list(ids), adjacency.is_sorted


def facts(graph):
    """All that a graph says, for comparison with what one on the other device says."""
    found = {name: plain(getattr(graph, name)) for name in PROPERTIES}
    for name in ("out", "in_", "both", "sorted_out"):
        adjacency = getattr(graph, name)
        found[name] = described(adjacency), described(adjacency.in_order())
    return found


def cut(n, src, dst, values):
    """The edges as CSR arrays, lists in the order of the input."""
    order = np.argsort(src, kind="stable")
    indptr = np.searchsorted(src[order], np.arange(n + 1)).astype(np.int32)
    return indptr, dst[order], None if values is None else values[order]


def directed(scale):
    """A graph that isn't symmetric, with unsorted lists."""
    A = sp.tril(datasets.rmat(scale)).tocsr()
    order = np.lexsort((-A.indices, np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))))
    return sp.csr_array((A.data[order], A.indices[order], A.indptr), shape=A.shape)


def both_ways(n, src, dst, values):
    """The graph made in two ways: of edges, and of compressed rows."""
    return [Graph.from_edges(src, dst, values, n=n), Graph.from_csr(*cut(n, src, dst, values))]


# --- anywhere ---------------------------------------------------------------------------------------------------------


def sort(patch, chunk=lists.CHUNK):
    """Have lists made as on the GPU, but for what a kernel finds there."""
    patch.setattr(lists, "CHUNK", chunk)
    for module in ("graph.adjacency", "graph.neighbor_lists"):
        patch.setattr(f"gasla.{module}.lists_on", lambda array: lists)
    for name in ("Properties", "is_symmetric"):
        patch.setattr(lists, name, getattr(cpu_lists, name))


@pytest.mark.parametrize("chunk", [lists.CHUNK, 3])
@given(data=edge_lists())
def test_lists_by_sorting(chunk, data):
    expected = [facts(graph) for graph in both_ways(*data)]
    with pytest.MonkeyPatch.context() as patch:
        sort(patch, chunk)
        assert [facts(graph) for graph in both_ways(*data)] == expected
        check(both_ways(*data)[0], *data)


@pytest.mark.parametrize("chunk", [lists.CHUNK, 1000])
def test_lists_by_sorting_of_a_larger_graph(chunk, monkeypatch):
    graphs = [datasets.rmat(9), directed(9), datasets.grid(8)]
    expected = [facts(Graph(A)) for A in graphs]
    sort(monkeypatch, chunk)
    assert [facts(Graph(A)) for A in graphs] == expected
    g = Graph(graphs[0])
    assert g.is_symmetric and g.in_.indices is g.out.indices and g.in_values is g.values


def test_all_that_is_asked_of_lists_is_found_in_one_pass(monkeypatch):
    passes = []

    def find(indptr, indices, values=None):
        passes.append(values is not None)
        return [False] * 4

    for module in ("graph.adjacency", "graph.neighbor_lists"):
        monkeypatch.setattr(f"gasla.{module}.lists_on", lambda array: lists)
    monkeypatch.setattr(lists, "_find_properties", find)
    g = Graph(datasets.rmat(5))
    assert g.is_symmetric and g.out.is_sorted and not g.has_parallel_edges and not g.has_self_loops
    assert g.in_.indices is g.out.indices and g.sorted_out is g.out and passes == [False]
    assert g.has_symmetric_values and passes == [False, True]


def test_lists_too_long_for_their_keys():
    nothing = np.zeros(0, np.int64)
    with pytest.raises(ValueError, match=r"4294967296 vertices .* below 2\*\*32"):
        lists.group(nothing, nothing, 2**32)


def test_importing_gasla_leaves_cupy_alone():
    code = (
        "import sys, numpy as np, gasla; g = gasla.Graph.from_edges([0, 1], [1, 0], [2.0, 3.0]); "
        "assert gasla.bfs(g, 0).tolist() == [0, 1] and g.device == g.out.device == 'cpu' and g.is_symmetric; "
        "assert not any(name.startswith('cupy') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_algorithms_do_not_wait_for_the_compiler():
    """Whoever computes on the GPU alone never imports what compiles for the CPU."""
    names = "bfs, gasla.sssp, gasla.pagerank, gasla.connected_components, gasla.triangle_count, gasla.mxv, gasla.run"
    code = f"import sys, gasla; gasla.{names}, gasla.betweenness_centrality; assert 'llvmlite' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_device_of_arrays_on_the_cpu():
    g = Graph(datasets.grid(4))
    assert array_module(np.zeros(2)) is array_module([1]) is array_module(sp.eye_array(2)) is np
    assert g.device == g.out.device == "cpu" and g.to("cpu") is g and g.out.to("cpu") is g.out
    with pytest.raises(ValueError, match="device is 'cuda'; expected 'cpu' or 'gpu'"):
        g.to("cuda")


def check_ties(g, there):
    """A graph and its copy on the other device."""
    assert (g.device, there.device) == ("cpu", "gpu")
    assert g.to("gpu") is there and there.to("gpu") is there and there.to("cpu") is g
    assert facts(pickle.loads(pickle.dumps(g))) == facts(pickle.loads(pickle.dumps(there))) == facts(g) == facts(there)
    gone = weakref.ref(there)
    del there
    assert g.to("gpu") is gone()


def test_a_graph_keeps_its_copy_and_no_copy_its_graph(monkeypatch):
    """What `to` remembers, with copies that stay on the CPU."""
    for module in ("adjacency", "edge_values", "neighbor_lists"):
        monkeypatch.setattr(f"gasla.graph.{module}.moved", lambda array, device: array.copy())
    for module in ("adjacency", "neighbor_lists", "graph"):
        monkeypatch.setattr(f"gasla.graph.{module}.finish", lambda device: None)
    monkeypatch.setattr("gasla.graph.graph.require_room", lambda *_: None)
    monkeypatch.setattr("gasla.graph.edge_values.Values.checksum", lambda _: 0)
    for A in (datasets.rmat(5), datasets.rmat(5).tocsc(), directed(5), directed(5).tocoo()):
        g = Graph(A)
        assert g.has_symmetric_values or not g.is_symmetric
        there = g.to("gpu")
        assert "is_symmetric" in vars(there.lists)  # what is known goes along
        check_ties(g, there)
        gone = weakref.ref(g)
        del g
        assert gone() is None  # at once: there is no circle for the garbage collector to find
        back = there.to("cpu")
        assert there.to("cpu") is back and back.to("gpu") is there


def test_an_error_says_that_cupy_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(RuntimeError, match=r"CuPy, which is not installed: pip install gasla\[cuda12\]"):
        Graph(datasets.grid(4)).to("gpu")


def test_without_a_gpu(monkeypatch):
    cupy = pytest.importorskip("cupy")
    monkeypatch.setattr(cupy.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match=r"found no NVIDIA GPU.*pip install gasla\[cuda12\]"):
        Graph(datasets.grid(4)).to("gpu")


def test_range_of_values():
    def bounds(values):
        return Graph.from_edges([0, 1, 2], [1, 2, 0], values).value_range

    assert bounds(None) is None and Graph.from_edges([], [], [], n=3).value_range is None
    for dtype in (np.int8, np.uint64, np.float32, np.float64):
        least, largest = bounds(np.array([3, 1, 2], dtype))
        assert (least, largest) == (1, 3) and type(least) is type(largest) is dtype
    assert bounds([True, False, True]) == (False, True)
    assert all(np.isnan(x) for x in bounds([1, np.nan, -np.inf]))
    assert bounds([1, np.inf, -np.inf]) == (-np.inf, np.inf)


def check_arguments(made):
    """The checks of arguments, on graphs that `made` makes of values."""
    assert not check_weights(made(None)) and not check_weights(made([True, False, True]))
    assert check_weights(made([1.0, -2.0, 3.0])) and not check_weights(made([1, 0, 3]), shares=True)
    assert check_weights(made(np.array([1, -2, 3], np.int8)))
    assert not check_weights(made(np.array([1, 2**64 - 1, 3], np.uint64)), positive=True)
    for values, arguments, message in [
        ([1.0, np.nan, -5.0], {}, "the weight of edge 1 is nan; expected a number$"),
        ([1.0, 2.0, -np.inf], {}, "the weight of edge 2 is -inf; expected a number$"),
        ([1, -7, -5], {"shares": True}, "the weight of edge 1 is -7; expected a finite number, 0 or more"),
        (np.array([0.5, 1, -0.25], np.float32), {"shares": True}, "the weight of edge 2 is -0.25; expected a finite"),
        ([0.5, np.inf, 1], {"shares": True}, "the weight of edge 1 is inf; expected a finite number, 0 or more"),
        ([1, 2, 0], {"positive": True}, "the weight of edge 2 is 0; expected a positive number"),
    ]:
        graph = made(values)
        for _ in range(2):
            with pytest.raises(ValueError, match=message):
                check_weights(graph, **arguments)
    assert float_type(made(None)) == float_type(made([1, 2, 3])) == np.float64
    assert float_type(made(np.zeros(3, np.float32))) == np.float32
    assert translate_vertex(made(None), np.int32(2)) == 2


def test_checks_of_arguments():
    check_arguments(lambda values: Graph.from_edges([0, 1, 2], [1, 2, 0], values))


# --- on a GPU ---------------------------------------------------------------------------------------------------------


def sent(x):
    import cupy

    return None if x is None else cupy.asarray(x)


@pytest.mark.gpu
@given(data=edge_lists())
def test_graphs_of_cupy_arrays(data):
    n, src, dst, values = data
    expected = [facts(graph) for graph in both_ways(*data)]
    found = [
        Graph.from_edges(sent(src), sent(dst), sent(values), n=n),
        Graph.from_csr(*map(sent, cut(*data))),
    ]
    for graph, other in zip(found, expected):
        assert graph.device == graph.out.device == graph.in_.device == "gpu"
        assert facts(graph) == other
        assert graph.out.indices.dtype == graph.in_.indices.dtype == graph.id_dtype
    assert [facts(graph.to("gpu")) for graph in both_ways(*data)] == expected
    assert [facts(graph.to("cpu")) for graph in found] == expected


@pytest.mark.gpu
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, bool])
@pytest.mark.parametrize("make", [lambda: datasets.rmat(8), lambda: sp.csr_array((5, 5))])
def test_sparse_matrices_of_cupyx(make, dtype, format):
    import cupyx.scipy.sparse as cusp

    B = cusp.csr_matrix(sp.csr_matrix(make()).astype(dtype)).asformat(format)
    g = Graph(B)
    assert g.device == "gpu" and facts(g) == facts(Graph(B.get()))
    assert g.values.data.ptr == B.data.data.ptr  # shared
    if format != "coo":
        assert (g.out if format == "csr" else g.in_).indices.data.ptr == B.indices.data.ptr


@pytest.mark.gpu
def test_a_format_without_edge_numbers():
    import cupyx.scipy.sparse as cusp

    A = sp.dia_matrix(sp.eye(7, k=2))
    assert facts(Graph(cusp.dia_matrix(A))) == facts(Graph(A))


@pytest.mark.gpu
@pytest.mark.parametrize("chunk", [lists.CHUNK, 10_000])
def test_larger_graphs_on_the_gpu(chunk, monkeypatch):
    monkeypatch.setattr(lists, "CHUNK", chunk)
    for A in (datasets.rmat(14), directed(14), datasets.grid(16)):
        g = Graph(A)
        assert facts(g.to("gpu")) == facts(g)
    g = Graph(datasets.rmat(10)).to("gpu")
    assert g.in_.indices is g.out.indices and g.in_values is g.out_values is g.values
    assert g.nbytes == g.values.nbytes + g.out.indices.nbytes + g.out.indptr.nbytes


@pytest.mark.gpu
def test_moving_a_graph():
    g = Graph(datasets.rmat(8))
    there = g.to("gpu")
    check_ties(g, there)
    moved_back = there.in_.to("cpu")
    assert moved_back.device == "cpu" and described(moved_back) == described(there.in_)


@pytest.mark.gpu
def test_int64_arrays_get_the_type_of_ids_on_the_gpu():
    A = sp.csr_array(np.eye(3))
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    for g in (Graph(A).to("gpu"), Graph.from_csr(sent(A.indptr), sent(A.indices), sent(A.data))):
        assert g.out.indices.dtype == g.in_.indices.dtype == np.int32 and g.out.indptr.dtype == np.int64
        assert facts(g) == facts(Graph(A))


@pytest.mark.gpu
def test_checks_of_arguments_on_the_gpu():
    def made(values):
        values = None if values is None else sent(np.asarray(values))
        return Graph.from_edges(sent([0, 1, 2]), sent([1, 2, 0]), values)

    check_arguments(made)


@pytest.mark.gpu
def test_bad_input_on_the_gpu():
    import cupyx.scipy.sparse as cusp

    for call, error, message in [
        (lambda: Graph(cusp.csr_matrix((3, 4))), ValueError, r"shape \(3, 4\); expected \(n, n\)"),
        (lambda: Graph(cusp.eye(2, dtype="D", format="csr")), TypeError, "complex.*expected real numbers; pass abs"),
        (lambda: Graph(sent(np.eye(3))), TypeError, r"got ndarray.*cupyx\.scipy\.sparse\.csr_array"),
        (lambda: Graph.from_edges(sent([0]), [1]), TypeError, "src on the gpu, dst on the cpu; expected all of them"),
        (lambda: Graph.from_edges(sent([0]), sent([1]), [1.0]), TypeError, "values on the cpu"),
        (lambda: Graph.from_edges(sent([0, 4]), sent([1, 1]), n=4), ValueError, r"src\[1\] is 4, outside a graph of 4"),
        (lambda: Graph.from_edges(sent([0, 1]), sent([1, -1])), ValueError, r"dst\[1\] is -1, outside a graph of 2"),
        (lambda: Graph.from_edges(sent([0.0]), sent([1.0])), TypeError, "src has type float64; expected integers"),
        (lambda: Graph.from_edges(sent([[0]]), sent([[1]])), ValueError, r"src has shape \(1, 1\)"),
        (lambda: Graph.from_edges(sent([0, 1]), sent([1])), ValueError, "src has 2 entries and dst has 1"),
        (lambda: Graph.from_csr(sent([1, 2]), sent([0, 0])), ValueError, "indptr starts at 1; expected 0"),
        (lambda: Graph.from_csr(sent([0, 2, 1]), sent([0, 1])), ValueError, "indptr falls from 2 to 1 at vertex 1"),
        (lambda: Graph.from_csr(sent([0, 1, 3]), sent([0, 1])), ValueError, "indptr ends at 3 and there are 2 indices"),
        (lambda: Graph.from_csr(sent([0, 1, 2]), sent([0, 2])), ValueError, r"indices\[1\] is 2, outside a graph of 2"),
    ]:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.gpu
def test_with_values_on_the_gpu() -> None:
    cupy = pytest.importorskip("cupy")
    graph = Graph.from_edges(cupy.array([0, 0, 1]), cupy.array([1, 2, 2]), cupy.array([5.0, 4, 3]))
    assert gasla.sssp(graph, 0).get().tolist() == [0, 5, 4]
    other = graph.with_values(cupy.array([1.0, 9, 2]))
    assert other.out is graph.out and gasla.sssp(other, 0).get().tolist() == [0, 1, 3]
    with pytest.raises(TypeError, match="expected all of them on one device"):
        graph.with_values(np.ones(3))
    other.values[1] = np.nan
    with pytest.raises(ValueError, match="the weight of edge 1 is nan"):
        gasla.sssp(other, 0)
