"""The laws of gasla's functions. The site shows the table on the page `docs/laws.md`; `test_laws.py` tries it.

An algorithm whose test file has `LAWS`, a list of rows, has its rows there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
from scipy.sparse import coo_array

import gasla
import semirings
from gasla import rows, verify
from tests import oracles
from tests.helpers import beside
from tests.helpers.law import (
    ALL_SPLIT,
    COLUMNS,
    COPIED_WEIGHTS,
    KEPT,
    NO_EDGE,
    PROPORTION,
    REFUSED,
    SAME,
    SHARED,
    TIMES,
    VERIFIED,
    VERIFIED_0,
    WEIGHS_0,
    Answer,
    Array,
    Asked,
    Law,
    Row,
    by_size,
    host,
    nearly,
    only,
    scores,
    times,
    verified,
)

# --- calls ------------------------------------------------------------------------------------------------------------


def bfs(q: Asked) -> Answer:
    found = gasla.bfs(q.given, q.v(0), parents=True)
    q.check(verify.bfs, q.v(0), found.levels, found.parents)
    return {"levels": q.at_vertices(found.levels)}


def multi_source_bfs(q: Asked) -> Answer:
    found = host(gasla.multi_source_bfs(q.given, [q.v(0), q.v(1), q.v(0)]))
    return {"levels": q.at_vertices(found.T)}


def sssp(q: Asked) -> Answer:
    found = gasla.sssp(q.given, q.v(0), parents=True)
    q.check(verify.sssp, q.v(0), found.distances, found.parents)
    return {"distances": q.at_vertices(found.distances)}


def shortest_path(q: Asked) -> Answer:
    found = gasla.shortest_path(q.given, q.v(0), q.v(1))
    q.check(verify.shortest_path, q.v(0), q.v(1), *found[:3])
    return {"distance": found.distance}


def k_shortest_paths(q: Asked) -> Answer:
    found = gasla.k_shortest_paths(q.given, q.v(0), q.v(1), 4)
    q.check(verify.k_shortest_paths, q.v(0), q.v(1), 4, [tuple(map(host, path)) for path in found])
    return {"lengths": np.array([path.distance for path in found])}


def nearest_source(q: Asked) -> Answer:
    sources = [q.v(0), q.v(1), q.v(0)]
    found = gasla.nearest_source(q.given, sources)
    q.check(verify.nearest_source, sources, *found)
    return {"distances": q.at_vertices(found.distances), "nearest": q.at_vertices(found.nearest)}


def temporal(function: str, **options: Any) -> Callable[[Asked], Answer]:
    """The call of a function of time-respecting paths, with times that each drawn edge has."""

    def call(q: Asked) -> Answer:
        times = {"time": q.edge_was * 7 % 11, "duration": q.edge_was % 3}
        graph = q.graph.with_edge_attributes({name: q.here(column) for name, column in times.items()})
        vertices: Any = [q.v(0), q.v(1)] if function == "temporal_reachability" else q.v(0)
        found = host(getattr(gasla, function)(graph, vertices, **options))
        plain = q.plain.with_edge_attributes(times)
        getattr(verify, function)(plain, vertices, found, **options)
        return {"times": q.at_vertices(found.T)}

    return call


def hop_estimates(q: Asked) -> Answer:
    found = gasla.k_hop_counts(q.given, 2)
    q.check(verify.k_hop_counts, 2, found, tolerance=1)
    return {"counts": q.at_vertices(found)}


def effective_diameter(q: Asked) -> Answer:
    found = gasla.effective_diameter(q.given, share=0.7, registers=None)
    q.check(verify.effective_diameter, found, share=0.7)
    return {"distance": found}


def largest_matching(q: Asked) -> Answer:
    found = host(gasla.maximum_bipartite_matching(q.given))
    q.check(verify.maximum_bipartite_matching, found)
    return {"pairs": int((found >= 0).sum())}


def multi_source_shortest_paths(q: Asked) -> Answer:
    found = host(gasla.multi_source_shortest_paths(q.given, [q.v(0), q.v(1)]))
    return {"distances": q.at_vertices(found.T)}


SETTLES: dict[str, Any] = {"tol": 1e-10, "max_iter": 400}


def katz(q: Asked, weighted: bool) -> Answer:
    alpha = 0.001 / (q.factor if weighted else 1)
    options: dict[str, Any] = {"alpha": alpha, "normalized": False, "weighted": weighted}
    found = gasla.katz_centrality(q.given, tol=1e-13, **options)
    return {"scores": q.at_vertices(found.scores)}


def bipartite(q: Asked) -> Answer:
    found = gasla.is_bipartite(q.given, colors=True)
    q.check(verify.bipartite, found.bipartite, found.colors)
    colors = host(found.colors)
    sides = [(u, v) for u in q.now for v in q.now if colors[u] >= 0 and colors[u] != colors[v]]
    return {"bipartite": found.bipartite, "odd": q.at_vertices(colors < 0), "count": len(sides) > 0}


def components(q: Asked) -> Answer:
    found = gasla.connected_components(q.given)
    q.check(verify.components, found.labels, int(found.count))
    return {"parts": q.groups(found.labels), "count": int(found.count) - int((q.was < 0).sum())}


def strong_components(q: Asked) -> Answer:
    found = gasla.strongly_connected_components(q.given)
    q.check(verify.strong_components, found.labels, found.count)
    return {"parts": q.groups(found.labels), "count": found.count - int((q.was < 0).sum())}


def forest(q: Asked) -> Answer:
    found = gasla.minimum_spanning_forest(q.given)
    q.check(verify.minimum_spanning_forest, found.edges, found.total)
    weights = np.ones(q.plain.m) if q.plain.values is None else q.plain.values.astype(float)
    return {"total": float(found.total), "weights": np.sort(weights[host(found.edges)])}


def triangles(q: Asked) -> Answer:
    found = gasla.triangle_count(q.given, per_vertex=True)
    q.check(verify.triangles, int(found.total), found.per_vertex)
    return {"total": int(found.total), "per_vertex": q.at_vertices(found.per_vertex)}


def similarity(function: str) -> Callable[[Asked], Answer]:
    def call(q: Asked) -> Answer:
        edges = getattr(gasla, function)(q.given)
        pairs = tuple(q.here(np.array([q.v(i) for i in ends])) for ends in ((0, 1, 2), (1, 2, 0)))
        return {"edges": q.at_edges(edges), "pairs": host(getattr(gasla, function)(q.given, pairs))}

    return call


def geolocated(sphere: bool) -> Callable[[Asked], Answer]:
    def call(q: Asked) -> Answer:
        places = np.stack([q.was * 7 % 5, q.was * 3 % 4], axis=1).astype(float)
        places[(q.was % 3 != 0) | (q.was < 0)] = np.nan
        found = host(gasla.geolocate(q.given, q.here(places), sphere=sphere))
        q.check(verify.geolocate, places, found, sphere=sphere)
        return {"places": q.at_vertices(10 + np.nan_to_num(found, nan=-1))}

    return call


def top_k_similar(q: Asked) -> Answer:
    found = gasla.top_k_similar(q.given, 3)
    q.check(oracles.top_k_similar, found.vertices, found.scores, 3)
    return {"scores": q.at_vertices(found.scores)}


def matches(q: Asked) -> Answer:
    found = host(gasla.subgraph_matches(q.given, np.ones((3, 3)) - np.eye(3)))
    return {"matches": sorted(tuple(sorted(row)) for row in q.was[found].tolist())}


def cycles(q: Asked) -> Answer:
    found = host(gasla.subgraph_matches(q.given, "cycle3", directed=True))
    turned = (np.roll(row, -row.argmin()) for row in q.was[found])
    return {"matches": sorted(tuple(row.tolist()) for row in turned)}


def chains(q: Asked) -> Answer:
    """Paths of two edges by edges that begin at vertices of even ids, and how many of them each vertex is in."""
    labels = q.was[q.plain.edges()[0]] % 2
    asked: dict[str, Any] = {"edge_labels": labels, "pattern_edge_labels": {(0, 1): 0}}
    found = host(gasla.subgraph_matches(q.given, "0>1,1>2", **asked))
    each = gasla.subgraph_matches(q.given, "0>1,1>2", per_vertex=True, **asked)
    return {"matches": sorted(map(tuple, q.was[found].tolist())), "per_vertex": q.at_vertices(each)}


def triads(q: Asked) -> Answer:
    """The connected ones."""
    counts = gasla.triadic_census(q.given)
    assert sum(counts.values()) == comb(q.n, 3)
    return {name: count for name, count in counts.items() if name not in ("003", "012", "102")}


def labels_of(function: str, verifier: Callable[..., None], **options: Any) -> Callable[[Asked], Answer]:
    """A partition that is one of many right ones."""

    def call(q: Asked) -> Answer:
        found = getattr(gasla, function)(q.given, **options)
        labels = found.labels if isinstance(found, tuple) else found
        q.check(verifier, labels, **{name: x for name, x in options.items() if name in ("weighted", "refine")})
        return {"parts": q.groups(labels)}

    return call


def synchronous_labels(weighted: bool) -> Callable[[Asked], Answer]:
    def call(q: Asked) -> Answer:
        how: dict[str, Any] = {"method": "synchronous", "max_iter": 3, "weighted": weighted}
        labels = gasla.label_propagation(q.given, **how)
        q.check(verify.label_propagation, labels, **how)
        return {"parts": q.groups(labels)}

    return call


def modularity(weighted: bool) -> Callable[[Asked], Answer]:
    def call(q: Asked) -> Answer:
        return {"score": gasla.modularity(q.given, q.here(q.was % 3), weighted=weighted)}

    return call


def nibble(weighted: bool) -> Callable[[Asked], Answer]:
    def call(q: Asked) -> Answer:
        epsilon = 1e-10 / (q.factor if weighted else 1)  # of residual for each unit of weight
        found = gasla.pagerank_nibble(q.given, q.v(0), weighted=weighted, epsilon=epsilon)
        q.check(
            lambda graph, *args: verify.pagerank_nibble(graph, q.v(0), *args, weighted=weighted, epsilon=epsilon),
            found.vertices, found.conductance, found.scores,
        )  # fmt: skip
        return {"scores": q.at_vertices(found.scores), "conductance": found.conductance}

    return call


def k_truss(q: Asked) -> Answer:
    found = np.zeros(q.plain.m, bool)
    found[host(gasla.k_truss(q.given, 3))] = True
    return {"edges": q.at_edges(found)}


def k_core(q: Asked) -> Answer:
    return {"members": q.vertices(gasla.k_core(q.given, 2))}


def condensation(q: Asked) -> Answer:
    found = gasla.condensation(q.given)
    q.check(lambda graph: verify.condensation(graph, found.to("cpu")))
    labels = host(gasla.strongly_connected_components(q.given).labels)
    first = [q.vertices(np.flatnonzero(labels == label)) for label in range(found.n)]
    names = np.array([q.now[group[0]] if len(group) else int(np.flatnonzero(labels == label)[0])
                      for label, group in enumerate(first)])  # fmt: skip
    return {"edges": q.joined(found, names)}


def ego_graph(q: Asked) -> Answer:
    near = gasla.ego_graph(q.given, q.v(0), 2)
    far = gasla.ego_graph(q.given, q.v(0), 6.5 * q.factor, weighted=True, undirected=True)
    return {
        "near": q.vertices(near.origin.vertices),
        "edges": q.joined(near, near.origin.vertices, np.minimum),
        "far": q.vertices(far.origin.vertices),
    }


def project(q: Asked, combine: Any) -> Answer:
    found = gasla.project(q.given, q.here(q.was % 2 == 0), combine)
    return {"edges": q.joined(found, found.origin.vertices)}


def from_bipartite(q: Asked) -> Answer:
    """The matrix of the edges between even and odd vertices, read with both directions of each."""
    src, dst = (np.asarray(end) for end in q.plain.edges())
    is_left = q.was % 2 == 0
    ids = np.concatenate([np.flatnonzero(is_left), np.flatnonzero(~is_left)])
    places = np.argsort(ids)
    left, right = np.where(is_left[src], src, dst), np.where(is_left[src], dst, src)
    count = int(is_left.sum())
    block = coo_array((np.ones(len(src)), (places[left], places[right] - count)), shape=(count, q.n - count))
    found = gasla.Graph.from_bipartite(block).with_values(None).symmetrized()
    return {"edges": q.joined(found, ids)}


def orders(q: Asked) -> Answer:
    found = gasla.topological_order(q.given, levels=True)
    q.check(verify.topological_order, found.order, found.levels)
    return {"levels": q.at_vertices(found.levels)}


def longest_path(weighted: bool) -> Callable[[Asked], Answer]:
    def call(q: Asked) -> Answer:
        found = gasla.longest_path(q.given, weighted=weighted)
        q.check(verify.longest_path, found.lengths, found.parents, found.path, weighted=weighted)
        return {"lengths": q.at_vertices(found.lengths)}

    return call


def independent(q: Asked) -> Answer:
    found = gasla.maximal_independent_set(q.given, seed=q.seed)
    q.check(verify.maximal_independent_set, found)
    members = host(found)
    return {"members": q.vertices(np.flatnonzero(members) if members.dtype == bool else members)}


def positions(q: Asked) -> Answer:
    found = gasla.layout(q.given, seed=q.seed)
    q.check(verify.layout, found)
    return {"positions": q.at_vertices(found)}


def colours(q: Asked) -> Answer:
    found = gasla.greedy_color(q.given, seed=q.seed)
    q.check(verify.greedy_color, found)
    return {"colours": q.at_vertices(found)}


def matching(weighted: bool) -> Callable[[Asked], Answer]:
    def call(q: Asked) -> Answer:
        mates = gasla.maximal_matching(q.given, weighted=weighted)
        q.check(verify.maximal_matching, mates, weighted=weighted)
        mates = host(mates)
        return {"mates": q.pairs([(v, mate) for v, mate in enumerate(mates.tolist()) if mate >= 0])}

    return call


def maximum_flow(q: Asked) -> Answer:
    found = gasla.maximum_flow(q.given, q.v(0), q.v(1))
    q.check(verify.maximum_flow, q.v(0), q.v(1), *found)
    return {"value": float(found.value)}


def minimum_cut(q: Asked) -> Answer:
    found = gasla.minimum_cut(q.given, q.v(0), q.v(1))
    q.check(verify.minimum_cut, q.v(0), q.v(1), *found)
    return {"value": float(found.value), "side": q.at_vertices(found.source_side)}


def features(q: Asked) -> Array:
    """Two whole numbers a vertex."""
    return np.asarray(q.was[:, None] % 4 + np.array([1, 3]), float)


def aggregated(reduce: Any, weighted: bool = True) -> Callable[[Asked], Answer]:
    def call(q: Asked) -> Answer:
        found = gasla.aggregate_features(q.given, q.here(features(q)), reduce, weighted=weighted)
        return {"rows": q.at_vertices(found)}

    return call


def walks(function: str, weighted: bool, **options: Any) -> Callable[[Asked], Answer]:
    def call(q: Asked) -> Answer:
        starts = q.here(np.array([q.v(0), q.v(1), q.v(2)]))
        found = getattr(gasla, function)(q.given, starts, 5, weighted=weighted, seed=q.seed, **options)
        q.check(verify.random_walks, starts, found, weighted=weighted)
        found = host(found)
        return {"walks": np.where(found < 0, -1, q.was[found])}

    return call


class Onwards(gasla.WalkProgram):
    """A walk that may end."""

    def stop(self, vertex: Any) -> Any:
        return 0.2


def walk(q: Asked) -> Answer:
    found = host(gasla.walk(Onwards, q.given, q.here(np.array([q.v(0), q.v(1)])), 5, seed=q.seed))
    return {"walks": np.where(found < 0, -1, q.was[found])}


def walks_in_time(q: Asked) -> Answer:
    graph = q.graph.with_edge_attributes(time=q.here(q.edge_was % 7))
    found = host(gasla.temporal_walks(graph, q.here(np.array([q.v(0), q.v(1)])), 5, at=1, seed=q.seed))
    return {"walks": np.where(found < 0, -1, q.was[found])}


def walks_along_relations(q: Asked) -> Answer:
    graph = gasla.TypedGraph({("v", "to", "v"): q.graph})
    starts = q.here(np.array([q.v(0), q.v(1)]))
    found = host(gasla.metapath_walks(graph, starts, [("v", "to", "v")], 5, seed=q.seed))
    return {"walks": np.where(found < 0, -1, q.was[found])}


def shares_of_scores(q: Asked) -> Answer:
    scores = q.here(q.edge_was % 5 / 2.0)
    return {"shares": q.at_edges(gasla.edge_softmax(q.given, scores))}


def slopes_of_scores(q: Asked) -> Answer:
    scores = q.here(q.edge_was % 5 / 2.0)
    shares = gasla.edge_softmax(q.given, scores)
    return {"slopes": q.at_edges(gasla.edge_softmax_gradient(q.given, shares, scores))}


def sampled(q: Asked) -> Answer:
    ids = q.here(np.array([q.v(0), q.v(1), q.v(2)]))
    found = gasla.sample_neighbors(q.given, ids, 2, seed=q.seed)
    q.check(lambda graph, ids, found: verify.sample_neighbors(graph, ids, 2, found), ids, found)
    found = host(found)
    return {"sample": np.sort(np.where(found < 0, -1, q.was[found]), axis=1)}


def sampled_layers(q: Asked) -> Answer:
    given, options = [q.v(0), q.v(1)], {"weighted": True, "direction": "in"}
    ids = q.here(np.array(given if q.v(0) != q.v(1) else given[:1]))
    found = gasla.sample_neighbors(q.given, ids, [2, 2], seed=q.seed, **options)  # type: ignore[call-overload]

    def verified(graph: Any, ids: Array, *arrays: Array) -> None:
        verify.sample_neighbors(graph, ids, [2, 2], (*arrays, *found[3:]), **options)  # type: ignore[arg-type]

    q.check(verified, ids, *found[:3])
    src, dst = q.was[host(found.vertices)[host(found.edge_index)]]
    return {"edges": np.array(sorted(zip(src.tolist(), dst.tolist())))}


def apart(q: Asked) -> Answer:
    count = min(4, q.n * (q.n - 1) - q.plain.simple().m)
    found = gasla.negative_edges(q.given, count, seed=q.seed)
    q.check(lambda graph, found: verify.negative_edges(graph, count, found), found)
    return {"pairs": q.was[host(found)] if q.n == len(q.now) else host(found)}


def sets(q: Asked) -> Answer:
    found = gasla.split_edges(q.given, (0.5, 0.3, 0.2), seed=q.seed)
    q.check(lambda graph, *found: verify.split_edges(graph, (0.5, 0.3, 0.2), found), *found)
    number = np.zeros(q.plain.m, int)
    for k, part in enumerate(found):
        number[host(part)] = k
    return {"sets": q.at_edges(number)}


def mxv(q: Asked) -> Answer:
    x = q.here(features(q)[:, 0])
    return {
        "sums": q.at_vertices(gasla.mxv(q.given, x)),
        "least": q.at_vertices(gasla.mxv(q.given, x, semirings.max_times)),
    }


def vxm(q: Asked) -> Answer:
    return {"sums": q.at_vertices(gasla.vxm(q.here(features(q)[:, 0]), q.given))}


def mxm(q: Asked) -> Answer:
    found = gasla.mxm(q.graph, q.graph)
    return {"entries": q.joined(gasla.Graph(found.to_scipy()))}


def top_k(q: Asked) -> Answer:
    return {"values": q.at_vertices(gasla.top_k(q.graph, 2).values)}


class Cheapest(gasla.VertexProgram):
    """The cheapest way from the source."""

    cost = gasla.vertex(np.float64, init=np.inf)
    weight = gasla.edge(np.float64)
    reduce = semirings.min

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return src.cost + edge.weight

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"cost": semirings.minimum(vertex.cost, gathered)}


def run(q: Asked) -> Answer:
    found = gasla.run(Cheapest, q.given, active=[q.v(0)], cost={q.v(0): 0})
    return {"cost": q.at_vertices(found.cost)}


def prepare(q: Asked) -> Answer:
    found = gasla.prepare(Cheapest, q.given)(active=[q.v(0)], cost={q.v(0): 0})
    return {"cost": q.at_vertices(found.cost)}


def select(q: Asked) -> Answer:
    found = q.graph.select(q.here(q.edge_was % 2 == 0))
    return {"edges": q.joined(found)}


def subgraph(q: Asked) -> Answer:
    chosen = q.now[: 1 + len(q.now) // 2]
    found = q.graph.subgraph(q.here(chosen))
    return {"edges": q.joined(found, chosen)}


def simple(combine: Any, by: Any = np.add) -> Callable[[Asked], Answer]:
    return lambda q: {"edges": q.joined(q.graph.simple(combine), by=by)}


def first(q: Asked) -> Answer:
    found = q.graph.simple()
    return {"places": q.joined(found, counts=True), "edges": q.joined(found)}


def contract(q: Asked) -> Answer:
    groups = np.where(q.was < 0, q.n - 1, q.was // 2)  # the drawn vertices by twos; those that were added together
    found = q.graph.contract(q.here(groups))
    return {"edges": q.joined(found, q.now[2 * np.unique(groups[q.now])])}


def symmetrized(combine: Any, by: Any = np.add) -> Callable[[Asked], Answer]:
    def call(q: Asked) -> Answer:
        found = q.graph.symmetrized(combine)
        edges = q.joined(found, by=by)
        assert found.to("cpu").has_symmetric_values, "not symmetric"
        return {"edges": edges, "m": found.m}

    return call


def changed(q: Asked) -> Answer:
    values = q.plain.values
    weight = None if values is None else q.here(np.array([q.factor], values.dtype))
    ends = (q.here(np.array([q.v(k)])) for k in (0, 1))
    more, less = (*ends, weight), q.here(np.flatnonzero(q.edge_was % 3 == 0))
    return {"edges": q.joined(q.graph.changed(insert=more, remove=less))}


def to_edge_index(q: Asked) -> Answer:
    return {"edges": q.joined(gasla.Graph.from_edge_index(q.plain.to_edge_index(), q.plain.values, n=q.n))}


def from_csr(q: Asked) -> Answer:
    lists = q.graph.out
    return {"edges": q.joined(gasla.Graph.from_csr(lists.indptr, lists.indices, q.graph.out_values))}


def from_edges(combine: Any, by: Any = np.add) -> Callable[[Asked], Answer]:
    def call(q: Asked) -> Answer:
        src, dst = q.graph.edges()
        return {"edges": q.joined(gasla.Graph.from_edges(src, dst, q.graph.values, n=q.n, combine=combine), by=by)}

    return call


def networkx_and_back(q: Asked) -> Answer:
    return {"edges": q.joined(gasla.Graph.from_networkx(q.plain.to_networkx()))}


def igraph_and_back(q: Asked) -> Answer:
    return {"edges": q.joined(gasla.Graph.from_igraph(q.plain.to_igraph()))}


def from_table(q: Asked) -> Answer:
    import pyarrow

    src, dst = q.plain.edges()
    values = {} if q.plain.values is None else {"weight": q.plain.values}
    found = gasla.Graph.from_table(pyarrow.table({"src": src, "dst": dst, **values}), names=False)
    return {"edges": q.joined(found, np.arange(found.n))}


def weighted_by(q: Asked) -> Answer:
    graph = q.graph.with_edge_attributes(x=q.here(q.edge_was % 5 + 1.0))
    return {"edges": q.joined(graph.weighted_by("x"), by=max)}


def with_attributes(q: Asked) -> Answer:
    ids = q.here(np.arange(q.n))
    graph = q.graph.with_vertex_attributes(x=ids).with_edge_attributes(x=q.here(q.edge_was))
    return {"edges": q.joined(graph)}


def embedded(normalized: bool, weighted: bool) -> Callable[[Asked], Answer]:
    def call(q: Asked) -> Answer:
        options: dict[str, Any] = {"normalized": normalized, "weighted": weighted}
        found = gasla.spectral_embedding(q.given, 2, **options)
        q.check(verify.spectral_embedding, *found, **options)
        return {"values": found.values + 1e-6 * (q.factor if weighted and not normalized else 1)}  # zeros are rounded

    return call


def halves(q: Asked) -> Answer:
    found = host(gasla.fiedler_vector(q.given))
    q.check(verify.fiedler_vector, found)
    return {"length": float(found @ found)}


def batched(q: Asked) -> Answer:
    found = gasla.batch([q.given, q.given])
    return {"edges": q.joined(found.graph, np.tile(np.arange(q.n), 2))}


def without_split(before: Answer, then: Asked, now: Asked) -> Answer:
    """Bridges that are still some: not those with a parallel edge now."""
    src, dst = then.plain.edges()
    split = np.flatnonzero(np.bincount(now.edge_was, minlength=now.m) > 1)
    gone = {(min(a, b), max(a, b)) for a, b in zip(src[split].tolist(), dst[split].tolist(), strict=True)}
    return {"bridges": [pair for pair in before["bridges"] if pair not in gone]}


# --- the table --------------------------------------------------------------------------------------------------------

ANY_ORDER = only("other walks of the same distribution: verified")
WEIGHED: dict[str, Any] = {"weights": True, "split": SHARED, "zeros": NO_EDGE}
MADE: dict[str, Any] = {"weights": True, "split": SHARED, "zeros": WEIGHS_0, "nan": KEPT, "wraps": True}
LENGTHS: dict[str, Any] = {"weights": True, "split": COPIED_WEIGHTS, "zeros": WEIGHS_0}
COUNTED: dict[str, Any] = {"split": ALL_SPLIT}


def normed(call: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
    """Scores in proportion to each other."""
    return lambda q: {name: x / x.sum() for name, x in call(q).items()}


ROWS: tuple[Row, ...] = (
    Row("bfs", bfs, ranks=True,
        networkx="bfs_edges bfs_layers bfs_predecessors bfs_successors bfs_tree descendants ancestors "
        "descendants_at_distance predecessor single_source_shortest_path single_source_shortest_path_length "
        "single_target_shortest_path single_target_shortest_path_length bidirectional_shortest_path has_path "
        "shortest_path shortest_path_length"),
    Row("multi_source_bfs", multi_source_bfs, ranks=True,
        networkx="all_pairs_shortest_path all_pairs_shortest_path_length eccentricity diameter radius periphery "
        "average_shortest_path_length"),
    Row("eccentricity", scores("eccentricity"), ranks=True),
    Row("effective_diameter", effective_diameter, "registers=None", ranks=True,
        isolated=only("a pair more, at distance 0: verified")),
    Row("k_hop_counts", scores("k_hop_counts", 2, registers=None), "registers=None", ranks=True),
    Row("k_hop_counts", hop_estimates, ranks=True, renamed=only("another estimate: verified")),
    Row("sssp", sssp, **LENGTHS, scaled=times(TIMES, distances=1), ranks=True,
        networkx="single_source_dijkstra single_source_dijkstra_path single_source_dijkstra_path_length "
        "dijkstra_predecessor_and_distance multi_source_dijkstra multi_source_dijkstra_path "
        "multi_source_dijkstra_path_length", csgraph="dijkstra bellman_ford shortest_path"),
    Row("shortest_path", shortest_path, **LENGTHS, scaled=times(TIMES, distance=1),
        networkx="dijkstra_path dijkstra_path_length"),
    Row("k_shortest_paths", k_shortest_paths, **LENGTHS, scaled=times(TIMES, lengths=1), csgraph="yen"),
    Row("multi_source_shortest_paths", multi_source_shortest_paths, **LENGTHS, ranks=True,
        scaled=times(TIMES, distances=1),
        networkx="all_pairs_dijkstra all_pairs_dijkstra_path all_pairs_dijkstra_path_length"),
    Row("nearest_source", nearest_source, **LENGTHS | {"zeros": nearly("distances")}, ranks=True,
        scaled=times(TIMES, distances=1), networkx="voronoi_cells"),
    Row("earliest_arrival", temporal("earliest_arrival", window=(2, None), duration="duration")),
    Row("latest_departure", temporal("latest_departure", window=(2, 9))),
    Row("fastest_durations", temporal("fastest_durations", duration="duration")),
    Row("temporal_reachability", temporal("temporal_reachability", duration=1)),
    Row("closeness_centrality", scores("closeness_centrality"), ranks=True,
        networkx="closeness_centrality",
        isolated=by_size("times (n - 1) / (new n - 1)", lambda n, new: (n - 1) / (new - 1), "scores")),
    Row("closeness_centrality",
        verified("closeness_centrality", verify.closeness, distance="weight", wf_improved=False),
        'distance="weight", wf_improved=False', **LENGTHS | {"zeros": VERIFIED_0}, ranks=True,
        scaled=times("divided by the factor", scores=-1)),
    Row("harmonic_centrality", scores("harmonic_centrality"), ranks=True,
        networkx="harmonic_centrality"),
    Row("harmonic_centrality", verified("harmonic_centrality", verify.harmonic, distance="weight"), 'distance="weight"',
        **LENGTHS | {"zeros": VERIFIED_0}, ranks=True, scaled=times("divided by the factor", scores=-1)),
    Row("pagerank", normed(scores("pagerank", parts=["ranks"], **SETTLES)), ranks=True,
        networkx="pagerank", isolated=PROPORTION, rtol=1e-7, **WEIGHED),
    Row("pagerank", normed(scores("pagerank", parts=["ranks"], weighted=False, **SETTLES)), "weighted=False",
        ranks=True, isolated=PROPORTION, rtol=1e-7, **COUNTED),
    Row("hits", scores("hits", parts=("hubs", "authorities"), **SETTLES), kinds=("steady",), least=1, ranks=True,
        networkx="hits", rtol=1e-7, **WEIGHED),
    Row("hits", scores("hits", parts=("hubs", "authorities"), weighted=False, **SETTLES), "weighted=False",
        kinds=("steady",), ranks=True, rtol=1e-7, **COUNTED),
    Row("salsa", scores("salsa", parts=("hubs", "authorities"), **SETTLES), kinds=("steady",), least=1, ranks=True,
        rtol=1e-7, **WEIGHED),
    Row("salsa", scores("salsa", parts=("hubs", "authorities"), weighted=False, **SETTLES), "weighted=False",
        kinds=("steady",), ranks=True, rtol=1e-7, **COUNTED),
    Row("katz_centrality", lambda q: katz(q, True), "weighted=True", ranks=True,
        scaled=Law("the same with `alpha` divided by the factor", SAME.expected), rtol=1e-7, **WEIGHED),
    Row("katz_centrality", lambda q: katz(q, False), ranks=True, networkx="katz_centrality", rtol=1e-7,
        split=only("each part counts")),
    Row("eigenvector_centrality", scores("eigenvector_centrality", weighted=True, **SETTLES), "weighted=True",
        kinds=("steady",), least=1, ranks=True, rtol=1e-7, **WEIGHED),
    Row("eigenvector_centrality", scores("eigenvector_centrality", **SETTLES), kinds=("steady",), ranks=True,
        networkx="eigenvector_centrality", rtol=1e-7, **COUNTED),
    Row("connected_components", components, ranks=True, csgraph="connected_components",
        networkx="connected_components weakly_connected_components number_connected_components is_connected "
        "number_weakly_connected_components is_weakly_connected node_connected_component number_of_isolates"),
    Row("strongly_connected_components", strong_components,
        networkx="strongly_connected_components number_strongly_connected_components is_strongly_connected"),
    Row("condensation", condensation, scaled=times(TIMES, edges=1), **MADE),
    Row("is_bipartite", bipartite, kinds=("any", "bipartite"), networkx="is_bipartite"),
    Row("bridges", lambda q: {"bridges": q.pairs(gasla.bridges(q.given))},
        split=Law("a split edge is no bridge", without_split)),
    Row("articulation_points", lambda q: {"points": q.vertices(gasla.articulation_points(q.given))}),
    Row("minimum_spanning_forest", forest, **LENGTHS,
        scaled=times(TIMES, total=1, weights=1), csgraph="minimum_spanning_tree",
        networkx="minimum_spanning_edges maximum_spanning_edges"),
    Row("triangle_count", triangles, ranks=True, networkx="triangles"),
    Row("edge_support", lambda q: {"support": q.at_edges(gasla.edge_support(q.given))}),
    Row("clustering", scores("clustering"), ranks=True, networkx="clustering"),
    Row("clustering", scores("clustering", mode="neighborhood"), 'mode="neighborhood"'),
    Row("clustering", scores("clustering", mode="directed"), 'mode="directed"'),
    Row("transitivity", lambda q: {"share": gasla.transitivity(q.given)}, ranks=True,
        networkx="transitivity"),
    Row("average_clustering", lambda q: {"mean": gasla.average_clustering(q.given)}, ranks=True,
        networkx="average_clustering", isolated=by_size("times n / new n", lambda n, new: n / new, "mean")),
    Row("scan_statistics", scores("scan_statistics"), ranks=True),
    Row("square_clustering", scores("square_clustering"), networkx="square_clustering"),
    Row("k_truss", k_truss),
    *(Row(name, similarity(name), networkx=theirs) for name, theirs in (
        ("jaccard", "jaccard_coefficient"), ("overlap", ""), ("sorensen", ""), ("cosine", ""),
        ("adamic_adar", "adamic_adar_index"),
        ("resource_allocation", "resource_allocation_index"), ("preferential_attachment", "preferential_attachment"))),
    Row("geolocate", geolocated(False), rtol=1e-5),
    Row("geolocate", geolocated(True), "sphere=True", rtol=1e-5),
    Row("shared_nearest_neighbors", similarity("shared_nearest_neighbors")),
    Row("top_k_similar", top_k_similar),
    Row("count_cliques", lambda q: {"3": gasla.count_cliques(q.given, 3), "4": gasla.count_cliques(q.given, 4)}),
    Row("subgraph_matches", matches),
    Row("subgraph_matches", cycles, "directed=True"),
    Row("subgraph_matches", chains, "edge_labels=True"),
    Row("motif_counts", lambda q: gasla.motif_counts(q.given)),
    Row("spectral_embedding", embedded(True, True), scaled=SAME, rtol=1e-6,
        isolated=only("an eigenvalue of 1 more: verified"), **WEIGHED),
    Row("spectral_embedding", embedded(False, True), "normalized=False", rtol=1e-6, scaled=times(TIMES, values=1),
        isolated=only("an eigenvalue of 0 more: verified"), **WEIGHED),
    Row("spectral_embedding", embedded(True, False), "weighted=False", rtol=1e-6,
        isolated=only("an eigenvalue of 1 more: verified"), **COUNTED),
    Row("fiedler_vector", halves, kinds=("steady", "any"), rtol=1e-6, **WEIGHED,
        isolated=Law("an error, which names the number of components", SAME.expected, refused=True)),
    Row("triadic_census", triads, networkx="triadic_census"),
    Row("louvain_communities", labels_of("louvain_communities", verify.louvain_communities),
        networkx="leiden_communities leiden_partitions",
        isolated=VERIFIED, renamed=VERIFIED, engines=VERIFIED, **WEIGHED),
    Row("louvain_communities",
        labels_of("louvain_communities", verify.louvain_communities, weighted=False, refine=True),
        "weighted=False, refine=True", isolated=VERIFIED, renamed=VERIFIED, engines=VERIFIED, **COUNTED),
    Row("label_propagation", labels_of("label_propagation", verify.label_propagation, weighted=True, tol=0),
        "weighted=True", renamed=VERIFIED, **WEIGHED),
    Row("label_propagation", labels_of("label_propagation", verify.label_propagation, tol=0), renamed=VERIFIED,
        networkx="label_propagation_communities", **COUNTED),
    Row("label_propagation", synchronous_labels(False), 'method="synchronous"', renamed=VERIFIED, **COUNTED),
    Row("label_propagation", synchronous_labels(True), 'method="synchronous", weighted=True', renamed=VERIFIED,
        **WEIGHED),
    Row("core_number", scores("core_number"), ranks=True, networkx="core_number"),
    Row("k_core", k_core, ranks=True),
    Row("modularity", modularity(True), ranks=True, **WEIGHED),
    Row("modularity", modularity(False), "weighted=False", ranks=True, **COUNTED),
    Row("pagerank_nibble", nibble(True), "weighted=True", ranks=True, rtol=1e-6,
        scaled=Law("the same with `epsilon` divided by the factor", SAME.expected), **WEIGHED),
    Row("pagerank_nibble", nibble(False), ranks=True, rtol=1e-6, **COUNTED),
    Row("ego_graph", ego_graph, **LENGTHS,
        scaled=times("the same with the radius times the factor", edges=1)),
    Row("project", lambda q: project(q, None), kinds=("bipartite",)),
    Row("project", lambda q: project(q, semirings.plus_times), "combine=plus_times", kinds=("bipartite",),
        scaled=times("times the square of the factor, or infinite", edges=2), **MADE),
    Row("betweenness_centrality", scores("betweenness_centrality"),
        networkx="betweenness_centrality",
        isolated=by_size("times (n - 1)(n - 2) / (new n - 1)(new n - 2)",
                         lambda n, new: (n - 1) * (n - 2) / ((new - 1) * (new - 2)), "scores"), **COUNTED),
    Row("betweenness_centrality", scores("betweenness_centrality", weighted=True, normalized=False),
        "weighted=True, normalized=False", least=1, weights=True, zeros=REFUSED,
        split=only("one path more, with its share")),
    Row("edge_betweenness_centrality", lambda q: {"scores": q.at_edges(gasla.edge_betweenness_centrality(q.given))},
        networkx="edge_betweenness_centrality", split=only("one path more, with its share"),
        isolated=by_size("times n(n - 1) / new n(new n - 1)", lambda n, new: n * (n - 1) / (new * (new - 1)),
                         "scores")),
    Row("edge_betweenness_centrality",
        lambda q: {"scores": q.at_edges(gasla.edge_betweenness_centrality(q.given, weighted=True, normalized=False))},
        "weighted=True, normalized=False", least=1, weights=True, zeros=REFUSED,
        split=only("one path more, with its share")),
    Row("topological_order", orders, kinds=("acyclic", "any"), ranks=True,
        networkx="topological_generations has_cycle is_directed_acyclic_graph"),
    Row("longest_path", longest_path(True), kinds=("acyclic", "any"), ranks=True, **LENGTHS,
        scaled=times(TIMES, lengths=1)),
    Row("longest_path", longest_path(False), "weighted=False", kinds=("acyclic",)),
    Row("layout", positions, isolated=VERIFIED, renamed=VERIFIED, engines=VERIFIED),
    Row("maximal_independent_set", independent, ranks=True, renamed=VERIFIED,
        split=VERIFIED),
    Row("greedy_color", colours, networkx="greedy_color", renamed=VERIFIED, split=VERIFIED),
    Row("maximal_matching", matching(False), renamed=VERIFIED, split=VERIFIED),
    Row("maximal_matching", matching(True), "weighted=True", weights=True, zeros=WEIGHS_0, split=VERIFIED,
        renamed=VERIFIED),
    Row("maximum_bipartite_matching", largest_matching, kinds=("bipartite", "any")),
    Row("maximum_flow", maximum_flow, csgraph="maximum_flow", networkx="maximum_flow_value",
        scaled=times(TIMES, value=1), **WEIGHED),
    Row("minimum_cut", minimum_cut, scaled=times(TIMES, value=1), **WEIGHED),
    Row("aggregate_features", aggregated("sum"), scaled=times(TIMES, rows=1),
        **WEIGHED | {"zeros": WEIGHS_0, "nan": KEPT}),
    Row("aggregate_features", aggregated("mean"), 'reduce="mean"', **WEIGHED),
    Row("aggregate_features", aggregated("max"), 'reduce="max"', **LENGTHS | {"nan": KEPT},
        scaled=times(TIMES, rows=1)),
    Row("aggregate_features", aggregated("min", False), 'reduce="min", weighted=False'),
    Row("random_walks", walks("random_walks", True), "weighted=True", weights=True, zeros=NO_EDGE, order=ANY_ORDER,
        split=ANY_ORDER, forms=ANY_ORDER),
    Row("random_walks", walks("random_walks", False), order=ANY_ORDER, split=ANY_ORDER, forms=ANY_ORDER),
    Row("node2vec_walks", walks("node2vec_walks", True, p=0.5, q=2.0), "weighted=True", weights=True,
        zeros=VERIFIED_0, order=ANY_ORDER, split=ANY_ORDER, forms=ANY_ORDER),
    Row("temporal_walks", walks_in_time, order=ANY_ORDER, split=ANY_ORDER, forms=ANY_ORDER),
    Row("metapath_walks", walks_along_relations, order=ANY_ORDER, split=ANY_ORDER, forms=ANY_ORDER),
    Row("edge_softmax", shares_of_scores, split=only("each part counts")),
    Row("edge_softmax_gradient", slopes_of_scores, split=only("each part counts")),
    Row("walk", walk, order=ANY_ORDER, split=ANY_ORDER, forms=ANY_ORDER),
    Row("sample_neighbors", sampled, order=only("other samples of the same distribution: verified"), split=ANY_ORDER,
        forms=only("other samples of the same distribution: verified")),
    Row("sample_neighbors", sampled_layers, 'k=[2, 2], direction="in", weighted=True', weights=True, zeros=NO_EDGE,
        order=only("other samples of the same distribution: verified"), split=ANY_ORDER,
        forms=only("other samples of the same distribution: verified")),
    Row("negative_edges", apart, isolated=only("other pairs of the same distribution: verified"),
        renamed=only("other pairs of the same distribution: verified")),
    Row("split_edges", sets, renamed=only("other sets of the same distribution: verified")),
    Row("mxv", mxv, ranks=False, weights=True, zeros=WEIGHS_0, nan=KEPT,
        split=only("sums are the same if the parts share its weight", "sums", how="shares"),
        scaled=times(TIMES, sums=1, least=1)),
    Row("vxm", vxm, ranks=True, scaled=times(TIMES, sums=1), **WEIGHED | {"zeros": WEIGHS_0, "nan": KEPT}),
    Row("mxm", mxm, scaled=times("both matrices: times the factor squared", entries=2), **MADE),
    Row("top_k", top_k, weights=True, zeros=WEIGHS_0, scaled=times(TIMES, values=1), split=only("each entry counts")),
    Row("batch", batched, scaled=times(TIMES, edges=1), **MADE),
    Row("run", run, weights=True, zeros=WEIGHS_0, nan=KEPT, ranks=True,
        split=Law("as the program reduces: a minimum is the same", SAME.expected),
        scaled=times("as the program computes: lengths times the factor", cost=1)),
    Row("prepare", prepare, weights=True, zeros=WEIGHS_0, nan=KEPT, split=Law("as `run`", SAME.expected), ranks=True,
        scaled=times("as `run`", cost=1)),
    Row("Graph.select", select, scaled=times(TIMES, edges=1), **MADE),
    Row("Graph.subgraph", subgraph, scaled=times(TIMES, edges=1), **MADE),
    Row("Graph.simple", simple(semirings.plus), "plus", scaled=times(TIMES, edges=1), **MADE),
    Row("Graph.simple", simple(semirings.max, np.maximum), "max", **LENGTHS | {"nan": KEPT},
        scaled=times(TIMES, edges=1)),
    Row("Graph.simple", first, weights=True, zeros=WEIGHS_0, nan=KEPT, scaled=times(TIMES, edges=1),
        split=only("the same positions; the first of parallel edges may be another", "places"),
        order=only("the same positions; the first of parallel edges may be another", "places"),
        forms=only("the same positions; the first of parallel edges may be another", "places")),
    Row("Graph.contract", contract, scaled=times(TIMES, edges=1), **MADE),
    Row("Graph.symmetrized", symmetrized(semirings.plus), "plus", scaled=times(TIMES, edges=1), **MADE),
    Row("Graph.symmetrized", symmetrized(semirings.min, np.minimum), "min", **LENGTHS | {"nan": KEPT},
        scaled=times(TIMES, edges=1)),
    Row("Graph.reversed", lambda q: {"edges": q.joined(q.graph.reversed())}, scaled=times(TIMES, edges=1),
        **MADE),
    Row("Graph.with_values", lambda q: {"edges": q.joined(q.graph.with_values(q.here(q.edge_was % 5 + 1.0)), by=max)}),
    Row("Graph.weighted_by", weighted_by),
    Row("Graph.with_edge_attributes", with_attributes, scaled=times(TIMES, edges=1), **MADE),
    Row("Graph.with_vertex_attributes", with_attributes, scaled=times(TIMES, edges=1), **MADE),
    Row("Graph.changed", changed, scaled=times(TIMES, edges=1), **MADE),
    Row("Graph.paired", lambda q: {"edges": q.joined(q.graph.paired())}, scaled=times(TIMES, edges=1),
        **MADE),
    Row("Graph.to", lambda q: {"edges": q.joined(q.graph.to("cpu"))}, scaled=times(TIMES, edges=1),
        **MADE),
    Row("Graph.from_bipartite", from_bipartite, gpu=False, kinds=("bipartite",)),
    Row("Graph.from_edges", from_edges(None), scaled=times(TIMES, edges=1), **MADE),
    Row("Graph.from_edges", from_edges(semirings.plus), "combine=plus", scaled=times(TIMES, edges=1),
        **MADE),
    Row("Graph.from_csr", from_csr, scaled=times(TIMES, edges=1), **MADE),
    Row("Graph.from_edge_index", to_edge_index, scaled=times(TIMES, edges=1), gpu=False, **MADE),
    Row("Graph.from_networkx", networkx_and_back, scaled=times(TIMES, edges=1), gpu=False, **MADE),
    Row("Graph.from_igraph", igraph_and_back, scaled=times(TIMES, edges=1), gpu=False, **MADE),
    Row("Graph.from_table", from_table, scaled=times(TIMES, edges=1), gpu=False, **MADE),
    *(row for rows in beside("LAWS") for row in rows),
)  # fmt: skip


SHOWN = ("zeros", "split", "isolated", "scaled")  # columns of the table; of the others it shows what is not the default


def table() -> list[str]:
    """The lines of the table."""
    lines = [
        f"| function | {' | '.join(COLUMNS[column] for column in SHOWN)} | other changes |",
        "|---" * (len(SHOWN) + 2) + "|",
    ]
    for row in ROWS:
        options = f" with `{row.options}`" if row.options else ""
        laws = {column: str(getattr(row, column)) for column in COLUMNS if column not in SHOWN}
        others = [f"{COLUMNS[column]}: {law}" for column, law in laws.items() if law != str(getattr(Row, column))]
        cells = [f"`{row.function}`{options}", *(str(getattr(row, column)) for column in SHOWN), "; ".join(others)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def elsewhere() -> list[str]:
    """The lines of a list of functions of other interfaces that obey the laws of a function."""
    commands = {row.function.__name__: [command.name for command in row.commands] for row in rows.rows()}
    lines = []
    for function in dict.fromkeys(row.function for row in ROWS):
        laws = [row for row in ROWS if row.function == function]
        interfaces = [
            ("NetworkX", " ".join(row.networkx for row in laws).split()),
            ("`gasla.csgraph`", " ".join(row.csgraph for row in laws).split()),
            ("command line", commands.get(function, [])),
        ]
        named = [f"{where} {', '.join(f'`{name}`' for name in names)}" for where, names in interfaces if names]
        if named:
            lines.append(f"- `{function}`: {'; '.join(named)}")
    return lines


MARK = "<!-- the table and the list of tests/helpers/laws.py -->\n"


def page(text: str) -> str:
    """`docs/laws.md` with the table and the list."""
    title = "## Functions of other interfaces with the same laws"
    before, _, after = text.partition(MARK)
    return "\n".join([before + MARK, *table(), "", title, "", *elsewhere(), after])
