"""Graphs of mapped arrays, in processes whose own memory is capped at half of the graph's size.

The cap is RLIMIT_DATA, which counts private writable memory (heap, stacks, anonymous mappings) and not mapped files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gasla
import semirings
from gasla import io
from gasla.cpu import primitive as cpu_primitives

FORMS = ("npy", "npz", "csc.npz")
CALLS: dict[str, Callable[[Any], Any]] = {
    "pagerank": lambda graph: gasla.pagerank(graph).ranks,
    "bfs": lambda graph: gasla.bfs(graph, 0),
    "connected_components": lambda graph: gasla.connected_components(graph)[1],
    "sssp": lambda graph: gasla.sssp(graph, 0),
    "core_number": gasla.core_number,
}


def matrix(n: int, m: int, kind: str = "f4") -> sp.csr_array:
    """A symmetric matrix without loops."""
    rng = np.random.default_rng(n)
    src, dst = rng.integers(0, n, (2, m))
    graph = gasla.Graph.from_edges(src, dst, rng.integers(1, 9, m).astype(kind), n=n)
    return graph.symmetrized(semirings.max).simple(semirings.max).to_scipy()


def write(folder: Path, form: str, A: Any) -> Path:
    """Write the arrays of a matrix in one of the forms that can be mapped."""
    if form == "npy":
        folder = folder / "arrays"
        folder.mkdir()
        for name in ("indptr", "indices", "data"):
            np.save(folder / f"{name}.npy", getattr(A, name))
        return folder
    sp.save_npz(folder / f"a.{form}", A.tocsc() if form == "csc.npz" else A, compressed=False)
    return folder / f"a.{form}"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["f4", "f8", "i1", "i8"])
def test_mapped_arrays_are_the_graph(tmp_path: Path, form: str, kind: str) -> None:
    """Arrays in an archive begin at any address; the answers don't depend on it."""
    A = matrix(300, 2000, kind)
    found, expected = io.open(write(tmp_path, form, A)), gasla.Graph(A)
    assert found.values.dtype == expected.values.dtype
    for call in CALLS.values():
        np.testing.assert_allclose(call(found), call(expected), rtol=1e-12)
    assert gasla.triangle_count(found) == gasla.triangle_count(expected)
    x = np.arange(300) % 7
    np.testing.assert_allclose(gasla.mxv(found, x), A @ x)


@pytest.mark.parametrize("form", FORMS)
def test_mapped_arrays_of_a_directed_graph(tmp_path: Path, form: str) -> None:
    A = sp.csr_array(np.triu(np.arange(25).reshape(5, 5)))
    found = io.open(write(tmp_path, form, A))
    assert np.array_equal(found.to_scipy().toarray(), A.toarray())
    assert np.array_equal(gasla.sssp(found.reversed(), 3), gasla.sssp(A.T.tocsr(), 3))


def test_folders_without_values_and_empty_ones(tmp_path: Path) -> None:
    for indptr, indices in (([0, 1, 2], [1, 0]), ([0, 0], []), ([0], [])):
        np.save(tmp_path / "indptr.npy", np.array(indptr, np.int64))
        np.save(tmp_path / "indices.npy", np.array(indices, np.int32))
        graph = io.open(tmp_path)
        assert (graph.n, graph.m, graph.values) == (len(indptr) - 1, len(indices), None)
        assert io.read(tmp_path).m == graph.m
        assert gasla.connected_components(graph)[0] == min(graph.n, 1)


# --- memory -----------------------------------------------------------------------------------------------------------

CAPPED = """
import resource, sys
from pathlib import Path
import numpy as np
import gasla
from gasla import io
from tests.graph.test_mapped import CALLS, matrix

path, bytes_of_graph = Path(sys.argv[1]), int(sys.argv[2])
small = matrix(2000, 200_000)
for call in CALLS.values():  # imports modules, compiles, and starts threads, whose stacks count
    call(gasla.Graph(small))
with open("/proc/self/status") as status:
    data = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (data + bytes_of_graph // 2,) * 2)
if "whole" in sys.argv:
    try:
        gasla.Graph.from_csr(*(np.load(path / f"{name}.npy") for name in ("indptr", "indices", "data")))
    except MemoryError:
        print("MemoryError")
    sys.exit()
graph = io.open(path)
for name, call in CALLS.items():
    print(name, repr(float(np.sum(call(graph), dtype=np.float64))))
"""


def run_capped(path: Path, size: int, *words: str) -> list[str]:
    """Run the calls on a graph of `size` bytes in a process that may take half of them; returns its output."""
    command = [sys.executable, "-c", CAPPED, str(path), str(size), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
def test_algorithms_run_in_half_of_the_memory_of_the_graph(tmp_path: Path, form: str) -> None:
    A = matrix(4000, 1_500_000)
    size = A.indptr.nbytes + A.indices.nbytes + A.data.nbytes
    assert size > 20_000_000
    path = write(tmp_path, form, A)
    found = dict(line.split() for line in run_capped(path, size))
    expected = gasla.Graph(A)
    for name, call in CALLS.items():
        assert float(found[name]) == pytest.approx(float(np.sum(call(expected), dtype=np.float64)), rel=1e-9), name
    if form == "npy":
        assert run_capped(path, size, "whole") == ["MemoryError"]


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_compressed_archives_are_refused_with_what_to_type(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "a.npz", matrix(30, 60))
    with pytest.raises(io.FormatError, match=r"is compressed .*: type gasla convert .*a\.npz .*a\.gasla"):
        io.open(tmp_path / "a.npz")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("share", [0, 0.01, 0.4, 0.7, 0.99])
def test_truncated_arrays_are_refused(tmp_path: Path, form: str, share: float) -> None:
    path = write(tmp_path, form, matrix(300, 2000))
    for file in sorted(path.iterdir()) if form == "npy" else [path]:
        whole = file.read_bytes()
        file.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(io.FormatError, match=path.name):
            io.open(path)
        file.write_bytes(whole)


DAMAGES: dict[str, tuple[str, Any]] = {
    "an id out of range": ("indices", np.array([1, 5], np.int32)),
    "a negative id": ("indices", np.array([1, -1], np.int32)),
    "falling offsets": ("indptr", np.array([0, 2, 1])),
    "too few ids": ("indices", np.array([1], np.int32)),
    "ids of floats": ("indices", np.array([1.0, 0.0])),
    "ids in another byte order": ("indices", np.array([1, 0], ">i4")),
    "two dimensions": ("indices", np.array([[1, 0]], np.int32)),
    "no offsets": ("indptr", np.array([], np.int64)),
    "too many values": ("data", np.ones(3)),
    "complex values": ("data", np.ones(2, complex)),
    "objects": ("data", np.array([None, None])),
}


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("form", ["npy", "npz"])
def test_wrong_arrays_are_refused(tmp_path: Path, form: str, name: str) -> None:
    arrays = {"indptr": np.array([0, 1, 2]), "indices": np.array([1, 0], np.int32), "data": np.ones(2)}
    arrays[DAMAGES[name][0]] = DAMAGES[name][1]
    path = tmp_path / "a.npz" if form == "npz" else tmp_path
    if form == "npz":
        np.savez(path, **arrays)
    else:
        for title, array in arrays.items():
            np.save(path / f"{title}.npy", array)
    with pytest.raises(io.FormatError, match=path.name):
        io.open(path)


def test_other_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    for A, said in ((sp.coo_array(np.eye(3)), "format 'coo'"), (sp.csr_array(np.ones((2, 3))), r"shape \(2, 3\)")):
        sp.save_npz(path, A, compressed=False)
        with pytest.raises(io.FormatError, match=said):
            io.open(path)
    np.savez(path, x=np.ones(3))
    with pytest.raises(io.FormatError, match="expected arrays indptr, indices"):
        io.open(path)
    with pytest.raises(io.FormatError, match="does not exist"):
        io.open(tmp_path / "b.npz")


def touch(file: Path) -> None:
    """Change the time of a file's last modification."""
    os.utime(file, ns=(0, 0))


def append(file: Path) -> None:
    with open(file, "ab") as stream:
        stream.write(b"0")


def replace(file: Path) -> None:
    shutil.copy(file, file.with_name("copy"))
    os.replace(file.with_name("copy"), file)


@pytest.mark.parametrize("change", [touch, append, replace, Path.unlink])
@pytest.mark.parametrize("form", ["npy", "npz"])
def test_files_that_change_between_calls_are_an_error(tmp_path: Path, form: str, change: Callable[[Path], Any]) -> None:
    path = write(tmp_path, form, matrix(300, 2000))
    graph = io.open(path)
    change(path / "indices.npy" if form == "npy" else path)
    for call in CALLS.values():
        with pytest.raises(RuntimeError, match=rf"has changed.*gasla\.io\.open\('{path}'\)"):
            call(graph)


def test_a_file_that_is_truncated_between_calls_is_an_error(tmp_path: Path) -> None:
    """Reading the pages that are gone would end the process."""
    path = write(tmp_path, "npy", matrix(300, 2000))
    graph = io.open(path)
    os.truncate(path / "indices.npy", 100)
    for call in CALLS.values():
        with pytest.raises(RuntimeError, match="has changed"):
            call(graph)


class Steps(gasla.VertexProgram):
    """Three iterations of counting."""

    everyone = True
    reduce = semirings.max
    count = gasla.vertex(np.int32, init=0)

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return src.count + 1

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"count": gathered}


@pytest.mark.parametrize("how", ["run", "prepare"])
def test_a_file_that_changes_during_a_run_is_an_error(tmp_path: Path, how: str) -> None:
    path = write(tmp_path, "npy", matrix(300, 2000))
    graph = io.open(path)

    def change(_: Any) -> bool:
        touch(path / "indices.npy")
        return False

    call = gasla.prepare(Steps, graph) if how == "prepare" else lambda **given: gasla.run(Steps, graph, **given)
    call(max_iterations=3)
    with pytest.raises(RuntimeError, match=r"indices\.npy has changed"):
        call(max_iterations=3, callback=change)


KERNELS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "color_in_order": ("color_in_order", gasla.greedy_color),
    "peel": ("peel", gasla.core_number),
    "sum_at_edges": ("sum_at_edges", gasla.adamic_adar),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_file_that_changes_while_a_kernel_reads_it_is_an_error(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "npy", matrix(300, 2000))
    graph = io.open(path)
    kernel, call = KERNELS[name]
    call(graph)
    compute = getattr(cpu_primitives, kernel)

    def changing(*given: Any) -> Any:
        touch(path / "indices.npy")
        return compute(*given)

    monkeypatch.setattr(cpu_primitives, kernel, changing)
    with pytest.raises(RuntimeError, match=r"indices\.npy has changed"):
        call(graph)
