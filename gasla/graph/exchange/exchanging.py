"""What a `Graph` is made of, and gives, beside matrices and arrays: tables, other libraries' graphs, a page of HTML.

A library is imported only by the functions that need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np

from gasla.arrays import any_true, array_module, moved
from gasla.graph.adjacency import Array
from gasla.graph.exchange import foreign, picture
from gasla.graph.exchange.columns import Column, Edges, arrow, as_arrow, edges_of
from gasla.graph.exchange.naming import Names
from gasla.graph.structure import Structure
from gasla.graph.validate import as_ids

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Exchanging(Structure):
    """A `Graph`'s doors."""

    values: Array | None

    # --- tables and names -------------------------------------------------------------------------------------------

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
    def _of_edges(cls, edges: Edges) -> Self:
        graph = cls.__new__(cls)
        graph._set_edges(edges.n, as_ids("src", edges.src), as_ids("dst", edges.dst), edges.weights)
        graph._names = None if edges.names is None else Names(edges.names)
        return graph

    def _set_edges(self, n: int, src: Array, dst: Array, data: Any) -> None:
        raise NotImplementedError  # Graph's

    @property
    def names(self) -> Array | None:
        """The (n,) names of vertices, NumPy's on either device; None where vertices are known by their numbers alone.

        Graphs made of this one have them too, unless vertices became one (`contract`).
        """
        return None if self._names is None else self._names.each

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
        if self._names is not None:
            return self._names.number(name)
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
        found: dict[str, Any] = {"vertex": np.arange(self.n) if self._names is None else self._names.each}
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
        lists = {"out": (lambda: [self.out]), "in": (lambda: [self.in_]), "both": (lambda: [self.out, self.in_])}
        rows = [one.row(number) for one in lists[direction]()]
        xp = array_module(rows[0])
        ids: Array = xp.unique(xp.concatenate(rows))
        return ids if self._names is None else self._names.each[moved(ids, "cpu")]

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

    # --- other libraries --------------------------------------------------------------------------------------------

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

    def to_networkx(self) -> Any:
        """NetworkX's DiGraph of the edges, or a MultiDiGraph where some are parallel; values are the "weight".

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1], [1, 2], [5, 3]).to_networkx().edges(data="weight")
        OutEdgeDataView([(0, 1, 5), (1, 2, 3)])
        """
        return foreign.to_networkx(*self._plain(), self.has_parallel_edges)

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

    def to_igraph(self) -> Any:
        """The graph as igraph's, directed; names are its attribute "name", values the "weight".

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 1], [1, 2], [5, 3]).to_igraph().es["weight"]
        [5, 3]
        """
        return foreign.to_igraph(*self._plain())

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

    def _repr_html_(self) -> str:
        """What a notebook shows: size, kind, and how many vertices have how many out-edges."""
        kind = {"vertices": f"{self.n:,}", "edges": f"{self.m:,}", "device": self.device}
        kind["weights"] = "none" if self.values is None else str(self.values.dtype)
        kind["names"] = "none" if self._names is None else ", ".join(map(str, self._names.each[:3].tolist())) + ", …"
        return picture.of_graph(kind, np.asarray(moved(self.out_degrees, "cpu")))
