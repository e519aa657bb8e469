"""The product of a distributed graph and a vector, as one iteration of a vertex program over all vertices."""

import functools
from typing import Any

import numpy as np

from gasla.distributed.block_array import BlockArray
from gasla.distributed.engine.distributed_run import Compiled
from gasla.distributed.engine.unsupported import unsupported
from gasla.program.binding import AUTO
from gasla.program.fields import edge, vertex
from gasla.program.frontier import Frontier
from gasla.program.program import VertexProgram
from gasla.program.terms import trace
from semirings import Semiring, TupleType


def product(graph: Any, x: Any, semiring: Semiring, by_column: bool) -> BlockArray:
    """The product with a vector, by rows or by columns; entries of a row are reduced in their order.

    Raises
    ------
    ValueError, TypeError
        If x is not a vector of length n, or the multiply operator reads indices or returns a tuple.
    """
    x = x if isinstance(x, BlockArray) else np.asarray(x)
    if x.ndim != 1:
        raise unsupported(f"x has shape {x.shape}; a distributed graph multiplies vectors only: expected ({graph.n},)")
    if x.shape != (graph.n,):
        raise ValueError(f"x has shape {x.shape}; expected ({graph.n},), one number per vertex")
    value = None if graph.values is None else graph.values.dtype
    program = _program(semiring, by_column, value, x.dtype)()
    running = Compiled().prepare(program, graph, AUTO).begin(program, graph, {"x": x}, Frontier.all(graph.n))
    try:
        running.advance(1)
        found: BlockArray = running.state()["y"]
        return found
    finally:
        running.close()


@functools.lru_cache
def _program(semiring: Semiring, by_column: bool, value: Any, kind: np.dtype) -> type[VertexProgram]:
    """The vertex program of a product, for the types of edge values and of x."""
    terms = trace(semiring, by_column, value, kind, None, wide=False)
    if isinstance(terms.out_type, TupleType):
        raise unsupported(
            f"{semiring!r} gives several values, which a product of a distributed graph can't; expected one"
        )

    def gather(self: Any, src: Any, dst: Any, edge: Any) -> Any:
        entry = np.bool_(True) if value is None else edge.value
        return semiring.multiply(src.x, entry) if by_column else semiring.multiply(entry, src.x)

    def apply(self: Any, vertex: Any, gathered: Any) -> Any:
        return {"y": gathered}

    body = {"x": vertex(kind), "y": vertex(terms.out_type), "reduce": semiring.monoid, "everyone": True}
    body |= {"gather": gather, "apply": apply, "direction": "in" if by_column else "out"}
    body |= {} if value is None else {"value": edge(value)}
    return type("Product", (VertexProgram,), body)
