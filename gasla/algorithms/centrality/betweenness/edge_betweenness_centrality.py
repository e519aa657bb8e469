"""Betweenness of edges: for how many pairs of vertices a shortest path goes along each edge.

Returned is a number a stored edge: the sum over pairs (s, t) of the share of shortest paths from s to t along it. When
the paths from a source have been followed there and back, as for betweenness of vertices, each edge u -> v on one of
them takes the part that v tells those before it, as many times as there are paths to u.

U. Brandes: On variants of shortest-path betweenness centrality and their generic computation. Social
Networks 30 (2008).
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from gasla.algorithms.centrality.betweenness.brandes import WIDE, Found, follow, has_lengths, is_tight, shifted
from gasla.arrays import module_of
from gasla.graph.arguments import check_flags, chosen_sources
from gasla.graph.graph import Graph, as_graph, is_undirected
from gasla.operations.run import run
from gasla.program.fields import edge, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram
from semirings import where


class Share(VertexProgram):
    """score(u -> v) grows by paths(u) * back(v), if v is one level further, or the edge is tight.

    Of wide numbers paths(u) / paths(v) is at most 1, so that a part is a plain number.
    """

    lengths = option(None)  # their type, if edges have lengths
    number = option(np.float64)  # or WIDE
    level = vertex(np.int32)
    paths = vertex(number)
    back = vertex(number)
    distance = vertex(np.float64, when=lengths)
    weight = edge(lengths, when=lengths)
    score = edge(np.float64, init=0)
    everyone = True

    def activate(self, before, after):
        return True

    def scatter(self, src, dst, edge):
        is_on_path = is_tight(src, dst, edge) if self.lengths else src.level + 1 == dst.level
        wide = self.number == WIDE
        part = shifted(src.paths, dst.back[1]) * dst.back[0] if wide else src.paths * dst.back
        return {"score": edge.score + where(is_on_path, part, 0.0)}


def edge_betweenness_centrality(
    graph: Any,
    *,
    sources: Iterable[int] | None = None,
    k: int | None = None,
    seed: Any = None,
    normalized: bool = True,
    weighted: bool = False,
) -> np.ndarray[Any, Any]:
    """For each edge, the sum over pairs (s, t) of the share of shortest paths from s to t that go along it.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. A symmetric matrix counts as undirected, each pair once: both entries of an edge
        have its number. Parallel edges are different paths.
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

    Returns
    -------
    (m,) array of float64
        One number for each stored edge, in the order of the input, on the device of the graph; 0 for loops. As
        NetworkX's function of the same name gives, and right where the number of paths exceeds float64.

    Raises
    ------
    ValueError
        For sources that are not vertices, or lengths that are not positive.

    See Also
    --------
    gasla.betweenness_centrality : the same for vertices.

    Notes
    -----
    An infinite edge leads nowhere. Beside a large distance a length may vanish (`1 + 1e-23 == 1`): of the paths of one
    length, as float64 adds it up, those of the fewest edges that vanish are shortest.

    Takes 8 bytes an edge beside the result, and passes over all edges once more for each source than betweenness of
    vertices.

    References
    ----------
    U. Brandes: On variants of shortest-path betweenness centrality and their generic computation. Social Networks 30
    (2008).

    Examples
    --------
    >>> import gasla
    >>> path = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3]).symmetrized()
    >>> gasla.edge_betweenness_centrality(path, normalized=False)
    array([3., 3., 4., 4., 3., 3.])
    """
    graph = as_graph(graph)
    check_flags(normalized=normalized, weighted=weighted)
    weighted = has_lengths(graph, weighted)
    chosen = chosen_sources(graph, sources, k, seed)
    scores: Any = module_of(graph.device).zeros(graph.m)

    def share(found: Found) -> None:
        nonlocal scores
        scores = _shared(found, weighted, scores)

    if graph.m:
        follow(graph, chosen, weighted, share)
    undirected = is_undirected(graph, weighted)
    if undirected and graph.m:
        scores = scores + scores[_partners(graph, weighted)]
    pairs = float(len(chosen)) * (graph.n - 1 if normalized else 2 if undirected else 1)
    return scores * ((1 if normalized else graph.n) / pairs) if pairs else scores


def _partners(graph: Graph, weighted: bool) -> Any:
    """The number of an edge as long as each edge, the other way: parallel ones may be listed in any order."""
    if not (weighted and graph.has_parallel_edges):
        return graph.reverse_edge_ids
    xp: Any = module_of(graph.device)
    order = xp.argsort(graph.values, kind="stable")
    src, dst = (ends[order] for ends in graph.edges())
    partners = xp.empty(graph.m, graph.offset_dtype)
    partners[order] = order[Graph.from_edges(src, dst, n=graph.n).reverse_edge_ids]
    return partners


def _shared(found: Found, weighted: bool, scores: Any) -> Any:
    """The scores with what the paths from one more source add. A GPU may still be working on them."""
    graph, fields = found.graph, dict(found.fields)
    lengths = graph.values.dtype if weighted and graph.values is not None else None
    program = Share(lengths=lengths, number=WIDE if found.is_wide else np.float64)
    if lengths is None:
        fields["level"] = found.levels
    fields |= {"paths": found.state["paths"], "back": found.state["back"], "score": scores}
    return run(program, graph, max_iterations=1, wait=False, notice=False, **fields).state["score"]
