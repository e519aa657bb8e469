"""What a rank tells another after a superstep, as bytes: a few numbers for all, and what is new of what it mirrors.

A message is a head of four numbers, bytes that go to everyone, then the places among those that the receiver mirrors of
which there is news, as a list or as a bitmap, whichever is smaller, or nothing if all are; whether each is active, if
not all are; and the values of each field that travels, one field after the other.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

LIST, BITMAP, ALL = range(3)  # forms of places
HEAD = np.dtype(np.int64)


class News(NamedTuple):
    """What is new of the vertices that one rank mirrors of another's: places, which are active, values by field."""

    places: np.ndarray | range  # a range: all
    is_active: np.ndarray | None  # None: all are
    values: Sequence[np.ndarray]


NO_ONE = np.zeros(0, np.int64)
NOTHING = News(NO_ONE, None, ())


def packed(common: np.ndarray, news: News, held: int) -> np.ndarray:
    """A message about some of `held` vertices; `common` are bytes that go to everyone."""
    count = len(news.places)
    if not count:
        return np.concatenate([np.array([len(common), 0, LIST, 0], HEAD).view(np.uint8), common])
    form = ALL if count == held else BITMAP if held < 32 * count else LIST
    if form == ALL:
        places = np.zeros(0, np.uint8)
    elif form == LIST:
        places = np.asarray(news.places, np.int32).view(np.uint8)
    else:
        bits = np.zeros(held, bool)
        bits[news.places] = True
        places = np.packbits(bits, bitorder="little")
    active = news.is_active
    head = np.array([len(common), count, form, active is not None], HEAD).view(np.uint8)
    which = np.zeros(0, np.uint8) if active is None else np.packbits(active, bitorder="little")
    values = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in news.values]
    return np.concatenate([head, common, places, which, *values])


def unpacked(message: np.ndarray, held: int, kinds: Sequence[tuple[np.dtype, tuple[int, ...]]]) -> tuple[Any, News]:
    """What a message about `held` mirrors says: what is for everyone, and the news. `kinds`: of fields' entries."""
    head = 4 * HEAD.itemsize
    common, count, form, has_active = message[:head].view(HEAD).tolist()
    at = head + common
    if not count:
        return message[head:at], NOTHING
    size = {LIST: 4 * count, BITMAP: -(-held // 8), ALL: 0}[form]
    found: Any = message[at : at + size]
    at += size
    if form == LIST:
        places: Any = np.array(found).view(np.int32)
    else:
        places = range(held)
        if form == BITMAP:
            places = np.flatnonzero(np.unpackbits(found, count=held, bitorder="little"))
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
    return message[head : head + common], News(places, active, values)
