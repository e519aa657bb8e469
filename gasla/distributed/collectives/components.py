"""Connected components over ranks: each rank finds the components of its shard, and then labels spread between them.

A *part* is a connected component of a shard. Its *name*, and first label, is its smallest own vertex. Ranks exchange
labels along *pairs* of parts, at first pairs of parts on two ranks that share a vertex. A part also pairs with the part
whose name is its label (a shortcut), so a label moves twice as far in each superstep, and supersteps are few even if a
path often changes ranks. Parts of a rank with equal labels are merged.

After Y. Zhang, A. Azad, Z. Hu: FastSV: A Distributed-Memory Connected Component Algorithm with Fast Convergence. SIAM
PP 2020.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gasla.distributed.collectives.properties import SHARE
from gasla.distributed.communicator import Communicator, Rank
from gasla.distributed.engine.distributed_run import shard_on
from gasla.distributed.engine.partition import exchange_arrays, owners_of
from gasla.distributed.engine.shard import Share
from gasla.engines import engine


def label_components(rank: Rank, graph: Any, result: Any, dtype: np.dtype) -> int:
    """Find the connected components of a graph over all ranks, and return the number of components (collective).

    The component of each of this rank's own vertices is stored under the key `result`. Each rank first finds the
    components of its part of the graph, and then ranks exchange labels until all edges between ranks are considered.
    """
    communicator, shard, graph_share = rank.communicator, shard_on(rank, graph, "in"), rank.kept[graph][SHARE]
    count, local_components = engine("cpu").primitives().label_components(shard.graph_on("cpu"))
    names = np.full(count, shard.n, dtype)
    # A part without own vertices would have no name, but each part has one, as each edge of a shard has an own vertex.
    np.minimum.at(names, local_components[: shard.own], shard.ids[: shard.own].astype(dtype))
    names_of_mirrors = shard.with_mirrors(communicator, names[local_components[: shard.own]])[shard.own :]
    labels = _spread_labels(
        communicator,
        graph_share,
        local_components[: shard.own],
        names,
        _Pairs.new_pairs(local_components[shard.own :], names_of_mirrors),
    )
    numbers, component_count = _number_components(communicator, graph_share, labels)
    rank.kept[result] = {"labels": numbers.astype(dtype)}
    return component_count


class _Pairs(NamedTuple):
    """Pairs of parts that are in one component: a part of this rank, and the name of a part of any rank.

    A part is a connected component of one rank's shard, and its name is its smallest own vertex. `known` has the
    smallest label that both parts of a pair have. Only a smaller label has to be sent along the pair.
    """

    mine: np.ndarray
    theirs: np.ndarray
    known: np.ndarray

    @classmethod
    def new_pairs(cls, mine: np.ndarray, theirs: np.ndarray) -> "_Pairs":
        """Return pairs of parts (components of single ranks' shards) that are known to be in one component of the
        graph.

        `mine` has the number of a part of this rank, and `theirs` the name of the other part, for each pair. No label
        has been sent along these pairs yet.
        """
        return cls(mine, theirs, np.full(len(mine), np.iinfo(np.int64).max))

    def with_others(self, *others: "_Pairs") -> "_Pairs":
        """Return the union of these pairs of parts (components of single ranks' shards) and other pairs.

        If a pair occurs several times, its smallest known label is kept.
        """
        all_pairs = _Pairs(*map(np.concatenate, zip(self, *others, strict=True)))
        order = np.lexsort(all_pairs[::-1])
        own_labels, other_labels = all_pairs.mine[order], all_pairs.theirs[order]
        is_first = np.ones(len(order), bool)
        is_first[1:] = (own_labels[1:] != own_labels[:-1]) | (other_labels[1:] != other_labels[:-1])
        return _Pairs(own_labels[is_first], other_labels[is_first], all_pairs.known[order][is_first])


def _spread_labels(
    communicator: Communicator, graph_share: Share, component_of_vertex: np.ndarray, names: np.ndarray, pairs: _Pairs
) -> np.ndarray:
    """Return the label of each own vertex: the smallest vertex of its connected component in the whole graph
    (collective).

    `component_of_vertex` has each own vertex's component in this rank's shard, `names` the smallest own vertex of each
    of these parts, and `pairs` the pairs of parts that have a vertex in common.
    """
    first_vertex, labels = graph_share.bounds[communicator.rank], names.copy()
    pairs = pairs.with_others()
    np.minimum.at(labels, pairs.mine, pairs.theirs)
    while True:
        communicator.superstep += 1
        own_labels = labels[pairs.mine]
        changed_pairs = np.flatnonzero(own_labels < pairs.known)
        pairs.known[changed_pairs] = own_labels[changed_pairs]
        rows_to_send = np.stack(
            [pairs.theirs[changed_pairs], own_labels[changed_pairs], names[pairs.mine[changed_pairs]]], axis=1
        )
        count, received_rows = _send_to_owners(communicator, graph_share, rows_to_send)
        if not count:
            return labels[component_of_vertex]
        to, label, sender_names = received_rows.T
        to = component_of_vertex[to - first_vertex]
        np.minimum.at(labels, to, label)
        labels, merged_index = np.unique(labels, return_inverse=True)
        previous_names, names = names, np.full(len(labels), graph_share.n, names.dtype)
        np.minimum.at(names, merged_index, previous_names)
        component_of_vertex = merged_index[component_of_vertex]
        relabeled = np.flatnonzero(labels != names)
        shortcuts = _Pairs.new_pairs(relabeled, labels[relabeled])
        pairs = pairs._replace(mine=merged_index[pairs.mine]).with_others(
            _Pairs(merged_index[to], sender_names, label), shortcuts
        )


def _send_to_owners(communicator: Communicator, graph_share: Share, rows: np.ndarray) -> tuple[int, np.ndarray]:
    """Send each row of `rows`, three numbers, to the rank that owns the vertex in the row's first entry (collective).

    The rows carry labels of connected components. Return the number of rows that all ranks have sent, and the rows that
    this rank has received.
    """
    owners = owners_of(graph_share.bounds, rows[:, 0])
    rows = rows[np.argsort(owners, kind="stable")]
    cuts = np.cumsum(np.bincount(owners, minlength=communicator.size))
    head = np.full((1, 3), len(rows), rows.dtype)
    rows_received = exchange_arrays(
        communicator, [np.concatenate([head, rows[cut_start:cut_end]]) for cut_start, cut_end in pairwise([0, *cuts])]
    )
    return sum(int(rows_of_rank[0, 0]) for rows_of_rank in rows_received), np.concatenate(
        [rows_of_rank[1:] for rows_of_rank in rows_received]
    )


def _number_components(communicator: Communicator, graph_share: Share, labels: np.ndarray) -> tuple[np.ndarray, int]:
    """Replace labels (the smallest vertex of each component) by consecutive numbers, in the order of the labels
    (collective).

    Return the number of each own vertex's component, and the number of components.
    """
    first_vertex = graph_share.bounds[communicator.rank]
    is_root = labels == np.arange(first_vertex, first_vertex + len(labels))
    counts = np.concatenate(communicator.allgather(np.array([is_root.sum()], np.int64)))
    numbers = np.cumsum(is_root) - 1 + counts[: communicator.rank].sum()
    distinct_labels, label_positions = np.unique(labels, return_inverse=True)
    owners = owners_of(graph_share.bounds, distinct_labels)
    labels_asked_of_rank = exchange_arrays(
        communicator, [distinct_labels[owners == owner] for owner in range(communicator.size)]
    )
    numbers_of_ids = np.concatenate(
        exchange_arrays(communicator, [numbers[ids - first_vertex] for ids in labels_asked_of_rank])
    )
    return numbers_of_ids[label_positions], int(counts.sum())
