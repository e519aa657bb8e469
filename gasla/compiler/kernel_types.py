"""The types of the kernel language, and the error that is raised for kernels that can't be compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class CompileError(Exception):
    """Raised for a kernel that the language does not allow, or whose types do not match.

    The message names file and line.
    """


class Type(NamedTuple):
    """The type of a value in a kernel: a number, a vector, an array, a tuple or an address.

    `kind` is "i" for signed and "u" for unsigned integers, "f" for floats, "b" for bool, and "n" for no value. "v" is a
    vector of `extent` lanes, "a" a C-contiguous array of `extent` dimensions, and "t" a tuple. `of` is the type of
    their items (for a tuple, the types). "p" is the address of an item, which kernels have no name for.
    """

    kind: str
    bits: int = 0
    of: Any = None
    extent: int = 1

    @property
    def leaves(self) -> tuple[Type, ...]:
        """The types of the scalars and vectors of which a value of this type consists.

        An array consists of its address and its lengths, and a tuple of the scalars of its items.
        """
        if self.kind == "t":
            return tuple(leaf for item in self.of for leaf in item.leaves)
        if self.kind == "a":
            return address_of(self.of), *[I64] * self.extent
        return () if self.kind == "n" else (self,)

    @property
    def ir(self) -> str:
        """The name of the type in LLVM IR, such as `i64` or `double`."""
        if self.kind in "at":
            return "{ " + ", ".join(leaf.ir for leaf in self.leaves) + " }"
        if self.kind == "v":
            return f"<{self.extent} x {self.of.ir}>"
        if self.kind == "f":
            return {16: "half", 32: "float", 64: "double"}[self.bits]
        return {"n": "void", "p": "ptr"}.get(self.kind) or f"i{self.bits}"

    @property
    def mangled(self) -> str:
        """The type as it appears in the names of LLVM's intrinsic functions, such as `v8f32` for a vector of eight
        floats.
        """
        lanes = f"v{self.extent}" if self.kind == "v" else ""
        return f"{lanes}{'f' if self.scalar.kind == 'f' else 'i'}{self.scalar.bits}"

    @property
    def stored(self) -> str:
        """The LLVM type of a value in memory, where a bool takes a whole byte."""
        return "i8" if self.kind == "b" else self.ir

    @property
    def size(self) -> int:
        """The size in bytes of a value in memory."""
        return self.of.size * self.extent if self.kind == "v" else max(self.bits // 8, 1)

    @property
    def scalar(self) -> Type:
        """The type of one lane of a vector (one of its values). For any other type, the type itself."""
        return self.of if self.kind == "v" else self

    def each(self, scalar: Type) -> Type:
        """Return the type of vectors of `scalar` with as many lanes as this type, or `scalar` if it is no vector."""
        return vector_of(scalar, self.extent) if self.kind == "v" else scalar

    @property
    def is_integer(self) -> bool:
        """Whether the type is an integer, or a vector of integers."""
        return self.scalar.kind in "iu"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of a scalar type."""
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
    """Return the type of C-contiguous arrays with items of the given type."""
    return Type("a", of=item, extent=dimensions)


def address_of(item: Type) -> Type:
    """Return the type of addresses (pointers) of items of the given type."""
    return Type("p", of=item)


def vector_of(item: Type, lanes: int) -> Type:
    """Return the type of SIMD vectors with `lanes` items of the given type."""
    return Type("v", of=item, extent=lanes)


def tuple_of(*items: Type) -> Type:
    """Return the type of tuples with items of the given types."""
    return Type("t", of=items)


def scalar_type(dtype: np.dtype[Any]) -> Type:
    """Return the kernel language's type for numbers of a NumPy dtype.

    Raise a TypeError for dtypes that kernels don't take.
    """
    name = "bool" if dtype.kind == "b" else f"{dtype.kind}{8 * dtype.itemsize}"
    scalar = BOOL if name == "bool" else NUMBERS.get(name)
    if scalar is None or not dtype.isnative:
        raise TypeError(
            f"a kernel is given values of type {dtype}; expected bool, an integer or a float, in native order"
        )
    return scalar


def meeting(a: Type, b: Type) -> Type | None:
    """Return the type to which two operands of different types are converted, as in NumPy, or None if there is none.

    int64 and uint64 have none: NumPy would convert both to float64, which loses digits.
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
