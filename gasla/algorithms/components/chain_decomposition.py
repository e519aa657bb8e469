"""Chain decomposition: cycles and paths that cover each edge that is not a bridge once.

In a depth-first forest every edge outside it leads from a vertex to one of its descendants, and starts a chain. The
chain follows this edge downward, and then tree edges upward as far as no earlier chain has been. So each tree edge is
in the first chain that starts above it and comes up through the subtree below it, and one pass over subtrees finds the
chains of all tree edges.
"""

from typing import Any

import numpy as np

from gasla.arrays import running_sums
from gasla.graph.arguments import in_host_memory
from gasla.graph.graph import Graph
from gasla.operations.primitives import number_trees, simplify
from gasla.operations.vertex_lists import VertexLists
from gasla.rows import Command, Row, Task


def chain_decomposition(graph: Any) -> VertexLists:
    """Decompose a graph into chains: cycles and paths that cover each edge that is not a bridge once.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        Read as undirected: i -> j and j -> i are one edge, as are parallel edges; self loops are left out. Values are
        ignored; stored zeros are edges. In host memory.

    Returns
    -------
    VertexLists
        The vertices of each chain in order; a cycle has its first vertex at the end again. Except for their ends,
        chains visit only vertices that no earlier chain has visited. The same for any order of the edges.

    Raises
    ------
    TypeError
        If the graph is on a GPU.

    See Also
    --------
    gasla.bridges : edges that are in no chain.
    gasla.biconnected_components : the parts that one vertex separates, on all threads or a GPU.
    gasla.cycle_basis : cycles from which all others can be combined.

    Notes
    -----
    A connected graph without bridges is biconnected if the first chain is its only cycle. The search is depth-first, on
    one thread. There are m - n + c chains for m edges and c components.

    References
    ----------
    J. M. Schmidt: A simple test on 2-vertex- and 2-edge-connectivity. Information Processing Letters 113 (2013).

    Examples
    --------
    >>> import gasla
    >>> house = gasla.Graph.from_edges([0, 1, 2, 3, 0, 3, 5], [1, 2, 3, 0, 4, 4, 0])
    >>> gasla.chain_decomposition(house).tolist()
    [[0, 3, 2, 1, 0], [0, 4, 3]]
    """
    graph = in_host_memory("chain_decomposition", graph)
    lists = simplify(graph).sorted_out
    trees = number_trees(Graph.from_csr(lists.indptr, lists.indices))  # trees of a depth-first search
    parents, numbers = trees.parents, trees.numbers
    top, bottom = lists.owners(), lists.indices
    starts_chain = (numbers[top] < numbers[bottom]) & (parents[bottom] != top)
    top, bottom = top[starts_chain], bottom[starts_chain]
    order = np.lexsort((numbers[bottom], numbers[top]))
    top, bottom = top[order], bottom[order]
    # Several chains may have the same second vertex, `bottom`. Only the first of them can go on along tree edges,
    # because it covers the tree edges above `bottom`.
    with_tree_edges = np.sort(np.unique(bottom, return_index=True)[1])
    first_chain = np.full(graph.n, len(with_tree_edges), numbers.dtype)
    first_chain[bottom[with_tree_edges]] = np.arange(len(with_tree_edges))
    first_chain, _ = trees.extremes(first_chain, first_chain)
    covered_vertices = np.flatnonzero(first_chain < len(with_tree_edges))
    chain = with_tree_edges[first_chain[covered_vertices]]
    is_covered = numbers[top[chain]] < numbers[covered_vertices]
    covered_vertices, chain = covered_vertices[is_covered], chain[is_covered]
    upward = np.lexsort((-numbers[covered_vertices], chain))
    covered_vertices, chain = covered_vertices[upward], chain[upward]
    indptr = running_sums(np.bincount(chain, minlength=len(top)) + 2)
    vertices = np.empty(indptr[-1], graph.id_dtype)
    vertices[indptr[:-1]], vertices[indptr[1:] - 1] = top, bottom
    vertices[np.arange(len(covered_vertices)) + 2 * chain + 1] = covered_vertices
    # Each write sets the end of a chain to the parent of one of its vertices. The write for the topmost vertex comes
    # last, so it decides.
    vertices[indptr[chain + 1] - 1] = parents[covered_vertices]
    return VertexLists(indptr, vertices)


ROW = Row(
    chain_decomposition,
    Command(
        *("chain-decomposition", {"vertices": "chains_at"}),
        lambda f: f"{len(f.answer['chains']):,} chains; the vertices that are in most of them:",
        lambda f: f.times_named("vertices"),
        "ids",
        unpack=lambda _, chains: {"vertices": chains.vertices, "chains": chains},
    ),
    Task(form="nothing", checked_by=""),
    method="chains along a depth-first tree (Schmidt, Information Processing Letters 113, 2013)",
    longer="One thread follows a depth-first search, and then the chains, an edge at a time.",
)
