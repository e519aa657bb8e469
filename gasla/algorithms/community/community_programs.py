"""Vertex programs that find communities: vertices move to the community of the largest gain, level by level.

At first every vertex is a community. When a vertex has its turn, it moves to the best community among those of its
neighbors. When few vertices still move, communities are contracted to vertices, and this repeats until no vertex moves.

If all vertices moved at once, two neighbors could swap communities forever, and too many could join one community. So a
round has six turns, and each vertex moves in one of them, drawn at random for each round. The volumes of communities
are summed before each turn. A vertex that was evaluated is evaluated again only after a neighbor has moved.

With refinement (Leiden), parts of communities are contracted instead. Every vertex starts as a part. A vertex that is
still alone in its part joins the best part among those of its neighbors in the same community. Neighbors that may leave
their part in the same turn are excluded, so parts are connected. The parts of one community start the next level as one
community, and may separate in that level.

In a graph distributed over ranks, the ranks compute the first level in the same way, with turns. The contracted graph
is then in the calling process. If the ranks are GPUs of one process, the first GPU computes all levels, if its memory
holds the graph.

S. Sahu: GVE-Leiden: Fast Leiden Algorithm for Community Detection in Shared Memory Setting. arXiv:2312.13936 (2023).
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.community.label_propagation import SmallestMembers
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import module_of
from gasla.graph.graph import Graph
from gasla.graph.weights import check_sums, in_range
from gasla.operations.multiply import mxv, vxm
from gasla.operations.primitives import fits_one_thread, number
from gasla.operations.run import converts_weights, run
from gasla.program import ID, VertexProgram, aggregate, edge, option, parameter, vertex

TURNS_PER_ROUND = 6  # number of turns in a round; each vertex may move in one of them, drawn at random
FEW_MOVES = 1e-2  # a level ends when at most this fraction of its vertices has moved in a round
MOST_TURNS = 15 * TURNS_PER_ROUND  # largest number of turns per level
REFINEMENT_TURNS = 3 * TURNS_PER_ROUND
# Dtypes of weights that need no conversion: they take fewer bytes than float64, and float64 holds their values exactly.
SHORT_WEIGHTS = tuple(np.dtype(kind) for kind in ("f4", "i1", "i2", "i4", "u1", "u2", "u4"))


class Weigh(VertexProgram):
    """volume(c) = sum of the degrees of the vertices in community c, by which the program `Move` computes gains.

    It runs before each turn of `Move` (an iteration in which a random sixth of the vertices may move), and ends the run
    when few vertices have moved in the last `TURNS_PER_ROUND` turns.
    """

    community = vertex(ID, init=lambda vertex: vertex.id)
    degree = vertex(np.float64)
    moved_in = vertex(np.int64, init=-1)  # the last turn in which the vertex moved
    turn = parameter(np.int64, 0)
    enough = parameter(np.float64, 0)
    everyone = True

    def apply(self, vertex, gathered):
        return {}

    def activate(self, before, after):
        return True  # all vertices stay active, so that a turn in which no vertex moves does not end the run

    @aggregate(semirings.plus, at=lambda self, vertex: vertex.community)
    def volume(self, before, after):
        return after.degree

    @aggregate(semirings.plus, np.int64)
    def moved(self, before, after):
        return semirings.where(after.moved_in >= self.turn - TURNS_PER_ROUND, 1, 0)

    def stop(self):
        return (self.turn > 0) & (self.turn % TURNS_PER_ROUND == 0) & (self.moved <= self.enough)


def has_turn(program: Any, vertex: Any) -> Any:
    """Return whether a vertex may move to another community in the current turn of the vertex program.

    A vertex may move in one of each `TURNS_PER_ROUND` turns, which is drawn at random.
    """
    random_number = semirings.cast(
        semirings.hash(program.seed, vertex.id, program.turn // TURNS_PER_ROUND) >> 33, np.int64
    )
    return random_number % TURNS_PER_ROUND == program.turn % TURNS_PER_ROUND


def gain(program: Any, vertex: Any, volume: Any, weight: Any) -> Any:
    """Return how much the quality of a partition into communities rises if a vertex that is in no community joins a
    given one.

    `volume` is the sum of the degrees in the community, without the vertex. `weight` is the total weight of the
    vertex's edges to the community.
    """
    return weight - program.share * vertex.degree * volume


class Move(VertexProgram):
    """community(v) = the neighboring community that v gains most by joining, if v may move in this turn of the program.

    If no move raises the quality, v stays in its community.
    """

    direction = option("in")
    weights = option(np.float64)  # dtype of the weights; None if each edge weighs 1
    community = vertex(ID)
    degree = vertex(np.float64)
    volume = vertex(np.float64, missing=0)
    moved_in = vertex(np.int64)
    is_due = vertex(np.bool_, init=True)  # whether a neighbor has moved since v was last evaluated
    weight = edge(weights, when=weights)
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
        return semirings.cast(edge.weight, np.float64) if self.weights else 1.0

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
    """is_due(v) = true if a neighbor of v has moved to another community in this turn, so that v is evaluated again."""

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


class WeighParts(VertexProgram):
    """volume(p) = sum of the degrees of the vertices in part p, and members(p) = the number of these vertices.

    A part is a connected set of vertices within a community. The program `Join` reads both numbers.
    """

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
    """part(v) = the part of the largest gain within v's community, if v is alone in its part and may move in this turn.

    A part is a connected set of vertices within a community. Neighbors that could leave their part in the same turn are
    ignored, so that parts stay connected.
    """

    direction = option("in")
    weights = option(np.float64)
    community = vertex(ID)
    part = vertex(ID)
    degree = vertex(np.float64)
    volume = vertex(np.float64, missing=0)
    members = vertex(np.int64)
    weight = edge(weights, when=weights)
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
        return semirings.cast(edge.weight, np.float64) if self.weights else 1.0

    def choose(self, vertex, key, total):
        return gain(self, vertex, self.at(key).volume, total)

    def apply(self, vertex, gathered):
        is_joining = (gathered.key >= 0) & (gathered.score > 0)
        return {"part": semirings.where(is_joining, gathered.key, vertex.part)}


# --- one level of a search: prepare the graph, move vertices, refine communities, and contract them to vertices -------


def counted(graph: Graph, weighted: bool) -> tuple[Graph, int]:
    """Return the graph with weights that a search for communities can add up, and the power of two by which they were
    scaled.

    The weights become float64, but those of a distributed graph, and short ones on a GPU, keep their dtype. If every
    edge counts 1, the graph may have no weights: if it is distributed, or if it has both directions of every edge and
    a kernel of the CPU may process it.
    """
    if keeps_weights(graph) and (not weighted or graph.value_type is None):
        return graph.with_values(None), 0
    if not weighted or graph.value_type is None:
        is_plain = not graph.is_whole or (fits_one_thread(graph) and graph.is_symmetric)
        return graph.with_values(None if is_plain else module_of(graph.device).ones(graph.m)), 0
    graph.notice_values()
    if not graph.is_whole:
        graph, exponent = in_range(graph)
        check_sums("louvain_communities", graph)
        return graph, exponent
    assert graph.values is not None
    is_short = keeps_weights(graph) and graph.values.dtype in SHORT_WEIGHTS
    return in_range(graph.with_values(graph.values if is_short else graph.values.astype(np.float64)))


def keeps_weights(graph: Graph) -> bool:
    """Return whether kernels convert weights to float64 as they read them, so that no copy in float64 is needed."""
    return graph.is_whole and not graph.is_streamed and converts_weights(graph)


def _weight_type(graph: Graph) -> Any:
    return graph.value_type if keeps_weights(graph) else np.float64


def both_ways(graph: Graph) -> Graph:
    """Return the graph with both directions of every edge: ``A + A.T``, unless values are symmetric.

    A distributed graph is returned unchanged, and programs follow its edges in both directions if necessary.
    """
    if not graph.is_whole or graph.has_symmetric_values:
        return graph
    if keeps_weights(graph):
        xp: Any = module_of(graph.device)
        edge_values = graph.valued.each
        graph = graph.with_values(
            xp.ones(graph.m) if edge_values is None else edge_values.astype(np.float64, copy=False)
        )
    # Add up the weights of the two directions of every edge. Self loops are not doubled here, but by the next lines.
    result = graph.symmetrized(semirings.plus)
    loops = module_of(graph.device).equal(result.out.owners(), result.out.indices)
    return result.with_values(result.values * (loops + 1.0))


def direction(graph: Graph) -> Any:
    """Return the direction in which vertex programs follow the edges of a graph from `both_ways`: "in" or "all"."""
    return "in" if graph.is_whole else undirected(graph, weighted=True)


def degrees(graph: Graph) -> Any:
    """Return the total weight of each vertex's edges, in a search for communities.

    A self loop of a graph that is not symmetric counts twice.
    """
    ones = module_of(graph.device).ones(graph.n)
    if direction(graph) == "in":
        return mxv(graph, ones)
    return graph.placed(mxv(graph, ones) + vxm(ones, graph))


def moved(graph: Graph, community: Any, given: dict[str, Any]) -> Any:
    """Move vertices between communities until few still move, and return the community of each vertex, numbered from 0.

    `community` has the communities to start from. `given` has the other fields and parameters of the vertex programs
    by name.
    """
    program_options: Any = {"direction": direction(graph)}
    phases = [Weigh(), Move(**program_options, weights=_weight_type(graph)), NotifyNeighbors(**program_options)]
    limits: dict[str, Any] = {"max_iterations": MOST_TURNS, "enough": FEW_MOVES * graph.n}
    result = run(phases, graph, community=community, **limits, **given)
    return _renumber(graph, result.community)


def parts(graph: Graph, community: Any, given: dict[str, Any]) -> Any:
    """Split communities into connected parts, and return the part of each vertex, numbered from 0.

    Vertices that are alone in their part join the part of a neighbor in their community. `given` has the other fields
    and parameters of the vertex programs by name.
    """
    programs = [WeighParts(), Join(direction=direction(graph), weights=_weight_type(graph))]
    result = run(programs, graph, max_iterations=REFINEMENT_TURNS, community=community, **given)
    return _renumber(graph, result.part)


def contracted(graph: Graph, groups: Any, within: Any = None) -> tuple[Graph, Any, Any]:
    """Contract groups of vertices, and return the smaller graph, the group of each vertex, and a vertex of each group.

    `groups` has a label for each vertex. If `graph` is the graph of an earlier level (see `keeps_weights`), `within`
    has for each of its vertices the vertex of the current level, for which `groups` has the label.
    """
    if keeps_weights(graph):
        from gasla.graph.transform import contract_gpu  # imported here, because the module imports the GPU engine

        return contract_gpu.contracted(graph, groups, within)
    smaller: Any = graph.contract(groups, semirings.plus)
    origin = smaller.origin
    return (smaller if graph.is_whole else both_ways(counted(smaller, True)[0])), origin.new_vertices, origin.vertices


def _renumber(graph: Graph, label: Any) -> Any:
    """Return the labels of groups of vertices renumbered from 0, in the order of the smallest vertex of each group."""
    smallest = module_of(graph.device).asarray(run(SmallestMembers, graph, max_iterations=1, label=label).least)
    number(smallest)
    return smallest
