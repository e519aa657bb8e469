"""The table of functions that compiled code may call is true of the systems that it names."""

import ctypes
import platform
import sys

import pytest

from gasla.compiler import objects, system


@pytest.mark.skipif(sys.platform not in system.FUNCTIONS, reason="the table has no row for this system")
def test_this_system_has_every_function_of_its_row() -> None:
    for name in system.FUNCTIONS[sys.platform]:
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
