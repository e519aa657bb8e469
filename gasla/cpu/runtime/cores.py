"""The number of cores that this process may use, limited by its CPU affinity and by the CPU quota of its cgroups."""

import math
import os
from functools import cache
from pathlib import Path

from gasla import cgroups

NO_LIMIT = 1 << 20


def usable() -> int:
    """Return how many threads can run at the same time on the cores that this process may use, at least 1."""
    return min(_cores_in_affinity(), _share(cgroups.CGROUPS, cgroups.MEMBERSHIP))


def _cores_in_affinity() -> int:
    """Return the number of cores in the affinity mask of this process, which may change at any time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _share(root: Path, membership: Path) -> int:
    """Return the smallest CPU quota of all nested cgroups of this process, in cores, rounded up, or `NO_LIMIT`.

    `root` is the folder of cgroups, and `membership` the file that names the cgroup of this process.
    """
    quotas = [quota for folder in cgroups.folders("cpu", root, membership) if (quota := _quota(folder)) > 0]
    return math.ceil(min(quotas, default=NO_LIMIT))


def _quota(folder: Path) -> float:
    """Return the CPU quota of the cgroup in a folder of the system, as a number of cores, or 0 if it has none."""
    # cgroup version 2 has one file with two words: the CPU time in each period, or "max", and the length of the period
    quota_and_period = cgroups.text(folder / "cpu.max").split()
    # cgroup version 1 has two files, for the CPU time and for the period, where a CPU time of -1 means no quota
    if not quota_and_period:
        quota_and_period = [cgroups.text(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    try:
        quota, period = map(int, quota_and_period)
        return max(quota / period, 0)
    except (ValueError, ZeroDivisionError):
        return 0
