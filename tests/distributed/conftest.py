"""Fixtures of the tests of distributed graphs."""

from typing import Any

import pytest

from gasla.distributed.thread_ranks import ThreadRanks
from tests.helpers.emulated_ranks import Emulated
from tests.helpers.linked_ranks import join_threads
from tests.helpers.strict_cupy import without_gpu


@pytest.fixture(params=["cpu", "emulated", "linked", pytest.param("gpu", marks=pytest.mark.gpu)])
def ranks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that makes ranks."""
    if request.param in ("emulated", "linked"):
        without_gpu(monkeypatch)
        if request.param == "linked":
            join_threads(monkeypatch)
        return Emulated
    return ThreadRanks if request.param == "cpu" else lambda size: ThreadRanks(size, [0] * size)
