"""The algorithms as verbs of the command line: an entry each."""

from functools import partial
from typing import Any

import numpy as np

import gasla
from gasla import verify
from gasla.arrays import moved
from gasla.cli.summaries import (
    alike,
    by_searches,
    cliques,
    colours,
    communities,
    components,
    condensed,
    cores,
    cut,
    distances,
    edges_from,
    features,
    flow,
    forest,
    from_sources,
    independent,
    is_reached,
    levels,
    links,
    matches,
    mates,
    members,
    nearby,
    nibbled,
    of_each,
    order,
    pairs,
    passed,
    path,
    points,
    ranking,
    route,
    sampled,
    settled,
    sides,
    similar,
    supported,
    truss,
    walked,
)
from gasla.cli.verbs import Verb

SIMILARITIES: tuple[Any, ...] = (
    gasla.jaccard,
    gasla.overlap,
    gasla.cosine,
    gasla.adamic_adar,
    gasla.resource_allocation,
    gasla.preferential_attachment,
)

ALGORITHMS: tuple[Verb, ...] = (
    Verb(
        *("bfs", gasla.bfs, verify.bfs),
        answers={"levels": "level", "parents": "parent"},
        summary=levels,
        edges=lambda found: edges_from(found.graph.graph, is_reached(found.answer["levels"])),
        iterations=lambda found: int(found.answer["levels"].max(initial=0)),
    ),
    Verb(
        *("multi-source-bfs", gasla.multi_source_bfs, verify.multi_source_bfs),
        answers={"levels": "level"},
        summary=of_each("levels"),
        edges=lambda found: sum(edges_from(found.graph.graph, is_reached(row)) for row in found.answer["levels"]),
    ),
    Verb(
        *("sssp", gasla.sssp, verify.sssp),
        answers={"distances": "distance", "parents": "parent"},
        summary=distances,
        edges=lambda found: edges_from(found.graph.graph, is_reached(found.answer["distances"])),
    ),
    Verb(
        *("shortest-path", gasla.shortest_path, verify.shortest_path),
        answers={"path": "on_path"},
        summary=route,
        fixed={"bound": None, "check_bound": False},
        names_vertices=True,
    ),
    Verb(
        *("multi-source-shortest-paths", gasla.multi_source_shortest_paths, verify.multi_source_shortest_paths),
        answers={"distances": "distance"},
        summary=of_each("distances"),
        edges=lambda found: sum(edges_from(found.graph.graph, is_reached(row)) for row in found.answer["distances"]),
    ),
    Verb(
        *("pagerank", gasla.pagerank, verify.pagerank),
        answers={"ranks": "rank"},
        summary=ranking("ranks", settled("ranks")),
        options={"weighted": "--unweighted"},
        iterations=lambda found: int(found.answer["iterations"]),
    ),
    *(
        Verb(
            *(name, function, verifier),
            answers={"hubs": "hub", "authorities": "authority"},
            summary=links,
            options={"weighted": "--unweighted"},
            iterations=lambda found: int(found.answer["iterations"]),
        )
        for name, function, verifier in (("hits", gasla.hits, verify.hits), ("salsa", gasla.salsa, verify.salsa))
    ),
    Verb(
        *("katz", gasla.katz_centrality, verify.katz),
        answers={"scores": "katz"},
        summary=ranking("scores", settled("scores")),
        iterations=lambda found: int(found.answer["iterations"]),
    ),
    Verb(
        *("eigenvector", gasla.eigenvector_centrality, verify.eigenvector),
        answers={"scores": "eigenvector"},
        summary=ranking("scores", settled("scores")),
        iterations=lambda found: int(found.answer["iterations"]),
    ),
    Verb(
        *("components", gasla.connected_components, verify.components),
        answers={"labels": "component"},
        summary=components,
    ),
    Verb(
        *("bipartite", gasla.is_bipartite, verify.bipartite),
        answers={"colors": "color"},
        summary=sides,
        fixed={"colors": True},
    ),
    Verb(
        *("bridges", gasla.bridges, verify.bridges),
        answers={"bridges": "bridges"},
        summary=pairs,
        names_vertices=True,
    ),
    Verb(
        *("articulation-points", gasla.articulation_points, verify.articulation_points),
        answers={"points": "articulation_point"},
        summary=points,
        names_vertices=True,
    ),
    Verb(
        *("minimum-spanning-forest", gasla.minimum_spanning_forest, verify.minimum_spanning_forest),
        answers={"ends": "tree_edges"},
        summary=forest,
        unpack=lambda graph, found: {**found._asdict(), "ends": np.stack(graph.edges())[:, found.edges]},
        names_vertices=True,
    ),
    Verb(
        *("strong-components", gasla.strongly_connected_components, verify.strong_components),
        answers={"labels": "component"},
        summary=components,
    ),
    Verb(
        *("condensation", gasla.condensation, verify.condensation),
        answers={"labels": "component"},
        summary=condensed,
        fixed={"labels": None},
        unpack=lambda _, made: {"condensed": made, "labels": moved(made.origin.new_vertices, "cpu"), "count": made.n},
    ),
    Verb(
        *("ego-graph", gasla.ego_graph, verify.ego_graph),
        answers={"vertices": "nearby"},
        summary=nearby,
        unpack=lambda _, made: {"ego": made, "vertices": moved(made.origin.vertices, "cpu")},
        names_vertices=True,
    ),
    Verb(
        *("triangles", gasla.triangle_count, verify.triangles),
        answers={"per_vertex": "triangles"},
        summary=ranking("per_vertex", lambda f: f"{f.answer['total']:,} triangles; the vertices in most of them:"),
        fixed={"per_vertex": True},
    ),
    Verb(
        *("edge-support", gasla.edge_support, verify.edge_support),
        answers={"support": "support"},
        summary=supported,
        by_edge=True,
    ),
    Verb(
        *("clustering", gasla.clustering, verify.clustering),
        answers={"scores": "clustering"},
        summary=ranking("scores", lambda _: "the vertices whose neighbours are neighbours of each other most often:"),
    ),
    *(
        Verb(
            *(function.__name__.replace("_", "-"), function, partial(verify.similarity, measure=function.__name__)),
            answers={"scores": function.__name__},
            summary=alike,
            fixed={"pairs": None},
            by_edge=True,
        )
        for function in SIMILARITIES
    ),
    Verb(
        *("top-k-similar", gasla.top_k_similar, None),
        answers={"vertices": "similar", "scores": "score"},
        summary=similar,
        by_vertex=True,
    ),
    Verb(
        *("square-clustering", gasla.square_clustering, None),
        answers={"scores": "square_clustering"},
        summary=ranking("scores", lambda _: "the vertices whose neighbours have others in common most often:"),
    ),
    Verb(
        *("k-truss", gasla.k_truss, None),
        answers={"edges": "truss"},
        summary=truss,
        by_edge=True,
    ),
    Verb(
        *("count-cliques", gasla.count_cliques, None),
        answers={},
        summary=cliques,
        defaults={"k": 4},
        unpack=lambda _, count: {"count": count},
    ),
    Verb(
        *("subgraph-matches", gasla.subgraph_matches, None),
        answers={"matches": "matches"},
        summary=matches,
        fixed={"count": False},
        names_vertices=True,
    ),
    Verb(
        *("count-matches", gasla.subgraph_matches, None),
        answers={},
        summary=matches,
        fixed={"count": True, "limit": None},
        unpack=lambda _, count: {"matches": count},
    ),
    Verb(
        *("label-propagation", gasla.label_propagation, verify.label_propagation),
        answers={"labels": "community"},
        summary=communities,
    ),
    Verb(
        *("louvain-communities", gasla.louvain_communities, verify.louvain_communities),
        answers={"labels": "community"},
        summary=communities,
    ),
    Verb(
        *("pagerank-nibble", gasla.pagerank_nibble, verify.pagerank_nibble),
        answers={"member": "member"},
        summary=nibbled,
        unpack=lambda graph, found: {**found._asdict(), "member": np.isin(np.arange(graph.n), found.vertices)},
    ),
    Verb(
        *("core-number", gasla.core_number, verify.core_number),
        answers={"numbers": "core"},
        summary=ranking("numbers", cores),
    ),
    Verb(
        *("k-core", gasla.k_core, verify.k_core),
        answers={"members": "member"},
        summary=members,
        fixed={"core_number": None},
    ),
    Verb(
        *("maximal-independent-set", gasla.maximal_independent_set, verify.maximal_independent_set),
        answers={"members": "member"},
        summary=independent,
        fixed={"nodes": None},
    ),
    Verb(
        *("greedy-color", gasla.greedy_color, verify.greedy_color),
        answers={"colours": "colour"},
        summary=colours,
        fixed={"priority": None},
    ),
    Verb(
        *("maximal-matching", gasla.maximal_matching, verify.maximal_matching),
        answers={"mates": "mate"},
        summary=mates,
    ),
    Verb(
        *("betweenness", gasla.betweenness_centrality, verify.betweenness),
        answers={"scores": "betweenness"},
        summary=ranking("scores", from_sources("shortest paths from {:,} sources run through")),
        edges=by_searches,
    ),
    Verb(
        *("edge-betweenness", gasla.edge_betweenness_centrality, verify.edge_betweenness),
        answers={"scores": "edge_betweenness"},
        summary=passed,
        edges=by_searches,
        by_edge=True,
    ),
    Verb(
        *("closeness", gasla.closeness_centrality, verify.closeness),
        answers={"scores": "closeness"},
        summary=ranking("scores", from_sources("by distances from {:,} sources, the closest")),
        fixed={"u": None},
        edges=by_searches,
    ),
    Verb(
        *("harmonic", gasla.harmonic_centrality, verify.harmonic),
        answers={"scores": "harmonic"},
        summary=ranking("scores", from_sources("by distances from {:,} sources, the closest")),
        fixed={"nbunch": None},
        edges=by_searches,
    ),
    Verb(
        *("topological-order", gasla.topological_order, verify.topological_order),
        answers={"levels": "level"},
        summary=order,
        fixed={"levels": True},
    ),
    Verb(
        *("longest-path", gasla.longest_path, verify.longest_path),
        answers={"lengths": "length", "parents": "parent"},
        summary=path,
        options={"weighted": "--unweighted"},
    ),
    Verb(
        *("maximum-flow", gasla.maximum_flow, verify.maximum_flow),
        answers={"flow": "flow"},
        summary=flow,
        by_edge=True,
    ),
    Verb(
        *("minimum-cut", gasla.minimum_cut, verify.minimum_cut),
        answers={"source_side": "source_side"},
        summary=cut,
    ),
    Verb(
        *("aggregate-features", gasla.aggregate_features, verify.aggregate_features),
        answers={"aggregated": "feature"},
        summary=features,
        options={"weighted": "--unweighted"},
        by_vertex=True,
    ),
    *(
        Verb(
            *(name, function, verify.random_walks),
            answers={"visits": "visits"},
            summary=walked,
            defaults={"length": 10},
            unpack=lambda _, found: {"walks": found, "visits": found[found >= 0]},
            edges=lambda found: int((found.answer["walks"][:, 1:] >= 0).sum()),
            names_vertices=True,
        )
        for name, function in (("random-walks", gasla.random_walks), ("node2vec-walks", gasla.node2vec_walks))
    ),
    Verb(
        *("sample-neighbors", gasla.sample_neighbors, verify.sample_neighbors),
        answers={"drawn": "drawn"},
        summary=sampled,
        defaults={"k": 5},
        unpack=lambda _, found: {"sampled": found, "drawn": found[found >= 0]},
        edges=lambda found: len(found.answer["drawn"]),
        names_vertices=True,
    ),
)
