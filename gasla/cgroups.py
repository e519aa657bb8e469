"""Where Linux shows the limits of this process's cgroups, such as a container's."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

CGROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_MEMORY_FILES = (  # the limit, a number or "max"; the bytes in use; the name of cached files in memory.stat
    ("memory.max", "memory.current", "inactive_file"),  # version 2
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),  # version 1
)


def folders(controller: str, cgroups: Path, membership: Path) -> Iterator[Path]:
    """Yield the folders of the cgroups with this controller, by lines "number:controllers:path" of /proc/self/cgroup.

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
    """Return the bytes that the memory limits of all nested cgroups of this process leave, or None without a limit.

    Cached contents of files that were not read lately count as free, because the system drops them first.
    """
    left = []
    for folder in folders("memory", cgroups, membership):
        for most, now, cached in _MEMORY_FILES:
            limit, used = (text(folder / name).strip() for name in (most, now))
            if limit.isdecimal():
                stat = re.search(rf"^{cached} (\d+)$", text(folder / "memory.stat"), re.MULTILINE)
                in_use = (int(used) if used.isdecimal() else 0) - (int(stat[1]) if stat else 0)
                left.append(max(int(limit) - max(in_use, 0), 0))
    return min(left, default=None)


def text(file: Path) -> str:
    """Return a file's text. If it can't be read, the text is empty."""
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
