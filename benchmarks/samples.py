"""Samples and walks, compared with pyg-lib: plain samples, disjoint ones, up to times, and of typed graphs.

python -m benchmarks.samples [--scale 20] [--seeds 1024] [--library libpyg.so] [--walkers 1000000] [--rows in time]

Each call draws 15 in-neighbors of each seed, and 10 of each of these, on an R-MAT graph; a typed one has two types, and
four relations between them. Walks have 40 steps. pyg-lib is imported, or its operators are loaded from a library. It
gets lists that are sorted by time; gasla keeps its own after the first call. Both draw edges of their own, so the
numbers of edges are equal up to chance only, but for the last edges before a time.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gasla
from benchmarks.script import Script, command
from gasla.graph.edge_times import lists_by_time

Call = Callable[[int], int]  # from the number of the call to that of sampled edges
FANOUT, SPAN, STEPS = [15, 10], 1_000_000, 40


class Samples:
    """The calls of both libraries on one graph."""

    def __init__(self, torch: Any, scale: int, seeds: int) -> None:
        graph = gasla.Graph(gasla.generators.rmat(scale)).with_values(None)
        rng = np.random.default_rng(0)
        self.graph = graph.with_edge_attributes(time=rng.integers(0, SPAN, graph.m))
        src, dst = graph.edges()
        names = np.where((src + dst) % 2 == 0, "with", "to")
        kinds = np.where(np.arange(graph.n) % 2, "b", "a")
        self.typed = gasla.TypedGraph.from_graph(self.graph, kinds.tolist(), names.tolist())
        self.torch, self.peer, self.seeds = torch, torch.ops.pyg, seeds
        self.lists = self.lists_of(self.graph.in_, 0, graph.n)
        self.by_time = self._by_time(self.graph, 0, graph.n)
        self.relations = {"__".join(name): self._of_relation(name) for name in self.typed.relations}

    def lists_of(self, lists: Any, first: int, count: int) -> tuple[Any, Any]:
        """Offsets and neighbors of some consecutive lists, as pyg-lib takes them."""
        bounds = lists.indptr[first : first + count + 1]
        return self.tensor(bounds), self.tensor(lists.indices)

    def _by_time(self, graph: gasla.Graph, first: int, count: int) -> tuple[Any, Any, Any]:
        timed = lists_by_time(graph, "time", "in")
        return *self.lists_of(timed.lists, first, count), self.tensor(timed.times)

    def _of_relation(self, name: Any) -> tuple[Any, ...]:
        first, count, graph = self.typed.starts(name)[1], self.typed.sizes[name[2]], self.typed[name]
        return *self.lists_of(graph.in_, first, count), *self._by_time(graph, first, count)

    def tensor(self, array: Any) -> Any:
        """An array of whole numbers as pyg-lib takes it."""
        return self.torch.from_numpy(array.astype(np.int64))

    def drawn(self, n: int, call: int) -> tuple[Any, Any]:
        """Distinct seeds of a call, and a time for each."""
        rng = np.random.default_rng(call)
        return rng.choice(n, self.seeds, replace=False), rng.integers(0, SPAN, self.seeds)

    def ours(self, call: int, timed: bool = False, **options: Any) -> int:
        """Sample the graph by gasla."""
        ids, at = self.drawn(self.graph.n, call)
        options |= {"at": at} if timed else {}
        return len(gasla.sample_neighbors(self.graph, ids, FANOUT, direction="in", seed=call, **options).edge_ids)

    def ours_typed(self, call: int, timed: bool = False, **options: Any) -> int:
        """Sample the typed graph by gasla."""
        ids, at = self.drawn(self.typed.sizes["a"], call)
        options |= {"at": at} if timed else {}
        found = gasla.sample_neighbors(self.typed, {"a": ids}, FANOUT, direction="in", seed=call, **options)
        return sum(map(len, found.edge_ids.values()))

    def theirs(self, call: int, timed: bool = False, strategy: str = "uniform", disjoint: bool = False) -> int:
        """Sample the graph by pyg-lib."""
        ids, at = map(self.tensor, self.drawn(self.graph.n, call))
        *lists, times = self.by_time if timed else (*self.lists, None)
        times_of = (None, times, at, None) if timed else (None, None, None, None)
        how = True, False, True, timed or disjoint, strategy
        return len(self.peer.neighbor_sample(*lists, ids, FANOUT, *times_of, *how)[0])

    def theirs_typed(self, call: int, timed: bool = False, strategy: str = "uniform") -> int:
        """Sample the typed graph by pyg-lib."""
        ids, at = map(self.tensor, self.drawn(self.typed.sizes["a"], call))
        parts = [{name: each[i + 2 * timed] for name, each in self.relations.items()} for i in (0, 1)]
        times = {name: each[4] for name, each in self.relations.items()}
        times_of = (None, times, {"a": at}, None) if timed else (None, None, None, None)
        names, how = ([*self.typed.sizes], [*self.typed.relations]), (True, False, True, timed, strategy)
        most = dict.fromkeys(self.relations, FANOUT)
        found = self.peer.hetero_neighbor_sample(*names, *parts, {"a": ids}, most, *times_of, *how)
        return sum(map(len, found[0].values()))


TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("", {}),
    "disjoint": ("", {"disjoint": True}),
    "uniform in time": ("", {"timed": True}),
    "last in time": ("", {"timed": True, "strategy": "last"}),
    "typed": ("_typed", {}),
    "typed, uniform in time": ("_typed", {"timed": True}),
    "typed, last in time": ("_typed", {"timed": True, "strategy": "last"}),
}


def peer_of(library: str | None) -> Any:
    """PyTorch with pyg-lib's operators."""
    import torch

    if library is None:
        import pyg_lib  # noqa: F401
    else:
        torch.ops.load_library(library)
    return torch


def walks(samples: Samples, walkers: int) -> dict[str, Call]:
    """Walks of both libraries along out-edges, and by gasla along edges in the order of time."""
    graph = samples.graph
    starts = np.random.default_rng(1).integers(0, graph.n, walkers)
    lists, own = samples.lists_of(graph.out, 0, graph.n), samples.tensor(starts)
    return {
        "pyg-lib": lambda call: len(samples.peer.random_walk(*lists, own, STEPS, 1.0, 1.0)),
        "gasla": lambda call: len(gasla.random_walks(graph, starts, STEPS, seed=call)),
        "gasla in time": lambda call: len(gasla.temporal_walks(graph, starts, STEPS, seed=call)),
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print a row for each task."""
    parser = command(__doc__, "output", "json", "rows", rounds=9)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=1024)
    parser.add_argument("--walkers", type=int, default=1_000_000)
    parser.add_argument("--library", help="the library with pyg-lib's operators, if pyg_lib can't be imported")
    script = Script(parser, arguments)
    samples = Samples(peer_of(script.options.library), script.options.scale, script.options.seeds)
    for name, (kind, options) in script.wanted(TASKS.items()):

        def check(counts: list[int], is_last: bool = "last" in name) -> None:
            theirs, ours = counts
            np.testing.assert_allclose(ours, theirs, rtol=0 if is_last else 0.05)

        ways: dict[str, Call] = {
            "pyg-lib": partial(getattr(samples, f"theirs{kind}"), **options),
            "gasla": partial(getattr(samples, f"ours{kind}"), **options),
        }
        script.contest(name, ways, check=check)
    for name, ways in script.wanted(
        {f"{script.options.walkers:,} walks": walks(samples, script.options.walkers)}.items()
    ):
        script.contest(name, ways)


if __name__ == "__main__":
    main()
