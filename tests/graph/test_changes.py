"""Graphs that change, and runs that go on: the same as a graph made at once, and as a run from nothing."""

import re
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import Graph
from gasla.graph import lists_cpu, lists_gpu

pytestmark = pytest.mark.thorough


class Shortest(gasla.VertexProgram):
    x = gasla.vertex(np.float64, init=np.inf)
    weight = gasla.edge(np.float64)
    longest = gasla.parameter(np.float64, default=np.inf)
    reduce = semirings.min

    def edge_mask(self, src, dst, edge):
        return edge.weight <= self.longest

    def gather(self, src, dst, edge):
        return src.x + edge.weight

    def apply(self, vertex, gathered):
        return {"x": semirings.minimum(vertex.x, gathered)}

    def activate(self, before, after):
        return after.x < before.x


class Widest(Shortest):
    """The widest way; over out-edges."""

    x = gasla.vertex(np.int32, init=lambda v: v.id * 7 % 5)
    weight = gasla.edge(np.int64)
    reduce = semirings.max
    direction = "out"

    def edge_mask(self, src, dst, edge):
        return edge.weight > 0

    def gather(self, src, dst, edge):
        return semirings.minimum(src.x, edge.weight).astype(np.int32)

    def apply(self, vertex, gathered):
        return {"x": semirings.maximum(vertex.x, gathered)}

    def activate(self, before, after):
        return after.x != before.x


class Smallest(gasla.VertexProgram):
    """The smallest label, whichever way edges point; near ones first."""

    x = gasla.vertex(np.int64, init=lambda v: v.id)
    reduce = semirings.min
    direction = "all"

    def gather(self, src, dst, edge):
        return src.x

    def apply(self, vertex, gathered):
        return {"x": semirings.minimum(vertex.x, gathered)}

    def priority(self, vertex):
        return vertex.x


PROGRAMS = {
    Shortest: {"active": [0], "x": {0: 0.0}},
    Widest: {},
    Smallest: {},
}


@st.composite
def changes(draw: Any, removes: bool = False) -> Any:
    """A graph as arrays, some edges for it, and numbers of edges that go."""
    n = draw(st.integers(1, 9))
    ids, weights = st.integers(0, n - 1), st.integers(0, 9)
    old, new = (draw(st.lists(st.tuples(ids, ids, weights), max_size=most)) for most in (24, 8))
    if draw(st.booleans()):
        old.sort(key=lambda edge: edge[draw(st.integers(0, 1))])
    gone = draw(st.sets(st.integers(0, len(old) - 1))) if removes and old else set()
    old, new = (np.array(edges, np.int64).reshape(-1, 3).T for edges in (old, new))
    return n, old, new, np.array(sorted(gone), np.int64)


def made(n: int, edges: np.ndarray, weighted: bool = True) -> Graph:
    return Graph.from_edges(*edges[:2], edges[2].astype(np.float64) if weighted else None, n=n)


def assert_alike(a: Graph, b: Graph) -> None:
    assert (a.n, a.m, a.is_symmetric, a.has_self_loops) == (b.n, b.m, b.is_symmetric, b.has_self_loops)
    for name in ("out", "in_", "both"):
        for part in ("indptr", "indices", "numbers"):
            ours, right = (getattr(getattr(graph, name), part) for graph in (a, b))
            np.testing.assert_array_equal(*(x() if callable(x) else x for x in (ours, right)))
    for name in ("values", "out_values", "in_values", "in_degrees", "out_degrees"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@settings(max_examples=150, deadline=None)
@given(changes(removes=True), st.booleans(), st.sets(st.sampled_from(["out", "in_", "out_values", "in_values"])))
def test_a_changed_graph_is_what_its_edges_make(change: Any, weighted: bool, built: set[str]) -> None:
    n, old, new, gone = change
    graph = made(n, old, weighted)
    for name in sorted(built):
        getattr(graph, name)
    before = [array.copy() for array in graph.edges()]
    changed = graph.changed(insert=tuple(new) if weighted else tuple(new[:2]), remove=gone)
    right = made(n, np.concatenate([np.delete(old, gone, axis=1), new], axis=1), weighted)
    assert_alike(changed, right)
    assert built & {"out", "in_"} <= changed.lists.__dict__.keys()
    for array, held in zip(before, graph.edges(), strict=True):
        np.testing.assert_array_equal(array, held)
    assert changed.change is not None
    np.testing.assert_array_equal(changed.change.src, new[0])
    np.testing.assert_array_equal(changed.change.removed, gone)


@given(st.lists(st.integers(0, 9)), st.sets(st.integers(0, 30)))
def test_both_devices_move_entries_alike(old: list[int], wanted: set[int]) -> None:
    places = np.array(sorted(place for place in wanted if place < len(old) + len(wanted)), np.int64)
    m = len(old) + len(places)
    places = places[places < m]
    new = np.arange(len(places)) + 100
    old_array = np.array(old, np.int64)[: m - len(places)]
    m = len(old_array) + len(places)
    if len(places) and places[-1] >= m:
        return
    right = list(old_array)
    for place, value in zip(places.tolist(), new.tolist(), strict=True):
        right.insert(place, value)
    for lists in (lists_cpu, lists_gpu):
        plan = lists.insertion_plan(places, m)
        np.testing.assert_array_equal(lists.insert_entries(old_array, plan, places, new), right)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("program", PROGRAMS)
@settings(max_examples=25, deadline=None)
@given(changes(), changes())
def test_a_run_goes_on_as_from_nothing(program: Any, compiled: bool, change: Any, again: Any) -> None:
    n, old, new, _ = change
    kind = np.int64 if program is Widest else np.float64
    graph = Graph.from_edges(*old[:2], old[2].astype(kind), n=n)
    first = gasla.run(program, graph, compile=compiled, **PROGRAMS[program])
    kept = first.x.copy()
    ids = again[2] % n  # of the same graph
    later = graph.changed(insert=tuple(new)).changed(insert=(ids[0], ids[1], again[2][2]))
    for way in ("auto", "pull"):
        found = gasla.run(program, later, start=first, compile=compiled, direction=way)
        right = gasla.run(program, later, compile=compiled, **PROGRAMS[program])
        np.testing.assert_array_equal(found.x, right.x)
    np.testing.assert_array_equal(first.x, kept)
    prepared = gasla.prepare(program, later, compile=compiled)
    np.testing.assert_array_equal(prepared(start=first).x, right.x)
    np.testing.assert_array_equal(prepared(start=found).x, right.x)  # nothing is new


@pytest.mark.slow
def test_a_run_that_was_cut_short_goes_on() -> None:
    path = Graph.from_edges(np.arange(50), np.arange(1, 51), np.ones(50))
    first = gasla.run(Shortest, path, active=[0], x={0: 0.0}, max_iterations=1, direction="pull", deterministic=True)
    assert not first.converged
    longer = path.changed(insert=([0], [49], [2.0]))
    found = gasla.run(Shortest, longer, start=first)
    np.testing.assert_array_equal(found.x, [*range(49), 2, 3])


def test_a_run_goes_on_in_place_and_from_fields() -> None:
    path = Graph.from_edges(np.arange(9), np.arange(1, 10), np.ones(9))
    first = gasla.run(Shortest, path, active=[0], x={0: 0.0})
    longer = path.changed(insert=([0], [8], [1.5]))
    by_hand = gasla.run(Shortest, longer, start=dict(first.state), active=[0])
    everyone = gasla.run(Shortest, longer, start={"x": first.x})
    in_place = gasla.run(Shortest, longer, start=first, out=first.state)
    assert in_place.x is first.x
    for found in (by_hand, everyone, in_place):
        np.testing.assert_array_equal(found.x, [*range(8), 1.5, 2.5])


def test_what_no_run_goes_on_from_is_refused() -> None:
    path = Graph.from_edges(np.arange(9), np.arange(1, 10), np.ones(9))
    first = gasla.run(Shortest, path, active=[0], x={0: 0.0})
    longer = path.changed(insert=([0], [8], [1.5]))
    for graph in (path.changed(remove=[3]), longer.changed(remove=[9]), path.with_values(np.full(9, 2.0)), Graph(path)):
        if graph.edition is not path.edition:
            with pytest.raises(ValueError, match="differs by more than added edges"):
                gasla.run(Shortest, graph, start=first)
    with pytest.raises(ValueError, match="longest = inf, and this run has 2"):
        gasla.run(Shortest, longer, start=first, longest=2.0)
    with pytest.raises(ValueError, match="result of Shortest; expected one of Smallest"):
        gasla.run(Smallest, longer, start=first)
    with pytest.raises(ValueError, match="leave out active"):
        gasla.run(Shortest, longer, start=first, active=[0])
    with pytest.raises(TypeError, match="given twice"):
        gasla.run(Shortest, longer, start=first, x={1: 0.0})
    with pytest.raises(ValueError, match=r"start has x of shape \(3,\); expected an entry for each of 10"):
        gasla.run(Shortest, longer, start={"x": np.zeros(3)})
    with pytest.raises(TypeError, match="no vertex field 'y'"):
        gasla.run(Shortest, longer, start={"y": np.zeros(10)})
    with pytest.raises(TypeError, match="start is list"):
        gasla.run(Shortest, longer, start=[1])
    with pytest.raises(ValueError, match="phases"):
        gasla.run([Shortest], longer, start=first)
    path.values[0] = 7.0
    with pytest.raises(ValueError, match="differs by more than added edges"):
        gasla.run(Shortest, path, start=first)


def test_programs_that_do_more_are_refused() -> None:
    path = Graph.from_edges(np.arange(9), np.arange(1, 10))

    class Sum(Smallest):
        reduce = semirings.plus

    class Degree(Smallest):
        def gather(self, src, dst, edge):
            return src.x + src.out_degree

    class Stops(Smallest):
        def stop(self):
            return self.iteration > 3

    class Own(Smallest):
        cost = gasla.edge(np.int64, init=1)

        def gather(self, src, dst, edge):
            return src.x + edge.cost

    class Everyone(Smallest):
        everyone = True

    reasons = {
        Sum: "not idempotent",
        Degree: "out_degree",
        Stops: "stop says",
        Own: "no value of cost",
        Everyone: "everyone takes part",
    }
    for program, reason in reasons.items():
        with pytest.raises(ValueError, match=reason):
            gasla.run(program, path, start={"x": np.zeros(10, np.int64)})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"insert": ([0], [1])}, TypeError, "insert is 2 items"),
        ({"insert": 3}, TypeError, "insert is int"),
        ({"insert": ([0], [1, 2], [1.0])}, ValueError, "1 sources and 2"),
        ({"insert": ([0], [10], [1.0])}, ValueError, "outside a graph of 10"),
        ({"insert": ([-1], [0], [1.0])}, ValueError, "outside a graph"),
        ({"insert": ([0], [1], [1.0, 2.0])}, ValueError, "expected"),
        ({"insert": ([0], [1], None)}, TypeError, "None for weights"),
        ({"remove": [9]}, ValueError, "names edge 9; expected numbers of edges, 0 to 8"),
        ({"remove": [1, 2, 1]}, ValueError, "names edge 1 twice"),
        ({"remove": [0.5]}, TypeError, "expected integers"),
        (
            {"remove": (1, 2)},
            TypeError,
            "remove is (1, 2); expected (src, dst), two arrays of vertices, or an array of",
        ),
        ({"remove": ([1], [2, 3])}, ValueError, "remove has 1 sources and 2 targets; expected as many of each"),
        ({"remove": ([1], [99])}, ValueError, "the dst of remove"),
        ({"remove": ([1, 2], [2, 1])}, ValueError, "remove names an edge 2 -> 1, and the graph has none"),
    ],
)
def test_invalid_changes_are_refused(arguments: Any, error: Any, message: str) -> None:
    path = Graph.from_edges(np.arange(9), np.arange(1, 10), np.ones(9, np.float32))
    with pytest.raises(error, match=re.escape(message)):
        path.changed(**arguments)


def test_weights_that_values_cannot_hold_are_refused() -> None:
    path = Graph.from_edges([0], [1], np.array([1], np.int8))
    assert path.changed(insert=([0], [1], [2])).values.tolist() == [1, 2]
    for weights in ([300], [0.5]):
        with pytest.raises(TypeError, match="can't hold"):
            path.changed(insert=([0], [1], weights))


def test_graphs_without_edges_and_with_wide_offsets() -> None:
    assert Graph.from_edges([], [], n=0).changed().m == 0
    star = Graph.from_edges([], [], n=1).changed(insert=([0, 0], [0, 0]))
    assert star.m == 2 and star.has_parallel_edges and star.changed(remove=[0, 1]).m == 0
    wide = Graph.from_csr(np.array([0, 1, 2, 2]), np.array([2, 0]), [1.5, 2.5])
    changed = wide.changed(insert=([0], [1], [3.5]))
    assert changed.out.indptr.dtype == np.int64
    assert_alike(changed, Graph.from_edges([0, 1, 0], [2, 0, 1], [1.5, 2.5, 3.5], n=3))


@settings(max_examples=40, deadline=None)
@given(changes(), st.integers(0, 8))
@pytest.mark.slow
def test_algorithms_go_on(change: Any, source: int) -> None:
    n, old, new, _ = change
    source, graph = source % n, made(n, old)
    later = graph.changed(insert=tuple(new))
    right = made(n, np.concatenate([old, new], axis=1))
    np.testing.assert_array_equal(gasla.bfs(later, source, start=gasla.bfs(graph, source)), gasla.bfs(right, source))
    found = gasla.bfs(later, source, parents=True, start=gasla.bfs(graph, source, parents=True))
    assert gasla.verify.bfs(right, source, found.levels, found.parents) is None
    distances = gasla.sssp(later, source, start=gasla.sssp(graph, source))
    np.testing.assert_array_equal(distances, gasla.sssp(right, source))
    paths = gasla.sssp(later, source, parents=True, start=gasla.sssp(graph, source, parents=True))
    assert gasla.verify.sssp(right, source, paths.distances, paths.parents) is None
    parts = gasla.connected_components(later, start=gasla.connected_components(graph))
    wanted = gasla.connected_components(right)
    assert parts.count == wanted.count
    np.testing.assert_array_equal(parts.labels, wanted.labels)


def test_algorithms_refuse_what_they_cannot_go_on_from() -> None:
    path = Graph.from_edges(np.arange(9), np.arange(1, 10), np.ones(9))
    levels, distances, parts = gasla.bfs(path, 0), gasla.sssp(path, 0), gasla.connected_components(path)
    for graph, message in ((path, "this graph was not changed"), (path.changed(remove=[3]), "edges were removed")):
        for call in (
            lambda g: gasla.bfs(g, 0, start=levels),
            lambda g: gasla.sssp(g, 0, start=distances),
            lambda g: gasla.connected_components(g, start=parts),
        ):
            with pytest.raises(ValueError, match=message):
                call(graph)
    longer = path.changed(insert=([9], [0], [-20.0]))
    with pytest.raises(ValueError, match="result for another source"):
        gasla.bfs(longer, 1, start=levels)
    with pytest.raises(ValueError, match="leave out depth_limit"):
        gasla.bfs(longer, 0, start=levels, depth_limit=2)
    with pytest.raises(TypeError, match="expected a BFSResult"):
        gasla.bfs(longer, 0, start=levels, parents=True)
    with pytest.raises(TypeError, match="expected a numpy array of 10 float64"):
        gasla.sssp(longer, 0, start=levels)
    with pytest.raises(ValueError, match="negative length"):
        gasla.sssp(longer, 0, start=distances)
    with pytest.raises(TypeError, match="expected a ComponentsResult"):
        gasla.connected_components(longer, start=parts.labels)


@pytest.mark.gpu
@settings(max_examples=20, deadline=None)
@given(changes(removes=True), changes())
def test_a_gpu_gives_the_same_answer(change: Any, grown: Any) -> None:
    n, old, new, gone = change
    graph = made(n, old).to("gpu")
    for name in ("out", "in_", "in_values"):
        getattr(graph, name)
    import cupy

    changed = graph.changed(insert=tuple(map(cupy.asarray, new)), remove=cupy.asarray(gone))
    assert changed.device == "gpu"
    assert_alike(changed.to("cpu"), made(n, np.concatenate([np.delete(old, gone, axis=1), new], axis=1)))
    n, old, new, _ = grown
    graph, right = made(n, old).to("gpu"), made(n, np.concatenate([old, new], axis=1))
    later = graph.changed(insert=tuple(map(cupy.asarray, new)))
    first = gasla.run(Shortest, graph, active=[0], x={0: 0.0})
    wanted = gasla.run(Shortest, right, active=[0], x={0: 0.0}).x
    np.testing.assert_array_equal(gasla.run(Shortest, later, start=first).x.get(), wanted)
    np.testing.assert_array_equal(gasla.sssp(later, 0, start=gasla.sssp(graph, 0)).get(), gasla.sssp(right, 0))
    np.testing.assert_array_equal(gasla.bfs(later, 0, start=gasla.bfs(graph, 0)).get(), gasla.bfs(right, 0))
    tree = gasla.bfs(later, 0, start=gasla.bfs(graph, 0, parents=True), parents=True)
    assert gasla.verify.bfs(right, 0, tree.levels.get(), tree.parents.get()) is None
    parts = gasla.connected_components(later, start=gasla.connected_components(graph))
    np.testing.assert_array_equal(parts.labels.get(), gasla.connected_components(right).labels)


@pytest.mark.parametrize("order", ["as given", "by source", "int64"])
def test_edges_are_found_and_removed_by_their_ends(order: str) -> None:
    """Compared with a dict; with hubs, loops, parallel edges and vertices without edges."""
    random = np.random.default_rng(0)
    src, dst = np.where(random.random((2, 4000)) < 0.3, 7, random.integers(0, 90, (2, 4000)))
    if order == "by source":
        src, dst = (ends[np.lexsort((dst, src))] for ends in (src, dst))
    ids = np.int64 if order == "int64" else np.int32
    graph = Graph.from_edges(src.astype(ids), dst.astype(ids), np.arange(4000), n=100)
    first: dict[tuple[int, int], int] = {}
    for e, pair in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        first.setdefault(pair, e)
    u, v = (ends.ravel() for ends in np.indices((100, 100)))
    expected = [first.get(pair, -1) for pair in zip(u.tolist(), v.tolist(), strict=True)]
    found = graph.edge_ids(u, v)
    assert found.dtype == np.int64 and found.tolist() == expected
    assert graph.edge_ids(7, 7) == first[7, 7] and type(graph.edge_ids(7, 7)) is int and graph.edge_ids(99, 7) == -1
    pairs = random.permutation(np.flatnonzero(found >= 0))[:50]
    changed = graph.changed(remove=(u[np.append(pairs, pairs[:3])], v[np.append(pairs, pairs[:3])]))
    gone = np.flatnonzero(np.isin(src * 100 + dst, u[pairs] * 100 + v[pairs]))
    np.testing.assert_array_equal(changed.change.removed, gone)
    np.testing.assert_array_equal(changed.values, np.delete(np.arange(4000), gone))


def test_edge_ids_of_names_and_of_graphs_without_edges() -> None:
    flights = Graph.from_networkx(nx.DiGraph([("a", "b"), ("a", "c"), ("b", "c")]))
    assert flights.edge_ids("a", "c") == 1 and flights.edge_ids(["b", "c"], ["c", "b"]).tolist() == [2, -1]
    assert flights.changed(remove=(["a"], ["b"])).m == 2
    empty = Graph.from_edges([], [], n=3)
    assert empty.edge_ids([0, 1], [1, 2]).tolist() == [-1, -1] and empty.edge_ids([], []).tolist() == []
    assert empty.changed(remove=([], [])).m == 0
    with pytest.raises(ValueError, match="src has 1 entries and dst has 2; expected equal lengths"):
        empty.edge_ids([0], [1, 2])
    with pytest.raises(ValueError, match="no vertex is named 3"):
        empty.edge_ids(3, 0)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.05])
def test_ranks_go_on_from_those_before_a_change(share: float) -> None:
    """In fewer iterations to the ranks of a run from the start, within what the tolerance leaves open."""
    rng = np.random.default_rng(1)
    graph = Graph.from_edges(*rng.integers(0, 2000, (2, 9000)), n=2000)
    before, some = gasla.pagerank(graph, tol=1e-9), int(share * graph.m)
    later = graph.changed(
        insert=tuple(rng.integers(0, graph.n, (2, some))), remove=rng.choice(graph.m, some, replace=False)
    )
    anew, found = gasla.pagerank(later, tol=1e-9), gasla.pagerank(later, tol=1e-9, nstart=before.ranks)
    assert found.iterations < anew.iterations
    np.testing.assert_allclose(found.ranks, anew.ranks, rtol=0, atol=1e-8)
