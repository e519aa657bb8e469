"""Verifiers: is this answer right? Decided from properties that only a right answer has, and not from a second answer.

Each function takes the graph, what was asked and what was answered. It returns nothing, or raises `VerificationError`
that names the vertex or the edge and the property that it breaks. None of them runs any of gasla's kernels: they are
written over plain arrays with NumPy and SciPy, so that an error in an engine can't hide itself here.

| answer      | properties                                                                                             |
|-------------|--------------------------------------------------------------------------------------------------------|
| bfs         | only the source is at level 0; no edge skips a level; whoever is reached has a neighbor one level up  |
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
| project     | an edge for each two of the side that SciPy's product joins, and as many common neighbors as it has |
| modularity  | what NumPy adds up of edges within communities, and of strengths                                       |
| label_…     | almost all vertices are where most of their neighbors are; who has none is alone                      |
| bipartite   | no edge joins two of a color; every component without one has an odd cycle                            |
| bridges,    | edges of a depth-first search that low points show to be on no cycle; vertices that it can't pass by   |
| …points     |                                                                                                        |
| core_number | whoever is numbered k has k neighbors numbered so or higher, and can be peeled off with no more left  |
| k_core      | within, all have k neighbors or more; without, all can be peeled off with fewer left                  |
| multi_…     | each row those of bfs, or of sssp                                                                      |
| betweenness | the sum over all vertices is the sum of (distance - 1) over all reachable pairs; sampled sources agree |
| edge_betw…  | the sum over all edges is that of distances over all reachable pairs; sampled sources agree            |
| order       | every vertex once, every edge forward; levels rise along each edge, and along some into each by one    |
| longest     | no edge offers a longer way; every length is attained by way of a parent, or 0 where a path begins     |
| independent | no edge joins two members, and who is none has a neighbor that is                                     |
| coloring   | no edge joins two of a color; a neighbor of each lower color; two where there is no odd cycle       |
| minimum_…   | no circle, no component in parts; no edge lighter than one on the way between its ends                 |
| louvain     | communities are numbered by their smallest vertices; modularity is no lower than of everyone alone     |
| maximum_…   | no edge over its capacity, nothing lost at a vertex, and no way along which more could be sent         |
| minimum_cut | source and target are apart; the cut costs as much as SciPy's largest flow                             |
| …_nibble    | nobody's residual, as scores tell it, is enough for a push; no other cut of the sweep conducts less    |
| walks,      | each step is along an edge, and an end where none leads on; of each vertex as many neighbors as there |
| samples     | are to be, and none more often than its edges; whether lots are fair no single answer shows            |
| matching    | mates are neighbors, and each other's; an edge with no mate at its ends, or heavier than theirs: none |

Some answers have no property that is quicker to see than they are to compute. Of these, vertices, edges or pairs drawn
at random are compared with a direct computation; `samples` says how many.

| answer      | of some vertices, edges or pairs                                                                       |
|-------------|--------------------------------------------------------------------------------------------------------|
| closeness,  | scores are those that the distances of the vertex from all sources give                                |
| harmonic    |                                                                                                        |
| triangles,  | so many edges join neighbors of the vertex; all counts sum to three times the total                   |
| clustering  |                                                                                                        |
| edge_supp…, | both ends have so many neighbors in common, or such ones                                              |
| similarity  |                                                                                                        |
| features    | sums, means, largest and least ones are those of the edges that lead to the vertex                     |

The idea of verifying properties, apart from golden values, is that of the GAP benchmark suite (Beamer, Asanović,
Patterson: The GAP Benchmark Suite, 2015) and of Graph500's validation.
"""

from gasla.verify._common import VerificationError
from gasla.verify.centrality.betweenness import betweenness
from gasla.verify.centrality.edge_betweenness import edge_betweenness
from gasla.verify.centrality.link_analysis import hits, pagerank, salsa
from gasla.verify.centrality.spectra import eigenvector, katz
from gasla.verify.core_numbers import core_number, k_core
from gasla.verify.derived_graphs import condensation, ego_graph, project
from gasla.verify.directed.flows import maximum_flow, minimum_cut
from gasla.verify.directed.orders import longest_path, topological_order
from gasla.verify.partitions import components, label_propagation, louvain_communities, modularity, strong_components
from gasla.verify.searches.multi_source import multi_source_bfs, multi_source_shortest_paths
from gasla.verify.searches.paths import bfs, sssp
from gasla.verify.searches.single_pair import shortest_path
from gasla.verify.spot_checks import (
    aggregate_features,
    closeness,
    clustering,
    edge_support,
    harmonic,
    similarity,
    triangles,
)
from gasla.verify.undirected.cycles import articulation_points, bipartite, bridges
from gasla.verify.undirected.independence import greedy_color, maximal_independent_set, maximal_matching
from gasla.verify.undirected.sweep_cut import pagerank_nibble
from gasla.verify.undirected.trees import minimum_spanning_forest
from gasla.verify.walks_and_samples import random_walks, sample_neighbors

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
    "edge_betweenness",
    "edge_support",
    "ego_graph",
    "eigenvector",
    "greedy_color",
    "harmonic",
    "hits",
    "k_core",
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
    "sssp",
    "strong_components",
    "topological_order",
    "triangles",
]
