"""Louvain and Leiden communities: vertices move to the community that raises the quality most, level by level.

At first every vertex is a community, or the communities are those of an earlier result. Vertices move until few still
move. Then communities are contracted to vertices, and this repeats until no vertex moves. Leiden's method contracts
connected parts of communities instead.

Levels of at most `ONE_THREAD` vertices and edges on the CPU, and levels of at most `SMALL` on a GPU, run without
barriers: vertices move one after another (`primitives.louvain_levels`). Larger levels are computed by vertex programs
(`community_programs`). Combinations of several runs are in `community_search`.
"""

import reprlib
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar, Unpack, get_args, overload

import numpy as np

from gasla.algorithms.community.community_programs import both_ways, counted
from gasla.algorithms.community.community_search import Search, nested, numbered, together
from gasla.arrays import array_module, module_of, moved
from gasla.graph.arguments import (
    MOST_SEED,
    check_choice,
    check_flags,
    real_number,
    several_vertices,
    vertex_ids,
    whole_number,
)
from gasla.graph.graph import Graph, as_graph
from gasla.graph.validate import as_array, as_ids
from gasla.graph.weights import takes_weight
from gasla.operations.multiply import mxv, vxm
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Row, Task, groups

Array = Any  # a NumPy or CuPy array
Quality = Literal["modularity", "cpm"]
MOST_RUNS = 10_000
Function = TypeVar("Function", bound=Callable[..., Any])


class CommunitiesResult(NamedTuple):
    """The final community of every vertex, and its community after each level: a hierarchy of growing communities."""

    labels: np.ndarray[Any, Any]  # or a CuPy array
    levels: list[Any]

    def cut(self, level: int) -> Any:
        """Return the labels of one level: 0 is the finest, -1 the coarsest.

        Examples
        --------
        >>> result = CommunitiesResult(np.array([0, 0, 0]), [np.array([0, 0, 1]), np.array([0, 0, 0])])
        >>> result.cut(0)
        array([0, 0, 1])
        """
        if not -len(self.levels) <= level < len(self.levels):
            raise ValueError(f"level is {level}; expected 0 to {len(self.levels) - 1}, or negative ones from the last")
        return self.levels[level]

    def parents(self, level: int) -> Any:
        """Return, for each community of a level, the community of the next level that contains it.

        In the last level, each community is its own parent.

        Examples
        --------
        >>> result = CommunitiesResult(np.array([0, 0, 0]), [np.array([0, 0, 1]), np.array([0, 0, 0])])
        >>> result.parents(0)
        array([0, 0])
        """
        finer = self.cut(level)
        first_members = array_module(finer).unique(finer, return_index=True)[1]
        return self.levels[min(level % len(self.levels) + 1, len(self.levels) - 1)][first_members]


class Options(TypedDict, total=False):
    """The options that Louvain's and Leiden's methods share, besides the resolution."""

    weighted: bool
    seed: int
    quality: Quality
    directed: bool
    node_weights: Any
    start: Any
    fixed: Any
    max_size: int | Sequence[int | None] | None
    min_size: int
    iterations: int | None
    runs: int


DETAILS = """

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is an edge between i and j, read as undirected. If `A` is not symmetric, communities are those of
        ``A + A.T``, in which a self loop counts twice; otherwise it counts once in the degree of its vertex.
    weighted : bool
        Whether edges count by their values, which must be finite and not negative. Otherwise each counts 1.
    resolution : float, or sequence of floats
        Larger values give smaller communities; 0 or more. Several give a list of results, one for each.
    seed : int
        Seed of the random turns: 0 to 2**64 - 1.{refine}
    quality : "modularity" or "cpm"
        What is maximized. The constant Potts model ("cpm") adds up, over communities, the weights of the edges within
        less the resolution times the pairs of vertices: a community is denser than the resolution within, and less
        dense towards others, whatever the size of the graph.
    directed : bool
        Whether directions count where `A` is not symmetric: expected weights are those of a random graph with the same
        out- and in-degrees (Leicht and Newman), or for "cpm" ordered pairs are counted.
    node_weights : (n,) array of numbers, optional
        How much each vertex counts in the pairs of "cpm"; 1 by default. For graphs whose vertices are groups of others.
    start : (n,) array of integers, mapping of vertices to integers, or CommunitiesResult, optional
        The communities to start from, by any numbers; -1 is a vertex alone, and so is one that a mapping lacks, or
        behind the last of an earlier result: it joins its neighbors. By default every vertex is alone.
    fixed : (n,) array of bool, or vertices, optional
        Vertices that stay in their communities of `start`: two of them are in one community if and only if they were.
    max_size : int, or sequence of ints, optional
        The most vertices in a community. Several, ascending, give a hierarchy: ``levels[i]`` has communities of at most
        ``max_size[i]`` vertices, each within one of the next level. The last may be None, for no limit. A larger
        community of `start` is dissolved.
    min_size : int
        Communities with fewer vertices join the neighboring community of the largest gain, until none can.
    iterations : int, optional
        Number of runs that follow each other, each from the communities of the one before; they end when the quality
        does not rise. None sets no limit.
    runs : int
        With 2 to 10,000, a consensus of so many runs with other seeds: each edge is weakened, down to a twentieth, by
        the share of runs whose first level separates its ends. These weights are used for the result.

    Returns
    -------
    CommunitiesResult, or list of them
        A named tuple ``(labels, levels)``. `labels`, shape (n,), is the community of each vertex, numbered from 0 in
        the order of their smallest vertices. `levels` lists the labels after each level, from the finest to `labels`;
        ``cut(level)`` returns one of them, and ``parents(level)`` where its communities are in the next. One of many
        possible results; deterministic on the CPU and for integer weights, otherwise up to the rounding of sums.

    Raises
    ------
    TypeError, ValueError
        If a weight is negative, infinite or NaN, an argument is out of range, or `start` has not one label per vertex
        or an unknown vertex; if fixed vertices of one community are more than `max_size`; if the graph is on a GPU and
        `fixed`, `max_size` or `directed` are given, or over ranks and an option other than `weighted`, `resolution` and
        `seed` is.

    See Also
    --------
    {see}
    gasla.partition_table, gasla.modularity : measures of the communities.
    gasla.label_propagation : faster, but optimizes no measure.

    Notes
    -----
    {notes}

    Parallel edges add up; stored zeros have weight 0 if `weighted`. NetworkX's function of this name returns sets of
    vertices. In a graph on the CPU with at most 2**27 vertices and edges (on a GPU 2**18, which are moved to host
    memory), or a level of that size, and with the options that a GPU refuses, vertices move one after another, and the
    result depends neither on the order of edges nor on the number of threads; there a run of Leiden's method from
    single vertices starts three times, each from what it has found. Otherwise a level ends after 15 rounds, or when at
    most 1% of its vertices have moved in a round. The quality is never lower than that of `start`, or of single
    vertices, if no sizes are limited and `runs` is 1.

    References
    ----------
    {references}

    E. A. Leicht, M. E. J. Newman: Community Structure in Directed Networks. Physical Review Letters 100 (2008).

    V. A. Traag, P. Van Dooren, Y. Nesterov: Narrow scope for resolution-limit-free community detection. Physical Review
    E 84 (2011).

    V. Poulin, F. Théberge: Ensemble clustering for graphs: comparisons and applications. Applied Network Science 4
    (2019).

    Examples
    --------
    >>> import gasla
    >>> two_triangles = gasla.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3])
    >>> gasla.{name}(two_triangles).labels
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> found = gasla.{name}(two_triangles, max_size=[3, None], resolution=0.2)
    >>> [labels.tolist() for labels in found.levels]
    [[0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0]]
    """


def _append_details(**parts: str) -> Callable[[Function], Function]:
    """Return a decorator that appends `DETAILS`, the sections shared by both functions, to a function's docstring.

    `parts` has the texts to insert where the sections differ.
    """

    def complete(function: Function) -> Function:
        text = DETAILS.format(name=function.__name__, **parts)
        function.__doc__ = f"{function.__doc__}{text}"
        return function

    return complete


@overload
def leiden_communities(graph: Any, *, resolution: float = ..., **options: Unpack[Options]) -> CommunitiesResult: ...
@overload
def leiden_communities(
    graph: Any, *, resolution: Sequence[float], **options: Unpack[Options]
) -> list[CommunitiesResult]: ...
@_append_details(
    refine="",
    see="gasla.louvain_communities : a little faster; its communities may be disconnected.",
    notes="Each community is connected, by edges of weight above 0, except for what `fixed` keeps together.",
    references="V. A. Traag, L. Waltman, N. J. van Eck: From Louvain to Leiden: guaranteeing well-connected "
    "communities. Scientific\n    Reports 9 (2019).",
)
@takes_weight
@on_one_device()
def leiden_communities(
    graph: Any,
    *,
    weighted: bool = True,
    resolution: float | Sequence[float] = 1.0,
    seed: int = 0,
    quality: Quality = "modularity",
    directed: bool = False,
    node_weights: Any = None,
    start: Any = None,
    fixed: Any = None,
    max_size: int | Sequence[int | None] | None = None,
    min_size: int = 1,
    iterations: int | None = 1,
    runs: int = 1,
) -> CommunitiesResult | list[CommunitiesResult]:
    """Find connected communities of high modularity, or of another quality, by Leiden's method."""
    options: Options = {
        "weighted": weighted, "seed": seed, "quality": quality, "directed": directed, "node_weights": node_weights,
        "start": start, "fixed": fixed, "max_size": max_size, "min_size": min_size, "iterations": iterations,
        "runs": runs,
    }  # fmt: skip
    return _find_communities(graph, resolution, True, **options)


@overload
def louvain_communities(
    graph: Any, *, resolution: float = ..., refine: bool = ..., **options: Unpack[Options]
) -> CommunitiesResult: ...
@overload
def louvain_communities(
    graph: Any, *, resolution: Sequence[float], refine: bool = ..., **options: Unpack[Options]
) -> list[CommunitiesResult]: ...
@_append_details(
    refine="\n    refine : bool\n        The same as `gasla.leiden_communities`.",
    see="gasla.leiden_communities : finds connected communities.",
    notes="A community may be disconnected.",
    references="V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre: Fast unfolding of communities in large "
    "networks. Journal\n    of Statistical Mechanics (2008).\n\n    S. Sahu: GVE-Louvain: Fast Louvain Algorithm for "
    "Community Detection in Shared Memory Setting. arXiv:2312.04876\n    (2023).",
)
@takes_weight
@on_one_device()
def louvain_communities(
    graph: Any,
    *,
    weighted: bool = True,
    resolution: float | Sequence[float] = 1.0,
    seed: int = 0,
    refine: bool = False,
    quality: Quality = "modularity",
    directed: bool = False,
    node_weights: Any = None,
    start: Any = None,
    fixed: Any = None,
    max_size: int | Sequence[int | None] | None = None,
    min_size: int = 1,
    iterations: int | None = 1,
    runs: int = 1,
) -> CommunitiesResult | list[CommunitiesResult]:
    """Find communities of high modularity, or of another quality, by Louvain's method."""
    check_flags(refine=refine)
    options: Options = {
        "weighted": weighted, "seed": seed, "quality": quality, "directed": directed, "node_weights": node_weights,
        "start": start, "fixed": fixed, "max_size": max_size, "min_size": min_size, "iterations": iterations,
        "runs": runs,
    }  # fmt: skip
    return _find_communities(graph, resolution, refine, **options)


# --- checks of the arguments of Louvain's and Leiden's methods, and the one search that serves both -------------------


class _Arguments(NamedTuple):
    """The checked and converted arguments of Louvain's or Leiden's method, other than the graph."""

    weighted: bool
    resolutions: list[float]
    refine: bool
    seed: int
    quality: Quality
    directed: bool
    node_weights: Array | None
    start: Array | None
    fixed: Array | None
    sizes: list[int | None]
    min_size: int
    iterations: int | None
    runs: int


def _find_communities(
    graph: Any, resolution: float | Sequence[float], refine: bool, **options: Unpack[Options]
) -> CommunitiesResult | list[CommunitiesResult]:
    """Check the arguments of Louvain's or Leiden's method, and find communities, with one result for each resolution.

    Results of a distributed graph are moved to host memory.
    """
    graph = as_graph(graph)
    question, several = _check_arguments(graph, resolution, refine, **options)
    levels_of_resolutions = _find_levels(graph, question=question)
    if not graph.is_whole:
        levels_of_resolutions = [[moved(labels, "cpu") for labels in levels] for levels in levels_of_resolutions]
    results = [CommunitiesResult(levels[-1], levels) for levels in levels_of_resolutions]
    return results if several else results[0]


def _find_levels(graph: Graph, *, question: _Arguments) -> list[list[Array]]:
    """Search for communities at each resolution, and return for each a list with the community of every vertex after
    each level.

    The finest level comes first. `question` has the checked arguments.
    """
    graph, exponent = counted(graph, question.weighted)
    search = _make_search(graph, exponent, question)
    levels_of_resolutions = []
    for resolution in question.resolutions:
        scaled_search = search._replace(resolution=search.resolution * resolution)
        if question.runs > 1:
            weights = together(scaled_search, graph, question.runs, question.start, question.seed)
            weakened = _make_search(graph.with_values(weights), exponent, question)
            scaled_search = weakened._replace(resolution=scaled_search.resolution)
        arguments = question.start, question.seed, question.iterations, question.min_size
        levels_of_resolutions.append(
            [labels.astype(graph.id_dtype, copy=False) for labels in nested(scaled_search, question.sizes, *arguments)]
        )
    return levels_of_resolutions


def _make_search(graph: Graph, exponent: int, question: _Arguments) -> Search:
    """Return the search for communities, with resolution 1, that the arguments `question` describe.

    The weights of `graph` were divided by the power of two with the given exponent, so penalties are divided by it as
    well.
    """
    xp: Any = module_of(graph.device)
    is_directed = question.directed and not graph.has_symmetric_values
    weights, factor = None, 1.0
    if question.quality == "cpm":
        weights = xp.ones(graph.n) if question.node_weights is None else question.node_weights
        factor = float(np.ldexp(2.0 if is_directed else 1.0, -exponent))
    elif is_directed:
        ones = xp.ones(graph.n)
        out_weight = mxv(graph, ones)
        weights = out_weight, vxm(ones, graph) / (float(out_weight.sum()) or 1.0)
    return Search(both_ways(graph), weights, factor, question.refine, question.fixed)


def _check_arguments(
    graph: Graph,
    resolution: float | Sequence[float],
    refine: bool,
    *,
    weighted: bool,
    seed: int,
    quality: Quality,
    directed: bool,
    node_weights: Any,
    start: Any,
    fixed: Any,
    max_size: int | Sequence[int | None] | None,
    min_size: int,
    iterations: int | None,
    runs: int,
) -> tuple[_Arguments, bool]:
    """Return the checked arguments, and whether there are several resolutions.

    Parameters
    ----------
    graph, resolution, refine, weighted, seed, quality, directed, node_weights, start, fixed :
        as for `louvain_communities`, not yet checked
    max_size, min_size, iterations, runs :
        as for `louvain_communities`, not yet checked
    """
    check_flags(weighted=weighted, directed=directed)
    check_choice("quality", quality, get_args(Quality))
    several = _is_sequence(resolution)
    resolutions = [real_number("resolution", each) for each in (resolution if several else [resolution])]  # type: ignore[union-attr]
    seed, smallest = whole_number("seed", seed, MOST_SEED), _positive_number("min_size", min_size)
    runs = _positive_number("runs", runs, MOST_RUNS)
    iterations = None if iterations is None else _positive_number("iterations", iterations)
    sizes = [each if each is None else _positive_number("max_size", each) for each in _maximum_sizes(max_size)]
    if node_weights is not None:
        if quality != "cpm":
            raise ValueError(f"node_weights are for quality='cpm'; with {quality!r} vertices count by their degrees")
        node_weights = _checked_node_weights(graph, node_weights)
    fixed_vertices = _fixed_mask(graph, fixed)
    start_labels = _start_labels(graph, start, fixed_vertices, sizes)
    is_not_default = {
        "quality": quality != "modularity", "directed": directed, "node_weights": node_weights is not None,
        "start": start is not None, "fixed": fixed is not None, "max_size": sizes != [None], "min_size": smallest > 1,
        "iterations": iterations != 1, "runs": runs > 1,
    }  # fmt: skip
    for name in (name for name, is_given in is_not_default.items() if is_given):
        graph.require_whole(name)
        if name in ("directed", "fixed", "max_size") and graph.engine != "cpu":
            raise ValueError(
                f"{name} is for graphs in host memory, and this one is on the {graph.engine}: graph.to('cpu')"
            )
    return _Arguments(
        weighted,
        resolutions,
        refine,
        seed,
        quality,
        directed,
        node_weights,
        start_labels,
        fixed_vertices,
        sizes,
        smallest,
        iterations,
        runs,
    ), several


def _is_sequence(argument: Any) -> bool:
    """Return whether an argument is a sequence of several values. A string is not."""
    return hasattr(argument, "__iter__") and not isinstance(argument, str | bytes) and getattr(argument, "ndim", 1) > 0


def _positive_number(name: str, argument: Any, largest: int | None = None) -> int:
    """Return the argument `name` as an int. Raise an error unless it is a whole number from 1 to `largest`."""
    whole = whole_number(name, argument, largest)
    if whole == 0:
        raise ValueError(f"{name} is 0; expected 1 or more")
    return whole


def _maximum_sizes(max_size: Any) -> list[Any]:
    """Return the argument `max_size` as a list of sizes that ascend, where only the last may be None, for no limit."""
    if not _is_sequence(max_size):
        return [max_size]
    sizes = [*max_size]
    bounds = [np.inf if size_limit is None else whole_number("max_size", size_limit) for size_limit in sizes]
    if not sizes or any(lower >= higher for lower, higher in pairwise(bounds)):
        raise ValueError(f"max_size is {reprlib.repr(max_size)}; expected one number, or several in ascending order")
    return sizes


def _checked_node_weights(graph: Graph, argument: Any) -> Array:
    """Return the argument `node_weights` as float64 on the device of the graph. Raise an error if a weight is not
    valid.
    """
    weights = as_array("node_weights", argument)
    if weights.shape != (graph.n,) or weights.dtype.kind not in "iuf":
        raise ValueError(
            f"node_weights is {reprlib.repr(argument)}, {weights.dtype}{weights.shape}; expected {graph.n} numbers"
        )
    weights = moved(weights, graph.device).astype(np.float64)
    if not bool(((weights >= 0) & (weights < np.inf)).all()):
        raise ValueError("node_weights has a negative, infinite or NaN entry; expected finite numbers of 0 or more")
    return weights


def _fixed_mask(graph: Graph, fixed: Any) -> Array | None:
    """Return the argument `fixed`, which may be a mask, ids or names of vertices, as a mask, or None if it is None."""
    if fixed is None:
        return None
    xp: Any = module_of(graph.device)
    mask = fixed if hasattr(fixed, "dtype") else np.asarray(fixed) if isinstance(fixed, list) else None
    if mask is not None and mask.dtype.kind == "b" and mask.ndim == 1:
        if len(mask) != graph.n:
            raise ValueError(f"fixed has {len(mask)} truth values; expected one for each of {graph.n} vertices")
        return xp.asarray(moved(mask, graph.device))
    is_fixed = xp.zeros(graph.n, bool)
    is_fixed[vertex_ids(graph, "fixed", fixed)] = True
    return is_fixed


def _start_labels(graph: Graph, argument: Any, fixed_vertices: Array | None, sizes: list[int | None]) -> Array | None:
    """Return the argument `start` as communities numbered from 0, or None if the search starts from single vertices.

    A community that is larger than the largest maximum size is split into single vertices, except for fixed vertices.
    """
    xp: Any = module_of(graph.device)
    ids = xp.arange(graph.n)
    if argument is None:
        return None if fixed_vertices is None else ids.astype(graph.id_dtype)
    if isinstance(argument, CommunitiesResult):
        labels = as_ids("start", argument.labels)
        if len(labels) > graph.n:
            raise ValueError(f"start has {len(labels)} vertices, and the graph {graph.n}; expected no more")
        labels = xp.concatenate([moved(labels, graph.device), xp.full(graph.n - len(labels), -1)])
    elif isinstance(argument, Mapping):
        vertices = several_vertices(graph, "start", [*argument], "vertex")
        labels = xp.full(graph.n, -1)
        labels[xp.asarray(vertices, np.int64)] = xp.asarray(as_ids("start", [*argument.values()]))
    else:
        labels = moved(as_ids("start", argument), graph.device)
        if len(labels) != graph.n:
            raise ValueError(
                f"start has {len(labels)} labels; expected one for each of {graph.n} vertices, -1 for a vertex alone"
            )
    if len(labels) and int(labels.min()) < -1:
        raise ValueError(f"start has the label {int(labels.min())}; expected 0 or more, or -1 for a vertex alone")
    labels = numbered(xp.where(labels < 0, -1 - ids, labels))
    members = xp.bincount(labels)[labels]
    if sizes[-1] is not None:
        too_large = members > sizes[-1]
        labels = numbered(
            xp.where(too_large & (~fixed_vertices if fixed_vertices is not None else True), graph.n + ids, labels)
        )
    if fixed_vertices is not None and sizes[0] is not None and graph.n:
        fixed_counts = xp.bincount(labels[fixed_vertices], minlength=1)
        if int(fixed_counts.max()) > sizes[0]:
            raise ValueError(
                f"{int(fixed_counts.max())} fixed vertices are in one community of start; expected at most {sizes[0]}, "
                "the max_size"
            )
    return labels.astype(graph.id_dtype)


ROW = [
    Row(
        leiden_communities,
        groups("leiden-communities", "community", "communities"),
        Task(options={"weighted": False}, part="labels", form="nothing"),
        method="GVE-Leiden (Sahu et al., arXiv:2312.13936, 2023); on a GPU ν-Leiden and cuGraph's",
        longer="Passes with a hash table of neighboring communities per vertex, refinement, and new graphs.",
    ),
    Row(
        louvain_communities,
        groups("louvain-communities", "community", "communities"),
        Task(options={"weighted": False}, part="labels", form="nothing"),
        method="GVE-Louvain (Sahu, arXiv:2312.04876, 2023); on a GPU ν-Louvain (arXiv:2501.19004, 2025)",
        longer="Passes with a hash table of neighboring communities per vertex, and new graphs between levels.",
    ),
]
