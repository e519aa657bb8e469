"""The number of cores that this process may use: by its CPU affinity, and by the CPU quota of its cgroups."""

import math
import os
from functools import cache
from pathlib import Path

from gasla import cgroups

NO_LIMIT = 1 << 20


def usable() -> int:
    """Return the number of threads that can run at the same time. It is at least one."""
    return min(_bound_to(), _share(cgroups.CGROUPS, cgroups.MEMBERSHIP))


def _bound_to() -> int:
    """Return the number of cores in the affinity mask, which a process may change at any time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _share(root: Path, membership: Path) -> int:
    """Return the smallest quota of all nested cgroups of this process, in cores, rounded up."""
    quotas = [quota for folder in cgroups.folders("cpu", root, membership) if (quota := _quota(folder)) > 0]
    return math.ceil(min(quotas, default=NO_LIMIT))


def _quota(folder: Path) -> float:
    """Return a group's own quota in cores, or 0 if it has none."""
    words = cgroups.text(folder / "cpu.max").split()  # cgroup version 2: time in each period, or "max"
    if not words:  # version 1, with a quota of -1 for none
        words = [cgroups.text(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    try:
        quota, period = map(int, words)
        return max(quota / period, 0)
    except (ValueError, ZeroDivisionError):
        return 0
