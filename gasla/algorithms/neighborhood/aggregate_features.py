"""Aggregated features: for every vertex the sum, the mean, the largest or the least of its in-neighbors' vectors.

Returned is a row a vertex, as a layer of a graph neural network takes it. What flows along an edge is the row of its
source, times the edge's weight.

It is a product of the features, a dense matrix, with the graph over plus_times or its like: each edge is read once for
all features, and these one after the other, in SIMD on the CPU.

G. Huang, G. Dai, Y. Wang, H. Yang: GE-SpMM: General-purpose Sparse Matrix-Matrix Multiplication on GPUs for Graph
Neural Networks. SC 2020.
"""

from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

import semirings
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import check_choice, check_flags
from gasla.graph.graph import Graph, as_graph
from gasla.graph.validate import as_array, range_of
from gasla.graph.weights import in_range
from gasla.operations.multiply import vxm
from semirings import Semiring

Reduction = Literal["sum", "mean", "max", "min"]
MONOIDS = {"sum": semirings.plus, "mean": semirings.plus, "max": semirings.max, "min": semirings.min}
WIDEST = {"b": np.int64, "i": np.int64, "u": np.uint64}  # in which whole numbers are added up, as NumPy does
SHIFT = 32  # powers of two, of which so many features at most don't overflow


def aggregate_features(
    graph: Any, features: Any, reduce: Reduction = "sum", *, weighted: bool = True
) -> np.ndarray[Any, Any]:
    """What the in-neighbors of every vertex come to: the sum of their features, or the mean, the largest, the least.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j, along which the features of i come to j: this is `A.T @ features`. For what comes
        the other way pass `A.T`. Parallel edges each count.
    features : (n, k) or (n,) array
        A row a vertex, on the device of the graph: bool, integers, float16, float32 or float64. Left as it is.
    reduce : "sum", "mean", "max" or "min"
        How rows come together, feature by feature. A mean is weighted: the sum over the sum of the weights.
    weighted : bool
        Whether a row is multiplied by the edge's value first; otherwise, and in a graph without values, all edges are
        alike. A stored zero is an edge of weight 0.

    Returns
    -------
    (n, k) or (n,) array
        0 where no edge leads to a vertex, and in a mean also where the weights of all that do are 0. Of float16 come
        float32, as sums need; of whole numbers come int64 or uint64, but float64 as means, and their own type as the
        largest or the least without weights. With weights the type is that of the product, by NumPy's rules. A NaN
        among the rows is in what they come to.

    Raises
    ------
    TypeError
        For features of any other type, or on another device than the graph.
    ValueError
        For features of another shape, another word for `reduce`, a mean by weights that are negative or not finite, or
        integers whose sums or products may be more than 64 bits hold.

    Notes
    -----
    On a GPU it may return while its kernel still runs, as CuPy's functions do.

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
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    check_choice("reduce", reduce, get_args(Reduction))
    weighted = weighted and graph.values is not None
    features = _check(graph, features)
    if weighted:
        graph.notice_values()
        if reduce == "mean":
            graph, _ = in_range(graph, features.dtype if features.dtype.kind == "f" else np.float64)
    if not _fit(graph, features, reduce, weighted):
        if reduce != "mean":
            raise ValueError(
                f"the {reduce} of integer features may be more than 64 bits hold; expected smaller ones, or floats: "
                "features.astype(np.float64)"
            )
        features = features.astype(np.float64)
    semiring = _semiring(reduce, weighted, features.dtype)
    found: np.ndarray[Any, Any] = vxm(features, graph, semiring)
    if reduce == "mean":
        total = _weights_of(graph, weighted)
        means = _divided(found, total)
        return means if features.dtype.kind != "f" else _where_sums_overflow(graph, features, semiring, total, means)
    if reduce != "sum":
        found[array_module(found).equal(graph.in_degrees, 0)] = 0
    return found


@lru_cache
def _semiring(reduce: str, weighted: bool, kind: np.dtype) -> Semiring:
    """How what comes along an edge is computed, and how it is reduced."""
    total = WIDEST.get(kind.kind, kind) if weighted or MONOIDS[reduce] is semirings.plus else kind

    def message(x, weight):
        row = semirings.cast(x, total)
        return row * weight if weighted else row

    return Semiring(MONOIDS[reduce], message, name=f"{reduce}_of_features")


def _fit(graph: Graph, features: Any, reduce: str, weighted: bool) -> bool:
    """Whether integers that are added up, or multiplied by weights, surely stay within their type."""
    adds = MONOIDS[reduce] is semirings.plus
    if features.dtype.kind == "f" or not (adds or weighted) or 0 in (features.size, graph.m):
        return True
    kind = np.result_type(WIDEST[features.dtype.kind], graph.values.dtype if weighted else np.bool_)  # type: ignore[union-attr]
    if kind.kind == "f":
        return True
    xp, limit = module_of(graph.device), int(np.iinfo(kind).max)
    count = graph.max_in_degree if adds else 1
    bound = _largest(features) * (_largest(graph.values) if weighted else 1)
    if bound * count <= limit or not adds:
        return bound * count <= limit
    sizes = abs(features.astype(np.float64))
    heavy = graph.with_values(abs(graph.values.astype(np.float64))) if weighted else graph  # type: ignore[union-attr]
    most = float(xp.max(vxm(sizes, heavy, _semiring(reduce, weighted, sizes.dtype))))
    return most * (1 + 1e-6) <= limit


def _largest(values: Any) -> int:
    """A bound of the absolute values of integers: of those of up to 32 bits by their type."""
    kind = values.dtype
    if kind.kind == "b":
        return 1
    if kind.itemsize < 8:
        return max(-int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    least, most = map(int, range_of(values.ravel()))
    return max(-least, most)


def _where_sums_overflow(graph: Graph, features: Any, semiring: Semiring, total: Any, means: Any) -> Any:
    """Means, where the sums of finite features overflow by those of smaller features."""
    xp: Any = array_module(means)
    if bool(xp.isfinite(means).all()):
        return means
    again = xp.ldexp(_divided(vxm(xp.ldexp(features, -SHIFT), graph, semiring), total), SHIFT)
    return xp.where(xp.isfinite(means), means, again.astype(means.dtype, copy=False))


def _check(graph: Graph, features: Any) -> Any:
    """The features as an array, a row a vertex."""
    features = as_array("features", features)
    if features.dtype.kind not in "biuf" or features.dtype.itemsize > 8:
        raise TypeError(f"features have type {features.dtype}; expected bool, integers, float16, float32 or float64")
    if features.ndim not in (1, 2) or len(features) != graph.n:
        raise ValueError(f"features have shape {features.shape}; expected ({graph.n}, k), a row for each vertex")
    return features.astype(np.float32) if features.dtype == np.float16 else features


def _weights_of(graph: Graph, weighted: bool) -> Any:
    """What comes to each vertex in all: weights, or edges."""
    return vxm(module_of(graph.device).ones(graph.n), graph) if weighted else graph.in_degrees


def _divided(sums: Any, weight: Any) -> np.ndarray[Any, Any]:
    """Means, 0 where nothing comes; in the place of the sums, if these are floats."""
    xp: Any = array_module(sums)
    kind = sums.dtype if sums.dtype.kind == "f" else np.dtype(np.float64)
    weight = xp.where(weight == 0, 1, weight).astype(kind)
    means: np.ndarray[Any, Any] = sums.astype(kind, copy=False)
    means /= weight if sums.ndim == 1 else weight[:, np.newaxis]
    return means
