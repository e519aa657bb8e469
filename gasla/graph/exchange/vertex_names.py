"""The names of vertices: strings, large integers, or any hashable objects that were ids in the input."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from gasla.graph.adjacency import Array
from gasla.names import meant

_FEW = 10_000  # up to this many names, an error suggests a similar one


def _is_text(name: Any) -> bool:
    return isinstance(name, str)


class Names:
    """One name per vertex, in a NumPy array on either device."""

    def __init__(self, each: Array) -> None:
        self.each = each

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        return {name: v for v, name in enumerate(self.each.tolist())}

    def number(self, name: Any) -> int:
        """The number of the vertex with this name.

        Examples
        --------
        >>> import numpy as np
        >>> Names(np.array(["ann", "bob"], object)).number("bob")
        1
        """
        try:
            return self._numbers[name]
        except (KeyError, TypeError):
            like = meant(name, filter(_is_text, self.each)) if _is_text(name) and len(self.each) <= _FEW else ""
            raise ValueError(f"no vertex is named {name!r}; expected one of {len(self.each)} names{like}") from None
