"""Conditions on the edges of a pattern, which are labels and tests of attributes. Each selects edges of the graph.

Edges of the pattern with the same conditions are in one relation. Relations are numbered from 1. An edge without
conditions is in no relation.
"""

import functools
import inspect
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.patterns.pattern import Pattern, Relations
from gasla.arrays import as_values, moved
from gasla.graph.graph import Graph
from gasla.graph.validate import as_array
from gasla.program.records import Lazy, Record
from semirings import Expr, Symbol
from semirings.expr import cast_expr
from semirings.types import computed

Array = np.ndarray[Any, Any]  # a NumPy or CuPy array
Pair = tuple[int, int]


def relations_of(
    graph: Graph, pattern: Pattern, edge_labels: Any, pattern_edge_labels: Any, where: Any
) -> tuple[Relations, list[Array]]:
    """Return for each edge of a pattern the relation of its matches, and for each relation a mask of the graph's edges.

    A relation is the set of the graph's edges that have a certain label, pass a certain test, or both. Relations are
    numbered from 1 on, and edges of the pattern without a condition are left out. The masks are in host memory.
    """
    labels: dict[Pair, Any] = {}
    if edge_labels is not None or pattern_edge_labels is not None:
        labels = _edge_labels_of(pattern, edge_labels, pattern_edge_labels)
    tests = {} if where is None else by_edge(pattern, "where", where)
    traced = {pair: traced_test(graph, f"where[{pair}]", test, ("edge",)) for pair, test in tests.items()}
    numbers: dict[Any, int] = {}
    masks: list[Array] = []
    relations: Relations = {}
    column = label_column(edge_labels, graph.edge_attributes, graph.m, "edge") if labels else None
    for pair in sorted({*labels, *tests}):
        key = labels.get(pair), id(traced.get(pair))
        if key not in numbers:
            mask = np.ones(graph.m, bool)
            if pair in labels:
                assert column is not None
                mask &= has_label("pattern_edge_labels", column, labels[pair])
            if pair in tests:
                mask &= _holds_for_edges(graph, tests[pair])
            masks.append(mask)
            numbers[key] = len(masks)
        relations[pair] = frozenset({numbers[key]})
        if not pattern.directed:
            relations[pair[::-1]] = relations[pair]
    return relations, masks


def _edge_labels_of(pattern: Pattern, labels: Any, wanted: Any) -> dict[Pair, Any]:
    """Return a dictionary from the labeled edges of a pattern, as pairs of vertices, to their labels.

    `labels` and `wanted` are the arguments for the labels of the graph's edges and of the pattern's edges. Raise
    an error if only one of the two is given, or if a label is not valid.
    """
    if labels is None or wanted is None:
        passed, missing = ("pattern_edge_labels", "edge_labels")[:: 1 if labels is None else -1]
        raise ValueError(
            f"{passed} is {reprlib.repr(wanted if labels is None else labels)}, and {missing} is None; expected both: "
            "the labels of the graph's edges and those of the pattern's"
        )
    by_pair = by_edge(pattern, "pattern_edge_labels", wanted)
    for label in by_pair.values():
        check_label("pattern_edge_labels", label)
    return by_pair


def check_label(name: str, label: Any) -> None:
    """Raise TypeError unless a label of a pattern is a string or a whole number."""
    if not isinstance(label, str | bytes | int | np.integer | np.bool_):
        raise TypeError(f"{name} has {reprlib.repr(label)}; expected strings or whole numbers")


def label_column(labels: Any, attributes: Any, count: int, of: str) -> Array:
    """Return the label of each vertex or edge of a graph, in host memory. `of` is "vertex" or "edge".

    `labels` is the name of one of the `attributes`, or an array of `count` labels.
    """
    name = "labels" if of == "vertex" else "edge_labels"
    if isinstance(labels, str):
        if labels not in attributes:
            try:
                attributes.require(labels, name)
            except ValueError as error:  # attributes are numbers, while labels may be texts, which the message adds
                plural = "vertices" if of == "vertex" else "edges"
                raise ValueError(f"{error}; or pass the texts themselves, an array for the {count} {plural}") from None
        labels = attributes[labels]
    column: Array = moved(as_array(name, labels), "cpu")
    if column.shape != (count,) or column.dtype.kind not in "iubUSOT":
        described = reprlib.repr(labels) if column.ndim == 0 else f"{column.dtype}{column.shape}"
        raise TypeError(
            f"{name} is {described}; expected the name of {'a vertex' if of == 'vertex' else 'an edge'} attribute, or "
            f"a string or a whole number for each of the {count} {'vertices' if of == 'vertex' else 'edges'}"
        )
    return column


def has_label(name: str, column: Array, label: Any) -> Array:
    """Return a mask of the entries of `column`, the labels of a graph, that equal a label of the pattern.

    Raise TypeError if the label is a string and the column has numbers, or the reverse. `name` is the name of the
    argument that has the label, for the error.
    """
    if column.dtype.kind != "O" and isinstance(label, str) != (column.dtype.kind in "UT"):
        raise TypeError(f"{name} has {label!r}, and labels are {column.dtype}; expected labels of one kind")
    is_equal: Array = np.broadcast_to(np.asarray(column == label, bool), column.shape)
    return is_equal


def by_edge(pattern: Pattern, name: str, given: Any) -> dict[Pair, Any]:
    """Return a mapping from edges of a pattern, which a user gave, as a dictionary whose keys are pairs of vertices.

    `given` is the user's argument `name`. Its keys are edges as pairs or as texts such as "0-1". In the result, the
    smaller vertex of an undirected edge comes first.
    """
    if not isinstance(given, Mapping):
        raise TypeError(
            f"{name} is {reprlib.repr(given)}; expected a mapping of edges of the pattern, such as {_example(pattern)}"
        )
    by_pair: dict[Pair, Any] = {}
    for key, value in given.items():
        pair = edge_of(pattern, name, key)
        if pair in by_pair:
            raise ValueError(f"{name} has the edge {key!r} twice; expected each edge once")
        by_pair[pair] = value
    return by_pair


def edge_of(pattern: Pattern, name: str, key: Any) -> Pair:
    """Return the two ends of an edge of a pattern, which a user gave as a pair of vertices or as text such as "0-1".

    The smaller end of an undirected edge comes first. Raise an error, which names the argument `name`, if the pattern
    has no such edge.
    """
    edge_key: Any = key
    if isinstance(key, str):
        sign = ">" if pattern.directed else "-"
        edge_key = tuple(int(end) if end.strip().isdigit() else end for end in key.split(sign))
    if (
        not isinstance(edge_key, tuple)
        or len(edge_key) != 2
        or not all(isinstance(end, int | np.integer) for end in edge_key)
    ):
        raise TypeError(f"{name} has {key!r}; expected edges of the pattern, such as {_example(pattern)}")
    if edge_key not in pattern.edges:
        edge_texts = ", ".join(_edge_text(pattern, pair) for pair in edges_of(pattern))
        raise ValueError(f"{name} has {key!r}, which is no edge of the pattern; expected some of {edge_texts}")
    u, v = map(int, edge_key)
    return (u, v) if pattern.directed or u < v else (v, u)


def edges_of(pattern: Pattern) -> list[Pair]:
    """Return the edges of a pattern as pairs of vertices in ascending order.

    An undirected edge is one pair, whose smaller end comes first.
    """
    return [pair for pair in sorted(pattern.edges) if pattern.directed or pair[0] < pair[1]]


def _edge_text(pattern: Pattern, pair: Pair) -> str:
    return f"{pair[0]}{'>' if pattern.directed else '-'}{pair[1]}"


def _example(pattern: Pattern) -> str:
    pair = min(pattern.edges, default=(0, 1))
    return f"{_edge_text(pattern, pair)!r} or {pair}"


class Between(NamedTuple):
    """A condition on two edges of a pattern, `earlier` and `later`: the function `test`, which a user passed.

    `expression` is what the function computes. Functions that compute the same have the same object as `expression`,
    so that equal conditions can be recognized.
    """

    earlier: Pair
    later: Pair
    test: Callable[..., Any]
    expression: Expr


def conditions_between(graph: Graph, pattern: Pattern, given: Any) -> list[Between]:
    """Return the conditions between two edges of a pattern, from the argument `between` of `subgraph_matches`."""
    if given is None:
        return []
    pairs = edges_of(pattern)[:2]
    example = (
        f"{{{tuple(_edge_text(pattern, pair) for pair in pairs)}: lambda earlier, later: earlier.time < later.time}}"
    )
    if not isinstance(given, Mapping):
        raise TypeError(f"between is {reprlib.repr(given)}; expected a mapping such as {example}")
    conditions = []
    for key, test in given.items():
        if not isinstance(key, tuple) or len(key) != 2:
            raise TypeError(f"between has {key!r}; expected two edges of the pattern, such as {example}")
        earlier, later = (edge_of(pattern, "between", edge) for edge in key)
        if earlier == later:
            raise ValueError(f"between has {key!r}, an edge twice; expected two edges, or a condition in where")
        expression = traced_test(graph, f"between[{key!r}]", test, ("earlier", "later"))
        conditions.append(Between(earlier, later, test, expression))
    return conditions


# --- functions of edges' attributes that users pass as tests: check them, and apply them to arrays --------------------


def traced_test(graph: Graph, name: str, test: Any, roles: tuple[str, ...]) -> Expr:
    """Return the expression that a user's test computes. The test is a function of the attributes of one or two edges.

    Tests that compute the same return the same object. `roles` has the names of the edges. Raise TypeError, with a text
    that says what the function should be, unless the test can be called with these edges and returns a bool.
    """
    if not callable(test):
        raise TypeError(f"{name} is {reprlib.repr(test)}; expected a function of {' and '.join(roles)}")
    records = [Record("edge", _symbols_of(graph, edge_role)) for edge_role in roles]
    try:
        inspect.signature(test).bind(*records)
    except TypeError as error:
        raise TypeError(f"{name}: {error}; expected a function of {' and '.join(roles)}") from None
    condition: Any = semirings.trace(test, *records)
    if not isinstance(condition, Expr) or condition.type != np.dtype(bool):
        raise TypeError(f"{name} returned {condition!r}; expected True or False: a comparison of attributes")
    return condition


def columns_of(graph: Graph) -> dict[str, Callable[[], Array]]:
    """Return a dictionary from the names that a user's test may read to functions that return the arrays.

    The names are the attributes of edges, `weight` for the graph's values, and `id` for the ids of edges.
    """
    columns: dict[str, Callable[[], Any]] = {"id": lambda: np.arange(graph.m)}
    if graph.value_type is not None:
        columns["weight"] = lambda: graph.values
    numbers = graph.edge_attributes.numbers
    return columns | {name: functools.partial(numbers, name) for name in graph.edge_attributes}


def _symbols_of(graph: Graph, edge_role: str) -> dict[str, Expr]:
    types: dict[str, Any] = {"id": np.dtype(np.int64)}
    if graph.value_type is not None:
        types["weight"] = graph.value_type
    types |= graph.edge_attributes.types
    return {
        name: cast_expr(Symbol(f"{edge_role}_{name}", value_type), computed(value_type))
        for name, value_type in types.items()
    }


def readable(read: Callable[[], Array], ids: Array | None = None) -> Callable[[], Array]:
    """Return a function that returns an array of attributes of edges, in host memory, for a user's test to compute
    with.

    `read` returns the column. The result has only the entries at the edges `ids`, unless it is None, in the dtype with
    which tests compute.
    """

    def read_entries() -> Array:
        column: Any = moved(read(), "cpu")
        value_type: Any = computed(column.dtype)
        values: Array = as_values((column if ids is None else column[ids]).astype(value_type, copy=False))
        return values

    return read_entries


def _holds_for_edges(graph: Graph, test: Callable[..., Any]) -> Array:
    """Return a mask of the graph's edges for which a user's test, a function of one edge's attributes, is true."""
    record = Record("edge", Lazy({name: readable(read) for name, read in columns_of(graph).items()}))
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(test(record), bool), graph.m)
