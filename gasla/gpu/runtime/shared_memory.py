"""GPU memory that other processes of the host map by IPC handles (`cudaIpcGetMemHandle`).

CuPy's pool would not do: a handle stands for a whole allocation of the driver, whose first byte it maps.
"""

from typing import Any

import numpy as np

from gasla.arrays import require_gpu

UNIT = 2 << 20  # bytes. The driver places smaller allocations in one such piece, and a handle would share all of it
OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation


def allocate(size: int) -> Any:
    """Return an array of `size` bytes on the current GPU, at the begin of an allocation of its own."""
    cupy: Any = require_gpu()
    whole = -(-max(size, 1) // UNIT) * UNIT
    try:
        memory = _allocate(whole)
    except MemoryError:
        cupy.get_default_memory_pool().free_all_blocks()  # memory that no array uses
        memory = _allocate(whole)
    return cupy.ndarray(size, np.uint8, cupy.cuda.MemoryPointer(memory, 0))


def _allocate(size: int) -> Any:
    cuda: Any = require_gpu().cuda
    try:
        return cuda.Memory(size)
    except cuda.runtime.CUDARuntimeError as error:
        if error.status != OUT_OF_MEMORY:
            raise
        raise MemoryError(f"the GPU has no {size:,} bytes left to share with other processes") from None


def handle_of(array: Any) -> bytes:
    """Return the handle by which another process maps an array of `allocate`."""
    handle: bytes = require_gpu().cuda.runtime.ipcGetMemHandle(array.data.ptr)
    return handle


def map_handle(handle: bytes) -> int:
    """Map the array of another process. Return its address for the current GPU."""
    return int(require_gpu().cuda.runtime.ipcOpenMemHandle(handle))  # with access to its GPU


def unmap(address: int) -> None:
    """Undo `map_handle`. No kernel may use the address any more, and the owner frees the array after this."""
    require_gpu().cuda.runtime.ipcCloseMemHandle(address)


def bus_id() -> bytes:
    """Identify the current GPU among those of the host, also to processes that number them differently."""
    runtime: Any = require_gpu().cuda.runtime
    return str(runtime.deviceGetPCIBusId(runtime.getDevice())).lower().encode()


def can_map(bus_id: bytes) -> bool:
    """Return whether the current GPU reaches the memory of another one.

    One that is not visible here is left to a trial.
    """
    runtime: Any = require_gpu().cuda.runtime
    try:
        other = runtime.deviceGetByPCIBusId(bus_id.decode())
    except runtime.CUDARuntimeError:
        return True
    here = runtime.getDevice()
    return bool(other == here or runtime.deviceCanAccessPeer(here, other))


def view(address: int, size: int) -> Any:
    """Return the bytes at an address of this process, or one that it has mapped, as an array for the current GPU."""
    cupy: Any = require_gpu()
    memory = cupy.cuda.UnownedMemory(address, size, None, cupy.cuda.runtime.getDevice())
    return cupy.ndarray(size, np.uint8, cupy.cuda.MemoryPointer(memory, 0))
