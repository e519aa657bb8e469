"""Compile ahead of time what the library's own functions need: the build of a wheel does this, and puts it in there.

python -m gasla.shipping FOLDER

Which kernels these are is found out by calling every function on small graphs of all kinds that make a difference to
the engine, and by running the examples in the docstrings. Each kernel is stored in the folder as `gasla.cache` stores
it, and `gasla.cache` looks for it there.
"""

from __future__ import annotations

import doctest
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

# The dearest first, so that the processes end together. `g` is the graph, `n` its number of vertices.
CALLS = [
    "strongly_connected_components(g)",
    "minimum_spanning_forest(g)",
    "louvain_communities(g)",
    "louvain_communities(g, refine=True)",
    "bridges(g)",
    "greedy_color(g)",
    "greedy_color(g, 'random_sequential')",
    "shortest_path(g, 0, 5)",
    "shortest_path(g, 0, 5, method='dijkstra')",
    "shortest_path(g, 0, 5, method='bidirectional')",
    "maximum_flow(g, 0, 5)",
    "multi_source_bfs(g, [0, 1])",
    "multi_source_bfs(g, range(40))",
    "bfs(g, 0)",
    "bfs(g, 0, parents=True)",
    "bfs(g, 0, depth_limit=2)",
    "sssp(g, 0)",
    "sssp(g, 0, parents=True)",
    "sssp(g, [0, 1])",
    "multi_source_shortest_paths(g, [0, 1])",
    "multi_source_shortest_paths(g, range(20))",
    "closeness_centrality(g, k=8)",
    "closeness_centrality(g, distance='weight', k=8)",
    "harmonic_centrality(g, k=8)",
    "harmonic_centrality(g, distance='weight', k=8)",
    "pagerank(g)",
    "pagerank(g, weighted=False)",
    "pagerank(g, personalization={0: 1.0})",
    "pagerank(g, weighted=False, personalization={0: 1.0})",
    "pagerank(g, order='in place')",
    "hits(g)",
    "hits(g, weighted=False)",
    "salsa(g)",
    "salsa(g, weighted=False)",
    "katz_centrality(g, alpha=1e-3)",
    "katz_centrality(g, alpha=1e-3, weighted=True)",
    "eigenvector_centrality(g)",
    "eigenvector_centrality(g, weighted=True)",
    "core_number(g)",
    "k_core(g)",
    "k_truss(g)",
    "label_propagation(g)",
    "label_propagation(g, weighted=True)",
    "pagerank_nibble(g, 0)",
    "pagerank_nibble(g, 0, weighted=True)",
    "betweenness_centrality(g, k=4)",
    "betweenness_centrality(g, k=4, weighted=True)",
    "edge_betweenness_centrality(g, k=4)",
    "edge_betweenness_centrality(g, k=4, weighted=True)",
    "connected_components(g)",
    "articulation_points(g)",
    "is_bipartite(g)",
    "is_bipartite(g, colors=True)",
    "topological_order(g)",
    "topological_order(g, levels=True)",
    "longest_path(g)",
    "longest_path(g, weighted=False)",
    "maximal_independent_set(g)",
    "maximal_matching(g)",
    "maximal_matching(g, weighted=True)",
    "triangle_count(g)",
    "triangle_count(g, per_vertex=True)",
    "edge_support(g)",
    "clustering(g)",
    "average_clustering(g)",
    "square_clustering(g)",
    "jaccard(g)",
    "adamic_adar(g)",
    "resource_allocation(g)",
    "cosine(g)",
    "overlap(g)",
    "preferential_attachment(g)",
    "top_k_similar(g, 5)",
    "count_cliques(g, 4)",
    "subgraph_matches(g, 1 - np.eye(3, dtype=int), count=True)",
    "subgraph_matches(g, 1 - np.eye(3, dtype=int))",
    "modularity(g, np.arange(n) % 3)",
    "condensation(g)",
    "ego_graph(g, 0)",
    "ego_graph(g, 0, 2, undirected=True)",
    "ego_graph(g, 0, 2.0, weighted=True)",
    "project(g, np.arange(n) < n // 2)",
    "minimum_cut(g, 0, 5)",
    "aggregate_features(g, np.ones((n, 8)))",
    "aggregate_features(g, np.ones((n, 8), np.float32), 'mean')",
    "aggregate_features(g, np.ones((n, 8), np.float32), 'max')",
    "random_walks(g, [0, 1], 5)",
    "random_walks(g, [0, 1], 5, weighted=True)",
    "node2vec_walks(g, [0, 1], 5, p=0.5, q=2.0)",
    "sample_neighbors(g, [0, 1], 3)",
    "top_k(g, 3)",
    "mxv(g, np.ones(n))",
    "mxv(g, np.ones(n), semirings.min_plus)",
    "mxv(g, np.ones(n), semirings.max_times)",
    "mxv(g, np.ones(n, bool), semirings.any_pair)",
    "vxm(np.ones(n), g)",
    "vxm(np.ones(n), g, semirings.min_plus)",
    "mxm(g, g)",
    "mxm(g, g, semirings.min_plus)",
    "mxm(g, g, semirings.plus_pair, mask=g)",
    "Graph(g).simple()",
    "Graph(g).symmetrized(semirings.max)",
    "Graph(g).subgraph(np.arange(n // 2))",
    "Graph(g).contract(np.arange(n) // 2)",
]
ON_LARGE = ("square", "closeness", "harmonic", "cliques", "similar", "project", "mxm", "flow", "cut", "matches")
TYPES = (("i4", "f8"), ("i8", "f8"), ("i4", "f4"), ("i4", "i8"), ("i8", "i8"), ("i4", ""))  # of ids; of values, if any


def main() -> None:
    """Compile into a folder, unless that was done from the same text."""
    folder = Path(sys.argv[1]).absolute()
    if not can_ship():
        print("gasla: functions are compiled when called; code is shipped for Linux on x86-64-v3 alone")
        return
    stamp, text = folder / "made_of", made_of()
    if stamp.is_file() and stamp.read_text() == text:
        return
    import gasla

    began = time.perf_counter()
    for name in ("kernels", "parts", "programs") if stamp.is_file() else ():  # what was compiled of another text
        shutil.rmtree(folder / name, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {"GASLA_CACHE_DIR": str(folder), "GASLA_QUIET": "1", "GASLA_NUM_THREADS": "2"}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        tasks = [*(pool.submit(call, text) for text in CALLS), *(pool.submit(show, name) for name in gasla.__all__)]
        for done in as_completed(tasks):
            done.result()
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)  # of one version of Python
    stamp.write_text(text)
    files = [path for path in folder.rglob("*") if path.is_file()]
    size, seconds = sum(path.stat().st_size for path in files), time.perf_counter() - began
    print(f"gasla: {len(files) - 1} kernels, {size / 1e6:.1f} MB, compiled in {seconds:.0f} s")


def can_ship() -> bool:
    """Whether code that is compiled here runs on most machines of its kind."""
    from gasla.compiler.objects import common, host

    return sys.platform == "linux" and common() != host()


def made_of() -> str:
    """A hash of the text of both packages, of which all else follows."""
    import hashlib

    package = Path(__file__).parent
    files = sorted([*package.rglob("*.py"), *(package.parent / "semirings").rglob("*.py")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def call(text: str) -> None:
    """Make a call on every graph; its function may refuse some of them."""
    import gasla
    import semirings

    warnings.simplefilter("ignore")
    for make in graphs(is_cheap=not any(name in text for name in ON_LARGE)):
        graph = make()
        with suppress(ValueError, TypeError):
            eval(f"gasla.{text}", {"gasla": gasla, "semirings": semirings, "np": np, "g": graph, "n": graph.n})


def show(name: str) -> None:
    """Run the examples in a public name's docstring."""
    import gasla

    warnings.simplefilter("ignore")
    for test in doctest.DocTestFinder(recurse=False).find(getattr(gasla, name), name):
        doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None)


@cache
def graphs(is_cheap: bool) -> list[Callable[[], Any]]:
    """Functions that make the graphs, a new one in each call: a graph keeps what was derived from it."""
    made = [partial(graph, matrix, *types) for types in TYPES for matrix in small()[: None if types[1] == "f8" else 4]]
    return made + [partial(graph, matrix, *TYPES[0]) for matrix in large() if is_cheap]


def small() -> list[Any]:
    """Small matrices: symmetric, acyclic, with loops and parallel edges, by column; paths; one that is bipartite."""
    draw = np.random.default_rng(0)
    plain = sp.random_array((40, 40), density=0.15, rng=draw, format="coo")
    loose = sp.coo_array((draw.random(200), (draw.integers(0, 29, 200), draw.integers(0, 29, 200))), (30, 30))
    up = sp.coo_array(sp.triu(plain, 1))
    path = sp.coo_array((draw.random(49), (np.arange(49), np.arange(1, 50))), (50, 50))
    side = sp.random_array((15, 15), density=0.3, rng=draw)
    two_sides = sp.block_array([[None, side], [sp.coo_array((15, 15)), None]])
    return [up + up.T, up.tocsr(), plain.tocsr(), loose, plain.tocsc(), path, path + path.T, two_sides]


def large() -> list[Any]:
    """The flights that come with gasla, and a matrix with enough entries for several threads; each also symmetric."""
    from gasla import datasets

    draw = np.random.default_rng(0)
    n, m = 1 << 15, 1 << 18
    tails = draw.integers(0, n, m)
    heads = (tails + 1 + (draw.random(m) ** 9 * n).astype(np.int64)) % n
    matrix = sp.coo_array((draw.random(m), (tails, heads)), (n, n)).tocsr()
    flights = datasets.openflights().matrix
    return [flights, flights + flights.T, matrix, matrix + matrix.T]


def graph(matrix: Any, ids: str, values: str) -> Any:
    """The graph of a matrix, with ids and offsets of a type, and values of another."""
    import gasla

    found = matrix.copy()
    found.data = (10 * matrix.data + 1).astype(values or float)
    if matrix.format == "coo":
        found.coords = tuple(axis.astype(ids) for axis in matrix.coords)
    else:
        found.indices, found.indptr = matrix.indices.astype(ids), matrix.indptr.astype(ids)
    made = gasla.Graph(found)
    return made if values else gasla.Graph.from_edges(*made.edges(), n=made.n)


if __name__ == "__main__":
    main()
