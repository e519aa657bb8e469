"""What pages say of memory is measured: each row has the words of a docstring, and the bytes that they come to."""

import gc
import inspect
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
import semirings
from gasla.graph.transform.reduction import reduce_by_key
from tests.helpers import ROOT
from tests.reliability.test_large_results import size

pytestmark = pytest.mark.thorough

N, M = 1 << 14, 1 << 18
HALF = np.arange(M) % 2 == 0
SLACK = 1 << 18  # bytes of objects and fixed buffers


def drawn(valued: bool = True, n: int = N, m: int = M) -> gasla.Graph:
    random = np.random.default_rng(0)
    src, dst = random.integers(0, n, (2, m))
    found = gasla.Graph(csr_array((random.random(m), (src, dst)), shape=(n, n)))
    return found if valued else found.with_values(None)


class Row(NamedTuple):
    """What a function says of memory."""

    of: Any  # whose docstring has the words
    words: str
    call: Callable[[Any], Any]
    least: Callable[[Any], float]  # bytes that the words come to, besides the result
    given: Callable[[], Any] = drawn
    kept: bool = False  # whether they are about what stays


def plain() -> gasla.Graph:
    return drawn(False)


def listed() -> gasla.Graph:
    """Without values, and with neighbor lists of both directions."""
    graph = plain()
    graph.out.indptr.sum(), graph.in_.indptr.sum()
    return graph


def with_all_lists() -> gasla.Graph:
    graph = drawn()
    gasla.minimum_spanning_forest(graph)
    return graph


def with_mirrored_lists() -> gasla.Graph:
    graph = drawn().symmetrized(semirings.plus)
    gasla.minimum_spanning_forest(graph)
    return graph


def in_triangles(also: int = 0) -> gasla.Graph:
    """A simple graph with its lists, whose edges are in triangles, except those to `also` leaves."""
    random, n = np.random.default_rng(0), 1000
    src, dst = np.append(random.integers(0, n, (2, M)), [np.zeros(also, np.int64), n + np.arange(also)], axis=1)
    graph = gasla.primitives.simplify(gasla.Graph.from_edges(src, dst))
    assert graph.is_simple  # which its lists are made for
    return graph


def pairs() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.integers(0, N, M), random.integers(0, 9, M)


def points() -> Any:
    return np.random.default_rng(0).random((N, 3))


ROWS = {
    **{
        f"k_hop_counts of {r}": Row(
            gasla.k_hop_counts,
            "takes its counter, a second one that the graph keeps for the next call, and 60 bytes",
            lambda graph, r=r: gasla.k_hop_counts(graph, 3, registers=r),
            lambda graph, r=r: (2 * r + 60) * graph.n,
            listed,
        )
        for r in (64, 256, 1024)
    },
    **{
        f"nearest_neighbors_graph, {k}": Row(
            gasla.nearest_neighbors_graph,
            "tree, memory is 25 bytes for each edge, and 25 bytes and the coordinates for each point",
            lambda points, k=k: gasla.nearest_neighbors_graph(points, k),
            lambda points, k=k: len(points) * (25 * k + 25 + 8 * points.shape[1]),
            points,
        )
        for k in (1, 4, 16)
    },
    "multi_source_bfs": Row(
        gasla.multi_source_bfs,
        "Batches need 48 to 144 bytes per vertex besides it, and up to 156",
        lambda graph: gasla.multi_source_bfs(graph, range(128)),
        lambda graph: 156 * graph.n,
        listed,
    ),
    "minimum_spanning_forest": Row(
        gasla.minimum_spanning_forest,
        "sorted first, which needs up to 52 bytes per edge",
        gasla.minimum_spanning_forest,
        lambda graph: 60 * graph.n + 52 * graph.m,
        with_all_lists,
    ),
    "minimum_spanning_forest, symmetric": Row(
        gasla.minimum_spanning_forest,
        "Needs up to 60 bytes per vertex and 16 per edge",
        gasla.minimum_spanning_forest,
        lambda graph: 60 * graph.n + 16 * graph.m,
        with_mirrored_lists,
    ),
    "peel_edges": Row(
        gasla.primitives.peel_edges,
        "Memory is 20 bytes per stored edge",
        gasla.primitives.peel_edges,
        lambda graph: 20 * graph.m,
        in_triangles,
    ),
    "peel_edges, leaves": Row(
        gasla.primitives.peel_edges,
        "up to 50 if some are in no triangle",
        gasla.primitives.peel_edges,
        lambda graph: 50 * graph.m,
        lambda: in_triangles(2000),
    ),
    "square_clustering": Row(
        gasla.square_clustering,
        "about 60 bytes for each of up to 4 million pairs of vertices",
        gasla.square_clustering,
        lambda graph: 60 * (4 << 20) + 8 * graph.m + 48 * graph.n,
        lambda: gasla.primitives.simplify(drawn(False, m=M // 4)),
    ),
    "spectral_embedding": Row(
        gasla.spectral_embedding,
        "takes up to 24 n^2 bytes while it is solved",
        lambda graph: gasla.spectral_embedding(graph, 200),
        lambda graph: 24 * graph.n**2,
        lambda: drawn(False, 500, 2000),
    ),
    "select": Row(
        gasla.Graph.select,
        "up to 16 bytes per edge of the new graph, and 12 per edge of this one",
        lambda graph: graph.select(HALF[: graph.m]),
        lambda graph: 20 * graph.m,
    ),
    **{
        f"subgraph, {name}": Row(
            gasla.Graph.subgraph,
            "up to 4 bytes per vertex of this one, and 17 per edge, or 40 per edge that is read",
            lambda graph, step=step: graph.subgraph(np.arange(graph.n // 2)[::step]),
            lambda graph: 20 * graph.n + 17 * graph.m,
        )
        for name, step in (("ascending", 1), ("descending", -1))
    },
    "simple": Row(
        gasla.Graph.simple,
        "besides both graphs: 30 bytes per edge of this one and its values, less if its rows are sorted",
        lambda graph: graph.simple(semirings.plus),
        lambda graph: 38 * graph.m,
    ),
    "simple without values": Row(
        gasla.Graph.simple,
        "50 bytes per edge where edges without values are counted",
        lambda graph: graph.simple(semirings.plus),
        lambda graph: 50 * graph.m,
        plain,
    ),
    "contract": Row(
        gasla.Graph.contract,
        "Peak memory besides both graphs: 36 bytes per edge of this one and its values, and 9 per vertex",
        lambda graph: graph.contract(np.arange(graph.n) // 2),
        lambda graph: 44 * graph.m + (9 + 8) * graph.n,  # and the labels
    ),
    "symmetrized": Row(
        gasla.Graph.symmetrized,
        "12 bytes per edge and twice its values",
        lambda graph: graph.symmetrized(semirings.plus),
        lambda graph: 28 * graph.m,
    ),
    "changed": Row(
        gasla.Graph.changed,
        "Temporary memory: up to 20 bytes per edge",
        lambda graph: graph.changed(insert=([0], [1], [1.0])),
        lambda graph: 20 * graph.m,
    ),
    "walk": Row(
        gasla.walk,
        "Weighted walks keep 12 bytes per edge with the graph",
        lambda graph: gasla.random_walks(graph, [0], 3, weighted=True),
        lambda graph: 12 * graph.m,
        kept=True,
    ),
    "negative_edges": Row(
        gasla.negative_edges,
        "kept with the graph: 8 bytes per edge",
        lambda graph: gasla.negative_edges(graph, 5),
        lambda graph: 8 * graph.m,
        plain,
        kept=True,
    ),
    "simplify": Row(
        gasla.primitives.simplify,
        "up to 16 bytes per edge and 8 per vertex",
        lambda graph: (gasla.primitives.simplify(graph), None)[1],
        lambda graph: 16 * graph.m + 8 * graph.n,
        listed,
        kept=True,
    ),
    "reduce_by_key": Row(
        reduce_by_key,
        "combine values one by one, without memory besides the result",
        lambda given: gasla.reduce_by_key(*given, semirings.plus),
        lambda given: 0,
        pairs,
    ),
    "reduce_by_key in pairs": Row(
        reduce_by_key,
        "with a peak of 40 bytes per value and twice the values",
        lambda given: gasla.reduce_by_key(*given, semirings.first),
        lambda given: 56 * M,
        pairs,
    ),
    "top_k": Row(
        gasla.top_k,
        "On the CPU it takes no memory but the result",
        lambda matrix: gasla.top_k(matrix, 4),
        lambda matrix: 0,
        lambda: csr_array(drawn().to_scipy()),
    ),
}


def peak(call: Callable[[Any], Any], given: Any) -> tuple[int, int, int]:
    """The bytes at most, and after a call, besides what there was before; and those of the result."""
    gc.collect()
    tracemalloc.start()
    found = call(given)
    now, top = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return top, now, size(found)


@pytest.mark.parametrize("name", ROWS)
def test_what_a_docstring_says_of_memory_is_so(name: str) -> None:
    row = ROWS[name]
    text = " ".join((inspect.getdoc(row.of) or "").split())
    assert row.words in text, f"the docstring has other words now: {re.findall(r'[^.]*bytes[^.]*', text)}"
    row.call(row.given())  # imports and compiles
    given = row.given()
    top, now, result = peak(row.call, given)
    derives = name.split(",")[0].split()[0] in ("select", "subgraph", "simple", "contract", "symmetrized", "changed")
    taken = now - result if row.kept else top - now if derives else top - result
    limit = row.least(given)
    assert taken <= 1.03 * limit + SLACK, f"{taken:,} bytes; expected {limit:,.0f} at most"
    assert taken >= 0.3 * limit or derives or "up to" in row.words, f"{taken:,} bytes, far less than {limit:,.0f}"


MAPPED: dict[str, tuple[bool, Callable[[gasla.Graph], Any]]] = {  # whether the graph has to be simple and symmetric
    "bfs": (False, lambda graph: gasla.bfs(graph, 0)),
    "sssp": (False, lambda graph: gasla.sssp(graph, 0)),
    "pagerank": (False, gasla.pagerank),
    "connected_components": (False, gasla.connected_components),
    "core_number": (True, gasla.core_number),
}


@pytest.mark.parametrize("name", MAPPED)
def test_a_mapped_graph_takes_memory_for_vertices_only(name: str, tmp_path: Path) -> None:
    words = "Searches, shortest paths, PageRank and components"
    assert words in " ".join((inspect.getdoc(gasla.io.open) or "").split())
    assert words in (ROOT / "docs" / "guide" / "graphs.md").read_text(encoding="utf-8").replace("\n", " ")
    is_simple, call = MAPPED[name]
    graph = drawn(name == "sssp", n=1000, m=400_000)
    gasla.io.write(tmp_path / "graph.gasla", gasla.primitives.simplify(graph) if is_simple else graph)
    call(gasla.io.open(tmp_path / "graph.gasla"))
    top, _, _ = peak(call, gasla.io.open(tmp_path / "graph.gasla"))
    assert top < graph.m, f"{top:,} bytes for {graph.m:,} edges"


def test_core_numbers_of_another_mapped_graph_take_what_the_page_says(tmp_path: Path) -> None:
    assert "core numbers of another graph: 30 bytes per edge" in " ".join((inspect.getdoc(gasla.io.open) or "").split())
    graph = drawn(False)
    gasla.io.write(tmp_path / "graph.gasla", graph)
    gasla.core_number(gasla.io.open(tmp_path / "graph.gasla"))
    top, _, _ = peak(gasla.core_number, gasla.io.open(tmp_path / "graph.gasla"))
    assert 15 * graph.m < top < 30 * graph.m + 40 * graph.n
