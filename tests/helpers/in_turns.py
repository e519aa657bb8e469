"""What would take too long in every way goes one way by default, each case the next; `-m slow` takes the others."""

from collections.abc import Sequence
from typing import Any

import pytest


def in_turns(cases: Sequence[tuple[Any, ...]], ways: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Parameters of a test: every case in every way, of which one isn't marked slow."""
    count = len(ways)
    return [
        pytest.param(*case, *way, id=name(case + way), marks=[] if (i + i // count) % count == j else pytest.mark.slow)
        for i, case in enumerate(cases)
        for j, way in enumerate(ways)
    ]


def name(parts: tuple[Any, ...]) -> str:
    return "-".join(part.__name__ if isinstance(part, type) else str(part) for part in parts)
