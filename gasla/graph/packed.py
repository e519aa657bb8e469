"""Vertex ids packed into few bits, so that a GPU reads less over PCIe (`Graph(…, stream="compressed")`).

The neighbor ids of all adjacency lists are one array. 32 consecutive entries of the array form a block, wherever lists
begin and end, and 8 blocks form a group. All ids of a group are within a window of 2**bits consecutive numbers. Within
a block, wherever an id is smaller than the id before it, 2**bits is added to it and to all ids after it. So the entries
of the block ascend, as sorted lists do. The first id of the block is then subtracted from each entry, and the result is
stored in two parts, as by Elias and Fano. Its lowest `width` bits are stored side by side with those of the block's
other entries. The bits above them are encoded in one 64-bit word per block: if entry k of the block has the upper part
h, bit h + k is set. `width` is the smallest number for which h is at most 32. If lists ascend, an entry takes about 3.5
bits more than the logarithm of the mean difference of neighbors. Any other order is possible, but takes more bits.

GPU memory holds what decoding starts from, 112 bytes per group. The lowest bits, which are most of the data, are in
host memory. Any entry can be decoded alone (gpu/kernels/packed_ids.cuh), so offsets, edge numbers and values stay as
they are. An id of rmat22 takes 13.3 bits in host memory and 3.5 bits in GPU memory, an id of rmat24 14.9 and 3.5 bits.

References: P. Elias, Efficient storage and retrieval by content and address of static files, Journal of the ACM 21,
1974; S. Vigna, Quasi-succinct indices, WSDM 2013.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

BLOCK = 32  # number of vertex ids in a block
BLOCKS = 8  # number of blocks (of 32 vertex ids each) in a group
GROUP = BLOCK * BLOCKS
# A group of 256 vertex ids is described by 14 words of 64 bits. These are the indices of its fields among the words.
PLACE, ENDS, BASES, UPPERS = 0, 1, slice(2, 6), slice(6, 14)
# The first word of a group, PLACE, has four fields, from its lowest bits on. The first is where the lowest bits of the
# group's ids are in memory, in bytes. The others give a window of 2**bits consecutive numbers that contains all ids of
# the group: `bits`, a shift, and a number of steps. The window begins steps * 2**shift below the group's first id, or
# at 0 if the shift is the largest possible one.
ADDRESS_BITS, SIZE_BITS, SHIFT_BITS, STEP_BITS = 48, 5, 5, 6
FROM_ZERO = 2**SHIFT_BITS - 1
# number of groups (256 vertex ids each) that a thread packs at a time, few enough for the processor's cache
PIECE = 1 << 10


def pack(ids: Array, n: int, allocate: Callable[[int], Array]) -> tuple[Array, Array]:
    """Pack vertex ids into the compressed form that the module describes: a small array of groups and an array of bits.

    Parameters
    ----------
    ids : (m,) array of integers
        The vertex ids, from 0 to n - 1.
    n : int
        Number of vertices, at most 2**31 - 1.
    allocate : function
        Allocates the array `words`. It is called with the array's length as a number of uint32.

    Returns
    -------
    groups : (⌈m / 256⌉, 14) uint64 array
        The word PLACE has the bytes of `words` before the group in its lowest bits, and above them the window;
        ENDS the number of words of the first block of the group, of the first two, … in a byte each; BASES the first
        ids of the 8 blocks, in 32 bits each; UPPERS their words of upper parts.
    words : uint32 array
        The lowest bits of all blocks; a block of `width` bits per entry takes `width` words.
    """
    from concurrent.futures import ThreadPoolExecutor  # imported only when it is needed, because the import takes 10 ms

    most_bits = max(1, (n - 1).bit_length())
    groups = np.empty((-(-len(ids) // GROUP), UPPERS.stop), np.uint64)
    slices = [slice(first_group, first_group + PIECE) for first_group in range(0, len(groups), PIECE)]
    with ThreadPoolExecutor() as threads:  # threads run in parallel here, because NumPy releases the interpreter's lock
        list(threads.map(lambda piece: _fill_groups(groups[piece], ids[_positions_of(piece)], most_bits), slices))
        word_counts = (groups[:, ENDS] >> np.uint64(8 * (BLOCKS - 1))).cumsum(dtype=np.uint64)
        packed_words = allocate(int(word_counts[-1]) if len(word_counts) else 0)
        groups[1:, PLACE] |= 4 * word_counts[:-1]
        list(
            threads.map(lambda piece: _put_lowest_bits(packed_words, groups[piece], ids[_positions_of(piece)]), slices)
        )
    return groups, packed_words


def _positions_of(piece: slice) -> slice:
    """Return the positions of the vertex ids in a range of groups, as a slice of the array of ids."""
    return slice(piece.start * GROUP, piece.stop * GROUP)


def _rows_of_groups(ids: Array) -> Array:
    """Return vertex ids as a matrix with one row for each group of 256 ids, filled up with the last id."""
    rows = np.full((-(-len(ids) // GROUP), GROUP), ids[-1], np.int64)
    rows.ravel()[: len(ids)] = ids
    return rows


def _encode_windows(rows: Array, most_bits: int) -> Array:
    """Return, for each group of vertex ids, the upper bits of its first word, which encode a window with all its ids.

    A window is a range of at most 2**most_bits consecutive numbers. `rows` has the ids of one group per row.
    """
    first_ids = rows[:, 0]
    distance_below = first_ids - rows.min(1)
    shift = np.maximum(np.frexp(distance_below)[1] - STEP_BITS, 0)
    steps = -(-distance_below >> shift)  # rounded up, so that the window contains the smallest id
    shift += steps == 2**STEP_BITS
    steps = np.where(steps == 2**STEP_BITS, steps // 2, steps)
    bits = np.frexp(rows.max(1) - first_ids + (steps << shift))[1]
    wide = bits > most_bits
    bits, shift, steps = np.where(wide, most_bits, bits), np.where(wide, FROM_ZERO, shift), np.where(wide, 0, steps)
    return (bits + ((shift + (steps << SHIFT_BITS)) << SIZE_BITS)).astype(np.uint64) << np.uint64(ADDRESS_BITS)


def _stored_entries(rows: Array, groups: Array) -> Array:
    """Return the ids of each block of 32 vertex ids as ascending numbers from 0, the form in which they are stored.

    The result has one row per block. Where an id is smaller than the one before it, the size of the group's window is
    added to it and to all ids after it, so that the row ascends. Then the first id of the block is subtracted.
    """
    bits = (groups[:, PLACE] >> np.uint64(ADDRESS_BITS)).astype(np.int64) % 2**SIZE_BITS
    keys = rows.reshape(-1, BLOCK).copy()
    keys[:, 1:] += (keys[:, 1:] < keys[:, :-1]).cumsum(1) << np.repeat(bits, BLOCKS)[:, None]
    keys -= keys[:, :1].copy()
    return keys


def _fill_groups(groups: Array, ids: Array, most_bits: int) -> None:
    """Fill the 14 words that describe each of some groups of vertex ids, from the ids in these groups.

    Only the position of the groups' lowest bits in memory is not known yet.
    """
    rows = _rows_of_groups(ids)
    groups[:, PLACE] = _encode_windows(rows, most_bits)
    keys = _stored_entries(rows, groups)
    widths = np.searchsorted((BLOCK + 1) << np.arange(BLOCK), keys[:, -1], side="right")
    uppers = (keys >> widths[:, None]) + np.arange(BLOCK)
    groups[:, ENDS] = widths.reshape(-1, BLOCKS).cumsum(1).astype(np.uint8).view(np.uint64).ravel()
    groups[:, BASES] = rows[:, ::BLOCK].astype(np.uint32).view(np.uint64)
    groups[:, UPPERS] = (np.uint64(1) << uppers.astype(np.uint64)).sum(1, dtype=np.uint64).reshape(-1, BLOCKS)


def _put_lowest_bits(packed_words: Array, groups: Array, ids: Array) -> None:
    """Store the lowest bits of the ids of some groups in the array `packed_words`.

    Blocks in which ids have the same number of lowest bits (`width`) are processed together.
    """
    keys, bit_ends = (
        _stored_entries(_rows_of_groups(ids), groups),
        groups[:, ENDS].copy().view(np.uint8).reshape(-1, BLOCKS),
    )
    widths = np.diff(bit_ends, axis=1, prepend=np.uint8(0))
    byte_positions = (groups[:, PLACE, None] % np.uint64(2**ADDRESS_BITS)).astype(np.int64)
    starts = (byte_positions // 4 + bit_ends - widths).ravel()
    for width in np.unique(widths[widths > 0]).tolist():
        (blocks,) = np.nonzero(widths.ravel() == width)
        lowest_bits = (keys[blocks].T & ((1 << width) - 1)).astype(np.uint32)
        words_of_width = np.zeros((width, len(blocks)), np.uint32)
        for k in range(BLOCK):
            word, shift = divmod(k * width, 32)
            words_of_width[word] |= lowest_bits[k] << np.uint32(shift)
            if shift + width > 32:
                words_of_width[word + 1] |= lowest_bits[k] >> np.uint32(32 - shift)
        packed_words[starts[blocks] + np.arange(width)[:, None]] = words_of_width
