"""Files in the style of other tools' exports, made here: what is read, and what is refused by name."""

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from gasla import Graph, io
from gasla.graph.io import FormatError

igraph = pytest.importorskip("igraph")


def edges(graph: Graph) -> list[tuple[Any, ...]]:
    src, dst = (end if graph.names is None else graph.names[end] for end in graph.edges())
    values = [None] * graph.m if graph.values is None else graph.values.tolist()
    return sorted(zip(src.tolist(), dst.tolist(), values), key=str)


def read(path: Path, text: Any, **options: Any) -> Graph:
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return io.read(path, **options)


# --- GEXF -----------------------------------------------------------------------------------------------------------

GEPHI = """<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://gexf.net/1.3" version="1.3" xmlns:viz="http://gexf.net/1.3/viz">
<meta lastmodifieddate="2026-01-01"><creator>Gephi 0.10</creator></meta>
<graph defaultedgetype="undirected" mode="static">
<attributes class="node" mode="static">
<attribute id="deg" title="degree" type="integer"><default>7</default></attribute>
<attribute id="hub" title="is_hub" type="boolean"/></attributes>
<attributes class="edge" mode="static"><attribute id="d" title="day" type="double"/></attributes>
<nodes count="3"><node id="0" label="Myriel"><attvalues><attvalue for="deg" value="3"/>
<attvalue for="hub" value="true"/></attvalues><viz:size value="3"/></node>
<node id="1" label="Zoé"><attvalues><attvalue for="hub" value="false"/></attvalues></node>
<node id="2" label="Count"><attvalues><attvalue for="hub" value="0"/></attvalues></node></nodes>
<edges count="2"><edge id="0" source="0" target="1" weight="2.5">
<attvalues><attvalue for="d" value="4"/></attvalues></edge>
<edge id="7" source="1" target="2" type="directed"><attvalues><attvalue for="d" value="5.5"/></attvalues></edge></edges>
</graph></gexf>"""


def test_gephis_gexf(tmp_path: Path) -> None:
    graph = read(tmp_path / "a.gexf", GEPHI)
    assert graph.names.tolist() == ["Myriel", "Zoé", "Count"]
    assert edges(graph) == [("Myriel", "Zoé", 2.5), ("Zoé", "Count", 1.0), ("Zoé", "Myriel", 2.5)]
    assert graph.vertex_attributes["degree"].tolist() == [3, 7, 7]  # by the default
    assert graph.vertex_attributes["is_hub"].tolist() == [True, False, False]
    assert sorted(graph.edge_attributes["day"].tolist()) == [4, 4, 5.5]
    with pytest.warns(UserWarning, match="vertices are named by their ids, not their labels: two are equal"):
        assert read(tmp_path / "a.gexf", GEPHI.replace("Zoé", "Count")).vertex_attributes["degree"].tolist() == [
            3,
            7,
            7,
        ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('target="1"', 'target="9"', "edge 0 has the target '9'; expected the id of a node"),
        ('id="1" label', 'id="0" label', "node 1 has the id '0'; expected one that no other node has"),
        ('for="deg" value="3"', 'for="deg" value=""', "node '0' has degree ''; expected a value of type integer"),
        ('weight="2.5"', 'weight="heavy"', "weight 'heavy'; expected a number"),
        ("</gexf>", "", "can't be read as GEXF"),
        ("<graph ", "<picture ", "mismatched tag|has no element graph"),
    ],
)
def test_damaged_gexf(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GEPHI
    with pytest.raises(FormatError, match=said):
        read(tmp_path / "a.gexf", GEPHI.replace(old, new))


@pytest.mark.parametrize("directed", [True, False])
def test_networkxs_gexf_and_json(tmp_path: Path, directed: bool) -> None:
    G = nx.gnm_random_graph(8, 20, seed=1, directed=directed)
    for place, (u, v) in enumerate(G.edges):
        G[u][v]["weight"] = place / 2
    expected = edges(Graph.from_networkx(G))
    nx.write_gexf(G, tmp_path / "a.gexf")
    graph = io.read(tmp_path / "a.gexf")
    assert edges(graph) == expected
    for name, data in (("a", nx.node_link_data(G, edges="edges")), ("b", nx.node_link_data(G, edges="links")),
                       ("c", nx.cytoscape_data(G))):  # fmt: skip
        assert edges(read(tmp_path / f"{name}.json", data)) == expected, name
    io.write(tmp_path / "d.json", Graph.from_networkx(G))
    back = nx.node_link_graph(json.loads((tmp_path / "d.json").read_text()), edges="edges")
    assert edges(Graph.from_networkx(back)) == expected
    nx.write_pajek(G, tmp_path / "a.net")
    assert edges(io.read(tmp_path / "a.net")) == expected


# --- JSON -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"nodes": [{"id": "a", "group": 1}, {"id": "b", "group": 2}],
          "links": [{"source": "a", "target": "b", "value": 3}]}, [("a", "b", None)]),  # d3
        ({"nodes": [{"name": "a", "group": 1}, {"name": "b", "group": 2}], "links": [{"source": 0, "target": 1}]},
         [("a", "b", None)]),  # of d3 3
        ({"nodes": [{"id": "b"}, {"id": "a"}], "links": [{"source": 0, "target": 1}]}, [("b", "a", None)]),
        ({"nodes": [{}, {}], "links": [{"source": 1, "target": 0, "weight": 5}]}, [(1, 0, 5)]),
        ({"elements": {"nodes": [{"data": {"id": "a", "name": "a"}, "position": {"x": 1}}, {"data": {"id": "b"}}],
                       "edges": [{"data": {"id": "e", "source": "a", "target": "b", "weight": 2.5}}]}},
         [("a", "b", 2.5)]),  # Cytoscape
        ({"elements": [{"group": "nodes", "data": {"id": "a"}}, {"group": "nodes", "data": {"id": "b"}},
                       {"group": "edges", "data": {"source": "a", "target": "b"}}]}, [("a", "b", None)]),
        ([{"data": {"id": "a"}}, {"data": {"id": "b"}}, {"data": {"source": "b", "target": "a"}}], [("b", "a", None)]),
        ({"options": {"type": "undirected"}, "nodes": [{"key": "a", "attributes": {"x": 1}}, {"key": "b"}],
          "edges": [{"key": "e", "source": "a", "target": "b", "attributes": {"weight": 2}}]},
         [("a", "b", 2), ("b", "a", 2)]),  # graphology
        ({"graph": {"directed": False, "nodes": {"a": {}, "b": {}}, "edges": [{"source": "a", "target": "b"}]}},
         [("a", "b", None), ("b", "a", None)]),  # JGF
        ({"directed": False, "nodes": [{"id": 7}, {"id": 8}], "edges": [{"source": 7, "target": 8, "weight": 1.5}]},
         [(7, 8, 1.5), (8, 7, 1.5)]),
        ({"nodes": [], "links": []}, []),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*attributes are left out")
def test_json_of_many_tools(tmp_path: Path, content: Any, expected: list[Any]) -> None:
    assert edges(read(tmp_path / "a.json", content)) == expected


def test_attributes_in_json(tmp_path: Path) -> None:
    content = {
        "nodes": [{"id": "a", "group": 1}, {"id": "b", "group": 2}],
        "links": [{"source": "a", "target": "b", "value": 3}],
    }
    graph = read(tmp_path / "a.json", content)
    assert graph.vertex_attributes["group"].tolist() == [1, 2] and graph.edge_attributes["value"].tolist() == [3]
    assert read(tmp_path / "a.json", content, weight="value").values.tolist() == [3]
    with pytest.raises(ValueError, match="JSON can't store a value"):
        io.write(tmp_path / "b.json", Graph.from_edges([0], [1], [np.nan]))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[1, 2", "expected JSON"),
        ({"a": 1}, "has the keys 'a'; expected lists of nodes and of links or edges"),
        (5, "is 5; expected lists"),
        ([1], "is a list of other things"),
        ({"nodes": [1], "links": []}, "node 0 is 1; expected an object"),
        ({"nodes": [{"id": "a"}, {"id": "a"}], "links": []}, "node 1 has the id 'a'; expected one that no other"),
        ({"nodes": [{"id": "a"}, {"id": None}], "links": []}, "node 1 has the id None"),
        ({"nodes": [{"id": "a"}, {}], "links": []}, "node 1 has the id None"),
        ({"nodes": [{"id": "a"}], "links": [{"source": "a", "target": "z"}]}, "edge 0 has the target 'z'"),
        ({"nodes": [{"id": "a"}], "links": [{"source": "a"}]}, "edge 0 has the target None"),
        (
            {"nodes": [{"id": "a"}], "links": [{"source": "a", "target": "a", "weight": None}]},
            "weight None; expected a",
        ),
        ({"nodes": [{"id": "a"}], "links": [{"source": "a", "target": "a", "weight": "5"}]}, "weight '5'; expected a"),
        ({"nodes": [{"id": [1]}], "links": []}, "can't be read as JSON"),
    ],
)
def test_damaged_json(tmp_path: Path, content: Any, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        read(tmp_path / "a.json", content)


# --- Pajek, SIF, DOT ------------------------------------------------------------------------------------------------


def test_pajek(tmp_path: Path) -> None:
    text = """% of a person
*Vertices 4
1 "New York" 0.1 0.2 ellipse ic Red
2 "b" 0.3 0.4
3 c 0.5 0.6 box
4 "d" 0 0
*Arcs :1 "likes"
1 2 2.5
*Edges
2 3 4 w 3 c Blue
*Arcslist
3 1 2
"""
    graph = read(tmp_path / "a.net", text)
    assert edges(graph) == [
        ("New York", "b", 2.5),
        ("b", "c", 4.0),
        ("c", "New York", 1.0),
        ("c", "b", 1.0),
        ("c", "b", 4.0),
    ]
    assert graph.names.tolist() == ["New York", "b", "c", "d"]
    assert graph.vertex_attributes["x"].tolist() == [0.1, 0.3, 0.5, 0]
    two = read(tmp_path / "b.net", "*Vertices 3 1\r\n*Matrix\r\n0 1 2\r\n0 0 0\r\n1 0 0\r\n")
    assert edges(two) == [(0, 1, 1), (0, 2, 2), (2, 0, 1)] and two.sides.tolist() == [0, 1, 1]
    for wrong, said in (
        ("1 5\n", r"line 3: vertex '5'; expected 1 to 2"),
        ("1 2 x\n", "weight 'x'; expected a number"),
        ("1\n", "expected `from to`"),
        ("*Vertices 2\n", r"'\*Vertices'; expected \*Vertices first"),
    ):
        with pytest.raises(FormatError, match=said):
            read(tmp_path / "a.net", f"*Vertices 2\n*Arcs\n{wrong}")
    for wrong, said in (("1 2\n", r"line 1: '1 2'; expected `\*Vertices COUNT`"), ("", "has no line `")):
        with pytest.raises(FormatError, match=said):
            read(tmp_path / "a.net", wrong)


def test_sif(tmp_path: Path) -> None:
    graph = read(tmp_path / "a.sif", "a pp b c\nd\n\nb pd a\n")
    assert graph.names.tolist() == ["a", "b", "c", "d"]
    assert edges(graph) == [("a", "b", None), ("a", "c", None), ("b", "a", None)]
    assert edges(read(tmp_path / "a.sif", "A 1\tpp\tB 2\tC\n", undirected=True)) == [
        ("A 1", "B 2", None), ("A 1", "C", None), ("B 2", "A 1", None), ("C", "A 1", None)]  # fmt: skip
    with pytest.raises(FormatError, match="line 2: 'a b'; expected `source relation target`, or one name"):
        read(tmp_path / "a.sif", "a x b\na b\n")


def test_dot(tmp_path: Path) -> None:
    text = r"""/* of a person */ strict digraph "g" {
  // looks
  rankdir=LR; node [shape=box, size=2]; edge [weight=2]
  a -> {b c} -> "say \"d\"" [day=3]; subgraph cluster_0 { label="x"; e [size=5] }
  "Zoé":n -> e:p:s [weight=4.5 day=7]
}"""
    with pytest.warns(UserWarning, match="'shape' of vertex 0 is 'box'"):
        graph = read(tmp_path / "a.dot", text)
    assert graph.names.tolist() == ["a", "b", "c", 'say "d"', "e", "Zoé"]
    assert edges(graph) == [
        ("Zoé", "e", 4.5),
        ("a", "b", 2.0),
        ("a", "c", 2.0),
        ("b", 'say "d"', 2.0),
        ("c", 'say "d"', 2.0),
    ]
    assert graph.edge_attributes["day"].tolist() == [3, 3, 3, 3, 7]
    assert graph.vertex_attributes["size"].tolist() == [2, 2, 2, 2, 5, 2]
    assert edges(read(tmp_path / "b.gv", "graph { a -- b -- c; 1 -- .5 }")) == sorted(
        [("a", "b", None), ("b", "a", None), ("b", "c", None), ("c", "b", None), ("1", ".5", None), (".5", "1", None)],
        key=str,
    )
    for wrong, said in (
        ("graph { a -> b }", "'->'; expected -- in this kind"),
        ("digraph { a -> }", "'}'; expected a name"),
        ("digraph { a ", "'the end'"),
        ("digraph {\n a\n [", "line 3: 'the end'"),
        ('digraph { "a }', "is a quote or a bracket not closed"),
        ("flow { }", "expected 'graph' or 'digraph'"),
        ("graph{} graph{}", "gasla reads one graph a file"),
        ("\ndigraph {\n a -> b [weight=x];\n}", "weight 'x'; expected a number"),
    ):
        with pytest.raises(FormatError, match=said):
            read(tmp_path / "c.dot", wrong)


# --- KONECT ---------------------------------------------------------------------------------------------------------


def test_konect(tmp_path: Path) -> None:
    graph = read(tmp_path / "out.ego", "% sym positive\n% 3 4 4\n1 2 5 100\n2 3 1 200\n3 3 2 300\n")
    assert graph.n == 4  # as the second line says
    assert edges(graph) == [(0, 1, 5), (1, 0, 5), (1, 2, 1), (2, 1, 1), (2, 2, 2)]
    assert graph.edge_attributes["time"].tolist() == [100, 100, 200, 200, 300]
    graph = read(tmp_path / "out.rates", "% bip weighted\n% 2 2 3\n1 1 0.5\n2 3 1\n")
    assert edges(graph) == [(0, 2, 0.5), (1, 4, 1.0)] and graph.sides.tolist() == [0, 0, 1, 1, 1]
    assert edges(read(tmp_path / "out.links", "% asym unweighted\n1 2 1 77\n3 1 1 78\n")) == [
        (0, 1, None),
        (2, 0, None),
    ]
    for text, said in (
        ("% sym positive\n1 2 x\n", "line 2: 'x'; expected a number"),
        ("% tree x\n", "expected `% KIND WEIGHTS`"),
        ("% sym positive\n0 2\n", "line 2: vertex '0'"),
        ("% sym positive\n% 5 2 2\n1 2\n", "5 edges, and 1"),
        ("% sym positive\n1 2 3 4 5\n", "expected `from to"),
    ):
        with pytest.raises(FormatError, match=said):
            read(tmp_path / "out.bad", text)


# --- igraph's own files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("suffix", ["graphml", "gml"])
def test_igraphs_own_files(tmp_path: Path, suffix: str, directed: bool) -> None:
    made = igraph.Graph([(0, 1), (1, 2), (1, 2)], directed=directed)
    made.vs["name"], made.vs["height"] = ["Zürich", "b", "c"], [1.5, 2.5, 3.5]
    made.es["weight"] = [1.5, 2.5, 3.5]
    path = tmp_path / f"a.{suffix}"
    getattr(made, f"write_{suffix}")(str(path))
    graph = io.read(path)
    assert edges(graph) == edges(Graph.from_igraph(made))
    assert graph.names.tolist() == ["Zürich", "b", "c"]
    assert graph.vertex_attributes["height"].tolist() == [1.5, 2.5, 3.5]


# --- folders of Parquet files ---------------------------------------------------------------------------------------


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "edges.parquet"
    folder.mkdir()
    for part in range(3):
        table = pa.table({"src": [f"v{part}"], "dst": [f"v{part + 1}"], "weight": [part / 2], "day": [part]})
        parquet.write_table(table, folder / f"part-{part:05}-aa.snappy.parquet")
    (folder / "_SUCCESS").write_text("")
    graph = io.read(folder, attributes=["day"])
    assert edges(graph) == [("v0", "v1", 0.0), ("v1", "v2", 0.5), ("v2", "v3", 1.0)]
    assert graph.edge_attributes["day"].tolist() == [0, 1, 2]
    assert io.convert(folder, tmp_path / "a.gasla").m == 3
    (folder / "part-00001-aa.snappy.parquet").write_bytes(b"PAR1")
    with pytest.raises(FormatError, match="damaged"):
        io.read(folder)


# --- Neo4j, and NetworkX's edge lists -------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "gasla"])
def test_neo4js_export_with_typed_headers(tmp_path: Path, suffix: str) -> None:
    people = tmp_path / "people.csv"
    people.write_text("personId:ID(Person),name,age:int,:LABEL\np1,Ann,30,Person\np2,Bob,40,Person\np3,Cy,50,Person\n")
    path = tmp_path / "knows.csv"
    path.write_text(
        ":START_ID(Person),since:int,weight:double,:END_ID(Person),:TYPE\np1,1999,0.5,p2,KNOWS\np3,2001,1.5,p1,KNOWS\n"
    )
    with pytest.warns(UserWarning, match="columns of vertices are left out.*'name'.*':LABEL'"):
        graph = io.read(path, attributes=["since"], vertices=people)
    assert graph.names.tolist() == ["p1", "p2", "p3"]
    assert edges(graph) == [("p1", "p2", 0.5), ("p3", "p1", 1.5)]
    assert graph.edge_attributes["since"].tolist() == [1999, 2001]
    assert graph.vertex_attributes["age"].tolist() == [30, 40, 50]
    by_year = io.read(path, weight="since", src=":START_ID(Person)", dst=":END_ID(Person)", attributes=["since"])
    assert by_year.values is by_year.edge_attributes["since"]
    path.write_text(":START_ID,:END_ID,weight:double\np1,p2,\n")
    with pytest.raises(FormatError, match=r"'weight:double' is null|column 'weight:double' holds ''"):
        io.read(path)


@pytest.mark.parametrize("named", [True, False])
def test_networkxs_edge_lists(tmp_path: Path, named: bool) -> None:
    G = nx.DiGraph()
    G.add_edge("a" if named else 0, "b" if named else 2, weight=2.5, day=3)
    G.add_edge("b" if named else 2, "c" if named else 1, weight=1.5, day=4)
    path = tmp_path / "a.edgelist"
    nx.write_edgelist(G, path)
    graph = io.read(path)
    assert not named or edges(graph) == edges(Graph.from_networkx(G))
    assert sorted(graph.values.tolist()) == [1.5, 2.5] and sorted(graph.edge_attributes["day"].tolist()) == [3, 4]
    assert (graph.names is None) == (not named)
    if not named:
        assert edges(graph) == [(0, 2, 2.5), (2, 1, 1.5)]
    nx.write_edgelist(nx.path_graph(3), path)  # {} everywhere
    assert edges(io.read(path, undirected=True)) == edges(Graph.from_networkx(nx.path_graph(3)))
    path.write_text("0 1 {'weight': 2}\n1 2 {'weight': 3\n")
    with pytest.raises(FormatError, match=r"line 2: .*expected `source target"):
        io.read(path)
    path.write_text("0 1 {'weight': 2}\n1 2 {'weight': None}\n")
    with pytest.raises(FormatError, match="weight None; expected a number"):
        io.read(path)


# --- every value missing in every place -----------------------------------------------------------------------------

MISSING = {
    "json": ('{"nodes": [{"id": "a", "h": 1}, {"id": "b", "h": 2}, {"id": "c", "h": 3}], "links": [%s]}',
             '{"source": "a", "target": "b", "weight": %s, "day": %s}', ("null", '""', '"x"')),
    "dot": ("digraph { a [h=1]; b [h=2]; c [h=3]; %s }", "a -> b [weight=%s, day=%s];", ('""', '"x"')),
    "gexf": ('<gexf><graph defaultedgetype="directed"><attributes class="edge">'
             '<attribute id="d" title="day" type="long"/></attributes><nodes><node id="a"/><node id="b"/>'
             '<node id="c"/></nodes><edges>%s</edges></graph></gexf>',
             '<edge source="a" target="b" weight="%s"><attvalues><attvalue for="d" value="%s"/></attvalues></edge>',
             ("", "x")),
    "net": ('*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n*Arcs\n%s', "1 2 %s %s\n", ("x",)),
}  # fmt: skip


@pytest.mark.parametrize("suffix", MISSING)
@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_weight_that_is_there_but_empty_is_an_error(tmp_path: Path, suffix: str, row: int) -> None:
    whole, edge, empties = MISSING[suffix]
    between = ", " if suffix == "json" else ""
    good = [edge % (weight, 10) for weight in (7, 5, 3)]
    assert sorted(read(tmp_path / f"a.{suffix}", whole % between.join(good)).values.tolist()) == [3, 5, 7]
    for empty in empties:
        rows = [*good]
        rows[row] = edge % (empty, 10)
        with pytest.raises(FormatError, match=r"weight|1 2 x"):
            read(tmp_path / f"a.{suffix}", whole % between.join(rows))


@pytest.mark.parametrize("suffix", ["json", "dot"])
@pytest.mark.parametrize("row", [0, 1, 2])
def test_an_attribute_of_some_edges_is_left_out_with_a_warning(tmp_path: Path, suffix: str, row: int) -> None:
    whole, edge, _ = MISSING[suffix]
    between = ", " if suffix == "json" else ""
    rows = [edge % (weight, 10) for weight in (7, 5, 3)]
    rows[row] = rows[row].replace(', "day": 10', "").replace(", day=10", "")
    with pytest.warns(UserWarning, match=f"'day' of edge {row} is missing"):
        graph = read(tmp_path / f"a.{suffix}", whole % between.join(rows))
    assert not graph.edge_attributes and sorted(graph.values.tolist()) == [3, 5, 7]
