"""Results are compared with the memory that is available before they are allocated, by every public function."""

import functools
import inspect
import json
import re
import signal
import subprocess
import sys
import typing
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

import gasla
import semirings
from gasla import csgraph
from gasla.cpu.program import initial_state
from gasla.cpu.runtime import memory
from gasla.graph import memory_limit
from gasla.operations import walk_pairs
from tests.algorithms.test_arguments import FUNCTIONS, kind_of
from tests.helpers import ROOT

N = 300
MOST = 80_000  # bytes that are said to be available: more than one number for each edge or vertex takes
PLACES = np.append(np.arange(N - 1), np.arange(N - 3))
EDGES = np.stack([PLACES, PLACES + np.where(np.arange(2 * N - 4) < N - 1, 1, 3)])  # connected, acyclic, bipartite
EVERYONE = np.arange(N)
NEEDED: dict[str, Any] = {
    "function": gasla.transitivity,
    "terminals": EVERYONE[:9],
    **{"source": 0, "target": 1, "sources": EVERYONE, "starts": EVERYONE, "ids": EVERYONE, "k": 100, "length": 100},
    "supplies": np.zeros(N, np.int64),
    **{"labels": EVERYONE, "locations": np.ones((N, 2)), "pattern": "path3", "side": EVERYONE[::2]},
    **{"features": np.ones((N, 50)), "registers": 256, "window": None, "duration": 0, "delta": 0, "max_length": 100},
}
CHOSEN = {"sources", "starts", "ids", "k", "length", "registers", "side"}  # arguments that a result may grow with


class Wide(gasla.VertexProgram):
    """A vector at each vertex."""

    x = gasla.vertex((np.float64, (100,)), init=0)
    reduce = semirings.plus
    everyone = True

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return src.x

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"x": gathered}


def graph() -> gasla.Graph:
    return gasla.Graph.from_edges(*EDGES, np.ones(len(PLACES)), n=N).with_edge_attributes(time=PLACES)


NEEDED["other"] = graph()


def complete() -> gasla.Graph:
    """A graph on which iterations converge."""
    src, dst = np.nonzero(1 - np.eye(6, dtype=int))
    return gasla.Graph.from_edges(src, dst, np.ones(30)).with_edge_attributes(time=src)


def star() -> gasla.Graph:
    return gasla.Graph.from_edges(EVERYONE[:-1], np.full(N - 1, N - 1), n=N)


def sparse() -> csr_array:
    return csr_array(graph().to_scipy())


CALLS: dict[str, Callable[[], Any]] = {
    "walk": lambda: gasla.walk(gasla.WalkProgram, graph(), EVERYONE, 100),
    "walk_pairs": lambda: gasla.walk_pairs(np.zeros((N, 20), np.int64), 10),
    "negative_edges": lambda: gasla.negative_edges(graph(), 20_000),
    "sample_neighbors in layers": lambda: gasla.sample_neighbors(graph(), EVERYONE, [100, 10], replace=True),
    "nearest_neighbors_graph": lambda: gasla.nearest_neighbors_graph(np.random.default_rng(0).random((N, 2)), 50),
    "reduce_by_key": lambda: gasla.reduce_by_key([0], np.ones(1), semirings.plus, size=20_000),
    "mxm": lambda: gasla.mxm(np.ones((N, 1)) @ np.ones((1, N)) * graph().to_scipy(), csr_array(np.ones((N, N)))),
    "mxv of columns": lambda: gasla.mxv(graph(), np.ones((N, 100))),
    "vxm of columns": lambda: gasla.vxm(np.ones((N, 100)), graph()),
    "top_k": lambda: gasla.top_k(csr_array(np.ones((N, N))), 50),
    "run": lambda: gasla.run(Wide, graph(), max_iterations=1).x,
    "run with a start": lambda: gasla.run(Wide, graph(), max_iterations=1, x=np.zeros((N, 100))).x,
    "run interpreted": lambda: gasla.run(Wide, graph(), max_iterations=1, compile=False).x,
    "pagerank of several": lambda: gasla.pagerank(graph(), personalization=[{0: 1}] * 50).ranks,
    "project a star": lambda: gasla.project(star(), EVERYONE[:-1]),
    "line_graph of a star": lambda: gasla.line_graph(star(), undirected=True),
    "subgraph_matches in a star": lambda: gasla.subgraph_matches(star(), "path3"),
    "rmat": lambda: gasla.generators.rmat(12),
    "uniform": lambda: gasla.generators.uniform(12),
    "grid": lambda: gasla.generators.grid(14),
    "rgg": lambda: gasla.generators.rgg(13),
    "town": lambda: gasla.generators.town(14),
    "csgraph.shortest_path": lambda: csgraph.shortest_path(sparse()),
    "csgraph.dijkstra": lambda: csgraph.dijkstra(sparse(), indices=EVERYONE, return_predecessors=True)[1],
    "csgraph.bellman_ford": lambda: csgraph.bellman_ford(sparse()),
    "csgraph.floyd_warshall": lambda: csgraph.floyd_warshall(sparse()),
    "csgraph.csgraph_to_dense": lambda: csgraph.csgraph_to_dense(sparse()),
    "networkx.to_numpy_array": lambda: nx.to_numpy_array(nx.path_graph(N), backend="gasla"),
    "networkx.floyd_warshall_numpy": lambda: nx.floyd_warshall_numpy(nx.path_graph(N), backend="gasla"),
    "Graph.from_edges": lambda: gasla.Graph.from_edges([0], [10**6]).out.indptr,
    **{
        name: (lambda name=name: getattr(gasla, name)(graph(), **arguments(name)))
        for name in FUNCTIONS
        if name != "draw"
    },
}


def arguments(name: str) -> dict[str, Any]:
    """Arguments with which results become as large as they can."""
    _, *parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    names = {p.name for p in parameters if p.default is p.empty or p.name in CHOSEN}
    if {"sources", "k"} <= names:
        names.remove("k")
    return {p: NEEDED[p] for p in sorted(names)}


def size(x: Any) -> int:
    """The bytes of the arrays of a result."""
    if isinstance(x, gasla.Graph):
        return size((x.out.indices, x.values))
    if isinstance(x, dict):
        return size([*x.values()])
    if isinstance(x, list | tuple):
        return sum(map(size, x))
    if hasattr(x, "data") and hasattr(x, "indices"):
        return size((x.data, x.indices))
    return int(getattr(x, "nbytes", 0))


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: MOST)
    for module in (memory_limit, initial_state, walk_pairs):
        monkeypatch.setattr(module, "LARGE", 1 << 10)


GROWS = {  # the functions above whose results are larger than that; all others return less
    *(name for name in CALLS if name not in FUNCTIONS),
    *(
        "multi_source_bfs",
        "multi_source_shortest_paths",
        "temporal_reachability",
        "spectral_embedding",
        "fiedler_vector",
    ),
    "spectral_clustering",
    "fastrp",
    *("k_hop_counts", "effective_diameter", "top_k_similar", "random_walks", "node2vec_walks", "sample_neighbors"),
    *("aggregate_features", "top_k", "transitive_closure", "complement", "cycle_basis", "influence_maximization"),
}


@pytest.mark.usefixtures("little_memory")
@pytest.mark.filterwarnings("ignore::gasla.operations.result.ConvergenceWarning")
@pytest.mark.parametrize("name", CALLS)
def test_a_result_larger_than_the_memory_available_is_refused(name: str) -> None:
    try:
        found = CALLS[name]()
    except MemoryError as error:
        refusal = str(error)
    else:
        refusal = ""
        assert size(found) <= MOST, "it was returned"
    assert ("available" in refusal) == (name in GROWS), refusal


HUGE = (2**31, 10**12, 2**62, 2**63 - 1, 2**64)
NUMBERS: dict[str, Any] = {
    **{"sources": [0, 1], "starts": [0, 1], "ids": [0, 1], "k": 2, "length": 2, "pattern": "path3"},
    **{"labels": np.arange(6), "locations": np.ones((6, 2)), "features": np.ones((6, 2)), "side": [0, 1]},
}
MORE: dict[str, Callable[[int], Any]] = {
    "walk": lambda k: gasla.walk(gasla.WalkProgram, graph(), [0], k),
    "walk_pairs": lambda k: gasla.walk_pairs([[0, 1, 2]], k),
    "negative_edges": lambda k: gasla.negative_edges(graph(), k),
    "sample_neighbors in layers": lambda k: gasla.sample_neighbors(graph(), [0], [k], replace=True),
    "nearest_neighbors_graph": lambda k: gasla.nearest_neighbors_graph([[0.0], [1.0]], k),
    "reduce_by_key": lambda k: gasla.reduce_by_key([0], np.ones(1), semirings.plus, size=k),
    "Graph.from_edges": lambda k: gasla.Graph.from_edges([0], [1], n=k),
    "Graph.from_edges of an id": lambda k: gasla.Graph.from_edges([0], [min(k, 2**63 - 1)]),
    "Graph.contract": lambda k: graph().contract(np.where(EVERYONE > 9, min(k, 2**63 - 1), 0)),
    "Graph of a wide matrix": lambda k: gasla.Graph(coo_array(([1.0], ([0], [1])), shape=(min(k, 2**63 - 1),) * 2)),
    "rmat": lambda k: gasla.generators.rmat(4, k),
    "uniform": lambda k: gasla.generators.uniform(k),
    "csgraph.yen": lambda k: csgraph.yen(sparse(), 0, 5, k),
    "mxv of columns": lambda k: gasla.mxv(graph(), np.broadcast_to(1.0, (N, min(k, 2**40)))),
    "run": lambda k: gasla.run(Wide, graph(), max_iterations=k) if k > 2**62 else None,
}


def calls_with_huge_numbers() -> Iterator[tuple[str, Callable[[], Any]]]:
    """A call for each parameter of each function that is a whole number, and each huge number."""
    for name, function in FUNCTIONS.items():
        hints, (_, *parameters) = typing.get_type_hints(function), inspect.signature(function).parameters.values()
        needed = {p.name: NUMBERS.get(p.name, NEEDED.get(p.name)) for p in parameters if p.default is p.empty}
        for p in parameters:
            if name == "draw" or kind_of(hints[p.name])[0] is not int:
                continue
            for k in HUGE:
                said = f"{name}({p.name}={k})"
                yield said, functools.partial(function, complete(), **needed | {p.name: k})
    for name, call in MORE.items():
        yield from ((f"{name}: {k}", functools.partial(call, k)) for k in HUGE)


def tried(call: Callable[[], Any]) -> str:
    """What is wrong about how a call ends; empty if nothing is."""
    try:
        found = call()
    except MemoryError as error:
        return "" if "available" in str(error) else f"MemoryError: {error}"
    except (ValueError, OverflowError) as error:
        words = str(error)
        is_numpy = re.search(
            "Maximum allowed|array is too big|too large to convert|out of bounds|negative dimensions", words
        )
        return f"{type(error).__name__}: {words}" if is_numpy else ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if size(found) < 1 << 26 else "it was returned"


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")
def test_huge_numbers_are_answered_or_refused_by_name() -> None:
    """In a process of little address space, so that an allocation that is not refused fails."""
    code = f"from {__name__} import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    wrong, count = json.loads(done.stdout.splitlines()[-1])
    assert not wrong and count > 250, json.dumps(wrong, indent=1)


def main() -> None:
    """Print what is wrong in calls with huge numbers, and their number."""
    import resource

    warnings.simplefilter("ignore")
    calls = dict(calls_with_huge_numbers())
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    wrong = {}
    for name, call in calls.items():
        signal.alarm(20)  # ends the process where a call does not end
        print(name, file=sys.stderr, flush=True)
        if said := tried(call):
            wrong[name] = said
    print(json.dumps([wrong, len(calls)]))
