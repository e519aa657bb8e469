"""Louvain communities: vertices move to the community that raises modularity most, level by level.

At first every vertex is a community. A vertex whose turn it is moves to the best community among its neighbors'; when
few vertices still move, communities are contracted to vertices, and this repeats until no vertex moves.

Levels of at most `ONE_THREAD` vertices and edges, on the CPU, run without barriers: vertices move one after another
(`primitives.louvain_levels`). Larger ones, and those on a GPU, are vertex programs. If all vertices moved at once, two
neighbors could swap communities forever, and too many could join one community. So a round has six turns, and each
vertex moves in one of them, drawn at random for each round. The volumes of communities are summed before each turn. A
vertex that was evaluated is evaluated again only after a neighbor has moved.

With refinement (Leiden), parts of communities are contracted instead. Every vertex starts as a part; a vertex that is
still alone joins the best part within its community, unless that neighbor has its turn as well. So parts are connected.
The parts of one community start the next level as one community, and may separate there.

Over ranks the first level is the same, with turns; the contracted graph is one of the calling process. Of GPUs in one
process the first does it all, if it has room for the graph.

S. Sahu: GVE-Leiden: Fast Leiden Algorithm for Community Detection in Shared Memory Setting. arXiv:2312.13936 (2023).
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.community.label_propagation import SmallestMembers
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import module_of, moved
from gasla.graph.arguments import MOST_SEED, check_flags, real_number, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import check_sums, in_range
from gasla.operations.multiply import mxv, vxm
from gasla.operations.primitives import fits_one_thread, louvain_levels, number
from gasla.operations.run import run
from gasla.program.fields import ID, aggregate, edge, parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram

TURNS_PER_ROUND = 6  # each vertex has one of them
FEW = 1e-2  # a level ends when at most this fraction of its vertices has moved in a round
MOST_TURNS = 15 * TURNS_PER_ROUND  # per level
REFINEMENT_TURNS = 3 * TURNS_PER_ROUND
ONE_THREAD = 1 << 22  # up to this many vertices and edges, a level runs on one thread


class Weigh(VertexProgram):
    """volume(c) = sum of the degrees in community c. Ends when few vertices have moved in a round."""

    community = vertex(ID, init=lambda vertex: vertex.id)
    degree = vertex(np.float64)
    moved_in = vertex(np.int64, init=-1)  # the last turn in which the vertex moved
    turn = parameter(np.int64, 0)
    enough = parameter(np.float64, 0)
    everyone = True

    def apply(self, vertex, gathered):
        return {}

    def activate(self, before, after):
        return True  # a turn without a move does not end the run

    @aggregate(semirings.plus, at=lambda self, vertex: vertex.community)
    def volume(self, before, after):
        return after.degree

    @aggregate(semirings.plus, np.int64)
    def moved(self, before, after):
        return semirings.where(after.moved_in >= self.turn - TURNS_PER_ROUND, 1, 0)

    def stop(self):
        return (self.turn > 0) & (self.turn % TURNS_PER_ROUND == 0) & (self.moved <= self.enough)


def has_turn(program: Any, vertex: Any) -> Any:
    """Whether it is a vertex's turn, drawn at random for each round."""
    drawn = semirings.cast(semirings.hash(program.seed, vertex.id, program.turn // TURNS_PER_ROUND) >> 33, np.int64)
    return drawn % TURNS_PER_ROUND == program.turn % TURNS_PER_ROUND


def gain(program: Any, vertex: Any, volume: Any, weight: Any) -> Any:
    """The gain of joining a community of this volume (v excluded), to which v's edges have this total weight."""
    return weight - program.share * vertex.degree * volume


class Move(VertexProgram):
    """community(v) = the community of the largest gain, if v has its turn."""

    direction = option("in")
    community = vertex(ID)
    degree = vertex(np.float64)
    volume = vertex(np.float64, missing=0)
    moved_in = vertex(np.int64)
    is_due = vertex(np.bool_, init=True)  # whether a neighbor has moved since v was last evaluated
    weight = edge(np.float64)
    seed = parameter(np.uint64, 0)
    turn = parameter(np.int64, 0)
    share = parameter(np.float64, 1)  # resolution / (total weight of all edges)
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


class NotifyNeighbors(VertexProgram):
    """Set is_due(v) if a neighbor has just moved."""

    direction = option("in")
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


class Loops(VertexProgram):
    """inside(v) = the total weight of v's self loops."""

    inside = vertex(np.float64)
    weight = edge(np.float64)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return semirings.where(src.id == dst.id, edge.weight, 0.0)

    def apply(self, vertex, gathered):
        return {"inside": gathered}


class WeighParts(VertexProgram):
    """volume(p) = sum of the degrees in part p; members(p) = number of its vertices."""

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
    """part(v) = the part of the largest gain within v's community, if v is alone in its part and has its turn."""

    direction = option("in")
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
    """The community of every vertex, finally and after each level."""

    labels: np.ndarray[Any, Any]  # or CuPy's
    levels: list[Any]


def louvain_communities(
    graph: Any, *, weighted: bool = True, resolution: float = 1.0, seed: int = 0, refine: bool = False
) -> CommunitiesResult:
    """Find communities of high modularity by Louvain's method, or Leiden's.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is an edge between i and j, read as undirected. If `A` is not symmetric, communities are those of
        ``A + A.T``, in which a self loop counts twice; otherwise it counts once in the degree of its vertex.
    weighted : bool
        Whether edges count by their values, which must be finite and not negative. Otherwise each counts 1.
    resolution : float
        Larger values give smaller communities; 0 or more.
    seed : int
        Seed of the random turns: 0 to 2**64 - 1.
    refine : bool
        Whether to refine communities at each level, as Leiden's method does: then each community is connected.

    Returns
    -------
    CommunitiesResult
        A named tuple ``(labels, levels)``. `labels`, shape (n,), is the community of each vertex, numbered from 0 in
        the order of their smallest vertices. `levels` lists the labels after each level, from the finest to `labels`.
        One of many possible results; deterministic for integer weights, otherwise up to the rounding of sums.

    Raises
    ------
    TypeError, ValueError
        If a weight is negative, infinite or NaN, or an argument is out of range.

    See Also
    --------
    gasla.label_propagation : faster, but optimizes no measure.

    Notes
    -----
    Parallel edges add up; stored zeros have weight 0 if `weighted`. NetworkX's function of this name returns sets of
    vertices. In a graph on the CPU with at most 2**22 vertices and edges, or a level of that size, vertices move one
    after another, in two orders, of which the better result is taken. Otherwise a level ends after 15 rounds, or when
    at most 1% of its vertices have moved in a round. Without refinement a community may be disconnected. The modularity
    is never lower than that of single-vertex communities.

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
    if not graph.is_whole:
        _check_over_ranks(graph, weighted)
    find = partial(_find_levels, weighted=weighted, resolution=resolution, seed=seed, refine=refine)
    found: CommunitiesResult = graph.on_one_device(find) or find(graph)
    if graph.is_whole:
        return found
    return CommunitiesResult(moved(found.labels, "cpu"), [moved(labels, "cpu") for labels in found.levels])


def _find_levels(graph: Graph, *, weighted: bool, resolution: float, seed: int, refine: bool) -> CommunitiesResult:
    """See `louvain_communities`."""
    graph = _undirected(graph, weighted)
    xp: Any = module_of(graph.device)
    labels = community = xp.arange(graph.n, dtype=graph.id_dtype)
    if fits_one_thread(graph, ONE_THREAD):  # no move lowers the modularity
        levels = louvain_levels(graph, resolution=resolution, seed=seed, refine=refine)
        return CommunitiesResult(levels[-1] if levels else labels, levels or [labels])
    singletons: float | None = None
    levels = []
    while True:  # ends, since each level has fewer vertices than the one before
        if levels and fits_one_thread(graph, ONE_THREAD):
            further = louvain_levels(graph, community, resolution=resolution, seed=seed, refine=refine)
            if further:
                levels += [each[labels] for each in further]
                labels, graph = levels[-1], graph.contract(further[-1], semirings.plus)
                community = xp.arange(graph.n, dtype=graph.id_dtype)
        degree = _degrees(graph)
        singletons = _modularity(graph, degree, resolution) if singletons is None else singletons
        given = {"degree": degree, "seed": seed, "share": resolution / (float(degree.sum()) or 1.0)}
        community = parts = _moved(graph, community, given)
        if refine:
            programs = [WeighParts(), Join(direction=_direction(graph))]
            found = run(programs, graph, max_iterations=REFINEMENT_TURNS, community=community, **given)
            parts = _numbered(graph, found.part)
        smaller: Any = graph.contract(parts, semirings.plus)
        if smaller.n == graph.n:
            if _modularity(graph, degree, resolution) < singletons:  # possible, since several vertices move at once
                labels, levels = xp.arange(len(labels), dtype=labels.dtype), []
            return CommunitiesResult(labels, levels or [labels])
        labels = smaller.origin.new_vertices[labels]
        levels.append(labels)
        community = community[smaller.origin.vertices]  # without refinement, each vertex is its own community
        graph = smaller if graph.is_whole else _undirected(smaller, True)


def _undirected(graph: Graph, weighted: bool) -> Graph:
    """The graph with both directions of every edge, and with weights in float64 whose sums do not overflow.

    Over ranks it is the given one, whose edges programs follow in both directions if necessary.
    """
    if not graph.is_whole:
        return _over_ranks(graph)
    if not weighted or graph.values is None:
        graph = graph.with_values(module_of(graph.device).ones(graph.m))
    else:
        graph.notice_values()
        assert graph.values is not None
        graph, _ = in_range(graph.with_values(graph.values.astype(np.float64)))
    if graph.has_symmetric_values:
        return graph
    both = graph.symmetrized(semirings.plus)  # adds the two directions of all edges but self loops
    loops = module_of(graph.device).equal(both.out.owners(), both.out.indices)
    return both.with_values(both.values * (loops + 1.0))


def _check_over_ranks(graph: Graph, weighted: bool) -> None:
    """Raise TypeError for what programs over ranks can't do, also where one GPU could do it alone."""
    if not weighted and graph.value_type is not None:
        raise TypeError(
            "louvain_communities: weighted=False with a distributed graph that has values, which programs would read; "
            "expected a graph without values"
        )


def _over_ranks(graph: Graph) -> Graph:
    """A graph over ranks, with weights whose sums do not overflow."""
    if graph.value_type is not None:
        graph.notice_values()
        graph, _ = in_range(graph)
        check_sums("louvain_communities", graph)
    return graph


def _direction(graph: Graph) -> Any:
    """The direction in which programs follow the edges of the graph that `_undirected` has returned."""
    return "in" if graph.is_whole else undirected(graph, weighted=True)


def _degrees(graph: Graph) -> Any:
    """The total weight of each vertex's edges; a self loop of a graph that is not symmetric counts twice."""
    ones = module_of(graph.device).ones(graph.n)
    if _direction(graph) == "in":
        return mxv(graph, ones)
    return graph.placed(mxv(graph, ones) + vxm(ones, graph))


def _modularity(graph: Graph, degree: Any, resolution: float) -> float:
    """The modularity of single-vertex communities."""
    total, loops = float(degree.sum()) or 1.0, 0.0
    if graph.has_self_loops:
        loops = float(run(Loops, graph, max_iterations=1).inside.sum())
        loops *= 1 if _direction(graph) == "in" else 2
    return loops / total - resolution * float(((degree / total) ** 2).sum())


def _moved(graph: Graph, community: Any, given: dict[str, Any]) -> Any:
    """Move vertices, starting from the given communities, until few still move."""
    form: Any = {"direction": _direction(graph)}
    phases = [Weigh(), Move(**form), NotifyNeighbors(**form)]
    limits: dict[str, Any] = {"max_iterations": MOST_TURNS, "enough": FEW * graph.n}
    found = run(phases, graph, community=community, **limits, **given)
    return _numbered(graph, found.community)


def _numbered(graph: Graph, label: Any) -> Any:
    """Renumber labels from 0 in the order of the smallest vertex of each."""
    smallest = module_of(graph.device).asarray(run(SmallestMembers, graph, max_iterations=1, label=label).least)
    number(smallest)
    return smallest
