"""`Graph`: a directed graph with numbered edges, the input of every algorithm.

``A[i, j]`` is the edge i -> j. Every stored entry is an edge: stored zeros and parallel edges are kept, and nothing is
summed or sorted. The number of an edge is its position in the input, that is, in the data array of the matrix or in
the arrays of sources and targets. Out-edges (rows, CSR) and in-edges (columns, CSC) are built at first use and cached;
within a row or a column, edges are in the order of the input.

The arrays of a graph are NumPy arrays, or CuPy arrays if the input is on the GPU. All methods work on both.
"""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast, overload
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from gasla.arrays import Device, address, any_true, array_module, finish, index_dtype, module_of, moved
from gasla.graph import changes
from gasla.graph.adjacency import Adjacency, Array
from gasla.graph.attributes import NO_EDGE_ATTRIBUTES, NO_VERTEX_ATTRIBUTES, Attributes
from gasla.graph.changes import Change, Edition
from gasla.graph.dates import NAT
from gasla.graph.edge_values import Values
from gasla.graph.exchange import html_view, libraries, two_sides, two_tables
from gasla.graph.exchange.columns import (
    Column,
    Edges,
    as_arrow,
    attribute_of_weight,
    attributes_of,
    edges_of,
    further_columns,
    undirected_rows,
)
from gasla.graph.exchange.libraries import Chosen
from gasla.graph.exchange.two_tables import Tables
from gasla.graph.exchange.vertex_names import Names, called, translate_vertices
from gasla.graph.exchange.vertex_table import as_table, columns_of, in_zone
from gasla.graph.mapped_files import MappedFiles
from gasla.graph.neighbor_lists import Lists
from gasla.graph.streamed import Stream, StreamedLists, StreamedValues, lent, require_room, values_of
from gasla.graph.transform import attribute_merging, edge_lookup, merging, pairing, subgraphs
from gasla.graph.transform.attribute_merging import Combine
from gasla.graph.transform.origin import Derived, IdMap, Origin
from gasla.graph.validate import (
    as_ids,
    as_labels,
    as_values,
    check_range,
    count_vertices,
    lists_of_edges,
    lists_of_matrix,
    lists_of_rows,
    same_device,
    vertex_count,
)
from gasla.graph.whole import Whole
from semirings import Monoid, plus

__all__ = ["Adjacency", "Graph", "as_graph"]

T = TypeVar("T")
_OF_MATRICES = {"shape", "nnz", "T", "toarray", "todense", "tocsr", "tocsc", "tocoo", "indptr", "indices", "dot"}
Method = TypeVar("Method", bound=Callable[..., Any])


def _runs_on_host(method: Method) -> Method:
    """Decorate a method that makes another graph so that it also works for streamed graphs.

    For a streamed graph, the method runs on a copy of the graph on the CPU, and its result is streamed, too.
    """

    @functools.wraps(method)
    def run_on_host(graph: Graph, *arguments: Any, **named: Any) -> Any:
        if not graph.is_streamed:
            return method(graph, *arguments, **named)
        host = graph.to("cpu")
        derived = method(
            host,
            *map(_to_host_memory, arguments),
            **{name: _to_host_memory(argument) for name, argument in named.items()},
        )
        if derived is host:
            return graph
        result = derived._copied("gpu", stream="compressed" if graph.lists.packs else True)
        result.origin = None if derived.origin is None else derived.origin.to("gpu")
        result.change = (
            None if derived.change is None else Change(*(moved(changed_ids, "gpu") for changed_ids in derived.change))
        )
        return result

    return cast(Method, run_on_host)


def _to_host_memory(argument: Any) -> Any:
    """Return an argument of a method with all its arrays copied to host memory.

    Arrays within tuples and dicts count, too.
    """
    if isinstance(argument, tuple):
        return tuple(map(_to_host_memory, argument))
    if isinstance(argument, dict):
        return {name: _to_host_memory(item) for name, item in argument.items()}
    return moved(argument, "cpu") if hasattr(argument, "dtype") else argument


def _property_of_lists(name: str, doc: str) -> Any:
    """Return a property for the class `Graph` that reads the property `name` of `Graph.lists`. Its docstring is `doc`.

    The value is computed there at first use and cached, and shared by graphs with the same edges.
    """
    return property(operator.attrgetter(f"lists.{name}"), doc=doc)


class Graph(Whole):
    """A directed graph with numbered edges, from any SciPy or CuPy sparse array or matrix.

    Input arrays are shared if they already have the required type and layout; they are never written to. Ids and
    offsets are checked once, at construction, and must not change afterwards. Values may change: writing into the
    caller's array changes ``values``. On the CPU, algorithms and programs that read weights compare a checksum of the
    values in each call, and recompute what was derived from them (``in_values``, ``value_range``, …) if it differs.
    They trust an array that can't be written to (``A.data.flags.writeable = False``), and edge attributes
    (`weighted_by`), which saves most of the time of short calls on large graphs. Products do not check.

    On a GPU only functions that look for weights they can't use, such as negative ones in `gasla.sssp`, do so, in the
    same pass; `gasla.run` does not. They trust edge attributes as well, and values that no caller can have written to:
    those of ``graph.to("gpu")`` and of graphs made from other graphs (`simple`, `symmetrized`, …), until ``values`` has
    returned the array. `with_values` is the safe and fast way to replace values on either device.

    Parameters
    ----------
    A : sparse array, sparse matrix or Graph
        Square; ``A[i, j]`` is the edge i -> j, its value the weight of the edge. COO, CSC and CSR matrices number the
        edges in the order of their data array, other formats in the order of their CSR form. A matrix of
        ``cupyx.scipy.sparse`` gives a graph on the GPU.
    device : "cpu" or "gpu", optional
        Where the graph is; by default where `A` is. From one device to the other the arrays are copied, as by `to`.
    stream : bool or "compressed"
        With ``device="gpu"``, for graphs larger than the GPU's memory: neighbor lists and values are kept in host
        memory, where kernels read them over the link. Results are the same, in many times the time. With "compressed",
        programs read the ids of neighbors as some 10 to 15 bits each. See `docs/gpu.md`.

    Raises
    ------
    MemoryError
        If the graph does not fit the GPU; the message has both numbers of bytes, and says that ``stream=True`` runs it.
    ValueError
        If `stream` is given without ``device="gpu"``, or is "compressed" for a graph of 2**31 or more vertices.

    Attributes
    ----------
    n, m : int
        Number of vertices; number of edges (stored entries).
    values : ndarray or None
        One value per edge, in the order of the input.
    device : "cpu" or "gpu"
        Whether its arrays are NumPy arrays or CuPy arrays.
    id_dtype, offset_dtype : dtype
        Types of vertex ids and of edge numbers: int32 if `n` or `m` fits, else int64. On the CPU, int64 input arrays
        nevertheless stay int64.
    origin : Origin or None
        For a graph made from another graph (`contract`, `subgraph`, …): where its vertices and edges came from.
    change : Change or None
        For a graph made by `changed`: the edges added and removed.
    lists : Lists
        The edges without values, shared by graphs with the same edges: the input (`rows`, `columns` or `ends`) and the
        neighbor lists built from it. Most properties of the graph read it.
    valued : Values
        The values with all that is derived from them, for readers only: its arrays must not be written to.
    naming : Names or None
        The object that holds `names`.
    edge_attributes, vertex_attributes : mapping of str to ndarray
        Further columns of numbers, one per edge in the order of the input, or one per vertex. See
        `with_edge_attributes` and `weighted_by`.

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
    id_dtype: np.dtype[Any]
    offset_dtype: np.dtype[Any]
    lists: Lists
    naming: Names | None = None
    edge_attributes: Attributes = NO_EDGE_ATTRIBUTES
    vertex_attributes: Attributes = NO_VERTEX_ATTRIBUTES
    origin: Origin | None = None
    change: Change | None = None
    files: MappedFiles | None = None  # the files from which the arrays are mapped (`gasla.io.open`), if any
    _weighted: Mapping[str, Any] = MappingProxyType({})  # the graphs that `weighted_by` has returned, by attribute
    valued: Values
    _known: dict[Hashable, Any]  # the values that `kept` has cached, by key
    _copy: Graph | None = None  # a copy of this graph on the other device, cached by `to`
    # a weak reference to the graph of which this is a copy
    _original: Callable[[], Graph | None] = staticmethod(lambda: None)

    # --- construction from matrices and arrays ------------------------------------------------------------------------

    # A is None when `from_edges` or another constructor calls this, and then sets the graph's fields itself.
    def __new__(cls, A: Any = None, *, device: Device | None = None, stream: Stream = False) -> Self:
        graph = super().__new__(cls)
        graph._known = {}
        return graph

    def __init__(self, A: Any, *, device: Device | None = None, stream: Stream = False) -> None:
        if isinstance(A, Graph):
            A.require_whole()
        if device is not None or stream is not False:
            A = _on_device(A if isinstance(A, Graph) else Graph(A), device, stream)
        if isinstance(A, Graph):
            self.__dict__.update(A.__dict__)
            return
        self._set_lists(*lists_of_matrix(A))

    @classmethod
    def from_edges(
        cls,
        src: ArrayLike,
        dst: ArrayLike,
        weights: ArrayLike | None = None,
        n: int | None = None,
        combine: Monoid | None = None,
    ) -> Self:
        """Return a graph with the edges ``src[e] -> dst[e]``, numbered in that order.

        Parameters
        ----------
        src, dst : array of integers
            Array-like; CuPy arrays give a graph on the GPU.
        weights : array, optional
            One value per edge.
        n : int, optional
            Number of vertices; by default one more than the largest id. It has to be given for more than 2**24
            vertices of which less than one in 16 can have an edge, as the ids may be names then.
        combine : semirings.Monoid, optional
            Merge parallel edges, and reduce their values by this monoid, as ``from_edges(...).simple(combine,
            loops=True)`` does. Edges are then numbered by rows. By default parallel edges are kept.

        Raises
        ------
        MemoryError
            If `n` vertices need more memory than available; the message states both numbers.
        ValueError
            If arrays do not fit each other, an id is negative or not less than `n`, or ids look like names.

        Examples
        --------
        >>> Graph.from_edges([0, 1, 1], [1, 2, 2]).out_degrees
        array([1, 2, 0], dtype=int32)
        >>> import semirings
        >>> Graph.from_edges([1, 0, 1], [2, 1, 2], [5, 3, 4], combine=semirings.plus).values
        array([3, 9])
        """
        src, dst = as_ids("src", src), as_ids("dst", dst)
        graph = cls.__new__(cls)
        count = count_vertices(src, dst) if n is None else vertex_count(n)
        graph._set_lists(*lists_of_edges(count, src, dst, weights))
        return graph if combine is None else graph.simple(combine, loops=True)

    @classmethod
    def from_csr(cls, indptr: ArrayLike, indices: ArrayLike, data: ArrayLike | None = None) -> Self:
        """Return a graph of raw CSR arrays: the out-neighbors of v are ``indices[indptr[v]:indptr[v + 1]]``.

        Examples
        --------
        >>> Graph.from_csr([0, 2, 3, 3], [1, 2, 2])
        Graph(n=3, m=3, values=None)
        """
        indptr = as_ids("indptr", indptr)
        if len(indptr) == 0:
            raise ValueError("indptr is empty; expected n + 1 offsets, which for a graph without vertices is [0]")
        graph = cls.__new__(cls)
        graph._set_lists(*lists_of_rows(len(indptr) - 1, indptr, as_ids("indices", indices), data))
        return graph

    def _set_lists(self, lists: Lists, values: Array | None) -> None:
        self._set_size(lists.n, lists.m, lists.device)
        self.files = lists.files
        self.lists, self.valued = lists, values_of(lists, values)

    def _set_size(self, n: int, m: int, device: Device) -> None:
        self.n, self.m, self.device = n, m, device
        self.id_dtype, self.offset_dtype = index_dtype(n), index_dtype(m)

    # --- conversion from and to other libraries -----------------------------------------------------------------------

    @classmethod
    def from_table(
        cls,
        table: Any,
        src: Column | None = None,
        dst: Column | None = None,
        weight: Column | None = None,
        *,
        attributes: Sequence[Column] | bool = (),
        names: bool | None = None,
        bipartite: bool | None = None,
        undirected: bool | None = None,
        vertices: Any = None,
        vertex: Column | None = None,
    ) -> Self:
        """Return a graph with one edge per row of a table, numbered in that order.

        A table of vertices may be given, too.

        Needs pyarrow: ``pip install 'gasla[arrow]'``.

        Parameters
        ----------
        table : table
            Any table with the Arrow PyCapsule stream: of pandas, polars, pyarrow or cuDF.
        src, dst : str or int, optional
            Columns of ids (integers or strings), by name or by position from 0. By default two with usual titles: "src"
            and "dst", "source" and "target", "from" and "to", "u" and "v", "subject" and "object", "head" and "tail",
            "sender" and "receiver", ":START_ID" and ":END_ID" and the like, in any case and also with "id" or "node".
            Else the first two, unless other columns could be the ends as well, which is an error.
        weight : str or int, optional
            The column of values. By default the column named "weight", if there is one. If `src`, `dst` and this are
            all left out, a further column of numbers is an error, because it may or may not hold weights.
        attributes : list of str or int, or True, optional
            Columns of numbers, dates or times to keep as `edge_attributes`, by their names; True keeps all but the ends
            and the weight. Dates, times of day and durations keep their unit and zone, and are shown as NumPy's
            `datetime64`, in UTC, and `timedelta64`.
        names : bool, optional
            True: ids are names. They are numbered in the order of first appearance, those of `src` first, and kept as
            `names`. False: ids are vertex numbers. By default strings are names, and integers are names if one of them
            is 2**31 or more. In a CSV file, ids with leading zeros, such as 007, are an error unless this is given.
        bipartite : bool, optional
            True: the two columns hold two kinds of vertices, so that an id in both is two vertices. They are named by
            the title of the column and the id, such as "userId 1", and the graph knows its `sides`. By default an id is
            the same vertex in both, with a warning if the titles are those of two kinds, such as "userId" and
            "movieId".
        undirected : bool, optional
            True: each row is an edge in both directions, the second next to the first; a self loop is one edge. By
            default a column "Type" says so, if it holds "Directed" and "Undirected" only, as in tables of Gephi.
        vertices : table, optional
            A row for each vertex. Vertices are numbered in its order, isolated ones too, and its columns of numbers or
            dates become `vertex_attributes`. The ids become `names`, unless they are 0, 1, … in this order. With
            `bipartite` the table of one side, or a list of two, whose ids have the side's title, such as "movieId"; an
            attribute that the other side lacks is NaN or NaT there.
        vertex : str or int, optional
            The column of ids in `vertices`. By default the one called "vertex", "id", "name" or ":ID", and the like.

        Warns
        -----
        UserWarning
            If the titles are those of two kinds of vertices, an id is in both columns, and `bipartite` is left out; if
            columns of `vertices`, or of the edges with ``attributes=True``, are left out, as they hold no numbers.

        Raises
        ------
        TypeError
            If `table` is not a table, a column of ids does not hold integers or strings, or a column of `attributes`
            does not hold numbers or dates.
        ValueError
            If a column is missing, or it is not certain which columns are the ends; if the table has no rows, or a row
            has a missing or negative id; if an end of an edge is not in `vertices`, or an id is there twice.
        MemoryError
            If the vertices need more memory than available; the message states both numbers.
        ImportError
            If pyarrow is missing.

        Examples
        --------
        >>> import pandas as pd  # doctest: +SKIP
        >>> trips = pd.DataFrame({"from": ["Oslo", "Rome"], "to": ["Rome", "Bonn"], "weight": [5, 3]})  # doctest: +SKIP
        >>> graph = Graph.from_table(trips)  # doctest: +SKIP
        >>> graph.names, graph.vertex("Bonn")  # doctest: +SKIP
        (array(['Oslo', 'Rome', 'Bonn'], dtype=object), 2)
        >>> towns = pd.DataFrame({"name": ["Bonn", "Bern", "Oslo", "Rome"], "m": [60, 540, 23, 21]})  # doctest: +SKIP
        >>> Graph.from_table(trips, vertices=towns)  # doctest: +SKIP
        Graph(n=4, m=2, values=int64, vertex_attributes=['m'])
        """
        rows = as_arrow(table)
        if attributes is True:
            attributes = further_columns(rows, src, dst, weight)
        has_vertices = vertices is not None
        are_names = True if names is None and has_vertices else names
        may_be_empty = has_vertices and not bipartite
        edges = edges_of(rows, src, dst, weight, are_names, attributes or (), bipartite, may_be_empty)
        if attributes:
            edges = edges._replace(edge_attributes=attributes_of(rows, attributes))
        if bipartite:
            # Names of sources are numbered before those of targets, so the largest number of a source gives the number
            # of sources.
            count = 1 + int(edges.src.max())
            edges = edges._replace(vertex_attributes={two_sides.SIDES: two_sides.sides(edges.n, count)})
            if has_vertices:
                tables = vertices if isinstance(vertices, list | tuple) else [vertices]
                firsts = two_tables.firsts_of(edges.names, edges.vertex_attributes[two_sides.SIDES])
                edges = two_tables.with_sides(
                    edges, [two_tables.of_side(vertex_table, vertex, firsts) for vertex_table in tables]
                )
        elif has_vertices:
            edges = two_tables.joined(edges, two_tables.vertices_of(vertices, vertex), names)
        edges = libraries.both_ways(edges, undirected_rows(rows) if undirected is None else undirected)
        graph = cls._of_edges(edges)
        weight_name = attribute_of_weight(rows, src, dst, weight, attributes) if attributes else None
        return graph if weight_name is None else graph.weighted_by(weight_name)

    @classmethod
    def from_bipartite(
        cls,
        R: Any,
        src: Column | None = None,
        dst: Column | None = None,
        weight: Column | None = None,
        *,
        attributes: Sequence[Column] | bool = (),
        rows: Sequence[Any] | None = None,
        columns: Sequence[Any] | None = None,
    ) -> Self:
        """Return a bipartite graph of a rectangular matrix or a table, with edges from one side to the other.

        Parameters
        ----------
        R : sparse array, sparse matrix, 2-d array, or table
            Row i is vertex i, and column j is vertex ``R.shape[0] + j``; ``R[i, j]`` is the value of the edge between
            them. Every stored entry is an edge; of a dense array, every entry but 0. A table is read as by `from_table`
            with ``bipartite=True``.
        src, dst, weight, attributes : optional
            For a table, as in `from_table`.
        rows, columns : sequences, optional
            For a matrix: the `names` of the vertices of both sides, all distinct.

        Returns
        -------
        Graph
            Its `sides` are remembered, also by graphs made of it: `gasla.project`, `gasla.negative_edges` and
            `gasla.maximum_bipartite_matching` use them. Edges lead from rows to columns; ``symmetrized()`` has both
            directions, as searches and ranks need them.

        Raises
        ------
        TypeError, ValueError
            If `R` is neither a matrix nor a table; if names are missing, too few, too many or not distinct; and as
            `from_table`.

        Examples
        --------
        Three readers and two books:

        >>> import gasla
        >>> from scipy.sparse import csr_array
        >>> lent = Graph.from_bipartite(csr_array([[5, 0], [3, 4], [0, 1]]), rows=["ann", "bob", "cy"], columns=[1, 2])
        >>> lent.sides, lent.edges()[1]
        (array([0, 0, 0, 1, 1], dtype=uint8), array([3, 3, 4, 4], dtype=int32))
        >>> readers = gasla.project(lent)
        >>> readers.names, readers.values
        (array(['ann', 'bob', 'cy'], dtype=object), array([1, 1, 1, 1]))
        """
        if hasattr(R, "__arrow_c_stream__"):
            if rows is not None or columns is not None:
                raise ValueError(
                    "rows and columns are for a matrix; the vertices of a table have names, by its columns"
                )
            return cls.from_table(R, src, dst, weight, attributes=attributes, bipartite=True)
        if any(argument is not None for argument in (src, dst, weight)) or attributes:
            raise ValueError(f"src, dst, weight and attributes are for a table, and R is a {type(R).__name__}")
        return cls._of_edges(two_sides.edges_of_matrix(R, rows, columns))

    def to_tables(self, as_: Literal["arrow", "pandas", "polars"] = "arrow") -> Tables:
        """Return the graph as a table with a row for each edge, and a table with a row for each vertex.

        Parameters
        ----------
        as_ : {"arrow", "pandas", "polars"}
            The library of both tables: pyarrow, which needs no copies, or a DataFrame.

        Returns
        -------
        edges, vertices : tables
            Columns src, dst, weight if the graph has values, and the edge attributes, in the order of edge numbers; and
            a column vertex with the vertex attributes. Vertices are names, or numbers in a graph without names.
            ``Graph.from_table(edges, attributes=True, vertices=vertices)`` makes the graph again.

        Raises
        ------
        ValueError
            If an edge attribute is called like a column of edges, or a vertex attribute "vertex".
        TypeError
            If names are of several types.

        Examples
        --------
        >>> graph = Graph.from_edges([0, 1], [1, 0], [5, 3], n=3).with_vertex_attributes(height=[60, 23, 21])
        >>> edges, vertices = graph.to_tables()  # doctest: +SKIP
        >>> edges.to_pydict(), vertices.to_pydict()  # doctest: +SKIP
        ({'src': [0, 1], 'dst': [1, 0], 'weight': [5, 3]}, {'vertex': [0, 1, 2], 'height': [60, 23, 21]})
        """
        if as_ not in ("arrow", "pandas", "polars"):
            raise ValueError(f"as_ is {as_!r}; expected 'arrow', 'pandas' or 'polars'")
        self.require_whole()
        graph = self.to("cpu")
        column_sets = two_tables.edge_columns(graph, graph.names), two_tables.vertex_columns(graph)
        return Tables(*(as_table(columns, as_) for columns in column_sets))

    @classmethod
    def from_networkx(cls, G: Any, weight: str | None = "weight", *, attributes: Chosen = False) -> Self:
        """Return a graph made from a NetworkX graph. Undirected edges are stored in both directions, loops once.

        Vertices are numbered in the order of ``G.nodes``. The nodes become `names`, unless they are 0, 1, … in order.

        Parameters
        ----------
        G : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        weight : str, optional
            Edge attribute to use as value; edges without it have value 1, as in NetworkX, with a warning. If None, or
            if no edge has the attribute, the graph has no values.
        attributes : bool or list of str
            Attributes to keep as `edge_attributes` and `vertex_attributes`: those of these names, or with True all that
            every edge, or every node, has as a number, except `weight`.

        Warns
        -----
        UserWarning
            If some edges have the weight and others don't; if ``attributes=True`` leaves out one with some numbers.

        Raises
        ------
        TypeError, ValueError
            If the weight of an edge, or a value of an attribute listed in `attributes`, is not a number, such as None;
            or if no edge and no node has a listed attribute.

        Examples
        --------
        >>> import networkx as nx
        >>> from gasla import Graph
        >>> graph = Graph.from_networkx(nx.Graph([("a", "b"), ("b", "c")]))
        >>> graph, graph.names.tolist()
        (Graph(n=3, m=4, values=None), ['a', 'b', 'c'])
        >>> payments = nx.DiGraph([("ann", "bob", {"amount": 5, "note": "rent"}), ("bob", "ann", {"amount": 2})])
        >>> Graph.from_networkx(payments, attributes=True).edge_attributes["amount"]
        array([5, 2])
        """
        graph = cls._of_edges(libraries.of_records(libraries.records_of(G), weight, attributes))
        return graph if weight not in graph.edge_attributes else graph.weighted_by(cast(str, weight))

    @classmethod
    def from_igraph(cls, g: Any, weight: str | None = "weight", *, attributes: Chosen = False) -> Self:
        """Return a graph made from an igraph graph. Undirected edges are stored in both directions, loops once.

        Parameters
        ----------
        g : igraph.Graph
            The vertex attribute "name", if present, gives the `names`.
        weight : str, optional
            Edge attribute to use as value. If None, or if absent, the graph has no values.
        attributes : bool or list of str
            Attributes to keep as `edge_attributes` and `vertex_attributes`, as for `from_networkx`; "name" is not one.

        Raises
        ------
        TypeError, ValueError
            As `from_networkx`; if two vertices have the same name.

        Examples
        --------
        >>> import igraph
        >>> from gasla import Graph
        >>> Graph.from_igraph(igraph.Graph.Ring(3))
        Graph(n=3, m=6, values=None)
        """
        graph = cls._of_edges(libraries.of_igraph(g, weight, attributes))
        return graph if weight not in graph.edge_attributes else graph.weighted_by(cast(str, weight))

    @classmethod
    def from_edge_index(cls, edge_index: ArrayLike, edge_weight: ArrayLike | None = None, n: int | None = None) -> Self:
        """Return a graph from the ``edge_index`` of PyTorch Geometric: row 0 has the sources, row 1 the targets.

        Parameters
        ----------
        edge_index : (2, m) array or tensor of integers
            A NumPy or CuPy array, or any tensor with DLPack; a CUDA tensor gives a graph on the GPU. Memory is shared
            where possible.
        edge_weight : (m,) array or tensor, optional
        n : int, optional
            Number of vertices, ``data.num_nodes``; by default as for `from_edges`.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edge_index([[0, 1], [1, 2]], n=5)
        Graph(n=5, m=2, values=None)
        """
        return cls._of_edges(libraries.of_edge_index(edge_index, edge_weight, n))

    @classmethod
    def _of_edges(cls, edges: Edges) -> Self:
        graph = cls.__new__(cls)
        graph._set_lists(*lists_of_edges(edges.n, as_ids("src", edges.src), as_ids("dst", edges.dst), edges.weights))
        graph.naming = None if edges.names is None else Names(edges.names)
        if edges.edge_attributes:
            graph = graph.with_edge_attributes(edges.edge_attributes)
        return graph.with_vertex_attributes(edges.vertex_attributes) if edges.vertex_attributes else graph

    def to_scipy(self) -> Any:
        """Return the adjacency matrix as SciPy's CSR array, on the host.

        Returns
        -------
        scipy.sparse.csr_array
            Of shape (n, n): entry (i, j) is the edge i -> j, with its value. Without values, entries are 1 (int64). The
            arrays are copies.

        Notes
        -----
        Entries of a row are in the order of edge numbers, so columns need not ascend. Parallel edges are separate
        entries, which many SciPy operations sum. ``graph.simple(combine)`` combines them in another way.

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
        stored_values = self.valued.each
        values = np.ones(self.m, np.int64) if stored_values is None else lists.by_position(stored_values)
        arrays = (moved(array, "cpu") for array in (values, lists.indices, lists.indptr))
        return csr_array(tuple(arrays), shape=(self.n, self.n), copy=True)

    def to_networkx(self, directed: bool | None = None, *, attributes: Chosen = False) -> Any:
        """Return the graph as a NetworkX graph. Values become the attribute "weight".

        Parameters
        ----------
        directed : bool, optional
            Whether to make a DiGraph, or a Graph in which both directions of an edge are one edge. By default a Graph
            if every edge has a reverse edge of the same value and of the same `attributes`, as in graphs that
            `from_networkx` makes from a Graph.
        attributes : bool or list of str
            Attributes of edges and vertices to convert to those of NetworkX: all, or those of these names.

        Returns
        -------
        networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            A multigraph if the graph has parallel edges. Nodes are the names of vertices, if any, in their order.

        Raises
        ------
        ValueError
            With ``directed=False``, if an edge has no reverse edge, or one of another value or other attributes. If the
            graph has values, and an attribute "weight" that is not these values; or no attribute of a given name.

        Notes
        -----
        No edge or value is lost by default: `from_networkx` gives them back, in another order. Pass ``directed`` where
        the type must not depend on the edges: a directed graph whose edges all have an equal reverse edge, such as one
        without edges, otherwise becomes a Graph.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1], [1, 2], [5, 3]).to_networkx().edges(data="weight")
        OutEdgeDataView([(0, 1, 5), (1, 2, 3)])
        >>> Graph.from_edges([0, 1], [1, 0]).to_networkx().edges
        EdgeView([(0, 1)])
        >>> payments = Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(amount=[5, 2])
        >>> payments.to_networkx(attributes=["amount"]).edges(data="amount")
        OutEdgeDataView([(0, 1, 5), (1, 2, 2)])
        """
        edges = self._edges_on_host(attributes)
        return libraries.to_networkx(edges, self._is_directed(edges, directed), self.has_parallel_edges)

    def _is_directed(self, edges: Edges, directed: Any) -> bool:
        """Return whether the graph becomes a directed graph when it is converted to a graph of another library.

        The argument `directed` of the conversion says so. If it is None, the graph is directed if any edge lacks a
        reverse edge with the same value and attributes.
        """
        if directed is not None and not isinstance(directed, bool):
            raise TypeError(f"directed is {directed!r}; expected True, False or None")
        if directed:
            return True
        self.notice_values()
        is_directed = not is_undirected(self, self.value_type is not None)
        if is_directed and directed is False:
            self._refuse_undirected()
        if not is_directed and edges.edge_attributes and not libraries.are_equal_both_ways(edges):
            if directed is False:
                raise ValueError(
                    "an edge and its reverse edge have different attributes; expected equal ones, directed=True, or "
                    "fewer attributes"
                )
            return True
        return is_directed

    def _refuse_undirected(self) -> None:
        """Raise ValueError for the first edge that has no reverse edge of the same value."""
        partners = self.reverse_edge_ids  # this property raises an error if any edge has no reverse edge at all
        assert self.values is not None
        edge = int((self.values != self.values[partners]).argmax())
        src, dst = self.edges()
        raise ValueError(
            f"edge {edge}, from {int(src[edge])} to {int(dst[edge])}, has value {self.values[edge].item()}, and its "
            f"reverse edge {self.values[partners[edge]].item()}; expected equal values, as graph.symmetrized(monoid) "
            "makes them, or directed=True"
        )

    def to_igraph(self, directed: bool | None = None, *, attributes: Chosen = False) -> Any:
        """Return the graph as an igraph graph. Names become the attribute "name", and values "weight".

        Parameters
        ----------
        directed : bool, optional
            As for `to_networkx`: by default undirected if every edge has a reverse edge of the same value and of the
            same `attributes`, as in graphs that `from_igraph` makes from an undirected one.
        attributes : bool or list of str
            Attributes of edges and vertices to convert to those of igraph: all, or those of these names.

        Raises
        ------
        ValueError
            As `to_networkx`; if a vertex attribute is called "name".

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1], [1, 2], [5, 3]).to_igraph().es["weight"]
        [5, 3]
        >>> Graph.from_edges([0, 1], [1, 0]).to_igraph().is_directed()
        False
        """
        edges = self._edges_on_host(attributes)
        return libraries.to_igraph(edges, self._is_directed(edges, directed))

    def to_edge_index(self) -> Array:
        """Return the (2, m) int64 array of sources and targets in the order of the input, on the graph's device.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1], [1, 2]).to_edge_index()
        array([[0, 1],
               [1, 2]])
        """
        edges: Array = array_module(self.edges()[0]).stack([endpoint.astype(np.int64) for endpoint in self.edges()])
        return edges

    def _edges_on_host(self, attributes: Chosen) -> Edges:
        """Return the edges, values, names and chosen attributes of the graph in host memory, for other libraries."""
        src, dst = (moved(endpoint, "cpu") for endpoint in self.edges())
        values = None if self.value_type is None else moved(self.valued.each, "cpu")
        edge_attribute_names, vertex_attribute_names = libraries.chosen(
            attributes, self.edge_attributes, self.vertex_attributes
        )
        edges, vertices = self.edge_attributes, self.vertex_attributes
        edge_columns = {name: edges.column(name, moved(edges.numbers(name), "cpu")) for name in edge_attribute_names}
        if values is not None and (weight_name := self.edge_attributes.name_of(self.valued.each)) in edge_columns:
            edge_columns[weight_name] = values
        vertex_columns = {
            name: vertices.column(name, moved(vertices.numbers(name), "cpu")) for name in vertex_attribute_names
        }
        return Edges(self.n, src, dst, values, self.names, edge_columns, vertex_columns)

    # --- edges, neighbors and adjacency lists -------------------------------------------------------------------------

    # This method is hidden from type checkers. Otherwise they would take every misspelt attribute for a valid one.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            hint = "; graph.to_scipy() is its matrix" if name in _OF_MATRICES else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)

    def __len__(self) -> int:
        """Return the number of vertices, `n`."""
        return self.n

    def __bool__(self) -> bool:
        return True  # a graph without vertices counts as true, so that ``graph or other`` is `graph`

    def edges(self) -> tuple[Array, Array]:
        """Return the source and the target of each edge, in the order of edge numbers.

        Returns
        -------
        src, dst : (m,) arrays of integers
            Vertex numbers, on the graph's device; ``graph.names[src]`` gives the names. They may be the graph's own
            arrays, and must not be written to.

        Notes
        -----
        For a graph made from CSR (or CSC), each call expands the sources (or targets) in a pass over the edges.

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
        """Return the neighbors of a vertex, each once, in ascending order of their numbers.

        In an undirected graph, which stores every edge in both directions, all values of `direction` agree.

        Parameters
        ----------
        v : int, or a name
            The vertex, as `vertex` takes it.
        direction : {"out", "in", "both"}
            Follow edges from `v` to their targets, edges to `v` back to their sources, or both.

        Returns
        -------
        array
            Names if the graph has `names`; else numbers, on the graph's device. A copy.

        Raises
        ------
        ValueError
            If there is no vertex `v`, or `direction` is none of the three.

        Notes
        -----
        The first call builds the neighbor lists of its direction. A call then takes O(d log d) for degree d.
        ``graph.out`` has the lists themselves, in which parallel edges are separate entries.

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
        vertex_id = self._one_vertex("v", v)
        rows = [] if direction == "in" else [self.out.row(vertex_id)]
        rows += [] if direction == "out" else [self.in_.row(vertex_id)]
        xp = array_module(rows[0])
        ids: Array = xp.unique(xp.concatenate(rows))
        return ids if self.naming is None else self.naming.each[moved(ids, "cpu")]

    def edge_ids(self, src: Any, dst: Any) -> Any:
        """Return the number of the edge from one vertex to another, or of the edge of each of many pairs.

        Parameters
        ----------
        src, dst : int, or a name; or arrays of ids or names of one length
            Sources and targets.

        Returns
        -------
        int, or array of int64
            Positions of edges in the input, as `values`, `edge_attributes` and `select` count them; of parallel edges
            the smallest. -1 where there is no edge. An array is on the graph's device.

        Raises
        ------
        TypeError, ValueError
            If `src` or `dst` holds what is not a vertex, or they differ in length.

        See Also
        --------
        changed : ``changed(remove=(src, dst))`` removes edges by their ends.

        Notes
        -----
        The first call builds `sorted_out`. A call then bisects the list of each source: O(log d) for each pair.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 1, 2, 0], [1, 2, 0, 2], [5.0, 3.0, 4.0, 9.0])
        >>> graph.edge_ids(0, 2)
        3
        >>> ids = graph.edge_ids([2, 1, 1], [0, 2, 0])
        >>> ids, graph.values[ids[:2]]
        (array([ 2,  1, -1]), array([4., 3.]))
        """
        if self.is_streamed:
            ids = self.to("cpu").edge_ids(_to_host_memory(src), _to_host_memory(dst))
            return ids if isinstance(ids, int) else moved(ids, "gpu")
        is_single = not isinstance(src, list) and getattr(src, "ndim", 0) == 0
        if is_single:
            src, dst = [self._one_vertex("src", src)], [self._one_vertex("dst", dst)]
        endpoint_ids = [
            as_ids(name, translate_vertices(self, vertices, name)) for name, vertices in (("src", src), ("dst", dst))
        ]
        if len(endpoint_ids[0]) != len(endpoint_ids[1]):
            raise ValueError(
                f"src has {len(endpoint_ids[0])} entries and dst has {len(endpoint_ids[1])}; expected equal lengths"
            )
        for name, ids in zip(("src", "dst"), endpoint_ids, strict=True):
            check_range(name, ids, self.n)
        edges = edge_lookup.first_edge_ids(self.lists, *(moved(ids, self.device) for ids in endpoint_ids))
        return int(edges[0]) if is_single else edges

    def has_edge(self, u: Any, v: Any) -> bool:
        """Return whether there is an edge u -> v. A stored zero is an edge.

        Parameters
        ----------
        u, v : int, or a name
            Source and target, as `vertex` takes them.

        Raises
        ------
        ValueError
            If `u` or `v` is not a vertex of the graph.

        Notes
        -----
        The first call builds `out`. A call then takes time proportional to the out-degree of `u`.
        `primitives.has_edges` looks up many edges at once.

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

    def _one_vertex(self, name: str, argument: Any) -> int:
        """Return the number of the vertex that an argument gives by its number or its name.

        Raise an error if several vertices are given. `name` is the argument's name in the error.
        """
        vertex = self.vertex(argument)
        if not isinstance(vertex, int):
            raise ValueError(
                f"{name} is {argument!r}; expected one vertex; graph.out holds all neighbors, and primitives.has_edges "
                "looks up many edges"
            )
        return vertex

    @property
    def is_streamed(self) -> bool:
        """Whether adjacency lists and values are in host memory, where a GPU reads them over PCIe (`stream`)."""
        # `__dict__` is used because a distributed graph has no attribute `lists`
        return isinstance(self.__dict__.get("lists"), StreamedLists)

    out: Adjacency = _property_of_lists("out", "Out-edges: the rows of the matrix.")
    in_: Adjacency = _property_of_lists(
        "in_", "In-edges: the columns of the matrix. Shares the arrays of `out` if these are equal."
    )
    both: Adjacency = _property_of_lists(
        "both",
        "Out-edges and in-edges of each vertex in one list, in the order of the input; twice the entries of `out`.",
    )
    leaving: Array = _property_of_lists(
        "leaving",
        "For each entry of `both`, whether it is an out-edge of the list's vertex; a self loop is one of each.",
    )
    sorted_out: Adjacency = _property_of_lists(
        "sorted_out",
        "Out-edges with ascending rows, parallel edges in the order of the input; `out` itself if it is sorted.",
    )
    out_edge_ids: Array = _property_of_lists("out_edge_ids", "The edge number of each entry of `out`.")
    in_edge_ids: Array = _property_of_lists("in_edge_ids", "The edge number of each entry of `in_`.")

    reverse_edge_ids: Array = _property_of_lists(
        "reverse_edge_ids",
        """For each edge, in the order of the input, the number of its reverse edge.

        The reverse of the k-th edge i -> j is the k-th edge j -> i, in the order of the input. A self loop is its own
        reverse. Computed at first use by transposing the lists, and cached.

        Raises
        ------
        ValueError
            If an edge has no reverse edge; the message names the first. `paired` adds the missing ones.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1, 2, 0, 2], [1, 0, 2, 2, 0]).reverse_edge_ids
        array([1, 0, 2, 4, 3], dtype=int32)
        """,
    )

    # --- edge values, and attributes of edges and vertices ------------------------------------------------------------

    @property
    def values(self) -> Array | None:
        """The value of each edge, in the order of the input, or None for a graph without values.

        Examples
        --------
        >>> Graph.from_edges([0, 1], [1, 2], [5, 3]).values
        array([5, 3])
        """
        return self.valued.handed_out()

    @property
    def value_type(self) -> np.dtype[Any] | None:
        """The dtype of the values, or None without values.

        Examples
        --------
        >>> Graph.from_edges([0, 1], [1, 2], [5, 3]).value_type
        dtype('int64')
        """
        stored_values = self.valued.each
        return None if stored_values is None else stored_values.dtype

    @property
    def value_range(self) -> tuple[Any, Any] | None:
        """The smallest and the largest value, as NumPy scalars.

        Both are NaN if any value is. None without values or edges.

        Examples
        --------
        >>> Graph.from_edges([0, 1], [1, 2], [5, 3]).value_range
        (np.int64(3), np.int64(5))
        """
        return self.valued.range

    @property
    def out_values(self) -> Array | None:
        """The edge values in the order of the adjacency lists of out-edges, `out`.

        If the input had this order, this is the array `values` itself.
        """
        self.valued.handed_out()  # the caller may write to the result, which may be the array of values itself
        return self.valued.by_out

    @property
    def in_values(self) -> Array | None:
        """The edge values in the order of the adjacency lists of in-edges, `in_`.

        If `out` has the same order, this is the same array as `out_values`.
        """
        self.valued.handed_out()
        return self.valued.by_in

    @property
    def has_symmetric_values(self) -> bool:
        """Whether the edges i -> j and j -> i have the same values, in any order, for all i and j. NaN equals NaN."""
        return self.valued.are_symmetric

    @property
    def has_mirrored_values(self) -> bool:
        """Whether there are no parallel edges, and j -> i has bit-identical the value of i -> j, for all i and j.

        Then `out_values` and `in_values` are equal. `has_symmetric_values` allows parallel edges, and compares values
        as numbers.
        """
        return self.valued.are_mirrored

    def with_values(self, values: Any) -> Self:
        """Return a graph with the same edges and other values, in the order of the input.

        It shares the neighbor lists and their properties, and nothing that depends on values.

        Parameters
        ----------
        values : (m,) array, function, or None
            On the graph's device. Shared, not copied, if its type and layout fit. A function computes them, entry by
            entry, from the graph's values.

        Examples
        --------
        >>> g = Graph.from_edges([0, 1, 0], [1, 2, 2], [5, 3, 4])
        >>> g.with_values([1, 2, 9]).in_values
        array([1, 2, 9])
        >>> g.with_values(lambda values: 2 * values).values
        array([10,  6,  8])
        >>> g.in_ is g.with_values(None).in_
        True
        """
        values = as_values(values(self.valued.each) if callable(values) else values, self.m)
        if values is not None and not self.is_streamed:
            same_device(edges=self.lists.any_ids, values=values)
        graph = self._duplicate()
        graph._set_lists(self.lists, values)
        return graph

    def with_edge_attributes(self, columns: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """Return a graph with the same edges and values, and with further columns in `edge_attributes`.

        `weighted_by` makes an attribute the values, for any algorithm; a vertex program reads one by name, if it
        declares the field as ``gasla.edge(dtype, attribute="time")``. Graphs made from this graph keep its attributes
        (`select`, `subgraph`, `simple`, `symmetrized`, `contract`, `reversed`, `changed`, …); they are computed when
        they are first read.

        Parameters
        ----------
        columns : mapping of str to (m,) array or function, optional
            Columns of numbers or dates by name, on the graph's device, in the order of the input; None removes a
            column. Shared, not copied, if type and layout fit, and must not be written to. Dates, times of day and
            durations, of NumPy, Python, pandas, polars or Arrow, keep their unit and zone, and are shown as NumPy's
            `datetime64`, in UTC, and `timedelta64`; programs, weights and a GPU have them as integers of the unit. A
            function computes a column, entry by entry, from the mapping of the columns that the graph has.
        **named : (m,) array, function, or None
            Further columns.

        Raises
        ------
        TypeError
            If a column holds something else, such as strings, or is on another device.
        ValueError
            If a column has another length, or an attribute to be removed does not exist.

        Examples
        --------
        >>> from gasla import Graph
        >>> payments = Graph.from_edges([0, 0, 1], [1, 1, 2]).with_edge_attributes(amount=[5, 2, 9], hour=[8, 7, 9])
        >>> payments.select(payments.edge_attributes["hour"] > 7).edge_attributes["amount"]
        array([5, 9])
        >>> payments.with_edge_attributes(minute=lambda edges: 60 * edges["hour"]).edge_attributes["minute"]
        array([480, 420, 540])
        """
        graph, new_columns = self._duplicate(), {**(columns or {}), **named}
        new_columns = {
            name: column(self.edge_attributes) if callable(column) else column for name, column in new_columns.items()
        }
        if self.is_streamed:
            checked = Attributes("edge").replaced(
                {name: _to_host_memory(c) for name, c in new_columns.items()}, self.m, "cpu"
            )
            new_columns |= {name: checked.column(name, lent(checked.numbers(name))) for name in checked}
        graph.edge_attributes = self.edge_attributes.replaced(new_columns, self.m, self.device)
        return graph

    def with_vertex_attributes(self, columns: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """Return a graph with the same vertices and edges, and with further columns in `vertex_attributes`.

        A vertex program starts with one, if it declares the field as
        ``gasla.vertex(dtype, init=lambda vertex: vertex.population)``.
        Graphs made from this graph keep its attributes, except if vertices are merged (`contract`).

        Parameters
        ----------
        columns : mapping of str to (n,) array, optional
            Columns of numbers or dates by name, as for `with_edge_attributes`; None removes a column.
        **named : (n,) array or None
            Further columns.

        Raises
        ------
        TypeError, ValueError
            As `with_edge_attributes`.

        Examples
        --------
        >>> from gasla import Graph
        >>> towns = Graph.from_edges([0, 1], [1, 2]).with_vertex_attributes(population=[900, 50, 700])
        >>> towns.subgraph([2, 0]).vertex_attributes["population"]
        array([700, 900])
        """
        graph = self._duplicate()
        graph.vertex_attributes = self.vertex_attributes.replaced({**(columns or {}), **named}, self.n, self.device)
        return graph

    def _duplicate(self) -> Self:
        """Return another Graph object with the same edges, values, names and attributes, and an empty cache."""
        graph: Self = type(self).__new__(type(self))
        graph._set_lists(self.lists, self.valued.each)
        graph.valued, graph.naming, graph.origin = self.valued, self.naming, self.origin
        graph.edge_attributes, graph.vertex_attributes = self.edge_attributes, self.vertex_attributes
        return graph

    def weighted_by(self, attribute: str) -> Self:
        """Return the graph with an edge attribute as its values, so that every algorithm takes it as weights.

        It shares the neighbor lists. It is made once and cached with this graph, with all that algorithms compute
        from it.

        Parameters
        ----------
        attribute : str
            A name in `edge_attributes`.

        Raises
        ------
        ValueError
            If there is no such attribute; the message has the nearest name.

        Examples
        --------
        >>> import gasla
        >>> flights = gasla.Graph.from_edges([0, 0, 1], [1, 2, 2])
        >>> flights = flights.with_edge_attributes(hours=[1.5, 4.0, 2.0], price=[90, 300, 60])
        >>> gasla.sssp(flights.weighted_by("hours"), 0), gasla.sssp(flights.weighted_by("price"), 0)
        (array([0. , 1.5, 3.5]), array([  0.,  90., 150.]))
        """
        self.edge_attributes.require(attribute)
        graph = self._weighted.get(attribute)
        if graph is None:
            weighted = self.with_values(self.edge_attributes.numbers(attribute))
            graph = self.__dict__.setdefault("_weighted", {}).setdefault(attribute, weighted)
        return graph

    def notice_values(self) -> None:
        """Discard everything that was derived from the edge values if a caller has written to the values since.

        This is called on the CPU before weights are read.
        """
        if self.device != "cpu" or self.valued.each is None or self._has_locked_values:
            return
        self._discard_if_changed(self.valued.checksum())

    def _discard_if_changed(self, checksum: Hashable) -> None:
        """Discard what was derived from the edge values if their checksum `checksum` differs from the recorded one."""
        recorded_checksum = self.valued.noted
        if checksum == recorded_checksum:
            return
        if recorded_checksum is not None:
            self._known, self._copy = {}, None  # cached results and the copy on the other device may depend on values
            self.valued = values_of(self.lists, self.valued.each)
        self.valued.noted = checksum

    def _noticed_range(self) -> Any:
        """Return the smallest and the largest edge value as they are now, even if a caller has written to the values.

        On a GPU this discards what was derived from the values if they have changed, as `notice_values` does on the
        CPU.
        """
        if not self._reads_values_each_time:
            return self.value_range
        bounds, checksum = self.valued.range_and_checksum()
        self._discard_if_changed(checksum)
        return bounds

    @property
    def _has_locked_values(self) -> bool:
        """Whether no caller can write to the values: the array is read-only, an attribute, or mapped from files."""
        stored_values = self.valued.each
        is_mapped = self.files is not None and self.files.hold(stored_values)
        return is_mapped or self.valued.are_locked or self.edge_attributes.name_of(stored_values) is not None

    @property
    def _reads_values_each_time(self) -> bool:
        """Whether each call that checks the weights has to read all of them, because a caller may have written to them.

        This is so on a GPU, unless no caller can write to the values.
        """
        return self.device != "cpu" and not self._has_locked_values

    # --- names of vertices, and the sides of bipartite graphs ---------------------------------------------------------

    @property
    def names(self) -> Array | None:
        """The names of the vertices, an (n,) NumPy array on either device, or None if vertices have only numbers.

        Graphs made from this one keep the names, unless vertices are merged (`contract`).
        """
        return None if self.naming is None else self.naming.each

    @property
    def sides(self) -> Array | None:
        """The side, 0 or 1, of each vertex of a bipartite graph, or None if the graph does not know its sides.

        `from_bipartite` sets it, as the vertex attribute "bipartite"; NetworkX calls it so, too.

        Examples
        --------
        >>> Graph.from_edges([0, 1], [2, 2]).with_vertex_attributes(bipartite=[0, 0, 1]).sides
        array([0, 0, 1])
        """
        return two_sides.sides_of(self)

    @overload
    def vertex(self, name: list[Any]) -> Array: ...
    @overload
    def vertex(self, name: Any) -> int: ...

    def vertex(self, name: Any) -> int | Array:
        """Return the number of the vertex with this name. In a graph without names, return the number itself.

        Functions that take vertices take names as well. If names are integers, this says that one is meant as a name:
        functions take what it returns for a number, even if another vertex has that name.

        Parameters
        ----------
        name : a name, or a list or an array of names
            For a list or an array, the result is an array of numbers, on the graph's device.

        Raises
        ------
        ValueError
            If there is no vertex with this name or number.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1], [1, 2]).vertex(2)
        2
        >>> Graph.from_edges([0, 1], [1, 2]).vertex([2, 0])
        array([2, 0], dtype=int32)
        """
        if isinstance(name, list) or getattr(name, "ndim", 0) > 0:
            vertex_names = name if isinstance(name, list) else name.tolist()
            return moved(
                np.array([self.vertex(vertex_name) for vertex_name in vertex_names], self.id_dtype), self.device
            )
        if self.naming is not None:
            return self.naming.number(name)
        if isinstance(name, bool) or not isinstance(name, (int, np.integer)) or not 0 <= name < self.n:
            raise ValueError(f"no vertex is named {name!r}; the graph has no names, but numbers from 0 to {self.n - 1}")
        return int(name)

    def name(self, vertex: Any) -> Any:
        """Return the name of a vertex, or of each vertex in an array of vertex numbers. `vertex` is the opposite.

        Parameters
        ----------
        vertex : int, or array of integers
            Numbers of vertices, such as the parents, paths, walks or pairs in results. -1 stands for no vertex.

        Returns
        -------
        a name, or an array of names
            A NumPy array of the same shape on either device. In place of -1 it has None, as an array of objects. In a
            graph without names, the numbers themselves.

        Raises
        ------
        TypeError, ValueError
            If a number is not an integer, or outside the graph.

        Examples
        --------
        >>> import gasla, networkx as nx
        >>> graph = gasla.Graph.from_networkx(nx.DiGraph([("Oslo", "Rome"), ("Rome", "Bonn"), ("Bern", "Bonn")]))
        >>> graph.name(0), graph.name(gasla.shortest_path(graph, "Oslo", "Bonn").path)
        ('Oslo', array(['Oslo', 'Rome', 'Bonn'], dtype=object))
        >>> graph.name(gasla.bfs(graph, "Oslo", parents=True).parents)
        array(['Oslo', 'Oslo', 'Rome', None], dtype=object)
        """
        ids = np.asarray(moved(vertex, "cpu"))
        if ids.size and ids.dtype.kind not in "iu":
            raise TypeError(f"vertex is {ids.dtype}{ids.shape}; expected numbers of vertices, integers")
        for extreme_id in (int(ids.min()), int(ids.max())) if ids.size else ():
            if not -1 <= extreme_id < self.n:
                raise ValueError(f"vertex has {extreme_id}; expected 0 to {self.n - 1}, or -1 for no vertex")
        if self.naming is None:
            return ids if ids.ndim else int(ids)
        names = called(self.naming, ids.reshape(-1).astype(np.int64, copy=False))
        return names.reshape(ids.shape) if ids.ndim else names.tolist()[0]

    def named(self, *results: Any, **columns: Any) -> Any:
        """Return a table of results with one row per vertex, in the order of vertex numbers, with a column of names.

        Needs pyarrow. `gasla.table` makes tables of pandas and polars as well, and writes files.

        Parameters
        ----------
        *results : (n,) array, named tuple or dict of (n,) arrays, or Result
            What an algorithm or a run returned. An array becomes the column "value"; a named tuple or Result gives one
            column per field that is an (n,) array; a dict gives one per key.
        **columns : (n,) array, a result, or a number or text
            Further columns, by name, as in `gasla.table`; a number or a text stands in every row.

        Returns
        -------
        pyarrow.Table
            The column "vertex", with names or numbers, and the columns of the results. Vertices in results stay
            numbers; `name` gives their names.

        Raises
        ------
        ValueError
            If an array has another shape, or two columns have the same name.

        Examples
        --------
        >>> from gasla import Graph, pagerank
        >>> graph = Graph.from_edges([0, 1], [1, 0])
        >>> graph.named(rank=[0.5, 0.5]).to_pydict()  # doctest: +SKIP
        {'vertex': [0, 1], 'rank': [0.5, 0.5]}
        """
        return as_table(in_zone(columns_of(self.n, self.names, results, columns), self), "arrow")

    # --- graphs derived from this graph -------------------------------------------------------------------------------

    @_runs_on_host
    def select(self, edges: ArrayLike) -> Self:
        """Return the graph with all vertices and the selected edges, in their order.

        Parameters
        ----------
        edges : (m,) array of bool, or array of integers
            A mask over the edges in the order of the input, or ascending edge numbers.

        Raises
        ------
        TypeError
            If `edges` has another type, or is on another device.
        ValueError
            If the mask has another length, or edge numbers don't ascend or are out of range.

        Notes
        -----
        Peak memory besides both graphs: up to 16 bytes per edge of the new graph, and 12 per edge of this one.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [5, 3, 4])
        >>> far = graph.select(graph.values > 3)
        >>> far.values, far.origin.edges
        (array([5, 4]), array([0, 2], dtype=int32))
        """
        return self._derived(subgraphs.select(self.lists, self.valued.each, edges))

    @_runs_on_host
    def subgraph(self, vertices: ArrayLike) -> Self:
        """Return the induced subgraph: the selected vertices, and all edges between them in their order.

        Parameters
        ----------
        vertices : (n,) array of bool, or array of integers or names
            A mask over the vertices, or distinct ids or names in any order, in which the new vertices are numbered.

        Raises
        ------
        TypeError
            If `vertices` has another type, or is on another device.
        ValueError
            If the mask has another length, or ids repeat or are out of range.

        Notes
        -----
        Reads only the edges of the selected vertices if the graph was made from CSR or CSC and, on the CPU, ids ascend,
        or else if their out-edges are few; otherwise all edges. Peak memory besides both graphs: up to 4 bytes per
        vertex of this one, and 17 per edge, or 40 per edge that is read.

        Examples
        --------
        >>> import gasla
        >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
        >>> triangle = graph.subgraph(gasla.k_core(graph, 2))
        >>> triangle, triangle.origin.edges
        (Graph(n=3, m=3, values=None), array([0, 1, 2], dtype=int32))
        """
        return self._derived(
            subgraphs.subgraph(self.lists, self.valued.each, translate_vertices(self, vertices, "vertices"))
        )

    @_runs_on_host
    def simple(self, combine: Combine = None, *, loops: bool = False) -> Self:
        """Return the graph without self loops, with parallel edges merged into one.

        Directions are kept: see `symmetrized`. Edges are numbered by rows, neighbors ascending.

        Parameters
        ----------
        combine : semirings.Monoid, or mapping of str to Monoid, optional
            Reduces the values and the attributes of parallel edges, in the order of the input. By default, the first
            one is kept. A mapping has a monoid for each attribute to reduce, by name, and for the values (unless they
            are an attribute) as "weight".
        loops : bool
            Whether to keep self loops (merged, too).

        Notes
        -----
        Given a monoid, edges without values count 1 each: `plus` counts parallel edges, in int64. If the monoid is
        idempotent, such as `min`, the new graph has no values either. Sums have the type of the values. Peak memory
        besides both graphs: 30 bytes per edge of this one and its values, less if its rows are sorted; 50 bytes per
        edge where edges without values are counted.

        Examples
        --------
        >>> import semirings
        >>> from gasla import Graph
        >>> calls = Graph.from_edges([1, 0, 1, 2], [0, 1, 0, 2], [5, 3, 4, 9])
        >>> calls.simple().values, calls.simple(semirings.plus).values
        (array([3, 5]), array([3, 9]))
        >>> calls = calls.with_edge_attributes(hour=[8, 9, 7, 6])
        >>> calls.simple({"weight": semirings.plus, "hour": semirings.max}).edge_attributes["hour"]
        array([9, 8])
        """
        value_monoid, monoids = attribute_merging.by_column(combine, self.edge_attributes, self.valued.each)
        merged_parts = merging.simple(self.lists, self.valued.each, value_monoid, loops)
        return self._derived(
            merged_parts, attribute_merging.merged(self.edge_attributes, self.lists, merged_parts, monoids)
        )

    @_runs_on_host
    def contract(self, labels: ArrayLike, combine: Combine = plus, *, loops: bool = True) -> Self:
        """Return the quotient graph: vertices with equal labels become one vertex.

        Groups are numbered in the order of their labels, so labels 0, 1, … become the vertex numbers. An edge within a
        group becomes a self loop; in an undirected graph, which stores both directions, the loop counts the edge twice,
        as modularity expects. Edges are numbered by rows, neighbors ascending.

        Parameters
        ----------
        labels : (n,) array of integers
            The group of each vertex, from 0 to n - 1.
        combine : semirings.Monoid, mapping of str to Monoid, or None
            Merge the edges between the same two groups, and reduce their values and attributes, in the order of the
            input; a mapping as for `simple`. With None they stay parallel edges, in the order of the input.
        loops : bool
            Whether to keep edges within groups, as self loops.

        Raises
        ------
        TypeError
            If labels are not integers or are on another device, or `combine` does not accept the type of the values.
        ValueError
            If the number of labels is not n, or a label is out of range.

        Notes
        -----
        Edges without values count 1 each: `plus` counts edges, in int64. If the monoid is idempotent, such as `min`,
        the new graph has no values either. Sums have the type of the values; floats are added in the order of the input
        on the CPU, and in a fixed order on a GPU. Peak memory besides both graphs: 36 bytes per edge of this one and
        its values, and 9 per vertex. A GPU sorts edges by both ends at once, which takes some 50 bytes per edge.

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
        groups = as_labels(labels, self.n)
        subgraphs.require_here(self.lists, "labels", groups)
        value_monoid, monoids = attribute_merging.by_column(combine, self.edge_attributes, self.valued.each)
        merged_parts = merging.contract(
            self.lists, self.valued.each, groups, value_monoid, loops, merges=combine is not None
        )
        return self._derived(
            merged_parts, attribute_merging.merged(self.edge_attributes, self.lists, merged_parts, monoids)
        )

    @_runs_on_host
    def symmetrized(self, combine: Combine = None) -> Self:
        """Return the undirected graph: all edges between i and j become one edge i -> j and one j -> i of equal values.

        Self loops are kept, once. Edges are numbered by rows, neighbors ascending.

        Parameters
        ----------
        combine : semirings.Monoid, or mapping of str to Monoid
            Reduces the values and the attributes of all edges between i and j, in either direction, in the order of the
            input; a mapping as for `simple`. Required for values. Of an attribute without a monoid, the first is kept.

        Raises
        ------
        ValueError
            If the graph has values that `combine` has no monoid for.

        Notes
        -----
        `max` and `min` leave a symmetric graph as it is; `plus` adds both directions. Edges without values are treated
        as in `simple`. If only i -> j exists, `origin` gives its number for j -> i as well. Peak memory besides both
        graphs: 12 bytes per edge and twice its values; 64 bytes and twice its values on a GPU.

        Examples
        --------
        >>> import semirings
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 1, 1], [1, 0, 2], [5, 3, 4])
        >>> both = graph.symmetrized(semirings.plus)
        >>> both.out.indices, both.values
        (array([1, 0, 2, 1], dtype=int32), array([8, 8, 4, 4]))
        """
        if self.value_type is not None and combine is None:
            raise ValueError(
                "the graph has values and combine is not given; expected a monoid for those of i -> j and j -> i, such "
                "as semirings.max or semirings.plus, or a graph without: graph.with_values(None)"
            )
        value_monoid, monoids = attribute_merging.by_column(combine, self.edge_attributes, self.valued.each)
        if self.value_type is not None and value_monoid is None:
            raise ValueError(
                "combine has no monoid for the values of the graph; expected one, as 'weight': semirings.max"
            )
        merged_parts = merging.symmetrized(self.lists, self.valued.each, value_monoid)
        return self._derived(
            merged_parts, attribute_merging.merged_both_ways(self.edge_attributes, self.lists, merged_parts, monoids)
        )

    @_runs_on_host
    def reversed(self) -> Self:
        """Return the graph with every edge reversed.

        Edge numbers stay; lists and values are shared, so it takes no memory.

        Examples
        --------
        >>> from gasla import Graph
        >>> graph = Graph.from_edges([0, 0, 1], [1, 2, 2])
        >>> graph.reversed().out_degrees, graph.reversed().in_ is graph.out
        (array([0, 1, 2], dtype=int32), True)
        """
        origin = Origin(IdMap(self.device, self.n, self.n), IdMap(self.device, self.m, self.m))
        return self._derived(Derived(self.lists.reversed(), self.valued.each, origin))

    def _derived(self, parts: Derived, attributes: Attributes | None = None) -> Self:
        """Return a graph derived from this graph, which is made of `parts`: adjacency lists, edge values and origin.

        `attributes` are the edge attributes, if edges were merged. Without them, each edge keeps the attributes that it
        had in this graph. Names and attributes of vertices are kept unless vertices were merged.
        """
        graph: Self = type(self).__new__(type(self))
        graph._set_lists(parts.lists, parts.values)
        graph.valued.are_private = self._owns(parts.values)
        graph.origin = parts.origin
        if self.edge_attributes:
            new_attributes = (
                parts.origin.edge_map.map_attributes(self.edge_attributes) if attributes is None else attributes
            )
            graph.edge_attributes = new_attributes.shared(self.edge_attributes.name_of(self.valued.each), parts.values)
        if self.vertex_attributes and not parts.origin.vertex_map.merges:
            graph.vertex_attributes = parts.origin.vertex_map.map_attributes(self.vertex_attributes)
        graph.naming = None if self.naming is None else parts.origin.vertex_map.map_names(self.naming)
        return graph

    def _owns(self, values: Array | None) -> bool:
        """Return whether no caller can write to `values`, the edge values of a graph that was derived from this graph.

        This is so if they are a new array on a GPU. If they share memory with this graph's values, callers may write to
        them.
        """
        is_new = self.device == "gpu" and values is not self.valued.each and cast(Any, values).base is None
        if not is_new:
            self.valued.handed_out()
        return is_new

    @_runs_on_host
    def paired(self, fill: Any = 0, *, loops: bool = False) -> Self:
        """Return the graph with missing reverse edges added, so that `reverse_edge_ids` exists.

        If no edge lacks a reverse edge, return the graph itself.

        Edges keep their numbers. Added edges come after them, in the order of the edges that they reverse, then loops.

        Parameters
        ----------
        fill : number
            The value of added edges, converted to the type of the graph's values (0 becomes False for bool). A graph
            without values gets int64 values, 1 for its own edges, unless `fill` is None. Dates of added edges are NaT.
        loops : bool
            Whether to add a self loop at every vertex, even if it has one. A vertex program can use the loops to keep
            vertices active without a message from a neighbor.

        Returns
        -------
        Graph
            Its `origin.edges` is -1 for added edges.

        Raises
        ------
        TypeError
            If the type of the graph's values can't hold `fill`.

        Notes
        -----
        Cost as for `changed`: one pass over the edges, and neighbor lists already built are updated.

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
        unpaired, added_ends = pairing.missing(self.lists, partners, loops)
        count = len(added_ends[0])
        if count == 0:
            return self
        xp = array_module(partners)
        graph = self.with_values(xp.ones(self.m, np.int64)) if self.values is None and fill is not None else self
        attributes, weight_name = self.edge_attributes, self.edge_attributes.name_of(self.valued.each)
        values: tuple[Any, ...] = ()
        if graph.values is not None and weight_name is None:
            values = (xp.full(count, pairing.as_held(fill, graph.values.dtype)),)
        if attributes:
            fill_value = 0 if fill is None else fill
            fills = {name: NAT if name in attributes.time_types else fill_value for name in attributes}
            columns = {
                name: xp.full(count, pairing.as_held(fills[name], dtype)) for name, dtype in attributes.types.items()
            }
            values += ({name: attributes.column(name, column) for name, column in columns.items()},)
        paired_graph = graph.changed(insert=(*added_ends, *values))
        paired_graph.origin = pairing.origin(self.lists, paired_graph.m)
        paired_graph.lists.__dict__["reverse_edge_ids"] = pairing.with_missing(partners, unpaired, paired_graph.lists)
        finish(self.device)
        return paired_graph

    @_runs_on_host
    def changed(self, insert: Any = None, remove: Any = None) -> Self:
        """Return a new graph with some edges removed and others inserted. This graph is not modified.

        Remaining edges keep their order; they are renumbered without gaps. Inserted edges get the last numbers, in the
        order given. The `change` of the new graph lists the inserted and the removed edges.

        Parameters
        ----------
        insert : (src, dst) or (src, dst, weights), optional
            New edges ``src[e] -> dst[e]``, arrays of ids or names, with weights if and only if the graph has values. If
            the graph has edge attributes, the last item is a mapping with a column for each; if the values are an
            attribute (`weighted_by`), it has the weights, too.
        remove : array of integers, or (src, dst), optional
            Numbers of the edges to remove, each once; or a tuple of the sources and the targets of edges to remove,
            arrays of ids or names, parallel edges included. An undirected graph has each edge in both directions.

        Returns
        -------
        Graph
            On the same device, with the same number of vertices. It shares no array with this graph.

        Raises
        ------
        TypeError, ValueError
            For vertices or edges outside the graph, edges removed twice, pairs of vertices to remove without an edge,
            arrays on another device, and weights that are missing, superfluous, or of a type that the graph's values
            can't hold.

        Notes
        -----
        One pass over the ends of all edges, their values, and the neighbor lists that this graph has built: the new
        graph gets updated lists, without sorting. Temporary memory: up to 20 bytes per edge. `gasla.run` can continue
        from a result on the previous graph: see its `start`.

        Examples
        --------
        >>> from gasla import Graph
        >>> path = Graph.from_edges([0, 1, 2], [1, 2, 3], [5, 3, 4])
        >>> detour = path.changed(insert=([0], [3], [9]), remove=[1])
        >>> detour.out.indices, detour.out_edge_ids, detour.values
        (array([1, 3, 3], dtype=int32), array([0, 2, 1], dtype=int32), array([5, 4, 9]))
        >>> detour.change.removed
        array([1])
        >>> path.changed(remove=([1], [2])).edges()
        (array([0, 2], dtype=int32), array([1, 3], dtype=int32))
        """
        self.notice_values()
        graph: Self = type(self).__new__(type(self))
        weight_name = self.edge_attributes.name_of(self.valued.each)
        insert, columns = changes.split(insert, self.edge_attributes, weight_name, self.device)
        if isinstance(insert, tuple | list) and len(insert) >= 2:
            names = "the src of insert", "the dst of insert"
            insert = [
                *(translate_vertices(self, *ids_and_name) for ids_and_name in zip(insert, names, strict=False)),
                *insert[2:],
            ]
        if isinstance(remove, tuple) and len(remove) == 2:
            names = "the src of remove", "the dst of remove"
            remove = tuple(translate_vertices(self, *ids_and_name) for ids_and_name in zip(remove, names, strict=True))
        lists, valued, graph.change = changes.changed(self.lists, self.valued, insert, remove)
        graph._set_lists(lists, valued.each)
        valued.are_private = self._owns(valued.each)
        graph.valued, graph.naming = valued, self.naming
        if columns:
            remaining_attributes = changes.changed_attributes(
                self.edge_attributes, self.m, graph.change.removed, columns
            )
            graph.edge_attributes = remaining_attributes.shared(weight_name, valued.each)
        graph.vertex_attributes = self.vertex_attributes
        earlier = {} if len(graph.change.removed) else {**self._known.get("earlier", {}), self.edition: self.m}
        # The keys are weak references, so entries vanish when no graph or result has the edition any more.
        graph._known["earlier"] = WeakKeyDictionary(earlier)
        finish(self.device)
        valued.note()
        return graph

    @property
    def edition(self) -> Edition:
        """An object that stands for the edges and values that the graph has now.

        If a caller has written to the values, `notice_values` replaces it by another object.
        """
        current: Edition | None = self._known.get("edition")
        return current or self._known.setdefault("edition", Edition())

    def ends_since(self, edition: Edition) -> tuple[Array, Array] | None:
        """Return the sources and targets of the edges that were inserted since `edition`, as a result has recorded it.

        An edition stands for the edges and values of this graph, or of a graph that it was made from, at one time.
        Return None if anything else has changed since, or if the edition is unknown.
        """
        first_edge = self.m if edition is self.edition else self._known.get("earlier", {}).get(edition)
        if first_edge is None:
            return None
        lists = self.lists.host if isinstance(self.lists, StreamedLists) else self.lists
        if lists.ends is None:  # A graph made by `changed` always has `endpoint`. So no edges were inserted here.
            nothing = module_of(self.device).zeros(0, self.id_dtype)
            return nothing, nothing
        src, dst = (moved(endpoint[first_edge:], self.device) for endpoint in lists.ends)
        return src, dst

    def to(self, device: Device) -> Graph:
        """Return the graph on a device: itself if its arrays are there, else a copy.

        The copy is made once, and lives as long as this graph. It does not see later writes into this graph's arrays.
        Its ids have the type `id_dtype`.

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

    def _copied(self, device: Device, stream: Stream = False) -> Graph:
        copy = Graph.__new__(Graph)
        lists: Lists
        valued: Values
        if stream:
            self.notice_values()
            lists = streamed = StreamedLists(self.lists, packs=stream == "compressed")
            valued = StreamedValues.of(streamed, self.valued)
        else:
            require_room(self.lists, self.valued.each, device)
            lists = self.lists.to(device)
            valued = self.valued.to(device, lists)
        copy._set_lists(lists, None)
        copy.valued = valued
        copy.origin, copy.naming = self.origin, self.naming
        weight_name = self.edge_attributes.name_of(self.valued.each)
        columns = self.edge_attributes.mapped(lambda _, c: lent(c)) if stream else self.edge_attributes.to(device)
        copy.edge_attributes = columns.shared(weight_name, valued.each)
        copy.vertex_attributes = self.vertex_attributes.to(device)
        copy._original = weakref.ref(self)
        copy._known |= {"edition": self.edition, "earlier": self._known.get("earlier", {})}
        return copy

    def __getstate__(self) -> dict[str, Any]:
        self.notice_values()
        # These fields are not pickled. A pickle needs no `files`, because it contains the data of arrays that are
        # mapped from files.
        left_out = ("_copy", "_original", "_known", "_weighted", "files")
        return {name: field for name, field in self.__dict__.copy().items() if name not in left_out}

    # --- values that engines and algorithms cache with a graph, and the memory that they take
    # --------------------------

    def kept(self, kind: Hashable, make: Callable[[Graph], T]) -> T:
        """Return a value that an engine or an algorithm computes from the graph, cached with it and freed with it.

        Copies on the other device and pickles do not contain it. If several threads ask at the same time, each may
        compute the value, and all get the same object.

        Parameters
        ----------
        kind : hashable
            The key in the cache.
        make : function of the Graph
            Computes the value: not None, and without a reference to the graph, which would form a cycle.

        Examples
        --------
        >>> g = Graph.from_edges([0, 1, 1], [1, 2, 2])
        >>> g.kept("leaves", lambda graph: int((graph.out_degrees == 0).sum()))
        1
        """
        value = self._known.get(kind)
        if value is None:
            computed = make(self)
            if self.device == "gpu":
                # Another thread may read the value on another CUDA stream, so this waits until the GPU has computed it.
                finish("gpu")
            value = self._known.setdefault(kind, computed)
        return value

    def known(self, kind: Hashable) -> Any:
        """Return the value that `kept` has cached with this graph under a key, or None if there is none."""
        return self._known.get(kind)

    def forget(self) -> None:
        """Discard the values that `kept` has cached with this graph. Later calls compute them again."""
        self._known = {
            cache_key: self._known[cache_key] for cache_key in ("edition", "earlier") if cache_key in self._known
        }

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays that the graph holds now, including input arrays that it shares with the caller.

        The number grows as adjacency lists and properties are computed. For a streamed graph (``stream=True``), arrays
        in host memory count as well. Graphs cached with this one count, workspaces of runs don't
        (`VertexProgram.workspace`).
        """
        # Graphs that `weighted_by` returned have the same adjacency lists as this graph, so lists are counted only
        # once.
        graphs: list[Graph] = [self, *self._weighted.values()]
        arrays_now = [*self.lists.arrays(), *(array for graph in graphs for array in graph.valued.arrays())]
        arrays_now += [*self.edge_attributes.arrays(), *self.vertex_attributes.arrays()]
        total_bytes = sum({(address(array), array.nbytes): array.nbytes for array in arrays_now}.values())
        # copies of the caches, because other threads may add entries during the loop below
        caches = [graph._known.copy() for graph in graphs]
        # each value counts once, even if it is cached under several keys
        cached = {id(item): item for cache in caches for item in cache.values()}.values()
        total_bytes += 0 if self.origin is None else self.origin.nbytes
        return total_bytes + sum(getattr(item, "nbytes", 0) for item in cached)

    def __repr__(self) -> str:
        columns = "".join(
            f", {attributes.of}_attributes={[*attributes]}"
            for attributes in (self.edge_attributes, self.vertex_attributes)
            if attributes
        )
        where = ", streamed" * self.is_streamed + ", compressed" * (self.is_streamed and self.lists.packs)
        return f"Graph(n={self.n}, m={self.m}, values={self.value_type}{columns}{where})"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: size, types, and a histogram of out-degrees."""
        properties = {"vertices": f"{self.n:,}", "edges": f"{self.m:,}", "device": self.device}
        properties["weights"] = "none" if self.value_type is None else str(self.value_type)
        for attributes in filter(None, (self.edge_attributes, self.vertex_attributes)):
            properties[f"{attributes.of} attributes"] = ", ".join(attributes)
        properties["names"] = (
            "none" if self.naming is None else ", ".join(map(str, self.naming.each[:3].tolist())) + ", …"
        )
        return html_view.of_graph(properties, np.asarray(moved(self.out_degrees, "cpu")))


def _on_device(graph: Graph, device: Any, stream: Any) -> Graph:
    """Return a graph on a device.

    With `stream`, it becomes a graph whose adjacency lists a GPU reads in host memory.
    """
    packs = isinstance(stream, str) and stream == "compressed"
    if not (packs or isinstance(stream, bool | np.bool_)):
        raise TypeError(f"stream is {stream!r}; expected True or False, or 'compressed'")
    if stream and device != "gpu":
        raise ValueError(
            f"stream is {stream!r} and device is {device!r}; expected device='gpu': stream lets a GPU read neighbor "
            "lists in host memory, where a graph on the CPU has them anyway"
        )
    if stream:
        is_streamed_already = graph.is_streamed and graph.lists.packs == packs
        return graph if is_streamed_already else graph.to("cpu")._copied("gpu", "compressed" if packs else True)
    if graph.is_streamed and device == "gpu":
        return graph.to("cpu")._copied("gpu")
    return graph.to(device)


def is_undirected(graph: Graph, weighted: bool) -> bool:
    """Return whether every edge has a reverse edge. With `weighted`, both have to have the same value."""
    return graph.is_symmetric and (not weighted or graph.has_symmetric_values)


def as_graph(x: Any) -> Graph:
    """Return `x` itself if it is a Graph, otherwise ``Graph(x)``. Every algorithm calls this first.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> g = as_graph(sp.eye_array(3))
    >>> as_graph(g) is g
    True
    """
    if not isinstance(x, Graph):
        return Graph(x)
    if x.files is not None:
        x.files.require_unchanged()
    return x


def whole_graph(x: Any) -> Graph:
    """Return the graph that is the argument of an algorithm as a `Graph` with all edges in this process.

    Raise TypeError for a distributed graph, before anything is computed.
    """
    graph = as_graph(x)
    graph.require_whole()
    return graph


def require_unchanged_files(graph: Graph) -> None:
    """Raise RuntimeError if a file from which the graph is mapped has changed.

    This is called before and after a run.
    """
    if graph.files is not None:
        graph.files.require_unchanged()
