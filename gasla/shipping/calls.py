"""Calls of every public function, and graphs for these calls. The code that they compile is shipped in wheels.

The list is used for the CPU and the GPU. A function that takes a graph is called with its defaults, and once for each
option of its signature. `MORE` has calls that do not follow from a signature.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

import gasla
import semirings
from gasla import engines, rows
from gasla.arrays import module_of
from gasla.graph.graph import Graph

FIRST = ["strongly_connected_components", "minimum_spanning_forest", "louvain_communities", "bridges", "shortest_path"]
ON_ONE_THREAD = {
    "leiden_communities",
    "louvain_communities",
    "core_number",
    "k_core",
    "bridges",
    "articulation_points",
    "minimum_spanning_forest",
    "strongly_connected_components",
    "condensation",
}  # on small graphs these run without a vertex program, so each is called a second time with vertex programs
# These functions raise an error if they do not converge, so they are called without a small `max_iter`. Other functions
# only warn.
MUST_CONVERGE = {"spectral_clustering", "spectral_embedding", "fiedler_vector"}
SCORE_TYPES = None, np.float32, np.float64
# Calls of gasla's functions as source text. In it, `g` is a graph of `n` vertices, and `np` is NumPy, or CuPy for a
# graph on the GPU.
MORE = [
    "negative_edges(g, 0)",
    "negative_edges(g, 0, by='degree')",
    "negative_edges(timed, 0, at=50)",
    "split_edges(g)",
    "temporal_walks(timed, [0, 1], 3)",
    "temporal_walks(timed, [0, 1], 3, at=50.0, weighted=True)",
    "metapath_walks(gasla.TypedGraph({('v', 'to', 'v'): g}), [0, 1], [('v', 'to', 'v')], 3)",
    "edge_softmax(g, np.zeros(g.m))",
    "edge_softmax_gradient(g, np.zeros(g.m), np.zeros(g.m))",
    "top_k(g, 3)",
    "mxv(g, x)",
    "mxv(g, x, semirings.plus_second)",
    "mxv(g, x, semirings.min_plus)",
    "mxv(g, x, semirings.max_plus)",
    "mxv(g, x, semirings.max_times)",
    "mxv(g, x, semirings.any_second)",
    "mxv(g, x, semirings.min_plus, mask=x > 0)",
    "mxv(g, np.ones(n, bool), semirings.any_pair)",
    "mxv(g, np.ones(n, bool), semirings.any_pair, mask=x > 0)",
    "vxm(x, g)",
    "vxm(x, g, semirings.min_plus)",
    "mxm(g, g)",
    "mxm(g, g, semirings.min_plus)",
    "mxm(g, g, semirings.plus_pair, mask=g)",
    "Graph(g).simple()",
    "Graph(g).symmetrized(semirings.max)",
    "Graph(g).subgraph(np.arange(n // 2))",
    "Graph(g).contract(np.arange(n) // 2)",
    "Graph(g).contract(np.arange(n) // 2, semirings.plus)",
    *(call for row in rows.rows() for call in row.calls),
]


def names() -> list[str]:
    """Return the names of calls whose code is shipped: public functions of graphs, and the calls in `MORE`.

    Functions that take long to compile come first.
    """
    functions = [name for name in gasla.__all__ if _takes_graph(getattr(gasla, name))]
    return [*FIRST, *(name for name in functions if name not in FIRST), *MORE]


def _takes_graph(function: Any) -> bool:
    """Return whether a function takes a graph, and `arguments` has values for all its other required parameters.

    Only such a function can be called on every graph without further knowledge.
    """
    if not inspect.isfunction(function) or "graph" not in inspect.signature(function).parameters:
        return False
    if function in (gasla.table, gasla.draw, gasla.loader) or "time" in inspect.signature(function).parameters:
        # The first three compile no code of their own, and need other packages. Functions of times need an edge
        # attribute, with which `MORE` calls them.
        return False
    return wanted(function) <= arguments(Graph.from_edges([0], [1])).keys()


def calls(name: str, graph: Graph, options: bool = True) -> Iterator[Callable[[], Any]]:
    """Yield functions without parameters, each of which makes one call on a graph whose code is to be compiled.

    `name` is a public function or a call in `MORE`. Without `options`, yield only the call with default arguments.
    """
    if name in MORE:
        xp: Any = module_of(graph.device)
        variables = {"semirings": semirings, "np": xp, "g": graph, "n": graph.n, "triangle": 1 - np.eye(3, dtype=int)}
        variables["timed"] = graph.with_edge_attributes(time=xp.arange(graph.m) * 7 % 101)
        variables["x"] = xp.ones(graph.n, np.float64 if graph.values is None else graph.values.dtype)
        yield lambda: eval(f"gasla.{name}", {"gasla": gasla, **variables})
        return
    function = getattr(gasla, name)
    for number, given in enumerate(_options(function, graph)):
        if options or number == 0:
            yield partial(function, graph, **given)
            if name in ON_ONE_THREAD:
                yield partial(_by_programs, function, graph, **given)


def _by_programs(function: Callable[..., Any], graph: Graph, **given: Any) -> Any:
    """Call a function so that it runs vertex programs, although on a small graph it would do without them.

    On larger graphs and on a GPU it runs them, too, so their code has to be compiled.
    """
    with engines.programs_only():
        return function(graph, **given)


def wanted(function: Callable[..., Any]) -> set[str]:
    """Return the names of a function's parameters without a default, except for the graph."""
    parameters = [*inspect.signature(function).parameters.values()]
    return {p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD} - {"graph"}


def _options(function: Callable[..., Any], graph: Graph) -> Iterator[dict[str, Any]]:
    """Yield keyword arguments for calls of a function on a graph: the required ones, then each option in turn.

    Together, the calls compile all code that the function may use.
    """
    values_by_name, hints = arguments(graph), typing.get_type_hints(function)
    parameters = [*inspect.signature(function).parameters.values()][1:]
    needed = {name: values_by_name[name] for name in wanted(function)}
    needed |= {
        name: values_by_name[name] for name in ("side",) if name in inspect.signature(function).parameters
    }  # `side`, the side of each vertex, is passed always, because these graphs don't say which sides they have
    if any(parameter.name == "max_iter" for parameter in parameters) and function.__name__ not in MUST_CONVERGE:
        needed["max_iter"] = 3  # three iterations suffice to compile all code
    yield needed
    few_sources = {parameter.name: [0, 1] for parameter in parameters if parameter.name == "sources"}
    for parameter in parameters:
        values: tuple[Any, ...] = ()
        # `check_bound` is left out, because it may be set only together with `bound`
        if type(parameter.default) is bool and parameter.name != "check_bound":
            values = (not parameter.default,)
        elif typing.get_origin(hints[parameter.name]) is Literal:
            # "a*", the A* search, is left out, because it also needs the argument `bound`
            values = tuple(v for v in typing.get_args(hints[parameter.name]) if v != "a*")
        elif parameter.name == "dtype":
            values = SCORE_TYPES
        elif parameter.default is None and parameter.name in values_by_name:
            values = (values_by_name[parameter.name],)
        for value in values:
            if value is not parameter.default:
                yield needed | ({} if parameter.name == "k" else few_sources) | {parameter.name: value}


def arguments(graph: Graph) -> dict[str, Any]:
    """Return values that suit a graph, by names of parameters of gasla's functions such as `source`."""
    xp: Any = module_of(graph.device)
    labels = xp.arange(graph.n, dtype=graph.id_dtype) % 5
    return {
        "source": 0,
        "target": min(5, graph.n - 1),
        "sources": [0, 1, 2, 3],
        "k": 4,
        "depth_limit": 2,
        "cutoff": 20.0,
        "pairs": (labels, labels[::-1].copy()),
        "labels": labels,
        "features": xp.ones((graph.n, 8), np.float32),
        "locations": xp.where((labels == 0)[:, None], xp.ones(2), xp.nan),
        "starts": labels,
        "ids": labels,
        "length": 4,
        "max_length": 4,
        "side": xp.arange(graph.n) < graph.n // 2,
        "distance": "weight",
        "personalization": xp.ones(graph.n),
    }


# --- the graphs on which functions are called -------------------------------------------------------------------------


class Kind(NamedTuple):
    """A kind of graph on which functions are called: its matrix, and the dtype of the edge values, or "" for none.

    `options` says whether calls with each option are made, and not only those with default arguments. Ids have 32 bits,
    as SciPy and `Graph.from_edges` choose them for all graphs but the largest.
    """

    matrix: Any
    values: str
    options: bool

    def graph(self) -> Graph:
        """Return a new graph of this kind. It is new at each call, because a graph caches what was derived from it."""
        matrix = self.matrix.copy()
        matrix.data = (10 * self.matrix.data + 1).astype(self.values or float)
        if matrix.format == "coo":
            matrix.coords = tuple(axis.astype(np.int32) for axis in matrix.coords)
        else:
            matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        result = Graph(matrix)
        return result if self.values else Graph.from_edges(*result.edges(), n=result.n)


@cache
def small() -> list[Kind]:
    """Return the small graphs on which functions are called, so that their code is compiled.

    All matrices occur with float64 values and with none, and options are tried on these. The first four also occur with
    float32 and int64 values.
    """
    small_graphs = [Kind(matrix, values, True) for values in ("f8", "") for matrix in _matrices()]
    return small_graphs + [Kind(matrix, values, False) for values in ("f4", "i8") for matrix in _matrices()[:4]]


def _matrices() -> list[Any]:
    """Return eight small sparse matrices that differ in structure and format, on whose graphs functions are called.

    They are: a symmetric graph, an acyclic graph, a graph with loops, one with parallel edges and several strong
    components, a matrix in CSC format, a directed path, an undirected path and a bipartite graph. Functions are called
    with more types of values on the first four.
    """
    draw = np.random.default_rng(0)
    plain = sp.random_array((40, 40), density=0.15, rng=draw, format="coo")
    loose = sp.coo_array((draw.random(200), (draw.integers(0, 29, 200), draw.integers(0, 29, 200))), (30, 30))
    loose = sp.block_diag((loose, loose.T), "coo")
    up = sp.coo_array(sp.triu(plain, 1))
    path = sp.coo_array((draw.random(49), (np.arange(49), np.arange(1, 50))), (50, 50))
    side = sp.random_array((15, 15), density=0.3, rng=draw)
    two_sides = sp.block_array([[None, side], [sp.coo_array((15, 15)), None]])
    return [up + up.T, up.tocsr(), plain.tocsr(), loose, plain.tocsc(), path, path + path.T, two_sides]


def kinds(values: str, is_slow: bool = False) -> list[Kind]:
    """Return all kinds of graphs on which a function is called, with one dtype of edge values, or "" for none.

    The function is called with default arguments only. With `is_slow`, the largest graphs are left out.
    """
    small_graphs = [Kind(matrix, values, False) for matrix in _matrices()]
    return small_graphs + [kind._replace(values=values) for kind in large(is_slow)]


@cache
def large(is_slow: bool = False) -> list[Kind]:
    """Return large graphs on which functions are called, so that code for several threads is compiled.

    They are a network of flights, and, unless `is_slow`, a matrix large enough for several threads. Each graph occurs
    as it is and made symmetric.
    """
    from gasla import datasets

    flights = datasets.openflights().matrix
    large_graphs = [Kind(each_matrix, "f8", False) for each_matrix in (flights, flights + flights.T)]
    if is_slow:
        return large_graphs
    draw = np.random.default_rng(0)
    n, m = 1 << 15, 1 << 18
    tails = draw.integers(0, n, m)
    heads = (tails + 1 + (draw.random(m) ** 9 * n).astype(np.int64)) % n
    matrix = sp.coo_array((draw.random(m), (tails, heads)), (n, n)).tocsr()
    return [*large_graphs, *(Kind(each_matrix, "f8", False) for each_matrix in (matrix, matrix + matrix.T))]
