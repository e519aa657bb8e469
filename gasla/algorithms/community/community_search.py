"""Searches for communities: what they maximize and keep, and what is made of several runs of them.

A vertex v that joins a community gains ``w - resolution * (a[v] * B + b[v] * A)``, or ``w - resolution * a[v] * A``: w
is the weight of v's edges to the community, and A and B are the sums of `a` and `b` in it. Degrees give modularity,
out- and in-degrees its directed form, and sizes the constant Potts model. A run, `levels`, starts from any partition.
So runs follow each other: the next one starts from what the one before has found, or looks for communities within.

E. A. Leicht, M. E. J. Newman: Community Structure in Directed Networks. Physical Review Letters 100 (2008).
V. A. Traag, P. Van Dooren, Y. Nesterov: Narrow scope for resolution-limit-free community detection. Physical Review E
84 (2011).
V. Poulin, F. Théberge: Ensemble clustering for graphs: comparisons and applications. Applied Network Science 4 (2019).
"""

from itertools import count
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.community.community_programs import contracted, degrees, direction, moved, parts
from gasla.algorithms.community.modularity import Inside
from gasla.arrays import array_module, module_of
from gasla.arrays import moved as copied
from gasla.graph.arguments import MOST_SEED
from gasla.graph.graph import Graph
from gasla.graph.transform.reduction import reduce_by_key
from gasla.operations.primitives import fits_one_thread, louvain_levels
from gasla.operations.run import run

Array = Any  # NumPy's or CuPy's
ONE_THREAD = 1 << 27  # up to this many vertices and edges, vertices of a level move one after another
SMALL = 1 << 18  # up to this many on a GPU are moved to the host: there turns would take longer than their work
LEIDEN_STARTS = 3  # starts of Leiden's method from single vertices: the best raises modularity by 0.001 to 0.012
LEAST_SHARE = 0.05  # share of its weight that an edge keeps if no run of an ensemble puts its ends together


class Search(NamedTuple):
    """A graph, what a search maximizes on it, and what it keeps."""

    graph: Graph  # with both directions of every edge; over ranks as it was given
    weights: Any  # weights of vertices: `a`, or a tuple of `a` and `b`; None stands for degrees, divided by their sum
    resolution: float
    refine: bool
    fixed: Array | None = None  # vertices that stay in their communities of the start
    max_size: int | None = None

    def formula(self) -> tuple[Array, Array | None, float]:
        """Return `a`, and `b` if there are two, and the factor of the penalty."""
        if self.weights is None:
            degree = degrees(self.graph)
            return degree, None, self.resolution / (float(degree.sum()) or 1.0)
        a, b = self.weights if isinstance(self.weights, tuple) else (self.weights, None)
        return a, b, self.resolution

    def quality(self, labels: Array) -> float:
        """Return what moves maximize: the weights within communities less the penalties, in both directions."""
        a, b, share = self.formula()
        program, xp = Inside(weights=self.graph.value_type), module_of(self.graph.device)
        inside = float(run(program, self.graph, max_iterations=1, label=labels, notice=False).inside.sum())
        sums = [reduce_by_key(labels, xp.asarray(each), semirings.plus) for each in (a, b) if each is not None]
        penalty = share * len(sums) * float((sums[0] * sums[-1]).sum())
        return inside * (1 if direction(self.graph) == "in" else 2) - penalty


def numbered(labels: Array) -> Array:
    """Renumber labels from 0 in the order of the smallest vertex of each."""
    xp: Any = array_module(labels)
    _, first, which = xp.unique(labels, return_index=True, return_inverse=True)
    return xp.argsort(xp.argsort(first))[which]


# --- one run ---------------------------------------------------------------------------------------------------------


def levels(search: Search, start: Array | None, seed: int) -> list[Array]:
    """Return the communities after each level, finest first, of one run from the communities in `start`."""
    graph = search.graph
    if (near := _for_kernel(search)) is not None:  # no move lowers the quality
        return _on_kernel(near, start, seed, graph.device) or [_singles(graph)]
    partitions = _by_programs(search, start, seed)
    first = _singles(graph) if start is None else numbered(start).astype(graph.id_dtype)
    if partitions and search.quality(partitions[-1]) >= search.quality(first):
        return partitions
    return [first]  # several vertices move at once, so a run may end with a lower quality than it began with


def _singles(graph: Graph) -> Array:
    return module_of(graph.device).arange(graph.n, dtype=graph.id_dtype)


def _for_kernel(search: Search) -> Search | None:
    """Return the search, in host memory if it is small, for the kernel in which vertices move one after another.

    Return None if vertex programs should run it, as for a large graph without options that only the kernel has.
    """
    graph = search.graph
    if graph.engine == "gpu" and graph.n + graph.m <= SMALL:
        weights = None if search.weights is None else copied(search.weights, "cpu")
        search = search._replace(graph=graph.to("cpu"), weights=weights)
    is_special = isinstance(search.weights, tuple) or search.fixed is not None or search.max_size is not None
    return search if is_special or fits_one_thread(search.graph, ONE_THREAD) else None


def _on_kernel(near: Search, start: Array | None, seed: int, device: Any) -> list[Array]:
    """Return the levels, on a device, of a search in host memory."""
    how: dict[str, Any] = {"node_weights": near.weights, "fixed": near.fixed, "max_size": near.max_size}
    how |= {"refine": near.refine, "iterations": LEIDEN_STARTS if near.refine and start is None else 1}
    start = None if start is None else copied(start, "cpu")
    partitions = louvain_levels(near.graph, start, resolution=near.resolution, seed=seed, **how)
    return [copied(labels, device) for labels in partitions]


def _by_programs(search: Search, start: Array | None, seed: int) -> list[Array]:
    """Find the levels by vertex programs, and by the kernel from a level on that is small enough."""
    partitions: list[Array] = []
    graph, alone = search.graph, _without_edges(search) if start is None else None
    community = _singles(graph) if start is None else start
    while True:  # ends, since each level has fewer vertices than the one before
        if partitions and (near := _for_kernel(search)) is not None:
            partitions += [each[partitions[-1]] for each in _on_kernel(near, community, seed, graph.device)]
            break
        degree, _, share = search.formula()
        given = {"degree": degree, "seed": seed, "share": share}
        community = moved(search.graph, community, given)
        groups = parts(search.graph, community, given) if search.refine else community
        merges = not partitions and alone is not None
        if merges:
            groups[alone] = groups[alone.argmax()]  # type: ignore[union-attr]
        smaller, became, members = contracted(search.graph, groups)
        if smaller.n == search.graph.n:
            break
        partitions.append(became[partitions[-1]] if partitions else became)
        community = community[members]  # without refinement, each vertex is its own community
        community = numbered(community) if merges else community  # some numbers have gone
        weights = search.weights
        weights = None if weights is None else reduce_by_key(became, weights, semirings.plus, smaller.n)
        search = search._replace(graph=smaller, weights=weights)
    if alone is not None:
        own = graph.n + _singles(graph)
        partitions = [numbered(module_of(graph.device).where(alone, own, labels)) for labels in partitions]
    return partitions


def _without_edges(search: Search) -> Array | None:
    """Return which vertices have no edges, if there are any: one vertex of the next level can stand for all of them.

    Without it, most vertices of the later levels of a random graph would be such vertices.
    """
    if search.weights is not None or not search.graph.is_whole:
        return None
    alone: Array = degrees(search.graph) == 0
    return alone if alone.any() else None


# --- several runs ----------------------------------------------------------------------------------------------------


def seeds(seed: int, k: int) -> int:
    """Return the seed of the k-th of several runs."""
    return seed + LEIDEN_STARTS * k & MOST_SEED


def iterated(search: Search, start: Array | None, seed: int, iterations: int | None) -> list[Array]:
    """Return the levels of the last run that raised the quality: each starts from what the one before has found."""
    best = levels(search, start, seed)
    if iterations == 1:
        return best
    score = search.quality(best[-1])
    for k in count(1):
        further = best if k == iterations else levels(search, best[-1], seeds(seed, k))
        after = search.quality(further[-1])
        if not after > score + 1e-12 * abs(score):
            break
        best, score = further, after
    return best


def nested(
    search: Search, sizes: list[int | None], start: Array | None, seed: int, iterations: int | None, least: int
) -> list[Array]:
    """Return levels of which each has a maximum size: first the coarsest is found, then communities within it."""
    partitions = _merged(search._replace(max_size=sizes[-1]), start, seed, iterations, least)
    if len(sizes) == 1:
        return partitions
    n, xp = search.graph.n, array_module(partitions[-1])
    partitions, apart = (
        partitions[-1:],
        None if search.fixed is None else numbered(xp.where(search.fixed, start, n + xp.arange(n))),
    )
    for most in sizes[-2::-1]:
        is_large = xp.bincount(partitions[0])[partitions[0]] > most
        inner = _within(search, partitions[0], is_large)._replace(max_size=most)
        labels = _merged(inner, apart, seed, iterations, least)[-1]
        partitions = [numbered(xp.where(is_large, n + labels, partitions[0])), *partitions]
    return partitions


def _within(search: Search, labels: Array, is_large: Array) -> Search:
    """Return the search within some communities, each of which has the modularity of a graph of its own."""
    src, dst = search.graph.edges()
    inner = search.graph.select((labels[src] == labels[dst]) & is_large[src])
    if search.weights is not None and not isinstance(search.weights, tuple):
        return search._replace(graph=inner)
    xp, degree = array_module(labels), degrees(inner)
    total = reduce_by_key(labels, degree, semirings.plus)[labels]
    return search._replace(graph=inner, weights=(degree, degree / xp.where(total > 0, 2 * total, 1)))


def together(search: Search, graph: Graph, runs: int, start: Array | None, seed: int) -> Array:
    """Return the weights of the edges of `graph`, times how often the first levels of some runs join their ends."""
    src, dst = graph.edges()
    counts, given = module_of(graph.device).zeros(graph.m), 1.0 if graph.values is None else graph.values
    for k in range(runs):
        labels = levels(search._replace(refine=False), start, seeds(seed, k))[0]
        counts += labels[src] == labels[dst]
    return given * (LEAST_SHARE + (1 - LEAST_SHARE) * counts / runs)


# --- a minimum size --------------------------------------------------------------------------------------------------


def _merged(search: Search, start: Array | None, seed: int, iterations: int | None, least: int) -> list[Array]:
    """Return levels. In the last one, communities below the minimum size have joined neighboring communities."""
    partitions = iterated(search, start, seed, iterations)
    while least > 1:
        roots = _joined(search, partitions[-1], least)
        if roots is None:
            break
        partitions[-1] = numbered(array_module(partitions[-1]).asarray(roots)[partitions[-1]])
    return partitions


def _joined(search: Search, labels: Array, least: int) -> np.ndarray | None:
    """Return which community each joins. A community below the minimum size joins the neighbor of largest gain.

    None if none joins another. Gains are of the communities as they are, so none joins one that has just grown enough.
    """
    a, b, share = search.formula()
    smaller, _, members = contracted(search.graph, labels)
    number, *ends, weight = (np.asarray(copied(x, "cpu")) for x in (labels[members], *smaller.edges(), smaller.values))
    src, dst = (number[each] for each in ends)
    sums = [_sums(labels, each) for each in (a, b) if each is not None]
    gain = weight - share * (sums[0][src] * sums[-1][dst] + (0 if b is None else sums[1][src] * sums[0][dst]))
    size = _sums(labels, 1)
    stays = size < 0 if search.fixed is None else _sums(labels, search.fixed) > 0
    most = np.inf if search.max_size is None else search.max_size
    (which,) = np.nonzero((src != dst) & (weight > 0) & (size[src] < least))
    which = which[np.lexsort((dst[which], -gain[which], src[which], size[src[which]]))]
    roots, is_enough = np.arange(len(size)), size >= least
    for c, d in zip(src[which].tolist(), dst[which].tolist()):
        while roots[d] != d:
            d = roots[d]
        takes = (is_enough[d] or size[d] < least) and size[c] + size[d] <= most and not (stays[c] and stays[d])
        if takes and roots[c] == c != d and size[c] < least:
            roots[c] = d
            size[d] += size[c]
            stays[d] |= stays[c]
    while (roots[roots] != roots).any():
        roots = roots[roots]
    return roots if (roots != np.arange(len(size))).any() else None


def _sums(labels: Array, each: Any) -> np.ndarray:
    """Return the sum of a number of each vertex by community, in host memory."""
    labels = np.asarray(copied(labels, "cpu"))
    return np.bincount(labels, np.broadcast_to(np.asarray(copied(each, "cpu")), labels.shape))
