"""Tests of NetworkX that are expected to fail with this backend, and the reason for each."""

from typing import Any

CONDENSED = "strong components are in another order"
PARTS = "label propagation finds another number of communities"
LOUVAIN = "Louvain's method finds other communities"
DIFFERENT = {
    "test_algebraic_connectivity.py::test_spectral_bisection": "the Fiedler vector has the other sign",
    "test_dag.py::test_topological_sort6": "changes a graph while its generations are iterated",
    "test_dominating_set.py::test_min_edge_dominating_set": "looks for one end of each edge in another matching",
    "test_mis.py::test_random_seed": "the seed chooses another independent set",
    "test_strongly_connected.py::test_condensation_mapping_and_members": CONDENSED,
    "test_non_randomness.py::test_non_randomness[None-None-7.21]": PARTS,
    "test_non_randomness.py::test_non_randomness[None-weight-25.45]": PARTS,
    "test_louvain.py::test_karate_club_partition": LOUVAIN,
    "test_louvain.py::test_multigraph": LOUVAIN,
    "test_louvain.py::test_none_weight_param": LOUVAIN,
    "test_louvain.py::test_undirected_selfloops": LOUVAIN,
}


def on_start_tests(items: Any) -> None:
    """Mark those tests of NetworkX that are expected to fail. NetworkX's pytest plugin calls this function."""
    import pytest

    for item in items:
        reason = DIFFERENT.get(f"{item.path.name}::{item.name}")
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
