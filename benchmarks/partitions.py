"""Balanced partitions: cuts and times, beside METIS (pymetis) and KaMinPar, and volumes, beside those of blocks.

    python -m benchmarks.partitions [--graphs ny,rmat16,FILE,...] [--seeds 3] [--output FILE]

All edges weigh 1, and parts may weigh 3% more than the mean in each library. A cell has the mean cut of several seeds
and the least time of a call: processor time of all threads, and wall time. KaMinPar runs on two threads, METIS on one.
Graphs are handed over in each library's own form before the clock starts. The last columns are the number of values
that vertices send (or mirrors, if a part is a rank): of parts with `objective="volume"`, and of blocks of adjacent ids
with as many edges each.
"""

import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from time import perf_counter, process_time
from typing import Any

import numpy as np

import gasla
from benchmarks.script import Script, command
from gasla import verify

Method = Callable[[int, int], Any]  # the labels, from k and a seed
TOLERANCE = 0.03


def by_gasla(graph: gasla.Graph) -> Method:
    """The cut is the objective."""
    return lambda k, seed: gasla.partition(graph, k, tolerance=TOLERANCE, seed=seed).labels


def by_metis(graph: gasla.Graph) -> Method:
    """METIS by its own choice of method: bisection up to 8 parts."""
    import pymetis

    lists = pymetis.CSRAdjacency(graph.out.indptr, graph.out.indices)

    def call(k: int, seed: int) -> Any:
        options = pymetis.Options(seed=seed + 1, ufactor=round(1000 * TOLERANCE))
        return np.asarray(pymetis.part_graph(k, adjacency=lists, options=options)[1])

    return call


def by_kaminpar(graph: gasla.Graph) -> Method:
    """KaMinPar's default preset."""
    import kaminpar

    instance = kaminpar.KaMinPar(2, kaminpar.default_context())
    with tempfile.TemporaryDirectory() as folder:  # it takes graphs from files alone
        path = f"{folder}/graph.graph"
        gasla.io.write(path, graph)
        form = kaminpar.load_graph(path, kaminpar.GraphFileFormat.METIS)

    def call(k: int, seed: int) -> Any:
        kaminpar.reseed(seed)
        return np.asarray(instance.compute_partition(form, k, TOLERANCE))

    return call


OTHERS = {"METIS": ("pymetis", by_metis), "KaMinPar": ("kaminpar", by_kaminpar)}


def blocks(graph: gasla.Graph, k: int) -> Any:
    """Labels of blocks of adjacent vertices with about as many edges each."""
    return np.minimum(graph.out.indptr[:-1] * k // max(graph.m, 1), k - 1).astype(np.int64)


def volume_of(graph: gasla.Graph, labels: Any, k: int) -> int:
    """The sum over vertices of the number of other parts with a neighbor."""
    src, dst = labels[graph.out.owners()], labels[graph.out.indices]
    apart = src != dst
    return int(np.unique(graph.out.owners()[apart].astype(np.int64) * k + dst[apart]).size)


def main(arguments: list[str] | None = None) -> None:
    """Print a row for each graph and number of parts."""
    parser = command(__doc__, "output", "json", graphs="ny,rmat16,rgg18,grid20")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--parts", type=int, nargs="+", default=[2, 8, 64])
    script = Script(parser, arguments)
    peers = {name: make for name, (module, make) in OTHERS.items() if importlib.util.find_spec(module)}
    names = ["gasla", *peers]
    script.say(
        f"{'graph':10}{'k':>4}" + "".join(f"{name + ': cut, CPU ms, wall ms':>36}" for name in names) + "  volumes"
    )
    for name in script.options.graphs:
        graph = script.load(name).graph.with_values(None)
        methods: dict[str, Method] = {"gasla": by_gasla(graph)}
        methods |= {peer: make(graph) for peer, make in peers.items()}
        src, dst = graph.out.owners(), graph.out.indices
        for k in script.options.parts:
            cuts: dict[str, list[int]] = {name: [] for name in names}
            times: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
            gasla.partition(graph, k)
            for seed in range(script.options.seeds):
                for method, call in methods.items():
                    began, used = perf_counter(), process_time()
                    labels = call(k, seed)
                    times[method].append((process_time() - used, perf_counter() - began))
                    cuts[method].append(int((labels[src] != labels[dst]).sum()) // 2)
            found = gasla.partition(graph, k, objective="volume")
            verify.partition(graph, found.labels, found.cut, found.volume, k)
            volumes = found.volume, volume_of(graph, blocks(graph, k), k)
            least = {name: [1e3 * min(each) for each in zip(*times[name], strict=True)] for name in names}
            cells = [f"{mean(cuts[name]):>18,.0f} {least[name][0]:8.0f} {least[name][1]:8.0f}" for name in names]
            line = f"{Path(name).stem:10}{k:4}"
            figures = {each: {"cuts": cuts[each], "milliseconds": least[each]} for each in names}
            script.say(
                line + "".join(cells) + f"  {volumes[0]:,} {volumes[1]:,}", (name, k), graph=name, k=k, **figures
            )


if __name__ == "__main__":
    main()
