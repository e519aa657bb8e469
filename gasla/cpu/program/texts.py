"""Text in Numba's language that asks nothing of a program: values in arrays, constants, short lists."""

from typing import Any

import numpy as np

from gasla.program.plan import Part
from semirings import TupleType, VectorType
from semirings.printers import numba as printer
from semirings.types import has_wide


def load_text(array: str, kind: Any, at: str, races: bool = False) -> str:
    """The value of a field at an index: a tuple of items for a vector. `races` where others may write it meanwhile.

    A wide vector stays where it is.
    """
    if has_wide(kind):
        return f"{array}[{at}]"
    if isinstance(kind, VectorType):
        items = (f"load_unordered({array}[{at}], {i})" if races else f"{array}[{at}, {i}]" for i in range(kind.length))
        return "(" + "".join(f"{item}, " for item in items) + ")"
    return f"load_unordered({array}, {at})" if races else f"{array}[{at}]"


def store_text(array: str, kind: Any, at: str, value: str, races: bool = False) -> list[str]:
    """Statements that store a value at an index; `races` where others may read or write it meanwhile."""
    if has_wide(kind):
        return [f"copy_lanes({array}[{at}], {value}, {kind.length})"]
    if isinstance(kind, VectorType):
        items = range(kind.length)
        if races:
            return [f"store_unordered({array}[{at}], {i}, {value}[{i}])" for i in items]
        return [f"{array}[{at}, {i}] = {value}[{i}]" for i in items]
    return [f"store_unordered({array}, {at}, {value})" if races else f"{array}[{at}] = {value}"]


def part_text(value: str, part: Part) -> str:
    """One number of a local variable."""
    item = value if part.item is None else f"{value}[{part.item}]"
    return item if part.lane is None else f"{item}[{part.lane}]"


def place_text(array: str, part: Part, at: str) -> str:
    """The array and the index where one number is, as functions of atomic operations take them."""
    return f"{array}, {at}" if part.lane is None else f"{array}[{at}], {part.lane}"


def literal_text(value: Any, kind: Any) -> str:
    """A constant of any type."""
    if isinstance(kind, TupleType):
        return "(" + "".join(f"{literal_text(v, k)}, " for v, k in zip(value, kind.items)) + ")"
    if isinstance(kind, VectorType):
        return "(" + "".join(f"{printer.literal(v, kind.scalar)}, " for v in np.broadcast_to(value, kind.length)) + ")"
    return printer.literal(value, kind)


# --- short lists without a branch: a wrong guess by the processor costs more than values for nothing ------------------


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
