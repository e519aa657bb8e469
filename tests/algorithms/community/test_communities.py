"""Reduction by key, and what is told of communities, components and neighborhoods: against NumPy and NetworkX."""

import functools
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import Graph, datasets
from gasla.engines import engine
from gasla.graph.transform.segmented_reduce import identities, reduce_runs
from gasla.program.terms import reduce_lists
from tests.gpu.test_graph import sent

GPU = pytest.param("gpu", marks=pytest.mark.gpu)
COMPOSE = semirings.Monoid(lambda f, g: (f[0] * g[0] % 97, (f[0] * g[1] + f[1]) % 97), (1, 0), commutative=False)
MONOIDS = [getattr(semirings, name) for name in ("plus", "min", "max", "times", "bor", "any", "first", "second")]


def on(device: str) -> Any:
    return np.asarray if device == "cpu" else lambda x: sent(np.asarray(x))


def host(x: Any) -> Any:
    return x.get() if hasattr(x, "get") else x


@pytest.mark.thorough
@pytest.mark.parametrize("device", ["cpu", GPU])
@settings(max_examples=20)
@given(keys=st.lists(st.integers(0, 9), max_size=60), seed=st.integers(0, 99))
def test_each_key_is_reduced_in_order(device: str, keys: list[int], seed: int) -> None:
    put, rng = on(device), np.random.default_rng(seed)
    ids = np.array(keys, np.int64)
    for monoid in [*MONOIDS, semirings.argmin, semirings.argmax, COMPOSE]:
        pair = monoid in (semirings.argmin, semirings.argmax, COMPOSE)
        parts = tuple(rng.integers(0, 90, len(keys)).astype(np.int32) for _ in range(1 + pair))
        given = tuple(put(part) for part in parts)
        found = gasla.reduce_by_key(put(ids), given if pair else given[0], monoid, size=11)
        kind = semirings.TupleType((np.int32, np.int32)) if pair else np.dtype(np.int32)
        for key in range(11):
            rows = np.flatnonzero(ids == key)
            values: list[Any] = [tuple(p[i] for p in parts) if pair else parts[0][i] for i in rows]
            with np.errstate(all="ignore"):
                total = functools.reduce(monoid.combine, values or [monoid.identity(kind)])
            got = tuple(int(host(part)[key]) for part in (found if pair else (found,)))
            assert got == (tuple(map(int, total)) if pair else (int(total),)), monoid
        assert all(part.dtype == np.int32 and len(part) == 11 for part in (found if pair else (found,)))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.int64, np.uint32, np.float32, np.float64])
def test_a_product_reduces_what_is_picked_as_whole_arrays_do(kind: Any) -> None:
    rng = np.random.default_rng(5)
    lengths = [1, 3, 1, 700, 2]
    ids, values = rng.integers(0, 50, sum(lengths)), rng.integers(0, 5, 50).astype(kind)
    indptr = np.append(0, np.cumsum(lengths))
    for monoid in (semirings.plus, semirings.min, semirings.max, semirings.first, semirings.second):
        expected = identities(monoid, (values,), len(lengths))
        reduce_runs(monoid, np.repeat(np.arange(len(lengths)), lengths), (values[ids],), expected)
        found = reduce_lists(engine("cpu").products().ready, monoid, indptr, ids, values)
        assert found.dtype == kind and (found == expected[0]).all(), monoid


class Device(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that, as CuPy's, is never made one of NumPy's."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.dtype, self.ndim, self.shape = array, array.dtype, array.ndim, array.shape

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("implicit conversion to a NumPy array")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return Device(getattr(ufunc, method)(*(x.array if isinstance(x, Device) else x for x in inputs), **options))

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        return Device(function(*(x.array if isinstance(x, Device) else x for x in inputs), **options))


@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_monoids_combine_arrays_of_a_device_where_they_are(kind: Any) -> None:
    a, b = np.array([1, 2, 3, 0], kind), np.array([2, 1, 3, 5], kind)
    for monoid in (semirings.plus, semirings.min, semirings.any, semirings.first, semirings.second):
        assert (monoid.combine(Device(a), Device(b)).array == monoid.combine(a, b)).all()
    for monoid in (semirings.argmin, semirings.argmax):
        there = monoid.combine((Device(a), Device(b)), (Device(b), Device(a)))
        for x, y in zip(there, monoid.combine((a, b), (b, a)), strict=True):
            assert (x.array == y).all()


def test_sums_are_taken_in_the_order_of_the_input_and_keep_their_type() -> None:
    rng = np.random.default_rng(1)
    keys, values = rng.integers(0, 7, 5000), rng.random(5000).astype(np.float32)
    found = gasla.reduce_by_key(keys, values, semirings.plus)
    expected = np.zeros(7, np.float32)
    for key, value in zip(keys, values, strict=True):
        expected[key] += value
    assert found.dtype == np.float32 and found.tobytes() == expected.tobytes()
    assert gasla.reduce_by_key([0, 0], np.array([100, 100], np.int8), semirings.plus).tolist() == [-56]
    assert gasla.reduce_by_key([], np.zeros(0), semirings.plus).shape == (0,)


def test_reduce_by_key_refuses_bad_arguments() -> None:
    for arguments, error, message in [
        (([0, 1], [1.0], semirings.plus), ValueError, r"2 keys and values of shape \(1,\)"),
        (([0, 3], [1, 2], semirings.plus, 3), ValueError, r"keys\[1\] is 3, outside 3 keys"),
        (([0, -1], [1, 2], semirings.plus), ValueError, r"keys\[1\] is -1"),
        (([0.5], [1], semirings.plus), TypeError, "keys has type float64"),
        (([0], [1], max), TypeError, "expected a semirings.Monoid"),
        (([0], [1], semirings.argmin), TypeError, "it compares tuples"),
        (([0], [1j], semirings.plus), TypeError, "complex"),
        (([0], (), semirings.plus), TypeError, "an empty tuple"),
    ]:
        with pytest.raises(error, match=message):
            gasla.reduce_by_key(*arguments)


def groups(labels: np.ndarray) -> list[set[int]]:
    return [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]


@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize("directed", [True, False])
def test_modularity_is_networkx_s(directed: bool, device: str) -> None:
    rng = np.random.default_rng(4)
    A = sp.random_array((60, 60), density=0.1, rng=rng, format="csr")
    A.setdiag(0)
    A.eliminate_zeros()
    if not directed:
        A = sp.csr_array(A + A.T)
    graph = Graph(A).to(device)
    there = nx.from_scipy_sparse_array(A, create_using=nx.DiGraph if directed else nx.Graph)
    for labels, resolution in ((rng.integers(0, 5, 60), 1.0), (np.arange(60), 0.5), (np.zeros(60, int), 2.0)):
        for weighted in (True, False):
            found = gasla.modularity(graph, on(device)(labels), weighted=weighted, resolution=resolution)
            expected = nx.community.modularity(
                there, groups(labels), weight="weight" if weighted else None, resolution=resolution
            )
            assert isinstance(found, float) and found == pytest.approx(expected, abs=1e-12)
        contracted = graph.contract(on(device)(labels))
        assert gasla.modularity(
            contracted, on(device)(np.arange(contracted.n)), resolution=resolution
        ) == pytest.approx(gasla.modularity(graph, on(device)(labels), resolution=resolution), abs=1e-12)


def test_modularity_refuses_bad_arguments() -> None:
    graph = Graph.from_edges([0, 1], [1, 0], [1.0, -1.0])
    for call, message in [
        (lambda: gasla.modularity(graph, [0]), "there are 1 labels; expected one for each of 2"),
        (lambda: gasla.modularity(graph, [0, 2]), r"labels\[1\] is 2"),
        (lambda: gasla.modularity(graph, [0, 1]), "weight of edge 1 is -1.0"),
        (lambda: gasla.modularity(Graph.from_edges([], [], n=2), [0, 1]), "sum to 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("device", ["cpu", GPU])
def test_condensations_are_networkx_s(device: str) -> None:
    for seed in range(3):
        A = sp.csr_array(sp.random_array((80, 80), density=0.015, rng=np.random.default_rng(seed)))
        graph = Graph(A).to(device)
        small = gasla.condensation(graph)
        there = nx.condensation(nx.from_scipy_sparse_array(A, create_using=nx.DiGraph))
        became = host(small.origin.new_vertices)
        number = [int(became[min(there.nodes[c]["members"])]) for c in range(len(there))]
        src, dst = (host(ends).tolist() for ends in small.edges())
        assert small.n == len(there)
        assert sorted(zip(src, dst, strict=True)) == sorted((number[a], number[b]) for a, b in there.edges)
        gasla.topological_order(small)  # or it says where a cycle is


@pytest.mark.parametrize("device", ["cpu", GPU])
def test_ego_graphs_are_networkx_s(device: str) -> None:
    A = sp.csr_array(sp.random_array((60, 60), density=0.04, rng=np.random.default_rng(2)))
    graph, there = Graph(A).to(device), nx.from_scipy_sparse_array(A, create_using=nx.DiGraph)
    for source, radius, center, undirected, weighted in [
        (0, 0, True, False, False),
        (0, 1, True, False, False),
        (3, 2, False, False, False),
        (3, 2, True, True, False),
        (5, 0.9, True, False, True),
        (5, 0.9, True, True, True),
    ]:
        options = {"center": center, "undirected": undirected}
        found = gasla.ego_graph(graph, source, radius, **options, weighted=weighted)
        expected = nx.ego_graph(there, source, radius, **options, distance="weight" if weighted else None)
        names = host(found.origin.vertices)
        src, dst = (names[host(ends)].tolist() for ends in found.edges())
        assert names.tolist() == sorted(expected.nodes)
        assert sorted(zip(src, dst, strict=True)) == sorted(expected.edges)
        assert (host(found.values) == A.data[host(found.origin.edges)]).all()
    for radius in (-1, float("nan")):
        with pytest.raises(ValueError, match="radius is"):
            gasla.ego_graph(graph, 0, radius)


def test_a_k_core_as_a_graph() -> None:
    A = datasets.rmat(7)
    core = Graph(A).simple(loops=False).subgraph(gasla.k_core(A, 3))
    G = nx.from_scipy_sparse_array(A)
    G.remove_edges_from(nx.selfloop_edges(G))
    assert core.origin.vertices.tolist() == sorted(nx.k_core(G, 3)) and core.m == 2 * nx.k_core(G, 3).size()
