"""Louvain communities: each vertex moves to the community that raises modularity most, level by level.

At first every vertex is a community. One whose turn it is looks at the communities of its neighbors, and joins the
best; once few move, communities are contracted to vertices, and so on until none joins another. Taken at once by all,
two neighbors would swap communities for ever, and too many would join one that was best before they came: so each
vertex has one turn in a round of six, and which is drawn anew for each round. What communities weigh is added up
before each turn. A vertex that has looked need not look again until a neighbor moves, which then tells it.

Refined (Leiden), it is not communities that are contracted but parts of them: again every vertex is one at first, and
one that is still alone joins the best part of its community, unless the neighbor there has its turn as well. So parts
hang together; those of one community begin the next level together, and may leave each other there.

V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre: Fast unfolding of communities in large networks. Journal of
Statistical Mechanics (2008).
S. Sahu: GVE-Louvain: Fast Louvain Algorithm for Community Detection in Shared Memory Setting. arXiv:2312.04876 (2023).
V. A. Traag, L. Waltman, N. J. van Eck: From Louvain to Leiden: guaranteeing well-connected communities. Scientific
Reports 9 (2019).
S. Sahu: GVE-Leiden: Fast Leiden Algorithm for Community Detection in Shared Memory Setting. arXiv:2312.13936 (2023).
"""

from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.community.label_propagation import Smallest
from gasla.arrays import module_of
from gasla.graph.arguments import MOST_SEED, check_flags, real_number, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import in_range
from gasla.operations.multiply import mxv
from gasla.operations.primitives import number
from gasla.operations.run import run
from gasla.program.fields import ID, aggregate, edge, parameter, vertex
from gasla.program.program import VertexProgram

PARTS = 6  # turns of a round, in which each vertex has one
SETTLED = 1e-2  # a level ends when no larger share of vertices has moved in a round
TURNS = 15 * PARTS  # of a level, at most
REFINING = 3 * PARTS  # turns of a refinement


class Weigh(VertexProgram):
    """volume(c) = the degrees of those in community c. It ends when few have moved in a round."""

    community = vertex(ID, init=lambda vertex: vertex.id)
    degree = vertex(np.float64)
    moved_in = vertex(np.int64, init=-1)  # the last turn in which it did
    turn = parameter(np.int64, 0)
    enough = parameter(np.float64, 0)
    everyone = True

    def apply(self, vertex, gathered):
        return {}

    def activate(self, before, after):
        return True  # where no vertex has moved, others may

    @aggregate(semirings.plus, at=lambda self, vertex: vertex.community)
    def volume(self, before, after):
        return after.degree

    @aggregate(semirings.plus, np.int64)
    def moved(self, before, after):
        return semirings.where(after.moved_in >= self.turn - PARTS, 1, 0)

    def stop(self):
        return (self.turn > 0) & (self.turn % PARTS == 0) & (self.moved <= self.enough)


def has_turn(program: Any, vertex: Any) -> Any:
    """Whether it is a vertex's turn, as the lot of this round says."""
    drawn = semirings.cast(semirings.hash(program.seed, vertex.id, program.turn // PARTS) >> 33, np.int64)
    return drawn % PARTS == program.turn % PARTS


def gain(program: Any, vertex: Any, volume: Any, weight: Any) -> Any:
    """What being in a community adds, of this volume without the vertex, to which its edges weigh so much."""
    return weight - program.share * vertex.degree * volume


class Move(VertexProgram):
    """community(v) = the one that gains most by it, if v has its turn."""

    community = vertex(ID)
    degree = vertex(np.float64)
    volume = vertex(np.float64, missing=0)
    moved_in = vertex(np.int64)
    is_due = vertex(np.bool_, init=True)  # a neighbor has moved since it looked
    weight = edge(np.float64)
    seed = parameter(np.uint64, 0)
    turn = parameter(np.int64, 0)
    share = parameter(np.float64, 1)  # the resolution over what all edges weigh
    reduce = semirings.plus
    everyone = True

    def mask(self, vertex):
        return vertex.is_due & has_turn(self, vertex)

    def key(self, src, dst, edge):
        return semirings.where(src.id == dst.id, -1, src.community)

    def gather(self, src, dst, edge):
        return edge.weight

    def choose(self, vertex, key, total):
        own = semirings.where(key == vertex.community, vertex.degree, 0.0)
        return gain(self, vertex, self.at(key).volume - own, total)

    def apply(self, vertex, gathered):
        alone = gain(self, vertex, self.at(vertex.community).volume - vertex.degree, 0.0)
        moves = (gathered.key >= 0) & (gathered.key != vertex.community) & (gathered.score > alone)
        return {
            "community": semirings.where(moves, gathered.key, vertex.community),
            "moved_in": semirings.where(moves, self.turn, vertex.moved_in),
            "is_due": False,
        }


class Tell(VertexProgram):
    """is_due(v) holds where a neighbor has just moved."""

    is_due = vertex(np.bool_)
    moved_in = vertex(np.int64)
    turn = parameter(np.int64, 0)
    reduce = semirings.max
    sources = "active"

    def start(self, vertex):
        return vertex.moved_in == self.turn

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"is_due": vertex.is_due | gathered}


class WeighParts(VertexProgram):
    """volume(p) = the degrees of those in part p, and members(p) = how many they are."""

    part = vertex(ID, init=lambda vertex: vertex.id)
    degree = vertex(np.float64)
    everyone = True

    def apply(self, vertex, gathered):
        return {}

    def activate(self, before, after):
        return True

    @aggregate(semirings.plus, at=lambda self, vertex: vertex.part)
    def volume(self, before, after):
        return after.degree

    @aggregate(semirings.plus, np.int64, at=lambda self, vertex: vertex.part)
    def members(self, before, after):
        return 1


class Join(VertexProgram):
    """part(v) = that of its community which gains most by it, if v is alone and has its turn."""

    community = vertex(ID)
    part = vertex(ID)
    degree = vertex(np.float64)
    volume = vertex(np.float64, missing=0)
    members = vertex(np.int64)
    weight = edge(np.float64)
    seed = parameter(np.uint64, 0)
    turn = parameter(np.int64, 0)
    share = parameter(np.float64, 1)
    reduce = semirings.plus
    everyone = True

    def may_leave(self, vertex):
        return (vertex.part == vertex.id) & (vertex.members == 1) & has_turn(self, vertex)

    def mask(self, vertex):
        return self.may_leave(vertex)

    def key(self, src, dst, edge):
        is_open = (src.id != dst.id) & (src.community == dst.community) & ~self.may_leave(src)
        return semirings.where(is_open, src.part, -1)

    def gather(self, src, dst, edge):
        return edge.weight

    def choose(self, vertex, key, total):
        return gain(self, vertex, self.at(key).volume, total)

    def apply(self, vertex, gathered):
        joins = (gathered.key >= 0) & (gathered.score > 0)
        return {"part": semirings.where(joins, gathered.key, vertex.part)}


class CommunitiesResult(NamedTuple):
    """The community of every vertex, level by level."""

    labels: np.ndarray[Any, Any]  # or CuPy's
    levels: list[Any]


def louvain_communities(
    graph: Any, *, weighted: bool = True, resolution: float = 1.0, seed: int = 0, refine: bool = False
) -> CommunitiesResult:
    """Find communities of high modularity, by Louvain's method, or Leiden's.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is an edge between i and j. Where not every edge has its other direction with the same value, the two
        directions add up, and a loop's too: communities are those of ``A + A.T``. Else a loop counts once in what its
        vertex's edges weigh.
    weighted : bool
        Whether values are weights, finite and not negative; otherwise all edges weigh 1. Stored zeros weigh nothing,
        parallel edges add up.
    resolution : float
        More gives smaller communities; 0 or more.
    seed : int
        Of the lot that says who has its turn: 0 to 2**64 - 1.
    refine : bool
        Whether communities are refined at each level, as Leiden's method does: then each of them hangs together.

    Returns
    -------
    CommunitiesResult
        A named tuple ``(labels, levels)``: for each vertex the number of its community, from 0 in the order of each
        community's smallest vertex; and the same for every level, from the smallest communities to `labels`. One of
        many divisions, the same every time for weights that are whole numbers; else sums may differ in their last bits.

    Raises
    ------
    TypeError, ValueError
        If a weight is negative, infinite or NaN; if an argument is out of range.

    See Also
    --------
    gasla.label_propagation : quicker, with no measure in view.

    Notes
    -----
    NetworkX's function of this name gives sets of vertices. Within a level, of at most 15 rounds, vertices move while
    more than one in a hundred do in a round. Unless refined, a community need not hang together.
    Modularity is never lower than that of communities of one vertex each.

    References
    ----------
    V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre: Fast unfolding of communities in large networks. Journal
    of Statistical Mechanics (2008).

    S. Sahu: GVE-Louvain: Fast Louvain Algorithm for Community Detection in Shared Memory Setting. arXiv:2312.04876
    (2023).

    V. A. Traag, L. Waltman, N. J. van Eck: From Louvain to Leiden: guaranteeing well-connected communities. Scientific
    Reports 9 (2019).

    Examples
    --------
    >>> import gasla
    >>> two_triangles = gasla.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3])
    >>> gasla.louvain_communities(two_triangles).labels
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted, refine=refine)
    seed, resolution = whole_number("seed", seed, MOST_SEED), real_number("resolution", resolution)
    graph = _undirected(graph, weighted)
    xp: Any = module_of(graph.device)
    labels = community = xp.arange(graph.n, dtype=graph.id_dtype)
    alone: float | None = None
    levels: list[Any] = []
    while True:  # ends, as each level has fewer vertices than the one before
        degree = mxv(graph, xp.ones(graph.n))
        alone = _modularity(graph, degree, resolution) if alone is None else alone
        given = {"degree": degree, "seed": seed, "share": resolution / (float(degree.sum()) or 1.0)}
        community = parts = _moved(graph, community, given)
        if refine:
            found = run([WeighParts, Join], graph, max_iterations=REFINING, community=community, **given)
            parts = _numbered(graph, found.part)
        smaller = graph.contract(parts, semirings.plus)
        if smaller.n == graph.n:
            if _modularity(graph, degree, resolution) < alone:  # as may come where several moved at once
                labels, levels = xp.arange(len(labels), dtype=labels.dtype), []
            return CommunitiesResult(labels, levels or [labels])
        labels = smaller.origin.new_vertices[labels]
        levels.append(labels)
        community = community[smaller.origin.vertices]  # where parts are communities, each its own
        graph = smaller


def _undirected(graph: Graph, weighted: bool) -> Graph:
    """The graph with both directions of every edge, and weights that sums don't round or wrap."""
    if not weighted or graph.values is None:
        graph = graph.with_values(module_of(graph.device).ones(graph.m))
    else:
        graph.notice_values()
        assert graph.values is not None
        graph, _ = in_range(graph.with_values(graph.values.astype(np.float64)))
    if graph.has_symmetric_values:
        return graph
    both = graph.symmetrized(semirings.plus)  # which takes loops once
    loops = module_of(graph.device).equal(both.out.owners(), both.out.indices)
    return both.with_values(both.values * (loops + 1.0))


def _modularity(graph: Graph, degree: Any, resolution: float) -> float:
    """That of communities of one vertex each."""
    xp: Any = module_of(graph.device)
    total, loops = float(degree.sum()) or 1.0, 0.0
    if graph.has_self_loops:
        values: Any = graph.out_values
        loops = float(values[xp.equal(graph.out.owners(), graph.out.indices)].sum())
    return loops / total - resolution * float(((degree / total) ** 2).sum())


def _moved(graph: Graph, community: Any, given: dict[str, Any]) -> Any:
    """The community of each vertex once few move, starting from these."""
    enough = SETTLED * graph.n
    found = run([Weigh, Move, Tell], graph, max_iterations=TURNS, community=community, enough=enough, **given)
    return _numbered(graph, found.community)


def _numbered(graph: Graph, label: Any) -> Any:
    """Labels, each some vertex, as numbers from 0 in the order of the smallest that has one."""
    smallest = run(Smallest, graph, max_iterations=1, label=label).least
    number(smallest)
    return smallest
