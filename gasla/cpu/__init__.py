"""The CPU engine: all threads run a kernel from the start of a run to its end. This module is its interface.

Graphs import parts of this package, so everything that needs LLVM, which is slow to load, is imported on first use.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gasla.engines import Primitives, Products, Runs
    from gasla.graph.graph import Graph
    from gasla.program import VertexProgram, WalkProgram


converts_weights = False


def prepare(
    program: "VertexProgram", graph: "Graph", way: int, deterministic: bool = False, scheduled: bool = False
) -> "Runs":
    """Prepare the runs of a vertex program on a graph, and return an object that performs them.

    This function and the other functions of this module are documented in `gasla.engines.Engine`.
    """
    from gasla.cpu.program.prepared import Prepared

    return Prepared(program, graph, way, deterministic, scheduled)


def explain(runs: Any, program: "VertexProgram", graph: "Graph") -> list[str]:  # noqa: D103
    from gasla.cpu.explanation import sentences

    return sentences(runs, program, graph)


def explain_elsewhere(  # noqa: D103
    program: "VertexProgram", graph: "Graph", way: int, deterministic: bool, scheduled: bool
) -> list[str]:
    graph = graph.to("cpu")
    return explain(prepare(program, graph, way, deterministic, scheduled), program, graph)


def staged(program: "VertexProgram", graph: "Graph", fields: Mapping[str, Any]) -> Any:  # noqa: D103
    from gasla.cpu.program.staged import Staged

    return Staged(program, graph, fields)


def source(program: type["VertexProgram"], id_type: np.dtype[Any]) -> str:  # noqa: D103
    from gasla.cpu.program.generate import module_source

    return module_source(program.traced(id_type))


def walk_source(program: type["WalkProgram"], id_type: np.dtype[Any]) -> str:  # noqa: D103
    from gasla.cpu.program.walk_runs import walk_source
    from gasla.program.walk_plan import walk_plan

    return walk_source(walk_plan(program, id_type))


def workspace(program: "VertexProgram", graph: "Graph", deterministic: bool) -> int:  # noqa: D103
    from gasla.cpu.program.workspace import workspace_bytes

    return workspace_bytes(program, graph, deterministic)


def products() -> "Products":  # noqa: D103
    from gasla.cpu.product import products

    return products


def primitives() -> "Primitives":  # noqa: D103
    from gasla.cpu import primitive

    return primitive
