"""Bipartite graphs of rectangular matrices and tables: their sides, and the functions that use them."""

import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import Graph, io, verify

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
R = np.array([[5, 0, 0, 2], [3, 4, 0, 0], [0, 1, 0, 0]])
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


def host(array: Any) -> np.ndarray:
    return array.get() if hasattr(array, "get") else np.asarray(array)


@pytest.mark.parametrize("form", FORMATS)
def test_rows_and_columns_are_the_sides(form: str) -> None:
    matrix = sp.csr_array(R).asformat(form)
    graph = Graph.from_bipartite(matrix)
    assert (graph.n, graph.names) == (7, None)
    assert graph.sides.tolist() == [0, 0, 0, 1, 1, 1, 1]
    block = graph.to_scipy().toarray()[:3, 3:]
    assert (block == R).all()
    assert graph.m == (5 if form == "dia" else matrix.nnz)  # as in its CSR form
    if form in ("csr", "csc", "coo"):
        assert graph.values.tolist() == matrix.data.tolist()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (1, 5), (5, 1)])
def test_hard_shapes(shape: tuple[int, int]) -> None:
    for dense in (np.zeros(shape), np.ones(shape)):
        graph = Graph.from_bipartite(dense)
        assert (graph.n, graph.m) == (sum(shape), int(dense.sum()))
        assert graph.sides.tolist() == [0] * shape[0] + [1] * shape[1]
        free = shape[0] * shape[1] - graph.m
        found = gasla.negative_edges(graph, free)
        verify.negative_edges(graph, free, found)
        assert gasla.project(graph).n == shape[0]
        assert gasla.project(graph, 1).n == shape[1]
        assert (gasla.maximum_bipartite_matching(graph)[: shape[0]] >= 0).sum() == min(shape) * bool(graph.m)


def test_stored_zeros_and_parallel_entries_are_edges() -> None:
    matrix = sp.coo_array(([0.0, 2.0, 3.0], ([0, 1, 1], [1, 0, 0])), shape=(2, 2))
    matrix.has_canonical_format = True
    graph = Graph.from_bipartite(matrix)
    assert [end.tolist() for end in graph.edges()] == [[0, 1, 1], [3, 2, 2]]
    assert graph.values.tolist() == [0, 2, 3]


def test_names_of_both_sides() -> None:
    graph = Graph.from_bipartite(sp.csr_array(R), rows=["ann", "bob", "cy"], columns=np.array([10, 20, 30, 40]))
    assert graph.names.tolist() == ["ann", "bob", "cy", 10, 20, 30, 40]
    assert gasla.project(graph).names.tolist() == ["ann", "bob", "cy"]
    assert gasla.project(graph, 1).names.tolist() == [10, 20, 30, 40]


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (sp.csr_array(R), {"rows": ["a", "b", "c"]}, "columns is missing; expected names for both sides"),
        (sp.csr_array(R), {"rows": ["a", "b"], "columns": "wxyz"}, "rows has 2 names; expected 3, the number of rows"),
        (sp.csr_array(R), {"rows": "abc", "columns": "axyz"}, "two vertices are named 'a'; expected distinct names"),
        (sp.csr_array(R), {"weight": "w"}, "src, dst, weight and attributes are for a table, and R is a csr_array"),
        ([[1, 2]], {}, "got list; expected a SciPy sparse array"),
        (np.ones(3), {}, "expected a SciPy sparse array"),
    ],
)
def test_what_is_refused(given: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Graph.from_bipartite(given, **options)


def test_the_error_for_a_rectangular_matrix_names_the_way() -> None:
    with pytest.raises(ValueError, match=r"shape \(3, 4\); expected \(n, n\).*Graph\.from_bipartite"):
        Graph(sp.csr_array(R))


def test_sides_are_remembered(tmp_path: Path) -> None:
    graph = Graph.from_bipartite(sp.csr_array(R))
    for made in (graph.symmetrized(semirings.max), graph.reversed(), graph.with_values(None), graph.select([0, 2]),
                 pickle.loads(pickle.dumps(graph)), graph.simple(), graph.changed(remove=[0])):  # fmt: skip
        assert made.sides.tolist() == graph.sides.tolist()
    assert graph.subgraph([4, 0, 3]).sides.tolist() == [1, 0, 1]
    for name in ("a.npz", "a.gasla", "a.graphml", "a.gml"):
        io.write(tmp_path / name, graph)
        assert gasla.as_graph(io.read(tmp_path / name)).sides.tolist() == graph.sides.tolist()
    assert Graph.from_networkx(graph.to_networkx(attributes=True), attributes=True).sides.tolist() == [0] * 3 + [1] * 4
    assert Graph.from_networkx(nx.complete_bipartite_graph(2, 3), attributes=True).sides.tolist() == [0, 0, 1, 1, 1]


def test_graphs_that_do_not_know_their_sides() -> None:
    graph = Graph.from_edges([0, 1], [2, 2])
    assert graph.sides is None
    assert graph.with_vertex_attributes(bipartite=[0, 1, 2]).sides is None
    assert gasla.project(Graph.from_bipartite(sp.csr_array(R))).sides is None  # its edges are within a side
    with pytest.raises(ValueError, match="side is None, and the graph does not know its sides; expected the vertices"):
        gasla.project(graph)
    with pytest.raises(ValueError, match="side is 2; expected 0 or 1, or the vertices of a side"):
        gasla.project(graph, 2)
    wrong = graph.with_vertex_attributes(bipartite=[0, 1, 1])
    for function in (gasla.project, gasla.maximum_bipartite_matching, lambda g: gasla.negative_edges(g, 1)):
        with pytest.raises(ValueError, match="an edge joins 1 and 2, both of one side; expected a bipartite graph"):
            function(wrong)


matrices = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]).map(
        lambda cells: np.array(cells).reshape(shape)
    )
)


@settings(max_examples=60, deadline=None)
@given(matrices, st.integers(0, 2**64 - 1), st.booleans(), st.randoms(use_true_random=False))
def test_functions_stay_on_their_sides(cells: np.ndarray, seed: int, both: bool, random: Any) -> None:
    """Whatever the numbers of the vertices, and whether edges lead one way or both."""
    graph = Graph.from_bipartite(sp.csr_array(cells))
    order = [*range(graph.n)]
    random.shuffle(order)
    graph = (graph.symmetrized(semirings.max) if both else graph).subgraph(order)
    sides = graph.sides
    count = len(cells)
    found = gasla.negative_edges(graph, cells.size - int(cells.sum()), seed=seed)
    verify.negative_edges(graph, found.shape[1], found)
    old = np.array(order)[found]
    assert {*zip(*old.tolist())} == {(i, count + j) for i, j in zip(*np.nonzero(~cells))}
    with pytest.raises(ValueError, match="the number of pairs of vertices without an edge"):
        gasla.negative_edges(graph, found.shape[1] + 1)
    for side, block in ((0, cells), (1, cells.T)):
        made = gasla.project(graph, side)
        same = gasla.project(graph, sides == side)
        assert [end.tolist() for end in made.edges()] == [end.tolist() for end in same.edges()]
        common = block.astype(int) @ block.T
        np.fill_diagonal(common, 0)
        places = np.array(order)[made.origin.vertices] - count * side
        assert (made.to_scipy().toarray() == common[np.ix_(places, places)]).all()
    similar = gasla.top_k_similar(graph, 3).vertices
    assert all(sides[u] == sides[v] for v, row in enumerate(similar) for u in row if u >= 0)
    mate = gasla.maximum_bipartite_matching(graph)
    verify.maximum_bipartite_matching(graph, mate)
    assert all(mate[v] < 0 or sides[mate[v]] != sides[v] for v in range(graph.n))


@pytest.mark.parametrize("device", DEVICES)
def test_on_either_device(device: Any) -> None:
    graph = Graph.from_bipartite(sp.csr_array(R)).to(device)
    assert host(graph.sides).tolist() == [0, 0, 0, 1, 1, 1, 1]
    found = gasla.negative_edges(graph, 7)
    verify.negative_edges(graph.to("cpu"), 7, host(found))
    assert gasla.project(graph).n == 3
    mate = host(gasla.maximum_bipartite_matching(graph))
    assert (mate >= 0).sum() == 6


@pytest.mark.gpu
def test_a_matrix_on_a_gpu() -> None:
    cupyx = pytest.importorskip("cupyx.scipy.sparse")
    graph = Graph.from_bipartite(cupyx.csr_matrix(sp.csr_matrix(R.astype(float))))
    assert graph.device == "gpu" and host(graph.sides).tolist() == [0, 0, 0, 1, 1, 1, 1]


def test_a_table_of_users_and_items() -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"userId": [1, 2, 3], "movieId": [1, 2, 1], "rating": [4.0, 3.5, 5.0]})
    graph = Graph.from_bipartite(table, "userId", "movieId", "rating")
    assert graph.names.tolist() == ["userId 1", "userId 2", "userId 3", "movieId 1", "movieId 2"]
    assert graph.sides.tolist() == [0, 0, 0, 1, 1]
    assert graph.values.tolist() == [4.0, 3.5, 5.0]
    assert gasla.project(graph).names.tolist() == ["userId 1", "userId 2", "userId 3"]
    edges, vertices = graph.to_tables()
    again = Graph.from_table(edges, vertices=vertices)
    assert again.sides.tolist() == graph.sides.tolist()
    with pytest.raises(ValueError, match="rows and columns are for a matrix"):
        Graph.from_bipartite(table, rows=[1, 2, 3], columns=[1, 2])
    with pytest.raises(ValueError, match="expected ids in a column with the title of a side"):
        Graph.from_table(table, "userId", "movieId", "rating", bipartite=True, vertices=vertices)
