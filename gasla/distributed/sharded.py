"""A graph over ranks: what a person has of it in one process is its size, and the ranks that have its parts."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from gasla.distributed.block_array import BlockArray, Handle
from gasla.distributed.cluster import current
from gasla.distributed.communicator import Rank, Ranks
from gasla.distributed.engine.partition import Edges, share_out
from gasla.distributed.engine.refusals import absent
from gasla.distributed.engine.running import degrees_on, shard_on
from gasla.distributed.loading.dask_collections import hand_out, is_collection
from gasla.distributed.loading.reading import Columns, Paths, read_share
from gasla.distributed.loading.settling import take_share
from gasla.distributed.together.by_vector import product
from gasla.distributed.together.facts import SHARE, facts_of, simple_edges
from gasla.graph.exchange.columns import Column
from gasla.graph.graph import Graph as OneGraph
from gasla.graph.graph import as_graph
from semirings import Semiring

__all__ = ["Graph"]


class EdgeValues:
    """What one process knows of the values of edges that ranks have: how many, of which type, in which range."""

    def __init__(self, m: int, dtype: np.dtype, found: tuple[Any, Any] | None) -> None:
        self.shape, self.dtype, self._range = (m,), dtype, found

    def __len__(self) -> int:
        return self.shape[0]

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__array__()

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise absent(
            f"the values of a distributed graph are needed as an array, which no process has; they are {self.dtype}, "
            f"from {self._range[0]} to {self._range[1]}"
            if self._range
            else "there are none"
        )

    def _refuse(self, *_: Any) -> NoReturn:
        self.__array__()

    __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = __mul__ = __rmul__ = _refuse


class Graph(OneGraph):
    """A directed graph whose edges are on several ranks: each has those into a range of vertices.

    `gasla.run` and the algorithms take it as they take a `gasla.Graph`. An array that they return is a `BlockArray`.

    Parameters
    ----------
    edges : dask.dataframe.DataFrame, dask.array.Array, gasla.Graph, or SciPy sparse array
        A dataframe has an edge a row. Of an array of shape (m, 2) a row is an edge's source and destination. Its parts
        go to ranks, with a client of Dask's without passing through this process. The last two are for trying out.
    src, dst, weight : optional
        Columns of a dataframe, by name or place, see `gasla.Graph.from_table`. Ids are numbers.
    n : int, optional
        How many vertices there are; by default as many as the largest id asks for.
    ranks : Ranks, optional
        By default the cluster that was opened last.

    Attributes
    ----------
    n, m : int
        Number of vertices; number of edges, of all ranks.
    ranks : Ranks
        What has the ranks work.
    """

    ranks: Ranks
    handle: Handle

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
        asked: Ranks = current() if ranks is None else ranks
        if is_collection(edges):
            count, handle = hand_out(asked, edges, Columns(src, dst, weight), n)
            made = Graph.from_shares(asked, count, take_share, handle.key)
        elif src is dst is weight is n is None:
            made = Graph.from_graph(edges, asked)
        else:
            raise TypeError(
                f"edges is a {type(edges).__name__}; expected a Dask dataframe or an (m, 2) dask.array, or without "
                "src, dst, weight and n a gasla.Graph or a SciPy array"
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
        r"""The graph whose edges are in files, of which each rank reads a share: all of them see the same files.

        A share are whole files, row groups of Parquet, or ranges of bytes of edge lists that aren't compressed. Edges
        are numbered file after file, in the order in which they stand there; those of a matrix as `gasla.io.read`
        numbers them. Without weights the graph has no values.

        Parameters
        ----------
        paths : str, path, or list of them
            A pattern such as ``"data/*.parquet"`` stands for the files like it, in the order of their names.
        format : str, optional
            See `gasla.io.read`.
        src, dst, weight : optional
            Columns of tables, by name or place, see `gasla.Graph.from_table`. Ids are numbers: no rank knows all names.
        n : int, optional
            How many vertices there are; by default as many as the largest id, or what the files say, asks for.
        ranks : Ranks, optional
            By default the cluster that was opened last.

        Raises
        ------
        FormatError
            A file is malformed: on the rank that has read it, and on the others a RankError that says the same.
        FileNotFoundError
            A file is not there.
        ValueError
            Some files have weights, and others none.

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
        asked: Ranks = current() if ranks is None else ranks
        handle = Handle(asked)
        count = asked.each(read_share, handle.key, paths, format, Columns(src, dst, weight), n)[0]
        return cls.from_shares(asked, count, take_share, handle.key)

    @classmethod
    def from_shares(cls, ranks: Ranks, n: int, load: Callable[..., Edges], *arguments: Any) -> "Graph":
        """A graph of n vertices, of the edges that `load(rank, *arguments)` gives on each rank.

        Parameters
        ----------
        ranks : Ranks
        n : int
        load : function
            Returns `Edges`: any share of them, each with its place in the input. It is called on every rank.

        Raises
        ------
        ValueError
            If an edge leads outside of n vertices.
        """
        graph: Any = cls.__new__(cls)
        graph.ranks, graph.handle = ranks, Handle(ranks)
        m, kind, least, largest = ranks.each(_load, graph.handle.key, n, load, arguments)[0]
        graph.n, graph.m, graph.device = n, m, "cpu"
        graph._range = None if kind is None or m == 0 else (least, largest)
        graph.values = None if kind is None else EdgeValues(m, kind, graph._range)
        made: Graph = graph
        return made

    _range: tuple[Any, Any] | None = None
    engine = "distributed"

    @classmethod
    def from_graph(cls, graph: Any, ranks: Ranks | None = None) -> "Graph":
        """The graph of a Graph or a SciPy array, for trying out: every rank takes its share of the edges.

        Without `ranks` it is of the cluster that was opened last.

        Examples
        --------
        >>> import gasla
        >>> from gasla import distributed
        >>> one = gasla.Graph.from_edges([0, 1, 2], [1, 2, 0])
        >>> distributed.Graph.from_graph(one, distributed.ThreadRanks(2))
        distributed.Graph(n=3, m=3, over 2 ranks)
        """
        asked: Ranks = current() if ranks is None else ranks
        one = as_graph(graph).to("cpu")
        src, dst = one.edges()
        made = cls.from_shares(asked, one.n, _share_of, src, dst, one.values)
        made.naming = one.naming
        return made

    @property
    def value_range(self) -> Any:
        """The least and the largest value; both NaN if any is."""
        return self._range

    def report(self) -> np.ndarray:
        """How the graph lies on its ranks: an entry for each.

        Returns
        -------
        structured ndarray
            `rank`; its own `vertices` and `edges`; the `mirrors` that it has of others' vertices, over which it
            gathers; `bytes` of its shard; and its `share` of the work, where 1 is an even one.

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

    def _facts(self, weighted: bool = False) -> dict[str, bool]:
        """What ranks find out together, once."""
        key = "facts", weighted
        found = self.known(key) or self.ranks.each(facts_of, self.handle.key, weighted)[0]
        return self.kept(key, lambda _: found)

    @property
    def is_symmetric(self) -> bool:
        """Whether j -> i is stored as often as i -> j, for all i and j; values aside."""
        return self._facts()["is_symmetric"]

    @property
    def has_symmetric_values(self) -> bool:
        """Whether the edges i -> j and j -> i carry the same values too."""
        return self._facts(weighted=self.values is not None)["is_symmetric"]

    @property
    def has_mirrored_values(self) -> bool:
        """Whether that is so, and no two edges are parallel."""
        return not self.has_parallel_edges and self.has_symmetric_values

    @property
    def has_self_loops(self) -> bool:
        """Whether any edge leads from a vertex to itself."""
        return self._facts()["has_self_loops"]

    @property
    def has_parallel_edges(self) -> bool:
        """Whether any edge is stored more than once."""
        return self._facts()["has_parallel_edges"]

    @property
    def is_simple(self) -> bool:
        """Whether the graph is simple and undirected: every edge in both directions, once, and no self loops."""
        return self.is_symmetric and not self.has_parallel_edges and not self.has_self_loops

    def simplified(self) -> "Graph":
        """The graph with every edge in both directions, once, without self loops and without values."""
        return Graph.from_shares(self.ranks, self.n, simple_edges, self.handle.key)

    def multiplied(self, x: Any, semiring: Semiring, by_column: bool) -> BlockArray:
        """The product with a vector, as `gasla.mxv` and `gasla.vxm` (`by_column`) have it."""
        return product(self, x, semiring, by_column)

    def edges(self) -> NoReturn:
        """Refuse: they are where their ranks are."""
        raise absent("a distributed graph has no list of its edges: no process holds them all")

    def with_values(self, values: Any) -> NoReturn:
        """Refuse: they would have to go where their edges are."""
        raise absent("a distributed graph takes no other values; make one of edges with these")

    def reversed(self) -> NoReturn:
        """Refuse: its edges would have to go to other ranks."""
        raise absent("a distributed graph can't be reversed; make one of edges the other way round")

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise absent("a distributed graph can't be copied or pickled: its parts stay with its ranks")

    def notice_values(self) -> None:
        """Do nothing: callers can't write into what ranks hold."""

    def to(self, device: Any) -> "Graph":
        """Itself: it stays where it is."""
        if device != self.device:
            raise ValueError(f"a distributed graph can't go to {device!r}: its parts stay with its ranks")
        return self

    def _degrees_by_blocks(self, which: str) -> BlockArray:
        handle = Handle(self.ranks)
        kind = self.ranks.each(_degrees, self.handle.key, handle.key, which)[0]
        return BlockArray(handle, which, (self.n,), kind)

    @property
    def nbytes(self) -> int:
        """Bytes that ranks hold of it, together."""
        return int(self.report()["bytes"].sum())

    @property
    def out_degrees(self) -> Any:
        """Number of out-edges of every vertex."""
        return self._degrees_by_blocks("out")

    @property
    def in_degrees(self) -> Any:
        """Number of in-edges of every vertex."""
        return self._degrees_by_blocks("in")

    # No cached properties: before Python 3.12 one lock serves all of a name, which ranks' own graphs would wait for.

    @property
    def max_out_degree(self) -> int:
        """The most out-edges that a vertex has; 0 without vertices."""
        return self.kept("max_out_degree", lambda _: int(self.out_degrees.max(initial=0)))

    @property
    def max_in_degree(self) -> int:
        """The most in-edges that a vertex has; 0 without vertices."""
        return self.kept("max_in_degree", lambda _: int(self.in_degrees.max(initial=0)))

    def __repr__(self) -> str:
        return f"distributed.Graph(n={self.n}, m={self.m}, over {self.ranks.size} ranks)"


def _elsewhere(name: str) -> property:
    """What a Graph has and this one has not."""

    def refuse(graph: Graph) -> NoReturn:
        raise absent(f"a distributed graph has no {name}: no process holds all of its edges")

    return property(refuse)


LISTS = ("out", "in_", "both", "leaving", "sorted_out", "out_values", "in_values", "out_edge_ids", "in_edge_ids")
for _name in ("lists", *LISTS, "reverse_edge_ids"):
    setattr(Graph, _name, _elsewhere(_name))


def _made_elsewhere(name: str) -> Any:
    """A way to make a Graph that needs all edges in one process."""

    def refuse(cls: type[Graph], *_: Any, **__: Any) -> NoReturn:
        raise absent(f"distributed.Graph has no {name}; expected distributed.Graph.from_graph(gasla.Graph.{name}(...))")

    return classmethod(refuse)


for _name in ("from_edges", "from_csr", "from_table", "from_networkx", "from_igraph", "from_edge_index"):
    setattr(Graph, _name, _made_elsewhere(_name))


# --- on each rank -----------------------------------------------------------------------------------------------------


def _load(rank: Rank, key: Any, n: int, load: Callable[..., Edges], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    share = share_out(rank.communicator, n, load(rank, *arguments))
    rank.kept[key] = {SHARE: share}
    values = share.edges.values
    if values is None:
        return share.m, None, None, None
    some = [x for x in rank.communicator.allgather(values) if len(x)]
    least = np.min([x.min() for x in some]) if some else None
    largest = np.max([x.max() for x in some]) if some else None
    return share.m, values.dtype, least, largest


REPORT = np.dtype(
    [(name, np.int64) for name in ("rank", "vertices", "edges", "mirrors", "bytes")] + [("share", np.float64)]
)


def _report(rank: Rank, key: Any) -> list[tuple[Any, ...]]:
    shard = shard_on(rank, key, "in")
    own = np.array([shard.own, shard.graph.m, len(shard.mirrors), shard.nbytes], np.int64)
    rows = np.stack(rank.communicator.allgather(own))
    work = rows[:, :2].sum(axis=1)
    shares = work * len(work) / max(work.sum(), 1)
    return [(r, *map(int, row), float(share)) for r, (row, share) in enumerate(zip(rows, shares, strict=True))]


def _share_of(rank: Rank, src: np.ndarray, dst: np.ndarray, values: np.ndarray | None) -> Edges:
    """A rank's share of edges that all have."""
    size, m = rank.communicator.size, len(src)
    part = slice(m * rank.communicator.rank // size, m * (rank.communicator.rank + 1) // size)
    ids = np.arange(part.start, part.stop)
    return Edges(src[part], dst[part], ids, None if values is None else values[part])


def _degrees(rank: Rank, graph: Any, key: Any, which: str) -> np.dtype:
    shard = shard_on(rank, graph, "in")
    found = degrees_on(rank, graph, "in", which)[: shard.own]
    rank.kept[key] = {which: found}
    return found.dtype
