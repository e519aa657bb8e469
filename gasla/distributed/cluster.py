"""`Cluster`: a context manager that provides the ranks for distributed graphs."""

from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from gasla.arrays import require_gpu
from gasla.distributed.communicator import Dropped, Member, Ranks
from gasla.graph.arguments import check_flags

__all__ = ["Cluster", "current"]

_open: list["Cluster"] = []


class Cluster:
    """The ranks that hold the parts of distributed graphs: MPI processes, Dask workers, or threads.

    MPI: under ``mpiexec`` every process runs the same script and opens ``Cluster()``; each process is a rank.

    Dask: one process runs the script and passes its client; the current workers of the Dask cluster are the ranks.
    Workers started by dask-mpi communicate over MPI, all others over Dask's connections, which takes about a
    millisecond per superstep.

    Cards: the ranks are GPUs of this process. Each holds a part of the graph and of the fields, and kernels write what
    changes into the memory of the others. No launcher is needed.

    Threads: the ranks are threads of this process and share its cores, for tests and experiments.

    Graphs are made inside the ``with`` block: `distributed.Graph` uses the innermost open cluster.

    Parameters
    ----------
    client : distributed.Client, optional
        Use the workers of a Dask cluster; needs ``pip install 'gasla[dask]'``.
    threads : int, optional
        Use this number of threads. Without `client`, `threads` and `cards`, ranks are MPI processes, which needs ``pip
        install 'gasla[mpi]'``.
    gpus : bool
        Under ``mpiexec`` and with `client`: each process uses a GPU, that of its number among the processes of its
        host, or the one that dask-cuda gives it. Values go from GPU to GPU: under ``mpiexec`` by kernels, if all
        processes are on one host and their GPUs reach each other's memory, and otherwise by NCCL (``pip install
        'gasla[nccl12]'`` or ``'gasla[nccl13]'``). Without NCCL, and where processes share a GPU, they go through the
        host's memory.
    cards : "all", int, or sequence of int, optional
        Use GPUs of this machine: all, a number of them, or those with the given device numbers. A device may be given
        twice, for tests on one GPU.

    Attributes
    ----------
    size : int
        Number of ranks.
    has_cards : bool
        Whether each rank has a GPU, and runs vertex programs there.
    here : sequence of int
        The ranks controlled by this process: its own under ``mpiexec``, else all.

    Raises
    ------
    RankError
        By any operation inside, if another rank has failed: the message has that rank, its host and the superstep. On
        the failed rank its own exception is raised, with this information as a note.
    WorkerLost
        A RankError: a Dask worker was lost.

    Examples
    --------
    >>> from gasla import distributed
    >>> with distributed.Cluster(threads=3) as cluster:
    ...     cluster.each(lambda rank: rank.communicator.rank)
    [0, 1, 2]
    """

    def __init__(
        self,
        client: Any = None,
        *,
        threads: int | None = None,
        cards: str | int | Sequence[int] | None = None,
        gpus: bool = False,
    ) -> None:
        self._ranks: Ranks | None = None
        self._make = _choose(client, threads, cards, gpus)

    def __enter__(self) -> Self:
        if self._ranks is not None:
            raise RuntimeError("this cluster is already open; leave it first, or make another Cluster")
        self._ranks = self._make()
        _open.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        ranks = self._open_ranks()
        _open.remove(self)
        self._ranks = None
        ranks.leave(error)

    @property
    def size(self) -> int:
        return self._open_ranks().size

    @property
    def has_cards(self) -> bool:
        return self._open_ranks().has_cards

    @property
    def here(self) -> Sequence[int]:
        return self._open_ranks().here

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call ``function(rank, *arguments)`` on each rank in `here`. Return the results in rank order.

        ``rank.communicator`` communicates with the other ranks; ``rank.kept`` is a dict that persists between calls.
        On Dask workers the function, its arguments and results are pickled.
        """
        return self._open_ranks().each(function, *arguments)

    def together(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call ``function(group, *arguments)`` once in each process, where `group` stands for the ranks of this
        process.

        The function drives the GPUs of these ranks (`Ranks.together`).
        """
        return self._open_ranks().together(function, *arguments)

    def members(self) -> Sequence[Member]:
        """Return all ranks if this process drives a GPU for each of them, and otherwise an empty sequence
        (`Ranks.members`).
        """
        return self._open_ranks().members()

    @property
    def dropped(self) -> Dropped:
        """Keys of data that ranks delete at their next call (`Dropped`)."""
        return self._open_ranks().dropped

    def forget(self, key: Any) -> None:
        """Register the key of data that ranks store and nobody needs any more.

        The ranks delete the data when a function is next called on them.
        """
        if self._ranks is not None:
            self._ranks.dropped.add(key)

    def place(self, key: Any, parts: Sequence[Any]) -> bool:
        """Store the partitions of a Dask collection on the ranks under `key`, if the ranks are Dask workers.

        Return whether they are (`Ranks.place`).
        """
        return self._open_ranks().place(key, parts)

    def held(self, function: Callable[..., Any], *arguments: Any) -> list[Any] | None:
        """Call a function on each rank, and return Dask futures of the results, which stay on the workers
        (`Ranks.held`).

        Return None if the ranks are not Dask workers.

        Return None if ranks are not Dask workers. The results stay on the workers (`Ranks.held`).
        """
        return self._open_ranks().held(function, *arguments)

    def leave(self, error: BaseException | None) -> None:
        """Close the cluster, as at the end of a ``with`` block."""
        self.__exit__(None, error, None)

    def _open_ranks(self) -> Ranks:
        if self._ranks is None:
            raise RuntimeError("the cluster is not open; use it inside `with distributed.Cluster(...):`")
        return self._ranks


def current() -> Cluster:
    """Return the `Cluster` whose ``with`` block is the innermost one that is open, and has the ranks of new graphs."""
    if not _open:
        raise RuntimeError("no cluster is open; use this inside `with distributed.Cluster(...):`")
    return _open[-1]


def _numbers_of(cards: Any) -> list[int]:
    """Return the device numbers of the GPUs that `Cluster(cards=...)` selects, where `cards` is the argument."""
    device_count = int(require_gpu().cuda.runtime.getDeviceCount())
    card_numbers: Any = cards
    if isinstance(cards, str) and cards == "all":
        card_numbers = range(device_count)
    elif isinstance(cards, int) and not isinstance(cards, bool):
        card_numbers = range(cards)
    numbers = [] if isinstance(card_numbers, str | bool) else list(card_numbers)
    if not numbers or not all(isinstance(card, int) and 0 <= card < device_count for card in numbers):
        raise ValueError(
            f'cards is {cards!r}; expected "all", 1 to {device_count}, or numbers of GPUs from 0 to {device_count - 1}'
        )
    return numbers


def _choose(client: Any, threads: int | None, cards: Any, gpus: bool) -> Callable[[], Ranks]:
    """Return a function that starts the ranks that the arguments of `Cluster` ask for: threads, GPUs, Dask workers or
    MPI processes.
    """
    check_flags(gpus=gpus)
    values_by_parameter = {"client": client, "threads": threads, "cards": cards, "gpus": gpus or None}
    names = [name for name, value in values_by_parameter.items() if value is not None]
    if len(names) > 1 and names != ["client", "gpus"]:
        raise ValueError(f"{' and '.join(names)} were given; expected one of them")
    if cards is not None:
        from gasla.distributed.thread_ranks import ThreadRanks

        numbers = _numbers_of(cards)
        return lambda: ThreadRanks(len(numbers), numbers)
    if threads is not None:
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise ValueError(f"threads is {threads!r}; expected a number of ranks, 1 or more")
        count = threads
        from gasla.distributed.thread_ranks import ThreadRanks

        return lambda: ThreadRanks(count)
    if client is not None:
        if not hasattr(client, "submit") or not hasattr(client, "scheduler_info"):
            raise TypeError(
                f"client is a {type(client).__name__}; expected a distributed.Client; pass threads=N for threads, or "
                "nothing under mpiexec"
            )
        from gasla.distributed.dask_ranks import DaskRanks

        return lambda: DaskRanks(client, gpus)
    from gasla.distributed.mpi_ranks import MPIRanks

    return partial(MPIRanks, gpus=gpus)
