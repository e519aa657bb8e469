"""The graph that every algorithm reads: out-edges, in-edges, edge values.

``A[i, j]`` is the edge i -> j. Every stored entry is an edge: stored zeros and parallel edges stay, nothing is summed
or sorted. An edge's number is its position in the data of the matrix, or in the arrays, that the graph was made of.
Out-edges (rows, CSR) and in-edges (columns, CSC) are built when first asked for and kept; within a row or a column,
edges are in the order of the input.

A graph's arrays are NumPy's, or CuPy's if what it was made of is on the GPU. What follows here holds for both.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal, Self, TypeVar, overload
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from gasla.arrays import Device, any_true, array_module, finish, index_dtype, module_of, moved
from gasla.graph import changes
from gasla.graph.adjacency import Adjacency, Array
from gasla.graph.changes import Change, Edition
from gasla.graph.edge_values import Values
from gasla.graph.exchange import foreign, picture
from gasla.graph.exchange.columns import Column, Edges, arrow, as_arrow, edges_of
from gasla.graph.exchange.naming import Names
from gasla.graph.neighbor_lists import Lists
from gasla.graph.transform import merging, pairing, subgraphs
from gasla.graph.transform.origin import Derived, Numbers, Origin
from gasla.graph.validate import (
    as_coordinates,
    as_csr,
    as_ids,
    as_labels,
    as_values,
    check_offsets,
    check_range,
    require_sparse,
    require_square,
    require_vertices,
    same_device,
    vertex_count,
)
from semirings import Monoid, plus

__all__ = ["Adjacency", "Graph", "as_graph"]

T = TypeVar("T")


class Graph:
    """A directed graph with numbered edges, from any SciPy or CuPy sparse array or matrix.

    Arrays of the input are shared where they have the form that is needed, and never written to. Ids and offsets are
    checked once, when the graph is made, and must not change afterwards. Values may change: ``values`` shows what is
    written into the caller's array. On the CPU, algorithms that read weights and runs of programs that do compare a
    checksum of them in each call, and compute anew what follows from them (``in_values``, ``value_range``, …) where it
    differs. Products don't compare, nor does anything on a GPU, where algorithms only look for weights that they
    refuse. `with_values` is the safe and fast way to other values.

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
    change : Change or None
        Of a graph made by `changed`: its new edges, and those removed.
    lists : Lists
        The edges without values, which graphs of the same edges share: what the graph was made of (`rows`, `columns`
        or `ends`), and what has been built of it. The properties of the graph below read it.
    naming : Names or None
        The object behind `names`.

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
    device: Device
    lists: Lists
    values: Array | None
    naming: Names | None = None
    origin: Origin | None = None
    change: Change | None = None
    _valued: Values  # what follows from values
    _known: dict[Hashable, Any]  # see `kept`
    _copy: Graph | None = None  # on the other device
    _original: Callable[[], Graph | None] = staticmethod(lambda: None)  # what this is a copy of; a weak reference

    # --- made of matrices and arrays --------------------------------------------------------------------------------

    def __new__(cls, A: Any = None) -> Self:  # without A for `from_edges` and the like
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
    ) -> Self:
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
    def from_csr(cls, indptr: ArrayLike, indices: ArrayLike, data: ArrayLike | None = None) -> Self:
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
        device = same_device(indptr=indptr, indices=indices, values=data)
        m = len(indices)
        check_offsets(indptr, n, m)
        check_range("indices", indices, n)
        values = as_values(data, m)
        xp = array_module(indptr)
        kind = indices.dtype if device == "cpu" else index_dtype(n)
        given = Adjacency(xp.ascontiguousarray(indptr), xp.ascontiguousarray(indices, dtype=kind))
        self._hold(Lists(n, device, *((None, given) if by_column else (given, None))), values)

    def _set_edges(self, n: int, src: Array, dst: Array, data: Any) -> None:
        if len(src) != len(dst):
            raise ValueError(f"src has {len(src)} entries and dst has {len(dst)}; expected as many of each")
        device = same_device(src=src, dst=dst, values=data)
        check_range("src", src, n)
        check_range("dst", dst, n)
        require_vertices(n)
        values = as_values(data, len(src))
        self._hold(Lists.of_edges(n, device, src, dst), values)

    def _hold(self, lists: Lists, values: Array | None) -> None:
        """Have these edges and these values."""
        self.n, self.m, self.device = lists.n, lists.m, lists.device
        self.lists, self.values, self._valued = lists, values, Values(lists, values)

    # --- made of what other libraries hold, and made for them -------------------------------------------------------

    @classmethod
    def from_table(
        cls,
        table: Any,
        src: Column | None = None,
        dst: Column | None = None,
        weight: Column | None = None,
        *,
        names: bool | None = None,
    ) -> Self:
        """A graph of a table's rows, an edge each, numbered in that order.

        Needs pyarrow: ``pip install 'gasla[arrow]'``.

        Parameters
        ----------
        table : table
            One that speaks the Arrow PyCapsule stream, as those of pandas, polars, pyarrow and cuDF do.
        src, dst : str or int, optional
            Columns of ids, integers or strings, by name or place from 0. By default those named "src" and "dst",
            "source" and "target", or "from" and "to", in capitals or not, else the first two.
        weight : str or int, optional
            The column of values. By default the one named "weight", if there is one. If neither this nor `src` and
            `dst` are given, another column of numbers is refused, as nothing says whether it holds weights.
        names : bool, optional
            Whether ids are names, which are numbered in the order in which they first appear, those of `src` first, and
            kept as `names`; or else numbers of vertices. By default strings are names, and so are integers of which one
            is 2**31 or more. Of a CSV file ids that begin with a 0, such as 007, are refused until this says what
            they are.

        Raises
        ------
        TypeError
            If it is no table, or a column holds what is neither integers nor strings, or both.
        ValueError
            If a column is missing, the table has no rows, or a row has no value or a negative number.
        MemoryError
            If the numbers of vertices ask for more memory than the machine has; both are said.
        ImportError
            If pyarrow is missing.

        Examples
        --------
        >>> import pandas as pd  # doctest: +SKIP
        >>> trips = pd.DataFrame({"from": ["Oslo", "Rome"], "to": ["Rome", "Bonn"], "weight": [5, 3]})  # doctest: +SKIP
        >>> graph = Graph.from_table(trips)  # doctest: +SKIP
        >>> graph.names, graph.vertex("Bonn")  # doctest: +SKIP
        (array(['Oslo', 'Rome', 'Bonn'], dtype=object), 2)
        """
        return cls._of_edges(edges_of(as_arrow(table), src, dst, weight, names))

    @classmethod
    def from_networkx(cls, G: Any, weight: str | None = "weight") -> Self:
        """A graph of NetworkX's; of an undirected one, every edge in both directions, and a loop once.

        Vertices are numbered in the order of ``G.nodes``, which are the `names`, unless they are 0, 1, … themselves.

        Parameters
        ----------
        G : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        weight : str, optional
            The attribute of edges that is their value; those without count 1, as in NetworkX. If no edge has it, or
            with None, the graph has no values.

        Examples
        --------
        >>> import networkx as nx
        >>> from gasla import Graph
        >>> graph = Graph.from_networkx(nx.Graph([("a", "b"), ("b", "c")]))
        >>> graph, graph.names.tolist()
        (Graph(n=3, m=4, values=None), ['a', 'b', 'c'])
        """
        return cls._of_edges(foreign.of_networkx(G, weight))

    @classmethod
    def from_igraph(cls, g: Any, weight: str | None = "weight") -> Self:
        """A graph of igraph's; of an undirected one, every edge in both directions, and a loop once.

        Parameters
        ----------
        g : igraph.Graph
            Its vertices' attribute "name", if they have one, gives the `names`.
        weight : str, optional
            The attribute of edges that is their value. If they have none such, or with None, there are no values.

        Examples
        --------
        >>> import igraph
        >>> from gasla import Graph
        >>> Graph.from_igraph(igraph.Graph.Ring(3))
        Graph(n=3, m=6, values=None)
        """
        return cls._of_edges(foreign.of_igraph(g, weight))

    @classmethod
    def from_edge_index(cls, edge_index: ArrayLike, edge_weight: ArrayLike | None = None, n: int | None = None) -> Self:
        """A graph of PyTorch Geometric's ``edge_index``, sources above destinations.

        Parameters
        ----------
        edge_index : (2, m) array or tensor of integers
            NumPy's, CuPy's, or any with DLPack: a tensor of CUDA's makes a graph on the GPU. Shared where it can be.
        edge_weight : (m,) array or tensor, optional
        n : int, optional
            Number of vertices, ``data.num_nodes``; by default one more than the largest id.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edge_index([[0, 1], [1, 2]], n=5)
        Graph(n=5, m=2, values=None)
        """
        return cls._of_edges(foreign.of_edge_index(edge_index, edge_weight, n))

    @classmethod
    def _of_edges(cls, edges: Edges) -> Self:
        graph = cls.__new__(cls)
        graph._set_edges(edges.n, as_ids("src", edges.src), as_ids("dst", edges.dst), edges.weights)
        graph.naming = None if edges.names is None else Names(edges.names)
        return graph

    def to_scipy(self) -> Any:
        """The adjacency matrix as SciPy's CSR array, on the host.

        Returns
        -------
        scipy.sparse.csr_array
            Of shape (n, n): entry (i, j) is the edge i -> j, with its value. Edges of a graph without values have 1, of
            int64. Its arrays are copies.

        Notes
        -----
        Entries of a row are in the order of edge numbers, unsorted if these are. Parallel edges are entries of their
        own; what SciPy does next may add them up. ``graph.simple(combine)`` combines them otherwise.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [5, 3, 4])
        >>> graph.to_scipy().toarray()
        array([[0, 5, 4],
               [0, 0, 3],
               [0, 0, 0]])
        >>> Graph(graph.to_scipy())
        Graph(n=3, m=3, values=int64)
        """
        from scipy.sparse import csr_array

        lists = self.out
        values = np.ones(self.m, np.int64) if self.values is None else lists.by_position(self.values)
        arrays = (moved(array, "cpu") for array in (values, lists.indices, lists.indptr))
        return csr_array(tuple(arrays), shape=(self.n, self.n), copy=True)

    def to_networkx(self) -> Any:
        """NetworkX's DiGraph of the edges, or a MultiDiGraph where some are parallel; values are the "weight".

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1], [1, 2], [5, 3]).to_networkx().edges(data="weight")
        OutEdgeDataView([(0, 1, 5), (1, 2, 3)])
        """
        return foreign.to_networkx(*self._plain(), self.has_parallel_edges)

    def to_igraph(self) -> Any:
        """The graph as igraph's, directed; names are its attribute "name", values the "weight".

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1], [1, 2], [5, 3]).to_igraph().es["weight"]
        [5, 3]
        """
        return foreign.to_igraph(*self._plain())

    def to_edge_index(self) -> Array:
        """The (2, m) int64 array of sources and destinations in the order of the input, on the graph's device.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1], [1, 2]).to_edge_index()
        array([[0, 1],
               [1, 2]])
        """
        edges: Array = array_module(self.edges()[0]).stack([ends.astype(np.int64) for ends in self.edges()])
        return edges

    def _plain(self) -> Edges:
        """All that others get of the graph, on the host."""
        src, dst = (moved(ends, "cpu") for ends in self.edges())
        return Edges(self.n, src, dst, None if self.values is None else moved(self.values, "cpu"), self.names)

    # --- edges ------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of vertices, `n`."""
        return self.n

    def __bool__(self) -> bool:
        return True  # a graph without vertices is a graph: ``graph or other`` is `graph`

    def edges(self) -> tuple[Array, Array]:
        """The source and the target of each edge, in the order of edge numbers.

        Returns
        -------
        src, dst : (m,) arrays of integers
            Vertex numbers, on the graph's device; ``graph.names[src]`` are the names. They may be the graph's own
            arrays, and must not be written to.

        Notes
        -----
        Of a graph made of rows (or columns) the sources (or targets) are written out by each call, in a pass over the
        edges.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([2, 0, 1], [0, 1, 2], [5, 3, 4])
        >>> graph.edges()
        (array([2, 0, 1], dtype=int32), array([0, 1, 2], dtype=int32))
        >>> src, dst = graph.edges()
        >>> [*zip(src.tolist(), dst.tolist(), graph.values.tolist())]
        [(2, 0, 5), (0, 1, 3), (1, 2, 4)]
        """
        return self.lists.edges()

    def neighbors(self, v: Any, *, direction: Literal["out", "in", "both"] = "out") -> Array:
        """The neighbors of a vertex, each once, in ascending order of their numbers.

        In an undirected graph, which stores every edge in both directions, all directions give the same.

        Parameters
        ----------
        v : int, or a name
            The vertex, as `vertex` takes it.
        direction : {"out", "in", "both"}
            Follow edges from `v` to their targets, edges to `v` back to their sources, or both.

        Returns
        -------
        array
            Names if the graph has `names`; else numbers, on the graph's device. It is a copy.

        Raises
        ------
        ValueError
            If there is no such vertex, or `direction` is none of the three.

        Notes
        -----
        The first call builds the neighbor lists of its direction, unless the graph has them; a call then takes time
        proportional to the vertex's degree, times its logarithm. ``graph.out`` holds the lists themselves, in which
        parallel edges are entries of their own.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 0, 0, 2], [2, 1, 2, 0])
        >>> graph.neighbors(0)
        array([1, 2], dtype=int32)
        >>> graph.neighbors(1), graph.neighbors(1, direction="in")
        (array([], dtype=int32), array([0], dtype=int32))
        """
        if not isinstance(direction, str) or direction not in ("out", "in", "both"):
            raise ValueError(f"direction is {direction!r}; expected 'out', 'in' or 'both'")
        number = self._one_vertex("v", v)
        rows = [] if direction == "in" else [self.out.row(number)]
        rows += [] if direction == "out" else [self.in_.row(number)]
        xp = array_module(rows[0])
        ids: Array = xp.unique(xp.concatenate(rows))
        return ids if self.naming is None else self.naming.each[moved(ids, "cpu")]

    def has_edge(self, u: Any, v: Any) -> bool:
        """Whether there is an edge u -> v. A stored zero is an edge.

        Parameters
        ----------
        u, v : int, or a name
            Source and target, as `vertex` takes them.

        Raises
        ------
        ValueError
            If either is no vertex of the graph.

        Notes
        -----
        The first call builds `out`, unless the graph has it; a call then takes time proportional to the out-degree of
        `u`. `primitives.has_edges` looks up many edges at once.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 1], [1, 2])
        >>> graph.has_edge(0, 1), graph.has_edge(1, 0)
        (True, False)
        """
        source, target = self._one_vertex("u", u), self._one_vertex("v", v)
        row = self.out.row(source)
        return any_true(array_module(row).equal(row, target))

    def _one_vertex(self, name: str, given: Any) -> int:
        """The number of a vertex; several are refused."""
        found = self.vertex(given)
        if not isinstance(found, int):
            raise ValueError(
                f"{name} is {given!r}; expected one vertex; graph.out holds all neighbors, and primitives.has_edges "
                "looks up many edges"
            )
        return found

    @property
    def engine(self) -> str:
        """The name of what runs programs on it, as `gasla.engines` knows it: that of the device, if it is on one."""
        return self.device

    @property
    def id_dtype(self) -> np.dtype[Any]:
        """The type that vertex ids need: int32 where n fits, else int64.

        int64 arrays given stay as they are on the CPU; on the GPU indices have this type.
        """
        return index_dtype(self.n)

    @property
    def offset_dtype(self) -> np.dtype[Any]:
        """The type that edge numbers need: int32 where m fits, else int64."""
        return index_dtype(self.m)

    @property
    def out(self) -> Adjacency:
        """Out-edges: the rows of the matrix."""
        return self.lists.out

    @property
    def in_(self) -> Adjacency:
        """In-edges: the columns of the matrix. Shares the arrays of `out` where they are the same."""
        return self.lists.in_

    @property
    def both(self) -> Adjacency:
        """Every edge seen from both its ends, each list in the order of the input; twice the entries of `out`."""
        return self.lists.both

    @property
    def leaving(self) -> Array:
        """Of every position of `both`, whether the edge leaves the vertex in whose list it is; a loop does once."""
        return self.lists.leaving

    @property
    def sorted_out(self) -> Adjacency:
        """Out-edges with every row ascending; parallel edges in the order of the input. `out` itself where it is so."""
        return self.lists.sorted_out

    @property
    def out_edge_ids(self) -> Array:
        """The edge number of every position of `out`."""
        return self.lists.out_edge_ids

    @property
    def in_edge_ids(self) -> Array:
        """The edge number of every position of `in_`."""
        return self.lists.in_edge_ids

    @property
    def out_degrees(self) -> Array:
        """Number of out-edges of every vertex."""
        return self.lists.out_degrees

    @property
    def in_degrees(self) -> Array:
        """Number of in-edges of every vertex."""
        return self.lists.in_degrees

    @property
    def max_out_degree(self) -> int:
        """The most out-edges that a vertex has; 0 without vertices.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 0, 1], [1, 2, 2]).max_out_degree
        2
        """
        return self.lists.max_out_degree

    @property
    def max_in_degree(self) -> int:
        """The most in-edges that a vertex has; 0 without vertices."""
        return self.lists.max_in_degree

    @property
    def is_symmetric(self) -> bool:
        """Whether j -> i is stored as often as i -> j, for all i and j; values aside."""
        return self.lists.is_symmetric

    @property
    def has_self_loops(self) -> bool:
        """Whether any edge leads from a vertex to itself."""
        return self.lists.has_self_loops

    @property
    def has_parallel_edges(self) -> bool:
        """Whether any edge is stored more than once."""
        return self.lists.has_parallel_edges

    @property
    def is_simple(self) -> bool:
        """Whether the graph is simple and undirected: every edge in both directions, once, and no self loops."""
        return self.lists.is_simple

    @property
    def reverse_edge_ids(self) -> Array:
        """For each edge, in the order of the input, the number of its partner, which leads the other way.

        The k-th edge from i to j is the partner of the k-th from j to i, in the order of the input. So a loop is its
        own. Made when it is first asked for, by turning lists round, and then kept.

        Raises
        ------
        ValueError
            If an edge has no partner; it names the first. `paired` adds those that are missing.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1, 2, 0, 2], [1, 0, 2, 2, 0]).reverse_edge_ids
        array([1, 0, 2, 4, 3], dtype=int32)
        """
        return self.lists.reverse_edge_ids

    # --- values -----------------------------------------------------------------------------------------------------

    @property
    def value_range(self) -> tuple[Any, Any] | None:
        """The least and the largest value, as NumPy scalars; both NaN if any is; None without values or edges.

        Examples
        --------
        >>> Graph.from_edges([0, 1], [1, 2], [5, 3]).value_range
        (np.int64(3), np.int64(5))
        """
        return self._valued.range

    @property
    def out_values(self) -> Array | None:
        """Values in the order of `out`; `values` itself where that is the order of the input."""
        return self._valued.by_out

    @property
    def in_values(self) -> Array | None:
        """Values in the order of `in_`; the array of `out_values` where the two are the same."""
        return self._valued.by_in

    @property
    def has_symmetric_values(self) -> bool:
        """Whether all edges i -> j and all j -> i carry equal values, too, in whatever order they are listed.

        NaN counts as equal to NaN here.
        """
        return self._valued.are_symmetric

    @property
    def has_mirrored_values(self) -> bool:
        """Whether j -> i is the only edge of its ends, as i -> j is, and has a value of the very same bits.

        Then values by rows are those by columns. `has_symmetric_values` asks only whether the matrix is symmetric.
        """
        return self._valued.are_mirrored

    def with_values(self, values: Any) -> Self:
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
        graph: Self = type(self).__new__(type(self))
        values = as_values(values, self.m)
        if values is not None:
            same_device(edges=self.lists.any_ids, values=values)
        graph._hold(self.lists, values)
        graph.naming, graph.origin = self.naming, self.origin
        return graph

    def notice_values(self) -> None:
        """Forget what was derived of values that have changed since. Whatever reads weights calls this first."""
        if self.device != "cpu" or self.values is None:
            return
        now, before = self._valued.checksum(), self._valued.noted
        if now == before:
            return
        if before is not None:
            self._known, self._copy = {}, None  # some of which is made of values
            self._valued = Values(self.lists, self.values)
        self._valued.noted = now

    # --- names ------------------------------------------------------------------------------------------------------

    @property
    def names(self) -> Array | None:
        """The (n,) names of vertices, NumPy's on either device; None where vertices are known by their numbers alone.

        Graphs made of this one have them too, unless vertices became one (`contract`).
        """
        return None if self.naming is None else self.naming.each

    @overload
    def vertex(self, name: list[Any]) -> Array: ...
    @overload
    def vertex(self, name: Any) -> int: ...

    def vertex(self, name: Any) -> int | Array:
        """The number of the vertex of this name; of a graph without names, the number itself if there is such a vertex.

        Parameters
        ----------
        name : a name, or a list or an array of names
            Of several, an array of their numbers is returned, where the graph is.

        Raises
        ------
        ValueError
            If there is none.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1], [1, 2]).vertex(2)
        2
        >>> Graph.from_edges([0, 1], [1, 2]).vertex([2, 0])
        array([2, 0], dtype=int32)
        """
        if isinstance(name, list) or getattr(name, "ndim", 0) > 0:
            each = name if isinstance(name, list) else name.tolist()
            return moved(np.array([self.vertex(one) for one in each], self.id_dtype), self.device)
        if self.naming is not None:
            return self.naming.number(name)
        if isinstance(name, bool) or not isinstance(name, (int, np.integer)) or not 0 <= name < self.n:
            raise ValueError(f"no vertex is named {name!r}; the graph has no names, but numbers from 0 to {self.n - 1}")
        return int(name)

    def named(self, *results: Any, **columns: Any) -> Any:
        """A table of results by name: a row a vertex, in the order of their numbers.

        Needs pyarrow. ``.to_pandas()``, where pandas is installed, and ``polars.from_arrow(table)`` make others of it.

        Parameters
        ----------
        *results : (n,) array, named tuple or dict of such, or Result
            What an algorithm or a run returned: the columns are those of its fields that are such arrays, or "value".
            Of a dict, all that it holds, by its keys.
        **columns : (n,) array
            Others, by the name of their column.

        Returns
        -------
        pyarrow.Table
            The column "vertex", names or numbers, and those of the results. Vertices in results stay numbers:
            ``graph.names[parents]`` are their names.

        Raises
        ------
        ValueError
            If an array has another shape, or two columns one name.

        Examples
        --------
        >>> from gasla import Graph, pagerank
        >>> graph = Graph.from_edges([0, 1], [1, 0])
        >>> graph.named(rank=[0.5, 0.5]).to_pydict()  # doctest: +SKIP
        {'vertex': [0, 1], 'rank': [0.5, 0.5]}
        """
        found: dict[str, Any] = {"vertex": np.arange(self.n) if self.naming is None else self.naming.each}
        given = [pair for result in results for pair in self._fields(result)]
        for title, array in [*given, *columns.items()]:
            values = np.asarray(moved(array, "cpu"))
            if values.shape != (self.n,):
                raise ValueError(
                    f"{title} has shape {values.shape}; expected ({self.n},), a value a vertex, as in "
                    "graph.named(degree=graph.out_degrees)"
                )
            if title in found:
                raise ValueError(f"two columns are named {title!r}; name them: graph.named(rank=..., level=...)")
            found[title] = values
        return arrow().table(found)

    def _fields(self, result: Any) -> list[tuple[str, Any]]:
        if hasattr(result, "state"):
            pairs = result.state.items()
        elif hasattr(result, "_fields"):
            pairs = zip(result._fields, result)
        elif isinstance(result, Mapping):
            return [*result.items()]
        else:
            return [("value", result)]
        return [(field, part) for field, part in pairs if getattr(part, "shape", None) == (self.n,)]

    # --- graphs made of this one ------------------------------------------------------------------------------------

    def select(self, edges: ArrayLike) -> Self:
        """The graph of some of the edges, and all vertices.

        Edges stay in their order. Peak memory beside both graphs: 16 bytes for an edge of the new one, and 4 for each
        of this one where it has rows or columns.

        Parameters
        ----------
        edges : (m,) array of bool, or array of integers
            Which: a mask over the edges in the order of the input, or their numbers, ascending.

        Raises
        ------
        TypeError
            If they are neither, or elsewhere than the graph.
        ValueError
            If the mask has another length, or numbers don't ascend or name no edge.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [5, 3, 4])
        >>> far = graph.select(graph.values > 3)
        >>> far.values, far.origin.edges
        (array([5, 4]), array([0, 2], dtype=int32))
        """
        return self._derived(subgraphs.select(self.lists, self.values, edges))

    def subgraph(self, vertices: ArrayLike) -> Self:
        """The graph of some vertices and all edges between them.

        Edges stay in their order. Vertices are numbered in the order in which they are given. Where the graph has its
        edges by rows or columns, only those of these vertices are looked at: on the CPU if the vertices ascend, else if
        their out-edges, by rows, are few. Peak memory beside both graphs: 4 bytes for a vertex of this one; and unless
        vertices ascend on the CPU, 17 for each of its edges, or 40 for each of those looked at.

        Parameters
        ----------
        vertices : (n,) array of bool, or array of integers
            Which: a mask over vertices, or their ids, each once, in any order.

        Raises
        ------
        TypeError
            If they are neither, or elsewhere than the graph.
        ValueError
            If the mask has another length, or ids repeat or name no vertex.

        Examples
        --------
        >>> import gasla
        >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
        >>> triangle = graph.subgraph(gasla.k_core(graph, 2))
        >>> triangle, triangle.origin.edges
        (Graph(n=3, m=3, values=None), array([0, 1, 2], dtype=int32))
        """
        return self._derived(subgraphs.subgraph(self.lists, self.values, vertices))

    def simple(self, combine: Monoid | None = None, *, loops: bool = False) -> Self:
        """The graph without self loops, and with one edge for all from i to j.

        Directions stay. Edges are numbered by their ends: by rows, neighbours ascending. Peak memory beside both
        graphs: 28 bytes an edge of this one and its values, less where its rows are sorted.

        Parameters
        ----------
        combine : semirings.Monoid, optional
            What the values of parallel edges come to, in the order of the input. By default, the first stays.
        loops : bool
            Whether loops stay.

        Notes
        -----
        Combined, edges without values count 1 each: `plus` counts parallel edges, in int64. With a monoid for which
        that makes no difference, such as `min`, the new graph has no values either. Sums have the values' own type.

        Examples
        --------
        >>> import semirings
        >>> from gasla import Graph
        >>> calls = Graph.from_edges([1, 0, 1, 2], [0, 1, 0, 2], [5, 3, 4, 9])
        >>> calls.simple().values, calls.simple(semirings.plus).values
        (array([3, 5]), array([3, 9]))
        """
        return self._derived(merging.simple(self.lists, self.values, combine, loops))

    def contract(self, labels: ArrayLike, combine: Monoid | None = plus, *, loops: bool = True) -> Self:
        """The graph whose vertices are the groups of vertices with equal labels, and whose edges are those between.

        Groups are numbered in the order of their labels: labels 0, 1, … are the new numbers. An edge within a group
        becomes a loop; where a graph has every edge in both directions, a loop therefore holds each twice, which is
        what modularity wants. Edges are numbered by their ends: by rows, neighbours ascending. Peak memory beside both
        graphs: 36 bytes for an edge of this one and its values, and 9 for a vertex.

        Parameters
        ----------
        labels : (n,) array of integers
            From 0 to n - 1, for each vertex that of its group.
        combine : semirings.Monoid or None
            What the values of edges between the same two groups come to, in the order of the input. With None they stay
            apart, in the order of the input.
        loops : bool
            Whether edges within groups stay, as loops.

        Raises
        ------
        TypeError
            If labels are no integers or elsewhere than the graph, or `combine` can't combine the values.
        ValueError
            If there are more or fewer labels than vertices, or one is out of range.

        Notes
        -----
        Edges without values count 1 each: `plus` counts edges, in int64; with a monoid for which that makes no
        difference, such as `min`, the new graph has no values either. Sums have the values' own type; those of floats
        are added in the order of the input on the CPU, and in a fixed order on a GPU.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2])
        >>> pairs = graph.contract([0, 0, 3, 3])
        >>> pairs.out.indices, pairs.values
        (array([0, 1, 0, 1], dtype=int32), array([2, 1, 1, 2]))
        >>> pairs.origin.new_vertices
        array([0, 0, 1, 1], dtype=int32)
        """
        given = as_labels(labels, self.n)
        subgraphs.require_here(self.lists, "labels", given)
        return self._derived(merging.contract(self.lists, self.values, given, combine, loops))

    def symmetrized(self, combine: Monoid | None = None) -> Self:
        """The graph with every edge in both directions: one edge i -> j and one j -> i for all between the two.

        A loop is its own reverse, and is taken once. Edges are numbered by their ends: by rows, neighbours ascending.
        Peak memory beside both graphs: 64 bytes an edge and twice its values.

        Parameters
        ----------
        combine : semirings.Monoid
            What the values of all edges between i and j come to, whichever way they point, in the order of the input:
            one value for both directions. Needed if there are values.

        Raises
        ------
        ValueError
            If the graph has values and `combine` isn't given.

        Notes
        -----
        `max` and `min` leave what was symmetric as it was; `plus` adds both directions up. Without values see `simple`.
        In `origin` an edge that was there in the other direction alone is said to be of that one.

        Examples
        --------
        >>> import semirings
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 1, 1], [1, 0, 2], [5, 3, 4])
        >>> both = graph.symmetrized(semirings.plus)
        >>> both.out.indices, both.values
        (array([1, 0, 2, 1], dtype=int32), array([8, 8, 4, 4]))
        """
        if self.values is not None and combine is None:
            raise ValueError(
                "the graph has values and combine is not given; expected a monoid for those of i -> j and j -> i, such "
                "as semirings.max or semirings.plus, or a graph without: graph.with_values(None)"
            )
        return self._derived(merging.symmetrized(self.lists, self.values, combine))

    def reversed(self) -> Self:
        """The graph with every edge turned round. Numbers stay, lists and values are shared: it takes no memory.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 0, 1], [1, 2, 2])
        >>> graph.reversed().out_degrees, graph.reversed().in_ is graph.out
        (array([0, 1, 2], dtype=int32), True)
        """
        origin = Origin(Numbers(self.device, self.n, self.n), Numbers(self.device, self.m, self.m))
        return self._derived(Derived(self.lists.reversed(), self.values, origin))

    def _derived(self, made: Derived) -> Self:
        """A graph that was made of this one; its vertices keep their names, where each was one."""
        graph: Self = type(self).__new__(type(self))
        graph._hold(made.lists, made.values)
        graph.origin = made.origin
        graph.naming = None if self.naming is None else made.origin.vertex_numbers.handed_on(self.naming)
        return graph

    def paired(self, fill: Any = 0, *, loops: bool = False) -> Self:
        """The graph in which every edge has a partner: itself if that is so, else with those added that are missing.

        Edges keep their numbers. New ones come after them, in the order of the edges whose partners they are, and loops
        after these.

        Parameters
        ----------
        fill : number
            The value of the edges that are added, which becomes one of the type of the graph's values (0 becomes False
            of bool). A graph without values, whose edges count 1 each, gets values of int64, unless `fill` is None.
        loops : bool
            Whether to add a loop at every vertex as well, whether or not it has one. By such a vertex program keeps
            vertices active that no neighbour wakes.

        Returns
        -------
        Graph
            Its `origin.edges` is -1 for edges that were added.

        Raises
        ------
        TypeError
            If the type of the graph's values can't hold `fill`.

        Notes
        -----
        Streaming cost, as `changed`: lists that have been built are brought up to date.

        Examples
        --------
        >>> from gasla import Graph
        >>> path = Graph.from_edges([0, 1, 1], [1, 0, 2], [5, 3, 4])
        >>> pairs = path.paired()
        >>> pairs.values, pairs.reverse_edge_ids
        (array([5, 3, 4, 0]), array([1, 0, 3, 2], dtype=int32))
        >>> pairs.origin.edges
        array([ 0,  1,  2, -1])
        """
        partners = self.lists.partners()
        alone, turned = pairing.missing(self.lists, partners, loops)
        count = len(turned[0])
        if count == 0:
            return self
        xp = array_module(partners)
        graph = self.with_values(xp.ones(self.m, np.int64)) if self.values is None and fill is not None else self
        values = () if graph.values is None else (xp.full(count, pairing.as_held(fill, graph.values.dtype)),)
        made = graph.changed(insert=(*turned, *values))
        made.origin = pairing.origin(self.lists, made.m)
        made.lists.__dict__["reverse_edge_ids"] = pairing.with_missing(partners, alone, made.lists)
        finish(self.device)
        return made

    def changed(self, insert: Any = None, remove: Any = None) -> Self:
        """A graph of other edges: without some, and with new ones. This one stays as it is.

        Edges that stay keep their order, and where none is removed their numbers; else these close up. New edges have
        the last numbers, in the order in which they are given. The new graph's `change` says what they are, and which
        were removed.

        Parameters
        ----------
        insert : (src, dst) or (src, dst, weights), optional
            New edges ``src[e] -> dst[e]``; with weights if the graph has values, which they become.
        remove : array of integers, optional
            The numbers of edges that are to go, each once.

        Returns
        -------
        Graph
            On the same device, with as many vertices. It shares no array with this one.

        Raises
        ------
        TypeError, ValueError
            For vertices or edges outside the graph, edges removed twice, arrays on another device, and weights that are
            missing, not wanted, or of a type that the graph's values can't hold.

        Notes
        -----
        A pass over the ends of all edges, their values, and such neighbour lists as this graph has built: the new one
        has them too, and need not sort its edges. Beside what that holds it takes up to 20 bytes an edge for a moment.
        `gasla.run` may go on from a result of the graph before: see its `start`.

        Examples
        --------
        >>> from gasla import Graph
        >>> path = Graph.from_edges([0, 1, 2], [1, 2, 3], [5, 3, 4])
        >>> detour = path.changed(insert=([0], [3], [9]), remove=[1])
        >>> detour.out.indices, detour.out_edge_ids, detour.values
        (array([1, 3, 3], dtype=int32), array([0, 2, 1], dtype=int32), array([5, 4, 9]))
        >>> detour.change.removed
        array([1])
        """
        self.notice_values()
        graph: Self = type(self).__new__(type(self))
        lists, valued, graph.change = changes.changed(self.lists, self._valued, insert, remove)
        graph._hold(lists, valued.each)
        graph._valued, graph.naming = valued, self.naming
        earlier = {} if len(graph.change.removed) else {**self._known.get("earlier", {}), self.edition: self.m}
        graph._known["earlier"] = WeakKeyDictionary(earlier)  # only those that are still referred to
        finish(self.device)
        valued.note()
        return graph

    @property
    def edition(self) -> Edition:
        """Which edges and values these are: another, once values were written to and that was noticed."""
        found: Edition | None = self._known.get("edition")
        return found or self._known.setdefault("edition", Edition())

    def ends_since(self, edition: Edition) -> tuple[Array, Array] | None:
        """Sources and destinations of the edges that are new since then; None if that is not all that has changed."""
        first = self.m if edition is self.edition else self._known.get("earlier", {}).get(edition)
        if first is None:
            return None
        if self.lists.ends is None:  # which it has where it was changed
            nothing = module_of(self.device).zeros(0, self.id_dtype)
            return nothing, nothing
        src, dst = self.lists.ends
        return src[first:], dst[first:]

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

    def _copied(self, device: Device) -> Graph:
        copy = Graph.__new__(Graph)
        lists = self.lists.to(device)
        valued = self._valued.to(device, lists)
        copy._hold(lists, valued.each)
        copy._valued = valued
        copy.origin, copy.naming = self.origin, self.naming
        copy._original = weakref.ref(self)
        copy._known |= {"edition": self.edition, "earlier": self._known.get("earlier", {})}
        return copy

    def __getstate__(self) -> dict[str, Any]:
        self.notice_values()
        left = ("_copy", "_original", "_known")
        return {name: part for name, part in self.__dict__.items() if name not in left}

    # --- kept with the graph ----------------------------------------------------------------------------------------

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

    @property
    def nbytes(self) -> int:
        """Bytes held now, the caller's own arrays included; it grows as more is asked of the graph.

        Graphs that are made of this one and kept count too; what runs keep for the next ones doesn't
        (`VertexProgram.workspace`).
        """
        held = [*self.lists.arrays(), *self._valued.arrays()]
        address = {"cpu": lambda array: array.ctypes.data, "gpu": lambda array: array.data.ptr}[self.device]
        own = sum({(address(array), array.nbytes): array.nbytes for array in held}.values())
        made = {id(part): part for part in self._known.values()}.values()  # once, whatever the names it is known by
        own += 0 if self.origin is None else self.origin.nbytes
        return own + sum(getattr(part, "nbytes", 0) for part in made)

    def __repr__(self) -> str:
        return f"Graph(n={self.n}, m={self.m}, values={None if self.values is None else self.values.dtype})"

    def _repr_html_(self) -> str:
        """What a notebook shows: size, kind, and how many vertices have how many out-edges."""
        kind = {"vertices": f"{self.n:,}", "edges": f"{self.m:,}", "device": self.device}
        kind["weights"] = "none" if self.values is None else str(self.values.dtype)
        kind["names"] = "none" if self.naming is None else ", ".join(map(str, self.naming.each[:3].tolist())) + ", …"
        return picture.of_graph(kind, np.asarray(moved(self.out_degrees, "cpu")))


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
