"""Verifiers of transitive closures and reductions."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import Graph, as_graph
from gasla.verify._common import SAMPLES, VerificationError, edges_by_id, edges_of, reachable, require, sample, verifier


@verifier()
def transitive_closure(graph: Any, closure: Graph, *, samples: int = SAMPLES) -> None:
    """Verify `closure`, the graph that `gasla.transitive_closure` returns, at `samples` vertices.

    The neighbors of a vertex in the closure are, in ascending order, the vertices that can be reached from its
    neighbors in the graph.

    Examples
    --------
    >>> from gasla import Graph
    >>> path = Graph.from_edges([0, 1], [1, 2])
    >>> transitive_closure(path, Graph.from_edges([0, 0, 1], [1, 2, 2]))
    >>> transitive_closure(path, path)
    Traceback (most recent call last):
    gasla.verify.VerificationError: the neighbors of vertex 0 are [1]; expected [1, 2]
    """
    edges, answer = edges_of(graph), edges_of(closure)
    if answer.n != edges.n or as_graph(closure).values is not None:
        raise VerificationError(f"the closure has {answer.n} vertices, or values; expected {edges.n}, and no values")
    for v in sample(edges.n, samples).tolist():
        starts = edges.dst[edges.indptr[v] : edges.indptr[v + 1]]
        expected = np.flatnonzero(reachable(edges.n, edges.src, edges.dst, starts)) if len(starts) else starts
        neighbors = answer.dst[answer.indptr[v] : answer.indptr[v + 1]]
        if not np.array_equal(neighbors, expected):
            raise VerificationError(
                f"the neighbors of vertex {v} are {neighbors.tolist()}; expected {expected.tolist()}"
            )


@verifier()
def transitive_reduction(graph: Any, kept: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Verify `kept` of `gasla.transitive_reduction`, at `samples` edges that are kept, and as many that are left out.

    The target of an edge that is left out must be reachable from its source along edges that are kept. The target of an
    edge that is kept must not be reachable from its source along other edges. Of parallel edges only the first may be
    kept.

    Examples
    --------
    >>> from gasla import Graph
    >>> shortcut = Graph.from_edges([0, 0, 1], [1, 2, 2])
    >>> transitive_reduction(shortcut, np.array([True, False, True]))
    >>> transitive_reduction(shortcut, np.array([True, True, True]))
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 1 from 0 to 2 is kept, though there is another way
    """
    (src, dst, _), is_kept, n = edges_by_id(graph), np.asarray(kept), as_graph(graph).n
    if is_kept.shape != src.shape or is_kept.dtype != bool:
        raise VerificationError(f"kept: {len(src)} bools were expected, not {is_kept.dtype} of shape {is_kept.shape}")
    pair = src * n + dst
    is_first = np.zeros(len(src), bool)
    is_first[np.unique(pair, return_index=True)[1]] = True
    require(is_first | ~is_kept, lambda e: f"edge {e} is kept, and parallel to an earlier one")
    for kept_value in (True, False):
        candidates = np.flatnonzero(is_kept == kept_value)
        for e in candidates[sample(len(candidates), samples)].tolist():
            others = (pair != pair[e]) if kept_value else is_kept
            is_reached = bool(reachable(n, src[others], dst[others], [src[e]])[dst[e]])
            if is_reached == kept_value:
                more = "kept, though there is another way" if kept_value else "left out, though there is no other way"
                raise VerificationError(f"edge {e} from {src[e]} to {dst[e]} is {more}")
