"""Writing of a graph as a folder (see `folder`) in bounded memory, by an external sort of its edges.

The edges arrive in parts and are spooled to disk while degrees are counted. Two passes follow, each of which
distributes edges among buckets of consecutive vertices and then sorts one bucket at a time in memory: by source, which
gives the rows, and by target, which gives the columns. Besides a bucket, memory holds two counts per vertex.
Attributes of edges are sorted with the rows.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from gasla.arrays import index_dtype
from gasla.graph.adjacency import Array
from gasla.graph.dates import TimeColumn, TimeType
from gasla.graph.graph import Graph
from gasla.graph.io.files import BLOCK, Part, WeightType, rows_of
from gasla.graph.io.folder import DESCRIPTION, Description, about_attributes, describe, write_attributes
from gasla.graph.memory_limit import available
from gasla.graph.validate import require_vertices
from gasla.output import placing_folder
from gasla.progress import follow

# bytes of memory that sorting takes for each edge, besides two copies of the edge's attributes
PER_EDGE = 64
MOST_BUCKETS = 256  # maximum number of buckets; each is an open file, and a process may open only so many files

Types = dict[str, np.dtype[Any]]
# sources and targets of some edges (or targets and sources), and their weights and attributes by name
Block = tuple[Array, Array, dict[str, Array]]


def write_folder(path: Path, parts: Iterable[Part], memory: int, graph: Graph | None = None) -> Description:
    """Write a graph as a folder, from edges that arrive in parts.

    Parameters
    ----------
    path : Path
        An existing folder is replaced once the new one is complete.
    parts : iterable of Part
        Either all with weights or all without.
    memory : int
        Bytes that sorting may take, besides 16 per vertex.
    graph : Graph, optional
        The graph that the parts are of, for its names and attributes.
    """
    with _advice_on_full_disks(path), placing_folder(path, DESCRIPTION) as folder:
        with closing(_Spool(folder)) as spool:
            for part in parts:
                spool.append(part)
        description = _sort_edges(folder, spool, memory)
        attributes = about_attributes("edge", spool.attributes, spool.time_types)
        attributes = attributes if graph is None else write_attributes(folder, graph)
        describe(folder, description, None if graph is None else graph.naming, attributes)
    return description


@contextmanager
def _advice_on_full_disks(path: Path) -> Iterator[None]:
    """Extend the error that a full disk raises by advice: how much space is needed, and in which folder."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            error.strerror = (
                f"{error.strerror}; writing a folder takes up to 50 bytes per edge, and twice the attributes, next to "
                "it: choose a folder on a larger disk; nothing is left of this one"
            )
        raise


def parts_of(graph: Graph) -> Iterator[Part]:
    """Yield the edges of a graph in parts, in the order in which the edges were passed when the graph was made."""
    lists = graph.lists.rows or graph.lists.columns
    # A graph without edges yields one empty part, which holds the number of vertices.
    for start in range(0, max(graph.m, 1), BLOCK):
        part = slice(start, min(start + BLOCK, graph.m))
        if lists is None:
            src, dst = (ends[part] for ends in graph.edges())
        else:
            owners, neighbors = rows_of(lists.indptr, part.start, part.stop), lists.indices[part]
            src, dst = (owners, neighbors) if lists is graph.lists.rows else (neighbors, owners)
        yield Part(src, dst, None if graph.values is None else graph.values[part], graph.n)


class _Spool:
    """Temporary files that store the edges of a graph in the order in which they arrive, before they are sorted.

    While edges are appended, the spool counts the degrees of vertices, and finds out the number of vertices, the dtype
    of weights and whether there are self loops.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.m, self.n = folder, 0, 0
        self.has_loops = False
        self._degrees = np.zeros(0, np.int64)
        # For each part that has weights: the number of edges stored up to the end of the part, and the dtype of its
        # weights. Parts of a file may have weights of different dtypes.
        self._kinds: list[tuple[int, np.dtype[Any]]] = []
        self._weight_type = WeightType()
        self._files = {name: _create(folder / f"spool-{name}") for name in ("src", "dst", "weights")}
        self._of_attributes: dict[str, IO[bytes]] = {}
        self._types: dict[str, np.dtype[Any]] = {}  # dtypes of the attributes, by name
        self.time_types: dict[str, TimeType] = {}

    def append(self, part: Part) -> None:
        ends = [part.src.astype(np.int64, copy=False), part.dst.astype(np.int64, copy=False)]
        for file, array in zip(self._files.values(), [*ends, part.weights]):
            if array is not None:
                _write(file, array)
        for i, (name, column) in enumerate(part.attributes.items()):
            if isinstance(column, TimeColumn):
                self.time_types[name], column = column.type, column.numbers
            if self.m == 0:
                self._of_attributes[name] = _create(self.folder / f"spool-attribute-{i}")
                self._types[name] = column.dtype
            _write(self._of_attributes[name], column)
        self.m += len(part.src)
        self.n = max(self.n, part.n, *(1 + int(ids.max(initial=-1)) for ids in ends))
        require_vertices(self.n)
        self.has_loops = self.has_loops or bool((ends[0] == ends[1]).any())
        # If the array is too short, its length doubles, so that growing takes linear time in total.
        if len(self._degrees) < self.n:
            grown = np.zeros(max(self.n, 2 * len(self._degrees)), np.int64)
            grown[: len(self._degrees)] = self._degrees
            self._degrees = grown
        np.add.at(self._degrees, ends[0], 1)
        if part.weights is not None:
            self._kinds.append((self.m, part.weights.dtype))
            self._weight_type.see(part.weights)

    def close(self) -> None:
        _close([*self._files.values(), *self._of_attributes.values()])

    @property
    def degrees(self) -> Array:
        """The number of edges out of each vertex."""
        return self._degrees[: self.n]

    @property
    def kind(self) -> np.dtype[Any] | None:
        """The dtype that holds the weights of all parts, or None if there are no weights."""
        return self._weight_type.dtype

    @property
    def attributes(self) -> list[str]:
        """The names of the edge attributes."""
        return [*self._types]

    @property
    def types(self) -> Types:
        """The dtypes of the weights and of the attributes, by the names of their columns."""
        kind = {} if self.kind is None else {"values": self.kind}
        return kind | {f"attribute-{i}": kind for i, kind in enumerate(self._types.values())}

    def blocks(self) -> Iterator[Block]:
        """Yield all edges in blocks of sources, targets, weights and attributes, then delete the temporary files."""
        paths = [self.folder / f"spool-{name}" for name in self._files]
        paths += [self.folder / f"spool-attribute-{i}" for i in range(len(self._types))]
        kind, types, offset = self.kind, [*self._types.values()], 0
        with ExitStack() as stack:
            src, dst, weights, *attribute_files = (stack.enter_context(open(path, "rb")) for path in paths)
            ends = self._kinds if kind is not None else [(self.m, np.dtype(np.int64))]
            for end, stored in ends:
                for start in range(offset, end, BLOCK):
                    count = min(BLOCK, end - start)
                    read = (_read(file, count, kind) for file, kind in zip(attribute_files, types))
                    columns = {f"attribute-{i}": column for i, column in enumerate(read)}
                    if kind is not None:
                        columns["values"] = _read(weights, count, stored).astype(kind, copy=False)
                    yield _read(src, count, np.dtype(np.int64)), _read(dst, count, np.dtype(np.int64)), columns
                offset = end
        for path in paths:
            path.unlink()


class _Buckets:
    """Temporary files among which edges are distributed by source or target. Each can be sorted in memory."""

    def __init__(self, folder: Path, name: str, degrees: Array, types: Types, memory: int) -> None:
        """Divide the vertices into ranges whose edges can be sorted in `memory` bytes. Each range becomes a bucket.

        Only a single vertex with very many edges can make a bucket larger than that.
        """
        sums = np.cumsum(degrees)
        m = int(sums[-1]) if len(sums) else 0
        bytes_per_edge = PER_EDGE + 2 * sum(kind.itemsize for name, kind in types.items() if name != "values")
        count = min(MOST_BUCKETS, 1 + m * bytes_per_edge // memory)
        cuts = np.searchsorted(sums, np.arange(1, count) * m // count, side="left") + 1
        self.bounds = np.unique(np.concatenate([[0], np.minimum(cuts, len(degrees)), [len(degrees)]]))
        self.sums = sums
        self._paths = [folder / f"{name}-{i}" for i in range(len(self.bounds) - 1)]
        ids = index_dtype(len(degrees))
        self._record = np.dtype([("own", ids), ("other", ids), *types.items()])

    def fill(self, blocks: Iterable[Block]) -> None:
        """Write each edge to the bucket of its source (or target). Within a bucket edges keep their order."""
        with ExitStack() as stack:
            files = [stack.enter_context(_create(path)) for path in self._paths]
            for own, other, columns in blocks:
                bucket = np.searchsorted(self.bounds, own, side="right") - 1
                order = np.argsort(bucket, kind="stable")
                ends = np.searchsorted(bucket[order], np.arange(len(files) + 1))
                packed = np.empty(len(own), self._record)
                packed["own"], packed["other"] = own[order], other[order]
                for name, column in columns.items():
                    packed[name] = column[order]
                for file, first, last in zip(files, ends[:-1], ends[1:]):
                    _write(file, packed[first:last])

    def each(self) -> Iterator[Array]:
        """Yield the edges of one bucket after the other as a structured array, and delete the bucket's file."""
        for path in self._paths:
            edges = np.fromfile(path, self._record)
            path.unlink()
            yield edges


def _sort_edges(folder: Path, spool: _Spool, memory: int) -> Description:
    """Write the adjacency lists by rows and by columns to files, and return the properties of the graph."""
    n, m, weight_dtype, types = spool.n, spool.m, spool.kind, spool.types
    buckets = _Buckets(folder, "by-source", spool.degrees, types, memory)
    buckets.fill(_count_progress(spool.blocks(), m, "edges distributed by source"))
    in_degrees = np.zeros(n, np.int64)
    has_parallel_edges = False
    with _Lists(folder, "rows", buckets.sums, n, m, types) as rows:
        for edges in buckets.each():
            edges = edges[np.lexsort((edges["other"], edges["own"]))]
            is_parallel = (edges["own"][1:] == edges["own"][:-1]) & (edges["other"][1:] == edges["other"][:-1])
            has_parallel_edges = has_parallel_edges or bool(is_parallel.any())
            np.add.at(in_degrees, edges["other"], 1)
            rows.append(edges)
    types = {} if weight_dtype is None else {"values": weight_dtype}
    buckets = _Buckets(folder, "by-target", in_degrees, types, memory)
    buckets.fill(_count_progress(_edges_by_rows(folder, m, weight_dtype is not None), m, "edges distributed by target"))
    with _Lists(folder, "columns", buckets.sums, n, m, types) as columns:
        for edges in buckets.each():
            # The edges of a bucket come by ascending source. A stable sort by target keeps that order among edges to
            # one target, so the sources of each column ascend.
            columns.append(edges[np.argsort(edges["own"], kind="stable")])
    is_symmetric = all(_are_equal(folder, name) for name in ("offsets", "ids"))
    is_mirrored = is_symmetric and not has_parallel_edges and (weight_dtype is None or _are_equal(folder, "values"))
    for name in ("offsets", "ids", "values"):
        if (is_symmetric and name != "values") or (name == "values" and is_mirrored):
            (folder / f"columns-{name}.npy").unlink(missing_ok=True)
    return Description(n, m, weight_dtype is not None, spool.has_loops, has_parallel_edges, is_symmetric, is_mirrored)


class _Lists:
    """Files of adjacency lists (offsets, ids, weights and attributes), written in the order of their vertices."""

    def __init__(self, folder: Path, name: str, sums: Array, n: int, m: int, types: Types) -> None:
        offsets = np.zeros(n + 1, index_dtype(m))
        offsets[1:] = sums
        with _create(folder / f"{name}-offsets.npy") as file:
            _write_header(file, n + 1, offsets.dtype)
            _write(file, offsets)
        self._ids = _create(folder / f"{name}-ids.npy")
        _write_header(self._ids, m, index_dtype(n))
        self._columns: dict[str, IO[bytes]] = {}
        for title, kind in types.items():
            stem = f"{name}-values" if title == "values" else f"edge-{title}-values"
            self._columns[title] = _create(folder / f"{stem}.npy")
            _write_header(self._columns[title], m, kind)

    def append(self, edges: Array) -> None:
        _write(self._ids, edges["other"])
        for title, file in self._columns.items():
            _write(file, edges[title])

    def __enter__(self) -> _Lists:
        return self

    def __exit__(self, *_: object) -> None:
        _close([self._ids, *self._columns.values()])


def _edges_by_rows(folder: Path, m: int, has_values: bool) -> Iterator[Block]:
    """Yield the targets, sources and weights of all edges in blocks, read from the files of edges by rows."""
    offsets, ids = (np.load(folder / f"rows-{name}.npy", mmap_mode="r") for name in ("offsets", "ids"))
    values = np.load(folder / "rows-values.npy", mmap_mode="r") if has_values else None
    for start in range(0, m, BLOCK):
        stop = min(start + BLOCK, m)
        src = rows_of(offsets, start, stop)
        yield np.asarray(ids[start:stop]), src, {} if values is None else {"values": np.asarray(values[start:stop])}


def _are_equal(folder: Path, name: str) -> bool:
    """Return whether the file of an array in the adjacency lists by rows has the same bytes as that by columns."""
    with (
        open(folder / f"rows-{name}.npy", "rb") as rows_file,
        open(folder / f"columns-{name}.npy", "rb") as columns_file,
    ):
        while True:
            row_bytes, column_bytes = rows_file.read(BLOCK), columns_file.read(BLOCK)
            if row_bytes != column_bytes:
                return False
            if not row_bytes:
                return True


def _count_progress(blocks: Iterable[Block], m: int, unit: str) -> Iterator[Block]:
    """Yield the blocks unchanged, and report the number of edges so far to the progress bar, if one is open."""
    done = 0
    follow(lambda: (done, m), unit)
    for block in blocks:
        yield block
        done += len(block[0])


def _close(files: list[IO[bytes]]) -> None:
    """Close all files, even if closing one of them fails because the disk has no space for its last bytes."""
    with ExitStack() as stack:
        for file in files:
            stack.enter_context(file)


def _create(path: Path) -> IO[bytes]:
    return open(path, "xb")


def _write(file: IO[bytes], array: Array) -> None:
    """Write the bytes of an array through Python's file object, which raises an error if the disk is full."""
    file.write(np.ascontiguousarray(array).view(np.uint8).data)


def _write_header(file: IO[bytes], length: int, dtype: np.dtype[Any]) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, header)


def _read(file: IO[bytes], count: int, dtype: np.dtype[Any]) -> Array:
    return np.frombuffer(file.read(count * dtype.itemsize), dtype)


def default_memory() -> int:
    """Return how many bytes sorting may take by default: an eighth of the available memory, and at most 1 GiB."""
    return min(1 << 30, (available("cpu") or 1 << 31) // 8)
