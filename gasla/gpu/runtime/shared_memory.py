"""GPU memory that other processes of the same host map by IPC handles (`cudaIpcGetMemHandle`).

This memory is not taken from CuPy's memory pool. A handle gives access to a whole allocation of the driver, and in the
pool, other arrays may be in the same allocation.
"""

from typing import Any

import numpy as np

from gasla.arrays import require_gpu

# A size in bytes. The driver puts smaller allocations together into one piece of this size, and a handle would give
# access to all of them, so allocations are rounded up to it.
UNIT = 2 << 20
OUT_OF_MEMORY = 2  # number of CUDA's error cudaErrorMemoryAllocation


def allocate(size: int) -> Any:
    """Return an array of `size` bytes on the current GPU. No other array is in the same allocation of the driver."""
    cupy: Any = require_gpu()
    rounded_size = -(-max(size, 1) // UNIT) * UNIT
    try:
        memory = _allocate(rounded_size)
    except MemoryError:
        # Memory is short, so memory that CuPy's pool keeps without an array is freed before a second attempt.
        cupy.get_default_memory_pool().free_all_blocks()
        memory = _allocate(rounded_size)
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
    """Return the IPC handle by which another process maps an array that `allocate` has returned."""
    handle: bytes = require_gpu().cuda.runtime.ipcGetMemHandle(array.data.ptr)
    return handle


def map_handle(handle: bytes) -> int:
    """Map an array of another process, given its IPC handle. Return its address for the current GPU."""
    # Mapping also gives the current GPU access to the GPU that holds the array.
    return int(require_gpu().cuda.runtime.ipcOpenMemHandle(handle))


def unmap(address: int) -> None:
    """Undo `map_handle`, which has mapped an array of another process.

    No kernel may use the address any more. The process that owns the array may free it only after this.
    """
    require_gpu().cuda.runtime.ipcCloseMemHandle(address)


def bus_id() -> bytes:
    """Return the PCI bus id of the current GPU, which is the same in all processes, however they number GPUs."""
    runtime: Any = require_gpu().cuda.runtime
    return str(runtime.deviceGetPCIBusId(runtime.getDevice())).lower().encode()


def can_map(bus_id: bytes) -> bool:
    """Return whether the current GPU can access the memory of another GPU of the host, given by its PCI bus id.

    If this process can't see the other GPU, return True. Only an attempt to map its memory can then tell.
    """
    runtime: Any = require_gpu().cuda.runtime
    try:
        other = runtime.deviceGetByPCIBusId(bus_id.decode())
    except runtime.CUDARuntimeError:
        return True
    device = runtime.getDevice()
    return bool(other == device or runtime.deviceCanAccessPeer(device, other))


def view(address: int, size: int) -> Any:
    """Return an array on the current GPU over the bytes at an address, such as one that `map_handle` has returned."""
    cupy: Any = require_gpu()
    memory = cupy.cuda.UnownedMemory(address, size, None, cupy.cuda.runtime.getDevice())
    return cupy.ndarray(size, np.uint8, cupy.cuda.MemoryPointer(memory, 0))
