"""Louvain communities: everyone moves to the neighbouring community that raises modularity most, level by level.

At first every vertex is a community. Whoever has its turn looks at the communities of its neighbours, and joins the
best; once few move, communities are contracted to vertices, and so on until none joins another. Taken at once by all,
two neighbours would swap communities for ever: so in each turn half of the vertices may move, the other half in the
next, and which half is drawn anew for each pair of turns. What communities weigh is added up before each turn.

V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre: Fast unfolding of communities in large networks. Journal of
Statistical Mechanics (2008).
S. Sahu: GVE-Louvain: Fast Louvain Algorithm for Community Detection in Shared Memory Setting. arXiv:2312.04876 (2023).
"""

from typing import Any

import numpy as np

import semirings
from gasla.arrays import module_of
from gasla.graph.arguments import check_weights, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.operations.run import run
from gasla.program.fields import ID, aggregate, edge, parameter, vertex
from gasla.program.program import VertexProgram

SETTLED = 1e-3  # a level ends when no larger share of vertices moves in a turn
TURNS = 60  # of a level, at most


class Degrees(VertexProgram):
    """degree(v) = what its edges weigh."""

    degree = vertex(np.float64)
    weight = edge(np.float64)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return edge.weight

    def apply(self, vertex, gathered):
        return {"degree": gathered}


class Weigh(VertexProgram):
    """volume(c) = the degrees of those in community c."""

    community = vertex(ID, init=lambda vertex: vertex.id)
    degree = vertex(np.float64)
    everyone = True

    def apply(self, vertex, gathered):
        return {}

    @aggregate(semirings.plus, at=lambda self, vertex: vertex.community)
    def volume(self, before, after):
        return after.degree


class Move(VertexProgram):
    """community(v) = the one that gains most by it, if v has its turn."""

    community = vertex(ID)
    degree = vertex(np.float64)
    volume = vertex(np.float64, missing=0)
    weight = edge(np.float64)
    seed = parameter(np.uint64, 0)
    turn = parameter(np.int64, 0)
    share = parameter(np.float64, 1)  # the resolution over what all edges weigh
    enough = parameter(np.float64, 0)
    reduce = semirings.plus
    everyone = True

    def mask(self, vertex):
        drawn = semirings.cast(semirings.hash(self.seed, vertex.id, self.turn // 2) & 1, np.int64)
        return drawn == self.turn % 2

    def key(self, src, dst, edge):
        return semirings.where(src.id == dst.id, -1, src.community)

    def gather(self, src, dst, edge):
        return edge.weight

    def gain(self, vertex, volume, weight):
        """What being in a community adds, which weighs so much without the vertex."""
        return weight - self.share * vertex.degree * volume

    def choose(self, vertex, key, total):
        own = semirings.where(key == vertex.community, vertex.degree, 0.0)
        return self.gain(vertex, self.at(key).volume - own, total)

    def apply(self, vertex, gathered):
        alone = self.gain(vertex, self.at(vertex.community).volume - vertex.degree, 0.0)
        moves = (gathered.key >= 0) & (gathered.score > alone)
        return {"community": semirings.where(moves, gathered.key, vertex.community)}

    @aggregate(semirings.plus, np.int64)
    def moved(self, before, after):
        return semirings.where(before.community != after.community, 1, 0)

    def stop(self):
        return self.moved <= self.enough


def moved(graph: Graph, resolution: float, seed: int) -> Any:
    degree = run(Degrees, graph, max_iterations=1).degree
    total = float(degree.sum())
    if total == 0:
        return None
    found = run(
        [Weigh, Move], graph, max_iterations=TURNS, degree=degree, seed=seed, share=resolution / total,
        enough=SETTLED * graph.n,
    )
    return found.community


def louvain(graph: Any, *, resolution: float = 1.0, seed: int = 0) -> Any:
    graph = as_graph(graph)
    xp: Any = module_of(graph.device)
    labels = xp.arange(graph.n)
    while True:
        community = moved(graph, resolution, seed)
        if community is None:
            return labels
        smaller = graph.contract(community, semirings.plus)
        labels = smaller.origin.new_vertices[labels]
        if smaller.n == graph.n:
            return labels
        graph = smaller
