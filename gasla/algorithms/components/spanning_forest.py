"""Spanning forests: a tree for every component, and how far non-tree edges reach from each subtree.

Each tree is rooted at the smallest vertex of its component, and numbered such that each subtree is a range. One pass
over all edges finds the smallest and the largest number adjacent to each vertex, and from these follow those of each
subtree. Whether removing a tree edge or a vertex disconnects the graph is then a comparison.

On a GPU, trees are numbered in one launch, whatever their depth (`primitives.number_trees`). In host memory they are
breadth-first search trees, found at once. Two sweeps over the levels number the vertices: subtree sizes are summed from
the leaves up, and a vertex is numbered after its parent and the subtrees of its earlier siblings. One more sweep passes
extremes up. Small graphs and deep ones (`DEEP`) are searched depth-first instead, on one thread.

R. E. Tarjan, U. Vishkin: An efficient parallel biconnectivity algorithm. SIAM J. Computing 14 (1985).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.traversal.bfs import PARENTS
from gasla.arrays import array_module, module_of, running_sums
from gasla.graph.graph import Graph
from gasla.operations.primitives import (
    Trees,
    compress,
    depth_first,
    fits_one_thread,
    hook,
    likely_largest,
    link,
    number_trees,
)
from gasla.operations.run import run
from gasla.program import ID, Schedule, VertexProgram, option, vertex

Array = Any  # NumPy's or CuPy's
ONE_THREAD = 1 << 20  # most vertices and edges of a graph that is searched depth-first on one thread instead
DEEP = 64, 1 << 12  # levels of a tree, and vertices a level, beyond which a graph is deep: each level takes a barrier


class Sizes(VertexProgram):
    """size(v) = 1 + sum over children c of size(c), from the leaves up."""

    size = vertex(ID, init=1)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.size

    def apply(self, vertex, gathered):
        return {"size": 1 + gathered}


class Numbers(VertexProgram):
    """number(v) = number(parent) + between(v), the offset within the parent's subtree, from the roots down."""

    number = vertex(ID)
    between = vertex(ID)
    direction = "out"
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.number

    def apply(self, vertex, gathered):
        return {"number": gathered + vertex.between}


class AdjacentRange(VertexProgram):
    """low(v), high(v) = the smallest and the largest number of v and its neighbors, the parent excluded."""

    number = vertex(ID)
    parent = vertex(ID)
    low = vertex(ID)
    high = vertex(ID)
    reduce = semirings.product(semirings.min, semirings.max)
    everyone = True

    def gather(self, src, dst, edge):
        number = semirings.where(src.id == dst.parent, dst.number, src.number)
        return number, number

    def apply(self, vertex, gathered):
        low, high = gathered
        return {"low": semirings.minimum(vertex.number, low), "high": semirings.maximum(vertex.number, high)}


class SubtreeRange(VertexProgram):
    """low(v), high(v) = the smallest low and the largest high in the subtree of v, from the leaves up."""

    low = vertex(ID)
    high = vertex(ID)
    reduce = semirings.product(semirings.min, semirings.max)

    def gather(self, src, dst, edge):
        return src.low, src.high

    def apply(self, vertex, gathered):
        low, high = gathered
        return {"low": semirings.minimum(vertex.low, low), "high": semirings.maximum(vertex.high, high)}


class ParentEdges(VertexProgram):
    """count(v) = the number of edges from v's parent to v.

    With direction "out", it counts those from v to its parent.
    """

    direction = option("in")
    parent = vertex(ID)
    count = vertex(np.int64)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return semirings.cast(src.id == dst.parent, np.int64)

    def apply(self, vertex, gathered):
        return {"count": gathered}


@dataclass(frozen=True, eq=False)
class Forest:
    """A spanning forest of a simple undirected graph, in which each subtree is a range of numbers."""

    trees: Trees
    low: Array  # least number in the subtree of v, or adjacent to it by a non-tree edge
    high: Array  # greatest number

    @property
    def parents(self) -> Array:
        """The parent of each vertex. A root is its own parent."""
        return self.trees.parents

    @property
    def numbers(self) -> Array:
        """The number of each vertex, larger than that of its parent."""
        return self.trees.numbers

    def leaves_subtree(self, of: Array | None = None) -> Array:
        """Return whether a non-tree edge leaves each vertex's subtree, or the subtree of vertex `of[v]`."""
        first, size = self.trees.numbers, self.trees.sizes
        if of is not None:
            first, size = first[of], size[of]
        return (self.low < first) | (self.high >= first + size)


class DepthFirst(NamedTuple):
    """A depth-first spanning forest: parents, numbers in the order of the search, and low points of all vertices."""

    parents: Array
    numbers: Array
    low: Array


def smallest_members(graph: Graph) -> Array:
    """Return whether each vertex is the smallest of its component."""
    xp: Any = module_of(graph.device)
    roots = hook(graph)
    if graph.n:  # two edges per vertex join most of them; the others are read only outside the largest tree
        link(graph, roots, last=2)
        compress(roots)
        link(graph, roots, known=likely_largest(roots))
        compress(roots)
    return roots == xp.arange(graph.n, dtype=roots.dtype)


def spanning_forest(graph: Graph) -> Forest | DepthFirst:
    """Compute a spanning forest of a simple undirected graph, as made by `simplify`."""
    if fits_one_thread(graph, ONE_THREAD):
        return DepthFirst(*depth_first(graph))
    if graph.engine != "cpu":
        trees = number_trees(graph)
        return Forest(trees, *trees.extremes(*_adjacent_range(graph, trees.parents, trees.numbers)))
    searched = _breadth_first(graph)
    if searched is None:
        return DepthFirst(*depth_first(graph))
    levels, parents = searched
    is_root = levels == 0
    children = np.flatnonzero(~is_root)
    tree = sorted_graph(children, parents[children], graph.n)
    order = Schedule(levels)
    sizes = run(Sizes, tree, schedule=order.reversed()).size
    between = _between(tree, sizes, is_root)
    numbers = run(Numbers, tree, schedule=order, between=between).number
    low, high = _adjacent_range(graph, parents, numbers)
    reach = run(SubtreeRange, tree, schedule=order.reversed(), low=low, high=high)
    return Forest(Trees(parents, numbers, sizes), reach.low, reach.high)


def _breadth_first(graph: Graph) -> tuple[Array, Array] | None:
    """Return levels and parents in breadth-first trees from each component's smallest vertex.

    If one is deep, return None.

    The first component that has an edge is searched before the others: mostly, it is the largest, and shows the depth.
    """
    first = np.zeros(graph.n, bool)
    first[np.flatnonzero(graph.out_degrees)[:1]] = True
    level, parent = np.full(graph.n, -1, np.int32), np.full(graph.n, -1, graph.id_dtype)
    result = _searched(graph, first, level, parent)
    if result.converged:
        result = _searched(graph, smallest_members(graph) & (result.level < 0), result.level, result.parent)
    return (result.level, result.parent) if result.converged else None


def _searched(graph: Graph, roots: Array, level: Array, parent: Array) -> Any:
    """Return the result of a search from further roots. Where `depth_first` may replace it, its levels are limited."""
    most = max(DEEP[0], graph.n // DEEP[1]) if fits_one_thread(graph) else None
    level[roots], parent[roots] = 0, np.flatnonzero(roots)
    return run(PARENTS, graph, active=roots, level=level, parent=parent, max_iterations=most)


def _adjacent_range(graph: Graph, parents: Array, numbers: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest number of each vertex and its neighbors, except its parent."""
    near = run(AdjacentRange, graph, max_iterations=1, number=numbers, parent=parents)
    return near.low, near.high


def _between(tree: Graph, sizes: Array, is_root: Array) -> Array:
    """Return the offset of each vertex's number from that of its parent, after the subtrees of earlier siblings."""
    xp: Any = module_of(tree.device)
    between = xp.zeros(tree.n, sizes.dtype)
    indptr, child = tree.in_.indptr, tree.in_.indices
    ends = xp.cumsum(sizes[child])
    starts = xp.zeros(len(child) + 1, ends.dtype)
    starts[1:] = ends
    between[child] = 1 + starts[:-1] - starts[indptr[tree.in_.owners()]]
    roots = xp.flatnonzero(is_root)
    between[roots] = xp.cumsum(sizes[roots]) - sizes[roots]
    return between


def sorted_graph(src: Array, dst: Array, n: int) -> Graph:
    """Return the graph of edges whose sources ascend."""
    xp: Any = array_module(src)
    indptr = running_sums(xp.bincount(src, minlength=n))
    return Graph.from_csr(indptr.astype(dst.dtype), dst)


def has_twin(graph: Graph, parents: Array) -> Array:
    """Return whether several parallel edges join each vertex to its parent. i -> j and j -> i together count as one."""
    there, back = (
        run(ParentEdges(direction=way), graph, max_iterations=1, parent=parents).count for way in ("in", "out")
    )
    return (there > 1) | (back > 1)
