"""Memory that runs out: an allocator for NumPy's arrays, or CuPy's, of which the k-th allocation fails."""

import contextlib
import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

# NumPy frees arrays while an exception is on its way, so its allocator can't be written in Python. The struct is
# `PyDataMem_Handler` of NumPy's C API.
ALLOCATOR = """
#include <stdlib.h>
struct { long left, failing, live; } counts = {-1, 0, 0};
static int fails() {
    if (counts.left > 0) return counts.left--, 0;
    return counts.left == 0 && counts.failing > 0 ? counts.failing-- : 0;
}
static void* count(void* place) { counts.live += place != NULL; return place; }
static void* new_(void* c, size_t size) { return fails() ? NULL : count(malloc(size)); }
static void* zeros(void* c, size_t n, size_t size) { return fails() ? NULL : count(calloc(n, size)); }
static void* other(void* c, void* place, size_t size) { return fails() ? NULL : realloc(place, size); }
static void free_(void* c, void* place, size_t size) { counts.live -= place != NULL; free(place); }
struct {
    char name[127]; unsigned char version; void* context;
    void *(*new_)(void*, size_t), *(*zeros)(void*, size_t, size_t), *(*other)(void*, void*, size_t);
    void (*free_)(void*, void*, size_t);
} handler = {"failing", 1, NULL, new_, zeros, other, free_};
"""
SET_HANDLER = 304  # where `PyDataMem_SetHandler` is in that API


class Failing(ctypes.Structure):
    """Which allocations fail: the k-th from now on, and some of those after it. `live` counts what is held."""

    _fields_ = [("left", ctypes.c_long), ("failing", ctypes.c_long), ("live", ctypes.c_long)]

    def arm(self, k: int, failing: int) -> None:
        """Let `failing` allocations fail, the first of them after k others."""
        self.left, self.failing = k, failing

    def disarm(self) -> bool:
        """Let no more fail; whether any did."""
        had_failed, self.left = self.left == 0, -1
        return had_failed

    def fails(self) -> bool:
        if self.left > 0:
            self.left -= 1
        elif self.left == 0 and self.failing > 0:
            self.failing -= 1
            return True
        return False


@functools.cache  # for good: arrays that it made may live as long as the process
def _allocator() -> tuple[Failing, Any]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "allocator.c").write_text(ALLOCATOR)
        command = ["gcc", "-shared", "-fPIC", "-o", f"{folder}/allocator.so", f"{folder}/allocator.c"]
        subprocess.run(command, check=True)
        library = ctypes.CDLL(f"{folder}/allocator.so")
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    handler = ctypes.addressof(ctypes.c_char.in_dll(library, "handler"))
    return Failing.in_dll(library, "counts"), new(handler, b"mem_handler", None)


def _set_handler(capsule: Any) -> Any:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[SET_HANDLER])(capsule)


@contextlib.contextmanager
def of_numpy() -> Iterator[Failing]:
    """All that NumPy allocates for arrays."""
    counts, capsule = _allocator()
    before = _set_handler(capsule)
    try:
        yield counts
    finally:
        counts.disarm()
        _set_handler(before)


@contextlib.contextmanager
def of_cupy() -> Iterator[Failing]:
    """All that CuPy allocates on the GPU, and page-locked."""
    import cupy

    counts = Failing(-1)

    def failing(allocate: Any) -> Any:
        def allocator(size: int) -> Any:
            if counts.fails():
                raise cupy.cuda.memory.OutOfMemoryError(size, 0, 0)
            return allocate(size)

        return allocator

    before, pinned = cupy.cuda.get_allocator(), cupy.get_default_pinned_memory_pool()
    cupy.cuda.set_allocator(failing(before))
    cupy.cuda.set_pinned_memory_allocator(failing(pinned.malloc))
    try:
        yield counts
    finally:
        cupy.cuda.set_allocator(before)
        cupy.cuda.set_pinned_memory_allocator(pinned.malloc)
