"""A cell: one algorithm on one graph on one device. Answers are compared, then everyone is timed in turns.

Graphs are built and code is compiled beforehand. A time is that of a Python call; on the GPU until the stream is done.
In every round searches start from another of the graph's sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, NamedTuple

from gasla.arrays import Device, finish
from gasla.bench import mxm, mxv, peers, programs, tasks
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.interleave import PAUSE, interleave
from gasla.bench.limits import floors
from gasla.bench.limits.ceilings import Ceilings
from gasla.bench.limits.floors import Floor
from gasla.bench.peers.gasla_peer import Gasla
from gasla.bench.properties import unlike_known

TEPS = (
    "TEPS: stored directed edges whose source was reached, divided by the time of the call with the graph already "
    "built and compiled; the 20 iterations of PageRank are one call."
)
GROUPS = (*tasks.ALGORITHMS, "mxv", "mxm", "programs")
DEVICES: tuple[Device, ...] = ("gpu", "cpu")
GASLA, OWN = "gasla", "user's own"


class Entry(NamedTuple):
    """What one contestant did."""

    note: str  # "" where all went well, else why there are no times, or what is wrong with the answer
    seconds: list[float]  # of every call, round by round


class Settings(NamedTuple):
    """How long is measured, and against what."""

    rounds: int
    budget: float  # seconds a cell, answers aside, after which no round begins
    ceilings: Ceilings
    some: int = tasks.SOME  # sources of a call that takes several, such as betweenness


@dataclass(frozen=True)
class Cell:
    """What was measured; `seconds` and the like are derived from all runs."""

    graph: str
    device: str
    algorithm: str
    own: str  # whom it is about
    edges: list[int]  # traversed in round 0, 1, ...; then again from the first
    entries: dict[str, Entry]
    floor: Floor | None = None
    against: tuple[str, ...] | None = None  # whom to compare with, if not with everyone

    def medians(self, name: str) -> list[float]:
        """Of each source, the median over its calls."""
        runs, count = self.entries[name].seconds, max(1, len(self.edges))
        return [median(runs[i::count]) for i in range(min(count, len(runs)))]

    def seconds(self, name: str | None = None) -> float | None:
        """The median over the sources."""
        found = self.medians(name or self.own)
        return median(found) if found else None

    def gteps(self, name: str | None = None) -> float | None:
        """Billions of edges traversed a second: the median over the sources."""
        found = self.medians(name or self.own)
        return median(e / s for e, s in zip(self.edges, found)) / 1e9 if found and self.edges else None

    @property
    def best(self) -> str | None:
        """The fastest of the others."""
        names = self.entries if self.against is None else self.against
        times = {n: t for n in names if n != self.own and (t := self.seconds(n)) is not None}
        return min(times, key=lambda name: times[name], default=None)

    @property
    def ratio(self) -> float | None:
        """Own time over that of the best of the others."""
        own, other = self.seconds(), self.seconds(self.best) if self.best else None
        return own / other if own is not None and other is not None else None

    @property
    def share(self) -> float | None:
        """How near it comes to what the machine can do: the least time over its own."""
        own = self.seconds()
        return self.floor.seconds / own if self.floor is not None and own else None

    @property
    def wrong(self) -> str:
        """What is wrong with its own answer."""
        note = self.entries[self.own].note
        return note if note.startswith(("wrong", "failed")) else ""

    def as_dict(self) -> dict[str, Any]:
        """What JSON holds: all runs, and for who reads it what follows from them."""
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
        """The same, read back; files of before there were floors and edges too."""
        entries = {name: Entry(**entry) for name, entry in saved["entries"].items()}
        floor, against = saved.get("floor"), saved.get("against")
        if "against" not in saved and saved["algorithm"].startswith(("mxv ", "own ")):
            against = [name for name in entries if name != saved["own"]]
        return cls(
            saved["graph"],
            saved.get("device", "cpu"),
            saved["algorithm"],
            saved["own"],
            saved.get("edges", []),
            entries,
            Floor(**floor) if floor else None,
            None if against is None else tuple(against),
        )


def measure(graph: BenchmarkGraph, groups: Iterable[str], rivals: dict[str, Any], settings: Settings) -> Iterator[Cell]:
    """Yield the cells of one graph on its device; of "mxv", "mxm" and "programs" there are several each."""
    library = Gasla(graph)
    for group in groups:
        if group == "mxv":
            yield from product_cells(graph, settings)
        elif group == "mxm":
            yield from matrix_cells(graph, rivals, settings)
        elif group == "programs":
            for algorithm in programs.ALGORITHMS:
                both = {OWN: programs.Own(graph), GASLA: library}
                yield cell(graph, both, algorithm, settings, name=f"own {algorithm}")
        else:
            yield cell(graph, {GASLA: library, **rivals}, group, settings)


def cell(
    graph: BenchmarkGraph, contestants: dict[str, Any], algorithm: str, settings: Settings, name: str | None = None
) -> Cell:
    """Check, then time, one algorithm; the cell is about the first of the contestants."""
    own, several = next(iter(contestants)), tasks.sources_of(graph, algorithm, settings.some)
    sources = graph.sources if tasks.TASKS[algorithm].starts == "source" else several
    bound = {who: tasks.bind(peer, algorithm, graph.sources, several) for who, peer in contestants.items()}
    calls = {who: call for who, call in bound.items() if call}
    notes = check(graph, algorithm, {who: (contestants[who], call) for who, call in calls.items()}, sources)
    timed = {who: call for who, call in calls.items() if notes.get(who, "overflows") == "overflows"}
    seconds: dict[str, list[float]] = {}
    for device in DEVICES:  # the two don't disturb each other, except that a GPU which waits lowers its clock
        there = {who: call for who, call in timed.items() if peers.device_of(who, graph) == device}
        seconds |= in_turns(device, there, settings, keep=frozenset({GASLA, own}))
    entries = {who: Entry(notes.get(who, ""), seconds.get(who, [])) for who in calls}
    floor = floors.floor(graph, algorithm, sources, settings.ceilings)
    return Cell(
        graph.name, graph.device, name or algorithm, own, tasks.edges(graph, algorithm, several), entries, floor
    )


def check(
    graph: BenchmarkGraph, algorithm: str, calls: dict[str, tuple[Any, Callable[[int], Any]]], sources: list[int]
) -> dict[str, str]:
    """Call everyone once; return what is wrong with whose answer."""
    notes: dict[str, str] = {}
    answers: dict[str, Any] = {}
    task, trusted = tasks.TASKS[algorithm], None
    for name, (peer, call) in calls.items():
        try:
            answers[name] = peer.dense(call(0))
            if name == GASLA:
                problem = task.broken(graph, answers[name], sources) or unlike_known(graph, algorithm, call)
                if problem:
                    notes[name] = f"wrong: {problem}"
                    del answers[name]
                elif task.is_trusted or algorithm in graph.known:
                    trusted = name
        except Exception as error:  # whatever a peer raises is its answer
            answers.pop(name, None)
            notes[name] = f"failed: {type(error).__name__}: {error}"
    return {**tasks.disagreements(algorithm, answers, sources, trusted), **notes}


def in_turns(
    device: Device, calls: dict[str, Callable[[int], Any]], settings: Settings, keep: frozenset[str]
) -> dict[str, list[float]]:
    """Time the calls in turns, on the GPU until it is done.

    No pauses there, as its clock goes down in them; nor where there is one alone, whom nobody's threads disturb.
    """
    if not calls:
        return {}

    def until_done(call: Callable[[int], Any]) -> Callable[[int], Any]:
        def work(number: int) -> Any:
            result = call(number)
            finish(device)
            return result

        return work

    finish(device)
    waiting = {name: until_done(call) for name, call in calls.items()}
    pause = {"cpu": PAUSE, "gpu": 0}[device] if len(calls) > 1 else 0
    return interleave(waiting, settings.rounds, settings.budget, keep, pause)


def product_cells(graph: BenchmarkGraph, settings: Settings) -> Iterator[Cell]:
    """`mxv`: plus_times beside the library's product, other semirings beside plus_times."""
    calls = mxv.contestants(graph)
    notes = mxv.wrong(graph, calls)
    right = {name: call for name, call in calls.items() if name not in notes}
    seconds = in_turns(graph.device, right, settings, keep=frozenset(right))
    for name in mxv.SEMIRINGS:
        rival = mxv.library(graph) if name == "plus_times" else "plus_times"
        entries = {who: Entry(notes.get(who, ""), seconds.get(who, [])) for who in (name, rival)}
        count = "row sums" if name == "plus_first" else "product"
        floor = floors.floor(graph, count, [], settings.ceilings)
        yield Cell(graph.name, graph.device, f"mxv {name}", name, [graph.graph.m], entries, floor, (rival,))


def matrix_cells(graph: BenchmarkGraph, rivals: dict[str, Any], settings: Settings) -> Iterator[Cell]:
    """`mxm`: products of matrices, beside the same of others."""
    for case in mxm.cases(graph, rivals):
        notes, own = mxm.wrong(case), next(iter(case.calls))
        right = {name: call for name, call in case.calls.items() if name not in notes}
        size = case.bytes_moved(right[own](0)) if own in right else 0.0
        seconds = in_turns(graph.device, right, settings, keep=frozenset({own}))
        entries = {who: Entry(notes.get(who, ""), seconds.get(who, [])) for who in case.calls}
        floor = floors.streamed(graph, size, settings.ceilings)
        yield Cell(graph.name, graph.device, f"mxm {case.name}", own, [case.products], entries, floor)


def function_cells(
    graph: BenchmarkGraph, functions: dict[str, Callable[..., Any]], settings: Settings
) -> Iterator[Cell]:
    """A user's functions, each alone; their answers are not looked at."""
    sources = graph.sources
    for name, function in functions.items():
        counted, call = [graph.graph.m], lambda _, f=function: f(graph.graph)
        if programs.takes_source(function):
            counted = tasks.edges(graph, "bfs", [])
            call = lambda number, f=function: f(graph.graph, sources[number % len(sources)])  # noqa: E731
        try:
            call(0)
        except Exception as error:  # the user's to mend
            yield Cell(graph.name, graph.device, name, OWN, counted, {OWN: Entry(f"failed: {error!r}", [])})
            continue
        seconds = in_turns(graph.device, {OWN: call}, settings, keep=frozenset({OWN}))
        yield Cell(graph.name, graph.device, name, OWN, counted, {OWN: Entry("", seconds[OWN])})
