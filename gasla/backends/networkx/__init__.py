"""NetworkX's door: its functions, run by gasla where NetworkX is asked to.

    nx.betweenness_centrality(G, backend="gasla")
    NETWORKX_BACKEND_PRIORITY=gasla python program.py

NetworkX imports this at the first such call. It looks functions up here by name, after asking `can_run`, and hands them
graphs that `convert_from_nx` made.
"""

from typing import Any

from gasla.backends.networkx import (
    breadth_first,
    centralities,
    communities,
    connectivity,
    kruskal,
    link_prediction,
    rankings,
)
from gasla.backends.networkx.conversion import Converted, convert_from_nx, convert_to_nx
from gasla.backends.networkx.dispatch import OFFERED, can_run, should_run
from gasla.backends.networkx.expected_failures import on_start_tests
from gasla.backends.networkx.paths import distances, flow_value, unweighted, weighted

FAMILIES = (  # each notes what it offers
    centralities,
    communities,
    connectivity,
    distances,
    flow_value,
    rankings,
    breadth_first,
    kruskal,
    link_prediction,
    unweighted,
    weighted,
)
__all__ = ["Converted", "can_run", "convert_from_nx", "convert_to_nx", "on_start_tests", "should_run"]


def __getattr__(name: str) -> Any:
    if name not in OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return OFFERED[name].function
