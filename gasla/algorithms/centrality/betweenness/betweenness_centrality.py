"""Betweenness: for how many pairs of vertices a shortest path leads through each vertex.

Returned is a number a vertex: the sum over pairs (s, t) of the share of shortest paths from s to t that pass v, by
Brandes' accumulation from every source.

U. Brandes: A faster algorithm for betweenness centrality. J. Mathematical Sociology 25 (2001).
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from gasla.algorithms.centrality.betweenness.brandes import Found, follow, has_lengths
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import check_flags, chosen_sources
from gasla.graph.graph import as_graph, is_undirected


def betweenness_centrality(
    graph: Any,
    *,
    sources: Iterable[int] | None = None,
    k: int | None = None,
    seed: Any = None,
    normalized: bool = True,
    weighted: bool = False,
    endpoints: bool = False,
) -> np.ndarray:
    """For each vertex, the sum over pairs (s, t) of the share of shortest paths from s to t that pass it.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. A symmetric matrix counts as undirected, each pair once. Parallel edges are
        different paths.
    sources : ids, optional
        Only paths from these vertices are looked at, and the result is scaled to estimate that of all.
    k : int, optional
        In place of `sources`: how many to draw at random.
    seed : int or numpy.random.Generator, optional
        For drawing them.
    normalized : bool
        Divide by the number of pairs.
    weighted : bool
        Whether the values are lengths, all positive; otherwise every edge counts as one.
    endpoints : bool
        Whether a path's own ends count as passed.

    Returns
    -------
    (n,) float64
        As NetworkX's function of the same name gives; but finite for a single source (whose own value is then 0), and
        right where the number of shortest paths exceeds float64.

    Raises
    ------
    ValueError
        For sources that are not vertices, or lengths that are not positive.

    Notes
    -----
    An infinite edge leads nowhere. Beside a large distance a length may vanish (`1 + 1e-23 == 1`): of the paths of one
    length, as float64 adds it up, those of the fewest edges that vanish are shortest.

    On a GPU it may return while its last kernels still run, as CuPy's functions do: what the stream does next finds the
    result finished.

    References
    ----------
    U. Brandes: A faster algorithm for betweenness centrality. J. Mathematical Sociology 25 (2001).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> gasla.betweenness_centrality(path)
    array([0., 1., 0.])
    """
    graph = as_graph(graph)
    check_flags(normalized=normalized, weighted=weighted, endpoints=endpoints)
    weighted = has_lengths(graph, weighted)
    chosen = chosen_sources(graph, sources, k, seed)
    if not chosen:
        return module_of(graph.device).zeros(graph.n)
    scores = follow(graph, chosen, weighted, _count_ends if endpoints else None)
    twice = not normalized and is_undirected(graph, weighted)
    return _scale(scores, chosen, normalized, twice, endpoints)


def _count_ends(found: Found) -> None:
    """A path counts at its ends, too."""
    scores = found.state["score"]
    reached = array_module(scores).greater(found.levels, 0)
    scores += reached
    scores[found.source] += reached.sum()


def _scale(total: Any, chosen: list[int], normalized: bool, twice: bool, endpoints: bool) -> Any:
    """Divide by the pairs that were looked at, of those there are; a source is no vertex between its own.

    `twice`: each pair was looked at from both ends, and is to count once.
    """
    n = len(total)
    ends = n if endpoints else n - 1
    if ends < 2:
        return total
    pairs = float(len(chosen) if len(chosen) < n else ends)
    pairs *= ends - 1 if normalized else 2 if twice else 1
    total *= 1 / pairs if normalized else ends / pairs  # in NetworkX's way: to divide takes longer
    if 1 < len(chosen) < n and not endpoints:
        total[np.array(chosen)] *= len(chosen) / (len(chosen) - 1)
    return total
