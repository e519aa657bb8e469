"""Cliques: how many sets of k vertices are all joined by edges.

Returned is their number. The graph is read as a simple undirected one: direction, self loops and parallel edges don't
count. A clique of 1 is a vertex, of 2 an edge, of 3 a triangle.

Each clique is found once, at the vertex of it that comes first in the order of degrees. What comes later and is joined
to that vertex are few others, even around hubs. Among these, common neighbors are ands of bits. Large cliques are not
met one by one, but as many at a time as choices from a set that is all joined: a clique of 200 holds more of 100 than
anybody could list.

N. Chiba, T. Nishizeki: Arboricity and Subgraph Listing Algorithms. SIAM Journal on Computing 14 (1985). S. Jain,
C. Seshadhri: The Power of Pivoting for Exact Clique Counting. WSDM 2020.
"""

from typing import Any

from gasla.operations import primitives


def count_cliques(graph: Any, k: int) -> int:
    """Count the cliques of k vertices: sets of vertices that are all joined by edges.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are not looked at.
    k : int
        How many vertices a clique is to have, 1 or more.

    Returns
    -------
    int
        How many there are; exact, however many.

    Raises
    ------
    TypeError
        If `k` is not a whole number.
    ValueError
        If `k` is 0 or less.

    See Also
    --------
    gasla.triangle_count : cliques of three, also by vertex.
    gasla.subgraph_matches : other patterns, counted and listed.

    Notes
    -----
    On the CPU a thread takes up to ``d * (k + d / 4) * 8`` bytes, and an id a vertex; d is the greatest number of later
    neighbors, sqrt(2m) at most. On a GPU triangles are listed in parts, and to count larger cliques takes as long as
    to list those of one vertex fewer.

    References
    ----------
    S. Jain, C. Seshadhri: The Power of Pivoting for Exact Clique Counting. WSDM 2020.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 0, 0, 1, 1, 2, 3], [1, 2, 3, 2, 3, 3, 4])
    >>> [gasla.count_cliques(graph, k) for k in range(1, 6)]
    [5, 7, 4, 1, 0]
    """
    return primitives.count_cliques(graph, k)
