"""Edges and their partners, against dictionaries; and what programs read at the partner of an edge."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

import gasla
import semirings
from gasla.arrays import moved
from gasla.gpu.program.generate import module
from gasla.gpu.program.plan import Variant

pytestmark = pytest.mark.thorough

EDGES = st.integers(1, 6).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=24))
)


def partners(edges):
    """The k-th i -> j with the k-th j -> i, one edge after the other; -1 for those without."""
    places = defaultdict(list)
    for e, (i, j) in enumerate(edges):
        places[i, j].append(e)
    found = np.full(len(edges), -1)
    for (i, j), own in places.items():
        for e, partner in zip(own, places.get((j, i), ())):
            found[e] = partner
    return found


def made(n, edges, form):
    src, dst = (np.array(ends, np.int64) for ends in zip(*edges, strict=True)) if edges else (np.zeros(0, int),) * 2
    if form == "csr":  # whose rows are in the order of the input
        order = np.argsort(src, kind="stable")
        indptr = np.searchsorted(src[order], np.arange(n + 1))
        matrix = csr_array((np.arange(len(edges)), dst[order], indptr), shape=(n, n))
        return gasla.Graph(matrix), [edges[e] for e in order]
    if form == "csc":
        order = np.argsort(dst, kind="stable")
        indptr = np.searchsorted(dst[order], np.arange(n + 1))
        return gasla.Graph(csc_array((np.arange(len(edges)), src[order], indptr), shape=(n, n))), [
            edges[e] for e in order
        ]
    return gasla.Graph.from_edges(src, dst, np.arange(len(edges)), n=n), edges


@given(EDGES, st.sampled_from(["edges", "csr", "csc"]))
@settings(deadline=None, max_examples=200)
def test_partners_are_as_a_dictionary_has_them(drawn, form):
    graph, edges = made(*drawn, form)
    expected = partners(edges)
    if (expected < 0).any():
        first = int(np.argmax(expected < 0))
        with pytest.raises(ValueError, match=f"^edge {first}, {edges[first][0]} -> {edges[first][1]}, has no reverse"):
            _ = graph.reverse_edge_ids
    else:
        np.testing.assert_array_equal(graph.reverse_edge_ids, expected)
        assert graph.paired() is graph
    pairs = graph.paired(fill=-7)
    alone = np.flatnonzero(expected < 0)
    all_edges = edges + [edges[e][::-1] for e in alone]
    np.testing.assert_array_equal(pairs.reverse_edge_ids, partners(all_edges))
    np.testing.assert_array_equal(pairs.values, [*graph.values, *[-7] * len(alone)])
    np.testing.assert_array_equal(np.stack(pairs.edges(), axis=1), np.array(all_edges).reshape(-1, 2))
    if len(alone):
        np.testing.assert_array_equal(pairs.origin.edges, [*range(len(edges)), *[-1] * len(alone)])
        np.testing.assert_array_equal(pairs.origin.new_edges, np.arange(len(edges)))
        np.testing.assert_array_equal(pairs.origin.vertices, np.arange(graph.n))
    looped = graph.paired(fill=-7, loops=True)
    all_edges += [(v, v) for v in range(graph.n)]
    np.testing.assert_array_equal(np.stack(looped.edges(), axis=1), np.array(all_edges).reshape(-1, 2))
    np.testing.assert_array_equal(looped.reverse_edge_ids, partners(all_edges))
    back = pairs.reverse_edge_ids
    np.testing.assert_array_equal(back[back], np.arange(pairs.m))


def test_pairs_of_graphs_without_values():
    path = gasla.Graph.from_edges([0, 1], [1, 2])
    assert path.paired(fill=None).values is None
    assert path.paired().values.tolist() == [1, 1, 0, 0]
    empty = gasla.Graph.from_edges([], [], n=0)
    assert empty.paired() is empty and len(empty.reverse_edge_ids) == 0


FILLS = {  # by the type of values: what it holds, and what it doesn't
    "?": ([0, 1, True, 0.0], [2, -1, 0.5, np.nan]),
    "i1": ([0, -128, 127, 5.0, True], [128, 0.5, np.inf]),
    "u8": ([0, 2**64 - 1, np.uint8(3)], [-1, 2**64, 0.5, 1e30]),
    "i8": ([0, -(2**63), 2**63 - 1], [2**63, 2.0**63]),
    "f4": ([0, 0.1, 2**60 + 1, np.inf, np.nan, -0.0], [1e300]),
    "f8": ([0, 0.1, 2**64 - 1], [2**70, "a", None, [1], 1j]),
}


@pytest.mark.parametrize("kind", FILLS)
def test_a_fill_becomes_a_value_or_is_refused_by_name(kind):
    path = gasla.Graph.from_edges([0, 1], [1, 2], np.ones(2, kind))
    good, bad = FILLS[kind]
    for fill in good:
        values = path.paired(fill).values
        assert values.dtype == np.dtype(kind)
        np.testing.assert_array_equal(values[2:], np.full(2, fill).astype(kind))
    for fill in bad:
        with pytest.raises(TypeError, match="fill is "):
            path.paired(fill)
    np.testing.assert_array_equal(path.paired().values, [1, 1, 0, 0])


def test_graphs_made_of_another_with_partners_find_their_own():
    pairs = gasla.Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1])
    _ = pairs.reverse_edge_ids
    assert pairs.with_values([1, 2, 3, 4]).reverse_edge_ids.tolist() == [1, 0, 3, 2]
    assert pairs.select([2, 3]).reverse_edge_ids.tolist() == [1, 0]
    assert pairs.reversed().reverse_edge_ids.tolist() == [1, 0, 3, 2]
    with pytest.raises(ValueError, match="edge 0, 0 -> 1"):
        _ = pairs.changed(remove=[1]).reverse_edge_ids


# --- in programs ------------------------------------------------------------------------------------------------------


class Beliefs(gasla.VertexProgram):
    """Messages along edges: what comes back along an edge is left out of what is sent along it."""

    everyone = True
    belief = gasla.vertex(np.int64, init=lambda vertex: vertex.id % 5)
    weight = gasla.edge(np.int64)
    message = gasla.edge(np.int64, init=1)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return edge.message * edge.back.weight

    def apply(self, vertex, gathered):
        return {"belief": (vertex.belief + gathered) % 97}

    def activate(self, before, after):
        return True

    def scatter(self, src, dst, edge):
        return {"message": (src.belief - edge.back.message + edge.back.id) % 89}


class Flux(gasla.VertexProgram):
    """What leaves a vertex less what enters it, from either side of the edges."""

    direction, everyone = "all", True
    flux = gasla.vertex(np.int64)
    flow = gasla.edge(np.int64)
    visits = gasla.edge(np.int64, init=0)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return semirings.where(edge.leaves, -edge.flow, edge.flow)

    def apply(self, vertex, gathered):
        return {"flux": gathered}

    def activate(self, before, after):
        return True

    def scatter(self, src, dst, edge):
        return {"visits": edge.visits + semirings.where(edge.leaves, 1, 100)}


def shaken(n, m, seed):
    """A graph of pairs whose edges are in any order, loops and parallel edges among them."""
    rng = np.random.default_rng(seed)
    pairs = gasla.Graph.from_edges(*rng.integers(0, n, (2, m)), rng.integers(0, 9, m), n=n).paired(fill=4)
    order = rng.permutation(pairs.m)
    src, dst = (ends[order] for ends in pairs.edges())
    return gasla.Graph.from_edges(src, dst, pairs.values[order], n=n)


def beliefs(graph, rounds):
    """The same by NumPy."""
    src, dst = graph.edges()
    back, belief, message = graph.reverse_edge_ids, np.arange(graph.n) % 5, np.ones(graph.m, np.int64)
    for _ in range(rounds):
        gathered = np.zeros(graph.n, np.int64)
        np.add.at(gathered, dst, message * graph.values[back])
        belief = (belief + gathered) % 97
        message = (belief[src] - message[back] + back) % 89
    return belief, message


DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("n", "m"), [(1, 0), (1, 5), (40, 150), (3000, 20000)])
def test_scatter_sees_partners_as_they_were(n, m, device):
    graph = shaken(n, m, n)
    expected = beliefs(graph, 5)
    found = gasla.run(Beliefs, graph.to(device), max_iterations=5)
    np.testing.assert_array_equal(moved(found.belief, "cpu"), expected[0])
    np.testing.assert_array_equal(moved(found.message, "cpu"), expected[1])
    np.testing.assert_array_equal(gasla.run(Beliefs, graph, max_iterations=5, compile=False).message, expected[1])


@pytest.mark.parametrize("device", DEVICES)
def test_edges_leave_one_of_their_ends(device):
    rng = np.random.default_rng(3)
    src, dst, flow = rng.integers(0, 50, 300), rng.integers(0, 50, 300), rng.integers(0, 9, 300)
    graph = gasla.Graph.from_edges(src, dst, flow, n=50)
    flux = np.bincount(src, flow, 50) - np.bincount(dst, flow, 50)
    found = gasla.run(Flux, graph.to(device), max_iterations=3)
    np.testing.assert_array_equal(moved(found.flux, "cpu"), flux)
    np.testing.assert_array_equal(moved(found.visits, "cpu"), np.full(300, 3))  # each once, from its tail
    np.testing.assert_array_equal(gasla.run(Flux, graph, max_iterations=3, compile=False).flux, flux)


def test_unsupported_reads_of_partners_are_refused():
    path = gasla.Graph.from_edges([0, 1], [1, 2], [1, 1])
    for compile in (True, False):
        with pytest.raises(ValueError, match="edge 0, 0 -> 1, has no reverse edge"):
            gasla.run(Beliefs, path, max_iterations=1, compile=compile)
    with pytest.raises(ValueError, match=r"Named\.back: of an edge this name is gasla's own"):
        type("Named", (gasla.VertexProgram,), {"back": gasla.edge(np.int64)})
    with pytest.raises(TypeError, match="writes 'message' and reads its old value of partners"):
        gasla.stages.start(Beliefs, path.paired())


class Steady(Flux):
    """The same over rows: nobody writes to edges."""

    scatter = None

    def gather(self, src, dst, edge):
        return semirings.where(edge.leaves, -edge.flow, edge.back.flow * edge.back.id)


@pytest.mark.slow  # seconds for each kernel
@pytest.mark.parametrize(
    ("program", "shape"),
    [
        (Beliefs, {}),
        (Beliefs, {"small": True}),
        (Flux, {}),
        (Flux, {"staged": True}),
        (Steady, {"row_lanes": 32}),
        (Steady, {"row_lanes": 1, "relabelled": True}),
    ],
)
def test_kernels_compile(program, shape):
    compile = pytest.importorskip("gasla.gpu.runtime.compile", reason="NVRTC comes with CuPy")
    source = module(program, np.dtype(np.int32), Variant(np.dtype(np.int32), **shape)).source
    assert compile.compile_source(source, "compute_90")


@pytest.mark.gpu
def test_rows_of_hubs_know_partners():
    """Vertices are numbered anew where there are hubs, and their lists put in that order."""
    rng = np.random.default_rng(7)
    n, m = 1 << 16, 1 << 21
    src, dst = rng.integers(0, n, m), (n * rng.random(m) ** 4).astype(np.int64)
    graph = gasla.Graph.from_edges(src, dst, rng.integers(0, 9, m), n=n).paired(fill=2)
    expected = gasla.run(Steady, graph, max_iterations=2).flux
    np.testing.assert_array_equal(moved(gasla.run(Steady, graph.to("gpu"), max_iterations=2).flux, "cpu"), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("loops", [False, True])
def test_pairs_on_a_gpu_are_those_on_the_cpu(loops):
    rng = np.random.default_rng(11)
    for n, m in ((1, 3), (50, 400), (1000, 3000)):
        graph = gasla.Graph.from_edges(*rng.integers(0, n, (2, m)), rng.integers(0, 9, m), n=n)
        here, there = graph.paired(fill=2, loops=loops), graph.to("gpu").paired(fill=2, loops=loops)
        assert there.device == "gpu"
        for name in ("reverse_edge_ids", "values"):
            np.testing.assert_array_equal(moved(getattr(there, name), "cpu"), getattr(here, name))
        if here is graph:  # of one vertex, which has loops alone
            assert there.origin is None
        else:
            np.testing.assert_array_equal(moved(there.origin.edges, "cpu"), here.origin.edges)
        fresh = gasla.Graph.from_edges(*there.edges(), n=n)
        np.testing.assert_array_equal(moved(fresh.reverse_edge_ids, "cpu"), here.reverse_edge_ids)
