"""Subgraph matching: where a graph contains a pattern of up to eight vertices, or how often.

The number of matches is computed first, by formulas or by a join that matches as few vertices as possible. Then matches
are found once each and written, in the order of the edges that they begin with (`matching`).
"""

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gasla.algorithms.patterns.matching import Matching
from gasla.algorithms.patterns.pattern import Pattern
from gasla.arrays import moved
from gasla.graph.arguments import check_flags, whole_number
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import available, require_memory
from gasla.graph.validate import as_array
from gasla.operations.primitives import simplify
from gasla.rows import Command, Row

Array = np.ndarray[Any, Any]  # of NumPy or CuPy


def subgraph_matches(
    graph: Any,
    pattern: Any,
    *,
    directed: bool = False,
    induced: bool = False,
    labels: Any = None,
    pattern_labels: Any = None,
    count: bool = False,
    per_vertex: bool = False,
    limit: int | None = None,
    block: int | None = None,
) -> int | Array | Iterator[Array]:
    """List the matches of a pattern in a graph, or count them.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`; as simple and directed if the pattern is directed.
        Values are ignored; stored zeros are edges.
    pattern : str, (vertices, vertices) matrix of SciPy, NumPy or nested lists, or Graph
        A connected graph of 1 to 8 vertices without self loops. As text, a name or edges: "edge", "path3", "path4",
        "triangle", "cycle4", "star3" (three leaves), "paw" (a triangle and an edge), "diamond", "clique4"; "0-1,1-2",
        or directed "0>1,1>2". The edges of a matrix are the nonzeros of a dense one, or the stored entries of a sparse
        one; it is symmetric unless `directed`.
    directed : bool, default False
        Whether a pattern given by a matrix or a name has directed edges: a "path" or "cycle" follows its edges, and a
        "star" has edges from its center. Text with ``>`` is always directed.
    induced : bool, default False
        Whether edges that are not in the pattern must not be in the graph. Otherwise a triangle contains a path of
        three vertices three times.
    labels : str or (n,) array, optional
        The label of each vertex, which those of the pattern are compared with: the name of a vertex attribute, or an
        array of strings or of whole numbers. By default vertices have no labels.
    pattern_labels : mapping or sequence, optional
        The labels that vertices of the pattern have: a label for each of some vertices, such as ``{0: "bank"}``; or a
        label or None for each vertex. Other vertices match any label.
    count : bool, default False
        Whether to return only the number of matches.
    per_vertex : bool, default False
        Whether to return for each vertex the number of matches that it is in. Matches are enumerated, not stored.
    limit : int, optional
        Raise an error, before listing, if there are more matches than this. By default memory is the limit.
    block : int, optional
        Return an iterator of arrays of at most so many matches, which are found as it goes on: for more matches than
        fit in memory, or to look at the first ones.

    Returns
    -------
    (matches, vertices) array of the type of ids; int; (n,) int64; or an iterator of arrays
        One row per match: the vertex of the graph for each vertex of the pattern, on the device of the graph. Of rows
        equal up to an automorphism that keeps labels, the smallest. Rows have no particular order, but are
        deterministic. With `count` the exact number of rows; with `per_vertex` the number of those that have a vertex.

    Raises
    ------
    TypeError, ValueError
        If the pattern is not a valid matrix, labels do not fit the graph or the pattern, two kinds of answer are asked
        for, or there are more matches than `limit`.
    MemoryError
        If the matches need more memory than is available; the message has their number.

    See Also
    --------
    gasla.count_cliques : counts cliques of any size.

    Notes
    -----
    The number equals that of `networkx.algorithms.isomorphism.GraphMatcher` (`subgraph_isomorphisms_iter` if `induced`,
    else `subgraph_monomorphisms_iter`) divided by the number of the pattern's automorphisms; of `DiGraphMatcher` if the
    pattern is directed.

    Undirected patterns of up to four vertices, directed ones of three, directed trees of four and cliques are counted
    without enumeration, in no more time than counting triangles and paths of two edges between two vertices. Of other
    patterns that are not `induced`, only some vertices are matched, whose neighbors are then counted: of two triangles
    with an edge in common, that edge.

    In host memory patterns of more than four vertices are enumerated by a join that is compiled for the pattern, which
    takes up to a second when a pattern is first used. Each thread needs two bytes per vertex of the graph (four if the
    pattern is directed), up to four more for each vertex of the pattern, and room for the longest neighbor list once
    for each. On a GPU blocks of matches are extended by one vertex at a time.

    References
    ----------
    J. A. Grochow, M. Kellis: Network Motif Discovery Using Subgraph Enumeration and Symmetry-Breaking. RECOMB 2007.

    A. Pinar, C. Seshadhri, V. Vishal: ESCAPE: Efficiently Counting All 5-Vertex Subgraphs. WWW 2017.

    T. Shi, M. Zhai, Y. Xu, J. Zhai: GraphPi: High Performance Graph Pattern Matching through Effective Redundancy
    Elimination. SC 2020.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> gasla.subgraph_matches(graph, path, induced=True)
    array([[0, 2, 3],
           [1, 2, 3]], dtype=int32)
    >>> gasla.subgraph_matches(graph, "path3", count=True)
    5
    >>> gasla.subgraph_matches(graph, "0>1,1>2,2>0")
    array([[0, 1, 2]], dtype=int32)
    >>> people = np.array(["Ann", "Bob", "Ann", "Eve"])
    >>> gasla.subgraph_matches(graph, "path3", labels=people, pattern_labels={0: "Eve", 2: "Bob"})
    array([[3, 2, 1]], dtype=int32)
    """
    check_flags(directed=directed, induced=induced, count=count, per_vertex=per_vertex)
    if count + per_vertex + (block is not None) > 1:
        raise ValueError("two of count, per_vertex and block are given; expected one, or none for an array of matches")
    graph, wanted = whole_graph(graph), Pattern.of(pattern, directed)
    codes = None if labels is None and pattern_labels is None else _label(graph, wanted, labels, pattern_labels)
    size = None if block is None else whole_number("block", block)
    if size == 0:
        raise ValueError("block is 0; expected 1 or more")
    most = None if limit is None else whole_number("limit", limit)
    simple = graph.simple() if wanted.directed else simplify(graph)
    matching = Matching(simple, wanted, induced, codes)
    if per_vertex:
        return matching.per_vertex()
    if size is not None:
        return matching.stream(size)
    number = matching.count()
    if count:
        return number
    if most is not None and number > most:
        raise ValueError(
            f"there are {number:,} matches, and limit is {most:,}; expected no more: raise limit, or pass count=True"
        )
    each = wanted.size * graph.id_dtype.itemsize
    require_memory(
        "the list has", number, each, available(graph.device), "pass count=True, or take a part of the graph"
    )
    return matching.listed(number)


def _label(graph: Graph, pattern: Pattern, labels: Any, wanted: Any) -> Array:
    """Number the labels of a pattern, give it the numbers, and return those of the graph's vertices; -1 for others."""
    column = None if labels is None else _column(graph, labels)
    if column is None or wanted is None:
        given, missing = ("pattern_labels", "labels") if labels is None else ("labels", "pattern_labels")
        raise ValueError(
            f"{given} is {reprlib.repr(wanted if labels is None else labels)}, and {missing} is None; expected both: "
            "the labels of the graph and those of the pattern"
        )
    of_vertex = _of_vertices(pattern.size, wanted)
    known = list(dict.fromkeys(of_vertex.values()))
    codes = np.full(graph.n, -1, np.int8)
    for number, label in enumerate(known):
        if column.dtype.kind != "O" and isinstance(label, str) != (column.dtype.kind in "UT"):
            raise TypeError(f"pattern_labels has {label!r}, and labels are {column.dtype}; expected labels of one kind")
        codes[column == label] = number
    pattern.labels = tuple(known.index(of_vertex[v]) if v in of_vertex else -1 for v in range(pattern.size))
    pattern.frequencies = tuple(int((codes == number).sum()) for number in range(len(known)))
    found: Array = moved(codes, graph.device)
    return found


def _column(graph: Graph, labels: Any) -> Array:
    """The label of each vertex of a graph, in host memory."""
    if isinstance(labels, str):
        graph.vertex_attributes.require(labels, "labels")
        labels = graph.vertex_attributes[labels]
    column: Array = moved(as_array("labels", labels), "cpu")
    if column.shape != (graph.n,) or column.dtype.kind not in "iubUSOT":
        found = reprlib.repr(labels) if column.ndim == 0 else f"{column.dtype}{column.shape}"
        raise TypeError(
            f"labels is {found}; expected the name of a vertex attribute, or a string or a whole number for each "
            f"of the {graph.n} vertices"
        )
    return column


def _of_vertices(size: int, wanted: Any) -> dict[int, Any]:
    """The labels of a pattern's vertices, by vertex."""
    if isinstance(wanted, Mapping):
        given = dict(wanted)
    elif isinstance(wanted, Sequence) and not isinstance(wanted, str) and len(wanted) == size:
        given = {v: label for v, label in enumerate(wanted) if label is not None}
    else:
        raise TypeError(
            f"pattern_labels is {reprlib.repr(wanted)}; expected a mapping of vertices 0 to {size - 1} of the pattern "
            "to labels, or a label or None for each"
        )
    for v, label in given.items():
        if not isinstance(v, int | np.integer) or not 0 <= v < size:
            raise ValueError(f"pattern_labels has vertex {v!r}; expected vertices 0 to {size - 1} of the pattern")
        if not isinstance(label, str | bytes | int | np.integer | np.bool_):
            raise TypeError(f"pattern_labels has {reprlib.repr(label)}; expected strings or whole numbers")
    return {int(v): label for v, label in given.items()}


def _matches(f: Any) -> str:
    """Return the heading of both commands."""
    count = f["matches"] if isinstance(f["matches"], int) else len(f["matches"])
    kind = "induced matches" if f.arguments["induced"] else "matches"
    pattern = Pattern.of(f.arguments["pattern"], f.arguments["directed"])
    return f"{count:,} {kind} of a {'directed ' * pattern.directed}pattern of {pattern.size} vertices"


FIXED = dict.fromkeys(("labels", "pattern_labels", "block"), None) | {"per_vertex": False}
ROW = Row(
    subgraph_matches,
    Command(
        *("subgraph-matches", {"matches": "matches"}, _matches, lambda f: f.named(f["matches"]), "ids"),
        fixed={"count": False, **FIXED},
    ),
    Command(
        *("count-matches", {}, _matches),
        fixed={"count": True, "limit": None, **FIXED},
        unpack=lambda _, count: {"matches": count},
    ),
    "subgraph_matches(g, triangle, count=True)",
    "subgraph_matches(g, triangle)",
    "subgraph_matches(g, '0>1,1>2,2>3,3>0')",
    "subgraph_matches(g, '0>1,1>2,2>3', count=True)",
)
