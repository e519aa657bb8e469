"""Vertex programs and walk programs: declaration, tracing and planning, independent of the engine.

This package exports what users write programs with, such as `VertexProgram` and the functions that declare fields.
"""

from gasla.program.fields import ID, Order, aggregate, edge, parameter, vertex
from gasla.program.frontier import EdgeFrontier, Frontier
from gasla.program.options import option
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule
from gasla.program.walk_program import WalkProgram

__all__ = [
    "ID", "EdgeFrontier", "Frontier", "Order", "Schedule", "VertexProgram", "WalkProgram",
    "aggregate", "edge", "option", "parameter", "vertex",
]  # fmt: skip
