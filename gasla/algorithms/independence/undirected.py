"""Programs that take edges both ways: neighbours are all that an edge leads to or comes from."""

import functools
from typing import Any

from gasla.graph.graph import Graph
from gasla.program.program import VertexProgram


def undirected(program: type[VertexProgram], graph: Graph, *, weighted: bool = False) -> type[VertexProgram]:
    """The program as it is where every edge has its other direction, else over in-edges and out-edges."""
    has_both = graph.has_symmetric_values if weighted else graph.is_symmetric
    either: Any = program
    return either if has_both else _both_ways(either)


@functools.cache
def _both_ways(program: Any) -> Any:
    body: dict[str, Any] = {"direction": "all"}
    return type(program.__name__, (program,), body)
