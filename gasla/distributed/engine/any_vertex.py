"""Reads of any vertex on a rank: `self.at`, and aggregates at vertices.

The shard of a program that uses them mirrors every vertex of the other ranks, so `self.at` reads local arrays. A rank
reduces the aggregates of its own vertices at local vertices. The owner of a vertex combines the parts of all ranks, in
rank order, and sends the changed results to all mirrors.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import semirings
from gasla.arrays import as_values
from gasla.distributed.communicator import Communicator
from gasla.distributed.engine.messages import Updates, pack_message, unpack_message
from gasla.distributed.engine.shard import Shard
from gasla.names import given, inner
from gasla.program.program import VertexProgram
from gasla.program.records import Lazy, Record
from gasla.program.tracing import Traced
from semirings import Monoid
from semirings.types import computed


class VertexAggregates:
    """The aggregates at vertices of a run, with one value per local vertex, by the names in the program."""

    def __init__(self, traced: Traced, shard: Shard) -> None:
        self._shard = shard
        self._monoids = {given(name): declared.monoid for name, declared in traced.deposits.items()}
        self._kinds: dict[str, Any] = {given(name): kind for name, kind in traced.deposit_types.items()}
        self.arrays = {name: self._nothing(name) for name in self._monoids}

    def _nothing(self, name: str) -> np.ndarray:
        kind = self._kinds[name]
        return np.full(self._shard.graph.n, self._monoids[name].identity(kind), kind)

    def exchange(self, communicator: Communicator, parts: Mapping[str, np.ndarray] | None) -> int:
        """Replace all values by the totals of the ranks' parts (None: no part); returns the bytes sent."""
        sent = 0
        for name, array in self.arrays.items():
            part = self._nothing(name) if parts is None else parts[name]
            total, count = self._combined(communicator, name, part)
            sent += count + self._publish(communicator, array, total)
        return sent

    def _combined(self, communicator: Communicator, name: str, part: np.ndarray) -> tuple[np.ndarray, int]:
        """The totals of own vertices, and the bytes sent."""
        shard, monoid, kind = self._shard, self._monoids[name], self._kinds[name]
        nothing = np.asarray(monoid.identity(kind), kind)
        spans = [part[a:b] for a, b in zip(shard.cuts[:-1], shard.cuts[1:], strict=True)]
        messages = [_changes(span, np.broadcast_to(nothing, span.shape)) for span in spans]
        found = communicator.exchange(messages)
        total = np.full(shard.own, nothing)
        for rank, message in enumerate(found):
            if rank == communicator.rank:
                places: Any = slice(None)
                values = part[: shard.own]
            else:
                places, values = _unpacked(message, shard.own, kind)
            total[places] = _together(monoid, total[places], values)
        return total, sum(map(len, messages))

    def _publish(self, communicator: Communicator, array: np.ndarray, total: np.ndarray) -> int:
        """Store the totals of own vertices here and in the mirrors of all ranks; returns the bytes sent."""
        shard = self._shard
        message = _changes(total, array[: shard.own])
        messages = [message if len(ids) else message[:0] for ids in shard.sends]
        found = communicator.exchange(messages)
        array[: shard.own] = total
        for rank, (first, last) in enumerate(zip(shard.cuts[:-1], shard.cuts[1:], strict=True)):
            if rank != communicator.rank:
                places, values = _unpacked(found[rank], int(last - first), array.dtype)
                array[first:last][places] = values
        return sum(map(len, messages))


def _together(monoid: Monoid, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(monoid.combine(a, b), a.dtype)


def _changes(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    """A message with the entries whose bits differ; empty if none do."""
    bits = f"u{now.itemsize}"
    places = np.flatnonzero(now.view(bits) != np.ascontiguousarray(before).view(bits))
    if not len(places):
        return np.zeros(0, np.uint8)
    return pack_message(b"", Updates(places, None, [now[places]]), len(now))


def _unpacked(message: np.ndarray, held: int, kind: np.dtype) -> tuple[Any, np.ndarray]:
    """The positions and values in a message of `_changes`."""
    found = unpack_message(message, 0, held, [(kind, ())])
    if not found.values:
        return slice(0, 0), np.zeros(0, kind)
    places: Any = slice(None) if isinstance(found.places, range) else found.places
    return places, found.values[0]


# --- on arrays --------------------------------------------------------------------------------------------------------


def read_others(
    program: VertexProgram, traced: Traced, shard: Shard, arrays: Mapping[str, np.ndarray], id_type: np.dtype
) -> Callable[[Any], Record]:
    """`self.at` of a program's functions that ranks call on arrays: `arrays` holds the values of local vertices."""
    missing: dict[str, Any] = {name: field.missing for name, field in program.vertex_fields.items()}
    for name, declared in traced.deposits.items():
        missing[given(name)] = declared.monoid.identity(traced.deposit_types[inner(name)])

    def at(index: Any) -> Record:
        index = np.asarray(index)
        is_there = (index >= 0) & (index < shard.n)
        places = local_vertex(index, shard.first, shard.own, shard.n)

        def reading(name: str) -> Callable[[], Any]:
            def read() -> Any:
                array = arrays[name]
                kind: Any = computed(array.dtype)
                found = np.broadcast_to(np.asarray(missing[name], array.dtype), (*index.shape, *array.shape[1:]))
                if len(array):
                    is_it = is_there.reshape(index.shape + (1,) * (array.ndim - 1))
                    found = np.where(is_it, array[np.where(is_there, places, 0)], found)
                return as_values(found.astype(kind, copy=False).T)  # .T matters for vector fields only

            return read

        makers: dict[str, Callable[[], Any]] = {name: reading(name) for name in arrays}
        makers["id"] = lambda: as_values(np.where(is_there, index, -1).astype(id_type))
        return Record("vertex", Lazy(makers))

    return at


def local_vertex(index: Any, first: Any, own: Any, n: Any) -> Any:
    """The local number of a vertex in a shard that mirrors all others: own ones come first; -1 for no vertex."""
    index = semirings.cast(index, np.int64)
    later = semirings.where(index < first + own, index - first, index)
    is_there = (index >= 0) & (index < n)
    return semirings.where(is_there, semirings.where(index < first, index + own, later), np.int64(-1))
