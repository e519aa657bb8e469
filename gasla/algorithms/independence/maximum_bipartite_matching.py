"""Maximum bipartite matching: as many edges as possible of which no two share an end, in a bipartite graph.

It starts from a maximal matching. In each phase a forest of alternating paths grows from the unmatched vertices of the
left side: along any edge to the right, and along matched edges back. A tree that reaches an unmatched vertex of the
right side has an augmenting path, whose matched edges and others are exchanged. Trees are disjoint, so one path of each
tree is augmented at once. If no tree has one, the matching is maximum (Berge).
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.components.is_bipartite import is_bipartite
from gasla.algorithms.independence.maximal_matching import maximal_matching
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import module_of
from gasla.graph.exchange import two_sides
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.transform.reduction import reduce_by_key
from gasla.operations.prepare import prepare
from gasla.program import ID, VertexProgram, option, vertex
from gasla.rows import Row, matching


class AlternatingForest(VertexProgram):
    """parent(v) = the vertex before v on an alternating path from the unmatched vertex root(v) of the left side.

    Ends: each vertex receives once.
    """

    direction = option("in")
    is_left = vertex(np.bool_)
    mate = vertex(ID)
    parent = vertex(ID, init=-1)
    root = vertex(ID, init=-1, missing=-1)
    reduce = semirings.max
    sources = "active"

    def mask(self, vertex):
        return vertex.root < 0

    def edge_mask(self, src, dst, edge):
        return src.is_left | (src.mate == dst.id)

    def gather(self, src, dst, edge):
        return src.id

    def apply(self, vertex, gathered):
        return {"parent": gathered, "root": self.at(gathered).root}


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
    xp: Any = module_of(graph.device)
    is_left, mate = _left_side(graph), maximal_matching(graph)
    ids = xp.arange(graph.n, dtype=mate.dtype)
    grow = prepare(AlternatingForest(direction=undirected(graph)), graph)
    while True:
        is_root = is_left & (mate < 0)
        forest = grow(active=is_root, is_left=is_left, mate=mate, root=xp.where(is_root, ids, -1))
        ends = ids[~is_left & (mate < 0) & (forest.root >= 0)]
        if not len(ends):
            return mate
        last = reduce_by_key(forest.root[ends], ends, semirings.max, graph.n)
        _augment(mate, forest.parent, ends[last[forest.root[ends]] == ends])


def _left_side(graph: Graph) -> Any:
    """Which vertices are on the left side, by the graph's own sides or by a search; ValueError if there are none."""
    if (own := graph.sides) is not None:
        two_sides.require_across(*graph.edges(), own)
        return own == 0
    found = is_bipartite(graph, colors=True)
    if not found.bipartite:
        odd = int((found.colors < 0).argmax())
        raise ValueError(
            f"the graph is not bipartite: the component of vertex {odd} has an odd cycle; for any graph there is "
            "maximal_matching"
        )
    return found.colors == 0


def _augment(mate: Any, parent: Any, ends: Any) -> None:
    """Exchange matched and other edges along the paths that end at these vertices, which have no vertex in common."""
    while len(ends):
        before = parent[ends]
        onward = mate[before]
        mate[ends], mate[before] = before, ends
        ends = onward[onward >= 0]


ROW = Row(maximum_bipartite_matching, matching("maximum-bipartite-matching"))
