"""Maximum bipartite matching: as many edges as possible of which no two share an end, in a bipartite graph.

The algorithm starts from a maximal matching. In each turn a forest of alternating paths grows from the unmatched
vertices of the left side: along any edge to the right side, and along matched edges back. A tree that reaches an
unmatched vertex of the right side has an augmenting path, on which matched and unmatched edges are exchanged. Trees are
disjoint, so one path of each tree is augmented at once. If no tree has an augmenting path, the matching is maximum
(Berge). A forest grows no further once a step has reached half as many unmatched vertices as there are trees: in the
next turn, other trees soon find short paths, too.
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.components.is_bipartite import is_bipartite
from gasla.algorithms.independence.maximal_matching import maximal_matching
from gasla.algorithms.independence.undirected import undirected
from gasla.graph.exchange import two_sides
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.phases import Phase
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, aggregate, option, parameter, vertex
from gasla.rows import Row, matching


def _is_end(vertex):
    """Return whether an augmenting path ends at a vertex: it is unmatched, on the right side, and reached by a tree."""
    return ~vertex.is_left & (vertex.mate < 0) & (vertex.root >= 0)


class Plant(VertexProgram):
    """root(v) = v for every unmatched vertex v of the left side, and -1 for all other vertices.

    The unmatched vertices of the left side are the roots of trees of alternating paths, which `Grow` extends.
    """

    is_left = vertex(np.bool_)
    mate = vertex(ID)
    parent = vertex(ID)
    root = vertex(ID, missing=-1)
    everyone = True

    def apply(self, vertex, gathered):
        return {"parent": -1, "root": semirings.where(vertex.is_left & (vertex.mate < 0), vertex.id, -1)}

    @aggregate(semirings.plus, np.int64)
    def trees(self, before, after):
        return semirings.cast(after.root >= 0, np.int64)


class Grow(VertexProgram):
    """parent(v) = the vertex before v on an alternating path from root(v), an unmatched vertex of the left side.

    The run ends, since each vertex enters a tree at most once.
    """

    direction = option("in")
    is_left = vertex(np.bool_)
    mate = vertex(ID)
    parent = vertex(ID)
    root = vertex(ID, missing=-1)
    trees = parameter(np.int64, 0)
    reduce = semirings.max
    sources = "active"

    def start(self, vertex):
        return vertex.root == vertex.id

    def mask(self, vertex):
        return (vertex.root < 0) & (2 * self.reached < self.trees)

    def edge_mask(self, src, dst, edge):
        return src.is_left | (src.mate == dst.id)

    def gather(self, src, dst, edge):
        return src.id

    def apply(self, vertex, gathered):
        return {"parent": gathered, "root": self.at(gathered).root}

    @aggregate(semirings.plus, np.int64)
    def reached(self, before, after):
        return semirings.cast(_is_end(after), np.int64)


class Choose(VertexProgram):
    """end(r) = the end of an augmenting path from r: the largest unmatched vertex of the right side in the tree of root
    r.

    The mate of this vertex becomes its parent in the tree. The run ends if no tree has such a vertex.
    """

    is_left = vertex(np.bool_)
    mate = vertex(ID)
    parent = vertex(ID)
    root = vertex(ID, missing=-1)
    everyone = True

    def mask(self, vertex):
        return _is_end(vertex)

    def apply(self, vertex, gathered):
        is_end = self.at(vertex.root).end == vertex.id
        return {"mate": semirings.where(is_end, vertex.parent, vertex.mate)}

    @aggregate(semirings.max, ID, at=lambda self, vertex: semirings.where(_is_end(vertex), vertex.root, -1))
    def end(self, before, after):
        return after.id

    @aggregate(semirings.plus, np.int64)
    def ends(self, before, after):
        return semirings.cast(_is_end(before), np.int64)

    def stop(self):
        return self.ends == 0


class Augment(VertexProgram):
    """Exchange matched and unmatched edges along the chosen augmenting paths, from their ends back to their roots.

    On the right side, the mate of a vertex is its parent only at the end of a path. All other mates come after the
    vertex in the tree. The run ends, since no vertex is on a path twice.
    """

    direction = option("in")
    is_left = vertex(np.bool_)
    mate = vertex(ID)
    parent = vertex(ID)
    reduce = semirings.max
    sources = "active"

    def start(self, vertex):
        return ~vertex.is_left & (vertex.parent >= 0) & (vertex.mate == vertex.parent)

    def edge_mask(self, src, dst, edge):
        return src.parent == dst.id

    def gather(self, src, dst, edge):
        return src.id

    def apply(self, vertex, gathered):
        return {"mate": semirings.where(vertex.is_left, gathered, vertex.parent)}


def maximum_bipartite_matching(graph: Any) -> Any:
    """Find a maximum matching of a bipartite graph: as many edges as possible of which no two share an end.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is an edge between i and j, read as undirected. Values are ignored; stored zeros are edges. The sides
        are those that the graph knows (`Graph.sides`), else those of `is_bipartite`. `Graph.from_bipartite` makes a
        graph of a biadjacency matrix.

    Returns
    -------
    (n,) array of ids
        The mate of each vertex, -1 if unmatched: `mate[mate[v]] == v`. One of the maximum matchings; deterministic.

    Raises
    ------
    ValueError
        If the graph is not bipartite.

    See Also
    --------
    gasla.maximal_matching : of any graph, also by weight, at least half as many edges.
    gasla.maximum_flow : with capacities.

    Notes
    -----
    Few phases suffice for most graphs, each of at most two passes over the edges; there may be n.

    References
    ----------
    A. Azad, A. Buluç, A. Pothen: Computing Maximum Cardinality Matchings in Parallel on Bipartite Graphs via
    Tree-Grafting. IEEE Transactions on Parallel and Distributed Systems 28 (2017).

    Examples
    --------
    Workers 0 to 2, and tasks 3 to 5 that they can do:

    >>> import gasla
    >>> able = gasla.Graph.from_edges([0, 0, 1, 2, 2], [3, 4, 3, 4, 5])
    >>> gasla.maximum_bipartite_matching(able)
    array([4, 3, 5, 1, 0, 2], dtype=int32)
    """
    graph = whole_graph(graph)
    direction = undirected(graph)
    phases: list[Any] = [
        Plant,
        Phase(Grow(direction=direction), until="still"),
        Choose,
        Phase(Augment(direction=direction), until="still"),
    ]
    result = run(phases, graph, direction="push", notice=False, is_left=left_side(graph), mate=maximal_matching(graph))
    return result.mate


def left_side(graph: Graph) -> Any:
    """Return a mask of the vertices on the left side of a bipartite graph.

    The sides are those that the graph has been given or, if it has none, found by a search. Raise ValueError if the
    graph is not bipartite.
    """
    if (side_of_vertex := graph.sides) is not None:
        two_sides.require_across(*graph.edges(), side_of_vertex)
        return side_of_vertex == 0
    coloring = is_bipartite(graph, colors=True)
    if not coloring.bipartite:
        v = int((coloring.colors < 0).argmax())
        raise ValueError(
            f"the graph is not bipartite: the component of vertex {v} has an odd cycle; for any graph there is "
            "maximal_matching"
        )
    return coloring.colors == 0


ROW = Row(
    maximum_bipartite_matching,
    matching("maximum-bipartite-matching"),
    method="tree grafting (Azad, Buluç, Pothen, TPDS 28, 2017); on a GPU ECL-MM",
    longer="Phases of searches from all free vertices: the last few pairs need long paths, level by level.",
)
