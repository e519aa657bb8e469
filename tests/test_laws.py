"""The laws of `laws.py` hold: a few on NumPy's engine in every run, all of them compiled, many by name."""

import inspect
import os
from collections.abc import Callable

import numba
import pytest
from law_trials import Tally, try_row
from laws import COLUMNS, PAGE, ROWS, Row, page

import gasla

MANY = int(os.environ.get("GASLA_LAWS", "20"))
# No functions of one graph, or without an answer that a law could be about.
WITHOUT = {
    "as_graph": "the graph itself",
    "explain": "a text",
    "reduce_by_key": "takes keys, no graph",
    "vertex edge parameter aggregate": "declare fields",
}
NOT_MADE = {"kept", "known", "ends_since", "notice_values", "named", "vertex", "to_igraph", "to_networkx", "to_edge_index"}


def names(of: Callable[[Row], str]) -> set[str]:
    return {name for row in ROWS for name in of(row).split()}


def test_every_function_has_a_row() -> None:
    rows = names(lambda row: row.function)
    without = {name for some in WITHOUT for name in some.split()}
    functions = {name for name in gasla.__all__ if inspect.isfunction(getattr(gasla, name))}
    assert functions - without == {name for name in rows if "." not in name}
    methods = {
        name
        for name, kind in inspect.getmembers(gasla.Graph)
        if not name.startswith("_") and (inspect.isfunction(kind) or inspect.ismethod(kind))
    }
    assert {f"Graph.{name}" for name in methods - NOT_MADE} == {name for name in rows if "." in name}


def test_every_function_of_other_doors_has_a_row() -> None:
    from gasla.backends.networkx_info import NAMES
    from gasla.cli.algorithms import ALGORITHMS
    from gasla.csgraph import passing

    assert {verb.name for verb in ALGORITHMS} == names(lambda row: row.verbs)
    degrees = {"degree_centrality", "in_degree_centrality", "out_degree_centrality"}  # no row: they count entries
    assert set(NAMES) - degrees == names(lambda row: row.networkx)
    own = {name for name in gasla.csgraph.__all__ if name[0].islower() and not hasattr(passing, name)}
    assert own - {"laplacian"} == names(lambda row: row.csgraph)


def test_the_page_shows_the_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "python tests/laws.py writes it"


def holds(row: Row, seeds: range, columns: list[str], engine: str, most: int = 1000) -> None:
    tally = Tally()
    for seed in seeds:
        try_row(row, seed, columns, tally, engine, most)
    assert not tally.found, "\n".join(map(str, tally.found))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_some_laws_hold(row: Row) -> None:
    holds(row, range(1), ["order", "split", "isolated", "renamed", "forms"], "numpy", most=1)
