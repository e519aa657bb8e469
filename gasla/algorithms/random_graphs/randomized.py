"""Random graphs with as many edges, or with the degrees, of a given graph, as models that a result is compared with.

Rewiring swaps ends. Of edges a - b and c - d it makes a - d and c - b. In each round every edge is paired with another,
and all pairs try their swap at once. A swap is made if each of the four edges occurs once among the edges of the graph
and the edges that all pairs would make, as hashes of this round tell. Swaps do not change which edges occur once, so
the way back from the new graph is as likely as the way there. In the end every graph of these degrees is as likely as
any other.

Edges are in random order. In a round, the edges at positions i and j are a pair if i + j is a number drawn for the
round, modulo the number of edges.
"""

from typing import Any, Literal, get_args

import numpy as np

import semirings
from gasla.arrays import array_module, index_dtype, moved
from gasla.graph.arguments import check_choice, whole_number
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.edge_samples import MOST, negative_edges
from gasla.operations.sampling import seed_word
from gasla.rows import Row

Array = np.ndarray[Any, Any]
Model = Literal["rewired", "configuration", "erdos_renyi"]
MODELS: tuple[str, ...] = get_args(Model)
SWAPS = 10  # default number of swaps per edge
MOST_SWAPS = 1000  # largest number of swaps per edge, a hundred times the number that mixes a graph well


def randomized(graph: Any, model: Model = "rewired", *, swaps: int = SWAPS, seed: int = 0) -> Graph:
    """Draw a random graph that has the degrees, or the number of edges, of a given graph.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. Values are ignored; stored zeros are edges. It is undirected if
        `Graph.is_symmetric`, and then so is the result.
    model : {"rewired", "configuration", "erdos_renyi"}
        "rewired" swaps ends of edges: every vertex keeps its degree, in a directed graph its out-degree and its
        in-degree, and there are no loops and no parallel edges. "configuration" joins ends at random: every vertex
        keeps its degree, but there may be loops and parallel edges. "erdos_renyi" has as many edges as the graph,
        between pairs of different vertices that are drawn at random.
    swaps : int
        For "rewired", the number of swaps that are tried for each edge; 1,000 at most.
    seed : int
        At most 64 bits. The same seed gives the same graph on both engines.

    Returns
    -------
    Graph
        Without values and edge attributes; with the names and attributes of the vertices, on the graph's device. An
        undirected graph has each edge in both directions.

    Raises
    ------
    TypeError, ValueError
        If `model`, `swaps` or `seed` is not valid, or the graph has more than 2**31 vertices.

    See Also
    --------
    gasla.null_model : compares a result on a graph with results on such graphs.
    gasla.generators : random graphs of other kinds.

    Notes
    -----
    "rewired" and "erdos_renyi" read the graph without loops and with parallel edges as one, "configuration" an
    undirected graph without its loops; loops that it makes are stored twice, so that degrees are the same.

    If `swaps` is large enough, all graphs with these degrees are equally likely; about ten are enough in practice. But
    in a directed graph swaps can't reverse a cycle of three vertices that has nothing to swap with.

    `swaps=10` takes about 4 s for each million edges on a CPU, and up to 250 bytes for each edge.

    References
    ----------
    S. Maslov, K. Sneppen: Specificity and Stability in Topology of Protein Networks. Science 296 (2002).

    B. Fosdick, D. Larremore, J. Nishimura, J. Ugander: Configuring Random Graph Models with Fixed Degree Sequences.
    SIAM Review 60 (2018).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3])
    >>> other = gasla.randomized(graph, seed=1)
    >>> other.out_degrees, other.in_degrees
    (array([1, 1, 1, 1, 1, 1], dtype=int32), array([1, 1, 1, 1, 1, 1], dtype=int32))
    """
    graph, word = whole_graph(graph), seed_word(seed)
    check_choice("model", model, MODELS)
    swaps = whole_number("swaps", swaps, MOST_SWAPS)
    if graph.n > MOST:
        raise ValueError(f"the graph has {graph.n} vertices; expected at most {MOST}")
    base = as_read(graph, model)
    undirected = base.is_symmetric
    src, dst = base.edges()
    if undirected:
        src, dst = src[src < dst], dst[src < dst]
    if model == "rewired":
        src, dst = _rewire(src, dst, graph.n, undirected, 2 * swaps, word)
    elif model == "configuration":
        src, dst = _join_at_random(src, dst, undirected, word)
    else:
        empty_graph = Graph.from_edges(src[:0], dst[:0], n=graph.n)
        src, dst = negative_edges(empty_graph, len(src), undirected=undirected, seed=seed).astype(src.dtype)
    xp: Any = array_module(src)
    if undirected:
        src, dst = xp.concatenate([src, dst]), xp.concatenate([dst, src])
    result = Graph.from_edges(src, dst, n=graph.n)
    result.naming, result.vertex_attributes = graph.naming, graph.vertex_attributes
    return result


def as_read(graph: Graph, model: str) -> Graph:
    """Return the graph as a random model reads it, without values: simple, if the model makes simple graphs.

    Self loops and parallel edges are then ignored. The order of edges does not matter.
    """
    if model != "configuration" and (graph.has_self_loops or graph.has_parallel_edges):
        simple = graph.simple()
        src, dst = simple.edges()
    elif graph.has_self_loops and graph.is_symmetric:
        src, dst = graph.edges()
        src, dst = src[src != dst], dst[src != dst]
    elif graph.value_type is None and not graph.edge_attributes and not graph.is_streamed:
        return graph
    else:
        src, dst = graph.edges()
    result = Graph.from_edges(moved(src, graph.device), moved(dst, graph.device), n=graph.n)
    result.naming, result.vertex_attributes = graph.naming, graph.vertex_attributes
    return result


def _rewire(src: Array, dst: Array, n: int, undirected: bool, rounds: int, seed: np.uint64) -> tuple[Array, Array]:
    """Return the source and the target of each edge of a random graph, after `rounds` rounds of swaps of edges'
    ends.
    """
    xp: Any = array_module(src)
    m, positions = len(src), xp.arange(len(src))
    order = xp.argsort(semirings.hash(seed, positions))
    src, dst = src[order].astype(np.int64), dst[order].astype(np.int64)

    def hashes_of(tails: Array, heads: Array) -> Array:
        edge_ends = (xp.minimum(tails, heads), xp.maximum(tails, heads)) if undirected else (tails, heads)
        return semirings.hash(seed, np.uint64(round_number), *edge_ends)

    for round_number in range(rounds if m else 0):
        # two edges may swap in this round if their positions add up to this number, modulo m
        position_sum = int(semirings.hash(seed, np.uint64(round_number))) % m
        partners = (position_sum - positions) % m
        bits = semirings.hash(seed, np.uint64(round_number), positions)
        # An eighth of the pairs does not try to swap in a round. So a swap can also occur without the swaps of other
        # pairs.
        first_of_pair = xp.flatnonzero((positions < partners) & ((bits & np.uint64(7)) > 0))
        second_of_pair = partners[first_of_pair]
        first_src, first_dst, second_src, second_dst = (
            src[first_of_pair],
            dst[first_of_pair],
            src[second_of_pair],
            dst[second_of_pair],
        )
        if undirected:
            is_turned = (bits[first_of_pair] & np.uint64(8)) > 0
            second_src, second_dst = (
                xp.where(is_turned, second_dst, second_src),
                xp.where(is_turned, second_src, second_dst),
            )
        is_unique = _occurs_once(
            xp.concatenate([hashes_of(src, dst), hashes_of(first_src, second_dst), hashes_of(second_src, first_dst)])
        )
        is_swapped = (
            is_unique[first_of_pair]
            & is_unique[second_of_pair]
            & is_unique[m : m + len(first_of_pair)]
            & is_unique[m + len(first_of_pair) :]
            & (first_src != second_dst)
            & (second_src != first_dst)
        )
        first_of_pair, second_of_pair = first_of_pair[is_swapped], second_of_pair[is_swapped]
        dst[first_of_pair], src[second_of_pair], dst[second_of_pair] = (
            second_dst[is_swapped],
            second_src[is_swapped],
            first_dst[is_swapped],
        )
    return src, dst


def _occurs_once(edge_hashes: Array) -> Array:
    """Return a mask of the words, hashes of edges, whose low bits differ from those of all other words, without
    sorting.

    Some different edges have hashes of equal low bits, too. They just are not swapped in this round.
    """
    xp: Any = array_module(edge_hashes)
    size = 1 << (8 * len(edge_hashes)).bit_length()
    numbers, slots = xp.arange(len(edge_hashes)), (edge_hashes & np.uint64(size - 1)).astype(np.int64)
    last_writer, is_shared = xp.empty(size, index_dtype(len(edge_hashes))), xp.zeros(size, bool)
    last_writer[slots] = numbers
    is_shared[slots[last_writer[slots] != numbers]] = True
    return ~is_shared[slots]


def _join_at_random(src: Array, dst: Array, undirected: bool, seed: np.uint64) -> tuple[Array, Array]:
    """Join the ends of the given edges anew in random order, and return the ends of the new edges.

    All degrees stay the same.
    """
    xp: Any = array_module(src)
    shuffled_ends = xp.concatenate([src, dst]) if undirected else dst
    shuffled_ends = shuffled_ends[xp.argsort(semirings.hash(seed, xp.arange(len(shuffled_ends))))]
    return (shuffled_ends[: len(src)], shuffled_ends[len(src) :]) if undirected else (src, shuffled_ends)


ROW = Row(
    randomized,
    method="parallel global swaps (Allendorf et al., J. Parallel and Distributed Computing, 2023)",
    longer="Ten rounds in which every edge has a random partner, random reads and atomic counts of hashes.",
)
