"""Arguments of the wrong kind: every function refuses them before it begins, by an error that names the parameter."""

import inspect
import math
import types
import typing
from collections.abc import Callable, Hashable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest

import gasla
import semirings
from gasla.graph.arguments import check_flags, real_number, several_vertices, whole_number
from gasla.graph.graph import Graph
from gasla.program.program import ARGUMENTS

GRAPH = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [1.0, 2.0, 3.0, 4.0]).with_edge_attributes(time=[1, 2, 3, 4])
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(gasla, name)
    for name, home in gasla._HOMES.items()
    if home.startswith(("algorithms.", "operations.sampling", "operations.top_k"))
}
NEEDED: dict[str, Any] = {
    **{
        "source": 0,
        "target": 1,
        "sources": [0],
        "starts": [0],
        "ids": [0],
        "k": 2,
        "length": 2,
        "delta": 5,
        "max_length": 2,
        "duration": 1,
        "other": GRAPH,
        "supplies": np.zeros(GRAPH.n, np.int64),
    },
    **{
        "labels": [0, 0, 1, 1],
        "features": np.ones((4, 2)),
        "locations": np.ones((4, 2)),
        "pattern": [[0, 1], [1, 0]],
        "side": [0, 2],
        "function": gasla.transitivity,
        "terminals": [0, 2],
    },
}
HUGE, NAN = 2**70, math.nan
NO_ARRAY = ["a", True, NAN, ["a"], [[1], [1, 2]], object()]
NO_NUMBERS = ["a", ["a"], [None], object(), 10**400, [[1], [1, 2]]]
NO_NUMBERS += [{"a": 1}, {True: 1}, {HUGE: 1}, {0: "a"}, {0: [1, 2]}]
NO_SCORES, NO_PICTURE = [[1, 2], [[1], [1, 2]], object(), {}], ["a", True, 7, object(), [1]]
WRONG: dict[Any, list[Any]] = {  # by the type that a parameter is said to have
    bool: ["no", 1, NAN, [True], {}, None],
    int: ["a", True, np.True_, NAN, 0.5, [1], 1j, -1, -HUGE, None],
    float: ["a", True, np.True_, NAN, [0.5], {}, 1j, -math.inf, None],
    Literal: ["a", True, NAN, 2, ["a"], {}, None],
    Hashable: ["a", True, np.True_, NAN, 0.5, [1], 1j, -1, -HUGE, None],  # a vertex
    (Hashable, Iterable): ["a", True, NAN, 0.5, ["a"], [None], [True], [0.5], [HUGE], {"a": 1}, -1, HUGE, None],
    Iterable: ["a", True, NAN, 2, ["a"], [None], [True], [0.5], [HUGE], {"a": 1}, None],
}
WRONG_OF: dict[str, list[Any]] = {  # by the name of a parameter that may have several types
    "dtype": ["wide", True, NAN, 7, int, ["a"], [None], {"a": 1}],
    "seed": ["a", NAN, 0.5, [None], object()],
    "other": ["a", None, 2, [[0, 1], [1, 0]], {}],
    "other_labels": ["a", True, NAN, ["a"], [[1], [1, 2]], object()],
    "through": ["a", True, NAN, 0.5, [1], (0, 2), (1, 1), {}, -1, HUGE],
    "start": ["a", True, NAN, 2, [1]],
    "at": ["a", True, NAN, ["a"], [1, 2, 3], {}, object()],
    "key": ["a", True, NAN, 2, [1], {}, object()],
    "function": ["a", 3, None, [len]],
    "bands": ["a", True, 7, NAN, ["a"], [None], [2, 1], object()],
    "k": ["a", 1.5, -1, True, [2, -1], [2.5], []],
    "pairs": ["a", True, NAN, 2, ["a"], {}],
    "combine": ["a", True, NAN, 2, ["a"]],
    "resolution": ["a", True, NAN, [None], ["a"], 1j, -1, -math.inf, None],
    "node_weights": ["a", True, NAN, ["a"], [[1], [1, 2]], object(), [1, 1, 1, -1]],
    "iteration_weights": ["a", True, NAN, 2, [], [None], ["a"], [[1], [1, 2]], [NAN], [HUGE * 2.0**80], {}, None],
    "fixed": ["a", True, NAN, 2, ["a"], [True], [0.5], [HUGE]],
    "max_size": ["a", True, NAN, 0.5, 0, -1, [3, 2], [], ["a"]],
    **dict.fromkeys(("personalization", "nstart", "dangling", "bound", "priority"), NO_NUMBERS),
    "delta": ["a", True, NAN, -1, [1], {}, None, "24h", 1j],
    "time": ["a", True, 7, NAN, ["time"], None],
    "duration": ["a", True, NAN, -1, -math.inf, 10**400, [1], {}, None],
    "window": ["a", True, 7, [1], (1, 2, 3), (2, 1), (NAN, None), ("a", None), {}],
    **dict.fromkeys(("positions", "color", "size"), NO_SCORES),
    **dict.fromkeys(("ax", "cmap"), NO_PICTURE),
    "pattern_labels": ["a", True, 3, [1], {9: 1}, {0: [1]}],
    "pattern_edge_labels": ["a", True, 3, [1], {9: 1}, {(0, 9): 1}, {(0, 1): [1]}],
    "where": ["a", True, 3, [1], {9: len}, {(0, 1): 3}],
    "between": ["a", True, 3, [1], {9: len}, {((0, 1), (1, 2)): 3}],
    "beta": [*NO_NUMBERS, True, NAN, None, 1j],
    **dict.fromkeys(("labels", "features", "locations", "pattern", "side", "starts", "ids", "core_number"), NO_ARRAY),
    "edge_labels": NO_ARRAY,
    "supplies": NO_ARRAY,
    "capacities": ["a", True, NAN, ["a"], [[1], [1, 2]], object()],
    "semiring": ["plus_times", True, 3, [1], {}],
}
TOO_LARGE = {"seed", "source", "target", "u", "length"}  # at whatever they count, a huge number is one too many
COUNTS_ALL = {
    "alternative_paths",
    "k_core",
    "k_truss",
    "count_cliques",
    "k_shortest_paths",
    "k_hop_counts",
}  # whose k may be any number


def kind_of(hint: Any) -> tuple[Any, bool]:
    """What a parameter's type is, and whether it may be None as well."""
    some = [hint]
    if get_origin(hint) in (types.UnionType, typing.Union):
        some = [one for one in get_args(hint) if one is not type(None)]
    kinds = tuple(get_origin(one) or one for one in some)
    return kinds[0] if len(kinds) == 1 else kinds, len(some) < len(get_args(hint))


def wrong_calls(function: Callable[..., Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Arguments beside the graph of which one is wrong, and which."""
    hints, (_, *parameters) = typing.get_type_hints(function), inspect.signature(function).parameters.values()
    needed = {p.name: NEEDED[p.name] for p in parameters if p.default is p.empty}
    for parameter in parameters:
        name = parameter.name
        kind, may_be_none = kind_of(hints[name])
        wrong = WRONG_OF.get(name, []) if name == "seed" or kind not in WRONG else WRONG[kind]
        assert wrong, f"{function.__name__} has a parameter {name} of type {kind}; say what isn't right for it"
        if (name in TOO_LARGE and kind in (int, Hashable)) or (name == "k" and function.__name__ not in COUNTS_ALL):
            wrong = [*wrong, HUGE]
        if kind is float:
            wrong = [*wrong, *([] if name in ("radius", "delta", "resolution", "cutoff") else [10**400])]
        more = {"k": 2} if name == "seed" and "k" in hints else {}
        for given in wrong:
            if not (given is None and may_be_none):
                yield name, {**needed, **more, name: given}


def assert_refused(answer: Any, name: str, arguments: Any) -> None:
    pytest.fail(f"{name}={arguments[name]!r} was taken, and {answer!r} returned")


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_an_argument_of_the_wrong_kind_is_named(function: Callable[..., Any]) -> None:
    for name, arguments in wrong_calls(function):
        with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
            assert_refused(function(GRAPH, **arguments), name, arguments)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_what_is_no_graph_is_told_from_one(function: Callable[..., Any]) -> None:
    _, *parameters = inspect.signature(function).parameters.values()
    needed = {p.name: NEEDED[p.name] for p in parameters if p.default is p.empty}
    for given in ("a", None, 2, [[0, 1], [1, 0]], {}):
        with pytest.raises(TypeError, match=r"expected a SciPy sparse"):
            function(given, **needed)


def test_numbers_of_other_libraries_are_numbers() -> None:
    assert [real_number("x", x) for x in (1, 0.5, np.float32(0.5), np.int8(1), np.array(0.5), Fraction(1, 2))] == [
        *(1, 0.5, 0.5, 1, 0.5, 0.5)
    ]
    assert [whole_number("x", x) for x in (1, np.int8(1), np.uint64(1), np.array(1))] == [1] * 4
    assert several_vertices(GRAPH, "x", np.array([3, 1], np.uint8)) == [3, 1]
    check_flags(x=True, y=np.False_)


@pytest.mark.parametrize(
    ("options", "given", "wanted"),
    [
        ({}, -1, "a number, 0 or more"),
        ({}, math.inf, "a finite number, 0 or more"),
        ({}, 10**400, "a finite number, 0 or more"),
        ({"above": True}, 0, "a number above 0"),
        ({"most": 1}, 2, "a number from 0 to 1"),
        ({"most": 1, "above": True}, 0, "a number above 0, and 1 at most"),
        ({"least": -math.inf, "most": math.inf}, math.nan, "a number"),
    ],
)
def test_a_number_out_of_range_is_told_what_was_expected(options: Any, given: Any, wanted: str) -> None:
    with pytest.raises(ValueError, match=f"^x is .*; expected {wanted}$"):
        real_number("x", given, **options)


# --- names in place of ids -------------------------------------------------------------------------------------------


class Hops(gasla.VertexProgram):
    """How many edges lead to a vertex."""

    hops = gasla.vertex(np.int32, init=100)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "call",
    [
        lambda: gasla.bfs(GRAPH, "Oslo"),  # type: ignore[call-overload]
        lambda: gasla.multi_source_bfs(GRAPH, ["Oslo"]),  # type: ignore[list-item]
        lambda: gasla.pagerank(GRAPH, personalization={"Oslo": 1}),
        lambda: gasla.random_walks(GRAPH, ["Oslo"], 2),
        lambda: gasla.jaccard(GRAPH, (["Oslo"], ["Rome"])),
        lambda: GRAPH.subgraph(["Oslo"]),
        lambda: gasla.run(Hops, GRAPH, active=["Oslo"]),
        lambda: gasla.run(Hops, GRAPH, hops={"Oslo": 0}),
        lambda: Graph.from_edges(["Oslo"], ["Rome"]),
    ],
)
def test_a_graph_without_names_takes_none(call: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match=r"the graph has no names"):
        call()


# --- words misspelt --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "meant"),
    [("max_iter", "max_iterations"), ("activ", "active"), ("hop", "hops"), ("dervice", "device"), ("limt", "limit")],
)
def test_what_a_run_does_not_know_may_be_meant_for_something_else(word: str, meant: str) -> None:
    class Limited(Hops):
        limit = gasla.parameter(np.int32, 1)

    with pytest.raises(TypeError, match=rf"has no field '{word}' .*; did you mean '{meant}'\?"):
        gasla.run(Limited, GRAPH, **{word: 1})
    with pytest.raises(TypeError, match=r"expected some of: hops$"):
        gasla.run(Limited, GRAPH, quickly=True)


def test_the_graphs_values_are_not_a_runs() -> None:
    class Weighed(Hops):
        weight = gasla.edge(np.float64)

    with pytest.raises(TypeError, match=r"weight holds the graph's values: graph\.with_values"):
        gasla.run(Weighed, GRAPH, weight=np.ones(4))


def test_the_options_of_a_run_are_known() -> None:
    named = inspect.signature(gasla.run).parameters.values()
    assert {p.name for p in named if p.kind is not p.VAR_KEYWORD} == ARGUMENTS


@pytest.mark.parametrize(
    ("word", "member", "meant"),
    [
        ("actvate", lambda self, before, after: True, "activate"),
        ("postapply", lambda self, vertex: {}, "post_apply"),
        ("scater", lambda self, src, dst, edge: {}, "scatter"),
        ("source", "active", "sources"),
        ("every_one", True, "everyone"),
    ],
)
def test_a_misspelt_hook_is_refused(word: str, member: Any, meant: str) -> None:
    misspelt = type("P", (Hops,), {word: member})
    with pytest.raises(TypeError, match=rf"P\.{word}: .* '{word}'; did you mean '{meant}'\?"):
        gasla.run(misspelt, GRAPH)


def test_a_misspelt_hook_of_walkers_is_refused() -> None:
    misspelt = type("W", (gasla.WalkProgram,), {"restrat": lambda self, vertex: 0.5})
    with pytest.raises(TypeError, match=r"W\.restrat: .* 'restrat'; did you mean 'restart'\?"):
        gasla.walk(misspelt, GRAPH, [0], 2)


@pytest.mark.parametrize(
    ("kind", "name", "member", "complaint"),
    [
        (
            Hops,
            "gather",
            lambda self, src, dst: src.hops,
            r"gather takes \(self, src, dst\); expected \(self, src, dst, e",
        ),
        (
            Hops,
            "activate",
            lambda self, vertex: True,
            r"activate takes \(self, vertex\); expected \(self, before, after\)",
        ),
        (Hops, "stop", lambda: True, r"stop takes \(\); expected \(self\)"),
        (
            Hops,
            "total",
            gasla.aggregate(semirings.plus)(lambda self, vertex: 1),
            r"total takes \(self, vertex\); expected \(self, before, after\)",
        ),
        (
            Hops,
            "total",
            gasla.aggregate(semirings.plus, at=lambda vertex: 0)(lambda self, before, after: 1),
            r"the at= of P\.total takes \(vertex\); expected \(self, vertex\)",
        ),
        (gasla.WalkProgram, "stop", lambda self: 0.5, r"stop takes \(self\); expected \(self, vertex\)"),
        (gasla.WalkProgram, "bound", lambda self, vertex: 1, r"bound takes \(self, vertex\); expected \(self\)"),
        (
            gasla.WalkProgram,
            "accept",
            lambda self, src, dst, edge: 1,
            r"expected \(self, previous, vertex, target, edge\)",
        ),
    ],
)
def test_hooks_of_other_parameters_are_refused(kind: type, name: str, member: Any, complaint: str) -> None:
    program: Any = type("P", (kind,), {name: member})
    call = partial(gasla.run, program, GRAPH)
    if kind is gasla.WalkProgram:
        call = partial(gasla.walk, program, GRAPH, [0], 2)
    with pytest.raises(TypeError, match=complaint):
        call()


def test_hooks_may_take_more_or_name_it_otherwise() -> None:
    class Loose(Hops):
        reduce = semirings.min

        def gather(self, *ends):
            return ends[0].hops

        def apply(self, v, total, more=1):
            return {"hops": v.hops + more}

    assert gasla.run(Loose, GRAPH, max_iterations=1, compile=False).iterations == 1


def test_helpers_may_have_any_name_that_a_hook_calls_them_by() -> None:
    class Helped(Hops):
        everyone = True
        keys = 3  # read within a helper

        def applied(self, vertex):
            more = lambda: self.keys
            return vertex.hops + more()

        def apply(self, vertex, gathered):
            return {"hops": self.applied(vertex)}

        def _gathr(self):
            """Not to be told from a helper that somebody else calls."""

        @staticmethod
        def example():
            """Like no hook."""

    assert gasla.run(Helped, GRAPH, max_iterations=1, compile=False).hops.tolist() == [103] * 4


SEVERAL = ("sources", "starts", "ids", "nodes", "nbunch", "pairs", "vertices", "labels")
TAKING_SEVERAL = [
    *((f"{name}-{word}", function, word) for name, function in FUNCTIONS.items() for word in SEVERAL),
    *((f"Graph.{name}-{word}", getattr(Graph, name), word) for name in ("subgraph", "contract") for word in SEVERAL),
]


@pytest.mark.parametrize(
    ("function", "word"),
    [
        pytest.param(function, word, id=name)
        for name, function, word in TAKING_SEVERAL
        if word in inspect.signature(function).parameters and function is not gasla.draw  # labels may be a number
    ],
)
@pytest.mark.parametrize("one", [3, np.int64(3), "ann", 0.5, [0, 3]])
def test_one_vertex_in_place_of_several_is_named(function: Callable[..., Any], word: str, one: Any) -> None:
    """The error shows the value that was passed, not the type and the shape of an array that was made of it."""
    asked = inspect.signature(function).parameters
    given = {name: NEEDED[name] for name, each in asked.items() if name in NEEDED and each.default is each.empty}
    if isinstance(one, list) and word != "pairs":
        return  # several vertices
    with pytest.raises((TypeError, ValueError)) as error:
        function(GRAPH, **(given | {word: one}))
    shown = [repr(part.item() if hasattr(part, "item") else part) for part in (one if isinstance(one, list) else [one])]
    assert any(part in str(error.value) for part in shown) and "()" not in str(error.value), error.value
