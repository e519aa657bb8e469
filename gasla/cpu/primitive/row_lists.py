"""Collect rows of vertices of different lengths that are found depth-first, such as paths: count them, then write them.

The search is divided into blocks, which threads take in order. In a first pass each block counts its rows, so that the
second pass knows where the rows of each block begin. So rows are in the order of the search, whichever thread finds
them. With a limit, the first pass ends once the blocks taken so far have that many rows, and no block counts more rows
than the limit.
"""

# mypy: disable-error-code="no-untyped-def"
from collections.abc import Callable
from typing import Any

import numpy as np

from gasla.arrays import running_sums
from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import SIZE, N, inlined
from gasla.cpu.runtime.intrinsics import fetch_add_relaxed, load_relaxed, store_relaxed
from gasla.cpu.runtime.threads import TICKET, is_stopped
from gasla.graph.memory_limit import require_room

Array = np.ndarray[Any, Any]

# words of a thread's writer: how many rows it has found in this block, how many entries these rows have, and the
# largest number of rows that the block may have
ROWS, ENTRIES, ROOM = 0, 1, 2
# words of a thread's writer for the second pass, which writes rows: where the block's rows and its entries begin. In
# the first pass, which only counts, `writer[ENTRY_AT]` is -1.
ROW_AT, ENTRY_AT = 3, 4
# number of int64 words of a writer, which fill two cache lines, so that no two threads write to the same line
_WORDS = 16
_NO_LIMIT = 1 << 62


class RowSearch:
    """A search for rows of vertices, such as paths, in two passes: the first one counts rows, the second one writes
    them.

    Each pass calls ``search(tally, starts, total, limit, writers, entries, lengths)``, which runs a kernel with these
    arguments first. The kernel gets its blocks from `open_blocks`, and writes its rows with `write`.
    """

    def __init__(self, search: Callable[..., None], blocks: int, dtype: Any, threads: int) -> None:
        self.search, self.dtype = search, dtype
        self.tally = np.zeros((blocks, 2), np.int64)  # the number of rows and of entries of each block
        self.writers = np.zeros((threads, _WORDS), np.int64)

    def count(self, limit: int = _NO_LIMIT) -> int:
        """Run the first pass of the search, and return the number of rows (such as paths) that it finds.

        With a limit, the search stops early, and the result may be anything above the limit.
        """
        placeholders = np.empty((0, 2), np.int64), np.zeros(1, np.int64), limit, self.writers
        self.search(self.tally, *placeholders, np.empty(0, self.dtype), np.empty(0, np.int32))
        return int(self.tally[:, 0].sum())

    def rows(self, limit: int | None) -> tuple[Array, Array]:
        """Return all rows of vertices that the search finds, as offsets and vertices, or the first `limit` if there are
        more.
        """
        limit = _NO_LIMIT if limit is None else min(limit, _NO_LIMIT)
        count = min(self.count(limit), limit)
        starts = np.stack([running_sums(self.tally[:, i]) for i in range(2)], axis=1)
        size = int(starts[-1, 1])
        advice = "pass count=True or a limit, or a smaller length"
        require_room("the rows have", size, np.dtype(self.dtype).itemsize, "cpu", advice)
        entries, lengths = np.empty(size, self.dtype), np.zeros(count, np.int32)
        self.tally[:, 0] = np.minimum(self.tally[:, 0], (count - starts[:-1, 0]).clip(min=0))
        self.search(self.tally, starts, np.zeros(1, np.int64), limit, self.writers, entries, lengths)
        indptr = running_sums(lengths)
        return indptr, entries[: indptr[-1]]


@compiled
def open_blocks(control, total, limit, n, size):
    """Yield the blocks of the search that this thread takes, until none is left or `limit` rows (such as paths) are
    found.

    Each block comes as its number, start and end. A block that a thread has taken is always searched, so the blocks
    that are searched are the first ones.
    """
    while not is_stopped(control) and load_relaxed(total, 0) < limit:
        # stored so that the progress bar, which another thread draws, can compute the number of blocks
        store_relaxed(control, SIZE, size)
        store_relaxed(control, N, n)
        block = fetch_add_relaxed(control, TICKET, 1)
        start = np.uint64(block) * size
        if start >= n:
            break
        yield np.uint64(block), start, min(start + size, n)


@compiled
def open_block(writer, block, tally, starts, limit):
    """Prepare the array `writer` of a thread before the thread searches a block (a part of the whole search).

    The search finds rows of vertices, such as paths, in two passes. The first pass only counts the rows of each block,
    and the second one writes them. In both passes, `writer` counts the rows that the thread has found in the block, and
    the vertices in these rows. This function sets both counts to 0, and stores how many rows the block may have.

    In the second pass, `writer` also gets the positions at which the first row of the block and its first vertex are
    written. They come from `starts`, which is empty in the first pass.
    """
    writer[ROWS] = writer[ENTRIES] = 0
    writer[ROOM], writer[ENTRY_AT] = limit, -1
    if len(starts):
        writer[ROOM], writer[ROW_AT], writer[ENTRY_AT] = tally[block, 0], starts[block, 0], starts[block, 1]


@compiled
def close_block(writer, block, tally, starts, total):
    """Store how many rows and entries of rows a thread has found in a block, in the first pass, which only counts.

    In the second pass, do nothing.
    """
    if len(starts) == 0:
        tally[block, 0], tally[block, 1] = writer[ROWS], writer[ENTRIES]
        fetch_add_relaxed(total, 0, writer[ROWS])


@inlined
def is_full(rows):
    """Return whether a thread has found as many rows in the current block as the block may have.

    `rows` is a tuple whose first item is the thread's writer, an array of counts and positions.
    """
    writer = rows[0]
    return writer[ROWS] >= writer[ROOM]


@compiled
def write(rows, path, count, other, last):
    """Append a row (such as a path) to the rows of this thread's block, unless the block is full.

    The row is the first `count` vertices of `path`, then `other` and `last` if these are not negative.
    """
    writer, entries, lengths = rows
    if is_full(rows):
        return
    length = count + (other >= 0) + (last >= 0)
    if writer[ENTRY_AT] >= 0:
        place = np.uint64(writer[ENTRY_AT] + writer[ENTRIES])
        for i in range(np.uint64(count)):
            entries[place + i] = path[i]
        if other >= 0:
            entries[place + np.uint64(count)] = other
        if last >= 0:
            entries[place + np.uint64(length - 1)] = last
        lengths[np.uint64(writer[ROW_AT] + writer[ROWS])] = length
    writer[ROWS] += 1
    writer[ENTRIES] += length
