"""The files in benchmarks/results, some of them as one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gasla.bench import peers
from gasla.bench.cells import Cell
from gasla.bench.reports.report import Report

RESULTS = Path(__file__).resolve().parent / "results"
ALGORITHMS = ("bfs", "levels", *peers.ALGORITHMS[1:])
CPU = "gasla-cpu"  # as a peer of the GPU


class Files:
    """Some of them; of several that hold the same cell the last counts."""

    def __init__(self, names: list[str]) -> None:
        self.paths = [path for name in names for path in sorted(RESULTS.glob(name)) or [RESULTS / name]]
        self.reports = [Report.read(path) for path in self.paths]
        self.cells = {(c.graph, c.algorithm): c for report in self.reports for c in report.cells}
        self.graphs = list(dict.fromkeys(graph for graph, _ in self.cells))

    def listed(self, what: str) -> list[dict[str, Any]]:
        """A list that all files hold beside their cells."""
        return [entry for path in self.paths for entry in json.loads(path.read_text(encoding="utf-8"))[what]]

    def rows(self, algorithms: list[str], show: Callable[[Cell], str]) -> list[list[str]]:
        """A row a graph, a column an algorithm, of those that there are."""
        return [
            [graph, *(show(self.cells[graph, a]) if (graph, a) in self.cells else "" for a in algorithms)]
            for graph in self.graphs
            if any((graph, a) in self.cells for a in algorithms)
        ]

    def present(self, algorithms: tuple[str, ...]) -> list[str]:
        """Those of the algorithms that were measured."""
        return [a for a in algorithms if any(a == algorithm for _, algorithm in self.cells)]

    def members(self, family: str) -> list[str]:
        """The algorithms whose names begin so."""
        return list(dict.fromkeys(a for _, a in self.cells if a.startswith(f"{family} ")))


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
