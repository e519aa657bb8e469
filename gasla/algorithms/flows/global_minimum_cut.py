"""Global minimum cut: the edges of least total weight whose removal leaves a graph in two parts.

Nagamochi, Ono and Ibaraki: vertices are put in an order in which each has most weight of edges to those before it. If
that weight is at least the cheapest cut known, the vertex and the one before it need not be separated: they are
contracted. What comes before a place of the order is itself a cut. Between two such rounds, vertices are contracted in
pairs that are joined by at least half of the weight at one of them (Padberg and Rinaldi): long cycles, of which an
order contracts little, lose half of their vertices. So do pairs of a triangle whose edges are half of the weight at
either of the two; triangles are looked for where an order contracts little.
"""

import math
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.independence.maximal_matching import maximal_matching
from gasla.graph.arguments import in_host_memory, weight_range
from gasla.graph.graph import Graph
from gasla.graph.weights import exact_total, takes_weight
from gasla.operations.primitives import adjacency_order
from gasla.rows import Command, Row, Task

BITS = 60  # number of bits for the sum of all weights
FEW = 16  # neighbors, of which each may make a triangle
MOST = 64  # times that floats are scaled: each leaves a rest of m**2 / 2**59, and they span 2**2098


class GlobalMinimumCut(NamedTuple):
    """The weight of a global minimum cut, and which vertices are on one of its sides."""

    value: int | float
    side: np.ndarray


@takes_weight
def global_minimum_cut(graph: Any) -> GlobalMinimumCut:
    """Find the cheapest way to cut a graph in two.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the weight of an edge between i and j, 0 or more, read as undirected; 1 without values. If,
        with parallel edges added up, the matrix is not symmetric, the two directions of an edge add up. In host memory.

    Returns
    -------
    GlobalMinimumCut(value, side)
        `value`, an int for integer weights, else a float, is the total weight of the edges between the two sides: 0 if
        the graph is not connected. `side`, shape (n,), bool, marks the vertices of the side without vertex 0. One of
        the cheapest cuts; deterministic.

    Raises
    ------
    TypeError
        If the graph is on a GPU.
    ValueError
        If the graph has fewer than two vertices; if a weight is negative, infinite or NaN; if integer weights sum to
        2**60 or more, or the value overflows float64.

    Notes
    -----
    Stored zeros and self loops cost nothing; parallel edges each cost. Integers are exact. Floats are compared as
    multiples of 2**-60 of the number of edges times the largest weight, rounded up. If the value is so small beside the
    largest weight that this matters, weights above it are lowered to it, and the search is repeated. The value exceeds
    the smallest by at most a fraction of 2**-32, if there are fewer than 8,000 edges; with more, by at most 2**-58 of
    the number of edges times the value for each edge of the cut.

    Each round takes O(m log n) operations, on one thread but for contractions. Usually a few rounds suffice. In graphs
    in which all vertices have the same degree and no cut is cheaper, such as circulants and tori, a round may contract
    hardly any edge, and their number grow as n: a circulant of 600 vertices of degree 6 took 123 rounds. The memory is
    about 100 bytes per edge.

    See Also
    --------
    gasla.minimum_cut : between two given vertices, on either device.
    gasla.connected_components : the parts of a graph that is not connected.

    References
    ----------
    H. Nagamochi, T. Ono, T. Ibaraki: Implementing an efficient minimum capacity cut algorithm. Mathematical Programming
    67 (1994). M. Padberg, G. Rinaldi: An efficient algorithm for the minimum capacity cut problem. Mathematical
    Programming 47 (1990).

    Examples
    --------
    Two triangles, joined by an edge:

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2, 3, 4, 5], [1, 2, 0, 3, 4, 5, 3])
    >>> gasla.global_minimum_cut(graph)
    GlobalMinimumCut(value=1, side=array([False, False, False,  True,  True,  True]))
    """
    graph = in_host_memory("global_minimum_cut", graph)
    graph.notice_values()
    weight_range(graph, shares=True)
    if graph.n < 2:
        raise ValueError(f"the graph has {graph.n} vertices; expected at least two, one for each side")
    is_float = graph.values is not None and graph.values.dtype.kind == "f"
    simple = _float_sums(graph) if is_float else _integer_sums(graph)
    is_doubled = simple.is_symmetric and simple.has_symmetric_values
    both = simple if is_doubled else simple.symmetrized(semirings.plus)
    side = _cheapest_of_floats(both) if is_float else _cheapest(both)
    side = side ^ side[0]
    src, dst = graph.edges()
    cut = ~side[src] & side[dst] if is_doubled else side[src] != side[dst]
    if graph.values is None:
        return GlobalMinimumCut(int(cut.sum()), side)
    if graph.values.dtype.kind != "f":
        return GlobalMinimumCut(exact_total(graph.values[cut]), side)
    try:
        return GlobalMinimumCut(math.fsum(graph.values[cut].tolist()), side)
    except OverflowError:
        raise ValueError("the cut weighs more than 1.8e308; expected smaller weights: divide them") from None


def _integer_sums(graph: Graph) -> Graph:
    """Return the graph with parallel edges added up, as int64, and without loops and edges of weight 0."""
    values = np.ones(graph.m, np.int64) if graph.values is None else np.asarray(graph.values)
    if (total := exact_total(values)) >= 2**BITS:
        raise ValueError(f"the weights sum to {float(total):.3g}; expected less than 2**{BITS}, or floats")
    weights = values.astype(np.int64)
    return graph.with_values(weights).select(weights > 0).contract(np.arange(graph.n), semirings.plus, loops=False)


def _float_sums(graph: Graph) -> Graph:
    """Return the same for floats, as float64, times a power of two if their sum might overflow.

    Parallel edges are added up from the smallest on, so that equal ones have equal sums in both directions.
    """
    src, dst = graph.edges()
    values = np.asarray(graph.values).astype(np.float64)
    excess = int(np.frexp(values.max(initial=0))[1]) + graph.m.bit_length() + 1 - 1023
    values = np.ldexp(values, -max(excess, 0))
    kept = np.flatnonzero((values > 0) & (src != dst))
    keys, values = src[kept].astype(np.int64) * graph.n + dst[kept], values[kept]
    order = np.argsort(keys)
    keys, values = keys[order], values[order]
    is_first = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    places = np.cumsum(is_first) - 1
    parallel = np.flatnonzero(np.bincount(places)[places] > 1)
    values[parallel] = values[parallel][np.lexsort((values[parallel], places[parallel]))]
    pairs = keys[is_first]
    return Graph.from_edges(pairs // graph.n, pairs % graph.n, np.bincount(places, values, len(pairs)), n=graph.n)


def _cheapest_of_floats(graph: Graph) -> np.ndarray:
    """Mark one side of the cheapest cut of a simple graph with symmetric float64 weights.

    They are rounded up to multiples of a unit, of which both directions together have at most 2**61. Weights above
    that of a known cut may be lowered to it: until the unit is small beside the cut.
    """
    values, (src, dst) = np.asarray(graph.values), graph.edges()
    limit, best = float(values.max(initial=0)), np.arange(graph.n) == 0
    for again in range(MOST):
        scale = BITS + 1 - graph.m.bit_length() - int(np.frexp(limit)[1])
        units = np.maximum(np.ceil(np.ldexp(np.minimum(values, limit), scale)), 1).astype(np.int64)
        side = _cheapest(graph.with_values(units))
        weight = float(values[side[src] & ~side[dst]].sum())
        if again and weight >= limit:  # of cuts that weigh the limit, lowered ones are among them
            break
        best = side
        if weight == 0 or weight >= min(limit / 2, float(np.ldexp(graph.m, 32 - scale))):
            break
        limit = weight
    return best


def _cheapest(graph: Graph) -> np.ndarray:
    """Mark one side of the cheapest cut of a simple graph with symmetric int64 weights."""
    group = np.arange(graph.n)
    best, side = np.iinfo(np.int64).max, group == 0
    while graph.n > 1:
        degrees = _degrees(graph)
        if degrees.min() < best:
            best, side = int(degrees.min()), group == degrees.argmin()
        order, sums = adjacency_order(graph, best)
        cuts = np.cumsum(degrees[order] - 2 * sums[order])[:-1]
        if cuts.min() < best:
            before = np.empty(graph.n, bool)
            before[order] = np.arange(graph.n) <= cuts.argmin()
            best, side = int(cuts.min()), before[group]
        if best == 0:
            break
        labels = np.empty(graph.n, np.int64)
        labels[order] = np.cumsum(sums[order] < best) - 1
        is_slow = 10 * int(labels[order[-1]]) > 9 * graph.n  # the order contracts less than a tenth
        graph, group = graph.contract(labels, semirings.plus, loops=False), labels[group]
        if graph.n > 1:
            degrees = _degrees(graph)
            if degrees.min() < best:
                best, side = int(degrees.min()), group == degrees.argmin()
            labels = _pairs(graph, degrees, is_slow)
            graph, group = graph.contract(labels, semirings.plus, loops=False), labels[group]
    return side


def _degrees(graph: Graph) -> np.ndarray:
    """Return the weight of the edges at each vertex."""
    sums = np.append(0, np.cumsum(np.asarray(graph.out_values)))
    return np.diff(sums[graph.out.indptr])


def _pairs(graph: Graph, degrees: np.ndarray, triangles: bool) -> np.ndarray:
    """Number the vertices such that some pairs have one number: a cheapest cut parts none, or leaves one end alone."""
    src, dst = graph.out.owners(), graph.out.indices
    is_heavy = 2 * np.asarray(graph.out_values) >= np.minimum(degrees[src], degrees[dst])
    if triangles:
        is_heavy |= _in_heavy_triangles(graph, degrees)
    mates = maximal_matching(Graph.from_edges(src[is_heavy], dst[is_heavy], n=graph.n))
    least = np.where(mates >= 0, np.minimum(np.arange(graph.n), mates), np.arange(graph.n))
    return np.asarray(np.cumsum(least == np.arange(graph.n)) - 1)[least]


def _in_heavy_triangles(graph: Graph, degrees: np.ndarray) -> np.ndarray:
    """Mark edges that with an edge to a third vertex have half of the weight at each end, if it has few neighbors.

    On whichever side the third vertex is, the end on the other side may as well change sides.
    """
    indptr, src, dst = (a.astype(np.int64) for a in (graph.out.indptr, graph.out.owners(), graph.out.indices))
    weights, counts, keys = np.asarray(graph.out_values), np.diff(indptr), src * graph.n + dst
    few = np.flatnonzero(counts[src] <= FEW)
    edges = np.repeat(few, counts[src[few]])
    firsts = np.cumsum(counts[src[few]]) - counts[src[few]]
    sides = np.arange(len(edges)) - np.repeat(firsts - indptr[src[few]], counts[src[few]])  # of the tail
    kept = 2 * (weights[edges] + weights[sides]) >= degrees[src[edges]]
    edges, sides = edges[kept], sides[kept]
    order = np.argsort(keys)
    closing = dst[edges] * graph.n + dst[sides]
    places = order[np.minimum(np.searchsorted(keys, closing, sorter=order), len(keys) - 1)]
    closes = (keys[places] == closing) & (2 * (weights[edges] + weights[places]) >= degrees[dst[edges]])
    marks = np.zeros(len(keys), bool)
    marks[edges[closes]] = True
    return marks


ROW = Row(
    global_minimum_cut,
    Command(
        *("global-minimum-cut", {"side": "side"}),
        lambda f: (
            f"the cheapest cut weighs {f['value']:,}, and has {(~f['side']).sum():,} and {f['side'].sum():,} vertices "
            "on its sides"
        ),
    ),
    Task(part="value", checked_by=""),
    method="contractions by bounds of connectivity: VieCut (Henzinger et al., ALENEX 2018)",
    longer="Rounds of contractions in one thread's order of a heap.",
)
