"""`run`: a vertex program, a graph, and what came of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np

from gasla.engines import engine
from gasla.graph.arguments import NO_LIMIT, most_iterations
from gasla.graph.graph import Graph, as_graph
from gasla.program.binding import AUTO, PULL, PUSH
from gasla.program.frontier import Frontier, as_frontier
from gasla.program.program import VertexProgram, as_program
from gasla.program.schedule import Schedule, as_schedule

__all__ = ["ConvergenceWarning", "Result", "run"]

WAYS = {"auto": AUTO, "push": PUSH, "pull": PULL}
T = TypeVar("T")
TRACE = np.dtype([("active", np.int64), ("edges", np.int64), ("direction", "U4")])


class ConvergenceWarning(UserWarning):
    """A program stopped at its limit of iterations before its own test was met."""


@dataclass(eq=False)
class Result:
    """What a run left behind. Fields of the program are attributes: `result.distance`.

    Attributes
    ----------
    state : dict of str to ndarray
        Every vertex field, and every edge field that the program owns (in the order of the input's edges).
    iterations : int
        How many iterations ran.
    converged : bool
        Whether the program ended by itself: nothing active, or its `stop()` held.
    edges : int
        Edges looked at, over all iterations.
    active : Frontier
        The vertices that were active at the end; of a program in which everyone gathers from all, everyone.
    aggregates : dict
        The last value of every aggregate.
    trace : structured ndarray or None
        On request, an entry per iteration: active vertices before it, edges looked at, "push" or "pull".
    """

    state: Mapping[str, np.ndarray]
    iterations: int
    converged: bool
    edges: int
    active: Frontier = field(repr=False)
    aggregates: Mapping[str, Any] = field(default_factory=dict)
    trace: np.ndarray | None = field(default=None, repr=False)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        state = own.get("state", {})
        if name in state:
            return state[name]
        if name in own.get("aggregates", {}):
            return own["aggregates"][name]
        raise AttributeError(f"the result has no {name!r}; its fields: {', '.join(state)}")


def run(
    program: VertexProgram | type[VertexProgram],
    graph: Any,
    *,
    active: Any = None,
    max_iterations: int | None = None,
    direction: Literal["auto", "push", "pull"] = "auto",
    deterministic: bool = False,
    trace: bool = False,
    callback: Callable[[Result], Any] | None = None,
    progress: Callable[[int], Any] | None = None,
    device: Literal["cpu", "gpu"] | None = None,
    delta: float | None = None,
    schedule: Any = None,
    **fields: Any,
) -> Result:
    """Run a vertex program on a graph until it ends.

    Parameters
    ----------
    program : VertexProgram
        An instance (with its parameters), or a class (with their defaults).
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j.
    active : array of ids, array of bool, or Frontier, optional
        The vertices that count as changed before the first iteration; by default all.
    max_iterations : int, optional
        At most this many iterations; by default as many as it takes.
    direction : "auto", "push" or "pull"
        Auto chooses in each iteration. Push falls back to walking the active vertices' edges where the program's
        reduction can't be done by pushing.
    deterministic : bool
        The same bits in every run with the same number of threads, after as many iterations.
    trace : bool
        Record each iteration.
    callback : function of a Result, optional
        Called after each iteration with the state so far (not a copy); a true return value ends the run.
    progress : function of an int, optional
        Called ten times a second with the number of iterations done.
    device : "cpu" or "gpu", optional
        Where to run; by default where the graph is. A graph that is elsewhere is copied there, once, and the results
        are arrays of that device.
    delta : float, optional
        Width of a bucket for programs with a priority. By default, where priorities are sums of edge values, it comes
        from the mean of these and from the degrees; else a bucket is a sixteenth of the range of priorities that wait.
    schedule : (n,) array of integers, or Schedule, optional
        In place of an active set: the iteration in which each vertex receives, or -1 for never. Vertices of one
        iteration see each other as they were before it. For work in a known order, as along a directed acyclic graph.
    **fields
        Start values of fields, in place of the program's own: arrays of n (vertex) or of m (edge) entries, or a dict
        of vertex to value for those few that differ.

    Returns
    -------
    Result

    Raises
    ------
    TypeError, ValueError
        For unknown fields, wrong shapes or types, ids outside the graph.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> from scipy.sparse import csr_array
    >>> class Hops(gasla.VertexProgram):
    ...     hops = gasla.vertex(np.int32, init=100)
    ...     reduce = semirings.min
    ...     def gather(self, src, dst, edge): return src.hops + 1
    ...     def apply(self, vertex, gathered): return {"hops": semirings.minimum(vertex.hops, gathered)}
    >>> path = csr_array(np.eye(4, k=1))
    >>> result = gasla.run(Hops, path, active=[0], hops={0: 0})
    >>> result.hops, result.converged
    (array([0, 1, 2, 3], dtype=int32), True)
    """
    program = as_program(program)
    if direction not in WAYS:
        raise ValueError(f"direction is {direction!r}; expected 'auto', 'push' or 'pull'")
    if device not in (None, "cpu", "gpu"):
        raise ValueError(f"device is {device!r}; expected 'cpu' or 'gpu'")
    if delta is not None and not (isinstance(delta, int | float | np.number) and delta > 0):
        raise ValueError(f"delta is {delta!r}; expected a positive number")
    limit = NO_LIMIT if max_iterations is None else most_iterations("max_iterations", max_iterations)
    graph = as_graph(graph)
    if program.edge_fields:
        graph.notice_values()
    graph = graph if device is None else graph.to(device)
    order = None if schedule is None else _schedule(program, graph.n, active, schedule)
    frontier = as_frontier(graph.n, active)
    bound = engine(graph.device).bind(program, graph, fields, WAYS[direction], deterministic, order)

    def work() -> Result:
        bound.begin(frontier, delta)
        return _result(bound, _advance(bound, limit, trace, callback, progress))

    return _closing(bound, work)


def begun(program: VertexProgram, graph: Graph, source: int, **fields: Any) -> Callable[[], tuple[Any, int]]:
    """What waits for the end of a run, which a GPU begins at once, and goes on with while Python does other things.

    It gives the fields and the number of iterations. Who leaves without them, for an error, lets the stream finish.
    """
    if graph.device == "cpu":
        return partial(left_running, program, graph, source, **fields)
    bound = engine(graph.device).bind(program, graph, _seeded(source, fields), AUTO)
    bound.begin(Frontier.one(graph.n, source), None)
    bound.launch(NO_LIMIT)
    return partial(_end, bound)


def get_ready(programs: Iterable[VertexProgram], graph: Graph) -> None:
    """Have a GPU's compiler at work on scheduled runs of these programs, while something else is done."""
    engine(graph.device).compile_ahead(programs, graph)


def _end(bound: Any) -> tuple[Any, int]:
    def work() -> tuple[Any, int]:
        bound.finish()
        return bound.state(), bound.iteration

    return _closing(bound, work)


def _closing(bound: Any, work: Callable[[], T]) -> T:
    """What `work` gives. Others may have the threads then, even if Ctrl-C comes as `close` begins."""
    busy = bound.busy
    try:
        return work()
    finally:
        if "owner" in busy and busy["owner"] is bound:  # as said where `busy` is
            del busy["owner"]
        bound.close()


def left_running(
    program: VertexProgram,
    graph: Graph,
    source: int | None = None,
    *,
    schedule: Schedule | None = None,
    limit: int = NO_LIMIT,
    delta: float | None = None,
    **fields: Any,
) -> tuple[Mapping[str, Any], int]:
    """The fields of a run that a GPU may still be at: whatever its stream does next finds them finished.

    It starts from a vertex of the graph, or goes along a schedule. Start values of fields are numbers (for a vector a
    tuple), which hold at the source, or arrays as such fields are left behind. With the fields comes the number of
    iterations, as far as they are known to have ended. Where many iterations are likely, or a progress bar is open, all
    have.
    """
    spare = graph.known("spare")
    if spare is not None and delta is None:
        left = spare.again(program, source, schedule, limit, fields)
        if left is not None:
            return left
    bound = engine(graph.device).bind(program, graph, _seeded(source, fields), AUTO, schedule=schedule)

    def work() -> tuple[Mapping[str, Any], int]:
        bound.begin(Frontier.all(graph.n) if source is None else Frontier.one(graph.n, source), delta)
        if bound.may_be_left:
            bound.launch(limit)
        else:
            bound.advance(limit)
            while not bound.ended and bound.iteration < limit:
                bound.advance(limit)
        return bound.state(), bound.iteration

    return _closing(bound, work)


def run_exactly(
    program: VertexProgram, graph: Graph, iterations: int, **fields: Any
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The fields and aggregates that just so many iterations leave, of a program that doesn't end before by itself.

    A GPU may still be at it: whatever its stream does next finds them finished; aggregates are arrays of no dimension.
    """
    bound = engine(graph.device).bind(program, graph, fields, AUTO)

    def work() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        bound.begin(Frontier.all(graph.n), None)
        if not bound.leave(iterations):
            _advance(bound, iterations, False, None, None)
        return bound.state(), bound.aggregates()

    return _closing(bound, work)


def _seeded(source: int | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The same start values, as whatever they are for any vertices."""
    return {name: {source: value} if isinstance(value, int | tuple) else value for name, value in fields.items()}


def _schedule(program: VertexProgram, n: int, active: Any, given: Any) -> Schedule:
    schedule = as_schedule(n, given)
    if active is not None or hasattr(program, "scatter") or hasattr(program, "mask"):
        raise ValueError("a scheduled run takes no active set, and its program no mask and no scatter; remove them")
    return schedule


def _advance(bound: Any, limit: int, trace: bool, callback: Any, progress: Any) -> list[np.ndarray]:
    """Let the loop run, in pieces where somebody wants to look in between; returns the pieces of the trace."""
    piece = 1 if callback else bound.log_rows if trace else limit
    rows = []
    while True:
        began = bound.iteration
        bound.advance(limit if limit - began <= piece else began + piece, progress, trace)
        if trace:
            rows.append(bound.log(bound.iteration - began))
        enough = bound.ended or bound.iteration >= limit
        if callback and bound.iteration > began and callback(_result(bound, [])):
            enough = True
        if enough:
            return rows


def _result(bound: Any, rows: list[np.ndarray]) -> Result:
    aggregates = bound.aggregates() if bound.traced.aggregates else {}
    trace = _trace(np.concatenate(rows)) if rows else None
    return Result(bound.state(), bound.iteration, bound.ended, bound.edges, bound.frontier(), aggregates, trace)


def _trace(rows: np.ndarray) -> np.ndarray:
    table = np.empty(len(rows), TRACE)
    table["active"], table["edges"] = rows[:, 0], rows[:, 1]
    table["direction"] = np.where(rows[:, 2] == PULL, "pull", "push")
    return table
