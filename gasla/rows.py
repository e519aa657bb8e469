"""The class `Row` describes a public function: its commands, its benchmark tasks, and the calls whose code wheels ship.

Each file with public functions has a row for them at its end, called `ROW`.

A row is data and small functions, so that files of any layer can have one. The command line, `gasla bench`, the
compilation of a wheel, and tests read the rows, so that none of them needs a list of functions of its own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

import numpy as np

import gasla

# a function that returns a line of output about the answer of a command, a `gasla.cli.views.Answered`
Says = Callable[[Any], str]
Shows = Callable[[Any], Iterable[str]]


@dataclass(frozen=True)
class Command:
    """The description of a command of the command line. Its options follow from the signature of the function that it
    calls.

    `shape` says how the values in saved files are made from the answer. "vertex": the answer has one value per vertex.
    "rows": it has one row per vertex, whose columns are saved. "edge": it has one value per edge, and their sums over
    the out-edges of each vertex are saved. "ids": it has vertex ids, and the number of occurrences of each vertex is
    saved.
    """

    name: str
    # names of the parts of the answer that can be saved, and the title of each part's column in files
    answers: Mapping[str, str]
    heading: Says  # a function that returns the first line of output
    view: Shows = lambda _: ()  # a function that yields the other lines of output
    shape: Literal["vertex", "rows", "edge", "ids"] = "vertex"
    # name of the function in gasla.verify that checks answers; "" means the function with the command's name, if it
    # exists
    checked_by: str = ""
    # further arguments for the function that checks answers
    checked_with: Mapping[str, Any] = field(default_factory=dict)
    # for each parameter whose option has another name than the parameter: the name of the option
    options: Mapping[str, str] = field(default_factory=dict)
    # default values of options whose parameters have no default in Python
    defaults: Mapping[str, Any] = field(default_factory=dict)
    # arguments that every call of the function gets, and that no option can change
    fixed: Mapping[str, Any] = field(default_factory=dict)
    # returns the number of edges that a call traverses; None means `gasla.cli.views.traversed`
    edges: Callable[[Any], int] | None = None
    iterations: Callable[[Any], int | None] = lambda f: f.answer.get("iterations")
    # a function that makes the parts of the answer, by name, from the graph and the result of gasla's function
    unpack: Callable[[Any, Any], dict[str, Any]] | None = None


@dataclass(frozen=True)
class Task:
    """A benchmark task: how `gasla bench` calls a function, checks its answers, and compares them with other libraries'
    answers.

    The benchmark gives a source if the function takes `source`, and several if it takes `sources`. Tasks that need a
    graph or a setting of the benchmark's own are in `gasla/bench/tasks.py`.
    """

    name: str = ""  # name of the benchmark task; "" stands for the name of the function
    options: Mapping[str, Any] = field(default_factory=dict)  # further arguments for the call of gasla's function
    # name of the function in gasla.verify that checks answers; "" means none, and None the function with the task's
    # name
    checked_by: str | None = None
    # further arguments for the function that checks answers
    checked_with: Mapping[str, Any] = field(default_factory=dict)
    part: str = ""  # the part of the answer that is compared with the answers of other libraries
    # name of a function in gasla/bench/tasks.py that converts an answer into a form that is the same for all correct
    # answers
    form: str = "as_given"
    # name of a function in gasla/bench/tasks.py that compares two answers that were converted by `form`
    agree: str = "same"
    several: int | None = None  # number of sources for functions that take several sources
    may_overflow: bool = False
    # a function that returns the number of bytes that any algorithm has to read and write, given the numbers n of
    # vertices and m of edges
    size: Callable[[int, int], float] | None = None


class Row:
    """The description of a public function: its commands, its benchmark tasks, and calls whose compiled code wheels
    ship.

    Calls are text, such as `"bfs(g, 0)"`. A wheel ships their code in addition to the calls that `gasla.shipping.calls`
    derives from the signature.

    `method` names the best published method for the task, which gasla may or may not use, and where it was published.
    `longer` is a sentence that says why a call takes over twenty times as long as `connected_components`, where it
    does. `docs/floors.md` shows both beside measured times.
    """

    def __init__(
        self, function: Callable[..., Any], *parts: Command | Task | str, method: str = "", longer: str = ""
    ) -> None:
        self.function, self.method, self.longer = function, method, longer
        self.commands = [part for part in parts if isinstance(part, Command)]
        tasks = [part for part in parts if isinstance(part, Task)]
        self.tasks = [replace(task, name=task.name or function.__name__) for task in tasks]
        self.calls = [part for part in parts if isinstance(part, str)]


@cache
def rows() -> list[Row]:
    """Return the rows of all public functions, in the order of `gasla.__all__`.

    Each file that defines such functions has a row, or a list of rows, called `ROW`.
    """
    packages = "algorithms.", "operations.", "graph.transform."
    modules = [home for home in dict.fromkeys(gasla._HOMES.values()) if home.startswith(packages)]
    module_rows = [getattr(importlib.import_module(f"gasla.{home}"), "ROW", []) for home in modules]
    return [
        row
        for rows_of_module in module_rows
        for row in ([rows_of_module] if isinstance(rows_of_module, Row) else rows_of_module)
    ]


# --- commands for answers of one form, such as one score per vertex --------------------------------------------------

UNWEIGHTED = {"weighted": "--unweighted"}


def scores(name: str, answers: Mapping[str, str], heading: Says, **more: Any) -> Command:
    """Return the command for a function whose result is one score per vertex. The command prints the highest scores."""
    part_name = next(iter(answers))
    return Command(name, answers, heading, lambda f: f.ranking(part_name), **more)


def edge_values(
    name: str, answers: Mapping[str, str], heading: Says, view: Shows | None = None, **more: Any
) -> Command:
    """Return the command for a function whose result is one number per edge. It prints the highest numbers."""
    part_name = next(iter(answers))
    return Command(name, answers, heading, view or (lambda f: f.edges(f.highest(part_name))), "edge", **more)


def groups(name: str, column: str, what: str) -> Command:
    """Return the command for a function whose result is one group label per vertex."""
    return Command(name, {"labels": column}, lambda f: f.grouped(what), lambda f: f.groups())


def number(name: str, what: str, **more: Any) -> Command:
    """Return the command for a function whose result is one number."""
    return Command(name, {}, lambda f: f"{f['score']:.6g} is {what}", unpack=lambda _, score: {"score": score}, **more)


def counts(name: str, what: str) -> Command:
    """Return the command for a function whose result is a count for each kind of small subgraph, or counts with
    z-scores.
    """

    def view(f: Any) -> Iterator[str]:
        z = getattr(f["found"], "z", None)
        for form, count in f["counts"].items():
            yield f"      {count:>26,}  {form}" + (f" (z = {z[form]:.3g})" if z else "")

    return Command(
        *(name, {}, lambda f: f"{sum(f['counts'].values()):,} {what}:"),
        view,
        unpack=lambda _, found: {"counts": getattr(found, "observed", found), "found": found},
    )


def links(name: str) -> Command:
    """Return the command for a function whose result is a hub score and an authority score per vertex."""

    def view(f: Any) -> Iterator[str]:
        yield from f.ranking("hubs")
        yield "highest authority scores:"
        yield from f.ranking("authorities")

    saves, heading = {"hubs": "hub", "authorities": "authority"}, lambda f: f.convergence("highest hub scores")
    return Command(name, saves, heading, view, options=UNWEIGHTED)


def per_source(name: str, answers: Mapping[str, str]) -> Command:
    """Return the command for a function whose result is a level, a distance or a bool for each source and vertex."""
    part = next(iter(answers))
    return Command(
        *(name, answers),
        lambda f: f"from {len(f.arguments['sources']):,} sources, of {f.graph.n:,} vertices:",
        lambda f: f.per_source(part),
    )


def times(name: str, part: str, title: str, end: str = "source", verb: str = "reached from") -> Command:
    """Return the command for a function whose result is a time or a duration per vertex of a temporal graph."""

    def others(f: Any) -> Any:
        is_other = f.happens(part)
        is_other[f.arguments[end]] = False
        return is_other

    return Command(
        *(name, {part: part.rstrip("s")}),
        lambda f: f"{1 + others(f).sum():,} of {f.graph.n:,} vertices {verb} {f.end(end)} in the order of time",
        lambda f: f.spread(part, title, others(f)),
    )


def walks(name: str) -> Command:
    """Return the command for a function whose result is random walks, with a row of vertices per walker."""

    def steps(f: Any) -> int:
        return int((f["walks"][:, 1:] >= 0).sum())

    return Command(
        *(name, {"visits": "visits"}),
        lambda f: (
            f"{len(f['walks']):,} walks, {steps(f):,} steps in total; {(f['walks'][:, -1] < 0).sum():,} walks ended "
            "early, at a vertex without out-edges; most visited vertices:"
        ),
        lambda f: f.times_named("visits"),
        *("ids", "random_walks"),
        defaults={"length": 10},
        unpack=lambda _, walks: {"walks": walks, "visits": walks[walks >= 0]},
        edges=steps,
    )


def matching(name: str) -> Command:
    """Return the command for a function whose result is a matching, given by the mate of each vertex."""

    def pairs(f: Any) -> Any:
        first = np.flatnonzero(f["mates"] > np.arange(f.graph.n))
        return np.stack([first, f["mates"][first]], axis=1)

    return Command(
        *(name, {"mates": "mate"}),
        lambda f: f"{len(pairs(f)):,} pairs of {f.graph.n:,} vertices{', among them' * bool(len(pairs(f)))}",
        lambda f: f.named(pairs(f)),
    )
