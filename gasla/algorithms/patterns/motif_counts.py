"""Motif counts: how often each connected graph of three or four vertices is an induced subgraph.

Counts of all subgraphs follow from degrees, triangles, cycles of four and cliques of four. Those within larger motifs
of as many vertices are subtracted, from the clique down. No subgraph is listed.
"""

from typing import Any

from gasla.algorithms.patterns.match_counts import induced_counts
from gasla.algorithms.patterns.pattern import Pattern
from gasla.operations.primitives import simplify

MOTIFS = "path3", "triangle", "path4", "star3", "cycle4", "paw", "diamond", "clique4"


def motif_counts(graph: Any) -> dict[str, int]:
    """Count the motifs of an undirected graph: connected induced subgraphs of three and four vertices, by their form.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are ignored; stored zeros are edges.

    Returns
    -------
    dict of str to int
        The exact number of each: "path3", "triangle", "path4", "star3" (three leaves), "cycle4", "paw" (a triangle and
        an edge), "diamond", "clique4". The names are patterns for `subgraph_matches`.

    See Also
    --------
    gasla.subgraph_matches : lists the places of one of them.
    gasla.triadic_census : three vertices of a directed graph.

    Notes
    -----
    Takes longest for cycles of four: as long as visiting, for each edge, the neighbors of its end of fewer edges; and
    for cliques of four.

    References
    ----------
    A. Pinar, C. Seshadhri, V. Vishal: ESCAPE: Efficiently Counting All 5-Vertex Subgraphs. WWW 2017.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3, 3], [1, 2, 0, 0, 4])
    >>> {name: count for name, count in gasla.motif_counts(graph).items() if count}
    {'path3': 3, 'triangle': 1, 'path4': 2, 'paw': 1}
    """
    simple = simplify(graph)
    patterns = {name: Pattern.of(name) for name in MOTIFS}
    found: dict[tuple[int, ...], int] = {}
    for size in (3, 4):
        found |= induced_counts(simple, [pattern for pattern in patterns.values() if pattern.size == size])
    return {name: found[pattern.degrees] for name, pattern in patterns.items()}
