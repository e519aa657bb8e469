"""Feature aggregation: for every vertex the sum, mean, maximum or minimum of its in-neighbors' feature vectors.

Layers of graph neural networks use it. The message along an edge is the row of its source, multiplied by the edge's
weight if weighted.

The aggregation is a product of a dense matrix, the features, with the graph over plus_times or a similar semiring. Each
edge is read once for all features of its source, which the CPU processes with SIMD instructions.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

import semirings
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import check_choice, check_flags
from gasla.graph.graph import Graph, as_graph
from gasla.graph.typed_graph import Relation, TypedGraph
from gasla.graph.validate import as_array, range_of
from gasla.graph.weights import in_range, takes_weight
from gasla.operations.multiply import vxm
from gasla.operations.on_one_device import on_one_device
from gasla.rows import UNWEIGHTED, Command, Row
from semirings import Semiring

Reduction = Literal["sum", "mean", "max", "min"]
MONOIDS = {"sum": semirings.plus, "mean": semirings.plus, "max": semirings.max, "min": semirings.min}
# for each `dtype.kind` of integer features, the dtype in which they are summed, as in NumPy
SUM_DTYPES = {"b": np.int64, "i": np.int64, "u": np.uint64}
# overflowing means are computed from features times 2**-32, so that sums of up to 2**32 of them do not overflow
SCALE_EXPONENT = 32


@takes_weight
@on_one_device()
def aggregate_features(graph: Any, features: Any, reduce: Reduction = "sum", *, weighted: bool = True) -> Any:
    """Aggregate the features of every vertex's in-neighbors: their sum, mean, maximum or minimum.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j, along which the features of i are passed to j: a weighted sum is `A.T @ features`.
        Pass `A.T` for the other direction. Of a `TypedGraph`, the features of each relation's sources are passed.
    features : (n, k) or (n,) array, or of a typed graph a mapping from type to array
        One row per vertex, on the device of the graph: bool, integers, float16, float32 or float64.
    reduce : "sum", "mean", "max" or "min"
        The reduction, per feature. A weighted mean is the weighted sum over the sum of the weights.
    weighted : bool
        Whether a row is multiplied by the edge's value. Otherwise, and in a graph without values, all edges count 1.

    Returns
    -------
    (n, k) or (n,) array
        0 for vertices without in-edges; for a mean also if the in-edges' weights sum to 0. float16 becomes float32;
        integers become int64 or uint64, or float64 in a mean; without weights, maxima and minima keep the type of
        integers. With weights the type is that of the product, by NumPy's rules. NaN propagates.
    dict from relation to (n, k) or (n,) array
        For a typed graph, of each relation whose source type has features: a row for each vertex of the target type.

    Raises
    ------
    TypeError
        If features have another type, or are not on the device of the graph.
    ValueError
        If features have another shape, `reduce` is unknown, weights of a mean are negative or not finite, or sums or
        products of integers may overflow 64 bits.

    Notes
    -----
    Stored zeros are edges, of weight 0 if `weighted`. Each of parallel edges counts, and so do self loops.

    On a GPU the function may return before its kernel finishes, as CuPy's functions do.

    References
    ----------
    G. Huang, G. Dai, Y. Wang, H. Yang: GE-SpMM: General-purpose Sparse Matrix-Matrix Multiplication on GPUs for Graph
    Neural Networks. SC 2020.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> graph = gasla.Graph.from_edges([0, 1, 0], [2, 2, 1], [0.5, 2.0, 1.0])
    >>> features = np.array([[1.0, 4.0], [2.0, 0.0], [9.0, 9.0]])
    >>> gasla.aggregate_features(graph, features)
    array([[0. , 0. ],
           [1. , 4. ],
           [4.5, 2. ]])
    >>> gasla.aggregate_features(graph, features, "max", weighted=False)
    array([[0., 0.],
           [1., 4.],
           [2., 4.]])

    >>> likes = ("user", "likes", "item")
    >>> typed = gasla.TypedGraph({likes: [[0, 1, 1], [0, 0, 2]]})
    >>> gasla.aggregate_features(typed, {"user": np.array([1.0, 5.0])})[likes]
    array([6., 0., 5.])
    """
    if isinstance(graph, TypedGraph):
        return _aggregate_relations(graph, features, reduce, weighted)
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    check_choice("reduce", reduce, get_args(Reduction))
    weighted = weighted and graph.values is not None
    features = _feature_rows(graph, features)
    if weighted:
        graph.notice_values()
        if reduce == "mean":
            graph, _ = in_range(graph, features.dtype if features.dtype.kind == "f" else np.float64)
    if not _sums_fit(graph, features, reduce, weighted):
        if reduce != "mean":
            raise ValueError(
                f"the {reduce} of integer features may overflow 64 bits; expected smaller numbers, or floats: "
                "features.astype(np.float64)"
            )
        features = features.astype(np.float64)
    semiring = _semiring(reduce, weighted, features.dtype)
    rows: np.ndarray[Any, Any] = vxm(features, graph, semiring)
    if reduce == "sum":
        return rows
    rows = module_of(graph.device).asarray(rows)  # of a distributed graph, this gathers the rows of all ranks
    if reduce == "mean":
        weight_total = vxm(module_of(graph.device).ones(graph.n), graph) if weighted else graph.in_degrees
        means = _divide_rows(rows, weight_total)
        return (
            means
            if features.dtype.kind != "f"
            else _repair_overflowed_means(graph, features, semiring, weight_total, means)
        )
    rows[graph.in_degrees == 0] = 0
    return rows


def _aggregate_relations(graph: TypedGraph, features: Any, reduce: Reduction, weighted: bool) -> dict[Relation, Any]:
    """Aggregate features over each relation of a typed graph whose source vertices have features.

    `features` maps vertex types to arrays. Return a dict from each of these relations to the rows of its target
    vertices.
    """
    if not isinstance(features, Mapping):
        raise TypeError(f"features is a {type(features).__name__}; expected a mapping from type to an array for it")
    rows = {}
    for vertex_type, features_of_type in features.items():
        rows[vertex_type] = as_array(f"features[{vertex_type!r}]", features_of_type)
        if rows[vertex_type].ndim not in (1, 2) or len(rows[vertex_type]) != graph.vertices(vertex_type).n:
            raise ValueError(
                f"features[{vertex_type!r}] have shape {rows[vertex_type].shape}; expected "
                f"({graph.sizes[vertex_type]}, k), a row for each vertex"
            )
    by_relation = {}
    for name, relation in graph.relations.items():
        if name[0] in rows:
            x, first_target = rows[name[0]], graph.starts(name)[1]
            # Target vertices come after the source vertices. They get rows of zeros, which no edge reads, since no edge
            # leaves them.
            if relation.n > len(x):
                xp: Any = array_module(x)
                x = xp.concatenate([x, xp.zeros((relation.n - len(x), *x.shape[1:]), x.dtype)])
            by_relation[name] = aggregate_features(relation, x, reduce, weighted=weighted)[first_target:]
    return by_relation


@lru_cache
def _semiring(reduce: str, weighted: bool, dtype: np.dtype) -> Semiring:
    """Return the semiring that aggregates features of a dtype by the reduction `reduce`.

    Its multiplication makes the message along an edge: the feature, times the weight if weighted, in a dtype that holds
    sums. Its monoid combines the messages.
    """
    sum_dtype = SUM_DTYPES.get(dtype.kind, dtype) if weighted or MONOIDS[reduce] is semirings.plus else dtype

    def message(x, weight):
        row = semirings.cast(x, sum_dtype)
        return row * weight if weighted else row

    return Semiring(MONOIDS[reduce], message, name=f"{reduce}_of_features")


def _sums_fit(graph: Graph, features: Any, reduce: str, weighted: bool) -> bool:
    """Return whether sums of integer features, or of their products with weights, surely fit the dtype of the result.

    Bounds from the dtypes or the largest values are tried first. If they do not suffice, the sums of absolute values
    are computed in float64.
    """
    adds = MONOIDS[reduce] is semirings.plus
    if features.dtype.kind == "f" or not (adds or weighted) or 0 in (features.size, graph.m):
        return True
    sum_dtype = np.result_type(SUM_DTYPES[features.dtype.kind], graph.values.dtype if weighted else np.bool_)  # type: ignore[union-attr]
    if sum_dtype.kind == "f":
        return True
    xp, limit = module_of(graph.device), int(np.iinfo(sum_dtype).max)
    count = graph.max_in_degree if adds else 1
    largest_term = _largest_magnitude(features) * (
        _largest_magnitude(graph.values, graph.value_range) if weighted else 1
    )
    if largest_term * count <= limit or not adds:
        return largest_term * count <= limit
    magnitudes = abs(features.astype(np.float64))
    weighted_graph = graph.with_values(lambda values: abs(values.astype(np.float64))) if weighted else graph
    largest_sum = float(xp.max(vxm(magnitudes, weighted_graph, _semiring(reduce, weighted, magnitudes.dtype))))
    return largest_sum * (1 + 1e-6) <= limit


def _largest_magnitude(values: Any, bounds: Any = None) -> int:
    """Return an upper bound of the absolute values of an array of integers.

    For dtypes of up to 32 bits it is the bound of the dtype. For 64 bits it follows from `bounds`, the smallest and
    largest value if known, or from a pass over the values.
    """
    dtype = values.dtype
    if dtype.kind == "b":
        return 1
    if dtype.itemsize < 8:
        return max(-int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    smallest, largest = map(int, bounds or range_of(values.ravel()))
    return max(-smallest, largest)


def _repair_overflowed_means(graph: Graph, features: Any, semiring: Semiring, weight_total: Any, means: Any) -> Any:
    """Return `means`, in which the entries that are not finite are computed again without overflow.

    An entry of `means` is the mean of a feature over the neighbors of a vertex. It is infinite if the sum over the
    neighbors overflowed. Then the sum is computed from features that are scaled down, and the mean is scaled up again.
    `weight_total` has, for each vertex, the weight by which its sums are divided.
    """
    xp: Any = array_module(means)
    if bool(xp.isfinite(means).all()):
        return means
    rescaled = xp.ldexp(
        _divide_rows(vxm(xp.ldexp(features, -SCALE_EXPONENT), graph, semiring), weight_total), SCALE_EXPONENT
    )
    return xp.where(xp.isfinite(means), means, rescaled.astype(means.dtype, copy=False))


def _feature_rows(graph: Graph, features: Any) -> Any:
    """Return the argument `features` of `aggregate_features`, after checks, as an array with one row per vertex."""
    features = as_array("features", features)
    if features.dtype.kind not in "biuf" or features.dtype.itemsize > 8:
        raise TypeError(f"features have type {features.dtype}; expected bool, integers, float16, float32 or float64")
    if features.ndim not in (1, 2) or len(features) != graph.n:
        raise ValueError(f"features have shape {features.shape}; expected ({graph.n}, k), a row for each vertex")
    return features.astype(np.float32) if features.dtype == np.float16 else features


def _divide_rows(sums: Any, weight: Any) -> np.ndarray[Any, Any]:
    """Divide the sum of features of each vertex, a row of `sums`, by the vertex's total weight, to get means.

    Rows of weight 0 are not divided. Floats change in place.
    """
    xp: Any = array_module(sums)
    float_dtype = sums.dtype if sums.dtype.kind == "f" else np.dtype(np.float64)
    weight = xp.where(weight == 0, 1, weight).astype(float_dtype)
    means: np.ndarray[Any, Any] = sums.astype(float_dtype, copy=False)
    means /= weight if sums.ndim == 1 else weight[:, np.newaxis]
    return means


ROW = Row(
    aggregate_features,
    Command(
        *("aggregate-features", {"aggregated": "feature"}),
        lambda f: f"{f.arguments['reduce']} over in-neighbors: minimum, mean and maximum of each feature",
        *(lambda f: f.features(), "rows"),
        options=UNWEIGHTED,
    ),
    "aggregate_features(g, np.ones((n, 8)))",
    method="GE-SpMM (Huang et al., SC 2020); FlashSparse on tensor cores (Shi et al., PPoPP 2025)",
    longer="64 numbers are read for each edge, where components read one label, of few edges.",
)
