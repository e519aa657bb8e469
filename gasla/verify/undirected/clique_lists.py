"""Verifier of maximal cliques."""

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from gasla.verify._common import SAMPLES, VerificationError, edges_of, sample, verifier
from gasla.verify.searches.paths_and_cycles import neighbors_of, rows_of


@verifier()
def maximal_cliques(
    graph: Any, cliques: Iterable[ArrayLike], *, min_size: int = 1, limit: int | None = None, samples: int = SAMPLES
) -> None:
    """Verify `cliques` of `gasla.maximal_cliques`: each given clique is maximal, and no maximal clique is missing.

    Suppose that a clique D were missing. Let C be the given clique that shares the most vertices with D, and v a vertex
    of D that is not in C. Then the neighbors of v in C form a clique with v that is in no given clique. So for
    `samples` given cliques, all such sets are looked up. If there are as many cliques as the `limit` allows, only each
    of them is verified.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> graph = csr_array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> maximal_cliques(graph, [[0, 1, 2], [2, 3]])
    >>> maximal_cliques(graph, [[0, 1, 2]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: a clique that has the vertices [3] is missing
    """
    neighbors, rows = neighbors_of(graph, directed=False), rows_of(cliques, edges_of(graph).n)
    neighbors = [adjacent - {v} for v, adjacent in enumerate(neighbors)]
    if len({*rows}) < len(rows):
        raise VerificationError("a clique is there twice")
    where: list[set[int]] = [set() for _ in neighbors]
    for number, row in enumerate(rows):
        if len(row) < min_size or list(row) != sorted({*row}):
            raise VerificationError(f"the clique {list(row)} is too small, or does not ascend")
        if any(len(neighbors[v] & {*row}) < len(row) - 1 for v in row):
            raise VerificationError(f"{list(row)} is no clique")
        if more := set.intersection(*(neighbors[v] for v in row)):
            raise VerificationError(f"the clique {list(row)} is not maximal: it can be extended by {min(more)}")
        for v in row:
            where[v].add(number)
    if len(rows) == limit:
        return
    for v in range(len(neighbors)) if min_size <= 1 else ():
        if not where[v]:
            raise VerificationError(f"a clique that has the vertices [{v}] is missing")
    for number in sample(len(rows), samples).tolist():
        clique = {*rows[number]}
        for v in set().union(*(neighbors[u] for u in clique)) - clique:
            part = [v, *(neighbors[v] & clique)]
            if len(part) >= min_size and not set.intersection(*(where[u] for u in part)):
                raise VerificationError(f"a clique that has the vertices {sorted(part)} is missing")
