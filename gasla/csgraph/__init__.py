"""SciPy's door: the functions of `scipy.sparse.csgraph`, with its signatures, return values and conventions.

    from gasla import csgraph          # in place of: from scipy.sparse import csgraph

gasla's own are `shortest_path`, `dijkstra`, `bellman_ford`, `connected_components` (weak components; on a GPU strong
ones too), `minimum_spanning_tree` and `laplacian`. They take what SciPy's take, dense and masked arrays too, and return
what SciPy's return; CuPy's sparse and dense arrays are taken as well, and what comes of them is CuPy's. Of several
right predecessors any may be given.

`maximum_flow` is gasla's of CuPy's arrays, and SciPy's of its own.

All others are SciPy's own functions, passed through; so is a call of gasla's own wherever SciPy answers as soon, or
has an answer of its own kind: few edges in all, a `limit`, many sources in a dense graph, lengths that are NaN; for a
tree, entries that don't stand on both sides alike. They refuse CuPy's arrays.
"""

from scipy.sparse.csgraph import NegativeCycleError

from gasla.csgraph.component_labels import connected_components
from gasla.csgraph.flow import maximum_flow
from gasla.csgraph.laplacian_matrix import laplacian
from gasla.csgraph.passthrough import (
    breadth_first_order,
    breadth_first_tree,
    construct_dist_matrix,
    csgraph_from_dense,
    csgraph_from_masked,
    csgraph_masked_from_dense,
    csgraph_to_dense,
    csgraph_to_masked,
    depth_first_order,
    depth_first_tree,
    floyd_warshall,
    johnson,
    maximum_bipartite_matching,
    min_weight_full_bipartite_matching,
    reconstruct_path,
    reverse_cuthill_mckee,
    structural_rank,
    yen,
)
from gasla.csgraph.shortest_paths import bellman_ford, dijkstra, shortest_path
from gasla.csgraph.spanning_tree import minimum_spanning_tree

__all__ = [
    "NegativeCycleError",
    "bellman_ford",
    "breadth_first_order",
    "breadth_first_tree",
    "connected_components",
    "construct_dist_matrix",
    "csgraph_from_dense",
    "csgraph_from_masked",
    "csgraph_masked_from_dense",
    "csgraph_to_dense",
    "csgraph_to_masked",
    "depth_first_order",
    "depth_first_tree",
    "dijkstra",
    "floyd_warshall",
    "johnson",
    "laplacian",
    "maximum_bipartite_matching",
    "maximum_flow",
    "min_weight_full_bipartite_matching",
    "minimum_spanning_tree",
    "reconstruct_path",
    "reverse_cuthill_mckee",
    "shortest_path",
    "structural_rank",
    "yen",
]
