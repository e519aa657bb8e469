"""The files that a graph's arrays are mapped from; a change to them is detected before the next call computes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from gasla.graph.adjacency import Array


class MappedFiles:
    """The files that a graph is mapped from, and their state when it was opened.

    `opened` is the path given to `gasla.io.open`, and `columns` are the mapped values and attributes.
    """

    def __init__(self, opened: Path, paths: Iterable[Path]) -> None:
        self._found = {path: _state(path) for path in paths}
        self._opened = opened
        self.columns: list[Array | None] = []

    def require_unchanged(self) -> None:
        """Raise an error if any file was written to, replaced or deleted since.

        Raises
        ------
        RuntimeError
            Names the file.
        """
        for path, before in self._found.items():
            try:
                is_same = _state(path) == before
            except OSError:
                is_same = False
            if not is_same:
                raise RuntimeError(
                    f"{path} has changed since the graph was opened; "
                    f"expected the files to stay unchanged: call gasla.io.open({str(self._opened)!r}) again"
                )

    def hold(self, values: Array | None) -> bool:
        """Return whether an array of values is mapped from these files, where nothing can be written to it."""
        return any(values is column for column in self.columns)


def _state(path: Path) -> tuple[int, int, int]:
    stat = os.stat(path)
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
