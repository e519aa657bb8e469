"""The reference engine as the tests look at it: `gasla.run(..., compile=False)`, with vectors' items first."""

from typing import Any

import numpy as np

import gasla
from gasla.graph.graph import Graph
from gasla.program.program import VertexProgram


class Reference:
    """A program on a graph; `run` finds its vertex and edge fields and the number of iterations."""

    def __init__(self, program: VertexProgram, graph: Graph, **fields: Any) -> None:
        self.program, self.graph, self.fields = program, graph, fields

    def run(self, active: Any = None, max_iterations: int = 10**6, schedule: Any = None) -> "Reference":
        options = {"active": active} if schedule is None else {"schedule": np.asarray(schedule)}
        result = gasla.run(
            self.program, self.graph, max_iterations=max_iterations, compile=False, **options, **self.fields
        )
        found = {name: array.T if array.ndim == 2 else array for name, array in result.state.items()}
        self.vertex = {name: found[name] for name in self.program.vertex_fields}
        values = np.ones(self.graph.m) if self.graph.values is None else self.graph.values
        self.edge = {name: found.get(name, values) for name in self.program.edge_fields}
        self.iteration, self.converged, self.aggregates = result.iterations, result.converged, result.aggregates
        self.active = result.active.mask
        return self
