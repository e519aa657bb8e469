"""Stages that need no program, on the CPU: `gasla.engines.Primitives`, over forests and over neighbour lists."""

from gasla.cpu.primitive.forest import compress, hook, label_components, likely_largest, link, number
from gasla.cpu.primitive.neighbours import count_common_neighbours, intersect, orient, simplify
from gasla.cpu.primitive.support import count_at_edges

__all__ = [
    "compress",
    "count_at_edges",
    "count_common_neighbours",
    "hook",
    "intersect",
    "label_components",
    "likely_largest",
    "link",
    "number",
    "orient",
    "simplify",
]
