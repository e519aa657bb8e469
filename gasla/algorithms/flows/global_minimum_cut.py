"""Global minimum cut: the edges of least total weight whose removal leaves a graph in two parts.

Each round orders the vertices such that every vertex has the most weight of edges to those before it (Nagamochi, Ono
and Ibaraki). If this weight is at least the cheapest cut known, no cheaper cut separates the vertex from the one before
it, so both are contracted to one. The vertices before any place of the order are themselves a side of a cut, which is
tried.

Between two rounds, vertices are contracted in pairs that are joined by at least half of the weight at one of them
(Padberg and Rinaldi). So long cycles, of which an order contracts little, lose half of their vertices. Where an order
contracts little, pairs in a triangle are contracted as well, if two of its edges have half of the weight at either of
the two vertices.
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

BITS = 60  # integer weights are refused unless they sum to less than 2**BITS
FEW = 16  # triangles are searched only at edges whose tail has at most this many neighbors, to bound the work
# Largest number of rounds in which float weights are scaled to integers. A round lowers the largest weight that counts
# to at most m**2 / 2**59 of what it was, and float64 spans 2**2098, so more rounds are never needed.
MOST_ROUNDS = 64


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
        the graph is not connected. `side`, shape (n,), bool, marks the vertices of the side without vertex 0. One
        of the cheapest cuts; deterministic.

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
    simple = _merge_float_edges(graph) if is_float else _merge_integer_edges(graph)
    is_doubled = simple.is_symmetric and simple.has_symmetric_values
    symmetric = simple if is_doubled else simple.symmetrized(semirings.plus)
    is_on_side = _cheapest_side_of_floats(symmetric) if is_float else _cheapest_side(symmetric)
    is_on_side = is_on_side ^ is_on_side[0]
    src, dst = graph.edges()
    is_cut = ~is_on_side[src] & is_on_side[dst] if is_doubled else is_on_side[src] != is_on_side[dst]
    if graph.values is None:
        return GlobalMinimumCut(int(is_cut.sum()), is_on_side)
    if graph.values.dtype.kind != "f":
        return GlobalMinimumCut(exact_total(graph.values[is_cut]), is_on_side)
    try:
        return GlobalMinimumCut(math.fsum(graph.values[is_cut].tolist()), is_on_side)
    except OverflowError:
        raise ValueError("the cut weighs more than 1.8e308; expected smaller weights: divide them") from None


def _merge_integer_edges(graph: Graph) -> Graph:
    """Return the graph with int64 weights, parallel edges added up, and without self loops and edges of weight 0."""
    values = np.ones(graph.m, np.int64) if graph.values is None else np.asarray(graph.values)
    if (total_weight := exact_total(values)) >= 2**BITS:
        raise ValueError(f"the weights sum to {float(total_weight):.3g}; expected less than 2**{BITS}, or floats")
    weights = values.astype(np.int64)
    return graph.with_values(weights).select(weights > 0).contract(np.arange(graph.n), semirings.plus, loops=False)


def _merge_float_edges(graph: Graph) -> Graph:
    """Return the graph with float64 weights, parallel edges added up, and without self loops and edges of weight 0.

    If the sum of all weights might overflow, they are divided by a power of two. Parallel edges are added up from the
    smallest on, so that equal edges have equal sums in both directions.
    """
    src, dst = graph.edges()
    values = np.asarray(graph.values).astype(np.float64)
    excess = int(np.frexp(values.max(initial=0))[1]) + graph.m.bit_length() + 1 - 1023
    values = np.ldexp(values, -max(excess, 0))
    edges = np.flatnonzero((values > 0) & (src != dst))
    keys, values = src[edges].astype(np.int64) * graph.n + dst[edges], values[edges]
    order = np.argsort(keys)
    keys, values = keys[order], values[order]
    is_first = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    pair_numbers = np.cumsum(is_first) - 1
    parallel = np.flatnonzero(np.bincount(pair_numbers)[pair_numbers] > 1)
    values[parallel] = values[parallel][np.lexsort((values[parallel], pair_numbers[parallel]))]
    pairs = keys[is_first]
    return Graph.from_edges(pairs // graph.n, pairs % graph.n, np.bincount(pair_numbers, values, len(pairs)), n=graph.n)


def _cheapest_side_of_floats(graph: Graph) -> np.ndarray:
    """Return a mask of one side of the cheapest cut of a simple graph with symmetric float64 weights.

    Weights are rounded up to integer multiples of a unit, such that they sum to at most 2**61 units over both
    directions. If the unit is not small compared with the weight of the cut that is found, larger weights are lowered
    to the weight of this cut, which changes no cheaper cut, and the search is repeated with a smaller unit.
    """
    values, (src, dst) = np.asarray(graph.values), graph.edges()
    limit, best_side = float(values.max(initial=0)), np.arange(graph.n) == 0
    for round_number in range(MOST_ROUNDS):
        scale = BITS + 1 - graph.m.bit_length() - int(np.frexp(limit)[1])
        units = np.maximum(np.ceil(np.ldexp(np.minimum(values, limit), scale)), 1).astype(np.int64)
        is_on_side = _cheapest_side(graph.with_values(units))
        weight = float(values[is_on_side[src] & ~is_on_side[dst]].sum())
        # Some weights were lowered, so this cut may weigh more than the best one before.
        if round_number and weight >= limit:
            break
        best_side = is_on_side
        if weight == 0 or weight >= min(limit / 2, float(np.ldexp(graph.m, 32 - scale))):
            break
        limit = weight
    return best_side


def _cheapest_side(graph: Graph) -> np.ndarray:
    """Return a mask of one side of the cheapest cut of a simple graph with symmetric int64 weights."""
    group = np.arange(graph.n)
    smallest_weight, is_on_side = np.iinfo(np.int64).max, group == 0
    while graph.n > 1:
        degrees = _weighted_degrees(graph)
        if degrees.min() < smallest_weight:
            smallest_weight, is_on_side = int(degrees.min()), group == degrees.argmin()
        order, sums = adjacency_order(graph, smallest_weight)
        cuts = np.cumsum(degrees[order] - 2 * sums[order])[:-1]
        if cuts.min() < smallest_weight:
            is_before = np.empty(graph.n, bool)
            is_before[order] = np.arange(graph.n) <= cuts.argmin()
            smallest_weight, is_on_side = int(cuts.min()), is_before[group]
        if smallest_weight == 0:
            break
        labels = np.empty(graph.n, np.int64)
        labels[order] = np.cumsum(sums[order] < smallest_weight) - 1
        is_slow = 10 * int(labels[order[-1]]) > 9 * graph.n  # the order contracts less than a tenth of the vertices
        graph, group = graph.contract(labels, semirings.plus, loops=False), labels[group]
        if graph.n > 1:
            degrees = _weighted_degrees(graph)
            if degrees.min() < smallest_weight:
                smallest_weight, is_on_side = int(degrees.min()), group == degrees.argmin()
            labels = _pairs(graph, degrees, is_slow)
            graph, group = graph.contract(labels, semirings.plus, loops=False), labels[group]
    return is_on_side


def _weighted_degrees(graph: Graph) -> np.ndarray:
    """Return the total weight of the out-edges of each vertex, which is the weight of the cut around the vertex."""
    sums = np.append(0, np.cumsum(np.asarray(graph.out_values)))
    return np.diff(sums[graph.out.indptr])


def _pairs(graph: Graph, degrees: np.ndarray, triangles: bool) -> np.ndarray:
    """Return a new vertex number for each vertex, by which pairs of vertices are contracted without losing a cheapest
    cut.

    Two vertices may be contracted if some cheapest cut does not separate them, or separates a single vertex from all
    others, because cuts around single vertices are tested elsewhere. With `triangles`, ends of edges in heavy triangles
    may be contracted as well.
    """
    src, dst = graph.out.owners(), graph.out.indices
    is_heavy = 2 * np.asarray(graph.out_values) >= np.minimum(degrees[src], degrees[dst])
    if triangles:
        is_heavy |= _in_heavy_triangles(graph, degrees)
    mates = maximal_matching(Graph.from_edges(src[is_heavy], dst[is_heavy], n=graph.n))
    representative = np.where(mates >= 0, np.minimum(np.arange(graph.n), mates), np.arange(graph.n))
    return np.asarray(np.cumsum(representative == np.arange(graph.n)) - 1)[representative]


def _in_heavy_triangles(graph: Graph, degrees: np.ndarray) -> np.ndarray:
    """Return a mask of the edges that are in a heavy triangle, so that their ends may be contracted.

    A triangle of u, v and w is heavy for the edge u -> v if the two edges at u have at least half of the total weight
    at u, and the two edges at v half of that at v. If a cut separates u from v, moving to w's side whichever of u and v
    is not on it makes the cut no heavier. Only edges whose tail has few neighbors are tested.
    """
    indptr, src, dst = (array.astype(np.int64) for array in (graph.out.indptr, graph.out.owners(), graph.out.indices))
    weights, counts, keys = np.asarray(graph.out_values), np.diff(indptr), src * graph.n + dst
    candidates = np.flatnonzero(counts[src] <= FEW)
    edges = np.repeat(candidates, counts[src[candidates]])
    firsts = np.cumsum(counts[src[candidates]]) - counts[src[candidates]]
    # For each candidate edge u -> v, all edges u -> w, which may be the second edge of a triangle.
    third_edges = np.arange(len(edges)) - np.repeat(firsts - indptr[src[candidates]], counts[src[candidates]])
    is_heavy = 2 * (weights[edges] + weights[third_edges]) >= degrees[src[edges]]
    edges, third_edges = edges[is_heavy], third_edges[is_heavy]
    order = np.argsort(keys)
    closing = dst[edges] * graph.n + dst[third_edges]
    closing_edges = order[np.minimum(np.searchsorted(keys, closing, sorter=order), len(keys) - 1)]
    is_closed = (keys[closing_edges] == closing) & (
        2 * (weights[edges] + weights[closing_edges]) >= degrees[dst[edges]]
    )
    is_in_triangle = np.zeros(len(keys), bool)
    is_in_triangle[edges[is_closed]] = True
    return is_in_triangle


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
