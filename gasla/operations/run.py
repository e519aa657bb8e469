"""`run`: a vertex program, a graph, and what came of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gasla.arrays import Device
from gasla.engines import compiles
from gasla.graph.arguments import check_flags
from gasla.graph.graph import as_graph
from gasla.operations.phases import Phase, as_phases, run_phases
from gasla.operations.prepare import (
    FLAGS,
    Begin,
    Course,
    Direction,
    Variant,
    alone,
    check_device,
    run_once,
    runs_of,
    way_of,
)
from gasla.operations.result import Result
from gasla.program.fields import Order
from gasla.program.program import VertexProgram, as_program, in_order

__all__ = ["run"]


def run(
    program: VertexProgram | type[VertexProgram] | Sequence[Phase | VertexProgram | type[VertexProgram]],
    graph: Any,
    *,
    active: Any = None,
    max_iterations: int | None = None,
    direction: Direction = "auto",
    deterministic: bool = False,
    order: Order | None = None,
    trace: bool = False,
    callback: Callable[[Result], Any] | None = None,
    progress: Callable[[int], Any] | None = None,
    device: Device | None = None,
    delta: float | None = None,
    schedule: Any = None,
    wait: bool = True,
    notice: bool = True,
    compile: bool = True,
    out: Mapping[str, Any] | None = None,
    start: Result | Mapping[str, Any] | None = None,
    **values: Any,
) -> Result:
    """Run a vertex program on a graph until it ends.

    Parameters
    ----------
    program : VertexProgram, or a list of programs or Phases
        An instance (with its parameters), or a class (with their defaults). A list's members take turns: see
        `gasla.Phase`. Then an iteration is a turn, wherever this page speaks of iterations.
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j.
    active : array of ids, array of bool, or Frontier, optional
        The vertices that count as changed before the first iteration; by default all.
    max_iterations : int, optional
        At most this many iterations; by default as many as it takes. Needed for a program that nothing else ends:
        `gasla.explain` says what ends a run.
    direction : "auto", "push" or "pull"
        Auto chooses in each iteration. Push falls back to walking the active vertices' edges where the program's
        reduction can't be done by pushing.
    deterministic : bool
        The same bits in every run with the same number of threads, after as many iterations.
    order : "synchronous" or "in place", optional
        In place of the program's own `order`. In place, what has been applied is seen at once, by whoever comes to it
        later in the same iteration: see `VertexProgram`. Not with `deterministic=True`, and not with a schedule.
    trace : bool
        Record each iteration: `Result.trace`.
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
    wait : bool
        False lets a GPU go on with the run while Python does other things, where that is likely to be short: see
        `Result`. An error of such a run is raised by whatever waits for it. On the CPU it changes nothing.
    notice : bool
        Whether to look first if the graph's values have been written into since, where the program reads them: a pass
        over them. False says that they haven't.
    compile : bool
        False calls the program's functions as they are, by NumPy on whole arrays, and compiles nothing: for a first
        look, and to find mistakes. `print` and `breakpoint()` in a function show arrays of all edges or vertices at
        hand (symbols once before, as programs are always looked at first). It always pulls, one plain step after
        another, so that a run may take more iterations; each is some hundred times slower. On the GPU it works on
        copies.
    out : dict of str to array, optional
        Arrays in which vertex fields are to live, in place of fresh ones: a result's, to go on from. Each starts with
        what it holds, or with what is given for the field. Not what neighbours read while everyone changes it.
    start : Result, or dict of str to array, optional
        What to go on from, in place of start values: a result of the same program, with the same parameters, on this
        graph or on one that this was made of by `Graph.changed` with edges added alone. Active are then the vertices
        from which new edges lead. Only for programs that reduce by an idempotent monoid into the fields it goes on
        from, as shortest paths do. Of fields that are given by themselves nobody knows what they are of: `active` says
        who goes on, by default everyone.
    **values
        Start values of fields, in place of the program's own: arrays of n (vertex) or of m (edge) entries, or a dict
        of vertex to value for those few that differ. And parameters, in place of the program's own.

    Returns
    -------
    Result

    See Also
    --------
    gasla.prepare : for many runs of one program on one graph.

    Raises
    ------
    TypeError, ValueError
        For unknown fields, wrong shapes or types, ids outside the graph; without `max_iterations` for a program that
        never ends by itself; where `start` is of another program or graph, or edges were removed or values changed
        since.

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
    phases = as_phases(program) if isinstance(program, list | tuple) else []
    phases = [replace(phase, program=in_order(phase.program, order)) for phase in phases]
    programs = [phase.program for phase in phases] or [in_order(alone(as_program(program)), order)]
    graph = as_graph(graph)
    if {type(compile), type(deterministic), type(trace), type(wait), type(notice)} != FLAGS:
        check_flags(compile=compile, deterministic=deterministic, trace=trace, wait=wait, notice=notice)
    if notice and any(one.edge_fields for one in programs):
        graph.notice_values()
    if device is not None:
        graph = graph.to(check_device(device))
    variant = Variant(way_of(direction), deterministic, schedule is not None, compile and compiles())
    begin = Begin(values, active, schedule, out, start)
    course = Course(max_iterations, delta, trace, callback, progress, wait)
    if phases:
        return run_phases(phases, graph, variant, begin, course)
    (single,) = programs
    return run_once(runs_of(single, graph, variant), single, graph, begin, course)
