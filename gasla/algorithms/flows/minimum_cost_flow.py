"""Minimum-cost flow: send given supplies to where they are wanted, within capacities, at the lowest cost.

The problem is a linear program, which SciPy's solver solves (HiGHS, dual simplex). A vertex of the polytope of flows
has whole numbers if supplies and capacities are whole. The solution of the dual program, a price at each vertex, proves
that no flow is cheaper. This proof is checked before an answer is returned, for integers exactly.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gasla.apart import call_apart
from gasla.graph.arguments import in_host_memory, vertex_numbers, weight_range
from gasla.graph.graph import Graph
from gasla.graph.validate import as_array
from gasla.graph.weights import takes_weight
from gasla.rows import Row

# Largest supply, capacity and integer cost. Larger numbers would lose their last units, because the solver computes in
# float64 with a relative error of about 1e-7.
LARGEST = 2**31
SCALE = 17  # the solver gets float costs scaled by a power of two, so that the largest has this many bits
TOLERANCE = 1e-9  # accepted error of float costs, relative to the largest cost
TOO_LARGE = "exceeds float64, 1.8e308; expected smaller costs: divide them by a power of two"


class MinimumCostFlow(NamedTuple):
    """The cost of the flow, the flow along each edge, and the price of a unit at each vertex."""

    cost: int | float
    flow: np.ndarray
    prices: np.ndarray


@takes_weight
def minimum_cost_flow(graph: Any, supplies: ArrayLike | dict[Any, int], *, capacities: Any = None) -> MinimumCostFlow:
    """Send supplies to where they are wanted, at the lowest cost.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the cost of a unit along the edge i -> j, a finite number, negative ones included; 1 without
        values. In host memory.
    supplies : (n,) array of whole numbers, or dict of vertex to whole number
        How much each vertex sends; negative, how much it takes. They add up to 0. Vertices that a dict lacks send
        nothing.
    capacities : str or (m,) array of whole numbers, optional
        The most that each edge carries, in input order, inf for no limit, or the edge attribute that has it. By default
        there is no limit.

    Returns
    -------
    MinimumCostFlow(cost, flow, prices)
        `cost`, an int for integer costs, else a float, is the lowest total cost. `flow`, shape (m,), int64, is the
        flow along each edge in input order, one of the cheapest. `prices`, shape (n,), of the type of `cost`, is
        the value of a unit at each vertex: along an edge that could carry more it rises by at most the cost, and along
        one that carries some by at least the cost. This proves that no flow is cheaper.

    Raises
    ------
    TypeError
        If the graph is on a GPU, or supplies or capacities are not whole numbers.
    ValueError
        If supplies are infinite or do not add up to 0; if a capacity is negative, a cost NaN or infinite, or numbers
        exceed 2**31; if the cost of the flow, or a price, exceeds float64; if no flow meets the supplies; if a cycle of
        negative cost has no limit; or if rounding in the solver spoiled the answer.

    See Also
    --------
    gasla.maximum_flow : as much as can flow between two vertices.
    gasla.assignment : of pairs, one to one.

    Notes
    -----
    Stored zeros are edges of cost 0; parallel edges each carry a flow. Float costs are compared within 1e-9 of the
    largest. Vertices that no edge joins have prices on scales of their own.

    SciPy's solver takes seconds for 100,000 edges, on one thread; Ctrl-C ends the wait for it at once. A network
    simplex in C++, as in OR-tools (`SimpleMinCostFlow`), is faster for larger graphs.

    References
    ----------
    R. K. Ahuja, T. L. Magnanti, J. B. Orlin: Network Flows. Prentice Hall (1993). Q. Huangfu, J. A. J. Hall:
    Parallelizing the dual revised simplex method. Mathematical Programming Computation 10 (2018).

    Examples
    --------
    Vertex 0 sends 4 units to vertex 2; the cheaper way carries 3:

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 0], [1, 2, 2], [1, 1, 5])
    >>> gasla.minimum_cost_flow(graph, [4, 0, -4], capacities=[3, 9, 9])
    MinimumCostFlow(cost=11, flow=array([3, 3, 1]), prices=array([-5, -1,  0]))
    """
    graph = in_host_memory("minimum_cost_flow", graph)
    graph.notice_values()
    costs = _edge_costs(graph)
    if isinstance(supplies, dict):
        supplies = vertex_numbers(graph, "supplies", supplies)
    sends = _whole_numbers("supplies", supplies, graph.n, "vertex")
    if np.isinf(sends).any():
        v = int(np.isinf(sends).argmax())
        raise ValueError(f"the supply of vertex {graph.name(v)!r} is {sends[v]}; expected finite numbers")
    if sends.sum() != 0:
        raise ValueError(f"the supplies add up to {sends.sum():.0f}; expected finite numbers that add up to 0")
    if isinstance(capacities, str):
        graph.edge_attributes.require(capacities, "capacities")
        capacities = graph.edge_attributes[capacities]
    limits = (
        np.full(graph.m, np.inf) if capacities is None else _whole_numbers("capacities", capacities, graph.m, "edge")
    )
    if (limits < 0).any():
        e = int((limits < 0).argmax())
        raise ValueError(f"the capacity of edge {e} is {limits[e]:.0f}; expected 0 or more")
    flow, prices = _solve_program(graph, costs, sends, limits)
    if costs.dtype.kind == "i":
        return MinimumCostFlow(sum(map(int.__mul__, costs.tolist(), flow.tolist())), flow, prices)
    with np.errstate(over="ignore"):
        edge_costs = costs * flow
    try:
        cost = math.fsum(edge_costs.tolist())
    # `fsum` raises these errors if partial sums overflow, or if it meets inf and -inf
    except (OverflowError, ValueError):
        cost = math.inf
    if not math.isfinite(cost):
        raise ValueError(f"the cost {TOO_LARGE}")
    return MinimumCostFlow(cost, flow, prices)


def _edge_costs(graph: Graph) -> np.ndarray:
    """Return the costs of the edges as int64 or float64. Raise ValueError if a cost is too large for the solver."""
    if graph.values is None:
        return np.ones(graph.m, np.int64)
    smallest, largest = weight_range(graph)
    costs: np.ndarray = graph.values
    if costs.dtype.kind == "f":
        if largest == np.inf:
            raise ValueError("a cost is infinite; expected finite costs: leave out edges that must not be taken")
        return costs.astype(np.float64)
    if len(costs) and max(-int(costs.min()), int(costs.max())) > LARGEST:
        raise ValueError(f"integer costs range from {smallest} to {largest}; expected at most 2**31, or floats")
    return costs.astype(np.int64)


def _whole_numbers(name: str, argument: Any, count: int, owner: str) -> np.ndarray:
    """Return the argument `argument`, an array of whole numbers or inf, as float64.

    Raise an error if an entry is not whole, or too large. `name` is the argument's name, and `owner`, such as "vertex",
    says what an entry belongs to.
    """
    numbers = np.asarray(as_array(name, argument))
    if numbers.dtype == object and all(isinstance(item, Real) for item in numbers.flat):
        numbers = np.asarray(np.frompyfunc(_clamp_integer, 1, 1)(numbers), np.float64)
    if numbers.dtype.kind not in "biuf" and numbers.size:
        raise TypeError(f"{name} is {numbers.dtype}; expected whole numbers")
    if numbers.shape != (count,):
        raise ValueError(f"{name} has shape {numbers.shape}; expected {(count,)}, one per {owner}")
    numbers = numbers.astype(np.float64)
    is_wrong = (numbers != np.rint(numbers)) | np.isnan(numbers)
    if is_wrong.any():
        raise TypeError(f"{name} has the entry {numbers[is_wrong][0]}; expected whole numbers: multiply by a unit")
    is_large = np.isfinite(numbers) & (np.abs(numbers) > LARGEST)
    if is_large.any():
        i = int(is_large.argmax())
        raise ValueError(
            f"{name} has entries of more than 2**31, {np.asarray(argument)[i]} for {owner} {i}; expected smaller ones: "
            "divide by a unit"
        )
    return numbers


def _clamp_integer(value: Any) -> Any:
    """Return a number unchanged, except that an integer beyond 2**64 in absolute value becomes 2**64 or -2**64.

    Larger integers may not fit a float. `_whole_numbers` rejects 2**64 as too large, too.
    """
    return value if isinstance(value, float) else min(max(value, -(2**64)), 2**64)


def _solve_program(
    graph: Graph, costs: np.ndarray, sends: np.ndarray, limits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve minimum-cost flow as a linear program, and return the flow along each edge and the price at each vertex.

    `sends` are the supplies of the vertices, and `limits` the capacities of the edges. Raise ValueError if no flow
    meets the supplies, or the answer can't be proved optimal.
    """
    from scipy import optimize
    from scipy.sparse import coo_array

    linprog: Any = optimize.linprog

    src, dst = (np.asarray(endpoint, np.int64) for endpoint in graph.edges())
    if graph.m == 0:
        if sends.any():
            raise ValueError(_infeasible_message(sends))
        return np.zeros(0, np.int64), np.zeros(graph.n, costs.dtype)
    is_integer = costs.dtype.kind == "i"
    scale = 0 if is_integer else SCALE - int(np.frexp(np.abs(costs).max())[1])
    edges, ones = np.arange(graph.m), np.ones(graph.m)
    entries = np.append(ones, -ones), (np.append(src, dst), np.append(edges, edges))
    incidence: Any = coo_array(entries, shape=(graph.n, graph.m)).tocsc()
    bounds = np.column_stack([0 * ones, limits])
    # After presolve, the solver's status 4 leaves open whether a cheapest flow exists. Then it runs again without
    # presolve.
    for presolve in (True, False):
        optimum: Any = call_apart(
            lambda presolve=presolve: linprog(
                np.ldexp(costs.astype(np.float64), scale), A_eq=incidence, b_eq=sends, bounds=bounds, method="highs-ds",
                options={"presolve": presolve},
            )
        )  # fmt: skip
        if optimum.status != 4:
            break
    if optimum.status == 2:
        raise ValueError(_infeasible_message(sends))
    if optimum.status == 3:
        raise ValueError("a cycle of negative cost has no limit; expected capacities that limit it")
    if optimum.status != 0:
        raise RuntimeError(f"SciPy's solver ended with: {optimum.message}")
    flow, duals = np.rint(optimum.x).astype(np.int64), -optimum.eqlin.marginals
    with np.errstate(over="ignore", invalid="ignore"):
        prices = np.rint(duals).astype(np.int64) if is_integer else np.ldexp(duals, -scale)
        reduced = costs + prices[src] - prices[dst]
    if not np.isfinite(reduced).all() or not np.isfinite(prices).all():
        raise ValueError(f"a price {TOO_LARGE}")
    slack = 0 if is_integer else TOLERANCE * float(np.abs(costs).max())
    net_outflow = np.bincount(src, flow, graph.n) - np.bincount(dst, flow, graph.n)
    is_flow = (flow >= 0).all() and (flow <= limits).all() and (net_outflow == sends).all()
    if not is_flow or (reduced[flow < limits] < -slack).any() or (reduced[flow > 0] > slack).any():
        raise ValueError("the solver's answer is not exact; expected numbers of fewer digits: divide them by a unit")
    return flow, prices


def _infeasible_message(sends: np.ndarray) -> str:
    """Return the error message for supplies that no flow within the capacities can meet."""
    return (
        f"no flow meets the supplies, {np.maximum(sends, 0).sum():.0f} units; expected paths of enough capacity from "
        "vertices that send to those that take"
    )


ROW = Row(
    minimum_cost_flow,
    method="a network simplex with block pivots (Kovács, Optimization Methods and Software 30, 2015, LEMON)",
    longer="SciPy solves a linear program by a simplex method, on one thread.",
)
