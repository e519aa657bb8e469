"""Communities by label propagation and by the methods of Louvain and Leiden; the modularity of given communities."""

import inspect
import random
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.connectivity import sets
from gasla.backends.networkx.conversion import Array, Converted
from gasla.backends.networkx.degrees import each_edge, strengths
from gasla.backends.networkx.dispatch import UNDIRECTED, by_name, compose, register, when

WEIGHT = by_name("weight")


@register(UNDIRECTED, least=20_000, choice="ties between labels are broken at random")
def label_propagation_communities(G: Converted) -> Any:
    """Return communities found by label propagation. Ties between labels are broken differently than in NetworkX."""
    if not len(G):
        return {}.values()
    labels = gasla.label_propagation(G.plain().to(G.device), tol=0)
    return dict(enumerate(sets(G, moved(labels, "cpu")))).values()


def _modularity(G: Converted, labels: Array, weight: Any, resolution: float) -> float:
    """Return the modularity of a partition of the nodes. `labels` has the number of the community of each node, from 0.

    Operations are done in NetworkX's order, so that the result is rounded in the same way.
    """
    values, tails, heads = each_edge(G, weight)
    count = int(labels.max()) + 1 if len(labels) else 0
    is_inside = labels[tails] == labels[heads]
    if not G.is_directed():
        # An undirected edge is in the list of both ends, so only the direction from the smaller id counts.
        is_inside &= tails <= heads
    weights_within = np.bincount(labels[tails[is_inside]], values[is_inside], count)
    sides = [np.bincount(labels, strengths(G, kind, weight), count) for kind in ("out", "in")]
    total = strengths(G, "out", weight).sum().item()
    if total == 0:
        raise NotImplementedError(f"{weight!r} sums to 0")
    m, norm = (total if G.is_directed() else total / 2), 1 / total**2
    communities = zip(weights_within.tolist(), sides[0].tolist(), sides[1].tolist())
    return sum(L_c / m - resolution * out * into * norm for L_c, out, into in communities)


@register(
    WEIGHT,
    when("communities that are read once", lambda given: hasattr(given["communities"], "__next__")),
    least=20_000,
)
def modularity(G: Converted, communities: Any, weight: Any = "weight", resolution: float = 1) -> float:
    """Return the modularity of a partition of the nodes into communities."""
    community_list = communities if isinstance(communities, list) else list(communities)
    if not all(hasattr(part, "__len__") for part in community_list):
        raise NotImplementedError("a community is an iterator, which can be read only once")
    labels = np.full(len(G), -1, np.int64)
    sizes = list(map(len, community_list))
    names = [name for part in community_list for name in part]
    ids = G.numbered(name for name in names if name in G)
    if len(set(ids)) != len(G) or sum(sizes) != len(G):
        raise nx.algorithms.community.quality.NotAPartition(G, community_list)
    labels[ids] = np.repeat(np.arange(len(community_list)), sizes)
    return _modularity(G, labels, weight, resolution)


def _community_levels(
    G: Converted, weight: Any, find: Callable[..., Any], seed: random.Random | None, **options: Any
) -> list[Array]:
    """Return the community of each node at each level of a hierarchy of communities, as one array for each level.

    `find` is gasla's function for Louvain's or Leiden's method. As in NetworkX, a self loop counts twice in a degree.
    """
    graph = G.weighted(weight, np.add)
    graph = graph.with_values(np.ones(graph.m) if graph.values is None else graph.values.astype(np.float64))
    out = graph.out
    graph = graph.with_values(np.where(out.owners() == out.indices, 2, 1) * graph.values)
    number = 0 if seed is None else seed.getrandbits(63)
    result = find(graph.to(G.device), seed=number, **options)
    return [np.asarray(moved(labels, "cpu"), np.int64) for labels in result.levels]


MOVES = "NetworkX moves nodes in a random order"


@register(UNDIRECTED, WEIGHT, least=20_000, choice=MOVES)
def louvain_partitions(
    G: Converted, weight: Any = "weight", resolution: float = 1, threshold: float = 1e-7, seed: Any = None
) -> Iterator[list[set[Any]]]:
    """Yield the communities at each level of Louvain's method, while the modularity grows by more than `threshold`."""
    if not len(G.plain().out.indices):
        yield [{name} for name in G.names]
        return
    previous_modularity = _modularity(G, np.arange(len(G)), weight, resolution)
    for labels in _community_levels(G, weight, gasla.louvain_communities, seed, resolution=resolution):
        yield list(sets(G, labels))
        current_modularity = _modularity(G, labels, weight, resolution)
        if current_modularity - previous_modularity <= threshold:
            return
        previous_modularity = current_modularity


compose(nx.community.louvain_communities, UNDIRECTED, WEIGHT, least=20_000, choice=MOVES)


# From version 3.7 on, NetworkX has its own implementation of Leiden's method, with a parameter `metric`. Before, only
# backends implement it.
METRIC = inspect.signature(nx.community.leiden_partitions.orig_func).parameters.get("metric")
METRICS, THETA = ("modularity", "cpm"), 0.01
LEIDEN = (
    UNDIRECTED,
    WEIGHT,
    when("an unknown metric", lambda given: given.get("metric", METRICS[0]) not in METRICS),
    when("theta", lambda given: given.get("theta", THETA) != THETA),
)
AT_LEAST, CHOICE = (0, None) if METRIC is None else (20_000, MOVES)


@register(*LEIDEN, least=AT_LEAST, choice=CHOICE)
def leiden_partitions(
    G: Converted,
    weight: Any = "weight",
    resolution: float = 1,
    seed: Any = None,
    metric: str = METRICS[0] if METRIC is None else METRIC.default,
    theta: float = THETA,
) -> Iterator[list[set[Any]]]:
    """Yield the communities at each level of Leiden's method, as a list of sets of nodes."""
    for labels in _community_levels(G, weight, gasla.leiden_communities, seed, resolution=resolution, quality=metric):
        yield list(sets(G, labels))


compose(nx.community.leiden_communities, *LEIDEN, least=AT_LEAST, choice=CHOICE)
