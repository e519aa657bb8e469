"""The graph that every algorithm reads: out-edges, in-edges, edge values.

``A[i, j]`` is the edge i -> j. Every stored entry is an edge: stored zeros and parallel edges stay, nothing is summed
or sorted. An edge's number is its position in the data of the matrix, or in the arrays, that the graph was made of.
Out-edges (rows, CSR) and in-edges (columns, CSC) are built when first asked for and kept; within a row or a column,
edges are in the order of the input.

A graph's arrays are NumPy's, or CuPy's if what it was made of is on the GPU. What follows here holds for both.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gasla.arrays import Device, array_module, checksum, finish, moved, with_bits_of_numbers, words_of
from gasla.graph.adjacency import Adjacency, Array, lists_on
from gasla.graph.derive.pairing import Pairing
from gasla.graph.exchange.exchanging import Exchanging
from gasla.graph.structure import ascends, lasting
from gasla.graph.validate import (
    as_coordinates,
    as_csr,
    as_ids,
    as_values,
    check_offsets,
    check_range,
    range_of,
    require_sparse,
    require_square,
    require_vertices,
    same_device,
    vertex_count,
)
from semirings import Monoid

__all__ = ["Adjacency", "Graph", "as_graph"]

T = TypeVar("T")


def _of_values(make: Callable[[Graph], T]) -> cached_property[T]:
    """`lasting` for what follows from the values, which may be written to: what they are now is noted before."""

    @wraps(make)
    def made(graph: Graph) -> T:
        graph._note_values()
        return make(graph)

    return lasting(made)


_FROM_VALUES = ("value_range", "has_symmetric_values", "has_mirrored_values", "out_values", "in_values")


class Graph(Pairing, Exchanging):
    """A directed graph with numbered edges, from any SciPy or CuPy sparse array or matrix.

    Nothing is copied where the input already is what is needed, and the caller's arrays are never written to. They are
    shared. Ids and offsets are checked once, when the graph is made, and must not be written to afterwards. Values may
    be: ``values`` shows what is written into the caller's array, and on the CPU algorithms that read weights, and runs
    of programs that do, look in each call whether a checksum of them is still the same, and derive anew what follows
    from them (``in_values``, ``value_range``, ...) if it isn't. Products don't look, nor does anything on a GPU; only
    for weights that it can't take an algorithm looks in each call there, too. The sure and quick way to other values is
    `with_values`.

    Parameters
    ----------
    A : sparse array, sparse matrix or Graph
        Square; ``A[i, j]`` is the edge i -> j, its value the edge's weight. COO, CSC and CSR number the edges as their
        data array does; other formats as their CSR form does. From those of ``cupyx.scipy.sparse`` comes a graph on
        the GPU.

    Attributes
    ----------
    n, m : int
        Number of vertices; number of edges (stored entries).
    values : ndarray or None
        One value an edge, in the order of the input.
    device : "cpu" or "gpu"
        Where its arrays are: NumPy's or CuPy's.
    origin : Origin or None
        Of a graph made of another one (`contract`, `subgraph`, …): where its vertices and edges came from.

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

    values: Array | None
    _known: dict[Hashable, Any]  # see `kept`
    _copy: Graph | None = None  # on the other device
    _noted: tuple[bytes, bytes] | None = None  # the values, when something was last derived of them: their checksum
    _original: Callable[[], Graph | None] = staticmethod(lambda: None)  # what this is a copy of; a weak reference

    def __new__(cls, *_: Any) -> Graph:
        graph = super().__new__(cls)
        graph._known = {}
        return graph

    def __init__(self, A: Any) -> None:
        if isinstance(A, Graph):
            self.__dict__.update(A.__dict__)
            return
        require_sparse(A)
        require_square(A.shape)
        n = int(A.shape[0])
        if A.format == "coo":
            self._set_edges(n, *as_coordinates(A), A.data)
        else:
            A = A if A.format in ("csr", "csc") else as_csr(A)
            indptr, indices, data = as_ids("indptr", A.indptr), as_ids("indices", A.indices), A.data
            m = int(indptr[-1]) if len(indptr) else 0
            if len(indices) != m or len(data) != m:  # SciPy lets them run on past the last entry
                indices, data = indices[:m], data[:m]
            self._set_compressed(n, indptr, indices, data, by_column=A.format == "csc")

    @classmethod
    def from_edges(
        cls,
        src: ArrayLike,
        dst: ArrayLike,
        weights: ArrayLike | None = None,
        n: int | None = None,
        combine: Monoid | None = None,
    ) -> Graph:
        """A graph of the edges ``src[e] -> dst[e]``, numbered in that order.

        Parameters
        ----------
        src, dst : array of integers
            NumPy's (or what becomes one), or CuPy's for a graph on the GPU.
        weights : array, optional
            One value an edge.
        n : int, optional
            Number of vertices; by default one more than the largest id.
        combine : semirings.Monoid, optional
            Makes one edge of all from i to j, whose values come to that: ``from_edges(...).simple(combine,
            loops=True)``, which says more. Edges are then numbered by rows. By default all stay as they are.

        Raises
        ------
        MemoryError
            If so many vertices ask for more memory than there is; the message has both numbers.

        Examples
        --------
        >>> Graph.from_edges([0, 1, 1], [1, 2, 2]).out_degrees
        array([1, 2, 0], dtype=int32)
        >>> import semirings
        >>> Graph.from_edges([1, 0, 1], [2, 1, 2], [5, 3, 4], combine=semirings.plus).values
        array([3, 9])
        """
        src, dst = as_ids("src", src), as_ids("dst", dst)
        if n is None:
            n = 1 + max((int(ids.max()) for ids in (src, dst) if len(ids)), default=-1)
        graph = cls.__new__(cls)
        graph._set_edges(vertex_count(n), src, dst, weights)
        return graph if combine is None else graph.simple(combine, loops=True)

    @classmethod
    def from_csr(cls, indptr: ArrayLike, indices: ArrayLike, data: ArrayLike | None = None) -> Graph:
        """A graph of raw CSR arrays: the out-neighbours of v are ``indices[indptr[v]:indptr[v + 1]]``.

        Examples
        --------
        >>> Graph.from_csr([0, 2, 3, 3], [1, 2, 2])
        Graph(n=3, m=3, values=None)
        """
        indptr = as_ids("indptr", indptr)
        if len(indptr) == 0:
            raise ValueError("indptr is empty; expected n + 1 offsets, which for a graph without vertices is [0]")
        graph = cls.__new__(cls)
        graph._set_compressed(len(indptr) - 1, indptr, as_ids("indices", indices), data, by_column=False)
        return graph

    def _set_compressed(self, n: int, indptr: Array, indices: Array, data: Any, by_column: bool) -> None:
        self.n, self.m, self.device = n, len(indices), same_device(indptr=indptr, indices=indices, values=data)
        check_offsets(indptr, n, self.m)
        check_range("indices", indices, n)
        self.values = as_values(data, self.m)
        xp = array_module(indptr)
        kind = indices.dtype if self.device == "cpu" else self.id_dtype
        adjacency = Adjacency(xp.ascontiguousarray(indptr), xp.ascontiguousarray(indices, dtype=kind))
        self._rows, self._columns = (None, adjacency) if by_column else (adjacency, None)
        self._ends = None

    def _set_edges(self, n: int, src: Array, dst: Array, data: Any) -> None:
        if len(src) != len(dst):
            raise ValueError(f"src has {len(src)} entries and dst has {len(dst)}; expected as many of each")
        self.n, self.m, self.device = n, len(src), same_device(src=src, dst=dst, values=data)
        check_range("src", src, n)
        check_range("dst", dst, n)
        require_vertices(n)
        self.values = as_values(data, self.m)
        xp = array_module(src)
        self._hold(*(xp.ascontiguousarray(ids, dtype=self.id_dtype) for ids in (src, dst)))

    def _hold(self, src: Array, dst: Array) -> None:
        """Keep the edges, as lists where they are in the order of such."""
        self._rows = self._columns = self._ends = None
        if ascends(src):
            self._rows = Adjacency(self._offsets(src), dst)
        elif ascends(dst):
            self._columns = Adjacency(self._offsets(dst), src)
        else:
            self._ends = src, dst

    def to(self, device: Device) -> Graph:
        """The graph itself if its arrays are there already, else a copy of what it was made of.

        The copy is made once, and kept as long as this graph is. Like what is derived, it doesn't follow what is later
        written into the arrays. Its lists have the ids' own type (`id_dtype`).

        Raises
        ------
        RuntimeError
            If CuPy or a GPU is missing.

        Examples
        --------
        >>> g = Graph.from_edges([0, 1], [1, 2])
        >>> g.to("cpu") is g
        True
        """
        if device not in ("cpu", "gpu"):
            raise ValueError(f"device is {device!r}; expected 'cpu' or 'gpu'")
        if device == self.device:
            return self
        original = self._original()
        if original is not None:
            return original
        if self._copy is None:
            self._copy = self._copied(device)
        return self._copy

    def with_values(self, values: Any) -> Graph:
        """A graph of the same edges with other values, in the order of the input.

        It shares the lists and all that is known of them; what follows from values it finds for itself.

        Parameters
        ----------
        values : (m,) array or None
            NumPy's (or what becomes one), or CuPy's for a graph on the GPU. Shared, where it is as needed.

        Examples
        --------
        >>> g = Graph.from_edges([0, 1, 0], [1, 2, 2], [5, 3, 4])
        >>> g.with_values([1, 2, 9]).in_values
        array([1, 2, 9])
        >>> g.in_ is g.with_values(None).in_
        True
        """
        graph = Graph.__new__(Graph)
        own = {"values", "change", "_known", "_copy", "_original", "_noted", "_words", *_FROM_VALUES}
        graph.__dict__.update({name: part for name, part in self.__dict__.items() if name not in own})
        graph.values = as_values(values, self.m)
        if graph.values is not None:
            same_device(edges=(self._rows or self._columns or self.out).indices, values=graph.values)
        return graph

    def _note_values(self) -> None:
        """Note what the values are from which something is about to be derived."""
        if self.device == "cpu" and self._noted is None and self.values is not None:
            self._noted = checksum(*self._words)

    def notice_values(self) -> None:
        """Forget what was derived of values that have changed since. Whatever reads weights calls this first."""
        if self.device != "cpu" or self.values is None:
            return
        now = checksum(*self._words)
        if now == self._noted:
            return
        for name in _FROM_VALUES:
            self.__dict__.pop(name, None)
        if self._noted is not None:
            self._known, self._copy = {}, None  # some of which is made of values
        self._noted = now

    @cached_property
    def _words(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.values is not None
        return words_of(self.values)

    def _copied(self, device: Device) -> Graph:
        copy = Graph.__new__(Graph)
        copy.__dict__.update({name: known for name, known in self.__dict__.items() if isinstance(known, bool)})
        copy.n, copy.m, copy.device = self.n, self.m, device
        copy.values = None if self.values is None else moved(self.values, device)
        copy._ends = None if self._ends is None else (moved(self._ends[0], device), moved(self._ends[1], device))
        for name, lists in (("_rows", self._rows), ("_columns", self._columns)):
            if lists is not None:
                lists = Adjacency(lists.indptr, lists.indices.astype(self.id_dtype, copy=False)).to(device)
            setattr(copy, name, lists)
        copy.origin, copy._names = self.origin, self._names
        copy._original = weakref.ref(self)
        copy._known |= {"edition": self.edition, "earlier": self._known.get("earlier", {})}
        return copy

    def __getstate__(self) -> dict[str, Any]:
        self.notice_values()
        left = ("_copy", "_original", "_known", "_noted", "_words")
        return {name: part for name, part in self.__dict__.items() if name not in left}

    def kept(self, kind: Hashable, make: Callable[[Graph], T]) -> T:
        """What an engine or an algorithm makes of the graph when it first asks for it; freed with the graph.

        Copies on the other device and pickles come without. Where several threads ask at first, each may make one, and
        all get the same.

        Parameters
        ----------
        kind : hashable
            What it is known by.
        make : function of the Graph
            Makes it; other than None, and not to refer to the graph, which could then not be freed at once.

        Examples
        --------
        >>> g = Graph.from_edges([0, 1, 1], [1, 2, 2])
        >>> g.kept("leaves", lambda graph: int((graph.out_degrees == 0).sum()))
        1
        """
        found = self._known.get(kind)
        if found is None:
            made = make(self)
            finish(self.device)  # another thread may find it, on another stream
            found = self._known.setdefault(kind, made)
        return found

    def known(self, kind: Hashable) -> Any:
        """What is kept under this name by now, or None."""
        return self._known.get(kind)

    @_of_values
    def has_symmetric_values(self) -> bool:
        """Whether all edges i -> j and all j -> i carry equal values, too, in whatever order they are listed.

        NaN counts as equal to NaN here.
        """
        if not self.is_symmetric or self.values is None or self.has_mirrored_values:
            return self.is_symmetric
        numbers = with_bits_of_numbers(self.values)
        return (numbers is not self.values or self.has_parallel_edges) and self._are_both_ways(numbers)

    @_of_values
    def has_mirrored_values(self) -> bool:
        """Whether j -> i is the only edge of its ends, as i -> j is, and has a value of the very same bits.

        Then values by rows are those by columns. `has_symmetric_values` asks only whether the matrix is symmetric.
        """
        if not self.is_symmetric or self.has_parallel_edges:
            return False
        return self.values is None or self._are_both_ways(self.values)

    def _are_both_ways(self, values: Array) -> bool:
        """Whether all edges i -> j and all j -> i have values of the same bits, in whatever order they are listed."""
        lists = self._rows or self._columns or self.out
        found: bool = lists_on(lists.indptr).is_symmetric(lists.indptr, lists.indices, lists.by_position(values))
        return found

    @_of_values
    def value_range(self) -> tuple[Any, Any] | None:
        """The least and the largest value, as NumPy scalars; both NaN if any is; None without values or edges.

        Examples
        --------
        >>> Graph.from_edges([0, 1], [1, 2], [5, 3]).value_range
        (np.int64(3), np.int64(5))
        """
        if self.values is None or len(self.values) == 0:
            return None
        return range_of(self.values)

    @_of_values
    def out_values(self) -> Array | None:
        """Values in the order of `out`; `values` itself where that is the order of the input."""
        return self.out.by_position(self.values)

    @_of_values
    def in_values(self) -> Array | None:
        """Values in the order of `in_`; the array of `out_values` where the two are the same."""
        if self.in_.indices is self.out.indices and self.has_mirrored_values:
            return self.out_values
        return self.in_.by_position(self.values)

    @property
    def nbytes(self) -> int:
        """Bytes held now, the caller's own arrays included; it grows as more is asked of the graph.

        Graphs that are made of this one and kept count too; what runs keep for the next ones doesn't
        (`VertexProgram.workspace`).
        """
        held: list[Array] = [] if self._ends is None else [*self._ends]
        for part in self.__dict__.values():
            if isinstance(part, Adjacency):
                held += part.arrays()
            elif isinstance(part, array_module(part).ndarray):
                held.append(part)
        address = {"cpu": lambda array: array.ctypes.data, "gpu": lambda array: array.data.ptr}[self.device]
        own = sum({(address(array), array.nbytes): array.nbytes for array in held}.values())
        made = {id(part): part for part in self._known.values()}.values()  # once, whatever the names it is known by
        own += 0 if self.origin is None else self.origin.nbytes
        return own + sum(getattr(part, "nbytes", 0) for part in made)

    def __len__(self) -> int:
        """Number of vertices, `n`."""
        return self.n

    def __bool__(self) -> bool:
        return True  # a graph without vertices is a graph: ``graph or other`` is `graph`

    def __repr__(self) -> str:
        return f"Graph(n={self.n}, m={self.m}, values={None if self.values is None else self.values.dtype})"


def is_undirected(graph: Graph, weighted: bool) -> bool:
    """Whether every edge has its other direction, of the same value where values count."""
    return graph.is_symmetric and (not weighted or graph.has_symmetric_values)


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
