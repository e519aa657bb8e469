"""Vertex programs by NumPy over whole arrays, with nothing compiled: to try them out, and to compare engines with.

It shares nothing with the engines but a program's own functions, what is decided of them (`gasla.program`), and the
checks of what a run is given. This is its face.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gasla.engines import Runs
    from gasla.graph.graph import Graph
    from gasla.program.program import VertexProgram


def prepare(
    program: "VertexProgram", graph: "Graph", way: int, deterministic: bool = False, scheduled: bool = False
) -> "Runs":
    """See `gasla.engines.Runner`. It always pulls, and is always deterministic."""
    from gasla.reference.runs import Interpreted

    return Interpreted(program, graph, deterministic, scheduled)
