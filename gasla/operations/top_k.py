"""The k largest entries of each row of a sparse matrix, in descending order.

One pass over a row keeps a heap of the k largest so far, whose root is the smallest of them: a row of n entries in
random order updates it about k log(n / k) times. On a GPU all entries are sorted.

D. Knuth: The Art of Computer Programming, volume 3: Sorting and Searching. Addison-Wesley, 1998.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import any_true, array_module, device_of
from gasla.engines import engine
from gasla.graph.arguments import NO_LIMIT, whole_number
from gasla.graph.memory_limit import require_room
from gasla.graph.validate import find_outside
from gasla.operations.operands import lists_of
from gasla.rows import Row

Array = Any  # an array of NumPy or CuPy


class TopK(NamedTuple):
    """The largest entries of each row of a matrix, in descending order: their columns and their values.

    Rows with fewer entries are padded, with column -1 and value 0.
    """

    columns: Array
    values: Array


def top_k(A: Any, k: int) -> TopK:
    """Find, in each row of a sparse matrix, the k entries that have the largest values.

    Parameters
    ----------
    A : SciPy or CuPy sparse array or matrix, Sparse or Graph
        Of shape (m, n), with real values. Only stored entries count, stored zeros among them.
    k : int
        Number of entries per row, 0 or more.

    Returns
    -------
    columns : (m, k) array of the type of A's indices
        Columns of the entries, in each row by descending value, ties by ascending column; parallel entries each count.
        -1 where the row has no more entries.
    values : (m, k) array of the type of A's values
        Values of the same entries; 0 where the row has no more.

    Raises
    ------
    TypeError
        If the values of `A` are missing or not real, or `k` is not a whole number.
    ValueError
        If a value is NaN, `k` is negative, or an index of `A` is outside its shape.
    MemoryError
        If the result needs more memory than is available.

    Notes
    -----
    On the CPU it takes no memory but the result. On a GPU sorting takes about 40 bytes per entry.

    Examples
    --------
    >>> import gasla
    >>> from scipy.sparse import csr_array
    >>> scores = csr_array([[0, 3, 8, 3], [0, 0, 2, 0], [0, 0, 0, 0]])
    >>> columns, values = gasla.top_k(scores, 2)
    >>> columns
    array([[ 2,  1],
           [ 2, -1],
           [-1, -1]], dtype=int32)
    >>> values
    array([[8, 3],
           [2, 0],
           [0, 0]])
    """
    k = whole_number("k", k, NO_LIMIT)
    lists = lists_of(A, by_column=False, ordered=False)
    xp, values = array_module(lists.indptr), lists.values
    if values is None or values.dtype.kind not in "biuf":
        description = "missing" if values is None else f"of type {values.dtype}"
        raise TypeError(f"the values of A are {description}; expected real numbers")
    if error := find_outside(lists.indptr, lists.indices, lists.width, "row", "column"):
        raise error
    count, entry_bytes = (len(lists.indptr) - 1) * k, lists.indices.itemsize + values.itemsize
    require_room("the result has", count, entry_bytes, device_of(values), "a smaller k")
    if values.dtype.kind == "f" and any_true(xp.isnan(values)):
        position = int(xp.isnan(values).argmax())
        raise ValueError(f"value {position} of A is NaN; expected numbers that can be put in order")
    numbers = values.view(np.uint8) if values.dtype.kind == "b" else values
    columns, largest_values = engine(device_of(values)).primitives().top_k(lists.indptr, lists.indices, numbers, k)
    return TopK(columns, largest_values.view(values.dtype))


ROW = Row(
    top_k,
    method="a selection per row (Alabi et al., J. Experimental Algorithmics 17, 2012)",
    longer="Each row keeps a heap of the largest entries so far, and every entry is compared with it.",
)
