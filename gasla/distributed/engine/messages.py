"""What a rank tells another after a superstep, as bytes: what all are told, and what is new of what this one mirrors.

News are a head, and the places among those that the receiver mirrors: as gaps between them, in the smallest type that
has room for all, or as a bitmap if that is smaller, or as nothing if all are new. Then come whether each is active, if
not all are, and the values of each field that travels, one field after the other. Where there is no news nothing
follows what everyone is told.
"""

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

HEAD = struct.Struct("=qBB")  # how many places; their form; whether not all are active
BITMAP, ALL = 0, 255  # forms beside gaps, which are told by the bytes of each


class News(NamedTuple):
    """What is new of the vertices that one rank mirrors of another's: places, which are active, values by field."""

    places: np.ndarray | range  # ascending; a range: all
    is_active: np.ndarray | None  # None: all are
    values: Sequence[np.ndarray]


NO_ONE = np.zeros(0, np.int64)
NOTHING = News(NO_ONE, None, ())


def packed(common: bytes, news: News, held: int) -> np.ndarray:
    """A message with news of some of `held` vertices; `common` is what everyone is told."""
    form, places = _written(news.places, held)
    active = news.is_active
    parts = [common, HEAD.pack(len(news.places), form, active is not None), places]
    if active is not None:
        parts.append(np.packbits(active, bitorder="little").data)
    parts += [np.ascontiguousarray(array).data for array in news.values]
    return np.frombuffer(b"".join(parts), np.uint8)


def _written(places: Any, held: int) -> tuple[int, Any]:
    """A form of places, and their bytes."""
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


def unpacked(message: np.ndarray, at: int, held: int, kinds: Sequence[tuple[np.dtype, tuple[int, ...]]]) -> News:
    """The news about `held` mirrors in a message, from a byte on; `kinds`: of fields' entries."""
    if len(message) == at:
        return NOTHING
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
    return News(places, active, values)
