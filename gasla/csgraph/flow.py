"""`maximum_flow` with the arguments and results of SciPy's function."""

import functools
from typing import Any

import numpy as np

from gasla.algorithms.flows.maximum_flow import maximum_flow as flow_of
from gasla.arrays import array_module
from gasla.csgraph import passthrough
from gasla.csgraph.inputs import is_sparse
from gasla.graph.graph import Graph


def maximum_flow(csgraph: Any, source: int, sink: int, *, method: str = "dinic") -> Any:
    """Find the largest flow from one vertex to another.

    Parameters
    ----------
    csgraph, source, sink, method
        As for `scipy.sparse.csgraph.maximum_flow`, which computes the flow of SciPy's arrays: its Dinic algorithm is as
        fast for a single flow. CuPy arrays, of floats, which may be infinite, are processed by gasla, by push-relabel
        for either method.

    Returns
    -------
    res : MaximumFlowResult
        In SciPy's form. If there are several maximum flows, SciPy may return another one.

    Raises
    ------
    TypeError, ValueError
        As SciPy's function; for CuPy's arrays, as `gasla.maximum_flow`.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from gasla import csgraph
    >>> A = csr_array(np.array([[0, 3, 2], [0, 0, 1], [0, 0, 0]]))
    >>> csgraph.maximum_flow(A, 0, 2).flow.toarray()
    array([[ 0,  1,  2],
           [-1,  0,  1],
           [-2, -1,  0]], dtype=int32)
    """
    if array_module(csgraph) is np:
        return passthrough.by_scipy("maximum_flow", "SciPy answers as soon", csgraph, source, sink, method=method)
    if not is_sparse(csgraph) or csgraph.format != "csr":
        raise TypeError("graph must be in CSR format")
    return by_gasla(csgraph, source, sink)


def by_gasla(csgraph: Any, source: int, sink: int) -> Any:
    """Compute a maximum flow of a CuPy array with gasla, and return it in the form of SciPy's result."""
    graph = Graph(csgraph)
    solution, pairs = flow_of(graph, source, sink), graph.paired(fill=0)
    xp: Any = array_module(solution.flow)
    flow = xp.zeros(pairs.m, solution.flow.dtype)
    flow[: graph.m] = solution.flow
    lists = pairs.sorted_out
    values: Any = lists.by_position(flow - flow[pairs.reverse_edge_ids])
    return _result()(solution.value, type(csgraph)((values, lists.indices, lists.indptr), shape=csgraph.shape))


@functools.cache
def _result() -> Any:
    """Return the class of the results that SciPy's `maximum_flow` returns.

    It has no public name, so it is taken from a small example.
    """
    from scipy.sparse import csr_array

    return type(passthrough.SCIPY["maximum_flow"](csr_array(np.array([[0, 1], [0, 0]])), 0, 1))
