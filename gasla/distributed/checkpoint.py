"""Checkpoints of long runs, from which a run can resume after a failure. Each rank writes its own state.

A checkpoint is complete or absent: ranks write to a new folder, and after all have finished, the file that names the
current folder is replaced.
"""

import json
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from zipfile import BadZipFile

import numpy as np

from gasla.arrays import moved
from gasla.distributed.communicator import Communicator
from gasla.output import replacing

_open: list["Checkpoint"] = []


class Checkpoint:
    """A context manager in which distributed runs save their state periodically, and can resume from it.

    Runs inside are numbered, including those inside the library's algorithms. With ``resume``, runs before the
    interrupted one are repeated, and the interrupted run continues from its last saved state, with bit-identical
    results. The number of ranks, the graph, the program and its parameters have to be the same.

    Parameters
    ----------
    path : path
        A folder that all ranks can access; created if missing.
    every : int
        Number of supersteps between saved states.
    resume : bool
        Whether to continue from the state in the folder. If there is none, the run begins at its start.

    Raises
    ------
    ValueError
        The saved state belongs to another graph, program or number of ranks, or is damaged; or the run can't be saved,
        because it has ``out`` or consists of phases.

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
        self._runs = 0  # number of runs that have begun inside the `with` block

    def __enter__(self) -> Self:
        _open.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _open.remove(self)

    def next_run(self) -> int:
        """Return the number of the next run inside the `with` block, counting from 1."""
        self._runs += 1
        return self._runs


def is_saving() -> bool:
    """Return whether a `Checkpoint` is open, so that runs of vertex programs that begin now save their state."""
    return bool(_open)


_NUMBERS = ("iteration", "edges", "ended", "stopped", "bucket", "exchanges", "bytes", "total")
_ARRAYS = ("active", "waiting")


class Saver(NamedTuple):
    """An object that saves and restores the state of one run of a vertex program, for `Checkpoint`.

    The process that has started the run decides when the state is saved. Each rank writes its part of the state.
    """

    path: str
    every: int
    resume: bool
    number: int

    @classmethod
    def of_run(cls, out: Mapping[str, Any]) -> "Saver | None":
        """Return a `Saver` for the run of a vertex program that begins now, or None if no `Checkpoint` is open.

        Raise ValueError if the run writes to arrays of the caller (`out`), because its state can't be saved then.
        """
        if not _open:
            return None
        if out:
            raise ValueError(
                "a run with out, or a run of phases, can't be saved, because other objects hold its fields; run it "
                "outside of distributed.Checkpoint"
            )
        checkpoint = _open[-1]
        return cls(checkpoint.path, checkpoint.every, checkpoint.resume, checkpoint.next_run())

    def next_stop(self, until: int, iteration: int) -> int:
        """Return the number of supersteps after which a run must pause next: `until`, or fewer if its state has to be
        saved before.

        `iteration` is the number of supersteps that the run has made.
        """
        return min(until, (iteration // self.every + 1) * self.every)

    def is_due(self, iteration: int) -> bool:
        """Return whether a run saves its state after `iteration` supersteps."""
        return iteration % self.every == 0

    def save(self, run: Any) -> None:
        """Write this rank's part of a run's state to a new folder.

        After all ranks have done so, the first rank replaces the file that names the current folder, and removes older
        folders.
        """
        name = f"{self.number}-{run.iteration}"
        communicator: Communicator = run.communicator
        folder = Path(self.path, name)
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / _file_name(communicator)) as stream:
            np.savez(stream, **_state_arrays(run))
        communicator.barrier()
        if communicator.rank == 0:
            with replacing(Path(self.path, _CURRENT)) as stream:
                contents = {"version": VERSION, "folder": name, "run": self.number, "ranks": communicator.size}
                stream.write(json.dumps(contents).encode())
            for state_folder in Path(self.path).glob("*-*"):
                if state_folder.name != name:
                    shutil.rmtree(state_folder)

    def restore(self, run: Any) -> None:
        """Set this rank's part of a run to the saved state, if the checkpoint's folder has a state of the run with this
        number.

        Otherwise do nothing. Raise ValueError if the state was saved with another number of ranks, another graph or
        another program.
        """
        current = Path(self.path, _CURRENT)
        contents: dict[str, Any] = self._read_current(current) if current.exists() else {"run": 0}
        version = contents.get("version", VERSION)
        if version != VERSION:
            raise ValueError(
                f"{current} has version {version!r} of checkpoints, and this gasla reads version {VERSION}; resume "
                "with the gasla that wrote it, or start anew in another folder"
            )
        if contents["run"] != self.number:
            return
        communicator: Communicator = run.communicator
        if contents["ranks"] != communicator.size:
            raise ValueError(
                f"{self.path} was written by {contents['ranks']} ranks, and now there are {communicator.size}; "
                "expected the same number"
            )
        file = Path(self.path, contents["folder"], _file_name(communicator))
        with self._report_damage(file):
            with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
                saved = dict(archive)
            saved_run, expected = str(saved.pop("of")), _describe_run(run)
        if saved_run != expected:
            raise ValueError(f"{self.path} has the state of {saved_run}; expected that of {expected}")
        with self._report_damage(file):
            for name in (*_NUMBERS, *_ARRAYS, *map("field.{}".format, run.state)):
                if name not in saved:
                    raise ValueError(f"no array {name!r}")
            _set_state(run, saved)

    def _read_current(self, current: Path) -> dict[str, Any]:
        """Read the small JSON file `current`, which names the folder of the newest complete checkpoint.

        Return its contents: the version of the format, the folder, and the numbers of the run and of the ranks.
        """
        with self._report_damage(current):
            said = json.loads(current.read_text(encoding="utf-8"))
            if said.get("version", VERSION) == VERSION:
                for key, expected_type in (("run", int), ("ranks", int), ("folder", str)):
                    if not isinstance(said.get(key), expected_type):
                        raise ValueError(f"{key} is {said.get(key)!r}")
        return dict(said)

    @contextmanager
    def _report_damage(self, file: Path) -> Iterator[None]:
        """Return a context manager in which an error in reading a checkpoint's file becomes a ValueError that tells the
        user what to do.
        """
        try:
            yield
        except (*_MISSING, *_DAMAGED) as error:
            reason = "is missing" if isinstance(error, FileNotFoundError) else f"holds no state of a run ({error})"
            raise ValueError(
                f"the checkpoint in {self.path} is damaged: {file} {reason}; restore the folder from a copy, or delete "
                "it, and the run begins at its start"
            ) from error


_CURRENT = "current.json"
# Errors that mean that a file of a checkpoint is missing. They are reported as damage, unlike other OSErrors, which
# come from a disk or a network.
_MISSING = FileNotFoundError, IsADirectoryError
_DAMAGED = ValueError, TypeError, LookupError, AttributeError, EOFError, NotImplementedError, zlib.error, BadZipFile
VERSION = 1  # version of the format of a checkpoint's files; a state of another version is refused


def _file_name(communicator: Communicator) -> str:
    return f"{communicator.rank}-of-{communicator.size}.npz"


def _describe_run(run: Any) -> str:
    """Return a text with the name of the run's program, its parameters, and a checksum of this rank's part of the
    graph.

    The text is saved with the state of the run. A state may be restored only in a run with the same text.
    """
    shard = run.shard
    graph = shard.graph_on("cpu")
    edges = (graph.in_.indptr, graph.in_.indices, graph.values, shard.ids)
    crc = 0
    for array in edges:
        crc = zlib.crc32(b"" if array is None else np.ascontiguousarray(array).view(np.uint8).data, crc)
    values = {**run.program.values, **run.program._chosen}
    text = ", ".join(f"{name}={np.asarray(x).tolist()!r}" for name, x in sorted(values.items()))
    return f"{type(run.program).__name__}({text}) on a graph of {shard.n} vertices and {shard.m} edges, part {crc:08x}"


def _state_arrays(run: Any) -> dict[str, Any]:
    """Return the state of a run on this rank that a checkpoint saves: fields, aggregates, parameters and counters, as
    arrays by name.
    """
    arrays: dict[str, Any] = {"of": np.array(_describe_run(run))}
    arrays |= {f"field.{name}": moved(array, "cpu") for name, array in run.state.items()}
    arrays |= {f"at_vertices.{name}": array for name, array in run.at_vertices.arrays.items()}
    arrays |= {f"parameter.{name}": np.asarray(x) for name, x in run.parameters.items()}
    arrays |= {f"aggregate.{name}": np.asarray(x) for name, x in run.aggregates.items()}
    arrays |= {
        f"sent.{rank}.{i}": moved(x, "cpu")
        for rank, sent_arrays in enumerate(run.exchange.sent)
        for i, x in enumerate(sent_arrays)
    }
    return arrays | {name: np.asarray(moved(getattr(run, name), "cpu")) for name in (*_NUMBERS, *_ARRAYS)}


def _set_state(run: Any, saved: Mapping[str, np.ndarray]) -> None:
    """Copy the arrays that a checkpoint has saved (`saved`, by name) into the state of a run on this rank."""
    for name, array in saved.items():
        array_kind, _, key = name.partition(".")
        if array_kind == "field":
            run.state[key][...] = moved(
                array, run.options.device
            )  # )  # copied into the array, because the compiled loop has the array's address
        elif array_kind == "at_vertices":
            run.at_vertices.arrays[key][...] = array
        elif array_kind == "parameter":
            run.parameters[key] = array[()]
        elif array_kind == "aggregate":
            run.aggregates[key] = array[()]
        elif array_kind == "sent":
            rank, field_index = map(int, key.split("."))
            run.exchange.sent[rank][field_index][...] = moved(array, run.options.device)
        elif array_kind in _NUMBERS:
            setattr(run, array_kind, array.item())
        else:
            setattr(run, array_kind, moved(array, run.options.device) if array_kind == "active" else array)
