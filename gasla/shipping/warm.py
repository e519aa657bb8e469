"""Provides `warm`, which compiles functions and vertex programs before their first use, by calling them."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

import gasla
from gasla import engines
from gasla.arrays import Device, module_of
from gasla.compiler.function import compilations
from gasla.cpu.runtime import threads
from gasla.gpu.runtime.compile import compilations as compilations_for_gpus
from gasla.graph.graph import Graph
from gasla.log import unwarned
from gasla.operations.prepare import check_device
from gasla.operations.run import run
from gasla.program.program import VertexProgram
from gasla.progress import track
from gasla.shipping import SLOW, calls

__all__ = ["warm"]

Call = Callable[[Graph], Any]
COMPILATIONS: dict[Device, Callable[[], int]] = {"cpu": compilations, "gpu": compilations_for_gpus}
BEGIN: dict[Device, Callable[[], None]] = {"cpu": threads.compile_ahead, "gpu": lambda: None}
FIRST = 1000  # If a function returns an iterator, only this many results are taken, because it may go on without end.
# Programs, and functions with `max_iter`, run this many iterations, which suffice to compile all of their code.
ITERATIONS = 3


def warm(
    *used: Callable[..., Any] | VertexProgram | type[VertexProgram],
    values: Iterable[Any] = (None, float),
    device: Device = "cpu",
) -> int:
    """Compile functions and vertex programs before their first use, as when a container's image is built.

    Each is called on up to twelve graphs for each type of values: small and large ones, directed and undirected,
    acyclic, with loops and with parallel edges. Compiled code is stored in the cache folder, where other processes find
    it. An installed wheel already has that of gasla's own functions for float64 and no values.

    Parameters
    ----------
    *used : functions and vertex programs
        A function is called with a graph. Its other arguments without a default are filled in if they have the names
        that they have in gasla, such as `source`; pass `functools.partial(gasla.sssp, parents=True)` or a function of
        your own to choose them. A vertex program, an instance or a class, runs with its defaults.
    values : iterable of dtypes, optional
        The types of the edges' values; None is a graph without values.
    device : "cpu" or "gpu"
        Where they will run. Code for a GPU is compiled where there is one of its kind.

    Returns
    -------
    int
        The number of kernels that had to be compiled; 0 if all were found.

    Raises
    ------
    TypeError
        If something is neither a function nor a vertex program, or if `values` has something that is no type.
    ValueError
        If a function has an argument that is not filled in, or `device` is another word.
    RuntimeError
        If there is no GPU, with `device="gpu"`.
    Exception
        What a function or a program raises if it refuses all graphs by a TypeError or ValueError; others at once.

    Notes
    -----
    Graphs have up to 2^15 vertices and 2^18 edges, and 32-bit ids. Graphs of more than 2^31 vertices or edges compile
    code of their own when they are first used. `gasla.progress.bar` shows how far it is.

    Examples
    --------
    >>> import functools, gasla
    >>> first = gasla.warm(gasla.bfs, functools.partial(gasla.sssp, parents=True), values=["float32"])
    >>> gasla.warm(gasla.bfs, values=["float32"])
    0
    """
    module_of(check_device(device))  # raises an error if a GPU is asked for and there is none
    types = ["" if value is None else np.dtype(value).str for value in values]
    tasks, compiled = [_task_of(each) for each in used], COMPILATIONS[device]
    count_before = compiled()
    if tasks:
        BEGIN[device]()
    for call, is_slow in track(tasks, "functions"):
        _call_on_all(call, [kind for name in types for kind in calls.kinds(name, is_slow)], device)
    return compiled() - count_before


def _task_of(used: Any) -> tuple[Call, bool]:
    """Return a function that takes a graph and makes the calls of `used` on it, so that their code is compiled.

    `used` is an argument of `warm`: a function, a `functools.partial`, or a vertex program. The second result is True
    for functions that are slow on large graphs.
    """
    if isinstance(used, VertexProgram) or (isinstance(used, type) and issubclass(used, VertexProgram)):
        return partial(run, used, max_iterations=ITERATIONS), False
    if not callable(used):
        raise TypeError(f"warm got {used!r}; expected functions of a graph and vertex programs")
    plain: Any = getattr(used, "func", used)  # for a `functools.partial`, the function that it calls
    name = getattr(plain, "__name__", "")
    if name not in gasla.__all__ or getattr(gasla, name) is not plain:
        return used, False
    parameters = [*inspect.signature(used).parameters.values()][1:]
    required_names = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    if missing := [
        argument for argument in required_names if argument not in calls.arguments(Graph.from_edges([0], [1]))
    ]:
        raise ValueError(
            f"warm can't call {name}, which needs {', '.join(missing)}; expected a function of a graph alone: "
            f"lambda graph: gasla.{name}(graph, …)"
        )
    takes_limit = any(parameter.name == "max_iter" for parameter in parameters) and name not in calls.MUST_CONVERGE
    has_limit = "max_iter" in getattr(used, "keywords", {})
    fixed = {"max_iter": ITERATIONS} if takes_limit and not has_limit else {}

    def call(graph: Graph) -> Any:
        values_by_name = calls.arguments(graph)
        return used(graph, **{argument: values_by_name[argument] for argument in required_names}, **fixed)

    def call_both_ways(graph: Graph) -> Any:
        with engines.programs_only():
            call(graph)
        return call(graph)

    return call_both_ways if name in calls.ON_ONE_THREAD else call, any(part in name for part in SLOW)


def _call_on_all(call: Call, kinds: list[calls.Kind], device: Device) -> None:
    """Call a function on a graph of each kind, on a device, so that its code is compiled.

    Errors of a function that refuses some graphs are ignored. If the function fails on every graph, raise its first
    error.
    """
    errors = []
    for kind in kinds:
        with unwarned(gasla.ConvergenceWarning):
            try:
                result = call(kind.graph().to(device))
                if isinstance(result, Iterator):
                    deque(islice(result, FIRST), maxlen=0)
            except (ValueError, TypeError) as error:
                errors.append(error)
    if kinds and len(errors) == len(kinds):
        raise errors[0]
