"""Sparse matrix times vector, and vector times sparse matrix, over any semiring.

`mxv` reduces over the rows of the matrix, `vxm` over its columns; a semiring's functions are traced here, once for
each combination of types, and the engine of the device where the matrix is compiles them.
The matrix may be rectangular.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import semirings
from gasla.arrays import array_module, device_of
from gasla.engines import engine
from gasla.graph.graph import Graph
from gasla.graph.validate import (
    as_coordinates,
    as_csr,
    as_ids,
    as_values,
    find_outside,
    require_compressed,
    require_sparse,
)
from semirings import Expr, Monoid, Semiring, Symbol, TupleType
from semirings.types import SCALAR_NAMES

Array = np.ndarray[Any, Any]  # NumPy's or CuPy's
SCALARS = frozenset(map(np.dtype, SCALAR_NAMES))
MOST = 64  # products that are kept


def mxv(
    A: Any,
    x: ArrayLike,
    semiring: Semiring = semirings.plus_times,
    *,
    mask: ArrayLike | None = None,
    complement: bool = False,
    accum: Callable[[Any, Any], Any] | None = None,
    out: Any = None,
) -> Any:
    """Multiply a matrix by a vector: ``y[i]`` is the sum over row i of ``A[i, k] * x[k]``.

    Sum and product are the semiring's: its monoid reduces ``multiply(A[i, k], x[k])`` over the stored entries of the
    row, in their stored order. Stored zeros and parallel entries count. A row without entries gives the monoid's
    identity. The `any` monoid passes its identity over, which is 0: it gives one of the products that are not 0, if
    there is one (`min_secondi` and `max_secondi` tell index 0 from no entry, `any_secondi` can't).

    Parameters
    ----------
    A : SciPy or CuPy sparse array or matrix, or Graph
        Of shape (m, n). CSR is used as it is; other formats are converted at every call, but a Graph once. The entries
        of a Graph without values are True. Where it is, the product is computed, and all other arrays must be; the
        offsets and indices of a matrix on the GPU are checked when they are first seen, and should stay as they are.
        With a Graph on the CPU stay images of its values, where the semiring has one (`semirings.Image`; log-sum-exp
        does): as many bytes as the values, and 2 a row. They don't follow what is later written into the values.
    x : (n,) array
    semiring : semirings.Semiring
        One of the predefined, or ``Semiring(monoid, multiply)`` of ordinary functions. A multiply of five values
        ``(x, y, i, k, j)`` also gets the indices, as int64: of row i and column k; j is 0, the only column of x.
    mask : (m,) array, optional
        Compute y only where it is True (not zero).
    complement : bool
        Compute y only where `mask` is False.
    accum : BinaryOp, Monoid or function of two values, optional
        Merge into `out`: ``out[i] = accum(out[i], y[i])`` at every computed position.
    out : (m,) array, optional
        Where to write. Positions that are not computed stay as they are; without `out` they hold the identity. It may
        be `x` itself.

    Returns
    -------
    (m,) array
        `out`, if given. The type is that of the semiring's expression under NumPy's rules of promotion. A multiply that
        returns a tuple gives (and takes as `out`) a tuple of arrays.

    Raises
    ------
    ValueError, TypeError
        If shapes or types don't fit, or an index of A is outside its shape. In the last case a given `out` may have
        been written to.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> from scipy.sparse import csr_array
    >>> kilometres = csr_array([[0, 3, 8], [0, 0, 2], [0, 0, 0]])
    >>> gasla.mxv(kilometres, [1.0, 10, 100])
    array([830., 200.,   0.])

    Distances to vertex 2, one edge further:

    >>> distance = np.array([np.inf, np.inf, 0])
    >>> gasla.mxv(kilometres, distance, semirings.min_plus, accum=semirings.min, out=distance)
    array([8., 2., 0.])

    A semiring of one's own, of plain functions:

    >>> widest = semirings.Semiring(semirings.max, lambda width, rest: semirings.minimum(width, rest))
    >>> gasla.mxv(kilometres, [0, 0, 9], widest, mask=[True, True, False])
    array([                   8,                    2, -9223372036854775808])
    """
    return _product(A, x, semiring, False, mask, complement, accum, out)


def vxm(
    x: ArrayLike,
    A: Any,
    semiring: Semiring = semirings.plus_times,
    *,
    mask: ArrayLike | None = None,
    complement: bool = False,
    accum: Callable[[Any, Any], Any] | None = None,
    out: Any = None,
) -> Any:
    """Multiply a vector by a matrix: ``y[j]`` is the sum over column j of ``x[k] * A[k, j]``.

    With edges i -> j in ``A[i, j]``, every vertex reduces over its in-edges: what a gather of a vertex program does.

    Parameters
    ----------
    x : (m,) array
    A : SciPy or CuPy sparse array or matrix, or Graph
        Of shape (m, n). CSC is used as it is; other formats are converted at every call, but a Graph once.
    semiring, mask, complement, accum, out
        As for `mxv`; the product is ``multiply(x[k], A[k, j])``. A multiply of five values gets i = 0 (the only row
        of x), k and j.

    Returns
    -------
    (n,) array
        `out`, if given.

    Examples
    --------
    A step of a breadth-first search, to where it has not been, with parents:

    >>> import gasla, semirings
    >>> from scipy.sparse import csr_array
    >>> graph = gasla.Graph(csr_array([[0, 1, 1], [0, 0, 1], [1, 0, 0]]))
    >>> gasla.vxm([True, False, False], graph, semirings.or_and)
    array([False,  True,  True])
    >>> gasla.vxm([1, 1, 1], graph, semirings.max_secondi, mask=[1, 0, 0], complement=True, out=np.full(3, -1))
    array([-1,  0,  1])
    """
    return _product(A, x, semiring, True, mask, complement, accum, out)


@dataclass(eq=False)
class Lists:
    """The rows (or columns) of a matrix, compressed, and the length of one. `values` None stands for True.

    What is made of them stays with those that are kept, with a graph or (on a GPU) beside a matrix: images of the
    values, and products, until there are too many.
    """

    indptr: Array
    indices: Array
    values: Array | None
    width: int
    are_kept: bool = False
    images: dict[Hashable, Any] = field(default_factory=dict)
    products: dict[Hashable, Ready] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes of images: the arrays of a list count where they are the graph's own."""
        return sum(getattr(image, "nbytes", 0) for image in self.images.values())


class Ready(NamedTuple):
    """A product of a matrix, as far as it is settled before x is seen.

    ``multiply(x, mask, complement, outs)`` fills `outs` where the mask admits; False if the matrix points outside
    itself.
    """

    terms: Terms
    multiply: Callable[[Array, Any, bool, tuple[Array, ...]], bool]


@dataclass(frozen=True, eq=False)
class Terms:
    """A semiring as an engine sees it: what is computed of an entry, for one combination of types.

    The symbols of `product`: `value` (of the entry), `x` (at its index), `row` and `other` (its two indices).
    """

    name: str
    monoid: Monoid
    product: Expr
    merged: Expr | None  # what is stored: accum(old, new), or where the total is held in another form, what it means
    out_type: Any
    image: Image | None = None  # the same by way of plus_times

    @property
    def type(self) -> Any:
        return self.product.type

    @functools.cached_property
    def symbols(self) -> list[Symbol]:
        return [s for s in semirings.free_symbols(self.product) if isinstance(s, Symbol)]

    @functools.cached_property
    def combination(self) -> Expr:
        """What two products, symbols `a` and `b`, come to."""
        return semirings.as_expr(self.monoid.combine(Symbol("a", self.type), Symbol("b", self.type)))

    @functools.cached_property
    def any_will_do(self) -> bool:
        """Whether a row is reduced once a product is not the identity."""
        return self.monoid.terminal(self.type) is semirings.ANY

    @functools.cached_property
    def takes_first(self) -> bool:
        """Whether that is so after the first entry, for all that can be said of the products."""
        return self.monoid.takes_first(self.product, dict.fromkeys(("row", "other"), (0, 2**62)))

    @functools.cached_property
    def final(self) -> Expr | None:
        """Whether nothing can change the total of some products, symbol `a`, any more; None if something always can."""
        if isinstance(self.type, TupleType) and not self.any_will_do:
            return None
        return self.monoid.is_final(Symbol("a", self.type))

    @functools.cached_property
    def reads_old(self) -> bool:
        """Whether what is stored depends on what is there."""
        return self.merged is not None and any(s.payload == "old" for s in semirings.free_symbols(self.merged))

    def reads(self, name: str) -> bool:
        """Whether the product depends on the symbol of this name."""
        return any(s.name == name for s in self.symbols)


@dataclass(frozen=True, eq=False)
class Image:
    """A semiring as plus_times, see `semirings.Image`.

    `into` is a pair of the symbol `value`, `out_of` a function of the symbols `fraction` and `exponent`.
    """

    terms: Terms
    into: Expr
    out_of: Expr
    zero: Any
    least: Any


def _product(
    A: Any, x: Any, semiring: Semiring, by_column: bool, mask: Any, complement: bool, accum: Any, out: Any
) -> Any:
    """What `mxv` and `vxm` share: each row of the matrix (each column) reduces to one value."""
    if not isinstance(semiring, Semiring):
        raise TypeError(f"semiring is {semiring!r}; expected a semirings.Semiring, such as semirings.min_plus")
    lists = _lists(A, by_column, ordered=not semiring.monoid.commutative)
    if mask is None and accum is None and out is None and not complement:
        plain = _again(lists, x, semiring, by_column)
        if plain is not None:
            return plain
    count = len(lists.indptr) - 1
    xp = array_module(lists.indptr)
    x = _vector(x, lists.width, "row" if by_column else "column", xp)
    mask = _mask(mask, complement, count, xp)
    given = _given(out, accum, count, xp)
    if given:
        x, mask, lists = _apart(x, given), _apart(mask, given), _lists_apart(lists, given)
    merging = None if accum is None else (accum, tuple(array.dtype for array in given))
    terms, multiply = _ready(lists, semiring, by_column, x.dtype, mask is not None, merging, xp is np)
    outs = _outs(out, given, terms, semiring.monoid, count, mask is not None, xp)
    work = tuple(o if _is_plain(o) else o.copy() for o in outs) if given else outs
    if not multiply(x, mask, complement, work):
        raise _outside(lists, by_column)
    for o, w in zip(outs, work):
        if o is not w:
            o[...] = w
    return outs if isinstance(terms.out_type, TupleType) else outs[0]


def _again(lists: Lists, x: Any, semiring: Semiring, by_column: bool) -> np.ndarray | None:
    """The product, if one like it is kept and x can be taken as it is; else None.

    After a kernel that has used all caches a line of Python takes a microsecond, so there are as few as can be.
    """
    if type(x) is not np.ndarray or type(lists.indptr) is not np.ndarray or x.shape != (lists.width,):
        return None
    ready = lists.products.get((semiring, by_column, x.dtype, False, None))
    flags = x.flags
    if ready is None or isinstance(ready.terms.out_type, TupleType) or not (flags.c_contiguous and flags.aligned):
        return None
    found = np.empty(len(lists.indptr) - 1, ready.terms.out_type)
    return found if ready.multiply(x, None, False, (found,)) else None  # else the long way finds what is wrong


def _ready(
    lists: Lists, semiring: Semiring, by_column: bool, x_type: Any, masked: bool, merging: Any, on_cpu: bool
) -> Ready:
    """The product over a semiring, kept from an earlier one if the lists are."""
    key = semiring, by_column, x_type, masked, merging
    found = lists.products.get(key)
    if found is None:
        value_type = None if lists.values is None else lists.values.dtype
        terms = trace(semiring, by_column, value_type, x_type, merging)
        found = Ready(terms, engine(device_of(lists.indptr)).products().ready(lists, terms, masked))
        if lists.are_kept:
            if len(lists.products) >= MOST:
                lists.products.clear()
            lists.products[key] = found
    return found


@functools.lru_cache(maxsize=1024)
def trace(semiring: Semiring, by_column: bool, value_type: Any, x_type: Any, merging: Any) -> Terms:
    """Call the functions of a semiring once, with symbols. `merging` is an accumulator and the types of its output."""
    value = semirings.as_expr(True) if value_type is None else Symbol("value", value_type)
    x, row, other = Symbol("x", x_type), Symbol("row", np.int64), Symbol("other", np.int64)
    zero = semirings.constant(0, np.int64)
    args = (x, value, zero, other, row) if by_column else (value, x, row, other, zero)
    product = semirings.as_expr(semirings.trace(semiring.operator.function, *args[: 5 if semiring.positional else 2]))
    if not all(isinstance(part, np.dtype) for part in parts(product.type)):
        raise TypeError(f"{semiring.name} multiplies to {product.type}; expected a number, or a tuple of numbers")
    monoid, lifted, total = semiring.monoid, product, None
    if held := monoid.held:
        monoid.combine(product, product)  # refuses the types that its operator does not work on
        lifted = semirings.as_expr(semirings.trace(held.lift, product))
        total = semirings.as_expr(semirings.trace(held.lower, Symbol("new", lifted.type)))
        if parts(total.type) != parts(product.type):
            raise TypeError(
                f"monoid {monoid.name} lowers to {total.type}; expected {product.type}, as it was lifted from"
            )
        monoid = held.monoid
    is_like_both = product.type == value_type == x_type and value_type.kind == "f"
    image = _image(semiring, value_type, merging) if semiring.image and is_like_both else None
    return Terms(semiring.name, monoid, lifted, *_merged(total, product.type, merging), image)


def _merged(total: Expr | None, kind: Any, merging: Any) -> tuple[Expr | None, Any]:
    """What is stored, if not the total itself, and its type; `kind` is the product's."""
    if merging is None:
        return total, kind
    accum, types = merging
    out_type = TupleType(types) if isinstance(kind, TupleType) else types[0]
    new = Symbol("new", kind) if total is None else total
    merged = semirings.as_expr(semirings.trace(accum, Symbol("old", out_type), new))
    if parts(merged.type) != types:
        raise TypeError(
            f"accum of out, of type {out_type}, and the product, of type {kind}, gives {merged.type}; "
            f"expected {out_type}, to be written back: convert out, or cast in accum"
        )
    return merged, out_type


def _image(semiring: Semiring, kind: np.dtype[Any], merging: Any) -> Image:
    """Trace the functions of a semiring's image, for values of a type of float."""
    given = semiring.image
    assert given is not None
    zero, value = semiring.monoid.identity(kind), Symbol("value", kind)
    # The zero is sheltered: functions may take long for it, and their answer doesn't count.
    into = semirings.trace(
        given.into, semirings.where(value == semirings.constant(zero), semirings.constant(1, kind), value)
    )
    if not (isinstance(into, tuple) and len(into) == 2):
        raise TypeError(
            f"the image of {semiring.name} leads into {into!r}; expected two values, a fraction and an exponent"
        )
    out_of = semirings.as_expr(semirings.trace(given.out_of, Symbol("fraction", kind), Symbol("exponent", kind)))
    if into[0].type != kind or out_of.type != kind:
        raise TypeError(
            f"the image of {semiring.name} leads from {kind} into {into[0].type} and out of it to {out_of.type}; "
            f"expected {kind}"
        )
    fraction, exponent = into
    product = value * Symbol("x", kind)
    terms = Terms(f"{semiring.name}_by_image", semirings.plus, product, *_merged(None, kind, merging))
    into = semirings.as_expr((fraction, semirings.cast(exponent, kind)))
    return Image(terms, into, out_of, zero, kind.type(given.least))


def parts(kind: Any) -> tuple[Any, ...]:
    """The types of the arrays that hold values of a type."""
    return kind.items if isinstance(kind, TupleType) else (kind,)


# --- the matrix ------------------------------------------------------------------------------------------------------


def _lists(A: Any, by_column: bool, ordered: bool) -> Lists:
    """The rows or columns of a matrix. What can be checked only by a pass over them, the kernel checks."""
    if isinstance(A, Graph):
        return _lists_of_graph(A, by_column, ordered)
    form = "csc" if by_column else "csr"
    if on_gpu := device_of(A) == "gpu":
        gpu = engine("gpu").products()
        if known := gpu.known_lists(A, form):
            return known
    require_sparse(A)
    if A.ndim != 2:
        raise ValueError(f"the matrix has shape {A.shape}; expected two dimensions")
    count, width = A.shape[::-1] if by_column else A.shape
    contiguous, given = array_module(A).ascontiguousarray, A
    A = _in_format(A, form)
    indptr, indices = (contiguous(as_ids(name, getattr(A, name))) for name in ("indptr", "indices"))
    if len(indptr) != count + 1:
        raise ValueError(f"indptr has {len(indptr)} entries in a matrix of shape {A.shape}; expected {count + 1}")
    lists = Lists(indptr, indices, as_values(A.data, len(indices)), width)
    if on_gpu:
        gpu.remember(given, lists)
    return lists


def _lists_of_graph(graph: Graph, by_column: bool, ordered: bool) -> Lists:
    if ordered and (lists := (found := graph.in_ if by_column else graph.out).in_order()) is not found:
        values = None if graph.values is None else graph.values[lists.edge_ids]
        return Lists(lists.indptr, lists.indices, values, graph.n)
    return graph.kept("columns", _columns) if by_column else graph.kept("rows", _rows)


def _rows(graph: Graph) -> Lists:
    return Lists(graph.out.indptr, graph.out.indices, graph.out_values, graph.n, are_kept=True)


def _columns(graph: Graph) -> Lists:
    """Those of the rows, where they are the same."""
    if graph.in_.indices is graph.out.indices and graph.in_values is graph.out_values:
        return graph.kept("rows", _rows)
    return Lists(graph.in_.indptr, graph.in_.indices, graph.in_values, graph.n, are_kept=True)


def _in_format(A: Any, wanted: str) -> Any:
    """The matrix as CSR or CSC; unlike SciPy's own conversion, it leaves parallel entries apart."""
    if A.format == wanted:
        return A
    if device_of(A) == "gpu":
        return engine("gpu").products().in_format(A, wanted)
    if A.format == "coo":
        from scipy.sparse import coo_array

        A = coo_array((A.data, as_coordinates(A)), shape=A.shape)  # which looks whether all are inside
        A.has_canonical_format = True  # keeps SciPy from summing them
    elif A.format in ("csr", "csc"):  # SciPy would follow a bad index out of its arrays
        require_compressed(A)
    else:
        A = as_csr(A)
    return A.asformat(wanted)


def _outside(lists: Lists, by_column: bool) -> ValueError:
    return _find_outside(lists, by_column) or ValueError("the matrix changed while it was read; expected it to stay")


def _find_outside(lists: Lists, by_column: bool) -> ValueError | None:
    """The error for the first offset or index of a matrix that points outside it."""
    line, cross = ("column", "row") if by_column else ("row", "column")
    return find_outside(lists.indptr, lists.indices, lists.width, line, cross)


# --- the vectors -----------------------------------------------------------------------------------------------------


def _vector(x: Any, length: int, what: str, xp: Any) -> Array:
    """`x` as a native contiguous array of one value for each row (column) of the matrix."""
    x = _array("x", x, xp)
    kind = x.dtype if x.dtype in SCALARS else x.dtype.newbyteorder("=")
    if kind not in SCALARS:
        raise TypeError(f"x has type {x.dtype}; expected one of {', '.join(SCALAR_NAMES)}; convert with .astype")
    if x.shape != (length,):
        raise ValueError(f"x has shape {x.shape}; expected ({length},), one value for each {what} of the matrix")
    if xp is not np:
        return xp.ascontiguousarray(x)
    flags = x.flags
    is_ready = kind is x.dtype and flags.c_contiguous and flags.aligned  # NumPy takes longer to see it
    return x if is_ready else np.require(x, kind, ["C", "A"])


def _array(name: str, x: Any, xp: Any) -> Array:
    """`x` as an array beside the matrix; it does not cross from one device to the other unasked."""
    if type(x) is xp.ndarray:
        return x
    found = "CuPy" if device_of(x) == "gpu" else "NumPy" if isinstance(x, np.ndarray) else None
    expected = "NumPy" if xp is np else "CuPy"
    if found not in (expected, None):
        raise TypeError(f"{name} is a {found} array and the matrix is {expected}'s; expected both on one device")
    return xp.asarray(x)


def _mask(mask: Any, complement: bool, count: int, xp: Any) -> Array | None:
    """The mask as an array of bool."""
    if mask is None:
        if complement:
            raise ValueError("complement is set and there is no mask; expected mask=, the positions to leave out")
        return None
    mask = _array("mask", mask, xp)
    if mask.dtype.kind not in "biuf":
        raise TypeError(f"mask has type {mask.dtype}; expected bool, or numbers of which those not zero count as True")
    if mask.shape != (count,):
        raise ValueError(f"mask has shape {mask.shape}; expected ({count},), one value for each position of the result")
    return xp.ascontiguousarray(mask if mask.dtype.kind == "b" else mask != 0)


def _given(out: Any, accum: Any, count: int, xp: Any) -> tuple[Array, ...]:
    """The arrays given to write to."""
    if accum is not None and not callable(accum):
        raise TypeError(f"accum is {accum!r}; expected a BinaryOp, a Monoid or a function of two values")
    if out is None:
        if accum is not None:
            raise ValueError("accum merges into what is there, and there is no out; expected out=, an array")
        return ()
    given = out if isinstance(out, tuple) else (out,)
    for array in given:
        if not isinstance(array, xp.ndarray):
            found, kind = type(array), "NumPy" if xp is np else "CuPy"
            name = f"{found.__module__}.{found.__name__}".removeprefix("builtins.")
            raise TypeError(f"out is of type {name}; expected a {kind} array")
        if array.shape != (count,):
            raise ValueError(f"out has shape {array.shape}; expected ({count},)")
        if xp is np and not array.flags.writeable:
            raise ValueError("out is read-only; expected an array that may be written to: pass a copy")
    return given


def _outs(
    out: Any, given: tuple[Array, ...], terms: Terms, monoid: Monoid, count: int, masked: bool, xp: Any
) -> tuple[Array, ...]:
    """The arrays to write to, of the right types; new ones hold the identity where a mask may leave them alone."""
    types = parts(terms.out_type)
    if out is not None:
        found = tuple(array.dtype for array in given)
        if isinstance(out, tuple) != isinstance(terms.out_type, TupleType) or found != types:
            raise TypeError(
                f"out has type {', '.join(map(str, found))} and the product {terms.out_type}; expected the same: "
                "pass an array of that type (for a product that is a tuple, a tuple of arrays)"
            )
        return given
    if not masked:
        return tuple(xp.empty(count, kind) for kind in types)
    identity = monoid.identity(terms.out_type)
    return tuple(xp.full(count, v, t) for v, t in zip(identity if isinstance(identity, tuple) else (identity,), types))


def _is_plain(array: Array) -> bool:
    """Whether kernels can write to it: one value beside the other, aligned."""
    return bool(array.flags.carray if isinstance(array, np.ndarray) else array.flags.c_contiguous)


def _apart(array: Array | None, outs: tuple[Array, ...]) -> Any:
    """A copy of an input that shares memory with an output; else the input itself."""
    if array is not None and any(array_module(o).may_share_memory(array, o) for o in outs):
        return array.copy()
    return array


def _lists_apart(lists: Lists, outs: tuple[Array, ...]) -> Lists:
    """The same for the matrix."""
    indptr, indices, values = (_apart(array, outs) for array in (lists.indptr, lists.indices, lists.values))
    if indptr is lists.indptr and indices is lists.indices and values is lists.values:
        return lists
    return Lists(indptr, indices, values, lists.width)
