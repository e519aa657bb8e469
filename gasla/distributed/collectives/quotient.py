"""The quotient of a distributed graph (its contraction by groups), as a graph of one process.

Each rank first merges its own edges between the same groups, so that few edges are sent.
"""

from typing import Any

import numpy as np

from gasla.arrays import array_module, moved
from gasla.distributed.block_array import BlockArray
from gasla.distributed.collectives.properties import SHARE
from gasla.distributed.communicator import Rank
from gasla.distributed.engine.unsupported import unsupported
from gasla.graph.graph import Graph
from gasla.graph.transform.merging import number_groups
from gasla.graph.transform.origin import IdMap, LazyIdMap, Origin
from gasla.graph.validate import as_labels
from semirings import Monoid


def contract(graph: Any, labels: Any, combine: Any, loops: bool) -> Graph:
    """Return the quotient of a distributed graph, in which all vertices with the same entry in `labels` become one
    vertex.

    `combine` is the reduction for the values of edges that become one edge (`distributed.Graph.contract`).
    """
    if not isinstance(combine, Monoid):
        raise unsupported(f"combine is {combine!r}; expected a monoid for a distributed graph, to merge edges on ranks")
    labels = labels.compute() if isinstance(labels, BlockArray) else labels
    became, count = number_groups(graph.n, graph.id_dtype, as_labels(labels, graph.n))
    src, dst, values = graph.ranks.each(_merge_own_edges, graph.handle.key, became, count, combine, loops)[0]
    contracted = Graph.from_edges(src, dst, values, n=count).contract(np.arange(count), combine, loops=loops)
    vertices = IdMap("cpu", graph.n, count, became=became)
    contracted.origin = Origin(vertices, LazyIdMap("cpu", graph.m, contracted.m, _refuse_edges))
    return contracted


def _refuse_edges() -> IdMap:
    raise unsupported("the quotient of a distributed graph does not know which edges became one; ranks merged them")


def _merge_own_edges(
    rank: Rank, graph: Any, became: np.ndarray, count: int, combine: Monoid, loops: bool
) -> tuple[Any, ...]:
    """Return the edges between groups of vertices, from all ranks: arrays of sources, targets and values (collective).

    `became` has the group of each vertex. Each rank first merges its own edges between the same two groups, so the
    result may have one edge from each rank for the same two groups.
    """
    edges, groups = rank.kept[graph][SHARE].edges(), moved(became, rank.device)
    values = edges.values
    if values is None and not combine.idempotent:
        values = array_module(groups).ones(len(edges.src), np.int64)
    own_graph = Graph.from_edges(groups[edges.src], groups[edges.dst], values, n=count)
    own_graph = own_graph.contract(moved(np.arange(count), rank.device), combine, loops=loops)
    gathered_arrays = [
        None if x is None else np.concatenate(rank.communicator.allgather(moved(x, "cpu")))
        for x in (*own_graph.edges(), own_graph.values)
    ]
    return tuple(gathered_arrays)
