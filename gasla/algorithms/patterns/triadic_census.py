"""Triadic census, which counts how often each of the 16 directed graphs of three vertices is an induced subgraph.

Every pair of vertices is joined by an edge both ways (mutual), by one edge, or by none. Triads in which two pairs are
joined are counted from the degrees of the vertex between them, as pairs of its neighbors. Such pairs that belong to
triads with all three pairs joined (closed triads) are subtracted. Closed triads are counted at one of their edges, as
common neighbors of its ends: vertices that both ends lead to, that lead to both ends, or that lie on a path from one
end to the other. Each count is exact, and no triad is listed.

P. W. Holland, S. Leinhardt: A Method for Detecting Structure in Sociometric Data. American Journal of Sociology 76
(1970).
"""

from collections import Counter
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.patterns.exact_sums import sum_of_choices, sum_of_products
from gasla.arrays import array_module
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.primitives import count_cliques, has_edges, intersect
from gasla.program import EdgeFrontier
from gasla.rows import Row, counts

Array = np.ndarray[Any, Any]  # a NumPy or CuPy array
Edges = frozenset[tuple[int, int]]

TRIADS: dict[str, Edges] = {
    name: frozenset((int(edge[0]), int(edge[1])) for edge in edges.split())
    for name, edges in {
        "003": "",
        "012": "01",
        "102": "01 10",
        "021D": "20 21",
        "021U": "02 12",
        "021C": "01 12",
        "111D": "02 20 12",
        "111U": "02 20 21",
        "030T": "01 21 02",
        "030C": "10 21 02",
        "201": "01 10 02 20",
        "120D": "20 21 01 10",
        "120U": "02 12 01 10",
        "120C": "01 12 02 20",
        "210": "01 12 21 02 20",
        "300": "01 10 12 21 02 20",
    }.items()
}


def triadic_census(graph: Any) -> dict[str, int]:
    """Count the triads of a directed graph by type: the subgraphs induced by three vertices each.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and directed: self loops are ignored, and parallel edges count once. Values are ignored; stored
        zeros are edges.

    Returns
    -------
    dict of str to int
        The exact number of each of the 16 types, as in `networkx.triadic_census` and in its order. A name has the
        numbers of mutual, one-way and absent pairs, and a letter where these leave a choice: "030C" is a cycle of
        three edges, "030T" the other triangle of one-way edges. Together they are ``n * (n - 1) * (n - 2) / 6``.

    See Also
    --------
    gasla.motif_counts : counts of three and four vertices of an undirected graph.
    gasla.subgraph_matches : lists the places of one type, given as edges.

    Notes
    -----
    Takes as long as four passes over the triangles. Besides the graph it makes two copies of its edges.

    References
    ----------
    V. Batagelj, A. Mrvar: A Subquadratic Triad Census Algorithm for Large Sparse Networks with Small Maximum Degree.
    Social Networks 23 (2001).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 0])
    >>> {name: count for name, count in gasla.triadic_census(graph).items() if count}
    {'021C': 2, '030T': 1, '030C': 1}
    """
    return census_of(whole_graph(graph).simple())


def census_of(simple: Graph) -> dict[str, int]:
    """Return the triadic census of a simple directed graph, as a number for each of the 16 types."""
    n, dyads = simple.n, Dyads.of(simple)
    census = _count_closed(dyads)
    is_closed = {name: wedges_of(TRIADS[name]) for name in census}
    for name, edges in TRIADS.items():
        if (wedges := wedges_of(edges)).total() == 1:
            (wedge_type,) = wedges
            census[name] = dyads.wedges(*wedge_type) - sum(
                count[wedge_type] * census[triad_name] for triad_name, count in is_closed.items()
            )
    pairs = {name: _edges_per_pair(edges) for name, edges in TRIADS.items()}
    mutual, one_way = dyads.mutual.m // 2, dyads.one_way.m
    census["102"] = mutual * (n - 2) - sum(pairs[name].count(2) * count for name, count in census.items())
    census["012"] = one_way * (n - 2) - sum(
        pairs[name].count(1) * count for name, count in census.items() if name != "102"
    )
    census["003"] = comb(n, 3) - sum(census.values())
    return {name: census[name] for name in TRIADS}


class Dyads(NamedTuple):
    """A simple directed graph split by kinds of pairs of vertices, which are joined by mutual edges or by one edge."""

    mutual: Graph  # a graph of the edges that lead both ways
    one_way: Graph  # a graph of the edges whose reverse is not an edge
    # for each vertex, the number of neighbors by mutual edges ("both"), by other out-edges ("out") and by other
    # in-edges ("in")
    degrees: dict[str, Array]

    @classmethod
    def of(cls, simple: Graph) -> "Dyads":
        """Split the edges of a simple directed graph into those that lead both ways and the rest."""
        src, dst = simple.edges()
        both = has_edges(simple, EdgeFrontier(simple.n, src, dst, src))
        mutual = Graph.from_edges(src[both], dst[both], n=simple.n)
        one_way = Graph.from_edges(src[~both], dst[~both], n=simple.n)
        counted = {"both": mutual.out_degrees, "out": one_way.out_degrees, "in": one_way.in_degrees}
        return cls(mutual, one_way, {wedge_type: degrees.astype(np.int64) for wedge_type, degrees in counted.items()})

    def wedges(self, first: str, second: str) -> int:
        """Return the sum over all vertices of the number of pairs of neighbors, one of the kind `first` and one of
        `second`.

        A kind is "both", "out" or "in". The two neighbors may or may not be joined to each other.
        """
        if first == second:
            return sum_of_choices(self.degrees[first], 2)
        return sum_of_products(self.degrees[first], self.degrees[second])


def wedges_of(edges: Edges) -> Counter[tuple[str, str]]:
    """Return how often each pair of kinds of neighbors occurs at the vertices of a triad (a graph of three vertices).

    Only vertices with two neighbors count, each for one pair.

    A neighbor is of the kind "both", "out" or "in", by the edges from the vertex to it. Each vertex counts one pair of
    kinds.

    Examples
    --------
    >>> wedges_of(TRIADS["111U"])
    Counter({('both', 'out'): 1})
    """

    def kind(u: int, v: int) -> str:
        return "both" if {(u, v), (v, u)} <= edges else "out" if (u, v) in edges else "in" if (v, u) in edges else ""

    corners = (sorted((kind(v, (v + 1) % 3), kind(v, (v + 2) % 3))) for v in range(3))
    return Counter((first_kind, second_kind) for first_kind, second_kind in corners if first_kind)


def _edges_per_pair(edges: Edges) -> list[int]:
    """Return the number of edges, 0, 1 or 2, between each two of three vertices, in the order 0-1, 0-2, 1-2."""
    return [len({(u, v), (v, u)} & edges) for u, v in combinations(range(3), 2)]


def _count_closed(dyads: Dyads) -> dict[str, int]:
    """Return the number of closed triads of each type. A triad of vertices is closed if every two are joined."""
    mutual, one_way, n = dyads.mutual, dyads.one_way, dyads.mutual.n
    both_adjacencies, (src, dst) = _with_both_adjacencies(one_way), one_way.edges()
    u, v = mutual.edges()
    is_forward = u < v
    u, v = u[is_forward], v[is_forward]
    return {
        "300": count_cliques(mutual, 3),
        "210": _count_common(mutual, src, dst),
        "120D": _count_common(both_adjacencies, u + n, v + n),
        "120U": _count_common(both_adjacencies, u, v),
        "120C": _count_common(both_adjacencies, u, v + n) + _count_common(both_adjacencies, v, u + n),
        "030T": _count_common(both_adjacencies, src, dst),
        "030C": _count_common(both_adjacencies, dst, src + n) // 3,
    }


def _with_both_adjacencies(graph: Graph) -> Graph:
    """Return a graph of 2 n vertices that has both the out-neighbors and the in-neighbors of a graph's n vertices.

    The neighbors of v are its out-neighbors. The neighbors of n + v are the in-neighbors of v.
    """
    out, in_ = graph.sorted_out, graph.reversed().sorted_out
    xp = array_module(out.indices)
    second_offsets = out.indptr[-1:].astype(np.int64) + in_.indptr[1:]
    return Graph.from_csr(xp.concatenate([out.indptr, second_offsets]), xp.concatenate([out.indices, in_.indices]))


def _count_common(graph: Graph, src: Array, dst: Array) -> int:
    """Return the number of common out-neighbors of src[i] and dst[i], summed over all i."""
    return int(intersect(graph, EdgeFrontier(graph.n, src, src, dst)).sum())


ROW = Row(
    triadic_census,
    counts("triadic-census", "sets of 3 vertices, by the edges between them"),
    method="pairs of neighbors, the rest by degrees (Batagelj, Mrvar, Social Networks 23, 2001)",
    longer="Common neighbors of the ends of every edge are counted by the directions of their edges.",
)
