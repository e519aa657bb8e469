"""Centralities that are based on shortest paths: betweenness, closeness and harmonic centrality."""

from typing import Any

import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conversion import Converted
from gasla.backends.networkx.dispatch import by_name, register, when
from gasla.graph.graph import Graph


def lengths(G: Converted, name: Any, *, least: float = 0, reverse: bool = False) -> Graph:
    """Return the graph with an edge attribute as lengths of edges.

    Raise NotImplementedError if NetworkX would treat lengths differently, such as negative ones. With `least` above 0,
    that includes lengths of 0.
    """
    graph = G.weighted(name, np.minimum, reverse)
    shortest, longest = graph.value_range or (1, 1)
    if not (shortest >= 0 and longest < np.inf):
        raise NotImplementedError(f"{name!r} of an edge is negative or not finite")
    if least > 0 and graph.n * float(longest) + float(shortest) == graph.n * float(longest):
        raise NotImplementedError(f"{name!r} of an edge is 0, or vanishes in a sum, and paths along it count otherwise")
    if graph.n * float(longest) >= 2**53 and G.are_whole(name):
        raise NotImplementedError(f"sums of {name!r} may exceed what float64 holds exactly")
    return graph


@register(when("k is 0", lambda given: given["k"] == 0), least=2_000)
def betweenness_centrality(
    G: Converted,
    k: int | None = None,
    normalized: bool = True,
    weight: Any = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    """Return the betweenness of every node.

    With `k`, only shortest paths from k random source nodes count. NetworkX's random generator draws these nodes.
    """
    n = len(G)
    drawn_names = None if k is None or k == n else seed.sample(G.names, k)
    if n == 0:
        return dict.fromkeys(G.names, 0.0)
    graph = lengths(G, weight, least=1).to(G.device)
    values = gasla.betweenness_centrality(
        graph,
        sources=None if drawn_names is None else G.numbered(drawn_names),
        normalized=bool(normalized),
        weighted=True,
        endpoints=bool(endpoints),
    )
    if G.is_directed() and not normalized and graph.has_symmetric_values:
        # gasla treats a symmetric graph as undirected and counts each pair of nodes once, while NetworkX counts it
        # twice.
        values = values * 2
    scores = G.by_name(values)
    if drawn_names is not None and len(drawn_names) == 1 and n > 2 and not endpoints:
        # For a single source, NetworkX divides by 0 and returns NaN as the score of the source.
        scores[drawn_names[0]] = float("nan")
    return scores


@register(when("k is 0", lambda given: given["k"] == 0), by_name("weight"), least=2_000)
def edge_betweenness_centrality(
    G: Converted, k: int | None = None, normalized: bool = True, weight: Any = None, seed: Any = None
) -> dict[Any, float]:
    """Return the betweenness of every edge.

    With `k`, only shortest paths from k random source nodes count. NetworkX's random generator draws these nodes.
    """
    drawn = None if k is None else seed.sample(G.names, k)
    graph = lengths(G, weight, least=1).to(G.device)
    sources = None if drawn is None else G.numbered(drawn)
    values = gasla.edge_betweenness_centrality(graph, sources=sources, normalized=bool(normalized), weighted=True)
    values = moved(values, "cpu")
    # gasla treats a symmetric graph as undirected, so its normalized values are twice those of NetworkX.
    if G.is_directed() and graph.m and graph.is_symmetric and graph.has_symmetric_values:
        if drawn is not None and len(drawn) < len(G):
            raise NotImplementedError("nodes are drawn, and all edges lead both ways")
        values = values / 2 if normalized else values
    return _by_edge(G, values, weight)


def _by_edge(G: Converted, scores: Any, weight: Any) -> dict[Any, float]:
    """Return scores of adjacency entries as a dictionary from edges to scores.

    Parallel edges are a single adjacency entry. The shortest of them share its score, and longer ones get 0.
    """
    out, copies = G.plain().out, G.edges.copies
    tails, heads = out.owners(), out.indices
    if copies is not None:
        entries, lengths_of_edges = np.repeat(np.arange(len(heads)), copies), G.each(weight)
        are_shortest = lengths_of_edges == G.edges.combined(lengths_of_edges, np.minimum)[entries]
        scores = np.where(are_shortest, (scores / np.bincount(entries, are_shortest))[entries], 0.0)
        tails, heads = tails[entries], heads[entries]
    # NetworkX yields an undirected edge only once, at the end that is first in the graph, so only this direction is
    # kept.
    edges = np.flatnonzero(G.is_directed() | (tails <= heads))
    columns = [G.called(tails[edges]), G.called(heads[edges])]
    if G.is_multigraph():
        columns.append(G.keys_of(edges))
    return dict(zip(zip(*columns), scores[edges].tolist()))


@register(by_name("distance"), least=2_000)
def closeness_centrality(G: Converted, u: Any = None, distance: Any = None, wf_improved: bool = True) -> Any:
    """Return the closeness centrality of every node as a dictionary, or of one node as a number."""
    if u is not None and u not in G:
        raise NotImplementedError("a node is not in the graph")
    graph = lengths(G, distance).to(G.device)
    options = {"distance": None if graph.values is None else "weight", "wf_improved": bool(wf_improved)}
    if u is not None:
        return float(gasla.closeness_centrality(graph, G.numbers[u], **options))
    return G.by_name(gasla.closeness_centrality(graph, **options))


@register(by_name("distance"), least=2_000)
def harmonic_centrality(
    G: Converted, nbunch: Any = None, distance: Any = None, sources: Any = None
) -> dict[Any, float]:
    """Return the harmonic centrality of the nodes `nbunch`, by default of all nodes.

    The scores are sums over the distances from the nodes `sources`, by default from all nodes.
    """
    chosen_names = set(G.nbunch_iter(nbunch) if nbunch is not None else G.names)
    origins = set(G.nbunch_iter(sources) if sources is not None else G.names)
    if not origins or not chosen_names:
        return dict.fromkeys(chosen_names, 0)
    graph = lengths(G, distance).to(G.device)
    kind = None if graph.values is None else "weight"
    ids = G.numbered(chosen_names)
    source_ids = None if sources is None else G.numbered(origins)
    if len(chosen_names) < len(origins):
        values = moved(gasla.harmonic_centrality(graph, ids, distance=kind, sources=source_ids), "cpu")
    else:
        values = moved(gasla.harmonic_centrality(graph, distance=kind, sources=source_ids), "cpu")[ids]
    return {name: score or 0 for name, score in zip(chosen_names, values.tolist())}
