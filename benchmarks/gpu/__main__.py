"""Measure the GPU engine, compare each figure with its bar, and check the answers.

    python -m benchmarks.gpu [--graphs rmat22,grid24] [--algorithms bfs,sssp] [--json FILE]

Bars are in milliseconds on one H100, or ratios. Graphs of 2**22 vertices and more take minutes to make on the CPU,
once; `--graphs-module FILE` names a Python file whose `make(cupy, name)` makes them on the GPU.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.gpu import graphs, peers, starting
from benchmarks.gpu.cells import ALGORITHMS, GRAPHS, Case, Figure
from benchmarks.provenance import gpu_provenance, provenance

APART = {"call": starting.small_calls, "first": starting.first_calls}  # what needs no graph
HEADER = f"{'graph':<15}{'':<22}{'figure':>10}    {'bar':>7}        {'floor':>8}"


def verdict(figure: Figure) -> str:
    """One word for whether the figure is good enough."""
    if figure.wrong:
        return "WRONG"
    if figure.bar is None:
        return ""
    return "ok" if figure.value <= figure.bar else "OVER"


def line(figure: Figure) -> str:
    """Return a figure as one line of the table."""
    limit = "-" if figure.bar is None else f"{figure.bar:g}"
    row = f"{figure.graph:<15}{figure.name:<22}{figure.value:>10.3f} {figure.unit:<2}{limit:>8}  {verdict(figure):<6}"
    floor = "" if figure.floor is None else f"{figure.floor.milliseconds:.3f}"
    cause = "" if figure.floor is None else f"floor of {figure.floor.cause}"
    return f"{row}{floor:>8}  {'; '.join(filter(None, [figure.wrong, figure.note, cause]))}".rstrip()


def known_facts(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """What files say of graphs, by name: objects by graph, or lists of objects with the graph in them."""
    known: dict[str, dict[str, Any]] = {}
    for path in paths:
        content = json.loads(path.read_text())
        facts = content if isinstance(content, dict) else {entry["graph"]: entry for entry in content}
        for name, entry in facts.items():
            known.setdefault(name, {}).update(entry)
    return known


def measure(
    graph_names: list[str],
    algorithms: list[str],
    known: dict[str, dict[str, Any]],
    generator: ModuleType | None,
    show: Callable[[Figure], Any],
) -> list[Figure]:
    """All figures, shown as they come. What fails is shown as wrong, and the rest goes on."""
    import cupy

    figures: list[Figure] = []

    def take(graph: str, name: str, make: Callable[..., Iterable[Figure]], *arguments: Any) -> None:
        try:
            for figure in make(*arguments):
                figures.append(figure)
                show(figure)
        except Exception as error:
            traceback.print_exc()
            figures.append(Figure(graph, name, float("nan"), "", wrong=f"failed: {type(error).__name__}: {error}"))
            show(figures[-1])
        cupy.get_default_memory_pool().free_all_blocks()

    for name in APART:
        if name in algorithms:
            take("", name, APART[name])
    for graph_name in graph_names:
        began = time.perf_counter()
        graph = graphs.load(graph_name, generator)
        facts = known.get(graph_name, {})
        case = Case(graph, facts, peers.found(graph))
        for name in algorithms:
            if name in ALGORITHMS:
                take(graph_name, name, ALGORITHMS[name], case)
        took = time.perf_counter() - began
        show(Figure(graph_name, "all of it", took, "s", note=f"n={graph.graph.n:,} m={graph.graph.m:,}"))
        del graph, case
        cupy.get_default_memory_pool().free_all_blocks()
    return figures


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, measure, and write the JSON file if one is asked for; 1 if any answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", type=_names, default=list(GRAPHS), help="comma-separated (%(default)s)")
    everything = [*APART, *ALGORITHMS]
    parser.add_argument("--algorithms", type=_names, default=everything, help="comma-separated (%(default)s)")
    parser.add_argument("--reference", type=Path, nargs="*", default=[], help="JSON files of known answers")
    parser.add_argument("--graphs-module", type=Path, help="a Python file that makes the graphs on the GPU")
    parser.add_argument("--commit", help="what to name as measured, where there is no git")
    parser.add_argument("--json", type=Path, help="write every run and its provenance to this file")
    options = parser.parse_args(arguments)
    found = {**provenance(), **gpu_provenance()}
    found["commit"] = found["commit"] or options.commit
    print(f"{found['gpu']}, CUDA {found['cuda_runtime']}, driver {found['cuda_driver']}\n{HEADER}", flush=True)

    def show(figure: Figure) -> None:
        print(line(figure), flush=True)

    generator = graphs.generator_at(options.graphs_module)
    figures = measure(options.graphs, options.algorithms, known_facts(options.reference), generator, show)
    if options.json:
        kept = [{**figure._asdict(), "verdict": verdict(figure)} for figure in figures]
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"provenance": found, "figures": kept}, indent=1) + "\n")
    counted = {word: sum(verdict(f) == word for f in figures) for word in ("ok", "OVER", "WRONG")}
    print(", ".join(f"{count} {word}" for word, count in counted.items()))
    return 1 if counted["WRONG"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
