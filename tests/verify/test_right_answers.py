"""Every verifier takes each right answer, whatever the graph: empty, with loops, with weights of any value and type.

The commands of functions say how each is called and verified. Here each is called with all of its options on the
graphs of `hard_graphs`. Where a function refuses a graph, its verifier refuses it as well, by an error with a message.
"""

import inspect
import traceback
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import gasla
import semirings
from gasla import cli, engines, verify
from gasla.cli.compute import on_host
from gasla.cli.verbs import ALGORITHMS, Verb
from tests.helpers.hard_graphs import FORMS, KINDS, SHAPES, hard_graph

Given = dict[str, Any]
VERBS = {verb.name: verb for verb in ALGORITHMS if verb.verifier is not None}
VERBS |= {  # functions without a command
    "negative-edges": Verb(
        *("negative-edges", {"found": ""}, lambda _: ""),
        defaults={"count": 0},
        function=gasla.negative_edges,
    ),
    "split-edges": Verb(
        *("split-edges", {"sets": ""}, lambda _: ""),
        defaults={"fractions": (0.5, 0.5)},
        unpack=lambda _, sets: {"sets": sets},
        function=gasla.split_edges,
    ),
    "steiner-tree": Verb(
        *("steiner-tree", {"edges": "", "total": ""}, lambda _: ""),
        defaults={"terminals": [0]},
        function=gasla.steiner_tree,
    ),
    "assignment": Verb(*("assignment", {"mates": ""}, lambda _: ""), function=gasla.assignment),
    "minimum-cost-flow": Verb(
        *("minimum-cost-flow", {"cost": "", "flow": "", "prices": ""}, lambda _: ""),
        defaults={"supplies": [0]},
        function=gasla.minimum_cost_flow,
    ),
    "complement": Verb(
        *("complement", {"made": ""}, lambda _: ""),
        unpack=lambda _, made: {"made": made},
        function=gasla.complement,
    ),
    "line-graph": Verb(
        *("line-graph", {"made": ""}, lambda _: ""),
        unpack=lambda _, made: {"made": made},
        function=gasla.line_graph,
    ),
    "randomized": Verb(
        *("randomized", {"made": ""}, lambda _: ""),
        unpack=lambda _, made: {"made": made},
        function=gasla.randomized,
    ),
}
VALUES: dict[str, list[Any]] = {  # of options, besides those that their types list
    "alpha": [0.01],
    "combine": [semirings.min, semirings.max],
    "cutoff": [0.0, 1.5, np.inf],
    "depth_limit": [0, 1],
    "dtype": [np.float32],
    "duration": ["duration", 1],
    "fractions": [(1.0,), (0.2, 0.3, 0.5)],
    "length": [0],
    "radius": [0, 2, np.inf],
    "registers": [None],
    "resolution": [0.5],
    "seed": [3],
    "share": [1.0, 0.5],
    "window": [(1, 5), (None, 3), (2, None)],
}
SIZES = {"k-core": (0, 1, 2), "k-hop-counts": (0, 1), "k-shortest-paths": (1, 2), "sample-neighbors": (0, 1, 3)}  # k


def arguments_of(verb: Verb, n: int) -> Given:
    """What a function needs, for a graph of n vertices."""
    ids, half = np.arange(n), np.arange(n) % 2
    places = np.stack([half, ids / 4], axis=1)
    places[1::2] = np.nan
    known = {
        "source": 0, "target": max(n - 1, 0), "sources": [0, n - 1] if n else [], "starts": ids, "ids": ids,
        "features": np.stack([ids, half], axis=1) * 1.0, "labels": half, "locations": places,
    }  # fmt: skip
    needed = {name: value for name, value in known.items() if name in verb.parameters}
    needed = {name: value for name, value in needed.items() if verb.parameters[name].default is inspect.Parameter.empty}
    return {**needed, **verb.defaults, **verb.fixed}


def options_of(verb: Verb) -> list[Given]:
    """All truth values and choices together; other values one at a time, and with the defaults."""
    hints, listed, found = get_type_hints(verb.function), [], [{}]
    for name in verb.parameters:
        kinds = [hints[name], *get_args(hints[name])]
        if hints[name] is bool:
            listed.append([{name: False}, {name: True}])
        elif choices := next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ()):
            listed.append([{name: choice} for choice in choices])
        found += [{name: value} for value in VALUES.get(name, ())]
    found += [{"k": k} for k in SIZES.get(verb.name, ())]
    both = [{key: value for part in parts for key, value in part.items()} for parts in product(*listed)]
    return found + both + [{**one, "dtype": np.float32} for one in both if "dtype" in verb.parameters]


LONG_IN_NUMPY = {"layout"}  # seconds a call, compiled milliseconds


class Trial:
    """Calls of one function, and what went wrong in them."""

    def __init__(self, verb: Verb, engine: str = "numpy") -> None:
        self.verb, self.engine = verb, "compiled" if verb.name in LONG_IN_NUMPY else engine
        self.options = options_of(verb)
        self.calls, self.verified, self.refused, self.found = 0, 0, 0, list[str]()

    def call(self, graph: Any, given: Given) -> tuple[Given, bool]:
        """The answer, and whether it has converged."""
        with (
            warnings.catch_warnings(record=True) as said,
            engines.interpreted() if self.engine == "numpy" else nullcontext(),
        ):
            warnings.simplefilter("always")
            answer = on_host(self.verb.call(graph, given))
        assert all(issubclass(warning.category, gasla.ConvergenceWarning) for warning in said), [*map(str, said)]
        return self.verb.named(gasla.as_graph(graph), answer), not said

    def refuses(self, graph: Any, given: Given, answer: Given) -> str | None:
        """The message of the verifier's error, if any; an error of any other kind is one of the test."""
        try:
            self.verb.check(graph, given, answer)
        except verify.VerificationError as error:
            return str(error)
        except (ValueError, TypeError) as error:
            if "/gasla/" not in traceback.extract_tb(error.__traceback__)[-1].filename:
                raise
            return str(error)
        return None

    def run(self, shape: str, kind: str | None, option: Given, ruin: bool) -> None:
        """Call the function, and let its verifier look at the answer, and at ruins of it."""
        self.calls += 1
        plain = hard_graph(shape, kind)
        given = arguments_of(self.verb, plain.n) | option
        form = [*FORMS][self.calls % (2 if "time" in self.verb.parameters else 3)]  # a matrix has no times
        graph = FORMS[form](plain)
        what = f"{self.verb.name}, {shape}, weights: {kind}, {form}, {option}: "
        try:
            answer, converged = self.call(graph, given)
        except (ValueError, TypeError, OverflowError, RuntimeError) as error:
            self.refused += 1
            if "/gasla/" not in traceback.extract_tb(error.__traceback__)[-1].filename:
                self.found.append(f"{what}{type(error).__name__} {error}")
            return self.after_refusal(shape, graph, given, what, str(error))
        try:
            wrong = self.refuses(graph, given, answer)
            if wrong is not None and converged:
                self.found.append(f"{what}a right answer was refused: {wrong}")
            for how, ruined in ruins(self.verb, answer) if ruin and converged else ():
                if self.refuses(graph, given, ruined) is None:
                    self.found.append(f"{what}a wrong answer was taken: {how}")
        except Exception as error:
            self.found.append(f"{what}{type(error).__name__} {error}")
        self.verified += 1
        return None

    def after_refusal(self, shape: str, graph: Any, given: Given, what: str, message: str) -> None:
        """The verifier refuses an answer too: that of the graph with other weights."""
        try:
            answer, _ = self.call(hard_graph(shape, "ones"), given)
        except (ValueError, TypeError):
            return
        try:
            if self.refuses(graph, given, answer) is None and not any(words in message for words in OF_SUMS):
                self.found.append(f"{what}refused by the function, {message!r}, and taken by the verifier")
        except Exception as error:
            self.found.append(f"{what}{type(error).__name__} {error}")


OF_SUMS = ("sum to", "whose sum", "add up to", "overflow")  # which verifiers do not need, or round


def ruins(verb: Verb, answer: Given) -> Iterator[tuple[str, Given]]:
    """The answer with a number that no right answer has there."""
    assert verb.verifier is not None
    for name in inspect.signature(verb.verifier).parameters.keys() & answer.keys():
        part = answer[name]
        if isinstance(part, np.ndarray) and part.size and part.dtype.kind in "fi":
            numbers = part.reshape(-1)
            place = int(np.isfinite(numbers).argmax())
            if not np.isfinite(numbers[place]):
                continue
            for wrong in (np.nan, np.inf, -np.inf, 1e300) if part.dtype.kind == "f" else (-7, 10**6):
                others = np.delete(numbers, place).max(initial=0)
                is_scale = verb.name == "hits" and others <= 1e-8 * numbers[place]  # any is right, to the tolerance
                is_small = name == "values" and wrong == 1e300  # beside weights of 1e308
                if np.isclose(float(numbers[place]), wrong) or is_scale or is_small:
                    continue
                spoiled = numbers.copy()
                with np.errstate(over="ignore"):
                    spoiled[place] = wrong
                yield f"{name}[{place}] is {wrong}", answer | {name: spoiled.reshape(part.shape)}
        elif isinstance(part, float) and np.isfinite(part):
            for wrong in {np.nan, -np.inf, 1e300} - {part}:
                yield f"{name} is {wrong}", answer | {name: wrong}


def test_every_verifier_is_asked() -> None:
    asked = {getattr(verb.verifier, "func", verb.verifier).__name__ for verb in VERBS.values()}
    assert asked == {*verify.__all__} - {"VerificationError"}


def of_all(name: str, kinds: list[str | None], engine: str, every: bool = False, ruin: bool = False) -> Trial:
    """All shapes and kinds of weights, each with the next one of the options, or with every one."""
    trial = Trial(VERBS[name], engine)
    for number, (kind, shape) in enumerate(product(kinds, SHAPES)):
        for option in trial.options if every else [trial.options[number % len(trial.options)]]:
            trial.run(shape, kind, option, ruin)
    return trial


ALL: list[str | None] = [None, *KINDS]


@pytest.mark.parametrize("name", VERBS)
def test_a_right_answer_of_some_shapes_is_taken(name: str) -> None:
    """Each function on three shapes, with the next options and weights; the next function on others."""
    trial, first = Trial(VERBS[name]), list(VERBS).index(name)
    for i in range(3):
        number = 3 * first + i
        shape = [*SHAPES][number % len(SHAPES)]
        trial.run(shape, ALL[number % len(ALL)], trial.options[number % len(trial.options)], ruin=True)
    assert not trial.found, "\n".join(trial.found)


@pytest.mark.thorough
@pytest.mark.parametrize("name", VERBS)
def test_a_right_answer_of_every_shape_is_taken(name: str) -> None:
    first = 3 * list(VERBS).index(name)
    trial = of_all(name, [ALL[(first + i) % len(ALL)] for i in range(3)], "compiled")
    assert not trial.found, "\n".join(trial.found)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_every_right_answer_is_taken(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All shapes, with all weights and all options."""
    trials = [of_all(name, ALL, engine, every=True, ruin=True) for name in VERBS]
    found = [what for trial in trials for what in trial.found]
    with capsys.disabled():
        calls, verified = sum(trial.calls for trial in trials), sum(trial.verified for trial in trials)
        print(f"\n{engine}: {calls:,} calls, {verified:,} answers verified, {len(found):,} findings")
    assert not found, "\n".join(found)


BOUNDS = (-np.inf, -(2**70), -(2**62) + 1, 1.5, np.float32(2.5), np.int8(3), 2**53 + 1, 2**70, np.inf)
TEMPORAL = [name for name, verb in VERBS.items() if "window" in verb.parameters]


@pytest.mark.parametrize("name", TEMPORAL)
def test_a_right_answer_of_any_window_is_taken(name: str) -> None:
    """Bounds that no type of times has, times that float64 rounds, in either place."""
    verb, graph = VERBS[name], hard_graph("path")
    for far, kind in product((0, 2**53, -(2**62) + 1), (np.int64, np.float64)):
        times = graph.with_edge_attributes(time=(graph.edge_attributes["time"] + far).astype(kind))
        for window in (
            [(b, None) for b in BOUNDS] + [(None, b) for b in BOUNDS] + [(-np.inf, np.inf), (-(2**70), 2**70)]
        ):
            given = arguments_of(verb, times.n) | {"window": window}
            trial = Trial(verb)
            assert trial.refuses(times, given, trial.call(times, given)[0]) is None, (far, kind, window)


def test_a_condensation_of_bools_is_taken() -> None:
    graph = gasla.Graph.from_edges([0, 0, 1, 1], [1, 1, 2, 2], [True, True, False, False])
    condensed = gasla.condensation(graph)
    assert condensed.values.tolist() == [True, False]  # a sum of bools is "or"
    verify.condensation(graph, condensed)
    with pytest.raises(verify.VerificationError, match="has the value 1"):
        verify.condensation(graph, condensed.with_values(np.array([True, True])))


# --- the command line ---


def checked(name: str, graph: gasla.Graph, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What is wrong with the command's exit code and output; nothing if the answer is right, or there is one error."""
    path, places, labels = folder / "graph.npz", folder / "places.npy", folder / "labels.npy"
    gasla.io.write(path, graph)
    given = arguments_of(VERBS["geolocate"], graph.n)
    np.save(places, given["locations"])
    np.save(labels, np.arange(graph.n) % 2)
    needed = {key: ["--labels", str(labels)] for key in ("modularity", "partition-quality", "partition-table")}
    needed["geolocate"] = ["--locations", str(places)]
    with nullcontext() if name in LONG_IN_NUMPY else engines.interpreted():
        code = cli.main([name, str(path), "--check", *needed.get(name, [])])
    said = capsys.readouterr()
    errors = [line for line in said.err.splitlines() if not line.startswith("gasla: warning: ")]
    if code == 0 and not errors and "check: the answer is correct" in said.out:
        return ""
    if code == 1 and len(errors) == 1 and "raise max_iter" in said.err:
        return ""  # what has not converged is no right answer, and is said to be none
    return "" if code == 2 and len(errors) == 1 and not said.out else f"{name}, exit code {code}: {said.err}"


COMMANDS = [verb.name for verb in ALGORITHMS if verb.verifier is not None]


@pytest.mark.parametrize("number", range(0, len(COMMANDS), 4))
def test_a_command_checks_some_shapes(number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = hard_graph([*SHAPES][number // 4 % len(SHAPES)], ALL[number // 4 % len(ALL)])
    assert not checked(COMMANDS[number], graph, tmp_path, capsys)


@pytest.mark.thorough
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_checks_more_shapes(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = COMMANDS.index(name)
    for number in range(3):
        kind = ALL[(first + 11 * number) % len(ALL)]
        graph = hard_graph([*SHAPES][(first + 7 * number) % len(SHAPES)], kind)
        assert not checked(name, graph, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_checks_every_shape(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, shape in enumerate(SHAPES):
        for kind in (None, ALL[number % len(ALL)], ALL[number * 7 % len(ALL)]):
            assert not checked(name, hard_graph(shape, kind), tmp_path, capsys)
