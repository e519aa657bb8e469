"""Bipartite graphs: can the vertices be put on two sides, so that every edge leads from one side to the other?

Returned is whether they can, and on request each vertex's side.

The smallest vertex of every component is put on the first side; its neighbors are on the second, those of these on the
first, and so on. A side is a bit, and bits are or-ed: the vertices of a component with an odd cycle end up on both, and
others are reached once. An odd cycle is often a triangle, so that some edges are looked at for one first.

D. Kőnig: Theorie der endlichen und unendlichen Graphen. Leipzig 1936.
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

BOTH = 3  # sides
SAMPLE = 8  # edges looked at for a triangle


class Sides(VertexProgram):
    """sides(v) = those that its neighbors are not on; a bit each. Ends, as only bits are added: 2 n at most."""

    direction = option("in")
    sides = vertex(np.int32)
    reduce = semirings.bor

    def gather(self, src, dst, edge):
        return ((src.sides & 1) << 1) | (src.sides >> 1)

    def apply(self, vertex, gathered):
        return {"sides": vertex.sides | gathered}


class BipartiteResult(NamedTuple):
    """Whether a graph is bipartite, and the sides of its vertices. It is true if the graph is."""

    bipartite: bool
    colors: np.ndarray

    def __bool__(self) -> bool:
        return self.bipartite


@overload
def is_bipartite(graph: Any, *, colors: Literal[False] = ...) -> bool: ...
@overload
def is_bipartite(graph: Any, *, colors: Literal[True]) -> BipartiteResult: ...


def is_bipartite(graph: Any, *, colors: bool = False) -> bool | BipartiteResult:
    """Whether a graph's vertices are of two colors, so that no edge joins two of the same.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        Edges join their ends whichever way they point. Values are not looked at, and stored zeros are edges. A loop
        joins a vertex to itself, so that no graph with one is bipartite.
    colors : bool
        Also return the colors.

    Returns
    -------
    bool
        Whether it is bipartite: it has no cycle of an odd number of edges.
    BipartiteResult(bipartite, colors)
        With `colors=True`. Colors are int32, 0 at the smallest vertex of every component; -1 in components that have
        an odd cycle, so that one sees which those are. The same every time.

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
    """Whether one of a few edges is in a triangle: their ends have a neighbor in common."""
    if graph.m == 0:
        return False
    xp: Any = module_of(graph.device)
    lists = graph.out
    edges = xp.asarray(np.linspace(0, graph.m - 1, min(graph.m, SAMPLE)).astype(np.int64))
    src = xp.searchsorted(lists.indptr, edges, side="right") - 1
    return bool((intersect(graph, EdgeFrontier(graph.n, edges, src, lists.indices[edges])) > 0).any())
