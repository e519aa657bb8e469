"""The GPU engine: CUDA kernels made from programs, compiled by NVRTC, launched through CuPy.

Graphs import `gasla.gpu.runtime`, and thereby this file. Each function imports its modules when it is called, because
importing CuPy takes long.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gasla.gpu.runtime import reductions

if TYPE_CHECKING:
    from gasla.engines import Primitives, Products, Runs
    from gasla.graph.graph import Graph
    from gasla.program import VertexProgram, WalkProgram


converts_weights = True


def prepare(
    program: "VertexProgram", graph: "Graph", way: int, deterministic: bool = False, scheduled: bool = False
) -> "Runs":
    """Prepare the GPU engine to run a vertex program on a graph, and return the object that makes runs.

    This function and the following ones of this module are documented in `gasla.engines.Engine`.
    """
    from gasla.gpu.program.engine import Prepared

    return Prepared(way, deterministic, scheduled)


def explain(runs: Any, program: "VertexProgram", graph: "Graph") -> list[str]:  # noqa: D103
    from gasla.gpu.explanation import sentences

    return sentences(runs, program, graph)


def explain_elsewhere(  # noqa: D103
    program: "VertexProgram", graph: "Graph", way: int, deterministic: bool, scheduled: bool
) -> list[str]:
    from gasla.gpu.explanation import without_gpu

    return without_gpu(program, graph, way, deterministic, scheduled)


def staged(program: "VertexProgram", graph: "Graph", fields: Mapping[str, Any]) -> Any:  # noqa: D103
    from gasla.gpu.program.staged import Staged

    return Staged(program, graph, fields)


def source(program: type["VertexProgram"], id_type: np.dtype[Any]) -> str:  # noqa: D103
    from semirings.printers import cuda

    parts = [cuda.PRELUDE]
    for f in program.traced(id_type).functions.values():
        result = tuple(f.result.values()) if isinstance(f.result, dict) else f.result
        if isinstance(result, tuple) and len(result) == 1:
            result = result[0]
        parts.append(cuda.function(f.printed, f.symbols, result))
    return "\n".join(parts)


def walk_source(program: type["WalkProgram"], id_type: np.dtype[Any]) -> str:  # noqa: D103
    from gasla.gpu.program.walk_runs import source
    from gasla.program.walk_plan import walk_plan

    return source(walk_plan(program, id_type))


def workspace(program: "VertexProgram", graph: "Graph", deterministic: bool) -> int:  # noqa: D103
    from gasla.gpu.program.engine import workspace_bytes

    return workspace_bytes(program, graph, deterministic)


def products() -> "Products":  # noqa: D103
    from gasla.gpu.product import products

    return products


def primitives() -> "Primitives":  # noqa: D103
    from gasla.gpu import primitive

    return primitive


def _reduce_by_product(monoid: Any, indptr: Any, ids: Any, values: Any) -> Any:
    from gasla.gpu.product import products
    from gasla.program.terms import reduce_lists

    return reduce_lists(products.ready, monoid, indptr, ids, values)


reductions.by_product = _reduce_by_product
