"""What NetworkX's own tests show that can't be kept: each is told to NetworkX before they begin, with its reason."""

from typing import Any

DIFFERENT = {
    "test_topological_sort6": "a graph that is changed while its generations are given: they are known before",
    "test_condensation_mapping_and_members": "strong components come in another order",
    "test_non_randomness[None-None-7.21]": "of the numbers of communities that label propagation may find, another",
    "test_non_randomness[None-weight-25.45]": "likewise",
}


def on_start_tests(items: Any) -> None:
    """Mark the tests that are expected to fail, as NetworkX's plugin for pytest asks of a backend."""
    import pytest

    for item in items:
        if (reason := DIFFERENT.get(item.name)) is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=False))
