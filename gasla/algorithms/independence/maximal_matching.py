"""Maximal matching: edges of which no two share an end, and to which no edge can be added.

Every free vertex selects the best of its edges to free neighbors. If both ends of an edge select it, they become mates.
Edges are ordered by decreasing weight, then by the smaller degree of their ends, since a vertex of small degree might
otherwise find all its neighbors taken. Then they are ordered by u ^ v, where u and v are the ids of the ends, so that
no two edges of a vertex are equal. The best remaining edge is always matched, so the matching is that of a sequential
loop over the edges from best to worst. Most graphs need few rounds, but a path of increasing weights needs n / 2. So
after `ROUNDS` rounds the remaining edges are sorted, and matched one by one.

In host memory a kernel that reads fewer adjacency lists finds the same matching (`primitives.match_heaviest`). The
exceptions are large graphs without hubs if there are no weights, where rounds are few and run on all threads.

Each edge is at most as heavy as a matched edge at one of its ends, so the matching has at least half the weight of the
heaviest.
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import module_of, moved
from gasla.graph.arguments import check_flags, check_weights
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import sum_type, takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.operations.primitives import fits_one_thread, match_heaviest
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, edge, option, vertex
from gasla.rows import Row, Task, matching

DEGREE_LIMIT = 255  # degrees above 255 are not distinguished, so that a degree fits uint8
# number of low bits of an edge's rank that hold u ^ v, by which one end finds the other; higher bits hold a degree
XOR_BITS = 48
NO_EDGE = 2**63 - 1  # rank, instead of that of an edge, at a vertex that has no edge to a free neighbor
# On the CPU, `match_heaviest` is called for graphs of any size that have weights or a degree above FLAT. For all other
# graphs it is called only up to ONE_THREAD vertices and edges, because it matches them on one thread. Larger ones are
# matched by a vertex program on all threads.
FLAT, ONE_THREAD = 16, 1 << 18
ROUNDS = 64  # after this many rounds the remaining edges are sorted and matched on the host


def _limited_degree(vertex):
    """Return the degree of a vertex, or `DEGREE_LIMIT` if it is larger, as uint8."""
    edges = vertex.in_degree + vertex.out_degree
    return semirings.cast(semirings.minimum(edges, DEGREE_LIMIT), np.uint8)


class Free(VertexProgram):
    """degree(v) = the degree of v, until v is matched or has no free neighbor left, and then 0.

    A vertex is free if it is not matched yet.
    """

    degree = vertex(np.uint8, init=_limited_degree)
    best = vertex(np.int64, missing=NO_EDGE)
    everyone = True

    def mask(self, vertex):
        return vertex.degree != 0

    def activate(self, before, after):
        return after.degree != 0


class Choose(Free):
    """best(v) = the rank of the best edge between v and a free neighbor, or NO_EDGE if v has no free neighbor.

    A neighbor is free if it is not matched yet. The rank of an edge between u and v has the smaller degree of both in
    the high bits, and u ^ v in the low bits. The smallest rank is best. With weights, only the heaviest edges of a
    vertex are compared by rank.
    """

    weights = option(None)  # dtype of the weights; None if unweighted
    # With weights, argmin compares pairs of a weight and a rank. Weights are negated or complemented, so that the
    # heaviest is the smallest.
    reduce = option(semirings.min)
    direction = option("in")
    weight = edge(weights, when=weights)

    def gather(self, src, dst, edge):
        degree = semirings.cast(semirings.minimum(src.degree, dst.degree), np.int64)
        is_free = (src.degree != 0) & (src.id != dst.id)
        offered = semirings.where(is_free, degree << XOR_BITS | (src.id ^ dst.id), semirings.cast(NO_EDGE, np.int64))
        if not self.weights:
            return offered
        weight_dtype = self.weights
        reversed_order, largest = (
            (-edge.weight, np.inf) if weight_dtype.kind == "f" else (~edge.weight, np.iinfo(weight_dtype).max)
        )
        return semirings.where(offered == NO_EDGE, semirings.cast(largest, weight_dtype), reversed_order), offered

    def apply(self, vertex, gathered):
        best = gathered[1] if self.weights else gathered
        is_last = best == NO_EDGE  # no neighbor of the vertex is free
        return {"best": best, "degree": semirings.where(is_last, semirings.cast(0, np.uint8), vertex.degree)}


class Agree(Free):
    """mate(v) = the other end of the edge that v has selected as its best, if the other end has selected the same edge.

    The run ends after at most n / 2 rounds, since the best remaining edge is selected by both of its ends.
    """

    mate = vertex(ID, init=-1)

    def apply(self, vertex, gathered):
        other = vertex.id ^ semirings.cast(vertex.best & (2**XOR_BITS - 1), vertex.id.dtype)
        has_mate = self.at(other).best == vertex.best
        degree = semirings.where(has_mate, semirings.cast(0, np.uint8), vertex.degree)
        return {"mate": semirings.where(has_mate, other, -1), "degree": degree}


@takes_weight
@on_one_device()
def maximal_matching(graph: Any, *, weighted: bool = False) -> np.ndarray:
    """Find a maximal matching: edges of which no two share an end, and to which no edge can be added.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is an edge between i and j, read as undirected. Self loops are ignored; of parallel edges and of both
        directions of an edge, the heaviest counts.
    weighted : bool
        Whether to prefer heavier edges by value. Otherwise the matching aims for many edges.

    Returns
    -------
    (n,) array of ids
        The mate of each vertex, -1 if unmatched: `mate[mate[v]] == v`. One of many maximal matchings, not the largest;
        deterministic, the same on either device. It has at least half as many edges as the largest; with
        `weighted=True` and no negative weights, at least half the weight of the heaviest.

    Raises
    ------
    ValueError
        If a weight is NaN or -inf.

    Notes
    -----
    Stored zeros are edges, of weight 0. Edges of negative weight are matched last. On a GPU and over ranks, needs 9
    bytes per vertex besides the result. After 64 rounds, as for a path of increasing weights, the remaining edges are
    sorted and matched one by one on the CPU, which takes about 100 bytes and a microsecond per remaining edge. In host
    memory there are rounds only without weights, in large graphs without hubs, and they take up to 30 bytes per vertex.
    Otherwise weights take 14 to 26 bytes per vertex, at most 8 per edge, and an undirected copy of a directed graph;
    without them, one thread takes 5 to 9 bytes per vertex, and up to 16 bytes per edge if all vertices have nearly the
    same degree.

    References
    ----------
    R. Preis: Linear Time 1/2-Approximation Algorithm for Maximum Weighted Matching in General Graphs. STACS 1999.

    F. Manne, M. Halappanavar: New Effective Multithreaded Matching Algorithms. IPDPS 2014.

    F. Manne, R. H. Bisseling: A Parallel Approximation Algorithm for the Weighted Maximum Matching Problem. PPAM 2007.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> path = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([1, 5, 1], np.float32))
    >>> gasla.maximal_matching(path)
    array([1, 0, 3, 2], dtype=int32)
    >>> gasla.maximal_matching(path, weighted=True)
    array([-1,  2,  1, -1], dtype=int32)
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    weighted = weighted and graph.value_type is not None
    is_flat = not weighted and max(graph.max_out_degree, graph.max_in_degree) <= FLAT
    if fits_one_thread(graph, ONE_THREAD if is_flat else None):
        return match_heaviest(graph, weighted=weighted)
    options: dict[str, Any] = {"direction": undirected(graph, weighted=weighted)}
    if weighted:
        graph.notice_values()
        check_weights(graph)
        weight_dtype = graph.value_type
        # Integer weights stay integers, so that comparisons are exact.
        options |= {
            "weights": weight_dtype if weight_dtype.kind == "f" else sum_type(weight_dtype),
            "reduce": semirings.argmin,
        }
    result = run([Choose(**options), Agree], graph, max_iterations=ROUNDS, notice=False)
    mate: np.ndarray = result.mate
    if not result.converged:
        matched_vertices, mates = _match_sequentially(graph.subgraph(result.degree != 0), result.degree, weighted)
        mate[matched_vertices] = mates
    return mate


def _match_sequentially(rest_graph: Graph, degree: Any, weighted: bool) -> tuple[Any, Any]:
    """Match the vertices that are not matched yet on the host, along edges in order from the best to the worst.

    `rest_graph` is the subgraph of these vertices, and `degree` has the degrees of all vertices in the whole graph.
    Return the vertices that were matched and their mates, as ids of the whole graph.
    """
    origin: Any = rest_graph.origin
    original_ids = moved(origin.vertices, "cpu").astype(np.int64)
    degrees = moved(degree[origin.vertices], "cpu").astype(np.int64)
    u, v = (moved(vertices, "cpu") for vertices in (rest_graph.out.owners(), rest_graph.out.indices))
    rank = np.minimum(degrees[u], degrees[v]) << XOR_BITS | (original_ids[u] ^ original_ids[v])
    weights = moved(rest_graph.out_values, "cpu") if weighted else np.zeros(len(u))
    # the heaviest edges come first, and among equal weights the smallest ranks
    order = np.lexsort((-rank, weights))[::-1]
    mate = [-1] * rest_graph.n
    for one_end, other_end in zip(u[order].tolist(), v[order].tolist()):
        if one_end != other_end and mate[one_end] < 0 and mate[other_end] < 0:
            mate[one_end], mate[other_end] = other_end, one_end
    mates = np.array(mate, np.int64)
    has_mate = np.flatnonzero(mates >= 0)
    xp: Any = module_of(rest_graph.device)
    return tuple(xp.asarray(original_ids[vertices]) for vertices in (has_mate, mates[has_mate]))


ROW = Row(
    maximal_matching,
    matching("maximal-matching"),
    Task(form="nothing"),
    Task("weighted_matching", {"weighted": True}, "maximal_matching", form="nothing"),
    method="random priorities (Blelloch, Fineman, Shun, SPAA 2012); by weight Suitor (Manne, Halappanavar, 2014)",
    longer="Rounds of proposals: each free vertex looks at all its edges in every round.",
)
