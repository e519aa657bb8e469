"""Primitives of the CPU engine: functions such as spanning forests, neighbor lists, walks and samples.

`gasla.engines.Primitives` describes each of them, for all engines.
"""
# ruff: noqa: F401 - what is imported implements the protocol

from gasla.cpu.primitive.acyclic_order import acyclic_order
from gasla.cpu.primitive.adjacency_order import adjacency_order
from gasla.cpu.primitive.balanced_parts import balanced_parts
from gasla.cpu.primitive.blocking_flows import residual_sources, send_flow
from gasla.cpu.primitive.boruvka import lightest_forest
from gasla.cpu.primitive.clique_search import maximal_cliques
from gasla.cpu.primitive.cliques import count_cliques
from gasla.cpu.primitive.coloring import color_in_order
from gasla.cpu.primitive.degree_matching import match_by_degrees
from gasla.cpu.primitive.depth_first import (
    depth_first,
    depth_first_order,
    dominators,
    extremes_of_subtrees,
    number_trees,
    strong_components,
)
from gasla.cpu.primitive.depth_first_joins import Joined as join
from gasla.cpu.primitive.drain_levels import peel
from gasla.cpu.primitive.draw_samples import append_distinct, list_guides, list_sums, sample, sample_lists, search_lists
from gasla.cpu.primitive.edge_triples import edge_triples
from gasla.cpu.primitive.forest import compress, hook, label_components, likely_largest, link, link_groups, number
from gasla.cpu.primitive.intersections import intersect
from gasla.cpu.primitive.listing import common, has_edges
from gasla.cpu.primitive.louvain import degrees, louvain_levels
from gasla.cpu.primitive.neighbors import count_common_neighbors, orient, simplify
from gasla.cpu.primitive.path_search import count_paths, list_paths
from gasla.cpu.primitive.select_top_k import top_k
from gasla.cpu.primitive.suitor import match_heaviest
from gasla.cpu.primitive.support import count_at_edges, sum_at_edges
from gasla.cpu.primitive.trusses import peel_edges
from gasla.cpu.program.walk_runs import walk
