"""Verifiers of lists of simple paths, lists of simple cycles, and the single cycle that `find_cycle` returns."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import SAMPLES, VerificationError, check_source, components_of, edges_of, sample, verifier

Path = tuple[int, ...]
Neighbors = list[set[int]]


@verifier()
def simple_paths(
    graph: Any,
    source: Any,
    target: Any,
    max_length: int,
    paths: Iterable[ArrayLike],
    *,
    min_length: int = 1,
    limit: int | None = None,
    samples: int = SAMPLES,
) -> None:
    """Verify `paths` of `gasla.simple_paths` between two vertices: each given path is correct, and no path is missing.

    If there are as many paths as the `limit` allows, paths may be missing, so that is not verified.

    A missing path begins like one of the given paths, and then goes to a vertex to which no given path with this
    beginning goes. For `samples` of the beginnings, it is verified that from such a vertex the target cannot be reached
    by a path of an allowed length.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> square = csr_array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> simple_paths(square, 0, 3, 2, [[0, 1, 3], [0, 2, 3]])
    >>> simple_paths(square, 0, 3, 2, [[0, 1, 3]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: a path that begins with [0], and then goes to 2, is missing
    """
    neighbors = neighbors_of(graph, directed=True)
    source, target = check_source(source, len(neighbors)), check_source(target, len(neighbors))
    rows = rows_of(paths, len(neighbors))
    check_edges(neighbors, rows, min_length, max_length + 1, closed=False)
    for row in rows:
        if (row[0], row[-1]) != (source, target):
            raise VerificationError(f"the path {list(row)} does not lead from {source} to {target}")
    if source != target and len(rows) != limit:
        _check_branches(neighbors, rows, source, target, (min_length, max_length), samples)


@verifier()
def simple_cycles(
    graph: Any,
    max_length: int,
    cycles: Iterable[ArrayLike],
    *,
    min_length: int = 1,
    directed: bool = True,
    limit: int | None = None,
    samples: int = SAMPLES,
) -> None:
    """Verify `cycles` of `gasla.simple_cycles`: each given cycle is correct, and no cycle is missing.

    The cycles through each of `samples` vertices are verified like paths from the vertex back to it. If there are as
    many cycles as the `limit` allows, only each of them is verified.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> graph = csr_array([[0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0]])
    >>> simple_cycles(graph, 3, [[0, 1, 3], [0, 1, 2]])
    >>> simple_cycles(graph, 3, [[0, 1, 3]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: a path that begins with [0, 1], and then goes to 2, is missing
    """
    neighbors, rows = neighbors_of(graph, directed), rows_of(cycles, edges_of(graph).n)
    check_edges(neighbors, rows, min_length, max_length, closed=True)
    for row in rows:
        if row[0] != min(row) or (not directed and len(row) > 1 and not (len(row) > 2 and row[1] < row[-1])):
            raise VerificationError(f"the cycle {list(row)} is in another form; expected its smallest vertex first")
    if len(rows) == limit:
        return
    loops = {row[0] for row in rows if len(row) == 1}
    missing = [v for v in range(len(neighbors)) if v in neighbors[v] and v not in loops]
    if min_length <= 1 <= max_length and missing:
        raise VerificationError(f"the self loop of vertex {missing[0]} is missing")
    longer = [row for row in rows if len(row) > 1]
    lengths = max(min_length, 2 if directed else 3), max_length
    for v in sample(len(neighbors), samples).tolist():
        turned = [row[(i := row.index(v)) :] + row[:i] for row in longer if v in row]
        if not directed:
            turned += [(v, *row[:0:-1]) for row in turned]
        _check_branches(neighbors, [(*row, v) for row in turned], v, v, lengths, samples)


@verifier()
def find_cycle(graph: Any, cycle: ArrayLike | None, *, directed: bool = True) -> None:
    """Verify `cycle` of `gasla.find_cycle`: a cycle, or that the graph has none, if it is None or empty.

    If there is no cycle, each vertex is a strong component. In an undirected graph without cycles, the edges are fewer
    than the vertices by the number of components.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    >>> find_cycle(triangle, [0, 1, 2])
    >>> find_cycle(triangle, None)
    Traceback (most recent call last):
    gasla.verify.VerificationError: there is a cycle
    """
    neighbors = neighbors_of(graph, directed)
    if cycle is not None and np.size(cycle):
        rows = rows_of([cycle], len(neighbors))
        check_edges(neighbors, rows, 1, len(neighbors), closed=True)
        if not directed and len(rows[0]) == 2:
            raise VerificationError(f"{list(rows[0])} is one undirected edge, no cycle")
        return
    edges = edges_of(graph)
    pieces = components_of(edges.matrix(), "strong" if directed else "weak").max(initial=-1) + 1
    count = 0 if directed else sum(map(len, neighbors)) // 2
    if any(v in adjacent for v, adjacent in enumerate(neighbors)) or pieces + count != edges.n:
        raise VerificationError("there is a cycle")


def neighbors_of(graph: Any, directed: bool) -> Neighbors:
    """Return the set of out-neighbors of each vertex, or of neighbors in both directions unless `directed`."""
    edges = edges_of(graph)
    neighbors: Neighbors = [set() for _ in range(edges.n)]
    for u, v in zip(edges.src.tolist(), edges.dst.tolist(), strict=True):
        neighbors[u].add(v)
        if not directed:
            neighbors[v].add(u)
    return neighbors


def rows_of(lists: Iterable[ArrayLike], n: int) -> list[Path]:
    """Check that each of `lists` contains vertices of a graph of `n` vertices. Return the lists as tuples."""
    rows: list[Path] = []
    offsets = getattr(lists, "indptr", None)
    if offsets is not None:
        ends, entries = np.asarray(offsets), np.asarray(lists.vertices)  # type: ignore[attr-defined]
        is_valid = ends.ndim == 1 and len(ends) > 0 and ends.dtype.kind in "iu" and entries.ndim == 1
        if not is_valid or ends[0] != 0 or ends[-1] != len(entries) or (np.diff(ends) <= 0).any():
            raise VerificationError("the offsets of the lists do not ascend from 0 to the number of their entries")
    for vertices in lists:
        row = np.asarray(vertices)
        if row.ndim != 1 or row.dtype.kind not in "iu" or not len(row) or row.min() < 0 or row.max() >= n:
            raise VerificationError(f"{row.tolist()} is no list of vertices")
        rows.append(tuple(row.tolist()))
    return rows


def check_edges(near: Neighbors, rows: Sequence[Path], least: int, most: int, closed: bool) -> None:
    """Check that each row of `rows` is a path or cycle of different vertices along edges, and that no row occurs twice.

    Each path must have `least` to `most` - 1 edges. If `closed`, rows are cycles, which must have `least` to `most`
    edges.
    """
    for row in rows:
        if not (least if closed else least + 1) <= len(row) <= most:
            raise VerificationError(f"{list(row)} has {len(row)} vertices, which is not in range")
        if len({*row}) < len(row):
            raise VerificationError(f"{list(row)} visits a vertex twice")
        for u, v in zip(row, (*row[1:], *row[: int(closed)])):
            if v not in near[u]:
                raise VerificationError(f"{list(row)} has no edge from {u} to {v}")
    if len({*rows}) < len(rows):
        raise VerificationError("a list of vertices is there twice")


def _check_branches(
    near: Neighbors, rows: Sequence[Path], source: int, target: int, lengths: tuple[int, int], samples: int
) -> None:
    """Verify that no path from the source to the target is missing among paths that begin like one of the given paths.

    For a sample of the beginnings, no vertex that no given path visits next may lead to the target by a path of an
    allowed length. `lengths` are the smallest and the largest allowed number of edges.
    """
    min_edges, max_edges = lengths
    next_vertices: dict[Path, set[int]] = {(source,): set()}
    for row in rows:
        for i in range(1, len(row)):
            next_vertices.setdefault(row[:i], set()).add(row[i])
    beginnings = [*next_vertices.items()]
    for begin, known in (beginnings[i] for i in sample(len(beginnings), samples)):
        vertices_before = {*begin} - {target}
        for u in near[begin[-1]] - known - vertices_before:
            # whether the edge from the last vertex of the beginning to u is a self loop
            is_loop = u == target and u == begin[-1]
            if (
                not is_loop
                and min_edges
                <= len(begin) + _distance(near, u, target, vertices_before, max_edges - len(begin))
                <= max_edges
            ):
                raise VerificationError(f"a path that begins with {list(begin)}, and then goes to {u}, is missing")


def _distance(near: Neighbors, start: int, target: int, without: set[int], most: int) -> float:
    """Return the number of edges on a shortest path from `start` to `target` that avoids the vertices `without`.

    Return infinity if there is no such path of at most `most` edges.
    """
    reached, level, steps = {start, *without}, [start], 0
    while level and steps <= most:
        if target in level:
            return steps
        steps += 1
        level = [*{w for v in level for w in near[v]} - reached]
        reached |= {*level}
    return np.inf
