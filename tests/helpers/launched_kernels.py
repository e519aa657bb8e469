"""Runs on GPUs without a GPU: kernels end as soon as they are launched, and compute nothing.

So what a call costs the host can be counted, and what it does when a launch fails. Arrays are those of the stand-in for
CuPy, in host memory.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gasla import arrays
from gasla.distributed import thread_ranks
from gasla.distributed.thread_ranks import ThreadRanks
from gasla.gpu.program import engine, peers, rows, workspace
from gasla.gpu.runtime import compile, joint_memory, waiting
from tests.helpers import strict_cupy

MULTIPROCESSORS, STREAM = 132, 7


class Memory:
    """Some bytes, as CuPy's allocator returns them."""

    def __init__(self, size: int) -> None:
        self.bytes = np.zeros(size, np.uint8)
        self.ptr = int(self.bytes.ctypes.data)


class Pinned(np.ndarray):
    """Some bytes of the host, as CuPy's allocator returns them."""

    @property
    def ptr(self) -> int:
        return int(self.ctypes.data)


def _pinned(size: int) -> Any:
    return np.zeros(size, np.uint8).view(Pinned)


class Card:
    """One of the GPUs, as a context."""

    now = 0

    def __init__(self, number: int | None = None) -> None:
        self.id = Card.now if number is None else number
        self.attributes = {"MultiProcessorCount": MULTIPROCESSORS, "MaxSharedMemoryPerBlockOptin": 227 << 10}

    def __enter__(self) -> None:
        self._before, Card.now = Card.now, self.id

    def __exit__(self, *_: object) -> None:
        Card.now = self._before


class Kernel:
    """A kernel that ends at once, after the last iteration allowed."""

    launched = 0
    blocks = MULTIPROCESSORS

    def __init__(self, *_: Any) -> None:
        pass

    def grid(self, blocks: int | None = None) -> int:
        return min(self.blocks, blocks or self.blocks)

    def launch_prepared(self, blocks: int, pointers: Any) -> None:
        arguments, _ = pointers._struct_and_pointer
        Kernel.launched += 1
        page = workspace.Page.from_address(arguments.page)
        page.control.iteration, page.control.round = arguments.limit, getattr(arguments, "met", 0) + 1
        page.ended = arguments.launch


class Array(strict_cupy.CardArray):
    """An array that may be made of memory, as CuPy's are."""

    def __init__(self, shape: Any, dtype: Any = None, memory: Memory | None = None) -> None:
        if memory is not None:
            kind = np.dtype(dtype)
            count = int(np.prod(shape)) * kind.itemsize
            shape = memory.bytes[:count].view(kind).reshape(shape)
        super().__init__(shape)
        self.device = SimpleNamespace(id=Card.now)


Array.__module__ = "cupy"


def _partition(indptr: Any, indices: Any, whole: int | None = None) -> rows.RowPartition:
    found = rows.properties_of(strict_cupy.plain(indptr), strict_cupy.plain(indices))
    return rows.RowPartition(found, rows.PACKED, found.longest, 0, 0, (), np.zeros((), rows.ROWS))


def with_launched_kernels(patch: pytest.MonkeyPatch, cards: int) -> ThreadRanks:
    """Let gasla find some GPUs. Return ranks with a GPU each."""
    fake: Any = strict_cupy.without_gpu(patch)
    patch.setattr(strict_cupy, "CardArray", Array)
    fake.ndarray = Array
    stream = SimpleNamespace(ptr=STREAM, synchronize=lambda: None)
    runtime = SimpleNamespace(
        getDevice=lambda: Card.now,
        getDeviceCount=lambda: cards,
        deviceCanAccessPeer=lambda one, other: True,
        deviceEnablePeerAccess=lambda card: None,
        streamQuery=lambda stream: 0,
        CUDARuntimeError=OSError,
    )
    fake.cuda = SimpleNamespace(
        Device=Card,
        get_current_stream=lambda: stream,
        alloc=Memory,
        alloc_pinned_memory=_pinned,
        runtime=runtime,
        is_available=lambda: True,
    )
    fake.get_default_memory_pool = lambda: SimpleNamespace(free_all_blocks=lambda: None)
    patch.setattr(joint_memory, "require_gpu", lambda: fake)
    patch.setattr(peers, "require_gpu", lambda: fake)
    for module in (engine, workspace, thread_ranks):
        if hasattr(module, "require_gpu"):
            patch.setattr(module, "require_gpu", lambda: fake)
    patch.setattr(arrays, "_are_several", lambda: cards > 1)
    patch.setattr(compile, "Kernel", Kernel)
    patch.setattr(compile, "compile_ahead", lambda source: None)
    patch.setattr(compile, "multiprocessors", lambda: MULTIPROCESSORS)
    patch.setattr(compile, "most_shared", lambda: 227 << 10)
    patch.setattr(engine, "free_bytes", lambda: 1 << 40)
    patch.setattr(rows, "compile_hub_neighbors", lambda *_: None)
    patch.setattr(rows, "find_hub_neighbors", lambda *_: None)
    patch.setattr(rows, "partition_rows", _partition)
    for module in (engine, peers, waiting):
        if hasattr(module, "is_idle"):
            patch.setattr(module, "is_idle", lambda: False)
    return ThreadRanks(cards, list(range(cards)))
