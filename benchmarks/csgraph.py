"""Compare `gasla.csgraph` with `scipy.sparse.csgraph`, by turns, on SciPy arrays that are new objects in each call.

    python -m benchmarks.csgraph [--output FILE] [--rows REGEX] [--budget SECONDS]

A row has the median times of both in milliseconds, and how many times as fast as SciPy gasla is. Code is compiled
beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csgraph as scipy_csgraph
from scipy.sparse import csr_array

from benchmarks.script import Script, command
from gasla import csgraph, datasets

Call = Callable[[Any], Any]  # takes one of the two modules


def fresh(A: csr_array) -> csr_array:
    """A new matrix of the same arrays, without cached properties."""
    return csr_array((A.data, A.indices, A.indptr), shape=A.shape)


def random_graph(n: int, m: int, seed: int) -> csr_array:
    rng = np.random.default_rng(seed)
    return csr_array((rng.random(m) + 0.1, (rng.integers(0, n, m), rng.integers(0, n, m))), shape=(n, n))


OTHERS: dict[str, Callable[..., Any]] = {
    "connected_components": lambda m, A: m.connected_components(fresh(A)),
    "minimum_spanning_tree": lambda m, A: m.minimum_spanning_tree(fresh(A)),
    "laplacian": lambda m, A: m.laplacian(fresh(A)),
    "laplacian, normed": lambda m, A: m.laplacian(fresh(A), normed=True),
}


def search(A: csr_array, sources: Any, **options: Any) -> Call:
    """Shortest paths from one source or several."""
    return lambda m: m.dijkstra(fresh(A), indices=sources, **options)


def rows() -> Iterator[tuple[str, Call]]:
    """The calls to measure, by name."""
    roads = datasets.with_weights(datasets.ny_roads())
    graphs = {"rmat18": datasets.rmat(18), "grid18": datasets.grid(18), "NY roads": roads}
    for name, given in graphs.items():
        A = csr_array(getattr(given, "matrix", given))
        sources = datasets.sources(A, 8)
        yield f"{name}: dijkstra, 1 source", search(A, sources[0])
        yield f"{name}: predecessors, 1 source", search(A, sources[0], return_predecessors=True)
        yield f"{name}: unweighted, 1 source", search(A, sources[0], unweighted=True)
        yield f"{name}: undirected, 1 source", search(A, sources[0], directed=False)
        yield from ((f"{name}: {other}", partial(call, A=A)) for other, call in OTHERS.items())
        yield f"{name}: dijkstra, 100 sources", search(A, np.resize(sources, 100))
    for n, m in ((2_500, 10_000), (10_000, 40_000), (20_000, 80_000), (50_000, 200_000)):
        A = random_graph(n, m, 1)
        yield f"{m:,} edges: dijkstra, 1 source", search(A, 0)
        yield f"{m:,} edges: predecessors, 1 source", search(A, 0, return_predecessors=True)
        yield from ((f"{m:,} edges: {other}", partial(call, A=A)) for other, call in [*OTHERS.items()][:3])
    A = random_graph(2_500, 10_000, 1)
    yield "10,000 edges: dijkstra, 100 sources", search(A, range(100))
    yield "10,000 edges: predecessors, 100 sources", search(A, range(100), return_predecessors=True)
    small = [random_graph(50, 200, seed) for seed in range(1000)]
    yield "1,000 graphs of 200 edges: dijkstra", lambda m: [m.dijkstra(fresh(A), indices=0) for A in small]
    yield "1,000 graphs of 200 edges: connected_components", lambda m: [m.connected_components(fresh(A)) for A in small]
    dense = np.random.default_rng(1).random((2000, 2000)) + 0.1
    yield "dense, 2,000 × 2,000: 1 source", lambda m: m.shortest_path(dense, indices=0)
    yield "dense, 2,000 × 2,000: 100 sources", lambda m: m.shortest_path(dense, indices=range(100))
    yield "dense, 2,000 × 2,000: all pairs", lambda m: m.shortest_path(dense)


def main() -> None:
    """Measure all rows whose names match."""
    script = Script(command(__doc__, "json", "output", "rows", rounds=15, budget=5.0))
    for what, call in script.wanted(rows()):
        both = {"SciPy": lambda _, f=call: f(scipy_csgraph), "gasla": lambda _, f=call: f(csgraph)}
        script.contest(what, both, warm=["gasla"])


if __name__ == "__main__":
    main()
