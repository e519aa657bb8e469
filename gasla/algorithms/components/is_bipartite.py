"""Bipartite graphs: whether the vertices can be divided into two sides such that every edge joins both.

The smallest vertex of each component is put on side 0, its neighbors on side 1, their neighbors on side 0, and so on. A
search gives the levels of vertices, whose parity is the side. A component is bipartite if no edge joins two vertices of
one side. An odd cycle is often a triangle, so a few edges are first tested for being in a triangle.

On a GPU a kernel finds the sides without a search (`primitives.label_sides`), because a grid has thousands of levels.
"""

from typing import Any, Literal, NamedTuple, overload

import numpy as np

import semirings
from gasla.algorithms.independence.undirected import undirected
from gasla.algorithms.traversal.bfs import Levels
from gasla.arrays import any_true, module_of
from gasla.graph.arguments import check_flags
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.primitives import compress, fits_one_card, intersect, label_sides, link
from gasla.operations.run import run
from gasla.program import EdgeFrontier, VertexProgram, option, vertex
from gasla.rows import Command, Row, Task

SAMPLED_EDGES = 8  # number of edges tested for a triangle


class OddCycles(VertexProgram):
    """is_odd(v) = whether a neighbor of v is on a level of the same parity as v.

    If so, there is an odd cycle in the component of v, because levels are distances from its root.
    """

    loops = option(True)  # whether a self loop is an odd cycle
    level = vertex(np.int32)
    is_odd = vertex(np.bool_)
    direction = option("in")
    reduce = semirings.any
    everyone = True

    def gather(self, src, dst, edge):
        is_odd = (src.level ^ dst.level) & 1 == 0
        return is_odd if self.loops else is_odd & (src.id != dst.id)

    def apply(self, vertex, gathered):
        return {"is_odd": gathered}


class BipartiteResult(NamedTuple):
    """Whether a graph is bipartite, and the side of each vertex. Its truth value is `bipartite`."""

    bipartite: bool
    colors: np.ndarray

    def __bool__(self) -> bool:
        return self.bipartite


@overload
def is_bipartite(graph: Any, *, colors: Literal[False] = ...) -> bool: ...
@overload
def is_bipartite(graph: Any, *, colors: Literal[True]) -> BipartiteResult: ...


def is_bipartite(graph: Any, *, colors: bool = False) -> bool | BipartiteResult:
    """Test whether a graph is bipartite: whether its vertices can be colored with two colors.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        Read as undirected. Values are ignored; stored zeros are edges. A graph with a self loop is not bipartite.
    colors : bool
        Whether to return the colors as well.

    Returns
    -------
    bool
        Whether the graph is bipartite: it has no odd cycle.
    BipartiteResult(bipartite, colors)
        With `colors=True`. `colors`, shape (n,), int32: 0 for the smallest vertex of each component, and 0 or 1 for
        others; -1 in components with an odd cycle. Deterministic.

    References
    ----------
    D. Kőnig: Theorie der endlichen und unendlichen Graphen. Leipzig 1936.

    Examples
    --------
    >>> import gasla
    >>> square = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> gasla.is_bipartite(square), gasla.is_bipartite(square, colors=True).colors
    (True, array([0, 1, 0, 1], dtype=int32))
    >>> gasla.is_bipartite(gasla.Graph.from_edges([0, 1, 2], [1, 2, 0]))
    False
    """
    graph = whole_graph(graph)
    check_flags(colors=colors)
    if not colors and _samples_triangle(graph):
        return False
    side_of_vertex = two_sides(graph, loops=True)
    bipartite = not any_true(side_of_vertex < 0)
    return BipartiteResult(bipartite, side_of_vertex) if colors else bipartite


def two_sides(graph: Graph, *, loops: bool) -> Any:
    """Return the side of each vertex: the parity of its distance from its component's root, or -1.

    A component with an odd cycle has no sides, so its vertices get -1. With `loops`, a self loop is an odd cycle.
    """
    # The kernel makes two copies of each vertex, so ids up to 2 n must fit the dtype of ids.
    has_room = 2 * graph.n <= np.iinfo(graph.id_dtype).max
    if fits_one_card(graph) and has_room and (loops or not graph.lists.has_self_loops):
        return label_sides(graph)
    xp: Any = module_of(graph.device)
    root = xp.arange(graph.n, dtype=graph.id_dtype)
    link(graph, root)
    compress(root)
    is_root = root == xp.arange(graph.n, dtype=graph.id_dtype)
    direction = undirected(graph)
    level = run(Levels(direction=direction), graph, active=is_root, level=is_root.astype(np.int32) - 1).level
    is_odd = run(OddCycles(direction=direction, loops=loops), graph, max_iterations=1, level=level).is_odd
    has_odd = xp.zeros(graph.n, bool)
    has_odd[root[is_odd]] = True
    return xp.where(has_odd[root], -1, level & 1).astype(np.int32, copy=False)


def _samples_triangle(graph: Graph) -> bool:
    """Return whether one of `SAMPLED_EDGES` edges is in a triangle, so that the graph surely is not bipartite."""
    if graph.m == 0:
        return False
    xp: Any = module_of(graph.device)
    lists = graph.out
    edges = xp.asarray(np.linspace(0, graph.m - 1, min(graph.m, SAMPLED_EDGES)).astype(np.int64))
    src = xp.searchsorted(lists.indptr, edges, side="right") - 1
    return bool((intersect(graph, EdgeFrontier(graph.n, edges, src, lists.indices[edges])) > 0).any())


ROW = Row(
    is_bipartite,
    Command(
        *("bipartite", {"colors": "color"}),
        lambda f: "bipartite" if f["bipartite"] else "NOT bipartite: some component has an odd cycle",
        lambda f: f.counts("colors", {0: "color 0", 1: "color 1", -1: "no color"}),
        fixed={"colors": True},
    ),
    Task("bipartite"),
    method="one direction-optimizing search with a check of each edge (Beamer et al., SC 2012)",
    longer="A search that colors level by level, and a check of each edge.",
)
