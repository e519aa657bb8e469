"""Products of a matrix over a semiring, as both engines see them.

The matrix is given as CSR or CSC arrays. The semiring's functions are traced here to expressions of a matrix entry,
once for each combination of types, and an engine compiles the expressions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

import semirings
from gasla.arrays import array_module
from gasla.once import once
from semirings import Expr, Monoid, Semiring, Symbol, TupleType

Array = np.ndarray[Any, Any]  # an array of NumPy or CuPy
Format = Literal["csr", "csc"]
# the function of a compiled product; the class `Ready` describes its arguments and its result
Multiply = Callable[[Array, Any, bool, tuple[Array, ...]], bool]


@dataclass(eq=False)
class Lists:
    """The rows of a sparse matrix as CSR arrays, or its columns as CSC arrays, for products over semirings.

    Without `values` all entries are True. `products` are compiled products of this matrix. They are stored only if the
    object itself is cached: with a graph, or on a GPU with a matrix.
    """

    indptr: Array
    indices: Array
    values: Array | None
    width: int
    are_cached: bool = False
    products: dict[Hashable, Ready] = field(default_factory=dict)


class Ready(NamedTuple):
    """A compiled product of one matrix with vectors or matrices x of one type.

    ``multiply(x, mask, complement, outs)`` computes the product, and writes it to the arrays `outs` where the mask is
    True (or False, if `complement`). It returns False if an offset or index of the matrix is out of range.
    """

    terms: Terms
    multiply: Multiply


@dataclass(frozen=True, eq=False)
class Terms:
    """The expressions of a matrix product over a semiring, traced for one combination of types.

    The symbols of `product` are `value` (the entry), `x` (the value that it is multiplied with), `row` and `other` (the
    entry's two indices), and if x is a matrix `column` (of x).
    """

    name: str
    monoid: Monoid
    product: Expr
    # The expression whose value is stored for a row: accum(old, new), or the total converted to the result's type. None
    # means that the total itself is stored.
    merged: Expr | None
    out_type: Any

    @property
    def type(self) -> Any:
        return self.product.type

    @functools.cached_property
    def symbols(self) -> list[Symbol]:
        return [symbol for symbol in semirings.free_symbols(self.product) if isinstance(symbol, Symbol)]

    @functools.cached_property
    def combination(self) -> Expr:
        """The expression that combines two products of a row, the symbols `a` and `b`, by the semiring's monoid."""
        return self.monoid.combination(self.type, "a", "b")

    @functools.cached_property
    def any_will_do(self) -> bool:
        """Whether any product that is not the identity may be taken as a row's total, as with the monoid `any`."""
        return self.monoid.terminal(self.type) is semirings.ANY

    @functools.cached_property
    def takes_first(self) -> bool:
        """Whether the first entry of a row always gives its total, so that the row's other entries are never read."""
        return self.monoid.takes_first(self.product, dict.fromkeys(("row", "other", "column"), (0, 2**62)))

    @functools.cached_property
    def final(self) -> Expr | None:
        """The test whether a row's total can no longer change, so that the rest of the row's entries may be skipped.

        It is an expression of the symbol `a`, the total so far, or None if a total can always change.
        """
        if isinstance(self.type, TupleType) and not self.any_will_do:
            return None
        return self.monoid.is_final(Symbol("a", self.type))

    @functools.cached_property
    def reads_old(self) -> bool:
        """Whether the value that is stored in the output depends on the value that the output had before, as with
        `accum`.
        """
        return self.merged is not None and any(
            symbol.payload == "old" for symbol in semirings.free_symbols(self.merged)
        )

    def reads(self, name: str) -> bool:
        """Return whether the product of a matrix entry depends on a symbol like "row" for the entry's row number."""
        return any(symbol.name == name for symbol in self.symbols)


def counts_below(pairs: Array, indptr: Array, left_out: Array | None) -> Array:
    """Return a lower bound of the number of entries in each row of A times B, if B has no parallel entries.

    `pairs` is the number of products for each row, and `indptr` are the offsets of A. A row of the result has at
    least as many entries as the longest row of B that is added up for it, which is at least as long as the mean of
    these rows. `left_out` are the offsets of a complemented mask, whose entries the result does not have.
    """
    counts: Array = pairs // (indptr[1:] - indptr[:-1]).clip(min=1)
    return counts if left_out is None else (counts - (left_out[1:] - left_out[:-1])).clip(min=0)


@once(most=1024)
def trace(semiring: Semiring, by_column: bool, value_type: Any, x_type: Any, merging: Any, wide: bool = False) -> Terms:
    """Trace the functions of a semiring, and return their expressions for one combination of types.

    A type of None means that all values are True. `merging` is None, or `accum` and the types of `out`, the array that
    the product is merged into. `wide` says that x is a matrix.
    """
    value, x = (
        semirings.as_expr(True) if dtype is None else Symbol(name, dtype)
        for name, dtype in (("value", value_type), ("x", x_type))
    )
    row, other_vertex = Symbol("row", np.int64), Symbol("other", np.int64)
    column = Symbol("column", np.int64) if wide else semirings.constant(0, np.int64)
    args = (x, value, column, other_vertex, row) if by_column else (value, x, row, other_vertex, column)
    product = semirings.as_expr(semirings.trace(semiring.operator.function, *args[: 5 if semiring.positional else 2]))
    if not all(isinstance(component, np.dtype) for component in parts(product.type)):
        raise TypeError(f"{semiring.name} multiplies to {product.type}; expected a number, or a tuple of numbers")
    monoid, lifted, lifted_total, has_entry = semiring.monoid, product, None, None
    # called only for its check, which raises an error for types that the monoid does not reduce
    monoid.combination(product.type)
    if conversion := monoid.held or monoid.held_of(product.type):
        lifted = semirings.as_expr(semirings.trace(conversion.lift, product))
        lifted_total = semirings.as_expr(semirings.trace(conversion.lower, Symbol("new", lifted.type)))
        if parts(lifted_total.type) != parts(product.type):
            raise TypeError(
                f"monoid {monoid.name} lowers to {lifted_total.type}; expected {product.type}, as it was lifted from"
            )
        has_entry = None if monoid.is_neutral or monoid.held else tuple(Symbol("new", lifted.type))[-1]
        monoid = conversion.monoid
    return Terms(semiring.name, monoid, lifted, *_merge_with_old(lifted_total, has_entry, product.type, merging))


def _merge_with_old(
    lifted_total: Expr | None, has_entry: Expr | None, product_type: Any, merging: Any
) -> tuple[Expr | None, Any]:
    """Return the expression for what a matrix product stores for a row, and its type, if results are merged with old
    values.

    `lifted_total` is the row's total, of the type `product_type`, and `merging` has the function that merges it and the
    types of the output, or is None if the total itself is stored. `has_entry`, for a monoid without identity, is an
    expression that says whether the row has any entry. If it has none, the old value stays.
    """
    if merging is None:
        return lifted_total, product_type
    accum, types = merging
    out_type = TupleType(types) if isinstance(product_type, TupleType) else types[0]
    new_expr = Symbol("new", product_type) if lifted_total is None else lifted_total
    old_symbol = Symbol("old", out_type)
    merged_expr = semirings.as_expr(semirings.trace(accum, old_symbol, new_expr))
    merged_expr = (
        merged_expr if has_entry is None else semirings.as_expr(semirings.where(has_entry, merged_expr, old_symbol))
    )
    if parts(merged_expr.type) != types:
        raise TypeError(
            f"accum of out, of type {out_type}, and the product, of type {product_type}, gives {merged_expr.type}; "
            f"expected {out_type}, to be written back: convert out, or cast in accum"
        )
    return merged_expr, out_type


def parts(kind: Any) -> tuple[Any, ...]:
    """Return the types of the arrays that hold values of a type: one for each item of a tuple."""
    return kind.items if isinstance(kind, TupleType) else (kind,)


def reduce_lists(
    ready: Callable[[Lists, Terms, bool], Multiply], monoid: Monoid, indptr: Array, ids: Array, values: Array
) -> Array:
    """Reduce segments of an array by a monoid: return the reductions of ``values[ids[indptr[k]:indptr[k + 1]]]`` for
    all k.

    This is done as a product of a sparse matrix and a vector. `ready` is the function of an engine that compiles
    products.
    """
    terms = trace(Semiring(monoid, semirings.plus_second.multiply), False, ids.dtype, values.dtype, None)
    lists = Lists(indptr, ids, ids, len(values))
    xp: Any = array_module(values)
    result: Array = xp.empty(len(indptr) - 1, terms.out_type)
    if not ready(lists, terms, False)(xp.ascontiguousarray(values), None, False, (result,)):
        raise ValueError("the lists changed while they were read; expected the same arrays until the call returns")
    return result.astype(values.dtype, copy=False)
