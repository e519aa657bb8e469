"""Verifiers of components and communities."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.arguments import vertex_numbers
from gasla.graph.graph import as_graph
from gasla.verify._common import (
    Array,
    Edges,
    VerificationError,
    components_of,
    edge_name,
    edges_of,
    near_one,
    require,
    sparse,
    verifier,
    vertex_answer,
)

# Bound of a sum of weights relative to the largest weight. For a smaller sum, half of it may be rounded to 0, and
# divisions by it fail.
VANISHING = 1e-290


@verifier()
def components(graph: Any, labels: ArrayLike, count: int | None = None) -> None:
    """Verify `labels` of `gasla.connected_components`, and their `count` if given.

    No edge leaves its component, every component is connected, and they are numbered by their smallest vertices.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> edge_and_point = csr_array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    >>> components(edge_and_point, [0, 0, 1], 2)
    >>> components(edge_and_point, [0, 0, 0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertices 0 and 2 share component 0, but no path joins them
    """
    edges = edges_of(graph)
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    joined = label[edges.src] == label[edges.dst]
    require(
        joined,
        lambda e: f"{edge_name(edges, e)} leaves component {label[edges.src[e]]} for component {label[edges.dst[e]]}",
    )
    _check_numbering(label, components_of(edges.matrix()), count, "no path joins them")


@verifier()
def strong_components(graph: Any, labels: ArrayLike, count: int | None = None) -> None:
    """Verify `labels` of `gasla.strongly_connected_components`, and their `count` if given.

    Each component is strongly connected, and no path leaves a component and returns to it. Components are numbered by
    their smallest vertices.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> cycle_and_edge = csr_array([[0, 1, 0], [1, 0, 1], [0, 0, 0]])
    >>> strong_components(cycle_and_edge, [0, 0, 1], 2)
    >>> strong_components(cycle_and_edge, [0, 0, 0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertices 0 and 2 share component 0, but not by paths in both directions within it
    >>> strong_components(cycle_and_edge, [0, 1, 2])
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 0 → 1 leaves component 0 for component 1, from which a path leads back
    """
    edges = edges_of(graph)
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    is_internal = label[edges.src] == label[edges.dst]
    strong_piece = components_of(sparse(edges.n, edges.src[is_internal], edges.dst[is_internal]), "strong")
    names, index = np.unique(label, return_inverse=True)
    # Paths in both directions join two components of the answer if both are in one strong component of the graph whose
    # vertices are the components.
    cycle = components_of(sparse(len(names), index[edges.src], index[edges.dst]), "strong")[index]
    require(
        is_internal | (cycle[edges.src] != cycle[edges.dst]),
        lambda e: (
            f"{edge_name(edges, e)} leaves component {label[edges.src[e]]} for component {label[edges.dst[e]]}, "
            "from which a path leads back"
        ),
    )
    _check_numbering(label, strong_piece, count, "not by paths in both directions within it")


@verifier("shares")
def label_propagation(
    graph: Any,
    labels: ArrayLike,
    *,
    weighted: bool = False,
    share: float = 0.25,
    method: str = "pick-less",
    max_iter: int = 100,
) -> None:
    """Verify `labels` of `gasla.label_propagation`: vertices are in the community of most of their neighbors.

    Propagation stops while labels still change, so a fraction of `share` of the vertices may be in another community.
    The synchronous method ends in no such state, so NumPy computes its labels again.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> label_propagation(path, [0, 0, 0], share=0)
    >>> label_propagation(path, [0, 1, 0], share=0)
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 0 is in community 0, where 0 of its edges lead, and 1 to community 1...
    """
    from scipy.sparse import coo_array

    edges = edges_of(graph)
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    if method == "synchronous":
        expected = _synchronous_labels(edges, weighted, max_iter)
        require(label == expected, lambda v: f"the label of vertex {v} is {expected[v]}, not {label[v]}")
        return
    _check_numbering(label, label, None, what="community")
    count = max(label.max(initial=-1) + 1, 1)
    counted = (edges.src != edges.dst) & (edges.weight > 0 if weighted else True)
    src, dst = edges.src[counted], edges.dst[counted]
    weight = near_one(edges.weight)[counted] if weighted else np.ones(src.size)
    vertex_and_label = np.r_[src, dst], label[np.r_[dst, src]]
    weight_to_label = coo_array((np.r_[weight, weight], vertex_and_label), shape=(edges.n, count)).tocsr()
    largest = weight_to_label.max(axis=1).toarray().ravel() if edges.n else np.zeros(0)
    inside = np.zeros(edges.n)
    np.add.at(
        inside,
        vertex_and_label[0],
        np.where(vertex_and_label[1] == label[vertex_and_label[0]], np.r_[weight, weight], 0),
    )
    elsewhere = inside < largest * (1 - 1e-6)
    if elsewhere.sum() > share * edges.n:
        v = int(elsewhere.argmax())
        row = slice(*weight_to_label.indptr[v : v + 2])
        other = int(weight_to_label.indices[row][weight_to_label.data[row].argmax()])
        raise VerificationError(
            f"vertex {v} is in community {label[v]}, where {inside[v]:g} of its edges lead, and {largest[v]:g} to "
            f"community {other}; {elsewhere.sum():,} of {edges.n:,} vertices are; expected at most {share:.0%}"
        )
    touched = np.zeros(edges.n, bool)
    touched[src] = touched[dst] = True
    sizes = np.bincount(label)
    require(touched | (sizes[label] == 1), lambda v: f"vertex {v} has no neighbor, but shares its community")


def _synchronous_labels(edges: Edges, weighted: bool, iterations: int) -> Array:
    """Return the labels after a number of synchronous iterations of label propagation.

    In each iteration, every vertex takes the most frequent label of its neighbors, of equally frequent ones the
    smallest.
    """
    is_counted = (edges.src != edges.dst) & (edges.weight != 0 if weighted else True)
    tails, heads = edges.src[is_counted], edges.dst[is_counted]
    src, dst = np.concatenate((tails, heads)), np.concatenate((heads, tails))
    weight = np.tile(edges.weight[is_counted] if weighted else np.ones(is_counted.sum()), 2)
    label = np.arange(edges.n)
    for _ in range(iterations if src.size else 0):
        order = np.lexsort((label[dst], src))
        owner, neighbor_label = src[order], label[dst[order]]
        group_starts = np.flatnonzero(
            np.r_[True, (owner[1:] != owner[:-1]) | (neighbor_label[1:] != neighbor_label[:-1])]
        )
        owner, neighbor_label, total = (
            owner[group_starts],
            neighbor_label[group_starts],
            np.add.reduceat(weight[order], group_starts),
        )
        order = np.lexsort((neighbor_label, -total, owner))
        owner, first_of_vertex = np.unique(owner[order], return_index=True)
        old_label, label = label, label.copy()
        label[owner] = neighbor_label[order][first_of_vertex]
        if np.array_equal(old_label, label):
            break
    return label


@verifier("shares")
def louvain_communities(
    graph: Any,
    labels: ArrayLike,
    *,
    refine: bool = False,
    weighted: bool = True,
    resolution: float = 1.0,
    quality: str = "modularity",
    directed: bool = False,
    node_weights: ArrayLike | None = None,
    start: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    max_size: Any = None,
    min_size: int = 1,
    runs: int = 1,
) -> None:
    """Verify `labels` of `gasla.louvain_communities`: their quality is no less than that of what it started from.

    Communities are numbered by their smallest vertices. Fixed vertices stay together or apart as in `start`, and
    refined communities are connected. Here `start` must be an array, and `fixed` a mask.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> louvain_communities(pairs, [0, 0, 1, 1])
    >>> louvain_communities(pairs, [0, 1, 0, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the modularity is -0.5; expected -0.25 or more, as of single vertices
    """
    _check_communities(
        *(edges_of(graph), labels, refine, weighted, resolution, quality, directed, node_weights, start, fixed),
        *(max_size, min_size == runs == 1),
    )


@verifier("shares")
def leiden_communities(
    graph: Any,
    labels: ArrayLike,
    *,
    weighted: bool = True,
    resolution: float = 1.0,
    quality: str = "modularity",
    directed: bool = False,
    node_weights: ArrayLike | None = None,
    start: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    max_size: Any = None,
    min_size: int = 1,
    runs: int = 1,
) -> None:
    """Verify `labels` of `gasla.leiden_communities`: their quality is no less than that of what it started from.

    Communities are connected and numbered by their smallest vertices. Fixed vertices stay together or apart as in
    `start`. Here `start` must be an array, and `fixed` a mask.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> leiden_communities(path, [0, 0, 0])
    >>> leiden_communities(path, [0, 1, 0], quality="cpm", resolution=0)
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is apart from others of its community 0
    """
    _check_communities(
        *(edges_of(graph), labels, True, weighted, resolution, quality, directed, node_weights, start, fixed),
        *(max_size, min_size == runs == 1),
    )


def _check_communities(
    edges: Edges,
    labels: ArrayLike,
    refine: bool,
    weighted: bool,
    resolution: float,
    quality: str,
    directed: bool,
    node_weights: ArrayLike | None,
    start: ArrayLike | None,
    fixed: ArrayLike | None,
    max_size: Any,
    no_worse: bool,
) -> None:
    """Verify the communities that Louvain's or Leiden's algorithm returned.

    Parameters
    ----------
    edges, labels :
        the edges of the graph; (n,) integers, the community of each vertex
    refine, weighted, resolution, quality, directed, node_weights, max_size :
        as for `gasla.louvain_communities`
    start :
        (n,) integers, the communities from which the algorithm started. A vertex with a negative number was a community
        of its own, and so was each vertex if `start` is None
    fixed :
        (n,) bools, whether a vertex had to stay in its community of `start`, or None if no vertex had to
    no_worse :
        whether to require that the quality of `labels` is at least that of the communities from which the algorithm
        started. This is not checked if `max_size` limits communities
    """
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    _check_numbering(label, label, None, what="community")
    weight, power = _near_one(edges, weighted)
    singletons = np.arange(edges.n)
    start_labels = singletons if start is None else np.where(np.asarray(start) < 0, -1 - singletons, start)
    is_fixed = np.zeros(edges.n, bool) if fixed is None else np.asarray(fixed)
    (fixed_vertices,) = np.nonzero(is_fixed)
    for labels_before, labels_after, complaint in (
        (start_labels, label, "were together, and are apart"),
        (label, start_labels, "were apart, and are together"),
    ):
        first_fixed = fixed_vertices[_leaders(labels_before[fixed_vertices])]
        require(
            labels_after[fixed_vertices] == labels_after[first_fixed],
            lambda k: f"fixed vertices {first_fixed[k]} and {fixed_vertices[k]} {complaint}",  # noqa: B023
        )
    # the largest allowed size of a community, NaN if there is no limit
    max_vertices = np.atleast_1d(np.array(max_size, np.float64))[-1]
    sizes = np.bincount(label)
    require(
        ~(sizes > max_vertices), lambda c: f"community {c} has {sizes[c]} vertices; expected {max_vertices:g} at most"
    )
    if quality == "modularity":
        value = _modularity_function(edges, weight, resolution, directed)
    else:
        node_weight = np.ones(edges.n) if node_weights is None else np.asarray(node_weights, np.float64)
        value = _potts_function(edges, weight, float(np.ldexp(resolution, -power)), directed, node_weight)
    answer_quality, start_quality = value(label), value(np.unique(start_labels, return_inverse=True)[1])
    if no_worse and np.isnan(max_vertices) and not answer_quality >= start_quality - 1e-9 * max(1, abs(start_quality)):
        name, origin = quality.replace("cpm", "quality"), "single vertices" if start is None else "the start"
        raise VerificationError(
            f"the {name} is {answer_quality:.6g}; expected {start_quality:.6g} or more, as of {origin}"
        )
    if refine:
        is_internal = (label[edges.src] == label[edges.dst]) & (weight > 0)
        # Added edges join the fixed vertices of each community, so that they count as connected even if no edges of the
        # graph join them.
        src, dst = np.r_[edges.src[is_internal], fixed_vertices], np.r_[edges.dst[is_internal], first_fixed]
        component = components_of(sparse(edges.n, src, dst))
        require(
            component == component[_leaders(label)],
            lambda v: f"vertex {v} is apart from others of its community {label[v]}",
        )


def _leaders(label: Array) -> Array:
    """Return for each entry the index of the first entry that has the same label."""
    _, first_index, label_index = np.unique(label, return_index=True, return_inverse=True)
    return first_index[label_index]


def _modularity_function(edges: Edges, weight: Array, resolution: float, directed: bool) -> Callable[[Array], float]:
    total = weight.sum() or 1.0
    out_strength, in_strength = (np.bincount(ends, weight, edges.n) / total for ends in (edges.src, edges.dst))
    if not directed:
        out_strength = in_strength = (out_strength + in_strength) / 2

    def quality(label: Array) -> float:
        internal_weight = weight[label[edges.src] == label[edges.dst]].sum() / total
        return float(
            internal_weight - resolution * (np.bincount(label, out_strength) @ np.bincount(label, in_strength))
        )

    return quality


def _near_one(edges: Edges, weighted: bool) -> tuple[Array, int]:
    """Return the weights of edges multiplied by a power of two, as in `near_one`, and the exponent that undoes this.

    Without weights, return an array of ones and the exponent 0.
    """
    if not weighted:
        return np.ones(edges.dst.size), 0
    weight = near_one(edges.weight)
    greatest, scaled = (float(each.max(initial=0)) for each in (edges.weight, weight))
    return weight, int(np.frexp(greatest)[1] - np.frexp(scaled)[1])


def _potts_function(
    edges: Edges, weight: Array, resolution: float, directed: bool, node_weight: Array
) -> Callable[[Array], float]:
    orders = [np.lexsort((weight, *ends)) for ends in ((edges.dst, edges.src), (edges.src, edges.dst))]
    src, dst = edges.src, edges.dst
    is_symmetric = all(
        np.array_equal(one[orders[0]], other[orders[1]]) for one, other in ((src, dst), (dst, src), (weight, weight))
    )

    def quality(label: Array) -> float:
        internal_weight = weight[label[src] == label[dst]].sum() * (1 if directed or is_symmetric else 2)
        return float(internal_weight - resolution * (np.bincount(label, node_weight) ** 2).sum())

    return quality


@verifier("shares")
def modularity(graph: Any, labels: ArrayLike, score: float, *, weighted: bool = True, resolution: float = 1.0) -> None:
    """Verify `score` of `gasla.modularity`, computed again by sums over the edges and the degrees of communities.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> modularity(pairs, [0, 0, 1, 1], 0.5)
    >>> modularity(pairs, [0, 0, 1, 1], 1.0)
    Traceback (most recent call last):
    gasla.verify.VerificationError: the modularity is 0.5, not 1
    """
    edges = edges_of(graph)
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    weight, _ = _near_one(edges, weighted)
    total = weight.sum()
    if total == 0:
        raise VerificationError("the weights sum to 0; expected an error instead of a score")
    out_strength, in_strength = np.bincount(label[edges.src], weight), np.bincount(label[edges.dst], weight)
    # a larger label is not both the source's and the target's community of some edge, so its term of the sum is 0
    common_length = min(len(out_strength), len(in_strength))
    internal_weight = weight[label[edges.src] == label[edges.dst]].sum() / total
    expected = float(
        internal_weight - resolution * ((out_strength[:common_length] / total) @ (in_strength[:common_length] / total))
    )
    if not abs(score - expected) <= 1e-9 * (1 + abs(resolution)):
        raise VerificationError(f"the modularity is {expected:.9g}, not {score:.9g}")


@verifier("shares")
def partition_table(
    graph: Any,
    labels: ArrayLike,
    sizes: ArrayLike,
    internal: ArrayLike,
    cut: ArrayLike,
    conductance: ArrayLike,
    *,
    weighted: bool = True,
) -> None:
    """Verify the columns `sizes`, `internal`, `cut` and `conductance` of `gasla.partition_table`.

    The columns must be the sums over the edges within communities, and between them.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> partition_table(path, [0, 0, 1], [2, 1], [2.0, 0.0], [1.0, 1.0], [1.0, 1.0])
    >>> partition_table(path, [0, 0, 1], [2, 1], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the cut of community 0 is 1, not 2
    """
    columns = {"size": sizes, "internal weight": internal, "cut": cut, "conductance": conductance}
    _check_table(edges_of(graph), labels, weighted, columns)


def _check_table(edges: Edges, labels: ArrayLike, weighted: bool, columns: Mapping[str, ArrayLike]) -> None:
    """Verify columns of a table of communities, by sums over the edges within communities and between them.

    `columns` maps the name of a column, such as "cut", to its values, one per community.
    """
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    count = label.max(initial=-1) + 1
    weight, power = _near_one(edges, weighted)
    tail, head = label[edges.src], label[edges.dst]
    is_internal, is_cut = tail == head, tail != head
    inside = np.bincount(tail[is_internal], weight[is_internal], count)
    crossing = np.bincount(np.r_[tail[is_cut], head[is_cut]], np.tile(weight[is_cut] / 2, 2), count)
    others = (inside + crossing).sum() - (inside + crossing)
    smaller = np.minimum(inside + crossing, np.maximum(others, crossing))
    slack = 1e-12 * weight.sum()
    expected = {
        "size": (np.bincount(label, minlength=count).astype(float), 0, 0.0),
        "internal weight": (inside, power, slack),
        "cut": (crossing, power, slack),
        "conductance": (crossing / smaller, 0, 1e-9),
    }
    for name, values in columns.items():
        scaled, exponent, atol = expected[name]
        answer = np.asarray(values, np.float64)
        if answer.shape != (count,):
            raise VerificationError(f"{name}: {count} numbers were expected, one per community, not {answer.shape}")
        # a sum beyond the largest float64 becomes infinite here, as it does in the table that is verified
        with np.errstate(over="ignore", under="ignore"):
            exact, scaled_answer = np.ldexp(scaled, exponent), np.ldexp(answer, -exponent)
        is_close = np.isclose(scaled_answer, scaled, rtol=1e-9, atol=atol, equal_nan=True) | (answer == exact)
        if name == "conductance":
            is_close |= np.isnan(answer) & (smaller < VANISHING)
        require(is_close, lambda c: f"the {name} of community {c} is {exact[c]:g}, not {answer[c]:g}")  # noqa: B023


@verifier("shares")
def spectral_clustering(
    graph: Any, labels: ArrayLike, cut: ArrayLike, conductance: ArrayLike, *, weighted: bool = True
) -> None:
    """Verify `labels`, `cut` and `conductance` of `gasla.spectral_clustering`, but not that the cut is small.

    Clusters are numbered by their smallest vertices. Cuts and conductances must follow from the labels.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> spectral_clustering(path, [0, 0, 1], [1.0, 1.0], [1.0, 1.0])
    >>> spectral_clustering(path, [1, 1, 0], [1.0, 1.0], [1.0, 1.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 0 has the label 1; expected at most 0, as no vertex before it is higher
    """
    edges = edges_of(graph)
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    next_label = np.maximum.accumulate(np.r_[-1, label])[:-1] + 1
    require(
        label <= next_label,
        lambda v: (
            f"vertex {v} has the label {label[v]}; expected at most {next_label[v]}, as no vertex before it is higher"
        ),
    )
    _check_table(edges, label, weighted, {"cut": cut, "conductance": conductance})


@verifier("shares")
def partition(
    graph: Any,
    labels: ArrayLike,
    cut: float,
    volume: int,
    k: int,
    *,
    weighted: bool = True,
    node_weights: Any = None,
    tolerance: float = 0.03,
) -> None:
    """Verify `labels`, `cut` and `volume` of `gasla.partition`. Whether the cut or the volume could be smaller is not
    verified.

    Parts are numbered 0 to k - 1. No part is too heavy, and no part is empty if there are k vertices. The cut and the
    volume are sums over the edges between parts.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> partition(path, [0, 0, 1, 1], 1.0, 2, 2)
    >>> partition(path, [0, 0, 0, 1], 1.0, 2, 2)
    Traceback (most recent call last):
    gasla.verify.VerificationError: part 0 weighs 3; expected at most 2.5
    """
    edges = edges_of(graph)
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    require((label >= 0) & (label < k), lambda v: f"vertex {v} is in part {label[v]}; expected 0 to {k - 1}")
    sizes = np.bincount(label, minlength=k)
    if edges.n >= k:
        require(sizes > 0, lambda p: f"part {p} is empty; expected {k} parts")
    node_weight = np.ones(edges.n)
    if node_weights is not None:
        node_weight = vertex_numbers(as_graph(graph), "node_weights", node_weights, least=0)
    loads, mean = np.bincount(label, node_weight, k), node_weight.sum() / k
    max_load = max((1 + tolerance) * mean, mean + (1 - 1 / k) * node_weight.max(initial=0))
    require(
        loads <= max_load * (1 + 1e-12),
        lambda p: f"part {p} weighs {loads[p]:.9g}; expected at most {max_load:.9g}",
    )
    is_cut = label[edges.src] != label[edges.dst]
    src, dst = edges.src[is_cut].astype(np.int64), edges.dst[is_cut].astype(np.int64)
    sent = np.unique(np.r_[src, dst] * k + label[np.r_[dst, src]]).size
    if volume != sent:
        raise VerificationError(f"the volume is {sent}, not {volume}")
    whole = as_graph(graph)
    if whole.has_symmetric_values if weighted else whole.is_symmetric:
        # a symmetric graph stores each edge in both directions, and the cut counts only one of them
        is_cut &= edges.src < edges.dst
    expected = float(edges.weight[is_cut].sum()) if weighted else float(is_cut.sum())
    if not (cut == expected or abs(cut - expected) <= 1e-9 * expected < np.inf):
        raise VerificationError(f"the cut is {expected:.9g}, not {cut:.9g}")


@verifier()
def partition_quality(graph: Any, labels: ArrayLike, coverage: float, performance: float) -> None:
    """Verify `coverage` and `performance` of `gasla.partition_quality`, by the edges within communities and the pairs.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> partition_quality(path, [0, 0, 1], 0.5, 2 / 3)
    >>> partition_quality(path, [0, 0, 1], 0.5, 0.5)
    Traceback (most recent call last):
    gasla.verify.VerificationError: the performance is 0.666667, not 0.5
    """
    edges = edges_of(graph)
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    joined = edges.simple().tocoo()
    internal_pairs = (label[joined.row] == label[joined.col]).sum() / 2
    sizes = np.bincount(label).astype(np.float64)
    together, pairs = (sizes * (sizes - 1)).sum() / 2, edges.n * (edges.n - 1) / 2
    counts = np.array([joined.nnz / 2, pairs - together + 2 * internal_pairs - joined.nnz / 2])
    for name, answer, part, whole in (
        ("coverage", coverage, internal_pairs, counts[0]),
        ("performance", performance, counts[1], pairs),
    ):
        fraction = part / whole if whole else np.nan
        if not np.isclose(answer, fraction, rtol=1e-12, atol=0, equal_nan=True):
            raise VerificationError(f"the {name} is {fraction:.6g}, not {answer:.6g}")


def _check_numbering(label: Array, piece: Array, count: int | None, wanting: str = "", what: str = "component") -> None:
    """Verify that each connected piece of a graph has a label of its own, and that labels follow the order of the
    pieces' smallest vertices.

    Parameters
    ----------
    label : (n,) integers
        the label of each vertex, to be verified
    piece : (n,) integers
        the connected piece of each vertex, computed by SciPy, in any numbering
    count : int or None
        the number of pieces that the answer says, verified if given
    wanting : str
        how the error message goes on after "vertices u and v share component c, but"
    what : str
        what the error message calls a piece
    """
    _, smallest = np.unique(piece, return_index=True)  # for each connected piece, the smallest vertex in it
    smallest = np.sort(smallest)
    _, owner, shared = np.unique(label[smallest], return_index=True, return_inverse=True)
    require(
        owner[shared] == np.arange(smallest.size),
        lambda p: (
            f"vertices {smallest[owner[shared[p]]]} and {smallest[p]} share component {label[smallest[p]]}, "
            f"but {wanting}"
        ),
    )
    require(
        label[smallest] == np.arange(smallest.size),
        lambda p: (
            f"the {what} of vertex {smallest[p]} is numbered {label[smallest[p]]}; in the order of the "
            f"smallest vertices it is {p}"
        ),
    )
    if count is not None and count != smallest.size:
        raise VerificationError(f"{count} components were counted, but there are {smallest.size}")
