"""Label propagation: every vertex repeatedly takes the label that is most frequent among its neighbors.

At first every vertex has a label of its own. Then each vertex with a neighbor that changed takes the label of the
largest total weight among its neighbors. Ties go to the smallest label, in a random order of the labels.

If all vertices update at once, the run may not end: the two ends of an edge swap labels, and a grid alternates like a
chessboard. So in every other iteration a vertex may only change to a smaller label, which two neighbors cannot both do
to each other (the *pick-less* rule of ν-LPA). The rule may hold vertices back. So once no label changes, all vertices
are updated once more, and the run ends only if no label changes then either.

The synchronous method is the CDLP of LDBC Graphalytics. All vertices update at once, for a given number of iterations.
Of the most frequent labels the smallest is taken, in the order of the vertices. The result is unique.

An iteration reads a neighbor id and a label (8 bytes) per edge, and stores 12 bytes per distinct neighboring label.
"""

from typing import Any, Literal, get_args

import numpy as np

import semirings
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import module_of
from gasla.graph.arguments import MOST_SEED, check_choice, check_flags, most_iterations, real_number, whole_number
from gasla.graph.graph import as_graph
from gasla.graph.weights import check_sums, in_range, sum_type, takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.operations.primitives import number
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, aggregate, edge, option, parameter, vertex
from gasla.rows import Row, Task, groups

Method = Literal["pick-less", "synchronous"]


class SynchronousLabels(VertexProgram):
    """label(v) = the most frequent label of v's neighbors, or that of the largest total weight.

    Ties go to the smallest label.
    """

    weights = option(None)  # dtype of the weights; None if unweighted
    direction = option("in")
    label = vertex(ID, init=lambda vertex: vertex.id)
    weight = edge(weights, when=weights)
    reduce = semirings.plus

    def key(self, src, dst, edge):
        counts = src.id != dst.id
        if self.weights:
            counts &= edge.weight != 0
        return semirings.where(counts, src.label, -1)

    def gather(self, src, dst, edge):
        return semirings.cast(edge.weight, sum_type(self.weights)) if self.weights else semirings.cast(1, np.int32)

    def choose(self, vertex, key, total):
        return total  # the largest total wins; of equal totals, the smallest label

    def apply(self, vertex, gathered):
        return {"label": semirings.where(gathered.key >= 0, gathered.key, vertex.label)}


class Labels(SynchronousLabels):
    """Label propagation by the pick-less method: in every other iteration, a label may only be replaced by a smaller
    one.

    This keeps neighbors from exchanging their labels forever. When no label changes any more, a new round of iterations
    begins with an update of all vertices, unless the last round had only one iteration.
    """

    enough = parameter(np.float64, 0)
    began = parameter(np.int64, 0)
    took = parameter(np.int64, 0)

    def is_free(self):
        """Return whether vertices may take any label in this iteration. In the other iterations they may only take a
        smaller one.
        """
        return (self.iteration - self.began) % 2 == 0

    def apply(self, vertex, gathered):
        takes = (gathered.key >= 0) & (self.is_free() | (gathered.key < vertex.label))
        return {"label": semirings.where(takes, gathered.key, vertex.label)}

    @aggregate(semirings.plus, np.int64)
    def moved(self, before, after):
        return semirings.where(before.label != after.label, 1, 0)

    def stop(self):
        return self.is_free() & (self.moved > 0) & (self.moved <= self.enough)

    def idle(self):
        return {"began": self.iteration, "took": self.iteration - self.began}

    def wake(self, vertex):
        return self.took > 1


class SmallestMembers(VertexProgram):
    """least(v) = the smallest vertex that has the same label as v, by which labels are renumbered."""

    label = vertex(ID)
    least = vertex(ID)
    everyone = True

    @aggregate(semirings.min, ID, at=lambda self, vertex: vertex.label)
    def first(self, before, after):
        return after.id

    def apply(self, vertex, _):
        return {"least": self.at(vertex.label).first}


class RandomOrder:
    """A random permutation of the vertices, which gives each vertex a distinct random label, and its inverse.

    Ties of label propagation go to the smallest label, so labels must be in random order. The permutation consists of
    two rounds of odd multiplication and xor-shift, which are both invertible. Labels fit the dtype of ids, so a
    comparison of two labels is one comparison of integers. As an alternative, hashing labels at each comparison took a
    third of the time of a run.
    """

    def __init__(self, seed: int, ids: np.dtype[Any]) -> None:
        self._ids, self._kind = ids, np.dtype(f"u{ids.itemsize}").type
        self._bits = 8 * ids.itemsize - 1
        self._first, factor = (int(semirings.hash(np.uint64(seed), i)) % 2**self._bits for i in (0, 1))
        self._factor = factor | 1
        self._back = pow(self._factor, -1, 2**self._bits)

    def labels(self, vertices: Any) -> Any:
        """Return the random labels of the given vertices."""
        labels = vertices.astype(self._kind)
        labels ^= self._kind(self._first)
        for _ in range(2):
            self._multiply(labels, self._factor)
            self._fold(labels)
        return labels.view(self._ids)

    def vertices(self, labels: Any) -> Any:
        """Return the vertices whose random labels are given: the inverse of the method `labels`."""
        vertices = labels.astype(self._kind)
        for _ in range(2):
            self._fold(vertices)
            self._multiply(vertices, self._back)
        vertices ^= self._kind(self._first)
        return vertices.view(self._ids)

    def _multiply(self, numbers: Any, factor: int) -> None:
        numbers *= self._kind(factor)
        numbers &= self._kind(2**self._bits - 1)

    def _fold(self, numbers: Any) -> None:
        """Replace the lower half of the bits of each number by its xor with the upper half, in place.

        A second call restores the numbers.
        """
        numbers ^= numbers >> self._kind(self._bits // 2 + 1)


@takes_weight
@on_one_device()
def label_propagation(
    graph: Any,
    *,
    weighted: bool = False,
    seed: int = 0,
    max_iter: int = 100,
    tol: float = 1e-3,
    method: Method = "pick-less",
) -> np.ndarray:
    """Find communities by label propagation.

    Parameters
    ----------
    graph : Graph or SciPy or CuPy sparse array or matrix
        `A[i, j]` is an edge between i and j, read as undirected. The two directions of an edge count once in a
        symmetric matrix, and as two edges otherwise.
    weighted : bool
        Whether neighbors count by edge values, which must be finite and not negative. Otherwise each edge counts 1.
    seed : int
        Seed of the random order that breaks ties: 0 to 2**64 - 1. Not used by "synchronous".
    max_iter : int
        Maximum number of iterations; for "synchronous" their number.
    tol : float
        The run ends when at most this fraction of the vertices changes its label in an iteration; with 0, when none
        would. Not used by "synchronous".
    method : "pick-less" or "synchronous"
        "pick-less" finds communities. "synchronous" is the CDLP of LDBC Graphalytics, for comparison with other
        systems: at first each vertex has its id as label; in each iteration all vertices take the most frequent label
        among their neighbors at once, of several the smallest. Labels may alternate without end, as on a single edge.

    Returns
    -------
    (n,) array of int32 or int64
        The community of each vertex, numbered from 0 in the order of their smallest vertices. A vertex without
        neighbors is a community of its own. The result is one of many, determined by the seed on either device; only
        with weights that are not integers may a GPU differ, since it sums them in any order.

        For "synchronous" the label of each vertex: the id of the vertex whose label it was at first, which may have
        another label by now. Unique, but for rounding of such weights.

    Raises
    ------
    TypeError, ValueError
        If a weight is negative, infinite or NaN, integer weights sum to 2**63 or more (2**64 for uint64), or an
        argument is out of range.

    Notes
    -----
    A stored zero is an edge unless `weighted`. Parallel edges add up. Self loops are ignored. A community may be
    disconnected. In a graph without communities, most of a component may end in one.

    References
    ----------
    U. N. Raghavan, R. Albert, S. Kumara: Near Linear Time Algorithm to Detect Community Structures in Large-Scale
    Networks. Physical Review E 76 (2007).

    S. Sahu: ν-LPA: Fast GPU-based Label Propagation Algorithm for Community Detection. arXiv:2411.11468 (2024).

    A. Iosup et al.: The LDBC Graphalytics Benchmark. arXiv:2011.15028 (2020).

    Examples
    --------
    >>> import gasla
    >>> two_triangles = gasla.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3])
    >>> gasla.label_propagation(two_triangles)
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> gasla.label_propagation(two_triangles, method="synchronous", max_iter=3)
    array([0, 0, 0, 2, 2, 2], dtype=int32)
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    check_choice("method", method, get_args(Method))
    seed, limit = whole_number("seed", seed, MOST_SEED), most_iterations("max_iter", max_iter)
    tol = real_number("tol", tol)
    weighted = weighted and graph.value_type is not None
    if weighted:
        graph.notice_values()
        graph, _ = in_range(graph)
        check_sums("label_propagation", graph)
    options = {"weights": graph.value_type if weighted else None, "direction": undirected(graph, weighted=weighted)}
    xp: Any = module_of(graph.device)
    if method == "synchronous":
        return xp.asarray(run(SynchronousLabels(**options), graph, max_iterations=limit, notice=False).label)
    permutation = RandomOrder(seed, graph.id_dtype)
    initial = permutation.labels(xp.arange(graph.n, dtype=graph.id_dtype))
    spread = run(
        Labels(**options), graph, max_iterations=limit, enough=tol * graph.n, label=initial, notice=False
    ).label
    smallest = run(SmallestMembers, graph, max_iterations=1, label=permutation.vertices(spread), notice=False)
    labels = xp.asarray(smallest.least)  # of a distributed graph, this gathers the labels from all ranks
    number(labels)
    return labels


ROW = Row(
    label_propagation,
    groups("label-propagation", "community", "communities"),
    Task(form="nothing"),
    Task("synchronous_labels", {"method": "synchronous", "max_iter": 10}, "label_propagation"),
    method="GVE-LPA (Sahu, arXiv:2312.08140, 2023); on a GPU ν-LPA (arXiv:2411.11468, 2024)",
    longer="Each of several iterations counts the labels of all neighbors in a hash table per vertex.",
)
