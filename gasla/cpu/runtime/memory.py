"""The free memory of the system and of a container."""

from __future__ import annotations

import re
from pathlib import Path

_SYSTEM, _GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def available() -> int | None:
    """Bytes that can be allocated now without swapping; None if the system does not say."""
    found = [bytes_ for bytes_ in (_of_system(), _of_group()) if bytes_ is not None]
    return min(found, default=None)


def _of_system() -> int | None:
    line = re.search(r"^MemAvailable: *(\d+) kB$", _read(_SYSTEM), re.MULTILINE)
    return 1024 * int(line[1]) if line else None


def _of_group() -> int | None:
    """The rest of the memory limit of this process's container."""
    limit, used = (_read(_GROUP / name).strip() for name in ("memory.max", "memory.current"))
    return max(int(limit) - int(used), 0) if limit.isdigit() and used.isdigit() else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
