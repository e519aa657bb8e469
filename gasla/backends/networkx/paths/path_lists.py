"""Paths as lists of names, each made of the one before."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def without_collecting() -> Iterator[None]:
    """No search for garbage inside: many new lists would set it off again and again, and none of them is any.

    It takes four fifths of the time that paths on a road network take.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def lengthen(paths: dict[Any, list[Any]], names: list[Any], parents: list[Any], backwards: bool = False) -> None:
    """Add the paths to nodes, each one step longer than that to its parent, which is there before; or from nodes."""
    with without_collecting():
        if backwards:
            for name, parent in zip(names, parents):
                paths[name] = [name, *paths[parent]]
        else:
            for name, parent in zip(names, parents):
                paths[name] = [*paths[parent], name]
