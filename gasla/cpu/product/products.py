"""Products over semirings: chooses the kernel for the types, loads it, and runs it on all threads.

A thread takes rows with some thousand entries at a time. Each row is reduced by one thread, in an order that depends
only on its length and position, so the result has the same bits for any number of threads. Kernels check offsets and
indices as they read them, which costs less than a pass of its own, so a matrix is not validated before each product.
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

GRAIN, GRAIN_OF_BATCHES = 4096, 16384  # entries that a thread takes at once: its last batch is seldom full
OFTEN = 8  # mean entries per row from which a pass over x beforehand pays off


def ready(lists: Lists, terms: Terms, masked: bool) -> Multiply:
    """Compile a product of a matrix with a vector.

    This function, `in_format` and `lists_of` are documented in `gasla.engines.Products`.
    """
    return Product(lists, terms, masked).multiply


def lists_of(A: Any, form: Format, make: Callable[[], Lists]) -> Lists:
    """Return the lists of a matrix. They are not cached, as they are SciPy's own arrays, and kernels check them."""
    return make()


def in_format(A: Any, wanted: Format) -> Any:
    """Convert a matrix. Unlike SciPy's conversion, this keeps parallel entries."""
    if A.format == wanted:
        return A
    if A.format == "coo":
        from scipy.sparse import coo_array

        A = coo_array((A.data, as_coordinates(A)), shape=A.shape)  # checks that all entries are inside
        A.has_canonical_format = True  # keeps SciPy from summing parallel entries
    elif A.format in ("csr", "csc"):  # SciPy would read out of bounds at a bad index
        require_compressed(A)
    else:
        A = as_csr(A)
    return A.asformat(wanted)


class Product:
    """A product of a matrix: its kernel and the arguments that do not depend on x."""

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
        """Fill `outs`."""
        share = self.share
        team = threads_for(share.work)
        args: tuple[Any, ...] = (self.width, share.chunk(team), int(complement), *self.arrays)
        if self.passes_x:
            # Compares once per element, not per entry; and lookups read a quarter of the bytes or less.
            args += (x != 0 if self.asks_truth else x,)
        args += outs if mask is None else (mask, *outs)
        if isinstance(self.plan, BatchedPlan):
            args += self.plan.new_scratch(team)
        return share.run(self.kernel, args, team)


class Share:
    """How rows are distributed among threads."""

    def __init__(self, rows: int, stored: int, grain: int) -> None:
        self.rows, self.work = rows, rows + stored
        self.least = rows * grain // max(stored, 1)  # rows with about `grain` entries
        self.is_short = self.work <= threads.SHORT

    def chunk(self, team: int) -> int:
        """Return rows that a thread takes at once."""
        return max(1, min(self.least, self.rows // (8 * team)))

    def run(self, kernel: Any, args: tuple[Any, ...], team: int) -> bool:
        """Run a kernel. Return False if the matrix points outside itself."""
        control = threads.new_control()
        threads.run_parallel(kernel, control, args, team, short=self.is_short, loose=True)
        return control.item(threads.STOP) == 0


@functools.lru_cache(maxsize=1024)
def asks_truth(terms: Terms) -> bool:
    """Return whether the product depends only on whether x is zero."""
    users = [e for e in in_order([terms.product]) if any(map(_is_x, e.args))]
    return bool(users) and all(e.op == "cast" and e.type == np.dtype(bool) for e in users)


@functools.lru_cache(maxsize=1024)
def with_truth(terms: Terms) -> Terms:
    """Return terms that read ``x != 0`` in place of x."""

    def answer(e: Expr, _: list[Expr]) -> Expr | None:
        return Symbol("x", bool) if e.op == "cast" and _is_x(e.args[0]) else None

    return dataclasses.replace(terms, product=rebuilt(terms.product, answer))


def _is_x(e: Expr) -> bool:
    return isinstance(e, Symbol) and e.name == "x"
