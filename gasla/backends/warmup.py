"""Ahead-of-time compilation, by calling every function of the NetworkX backend on a small graph."""

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from gasla.progress import track

ARGUMENTS = {"source": 0, "target": 5, "sources": {0}, "n": 0, "distance": 1, "_s": 0, "_t": 5}
WEIGHTS = ("weight", "distance")


def warm() -> int:
    """Compile the CPU kernels of all functions of the NetworkX backend. Return the number of functions.

    The code is stored on disk for later processes. This takes about a minute the first time, and an open progress bar
    (`gasla.progress`) shows the progress.
    """
    import networkx as nx

    from gasla.backends.networkx.conversion import convert_from_nx
    from gasla.backends.networkx.dispatch import OFFERED, can_run

    edges = [(0, 1, 1.5), (1, 2, 0.5), (2, 0, 2.5), (2, 3, 1.0), (3, 4, 0.25), (4, 5, 2.0)]
    for name, directed in track(list(product(OFFERED, (False, True))), "functions"):
        G = (nx.DiGraph if directed else nx.Graph)()
        G.add_weighted_edges_from(edges)
        for arguments in _calls(OFFERED[name].signature.parameters):
            if can_run(name, (G,), arguments) is not True:
                continue
            try:
                answer = OFFERED[name].function(convert_from_nx(G, preserve_edge_attrs=True), **arguments)
                if isinstance(answer, Iterator):
                    deque(answer, maxlen=0)
            # The function does not support this graph, so it compiles nothing for it.
            except (NotImplementedError, nx.NetworkXException):
                continue
    return len(OFFERED)


def _calls(parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield keyword arguments with which to call a function, so that all kernels of the function are compiled.

    The first call is without weights. Further calls have weights, or capacities, if the function takes them.
    """
    required = {name: ARGUMENTS[name] for name, p in parameters.items() if p.default is p.empty and name in ARGUMENTS}
    yield required
    for name in WEIGHTS:
        if name in parameters and name not in required:
            yield required | {name: "weight"}
    if "capacity" in parameters:
        yield required | {"capacity": "weight"}
