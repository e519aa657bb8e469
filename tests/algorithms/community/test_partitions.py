"""Measures of partitions are NetworkX's and igraph's, and follow from the definitions."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import gasla
from gasla import Graph, verify
from gasla.cli.compute import on_host
from tests.gpu.test_graph import sent
from tests.helpers.law import ALL_SPLIT, NO_EDGE, SHARED, TIMES, Answer, Array, Row, host, only, times
from tests.helpers.law import Asked as Changed
from tests.helpers.mutants import ALL, Asked, Question, Questions, Small

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


# --- laws, and questions to the verifiers ----------------------------------------------------------------------------


def table(weighted: bool) -> Callable[[Changed], Answer]:
    def call(q: Changed) -> Answer:
        labels = q.was % 3
        found = gasla.partition_table(q.given, q.here(labels), weighted=weighted)
        q.check(lambda graph, *columns: verify.partition_table(graph, labels, *columns, weighted=weighted), *found)
        names = ("internal", "cut", "conductance") if weighted else ("conductance",)
        columns = {name: host(getattr(found, name)) for name in names}
        return {name: np.r_[column, np.full(3 - len(column), np.nan)] for name, column in columns.items()}

    return call


def quality(q: Changed) -> Answer:
    found = gasla.partition_quality(q.given, q.here(q.was % 3))
    q.check(lambda graph, *parts: verify.partition_quality(graph, q.was % 3, *parts), *found)
    return found._asdict()


FEW = only("the same but for communities without a vertex, or edges")
LAWS = [
    Row(
        *("partition_table", table(True)),
        **{"weights": True, "ranks": True, "zeros": NO_EDGE, "split": SHARED},
        isolated=FEW,
        scaled=times(TIMES, internal=1, cut=1),
    ),
    Row("partition_table", table(False), "weighted=False", ranks=True, split=ALL_SPLIT, isolated=FEW),
    Row("partition_quality", quality, isolated=only("the same coverage", "coverage")),
]


def columns_of(g: Small, labels: Array) -> tuple[Array, Array, Array, Array]:
    """Size, internal degree, cut and conductance, by the matrix of all pairs."""
    both = (g.dense + g.dense.T) / 2
    members = labels == np.arange(3)[:, None]
    internal = np.array([both[np.ix_(one, one)].sum() for one in members])
    cut = np.array([both[np.ix_(one, ~one)].sum() for one in members])
    rest = np.array([both[~one].sum() for one in members])
    with np.errstate(invalid="ignore"):
        return members.sum(axis=1), internal, cut, cut / np.minimum(internal + cut, rest)


def tables(g: Small) -> Asked:
    labels = np.arange(g.n) % 3
    answer = dict(zip(("sizes", "internal", "cut", "conductance"), columns_of(g, labels)))
    yield Question(lambda **parts: verify.partition_table(g.matrix, labels, **parts), answer)


def qualities(g: Small) -> Asked:
    labels = np.arange(g.n) % 3
    right = nx.community.partition_quality(g.simple, [set(np.flatnonzero(labels == c).tolist()) for c in range(3)])
    answer = dict(zip(("coverage", "performance"), right))
    yield Question(lambda **parts: verify.partition_quality(g.matrix, labels, **parts), answer)


QUESTIONS: Questions = {"partition_table": (tables, ALL), "partition_quality": (qualities, ALL)}


# --- of each partition -----------------------------------------------------------------------------------------------


def random_graph(seed: int) -> tuple[sp.csr_array, nx.Graph, Array]:
    rng = np.random.default_rng(seed)
    A = sp.random_array((60, 60), density=0.08, rng=rng, format="csr")
    A.setdiag(0)
    A = sp.csr_array(A + A.T)
    A.eliminate_zeros()
    return A, nx.from_scipy_sparse_array(A), rng.integers(0, 5, 60)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [True, False])
def test_conductance_and_cuts_are_networkxs(device: str, weighted: bool) -> None:
    A, there, labels = random_graph(1)
    weight = "weight" if weighted else None
    given = labels if device == "cpu" else sent(labels)
    found = on_host(gasla.partition_table(Graph(A).to(device), given, weighted=weighted))
    groups = [set(np.flatnonzero(labels == c).tolist()) for c in range(5)]
    assert found.sizes.tolist() == [len(group) for group in groups]
    np.testing.assert_allclose(found.cut, [nx.cut_size(there, group, weight=weight) for group in groups])
    np.testing.assert_allclose(found.conductance, [nx.conductance(there, group, weight=weight) for group in groups])
    inside = [2 * there.subgraph(group).size(weight=weight) for group in groups]
    np.testing.assert_allclose(found.internal, inside)
    assert found.coverage == pytest.approx(sum(inside) / (2 * there.size(weight=weight)))


@pytest.mark.parametrize("device", DEVICES)
def test_coverage_and_performance_are_networkxs(device: str) -> None:
    A, there, labels = random_graph(2)
    given = labels if device == "cpu" else sent(labels)
    groups = [set(np.flatnonzero(labels == c).tolist()) for c in range(5)]
    assert gasla.partition_quality(Graph(A).to(device), given) == pytest.approx(
        nx.community.partition_quality(there, groups)
    )


def test_a_partition_of_nothing() -> None:
    empty = Graph.from_edges([], [], n=0)
    assert all(len(column) == 0 for column in gasla.partition_table(empty, []))
    assert np.isnan([*gasla.partition_quality(empty, []), gasla.partition_table(empty, []).coverage]).all()
    loops = Graph.from_edges([0, 2, 2], [0, 2, 2])
    found = gasla.partition_table(loops, [0, 0, 2])
    assert found.sizes.tolist() == [2, 0, 1] and found.internal.tolist() == [1, 0, 2]
    np.testing.assert_array_equal(found.conductance, [0, np.nan, 0])
    assert np.isnan(gasla.partition_table(loops, [0, 0, 0]).conductance).all()  # nothing else has an edge


@pytest.mark.parametrize("power", [-1060, 300, 1000])
def test_weights_of_any_size_have_a_conductance(power: int) -> None:
    weights = np.ldexp([1.0, 1.0, 2.0, 1.0, 1.0], power)
    graph = Graph.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 5], weights)
    found = gasla.partition_table(graph, [0, 0, 0, 1, 1, 1])
    assert found.conductance.tolist() == [1 / 3, 1 / 3]
    assert found.cut.tolist() == [np.ldexp(1.0, power)] * 2


# --- of two partitions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("first", "second"), [(2, 3), (7, 7), (40, 1), (1, 1), (90, 2)])
def test_comparisons_are_igraphs(device: str, first: int, second: int) -> None:
    igraph = pytest.importorskip("igraph")
    rng = np.random.default_rng(first)
    a, b = rng.integers(0, first, 80), rng.integers(0, second, 80)
    put: Any = sent if device == "gpu" else np.asarray
    found = gasla.compare_partitions(put(a * 1000 - 5), put(b))
    for value, method in zip(found, ("nmi", "adjusted_rand", "vi"), strict=True):
        expected = igraph.compare_communities(a.tolist(), b.tolist(), method)
        assert value == pytest.approx(1.0 if np.isnan(expected) else expected, abs=1e-12), method


def test_a_partition_is_like_itself_by_other_names() -> None:
    a = np.random.default_rng(3).integers(0, 40, 500)
    assert gasla.compare_partitions(a, a * 7 % 41) == (1, pytest.approx(1), 0)
    assert gasla.compare_partitions([], []) == (1, 1, 0)
    assert gasla.compare_partitions([4], [9]) == (1, 1, 0)
    assert gasla.compare_partitions(np.arange(9), np.arange(9)) == (1, 1, 0)


def test_what_is_no_pair_of_partitions_is_refused() -> None:
    with pytest.raises(ValueError, match="the partitions have 2 and 3 labels; expected as many in both"):
        gasla.compare_partitions([0, 1], [0, 1, 2])
    with pytest.raises(TypeError, match="second has type float64; expected integers"):
        gasla.compare_partitions([0, 1], [0.5, 1])
