"""Aggregates at vertices in distributed runs: sums (or other reductions) of values that a program contributes at any
vertex.

The shard of a program that uses them has a mirror of every vertex that another rank owns, because a program may
contribute to any vertex. In each superstep a rank reduces what its own vertices contribute to each vertex. Then the
owner of a vertex combines these results of all ranks, in the order of the ranks, and sends the total, if it has
changed, to all mirrors of the vertex.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gasla.distributed.communicator import Communicator
from gasla.distributed.engine.messages import Updates, pack_message, unpack_message
from gasla.distributed.engine.shard import Shard
from gasla.names import given
from gasla.program.tracing import Traced
from semirings import Monoid


class VertexAggregates:
    """The aggregates at vertices of one run: sums (or other reductions) of what the program contributes to each vertex.

    For each aggregate's name in the program, there is an array by local vertex.
    """

    def __init__(self, traced: Traced, shard: Shard) -> None:
        self._shard = shard
        self._monoids = {given(name): declared.monoid for name, declared in traced.deposits.items()}
        self._dtypes: dict[str, Any] = {given(name): dtype for name, dtype in traced.deposit_types.items()}
        self.arrays = {name: self._identities(name) for name in self._monoids}

    def _identities(self, name: str) -> np.ndarray:
        dtype = self._dtypes[name]
        return np.full(self._shard.graph.n, self._monoids[name].identity(dtype), dtype)

    def exchange(self, communicator: Communicator, parts: Mapping[str, np.ndarray] | None) -> int:
        """Replace the values of all aggregates by the totals over all ranks (collective).

        Return the number of bytes sent. `parts` has, by aggregate, what this rank's own vertices contribute to each
        local vertex. It is None if this rank ran no iteration, and so contributes nothing.
        """
        sent = 0
        for name, array in self.arrays.items():
            part = self._identities(name) if parts is None else parts[name]
            total, count = self._combine(communicator, name, part)
            sent += count + self._publish(communicator, array, total)
        return sent

    def _combine(self, communicator: Communicator, name: str, part: np.ndarray) -> tuple[np.ndarray, int]:
        """Return an aggregate's totals at this rank's own vertices, and the number of bytes sent (collective).

        `part` has what this rank contributes to each local vertex. What concerns other ranks' vertices is sent to these
        ranks.
        """
        shard, monoid, dtype = self._shard, self._monoids[name], self._dtypes[name]
        identity = np.asarray(monoid.identity(dtype), dtype)
        spans = [part[a:b] for a, b in zip(shard.cuts[:-1], shard.cuts[1:], strict=True)]
        messages = [_pack_changes(span, np.broadcast_to(identity, span.shape)) for span in spans]
        received = communicator.exchange(messages)
        total = np.full(shard.own, identity)
        for rank, message in enumerate(received):
            if rank == communicator.rank:
                places: Any = slice(None)
                values = part[: shard.own]
            else:
                places, values = _unpack_changes(message, shard.own, dtype)
            total[places] = _combine_values(monoid, total[places], values)
        return total, sum(map(len, messages))

    def _publish(self, communicator: Communicator, array: np.ndarray, total: np.ndarray) -> int:
        """Store an aggregate's totals at own vertices, and send those that have changed to all ranks with copies of the
        vertices (collective).
        """
        shard = self._shard
        message = _pack_changes(total, array[: shard.own])
        messages = [message if len(ids) else message[:0] for ids in shard.sends]
        received = communicator.exchange(messages)
        array[: shard.own] = total
        for rank, (first, last) in enumerate(zip(shard.cuts[:-1], shard.cuts[1:], strict=True)):
            if rank != communicator.rank:
                places, values = _unpack_changes(received[rank], int(last - first), array.dtype)
                array[first:last][places] = values
        return sum(map(len, messages))


def _combine_values(monoid: Monoid, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(monoid.combine(a, b), a.dtype)


def _pack_changes(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return a message with the positions and values of the entries of `now` whose bits have changed since `before`."""
    bits = f"u{now.itemsize}"
    places = np.flatnonzero(now.view(bits) != np.ascontiguousarray(before).view(bits))
    if not len(places):
        return np.zeros(0, np.uint8)
    return pack_message(b"", Updates(places, None, [now[places]]), len(now))


def _unpack_changes(message: np.ndarray, held: int, dtype: np.dtype) -> tuple[Any, np.ndarray]:
    """Return the positions and values that a message of `_pack_changes` contains. An empty message contains none."""
    updates = unpack_message(message, 0, held, [(dtype, ())])
    if not updates.values:
        return slice(0, 0), np.zeros(0, dtype)
    places: Any = slice(None) if isinstance(updates.places, range) else updates.places
    return places, updates.values[0]
