"""Measure the memory that building a graph takes: the peak of new arrays, and the arrays that the graph has at the end.

    python -m benchmarks.building [--edges 2000000] [--output FILE]

Counted are the arrays of NumPy, on the CPU, by tracemalloc. Ten edges per vertex; ids of 32 bits, weights of 64.
"""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array

import gasla
import semirings
from benchmarks.script import Script, command
from gasla import io

FILES = ("a.txt", "a.mtx", "a.gr", "a.npz", "a.csv", "a.parquet")


def builders(m: int, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The measured calls, by name."""
    n = m // 10
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, n, (2, m)).astype(np.int32)
    weights = rng.random(m)
    A = coo_array((weights, (src, dst)), shape=(n, n)).tocsr()

    def lists(graph: gasla.Graph) -> gasla.Graph:
        graph.out, graph.in_, graph.in_values  # noqa: B018
        return graph

    yield "from_edges, unsorted", lambda: gasla.Graph.from_edges(src, dst, weights, n=n)
    yield "from_edges, with lists both ways", lambda: lists(gasla.Graph.from_edges(src, dst, weights, n=n))
    yield "Graph(A) of a CSR array", lambda: gasla.Graph(A)
    yield "Graph(A), with lists both ways", lambda: lists(gasla.Graph(A))
    graph = gasla.Graph(A)
    yield "simple(plus)", lambda: graph.simple(semirings.plus)
    yield "symmetrized(max)", lambda: graph.symmetrized(semirings.max)
    yield "symmetrized, without values", lambda: graph.with_values(None).symmetrized()
    for name in FILES:
        io.write(folder / name, A)
        yield f"io.read of {name[1:]}", partial(io.read, folder / name)
    for name in FILES[:3]:
        convert = partial(io.convert, folder / name, folder / "b.gasla", memory=16 << 20)
        yield f"io.convert of {name[1:]}, in 16 MB", convert


def measured(build: Callable[[], Any]) -> tuple[int, int]:
    """Bytes of new arrays at their peak, and of all arrays of the result."""
    tracemalloc.start()
    made = build()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, (made if isinstance(made, gasla.Graph) else gasla.Graph(made)).nbytes


def main() -> None:
    """Print one line per way of building."""
    parser = command(__doc__, "output")
    parser.add_argument("--edges", type=int, default=2_000_000)
    script = Script(parser)
    m = script.options.edges
    script.say(f"{'':36}{'peak B/edge':>12}{'graph B/edge':>14}{'peak / graph':>14}")
    with tempfile.TemporaryDirectory() as folder:
        for name, build in builders(m, Path(folder)):
            peak, final = measured(build)
            script.say(f"{name:36}{peak / m:12.1f}{final / m:14.1f}{peak / final:14.2f}")


if __name__ == "__main__":
    main()
