"""The kernel language: random functions run compiled and as plain Python, what is refused, what Python may pass."""

import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_programs import Writer, run_plainly

from gasla.compiler import objects
from gasla.compiler.emit import Emitter
from gasla.compiler.kernel import compile_kernel, new_unit
from gasla.compiler.kernel_types import CompileError


def equal(a: Any, b: Any) -> bool:
    """Whether two numbers, or arrays, are the same, NaN counted as NaN."""
    return bool(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f"))


def check_random(seed: int) -> None:
    """A random function gives the same compiled and plain: what it returns, and what it leaves in arrays."""
    writer = Writer(seed)
    text = writer.text()
    kernel = compile_kernel(new_unit((text, f"random-{seed}")), "f")
    for _ in range(3):
        given = writer.arguments()
        number = np.int64(writer.value("i64"))
        plain, compiled = ([np.copy(x) if isinstance(x, np.ndarray) else x for x in given] for _ in range(2))
        wanted = run_plainly(text, "f", number, *plain)
        found = kernel(int(number), *compiled)
        message = f"seed {seed}, f({number}, {given}):\n{text}"
        assert equal(wanted, np.asarray(wanted).dtype.type(found)), f"returned {found}, expected {wanted}; {message}"
        for a, b in zip(plain, compiled, strict=True):
            assert equal(a, b), f"left {b}, expected {a}; {message}"


@pytest.mark.parametrize("block", range(5))
def test_random_functions_compiled_and_plain(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        check_random(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100))
def test_thousands_of_random_functions_compiled_and_plain(block: int) -> None:
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        check_random(seed)


REFUSED = {
    "def f(number: i64):\n    return missing": "test:2: missing is not known here",
    "def f(number: i64):\n    return [1]": "test:2: [1] (List) is not in the language",
    "def f(number: i64):\n    import os": "test:2: Import is not in the language",
    "def f(number: i64):\n    return number + u64(1)": "test:2: i64 meets u64",
    "def f(number: i64):\n    return number / 2": "test:2: i64 has no operator div",
    "def f(number: i64):\n    return u8(number) + 256": "test:2: 256 is not a value of u8",
    "def f(number: i64, x: array[f64]):\n    x[0] = number": "test:2: this is i64, where f64 is expected",
    "def f(number: i64, x: array[f64]):\n    return x[1.5]": "test:2: an index is f64",
    "def f(number: i64, x: array[f64]):\n    return x[0, 1]": "test:2: array[f64] is given 2 indices",
    "def f(number: i64, x: array[f64]):\n    return x[::2][0]": "test:2: a slice is read only",
    "def f(number: i64, x: array[f64]):\n    return x[-1:][0]": "test:2: -1 bounds a slice",
    "def f(number: i64):\n    if number:\n        k = 1\n    return k": "test:4: k may not be set here",
    "def f(number: i64) -> i64:\n    if number:\n        return 1": "test:1: f may end without returning i64",
    "def f(number: i64):\n    if number:\n        return 1\n    return 1.0": "test:4: 1.0 is not a value of i64",
    "def f(number: i64):\n    return f(number)": "test:2: f calls itself",
    "def f(number: i64):\n    for k in number:\n        pass": "test:2: a loop is over something else",
    "def f(number: i64):\n    for k in range(0, 9, number):\n        pass": "test:2: the step of a range",
    "def f(number: i64):\n    while number:\n        break\n    else:\n        pass": "test:2: a loop has an else",
    "def f(number: i64):\n    x = 1\n    x = 1.5": "test:3: 1.5 is not a value of i64",
    "def f(number: i64):\n    a, b = number": "test:2: i64 is set to 2 names",
    "def f(number: i64):\n    return fetch_add(number, 0, 1)": "test:2: number is not an array of one dimension",
    "def f(number: i64):\n    return sqrt(number)": "test:2: sqrt takes floats, and is given i64",
    "def f(number: i64):\n    return g(number, 1)\ndef g(x): return x": "test:2: g is given 2 arguments; expected 1",
    "def f(number: i64):\n    return g(number)\ndef g(k: const): return k": "test:2: k of g is a value",
    "def f(number: i64, *more): pass": "test:1: f has special parameters",
    "def f(number: i64):\n    return 1 in (1, 2)": "test:2: In is not in the language",
    "def f(number: i64):\n    return 'text'": "test:2: 'text' is not in the language",
    "def f(number: i64):\n    return abs(x=number)": "test:2: a call has keywords",
    "def f(number: i64):\n    return 1 << 99999999999": "test:2: 1 << 99999999999 has no type",
    "def f(number: i64)\n    return 1": "test:1: expected ':'",
    "def f(number: f64): pass": "test:1: f is exported for ['f64']; expected i64 first",
    "for k in range(3): pass": "test:1: For stands outside of functions",
    "def g(): pass": "f is not a function of test",
    "def f(number: i64):\n    return absent(number)\n@extern\ndef absent(x: i64) -> i64: ...": "the function absent",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_in_the_language_is_refused_by_its_line(text: str) -> None:
    with pytest.raises(CompileError) as refusal:
        compile_kernel(new_unit((text, "test")), "f")
    assert REFUSED[text] in str(refusal.value)


def test_arguments_are_checked_before_the_call() -> None:
    text = "def f(number: i64, x: array[f64], y: array[i32, 2], k: u8, flag: bool):\n"
    text += "    x[0] = f64(k) + f64(y[0, 0])"
    kernel = compile_kernel(new_unit((text, "test")), "f")
    x, y = np.zeros(3), np.ones((2, 2), np.int32)
    kernel(0, x, y, 7, True)
    assert x.tolist() == [8, 0, 0]
    for wrong, error, message in [
        ((x, y, 7), TypeError, "given 3 arguments after its number; expected 4"),
        ((x.astype(np.float32), y, 7, True), TypeError, "argument 1 of f is array[f32]; expected array[f64]"),
        ((x, y[0], 7, True), TypeError, "argument 2 of f is array[i32]; expected array[i32, 2]"),
        ((x[::2], y, 7, True), ValueError, "argument 1 of f is not C-contiguous"),
        ((x.astype(">f8"), y, 7, True), TypeError, "native order"),
        ((x, y, 256, True), OverflowError, "argument 3 of f is 256; expected a number that u8 holds"),
        ((x, y, -1, True), OverflowError, "argument 3 of f is -1"),
        ((x, y, 1.5, True), TypeError, "argument 3 of f is f64; expected u8"),
        ((x, y, np.int64(7), True), TypeError, "argument 3 of f is i64; expected u8"),
        ((x, y, 7, 1), TypeError, "argument 4 of f is i64; expected bool"),
        ((None, y, 7, True), TypeError, "a kernel is given None"),
    ]:
        with pytest.raises(error, match=re.escape(message)):
            kernel(0, *wrong)


def test_what_is_known_while_compiling_leaves_no_instruction() -> None:
    text = "def g(a, wide: const):\n    if wide:\n        return a + 1\n    return missing\n"
    text += "def f(number: i64):\n    return g(number, True)"
    assert compile_kernel(new_unit((text, "test")), "f")(41) == 42


def test_constants_given_take_the_place_of_those_in_the_text() -> None:
    text = "LIMIT = 3\ndef f(number: i64):\n    return LIMIT * number"
    assert compile_kernel(new_unit((text, "test")), "f")(2) == 6
    assert compile_kernel(new_unit((text, "test"), LIMIT=5), "f")(2) == 10


def test_a_thread_may_change_what_others_read() -> None:
    """Calls let go of the interpreter's lock, and atomic additions of several threads all count."""
    text = "def f(number: i64, total: array[i64], gate: array[i64]):\n    fetch_add(gate, 0, 1)\n"
    text += "    while load(gate, 0) < 2:\n        pause()\n    for k in range(100000):\n        fetch_add(total, 0, 1)"
    kernel = compile_kernel(new_unit((text, "test")), "f")
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
    compiled = objects._compiled
    monkeypatch.setattr(objects, "_compiled", lambda *given: compilations.append(1) or compiled(*given))
    text = "def f(number: i64):\n    return number + 1"
    for expected in (1, 1):
        assert compile_kernel(new_unit((text, "test")), "f")(1) == 2
        assert len(compilations) == expected
    (stored,) = tmp_path.rglob("*.o")
    whole = stored.read_bytes()
    for damage in (b"", b"nonsense", whole[:-7], bytes([whole[0] ^ 1]) + whole[1:]):
        stored.write_bytes(damage)
        before = len(compilations)
        assert compile_kernel(new_unit((text, "test")), "f")(1) == 2
        assert len(compilations) == before + 1
    assert compile_kernel(new_unit((text.replace("1", "2"), "test")), "f")(1) == 3


def test_the_same_text_gives_the_same_object() -> None:
    text = Writer(5).text()
    first, second = (new_unit((text, "test")) for _ in range(2))
    for unit in (first, second):
        unit.export("f")
    assert first.ir() == second.ir()
    assert objects._compiled(first.ir(), 2, False) == objects._compiled(second.ir(), 2, False)


@pytest.mark.thorough
def test_random_functions_find_a_mistake_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The random functions are worth something: each of these mistakes, planted, is found among a few hundred."""
    found = []
    for name, (old, new) in MISTAKES.items():
        with monkeypatch.context() as patch:
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
