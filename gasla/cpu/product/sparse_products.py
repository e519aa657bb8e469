"""Products of sparse matrices on all threads: check the matrices, count the entries of each row, and fill the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import index_dtype
from gasla.cpu.kernels.products import counting, gustavson
from gasla.cpu.kernels.products.gustavson import LONG, SPARE
from gasla.cpu.product.plans import sparse_plan
from gasla.cpu.runtime import memory, simd4, threads
from gasla.cpu.runtime.blocks import block_size, threads_for
from gasla.program.terms import Array, Lists, Terms, counts_below, parts
from gasla.progress import follow

# number of products of two matrix entries that a thread computes before it takes the next part of the rows
GRAIN = 1 << 14


class Rows:
    """Two sparse matrices A and B to multiply, and a division of the rows of their product into parts of about equal
    work.

    Products with and without a mask use this class. Threads take one part after another.
    """

    def __init__(self, A: Lists, B: Lists, mask: Lists | None, only_masked: bool) -> None:
        self.A, self.B, self.mask, self.only_masked = A, B, mask, only_masked
        self.rows, self.inputs = len(A.indptr) - 1, (A.indptr, A.indices, B.indptr, B.indices)

    def divide(self) -> bool:
        """Check the offsets and indices of all matrices, and divide the rows of the product into parts of about equal
        work.

        Return False if a matrix has an index or offset out of range.
        """
        for lists in {id(lists): lists for lists in (self.A, self.B, self.mask) if lists is not None}.values():
            if not self._run(counting.check, lists, lists.indptr, lists.indices, lists.width, self._grain(lists)):
                return False
        # `cumsum` below writes the sums into this same array, because touching new memory takes longer
        self.ends = ends = np.zeros(self.rows + 1, np.int64)
        mask = self.mask.indptr if self.mask and self.only_masked else None
        self._run(counting.measure, self.A, *self.inputs[:3], mask, ends[1:], self._grain(self.A))
        # the most products of two entries that any row needs, which is an upper bound of the entries of a row of the
        # result
        self.most = int(ends.max())
        self.steps = int(np.cumsum(ends, out=ends)[-1])
        self.team = memory.threads_with_room(threads_for(self.steps + self.rows), 0, self.bytes_of_a_thread())
        by_work, by_rows = np.flatnonzero(np.diff(ends[:-1] // GRAIN)) + 1, np.arange(0, self.rows, GRAIN)
        self.bounds = np.append(np.union1d(by_work, by_rows), self.rows)
        return True

    def bytes_of_a_thread(self) -> int:
        """Return approximately how many bytes the scratch arrays of a thread take.

        They have a value for each column of the product.
        """
        return 33 * (self.mask if self.mask and self.only_masked else self.B).width

    def can_search(self) -> bool:
        """Return whether to search entries of B by bisection: some row of B is long, and the columns ascend in all
        rows.
        """
        return int(np.diff(self.B.indptr).max(initial=0)) > LONG and self._ascends()

    def _ascends(self) -> bool:
        """Return whether the columns in each row of the matrix B strictly ascend, so that entries can be searched."""
        return self._run(counting.ascend, self.B, *self.inputs[2:], self._grain(self.B))

    def _grain(self, lists: Lists) -> Any:
        return block_size(len(lists.indptr) - 1, self._threads(lists))

    def _threads(self, lists: Lists) -> int:
        return threads_for(len(lists.indptr) + len(lists.indices))

    def _run(self, kernel: Any, lists: Lists, *args: Any) -> bool:
        """Run a kernel over the rows of one matrix. Return False if it found an index or offset out of range."""
        return launch(kernel, args, self._threads(lists), len(lists.indptr) + len(lists.indices))

    def run(self, kernel: Any, *args: Any) -> bool:
        """Run a kernel over all parts of the product's rows. Return False if it set the stop flag, as it failed."""
        return launch(kernel, (self.bounds, *args), self.team, self.steps + self.rows, len(self.bounds) - 1)


def launch(kernel: Any, args: tuple[Any, ...], team: int, work: int, parts: int = 0) -> bool:
    """Run a kernel of a sparse product on a team of threads.

    Return False if the kernel set the stop flag, because a matrix is invalid. A progress bar shows how many of the
    `parts` parts threads have taken.
    """
    control = threads.new_control()
    if parts:
        follow(lambda: (min(control.item(threads.TICKET), parts), parts), "parts")
    threads.run_parallel(kernel, control, args, team, short=work <= threads.SHORT, loose=True)
    return control.item(threads.STOP) == 0


class Product(Rows):
    """A product of two sparse matrices, which first counts the entries of each row, and then computes them.

    `gasla.engines.MatrixProduct` describes it.
    """

    def __init__(self, A: Lists, B: Lists, terms: Terms, left_out: Lists | None) -> None:
        super().__init__(A, B, left_out, only_masked=False)
        self.terms = terms
        self.without = (None, None) if left_out is None else (left_out.indptr, left_out.indices)

    def count(self, most: int) -> Array | None:
        """Count the entries of each row of the product, and return the counts, or None if a matrix is invalid.

        If the product has more than `most` entries in all, lower bounds may be returned, as
        `gasla.engines.MatrixProduct.count` says.
        """
        if not self.divide():
            return None
        if self.steps > most and self._ascends():
            lower_bounds = counts_below(np.diff(self.ends), self.A.indptr, self.without[0])
            if int(lower_bounds.sum()) > most:
                return lower_bounds
        counts = np.zeros(self.rows, np.int64)
        self.run(counting.count, *self.inputs, *self.without, self._new_stamps(), counts, most)
        return counts

    def fill(self, indptr: Array, indices: Array, outs: tuple[Array, ...]) -> None:
        """Compute the columns and the values of the product's entries, and write them to `indices` and `outs`.

        `indptr` has the offsets of the rows, which are known from `count`.
        """
        if len(indices) == 0:
            return
        width, team, terms = self.B.width, self.team, self.terms
        # the kernel reads and writes up to SIZE entries past a row's end, without using them
        row_bound = min(width, self.most) + simd4.SIZE
        marks, spans = (np.zeros((team, n + 64), np.uint8) for n in (width, -(-width // 64)))
        scratch = (self._new_stamps(), np.empty((team, row_bound), self.B.indices.dtype), marks, spans)
        totals = tuple(np.empty((team, width), kind) for kind in parts(terms.type))
        arguments = (
            *self.inputs,
            *self.without,
            self.ends,
            width,
            indptr,
            indices,
            *scratch,
            *_values_read(terms, self.A, self.B),
            *outs,
            *totals,
        )
        if not self.run(gustavson.fill.of(sparse_plan(terms)), *arguments):
            raise ValueError("a matrix changed while it was read; expected the same arrays until the call returns")

    def _new_stamps(self) -> Array:
        return np.zeros((self.team, self.B.width), index_dtype(self.rows + 1))


def of_matrices(A: Lists, B: Lists, terms: Terms, left_out: Lists | None) -> Product:
    """Return a product of two sparse matrices, which is to be counted and then filled.

    `gasla.engines.Products` documents this function and `at_entries`.
    """
    return Product(A, B, terms, left_out)


def at_entries(A: Lists, B: Lists, terms: Terms, mask: Lists, outs: tuple[Array, ...]) -> bool:  # noqa: D103
    rows = Rows(A, B, mask, only_masked=True)
    if not rows.divide():
        return False
    lengths = np.diff(mask.indptr)
    longest_row = int(lengths.max(initial=0)) + SPARE
    slots = np.empty((rows.team, mask.width), index_dtype(longest_row))
    slots[:] = np.arange(mask.width, dtype=slots.dtype) & (SPARE - 1)
    totals = tuple(np.empty((rows.team, longest_row), kind) for kind in parts(terms.type))
    arguments = (
        *rows.inputs,
        mask.indptr,
        mask.indices,
        rows.can_search(),
        slots,
        *_values_read(terms, A, B),
        *outs,
        *totals,
    )
    return rows.run(gustavson.at_entries.of(sparse_plan(terms)), *arguments)


def _values_read(terms: Terms, A: Lists, B: Lists) -> list[Any]:
    """Return the arrays of values of A, of B, of both, or of none: those that the semiring's product reads."""
    return [lists.values for name, lists in (("value", A), ("x", B)) if terms.reads(name)]
