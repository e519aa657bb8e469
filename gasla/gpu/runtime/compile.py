"""Makes loaded kernels of CUDA sources. Machine code is taken from the wheel or a cache, or compiled by NVRTC.

CuPy loads and launches the machine code. CuPy's RawModule is not used, because it always flushes subnormal float32
numbers to zero, which NumPy doesn't. Compiling needs no GPU, so the tests compile every kernel on any machine: most to
PTX, and some to machine code as well.
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

MAX_DYNAMIC_SHARED_SIZE = 8  # number of the attribute CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
C_TYPES = {4: "int", 8: "long long"}  # C++ types of ids and offsets, by their sizes in bytes
OPTIONS = ("-std=c++17", "--fmad=false", "-default-device")

# In each thread, the attribute `devices` has the numbers of the GPUs whose CUDA contexts `bind_context` has bound.
_thread_state = threading.local()

cubins.made_by.append(cupys.grouped)


@functools.cache
def headers() -> dict[str, str]:
    """Return the texts of all headers below `kernels/`, by file name, under which `#include` finds them."""
    folder = resources.files("gasla.gpu") / "kernels"
    folders = [folder, *(subfolder for subfolder in folder.iterdir() if subfolder.is_dir())]
    return {f.name: f.read_text() for subfolder in folders for f in subfolder.iterdir() if f.name.endswith(".cuh")}


def compile_source(source: str, architecture: str, name: str = "gasla.cu") -> bytes:
    """Compile a CUDA source to machine code for an architecture such as sm_90, or to PTX for compute_90.

    PTX takes half the time, which suffices to check a source.

    Raises
    ------
    RuntimeError
        With NVRTC's messages, if the source is wrong.
    """
    return compile_text(source, architecture, OPTIONS, headers(), name)


def source_of(header: str, vertex_size: int, offset_size: int, **constants: bool) -> str:
    """Return CUDA source that includes a header of kernels, after the types and constants that the header needs.

    `vertex_size` and `offset_size` are the sizes in bytes of vertex ids and of adjacency offsets. `constants` are the
    names and values of bools that the header reads at compile time.
    """
    flags = "".join(f"constexpr bool {name} = {str(value).lower()};\n" for name, value in constants.items())
    types = f"typedef {C_TYPES[vertex_size]} vertex_t;\ntypedef {C_TYPES[offset_size]} offset_t;\n"
    return f'{types}{flags}#include "{header}"\n'


def module(source: str) -> Any:
    """Return the CUDA module of a source (its machine code, loaded on the current device), compiled if necessary.

    The module's method `get_function` returns a kernel by name.
    """
    return _module(source, current_device())


@functools.cache
def _module(source: str, device: int) -> Any:
    from cupy.cuda import driver, function

    cuda_module, architecture = function.Module(), _architecture(device)
    code = cubins.load(key(source, architecture))
    if code is not None:
        # An error means that the driver is too old for this code. NVRTC may be of the driver's version, so it compiles
        # the source instead.
        with suppress(driver.CUDADriverError):
            cuda_module.load(code)
            return cuda_module
    cuda_module.load(_cubin(source, architecture))
    return cuda_module


def compile_ahead(source: str) -> None:
    """Start to compile a CUDA source in a background thread, unless its machine code exists already.

    A caller that needs several sources calls this for each of them, so that they are compiled at the same time.
    """
    _begin(source, current_device())


@functools.cache
def _begin(source: str, device: int) -> None:
    if not is_compiled(source):
        architecture = _architecture(device)
        name = _cached_name(source, architecture)
        code = in_thread(_compile_and_keep, source, architecture, name)
        if code is not None:
            _coming[name] = code


# the future machine code of each source that a thread compiles, by its name in the cache, until a kernel is made of it
_coming: "dict[str, Future[bytes]]" = {}


def _architecture(device: int) -> str:
    import cupy

    return f"sm_{cupy.cuda.Device(device).compute_capability}"


def _cubin(source: str, architecture: str) -> bytes:
    """Return the machine code of a CUDA source for an architecture such as "sm_90".

    If a thread is compiling the source already, wait for its result. Otherwise take the code from the cache, or compile
    the source now.
    """
    name = _cached_name(source, architecture)
    coming = _coming.pop(name, None)
    if coming is not None:
        return coming.result()
    return cache.load(name) or _compile_and_keep(source, architecture, name)


def key(source: str, architecture: str) -> str:
    """Return a hash of all that the machine code of a CUDA source depends on, under which the code is shipped and
    cached.

    This is the source, all headers, the options and the architecture. NVRTC's version is left out, because the code of
    any version does what the source says.
    """
    return cubins.digest(source, _headers_digest(), architecture, *OPTIONS)


@functools.cache
def _headers_digest() -> str:
    return cubins.digest(*sorted(headers().values()))


def _cached_name(source: str, architecture: str) -> str:
    """Return the name under which the user's cache has the machine code of a CUDA source.

    The name includes NVRTC's version, because an old driver can't load the code of a newer NVRTC.
    """
    from cupy.cuda import nvrtc

    return f"{key(source, architecture)}-{'.'.join(map(str, nvrtc.getVersion()))}.cubin"


def is_compiled(source: str) -> bool:
    """Return whether a source's machine code for the current device is in the wheel or in the cache."""
    architecture = _architecture(current_device())
    return cubins.has(key(source, architecture)) or cache.load(_cached_name(source, architecture)) is not None


def _compile_and_keep(source: str, architecture: str, name: str) -> bytes:
    """Compile a CUDA source, store its machine code in the cache as `name`, and return the code.

    A user whose gasla kernels must be compiled will soon need kernels of CuPy too, so the compilation of the first
    group of CuPy's kernels begins as well.
    """
    cupys.begin(0, architecture)
    code = compile_source(source, architecture)
    _compiled.append(name)
    cache.store(name, code)
    return code


_compiled: list[str] = []


def compilations() -> int:
    """Return how many sources this process has compiled, because their machine code was neither shipped nor cached."""
    return len(_compiled)


def multiprocessors() -> int:
    """Return the number of multiprocessors of the current device."""
    return _multiprocessors(current_device())


@functools.cache
def _multiprocessors(device: int) -> int:
    import cupy

    return int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])


def most_shared() -> int:
    """Return the largest number of bytes of shared memory that a block may use on the current device."""
    return _most_shared(current_device())


@functools.cache
def _most_shared(device: int) -> int:
    import cupy

    return int(cupy.cuda.Device(device).attributes["MaxSharedMemoryPerBlockOptin"])


def launches_cooperatively() -> bool:
    """Return whether the current device supports cooperative launches, in which blocks may wait for each other.

    Virtual and old devices may not support them.
    """
    return _launches_cooperatively(current_device())


@functools.cache
def _launches_cooperatively(device: int) -> bool:
    import cupy

    return bool(cupy.cuda.Device(device).attributes["CooperativeLaunch"])


class Kernel:
    """A kernel of a CUDA source, with the numbers of threads, blocks and bytes of shared memory with which it is
    launched.

    Parameters
    ----------
    source, function : str
        The CUDA source, and the name of the kernel in it.
    threads : int
        Threads per block.
    blocks_per_multiprocessor : int
        Upper bound of the blocks of a cooperative launch, all of which must run at once. The device may have room for
        fewer.
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
        """Return with how many blocks a kernel may be launched if all blocks must run at the same time, at most
        `blocks`.

        The result is 1 on a device without cooperative launches, on which blocks can't wait for each other.
        """
        resident_blocks = min(self.blocks, blocks or self.blocks)
        return resident_blocks if resident_blocks == 1 or launches_cooperatively() else 1

    def cooperative(self, *arguments: Any, blocks: int | None = None) -> None:
        """Launch the kernel on the current stream, with all blocks running at once, so that they may wait for each
        other.
        """
        self.launch(self.grid(blocks), arguments, cooperative=True)

    def plain(self, blocks: int, *arguments: Any) -> None:
        """Launch the kernel with `blocks` blocks on the current stream.

        The blocks need not run at the same time, so they must not wait for each other.
        """
        self.launch(blocks, arguments)

    def launch_prepared(self, blocks: int, arguments: "Pointers") -> None:
        """Launch the kernel on the current stream with arguments that are laid out already, in a C struct.

        This saves the time that CuPy takes to convert arguments. All blocks run at once, so that they may wait for each
        other.
        """
        bind_context()
        stream, size = self._current_stream().ptr, (blocks, 1, 1, self.threads, 1, 1, self.shared)
        if blocks > 1:
            self._driver.launchCooperativeKernel(self.function.ptr, *size, stream, arguments.address)
        else:
            self._driver.launchKernel(self.function.ptr, *size, stream, arguments.address, 0)

    def launch(self, blocks: int, arguments: tuple[Any, ...], cooperative: bool = False) -> None:
        """Launch the kernel on the current stream with `blocks` blocks, all running at once if `cooperative`.

        The arguments are arrays, NumPy numbers, and structs that the function `struct` has wrapped.
        """
        self.function(
            (blocks,), (self.threads,), arguments, self.shared, enable_cooperative_groups=cooperative and blocks > 1
        )


def bind_context() -> None:
    """Bind the CUDA context of the current device to this thread, because the driver launches nothing without a
    context.

    The context is bound by the first call of the CUDA runtime in a thread. CuPy makes such a call before its own
    launches, but `Kernel.launch_prepared` bypasses CuPy.
    """
    devices, device = _thread_state.__dict__.setdefault("devices", set()), current_device()
    if device not in devices:
        import cupy

        cupy.cuda.runtime.memGetInfo()
        devices.add(device)


class Pointers:
    """A ctypes struct that is the only argument of a launch, with its address in the form that the driver takes.

    A launch copies the struct, so the struct may be changed afterwards.
    """

    def __init__(self, struct: ctypes.Structure) -> None:
        self._struct_and_pointer = struct, (ctypes.c_void_p * 1)(ctypes.addressof(struct))
        self.address = ctypes.addressof(self._struct_and_pointer[1])


def blocks_for(items: int, threads: int) -> int:
    """Return how many blocks of `threads` threads have a thread for each of `items` items: at least 1 and at most
    2**20.
    """
    return max(1, min(-(-items // threads), 1 << 20))


def kernel(source: str, function: str, threads: int, blocks_per_multiprocessor: int = 1) -> Kernel:
    """Return the kernel called `function` of a CUDA source, loaded on the current device.

    The first call loads the kernel, and compiles the source if needed.
    """
    return _kernel(source, function, threads, blocks_per_multiprocessor, current_device())


@functools.cache
def _kernel(source: str, function: str, threads: int, blocks_per_multiprocessor: int, device: int) -> Kernel:
    return Kernel(source, function, threads, blocks_per_multiprocessor)


def struct(value: Any) -> Any:
    """Wrap a ctypes or NumPy struct as an argument of a kernel.

    The struct must stay at its address until the launch has copied it.
    """
    from cupy.cuda.function import CPointer

    return CPointer(value.ctypes.data if isinstance(value, np.ndarray) else ctypes.addressof(value))
