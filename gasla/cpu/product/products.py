"""Products of a matrix and a vector over semirings: choose a kernel by types, load it, and run it on all threads.

A thread takes rows with some thousand entries at a time. Each row is reduced by one thread, in an order that depends
only on its length and position, so the result has the same bits for any number of threads. Kernels check offsets and
indices as they read them. This costs less than a pass of its own, so no matrix is validated before a product.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gasla.cpu.kernels.products import batched, vector
from gasla.cpu.product.dense_products import ready_wide
from gasla.cpu.product.plans import BatchedPlan, batch_height, vector_plan
from gasla.cpu.product.sparse_products import at_entries, of_matrices
from gasla.cpu.runtime import threads
from gasla.cpu.runtime.blocks import threads_for
from gasla.graph.validate import as_coordinates, as_csr, require_compressed
from gasla.program.terms import Format, Lists, Multiply, Terms
from semirings import Expr, Symbol
from semirings.expr import in_order, rebuilt

__all__ = ["at_entries", "in_format", "lists_of", "of_matrices", "ready", "ready_wide"]

# number of matrix entries that a thread takes at once, without and with batches; more with batches, because the last
# batch that a thread computes is seldom full
GRAIN, GRAIN_OF_BATCHES = 4096, 16384
# if only the truth of elements of x matters, x is converted to bool first where rows have more entries than this on
# average
OFTEN = 8


def ready(lists: Lists, terms: Terms, masked: bool) -> Multiply:
    """Return a function that multiplies one matrix by vectors over a semiring, with a kernel compiled for the semiring.

    `lists` has the matrix in CSR form, `terms` describes the semiring, and `masked` says whether products have a mask.
    `gasla.engines.Products` documents this function, `in_format` and `lists_of`.
    """
    return Product(lists, terms, masked).multiply


def lists_of(A: Any, form: Format, make: Callable[[], Lists]) -> Lists:
    """Return the CSR or CSC arrays of a matrix, by calling `make`.

    They are not cached, because making them is cheap: they are SciPy's own arrays, and kernels check them.
    """
    return make()


def in_format(A: Any, wanted: Format) -> Any:
    """Convert the matrix `A` to the sparse format `wanted`. Unlike SciPy's conversion, this keeps parallel entries
    apart.

    Parallel entries are several entries at one position of the matrix.
    """
    if A.format == wanted:
        return A
    if A.format == "coo":
        from scipy.sparse import coo_array

        # this also checks that all entries are inside the shape
        A = coo_array((A.data, as_coordinates(A)), shape=A.shape)
        # not checked, but claimed so that SciPy does not sum parallel entries (those at the same position)
        A.has_canonical_format = True
    elif A.format in ("csr", "csc"):  # a bad index would make SciPy read out of bounds, so check first
        require_compressed(A)
    else:
        A = as_csr(A)
    return A.asformat(wanted)


class Product:
    """A product of one matrix with any vectors: the compiled kernel, and its arguments that do not depend on the
    vector.
    """

    def __init__(self, lists: Lists, terms: Terms, masked: bool) -> None:
        rows, stored, values = len(lists.indptr) - 1, len(lists.indices), lists.values
        self.asks_truth = stored > OFTEN * rows and asks_truth(terms)
        if self.asks_truth:
            terms = with_truth(terms)
        self.plan = vector_plan(terms, masked, batch_height(terms, stored > BatchedPlan.LONG * rows))
        is_batched = isinstance(self.plan, BatchedPlan)
        self.kernel = (batched if is_batched else vector).multiply.of(self.plan)
        self.passes_x, self.share = terms.reads("x"), Share(rows, stored, GRAIN_OF_BATCHES if is_batched else GRAIN)
        self.width = lists.width
        self.arrays: tuple[Any, ...] = (lists.indptr, lists.indices)
        if terms.reads("value"):
            self.arrays += (values,)

    def multiply(self, x: Any, mask: Any, complement: bool, outs: tuple[Any, ...]) -> bool:
        """Multiply the matrix by the vector `x`, and write the product to the arrays `outs`.

        Rows where `mask` equals `complement` are left out. Return False if the matrix has an index or offset out of
        range.
        """
        share = self.share
        team = threads_for(share.work)
        args: tuple[Any, ...] = (self.width, share.chunk(team), int(complement), *self.arrays)
        if self.passes_x:
            # If only the truth of x matters, x is compared with 0 here, once for each element instead of once for each
            # entry of the matrix. The kernel's lookups in x then read at most a quarter of the bytes.
            args += (x != 0 if self.asks_truth else x,)
        args += outs if mask is None else (mask, *outs)
        if isinstance(self.plan, BatchedPlan):
            args += self.plan.new_scratch(team)
        return share.run(self.kernel, args, team)


class Share:
    """The division of a matrix's rows into blocks of rows, which the threads of a product take one after another."""

    def __init__(self, rows: int, stored: int, grain: int) -> None:
        self.rows, self.work = rows, rows + stored
        self.least = rows * grain // max(stored, 1)  # number of rows with about `grain` entries
        self.is_short = self.work <= threads.SHORT

    def chunk(self, team: int) -> int:
        """Return the number of matrix rows that a thread takes at once, if `team` threads run the product."""
        return max(1, min(self.least, self.rows // (8 * team)))

    def run(self, kernel: Any, args: tuple[Any, ...], team: int) -> bool:
        """Run the kernel of a product on a team of threads, with the arguments `args`.

        Return False if the matrix has an index or offset out of range.
        """
        control = threads.new_control()
        threads.run_parallel(kernel, control, args, team, short=self.is_short, loose=True)
        return control.item(threads.STOP) == 0


@functools.lru_cache(maxsize=1024)
def asks_truth(terms: Terms) -> bool:
    """Return whether a product only depends on whether the element of x is zero, so that x may be converted to
    booleans.
    """
    users = [e for e in in_order([terms.product]) if any(map(_is_x, e.args))]
    return bool(users) and all(e.op == "cast" and e.type == np.dtype(bool) for e in users)


@functools.lru_cache(maxsize=1024)
def with_truth(terms: Terms) -> Terms:
    """Return `terms`, the description of a product over a semiring, for a Boolean vector that stands for ``x != 0``.

    The original product depends on x only through whether its elements are 0.
    """

    def replace_x(expr: Expr, _: list[Expr]) -> Expr | None:
        return Symbol("x", bool) if expr.op == "cast" and _is_x(expr.args[0]) else None

    return dataclasses.replace(terms, product=rebuilt(terms.product, replace_x))


def _is_x(e: Expr) -> bool:
    return isinstance(e, Symbol) and e.name == "x"
