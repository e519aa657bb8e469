"""The memory that this process can still allocate, by limits of the system, of the container and of the process."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gasla import cgroups
from gasla.log import LOG

_SYSTEM = Path("/proc/meminfo")
LARGE = 1 << 26  # number of bytes up to which arrays are made without asking how much memory is available


def available() -> int | None:
    """Return how many bytes this process can allocate now without swapping, or None if the system does not tell.

    From a limit on the address space (RLIMIT_AS), the part in use is subtracted. From a limit on data (RLIMIT_DATA)
    nothing is subtracted, because the data in use includes freed memory that allocations use again.
    """
    available_to_cgroups = cgroups.memory_left(cgroups.CGROUPS, cgroups.MEMBERSHIP)
    limits = [
        bytes_
        for bytes_ in (_available_in_system(), available_to_cgroups, _available_to_process())
        if bytes_ is not None
    ]
    return min(limits, default=None)


def _available_in_system() -> int | None:
    if line := re.search(r"^MemAvailable: *(\d+) kB$", cgroups.text(_SYSTEM), re.MULTILINE):
        return 1024 * int(line[1])
    try:  # some systems do not tell how much memory is free, so take all memory of the machine
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _available_to_process() -> int | None:
    try:
        import resource
    except ImportError:  # Windows has no such module
        return None
    address_space_limit, data_limit = (
        resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    )
    limits = [] if data_limit == resource.RLIM_INFINITY else [data_limit]
    if address_space_limit != resource.RLIM_INFINITY and (sizes := cgroups.text(Path("/proc/self/statm")).split()):
        limits.append(max(address_space_limit - resource.getpagesize() * int(sizes[0]), 0))
    return min(limits, default=None)


def threads_with_room(team: int, shared: int, each: int) -> int:
    """Return how many of `team` threads can run with the memory that is available, at least 1.

    Each thread needs `each` bytes of scratch arrays, and all threads together need `shared` bytes more.
    """
    needed = shared + team * each
    if team == 1 or needed < LARGE or (free_bytes := available()) is None or needed <= free_bytes:
        return team
    fitting_threads = max(1, min(team, (free_bytes - shared) // each)) if each else team
    if fitting_threads < team:
        message = "a run uses %d of %d threads: %s bytes are available, and each thread has scratch arrays of %s bytes"
        LOG.warning(message, fitting_threads, team, f"{free_bytes:,}", f"{each:,}")
    return fitting_threads
