"""Biconnected components: sets of edges of which any two are on a common cycle, and the tree that these sets form.

Every vertex of a spanning forest represents the edge from its parent (articulation_points.py). A non-tree edge is on a
cycle with the parent edge of its end of the larger number, so it is in the same component as that parent edge. The
vertices of a component are those that represent its tree edges, and the parent of the topmost of these vertices.
Vertices in several components are the articulation points.
"""

from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.components.articulation_points import articulation_points, blocks_above
from gasla.algorithms.components.connected_components import connected_components
from gasla.algorithms.components.spanning_forest import spanning_forest
from gasla.arrays import array_module, module_of
from gasla.graph.graph import whole_graph
from gasla.operations.primitives import simplify
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, edge, vertex
from gasla.rows import Command, Row, Task

Array = Any  # a NumPy or CuPy array


class EdgeLabels(VertexProgram):
    """label(e) = the number of the biconnected component of edge e, or -1 if e is a self loop.

    The components are known before this program runs: it copies their numbers from vertices to edges. Field
    `component` of a vertex is the component of the edge from the vertex to its parent in a spanning forest. Field
    `number` is the vertex's number in the order of this forest. label(e) is `component` of that end of e which has the
    larger `number`.
    """

    number = vertex(ID)
    component = vertex(ID)
    label = edge(ID, init=-1)
    everyone = True

    def activate(self, before, after):
        return True

    def scatter(self, src, dst, edge):
        later = semirings.where(src.number > dst.number, src.component, dst.component)
        return {"label": semirings.where(src.id == dst.id, semirings.cast(-1, later.dtype), later)}


EDGE_LABELS = EdgeLabels()


class BiconnectedComponentsResult(NamedTuple):
    """The number of components, the component of each edge, and the edges of the block-cut tree."""

    count: int  # type: ignore[assignment]  # not the method of tuples
    labels: Array
    tree: Array


def biconnected_components(graph: Any) -> BiconnectedComponentsResult:
    """Find the biconnected components of a graph: two edges are in the same one if they are on a common cycle.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        Read as undirected: i -> j and j -> i are one edge, as are parallel edges. Values are ignored; stored zeros are
        edges.

    Returns
    -------
    BiconnectedComponentsResult(count, labels, tree)
        The number of components. The component of each edge, in an array of ids of shape (m,), where self loops have
        -1. The block-cut tree, in an array of ids of shape (k, 2): a row per articulation point and component that it
        is in. Rows ascend.

    See Also
    --------
    gasla.articulation_points : the vertices that are in several components.
    gasla.bridges : edges that are a component of their own.
    gasla.is_biconnected : whether all vertices are in one component.

    Notes
    -----
    The block-cut tree is a forest if the graph is disconnected. Components without an articulation point are not in it.

    Of a component, leave out the vertex that is nearest to the smallest vertex of the graph, or of the connected
    component. Components are numbered from 0 by the smallest of their other vertices, so in any order of the edges
    alike.

    References
    ----------
    J. Hopcroft, R. Tarjan: Algorithm 447: efficient algorithms for graph manipulation. Communications of the ACM 16
    (1973).

    R. E. Tarjan, U. Vishkin: An efficient parallel biconnectivity algorithm. SIAM J. Computing 14 (1985).

    Examples
    --------
    >>> import gasla
    >>> triangle_and_tail = gasla.Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 4])
    >>> count, labels, tree = gasla.biconnected_components(triangle_and_tail)
    >>> count, labels
    (3, array([0, 0, 0, 1, 2], dtype=int32))
    >>> tree.tolist()
    [[2, 0], [2, 1], [3, 1], [3, 2]]
    """
    graph = whole_graph(graph)
    xp: Any = module_of(graph.device)
    simple = simplify(graph)
    forest = spanning_forest(simple)
    parents, ids = forest.parents, xp.arange(graph.n)
    label = blocks_above(simple, forest)
    topmost = xp.flatnonzero((label == ids) & (parents != ids))
    component_number = xp.full(graph.n, -1, graph.id_dtype)
    component_number[topmost] = xp.arange(len(topmost))
    component_of = component_number[label]  # for each vertex, the component of the edge to its parent, or -1 for a root
    labels = run(EDGE_LABELS, graph, max_iterations=1, number=forest.numbers, component=component_of).label
    return BiconnectedComponentsResult(len(topmost), labels, _block_cut_tree(component_of, parents, len(topmost)))


def _block_cut_tree(component_of: Array, parents: Array, count: int) -> Array:
    """Return the block-cut tree as rows (articulation point, number of a component that contains it), ascending.

    `component_of[v]` is the number of the component of the edge that joins v to its parent, or -1 for roots. A
    component consists of the vertices v with its number and of the parent of the uppermost of them. `count` is the
    number of components.
    """
    xp: Any = array_module(component_of)
    n = max(len(component_of), 1)
    top = xp.zeros(count, parents.dtype)
    uppermost = xp.flatnonzero((component_of != component_of[parents]) & (component_of >= 0))
    top[component_of[uppermost]] = parents[uppermost]
    component_count = xp.bincount(top, minlength=n)[: len(component_of)] + (component_of >= 0)
    cut_vertices = xp.flatnonzero((component_count > 1) & (component_of >= 0))
    components_below = xp.flatnonzero(component_count[top] > 1)
    points = xp.concatenate([cut_vertices, top[components_below]]).astype(np.int64)
    pairs = xp.sort(points * n + xp.concatenate([component_of[cut_vertices], components_below]))
    return xp.stack(xp.divmod(pairs, n), axis=1).astype(component_of.dtype)


def is_biconnected(graph: Any) -> bool:
    """Test whether a graph is biconnected: it has an edge, and is connected even without any one vertex.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        Read as undirected. Values are ignored; stored zeros are edges. Self loops and parallel edges do not matter.

    Returns
    -------
    bool
        Whether the graph is biconnected. A graph of fewer than two vertices is not.

    See Also
    --------
    gasla.biconnected_components : the parts of a graph that are.

    Examples
    --------
    >>> import gasla
    >>> gasla.is_biconnected(gasla.Graph.from_edges([0, 1, 2], [1, 2, 0]))
    True
    >>> gasla.is_biconnected(gasla.Graph.from_edges([0, 1], [1, 2]))
    False
    """
    graph = whole_graph(graph)
    return graph.n > 1 and int(connected_components(graph).count) == 1 and not len(articulation_points(graph))


ROW = [
    Row(
        biconnected_components,
        Command(
            *("biconnected-components", {"points": "components_at"}),
            lambda f: f"{f['count']:,} components; the vertices that are in most of them:",
            lambda f: f.times_named("points"),
            "ids",
            unpack=lambda _, found: found._asdict() | {"points": found.tree[:, 0]},
        ),
        Task(part="count", size=lambda n, m: 6 * m + 4 * n),
        method="FAST-BCC: components of a skeleton of the tree (Dong et al., PPoPP 2023)",
        longer="As `bridges`, then components of the edges, with a label for each edge.",
    ),
    Row(
        is_biconnected,
        Command(
            *("is-biconnected", {}),
            lambda f: "biconnected" if f["biconnected"] else "NOT biconnected",
            unpack=lambda _, answer: {"biconnected": answer},
        ),
        Task(),
        method="FAST-BCC (Dong et al., PPoPP 2023)",
        longer="As `biconnected_components`: all components are found before they are counted.",
    ),
]
