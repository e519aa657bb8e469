"""Types of the kernel language, and the error for kernels that do not compile."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class CompileError(Exception):
    """Raised for a kernel that is not in the language, or whose types do not match. The message names file and line."""


class Type(NamedTuple):
    """The type of a value.

    `kind` is "i" or "u" for integers, "f" for floats, "b" for bool, "n" for no value; of these, "v" is a vector of
    `extent` lanes, "a" a C-contiguous array of `extent` dimensions, "t" a tuple, whose item types are `of`, and "p"
    the address of an item, which kernels can't name.
    """

    kind: str
    bits: int = 0
    of: Any = None
    extent: int = 1

    @property
    def leaves(self) -> tuple[Type, ...]:
        """The scalars and vectors that represent a value: of an array, its address and lengths."""
        if self.kind == "t":
            return tuple(leaf for item in self.of for leaf in item.leaves)
        if self.kind == "a":
            return address_of(self.of), *[I64] * self.extent
        return () if self.kind == "n" else (self,)

    @property
    def ir(self) -> str:
        """The type in LLVM's language."""
        if self.kind in "at":
            return "{ " + ", ".join(leaf.ir for leaf in self.leaves) + " }"
        if self.kind == "v":
            return f"<{self.extent} x {self.of.ir}>"
        if self.kind == "f":
            return {16: "half", 32: "float", 64: "double"}[self.bits]
        return {"n": "void", "p": "ptr"}.get(self.kind) or f"i{self.bits}"

    @property
    def mangled(self) -> str:
        """The type as part of the name of an LLVM intrinsic."""
        lanes = f"v{self.extent}" if self.kind == "v" else ""
        return f"{lanes}{'f' if self.scalar.kind == 'f' else 'i'}{self.scalar.bits}"

    @property
    def stored(self) -> str:
        """The type in memory, where a bool is a byte."""
        return "i8" if self.kind == "b" else self.ir

    @property
    def size(self) -> int:
        """Bytes of an element of an array."""
        return self.of.size * self.extent if self.kind == "v" else max(self.bits // 8, 1)

    @property
    def scalar(self) -> Type:
        """The type of a lane. For anything but a vector, it is the type itself."""
        return self.of if self.kind == "v" else self

    def each(self, scalar: Type) -> Type:
        """Return the scalar type, or a vector of it with as many lanes."""
        return vector_of(scalar, self.extent) if self.kind == "v" else scalar

    @property
    def is_integer(self) -> bool:
        """Whether this is an integer, or a vector of integers."""
        return self.scalar.kind in "iu"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of a scalar type."""
        return np.dtype(bool if self.kind == "b" else f"{self.kind}{self.bits // 8}")

    def __str__(self) -> str:
        if self.kind == "a":
            return f"array[{self.of}]" if self.extent == 1 else f"array[{self.of}, {self.extent}]"
        if self.kind == "v":
            return f"vec[{self.of}, {self.extent}]"
        if self.kind == "t":
            return f"tuple[{', '.join(map(str, self.of))}]"
        return {"b": "bool", "n": "None"}.get(self.kind) or f"{self.kind}{self.bits}"


BOOL, NONE = Type("b", 1), Type("n")
NUMBERS = {
    str(t): t for t in (Type(kind, bits) for kind in "iuf" for bits in (8, 16, 32, 64) if (kind, bits) != ("f", 8))
}
I8, I32, I64, U64, F64 = (NUMBERS[name] for name in ("i8", "i32", "i64", "u64", "f64"))


def array_of(item: Type, dimensions: int = 1) -> Type:
    """Return the type of C-contiguous arrays of items of a type."""
    return Type("a", of=item, extent=dimensions)


def address_of(item: Type) -> Type:
    """Return the type of addresses of items of a type."""
    return Type("p", of=item)


def vector_of(item: Type, lanes: int) -> Type:
    """Return the type of LLVM vectors with lanes of a type."""
    return Type("v", of=item, extent=lanes)


def tuple_of(*items: Type) -> Type:
    """Return the type of tuples with items of these types."""
    return Type("t", of=items)


def scalar_type(dtype: np.dtype[Any]) -> Type:
    """Return the type of NumPy numbers of a dtype."""
    name = "bool" if dtype.kind == "b" else f"{dtype.kind}{8 * dtype.itemsize}"
    scalar = BOOL if name == "bool" else NUMBERS.get(name)
    if scalar is None or not dtype.isnative:
        raise TypeError(
            f"a kernel is given values of type {dtype}; expected bool, an integer or a float, in native order"
        )
    return scalar


def meeting(a: Type, b: Type) -> Type | None:
    """Return the common type of two types, as in NumPy.

    For int64 and uint64, which become float64 in NumPy, return None.
    """
    if a == b:
        return a
    if a.kind == "v" or b.kind == "v":
        vector, scalar = (a, b) if a.kind == "v" else (b, a)
        return vector if meeting(scalar, vector.of) == vector.of else None
    if a.kind not in "biuf" or b.kind not in "biuf":
        return None
    common = scalar_type(np.result_type(a.dtype, b.dtype))
    return None if common.kind == "f" and "f" not in (a.kind, b.kind) else common
