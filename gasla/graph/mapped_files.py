"""The files whose contents a graph has as memory-mapped arrays.

Each call of an algorithm checks first that none of these files has changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from gasla.graph.adjacency import Array


class MappedFiles:
    """The files from which a graph is memory-mapped, and their state when the graph was opened.

    `opened` is the path that was given to `gasla.io.open`. `columns` has the mapped arrays of edge values and
    attributes.
    """

    def __init__(self, opened: Path, paths: Iterable[Path]) -> None:
        self._found = {path: _state(path) for path in paths}
        self._opened = opened
        self.columns: list[Array | None] = []

    def require_unchanged(self) -> None:
        """Raise an error if any of the files was written to, replaced or deleted since the graph was opened.

        Raises
        ------
        RuntimeError
            Names the file.
        """
        for path, recorded_state in self._found.items():
            try:
                is_same = _state(path) == recorded_state
            except OSError:
                is_same = False
            if not is_same:
                raise RuntimeError(
                    f"{path} has changed since the graph was opened; "
                    f"expected the files to stay unchanged: call gasla.io.open({str(self._opened)!r}) again"
                )

    def hold(self, values: Array | None) -> bool:
        """Return whether the array `values` is mapped from one of these files, so that nobody can write to it."""
        return any(values is column for column in self.columns)


def _state(path: Path) -> tuple[int, int, int]:
    stat = os.stat(path)
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
