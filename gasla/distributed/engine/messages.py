"""Encoding of messages between two ranks: a part common to all receivers, then updates of mirrored vertices.

Updates are a header and the positions of updated vertices in the receiver's list of mirrors: as gaps in the smallest
sufficient type, as a bitmap if that is smaller, or as nothing if all vertices are updated. Then follow a bitmap of the
active ones, unless all are active, and the new values, one field after the other. Without updates the message ends
after the common part.
"""

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import moved

HEAD = struct.Struct("=qBB")  # number of positions; their form; whether a bitmap of active vertices follows
BITMAP, ALL = 0, 255  # forms of positions; all other values are the size of a gap in bytes


class Updates(NamedTuple):
    """Updates of mirrored vertices, in one message from their owner: positions, which are active, values by field."""

    places: np.ndarray | range  # ascending positions; a range if all vertices are updated
    is_active: np.ndarray | None  # None if all are active
    values: Sequence[np.ndarray]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = [x for x in (self.places, self.is_active, *self.values) if x is not None and not isinstance(x, range)]
        return sum(array.nbytes for array in arrays)

    def on_host(self) -> "Updates":
        """These updates, with arrays in host memory."""
        places: Any = self.places if isinstance(self.places, range) else moved(self.places, "cpu")
        active = None if self.is_active is None else moved(self.is_active, "cpu")
        return Updates(places, active, [moved(array, "cpu") for array in self.values])


NO_VERTICES = np.zeros(0, np.int64)
NO_UPDATES = Updates(NO_VERTICES, None, ())


def pack_message(common: bytes, news: Updates, held: int) -> np.ndarray:
    """A message with the common part and updates of some of the `held` vertices that the receiver mirrors."""
    form, places = _encoded(news.places, held)
    active = news.is_active
    parts = [common, HEAD.pack(len(news.places), form, active is not None), places]
    if active is not None:
        parts.append(np.packbits(active, bitorder="little").data)
    parts += [np.ascontiguousarray(array).data for array in news.values]
    return np.frombuffer(b"".join(parts), np.uint8)


def _encoded(places: Any, held: int) -> tuple[int, Any]:
    """The shortest form of some positions, and its bytes."""
    if len(places) == held:
        return ALL, b""
    gaps = places.copy()
    gaps[1:] -= places[:-1]
    width = np.min_scalar_type(gaps.max()).itemsize
    if width * len(places) <= -(-held // 8):
        return width, gaps.astype(f"u{width}").data
    bits = np.zeros(held, bool)
    bits[places] = True
    return BITMAP, np.packbits(bits, bitorder="little").data


def unpack_message(
    message: np.ndarray, at: int, held: int, kinds: Sequence[tuple[np.dtype, tuple[int, ...]]]
) -> Updates:
    """Decode the updates of `held` mirrors from byte `at` on; `kinds` are types and shapes of the fields' entries."""
    if len(message) == at:
        return NO_UPDATES
    count, form, has_active = HEAD.unpack_from(message.data, at)
    at += HEAD.size
    size = {ALL: 0, BITMAP: -(-held // 8)}.get(form, form * count)
    found: Any = message[at : at + size]
    at += size
    if form == ALL:
        places: Any = range(held)
    elif form == BITMAP:
        places = np.flatnonzero(np.unpackbits(found, count=held, bitorder="little"))
    else:
        places = np.cumsum(found.view(f"u{form}"), dtype=np.int64)
    active = None
    if has_active:
        size = -(-count // 8)
        active = np.unpackbits(message[at : at + size], count=count, bitorder="little").astype(bool)
        at += size
    values = []
    for kind, shape in kinds:
        size = count * kind.itemsize * int(np.prod(shape, dtype=np.int64))
        values.append(message[at : at + size].view(kind).reshape(count, *shape))
        at += size
    return Updates(places, active, values)
