"""Calls of SciPy's functions, for those that gasla does not implement and for cases in which SciPy is better.

SciPy's functions are looked up at import, so that they can be replaced by gasla's afterwards.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

import numpy as np
from scipy.sparse import csgraph, csr_array, issparse

from gasla.arrays import array_module, index_dtype
from gasla.csgraph.inputs import require_sound
from gasla.graph.memory_limit import require_room
from gasla.log import LOG

SCIPY: dict[str, Callable[..., Any]] = {
    name: function for name in csgraph.__all__ if callable(function := getattr(csgraph, name))
}
# The results of these functions are dense, with an entry for each pair of vertices, so their memory is checked first.
DENSE = "floyd_warshall", "csgraph_to_dense", "csgraph_to_masked"
LENGTHS = "shortest_path", "dijkstra", "bellman_ford", "johnson", "floyd_warshall", "yen"
SPARES_TIME = True  # whether calls may go to SciPy merely because it is as fast; tests set False to test gasla


def by_scipy(name: str, reason: str, *args: Any, **kwargs: Any) -> Any:
    """Call SciPy's function of this name, and log the reason for which gasla does not compute the result itself.

    A malformed sparse array is rejected, because SciPy's functions would read out of bounds. A dense array in Fortran
    order is copied, because SciPy's Floyd-Warshall would return a transposed result.
    """
    LOG.debug("csgraph.%s runs on SciPy: %s", name, reason)
    for argument in (*args, *kwargs.values()):
        if issparse(argument):
            require_sound(argument)
            if name in DENSE:
                require_room("the result has", cast(Any, argument).shape[0] ** 2, 8, "cpu", "a part of the graph")
    if any(array_module(argument) is not np for argument in (*args, *kwargs.values())):
        raise TypeError(
            f"{name} got a CuPy array; expected a NumPy or SciPy array, since SciPy computes this ({reason}): "
            "pass what .get() returns"
        )
    if name in LENGTHS:
        args, kwargs = (
            tuple(map(_widen_lengths, args)),
            {title: _widen_lengths(argument) for title, argument in kwargs.items()},
        )
    return SCIPY[name](
        *map(_in_row_order, args), **{title: _in_row_order(argument) for title, argument in kwargs.items()}
    )


def _widen_lengths(argument: Any) -> Any:
    """Return a sparse array with lengths in float64 and, if they fit, indices in int32. Return anything else unchanged.

    SciPy adds up the lengths of parallel edges in other dtypes, although the shortest should count. Its `yen` does not
    accept other indices.
    """
    if getattr(argument, "format", "") not in ("csr", "csc") or argument.dtype.kind == "c":
        return argument
    ids = index_dtype(max(argument.nnz, *argument.shape))
    if argument.dtype == np.float64 and argument.indices.dtype == argument.indptr.dtype == ids:
        return argument
    arrays = argument.data.astype(np.float64), argument.indices.astype(ids), argument.indptr.astype(ids)
    return type(argument)(arrays, shape=argument.shape)


def _in_row_order(argument: Any) -> Any:
    """Return a dense matrix in C order (row by row). Return anything else unchanged."""
    is_dense = isinstance(argument, np.ndarray) and argument.ndim == 2 and not argument.flags.c_contiguous
    return argument.copy(order="C") if is_dense else argument


def sparing(reason: str, csgraph: Any) -> str:
    """Return `reason` if a call with this array may go to SciPy merely because SciPy is as fast as gasla.

    Return "" if it may not, because the array is CuPy's or tests have set `SPARES_TIME` to False.
    """
    return reason if SPARES_TIME and array_module(csgraph) is np else ""


def _wrap_scipy(name: str) -> Callable[..., Any]:
    """Return a function that passes its arguments to SciPy's function of this name, and rejects CuPy's arrays."""

    @wraps(SCIPY[name])
    def function(*args: Any, **kwargs: Any) -> Any:
        return by_scipy(name, "passed through", *args, **kwargs)

    return function


@wraps(SCIPY["construct_dist_matrix"])
def construct_dist_matrix(graph: Any, predecessors: Any, *args: Any, **kwargs: Any) -> Any:
    """Call SciPy's function. First raise ValueError if predecessors lead out of the graph or form a cycle."""
    if array_module(predecessors) is np:
        _require_trees(np.asarray(predecessors))
    return by_scipy("construct_dist_matrix", "passed through", graph, predecessors, *args, **kwargs)


@wraps(SCIPY["reconstruct_path"])
def reconstruct_path(csgraph: Any, predecessors: Any, *args: Any, **kwargs: Any) -> Any:
    """Call SciPy's function. First raise ValueError if a predecessor is NaN or infinite.

    SciPy would convert such a predecessor to an arbitrary vertex number.
    """
    if array_module(predecessors) is np and not np.isfinite(predecessors).all():
        raise ValueError("predecessors are not all finite; expected vertices, or -9999 for none")
    return by_scipy("reconstruct_path", "passed through", csgraph, predecessors, *args, **kwargs)


def without_parallels(array: Any) -> Any:
    """Return a sparse array with only the first of several entries at one position. Other entries keep their order.

    SciPy's depth-first searches push a vertex on a stack once for each entry. With parallel entries, the search for
    strong components would not end.
    """
    if not issparse(array):
        return array
    require_sound(array)
    rows = cast(Any, array).tocsr()
    n = rows.shape[1]
    keys = np.repeat(np.arange(len(rows.indptr) - 1, dtype=np.int64), np.diff(rows.indptr)) * n + rows.indices
    first = np.unique(keys, return_index=True)[1]
    if len(first) == len(keys):
        return array
    first.sort()
    indptr = np.searchsorted(first, rows.indptr).astype(rows.indptr.dtype)
    return csr_array((rows.data[first], rows.indices[first], indptr), shape=rows.shape)


def _wrap_without_parallels(name: str) -> Callable[..., Any]:
    """Return a function that calls SciPy's function of this name with an array without parallel entries.

    SciPy's search would push a vertex on its stack once for each of several entries at one position.
    """

    @wraps(SCIPY[name])
    def function(array: Any, *args: Any, **kwargs: Any) -> Any:
        return by_scipy(name, "passed through", without_parallels(array), *args, **kwargs)

    return function


def _require_trees(predecessors: np.ndarray[Any, Any]) -> None:
    """Raise ValueError unless following predecessors from any vertex ends at a vertex that has none."""
    if predecessors.ndim != 2 or predecessors.dtype.kind not in "iu":
        return  # SciPy's function rejects arrays of another shape or dtype itself, so they are not checked.
    n = predecessors.shape[1]
    ids = np.broadcast_to(np.arange(n), predecessors.shape)
    is_root = predecessors == -9999
    if (is_outside := ~is_root & ((predecessors < 0) | (predecessors >= n))).any():
        row, v = np.argwhere(is_outside)[0].tolist()
        raise ValueError(
            f"predecessors[{row}, {v}] is {predecessors[row, v]}; expected 0 to {n - 1}, or -9999 for none"
        )
    ahead = np.where(is_root, ids, predecessors)
    # Pointer doubling: after k rounds, `ahead` is the vertex up to 2**k steps along the predecessors of each vertex.
    for _ in range(n.bit_length()):
        ahead = np.take_along_axis(ahead, ahead, axis=1)
    if (is_circling := ~np.take_along_axis(is_root, ahead, axis=1)).any():
        row, v = np.argwhere(is_circling)[0].tolist()
        raise ValueError(f"predecessors[{row}] lead from {v} into a cycle; expected chains that end at -9999")


breadth_first_order = _wrap_scipy("breadth_first_order")
breadth_first_tree = _wrap_scipy("breadth_first_tree")
csgraph_from_dense = _wrap_scipy("csgraph_from_dense")
csgraph_from_masked = _wrap_scipy("csgraph_from_masked")
csgraph_masked_from_dense = _wrap_scipy("csgraph_masked_from_dense")
csgraph_to_dense = _wrap_scipy("csgraph_to_dense")
csgraph_to_masked = _wrap_scipy("csgraph_to_masked")
depth_first_order = _wrap_scipy("depth_first_order")
depth_first_tree = _wrap_scipy("depth_first_tree")
floyd_warshall = _wrap_scipy("floyd_warshall")
johnson = _wrap_scipy("johnson")
maximum_bipartite_matching = _wrap_without_parallels("maximum_bipartite_matching")
min_weight_full_bipartite_matching = _wrap_without_parallels("min_weight_full_bipartite_matching")
reverse_cuthill_mckee = _wrap_scipy("reverse_cuthill_mckee")
structural_rank = _wrap_without_parallels("structural_rank")
