"""Verifiers: check an answer by properties that only the right answer has, without computing a second one.

Each function takes the graph, the arguments of the algorithm with the same names and meaning, and the answer. It
returns nothing, or raises a `VerificationError` that names the vertex or edge and the property that it violates. None
of them runs gasla's kernels: they use NumPy and SciPy on plain arrays, so that an error in an engine cannot hide itself
here.

| answer      | properties                                                                                             |
|-------------|--------------------------------------------------------------------------------------------------------|
| bfs         | only the source is at level 0; no edge skips a level; each reached vertex has a neighbor one level up  |
| sssp        | no edge offers a shorter way; every distance is reached from the source along edges that attain it     |
| nearest_…   | as sssp; each vertex is reached from its source along such edges, and none brings a smaller position   |
| …_path      | its edges lead from source to target and add up to its length; SciPy finds no shorter way              |
| k_short…    | the paths are such, and in order; past a sampled vertex of them, SciPy finds no other that is shorter  |
| earliest_…  | no edge in the window that departs once its source is reached arrives earlier; each arrival is that of |
| latest_…    | edges that lead from the source; departures the same backward                                          |
| pagerank    | one more power iteration, done by SciPy, moves the ranks by no more than the tolerance                 |
| hits, salsa | one more step, done by SciPy, moves neither score by more than the tolerance                           |
| katz,       | one more step, done by SciPy, moves the scores by no more than the tolerance; their squares sum to 1   |
| eigenvector |                                                                                                        |
| spectral_…, | SciPy's Laplacian times each vector is the vector times its eigenvalue; vectors are orthogonal; no     |
| fiedler_…   | smaller eigenvalue exists                                                                              |
| components  | no edge leaves its component; every component is connected                                             |
| strong_…    | each component is strongly connected; no path leaves one and returns                                   |
| condens…    | a vertex for each strong component, and an edge for each pair of them that some edge joins; its value  |
| ego_graph   | its vertices are those that SciPy finds within the radius; its edges all between these, in order       |
| modularity  | what NumPy adds up of edges within communities, and of strengths                                       |
| label_…     | almost all vertices are in the community of most of their neighbors; isolated vertices are alone       |
| bipartite   | no edge joins two of a color; every component without one has an odd cycle                            |
| bridges,    | removing all bridges adds a component each; removing a sampled other edge adds none; removing a        |
| …points     | sampled articulation point adds components, and removing another vertex adds none                      |
| core_number | a vertex of number k has k neighbors of number k or more, and can be peeled off with no more left      |
| k_core      | within, all have k neighbors or more; without, all can be peeled off with fewer left                  |
| multi_…     | each row those of bfs, or of sssp                                                                      |
| betweenness | the sum over all vertices is the sum of (distance - 1) over all reachable pairs; sampled sources agree |
| edge_betw…  | the sum over all edges is that of distances over all reachable pairs; sampled sources agree            |
| order       | every vertex once, every edge forward; levels rise along each edge, and along some into each by one    |
| longest     | no edge offers a longer way; every length is attained by way of a parent, or 0 where a path begins     |
| independent | no edge joins two members, and every other vertex has a neighbor that is a member                      |
| coloring   | no edge joins two of a color; a neighbor of each lower color; two where there is no odd cycle       |
| minimum_…   | no cycle, every component connected; no edge lighter than one on the path between its ends             |
| louvain     | communities are numbered by their smallest vertices; modularity is no lower than of single vertices    |
| maximum_…   | no edge exceeds its capacity, flow is conserved at vertices, and there is no augmenting path           |
| minimum_cut | source and target are separated; the capacity of the cut equals SciPy's maximum flow                   |
| …_nibble    | no vertex has enough residual for a push; no other prefix of the sweep has less conductance            |
| walks,      | each step follows an edge, and walks end only where none leads on; of each vertex the right number of  |
| samples     | neighbors, none more often than its edges; randomness itself cannot be seen in one answer              |
| geolocate   | given locations are kept; no place near another has a smaller sum of distances to its neighbors        |
| layout      | positions are finite and distinct; squared lengths of edges have a mean of 1, all pairs no smaller one |
| …bipartite… | as a matching, and no alternating path joins unmatched vertices of both sides                          |
| matching    | mates are neighbors, and mutual; no edge without a mate at its ends, or heavier than their matches     |

Some answers have no property that is faster to check than the answer is to compute. For these, randomly sampled
vertices, edges or pairs are compared with a direct computation; `samples` is their number.

| answer      | for sampled vertices, edges or pairs                                                                   |
|-------------|--------------------------------------------------------------------------------------------------------|
| closeness,  | scores are those that the distances of the vertex from all sources give                                |
| harmonic    |                                                                                                        |
| temporal_…  | as arrivals at each vertex, improved edge by edge until none improves, say                             |
| fastest_…   | no sampled departure from the source offers less; from all departures, some offers as little           |
| eccentri…,  | SciPy finds the farthest vertex at this distance; so many vertices within k hops, up to a tolerance;   |
| …hop_counts | of all pairs of sampled vertices and others the given share within the effective diameter              |
| triangles,  | so many edges join neighbors of the vertex; all counts sum to three times the total                   |
| clustering  | directed modes: so many edges join them, or so many directed triangles meet there                     |
| scan_stat…  | so many edges join the vertex and its neighbors                                                       |
| edge_supp…, | both ends have so many neighbors in common, or such ones                                              |
| similarity, |                                                                                                        |
| shared_…    |                                                                                                        |
| features    | sums, means, largest and least ones are those of the edges that lead to the vertex                     |

The idea of verifying properties, apart from golden values, is that of the GAP benchmark suite (Beamer, Asanović,
Patterson: The GAP Benchmark Suite, 2015) and of Graph500's validation.
"""

from gasla.verify._common import VerificationError
from gasla.verify.centrality.betweenness import betweenness, edge_betweenness
from gasla.verify.centrality.link_analysis import hits, pagerank, salsa
from gasla.verify.centrality.spectra import eigenvector, katz
from gasla.verify.core_numbers import core_number, k_core
from gasla.verify.derived_graphs import condensation, ego_graph
from gasla.verify.directed.flows import maximum_flow, minimum_cut
from gasla.verify.directed.orders import longest_path, topological_order
from gasla.verify.partitions import components, label_propagation, louvain_communities, modularity, strong_components
from gasla.verify.positions import geolocate, layout
from gasla.verify.searches.hops import eccentricity, effective_diameter, k_hop_counts
from gasla.verify.searches.paths import bfs, multi_source_bfs, multi_source_shortest_paths, nearest_source, sssp
from gasla.verify.searches.single_pair import k_shortest_paths, shortest_path
from gasla.verify.searches.temporal import (
    earliest_arrival,
    fastest_durations,
    latest_departure,
    temporal_reachability,
)
from gasla.verify.spot_checks import (
    aggregate_features,
    closeness,
    clustering,
    edge_support,
    harmonic,
    scan_statistics,
    shared_nearest_neighbors,
    similarity,
    triangles,
)
from gasla.verify.undirected.cycles import articulation_points, bipartite, bridges
from gasla.verify.undirected.independence import (
    greedy_color,
    maximal_independent_set,
    maximal_matching,
    maximum_bipartite_matching,
)
from gasla.verify.undirected.laplacians import fiedler_vector, spectral_embedding
from gasla.verify.undirected.sweep_cut import pagerank_nibble
from gasla.verify.undirected.trees import minimum_spanning_forest
from gasla.verify.walks_and_samples import negative_edges, random_walks, sample_neighbors, split_edges

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
    "earliest_arrival",
    "eccentricity",
    "edge_betweenness",
    "edge_support",
    "effective_diameter",
    "ego_graph",
    "eigenvector",
    "fastest_durations",
    "fiedler_vector",
    "geolocate",
    "greedy_color",
    "harmonic",
    "hits",
    "k_core",
    "k_hop_counts",
    "k_shortest_paths",
    "katz",
    "label_propagation",
    "latest_departure",
    "layout",
    "longest_path",
    "louvain_communities",
    "maximal_independent_set",
    "maximal_matching",
    "maximum_bipartite_matching",
    "maximum_flow",
    "minimum_cut",
    "minimum_spanning_forest",
    "modularity",
    "multi_source_bfs",
    "multi_source_shortest_paths",
    "nearest_source",
    "negative_edges",
    "pagerank",
    "pagerank_nibble",
    "random_walks",
    "salsa",
    "sample_neighbors",
    "scan_statistics",
    "shared_nearest_neighbors",
    "shortest_path",
    "similarity",
    "spectral_embedding",
    "split_edges",
    "sssp",
    "strong_components",
    "temporal_reachability",
    "topological_order",
    "triangles",
]
