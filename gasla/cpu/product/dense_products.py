"""Products of a sparse matrix and a dense matrix, run on all threads."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gasla.cpu.kernels.products import dense
from gasla.cpu.product.plans import dense_plan
from gasla.cpu.runtime import threads
from gasla.cpu.runtime.blocks import threads_for
from gasla.program.terms import Lists, Multiply, Terms, parts

GRAIN = 1 << 15  # a thread takes rows that need about this many products of two numbers, before it takes more rows


def ready_wide(lists: Lists, terms: Terms, masked: bool) -> Multiply:
    """Return a function that multiplies one sparse matrix by dense matrices over a semiring.

    `lists` has the sparse matrix in CSR form, `terms` describes the semiring, and `masked` says whether products have a
    mask. `gasla.engines.Products` describes the function.
    """
    return functools.partial(multiply, Lists(lists.indptr, lists.indices, lists.values, lists.width), terms)


def multiply(lists: Lists, terms: Terms, x: Any, mask: Any, complement: bool, results: tuple[Any, ...]) -> bool:
    """Multiply a sparse matrix by the dense matrix `x`, and write the product to the arrays `results`.

    `lists` has the sparse matrix in CSR form. Entries where `mask` equals `complement` are left out. Return False if
    the sparse matrix has an index or offset out of range.
    """
    rows, columns = len(lists.indptr) - 1, x.shape[1]
    steps = (rows + len(lists.indices)) * max(columns, 1)
    team, plan = threads_for(steps), dense_plan(terms, mask is not None)
    chunk = max(1, min(rows * GRAIN // max(steps, 1), rows // (8 * team)))
    optional_inputs = {"values": lists.values, "x": x.reshape(-1), "mask": None if mask is None else mask.reshape(-1)}
    args = [np.uint64(columns), lists.width, chunk, bool(complement), lists.indptr, lists.indices]
    args += [optional_inputs[name] for name in plan.given]
    args += [y.reshape(-1) for y in results]
    args += [np.empty((team, columns), kind) for kind in parts(terms.type)]
    control = threads.new_control()
    threads.run_parallel(dense.multiply.of(plan), control, args, team, short=steps <= threads.SHORT, loose=True)
    return control.item(threads.STOP) == 0
