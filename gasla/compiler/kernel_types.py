"""Types of the kernel language, and the error that names the line which does not fit them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class CompileError(Exception):
    """A text that is not in the language, or whose types do not fit; the message names file and line."""


class Type(NamedTuple):
    """The type of a value.

    `kind` is "i" or "u" for integers, "f" for floats, "b" for bool, "n" for no value; of these, "v" is a vector of
    `extent` lanes, "a" a C-contiguous array of `extent` dimensions, "t" a tuple, whose item types are `of`, and "p",
    which a text can't name, the address of an item.
    """

    kind: str
    bits: int = 0
    of: Any = None
    extent: int = 1

    @property
    def ir(self) -> str:
        """The type in LLVM's language. An array is an address and its lengths."""
        if self.kind == "t":
            return "{ " + ", ".join("{}" if item.kind == "n" else item.ir for item in self.of) + " }"
        if self.kind == "a":
            return "{ ptr" + ", i64" * self.extent + " }"
        if self.kind == "v":
            return f"<{self.extent} x {self.of.ir}>"
        if self.kind == "f":
            return {16: "half", 32: "float", 64: "double"}[self.bits]
        return {"b": "i1", "n": "void", "p": "ptr"}.get(self.kind) or f"i{self.bits}"

    @property
    def stored(self) -> str:
        """The type in memory, where a bool is a byte."""
        return "i8" if self.kind == "b" else self.ir

    @property
    def size(self) -> int:
        """Bytes of an element of an array."""
        return 1 if self.kind == "b" else self.of.size * self.extent if self.kind == "v" else self.bits // 8

    @property
    def scalar(self) -> Type:
        """The type of a lane; of anything but a vector, the type itself."""
        return self.of if self.kind == "v" else self

    @property
    def is_integer(self) -> bool:
        """Whether this is an integer, or a vector of integers."""
        return self.scalar.kind in "iu"

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's name of a scalar type."""
        return np.dtype(bool if self.kind == "b" else f"{self.kind}{self.bits // 8}")

    def __str__(self) -> str:
        if self.kind == "a":
            return f"array[{self.of}]" if self.extent == 1 else f"array[{self.of}, {self.extent}]"
        if self.kind == "v":
            return f"vec[{self.of}, {self.extent}]"
        if self.kind == "t":
            return f"tuple[{', '.join(map(str, self.of))}]"
        return {"b": "bool", "n": "None"}.get(self.kind) or f"{self.kind}{self.bits}"


BOOL, NONE = Type("b"), Type("n")
NUMBERS = {
    str(t): t for t in (Type(kind, bits) for kind in "iuf" for bits in (8, 16, 32, 64) if (kind, bits) != ("f", 8))
}
I8, I32, I64, U64, F64 = (NUMBERS[name] for name in ("i8", "i32", "i64", "u64", "f64"))


def array_of(item: Type, dimensions: int = 1) -> Type:
    """The type of C-contiguous arrays of such items."""
    return Type("a", of=item, extent=dimensions)


def address_of(item: Type) -> Type:
    """The type of addresses of such items."""
    return Type("p", of=item)


def vector_of(item: Type, lanes: int) -> Type:
    """The type of LLVM's vectors of such lanes."""
    return Type("v", of=item, extent=lanes)


def tuple_of(*items: Type) -> Type:
    """The type of tuples of such items."""
    return Type("t", of=items)


def type_of(value: Any) -> Type:
    """The type that a kernel takes an argument as: NumPy's arrays and numbers, and Python's."""
    if isinstance(value, np.ndarray):
        return array_of(scalar_type(value.dtype), value.ndim)
    if isinstance(value, bool | np.bool_):
        return BOOL
    if isinstance(value, np.generic):
        return scalar_type(value.dtype)
    if isinstance(value, int):
        return I64
    if isinstance(value, float):
        return F64
    raise TypeError(f"a kernel is given {value!r}; expected a NumPy array or a number")


def scalar_type(dtype: np.dtype[Any]) -> Type:
    """The type of NumPy's numbers of a dtype."""
    name = "bool" if dtype.kind == "b" else f"{dtype.kind}{8 * dtype.itemsize}"
    found = BOOL if name == "bool" else NUMBERS.get(name)
    if found is None or not dtype.isnative:
        raise TypeError(
            f"a kernel is given values of type {dtype}; expected bool, an integer or a float, in native order"
        )
    return found


def meeting(a: Type, b: Type) -> Type | None:
    """The type that values of two types meet in, as NumPy has it; but no float stands for int64 and uint64."""
    if a == b:
        return a
    if a.kind == "v" or b.kind == "v":
        vector, scalar = (a, b) if a.kind == "v" else (b, a)
        return vector if meeting(scalar, vector.of) == vector.of else None
    if a.kind not in "biuf" or b.kind not in "biuf":
        return None
    found = scalar_type(np.result_type(a.dtype, b.dtype))
    return None if found.kind == "f" and "f" not in (a.kind, b.kind) else found
