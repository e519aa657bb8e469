"""A run of `gasla bench` (its cells, graphs, ceilings, and the machine), which is written to JSON and read from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from gasla.bench.cells import TEPS, Cell
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.limits.ceilings import Ceilings
from gasla.bench.reports.machine import Disturbance, watch
from gasla.bench.reports.provenance import provenance
from gasla.output import replacing

_T = TypeVar("_T")


class Report(NamedTuple):
    """All results of a run of `gasla bench`: cells, descriptions of graphs, limits of the hardware, and facts about the
    machine.
    """

    provenance: dict[str, Any]
    graphs: dict[str, dict[str, Any]]
    cells: list[Cell]
    ceilings: Ceilings | None = None

    @classmethod
    def begin(cls, ceilings: Ceilings, commit: str | None = None) -> Report:
        """Return a new report without cells, for the device whose measured limits are `ceilings`."""
        return cls(provenance(ceilings.device, commit), {}, [], ceilings)

    def describe(self, graph: BenchmarkGraph) -> None:
        """Add a graph's properties, such as its numbers of vertices and edges, to the report."""
        self.graphs[graph.name] = {
            "n": graph.graph.n,
            "m": graph.graph.m,
            "sources": graph.sources,
            # number of levels of the deepest breadth-first search from one of the graph's sources
            "depth": max((graph.reach(s).depth for s in graph.sources), default=0),
            "fingerprint": graph.fingerprint,  # a hash of the graph's edges and weights, which identifies the graph
        }

    def measure(self, graph: BenchmarkGraph, cells: Callable[[], Iterable[Cell]]) -> Iterator[Cell]:
        """Yield the cells of one graph as they are measured, and add them to the report.

        If the machine was disturbed, all cells are measured and yielded again, and replace the first ones.
        """
        self.describe(graph)
        first = len(self.cells)

        def attempt() -> Iterator[Cell]:
            del self.cells[first:]
            for cell in cells():
                self.cells.append(cell)
                yield cell

        yield from self.watch(graph.name, attempt)

    def watch(self, what: str, measure: Callable[[], Iterable[_T]]) -> Iterator[_T]:
        """Yield the results of a measurement. If the machine was disturbed, measure once more, as `machine.watch` does.

        Notes on disturbances are added to the report's provenance.
        """
        return watch(what, measure, self.provenance.setdefault("machine", []))

    def disturbed(self) -> dict[str, Disturbance]:
        """Return for each measurement during which other work kept the machine busy how much time was lost, by the
        measurement's name.

        If a measurement was repeated, the last attempt counts.
        """
        notes = self.provenance.get("machine", [])
        disturbances = {note["measured"]: Disturbance(note["stolen"], note["slowed"]) for note in notes}
        return {what: each for what, each in disturbances.items() if each.is_much}

    def write(self, path: Path, **more: Any) -> None:
        """Write the report, and the further entries in `more`, as JSON.

        If there are several cells of an algorithm on a graph, the last one is written.
        """
        saved = {
            "provenance": self.provenance,
            "definition": TEPS,
            "ceilings": self.ceilings.as_dict() if self.ceilings else None,
            "graphs": self.graphs,
            "cells": [cell.as_dict() for cell in {(c.graph, c.algorithm): c for c in self.cells}.values()],
            **more,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as stream:
            stream.write((json.dumps(saved, indent=1) + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> Report:
        """Read a report from a JSON file."""
        saved = json.loads(path.read_text(encoding="utf-8"))
        ceilings = saved.get("ceilings")
        return cls(
            saved["provenance"],
            saved.get("graphs", {}),
            [Cell.from_dict(cell) for cell in saved["cells"]],
            Ceilings.from_dict(ceilings) if ceilings else None,
        )
