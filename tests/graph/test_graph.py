"""Graph: any input gives the same edges with the same numbers, nothing is copied or changed without need."""

import copy
import inspect
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from gasla import Graph, as_graph, datasets

VALUE_TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


@st.composite
def edge_lists(draw, max_n=8, max_m=24):
    """(n, src, dst, values or None), self loops, parallel edges, stored zeros and NaN included."""
    n = draw(st.integers(0, max_n))
    ids = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(ids, ids), max_size=max_m)) if n else []
    if draw(st.booleans()):
        pairs = pairs + [(v, u) for u, v in pairs]  # symmetric
    if draw(st.booleans()):
        pairs = sorted(pairs, key=lambda pair: pair[:: draw(st.sampled_from([1, -1]))])
    src, dst = np.array(pairs, draw(st.sampled_from([np.int32, np.int64]))).reshape(-1, 2).T
    dtype = draw(st.sampled_from([None, *VALUE_TYPES]))
    if dtype is None:
        return n, src, dst, None
    pool = [0, 1, 2, np.nan, np.inf] if dtype.startswith("float") else [0, 1, 2]
    values = draw(st.lists(st.sampled_from(pool), min_size=len(pairs), max_size=len(pairs)))
    return n, src, dst, np.array(values, dtype)


def listed(lists):
    """[(owner, neighbor, edge number)] of an adjacency."""
    indptr, indices, ids = lists
    ids = np.arange(len(indices)) if ids is None else ids
    owners = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return list(zip(owners.tolist(), indices.tolist(), ids.tolist()))


def same_bits(x, y):
    return (x is None and y is None) or (x.dtype == y.dtype and x.tobytes() == y.tobytes())


def check(graph, n, src, dst, values):
    """Every property of a graph against its plain definition over numbered edges."""
    edges = list(zip(src.tolist(), dst.tolist(), range(len(src))))
    assert (graph.n, graph.m) == (n, len(edges))
    assert same_bits(graph.values, values)
    # neighbors by owner, and within a list in the order of the input
    assert listed(graph.out) == sorted(edges, key=lambda e: (e[0], e[2]))
    assert listed(graph.in_) == sorted([(v, u, e) for u, v, e in edges], key=lambda e: (e[0], e[2]))
    assert listed(graph.sorted_out) == sorted(edges)
    ends = sorted([(u, e, v) for u, v, e in edges] + [(v, e, u) for u, v, e in edges], key=lambda e: e[:2])
    assert sorted(listed(graph.both)) == sorted((owner, other, e) for owner, e, other in ends)
    assert [(owner, e) for owner, _, e in listed(graph.both)] == [(owner, e) for owner, e, _ in ends]
    for ids, lists, permuted in [(graph.out_edge_ids, graph.out, graph.out_values),
                                 (graph.in_edge_ids, graph.in_, graph.in_values)]:  # fmt: skip
        assert ids.tolist() == [e for _, _, e in listed(lists)]
        if values is None:
            assert permuted is None
        else:
            assert same_bits(permuted, values[ids])
    assert graph.out_degrees.tolist() == np.bincount(src, minlength=n).tolist()
    assert graph.in_degrees.tolist() == np.bincount(dst, minlength=n).tolist()
    assert graph.has_self_loops == any(u == v for u, v, _ in edges)
    forward = sorted((u, v) for u, v, _ in edges)
    assert graph.is_symmetric == (forward == sorted((v, u) for u, v, _ in edges))
    numbers = [0] * len(edges) if values is None else [str(x + 0) for x in values.tolist()]  # of -0.0, too
    there = sorted((u, v, numbers[e]) for u, v, e in edges)
    assert graph.has_symmetric_values == (there == sorted((v, u, numbers[e]) for u, v, e in edges))
    for array in (graph.out.indptr, graph.out.indices, graph.in_.indptr, graph.in_.indices):
        assert array.flags.c_contiguous and array.dtype in (np.int32, np.int64)


@given(edge_lists())
def test_edges_in_any_order_make_the_graph(data):
    n, src, dst, values = data
    kept = [None if x is None else x.copy() for x in (src, dst, values)]
    check(Graph.from_edges(src, dst, values, n=n), n, src, dst, values)
    assert all(same_bits(x, y) for x, y in zip((src, dst, values), kept))


@given(edge_lists())
def test_coo_arrays_make_the_graph(data):
    n, src, dst, values = data
    values = np.ones(len(src), np.float32) if values is None else values
    A = sp.coo_array((values, (src, dst)), shape=(n, n))
    check(Graph(A), n, src, dst, values)
    assert A.nnz == len(src)  # duplicates were not added up in the caller's matrix either
    assert all(same_bits(x, y) for x, y in zip(A.coords, (src, dst)) if x.dtype == y.dtype)


@pytest.mark.parametrize("by_column", [False, True])
@given(data=edge_lists(), shuffle=st.randoms(use_true_random=False), offsets=st.sampled_from([np.int32, np.int64]))
def test_raw_csr_and_csc(by_column, data, shuffle, offsets):
    """Compressed arrays with lists in any order, parallel edges and stored zeros."""
    n, src, dst, values = data
    order = list(range(len(src)))
    shuffle.shuffle(order)
    order = sorted(order, key=lambda e: (dst if by_column else src)[e])  # stable: lists stay shuffled
    src, dst = src[order], dst[order]
    values = None if values is None else values[order]
    owners, others = (dst, src) if by_column else (src, dst)
    indptr = np.searchsorted(owners, np.arange(n + 1)).astype(offsets)
    kept = indptr.copy(), others.copy(), None if values is None else values.copy()
    if not by_column:
        g = Graph.from_csr(indptr, others, values)
        check(g, n, src, dst, values)
        assert g.out.indptr is indptr and (g.out.indices is others or not others.flags.c_contiguous)
    if values is not None:
        make = sp.csc_array if by_column else sp.csr_array
        A = make((values, others.astype(offsets), indptr), shape=(n, n))
        g = Graph(A)
        check(g, n, src, dst, values)
        lists = g.in_ if by_column else g.out
        assert lists.indices is A.indices and lists.indptr is A.indptr and g.values is A.data
        assert lists.edge_ids is None
    assert all(same_bits(x, y) for x, y in zip((indptr, others, values), kept))


@pytest.mark.parametrize("format", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_every_format_of_scipy_makes_the_graph(kind, format):
    rng = np.random.default_rng(3)
    dense = rng.integers(0, 4, (12, 12)) * rng.integers(0, 2, (12, 12))
    A = kind(dense).asformat(format)
    g = Graph(A)
    found = np.zeros_like(dense)
    for (u, v, _), value in zip(listed(g.out), g.out_values):
        found[u, v] += value
    assert np.array_equal(found, dense)


def test_bsr_blocks_hold_stored_zeros():
    A = sp.bsr_array(np.kron(np.eye(2, dtype=int), np.array([[1, 2], [0, 3]])), blocksize=(2, 2))
    assert Graph(A).m == 8  # each of the two blocks has one
    assert sorted(Graph(A).values.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("format", ["coo", "csr", "csc", "lil"])
def test_empty_matrices_make_empty_graphs(n, format):
    A = sp.csr_array((n, n), dtype=np.float32).asformat(format)
    nothing = np.empty(0, np.int64)
    check(Graph(A), n, nothing, nothing, np.empty(0, np.float32))
    check(Graph.from_edges([], [], n=n), n, nothing, nothing, None)
    check(Graph.from_csr(np.zeros(n + 1, int), []), n, nothing, nothing, None)
    assert Graph.from_edges([], []).n == 0


def test_one_vertex_with_parallel_self_loops():
    A = sp.coo_array((np.array([5.0, 0.0, np.nan]), ([0, 0, 0], [0, 0, 0])), shape=(1, 1))
    zeros = np.zeros(3, np.int64)
    check(Graph(A), 1, zeros, zeros, A.data)


def test_symmetric_graphs_share_their_arrays():
    A = datasets.rmat(9)
    g = Graph(A)
    assert g.is_symmetric and g.has_symmetric_values
    assert g.out.indices is A.indices and g.in_.indices is A.indices and g.in_.indptr is A.indptr
    assert g.in_values is g.out_values is g.values is A.data
    assert g.nbytes == A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    csc = A.tocsc()
    assert Graph(csc).out.indices is Graph(csc).in_.indices or Graph(csc).out.indices is csc.indices
    src, dst = A.tocoo().coords
    g = Graph.from_edges(src, dst, A.data, n=A.shape[0])
    assert g.in_.indices is g.out.indices and g.in_values is g.out_values
    # the same pattern with other values: arrays shared, values not
    B = A.copy()
    B.data = np.arange(B.nnz, dtype=np.float32)
    g = Graph(B)
    assert g.in_.indices is g.out.indices and not g.has_symmetric_values
    assert np.array_equal(g.in_values, B.T.tocsr().data)


def test_nothing_is_copied_or_written():
    A = datasets.rmat(8)
    for array in (A.data, A.indices, A.indptr):
        array.flags.writeable = False
    g = Graph(A)
    assert g.out.indptr is A.indptr and g.out.indices is A.indices and g.out_values is A.data
    assert g.in_ and g.sorted_out is g.out and g.out_degrees.sum() == g.m
    assert as_graph(g) is g
    assert Graph(g).out is g.out


def test_an_edge_list_sorted_by_row_or_column_is_not_permuted():
    src, dst = np.array([0, 0, 1, 3], np.int32), np.array([2, 1, 1, 0], np.int32)
    g = Graph.from_edges(src, dst, n=4)
    assert g.out.indices is dst and g.out.edge_ids is None
    g = Graph.from_edges(dst, src, n=4)
    assert g.in_.indices is dst and g.in_.edge_ids is None


def test_arrays_that_run_past_the_last_entry():
    A = sp.csr_array(np.array([[0, 1], [2, 0]]))
    A.indices, A.data = np.append(A.indices, 77), np.append(A.data, 77)
    g = Graph(A)
    assert g.m == 2 and g.values.tolist() == [1, 2] and g.out.indices.tolist() == [1, 0]


def test_arrays_that_need_a_copy():
    src, dst = np.array([[0, 9], [1, 9], [1, 9]]).T[0], np.array([1, 2, 0], ">i4")  # strided; other byte order
    g = Graph.from_edges(src, dst, np.array([1, 2, 3], ">f4"))
    check(g, 3, np.array([0, 1, 1]), np.array([1, 2, 0]), np.array([1, 2, 3], np.float32))
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64):
        g = Graph.from_edges(np.array([0, 1], dtype), np.array([1, 2], dtype))
        assert g.out.indices.tolist() == [1, 2]
    g = Graph.from_csr(np.array([0, 9, 1, 9, 1, 9])[::2], np.array([1, 5])[::2])
    assert g.m == 1 and g.out.indices.flags.c_contiguous and g.out.indptr.flags.c_contiguous


def test_types_of_ids_and_offsets():
    g = Graph.from_edges(np.array([0, 1]), np.array([1, 0]))
    assert (g.id_dtype, g.offset_dtype) == (np.int32, np.int32)
    A = sp.csr_array(np.eye(3))
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    g = Graph(A)
    assert g.out.indices is A.indices and g.out.indices.dtype == np.int64  # kept, not copied
    check(g, 3, np.arange(3), np.arange(3), np.ones(3))
    g = Graph.from_csr(np.array([0, 1, 2], np.int64), np.array([1, 0], np.int32))
    assert g.out.indptr.dtype == np.int64 and g.out.indices.dtype == np.int32
    check(g, 2, np.array([0, 1]), np.array([1, 0]), None)
    assert g.in_degrees.tolist() == [1, 1]


def test_nbytes_grows_with_what_is_built():
    g = Graph(sp.random_array((50, 50), density=0.2, rng=np.random.default_rng(0), format="csr"))
    first = g.nbytes
    assert first == g.out.indptr.nbytes + g.out.indices.nbytes + g.values.nbytes
    assert g.in_ is not None
    reversed_lists = g.in_.indptr.nbytes + g.in_.indices.nbytes
    assert g.nbytes == first + reversed_lists  # edge numbers only once they are asked for
    assert g.in_.edge_ids is not None and g.nbytes == first + reversed_lists + g.in_.edge_ids.nbytes
    assert g.in_values is not None and g.nbytes > first * 2


def test_the_matrix_may_be_given_by_name():
    assert Graph(A=datasets.grid(2)).n == 4 and next(iter(inspect.signature(Graph).parameters)) == "A"
    with pytest.raises(TypeError, match="A"):
        Graph()


def test_copies_and_pickles():
    g = Graph(datasets.grid(6))
    assert g.in_ is not None
    for other in (copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        check(other, g.n, *datasets.grid(6).tocoo().coords, g.values)


def test_what_is_kept_is_made_once_and_goes_with_the_graph():
    g, held = Graph(datasets.grid(6)), threading.Event()
    before = g.nbytes
    assert g.known("held") is None
    assert g.kept("held", lambda _, made=held: made) is held
    assert Graph(g).kept("held", lambda _: None) is held and g.nbytes == before
    for other in (copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert other.kept("held", lambda graph: graph.n) == g.n
    with pytest.raises(MemoryError):
        g.kept("other", lambda _: bytes(2**62))
    assert g.known("held") is held and g.known("other") is None
    assert g.kept("other", lambda _: 1) == 1
    gone = weakref.ref(held)
    del held, g
    assert gone() is None


def test_threads_that_ask_at_once_get_the_same():
    g, barrier = Graph(datasets.grid(2)), threading.Barrier(4)

    def make(_):
        barrier.wait()
        return object()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: g.kept("held", make), range(4)))) == 1


@pytest.mark.parametrize("n", [100, 70_000])
def test_larger_graphs_in_parallel(n):
    """Enough edges that the check of symmetry uses several threads, hubs and parallel edges included."""
    rng = np.random.default_rng(n)
    src, dst = np.minimum(rng.integers(0, n, (2, 100_000)), rng.integers(0, n, (2, 100_000)))
    weights = rng.integers(0, 5, len(src))
    both = np.concatenate([src, dst]), np.concatenate([dst, src])
    g = Graph.from_edges(*both, np.concatenate([weights, weights]), n=n)
    assert g.is_symmetric
    simple = sp.coo_array((np.ones(len(both[0])), both), shape=(n, n)).tocsr()
    simple.sum_duplicates()
    assert Graph(simple).has_symmetric_values
    assert not Graph.from_edges(src, dst, n=n).is_symmetric
    changed = simple.copy()
    changed.data[changed.nnz // 3] += 1
    u = np.searchsorted(changed.indptr, changed.nnz // 3, side="right") - 1
    assert Graph(changed).is_symmetric
    assert Graph(changed).has_symmetric_values == (changed.indices[changed.nnz // 3] == u)
    swapped = both[0].copy()
    swapped[7] = (swapped[7] + 1) % n
    assert not Graph.from_edges(swapped, both[1], n=n).is_symmetric


@given(edge_lists())
def test_the_symmetry_of_values_depends_on_no_order(data):
    n, src, dst, values = data
    assume(values is not None)
    order = np.random.default_rng(len(src)).permutation(2 * len(src))
    both, turned, twice = (np.concatenate(ends)[order] for ends in ((src, dst), (dst, src), (values, values)))
    check(Graph.from_edges(both, turned, twice, n=n), n, both, turned, twice)
    assert Graph.from_edges(both, turned, twice, n=n).has_symmetric_values
    A, B = [(0, 1), (0, 1), (1, 0), (1, 0)], [3, 4, 4, 3]
    assert Graph.from_edges(*np.array(A).T, np.array(B)).has_symmetric_values
    assert not Graph.from_edges(*np.array(A).T, np.array([3, 4, 3, 3])).has_symmetric_values


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_equal_numbers_are_symmetric_and_keep_their_bits(kind):
    values = np.array([0.0, -0.0, np.nan, -np.nan, 2.0, 2.0], kind)
    g = Graph.from_edges([0, 1, 0, 2, 1, 2], [1, 0, 2, 0, 2, 1], values)
    assert g.has_symmetric_values and not g.has_mirrored_values
    check(g, 3, np.array([0, 1, 0, 2, 1, 2]), np.array([1, 0, 2, 0, 2, 1]), values)
    values[5] = 3
    g.notice_values()
    assert not g.has_symmetric_values


BAD = [
    (lambda: Graph(sp.csr_array((3, 4))), ValueError, r"shape \(3, 4\); expected \(n, n\)"),
    (lambda: Graph(sp.coo_array(np.ones(3))), ValueError, r"shape \(3,\); expected \(n, n\)"),
    (lambda: Graph(sp.csr_array(np.eye(2) * 1j)), TypeError, "complex.*expected real numbers; pass abs"),
    (lambda: Graph(sp.coo_array(np.eye(2, dtype=np.longdouble))), TypeError, "expected one of bool, int8"),
    (lambda: Graph.from_edges([0], [1], np.array([1.0], np.float16)), TypeError, "float16.*convert with .astype"),
    (lambda: Graph.from_edges([0], [1], np.array(["a"])), TypeError, "edge values have type <U1"),
    (lambda: Graph.from_edges([0], [1], np.array([None])), TypeError, "edge values have type object"),
    (lambda: Graph(np.eye(3)), TypeError, "got ndarray; expected a SciPy sparse.*scipy.sparse.csr_array"),
    (lambda: Graph("roads.mtx"), TypeError, "got str; expected a SciPy sparse.*gasla.io.read"),
    (lambda: as_graph(None), TypeError, "got NoneType"),
    (lambda: Graph.from_edges([0, 1], [1]), ValueError, "src has 2 entries and dst has 1"),
    (lambda: Graph.from_edges([0, 4], [1, 1], n=4), ValueError, r"src\[1\] is 4, outside a graph of 4 vertices"),
    (lambda: Graph.from_edges([0, 1], [1, -1]), ValueError, r"dst\[1\] is -1, outside a graph of 2 vertices"),
    (lambda: Graph.from_edges([0], [0], n=0), ValueError, "outside a graph of 0 vertices"),
    (lambda: Graph.from_edges([0], [0], n=-1), ValueError, "n is -1; expected a number of vertices"),
    (lambda: Graph.from_edges([0], [0], n=2.5), ValueError, "n is 2.5; expected a number of vertices"),
    (lambda: Graph.from_edges([0.0], [1.0]), TypeError, "src has type float64; expected integers"),
    (lambda: Graph.from_edges([True], [False]), TypeError, "src has type bool; expected integers"),
    (lambda: Graph.from_edges([[0]], [[1]]), ValueError, r"src has shape \(1, 1\); expected one dimension"),
    (lambda: Graph.from_edges(np.array([2**63], np.uint64), [0]), ValueError, "does not fit int64"),
    (lambda: Graph.from_edges([0, 1], [1, 0], [1.0]), ValueError, r"2 edges and values of shape \(1,\)"),
    (lambda: Graph.from_csr([], []), ValueError, r"indptr is empty; expected n \+ 1 offsets"),
    (lambda: Graph.from_csr([1, 2], [0, 0]), ValueError, "indptr starts at 1; expected 0"),
    (lambda: Graph.from_csr([0, 2, 1], [0, 1]), ValueError, "indptr falls from 2 to 1 at vertex 1"),
    (lambda: Graph.from_csr([0, 1, 3], [0, 1]), ValueError, "indptr ends at 3 and there are 2 indices"),
    (lambda: Graph.from_csr([0, 1, 2], [0, 2]), ValueError, r"indices\[1\] is 2, outside a graph of 2 vertices"),
    (lambda: Graph.from_csr([0, 1, 2], [0, -5]), ValueError, r"indices\[1\] is -5"),
    (lambda: Graph.from_csr([0.0, 1.0], [0]), TypeError, "indptr has type float64"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_matrix_whose_arrays_were_spoilt():
    A = sp.csr_array(np.eye(3))
    A.indices[1] = 7
    with pytest.raises(ValueError, match=r"indices\[1\] is 7, outside a graph of 3 vertices"):
        Graph(A)


def test_networkx_is_pointed_to_its_converter():
    networkx = pytest.importorskip("networkx")
    with pytest.raises(TypeError, match=r"Graph\.from_networkx\(G\)"):
        Graph(networkx.path_graph(3))


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_with_values_shares_the_lists_and_nothing_that_follows_from_values(form: str) -> None:
    A = sp.csr_array(np.array([[0, 5, 2, 0], [5, 0, 1, 0], [0, 4, 0, 1], [0, 0, 3, 0]])).asformat(form)
    graph = Graph(A)
    structure = ("out", "in_", "both", "out_degrees", "in_degrees", "is_symmetric", "out_edge_ids", "has_self_loops")
    known = {name: getattr(graph, name) for name in structure}
    assert graph.value_range == (1, 5) and graph.in_values is not None and graph.out_values is not None
    values = np.arange(graph.m) - 2.5
    other = graph.with_values(values)
    assert {name: getattr(other, name) is found for name, found in known.items()} == dict.fromkeys(known, True)
    B = A.copy()
    B.data = values
    assert other.values is values and other.value_range == (-2.5, values.max())
    np.testing.assert_array_equal(other.out_values, Graph(B).out_values)
    np.testing.assert_array_equal(other.in_values, Graph(B).in_values)
    assert graph.value_range == (1, 5) and graph.values.dtype == A.dtype
    assert graph.with_values(None).in_values is None
    with pytest.raises(ValueError, match=r"expected \(\d+,\), one value per edge"):
        graph.with_values(values[1:])


def changes() -> list[Any]:
    """Ways to write into values; each leaves other ones."""
    return [
        lambda w: np.negative(w, out=w),
        lambda w: w.fill(3),
        lambda w: np.copyto(w, w[::-1].copy()),
        lambda w: w.__setitem__(len(w) // 2, 77),
        lambda w: w.__setitem__(slice(None, 2), w[[1, 0]]),
        lambda w: np.random.default_rng(1).shuffle(w),
    ]


@pytest.mark.parametrize("kind", ["u1", "i2", "f4", "f8"])
@pytest.mark.parametrize("m", [0, 1, 100, 509 * 2 * 8, 509 * 40 + 3, 509 * 41])
def test_what_is_written_into_values_is_noticed(kind: str, m: int) -> None:
    rng = np.random.default_rng(m)
    for change in changes() if m > 2 else []:
        values = rng.integers(1, 99, m).astype(kind)
        graph = Graph.from_edges(rng.integers(0, 9, m), rng.integers(0, 9, m), values, n=9)
        assert graph.values is values
        graph.kept("made", lambda _: "of values")
        before = graph.value_range, graph.out_values, graph.in_values
        graph.notice_values()
        assert graph.known("made") and graph.in_values is before[2]
        change(values)
        graph.notice_values()
        assert graph.known("made") is None
        fresh = Graph.from_edges(*graph.edges(), values, n=9)
        assert graph.value_range == fresh.value_range
        np.testing.assert_array_equal(graph.in_values, fresh.in_values)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(graph)).out_values, fresh.out_values)


@pytest.mark.parametrize("n", [10**10, 2**40, 2**62, 2**70])
def test_more_vertices_than_memory_holds(n: int) -> None:
    message = rf"{n:,} vertices need {16 * n:,} bytes, and [\d,]+ are available; .* names=True"
    with pytest.raises(MemoryError, match=message):
        Graph.from_edges([0], [1], n=n)
    if n < 2**63:
        with pytest.raises(MemoryError, match=message):
            Graph.from_edges([0], [n - 1])
        with pytest.raises(MemoryError, match=message):
            Graph.from_edge_index([[0], [n - 1]])
