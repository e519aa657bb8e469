"""Whole algorithms that only the CPU engine has. Most run on one thread, for graphs too small for several.

A vertex program takes some microseconds per iteration and thread, and a graph of 10,000 vertices may need hundreds of
iterations. A sequential algorithm reads each edge a few times, and has no barriers. The public names are in
`gasla.primitives`.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

import semirings
from gasla.engines import HostOnly, chooses_kernels, engine
from gasla.graph.arguments import (
    MOST_SEED,
    check_choice,
    check_flags,
    check_weights,
    in_host_memory,
    real_number,
    vertex_numbers,
    whole_number,
)
from gasla.graph.edge_values import first_edge
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph, require_unchanged_files
from gasla.graph.validate import as_ids
from gasla.graph.weights import exact_total

# The largest capacity of an edge, chosen so that the sum of two capacities fits int64, and the largest int64.
CAPACITY, INT64 = 2**62 - 1, 2**63 - 1

# Largest number of vertices of a graph whose edges are sorted by degree for a matching, so that the two ids of an edge
# fit a word of 64 bits.
MOST_BY_DEGREES = 2**32
MOST_PARTS = 1 << 24  # largest number of parts that a graph can be divided into


def fits_one_thread(graph: Graph, most: int | None = None) -> bool:
    """Return whether an algorithm should call a kernel of the CPU alone.

    It should if `graph` is in host memory and small enough, except within `gasla.engines.interpreted` and
    `gasla.engines.programs_only`.

    Parameters
    ----------
    graph : Graph
    most : int, optional
        Maximum number of vertices and edges, such as the size above which several threads are faster. By default there
        is no maximum.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.fits_one_thread(Graph.from_edges([0, 1], [1, 2]), most=1000)
    True
    """
    is_small = most is None or graph.n + graph.m <= most
    return graph.engine == "cpu" and is_small and chooses_kernels()


def louvain_levels(
    graph: Any,
    communities: Any = None,
    *,
    resolution: float = 1.0,
    seed: int = 0,
    refine: bool = False,
    node_weights: Any = None,
    fixed: Any = None,
    sizes: Any = None,
    max_size: float | None = None,
    iterations: int = 1,
) -> list[np.ndarray]:
    """Find communities by Louvain's or Leiden's method, on one thread.

    This is a whole algorithm, for which the CPU engine has a built-in kernel. `gasla.louvain_communities` calls it for
    levels of few vertices and edges.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        With symmetric values, which are not negative. A self loop counts once in the degree of its vertex.
    communities : (n,) array of integers, optional
        The first community of each vertex, 0 to n - 1. By default each vertex is a community.
    resolution, seed, refine
        As for `gasla.louvain_communities`.
    node_weights : (n,) array or two of them, optional
        What vertices count in the penalty. A vertex v that joins a community of the total node weight A gains
        ``w - resolution * a[v] * A``, where w is the weight of v's edges to it; with two arrays
        ``w - resolution * (a[v] * B + b[v] * A)``. Sizes give the constant Potts model. Out- and in-degrees, divided by
        the square root of their sum, give the modularity of the directed graph whose matrix and transpose add up to
        this graph's. By default ``a`` is the degree, divided by the square root of the sum of degrees: modularity.
    fixed : (n,) array of bool, optional
        Vertices that stay in their community of `communities`.
    sizes : (n,) array, optional
        What vertices count in the size of a community, by default 1.
    max_size : float, optional
        No vertex joins a community that would be larger. A larger community may be given, and keeps its vertices.
    iterations : int
        How often to start again, with the next seed, from the communities that were found, unless nothing changes.

    Returns
    -------
    list of (n,) arrays of the type of ids
        The community of each vertex after each level, numbered from 0 in the order of their smallest vertices. Empty if
        each vertex is a community in the end. The same for any order of the edges and number of threads.

    Raises
    ------
    TypeError, ValueError
        If the graph is not in host memory, or an argument is out of range.

    Notes
    -----
    Weights are rounded up to multiples of a power of two that is 2**-52 to 2**-51 of their sum, so that sums of them
    are exact, in any order.

    V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre: Fast unfolding of communities in large networks. Journal
    of Statistical Mechanics (2008). V. A. Traag, L. Waltman, N. J. van Eck: From Louvain to Leiden: guaranteeing
    well-connected communities. Scientific Reports 9 (2019).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> triangles = Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3]).symmetrized()
    >>> triangles = triangles.with_values(np.ones(triangles.m))
    >>> primitives.louvain_levels(triangles)
    [array([0, 0, 0, 1, 1, 1], dtype=int32)]
    >>> primitives.louvain_levels(triangles, node_weights=np.ones(6), resolution=0.1, max_size=2)[-1]
    array([0, 0, 1, 1, 2, 2], dtype=int32)
    """
    graph = in_host_memory("louvain_levels", graph)
    check_flags(refine=refine)
    seed, resolution = whole_number("seed", seed, MOST_SEED), real_number("resolution", resolution)
    iterations = whole_number("iterations", iterations)
    if iterations < 1:
        raise ValueError(f"iterations is {iterations}; expected 1 or more")
    start_communities, weights = _check_communities(communities, graph), _exact_weights(graph)
    second_weights, penalty_factor = None, resolution
    if node_weights is None:
        first_weights = kernels().degrees(graph.out.indptr, weights)
        penalty_factor = resolution / (float(first_weights.sum()) or 1.0)
    elif isinstance(node_weights, tuple | list) and len(node_weights) == 2 and np.ndim(node_weights[0]) == 1:
        first_weights, second_weights = (
            _check_numbers_of_vertices("node_weights", vertex_weights, graph.n) for vertex_weights in node_weights
        )
    else:
        first_weights = _check_numbers_of_vertices("node_weights", node_weights, graph.n)
    if max_size is not None:
        max_size = real_number("max_size", max_size)
        sizes = np.ones(graph.n) if sizes is None else _check_numbers_of_vertices("sizes", sizes, graph.n)
    is_fixed = None if fixed is None else _check_numbers_of_vertices("fixed", fixed, graph.n) != 0
    vertices = first_weights, second_weights, None if max_size is None else sizes, is_fixed
    lists, limits = (graph.out.indptr, graph.out.indices, weights), (penalty_factor, max_size or 0.0)
    return kernels().louvain_levels(lists, start_communities, vertices, limits, seed, refine, iterations)


def balanced_parts(
    graph: Any, k: int, *, objective: str = "cut", node_weights: Any = None, tolerance: float = 0.03, seed: int = 0
) -> tuple[np.ndarray, float, int]:
    """Divide the vertices into k parts of about equal weight, with few or light edges between parts, on one thread.

    This is a whole algorithm, for which the CPU engine has a built-in kernel. `gasla.partition` calls it.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        With symmetric values, which are not negative. Self loops are ignored.
    k, objective, node_weights, tolerance, seed
        As for `gasla.partition`.

    Returns
    -------
    labels : (n,) array of the type of ids
        The part of each vertex.
    cut : float
        The weight of the edges between parts.
    volume : int
        The sum over vertices of the number of other parts with a neighbor.

    Raises
    ------
    TypeError, ValueError
        If the graph is not in host memory, its values are not symmetric, or an argument is out of range.

    Notes
    -----
    Weights are rounded up to multiples of a power of two that is 2**-52 to 2**-51 of their sum, so that sums of them
    are exact, in any order. `cut` is the sum of the given weights.

    G. Karypis, V. Kumar: A fast and high quality multilevel scheme for partitioning irregular graphs. SIAM Journal on
    Scientific Computing 20 (1998).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> path = Graph.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 5]).symmetrized()
    >>> labels, cut, volume = primitives.balanced_parts(path, 3)
    >>> np.bincount(labels), cut, volume
    (array([2, 2, 2]), 2.0, 4)
    """
    graph = in_host_memory("balanced_parts", graph)
    check_choice("objective", objective, ("cut", "volume"))
    k, seed = whole_number("k", k, MOST_PARTS), whole_number("seed", seed, MOST_SEED)
    if k < 1:
        raise ValueError(f"k is {k}; expected 1 to {MOST_PARTS}")
    tolerance = real_number("tolerance", tolerance)
    if not graph.has_symmetric_values:
        raise ValueError(
            "an edge has no reverse edge of the same value; expected a graph with symmetric values: make it so by "
            "graph.symmetrized(semirings.plus), or call gasla.partition"
        )
    return parts_of(graph, k, objective, node_weights, tolerance, seed)


def parts_of(
    graph: Graph, k: int, objective: str, node_weights: Any, tolerance: float, seed: int
) -> tuple[np.ndarray, float, int]:
    """Divide the vertices of a graph into k parts, as `balanced_parts` does, and return what that returns.

    The values of the graph need to be symmetric only up to rounding.
    """
    weights = np.ones(graph.n)
    if node_weights is not None:
        weights = _round_to_exact("node_weights", vertex_numbers(graph, "node_weights", node_weights, least=0))
    lists = graph.out.indptr, graph.out.indices, _exact_weights(graph)
    float_weights = None if lists[2] is None else np.asarray(graph.out_values, np.float64)
    part_of_vertex = kernels().balanced_parts(lists, float_weights, weights, k, tolerance, objective == "volume", seed)
    require_unchanged_files(graph)
    return part_of_vertex


def _exact_weights(graph: Graph) -> np.ndarray | None:
    """Return the weights of all edges as floats whose sums are exact in any order, or None if every edge weighs 1.

    The weights are rounded up to multiples of a power of two.
    """
    if graph.values is None:
        return None
    weights = np.asarray(graph.out_values, np.float64)
    if not (weights >= 0).all():
        raise ValueError(f"a weight is {weights[~(weights >= 0)][0]}; expected weights of 0 or more")
    return None if (weights == 1).all() else _round_to_exact("the weights", weights)


def _round_to_exact(name: str, weights: np.ndarray) -> np.ndarray:
    """Return the numbers `weights`, at least 0, rounded up to multiples of a power of two.

    So their sums are exact in any order. `name` is what the numbers are called in errors.
    """
    with np.errstate(over="ignore"):
        weight_sum = float(weights.sum())
    if weight_sum == np.inf:
        raise ValueError(f"{name} sum to infinity; expected a finite sum: divide them by a power of two")
    unit_exponent = int(np.frexp(weight_sum)[1]) - 52
    with np.errstate(under="ignore"):
        multiples = np.ceil(np.ldexp(weights, -unit_exponent))
    return np.ldexp(np.where(weights > 0, np.maximum(multiples, 1), 0), unit_exponent)


def _check_communities(communities: Any, graph: Graph) -> np.ndarray:
    """Return the argument `communities`, the community that each vertex starts in, as a new array of the dtype of ids.

    If it is None, each vertex starts in a community of its own. Raise an error if it is invalid.
    """
    labels = as_ids("communities", np.arange(graph.n) if communities is None else communities)
    if labels.shape != (graph.n,):
        raise ValueError(f"communities has shape {labels.shape}; expected {(graph.n,)}, one per vertex")
    if graph.n and (labels.min() < 0 or labels.max() >= graph.n):
        raise ValueError(f"communities range from {labels.min()} to {labels.max()}; expected 0 to {graph.n - 1}")
    return labels.astype(graph.id_dtype)


def _check_numbers_of_vertices(name: str, argument: Any, n: int) -> np.ndarray:
    """Return an argument that has one number for each of n vertices as a new array of float64.

    Raise an error unless all numbers are finite and at least 0. `name` is the argument's name, for the error.
    """
    numbers = np.array(argument, np.float64)
    if numbers.shape != (n,):
        raise ValueError(f"{name} has shape {numbers.shape}; expected {(n,)}, one per vertex")
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        wrong = numbers[~(np.isfinite(numbers) & (numbers >= 0))][0]
        raise ValueError(f"{name} has the entry {wrong}; expected finite numbers of 0 or more")
    return numbers


def depth_first(graph: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Search depth-first from the smallest vertex of every component, on one thread.

    The function runs a built-in kernel of the CPU engine. `gasla.bridges` and `gasla.articulation_points` call it for
    small graphs, and for large ones of a large diameter.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        Read as simple and undirected.

    Returns
    -------
    parents, numbers, low : (n,) arrays of the type of ids
        The parent of each vertex, roots being their own; its number in the order of the search; and its low point: the
        least number in its subtree, or adjacent to the subtree by an edge outside the forest.

    Raises
    ------
    TypeError
        If the graph is not in host memory.

    Notes
    -----
    R. E. Tarjan: Depth-First Search and Linear Graph Algorithms. SIAM J. Computing 1 (1972).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.depth_first(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]))
    (array([0, 0, 1, 2], dtype=int32), array([0, 1, 2, 3], dtype=int32), array([0, 0, 0, 3], dtype=int32))
    """
    graph = in_host_memory("depth_first", graph)
    return kernels().depth_first(engine("cpu").primitives().simplify(graph))


def depth_first_order(graph: Any, source: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Search depth-first along edges, on one thread.

    The function runs a built-in kernel of the CPU engine. `gasla.depth_first_order` calls it.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
    source : vertex, optional
        Where to start. By default the search starts at each vertex in turn that has not been visited.

    Returns
    -------
    preorder, postorder : (k,) arrays of ids
        The vertices in the orders in which the search comes to them, and leaves them.
    parents : (n,) array of ids
        Where the search came from. A start is its own parent; vertices that are not visited have -1.

    Raises
    ------
    TypeError, ValueError
        If the graph is not in host memory, or the source is not a vertex.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.depth_first_order(Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 1]), 0)[0]
    array([0, 1, 3, 2], dtype=int32)
    """
    graph = in_host_memory("depth_first_order", graph)
    starts = np.arange(graph.n) if source is None else np.array([translate_vertex(graph, source)])
    order = kernels().depth_first_order(graph, starts.astype(graph.id_dtype))
    require_unchanged_files(graph)
    return order


def dominators(graph: Any, source: Any) -> np.ndarray:
    """Find the immediate dominators of vertices, on one thread.

    This is a whole algorithm, for which the CPU engine has a built-in kernel. `gasla.dominators` is this function.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
    source : vertex

    Returns
    -------
    (n,) array of ids
        The immediate dominator of each vertex. The source is its own; unreachable vertices have -1.

    Raises
    ------
    TypeError, ValueError
        If the graph is not in host memory, or the source is not a vertex.

    Notes
    -----
    T. Lengauer, R. E. Tarjan: A fast algorithm for finding dominators in a flowgraph. ACM TOPLAS 1 (1979).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.dominators(Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3]), 0)
    array([0, 0, 0, 0], dtype=int32)
    """
    graph = in_host_memory("dominators", graph)
    immediate: np.ndarray = kernels().dominators(graph, translate_vertex(graph, source))
    require_unchanged_files(graph)
    return immediate


def acyclic_order(graph: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the levels of an acyclic graph, and sort its vertices by them, on one thread.

    This is a whole algorithm, for which the CPU engine has a built-in kernel. `gasla.topological_order` calls it for
    graphs in host memory.

    Parameters
    ----------
    graph : Graph or SciPy sparse array

    Returns
    -------
    order : (n,) array of ids
        The vertices by level, then by id. Undefined if the graph has a cycle.
    levels : (n,) array of int32
        The number of edges on a longest path that ends at each vertex; -1 on a cycle, or reachable from one.
    waiting : (n,) array of ids
        The number of in-edges from vertices of level -1.

    Raises
    ------
    TypeError
        If the graph is not in host memory.

    Notes
    -----
    A. B. Kahn: Topological sorting of large networks. Communications of the ACM 5 (1962).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> order, levels, waiting = primitives.acyclic_order(Graph.from_edges([2, 2, 0, 3], [0, 3, 1, 1]))
    >>> order, levels
    (array([2, 0, 3, 1], dtype=int32), array([1, 2, 0, 1], dtype=int32))
    """
    graph = in_host_memory("acyclic_order", graph)
    result: tuple[np.ndarray, np.ndarray, np.ndarray] = kernels().acyclic_order(graph)
    require_unchanged_files(graph)
    return result


def strong_components(graph: Any) -> np.ndarray:
    """Find strongly connected components by depth-first search, on one thread.

    This is a whole algorithm, for which the CPU engine has a built-in kernel. `gasla.strongly_connected_components`
    calls it for small graphs.

    Parameters
    ----------
    graph : Graph or SciPy sparse array

    Returns
    -------
    (n,) array of ids
        The smallest vertex of each vertex's component. `number` takes it as a forest, and numbers the components.

    Raises
    ------
    TypeError
        If the graph is not in host memory.

    Notes
    -----
    R. E. Tarjan: Depth-First Search and Linear Graph Algorithms. SIAM J. Computing 1 (1972).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.strong_components(Graph.from_edges([0, 2, 3, 3], [2, 3, 0, 1], n=5))
    array([0, 1, 0, 0, 4], dtype=int32)
    """
    graph = in_host_memory("strong_components", graph)
    labels: np.ndarray = kernels().strong_components(graph)
    require_unchanged_files(graph)
    return labels


def adjacency_order(graph: Any, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Order vertices so that each next one has the largest weight of edges to those before it, on one thread.

    The function runs a built-in kernel of the CPU engine. `gasla.global_minimum_cut` calls it.

    Parameters
    ----------
    graph : Graph
        Undirected, with symmetric values: int64, 0 or more, which add up to less than 2**63. Self loops count for
        nothing.
    most : int
        Sums of weights to earlier vertices that are at least this large count as equal, which saves time.

    Returns
    -------
    order : (n,) array of ids
        It begins at vertex 0. Where no edge leads to a further vertex, it goes on at the smallest vertex that is left.
    sums : (n,) array of int64
        The weight of the edges from each vertex to those before it.

    Raises
    ------
    TypeError
        If the graph is not in host memory, its values are not int64, or `most` is not a whole number.
    ValueError
        If a value or `most` is negative, or the values add up to 2**63 or more.

    Notes
    -----
    H. Nagamochi, T. Ibaraki: Computing edge-connectivity in multigraphs and capacitated graphs. SIAM J. Discrete
    Mathematics 5 (1992).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> graph = Graph.from_edges([0, 1, 0, 2, 1, 2], [1, 0, 2, 0, 2, 1], [1, 1, 3, 3, 1, 1])
    >>> primitives.adjacency_order(graph, 10)
    (array([0, 2, 1], dtype=int32), array([0, 2, 3]))
    """
    graph, most = _check_capacities("adjacency_order", graph), min(whole_number("most", most), INT64)
    if graph.m and int(graph.value_range[1]) * graph.m > INT64 and (capacity_sum := exact_total(graph.values)) > INT64:
        raise ValueError(f"the values of the graph add up to {float(capacity_sum):.3g}; expected less than 2**63")
    order = kernels().adjacency_order(graph.out, graph.out_values, most)
    require_unchanged_files(graph)
    return order


def send_flow(graph: Any, source: Any, target: Any) -> tuple[int, np.ndarray]:
    """Find a maximum flow along shortest paths, on one thread.

    This is a whole algorithm, for which the CPU engine has a built-in kernel. `gasla.maximum_flow` and
    `gasla.minimum_cut` call it for graphs in host memory.

    Parameters
    ----------
    graph : Graph
        With a reverse edge for every edge, as `Graph.paired` adds them. Values are capacities: int64, 0 to 2**62 - 1.
    source, target : vertex

    Returns
    -------
    value : int
        Exact, of any size.
    flow : (m,) array of int64
        The flow of each edge, negative where it runs along the reverse edge.

    Raises
    ------
    TypeError, ValueError
        If the graph is not in host memory, a value is not int64 or not from 0 to 2**62 - 1, or an edge has no reverse
        edge; or if the source or the target is not a vertex, or they are equal.

    Notes
    -----
    Each phase searches from both ends, and reads little where the distance is short, or where a cut is next to one
    of the ends. The number of phases is less than n.

    Y. Dinitz: Algorithm for solution of a problem of maximum flow in networks with power estimation. Soviet Mathematics
    Doklady 11 (1970).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.send_flow(Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], [5, 0, 3, 0]), 0, 2)
    (3, array([ 3, -3,  3, -3]))
    """
    graph = _check_capacities("send_flow", graph, CAPACITY)
    source, target = translate_vertex(graph, source), translate_vertex(graph, target, "target")
    if source == target:
        raise ValueError(f"source and target are both {graph.name(source)!r}; expected two different vertices")
    _, flow = kernels().send_flow(graph, source, target)
    require_unchanged_files(graph)
    first_entry, last_entry = graph.out.indptr[source : source + 2].tolist()
    return exact_total(flow[graph.out.numbers()[first_entry:last_entry]]), flow


def residual_sources(graph: Any, flow: Any, target: Any) -> np.ndarray:
    """Mark the vertices from which more flow could be sent to a target, given a flow, on one thread.

    The function runs a built-in kernel of the CPU engine. `gasla.minimum_cut` calls it for graphs in host memory.

    Parameters
    ----------
    graph : Graph
        As for `send_flow`.
    flow : (m,) array of int64
        As `send_flow` returns it.
    target : vertex

    Returns
    -------
    (n,) array of bool
        The target, and the vertices from which a path of edges with less flow than capacity leads to it.

    Raises
    ------
    TypeError, ValueError
        As for `send_flow`; if `flow` has another shape or type.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> network = Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], [5, 0, 3, 0])
    >>> primitives.residual_sources(network, primitives.send_flow(network, 0, 2)[1], 2)
    array([False, False,  True])
    """
    graph, flow = _check_capacities("residual_sources", graph, CAPACITY), np.ascontiguousarray(flow)
    if flow.shape != (graph.m,) or flow.dtype != np.int64:
        raise ValueError(f"flow is {flow.dtype}{flow.shape}; expected int64 of shape {(graph.m,)}, one per edge")
    marks: np.ndarray = kernels().residual_sources(graph, flow, translate_vertex(graph, target, "target"))
    require_unchanged_files(graph)
    return marks


def _check_capacities(name: str, graph: Any, largest_allowed: int = INT64) -> Graph:
    """Return the graph of an argument, after checks that its values are capacities of edges: int64 from 0 to
    `largest_allowed`.

    Raise an error for any other graph, and for a graph that is not in host memory. `name` is the name of the calling
    function, for the error.
    """
    graph = in_host_memory(name, graph)
    if graph.value_type != np.int64:
        raise TypeError(f"the values of the graph are {graph.value_type}; expected int64")
    graph.notice_values()
    smallest, largest = map(int, graph.value_range) if graph.m else (0, 0)
    if smallest < 0 or largest > largest_allowed:
        edge, value = first_edge(graph.values, lambda values: (values < 0) | (values > largest_allowed))
        raise ValueError(f"the value of edge {edge} is {value}; expected 0 to 2**{largest_allowed.bit_length()} - 1")
    return graph


def match_heaviest(graph: Any, *, weighted: bool = True) -> np.ndarray:
    """Find a maximal matching of heavy edges.

    A whole algorithm, run by kernels of the CPU engine. `gasla.maximal_matching` calls it for graphs in host
    memory, except large ones without weights and hubs. By weight, vertices propose to each other, on all threads.
    Otherwise edges are sorted, degree by degree, and matched one by one, on one thread.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        Read as undirected. Self loops are ignored. Of parallel edges and both directions of an edge, the heaviest
        counts.
    weighted : bool
        Whether the values are weights. Otherwise, and in a graph without values, every edge weighs 1.

    Returns
    -------
    (n,) array of the type of ids
        The mate of each vertex, or -1: the matching of a loop over the edges from best to worst. Heavier edges are
        better; of equally heavy ones those whose ends have the smaller least degree, all from 255 on being equal; then
        those of smaller ``u ^ v``.

    Raises
    ------
    TypeError
        If the graph is not in host memory.
    ValueError
        If a weight is NaN or -inf.

    Notes
    -----
    F. Manne, M. Halappanavar: New Effective Multithreaded Matching Algorithms. IPDPS 2014.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.match_heaviest(Graph.from_edges([0, 1, 2], [1, 2, 3], [1, 5, 1]))
    array([-1,  2,  1, -1], dtype=int32)
    """
    graph = in_host_memory("match_heaviest", graph)
    check_flags(weighted=weighted)
    degrees = np.minimum(graph.in_degrees + graph.out_degrees, 255).astype(np.uint8)
    mates: np.ndarray
    weighted = weighted and graph.value_type is not None
    if not weighted and graph.n < MOST_BY_DEGREES:
        mates = kernels().match_by_degrees(graph.out, None if graph.is_symmetric else graph.in_, degrees)
        require_unchanged_files(graph)
        return mates
    graph.notice_values()
    check_weights(graph)
    undirected = graph if graph.is_symmetric and graph.has_symmetric_values else graph.symmetrized(semirings.max)
    weights = cast(np.ndarray, undirected.out_values) if weighted else np.ones(undirected.m, np.uint8)
    weights = weights.view(np.uint8) if weights.dtype == bool else weights
    mates = kernels().match_heaviest(undirected.out, weights, degrees)
    require_unchanged_files(graph)
    return mates


def kernels() -> HostOnly:
    """Return the part of the CPU engine whose methods are the algorithms that the GPU engine does not have."""
    return cast(HostOnly, engine("cpu").primitives())
