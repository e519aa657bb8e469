"""Verify graphs made of graphs: which vertices they have, which edges, and where both came from."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import semirings
from gasla.arrays import moved
from gasla.graph.graph import Graph, as_graph
from gasla.verify._common import Array, Edges, VerificationError, check_source, edges_of, require
from gasla.verify.partitions import strong_components

SLACK = 1e-6  # of a radius, by which the rounding of float32 may move who is just within it
COMBINES = {  # and what each begins with
    semirings.plus: (np.add, 0.0),
    semirings.min: (np.minimum, np.inf),
    semirings.max: (np.maximum, -np.inf),
}


def condensation(
    graph: Any, condensed: Graph, labels: ArrayLike | None = None, *, combine: semirings.Monoid = semirings.plus
) -> None:
    """Verify a condensation: a vertex for each strongly connected component, an edge wherever one leads across.

    Sums of floating-point values may differ by their rounding.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    condensed : Graph
        What `gasla.condensation` returned.
    labels : array of int, optional
        The components that it was given.
    combine : semirings.plus, min or max
        The monoid that it was given.

    Raises
    ------
    VerificationError
        If its vertices are not the components, if an edge is missing or too many, or has a wrong value.

    Examples
    --------
    >>> import gasla
    >>> ring = gasla.Graph.from_edges([0, 1, 2, 1, 2], [1, 2, 0, 3, 3])
    >>> condensation(ring, gasla.condensation(ring))
    >>> condensation(ring, ring.contract([0, 0, 0, 1]))
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 0 → 0 of the condensation is too many, or there twice
    """
    edges, found = edges_of(graph), edges_of(condensed)
    home = _home(condensed, edges.n)
    strong_components(graph, home, condensed.n)
    if labels is not None:
        require(np.asarray(labels) == home, lambda v: f"vertex {v} went to {home[v]}, which is not its label")
    across = home[edges.src] != home[edges.dst]
    pairs, place = np.unique(home[edges.src[across]] * found.n + home[edges.dst[across]], return_inverse=True)
    given = found.src.astype(np.int64) * found.n + found.dst
    order = np.argsort(given, kind="stable")
    right = np.isin(given, pairs)
    right[order[1:]] &= given[order[1:]] != given[order[:-1]]
    require(right, lambda e: f"edge {found.src[e]} → {found.dst[e]} of the condensation is too many, or there twice")
    missing = ~np.isin(pairs, given)
    require(~missing, lambda p: f"edge {pairs[p] // found.n} → {pairs[p] % found.n} is missing in the condensation")
    if condensed.values is None and combine is semirings.plus:
        raise VerificationError("the condensation has no values; expected sums, or numbers of edges")
    if condensed.values is not None:
        _check_values(edges.weight[across], place, found.weight[order], pairs, found.n, combine)


def _check_values(weight: Array, place: Array, found: Array, pairs: Array, n: int, combine: semirings.Monoid) -> None:
    """Verify what the values of edges between the same components came to."""
    if combine not in COMBINES:
        raise ValueError(f"combine is {combine!r}; expected semirings.plus, min or max")
    add, start = COMBINES[combine]
    right, size = np.full(len(pairs), start), np.zeros(len(pairs))
    add.at(right, place, weight)
    np.add.at(size, place, np.abs(weight))
    require(
        (found == right) | (np.abs(found - right) <= 1e-5 * size),
        lambda p: f"edge {pairs[p] // n} → {pairs[p] % n} of the condensation has the value {found[p]}, not {right[p]}",
    )


def ego_graph(
    graph: Any,
    source: int,
    ego: Graph,
    radius: float = 1,
    *,
    center: bool = True,
    undirected: bool = False,
    weighted: bool = False,
) -> None:
    """Verify an ego graph: its vertices are those that SciPy finds within the radius, its edges all between them.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    source : int
        The vertex in the middle.
    ego : Graph
        What `gasla.ego_graph` returned.
    radius, center, undirected, weighted
        What it was given.

    Raises
    ------
    VerificationError
        If a vertex or an edge is missing or too many, or has another number or value.

    Examples
    --------
    >>> import gasla
    >>> path = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3])
    >>> ego_graph(path, 0, gasla.ego_graph(path, 0))
    >>> ego_graph(path, 0, gasla.ego_graph(path, 0, 2))
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is in the ego graph, but at distance 2.0 from 0
    """
    every = edges_of(graph)
    source = check_source(source, every.n)
    distance = _distances(every, source, undirected, weighted)
    inside = _home(ego, every.n) >= 0
    reached = np.isfinite(distance)
    if not center:
        reached[source] = False
        require(~inside[[source]], lambda _: f"vertex {source} is in the ego graph, whose middle was to be left out")
    slack = SLACK * radius if weighted and np.isfinite(radius) else 0.0
    require(
        ~inside | (reached & (distance <= radius + slack)),
        lambda v: f"vertex {v} is in the ego graph, but at distance {distance[v]} from {source}",
    )
    require(
        inside | ~(reached & (distance <= radius - slack)),
        lambda v: f"vertex {v} is missing in the ego graph, at distance {distance[v]} from {source}",
    )
    _check_part(as_graph(graph), ego, inside)


def _check_part(graph: Graph, part: Graph, inside: Array) -> None:
    """Verify that a graph is all that another has among some vertices, in the same order."""
    place = np.where(inside, np.cumsum(inside) - 1, -1)
    home = _home(part, graph.n)
    require(
        home == place,
        lambda v: f"vertices are not in the order of their numbers: vertex {v} became {home[v]}; expected {place[v]}",
    )
    if part.n != inside.sum():
        raise VerificationError(f"there are {part.n} vertices; expected {inside.sum()}")
    (src, dst, weight), new = _by_number(graph), _by_number(part)
    inner = np.flatnonzero(inside[src] & inside[dst])
    numbers = np.asarray(moved(part.origin.edges, "cpu")) if part.origin is not None else inner
    if not np.array_equal(numbers, inner):
        raise VerificationError(f"there are {len(numbers)} edges, which are not the {len(inner)} between the vertices")
    _same("source", new[0], place[src[inner]])
    _same("end", new[1], place[dst[inner]])
    _same("value", new[2], weight[inner])


def _same(what: str, found: Array, right: Array) -> None:
    """Verify this of each edge."""
    same = (found == right) | (np.isnan(found) & np.isnan(right))
    require(same, lambda e: f"edge {e} has the {what} {found[e]}, not {right[e]}")


def _home(part: Graph, n: int) -> Array:
    """What each vertex of the graph before became."""
    if part.origin is None:
        raise VerificationError("the graph does not tell where it came from; expected one with an origin")
    home = np.asarray(moved(part.origin.new_vertices, "cpu")).astype(np.int64)
    if home.shape != (n,):
        raise VerificationError(f"the graph came from one of {len(home)} vertices, not of {n}")
    return home


def _by_number(graph: Graph) -> tuple[Array, Array, Array]:
    """Both ends and the weight of every edge, by its number."""
    edges, order = edges_of(graph), np.argsort(moved(graph.out.numbers(), "cpu"), kind="stable")
    return edges.src[order], edges.dst[order], edges.weight[order]


def _distances(edges: Edges, source: int, undirected: bool, weighted: bool) -> Array:
    """How far it is to each vertex."""
    from scipy.sparse.csgraph import shortest_path

    src, dst, weight = edges.src, edges.dst, edges.weight if weighted else np.ones(edges.dst.size)
    if undirected:
        src, dst, weight = np.r_[src, dst], np.r_[dst, src], np.r_[weight, weight]
    search: Any = shortest_path
    found: Array = search(edges._replace(src=src, dst=dst, weight=weight).lightest(), indices=source)
    return found


def project(graph: Any, side: ArrayLike, projected: Graph, *, counts: bool = True) -> None:
    """Verify a projection: an edge to and fro for each two of the side that have neighbors in common, and how many.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The bipartite graph.
    side : array of bool or of integers
        The side that was given.
    projected : Graph
        What `gasla.project` returned.
    counts : bool
        Whether values are numbers of common neighbors; otherwise they are not looked at.

    Raises
    ------
    VerificationError
        If its vertices are not those of the side, an edge is missing or too many, or a number is wrong.

    Examples
    --------
    >>> import gasla
    >>> lent = gasla.Graph.from_edges([0, 1], [2, 2])
    >>> project(lent, [0, 1], gasla.project(lent, [0, 1]))
    >>> project(lent, [0, 1], gasla.Graph.from_edges([0, 1], [1, 0], [2, 2]))
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 0 → 1 of the projection has the value 2, not 1
    """
    found, chosen = edges_of(projected), np.asarray(side)
    chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
    if found.n != len(chosen):
        raise VerificationError(f"the projection has {found.n} vertices; expected {len(chosen)}, those of the side")
    half = edges_of(graph).simple()[chosen]
    right = (half @ half.T).tocoo()
    off = right.row != right.col
    number = dict(zip(zip(right.row[off].tolist(), right.col[off].tolist()), right.data[off].tolist()))
    given = dict(zip(zip(found.src.tolist(), found.dst.tolist()), found.weight.tolist()))
    if len(given) < found.dst.size or given.keys() != number.keys():
        wrong = sorted(given.keys() ^ number.keys())
        which = f"edge {wrong[0][0]} → {wrong[0][1]} of the projection" if wrong else "an edge of the projection"
        raise VerificationError(f"{which} is {'missing' if wrong and wrong[0] in number else 'too many'}")
    for (u, v), value in given.items() if counts else ():
        if value != number[u, v]:
            raise VerificationError(f"edge {u} → {v} of the projection has the value {value:g}, not {number[u, v]:g}")
