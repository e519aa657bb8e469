"""Cliques of the GPU without one: the kernels by g++, with their host's own code over NumPy; and what NVRTC says."""

import shutil
from functools import cache
from math import comb
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from gasla.gpu.primitive import cliques, neighbors
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph
from tests.algorithms.patterns.test_cliques import cliques_of, complete
from tests.helpers.emulated_kernel import EmulatedKernel, library

pytestmark = pytest.mark.thorough
FUNCTIONS = "list_long", "count_cliques_of_short", "count_cliques_of_long"
COPIES = "list_pieces", "copy_forward_of_short", "copy_forward_of_pieces"


def test_compiles() -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    assert compile_source(cliques.source(8, 8), "compute_80")
    assert compile_source(cliques.source(4, 8), "compute_90")


@pytest.fixture(params=[{}, {"SHORT": 4, "PART": 32}], ids=["constants", "small constants"])
def emulated(request: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The host's code launches kernels by g++; arrays are NumPy's. With small constants lists are long, and cut."""

    @cache
    def built(module: Any, *sizes: int) -> Any:
        text = module.source(*sizes, False) if module is neighbors else module.source(*sizes)
        functions = COPIES if module is neighbors else FUNCTIONS
        constants = request.param if module is cliques else {}
        return library(f"{text}using namespace gasla;", functions, tmp_path / f"{module.__name__}{sizes}", **constants)

    def of_lists(function: str, threads: int, indptr: Any, indices: Any) -> Any:
        return kernel(neighbors, function, indices, indptr)

    def kernel(module: Any, function: str, indices: Any, indptr: Any) -> Any:
        made: Any = EmulatedKernel(built(module, indices.dtype.itemsize, indptr.dtype.itemsize), function)
        made.blocks = 1
        return made

    monkeypatch.setattr(neighbors, "_kernel", of_lists)
    monkeypatch.setattr(cliques, "_kernel", lambda name, lists: kernel(cliques, name, lists.indices, lists.indptr))
    monkeypatch.setattr(cliques, "free_bytes", lambda: 1 << 28)
    monkeypatch.setattr(cliques, "work_page", lambda: np.zeros(2, np.uint64))
    monkeypatch.setattr(cliques, "wait_for_work", lambda page, count, unit: None)
    monkeypatch.setattr(cliques, "SHORT", request.param.get("SHORT", cliques.SHORT))


@pytest.mark.usefixtures("emulated")
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_equals_networkx() -> None:
    rng = np.random.default_rng(3)
    for n, density in ((12, 0.8), (60, 0.2), (36, 0.6)):
        peer = nx.gnp_random_graph(n, density, seed=int(rng.integers(99)))
        peer.add_edges_from((n, v) for v in range(0, n, 2))
        graph = Graph.from_edges(*np.array([*peer.edges, *((v, u) for u, v in peer.edges)]).T, n=n + 5)
        wanted = cliques_of(peer, 8)
        for k in (4, 5, 7):
            assert cliques.count_cliques(graph, graph.sorted_out, k) == wanted[k - 1]


@pytest.mark.usefixtures("emulated")
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_large_cliques_are_counted_by_choices() -> None:
    graph = complete(30).symmetrized()
    for k in (4, 6, 15, 30):
        assert cliques.count_cliques(graph, graph.sorted_out, k) == comb(30, k)
    assert cliques.count_cliques(graph, graph.sorted_out, 31) == 0
