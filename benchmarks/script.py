"""What the scripts of this folder share: their command line, their graphs, and what they print and write."""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any, TypeVar

from gasla.arrays import Device, module_of
from gasla.bench import graphs
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.reports.provenance import provenance
from gasla.bench.reports.report import Report
from gasla.bench.runner import by_turns
from gasla.cli.bench import names

_T = TypeVar("_T")


def module_at(path: str) -> ModuleType:
    """Import a module from a file."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OPTIONS: dict[str, dict[str, Any]] = {
    "graphs": {"type": names, "help": "comma-separated (%(default)s)"},
    "algorithms": {"type": names, "help": "comma-separated (%(default)s)"},
    "device": {"choices": ("cpu", "gpu"), "default": "cpu"},
    "graphs_module": {"type": module_at, "help": "a Python file whose make(cupy, name) makes the graphs on the GPU"},
    "commit": {"help": "the commit to record, if git is not available"},
    "rows": {"default": "", "help": "a regular expression: measure only rows that match"},
    "rounds": {"type": int, "help": "maximum number of rounds (%(default)s)"},
    "budget": {"type": float, "help": "seconds per row after which no new round begins (%(default)s)"},
    "output": {"type": Path, "help": "write the provenance and what is printed to this file"},
    "json": {"type": Path, "help": "write the provenance and all figures to this file"},
}


def command(description: str | None, *shared: str, **defaults: Any) -> argparse.ArgumentParser:
    """Return a parser of the options in `shared` and in `defaults`; the latter give default values."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(device="cpu", graphs_module=None, commit=None, rows="", output=None, json=None)
    parser.set_defaults(rounds=9, budget=math.inf)
    for name in (*defaults, *shared):
        given = {"default": defaults[name]} if name in defaults else {}
        parser.add_argument(f"--{name.replace('_', '-')}", **OPTIONS[name] | given)
    return parser


class Script:
    """A run of a script: its options, its lines and its figures. The files are written again after each line.

    Parameters
    ----------
    parser
        The parser of the script's options.
    arguments
        The arguments to parse; by default those of the command line.
    figures
        The name of the list of figures in the JSON file.
    is_first
        Whether this process prints and writes. Of several processes that run the same script, one does.
    """

    def __init__(
        self,
        parser: argparse.ArgumentParser,
        arguments: list[str] | None = None,
        figures: str = "rows",
        is_first: bool = True,
    ) -> None:
        self.options: Any = parser.parse_args(arguments)
        self.device: Device = self.options.device
        try:
            module_of(self.device)
        except RuntimeError as error:
            parser.error(f"--device {self.device}: {error}")
        self.report = Report(provenance(self.device, self.options.commit), {}, [])
        self.name, self.lines, self.figures = figures, list[str](), dict[Any, dict[str, Any]]()
        self.is_first = is_first

    def say(self, line: str, key: Any = None, **figure: Any) -> None:
        """Print a line, and write it and its figure to the files. A figure replaces an earlier one with its key."""
        if not self.is_first:
            return
        print(line, flush=True)
        self.lines.append(line)
        if figure:
            self.figures[len(self.figures) if key is None else key] = figure
        if self.options.output:
            self.options.output.write_text("\n".join([str(self.report.provenance), *self.lines]) + "\n")
        if self.options.json:
            self.report.write(self.options.json, **{self.name: [*self.figures.values()]})

    def load(self, name: str) -> BenchmarkGraph:
        """Return a graph on the device. If there is a graphs module, it makes the graph on a GPU.

        The module's `make(cupy, name)` returns n, rows, offsets, columns, weights, and optionally a fingerprint.
        """
        if self.options.graphs_module is None or self.device == "cpu":
            return graphs.load(name).on(self.device)
        import cupy
        from cupyx.scipy.sparse import csr_matrix

        n, _, indptr, indices, weights, *more = self.options.graphs_module.make(cupy, name)
        matrix = csr_matrix((weights, indices, indptr), shape=(n, n))
        return BenchmarkGraph(name, matrix, fingerprint=f"{more[0]:016x}" if more else None)

    def wanted(self, rows: Iterable[tuple[str, _T]]) -> Iterator[tuple[str, _T]]:
        """Yield the rows whose names match the option `--rows`."""
        return ((what, make) for what, make in rows if re.search(self.options.rows, what))

    def contest(
        self,
        what: str,
        contestants: Mapping[str, Callable[..., Any]],
        rounds: int | None = None,
        warm: Collection[str] | None = None,
        keep: Collection[str] | None = None,
        before: Callable[[str], object] = lambda name: None,
        check: Callable[[list[Any]], object] = lambda answers: None,
    ) -> dict[str, float]:
        """Time contestants by turns, print their medians and speedups over the first, and return the medians.

        The contestants in `warm`, by default all, are called once before, and `check` is called with their answers.
        Other parameters are those of `by_turns`; by default they are the script's options.
        """
        answers = []
        for name in contestants if warm is None else warm:
            before(name)
            answers.append(contestants[name](0))
        check(answers)
        del answers
        rounds, budget = rounds or self.options.rounds, self.options.budget
        times = by_turns(contestants, rounds, budget, keep, self.device, before=before)
        medians = {name: median(seconds) for name, seconds in times.items()}
        first = next(iter(medians.values()))
        cells = (f"{1e3 * t:12.3f} ms {name} ({first / t:.2f}×)" for name, t in medians.items())
        self.say(f"{what:40}{''.join(cells)}", what=what, seconds=medians)
        return medians


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def new_process(*arguments: str, **environment: str) -> str:
    """Run Python in a new process with these arguments and environment variables, and return its output."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the measuring process failed with {done.returncode}:\n{done.stderr}")
    return done.stdout
