"""Parallel reading of files: each rank reads whole files, row groups of Parquet files, or byte ranges of edge lists."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gasla.distributed.communicator import Communicator, Rank, share_bytes
from gasla.distributed.loading.edge_numbering import Piece, number_edges
from gasla.graph import io
from gasla.graph.exchange.columns import Column, arrow, choose, edges_of, kinds_of
from gasla.graph.graph import Graph, as_graph
from gasla.graph.io import edges as edge_lists
from gasla.graph.io.files import COMPRESSIONS, FormatError, translate_errors
from gasla.progress import track

# An uncompressed edge list is divided into units of at most this many bytes, each of which one rank reads.
RANGE = 1 << 26

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Unit(NamedTuple):
    """A piece of a file that one rank reads.

    `start` and `stop` bound its row groups (of a Parquet file) or its bytes (of an edge list). If `stop` is -1, the
    piece is the whole file.
    """

    path: str
    start: int
    stop: int
    size: int  # approximate size in bytes


class Columns(NamedTuple):
    """The source, target and weight columns of tables, by name or position."""

    src: Column | None
    dst: Column | None
    weight: Column | None


def list_files(paths: Paths) -> list[str]:
    """Return the files that `paths`, paths and glob patterns, stand for. The files of a pattern are in the order of
    their names.

    Raise FileNotFoundError for missing files and for folders.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files: list[str] = []
    for path in [os.fspath(path) for path in given]:
        names = sorted(glob(path)) if has_magic(path) and not os.path.exists(path) else [path]
        if not names:
            raise FileNotFoundError(f"no file matches {path!r}; expected a pattern such as 'data/*.parquet'")
        files += names
    if not files:
        raise FileNotFoundError("paths is empty; expected a path, a pattern, or a list of them")
    for path in files:
        if not os.path.isfile(path):
            why = "is a folder" if os.path.isdir(path) else "does not exist"
            raise FileNotFoundError(f"{path!r} {why}; expected files that every rank can read")
    return files


def read_share(rank: Rank, key: Any, paths: Paths, format: str | None, columns: Columns, n: int | None) -> int:
    """Read this rank's part of some files, and store its edges on the rank (collective).

    Return the number of vertices of the whole graph.
    """
    units = _list_units(rank.communicator, paths, format, columns)
    first, last = _own(rank.communicator, units)
    pieces = [_read(number, units[number], format, columns) for number in track(range(first, last), "parts of files")]
    _check_counts(rank.communicator, units, pieces)
    return number_edges(rank, key, pieces, n)


def _list_units(communicator: Communicator, paths: Paths, format: str | None, columns: Columns) -> list[Unit]:
    """Return the units (pieces of files) that ranks read one by one, in the order of the input (collective).

    The first rank lists the files. Then each rank inspects some of them, to divide them.
    """
    files = _allgather_json(communicator, list_files(paths) if communicator.rank == 0 else None)[0]
    formats = {path: io.format_of(path, format) for path in files}
    other = next((path for path in files if formats[path] not in io.TABLES), None)
    if other is not None and any(column is not None for column in columns):
        raise ValueError(f"src, dst and weight are for tables; {other} is read as {formats[other]!r}")
    own = [list(_divide(path, formats[path])) for path in files[communicator.rank :: communicator.size]]
    of_ranks = _allgather_json(communicator, own)
    units = [Unit(*u) for i in range(len(files)) for u in of_ranks[i % len(of_ranks)][i // len(of_ranks)]]
    return units


def _check_counts(communicator: Communicator, units: Sequence[Unit], pieces: Sequence[Piece]) -> None:
    """Raise FormatError if a file has fewer edges than its header says (collective).

    `pieces` has the edges that this rank has read.
    """
    own = [(units[piece.number].path, piece.promised, len(piece.src)) for piece in pieces if piece.promised]
    counts: dict[str, int] = {}
    promised = {}
    for path, promised_count, count in (
        one for counts_of_rank in _allgather_json(communicator, own) for one in counts_of_rank
    ):
        counts[path] = counts.get(path, 0) + count
        promised[path] = promised_count
    for path, promised_count in promised.items():
        if counts[path] < promised_count:
            raise FormatError.of_count(Path(path), None, promised_count, counts[path])


def _allgather_json(communicator: Communicator, what: Any) -> list[Any]:
    """Send an object to all ranks as JSON, and return the objects of all ranks, in rank order (collective)."""
    return [json.loads(text) for text in share_bytes(communicator, json.dumps(what).encode())]


def _divide(path: str, format: str) -> Iterator[Unit]:
    """Yield the units into which a file is divided: row groups of Parquet, byte ranges of edge lists, or the whole
    file.
    """
    byte_count = os.path.getsize(path)
    packed = Path(path).suffix.lower() in COMPRESSIONS
    if format == "parquet" and not packed:
        with _explain(path, 0):
            about = arrow("pyarrow.parquet").read_metadata(path)
        for group in range(about.num_row_groups):
            yield Unit(path, group, group + 1, about.row_group(group).total_byte_size)
    elif format == "edges" and not packed and byte_count > 0:
        for start in range(0, byte_count, RANGE):
            yield Unit(path, start, min(start + RANGE, byte_count), min(RANGE, byte_count - start))
    else:
        yield Unit(path, 0, -1, byte_count)


def _own(communicator: Communicator, units: Sequence[Unit]) -> tuple[int, int]:
    """Return the range of units (pieces of files) that this rank reads: the first unit, and the one after the last.

    The ranges are chosen so that all ranks read about as many bytes.
    """
    sizes = np.array([unit.size + 1 for unit in units], np.int64)
    middles = np.cumsum(sizes) - sizes / 2
    bounds = np.searchsorted(middles, np.arange(communicator.size + 1) * sizes.sum() / communicator.size)
    return int(bounds[communicator.rank]), int(bounds[communicator.rank + 1])


# --- reading one unit: a whole file, a row group of a Parquet file, or a range of bytes of an edge list ---------------


@contextmanager
def _explain(path: str, group: int) -> Iterator[None]:
    """Return a context manager in which an error in reading a Parquet file becomes a FormatError that names the row
    group.
    """
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
        return Piece(number, unit.path, part.src, part.dst, part.weights, part.n, part.m)
    if unit.stop < 0:
        return _read_whole(number, path, known, columns)
    with _explain(unit.path, unit.start):
        file = arrow("pyarrow.parquet").ParquetFile(unit.path)
        titles = file.schema_arrow.names
        places = choose(titles, *columns, kinds_of(file.schema_arrow))
        chosen = [titles[place] for place in places if place is not None]
        return of_table(number, unit.path, file.read_row_group(unit.start, columns=chosen).select(chosen))


def of_table(number: int, where: str, table: Any) -> Piece:
    """Return the edges in a `pyarrow.Table` as a `Piece` of the input with this `number`.

    The table's columns are sources, targets and, optionally, weights. `where` names the file in error messages.
    """
    weight = 2 if table.num_columns > 2 else None
    if table.num_rows == 0:
        kind = None if weight is None else np.dtype(table.schema.field(weight).type.to_pandas_dtype())
        return Piece(number, where, _EMPTY, _EMPTY, None if kind is None else np.zeros(0, kind))
    edges = edges_of(table, 0, 1, weight, names=False)
    return Piece(number, where, edges.src, edges.dst, edges.weights)


_EMPTY = np.zeros(0, np.int64)


def _read_whole(number: int, path: Path, format: str, columns: Columns) -> Piece:
    """Read a whole file by `gasla.io.read`, and return its edges as a `Piece` of the input with this `number`."""
    given = columns._asdict() | {"names": False} if format in io.TABLES else {}
    graph: Graph = as_graph(io.read(path, format, **given))
    # In a file with vertex names, vertex i is the i-th distinct name. This differs from file to file, so ranks can't
    # combine such files, and they are refused.
    if graph.names is not None:
        hint = "gasla.io.read(path) keeps names, and distributed.Graph.from_graph takes its graph"
        raise FormatError(path, None, f"vertices have names, and ranks number no names: {hint}")
    src, dst = graph.edges()
    return Piece(number, str(path), src, dst, graph.values, graph.n)
