"""Checks, before a large result is allocated, that there is memory for the entries that were counted."""

from __future__ import annotations

from gasla.arrays import Device
from gasla.engines import engine

LARGE = 1 << 28  # bytes; smaller results are made without asking for the memory that is available


def available(device: Device) -> int | None:
    """Bytes of memory that are available on a device; None where the system doesn't say."""
    return engine(device).products().available()


def require_memory(what: str, count: int, each: int, there: int | None, instead: str) -> None:
    """Raise MemoryError if `count` entries of `each` bytes exceed the bytes available, `there`; `instead` is advice."""
    if there is not None and count * each > there:
        raise MemoryError(
            f"{what} {count:,} entries, which take {count * each:,} bytes, and {there:,} are available; "
            f"expected fewer: {instead}"
        )


def require_room(what: str, count: int, each: int, device: Device, instead: str) -> None:
    """`require_memory` on a device, which is asked only for a large result."""
    if count * each >= LARGE:
        require_memory(what, count, each, available(device), instead)
