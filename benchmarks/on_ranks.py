"""Options of benchmarks that run on one device, on several ranks or cards of this machine, or under mpiexec."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import gasla
from benchmarks.script import Script
from gasla import distributed
from gasla.arrays import Device
from gasla.bench.reports.provenance import provenance


class Place(NamedTuple):
    """Where a benchmark runs."""

    name: str
    device: Device  # on which calls are timed
    put: Callable[[gasla.Graph], Any]  # the same graph there
    is_divided: bool = False  # each rank has a part of the graph


def add_options(parser: ArgumentParser) -> None:
    """Add the options; one of them can be given."""
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    some.add_argument("--cards", type=_cards, metavar="N", help="divide the graph among this number of GPUs, or all")
    some.add_argument("--ranks", type=int, metavar="N", help="divide the graph among ranks that are threads")
    some.add_argument("--mpi", action="store_true", help="divide the graph among the processes that mpiexec started")


def _cards(word: str) -> str | int:
    return word if word == "all" else int(word)


@contextmanager
def opened(script: Script) -> Iterator[Place]:
    """Open the ranks that options ask for; under mpiexec the first process prints and writes."""
    options = script.options
    if options.cards is None and options.ranks is None and not options.mpi:
        yield Place(options.device, options.device, lambda graph: graph.to(options.device))
        return
    with distributed.Cluster(threads=options.ranks, cards=options.cards) as cluster:
        name = f"{cluster.size} {'cards' if cluster.has_cards else 'ranks'}"
        device: Device = "gpu" if cluster.has_cards else "cpu"
        script.is_first = 0 in cluster.here
        script.report.provenance.update(provenance(device), place=name)
        yield Place(name, device, distributed.Graph.from_graph, True)
