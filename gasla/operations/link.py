"""The stages over a forest of vertices, on the device where the graph or the forest is.

They are written twice, in ``gasla.cpu.primitive.link`` and ``gasla.gpu.primitive.link``, with the same signatures.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from gasla.arrays import device_of
from gasla.cpu.primitive import link as cpu
from gasla.graph.graph import Graph


def _on_either(on_cpu: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(on_cpu)
    def stage(where: Any, *arguments: Any, **options: Any) -> Any:
        device = where.device if isinstance(where, Graph) else device_of(where)
        if device == "cpu":
            return on_cpu(where, *arguments, **options)
        from gasla.gpu.primitive import link as gpu

        return getattr(gpu, on_cpu.__name__)(where, *arguments, **options)

    return stage


hook = _on_either(cpu.hook)
link = _on_either(cpu.link)
compress = _on_either(cpu.compress)
number = _on_either(cpu.number)
likely_largest = _on_either(cpu.likely_largest)
