"""Simple cycles of bounded length, which visit no vertex twice.

Vertices are renumbered by degree. A search from each vertex only passes vertices of lower degree, so that each cycle is
found at its vertex of highest degree, and the many paths that close there are looked up together. A directed cycle lies
within a strong component, so other edges are dropped before. On a GPU, the cycles of each length are matches of a
pattern.
"""

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np

from gasla.algorithms.components.strongly_connected_components import strongly_connected_components
from gasla.algorithms.paths import cycle_patterns
from gasla.algorithms.paths.simple_paths import lists, vertices_of
from gasla.arrays import array_module, running_sums
from gasla.graph.arguments import check_flags, in_host_memory, is_one_vertex, whole_number
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.primitives import count_paths, list_paths, simplify
from gasla.operations.vertex_lists import VertexLists
from gasla.rows import Command, Row

Array = np.ndarray[Any, Any]


def simple_cycles(
    graph: Any,
    max_length: int,
    *,
    min_length: int = 1,
    directed: bool = True,
    through: Hashable | tuple[Hashable, Hashable] = None,
    count: bool = False,
    limit: int | None = None,
) -> VertexLists | int:
    """List the cycles that visit no vertex twice, up to a length, or count them.

    Parameters
    ----------
    graph : Graph or SciPy or CuPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Values are ignored; stored zeros are edges.
    max_length, min_length : int
        The largest and the smallest number of edges of a cycle; on a GPU at most 8. A self loop is a cycle of length 1,
        and two edges i -> j and j -> i are a directed cycle of length 2.
    directed : bool, default True
        Whether cycles follow the direction of edges. Otherwise i -> j and j -> i are one edge, and a cycle other than a
        self loop has three edges or more.
    through : vertex, or pair of vertices, optional
        Only cycles through this vertex, or this edge.
    count : bool, default False
        Whether to return only the number of cycles.
    limit : int, optional
        List this many cycles at most; which ones is the same in every run. By default memory is the limit.

    Returns
    -------
    VertexLists, or int
        The vertices of each cycle once, from its smallest one; of an undirected cycle in the direction in which the
        second is smaller than the last. Cycles have no particular order, but are deterministic. With `count` the exact
        number, of any size.

    Raises
    ------
    TypeError, ValueError
        If a length is not a whole number, or `through` is not a vertex or an edge; if the graph is on a GPU, and
        longer cycles are asked for than it finds, or streamed to one.
    MemoryError
        If the cycles need more memory than is available; they are counted first.

    See Also
    --------
    gasla.find_cycle : some cycle of any length.
    gasla.subgraph_matches : other patterns.

    Notes
    -----
    Parallel edges are one edge: a cycle is given by its vertices.

    The work is that of the paths that could close, without their last two edges in counting and without the last one
    in listing. A thread of a CPU takes 20 bytes per vertex at most (40 with ids of 64 bits); besides, there is a copy
    of the graph. A block of threads of a GPU takes 4 bytes per vertex.

    References
    ----------
    A. Gupta, T. Suzumura: Finding All Bounded-Length Simple Cycles in a Directed Graph. arXiv:2105.10094 (2021).

    Examples
    --------
    >>> import gasla
    >>> transfers = gasla.Graph.from_edges([0, 1, 2, 1, 3, 2], [1, 2, 0, 3, 0, 1])
    >>> gasla.simple_cycles(transfers, 3).tolist()
    [[0, 1, 3], [0, 1, 2], [1, 2]]
    >>> gasla.simple_cycles(transfers, 4, min_length=3, count=True)
    2
    >>> gasla.simple_cycles(transfers, 3, through=(3, 0)).tolist()
    [[0, 1, 3]]
    """
    graph = whole_graph(graph)
    if graph.engine != "gpu" or graph.is_streamed:
        graph = in_host_memory("simple_cycles", graph)
    check_flags(directed=directed, count=count)
    min_edges, max_edges = max(whole_number("min_length", min_length), 1), whole_number("max_length", max_length)
    rows = None if limit is None else whole_number("limit", limit)
    through_ends = None if through is None else _ends(graph, through)
    simple = graph.simple() if directed else simplify(graph)
    if (
        through_ends is not None
        and through_ends[0] != through_ends[1]
        and not (
            simple.out.indices[slice(*simple.out.indptr[through_ends[0] : through_ends[0] + 2].tolist())]
            == through_ends[1]
        ).any()
    ):
        raise ValueError(f"through is {through!r}, and there is no such edge; expected the ends of an edge")
    loops = _vertices_with_loops(graph, through_ends) if min_edges <= 1 <= max_edges else _no_loops(graph)
    # the search finds an undirected cycle once in each direction
    min_edges, times_found = max(min_edges, 2 if directed else 3), 1 if directed else 2
    if graph.engine == "gpu":
        return _find_cycles_on_gpu(graph, simple, loops, (min_edges, max_edges), directed, through_ends, count, rows)
    if through_ends is None:
        simple, original_ids = _edges_on_cycles(simple, directed)
        sources = targets = np.arange(simple.n)[::-1]
    else:
        original_ids, (targets, sources) = (
            np.arange(graph.n, dtype=graph.id_dtype),
            (np.array([end]) for end in through_ends),
        )
        if (
            through_ends[0] != through_ends[1]
        ):  # paths from the edge's end to its start are searched, and the edge makes each a cycle
            min_edges, max_edges, times_found = min_edges - 1, max_edges - 1, 1
    if count:
        return (
            len(loops)
            + count_paths(simple, sources, targets, min_edges, max_edges, bounded=through_ends is None) // times_found
        )
    remaining = None if rows is None else max(rows - len(loops), 0)
    one_way = times_found == 2
    cycles = list_paths(
        simple, sources, targets, min_edges, max_edges, bounded=through_ends is None, one_way=one_way, limit=remaining
    )
    vertices = _rotate_to_smallest(cycles.indptr, original_ids[cycles.vertices], not directed)
    loops = loops[:rows]
    indptr = np.concatenate([np.arange(len(loops)), len(loops) + cycles.indptr])
    return VertexLists(indptr, np.concatenate([loops, vertices]).astype(graph.id_dtype, copy=False))


def _ends(graph: Graph, through: Any) -> tuple[int, int]:
    """Return the two ends of the edge that all cycles must pass. If they must pass a vertex, return it twice.

    `through` is the user's argument.
    """
    if is_one_vertex(graph, through):
        v = translate_vertex(graph, through, "through")
        return v, v
    if len(through_ends := [*through]) != 2:
        raise ValueError(f"through has {len(through_ends)} vertices; expected a vertex, or the two ends of an edge")
    u, v = (translate_vertex(graph, end, "through") for end in through_ends)
    if u == v:
        raise ValueError(f"through is {through!r}, a vertex twice; expected a vertex, or the ends of an edge")
    return u, v


def _vertices_with_loops(graph: Graph, through_ends: tuple[int, int] | None) -> Array:
    """Return the vertices with a self loop. If `through_ends` is a vertex, return only this vertex, if it has a self
    loop.
    """
    if not graph.has_self_loops:
        return _no_loops(graph)
    src, dst = graph.edges()
    loops = array_module(src).unique(src[src == dst])
    return loops if through_ends is None else loops[(loops == through_ends[0]) & (loops == through_ends[1])]


def _no_loops(graph: Graph) -> Array:
    return array_module(graph.out.indices).empty(0, graph.id_dtype)


def _drop_edges_between_components(simple: Graph) -> Graph:
    """Return the graph without edges between different strong components, since no directed cycle passes these."""
    labels, (src, dst) = strongly_connected_components(simple).labels, simple.edges()
    return simple.select(labels[src] == labels[dst])


def _find_cycles_on_gpu(
    graph: Graph,
    simple: Graph,
    loops: Array,
    lengths: tuple[int, int],
    directed: bool,
    through_ends: cycle_patterns.Ends,
    count: bool,
    limit: int | None,
) -> VertexLists | int:
    """Count or list cycles by matching a pattern for each length, from the shortest on. Self loops come first.

    Parameters
    ----------
    graph, simple :
        the graph, whose type of ids the result has; the graph without loops and parallel edges
    loops, limit :
        ids of vertices with a loop; number of cycles to list at most, or None
    lengths :
        fewest and most edges of a cycle
    directed, through_ends :
        whether cycles follow directions; the vertex or edge that cycles pass through, or None
    count :
        whether cycles are counted, not listed
    """
    simple = _drop_edges_between_components(simple) if directed and through_ends is None else simple
    matchings = cycle_patterns.matchings(simple, *lengths, directed, through_ends)
    if count:
        return len(loops) + sum(matching.count() for matching in matchings)
    blocks = [loops[:limit, None]]
    for matching in matchings:
        remaining = None if limit is None else limit - sum(map(len, blocks))
        blocks.append(cycle_patterns.listed(matching, remaining, directed))
    sizes = np.repeat([rows.shape[1] for rows in blocks], [len(rows) for rows in blocks])
    xp = array_module(loops)
    indptr, vertices = xp.asarray(running_sums(sizes)), xp.concatenate([rows.ravel() for rows in blocks])
    return VertexLists(indptr, vertices.astype(graph.id_dtype, copy=False))


def _edges_on_cycles(simple: Graph, directed: bool) -> tuple[Graph, Array]:
    """Return the graph of the edges that may be on a cycle, and the original id of each of its vertices.

    Its vertices are renumbered by ascending degree, without those that have no edge.
    """
    simple = _drop_edges_between_components(simple) if directed else simple
    degrees = simple.out_degrees.astype(np.int64) + simple.in_degrees
    order = np.argsort(degrees, kind="stable")
    order = order[np.searchsorted(degrees[order], 1) :].astype(simple.id_dtype)
    lists = simple.subgraph(order).sorted_out
    return Graph.from_csr(lists.indptr, lists.indices), order


def _rotate_to_smallest(indptr: Array, vertices: Array, both_ways: bool) -> Array:
    """Rotate cycles so that each begins with its smallest vertex.

    Cycle i is vertices[indptr[i]:indptr[i + 1]]. If `both_ways`, cycles have no direction, and are reversed where
    needed so that the smaller neighbor comes second.
    """
    if not len(vertices):
        return vertices
    starts, lengths = indptr[:-1], np.diff(indptr)
    cycle_index = np.repeat(np.arange(len(lengths)), lengths)
    smallest = np.flatnonzero(vertices == np.minimum.reduceat(vertices, starts)[cycle_index]) - starts
    step = np.ones(len(lengths), np.int64)
    if both_ways:
        next_vertex, previous_vertex = (vertices[starts + (smallest + by) % lengths] for by in (1, -1))
        step[next_vertex > previous_vertex] = -1
    position_in_cycle = np.arange(len(vertices)) - starts[cycle_index]
    return vertices[
        starts[cycle_index] + (smallest[cycle_index] + step[cycle_index] * position_in_cycle) % lengths[cycle_index]
    ]


ROW = Row(
    simple_cycles,
    Command(
        *("simple-cycles", {"vertices": "on_cycles"}),
        lambda f: f"{len(f['lists']):,} cycles{', among them:' * (len(f['lists']) > f.top)}",
        *(lists, "ids"),
        defaults={"max_length": 4},
        fixed={"count": False, "through": None},
        unpack=partial(vertices_of, "cycles"),
    ),
    Command(
        *("count-cycles", {}, lambda f: f"{f['count']:,} cycles of up to {f.arguments['max_length']} edges"),
        defaults={"max_length": 4},
        fixed={"count": True, "limit": None, "through": None},
        unpack=lambda _, count: {"count": count},
    ),
    method="bounded backtracking with locks (Gupta, Suzumura, arXiv:2105.10094, 2021)",
    longer="All paths of up to four edges in the part are followed, and there are far more of them than edges.",
)
