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
        bytes_sent = 0
        for name, array in self.arrays.items():
            partial_aggregate = self._identities(name) if parts is None else parts[name]
            combined, count = self._combine(communicator, name, partial_aggregate)
            bytes_sent += count + self._publish(communicator, array, combined)
        return bytes_sent

    def _combine(self, communicator: Communicator, name: str, partial_aggregate: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the totals over all ranks of the aggregate `name` at this rank's own vertices, and the number of bytes
        sent (collective).

        `partial_aggregate` has what this rank contributes to each local vertex. What concerns other ranks' vertices is
        sent to these ranks.
        """
        shard, monoid, dtype = self._shard, self._monoids[name], self._dtypes[name]
        identity = np.asarray(monoid.identity(dtype), dtype)
        spans = [
            partial_aggregate[range_start:range_end]
            for range_start, range_end in zip(shard.cuts[:-1], shard.cuts[1:], strict=True)
        ]
        messages = [_pack_changes(span, np.broadcast_to(identity, span.shape)) for span in spans]
        received_messages = communicator.exchange(messages)
        combined = np.full(shard.own, identity)
        for rank, message in enumerate(received_messages):
            if rank == communicator.rank:
                changed_positions: Any = slice(None)
                values = partial_aggregate[: shard.own]
            else:
                changed_positions, values = _unpack_changes(message, shard.own, dtype)
            combined[changed_positions] = _combine_values(monoid, combined[changed_positions], values)
        return combined, sum(map(len, messages))

    def _publish(self, communicator: Communicator, array: np.ndarray, combined: np.ndarray) -> int:
        """Send an aggregate's new totals at this rank's own vertices to the ranks that have copies of these vertices
        (collective).

        `combined` has the totals, and `array` the aggregate's previous values at all vertices of the shard, which are
        replaced. Only totals that have changed are sent. Return the number of bytes sent.
        """
        shard = self._shard
        message = _pack_changes(combined, array[: shard.own])
        messages = [message if len(ids) else message[:0] for ids in shard.sends]
        received_messages = communicator.exchange(messages)
        array[: shard.own] = combined
        for rank, (first_mirror, last_mirror) in enumerate(zip(shard.cuts[:-1], shard.cuts[1:], strict=True)):
            if rank != communicator.rank:
                changed_positions, values = _unpack_changes(
                    received_messages[rank], int(last_mirror - first_mirror), array.dtype
                )
                array[first_mirror:last_mirror][changed_positions] = values
        return sum(map(len, messages))


def _combine_values(monoid: Monoid, first_values: np.ndarray, second_values: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(monoid.combine(first_values, second_values), first_values.dtype)


def _pack_changes(current: np.ndarray, previous: np.ndarray) -> np.ndarray:
    """Return a message with the positions and values of the entries of `current` whose bits have changed since
    `previous`.
    """
    bits = f"u{current.itemsize}"
    changed_positions = np.flatnonzero(current.view(bits) != np.ascontiguousarray(previous).view(bits))
    if not len(changed_positions):
        return np.zeros(0, np.uint8)
    return pack_message(b"", Updates(changed_positions, None, [current[changed_positions]]), len(current))


def _unpack_changes(message: np.ndarray, entry_count: int, dtype: np.dtype) -> tuple[Any, np.ndarray]:
    """Return the positions and the new values of the changed entries that a message of `_pack_changes` contains.

    An empty message contains none. `entry_count` is the length of the array of which entries have changed.
    """
    updates = unpack_message(message, 0, entry_count, [(dtype, ())])
    if not updates.values:
        return slice(0, 0), np.zeros(0, dtype)
    changed_positions: Any = slice(None) if isinstance(updates.places, range) else updates.places
    return changed_positions, updates.values[0]
