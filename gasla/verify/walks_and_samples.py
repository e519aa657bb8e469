"""Verifiers of random choices, which are walks, sampled neighbors, pairs without an edge, and edges split into sets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.arrays import moved
from gasla.graph.edge_times import Span, span_of, times_of_edges
from gasla.graph.graph import Graph, as_graph
from gasla.graph.typed_graph import Relation, TypedGraph
from gasla.verify._common import Array, VerificationError, edges_by_id, edges_of, require, verifier


@verifier("shares")
def random_walks(
    graph: Any, starts: ArrayLike, walks: ArrayLike, *, restart: float = 0.0, weighted: bool = False
) -> None:
    """Verify `walks` of `gasla.random_walks`: each begins at its start, follows edges, and ends early only where no
    edge leaves.

    With `restart`, a step may also lead to the start.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0, 1], [0, 0]])
    >>> random_walks(pair, [0], [[0, 1, -1]])
    >>> random_walks(pair, [0], [[0, 0, 1]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: walker 0 goes from 0 to 0 in step 0; there is no such edge
    """
    edges, start_vertices, rows = edges_of(graph), np.asarray(starts), np.asarray(walks)
    if rows.ndim != 2 or len(rows) != len(start_vertices) or rows.shape[1] == 0 or rows.dtype.kind != "i":
        raise VerificationError(
            f"walks are {rows.dtype}{rows.shape}; expected integers, a row for each of {len(start_vertices)}"
        )
    require(rows[:, 0] == start_vertices, lambda w: f"walker {w} begins at {rows[w, 0]}; expected {start_vertices[w]}")
    _require_vertices(edges.n, rows)
    usable = edges.weight > 0 if weighted else np.ones(len(edges.dst), bool)
    has_edges = np.bincount(edges.src[usable], minlength=edges.n) > 0
    step_from, step_to = rows[:, :-1].ravel(), rows[:, 1:].ravel()
    steps, has_stopped = rows.shape[1] - 1, step_to < 0
    may_stop = (step_from < 0) | ~has_edges[step_from] if edges.n else step_from < 0

    def describe(i: int) -> str:
        return f"walker {i // steps} goes from {step_from[i]} to {step_to[i]} in step {i % steps}"

    require(~has_stopped | may_stop, lambda i: f"{describe(i)}; expected a step along an edge")
    require(has_stopped | (step_from >= 0), lambda i: f"{describe(i)}; expected -1 after -1")
    edge_keys = _edge_keys(edges.n, edges.src[usable], edges.dst[usable])
    is_allowed = has_stopped | np.isin(_edge_keys(edges.n, step_from, step_to), edge_keys)
    if restart:
        is_allowed |= step_to == np.repeat(start_vertices, steps)
    require(is_allowed, lambda i: f"{describe(i)}; there is no such edge")


@verifier("shares")
def sample_neighbors(
    graph: Any,
    ids: Any,
    k: Any,
    sampled: Any,
    *,
    direction: str = "out",
    weighted: bool = False,
    replace: bool = False,
    at: Any = None,
    time: str = "time",
    window: Any = None,
    strategy: str = "uniform",
    disjoint: bool = False,
) -> None:
    """Verify `sampled` of `gasla.sample_neighbors`: each vertex has as many neighbors as wanted, along edges that it
    may draw.

    With `at`, only edges in the span of time of each row may be drawn, and with the strategy "last" only the last of
    these. No edge leads from one disjoint tree to another. In a typed graph, the edges of each relation are verified
    so. Then `at` is one time, or a mapping from type to times.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0, 1], [0, 0]])
    >>> sample_neighbors(pair, [0, 1], 2, [[1, -1], [-1, -1]])
    >>> sample_neighbors(pair, [0], 2, [[1, 1]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: row 0 of vertex 0 has 2 neighbors; expected 1
    """
    is_last = strategy == "last"
    if isinstance(graph, TypedGraph):
        ids_by_type = {kind: np.asarray(ids.get(kind, []), np.int64) for kind in graph.sizes}
        if isinstance(at, Mapping):
            times_of_types = [
                np.broadcast_to(np.asarray(at[kind]), each.shape) for kind, each in ids_by_type.items() if len(each)
            ]
            at = np.concatenate(times_of_types) if times_of_types else np.zeros(0)
        vertex_count = sum(map(len, ids_by_type.values()))
        drawable_edges = dict[Relation, _DrawableEdges]()
        for name, relation in graph.relations.items():
            span = None if at is None else span_of(relation, time, at, window, vertex_count)
            drawable_edges[name] = _DrawableEdges(relation, direction, weighted, time, span)
        _require_typed(graph, drawable_edges, ids_by_type, k, sampled, replace, is_last, disjoint or at is not None)
        return
    whole, vertices = as_graph(graph), np.asarray(ids)
    span = None if at is None else span_of(whole, time, at, window, len(vertices))
    usable = _DrawableEdges(whole, direction, weighted, time, span)
    if isinstance(k, Sequence):
        _require_layers(usable, vertices, k, sampled, replace, is_last, disjoint or at is not None)
        return
    rows = np.asarray(sampled)
    if rows.shape != (len(vertices), k) or rows.dtype.kind != "i":
        raise VerificationError(f"samples are {rows.dtype}{rows.shape}; expected integers of shape {len(vertices), k}")
    _require_vertices(whole.n, rows)
    counts = (rows >= 0).sum(axis=1)
    for i, (v, row) in enumerate(zip(vertices.tolist(), rows)):
        stored = usable.others[usable.of(v, i)]
        wanted = k * bool(len(stored)) if replace else min(len(stored), k)
        if counts[i] != wanted:
            raise VerificationError(f"row {i} of vertex {v} has {counts[i]} neighbors; expected {wanted}")
        if (row[: counts[i]] < 0).any():
            raise VerificationError(f"row {i} has -1 inside")
        if is_last and not np.array_equal(row[: counts[i]], stored[len(stored) - counts[i] :]):
            raise VerificationError(f"row {i} has not the last {counts[i]} neighbors of vertex {v}")
        _require_neighbors(stored, i, v, row[row >= 0], replace)


class _DrawableEdges:
    """The edges that `gasla.sample_neighbors` may draw, grouped by the vertex that draws them.

    With times, the edges of a vertex are in order of time, and only edges in the span of a row of the sample may be
    drawn.
    """

    def __init__(self, graph: Graph, direction: str, weighted: bool, time: str, span: Span | None) -> None:
        self.graph, self.weighted, self.span = graph, weighted, span
        src, dst, self.weight = edges_by_id(graph)
        self.sources = src
        self.owners, self.others = (src, dst) if direction == "out" else (dst, src)
        self.times = None if span is None else times_of_edges(graph, time)
        self.order = np.argsort(self.owners, kind="stable")
        if self.times is not None:
            self.order = np.lexsort((self.times, self.owners))
        self.indptr = np.searchsorted(self.owners[self.order], np.arange(graph.n + 1))

    def of(self, v: int, root: int) -> Array:
        """Return the ids of the edges that vertex `v` may draw in the sample's tree number `root`, in the order of the
        draws.

        With times, these are the edges in the span of time of the tree. If draws are weighted, edges are left out whose
        weights are so small that the rounded sum of weights does not increase by them.
        """
        edges: Array = self.order[self.indptr[v] : self.indptr[v + 1]]
        if self.span is not None and self.times is not None:
            is_open = self.times[edges] <= self.span.last[root]
            if self.span.first is not None:
                is_open &= self.times[edges] >= self.span.first[root]
            edges = edges[is_open]
        return edges[np.diff(np.cumsum(self.weight[edges]), prepend=0) > 0] if self.weighted else edges


def _require_layers(
    usable: _DrawableEdges, ids: Array, k: Sequence[int], sampled: Any, replace: bool, is_last: bool, disjoint: bool
) -> None:
    """Verify a sample of several layers, where the vertices of each layer draw the edges to the vertices of the next
    layer.
    """
    graph = usable.graph
    vertices, edge_index, edge_ids = (np.asarray(part) for part in sampled[:3])
    counts, edge_counts = sampled[3], sampled[4]
    if (len(counts), len(edge_counts)) != (len(k) + 1, len(k)) or counts[0] != len(ids):
        raise VerificationError(f"the sample has {counts} vertices and {edge_counts} edges by layer; expected {len(k)}")
    if (sum(counts), sum(edge_counts)) != (len(vertices), len(edge_ids)) or edge_index.shape != (2, len(edge_ids)):
        raise VerificationError(
            f"the sample has {len(vertices)} vertices, {len(edge_ids)} edge ids, and edges of shape "
            f"{edge_index.shape}; expected {sum(counts)}, {sum(edge_counts)} and {2, sum(edge_counts)}"
        )
    is_vertex: Array = (vertices >= 0) & (vertices < graph.n)
    is_number: Array = (edge_index >= 0) & (edge_index < len(vertices))
    is_edge: Array = (edge_ids >= 0) & (edge_ids < graph.m)
    require(is_vertex, lambda v: f"vertex {v} of the sample is {vertices[v]}; expected 0 to {graph.n - 1}")
    require(is_number[0] & is_number[1], lambda e: f"edge {e} of the sample has an end that is no vertex of the sample")
    require(is_edge, lambda e: f"edge id {edge_ids[e]} is outside {graph.m} edges")
    roots = _tree_numbers(len(ids), len(vertices), sampled[5] if len(sampled) > 5 else None, disjoint)
    if len(np.unique(np.stack([roots, vertices]), axis=1).T) != len(vertices) or (vertices[: len(ids)] != ids).any():
        raise VerificationError("the vertices of the sample are not distinct, or do not begin with the given ones")
    drawing, drawn = edge_index if usable.owners is usable.sources else edge_index[::-1]
    require(roots[drawing] == roots[drawn], lambda e: f"edge {e} of the sample leads to another tree")
    for end, name, stored in zip(edge_index, ("source", "target"), map(np.asarray, graph.edges())):
        is_same = np.asarray(vertices[end] == stored[edge_ids])
        require(is_same, lambda e: f"the {name} of edge {e} of the sample is not that of edge {edge_ids[e]}")  # noqa: B023
    weight = np.ones(graph.m) if not usable.weighted else usable.weight
    require(weight[edge_ids] > 0, lambda e: f"edge {edge_ids[e]} was drawn, of weight {weight[edge_ids[e]]}")
    if not replace and len(np.unique(np.stack([roots[drawing], edge_ids]), axis=1).T) != len(edge_ids):
        raise VerificationError("an edge was drawn twice; expected draws without replacement")
    first_vertices, first_edges = (
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([[0], np.cumsum(edge_counts)]),
    )
    for i, draw_count in enumerate(k):
        layer, (first, last) = slice(first_edges[i], first_edges[i + 1]), first_vertices[i : i + 2]
        drawable_edges = [usable.of(int(vertices[j]), int(roots[j])) for j in range(first, last)]
        degree = np.array([len(edges) for edges in drawable_edges], int)
        expected_counts = np.where(degree > 0, draw_count, 0) if replace else np.minimum(degree, draw_count)
        if not np.array_equal(np.sort(drawing[layer]), np.repeat(np.arange(first, last), expected_counts)):
            raise VerificationError(f"layer {i} has other numbers of edges per vertex than {expected_counts}")
        for j, edges in enumerate(drawable_edges, first):
            drawn_ids = edge_ids[layer][drawing[layer] == j]
            if not np.isin(drawn_ids, edges[len(edges) - len(drawn_ids) :] if is_last else edges).all():
                raise VerificationError(
                    f"vertex {j} of the sample drew edges outside its span of time, or not the last"
                )
        new_vertices, first_draws = np.unique(drawn[layer][drawn[layer] >= last], return_index=True)
        if (
            not np.array_equal(new_vertices, np.arange(last, first_vertices[i + 2]))
            or (first_draws[1:] < first_draws[:-1]).any()
        ):
            raise VerificationError(f"the new vertices of layer {i} are not numbered by their first appearance")


def _require_typed(
    graph: TypedGraph,
    usable: Mapping[Relation, _DrawableEdges],
    ids: Mapping[str, Array],
    k: Any,
    sampled: Any,
    replace: bool,
    is_last: bool,
    disjoint: bool,
) -> None:
    """Verify a sample of several layers of a typed graph.

    Parameters
    ----------
    graph, usable :
        the typed graph; for each relation, the edges that each vertex may draw
    ids, k, sampled :
        ids of the given vertices by type; number of neighbors by layer; the result of `gasla.sample_neighbors`
    replace, is_last, disjoint :
        whether an edge may be drawn twice; whether each vertex has to draw its latest edges; whether each given vertex
        has a tree of its own
    """
    vertices, counts = sampled[0], sampled[3]
    roots = _typed_tree_numbers(ids, vertices, counts, sampled[5], disjoint)
    drawn_by_type: dict[str, list[list[Array]]] = {kind: [[] for _ in counts[kind][1:]] for kind in graph.sizes}
    for name, drawable in usable.items():
        drawing_type, drawn_type = (name[0], name[2]) if drawable.owners is drawable.sources else (name[2], name[0])
        ends, numbers, edge_counts = np.asarray(sampled[1][name]), np.asarray(sampled[2][name]), sampled[4][name]
        drawing, drawn = ends if drawable.owners is drawable.sources else ends[::-1]
        for end, kind, expected_ends in zip(ends, (name[0], name[2]), graph.edge_index(name)[:, numbers]):
            if not np.array_equal(np.asarray(vertices[kind])[end], expected_ends):
                raise VerificationError(f"an end of the edges of {name} is not that of the edge of its number")
        require(
            roots[drawing_type][drawing] == roots[drawn_type][drawn],
            lambda e: f"edge {e} of {name} leads to another tree",  # noqa: B023
        )
        layers = k[name] if isinstance(k, Mapping) else k
        first_vertices, first_edges = np.cumsum([0, *counts[drawing_type]]), np.cumsum([0, *edge_counts])
        if len(layers) != len(edge_counts) or first_edges[-1] != len(numbers):
            raise VerificationError(f"{name} has {edge_counts} edges by layer; expected {len(layers)} layers")
        shift = graph.starts(name)[0 if drawable.owners is drawable.sources else 1]
        for i, draw_count in enumerate(layers):
            layer, rows = slice(first_edges[i], first_edges[i + 1]), range(first_vertices[i], first_vertices[i + 1])
            drawn_by_type[drawn_type][i].append(drawn[layer])
            open_now = [drawable.of(int(vertices[drawing_type][j]) + shift, int(roots[drawing_type][j])) for j in rows]
            _require_draws(name, rows, open_now, draw_count, drawing[layer], numbers[layer], replace, is_last)
    for kind, drawn_layers in drawn_by_type.items():
        last = counts[kind][0]
        for i, more in enumerate(counts[kind][1:]):
            drawn_vertices = np.concatenate([np.zeros(0, int), *drawn_layers[i]])
            new_vertices, first_draws = np.unique(drawn_vertices[drawn_vertices >= last], return_index=True)
            if (
                not np.array_equal(new_vertices, np.arange(last, last + more))
                or (first_draws[1:] < first_draws[:-1]).any()
            ):
                raise VerificationError(f"the new vertices of type {kind!r} are not numbered by their first appearance")
            last += more


def _typed_tree_numbers(
    ids: Mapping[str, Array], vertices: Any, counts: Any, batch: Any, disjoint: bool
) -> dict[str, Array]:
    """Return for each vertex of a sample of a typed graph the number of the tree that it is in, by type of vertices.

    A tree has what is drawn from one given vertex. Verify that no vertex is twice in a tree. If the trees are not
    disjoint, all vertices are in tree 0.
    """
    if (batch is not None) != disjoint:
        raise VerificationError(f"the sample has {'a' if batch is not None else 'no'} batch; expected the opposite")
    roots, tree_count = dict[str, Array](), 0
    for kind, given_ids in ids.items():
        sampled_ids = np.asarray(vertices[kind])
        roots[kind] = np.asarray(batch[kind]) if disjoint else np.zeros(len(sampled_ids), int)
        starts = np.arange(tree_count, tree_count + len(given_ids)) if disjoint else np.zeros(len(given_ids), int)
        tree_count += len(given_ids)
        tree_and_vertex = np.stack([roots[kind], sampled_ids])
        begins_with_given = np.array_equal(tree_and_vertex[:, : len(given_ids)], np.stack([starts, given_ids]))
        if not begins_with_given or len(np.unique(tree_and_vertex, axis=1).T) != len(sampled_ids):
            raise VerificationError(f"vertices of type {kind!r} are not distinct, or do not begin with the given ones")
        if counts[kind][0] != len(given_ids) or sum(counts[kind]) != len(sampled_ids):
            raise VerificationError(f"type {kind!r} has {counts[kind]} vertices by layer; expected {len(sampled_ids)}")
    return roots


def _require_draws(
    name: Relation,
    rows: range,
    open_now: Sequence[Array],
    most: int,
    drawing: Array,
    numbers: Array,
    replace: bool,
    is_last: bool,
) -> None:
    """Verify the edges of one relation that the vertices of one layer of a sample drew: each must be an edge that its
    vertex may draw.

    Parameters
    ----------
    name, rows :
        the relation; numbers of the layer's vertices in the sample
    open_now, most :
        for each of these vertices the edges that it may draw; the number of edges to draw
    drawing, numbers :
        (edges,) the number of the vertex that drew each edge, and the number of the edge in the graph
    replace, is_last :
        whether an edge may be drawn twice; whether each vertex has to draw its latest edges
    """
    if not np.isin(drawing, rows).all():
        raise VerificationError(f"vertices of other layers draw edges of {name}")
    for j, edges in zip(rows, open_now):
        drawn = numbers[drawing == j]
        expected_count = most * bool(len(edges)) if replace else min(most, len(edges))
        are_allowed = np.isin(drawn, edges[len(edges) - expected_count :] if is_last else edges).all()
        if len(drawn) != expected_count or not are_allowed or not (replace or len(np.unique(drawn)) == expected_count):
            raise VerificationError(
                f"vertex {j} of the sample has not {expected_count} edges of {name} that it may draw"
            )


def _tree_numbers(count: int, vertices: int, batch: Any, disjoint: bool) -> Array:
    """Return for each vertex of a sample the number of its tree. A tree is all that was drawn from one given vertex.

    With `disjoint`, these numbers are `batch`, an array that is part of the sample and is checked here. Otherwise trees
    may share vertices, and the number is 0 for all vertices.
    """
    if not disjoint:
        if batch is not None:
            raise VerificationError("the sample has a batch; expected none without disjoint trees")
        return np.zeros(vertices, int)
    roots = np.asarray(batch)
    if roots.shape != (vertices,) or roots.dtype.kind != "i" or roots[:count].tolist() != [*range(count)]:
        raise VerificationError(f"batch is {roots.dtype}{roots.shape}, or does not begin with 0 to {count - 1}")
    require((roots >= 0) & (roots < count), lambda v: f"vertex {v} of the sample is in tree {roots[v]} of {count}")
    return roots


def _require_neighbors(stored: Array, i: int, v: int, row: Iterable[int], replace: bool) -> None:
    """Verify that the vertices in `row`, which were sampled for the vertex `v`, are neighbors of `v`.

    No vertex may be drawn more often than `v` has edges to it, except with `replace`. `stored` are the neighbors of
    `v`.
    """
    for x, count in zip(*np.unique(np.asarray(row), return_counts=True)):
        edge_count = int((stored == x).sum())
        if count > edge_count and not (replace and edge_count):
            raise VerificationError(f"row {i} has {x} {count} times; expected at most {edge_count}, its edges from {v}")


def _require_vertices(n: int, rows: Array) -> None:
    require(
        ((rows >= -1) & (rows < n)).ravel(), lambda i: f"{rows.flat[i]} is not a vertex; expected 0 to {n - 1}, or -1"
    )


def _edge_keys(n: int, src: Array, dst: Array) -> Array:
    return src.astype(np.int64) * n + dst


@verifier()
def negative_edges(
    graph: Any,
    count: int,
    found: ArrayLike,
    *,
    undirected: bool = False,
    by: str = "uniform",
    at: Any = None,
    time: str = "time",
) -> None:
    """Verify `found`, the pairs of `gasla.negative_edges`: distinct, of different vertices, and without an edge.

    With `at`, pairs are without an edge at this time or before. Pairs may repeat if each has a time of its own, or if
    they are drawn by degree. Drawn by degree, each target has an edge by then.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0, 1], [0, 0]])
    >>> negative_edges(pair, 1, [[1], [0]])
    >>> negative_edges(pair, 1, [[0], [1]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: pair 0 is 0, 1: an edge
    """
    edges, pairs = edges_of(graph), np.asarray(found)
    if pairs.shape != (2, count) or pairs.dtype.kind != "i":
        raise VerificationError(f"pairs are {pairs.dtype}{pairs.shape}; expected integers of shape {2, count}")
    i, j = pairs.astype(np.int64)
    is_valid = ((pairs >= 0) & (pairs < edges.n)).all(axis=0) & ((i < j) if undirected else (i != j))
    wanted = "i < j" if undirected else "different vertices"
    if (sides := as_graph(graph).sides) is not None:
        # the entry added at the end is the side (2) of ids that are no vertex
        sides = np.append(moved(sides, "cpu"), [2])
        valid_or_n = np.where((pairs >= 0) & (pairs < edges.n), pairs, edges.n)
        is_valid, wanted = (sides[valid_or_n] == [[0], [1]]).all(axis=0), "a vertex of side 0 and one of side 1,"
        undirected = True
    require(np.asarray(is_valid), lambda p: f"pair {p} is {i[p]}, {j[p]}; expected {wanted} from 0 to {edges.n - 1}")
    whole = as_graph(graph)
    src, dst, _ = edges_by_id(whole)
    times = np.zeros(len(src)) if at is None else times_of_edges(whole, time)
    last_time = np.zeros(count) if at is None else span_of(whole, time, at, None, count).last
    keys = src * edges.n + dst
    if undirected:
        keys, times = np.concatenate([keys, dst * edges.n + src]), np.concatenate([times, times])
    order = np.lexsort((times, keys))
    edge_keys, first_index = np.unique(keys[order], return_index=True)
    key_index = np.minimum(np.searchsorted(edge_keys, i * edges.n + j), max(len(edge_keys) - 1, 0))
    is_edge = np.zeros(count, bool)
    if len(edge_keys):
        is_edge = (edge_keys[key_index] == i * edges.n + j) & (times[order][first_index][key_index] <= last_time)
    require(~is_edge, lambda p: f"pair {p} is {i[p]}, {j[p]}: an edge")
    if by == "degree":
        _require_targets(
            np.append(dst, src) if undirected else dst, times, j, i if undirected and sides is None else j, last_time
        )
    elif np.ndim(at) == 0 and len(set(zip(i.tolist(), j.tolist()))) != count:
        raise VerificationError("a pair occurs twice; expected distinct pairs")


def _require_targets(ends: Array, times: Array, targets: Array, others: Array, last: Array) -> None:
    """Verify that the target of each pair of vertices, or the other vertex of the pair, has an edge no later than the
    time `last`.

    `ends` and `times` have a vertex and the time of each edge.
    """
    order = np.lexsort((times, ends))
    vertices_with_edges, first_index = np.unique(ends[order], return_index=True)
    is_found = np.zeros(len(targets), bool)
    for vertices in (targets, others) if len(vertices_with_edges) else ():
        vertex_index = np.minimum(np.searchsorted(vertices_with_edges, vertices), len(vertices_with_edges) - 1)
        is_found |= (vertices_with_edges[vertex_index] == vertices) & (times[order][first_index][vertex_index] <= last)
    require(is_found, lambda p: f"pair {p} has the target {targets[p]}, which has no edge; expected one with an edge")


@verifier()
def randomized(graph: Any, made: Graph, *, model: str = "rewired") -> None:
    """Verify `made` of `gasla.randomized`: it has the degrees or the number of edges of the graph, as the model says,
    and is directed if the graph is.

    Examples
    --------
    >>> import gasla
    >>> ring = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> randomized(ring, ring.reversed())
    >>> randomized(ring, gasla.Graph.from_edges([0, 1, 2, 3], [1, 0, 3, 0]))
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 0 has 2 in-edges; expected 1
    """
    original, answer = as_graph(graph), edges_of(made)
    if answer.n != original.n:
        raise VerificationError(f"the random graph has {answer.n} vertices; expected {original.n}")
    edges, undirected = edges_of(original), original.is_symmetric
    keys, reverse_keys = (
        np.sort(_edge_keys(answer.n, *ends)) for ends in ((answer.src, answer.dst), (answer.dst, answer.src))
    )
    if undirected and not np.array_equal(keys, reverse_keys):
        raise VerificationError("an edge has no reverse; expected both directions, as in the graph")
    stored = _edge_keys(edges.n, edges.src, edges.dst)
    is_counted = edges.src != edges.dst if model != "configuration" or undirected else np.ones(len(stored), bool)
    if model != "configuration":
        is_first = np.zeros(len(stored), bool)
        is_first[np.unique(stored, return_index=True)[1]] = True
        is_counted &= is_first
        require(answer.src != answer.dst, lambda e: f"edge {e} is a loop of vertex {answer.src[e]}; expected none")
        if (keys[1:] == keys[:-1]).any():
            raise VerificationError("two edges have the same ends; expected no parallel edges")
    if model == "erdos_renyi":
        if len(answer.src) != is_counted.sum():
            raise VerificationError(f"the random graph has {len(answer.src)} edges; expected {is_counted.sum()}")
        return
    for name, ends, others in (("out-edges", answer.src, edges.src), ("in-edges", answer.dst, edges.dst)):
        degrees, expected = (np.bincount(each, minlength=edges.n) for each in (ends, others[is_counted]))
        require(degrees == expected, lambda v: f"vertex {v} has {degrees[v]} {name}; expected {expected[v]}")  # noqa: B023


def _require_times(times: Array, set_of: Array, ends: Array | None, fractions: Sequence[float]) -> None:
    """Verify that the sets into which edges were split follow one another in time.

    Each set ends at its time in `ends`. If `ends` is None, each set has its fraction of the edges, and all edges at the
    last of its times.
    """
    if ends is not None:
        expected_set: Array = (times[:, None] > ends[None, :]).sum(axis=1)
    else:
        count = len(times)
        cuts = [round(min(sum(fractions[: k + 1]), 1.0) * count) for k in range(len(fractions) - 1)]
        earlier_count = np.array([(times < moment).sum() for moment in times], int)
        expected_set = (earlier_count[:, None] >= np.array(cuts, int)[None, :]).sum(axis=1)
    require(
        set_of == expected_set, lambda e: f"edge {e} at {times[e]} is in set {set_of[e]}; expected {expected_set[e]}"
    )


@verifier()
def split_edges(
    graph: Any, fractions: Sequence[float], sets: Sequence[ArrayLike], *, time: str | None = None, at: Any = None
) -> None:
    """Verify `sets` of `gasla.split_edges`: each edge is in one, with all edges between its ends, and sizes fit.

    If edges are split by time, sets follow one another. They end at the times `at`, or else each set has its fraction
    of the edges, and all edges at the last of its times.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> split_edges(path, (0.5, 0.5), [[0, 1], [2, 3]])
    >>> split_edges(path, (0.5, 0.5), [[0, 2], [1, 3]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: edges between 0 and 1 are in sets 0 and 1
    """
    graph = as_graph(graph)
    name = "time" if time is None else time
    ends = None if at is None else span_of(graph, name, at, None, None).last
    number = len(fractions) if ends is None else len(ends) + 1
    if len(sets) != number:
        raise VerificationError(f"there are {len(sets)} sets; expected {number}")
    parts = [np.asarray(part) for part in sets]
    numbers = np.concatenate(parts)
    if not np.array_equal(np.sort(numbers), np.arange(graph.m)):
        raise VerificationError(f"the sets do not have each of {graph.m} edges once")
    for k, part in enumerate(parts):
        require(np.append(True, part[1:] > part[:-1]), lambda e: f"set {k} does not ascend at entry {e}")  # noqa: B023
    set_of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])[np.argsort(numbers)]
    if time is not None or at is not None:
        _require_times(times_of_edges(graph, name), set_of, ends, fractions)
        return
    u, v = (side.astype(np.int64) for side in graph.edges())
    if graph.is_symmetric:
        u, v = np.minimum(u, v), np.maximum(u, v)
    order = np.argsort(u * graph.n + v, kind="stable")
    u, v, set_of = u[order], v[order], set_of[order]
    again = (u[1:] == u[:-1]) & (v[1:] == v[:-1])
    require(
        ~again | (set_of[1:] == set_of[:-1]),
        lambda e: f"edges between {u[e]} and {v[e]} are in sets {set_of[e]} and {set_of[e + 1]}",
    )
    counts = np.bincount(set_of[np.append(True, ~again)[: graph.m]], minlength=len(parts))
    wanted = np.asarray(fractions) * counts.sum()
    require(abs(counts - wanted) <= 1, lambda k: f"set {k} has {counts[k]} pairs of vertices; expected {wanted[k]:g}")
