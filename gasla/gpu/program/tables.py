"""Computes the sizes of the hash tables in which a program groups values by key, in shared and in global memory.

A row of up to 32 entries needs no table. The table of a longer row has twice as many slots as the row has entries, or
at least a third more. It is in the part of shared memory that belongs to a warp, in the shared memory of a whole block,
or in global memory.
"""

from typing import NamedTuple

import numpy as np

from gasla.arrays import module_of
from gasla.graph.graph import Graph
from gasla.program.binding import NeighborLists
from gasla.program.plan import Plan
from gasla.program.reductions.keys import Keyed

SHORT = 32  # entries of the longest row that needs no hash table, as in kernels/keys/keyed_rows.cuh
WARPS = 32  # warps per block
MOST_SHARED = 128 << 10  # bytes of shared memory that tables may take; the remaining memory serves as L1 cache
OTHER_SHARED = 44 << 10  # bytes of shared memory that a block needs besides tables
# entries of the longest row whose values can be grouped by key, because the slots of tables have 32-bit numbers
LONGEST = 1 << 30


class TableSizes(NamedTuple):
    """The bytes of global memory that a program's hash tables need, for rows that are too long for a table in shared
    memory.
    """

    rows: int  # number of long rows that warps postpone, so that whole blocks process each of them together
    slots: int


def most_for(slots: int) -> int:
    """Return how many entries a row may have if its hash table has `slots` slots (as in keyed_rows.cuh)."""
    return slots - slots // 4


def slot_bytes(keyed: Keyed) -> int:
    """Return the bytes of a slot of a hash table, which holds a key and the total of the key's values."""
    return int(keyed.key.itemsize + keyed.total.itemsize)


def slots_in_shared(keyed: Keyed, longest: int, available: int) -> int:
    """Return how many slots each warp's hash table has in shared memory, in a program that groups values by key.

    A block may use `available` bytes of shared memory. The result is 0 if no row is long enough to need a table.
    `longest` is the number of entries of the longest row.
    """
    if longest <= SHORT:
        return 0
    return max(0, min(MOST_SHARED, available - OTHER_SHARED)) // WARPS // slot_bytes(keyed) // 32 * 32


def shared_bytes(plan: Plan, slots: int) -> int:
    """Return the bytes of shared memory that the hash tables of a block's warps take, with `slots` slots each."""
    return 0 if plan.keyed is None else WARPS * slots * slot_bytes(plan.keyed)


def longest_row(graph: Graph, side: str) -> int:
    """Return the number of entries of the longest adjacency list on a side ("in", "out" or "all")."""
    lengths = _row_lengths(graph, side)
    return int(lengths.max()) if len(lengths) else 0


def table_sizes(graph: Graph, side: str, slots: int, shares: bool) -> TableSizes:
    """Return the global memory that a program needs for hash tables of long rows, on one side of a graph.

    `slots` is the number of slots of each warp's table in shared memory. With `shares`, whole blocks process long rows
    together, in their shared memory if the row's table fits there. The graph caches the result.
    """
    return graph.kept(("tables", side, slots, shares, WARPS), lambda graph: _table_sizes(graph, side, slots, shares))


def _table_sizes(graph: Graph, list_side: str, slots: int, shares: bool) -> TableSizes:
    lengths = _row_lengths(graph, list_side)
    delayed = lengths[lengths > max(SHORT, most_for(slots))]
    if len(delayed) and int(delayed.max()) > LONGEST:
        raise ValueError(
            f"a vertex has {int(delayed.max()):,} neighbors; expected at most {LONGEST:,}, for which a GPU can have a "
            "table of keys"
        )
    in_global_memory = delayed[delayed > most_for(WARPS * slots)] if shares else delayed
    return TableSizes(len(delayed) if shares else 0, 2 * int(in_global_memory.sum()))


def _row_lengths(graph: Graph, list_side: str) -> np.ndarray:
    offsets = NeighborLists(graph, list_side, ordered=False).indptr().astype(np.int64)
    return module_of(graph.device).diff(offsets)


def sizes(plan: Plan, graph: Graph, slots: int, shares: bool) -> dict[str, int]:
    """Return the bytes of each array that a program needs to reduce by key, by the names of the kernel's arguments."""
    keyed = plan.keyed
    if keyed is None:
        return {}
    table_memory = table_sizes(graph, plan.traced.program.direction, slots, shares)
    sizes_by_name = {
        "keys_used": 32,
        "put_off": table_memory.rows * graph.id_dtype.itemsize,
        "table_keys": table_memory.slots * keyed.key.itemsize,
        "table_totals": table_memory.slots * keyed.total.itemsize,
    }
    return {name: size for name, size in sizes_by_name.items() if size}
