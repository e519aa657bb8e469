"""Core numbers: how dense the densest part of a graph is that a vertex belongs to.

The k-core is the largest part in which everyone has k neighbors or more; a vertex's core number is the largest k whose
core it is in. Returned is that number for each vertex. The graph is read as a simple undirected one: direction, self
loops and parallel edges don't count.

Vertices of least degree are peeled off first. They wait in buckets by their degree among those that are left. The
lowest bucket opens; the vertices in it are removed, with that degree as core number. Their neighbors have fewer
neighbors now: they move to lower buckets, but to none below the open one, and those that come into that one are
removed in the next round.

D. W. Matula, L. L. Beck: Smallest-last ordering and clustering and graph coloring algorithms. Journal of the ACM 30
(1983). In parallel, by buckets: L. Dhulipala, G. Blelloch, J. Shun: Julienne: A Framework for Parallel Graph Algorithms
using Work-efficient Bucketing. SPAA 2017.
"""

from typing import Any

import numpy as np

import semirings
from gasla.operations.primitives import simplify
from gasla.operations.run import run
from gasla.program.fields import ID, vertex
from gasla.program.program import VertexProgram


class Cores(VertexProgram):
    """degree(v) = how many neighbors are left; once v's bucket opens it changes no more, and is the core number.

    Ends, as each vertex is active once: the mask admits none whose bucket has opened.
    """

    degree = vertex(ID, init=lambda vertex: vertex.out_degree)
    reduce = semirings.plus
    sources = "active"

    def bucket(self, vertex):
        return vertex.degree

    def mask(self, vertex):
        return vertex.degree > self.bucket

    def gather(self, src, dst, edge):
        return semirings.cast(1, src.id.dtype)

    def apply(self, vertex, gathered):
        lowest = semirings.cast(self.bucket, vertex.degree.dtype)
        return {"degree": semirings.maximum(vertex.degree - gathered, lowest)}


def core_number(graph: Any) -> np.ndarray:
    """Find the core number of each vertex: the largest k such that it is in the k-core.

    The k-core is the largest part of the graph in which every vertex has at least k neighbors.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected: direction, self loops and parallel edges are ignored, and values are not looked
        at. If it isn't both, the one that is so is kept with it for further calls: up to 8 bytes an edge and 4 a vertex
        (`Graph.nbytes`).

    Returns
    -------
    (n,) array of ids
        0 where a vertex has no neighbor; on the device of the graph. There is one right answer.

    See Also
    --------
    gasla.k_core : the vertices of a core.

    Notes
    -----
    NetworkX refuses self loops and parallel edges, and counts both edges of a pair that points both ways in a directed
    graph; here it is one.

    References
    ----------
    D. W. Matula, L. L. Beck: Smallest-last ordering and clustering and graph coloring algorithms. Journal of the ACM
    30 (1983).

    L. Dhulipala, G. Blelloch, J. Shun: Julienne: A Framework for Parallel Graph Algorithms using Work-efficient
    Bucketing. SPAA 2017.

    Examples
    --------
    A triangle, one that hangs on it, and one alone.

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], n=5)
    >>> gasla.core_number(graph)
    array([2, 2, 2, 1, 0], dtype=int32)
    """
    found: np.ndarray = run(Cores, simplify(graph)).degree
    return found
