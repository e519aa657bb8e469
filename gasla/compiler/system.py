"""The functions of each operating system that compiled code may call.

The table includes other systems than the current one, as wheels contain code that runs on them. Modules of kernels call
`has` when they are imported, and define what is compiled accordingly.
"""

from __future__ import annotations

import sys

_OF_LLVM = "sqrt floor ceil trunc rint exp exp2 log log2 log10 sin cos"
_OF_C = "tan asin acos atan sinh cosh tanh expm1 log1p cbrt atan2 hypot fmod nextafter pow"
# Mathematical functions of C, for float64, and with an "f" at the end of the name for float32.
MATH = {name + end for name in f"{_OF_LLVM} {_OF_C}".split() for end in ("", "f")}
ANYWHERE = {
    *MATH,
    *("memcpy", "memmove", "memset"),  # LLVM turns loops that copy or fill memory into calls of these functions
    *("PyThread_acquire_lock", "PyThread_release_lock", "PyThread_get_thread_ident"),
}
POSIX = {*ANYWHERE, "usleep", "clock_gettime"}
# For each value of `sys.platform`, the C functions that compiled code may call. LLVM itself calls some of them, such as
# `sincos` for the sine and the cosine of one number.
FUNCTIONS = {
    "linux": {  # apart from Python's functions, all of these are in glibc 2.17
        *(*POSIX, "sincos", "sincosf"),
        *("sched_getcpu", "sched_getaffinity", "sched_setaffinity", "pthread_self", "pthread_getcpuclockid"),
    },
    # macOS has no functions that bind a thread to a core or read another thread's clock.
    "darwin": {*POSIX, "__sincos_stret", "__sincosf_stret", "bzero", "__bzero", "memset_pattern16"},
    # Windows has no functions that bind a thread to a core or read another thread's clock, either. LLVM calls
    # `__chkstk` to touch the pages of a large stack frame.
    "win32": {*ANYWHERE, "Sleep", "QueryPerformanceCounter", "__chkstk"},
}
# The oldest glibc that has all functions listed for Linux. The tag of Linux wheels names the same version.
GLIBC = 2, 17
# On Windows, functions can't be looked up in the whole process, but only in a given library. They are in these
# libraries.
LIBRARIES = {"win32": ("ucrtbase", "kernel32", "ntdll")}
OTHER_NAMES = {"win32": {"hypotf": "_hypotf"}}  # C functions that have another name in the system's libraries
CURRENT = sys.platform


def has(name: str) -> bool:
    """Return whether this operating system has a C function that compiled code may call."""
    return name in functions(CURRENT)


def functions(platform: str) -> set[str]:
    """Return the names of the C functions that compiled code may call on a platform (a value of `sys.platform`).

    A platform without a row in the table `FUNCTIONS` has the functions of POSIX.
    """
    return FUNCTIONS.get(platform, POSIX)
