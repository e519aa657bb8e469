"""Checks, before a large result is allocated, that there is memory for the entries that were counted."""

from __future__ import annotations

from gasla.arrays import Device
from gasla.engines import engine


def available(device: Device) -> int | None:
    """Bytes of memory that are available on a device; None where the system doesn't say."""
    return engine(device).products().available()


def require_memory(what: str, count: int, each: int, there: int | None, instead: str) -> None:
    """Raise MemoryError if `count` entries of `each` bytes exceed the bytes available, `there`.

    Raises
    ------
    MemoryError
        Names the entries, the bytes needed, the bytes available, and `instead`, the way out.
    """
    if there is not None and count * each > there:
        raise MemoryError(
            f"{what} {count:,} entries, which take {count * each:,} bytes, and {there:,} are available; "
            f"expected fewer: {instead}"
        )
