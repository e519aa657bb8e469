"""The number of vertices within k hops of each vertex."""

from typing import Any

from gasla.algorithms.traversal.neighborhood_sizes import check_registers, counters_by_hops, estimates, exact_sizes
from gasla.graph.arguments import most_iterations
from gasla.graph.graph import as_graph
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Row, Task, scores


@on_one_device()
def k_hop_counts(graph: Any, k: int, *, registers: int | None = 64, seed: int = 0) -> Any:
    """Count the vertices within k hops of every vertex, itself included.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Hops are along the edges. Values are ignored; stored zeros are edges.
    k : int
        The number of hops, 0 or more.
    registers : int or None, default 64
        Bytes of each vertex's HyperLogLog counter, a power of two from 16 to 1024: the relative standard error of an
        estimate is about 1.04 / sqrt(registers), so 13 % for 64 and 3 % for 1024. None counts exactly, by a search
        from every vertex.
    seed : int
        Seed of the hashes of the counters.

    Returns
    -------
    (n,) float64
        Estimates, or exact numbers with `registers=None`.

    Raises
    ------
    TypeError, ValueError
        If `k` is negative or no whole number, or `registers` is no power of two from 16 to 1024.

    See Also
    --------
    gasla.effective_diameter : the number of hops that most pairs of vertices are within.
    gasla.ego_graph : the vertices around a single one.

    Notes
    -----
    An estimate takes k iterations over all edges, whatever the sizes. A vertex takes its counter, a second one that the
    graph keeps for the next call, and 60 bytes. An exact count takes n / 64 searches.

    References
    ----------
    P. Boldi, M. Rosa, S. Vigna: HyperANF: Approximating the Neighbourhood Function of Very Large Graphs on a Budget.
    WWW 2011.

    Examples
    --------
    >>> import gasla
    >>> path = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3])
    >>> gasla.k_hop_counts(path, 2, registers=None)
    array([3., 3., 2., 1.])
    >>> gasla.k_hop_counts(path, 2, registers=1024).round(1)
    array([3., 3., 2., 1.])
    """
    graph = as_graph(graph)
    hops = most_iterations("k", k)
    size, start = check_registers(registers, seed)
    if size is None:
        return exact_sizes(graph, hops)
    for counters in counters_by_hops(graph, size, start, hops):
        last_counters = counters
    return estimates(last_counters)


ROW = Row(
    k_hop_counts,
    scores(
        *("k-hop-counts", {"counts": "nearby"}, lambda f: f"most vertices within {f.arguments['k']:,} hops:"),
        defaults={"k": 2},
        checked_with={"tolerance": 0.8},
    ),
    # a counter has 64 bytes, a cache line, which is read for every edge
    Task(options={"k": 3}, checked_by="", form="nothing", size=lambda n, m: 64 * (m + n)),
    method="HyperANF: sketches that spread along edges (Boldi, Rosa, Vigna, WWW 2011)",
    longer="Sketches of 64 bytes per vertex are combined along every edge in each of three hops.",
)
