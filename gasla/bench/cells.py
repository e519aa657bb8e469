"""Measurement of cells: a cell is one algorithm on one graph on one device, run by gasla and by its peers.

All contestants are called once and their answers compared; then they are timed by turns. Graphs are built and code
is compiled beforehand. A time is that of a Python call, on the GPU including stream synchronization. In every round,
searches start from another of the graph's sources.
"""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from gasla.arrays import Device
from gasla.bench import peers, tasks
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.limits import floors
from gasla.bench.limits.ceilings import Ceilings
from gasla.bench.limits.floors import Floor
from gasla.bench.runner import by_turns

TEPS = (
    "TEPS: stored directed edges whose source was reached, divided by the time of the call with the graph already "
    "built and compiled; the 20 iterations of PageRank are one call."
)
DEVICES: tuple[Device, ...] = ("gpu", "cpu")
GASLA, OWN = "gasla", "user's own"


class Entry(NamedTuple):
    """The times or the failure of one contestant (gasla or another library) in a cell of the benchmark."""

    note: str  # "" if all went well, otherwise the reason why there are no times, or what is wrong with the answer
    seconds: list[float]  # the time of each call in seconds, in the order of the calls


class Settings(NamedTuple):
    """The options of a benchmark run, such as the number of calls, which hold for all cells."""

    rounds: int  # maximum number of rounds, in each of which every contestant is called once
    # seconds for the calls of one cell, after which no further round begins; checks of answers don't count
    budget: float
    ceilings: Ceilings
    some: int = tasks.SOME  # number of sources for calls that take several sources, such as betweenness
    verified: bool = True  # whether gasla's answers are verified by checks that run on the CPU


@dataclass(frozen=True)
class Cell:
    """The times of all contestants for one algorithm on one graph and one device.

    `seconds`, `gteps` and `ratio` are derived from these times.
    """

    graph: str
    device: str
    algorithm: str
    own: str  # name of the contestant whose time is compared with those of the other contestants, usually "gasla"
    edges: list[int]  # number of edges that a call traverses, for each source; calls use the sources in turn
    entries: dict[str, Entry]
    floor: Floor | None = None
    against: tuple[str, ...] | None = None  # names of the contestants that `own` is compared with, or None for all

    def medians(self, name: str) -> list[float]:
        """Return a contestant's median time for each source, over all calls with that source."""
        call_seconds, count = self.entries[name].seconds, max(1, len(self.edges))
        return [median(call_seconds[i::count]) for i in range(min(count, len(call_seconds)))]

    def seconds(self, name: str | None = None) -> float | None:
        """Return the time of a contestant's call in seconds, or None if its calls were not timed.

        It is the median over the sources of the median times for each source.
        """
        medians = self.medians(name or self.own)
        return median(medians) if medians else None

    def gteps(self, name: str | None = None) -> float | None:
        """Return billions of traversed edges per second of a contestant, as the median over the sources, or None
        without times.
        """
        medians = self.medians(name or self.own)
        return median(e / s for e, s in zip(self.edges, medians)) / 1e9 if medians and self.edges else None

    @property
    def best(self) -> str | None:
        """The name of the fastest contestant besides `own`, or None."""
        names = self.entries if self.against is None else self.against
        times = {n: t for n in names if n != self.own and (t := self.seconds(n)) is not None}
        return min(times, key=lambda name: times[name], default=None)

    @property
    def ratio(self) -> float | None:
        """The time of `own` divided by the time of `best`. Below 1, `own` is faster."""
        own_time, best_time = self.seconds(), self.seconds(self.best) if self.best else None
        return own_time / best_time if own_time is not None and best_time is not None else None

    @property
    def share(self) -> float | None:
        """The lower bound of the time (`floor`) divided by the time of `own`, which is at most 1."""
        own_time = self.seconds()
        return self.floor.seconds / own_time if self.floor is not None and own_time else None

    @property
    def wrong(self) -> str:
        """What is wrong with the answer of `own`, or how its call failed, else ""."""
        note = self.entries[self.own].note
        return note if note.startswith(("wrong", "failed")) else ""

    def as_dict(self) -> dict[str, Any]:
        """Return the cell as a JSON object, with all times and with the figures that are derived from them."""
        best = self.best
        derived = {
            "seconds": self.seconds(),
            "gteps": self.gteps(),
            "best": best,
            "best_seconds": self.seconds(best) if best else None,
            "ratio": self.ratio,
            "share_of_ceiling": self.share,
        }
        saved = {**asdict(self), "entries": {name: entry._asdict() for name, entry in self.entries.items()}}
        return {**saved, "floor": self.floor._asdict() if self.floor else None, **derived}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Cell:
        """Return the cell that `as_dict` converted to a JSON object."""
        values = {field.name: saved[field.name] for field in fields(cls)}
        values["entries"] = {name: Entry(**entry) for name, entry in saved["entries"].items()}
        values["floor"] = Floor(**saved["floor"]) if saved["floor"] else None
        values["against"] = None if saved["against"] is None else tuple(saved["against"])
        return cls(**values)


def measure(
    graph: BenchmarkGraph,
    algorithms: Iterable[str],
    peer_names: Iterable[str],
    settings: Settings,
    functions: dict[str, Callable[..., Any]] | None = None,
) -> Iterator[Cell]:
    """Measure algorithms on a graph, and yield a cell for each.

    Each algorithm is compared with the peers of the given names. Further cells are for a user's own functions.
    """
    contestants = {GASLA: tasks.Gasla(graph), **{name: peers.make(name, graph) for name in peer_names}}
    for name in algorithms:
        yield cell(graph, contestants, name, settings)
    yield from function_cells(graph, functions or {}, settings)


def cell(
    graph: BenchmarkGraph, contestants: dict[str, Any], algorithm: str, settings: Settings, name: str | None = None
) -> Cell:
    """Measure one algorithm: compare the answers of all contestants, then time their calls.

    The first contestant is the one that the cell compares with the other ones.
    """
    first_contestant, several_sources = next(iter(contestants)), tasks.sources_of(graph, algorithm, settings.some)
    sources = graph.sources if tasks.TASKS[algorithm].starts == "source" else several_sources
    bound = {
        contestant: tasks.bind(peer, algorithm, graph.sources, several_sources)
        for contestant, peer in contestants.items()
    }
    calls = {contestant: call for contestant, call in bound.items() if call}
    named = {contestant: (contestants[contestant], call) for contestant, call in calls.items()}
    notes = check(graph, algorithm, named, sources, settings.verified)
    timed = {
        contestant: call for contestant, call in calls.items() if notes.get(contestant, "overflows") == "overflows"
    }
    seconds: dict[str, list[float]] = {}
    # All contestants of one device are timed before the other device's, because an idle GPU lowers its clock and would
    # be slow at its next call.
    for device in DEVICES:
        on_device = {
            contestant: call for contestant, call in timed.items() if peers.device_of(contestant, graph) == device
        }
        seconds |= by_turns(on_device, settings.rounds, settings.budget, (GASLA, first_contestant), device)
    entries = {contestant: Entry(notes.get(contestant, ""), seconds.get(contestant, [])) for contestant in calls}
    entries.setdefault(first_contestant, Entry("left out: needs too much memory and time on this graph", []))
    floor = floors.floor(graph, algorithm, sources, settings.ceilings)
    return Cell(
        graph.name,
        graph.device,
        name or algorithm,
        first_contestant,
        tasks.edges(graph, algorithm, several_sources),
        entries,
        floor,
    )


def check(
    graph: BenchmarkGraph,
    algorithm: str,
    calls: dict[str, tuple[Any, Callable[[int], Any]]],
    sources: list[int],
    verified: bool = True,
) -> dict[str, str]:
    """Call each contestant once, and compare the answers of all contestants.

    Return a note for each contestant whose call failed or whose answer is wrong. With `verified`, gasla's answer is
    verified by checks of its own, too.
    """
    notes: dict[str, str] = {}
    arrays: dict[str, Any] = {}
    task, trusted = tasks.TASKS[algorithm], None
    for name, (peer, call) in calls.items():
        try:
            answer = call(0)
            arrays[name] = task.array(answer) if isinstance(peer, tasks.Gasla) else peer.dense(answer)
            if name == GASLA and task.verify is not None and verified:
                if problem := tasks.broken(graph, algorithm, answer, sources):
                    notes[name] = f"wrong: {problem}"
                    del arrays[name]
                else:
                    trusted = name
        except Exception as error:  # other libraries may raise any exception, which becomes a note in the cell
            arrays.pop(name, None)
            notes[name] = f"failed: {type(error).__name__}: {error}"
    return {**tasks.disagreements(algorithm, arrays, sources, trusted), **notes}


def function_cells(
    graph: BenchmarkGraph, functions: dict[str, Callable[..., Any]], settings: Settings
) -> Iterator[Cell]:
    """Time a user's functions, and yield a cell for each. Their answers are not checked."""
    sources = graph.sources
    for name, function in functions.items():
        counted, call = [graph.graph.m], lambda _, f=function: f(graph.graph)
        if takes_source(function):
            counted = tasks.edges(graph, "bfs", [])
            call = lambda number, f=function: f(graph.graph, sources[number % len(sources)])  # noqa: E731
        try:
            call(0)
        except Exception as error:  # an error in the user's function becomes a note in its cell
            yield Cell(graph.name, graph.device, name, OWN, counted, {OWN: Entry(f"failed: {error!r}", [])})
            continue
        seconds = by_turns({OWN: call}, settings.rounds, settings.budget, device=graph.device)
        yield Cell(graph.name, graph.device, name, OWN, counted, {OWN: Entry("", seconds[OWN])})


def functions_of(path: Path) -> dict[str, Callable[..., Any]]:
    """Return those functions of a user's Python file that the benchmark can time, by name: they take a graph, or a
    graph and a source.

    A function counts if its first parameter is called ``graph`` and its name has no leading underscore.
    """
    names = runpy.run_path(str(path), run_name=path.stem)
    functions: dict[str, Callable[..., Any]] = {
        n: f for n, f in names.items() if inspect.isfunction(f) and not n.startswith("_") and _parameters(f)
    }
    if not functions:
        raise ValueError(f"{path} has no function f(graph) or f(graph, source) to measure")
    return functions


def takes_source(function: Callable[..., Any]) -> bool:
    """Return whether a user's function takes a source besides the graph."""
    return _parameters(function) == ["graph", "source"]


def _parameters(function: Callable[..., Any]) -> list[str]:
    names = list(inspect.signature(function).parameters)
    return names if names in (["graph"], ["graph", "source"]) else []
