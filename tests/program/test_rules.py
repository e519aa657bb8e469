"""One rule in one place: all engines take and refuse the same, and start, end and count iterations alike.

The tables are in `tests/helpers/rule_tables.py`, and are generated: every pair of choices occurs in some row, or every
choice with every other. By default NumPy's engine, prepared runs and ranks are compared, for which nothing is compiled.
"""

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import distributed
from gasla.program.program import PARAMETERS
from tests.helpers import rule_tables as tables

Roads = Mapping[str, Callable[..., Any]]
EDGES = [0, 0, 1, 2, 2, 3, 3, 5, 5], [1, 2, 3, 3, 2, 0, 1, 6, 6], [4, 1, 1, 5, 2, 1, 1, 3, 3]
GRAPH = gasla.Graph.from_edges(*EDGES, n=7)
NOTHING = [gasla.Graph.from_edges([], [], np.zeros(0, np.int64), n=n) for n in (0, 1)]
NOT_ON_RANKS = "which distributed graphs don't support"


def over(graph: gasla.Graph) -> distributed.Graph:
    return distributed.Graph.from_graph(graph, distributed.ThreadRanks(2))


def prepared(program: Any, graph: Any, /, **options: Any) -> gasla.Result:
    """A prepared run, without compiling."""
    first = {"direction", "deterministic", "order", "notice", "device"} & options.keys()
    chosen = {name: options.pop(name) for name in first}
    scheduled = "schedule" in options
    return gasla.prepare(program, graph, compile=False, scheduled=scheduled, **chosen)(**options)


def by_numpy(program: Any, graph: Any, /, **options: Any) -> gasla.Result:
    return gasla.run(program, graph, compile=False, **options)


def as_phase(program: Any, graph: Any, /, **options: Any) -> gasla.Result:
    return gasla.run([program], graph, **options)


def array(x: Any) -> tuple[str, str]:
    """An array, or blocks on ranks, as what is compared of it: its type and its values, NaN like NaN."""
    whole = np.asarray(x.compute() if hasattr(x, "compute") else x)
    return whole.dtype.str, repr(whole.tolist())


def outcome(call: Callable[..., Any], /, *given: Any, **named: Any) -> Any:
    """What a call gives, as plain data to compare; of an error, or a warning, its type and text."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = call(*given, **named)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    if not isinstance(found, gasla.Result):
        return "accepted"
    return {
        "fields": {name: array(x) for name, x in found.state.items()},
        "aggregates": {name: array(x) for name, x in found.aggregates.items()},
        "iterations": (type(found.iterations), found.iterations),
        "converged": found.converged,
        "active": found.active.mask.tolist(),
        "trace": None if found.trace is None else found.trace["active"].tolist(),
    }


def check(what: Any, first: Any, others: Mapping[str, Any], but: Iterable[str] = ()) -> int:
    """All outcomes are the same, except for what may differ; returns how many were compared."""
    for road, found in others.items():
        if isinstance(found, str) and NOT_ON_RANKS in found:
            continue
        expected = first
        if but and isinstance(found, dict) and isinstance(first, dict):
            expected, found = ({k: x for k, x in of.items() if k not in but} for of in (first, found))
        assert found == expected, f"{what}, {road}:\n{found}\n, not\n{expected}"
    return len(others)


ALL = ("fields", "iterations", "converged", "active", "trace", "aggregates")


def check_runs(rows: Iterable[Mapping[str, Any]], graphs: list[gasla.Graph], roads: Roads) -> int:
    """The rows of a table, each run in several ways, which come to the same as NumPy's engine."""
    count, spread = 0, {id(graph): over(graph) for graph in graphs}
    for row, graph in itertools.product(rows, graphs):
        program, options = tables.program(row), tables.options(row)
        if graph is not GRAPH:
            few = {"one": [0][: graph.n], "mask": np.zeros(graph.n, bool)}
            options["active"] = few.get(row["active"], options["active"])
            if "schedule" in options:
                options["schedule"] = np.zeros(graph.n, np.int64)
        out = {
            name: outcome(road, program, spread[id(graph)] if "rank" in name else graph, **options)
            for name, road in roads.items()
        }
        # Values that go on within an iteration may be ahead, and in place they depend on timing.
        absorbs = row["apply"] == "absorbs" and row["way"] != "deterministic"
        count += check(row, out.pop("numpy"), out, ALL if absorbs or row["order"] == "in place" else ())
    return count


UNCOMPILED: Roads = {"numpy": by_numpy, "prepared": prepared, "ranks": by_numpy}


def test_runs_begin_end_and_count_alike() -> None:
    print(check_runs(tables.rows(2), [GRAPH], UNCOMPILED), "runs")


@pytest.mark.thorough
def test_compiled_runs_begin_end_and_count_alike() -> None:
    count = check_runs(tables.rows(2), NOTHING, UNCOMPILED)
    count += check_runs(tables.rows(2), [GRAPH, *NOTHING], {"numpy": by_numpy, "compiled": gasla.run})
    print(count, "runs")


@pytest.mark.thorough
def test_compiled_phases_begin_end_and_count_alike() -> None:
    def phases_by_numpy(program: Any, graph: Any, /, **options: Any) -> gasla.Result:
        return as_phase(program, graph, compile=False, **options)

    print(check_runs(tables.rows(2), [GRAPH], {"numpy": phases_by_numpy, "compiled": as_phase}), "runs")


@pytest.mark.slow
def test_triples_of_choices_are_run_alike() -> None:
    roads = {**UNCOMPILED, "compiled": gasla.run, "compiled ranks": gasla.run}
    print(check_runs(tables.rows(3), [GRAPH, *NOTHING], roads), "runs")


# --- the first iteration ---------------------------------------------------------------------------------------------

OF_EVERYONE = {
    "everyone": ["yes"],
    "gather": ["none", "plus"],
    "apply": ["once", "varies"],
    **{name: tables.FACTORS[name] for name in ("activate", "scatter", "sources")},
}
MORE_OF_EVERYONE = {
    "wake": ["none", "some", "idle"],
    "aggregate": tables.FACTORS["aggregate"],
    "active": ["none", "one"],
}


def everyone(factors: Mapping[str, list[str]]) -> Iterable[dict[str, Any]]:
    """Every program over everyone, of the hooks that decide who is active, in three iterations."""
    plain = {name: choices[0] for name, choices in tables.FACTORS.items()} | {"active": "none", "limit": "3"}
    for chosen in itertools.product(*factors.values()):
        yield plain | dict(zip(factors, chosen, strict=True))


def test_a_run_over_everyone_that_starts_with_no_active_vertex_begins_at_an_end() -> None:
    """So no iteration follows, unless it reads what varies, which a still iteration does not rule out."""
    for row in everyone(OF_EVERYONE):
        found = by_numpy(tables.program(row), GRAPH, **tables.options(row))
        goes_on = row["apply"] == "varies" and row["activate"] == "none"
        assert (found.iterations, found.converged) == ((3, False) if goes_on else (0, True)), row
        assert len(found.active) == 0 or goes_on, row


@pytest.mark.thorough
def test_runs_over_everyone_begin_alike() -> None:
    count = check_runs(everyone(OF_EVERYONE | {"wake": ["idle"], "aggregate": ["stops"]}), [GRAPH], UNCOMPILED)
    count += check_runs(
        everyone(OF_EVERYONE | {"gather": ["plus"]}), [GRAPH], {"numpy": by_numpy, "compiled": gasla.run}
    )
    print(count, "runs")


@pytest.mark.slow
def test_all_runs_over_everyone_begin_alike() -> None:
    roads = {**UNCOMPILED, "compiled": gasla.run}
    print(check_runs(everyone(OF_EVERYONE | MORE_OF_EVERYONE), [GRAPH], roads), "runs")


# --- monoids ---------------------------------------------------------------------------------------------------------


def reduces(monoid: str, dtype: np.dtype[Any]) -> bool:
    """Whether a monoid of numbers reduces values of a type, by NumPy."""
    one = tables.MONOIDS[monoid]
    if monoid in ("branch", "both", "argmin", "argmax", "pairs", "no identity"):
        return False
    if monoid in ("negative identity", "negative end"):
        return dtype.kind in "if"
    if monoid == "of integers":
        return dtype.kind in "iu"
    if monoid == "constant":
        return dtype == np.int64
    x = np.ones(2, dtype)
    try:
        return bool(np.asarray(one.op(x, x)).dtype == dtype)
    except TypeError:
        return False


def check_monoids(wheres: Iterable[str], dtypes: Iterable[Any], roads: Roads) -> int:
    """Engines take the same monoids; those that `reduces` names."""
    count, spread = 0, over(GRAPH)
    for where, monoid, dtype in itertools.product(wheres, tables.MONOIDS, map(np.dtype, dtypes)):
        program = tables.reducing(where, monoid, dtype)
        out = {
            name: outcome(is_taken, road, program, spread if "rank" in name else GRAPH) for name, road in roads.items()
        }
        first = out.pop("numpy")
        if where == "gather":
            assert (first == "accepted") == reduces(monoid, dtype), f"{monoid} of {dtype}: {first}"
        count += check(f"{where} by {monoid} of {dtype}", first, out)
    return count


def is_taken(road: Callable[..., Any], program: Any, graph: Any) -> None:
    """Raise the error of a road, if it has one."""
    road(program, graph)


def in_one_iteration(program: Any, graph: Any) -> gasla.Result:
    return by_numpy(program, graph, max_iterations=1)


def is_of_floats(program: Any) -> bool:
    """Whether the program reduces floats at vertices, which `deterministic=True` refuses."""
    return any(each.at is not None and np.dtype(each.type).kind == "f" for each in program.aggregates.values())


def deterministic(program: Any, graph: Any) -> gasla.Result:
    return by_numpy(program, graph, max_iterations=1, deterministic=not is_of_floats(program))


def in_stages(program: Any, graph: Any) -> Any:
    return in_one_iteration(program, graph) if program.aggregates else gasla.stages.start(program, graph)


MONOID_ROADS: Roads = {
    "numpy": in_one_iteration,
    "deterministic": deterministic,
    "prepared": lambda program, graph: gasla.prepare(program, graph, compile=False),
    "ranks": in_one_iteration,
    "CPU code": lambda program, graph: gasla.source(program, "cpu"),
    "CUDA": lambda program, graph: gasla.source(program, "cuda"),
    "stages": in_stages,
    "explained": gasla.explain,
}


def test_all_engines_take_the_same_monoids() -> None:
    roads = {name: MONOID_ROADS[name] for name in ("numpy", "deterministic", "ranks")}
    print(check_monoids(["gather"], ["bool", "int32", "float64"], roads), "programs")


@pytest.mark.thorough
def test_all_engines_take_the_same_monoids_everywhere() -> None:
    roads = {name: road for name, road in MONOID_ROADS.items() if name not in ("prepared", "explained")}
    print(check_monoids(tables.REDUCED, ["float32"], roads), "programs")


@pytest.mark.slow
def test_all_engines_take_the_same_monoids_of_all_types() -> None:
    print(check_monoids(tables.REDUCED, tables.DTYPES, MONOID_ROADS), "programs")


MULTIPLIES: dict[str, Any] = {
    **{name: getattr(semirings.binary, name) for name in ("plus", "div", "land", "first", "pair", "secondi")},
    "tuple": lambda x, y: (x, y),
    "branch": lambda x, y: x if x > y else y,
}


@pytest.mark.thorough
def test_all_products_take_the_same_semirings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of empty matrices as well; what is taken is not compiled."""
    from gasla.cpu.product import products

    def accepted(*_: Any) -> None:
        raise StopIteration

    for name in ("ready", "ready_wide", "of_matrices", "at_entries"):
        monkeypatch.setattr(products, name, accepted)
    count = 0
    for monoid, multiply, dtype, n in itertools.product(
        tables.MONOIDS, MULTIPLIES, ("bool", "int8", "int64", "float32"), (3, 0)
    ):
        semiring = semirings.Semiring(tables.MONOIDS[monoid], MULTIPLIES[multiply], name="s")
        A = gasla.Sparse((n, n), np.arange(n + 1), np.arange(n), np.ones(n, dtype))
        x, X, mask = np.ones(n, dtype), np.ones((n, 2), dtype), np.ones(n, bool)
        out = {
            "mxv": outcome(gasla.mxv, A, x, semiring),
            "vxm": outcome(gasla.vxm, x, A, semiring),
            "masked": outcome(gasla.mxv, A, x, semiring, mask=mask),
            "mxm": outcome(gasla.mxm, A, A, semiring),
            "dense": outcome(gasla.mxm, A, X, semiring),
            "at": outcome(gasla.mxm, A, A, semiring, mask=A),
            "but at": outcome(gasla.mxm, A, A, semiring, mask=A, complement=True),
        }
        count += check(f"{monoid}, {multiply} of {dtype}, {n}", out.pop("mxv"), out)
    print(count, "products")


# --- results of functions, and arguments -----------------------------------------------------------------------------


@pytest.mark.thorough
def test_all_engines_take_the_same_results_of_functions() -> None:
    count, spread = 0, over(GRAPH)
    for hook, result in itertools.product([*PARAMETERS.keys() - {"start", "choose"}, "total"], tables.RESULTS):
        program = tables.giving(hook, result)
        first = outcome(by_numpy, program, GRAPH, max_iterations=2)
        out = {"ranks": outcome(by_numpy, program, spread, max_iterations=2)}
        if isinstance(first, str):  # what is taken is compiled elsewhere
            out["CUDA"] = outcome(gasla.source, program, "cuda")
        count += check(f"{hook} gives {result}", first, out)
    print(count, "programs")


def check_arguments(programs: Iterable[Any], given: Iterable[dict[str, Any]], roads: Roads) -> int:
    """Engines take the same arguments, and then come to the same."""
    count, spread = 0, over(GRAPH)
    for program, one in itertools.product(programs, given):
        limit = {} if "max_iterations" in one else {"max_iterations": 6}
        out = {
            name: outcome(road, program, spread if "rank" in name else GRAPH, **limit, **fresh(one))
            for name, road in roads.items()
        }
        first, ahead = out.pop("numpy"), ()
        if not program.everyone and isinstance(first, dict):  # values go on within an iteration
            ahead = ("iterations", "trace") if first["converged"] else ALL
        count += check(f"{program.__name__} of {one}", first, out, ahead)
    return count


def fresh(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with arrays to write to that no other run has written to."""
    out = given.get("out")
    if not isinstance(out, dict) or len(given) > 1:
        return dict(given)
    copies = {n: x.copy() if isinstance(x, np.ndarray) and x.flags.carray else x for n, x in out.items()}
    return {**given, "out": copies}


def test_all_engines_take_the_same_arguments() -> None:
    given = [one for one in tables.arguments() if one.keys() & {"hops", "out", "delta"}]
    print(check_arguments([tables.Hops], given, {"numpy": by_numpy, "ranks": by_numpy}), "runs")


@pytest.mark.thorough
def test_all_engines_take_the_same_arguments_for_all_programs() -> None:
    roads = {**UNCOMPILED, "compiled": gasla.run}
    others = [
        given
        for given in tables.arguments()
        if not given.keys() & {"place", "half", "flag", "big", "step", "rate", "flow", "w"}
    ]
    count = check_arguments([tables.Hops], tables.arguments(), roads)
    print(count + check_arguments([tables.Every, tables.Waking], others, roads), "runs")


@pytest.mark.thorough
@pytest.mark.parametrize("program", [tables.Hops, tables.Every])
def test_phases_refuse_the_same_arguments(program: Any) -> None:
    """But for those that phases word in their own way, and fields with two copies, which they copy into `out`."""
    own = {"start", "trace", "nope", "iteration", "order"}
    for given in tables.arguments():
        if given.keys() & own:
            continue
        limit = {} if "max_iterations" in given else {"max_iterations": 2}
        single, turns = (
            outcome(road, program, GRAPH, compile=False, **limit, **fresh(given)) for road in (gasla.run, as_phase)
        )
        if isinstance(single, str) and "two copies" not in single:
            words = "leave in `out`"  # which phase has no such field is another question
            assert turns == single or (words in single and words in turns), f"{given}: {turns}\n, not\n{single}"
