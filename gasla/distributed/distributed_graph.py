"""`distributed.Graph`: a graph partitioned over ranks; the calling process holds only its sizes and properties."""

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from gasla.arrays import array_module, finish, imported, moved
from gasla.distributed.block_array import BlockArray, Handle, Placed
from gasla.distributed.cluster import current
from gasla.distributed.collectives.product import product
from gasla.distributed.collectives.properties import FREE, SHARE, find_properties, simple_edges
from gasla.distributed.collectives.quotient import contract
from gasla.distributed.communicator import Rank, Ranks
from gasla.distributed.edge_columns import (
    EdgeValues,
    describe,
    keep_columns,
    keep_values,
    keep_vertex_columns,
    keep_weighted,
    sent_columns,
)
from gasla.distributed.engine.distributed_run import degrees_on, shard_on
from gasla.distributed.engine.one_card import alone, called, sentences_of_call
from gasla.distributed.engine.partition import Edges, Held, Source
from gasla.distributed.engine.shard import distribute
from gasla.distributed.engine.unsupported import not_whole
from gasla.distributed.links import connect
from gasla.distributed.loading.chunks import distribute_chunks
from gasla.distributed.loading.dask_collections import distribute_parts, is_collection
from gasla.distributed.loading.edge_numbering import take_share
from gasla.distributed.loading.file_shares import Columns, Paths, read_share
from gasla.distributed.loading.graph_slices import GraphSlices
from gasla.distributed.replicas import REPLICA, map_shares, sum_shares
from gasla.graph.attributes import Attributes
from gasla.graph.edge_values import Values
from gasla.graph.exchange.columns import Column
from gasla.graph.graph import Graph as OneGraph
from gasla.graph.graph import as_graph
from gasla.graph.memory_limit import available
from gasla.graph.neighbor_lists import Lists
from gasla.graph.validate import as_values
from semirings import Semiring, plus

__all__ = ["Graph"]


class Graph(OneGraph):
    """A directed graph partitioned over ranks: each rank holds the in-edges of a range of vertices.

    `gasla.run` and the algorithms accept it like a `gasla.Graph`. They return arrays as `BlockArray`.

    Parameters
    ----------
    edges : dask.dataframe.DataFrame, dask.array.Array, gasla.Graph, or SciPy sparse array
        A dataframe with one edge per row, or an array of shape (m, 2) with source and target per row. With a Dask
        client, partitions go to the ranks directly, not through this process. A Graph or a SciPy array is for
        experiments: it has to fit in one process.
    src, dst, weight : optional
        Columns of a dataframe, by name or position, see `gasla.Graph.from_table`. Ids have to be vertex numbers.
    n : int, optional
        Number of vertices; by default one more than the largest id.
    ranks : Ranks, optional
        By default the innermost open cluster.

    Attributes
    ----------
    n, m : int
        Number of vertices and edges, of all ranks.
    ranks : Ranks
        The ranks that hold the graph.
    one_card : bool or None
        Over GPUs of one process: whether the first one computes alone, if it has room for the whole graph. By default,
        None, it does so for what would gain nothing from several. `gasla.explain` tells which it is, of programs and of
        functions.
    """

    ranks: Ranks
    handle: Handle
    one_card: bool | None = None
    # device number of the GPU that has the `gasla.Graph` from which this graph was made; None if that is not on a GPU
    _original_card: int | None = None

    def __new__(cls, *_: Any, **__: Any) -> "Graph":
        return super().__new__(cls)

    def __init__(
        self,
        edges: Any,
        src: Column | None = None,
        dst: Column | None = None,
        weight: Column | None = None,
        *,
        n: int | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        chosen_ranks: Ranks = current() if ranks is None else ranks
        if is_collection(edges):
            count, handle = distribute_parts(chosen_ranks, edges, Columns(src, dst, weight), n)
            made = Graph.from_shares(chosen_ranks, count, take_share, handle.key)
        elif src is dst is weight is n is None:
            made = Graph.from_graph(edges, chosen_ranks)
        else:
            raise TypeError(
                f"edges is a {type(edges).__name__}; expected a Dask dataframe or an (m, 2) dask.array; a Graph or a "
                "SciPy array can't be combined with src, dst, weight or n"
            )
        self.__dict__.update(made.__dict__)

    @classmethod
    def from_files(
        cls,
        paths: Paths,
        format: str | None = None,
        *,
        src: Column | None = None,
        dst: Column | None = None,
        weight: Column | None = None,
        n: int | None = None,
        ranks: Ranks | None = None,
    ) -> "Graph":
        r"""Return the graph in some files, of which each rank reads a share. All ranks need access to the files.

        The files are divided into whole files, row groups of Parquet files, and byte ranges of uncompressed edge lists.
        Edges are numbered file by file, in their order in the file; edges of a matrix as in `gasla.io.read`. Without
        weights the graph has no values.

        Parameters
        ----------
        paths : str, path, or list of them
            A pattern such as ``"data/*.parquet"`` matches files in the order of their names.
        format : str, optional
            See `gasla.io.read`.
        src, dst, weight : optional
            Columns of tables, by name or position, see `gasla.Graph.from_table`. Ids have to be vertex numbers, because
            no rank knows all names.
        n : int, optional
            Number of vertices; by default one more than the largest id, or the number in the headers of the files.
        ranks : Ranks, optional
            By default the innermost open cluster.

        Raises
        ------
        FormatError
            A file is malformed. The rank that has read it raises this error, the others a RankError with its text.
        FileNotFoundError
            A file does not exist.
        ValueError
            Some files have weights, and others have none.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from gasla import distributed
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> for i, lines in enumerate(["0 1\n1 2\n", "2 3\n3 0\n"]):
        ...     _ = (folder / f"part{i}.txt").write_text(lines)
        >>> with distributed.Cluster(threads=2):
        ...     distributed.Graph.from_files(f"{folder}/part*.txt")
        distributed.Graph(n=4, m=4, over 2 ranks)
        """
        chosen_ranks: Ranks = current() if ranks is None else ranks
        handle = Handle(chosen_ranks)
        count = chosen_ranks.each(read_share, handle.key, paths, format, Columns(src, dst, weight), n)[0]
        return cls.from_shares(chosen_ranks, count, take_share, handle.key)

    @classmethod
    def from_edges(  # type: ignore[override]
        cls, src: Any, dst: Any = None, weights: Any = None, n: int | None = None, *, ranks: Ranks | None = None
    ) -> "Graph":
        """Return the graph with the edges ``src[e] -> dst[e]``, numbered in that order, from arrays or chunks of edges.

        Each rank takes a part of each chunk, and sends its edges to their owners after the last chunk. So chunks are
        needed one at a time, and no GPU holds a whole one.

        Parameters
        ----------
        src, dst : array of integers
            As for `gasla.Graph.from_edges`.
        src : iterable of tuples
            Without `dst`: chunks of edges ``(src, dst)`` or ``(src, dst, weights)``, such as a generator makes. Their
            arrays may have any length, and may be written to after the next chunk was asked for. Under ``mpiexec``
            every process has to make the same chunks, of which it keeps its part.
        weights : array, optional
            One value per edge. Weights of chunks get the common type of all chunks, as by `numpy.concatenate`.
        n : int, optional
            Number of vertices, as for `gasla.Graph.from_edges`.
        ranks : Ranks, optional
            By default the innermost open cluster.

        Raises
        ------
        TypeError
            If a chunk is no tuple of two or three arrays, or its arrays have the wrong type.
        ValueError
            If arrays do not fit each other, an id is negative or not less than `n`, ids look like names, or only some
            chunks have weights. The message names the chunk. An exception of the iterable is passed on.

        Examples
        --------
        >>> from gasla import distributed
        >>> chunks = (([v, v], [v + 1, v + 2], [1.5, 2.5]) for v in range(3))
        >>> with distributed.Cluster(threads=2):
        ...     distributed.Graph.from_edges(chunks)
        distributed.Graph(n=5, m=6, over 2 ranks)
        """
        chosen_ranks: Ranks = current() if ranks is None else ranks
        if dst is not None:
            return cls.from_graph(OneGraph.from_edges(src, dst, weights, n), chosen_ranks)
        if weights is not None:
            raise TypeError("weights were given without dst; expected them in the chunks: (src, dst, weights)")
        count, handle = distribute_chunks(chosen_ranks, src, n)
        return cls.from_shares(chosen_ranks, count, take_share, handle.key)

    @classmethod
    def from_shares(cls, ranks: Ranks, n: int, load: Callable[..., Edges | Source], *arguments: Any) -> "Graph":
        """Return the distributed graph of the edges that `load(rank, *arguments)` returns on each rank.

        Parameters
        ----------
        ranks : Ranks
        n : int
            Number of vertices.
        load : function
            Called on every rank; returns `Edges`, any part of the edges with their numbers, or a `Source` of them.

        Raises
        ------
        ValueError
            If an id is out of range.
        """
        graph: Any = cls.__new__(cls)
        graph.ranks, graph.handle = ranks, Handle(ranks)
        m, kind, least, largest = ranks.each(_load, graph.handle.key, n, load, arguments)[0]
        graph._has_sizes(n, m)
        graph._describe_values(kind, least, largest)
        graph_made: Graph = graph
        return graph_made

    def _has_sizes(self, n: int, m: int) -> None:
        self._set_size(n, m, "cpu")

    def _describe_values(self, dtype: np.dtype[Any] | None, least: Any, largest: Any) -> None:
        """Record the dtype of the edge values, and the smallest and the largest value, for a graph whose values are on
        the ranks.

        Without edge values, `dtype` is None.
        """
        limits = None if dtype is None or self.m == 0 else (least, largest)
        each: Any = None if dtype is None else EdgeValues(self.handle, self.m, dtype, limits)
        self.valued = Values(None, each)  # type: ignore[arg-type]
        self.valued.__dict__["range"] = limits

    def _of_same_edges(self, keep: Callable[..., Any], *arguments: Any) -> tuple["Graph", Any]:
        """Return a new distributed graph with the edges of this one, and with other values or attributes.

        To make it, `keep(rank, graph, key, *arguments)` is called on every rank, and stores the rank's part of the new
        graph under `key`. The second result is what `keep` has returned on the first rank, such as the types of edge
        attributes.
        """
        graph: Any = type(self).__new__(type(self))
        graph.ranks, graph.handle = self.ranks, Handle(self.ranks)
        facts = self.ranks.each(keep, self.handle.key, graph.handle.key, *arguments)[0]
        graph._has_sizes(self.n, self.m)
        graph.naming, graph.vertex_attributes = self.naming, self.vertex_attributes
        return graph, facts

    def _keep_values(self, graph: "Graph", like: Attributes, own: str | None) -> None:
        """Give `graph`, a new graph of the same edges, the edge values of this graph, and placeholders for the edge
        attributes that the ranks have stored for it.

        `like` has the types of the attributes. If one of them has become the edge values, `own` is its name.
        """
        graph._describe_values(self.value_type, *(self.value_range or (None, None)))
        graph._stand_for_attributes(like, own)

    def _stand_for_attributes(self, like: Attributes, own: str | None) -> None:
        """Set `edge_attributes` to placeholders for the edge attributes that the ranks store. `like` has their types.

        If one of the attributes has become the edge values, `own` is its name.
        """
        columns: dict[str, Any] = {
            name: EdgeValues(self.handle, self.m, kind, name=name) for name, kind in like.types.items()
        }
        if own is not None:
            columns[own] = self.values
        self.edge_attributes = Attributes("edge", columns, like.types, like.time_types)

    engine = "distributed"

    @classmethod
    def from_graph(cls, graph: Any, ranks: Ranks | None = None) -> "Graph":
        """Distribute a `gasla.Graph` or a SciPy sparse array over ranks, for experiments.

        Without `ranks`, these are the ranks of the innermost open cluster.

        Examples
        --------
        >>> import gasla
        >>> from gasla import distributed
        >>> one = gasla.Graph.from_edges([0, 1, 2], [1, 2, 0])
        >>> distributed.Graph.from_graph(one, distributed.ThreadRanks(2))
        distributed.Graph(n=3, m=3, over 2 ranks)
        """
        chosen_ranks: Ranks = current() if ranks is None else ranks
        single_graph = as_graph(graph)
        if not chosen_ranks.has_cards or single_graph.is_streamed:
            single_graph = single_graph.to("cpu")
        # Send only the adjacency lists (or arrays of sources and targets) that the caller has given. Dask and pickles
        # send everything that an object refers to, so the graph's cached lists would be sent, too.
        input_lists = single_graph.lists
        lists = Lists(single_graph.n, single_graph.device, input_lists.rows, input_lists.columns, input_lists.ends)
        finish(single_graph.device)
        result = cls.from_shares(chosen_ranks, single_graph.n, GraphSlices, lists, single_graph.valued.each)
        if single_graph.vertex_attributes:
            result = result.with_vertex_attributes(single_graph.vertex_attributes.columns())
        result.naming, result._original = single_graph.naming, weakref.ref(single_graph)
        ids: Any = lists.any_ids
        result._original_card = None if array_module(ids) is np else ids.device.id
        if not single_graph.edge_attributes:
            return result
        own, columns = (
            single_graph.edge_attributes.name_of(single_graph.valued.each),
            single_graph.edge_attributes.columns(),
        )
        return result.with_edge_attributes(columns if own is None else columns | {own: result.values})

    def original_on(self, card: int) -> OneGraph | None:
        """Return the `gasla.Graph` that this distributed graph was made from, or None.

        It is returned only if it still exists on the GPU `card`, and if no caller can write to its edge values.
        """
        original = self._original() if card == self._original_card else None
        return original if original is not None and original.valued.are_locked else None

    def report(self) -> np.ndarray:
        """Return the distribution of the graph over its ranks.

        Returns
        -------
        structured ndarray
            One entry per rank: `rank`; number of own `vertices` and `edges`; number of `mirrors`, copies of vertices of
            other ranks; `bytes` that it holds of the graph now, with a copy of the whole graph if it has one; its
            `share` of the work relative to the mean; and the bytes of memory that were available to it before and after
            its part was made, `free_before` and `free_after`: of its GPU or its host, or -1 if the system doesn't say.

        Examples
        --------
        >>> import gasla
        >>> from gasla import distributed
        >>> one = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
        >>> report = distributed.Graph.from_graph(one, distributed.ThreadRanks(2)).report()
        >>> report[["vertices", "edges", "mirrors"]].tolist()
        [(2, 2, 1), (2, 2, 1)]
        """
        return np.array(self.ranks.each(_report, self.handle.key)[0], REPORT)

    def _properties(self, weighted: bool = False) -> dict[str, bool]:
        """Return whether the graph is symmetric, has self loops, and has parallel edges, by name.

        All ranks compute this once. With `weighted`, "symmetric" means that the edge values are symmetric, too.
        """
        key = "properties", weighted
        properties = self.known(key) or self.ranks.each(find_properties, self.handle.key, weighted)[0]
        return self.kept(key, lambda _: properties)

    @property
    def is_symmetric(self) -> bool:
        """Whether j -> i is stored as often as i -> j, for all i and j. Values are ignored."""
        return self._properties()["is_symmetric"]

    @property
    def has_symmetric_values(self) -> bool:
        """Whether the edges i -> j and j -> i have the same values, in any order, for all i and j."""
        return self._properties(weighted=self.values is not None)["is_symmetric"]

    @property
    def has_mirrored_values(self) -> bool:
        """Whether the edge values are symmetric, and the graph has no parallel edges.

        Then the edges i -> j and j -> i have one and the same value, for all vertices i and j.
        """
        return not self.has_parallel_edges and self.has_symmetric_values

    @property
    def has_self_loops(self) -> bool:
        """Whether any edge leads from a vertex to itself."""
        return self._properties()["has_self_loops"]

    @property
    def has_parallel_edges(self) -> bool:
        """Whether any edge is stored more than once."""
        return self._properties()["has_parallel_edges"]

    @property
    def is_simple(self) -> bool:
        """Whether the graph is simple and undirected: every edge in both directions, once, and no self loops."""
        return self.is_symmetric and not self.has_parallel_edges and not self.has_self_loops

    def simplified(self) -> "Graph":
        """Return the simple undirected graph: both directions of each edge once, without self loops and values."""
        return Graph.from_shares(self.ranks, self.n, simple_edges, self.handle.key)

    def contract(self, labels: Any, combine: Any = plus, *, loops: bool = True) -> OneGraph:  # type: ignore[override]
        """Return the quotient graph (`gasla.Graph.contract`) in the calling process, without the origin of edges.

        It should be much smaller than this one. Ranks merge their own edges, so sums of floats may differ in their last
        bits from those of one process.
        """
        return contract(self, labels, combine, loops)

    def multiplied(self, x: Any, semiring: Semiring, by_column: bool, of_whole: Callable[..., Any]) -> BlockArray:
        """Return the product of the graph's matrix and x, a vector or a dense matrix: `gasla.mxv`, or `gasla.vxm` with
        `by_column`.

        `of_whole` is the function that computes the product from the whole graph, if one GPU alone is faster than all
        ranks.
        """
        return product(self, x, semiring, by_column, of_whole)

    def on_one_device(self, function: Callable[[OneGraph], Any]) -> Any:
        """Call a function with the whole graph on the first GPU, and return its result, if one GPU alone should compute
        it (`gasla.Graph.on_one_device`).

        Return None if all ranks take part.
        """
        return alone(self, function)

    def called(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], divided: bool = False
    ) -> Any:
        """Call a library function, such as an algorithm, and return its result (`gasla.Graph.called`).

        If one GPU alone is faster, the function gets the whole graph on the first GPU in place of this distributed
        graph.

        Otherwise call it with this graph (`gasla.Graph.called`).
        """
        return called(self, function, args, kwargs, divided)

    def explain_call(self, gains: tuple[str, bool] | None) -> list[str]:
        """Return sentences for `gasla.explain`: whether one GPU or all GPUs would compute a call of a library function,
        and why.
        """
        return sentences_of_call(self, gains)

    def sharers(self, passes: int, visits: int | None = None) -> int:
        """Return the number of ranks, which share any independent work, such as searches from several sources."""
        return self.ranks.size

    def require_whole(self, option: str = "") -> None:
        """Raise TypeError: the caller needs the whole graph in one process, and no process has all edges of a
        distributed graph.
        """
        raise not_whole(option)

    def map_shares(self, function: Callable[..., Any], items: Any) -> BlockArray:
        """Compute the rows of an array, such as one row per source, and return them as a `BlockArray`
        (`gasla.Graph.map_shares`).

        `function(graph, items, first)` computes the rows of some of the items. Each rank calls it for a range of them.

        Each rank has a copy of the whole graph for this.
        """
        return map_shares(self, function, items)

    def placed(self, values: Any) -> BlockArray:
        """Send an array with an entry per vertex to the ranks, each of which stores the entries of its own vertices.

        Runs can use the result as start values (`gasla.Graph.placed`).
        """
        handle, values = Handle(self.ranks), np.asarray(super().placed(values))
        self.ranks.each(_keep_block, self.handle.key, handle.key, values)
        return BlockArray(handle, "values", values.shape, values.dtype)

    def sum_shares(self, function: Callable[..., Iterable[Any]], items: Sequence[Any]) -> np.ndarray:
        """Return a sum of terms, such as one term per source, of which each rank computes some
        (`gasla.Graph.sum_shares`).

        `function(graph, items)` yields the terms of some of the items.

        Each rank has a copy of the whole graph for this.
        """
        return sum_shares(self, function, items)

    def edges(self) -> NoReturn:
        """Raise TypeError, because no process has all edges."""
        raise not_whole()

    def with_edge_attributes(self, columns: Mapping[str, Any] | None = None, /, **named: Any) -> "Graph":
        """Return the graph with more edge attributes (`gasla.Graph.with_edge_attributes`).

        Ranks keep the attributes of their edges in the host's memory. Besides an array with an entry per edge, an
        attribute may be given as

        - an attribute or the values of a graph made from this one, such as ``graph.values``,
        - a `BlockArray` of one number per edge in the order of the input, such as an edge field of a result, or
        - a function, which each rank calls with the attributes of its edges.

        An array has to be the same in all processes.
        """
        columns_by_name = sent_columns({**(columns or {}), **named}, self.m, self.ranks)
        for name in (name for name, column in columns_by_name.items() if column is None):
            self.edge_attributes.require(name)
        graph, like = self._of_same_edges(keep_columns, columns_by_name)
        values_name = self.edge_attributes.name_of(self.values)
        new = next((name for name, column in {**(columns or {}), **named}.items() if column is self.values), None)
        self._keep_values(graph, like, new if values_name is None or values_name in columns_by_name else values_name)
        return graph

    def with_vertex_attributes(self, columns: Mapping[str, Any] | None = None, /, **named: Any) -> "Graph":
        """Return the graph with more vertex attributes (`gasla.Graph.with_vertex_attributes`).

        Every process keeps all entries of the attributes, and each rank also those of its own vertices, on its device.
        An array has to be the same in all processes.
        """
        columns_by_name = {**(columns or {}), **named}
        columns_by_name = {
            name: None if column is None else moved(imported(column), "cpu") for name, column in columns_by_name.items()
        }
        attributes = self.vertex_attributes.replaced(columns_by_name, self.n, "cpu")
        columns = {name: attributes.numbers(name) for name in attributes}
        graph, _ = self._of_same_edges(keep_vertex_columns, columns)
        graph.vertex_attributes = attributes
        self._keep_values(graph, self.edge_attributes, self.edge_attributes.name_of(self.values))
        return graph

    def weighted_by(self, attribute: str) -> "Graph":
        """Return the graph whose edge values are one of its edge attributes (`gasla.Graph.weighted_by`).

        It is made once and cached with this graph.
        """
        self.edge_attributes.require(attribute)
        if self.edge_attributes.name_of(self.values) == attribute:
            return self

        def make(_: OneGraph) -> Graph:
            graph, described = self._of_same_edges(keep_weighted, attribute)
            graph._describe_values(*described)
            graph._stand_for_attributes(self.edge_attributes, attribute)
            return graph

        return self.kept(("weighted by", attribute), make)

    def with_values(self, values: Any) -> "Graph":
        """Return the graph with other edge values, in any of the forms in which `with_edge_attributes` takes an
        attribute.

        A function is called by each rank, with the values of its edges.
        """
        # This is a separate variable, so that `values` stays referenced and its data are not freed before the ranks
        # have used them.
        values_to_send = values
        if isinstance(values, BlockArray | EdgeValues):
            values_to_send = sent_columns({"values": values}, self.m, self.ranks)["values"]
        elif not callable(values):
            values_to_send = as_values(None if values is None else moved(imported(values), "cpu"), self.m)
        graph, described = self._of_same_edges(keep_values, values_to_send)
        graph._describe_values(*described)
        graph._stand_for_attributes(self.edge_attributes, None)
        return graph

    def reversed(self) -> NoReturn:
        """Raise TypeError, because edges would have to be sent to other ranks."""
        raise not_whole()

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise not_whole("copies and pickles")

    def notice_values(self) -> None:
        """Do nothing: callers can't change the edge values of a distributed graph, which are stored on ranks.

        A `gasla.Graph` discards here what it has derived from edge values that a caller has changed since.
        """

    def to(self, device: Any) -> "Graph":
        """Return the graph itself for "cpu". Raise ValueError for a GPU, because a distributed graph can't be moved."""
        if device != self.device:
            raise ValueError(f"device is {device!r}; expected 'cpu', because a distributed graph can't be moved")
        return self

    def _degrees_by_blocks(self, which: str) -> BlockArray:
        handle = Handle(self.ranks)
        dtype = self.ranks.each(_degrees, self.handle.key, handle.key, which)[0]
        return BlockArray(handle, which, (self.n,), dtype)

    @property
    def is_whole(self) -> bool:
        """Whether this process has all edges of the graph: False, because each rank has a part."""
        return False

    @property
    def nbytes(self) -> int:
        """The memory that the graph takes on all ranks, in bytes."""
        return int(self.report()["bytes"].sum())

    @property
    def out_degrees(self) -> Any:
        """The number of out-edges of every vertex."""
        return self._degrees_by_blocks("out")

    @property
    def in_degrees(self) -> Any:
        """The number of in-edges of every vertex."""
        return self._degrees_by_blocks("in")

    # The degrees are not `functools.cached_property`. Before Python 3.12 all instances share such a property's lock.
    # Ranks that are threads would hold the lock while they wait for each other, forever.

    @property
    def max_out_degree(self) -> int:
        """The largest out-degree, or 0 without vertices."""
        return self.kept("max_out_degree", lambda _: int(self.out_degrees.max(initial=0)))

    @property
    def max_in_degree(self) -> int:
        """The largest in-degree, or 0 without vertices."""
        return self.kept("max_in_degree", lambda _: int(self.in_degrees.max(initial=0)))

    def __repr__(self) -> str:
        columns = f", edge_attributes={[*self.edge_attributes]}" if self.edge_attributes else ""
        return f"distributed.Graph(n={self.n}, m={self.m}{columns}, over {self.ranks.size} ranks)"


def _unsupported_property(name: str) -> property:
    """Return a property that raises TypeError, for a property of `gasla.Graph` that distributed graphs don't have."""

    def refuse(graph: Graph) -> NoReturn:
        raise not_whole(f"its {name}")

    return property(refuse)


UNSUPPORTED_PROPERTIES = (
    "out",
    "in_",
    "both",
    "leaving",
    "sorted_out",
    "out_values",
    "in_values",
    "out_edge_ids",
    "in_edge_ids",
)
for _name in ("lists", *UNSUPPORTED_PROPERTIES, "reverse_edge_ids"):
    setattr(Graph, _name, _unsupported_property(_name))


def _unsupported_constructor(name: str) -> Any:
    """Return a class method that raises TypeError, for a constructor of `gasla.Graph` that needs all edges in one
    process.
    """

    def refuse(cls: type[Graph], *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"distributed.Graph has no {name}; expected distributed.Graph.from_graph(gasla.Graph.{name}(…))"
        )

    return classmethod(refuse)


for _name in ("from_csr", "from_table", "from_networkx", "from_igraph", "from_edge_index"):
    setattr(Graph, _name, _unsupported_constructor(_name))


# --- functions that run on each rank: storing a part of the graph, computing degrees and the report -------------------


def _load(
    rank: Rank, key: Any, n: int, load: Callable[..., Edges | Source], arguments: tuple[Any, ...]
) -> tuple[Any, ...]:
    before = _free(rank)
    connect(rank)
    given = load(rank, *arguments)
    if isinstance(given, Edges):
        given = Held(given, n, rank.device, rank.communicator.size)
    share = distribute(rank.communicator, n, given)
    rank.kept[key] = {SHARE: share, FREE: (before, _free(rank))}
    return share.m, *describe(rank, share.shard)


REPORT = np.dtype(
    [(name, np.int64) for name in ("rank", "vertices", "edges", "mirrors", "bytes")]
    + [("share", np.float64), ("free_before", np.int64), ("free_after", np.int64)]
)


def _report(rank: Rank, key: Any) -> list[tuple[Any, ...]]:
    shard, stored = shard_on(rank, key, "in"), rank.kept[key]
    size = shard.nbytes + (stored[REPLICA].nbytes if REPLICA in stored else 0)
    own = np.array([shard.own, shard.graph.m, len(shard.mirrors), size, *stored[FREE]], np.int64)
    rows = np.stack(rank.communicator.allgather(own))
    work = rows[:, :2].sum(axis=1)
    shares = work * len(work) / max(work.sum(), 1)
    return [
        (r, *map(int, row[:4]), float(share), *map(int, row[4:]))
        for r, (row, share) in enumerate(zip(rows, shares, strict=True))
    ]


def _free(rank: Rank) -> int:
    """Return the number of bytes of memory that are available on a rank's device, or -1 if the system doesn't say."""
    free = available(rank.device)
    return -1 if free is None else free


def _keep_block(rank: Rank, graph: Any, key: Any, values: np.ndarray) -> None:
    bounds, here = rank.kept[graph][SHARE].bounds, rank.communicator.rank
    rank.kept[key] = Placed(moved(values[bounds[here] : bounds[here + 1]].copy(), rank.device))


def _degrees(rank: Rank, graph: Any, key: Any, which: str) -> np.dtype:
    shard = shard_on(rank, graph, "in")
    degrees = degrees_on(rank, graph, "in", which)[: shard.own]
    rank.kept[key] = {which: degrees}
    return degrees.dtype
