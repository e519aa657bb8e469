"""The algorithms that the GPU engine runs by kernels of their own, such as forests, sampling and random walks.

Their protocols are `gasla.engines.Primitives` and `gasla.engines.CardOnly`.
"""
# ruff: noqa: F401 - what is imported implements the protocol

from gasla.gpu.primitive.cliques import count_cliques
from gasla.gpu.primitive.coloring import color_in_order
from gasla.gpu.primitive.drain_levels import peel
from gasla.gpu.primitive.forest import (
    compress,
    extremes_of_subtrees,
    hook,
    label_components,
    label_sides,
    likely_largest,
    link,
    link_groups,
    number,
    number_trees,
)
from gasla.gpu.primitive.forests import lightest_forest
from gasla.gpu.primitive.independent_set import decide_in_order
from gasla.gpu.primitive.intersections import intersect
from gasla.gpu.primitive.listing import common, has_edges
from gasla.gpu.primitive.neighbors import count_at_edges, count_common_neighbors, orient, simplify
from gasla.gpu.primitive.sampling import append_distinct, list_guides, list_sums, sample, sample_lists, search_lists
from gasla.gpu.primitive.top_k import top_k
from gasla.gpu.primitive.trusses import peel_edges
from gasla.gpu.primitive.warp_joins import Joined as join
from gasla.gpu.program.walk_runs import walk
