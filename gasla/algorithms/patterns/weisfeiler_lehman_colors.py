"""Weisfeiler's and Lehman's refinement of colors. No isomorphism maps a vertex to one of a different color.

A color is a hash of 64 bits. In each round a vertex's new color mixes its own color with two sums, of the mixed colors
of its out-neighbors and of its in-neighbors, so that it does not depend on the order of neighbors. Rounds end when no
color is split any more.
"""

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import array_module, module_of, moved, running_sums
from gasla.graph.arguments import most_iterations, whole_number
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.validate import as_ids
from gasla.rows import Command, Row, Task

Array = np.ndarray[Any, Any]  # a NumPy or CuPy array


class ColorsResult(NamedTuple):
    """The colors of vertices, and the number of colors.

    Colors are numbered from 0 in an order that depends on the form of the graph alone.
    """

    colors: Array
    count: int  # type: ignore[assignment]
    iterations: int


def weisfeiler_lehman_colors(graph: Any, *, labels: Any = None, max_iter: int | None = None) -> ColorsResult:
    """Color vertices by the colors of their neighbors, round by round, until no color is split any more.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Values are ignored; stored zeros are edges.
    labels : (n,) array of integers, optional
        The first colors. By default all vertices have one.
    max_iter : int, optional
        The most rounds. By default there is no limit; more than n are never needed.

    Returns
    -------
    ColorsResult(colors, count, iterations)
        The color of each vertex, 0 to `count` - 1, and the number of rounds that split a color.

    Raises
    ------
    TypeError, ValueError
        If `labels` does not have one integer per vertex, or `max_iter` is no whole number.

    See Also
    --------
    gasla.weisfeiler_lehman_hash : one text for the graph.
    gasla.is_isomorphic : whether two graphs have one form.

    Notes
    -----
    Neighbors count as often as there are edges; of directed edges, both ends. Isomorphic graphs have the same colors,
    with vertices renamed. Two vertices that differ have the same color only if sums of 64 bits happen to be equal.

    References
    ----------
    B. Weisfeiler, A. Leman: The reduction of a graph to canonical form and the algebra which appears therein. NTI
    Series 2 (1968).

    Examples
    --------
    >>> import gasla
    >>> path = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3]).symmetrized()
    >>> colors, count, iterations = gasla.weisfeiler_lehman_colors(path)
    >>> count, bool(colors[0] == colors[3]), bool(colors[1] == colors[2])
    (2, True, True)
    """
    graph = whole_graph(graph)
    max_rounds = graph.n if max_iter is None else most_iterations("max_iter", max_iter)
    hashes, count, rounds = first_hashes(graph, labels), 0, 0
    colors, color_count = _rank(hashes)
    while color_count > count and rounds < max_rounds:
        count = color_count
        hashes = next_hashes(graph, hashes)
        new_colors, color_count = _rank(hashes)
        if color_count > count:
            colors, rounds = new_colors, rounds + 1
    return ColorsResult(colors.astype(graph.id_dtype), max(count, color_count), rounds)


def weisfeiler_lehman_hash(graph: Any, *, labels: Any = None, iterations: int = 3) -> str:
    """Return a text that is the same for isomorphic graphs, and most likely differs for two graphs that are not.

    Parameters
    ----------
    graph, labels
        As for `gasla.weisfeiler_lehman_colors`.
    iterations : int, default 3
        How many rounds of colors it has; at most as many as vertices, as more tell nothing.

    Returns
    -------
    str
        32 hexadecimal digits. It is not NetworkX's.

    Raises
    ------
    TypeError, ValueError
        As `weisfeiler_lehman_colors`.

    See Also
    --------
    gasla.is_isomorphic : decides.

    Examples
    --------
    >>> import gasla
    >>> path, star = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3]), gasla.Graph.from_edges([0, 0, 0], [1, 2, 3])
    >>> turned = gasla.Graph.from_edges([3, 0, 1], [0, 1, 2])
    >>> gasla.weisfeiler_lehman_hash(path) == gasla.weisfeiler_lehman_hash(turned)
    True
    >>> gasla.weisfeiler_lehman_hash(path) == gasla.weisfeiler_lehman_hash(star)
    False
    """
    graph = whole_graph(graph)
    rounds, hashes, text = whole_number("iterations", iterations), first_hashes(graph, labels), blake2b(digest_size=16)
    for i in range(min(rounds, graph.n) + 1):  # after n rounds no color can split, so further rounds are left out
        hashes = next_hashes(graph, hashes) if i else hashes
        text.update(np.sort(moved(hashes, "cpu")).astype("<u8").tobytes())
    return text.hexdigest()


def first_hashes(graph: Graph, labels: Any, name: str = "labels") -> Array:
    """Return a 64-bit hash of the label of each vertex, or 0 for each if there are no labels."""
    xp: Any = module_of(graph.device)
    if labels is None:
        return xp.zeros(graph.n, np.uint64)
    label_ids = as_ids(name, labels)
    if len(label_ids) != graph.n:
        raise ValueError(f"{name} has {len(label_ids)} integers; expected {graph.n}, one per vertex")
    return _mix(moved(label_ids, graph.device).astype(np.uint64))


def next_hashes(graph: Graph, hashes: Array) -> Array:
    """Return the hashes of all vertices, their colors, after one more round of refinement.

    A new hash depends on the vertex's own hash and those of its neighbors.
    """
    around = [_neighbor_sums(lists, _mix(hashes + _SALTS[i])) for i, lists in enumerate((graph.out, graph.in_))]
    return _mix(hashes * _SALTS[2] + _mix(around[0] * _SALTS[0]) + _mix(around[1] * _SALTS[1] + _SALTS[2]))


# odd numbers, as multipliers that keep different hashes different
_SALTS = [np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)]


def _neighbor_sums(lists: Any, values: Array) -> Array:
    """Return for each vertex the sum of `values`, a number per vertex, over its neighbors, modulo 2**64.

    `lists` has the adjacency lists.
    """
    sums = running_sums(values[lists.indices].view(np.int64)).view(np.uint64)
    # The differences below are exact even if the sums, which are modulo 2**64, have wrapped around.
    return sums[lists.indptr[1:]] - sums[lists.indptr[:-1]]


def _mix(x: Array) -> Array:
    """Return a hash of each number, by the finalizer of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _rank(hashes: Array) -> tuple[Array, int]:
    """Return the rank of each hash among the distinct hashes, and how many distinct hashes there are."""
    distinct, numbers = array_module(hashes).unique(hashes, return_inverse=True)
    return numbers, len(distinct)


ROW = [
    Row(
        weisfeiler_lehman_colors,
        Command(
            *("weisfeiler-lehman-colors", {"colors": "color"}),
            lambda f: (
                f"{f['count']:,} colors of {f.graph.n:,} vertices, after {f['iterations']:,} rounds; the largest:"
            ),
            lambda f: f.histogram("colors", "vertices"),
            fixed={"labels": None},
            unpack=lambda _, found: found._asdict(),
        ),
        Task(options={"max_iter": 3}, part="colors", form="nothing"),
        method="refinement by hashed multisets of colors (Shervashidze et al., JMLR 12, 2011)",
        longer="Three rounds read an 8-byte color along every edge in both directions, and sort the colors.",
    ),
    Row(
        weisfeiler_lehman_hash,
        Command(
            *("weisfeiler-lehman-hash", {}, lambda f: f["hash"]),
            fixed={"labels": None},
            unpack=lambda _, text: {"hash": text},
        ),
        method="refinement by hashed multisets of colors (Shervashidze et al., JMLR 12, 2011)",
        longer="Three rounds read an 8-byte color along every edge in both directions, and sort the colors.",
    ),
]
