"""Checks whether a large result fits the free memory, before the result is allocated."""

from __future__ import annotations

from gasla import host_memory
from gasla.arrays import Device
from gasla.cpu.runtime import memory

LARGE = memory.LARGE


def available(device: Device) -> int | None:
    """Return the bytes of memory that are available on a device, or None if the operating system doesn't tell."""
    return host_memory.free_bytes() if device == "gpu" else memory.available()


def require_memory(what: str, count: int, each: int, there: int | None, instead: str) -> None:
    """Raise MemoryError if `count` entries of `each` bytes need more than `there`, the bytes of free memory.

    If `there` is None, it is unknown, and nothing is raised. The message begins with `what` and ends with `instead`,
    which says what the caller can do.
    """
    if there is not None and count * each > there:
        raise MemoryError(
            f"{what} {count:,} entries, which take {count * each:,} bytes, and {there:,} are available; "
            f"expected fewer: {instead}"
        )


def require_bytes(what: str, needed: int, instead: str) -> None:
    """Raise MemoryError if `needed` bytes are more than the host memory that is available.

    The message begins with `what` and ends with `instead`, which says what the caller can do.
    """
    available_bytes = available("cpu")
    if available_bytes is not None and needed > available_bytes:
        raise MemoryError(f"{what} {needed:,} bytes, and {available_bytes:,} are available; {instead}")


def require_room(what: str, count: int, each: int, device: Device, instead: str) -> None:
    """Raise MemoryError if a result of `count` entries of `each` bytes does not fit the available memory of a device.

    A small result always passes, without a query for the available memory, which takes time.
    """
    if count * each >= LARGE:
        require_memory(what, count, each, available(device), instead)
