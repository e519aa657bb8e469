"""Oracle of projections of bipartite graphs, by a sparse product."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import Graph
from gasla.verify._common import VerificationError, edges_of


def project(graph: Any, side: ArrayLike, projected: Graph, *, counts: bool = True) -> None:
    """Verify a projection: an edge, in both directions, for every two vertices with a common neighbor; and its count.

    Parameters
    ----------
    graph, side
        As for `gasla.project`.
    projected : Graph
        What `gasla.project` returned.
    counts : bool
        Whether values count common neighbors; otherwise values are not verified.

    Examples
    --------
    >>> import gasla
    >>> lent = gasla.Graph.from_edges([0, 1], [2, 2])
    >>> project(lent, [0, 1], gasla.project(lent, [0, 1]))
    >>> project(lent, [0, 1], gasla.Graph.from_edges([0, 1], [1, 0], [2, 2]))
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 0 → 1 of the projection has the value 2, not 1
    """
    found, chosen = edges_of(projected), np.asarray(side)
    chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
    if found.n != len(chosen):
        raise VerificationError(f"the projection has {found.n} vertices; expected {len(chosen)}, those of the side")
    half = edges_of(graph).simple()[chosen]
    right = (half @ half.T).tocoo()
    off = right.row != right.col
    number = dict(zip(zip(right.row[off].tolist(), right.col[off].tolist()), right.data[off].tolist()))
    given = dict(zip(zip(found.src.tolist(), found.dst.tolist()), found.weight.tolist()))
    if len(given) < found.dst.size or given.keys() != number.keys():
        wrong = sorted(given.keys() ^ number.keys())
        which = f"edge {wrong[0][0]} → {wrong[0][1]} of the projection" if wrong else "an edge of the projection"
        raise VerificationError(f"{which} is {'missing' if wrong and wrong[0] in number else 'superfluous'}")
    for (u, v), value in given.items() if counts else ():
        if value != number[u, v]:
            raise VerificationError(f"edge {u} → {v} of the projection has the value {value:g}, not {number[u, v]:g}")
