"""Balanced partitions: k parts of about equal weight, with few edges between them, or few values to send.

The method is multilevel. Vertices are merged into groups, level by level, until few groups are left. The coarsest level
is divided into parts, and the parts are improved on each finer level. All of this is one algorithm of the CPU engine
(`primitives.balanced_parts`).
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from gasla.algorithms.community.community_programs import both_ways, counted
from gasla.graph.arguments import MOST_SEED, check_choice, check_flags, in_host_memory, real_number, whole_number
from gasla.graph.graph import Graph
from gasla.graph.weights import takes_weight
from gasla.operations.one_thread import MOST_PARTS, parts_of
from gasla.rows import UNWEIGHTED, Command, Row, Task

Objective = Literal["cut", "volume"]


class PartitionResult(NamedTuple):
    """The part of each vertex, the weight of the edges between parts, and the communication volume."""

    labels: np.ndarray[Any, Any]
    cut: float
    volume: int


@takes_weight
def partition(
    graph: Any,
    k: int,
    *,
    weighted: bool = True,
    objective: Objective = "cut",
    node_weights: Any = None,
    tolerance: float = 0.03,
    seed: int = 0,
) -> PartitionResult:
    """Divide the vertices into k parts of about equal weight with little between them, by a multilevel method.

    Parameters
    ----------
    graph : Graph, or SciPy sparse array or matrix
        `A[i, j]` is an edge between i and j, read as undirected. If `A` is not symmetric, parts are those of
        ``A + A.T``. Self loops are ignored. In host memory.
    k : int
        The number of parts, 1 to 2**24.
    weighted : bool, default True
        Whether edges count by their values, which must be finite and not negative. Otherwise each counts 1.
    objective : "cut" or "volume"
        What is made small: the weight of the edges between parts, or the number of values that vertices send if each
        sends one to each other part where it has a neighbor.
    node_weights : (n,) array of numbers, or dict of vertex to number, optional
        What vertices weigh, 0 or more; 1 by default. A dict gives 0 to all others.
    tolerance : float
        How much heavier than the mean a part may be, as a fraction of the mean, 0 or more.
    seed : int
        Seed of the order in which vertices are grouped, and of those around which parts grow: 0 to 2**64 - 1.

    Returns
    -------
    PartitionResult
        A named tuple ``(labels, cut, volume)``. `labels`, shape (n,), is the part of each vertex, 0 to k - 1; no part
        is empty if there are k vertices. `cut` is the weight of all edges between parts, `volume` the sum over
        vertices of the number of other parts with a neighbor. One of many possible results; deterministic, and the same
        for any number of threads.

    Raises
    ------
    TypeError, ValueError
        If the graph is on a GPU or over ranks, a weight is negative, infinite or NaN, or an argument is out of range.

    See Also
    --------
    gasla.leiden_communities : finds groups of any size, as many as there are.
    gasla.spectral_clustering : k clusters that need not be balanced.
    gasla.partition_table : the size and the cut of each part.

    Notes
    -----
    A part weighs at most ``(1 + tolerance) * mean``, or ``mean + (1 - 1 / k) * heaviest`` if that is more, where `mean`
    is the weight of all vertices divided by k, and `heaviest` that of the heaviest vertex: with heavy vertices there
    may be no better balance, and this one can always be reached. If vertices weigh 1, it is at most the mean, rounded
    up, where the tolerance allows no more.

    Stored zeros weigh 0 if `weighted`, and their ends are neighbors. Vertices join neighboring groups, level by level,
    until about 15 groups per part are left. Their graph is divided by repeated bisection: halves grow around several
    vertices, and the smallest cut is kept. On the way back, vertices at the boundary move to other parts as by Fiduccia
    and Mattheyses, in searches from all of them at once and from each alone. Of two such attempts, each on a thread,
    the better is taken, or a third that makes even parts first, if a tolerance above 0.1 or a heavy vertex lets parts
    grow. With `objective="volume"` single vertices move from there while that lessens the volume.

    References
    ----------
    G. Karypis, V. Kumar: A fast and high quality multilevel scheme for partitioning irregular graphs. SIAM Journal on
    Scientific Computing 20 (1998).

    H. Meyerhenke, P. Sanders, C. Schulz: Partitioning complex networks via size-constrained clustering. SEA 2014.

    Examples
    --------
    Two triangles, joined by an edge:

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3])
    >>> labels, cut, volume = gasla.partition(graph, 2)
    >>> cut, volume
    (1.0, 2)
    >>> labels[0] == labels[1] == labels[2] != labels[3]
    np.True_
    """
    graph = in_host_memory("partition", graph)
    check_flags(weighted=weighted)
    check_choice("objective", objective, get_args(Objective))
    part_count, seed_number = whole_number("k", k, MOST_PARTS), whole_number("seed", seed, MOST_SEED)
    if part_count < 1:
        raise ValueError(f"k is {k}; expected 1 to {MOST_PARTS}")
    tolerance = real_number("tolerance", tolerance)
    scaled, exponent = counted(graph, weighted)
    labels, cut_weight, volume = parts_of(
        both_ways(scaled), part_count, objective, node_weights, tolerance, seed_number
    )
    return PartitionResult(labels, _cut_weight(graph, labels) if exponent else cut_weight, volume)


def _cut_weight(graph: Graph, labels: np.ndarray[Any, Any]) -> float:
    """Return the total weight of the edges whose ends are in different parts of a partition, which `labels` gives.

    The graph's own weights are added up, and not the scaled weights of the search.
    """
    src, dst = graph.out.owners(), graph.out.indices
    between = labels[src] != labels[dst]
    if graph.has_symmetric_values:
        between &= src < dst  # in a symmetric graph each edge is stored in both directions, of which one counts
    with np.errstate(over="ignore"):  # if the sum exceeds float64, it is inf, without a warning
        return float(np.asarray(graph.out_values)[between].sum(dtype=np.float64))


def _report_lines(view: Any) -> Iterator[str]:
    """Yield the lines by which the command `partition` describes a partition, of which `view` has the results."""
    yield f"the edges between parts weigh {view['cut']:,.6g}, the communication volume is {view['volume']:,}"
    yield from view.groups()


ROW = Row(
    partition,
    Command(
        *("partition", {"labels": "part"}, lambda f: f.grouped("parts"), _report_lines),
        options=UNWEIGHTED,
        defaults={"k": 2},
    ),
    Task(options={"k": 8}, form="nothing"),
    method="multilevel: METIS (Karypis, Kumar, 1998), KaMinPar (Gottesbüren et al., ESA 2021)",
    longer="Levels of matchings and contractions, then refinement by moves that follow one another.",
)
