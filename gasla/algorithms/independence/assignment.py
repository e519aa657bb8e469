"""Assignment: the lightest matching of a bipartite graph that gives a mate to each vertex of the smaller side.

SciPy's solver finds it: shortest augmenting paths with potentials, one after another, on one thread.
"""

from typing import Any

import numpy as np

from gasla.algorithms.independence.maximum_bipartite_matching import left_side
from gasla.graph.arguments import in_host_memory, weight_range
from gasla.graph.graph import Graph
from gasla.rows import Row

LARGEST_EXACT = 2**53  # integers up to this number are exact in float64, in which SciPy adds up weights


def assignment(graph: Any) -> np.ndarray:
    """Assign each vertex of the smaller side of a bipartite graph a mate of the other side, at the lowest total weight.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the weight of an edge between i and j, read as undirected: any number but infinity, 0 included;
        1 without values. In host memory. The sides are those that the graph knows (`Graph.sides`).
        `Graph.from_bipartite` makes a graph of a biadjacency matrix. If the graph does not know its sides, they are
        those of `is_bipartite`, and all vertices must have mates.

    Returns
    -------
    (n,) array of ids
        The mate of each vertex, -1 if it has none: `mate[mate[v]] == v`. One of the lightest; deterministic for a
        version of SciPy.

    Raises
    ------
    TypeError
        If the graph is on a GPU.
    ValueError
        If the graph is not bipartite, or no matching reaches all vertices of the smaller side (of both sides, if the
        graph does not know them); if a weight is NaN or infinite, or integers are so large that a sum might be
        rounded: the number of vertices times the largest exceeds 2**53.

    See Also
    --------
    gasla.maximum_bipartite_matching : as many pairs as possible, whatever they weigh, on either device.
    gasla.maximal_matching : of any graph, heavy edges first.

    Notes
    -----
    Of parallel edges, in either direction, the lightest counts. For the heaviest matching negate the weights:
    ``graph.with_values(-graph.values)``. The work is O(n (m + n log n)) at worst. Ctrl-C waits for SciPy's solver,
    `scipy.sparse.csgraph.min_weight_full_bipartite_matching`. For a dense matrix of costs there is
    `scipy.optimize.linear_sum_assignment`.

    References
    ----------
    R. Jonker, A. Volgenant: A Shortest Augmenting Path Algorithm for Dense and Sparse Linear Assignment Problems.
    Computing 38 (1987).

    Examples
    --------
    Workers 0 to 2, tasks 3 to 5, and what each worker asks for a task:

    >>> import gasla
    >>> costs = gasla.Graph.from_edges([0, 0, 1, 1, 2, 2], [3, 4, 3, 5, 4, 5], [4, 2, 1, 7, 3, 5])
    >>> gasla.assignment(costs)
    array([4, 3, 5, 1, 0, 2], dtype=int32)
    """
    graph = in_host_memory("assignment", graph)
    weights = _scaled_weights(graph)
    is_left = left_side(graph)
    left, right = np.flatnonzero(is_left), np.flatnonzero(~is_left)
    if graph.sides is None and len(left) != len(right):
        raise ValueError(
            f"{len(left)} vertices are on one side and {len(right)} on the other, so that not all have mates; expected "
            "a graph that knows its sides, as of Graph.from_bipartite"
        )
    mates = np.full(graph.n, -1, graph.id_dtype)
    if min(len(left), len(right)) == 0:
        return mates
    rows, columns = _solve_by_scipy(graph, weights, is_left)
    mates[left[rows]], mates[right[columns]] = right[columns], left[rows]
    return mates


def _scaled_weights(graph: Graph) -> np.ndarray:
    """Return the weights as float64, scaled by a power of two so that no sum overflows.

    SciPy adds up weights in float64. Raise ValueError if integer weights are too large for exact sums.
    """
    graph.notice_values()
    smallest, largest_value = map(float, weight_range(graph))
    if graph.values is None or graph.m == 0:
        return np.ones(graph.m)
    if largest_value == np.inf:
        raise ValueError("a weight is infinite; expected finite weights: leave out edges that must not be taken")
    values: np.ndarray = graph.values
    largest = max(-int(values.min()), int(values.max())) if values.dtype.kind in "iu" else max(-smallest, largest_value)
    if values.dtype.kind in "iu" and graph.n * largest > LARGEST_EXACT:
        raise ValueError(
            f"a weight is {largest} in absolute value, and there are {graph.n} vertices; expected a product of at most "
            "2**53, so that sums are exact: pass floats, graph.with_values(graph.values.astype(np.float64))"
        )
    scaled: np.ndarray = np.ldexp(values.astype(np.float64), -int(np.frexp(float(largest))[1]))
    scaled[scaled == 0] = np.finfo(np.float64).tiny  # SciPy would take a stored zero for a missing edge
    return scaled


def _solve_by_scipy(graph: Graph, weights: np.ndarray, is_left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the matched pairs of the lightest matching, which SciPy finds, as two arrays.

    They are the row and the column of each pair in a matrix with a row for each vertex of the left side, and a column
    for each vertex of the right side.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    number_on_side = np.where(is_left, np.cumsum(is_left), np.cumsum(~is_left)) - 1
    src, dst = graph.edges()
    row, column = number_on_side[np.where(is_left[src], src, dst)], number_on_side[np.where(is_left[src], dst, src)]
    order = np.lexsort((weights, column, row))
    row, column, weights = row[order], column[order], weights[order]
    is_lightest = np.ones(len(order), bool)  # keeps only the lightest of several parallel edges
    is_lightest[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    count = int(is_left.sum())
    indptr = np.searchsorted(row[is_lightest], np.arange(count + 1))
    matrix: Any = csr_array((weights[is_lightest], column[is_lightest], indptr), shape=(count, graph.n - count))
    try:
        rows, columns = min_weight_full_bipartite_matching(matrix)
    except ValueError as error:
        if "no full matching" not in str(error):
            raise
        raise ValueError(
            f"no matching reaches all {min(matrix.shape)} vertices of the smaller side; expected edges for one: "
            "maximum_bipartite_matching finds as many pairs as possible"
        ) from None
    return rows, columns


ROW = Row(
    assignment,
    method="shortest augmenting paths (Jonker, Volgenant, Computing 38, 1987)",
    longer="SciPy finds augmenting paths on one thread, in a dense matrix of 64 rows.",
)
