"""Connected components over GPUs of one process. Each GPU labels its own vertices, and then the results are merged.

A *part* is a connected component of the edges between a GPU's own vertices, which the kernels for one GPU find. Parts
are numbered over all ranks by their smallest vertices, because ranks own ascending ranges. A GPU learns the parts of
its mirrors from their owners, and unites parts along the edges between GPUs, in a forest of all parts. Then it unites
its forest with those of the other GPUs, which takes log2(ranks) exchanges. A tree of the forest is a component, and is
numbered by its smallest part, so labels are the same as in one process.

Most edges between GPUs join the largest parts of two GPUs. A sample of edges shows which of these parts are in the same
component. In a symmetric graph, a GPU does not read the adjacency lists of that part's vertices, because vertices
outside of the part have the reverse edges. Any part may be left out in this way, so a poor sample costs time only.

A forest has an entry for each part, so at most one for each vertex of the graph.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import module_of, moved, running_sums
from gasla.distributed.collectives.properties import SHARE, is_symmetric
from gasla.distributed.communicator import Rank
from gasla.distributed.engine.distributed_run import make_once, shard_on
from gasla.distributed.engine.partition import exchange_arrays
from gasla.engines import engine
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

SAMPLE = 256  # Each rank samples this many of its edges to other GPUs' vertices, to find a large part to skip.


class _Edges(NamedTuple):
    """The edges of a rank on its GPU, in which connected components are searched.

    They are divided into edges between the rank's own vertices and edges to vertices that other ranks own.
    """

    inner: Graph  # the edges between own vertices
    lists: Adjacency  # adjacency lists of own vertices, with all neighbors, as local numbers
    sends: Any  # own vertices of which other ranks have copies (mirrors), sorted by these ranks
    cuts: list[int]  # the parts of the vertices sends[cuts[r]:cuts[r + 1]] are sent to rank r
    sample: Any  # sampled edges to other GPUs' vertices, of shape (k, 2): own vertex, and local number of the neighbor
    is_symmetric: bool  # whether the whole graph is symmetric


def label_on_cards(rank: Rank, graph: Any, result: Any, dtype: np.dtype) -> int:
    """Find the connected components of a graph over GPUs of one process, and return the number of components
    (collective).

    The component of each of this rank's own vertices is stored on its GPU, under the key `result`.

    The component of each own vertex is stored on the GPU, under the key `result`.
    """
    communicator, me = rank.communicator, rank.communicator.rank
    edges: _Edges = make_once(rank, graph, "edges of components", lambda: _edges(rank, graph, dtype))
    primitives, xp = engine(rank.device).primitives(), module_of(rank.device)
    own_count, labels = primitives.label_components(edges.inner)
    counts = running_sums(np.concatenate(communicator.allgather(np.array([int(own_count)], np.int64))))
    component_ids = labels.astype(dtype, copy=False) + dtype.type(counts[me])
    component_ids_sent = component_ids[edges.sends]
    groups = xp.concatenate(
        [
            component_ids,
            *exchange_arrays(
                communicator, [component_ids_sent[cut_start:cut_end] for cut_start, cut_end in pairwise(edges.cuts)]
            ),
        ]
    )
    forest, known_component = xp.arange(int(counts[-1]), dtype=dtype), None
    if edges.is_symmetric:
        joined_parts = one_component(communicator.allgather(largest_part(moved(groups[edges.sample], "cpu"))))
        if len(joined_parts) > 1:
            forest[moved(np.array(joined_parts), rank.device)] = joined_parts[0]
        known_component = next(
            (component for component in joined_parts if counts[me] <= component < counts[me + 1]), None
        )
    primitives.link_groups(edges.lists, groups, forest, known_component)
    forest = _merge_forests(rank, forest)
    count = primitives.number(forest)
    rank.kept[result] = {"labels": forest[component_ids]}
    return count


def _edges(rank: Rank, graph: Any, dtype: np.dtype) -> _Edges:
    """Return the edges of this rank's part of the graph, on its GPU (collective).

    They are divided into edges between the rank's own vertices and edges to vertices that other ranks own.
    """
    shard = shard_on(rank, graph, "in")
    lists, own_count = shard.graph_on(rank.device).in_, shard.own
    indptr, indices = lists.indptr[: own_count + 1], lists.indices
    xp: Any = module_of(rank.device)
    inner_positions = xp.flatnonzero(xp.less(indices, own_count))
    inner = Graph.from_csr(xp.searchsorted(inner_positions, indptr).astype(indptr.dtype), indices[inner_positions])
    del inner_positions
    outer = xp.flatnonzero(xp.greater_equal(indices, own_count))
    outer = outer[:: max(1, len(outer) // SAMPLE)]
    sample = xp.stack([xp.searchsorted(indptr, outer, side="right") - 1, indices[outer]], axis=1)
    return _Edges(
        inner,
        Adjacency(indptr, indices.astype(dtype, copy=False)),
        xp.concatenate(shard.sends),
        running_sums(np.array([len(ids) for ids in shard.sends])).tolist(),
        sample,
        is_symmetric(rank.communicator, rank.kept[graph][SHARE], False),
    )


def largest_part(sample: np.ndarray) -> np.ndarray:
    """Return the part with the most sampled edges of a rank, followed by the parts of other ranks that these edges lead
    to.

    A part is a connected component of the edges between a rank's own vertices. `sample` has a row for each sampled
    edge: the part of the edge's source, and the part of its target. Without edges the result is empty.
    """
    if not len(sample):
        return sample.ravel()
    component_ids, counts = np.unique(sample[:, 0], return_counts=True)
    largest = component_ids[counts.argmax()]
    return np.append(largest, np.unique(sample[sample[:, 0] == largest, 1]))


def one_component(largest: Sequence[np.ndarray]) -> list[int]:
    """Return components of single ranks that are certainly joined to the largest one of the first rank, in ascending
    order.

    Each number stands for a *part*: a connected component of the edges between one rank's own vertices. `largest` has
    the result of `largest_part` on each rank, and only the ranks' largest parts can be returned. Empty results are
    skipped.
    """
    merged_by_component = {
        int(component_and_merged[0]): set(component_and_merged[1:].tolist())
        for component_and_merged in largest
        if len(component_and_merged)
    }
    connected = set(list(merged_by_component)[:1])
    for _ in merged_by_component:
        connected |= {
            component
            for component, merged_components in merged_by_component.items()
            if merged_components & connected
            or any(component in merged_by_component[other_component] for other_component in connected)
        }
    return sorted(connected)


def _merge_forests(rank: Rank, forest: Any) -> Any:
    """Unite the forests of all ranks, so that two parts have the same root if any rank's forest joins them
    (collective).

    A forest is an array with the parent of each part, where a part is a component of one rank's own edges.
    """
    rank_count, me, xp = rank.communicator.size, rank.communicator.rank, module_of(rank.device)
    # The forest is read as a graph with one edge per part, to its parent. So list v of the graph is entry v of the
    # forest.
    lists = xp.arange(len(forest) + 1, dtype=forest.dtype)
    ahead = 1
    while ahead < rank_count:  # at this point `forest` unites the forests of the ranks me to me + ahead - 1
        nothing = forest[:0]
        forests_to_send = [
            forest if receiver == (me - ahead) % rank_count else nothing for receiver in range(rank_count)
        ]
        # Other GPUs may still be reading this rank's forest. So the two forests are united in the received one, which
        # is a copy.
        received_forest = exchange_arrays(rank.communicator, forests_to_send)[(me + ahead) % rank_count]
        engine(rank.device).primitives().link_groups(Adjacency(lists, forest), lists[:-1], received_forest, None)
        forest, ahead = received_forest, 2 * ahead
    return forest
