"""Joins, which find the matches of a pattern in a graph by intersecting adjacency lists, and count or store them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from gasla.arrays import array_module
from gasla.engines import HostOnly, chooses_kernels, engine
from gasla.engines import JoinRun as JoinRun
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from gasla.program.join_plan import JoinPlan


def joins(graph: Graph) -> bool:
    """Return whether a graph's matches of a pattern can be found by the function `join`.

    It takes any graph that is not streamed, except within `gasla.engines.programs_only`.
    """
    return graph.engine in ("cpu", "gpu") and not graph.is_streamed and chooses_kernels()


def join(plan: JoinPlan, graph: Graph, kinds: Any, related: Sequence[Graph] = ()) -> JoinRun:
    """Prepare a join, which finds the matches of a pattern in a simple graph, and return an object that runs it.

    `plan` is the compiled pattern. `kinds` has an entry of uint8 for each vertex of the graph, in which bit v is set if
    the vertex may match vertex v of the pattern. `related` has graphs with the edges of further relations, such as the
    edges of one label.
    """
    return engine(graph.engine).primitives().join(plan, lists_of(plan, graph, related), kinds)


def lists_of(plan: JoinPlan, graph: Graph, related: Sequence[Graph] = ()) -> Adjacency:
    """Return all adjacency lists that the search for a pattern reads, in one object, one relation after another.

    The relations are the edges of `graph`, then those of each graph in `related`. Each has its lists of out-neighbors
    and, if the pattern is directed, after them its lists of in-neighbors.
    """
    graphs = [graph, *related]
    adjacencies = [
        directed_graph.sorted_out
        for graph_of_relation in graphs
        for directed_graph in (
            [graph_of_relation, graph_of_relation.reversed()] if plan.directed else [graph_of_relation]
        )
    ]
    if len(adjacencies) == 1:
        return adjacencies[0]
    xp = array_module(adjacencies[0].indices)
    entry_ends = np.cumsum([len(adjacency.indices) for adjacency in adjacencies]).tolist()
    indptr = [
        adjacencies[0].indptr,
        *(end + adjacency.indptr[1:].astype(np.int64) for end, adjacency in zip(entry_ends, adjacencies[1:])),
    ]
    return Adjacency(xp.concatenate(indptr), xp.concatenate([adjacency.indices for adjacency in adjacencies]))


def edge_triples(graph: Graph, src: Any, dst: Any, times: Any, ends: Any) -> list[int]:
    """Count the triples of edges with ascending times among at most three vertices, for each of 36 shapes of a triple.

    The time of the third edge is at most the entry in `ends` of the first edge. The first edge leads from vertex 0 to
    vertex 1 of the triple. Each other edge is one of 0>1, 1>0, 0>2, 2>0, 1>2 and 2>1, numbered from 0 to 5. Entry 6 i +
    j is the number of triples whose second edge has number i, and whose third edge has number j. The graph has no
    loops.
    """
    return cast(HostOnly, engine("cpu").primitives()).edge_triples(graph.n, src, dst, times, ends)
