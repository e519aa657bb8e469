"""Minimum spanning forest: the edges of least total weight that connect every component.

This is Borůvka's algorithm. Every tree, at first each vertex, selects the lightest edge that leaves it. Trees joined by
selected edges become one, and this repeats until no edge leaves any tree. Two trees may select the same edge. No other
cycle can arise, since edges are totally ordered: by weight, then by the smaller end, then by the larger end.

A vertex keeps the lightest edge that it has found as long as the edge leaves its tree. Fewer and fewer edges do, so the
edge remains the lightest. So only vertices whose edge has become internal search again, and vertices that find no edge
are done.

Both engines have a kernel for the same rounds (`primitives.lightest_forest`), which reads light edges first. That of a
GPU takes weights of up to 32 bits.
"""

from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import module_of
from gasla.graph.arguments import check_weights
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import check_total, sum_type, takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.operations.phases import Phase
from gasla.operations.primitives import fits_lightest_forest, lightest_forest
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, aggregate, edge, option, vertex
from gasla.rows import Command, Row, Task

NO_EDGE = 2**63 - 1  # value of `choice` for a tree that has selected no edge, instead of the pair of ends
END_BITS = 32  # number of low bits that hold the larger end of an edge in a packed pair of ends


class ForestResult(NamedTuple):
    """The ids of the edges of a spanning forest, and their total weight."""

    edges: np.ndarray[Any, Any]  # on a GPU a CuPy array, and `total` is one with 0 dimensions
    total: Any


class Lightest(VertexProgram):
    """weight(v), other(v), number(v) = weight, other end and id of the lightest edge from v to another tree.

    Trees are those of the forest found so far.
    """

    kind = option(np.float64)  # dtype of the weights
    root = vertex(ID, init=lambda vertex: vertex.id, missing=-1)  # root of the tree of v
    weight = vertex(kind)
    other = vertex(ID, init=lambda vertex: vertex.id, missing=-1)
    number = vertex(np.int64, missing=-1)
    is_left = vertex(np.bool_, init=True)  # whether an edge of the vertex may still lead to another tree
    length = edge(kind)
    reduce = semirings.argmin
    direction = option("all")  # "out" if the matrix holds both directions of every edge
    everyone = True

    def mask(self, vertex):
        return vertex.is_left & (self.at(vertex.other).root == vertex.root)

    def edge_mask(self, src, dst, edge):
        return src.root != dst.root

    def gather(self, src, dst, edge):
        return edge.length, src.id, edge.id

    def apply(self, vertex, gathered):
        weight, other, number = gathered
        return {"weight": weight, "other": other, "number": number, "is_left": other < self.n}


class Choose(VertexProgram):
    """choice(tree) = the two ends of the lightest edge that leaves the tree, packed in one integer.

    First, the aggregate `lightest` reduces the weights to the smallest in each tree. Then the vertices with an edge of
    this weight propose its ends, and the smallest pair is chosen.
    """

    kind = option(np.float64)  # dtype of the weights
    root = vertex(ID, missing=-1)
    weight = vertex(kind)
    other = vertex(ID, missing=-1)
    is_left = vertex(np.bool_)
    ends = vertex(np.int64, init=NO_EDGE)
    everyone = True

    def mask(self, vertex):
        return vertex.is_left

    def apply(self, vertex, gathered):
        first_end, second_end = semirings.cast(vertex.id, np.int64), semirings.cast(vertex.other, np.int64)
        ends = semirings.minimum(first_end, second_end) << END_BITS | semirings.maximum(first_end, second_end)
        is_lightest = vertex.weight == self.at(vertex.root).lightest
        return {"ends": semirings.where(is_lightest, ends, semirings.cast(NO_EDGE, np.int64))}

    @aggregate(semirings.min, kind, at=lambda self, vertex: semirings.where(vertex.is_left, vertex.root, -1))
    def lightest(self, before, after):
        return after.weight

    @aggregate(
        semirings.min, np.int64, at=lambda self, vertex: semirings.where(vertex.ends != NO_EDGE, vertex.root, -1)
    )
    def choice(self, before, after):
        return after.ends


class RootProgram(VertexProgram):
    """The base of the vertex programs that join trees of the forest found so far.

    Only the roots of trees take part, and only if their tree has selected an edge.
    """

    root = vertex(ID, missing=-1)
    choice = vertex(np.int64, missing=NO_EDGE)
    everyone = True

    def mask(self, vertex):
        return vertex.choice != NO_EDGE


class Hook(RootProgram):
    """root(r) = the root of the tree at the other end of the edge that the tree of root r has selected.

    If two trees selected the same edge, the smaller root keeps itself as root.

    The run ends after at most log2(n) rounds, since a tree that selects an edge joins another tree. No cycle arises,
    since edges are selected in the total order (weight, ends).
    """

    number = vertex(np.int64, missing=-1)
    taken = vertex(np.int64, init=-1)  # the id of the edge by which a root was joined to another tree

    def apply(self, vertex, gathered):
        first_end, second_end = self.at(vertex.choice >> END_BITS), self.at(vertex.choice & (2**END_BITS - 1))
        is_inside = first_end.root == vertex.id
        target = semirings.where(is_inside, second_end.root, first_end.root)
        stays = (self.at(target).choice == vertex.choice) & (vertex.id < target)
        return {
            "root": semirings.where(stays, vertex.id, target),
            "taken": semirings.where(
                stays, vertex.taken, semirings.where(is_inside, first_end.number, second_end.number)
            ),
        }

    @aggregate(semirings.plus, np.int64)
    def joined(self, before, after):
        return semirings.cast(before.root != after.root, np.int64)

    def stop(self):
        return self.joined == 0


class Climb(RootProgram):
    """root(r) = root(root(r)) for roots r of joined trees, repeated until nothing changes: pointer jumping."""

    def apply(self, vertex, gathered):
        return {"root": self.at(vertex.root).root}


class Follow(VertexProgram):
    """root(v) = root(root(v)) for every vertex v, after `Climb` has found the final root of each joined tree."""

    root = vertex(ID, missing=-1)
    everyone = True

    def apply(self, vertex, gathered):
        return {"root": self.at(vertex.root).root}


@takes_weight
@on_one_device()
def minimum_spanning_forest(graph: Any) -> ForestResult:
    """Find a minimum spanning forest: edges of the smallest total weight that connect every component.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the weight of an edge between i and j, read as undirected. Without values every edge weighs 1.

    Returns
    -------
    ForestResult
        A named tuple ``(edges, total)``. `edges`, int64, are the ids of the edges, which are their positions in the
        input, ascending; their number is that of vertices minus that of components. `total` is the sum of their
        weights: int64 for integers, uint64 for unsigned integers, else float64. Ties between edges of equal weight are
        broken by the smaller end, then by the larger end, then by position: the result is unique, on either device.

    Raises
    ------
    ValueError
        If a weight is NaN or -inf, the total overflows its type, or the graph has more than 2**31 vertices.

    See Also
    --------
    gasla.connected_components : the components that the forest connects.

    Notes
    -----
    Stored zeros are edges of weight 0. Self loops are ignored; of parallel edges and of both directions of an edge, the
    lightest counts. NetworkX's `minimum_spanning_edges` and SciPy's `minimum_spanning_tree` return the edges
    themselves; SciPy's omits those of weight 0. At most log2(n) rounds.

    Needs up to 60 bytes per vertex and 16 per edge. Unless the matrix is symmetric with sorted rows, the edges are
    sorted first, which needs up to 52 bytes per edge; on a GPU, lists of both directions are stored instead for weights
    of more than 32 bits.

    References
    ----------
    O. Borůvka: O jistém problému minimálním. Práce Moravské přírodovědecké společnosti 3 (1926).

    S. Chung, A. Condon: Parallel Implementation of Borůvka's Minimum Spanning Tree Algorithm. IPPS 1996.

    Examples
    --------
    >>> import gasla
    >>> ring = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [4, 1, 2, 3])
    >>> gasla.minimum_spanning_forest(ring)
    ForestResult(edges=array([1, 2, 3]), total=np.int64(6))
    """
    graph = as_graph(graph)
    if graph.n > 2**31:
        raise ValueError(f"the graph has {graph.n} vertices; expected at most 2**31, so that two ids fit in 64 bits")
    if fits_lightest_forest(graph):
        return _make_result(graph, lightest_forest(graph))
    graph.notice_values()
    check_weights(graph)
    xp: Any = module_of(graph.device)
    if graph.is_whole and graph.out.edge_ids is None and graph.out.is_sorted and graph.has_mirrored_values:
        selected = _forest_edges(graph, "out")
        # The id of an edge is the smaller one of its two entries in the matrix.
        return _make_result(graph, xp.sort(xp.minimum(selected, graph.in_edge_ids[selected])))
    return _make_result(graph, xp.sort(_forest_edges(graph, "all")))


def _forest_edges(graph: Graph, direction: str) -> Any:
    """Return the ids of the edges of a minimum spanning forest, computed by vertex programs.

    `direction` is the direction in which they follow edges: "out" if the matrix has both directions of every edge, and
    otherwise "all".
    """
    weight_dtype = np.dtype(np.int8) if graph.value_type is None else graph.value_type
    weight_dtype = {"b": np.dtype(np.uint8), "f": max(weight_dtype, np.dtype(np.float32))}.get(
        weight_dtype.kind, weight_dtype
    )
    phases: list[Any] = [
        Lightest(kind=weight_dtype, direction=direction),
        Choose(kind=weight_dtype),
        Hook,
        Phase(Climb, until="still"),
        Follow,
    ]
    taken_edges = run(phases, graph, notice=False).taken
    return taken_edges[taken_edges >= 0]


def _make_result(graph: Graph, edges: Any) -> ForestResult:
    """Return the result for a forest, given the ids of its edges in ascending order, with their total weight."""
    xp: Any = module_of(graph.device)
    values: Any = graph.valued.each
    weights = xp.ones(len(edges), np.int64) if values is None else values[edges]
    check_total("minimum_spanning_forest", weights)
    unsigned = weights.dtype.kind == "u"
    with np.errstate(over="ignore"):  # the check below reports an overflow
        weight_total = weights.sum(dtype=np.uint64 if unsigned else sum_type(weights.dtype))
    if weights.dtype.kind == "f" and bool(xp.isinf(weight_total)) and not bool(xp.isinf(weights).any()):
        raise ValueError("the weights of the forest sum to infinity; expected a finite sum: divide all by one number")
    return ForestResult(edges, weight_total)


ROW = Row(
    minimum_spanning_forest,
    Command(
        *("minimum-spanning-forest", {"ends": "tree_edges"}),
        lambda f: (
            f"{len(f['edges']):,} edges of total weight {f['total'].item():,} join {f.graph.n:,} vertices into "
            f"{f.graph.n - len(f['edges']):,} trees"
        ),
        shape="ids",
        unpack=lambda graph, found: {**found._asdict(), "ends": np.stack(graph.edges())[:, found.edges]},
    ),
    Task(part="edges", form="nothing"),
    method="Borůvka's rounds over a filtered worklist: ECL-MST (Fallin et al., SC 2023)",
    longer="Borůvka's rounds look for the lightest edge of every tree, where components take any edge.",
)
