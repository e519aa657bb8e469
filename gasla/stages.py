"""The stages of a vertex program as functions, for people who write the loop themselves.

`start` binds a program to a graph and gives a State; `expand`, `contract`, `gather`, `apply`, `scatter` and
`post_apply` work on frontiers of it. `gasla.run` does the same, fused into one kernel. `hook`, `link`, `compress` and
`number` (components) and `intersect` (common neighbours) work on a graph alone.
"""

from typing import Any

import numpy as np

from gasla.cpu.engine import Bound
from gasla.frontier import EdgeFrontier, Frontier, as_frontier
from gasla.graph import Graph, as_graph
from gasla.intersect import intersect
from gasla.link import compress, hook, link, number
from gasla.program import Record, VertexProgram

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
    """A program's fields on a graph, between stages. Fields are attributes, arrays that may be written to.

    Attributes
    ----------
    graph : Graph
    iteration : int
        What the program's `self.iteration` is; the loop's owner counts it.
    """

    def __init__(self, program: VertexProgram, graph: Graph, fields: dict[str, Any]) -> None:
        self._bound = Bound(program, graph, fields, staged=True)
        self.graph = graph
        self.iteration = 0

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__["_bound"].state() if "_bound" in self.__dict__ else {}
        if name in state:
            return state[name]
        raise AttributeError(f"the state has no {name!r}; its fields: {', '.join(state)}")

    def run_stage(self, stage: str, vertices: Frontier) -> None:
        """Call one generated stage function for the vertices of a frontier."""
        bound = self._bound
        bound.arrays["receivers"] = np.ascontiguousarray(vertices.ids, bound.graph.id_dtype)
        bound.arrays["counts"][:] = 0
        bound.scalars["receiver_count"] = np.int64(len(vertices))
        bound.scalars["self_iteration"] = np.int64(self.iteration)
        bound.call(stage)

    def evaluate(self, function: str, **records: Record) -> np.ndarray:
        """One of the program's functions on NumPy arrays."""
        bound = self._bound
        stand_in = object.__new__(type(bound.program))
        stand_in.__dict__.update(bound.program.values, iteration=self.iteration, n=self.graph.n)
        return np.asarray(getattr(type(bound.program), function)(stand_in, *records.values()))

    def vertices(self, ids: np.ndarray) -> Record:
        """The fields of some vertices, as the program's functions see them."""
        graph = self.graph
        fields = {n: _items_first(self._bound.arrays[f"v_{n}"][ids]) for n in self._bound.traced.vertex_types}
        degrees = {"in_degree": graph.in_degrees, "out_degree": graph.out_degrees}
        return Record("vertex", {**fields, "id": ids, **{n: d[ids].astype(np.int64) for n, d in degrees.items()}})

    def edges(self, ids: np.ndarray) -> Record:
        """The fields of some edges, likewise."""
        fields: dict[str, Any] = {"id": ids}
        for name, declared in self._bound.program.edge_fields.items():
            if declared.is_value:
                values = self.graph.values
                fields[name] = np.ones(len(ids)) if values is None else values[ids]
            else:
                fields[name] = _items_first(self._bound.arrays[f"e_{name}"][ids])
        return Record("edge", fields)

    @property
    def has(self) -> frozenset[str]:
        """The functions that the program defines."""
        return frozenset(self._bound.traced.functions)


def start(program: VertexProgram | type[VertexProgram], graph: Any, **fields: Any) -> State:
    """Bind a program to a graph, ready for its stages.

    Parameters
    ----------
    program : VertexProgram
        An instance, or a class.
    graph : Graph or SciPy sparse array or matrix
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
    return State(program() if isinstance(program, type) else program, as_graph(graph), fields)


def expand(on: State | Graph, frontier: Any) -> EdgeFrontier:
    """The edges that leave a frontier, in the direction that activity spreads; with a State, those `edge_mask` admits.

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
    graph = on.graph if isinstance(on, State) else as_graph(on)
    ids = as_frontier(graph.n, frontier).ids
    side = {"in": "out", "out": "in", "all": "all"}[on._bound.program.direction] if isinstance(on, State) else "out"
    lists = {"out": graph.out, "in": graph.in_}[side] if side != "all" else graph.both
    starts, degrees = lists.indptr[ids], lists.indptr[ids + 1] - lists.indptr[ids]
    ends = np.cumsum(degrees)
    places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + degrees, degrees)
    numbers = places if lists.edge_ids is None else lists.edge_ids[places]
    edges = EdgeFrontier(graph.n, numbers, np.repeat(ids, degrees), lists.indices[places])
    if not isinstance(on, State) or "edge_mask" not in on.has:
        return edges
    records = {"src": on.vertices(edges.src), "dst": on.vertices(edges.dst), "edge": on.edges(edges.ids)}
    return edges[np.broadcast_to(on.evaluate("edge_mask", **records), len(edges))]


def contract(on: State | Graph, edges: EdgeFrontier) -> Frontier:
    """The destinations of edges, each once, in ascending order; with a State, those that `mask` admits.

    Parameters
    ----------
    on : State or Graph
    edges : EdgeFrontier

    Examples
    --------
    >>> graph = Graph.from_edges([0, 0, 1], [1, 2, 2])
    >>> contract(graph, expand(graph, [0, 1])).ids
    array([1, 2])
    """
    mask = np.zeros(edges.n, bool)
    mask[edges.dst] = True
    if isinstance(on, State) and "mask" in on.has:
        ids = np.flatnonzero(mask)
        mask[ids] = on.evaluate("mask", vertex=on.vertices(ids))
    return Frontier(edges.n, mask=mask)


def gather(state: State, receivers: Any, frontier: Any = None) -> Any:
    """Reduce over the in-edges of each receiver.

    Parameters
    ----------
    state : State
    receivers : Frontier, ids, or mask
    frontier : Frontier, ids, or mask, optional
        Who is active, for a program whose `sources` is "active"; by default all.

    Returns
    -------
    array, or tuple of arrays
        One value a receiver, in the order of `receivers.ids`.

    Examples
    --------
    >>> from gasla.algorithms.bfs import Parents
    >>> state = start(Parents, Graph.from_edges([0, 1], [1, 2]), level={0: 0})
    >>> gather(state, [1, 2], [0, 1])
    array([0, 1], dtype=int32)
    """
    who, bound = as_frontier(state.graph.n, receivers), state._bound
    if bound.plan.keeps_active:
        bound.arrays["bits"][:] = 0
        for parity in (0, 1):
            bound.set_active(as_frontier(state.graph.n, frontier), parity)
    state.run_stage("gather_list", who)
    parts = tuple(bound.arrays[name][who.ids] for name, _ in bound.plan.components)
    return parts if bound.plan.is_tuple else parts[0]


def apply(state: State, receivers: Any, gathered: Any = None) -> Frontier:
    """Apply to each receiver what it gathered; returns those that are active from then on.

    Parameters
    ----------
    state : State
    receivers : Frontier, ids, or mask
    gathered : array, or tuple of arrays
        As from `gather`; left out for a program that gathers nothing.

    Examples
    --------
    >>> from gasla.algorithms.bfs import Parents
    >>> state = start(Parents, Graph.from_edges([0, 1], [1, 2]), level={0: 0})
    >>> apply(state, [1], np.array([0])).ids
    array([1])
    >>> state.parent
    array([-1,  0, -1], dtype=int32)
    """
    who, bound = as_frontier(state.graph.n, receivers), state._bound
    parts = gathered if bound.plan.is_tuple else (gathered,) if bound.plan.gathers else ()
    for (name, _), part in zip(bound.plan.components, parts, strict=True):
        bound.arrays[name][who.ids] = part
    bound.arrays["activated"][:] = False
    state.run_stage("apply_list", who)
    return Frontier(state.graph.n, mask=bound.arrays["activated"].copy())


def scatter(state: State, frontier: Any) -> None:
    """Write to the out-edges of a frontier what the program's `scatter` returns.

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
    _require(state, "scatter")
    state.run_stage("scatter", as_frontier(state.graph.n, frontier))


def post_apply(state: State, receivers: Any) -> None:
    """Change the receivers' fields as the program's `post_apply` says.

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
    _require(state, "post_apply")
    state.run_stage("post_apply", as_frontier(state.graph.n, receivers))


def _require(state: State, function: str) -> None:
    if function not in state.has:
        name = type(state._bound.program).__name__
        raise ValueError(f"{name} has no {function}; define it, or leave this stage out")


def _items_first(values: np.ndarray) -> np.ndarray:
    """Vectors as the program's functions take them on arrays: the items along the first axis."""
    return values.T if values.ndim == 2 else values
