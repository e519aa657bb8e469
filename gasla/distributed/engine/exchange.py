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
        """Return the new values of this rank's vertices that other ranks need, as pairs of a rank and the updates for
        it.

        `state` has the fields, and `new` this rank's own vertices that have become active. Ranks that have copies of no
        changed vertex are left out.
        """
        runs = self._runs
        if runs.as_active and len(new):
            new = new[runs.is_mirrored[new]]
        updates = ((rank, self._updates_for(rank, state, new)) for rank in runs.mirroring)
        return [(rank, update) for rank, update in updates if len(update.places)]

    def _updates_for(self, rank: int, state: dict[str, Any], new_active: Any) -> Updates:
        """Return the updates for one rank: which of its copies of this rank's vertices have changed or become active.

        `new_active` are this rank's own vertices that have become active.
        """
        xp, runs, is_active = self._xp, self._runs, None
        ids = runs.sends[rank]
        if runs.as_active:
            changed_places = self._places(ids, new_active) if len(new_active) else NO_VERTICES
        else:
            tells_active = runs.whole.keeps_active and not runs.drains
            current_values = [state[name][ids] for name in runs.sent_fields]
            is_changed = _find_changes(xp, current_values, self.sent[rank], len(ids))
            if is_changed.all() and not tells_active:
                self.sent[rank] = current_values
                return Updates(
                    range(len(ids)),
                    None,
                    [array.copy() for array in current_values] if self._has_card else current_values,
                )
            if tells_active:
                is_new = xp.zeros(len(ids), bool)
                is_new[self._places(ids, new_active)] = True
                is_changed |= is_new
                is_active = is_new[is_changed]
            changed_places = xp.flatnonzero(is_changed)
            for old_values, new_values in zip(self.sent[rank], current_values, strict=True):
                old_values[changed_places] = new_values[changed_places]
        if not len(changed_places):
            return NO_UPDATES
        return Updates(changed_places, is_active, [state[name][ids[changed_places]] for name in runs.sent_fields])

    def _places(self, ids: Any, sought_ids: Any) -> Any:
        """Return the positions, in the ascending array `ids`, of the vertices that are also in the ascending array
        `sought_ids`.

        The positions ascend, too. `ids` are the vertices of which another rank has copies, and `sought_ids` those that
        are active.
        """
        xp = self._xp
        if 8 * len(sought_ids) < len(ids):
            positions = xp.searchsorted(ids, sought_ids)
            is_found = ids[xp.minimum(positions, len(ids) - 1)] == sought_ids
            return positions[is_found]
        is_new = xp.zeros(self._runs.shard.own, bool)
        is_new[sought_ids] = True
        return xp.flatnonzero(is_new[ids])

    def receive(self, rank: int, news: Updates, state: dict[str, Any]) -> Any:
        """Store the new values `news`, which another rank has sent, in this rank's copies of the sender's vertices.

        Return which of these copies (as local numbers) are now active.
        """
        xp, runs = self._xp, self._runs
        first_mirror, mirror_end = runs.cuts[rank : rank + 2]
        is_all = isinstance(news.places, range)
        positions: Any = slice(first_mirror, mirror_end) if is_all else first_mirror + xp.asarray(news.places)
        for name, values in zip(runs.sent_fields, news.values, strict=True):
            state[name][positions] = xp.asarray(values)
        if not runs.whole.keeps_active:
            return xp.asarray(NO_VERTICES)
        vertices = xp.arange(first_mirror, mirror_end) if is_all else positions
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
            parts_for_ranks: list[Any] = [(head, NO_UPDATES)] * communicator.size
            for rank, update in updates:
                parts_for_ranks[rank] = head, update
            pairs: list[Any] = communicator.exchange(parts_for_ranks)
            count = head_size * (communicator.size - 1) + sum(update.nbytes for _, update in updates)
            heads_of_ranks = [head_part for head_part, _ in pairs]
            return (
                heads_of_ranks,
                [(sender, update) for sender, (_, update) in enumerate(pairs) if len(update.places)],
                count,
            )
        if self._has_card and (link := find_link(communicator)) is not None:
            return self._swap_over_link(communicator, link, head, updates)
        messages_to_send = [head] * communicator.size
        for rank, update in updates:
            messages_to_send[rank] = pack_message(
                head, update.on_host() if self._has_card else update, len(runs.sends[rank])
            )
        incoming = communicator.exchange(messages_to_send)
        return incoming, self._unpack(incoming, head_size), sum(map(len, messages_to_send)) - head_size

    def _swap_over_link(
        self, communicator: Communicator, link: Link, head: np.ndarray, updates: Addressed
    ) -> tuple[list[Any], Addressed, int]:
        """Send the head to all ranks and updates to some of them, as `swap` does, between processes whose GPUs NCCL
        connects.

        There are two exchanges: the hosts exchange the heads and the headers of updates, then the GPUs the contents of
        updates.
        """
        head_size, messages_to_send = len(head), [head] * communicator.size
        contents = [self._xp.zeros(0, np.uint8)] * communicator.size
        for rank, update in updates:
            header, contents[rank] = pack(update, len(self._runs.sends[rank]))
            messages_to_send[rank] = np.concatenate([head, np.frombuffer(header, np.uint8)])
        messages = communicator.exchange(messages_to_send)
        content_sizes = [
            content_size(message, head_size, self._count_mirrors(rank), self._runs.kinds)
            for rank, message in enumerate(messages)
        ]
        received_contents = link.exchange(communicator, contents, content_sizes)
        return (
            messages,
            self._unpack(messages, head_size, received_contents),
            sum(map(len, messages_to_send)) - head_size + sum(map(len, contents)),
        )

    def _unpack(self, got: Sequence[Any], head_bytes: int, contents: Sequence[Any] | None = None) -> Addressed:
        """Decode the updates in the messages `got`, one from each rank, and return pairs of a rank and its updates.

        The updates begin at byte `head_bytes` of a message. If GPUs have exchanged the contents of updates separately,
        `contents` has them by rank.
        """
        return [
            (
                rank,
                unpack_message(
                    message,
                    head_bytes,
                    self._count_mirrors(rank),
                    self._runs.kinds,
                    None if contents is None else contents[rank],
                ),
            )
            for rank, message in enumerate(got)
            if len(message) > head_bytes
        ]

    def _count_mirrors(self, rank: int) -> int:
        """Return the number of vertices of another rank that have mirrors on this rank."""
        return self._runs.cuts[rank + 1] - self._runs.cuts[rank]


def _find_changes(xp: Any, current_values: list[Any], earlier_values: list[Any], count: int) -> Any:
    """Return a mask of the vertices at which the bits of any field differ between `current_values` and
    `earlier_values`.

    `current_values` and `earlier_values` have an array of values at the same `count` vertices for each field. `xp` is
    NumPy or CuPy.
    """
    differs = xp.zeros(count, bool)
    for current, earlier in zip(current_values, earlier_values, strict=True):
        if current.ndim == 1 and current.itemsize in (1, 2, 4, 8):
            differs |= current.view(f"u{current.itemsize}") != earlier.view(f"u{current.itemsize}")
        else:
            bits = [xp.ascontiguousarray(x).reshape(count, -1).view(np.uint8) for x in (current, earlier)]
            differs |= (bits[0] != bits[1]).any(axis=1)
    return differs
