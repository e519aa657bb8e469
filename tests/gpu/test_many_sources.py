"""Searches from many sources on the GPU: the tests of the CPU's, in one run and one by one."""

from collections.abc import Iterator

import numpy as np
import pytest

import gasla
from gasla import datasets
from tests.algorithms.paths import test_many_sources
from tests.algorithms.paths.test_many_sources import (  # noqa: F401  (collected)
    test_all_sources_drawn_give_the_exact_centrality,
    test_bad_arguments_of_centrality_are_refused,
    test_bad_sources_are_refused,
    test_centrality_of_hard_shapes,
    test_closeness_is_right_however_sources_are_batched,
    test_distances_from_many_sources_are_right,
    test_distances_have_the_type_of_lengths,
    test_distances_of_hard_shapes,
    test_harmonic_centrality_is_right_however_sources_are_batched,
    test_levels_from_many_sources_are_right,
    test_levels_go_on_where_digits_end,
    test_levels_of_hard_shapes,
    test_levels_of_real_graphs,
    test_no_sources_give_no_rows,
    way,
)
from tests.gpu.test_algorithms import OnGpu

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True, scope="module")
def on_gpu() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_many_sources, "gasla", OnGpu())
        yield


CALLS = {
    "multi_source_bfs": lambda graph, some: gasla.multi_source_bfs(graph, some),
    "multi_source_shortest_paths": lambda graph, some: gasla.multi_source_shortest_paths(graph, some),
    "closeness": lambda graph, some: gasla.closeness_centrality(graph, sources=some),
    "harmonic": lambda graph, some: gasla.harmonic_centrality(graph, sources=some),
    "closeness by length": lambda graph, some: gasla.closeness_centrality(graph, distance="weight", sources=some),
}


@pytest.mark.parametrize("family", ["rmat", "grid", "rgg"])
@pytest.mark.parametrize("call", CALLS)
def test_equals_the_cpu(call: str, family: str) -> None:
    A = datasets.with_weights(getattr(datasets, family)(12), largest=9)
    some = np.random.default_rng(1).choice(A.shape[0], 70, replace=False)
    answer = CALLS[call](gasla.Graph(A).to("gpu"), some)
    assert type(answer).__module__ == "cupy"
    np.testing.assert_allclose(answer.get(), CALLS[call](gasla.Graph(A), some), rtol=1e-12)
