"""Verifiers: is this answer right? Decided from properties that only a right answer has, and not from a second answer.

Each function takes the graph, what was asked and what was answered. It returns nothing, or raises `VerificationError`
that names the vertex or the edge and the property that it breaks. None of them runs any of gasla's kernels: they are
written over plain arrays with NumPy and SciPy, so that an error in an engine can't hide itself here.

| answer      | properties                                                                                             |
|-------------|--------------------------------------------------------------------------------------------------------|
| bfs         | only the source is at level 0; no edge skips a level; whoever is reached has a neighbour one level up  |
| sssp        | no edge offers a shorter way; every distance is reached from the source along edges that attain it     |
| …_path      | its edges lead from source to target and add up to its length; SciPy finds no shorter way              |
| pagerank    | one more power iteration, done by SciPy, moves the ranks by no more than the tolerance                 |
| hits, salsa | one more step, done by SciPy, moves neither score by more than the tolerance                           |
| katz,       | one more step, done by SciPy, moves the scores by no more than the tolerance; their squares sum to 1   |
| eigenvector |                                                                                                        |
| components  | no edge leaves its component; every component is connected                                             |
| strong_…    | each component hangs together by paths to and fro; no path that leads out of one leads back into it    |
| condens…    | a vertex for each strong component, and an edge for each pair of them that some edge joins; its value  |
| ego_graph   | its vertices are those that SciPy finds within the radius; its edges all between these, in order       |
| project     | an edge for each two of the side that SciPy's product joins, and as many common neighbours as it has |
| modularity  | what NumPy adds up of edges within communities, and of strengths                                       |
| label_…     | almost all vertices are where most of their neighbours are; who has none is alone                      |
| bipartite   | no edge joins two of a colour; every component without one has an odd cycle                            |
| bridges,    | edges of a depth-first search that low points show to be on no cycle; vertices that it can't pass by   |
| …points     |                                                                                                        |
| triangles,  | every triangle has three corners; the counts are those of sparse products                              |
| clustering  |                                                                                                        |
| edge_…,     | the counts are those of sparse products; every edge of a truss is in k - 2 triangles of it, and no     |
| k_truss     | edge is missing that is left when others are peeled off                                                |
| similarity  | each pair's score is that of rows of the adjacency matrix, multiplied entry by entry                 |
| top_k_…     | scores are those, in order; nobody is left out who scores more                                         |
| square_…    | squares are those of sparse products                                                                   |
| core_number | whoever is numbered k has k neighbours numbered so or higher, and can be peeled off with no more left  |
| k_core      | within, all have k neighbours or more; without, all can be peeled off with fewer left                  |
| …_cliques,  | the number is that of another search; matches are where the pattern is, each once, and as many as are  |
| …_matches   | found by listing all                                                                                   |
| multi_…     | each row those of bfs, or of sssp                                                                      |
| betweenness | the sum over all vertices is the sum of (distance - 1) over all reachable pairs; sampled sources agree |
| edge_betw…  | the sum over all edges is that of distances over all reachable pairs; sampled sources agree            |
| closeness,  | scores of vertices, of all or of some, are those that their distances from all sources give            |
| harmonic    |                                                                                                        |
| order       | every vertex once, every edge forward; levels rise along each edge, and along some into each by one    |
| longest     | no edge offers a longer way; every length is attained by way of a parent, or 0 where a path begins     |
| features    | sums and means are those of SciPy's product; the largest and the least are those edge by edge          |
| independent | no edge joins two members, and who is none has a neighbour that is                                     |
| colouring   | no edge joins two of a colour; a neighbour of each lower colour; two where there is no odd cycle       |
| minimum_…   | no circle, no component in parts; no edge lighter than one on the way between its ends                 |
| louvain     | communities are numbered by their smallest vertices; modularity is no lower than of everyone alone     |
| maximum_…   | no edge over its capacity, nothing lost at a vertex, and no way along which more could be sent         |
| minimum_cut | source and target are apart; the cut costs as much as SciPy's largest flow                             |
| …_nibble    | nobody's residual, as scores tell it, is enough for a push; no other cut of the sweep conducts less    |
| walks,      | each step is along an edge, and an end where none leads on; of each vertex as many neighbours as there |
| samples     | are to be, and none more often than its edges; whether lots are fair no single answer shows            |
| matching    | mates are neighbours, and each other's; an edge with no mate at its ends, or heavier than theirs: none |

The idea of verifying properties, apart from golden values, is that of the GAP benchmark suite (Beamer, Asanović,
Patterson: The GAP Benchmark Suite, 2015) and of Graph500's validation.
"""

from gasla.verify._common import VerificationError
from gasla.verify.centrality.closeness import closeness, harmonic
from gasla.verify.centrality.edge_scores import edge_betweenness
from gasla.verify.centrality.ranks import hits, pagerank, salsa
from gasla.verify.centrality.scores import betweenness
from gasla.verify.centrality.spectra import eigenvector, katz
from gasla.verify.counts import clustering, square_clustering, triangles
from gasla.verify.derived import condensation, ego_graph, project
from gasla.verify.directed.flows import maximum_flow, minimum_cut
from gasla.verify.directed.orders import longest_path, topological_order
from gasla.verify.drawn import random_walks, sample_neighbors
from gasla.verify.labels import components, label_propagation, louvain_communities, modularity, strong_components
from gasla.verify.neighbourhoods import aggregate_features
from gasla.verify.patterns import count_cliques, subgraph_matches
from gasla.verify.peeling import core_number, k_core
from gasla.verify.searches.many import multi_source_bfs, multi_source_shortest_paths
from gasla.verify.searches.paths import bfs, sssp
from gasla.verify.searches.routes import shortest_path
from gasla.verify.similarity import similarity, top_k_similar
from gasla.verify.trusses import edge_support, k_truss
from gasla.verify.undirected.cycles import articulation_points, bipartite, bridges
from gasla.verify.undirected.independence import greedy_color, maximal_independent_set, maximal_matching
from gasla.verify.undirected.sweep import pagerank_nibble
from gasla.verify.undirected.trees import minimum_spanning_forest

__all__ = [
    "VerificationError",
    "aggregate_features",
    "articulation_points",
    "betweenness",
    "bfs",
    "bipartite",
    "bridges",
    "closeness",
    "clustering",
    "components",
    "condensation",
    "core_number",
    "count_cliques",
    "edge_betweenness",
    "edge_support",
    "ego_graph",
    "eigenvector",
    "greedy_color",
    "harmonic",
    "hits",
    "k_core",
    "k_truss",
    "katz",
    "label_propagation",
    "longest_path",
    "louvain_communities",
    "maximal_independent_set",
    "maximal_matching",
    "maximum_flow",
    "minimum_cut",
    "minimum_spanning_forest",
    "modularity",
    "multi_source_bfs",
    "multi_source_shortest_paths",
    "pagerank",
    "pagerank_nibble",
    "project",
    "random_walks",
    "salsa",
    "sample_neighbors",
    "shortest_path",
    "similarity",
    "square_clustering",
    "sssp",
    "strong_components",
    "subgraph_matches",
    "top_k_similar",
    "topological_order",
    "triangles",
]
