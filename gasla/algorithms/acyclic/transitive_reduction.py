"""Transitive reduction: the fewest edges of an acyclic graph that keep every reachable pair of vertices.

An edge can be left out if a path of two edges or more leads from its start to its end. Such paths are found for 64
start vertices at once, as bits of one word, as for the transitive closure.
"""

from typing import Any

import numpy as np

from gasla.algorithms.acyclic.transitive_closure import WORD, reached
from gasla.arrays import module_of
from gasla.graph.graph import whole_graph
from gasla.rows import Row, edge_values


def transitive_reduction(graph: Any) -> np.ndarray:
    """Find the transitive reduction of an acyclic graph: the fewest edges that keep every reachable pair of vertices.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Values are ignored; stored zeros are edges.

    Returns
    -------
    (m,) array of bool
        Whether each edge is in the transitive reduction; of parallel edges the first. ``graph.select(mask)`` is the
        graph of these edges.

    Raises
    ------
    ValueError
        If the graph has a cycle, which the error names.

    See Also
    --------
    gasla.transitive_closure : all pairs of which the first reaches the second.

    Notes
    -----
    The work is O(n (n + m) / 64), and memory is a few words for each vertex and edge.

    References
    ----------
    A. V. Aho, M. R. Garey, J. D. Ullman: The transitive reduction of a directed graph. SIAM J. Computing 1 (1972).

    Examples
    --------
    >>> import gasla
    >>> gasla.transitive_reduction(gasla.Graph.from_edges([0, 0, 1], [1, 2, 2]))
    array([ True, False,  True])
    """
    graph = whole_graph(graph)
    xp: Any = module_of(graph.device)
    src, dst = graph.edges()
    kept = xp.zeros(graph.m, bool)
    kept[xp.unique(src.astype(np.int64) * graph.n + dst, return_index=True)[1]] = True
    order = xp.argsort(src)
    starts = xp.searchsorted(src[order], xp.arange(0, graph.n + WORD, WORD)).tolist()
    for batch_start, _, _, far in reached(graph.with_values(None), xp.arange(graph.n)):
        edges = order[starts[batch_start // WORD] : starts[batch_start // WORD + 1]]
        kept[edges] &= (far[dst[edges]] >> (src[edges] - batch_start).astype(np.uint64)) & np.uint64(1) == 0
    is_kept: np.ndarray = kept
    return is_kept


ROW = Row(
    transitive_reduction,
    edge_values(
        *("transitive-reduction", {"kept": "kept"}, lambda f: f.inside("kept", "stored edges are in the reduction")),
        lambda f: f.edges(f.members("kept")),
    ),
    method="sets of bits in reverse topological order (Aho, Garey, Ullman, SIAM J. Computing 1, 1972)",
)
