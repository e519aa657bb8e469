"""The kernel language: random functions run compiled and as plain Python, what is refused, what Python may pass."""

import contextlib
import io
import logging
import platform
import re
import struct
import sys
import threading
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from gasla.compiler import function as functions
from gasla.compiler.emit import Emitter, Extern
from gasla.compiler.function import Call
from gasla.compiler.function import compiled as compiled_function
from gasla.compiler.kernel_types import I64, CompileError
from gasla.compiler.unit import Unit
from tests.helpers.kernel_programs import Writer, compiled, run_plainly


def equal(a: Any, b: Any) -> bool:
    """Whether two numbers, or arrays, are the same, NaN counted as NaN."""
    return bool(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f"))


def check_random(seed: int) -> None:
    """A random function gives the same compiled and plain: what it returns, and what it leaves in arrays."""
    writer = Writer(seed)
    text = writer.text()
    kernel = compiled(text)
    for _ in range(3):
        given = writer.arguments()
        number = np.int64(writer.value("i64"))
        plain, own = ([np.copy(x) if isinstance(x, np.ndarray) else x for x in given] for _ in range(2))
        wanted = run_plainly(text, "f", number, *plain)
        found = kernel(number, *own)
        message = f"seed {seed}, f({number}, {given}):\n{text}"
        assert equal(wanted, np.asarray(wanted).dtype.type(found)), f"returned {found}, expected {wanted}; {message}"
        for a, b in zip(plain, own, strict=True):
            assert equal(a, b), f"left {b}, expected {a}; {message}"


@pytest.mark.parametrize("block", [0, *(pytest.param(k, marks=pytest.mark.thorough) for k in (1, 2, 3, 4))])
def test_random_functions_compiled_and_plain(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        check_random(seed)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, np.float32])
def test_numbers_compare_as_numpys(kind: Any) -> None:
    """The ends of a type with each other: what is above the middle of an unsigned one is not below 0."""

    @compiled_function
    def compare(a, b, found):  # type: ignore[no-untyped-def]
        for i in range(len(a)):
            found[0, i], found[1, i], found[2, i] = a[i] < b[i], a[i] <= b[i], a[i] == b[i]
            found[3, i], found[4, i], found[5, i] = a[i] > b[i], a[i] >= b[i], a[i] != b[i]

    ends = [np.iinfo(kind).min, np.iinfo(kind).max] if np.dtype(kind).kind in "iu" else [np.nan, np.inf]
    a, b = (x.ravel() for x in np.meshgrid(np.array([0, 1, *ends], kind), np.array([0, 1, *ends], kind)))
    found = np.zeros((6, len(a)), bool)
    compare(a, b, found)
    np.testing.assert_array_equal(found, [a < b, a <= b, a == b, a > b, a >= b, a != b])


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100))
def test_thousands_of_random_functions_compiled_and_plain(block: int) -> None:
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        check_random(seed)


REFUSED = {
    "def f(x):\n    return missing": "2: missing is not known here",
    "def f(x):\n    return [1]": "2: [1] (List) is not in the language",
    "def f(x):\n    import os": "2: Import is not in the language",
    "def f(x):\n    return x + u64(1)": "2: i64 meets u64",
    "def f(x):\n    return (x > 1) / True": "2: bool has no operator div",
    "def f(x):\n    return u8(x) + 256": "2: 256 is not a value of u8",
    "def f(x, a):\n    a[0] = f64(x)": "2: f64 is stored in an array of i32",
    "def f(x, a):\n    a[0] = 1.5": "2: 1.5 is not a value of i32",
    "def f(x, a):\n    return a[1.5]": "2: an index is f64",
    "def f(x, a):\n    return a[-1]": "2: -1 is no index",
    "def f(x, a):\n    return a[0, 1]": "2: array[i32] is given 2 indices",
    "def f(x, a):\n    return a[::2][0]": "2: a slice is read only",
    "def f(x, a):\n    return a[-1:][0]": "2: -1 bounds a slice",
    "def f(x):\n    if x:\n        k = 1\n    return k": "4: k may not be set here",
    "def f(x):\n    if x:\n        return 1": "1: f may end without returning i64",
    "def f(x):\n    if x:\n        return 1\n    return 1.0": "4: 1.0 is not a value of i64",
    "def f(x):\n    return f(x)": "2: f calls itself",
    "def f(x):\n    for k in x:\n        pass": "2: a loop is over something else",
    "def f(x):\n    for k in range(0, 9, 0):\n        pass": "2: the step of a range",
    "def f(x):\n    for k in range(0, 9, 1.5):\n        pass": "2: the step of a range",
    "def f(x):\n    while x:\n        break\n    else:\n        pass": "2: a loop has an else",
    "def f(x):\n    y = 1\n    y = 1.5": "3: 1.5 is not a value of i64",
    "def f(x):\n    a, b = x": "2: i64 is set to 2 names",
    "def f(x):\n    return fetch_add_relaxed(x, 0, 1)": "2: x is not an array of one dimension",
    "def f(x):\n    return bits(x)": "2: bits takes a float",
    "def f(x):\n    return g(x, 1)\ndef g(x): return x": "2: g is given 2 arguments; expected 1",
    "def f(x, *more): pass": "1: f has special parameters",
    "def f(x):\n    for k in g(x):\n        pass\ndef g(x):\n    yield x\n    return": "6: g yields and returns",
    "def f(x):\n    return 1 in (1, 2)": "2: In is not in the language",
    "def f(x):\n    return x is x": "2: `is` is for None alone",
    "def f(x):\n    return 'text'": "2: 'text' is not in the language",
    "def f(x):\n    return abs(x=x)": "2: a call has keywords",
    "def f(x):\n    return 1 << 99999999999": "2: 1 << 99999999999 has more than 64 bits",
    "def f(x):\n    return absent(x)": "the function absent",
    "def f(x):\n    return (x, x)": "f is called by Python and returns tuple[i64, i64]",
    "def f(x, a, b, c): pass": "1: f is given 3 arguments; expected 4",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_in_the_language_is_refused_by_its_line(text: str) -> None:
    """A function is called with a number, and with an array of int32 where it takes two arguments."""
    arguments = [1, np.zeros(3, np.int32), 1.5][: text.partition(")")[0].count(",") + 1]
    with pytest.raises(CompileError) as refusal:
        compiled(text, absent=Extern("absent", I64, (I64,)))(*arguments)
    assert REFUSED[text] in str(refusal.value)


def test_arguments_are_checked_before_the_call() -> None:
    kernel = compiled("def f(x, k):\n    x[0] = k")
    x = np.zeros(3)
    kernel(x, np.uint8(7))
    assert x.tolist() == [7, 0, 0]
    for wrong, error, message in [
        ((x,), CompileError, "f is given 1 arguments; expected 2"),
        ((x[::2], np.uint8(7)), ValueError, "not C-contiguous"),
        ((x.astype(">f8"), np.uint8(7)), TypeError, "native order"),
        (("x", 7), TypeError, "a kernel is given 'x'"),
    ]:
        with pytest.raises(error, match=re.escape(message)):
            kernel(*wrong)
    with pytest.raises(OverflowError):
        compiled("def f(x):\n    return x")(1 << 63)


def test_a_call_takes_none_and_tuples_and_what_changed() -> None:
    text = "def f(x, pair, maybe):\n    if maybe is None:\n        return x[0] + pair[0][1]\n    return maybe"
    call = Call(compiled(text))
    x, y = np.arange(3.0), np.arange(5.0, 8)
    assert call.set([x, (y, 1), None])() == 6
    x[0] = 1
    assert call.set([x, (x, 1), None])() == 2
    assert call.set([x, (x, 1), 2.5])() == 2.5
    assert call.set([x.astype(np.float32), (x, 1), None])() == 2


def test_loops_over_items_ranges_and_generators() -> None:
    text = """
def pairs(n, skip):
    for a in range(n):
        if a == skip:
            continue
        yield a, a + 1


def f(x, n, step):
    total = 0
    for item in x:
        total += item
    for k in range(n, 0, step):
        total += 100 * k
    for a, b in pairs(n, 2):
        if a == 1:
            continue
        if b == 5:
            break
        total += 10000 * b
    return total
"""
    assert compiled(text)(np.arange(4), 6, -2) == 6 + 100 * (6 + 4 + 2) + 10000 * (1 + 4)


def test_a_generator_yields_from_a_loop_over_another() -> None:
    text = """
def counts(n):
    for k in range(n):
        yield k


def pairs(n):
    for k in counts(n):
        for other in counts(k):
            yield k, other


def f(n):
    total = 0
    for k, other in pairs(n):
        total += 10 * k + other
    return total
"""
    assert compiled(text)(4) == sum(10 * k + other for k in range(4) for other in range(k))


def test_vectors_take_numbers_as_lanes_and_shift_and_convert_each() -> None:
    text = """
def f(x, out):
    v = load_vector(x, 0, 4)
    w = select(v < 0, 1, v << x.dtype.type(9)) + (v >> splat(x[0], 4))
    store_vector(out, 0, out.dtype.type(w))
"""
    x, out = np.array([1, -1, 127, 9], np.int8), np.zeros(4, np.float32)
    compiled(text)(x, out)
    assert out.tolist() == [0, 1 - 1, 63, 4]


def _adding(number: Any) -> Any:
    def add(x: Any) -> Any:
        return x + number

    return functions.Compiled(add)


def test_what_a_function_takes_from_around_it_is_part_of_it() -> None:
    again, other = _adding(np.int64(1)), _adding(_adding(np.int64(2)))
    assert [_adding(np.int64(k))(5) for k in (1, 2)] == [6, 7]
    assert repr(again) == repr(_adding(np.int64(1))) != repr(_adding(np.int64(2)))
    assert repr(other) == repr(_adding(_adding(np.int64(2)))) != repr(_adding(again))


def test_what_is_known_while_compiling_leaves_no_instruction() -> None:
    text = "def g(a, wide):\n    if wide is None:\n        return a + 1\n    return missing\n"
    text += "def f(number):\n    return g(number, None)"
    assert compiled(text)(41) == 42


def test_none_in_a_tuple_is_known_where_it_is_taken_out() -> None:
    text = "def g(pair, k):\n    return pair[0][k] if pair[1] is None else pair[1][k]\n"
    text += "def f(number, x, y):\n    a, b = (x, y), (None, None)\n"
    text += "    return g(a, number) if b[0] is None else missing"
    x = np.arange(5, 8)
    assert compiled(text)(1, x, None) == 6
    assert compiled(text)(2, x, x + 10) == 17


def test_a_thread_may_change_what_others_read() -> None:
    """Calls let go of the interpreter's lock, and atomic additions of several threads all count."""
    text = "def f(number, total, gate):\n    fetch_add_relaxed(gate, 0, 1)\n"
    text += "    while load_acquire(gate, 0) < 2:\n        pause()\n"
    text += "    for k in range(100000):\n        fetch_add_relaxed(total, 0, 1)"
    kernel = compiled(text)
    total, gate = np.zeros(1, np.int64), np.zeros(1, np.int64)
    threads = [threading.Thread(target=kernel, args=(k, total, gate)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert total[0] == 200_000


def test_code_is_stored_and_a_damaged_file_is_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path))
    compilations = []
    plain = functions.compile_ir
    monkeypatch.setattr(functions, "compile_ir", lambda *given, **more: compilations.append(1) or plain(*given, **more))
    text = "def f(x):\n    return x + 1"
    for expected in (1, 1):
        assert compiled(text)(1) == 2
        assert len(compilations) == expected
    (stored,) = (file for file in tmp_path.rglob("*") if file.is_file())
    whole = stored.read_bytes()
    for damage in (b"", b"nonsense", whole[:-7], bytes([whole[0] ^ 1]) + whole[1:]):
        stored.write_bytes(damage)
        before = len(compilations)
        assert compiled(text)(1) == 2
        assert len(compilations) == before + 1
    assert compiled(text)(1.5) == 2.5
    assert compiled(text.replace("1", "2"))(1) == 3


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
def test_an_error_of_loading_new_code_is_told(
    kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored code is loaded first, and compiled anew if that fails."""

    def refuse(*codes: bytes) -> None:
        refused.append(codes)
        raise kind("no memory may be executed")

    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path))
    text, refused = "def f(x):\n    return x - 1", list[tuple[bytes, ...]]()
    with monkeypatch.context() as patch:
        patch.setattr(functions, "Loaded", refuse)
        for count in (1, 3):
            with pytest.raises(kind, match="no memory may be executed"):
                compiled(text)(1)
            assert len(refused) == count
    assert compiled(text)(1) == 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_whoever_waits_is_told_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """On a terminal, unless GASLA_QUIET is set or the log has it; never in a pipe."""
    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("GASLA_QUIET", raising=False)
    monkeypatch.setattr(functions, "SECONDS", 0.0)
    monkeypatch.setattr(functions, "_waits", [])

    def told(stream: io.StringIO, number: int) -> str:
        with contextlib.redirect_stderr(stream):
            assert compiled(f"def waited_for(x):\n    return x + {number}", "waited_for")(1) == number + 1
            assert compiled(f"def waited_for(x):\n    return x + {number}", "waited_for")(1) == number + 1
        return stream.getvalue()

    message = r"gasla compiled waited_for in \d+\.\d s; later calls and processes find it stored\n"
    assert re.fullmatch(message, told(Terminal(), 1))
    assert told(io.StringIO(), 2) == ""
    with monkeypatch.context() as patch:
        patch.setenv("GASLA_QUIET", "1")
        assert told(Terminal(), 3) == ""
    functions._waits.clear()
    caplog.set_level(logging.DEBUG, "gasla")
    assert told(Terminal(), 4) == ""
    (record,) = caplog.records
    assert record.levelno == logging.DEBUG and re.fullmatch(r"compiled waited_for in \d+\.\d{3} s", record.getMessage())


def test_the_same_text_gives_the_same_object() -> None:
    text, made = Writer(5).text(), []
    for _ in range(2):
        unit = Unit()
        writer = Writer(5)
        writer.text()
        kinds = tuple(map(functions.kind_of, [np.int64(1), *writer.arguments()]))
        unit.export(compiled(text).kernel_function, kinds)
        made.append((unit.ir(), functions.compile_ir(unit.ir())))
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("triple", "magic"),
    [
        ("x86_64-unknown-linux-gnu", b"\x7fELF"),
        ("aarch64-unknown-linux-gnu", b"\x7fELF"),
        ("arm64-apple-macosx11.0.0", b"\xcf\xfa\xed\xfe"),
        ("x86_64-pc-windows-msvc", b"\x64\x86"),
    ],
)
def test_objects_for_other_systems_are_emitted(triple: str, magic: bytes) -> None:
    """None but those for this system are run."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    text = (
        "def f(number, gate, x):\n    while load_acquire(gate, 0) < 2:\n        pause()\n"
        "    return sqrt(x[number]) + exp(x[0])"
    )
    unit = Unit(triple)
    kinds = tuple(map(functions.kind_of, [1, np.zeros(1, np.int64), np.zeros(3)]))
    unit.export(compiled(text).kernel_function, kinds)
    assert functions.compile_ir(unit.ir(), target=(triple, "", "")).startswith(magic)


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="reads ELF for x86-64")
def test_parts_of_an_object_may_lie_anywhere() -> None:
    """What code refers to, constants and functions of C, it reaches by addresses of 64 bits."""
    text = "def f(number, x):\n    for k in range(number):\n        x[k] = exp(x[k]) + 0.1 + table[k & 1]"
    unit = Unit()
    function = compiled(text, table=np.array([1.5, 2.5])).kernel_function
    unit.export(function, tuple(map(functions.kind_of, [1, np.zeros(3)])))
    sections = llvm.ObjectFileRef.from_data(functions.compile_ir(unit.ir())).sections()
    kinds = set()
    for section in sections:
        if (section.name() or b"").startswith(b".rela"):
            kinds |= {info & 0xFFFFFFFF for _, info, _ in struct.iter_unpack("<QQq", section.data())}
    r_x86_64_64, r_x86_64_pc64 = 1, 24
    assert r_x86_64_64 in kinds
    assert kinds <= {r_x86_64_64, r_x86_64_pc64}


@pytest.mark.thorough
def test_random_functions_find_a_mistake_of_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The random functions are worth something: each of these mistakes, planted, is found among a few hundred."""
    found = []
    for name, (old, new) in MISTAKES.items():
        with monkeypatch.context() as patch:
            patch.setenv("GASLA_CACHE_DIR", str(tmp_path / name))  # wrong code is stored under the key of right code
            patch.setattr(
                Emitter, "make", lambda *given, old=old, new=new: MAKE(*given[:2], given[2].replace(old, new))
            )
            try:
                for seed in range(400):
                    check_random(seed)
            except AssertionError:
                found.append(name)
    assert found == list(MISTAKES)


MAKE = Emitter.make
MISTAKES = {  # none of which keeps a loop from ending
    "a signed comparison that is unsigned": ("icmp slt", "icmp ult"),
    "an arithmetic shift that is logical": ("ashr", "lshr"),
    "an extension without the sign": ("sext i8", "zext i8"),
    "NaN that is equal": ("fcmp une", "fcmp one"),
    "a division that ignores signs": ("sdiv", "udiv"),
    "a product that is a sum": ("mul i32", "add i32"),
}
