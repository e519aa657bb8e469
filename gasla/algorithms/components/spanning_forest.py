"""Spanning forests: a tree for every component, and how far non-tree edges reach from each subtree.

Each tree is rooted at the smallest vertex of its component, and its vertices are numbered such that each subtree is a
range of numbers. One pass over all edges finds the smallest and the largest number of each vertex's neighbors. From
these follow the smallest and the largest number that edges of each subtree reach. Whether removing a tree edge or a
vertex disconnects the graph is then a comparison.

On a GPU, trees are numbered in one launch, whatever their depth (`primitives.number_trees`). In host memory they are
breadth-first search trees, which one search finds. Two sweeps over the levels number the vertices. First, subtree sizes
are summed from the leaves up. Then a vertex is numbered after its parent and the subtrees of its earlier siblings. One
more sweep from the leaves up finds the smallest and largest numbers. Small graphs and deep graphs (`DEEP`) are searched
depth-first instead, on one thread.

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

Array = Any  # a NumPy or CuPy array
ONE_THREAD = 1 << 20  # largest number of vertices and edges of a graph that one thread searches depth-first
# A tree is deep if it has more than 64 levels, and on average less than 4096 vertices per level. A breadth-first search
# would wait at a barrier on each level, so a depth-first search on one thread is then faster.
DEEP = 64, 1 << 12


class Sizes(VertexProgram):
    """size(v) = 1 + sum of size(c) over the children c of v: the number of vertices in the subtree of v."""

    size = vertex(ID, init=1)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.size

    def apply(self, vertex, gathered):
        return {"size": 1 + gathered}


class Numbers(VertexProgram):
    """number(v) = number(parent of v) + between(v), the place of v in a preorder of the forest, computed from the roots
    down.

    Numbers are in preorder, so each subtree has consecutive numbers. between(v) is the difference between the numbers
    of v and its parent.
    """

    number = vertex(ID)
    between = vertex(ID)
    direction = "out"
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.number

    def apply(self, vertex, gathered):
        return {"number": gathered + vertex.between}


class AdjacentRange(VertexProgram):
    """low(v), high(v) = the smallest and the largest number, in a preorder of the spanning forest, among v and its
    neighbors.

    The parent of v in the forest is left out.
    """

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
    """low(v), high(v) = the smallest and the largest number of the vertices in v's subtree and of their neighbors.

    Numbers are those of a preorder of the spanning forest. The parent of v does not count as a neighbor.
    """

    low = vertex(ID)
    high = vertex(ID)
    reduce = semirings.product(semirings.min, semirings.max)

    def gather(self, src, dst, edge):
        return src.low, src.high

    def apply(self, vertex, gathered):
        low, high = gathered
        return {"low": semirings.minimum(vertex.low, low), "high": semirings.maximum(vertex.high, high)}


class ParentEdges(VertexProgram):
    """count(v) = the number of edges from v's parent in a spanning forest to v, by which parallel edges are found.

    With direction "out", it is the number of edges from v to its parent.
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
    """A spanning forest of a simple undirected graph, whose vertices are numbered so that each subtree is a range of
    numbers.
    """

    trees: Trees
    low: Array  # smallest number in the subtree of each vertex, or joined to the subtree by a non-tree edge
    high: Array  # largest number in the subtree of each vertex, or joined to the subtree by a non-tree edge

    @property
    def parents(self) -> Array:
        """The parent of each vertex. The parent of a root is the root itself."""
        return self.trees.parents

    @property
    def numbers(self) -> Array:
        """The place of each vertex in a preorder of the forest. Each subtree has consecutive numbers, and its root the
        smallest.
        """
        return self.trees.numbers

    def leaves_subtree(self, of: Array | None = None) -> Array:
        """Return for each vertex v whether an edge that is not in the forest joins v's subtree to a vertex outside of
        it.

        With `of`, return whether such an edge leads from v's subtree to a vertex outside of the subtree of `of[v]`.
        """
        first_numbers, size = self.trees.numbers, self.trees.sizes
        if of is not None:
            first_numbers, size = first_numbers[of], size[of]
        return (self.low < first_numbers) | (self.high >= first_numbers + size)


class DepthFirst(NamedTuple):
    """A depth-first spanning forest: the parent, the number and the low point of each vertex.

    Numbers are in the order in which the search visits vertices. The low point is the smallest number that an edge from
    the vertex's subtree reaches.
    """

    parents: Array
    numbers: Array
    low: Array


def smallest_members(graph: Graph) -> Array:
    """Return a mask of the vertices that are the smallest vertex of their component."""
    xp: Any = module_of(graph.device)
    roots = hook(graph)
    if graph.n:  # two edges of each vertex join most vertices; other edges are read only outside of the largest tree
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
    schedule = Schedule(levels)
    sizes = run(Sizes, tree, schedule=schedule.reversed()).size
    between = _number_offsets(tree, sizes, is_root)
    numbers = run(Numbers, tree, schedule=schedule, between=between).number
    lowest, highest = _adjacent_range(graph, parents, numbers)
    ranges = run(SubtreeRange, tree, schedule=schedule.reversed(), low=lowest, high=highest)
    return Forest(Trees(parents, numbers, sizes), ranges.low, ranges.high)


def _breadth_first(graph: Graph) -> tuple[Array, Array] | None:
    """Search breadth-first from the smallest vertex of each component, and return the level and parent of each vertex.

    Return None if a tree has so many levels that a depth-first search is faster. The first component that has an edge
    is searched before all other components. It mostly is the largest, so this shows early whether a tree is deep.
    """
    is_source = np.zeros(graph.n, bool)
    is_source[np.flatnonzero(graph.out_degrees)[:1]] = True
    level, parent = np.full(graph.n, -1, np.int32), np.full(graph.n, -1, graph.id_dtype)
    result = _search_from(graph, is_source, level, parent)
    if result.converged:
        result = _search_from(graph, smallest_members(graph) & (result.level < 0), result.level, result.parent)
    return (result.level, result.parent) if result.converged else None


def _search_from(graph: Graph, roots: Array, level: Array, parent: Array) -> Any:
    """Continue a breadth-first search from the vertices that the mask `roots` marks, and return the result of the run.

    `level` and `parent` have the result of earlier searches. Where `depth_first` may search the graph instead, the
    number of levels is limited, and the result has not converged if a tree has more.
    """
    level_limit = max(DEEP[0], graph.n // DEEP[1]) if fits_one_thread(graph) else None
    level[roots], parent[roots] = 0, np.flatnonzero(roots)
    return run(PARENTS, graph, active=roots, level=level, parent=parent, max_iterations=level_limit)


def _adjacent_range(graph: Graph, parents: Array, numbers: Array) -> tuple[Array, Array]:
    """Return for each vertex the smallest and the largest of the `numbers` of itself and its neighbors, except its
    parent.

    The numbers are those of a preorder of the spanning forest whose parents are `parents`.
    """
    result = run(AdjacentRange, graph, max_iterations=1, number=numbers, parent=parents)
    return result.low, result.high


def _number_offsets(tree: Graph, sizes: Array, is_root: Array) -> Array:
    """Return the difference between the number of each vertex and that of its parent, for numbers in preorder.

    The difference is 1 plus the sizes of the subtrees of earlier siblings. The result for a root is its number: the
    total size of the trees of earlier roots.
    """
    xp: Any = module_of(tree.device)
    between = xp.zeros(tree.n, sizes.dtype)
    indptr, child = tree.in_.indptr, tree.in_.indices
    number_ends = xp.cumsum(sizes[child])
    starts = xp.zeros(len(child) + 1, number_ends.dtype)
    starts[1:] = number_ends
    between[child] = 1 + starts[:-1] - starts[indptr[tree.in_.owners()]]
    roots = xp.flatnonzero(is_root)
    between[roots] = xp.cumsum(sizes[roots]) - sizes[roots]
    return between


def sorted_graph(src: Array, dst: Array, n: int) -> Graph:
    """Return the graph of the edges src[i] -> dst[i] on n vertices. `src` must ascend, so that no sorting is needed."""
    xp: Any = array_module(src)
    indptr = running_sums(xp.bincount(src, minlength=n))
    return Graph.from_csr(indptr.astype(dst.dtype), dst)


def has_twin(graph: Graph, parents: Array) -> Array:
    """Return a mask of the vertices that several parallel edges join to their parent in a spanning forest.

    i -> j and j -> i together count as one edge. The edges to such a parent are no bridges.
    """
    downward, upward = (
        run(ParentEdges(direction=direction), graph, max_iterations=1, parent=parents).count
        for direction in ("in", "out")
    )
    return (downward > 1) | (upward > 1)
