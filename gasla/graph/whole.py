"""Methods of a graph whose results differ if the graph is distributed over ranks.

`Whole` has them for a graph that one process holds. `gasla.distributed.Graph` overrides each of them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gasla.arrays import Device, moved
from gasla.graph.adjacency import Array
from gasla.graph.neighbor_lists import Lists


class Whole:
    """The base class of `Graph` with the methods that need all edges in this process."""

    n: int
    device: Device
    lists: Lists  # the graph's adjacency lists (a distributed graph does not have this attribute)

    @property
    def engine(self) -> str:
        """The name, in `gasla.engines`, of the engine that runs programs on this graph: the name of its device."""
        return self.device

    @property
    def is_whole(self) -> bool:
        """Whether this process holds all edges. This is False for a graph that is distributed over ranks."""
        return True

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
        """The largest out-degree, or 0 without vertices.

        Examples
        --------
        >>> from gasla import Graph
        >>> Graph.from_edges([0, 0, 1], [1, 2, 2]).max_out_degree
        2
        """
        return self.lists.max_out_degree

    @property
    def max_in_degree(self) -> int:
        """The largest in-degree, or 0 without vertices."""
        return self.lists.max_in_degree

    @property
    def is_symmetric(self) -> bool:
        """Whether j -> i is stored as often as i -> j, for all i and j. Values are ignored."""
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

    def on_one_device(self, function: Callable[[Any], Any]) -> Any:
        """Call a function with the whole graph on one device, if that is possible.

        Parameters
        ----------
        function : function of graph
            Called with this graph. For a `distributed.Graph` over GPUs of one process, the function is called with the
            whole graph on the first of these GPUs, if that GPU has enough memory, `one_card` is not False, and no
            `Checkpoint` is open. This GPU is the current one during the call.

        Returns
        -------
        object
            What the function returns, or None if it was not called because no device of this process has the whole
            graph.

        Examples
        --------
        >>> import gasla
        >>> gasla.Graph.from_edges([0, 1, 2], [1, 2, 0]).on_one_device(lambda graph: graph.m)
        3
        """
        return function(self)

    def sharers(self, passes: int, visits: int | None = None) -> int:
        """Return how many ranks divide independent work, such as one search per source, or 0 if it is not divided.

        The work takes `passes` passes over all edges. If a pass does not visit all edges, `visits` is the number of
        edges that the whole work visits. Ranks divide the work in `sum_shares` and `map_shares`.
        """
        return 0

    def called(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], divided: bool = False
    ) -> Any:
        """Call a function with this graph among its arguments, on the device or ranks where it takes the least time.

        `args` and `kwargs` are its arguments. `divided` says whether programs of the function run faster if a large
        graph is divided over GPUs.
        """
        return function(*args, **kwargs)

    def explain_call(self, gains: tuple[str, bool] | None) -> list[str]:
        """Return sentences for `gasla.explain`, which say where a function that takes this graph runs, and why.

        Parameters
        ----------
        gains : pair, or None
            What the function gains from several GPUs. The first item names the work that other GPUs share if one GPU
            has the whole graph, as a plural such as "sources"; it is "" if they share nothing. The second says whether
            the function's programs run faster on a large graph that is divided over GPUs. None if each program of the
            function decides for itself where it runs.
        """
        return [f"It runs on the {self.device.upper()}, which has the whole graph."]

    def require_whole(self, option: str = "") -> None:
        """Raise TypeError if this process does not have all edges, as in a `distributed.Graph`.

        Here it has all, so nothing happens.

        Parameters
        ----------
        option : str, optional
            The name of the argument that needs all edges, for the error message.
        """

    def map_shares(self, function: Callable[..., Any], items: Any) -> Any:
        """Compute rows of a result independently, one for each item. Ranks of a distributed graph share the items.

        Parameters
        ----------
        function : function of (graph, items, first)
            Returns an array with one row for each of some consecutive items, of which the first has the number `first`.
            It is called once with all items; for a `distributed.Graph` once on every rank with a part of them, and with
            the whole graph as a `gasla.Graph`. With Dask it is pickled.
        items : sequence or array

        Returns
        -------
        array
            All rows; for a distributed graph a `BlockArray`.

        Raises
        ------
        MemoryError
            If a rank has no memory for the whole graph.

        Examples
        --------
        >>> import gasla, numpy as np
        >>> from gasla import distributed
        >>> ring = gasla.Graph.from_edges([0, 1, 2], [1, 2, 0])
        >>> spread = distributed.Graph.from_graph(ring, distributed.ThreadRanks(2))
        >>> levels = lambda graph, sources, first: np.stack([gasla.bfs(graph, s) for s in sources])
        >>> spread.map_shares(levels, [0, 2]).compute()
        array([[0, 1, 2],
               [1, 2, 0]], dtype=int32)
        """
        return function(self, items, 0)

    def placed(self, values: Any) -> Any:
        """Return values of all vertices where runs on this graph read them: on its device, or in blocks on its ranks.

        Runs take other arrays, too, but copy them in every run.

        Parameters
        ----------
        values : array
            One entry per vertex.

        Returns
        -------
        array
            For a distributed graph a `BlockArray`; else the array itself, or a copy on the graph's device.

        Raises
        ------
        ValueError
            If there is not one entry per vertex.

        Examples
        --------
        >>> import gasla, numpy as np
        >>> from gasla import distributed
        >>> ring = gasla.Graph.from_edges([0, 1, 2], [1, 2, 0])
        >>> spread = distributed.Graph.from_graph(ring, distributed.ThreadRanks(2))
        >>> spread.placed(np.array([0.5, 1, 2])).compute()
        array([0.5, 1. , 2. ])
        """
        if len(values) != self.n:
            raise ValueError(f"values has {len(values)} entries; expected {self.n}, one per vertex")
        return moved(values, self.device)

    def sum_shares(self, function: Callable[..., Iterable[Any]], items: Sequence[Any]) -> Any:
        """Sum one array per item, computed independently. Ranks of a distributed graph share the items.

        Arrays are added in the order of the items, so the sum has the same bits on any number of ranks.

        Parameters
        ----------
        function : function of (graph, items)
            Yields the one-dimensional array of each item. It is called as by `map_shares`.
        items : sequence
            One or more items, each of which gives one array.

        Raises
        ------
        ValueError
            If there are no items.
        MemoryError
            If a rank has no memory for the whole graph.

        Examples
        --------
        >>> import gasla
        >>> from gasla import distributed
        >>> ring = gasla.Graph.from_edges([0, 1, 2], [1, 2, 0])
        >>> spread = distributed.Graph.from_graph(ring, distributed.ThreadRanks(2))
        >>> spread.sum_shares(lambda graph, sources: (gasla.bfs(graph, s) for s in sources), [0, 2])
        array([1, 3, 2], dtype=int32)
        """
        if not len(items):
            raise ValueError("there are no items; expected one or more, whose terms have a shape")
        return functools.reduce(operator.add, function(self, items))
