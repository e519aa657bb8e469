"""Searches for communities: what a search maximizes, which vertices stay, and how several runs are combined.

A vertex v that joins a community gains ``w - resolution * (a[v] * B + b[v] * A)``, or ``w - resolution * a[v] * A``.
Here w is the weight of v's edges to the community, and A and B are the sums of the vertex weights `a` and `b` in it. If
`a` is the degree, this maximizes modularity. Out- and in-degrees as `a` and `b` give its directed form, and weights of
1 the constant Potts model. A run (`levels`) starts from any partition. So several runs can follow each other: the next
run starts from the result of the one before, or looks for communities within its communities.

E. A. Leicht, M. E. J. Newman: Community Structure in Directed Networks. Physical Review Letters 100 (2008).
V. A. Traag, P. Van Dooren, Y. Nesterov: Narrow scope for resolution-limit-free community detection. Physical Review E
84 (2011).
V. Poulin, F. Théberge: Ensemble clustering for graphs: comparisons and applications. Applied Network Science 4 (2019).
"""

from itertools import count
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.community.community_programs import contracted, degrees, direction, keeps_weights, moved, parts
from gasla.algorithms.community.modularity import Inside
from gasla.arrays import array_module, module_of
from gasla.arrays import moved as copied
from gasla.graph.arguments import MOST_SEED
from gasla.graph.graph import Graph
from gasla.graph.transform.reduction import reduce_by_key
from gasla.operations.primitives import fits_one_thread, louvain_levels
from gasla.operations.run import run

Array = Any  # a NumPy or CuPy array
# largest number of vertices and edges of a level for which one thread moves vertices, instead of vertex programs
ONE_THREAD = 1 << 27
# A level on a GPU with at most so many vertices and edges is moved to host memory, because the turns of vertex programs
# would take longer than their work.
SMALL = 1 << 18
# Leiden's method starts this often from single vertices and keeps the best result, whose modularity is higher by 0.001
# to 0.012 than that of one start.
LEIDEN_STARTS = 3
# Fraction of its weight that an edge keeps if none of the runs of a consensus puts both of its ends in one community.
LEAST_SHARE = 0.05


class Search(NamedTuple):
    """What a search for communities is asked for: the graph, the quality to maximize, and limits such as a largest
    size.
    """

    graph: Graph  # has both directions of every edge, unless the graph is distributed
    # Weights of vertices in the penalty of a community, one array or a tuple of two. None stands for degrees as
    # weights, where the penalty is divided by their sum.
    weights: Any
    resolution: float
    refine: bool
    fixed: Array | None = None  # mask of the vertices that may not leave their community of the start
    max_size: int | None = None

    def formula(self) -> tuple[Array, Array | None, float]:
        """Return the numbers from which the penalty of a community is computed, which the quality of a partition
        subtracts.

        They are vertex weights `a`, other weights `b` or None, and a factor. The penalty is the factor times the square
        of the sum of `a` over the community's vertices, or with `b` twice the factor times the product of the sums of
        `a` and `b`.
        """
        if self.weights is None:
            degree = degrees(self.graph)
            return degree, None, self.resolution / (float(degree.sum()) or 1.0)
        first_weights, second_weights = self.weights if isinstance(self.weights, tuple) else (self.weights, None)
        return first_weights, second_weights, self.resolution

    def quality(self, labels: Array) -> float:
        """Return the quality of a partition into communities: the weight of edges within communities minus their
        penalties.

        Every edge counts in both directions.
        """
        first_weights, second_weights, resolution_share = self.formula()
        program, xp = Inside(weights=self.graph.value_type), module_of(self.graph.device)
        inner_weight = float(run(program, self.graph, max_iterations=1, label=labels, notice=False).inside.sum())
        sums = [
            reduce_by_key(labels, xp.asarray(vertex_weights), semirings.plus)
            for vertex_weights in (first_weights, second_weights)
            if vertex_weights is not None
        ]
        penalty = resolution_share * len(sums) * float((sums[0] * sums[-1]).sum())
        return inner_weight * (1 if direction(self.graph) == "in" else 2) - penalty


def numbered(labels: Array) -> Array:
    """Return the labels of communities renumbered from 0, in the order of the smallest vertex with each label."""
    xp: Any = array_module(labels)
    _, first_positions, label_numbers = xp.unique(labels, return_index=True, return_inverse=True)
    return xp.argsort(xp.argsort(first_positions))[label_numbers]


# --- one run of a search, with all its levels: by the kernel on one thread, or by vertex programs ---------------------


def levels(search: Search, start: Array | None, seed: int) -> list[Array]:
    """Search for communities once, and return the community of each vertex after each level of the search, the finest
    first.

    The search begins from the communities `start`, or from single vertices if it is None.
    """
    graph = search.graph
    # The kernel moves vertices one after another, so no move lowers the quality, and its result needs no check.
    if (kernel_search := _kernel_search(search)) is not None:
        return _run_kernel(kernel_search, start, seed, graph.device) or [_single_vertices(graph)]
    partitions = _run_programs(search, start, seed)
    first_labels = _single_vertices(graph) if start is None else numbered(start).astype(graph.id_dtype)
    if partitions and search.quality(partitions[-1]) >= search.quality(first_labels):
        return partitions
    # Vertex programs move several vertices at once, so a run may end with a lower quality than that of its start.
    return [first_labels]


def _single_vertices(graph: Graph) -> Array:
    """Return labels that make every vertex a community of its own."""
    return module_of(graph.device).arange(graph.n, dtype=graph.id_dtype)


def _kernel_search(search: Search) -> Search | None:
    """Return the search if a kernel that moves vertices on one thread should run it, or None if vertex programs should.

    A small search on a GPU is moved to host memory. Vertex programs run large graphs, unless the search has options
    that only the kernel has.
    """
    graph = search.graph
    if graph.engine == "gpu" and graph.n + graph.m <= SMALL:
        weights = None if search.weights is None else copied(search.weights, "cpu")
        on_host = graph.to("cpu")
        if (values := on_host.valued.each) is not None:
            on_host = on_host.with_values(values.astype(np.float64, copy=False))
        search = search._replace(graph=on_host, weights=weights)
    is_special = isinstance(search.weights, tuple) or search.fixed is not None or search.max_size is not None
    return search if is_special or fits_one_thread(search.graph, ONE_THREAD) else None


def _run_kernel(search: Search, start: Array | None, seed: int, device: Any) -> list[Array]:
    """Run a search for communities by a kernel in host memory.

    Return the community of each vertex after each level of the search, as arrays on `device`.
    """
    options: dict[str, Any] = {"node_weights": search.weights, "fixed": search.fixed, "max_size": search.max_size}
    options |= {"refine": search.refine, "iterations": LEIDEN_STARTS if search.refine and start is None else 1}
    start = None if start is None else copied(start, "cpu")
    partitions = louvain_levels(search.graph, start, resolution=search.resolution, seed=seed, **options)
    return [copied(labels, device) for labels in partitions]


def _run_programs(search: Search, start: Array | None, seed: int) -> list[Array]:
    """Run a search for communities by vertex programs, and return the community of each vertex after each level, the
    finest first.

    Once a level is small enough, the kernel that moves vertices on one thread finds the remaining levels.
    """
    partitions: list[Array] = []
    graph, isolated = search.graph, _isolated_vertices(search) if start is None else None
    community = _single_vertices(graph) if start is None else start
    while True:  # the loop ends, since each level has fewer vertices than the one before
        if partitions and (kernel_search := _kernel_search(search)) is not None:
            partitions += [
                level_labels[partitions[-1]]
                for level_labels in _run_kernel(kernel_search, community, seed, graph.device)
            ]
            break
        degree, _, resolution_share = search.formula()
        program_fields = {"degree": degree, "seed": seed, "share": resolution_share}
        community = moved(search.graph, community, program_fields)
        groups = parts(search.graph, community, program_fields) if search.refine else community
        merges_isolated = not partitions and isolated is not None
        if merges_isolated:
            groups[isolated] = groups[isolated.argmax()]  # type: ignore[union-attr]
        previous_count, inner_partition = search.graph.n, None
        if partitions and keeps_weights(graph) and 2 * search.graph.m > graph.m:
            # contracts the first graph again, so that a level that is about as large is freed before the next is made
            search, inner_partition = search._replace(graph=graph), partitions[-1]
        smaller, new_vertices, members = contracted(search.graph, groups, inner_partition)
        if smaller.n == previous_count:
            break
        partitions.append(new_vertices[partitions[-1]] if partitions else new_vertices)
        community = community[members]  # community of each new vertex; without refinement, each new vertex is alone
        # All isolated vertices have become one vertex, so some numbers of communities are no longer used.
        community = numbered(community) if merges_isolated else community
        weights = search.weights
        weights = None if weights is None else reduce_by_key(new_vertices, weights, semirings.plus, smaller.n)
        search = search._replace(graph=smaller, weights=weights)
        del smaller  # so that no name but `search` keeps the level
    if isolated is not None:
        single_labels = graph.n + _single_vertices(graph)
        partitions = [numbered(module_of(graph.device).where(isolated, single_labels, labels)) for labels in partitions]
    return partitions


def _isolated_vertices(search: Search) -> Array | None:
    """Return a mask of the vertices without edges if one vertex should stand for all of them on later levels, or else
    None.

    Without this, most vertices of the later levels of a random graph would be isolated. The result is None if no vertex
    is isolated, if the search has vertex weights, or if the graph is distributed.
    """
    if search.weights is not None or not search.graph.is_whole:
        return None
    is_isolated: Array = degrees(search.graph) == 0
    return is_isolated if is_isolated.any() else None


# --- several runs: repeated from the previous result, within the communities of a coarser run, or for a consensus -----


def seeds(seed: int, k: int) -> int:
    """Return the seed of random numbers for the k-th of several runs of a search.

    It is `LEIDEN_STARTS` above the seed of the run before, as a run uses so many seeds.
    """
    return seed + LEIDEN_STARTS * k & MOST_SEED


def iterated(search: Search, start: Array | None, seed: int, iterations: int | None) -> list[Array]:
    """Search for communities again from the result of the search as long as the quality rises, and return the best
    result.

    The result has the community of each vertex after each level of the search. At most `iterations` runs are made,
    where None stands for no limit.
    """
    best_levels = levels(search, start, seed)
    if iterations == 1:
        return best_levels
    score = search.quality(best_levels[-1])
    for k in count(1):
        next_levels = best_levels if k == iterations else levels(search, best_levels[-1], seeds(seed, k))
        next_score = search.quality(next_levels[-1])
        if not next_score > score + 1e-12 * abs(score):
            break
        best_levels, score = next_levels, next_score
    return best_levels


def nested(
    search: Search, sizes: list[int | None], start: Array | None, seed: int, iterations: int | None, least: int
) -> list[Array]:
    """Return nested communities, finest first, as a level for each maximum size in `sizes`, which ascend.

    The coarsest communities are found first. Within each that exceeds the next smaller size, a search finds smaller
    communities, and so on. `least` is the minimum size of a community.
    """
    partitions = _merge_small(search._replace(max_size=sizes[-1]), start, seed, iterations, least)
    if len(sizes) == 1:
        return partitions
    n, xp = search.graph.n, array_module(partitions[-1])
    partitions, fixed_labels = (
        partitions[-1:],
        None if search.fixed is None else numbered(xp.where(search.fixed, start, n + xp.arange(n))),
    )
    for size_limit in sizes[-2::-1]:
        is_large = xp.bincount(partitions[0])[partitions[0]] > size_limit
        inner = _search_within(search, partitions[0], is_large)._replace(max_size=size_limit)
        labels = _merge_small(inner, fixed_labels, seed, iterations, least)[-1]
        partitions = [numbered(xp.where(is_large, n + labels, partitions[0])), *partitions]
    return partitions


def _search_within(search: Search, labels: Array, is_large: Array) -> Search:
    """Return a search whose graph has only the edges within large communities, to divide them further.

    `is_large` marks the vertices of these communities. With modularity, each community is searched as if it were a
    graph of its own.
    """
    src, dst = search.graph.edges()
    inner = search.graph.select((labels[src] == labels[dst]) & is_large[src])
    if search.weights is not None and not isinstance(search.weights, tuple):
        return search._replace(graph=inner)
    xp, degree = array_module(labels), degrees(inner)
    community_weights = reduce_by_key(labels, degree, semirings.plus)[labels]
    return search._replace(
        graph=inner, weights=(degree, degree / xp.where(community_weights > 0, 2 * community_weights, 1))
    )


def together(search: Search, graph: Graph, runs: int, start: Array | None, seed: int) -> Array:
    """Return weights for the edges of `graph` that say how far several runs with different seeds agree (a consensus).

    An edge keeps its whole weight if all runs put both of its ends in one community of their first level. Otherwise its
    weight is lower, down to the fraction `LEAST_SHARE` if no run does.
    """
    src, dst = graph.edges()
    counts, weights = module_of(graph.device).zeros(graph.m), 1.0 if graph.values is None else graph.values
    for k in range(runs):
        labels = levels(search._replace(refine=False), start, seeds(seed, k))[0]
        counts += labels[src] == labels[dst]
    return weights * (LEAST_SHARE + (1 - LEAST_SHARE) * counts / runs)


# --- communities below a minimum size are merged with neighboring communities -----------------------------------------


def _merge_small(
    search: Search, start: Array | None, seed: int, iterations: int | None, smallest_size: int
) -> list[Array]:
    """Return the communities that a search has found after each level, with small communities of the last level merged.

    A community of less than `smallest_size` vertices joins the neighboring community of the largest gain, unless limits
    of the search forbid this for all its neighbors.
    """
    partitions = iterated(search, start, seed, iterations)
    while smallest_size > 1:
        roots = _roots_of_joins(search, partitions[-1], smallest_size)
        if roots is None:
            break
        partitions[-1] = numbered(array_module(partitions[-1]).asarray(roots)[partitions[-1]])
    return partitions


def _roots_of_joins(search: Search, labels: Array, smallest_size: int) -> np.ndarray | None:
    """Return for each community the community that it joins, itself if it joins none, or None if no community joins
    another.

    A community below the minimum size `smallest_size` joins the neighboring community of the largest gain. Gains are
    computed for the communities in `labels`, before any of them joins another. So small communities are not joined to
    one that has just reached the minimum size, until the next call.
    """
    first_weights, second_weights, resolution_share = search.formula()
    smaller, _, members = contracted(search.graph, labels)
    label_of_group, *endpoints, weight = (
        np.asarray(copied(x, "cpu")) for x in (labels[members], *smaller.edges(), smaller.values)
    )
    src, dst = (label_of_group[endpoint] for endpoint in endpoints)
    sums = [
        _sums_by_community(labels, endpoint) for endpoint in (first_weights, second_weights) if endpoint is not None
    ]
    gain = weight - resolution_share * (
        sums[0][src] * sums[-1][dst] + (0 if second_weights is None else sums[1][src] * sums[0][dst])
    )
    member_count = _sums_by_community(labels, 1)
    is_fixed = member_count < 0 if search.fixed is None else _sums_by_community(labels, search.fixed) > 0
    size_limit = np.inf if search.max_size is None else search.max_size
    (edges,) = np.nonzero((src != dst) & (weight > 0) & (member_count[src] < smallest_size))
    edges = edges[np.lexsort((dst[edges], -gain[edges], src[edges], member_count[src[edges]]))]
    roots, is_enough = np.arange(len(member_count)), member_count >= smallest_size
    for community, target in zip(src[edges].tolist(), dst[edges].tolist()):
        while roots[target] != target:
            target = roots[target]
        may_join = (
            (is_enough[target] or member_count[target] < smallest_size)
            and member_count[community] + member_count[target] <= size_limit
            and not (is_fixed[community] and is_fixed[target])
        )
        if may_join and roots[community] == community != target and member_count[community] < smallest_size:
            roots[community] = target
            member_count[target] += member_count[community]
            is_fixed[target] |= is_fixed[community]
    while (roots[roots] != roots).any():
        roots = roots[roots]
    return roots if (roots != np.arange(len(member_count))).any() else None


def _sums_by_community(labels: Array, vertex_weights: Any) -> np.ndarray:
    """Return for each community the sum of `vertex_weights` over its vertices, in host memory.

    `labels` has the community of each vertex, and `vertex_weights` a number for each vertex, or one number for all.
    """
    labels = np.asarray(copied(labels, "cpu"))
    return np.bincount(labels, np.broadcast_to(np.asarray(copied(vertex_weights, "cpu")), labels.shape))
