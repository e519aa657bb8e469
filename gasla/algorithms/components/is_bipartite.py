"""Bipartite graphs: whether the vertices can be divided into two sides such that every edge joins both.

The smallest vertex of each component is put on side 0, its neighbors on side 1, their neighbors on side 0, and so on.
Sides are two bits, reduced by bitwise or: in a component with an odd cycle every vertex gets both bits, and in others
each vertex is reached once. Since an odd cycle is often a triangle, a few edges are first tested for one.
"""

from typing import Any, Literal, NamedTuple, overload

import numpy as np

import semirings
from gasla.algorithms.components.spanning_forest import smallest_members
from gasla.arrays import module_of
from gasla.graph.arguments import check_flags
from gasla.graph.graph import Graph, as_graph
from gasla.operations.primitives import intersect
from gasla.operations.run import run
from gasla.program.fields import vertex
from gasla.program.frontier import EdgeFrontier
from gasla.program.options import option
from gasla.program.program import VertexProgram

BOTH = 3  # both sides, as bits
SAMPLE = 8  # number of edges tested for a triangle


class Sides(VertexProgram):
    """sides(v) = the sides opposite to its neighbors', as bits. Ends after at most 2 n iterations: bits only grow."""

    direction = option("in")
    sides = vertex(np.int32)
    reduce = semirings.bor

    def gather(self, src, dst, edge):
        return ((src.sides & 1) << 1) | (src.sides >> 1)

    def apply(self, vertex, gathered):
        return {"sides": vertex.sides | gathered}


class BipartiteResult(NamedTuple):
    """Whether a graph is bipartite, and the side of each vertex; its truth value is `bipartite`."""

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
    graph = as_graph(graph)
    check_flags(colors=colors)
    if not colors and _shows_triangle(graph):
        return False
    xp: Any = module_of(graph.device)
    first = smallest_members(graph)
    program = Sides(direction="in" if graph.is_symmetric else "all")
    sides = run(program, graph, active=first, sides=xp.where(first, 1, 0).astype(np.int32)).sides
    bipartite = not bool((sides == BOTH).any())
    return BipartiteResult(bipartite, xp.where(sides == BOTH, -1, sides - 1)) if colors else bipartite


def _shows_triangle(graph: Graph) -> bool:
    """Whether one of a few sampled edges is in a triangle: its ends have a common neighbor."""
    if graph.m == 0:
        return False
    xp: Any = module_of(graph.device)
    lists = graph.out
    edges = xp.asarray(np.linspace(0, graph.m - 1, min(graph.m, SAMPLE)).astype(np.int64))
    src = xp.searchsorted(lists.indptr, edges, side="right") - 1
    return bool((intersect(graph, EdgeFrontier(graph.n, edges, src, lists.indices[edges])) > 0).any())
