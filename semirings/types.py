"""The types of symbolic values: NumPy scalar types, vectors of scalars, and tuples.

A scalar type is a plain ``numpy.dtype``. `VectorType` is a fixed number of equal scalars (a field of
shape ``(k,)``). `TupleType` is several values of any types, optionally named. A cast of scalars is the same everywhere:
like ``astype``, except that float to integer saturates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

SCALAR_NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")

# The length of the longest vector that is replaced by its items. A longer vector is *wide*: it is computed by loops.
SHORT = 8

HALF: np.dtype[Any] = np.dtype(np.float16)

# Items of tuples can't have these names, because they are attributes of Expr.
_OWN_ATTRIBUTES = ("op", "type", "dtype", "args", "payload", "astype", "name")


@dataclass(frozen=True)
class VectorType:
    """
    A fixed number of scalars of one type: the type of a field of shape ``(length,)``.

    It deliberately has no attribute `dtype`: NumPy would treat it as that dtype, and compare it equal.
    """

    scalar: np.dtype[Any]
    length: int

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"a vector type of length {self.length}: a vector has at least one element")

    @property
    def is_wide(self) -> bool:
        """Whether the vector is longer than `SHORT` items, so that operations on it are loops (`semirings.expr`)."""
        return self.length > SHORT

    def __str__(self) -> str:
        return f"{self.scalar}[{self.length}]"


@dataclass(frozen=True)
class TupleType:
    """Several values, such as ``(distance, parent)``. With `names` they are readable as attributes."""

    items: tuple[Type, ...]
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", tuple(as_type(item) for item in self.items))
        if not self.items:
            raise ValueError("a tuple type without items: a tuple has at least one")
        if any(isinstance(item, TupleType) for item in self.items):
            raise TypeError(f"tuple type {self} holds a tuple: its items must be scalars or vectors")
        if self.names is not None and len(self.names) != len(self.items):
            raise ValueError(f"{len(self.names)} names for a tuple of {len(self.items)} items: give one name an item")
        for name in self.names or ():
            if not name.isidentifier() or name in _OWN_ATTRIBUTES:
                raise ValueError(f"a tuple item called {name!r}: choose an identifier other than {_OWN_ATTRIBUTES}")

    def __str__(self) -> str:
        if self.names is None:
            return f"({', '.join(map(str, self.items))})"
        return f"({', '.join(f'{name}: {item}' for name, item in zip(self.names, self.items, strict=True))})"


Type: TypeAlias = "np.dtype[Any] | VectorType | TupleType"


def as_type(spec: Any, stored: bool = False) -> Type:
    """
    Return the type of symbolic values that `spec` stands for: a dtype, a vector type or a tuple type.

    Parameters
    ----------
    spec : dtype-like, (dtype, (k,)), sequence of types, mapping of names to types, or a type
        A structured dtype or a mapping stands for a tuple type with names.
    stored : bool
        Whether float16 is allowed. It is a storage type: computations on it are in float32.

    Returns
    -------
    numpy.dtype, VectorType or TupleType

    Examples
    --------
    >>> as_type("float32")
    dtype('float32')
    >>> print(as_type((np.float32, (3,))))
    float32[3]
    >>> print(as_type((np.float64, np.int32)))
    (float64, int32)
    >>> print(as_type({"distance": np.float64, "parent": np.int32}))
    (distance: float64, parent: int32)
    """
    if isinstance(spec, VectorType | TupleType):
        return spec
    if isinstance(spec, Mapping):
        return TupleType(tuple(spec.values()), tuple(spec))
    if isinstance(spec, tuple | list):
        return _vector_or_tuple(tuple(spec), stored)
    try:
        dtype = np.dtype(spec)
    except TypeError:
        raise TypeError(f"{spec!r} is not a type: give a NumPy dtype, (dtype, (k,)) or a tuple of types") from None
    if dtype.names is not None:
        return TupleType(tuple(as_type(dtype[name]) for name in dtype.names), dtype.names)
    if dtype.subdtype is not None:
        return _vector_or_tuple(dtype.subdtype, stored)
    return scalar_type(dtype, stored)


def _vector_or_tuple(spec: tuple[Any, ...], stored: bool) -> Type:
    """Return the type for a tuple: a vector type for ``(dtype, (k,))``, and otherwise a tuple type of its items."""
    is_shape = len(spec) == 2 and isinstance(spec[1], tuple) and all(isinstance(k, int | np.integer) for k in spec[1])
    if is_shape:
        dtype, shape = spec
        if len(shape) > 1:
            raise TypeError(f"a field of shape {shape}: only scalars, shape (), and vectors, shape (k,), are supported")
        scalar = scalar_type(dtype, stored)
        return VectorType(scalar, int(shape[0])) if shape else scalar
    return TupleType(spec)


def scalar_type(spec: Any, stored: bool = False) -> np.dtype[Any]:
    """Return the scalar type that a dtype-like object stands for, in the machine's byte order.

    Raise TypeError for anything that is no supported scalar type. `stored` also allows float16, in which
    values may be stored but not computed.
    """
    dtype = np.dtype(spec)
    if dtype.name not in SCALAR_NAMES and not (stored and dtype == HALF):
        raise TypeError(f"{dtype} is not a supported type: use one of {', '.join(SCALAR_NAMES)}")
    native: np.dtype[Any] = np.dtype(dtype.name)
    return native


def computed(type: Type) -> Type:
    """Return the type in which values of a stored type are computed: float32 for float16, else the type itself."""
    if isinstance(type, VectorType):
        return VectorType(np.dtype(np.float32), type.length) if type.scalar == HALF else type
    return np.dtype(np.float32) if type == HALF else type


def has_wide(type: Type) -> bool:
    """Return whether a type is a wide vector, or a tuple with a wide vector."""
    return any(isinstance(part, VectorType) and part.is_wide for part in parts_of(type))


def parts_of(type: Type) -> tuple[Type, ...]:
    """Return the types of the items of a tuple type. For any other type, return a tuple with the type itself."""
    return type.items if isinstance(type, TupleType) else (type,)


def cast_array(value: Any, dtype: np.dtype[Any]) -> Any:
    """
    Cast an array, or a scalar, to `dtype`.

    Integers wrap; a float outside the range of an integer type becomes the nearest integer in it, NaN becomes 0.

    Examples
    --------
    >>> cast_array(np.array([1.9, -1e9, np.inf, np.nan]), np.dtype(np.int8))
    array([   1, -128,  127,    0], dtype=int8)
    """
    # CuPy arrays are not converted, so that they are cast on the GPU
    array = value if hasattr(value, "astype") else np.asanyarray(value)
    if array.dtype.kind == "f" and dtype.kind in "iu":
        array = _saturate(array, dtype)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            array = array.astype(dtype, copy=False)  # an array of a subclass keeps its class
    return array if isinstance(value, np.ndarray) else array[()]


def _saturate(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Convert floats to integers, rounded towards zero. Values out of range become the nearest integer of the type.

    They are compared with -2**bits and 2**bits, which floats represent exactly. The largest integer may not be exact.
    """
    limits = np.iinfo(dtype)
    below = array < float(limits.min)
    above = array >= float(limits.max + 1)
    inside = ~(below | above | np.isnan(array))
    result = np.where(inside, array, 0).astype(dtype)
    return np.where(above, dtype.type(limits.max), np.where(below, dtype.type(limits.min), result))
