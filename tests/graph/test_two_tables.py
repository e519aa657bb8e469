"""A table of edges with a table of vertices: joined to a graph, and made of one; against NetworkX and by hand."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gasla import Graph, io

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow: pip install 'gasla[arrow]'")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

write_csv = pytest.importorskip("pyarrow.csv").write_csv
write_table = pytest.importorskip("pyarrow.parquet").write_table

KINDS = ("arrow", "pandas", "polars")
TOWNS = {"name": ["Bern", "Bonn", "Oslo", "Rome"], "height": [540, 60, 23, 21]}
TRIPS = {"from": ["Oslo", "Rome"], "to": ["Rome", "Bonn"], "weight": [5, 3]}


def table_of(kind: str, columns: dict[str, Any]) -> Any:
    return {"arrow": pa.table, "pandas": pd.DataFrame, "polars": pl.DataFrame}[kind](columns)


def named_edges(graph: Graph) -> list[tuple[Any, ...]]:
    src, dst = (end if graph.names is None else graph.names[end] for end in graph.edges())
    return [*zip(src.tolist(), dst.tolist(), graph.values.tolist() if graph.values is not None else [None] * graph.m)]


@pytest.mark.parametrize("kind", KINDS)
def test_vertices_have_the_order_of_their_table(kind: str) -> None:
    graph = Graph.from_table(table_of(kind, TRIPS), vertices=table_of(kind, TOWNS))
    assert graph.names.tolist() == TOWNS["name"]  # Bern has no edge
    assert graph.vertex_attributes["height"].tolist() == TOWNS["height"]
    assert named_edges(graph) == [("Oslo", "Rome", 5), ("Rome", "Bonn", 3)]
    assert graph.vertex("Rome") == 3


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 5).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, max(n - 1, 0))] * 2), max_size=8 * bool(n)))
    ),
    st.sampled_from(["none", "texts", "integers"]),
    st.booleans(),
    st.sampled_from(KINDS),
)
def test_two_tables_give_the_graph_back(sized: Any, names: str, weighted: bool, kind: str) -> None:
    n, pairs = sized
    src, dst = (np.array([pair[end] for pair in pairs], np.int64) for end in (0, 1))
    numbers = np.arange(len(pairs))
    graph = Graph.from_edges(src, dst, numbers * 0.5 if weighted else None, n=n)
    graph = graph.with_edge_attributes(day=numbers, late=numbers % 2 == 0).with_vertex_attributes(height=np.arange(n))
    if names != "none" and n:
        each = [f"v{i}" for i in range(n)] if names == "texts" else [10 * (i + 1) for i in range(n)]
        vertices = pa.table({"vertex": each, "height": [*range(n)]})
        columns = {
            "src": [each[v] for v in src],
            "dst": [each[v] for v in dst],
            "day": numbers,
            "late": numbers % 2 == 0,
        }
        columns |= {"weight": numbers * 0.5} if weighted else {}
        if len(pairs):
            graph = Graph.from_table(pa.table(columns), attributes=True, vertices=vertices)
    edges, vertices = graph.to_tables(kind)
    back = Graph.from_table(edges, attributes=True, vertices=vertices)
    assert (back.n, back.m, named_edges(back)) == (graph.n, graph.m, named_edges(graph))
    assert (back.names is None) == (graph.names is None)
    assert back.names is None or back.names.tolist() == graph.names.tolist()
    for attributes, others in (
        (back.edge_attributes, graph.edge_attributes),
        (back.vertex_attributes, graph.vertex_attributes),
    ):
        assert {name: c.tolist() for name, c in attributes.items()} == {name: c.tolist() for name, c in others.items()}


def test_ids_that_are_numbers_in_order_are_no_names() -> None:
    trips = pa.table({"src": [0, 2], "dst": [2, 0]})
    assert Graph.from_table(trips, vertices=pa.table({"id": [0, 1, 2, 3]})).names is None
    assert Graph.from_table(trips, names=True, vertices=pa.table({"id": [0, 1, 2]})).names.tolist() == [0, 1, 2]
    other = Graph.from_table(trips, vertices=pa.table({"id": [2, 0, 1]}))
    assert other.names.tolist() == [2, 0, 1]
    assert [end.tolist() for end in other.edges()] == [[1, 0], [0, 1]]
    wide = Graph.from_table(pa.table({"u": [2**40], "v": [-7]}), vertices=pa.table({"id": [-7, 2**40]}))
    assert [end.tolist() for end in wide.edges()] == [[1], [0]]
    with pytest.raises(ValueError, match=r"does not hold 0, 1, … in this order.*names=False"):
        Graph.from_table(trips, names=False, vertices=pa.table({"id": [2, 0, 1]}))


@pytest.mark.parametrize(
    ("titles", "chosen"),
    [
        (["height", "Id", "Label"], "Id"),
        (["personId:ID(Person)", "name", ":LABEL"], "personId:ID(Person)"),
        (["name", "age"], "name"),
        (["NODE_ID", "x"], "NODE_ID"),
        (["town"], "town"),
    ],
)
def test_the_column_of_ids_is_found_by_its_title(titles: list[str], chosen: str) -> None:
    columns = {title: ["a", "b"] if title == chosen else [1.5, 2.5] for title in titles}
    graph = Graph.from_table(pa.table({"src": ["b"], "dst": ["a"]}), vertices=pa.table(columns))
    assert graph.names.tolist() == ["a", "b"]
    assert [*graph.vertex_attributes] == [title for title in titles if title != chosen]


@pytest.mark.parametrize(
    ("vertices", "more", "message"),
    [
        ({"name": ["Oslo", "Rome"]}, {}, "edge 1 has the end 'Bonn', which column 'name' of the vertices lacks"),
        ({"name": ["Oslo", "Rome", "Bonn", "Rome"]}, {}, "column 'name' of the vertices holds 'Rome' more than once"),
        ({"name": ["Oslo", None, "Bonn"]}, {}, "row 1 of column 'name' is null"),
        ({"a": ["Oslo"], "b": ["Rome"]}, {}, "nothing says which column holds the ids of vertices; there are 0 'a', 1"),
        ({"name": ["Oslo"]}, {"vertex": "nam"}, "did you mean 'name'"),
        ({"id": [1, 2, 3]}, {}, "holds int64, and the ends of edges are text; expected one kind"),
    ],
)
def test_what_can_not_be_joined_is_named(vertices: dict[str, Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Graph.from_table(pa.table(TRIPS), vertices=pa.table(vertices), **more)


def test_columns_that_hold_no_numbers_are_left_out_with_a_warning() -> None:
    towns = TOWNS | {"land": ["CH", "DE", "NO", "IT"], "mayor": [1.5, None, 2.5, 3.5]}
    with pytest.warns(
        UserWarning, match=r"columns of vertices are left out.*'land' \(string\), 'mayor' \(row 1 is null\)"
    ):
        graph = Graph.from_table(pa.table(TRIPS), vertices=pa.table(towns))
    assert [*graph.vertex_attributes] == ["height"]
    with pytest.warns(UserWarning, match=r"columns are left out.*'by' \(string\)"):
        graph = Graph.from_table(pa.table(TRIPS | {"day": [1, 2], "by": ["bus", "car"]}), attributes=True)
    assert [*graph.edge_attributes] == ["day"]


@pytest.mark.parametrize("kind", KINDS)
def test_gephi_calls_edges_undirected(kind: str) -> None:
    """Gephi's table of edges: Type says which lead both ways; `undirected` decides for all."""
    columns = {"Source": ["a", "b", "c"], "Target": ["b", "c", "c"], "Type": ["Directed", "Undirected", "Undirected"]}
    columns |= {"Id": [0, 1, 2], "Weight": [1.5, 2.5, 3.5]}
    graph = Graph.from_table(table_of(kind, columns), attributes=["Id"])
    assert named_edges(graph) == [("a", "b", 1.5), ("b", "c", 2.5), ("c", "b", 2.5), ("c", "c", 3.5)]
    assert graph.edge_attributes["Id"].tolist() == [0, 1, 1, 2]
    assert Graph.from_table(table_of(kind, columns), undirected=False).m == 3
    assert Graph.from_table(table_of(kind, columns), undirected=True).m == 5
    assert Graph.from_table(table_of(kind, columns | {"Type": ["Directed", "Undirected", "road"]})).m == 3
    with pytest.raises(ValueError, match="row 1 of column 'Type' is null"):
        Graph.from_table(table_of(kind, columns | {"Type": ["Directed", None, "Undirected"]}))


def test_undirected_rows_are_those_of_networkx() -> None:
    rng = np.random.default_rng(0)
    pairs = [tuple(pair) for pair in rng.integers(0, 6, (12, 2)).tolist()]
    G = nx.MultiGraph()
    G.add_nodes_from(range(6))
    G.add_edges_from((u, v, {"weight": w}) for w, (u, v) in enumerate(pairs))
    table = pa.table({"src": [u for u, _ in pairs], "dst": [v for _, v in pairs], "weight": [*range(12)]})
    graph = Graph.from_table(table, undirected=True, vertices=pa.table({"id": [*range(6)]}))
    assert sorted(named_edges(graph)) == sorted(named_edges(Graph.from_networkx(G)))


def test_the_values_of_a_graph_may_be_an_attribute() -> None:
    table = pa.table({"src": [0, 1], "dst": [1, 2], "hours": [1.5, 2.5]})
    graph = Graph.from_table(table, weight="hours", attributes=["hours"], undirected=True)
    assert graph.values is graph.edge_attributes["hours"]
    edges, _ = graph.to_tables()
    assert edges.column_names == ["src", "dst", "weight", "hours"]
    with pytest.raises(ValueError, match="edge attribute 'SRC' has the name of another column"):
        graph.with_edge_attributes(SRC=[1, 2, 3, 4]).to_tables()
    with pytest.raises(ValueError, match="vertex attribute 'vertex' has the name of the column of ids"):
        graph.with_vertex_attributes(vertex=[1, 2, 3]).to_tables()
    with pytest.raises(ValueError, match="as_ is 'json'; expected 'arrow', 'pandas' or 'polars'"):
        graph.to_tables("json")


RATED = {"userId": [1, 1, 2], "movieId": [10, 20, 20], "weight": [5.0, 3.0, 4.0]}
MOVIES = {"movieId": [30, 20, 10], "year": [2000, 1990, 1980], "title": ["C", "B", "A"]}
USERS = {"age": [40, 50], "userId": [2, 1], "year": [1, 2]}


@pytest.mark.parametrize("form", ["table", "csv", "parquet"])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.filterwarnings("ignore:columns of vertices are left out")
def test_each_of_two_sides_may_have_a_table(tmp_path: Path, form: str, both: bool) -> None:
    tables = [pa.table(MOVIES), pa.table(USERS)][: 1 + both]
    given: Any = tables
    if form != "table":
        given = [tmp_path / f"{place}.{form}" for place in range(len(tables))]
        for path, table in zip(given, tables):
            write_csv(table, path) if form == "csv" else write_table(table, path)
    given = given if both else given[0]
    write_csv(pa.table(RATED), tmp_path / "ratings.csv")
    graphs = [io.read(tmp_path / "ratings.csv", bipartite=True, weight="weight", vertices=given)]
    if form == "table":
        graphs.append(Graph.from_table(pa.table(RATED), bipartite=True, vertices=given))
    users = ["userId 2", "userId 1"] if both else ["userId 1", "userId 2"]
    for graph in graphs:
        assert graph.names.tolist() == [*users, "movieId 30", "movieId 20", "movieId 10"]
        assert graph.sides.tolist() == [0, 0, 1, 1, 1]
        years = [1, 2] if both else [np.nan] * 2
        np.testing.assert_array_equal(graph.vertex_attributes["year"], [*years, 2000, 1990, 1980])
        if both:
            np.testing.assert_array_equal(graph.vertex_attributes["age"], [40, 50, *[np.nan] * 3])
        assert named_edges(graph) == [
            ("userId 1", "movieId 10", 5), ("userId 1", "movieId 20", 3), ("userId 2", "movieId 20", 4),
        ]  # fmt: skip


def test_a_table_of_neither_side_is_refused() -> None:
    rated = pa.table(RATED)
    for table in (pa.table({"id": [10, 20]}), pa.table({"movie": [10, 20], "year": [1, 2]})):
        with pytest.raises(ValueError, match=r"'userId 1' and 'movieId 10', .* in a column with the title of a side"):
            Graph.from_table(rated, bipartite=True, vertices=table)
    with pytest.raises(ValueError, match="end 'movieId 20', which column 'movieId' of the vertices lacks"):
        Graph.from_table(rated, bipartite=True, vertices=pa.table({"movieId": [10]}))
    with pytest.raises(ValueError, match="two tables of vertices have ids called 'userId'"):
        Graph.from_table(rated, bipartite=True, vertices=[pa.table(USERS)] * 2)
    with pytest.raises(ValueError, match="the table has no rows"):
        Graph.from_table(rated[:0], bipartite=True, vertices=pa.table(USERS))


def test_the_cells_of_a_first_row_are_shown_where_it_may_have_titles(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("from,to\nx,y\n")
    (tmp_path / "b.csv").write_text("IBAN,Country\nx,NL\ny,DE\n")
    with pytest.raises(ValueError, match="which column holds the ids of vertices; there are 0 'IBAN', 1 'Country'"):
        io.read(tmp_path / "a.csv", vertices=tmp_path / "b.csv")
    with pytest.warns(UserWarning, match="'Country'"):
        assert io.read(tmp_path / "a.csv", vertices=tmp_path / "b.csv", vertex="IBAN").names.tolist() == ["x", "y"]


def test_titles_may_be_in_the_comment_above_the_rows(tmp_path: Path) -> None:
    """As STRING writes them."""
    (tmp_path / "a.tsv").write_text("#node1\tnode2\tscore\nTP53\tMDM2\t0.9\nMDM2\tATM\t0.5\n")
    (tmp_path / "b.tsv").write_text("#protein_id\tsize\nATM\t5\nMDM2\t6\nTP53\t7\n")
    found = io.read(tmp_path / "a.tsv", src="node1", dst="node2", weight="score", vertices=tmp_path / "b.tsv",
                    vertex="protein_id")  # fmt: skip
    assert named_edges(found) == [("TP53", "MDM2", 0.9), ("MDM2", "ATM", 0.5)]
    assert found.vertex_attributes["size"].tolist() == [5, 6, 7]
    (tmp_path / "c.tsv").write_text("# of 2026\na\tb\t1\n")
    with pytest.raises(ValueError, match="column 'score' does not exist"):
        io.read(tmp_path / "c.tsv", src=0, dst=1, weight="score")
