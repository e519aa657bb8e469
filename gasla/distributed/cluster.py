"""`Cluster`: the ranks that work on a graph larger than one machine."""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from gasla.distributed.communicator import Ranks

__all__ = ["Cluster", "current"]

_open: list["Cluster"] = []


class Cluster:
    """Ranks that work on parts of one graph, each on its own: a context manager.

    Under ``mpiexec`` every process runs the same script, and opens ``Cluster()``: the ranks are these processes. With
    a client of Dask's, one process runs the script, and the ranks are the workers that the cluster has at that time,
    over MPI if they are of one job of it (dask-mpi); else they talk over Dask's own connections, which is slow (about
    a millisecond a superstep) and needs nothing. With ``threads`` the ranks are threads of this process, to try things
    out: they share its cores.

    A graph is made inside: `distributed.Graph` takes the cluster that was opened last.

    Parameters
    ----------
    client : distributed.Client, optional
        Needs ``pip install 'gasla[dask]'``.
    threads : int, optional
        Without both, it is MPI's; needs ``pip install 'gasla[mpi]'``.

    Attributes
    ----------
    size : int
        How many ranks there are.
    here : sequence of int
        Those that this process speaks for: all, or its own alone under ``mpiexec``.

    Raises
    ------
    RankError
        In whatever is done inside, where another rank has failed: it names that rank, its host and the superstep. The
        error of the rank itself is raised as it is, with a note of the same.
    WorkerLost
        A RankError: a worker of Dask's is gone.

    Examples
    --------
    >>> from gasla import distributed
    >>> with distributed.Cluster(threads=3) as cluster:
    ...     cluster.each(lambda rank: rank.communicator.rank)
    [0, 1, 2]
    """

    def __init__(self, client: Any = None, *, threads: int | None = None) -> None:
        self._ranks: Ranks | None = None
        self._make = _choose(client, threads)

    def __enter__(self) -> Self:
        if self._ranks is not None:
            raise RuntimeError("this cluster is open already; expected another, or to leave this one first")
        self._ranks = self._make()
        _open.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        ranks = self._of_it()
        _open.remove(self)
        self._ranks = None
        ranks.leave(error)

    @property
    def size(self) -> int:
        return self._of_it().size

    @property
    def here(self) -> Sequence[int]:
        return self._of_it().here

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call ``function(rank, *arguments)`` on each rank that this process speaks for; what they return, in order.

        ``rank.communicator`` is its way to the others, ``rank.kept`` a dict of what stays there from call to call. With
        a client of Dask's, the function, the arguments and what comes back are pickled.
        """
        return self._of_it().each(function, *arguments)

    def forget(self, key: Any) -> None:
        """Have ranks drop what they keep by this key."""
        if self._ranks is not None:
            self._ranks.forget(key)

    def place(self, key: Any, parts: Sequence[Any]) -> bool:
        """Have ranks keep parts of a collection of Dask's, if they are its workers; see `Ranks`."""
        return self._of_it().place(key, parts)

    def held(self, function: Callable[..., Any], *arguments: Any) -> list[Any] | None:
        """What a function gives on each rank, left there as a future of Dask's; see `Ranks`."""
        return self._of_it().held(function, *arguments)

    def leave(self, error: BaseException | None) -> None:
        """Close the cluster, as the end of a ``with`` does."""
        self.__exit__(None, error, None)

    def _of_it(self) -> Ranks:
        if self._ranks is None:
            raise RuntimeError("the cluster is not open; expected `with distributed.Cluster(...):` around this")
        return self._ranks


def current() -> Cluster:
    """The cluster that was opened last."""
    if not _open:
        raise RuntimeError("no cluster is open; expected `with distributed.Cluster(...):` around this")
    return _open[-1]


def _choose(client: Any, threads: int | None) -> Callable[[], Ranks]:
    """What makes the ranks that are asked for."""
    if threads is not None:
        if client is not None:
            raise ValueError("a client and threads are both given; expected one of them")
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise ValueError(f"threads is {threads!r}; expected how many ranks there are to be, 1 or more")
        count = threads
        from gasla.distributed.thread_ranks import ThreadRanks

        return lambda: ThreadRanks(count)
    if client is not None:
        if not hasattr(client, "submit") or not hasattr(client, "scheduler_info"):
            raise TypeError(
                f"client is a {type(client).__name__}; expected a distributed.Client, threads= how many, or nothing "
                "under mpiexec"
            )
        from gasla.distributed.dask_ranks import DaskRanks

        return lambda: DaskRanks(client)
    from gasla.distributed.mpi_ranks import MPIRanks

    return MPIRanks
