"""The table that `gasla bench` prints, with one line per cell, and notes on errors below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from gasla.bench.cells import TEPS, Cell
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.limits.ceilings import Ceilings
from gasla.bench.reports.report import Report

HEADER = f"{'graph':<12}{'algorithm':<20}{'ms':>10}{'GTEPS':>9}  {'of the ceiling':<22}{'best peer':<21}{'ratio':>6}"


def line(cell: Cell, verdict: str = "") -> str:
    """Return the line of the table for a cell, followed by lines with notes on contestants. `verdict` is added to the
    line.
    """
    share, best = cell.share, cell.best
    ceiling = f"{100 * share:5.1f}% {cell.floor.cause}" if share is not None and cell.floor else "    -"
    peer = f"{milliseconds(cell.seconds(best)):>9} {best}" if best else f"{'-':>9}"
    row = (
        f"{cell.graph:<11} {cell.algorithm:<19} {milliseconds(cell.seconds()):>10}{number(cell.gteps()):>9}  "
        f"{ceiling:<22}{peer:<21}{number(cell.ratio):>6}"
    )
    parts = [verdict] if verdict else []
    notes_on_others = [
        f"{name} {milliseconds(cell.seconds(name))}"
        for name, entry in cell.entries.items()
        if entry.seconds and name not in (cell.own, best)
    ]
    if notes_on_others:
        parts.append("also " + ", ".join(notes_on_others))
    notes = [f"    {name}: {entry.note}" for name, entry in cell.entries.items() if entry.note]
    return "\n".join(["  ".join([row, *parts]).rstrip(), *notes])


def milliseconds(seconds: float | None) -> str:
    """Return a time in milliseconds, with three significant digits."""
    return number(None if seconds is None else 1e3 * seconds)


def number(value: float | None) -> str:
    """Return a number with three significant digits.

    Examples
    --------
    >>> number(0.012345), number(1.5), number(1234.5), number(None)
    ('0.0123', '1.50', '1,234', '-')
    """
    if value is None:
        return "-"
    return f"{value:#.3g}" if value < 1 else f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}"


def introduction(report: Report) -> Iterator[str]:
    """Yield the lines above the table, which describe the hardware, the software and the ceilings."""
    facts = report.provenance
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items() if name != "gasla")
    gasla = facts["versions"].get("gasla", "from a source tree")
    commit = f" ({facts['commit'][:10]})" if facts["commit"] else ""
    if "gpu" in facts:
        yield f"{facts['gpu']}, driver {facts['driver'] or facts['cuda_driver']}, CUDA {facts['cuda_runtime']}"
    yield f"{facts['cpu']}, {facts['threads']} threads, Python {facts['python']}"
    yield f"gasla {gasla}{commit}, {versions}"
    if report.ceilings:
        yield from ceilings(report.ceilings)


def ceilings(measured: Ceilings) -> Iterator[str]:
    """Yield lines with the measured limits of the hardware, one line for each array size."""

    def rates(kind: str, scale: float) -> str:
        return ", ".join(f"{size(s)} {number(r / scale)}" for s, r in getattr(measured, kind).items())

    yield f"ceilings ({measured.device}), by array size:"
    yield f"    streaming copy, GB/s             {rates('copy', 1e9)}"
    yield f"    random 4-byte reads, G/s         {rates('gather', 1e9)}"
    yield f"    atomic additions, G/s            {rates('atomics', 1e9)}"
    yield f"    barrier of all threads, us       {number(1e6 * measured.barrier)}"


def size(count: int) -> str:
    """Return a number of bytes as KiB or MiB.

    Examples
    --------
    >>> size(1 << 16), size(1 << 24)
    ('64 KiB', '16 MiB')
    """
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def show(
    report: Report,
    graphs: Iterable[BenchmarkGraph],
    measure: Callable[[BenchmarkGraph], Iterable[Cell]],
    json: Path | None = None,
    verdict: Callable[[Cell], str] = lambda cell: "",
) -> bool:
    """Measure the cells of all graphs, print the table, and write the JSON file. Return whether all answers were right.

    Lines are flushed, because the next one may take a while, and the file is written after each cell, so that an
    interrupted run keeps its results.
    """
    print(*introduction(report), "", HEADER, sep="\n", flush=True)
    for graph in graphs:
        for cell in report.measure(graph, partial(measure, graph)):
            print(line(cell, verdict(cell)), flush=True)
            if json:
                report.write(json)
        if json:  # write the file once more, because notes on disturbances were added after the last cell
            report.write(json)
    print("", *explanation(), sep="\n", flush=True)
    return not any(cell.wrong for cell in report.cells)


def explanation() -> Iterator[str]:
    """Yield the lines below the table, which explain its columns."""
    yield TEPS
    yield "ms, GTEPS: medians over the sources of searches. ratio: gasla's time divided by the best peer's."
    yield (
        "of the ceiling: lower bound of the time, divided by gasla's time. The bound counts bytes, random reads and "
        "barriers that every algorithm for the problem needs on this machine."
    )
