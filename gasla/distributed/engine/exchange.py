"""The messages of a superstep. Each has a head, which is the same for all receivers, and updates of the receiver's
mirrors.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gasla.arrays import finish
from gasla.distributed.communicator import Communicator
from gasla.distributed.engine.messages import (
    NO_UPDATES,
    NO_VERTICES,
    Updates,
    content_size,
    pack,
    pack_message,
    unpack_message,
)
from gasla.distributed.engine.rank_runs import RankRuns
from gasla.distributed.links import Link, find_link

# updates of mirrors (copies of other ranks' vertices), each with the rank that it is sent to or comes from
Addressed = list[tuple[int, Updates]]


class Exchange:
    """Sends new values of a rank's vertices to the ranks that have copies (mirrors) of the vertices, and receives
    theirs.

    `sent` has, for each rank, the values that its mirrors have now, so that only changes are sent. It is empty where
    only active vertices change.

    Parameters
    ----------
    runs : RankRuns
        What all runs of the program on this rank share.
    state : dict of str to array
        The fields at the start.
    has_card : bool
        Whether the arrays are on a GPU.
    """

    def __init__(self, runs: RankRuns, state: dict[str, Any], has_card: bool) -> None:
        self._runs, self._has_card, self._xp = runs, has_card, runs.xp
        self.sent = [[] if runs.as_active else [state[name][ids] for name in runs.sent_fields] for ids in runs.sends]

    # --- updates of mirrors (copies of other ranks' vertices): which values to send, and storing those received -------

    def updates(self, state: dict[str, Any], new: Any) -> Addressed:
        """Return the new values to send, with the rank that each is sent to.

        `new` are this rank's own vertices that have become active. Ranks that have copies of no changed vertex are left
        out.
        """
        runs = self._runs
        if runs.as_active and len(new):
            new = new[runs.is_mirrored[new]]
        updates = ((rank, self._updates_for(rank, state, new)) for rank in runs.mirroring)
        return [(rank, update) for rank, update in updates if len(update.places)]

    def _updates_for(self, rank: int, state: dict[str, Any], new: Any) -> Updates:
        """Return the updates for one rank: which of its copies of this rank's vertices have changed or become active.

        `new` are this rank's own vertices that have become active.
        """
        xp, runs, is_active = self._xp, self._runs, None
        ids = runs.sends[rank]
        if runs.as_active:
            changed_places = self._places(ids, new) if len(new) else NO_VERTICES
        else:
            tells_active = runs.whole.keeps_active and not runs.drains
            now = [state[name][ids] for name in runs.sent_fields]
            changed = _find_changes(xp, now, self.sent[rank], len(ids))
            if changed.all() and not tells_active:
                self.sent[rank] = now
                return Updates(range(len(ids)), None, [array.copy() for array in now] if self._has_card else now)
            if tells_active:
                is_new = xp.zeros(len(ids), bool)
                is_new[self._places(ids, new)] = True
                changed |= is_new
                is_active = is_new[changed]
            changed_places = xp.flatnonzero(changed)
            for before, after in zip(self.sent[rank], now, strict=True):
                before[changed_places] = after[changed_places]
        if not len(changed_places):
            return NO_UPDATES
        return Updates(changed_places, is_active, [state[name][ids[changed_places]] for name in runs.sent_fields])

    def _places(self, ids: Any, new: Any) -> Any:
        """Return the positions in `ids` of the vertices that are also in `new`. All three arrays ascend."""
        xp = self._xp
        if 8 * len(new) < len(ids):
            places = xp.searchsorted(ids, new)
            inside = ids[xp.minimum(places, len(ids) - 1)] == new
            return places[inside]
        is_new = xp.zeros(self._runs.shard.own, bool)
        is_new[new] = True
        return xp.flatnonzero(is_new[ids])

    def receive(self, rank: int, news: Updates, state: dict[str, Any]) -> Any:
        """Store the new values that another rank has sent in this rank's copies of its vertices.

        Return which of these copies (as local numbers) are now active.
        """
        xp, runs = self._xp, self._runs
        first, last = runs.cuts[rank : rank + 2]
        is_all = isinstance(news.places, range)
        places: Any = slice(first, last) if is_all else first + xp.asarray(news.places)
        for name, values in zip(runs.sent_fields, news.values, strict=True):
            state[name][places] = xp.asarray(values)
        if not runs.whole.keeps_active:
            return xp.asarray(NO_VERTICES)
        vertices = xp.arange(first, last) if is_all else places
        return vertices if news.is_active is None else vertices[xp.asarray(news.is_active)]

    # --- messages: sending updates of mirrors to other ranks, and receiving those that other ranks send ---------------

    def swap(
        self, communicator: Communicator, head: np.ndarray, updates: Addressed
    ) -> tuple[list[Any], Addressed, int]:
        """Send the head, an array of bytes that is the same for all ranks, to all ranks, and updates to some of them
        (collective).

        Return the messages of all ranks, which begin with their heads, the updates received, and the number of bytes
        sent.
        """
        head_size, runs = len(head), self._runs
        # the receiver is a thread of this process, and copies the arrays directly from this GPU
        if self._has_card and communicator.shares_memory:
            finish(runs.options.device)
            parts: list[Any] = [(head, NO_UPDATES)] * communicator.size
            for rank, update in updates:
                parts[rank] = head, update
            pairs: list[Any] = communicator.exchange(parts)
            count = head_size * (communicator.size - 1) + sum(update.nbytes for _, update in updates)
            heads = [part for part, _ in pairs]
            return heads, [(r, update) for r, (_, update) in enumerate(pairs) if len(update.places)], count
        if self._has_card and (link := find_link(communicator)) is not None:
            return self._swap_over_link(communicator, link, head, updates)
        sent = [head] * communicator.size
        for rank, update in updates:
            sent[rank] = pack_message(head, update.on_host() if self._has_card else update, len(runs.sends[rank]))
        incoming = communicator.exchange(sent)
        return incoming, self._unpack(incoming, head_size), sum(map(len, sent)) - head_size

    def _swap_over_link(
        self, communicator: Communicator, link: Link, head: np.ndarray, updates: Addressed
    ) -> tuple[list[Any], Addressed, int]:
        """Send the head to all ranks and updates to some of them, as `swap` does, between processes whose GPUs NCCL
        connects.

        There are two exchanges: the hosts exchange the heads and the headers of updates, then the GPUs the contents of
        updates.
        """
        head_size, sent = len(head), [head] * communicator.size
        contents = [self._xp.zeros(0, np.uint8)] * communicator.size
        for rank, update in updates:
            header, contents[rank] = pack(update, len(self._runs.sends[rank]))
            sent[rank] = np.concatenate([head, np.frombuffer(header, np.uint8)])
        messages = communicator.exchange(sent)
        sizes = [
            content_size(message, head_size, self._count_mirrors(rank), self._runs.kinds)
            for rank, message in enumerate(messages)
        ]
        received = link.exchange(communicator, contents, sizes)
        return (
            messages,
            self._unpack(messages, head_size, received),
            sum(map(len, sent)) - head_size + sum(map(len, contents)),
        )

    def _unpack(self, got: Sequence[Any], at: int, contents: Sequence[Any] | None = None) -> Addressed:
        """Return the updates that begin at byte `at` of the messages `got`, with the rank that each comes from.

        If GPUs have exchanged the contents of updates separately, `contents` has them by rank.
        """
        return [
            (
                rank,
                unpack_message(
                    message,
                    at,
                    self._count_mirrors(rank),
                    self._runs.kinds,
                    None if contents is None else contents[rank],
                ),
            )
            for rank, message in enumerate(got)
            if len(message) > at
        ]

    def _count_mirrors(self, rank: int) -> int:
        """Return the number of vertices of another rank that have mirrors on this rank."""
        return self._runs.cuts[rank + 1] - self._runs.cuts[rank]


def _find_changes(xp: Any, now: list[Any], before: list[Any], count: int) -> Any:
    """Return a mask of those of `count` vertices at which the bits of any field have changed.

    `now` and `before` have an array for each field.
    """
    differs = xp.zeros(count, bool)
    for a, b in zip(now, before, strict=True):
        if a.ndim == 1 and a.itemsize in (1, 2, 4, 8):
            differs |= a.view(f"u{a.itemsize}") != b.view(f"u{a.itemsize}")
        else:
            bits = [xp.ascontiguousarray(x).reshape(count, -1).view(np.uint8) for x in (a, b)]
            differs |= (bits[0] != bits[1]).any(axis=1)
    return differs
