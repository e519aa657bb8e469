"""The functions of each system that compiled code may call."""

from __future__ import annotations

_OF_ONE = (
    "sqrt floor ceil trunc rint exp exp2 log log2 log10 sin cos tan asin acos atan sinh cosh tanh expm1 log1p cbrt"
)
_OF_TWO = "atan2 hypot fmod nextafter pow"
MATH = {name + end for name in f"{_OF_ONE} {_OF_TWO}".split() for end in ("", "f")}  # of float64 and of float32
ANYWHERE = {
    *MATH,
    *("memcpy", "memmove", "memset"),  # by LLVM, for loops that do the same
    *("PyThread_acquire_lock", "PyThread_release_lock", "PyThread_get_thread_ident"),
}
FUNCTIONS = {  # by `sys.platform`
    # Each of the C library is in glibc 2.17. LLVM makes `sincos` of a sine and a cosine of the same number.
    "linux": {
        *ANYWHERE,
        *("usleep", "clock_gettime", "sincos", "sincosf"),
        *("sched_getcpu", "sched_getaffinity", "sched_setaffinity", "pthread_self", "pthread_getcpuclockid"),
    },
}
GLIBC = 2, 17  # the oldest that has all functions of the row for Linux: what wheels for Linux are tagged with
