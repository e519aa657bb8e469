"""Two sides, bridges and articulation points: beside NetworkX and igraph, on hard shapes, and wrong ones."""

from collections import Counter
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
from gasla import datasets, engines, verify
from gasla.cli.compute import on_host
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


@pytest.fixture(autouse=True, params=["one thread", pytest.param("programs", marks=pytest.mark.thorough), "deep"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small graphs on the CPU run on one thread, others by vertex programs, unless they are found to be deep."""
    if request.param == "deep":
        monkeypatch.setattr("gasla.algorithms.components.spanning_forest.ONE_THREAD", -1)
        monkeypatch.setattr("gasla.algorithms.components.spanning_forest.DEEP", (2, 1 << 12))
    with engines.programs_only() if request.param == "programs" else nullcontext():
        yield


def of(n: int, *edges: tuple[int, int]) -> gasla.Graph:
    src, dst = np.array(edges or np.empty((0, 2)), np.int32).reshape(-1, 2).T
    return gasla.Graph.from_edges(src.astype(np.int32), dst.astype(np.int32), n=n)


def both_ways(n: int, *edges: tuple[int, int]) -> gasla.Graph:
    return of(n, *edges, *((v, u) for u, v in edges if u != v))


def drawn(n: int, m: int, seed: int, both: bool) -> gasla.Graph:
    rng = np.random.default_rng(seed)
    edges = [(int(u), int(v)) for u, v in rng.integers(0, n, (m, 2))]
    return both_ways(n, *edges) if both else of(n, *edges)


def path(n: int) -> list[tuple[int, int]]:
    return [(v, v + 1) for v in range(n - 1)]


SHAPES: dict[str, Callable[[], gasla.Graph]] = {
    "no vertices": lambda: of(0),
    "one vertex": lambda: of(1),
    "no edges": lambda: of(5),
    "a loop": lambda: both_ways(3, (0, 0), (0, 1)),
    "parallel edges": lambda: both_ways(4, (0, 1), (0, 1), (1, 2), (2, 3)),
    "parallel arcs": lambda: of(4, (0, 1), (0, 1), (1, 2), (3, 2), (2, 3)),
    "path": lambda: both_ways(60, *path(60)),
    "arcs in a row": lambda: of(60, *path(60)),
    "odd ring": lambda: both_ways(9, *path(9), (8, 0)),
    "even ring": lambda: both_ways(10, *path(10), (9, 0)),
    "star": lambda: both_ways(20, *((0, v) for v in range(1, 20))),
    "two rings at a vertex": lambda: both_ways(7, *path(4), (3, 0), (3, 4), (4, 5), (5, 6), (6, 3)),
    "two rings and a bridge": lambda: both_ways(6, (5, 3), (3, 1), (1, 5), (1, 0), (0, 2), (2, 4), (4, 0)),
    "tree": lambda: both_ways(50, *((v, v // 3) for v in range(1, 50))),
    "directed": lambda: drawn(60, 70, 1, both=False),
    "undirected": lambda: drawn(60, 70, 2, both=True),
    "dense": lambda: drawn(30, 200, 3, both=True),
    "grid": lambda: gasla.Graph(datasets.grid(8)),
    "rmat": lambda: gasla.Graph(datasets.rmat(9)),
}


def as_networkx(graph: gasla.Graph) -> nx.MultiGraph:
    """Read as undirected: both directions of an edge are one."""
    count = Counter(zip(graph.out.owners().tolist(), graph.out.indices.tolist()))
    theirs = nx.MultiGraph()
    theirs.add_nodes_from(range(graph.n))
    for u, v in {(min(pair), max(pair)) for pair in count}:
        theirs.add_edges_from([(u, v)] * max(count[u, v], count[v, u]))
    return theirs


def check(given: gasla.Graph, graph: gasla.Graph) -> None:
    """Held against NetworkX and the verifiers; the second may be on a GPU."""
    theirs = as_networkx(given)
    sides = on_host(gasla.is_bipartite(graph, colors=True))
    assert bool(sides) == sides.bipartite == gasla.is_bipartite(graph) == nx.is_bipartite(theirs)
    verify.bipartite(given, sides.bipartite, sides.colors)
    bridges = on_host(gasla.bridges(graph))
    assert list(map(tuple, bridges.tolist())) == sorted((min(e), max(e)) for e in nx.bridges(theirs))
    assert bridges.shape[1] == 2 and bridges.dtype == given.id_dtype
    verify.bridges(given, bridges)
    points = on_host(gasla.articulation_points(graph))
    assert points.tolist() == sorted(nx.articulation_points(nx.Graph(theirs)))
    verify.articulation_points(given, points)


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_gives_a_right_answer(shape: str, device: Any) -> None:
    graph = SHAPES[shape]()
    check(graph, graph.to(device))


@given(st.booleans(), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=18))
@settings(max_examples=30)
def test_any_small_graph_gives_a_right_answer(both: bool, edges: list[tuple[int, int]]) -> None:
    graph = both_ways(9, *edges) if both else of(9, *edges)
    check(graph, graph)


@pytest.mark.thorough
def test_beside_igraph_on_real_graphs() -> None:
    igraph = pytest.importorskip("igraph")
    for name in ("openflights", "rmat"):
        matrix = datasets.openflights().matrix if name == "openflights" else datasets.rmat(11)
        entries = coo_array(matrix)
        theirs = igraph.Graph(n=matrix.shape[0], edges=np.column_stack(entries.coords)).simplify()
        pairs = sorted(tuple(sorted(theirs.es[e].tuple)) for e in theirs.bridges())
        simple = gasla.primitives.simplify(matrix)
        assert list(map(tuple, gasla.bridges(simple).tolist())) == pairs
        assert gasla.articulation_points(matrix).tolist() == sorted(theirs.articulation_points())
        assert gasla.is_bipartite(matrix) == theirs.is_bipartite()


def test_a_long_path() -> None:
    n = 20_000
    name = np.random.default_rng(1).permutation(n).astype(np.int32)
    graph = gasla.Graph.from_edges(np.r_[name[:-1], name[1:]], np.r_[name[1:], name[:-1]])
    assert len(gasla.bridges(graph)) == n - 1
    assert gasla.articulation_points(graph).tolist() == sorted(name[1:-1].tolist())
    assert gasla.is_bipartite(graph)


@pytest.mark.parametrize("ids", [np.int32, pytest.param(np.int64, marks=pytest.mark.slow)])
def test_lists_that_are_not_sorted_and_stay_as_they_are(ids: Any) -> None:
    graph = SHAPES["undirected"]()
    rng = np.random.default_rng(0)
    indptr, indices = graph.out.indptr, graph.out.indices
    owners = graph.out.owners()
    order = np.lexsort((rng.random(graph.m), owners))
    arrays = indptr.astype(ids), indices[order].astype(ids)
    copies = [array.copy() for array in arrays]
    check(graph, gasla.Graph.from_csr(*arrays))
    for array, copy in zip(arrays, copies):
        np.testing.assert_array_equal(array, copy)


def test_the_verifier_rejects_wrong_sides() -> None:
    graph = SHAPES["two rings and a bridge"]()
    _, colors = gasla.is_bipartite(graph, colors=True)
    for said, wrong in ((True, colors), (False, colors + 1), (False, colors * 0), (False, colors[1:])):
        with pytest.raises(VerificationError):
            verify.bipartite(graph, said, wrong)
    even = SHAPES["even ring"]()
    colors = gasla.is_bipartite(even, colors=True).colors
    for wrong in (1 - colors, colors * 0, colors - 1, colors * 2, colors.astype(float)):
        with pytest.raises(VerificationError):
            verify.bipartite(even, True, wrong)
    with pytest.raises(VerificationError, match="no odd cycle"):
        verify.bipartite(even, False)


def test_the_verifier_rejects_wrong_bridges_and_points() -> None:
    graph = SHAPES["tree"]()
    bridges, points = gasla.bridges(graph), gasla.articulation_points(graph)
    for wrong in (bridges[1:], bridges[::-1], bridges[:, ::-1], bridges[[0, *range(49)]], bridges.T, bridges / 1.0):
        with pytest.raises(VerificationError):
            verify.bridges(graph, wrong)
    with pytest.raises(VerificationError, match="between 0 and 1 is no bridge"):
        verify.bridges(SHAPES["even ring"](), [[0, 1]])
    for wrong in (points[1:], points[::-1], np.r_[points, 49], points[[0, *range(len(points))]], points / 1.0):
        with pytest.raises(VerificationError):
            verify.articulation_points(graph, wrong)


@pytest.mark.parametrize("function", [gasla.is_bipartite, gasla.bridges, gasla.articulation_points])
def test_bad_input_is_refused(function: Any) -> None:
    with pytest.raises(ValueError, match="a row and column per vertex"):
        function(csr_array((2, 3)))
