"""Shortest paths by number of edges, with nodes in the order of NetworkX's queue."""

from collections.abc import Iterator
from math import ceil
from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conversion import Array, Converted
from gasla.backends.networkx.dispatch import compose, number, register, when
from gasla.backends.networkx.paths.path_lists import lengthen, without_collecting
from gasla.backends.networkx.visit_order import Queue, queue

MANY = 64  # maximum number of sources from which a single call searches at the same time


def depth(limit: Any) -> int | None:
    """Return a user's `cutoff` as the largest level that a breadth-first search may reach, or None for no limit.

    A fractional limit is rounded up, because NetworkX continues to the next level while a level is below the limit.
    """
    if limit is None or limit == float("inf"):
        return None
    return max(ceil(limit), 0)


def levels(G: Converted, source: int, limit: int | None, reverse: bool = False) -> Array:
    """Return the number of edges from a source to each node, or -1 if that exceeds the limit or there is no path."""
    return np.asarray(moved(gasla.bfs(G.plain(reverse).to(G.device), source, depth_limit=limit), "cpu"))


def _within(G: Converted, source: int, limit: int | None, reverse: bool) -> tuple[Queue, Array]:
    """Return the nodes within `limit` edges of a source, in the order of NetworkX's search, and their distances."""
    visited = queue(G, [source], reverse)
    distances = levels(G, source, limit, reverse)[visited.order]
    if limit is not None:
        last = int(np.searchsorted(np.where(distances < 0, limit + 1, distances), limit, side="right"))
        visited, distances = Queue(visited.order[:last], visited.parents[:last]), distances[:last]
    return visited, distances


def _distances(G: Converted, source: int, cutoff: Any, reverse: bool) -> dict[Any, int]:
    visited, distances = _within(G, source, depth(cutoff), reverse)
    return dict(zip(G.called(visited.order), distances.tolist()))


def _paths(G: Converted, source: int, cutoff: Any, reverse: bool) -> dict[Any, list[Any]]:
    """Return a path from a source to each node, by the names of nodes.

    With `reverse`, the paths lead from each node to the node `source`.
    """
    limit = depth(cutoff)
    visited = queue(G, [source], reverse) if limit is None else _within(G, source, limit, reverse)[0]
    first = G.names[source]
    paths = {first: [first]}
    lengthen(paths, G.called(visited.order[1:]), G.called(visited.parents[1:]), reverse)
    return paths


def numbered(G: Converted, name: Any, said: str) -> int:
    """Return the id of the node `name`. Raise NodeNotFound with the message `said` if the graph has no such node."""
    if name not in G:
        raise nx.NodeNotFound(said)
    return G.numbers[name]


@register(number("cutoff"), least=20_000)
def single_source_shortest_path_length(G: Converted, source: Any, cutoff: Any = None) -> dict[Any, int]:
    """Return the number of edges on a shortest path from a source to each node."""
    return _distances(G, numbered(G, source, f"Source {source} is not in G"), cutoff, False)


@register(number("cutoff"), least=20_000)
def single_target_shortest_path_length(G: Converted, target: Any, cutoff: Any = None) -> dict[Any, int]:
    """Return the number of edges on a shortest path from each node to a target."""
    return _distances(G, numbered(G, target, f"Target {target} is not in G"), cutoff, True)


@register(number("cutoff"), least=20_000)
def single_source_shortest_path(G: Converted, source: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    """Return a path with the fewest edges from a source to each node."""
    return _paths(G, numbered(G, source, f"Source {source} not in G"), cutoff, False)


@register(number("cutoff"), least=20_000)
def single_target_shortest_path(G: Converted, target: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    """Return a path with the fewest edges from each node to a target."""
    return _paths(G, numbered(G, target, f"Target {target} not in G"), cutoff, True)


all_pairs_shortest_path = compose(nx.all_pairs_shortest_path, number("cutoff"), least=500)
all_pairs_shortest_path_length = compose(nx.all_pairs_shortest_path_length, number("cutoff"), least=500)


@register(number("cutoff"), least=20_000)
def predecessor(G: Converted, source: Any, target: Any = None, cutoff: Any = None, return_seen: Any = None) -> Any:
    """Return the predecessors of each node on paths with the fewest edges from a source."""
    vertex = numbered(G, source, f"Source {source} not in G")
    visited, distances = _within(G, vertex, max(depth(cutoff) or 1, 1) if cutoff else None, False)
    pred = dict(zip(G.called(visited.order), _predecessors(G, visited, distances)))
    seen = dict(zip(pred, distances.tolist())) if return_seen else {}
    if target is not None:
        predecessors = pred.get(target, [])
        return (predecessors, seen.get(target, -1)) if return_seen else predecessors
    return (pred, seen) if return_seen else pred


def _predecessors(G: Converted, visited: Queue, far: Array) -> list[list[Any]]:
    """Return for each node reached by a breadth-first search the names of its neighbors that are one level nearer.

    `visited` are the nodes in the order of the search, and `far` their distances. Neighbors are in the order of the
    search.
    """
    out = G.plain().out
    place, level = np.full(len(G), -1, np.int64), np.full(len(G), -2, np.int64)
    place[visited.order], level[visited.order] = np.arange(len(visited.order)), far
    tails = out.owners()
    is_on_path = (level[tails] + 1 == level[out.indices]) & (place[tails] >= 0)
    tails, heads = tails[is_on_path], out.indices[is_on_path]
    by_place = np.lexsort((place[tails], place[heads]))
    names, counts = G.called(tails[by_place]), np.bincount(place[heads], minlength=len(visited.order))
    ends = np.cumsum(counts).tolist()
    with without_collecting():
        return [names[end - count : end] for end, count in zip(ends, counts.tolist())]


@register(least=20_000)
def bidirectional_shortest_path(G: Converted, source: Any, target: Any) -> list[Any]:
    """Return the path with the fewest edges that NetworkX's bidirectional search finds."""
    first = numbered(G, source, f"Source {source} is not in G")
    last = numbered(G, target, f"Target {target} is not in G")
    path = _bidirectional_path(G, first, last)
    if path is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return G.called(path)


def _bidirectional_path(G: Converted, source: int, target: int) -> list[int] | None:
    """Return the vertices of the path that a bidirectional breadth-first search finds, or None if there is no path.

    In each step, of the two searches the one with fewer vertices in its frontier advances, until it meets a vertex that
    the other search has reached.
    """
    if source == target:
        return [source]
    lists = G.plain().out, G.plain(reverse=True).out
    parents = np.full((2, len(G)), -1, np.int64)
    parents[0, source], parents[1, target] = source, target
    fringes = [np.array([source]), np.array([target])]
    while len(fringes[0]) and len(fringes[1]):
        side = 0 if len(fringes[0]) <= len(fringes[1]) else 1
        tails, heads = neighbors(lists[side], fringes[side])
        meeting_edges = np.flatnonzero(parents[1 - side][heads] >= 0)
        side_parents = parents[side]
        new_edges = first_of(heads, side_parents < 0)
        if len(meeting_edges):
            middle = heads[meeting_edges[0]]
            side_parents[middle] = tails[meeting_edges[0]] if side_parents[middle] < 0 else side_parents[middle]
            return [*_path_to_root(parents[0], int(middle))[::-1], *_path_to_root(parents[1], int(middle))[1:]]
        side_parents[heads[new_edges]] = tails[new_edges]
        fringes[side] = heads[new_edges]
    return None


def _path_to_root(before: Array, vertex: int) -> list[int]:
    path = [vertex]
    while before[path[-1]] != path[-1]:
        path.append(int(before[path[-1]]))
    return path


def neighbors(lists: Any, vertices: Array) -> tuple[Array, Array]:
    """Return the tails and heads of the edges out of the given vertices, vertex after vertex."""
    firsts = lists.indptr[vertices].astype(np.int64)
    counts = lists.indptr[vertices + 1] - firsts
    shifts = np.repeat(firsts - np.cumsum(counts) + counts, counts)
    return np.repeat(vertices, counts), lists.indices[np.arange(len(shifts)) + shifts]


def first_of(heads: Array, are_new: Array) -> Array:
    """Return the positions in `heads` at which new vertices (by the mask `are_new`) occur for the first time."""
    places = np.flatnonzero(are_new[heads])
    _, first_positions = np.unique(heads[places], return_index=True)
    firsts: Array = places[np.sort(first_positions)]
    return firsts


compose(
    nx.has_path,
    when("more than one path is asked for", lambda given: None in (given["source"], given["target"])),
    least=20_000,
)


def many_levels(G: Converted, sources: list[int]) -> Iterator[Array]:
    """Yield the numbers of edges from each of the nodes `sources` to all nodes, in matrices with a row for each source.

    A matrix has up to `MANY` rows.
    """
    graph = G.plain().to(G.device)
    for first in range(0, len(sources), MANY):
        yield moved(gasla.multi_source_bfs(graph, sources[first : first + MANY]), "cpu")
