"""The CPU engine: Numba kernels that several threads run at once, from start to finish. This is its face.

What it stands on, graphs use too: so all else of it is imported when first called for, as Numba takes its time.
"""

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gasla.engines import Primitives
    from gasla.graph.graph import Graph
    from gasla.program.program import VertexProgram
    from gasla.program.schedule import Schedule


def bind(
    program: "VertexProgram",
    graph: "Graph",
    fields: Mapping[str, Any],
    way: int,
    deterministic: bool = False,
    schedule: "Schedule | None" = None,
) -> Any:
    """See `gasla.engines.Engine`, as for all that follows."""
    from gasla.cpu.program.engine import bind

    return bind(program, graph, fields, way, deterministic, schedule)


def compile_ahead(programs: Iterable["VertexProgram"], graph: "Graph") -> None:
    """Nothing: to compile here would take this thread's time."""


def staged(program: "VertexProgram", graph: "Graph", fields: Mapping[str, Any]) -> Any:  # noqa: D103
    from gasla.cpu.program.staged import Staged

    return Staged(program, graph, fields)


def source(program: type["VertexProgram"], id_type: np.dtype[Any]) -> str:  # noqa: D103
    from gasla.cpu.program.generate import module_source

    return module_source(program.traced(id_type))


def workspace(program: "VertexProgram", graph: "Graph", deterministic: bool) -> int:  # noqa: D103
    from gasla.cpu.program.engine import workspace_bytes

    return workspace_bytes(program, graph, deterministic)


def products() -> ModuleType:  # noqa: D103
    from gasla.cpu.product import products

    return products


def primitives() -> "Primitives":  # noqa: D103
    from gasla.cpu import primitive

    return primitive
