"""Edge betweenness centrality: the fraction of shortest paths that go along each edge.

The score of an edge is the sum over pairs (s, t) of the fraction of shortest s-t paths along it. After both passes of
Brandes' algorithm from a source (brandes.py), each edge u -> v on a shortest path gains paths(u) * back(v), where
back(v) = (1 + dependency(v)) / paths(v).
"""

from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from gasla.algorithms.centrality.betweenness.brandes import (
    SCALED,
    SourcePaths,
    accumulate_sources,
    has_lengths,
    is_tight,
    shifted,
    source_paths,
)
from gasla.arrays import module_of
from gasla.graph.arguments import check_flags, chosen_sources
from gasla.graph.graph import Graph, as_graph, is_undirected
from gasla.graph.weights import takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.operations.run import run
from gasla.program import VertexProgram, edge, option, vertex
from gasla.rows import Row, Task, edge_values
from semirings import where


class Share(VertexProgram):
    """score(u -> v) += paths(u) * back(v), if the edge is on a shortest path from the current source.

    Without lengths that is so if v is one level after u. paths(u) is the number of shortest paths to u, and `back` is
    (1 + dependency) / paths of a vertex. With scaled numbers, which have their own exponent, the increment paths(u) /
    paths(v) * (1 + dependency(v)) is a plain float.
    """

    lengths = option(None)  # dtype of the lengths; None if unweighted
    # dtype of the numbers of paths: float64, or SCALED for larger numbers with an exponent of their own
    number = option(np.float64)
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
        scaled = self.number == SCALED
        part = shifted(src.paths, dst.back[1]) * dst.back[0] if scaled else src.paths * dst.back
        return {"score": edge.score + where(is_on_path, part, 0.0)}


@takes_weight
@on_one_device("sources")
def edge_betweenness_centrality(
    graph: Any,
    *,
    sources: Iterable[Hashable] | None = None,
    k: int | None = None,
    seed: Any = None,
    normalized: bool = True,
    weighted: bool = False,
) -> np.ndarray[Any, Any]:
    """Compute the betweenness centrality of edges: the fraction of all shortest paths that go along each.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. A symmetric matrix is an undirected graph: each pair counts once, and both entries
        of an edge have the same score.
    sources, k, seed, normalized, weighted
        As in `gasla.betweenness_centrality`.

    Returns
    -------
    (m,) array of float64
        One score per stored edge, in input order, on the device of the graph; 0 for self loops. The values of
        NetworkX's function of the same name, but correct if the number of shortest paths overflows float64.

    Raises
    ------
    ValueError
        If a source is not a vertex, or a length is not positive.

    See Also
    --------
    gasla.betweenness_centrality : the scores of vertices.

    Notes
    -----
    Shortest paths are those of `gasla.betweenness_centrality`: parallel edges are different paths.

    Needs 8 bytes per edge besides the result, and one more pass over all edges per source than betweenness of vertices.

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
    source_ids = chosen_sources(graph, sources, k, seed)
    scores: Any = module_of(graph.device).zeros(graph.m)
    if graph.m and source_ids:
        scores = _sum_scores(graph, source_ids, weighted)
    undirected = is_undirected(graph, weighted)
    if undirected and graph.m:
        scores = scores + scores[graph.sum_shares(partial(_yield_reverse_ids, weighted), [None])]
    pairs = float(len(source_ids)) * (graph.n - 1 if normalized else 2 if undirected else 1)
    return scores * ((1 if normalized else graph.n) / pairs) if pairs else scores


def _sum_scores(graph: Graph, sources: list[int], weighted: bool) -> Any:
    """Return the score of each edge: the share of the shortest paths from each source that go along it, summed up."""
    scores: Any = module_of(graph.device).zeros(graph.m)
    if graph.sharers(len(sources)):
        return graph.sum_shares(partial(_yield_total if graph.is_whole else _yield_terms, weighted), sources)

    def add_scores(paths: SourcePaths) -> None:
        nonlocal scores
        scores = _add_edge_scores(paths, weighted, scores)

    accumulate_sources(graph, sources, weighted, add_scores)
    return scores


def _yield_total(weighted: bool, graph: Graph, sources: list[int]) -> Iterator[Any]:
    """Yield one array: the scores of all edges, summed over the given sources.

    `Graph.sum_shares` calls this on each rank for the sources of the rank, and adds up the arrays.
    """
    yield _sum_scores(graph, sources, weighted)


def _yield_terms(weighted: bool, graph: Graph, sources: list[int]) -> Iterator[Any]:
    """Return an iterator over arrays, the scores of all edges for one source each.

    `Graph.sum_shares` calls this on each rank, and adds up the arrays.
    """
    xp: Any = module_of(graph.device)
    return (_add_edge_scores(paths, weighted, xp.zeros(graph.m)) for paths in source_paths(graph, sources, weighted))


def _yield_reverse_ids(weighted: bool, graph: Graph, _: Any) -> Iterator[Any]:
    """Yield one array: the id of the reverse edge of each edge, computed with `Graph.sum_shares`.

    If `weighted`, the reverse edge is one of equal length among parallel edges.
    """
    if not (weighted and graph.has_parallel_edges):
        yield graph.reverse_edge_ids
        return
    xp: Any = module_of(graph.device)
    order = xp.argsort(graph.values, kind="stable")
    src, dst = (endpoint[order] for endpoint in graph.edges())
    reverse_ids = xp.empty(graph.m, graph.offset_dtype)
    reverse_ids[order] = order[Graph.from_edges(src, dst, n=graph.n).reverse_edge_ids]
    yield reverse_ids


def _add_edge_scores(paths: SourcePaths, weighted: bool, scores: Any) -> Any:
    """Add to the score of each edge its share of the shortest paths from one source, and return the scores.

    On a GPU the kernel may still run when this returns.
    """
    graph, fields = paths.graph, dict(paths.fields)
    lengths = graph.value_type if weighted else None
    program = Share(lengths=lengths, number=SCALED if paths.is_scaled else np.float64)
    if lengths is None:
        fields["level"] = paths.levels
    fields |= {"paths": paths.state["paths"], "back": paths.state["back"], "score": scores}
    return run(program, graph, max_iterations=1, wait=False, notice=False, **fields).state["score"]


ROW = Row(
    edge_betweenness_centrality,
    edge_values(
        *("edge-betweenness", {"scores": "edge_betweenness"}),
        lambda f: f.from_sources("edges of highest betweenness, by shortest paths"),
    ),
    Task("edge_betweenness", {"normalized": False}, form="unit", agree="near", may_overflow=True),
    method="Brandes's dependencies at edges (Social Networks 30, 2008)",
    longer="Four sources: from each a search, and passes over all edges that also write a number for each.",
)
