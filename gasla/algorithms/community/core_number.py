"""Core numbers: the largest k for which a vertex is in the k-core.

Vertices are peeled off in the order of their degrees. They wait in buckets by their degree in the remaining graph. When
the lowest bucket opens, its vertices are removed, and its number is their core number. Their neighbors move to lower
buckets, but not below the open bucket. Neighbors that reach the open bucket are removed in the next round.

A kernel peels graphs without hubs (`FLAT`), and in host memory graphs of at most `ONE_THREAD` vertices and edges
(`primitives.peel`). Rounds of small graphs have little work, and a grid takes many rounds for one bucket.
"""

from typing import Any

import numpy as np

import semirings
from gasla.operations.on_one_device import on_one_device
from gasla.operations.primitives import fits_one_thread, peel, simplify
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, vertex
from gasla.rows import Row, Task, scores

ONE_THREAD = 1 << 19  # largest number of vertices and edges of a graph that the kernel peels on one thread
FLAT = {"cpu": 16, "gpu": 256}  # a kernel peels graphs with degrees up to this, whatever their size


class Cores(VertexProgram):
    """degree(v) = the number of neighbors of v that are not peeled yet, and in the end the core number of v.

    Vertices are peeled in buckets of ascending degree. When the bucket of v opens, degree(v) is its core number, and
    does not change any more. The run ends, since each vertex is active once: the mask excludes vertices whose bucket
    has opened.
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


@on_one_device()
def core_number(graph: Any) -> np.ndarray:
    """Find the core number of each vertex: the largest k for which it is in the k-core.

    The k-core is the largest subgraph in which every vertex has at least k neighbors.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are ignored; stored zeros are edges.

    Returns
    -------
    (n,) array of ids
        On the device of the graph; 0 for vertices without neighbors. The result is unique.

    See Also
    --------
    gasla.k_core : the vertices of a core.

    Notes
    -----
    NetworkX refuses self loops and parallel edges, and counts the two directions of an edge in a directed graph as two
    neighbors; here they are one.

    References
    ----------
    D. W. Matula, L. L. Beck: Smallest-last ordering and clustering and graph coloring algorithms. Journal of the ACM
    30 (1983).

    L. Dhulipala, G. Blelloch, J. Shun: Julienne: A Framework for Parallel Graph Algorithms using Work-efficient
    Bucketing. SPAA 2017.

    Examples
    --------
    A triangle with a pendant vertex, and an isolated vertex.

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], n=5)
    >>> gasla.core_number(graph)
    array([2, 2, 2, 1, 0], dtype=int32)
    """
    graph = simplify(graph)
    cores: np.ndarray = peel(graph) if _has_kernel(graph) else run(Cores, graph).degree
    return cores


def _has_kernel(graph: Any) -> bool:
    """Return whether a kernel, rather than a vertex program, should peel a simple graph.

    The kernel of a GPU reads adjacency lists in small pieces, so they must be in the memory of the GPU.
    """
    if graph.engine == "gpu":
        return not graph.is_streamed and graph.max_out_degree <= FLAT["gpu"]
    return fits_one_thread(graph, None if graph.max_out_degree <= FLAT["cpu"] else ONE_THREAD)


def _core_heading(result_view: Any) -> str:
    """Return the heading of the command `core-number`: the largest k of a k-core, and how many vertices are in it.

    `result_view` has the results of the function.
    """
    highest = int(result_view["numbers"].max(initial=0))
    count = int((result_view["numbers"] == highest).sum())
    return f"the main core is the {highest:,}-core, with {count:,} vertices; highest core numbers:"


ROW = Row(
    core_number,
    scores("core-number", {"numbers": "core"}, _core_heading),
    Task(),
    method="peeling without barriers in a level: PKC (Kabir, Madduri, 2017); KCoreGPU (Ahmad et al., ICDE 2023)",
    longer="Vertices are peeled, and each step of a level waits for the one before.",
)
