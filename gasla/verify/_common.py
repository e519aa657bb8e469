"""Helpers that all verifiers share. They read the edges of a graph as arrays, check the shape of an answer, and raise
errors.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from operator import index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gasla.graph.arguments import are_names, several_vertices, weight_range
from gasla.graph.exchange.vertex_names import translate_vertex, translate_vertices
from gasla.graph.graph import Graph, as_graph
from gasla.graph.typed_graph import TypedGraph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

P = ParamSpec("P")
Array = NDArray[Any]
BLOCK = 1 << 22  # number of neighbors that `common_weights` looks up in one batch, to bound its memory
SAMPLES = 256  # default number of vertices, edges or pairs that a verifier computes again if it checks only a sample


class VerificationError(AssertionError):
    """The error that verifiers raise for an answer that breaks a property of every right answer.

    The message names the property and the vertex or edge that breaks it.
    """

    __module__ = "gasla.verify"  # the module that error messages show, which is the class's public place


def _translate_values(graph: Graph, given: Any, name: str) -> Any:
    """Translate an argument such as `personalization` from vertex names to vertex numbers.

    A mapping from names to values becomes a mapping from numbers to the same values. A list of names becomes a mapping
    that gives each listed vertex the value 1. An array of numbers is returned as it is.
    """
    if isinstance(given, Mapping):
        return dict(zip(several_vertices(graph, name, given, "vertex"), given.values()))
    if getattr(given, "ndim", 1) == 0 or not are_names(given):
        return given
    return dict.fromkeys(several_vertices(graph, name, given, "vertex"), 1.0)


def _translate_pairs(graph: Graph, argument: Any, name: str) -> Any:
    return tuple(translate_vertices(graph, ends, name) for ends in argument)


# for each parameter of verifiers that takes vertex names: the function that replaces the names by vertex numbers
VERTICES: dict[str, Callable[[Graph, Any, str], Any]] = {
    **dict.fromkeys(("source", "target"), translate_vertex),
    **dict.fromkeys(("sources", "starts", "ids", "nodes", "terminals"), translate_vertices),
    **dict.fromkeys(("personalization", "dangling", "beta", "supplies"), _translate_values),
    "pairs": _translate_pairs,
}


Weights = Literal["any", "numbers", "lengths", "shares", "positive"]


def require_weights(graph: Any, weights: Weights) -> None:
    """Raise the error that the verified algorithm raises for weights that it refuses.

    `weights` says which weights the algorithm takes, as for `verifier`.
    """
    if weights != "any":
        least, _ = weight_range(as_graph(graph), positive=weights == "positive", shares=weights == "shares")
        if weights == "lengths" and least < 0:
            raise VerificationError(f"a weight is {least}; expected an error instead of an answer")


def verifier(weights: Weights = "any") -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Return a decorator of verifiers that translates arguments and checks weights before the verifier runs.

    Callers pass vertices by name, as they do to the algorithm. The decorated function receives vertex numbers. NumPy's
    warnings are turned off, since verifiers compare infinite and NaN sums like any other numbers.

    Parameters
    ----------
    weights
        Which weights the algorithm takes where it reads them, as in `weight_range`: "lengths" are numbers of 0 or more.
        Any other weights raise an error, since no answer is right for them.
    """

    def decorated(verify: Callable[P, None]) -> Callable[P, None]:
        bind = signature(verify).bind

        @wraps(verify)
        def called(*args: P.args, **kwargs: P.kwargs) -> None:
            bound_arguments = bind(*args, **kwargs)
            bound_arguments.apply_defaults()
            if isinstance(bound_arguments.arguments["graph"], TypedGraph):
                return verify(*bound_arguments.args, **bound_arguments.kwargs)
            values, graph = bound_arguments.arguments, as_graph(bound_arguments.arguments["graph"])
            if graph.naming is not None:
                for name, translate in VERTICES.items():
                    if values.get(name) is not None:
                        values[name] = translate(graph, values[name], name)
            weight_options = [values[name] for name in ("weighted", "distance") if name in values]
            if not weight_options or any(weight_options):
                require_weights(graph, weights)
            with np.errstate(all="ignore"):
                return verify(*bound_arguments.args, **bound_arguments.kwargs)

        return called

    return decorated


class Edges(NamedTuple):
    """All edges of a graph of `n` vertices, as arrays that are grouped by the source of each edge."""

    n: int
    indptr: Array
    src: Array
    dst: Array
    weight: Array

    def matrix(self, data: Array | None = None, keep: Array | None = None) -> "csr_array":
        """Return the edges, or only those where the bool array `keep` is True, as a SciPy matrix.

        The matrix has the value of `data` for each edge, or 1 if `data` is None.
        """
        from scipy.sparse import csr_array

        data = np.ones(self.dst.size) if data is None else data
        if keep is None:
            # SciPy sorts the arrays of a matrix in place, and these may belong to the graph, so the matrix gets copies
            return csr_array((data, self.dst.copy(), self.indptr.copy()), shape=(self.n, self.n))
        indptr = np.concatenate(([0], np.cumsum(keep)))[self.indptr]
        return csr_array((data[keep], self.dst[keep], indptr), shape=(self.n, self.n))

    def lightest(self) -> "csr_array":
        """Return the matrix of weights. Of parallel edges only the one of the smallest weight is in the matrix."""
        order = np.lexsort((self.weight, self.dst, self.src))
        src, dst = self.src[order], self.dst[order]
        is_lightest = np.ones(len(src), bool)
        is_lightest[1:] = (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
        order = order[is_lightest]
        indptr = np.searchsorted(self.src[order], np.arange(self.n + 1))
        return Edges(self.n, indptr, self.src[order], self.dst[order], self.weight[order]).matrix(self.weight[order])

    def simple(self) -> "csr_array":
        """Return the symmetric adjacency matrix of ones, without self loops, parallel edges and directions."""
        from scipy.sparse import csr_array

        pattern = self.matrix(np.ones(self.dst.size, np.int64), self.src != self.dst)
        both = csr_array(pattern + pattern.T)
        both.sum_duplicates()
        both.data[:] = 1
        return both


def near_one(weight: Array) -> Array:
    """Return the weights, scaled by a power of two if their sum is infinite or close to underflow.

    Scaling lets sums of weights be computed without overflow. No weight above 0 becomes 0.
    """
    total = float(weight.sum())
    if 2.0**-900 < total < np.inf or not (weight > 0).any():
        return weight
    scaled: Array = np.ldexp(weight, -int(np.frexp(weight.max())[1]))
    return np.where(weight > 0, np.maximum(scaled, 5e-324), scaled)


def scores_of(name: str, values: ArrayLike, n: int) -> Array:
    """Verify that an answer has a finite number of 0 or more for each vertex, and return the numbers as float64."""
    score = vertex_answer(name, values, n, "f").astype(np.float64)
    require(
        np.isfinite(score) & (score >= 0),
        lambda v: f"vertex {v} has the {'negative ' if score[v] < 0 else ''}score {score[v]} among the {name}",
    )
    return score


def vector_of(argument: Any, n: int) -> Array:
    """Return an array with a number for each vertex, made from an array, a single number, or a mapping.

    A vertex that the mapping lacks has the number 0.
    """
    vector = np.zeros(n)
    if isinstance(argument, Mapping):
        vector[list(argument.keys())] = list(argument.values())
    else:
        vector += np.asarray(argument, np.float64)
    return vector


def edges_by_id(graph: Any) -> tuple[Array, Array, Array]:
    """Return three arrays with the source, the target and the weight of every edge, in the order of edge ids."""
    edges, order = edges_of(graph), np.argsort(as_graph(graph).out.numbers(), kind="stable")
    return edges.src[order].astype(np.int64), edges.dst[order].astype(np.int64), edges.weight[order]


def edges_of(graph: Any) -> Edges:
    graph = as_graph(graph)
    indptr, dst = graph.out.indptr, graph.out.indices
    src = np.repeat(np.arange(graph.n, dtype=dst.dtype), np.diff(indptr))
    weight = np.ones(1) if graph.values is None else np.asarray(graph.out_values)
    return Edges(graph.n, indptr, src, dst, np.broadcast_to(weight.astype(np.float64), dst.shape))


def require(holds: Array, message: Callable[[int], str]) -> None:
    """Raise a VerificationError for the first index at which the bool array `holds` is False.

    `message` returns the text of the error for that index.
    """
    if not holds.all():
        raise VerificationError(message(int(np.argmin(holds))))


def vertex_answer(name: str, values: ArrayLike, n: int, kinds: str) -> Array:
    """Check that an answer has one value per vertex, and return it as an array.

    `kinds` holds the letters of the dtypes that are allowed (NumPy's `dtype.kind`), such as "iu" for integers.
    """
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
    """Check that an answer has one value per stored edge. Return the values in the order of `Edges`, grouped by
    source.
    """
    graph = as_graph(graph)
    array = np.asarray(values)
    if array.shape != (graph.m,) or array.dtype.kind not in kinds:
        wanted = {"b": "bool", "f": "a float"}.get(kinds, "an integer")
        raise VerificationError(
            f"{name}: {graph.m} values of {wanted} were expected, one per stored edge, not {array.dtype}{array.shape}"
        )
    return array if graph.out.edge_ids is None else array[graph.out.edge_ids]


def check_source(source: int, n: int, name: str = "source") -> int:
    source = index(source)
    if not 0 <= source < n:
        raise ValueError(f"{name} {source} is outside a graph of {n} vertices")
    return source


def check_sources(sources: Iterable[Any] | None, n: int) -> Array:
    """Return the vertex numbers of the sources as an array, or of all vertices if `sources` is None."""
    return np.arange(n) if sources is None else np.array([check_source(s, n) for s in sources], np.int64)


def edge_name(edges: Edges, e: int) -> str:
    """Return how an error message writes an edge, such as "edge 0 → 1"."""
    return f"edge {edges.src[e]} → {edges.dst[e]}"


def common_weights(simple: "csr_array", u: Array, v: Array, weights: Array | None = None) -> Array:
    """Return the number of common neighbors of u[i] and v[i] for each i, or their total weight if `weights` is given.

    The result is float64. Each neighbor of the vertex of lower degree is looked up among the neighbors of the other
    vertex.
    """
    degree = np.diff(simple.indptr)
    low, high = np.where(degree[u] <= degree[v], (u, v), (v, u))
    if len(u) > 1 and degree[low].sum(dtype=np.int64) > BLOCK:
        middle = len(u) // 2
        first, second = slice(middle), slice(middle, None)
        return np.append(*(common_weights(simple, u[half], v[half], weights) for half in (first, second)))
    neighbors, pair = simple[low].indices, np.repeat(np.arange(len(u)), degree[low])
    if not len(pair):  # SciPy would return a matrix instead of an array for an empty index, so this case returns early
        return np.zeros(len(u))
    is_shared = simple[high[pair], neighbors] > 0
    weight = None if weights is None else weights[neighbors[is_shared]]
    return np.bincount(pair[is_shared], weight, len(u)).astype(np.float64)


def sample(count: int, samples: int) -> Array:
    """Return the indices 0 to `count` - 1, or `samples` of them drawn at random if `count` is larger than `samples`."""
    every = np.arange(count)
    return every if count <= samples else np.random.default_rng(0).choice(every, samples, replace=False)


def sparse(n: int, src: Array, dst: Array, data: Array | None = None) -> "csr_array":
    """Return a SciPy matrix that has for each pair (src, dst) the sum of `data` of its edges, or their number."""
    from scipy.sparse import coo_array

    return coo_array((np.ones(len(src)) if data is None else data, (src, dst)), shape=(n, n)).tocsr()


def distances_from(matrix: "csr_array", source: int | Array, **options: Any) -> Array:
    """Return the distance from a source to each vertex, by SciPy's Dijkstra. It is infinite where there is no path."""
    from scipy.sparse.csgraph import dijkstra

    search: Any = dijkstra
    distances: Array = search(matrix, indices=source, **options)
    return distances


def components_of(matrix: "csr_array", connection: Literal["weak", "strong"] = "weak") -> Array:
    """Return the number of the weak or strong component of each vertex, by SciPy."""
    from scipy.sparse.csgraph import connected_components

    # SciPy's search for strong components never ends on parallel edges, so they are merged into one
    matrix.sum_duplicates()
    component: Array = connected_components(matrix, connection=connection)[1]
    return component


def reachable(n: int, src: Array, dst: Array, starts: Array | list[int]) -> Array:
    """Return for each vertex whether it is in `starts` or reachable from a vertex in `starts`, by SciPy."""
    from scipy.sparse.csgraph import breadth_first_order

    starts = np.unique(np.asarray(starts, np.int64))
    # an added vertex, number n, has an edge to each start, so one search from it reaches all vertices reachable from
    # any start
    matrix = sparse(n + 1, np.append(src, np.full(len(starts), n)), np.append(dst, starts))
    is_reached = np.zeros(n + 1, bool)
    is_reached[breadth_first_order(matrix, n, return_predecessors=False)] = True
    return is_reached[:-1]


def two_sides(edges: Edges) -> tuple[Array, Array, Array]:
    """Return three arrays with a value for each vertex, from which one sees whether the graph is bipartite.

    They are its component, whether that component has an odd cycle, and on which side the vertex is. The side is True
    if a path of even length joins the vertex and the smallest vertex of the component. A component has an odd cycle if
    its bipartite double cover is connected. Otherwise each half of the cover has one copy of every vertex.
    """
    n, src, dst = edges.n, edges.src.astype(np.int64), edges.dst.astype(np.int64)
    half = components_of(sparse(2 * n, np.r_[src, src + n], np.r_[dst + n, dst]))
    component = components_of(sparse(n, src, dst))
    smallest = np.unique(component, return_index=True)[1]
    return component, half[:n] == half[n:], half[:n] == half[smallest][component]
