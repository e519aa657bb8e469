"""The number of cores that this process may use: by its CPU affinity, and by the CPU quota of its cgroups."""

import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

CGROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")  # as Linux shows them
NO_LIMIT = 1 << 20


def usable() -> int:
    """The number of threads that can run at the same time; at least one."""
    return min(_bound_to(), _share(CGROUPS, MEMBERSHIP))


def _bound_to() -> int:
    """The number of cores in the affinity mask, which a process may change at any time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _share(cgroups: Path, membership: Path) -> int:
    """The smallest quota of all nested cgroups of this process, in cores, rounded up."""
    quotas = [quota for folder in _groups(cgroups, membership) if (quota := _quota(folder)) > 0]
    return math.ceil(min(quotas, default=NO_LIMIT))


def _groups(cgroups: Path, membership: Path) -> Iterator[Path]:
    """The folders of the cgroups, by the lines "number:controllers:path" of /proc/self/cgroup; some may not exist.

    In a container the path may be the host's, while the root is the container's own group: so the root is included.
    """
    for line in _text(membership).splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        for root in (cgroups / controllers, cgroups / "cpu") if controllers else (cgroups, cgroups / "unified"):
            group = PurePosixPath(path.lstrip("/"))
            yield from (root / part for part in (group, *group.parents))


def _quota(folder: Path) -> float:
    """A group's own quota in cores; 0 if it has none."""
    words = _text(folder / "cpu.max").split()  # cgroup version 2: time in each period, or "max"
    if not words:
        words = [_text(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]  # version 1; or -1
    try:
        quota, period = map(int, words)
        return max(quota / period, 0)
    except (ValueError, ZeroDivisionError):
        return 0


def _text(file: Path) -> str:
    """A file's text; nothing if it can't be read."""
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
