"""Compare a large result with the free memory before it is allocated; every function of gasla does so here."""

from __future__ import annotations

from gasla import host_memory
from gasla.arrays import Device
from gasla.cpu.runtime import memory

LARGE = memory.LARGE


def available(device: Device) -> int | None:
    """Return the bytes of memory that are available on a device, or None where the system doesn't say."""
    return host_memory.free_bytes() if device == "gpu" else memory.available()


def require_memory(what: str, count: int, each: int, there: int | None, instead: str) -> None:
    """Raise MemoryError if `count` entries of `each` bytes exceed the bytes available, `there`. `instead` is advice."""
    if there is not None and count * each > there:
        raise MemoryError(
            f"{what} {count:,} entries, which take {count * each:,} bytes, and {there:,} are available; "
            f"expected fewer: {instead}"
        )


def require_bytes(what: str, needed: int, instead: str) -> None:
    """Raise MemoryError if what is named needs more host memory than is available, in bytes. `instead` is advice."""
    there = available("cpu")
    if there is not None and needed > there:
        raise MemoryError(f"{what} {needed:,} bytes, and {there:,} are available; {instead}")


def require_room(what: str, count: int, each: int, device: Device, instead: str) -> None:
    """Call `require_memory` for a device, which is asked only for a large result."""
    if count * each >= LARGE:
        require_memory(what, count, each, available(device), instead)
