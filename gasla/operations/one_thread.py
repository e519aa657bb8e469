"""Whole algorithms that run on one thread of the CPU, for graphs so small that a second thread would not pay.

A vertex program takes some microseconds per iteration and thread, and a graph of 10,000 vertices may need hundreds of
iterations. A sequential algorithm reads each edge a few times, and has no barriers. The public names are in
`gasla.primitives`.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from gasla.engines import OneThread, chooses_kernels, engine
from gasla.graph.arguments import MOST_SEED, check_flags, real_number, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.validate import as_ids


def fits_one_thread(graph: Graph, most: int) -> bool:
    """Whether an algorithm should run on one thread: `graph` is in host memory, with at most `most` vertices and edges.

    False within `gasla.engines.interpreted` and `gasla.engines.programs_only`.

    Parameters
    ----------
    graph : Graph
    most : int
        For example the size from which on several threads are faster.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.fits_one_thread(Graph.from_edges([0, 1], [1, 2]), most=1000)
    True
    """
    return graph.engine == "cpu" and graph.n + graph.m <= most and chooses_kernels()


def louvain_levels(
    graph: Any, communities: Any = None, *, resolution: float = 1.0, seed: int = 0, refine: bool = False
) -> list[np.ndarray]:
    """Find communities by Louvain's or Leiden's method, on one thread.

    A whole algorithm, and a built-in kernel of the CPU engine. `gasla.louvain_communities` calls it for levels of few
    vertices and edges.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        With symmetric values, which are not negative. A self loop counts once in the degree of its vertex.
    communities : (n,) array of integers, optional
        The first community of each vertex, 0 to n - 1. By default each vertex is a community.
    resolution, seed, refine
        As for `gasla.louvain_communities`.

    Returns
    -------
    list of (n,) arrays of the type of ids
        The community of each vertex after each level, numbered from 0 in the order of their smallest vertices. Empty if
        no vertex moves.

    Raises
    ------
    TypeError, ValueError
        If the graph is not in host memory, or an argument is out of range.

    Notes
    -----
    V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre: Fast unfolding of communities in large networks. Journal
    of Statistical Mechanics (2008). V. A. Traag, L. Waltman, N. J. van Eck: From Louvain to Leiden: guaranteeing
    well-connected communities. Scientific Reports 9 (2019).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> triangles = Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3]).symmetrized()
    >>> primitives.louvain_levels(triangles.with_values(np.ones(triangles.m)))
    [array([0, 0, 0, 1, 1, 1], dtype=int32)]
    """
    graph = _in_host_memory("louvain_levels", graph)
    check_flags(refine=refine)
    seed, resolution = whole_number("seed", seed, MOST_SEED), real_number("resolution", resolution)
    if communities is None:
        communities = np.arange(graph.n)
    first = as_ids("communities", communities)
    if first.shape != (graph.n,):
        raise ValueError(f"communities has shape {first.shape}; expected {(graph.n,)}, one per vertex")
    if graph.n and (first.min() < 0 or first.max() >= graph.n):
        raise ValueError(f"communities range from {first.min()} to {first.max()}; expected 0 to {graph.n - 1}")
    weights = np.ones(graph.m) if graph.values is None else np.asarray(graph.out_values, np.float64)
    if not (weights >= 0).all():
        raise ValueError(f"a weight is {weights[~(weights >= 0)][0]}; expected weights of 0 or more")
    lists, first = (graph.out.indptr, graph.out.indices, weights), first.astype(graph.id_dtype)
    return _kernels().louvain_levels(lists, first, resolution, seed, refine)


def depth_first(graph: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Search depth-first from the smallest vertex of every component, on one thread.

    A built-in kernel of the CPU engine. `gasla.bridges` and `gasla.articulation_points` call it for small graphs.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        Read as simple and undirected.

    Returns
    -------
    parents, numbers, low : (n,) arrays of the type of ids
        The parent of each vertex, roots being their own; its number in the order of the search; and its low point: the
        least number in its subtree, or adjacent to the subtree by an edge outside the forest.

    Raises
    ------
    TypeError
        If the graph is not in host memory.

    Notes
    -----
    R. E. Tarjan: Depth-First Search and Linear Graph Algorithms. SIAM J. Computing 1 (1972).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.depth_first(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]))
    (array([0, 0, 1, 2], dtype=int32), array([0, 1, 2, 3], dtype=int32), array([0, 0, 0, 3], dtype=int32))
    """
    graph = _in_host_memory("depth_first", graph)
    return _kernels().depth_first(engine("cpu").primitives().simplify(graph))


def peel(graph: Any) -> np.ndarray:
    """Find core numbers by removing vertices of least degree one after another, on one thread.

    A whole algorithm, and a built-in kernel of the CPU engine. `gasla.core_number` calls it for small graphs.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        Read as simple and undirected.

    Returns
    -------
    (n,) array of ids
        The core number of each vertex.

    Raises
    ------
    TypeError
        If the graph is not in host memory.

    Notes
    -----
    V. Batagelj, M. Zaversnik: An O(m) Algorithm for Cores Decomposition of Networks. arXiv:cs/0310049 (2003).

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.peel(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]))
    array([2, 2, 2, 1], dtype=int32)
    """
    graph = _in_host_memory("peel", graph)
    found: np.ndarray = _kernels().peel(engine("cpu").primitives().simplify(graph))
    return found


def _kernels() -> OneThread:
    return cast(OneThread, engine("cpu").primitives())


def _in_host_memory(name: str, graph: Any) -> Graph:
    graph = as_graph(graph)
    if graph.engine != "cpu":
        raise TypeError(f"{name} takes a graph in host memory, and this one is on the {graph.engine}: graph.to('cpu')")
    return graph
