"""Label propagation: communities, as each vertex takes the label that most of its neighbors have.

At first every vertex has a label of its own. Then each one with a neighbor that changed looks at the labels around
it, and takes that which weighs most; of those that weigh the same, the one that comes first by lot.

Taken at once by all, that goes on for ever: the two ends of an edge swap labels, and on a grid all do, as on a
chessboard. So in every other iteration labels only change for those that come before them by lot, which no two
neighbors can do to each other (ν-LPA's *pick-less*, there by the numbers of labels). This may hold vertices back: so
once no label changes, all look once more, and the run ends only if none changes then either.

An iteration reads, for each edge looked at, a neighbor and its label (8 bytes), and keeps 12 for each label around.

U. N. Raghavan, R. Albert, S. Kumara: Near Linear Time Algorithm to Detect Community Structures in Large-Scale Networks.
Physical Review E 76 (2007).
S. Sahu: ν-LPA: Fast GPU-based Label Propagation Algorithm for Community Detection. arXiv:2411.11468 (2024).
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import module_of
from gasla.graph.arguments import (
    MOST_SEED,
    check_flags,
    most_iterations,
    real_number,
    whole_number,
)
from gasla.graph.graph import as_graph
from gasla.graph.weights import check_sums, in_range, sum_type
from gasla.operations.prepare import prepare
from gasla.operations.primitives import number
from gasla.operations.run import run
from gasla.program.fields import ID, aggregate, edge, parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram


class Labels(VertexProgram):
    """label(v) = that of most neighbors, or that whose edges weigh most.

    A round begins with all; in its odd iterations labels only get earlier.
    """

    weights = option(None)  # their type, where edges count by weight
    direction = option("in")
    label = vertex(ID, init=lambda vertex: vertex.id)
    weight = edge(weights, when=weights)
    enough = parameter(np.float64, 0)
    began = parameter(np.int64, 0)
    took = parameter(np.int64, 0)
    reduce = semirings.plus

    def is_free(self):
        """Whether labels may change for any other."""
        return (self.iteration - self.began) % 2 == 0

    def key(self, src, dst, edge):
        return semirings.where(src.id == dst.id, -1, src.label)

    def gather(self, src, dst, edge):
        return semirings.cast(edge.weight, sum_type(self.weights)) if self.weights else semirings.cast(1, np.int32)

    def choose(self, vertex, key, total):
        return total  # of those that weigh the same, the smallest label wins

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


class Smallest(VertexProgram):
    """least(v) = the smallest of those with the label of v."""

    label = vertex(ID)
    least = vertex(ID)
    everyone = True

    @aggregate(semirings.min, ID, at=lambda self, vertex: vertex.label)
    def first(self, before, after):
        return after.id

    def apply(self, vertex, _):
        return {"least": self.at(vertex.label).first}


class Lot:
    """A label for every vertex by lot: its number times odd ones, folded, in a bit less than its type has.

    So no two have the same, and each tells whose it was. That the smaller comes first then costs a comparison; a hash
    of each label that is looked at took a third of the time.
    """

    def __init__(self, seed: int, ids: np.dtype[Any]) -> None:
        self._ids, self._kind = ids, np.dtype(f"u{ids.itemsize}").type
        self._bits = 8 * ids.itemsize - 1
        self._first, factor = (int(semirings.hash(np.uint64(seed), i)) % 2**self._bits for i in (0, 1))
        self._factor = factor | 1
        self._back = pow(self._factor, -1, 2**self._bits)

    def labels(self, vertices: Any) -> Any:
        """The labels of vertices."""
        labels = vertices.astype(self._kind)
        labels ^= self._kind(self._first)
        for _ in range(2):
            self._multiply(labels, self._factor)
            self._fold(labels)
        return labels.view(self._ids)

    def vertices(self, labels: Any) -> Any:
        """Whose labels those were."""
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
        """Upper bits change lower ones; twice is none."""
        numbers ^= numbers >> self._kind(self._bits // 2 + 1)


def label_propagation(
    graph: Any, *, weighted: bool = False, seed: int = 0, max_iter: int = 100, tol: float = 1e-3
) -> np.ndarray:
    """Find communities by label propagation.

    Parameters
    ----------
    graph : Graph or SciPy or CuPy sparse array or matrix
        `A[i, j]` is an edge between i and j. Directions don't matter: an edge that is there both ways counts once in a
        symmetric matrix, and as two in another.
    weighted : bool
        Whether values are weights, which must be finite and not negative; by default every edge counts the same.
    seed : int
        Of the lot that decides between labels that weigh the same: 0 to 2**64 - 1.
    max_iter : int
        The most iterations.
    tol : float
        It ends once at most this share of the vertices has changed labels in an iteration; with 0, when nobody would.

    Returns
    -------
    (n,) array of int32 or int64
        The number of each vertex's community, from 0 in the order of their smallest vertices. Who has no neighbor is
        alone. One of many divisions: the same for the same seed, on either device; but with weights that are no whole
        numbers, a GPU adds them up in any order.

    Raises
    ------
    TypeError, ValueError
        If a weight is negative, infinite or NaN, or integer weights sum to 2**63 or more (of uint64 2**64); if an
        argument is out of range.

    Notes
    -----
    A community need not hang together. On a graph without communities, most of a part may end in one.

    References
    ----------
    U. N. Raghavan, R. Albert, S. Kumara: Near Linear Time Algorithm to Detect Community Structures in Large-Scale
    Networks. Physical Review E 76 (2007).

    S. Sahu: ν-LPA: Fast GPU-based Label Propagation Algorithm for Community Detection. arXiv:2411.11468 (2024).

    Examples
    --------
    >>> import gasla
    >>> two_triangles = gasla.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3])
    >>> gasla.label_propagation(two_triangles)
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    seed, limit = whole_number("seed", seed, MOST_SEED), most_iterations("max_iter", max_iter)
    tol = real_number("tol", tol)
    smallest = prepare(Smallest, graph)  # first, so that ranks, which can't run it, refuse before they work
    weighted = weighted and graph.values is not None
    if weighted:
        graph.notice_values()
        graph, _ = in_range(graph)
        check_sums("label_propagation", graph)
    form = {"weights": graph.values.dtype if weighted else None, "direction": undirected(graph, weighted=weighted)}
    lot = Lot(seed, graph.id_dtype)
    drawn = lot.labels(module_of(graph.device).arange(graph.n, dtype=graph.id_dtype))
    found = run(Labels(**form), graph, max_iterations=limit, enough=tol * graph.n, label=drawn, notice=False).label
    labels = smallest(max_iterations=1, label=lot.vertices(found)).least
    number(labels)
    return labels
