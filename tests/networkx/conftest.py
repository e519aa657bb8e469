"""Settings of NetworkX's for all tests of its backend."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """No warning each time NetworkX uses a graph that it kept converted."""
    nx = pytest.importorskip("networkx", minversion="3.6")
    nx.config.warnings_to_ignore.add("cache")
    yield
    nx.config.warnings_to_ignore.discard("cache")
