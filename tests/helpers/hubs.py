"""Graphs with hubs, and the time that each public function takes on them beside a pass over the graph.

    python -m tests.helpers.hubs --leaves 100000 --seconds 10 [--rows k_shortest_paths]

prints a line for each row of the laws and each shape.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gasla
from tests.helpers import calls
from tests.helpers.law import Array, Asked, Row
from tests.helpers.law_trials import limited
from tests.helpers.laws import ROWS

Ends = tuple[Array, Array]
Trial = tuple[Row, Callable[[int], Ends]]


def both_ways(src: Any, dst: Any) -> Ends:
    src, dst = np.asarray(src), np.asarray(dst)
    return np.concatenate([src, dst]), np.concatenate([dst, src])


def star(n: int) -> Ends:
    """The hub is the last vertex."""
    return both_ways(np.full(n, n), np.arange(n))


def two_hubs(n: int) -> Ends:
    """K_{2,n}."""
    return both_ways(np.repeat([n, n + 1], n), np.tile(np.arange(n), 2))


def broom(n: int) -> Ends:
    """A star, and a path from its hub that is as long."""
    path = np.arange(n, 2 * n)
    return both_ways(np.concatenate([np.full(n, n), path]), np.concatenate([np.arange(n), path + 1]))


def loops(n: int) -> Ends:
    """A star whose hub has loops, and parallel edges to a leaf."""
    half = np.zeros(n // 2, int)
    return both_ways(
        np.concatenate([half, half, np.zeros(n, int)]), np.concatenate([half, half + 1, np.arange(1, n + 1)])
    )


def out_of_hub(n: int) -> Ends:
    return np.zeros(n, int), np.arange(1, n + 1)


def into_hub(n: int) -> Ends:
    return np.arange(n), np.full(n, n)


def even_leaves(n: int) -> Ends:
    return both_ways(np.ones(n, int), 2 * np.arange(n))


def odd_leaves(n: int) -> Ends:
    return both_ways(np.zeros(n, int), 2 * np.arange(n) + 1)


ANY: tuple[Callable[[int], Ends], ...] = (star, two_hubs, broom, loops, out_of_hub, into_hub)
SHAPES: dict[str, tuple[Callable[[int], Ends], ...]] = {
    "any": ANY,
    "symmetric": (),
    "steady": (star, two_hubs, broom, loops),
    "acyclic": (out_of_hub, into_hub),
    "bipartite": (even_leaves, odd_leaves),
}  # by the kinds of graphs that a row takes

# Functions whose pages state a time of n · m, or a limit that hubs meet: from each vertex a search, exact counts, every
# pair with a common neighbor; or rounds that a long path makes many.
SLOW = {
    "eccentricity", "effective_diameter(registers=None)", "k_hop_counts(registers=None)", "closeness_centrality",
    "harmonic_centrality", "betweenness_centrality", "edge_betweenness_centrality", "project", "mxm", "complement",
    "line_graph", "assignment", "minimum_cost_flow",
    "transitive_closure", "transitive_reduction", "temporal_motif_counts", "temporal_cycles", "simple_cycles",
}  # fmt: skip
# Linear, but by Python, or in hundreds of iterations.
LONG = {
    "is_isomorphic", "isomorphisms", "top_k_pagerank", "layout", "Graph.from_networkx", "null_model",
    "influence_maximization",
}  # fmt: skip
ROUNDS = {  # on a broom
    "weisfeiler_lehman_colors", "salsa", "multi_source_bfs", "spectral_embedding", "fiedler_vector",
    "spectral_clustering", "effective_diameter", "k_hop_counts",
}  # fmt: skip


def is_stated(row: Row, shape: Callable[[int], Ends]) -> bool:
    """Whether more than linear time is stated on the function's page, or it takes long in other ways."""
    return bool({row.name, row.function} & (SLOW | LONG)) or (shape is broom and row.function in ROUNDS)


def shapes_of(row: Row) -> list[Callable[[int], Ends]]:
    return list(dict.fromkeys(shape for kind in row.kinds for shape in SHAPES[kind]))


def ask(shape: Callable[[int], Ends], n: int) -> Asked:
    """A question about a shape; its vertices 0 and 1 are leaves, or a hub and a leaf."""
    src, dst = shape(n)
    graph = gasla.Graph.from_edges(src, dst, np.ones(len(src)))
    return Asked(graph, graph, np.arange(graph.n), np.arange(graph.m), graph.m)


@dataclass
class Outcome:
    """The CPU time of a call; why it was refused, if it was."""

    seconds: float
    refusal: str = ""

    @property
    def has_ended(self) -> bool:
        return not self.refusal.startswith("TimeoutError")


def time_of(row: Row, shape: Callable[[int], Ends], n: int, most: float) -> Outcome:
    """Call a row's function once, for at most some seconds."""
    asked, began = ask(shape, n), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with limited(most):
                return Outcome(calls.call(row, asked).seconds)
        except (ValueError, TypeError, MemoryError, TimeoutError) as refusal:
            return Outcome(time.process_time() - began, f"{type(refusal).__name__}: {refusal}")


def trials(rows: Sequence[Row]) -> Iterator[Trial]:
    """Rows and shapes whose pages state about linear time."""
    for row in rows:
        for shape in shapes_of(row):
            if not is_stated(row, shape):
                yield row, shape


def main(arguments: Sequence[str]) -> int:
    """Print times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--leaves", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rows", nargs="*", default=[])
    options = parser.parse_args(arguments)
    late = 0
    for row, shape in trials([row for row in ROWS if not options.rows or row.function in options.rows]):
        time_of(row, shape, 50, options.seconds)  # compiles
        found = time_of(row, shape, options.leaves, options.seconds)
        late += not found.has_ended
        print(f"{row.name} {shape.__name__}: {found.seconds:.3f} s {found.refusal[:100]}", flush=True)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
