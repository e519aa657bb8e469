"""Vertex ids in blocks of 32, of which a GPU reads few bits each over the link (`Graph(…, stream="compressed")`).

The ids of all neighbor lists are one array; 32 consecutive entries of it form a block, wherever lists begin and end.
Within a block, each id below the one before it adds 2**bits to itself and all that follow, where `bits` is the size of
an id: so the block ascends, as do sorted lists. Less the first id, an entry is stored in two parts, as by Elias and
Fano: its lowest `width` bits, side by side with those of the others; and all bits above them in one word of 64 bits, in
which the entry k of the block with the upper part h sets bit h + k. `width` is the smallest for which h is at most 32.
If lists ascend, an entry takes about 3.5 bits more than the logarithm of the mean gap. Any other order is possible, but
takes more.

Eight blocks form a group. What decoding starts from is on the card, 112 bytes per group; the lowest bits, which are
most of all, are in host memory. Any entry can be decoded by itself (gpu/kernels/packed_ids.cuh), so that offsets, edge
numbers and values stay as they are. An id of rmat22 takes 13.4 bits in host memory and 3.5 on the card, one of rmat24
14.9 and 3.5.

References: P. Elias, Efficient storage and retrieval by content and address of static files, Journal of the ACM 21,
1974; S. Vigna, Quasi-succinct indices, WSDM 2013.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

BLOCK = 32  # entries
BLOCKS = 8  # of a group
GROUP = BLOCK * BLOCKS
PLACE, ENDS, BASES, UPPERS = 0, 1, slice(2, 6), slice(6, 14)  # the words of 64 bits of a group
ADDRESS_BITS = 48  # of the word PLACE; the bits above are the size of an id
PIECE = 1 << 10  # groups that a thread packs at a time, in the processor's cache


def pack(ids: Array, n: int, allocate: Callable[[int], Array]) -> tuple[Array, Array]:
    """Pack vertex ids.

    Parameters
    ----------
    ids : (m,) array of integers
        All at least 0 and less than n.
    n : int
        At most 2**31 - 1.
    allocate : function
        Makes the array of `words`, of so many uint32.

    Returns
    -------
    groups : (⌈m / 256⌉, 14) uint64 array
        The word PLACE has the bytes of `words` before the group, and above `ADDRESS_BITS` the size of an id in bits;
        ENDS the number of words of the first block of the group, of the first two, … in a byte each; BASES the first
        ids of the 8 blocks, in 32 bits each; UPPERS their words of upper parts.
    words : uint32 array
        The lowest bits of all blocks; a block of `width` bits per entry takes `width` words.
    """
    from concurrent.futures import ThreadPoolExecutor  # takes 10 ms to import

    bits = max(1, (n - 1).bit_length())
    groups = np.empty((-(-len(ids) // GROUP), UPPERS.stop), np.uint64)
    pieces = [slice(first, first + PIECE) for first in range(0, len(groups), PIECE)]
    with ThreadPoolExecutor() as threads:  # NumPy works outside the interpreter's lock
        list(threads.map(lambda piece: _fill_groups(groups[piece], ids[_entries(piece)], bits), pieces))
        taken = (groups[:, ENDS] >> np.uint64(8 * (BLOCKS - 1))).cumsum(dtype=np.uint64)
        words = allocate(int(taken[-1]) if len(taken) else 0)
        groups[:1, PLACE] = 0
        groups[1:, PLACE] = 4 * taken[:-1]
        list(threads.map(lambda piece: _put_lowest_bits(words, groups[piece], ids[_entries(piece)], bits), pieces))
    groups[:, PLACE] |= np.uint64(bits << ADDRESS_BITS)
    return groups, words


def _entries(piece: slice) -> slice:
    """The entries of some groups."""
    return slice(piece.start * GROUP, piece.stop * GROUP)


def _keys(ids: Array, bits: int) -> Array:
    """The ascending entries of blocks, less the first of each; a row per block of whole groups."""
    keys = np.full((-(-len(ids) // GROUP) * BLOCKS, BLOCK), ids[-1], np.int64)  # the last adds nothing to a range
    keys.ravel()[: len(ids)] = ids
    keys[:, 1:] += (keys[:, 1:] < keys[:, :-1]).cumsum(1) << bits
    keys -= keys[:, :1].copy()
    return keys


def _fill_groups(groups: Array, ids: Array, bits: int) -> None:
    """Set ENDS, BASES and UPPERS of some groups, from their ids."""
    keys = _keys(ids, bits)
    widths = np.searchsorted((BLOCK + 1) << np.arange(BLOCK), keys[:, -1], side="right")
    bases = np.zeros(len(keys), np.uint32)
    bases[: -(-len(ids) // BLOCK)] = ids[::BLOCK]
    uppers = (keys >> widths[:, None]) + np.arange(BLOCK)
    groups[:, ENDS] = widths.reshape(-1, BLOCKS).cumsum(1).astype(np.uint8).view(np.uint64).ravel()
    groups[:, BASES] = bases.view(np.uint64).reshape(len(groups), -1)
    groups[:, UPPERS] = (np.uint64(1) << uppers.astype(np.uint64)).sum(1, dtype=np.uint64).reshape(-1, BLOCKS)


def _put_lowest_bits(words: Array, groups: Array, ids: Array, bits: int) -> None:
    """Store the lowest bits of some groups, all blocks of a width at a time."""
    keys, ends = _keys(ids, bits), groups[:, ENDS].copy().view(np.uint8).reshape(-1, BLOCKS)
    widths = np.diff(ends, axis=1, prepend=np.uint8(0))
    starts = ((groups[:, PLACE, None] // 4).astype(np.int64) + ends - widths).ravel()
    for width in np.unique(widths[widths > 0]).tolist():
        (which,) = np.nonzero(widths.ravel() == width)
        low = (keys[which].T & ((1 << width) - 1)).astype(np.uint32)
        put = np.zeros((width, len(which)), np.uint32)
        for k in range(BLOCK):
            word, shift = divmod(k * width, 32)
            put[word] |= low[k] << np.uint32(shift)
            if shift + width > 32:
                put[word + 1] |= low[k] >> np.uint32(32 - shift)
        words[starts[which] + np.arange(width)[:, None]] = put
