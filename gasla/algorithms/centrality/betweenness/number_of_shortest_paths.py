"""The number of shortest paths from one vertex to every other: the forward pass of betweenness (brandes.py)."""

from collections.abc import Hashable
from typing import Any

from gasla.algorithms.centrality.betweenness.brandes import count_paths, has_lengths
from gasla.graph.arguments import check_flags
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import whole_graph
from gasla.graph.weights import takes_weight
from gasla.rows import Row, Task, scores


@takes_weight
def number_of_shortest_paths(graph: Any, source: Hashable, *, weighted: bool = False) -> Any:
    """Count the shortest paths from a source to every vertex.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j.
    source : int or name
        Where paths start.
    weighted : bool
        Whether values are lengths, which must be positive. Otherwise every edge has length 1.

    Returns
    -------
    (n,) float64
        On the device of the graph. Counts are exact up to 2^53, then rounded, and infinite above 1.8e308. The source
        has 1, for the path without edges; a vertex that is not reached has 0.

    Raises
    ------
    TypeError, ValueError
        If the source is not a vertex, or a length is not positive.

    See Also
    --------
    gasla.simple_paths : lists paths up to a length.
    gasla.k_shortest_paths : the shortest ones to one vertex, and the next.
    gasla.betweenness_centrality : which vertices the paths pass through.

    Notes
    -----
    Parallel edges are different paths; stored zeros are edges unless `weighted`. Self loops do not matter. Lengths are
    added in float64; two paths are both shortest if their sums are equal. An edge of infinite length is ignored. Among
    paths of equal sums, those with the fewest edges that vanish in them (`1 + 1e-23 == 1`) are the shortest.

    References
    ----------
    U. Brandes: A faster algorithm for betweenness centrality. J. Mathematical Sociology 25 (2001).

    Examples
    --------
    Two ways around a square, and one edge beyond it:

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 4])
    >>> gasla.number_of_shortest_paths(graph, 0)
    array([1., 1., 1., 2., 2.])
    """
    graph = whole_graph(graph)
    check_flags(weighted=weighted)
    start = translate_vertex(graph, source)
    return count_paths(graph, start, has_lengths(graph, weighted))


ROW = Row(
    number_of_shortest_paths,
    scores(
        *("number-of-shortest-paths", {"counts": "paths"}),
        lambda f: f"most shortest paths from {f.end('source')}:",
        unpack=lambda _, counts: {"counts": counts},
    ),
    Task(agree="near"),
    method="the forward half of Brandes's method (J. Mathematical Sociology 25, 2001)",
    longer="Counts are summed over all edges between levels, a level after another.",
)
