"""Compilation that begins ahead of its use, in threads; without a GPU."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gasla.gpu.runtime import compile as gpu
from gasla.gpu.runtime import cupys, nvrtc
from tests.helpers.emulated_loop import KERNELS


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The names of the threads that compile, into an empty cache."""
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    names: list[str] = []
    really = gpu.compile_source

    def compile_source(*arguments: str) -> bytes:
        names.append(threading.current_thread().name)
        return really(*arguments)

    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(gpu, "compile_source", compile_source)
    monkeypatch.setattr(gpu, "current_device", lambda: 0)
    monkeypatch.setattr(gpu, "_architecture", lambda device: "sm_80")
    monkeypatch.setattr(cupys, "_begun", {})
    monkeypatch.setattr(cupys, "_code_of", lambda *_: b"")  # its threads would go on in other tests' folders
    gpu._begin.cache_clear()
    return names


def test_every_file_of_kernels_is_found_by_its_name() -> None:
    assert sorted(gpu.headers()) == sorted(file.name for file in KERNELS.rglob("*.cuh"))


def kernel(body: str) -> str:
    return f'extern "C" __global__ void f(int* x) {{ {body} }}'


def test_each_source_is_compiled_once_in_a_thread(compiled: list[str]) -> None:
    sources = [kernel(f"*x = {i};") for i in range(3)]
    for source in [*sources, *sources]:
        gpu.compile_ahead(source)
    codes = [gpu._cubin(source, "sm_80") for source in sources]
    assert len(set(codes)) == len(compiled) == 3
    assert threading.current_thread().name not in compiled
    assert not gpu._coming
    assert [gpu._cubin(source, "sm_80") for source in sources] == codes  # from the folder
    assert len(compiled) == 3


def test_what_the_folder_has_is_not_compiled(compiled: list[str]) -> None:
    source = kernel("")
    gpu._cubin(source, "sm_80")
    gpu.compile_ahead(source)
    assert compiled == [threading.current_thread().name] and not gpu._coming


def test_an_error_is_told_to_whoever_wants_the_code(compiled: list[str]) -> None:
    wrong = kernel("nonsense")
    gpu.compile_ahead(wrong)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="nonsense"):
            gpu._cubin(wrong, "sm_80")
    assert len(compiled) == 2  # the second time at once, as if it hadn't begun ahead


def test_without_threads_code_is_compiled_when_it_is_wanted(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process whose main thread has ended, while others go on, can start no more."""

    def refuse() -> None:
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr(nvrtc, "threads", refuse)
    source = kernel("*x = 7;")
    gpu.compile_ahead(source)
    assert not gpu._coming and not compiled
    assert gpu._cubin(source, "sm_80").startswith(b"\x7fELF")
    assert compiled == [threading.current_thread().name]
    first = cupys.groups()[0][0]
    assert cupys.grouped(first.source, first.options, "sm_80") is None and not cupys._begun


def test_each_thread_binds_a_context_before_it_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver launches nothing in a thread that has called no function of the runtime."""
    cupy = pytest.importorskip("cupy")
    calls = list[str]()
    monkeypatch.setattr(gpu, "current_device", lambda: 7)
    monkeypatch.setattr(cupy.cuda.runtime, "memGetInfo", lambda: calls.append("bind"))
    monkeypatch.setattr(cupy.cuda.driver, "launchKernel", lambda *_: calls.append("launch"))
    launched = gpu.Kernel.__new__(gpu.Kernel)
    launched._driver, launched._current_stream = cupy.cuda.driver, lambda: SimpleNamespace(ptr=0)
    launched.function, launched.threads, launched.shared = SimpleNamespace(ptr=0), 32, 0
    pointers: Any = SimpleNamespace(address=0)

    def twice() -> None:
        for _ in range(2):
            launched.launch_prepared(1, pointers)

    for _ in range(2):
        thread = threading.Thread(target=twice)
        thread.start()
        thread.join()
    assert calls == 2 * ["bind", "launch", "launch"]
