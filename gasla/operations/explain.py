"""Inspect a run before it starts.

`explain` says what it does and why, `source` returns its generated code, and `workspace` its memory.
"""

from collections.abc import Callable
from inspect import isfunction
from threading import Lock
from typing import Any

import numpy as np

from gasla.arrays import Device
from gasla.deprecation import warn
from gasla.engines import engine, engine_of_language
from gasla.graph.arguments import check_flags
from gasla.graph.graph import as_graph
from gasla.operations.on_one_device import DECORATED
from gasla.operations.prepare import WAYS, Direction, Variant, check_device, runs_of
from gasla.program import Order, WalkProgram
from gasla.program.program import VertexProgram, as_program, in_order

__all__ = ["explain", "source", "workspace"]


class Lines(str):
    """A text of several lines. Python's prompt and notebooks show it as lines, not as a quoted string."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def explain(
    program: VertexProgram | type[VertexProgram] | Callable[..., Any],
    graph: Any,
    *,
    direction: Direction = "auto",
    deterministic: bool = False,
    order: Order | None = None,
    scheduled: bool = False,
    device: Device | None = None,
    target: str | None = None,
) -> str:
    """Describe what a run of a vertex program on a graph will do, and why: one sentence per line.

    It tells whether iterations push or pull, and what prevents pushing; how values are reduced; which fields and parts
    of the graph are copied, in bytes; how threads share the work; and whether compiled code is stored already. Nothing
    is run or compiled, but neighbor lists that a run needs are made, and kept with the graph.

    Parameters
    ----------
    program : VertexProgram, or function
        An instance, or a class; or a function of gasla that takes a graph, to be told where a call computes if the
        graph is distributed, and how much memory a copy of it takes.
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j.
    direction, deterministic, order, device
        As for `gasla.run`.
    scheduled : bool
        Whether the run will take a schedule.
    target : "cpu" or "cuda", optional
        The engine, as for `source`; by default that of the graph's device. With "cuda" neither a GPU nor CuPy is
        needed: it says what follows from the program and the size of the graph.

    Returns
    -------
    str

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> from scipy.sparse import csr_array
    >>> class Rank(gasla.VertexProgram):
    ...     everyone = True
    ...     rank = gasla.vertex(np.float32, init=1)
    ...     reduce = semirings.plus
    ...     def gather(self, src, dst, edge): return src.rank / src.out_degree
    ...     def apply(self, vertex, gathered): return {"rank": 0.15 + 0.85 * gathered}
    >>> print(gasla.explain(Rank, csr_array(np.eye(4, k=1))))
    It never pushes, because everyone = True: every vertex gathers in every iteration.
    New values are read in the next iteration, because everyone = True.
    rank has two copies, one read and one written: neighbors read it while apply writes it.
    ...
    """
    if isfunction(program):
        return Lines("\n".join(as_graph(graph).explain_call(DECORATED.get(program.__name__))))
    program, graph = in_order(as_program(program), order), as_graph(graph)
    check_flags(deterministic=deterministic, scheduled=scheduled)
    if device is not None:
        graph = graph.to(check_device(device))
    if target is not None:
        target_engine = engine_of_language(target)
        if target_engine is not engine(graph.engine):
            graph.require_whole("target")
            lines = target_engine.explain_elsewhere(program, graph, WAYS[direction], deterministic, scheduled)
            return Lines("\n".join(lines))
    run_lock, variant = Lock(), Variant(WAYS[direction], deterministic, scheduled, True)
    with run_lock:
        prepared_runs = runs_of(program, graph, variant, run_lock)
        return Lines("\n".join(engine(graph.engine).explain(prepared_runs, program, graph)))


def source(program: Any, target: str = "cpu", id_type: Any = np.int32) -> str:
    """Return the source code that gasla generates for a program.

    Parameters
    ----------
    program : VertexProgram or WalkProgram
        An instance, or a class.
    target : "cpu" or "cuda"
        For a vertex program "cpu" gives the whole module that runs, "cuda" the program's functions in CUDA C++.
    id_type : int32 or int64
        Type of the graph's vertex ids.

    Returns
    -------
    str

    Raises
    ------
    TypeError, ValueError
        If `program` is not a program, `target` is another word, or `id_type` another type.

    Examples
    --------
    >>> import gasla
    >>> class Short(gasla.WalkProgram):
    ...     def stop(self, vertex): return 0.5
    >>> "stop_" in gasla.source(Short, "cuda")
    True
    """
    instance = program() if isinstance(program, type) else program
    if target == "numba":
        warn('the target "numba"', '"cpu"', "0.2")
        target = "cpu"
    target_engine, id_dtype = engine_of_language(target), np.dtype(id_type)
    if id_dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise ValueError(f"id_type is {id_dtype}; expected int32 or int64")
    if isinstance(instance, WalkProgram):
        return target_engine.walk_source(type(instance), id_dtype)
    return target_engine.source(type(as_program(instance)), id_dtype)


def workspace(program: VertexProgram | type[VertexProgram], graph: Any, deterministic: bool = False) -> int:
    """Return the most bytes that a run takes on the graph's device, besides the graph (`Graph.nbytes`) and its fields.

    On the CPU each thread has queues with room for all vertices; pages of them that no run writes take no memory.
    The graph keeps the workspace for its next run.

    Parameters
    ----------
    program : VertexProgram
        An instance, or a class.
    graph : Graph or SciPy sparse array or matrix
    deterministic : bool
        As for `gasla.run`.

    Returns
    -------
    int

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> from scipy.sparse import csr_array
    >>> class Rank(gasla.VertexProgram):
    ...     everyone = True
    ...     rank = gasla.vertex(np.float32, init=1)
    ...     reduce = semirings.plus
    ...     def gather(self, src, dst, edge): return src.rank / src.out_degree
    ...     def apply(self, vertex, gathered): return {"rank": gathered}
    >>> gasla.workspace(Rank, csr_array(np.eye(1000)))  # every vertex in every iteration: no queues
    0
    """
    graph = as_graph(graph)
    check_flags(deterministic=deterministic)
    return engine(graph.engine).workspace(as_program(program), graph, deterministic)
