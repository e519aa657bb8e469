"""The k vertices of the highest personalized PageRank, for many personalizations: recommendations in bounded memory.

Personalizations run in batches of eight, as in `gasla.pagerank`. Each batch is reduced to its best k vertices before
the next batch, so that memory does not grow with the number of personalizations.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.centrality.pagerank import prepared_fields
from gasla.algorithms.centrality.personalized_pagerank import Rows, batches
from gasla.algorithms.centrality.ranking import check_converged, distribution, weights_dtype
from gasla.arrays import module_of, moved
from gasla.graph.arguments import (
    NO_LIMIT,
    check_flags,
    real_number,
    score_type,
    several_vertices,
    vertex_ids,
    whole_number,
)
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.graph.weights import takes_weight
from gasla.operations.sparse import Sparse
from gasla.operations.top_k import top_k
from gasla.rows import Row

Array = np.ndarray[Any, Any]


class TopRanks(NamedTuple):
    """The best vertices and their ranks, in a row for each personalization, and how the runs ended.

    Each row begins with the highest rank, and is padded with the vertex -1 and the rank 0.
    """

    vertices: Array
    ranks: Array
    iterations: int
    residual: float
    converged: bool


@takes_weight
def top_k_pagerank(
    graph: Any,
    sources: Iterable[Any],
    k: int = 10,
    *,
    known: bool = False,
    among: Iterable[Hashable] | None = None,
    alpha: float = 0.85,
    weighted: bool = True,
    tol: float = 1e-6,
    max_iter: int = 100,
    dtype: Any = None,
) -> TopRanks:
    """Find the k vertices of the highest PageRank for each of many personalizations, such as users.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. If it knows its `sides`, and all edges lead from one to the other, as
        `Graph.from_bipartite` makes them, they are followed in both directions.
    sources : iterable
        The personalizations. Each is a vertex, by id or name; several vertices, as a list or an array, that are equally
        likely; or a dict of vertex to number.
    k : int
        Number of vertices to find for each, 0 or more.
    known : bool
        Whether to return the vertices of the personalization and their out-neighbors as well, instead of leaving out
        what is known already.
    among : several vertices, optional
        Return only some of these, such as the items that can be recommended. By default, if the graph knows its
        `sides`, those of the other side than the personalization's: items for users.
    alpha : float
        Damping factor, as for `pagerank`.
    weighted : bool
        Whether the rank of a vertex is divided among its out-edges in proportion to their values. Otherwise equally.
    tol : float
        Tolerance, as for `pagerank`. 1e-4 often gives the same vertices in two thirds of the time.
    max_iter : int
        Maximum number of iterations of a batch.
    dtype : float32 or float64, optional
        Type of the ranks, as for `pagerank`.

    Returns
    -------
    TopRanks(vertices, ranks, iterations, residual, converged)
        `vertices`, (number of sources, k) ids, by descending rank, ties by the smaller id; and their `ranks`. Vertices
        of rank 0 are left out: rows with fewer than k are padded with -1 and 0. `iterations` and `residual` are maxima
        over all runs.

    Raises
    ------
    TypeError, ValueError
        If a source is not a vertex, or a parameter is out of range.
    MemoryError
        If the result needs more memory than is available.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met.

    See Also
    --------
    gasla.pagerank : all ranks, also for several personalizations.
    gasla.ranking_metrics : how good such recommendations are.
    gasla.pagerank_nibble : the neighborhood of one vertex, without looking at the whole graph.

    Notes
    -----
    Memory besides the result is that of eight personalizations: about 250 bytes for each vertex.

    References
    ----------
    T. Haveliwala: Topic-Sensitive PageRank. WWW 2002.

    Examples
    --------
    Users 0 to 2 have bought items 3 to 5; what may users 0 and 1 like?

    >>> import gasla
    >>> bought = gasla.Graph.from_edges([0, 1, 1, 2, 2], [3, 3, 4, 4, 5]).symmetrized()
    >>> found = gasla.top_k_pagerank(bought, [0, 1], 2, among=[3, 4, 5])
    >>> found.vertices
    array([[ 4,  5],
           [ 5, -1]], dtype=int32)
    """
    graph, k = _with_both_directions(whole_graph(graph)), whole_number("k", k, NO_LIMIT)
    check_flags(known=known, weighted=weighted)
    alpha, tol = real_number("alpha", alpha, most=1), real_number("tol", tol)
    max_iter = whole_number("max_iter", max_iter)
    weights = weights_dtype(graph, weighted)
    score_dtype = score_type(weights, dtype)
    personalizations = _Sources(graph, sources)
    xp: Any = module_of(graph.device)
    is_left_out = xp.zeros(graph.n, bool)
    if among is not None:
        is_left_out[:] = True
        is_left_out[vertex_ids(graph, "among", among)] = False
    id_type = np.dtype(graph.id_dtype)
    require_room(
        "the result has",
        len(personalizations) * k,
        id_type.itemsize + score_dtype.itemsize,
        graph.device,
        "a smaller k",
    )
    vertices, ranks = (
        xp.full((len(personalizations), k), -1, id_type),
        xp.zeros((len(personalizations), k), score_dtype),
    )
    iterations, residual, converged = 0, 0.0, True
    if len(personalizations):
        whole, weights, fields = prepared_fields(graph, weights, score_dtype)
        # The initial ranks are the personalization, so that vertices that walks don't reach have rank 0.
        rows = Rows(personalizations, None, personalizations)
        for numbers, scores, run in batches(whole, weights, fields["inverse"], rows, alpha, tol, max_iter):
            scores[:, is_left_out] = 0
            for row, number in enumerate(range(numbers.start, numbers.stop)):
                if among is None and (is_same_side := personalizations.side(number)) is not None:
                    scores[row, is_same_side] = 0
                if not known:
                    scores[row, personalizations.known(number)] = 0
            vertices[numbers], ranks[numbers] = _best_of_rows(scores, k, id_type)
            iterations, converged = max(iterations, run.iterations), converged and run.converged
            residual = max(residual, float(run.aggregates["residual"]))
    converged = check_converged("ranks", converged, residual, max_iter, silent=tol == 0)
    return TopRanks(vertices, ranks, iterations, residual, converged)


def _with_both_directions(graph: Graph) -> Graph:
    """Return a bipartite graph with both directions of every edge if all its edges lead from one side to the other.

    Return any other graph unchanged. Without this, walks in a graph whose edges all lead to one side would end after
    one step.
    """
    if graph.m == 0 or (sides := graph.sides) is None:
        return graph
    src, dst = graph.edges()
    first, second = (sides[end] for end in (src, dst))
    if (first != first[0]).any() or (second == first[0]).any():
        return graph
    xp: Any = module_of(graph.device)
    values = None if graph.values is None else xp.concatenate([graph.values, graph.values])
    result = Graph.from_edges(xp.concatenate([src, dst]), xp.concatenate([dst, src]), values, n=graph.n)
    result.naming, result.vertex_attributes = graph.naming, graph.vertex_attributes
    return result


class _Sources(Sequence[Any]):
    """A sequence of personalizations, each of which is made into an array of n numbers only when it is read."""

    def __init__(self, graph: Graph, given: Iterable[Any]) -> None:
        if isinstance(given, str | dict) or not hasattr(given, "__iter__"):
            raise TypeError(f"sources is {given!r}; expected several personalizations, such as a list of vertices")
        self.graph = graph
        self.given = [
            self._checked(personalization)
            for personalization in (given if isinstance(given, list | tuple) else moved(given, "cpu"))
        ]

    def _checked(self, one: Any) -> dict[int, float]:
        if isinstance(one, dict):
            return dict(zip(several_vertices(self.graph, "sources", [*one], "vertex"), one.values(), strict=True))
        if isinstance(one, list) or getattr(one, "ndim", 0) > 0:
            return dict.fromkeys(several_vertices(self.graph, "sources", one, "vertex"), 1.0)
        return {translate_vertex(self.graph, one, "sources: vertex"): 1.0}

    def __len__(self) -> int:
        return len(self.given)

    def __getitem__(self, number: Any) -> Any:
        return distribution(self.graph, self.given[number], "sources")

    def side(self, number: int) -> Any:
        """Return a mask of the vertices that are on the same side of the graph as the vertices of personalization
        `number`.

        Return None if the graph has no sides, or the vertices of the personalization are not all on one side.
        """
        sides = self.graph.sides
        sides_of_vertices = None if sides is None else {int(sides[v]) for v in self.given[number]}
        return (
            sides == sides_of_vertices.pop() if sides_of_vertices is not None and len(sides_of_vertices) == 1 else None
        )

    def known(self, number: int) -> Any:
        """Return the vertices of personalization `number` and their out-neighbors, which need not be recommended."""
        xp: Any = module_of(self.graph.device)
        vertices = [v for v, weight in self.given[number].items() if weight]
        return xp.concatenate([xp.asarray(vertices, self.graph.id_dtype), *(self.graph.out.row(v) for v in vertices)])


def _best_of_rows(scores: Any, k: int, id_type: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the columns of the k largest positive entries in each row of a table of scores, and these entries.

    A row with fewer positive entries is padded with the column -1 and the score 0.
    """
    xp: Any = module_of("cpu" if isinstance(scores, np.ndarray) else "gpu")
    count, n = scores.shape
    columns = xp.broadcast_to(xp.arange(n, dtype=id_type), (count, n)).ravel()
    best = top_k(Sparse((count, n), xp.arange(count + 1) * n, columns, scores.ravel()), k)
    return xp.where(best.values > 0, best.columns, -1), best.values


ROW = Row(
    top_k_pagerank,
    method="power iteration for several users at once (Haveliwala, WWW 2002); approximate: FORA (KDD 2017)",
    longer="Eight scores per vertex are read along every edge in each of some tens of iterations.",
)
