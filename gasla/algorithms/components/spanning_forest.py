"""Spanning forests: a tree for every component, and how far the edges outside the trees lead from each subtree.

Trees are those of breadth-first searches from the smallest vertex of every component, all at once. Two sweeps over a
forest, level by level, number its vertices so that each subtree is a range: sizes are added up from the leaves, and
every vertex begins where its parent, and the siblings before it, end. Then one pass over all edges and one more sweep
from the leaves find the smallest and the largest number next to a subtree. Whether an edge of a tree may be left out,
or a vertex, is then a comparison.

R. E. Tarjan, U. Vishkin: An efficient parallel biconnectivity algorithm. SIAM J. Computing 14 (1985).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.traversal.bfs import PARENTS
from gasla.arrays import array_module, module_of, running_sums
from gasla.graph.graph import Graph
from gasla.operations.primitives import compress, hook, likely_largest, link
from gasla.operations.run import run
from gasla.program.fields import ID, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule

Array = Any  # NumPy's or CuPy's


class Sizes(VertexProgram):
    """size(v) = 1 + sum over children of size(c), from the leaves up."""

    size = vertex(ID, init=1)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.size

    def apply(self, vertex, gathered):
        return {"size": 1 + gathered}


class Numbers(VertexProgram):
    """number(v) = number(parent) + the number of vertices between them, from the roots down."""

    number = vertex(ID)
    between = vertex(ID)
    direction = "out"
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.number

    def apply(self, vertex, gathered):
        return {"number": gathered + vertex.between}


class Neighbors(VertexProgram):
    """low(v), high(v) = the least and the greatest number of v and its neighbors, its parent aside."""

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


class Subtrees(VertexProgram):
    """low(v), high(v) = the least low and the greatest high of the subtree below v, from the leaves up."""

    low = vertex(ID)
    high = vertex(ID)
    reduce = semirings.product(semirings.min, semirings.max)

    def gather(self, src, dst, edge):
        return src.low, src.high

    def apply(self, vertex, gathered):
        low, high = gathered
        return {"low": semirings.minimum(vertex.low, low), "high": semirings.maximum(vertex.high, high)}


class Twins(VertexProgram):
    """count(v) = the number of edges from the parent of v to v, or with direction "out" of those to its parent."""

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
    """A forest of a simple undirected graph, each subtree a range of numbers."""

    levels: Array  # 0 at the roots
    children: Array  # all but the roots: each stands for the edge from its parent
    parents: Array  # roots are their own
    numbers: Array  # those of the subtree below v are numbers[v] to numbers[v] + sizes[v] - 1
    sizes: Array
    low: Array  # the least number in the subtree below v, or next to it by an edge of no tree
    high: Array  # the greatest

    def is_left_from(self, v: Array, below: Array) -> Array:
        """Whether an edge of no tree leads from the subtree below one vertex to outside of that below another."""
        first = self.numbers[below]
        return (self.low[v] < first) | (self.high[v] >= first + self.sizes[below])


def smallest_members(graph: Graph) -> Array:
    """Whether each vertex is the smallest of its component."""
    xp: Any = module_of(graph.device)
    roots = hook(graph)
    if graph.n:  # the first edges of each join most vertices; the others are looked at where they don't
        link(graph, roots, last=2)
        compress(roots)
        link(graph, roots, known=likely_largest(roots))
        compress(roots)
    return roots == xp.arange(graph.n, dtype=roots.dtype)


def spanning_forest(graph: Graph) -> Forest:
    """The forest of a graph that is simple and undirected, as `simplify` makes it."""
    xp: Any = module_of(graph.device)
    ids, is_root = xp.arange(graph.n, dtype=graph.id_dtype), smallest_members(graph)
    none = xp.full(graph.n, -1, graph.id_dtype)
    level = xp.where(is_root, 0, -1).astype(np.int32)
    found = run(PARENTS, graph, active=is_root, level=level, parent=xp.where(is_root, ids, none))
    levels, parents = found.level, found.parent
    children = xp.flatnonzero(~is_root)
    tree = listed(children, parents[children], graph.n)
    order = Schedule(levels)
    sizes = run(Sizes, tree, schedule=order.reversed()).size
    between = _between(tree, sizes, is_root)
    numbers = run(Numbers, tree, schedule=order, between=between).number
    near = run(Neighbors, graph, max_iterations=1, number=numbers, parent=parents)
    reach = run(Subtrees, tree, schedule=order.reversed(), low=near.low, high=near.high)
    return Forest(levels, children, parents, numbers, sizes, reach.low, reach.high)


def _between(tree: Graph, sizes: Array, is_root: Array) -> Array:
    """How far behind its parent's number each vertex's own is: behind the siblings before it; a root's own number."""
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


def listed(src: Array, dst: Array, n: int) -> Graph:
    """The graph of edges whose sources ascend."""
    xp: Any = array_module(src)
    indptr = running_sums(xp.bincount(src, minlength=n))
    return Graph.from_csr(indptr.astype(dst.dtype), dst)


def has_twin(graph: Graph, parents: Array) -> Array:
    """Whether more than one edge joins each vertex to its parent; of i -> j and j -> i either counts, not both."""
    there, back = (run(Twins(direction=way), graph, max_iterations=1, parent=parents).count for way in ("in", "out"))
    return (there > 1) | (back > 1)
