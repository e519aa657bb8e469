"""LLVM's instructions whose result may be poison or undefined: each is emitted only in a form that prevents it."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest

from gasla.compiler.function import kind_of
from gasla.compiler.objects import host
from gasla.compiler.unit import Unit
from gasla.cpu.runtime import modules
from tests.helpers.language_table import table
from tests.helpers.semirings_engines import python_source

Definitions = dict[str, str]  # instructions by the name of their result


class Guard(NamedTuple):
    """An operation that may be poison or undefined, and whether an instruction of it is guarded."""

    pattern: str
    what_prevents_it: str
    is_guarded: Callable[[str, Definitions], bool]


def _never(line: str, known: Definitions) -> bool:
    return False


def _is_selected(line: str, known: Definitions) -> bool:
    """Whether the second operand is a constant that is safe, or chosen by a comparison."""
    kind, _, second = re.search(r" (i\d+) (\S+), (\S+)$", line).groups()  # type: ignore[union-attr]
    if second.isdigit():
        return int(second) < int(kind[1:]) if "div" not in line and "rem" not in line else int(second) > 0
    return known.get(second, "").startswith("select i1 ")


def _has_false(line: str, known: Definitions) -> bool:
    return "i1 false)" in line


def _is_filled(line: str, known: Definitions) -> bool:
    """Whether poison is where the first of all parts is put."""
    return bool(re.search(r"insert(value|element) \S.* poison, .*, (i32 )?0$|shufflevector .*zeroinitializer$", line))


def _counts(line: str, known: Definitions) -> bool:
    """Whether a counter that was loaded, and is below the end of its range, is increased by one."""
    found = re.search(r"add n[su]w i\d+ (\S+), 1$", line)
    return bool(found) and re.match(r"load i\d+, ptr %count\.", known.get(found[1], "")) is not None  # type: ignore[index]


GUARDS = [
    Guard(r"\bfrem\b", "the C library's fmod is called, which LLVM knows nothing of", _never),
    Guard(r"\b(nnan|ninf|fast|arcp|contract|afn)\b", "no such flag is emitted", _never),
    Guard(r"\b(reassoc|nsz)\b", "only sums in an order of LLVM's choice have these, which no expression is", _never),
    Guard(r"\bfpto[us]i\b(?!\.sat)", "llvm.fptosi.sat and llvm.fptoui.sat saturate", _never),
    Guard(r"\bundef\b", "none is emitted", _never),
    Guard(r"\bexact\b", "none is emitted", _never),
    Guard(r"\b(disjoint|nneg|samesign|nusw)\b", "none is emitted", _never),
    Guard(r"\b(shl|ashr|lshr)\b", "a count of the width or more is replaced first", _is_selected),
    Guard(r"\b[su](div|rem)\b", "divisors 0 and -1 are replaced first", _is_selected),
    Guard(r"\bn[su]w\b", "only on counters of loops, which stay below an end of their type", _counts),
    Guard(r"@llvm\.(cttz|ctlz|abs)\.", "the flag that makes 0, or the least integer, poison is false", _has_false),
    Guard(r"\bpoison\b", "all lanes or items are set", _is_filled),
    Guard(
        r"\binbounds\b",
        "loops over an array count below its length; item_at compares the index with it",
        lambda line, known: "getelementptr inbounds" in line,
    ),
    Guard(
        r"= call \S+ @(?!llvm\.)[a-z]\w*\(",
        "nobuiltin: LLVM may not replace a function of C by what is poison for some arguments",
        lambda line, known: " nobuiltin " in line,
    ),
]


def _instructions(text: str) -> Iterator[tuple[str, Definitions]]:
    """The instructions of all functions, each with those before it in its function."""
    known: Definitions = {}
    for line in text.splitlines():
        if line.startswith("define"):
            known = {}
        elif line.startswith("  "):
            yield line, known
            name, _, instruction = line.strip().partition(" = ")
            known[name] = instruction


def _emitted(dtype: np.dtype, names: tuple[str, ...] = ()) -> str:
    """The IR of a table of expressions, before LLVM sees it."""
    made, unit = table(dtype, names), Unit(host()[0])
    programs = made.programs
    module = modules.load(python_source(programs), "printed")
    for number, program in enumerate(programs):
        arrays = [*made.given, *(np.empty(1, result.type) for result in program.results)]
        unit.export(getattr(module, f"kernel{number}").kernel_function, tuple(map(kind_of, arrays)))
    return unit.ir()


def _check(text: str) -> Counter[str]:
    """Count the instructions that each guard lets through, and find those that none does."""
    seen: Counter[str] = Counter()
    for line, known in _instructions(text):
        for guard in GUARDS:
            if re.search(guard.pattern, line.split(' c"')[0]):
                assert guard.is_guarded(line, known), f"{line.strip()}: expected that {guard.what_prevents_it}"
                seen[guard.pattern] += 1
    return seen


def test_delicate_expressions_are_guarded() -> None:
    names = "remainder", "floor_divide", "left_shift", "right_shift", "cast to int8", "cast to uint64", "absolute"
    seen = _check(_emitted(np.dtype(np.int32), names))
    assert all(seen[guard.pattern] > 0 for guard in GUARDS if guard.is_guarded in (_is_selected, _has_false))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32"])
def test_all_expressions_are_guarded(dtype: str) -> None:
    print(_check(_emitted(np.dtype(dtype))))


@pytest.mark.parametrize(
    "line",
    [
        "  %a = frem double %x, %y",
        "  %a = fadd nnan double %x, %y",
        "  %a = fptosi double %x to i32",
        "  %a = shl i32 %x, %y",
        "  %a = shl i32 %x, 32",
        "  %a = sdiv i32 %x, %y",
        "  %a = sdiv i32 %x, 0",
        "  %a = add nsw i32 %x, 1",
        "  %a = call i32 @llvm.cttz.i32(i32 %x, i1 true)",
        "  %a = call double @fmod(double %x, double %y)",
        "  %a = select i1 %c, i32 %x, i32 poison",
    ],
)
def test_what_is_not_guarded_is_found(line: str) -> None:
    with pytest.raises(AssertionError, match="expected that"):
        _check(f"define void @f() {{\n{line}\n}}")
