"""The stage that intersects neighbour lists, on the device where the graph is.

It is written twice, in the engines' `primitive.intersect`, with the same signature.
"""

from functools import wraps
from typing import Any

from gasla.cpu.primitive.intersect import intersect as _on_cpu
from gasla.graph.graph import Graph


@wraps(_on_cpu)
def intersect(graph: Graph, *arguments: Any, **options: Any) -> Any:
    """See `gasla.cpu.primitive.intersect.intersect`."""
    if graph.device == "cpu":
        return _on_cpu(graph, *arguments, **options)
    from gasla.gpu.primitive.intersect import intersect as on_gpu

    return on_gpu(graph, *arguments, **options)
