"""Primitives on the GPU (`gasla.engines.Primitives`): forests, neighbor lists, intersections, sampling, walks."""

from gasla.gpu.primitive.forest import compress, hook, label_components, likely_largest, link, link_groups, number
from gasla.gpu.primitive.intersections import intersect
from gasla.gpu.primitive.listing import common, count_cliques, has_edges
from gasla.gpu.primitive.neighbors import count_at_edges, count_common_neighbors, orient, simplify
from gasla.gpu.primitive.sampling import append_distinct, list_guides, list_sums, sample, sample_lists
from gasla.gpu.primitive.top_k import top_k
from gasla.gpu.program.walk_runs import walk

__all__ = [
    "append_distinct",
    "common",
    "compress",
    "count_at_edges",
    "count_cliques",
    "count_common_neighbors",
    "has_edges",
    "hook",
    "intersect",
    "label_components",
    "likely_largest",
    "link",
    "link_groups",
    "list_guides",
    "list_sums",
    "number",
    "orient",
    "sample",
    "sample_lists",
    "simplify",
    "top_k",
    "walk",
]
