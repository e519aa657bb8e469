"""Encoding of messages between two ranks. A message has a part common to all receivers, then updates of the mirrors.

Updates are a header and a content. The content has three parts:

- The positions of the updated vertices among the receiver's mirrors, as gaps between positions in the smallest
  sufficient type, or as a bitmap if that is smaller. If all mirrors are updated, this part is empty.
- A bitmap of the active vertices among the updated ones. If all are active, this part is missing.
- The new values, one field after the other.

Without updates the message ends after the common part. The content is on the device of the values, and may be sent
separately from the header.
"""

import itertools
import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import array_module, moved

# header: number of updated vertices, how their positions are encoded, and whether a bitmap of active vertices follows
HEAD = struct.Struct("=qBB")
# How positions of updated vertices are encoded: as a bitmap, or not at all if all vertices are updated. Any other
# number is that of the bytes of each gap between two positions.
BITMAP, ALL = 0, 255


class Updates(NamedTuple):
    """New values of vertices, which the vertices' owner sends to one rank that has copies (mirrors) of the vertices."""

    # ascending positions of the updated vertices among the receiver's mirrors of the sender's vertices; a range if all
    # are updated
    places: np.ndarray | range
    is_active: np.ndarray | None  # for each updated vertex, whether it is active, or None if all are
    values: Sequence[np.ndarray]

    @property
    def nbytes(self) -> int:
        """The size in bytes of the positions of the updated vertices, of the marks of active vertices and of the new
        values.
        """
        arrays = [x for x in (self.places, self.is_active, *self.values) if x is not None and not isinstance(x, range)]
        return sum(array.nbytes for array in arrays)

    def on_host(self) -> "Updates":
        """Return these updates with their positions, active marks and values as arrays in host memory."""
        host_positions: Any = self.places if isinstance(self.places, range) else moved(self.places, "cpu")
        active = None if self.is_active is None else moved(self.is_active, "cpu")
        return Updates(host_positions, active, [moved(array, "cpu") for array in self.values])


NO_VERTICES = np.zeros(0, np.int64)
NO_UPDATES = Updates(NO_VERTICES, None, ())


# for each field that is sent, the dtype and the shape of one vertex's value
Kinds = Sequence[tuple[np.dtype, tuple[int, ...]]]


def pack_message(common: Any, news: Updates, held: int) -> np.ndarray:
    """Return a message to another rank as an array of bytes: a part common to all receivers, then updates of mirrors.

    `common` has the bytes of the common part, `news` the updates, and `held` the number of this rank's vertices of
    which the receiver has copies (mirrors).
    """
    head, encoded_parts = _pack_parts(news, held)
    return np.frombuffer(b"".join([common, head, *[encoded_part.data for encoded_part in encoded_parts]]), np.uint8)


def pack(news: Updates, held: int) -> tuple[bytes, Any]:
    """Return updates of another rank's mirrors as the bytes of a header, and separately the bytes of the content.

    GPUs send the content to each other directly. `held` is the number of this rank's vertices of which the receiver has
    copies (mirrors).
    """
    head, encoded_parts = _pack_parts(news, held)
    return head, array_module(encoded_parts[-1]).concatenate(encoded_parts) if encoded_parts else np.zeros(0, np.uint8)


def _pack_parts(news: Updates, mirror_count: int) -> tuple[bytes, list[Any]]:
    """Return updates of mirrors as bytes: the header, and a list of arrays for the content.

    The arrays are the positions, the bitmap of active vertices, and the values of each field. `mirror_count` is the
    number of this rank's vertices of which the receiver has copies (mirrors).
    """
    encoding, encoded_parts = _encode(news.places, mirror_count)
    active = news.is_active
    if active is not None:
        encoded_parts.append(array_module(active).packbits(active, bitorder="little"))
    encoded_parts += [array_module(x).ascontiguousarray(x).reshape(-1).view(np.uint8) for x in news.values]
    return HEAD.pack(len(news.places), encoding, active is not None), encoded_parts


def _encode(positions: Any, mirror_count: int) -> tuple[int, list[Any]]:
    """Encode the positions of updated vertices, which ascend and are below `mirror_count`, in as few bytes as possible.

    They are encoded as gaps between positions, as a bitmap, or not at all if all positions below `mirror_count` occur.
    Return the number of the encoding, and a list with the bytes.
    """
    if len(positions) == mirror_count:
        return ALL, []
    xp, gaps = array_module(positions), positions.copy()
    gaps[1:] -= positions[:-1]
    width = np.min_scalar_type(int(gaps.max())).itemsize
    if width * len(positions) <= -(-mirror_count // 8):
        return width, [gaps.astype(f"u{width}").view(np.uint8)]
    bits = xp.zeros(mirror_count, bool)
    bits[positions] = True
    return BITMAP, [xp.packbits(bits, bitorder="little")]


def _part_sizes(count: int, encoding: int, has_active: int, mirror_count: int, value_types: Kinds) -> list[int]:
    """Return the size in bytes of each part of the content of updates: positions, bitmap of active vertices, then each
    field's values.

    `count` is the number of updated vertices, `encoding` the encoding of their positions, and `mirror_count` the number
    of the sender's vertices of which the receiver has copies. `value_types` has the dtype and the shape of one vertex's
    value by field.
    """
    position_bytes = {ALL: 0, BITMAP: -(-mirror_count // 8)}.get(encoding, encoding * count)
    active = -(-count // 8) if has_active else 0
    return [position_bytes, active, *[count * dtype.itemsize * math.prod(shape) for dtype, shape in value_types]]


def content_size(message: np.ndarray, at: int, held: int, kinds: Kinds) -> int:
    """Return the size in bytes of the content of updates, which is sent separately from the message with the header.

    The header begins at byte `at`. The size is 0 if the message ends there, because it has no updates.
    """
    if len(message) == at:
        return 0
    count, encoding, has_active = HEAD.unpack_from(message.data, at)
    return sum(_part_sizes(count, encoding, has_active, held, kinds))


def unpack_message(message: np.ndarray, at: int, held: int, kinds: Kinds, content: Any = None) -> Updates:
    """Decode a message from another rank, and return the updates of mirrors that begin at its byte `at`.

    `held` is the number of the sender's vertices that this rank mirrors, and `kinds` has the dtype and the shape of one
    vertex's value for each field.
    """
    if len(message) == at:
        return NO_UPDATES
    count, encoding, has_active = HEAD.unpack_from(message.data, at)
    content = message[at + HEAD.size :] if content is None else content
    part_sizes = _part_sizes(count, encoding, has_active, held, kinds)
    part_ends = list(itertools.accumulate(part_sizes))
    encoded, bits, *bytes_by_field = [
        content[end - part_size : end] for part_size, end in zip(part_sizes, part_ends, strict=True)
    ]
    # A GPU can read a number only at an address that is a multiple of its size. A part of a message may begin anywhere,
    # so parts are copied into new arrays.
    if array_module(content) is not np:
        encoded, bytes_by_field = encoded.copy(), [value_bytes.copy() for value_bytes in bytes_by_field]
    active = _unpack_bits(bits, count) if has_active else None
    values = [
        value_bytes.view(dtype).reshape(count, *shape)
        for value_bytes, (dtype, shape) in zip(bytes_by_field, kinds, strict=True)
    ]
    return Updates(_decode(encoded, encoding, held), active, values)


def _decode(encoded: Any, encoding: int, mirror_count: int) -> Any:
    """Return the ascending positions of updated vertices that a message contains as the bytes `encoded`.

    `encoding` is the number of the encoding (see `_encode`). All positions are below `mirror_count`.
    """
    if encoding == ALL:
        return range(mirror_count)
    xp = array_module(encoded)
    if encoding == BITMAP:
        return xp.flatnonzero(_unpack_bits(encoded, mirror_count))
    return xp.cumsum(encoded.view(f"u{encoding}"), dtype=np.int64)


def _unpack_bits(packed_bits: Any, count: int) -> Any:
    return array_module(packed_bits).unpackbits(packed_bits, bitorder="little")[:count].astype(bool)
