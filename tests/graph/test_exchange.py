"""Graphs from and to NetworkX, igraph and edge_index, and as HTML."""

from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semirings
from gasla import Graph

EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(-9, 9)), max_size=20)


@settings(max_examples=60, deadline=None)
@given(EDGES, st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]), st.booleans())
def test_graphs_come_from_and_go_to_networkx(edges: list, kind: type, named: bool) -> None:
    G = kind()
    G.add_nodes_from((f"v{v}" if named else v) for v in range(7))
    G.add_weighted_edges_from((f"v{u}", f"v{v}", w) if named else (u, v, w) for u, v, w in edges)
    graph = Graph.from_networkx(G)
    assert (graph.names is not None) == named
    src, dst = graph.to_edge_index()
    A = np.zeros((7, 7))
    np.add.at(A, (src, dst), 0 if graph.values is None else graph.values)
    np.testing.assert_array_equal(A, nx.to_numpy_array(G))  # which adds parallel edges up
    counts = (
        nx.to_numpy_array(G, weight=None)
        if not G.is_multigraph()
        else nx.to_numpy_array(nx.MultiDiGraph(G), weight=None)
    )
    assert graph.m == counts.sum()
    back = graph.to_networkx(directed=True)
    again = Graph.from_networkx(back).to_networkx(directed=True)
    assert nx.utils.graphs_equal(nx.MultiDiGraph(back), nx.MultiDiGraph(again))
    assert list(back.nodes) == list(G.nodes)
    assert sorted(back.edges(data="weight")) == sorted(nx.MultiDiGraph(G).edges(data="weight"))


@settings(max_examples=60, deadline=None)
@given(EDGES, st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]), st.booleans())
def test_undirected_graphs_come_back_as_they_went(edges: list, kind: type, weighted: bool) -> None:
    G = kind()
    G.add_nodes_from(range(7))
    G.add_weighted_edges_from(edges)
    weight = "weight" if weighted else None
    graph = Graph.from_networkx(G, weight)
    back = graph.to_networkx()
    if not G.is_directed():
        assert not back.is_directed()
        assert list(back.nodes) == list(G.nodes)
        wanted = sorted((min(u, v), max(u, v), w) for u, v, w in G.edges(data=weight or "none"))
        assert sorted((min(u, v), max(u, v), w) for u, v, w in back.edges(data=weight or "none")) == wanted
    again = Graph.from_networkx(back, weight)
    values = [np.ones(one.m) if one.values is None else one.values for one in (graph, again)]
    parts = [np.stack([*one.edges(), weights]) for one, weights in zip((graph, again), values)]
    np.testing.assert_array_equal(*(part[:, np.lexsort(part)] for part in parts))  # nothing is lost
    assert graph.to_networkx(directed=True).is_directed()
    assert back.is_directed() or not graph.to_networkx(directed=False).is_directed()


def test_a_graph_with_directions_is_not_made_undirected() -> None:
    with pytest.raises(ValueError, match="edge 1"):
        Graph.from_edges([0, 0, 1], [1, 2, 0]).to_networkx(directed=False)
    uneven = Graph.from_edges([0, 1, 2, 0], [1, 2, 1, 0], [5, 3, 4, 1])
    assert uneven.to_networkx().is_directed()
    both = Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], [5, 5, 3, 4])
    with pytest.raises(ValueError, match="edge 2, from 1 to 2, has value 3, and its reverse edge 4; expected equal"):
        both.to_networkx(directed=False)
    assert both.to_networkx().is_directed()
    assert not both.symmetrized(semirings.max).to_networkx().is_directed()
    both.values[3] = 3  # written to after the values were compared
    assert list(both.to_networkx().edges(data="weight")) == [(0, 1, 5), (1, 2, 3)]
    for bad in ("yes", 2, []):
        with pytest.raises(TypeError, match=r"directed is .*; expected True, False or None"):
            both.to_networkx(directed=bad)
    assert not Graph.from_edges([], [], n=3).to_networkx().is_directed()


def test_nodes_of_any_kind() -> None:
    G = nx.DiGraph([((0, 1), (1, 1)), ((1, 1), None or frozenset())])
    graph = Graph.from_networkx(G)
    assert graph.names.tolist() == [(0, 1), (1, 1), frozenset()]
    assert graph.vertex((1, 1)) == 1
    assert list(graph.to_networkx().edges) == list(G.edges)
    assert Graph.from_networkx(nx.path_graph(3)).names is None
    assert Graph.from_networkx(nx.Graph()).n == 0


@pytest.mark.parametrize(
    ("weights", "kind"), [([2**63 + 1, 1], "u8"), ([2**63 - 1, -1], "i8"), ([2**53 + 1, 0.5], "f8")]
)
def test_whole_weights_stay_whole(weights: list, kind: str) -> None:
    """NumPy makes floats of integers on both sides of 2**63."""
    G = nx.DiGraph([(0, 1, {"weight": weights[0]}), (1, 2, {"weight": weights[1]})])
    values = Graph.from_networkx(G).values
    assert values.dtype == np.dtype(kind)
    assert values.tolist() == [values.dtype.type(weight) for weight in weights]
    G.add_edge(0, 2, weight=-1)
    G.edges[0, 1]["weight"] = 2**63
    if kind == "u8":
        with pytest.raises(TypeError, match="more than 64 bits"):
            Graph.from_networkx(G)


def test_attributes_of_edges() -> None:
    G = nx.DiGraph()
    G.add_edge(0, 1, weight=2.5)
    G.add_edge(1, 2)
    assert Graph.from_networkx(G).values.tolist() == [2.5, 1]
    assert Graph.from_networkx(G, weight=None).values is None
    assert Graph.from_networkx(G, weight="cost").values is None
    G.add_edge(2, 0, weight="heavy")
    with pytest.raises(TypeError, match="edge 2 has weight 'heavy'; expected a number, or weight=None"):
        Graph.from_networkx(G)
    G.add_edge(2, 0, weight=2**70)
    with pytest.raises(TypeError, match="more than 64 bits"):
        Graph.from_networkx(G)
    with pytest.raises(TypeError, match="G is a list"):
        Graph.from_networkx([])


@settings(max_examples=60, deadline=None)
@given(EDGES, st.booleans(), st.booleans())
def test_graphs_come_from_and_go_to_igraph(edges: list, directed: bool, named: bool) -> None:
    igraph = pytest.importorskip("igraph")
    g = igraph.Graph(7, [edge[:2] for edge in edges], directed=directed)
    g.es["weight"] = [edge[2] for edge in edges]
    if named:
        g.vs["name"] = [f"v{v}" for v in range(7)]
    graph = Graph.from_igraph(g)
    both = edges if directed else [pair for u, v, w in edges for pair in {(u, v, w), (v, u, w)}]
    values = graph.values.tolist() if edges else []
    assert sorted(zip(*graph.to_edge_index().tolist(), values)) == sorted(both)
    assert (None if graph.names is None else graph.names.tolist()) == (g.vs["name"] if named else None)
    back = graph.to_igraph()
    assert back.is_directed()
    assert back.get_edgelist() == list(zip(*graph.to_edge_index().tolist()))
    assert back.vcount() == 7
    assert Graph.from_igraph(g, weight=None).values is None


def test_names_of_igraph_that_are_not() -> None:
    igraph = pytest.importorskip("igraph")
    g = igraph.Graph(2)
    g.vs["name"] = ["a", "a"]
    with pytest.raises(ValueError, match="two vertices have the same name"):
        Graph.from_igraph(g)
    with pytest.raises(TypeError, match="g is a list; expected an igraph graph"):
        Graph.from_igraph([])


class Tensor:
    """What DLPack asks of a tensor."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_graphs_come_from_and_go_to_edge_indexes() -> None:
    ids = np.array([[0, 1, 1], [1, 2, 2]])
    for given_ids in (ids, Tensor(ids), ids.tolist()):
        graph = Graph.from_edge_index(given_ids, [1.5, 2.5, 3.5], n=4)
        assert graph.n == 4
        np.testing.assert_array_equal(graph.to_edge_index(), ids)
        assert graph.to_edge_index().dtype == np.int64
    weights = np.array([1.5, 2.5, 3.5], np.float32)
    np.testing.assert_array_equal(Graph.from_edge_index(Tensor(ids), Tensor(weights)).values, weights)
    assert Graph.from_edge_index([[], []]).n == 0
    with pytest.raises(ValueError, match=r"edge_index has shape \(3, 2\); expected \(2, m\)"):
        Graph.from_edge_index(ids.T)
    with pytest.raises(ValueError, match="outside a graph of 2 vertices"):
        Graph.from_edge_index(ids, n=2)
    with pytest.raises(TypeError, match="expected integers"):
        Graph.from_edge_index(ids * 1.0)


@pytest.mark.gpu
def test_edge_index_on_the_gpu() -> None:
    import cupy

    ids = cupy.array([[0, 1, 1], [1, 2, 2]])
    for given_ids in (ids, Tensor(ids)):
        graph = Graph.from_edge_index(given_ids)
        assert graph.device == "gpu"
        cupy.testing.assert_array_equal(graph.to_edge_index(), ids)
    assert graph.to_networkx().number_of_edges() == 3
    assert "<svg" in graph._repr_html_()
    pytest.importorskip("pyarrow", reason="tables need pyarrow")
    assert graph.named(x=cupy.arange(3)).num_rows == 3


@pytest.mark.parametrize(
    "graph", [Graph.from_edges([], []), Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 1], [1, 2, 3, 4])]
)
def test_html_shows_the_counts(graph: Graph) -> None:
    text = graph._repr_html_()
    root = ElementTree.fromstring(text)  # well formed
    assert [cell.text for cell in root.iter("td")][:2] == [f"{graph.n}", f"{graph.m}"]
    titles = [title.text for title in root.iter("title")]
    assert titles == (
        []
        if not graph.n
        else ["2 vertices with 0 out-edges", "1 vertices with 1 out-edges", "1 vertices with 2-3 out-edges"]
    )


def test_html_escapes_names() -> None:
    text = Graph.from_networkx(nx.DiGraph([("<script>", "b&c")]))._repr_html_()
    assert "<script>" not in text
    ElementTree.fromstring(text)
