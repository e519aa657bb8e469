"""Graphs from and to NetworkX, igraph and edge_index, and as HTML."""

from typing import Any
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semirings
from gasla import Graph
from gasla.graph.exchange.vertex_names import Names

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
    with pytest.warns(UserWarning, match="1 edge has no 'weight', the first from 1 to 2, and others have one"):
        assert Graph.from_networkx(G).values.tolist() == [2.5, 1]
    assert Graph.from_networkx(G, weight=None).values is None
    assert Graph.from_networkx(G, weight="cost").values is None
    G.add_edge(2, 0, weight="heavy")
    G.add_edge(1, 2, weight=1)
    for odd in ("heavy", None, ""):
        G.add_edge(2, 0, weight=odd)
        with pytest.raises(
            TypeError, match=f"from 2 to 0 has weight {odd!r}; expected a number, .* weight=None ignores"
        ):
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
    back = graph.to_igraph(directed=True)
    assert back.is_directed()
    assert back.get_edgelist() == list(zip(*graph.to_edge_index().tolist()))
    assert back.vcount() == 7
    again = Graph.from_igraph(graph.to_igraph())
    assert sorted(zip(*again.to_edge_index().tolist(), again.values.tolist() if edges else [])) == sorted(both)
    assert directed or not graph.to_igraph().is_directed()
    assert Graph.from_igraph(g, weight=None).values is None


def test_names_of_igraph_that_are_not() -> None:
    igraph = pytest.importorskip("igraph")
    g = igraph.Graph(2)
    g.vs["name"] = ["a", "a"]
    with pytest.raises(ValueError, match="two vertices have the same name"):
        Graph.from_igraph(g)
    with pytest.raises(TypeError, match="g is a list; expected an igraph graph"):
        Graph.from_igraph([])


KINDS = st.sampled_from(["bool", "int64", "uint64", "float64"])


@st.composite
def attributed(draw: Any) -> Graph:
    """A graph with attributes of edges and vertices; with parallel edges, loops, names and values, or without."""
    edges = draw(EDGES)
    src, dst, weights = (np.array([edge[i] for edge in edges], np.int64) for i in range(3))
    names = draw(st.sampled_from([None, "strings", "tuples"]))
    graph = Graph.from_edges(src, dst, weights if draw(st.booleans()) else None, n=7)
    if names is not None:
        each = np.fromiter((f"v{v}" if names == "strings" else (v, "v") for v in range(7)), object, 7)
        graph.naming = Names(each)
    columns = []
    for count in (graph.m, graph.n):
        kinds = draw(st.dictionaries(st.sampled_from(["amount", "time", "a b"]), KINDS, max_size=3))
        columns.append({name: np.array(draw(_column(kind, count)), kind) for name, kind in kinds.items()})
    return graph.with_edge_attributes(columns[0]).with_vertex_attributes(columns[1])


def _column(kind: str, count: int) -> Any:
    numbers = {
        "bool": st.booleans(),
        "int64": st.integers(-(2**63), 2**63 - 1),
        "uint64": st.integers(2**63, 2**64 - 1),
        "float64": st.floats(),
    }
    return st.lists(numbers[kind], min_size=count, max_size=count)


def rows_of(graph: Graph) -> list[tuple]:
    """The edges with their values and attributes, as text, in which NaN equals NaN."""
    columns = [*graph.edges(), *([] if graph.values is None else [graph.values])]
    columns += [graph.edge_attributes[name] for name in sorted(graph.edge_attributes)]
    return list(zip(*(map(repr, column.tolist()) for column in columns)))


def assert_same_attributes(graph: Graph, again: Graph) -> None:
    """All attributes with their types, and the same names."""
    assert (graph.names is None) == (again.names is None)
    assert graph.names is None or graph.names.tolist() == again.names.tolist()
    assert again.vertex_attributes.types == graph.vertex_attributes.types
    for name, column in graph.vertex_attributes.items():
        np.testing.assert_array_equal(again.vertex_attributes[name], column)
    if graph.m:
        assert again.edge_attributes.types == graph.edge_attributes.types
    if graph.values is not None and graph.m:
        assert again.values.dtype == graph.values.dtype


@settings(max_examples=40, deadline=None)
@given(attributed())
def test_attributes_go_to_networkx_and_come_back(graph: Graph) -> None:
    directed = graph.to_networkx(directed=True, attributes=True)
    again = Graph.from_networkx(directed, attributes=True)
    assert_same_attributes(graph, again)
    assert sorted(rows_of(again)) == sorted(rows_of(graph))
    either = Graph.from_networkx(graph.to_networkx(attributes=True), attributes=True)  # nothing is lost
    assert sorted(rows_of(either)) == sorted(rows_of(graph))


def test_symmetric_graphs_become_undirected_in_igraph() -> None:
    pytest.importorskip("igraph")
    ends = [0, 1, 1, 2, 2], [1, 0, 2, 1, 2]
    graph = Graph.from_edges(*ends, [5, 5, 3, 3, 7])
    theirs = graph.to_igraph()
    assert not theirs.is_directed()
    assert (theirs.get_edgelist(), theirs.es["weight"]) == ([(0, 1), (1, 2), (2, 2)], [5, 3, 7])
    again = Graph.from_igraph(theirs)
    assert (again.to_scipy() != graph.to_scipy()).nnz == 0
    assert graph.to_igraph(directed=True).ecount() == 5
    assert graph.with_values([5, 4, 3, 3, 7]).to_igraph().is_directed()
    with pytest.raises(ValueError, match="edge 0, from 0 to 1, has value 5, and its reverse edge 4"):
        graph.with_values([5, 4, 3, 3, 7]).to_igraph(directed=False)
    uneven = graph.with_edge_attributes(t=[1, 2, 3, 3, 4])
    assert not uneven.to_igraph().is_directed()
    assert uneven.to_igraph(attributes=["t"]).is_directed()


@settings(max_examples=40, deadline=None)
@given(attributed())
def test_attributes_go_to_igraph_and_come_back_in_order(graph: Graph) -> None:
    pytest.importorskip("igraph")
    names = graph.names
    if names is not None and not isinstance(names[0], str):
        return  # names of igraph are strings
    # Without `directed`, a symmetric graph becomes undirected, and its edges come back in the order of igraph.
    again = Graph.from_igraph(graph.to_igraph(directed=True, attributes=True), attributes=True)
    assert_same_attributes(graph, again)
    assert rows_of(again) == rows_of(graph)


@settings(max_examples=60, deadline=None)
@given(EDGES.filter(bool), st.sampled_from([nx.Graph, nx.MultiGraph]), st.booleans())
def test_undirected_edges_have_their_attributes_both_ways(edges: list, kind: type, by_igraph: bool) -> None:
    G = kind()
    G.add_nodes_from(range(7))
    G.add_edges_from((u, v, {"amount": w, "time": -w}) for u, v, w in edges)
    if by_igraph:
        igraph = pytest.importorskip("igraph")
        g = igraph.Graph(7, [(u, v) for u, v in G.edges()])
        g.es["amount"] = [w for *_, w in G.edges(data="amount")]
        g.es["time"] = [-w for *_, w in G.edges(data="amount")]
        graph = Graph.from_igraph(g, attributes=["amount", "time"])
    else:
        graph = Graph.from_networkx(G, attributes=["amount", "time"])
    assert (graph.edge_attributes["amount"] == -graph.edge_attributes["time"]).all()
    back = graph.to_networkx(attributes=True)
    assert not back.is_directed()

    def rows(G: nx.Graph) -> list:
        return sorted((min(u, v), max(u, v), w) for u, v, w in G.edges(data="amount"))

    assert rows(back) == rows(G)


def test_unequal_attributes_make_a_directed_graph() -> None:
    both = Graph.from_edges([0, 1, 0, 1], [1, 0, 1, 0]).with_edge_attributes(amount=[1, 1, 2, 2], time=[5, 6, 6, 5])
    assert not both.to_networkx(attributes=["amount"]).is_directed()
    assert not both.to_networkx(attributes=["time"]).is_directed()
    assert not both.to_networkx().is_directed()
    assert both.to_networkx(attributes=True).is_directed()  # amounts and times differ as pairs
    with pytest.raises(ValueError, match="have different attributes; expected equal ones, directed=True, or fewer"):
        both.to_networkx(directed=False, attributes=True)
    nan = Graph.from_edges([0, 1], [1, 0]).with_edge_attributes(x=[np.nan, np.nan])
    assert not nan.to_networkx(attributes=True).is_directed()


def test_attributes_are_chosen_by_name() -> None:
    G = nx.DiGraph([("a", "b", {"weight": 2, "amount": 5, "note": "rent"}), ("b", "a", {"weight": 3, "amount": 7})])
    G.add_node("a", age=30, city="Oslo")
    G.add_node("b", age=40, amount=1.5)
    with pytest.warns(UserWarning, match="left out, .* everywhere: 'amount' of vertex 0 is missing$"):
        graph = Graph.from_networkx(G, attributes=True)
    assert [*graph.edge_attributes] == ["amount"]
    assert [*graph.vertex_attributes] == ["age"]
    del G.nodes["b"]["amount"]
    assert graph.values.tolist() == [2, 3]
    assert not Graph.from_networkx(G).edge_attributes
    assert not Graph.from_networkx(G, attributes=[]).vertex_attributes
    kept = Graph.from_networkx(G, attributes=["weight", "amount"][:1])
    assert kept.edge_attributes["weight"] is kept.values  # as for tables
    assert Graph.from_networkx(kept.to_networkx(attributes=True), attributes=["weight"]).values.tolist() == [2, 3]
    by_amount = Graph.from_networkx(G, "amount", attributes=True)
    assert [*by_amount.edge_attributes] == ["weight"]
    with pytest.raises(ValueError, match="'weight' has the name of the values; rename it, or leave it out"):
        by_amount.to_networkx(attributes=True)
    assert by_amount.to_networkx().edges["a", "b"] == {"weight": 5}
    with pytest.raises(ValueError, match=r"attributes has 'ages', which no edge or vertex has; there are .*'age'"):
        Graph.from_networkx(G, attributes=["ages"])
    with pytest.raises(ValueError, match=r"attributes has 'ages', which no edge or vertex has; there are 'amount'"):
        graph.to_networkx(attributes=["ages"])
    with pytest.raises(TypeError, match="edge 0 has note 'rent'; expected a number, or another list of attributes"):
        Graph.from_networkx(G, attributes=["note"])
    with pytest.raises(TypeError, match="vertex 0 has city 'Oslo'; expected a number, or another list"):
        Graph.from_networkx(G, attributes=["city"])
    for bad in ("age", 1, None):
        with pytest.raises(TypeError, match=r"attributes is .*; expected True for all, or a list of names"):
            graph.to_networkx(attributes=bad)


def test_attributes_of_igraph() -> None:
    igraph = pytest.importorskip("igraph")
    g = igraph.Graph(2, [(0, 1)], directed=True)
    g.vs["name"], g.vs["age"], g.es["weight"], g.es["note"] = ["a", "b"], [30, 40], [2.5], ["rent"]
    graph = Graph.from_igraph(g, attributes=True)
    assert ([*graph.edge_attributes], [*graph.vertex_attributes]) == ([], ["age"])
    assert graph.values.tolist() == [2.5]
    with pytest.raises(TypeError, match="edge 0 has note 'rent'; expected a number"):
        Graph.from_igraph(g, attributes=["note"])
    with pytest.raises(ValueError, match="attributes has 'name', which no edge or vertex has"):
        Graph.from_igraph(g, attributes=["name"])
    with pytest.raises(ValueError, match="'name' would become the names of vertices; rename it"):
        graph.with_vertex_attributes(name=[1, 2]).to_igraph(attributes=True)
    with pytest.raises(ValueError, match="'weight' has the name of the values"):
        graph.with_edge_attributes(weight=[1]).to_igraph(attributes=["weight"])


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
