"""The stages of a vertex program as separate functions, for hand-written loops.

`start` binds a program to a graph and returns a State; `expand`, `contract`, `gather`, `apply`, `scatter` and
`post_apply` work on frontiers of it. `gasla.run` runs the same stages, fused into one kernel. `hook`, `link`,
`compress`, `number` and `intersect` are those of `gasla.primitives`.

All run on the graph's device. On a GPU the fields of a State, the arrays in frontiers and the values of `gather` are
CuPy arrays; sets of vertices may be given as NumPy or CuPy arrays.
"""

from typing import Any

import numpy as np

from gasla.arrays import array_module, imported, module_of, moved
from gasla.engines import engine
from gasla.graph.graph import Adjacency, Graph, whole_graph
from gasla.operations.common_neighbors import ends_of
from gasla.operations.primitives import compress, hook, intersect, link, number
from gasla.program.binding import NeighborLists, by_number, layout
from gasla.program.frontier import EdgeFrontier, Frontier, as_frontier
from gasla.program.hooks import BETWEEN
from gasla.program.program import VertexProgram, as_program
from gasla.program.tracing import Traced

__all__ = [
    "State",
    "apply",
    "compress",
    "contract",
    "expand",
    "gather",
    "hook",
    "intersect",
    "link",
    "number",
    "post_apply",
    "scatter",
    "start",
]


class State:
    """The fields of a program on a graph, between stages. Each field is an attribute, an array that may be written to.

    Attributes
    ----------
    graph : Graph
    iteration : int
        Value of the program's `self.iteration`; the loop has to count it.
    """

    def __init__(self, program: VertexProgram, graph: Graph, fields: dict[str, Any]) -> None:
        _refuse_aggregates(type(program).traced(graph.id_dtype))
        self._program, self._bound = program, engine(graph.engine).staged(program, graph, fields)
        self.graph = graph
        self.iteration = 0

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__["_bound"].state() if "_bound" in self.__dict__ else {}
        if name in state:
            return state[name]
        raise AttributeError(f"the state has no {name!r}; its fields: {', '.join(state)}")

    def __setattr__(self, name: str, value: Any) -> None:
        if "_bound" in self.__dict__ and name in {*self._program.vertex_fields, *self._program.edge_fields}:
            raise AttributeError(f"state.{name} is the array that the stages use; write into it: state.{name}[:] = …")
        super().__setattr__(name, value)

    @property
    def has(self) -> frozenset[str]:
        """The names of the functions, such as "gather", that the program defines."""
        return frozenset(self._bound.traced.functions)


def _refuse_aggregates(traced: Traced) -> None:
    """Raise ValueError if a function of a program reads an aggregate or `self.bucket`, which only `gasla.run` computes.

    So such a program can't run as separate stages.
    """
    for name, function in traced.functions.items():
        if "bucket" in function.reads("self") and name not in BETWEEN:
            raise ValueError(
                f"{traced.program.__name__}.{name} reads self.bucket, and only gasla.run opens buckets; "
                "for stages, declare a gasla.parameter, and call start again for each value"
            )
        read = function.reads("self") & traced.aggregates.keys() if name not in {"stop", *traced.aggregates} else ()
        if read:
            raise ValueError(
                f"{traced.program.__name__}.{name} reads the aggregate {min(read)!r}, which only gasla.run computes; "
                "for stages, declare a gasla.parameter of its name, and call start again for each value"
            )


def start(program: VertexProgram | type[VertexProgram], graph: Any, **fields: Any) -> State:
    """Bind a program to a graph, to run its stages.

    Parameters
    ----------
    program : VertexProgram
        An instance, or a class.
    graph : Graph or SciPy or CuPy sparse array or matrix
    **fields
        Start values, as for `gasla.run`.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> from gasla import stages
    >>> from scipy.sparse import csr_array
    >>> class Levels(gasla.VertexProgram):
    ...     level = gasla.vertex(np.int32, init=-1)
    ...     reduce = semirings.any
    ...     sources = "active"
    ...     def mask(self, vertex): return vertex.level < 0
    ...     def gather(self, src, dst, edge): return src.level + 1
    ...     def apply(self, vertex, gathered): return {"level": gathered}
    >>> state = stages.start(Levels, csr_array(np.eye(4, k=1)), level={0: 0})
    >>> frontier = gasla.Frontier(4, [0])
    >>> while frontier:
    ...     receivers = stages.contract(state, stages.expand(state, frontier))
    ...     gathered = stages.gather(state, receivers, frontier)
    ...     frontier = stages.apply(state, receivers, gathered)
    >>> state.level
    array([0, 1, 2, 3], dtype=int32)
    """
    program, graph = as_program(program), whole_graph(graph)
    if program.edge_fields:
        graph.notice_values()
    return State(program, graph, by_number(graph, fields))


def expand(on: State | Graph, frontier: Any) -> EdgeFrontier:
    """List the edges that lead from the vertices of a frontier to their neighbors, which may receive values.

    With a State, only edges are listed that the program's `edge_mask` admits.

    Parameters
    ----------
    on : State or Graph
    frontier : Frontier, ids, or mask

    Returns
    -------
    EdgeFrontier
        Edge ids, sources and destinations, in the order of the frontier.

    Examples
    --------
    >>> edges = expand(Graph.from_edges([0, 0, 1], [1, 2, 3]), [0, 1])
    >>> edges.src, edges.dst
    (array([0, 0, 1]), array([1, 2, 3], dtype=int32))
    """
    graph = on.graph if isinstance(on, State) else whole_graph(on)
    lists = on._bound.sends if isinstance(on, State) else NeighborLists(graph, "out", False)
    xp: Any = module_of(graph.device)
    ids, indptr = _frontier_on_device(graph, frontier).ids, lists.indptr()
    starts = indptr[ids]
    offsets = xp.zeros(len(ids) + 1, np.int64)
    offsets[1:] = xp.cumsum(indptr[ids + 1] - starts, dtype=np.int64)
    entries = xp.arange(int(offsets[-1]))
    owners = Adjacency(offsets, entries).owners()
    positions = entries + (starts - offsets[:-1])[owners]
    numbers = lists.ids()[positions] if lists.has_ids else positions
    edges = EdgeFrontier(graph.n, numbers, ids[owners], lists.indices()[positions])
    if not isinstance(on, State) or "edge_mask" not in on.has:
        return edges
    return edges[xp.flatnonzero(on._bound.edge_mask(ids, edges, positions, on.iteration))]


def contract(on: State | Graph, edges: EdgeFrontier | None = None) -> Frontier:
    """Return the distinct destinations of edges in ascending order, as a Frontier.

    With a State, only destinations are returned that the program's `mask` admits.

    Parameters
    ----------
    on : State or Graph
    edges : EdgeFrontier, optional
        By default every vertex is a destination, as with `everyone = True`.

    Examples
    --------
    >>> graph = Graph.from_edges([0, 0, 1], [1, 2, 2])
    >>> contract(graph, expand(graph, [0, 1])).ids
    array([1, 2])
    """
    graph = on.graph if isinstance(on, State) else whole_graph(on)
    xp: Any = module_of(graph.device)
    is_reached = xp.full(graph.n, edges is None)
    if edges is not None:
        if isinstance(edges, EdgeFrontier) and edges.n != graph.n:
            raise ValueError(
                f"the edges are of a graph of {edges.n} vertices; this graph has {graph.n}; pass edges of this one"
            )
        is_reached[ends_of(graph, edges)[1]] = True
    if isinstance(on, State) and "mask" in on.has:
        ids = xp.flatnonzero(is_reached)
        is_reached[ids] = on._bound.mask(ids, on.iteration)
    return Frontier(graph.n, mask=is_reached)


def gather(state: State, receivers: Any, frontier: Any = None) -> Any:
    """Gather values over the in-edges of each receiver, a vertex to be updated, and reduce them to one per receiver.

    Parameters
    ----------
    state : State
    receivers : Frontier, ids, or mask
    frontier : Frontier, ids, or mask, optional
        The active vertices, for a program with `sources = "active"`; by default all.

    Returns
    -------
    array, or tuple of arrays
        One value per receiver, in the order of `receivers.ids`.

    Examples
    --------
    >>> from gasla.algorithms.traversal.bfs import Parents
    >>> state = start(Parents, Graph.from_edges([0, 1], [1, 2]), level={0: 0})
    >>> gather(state, [1, 2], [0, 1])  # the parent's id plus one, as `any` skips zero
    array([1, 2], dtype=int32)
    """
    _require_function(state, "gather")
    bound_program, ids = state._bound, _frontier_on_device(state.graph, receivers).ids
    bound_program.gather(ids, _frontier_on_device(state.graph, frontier), state.iteration)
    gathered_arrays = tuple(bound_program.arrays[name][ids] for name, _ in bound_program.plan.components)
    if conversion := bound_program.plan.traced.held:
        return conversion.lower(gathered_arrays)
    return gathered_arrays if bound_program.plan.is_tuple else gathered_arrays[0]


def apply(state: State, receivers: Any, gathered: Any = None) -> Frontier:
    """Apply gathered values to each receiver, a vertex to be updated. Return the vertices that are active next.

    Parameters
    ----------
    state : State
    receivers : Frontier, ids, or mask
    gathered : array, or tuple of arrays
        As from `gather`; omitted for a program without gather.

    Examples
    --------
    >>> from gasla.algorithms.traversal.bfs import Parents
    >>> state = start(Parents, Graph.from_edges([0, 1], [1, 2]), level={0: 0})
    >>> apply(state, [1], np.array([1])).ids
    array([1])
    >>> state.parent
    array([-1,  0, -1], dtype=int32)
    """
    bound_program, ids = state._bound, _frontier_on_device(state.graph, receivers).ids
    if bound_program.plan.gathers:
        _store_gathered(state, ids, gathered)
    return Frontier(state.graph.n, mask=bound_program.apply(ids, state.iteration))


def _store_gathered(state: State, ids: Any, gathered: Any) -> None:
    """Store the argument `gathered` of the stage `apply` in the arrays from which the program's `apply` reads it.

    It has a value for each of the vertices `ids`. Raise an error if it is not valid.
    """
    bound_program, components = state._bound, state._bound.plan.components
    if gathered is None:
        raise TypeError(
            f"{type(bound_program.program).__name__} gathers, so apply needs the values that gather returned"
        )
    if conversion := bound_program.plan.traced.held:
        gathered = *conversion.lift(gathered)[:-1], np.ones(len(ids), bool)
    gathered_arrays = gathered if bound_program.plan.is_tuple else (gathered,)
    if not isinstance(gathered_arrays, tuple | list) or len(gathered_arrays) != len(components):
        raise TypeError(f"gathered is {gathered!r}; expected a tuple of {len(components)} arrays, as gather gives it")
    for (name, dtype), part_given in zip(components, map(imported, gathered_arrays)):
        gathered_array, (shape, base) = array_module(part_given).asarray(part_given), layout(dtype, len(ids))
        if gathered_array.shape != shape:
            raise ValueError(
                f"gathered has shape {gathered_array.shape}; expected {shape}, one value for each receiver"
            )
        if not np.can_cast(gathered_array.dtype, base, "same_kind"):
            raise TypeError(f"gathered has type {gathered_array.dtype}; expected {base}")
        bound_program.arrays[name][ids] = moved(gathered_array, state.graph.device)


def scatter(state: State, frontier: Any) -> None:
    """Run the program's function `scatter` on the out-edges of the vertices in a frontier.

    Parameters
    ----------
    state : State
    frontier : Frontier, ids, or mask

    Examples
    --------
    >>> import gasla
    >>> class Send(gasla.VertexProgram):
    ...     load = gasla.vertex(np.float64, init=3)
    ...     sent = gasla.edge(np.float64, init=0)
    ...     def scatter(self, src, dst, edge): return {"sent": src.load}
    >>> state = start(Send, Graph.from_edges([0, 1], [1, 2]))
    >>> scatter(state, [1])
    >>> state.sent
    array([0., 3.])
    """
    _require_function(state, "scatter")
    state._bound.scatter(_frontier_on_device(state.graph, frontier).ids, state.iteration)


def post_apply(state: State, receivers: Any) -> None:
    """Run the program's function `post_apply` on the receivers, the vertices that were updated.

    Parameters
    ----------
    state : State
    receivers : Frontier, ids, or mask

    Examples
    --------
    >>> import gasla
    >>> class Halve(gasla.VertexProgram):
    ...     load = gasla.vertex(np.float64, init=3)
    ...     def post_apply(self, vertex): return {"load": vertex.load / 2}
    >>> state = start(Halve, Graph.from_edges([0, 1], [1, 2]))
    >>> post_apply(state, [1])
    >>> state.load
    array([3. , 1.5, 3. ])
    """
    _require_function(state, "post_apply")
    state._bound.over("revise", _frontier_on_device(state.graph, receivers).ids, state.iteration)


def _require_function(state: State, function: str) -> None:
    if function not in state.has:
        name = type(state._bound.program).__name__
        raise ValueError(f"{name} has no {function}; define it, or leave this stage out")


def _frontier_on_device(graph: Graph, vertices: Any) -> Frontier:
    """Return the argument of a stage that gives a set of vertices as a Frontier on the graph's device.

    The argument may be a Frontier, ids of vertices, or a boolean mask.
    """
    return as_frontier(graph, vertices).to(graph.device)
