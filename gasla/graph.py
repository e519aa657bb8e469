"""The graph that every algorithm reads: out-edges, in-edges, edge values, and the one validator of all input.

``A[i, j]`` is the edge i -> j. Every stored entry is an edge: stored zeros and parallel edges stay, nothing is summed
or sorted. An edge's number is its position in the data of the matrix, or in the arrays, that the graph was made of.
Out-edges (rows, CSR) and in-edges (columns, CSC) are built when first asked for and kept; within a row or a column,
edges are in the order of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Array = np.ndarray[Any, Any]

_VALUE_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
_CHUNK = 1 << 20


class Adjacency:
    """Compressed neighbour lists: vertex v's are ``indices[indptr[v]:indptr[v + 1]]``.

    ``edge_ids[k]`` is the number (position in the input) of the edge at position k; ``None`` says that it is k itself.
    It may be given as a function, called when the ids are first read. Unpacks as ``indptr, indices, edge_ids``.
    """

    def __init__(self, indptr: Array, indices: Array, edge_ids: Array | Callable[[], Array] | None = None) -> None:
        self.indptr = indptr
        self.indices = indices
        self._edge_ids = edge_ids

    @property
    def edge_ids(self) -> Array | None:
        if callable(self._edge_ids):
            self._edge_ids = self._edge_ids()
        return self._edge_ids

    @property
    def in_input_order(self) -> bool:
        """Whether positions are edge numbers, so that ``edge_ids`` is None."""
        return self._edge_ids is None

    @cached_property
    def is_sorted(self) -> bool:
        """Whether every neighbour list ascends."""
        return _ascends_within(self.indptr, self.indices)

    def in_order(self) -> Adjacency:
        """The same lists, each in the order of the input; itself where it is so already."""
        if self.edge_ids is None or _ascends_within(self.indptr, self.edge_ids):
            return self
        rows = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        order = np.lexsort((self.edge_ids, rows))
        return Adjacency(self.indptr, self.indices[order], self.edge_ids[order])

    def __iter__(self) -> Iterator[Array | None]:
        return iter((self.indptr, self.indices, self.edge_ids))

    def arrays(self) -> list[Array]:
        """The arrays held now."""
        held = [self.indptr, self.indices]
        return [*held, self._edge_ids] if isinstance(self._edge_ids, np.ndarray) else held


class Graph:
    """A directed graph with numbered edges, from any SciPy sparse array or matrix.

    Nothing is copied where the input already is what is needed, and the caller's arrays are never written to. They are
    shared, so a graph shows what is later written into them; what is derived (``in_``, degrees, ...) does not follow.

    Parameters
    ----------
    A : sparse array, sparse matrix or Graph
        Square; ``A[i, j]`` is the edge i -> j, its value the edge's weight. COO, CSC and CSR number the edges as their
        data array does; other formats as their CSR form does.

    Attributes
    ----------
    n, m : int
        Number of vertices; number of edges (stored entries).
    values : ndarray or None
        One value an edge, in the order of the input.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> g = Graph(sp.csr_array([[0, 5, 2], [0, 0, 1], [0, 0, 0]]))
    >>> g
    Graph(n=3, m=3, values=int64)
    >>> g.out.indices, g.in_.indices
    (array([1, 2, 2], dtype=int32), array([0, 0, 1], dtype=int32))
    >>> g.in_values
    array([5, 2, 1])
    """

    n: int
    m: int
    values: Array | None
    _rows: Adjacency | None  # out-edges, where the input has them
    _columns: Adjacency | None  # in-edges, likewise
    _ends: tuple[Array, Array] | None  # sources and destinations, likewise

    def __init__(self, A: Any) -> None:
        if isinstance(A, Graph):
            self.__dict__.update(A.__dict__)
            return
        _require_sparse(A)
        _require_square(A.shape)
        n = int(A.shape[0])
        if A.format == "coo":
            self._set_edges(n, A.coords[0], A.coords[1], A.data)
        else:
            A = A if A.format in ("csr", "csc") else A.tocsr()
            indices, data, m = A.indices, A.data, int(A.indptr[-1])
            if len(indices) != m or len(data) != m:  # SciPy lets them run on past the last entry
                indices, data = indices[:m], data[:m]
            self._set_compressed(n, A.indptr, indices, data, by_column=A.format == "csc")

    @classmethod
    def from_edges(
        cls, src: ArrayLike, dst: ArrayLike, weights: ArrayLike | None = None, n: int | None = None
    ) -> Graph:
        """A graph of the edges ``src[e] -> dst[e]``, numbered in that order.

        Parameters
        ----------
        src, dst : array of integers
        weights : array, optional
            One value an edge.
        n : int, optional
            Number of vertices; by default one more than the largest id.

        Examples
        --------
        >>> Graph.from_edges([0, 1, 1], [1, 2, 2]).out_degrees
        array([1, 2, 0], dtype=int32)
        """
        src, dst = _ids("src", src), _ids("dst", dst)
        if n is None:
            n = 1 + max(int(src.max(initial=-1)), int(dst.max(initial=-1)))
        graph = cls.__new__(cls)
        graph._set_edges(_count(n), src, dst, weights)
        return graph

    @classmethod
    def from_csr(cls, indptr: ArrayLike, indices: ArrayLike, data: ArrayLike | None = None) -> Graph:
        """A graph of raw CSR arrays: the out-neighbours of v are ``indices[indptr[v]:indptr[v + 1]]``.

        Examples
        --------
        >>> Graph.from_csr([0, 2, 3, 3], [1, 2, 2])
        Graph(n=3, m=3, values=None)
        """
        indptr = _ids("indptr", indptr)
        if len(indptr) == 0:
            raise ValueError("indptr is empty; expected n + 1 offsets, which for a graph without vertices is [0]")
        graph = cls.__new__(cls)
        graph._set_compressed(len(indptr) - 1, indptr, _ids("indices", indices), data, by_column=False)
        return graph

    def _set_compressed(self, n: int, indptr: Array, indices: Array, data: Any, by_column: bool) -> None:
        self.n, self.m = n, len(indices)
        _check_offsets(indptr, n, self.m)
        _check_range("indices", indices, n)
        self.values = _values(data, self.m)
        adjacency = Adjacency(np.ascontiguousarray(indptr), np.ascontiguousarray(indices))
        self._rows, self._columns = (None, adjacency) if by_column else (adjacency, None)
        self._ends = None

    def _set_edges(self, n: int, src: Array, dst: Array, data: Any) -> None:
        if len(src) != len(dst):
            raise ValueError(f"src has {len(src)} entries and dst has {len(dst)}; expected as many of each")
        self.n, self.m = n, len(src)
        _check_range("src", src, n)
        _check_range("dst", dst, n)
        self.values = _values(data, self.m)
        src, dst = (np.ascontiguousarray(ids, dtype=self.id_dtype) for ids in (src, dst))
        self._rows = self._columns = self._ends = None
        if _ascends(src):
            self._rows = Adjacency(self._offsets(src), dst)
        elif _ascends(dst):
            self._columns = Adjacency(self._offsets(dst), src)
        else:
            self._ends = src, dst

    def _offsets(self, ascending: Array) -> Array:
        """Where each vertex's run starts in an ascending array of ids."""
        return np.searchsorted(ascending, np.arange(self.n + 1, dtype=ascending.dtype)).astype(self.offset_dtype)

    @property
    def id_dtype(self) -> np.dtype[Any]:
        """The type that vertex ids need: int32 where n fits, else int64. int64 arrays given stay as they are."""
        return np.dtype(np.int32 if self.n < 2**31 else np.int64)

    @property
    def offset_dtype(self) -> np.dtype[Any]:
        """The type that edge numbers need: int32 where m fits, else int64."""
        return np.dtype(np.int32 if self.m < 2**31 else np.int64)

    @cached_property
    def out(self) -> Adjacency:
        """Out-edges: the rows of the matrix."""
        if self._rows is not None:
            return self._rows
        if self._columns is not None:
            return self._reversed(self._columns)
        assert self._ends is not None
        src, dst = self._ends
        return _group(src, dst, self.n)

    @cached_property
    def in_(self) -> Adjacency:
        """In-edges: the columns of the matrix. Shares the arrays of `out` where they are the same."""
        if self._columns is not None:
            return self._columns
        if self._rows is not None:
            return self._reversed(self._rows)
        assert self._ends is not None
        src, dst = self._ends
        return _group(dst, src, self.n)

    @cached_property
    def both(self) -> Adjacency:
        """Every edge seen from both its ends, each list in the order of the input; twice the entries of `out`."""
        ends = np.stack(self._edges(), axis=1)  # one edge after the other, each with its two ends
        lists = _group(ends.ravel(), ends[:, ::-1].ravel(), self.n)
        return Adjacency(lists.indptr, lists.indices, _edge_ids(lists) // 2)

    def _edges(self) -> tuple[Array, Array]:
        """Sources and destinations in the order of the input."""
        if self._ends is not None:
            return self._ends
        lists = self._rows or self._columns
        assert lists is not None
        owners = np.repeat(np.arange(self.n, dtype=lists.indices.dtype), np.diff(lists.indptr))
        return (owners, lists.indices) if self._rows is not None else (lists.indices, owners)

    def _reversed(self, given: Adjacency) -> Adjacency:
        """`given` turned round; a symmetric pattern with sorted lists is its own reverse, edge numbers apart."""
        if given.is_sorted and self.is_symmetric:
            return Adjacency(given.indptr, given.indices, partial(_reversed_ids, given))
        return _turned(given)

    @cached_property
    def sorted_out(self) -> Adjacency:
        """Out-edges with every row ascending; parallel edges in the order of the input. `out` itself where it is so."""
        return self.out if self.out.is_sorted else _transpose(self.in_)

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether j -> i is stored as often as i -> j, for all i and j; values aside."""
        from gasla.cpu import symmetry

        lists = self._rows or self._columns or self.out
        return symmetry.is_symmetric(lists.indptr, lists.indices)

    @cached_property
    def has_symmetric_values(self) -> bool:
        """Whether the edges i -> j and j -> i carry the same values too (parallel edges: in the order of the input)."""
        if not self.is_symmetric or self.values is None:
            return self.is_symmetric
        from gasla.cpu import symmetry

        lists = self._rows or self._columns or self.out
        lists = lists if lists.is_sorted else self.sorted_out
        return symmetry.is_symmetric(lists.indptr, lists.indices, _permuted(self.values, lists))

    @cached_property
    def out_values(self) -> Array | None:
        """Values in the order of `out`; `values` itself where that is the order of the input."""
        return _permuted(self.values, self.out)

    @cached_property
    def in_values(self) -> Array | None:
        """Values in the order of `in_`; the array of `out_values` where the two are the same."""
        if self.in_.indices is self.out.indices and self.has_symmetric_values:
            return self.out_values
        return _permuted(self.values, self.in_)

    @cached_property
    def out_edge_ids(self) -> Array:
        """The edge number of every position of `out`."""
        return _edge_ids(self.out)

    @cached_property
    def in_edge_ids(self) -> Array:
        """The edge number of every position of `in_`."""
        return _edge_ids(self.in_)

    @cached_property
    def out_degrees(self) -> Array:
        """Number of out-edges of every vertex."""
        return self._degrees(self._rows, "out", self._columns)

    @cached_property
    def in_degrees(self) -> Array:
        """Number of in-edges of every vertex."""
        return self._degrees(self._columns, "in_", self._rows)

    def _degrees(self, given: Adjacency | None, name: str, other: Adjacency | None) -> Array:
        """Lengths of the lists, where they exist; else a count of ids, which is far cheaper than building them."""
        lists = given or self.__dict__.get(name)
        if lists is not None:
            return np.diff(lists.indptr).astype(self.offset_dtype, copy=False)
        if other is not None:
            ids = other.indices
        else:
            assert self._ends is not None
            ids = self._ends[0 if name == "out" else 1]
        return _count_ids(ids, self.n).astype(self.offset_dtype)

    @cached_property
    def has_self_loops(self) -> bool:
        """Whether any edge leads from a vertex to itself."""
        if self._ends is not None:
            return bool(np.any(self._ends[0] == self._ends[1]))
        lists = self._rows or self._columns
        assert lists is not None
        return any(
            bool(np.any(np.repeat(np.arange(a, b), np.diff(lists.indptr[a : b + 1])) == lists.indices[s:e]))
            for a, b, s, e in _row_blocks(lists.indptr)
        )

    @cached_property
    def has_parallel_edges(self) -> bool:
        """Whether any edge is stored more than once."""
        lists = self._rows or self._columns or self.out
        if not lists.is_sorted:
            lists = self.sorted_out
        return not _ascends_within(lists.indptr, lists.indices, strictly=True)

    @property
    def nbytes(self) -> int:
        """Bytes held now, the caller's own arrays included; it grows as more is asked of the graph."""
        held: list[Array] = []
        for part in self.__dict__.values():
            if isinstance(part, Adjacency):
                held += part.arrays()
            elif isinstance(part, tuple):
                held += part
            elif isinstance(part, np.ndarray):
                held.append(part)
        return sum({(array.ctypes.data, array.nbytes): array.nbytes for array in held}.values())

    def __repr__(self) -> str:
        return f"Graph(n={self.n}, m={self.m}, values={None if self.values is None else self.values.dtype})"


def as_graph(x: Any) -> Graph:
    """`x` itself if it is a Graph, else a Graph of it: what every algorithm calls first.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> g = as_graph(sp.eye_array(3))
    >>> as_graph(g) is g
    True
    """
    return x if isinstance(x, Graph) else Graph(x)


# --- the validator ---------------------------------------------------------------------------------------------------


def _require_sparse(A: Any) -> None:
    from scipy.sparse import issparse

    if issparse(A):
        return
    if isinstance(A, np.ndarray):
        remedy = "for a dense matrix pass scipy.sparse.csr_array(A), for an array of edges Graph.from_edges(src, dst)"
    elif type(A).__module__.partition(".")[0] == "networkx":
        remedy = "pass networkx.to_scipy_sparse_array(G)"
    else:
        remedy = "or use Graph.from_edges(src, dst) or Graph.from_csr(indptr, indices)"
    raise TypeError(f"got {type(A).__name__}; expected a SciPy sparse array or matrix, or a gasla.Graph; {remedy}")


def _require_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"the matrix has shape {tuple(map(int, shape))}; expected (n, n), one row and column a vertex")


def _count(n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ValueError(f"n is {n!r}; expected a number of vertices, 0 or more")
    return int(n)


def _ids(name: str, x: ArrayLike) -> Array:
    """A one-dimensional int32 or int64 array of `x`: `x` itself where it is one."""
    ids = np.asarray(x)
    if ids.ndim != 1:
        raise ValueError(f"{name} has shape {ids.shape}; expected one dimension")
    if ids.size == 0 and not isinstance(x, np.ndarray):
        return ids.astype(np.int32)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"{name} has type {ids.dtype}; expected integers; convert with .astype(np.int64)")
    if ids.dtype in (np.int32, np.int64):  # native byte order only
        return ids
    if ids.dtype.kind == "u" and ids.dtype.itemsize == 8 and ids.size and int(ids.max()) >= 2**63:
        raise ValueError(f"{name} holds {int(ids.max())}, which does not fit int64")
    return ids.astype(np.int64 if ids.dtype.itemsize == 8 or ids.dtype == np.uint32 else np.int32)


def _values(data: Any, m: int) -> Array | None:
    """Edge values as a native contiguous array: `data` itself where it is one."""
    if data is None:
        return None
    values = np.asarray(data)
    if values.dtype.kind == "c":
        raise TypeError(f"edge values are complex ({values.dtype}); expected real numbers; pass abs(A) or A.real")
    native = values.dtype.newbyteorder("=")
    if native.name not in _VALUE_TYPES:
        raise TypeError(
            f"edge values have type {values.dtype}; expected one of {', '.join(_VALUE_TYPES)}; "
            "convert with .astype(np.float64)"
        )
    if values.shape != (m,):
        raise ValueError(f"there are {m} edges and values of shape {values.shape}; expected ({m},), one value an edge")
    return np.ascontiguousarray(values if values.dtype.isnative else values.astype(native))


def _check_offsets(indptr: Array, n: int, m: int) -> None:
    if len(indptr) != n + 1:
        raise ValueError(f"indptr has {len(indptr)} entries for {n} vertices; expected {n + 1}")
    if indptr[0] != 0:
        raise ValueError(f"indptr starts at {indptr[0]}; expected 0")
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        v = int(falls.argmax())
        raise ValueError(f"indptr falls from {indptr[v]} to {indptr[v + 1]} at vertex {v}; expected ascending offsets")
    if indptr[-1] != m:
        raise ValueError(f"indptr ends at {indptr[-1]} and there are {m} indices; expected the same number")


def _check_range(name: str, ids: Array, n: int) -> None:
    if len(ids) == 0:
        return
    smallest, largest = int(ids.min()), int(ids.max())
    if smallest < 0 or largest >= n:
        bad = smallest if smallest < 0 else largest
        where = int(np.argmax(ids == bad))
        raise ValueError(f"{name}[{where}] is {bad}, outside a graph of {n} vertices; expected 0 to {n - 1}")


# --- neighbour lists -------------------------------------------------------------------------------------------------


def _group(keys: Array, others: Array, n: int) -> Adjacency:
    """Lists of `others` by key, each in the order of the input."""
    from scipy.sparse import coo_array

    m = len(keys)
    coo = coo_array((np.arange(m, dtype=_offset_dtype(m)), (keys, others)), shape=(n, n))
    coo.has_canonical_format = True  # keeps tocsr from summing parallel edges
    csr = coo.tocsr()
    return Adjacency(csr.indptr, csr.indices, csr.data)


def _transpose(lists: Adjacency) -> Adjacency:
    """The lists turned round, ids ascending in each (stable); edge numbers go along."""
    from scipy.sparse import csr_array

    n = len(lists.indptr) - 1
    csc = csr_array((_edge_ids(lists), lists.indices, lists.indptr), shape=(n, n)).tocsc()
    return Adjacency(csc.indptr, csc.indices.astype(lists.indices.dtype, copy=False), csc.data)


def _turned(lists: Adjacency) -> Adjacency:
    """The same, edge numbers left until they are asked for: a search over in-edges never does."""
    from scipy.sparse import csr_array

    n, m = len(lists.indptr) - 1, len(lists.indices)
    csc = csr_array((np.zeros(m, np.int8), lists.indices, lists.indptr), shape=(n, n)).tocsc()
    indices = csc.indices.astype(lists.indices.dtype, copy=False)
    return Adjacency(csc.indptr, indices, partial(_reversed_ids, lists))


def _reversed_ids(lists: Adjacency) -> Array:
    """Edge numbers in the order of the lists turned round."""
    return _edge_ids(_transpose(lists))


def _edge_ids(lists: Adjacency) -> Array:
    m = len(lists.indices)
    return np.arange(m, dtype=_offset_dtype(m)) if lists.edge_ids is None else lists.edge_ids


def _offset_dtype(m: int) -> type[np.signedinteger[Any]]:
    return np.int32 if m < 2**31 else np.int64


def _permuted(values: Array | None, lists: Adjacency) -> Array | None:
    return values if values is None or lists.edge_ids is None else values[lists.edge_ids]


def _ascends(ids: Array) -> bool:
    return not np.any(ids[1:] < ids[:-1])


def _ascends_within(indptr: Array, indices: Array, strictly: bool = False) -> bool:
    """Whether every list ascends: a fall is allowed only where a new list starts."""
    last = len(indices) - 1
    for start in range(0, last, _CHUNK):  # in pieces: a flag for every edge at once would outweigh a search's arrays
        stop = min(start + _CHUNK, last)
        fall = np.less_equal if strictly else np.less
        falls = np.flatnonzero(fall(indices[start + 1 : stop + 1], indices[start:stop])) + start + 1
        if not np.array_equal(indptr[np.searchsorted(indptr, falls)], falls):
            return False
    return True


def _count_ids(ids: Array, n: int) -> Array:
    """np.bincount in pieces: it would otherwise convert all ids to int64 at once."""
    step = max(_CHUNK, n)
    counts = np.zeros(n, np.int64)
    for start in range(0, len(ids), step):
        counts += np.bincount(ids[start : start + step], minlength=n)
    return counts


def _row_blocks(indptr: Array) -> Iterator[tuple[int, int, int, int]]:
    """Cuts the lists into blocks of about _CHUNK entries: first and last vertex, first and last position."""
    cuts = np.searchsorted(indptr, np.arange(0, int(indptr[-1]), _CHUNK), side="right") - 1
    bounds = np.unique(np.append(cuts, len(indptr) - 1)) if len(cuts) else np.zeros(0, np.int64)
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist()):
        yield a, b, int(indptr[a]), int(indptr[b])
