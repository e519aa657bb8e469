"""Similarity measures, which score pairs of vertices from their degrees and their common neighbors.

Each measure is a formula with a weight for every common neighbor, and a score from both degrees and the sum of the
weights. Pairs are given, or are the ends of all stored edges. The common neighbors of an edge's ends are the triangles
at the edge, each of which is found once. For given pairs, the adjacency lists of each pair are intersected, and so are
those of all edges on a GPU if the measure has weights.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gasla.algorithms.community.edge_support import at_stored_edges, edge_support
from gasla.arrays import array_module, device_of, module_of
from gasla.graph.exchange.vertex_names import translate_vertices
from gasla.graph.graph import Graph, as_graph, whole_graph
from gasla.graph.validate import as_ids, check_range
from gasla.operations.on_one_device import on_one_device
from gasla.operations.primitives import fits_one_thread, intersect, orient, simplify, sum_at_edges
from gasla.program import EdgeFrontier
from gasla.rows import Row, Task, edge_values

Array = np.ndarray[Any, Any]
Pairs = tuple[Any, Any]
F = TypeVar("F", bound=Callable[..., Any])


class Formula(NamedTuple):
    """A similarity measure of two vertices, as functions of float64 arrays with an entry for each pair.

    The argument `xp` of the functions is the module of the arrays, NumPy or CuPy.
    """

    # the score of pairs (u, v), from (xp, degrees of u, degrees of v, sums of the weights of their common neighbors)
    score: Callable[[Any, Array, Array, Array], Array]
    # the weights of common neighbors, from (xp, their degrees); None if each weighs 1
    weight: Callable[[Any, Array], Array] | None = None


FORMULAS = {
    "jaccard": Formula(lambda xp, a, b, common: common / xp.maximum(a + b - common, 1)),
    "overlap": Formula(lambda xp, a, b, common: common / xp.maximum(xp.minimum(a, b), 1)),
    "sorensen": Formula(lambda xp, a, b, common: 2 * common / xp.maximum(a + b, 1)),
    "cosine": Formula(lambda xp, a, b, common: common / xp.sqrt(xp.maximum(a * b, 1))),
    "adamic_adar": Formula(
        lambda xp, a, b, total: total,
        weight=lambda xp, degree: xp.where(degree > 1, 1 / xp.log(xp.maximum(degree, 2)), np.inf),
    ),
    "resource_allocation": Formula(lambda xp, a, b, total: total, weight=lambda xp, degree: 1 / xp.maximum(degree, 1)),
}

DETAILS = """

Parameters
----------
graph : Graph, or SciPy or CuPy sparse array
    Read as simple and undirected: direction, self loops, parallel edges and values are ignored; stored zeros are edges.
    The simple undirected graph, if not the graph itself, is kept for later calls: up to 16 bytes per edge and 8 per
    vertex (`Graph.nbytes`).{kept}
pairs : (u, v), two arrays of ids or names, optional
    The pairs to score; by default the ends of each stored edge, in input order.

Returns
-------
array of float64
    One score per pair, on the device of the graph. {returns}

Raises
------
TypeError, ValueError
    If `pairs` is not two integer arrays of equal length, or has an id outside the graph.

See Also
--------
{see}

References
----------
{reference}

Examples
--------
>>> import gasla
>>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
{examples}
"""


def _with_shared_sections(returns: str, see: str, reference: str, examples: str, kept: str = "") -> Callable[[F], F]:
    """Return a decorator that appends sections to the one-line docstring of a similarity measure, such as `jaccard`.

    All measures have the same sections. The arguments are the texts for the places where the sections differ.
    """

    def complete(function: F) -> F:
        details = DETAILS.format(returns=returns, see=see, reference=reference, examples=examples, kept=kept)
        function.__doc__ = f"{function.__doc__}{details}"
        return function

    return complete


PARTNERS = (
    "\n    On a GPU, without `pairs`, the ids of reverse edges are kept as well, 4 bytes per edge. On a CPU, scores of"
    "\n    all edges may differ from those of given pairs by rounding."
)
ITSELF = "A vertex has similarity 1\n    to itself, if it has a neighbor."


@_with_shared_sections(
    returns=f"0 where neither vertex has a neighbor. {ITSELF}",
    see="gasla.overlap, gasla.cosine : other normalizations of the same count.\n"
    "gasla.adamic_adar : gives common neighbors of small degree more weight.\n"
    "gasla.top_k_similar : the most similar vertices for each vertex.",
    reference="P. Jaccard: Étude comparative de la distribution florale dans une portion des Alpes et des Jura. "
    "Bulletin de la\nSociété Vaudoise des Sciences Naturelles 37 (1901).",
    examples=""">>> gasla.jaccard(graph).round(3)
array([0.333, 0.25 , 0.25 , 0.   ])
>>> gasla.jaccard(graph, pairs=([0, 0], [3, 0]))
array([0.5, 1. ])""",
)
def jaccard(graph: Any, pairs: Pairs | None = None) -> Array:
    """Compute the Jaccard similarity of pairs: common neighbors over all neighbors of either vertex."""
    return _scores(whole_graph(graph), pairs, FORMULAS["jaccard"])


@_with_shared_sections(
    returns=f"0 where a vertex has no neighbor. {ITSELF}",
    see="gasla.jaccard : the number of common neighbors over the size of the union.",
    reference="D. Szymkiewicz: Une contribution statistique à la géographie floristique. Acta Societatis Botanicorum "
    "Poloniae 11\n(1934). G. Simpson: Notes on the measurement of faunal resemblance. American Journal of Science 258A "
    "(1960).",
    examples=""">>> gasla.overlap(graph)
array([0.5, 0.5, 0.5, 0. ])
>>> gasla.overlap(graph, pairs=([0], [3]))
array([1.])""",
)
def overlap(graph: Any, pairs: Pairs | None = None) -> Array:
    """Compute the overlap coefficient of pairs: the number of common neighbors over the smaller degree."""
    return _scores(whole_graph(graph), pairs, FORMULAS["overlap"])


@_with_shared_sections(
    returns=f"0 where neither vertex has a neighbor. {ITSELF}",
    see="gasla.jaccard : ranks pairs in the same order: j / (2 - j) for a score of j.",
    reference="L. R. Dice: Measures of the Amount of Ecologic Association Between Species. Ecology 26 (1945). T. "
    "Sørensen: A method\nof establishing groups of equal amplitude in plant sociology. Biologiske Skrifter 5 (1948).",
    examples=""">>> gasla.sorensen(graph).round(3)
array([0.5, 0.4, 0.4, 0. ])
>>> gasla.sorensen(graph, pairs=([0], [3])).round(3)
array([0.667])""",
)
def sorensen(graph: Any, pairs: Pairs | None = None) -> Array:
    """Compute the Sørensen–Dice coefficient of pairs: common neighbors over the mean of both degrees."""
    return _scores(whole_graph(graph), pairs, FORMULAS["sorensen"])


@_with_shared_sections(
    returns=f"0 where a vertex has no neighbor. {ITSELF}",
    see="gasla.jaccard : the number of common neighbors over the size of the union.",
    reference="G. Salton, M. McGill: Introduction to Modern Information Retrieval. McGraw-Hill, 1983.",
    examples=""">>> gasla.cosine(graph).round(3)
array([0.5  , 0.408, 0.408, 0.   ])
>>> gasla.cosine(graph, pairs=([0], [3])).round(3)
array([0.707])""",
)
def cosine(graph: Any, pairs: Pairs | None = None) -> Array:
    """Compute the cosine similarity of pairs: common neighbors over the geometric mean of both degrees."""
    return _scores(whole_graph(graph), pairs, FORMULAS["cosine"])


@_with_shared_sections(
    returns="0 without common neighbors. Infinite\n    for a vertex and itself, if one of its neighbors has degree 1.",
    see="gasla.resource_allocation : the same with 1 / degree.\n"
    "gasla.jaccard : counts common neighbors equally, relative to degrees.",
    reference="L. Adamic, E. Adar: Friends and neighbors on the Web. Social Networks 25 (2003).",
    examples=""">>> gasla.adamic_adar(graph).round(3)
array([0.91 , 1.443, 1.443, 0.   ])
>>> gasla.adamic_adar(graph, pairs=([0], [3])).round(3)
array([0.91])""",
    kept=PARTNERS,
)
def adamic_adar(graph: Any, pairs: Pairs | None = None) -> Array:
    """Compute the Adamic–Adar index of pairs: the sum of 1 / log(degree) over their common neighbors."""
    return _scores(whole_graph(graph), pairs, FORMULAS["adamic_adar"])


@_with_shared_sections(
    returns="0 without common neighbors.",
    see="gasla.adamic_adar : the same with 1 / log(degree).",
    reference="T. Zhou, L. Lü, Y.-C. Zhang: Predicting missing links via local information. European Physical Journal "
    "B 71 (2009).",
    examples=""">>> gasla.resource_allocation(graph).round(3)
array([0.333, 0.5  , 0.5  , 0.   ])""",
    kept=PARTNERS,
)
def resource_allocation(graph: Any, pairs: Pairs | None = None) -> Array:
    """Compute the resource allocation index of pairs: the sum of 1 / degree over their common neighbors."""
    return _scores(whole_graph(graph), pairs, FORMULAS["resource_allocation"])


@_with_shared_sections(
    returns="0 where a vertex has no neighbor.",
    see="gasla.jaccard, gasla.adamic_adar : use common neighbors.",
    reference="A.-L. Barabási, R. Albert: Emergence of scaling in random networks. Science 286 (1999).",
    examples=""">>> gasla.preferential_attachment(graph)
array([4., 6., 6., 3.])""",
)
@on_one_device()
def preferential_attachment(graph: Any, pairs: Pairs | None = None) -> Array:
    """Compute the preferential attachment score of pairs: the product of both degrees."""
    graph = as_graph(graph)
    degrees_of_u, degrees_of_v = _degrees(graph, *chosen_pairs(graph, pairs))
    return degrees_of_u * degrees_of_v


def _scores(graph: Graph, pairs: Pairs | None, formula: Formula) -> Array:
    """Return the score of each pair of vertices by the formula of a similarity measure.

    If `pairs` is None, return the scores of the two ends of all stored edges.
    """
    u, v = chosen_pairs(graph, pairs)
    degrees_of_u, degrees_of_v = _degrees(graph, u, v)
    xp: Any = module_of(graph.device)
    if pairs is not None:
        weights = None if formula.weight is None else weights_in(graph, formula)
        common_total = intersect(simplify(graph), EdgeFrontier(graph.n, u, u, v), weights)
    elif formula.weight is None:
        common_total = edge_support(graph)
        common_total = xp.where(u == v, degrees_of_u, common_total) if graph.has_self_loops else common_total
    else:
        common_total = _sums_at_edges(graph, u, v, weights_in(graph, formula))
    return formula.score(xp, degrees_of_u, degrees_of_v, common_total.astype(np.float64, copy=False))


def _sums_at_edges(graph: Graph, u: Array, v: Array, weights: Array) -> Array:
    """Return the sum of the weights of the common neighbors of u and v, for each stored edge u -> v."""
    xp: Any = module_of(graph.device)
    oriented = orient(graph) if fits_one_thread(graph) else None
    simple = simplify(graph)
    sums = None if oriented is None else sum_at_edges(oriented, weights)
    at_edges = at_stored_edges(graph, simple, _sums_in_simple_graph(simple, weights) if sums is None else sums)
    if graph.has_self_loops:
        loops = xp.flatnonzero(u == v)
        at_edges[loops] = intersect(simple, EdgeFrontier(graph.n, loops, u[loops], v[loops]), weights)
    return at_edges


def _sums_in_simple_graph(simple: Graph, weights: Array) -> Array:
    """Return the sum of the weights of the common neighbors of both ends, for each edge of a simple graph.

    Each sum is computed once for both directions of an edge.
    """
    xp: Any = module_of(simple.device)
    sums, (src, dst) = xp.zeros(simple.m), simple.edges()
    forward, backward = xp.flatnonzero(src < dst), xp.flatnonzero(src > dst)
    sums[forward] = intersect(simple, EdgeFrontier(simple.n, forward, src[forward], dst[forward]), weights)
    sums[backward] = sums[simple.reverse_edge_ids[backward]]
    return sums


def weights_in(graph: Graph, formula: Formula) -> Array:
    """Return the weight that each vertex has as a common neighbor, by the formula of a similarity measure."""
    xp: Any = module_of(graph.device)
    if formula.weight is None:
        return xp.ones(graph.n)
    return formula.weight(xp, simplify(graph).out_degrees.astype(np.float64))


def _degrees(graph: Graph, u: Array, v: Array) -> tuple[Array, Array]:
    """Return the degrees of the vertices `u` and `v` of each pair, as two float64 arrays."""
    degrees = simplify(graph).out_degrees.astype(np.float64)
    return degrees[u], degrees[v]


def chosen_pairs(graph: Graph, pairs: Pairs | None) -> tuple[Array, Array]:
    """Return the first and the second vertex of each of the given pairs, as two arrays of ids on the graph's device.

    If `pairs` is None, the pairs are the ends of all stored edges.
    """
    if pairs is None:
        graph.require_whole("pairs=None")
        return graph.edges()
    if not isinstance(pairs, (tuple, list)) or len(pairs) != 2:
        raise TypeError(f"pairs is {reprlib.repr(pairs)}; expected (u, v), two arrays of vertices of one length")
    u, v = (as_ids(name, translate_vertices(graph, pair_ends, name)) for name, pair_ends in zip("uv", pairs))
    if len(u) != len(v):
        raise ValueError(f"u has {len(u)} entries and v has {len(v)}; expected equal lengths")
    for name, ids in (("u", u), ("v", v)):
        check_range(name, ids, graph.n)
        if device_of(ids) != graph.device and array_module(ids) is not np:
            raise TypeError(
                f"{name} is on the {device_of(ids)} and the graph on the {graph.device}; expected one device"
            )
    xp: Any = module_of(graph.device)
    return xp.asarray(u), xp.asarray(v)


def _row(function: Callable[..., Any], method: str, longer: str) -> Row:
    name = function.__name__
    checked: dict[str, Any] = {"checked_by": "similarity", "checked_with": {"measure": name}}
    heading = lambda f: f.positive("scores", "score above 0")  # noqa: E731
    command = edge_values(name.replace("_", "-"), {"scores": name}, heading, **checked)
    return Row(function, command, Task(agree="near", **checked), method=method, longer=longer)


SEARCHED = "intersections of sorted lists, the shorter searched in the longer, as for triangles (TRUST, TPDS 32, 2021)"
LISTS = "Both lists of each of m pairs are read, so that a list is read once for each edge at its vertex."
WEIGHTS = "As `jaccard`, and a weight is read for each common neighbor."
ROW = [
    _row(jaccard, SEARCHED, LISTS),
    _row(overlap, SEARCHED, LISTS),
    _row(sorensen, SEARCHED, LISTS),
    _row(cosine, SEARCHED, LISTS),
    _row(
        adamic_adar, "intersections of sorted lists with weights (Adamic, Adar, 2003); no specialist is known", WEIGHTS
    ),
    _row(
        resource_allocation,
        "intersections of sorted lists with weights (Zhou, Lü, Zhang, 2009); no specialist is known",
        WEIGHTS,
    ),
    _row(
        preferential_attachment,
        "a product for each pair (Barabási, Albert, 1999)",
        "Eight bytes are written for each edge, where components look at few edges.",
    ),
]
