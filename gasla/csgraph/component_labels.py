"""`connected_components` with the arguments and results of SciPy's function."""

from typing import Any

import numpy as np

from gasla.algorithms.components.connected_components import connected_components as weak_components
from gasla.algorithms.components.strongly_connected_components import strongly_connected_components
from gasla.arrays import array_module
from gasla.csgraph import passthrough
from gasla.csgraph.inputs import KINDS, graph_of, is_foreign, require_real


def connected_components(
    csgraph: Any, directed: bool = True, connection: str = "weak", return_labels: bool = True
) -> Any:
    """Find the connected components of a graph.

    Parameters
    ----------
    csgraph, directed, connection, return_labels
        As for `scipy.sparse.csgraph.connected_components`; CuPy's arrays, too.

    Returns
    -------
    n_components, labels
        As SciPy's. Weak components, and strong ones of CuPy's arrays, are in the order of their smallest vertices.
        Strong components of SciPy's arrays are SciPy's own, in the order in which its depth-first search ends with
        them: no edge leads to a higher number.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import csgraph
    >>> csgraph.connected_components(np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]]))
    (2, array([0, 0, 1], dtype=int32))
    """
    connection_kind = str(connection).lower()
    if connection_kind not in ("weak", "strong"):
        raise ValueError("connection must be 'weak' or 'strong'")
    is_strong = directed and connection_kind == "strong"
    options: dict[str, Any] = {"directed": directed, "connection": connection, "return_labels": return_labels}
    require_real(csgraph)
    if is_foreign(csgraph):
        return passthrough.by_scipy("connected_components", "an array of PyData's sparse", csgraph, **options)
    if is_strong and array_module(csgraph) is np:
        reason = "the order in which SciPy numbers strong components"
        return passthrough.by_scipy("connected_components", reason, passthrough.without_parallels(csgraph), **options)
    components = (strongly_connected_components if is_strong else weak_components)(graph_of(csgraph, KINDS))
    count = int(components.count)
    return (count, components.labels.astype(np.int32, copy=False)) if return_labels else count
