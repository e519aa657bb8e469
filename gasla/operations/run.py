"""`run`: run a vertex program on a graph, or several programs that take turns (phases)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from threading import Lock
from typing import Any

from gasla.arrays import Device
from gasla.engines import compiles, engine
from gasla.graph.arguments import check_flags
from gasla.graph.graph import Graph, as_graph
from gasla.operations.phases import Phase, as_phases, run_phases
from gasla.operations.prepare import (
    FLAGS,
    WAYS,
    Begin,
    Course,
    Direction,
    Variant,
    check_device,
    run_once,
    runs_alone,
    runs_of,
)
from gasla.operations.result import Result
from gasla.program.fields import Order
from gasla.program.program import VertexProgram, in_order

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
    """Run a vertex program on a graph until the program ends.

    Parameters
    ----------
    program : VertexProgram, or a list of programs or Phases
        An instance (with its parameters), or a class (with the default parameters). The members of a list take turns:
        see `gasla.Phase`. Where this page counts iterations, a run of a list counts these turns.
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j.
    active : array of ids or names, array of bool, or Frontier, optional
        The vertices that are active in the first iteration; by default all. If there are none, the run first calls
        the program's functions `idle` and `wake`, and ends if no vertex wakes.
    max_iterations : int, optional
        At most this many iterations; by default no limit. Required if nothing else ends the program:
        `gasla.explain` says what ends a run.
    direction : "auto", "push" or "pull"
        "auto" chooses in each iteration. Where the program's reduction can't push, "push" finds the receivers along the
        active vertices' edges, and these pull.
    deterministic : bool
        Bit-identical results, after the same number of iterations, in every run with the same number of threads.
    order : "synchronous" or "in place", optional
        Overrides the program's `order`. In place, a vertex reads what others have applied earlier in the same
        iteration: see `VertexProgram`. Not with `deterministic=True`, nor with `schedule`.
    trace : bool
        Record each iteration in `Result.trace`.
    callback : function of a Result, optional
        Called after each iteration with the current state (not a copy); a true return value ends the run.
    progress : function of an int, optional
        Called ten times a second with the number of iterations done.
    device : "cpu" or "gpu", optional
        Where to run; by default the graph's device. A graph on the other device is copied once, and results are arrays
        of the device that runs.
    delta : float, optional
        Width of a bucket for programs with a priority. By default it follows from the mean edge value and the degrees
        if priorities are sums of edge values; otherwise it is a sixteenth of the range of waiting priorities. On a CPU
        it is the smallest width for such sums: buckets grow while few vertices improve others of the same bucket.
    schedule : (n,) array of integers, or Schedule, optional
        The number of the iteration in which each vertex receives values from its neighbors, or -1 for never. It takes
        the place of the set of active vertices. Vertices of the same iteration see each other's old values. For work in
        a known order, such as along a directed acyclic graph.
    wait : bool
        False returns while a GPU still runs, if the run is likely to be short: see `Result`. An error of the run is
        raised by whatever waits for it. It has no effect on the CPU.
    notice : bool
        Whether to check first that the graph's values are unchanged, if the program reads them: one pass over them.
        False asserts that they have not been written to.
    compile : bool
        False compiles nothing and calls the program's functions on whole NumPy arrays: for a first look, and to debug.
        `print` and `breakpoint()` in a function show the arrays of all its vertices or edges (and once before that the
        symbols with which programs are traced). Every iteration pulls, so a run may take more iterations, and each is
        some hundred times slower. On the GPU it works on copies.
    out : dict of str to array, optional
        Arrays that hold vertex fields during and after the run, in place of new ones, such as a result's arrays. A
        field starts with the array's values, unless a start value is given for it. Not for a field that neighbors read
        while `everyone` writes it, which needs two copies.
    start : Result, or dict of str to array, optional
        Warm start: a result of the same program, with the same parameters, on this graph or on one from which this was
        made by `Graph.changed` with edges added only. The sources of new edges are then active. Only for programs that
        reduce by an idempotent monoid into their fields, as shortest paths do. A plain dict does not say which run its
        arrays came from: then `active` gives the active vertices, by default all.
    **values
        Start values of fields, in place of the program's own: an array of n (vertex) or m (edge) entries, or a dict
        from vertex to value for the few vertices that differ. And values of parameters, in place of the program's own.

    Returns
    -------
    Result

    See Also
    --------
    gasla.prepare : For many runs of one program on one graph.

    Raises
    ------
    TypeError, ValueError
        For unknown fields, wrong shapes or types, or ids outside the graph; for a program that never ends by itself,
        without `max_iterations`; if `start` comes from another program or graph, or edges were removed or values
        changed since.

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
    if isinstance(program, list | tuple):
        phases = [replace(phase, program=in_order(phase.program, order)) for phase in as_phases(program)]
        programs = [phase.program for phase in phases]
    else:
        phases, programs = [], [runs_alone(program, order)]
    graph = as_graph(graph)
    if {type(compile), type(deterministic), type(notice)} != FLAGS:
        check_flags(compile=compile, deterministic=deterministic, notice=notice)
    course = Course(max_iterations, delta, trace, callback, progress, wait)
    if notice and any(map(attrgetter("edge_fields"), programs)):
        graph.notice_values()
    if device is not None:
        graph = graph.to(check_device(device))
    variant = Variant(WAYS[direction], deterministic, schedule is not None, compile and compiles())
    run_arguments = Begin(values, active, schedule, out, start)
    if phases:
        return run_phases(phases, graph, variant, run_arguments, course)
    (single,) = programs
    turn = Lock()
    with turn:
        return run_once(runs_of(single, graph, variant, turn), single, graph, run_arguments, course)


def converts_weights(graph: Graph) -> bool:
    """Return whether the kernels that run programs on a graph convert its weights to float64 as they read them."""
    return engine(graph.engine).converts_weights
