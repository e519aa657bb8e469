"""The commands for algorithms: the function that each calls, the arrays it saves, and the text it prints."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gasla
from gasla import verify
from gasla.algorithms.patterns.pattern import Pattern
from gasla.arrays import moved
from gasla.cli import views
from gasla.cli.verbs import Answered, Verb

Heading = Callable[[Answered], str]
Saves = dict[str, str]
UNWEIGHTED = {"weighted": "--unweighted"}
CLOSEST = views.from_sources("highest closeness, by distances from {:,} sources")
THROUGH = views.from_sources("highest betweenness, by shortest paths from {:,} sources")
ALONG = views.from_sources("edges of highest betweenness, by shortest paths from {:,} sources")


def _scores(name: str, function: Any, saves: Saves, heading: Heading, **more: Any) -> Verb:
    """A command whose result is one score per vertex; shows the highest."""
    return Verb(name, function, saves, heading, views.ranking(next(iter(saves))), **more)


def _edges(name: str, function: Any, saves: Saves, heading: Heading, view: Any = None, **more: Any) -> Verb:
    """A command whose result is one number per edge; shows the highest."""
    view = view or views.edges(views.highest(next(iter(saves))))
    return Verb(name, function, saves, heading, view, shape="edge", **more)


def _groups(name: str, function: Any, column: str, what: str) -> Verb:
    """A command whose result is one group label per vertex."""
    return Verb(name, function, {"labels": column}, views.grouped(what), views.groups)


def _links(name: str, function: Any) -> Verb:
    """A command whose result is a hub score and an authority score per vertex."""
    parts = views.ranking("hubs"), views.line(lambda _: "highest authority scores:"), views.ranking("authorities")
    saves, heading = {"hubs": "hub", "authorities": "authority"}, views.convergence("highest hub scores")
    return Verb(name, function, saves, heading, views.several(*parts), options=UNWEIGHTED)


def _similarity(function: Any) -> Verb:
    """A command whose result is the similarity of the ends of each edge."""
    name, verifier = function.__name__, partial(verify.similarity, measure=function.__name__)
    heading = views.positive("scores", "score above 0")
    return _edges(name.replace("_", "-"), function, {"scores": name}, heading, checked_by=verifier)


def _per_source(name: str, function: Any, saves: Saves) -> Verb:
    """A command whose result is a level, a distance or a truth value per source and vertex."""
    heading = lambda f: f"from {len(f.arguments['sources']):,} sources, of {f.graph.n:,} vertices:"  # noqa: E731
    return Verb(name, function, saves, heading, views.per_source(next(iter(saves))))


def _times(name: str, function: Any, part: str, title: str, end: str = "source", verb: str = "reached from") -> Verb:
    """A command whose result is a time or a duration per vertex of a temporal graph."""

    def others(f: Answered) -> Any:
        others = views.happens(f[part])
        others[f.arguments[end]] = False
        return others

    return Verb(
        *(name, function, {part: part.rstrip("s")}),
        lambda f: f"{1 + others(f).sum():,} of {f.graph.n:,} vertices {verb} {f.end(end)} in the order of time",
        views.spread(part, title, others),
    )


def _walks(name: str, function: Any) -> Verb:
    """A command whose result is a row of vertices per walker."""
    steps = lambda f: int((f["walks"][:, 1:] >= 0).sum())  # noqa: E731
    return Verb(
        *(name, function, {"visits": "visits"}),
        lambda f: (
            f"{len(f['walks']):,} walks, {steps(f):,} steps in total; {(f['walks'][:, -1] < 0).sum():,} walks ended "
            "early, at a vertex without out-edges; most visited vertices:"
        ),
        views.times_named("visits"),
        *("ids", verify.random_walks),
        defaults={"length": 10},
        unpack=lambda _, found: {"walks": found, "visits": found[found >= 0]},
        edges=steps,
    )


def _number(name: str, function: Any, what: str, **more: Any) -> Verb:
    """A command whose result is one number."""
    return Verb(
        name, function, {}, lambda f: f"{f['score']:.6g} is {what}", unpack=lambda _, found: {"score": found}, **more
    )


def _from_to(f: Answered) -> str:
    return f"{f.end('source')} to {f.end('target')}"


def _members(kind: str, f: Answered) -> str:
    k = f.arguments["k"]
    return f"are in the main {kind}" if k is None else f"are in the {k:,}-{kind}"


def _matches(f: Answered) -> str:
    count = f["matches"] if isinstance(f["matches"], int) else len(f["matches"])
    kind = "induced matches" if f.arguments["induced"] else "matches"
    pattern = Pattern.of(f.arguments["pattern"], f.arguments["directed"])
    return f"{count:,} {kind} of a {'directed ' * pattern.directed}pattern of {pattern.size} vertices"


def _counted(f: Answered) -> list[str]:
    """A line for each form of subgraphs."""
    return [f"      {count:>26,}  {name}" for name, count in f["counts"].items()]


def _spread(f: Answered) -> str:
    n = f.graph.n
    apart = (2 * float((f["positions"] ** 2).sum()) / max(n - 1, 1)) ** 0.5
    return f"{n:,} positions; edges are 1 long and any two vertices {apart:.3g} apart, as root mean squares:"


def _estimated(f: Answered) -> Any:
    return np.flatnonzero(views.is_placed(f["found"]) & ~views.is_placed(f.arguments["locations"]))


def _core(f: Answered) -> str:
    highest = int(f["numbers"].max(initial=0))
    count = int((f["numbers"] == highest).sum())
    return f"the main core is the {highest:,}-core, with {count:,} vertices; highest core numbers:"


def _points(f: Answered) -> Any:
    return f["points"][np.argsort(-f.graph.out_degrees[f["points"]], kind="stable")]


def _pairs(f: Answered) -> Any:
    first = np.flatnonzero(f["mates"] > np.arange(f.graph.n))
    return np.stack([first, f["mates"][first]], axis=1)


def _matching(name: str, function: Any) -> Verb:
    """A command whose result is the mate of each vertex."""
    heading = lambda f: f"{len(_pairs(f)):,} pairs of {f.graph.n:,} vertices{', among them' * bool(len(_pairs(f)))}"  # noqa: E731
    return Verb(name, function, {"mates": "mate"}, heading, views.named(_pairs))


def _used(f: Answered) -> Any:
    return views.highest("flow")(f)[: int((f["flow"] > 0).sum())]


def _cut(f: Answered) -> Any:
    src, dst = f.graph.edges()
    return np.flatnonzero(f["source_side"][src] & ~f["source_side"][dst])


def _diameter(f: Answered) -> str:
    found = f["distances"]
    least = found.min() if len(found) else 0
    return f"diameter {found.max(initial=0):,}, radius {least:,}; highest eccentricities:"


ALGORITHMS: tuple[Verb, ...] = (
    Verb(
        *("bfs", gasla.bfs, {"levels": "level", "parents": "parent"}),
        *(views.reached("levels"), views.histogram("levels", "level")),
        iterations=lambda f: int(f["levels"].max(initial=0)),
    ),
    _per_source("multi-source-bfs", gasla.multi_source_bfs, {"levels": "level"}),
    _scores(
        *("eccentricity", gasla.eccentricity, {"distances": "eccentricity"}),
        _diameter,
    ),
    Verb(
        *("effective-diameter", gasla.effective_diameter, {}),
        lambda f: f"{f.arguments['share']:.0%} of all connected pairs are within distance {f['diameter']:.4g}",
        unpack=lambda _, found: {"diameter": found},
        checked_by=partial(verify.effective_diameter, tolerance=0.2),
    ),
    _scores(
        *("k-hop-counts", gasla.k_hop_counts, {"counts": "nearby"}),
        lambda f: f"most vertices within {f.arguments['k']:,} hops:",
        defaults={"k": 2},
        checked_by=partial(verify.k_hop_counts, tolerance=0.8),
    ),
    Verb(
        *("sssp", gasla.sssp, {"distances": "distance", "parents": "parent"}),
        *(views.reached("distances"), views.spread("distances", "farthest:")),
    ),
    Verb(
        *("shortest-path", gasla.shortest_path, {"path": "on_path"}),
        lambda f: (
            f"a shortest path from {_from_to(f)} has {len(f['path']):,} vertices; its length is {f['distance']:,.6g}:"
            if len(f["path"])
            else f"no path leads from {_from_to(f)}"
        ),
        *(views.listed("path", views.along_path, more=lambda _: "more"), "ids"),
        fixed={"check_bound": False},
    ),
    Verb(
        *("k-shortest-paths", gasla.k_shortest_paths, {"vertices": "on_paths"}),
        lambda f: f"{len(f['paths']):,} shortest paths from {_from_to(f)}, by length:",
        *(views.paths, "ids"),
        defaults={"k": 5},
        unpack=lambda _, found: {
            "paths": found,
            "vertices": np.concatenate([[], *(p.path for p in found)]).astype(int),
        },
    ),
    _per_source("multi-source-shortest-paths", gasla.multi_source_shortest_paths, {"distances": "distance"}),
    Verb(
        *("nearest-source", gasla.nearest_source, {"distances": "distance", "nearest": "nearest"}),
        lambda f: f"{(f['nearest'] >= 0).sum():,} of {f.graph.n:,} vertices reached; vertices per nearest source:",
        views.cells,
    ),
    _times("earliest-arrival", gasla.earliest_arrival, "arrivals", "latest arrivals:"),
    _times("latest-departure", gasla.latest_departure, "departures", "latest departures:", "target", "lead to"),
    _times("fastest-durations", gasla.fastest_durations, "durations", "longest durations:"),
    _per_source("temporal-reachability", gasla.temporal_reachability, {"reached": "reached"}),
    _scores("pagerank", gasla.pagerank, {"ranks": "rank"}, views.convergence("highest ranks"), options=UNWEIGHTED),
    _links("hits", gasla.hits),
    _links("salsa", gasla.salsa),
    _scores("katz", gasla.katz_centrality, {"scores": "katz"}, views.convergence("highest scores")),
    _scores(
        "eigenvector", gasla.eigenvector_centrality, {"scores": "eigenvector"}, views.convergence("highest scores")
    ),
    _groups("components", gasla.connected_components, "component", "components"),
    Verb(
        *("bipartite", gasla.is_bipartite, {"colors": "color"}),
        lambda f: "bipartite" if f["bipartite"] else "NOT bipartite: some component has an odd cycle",
        views.counts("colors", {0: "color 0", 1: "color 1", -1: "no color"}),
        fixed={"colors": True},
    ),
    Verb(
        *("bridges", gasla.bridges, {"bridges": "bridges"}, views.counted("bridges", "bridges", "; the first:")),
        *(views.listed("bridges", between=" and "), "ids"),
    ),
    Verb(
        *("articulation-points", gasla.articulation_points, {"points": "articulation_point"}),
        views.counted("points", "articulation points", "; highest out-degrees:"),
        *(views.listed(_points, lambda f: f.graph.out_degrees[_points(f)]), "ids"),
    ),
    Verb(
        *("minimum-spanning-forest", gasla.minimum_spanning_forest, {"ends": "tree_edges"}),
        lambda f: (
            f"{len(f['edges']):,} edges of total weight {f['total'].item():,} join {f.graph.n:,} vertices into "
            f"{f.graph.n - len(f['edges']):,} trees"
        ),
        shape="ids",
        unpack=lambda graph, found: {**found._asdict(), "ends": np.stack(graph.edges())[:, found.edges]},
    ),
    _groups("strong-components", gasla.strongly_connected_components, "component", "components"),
    Verb(
        *("condensation", gasla.condensation, {"labels": "component"}, views.grouped("strong components")),
        views.several(views.groups, views.line(lambda f: f"{f['condensed'].m:,} edges between components")),
        fixed={"labels": None},
        unpack=lambda _, made: {"condensed": made, "labels": moved(made.origin.new_vertices, "cpu"), "count": made.n},
    ),
    Verb(
        *("ego-graph", gasla.ego_graph, {"vertices": "nearby"}),
        lambda f: (
            f"{f['ego'].n:,} of {f.graph.n:,} vertices and {f['ego'].m:,} of {f.graph.m:,} edges are within distance "
            f"{f.arguments['radius']:g} of {f.end('source')}{', among them' if f['ego'].n else ''}"
        ),
        *(views.named("vertices"), "ids"),
        unpack=lambda _, made: {"ego": made, "vertices": moved(made.origin.vertices, "cpu")},
    ),
    _scores(
        *("triangles", gasla.triangle_count, {"per_vertex": "triangles"}),
        lambda f: f"{f['total']:,} triangles; vertices in the most triangles:",
        fixed={"per_vertex": True},
    ),
    _edges(
        *("edge-support", gasla.edge_support, {"support": "support"}), views.positive("support", "are in triangles")
    ),
    _scores(
        *("clustering", gasla.clustering, {"scores": "clustering"}),
        lambda _: "highest clustering coefficients:",
    ),
    _number("transitivity", gasla.transitivity, "the fraction of paths of two edges that a third one closes"),
    _number("average-clustering", gasla.average_clustering, "the mean clustering coefficient"),
    _scores(
        *("scan-statistics", gasla.scan_statistics, {"counts": "scan_statistic"}),
        lambda _: "most edges among a vertex and its neighbors:",
    ),
    _similarity(gasla.jaccard),
    _similarity(gasla.overlap),
    _similarity(gasla.sorensen),
    _similarity(gasla.cosine),
    _similarity(gasla.adamic_adar),
    _similarity(gasla.resource_allocation),
    _similarity(gasla.preferential_attachment),
    _edges(
        *("shared-nearest-neighbors", gasla.shared_nearest_neighbors, {"counts": "shared_nearest_neighbors"}),
        views.positive("counts", "have ends with a common neighbor"),
    ),
    Verb(
        *("top-k-similar", gasla.top_k_similar, {"vertices": "similar", "scores": "score"}),
        lambda f: f"{(f['vertices'] >= 0).any(axis=1).sum():,} of {f.graph.n:,} vertices share a neighbor with others",
        *(views.similar, "rows"),
    ),
    _scores(
        *("square-clustering", gasla.square_clustering, {"scores": "square_clustering"}),
        lambda _: "highest square clustering coefficients:",
    ),
    _edges(
        *("k-truss", gasla.k_truss, {"edges": "truss"}),
        views.inside("edges", "stored edges", partial(_members, "truss")),
        views.edges(views.members("edges")),
    ),
    Verb(
        *("count-cliques", gasla.count_cliques, {}),
        lambda f: f"{f['count']:,} cliques of {f.arguments['k']:,} vertices",
        defaults={"k": 4},
        unpack=lambda _, count: {"count": count},
    ),
    Verb(
        *("subgraph-matches", gasla.subgraph_matches, {"matches": "matches"}),
        *(_matches, views.named("matches"), "ids"),
        fixed={"count": False},
    ),
    Verb(
        *("count-matches", gasla.subgraph_matches, {}, _matches),
        fixed={"count": True, "limit": None},
        unpack=lambda _, count: {"matches": count},
    ),
    Verb(
        *("motif-counts", gasla.motif_counts, {}),
        *(lambda f: f"{sum(f['counts'].values()):,} connected induced subgraphs of 3 and 4 vertices:", _counted),
        unpack=lambda _, counts: {"counts": counts},
    ),
    Verb(
        *("triadic-census", gasla.triadic_census, {}),
        *(lambda f: f"{sum(f['counts'].values()):,} sets of 3 vertices, by the edges between them:", _counted),
        unpack=lambda _, counts: {"counts": counts},
    ),
    Verb(
        *("layout", gasla.layout, {"x": "x", "y": "y"}, _spread, views.coordinates("positions")),
        unpack=lambda _, found: {"positions": found, "x": found[:, 0], "y": found[:, 1]},
    ),
    Verb(
        *("spectral-embedding", gasla.spectral_embedding, {"vectors": "coordinate"}),
        lambda f: f"coordinates by the eigenvalues {', '.join(f'{x:.4g}' for x in f['values'])}:",
        *(views.coordinates("vectors"), "rows"),
        options=UNWEIGHTED,
    ),
    _scores(
        *("fiedler-vector", gasla.fiedler_vector, {"vector": "fiedler"}),
        lambda f: f"{(f['vector'] > 0).sum():,} positive and {(f['vector'] < 0).sum():,} negative entries; highest:",
        options=UNWEIGHTED,
    ),
    Verb(
        *("geolocate", gasla.geolocate, {"x": "x", "y": "y"}),
        lambda f: (
            f"{views.is_placed(f.arguments['locations']).sum():,} of {f.graph.n:,} vertices have a location, and "
            f"{len(_estimated(f)):,} others an estimated one{':' * bool(len(_estimated(f)))}"
        ),
        views.coordinates("found", _estimated),
        unpack=lambda _, found: {"found": found, "x": found[:, 0], "y": found[:, 1]},
    ),
    _number("modularity", gasla.modularity, "the modularity of the given communities", options=UNWEIGHTED),
    _groups("label-propagation", gasla.label_propagation, "community", "communities"),
    _groups("louvain-communities", gasla.louvain_communities, "community", "communities"),
    Verb(
        *("pagerank-nibble", gasla.pagerank_nibble, {"member": "member"}),
        lambda f: (
            f"the community of {f.end('source')} has {len(f['vertices']):,} of {f.graph.n:,} vertices and conductance "
            f"{f['conductance']:.3g}; its first vertices:"
        ),
        views.named("vertices"),
        unpack=lambda graph, found: {**found._asdict(), "member": np.isin(np.arange(graph.n), found.vertices)},
    ),
    _scores("core-number", gasla.core_number, {"numbers": "core"}, _core),
    Verb(
        *("k-core", gasla.k_core, {"members": "member"}),
        *(views.inside("members", "vertices", partial(_members, "core")), views.named(views.members("members"))),
    ),
    Verb(
        *("maximal-independent-set", gasla.maximal_independent_set, {"members": "member"}),
        *(views.inside("members", "vertices", lambda _: "are members"), views.named(views.members("members"))),
    ),
    Verb(
        *("greedy-color", gasla.greedy_color, {"colors": "color"}),
        *(lambda f: f"{f['colors'].max(initial=-1) + 1:,} colors", views.histogram("colors", "color")),
    ),
    _matching("maximal-matching", gasla.maximal_matching),
    _matching("maximum-bipartite-matching", gasla.maximum_bipartite_matching),
    _scores("betweenness", gasla.betweenness_centrality, {"scores": "betweenness"}, THROUGH),
    _edges("edge-betweenness", gasla.edge_betweenness_centrality, {"scores": "edge_betweenness"}, ALONG),
    _scores("closeness", gasla.closeness_centrality, {"scores": "closeness"}, CLOSEST, fixed={"u": None}),
    _scores("harmonic", gasla.harmonic_centrality, {"scores": "harmonic"}, CLOSEST),
    Verb(
        *("topological-order", gasla.topological_order, {"levels": "level"}),
        lambda f: f"{f['levels'].max(initial=-1) + 1:,} levels; the first vertices in order:",
        views.listed("order", lambda f: f["levels"][f["order"]]),
        fixed={"levels": True},
    ),
    Verb(
        *("longest-path", gasla.longest_path, {"lengths": "length", "parents": "parent"}),
        lambda f: f"the longest path has {len(f['path']):,} vertices and length {f['length']:,.6g}:",
        views.listed(
            "path", lambda f: f["lengths"][f["path"]], more=lambda f: f"more, to {f.label(int(f['path'][-1]))}"
        ),
        options=UNWEIGHTED,
    ),
    _edges(
        *("maximum-flow", gasla.maximum_flow, {"flow": "flow"}),
        lambda f: (
            f"a maximum flow of {f['value']:,} from {_from_to(f)} uses {len(_used(f)):,} of {f.graph.m:,} edges"
            f"{'; edges of the largest flow:' * bool(len(_used(f)))}"
        ),
        views.edges(_used),
    ),
    Verb(
        *("minimum-cut", gasla.minimum_cut, {"source_side": "source_side"}),
        lambda f: (
            f"a minimum cut from {_from_to(f)} has {len(_cut(f)):,} edges of total capacity {f['value']:,}, and "
            f"{f['source_side'].sum():,} and {(~f['source_side']).sum():,} vertices on its sides"
            f"{'; edges in the cut:' * bool(len(_cut(f)))}"
        ),
        views.edges(_cut),
    ),
    Verb(
        *("aggregate-features", gasla.aggregate_features, {"aggregated": "feature"}),
        lambda f: f"{f.arguments['reduce']} over in-neighbors: minimum, mean and maximum of each feature",
        *(views.features, "rows"),
        options=UNWEIGHTED,
    ),
    _walks("random-walks", gasla.random_walks),
    _walks("node2vec-walks", gasla.node2vec_walks),
    Verb(
        *("sample-neighbors", gasla.sample_neighbors, {"drawn": "drawn"}),
        lambda f: f"{len(f['drawn']):,} samples of neighbors of {len(f['sampled']):,} vertices; most often sampled:",
        *(views.times_named("drawn"), "ids"),
        defaults={"k": 5},
        unpack=lambda _, found: {"sampled": found, "drawn": found[found >= 0]},
        edges=lambda f: len(f["drawn"]),
    ),
)
