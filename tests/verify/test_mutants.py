"""Every verifier against mutants: right answers, each spoiled in some dozens of small ways, are refused where wrong.

`QUESTIONS` has a row a verifier; the test file of an algorithm may have those of its own verifier, under this name.
"""

from collections.abc import Callable, Iterable
from itertools import combinations, pairwise, permutations
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import pdist, squareform

import gasla
from gasla import verify
from gasla.verify import VerificationError
from tests import oracles
from tests.algorithms.temporal.test_time_respecting_paths import LEAST, MOST, brute
from tests.helpers import beside
from tests.helpers.mutants import ALL, GRAPHS, Answer, Array, Asked, Question, Questions, Small, mutants, same

REFUSED = VerificationError, ValueError


# --- questions -------------------------------------------------------------------------------------------------------


def _per_vertex(g: Small, found: dict[int, Any], kind: Any) -> Array:
    return np.array([found[v] for v in range(g.n)], kind)


def _tree(g: Small, found: Array, parents: Array, steps: Callable[[int, int], set[float]]) -> bool:
    """Whether each vertex that is reached has a parent from which one of these steps leads to it."""
    if len(parents) != g.n:
        return False
    for v, p in enumerate(parents.tolist()):
        if v == 0 or not np.isfinite(found[v]):
            if p != (0 if v == 0 else -1):
                return False
        elif not (0 <= p < g.n and any(found[p] + step == found[v] for step in steps(p, v))):
            return False
    return True


def _steps(g: Small) -> Callable[[int, int], set[float]]:
    return lambda p, v: {w for a, b, w in g.edges if (a, b) == (p, v)}


def _searched(g: Small, source: int, weight: str | None) -> tuple[Array, Array]:
    before, far = nx.dijkstra_predecessor_and_distance(g.directed, source, weight=weight or (lambda *_: 1))
    distances = np.array([far.get(v, np.inf) for v in range(g.n)], np.float64)
    parents = np.array([source if v == source else before[v][0] if v in far else -1 for v in range(g.n)], np.int32)
    return distances, parents


def bfs(g: Small) -> Asked:
    distances, parents = _searched(g, 0, None)
    levels = np.where(np.isinf(distances), -1, distances).astype(np.int32)

    def is_right(levels: Array, parents: Array, right: Array = levels) -> bool:
        return same(levels, right) and _tree(g, distances, parents, lambda p, v: {1} if g.counts[p, v] else set())

    yield Question(lambda **a: verify.bfs(g.matrix, 0, **a), {"levels": levels, "parents": parents}, is_right)
    yield Question(lambda levels: verify.bfs(g.matrix, 0, levels), {"levels": levels})


def sssp(g: Small) -> Asked:
    distances, parents = _searched(g, 0, "weight")

    def is_right(distances: Array, parents: Array, right: Array = distances) -> bool:
        return same(distances, right) and _tree(g, right, parents, _steps(g))

    yield Question(lambda **a: verify.sssp(g.matrix, 0, **a), {"distances": distances, "parents": parents}, is_right)
    yield Question(lambda distances: verify.sssp(g.matrix, 0, distances), {"distances": distances})


def multi_source_bfs(g: Small) -> Asked:
    rows = np.array([_searched(g, s, None)[0] for s in (0, 3)])
    levels = np.where(np.isinf(rows), -1, rows).astype(np.int32)
    yield Question(lambda levels: verify.multi_source_bfs(g.matrix, [0, 3], levels), {"levels": levels})


def multi_source_shortest_paths(g: Small) -> Asked:
    rows = np.array([_searched(g, s, "weight")[0] for s in (0, 3)])
    yield Question(lambda rows: verify.multi_source_shortest_paths(g.matrix, [0, 3], rows), {"rows": rows})


def nearest_source(g: Small) -> Asked:
    sources = [7, 3, 0, 3]
    rows = np.array([_searched(g, s, "weight")[0] for s in sources])
    distances = rows.min(axis=0)
    nearest = np.where(np.isinf(distances), -1, rows.argmin(axis=0))
    answer = {"distances": distances, "nearest": nearest}
    yield Question(lambda **a: verify.nearest_source(g.matrix, sources, **a), answer)
    near = distances <= 3
    answer = {"distances": np.where(near, distances, np.inf), "nearest": np.where(near, nearest, -1)}
    yield Question(lambda **a: verify.nearest_source(g.matrix, sources, **a, cutoff=3), answer)


def eccentricity(g: Small) -> Asked:
    far = [max(nx.single_source_shortest_path_length(g.directed, v).values()) for v in range(g.n)]
    yield Question(lambda distances: verify.eccentricity(g.matrix, distances), {"distances": np.array(far)})


def k_hop_counts(g: Small) -> Asked:
    for k in (1, 2):
        right = np.array([len(nx.single_source_shortest_path_length(g.directed, v, k)) for v in range(g.n)], float)
        yield Question(lambda counts, k=k: verify.k_hop_counts(g.matrix, k, counts), {"counts": right})


def effective_diameter(g: Small) -> Asked:
    every = [d for v in range(g.n) for d in nx.single_source_shortest_path_length(g.directed, v).values()]
    within = np.bincount(every).cumsum() / len(every)
    for share in (0.6, 0.9):
        right = float(np.interp(share, within, np.arange(len(within))))
        yield Question(
            lambda diameter, share=share: verify.effective_diameter(g.matrix, diameter, share=share),
            {"diameter": right},
        )


def temporal(name: str) -> Callable[[Small], Asked]:
    """A verifier of time-respecting paths, about times that repeat."""

    def asked(g: Small) -> Asked:
        times = np.arange(len(g.src)) * 5 % 12
        graph = g.matrix.with_edge_attributes(time=times)
        for window, duration in ((None, 1), ((2, 9), 0)):
            trips = list(zip(g.src.tolist(), g.dst.tolist(), times.tolist(), (times + duration).tolist()))
            right = brute(g.n, trips, 1, window, (LEAST, MOST))[name]
            question: Any = [1] if name == "temporal_reachability" else 1
            options: Any = {"window": window, "duration": duration}

            def check(answer: Array, question: Any = question, options: Any = options) -> None:
                getattr(verify, name)(graph, question, answer, **options)

            yield Question(check, {"answer": np.array(right)})

    return asked


def shortest_path(g: Small) -> Asked:
    for target in (5, g.n - 1):
        distance = float(_searched(g, 0, "weight")[0][target])
        path = nx.shortest_path(g.directed, 0, target, weight="weight") if np.isfinite(distance) else []
        steps = [(u, v, g.directed.edges[u, v]["weight"]) for u, v in pairwise(path)]
        edges = [g.edges.index(step) for step in steps]

        def is_right(distance: float, path: Array, edges: Array, target: int = target, right: float = distance) -> bool:
            if not np.isfinite(right):
                return bool(distance == right and len(path) == len(edges) == 0)
            if len(path) == 0 or path[0] != 0 or path[-1] != target or len(edges) != len(path) - 1:
                return False
            taken = [g.edges[e] if 0 <= e < len(g.edges) else (-1, -1, 0.0) for e in edges]
            goes = [edge[:2] for edge in taken] == list(zip(path.tolist(), path[1:].tolist()))
            return bool(goes and sum(edge[2] for edge in taken) == right == distance)

        answer = {"distance": distance, "path": np.array(path, np.int32), "edges": np.array(edges, np.int32)}
        yield Question(lambda t=target, **a: verify.shortest_path(g.matrix, 0, t, **a), answer, is_right)


def k_shortest_paths(g: Small) -> Asked:
    for target in (5, g.n - 1):
        every = []
        for path in nx.all_simple_paths(g.directed, 0, target):
            steps = [(u, v, g.directed.edges[u, v]["weight"]) for u, v in pairwise(path)]
            every.append((sum(w for *_, w in steps), path, [g.edges.index(step) for step in steps]))
        every.sort()

        def check(lengths: Array, which: Array, every: Any = every, target: int = target) -> None:
            if which.ndim != 1 or not all(0 <= i < len(every) for i in which):
                raise ValueError("no such path")
            paths = [(length, *every[i][1:]) for length, i in zip(lengths, which, strict=True)]
            verify.k_shortest_paths(g.matrix, 0, target, min(len(every) + 1, 6), paths)

        found = every[:6]
        yield Question(check, {"lengths": np.array([p[0] for p in found], float), "which": np.arange(len(found))})


def pagerank(g: Small) -> Asked:
    for weighted in (True, False):
        weights = g.dense if weighted else g.counts
        out = weights.sum(axis=1, keepdims=True)
        goes = np.where(out > 0, weights / np.where(out > 0, out, 1), 1 / g.n)
        ranks = np.linalg.solve(np.eye(g.n) - 0.85 * goes.T, np.full(g.n, 0.15 / g.n))
        yield Question(lambda ranks, w=weighted: verify.pagerank(g.matrix, ranks, weighted=w), {"ranks": ranks})


def _principal(matrix: Array) -> Array:
    found = np.ones(len(matrix))
    for _ in range(20000):
        found = matrix @ found
        found /= np.linalg.norm(found)
    return found


def _in_proportion(one: Array, other: Array) -> bool:
    return bool(np.allclose(one * other.sum(), other * one.sum(), rtol=1e-6, atol=1e-9 * one.sum() * other.sum()))


def hits(g: Small) -> Asked:
    authorities = _principal(g.dense.T @ g.dense)
    hubs = g.dense @ authorities

    def is_right(hubs: Array, authorities: Array) -> bool:
        if len(hubs) != g.n or len(authorities) != g.n or not np.isfinite([*hubs.flat, *authorities.flat]).all():
            return False
        if min(hubs.min(), authorities.min()) < 0 or not hubs.any() or not authorities.any():
            return False
        return _in_proportion(g.dense @ authorities, hubs) and _in_proportion(g.dense.T @ hubs, authorities)

    answer = {"hubs": hubs / hubs.sum(), "authorities": authorities / authorities.sum()}
    yield Question(lambda **a: verify.hits(g.matrix, **a), answer, is_right)


def salsa(g: Small) -> Asked:
    out, into = (np.where(sums > 0, sums, 1) for sums in (g.dense.sum(axis=1), g.dense.sum(axis=0)))
    authorities = np.where(g.dense.sum(axis=0) > 0, 1.0, 0.0)
    for _ in range(5000):
        authorities = g.dense.T @ ((g.dense @ (authorities / into)) / out)
    authorities /= authorities.sum()
    hubs = g.dense @ (authorities / into)
    yield Question(
        lambda **a: verify.salsa(g.matrix, tol=1e-10, **a), {"hubs": hubs / hubs.sum(), "authorities": authorities}
    )


def katz(g: Small) -> Asked:
    for normalized in (True, False):
        scores = np.linalg.solve(np.eye(g.n) - 0.02 * g.counts.T, np.ones(g.n))
        scores = scores / np.linalg.norm(scores) if normalized else scores

        def check(scores: Array, normalized: bool = normalized) -> None:
            verify.katz(g.matrix, scores, alpha=0.02, normalized=normalized)

        yield Question(check, {"scores": scores})


def eigenvector(g: Small) -> Asked:
    scores = _principal(g.counts.T + np.eye(g.n))
    yield Question(lambda scores: verify.eigenvector(g.matrix, scores), {"scores": scores})


def _numbered(g: Small, groups: Iterable[Iterable[int]]) -> Array:
    labels = np.empty(g.n, np.int32)
    for number, group in enumerate(sorted(map(sorted, groups))):
        labels[group] = number
    return labels


def components(g: Small) -> Asked:
    labels = _numbered(g, nx.connected_components(g.simple))
    answer = {"labels": labels, "count": int(labels.max()) + 1}
    yield Question(lambda **a: verify.components(g.matrix, **a), answer)


def strong_components(g: Small) -> Asked:
    labels = _numbered(g, nx.strongly_connected_components(g.directed))
    answer = {"labels": labels, "count": int(labels.max()) + 1}
    yield Question(lambda **a: verify.strong_components(g.matrix, **a), answer)


def _is_numbered(labels: Array) -> bool:
    seen = list(dict.fromkeys(labels.tolist()))
    return seen == list(range(len(seen)))


def label_propagation(g: Small) -> Asked:
    around = g.counts + g.counts.T
    np.fill_diagonal(around, 0)

    def is_right(labels: Array) -> bool:
        if labels.shape != (g.n,) or not _is_numbered(labels):
            return False
        for v in range(g.n):
            towards = np.bincount(labels, around[v])
            if towards[labels[v]] < towards.max() or (not around[v].any() and (labels == labels[v]).sum() > 1):
                return False
        return True

    labels = np.arange(g.n)
    for _ in range(50):
        for v in np.flatnonzero(around.any(axis=1)):
            labels[v] = np.bincount(labels, around[v], g.n).argmax()
    labels = _numbered(g, [np.flatnonzero(labels == name).tolist() for name in np.unique(labels)])
    assert is_right(labels)
    yield Question(lambda labels: verify.label_propagation(g.matrix, labels, share=0), {"labels": labels}, is_right)
    labels = np.arange(g.n)
    for _ in range(3):
        towards = around @ (labels[:, None] == np.arange(g.n))
        labels = np.where(around.any(axis=1), towards.argmax(axis=1), labels)
    how: Any = {"method": "synchronous", "max_iter": 3}
    yield Question(lambda labels: verify.label_propagation(g.matrix, labels, **how), {"labels": labels})


def _modularity(g: Small, labels: Array) -> float:
    total = g.dense.sum()
    here = labels[:, None] == labels
    return float((np.where(here, g.dense - np.outer(g.dense.sum(1), g.dense.sum(0)) / total, 0)).sum() / total)


def louvain_communities(g: Small) -> Asked:
    labels = _numbered(g, nx.community.louvain_communities(nx.from_numpy_array((g.dense + g.dense.T) / 2), seed=1))
    both = Small(g.n, *np.nonzero(g.dense + g.dense.T), (g.dense + g.dense.T)[np.nonzero(g.dense + g.dense.T)])

    def is_right(labels: Array) -> bool:
        alone = _modularity(both, np.arange(g.n))
        return labels.shape == (g.n,) and _is_numbered(labels) and _modularity(both, labels) >= alone - 1e-9

    yield Question(lambda labels: verify.louvain_communities(g.matrix, labels), {"labels": labels}, is_right)


def modularity(g: Small) -> Asked:
    labels = np.arange(g.n) % 3
    answer = {"score": _modularity(g, labels)}
    yield Question(lambda score: verify.modularity(g.matrix, labels, score), answer)


def triangles(g: Small) -> Asked:
    counts = _per_vertex(g, nx.triangles(g.simple), np.int64)
    total = int(counts.sum()) // 3
    yield Question(lambda **a: verify.triangles(g.matrix, **a), {"total": total, "per_vertex": counts})


def clustering(g: Small) -> Asked:
    scores = _per_vertex(g, nx.clustering(g.simple), np.float64)
    yield Question(lambda scores: verify.clustering(g.matrix, scores), {"scores": scores})
    digraph = nx.DiGraph(g.directed)
    digraph.remove_edges_from(list(nx.selfloop_edges(digraph)))
    around = {v: set(g.simple[v]) for v in range(g.n)}
    inside = {v: digraph.subgraph(near).number_of_edges() / max(len(near) * (len(near) - 1), 1)
              for v, near in around.items()}  # fmt: skip
    for mode, right in (("directed", nx.clustering(digraph)), ("neighborhood", inside)):
        scores = _per_vertex(g, right, np.float64)
        yield Question(lambda scores, mode=mode: verify.clustering(g.matrix, scores, mode=mode), {"scores": scores})


def square_clustering(g: Small) -> Asked:
    scores = _per_vertex(g, nx.square_clustering(g.simple), np.float64)
    yield Question(lambda scores: oracles.square_clustering(g.matrix, scores), {"scores": scores})


def _laplacian(g: Small) -> Array:
    mean = (g.dense + g.dense.T) / 2
    np.fill_diagonal(mean, 0)
    return np.diag(mean.sum(axis=1)) - mean


def spectral_embedding(g: Small) -> Asked:
    values, vectors = np.linalg.eigh(_laplacian(g) + 100 * np.ones((g.n, g.n)))
    answer = {"vectors": vectors[:, :1], "values": values[:1]}

    def is_right(vectors: Array, values: Array) -> bool:
        right = answer["vectors"]
        if vectors.shape != right.shape or values.shape != (1,) or not np.allclose(values, answer["values"], atol=1e-5):
            return False
        return any(np.allclose(vectors, sign * right, atol=1e-5) for sign in (1, -1))

    def check(vectors: Array, values: Array) -> None:
        verify.spectral_embedding(g.matrix, vectors, values, normalized=False)

    yield Question(check, answer, is_right)


def fiedler_vector(g: Small) -> Asked:
    right = np.linalg.eigh(_laplacian(g) + 100 * np.ones((g.n, g.n)))[1][:, 0]

    def is_right(vector: Array) -> bool:
        return vector.shape == right.shape and any(np.allclose(vector, s * right, atol=1e-5) for s in (1, -1))

    yield Question(lambda vector: verify.fiedler_vector(g.matrix, vector), {"vector": right}, is_right)


def edge_support(g: Small) -> Asked:
    support = np.array([(g.joined[u] & g.joined[v]).sum() if u != v else 0 for u, v, _ in g.edges])
    yield Question(lambda support: verify.edge_support(g.matrix, support), {"support": support})


def scan_statistics(g: Small) -> Asked:
    counts = np.array([nx.ego_graph(g.simple, v).size() for v in range(g.n)])
    yield Question(lambda counts: verify.scan_statistics(g.matrix, counts), {"counts": counts})


def k_truss(g: Small) -> Asked:
    highest = max(k for k in range(2, 9) if nx.k_truss(g.simple, k).size() or k == 2)
    for k in (3, 4, None):
        left = nx.k_truss(g.simple, k or highest)
        edges = np.array([left.has_edge(u, v) for u, v, _ in g.edges])
        yield Question(lambda edges, k=k: oracles.k_truss(g.matrix, edges, k), {"edges": edges})


def _score(measure: str, one: set[int], other: set[int], degree: Callable[[int], int]) -> float:
    common = one & other
    if measure == "jaccard":
        return len(common) / max(len(one | other), 1)
    if measure == "cosine":
        return len(common) / max((len(one) * len(other)) ** 0.5, 1)
    if measure == "sorensen":
        return 2 * len(common) / max(len(one) + len(other), 1)
    if measure == "overlap":
        return len(common) / max(min(len(one), len(other)), 1)
    if measure == "preferential_attachment":
        return float(len(one) * len(other))
    if measure == "resource_allocation":
        return sum(1 / degree(w) for w in common)
    return sum(1 / np.log(degree(w)) for w in common)


COUNTED = "jaccard", "sorensen", "cosine", "overlap"
MEASURES = *COUNTED, "preferential_attachment", "resource_allocation", "adamic_adar"


def similarity(g: Small) -> Asked:
    near = [set(g.simple[v]) for v in range(g.n)]
    for measure in MEASURES:
        found = [_score(measure, near[u], near[v], lambda w: len(near[w])) for u, v, _ in g.edges if u != v]
        pairs = np.array([edge[:2] for edge in g.edges if edge[0] != edge[1]]).T

        def check(scores: Array, measure: Any = measure, pairs: Any = pairs) -> None:
            verify.similarity(g.matrix, scores, measure, pairs)

        yield Question(check, {"scores": np.array(found, np.float64)})


def shared_nearest_neighbors(g: Small) -> Asked:
    near = g.counts > 0
    counts = np.array([(near[u] & near[v]).sum() for u, v, _ in g.edges])
    yield Question(lambda counts: verify.shared_nearest_neighbors(g.matrix, counts), {"counts": counts})


def nearest_neighbors_graph(g: Small) -> Asked:
    points = np.random.default_rng(g.n).random((g.n, 2))
    apart = squareform(pdist(points))
    dst = np.argsort(apart, axis=1)[:, 1:4].ravel()
    src = np.repeat(np.arange(g.n), 3)

    def check(dst: Array, distances: Array) -> None:
        if dst.shape != src.shape or distances.shape != src.shape:
            raise ValueError("no graph")
        oracles.nearest_neighbors_graph(points, gasla.Graph.from_edges(src, dst, distances, n=g.n), 3)

    yield Question(check, {"dst": dst, "distances": apart[src, dst]})

    def check_either(joined: Array) -> None:
        if joined.shape != apart.shape:
            raise ValueError("no graph")
        ends = np.nonzero(joined)
        graph = gasla.Graph.from_edges(*ends, apart[ends], n=g.n)
        oracles.nearest_neighbors_graph(points, graph, 3, symmetric=True)

    joined = np.zeros((g.n, g.n), bool)
    joined[src, dst] = joined[dst, src] = True
    yield Question(check_either, {"joined": joined})


def geolocate(g: Small) -> Asked:
    places = np.full((g.n, 2), np.nan)
    places[::2] = np.random.default_rng(g.n).random((len(places[::2]), 2))
    sources = range(0, g.n, 2)
    steps = nx.multi_source_dijkstra_path_length(g.simple, sources, weight=None)

    def total(place: Array, others: Array) -> float:
        return float(np.hypot(*(others - place).T).sum())

    def nearest(v: int) -> list[int]:
        return [u for u in g.simple[v] if steps[u] + 1 == steps[v]]

    found = places.copy()
    for v in sorted(set(steps) - set(sources), key=steps.__getitem__):
        others = found[nearest(v)]
        starts = [*others, others.mean(axis=0)]
        tries = [minimize(total, x, (others,), "Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14}) for x in starts]
        found[v] = min([*others, *(each.x for each in tries)], key=lambda x, others=others: total(x, others))

    def is_right(found: Array) -> bool:
        if found.shape != places.shape or not np.array_equal(found[::2], places[::2]):
            return False
        if not all(np.isfinite(found[v]).all() == (v in steps) for v in range(g.n)):
            return False
        if not all(np.isnan(found[v]).all() for v in set(range(g.n)) - set(steps)):
            return False
        for v in set(steps) - set(sources):
            others = found[nearest(v)]
            best = min(total(x, others) for x in others)
            best = min(best, minimize(total, others.mean(axis=0), (others,), "Nelder-Mead").fun)
            if total(found[v], others) > best + 1e-6:
                return False
        return True

    yield Question(lambda found: verify.geolocate(g.matrix, places, found), {"found": found}, is_right)


def top_k_similar(g: Small) -> Asked:
    near = [set(g.simple[v]) for v in range(g.n)]
    for measure in ("jaccard", "resource_allocation"):
        vertices, scores = np.full((g.n, 3), -1, np.int32), np.zeros((g.n, 3))
        for v in range(g.n):
            every = [(-_score(measure, near[v], near[u], lambda w: len(near[w])), u) for u in range(g.n) if u != v]
            for place, (score, u) in enumerate(sorted(pair for pair in every if pair[0])[:3]):
                vertices[v, place], scores[v, place] = u, -score

        def is_right(vertices: Array, scores: Array, right: Array = scores) -> bool:
            """Sums that differ by their rounding alone may be in either order."""
            if vertices.shape != right.shape or not same(scores, right):
                return False
            for v, (count, row) in enumerate(zip((right > 0).sum(axis=1).tolist(), vertices)):
                found = row[:count].tolist()
                if (row[count:] != -1).any() or len(set(found)) < count:
                    return False
                if v in found or not all(0 <= u < g.n for u in found):
                    return False
                own = [_score("resource_allocation", near[v], near[u], lambda w: len(near[w])) for u in found]
                if not same(np.array(own), scores[v, :count]):
                    return False
                if any(a == b and one > other for a, b, one, other in zip(scores[v], scores[v, 1:], found, found[1:])):
                    return False
            return True

        def check(vertices: Array, scores: Array, measure: Any = measure) -> None:
            oracles.top_k_similar(g.matrix, vertices, scores, 3, measure)

        several = is_right if measure == "resource_allocation" else None
        yield Question(check, {"vertices": vertices, "scores": scores}, several)


def core_number(g: Small) -> Asked:
    numbers = _per_vertex(g, nx.core_number(g.simple), np.int32)
    yield Question(lambda numbers: verify.core_number(g.matrix, numbers), {"numbers": numbers})


def k_core(g: Small) -> Asked:
    numbers = _per_vertex(g, nx.core_number(g.simple), np.int32)
    for k in (1, 2, 3, None):
        members = numbers >= (numbers.max() if k is None else k)
        yield Question(lambda members, k=k: verify.k_core(g.matrix, members, k), {"members": members})


def _matches(g: Small, pattern: Array, induced: bool) -> Array:
    """Of each set of orders that are the same match the first."""
    k, found = len(pattern), set()
    groups = [p for p in permutations(range(k)) if (pattern[np.ix_(p, p)] == pattern).all()]
    for row in permutations(range(g.n), k):
        here = g.joined[np.ix_(row, row)]
        if (here == pattern).all() if induced else (here >= pattern).all():
            found.add(min(tuple(row[i] for i in p) for p in groups))
    return np.array(sorted(found), np.int32).reshape(-1, k)


def count_cliques(g: Small) -> Asked:
    for k in (3, 4):
        count = sum(g.joined[np.ix_(s, s)].sum() == k * (k - 1) for s in map(list, combinations(range(g.n), k)))
        yield Question(lambda count, k=k: oracles.count_cliques(g.matrix, count, k), {"count": int(count)})


def subgraph_matches(g: Small) -> Asked:
    path, triangle = np.eye(3, k=1, dtype=bool) | np.eye(3, k=-1, dtype=bool), ~np.eye(3, dtype=bool)
    for pattern, induced in ((path, True), (path, False), (triangle, False)):
        rows = _matches(g, pattern, induced)

        def is_right(matches: Array, rows: Array = rows) -> bool:  # in any order
            return matches.shape == rows.shape and sorted(matches.tolist()) == sorted(rows.tolist())

        def check(matches: Array, pattern: Array = pattern, induced: bool = induced) -> None:
            oracles.subgraph_matches(g.matrix, matches, pattern, induced)

        yield Question(check, {"matches": rows}, is_right)
    yield from _directed_matches(g)
    yield from _fitting_matches(g, path)


def _fitting_matches(g: Small, path: Array) -> Asked:
    """Paths of three vertices whose first edge is among the first half of all."""
    half = g.matrix.select(np.arange(g.matrix.m) < g.matrix.m // 2)
    src, dst = half.edges()
    first = {(u, v) for a, b in zip(src.tolist(), dst.tolist(), strict=True) for u, v in ((a, b), (b, a)) if u != v}
    rows = np.array(
        sorted((u, v, w) for u, v in first for w in np.flatnonzero(g.joined[v]).tolist() if w != u), np.int32
    )
    rows = rows.reshape(-1, 3)

    def check(matches: Array) -> None:
        oracles.subgraph_matches(g.matrix, matches, path, fitting={(0, 1): half})

    def is_right(matches: Array) -> bool:
        return matches.shape == rows.shape and sorted(matches.tolist()) == sorted(rows.tolist())

    yield Question(check, {"matches": rows}, is_right)


def _directed_matches(g: Small) -> Asked:
    """Cycles of three, by their powers: closed walks of three edges in a graph without loops."""
    cycle, edges = np.roll(np.eye(3, dtype=int), 1, axis=1), (g.counts > 0) & ~np.eye(g.n, dtype=bool)
    count = int(np.trace(np.linalg.matrix_power(edges.astype(int), 3))) // 3
    yield Question(lambda count: oracles.subgraph_matches(g.matrix, count, cycle, directed=True), {"count": count})


def motif_counts(g: Small) -> Asked:
    counts = gasla.motif_counts(g.matrix)
    assert counts["triangle"] == sum(nx.triangles(g.simple).values()) // 3

    def check(counts: Array) -> None:
        oracles.motif_counts(g.matrix, dict(zip(found, counts.tolist(), strict=True)))

    found = list(counts)
    yield Question(check, {"counts": np.array(list(counts.values()))})


def triadic_census(g: Small) -> Asked:
    graph = g.directed
    graph.remove_edges_from([*nx.selfloop_edges(graph)])
    counts = nx.triadic_census(graph)

    def check(counts: Array) -> None:
        oracles.triadic_census(g.matrix, dict(zip(found, counts.tolist(), strict=True)))

    found = list(counts)
    yield Question(check, {"counts": np.array(list(counts.values()))})


def _as_networkx(g: Small) -> nx.DiGraph | nx.Graph:
    return nx.Graph(g.directed) if (g.dense == g.dense.T).all() else g.directed


def betweenness(g: Small) -> Asked:
    for weight in (None, "weight"):
        scores = _per_vertex(g, nx.betweenness_centrality(_as_networkx(g), weight=weight), np.float64)

        def check(scores: Array, weighted: bool = weight is not None) -> None:
            verify.betweenness(g.matrix, scores, weighted=weighted)

        yield Question(check, {"scores": scores})


def edge_betweenness(g: Small) -> Asked:
    for weight in (None, "weight"):
        found = nx.edge_betweenness_centrality(_as_networkx(g), weight=weight)
        scores = np.array([found[(u, v) if (u, v) in found else (v, u)] for u, v, _ in g.edges])

        def check(scores: Array, weighted: bool = weight is not None) -> None:
            verify.edge_betweenness(g.matrix, scores, weighted=weighted)

        yield Question(check, {"scores": scores})


def closeness(g: Small) -> Asked:
    for length in (None, "weight"):
        scores = _per_vertex(g, nx.closeness_centrality(g.directed, distance=length), np.float64)
        yield Question(lambda scores, d=length: verify.closeness(g.matrix, scores, distance=d), {"scores": scores})


def harmonic(g: Small) -> Asked:
    for length in (None, "weight"):
        scores = _per_vertex(g, nx.harmonic_centrality(g.directed, distance=length), np.float64)
        yield Question(lambda scores, d=length: verify.harmonic(g.matrix, scores, distance=d), {"scores": scores})


def topological_order(g: Small) -> Asked:
    levels = np.zeros(g.n, np.int32)
    for level, generation in enumerate(nx.topological_generations(g.directed)):
        levels[generation] = level
    order = np.lexsort((np.arange(g.n), levels)).astype(np.int32)

    def is_right(order: Array) -> bool:
        place = np.argsort(order)
        return sorted(order.tolist()) == list(range(g.n)) and bool((place[g.src] < place[g.dst]).all())

    yield Question(lambda **a: verify.topological_order(g.matrix, **a), {"order": order, "levels": levels})
    yield Question(lambda order: verify.topological_order(g.matrix, order), {"order": order}, is_right)


def longest_path(g: Small) -> Asked:
    lengths, parents = np.zeros(g.n), np.arange(g.n)
    for v in nx.topological_sort(g.directed):
        for u, w, weight in g.edges:
            if w == v and lengths[u] + weight > lengths[v]:
                lengths[v], parents[v] = lengths[u] + weight, u
    path = [int(lengths.argmax())]
    while parents[path[0]] != path[0]:
        path.insert(0, int(parents[path[0]]))

    def is_right(lengths: Array, parents: Array, path: Array, length: float, right: Array = lengths) -> bool:
        if not same(lengths, right) or length != right.max() or len(parents) != g.n:
            return False
        for v, p in enumerate(parents.tolist()):
            begins = p == v and right[v] == 0
            if not begins and not any((a, b) == (p, v) and right[a] + w == right[v] for a, b, w in g.edges):
                return False
        if path.ndim != 1 or not len(path) or not ((path >= 0) & (path < g.n)).all() or right[path[-1]] != length:
            return False
        return parents[path[0]] == path[0] and parents[path[1:]].tolist() == path[:-1].tolist()

    answer = {"lengths": lengths, "parents": parents, "path": np.array(path), "length": float(lengths.max())}
    yield Question(lambda **a: verify.longest_path(g.matrix, **a), answer, is_right)


def aggregate_features(g: Small) -> Asked:
    features = np.random.default_rng(8).integers(-4, 5, (g.n, 2)).astype(np.float64)
    total = np.where(g.dense.sum(axis=0) > 0, g.dense.sum(axis=0), 1)[:, None]
    least, most = np.zeros((2, g.n, 2))
    for v in range(g.n):
        come = np.array([features[u] * w for u, x, w in g.edges if x == v]).reshape(-1, 2)
        if len(come):
            least[v], most[v] = come.min(axis=0), come.max(axis=0)
    sums = g.dense.T @ features
    for reduce, right in (("sum", sums), ("mean", sums / total), ("min", least), ("max", most)):

        def check(aggregated: Array, reduce: str = reduce) -> None:
            verify.aggregate_features(g.matrix, features, aggregated, reduce)

        yield Question(check, {"aggregated": right})


def layout(g: Small) -> Asked:
    found = nx.spring_layout(g.simple, seed=1, iterations=200)
    positions = np.array([found[v] for v in range(g.n)])
    positions -= positions.mean(axis=0)
    positions /= (pdist(positions)[squareform(g.joined)] ** 2).mean() ** 0.5

    def is_right(positions: Array) -> bool:
        if positions.shape != (g.n, 2) or not np.isfinite(positions).all():
            return False
        if np.abs(positions.mean(axis=0)).max() > 1e-9 * np.abs(positions).max():
            return False
        squares = pdist(positions) ** 2
        length = squares[squareform(g.joined)].mean()
        return bool(squares.min() > 0 and abs(length - 1) <= 1e-6 and squares.mean() >= 1 - 1e-6)

    yield Question(lambda positions: verify.layout(g.matrix, positions), {"positions": positions}, is_right)


def maximal_independent_set(g: Small) -> Asked:
    members = np.isin(np.arange(g.n), list(nx.maximal_independent_set(g.simple, seed=1)))

    def is_right(members: Array) -> bool:
        return members.shape == (g.n,) and bool((members != (g.joined[:, members].any(axis=1))).all())

    yield Question(lambda members: verify.maximal_independent_set(g.matrix, members), {"members": members}, is_right)


def greedy_color(g: Small) -> Asked:
    colours = _per_vertex(g, nx.greedy_color(g.simple), np.int32)
    if nx.is_bipartite(g.simple):
        colours = np.zeros(g.n, np.int32)
        for part in nx.connected_components(g.simple):
            for v, depth in nx.single_source_shortest_path_length(g.simple, min(part)).items():
                colours[v] = depth % 2

    def is_right(colours: Array) -> bool:
        if colours.shape != (g.n,) or (nx.is_bipartite(g.simple) and colours.max() > 1):
            return False
        around = [set(colours[g.joined[v]].tolist()) for v in range(g.n)]
        return all(colours[v] == next(c for c in range(g.n) if c not in near) for v, near in enumerate(around))

    yield Question(lambda colours: verify.greedy_color(g.matrix, colours), {"colours": colours}, is_right)


def maximal_matching(g: Small) -> Asked:
    heaviest = np.maximum(np.where(g.joined, 0.0, -np.inf), 0)
    np.maximum.at(heaviest, (g.src, g.dst), g.weight)
    heaviest = np.where(g.joined, np.maximum(heaviest, heaviest.T), -np.inf)
    for weighted in (False, True):
        worth = heaviest if weighted else np.where(g.joined, 1.0, -np.inf)
        mates = np.full(g.n, -1, np.int32)
        for u, v in sorted(combinations(range(g.n), 2), key=lambda pair: -worth[pair]):
            if g.joined[u, v] and mates[u] < 0 and mates[v] < 0:
                mates[u], mates[v] = v, u

        def is_right(mates: Array, worth: Array = worth) -> bool:
            if mates.shape != (g.n,) or mates.min() < -1 or mates.max() >= g.n:
                return False
            if any(m >= 0 and (mates[m] != v or not g.joined[v, m]) for v, m in enumerate(mates.tolist())):
                return False
            own = np.where(mates >= 0, worth[np.arange(g.n), mates], -np.inf)
            return bool((~g.joined | (worth <= np.maximum(own[:, None], own))).all())

        def check(mates: Array, weighted: bool = weighted) -> None:
            verify.maximal_matching(g.matrix, mates, weighted=weighted)

        yield Question(check, {"mates": mates}, is_right)


def maximum_bipartite_matching(g: Small) -> Asked:
    if not nx.is_bipartite(g.simple):
        return
    mates = np.full(g.n, -1, np.int32)
    left = {v for part in nx.connected_components(g.simple) for v in nx.bipartite.sets(g.simple.subgraph(part))[0]}
    for u, v in nx.bipartite.hopcroft_karp_matching(g.simple, left).items():
        mates[u] = v

    def is_right(mates: Array, size: int = int((mates >= 0).sum())) -> bool:
        if mates.shape != (g.n,) or mates.min() < -1 or mates.max() >= g.n or (mates >= 0).sum() != size:
            return False
        return all(m < 0 or (mates[m] == v and bool(g.joined[v, m])) for v, m in enumerate(mates.tolist()))

    yield Question(lambda mates: verify.maximum_bipartite_matching(g.matrix, mates), {"mates": mates}, is_right)


def minimum_spanning_forest(g: Small) -> Asked:
    pieces, taken = nx.utils.UnionFind(range(g.n)), []
    for e in np.argsort(g.weight, kind="stable").tolist():
        u, v, _ = g.edges[e]
        if pieces[u] != pieces[v]:
            pieces.union(u, v)
            taken.append(e)
    least = float(g.weight[taken].sum())

    def is_right(edges: Array, total: float) -> bool:
        if edges.ndim != 1 or not ((edges >= 0) & (edges < len(g.edges))).all() or len(edges) != len(taken):
            return False
        forest = nx.MultiGraph()
        forest.add_nodes_from(range(g.n))
        forest.add_edges_from(g.edges[e][:2] for e in edges)
        return nx.is_forest(forest) and bool(g.weight[edges].sum() == least == total)

    answer = {"edges": np.array(sorted(taken), np.int32), "total": least}
    yield Question(lambda **a: verify.minimum_spanning_forest(g.matrix, **a), answer, is_right)


def _capacities(g: Small) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(g.n))
    graph.add_edges_from((u, v, {"capacity": g.dense[u, v]}) for u, v in zip(*np.nonzero(g.dense)) if u != v)
    return graph


def maximum_flow(g: Small) -> Asked:
    value, along = nx.maximum_flow(_capacities(g), 0, 5)
    flow, left = np.zeros(len(g.edges)), {(u, v): x for u, row in along.items() for v, x in row.items()}
    for e, (u, v, w) in enumerate(g.edges):
        if u != v:
            flow[e] = min(w, left[u, v])
            left[u, v] -= flow[e]
    for kind in (np.float64, np.int64):
        graph = gasla.Graph.from_edges(g.src, g.dst, g.weight.astype(kind), n=g.n)

        def is_right(value: float, flow: Array, right: float = value) -> bool:
            if flow.shape != g.weight.shape or not ((flow >= 0) & (flow <= g.weight)).all():
                return False
            excess = np.bincount(g.dst, flow, g.n) - np.bincount(g.src, flow, g.n)
            wanted = np.zeros(g.n)
            wanted[[0, 5]] = -right, right
            return bool(value == right and np.allclose(excess, wanted, atol=1e-9))

        answer = {"value": kind(value).item(), "flow": flow.astype(kind)}
        yield Question(lambda graph=graph, **a: verify.maximum_flow(graph, 0, 5, **a), answer, is_right)
    yield from _beside_a_large_capacity(verify.maximum_flow, "flow", np.array([3.5, 3.5]))


def minimum_cut(g: Small) -> Asked:
    value, (side, _) = nx.minimum_cut(_capacities(g), 0, 5)

    def is_right(value: float, source_side: Array, right: float = value) -> bool:
        if source_side.shape != (g.n,) or not source_side[0] or source_side[5]:
            return False
        return bool(g.dense[source_side][:, ~source_side].sum() == value == right)

    answer = {"value": float(value), "source_side": np.isin(np.arange(g.n), list(side))}
    yield Question(lambda **a: verify.minimum_cut(g.matrix, 0, 5, **a), answer, is_right)
    yield from _beside_a_large_capacity(verify.minimum_cut, "source_side", np.array([True, True, False]))


def _beside_a_large_capacity(verifier: Any, name: str, right: Array) -> Asked:
    """A path of two edges, the first of which takes as good as anything: 3.5 go along both."""
    for large in (1e20, 1e30, 1e300):
        graph = gasla.Graph.from_edges([0, 1], [1, 2], [large, 3.5])
        yield Question(lambda graph=graph, **a: verifier(graph, 0, 2, **a), {"value": 3.5, name: right})
        nothing = np.zeros(2) if name == "flow" else right
        yield Question(refuses(lambda graph=graph, part=nothing: verifier(graph, 0, 2, 0.0, part)), {})


def refuses(wrong: Callable[[], None]) -> Callable[[], None]:
    def check() -> None:
        with pytest.raises(VerificationError):
            wrong()

    return check


def pagerank_nibble(g: Small) -> Asked:
    """Scores as exact as float64 has them, so that those of others are wrong; the best of all beginnings."""
    alpha, source = 0.1, 1
    weights = g.counts if (g.counts == g.counts.T).all() else g.counts + g.counts.T
    degree = weights.sum(axis=1)
    kept = 2 * alpha / (1 + alpha)
    walk = np.where(degree > 0, weights / np.where(degree > 0, degree, 1), 0)
    scores = np.linalg.solve(np.eye(g.n) - (1 - kept) * walk, kept * (np.arange(g.n) == source))
    if not degree[source]:
        scores = (np.arange(g.n) == source) * 1.0
    scores[np.abs(scores) < 1e-15] = 0
    ratio = scores / np.where(degree > 0, degree, 1)

    def conductance(vertices: Array) -> float:
        inside = np.isin(np.arange(g.n), vertices)
        cut, volume = weights[inside][:, ~inside].sum(), degree[inside].sum()
        least = min(volume, degree.sum() - volume)
        return float(cut / least) if least else np.inf

    order = np.argsort(-ratio, kind="stable")[: (scores > 0).sum()]
    best = min(range(len(order)), key=lambda k: conductance(order[: k + 1]))

    def is_right(vertices: Array, conductance_: float, scores: Array, right: Array = scores) -> bool:
        if not same(scores, right) or len(vertices) == 0 or vertices.ndim != 1:
            return False
        if len(set(vertices.tolist())) < len(vertices) or not np.isin(vertices, order).all():
            return False
        falls = ratio[vertices]
        rest = np.setdiff1d(order, vertices)
        in_order = (np.diff(falls) <= 1e-12 * falls[:-1]).all() and (ratio[rest] <= falls[-1] * (1 + 1e-12)).all()
        least = conductance(order[: best + 1])
        return bool(in_order and np.isclose([conductance(vertices), conductance_], least, rtol=1e-9).all())

    def check(vertices: Array, conductance_: float, scores: Array) -> None:
        verify.pagerank_nibble(g.matrix, source, vertices, conductance_, scores, alpha=alpha, epsilon=1e-12)

    answer = {"vertices": order[: best + 1], "conductance_": conductance(order[: best + 1]), "scores": scores}
    yield Question(check, answer, is_right)


def random_walks(g: Small) -> Asked:
    rng, starts = np.random.default_rng(9), np.array([0, 3, 3, 7])
    walks = np.full((4, 5), -1, np.int32)
    walks[:, 0] = starts
    for walker in walks:
        for step in range(4):
            ahead = g.dst[g.src == walker[step]]
            if walker[step] < 0 or not len(ahead):
                break
            walker[step + 1] = rng.choice(ahead)

    def is_right(walks: Array) -> bool:
        if walks.shape != (4, 5) or not (walks[:, 0] == starts).all() or walks.min() < -1 or walks.max() >= g.n:
            return False
        leads = g.counts.any(axis=1)
        for a, b in zip(walks[:, :-1].ravel().tolist(), walks[:, 1:].ravel().tolist()):
            if (a < 0 or not leads[a]) != (b < 0) or (b >= 0 and not g.counts[a, b]):
                return False
        return True

    yield Question(lambda walks: verify.random_walks(g.matrix, starts, walks), {"walks": walks}, is_right)


def sample_neighbors(g: Small) -> Asked:
    ids = np.array([0, 3, 7, 3])
    for replace in (False, True):
        sampled = np.full((4, 3), -1, np.int32)
        for row, v in zip(sampled, ids):
            ahead = np.sort(g.dst[g.src == v])
            if len(ahead):
                some = ahead[np.arange(3) % len(ahead)] if replace else ahead[:3]
                row[: len(some)] = some

        def is_right(sampled: Array, replace: bool = replace) -> bool:
            if sampled.shape != (4, 3):
                return False
            for row, v in zip(sampled.tolist(), ids):
                ahead = g.dst[g.src == v].tolist()
                count = (3 if ahead else 0) if replace else min(3, len(ahead))
                some = row[:count]
                if row[count:] != [-1] * (3 - count) or not set(some) <= set(ahead):
                    return False
                if not replace and any(some.count(x) > ahead.count(x) for x in some):
                    return False
            return True

        def check(sampled: Array, replace: bool = replace) -> None:
            verify.sample_neighbors(g.matrix, ids, 3, sampled, replace=replace)

        yield Question(check, {"sampled": sampled}, is_right)


def negative_edges(g: Small) -> Asked:
    for undirected in (False, True):
        joined = g.counts + g.counts.T if undirected else g.counts
        free = (joined == 0) & (np.triu(np.ones((g.n, g.n)), 1) > 0 if undirected else ~np.eye(g.n, dtype=bool))
        pairs = np.argwhere(free)[:5].T.astype(np.int64)
        count = pairs.shape[1]

        def is_right(pairs: Array, free: Array = free, count: int = count) -> bool:
            if pairs.shape != (2, count) or pairs.min(initial=0) < 0 or pairs.max(initial=0) >= g.n:
                return False
            return bool(free[tuple(pairs)].all()) and len({*zip(*pairs.tolist())}) == count

        def check(pairs: Array, undirected: bool = undirected, count: int = count) -> None:
            verify.negative_edges(g.matrix, count, pairs, undirected=undirected)

        yield Question(check, {"pairs": pairs}, is_right)


def split_edges(g: Small) -> Asked:
    symmetric = bool((g.counts == g.counts.T).all())
    ends = np.sort(np.stack([g.src, g.dst]), axis=0) if symmetric else np.stack([g.src, g.dst])
    _, unit = np.unique(ends, axis=1, return_inverse=True)
    half = round((int(unit.max()) + 1) / 2)

    def is_right(first: Array, second: Array) -> bool:
        both = [first.tolist(), second.tolist()]
        if any(part != sorted(part) for part in both) or sorted(both[0] + both[1]) != [*range(len(g.src))]:
            return False
        units = [{*unit[part].tolist()} for part in both]
        return not units[0] & units[1] and abs(len(units[0]) - len(units[1])) <= 2

    yield Question(
        lambda first, second: verify.split_edges(g.matrix, (0.5, 0.5), [first, second]),
        {"first": np.flatnonzero(unit < half), "second": np.flatnonzero(unit >= half)},
        is_right,
    )


def walk_pairs(g: Small) -> Asked:
    walks = np.array([[0, 1, 2, -1], [3, 3, 0, 1]])
    wanted = [(a, b) for walk in ([0, 1, 2], [3, 3, 0, 1]) for a, b in permutations(range(len(walk)), 2)]
    rows = [[0, 1, 2]] * 6 + [[3, 3, 0, 1]] * 12
    near = [(row[a], row[b]) for row, (a, b) in zip(rows, wanted) if abs(a - b) <= 2]

    def is_right(pairs: Array) -> bool:
        return pairs.shape == (2, len(near)) and sorted(zip(*pairs.tolist())) == sorted(near)

    yield Question(lambda pairs: oracles.walk_pairs(walks, 2, pairs), {"pairs": np.array(near).T}, is_right)


def _made(n: int, src: Array, dst: Array, value: Array | None, origin: Any = None) -> gasla.Graph:
    graph = gasla.Graph.from_edges(src, dst, value, n=n)
    graph.origin = origin
    return graph


def _as_set(src: Array, dst: Array, value: Array) -> list[tuple[Any, ...]]:
    return sorted(zip(src.tolist(), dst.tolist(), value.tolist()))


def condensation(g: Small) -> Asked:
    home = _numbered(g, nx.strongly_connected_components(g.directed)).astype(np.int64)
    count = int(home.max()) + 1
    sums = np.zeros((count, count))
    np.add.at(sums, (home[g.src], home[g.dst]), g.weight)
    np.fill_diagonal(sums, 0)
    src, dst = np.nonzero(sums)

    def check(src: Array, dst: Array, value: Array, home: Array) -> None:
        verify.condensation(g.matrix, _made(count, src, dst, value, SimpleNamespace(new_vertices=home)))

    def is_right(src: Array, dst: Array, value: Array, home: Array, right: Array = home) -> bool:
        given = src.shape == dst.shape == value.shape
        return given and same(home, right) and _as_set(src, dst, value) == _as_set(*np.nonzero(sums), sums[sums > 0])

    yield Question(check, {"src": src, "dst": dst, "value": sums[src, dst], "home": home}, is_right)


def ego_graph(g: Small) -> Asked:
    far = nx.single_source_shortest_path_length(g.directed, 3, cutoff=1)
    inside = np.array(sorted(far))
    edges = np.flatnonzero(np.isin(g.src, inside) & np.isin(g.dst, inside))
    src, dst = np.searchsorted(inside, g.src[edges]), np.searchsorted(inside, g.dst[edges])
    home = np.where(np.isin(np.arange(g.n), inside), np.searchsorted(inside, np.arange(g.n)), -1)

    def check(src: Array, dst: Array, value: Array, home: Array, edges: Array) -> None:
        ego = _made(len(inside), src, dst, value, SimpleNamespace(new_vertices=home, edges=edges))
        verify.ego_graph(g.matrix, 3, ego)

    yield Question(check, {"src": src, "dst": dst, "value": g.weight[edges], "home": home, "edges": edges})


def project(g: Small) -> Asked:
    side = np.arange(5)
    common = (g.joined[:5].astype(int) @ g.joined[:5].T.astype(int)).astype(np.float64)
    np.fill_diagonal(common, 0)
    src, dst = np.nonzero(common)

    def check(src: Array, dst: Array, value: Array) -> None:
        oracles.project(g.matrix, side, _made(5, src, dst, value))

    def is_right(src: Array, dst: Array, value: Array) -> bool:
        right = _as_set(*np.nonzero(common), common[common > 0])
        return src.shape == dst.shape == value.shape and _as_set(src, dst, value) == right

    yield Question(check, {"src": src, "dst": dst, "value": common[src, dst]}, is_right)


def bipartite(g: Small) -> Asked:
    loops = {u for u, v, _ in g.edges if u == v}
    colours = np.zeros(g.n, np.int8)
    for part in nx.connected_components(g.simple):
        piece = g.simple.subgraph(part)
        if nx.is_bipartite(piece) and not loops & part:
            for v, depth in nx.single_source_shortest_path_length(piece, min(part)).items():
                colours[v] = depth % 2
        else:
            colours[list(part)] = -1
    answer = {"bipartite": bool(colours.min() >= 0), "colors": colours}
    yield Question(lambda **a: verify.bipartite(g.matrix, **a), answer)


def bridges(g: Small) -> Asked:
    most = np.maximum(g.counts, g.counts.T)
    rows = sorted((min(e), max(e)) for e in nx.bridges(g.simple) if most[e] == 1)
    yield Question(lambda rows: verify.bridges(g.matrix, rows), {"rows": np.array(rows, np.int32).reshape(-1, 2)})


def articulation_points(g: Small) -> Asked:
    points = np.array(sorted(set(nx.articulation_points(g.simple))), np.int32)
    yield Question(lambda points: verify.articulation_points(g.matrix, points), {"points": points})


QUESTIONS: Questions = {
    "aggregate_features": (aggregate_features, ALL),
    "articulation_points": (articulation_points, ALL),
    "betweenness": (betweenness, ("directed", "undirected", "star")),
    "bfs": (bfs, ALL),
    "bipartite": (bipartite, (*ALL, "two sides")),
    "bridges": (bridges, ALL),
    "closeness": (closeness, ALL),
    "clustering": (clustering, ALL),
    "components": (components, ALL),
    "condensation": (condensation, ("directed", "multigraph", "acyclic")),
    "core_number": (core_number, ALL),
    "count_cliques": (count_cliques, ALL),
    "earliest_arrival": (temporal("earliest_arrival"), ALL),
    "eccentricity": (eccentricity, ALL),
    "edge_betweenness": (edge_betweenness, ("directed", "undirected", "islands", "star")),
    "edge_support": (edge_support, ALL),
    "effective_diameter": (effective_diameter, ALL),
    "ego_graph": (ego_graph, ALL),
    "eigenvector": (eigenvector, ("directed", "undirected", "star")),
    "fastest_durations": (temporal("fastest_durations"), ALL),
    "fiedler_vector": (fiedler_vector, ("directed", "undirected")),
    "geolocate": (geolocate, ("directed", "islands", "star")),
    "greedy_color": (greedy_color, (*ALL, "two sides")),
    "harmonic": (harmonic, ALL),
    "hits": (hits, ALL),
    "k_core": (k_core, ALL),
    "k_truss": (k_truss, ("directed", "multigraph", "star")),
    "k_hop_counts": (k_hop_counts, ALL),
    "k_shortest_paths": (k_shortest_paths, ALL),
    "katz": (katz, ALL),
    "label_propagation": (label_propagation, ALL),
    "latest_departure": (temporal("latest_departure"), ALL),
    "layout": (layout, ALL),
    "longest_path": (longest_path, ("acyclic", "two sides")),
    "louvain_communities": (louvain_communities, ("directed", "undirected", "islands", "star")),
    "maximal_independent_set": (maximal_independent_set, ALL),
    "maximal_matching": (maximal_matching, ALL),
    "maximum_bipartite_matching": (maximum_bipartite_matching, ("two sides", "star")),
    "maximum_flow": (maximum_flow, (*ALL, "acyclic")),
    "minimum_cut": (minimum_cut, (*ALL, "acyclic")),
    "minimum_spanning_forest": (minimum_spanning_forest, ALL),
    "modularity": (modularity, ALL),
    "motif_counts": (motif_counts, ALL),
    "multi_source_bfs": (multi_source_bfs, ALL),
    "multi_source_shortest_paths": (multi_source_shortest_paths, ALL),
    "nearest_neighbors_graph": (nearest_neighbors_graph, ("directed", "star")),
    "nearest_source": (nearest_source, ALL),
    "pagerank": (pagerank, ALL),
    "negative_edges": (negative_edges, ALL),
    "pagerank_nibble": (pagerank_nibble, ("directed", "undirected", "islands", "star")),
    "project": (project, ("two sides",)),
    "random_walks": (random_walks, ALL),
    "salsa": (salsa, ("directed", "undirected", "multigraph", "star")),
    "sample_neighbors": (sample_neighbors, ALL),
    "scan_statistics": (scan_statistics, ALL),
    "shared_nearest_neighbors": (shared_nearest_neighbors, ALL),
    "shortest_path": (shortest_path, ALL),
    "similarity": (similarity, ("directed", "multigraph", "star")),
    "spectral_embedding": (spectral_embedding, ("directed", "undirected")),
    "split_edges": (split_edges, ALL),
    "square_clustering": (square_clustering, ("directed", "multigraph", "two sides", "star")),
    "sssp": (sssp, ALL),
    "strong_components": (strong_components, ALL),
    "subgraph_matches": (subgraph_matches, ("directed", "multigraph", "star")),
    "top_k_similar": (top_k_similar, ("undirected", "star")),
    "temporal_reachability": (temporal("temporal_reachability"), ALL),
    "topological_order": (topological_order, ("acyclic", "two sides")),
    "triadic_census": (triadic_census, ALL),
    "triangles": (triangles, ALL),
    "walk_pairs": (walk_pairs, ("directed", "star")),
}


for some in beside("QUESTIONS"):
    QUESTIONS |= some


def test_there_is_a_row_for_each_verifier() -> None:
    assert QUESTIONS.keys() == {*verify.__all__, *oracles.__all__} - {"VerificationError"}


@pytest.mark.parametrize("graphs", [2, pytest.param(None, marks=pytest.mark.thorough, id="all")])
@pytest.mark.parametrize("verifier", QUESTIONS)
def test_wrong_mutants_of_right_answers_are_refused(verifier: str, graphs: int | None) -> None:
    questions, names = QUESTIONS[verifier]
    tried, passed, refused = 0, [], []
    for name in names[:graphs]:
        for number, (check, answer, is_right) in enumerate(questions(GRAPHS[name])):
            check(**answer)
            assert is_right is None or is_right(**answer)
            for how, mutant in mutants(answer):
                tried += 1
                right = is_right is not None and _well_made(mutant, answer) and is_right(**mutant)
                try:
                    check(**mutant)
                except REFUSED as error:
                    if right:
                        refused.append(f"{name}, {number}: {how}: {error}")
                else:
                    if not right:
                        passed.append(f"{name}, {number}: {how}")
    assert not passed, f"{len(passed)} of {tried} wrong answers were called right:\n" + "\n".join(passed)
    assert not refused, f"{len(refused)} of {tried} right answers were refused:\n" + "\n".join(refused)
    assert tried >= (40 if graphs is None else 15)


def _well_made(mutant: Answer, answer: Answer) -> bool:
    """Whether each part has as many dimensions as the right one."""
    return all(np.ndim(mutant[name]) == np.ndim(part) for name, part in answer.items())


def test_a_hub_takes_a_verifier_no_longer_than_its_edges() -> None:
    """Pairs of its leaves are 5 * 10^8."""
    n = 30_000
    leaves = np.arange(1, n)
    star, middle = gasla.Graph.from_edges(np.zeros(n - 1, int), leaves), np.arange(n) == 0
    for measure in MEASURES:
        scores = np.full(n - 1, (n - 1.0) * (measure == "preferential_attachment"))
        verify.similarity(star, scores, measure, samples=n)
    oracles.square_clustering(star, np.zeros(n))
    verify.edge_support(star, np.zeros(n - 1, int), samples=n)
    verify.clustering(star, np.zeros(n), samples=n)
    verify.triangles(star, 0, np.zeros(n, int), samples=n)
    oracles.k_truss(star, np.zeros(n - 1, bool), 3)
    verify.bridges(star, np.column_stack([np.zeros(n - 1, int), leaves]))
    verify.articulation_points(star, np.flatnonzero(middle))
