"""Groups of ranks whose kernels exchange values directly: all ranks of one process, or ranks of several processes.

The GPUs are of one host. A process drives the GPUs of its ranks by one thread, which starts the kernels and waits for
them. A kernel stores values into the memory of other GPUs. A process knows the addresses of its own GPUs' memory. The
memory of other processes is mapped by CUDA's IPC handles, which are exchanged once, when the memory is allocated.
"""

import os
import select
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gasla.arrays import address, device_of, finish, module_of, moved
from gasla.distributed.communicator import Member, Rank, Ranks
from gasla.distributed.failures import place
from gasla.distributed.links import PATIENCE, PeerFailed, WarningCommunicator, first_text, host_key
from gasla.engines import peers

ALIGNMENT = 256  # bytes to which the parts of a message are aligned
MAY_SHARE_CARD = False
"""Whether kernels may exchange values directly if several processes share a GPU. Only tests set it.

A GPU runs the kernels of several processes in turns of milliseconds, and each kernel would wait for the other's turn.
Sending the values through host memory is faster.
"""


class Shared:
    """Memory on the GPUs of all ranks, which kernels can access: the address of each rank's memory, valid in this
    process.
    """

    def __init__(self, addresses: Sequence[int]) -> None:
        self.addresses = addresses


class OneProcess:
    """A group of ranks whose kernels exchange values directly, and that are all in this process.

    It implements `gasla.gpu.program.peers.Group`.
    """

    def __init__(self, ranks: Ranks, members: Sequence[Member]) -> None:
        self._ranks, self.members = ranks, members
        self.size, self.here = len(members), range(len(members))

    def call(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call `function(rank, *arguments)` on all ranks, which are all in this process, and return the results."""
        return self._ranks.each(function, *arguments)

    def obstacle(self) -> str:
        """Return the reason why the kernels of these ranks can't store values into the memory of each other's GPUs, or
        "".
        """
        can = peers().are_peers([member.card for member in self.members])
        return "" if can else f"there are over {peers().MOST} GPUs, or not all reach the memory of the others"

    def told(self, *numbers: int) -> list[list[int]]:
        """Return a list with an entry for each process: the numbers that the process has passed to this method
        (collective).

        All ranks are in this process, so the list has one entry.
        """
        return [list(numbers)]

    def gather(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the arrays `parts` of all ranks unchanged, because all ranks are in this process."""
        return list(parts)

    def exchange(self, parts: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Return, for each rank, the arrays that all ranks send to it, in the order of the senders.

        parts[r] has the arrays that rank r sends, one to each rank. They are not copied.
        """
        return [list(arrays_of_rank) for arrays_of_rank in zip(*parts, strict=True)]

    def memory(self, run: Any, size: int) -> Any:
        """Allocate `size` bytes of memory on the current GPU that the kernels of all ranks can access, and return the
        memory.

        The memory belongs to `run`.
        """
        return run.memory(size)

    def share(self, number: int, memories: Sequence[Any]) -> Shared:
        """Return the addresses of `memories`, memory on the GPU of each rank, by which kernels of other GPUs access it.

        All ranks are in this process, so the addresses are valid for all of them. `number` is not used.
        """
        return Shared([address(memory) for memory in memories])

    def watch(self, number: int, superstep: int) -> None:
        """Do nothing, because there is no other process that could fail.

        While kernels run, this is called again and again to notice failures of other processes.
        """

    def find_failure(self, number: int, superstep: int) -> None:
        """Do nothing, because no other process can have stopped this process's kernel.

        This is called after a kernel has ended too early.
        """

    def fail(self, number: int, superstep: int) -> None:
        """Do nothing, because there is no other process to warn of a failure. This process stops all kernels itself."""


class Processes:
    """A group of ranks whose kernels exchange values directly, each in a process of its own
    (`gasla.gpu.program.peers.Group`).

    Memory that other processes may have mapped must not be freed at once. Whenever new memory is shared, all processes
    say which of the older memory is still in use. They unmap the rest, and then its owners free it.
    """

    def __init__(self, communicator: WarningCommunicator, rank: Rank, card: int) -> None:
        self._communicator, self._rank = communicator, rank
        self.size, self.here = communicator.size, (communicator.rank,)
        self.members = [Member(communicator.rank, card, communicator.host, rank.kept)]
        self._obstacle: str | None = None  # the result of `obstacle`, or None before its first call
        # By number, which is the same on all ranks: the memory that ranks share. An entry vanishes when no run of this
        # process uses the memory, so that it can be freed.
        self._shared: weakref.WeakValueDictionary[int, Shared] = weakref.WeakValueDictionary()
        # For each number of shared memory: this rank's memory, and the addresses at which this process has mapped the
        # memory of other ranks.
        self._held: dict[int, tuple[Any, list[int]]] = {}
        # The shared memory by which `exchange` sends arrays: its number, its size in bytes, this rank's memory, and the
        # addresses of all ranks' memory.
        self._passage: tuple[int, int, Any, Any] = 0, 0, None, None
        # A file descriptor for each other process, by which `poll` reports that the process has ended, and the
        # process's rank for each descriptor.
        self._watched, self._ranks_of = select.poll(), dict[int, int]()

    def call(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return a list with the result of `function(rank, *arguments)` on the only rank of this process."""
        return [function(self._rank, *arguments)]

    def obstacle(self) -> str:
        """Return the reason why the kernels of these ranks can't store values into the memory of each other's GPUs, or
        "" (collective).

        The first call tries to share memory, and later calls return the same text.
        """
        if self._obstacle is None:
            self._obstacle = first_text(self._communicator, self._obstacle_before_trial())
            self._obstacle = self._obstacle or first_text(self._communicator, self._try_sharing())
            if not self._obstacle:
                self._watch_processes()
        return self._obstacle

    def _obstacle_before_trial(self) -> str:
        """Return a reason why the kernels of these processes certainly can't exchange values, or "" if only a trial can
        show it (collective).

        Reasons are processes on several hosts, too many GPUs, a shared GPU, and GPUs that can't reach each other's
        memory.
        """
        shared_memory = peers().shared_memory
        hosts, cards = (
            [text.tobytes() for text in self.gather([np.frombuffer(host_or_bus, np.uint8)])]
            for host_or_bus in (host_key(), shared_memory.bus_id())
        )
        if len(set(hosts)) > 1:
            return "the processes are on several hosts, or in containers that do not see each other"
        if len(cards) > peers().MOST:
            return f"there are {len(cards)} processes, and at most {peers().MOST} GPUs can exchange values"
        if len(set(cards)) < len(cards) and not MAY_SHARE_CARD:
            return "processes share a GPU, where their kernels would run in turns"
        unreachable = [card.decode() for card in cards if not shared_memory.can_map(card)]
        return (
            f"GPU {shared_memory.bus_id().decode()} does not reach the memory of GPU {unreachable[0]}"
            if unreachable
            else ""
        )

    def _try_sharing(self) -> str:
        """Try whether this rank's GPU can read the memory of all other ranks' GPUs (collective).

        Each rank writes random bytes to its memory, which the other ranks read. Return an error message if that fails
        or other bytes are read, and otherwise "".
        """
        shared_memory, token = peers().shared_memory, np.frombuffer(os.urandom(16), np.uint8)
        own_memory = shared_memory.allocate(len(token))
        device = device_of(own_memory)
        own_memory[...] = moved(token, device)
        finish(device)
        tokens = self.gather([token])
        shared, problem = self._map(0, own_memory)
        for rank, memory_address in enumerate([] if problem else shared.addresses):
            try:
                token_read = moved(shared_memory.view(memory_address, len(token)), "cpu")
            except Exception as error:  # The errors that CUDA's functions raise have no common class of their own.
                return f"rank {self.here[0]} can't read the memory of rank {rank}: {error}"
            if (token_read != tokens[rank]).any():
                return f"rank {self.here[0]} reads other bytes in the memory of rank {rank} than this has written"
        return problem

    def _watch_processes(self) -> None:
        """Open a descriptor for each other process, by which `watch` notices that the process has ended.

        Where the operating system has no such descriptors, only the launcher can notice it.
        """
        processes = self.gather([np.array([os.getpid()], np.int64)])
        for rank, (pid,) in enumerate(processes):
            if rank not in self.here and hasattr(os, "pidfd_open"):
                with suppress(OSError):
                    self._ranks_of[descriptor := os.pidfd_open(pid)] = rank
                    self._watched.register(descriptor, select.POLLIN)

    def told(self, *numbers: int) -> list[list[int]]:
        """Return a list with the numbers that each process has passed to this method (collective)."""
        return [numbers_of_rank.tolist() for numbers_of_rank in self.gather([np.array(numbers, np.int64)])]

    def gather(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send this rank's array, the only entry of `parts`, to all ranks, and return the arrays of all ranks, in rank
        order (collective).
        """
        (own_array,) = parts
        gathered_arrays = self._communicator.allgather(np.ascontiguousarray(own_array).reshape(-1))
        return [flat_array.reshape(-1, *own_array.shape[1:]) for flat_array in gathered_arrays]

    def exchange(self, parts: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Return the arrays that all ranks send to the only rank of this process, in the order of the senders
        (collective).

        Each rank puts what it sends into memory of its own, from which the others copy it.
        """
        (sent_arrays,) = parts
        byte_offsets = [
            0,
            *np.cumsum([-(-sent_array.nbytes // ALIGNMENT) * ALIGNMENT for sent_array in sent_arrays]).tolist(),
        ]
        rows = [
            [end, sent_array.nbytes]
            for end, sent_array in zip(byte_offsets, [*sent_arrays, sent_arrays[0][:0]], strict=True)
        ]
        part_sizes = np.stack(self.gather([np.array([self._passage[:2], *rows], np.int64)]))
        if not part_sizes[:, -1, 0].any():
            return [[sent_arrays[0][:0]] * self.size]
        memory, shared = self._find_passage(part_sizes[:, 0], int(part_sizes[:, -1, 0].max()))
        device = device_of(memory)
        for byte_offset, sent_array in zip(byte_offsets, sent_arrays, strict=False):
            memory[byte_offset : byte_offset + sent_array.nbytes] = (
                module_of(device).ascontiguousarray(sent_array).reshape(-1).view(np.uint8)
            )
        finish(device)
        self._communicator.barrier()
        received_arrays, own_rank = [], self.here[0]
        for (byte_offset, part_size), memory_address in zip(
            part_sizes[:, 1 + own_rank].tolist(), shared.addresses, strict=True
        ):
            content = (
                peers().shared_memory.view(memory_address + byte_offset, part_size).copy()
                if part_size
                else memory[:0].copy()
            )
            received_arrays.append(content.view(sent_arrays[0].dtype).reshape(-1, *sent_arrays[0].shape[1:]))
        finish(device)
        # The next exchange overwrites the memory, so wait until all ranks have copied what they receive.
        self._communicator.barrier()
        return [received_arrays]

    def _find_passage(self, known_passages: np.ndarray, needed_size: int) -> tuple[Any, Shared]:
        """Return this rank's memory through which arrays are exchanged, of at least `needed_size` bytes, and the
        addresses of all ranks' memory (collective).

        `known_passages` has the number and the size of the memory that each rank has now. If it is too small, new
        memory is shared.
        """
        if (known_passages != known_passages[0]).any() or known_passages[0, 1] < needed_size:
            passage_number, needed_size = int(known_passages[:, 0].min()) - 1, 1 << max(needed_size - 1, 1).bit_length()
            # Drop the references to the old memory, so that it can be freed when the new memory is shared.
            self._passage = 0, 0, None, None
            memory = self.memory(None, needed_size)
            self._passage = passage_number, needed_size, memory, self.share(passage_number, [memory])
        return self._passage[2:]

    def memory(self, run: Any, size: int) -> Any:
        """Allocate `size` bytes of memory on the current GPU, and return the memory.

        After a call of `share`, the kernels of all ranks can access it.
        """
        return peers().shared_memory.allocate(size)

    def share(self, number: int, memories: Sequence[Any]) -> Shared:
        """Map `memories`, memory of each rank's GPU, into this process, and return the addresses of all ranks' memory
        (collective).

        `number`, which is the same on all ranks, identifies the memory.
        """
        unused = self._unmap_unused()
        (memory,) = memories
        shared, problem = self._map(number, memory)
        # Another process sends its new handles after it has unmapped memory that is no longer used. All handles have
        # arrived, so no process has this rank's unused memory mapped, and it can be freed.
        unused.clear()
        if problem := first_text(self._communicator, problem):
            raise RuntimeError(f"{problem}, though a trial had succeeded")
        return shared

    def _unmap_unused(self) -> list[Any]:
        """Unmap the memory of other ranks that no process uses any more (collective).

        Return this rank's own memory that is no longer used. The caller has to keep it until all other processes have
        unmapped it, too.
        """
        used = np.concatenate(self.gather([np.array(sorted(self._shared), np.int64)]))
        unused = []
        for passage_number in set(self._held) - set(used.tolist()):
            memory, mapped = self._held.pop(passage_number)
            unused.append(memory)
            _unmap(mapped)
        return unused

    def _map(self, memory_number: int, memory: Any) -> tuple[Shared, str]:
        """Map memory of the GPUs of all other ranks into this process, by CUDA's IPC handles (collective).

        Return the addresses, and an error message, or "" if mapping has succeeded.
        """
        shared_memory, own_rank, problem, handle = peers().shared_memory, self.here[0], "", b""
        try:
            handle = shared_memory.handle_of(memory)
        # On systems without IPC handles, CUDA raises an error. It is returned as text, so that all ranks learn of it.
        except Exception as error:
            problem = f"rank {own_rank} can't share memory of its GPU: {error}"
        addresses, mapped = [], []
        for rank, handle_bytes in enumerate(self.gather([np.frombuffer(handle, np.uint8)])):
            if rank == own_rank or problem:
                addresses.append(address(memory))
                continue
            try:
                mapped.append(shared_memory.map_handle(handle_bytes.tobytes()))
                addresses.append(mapped[-1])
            # CUDA's own error says best why one GPU can't reach the memory of another, so its text is returned.
            except Exception as error:
                problem = f"rank {own_rank} can't map memory of the GPU of rank {rank}: {error}"
        self._held[memory_number] = memory, mapped
        shared = self._shared[memory_number] = Shared(addresses)
        return shared, problem

    def watch(self, number: int, superstep: int) -> None:
        """Raise an error if another process has failed or ended, so that this process does not wait for it forever.

        This is called again and again while a kernel runs.
        """
        self._communicator.superstep = superstep  # error messages name the superstep
        if self._communicator.is_warned(number):
            raise PeerFailed
        for descriptor, _ in self._watched.poll(0):
            rank = self._ranks_of[descriptor]
            where = place(rank, self.size, self._communicator.host, superstep)
            raise ChildProcessError(f"{where}: the process has ended, while the others wait for its GPU")

    def find_failure(self, number: int, superstep: int) -> None:
        """Wait up to `PATIENCE` seconds for a warning that another process has failed, and raise the error if one
        arrives.

        This is called when a kernel of this process has ended too early. Another process that fails stops its own
        kernel, and the kernels of other processes end with it, perhaps before its warning arrives.
        """
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.watch(number, superstep)
            time.sleep(0.01)

    def fail(self, number: int, superstep: int) -> None:
        """Warn the other processes that this one has failed, so that they stop kernels that wait for this process's
        kernel.
        """
        self._communicator.superstep = superstep
        # An error of the warning itself is ignored, because the caller raises the error that has caused the warning.
        with suppress(Exception):
            self._communicator.warn(number)

    def unmap(self) -> Any:
        """Unmap the memory of all other ranks, at the end of the use of the ranks.

        Return this rank's own memory. The caller must keep it until all ranks have unmapped it.
        """
        for descriptor in self._ranks_of:
            os.close(descriptor)
        self._ranks_of.clear()
        shared_memory, self._held = self._held, {}
        for _, mapped in shared_memory.values():
            _unmap(mapped)
        return shared_memory


def _unmap(addresses: Sequence[int]) -> None:
    for memory_address in addresses:
        with suppress(Exception):  # a GPU that has failed has lost its memory anyway, so an error is ignored
            peers().shared_memory.unmap(memory_address)
