"""Motif counts tell how often each connected graph of three or four vertices is an induced subgraph.

Counts of all subgraphs follow from degrees, triangles, cycles of four and cliques of four. Subgraphs within larger
motifs of as many vertices are subtracted, beginning with the clique. No subgraph is listed.
"""

from typing import Any, overload

from gasla.algorithms.patterns.match_counts import induced_counts
from gasla.algorithms.patterns.pattern import Pattern
from gasla.algorithms.random_graphs.null_model import NullModelResult, null_model
from gasla.algorithms.random_graphs.randomized import MODELS, Model
from gasla.graph.arguments import check_choice
from gasla.graph.graph import whole_graph
from gasla.operations.primitives import simplify
from gasla.operations.sampling import seed_word
from gasla.rows import Row, counts

MOTIFS = "path3", "triangle", "path4", "star3", "cycle4", "paw", "diamond", "clique4"


@overload
def motif_counts(graph: Any) -> dict[str, int]: ...
@overload
def motif_counts(graph: Any, *, times: int, model: Model = ..., seed: int = ...) -> NullModelResult: ...


def motif_counts(
    graph: Any, *, times: int | None = None, model: Model = "rewired", seed: int = 0
) -> dict[str, int] | NullModelResult:
    """Count the motifs of an undirected graph: connected induced subgraphs of three and four vertices, by their form.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are ignored; stored zeros are edges.
    times : int, optional
        Compare with this number of random graphs, 2 to 1,000,000.
    model : {"rewired", "configuration", "erdos_renyi"}
        The random graphs, as `randomized` draws them.
    seed : int
        For the random graphs.

    Returns
    -------
    dict of str to int, or NullModelResult(observed, mean, std, z)
        The exact number of each: "path3", "triangle", "path4", "star3" (three leaves), "cycle4", "paw" (a triangle and
        an edge), "diamond", "clique4". The names are patterns for `subgraph_matches`. With `times`, these as
        `observed`, and such dicts of the means and standard deviations on random graphs, and of z-scores, as
        `null_model` returns them.

    See Also
    --------
    gasla.subgraph_matches : lists the places of one of them.
    gasla.triadic_census : three vertices of a directed graph.
    gasla.null_model : z-scores of any function, such as the triadic census of a directed graph.

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
    simple = simplify(whole_graph(graph))
    if times is not None:
        return null_model(simple, motif_counts, times, model=model, seed=seed)
    check_choice("model", model, MODELS)
    seed_word(seed)
    patterns = {name: Pattern.of(name) for name in MOTIFS}
    counts: dict[tuple[int, ...], int] = {}
    for size in (3, 4):
        counts |= induced_counts(simple, [pattern for pattern in patterns.values() if pattern.size == size])
    return {name: counts[pattern.degrees] for name, pattern in patterns.items()}


ROW = Row(
    motif_counts,
    counts("motif-counts", "connected induced subgraphs of 3 and 4 vertices"),
    method="formulas over triangles and cliques: PGD (ICDM 2015), ESCAPE (WWW 2017), G2Miner (OSDI 2022)",
    longer="Cliques of four and cycles of four are counted, each by far more steps than there are edges.",
)
