"""`walk`: a walk program, a graph, and where walkers go.

What a walker draws is a function of the seed, the walker's number, the step and the draw: `semirings.hash(seed, walker,
step, draw)`. So walks are the same on both engines, on any number of threads, and however walkers are put into calls
that number them alike. One of edges alike is found by the upper bits of the hash times the degree; one by weight in
the sums of weights of the list, from where a guide says (indexed search). What a program's accept says is heard by
drawing again (rejection).

H. Chen, Y. Asau: On Generating Random Variates from an Empirical Distribution. AIIE Transactions 6 (1974). K. Yang et
al.: KnightKing: A Fast Distributed Graph Random Walk Engine. SOSP 2019.
"""

from __future__ import annotations

from typing import Any

from gasla.engines import engine
from gasla.graph.arguments import NO_LIMIT, check_flags, whole_number
from gasla.graph.graph import as_graph
from gasla.operations.sampling import Array, check_lists, chosen, key_of, weights_of
from gasla.program.walk_plan import WalkBinding
from gasla.program.walk_program import WalkProgram, as_walk_program


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
    """Walk along edges by lot, from many vertices at once, as a program says.

    Parameters
    ----------
    program : WalkProgram
        An instance (with its parameters), or a class (with their defaults).
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. Each of parallel edges counts, and a loop is a step to where one is.
    starts : (walkers,) array of integers
        Where walkers begin; a vertex may be named several times.
    steps : int
        How many each takes, 0 or more.
    weighted : bool
        Whether an edge is drawn in proportion to its value, which is finite and 0 or more; one of 0 is never taken.
        Otherwise, and in a graph without values, all out-edges of a vertex are alike, stored zeros too.
    seed : int
        Of at most 64 bits. The same seed gives the same walks, on both engines.
    **values
        Fields of vertices, in place of what the program declares: arrays of n entries, which are only read, or a dict
        of vertex to value for those few that differ. And parameters, in place of the program's own.

    Returns
    -------
    (walkers, steps + 1) array of the type of ids
        A row a walker: where it begins, and where it is after each step. -1 once it has ended: by `stop`, where no edge
        leads on, or none that weighs anything and that accept lets pass.

    Raises
    ------
    TypeError, ValueError
        If a start is no vertex, `steps` or `seed` no such number; for unknown fields, wrong shapes or types; if weights
        are negative, not finite, or add up to infinity at a vertex; if `stop` or `restart` gives less than 0 or more
        than 1, or `accept` less than 0 or more than `bound`.

    Notes
    -----
    Weighted walks keep 12 bytes an edge with the graph. Once as many draws as the vertex has edges, and 32 more, were
    refused by `accept`, all edges are weighed and one is drawn of those: the same distribution, and an end. Whether
    there is an edge (`has_edge`) is searched in a sorted list, which is kept with the graph where lists don't ascend.

    See Also
    --------
    gasla.random_walks, gasla.node2vec_walks : programs that there are.

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
        key_of(seed),
    )
    check_flags(weighted=weighted)
    starts = chosen(graph, "starts", starts)
    check_lists(graph)
    changed = {name: values.pop(name) for name in program.parameters.keys() & values.keys()}
    program = type(program)(**program.values | changed) if changed else program
    if program.edge_fields:
        graph.notice_values()
    primitives = engine(graph.engine).primitives()
    weights = weights_of(graph, primitives) if weighted and graph.values is not None and graph.m else None
    return primitives.walk(WalkBinding(program, graph, values), starts, steps, key, weights)
