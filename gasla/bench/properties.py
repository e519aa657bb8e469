"""Is an answer right? Decided on the GPU, from properties that only a right answer has, and from known numbers.

Each function returns what is wrong, or "". `ends` are the sources and destinations of all edges; arrays may be NumPy's
or CuPy's. `gasla.verify` does the same more thoroughly, on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gasla
from gasla import verify
from gasla.arrays import array_module, moved
from gasla.bench.answers import depths, ranks
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.peers import RADIUS, TOLERANCE, TRUSS, hub_iteration, personal_iteration, power_iteration

Ends = tuple[Any, Any]
FEW = 100  # walks whose every step is looked up
PAIRS = 1 << 12  # edges whose ends are looked at


def edges_of(graph: BenchmarkGraph) -> Ends:
    """The ends of all edges."""
    return graph.graph.out.owners(), graph.graph.out.indices


def search(graph: BenchmarkGraph, level: Any, sources: list[int]) -> str:
    """What is wrong with the levels from the first source."""
    return levels(edges_of(graph), sources[0], level)


def searches(graph: BenchmarkGraph, rows: Any, sources: list[int]) -> str:
    """What is wrong with the levels from all sources."""
    ends = edges_of(graph)
    return next(filter(None, (levels(ends, source, row) for source, row in zip(sources, rows))), "")


def tree(graph: BenchmarkGraph, parent: Any, sources: list[int]) -> str:
    """What is wrong with the parents."""
    ends, level = edges_of(graph), depths(parent, sources[0])
    return levels(ends, sources[0], level) or parents(ends, sources[0], level, parent)


def shortest_paths(graph: BenchmarkGraph, distance: Any, sources: list[int]) -> str:
    """What is wrong with the distances from the first source."""
    return distances(edges_of(graph), graph.graph.out_values, sources[0], distance)


def all_shortest_paths(graph: BenchmarkGraph, rows: Any, sources: list[int]) -> str:
    """What is wrong with the distances from all sources."""
    ends, weights = edges_of(graph), graph.graph.out_values
    return next(filter(None, (distances(ends, weights, source, row) for source, row in zip(sources, rows))), "")


def nearness(graph: BenchmarkGraph, score: Any, sources: list[int]) -> str:
    """What is wrong with closeness from these sources, by a search from each."""
    xp: Any = array_module(score)
    count, total = _over_levels(graph, sources, lambda level: level)
    among = xp.maximum(len(sources) - _found(graph.graph.n, xp.asarray(sources)), 1)
    return _like(score, count / xp.maximum(total, 1) * count / among)


def harmony(graph: BenchmarkGraph, score: Any, sources: list[int]) -> str:
    """What is wrong with harmonic centrality from these sources, by a search from each."""
    return _like(score, _over_levels(graph, sources, lambda level: 1 / level)[1])


def _over_levels(graph: BenchmarkGraph, sources: list[int], share: Callable[[Any], Any]) -> tuple[Any, Any]:
    """How many sources reach each vertex, itself aside, and the sum of what their levels come to."""
    count: Any = 0
    total: Any = 0.0
    for source in sources:
        level = gasla.bfs(graph.graph, source).astype(np.float64)
        count = count + (level > 0)
        total = total + array_module(level).where(level > 0, share(array_module(level).maximum(level, 1)), 0)
    return count, total


def _like(score: Any, right: Any) -> str:
    off = int((abs(score - right) > 1e-9 * right).sum())
    return f"{off} scores are not what single searches give" if off else ""


def power(graph: BenchmarkGraph, answer: Any, sources: list[int]) -> str:
    """What is wrong with ranks."""
    right = ranks(power_iteration(graph.pattern.astype(np.float64)), sources)
    moved = float(abs(ranks(answer, sources) - right).sum())
    return "" if moved < 1e-3 else f"ranks differ from float64's by {moved:.2g}"


def katz(graph: BenchmarkGraph, answer: Any, _: list[int]) -> str:
    """What is wrong with Katz scores."""
    rest = answer - graph.attenuation * (graph.pattern.astype(np.float64) @ answer)  # what each has by itself
    return "" if float(abs(rest / rest.mean() - 1).mean()) < TOLERANCE else "a step moves Katz scores"


def eigenvector(graph: BenchmarkGraph, answer: Any, _: list[int]) -> str:
    """What is wrong with scores that a step should leave where they are."""
    further = graph.pattern.astype(np.float64) @ answer + answer
    off = further / float((further * further).sum()) ** 0.5 - answer
    return "" if float(abs(off).mean()) < TOLERANCE else "a step moves the scores"


def personal(graph: BenchmarkGraph, answer: Any, _: list[int]) -> str:
    """What is wrong with the ranks of several surfers."""
    right = personal_iteration(graph.pattern.astype(np.float64), graph.homes)
    moved = float(abs(answer - right).sum(axis=1).max())
    return "" if moved < 1e-3 else f"ranks differ from float64's by {moved:.2g}"


def sums(graph: BenchmarkGraph, answer: Any, _: list[int]) -> str:
    """What is wrong with sums of the first and the last feature."""
    right = graph.matrix.astype(np.float64) @ graph.features[:, [0, -1]].astype(np.float64)
    wrong = abs(answer[:, [0, -1]] - right) > 1e-4 * abs(right)
    return "a sum is another than in float64" if bool(wrong.any()) else ""


def mutual(graph: BenchmarkGraph, hub: Any, _: list[int]) -> str:
    """What is wrong with hub scores after some iterations."""
    right = hub_iteration(graph.pattern.astype(np.float64))
    moved = float(abs(hub / hub.sum() - right / right.sum()).sum())
    return "" if moved < 1e-3 else f"hub scores differ from float64's by {moved:.2g}"


def pieces(graph: BenchmarkGraph, label: Any, _: list[int]) -> str:
    """What is wrong with the labels of components."""
    source = graph.sources[0]
    return labels(edges_of(graph), source, graph.reach(source).vertices, label)


def strong_pieces(graph: BenchmarkGraph, label: Any, _: list[int]) -> str:
    """What is wrong with the labels of strong components, by searches from the smallest vertex of the largest."""
    xp = array_module(label)
    inside = label == xp.bincount(label).argmax()
    seed = int(inside.argmax())
    back = gasla.Graph.from_edges(graph.directed.out.indices, graph.directed.out.owners(), n=graph.graph.n)
    cycle = (gasla.bfs(graph.directed, seed) >= 0) & (gasla.bfs(back, seed) >= 0)
    return "the largest component isn't who reaches a vertex and is reached" if bool((cycle != inside).any()) else ""


def condensed(graph: BenchmarkGraph, size: Any, _: list[int]) -> str:
    """What is wrong with how many vertices and edges a condensation has."""
    label = gasla.strongly_connected_components(graph.directed).labels
    there, place = np.unique(moved(label, "cpu"), return_inverse=True)
    src, dst = (place[moved(ids, "cpu")] for ids in (graph.directed.out.owners(), graph.directed.out.indices))
    count = len(np.unique((src * len(there) + dst)[src != dst]))
    return "" if size.tolist() == [len(there), count] else f"expected {len(there)} vertices and {count} edges"


def surroundings(graph: BenchmarkGraph, size: Any, sources: list[int]) -> str:
    """What is wrong with how many vertices and edges the first source's ego graph has."""
    level, (src, dst) = gasla.bfs(graph.graph, sources[0]), edges_of(graph)
    near = (level >= 0) & (level <= RADIUS)
    expected = [int(near.sum()), int((near[src] & near[dst]).sum())]
    return "" if size.tolist() == expected else f"expected {expected[0]} vertices and {expected[1]} edges"


def cores(graph: BenchmarkGraph, number: Any, _: list[int]) -> str:
    """What is wrong with core numbers, as far as too high ones go."""
    src, dst = edges_of(graph)
    among = array_module(number).bincount(src[number[dst] >= number[src]], minlength=len(number))
    return "a vertex has too few neighbours in its core" if bool((among < number).any()) else ""


def supports(graph: BenchmarkGraph, support: Any, _: list[int]) -> str:
    """What is wrong with the support of edges: it can't pass the neighbours that ends have beside each other."""
    src, dst = edges_of(graph)
    degree = array_module(support).bincount(src, minlength=graph.graph.n)
    most = array_module(support).minimum(degree[src], degree[dst]) - 1
    return "an edge is in more triangles than an end has neighbours" if bool((support > most).any()) else ""


def alike(graph: BenchmarkGraph, score: Any, _: list[int], measure: Any) -> str:
    """What is wrong with how alike the ends of some edges are, decided on the CPU."""
    here, scores = graph.on("cpu").graph, moved(score, "cpu")
    some = np.linspace(0, here.m - 1, min(here.m, PAIRS)).astype(np.int64)
    try:
        verify.similarity(here, scores[some], measure, (here.out.owners()[some], here.out.indices[some]))
    except verify.VerificationError as wrong:
        return str(wrong)
    return ""


def similar(graph: BenchmarkGraph, scores: Any, _: list[int]) -> str:
    """What is wrong with scores of those most similar to each: not in order, or the first not that of an edge."""
    xp = array_module(scores)
    if bool((xp.diff(scores, axis=1) > 0).any()):
        return "scores are not in order"
    src, _dst = edges_of(graph)
    return "an edge has a higher score" if bool((gasla.jaccard(graph.graph) > scores[src, 0]).any()) else ""


def trusses(graph: BenchmarkGraph, member: Any, _: list[int]) -> str:
    """What is wrong with a truss: its vertices have too few neighbours in it."""
    src, _ = edges_of(graph)
    degree = array_module(member).bincount(src[member], minlength=graph.graph.n)
    few = (degree > 0) & (degree < TRUSS - 1)
    return f"a vertex has too few neighbours in a truss of {TRUSS}" if bool(few.any()) else ""


def lightest_forest(graph: BenchmarkGraph, edges: Any, _: list[int]) -> str:
    """What is wrong with a minimum spanning forest, decided on the CPU."""
    try:
        verify.minimum_spanning_forest(graph.on("cpu").graph, moved(edges, "cpu"))
    except verify.VerificationError as wrong:
        return str(wrong)
    return ""


def modular(graph: BenchmarkGraph, labels: Any, _: list[int]) -> str:
    """What is wrong with communities of high modularity, decided on the CPU."""
    try:
        verify.louvain_communities(graph.on("cpu").graph, moved(labels, "cpu"), weighted=False)
    except verify.VerificationError as wrong:
        return str(wrong)
    return ""


def quality(graph: BenchmarkGraph, score: Any, _: list[int]) -> str:
    """What is wrong with the modularity of groups, decided on the CPU."""
    here = graph.on("cpu")
    try:
        verify.modularity(here.graph, here.groups, float(score), weighted=False)
    except verify.VerificationError as wrong:
        return str(wrong)
    return ""


def nibbled(graph: BenchmarkGraph, vertices: Any, sources: list[int]) -> str:
    """What is wrong with the community of the first source: it is not in it, or as many edges lead out as in it."""
    src, dst = edges_of(graph)
    inside = _found(graph.graph.n, vertices)
    if not bool(inside[sources[0]]):
        return "the source is not in its community"
    volume, cut = int(inside[src].sum()), int((inside[src] & ~inside[dst]).sum())
    return "" if cut < min(volume, len(src) - volume) or len(vertices) == 1 else "a community conducts like one vertex"


def walked(graph: BenchmarkGraph, walks: Any, _: list[int]) -> str:
    """What is wrong with walks: where they begin, or that one ends though edges lead both ways; edges of the first."""
    if bool((walks[:, 0] != graph.walkers).any()):
        return "a walker begins elsewhere"
    few = moved(walks[:FEW], "cpu")
    if bool((walks < 0).any()) or not _are_edges(graph, few[:, :-1].ravel(), few[:, 1:].ravel()):
        return "a walk leads along no edge"
    return ""


def drawn(graph: BenchmarkGraph, rows: Any, _: list[int]) -> str:
    """What is wrong with samples: how many each vertex has; edges of the first."""
    most = array_module(rows).minimum(graph.graph.out_degrees[graph.walkers], rows.shape[1])
    if bool(((rows >= 0).sum(axis=1) != most).any()):
        return "a vertex has fewer neighbours than there are, or more"
    few = moved(rows[:FEW], "cpu")
    src = np.broadcast_to(moved(graph.walkers[:FEW], "cpu")[:, np.newaxis], few.shape)
    return "" if _are_edges(graph, src[few >= 0], few[few >= 0]) else "a neighbour is none"


def _are_edges(graph: BenchmarkGraph, src: Any, dst: Any) -> bool:
    """Whether there are edges, each of which is looked up."""
    lists = graph.graph.out
    first, last = (moved(lists.indptr[array_module(lists.indptr).asarray(src + i)], "cpu").tolist() for i in (0, 1))
    return all(bool((lists.indices[a:b] == v).any()) for a, b, v in zip(first, last, dst.tolist()))


def independent(graph: BenchmarkGraph, is_member: Any, _: list[int]) -> str:
    """What is wrong with a maximal independent set."""
    src, dst = edges_of(graph)
    if bool((is_member[src] & is_member[dst]).any()):
        return "two members are neighbours"
    is_beside = _found(len(is_member), dst[is_member[src]])
    return "" if bool((is_member | is_beside).all()) else "a vertex could be added"


def communities(graph: BenchmarkGraph, label: Any, _: list[int]) -> str:
    """What is wrong with communities by labels: an edge or more should lead to others of its own, for almost all."""
    src, dst = edges_of(graph)
    beside, inside = _found(len(label), src), _found(len(label), src[label[src] == label[dst]])
    return "" if int((beside & ~inside).sum()) <= 0.1 * len(label) else "many are in a community of no neighbour"


def proper(graph: BenchmarkGraph, colour: Any, _: list[int]) -> str:
    """What is wrong with a colouring."""
    src, dst = edges_of(graph)
    if bool((colour < 0).any()):
        return "a vertex has no colour"
    return "two neighbours have the same colour" if bool((colour[src] == colour[dst]).any()) else ""


def matched(graph: BenchmarkGraph, mate: Any, _: list[int]) -> str:
    """What is wrong with a maximal matching."""
    src, dst = edges_of(graph)
    has, ids = mate >= 0, array_module(mate).arange(len(mate))
    if bool((mate[mate[has]] != ids[has]).any()) or bool((_found(len(mate), dst[mate[src] == dst]) != has).any()):
        return "a mate is not one"
    return "an edge could be added" if bool((~has[src] & ~has[dst]).any()) else ""


def shares(graph: BenchmarkGraph, score: Any, sources: list[int]) -> str:
    """What is wrong with betweenness from these sources."""
    return scores(score, sources, [gasla.bfs(graph.graph, s) for s in sources])


def edge_shares(graph: BenchmarkGraph, score: Any, sources: list[int]) -> str:
    """All scores of edges together are the sum of distances over all that these sources reach."""
    total = float(score.sum()) * len(sources) / graph.graph.n
    levels = [gasla.bfs(graph.graph, s) for s in sources]
    expected = sum(int(level[level > 0].sum(dtype=np.int64)) for level in levels)
    return "" if abs(total - expected) <= 1e-6 * expected else f"scores sum to {total:.8g}, distances to {expected:.8g}"


def order(graph: BenchmarkGraph, vertices: Any, _: list[int]) -> str:
    """What is wrong with an order of the acyclic edges."""
    src, dst = graph.acyclic.out.owners(), graph.acyclic.out.indices
    xp, n = array_module(vertices), graph.graph.n
    place = xp.full(n, -1)
    place[vertices] = xp.arange(n)
    if bool((place < 0).any()):
        return "a vertex is missing in the order"
    return "an edge leads back" if bool((place[src] >= place[dst]).any()) else ""


def longest(graph: BenchmarkGraph, length: Any, _: list[int]) -> str:
    """What is wrong with the lengths of longest paths along the acyclic edges; weights must be positive."""
    src, dst = graph.acyclic.out.owners(), graph.acyclic.out.indices
    offer, have = length[src] + graph.acyclic.out_values, length[dst]
    if bool((offer > have).any()):
        return "an edge offers a longer way"
    attained = _found(len(length), dst[offer == have])
    return "a length is not attained" if bool((attained != (length > 0)).any()) else ""


def unlike_known(graph: BenchmarkGraph, algorithm: str, answer_from: Callable[[int], Any]) -> str:
    """How gasla's answers, the first from the first source and so on, differ from those known from elsewhere."""
    known, source = graph.known, graph.sources
    if algorithm == "levels":
        for i, expected in enumerate(known.get("bfs_reached_depthsum_maxdepth", [])):
            level = answer_from(i)
            reached = level >= 0
            if expected != [int(reached.sum()), int(level[reached].sum(dtype=np.int64)), int(level.max())]:
                return f"levels from {source[i]} are not those known"
    if algorithm == "sssp":
        for i, expected in enumerate(known.get("sssp_reached_sum", [])):
            distance = answer_from(i)
            reached = np.isfinite(distance)
            if expected != [int(reached.sum()), int(distance[reached].sum(dtype=np.float64))]:
                return f"distances from {source[i]} are not those known"
    if algorithm in ("triangles", "components") and algorithm in known:
        answer = answer_from(0)
        count = int(answer) if algorithm == "triangles" else int(_found(graph.graph.n, answer).sum())
        return "" if count == known[algorithm] else f"{count} {algorithm}; {known[algorithm]} are known"
    return ""


def _found(n: int, vertices: Any) -> Any:
    """Which vertices occur."""
    found = array_module(vertices).zeros(n, bool)
    found[vertices] = True
    return found


def levels(ends: Ends, source: int, level: Any) -> str:
    """No edge skips a level, and whoever is reached has a neighbour one level up."""
    src, dst = ends
    if int(level[source]) != 0 or int((level == 0).sum()) != 1:
        return "another vertex than the source is at level 0"
    above, below = level[src], level[dst]
    if bool(((above >= 0) & ((below < 0) | (below > above + 1))).any()):
        return "an edge skips a level"
    has_neighbour = _found(len(level), dst[(above >= 0) & (below == above + 1)])
    return "a vertex has no neighbour one level up" if bool(((level > 0) & ~has_neighbour).any()) else ""


def parents(ends: Ends, source: int, level: Any, parent: Any) -> str:
    """The source is its own parent; any other reached vertex has an edge from its parent, who is one level up."""
    src, dst = ends
    right = (parent[dst] == src) & (level[src] + 1 == level[dst])
    has_parent = _found(len(level), dst[right])
    has_parent[source] = True
    if int(parent[source]) != source or bool((has_parent != (level >= 0)).any()):
        return "a parent is not one"
    return "" if bool((parent[level < 0] == -1).all()) else "a vertex out of reach has a parent"


def distances(ends: Ends, weights: Any, source: int, distance: Any) -> str:
    """No edge offers a shorter way, and every distance but the source's is attained; weights must be positive."""
    src, dst = ends
    if float(distance[source]) != 0:
        return "the source is not at distance 0"
    offer, have = distance[src] + weights, distance[dst]
    if bool((offer < have).any()):
        return "an edge offers a shorter way"
    attained = _found(len(distance), dst[(offer == have) & (offer < np.inf)])
    attained[source] = True
    return "a distance is not attained" if bool((attained != (distance < np.inf)).any()) else ""


def labels(ends: Ends, source: int, members: int, label: Any) -> str:
    """No edge leaves its component, and the source's has as many members as a search finds."""
    if bool((label[ends[0]] != label[ends[1]]).any()):
        return "an edge leaves its component"
    found = int((label == label[source]).sum())
    return "" if found == members else f"the component of vertex {source} has {found} members instead of {members}"


def scores(score: Any, sources: list[int], depths: list[Any]) -> str:
    """All scores of sampled sources together are the sum of (distance - 1) over all that these reach."""
    n, total = len(score), score.astype(np.float64)
    looked_at = array_module(score).full(n, float(len(sources)))
    looked_at[array_module(score).asarray(sources)] = max(len(sources) - 1, 1)
    total = float((total * looked_at).sum()) * 2 / (n - 1)
    expected = sum(int((level[level > 0] - 1).sum(dtype=np.int64)) for level in depths)
    return "" if abs(total - expected) <= 1e-6 * expected else f"scores sum to {total:.8g}, distances to {expected:.8g}"
