"""Minimum spanning forest: edges that hold every component together, and weigh as little as any that do.

Returned are the numbers of these edges, and what they weigh together.

Borůvka's way: every tree, at first each vertex, takes the lightest edge that leads out of it, and the trees that are
joined so are one; until no edge leads out of any. Two trees may take the same edge, and that is the only circle there
can be, as no two edges are as good: of a weight, the one whose smaller end is smaller is better, and then the one whose
larger end is.

What a vertex has found it keeps as long as the edge leads out of its tree: as edges that do only get fewer, it is still
the lightest. So only those look again whose edge has come to lie within their tree, and those that find none are done.

O. Borůvka: O jistém problému minimálním. Práce Moravské přírodovědecké společnosti 3 (1926).
S. Chung, A. Condon: Parallel Implementation of Borůvka's Minimum Spanning Tree Algorithm. IPPS 1996.
"""

from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import module_of
from gasla.graph.arguments import check_weights
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import check_total, sum_type
from gasla.operations.phases import Phase
from gasla.operations.run import run
from gasla.program.fields import ID, aggregate, edge, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram

NONE = 2**63 - 1  # no pair of ends
HALF = 32  # bits of a pair, for the larger end


class ForestResult(NamedTuple):
    """The edges of a forest, and what they weigh."""

    edges: np.ndarray[Any, Any]  # or CuPy's, as then is `total`, of no dimension
    total: Any


class Lightest(VertexProgram):
    """weight(v), other(v), number(v) = the lightest edge from v out of its tree, where it goes, and its number."""

    kind = option(np.float64)  # of weights
    root = vertex(ID, init=lambda vertex: vertex.id, missing=-1)  # of the tree
    weight = vertex(kind)
    other = vertex(ID, init=lambda vertex: vertex.id, missing=-1)
    number = vertex(np.int64, missing=-1)
    is_left = vertex(np.bool_, init=True)  # whether any may lead out
    length = edge(kind)
    reduce = semirings.argmin
    direction = "out"
    everyone = True

    def mask(self, vertex):
        return vertex.is_left & (self.at(vertex.other).root == vertex.root)

    def edge_mask(self, src, dst, edge):
        return src.root != dst.root

    def gather(self, src, dst, edge):
        return edge.length, src.id, edge.id

    def apply(self, vertex, gathered):
        weight, other, number = gathered
        return {"weight": weight, "other": other, "number": number, "is_left": other < self.n}


class Choose(VertexProgram):
    """choice(tree) = the ends of the lightest edge out of it, as one number.

    What `lightest` comes to at the start is what vertices look at; then they offer their ends, if they have it.
    """

    kind = option(np.float64)  # of weights
    root = vertex(ID, missing=-1)
    weight = vertex(kind)
    other = vertex(ID, missing=-1)
    is_left = vertex(np.bool_)
    ends = vertex(np.int64, init=NONE)
    everyone = True

    def mask(self, vertex):
        return vertex.is_left

    def apply(self, vertex, gathered):
        one, other = semirings.cast(vertex.id, np.int64), semirings.cast(vertex.other, np.int64)
        ends = semirings.minimum(one, other) << HALF | semirings.maximum(one, other)
        is_lightest = vertex.weight == self.at(vertex.root).lightest
        return {"ends": semirings.where(is_lightest, ends, semirings.cast(NONE, np.int64))}

    @aggregate(semirings.min, kind, at=lambda self, vertex: semirings.where(vertex.is_left, vertex.root, -1))
    def lightest(self, before, after):
        return after.weight

    @aggregate(semirings.min, np.int64, at=lambda self, vertex: semirings.where(vertex.ends != NONE, vertex.root, -1))
    def choice(self, before, after):
        return after.ends


class OfTrees(VertexProgram):
    """What the roots of those trees do that have chosen."""

    root = vertex(ID, missing=-1)
    choice = vertex(np.int64, missing=NONE)
    everyone = True

    def mask(self, vertex):
        return vertex.choice != NONE


class Hook(OfTrees):
    """root(tree) = the tree that its edge leads to; of two that chose the same edge, the smaller stays.

    Ends after log2(n) turns: a tree that chooses joins another, and no circle comes about, as edges are chosen by
    (weight, ends), in which no two tie that lead to different trees.
    """

    number = vertex(np.int64, missing=-1)
    taken = vertex(np.int64, init=-1)  # the edge that a root has left by

    def apply(self, vertex, gathered):
        one, other = self.at(vertex.choice >> HALF), self.at(vertex.choice & (2**HALF - 1))
        is_inside = one.root == vertex.id
        target = semirings.where(is_inside, other.root, one.root)
        stays = (self.at(target).choice == vertex.choice) & (vertex.id < target)
        return {
            "root": semirings.where(stays, vertex.id, target),
            "taken": semirings.where(stays, vertex.taken, semirings.where(is_inside, one.number, other.number)),
        }

    @aggregate(semirings.plus, np.int64)
    def joined(self, before, after):
        return semirings.cast(before.root != after.root, np.int64)

    def stop(self):
        return self.joined == 0


class Climb(OfTrees):
    """root(tree) = the root's root."""

    def apply(self, vertex, gathered):
        return {"root": self.at(vertex.root).root}


class Follow(VertexProgram):
    """The same for every vertex, whose root has found its own."""

    root = vertex(ID, missing=-1)
    everyone = True

    def apply(self, vertex, gathered):
        return {"root": self.at(vertex.root).root}


def minimum_spanning_forest(graph: Any) -> ForestResult:
    """Find edges of the least total weight that join whatever is joined by a path.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is an edge between i and j of that weight, in either direction; a stored zero is one of weight 0.
        Loops are left out, and of parallel edges, the two directions among them, all but the lightest. Without values
        all weigh 1.

    Returns
    -------
    ForestResult
        A named tuple ``(edges, total)``: the numbers of the edges, that is their places in the input, ascending, of
        int64; and the sum of their weights, in int64 for integers, uint64 for unsigned ones, else float64. There are
        as many edges as vertices less components. Of edges of a weight, those of the smaller smaller end come first,
        then those of the smaller larger end, then the first in the input: there is one right answer, on either device.

    Raises
    ------
    ValueError
        If a weight is NaN or minus infinity, the total is more than its type holds, or the graph has more than 2**31
        vertices.

    See Also
    --------
    gasla.connected_components : which vertices such a forest joins.

    Notes
    -----
    NetworkX's `minimum_spanning_edges` and SciPy's `minimum_spanning_tree` give the edges themselves; SciPy's leaves
    out those of weight 0. Takes about 50 bytes a vertex. Where not every edge has its other direction with the same
    value, rows ascending, the graph is made once more with both directions, which takes up to 80 bytes an edge. Rounds
    are at most as many as the logarithm of the number of vertices.

    References
    ----------
    O. Borůvka: O jistém problému minimálním. Práce Moravské přírodovědecké společnosti 3 (1926).

    S. Chung, A. Condon: Parallel Implementation of Borůvka's Minimum Spanning Tree Algorithm. IPPS 1996.

    Examples
    --------
    >>> import gasla
    >>> ring = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [4, 1, 2, 3])
    >>> gasla.minimum_spanning_forest(ring)
    ForestResult(edges=array([1, 2, 3]), total=np.int64(6))
    """
    graph = as_graph(graph)
    if graph.n > 2**31:
        raise ValueError(f"the graph has {graph.n} vertices; expected at most 2**31, so that two ids fit in 64 bits")
    graph.notice_values()
    check_weights(graph)
    if graph.out.edge_ids is None and graph.out.is_sorted and graph.has_mirrored_values:
        taken = _taken(graph)
        return _result(graph, module_of(graph.device).minimum(taken, graph.in_edge_ids[taken]))  # the first of the two
    return _result(graph, _taken(_both_ways(graph)) >> 1)


def _taken(graph: Graph) -> Any:
    """The edges of the forest of a graph that has all edges in both directions."""
    kind = np.dtype(np.int8) if graph.values is None else graph.values.dtype
    kind = {"b": np.dtype(np.uint8), "f": max(kind, np.dtype(np.float32))}.get(kind.kind, kind)
    phases: list[Any] = [Lightest(kind=kind), Choose(kind=kind), Hook, Phase(Climb, until="still"), Follow]
    taken = run(phases, graph, notice=False).taken
    return taken[taken >= 0]


def _result(graph: Graph, taken: Any) -> ForestResult:
    """The result, from the edges that are in the forest."""
    xp: Any = module_of(graph.device)
    is_taken = xp.zeros(graph.m, bool)
    is_taken[taken] = True
    edges = xp.flatnonzero(is_taken)
    weights = xp.ones(len(edges), np.int64) if graph.values is None else graph.values[edges]
    check_total("minimum_spanning_forest", weights)
    unsigned = weights.dtype.kind == "u"
    with np.errstate(over="ignore"):  # which is looked for
        total = weights.sum(dtype=np.uint64 if unsigned else sum_type(weights.dtype))
    if weights.dtype.kind == "f" and bool(xp.isinf(total)) and not bool(xp.isinf(weights).any()):
        raise ValueError("the weights of the forest sum to infinity; expected a finite sum: divide all by one number")
    return ForestResult(edges, total)


def _both_ways(graph: Graph) -> Graph:
    """Every edge in both directions: of edge e the numbers are 2e and 2e + 1."""
    xp: Any = module_of(graph.device)
    ends = xp.stack(graph.edges(), axis=1)
    twice = None if graph.values is None else xp.repeat(graph.values, 2)
    return Graph.from_edges(ends.ravel(), ends[:, ::-1].ravel(), twice, graph.n)
