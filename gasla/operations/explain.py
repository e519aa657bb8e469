"""`explain`: what a run would do and why, in plain words."""

from typing import Any

from gasla.arrays import Device
from gasla.engines import engine
from gasla.graph.arguments import check_flags
from gasla.graph.graph import as_graph
from gasla.operations.prepare import Direction, Variant, check_device, runs_of, way_of
from gasla.program.fields import Order
from gasla.program.program import VertexProgram, as_program, in_order

__all__ = ["explain"]


def explain(
    program: VertexProgram | type[VertexProgram],
    graph: Any,
    *,
    direction: Direction = "auto",
    deterministic: bool = False,
    order: Order | None = None,
    scheduled: bool = False,
    device: Device | None = None,
) -> str:
    """What a run of a vertex program on a graph will do, and why: a sentence a line, to be printed.

    Whether it pushes, pulls or chooses, and what stands in the way of pushing; where values go; what is copied of
    fields and of the graph, and the bytes of it; how threads share the work; whether there is code already. It runs
    and compiles nothing, but neighbour lists that a run needs are made, and kept with the graph.

    Parameters
    ----------
    program : VertexProgram
        An instance, or a class.
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j.
    direction, deterministic, order, device
        As for `gasla.run`.
    scheduled : bool
        Whether the run will be along a schedule.

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
    What arrives is seen in the next iteration, because everyone = True.
    rank has two copies, read and written in turn: neighbours read it while apply writes it.
    ...
    """
    program, graph = in_order(as_program(program), order), as_graph(graph)
    check_flags(deterministic=deterministic, scheduled=scheduled)
    if device is not None:
        graph = graph.to(check_device(device))
    runs = runs_of(program, graph, Variant(way_of(direction), deterministic, scheduled, True))
    return "\n".join(engine(graph.engine).explain(runs, program, graph))
