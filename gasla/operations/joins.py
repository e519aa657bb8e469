"""Joins of neighbor lists on the CPU: the matches of a pattern, counted or written depth-first on all threads."""

from __future__ import annotations

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


def join(plan: JoinPlan, graph: Graph, kinds: Any) -> JoinRun:
    """Prepare a join on a simple graph; `kinds` is as for `gasla.engines.HostOnly.join`."""
    lists = graph.sorted_out
    if plan.directed:
        back = graph.reversed().sorted_out
        indptr = np.concatenate([lists.indptr, lists.indptr[-1:].astype(np.int64) + back.indptr[1:]])
        lists = Adjacency(indptr, np.concatenate([lists.indices, back.indices]))
    return cast(HostOnly, engine("cpu").primitives()).join(plan, lists, kinds)


def edge_triples(graph: Graph, src: Any, dst: Any, times: Any, ends: Any) -> list[int]:
    """Count triples of edges of ascending times, the third at most the end of the first, by 36 kinds.

    The first edge leads from vertex 0 to 1. The kinds of others are 0>1, 1>0, 0>2, 2>0, 1>2 and 2>1; entry 6 i + j has
    the number of those whose second edge is of kind i, and whose third of kind j. No edge is a loop.
    """
    return cast(HostOnly, engine("cpu").primitives()).edge_triples(graph.n, src, dst, times, ends)
