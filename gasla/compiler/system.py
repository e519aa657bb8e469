"""The functions of each system that compiled code may call: one table, for this system and for objects for others.

Where systems differ, modules of kernels ask `has` when they are imported, and define what is compiled accordingly.
"""

from __future__ import annotations

import sys

_OF_LLVM = "sqrt floor ceil trunc rint exp exp2 log log2 log10 sin cos"
_OF_C = "tan asin acos atan sinh cosh tanh expm1 log1p cbrt atan2 hypot fmod nextafter pow"
MATH = {name + end for name in f"{_OF_LLVM} {_OF_C}".split() for end in ("", "f")}  # for float64; with "f" for float32
ANYWHERE = {
    *MATH,
    *("memcpy", "memmove", "memset"),  # LLVM calls these for loops that do the same
    *("PyThread_acquire_lock", "PyThread_release_lock", "PyThread_get_thread_ident"),
}
POSIX = {*ANYWHERE, "usleep", "clock_gettime"}
FUNCTIONS = {  # by `sys.platform`; for the sine and the cosine of one number, LLVM calls one function
    "linux": {  # each that is not Python's is in glibc 2.17
        *(*POSIX, "sincos", "sincosf"),
        *("sched_getcpu", "sched_getaffinity", "sched_setaffinity", "pthread_self", "pthread_getcpuclockid"),
    },
    # A thread can't be bound to a core, and has no clock that others may read.
    "darwin": {*POSIX, "__sincos_stret", "__sincosf_stret", "bzero", "__bzero", "memset_pattern16"},
    # As on macOS. `__chkstk` touches the pages of a large stack frame.
    "win32": {*ANYWHERE, "Sleep", "QueryPerformanceCounter", "__chkstk"},
}
GLIBC = 2, 17  # oldest glibc with all functions of the row for Linux; the tag of wheels for Linux names it
LIBRARIES = {"win32": ("ucrtbase", "kernel32", "ntdll")}  # where the process can't be asked for its functions
OTHER_NAMES = {"win32": {"hypotf": "_hypotf"}}  # names of these functions in the libraries
CURRENT = sys.platform


def has(name: str) -> bool:
    """Return whether this system has a function."""
    return name in functions(CURRENT)


def functions(platform: str) -> set[str]:
    """Return the functions that code for a system may call. A system without a row in the table has POSIX's."""
    return FUNCTIONS.get(platform, POSIX)
