"""Compare `gasla.csgraph` with `scipy.sparse.csgraph`, interleaved, on SciPy arrays that are new objects in each call.

    python -m benchmarks.csgraph FILE.json [seconds per row [regular expression for rows]]

A row has the median times of both in milliseconds, and gasla's time divided by SciPy's. Code is compiled beforehand.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.sparse import csgraph as scipy_csgraph
from scipy.sparse import csr_array

from gasla import csgraph, datasets
from gasla.bench.interleave import interleave

Call = Callable[[Any], Any]  # takes one of the two modules


def fresh(A: csr_array) -> csr_array:
    """A new matrix of the same arrays, without cached properties."""
    return csr_array((A.data, A.indices, A.indptr), shape=A.shape)


def random_graph(n: int, m: int, seed: int) -> csr_array:
    rng = np.random.default_rng(seed)
    return csr_array((rng.random(m) + 0.1, (rng.integers(0, n, m), rng.integers(0, n, m))), shape=(n, n))


def rows() -> Iterator[tuple[str, Call]]:
    """The calls to measure, by name."""
    roads = datasets.with_weights(datasets.ny_roads())
    graphs = {"rmat18": datasets.rmat(18), "grid18": datasets.grid(18), "NY roads": roads}
    for name, given in graphs.items():
        A = csr_array(getattr(given, "matrix", given))
        sources = datasets.sources(A, 8)
        hundred = np.resize(sources, 100)
        yield f"{name}: dijkstra, 1 source", lambda m, A=A, s=sources[0]: m.dijkstra(fresh(A), indices=s)
        yield (
            f"{name}: predecessors, 1 source",
            lambda m, A=A, s=sources[0]: m.dijkstra(fresh(A), indices=s, return_predecessors=True),
        )
        yield (
            f"{name}: unweighted, 1 source",
            lambda m, A=A, s=sources[0]: m.dijkstra(fresh(A), indices=s, unweighted=True),
        )
        yield (
            f"{name}: undirected, 1 source",
            lambda m, A=A, s=sources[0]: m.dijkstra(fresh(A), indices=s, directed=False),
        )
        yield f"{name}: connected_components", lambda m, A=A: m.connected_components(fresh(A))
        yield f"{name}: minimum_spanning_tree", lambda m, A=A: m.minimum_spanning_tree(fresh(A))
        yield f"{name}: laplacian", lambda m, A=A: m.laplacian(fresh(A))
        yield f"{name}: laplacian, normed", lambda m, A=A: m.laplacian(fresh(A), normed=True)
        yield f"{name}: dijkstra, 100 sources", lambda m, A=A, s=hundred: m.dijkstra(fresh(A), indices=s)
    for n, m in ((2_500, 10_000), (10_000, 40_000), (20_000, 80_000), (50_000, 200_000)):
        A = random_graph(n, m, 1)
        yield f"{m:,} edges: dijkstra, 1 source", lambda m, A=A: m.dijkstra(fresh(A), indices=0)
        yield (
            f"{m:,} edges: predecessors, 1 source",
            lambda m, A=A: m.dijkstra(fresh(A), indices=0, return_predecessors=True),
        )
        yield f"{m:,} edges: connected_components", lambda m, A=A: m.connected_components(fresh(A))
        yield f"{m:,} edges: minimum_spanning_tree", lambda m, A=A: m.minimum_spanning_tree(fresh(A))
        yield f"{m:,} edges: laplacian", lambda m, A=A: m.laplacian(fresh(A))
    A = random_graph(2_500, 10_000, 1)
    yield "10,000 edges: dijkstra, 100 sources", lambda m, A=A: m.dijkstra(fresh(A), indices=range(100))
    yield (
        "10,000 edges: predecessors, 100 sources",
        lambda m, A=A: m.dijkstra(fresh(A), indices=range(100), return_predecessors=True),
    )
    small = [random_graph(50, 200, seed) for seed in range(1000)]
    yield "1,000 graphs of 200 edges: dijkstra", lambda m: [m.dijkstra(fresh(A), indices=0) for A in small]
    yield "1,000 graphs of 200 edges: connected_components", lambda m: [m.connected_components(fresh(A)) for A in small]
    dense = np.random.default_rng(1).random((2000, 2000)) + 0.1
    yield "dense, 2,000 × 2,000: 1 source", lambda m: m.shortest_path(dense, indices=0)
    yield "dense, 2,000 × 2,000: 100 sources", lambda m: m.shortest_path(dense, indices=range(100))
    yield "dense, 2,000 × 2,000: all pairs", lambda m: m.shortest_path(dense)


def main(path: str, budget: float = 5.0, wanted: str = "") -> None:
    """Measure all rows, and write them to a JSON file."""
    table = []
    for name, call in rows():
        if not re.search(wanted, name):
            continue
        call(csgraph)  # compiles
        both = {"SciPy": lambda _: call(scipy_csgraph), "gasla": lambda _: call(csgraph)}  # noqa: B023
        seconds = interleave(both, 15, budget, keep=frozenset(both))
        ms = {who: 1000 * median(times) for who, times in seconds.items()}
        row = {"what": name, **{k: round(v, 3) for k, v in ms.items()}, "share": round(ms["gasla"] / ms["SciPy"], 2)}
        print(*row.values(), sep=" | ", flush=True)
        table.append(row)
    Path(path).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], *map(float, sys.argv[2:3]), *sys.argv[3:4])
