"""k-cores, from core numbers: the k-core consists of the vertices with core number k or more."""

from typing import Any

import numpy as np

from gasla.algorithms.community.core_number import core_number as find_core_number
from gasla.graph.arguments import whole_number
from gasla.graph.graph import as_graph
from gasla.graph.validate import as_array
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Command, Row, Task


@on_one_device()
def k_core(graph: Any, k: int | None = None, core_number: Any = None) -> np.ndarray:
    """Find the vertices of the k-core: the largest subgraph in which every vertex has at least k neighbors.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `core_number`.
    k : int, optional
        By default the largest k with a nonempty core: the main core.
    core_number : (n,) array of integers, optional
        The result of `gasla.core_number` for this graph, which saves computing it again.

    Returns
    -------
    (n,) array of bool
        Whether each vertex is in the core, on the device of the graph. The core may be disconnected, or empty; it is
        unique.

    Raises
    ------
    TypeError
        If `k` is not an integer, or `core_number` does not hold integers.
    ValueError
        If `k` is negative, or `core_number` does not have shape (n,).

    See Also
    --------
    gasla.core_number : for each vertex the largest k for which it is in the k-core.

    References
    ----------
    S. B. Seidman: Network structure and minimum degree. Social Networks 5 (1983).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.k_core(graph, 2)
    array([ True,  True,  True, False])

    The core as a graph:

    >>> graph.subgraph(gasla.k_core(graph, 2))
    Graph(n=3, m=3, values=None)
    """
    graph = as_graph(graph)
    smallest_core = None if k is None else whole_number("k", k)
    cores = find_core_number(graph) if core_number is None else _checked_core_numbers(core_number, graph.n)
    if smallest_core is None:
        smallest_core = int(cores.max()) if graph.n else 0
    is_within: np.ndarray = cores >= smallest_core
    return is_within


def _checked_core_numbers(core_number: Any, n: int) -> Any:
    """Return the argument `core_number` as an array. Raise an error unless it has an integer per vertex."""
    cores = as_array("core_number", core_number)
    if cores.shape != (n,):
        raise ValueError(f"core_number has the shape {cores.shape}; expected ({n},), as gasla.core_number returns it")
    if cores.dtype.kind not in "iu":
        raise TypeError(f"core_number holds {cores.dtype}; expected integers, as gasla.core_number returns them")
    return cores


ROW = Row(
    k_core,
    Command(
        *("k-core", {"members": "member"}),
        lambda f: f.inside("members", f"vertices {f.of_degree('core')}"),
        lambda f: f.named(f.members("members")),
    ),
    Task(checked_by=""),
    method="one level of PKC (Kabir, Madduri, IPDPS Workshops 2017)",
    longer="As `core_number`: all levels are peeled to find the largest.",
)
