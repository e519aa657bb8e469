"""The NetworkX backend, by which gasla runs NetworkX's functions on request.

    nx.betweenness_centrality(G, backend="gasla")
    NETWORKX_BACKEND_PRIORITY=gasla python program.py

NetworkX imports this module at the first such call. It calls `can_run` first, converts graphs with `convert_from_nx`,
and looks functions up here by name.
"""

from typing import Any

from gasla.backends.networkx import (  # noqa: F401 - each registers its functions
    acyclic,
    adjacency_matrices,
    breadth_first,
    centralities,
    choices,
    communities,
    connectivity,
    degrees,
    depth_first_visits,
    eigenvectors,
    extracted_graphs,
    kruskal,
    link_prediction,
    rankings,
    triangles_and_cores,
    trophic,
)
from gasla.backends.networkx.conversion import Converted, convert_from_nx, convert_to_nx
from gasla.backends.networkx.dispatch import OFFERED, can_run, should_run
from gasla.backends.networkx.expected_failures import on_start_tests
from gasla.backends.networkx.paths import distances, enumerated, flow_value, unweighted, weighted  # noqa: F401
from gasla.backends.networkx_calls import print_at_exit

__all__ = ["Converted", "can_run", "convert_from_nx", "convert_to_nx", "on_start_tests", "should_run"]

print_at_exit()


def __getattr__(name: str) -> Any:
    if name not in OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return OFFERED[name].function
