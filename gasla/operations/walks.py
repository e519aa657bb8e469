"""Run walk programs on a graph: random walks with user-defined rules (`walk`).

Each draw is a function of the seed, the walker's number, the step and the draw's number: `semirings.hash(seed, walker,
step, draw)`. So walks are the same on both engines and on any number of threads. A uniform draw takes the upper bits of
the hash times the degree. A weighted draw searches the prefix sums of the list's weights, from the position that a
guide table gives (indexed search). `accept` is rejection sampling.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gasla.arrays import here
from gasla.engines import engine
from gasla.graph.arguments import NO_LIMIT, check_flags, vertex_ids, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.memory_limit import require_room
from gasla.operations.on_one_device import on_one_device
from gasla.operations.sampling import Array, check_lists, seed_hash, weights_of
from gasla.program.binding import by_number
from gasla.program.walk_plan import WalkBinding
from gasla.program.walk_program import WalkProgram, as_walk_program
from gasla.rows import Row

STEP = 4  # A step of a walk reads memory at random, so it takes as long as this many visits of an edge.


@on_one_device("walkers")
def walk(
    program: WalkProgram | type[WalkProgram],
    graph: Any,
    starts: Any,
    steps: int,
    *,
    weighted: bool = False,
    seed: int = 0,
    **values: Any,
) -> Array:
    """Return random walks along edges from many vertices at once, as a walk program says.

    Parameters
    ----------
    program : WalkProgram
        An instance (with its parameters), or a class (with the default parameters).
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. Parallel edges each count, and a self loop is a step that stays.
    starts : (walkers,) array of ids or names
        Start vertex of each walker; a vertex may occur several times.
    steps : int
        Number of steps of each walker, 0 or more.
    weighted : bool
        Whether an edge is drawn in proportion to its value, which must be finite and not negative; an edge of weight 0
        is never taken. Otherwise, and in a graph without values, all out-edges of a vertex are equally likely, stored
        zeros too.
    seed : int
        At most 64 bits. The same seed gives the same walks on both engines.
    **values
        Values of vertex fields, in place of the declared `init`: an array of n entries, which is only read, or a dict
        from vertex to value for the few vertices that differ. And values of parameters, in place of the program's.

    Returns
    -------
    (walkers, steps + 1) array of the type of vertex ids
        One row per walker: its start, and its vertex after each step. -1 once it has ended: by `stop`, or at a vertex
        without an out-edge that has a weight and that `accept` lets pass.

    Raises
    ------
    TypeError, ValueError
        If a start is not a vertex, or `steps` or `seed` is not a valid number; for unknown fields, wrong shapes or
        types; if weights are negative, not finite, or add up to infinity at a vertex; if `stop` or `restart` returns a
        number outside 0 to 1, or `accept` one outside 0 to `bound`.
    MemoryError
        If the walks need more memory than is available.

    Notes
    -----
    Weighted walks keep 12 bytes per edge with the graph. After d + 32 rejected draws at a vertex of d out-edges,
    `accept` is evaluated for all of them and one is drawn from the exact distribution, so every step ends. `has_edge`
    searches a sorted copy of the neighbor lists, kept with the graph, unless they are sorted already.

    See Also
    --------
    gasla.random_walks, gasla.node2vec_walks : The walk programs of the library.

    References
    ----------
    H. Chen, Y. Asau: On Generating Random Variates from an Empirical Distribution. AIIE Transactions 6 (1974). K. Yang
    et al.: KnightKing: A Fast Distributed Graph Random Walk Engine. SOSP 2019.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> class Homing(gasla.WalkProgram):
    ...     chance = gasla.parameter(np.float64, 0.5)
    ...     def restart(self, vertex): return self.chance
    >>> path = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    >>> gasla.walk(Homing, path, [0, 1], 5, seed=1)
    array([[0, 1, 0, 0, 1, 0],
           [1, 2, 3, 1, 1, 2]], dtype=int32)
    """
    program, graph, steps, key = (
        as_walk_program(program),
        as_graph(graph),
        whole_number("steps", steps, NO_LIMIT),
        seed_hash(seed),
    )
    check_flags(weighted=weighted)
    starts = vertex_ids(graph, "starts", starts)
    count = len(starts) * (steps + 1)
    require_room("the walks have", count, starts.itemsize, graph.device, "fewer steps, or fewer starts")
    changed_parameters = {name: values.pop(name) for name in program.parameters.keys() & values.keys()}
    program = type(program)(**program.values | changed_parameters) if changed_parameters else program
    # In a distributed run, a rank that walks can't ask other ranks for their blocks of an array. So each rank gets
    # whole arrays.
    values = {name: value.compute() if hasattr(value, "compute") else value for name, value in values.items()}
    walk_options = program, steps, key, weighted, by_number(graph, values)
    if graph.sharers(len(starts), STEP * len(starts) * steps):
        # each rank runs the walks of some of the walkers
        return graph.map_shares(partial(_walk_some, walk_options), starts)
    return _walk_some(walk_options, graph, starts, 0)


def _walk_some(walk_options: tuple[Any, ...], graph: Graph, starts: Array, first_walker: int) -> Array:
    """Return the random walks of some of the walkers, which start at the vertices `starts`.

    `walk_options` has the program and the options of all walks. The walkers are numbered from `first_walker`, and the
    random draws of a walk depend on its walker's number, so walks don't depend on how walkers are divided.
    """
    program, steps, key, weighted, values = walk_options
    check_lists(graph)
    if program.edge_fields:
        graph.notice_values()
    primitives = engine(graph.engine).primitives()
    weights = weights_of(graph, primitives) if weighted and graph.value_type is not None and graph.m else None
    starts = here(starts, graph.device)  # copied to the graph's GPU if it is on another GPU of this process
    values = {name: here(x, graph.device) if np.ndim(x) and hasattr(x, "dtype") else x for name, x in values.items()}
    return primitives.walk(WalkBinding(program, graph, values), starts, steps, key, weights, first_walker)


ROW = Row(
    walk,
    method="rejection for any program: KnightKing (Yang et al., SOSP 2019); ThunderRW (PVLDB 14, 2021)",
    longer="Steps are drawn until one is accepted: each is a dependent random read, or several.",
)
