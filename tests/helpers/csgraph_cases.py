"""Graphs for the tests of gasla.csgraph, and who counts what is handed over to SciPy."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from gasla.csgraph import passthrough


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Nothing is handed over just to spare time; the reasons of what is."""
    reasons: list[str] = []
    plain = passthrough.by_scipy

    def note_reason(name: str, reason: str, *args: Any, **kwargs: Any) -> Any:
        reasons.append(reason)
        return plain(name, reason, *args, **kwargs)

    monkeypatch.setattr(passthrough, "SPARES_TIME", False)
    monkeypatch.setattr(passthrough, "by_scipy", note_reason)
    return reasons


def matrix(n: int, m: int, seed: int, kind: Any = np.float64) -> sp.csr_array:
    """Edges anywhere: loops, parallel ones, lengths of 0; rows aren't sorted."""
    rng = np.random.default_rng(seed)
    src = np.sort(rng.integers(0, n, m))
    indptr = np.searchsorted(src, np.arange(n + 1)).astype(np.int32)
    lengths = rng.integers(0, 9, m).astype(kind)
    return sp.csr_array((lengths, rng.integers(0, n, m).astype(np.int32), indptr), shape=(n, n))
