"""Cycle basis, which has for each edge outside a spanning forest the cycle that the edge closes in the forest.

The trees are of shortest paths from the smallest vertex of each component, so that cycles are short. Both ends of all
these edges climb the trees at once until they meet. The end that is farther from its root climbs first, by one step.
"""

from typing import Any

import numpy as np

from gasla.algorithms.components.spanning_forest import smallest_members
from gasla.algorithms.traversal.bfs import LEVELS
from gasla.arrays import array_module, module_of, running_sums
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.operations.primitives import simplify
from gasla.operations.run import run
from gasla.operations.vertex_lists import VertexLists
from gasla.rows import Command, Row

Array = Any  # NumPy's or CuPy's


def cycle_basis(graph: Any) -> VertexLists:
    """Find cycles from which every other cycle can be combined, by keeping the edges that an odd number of them have.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        Read as undirected: i -> j and j -> i are one edge, as are parallel edges. Values are ignored; stored zeros are
        edges.

    Returns
    -------
    VertexLists
        The vertices of each cycle once. Each cycle leads from the last vertex back to the first along an edge that no
        other cycle has. First come self loops, as cycles of one vertex. The same for any order of the edges.

    Raises
    ------
    MemoryError
        If the cycles, whose lengths are found first, need more memory than is available.

    See Also
    --------
    gasla.simple_cycles : all cycles up to a length.
    gasla.chain_decomposition : cycles and paths that have no edge in common.

    Notes
    -----
    There are m - n + c cycles for m edges and c components. They are the fundamental cycles of a spanning forest of
    shortest paths from the smallest vertex of each component, not those of the smallest total length. The work is that
    of a breadth-first search, and the length of the cycles.

    References
    ----------
    K. Paton: An algorithm for finding a fundamental set of cycles of a graph. Communications of the ACM 12 (1969).

    Examples
    --------
    >>> import gasla
    >>> square = gasla.Graph.from_edges([0, 1, 2, 3, 0, 3], [1, 2, 3, 0, 2, 4])
    >>> gasla.cycle_basis(square).tolist()
    [[1, 0, 2], [2, 0, 3]]
    """
    graph = whole_graph(graph)
    xp: Any = module_of(graph.device)
    src, dst = graph.edges()
    loops = xp.unique(src[src == dst])
    levels, parents, first_ends, second = _forest_and_other_edges(simplify(graph))
    is_deeper = levels[first_ends] >= levels[second]
    deeper, other_end = xp.where(is_deeper, first_ends, second), xp.where(is_deeper, second, first_ends)
    starts = xp.where(levels[deeper] > levels[other_end], parents[deeper], deeper)
    extra_steps = (starts != deeper).astype(np.int64)
    steps = _steps_to_meet(parents, starts, other_end)
    lengths = xp.concatenate([xp.ones(len(loops), np.int64), extra_steps + 2 * steps + 1])
    indptr = running_sums(lengths)
    vertex_total = int(indptr[-1])
    require_room("the cycles have", vertex_total, graph.id_dtype.itemsize, graph.device, "simple_cycles up to a length")
    vertices = xp.empty(vertex_total, graph.id_dtype)
    vertices[: len(loops)] = loops
    first_positions, last_positions = indptr[len(loops) : -1], indptr[len(loops) + 1 :] - 1
    # if both ends are on one level, they have the same first vertex, which the loop below writes again
    vertices[first_positions] = deeper
    left_positions, right_positions, climbing = first_positions + extra_steps, last_positions, xp.arange(len(steps))
    left_vertex, right_vertex, step = starts, other_end, 0
    while len(climbing):
        vertices[left_positions[climbing] + step], vertices[right_positions[climbing] - step] = (
            left_vertex,
            right_vertex,
        )
        climbs = steps[climbing] > step
        climbing, left_vertex, right_vertex, step = (
            climbing[climbs],
            parents[left_vertex[climbs]],
            parents[right_vertex[climbs]],
            step + 1,
        )
    return VertexLists(indptr, vertices)


def _forest_and_other_edges(simple: Graph) -> tuple[Array, Array, Array, Array]:
    """Return a spanning forest by breadth-first search, and the edges outside the forest, as four arrays.

    They are the level and the parent of each vertex, and the smaller and the larger end of each edge outside.
    """
    xp: Any = module_of(simple.device)
    is_root = smallest_members(simple)
    levels = run(LEVELS, simple, active=is_root, level=xp.where(is_root, 0, -1).astype(np.int32)).level
    lists = simple.sorted_out
    src, dst = lists.owners(), lists.indices
    parents = xp.arange(simple.n, dtype=simple.id_dtype)
    up = xp.flatnonzero(levels[dst] < levels[src])
    # of each vertex's neighbors that are nearer to the root, only the first one, which has the smallest id
    up = up[xp.diff(src[up], prepend=-1) != 0]
    parents[src[up]] = dst[up]
    is_other = (src < dst) & (parents[dst] != src) & (parents[src] != dst)
    return levels, parents, src[is_other], dst[is_other]


def _steps_to_meet(parents: Array, left_vertex: Array, right_vertex: Array) -> Array:
    """Return, for each pair of vertices on one level of a spanning forest, how many steps both climb until they meet.

    `left_vertex` and `right_vertex` have the vertices of the pairs, and `parents` the parent of each vertex.
    """
    xp: Any = array_module(parents)
    steps, climbing = xp.zeros(len(left_vertex), np.int64), xp.arange(len(left_vertex))
    while len(climbing):
        not_met = left_vertex != right_vertex
        climbing, left_vertex, right_vertex = (
            climbing[not_met],
            parents[left_vertex[not_met]],
            parents[right_vertex[not_met]],
        )
        steps[climbing] += 1
    return steps


ROW = Row(
    cycle_basis,
    Command(
        *("cycle-basis", {"vertices": "cycles_at"}),
        lambda f: f"{len(f.answer['cycles']):,} cycles; the vertices that are on most of them:",
        lambda f: f.times_named("vertices"),
        "ids",
        unpack=lambda _, cycles: {"vertices": cycles.vertices, "cycles": cycles},
    ),
    method="the fundamental cycles of a spanning tree (Paton, Communications of the ACM 12, 1969)",
    longer="The ends of each edge outside the forest climb the tree together, a step at a time.",
)
