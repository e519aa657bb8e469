"""GraphML and GML: what NetworkX writes is read with names and attributes, and what gasla writes comes back."""

import itertools
import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import gasla
from gasla import Graph, io

SUFFIXES = ["graphml", "gml", "graphml.gz", "gml.xz"]


def edges_of(graph: Graph, name: str | None = None) -> list[Any]:
    """(source, target, number) of each edge, in order of the ends."""
    column = graph.values if name is None else graph.edge_attributes[name]
    names = np.arange(graph.n) if graph.names is None else graph.names
    src, dst = (names[ends].tolist() for ends in graph.edges())
    return sorted(zip(src, dst, [None] * graph.m if column is None else column.tolist(), strict=True))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_graph_comes_back(tmp_path: Path, suffix: str, named: bool, weighted: bool) -> None:
    graph = Graph.from_edges([2, 0, 0, 1, 3], [0, 1, 1, 1, 0], n=5)
    if named:
        graph = Graph.from_networkx(nx.MultiDiGraph([("x", "y"), ("x", "y"), ("z", "z"), ("ä b", "x"), ("y", "10")]))
    graph = graph.with_edge_attributes(big=2**40 + np.arange(5), x=[0.1, 2.0, 1e300, np.inf, -4.5])
    graph = graph.with_vertex_attributes(population=[5, 4, 3, 2, 1])
    graph = graph.with_values([1.5, 2.5, 3.5, 4.5, 5.0]) if weighted else graph
    io.write(tmp_path / f"a.{suffix}", graph)
    found = io.read(tmp_path / f"a.{suffix}")
    assert (found.n, found.m, found.values is not None) == (5, 5, weighted)
    assert (found.names is not None) == named
    for name in (None, "big", "x"):
        assert edges_of(found, name) == edges_of(graph, name)
    assert found.vertex_attributes["population"].tolist() == [5, 4, 3, 2, 1]
    assert edges_of(io.read(tmp_path / f"a.{suffix}", weight="big")) == edges_of(graph, "big")


@pytest.mark.parametrize("suffix", ["graphml", "gml"])
def test_undirected_graphs_of_networkx_have_both_directions(tmp_path: Path, suffix: str) -> None:
    G = nx.Graph()
    G.add_edge("a", "b", weight=2, kind="road", length=1.5)
    G.add_edge("b", "b", weight=3, length=2)
    G.nodes["a"]["height"] = 7  # of one vertex alone, so no column
    path = tmp_path / f"a.{suffix}"
    (nx.write_gml if suffix == "gml" else nx.write_graphml)(G, path)
    with pytest.warns(UserWarning, match=r"left out, .*: 'kind' of edge 0 is 'road', 'height' of vertex 1 is missing"):
        graph = io.read(path)
    assert edges_of(graph) == [("a", "b", 2), ("b", "a", 2), ("b", "b", 3)]
    assert edges_of(graph, "length") == [("a", "b", 1.5), ("b", "a", 1.5), ("b", "b", 2.0)]
    assert [*graph.edge_attributes] == ["length"]
    assert not graph.vertex_attributes
    assert gasla.sssp(graph, graph.vertex("a")).tolist() == [0, 2]


def test_gml_without_labels_and_empty_graphs(tmp_path: Path) -> None:
    path = tmp_path / "a.gml"
    path.write_text("graph [ node [ id 7 ] node [ id 9 ] edge [ source 7 target 9 ] ]")
    assert edges_of(io.read(path)) == [(7, 9, None), (9, 7, None)]
    for suffix in SUFFIXES:
        io.write(tmp_path / f"none.{suffix}", Graph.from_edges([], [], n=3))
        assert io.read(tmp_path / f"none.{suffix}").n == 3
    folder = io.convert(path, tmp_path / "a.gasla")
    assert folder.names.tolist() == [7, 9]


@pytest.mark.parametrize("suffix", ["graphml", "gml"])
@pytest.mark.parametrize("text", ["", "graph", "<graphml>", "0 1\n1 2\n"])
def test_damaged_files_are_refused(tmp_path: Path, suffix: str, text: str) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_text(text)
    with pytest.raises(io.FormatError, match="expected G"):
        io.read(path)


@pytest.mark.parametrize("text", ["graph 1 [ ]", "graph [ node [ id 0 label 3 ] node 4 ]", "graph [ " + "a [ " * 3000])
def test_damaged_files_at_which_networkx_stumbles_are_refused(tmp_path: Path, text: str) -> None:
    """The last one by lists in lists deeper than Python calls functions."""
    (tmp_path / "a.gml").write_text(text)
    with pytest.raises(io.FormatError, match=r"can't be read as GML .*; expected GML"):
        io.read(tmp_path / "a.gml")


@pytest.mark.parametrize("suffix", ["graphml", "gml"])
@pytest.mark.parametrize(
    ("values", "kind"), [([2**64 - 1, 0], "u8"), ([2**63 - 1, -(2**63)], "i8"), ([0.5, 2**63], "f8"), ([1, 0], "u8")]
)
def test_integers_of_64_bits_come_back(tmp_path: Path, suffix: str, values: list, kind: str) -> None:
    io.write(tmp_path / f"a.{suffix}", Graph.from_edges([0, 1], [1, 0], np.array(values, kind)))
    found = io.read(tmp_path / f"a.{suffix}").values
    assert found.tolist() == values and (found.dtype == kind or values[0] == 1)


@pytest.mark.parametrize("other", ["3", "2.5", "36893488147419103232"])
def test_integers_of_more_bits_are_floats(tmp_path: Path, other: str) -> None:
    text = "graph [ directed 1 node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 weight {} ] {} ]"
    second = f"edge [ source 1 target 0 weight {other} ]"
    (tmp_path / "a.gml").write_text(text.format(36893488147419103232, second))
    assert io.read(tmp_path / "a.gml").values.tolist() == [2.0**65, float(other)]
    (tmp_path / "a.gml").write_text(text.format(10**400, second))
    with pytest.raises(io.FormatError, match="has an attribute beyond float64"):
        io.read(tmp_path / "a.gml")


def test_names_that_a_format_lacks_are_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    graph = Graph.from_table(pa.table({"src": ["a", ""], "dst": ["b\x01", "c"]}))
    with pytest.raises(ValueError, match=r"a.graphml: the name 'b\\x01' has a character that XML lacks"):
        io.write(tmp_path / "a.graphml", graph)
    with pytest.raises(ValueError, match=r"a.csv: the name of vertex 1 is empty, which a csv file can't hold"):
        io.write(tmp_path / "a.csv", graph)
    assert not any(tmp_path.iterdir())
    io.write(tmp_path / "a.parquet", graph)
    assert io.read(tmp_path / "a.parquet").names.tolist() == graph.names.tolist()


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_edges([0], [1], [2]).with_edge_attributes({"not a key": [1]})
    with pytest.raises(ValueError, match=r"a.gml: .*not a key"):
        io.write(tmp_path / "a.gml", graph)
    assert not (tmp_path / "a.gml").exists()
    with pytest.raises(ValueError, match="'weight' has the name of the values"):
        io.write(tmp_path / "a.graphml", graph.with_edge_attributes(weight=[3]))
    io.write(tmp_path / "a.graphml", graph)
    with pytest.raises(ValueError, match="no edge attribute; there are 'not a key'"):
        io.read(tmp_path / "a.graphml", weight="key")
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(ImportError, match=r"pip install 'gasla\[networkx\]'"):
        io.read(tmp_path / "a.graphml")


def test_ids_of_gml_that_are_no_integers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.gml"
    path.write_text("graph [ node [ id 0 label 0.5 ] node [ id 1 label 1 ] edge [ source 0 target 1 ] ]")
    with pytest.raises(io.FormatError, match=r"has a node 0\.5; expected integers or texts as ids"):
        io.read(path)


# --- files of other tools ---------------------------------------------------------------------------------------------


def of_igraph(format: str, path: Path) -> None:
    """A file that igraph writes, with text beyond ASCII, parallel edges, equal labels, and numbers in its own forms."""
    igraph = pytest.importorskip("igraph")
    g = igraph.Graph([(0, 1), (0, 1), (1, 2), (2, 2)], directed=False)
    g.vs["label"] = ["Zürich", "b", "b"]
    g.es["weight"] = [1e20, 2.5, -1e-7, 3.0]
    g.es["time"] = [float("inf"), float("-inf"), 1e-300, 0.5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of infinity
        getattr(g, f"write_{format}")(str(path))


@pytest.mark.parametrize("format", ["gml", "graphml"])
def test_files_of_igraph_are_read(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    of_igraph(format, path)
    with pytest.warns(UserWarning, match="named by their ids, not their labels|'label' of vertex 0 is 'Zürich'"):
        graph = io.read(path)
    assert (graph.n, graph.m) == (3, 7)
    assert sorted(graph.values.tolist()) == [-1e-7, -1e-7, 2.5, 2.5, 3, 1e20, 1e20]
    assert sorted(graph.edge_attributes["time"].tolist()) == [-np.inf] * 2 + [1e-300] * 2 + [0.5] + [np.inf] * 2


def test_a_warning_of_labels_names_the_line_that_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.gml"
    path.write_text('graph [ node [ id 0 label "a" ] node [ id 1 label "a" ] edge [ source 0 target 1 ] ]')
    with pytest.warns(UserWarning, match="vertices are named by their ids, not their labels") as warned:
        io.read(path)
    assert {warning.filename for warning in warned} == {__file__}


GML = {
    "gephi": 'Creator "Gephi"\r\ngraph\r\n[\r\n  Creator "graph [ x"\r\n  directed 0\r\n  node\r\n  [\r\n    id 0\r\n'
    '    label "Zürich"\r\n  ]\r\n  node\r\n  [\r\n    id 1\r\n    label "b"\r\n  ]\r\n  edge\r\n  [\r\n    id 0\r\n'
    "    source 0\r\n    target 1\r\n    value 1.0\r\n  ]\r\n  edge [ id 1 source 1 target 0 value 2.0 ] ]\r\n",
    "comments": '# it is "mine\ngraph [ directed 0 # one\nnode [ id 0 label "Zürich" ] node [ id 1 label "b" ]\n'
    'edge [ id 0 source 0 target 1 value 1.0 note "a\n\n#b" ] edge [ id 1 source 1 target 0 value 2.0 note "" ] ]',
}


@pytest.mark.parametrize("text", GML.values(), ids=GML)
def test_gml_in_utf8_with_parallel_edges_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.gml"
    for content in (text.encode(), b"\xef\xbb\xbf" + text.encode()):
        path.write_bytes(content)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            graph = io.read(path)
        assert all("'note' of edge 0" in str(warning.message) for warning in said)
        assert edges_of(graph, "value") == [
            ("Zürich", "b", 1.0), ("Zürich", "b", 2.0), ("b", "Zürich", 1.0), ("b", "Zürich", 2.0)
        ]  # fmt: skip
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(io.FormatError, match=r"line \d+: has the byte 0xfc, which is not UTF-8; .* `iconv -f latin1"):
        io.read(path)


HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
NODES = '<node id="a"/><node id="b"/><node id="c"/>'


def graphml(path: Path, edges: str, keys: str = "", default: str = "undirected", nodes: str = NODES) -> Path:
    path.write_text(f'{HEAD}{keys}<graph edgedefault="{default}">{nodes}{edges}</graph></graphml>')
    return path


@pytest.mark.parametrize("default", ["directed", "undirected"])
def test_edges_of_graphml_may_differ_in_direction(tmp_path: Path, default: str) -> None:
    def edge(ends: str, directed: str = "") -> str:
        return f'<edge id="e" source="{ends[0]}" target="{ends[1]}"{directed}><data key="w">7</data></edge>'

    key = '<key id="w" for="edge" attr.name="weight" attr.type="int"/>'
    for one, other in itertools.product(("", ' directed="true"', ' directed="false"'), repeat=2):
        path = graphml(tmp_path / "a.graphml", edge("ab", one) + edge("bc", other) + edge("cc", one), key, default)
        expected = [("c", "c", 7)]
        for ends, said in (("ab", one), ("bc", other)):
            is_directed = "true" in said if said else default == "directed"
            expected += [(u, v, 7) for u, v in (ends, ends[::-1])[: 1 if is_directed else 2]]
        assert edges_of(io.read(path)) == sorted(expected)


def test_what_networkx_passes_over_or_merges_is_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.graphml"
    keys = (
        '<key id="k" for="edge" attr.name="key" attr.type="int"/><key id="i" for="all" attr.name="id" attr.type="int">'
    )
    keys += "<default>4</default></key>"
    twice = '<edge id="same" source="a" target="b"><data key="k">5</data></edge>' * 2
    graph = io.read(graphml(path, twice, keys, "directed"))
    assert edges_of(graph, "key") == [("a", "b", 5)] * 2
    assert graph.edge_attributes["id"].tolist() == [4, 4] and graph.vertex_attributes["id"].tolist() == [4, 4, 4]
    inner = '<node id="a"><graph edgedefault="directed"><node id="b"/><edge source="b" target="c"/></graph></node>'
    graph = io.read(graphml(path, '<edge source="a" target="b"/>', nodes=inner + '<node id="c"/>'))
    assert edges_of(graph) == [("a", "b", None), ("b", "a", None), ("b", "c", None)]
    for edges, nodes, message in (
        ('<edge source="a"/>', NODES, "edge 0 has the target None; expected the id of a node"),
        ('<edge source="a" target="b"/><edge source="a" target="x"/>', NODES, "edge 1 has the target 'x'"),
        ("", NODES + '<node id="b"/>', "node 3 has the id 'b'; expected one that no other node has"),
        ("", "<node/>", "node 0 has the id None"),
        ("", NODES + '</graph><graph edgedefault="directed">', "has 2 graphs, and gasla reads one"),
        ("<hyperedge/>", NODES, "GraphML reader doesn't support hyperedges"),
    ):
        with pytest.raises(io.FormatError, match=message) as error:
            io.read(graphml(path, edges, nodes=nodes))
        assert "damaged" not in str(error.value)
