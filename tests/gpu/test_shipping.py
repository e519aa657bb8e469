"""Machine code that is shipped: which sources, found without a GPU; how it is made, found, and left aside."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import cache, cubins, engines
from gasla.algorithms.traversal import bfs
from gasla.gpu.primitive import forest
from gasla.gpu.program import generate
from gasla.gpu.program.plan import Variant
from gasla.gpu.runtime import compile as gpu
from gasla.gpu.runtime import cupys
from gasla.gpu.shipping import build
from gasla.gpu.shipping.recorder import SHARED, merged, recording
from gasla.program.terms import reduce_lists
from gasla.shipping import calls

INT = np.dtype(np.int32)


def kernel(body: str) -> str:
    return f'extern "C" __global__ void f(int* x) {{ {body} }}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the library looks for code that is shipped."""
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    monkeypatch.setattr(cache, "SHIPPED", tmp_path / "shipped")
    cubins._archive.cache_clear()
    yield tmp_path / "shipped"
    cubins._archive.cache_clear()


def built(folder: Path, monkeypatch: pytest.MonkeyPatch, *sources: str, seconds: float | None = None) -> None:
    monkeypatch.setattr(build, "sources_to_ship", lambda: {each: list(sources) for each in SHARED})
    monkeypatch.setattr(cupys, "kernels", lambda: [])
    build.build(folder, seconds)


def test_a_program_is_noted_for_graphs_of_all_shapes() -> None:
    edges = [0, 1, 2], [1, 2, 0]
    levels = gasla.bfs(gasla.Graph.from_edges(*edges), 0).tolist()
    with recording() as recorder:
        assert gasla.bfs(gasla.Graph.from_edges(*edges), 0).tolist() == levels
    variants = [Variant(INT, small=True), Variant(INT), Variant(INT, bounded_degree=True)]
    wanted = [generate.module(bfs.Levels, INT, variant).source for variant in variants]
    for sources in map(recorder.sources, SHARED):
        assert {*wanted, forest.source(4, 4, "forest")} <= set(sources)
        assert sources.index(wanted[0]) < min(map(sources.index, wanted[1:]))  # small graphs' first
    assert engines.engine("cpu") is not recorder


@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_sums_that_a_gpu_computes_as_products_are_noted(kind: str) -> None:
    """NumPy adds up what edges of one group weigh; a GPU multiplies."""
    graph = gasla.Graph.from_edges([0, 1, 2, 3], [2, 3, 0, 1], np.ones(4, kind))
    with recording() as recorder:
        graph.contract([0, 0, 1, 1], semirings.plus)
    ids = np.arange(4, dtype=INT)
    with recording() as asked:
        ready = engines.engine("cpu").products().ready
        reduce_lists(ready, semirings.plus, np.array([0, 2, 4], INT), ids, np.ones(4, kind))
    with recording() as nothing:
        pass
    wanted = {*asked.sources("sm_90")} - {*nothing.sources("sm_90")}
    assert wanted and wanted <= {*recorder.sources("sm_90")}


def test_recorders_are_merged() -> None:
    with recording() as one, recording() as other:
        one.noted["sm_80"][1]["later"] = one.noted["sm_80"][0]["both"] = None
        other.noted["sm_80"][0]["soon"] = other.noted["sm_80"][0]["both"] = None
    found = merged([one.noted, other.noted])
    assert [source for source in found["sm_80"] if source in ("both", "soon", "later")] == ["both", "soon", "later"]
    assert "both" not in found["sm_90"]


def test_what_is_built_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = kernel("*x = 1;")
    built(folder, monkeypatch, source)
    for architecture in SHARED:
        assert cubins.load(gpu.key(source, architecture)) == gpu.compile_source(source, architecture)
    assert cubins.load(gpu.key(source, "sm_75")) is None
    assert cubins.load(gpu.key(source + " ", "sm_90")) is None
    monkeypatch.setattr(gpu, "OPTIONS", (*gpu.OPTIONS, "-lineinfo"))
    assert cubins.load(gpu.key(source, "sm_90")) is None


def test_kernels_of_cupy_are_compiled_without_a_gpu() -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    pytest.importorskip("nvidia.cuda_runtime", reason="CuPy's headers include CUDA's")
    if not cupys.kernels():
        pytest.skip("another CuPy's kernels were recorded")
    takes = next(kernel for kernel in cupys.kernels() if "cupy_take" in kernel.source)
    assert cupys.compiled(takes, "sm_80").startswith(b"\x7fELF")


@pytest.fixture
def of_cupy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[str, ...]:
    """Include paths of CuPy's headers, where nothing is compiled yet."""
    core = pytest.importorskip("cupy._core.core", reason="NVRTC comes with CuPy")
    pytest.importorskip("nvidia.cuda_runtime", reason="CuPy's headers include CUDA's")
    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cupys, "_begun", {})
    return tuple(option for option in core.assemble_cupy_compiler_options(()) if option.startswith("-I"))


def test_kernels_of_cupy_are_compiled_in_groups(
    of_cupy: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A group's code has all of its kernels, is stored, and the next group's is on the way."""
    kernel = cupys.groups()[2][1]
    names = [f"cupy_{each.source.split('void cupy_')[1].split('(')[0]}".encode() for each in cupys.groups()[2]]
    code = cupys.grouped(kernel.source, (*of_cupy, *kernel.options), "sm_90")
    assert code is not None and code.startswith(b"\x7fELF") and all(name in code for name in names)
    assert cupys.begin(3, "sm_90").result() != code and cupys.begin(4, "sm_90").result()
    assert len([*tmp_path.glob("*.cubin")]) == 1 + cupys.AHEAD
    cupys._begun.clear()
    monkeypatch.setattr(cupys, "compiled", None)
    assert cupys.grouped(kernel.source, (*of_cupy, *kernel.options), "sm_90") == code


def test_groups_have_every_kernel_once_and_no_name_twice() -> None:
    of_groups = [kernel for group in cupys.groups() for kernel in group]
    alone = [kernel for kernel in cupys.recorded()[1] if kernel not in of_groups]
    assert len(of_groups) == len({*of_groups}) and len(of_groups) > 250
    assert all("<cub/" in kernel.source or "void _unique" in kernel.source for kernel in alone)
    for group in cupys.groups():
        names = [kernel.source.split("void cupy_")[1].split("(")[0] for kernel in group]
        assert len(names) == len({*names}) <= cupys.TOGETHER


def test_kernels_that_are_not_recorded_or_do_not_compile_together_are_compiled_alone(
    of_cupy: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cupys.groups()[0][0]
    assert cupys.grouped(first.source + " ", first.options, "sm_90") is None
    assert cupys.grouped(first.source, (*first.options, "-DOTHER"), "sm_90") is None
    monkeypatch.setattr(cupys, "together", lambda group: "no C++")
    assert cupys.grouped(first.source, (*of_cupy, *first.options), "sm_90") is None
    monkeypatch.setattr(cupys, "_begun", {})
    monkeypatch.delattr("cupy._core.core.assemble_cupy_compiler_options")  # as another CuPy may lack it
    assert cupys.grouped(first.source, (*of_cupy, *first.options), "sm_90") is None


def test_a_build_stops_in_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = kernel("*x = 2;")
    built(folder, monkeypatch, source, seconds=0)
    assert not cubins.has(gpu.key(source, "sm_90"))


def test_damaged_code_counts_as_absent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = kernel("*x = 3;")
    built(folder, monkeypatch, source)
    file = folder / cubins.FILE
    content = bytearray(file.read_bytes())
    content[200:260] = bytes(60)
    file.write_bytes(content)
    key = gpu.key(source, next(iter(SHARED)))
    assert cubins.has(key) and cubins.load(key) is None
    file.write_bytes(b"")
    cubins._archive.cache_clear()
    assert not cubins.has(key) and cubins.load(key) is None


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[bytes]:
    """What modules loaded, where the driver takes no code that is shipped as `refused`."""
    cuda = pytest.importorskip("cupy.cuda", reason="NVRTC comes with CuPy")
    loads: list[bytes] = []

    class Module:
        def load(self, code: bytes) -> None:
            loads.append(code)
            if code == b"refused":
                raise Exception.__new__(cuda.driver.CUDADriverError)  # which asks the driver what it says

    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cuda.function, "Module", Module)
    monkeypatch.setattr(gpu, "_architecture", lambda device: "sm_80")
    monkeypatch.setattr(gpu, "compile_source", lambda source, architecture: b"compiled")
    gpu._module.cache_clear()
    return loads


def test_code_that_is_shipped_is_loaded_and_else_compiled(folder: Path, loaded: list[bytes]) -> None:
    writer = cubins.Writer(folder)
    writer.add(gpu.key("shipped", "sm_80"), b"shipped code")
    writer.add(gpu.key("too new", "sm_80"), b"refused")
    writer.close()
    for source in ("shipped", "other", "too new"):
        gpu._module(source, 0)
    assert loaded == [b"shipped code", b"compiled", b"refused", b"compiled"]
    gpu._module.cache_clear()


def test_cupy_finds_its_kernels(folder: Path) -> None:
    asked = []

    def compiles(source: str, options: Any = (), arch: Any = None, filename: str = "", *others: Any) -> Any:
        asked.append(source)
        return b"compiled", None

    writer, options = cubins.Writer(folder), ("-std=c++17", "-I/there")
    writer.add(cubins.key_of_cupys("shipped", ("-std=c++17", "-I/here"), "sm_90"), b"code")
    writer.close()
    cupy: Any = SimpleNamespace(cuda=SimpleNamespace(compiler=SimpleNamespace(**{cubins._CUPY_FUNCTION: compiles})))
    cubins.lend(cupy)
    finds = getattr(cupy.cuda.compiler, cubins._CUPY_FUNCTION)
    assert finds("shipped", options, "90", "k.cu", None, None, False, False, None) == (b"code", None)
    for source, given, arch, names in [
        ("other", options, "90", None),
        ("shipped", ("-std=c++14",), "90", None),
        ("shipped", options, "80", None),
        ("shipped", options, "90", ("f<int>",)),
    ]:
        assert finds(source, given, arch, "k.cu", names) == (b"compiled", None)
    assert len(asked) == 4


def test_other_source_of_cupys_reads_its_headers_once(folder: Path) -> None:
    asked = []

    def compiles(source: str, options: Any = (), *others: Any) -> Any:
        asked.append(options)
        return b"compiled", None

    cupy: Any = SimpleNamespace(cuda=SimpleNamespace(compiler=SimpleNamespace(**{cubins._CUPY_FUNCTION: compiles})))
    cubins.lend(cupy)
    for _ in range(2):
        getattr(cupy.cuda.compiler, cubins._CUPY_FUNCTION)("source", ("-I/there",), "90", "k.cu", None)
    assert asked == 2 * [("-I/there", *cubins._precompiling())]
    for option in cubins._precompiling()[1:]:
        assert Path(option.partition("=")[2]).parent != Path.cwd()


def test_the_folder_of_headers_is_there_whenever_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it NVRTC compiles nothing: /tmp may have been cleaned, and a fork that ended may have removed it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(cubins, "_folders", {})
    first = cubins._folder_of_headers()
    cubins._remove(first, os.getpid() + 1)
    assert Path(first).is_dir() and cubins._folder_of_headers() == first
    Path(first).rmdir()
    second = cubins._folder_of_headers()
    assert Path(second).is_dir() and Path(second) != Path(first)
    cubins._remove(second, os.getpid())
    assert not Path(second).exists()


FUNCTIONS = ["bfs", "sssp", "bridges", "betweenness_centrality", "jaccard", "pagerank", "louvain_communities"]


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore::gasla.ConvergenceWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_gpu_asks_for_was_noted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import cupy

    architecture = f"sm_{cupy.cuda.Device().compute_capability}"
    if architecture not in SHARED:
        pytest.skip(f"no code is shipped for {architecture}")
    graph = calls.small()[0].graph()
    with recording() as recorder:
        for call in calls.calls(name, graph):
            call()
    asked, modules = set(), gpu._module

    def module(source: str, device: int) -> Any:
        asked.add(source)
        return modules(source, device)

    monkeypatch.setattr(gpu, "_module", module)
    for call in calls.calls(name, graph.to("gpu")):
        try:
            call()
        except ValueError as error:
            if "is for graphs in host memory" not in str(error):
                raise
    assert not asked - {*recorder.sources(architecture)}
