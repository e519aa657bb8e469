"""Vertices numbered anew by degree on the GPU: the lists that come of it, and that nobody sees it."""

import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import gasla
import semirings
from gasla import datasets
from gasla.algorithms.centrality.pagerank import PageRank
from gasla.gpu.program import peers, relabel, workspace
from gasla.gpu.program.generate import Module
from gasla.gpu.program.plan import Variant
from gasla.gpu.program.relabel import RenumberedLists
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph
from gasla.program.binding import NeighborLists
from gasla.program.fields import aggregate, edge, parameter, vertex
from tests.gpu.test_programs import same
from tests.helpers import programs
from tests.helpers.in_turns import in_turns
from tests.helpers.reference_engine import Reference
from tests.program.test_runs import graphs

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("hot", [0, 5, 1000])
def test_own_vertices_of_a_part_come_before_mirrors(hot: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in its own order: own vertices by use, and mirrors as their owners have them."""
    monkeypatch.setattr(relabel, "HOT", hot)
    rng, own, n = np.random.default_rng(4), 60, 100
    graph = Graph.from_edges((n * rng.random(900) ** 2).astype(int), rng.integers(0, own, 900), n=n)
    places = rng.permutation(n - own)
    order, rows = relabel.order_of_part(graph, "in", own)
    before = relabel.inverse_of(order, graph.id_dtype)
    relabel.number_part(graph, "in", order.copy(), rows, own, places)
    numbering = relabel.numbering(graph, "in")
    first, rest = numbering.originals[:rows], numbering.originals[rows:]
    np.testing.assert_array_equal(np.sort(numbering.originals), np.arange(n))
    np.testing.assert_array_equal(numbering.inverse[numbering.originals], np.arange(n))
    np.testing.assert_array_equal(numbering.inverse[:own], before[:own])  # owners tell these before there are mirrors
    assert numbering.rows == rows == min(n, hot) + (first[hot:] < own).sum()
    assert (rest >= own).all()
    assert (np.diff(places[rest - own]) > 0).all()
    uses = np.bincount(graph.in_.indices, minlength=n)
    assert (np.diff(uses[first[:hot]]) <= 0).all()
    assert (np.diff(uses[first[hot:]]) <= 0).all()
    assert not np.diff(numbering.indptr)[rows:].any()


@pytest.mark.parametrize("plain", [0, 1, 7, 30])
def test_places_of_mirrors_are_read_as_far_as_they_are_not_consecutive(plain: int) -> None:
    """Those of the last ones follow from the place among what is sent."""
    inverse = np.arange(40, 80, dtype=np.int32)
    inverse[10 : 10 + plain] = np.random.default_rng(1).permutation(plain) + 3
    run: Any = SimpleNamespace(xp=np, numbering=SimpleNamespace(inverse=inverse), graph=None)
    received = peers._received(run, 10, 40, np.zeros(0, np.int64))
    places = np.arange(30)
    np.testing.assert_array_equal(
        np.where(places < received.plain, received.ids, received.first + places), inverse[10:40]
    )
    assert received.plain <= plain
    assert peers._received(run, 5, 5, np.zeros(0, np.int64)).ids is None


def test_every_vertex_of_a_part_is_looked_up() -> None:
    """Active vertices that are put off may be mirrors, which no peer mirrors."""
    run: Any = SimpleNamespace(xp=np, graph=SimpleNamespace(n=100))
    ids = np.array([0, 3, 31, 32, 64])
    table = peers._mirrored(run, ids)
    bits = np.unpackbits(np.ascontiguousarray(table[:, 0]).view(np.uint8), bitorder="little")
    assert len(bits) >= 100
    np.testing.assert_array_equal(np.flatnonzero(bits), ids)
    assert table[:, 1].tolist() == [0, 3, 4, 5]


class Everything(gasla.VertexProgram):
    """Reads all that tells one vertex from another, and edges by number."""

    x = vertex(np.int64, init=lambda v: v.id * 7 + v.out_degree)
    y = vertex(np.int64, init=3)
    pair = vertex(semirings.VectorType(np.dtype(np.int32), 2))
    weight = edge(np.int64)
    own = edge(np.int64, init=1)
    step = parameter(np.int64, 2)
    reduce = semirings.plus
    everyone = True

    def mask(self, vertex):
        return vertex.id % 5 != 3

    def edge_mask(self, src, dst, edge):
        return src.id * 3 != dst.id

    def gather(self, src, dst, edge):
        return src.x % 1000 * edge.weight + edge.own * edge.id + dst.in_degree * src.out_degree + src.id - dst.id

    def apply(self, vertex, gathered):
        return {"x": gathered % 1_000_003 + vertex.y + vertex.pair[1], "y": vertex.y + vertex.id * self.step}

    @aggregate(semirings.plus)
    def total(self, before, after):
        return after.x * (after.id + 1)

    def stop(self):
        return self.iteration >= 3


@given(graph=graphs())
def test_renumbered_lists(graph: Graph) -> None:
    for side in ("in", "out", "all"):
        lists = NeighborLists(graph, side, ordered=False)
        numbering = relabel.numbering(graph, side)
        positions = RenumberedLists(graph, side, numbering)._positions()
        np.testing.assert_array_equal(numbering.inverse[numbering.originals], np.arange(graph.n))
        lengths = np.diff(numbering.indptr)
        assert (np.diff(lengths) <= 0).all()
        np.testing.assert_array_equal(lengths, np.diff(lists.indptr())[numbering.originals])
        np.testing.assert_array_equal(numbering.indices, numbering.inverse[lists.indices()[positions]])
        rows = np.repeat(np.arange(graph.n), np.diff(lists.indptr()))
        here = np.repeat(np.arange(graph.n), lengths)
        np.testing.assert_array_equal(numbering.inverse[rows[positions]], here)
        starts = numbering.indptr[:-1][lengths > 0]
        falls = np.flatnonzero(np.diff(numbering.indices) < 0) + 1
        assert np.isin(falls, starts).all()


WeightedPersonal = type(PageRank(weights=np.float64, personal=True))


@pytest.mark.parametrize(
    ("program", "architecture", "ids"),
    in_turns([(PageRank,), (WeightedPersonal,), (Everything,)], [("compute_90", "i8"), ("compute_80", "i4")]),
)
def test_kernels_compile(program: type[gasla.VertexProgram], architecture: str, ids: str) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    kind = np.dtype(ids)
    module = Module(program.traced(kind), Variant(kind, relabelled=True))
    assert module.relabelled
    assert compile_source(module.source, architecture, program.__name__)


@pytest.fixture
def always() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relabel, "is_worthwhile", lambda graph, side, facts: True)
        yield


def skewed(wide: bool = False) -> Graph:
    """Random ends, of which few are far more likely, and a hub; some vertices have no edges."""
    rng = np.random.default_rng(5)
    n, m = 2000, 30000
    src, dst = ((n * rng.random(m) ** 4).astype(np.int64) * 7919 % n for _ in range(2))
    dst[:3000] = 42
    lists = Graph.from_edges(src, dst, rng.integers(0, 9, m), n=n + 11)
    return Graph.from_csr(lists.out.indptr.astype(np.int64 if wide else np.int32), lists.out.indices, lists.out_values)


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("direction", ["in", "out", "all"])
def test_nobody_sees_it(always: None, direction: str, wide: bool) -> None:
    program = type("Everything", (Everything,), {"direction": direction})
    graph = skewed(wide)
    fields = {"pair": np.arange(2 * graph.n).reshape(-1, 2), "y": {7: 100}, "own": np.arange(graph.m) % 13}
    there = graph.to("gpu")
    result = gasla.run(program, there, **fields)
    assert relabel.numbering(there, direction)
    reference = Reference(program(), graph, **fields).run(None, 10)
    same(result, reference)
    assert result.iterations == reference.iteration
    again = gasla.run(program, there, **fields, callback=lambda r: None)
    for name, array in result.state.items():
        np.testing.assert_array_equal(array.get(), again.state[name].get())
    assert int(again.total) == int(result.total)
    lent = again.y * 0
    assert gasla.run(program, there, **fields, out={"y": lent}).y is lent
    np.testing.assert_array_equal(lent.get(), reference.vertex["y"])


@pytest.mark.gpu
def test_pagerank_of_renumbered_lists_is_right(always: None) -> None:
    A = datasets.with_weights(datasets.rmat(12), largest=9)
    for options in ({"weighted": False}, {"weighted": True}, {"personalization": {3: 1, 5: 2}, "dangling": {8: 1}}):
        for tol, most in ((1e-12, 500), (0, 3)):
            mine = gasla.pagerank(Graph(A).to("gpu"), dtype=np.float64, tol=tol, max_iter=most, **options)
            theirs = gasla.pagerank(A, dtype=np.float64, tol=tol, max_iter=most, **options)
            np.testing.assert_allclose(mine.ranks.get(), theirs.ranks, rtol=1e-8)


@pytest.mark.gpu
@pytest.mark.parametrize("program", [programs.Spread, Everything], ids=lambda p: p.__name__)
def test_workspace_counts_it(always: None, program: Any) -> None:
    cupy = pytest.importorskip("cupy")
    pool = cupy.get_default_memory_pool()
    graph = skewed(wide=False).to("gpu")
    gasla.run(program, skewed(wide=False).to("gpu"), max_iterations=2)  # all code is loaded
    graph.in_, graph.in_values, graph.out_degrees, graph.in_degrees  # noqa: B018
    gasla.workspace(program, graph)
    gc.collect()
    used = pool.used_bytes()
    result = gasla.run(program, graph, max_iterations=2)
    assert relabel.numbering(graph, program.direction)
    (cached,) = (known for known in graph._known.values() if isinstance(known, workspace.Cached))
    held = pool.used_bytes() - used - workspace.field_bytes(cached.plan, graph)
    assert result.iterations == 2
    assert 4 * graph.m < held <= gasla.workspace(program, graph) + 20_000  # what arrays are rounded up by, and counters
