"""Fast random projection: embeds vertices by giving each a random row, which is averaged along edges a few times.

The similarity of two vertices' rows is that of their neighborhoods within a few steps. A sparse random matrix reduces n
columns to some dozens and nearly keeps distances (Johnson and Lindenstrauss; Achlioptas). So powers of the adjacency
matrix are never stored: each step is a product of the graph with an (n, dimension) matrix.
"""

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.neighborhood.aggregate_features import aggregate_features
from gasla.arrays import module_of
from gasla.graph.arguments import MOST_SEED, check_flags, real_number, whole_number
from gasla.graph.graph import whole_graph
from gasla.graph.memory_limit import require_room
from gasla.graph.weights import takes_weight
from gasla.rows import UNWEIGHTED, Command, Row, Task

ONES_OF_256 = 43  # 43 of the 256 values of a random byte become 1, and 43 become -1, which is about a sixth each
MOST_WEIGHT = 1e30  # largest weight of an iteration, so that sums of weighted rows stay finite in float32


@takes_weight
def fastrp(
    graph: Any,
    dimension: int = 128,
    *,
    iteration_weights: Sequence[float] = (0, 0, 1, 1),
    normalization_strength: float = 0.0,
    weighted: bool = True,
    seed: int = 0,
) -> Any:
    """Embed vertices by fast random projection (FastRP): vertices with similar neighborhoods get similar rows.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j: a vertex gets the mean of its out-neighbors' rows. Pass `A.T` for the other
        direction.
    dimension : int, default 128
        The number of columns of the embedding, 1 or more.
    iteration_weights : sequence of float, default (0, 0, 1, 1)
        What the rows after 0, 1, 2, … steps count in the sum: the first is the weight of a vertex's own random row, the
        second that of its out-neighbors, and so on. From -1e30 to 1e30.
    normalization_strength : float, default 0
        Random rows are multiplied by the out-degree to this power, from -1 to 1: with less than 0 hubs count less.
    weighted : bool, default True
        Whether means are weighted by values, 0 or more; otherwise each edge has weight 1.
    seed : int
        Seed of the random rows.

    Returns
    -------
    (n, dimension) float32
        On the device of the graph. After each step rows are scaled to length 1 before they are added, so rows are no
        longer than the sum of the absolute weights. A row of zeros stays one.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range, or a weight of an edge is negative, infinite or NaN.
    MemoryError
        If the embedding does not fit.

    See Also
    --------
    gasla.spectral_embedding : coordinates by eigenvectors, which take longer.
    gasla.node2vec_walks : walks for embeddings by a skip-gram model.

    Notes
    -----
    Entries of the random matrix are 1 and -1 with a probability of 43/256 each, about a sixth, and else 0. They are
    hashes of the seed, the vertex and the column: the same on every device, and for graphs of other sizes. With
    ``(self_influence, *weights)`` as `iteration_weights` this is FastRP of Neo4j GDS, apart from the random numbers.

    The steps take up to 28 bytes for each of the n times `dimension` numbers.

    References
    ----------
    H. Chen, S. F. Sultan, Y. Tian, M. Chen, S. Skiena: Fast and Accurate Network Embeddings via Very Sparse Random
    Projection. CIKM 2019.

    Examples
    --------
    Leaves of a star have the same row, since they have the same neighbor:

    >>> import gasla
    >>> star = gasla.Graph.from_edges([0, 0, 0], [1, 2, 3]).symmetrized()
    >>> rows = gasla.fastrp(star, 16)
    >>> rows.shape, bool((rows[1] == rows[3]).all())
    ((4, 16), True)
    """
    graph = whole_graph(graph)
    check_flags(weighted=weighted)
    width, seed_number = whole_number("dimension", dimension), whole_number("seed", seed, MOST_SEED)
    if width == 0:
        raise ValueError("dimension is 0; expected 1 or more")
    step_weights = _step_weights(iteration_weights)
    strength = real_number("normalization_strength", normalization_strength, -1, 1)
    require_room("the embedding has", graph.n * width, 28, graph.device, "a smaller dimension")
    xp: Any = module_of(graph.device)
    rows, backward = _random_rows(xp, graph.n, width, seed_number), graph.reversed()
    if strength:
        degrees = graph.out_degrees.astype(np.float64)
        rows *= (xp.where(degrees > 0, degrees, 1) ** strength).astype(np.float32)[:, None]
    embedding = xp.zeros((graph.n, width), np.float32)
    for step, step_weight in enumerate(step_weights):
        if step:
            rows = aggregate_features(backward, rows, "mean", weighted=weighted)
        if step_weight:
            sizes = xp.sqrt((rows**2).sum(axis=1, keepdims=True))
            embedding += rows * (np.float32(step_weight) / xp.where(sizes > 0, sizes, np.float32(1)))
    return embedding


def _step_weights(weights: Any) -> list[float]:
    """Return the argument `iteration_weights` as a list of floats, one for each iteration.

    Raise TypeError unless it is a list of numbers.
    """
    if not isinstance(weights, list | tuple | np.ndarray) or getattr(weights, "ndim", 1) != 1 or len(weights) == 0:
        raise TypeError(f"iteration_weights is {reprlib.repr(weights)}; expected a list of one or more numbers")
    return [real_number(f"iteration_weights[{i}]", x, -MOST_WEIGHT, MOST_WEIGHT) for i, x in enumerate(weights)]


def _random_rows(xp: Any, n: int, width: int, seed: int) -> Any:
    """Return an (n, width) float32 matrix of entries 1 and -1, each with probability 43/256, and otherwise 0.

    Each entry is made from one byte of a hash of the seed, the row and the column, so it is the same on any device.
    """
    random_words = semirings.hash(np.uint64(seed), xp.arange(n)[:, None], xp.arange(-(-width // 8)))
    random_bytes = random_words.view(np.uint8)[:, :width]
    return (random_bytes < ONES_OF_256).astype(np.float32) - (random_bytes >= 256 - ONES_OF_256)


ROW = Row(
    fastrp,
    Command(
        *("fastrp", {"rows": "coordinate"}),
        lambda f: f"{len(f['rows']):,} rows of {f['rows'].shape[1]} numbers; save them by --output",
        shape="rows",
        options=UNWEIGHTED,
        fixed={"iteration_weights": (0, 0, 1, 1)},
        unpack=lambda _, rows: {"rows": rows},
    ),
    Task(options={"dimension": 64}, form="nothing"),
    method="very sparse random rows, then products (Chen et al., CIKM 2019)",
    longer="Three products with 64 numbers per vertex, where components read one label.",
)
