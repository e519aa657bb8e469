"""Writes functions, structs and constants in CUDA syntax."""

from collections.abc import Callable
from typing import Any

import numpy as np

from semirings import Symbol, TupleType, VectorType
from semirings.printers import cuda

INDENT = "    "


def function(head: str, lines: list[str]) -> str:
    """Return the CUDA source of a static device function, given its head (result type, name and parameters) and body
    lines.
    """
    return "\n".join([f"__device__ __forceinline__ static {head} {{", *(INDENT + line for line in lines), "}"])


def struct(name: str, members: list[tuple[str, str]]) -> str:
    """Return the definition of a C++ struct. Each of its members is given as a pair of a type and a name."""
    return "\n".join([f"struct {name} {{", *(f"{INDENT}{type_name} {member};" for type_name, member in members), "};"])


def combination(name: str, monoid: Any, kind: Any, printed: Callable[..., str] = cuda.function) -> str:
    """Return the CUDA source of a function, called `name`, that combines two values of type `kind` by a monoid."""
    x, y = Symbol("x", kind), Symbol("y", kind)
    return printed(name, [x, y], monoid.combination(kind))


def literal(value: Any, kind: Any) -> str:
    """Return a C++ constant for `value`, of type `kind`. If the type is a vector, a number stands for all its items."""
    if isinstance(kind, VectorType):
        return cuda.literal(np.broadcast_to(value, kind.length), kind)
    if isinstance(kind, TupleType):
        return f"{cuda.ctype(kind)}{{{', '.join(literal(v, k) for v, k in zip(value, kind.items, strict=True))}}}"
    return cuda.literal(value, kind)
