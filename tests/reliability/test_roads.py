"""A graph over ranks, mapped, or on a GPU: calls end as on a plain one, with the same error or the same answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import pytest

import gasla
from gasla import distributed, engines
from tests.algorithms.test_arguments import FUNCTIONS, GRAPH, wrong_calls
from tests.distributed.test_ranks import NOT_HAD
from tests.helpers import programs
from tests.helpers.emulated_peers import without_gpus
from tests.helpers.errors import ERRORS, GRAPHS, HARD
from tests.helpers.law import Asked, Row
from tests.helpers.law_trials import differs, outcome
from tests.helpers.laws import ROWS
from tests.helpers.roads import ROADS, difference, end_of

GPU = "gpu", "streamed"  # roads on which programs are compiled
ON_ROADS = [
    "ranks",
    pytest.param("one rank", marks=pytest.mark.thorough),
    "mapped",
    pytest.param("gpu", marks=pytest.mark.gpu),
    pytest.param("streamed", marks=pytest.mark.gpu),
]


def check_errors(make: Callable[[gasla.Graph], Any], road: str = "") -> None:
    """Each error of the table, and then a right answer on the same graph."""
    made = {name: make(graph) for name, graph in GRAPHS.items()}
    with nullcontext() if road in GPU else engines.interpreted():
        for number, wrong in enumerate(ERRORS):
            expected, answer = end_of(wrong.call, GRAPHS[wrong.graph])
            assert expected.startswith(wrong.error) and wrong.error, (number, expected or answer)
            found, answer = end_of(wrong.call, made[wrong.graph])
            assert found == expected, (number, found or answer)
        for name, graph in GRAPHS.items():
            assert not difference(gasla.bfs(graph, 0), gasla.bfs(made[name], 0)), name


@pytest.mark.parametrize("road", ON_ROADS)
def test_errors_are_those_of_a_plain_graph(road: str) -> None:
    check_errors(ROADS[road], road)


def asked(given: Any, plain: gasla.Graph) -> Asked:
    return Asked(given, plain, np.arange(plain.n), np.arange(plain.m), plain.m)


def check_row(row: Row, name: str, road: str) -> None:
    """A function on a hard graph ends alike."""
    graph = HARD[name]
    with np.errstate(all="ignore"):
        one = outcome(row, asked(graph, graph), "numpy")
        other = outcome(row, asked(ROADS[road](graph), graph), "gpu" if road in GPU else "numpy")
    assert (other.refusal, other.error) == (one.refusal, one.error), (row.name, name, road)
    if one.answer is not None and other.answer is not None:
        assert not differs(one.answer, other.answer, row.rtol), (row.name, name, road)
        kinds = [{key: getattr(x, "dtype", None) for key, x in answer.items()} for answer in (one.answer, other.answer)]
        assert kinds[0] == kinds[1], (row.name, name, road)
        assert one.converged == other.converged, (row.name, name, road)


LONG = {
    "layout",
    "hits",
    "salsa",
    "eigenvector_centrality",
    "pagerank",
    "pagerank_nibble",
}  # hundreds of iterations by NumPy
IN_ONE_MEMORY = {"simple_cycles"}  # whose kernel reads the lists of a GPU, but none of the host
OVER_RANKS = [row for row in ROWS if row.ranks]


@pytest.mark.parametrize("number", range(len(OVER_RANKS)), ids=lambda number: OVER_RANKS[number].name)
def test_some_hard_graphs_over_ranks(number: int) -> None:
    if OVER_RANKS[number].function not in LONG:
        check_row(OVER_RANKS[number], [*HARD][number % len(HARD)], "ranks")


@pytest.mark.thorough
@pytest.mark.parametrize("row", OVER_RANKS, ids=lambda row: row.name)
def test_hard_graphs_over_ranks(row: Row) -> None:
    for name in [*HARD][len(row.name) % 3 :: 3] if row.function in LONG else HARD:
        check_row(row, name, "ranks")


def check_some(number: int, road: str) -> None:
    """Check a row with two graphs; the next row has others."""
    names = [*HARD]
    for name in (names[number % len(names)], names[(7 * number + 3) % len(names)]):
        check_row(ROWS[number], name, road)


NUMBERS = [number for number, row in enumerate(ROWS) if row.function not in LONG]


@pytest.mark.thorough
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: ROWS[number].name)
def test_hard_graphs_that_are_mapped(number: int) -> None:
    check_some(number, "mapped")


@pytest.mark.thorough
@pytest.mark.parametrize("road", ON_ROADS[3:])
@pytest.mark.parametrize(
    "number", [number for number in NUMBERS if ROWS[number].gpu], ids=lambda number: ROWS[number].name
)
def test_hard_graphs_on_a_gpu(number: int, road: str) -> None:
    if road == "streamed" and ROWS[number].function in IN_ONE_MEMORY:
        pytest.skip("the function refuses graphs that are streamed")
    check_some(number, road)


TAKEN = FUNCTIONS.keys() - (NOT_HAD.keys() - {"pagerank", "preferential_attachment", "count_cliques", "clustering"})
SOME = {"bfs", "pagerank", "maximal_independent_set", "earliest_arrival", "random_walks", "condensation"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SOME else pytest.mark.thorough) for name in sorted(TAKEN)]
)
def test_an_argument_of_the_wrong_kind_over_ranks(name: str) -> None:
    """By the same words."""
    function, spread = FUNCTIONS[name], ROADS["ranks"](GRAPH)
    for parameter, arguments in wrong_calls(function):
        one, other = (end_of(partial(function, **arguments), graph)[0] for graph in (GRAPH, spread))
        assert one == other != "", (parameter, arguments[parameter])


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_errors_after_kernels_of_several_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Emulated: the program runs in kernels, and its result tells of the error."""
    without_gpus(monkeypatch)
    for number, wrong in enumerate(ERRORS):
        if wrong.call in (gasla.topological_order, gasla.longest_path):
            found, answer = end_of(wrong.call, ROADS["ranks"](GRAPHS[wrong.graph]))
            assert found.startswith(wrong.error), (number, found or answer)


# --- what others raise ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("hears", ["callback", "progress"])
def test_an_error_of_a_callback_leaves_ranks_usable(error: type[BaseException], hears: str) -> None:
    graph = gasla.Graph.from_edges(range(9), range(1, 10))
    start: dict[str, Any] = {"active": [0], "hops": {0: 0}, "compile": False}

    def failing(_: Any) -> None:
        raise error

    with distributed.Cluster(threads=3):
        spread = distributed.Graph(graph)
        for _ in range(3):
            with pytest.raises(error):
                gasla.run(programs.Hops, spread, **start, **{hears: failing})
            np.testing.assert_array_equal(gasla.run(programs.Hops, spread, **start).hops, np.arange(10))


@pytest.mark.parametrize("road", ["mapped", "ranks"])
def test_functions_of_scipy_take_arrays_alone(road: str) -> None:
    for name in ("dijkstra", "bellman_ford", "shortest_path", "connected_components", "minimum_spanning_tree"):
        for graph in (GRAPHS["plain"], ROADS[road](GRAPHS["plain"])):
            with pytest.raises(TypeError, match=r"csgraph is a gasla.Graph; expected .* array: graph.to_scipy\(\)"):
                getattr(gasla.csgraph, name)(graph)
