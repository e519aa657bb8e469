"""Truss numbers on the GPU: each round removes all edges that are in too few triangles of the remaining edges."""

from typing import Any

import numpy as np

from gasla.arrays import array_module
from gasla.gpu.primitive.neighbors import count_at_edges, orient
from gasla.graph.graph import Graph


def peel_edges(graph: Graph, first: int, last: int) -> Any:
    """Return the level at which each edge of a simple graph is removed, from which `k_truss` gets the edges' truss
    numbers.

    At level k, edges in at most k triangles of the remaining edges are removed. Levels run from `first` to
    `last`. Edges that remain at level `last` get `last` + 1. Each round of the loop removes at least one edge, so it
    ends.
    """
    xp: Any = array_module(graph.out.indices)
    levels, remaining_edges, level = xp.full(graph.m, last + 1, np.int64), xp.arange(graph.m), first
    while len(remaining_edges):
        _, counts = count_at_edges(graph, orient(graph))
        level = max(level, int(counts.min()))
        if level > last:
            break
        is_removed = counts <= level
        levels[remaining_edges[is_removed]] = level
        remaining_edges, graph = remaining_edges[~is_removed], graph.select(~is_removed)
    return levels
