"""What a long run needs in order to go on after a failure: its state, which each rank writes by itself, now and then.

A checkpoint is complete or not there at all: ranks write a folder of their own number, and once all have, a file that
names it takes the place of the one before.
"""

import json
import os
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from gasla.distributed.communicator import Communicator
from gasla.output import replacing

_open: list["Checkpoint"] = []


class Checkpoint:
    """Have runs over ranks write their state, every so many supersteps, and go on from it: a context manager.

    Runs inside are counted, those of the library's algorithms too. With ``resume`` the ones before that which was
    interrupted are done again, and this goes on from its last state, with the bits that it would have had. The number
    of ranks, the graph, the program and its parameters have to be the same. The folder is one that all ranks see.

    Parameters
    ----------
    path : path
        A folder, made if it isn't there.
    every : int
        Supersteps from one state to the next.
    resume : bool
        Whether to go on from what the folder holds. If it holds nothing, the run begins at its start.

    Raises
    ------
    ValueError
        What the folder holds is of another graph, program or number of ranks; or a run can't be saved: one with
        ``out``, and a run of phases.

    Examples
    --------
    >>> import gasla
    >>> from gasla import distributed
    >>> with distributed.Cluster(), distributed.Checkpoint("state", resume=True):  # doctest: +SKIP
    ...     ranks = gasla.pagerank(distributed.Graph.from_files("data/*.parquet")).ranks
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 100, resume: bool = False) -> None:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise ValueError(f"every is {every!r}; expected a number of supersteps, 1 or more")
        self.path, self.every, self.resume = os.path.abspath(path), every, resume
        self._runs = 0  # inside so far

    def __enter__(self) -> Self:
        _open.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _open.remove(self)

    def next_run(self) -> int:
        """The number of a run that begins."""
        self._runs += 1
        return self._runs


_NUMBERS = ("iteration", "edges", "ended", "stopped", "bucket", "exchanges", "bytes", "total")
_ARRAYS = ("active", "waiting")


class Saver(NamedTuple):
    """What one run, the number-th, does about it: the process that calls decides when, and each rank writes."""

    path: str
    every: int
    resume: bool
    number: int

    @classmethod
    def of_run(cls, out: Mapping[str, Any]) -> "Saver | None":
        """What a run that begins now is to do, if anything."""
        if not _open:
            return None
        if out:
            raise ValueError(
                "a run with out, and a run of phases, can't be saved: others hold its fields; expected it outside of "
                "distributed.Checkpoint"
            )
        asked = _open[-1]
        return cls(asked.path, asked.every, asked.resume, asked.next_run())

    def next_stop(self, until: int, iteration: int) -> int:
        """Where to stop at the latest, to save what there is then."""
        return min(until, (iteration // self.every + 1) * self.every)

    def is_due(self, iteration: int) -> bool:
        """Whether to save."""
        return iteration % self.every == 0

    def save(self, run: Any) -> None:
        """Write a rank's state."""
        name = f"{self.number}-{run.iteration}"
        communicator: Communicator = run.communicator
        folder = Path(self.path, name)
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / _file(communicator)) as stream:
            np.savez(stream, **_arrays(run))
        communicator.barrier()
        if communicator.rank == 0:
            with replacing(Path(self.path, _CURRENT)) as stream:
                said = {"folder": name, "run": self.number, "ranks": communicator.size}
                stream.write(json.dumps(said).encode())
            for other in Path(self.path).glob("*-*"):
                if other.name != name:
                    shutil.rmtree(other)

    def restore(self, run: Any) -> None:
        """Bring a run that has begun to the state that was written, if this is of the same run."""
        current = Path(self.path, _CURRENT)
        said: dict[str, Any] = json.loads(current.read_text()) if current.exists() else {"run": 0}
        if said["run"] != self.number:
            return
        communicator: Communicator = run.communicator
        if said["ranks"] != communicator.size:
            raise ValueError(
                f"{self.path} was written by {said['ranks']} ranks and there are {communicator.size}; expected as many"
            )
        with np.load(Path(self.path, said["folder"], _file(communicator))) as found:
            saved = dict(found)
        of, expected = str(saved.pop("of")), _identity(run)
        if of != expected:
            raise ValueError(f"{self.path} holds {of}; this is {expected}; expected the same")
        _put(run, saved)


_CURRENT = "current.json"


def _file(communicator: Communicator) -> str:
    return f"{communicator.rank}-of-{communicator.size}.npz"


def _identity(run: Any) -> str:
    """What a state is of, in words."""
    shard = run.shard
    edges = (shard.graph.in_.indptr, shard.graph.in_.indices, shard.graph.values, shard.ids)
    crc = 0
    for array in edges:
        crc = zlib.crc32(b"" if array is None else np.ascontiguousarray(array).view(np.uint8).data, crc)
    values = {**run.program.values, **run.program._chosen}
    given = ", ".join(f"{name}={np.asarray(x).tolist()!r}" for name, x in sorted(values.items()))
    return f"{type(run.program).__name__}({given}) on a graph of {shard.n} vertices and {shard.m} edges, part {crc:08x}"


def _arrays(run: Any) -> dict[str, Any]:
    """All of the state, as arrays by name."""
    found: dict[str, Any] = {"of": np.array(_identity(run))}
    found |= {f"field.{name}": array for name, array in run.state.items()}
    found |= {f"parameter.{name}": np.asarray(x) for name, x in run.parameters.items()}
    found |= {f"aggregate.{name}": np.asarray(x) for name, x in run.aggregates.items()}
    found |= {f"sent.{rank}.{i}": array for rank, sent in enumerate(run.sent) for i, array in enumerate(sent)}
    return found | {name: np.asarray(getattr(run, name)) for name in (*_NUMBERS, *_ARRAYS)}


def _put(run: Any, saved: Mapping[str, np.ndarray]) -> None:
    """Take over what was written."""
    for name, array in saved.items():
        kind, _, which = name.partition(".")
        if kind == "field":
            run.state[which][...] = array  # the loop has its address
        elif kind == "parameter":
            run.parameters[which] = array[()]
        elif kind == "aggregate":
            run.aggregates[which] = array[()]
        elif kind == "sent":
            rank, place = map(int, which.split("."))
            run.sent[rank][place][...] = array
        elif kind in _NUMBERS:
            setattr(run, kind, array.item())
        else:
            setattr(run, kind, array)
