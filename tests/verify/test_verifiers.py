"""The verifiers accept right answers, which SciPy and NetworkX give here, and reject every way of spoiling one."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, dijkstra

import gasla
from gasla import verify
from gasla.verify import VerificationError

Array = np.ndarray[Any, Any]
SOURCE = 0
GRAPHS = ["directed", "undirected", "path", "islands", "multigraph", "star"]


def graph_named(name: str) -> csr_array | coo_array:
    """Small graphs on which vertex 0 reaches something, with positive integer weights; all of the same types."""
    matrix = _graph_named(name)
    if matrix.format == "csr":
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


def _graph_named(name: str) -> csr_array | coo_array:
    rng = np.random.default_rng(sum(map(ord, name)))
    n = 40
    if name == "path":
        return csr_array((np.arange(1.0, n), (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
    if name == "star":
        rows, cols = np.zeros(n - 1, int), np.arange(1, n)
        return coo_array((np.ones(2 * n - 2), (np.r_[rows, cols], np.r_[cols, rows])), shape=(n, n)).tocsr()
    src, dst = rng.integers(0, n, 90), rng.integers(0, n, 90)
    if name == "islands":  # edges stay among 0, 3, 6 ... or among 1, 4, 7 ...; the other vertices have none
        src, dst = src // 3 * 3, dst // 3 * 3
        src[30:60], dst[30:60] = np.minimum(src[30:60] + 1, n - 3), np.minimum(dst[30:60] + 1, n - 3)
    keep = src != dst
    if name == "multigraph":  # self loops stay and edges repeat
        src, dst = np.r_[src, src[:20], [5, 6]], np.r_[dst, dst[:20], [5, 6]]
        keep = np.ones(src.size, bool)
    src, dst = np.r_[0, src[keep]], np.r_[6, dst[keep]]
    weights = rng.integers(1, 6, src.size).astype(float)
    if name == "multigraph":
        return coo_array((weights, (src, dst)), shape=(n, n))
    matrix = csr_array((weights, (src, dst)), shape=(n, n))
    return csr_array(matrix.maximum(matrix.T)) if name == "undirected" else matrix


def simple(matrix: Any) -> csr_array:
    """Parallel edges replaced by the lightest of them, for libraries that would add them up."""
    coo = matrix.tocoo()
    order = np.lexsort((coo.data, coo.col, coo.row))
    row, col, data = coo.row[order], coo.col[order], coo.data[order]
    first = np.r_[True, (np.diff(row) != 0) | (np.diff(col) != 0)]
    return csr_array((data[first], (row[first], col[first])), shape=coo.shape)


def right_bfs(matrix: Any) -> tuple[Array, Array]:
    levels = dijkstra(simple(matrix), indices=SOURCE, unweighted=True)
    _, parents = breadth_first_order(simple(matrix), SOURCE)
    parents = np.where(parents < 0, -1, parents)
    parents[SOURCE] = SOURCE
    return np.where(np.isinf(levels), -1, levels).astype(np.int32), parents.astype(np.int32)


def right_sssp(matrix: Any) -> tuple[Array, Array]:
    distances, parents = dijkstra(simple(matrix), indices=SOURCE, return_predecessors=True)
    parents = np.where(parents < 0, -1, parents)
    parents[SOURCE] = SOURCE
    return distances, parents


def right_components(matrix: Any) -> Array:
    _, piece = connected_components(matrix, directed=True, connection="weak")
    _, first = np.unique(piece, return_index=True)
    rank = np.empty(first.size, int)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[piece]


def undirected(matrix: Any) -> nx.Graph:
    graph = nx.Graph(nx.from_scipy_sparse_array(csr_array(matrix)))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def right_triangles(matrix: Any) -> Array:
    counts = nx.triangles(undirected(matrix))
    return np.array([counts[v] for v in range(matrix.shape[0])])


def changed(values: Array, where: int | Array, to: Any) -> Array:
    copy = values.copy()
    copy[where] = to
    return copy


def reached(values: Array) -> int:
    """A vertex that is reached, and not the source: the farthest one."""
    finite = np.where(np.isfinite(values), values, -1)
    return int(np.argmax(finite))


@pytest.mark.parametrize("name", GRAPHS)
def test_bfs_accepts_scipys_answer(name: str) -> None:
    matrix = graph_named(name)
    verify.bfs(matrix, SOURCE, *right_bfs(matrix))


BAD_LEVELS: dict[str, Callable[[Array], Array]] = {
    "source not at 0": lambda x: changed(x, SOURCE, 1),
    "source unreached": lambda x: changed(x, SOURCE, -1),
    "a second zero": lambda x: changed(x, reached(x), 0),
    "too far": lambda x: changed(x, reached(x), x[reached(x)] + 1),
    "too near": lambda x: changed(x, reached(x), max(x[reached(x)] - 1, 0)),
    "far too far": lambda x: changed(x, reached(x), 1000),
    "dropped": lambda x: changed(x, reached(x), -1),
    "below -1": lambda x: changed(x, reached(x), -2),
    "all shifted": lambda x: np.where(x >= 0, x + 1, x),
    "all unreached": lambda x: np.full_like(x, -1),
    "all zero": np.zeros_like,
    "too short": lambda x: x[:-1],
    "floats": lambda x: x.astype(float),
    "reversed": lambda x: x[::-1].copy(),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("how", BAD_LEVELS)
def test_bfs_rejects_wrong_levels(name: str, how: str) -> None:
    matrix = graph_named(name)
    levels, _ = right_bfs(matrix)
    with pytest.raises(VerificationError):
        verify.bfs(matrix, SOURCE, BAD_LEVELS[how](levels))


@pytest.mark.parametrize("name", ["directed", "islands", "path"])
def test_bfs_rejects_every_change_of_one_level(name: str) -> None:
    matrix = graph_named(name)
    levels, _ = right_bfs(matrix)
    for vertex in range(levels.size):
        for to in {-1, 0, *range(1, int(levels.max()) + 2)} - {int(levels[vertex])}:
            with pytest.raises(VerificationError):
                verify.bfs(matrix, SOURCE, changed(levels, vertex, to))


@pytest.mark.parametrize("name", ["directed", "path", "undirected"])
def test_bfs_with_a_limit(name: str) -> None:
    matrix = graph_named(name)
    levels, parents = right_bfs(matrix)
    cut = levels > 2
    verify.bfs(matrix, SOURCE, np.where(cut, -1, levels), np.where(cut, -1, parents), depth_limit=2)
    with pytest.raises(VerificationError, match="limit"):
        verify.bfs(matrix, SOURCE, levels, depth_limit=2)
    with pytest.raises(VerificationError, match="unreached"):
        verify.bfs(matrix, SOURCE, np.where(cut, -1, levels), depth_limit=3)


def test_bfs_invented_reach_is_rejected() -> None:
    matrix = graph_named("islands")
    levels, _ = right_bfs(matrix)
    outside = np.flatnonzero(levels < 0)
    for vertex in outside:
        with pytest.raises(VerificationError):
            verify.bfs(matrix, SOURCE, changed(levels, vertex, 1))


BAD_PARENTS: dict[str, Callable[[Array, int], Array]] = {
    "orphaned source": lambda p, v: changed(p, SOURCE, -1),
    "source below another": lambda p, v: changed(p, SOURCE, v),
    "missing": lambda p, v: changed(p, v, -1),
    "own parent": lambda p, v: changed(p, v, v),
    "no vertex": lambda p, v: changed(p, v, p.size),
    "far below zero": lambda p, v: changed(p, v, -7),
    "floats": lambda p, v: p.astype(float),
    "too long": lambda p, v: np.append(p, 0),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("how", BAD_PARENTS)
@pytest.mark.parametrize("search", ["bfs", "sssp"])
def test_wrong_parents_are_rejected(name: str, how: str, search: str) -> None:
    matrix = graph_named(name)
    values, parents = right_bfs(matrix) if search == "bfs" else right_sssp(matrix)
    check = verify.bfs if search == "bfs" else verify.sssp
    with pytest.raises(VerificationError):
        check(matrix, SOURCE, values, BAD_PARENTS[how](parents, reached(values)))


@pytest.mark.parametrize("search", ["bfs", "sssp"])
@pytest.mark.parametrize(
    "name", ["directed", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("undirected", "islands"))]
)
def test_exactly_the_right_parents_are_accepted(name: str, search: str) -> None:
    matrix = graph_named(name)
    values, parents = right_bfs(matrix) if search == "bfs" else right_sssp(matrix)
    check = verify.bfs if search == "bfs" else verify.sssp
    dense = matrix.toarray()
    for vertex in range(1, values.size):
        for parent in range(values.size):
            step = 1 if search == "bfs" else dense[parent, vertex]
            good = dense[parent, vertex] > 0 and values[parent] >= 0 and np.isfinite(values[parent])
            good = good and values[parent] + step == values[vertex]
            if good:
                check(matrix, SOURCE, values, changed(parents, vertex, parent))
            else:
                with pytest.raises(VerificationError):
                    check(matrix, SOURCE, values, changed(parents, vertex, parent))


def test_parents_in_a_circle_of_weightless_edges_are_rejected() -> None:
    circle = csr_array(([2.0, 0.0, 0.0, 0.0], ([0, 1, 2, 3], [1, 2, 3, 1])), shape=(4, 4))
    distances = np.array([0.0, 2.0, 2.0, 2.0])
    verify.sssp(circle, 0, distances, [0, 0, 1, 2])
    with pytest.raises(VerificationError, match="cycle"):
        verify.sssp(circle, 0, distances, [0, 3, 1, 2])


def test_distances_that_only_hold_each_other_up_are_rejected() -> None:
    circle = csr_array(([0.0, 0.0, 5.0], ([1, 2, 0], [2, 1, 1])), shape=(3, 3))
    verify.sssp(circle, 0, [0.0, 5.0, 5.0])
    with pytest.raises(VerificationError, match="no path from the source"):
        verify.sssp(circle, 0, [0.0, 3.0, 3.0])


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sssp_accepts_scipys_answer(name: str, dtype: type) -> None:
    matrix = graph_named(name)
    distances, parents = right_sssp(matrix)
    verify.sssp(matrix, SOURCE, distances.astype(dtype), parents)


def test_sssp_accepts_rounded_sums() -> None:
    matrix = graph_named("undirected")
    matrix.data = np.random.default_rng(1).random(matrix.nnz)
    distances, parents = dijkstra(matrix, indices=SOURCE, return_predecessors=True)
    parents[SOURCE] = SOURCE
    verify.sssp(matrix, SOURCE, distances, np.where(parents < 0, -1, parents))
    verify.sssp(matrix, SOURCE, distances.astype(np.float32))


def test_sssp_with_negative_weights() -> None:
    matrix = csr_array(([4.0, 6.0, -3.0, 1.0], ([0, 0, 2, 1], [1, 2, 1, 3])), shape=(4, 4))
    verify.sssp(matrix, 0, [0.0, 3.0, 6.0, 4.0], [0, 2, 0, 1])
    with pytest.raises(VerificationError, match="2 → 1 offers 3"):
        verify.sssp(matrix, 0, [0.0, 4.0, 6.0, 5.0])


BAD_DISTANCES: dict[str, Callable[[Array], Array]] = {
    "source not at 0": lambda x: changed(x, SOURCE, 1.0),
    "source at infinity": lambda x: changed(x, SOURCE, np.inf),
    "too far": lambda x: changed(x, reached(x), x[reached(x)] + 1),
    "a little too far": lambda x: changed(x, reached(x), x[reached(x)] * (1 + 1e-9)),
    "too near": lambda x: changed(x, reached(x), x[reached(x)] - 0.5),
    "a little too near": lambda x: changed(x, reached(x), x[reached(x)] * (1 - 1e-9)),
    "negative": lambda x: changed(x, reached(x), -1.0),
    "dropped": lambda x: changed(x, reached(x), np.inf),
    "NaN": lambda x: changed(x, reached(x), np.nan),
    "minus infinity": lambda x: changed(x, reached(x), -np.inf),
    "all halved": lambda x: x / 2,
    "all zero": np.zeros_like,
    "all unreached": lambda x: np.where(x == 0, 0, np.inf),
    "integers": lambda x: np.where(np.isinf(x), -1, x).astype(int),
    "too short": lambda x: x[:-1],
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("how", BAD_DISTANCES)
def test_sssp_rejects_wrong_distances(name: str, how: str) -> None:
    matrix = graph_named(name)
    distances, _ = right_sssp(matrix)
    with pytest.raises(VerificationError):
        verify.sssp(matrix, SOURCE, BAD_DISTANCES[how](distances))


def test_sssp_rejects_an_invented_reach() -> None:
    matrix = graph_named("islands")
    distances, _ = right_sssp(matrix)
    for vertex in np.flatnonzero(np.isinf(distances)):
        with pytest.raises(VerificationError):
            verify.sssp(matrix, SOURCE, changed(distances, vertex, 2.0))


def right_ranks(matrix: Any, **options: Any) -> Array:
    graph = nx.from_scipy_sparse_array(csr_array(matrix), create_using=nx.DiGraph)
    ranks = nx.pagerank(graph, tol=1e-12, max_iter=1000, **options)
    return np.array([ranks[v] for v in range(matrix.shape[0])])


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("weighted", [True, False])
def test_pagerank_accepts_networkxs_answer(name: str, weighted: bool) -> None:
    matrix = simple(graph_named(name))
    ranks = right_ranks(matrix, weight="weight" if weighted else None)
    verify.pagerank(matrix, ranks, weighted=weighted, tol=1e-9)
    verify.pagerank(matrix, ranks.astype(np.float32), weighted=weighted)


def test_pagerank_with_a_personalization_and_dangling_weights() -> None:
    matrix = graph_named("islands")
    jumps, lost = {3: 1.0, 4: 3.0}, {0: 1.0, 7: 1.0}
    ranks = right_ranks(matrix, personalization=jumps, dangling=lost, alpha=0.7)
    verify.pagerank(matrix, ranks, alpha=0.7, personalization=jumps, dangling=lost, tol=1e-9)
    as_array = np.zeros(matrix.shape[0])
    as_array[[3, 4]] = 1, 3
    verify.pagerank(matrix, ranks, alpha=0.7, personalization=as_array, dangling=lost, tol=1e-9)
    with pytest.raises(VerificationError):
        verify.pagerank(matrix, ranks, alpha=0.7, dangling=lost)
    with pytest.raises(VerificationError):
        verify.pagerank(matrix, ranks, alpha=0.7, personalization=jumps)


def test_pagerank_without_normalisation() -> None:
    pair = csr_array([[0, 1, 0], [1, 0, 1], [0, 0, 0]])
    ranks = np.array([0.15, 0.15, 0.15])
    for _ in range(200):
        ranks = 0.15 + 0.85 * np.array([ranks[1] / 2, ranks[0], ranks[1] / 2])
    verify.pagerank(pair, ranks, normalized=False)
    with pytest.raises(VerificationError, match="one more step"):
        verify.pagerank(pair, ranks / ranks.sum(), normalized=False)
    with pytest.raises(VerificationError, match="sum to"):
        verify.pagerank(pair, ranks)


BAD_RANKS: dict[str, Callable[[Array], Array]] = {
    "NaN": lambda x: changed(x, 3, np.nan),
    "infinite": lambda x: changed(x, 3, np.inf),
    "negative": lambda x: changed(x, 3, -x[3]),
    "doubled": lambda x: 2 * x,
    "uniform": lambda x: np.full_like(x, 1 / x.size),
    "swapped": lambda x: changed(x, [np.argmax(x), np.argmin(x)], x[[np.argmin(x), np.argmax(x)]]),
    "nudged": lambda x: changed(x, [np.argmax(x), np.argmin(x)], [x.max() - 1e-5, x.min() + 1e-5]),
    "zero": np.zeros_like,
    "all in one place": lambda x: changed(np.zeros_like(x), 0, 1.0),
    "too short": lambda x: x[:-1],
    "integers": lambda x: np.ones(x.size, int),
}


@pytest.mark.parametrize("name", ["directed", "undirected", "path", "islands", "star"])
@pytest.mark.parametrize("how", BAD_RANKS)
def test_pagerank_rejects_wrong_ranks(name: str, how: str) -> None:
    matrix = graph_named(name)
    with pytest.raises(VerificationError):
        verify.pagerank(matrix, BAD_RANKS[how](right_ranks(matrix)))


def test_pagerank_rejects_another_alpha_and_other_weights() -> None:
    matrix = graph_named("undirected")
    with pytest.raises(VerificationError, match="one more step"):
        verify.pagerank(matrix, right_ranks(matrix), alpha=0.8)
    with pytest.raises(VerificationError, match="one more step"):
        verify.pagerank(matrix, right_ranks(matrix), weighted=False)


@pytest.mark.parametrize("name", GRAPHS)
def test_components_accepts_scipys_answer(name: str) -> None:
    matrix = graph_named(name)
    labels = right_components(matrix)
    verify.components(matrix, labels, int(labels.max()) + 1)


BAD_LABELS: dict[str, Callable[[Array], Array]] = {
    "one moved": lambda x: changed(x, 6, x.max() + 1),
    "negative": lambda x: changed(x, 6, -1),
    "all one": np.zeros_like,
    "all apart": lambda x: np.arange(x.size),
    "out of order": lambda x: x.max() - x,
    "a gap": lambda x: np.where(x > 0, x + 1, x),
    "from one": lambda x: x + 1,
    "two merged": lambda x: np.where(x == 1, 0, x),
    "floats": lambda x: x.astype(float),
    "too short": lambda x: x[:-1],
}


@pytest.mark.parametrize("how", BAD_LABELS)
def test_components_rejects_wrong_labels(how: str) -> None:
    matrix = graph_named("islands")
    labels = right_components(matrix)
    assert labels.max() > 3
    with pytest.raises(VerificationError):
        verify.components(matrix, BAD_LABELS[how](labels))


def test_components_rejects_a_wrong_count() -> None:
    matrix = graph_named("islands")
    labels = right_components(matrix)
    with pytest.raises(VerificationError, match="were counted"):
        verify.components(matrix, labels, int(labels.max()))


@pytest.mark.parametrize("name", GRAPHS)
def test_triangles_accepts_networkxs_answer(name: str) -> None:
    matrix = graph_named(name)
    counts = right_triangles(matrix)
    verify.triangles(matrix, int(counts.sum()) // 3, counts)


BAD_TRIANGLES: dict[str, Callable[[Array], Array]] = {
    "one more": lambda x: changed(x, np.argmax(x), x.max() + 1),
    "three more": lambda x: changed(x, np.argmax(x), x.max() + 3),
    "moved": lambda x: changed(x, [np.argmax(x), np.argmin(x)], [x.max() - 1, x.min() + 1]),
    "swapped": lambda x: changed(x, [np.argmax(x), np.argmin(x)], [x.min(), x.max()]),
    "negative": lambda x: changed(x, [np.argmax(x), np.argmin(x)], [x.max() + 2, x.min() - 2]),
    "impossible": lambda x: changed(x, slice(None), [x.sum()] + [0] * (x.size - 1)),
    "doubled": lambda x: 2 * x,
    "none": np.zeros_like,
    "floats": lambda x: x.astype(float),
    "too short": lambda x: x[:-1],
}


@pytest.mark.parametrize("name", ["directed", "undirected", "multigraph"])
@pytest.mark.parametrize("how", BAD_TRIANGLES)
def test_triangles_rejects_wrong_counts(name: str, how: str) -> None:
    matrix = graph_named(name)
    counts = right_triangles(matrix)
    assert counts.sum() > 0
    with pytest.raises(VerificationError):
        verify.triangles(matrix, int(counts.sum()) // 3, BAD_TRIANGLES[how](counts))


def test_triangles_rejects_a_wrong_total() -> None:
    matrix = graph_named("undirected")
    counts = right_triangles(matrix)
    with pytest.raises(VerificationError, match="three corners"):
        verify.triangles(matrix, int(counts.sum()) // 3 + 1, counts)


def right_betweenness(matrix: Any, directed: bool, **options: Any) -> Array:
    kind = nx.DiGraph if directed else nx.Graph
    graph = nx.from_scipy_sparse_array(csr_array(matrix), create_using=kind)
    scores = nx.betweenness_centrality(graph, **options)
    return np.array([scores[v] for v in range(matrix.shape[0])])


@pytest.mark.parametrize("name", ["directed", "undirected", "path", "islands", "star"])
@pytest.mark.parametrize("normalized", [True, pytest.param(False, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("endpoints", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("effort", [1e9, pytest.param(0, marks=pytest.mark.thorough)])
def test_betweenness_accepts_networkxs_answer(
    name: str, normalized: bool, endpoints: bool, weighted: bool, effort: float
) -> None:
    matrix = graph_named(name)
    scores = right_betweenness(
        matrix,
        directed=name not in ("undirected", "star"),
        normalized=normalized,
        endpoints=endpoints,
        weight="weight" if weighted else None,
    )
    verify.betweenness(matrix, scores, normalized=normalized, endpoints=endpoints, weighted=weighted, effort=effort)


BAD_SCORES: dict[str, Callable[[Array], Array]] = {
    "NaN": lambda x: changed(x, np.argmax(x), np.nan),
    "infinite": lambda x: changed(x, np.argmax(x), np.inf),
    "negative": lambda x: changed(x, np.argmin(x), -1e-3),
    "doubled": lambda x: 2 * x,
    "one raised": lambda x: changed(x, np.argmax(x), x.max() * 1.001),
    "moved": lambda x: changed(x, [np.argmax(x), np.argmin(x)], [x.max() - x.max() / 9, x.min() + x.max() / 9]),
    "swapped": lambda x: changed(x, [np.argmax(x), np.argmin(x)], [x.min(), x.max()]),
    "none": np.zeros_like,
    "integers": lambda x: np.ones(x.size, int),
    "too short": lambda x: x[:-1],
}


@pytest.mark.parametrize("name", ["directed", "undirected", "path"])
@pytest.mark.parametrize("how", BAD_SCORES)
def test_betweenness_rejects_wrong_scores(name: str, how: str) -> None:
    matrix = graph_named(name)
    scores = right_betweenness(matrix, directed=name != "undirected")
    with pytest.raises(VerificationError):
        verify.betweenness(matrix, BAD_SCORES[how](scores))


@pytest.mark.parametrize("name", ["directed", "undirected", "path"])
@pytest.mark.parametrize("weighted", [True, False])
def test_edge_betweenness_is_that_of_networkx(name: str, weighted: bool) -> None:
    matrix = csr_array(graph_named(name))
    graph = nx.from_scipy_sparse_array(matrix, create_using=nx.Graph if name == "undirected" else nx.DiGraph)
    found = nx.edge_betweenness_centrality(graph, weight="weight" if weighted else None)
    found |= {(v, u): score for (u, v), score in found.items()} if name == "undirected" else {}
    scores = np.array([found[edge] for edge in zip(*(ends.tolist() for ends in matrix.tocoo().coords))])
    for effort in (1e9, 0):
        verify.edge_betweenness(matrix, scores, weighted=weighted, effort=effort)
    for change in BAD_SCORES.values():
        with pytest.raises(VerificationError):
            verify.edge_betweenness(matrix, change(scores), weighted=weighted)


def test_the_sum_alone_catches_a_score_where_few_sources_are_recomputed() -> None:
    matrix = graph_named("undirected")
    scores = right_betweenness(matrix, directed=False)
    with pytest.raises(VerificationError, match="sum to"):
        verify.betweenness(matrix, changed(scores, 3, scores[3] + 0.1), effort=0)


def test_one_source_alone_catches_scores_of_the_right_sum() -> None:
    matrix = graph_named("star")
    scores = right_betweenness(matrix, directed=False)
    with pytest.raises(VerificationError, match="for 1 of the sources alone"):
        verify.betweenness(matrix, np.roll(scores, 1), effort=0)


def test_betweenness_where_path_counts_overflow() -> None:
    """A chain of 1100 diamonds has 2**1100 shortest paths from end to end, over the largest float64."""
    diamonds = 1100
    tip = 3 * np.arange(diamonds)
    src = np.r_[tip, tip, tip + 1, tip + 2]
    dst = np.r_[tip + 1, tip + 2, tip + 3, tip + 3]
    n = 3 * diamonds + 1
    matrix = csr_array((np.ones(src.size), (src, dst)), shape=(n, n))
    after = np.zeros(n)  # the dependency of source 0 on a tip is all that lies behind it
    after[0::3] = 3 * (diamonds - np.arange(diamonds + 1))
    after[1::3] = after[2::3] = (1 + after[3::3]) / 2
    after[0] = 0
    with pytest.raises(ValueError, match="outside"):
        verify.bfs(matrix, n, np.zeros(n, int))
    scale = n - 1  # NetworkX's factor of a single source, unnormalised
    verify.betweenness(matrix, after * scale, sources=[0], normalized=False)
    with pytest.raises(VerificationError):
        verify.betweenness(matrix, changed(after, 4, 1.0) * scale, sources=[0], normalized=False)


def test_lengths_of_0_are_refused() -> None:
    """Shortest paths can't be counted."""
    circle = csr_array(([1.0, 0.0, 0.0], ([0, 1, 2], [1, 2, 1])), shape=(3, 3))
    with pytest.raises(ValueError, match="expected a positive number"):
        verify.betweenness(circle, np.zeros(3), weighted=True)


def test_a_sample_is_looked_at() -> None:
    """Of more vertices, edges or pairs than that; what is wrong everywhere is seen, what is right is taken."""
    flights = gasla.Graph(gasla.datasets.openflights().matrix)
    features = np.random.default_rng(1).random((flights.n, 2))
    counts, sums = gasla.triangle_count(flights, per_vertex=True), gasla.aggregate_features(flights, features)
    for check, answer in [
        (verify.closeness, gasla.closeness_centrality(flights)),
        (verify.harmonic, gasla.harmonic_centrality(flights)),
        (verify.clustering, gasla.clustering(flights)),
        (verify.edge_support, gasla.edge_support(flights)),
        (verify.similarity, gasla.jaccard(flights)),
        (lambda graph, found: verify.triangles(graph, int(found.sum()) // 3, found), counts.per_vertex),
        (lambda graph, found: verify.aggregate_features(graph, features, found), sums),
    ]:
        check(flights, answer)
        for wrong in (answer[::-1].copy(), answer + 3):
            with pytest.raises(VerificationError):
                check(flights, wrong)


def test_a_graph_without_vertices_is_no_trouble() -> None:
    empty = csr_array((0, 0))
    verify.triangles(empty, 0, np.empty(0, int))
    verify.pagerank(empty, np.empty(0))
    verify.components(empty, np.empty(0, int), 0)
    verify.betweenness(empty, np.empty(0))


@pytest.mark.parametrize("name", GRAPHS)
def test_gaslas_own_answers_are_accepted(name: str) -> None:
    matrix = graph_named(name)
    graph = gasla.Graph(matrix)
    verify.bfs(matrix, SOURCE, *gasla.bfs(graph, SOURCE, parents=True))
    verify.bfs(matrix, SOURCE, *gasla.bfs(graph, SOURCE, parents=True, depth_limit=2), depth_limit=2)
    verify.sssp(matrix, SOURCE, *gasla.sssp(graph, SOURCE, parents=True))
    components = gasla.connected_components(graph)
    verify.components(matrix, components.labels, components.count)
    verify.triangles(matrix, *gasla.triangle_count(graph, per_vertex=True))


OPTIONS: dict[str, list[dict[str, Any]]] = {
    "pagerank": [{}, {"weighted": False}, {"personalization": {3: 1.0, 4: 2.0}}, {"normalized": False}],
    "betweenness_centrality": [
        {"endpoints": True},
        {"weighted": True, "normalized": False},
        {"sources": [0], "normalized": False},
        {"sources": [0, 1], "endpoints": True, "weighted": True},
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["directed", "undirected", "multigraph"])
@pytest.mark.parametrize("algorithm", OPTIONS)
def test_gaslas_own_answers_with_options_are_accepted(name: str, algorithm: str) -> None:
    matrix = graph_named(name)
    for options in OPTIONS[algorithm]:
        if algorithm == "pagerank":
            verify.pagerank(matrix, gasla.pagerank(matrix, max_iter=1000, **options).ranks, **options)
        else:
            verify.betweenness(matrix, gasla.betweenness_centrality(matrix, **options), **options)


def test_a_symmetric_pattern_with_unequal_lengths_is_directed() -> None:
    matrix = csr_array(np.array([[0, 1, 5.0], [2, 0, 1], [1, 3, 0]]))
    scores = right_betweenness(matrix, directed=True, weight="weight", normalized=False)
    answer = gasla.betweenness_centrality(matrix, weighted=True, normalized=False)
    np.testing.assert_allclose(answer, scores)
    verify.betweenness(matrix, scores, weighted=True, normalized=False)


def test_no_half_triangle_and_no_half_vertex() -> None:
    triangle = csr_array(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]))
    with pytest.raises(VerificationError, match=r"sum to 3, not to 3 × 1\.5"):
        verify.triangles(triangle, 1.5, [1, 1, 1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="integer"):
        verify.bfs(triangle, 0.5, [0, 1, 1])  # type: ignore[arg-type]


def test_sources_of_betweenness_are_any_vertices() -> None:
    path = csr_array(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]))
    scores = gasla.betweenness_centrality(path, sources={0, 1})
    verify.betweenness(path, scores, sources={0, 1})
    verify.betweenness(path, np.zeros(3), sources=[])
    with pytest.raises(ValueError, match="source 9 is outside a graph of 3 vertices"):
        verify.betweenness(path, scores, sources=[0, 9])


def test_a_mask_of_numbers_is_refused_by_its_type() -> None:
    path = gasla.Graph.from_edges([0, 1], [1, 2])
    masks = {
        "members": lambda wrong: verify.maximal_independent_set(path, wrong),
        "source_side": lambda wrong: verify.minimum_cut(path, 0, 2, 1, wrong),
    }
    for name, check in masks.items():
        with pytest.raises(verify.VerificationError, match=rf"{name}: truth values \(bool\) were expected, not int64"):
            check(np.array([1, 0, 1]))
