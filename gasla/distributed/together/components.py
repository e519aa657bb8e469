"""Components over ranks: each links its own edges once, then parts that meet between ranks take the least label.

A *part* is what hangs together on a rank. It goes by its least own vertex, which is its first label. Ranks tell each
other of labels along *pairs* of parts, at first those that share a vertex. A part also pairs with the one that its
label names. So labels come from twice as far each time, and supersteps are few however often a path changes ranks.
Parts of a rank that have come to one label are one from then on.

After Y. Zhang, A. Azad, Z. Hu: FastSV: A Distributed-Memory Connected Component Algorithm with Fast Convergence. SIAM
PP 2020.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gasla.distributed.communicator import Communicator, Rank
from gasla.distributed.engine.partition import Share, exchange_arrays, owners_of
from gasla.distributed.engine.running import shard_on
from gasla.distributed.together.facts import SHARE
from gasla.engines import engine


def label_components(rank: Rank, graph: Any, result: Any, kind: np.dtype) -> int:
    """How many components there are; the numbers of own vertices' are kept."""
    communicator, shard, share = rank.communicator, shard_on(rank, graph, "in"), rank.kept[graph][SHARE]
    count, parts = engine("cpu").primitives().label_components(shard.graph)
    names = np.full(count, shard.n, kind)
    np.minimum.at(names, parts[: shard.own], shard.ids[: shard.own].astype(kind))  # every edge leads to an own vertex
    theirs = shard.with_mirrors(communicator, names[parts[: shard.own]])[shard.own :]
    labels = _spread(communicator, share, parts[: shard.own], names, _Pairs.unheard(parts[shard.own :], theirs))
    numbers, found = _numbered(communicator, share, labels)
    rank.kept[result] = {"labels": numbers.astype(kind)}
    return found


class _Pairs(NamedTuple):
    """Parts here, the names of their parts elsewhere, and the least label that both are known to have heard of."""

    mine: np.ndarray
    theirs: np.ndarray
    known: np.ndarray

    @classmethod
    def unheard(cls, mine: np.ndarray, theirs: np.ndarray) -> "_Pairs":
        """Pairs of which the other side has yet to hear."""
        return cls(mine, theirs, np.full(len(mine), np.iinfo(np.int64).max))

    def with_others(self, *others: "_Pairs") -> "_Pairs":
        """These and others, each once."""
        every = _Pairs(*map(np.concatenate, zip(self, *others, strict=True)))
        order = np.lexsort(every[::-1])
        mine, theirs = every.mine[order], every.theirs[order]
        is_first = np.ones(len(order), bool)
        is_first[1:] = (mine[1:] != mine[:-1]) | (theirs[1:] != theirs[:-1])
        return _Pairs(mine[is_first], theirs[is_first], every.known[order][is_first])


def _spread(
    communicator: Communicator, share: Share, parts: np.ndarray, names: np.ndarray, pairs: _Pairs
) -> np.ndarray:
    """The least name of each own vertex's component, from the part that it is in."""
    first, labels = share.bounds[communicator.rank], names.copy()
    pairs = pairs.with_others()
    np.minimum.at(labels, pairs.mine, pairs.theirs)
    while True:
        communicator.superstep += 1
        own = labels[pairs.mine]
        news = np.flatnonzero(own < pairs.known)
        pairs.known[news] = own[news]
        news_rows = np.stack([pairs.theirs[news], own[news], names[pairs.mine[news]]], axis=1)
        count, heard = _send_to_owners(communicator, share, news_rows)
        if not count:
            return labels[parts]
        to, label, whose = heard.T
        to = parts[to - first]
        np.minimum.at(labels, to, label)
        labels, merged = np.unique(labels, return_inverse=True)
        before, names = names, np.full(len(labels), share.n, names.dtype)
        np.minimum.at(names, merged, before)
        parts = merged[parts]
        behind = np.flatnonzero(labels != names)
        shortcuts = _Pairs.unheard(behind, labels[behind])
        pairs = pairs._replace(mine=merged[pairs.mine]).with_others(_Pairs(merged[to], whose, label), shortcuts)


def _send_to_owners(communicator: Communicator, share: Share, rows: np.ndarray) -> tuple[int, np.ndarray]:
    """Send each row to the rank that owns what it begins with; how many all ranks send, and those for this one."""
    owners = owners_of(share.bounds, rows[:, 0])
    rows = rows[np.argsort(owners, kind="stable")]
    cuts = np.cumsum(np.bincount(owners, minlength=communicator.size))
    head = np.full((1, 3), len(rows), rows.dtype)
    found = exchange_arrays(communicator, [np.concatenate([head, rows[a:b]]) for a, b in pairwise([0, *cuts])])
    return sum(int(some[0, 0]) for some in found), np.concatenate([some[1:] for some in found])


def _numbered(communicator: Communicator, share: Share, labels: np.ndarray) -> tuple[np.ndarray, int]:
    """Number the components in the order of their least vertices."""
    first = share.bounds[communicator.rank]
    is_root = labels == np.arange(first, first + len(labels))
    counts = np.concatenate(communicator.allgather(np.array([is_root.sum()], np.int64)))
    numbers = np.cumsum(is_root) - 1 + counts[: communicator.rank].sum()
    wanted, places = np.unique(labels, return_inverse=True)
    owners = owners_of(share.bounds, wanted)
    asked = exchange_arrays(communicator, [wanted[owners == r] for r in range(communicator.size)])
    found = np.concatenate(exchange_arrays(communicator, [numbers[ids - first] for ids in asked]))
    return found[places], int(counts.sum())
