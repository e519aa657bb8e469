"""Vertices by name: every argument that takes a vertex takes its name, and never takes one vertex for another."""

import math
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gasla
import semirings
from gasla import Graph, distributed, stages
from gasla.graph.exchange.vertex_names import Names, Number

ENDS = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 1], [2, 0]])
BOTH = np.vstack([ENDS, ENDS[:, ::-1]]).T
WEIGHTS = np.tile(np.arange(1.0, 7.0), 2)
PLAIN = Graph.from_edges(*BOTH, WEIGHTS, n=6)  # vertex 5 has no edges
BIPARTITE = Graph.from_edges([0, 1, 1, 2, 2], [3, 3, 4, 4, 5])


class Hops(gasla.VertexProgram):
    hops = gasla.vertex(np.int64, init=100)
    reduce = semirings.min

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return src.hops + 1

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"hops": semirings.minimum(vertex.hops, gathered)}


class Fading(gasla.WalkProgram):
    appeal = gasla.vertex(np.float64, init=0.5)

    def stop(self, vertex: Any) -> Any:
        return 1 - vertex.appeal


def two_phases(g: Graph, v: Any) -> Any:
    return gasla.run([Hops, Hops], g, active=[v(2)], hops={v(2): 0}, max_iterations=3, compile=False).hops


def by_stages(g: Graph, v: Any) -> Any:
    return stages.expand(g, [v(0), v(3)]).dst


def on_a_side(g: Graph, v: Any) -> Any:
    other = named_like(g, BIPARTITE)
    return gasla.project(other, [v(0), v(1), v(2)]).out.indices


def timed(g: Graph) -> Graph:
    return g.with_edge_attributes(time=np.arange(g.m) * 5 % 7)


# Every argument that takes vertices, with v(i) in place of vertex i.
CALLS: dict[str, Callable[[Graph, Any], Any]] = {
    "bfs": lambda g, v: gasla.bfs(g, v(1), parents=True),
    "multi_source_bfs": lambda g, v: gasla.multi_source_bfs(g, [v(1), v(4)]),
    "sssp": lambda g, v: gasla.sssp(g, v(1), parents=True),
    "sssp of several": lambda g, v: gasla.sssp(g, [v(1), v(4)], parents=True),
    "shortest_path": lambda g, v: gasla.shortest_path(g, v(0), v(4)),
    "shortest_path with bounds": lambda g, v: gasla.shortest_path(g, v(0), v(4), bound={v(1): 0.5}),
    "multi_source_shortest_paths": lambda g, v: gasla.multi_source_shortest_paths(g, [v(3), v(0)]),
    "dominators": lambda g, v: gasla.dominators(g, v(0)),
    "depth_first_order": lambda g, v: gasla.depth_first_order(g, v(0)).parents,
    "steiner_tree": lambda g, v: gasla.steiner_tree(g, [v(0), v(4)]).total,
    "alternative_paths": lambda g, v: [p.distance for p in gasla.alternative_paths(g, v(0), v(4))],
    "k_shortest_paths": lambda g, v: [p.distance for p in gasla.k_shortest_paths(g, v(0), v(4), 2)],
    "simple_paths": lambda g, v: gasla.simple_paths(g, v(0), [v(4), v(3)], 4).vertices,  # type: ignore[union-attr]
    "simple_cycles": lambda g, v: gasla.simple_cycles(g, 5, through=[v(1), v(2)]).vertices,  # type: ignore[union-attr]
    "nearest_source": lambda g, v: gasla.nearest_source(g, [v(3), v(0)]),
    "earliest_arrival": lambda g, v: gasla.earliest_arrival(timed(g), v(1), window=(0, 9)),
    "latest_departure": lambda g, v: gasla.latest_departure(timed(g), v(1)),
    "fastest_durations": lambda g, v: gasla.fastest_durations(timed(g), v(1)),
    "temporal_reachability": lambda g, v: gasla.temporal_reachability(timed(g), [v(3), v(0)]),
    "closeness of one": lambda g, v: gasla.closeness_centrality(g, v(2)),
    "closeness_centrality": lambda g, v: gasla.closeness_centrality(g, sources=[v(1), v(2)]),
    "closeness from random sources": lambda g, _: gasla.closeness_centrality(g, k=3, seed=1),
    "closeness by weights": lambda g, _: gasla.closeness_centrality(g, distance="weight"),
    "harmonic_centrality": lambda g, v: gasla.harmonic_centrality(g, [v(1)], sources=[v(0), v(2)]),
    "betweenness_centrality": lambda g, v: gasla.betweenness_centrality(g, sources=[v(1), v(2)]),
    "edge_betweenness_centrality": lambda g, v: gasla.edge_betweenness_centrality(g, sources=[v(1), v(2)]),
    "number_of_shortest_paths": lambda g, v: gasla.number_of_shortest_paths(g, v(1)),
    "betweenness by weights": lambda g, _: gasla.betweenness_centrality(g, k=4, seed=1, weighted=True),
    "pagerank": lambda g, v: gasla.pagerank(g, personalization={v(1): 1, v(2): 2}, nstart={v(0): 1}).ranks,
    "pagerank in place": lambda g, v: gasla.pagerank(g, dangling={v(1): 1}, order="in place").ranks.round(4),
    "several pageranks": lambda g, v: gasla.pagerank(g, personalization=[{v(1): 1}, {v(2): 1}]).ranks,
    "katz_centrality": lambda g, v: gasla.katz_centrality(g, beta={v(1): 1.0}, nstart={v(0): 1.0}).scores,
    "eigenvector_centrality": lambda g, v: gasla.eigenvector_centrality(g, nstart={v(0): 1, v(1): 2}).scores,
    "hits": lambda g, v: gasla.hits(g, max_iter=999, nstart={v(0): 1, v(1): 2}).hubs,
    "pagerank_nibble": lambda g, v: gasla.pagerank_nibble(g, v(1)).vertices,
    "ego_graph": lambda g, v: gasla.ego_graph(g, v(0)).origin.vertices,
    "ego_graph by weights": lambda g, v: gasla.ego_graph(g, v(0), 3, weighted=True, undirected=True).origin.vertices,
    "project": on_a_side,
    "jaccard": lambda g, v: gasla.jaccard(g, ([v(0), v(1)], [v(2), v(3)])),
    "preferential_attachment": lambda g, v: gasla.preferential_attachment(g, ([v(0)], [v(2)])),
    "maximal_independent_set": lambda g, v: gasla.maximal_independent_set(g, [v(2), v(5)]),
    "greedy_color": lambda g, v: gasla.greedy_color(g, priority={v(2): 1.0}),
    "maximum_flow": lambda g, v: gasla.maximum_flow(g, v(0), v(4)).value,
    "minimum_cut": lambda g, v: gasla.minimum_cut(g, v(0), v(4)),
    "random_walks": lambda g, v: gasla.random_walks(g, [v(1), v(4), v(1)], 5),
    "node2vec_walks": lambda g, v: gasla.node2vec_walks(g, [v(1), v(4)], 5, p=0.5),
    "walk": lambda g, v: gasla.walk(Fading, g, [v(1), v(4)], 5, appeal={v(1): 1.0}),
    "sample_neighbors": lambda g, v: gasla.sample_neighbors(g, [v(1), v(2)], 2),
    "run": lambda g, v: gasla.run(Hops, g, active=[v(2)], hops={v(2): 0}, compile=False).hops,
    "run of phases": two_phases,
    "prepare": lambda g, v: gasla.prepare(Hops, g, compile=False)(active=[v(2), v(3)], hops={v(2): 0, v(3): 1}).hops,
    "stages.expand": by_stages,
    "stages.start": lambda g, v: stages.start(Hops, g, hops={v(2): 7}).hops,
    "Graph.subgraph": lambda g, v: g.subgraph([v(2), v(0), v(1)]).out.indices,
}
NAMES: dict[str, list[Any]] = {
    "texts": ["JFK", "São Paulo", "", "0", "O'Hare\n", "北京"],
    "large integers": [2**40 + i for i in range(6)],
    "shuffled numbers": [3, 0, 5, 1, 2, 4],
    "from 1": [1, 2, 3, 4, 5, 6],
    "tuples": [(i // 2, i % 2) for i in range(6)],
    "mixed types": ["a", 7, 2.5, (1, 2), None, True],
}


def named(names: list[Any], graph: Graph = PLAIN) -> Graph:
    graph = Graph(graph)
    each = np.fromiter(names, object, len(names))
    graph.naming = Names(each)
    return graph


def named_like(graph: Graph, other: Graph) -> Graph:
    other = Graph(other)
    other.naming = graph.naming
    return other


def assert_same(found: Any, wanted: Any) -> None:
    parts = zip(found, wanted) if isinstance(wanted, tuple) else [(found, wanted)]
    for one, other in parts:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_every_argument_for_vertices_takes_names(call: Callable[[Graph, Any], Any]) -> None:
    wanted = call(PLAIN, int)
    for kind, names in NAMES.items():
        graph = named(names)
        if kind not in ("shuffled numbers", "from 1"):
            assert_same(call(graph, names.__getitem__), wanted)
        assert_same(call(graph, lambda i: graph.vertex(names[i])), wanted)  # noqa: B023
        assert_same(call(graph, np.int32), wanted)


def test_lists_of_vertices_come_as_columns_of_tables_and_sets() -> None:
    names = NAMES["texts"]
    graph, some = named(names), [names[1], names[4]]
    wanted = gasla.random_walks(PLAIN, [1, 4], 5)
    for column in (some, tuple(some), np.array(some), np.array(some, object), pd.Series(some), pl.Series(some)):
        assert_same(gasla.random_walks(graph, column, 5), wanted)
        assert_same(gasla.multi_source_bfs(graph, column), gasla.multi_source_bfs(PLAIN, [1, 4]))
    assert_same(gasla.random_walks(graph, pa.array(some), 5), wanted)
    ranks = gasla.pagerank(PLAIN, personalization={1: 1, 4: 1}).ranks
    for column in (some, set(some), np.array(some)):
        assert_same(gasla.pagerank(graph, personalization=column).ranks, ranks)
    several = gasla.pagerank(graph, personalization=[[names[1]], [names[4], names[1]]]).ranks
    assert_same(several, gasla.pagerank(PLAIN, personalization=[{1: 1}, {1: 1, 4: 1}]).ranks)
    active = gasla.run(Hops, graph, active="JFK", hops={"JFK": 0}, compile=False).hops
    assert_same(active, gasla.run(Hops, PLAIN, active=[0], hops={0: 0}, compile=False).hops)


def test_a_graph_over_ranks_takes_names() -> None:
    spread = distributed.Graph.from_graph(named(NAMES["texts"]), distributed.ThreadRanks(2))
    assert_same(gasla.bfs(spread, "São Paulo").compute(), gasla.bfs(PLAIN, 1))
    assert_same(gasla.sssp(spread, ["JFK", ""]).compute(), gasla.sssp(PLAIN, [0, 2]))
    assert gasla.table(spread, level=gasla.bfs(spread, "JFK"))["vertex"].to_pylist() == NAMES["texts"]
    with pytest.raises(ValueError, match="no vertex is named 'LHR'"):
        gasla.bfs(spread, "LHR")


def test_masks_and_numbers_work_as_without_names() -> None:
    graph = named(NAMES["shuffled numbers"])
    mask = np.array([True, True, False, False, True, False])
    for chosen in (mask, mask.tolist(), np.flatnonzero(mask)):
        assert_same(graph.subgraph(chosen).origin.vertices, [0, 1, 4])
    assert_same(gasla.run(Hops, graph, active=mask, max_iterations=0, compile=False).active.mask, mask)
    assert_same(gasla.random_walks(graph, np.arange(6), 3), gasla.random_walks(PLAIN, np.arange(6), 3))
    assert gasla.random_walks(graph, [], 3).shape == (0, 4)
    texts = named(NAMES["texts"])
    assert_same(gasla.bfs(texts, 1), gasla.bfs(PLAIN, 1))
    assert_same(gasla.random_walks(texts, range(6), 3), gasla.random_walks(PLAIN, range(6), 3))


def test_an_integer_that_is_one_vertex_and_names_another_is_refused() -> None:
    graph = named(NAMES["from 1"])
    message = (
        r"source is 3, the number of the vertex named 4 and the name of vertex 2; pass graph.vertex\(3\) for the name, "
        r"or numpy.int64\(3\) for the number"
    )
    with pytest.raises(ValueError, match=message):
        gasla.bfs(graph, 3)
    assert_same(gasla.bfs(graph, 6), gasla.bfs(PLAIN, 5))  # 6 is only a name
    for call in (
        lambda: gasla.sssp(graph, [3]),
        lambda: gasla.random_walks(graph, [3, 1], 2),
        lambda: gasla.random_walks(graph, np.array([3, 6]), 2),  # 6 is no number: all must be names
        lambda: gasla.pagerank(graph, personalization={3: 1}),
        lambda: gasla.run(Hops, graph, active=[3], compile=False),
        lambda: graph.subgraph([3]),
    ):
        with pytest.raises(ValueError, match="is 3, the number of the vertex named 4"):
            call()
    same = named([0, 1, 2, 3, 9, 5])
    assert_same(gasla.bfs(same, 3), gasla.bfs(PLAIN, 3))  # its name is its number
    assert_same(gasla.bfs(same, 4), gasla.bfs(PLAIN, 4))  # only a number
    assert_same(gasla.bfs(same, 9), gasla.bfs(PLAIN, 4))  # only a name
    assert type(same.vertex(3)) is Number
    assert type(named(NAMES["texts"]).vertex("JFK")) is int


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("JFX", ValueError, r"source: no vertex is named 'JFX'; expected one of 6 names; did you mean 'JFK'\?"),
        ("jfk", ValueError, r"no vertex is named 'jfk'; expected one of 6 names; did you mean 'JFK'\?"),
        ("sao paulo", ValueError, "did you mean 'São Paulo'"),
        (b"JFK", TypeError, r"source is b'JFK'; expected a vertex, by its name \(of type str\) or its number, an int"),
        (None, TypeError, "source is None; expected a vertex"),
        (math.nan, TypeError, "source is nan; expected a vertex"),
        (1.0, TypeError, "source is 1.0; expected a vertex"),
        (True, TypeError, "source is True; expected a vertex"),
        (("JFK",), TypeError, "source is .'JFK',.; expected a vertex"),
        (["JFK"], TypeError, "source is .'JFK'.; expected a vertex"),
        ({"JFK": 1}, TypeError, "expected a vertex"),
        (6, ValueError, "source 6 is outside a graph of 6 vertices$"),
        (-1, ValueError, "source -1 is outside a graph of 6 vertices"),
    ],
)
def test_what_is_no_vertex_is_refused(source: Any, error: type[Exception], message: str) -> None:
    graph = named(NAMES["texts"])
    with pytest.raises(error, match=message):
        gasla.bfs(graph, source)
    with pytest.raises(error):
        gasla.multi_source_bfs(graph, [source])


def test_numbers_of_other_types_are_other_names() -> None:
    graph = named([10, 20, 30, 1, 50, 60])
    for other in (10.0, True, "10"):
        with pytest.raises(TypeError, match="expected a vertex"):
            gasla.bfs(graph, other)
        with pytest.raises(ValueError, match="no vertex is named"):
            graph.vertex(other)
    assert gasla.bfs(graph, np.int16(10))[0] == 0
    nan = math.nan
    odd = named(["a", nan, math.inf, -0.0, frozenset(), 1j])
    assert gasla.bfs(odd, nan)[1] == 0  # the same object
    assert gasla.bfs(odd, frozenset())[4] == 0
    assert gasla.bfs(odd, np.float64(math.inf))[2] == 0
    with pytest.raises(ValueError, match="no vertex is named nan"):
        gasla.bfs(odd, -nan + 0)


def test_two_vertices_of_one_name_are_refused() -> None:
    graph = named(["a", "b", "c", "b", "d", "e"])
    with pytest.raises(ValueError, match="vertices 1 and 3 are both named 'b'; expected distinct names"):
        gasla.bfs(graph, "a")


def test_among_many_names_an_error_finds_a_similar_one() -> None:
    count = 20_001
    graph = Graph.from_edges([0], [1], n=count)
    graph.naming = Names(np.array([f"account-{v}" for v in range(count)], object))
    with pytest.raises(ValueError, match=r"expected one of 20001 names; did you mean 'account-\d+'"):
        gasla.bfs(graph, "accont-20000")
    with pytest.raises(ValueError, match=r"expected one of 20001 names$"):
        gasla.bfs(graph, "x" * 1000)


def test_edges_between_names_are_inserted() -> None:
    graph = Graph.from_table(pa.table({"src": ["x", "y"], "dst": ["y", "z"]}))
    for ends in ((["x"], ["z"]), ([0], ["z"]), (np.array(["x"]), np.array([2]))):
        assert graph.changed(insert=ends).has_edge("x", "z")
    with pytest.raises(ValueError, match="the dst of insert: vertex: no vertex is named 'w'"):
        graph.changed(insert=(["x"], ["w"]))
    with pytest.raises(TypeError, match="the src of insert has type <U1; expected integers; the graph has no names"):
        Graph.from_edges([0], [1]).changed(insert=(["x"], ["z"]))


def test_graphs_without_names_say_so() -> None:
    for call in (
        lambda: gasla.bfs(PLAIN, "JFK"),
        lambda: gasla.run(Hops, PLAIN, active=["JFK"], compile=False),
        lambda: gasla.run(Hops, PLAIN, hops={"JFK": 0}, compile=False),
        lambda: PLAIN.subgraph(["JFK"]),
    ):
        with pytest.raises(TypeError, match="the graph has no names"):
            call()
    nobody = Graph.from_table(pa.table({"src": [2**40], "dst": [5]})).subgraph([])
    with pytest.raises(TypeError, match=r"source is 'a'; expected a vertex, by its name \(of type none\)"):
        gasla.bfs(nobody, "a")
    with pytest.raises(ValueError, match="source 5 is outside a graph of 0 vertices"):
        gasla.bfs(nobody, 5)
    empty = Graph.from_networkx(nx.DiGraph())
    with pytest.raises(TypeError, match="expected the id of a vertex"):
        gasla.bfs(empty, "a")


@given(st.lists(st.one_of(st.text(), st.integers(-9, 2**70), st.booleans(), st.none()), min_size=1, unique=True))
def test_names_of_any_kind_find_their_vertex(names: list[Any]) -> None:
    names = [name for v, name in enumerate(names) if all(name != other for other in names[:v])]  # 1 == True
    graph = Graph.from_edges([], [], n=len(names))
    graph.naming = Names(np.fromiter(names, object, len(names)))
    for v, name in enumerate(names):
        assert graph.vertex(name) == v
        assert_same(
            gasla.run(Hops, graph, active=[graph.vertex(name)], max_iterations=0, compile=False).active.ids, [v]
        )


def test_one_number_is_no_list_of_names() -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 0])
    graph.naming = Names(np.array(["a", "b"], object))
    for call in (gasla.pagerank, gasla.hits, gasla.katz_centrality):
        with pytest.raises(ValueError, match=r"nstart is 1.0; expected \(2,\)"):
            call(graph, nstart=np.array(1.0))
