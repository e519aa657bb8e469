"""The call of each public function that a row of the laws makes, alone: without what the row does with the answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import gasla
from tests.helpers.law import Asked, Row


class Called(BaseException):
    """Ends a row after its function has returned."""

    def __init__(self, answer: Any, seconds: float) -> None:
        super().__init__()
        self.answer, self.seconds = answer, seconds


@contextmanager
def ending(function: str) -> Iterator[None]:
    """Within the block, a public function raises `Called` with its answer and the CPU time that it took."""
    owner: Any = gasla
    *_, name = function.split(".")
    if function.startswith("Graph."):
        owner = gasla.Graph
    real, is_inside = vars(owner)[name] if owner is gasla.Graph else getattr(owner, name), False

    def call(*args: Any, **options: Any) -> Any:
        nonlocal is_inside
        bound = real.__func__ if isinstance(real, classmethod) else real
        if is_inside:
            return bound(*args, **options)
        is_inside, began = True, time.process_time()
        try:
            answer = bound(*args, **options)
        finally:
            is_inside = False
        raise Called(answer, time.process_time() - began)

    with patch.object(owner, name, classmethod(call) if isinstance(real, classmethod) else call):
        yield


def call(row: Row, asked: Asked) -> Called:
    """Ask a row's function a question, once."""
    try:
        with ending(row.function):
            row.call(asked)
    except Called as called:
        return called
    raise AssertionError(f"{row.name} does not call {row.function}")
