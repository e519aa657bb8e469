"""Primitives on the CPU, as `gasla.engines.Primitives` lists them: forests, neighbor lists, walks and samples."""

from gasla.cpu.primitive.cliques import count_cliques
from gasla.cpu.primitive.depth_first import depth_first, peel
from gasla.cpu.primitive.draw_samples import append_distinct, list_guides, list_sums, sample, sample_lists
from gasla.cpu.primitive.forest import compress, hook, label_components, likely_largest, link, link_groups, number
from gasla.cpu.primitive.intersections import intersect
from gasla.cpu.primitive.listing import common, has_edges
from gasla.cpu.primitive.louvain import louvain_levels
from gasla.cpu.primitive.neighbors import count_common_neighbors, orient, simplify
from gasla.cpu.primitive.select_top_k import top_k
from gasla.cpu.primitive.support import count_at_edges
from gasla.cpu.program.walk_runs import walk

__all__ = [
    "append_distinct",
    "common",
    "compress",
    "count_at_edges",
    "count_cliques",
    "count_common_neighbors",
    "depth_first",
    "has_edges",
    "hook",
    "intersect",
    "label_components",
    "likely_largest",
    "link",
    "link_groups",
    "list_guides",
    "list_sums",
    "louvain_levels",
    "number",
    "orient",
    "peel",
    "sample",
    "sample_lists",
    "simplify",
    "top_k",
    "walk",
]
