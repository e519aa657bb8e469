"""Is there memory for what was counted? Checked before any of it is made; refused with both numbers."""

from __future__ import annotations

from gasla.arrays import Device
from gasla.engines import engine


def available(device: Device) -> int | None:
    """Bytes that could be had now; None where the system doesn't tell."""
    return engine(device).products().available()


def require_memory(what: str, count: int, each: int, there: int | None, instead: str) -> None:
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
