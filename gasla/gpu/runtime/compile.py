"""CUDA source to loaded kernels: machine code is shipped, cached, or compiled by NVRTC; CuPy loads and launches it.

CuPy's RawModule is not used because it always flushes subnormal float32 numbers to zero, which NumPy doesn't. Compiling
needs no GPU, so the tests compile every kernel anywhere: most to PTX, some to machine code as well.
"""

import ctypes
import functools
import threading
from contextlib import suppress
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from gasla import cache, cubins
from gasla.arrays import current_device
from gasla.gpu.runtime import cupys
from gasla.gpu.runtime.nvrtc import compile_text, in_thread

if TYPE_CHECKING:
    from concurrent.futures import Future

MAX_DYNAMIC_SHARED_SIZE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
C_TYPES = {4: "int", 8: "long long"}  # types of ids and offsets, by their bytes
OPTIONS = ("-std=c++17", "--fmad=false", "-default-device")

_here = threading.local()  # `devices`: whose contexts this thread has bound

cubins.made_by.append(cupys.grouped)


@functools.cache
def headers() -> dict[str, str]:
    """Return the headers below `kernels/`, by file name: `#include` finds them without their folder."""
    folder = resources.files("gasla.gpu") / "kernels"
    folders = [folder, *(each for each in folder.iterdir() if each.is_dir())]
    return {f.name: f.read_text() for each in folders for f in each.iterdir() if f.name.endswith(".cuh")}


def compile_source(source: str, architecture: str, name: str = "gasla.cu") -> bytes:
    """Compile to machine code for an architecture such as sm_90, or for compute_90 to PTX, in half the time.

    Raises
    ------
    RuntimeError
        With NVRTC's messages, if the source is wrong.
    """
    return compile_text(source, architecture, OPTIONS, headers(), name)


def source_of(header: str, vertex_size: int, offset_size: int, **constants: bool) -> str:
    """Return CUDA source that includes a header of kernels, after the types and constants that the header needs.

    `vertex_size` and `offset_size` are the sizes in bytes of vertex ids and of positions in edge lists. `constants`
    are the names and values of bools that the header reads at compile time.
    """
    flags = "".join(f"constexpr bool {name} = {str(value).lower()};\n" for name, value in constants.items())
    types = f"typedef {C_TYPES[vertex_size]} vertex_t;\ntypedef {C_TYPES[offset_size]} offset_t;\n"
    return f'{types}{flags}#include "{header}"\n'


def module(source: str) -> Any:
    """Return the loaded module of a source for the current device. `get_function` gives its functions."""
    return _module(source, current_device())


@functools.cache
def _module(source: str, device: int) -> Any:
    from cupy.cuda import driver, function

    loaded, architecture = function.Module(), _architecture(device)
    code = cubins.load(key(source, architecture))
    if code is not None:
        # the driver is older than the code: fall back to NVRTC, which may match the driver
        with suppress(driver.CUDADriverError):
            loaded.load(code)
            return loaded
    loaded.load(_cubin(source, architecture))
    return loaded


def compile_ahead(source: str) -> None:
    """Start compiling a source in a thread, unless its machine code exists. For callers that will need several."""
    _begin(source, current_device())


@functools.cache
def _begin(source: str, device: int) -> None:
    if not is_compiled(source):
        architecture = _architecture(device)
        name = _cached_name(source, architecture)
        begun = in_thread(_compile_and_keep, source, architecture, name)
        if begun is not None:
            _coming[name] = begun


_coming: "dict[str, Future[bytes]]" = {}  # compilations under way, or finished and not yet used


def _architecture(device: int) -> str:
    import cupy

    return f"sm_{cupy.cuda.Device(device).compute_capability}"


def _cubin(source: str, architecture: str) -> bytes:
    """Get machine code from a compiling thread or the cache. Otherwise compile now."""
    name = _cached_name(source, architecture)
    coming = _coming.pop(name, None)
    if coming is not None:
        return coming.result()
    return cache.load(name) or _compile_and_keep(source, architecture, name)


def key(source: str, architecture: str) -> str:
    """Return the hash of all that machine code depends on: the source, all headers, the options, the architecture.

    NVRTC's version is left out: every version's code does what the source says.
    """
    return cubins.digest(source, _of_headers(), architecture, *OPTIONS)


@functools.cache
def _of_headers() -> str:
    return cubins.digest(*sorted(headers().values()))


def _cached_name(source: str, architecture: str) -> str:
    """Return the name in the cache.

    It includes NVRTC's version, as an old driver cannot load the code of a newer NVRTC.
    """
    from cupy.cuda import nvrtc

    return f"{key(source, architecture)}-{'.'.join(map(str, nvrtc.getVersion()))}.cubin"


def is_compiled(source: str) -> bool:
    """Return whether machine code of a source for the current device is shipped or cached."""
    architecture = _architecture(current_device())
    return cubins.has(key(source, architecture)) or cache.load(_cached_name(source, architecture)) is not None


def _compile_and_keep(source: str, architecture: str, name: str) -> bytes:
    """Compile a source and cache the result. Where nothing is compiled, CuPy's first kernels will be needed as well."""
    cupys.begin(0, architecture)
    code = compile_source(source, architecture)
    _compiled.append(name)
    cache.store(name, code)
    return code


_compiled: list[str] = []


def compilations() -> int:
    """Return the number of sources that this process has compiled, and not found."""
    return len(_compiled)


def multiprocessors() -> int:
    """Return the number of multiprocessors of the current device."""
    return _multiprocessors(current_device())


@functools.cache
def _multiprocessors(device: int) -> int:
    import cupy

    return int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])


def most_shared() -> int:
    """Return the most bytes of shared memory that a block may use on the current device."""
    return _most_shared(current_device())


@functools.cache
def _most_shared(device: int) -> int:
    import cupy

    return int(cupy.cuda.Device(device).attributes["MaxSharedMemoryPerBlockOptin"])


def launches_cooperatively() -> bool:
    """Return whether the current device supports cooperative launches. Virtual and old devices may not."""
    return _launches_cooperatively(current_device())


@functools.cache
def _launches_cooperatively(device: int) -> bool:
    import cupy

    return bool(cupy.cuda.Device(device).attributes["CooperativeLaunch"])


class Kernel:
    """One function of a source, with its launch configuration.

    Parameters
    ----------
    source, function : str
    threads : int
        Threads per block.
    blocks_per_multiprocessor : int
        Upper bound. Occupancy may allow fewer; a cooperative grid must be resident as a whole.
    shared : int
        Bytes of dynamic shared memory per block.
    """

    def __init__(
        self, source: str, function: str, threads: int, blocks_per_multiprocessor: int = 1, shared: int = 0
    ) -> None:
        from cupy.cuda import driver, get_current_stream

        self._driver, self._current_stream = driver, get_current_stream
        self.function = module(source).get_function(function)
        self.threads, self.shared = threads, shared
        if shared:
            driver.funcSetAttribute(self.function.ptr, MAX_DYNAMIC_SHARED_SIZE, shared)
        fit = driver.occupancyMaxActiveBlocksPerMultiprocessor(self.function.ptr, threads, shared)
        self.blocks = max(1, min(blocks_per_multiprocessor, fit)) * multiprocessors()

    def grid(self, blocks: int | None = None) -> int:
        """Return how many of the wanted blocks can be resident together. Without cooperative launches, return 1."""
        most = min(self.blocks, blocks or self.blocks)
        return most if most == 1 or launches_cooperatively() else 1

    def cooperative(self, *arguments: Any, blocks: int | None = None) -> None:
        """Launch on the current stream with all blocks resident at once, so that they may wait for each other."""
        self.launch(self.grid(blocks), arguments, cooperative=True)

    def plain(self, blocks: int, *arguments: Any) -> None:
        """Launch an ordinary grid on the current stream."""
        self.launch(blocks, arguments)

    def launch_prepared(self, blocks: int, arguments: "Pointers") -> None:
        """Launch on the current stream with all blocks resident at once, without CuPy's conversion of arguments."""
        bind_context()
        stream, size = self._current_stream().ptr, (blocks, 1, 1, self.threads, 1, 1, self.shared)
        if blocks > 1:
            self._driver.launchCooperativeKernel(self.function.ptr, *size, stream, arguments.address)
        else:
            self._driver.launchKernel(self.function.ptr, *size, stream, arguments.address, 0)

    def launch(self, blocks: int, arguments: tuple[Any, ...], cooperative: bool = False) -> None:
        """Launch on the current stream. Arguments are arrays, NumPy scalars and structs (`struct`)."""
        self.function(
            (blocks,), (self.threads,), arguments, self.shared, enable_cooperative_groups=cooperative and blocks > 1
        )


def bind_context() -> None:
    """Make the context of the current device that of this thread, once: the driver launches nothing without.

    The first call of the runtime does so. CuPy makes one before its own launches.
    """
    devices, device = _here.__dict__.setdefault("devices", set()), current_device()
    if device not in devices:
        import cupy

        cupy.cuda.runtime.memGetInfo()
        devices.add(device)


class Pointers:
    """A struct of ctypes, which is the only argument of a launch, as the driver takes it. A launch copies it."""

    def __init__(self, struct: ctypes.Structure) -> None:
        self._kept = struct, (ctypes.c_void_p * 1)(ctypes.addressof(struct))
        self.address = ctypes.addressof(self._kept[1])


def blocks_for(items: int, threads: int) -> int:
    """Return the number of blocks of `threads` threads that give each item a thread, from 1 to 2**20."""
    return max(1, min(-(-items // threads), 1 << 20))


def kernel(source: str, function: str, threads: int, blocks_per_multiprocessor: int = 1) -> Kernel:
    """Return the `Kernel` of a function on the current device, made when first asked for."""
    return _kernel(source, function, threads, blocks_per_multiprocessor, current_device())


@functools.cache
def _kernel(source: str, function: str, threads: int, blocks_per_multiprocessor: int, device: int) -> Kernel:
    return Kernel(source, function, threads, blocks_per_multiprocessor)


def struct(value: Any) -> Any:
    """Wrap a ctypes or NumPy struct as an argument. Its memory must stay in place until a launch has copied it."""
    from cupy.cuda.function import CPointer

    return CPointer(value.ctypes.data if isinstance(value, np.ndarray) else ctypes.addressof(value))
