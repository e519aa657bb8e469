"""Softmax over the in-edges of each vertex (the attention of graph neural networks), and its gradient.

The first of two programs finds the largest score of each vertex's in-edges. The second adds up exp(score - largest),
which can't overflow, and divides the exponential of each edge by the sum at its target.

P. Velickovic et al.: Graph Attention Networks. ICLR 2018.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import semirings
from gasla.arrays import array_module, module_of, moved
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.validate import as_array
from gasla.operations.phases import Phase
from gasla.operations.run import run
from gasla.program import VertexProgram, edge, option, vertex
from gasla.rows import Row

Array = Any  # an array of NumPy or CuPy


class FindLargest(VertexProgram):
    """A program that finds the largest score of each vertex's in-edges, or 0 if all scores are minus infinity."""

    kind = option(np.float64)
    score = edge(kind, init=0)
    largest = vertex(kind, init=0)
    reduce = semirings.max
    everyone = True

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return edge.score

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"largest": semirings.where(gathered == -np.inf, 0, gathered)}


class Share(VertexProgram):
    """A program that computes the softmax of each edge.

    This is exp(score) divided by the sum of exp(score) over all in-edges of the edge's target.
    """

    kind = option(np.float64)
    score, share = edge(kind, init=0), edge(kind, init=0)
    largest, total = vertex(kind, init=0), vertex(kind, init=0)
    reduce = semirings.plus
    everyone = True

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return semirings.exp(edge.score - dst.largest)

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"total": gathered}

    def activate(self, before: Any, after: Any) -> Any:
        return True

    def scatter(self, src: Any, dst: Any, edge: Any) -> Any:
        part = semirings.exp(edge.score - dst.largest)
        return {"share": part / semirings.where(dst.total == 0, 1, dst.total)}


class Differentiate(VertexProgram):
    """A program that computes the gradient of a loss by the scores of edges, from its gradient by their softmax.

    For each edge this is its softmax times (gradient - mean). The mean is that of the gradients at the in-edges of the
    same target, weighted by their softmax.
    """

    kind = option(np.float64)
    share, given, slope = edge(kind, init=0), edge(kind, init=0), edge(kind, init=0)
    mean = vertex(kind, init=0)
    reduce = semirings.plus
    everyone = True

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return edge.share * edge.given

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"mean": gathered}

    def activate(self, before: Any, after: Any) -> Any:
        return True

    def scatter(self, src: Any, dst: Any, edge: Any) -> Any:
        return {"slope": edge.share * (edge.given - dst.mean)}


def edge_softmax(graph: Any, scores: Any) -> Array:
    """Compute the softmax of scores over the in-edges of each vertex: attention, as graph neural networks use it.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. Values are ignored.
    scores : (m,) or (m, heads) array of numbers
        For each edge, a score, or one for each head, on the device of the graph. Integers count as float64.

    Returns
    -------
    (m,) or (m, heads) array of float32 or float64
        ``exp(score)`` over the sum of this over all edges to the same target; these add up to 1. Scores of any size are
        safe. Minus infinity gives 0, also if all scores at a target are; NaN and infinity give NaN at their target.

    Raises
    ------
    TypeError, ValueError
        If scores are no numbers, or have another shape.

    See Also
    --------
    gasla.edge_softmax_gradient : the gradient by scores.

    Notes
    -----
    Each of parallel edges counts, as do self loops and stored zeros.

    References
    ----------
    P. Velickovic et al.: Graph Attention Networks. ICLR 2018.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> graph = gasla.Graph.from_edges([0, 1, 0], [2, 2, 1])
    >>> gasla.edge_softmax(graph, [1000.0, 1000.0, -3.0])
    array([0.5, 0.5, 1. ])

    Attention: messages along edges weigh as much as their shares.

    >>> share = gasla.edge_softmax(graph, np.log([1.0, 3.0, 1.0]))
    >>> gasla.aggregate_features(graph.with_values(share), np.array([4.0, 8.0, 0.0]))
    array([0., 4., 7.])
    """
    graph = whole_graph(graph)
    scores = _check_columns(graph, "scores", scores)
    phases = [FindLargest(kind=_field_type(scores)), Share(kind=_field_type(scores))]
    return _run_turn(graph, phases, "share", score=scores)


def edge_softmax_gradient(graph: Any, shares: Any, gradient: Any) -> Array:
    """Compute the gradient of a loss by the scores of `gasla.edge_softmax`, from the gradient by its result.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
    shares : (m,) or (m, heads) array
        What `edge_softmax` returned.
    gradient : array of this shape
        The derivative of a loss by each of the shares.

    Returns
    -------
    array of this shape
        The derivative of the loss by each score: ``share * (gradient - mean)``, where the mean is that of the gradients
        at the edges to the same target, weighted by their shares.

    Raises
    ------
    TypeError, ValueError
        As for `edge_softmax`; if both arrays have different shapes.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 0], [2, 2, 1])
    >>> shares = gasla.edge_softmax(graph, [0.0, 0.0, 5.0])
    >>> gasla.edge_softmax_gradient(graph, shares, [1.0, 0.0, 7.0])
    array([ 0.25, -0.25,  0.  ])
    """
    graph = whole_graph(graph)
    shares, slopes = _check_columns(graph, "shares", shares), _check_columns(graph, "gradient", gradient)
    if shares.shape != slopes.shape:
        raise ValueError(f"gradient has shape {slopes.shape}; expected {shares.shape}, that of shares")
    dtype = np.result_type(shares.dtype, slopes.dtype)
    shares, slopes = shares.astype(dtype, copy=False), slopes.astype(dtype, copy=False)
    return _run_turn(graph, [Differentiate(kind=_field_type(shares))], "slope", share=shares, given=slopes)


def _run_turn(graph: Graph, programs: list[VertexProgram], result: str, **columns: Array) -> Array:
    """Run programs one after another on arrays with a number for each edge, and return the edge field `result`.

    Each keyword is the name of an edge field of the programs, and gives the array of its values at the start.
    """
    first_column = next(iter(columns.values()))
    if not first_column.size:
        return first_column.copy()
    outcome: Array = run([Phase(program) for program in programs], graph, max_iterations=1, notice=False, **columns)
    return outcome.state[result]


def _field_type(columns: Array) -> Any:
    """Return the type of an edge field that holds an entry of `columns` for each edge: a number or a vector."""
    return columns.dtype if columns.ndim == 1 else (columns.dtype, (columns.shape[1],))


def _check_columns(graph: Graph, name: str, argument: Any) -> Array:
    """Check an argument that has a number or a row of numbers for each edge, and return a copy of it.

    The copy is an array of floats on the graph's device. `name` is the argument's name, for the error that is raised
    for anything else.
    """
    array = as_array(name, argument)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has type {array.dtype}; expected numbers")
    if array.ndim not in (1, 2) or len(array) != graph.m:
        expected = f"({graph.m},) or ({graph.m}, heads), a row for each edge"
        raise ValueError(f"{name} has shape {array.shape}; expected {expected}")
    if array_module(array) is not module_of(graph.device):
        array = moved(array, graph.device)
    return array.astype(array.dtype if array.dtype in (np.float32, np.float64) else np.float64)


ROW = [
    Row(
        edge_softmax,
        method="a fused maximum, sum and quotient per row: dgNN (Zhang et al., MLSys 2022)",
        longer="Each score is read twice and written once, by in-edges, which are not in the order of the input.",
    ),
    Row(
        edge_softmax_gradient,
        method="a fused sum and difference per row: dgNN (Zhang et al., MLSys 2022)",
        longer="Each share is read twice and written once, by in-edges, which are not in the order of the input.",
    ),
]
