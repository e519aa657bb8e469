"""Is there room for what was counted? Asked before any of it is made, and refused with both numbers."""

from __future__ import annotations

from gasla.arrays import Device
from gasla.engines import engine


def available(device: Device) -> int | None:
    """Bytes that could be had now; None where nobody can say."""
    return engine(device).products().available()


def require_room(what: str, count: int, each: int, there: int | None, instead: str) -> None:
    """Refuse so many entries of so many bytes each if that is more than what is there.

    Raises
    ------
    MemoryError
        With how many there are, what they take, what is there, and what to do.
    """
    if there is not None and count * each > there:
        raise MemoryError(
            f"{what} {count:,} entries, which take {count * each:,} bytes, and {there:,} are available; "
            f"expected fewer: {instead}"
        )
