"""The functions of `scipy.sparse.csgraph`, with its signatures, return values and conventions.

    from gasla import csgraph          # in place of: from scipy.sparse import csgraph

`shortest_path`, `dijkstra`, `bellman_ford`, `yen`, `connected_components` (weak components; on a GPU also strong ones),
`minimum_spanning_tree` and `laplacian` run on gasla. They accept what SciPy's functions accept, dense and masked arrays
too, return the same, and raise the same errors; CuPy's sparse and dense arrays are accepted as well, and give CuPy
arrays. Of several correct predecessors any may be returned.

`maximum_flow` runs on gasla for CuPy's arrays, and on SciPy for its own.

All other functions are SciPy's own. gasla's functions also call SciPy's where SciPy is as fast, or has a result of its
own kind: few edges, a `limit`, many sources in a dense graph, lengths that are NaN; for a spanning tree, a matrix that
is not symmetric. SciPy's functions reject CuPy's arrays.
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
)
from gasla.csgraph.shortest_paths import bellman_ford, dijkstra, shortest_path, yen
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
