"""The memory limit of this process's cgroups, such as a container's, read from Linux's special files."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

CGROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
# names of the files with the limit (a number or "max") and the bytes in use, and of the cache's size in memory.stat
_MEMORY_FILES = (
    ("memory.max", "memory.current", "inactive_file"),  # version 2
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),  # version 1
)


def folders(controller: str, cgroups: Path, membership: Path) -> Iterator[Path]:
    """Yield the folders of the cgroups of this process that have a controller, such as "memory".

    They are found from the lines "number:controllers:path" of /proc/self/cgroup.

    Some of them may not exist. In a container the path may be the host's, while the root is the container's own group:
    so the root is included.
    """
    for line in text(membership).splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and controller not in controllers.split(","):
            continue
        for root in (cgroups / controllers, cgroups / controller) if controllers else (cgroups, cgroups / "unified"):
            group = PurePosixPath(path.lstrip("/"))
            yield from (root / part for part in (group, *group.parents))


def memory_left(cgroups: Path, membership: Path) -> int | None:
    """Return the bytes that this process may still allocate under its cgroups' limits, or None without a limit.

    Cached contents of files that were not read lately count as free, because the system drops them first.
    """
    limits_left = []
    for folder in folders("memory", cgroups, membership):
        for limit_name, used_name, cached_name in _MEMORY_FILES:
            limit, used = (text(folder / name).strip() for name in (limit_name, used_name))
            if limit.isdecimal():
                stat = re.search(rf"^{cached_name} (\d+)$", text(folder / "memory.stat"), re.MULTILINE)
                in_use = (int(used) if used.isdecimal() else 0) - (int(stat[1]) if stat else 0)
                limits_left.append(max(int(limit) - max(in_use, 0), 0))
    return min(limits_left, default=None)


def text(file: Path) -> str:
    """Return the text of a file, or an empty string if it can't be read."""
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
