"""Effective diameter, which is the distance within which a given share of all connected pairs of vertices lie."""

from typing import Any

import numpy as np

from gasla.algorithms.traversal.neighborhood_sizes import check_registers, counters_by_hops, estimates, exact_pairs
from gasla.arrays import moved
from gasla.graph.arguments import real_number
from gasla.graph.graph import as_graph
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Command, Row


@on_one_device()
def effective_diameter(graph: Any, *, share: float = 0.9, registers: int | None = 64, seed: int = 0) -> float:
    """Compute the distance within which a given share of all connected pairs of vertices lie.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Paths are along the edges. Values are ignored; stored zeros are edges.
    share : float, default 0.9
        The share, from 0 to 1; 1 gives the largest distance.
    registers, seed
        As in `gasla.k_hop_counts`; with ``registers=None`` the distance is exact, by a search from every vertex.

    Returns
    -------
    float
        A number of edges, interpolated linearly between whole distances. 0 for a graph without edges.

    Raises
    ------
    TypeError, ValueError
        If `share` is not from 0 to 1, or `registers` is no power of two from 16 to 1024.

    See Also
    --------
    gasla.eccentricity : its maximum is the diameter.
    gasla.k_hop_counts : the number of vertices within some hops of each vertex.

    Notes
    -----
    Pairs are ordered, and those of a vertex and itself, at distance 0, count as well. Pairs of which the first does not
    reach the second do not count.

    References
    ----------
    J. Leskovec, J. Kleinberg, C. Faloutsos: Graphs over Time: Densification Laws, Shrinking Diameters and Possible
    Explanations. KDD 2005.
    P. Boldi, M. Rosa, S. Vigna: HyperANF: Approximating the Neighbourhood Function of Very Large Graphs on a Budget.
    WWW 2011.

    Examples
    --------
    >>> import gasla
    >>> ring = gasla.Graph.from_edges(range(6), [1, 2, 3, 4, 5, 0])
    >>> gasla.effective_diameter(ring, share=0.5, registers=None)
    2.0
    """
    graph = as_graph(graph)
    wanted_share = real_number("share", share, most=1)
    size, start = check_registers(registers, seed)
    if size is None:
        pairs_within = np.cumsum(moved(exact_pairs(graph), "cpu")).astype(np.float64)
    else:
        pairs_within = np.array([float(estimates(counters).sum()) for counters in counters_by_hops(graph, size, start)])
    target = wanted_share * pairs_within[-1]
    first_hop = int(np.argmax(pairs_within >= target))
    if first_hop == 0:
        return 0.0
    pairs_before = pairs_within[first_hop - 1]
    return float(first_hop - 1 + (target - pairs_before) / (pairs_within[first_hop] - pairs_before))


ROW = Row(
    effective_diameter,
    Command(
        *("effective-diameter", {}),
        lambda f: f"{f.arguments['share']:.0%} of all connected pairs are within distance {f['diameter']:.4g}",
        unpack=lambda _, found: {"diameter": found},
        checked_with={"tolerance": 0.2},
    ),
    method="HyperANF: sketches that spread along edges (Boldi, Rosa, Vigna, WWW 2011)",
    longer="Sketches of 64 bytes per vertex are combined along every edge, once per level of the graph.",
)
