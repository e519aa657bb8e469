"""What is asked of neighbor lists on the GPU: the kernel without a GPU; on one, see tests/gpu/test_graph.py."""

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla import datasets
from gasla.algorithms.paths import sssp
from gasla.algorithms.traversal import bfs
from gasla.gpu.program import variants
from gasla.gpu.runtime.compile import compile_source
from gasla.graph import lists_cpu as cpu_lists
from gasla.graph import lists_gpu, symmetry
from gasla.graph.graph import Graph
from tests.helpers.emulated_loop import FLAGS, includes, kernel_file

pytestmark = pytest.mark.thorough

SIZES = [(4, 4, 4), (8, 4, 8), (8, 8, 1), (4, 4, 2)]
RUN = """
extern "C" void run(const {offset}* offsets, const {vertex}* indices, const {bits}* bits, gasla::u64 n, gasla::u64 m,
                    gasla::ListProperties* found) {{
    warp::run([=] {{ find_properties(offsets, indices, bits, n, m, found); }});
}}
"""


@pytest.mark.parametrize("architecture", [pytest.param("sm_80", marks=pytest.mark.slow), "sm_90"])
@pytest.mark.parametrize("sizes", SIZES)
def test_compiles(architecture: str, sizes: tuple[int, int, int]) -> None:
    pytest.importorskip("cupy")
    assert compile_source(lists_gpu.source(*sizes), architecture)


def graphs() -> list[Graph]:
    """Symmetric ones, with loops, parallel edges and vertices without any; and some that only just aren't."""
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 200, (2, 600)) ** 2 // 200
    both = np.concatenate([ends, ends[::-1]], axis=1)
    order = np.lexsort((both[1], both[0]))
    found = [Graph(datasets.rmat(7)), Graph.from_edges(*both, n=300), Graph.from_edges([], [], n=40)]
    for change in (0, 1):
        src, dst = both[:, order]
        dst[700] += change
        value = np.minimum(src, dst) % 7 + (np.arange(1200) == 650) * change
        found.append(Graph.from_edges(src, dst, value, n=300))
    far = rng.integers(0, 20_000, (2, 40))  # most lists are empty, many in a row
    found.append(Graph.from_edges(*np.concatenate([far, far[::-1], [[9000], [9000]]], axis=1), n=20_000))
    simple = np.unique(both, axis=1)
    return [*found, Graph.from_edges(*simple[:, simple[0] != simple[1]], n=300)]


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("sizes", SIZES)
def test_equals_the_cpu_emulated(sizes: tuple[int, int, int], tmp_path: Path) -> None:
    kinds = [np.dtype(f"i{size}") for size in sizes]
    text = kernel_file("lists.cuh").read_text()
    assert f"SLICE = {lists_gpu._SLICE};" in text
    (tmp_path / "lists.cuh").write_text(text.replace(f"SLICE = {lists_gpu._SLICE};", "SLICE = 96;"))
    types = {name: lists_gpu.C_TYPES[size] for name, size in zip(("offset", "vertex", "bits"), sizes)}
    (tmp_path / "lists.cpp").write_text(f'#include "loop.hpp"\n{lists_gpu.source(*sizes)}{RUN.format(**types)}')
    folders = [f"-I{tmp_path}", *includes()]
    library = tmp_path / "lists.so"
    subprocess.run(["g++", *FLAGS, *folders, str(tmp_path / "lists.cpp"), "-o", str(library)], check=True)
    run = ctypes.CDLL(str(library)).run

    def facts(indptr: Any, indices: Any, values: Any = None) -> dict[str, bool]:
        found = np.zeros(len(lists_gpu._PROPERTIES), np.uint64)
        arrays = indptr.astype(kinds[0]), indices.astype(kinds[1]), None if values is None else values.astype(kinds[2])
        given = [ctypes.c_void_p(None if a is None else a.ctypes.data) for a in (*arrays, found)]
        run(*given[:3], ctypes.c_uint64(len(indptr) - 1), ctypes.c_uint64(len(indices)), given[3])
        return dict(zip(lists_gpu._PROPERTIES, found.astype(bool).tolist()))

    seen = set()
    for graph in graphs():
        for it in (graph.out, graph.in_):
            found, given = facts(it.indptr, it.indices), (it.indptr, it.indices)
            assert found["falls"] == (not cpu_lists.ascends_within(*given))
            assert found["loops"] == cpu_lists.has_self_loops(*given)
            assert found["imbalance"] == (not symmetry.is_symmetric(*given))
            if not found["falls"]:
                assert found["repeats"] == (not cpu_lists.ascends_within(*given, strictly=True))
                values = graph.out_values if it is graph.out else graph.in_values
                if values is not None:
                    values = values.astype(kinds[2])
                    found["values"] = facts(*given, values)["imbalance"]
                    assert found["values"] == (not symmetry.is_symmetric(*given, values))
            seen |= set(found.items())
    assert len(seen) == 10  # each of them was true, and was false


def test_rows_are_looked_at_once_for_all_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    found, looks = variants.rows.RowProperties(4096, 16384, True, 0, 4095, 4, 0.9), []
    monkeypatch.setattr(variants.rows, "find_properties_once", lambda *lists: looks.append(lists) or found)
    graph = Graph(datasets.grid(12))
    chosen = [
        variants.variant_for(program, graph, False, False, False)
        for program in (bfs.LEVELS, bfs.PARENTS, sssp.BellmanFord())
    ]
    assert len(looks) == 1 and all(variant.bounded_degree and variant.local for variant in chosen)
