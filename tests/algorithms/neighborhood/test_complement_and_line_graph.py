"""Complements and line graphs are NetworkX's, on hard shapes too, and bounded."""

from typing import Any

import networkx as nx
import numpy as np
import pytest

import gasla
from gasla import Graph, verify
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.helpers.law import Answer, Asked, Law, Row
from tests.helpers.mutants import ALL, Array, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def pairs(graph: Graph) -> list[tuple[int, int]]:
    src, dst = graph.to("cpu").edges()
    return [*zip(src.tolist(), dst.tolist(), strict=True)]


def completed(q: Asked) -> Answer:
    made = gasla.complement(q.given).to("cpu")
    verify.complement(q.plain, made)
    return {"edges": q.joined(made)}


def lined(q: Asked) -> Answer:
    """Pairs of drawn edges that follow each other, and of pairs of vertices that meet."""
    ends = np.sort(q.was[np.stack(q.plain.edges(), axis=1)], axis=1)
    names = {False: q.edge_was[:, np.newaxis], True: ends}
    found: Answer = {}
    for undirected, name in names.items():
        made = gasla.line_graph(q.given, undirected=undirected).to("cpu")
        verify.line_graph(q.plain, made, undirected=undirected)
        of = name[made.vertex_attributes["edge"]].tolist()
        found[f"undirected={undirected}"] = sorted(
            {(*of[a], *of[b]) for a, b in pairs(made) if min(*of[a], *of[b]) >= 0}
        )
    return found


def among_drawn(before: Answer, then: Asked, now: Asked) -> Answer:
    """With vertices added (-1), each of them is joined with every other vertex, and with each other one added."""
    old, added = range(then.n), now.n - then.n
    edges = before["edges"] | ({(-1, -1): float(added * (added - 1))} if added > 1 else {})
    if added:
        edges |= {pair: float(added) for v in old for pair in ((v, -1), (-1, v))}
    return {"edges": dict(sorted(edges.items()))}


LAWS = [
    Row("complement", completed, isolated=Law("joined with every vertex", among_drawn)),
    Row("line_graph", lined),
]


def complements(g: Small) -> Questioned:
    """The question to the verifier."""
    src, dst = np.nonzero((g.counts == 0) & ~np.eye(g.n, dtype=bool))

    def check(src: Array, dst: Array) -> None:
        verify.complement(g.matrix, Graph.from_edges(src, dst, n=g.n))

    yield Question(check, {"src": src, "dst": dst}, lambda **a: same_edges(a, src, dst))


def line_graphs(g: Small) -> Questioned:
    """The questions to the verifier."""
    ends = [*zip(*(each.tolist() for each in g.matrix.edges()), strict=True)]
    for undirected in (False, True):
        first = [e for e, pair in enumerate(ends) if not undirected or not {pair, pair[::-1]} & {*ends[:e]}]
        right = [
            (a, b)
            for a, e in enumerate(first)
            for b, f in enumerate(first)
            if ({*ends[e]} & {*ends[f]} and a != b if undirected else ends[e][1] == ends[f][0])
        ]
        edges, (src, dst) = np.array(first), np.array(right, int).reshape(-1, 2).T

        def check(src: Array, dst: Array, edge: Array, undirected: bool = undirected, n: int = len(first)) -> None:
            made = Graph.from_edges(src, dst, n=n).with_vertex_attributes(edge=edge)
            verify.line_graph(g.matrix, made, undirected=undirected)

        def is_right(src: Array, dst: Array, edge: Array, edges: Array = edges, ends: Any = (src, dst)) -> bool:
            return np.array_equal(edge, edges) and same_edges({"src": src, "dst": dst}, *ends)

        yield Question(check, {"src": src, "dst": dst, "edge": edges}, is_right)


def same_edges(found: dict[str, Array], src: Array, dst: Array) -> bool:
    """Whether edges are the same, in any order."""
    if found["src"].shape != found["dst"].shape or found["src"].ndim != 1:
        return False
    return sorted(zip(*(x.tolist() for x in found.values()), strict=True)) == sorted(
        zip(src.tolist(), dst.tolist(), strict=True)
    )


QUESTIONS: Questions = {"complement": (complements, ALL), "line_graph": (line_graphs, ALL)}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(device: Any, shape: str) -> None:
    n = HARD[shape][0]
    graph, plain = on(device, HARD[shape]), on("cpu", HARD[shape])
    made = gasla.complement(graph)
    assert made.device == graph.device and made.id_dtype == graph.id_dtype
    verify.complement(plain, made.to("cpu"))
    for undirected in (False, True):
        made = gasla.line_graph(graph, undirected=undirected)
        assert made.device == graph.device
        verify.line_graph(plain, made.to("cpu"), undirected=undirected)
    assert shape != "a star" or made.m == (n - 1) * (n - 2)


@pytest.mark.parametrize("cells", [1, 50, 1 << 22])
def test_random_graphs_are_networkxs(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.algorithms.neighborhood.complement.CELLS", cells)
    for seed in range(6):
        random = np.random.default_rng(seed)
        n = 4 + 3 * seed
        src, dst = random.integers(0, n, (2, 5 + seed * seed))
        for made in (nx.DiGraph(), nx.Graph()):
            made.add_nodes_from(range(n))
            made.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
            graph = Graph.from_networkx(made)
            assert pairs(gasla.complement(graph)) == sorted(nx.complement(made).to_directed().edges)
            undirected = not made.is_directed()
            line = gasla.line_graph(graph, undirected=undirected)
            ends = np.stack(graph.edges(), axis=1)[line.vertex_attributes["edge"]]
            name = [tuple(sorted(pair)) if undirected else tuple(pair) for pair in ends.tolist()]
            right = nx.line_graph(made)
            assert {*name} == {*right.nodes} and len(name) == len(right)
            assert sorted((name[a], name[b]) for a, b in pairs(line)) == sorted(right.to_directed().edges)


def test_names_stay_in_a_complement() -> None:
    graph = Graph.from_networkx(nx.DiGraph([("a", "b"), ("b", "c")])).with_values(np.array([1.0, 5.0]))
    made = gasla.complement(graph.with_vertex_attributes(height=[1, 2, 3]))
    assert made.names.tolist() == ["a", "b", "c"] and made.values is None
    assert made.vertex_attributes["height"].tolist() == [1, 2, 3]
    assert gasla.complement(Graph.from_bipartite(np.eye(2))).sides is None


def test_what_does_not_fit_memory_is_refused_before_it_is_made() -> None:
    path = Graph.from_edges(np.arange(5), np.arange(1, 6), n=10**6)
    with pytest.raises(MemoryError, match=r"the complement has 999,998,999,995 entries, .* a subgraph"):
        gasla.complement(path)
    star = Graph.from_edges(np.zeros(300_000, int), np.arange(1, 300_001))
    with pytest.raises(MemoryError, match=r"the line graph has up to [\d,]+ entries"):
        gasla.line_graph(star, undirected=True)
    assert gasla.line_graph(star).m == 0
