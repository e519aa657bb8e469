"""Where Linux shows the limits of this process's cgroups, such as a container's."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

CGROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def folders(controller: str, cgroups: Path, membership: Path) -> Iterator[Path]:
    """The folders of the cgroups with this controller, by the lines "number:controllers:path" of /proc/self/cgroup.

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


def memory_limit(cgroups: Path = CGROUPS, membership: Path = MEMBERSHIP) -> int | None:
    """The smallest memory limit of all nested cgroups of this process, in bytes; None if there is none."""
    limits = [
        int(number)
        for folder in folders("memory", cgroups, membership)
        for name in ("memory.max", "memory.limit_in_bytes")  # of cgroup version 2: a number or "max"; of version 1
        if (number := text(folder / name).strip()).isdecimal()
    ]
    return min(limits, default=None)


def text(file: Path) -> str:
    """A file's text; nothing if it can't be read."""
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
