"""Link prediction, by scores for the similarity of pairs of nodes that count common neighbors.

Pairs are processed in blocks, because by default they are all pairs without an edge, which may be nearly all.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conversion import Converted
from gasla.backends.networkx.dispatch import SIMPLE, UNDIRECTED, register, when

BLOCK = 1 << 16  # number of pairs of nodes that are scored at a time
CONDITIONS = (UNDIRECTED, SIMPLE, when("pairs by an iterator", lambda given: hasattr(given["ebunch"], "__next__")))
Scored = Iterator[tuple[Any, Any, Any]]


def _score_pairs(G: Converted, ebunch: Any, measure: Callable[..., Any], convert: Callable[..., Any]) -> Scored:
    """Return an iterator over pairs of nodes with their scores.

    `measure` computes scores as an array, and `convert` turns them into numbers of NetworkX's types. The default of
    `ebunch` is all pairs without an edge.
    """
    if G.has_loops():
        raise NotImplementedError("the graph has a loop, which NetworkX counts in a node's degree")
    pairs: Iterable[Any] = _pairs_without_edge(G)
    if ebunch is not None:
        pairs = ebunch
        for u, v in ebunch:
            for name in (u, v):
                if name not in G:
                    raise nx.NodeNotFound(f"Node {name} not in G.")
    return _scores_in_blocks(G, iter(pairs), measure, convert)


def _scores_in_blocks(
    G: Converted, pairs: Iterator[Any], measure: Callable[..., Any], convert: Callable[..., Any]
) -> Scored:
    graph = G.plain().to(G.device)
    while block := list(islice(pairs, BLOCK)):
        ends = np.array([G.numbered(pair) for pair in block], np.int32).T
        scores = moved(measure(graph, pairs=(moved(ends[0], G.device), moved(ends[1], G.device))), "cpu")
        for (u, v), score in zip(block, convert(scores, ends)):
            yield u, v, score


def _pairs_without_edge(G: Converted) -> Iterator[tuple[Any, Any]]:
    """Yield all pairs of nodes without an edge between them, in NetworkX's order, which is that of a Python set."""
    out = G.plain().out
    remaining = set(G.names)
    while remaining:
        u = remaining.pop()
        row = out.indices[out.indptr[G.numbers[u]] : out.indptr[G.numbers[u] + 1]]
        for v in remaining - set(G.called(row)):
            yield u, v


def _convert_sums(scores: Any, ends: Any) -> Iterable[Any]:
    """Yield sums over common neighbors as Python numbers. As in NetworkX, an empty sum is the integer 0."""
    for score in scores.tolist():
        # The score is infinite for a pair (v, v) that has a neighbor of degree 1. NetworkX divides by its logarithm,
        # which is 0, and raises this error.
        if score == float("inf"):
            raise ZeroDivisionError("float division by zero")
        yield score or 0


@register(*CONDITIONS, least=20_000)
def jaccard_coefficient(G: Converted, ebunch: Any = None) -> Scored:
    """Return for each pair of nodes the number of common neighbors, divided by the number of neighbors of either."""
    degrees = G.degrees()

    def convert(scores: Any, ends: Any) -> Iterable[Any]:
        have_neighbors = (degrees[ends[0]] + degrees[ends[1]] > 0).tolist()
        return (score if has_any else 0 for score, has_any in zip(scores.tolist(), have_neighbors))

    return _score_pairs(G, ebunch, gasla.jaccard, convert)


@register(*CONDITIONS, least=20_000)
def adamic_adar_index(G: Converted, ebunch: Any = None) -> Scored:
    """Return for each pair of nodes the sum of 1 / log(degree) over their common neighbors."""
    return _score_pairs(G, ebunch, gasla.adamic_adar, _convert_sums)


@register(*CONDITIONS, least=20_000)
def resource_allocation_index(G: Converted, ebunch: Any = None) -> Scored:
    """Return for each pair of nodes the sum of 1 / degree over their common neighbors."""
    return _score_pairs(G, ebunch, gasla.resource_allocation, _convert_sums)


@register(*CONDITIONS, least=20_000)
def preferential_attachment(G: Converted, ebunch: Any = None) -> Scored:
    """Return for each pair of nodes the product of their degrees."""

    def whole(scores: Any, ends: Any) -> Iterable[Any]:
        return scores.astype(np.int64).tolist()

    return _score_pairs(G, ebunch, gasla.preferential_attachment, whole)
