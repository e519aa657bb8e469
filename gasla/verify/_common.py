"""Shared by all verifiers: the edges of a graph as arrays, checks of an answer's shape, and the raising of errors."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gasla.graph.arguments import are_names, several_vertices, source_vertex
from gasla.graph.exchange.vertex_names import translate_vertices
from gasla.graph.graph import Graph, as_graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

P = ParamSpec("P")
Array = NDArray[Any]
BLOCK = 1 << 22  # neighbors that are looked up at once
SAMPLES = 256  # default number of samples of a spot check


class VerificationError(AssertionError):
    """An answer breaks a property that every right answer has; the message names the property and the place."""

    __module__ = "gasla.verify"  # the public name


def _numbered(graph: Graph, given: Any, name: str) -> Any:
    """A mapping of vertices to numbers, or a list of equally likely vertices; an array of numbers as it is."""
    if isinstance(given, Mapping):
        return dict(zip(several_vertices(graph, name, given, "vertex"), given.values()))
    if getattr(given, "ndim", 1) == 0 or not are_names(given):
        return given
    return dict.fromkeys(several_vertices(graph, name, given, "vertex"), 1.0)


def _pairs(graph: Graph, given: Any, name: str) -> Any:
    return tuple(translate_vertices(graph, ends, name) for ends in given)


VERTICES: dict[str, Callable[[Graph, Any, str], Any]] = {  # how arguments give vertices, by their names
    **dict.fromkeys(("source", "target"), source_vertex),
    **dict.fromkeys(("sources", "starts", "ids", "nodes"), translate_vertices),
    **dict.fromkeys(("personalization", "dangling", "beta"), _numbered),
    "pairs": _pairs,
}


def takes_names(verify: Callable[P, None]) -> Callable[P, None]:
    """Decorate a verifier: like the algorithm, it then accepts vertices by name, which it receives as numbers."""
    bind = signature(verify).bind

    @wraps(verify)
    def translated(*args: P.args, **kwargs: P.kwargs) -> None:
        given = bind(*args, **kwargs)
        graph = as_graph(given.arguments["graph"])
        if graph.naming is not None:
            for name, translate in VERTICES.items():
                if given.arguments.get(name) is not None:
                    given.arguments[name] = translate(graph, given.arguments[name], name)
        verify(*given.args, **given.kwargs)

    return translated


class Edges(NamedTuple):
    """All edges of a graph of `n` vertices, grouped by source."""

    n: int
    indptr: Array
    src: Array
    dst: Array
    weight: Array

    def matrix(self, data: Array | None = None, keep: Array | None = None) -> "csr_array":
        """The edges as a SciPy matrix, or those that `keep` marks; with ones unless `data` is given."""
        from scipy.sparse import csr_array

        data = np.ones(self.dst.size) if data is None else data
        if keep is None:
            # Copies, since SciPy sorts and sums in place, and the arrays may be the graph's own.
            return csr_array((data, self.dst.copy(), self.indptr.copy()), shape=(self.n, self.n))
        indptr = np.concatenate(([0], np.cumsum(keep)))[self.indptr]
        return csr_array((data[keep], self.dst[keep], indptr), shape=(self.n, self.n))

    def lightest(self) -> "csr_array":
        """The matrix of weights; of parallel edges the lightest."""
        order = np.lexsort((self.weight, self.dst, self.src))
        src, dst = self.src[order], self.dst[order]
        first = np.ones(len(src), bool)
        first[1:] = (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
        order = order[first]
        indptr = np.searchsorted(self.src[order], np.arange(self.n + 1))
        return Edges(self.n, indptr, self.src[order], self.dst[order], self.weight[order]).matrix(self.weight[order])

    def simple(self) -> "csr_array":
        """The adjacency matrix of ones of the simple undirected graph."""
        from scipy.sparse import csr_array

        pattern = self.matrix(np.ones(self.dst.size, np.int64), self.src != self.dst)
        both = csr_array(pattern + pattern.T)
        both.sum_duplicates()
        both.data[:] = 1
        return both


def near_one(weight: Array) -> Array:
    """The weights, scaled by a power of two if their sum is infinite or close to underflow."""
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if 2.0**-900 < total < np.inf or not (weight > 0).any():
        return weight
    scaled: Array = np.ldexp(weight, -int(np.frexp(weight.max())[1]))
    return scaled


def edges_by_id(graph: Any) -> tuple[Array, Array, Array]:
    """Both ends and the weight of every edge, by edge id."""
    edges, order = edges_of(graph), np.argsort(as_graph(graph).out.numbers(), kind="stable")
    return edges.src[order].astype(np.int64), edges.dst[order].astype(np.int64), edges.weight[order]


def edges_of(graph: Any) -> Edges:
    graph = as_graph(graph)
    indptr, dst = graph.out.indptr, graph.out.indices
    src = np.repeat(np.arange(graph.n, dtype=dst.dtype), np.diff(indptr))
    weight = np.ones(1) if graph.values is None else np.asarray(graph.out_values)
    return Edges(graph.n, indptr, src, dst, np.broadcast_to(weight.astype(np.float64), dst.shape))


def require(holds: Array, message: Callable[[int], str]) -> None:
    """Raise a VerificationError with the message for the first place where the property does not hold."""
    if not holds.all():
        raise VerificationError(message(int(np.argmin(holds))))


def vertex_answer(name: str, values: ArrayLike, n: int, kinds: str) -> Array:
    """Check that an answer has one value of the right kind (`dtype.kind`) per vertex; returns it as an array."""
    array = np.asarray(values)
    if array.shape != (n,):
        raise VerificationError(
            f"{name}: {n} values were expected, one per vertex, not an array of shape {array.shape}"
        )
    if array.dtype.kind not in kinds:
        wanted = {"b": "truth values (bool)", "f": "floating-point numbers"}.get(kinds, "integers")
        raise VerificationError(f"{name}: {wanted} were expected, not {array.dtype}")
    return array


def edge_answer(name: str, graph: Any, values: ArrayLike, kinds: str) -> Array:
    """Check that an answer has one value per stored edge; returns it in the order of `Edges`, grouped by source."""
    graph = as_graph(graph)
    array = np.asarray(values)
    if array.shape != (graph.m,) or array.dtype.kind not in kinds:
        wanted = {"b": "bool", "f": "a float"}.get(kinds, "an integer")
        raise VerificationError(
            f"{name}: {graph.m} values of {wanted} were expected, one per stored edge, not {array.dtype}{array.shape}"
        )
    return array if graph.out.edge_ids is None else array[graph.out.edge_ids]


def check_source(source: int, n: int) -> int:
    source = index(source)
    if not 0 <= source < n:
        raise ValueError(f"source {source} is outside a graph of {n} vertices")
    return source


def check_sources(sources: Iterable[Any] | None, n: int) -> Array:
    """The sources as an array; by default all vertices."""
    return np.arange(n) if sources is None else np.array([check_source(s, n) for s in sources], np.int64)


def edge_name(edges: Edges, e: int) -> str:
    """The name of an edge in a message."""
    return f"edge {edges.src[e]} → {edges.dst[e]}"


def common_weights(simple: "csr_array", u: Array, v: Array, weights: Array | None = None) -> Array:
    """The total weight of the common neighbors of u[i] and v[i], or their number, as float64.

    The neighbors of the vertex of lower degree are searched among those of the other.
    """
    degree = np.diff(simple.indptr)
    low, high = np.where(degree[u] <= degree[v], (u, v), (v, u))
    if len(u) > 1 and degree[low].sum(dtype=np.int64) > BLOCK:
        half = len(u) // 2
        first, second = slice(half), slice(half, None)
        return np.append(*(common_weights(simple, u[some], v[some], weights) for some in (first, second)))
    neighbors, pair = simple[low].indices, np.repeat(np.arange(len(u)), degree[low])
    if not len(pair):  # without any index SciPy returns a matrix
        return np.zeros(len(u))
    is_shared = simple[high[pair], neighbors] > 0
    weight = None if weights is None else weights[neighbors[is_shared]]
    return np.bincount(pair[is_shared], weight, len(u)).astype(np.float64)


def sample(count: int, samples: int) -> Array:
    """The indices to look at: all of them, or as many as `samples` says, drawn at random."""
    every = np.arange(count)
    return every if count <= samples else np.random.default_rng(0).choice(every, samples, replace=False)


def reachable(n: int, src: Array, dst: Array, starts: Array | list[int]) -> Array:
    """Whether each vertex is one of `starts` or reachable from one of them, by SciPy."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    starts = np.unique(np.asarray(starts, np.int64))
    ends = np.append(src, np.full(len(starts), n)), np.append(dst, starts)  # one more vertex leads to all starts
    matrix = csr_array((np.ones(len(ends[0])), ends), shape=(n + 1, n + 1))
    found = np.zeros(n + 1, bool)
    found[breadth_first_order(matrix, n, return_predecessors=False)] = True
    return found[:-1]


def strong_components_of(n: int, src: Array, dst: Array) -> Array:
    """The strong component of each vertex, by SciPy."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    matrix = csr_array((np.ones(len(src)), (src, dst)), shape=(n, n))
    matrix.sum_duplicates()  # SciPy's search is slow with parallel edges
    component: Array = connected_components(matrix, connection="strong")[1]
    return component


def odd_components(edges: Edges) -> tuple[Array, Array]:
    """The component of each vertex, and whether it has an odd cycle: then its bipartite double cover is connected."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, src, dst = edges.n, edges.src.astype(np.int64), edges.dst.astype(np.int64)
    ends = np.r_[src, src + n], np.r_[dst + n, dst]
    _, side = connected_components(coo_array((np.ones(2 * len(src)), ends), shape=(2 * n, 2 * n)), directed=False)
    _, component = connected_components(coo_array((np.ones(len(src)), (src, dst)), shape=(n, n)), directed=False)
    return component, side[:n] == side[n:]
