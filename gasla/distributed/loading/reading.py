"""Files of which each rank reads its share: whole files, row groups of Parquet, and ranges of bytes of edge lists."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gasla.distributed.communicator import Communicator, Rank
from gasla.distributed.loading.settling import Piece, settle
from gasla.graph import io
from gasla.graph.exchange.columns import Column, arrow, choose, edges_of, places_of_numbers
from gasla.graph.graph import Graph, as_graph
from gasla.graph.io import edges as edge_lists
from gasla.graph.io.files import COMPRESSIONS, FormatError, translate_errors
from gasla.progress import track

RANGE = 1 << 26  # bytes of an edge list that are read at a time, at most

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Unit(NamedTuple):
    """What is read at a time: a row group, a range of bytes, or a file (to the end, from the start)."""

    path: str
    start: int
    stop: int
    size: int  # bytes, about


class Columns(NamedTuple):
    """Which columns of tables are meant."""

    src: Column | None
    dst: Column | None
    weight: Column | None


def list_files(paths: Paths) -> list[str]:
    """The files that are meant: those of a pattern by name, others as they are given.

    Raises
    ------
    FileNotFoundError
        There is none, or it is a folder.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[str] = []
    for path in [os.fspath(path) for path in given]:
        names = sorted(glob(path)) if has_magic(path) and not os.path.exists(path) else [path]
        if not names:
            raise FileNotFoundError(f"no file is like {path!r}; expected a pattern such as 'data/*.parquet'")
        found += names
    if not found:
        raise FileNotFoundError("no files are given; expected a path, a pattern, or a list of them")
    for path in found:
        if not os.path.isfile(path):
            why = "is a folder" if os.path.isdir(path) else "is not there"
            raise FileNotFoundError(f"{path!r} {why}; expected files that every rank can read")
    return found


def read_share(rank: Rank, key: Any, paths: Paths, format: str | None, columns: Columns, n: int | None) -> int:
    """Read a rank's share of the files, and keep its edges; how many vertices there are."""
    units = _units(rank.communicator, paths, format, columns)
    first, last = _own(rank.communicator, units)
    pieces = [_read(number, units[number], format, columns) for number in track(range(first, last), "parts of files")]
    _check_promises(rank.communicator, units, pieces)
    return settle(rank, key, pieces, n)


def _units(communicator: Communicator, paths: Paths, format: str | None, columns: Columns) -> list[Unit]:
    """What there is to read, in order: the first rank says which files, and each looks into some of them."""
    files = _allgather_json(communicator, list_files(paths) if communicator.rank == 0 else None)[0]
    formats = {path: io.format_of(path, format) for path in files}
    other = next((path for path in files if formats[path] not in io.TABLES), None)
    if other is not None and any(column is not None for column in columns):
        raise ValueError(f"src, dst and weight are of tables; {other} is read as {formats[other]!r}")
    own = [list(_divided(path, formats[path])) for path in files[communicator.rank :: communicator.size]]
    found = _allgather_json(communicator, own)
    units = [Unit(*u) for i in range(len(files)) for u in found[i % len(found)][i // len(found)]]
    return units


def _check_promises(communicator: Communicator, units: Sequence[Unit], pieces: Sequence[Piece]) -> None:
    """Each file has as many edges as it says."""
    own = [(units[piece.number].path, piece.promised, len(piece.src)) for piece in pieces if piece.promised]
    found: dict[str, int] = {}
    promised = {}
    for path, most, count in (one for said in _allgather_json(communicator, own) for one in said):
        found[path] = found.get(path, 0) + count
        promised[path] = most
    for path, most in promised.items():
        if found[path] < most:
            raise FormatError.of_count(Path(path), None, most, found[path])


def _allgather_json(communicator: Communicator, what: Any) -> list[Any]:
    """What each rank says, for all of them."""
    return [json.loads(bytes(x)) for x in communicator.allgather(np.frombuffer(json.dumps(what).encode(), np.uint8))]


def _divided(path: str, format: str) -> Iterator[Unit]:
    """A file, or its parts."""
    size = os.path.getsize(path)
    packed = Path(path).suffix.lower() in COMPRESSIONS
    if format == "parquet" and not packed:
        with _explain(path, 0):
            about = arrow("pyarrow.parquet").read_metadata(path)
        for group in range(about.num_row_groups):
            yield Unit(path, group, group + 1, about.row_group(group).total_byte_size)
    elif format == "edges" and not packed and size > 0:
        for start in range(0, size, RANGE):
            yield Unit(path, start, min(start + RANGE, size), min(RANGE, size - start))
    else:
        yield Unit(path, 0, -1, size)


def _own(communicator: Communicator, units: Sequence[Unit]) -> tuple[int, int]:
    """The units that a rank reads: by bytes about as much as others, and one after the other."""
    sizes = np.array([unit.size + 1 for unit in units], np.int64)
    middles = np.cumsum(sizes) - sizes / 2
    bounds = np.searchsorted(middles, np.arange(communicator.size + 1) * sizes.sum() / communicator.size)
    return int(bounds[communicator.rank]), int(bounds[communicator.rank + 1])


# --- one unit ---------------------------------------------------------------------------------------------------------


@contextmanager
def _explain(path: str, group: int) -> Iterator[None]:
    """What is wrong with the row group of a file, as an error of the file."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise FormatError(Path(path), None, f"row group {group}: {' '.join(str(error).split())}") from error


def _read(number: int, unit: Unit, format: str | None, columns: Columns) -> Piece:
    path = Path(unit.path)
    known = io.format_of(path, format)
    if known == "edges":
        with translate_errors(path):
            part = edge_lists.read_part(path, unit.start, None if unit.stop < 0 else unit.stop)
        return Piece(number, unit.path, *part)
    if unit.stop < 0:
        return _whole(number, path, known, columns)
    with _explain(unit.path, unit.start):
        file = arrow("pyarrow.parquet").ParquetFile(unit.path)
        titles = file.schema_arrow.names
        numbers = places_of_numbers(file.schema_arrow)
        chosen = [titles[place] for place in choose(titles, *columns, numbers) if place is not None]
        return of_table(number, unit.path, file.read_row_group(unit.start, columns=chosen).select(chosen))


def of_table(number: int, where: str, table: Any) -> Piece:
    """The edges in a table of pyarrow's: its columns are src, dst, and the weight if there is one."""
    weight = 2 if table.num_columns > 2 else None
    if table.num_rows == 0:
        kind = None if weight is None else np.dtype(table.schema.field(weight).type.to_pandas_dtype())
        return Piece(number, where, _NOTHING, _NOTHING, None if kind is None else np.zeros(0, kind))
    found = edges_of(table, 0, 1, weight, names=False)
    return Piece(number, where, found.src, found.dst, found.weights)


_NOTHING = np.zeros(0, np.int64)


def _whole(number: int, path: Path, format: str, columns: Columns) -> Piece:
    """A file that is read as in one process."""
    given = columns._asdict() | {"names": False} if format in io.TABLES else {}
    graph: Graph = as_graph(io.read(path, format, **given))
    src, dst = graph.edges()
    return Piece(number, str(path), src, dst, graph.values, graph.n)
