"""Short lists without a branch: the first few values are computed in any case, and the identity replaces some.

How many there are is different from list to list; a wrong guess by the processor costs more than values for nothing.
"""

from typing import Any

import numpy as np

from semirings import TupleType, VectorType
from semirings.printers import numba as printer

FEW = 4  # values of a list that are computed in any case


def within(length: str, k: int, value: str, identity: Any, kind: Any) -> str:
    """The text of value k of a list, a local variable, if the list is longer than that, else of the identity."""
    if isinstance(kind, TupleType | VectorType):
        kinds = kind.items if isinstance(kind, TupleType) else (kind.scalar,) * kind.length
        identities = identity if isinstance(identity, tuple) else np.broadcast_to(identity, len(kinds))
        items = enumerate(zip(identities, kinds, strict=True))
        return "(" + "".join(f"{within(length, k, f'{value}[{i}]', *item)}, " for i, item in items) + ")"
    return f"select({_rank(length, kind)} > {_rank(k, kind)}, {value}, {printer.literal(identity, kind)})"


def combined(values: list[str]) -> str:
    """What so many values come to, a power of two, as a tree."""
    while len(values) > 1:
        values = [f"combine({a}, {b})" for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def _rank(count: Any, kind: Any) -> str:
    """A number below 2**23, as a float that so many others lie between 1 and it where it is floats that are chosen.

    By another comparison than one of floats, LLVM makes it a branch.
    """
    if kind.kind != "f":
        return f"np.uint64({count})"
    word = f"np.int{8 * kind.itemsize}"
    one = np.ones(1, kind).view(f"i{kind.itemsize}").item()
    return f"float_of({word}({word}({count}) + {word}({one})))"
