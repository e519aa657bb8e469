"""Subgraph matching finds where a graph contains a pattern of up to eight vertices, or how often.

The number of matches is computed first, by formulas or by a join that matches as few vertices as possible. Then each
match is found once and written, in the order of the edges that matches begin with (`matching`).
"""

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gasla.algorithms.patterns.edge_conditions import (
    check_label,
    conditions_between,
    has_label,
    label_column,
    relations_of,
)
from gasla.algorithms.patterns.edge_matching import EdgeMatching
from gasla.algorithms.patterns.matching import Matching
from gasla.algorithms.patterns.pattern import Pattern
from gasla.arrays import moved
from gasla.graph.arguments import check_flags, in_host_memory, whole_number
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import available, require_memory
from gasla.operations.explain import Lines
from gasla.operations.operands import check_semiring
from gasla.operations.primitives import simplify
from gasla.rows import Command, Row, Task
from semirings import Semiring

Array = np.ndarray[Any, Any]  # a NumPy or CuPy array


def subgraph_matches(
    graph: Any,
    pattern: Any,
    *,
    directed: bool = False,
    induced: bool = False,
    labels: Any = None,
    pattern_labels: Any = None,
    edge_labels: Any = None,
    pattern_edge_labels: Any = None,
    where: Any = None,
    edges: bool = False,
    between: Any = None,
    semiring: Semiring | None = None,
    count: bool = False,
    per_vertex: bool = False,
    per_edge: bool = False,
    limit: int | None = None,
    block: int | None = None,
    explain: bool = False,
) -> int | str | Array | np.generic | Iterator[Array]:
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
    edge_labels : str or (m,) array, optional
        The label of each edge, as `labels` has those of vertices: the name of an edge attribute, or an array.
    pattern_edge_labels : mapping, optional
        The labels that edges of the pattern have, such as ``{(0, 1): "wire"}`` or ``{"0>1": "wire"}``. Other edges
        match any label. Of parallel edges, and of those in both directions if the pattern is undirected, one with the
        label suffices.
    where : mapping, optional
        Conditions on edges of the pattern, such as ``{"0>1": lambda edge: edge.amount > 1000}``: functions as those of
        vertex programs, of an edge with the graph's edge attributes by name, its `weight`, if the graph has values, and
        its `id`. Dates are integers, in their unit. Of parallel edges, one that has the label and fulfills the
        condition suffices.
    edges : bool, default False
        Whether matches are of edges, so that parallel edges make different matches: a match has an edge of the graph
        for each edge of the pattern. If the pattern is undirected and the graph symmetric, an edge is stored twice, and
        is the one from its smaller end; else each stored edge is one, whose direction is ignored. In host memory.
    between : mapping, optional
        With `edges`, conditions on two edges of the pattern each, such as
        ``{("0>1", "1>2"): lambda earlier, later: later.time - earlier.time < 86400}``.
    semiring : semirings.Semiring, optional
        With `edges`, return the sum over all matches of the product of their edges' values, in the semiring's terms:
        ``min_plus`` finds the lightest match.
    count : bool, default False
        Whether to return only the number of matches.
    per_vertex : bool, default False
        Whether to return for each vertex the number of matches that it is in. Matches are enumerated, not stored.
    per_edge : bool, default False
        With `edges`, whether to return that number for each edge.
    limit : int, optional
        Raise an error, before listing, if there are more matches than this. By default memory is the limit.
    block : int, optional
        Return an iterator of arrays of at most so many matches, which are found as it goes on: for more matches than
        fit in memory, or to look at the first ones.
    explain : bool, default False
        Whether to return a text instead: in which order vertices are matched, and an estimate of the number of matches
        and of the work. Not for matches of edges.

    Returns
    -------
    (matches, vertices) array of the type of ids; int; (n,) or (m,) int64; an iterator of arrays; a number; or str
        One row per match: the vertex of the graph for each vertex of the pattern, on the device of the graph. Of rows
        equal up to an automorphism that keeps labels and conditions, the smallest. Rows have no particular order, but
        are deterministic. With `edges` rows are int64, and have the id of the graph's edge for each edge of the
        pattern, by ascending ends: 0>1, 0>2, 1>2. With `count` the exact number of rows; with `per_vertex` or
        `per_edge` the number of those that have a vertex or an edge; with `semiring` a number of the type of its
        expression, and the monoid's identity if there are no matches.

    Raises
    ------
    TypeError, ValueError
        If the pattern is not a valid matrix, labels or conditions do not fit the graph or the pattern, two kinds of
        answer are asked for, or there are more matches than `limit`.
    MemoryError
        If the matches need more memory than is available; the message has their number.

    Warns
    -----
    UserWarning
        If more than some 10^11 partial matches are to be visited, as 1,024 samples tell.

    See Also
    --------
    gasla.count_cliques : counts cliques of any size.

    Notes
    -----
    The number equals that of `networkx.algorithms.isomorphism.GraphMatcher` (`subgraph_isomorphisms_iter` if `induced`,
    else `subgraph_monomorphisms_iter`) divided by the number of the pattern's automorphisms; of `DiGraphMatcher` if the
    pattern is directed.

    Undirected patterns of up to four vertices, directed ones of three, directed trees of four and cliques are counted
    without enumeration, in no more time than counting triangles and paths of two edges between two vertices; a cycle of
    five by the edges at the ends of such paths. Labels and conditions need enumeration. Of other
    patterns that are not `induced`, only some vertices are matched, whose neighbors are then counted: of two triangles
    with an edge in common, that edge.

    Other patterns are enumerated: those of up to four vertices in graphs of up to 32,768 edges by operations on whole
    arrays, all others by a join that is compiled for the pattern, which takes about a second when a pattern is first
    used. Each thread of a CPU needs two to eight bytes per vertex of the graph, up to four more for each vertex of the
    pattern, and room for the longest neighbor list once for each. The edges of each label and condition are copied to
    neighbor lists of their own. On a GPU warps extend matches, and a block of threads needs up to a bit per vertex for
    each kind of edges, and for many patterns 4 bytes; with less memory there are fewer blocks. Conditions are tested in
    host memory.

    References
    ----------
    D. E. Knuth: Estimating the Efficiency of Backtrack Programs. Mathematics of Computation 29 (1975).

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
    >>> transfers = graph.with_edge_attributes(amount=[500, 2000, 100, 3000])
    >>> gasla.subgraph_matches(transfers, "0>1,1>2", where={"1>2": lambda edge: edge.amount > 1000})
    array([[0, 1, 2],
           [1, 2, 3]], dtype=int32)
    >>> later = {("0>1", "1>2"): lambda earlier, later: earlier.amount < later.amount}
    >>> gasla.subgraph_matches(transfers, "0>1,1>2", edges=True, between=later)  # the ids of 0>1, 1>2 and of 1>2, 2>3
    array([[0, 1],
           [1, 3],
           [2, 0]])
    """
    flags = {"count": count, "per_vertex": per_vertex, "per_edge": per_edge, "explain": explain}
    check_flags(directed=directed, induced=induced, edges=edges, **flags)
    if sum(flags.values()) + (block is not None) + (semiring is not None) > 1:
        raise ValueError(
            "two of count, per_vertex, per_edge, semiring, block and explain are given; expected one, or none for an "
            "array of matches"
        )
    graph, searched_pattern = whole_graph(graph), Pattern.of(pattern, directed)
    if not edges:
        _refuse_without_edges(between=between, semiring=semiring, per_edge=per_edge or None)
    codes = (
        None
        if labels is None and pattern_labels is None
        else _number_labels(graph, searched_pattern, labels, pattern_labels)
    )
    size = None if block is None else whole_number("block", block)
    if size == 0:
        raise ValueError("block is 0; expected 1 or more")
    most = None if limit is None else whole_number("limit", limit)
    simple = graph.simple() if searched_pattern.directed else simplify(graph)
    searched_pattern.relations, masks = relations_of(graph, searched_pattern, edge_labels, pattern_edge_labels, where)
    if edges:
        if explain:
            raise ValueError("explain and edges are True; expected edges=False, as matches of edges are not explained")
        graph = _require_edges(graph, searched_pattern, semiring)
        matches = EdgeMatching(
            graph, searched_pattern, induced, codes, masks, conditions_between(graph, searched_pattern, between)
        )
        if count:
            return matches.count()
        if semiring is not None:
            return matches.reduced(semiring)
        if per_vertex or per_edge:
            return matches.per_vertex() if per_vertex else matches.per_edge()
        return matches.listed(most) if size is None else matches.stream(size)
    selected_graphs = (graph.select(moved(mask, graph.device)) for mask in masks)
    related = [selected.simple() if searched_pattern.directed else simplify(selected) for selected in selected_graphs]
    searched_pattern.sizes = tuple(selected.m for selected in related)
    matching = Matching(simple, searched_pattern, induced, codes, related)
    if explain:
        return Lines(matching.explained())
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
    selected = searched_pattern.size * graph.id_dtype.itemsize
    require_memory(
        "the list has", number, selected, available(graph.device), "pass count=True, or take a part of the graph"
    )
    return matching.listed(number)


def _refuse_without_edges(**given: Any) -> None:
    """Raise ValueError unless all arguments are None. They only have a meaning with edges=True, which is not set."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name} is {reprlib.repr(value)}, and edges is False; expected edges=True, as parallel edges have to "
                "be told apart"
            )


def _require_edges(graph: Graph, pattern: Pattern, semiring: Semiring | None) -> Graph:
    """Return the graph in host memory, for a search with edges=True, whose matches consist of edges.

    Raise an error with the reason if the pattern, the semiring or the graph's values do not allow such a search.
    """
    graph = in_host_memory("subgraph_matches with edges=True", graph)
    if pattern.size == 1:
        raise ValueError("edges is True, and the pattern has no edges; expected one with edges, or edges=False")
    if semiring is not None:
        check_semiring("semiring", semiring)
        if semiring.positional:
            raise ValueError(f"semiring is {semiring.name}, which multiplies by indices; expected one of values alone")
        if graph.value_type is None:
            raise ValueError(
                "semiring is given, and the graph has no values; expected some: graph.weighted_by(attribute)"
            )
    return graph


def _number_labels(graph: Graph, pattern: Pattern, labels: Any, wanted: Any) -> Array:
    """Number the distinct labels of a pattern, and return for each vertex of the graph the number of its label.

    Vertices whose label is not in the pattern get -1. The numbers of the pattern's own labels, and how often the graph
    has each, are stored in `pattern`.
    """
    column = None if labels is None else label_column(labels, graph.vertex_attributes, graph.n, "vertex")
    if column is None or wanted is None:
        passed, missing = ("pattern_labels", "labels") if labels is None else ("labels", "pattern_labels")
        raise ValueError(
            f"{passed} is {reprlib.repr(wanted if labels is None else labels)}, and {missing} is None; expected both: "
            "the labels of the graph and those of the pattern"
        )
    of_vertex = _labels_by_vertex(pattern.size, wanted)
    known_labels = list(dict.fromkeys(of_vertex.values()))
    codes = np.full(graph.n, -1, np.int8)
    for label_number, label in enumerate(known_labels):
        codes[has_label("pattern_labels", column, label)] = label_number
    pattern.labels = tuple(known_labels.index(of_vertex[v]) if v in of_vertex else -1 for v in range(pattern.size))
    pattern.frequencies = tuple(int((codes == label_number).sum()) for label_number in range(len(known_labels)))
    numbers: Array = moved(codes, graph.device)
    return numbers


def _labels_by_vertex(size: int, wanted: Any) -> dict[int, Any]:
    """Return the labels of a pattern's vertices as a dictionary, after checking the argument `pattern_labels`."""
    if isinstance(wanted, Mapping):
        by_vertex = dict(wanted)
    elif isinstance(wanted, Sequence) and not isinstance(wanted, str) and len(wanted) == size:
        by_vertex = {v: label for v, label in enumerate(wanted) if label is not None}
    else:
        raise TypeError(
            f"pattern_labels is {reprlib.repr(wanted)}; expected a mapping of vertices 0 to {size - 1} of the pattern "
            "to labels, or a label or None for each"
        )
    for v, label in by_vertex.items():
        if not isinstance(v, int | np.integer) or not 0 <= v < size:
            raise ValueError(f"pattern_labels has vertex {v!r}; expected vertices 0 to {size - 1} of the pattern")
        check_label("pattern_labels", label)
    return {int(v): label for v, label in by_vertex.items()}


def _heading(result_view: Any) -> str:
    """Return the heading that both commands, `subgraph-matches` and `count-matches`, print."""
    count = result_view["matches"] if isinstance(result_view["matches"], int) else len(result_view["matches"])
    noun = "induced matches" if result_view.arguments["induced"] else "matches"
    pattern = Pattern.of(result_view.arguments["pattern"], result_view.arguments["directed"])
    return f"{count:,} {noun} of a {'directed ' * pattern.directed}pattern of {pattern.size} vertices"


FIXED = dict.fromkeys(
    ("labels", "pattern_labels", "edge_labels", "pattern_edge_labels", "where", "between", "semiring", "block"), None
) | dict.fromkeys(("per_vertex", "per_edge", "edges", "explain"), False)
ROW = Row(
    subgraph_matches,
    Command(
        *("subgraph-matches", {"matches": "matches"}, _heading, lambda f: f.named(f["matches"]), "ids"),
        fixed={"count": False, **FIXED},
    ),
    Command(
        *("count-matches", {}, _heading),
        fixed={"count": True, "limit": None, **FIXED},
        unpack=lambda _, count: {"matches": count},
    ),
    "subgraph_matches(g, triangle, count=True)",
    "subgraph_matches(g, triangle)",
    "subgraph_matches(g, '0>1,1>2,2>3,3>0')",
    "subgraph_matches(g, '0>1,1>2,2>3', count=True)",
    Task(options={"pattern": "cycle4", "count": True}),
    method="plans without symmetry, ends counted: GraphPi (SC 2020); G2Miner (Chen, Arvind, OSDI 2022)",
    longer="Cycles of four are counted through all paths of two edges, of which there are far more than edges.",
)
