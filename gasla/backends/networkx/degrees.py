"""Measures of degrees: degree centrality, isolated nodes, assortativity, degrees of neighbors, reciprocity."""

from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np

from gasla.backends.networkx.conversion import Array, Converted
from gasla.backends.networkx.dispatch import (
    ALL_NODES,
    DIRECTED,
    NEVER,
    SIMPLE,
    UNDIRECTED,
    by_name,
    compose,
    is_multigraph,
    register,
    when,
)

WEIGHT = by_name("weight")
WEIGHTED_MULTIGRAPH = when(
    "weights of a multigraph, which NetworkX looks up among keys",
    lambda given: is_multigraph(given) and given["weight"] is not None,
)


compose(nx.degree_centrality, least=NEVER)
compose(nx.in_degree_centrality, DIRECTED, least=NEVER)
compose(nx.out_degree_centrality, DIRECTED, least=NEVER)
compose(nx.isolates, least=NEVER)
compose(nx.number_of_isolates, least=NEVER)
compose(nx.is_regular, least=NEVER)


def strengths(G: Converted, kind: str, weight: Any) -> Array:
    """Return the weighted degree of each node. In a directed graph, `kind` is 'in', 'out' or 'in+out'.

    A self loop of an undirected graph counts twice.
    """
    values, tails, heads = each_edge(G, weight)
    n, ends = len(G), ({"out": [tails], "in": [heads]}.get(kind, [tails, heads]) if G.is_directed() else [tails])
    sums = np.sum([np.bincount(side, values, n) for side in ends], axis=0)
    if not G.is_directed():
        loops = tails == heads
        sums = sums + np.bincount(tails[loops], values[loops], n)
    return sums.astype(np.int64) if values.dtype.kind in "bi" else sums


def each_edge(G: Converted, weight: Any) -> tuple[Array, Array, Array]:
    """Return the weights, tails and heads of all edges, in the order of the adjacency lists.

    An undirected edge comes twice, once in each direction. Without `weight`, all weights are 1.
    """
    out, copies = G.plain().out, G.edges.copies
    entries = np.arange(len(out.indices)) if copies is None else np.repeat(np.arange(len(out.indices)), copies)
    values = G.each(weight)
    if not np.isfinite(values).all():
        raise NotImplementedError(f"{weight!r} of an edge is not finite")
    return values, out.owners()[entries], out.indices[entries]


def _sum_over_neighbors(G: Converted, kind: str, degrees: Array, weight: Any) -> Array:
    """Return for each node the sum over its neighbors of their degree, times the weight of the edge to them.

    Parallel edges count once. `kind` says whether successors ("out"), predecessors ("in") or both are neighbors.
    """
    out = G.plain().out
    tails, heads = out.owners(), out.indices
    values = np.ones(len(heads), np.int64) if weight is None else each_edge(G, weight)[0]
    sums = np.zeros(len(G))
    if "out" in kind or not G.is_directed():
        sums += np.bincount(tails, values * degrees[heads], len(G))
    if "in" in kind and G.is_directed():
        sums += np.bincount(heads, values * degrees[tails], len(G))
    return sums


@register(
    WEIGHT,
    WEIGHTED_MULTIGRAPH,
    when("one node", lambda given: given["nodes"] is not None and given["nodes"] in given["G"]),
    least=20_000,
)
def average_neighbor_degree(
    G: Converted, source: Any = "out", target: Any = "out", nodes: Any = None, weight: Any = None
) -> dict[Any, float]:
    """Return for each node the mean degree of its neighbors."""
    if G.is_directed():
        for what, kind in (("source", source), ("target", target)):
            if kind not in ("in", "out", "in+out"):
                raise nx.NetworkXError(f"{what} argument {kind} must be 'in', 'out' or 'in+out'")
    elif source != "out" or target != "out":
        raise nx.NetworkXError("source and target arguments are only supported for directed graphs")
    total = _sum_over_neighbors(G, source, strengths(G, target, None), weight)
    degrees = strengths(G, source, weight)
    means = np.divide(total, degrees, out=np.zeros(len(G)), where=degrees != 0).tolist()
    return {name: means[G.numbers[name]] for name in G.nbunch_iter(nodes)}


@register(WEIGHT, WEIGHTED_MULTIGRAPH, ALL_NODES, least=20_000)
def average_degree_connectivity(
    G: Converted, source: Any = "in+out", target: Any = "in+out", nodes: Any = None, weight: Any = None
) -> dict[int, Any]:
    """Return for each degree the mean degree of the neighbors of all nodes with this degree.

    As in NetworkX, 'in+out' counts the degrees of successors only.
    """
    if G.is_directed():
        for what, kind in (("source", source), ("target", target)):
            if kind not in ("in", "out", "in+out"):
                raise nx.NetworkXError(f'{what} must be one of "in", "out", or "in+out"')
    elif source != "in+out" or target != "in+out":
        raise nx.NetworkXError("source and target arguments are only supported for directed graphs")
    keys, norms = strengths(G, source, None), strengths(G, source, weight)
    sums = _sum_over_neighbors(G, "in" if source == "in" else "out", strengths(G, target, None), weight)
    distinct_degrees, first, group = np.unique(keys, return_index=True, return_inverse=True)
    total, norm = np.bincount(group, sums, len(distinct_degrees)), np.bincount(group, norms, len(distinct_degrees))
    if bool((distinct_degrees[norm == 0] > 0).any()):
        raise NotImplementedError(f"{weight!r} of some edges sums to 0")
    order = np.argsort(first)
    by_degree = zip(distinct_degrees[order].tolist(), total[order].tolist(), norm[order].tolist())
    return {degree: total / norm if norm else 0 for degree, total, norm in by_degree}


KINDS = when(
    "x or y is neither 'in' nor 'out'",
    lambda given: given["G"].is_directed() and not {given["x"], given["y"]} <= {"in", "out"},
)


@register(WEIGHT, ALL_NODES, KINDS, least=5_000)
def degree_assortativity_coefficient(
    G: Converted, x: str = "out", y: str = "in", weight: Any = None, nodes: Any = None
) -> float:
    """Return the correlation between the degrees of the two ends of an edge, over all edges."""
    kinds = [strengths(G, kind, weight) for kind in ("in", "out") if kind in (x, y)]
    values = [set(column.tolist()) for column in kinds]
    numbers = {degree: i for i, degree in enumerate(set.union(*values) if G.is_directed() else values[0])}
    return _correlation(G, [_encode(strengths(G, kind, weight).tolist(), numbers) for kind in (x, y)], numbers)


def _encode(values: Iterable[Any], numbers: Mapping[Any, int]) -> Array:
    return np.fromiter(map(numbers.__getitem__, values), np.int64)


def _mixing_matrix(G: Converted, sides: list[Array], count: int) -> Array:
    """Return the fraction of all edges that lead from nodes with one value to nodes with another, as a matrix.

    Values are numbered from 0 to `count` - 1. `sides` are two arrays with the number of each node's value, as a tail
    (the row of the matrix) and as a head (the column).
    """
    _, tails, heads = each_edge(G, None)
    if not len(tails):
        raise NotImplementedError("the graph has no edges, and the coefficient is NaN")
    if count > 4096:
        raise NotImplementedError(f"{count} different values, and NetworkX makes a dense matrix of their pairs")
    kinds = sides[0][tails] * count + sides[1][heads]
    counts = np.bincount(kinds, minlength=count * count).reshape(count, count).astype(np.float64)
    return counts / counts.sum()


def _correlation(G: Converted, sides: list[Array], numbers: Mapping[Any, int]) -> float:
    """Return the assortativity coefficient of M. E. J. Newman (2003, equation 21) for the values of nodes.

    Operations are done in NetworkX's order, so that the result is rounded in the same way.
    """
    M = _mixing_matrix(G, sides, len(numbers))
    M = M / M.sum() if M.sum() != 1.0 else M
    x = np.array(list(numbers))
    a, b = M.sum(axis=0), M.sum(axis=1)
    vara, varb = ((share * x**2).sum() - (share * x).sum() ** 2 for share in (a, b))
    return float((np.outer(x, x) * (M - np.outer(a, b))).sum() / np.sqrt(vara * varb))


@register(WEIGHT, ALL_NODES, KINDS, least=5_000)
def degree_pearson_correlation_coefficient(
    G: Converted, x: str = "out", y: str = "in", weight: Any = None, nodes: Any = None
) -> float:
    """Return Pearson's correlation between the degrees of the two ends of an edge, as SciPy computes it."""
    from scipy.stats import pearsonr

    _, tails, heads = each_edge(G, None)
    if len(tails) < 2:
        raise NotImplementedError("the graph has fewer than two edges, which have no correlation")
    # NetworkX iterates over nodes in the order of a Python set. The rounding of sums depends on the order, so edges are
    # sorted in the same way.
    places = np.argsort(np.array(G.numbered(set(G.names))))
    order = np.argsort(places[tails], kind="stable")
    sides = strengths(G, x, weight)[tails[order]], strengths(G, y, weight)[heads[order]]
    return float(pearsonr(*sides)[0])


def _node_attributes(G: Converted, attribute: Any) -> list[Any]:
    """Return a list with the value of an attribute for every node, or None for nodes without the attribute."""
    if G.node_data is None:
        raise NotImplementedError("the graph was converted without its nodes' attributes")
    return [data.get(attribute) for data in G.node_data]


@register(ALL_NODES, least=5_000)
def attribute_assortativity_coefficient(G: Converted, attribute: Any, nodes: Any = None) -> float:
    """Return how much more often than by chance edges join nodes with the same value of an attribute."""
    values = _node_attributes(G, attribute)
    _, tails, heads = each_edge(G, None)
    first = np.unique(np.column_stack([tails, heads]).ravel(), return_index=True)[1]
    # These are the nodes in the order in which they first occur as the tail or the head of an edge.
    mentioned = np.column_stack([tails, heads]).ravel()[np.sort(first)].tolist()
    try:
        numbers = {value: i for i, value in enumerate(set(dict.fromkeys(values[v] for v in mentioned).keys()))}
    except TypeError as error:
        raise NotImplementedError(f"{attribute!r} of a node cannot be hashed") from error
    codes = np.array([numbers.get(value, 0) for value in values], np.int64)
    M = _mixing_matrix(G, [codes, codes], len(numbers))
    M = M / M.sum() if M.sum() != 1.0 else M
    squares = (M @ M).sum()
    return float((M.trace() - squares) / (1 - squares))


@register(ALL_NODES, least=5_000)
def numeric_assortativity_coefficient(G: Converted, attribute: Any, nodes: Any = None) -> float:
    """Return the correlation between the values of a numeric attribute at both ends of edges."""
    values = _node_attributes(G, attribute)
    if not all(type(value) in (int, float) and value == value for value in values):
        raise NotImplementedError(f"{attribute!r} of a node is missing or no number")
    numbers = {value: i for i, value in enumerate(set(values))}
    codes = _encode(values, numbers)
    return _correlation(G, [codes, codes], numbers)


@register(DIRECTED, SIMPLE, least=10_000)
def overall_reciprocity(G: Converted) -> float:
    """Return the share of edges that have a reverse edge. A loop does not count as its own reverse."""
    m = len(G.plain().out.indices)
    if m == 0:
        raise nx.NetworkXError("Not defined for empty graphs")
    return int(mutual(G).sum()) / m


def mutual(G: Converted) -> Array:
    """Return a mask of those edges of a directed graph whose reverse edge is in the graph, too. Self loops are not."""
    out = G.plain().out
    tails, heads = out.owners().astype(np.int64), out.indices.astype(np.int64)
    return (tails != heads) & np.isin(tails * len(G) + heads, heads * len(G) + tails)


@register(DIRECTED, SIMPLE, least=10_000)
def reciprocity(G: Converted, nodes: Any = None) -> Any:
    """Return the fraction of mutual edges (with a reverse edge) for the whole graph, for one node or for some nodes.

    The result is None for nodes without edges. Self loops of a node count as mutual.
    """
    if nodes is None:
        return overall_reciprocity(G)
    out = G.plain().out
    mutual_counts = np.bincount(out.owners()[mutual(G) | (out.owners() == out.indices)], minlength=len(G))
    degrees = G.all_degrees()
    counts = zip(mutual_counts.tolist(), degrees.tolist())
    shares = [2.0 * mutual_count / degree if degree else None for mutual_count, degree in counts]
    if nodes in G:
        if (share := shares[G.numbers[nodes]]) is None:
            raise nx.NetworkXError("Not defined for isolated nodes.")
        return share
    return {name: shares[G.numbers[name]] for name in G.nbunch_iter(nodes)}


@register(least=20_000)
def s_metric(G: Converted) -> float:
    """Return the sum over all edges of the product of the degrees of both ends."""
    _, tails, heads = each_edge(G, None)
    degrees = G.all_degrees()
    is_counted = G.is_directed() | (tails <= heads)
    return float((degrees[tails] * degrees[heads])[is_counted].sum())


@register(
    UNDIRECTED, SIMPLE, when("normalized by a random graph", lambda given: bool(given["normalized"])), least=5_000
)
def rich_club_coefficient(G: Converted, normalized: bool = True, Q: Any = 100, seed: Any = None) -> dict[int, float]:
    """Return for every k the fraction of possible edges that exist among the nodes of degree above k."""
    if G.has_loops():
        raise Exception("rich_club_coefficient is not implemented for graphs with self loops.")
    _, tails, heads = each_edge(G, None)
    if not len(tails):
        return {}
    degrees = G.degrees()
    nodes = len(G) - np.cumsum(np.bincount(degrees))
    edges = len(tails) // 2 - np.cumsum(np.bincount(np.minimum(degrees[tails], degrees[heads]))) // 2
    edges = np.append(edges, np.zeros(max(len(nodes) - len(edges), 0), np.int64))
    by_degree = zip(nodes[nodes > 1].tolist(), edges.tolist())
    return {k: 2 * m / (n * (n - 1)) for k, (n, m) in enumerate(by_degree)}
