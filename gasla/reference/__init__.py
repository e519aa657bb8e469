"""The reference engine: it runs vertex programs with NumPy, for `compile=False` and to check other engines.

It shares with the compiled engines only a program's functions, its plan (`gasla.program`), and the checks of arguments.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gasla.engines import Runs
    from gasla.graph.graph import Graph
    from gasla.program.program import VertexProgram


def prepare(
    program: "VertexProgram", graph: "Graph", way: int, deterministic: bool = False, scheduled: bool = False
) -> "Runs":
    """Return an object that runs a vertex program on a graph with NumPy, as every `gasla.engines.Runner` does.

    `way` is ignored, as every iteration pulls: each vertex reads its neighbors. Every run is deterministic.
    """
    from gasla.reference.runs import Interpreted

    return Interpreted(program, graph, deterministic, scheduled)
