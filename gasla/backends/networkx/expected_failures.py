"""Tests of NetworkX that are expected to fail with this backend, with reasons."""

from typing import Any

DIFFERENT = {  # ends of the tests' addresses
    "::test_topological_sort6": "changes a graph while its generations are iterated: they are computed before",
    "::test_condensation_mapping_and_members": "strong components are in another order",
    "::test_non_randomness[None-None-7.21]": "label propagation finds another number of communities",
    "::test_non_randomness[None-weight-25.45]": "label propagation finds another number of communities",
    "test_louvain.py::test_karate_club_partition": "Louvain's method finds other communities",
    "test_louvain.py::test_multigraph": "Louvain's method finds other communities",
    "test_louvain.py::test_none_weight_param": "Louvain's method finds other communities",
    "test_louvain.py::test_undirected_selfloops": "Louvain's method finds other communities",
}


def on_start_tests(items: Any) -> None:
    """Mark the tests that are expected to fail, as NetworkX's pytest plugin asks of a backend."""
    import pytest

    for item in items:
        reason = next((reason for end, reason in DIFFERENT.items() if item.nodeid.endswith(end)), None)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=False))
