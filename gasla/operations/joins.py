"""Joins of neighbor lists on the CPU: the matches of a pattern, counted or written depth-first on all threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from gasla.engines import HostOnly, chooses_kernels, engine
from gasla.engines import JoinRun as JoinRun
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from gasla.program.join_plan import JoinPlan


def joins(graph: Graph) -> bool:
    """Return whether `join` takes a graph: one in host memory, except within `gasla.engines.programs_only`."""
    return graph.engine == "cpu" and chooses_kernels()


def join(plan: JoinPlan, graph: Graph, kinds: Any, related: Sequence[Graph] = ()) -> JoinRun:
    """Prepare a join on a simple graph; those of the edges of its further relations are `related`.

    `kinds` is as for `gasla.engines.HostOnly.join`.
    """
    graphs = [graph, *related]
    parts = [side.sorted_out for each in graphs for side in ([each, each.reversed()] if plan.directed else [each])]
    lists = parts[0]
    if len(parts) > 1:
        ends = np.cumsum([part.indptr[-1] for part in parts], dtype=np.int64)
        indptr = [parts[0].indptr, *(end + part.indptr[1:] for end, part in zip(ends, parts[1:], strict=False))]
        lists = Adjacency(np.concatenate(indptr), np.concatenate([part.indices for part in parts]))
    return cast(HostOnly, engine("cpu").primitives()).join(plan, lists, kinds)


def edge_triples(graph: Graph, src: Any, dst: Any, times: Any, ends: Any) -> list[int]:
    """Count triples of edges of ascending times, the third at most the end of the first, by 36 kinds.

    The first edge leads from vertex 0 to 1. The kinds of others are 0>1, 1>0, 0>2, 2>0, 1>2 and 2>1; entry 6 i + j has
    the number of those whose second edge is of kind i, and whose third of kind j. No edge is a loop.
    """
    return cast(HostOnly, engine("cpu").primitives()).edge_triples(graph.n, src, dst, times, ends)
