"""Maximal cliques are those that NetworkX finds."""

from collections.abc import Iterable
from typing import Any

import networkx as nx
import numpy as np
import pytest

import gasla
from gasla import verify
from gasla.cpu.primitive import clique_search
from gasla.operations.vertex_lists import VertexLists
from tests.helpers.law import Answer, Row
from tests.helpers.law import Asked as LawAsked
from tests.helpers.mutants import ALL, Array, Asked, Question, Questions, Small


def cliques_of(q: LawAsked) -> Answer:
    """Without the vertices that were added, as each is a clique."""
    found: Any = gasla.maximal_cliques(q.given)
    q.check(verify.maximal_cliques, found)
    assert gasla.maximal_cliques(q.given, count=True) == len(found)
    rows = [sorted(q.was[row].tolist()) for row in found]
    return {"cliques": sorted((*row, *(-1,) * (q.n - len(row)))[: len(q.now)] for row in rows if row[0] >= 0)}


LAWS = [Row("maximal_cliques", cliques_of, gpu=False)]


def questions(g: Small) -> Asked:
    for least in (1, 3):
        rows = sorted(sorted(row) for row in nx.find_cliques(g.simple) if len(row) >= least)
        if not rows:
            continue

        def is_right(indptr: Array, vertices: Array, rows: Any = rows) -> bool:
            ends = indptr.tolist()
            if ends[:1] != [0] or ends[-1] != len(vertices) or (np.diff(indptr) < 1).any():
                return False
            return sorted(VertexLists(indptr, vertices).tolist()) == rows

        def check(indptr: Array, vertices: Array, least: int = least) -> None:
            verify.maximal_cliques(g.matrix, VertexLists(indptr, vertices), min_size=least)

        answer = {"indptr": np.cumsum([0, *map(len, rows)]), "vertices": np.concatenate(rows).astype(np.int32)}
        yield Question(check, answer, is_right if least == 1 else None)


QUESTIONS: Questions = {"maximal_cliques": (questions, ALL)}


def ends_of(edges: Iterable[Any]) -> Array:
    return np.array([*edges], int).reshape(-1, 2).T


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 600), marks=pytest.mark.slow, id="many")])
def test_cliques_are_those_of_networkx(seeds: range) -> None:
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 25)) if seed % 8 else 80  # more than one word of candidates
        other = nx.gnp_random_graph(n, rng.random() * (1.0 if n < 25 else 0.3), seed=seed)
        graph = gasla.Graph.from_edges(*ends_of(other.edges), n=n)
        if seed % 3 == 0:  # loops and parallel edges
            graph = gasla.Graph.from_edges(
                *np.hstack([ends_of(other.edges)] * 2 + [np.tile(np.arange(n), (2, 1))]), n=n
            )
        want = sorted(sorted(row) for row in nx.find_cliques(other))
        for least in (1, 3, 6):
            some = [row for row in want if len(row) >= least]
            found: Any = gasla.maximal_cliques(graph, min_size=least)
            assert sorted(found.tolist()) == some, (seed, least)
            assert gasla.maximal_cliques(graph, min_size=least, count=True) == len(some)
            few: Any = gasla.maximal_cliques(graph, min_size=least, limit=len(some) // 2)
            assert few.tolist() == found.tolist()[: len(some) // 2]


def test_threads_find_the_same_in_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = gasla.Graph.from_edges(*np.random.default_rng(2).integers(0, 300, (2, 6000)), n=300)
    every: Any = gasla.maximal_cliques(graph)
    monkeypatch.setattr(clique_search, "_LOOKS", 1 << 20)
    assert gasla.maximal_cliques(graph).tolist() == every.tolist()  # type: ignore[union-attr]
    assert gasla.maximal_cliques(graph, limit=100).tolist() == every.tolist()[:100]  # type: ignore[union-attr]


def test_hard_shapes() -> None:
    """Of a graph that lacks a perfect matching to be complete, there are 2^(n / 2)."""
    assert gasla.maximal_cliques(gasla.Graph.from_edges([], [], n=0), count=True) == 0
    assert gasla.maximal_cliques(gasla.Graph.from_edges([], [], n=3)).tolist() == [[0], [1], [2]]  # type: ignore[union-attr]
    star = gasla.Graph.from_edges(np.zeros(50_000, int), np.arange(1, 50_001))
    assert gasla.maximal_cliques(star, count=True) == 50_000
    pairs = nx.complement(nx.Graph((2 * i, 2 * i + 1) for i in range(8)))
    assert gasla.maximal_cliques(gasla.Graph.from_networkx(pairs), count=True) == 2**8
    complete = gasla.Graph.from_networkx(nx.complete_graph(130))
    assert gasla.maximal_cliques(complete).tolist() == [[*range(130)]]  # type: ignore[union-attr]


def test_errors_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="min_size is -1"):
        gasla.maximal_cliques(gasla.Graph.from_edges([0], [1]), min_size=-1)
