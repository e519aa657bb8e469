"""Measured limits of the hardware: rates of copies, random reads and atomic additions, and the time of a barrier.

Each is measured by a kernel that does nothing else: on the CPU on gasla's threads, on the GPU through
`gasla.gpu.runtime.compile`. Because small arrays fit in caches, rates are measured for several array sizes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gasla.arrays import Device

SIZES = tuple(1 << k for k in (16, 20, 22, 24, 26, 28))  # sizes in bytes of the arrays on which rates are measured
REPEATS = 3  # number of measurements, of which the fastest counts
# maximum number of times that one measurement copies a small array, to make the time long enough to measure
MOST_ROUNDS = 1 << 13
WORD = 4  # number of bytes per random read or atomic addition


@dataclass(frozen=True)
class Ceilings:
    """The measured limits of a device: rates per second for several array sizes in bytes, and the time of a barrier."""

    device: Device
    copy: dict[int, float]  # bytes read plus bytes written, per second
    gather: dict[int, float]  # random reads of 4 bytes, per second
    atomics: dict[int, float]  # atomic additions to 4 bytes, per second
    barrier: float  # seconds for all threads to wait for each other once

    def rate(self, kind: str, size: float) -> float:
        """Return the highest rate of a kind ("copy", "gather" or "atomics") that was measured on arrays of about `size`
        bytes or more.
        """
        rates: dict[int, float] = getattr(self, kind)
        measured_size = max((s for s in rates if s <= size), default=min(rates))
        return max(rate for s, rate in rates.items() if s >= measured_size)

    def as_dict(self) -> dict[str, Any]:
        """Return the ceilings as a JSON object."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Ceilings:
        """Return the ceilings that `as_dict` converted to a JSON object."""
        rates = {kind: {int(s): r for s, r in saved[kind].items()} for kind in ("copy", "gather", "atomics")}
        return cls(**{**saved, **rates})


def measure(device: Device, sizes: tuple[int, ...] = SIZES) -> Ceilings:
    """Measure all limits of a device, which takes about two seconds.

    Examples
    --------
    >>> found = measure("cpu", sizes=(1 << 16,))
    >>> found.rate("copy", 1e9) > 0
    True
    """
    machine: Any = {"cpu": Cpu, "gpu": Gpu}[device]()
    copy, gather, atomics = (
        {size: max(_rate(work, size) for _ in range(REPEATS)) for size in sizes}
        for work in (machine.copy, machine.gather, machine.atomics)
    )
    return Ceilings(device, copy, gather, atomics, min(machine.barrier() for _ in range(REPEATS)))


def _rate(work: Callable[[int], tuple[float, float]], size: int) -> float:
    amount, seconds = work(size)
    return amount / seconds


class Cpu:
    """The measurements of the CPU's limits. Each method returns the amount of work done and the time that it took in
    seconds.
    """

    BYTES, READS, ADDS, WAITS = 1 << 28, 1 << 24, 1 << 22, 1 << 12

    def __init__(self) -> None:
        from gasla.bench.limits import ceilings_cpu
        from gasla.cpu.runtime.threads import num_threads

        self.kernels, self.threads = ceilings_cpu, num_threads()
        # the first call of each measurement compiles its kernel, so its time is ignored
        for work in (self.copy, self.gather, self.atomics):
            work(1 << 12)

    def _seconds(self, kernel: Any, *arguments: Any) -> float:
        from gasla.cpu.runtime.threads import new_control, run_parallel

        control = new_control()
        start = time.perf_counter()
        run_parallel(kernel, control, arguments, self.threads, short=True)
        return time.perf_counter() - start

    def copy(self, size: int) -> tuple[float, float]:
        a, b = np.ones((2, size // 8), np.float32)
        rounds = max(2, min(self.BYTES // (2 * size), MOST_ROUNDS))
        return rounds * size, self._seconds(self.kernels.copy, a, b, rounds)

    def gather(self, size: int) -> tuple[float, float]:
        x, sums = np.ones(size // WORD, np.uint32), np.zeros(64 * self.threads, np.uint32)
        return self.READS, self._seconds(self.kernels.gather, x, np.uint32(self.READS // self.threads), sums)

    def atomics(self, size: int) -> tuple[float, float]:
        x = np.ones(size // WORD, np.uint32)
        return self.ADDS, self._seconds(self.kernels.add, x, np.uint32(self.ADDS // self.threads))

    def barrier(self) -> float:
        return self._seconds(self.kernels.wait, self.WAITS) / self.WAITS


SOURCE = """
#include "ceilings.cuh"
using namespace gasla;
extern "C" __global__ void copy(float4* a, float4* b, u64 count, u32 rounds) { copy_words(a, b, count, rounds); }
extern "C" __global__ void gather(const u32* x, u32 mask, u32 reads, u32* sum) { gather_words(x, mask, reads, sum); }
extern "C" __global__ void add(u32* x, u32 mask, u32 adds) { add_to_words(x, mask, adds); }
extern "C" __global__ void wait(u32* counter, u32 rounds) { wait_often(counter, rounds); }
"""


class Gpu:
    """The measurements of the GPU's limits. Each method returns the amount of work done and the time that it took in
    seconds.
    """

    BYTES, READS, ADDS, WAITS = 1 << 34, 1 << 29, 1 << 27, 1 << 10
    THREADS = 512

    def __init__(self) -> None:
        import cupy

        from gasla.gpu.runtime.compile import Kernel

        self.cupy = cupy
        names = "copy", "gather", "add"
        self.kernels = {name: Kernel(SOURCE, name, self.THREADS, blocks_per_multiprocessor=4) for name in names}
        self.kernels["wait"] = Kernel(SOURCE, "wait", 1024)
        for work in (self.copy, self.gather, self.atomics, lambda _: self.barrier()):
            work(1 << 16)

    def _seconds(self, launch: Callable[[], None]) -> float:
        stream = self.cupy.cuda.get_current_stream()
        stream.synchronize()
        start = time.perf_counter()
        launch()
        stream.synchronize()
        return time.perf_counter() - start

    def copy(self, size: int) -> tuple[float, float]:
        a, b = self.cupy.ones((2, size // 8), np.float32)
        rounds, kernel = max(2, min(self.BYTES // (2 * size), MOST_ROUNDS)), self.kernels["copy"]
        words = np.uint64(size // 32)
        return rounds * size, self._seconds(lambda: kernel.plain(kernel.blocks, a, b, words, np.uint32(rounds)))

    def gather(self, size: int) -> tuple[float, float]:
        x, total, kernel = self._words(size), self.cupy.zeros(1, np.uint32), self.kernels["gather"]
        each = self.READS // (kernel.blocks * self.THREADS) // 8 * 8
        mask = np.uint32(len(x) - 1)
        done = each * kernel.blocks * self.THREADS
        return done, self._seconds(lambda: kernel.plain(kernel.blocks, x, mask, np.uint32(each), total))

    def atomics(self, size: int) -> tuple[float, float]:
        x, kernel = self._words(size), self.kernels["add"]
        each = self.ADDS // (kernel.blocks * self.THREADS)
        done, mask = each * kernel.blocks * self.THREADS, np.uint32(len(x) - 1)
        return done, self._seconds(lambda: kernel.plain(kernel.blocks, x, mask, np.uint32(each)))

    def _words(self, size: int) -> Any:
        return self.cupy.ones(size // WORD, np.uint32)

    def barrier(self) -> float:
        counter, kernel = self.cupy.zeros(2, np.uint32), self.kernels["wait"]
        return self._seconds(lambda: kernel.cooperative(counter, np.uint32(self.WAITS))) / self.WAITS
