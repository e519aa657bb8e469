"""Paths as lists of names, of which each extends the path to the node before."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def without_collecting() -> Iterator[None]:
    """Disable garbage collection within a `with` block that creates many lists.

    They would trigger collections again and again, which find no garbage. On a road network, collections would take
    four fifths of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def lengthen(paths: dict[Any, list[Any]], names: list[Any], parents: list[Any], backwards: bool = False) -> None:
    """Add for each node the path to its parent, extended by the node, to the dictionary `paths`.

    With `backwards`, paths lead from the nodes, so that each node comes before the path of its parent.
    """
    with without_collecting():
        if backwards:
            for name, parent in zip(names, parents):
                paths[name] = [name, *paths[parent]]
        else:
            for name, parent in zip(names, parents):
                paths[name] = [*paths[parent], name]
