"""The table of functions that compiled code may call is true of this system, and holds what objects for others call."""

import ctypes
import os
import platform
import re
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from gasla.compiler import function, objects, system
from gasla.compiler.unit import Unit
from gasla.cpu.runtime.intrinsics import now
from tests.helpers.kernel_programs import compiled

SYSTEMS = {  # `sys.platform`, and how each processor's calling convention passes the first two arguments
    "x86_64-unknown-linux-gnu": ("linux", "rdi", "rsi"),
    "aarch64-unknown-linux-gnu": ("linux", "x0", "x1"),
    "arm64-apple-darwin": ("darwin", "x0", "x1"),
    "x86_64-apple-darwin": ("darwin", "rdi", "rsi"),
    "x86_64-pc-windows-msvc": ("win32", "rcx", "rdx"),
    "x86_64-pc-windows-msvc-elf": ("win32", "rcx", "rdx"),
}


@pytest.mark.skipif(sys.platform not in system.FUNCTIONS, reason="the table has no row for this system")
def test_this_system_has_every_function_of_its_row() -> None:
    for name in system.functions(sys.platform):
        objects._resolve(name)  # or raises


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="asks the C library by versions")
def test_the_c_library_of_manylinux_has_every_function() -> None:
    """By versions of symbols: no function is younger than the C library that wheels are tagged with."""
    libraries = [ctypes.CDLL("libc.so.6"), ctypes.CDLL("libm.so.6")]
    find = libraries[0].dlvsym
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    versions = [b"GLIBC_2.2.5", *(b"GLIBC_2.%d" % k for k in range(3, system.GLIBC[1] + 1)), b"GLIBC_2.3.4"]

    def is_old(name: str) -> bool:
        return any(find(library._handle, name.encode(), v) for library in libraries for v in versions)

    assert not is_old("getentropy")  # of 2.25
    python = {name for name in system.FUNCTIONS["linux"] if name.startswith("PyThread")}
    assert [name for name in system.FUNCTIONS["linux"] - python if not is_old(name)] == []


def test_the_clock_is_that_of_python() -> None:
    read = compiled("def f(number):\n    return now() + number", now=now)
    assert read(1) > 1
    before = time.perf_counter_ns()
    between = read(0)
    assert before <= between <= time.perf_counter_ns()


def ir(triple: str, text: str, **names: Any) -> str:
    """The IR of a function of two floats and of an array, for a system."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    unit = Unit(triple)
    unit.export(
        compiled(text, **names).kernel_function, tuple(map(function.kind_of, [1, np.zeros(1), np.zeros(1, np.float32)]))
    )
    return unit.ir()


@pytest.mark.parametrize("triple", SYSTEMS)
def test_undefined_symbols_are_read_from_every_format(triple: str) -> None:
    """All functions of C that the language has, of both types; one call each, and they are all in the table."""
    lines = [f"    x[0] = {name}(x[0])\n    y[0] = {name}(y[0])" for name in system._OF_C.split()[:10]]
    lines += [f"    x[0] = {name}(x[0], x[1])\n    y[0] = {name}(y[0], y[1])" for name in system._OF_C.split()[10:]]
    code = objects.compile_ir(ir(triple, "def f(number, x, y):\n" + "\n".join(lines)), target=(triple, "", ""))
    expected = {name + end for name in system._OF_C.split() for end in ("", "f")}
    assert objects.undefined(code) == expected <= system.functions(SYSTEMS[triple][0])


@pytest.mark.parametrize("triple", SYSTEMS)
def test_what_other_objects_define_is_not_undefined(triple: str) -> None:
    target = triple, "", ""
    caller = objects.compile_ir(
        "declare void @a_long_name()\ndefine void @f() { call void @a_long_name() ret void }", target=target
    )
    callee = objects.compile_ir("define void @a_long_name() { ret void }", target=target)
    assert objects.undefined(caller) == {"a_long_name"}
    assert objects.undefined(caller, callee) == objects.undefined(callee) == set()


def test_other_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="expected ELF, Mach-O or COFF"):
        objects.undefined(b"\0asm" + bytes(100))


@pytest.mark.parametrize("triple", SYSTEMS)
def test_arguments_are_passed_as_the_system_does(triple: str) -> None:
    """`entry(number, words)`, which ctypes calls."""
    module = llvm.parse_assembly(
        "define void @entry(i64 %number, ptr %words) { store i64 %number, ptr %words ret void }",
    )
    module.triple = triple
    text = objects._machine((triple, "", "")).emit_assembly(module)
    _, number, words = SYSTEMS[triple]
    assert re.search(rf"movq\s+%{number}, \(%{words}\)|str\s+{number}, \[{words}\]", text)


RELOCATIONS = {  # addresses of 64 bits, whole or in four parts; or by tables of these that the loader makes nearby
    "x86_64-unknown-linux-gnu": {1, 24},
    "aarch64-unknown-linux-gnu": {264, 266, 268, 269, 283},
    "arm64-apple-darwin": {5, 6},
    "x86_64-apple-darwin": {0},
    "x86_64-pc-windows-msvc": {1},
    "x86_64-pc-windows-msvc-elf": {1},
}


@pytest.mark.parametrize("triple", SYSTEMS)
def test_parts_of_an_object_may_lie_anywhere(triple: str) -> None:
    text = "def f(number, x, y):\n    for k in range(number):\n        x[k] = exp(x[k]) + 0.1 + table[k & 1]"
    code = objects.compile_ir(ir(triple, text, table=np.array([1.5, 2.5])), target=(triple, "", ""))
    assert set() < relocations(code) <= RELOCATIONS[triple]


def relocations(code: bytes) -> set[int]:
    """The kinds of the relocations in an object."""
    found = set()
    if code.startswith(b"\x7fELF"):
        for section in llvm.ObjectFileRef.from_data(code).sections():
            if (section.name() or b"").startswith(b".rela") and b"eh_frame" not in section.name():
                found |= {info & 0xFFFFFFFF for _, info, _ in struct.iter_unpack("<QQq", section.data())}
    elif code.startswith(b"\xcf\xfa\xed\xfe"):
        at, (commands,) = 32, struct.unpack_from("<I", code, 16)
        for _ in range(commands):
            command, size = struct.unpack_from("<II", code, at)
            sections = range(struct.unpack_from("<I", code, at + 64)[0]) if command == 0x19 else ()
            for begins in (at + 72 + 80 * number for number in sections):
                start, count = struct.unpack_from("<II", code, begins + 56)
                entries = struct.iter_unpack("<iI", code[start : start + 8 * count])
                if not code[begins:].startswith((b"__eh_frame", b"__compact_unwind")):
                    found |= {word >> 28 for _, word in entries}
            at += size
    else:
        for begins in range(20, 20 + 40 * struct.unpack_from("<H", code, 2)[0], 40):
            start, _, count = struct.unpack_from("<IIH", code, begins + 24)
            found |= {kind for _, _, kind in struct.iter_unpack("<IIH", code[start : start + 10 * count])}
    return found


@pytest.mark.parametrize("triple", SYSTEMS)
def test_threads_call_what_the_system_has(triple: str, tmp_path: Path) -> None:
    called, count = called_by(triple, tmp_path, "threads")
    assert count == 2
    assert called <= system.functions(SYSTEMS[triple][0])
    assert called >= {"PyThread_acquire_lock", "Sleep" if "windows" in triple else "usleep"}


@pytest.mark.thorough
@pytest.mark.parametrize("triple", SYSTEMS)
def test_programs_call_what_the_system_has(triple: str, tmp_path: Path) -> None:
    names = "bfs", "pagerank", "sssp", "connected_components", "mxv(g, x, semirings.min_plus)", "random_walks"
    called, count = called_by(triple, tmp_path, *names)
    assert count >= 20
    assert called <= system.functions(SYSTEMS[triple][0])


def called_by(triple: str, folder: Path, *names: str) -> tuple[set[str], int]:
    """What the objects for calls of the library call, and the number of kernels."""
    command = [sys.executable, "-m", "tests.helpers.cross_compile", SYSTEMS[triple][0], triple, *names]
    environment = {**os.environ, "GASLA_CACHE_DIR": str(folder), "GASLA_QUIET": "1", "GASLA_NUM_THREADS": "1"}
    *called, count = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    return {*called}, int(count)
