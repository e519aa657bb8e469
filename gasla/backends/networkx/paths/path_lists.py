"""Paths as lists of names, each made by extending another."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def without_collecting() -> Iterator[None]:
    """Disable garbage collection: creating many lists would trigger it repeatedly, without any garbage to find.

    On a road network collections would take four fifths of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def lengthen(paths: dict[Any, list[Any]], names: list[Any], parents: list[Any], backwards: bool = False) -> None:
    """Add the path of each node, one step longer than that of its parent.

    With `backwards`, add paths from the nodes.
    """
    with without_collecting():
        if backwards:
            for name, parent in zip(names, parents):
                paths[name] = [name, *paths[parent]]
        else:
            for name, parent in zip(names, parents):
                paths[name] = [*paths[parent], name]
