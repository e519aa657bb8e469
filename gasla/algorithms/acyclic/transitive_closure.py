"""Transitive closure: the graph with an edge from each vertex to every vertex that it reaches.

The strongly connected components form an acyclic graph. Its components are processed in topological order. Each
component has a word of 64 bits, one for each of 64 source vertices that may reach it, and gathers the words of its
in-neighbors. So one pass over the edges serves 64 sources.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.acyclic.topological_order import topological_order
from gasla.algorithms.components.strongly_connected_components import strongly_connected_components
from gasla.algorithms.traversal.bfs import bfs
from gasla.arrays import module_of, running_sums
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.operations.prepare import prepare
from gasla.program import Schedule, VertexProgram, vertex
from gasla.rows import Command, Row

Array = Any  # a NumPy or CuPy array
WORD = 64
REMEDY = "the closures of parts of the graph"


class Reached(VertexProgram):
    """The vertex program that finds which of 64 source vertices reach each vertex of an acyclic graph.

    near(v) = the sources from which a path leads to v. far(v) = the sources from which a path of two or more edges
    does. Each set of sources is a word of 64 bits, in which bit i stands for source i of the 64 sources of a batch.
    """

    own = vertex(np.uint64)  # bit i is set if the vertex itself is source i
    near = vertex(np.uint64)
    far = vertex(np.uint64)
    reduce = semirings.product(semirings.bor, semirings.bor)

    def gather(self, src, dst, edge):
        return src.near | src.own, src.near

    def apply(self, vertex, gathered):
        near, far = gathered
        return {"near": near, "far": far}


def transitive_closure(graph: Any) -> Graph:
    """Make the graph of all pairs of vertices of which the first reaches the second, by one edge or more.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Values are ignored; stored zeros are edges.

    Returns
    -------
    Graph
        With an edge i -> j wherever a path leads from i to j, and a self loop at each vertex that is on a cycle.
        Neighbors ascend. It has neither values nor edge attributes.

    Raises
    ------
    MemoryError
        If the edges need more memory than is available, before they do.

    See Also
    --------
    gasla.transitive_reduction : the edges of an acyclic graph that suffice to reach as much.
    gasla.multi_source_bfs : from some vertices, with distances.
    gasla.strongly_connected_components : vertices that reach each other.

    Notes
    -----
    The work is O(n (n + m) / 64), and the edges of the closure, up to n². They take as much memory again while they are
    put together. Deterministic.

    References
    ----------
    P. Purdom: A transitive closure algorithm. BIT 10 (1970).

    Examples
    --------
    >>> import gasla
    >>> closure = gasla.transitive_closure(gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 2]))
    >>> closure.to_scipy().toarray().astype(int)
    array([[0, 1, 1, 1],
           [0, 0, 1, 1],
           [0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    graph = whole_graph(graph)
    xp: Any = module_of(graph.device)
    acyclic, labels = graph.with_values(None), strongly_connected_components(graph).labels
    src, dst = graph.edges()
    is_inside = labels[src] == labels[dst]
    is_cyclic = xp.zeros(graph.n, bool)
    is_cyclic[labels[src[is_inside]]] = True
    if bool(is_inside.any()):
        acyclic = acyclic.contract(labels, loops=False)
    else:
        labels = xp.arange(graph.n)
    bytes_per_edge = 2 * graph.id_dtype.itemsize
    require_room("the closure has at least", _pair_count_bound(acyclic, labels), bytes_per_edge, graph.device, REMEDY)
    counts, blocks, closure_edges = xp.zeros(graph.n, np.int64), [], 0
    for batch_start, own_words, near_words, _ in reached(acyclic, labels):
        source_words = xp.where(is_cyclic[: acyclic.n], near_words | own_words, near_words)[labels]
        reached_vertices = xp.flatnonzero(source_words)
        bits = xp.unpackbits(source_words[reached_vertices].view(np.uint8), bitorder="little").reshape(-1, WORD)
        closure_edges += int(bits.sum())
        require_room("the closure has at least", closure_edges, bytes_per_edge, graph.device, REMEDY)
        source, row = xp.nonzero(bits.T)
        batch_end = min(batch_start + WORD, graph.n)
        counts[batch_start:batch_end] = xp.bincount(source, minlength=batch_end - batch_start)
        blocks.append(reached_vertices[row].astype(graph.id_dtype))
    indices = xp.concatenate(blocks) if blocks else xp.empty(0, graph.id_dtype)
    result = Graph.from_csr(running_sums(counts), indices)
    result.naming, result.vertex_attributes = graph.naming, graph.vertex_attributes
    return result


def _pair_count_bound(acyclic: Graph, labels: Array) -> int:
    """Return a lower bound of the number of edges that the transitive closure of a graph has, found by two searches.

    Every vertex that reaches the largest strongly connected component also reaches all that can be reached from that
    component, and these pairs are counted. The bound lets a graph with a giant component fail early if its closure does
    not fit memory, instead of after most of the work.
    """
    if acyclic.n == 0:
        return 0
    sizes = module_of(acyclic.device).bincount(labels, minlength=acyclic.n)
    # a NumPy integer, because `bfs` takes it for an id even if the graph's vertices have names
    largest = np.int64(int(sizes.argmax()))
    reached_count, reaching_count = (
        int(sizes[bfs(searched, largest) >= 0].sum()) for searched in (acyclic, acyclic.reversed())
    )
    return reached_count * reaching_count - 1  # 1 less, as the pair (v, v) may not be in the closure


def reached(graph: Graph, labels: Array) -> Iterator[tuple[int, Array, Array, Array]]:
    """Yield, for each batch of 64 sources, which of them reach each vertex of an acyclic graph.

    An item is (number of the first source of the batch, own, near, far). The three arrays have a word of 64 bits for
    each vertex, with a bit for each source: the fields of the program `Reached`. Source i is the vertex `labels[i]`.
    """
    xp: Any = module_of(graph.device)
    levels_order = Schedule(topological_order(graph, levels=True).levels)
    search = prepare(Reached, graph, scheduled=True)
    for batch_start in range(0, len(labels), WORD):
        source_vertices = labels[batch_start : batch_start + WORD]
        source_bits = xp.zeros(graph.n, np.uint64)
        xp.add.at(source_bits, source_vertices, xp.uint64(1) << xp.arange(len(source_vertices), dtype=np.uint64))
        state = search(schedule=levels_order, own=source_bits).state
        yield batch_start, source_bits, state["near"], state["far"]


ROW = Row(
    transitive_closure,
    Command(
        *("transitive-closure", {"reached": "reached"}),
        lambda f: f"{f['closure'].m:,} pairs of vertices; most are reached from:",
        lambda f: f.ranking("reached"),
        unpack=lambda _, made: {"closure": made, "reached": made.out_degrees},
    ),
    method="sets of bits in reverse topological order of components (Purdom, BIT 10, 1970)",
    longer="The result has a bit for each pair of vertices, and its edges are written as ids.",
)
