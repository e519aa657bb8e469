"""The memory limit of this process's cgroups, such as a container's, read from Linux's special files."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

CGROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
# For both versions of cgroups, the files with the memory limit (a number of bytes or "max") and with the bytes in use,
# and the key in memory.stat of cached file contents
_MEMORY_FILES = (
    ("memory.max", "memory.current", "inactive_file"),  # cgroups version 2
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),  # cgroups version 1
)


def folders(controller: str, cgroups: Path, membership: Path) -> Iterator[Path]:
    """Yield the folders of this process's cgroups that control a resource, such as "memory".

    `cgroups` is the folder where cgroups are mounted, and `membership` the file /proc/self/cgroup, whose lines are
    "number:controllers:path". Some of the folders may not exist. In a container the path may be that on the host, while
    the root of the mounted folder is the container's own group. So the root is yielded, too.
    """
    for line in text(membership).splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and controller not in controllers.split(","):
            continue
        for root in (cgroups / controllers, cgroups / controller) if controllers else (cgroups, cgroups / "unified"):
            group = PurePosixPath(path.lstrip("/"))
            yield from (root / part for part in (group, *group.parents))


def memory_left(cgroups: Path, membership: Path) -> int | None:
    """Return the number of bytes that this process may still allocate under the limits of its cgroups, or None if there
    is no limit.

    Cached contents of files that were not read lately count as free, because the system drops them first.
    """
    limits_left = []
    for folder in folders("memory", cgroups, membership):
        for limit_name, used_name, cached_name in _MEMORY_FILES:
            limit, usage = (text(folder / name).strip() for name in (limit_name, used_name))
            if limit.isdecimal():
                stat = re.search(rf"^{cached_name} (\d+)$", text(folder / "memory.stat"), re.MULTILINE)
                in_use = (int(usage) if usage.isdecimal() else 0) - (int(stat[1]) if stat else 0)
                limits_left.append(max(int(limit) - max(in_use, 0), 0))
    return min(limits_left, default=None)


def text(file: Path) -> str:
    """Return the text of a file, or an empty string if it can't be read."""
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
