"""Clique counting: the number of sets of k pairwise adjacent vertices.

Each clique is found once, at its first vertex in the order of degrees. A vertex has few later neighbors, even next to
hubs. Common neighbors among these are bitwise ands of bitmaps. Large cliques are not enumerated one by one: the choices
from a set that is pairwise adjacent are counted at once (pivoting), since a clique of 200 contains far more cliques of
100 than could be enumerated.
"""

from typing import Any

from gasla.operations import primitives
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Command, Row, Task


@on_one_device()
def count_cliques(graph: Any, k: int) -> int:
    """Count the cliques of k vertices: sets of pairwise adjacent vertices.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are ignored; stored zeros are edges.
    k : int
        The number of vertices of a clique, 1 or more.

    Returns
    -------
    int
        The exact number, of any size.

    Raises
    ------
    TypeError
        If `k` is not an integer.
    ValueError
        If `k` is 0 or less.

    See Also
    --------
    gasla.triangle_count : cliques of three, also per vertex.
    gasla.subgraph_matches : counts and lists other patterns.

    Notes
    -----
    On the CPU a thread needs up to ``d * (k + d / 4) * 8`` bytes, and an id per vertex; d is the largest number of
    later neighbors, at most sqrt(2m). On a GPU the later neighbors of all vertices are copied, an id per stored edge,
    and a block of threads needs ``d * d / 8`` bytes, or ``5 * d * d / 2`` if k is more than 4.

    References
    ----------
    N. Chiba, T. Nishizeki: Arboricity and Subgraph Listing Algorithms. SIAM Journal on Computing 14 (1985).

    S. Jain, C. Seshadhri: The Power of Pivoting for Exact Clique Counting. WSDM 2020.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 0, 0, 1, 1, 2, 3], [1, 2, 3, 2, 3, 3, 4])
    >>> [gasla.count_cliques(graph, k) for k in range(1, 6)]
    [5, 7, 4, 1, 0]
    """
    return primitives.count_cliques(graph, k)


ROW = Row(
    count_cliques,
    Command(
        *("count-cliques", {}, lambda f: f"{f['count']:,} cliques of {f.arguments['k']:,} vertices"),
        defaults={"k": 4},
        unpack=lambda _, count: {"count": count},
    ),
    Task("four_cliques", {"k": 4}),
    method="kClist (Danisch et al., WWW 2018), Pivoter (Jain, Seshadhri, WSDM 2020); GPU: Almasri et al., ICS 2022",
    longer="Common neighbors of the corners of every triangle are intersected.",
)
