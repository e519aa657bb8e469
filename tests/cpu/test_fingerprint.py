"""The fingerprint of a plan: it differs wherever the generated text does, and not from one process to the next."""

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

import gasla
import semirings
from gasla.cpu.program import fingerprint, generate
from gasla.cpu.program.generate import Module
from gasla.program.walk_plan import WalkTracer, walk_plan
from tests.helpers import ROOT
from tests.helpers.generated_programs import Case, cases
from tests.helpers.walk_programs import Biased, Everything

I4 = np.dtype(np.int32)
PROGRAM = """
import numpy as np, gasla, semirings

class P(gasla.VertexProgram):
    x = gasla.vertex(np.float32, init=0)
    y = gasla.vertex(np.int32, init=0, missing=3)
    w = gasla.edge(np.float64)
    f = gasla.edge(np.int32, init=0)
    p = gasla.parameter(np.int64, 5)
    reduce = semirings.min
    direction = "in"
    everyone = False
    sources = "all"
    order = "synchronous"

    def mask(self, vertex):
        return vertex.y < 7

    def gather(self, src, dst, edge):
        return semirings.cast(src.x + edge.w + edge.f, np.float32)

    def apply(self, vertex, gathered):
        return {"x": semirings.minimum(vertex.x, gathered) * 0.5, "y": self.at(vertex.y - 1).y + 1}

    @gasla.aggregate(semirings.plus, np.int64)
    def total(self, before, after):
        return after.y - before.y
"""
CHANGES = [
    *(('"in"', '"out"'), ('"in"', '"all"'), ("False", "True"), ('"all"', '"active"'), ('"synchronous"', '"in place"')),
    *(
        ("= semirings.min", "= semirings.max"),
        ("plus, np.int64", "max, np.int64"),
        ("plus, np.int64", "plus, np.int32"),
    ),
    ("= semirings.min", "= semirings.Monoid(lambda x, y: semirings.minimum(x, y) + 0 * x, np.inf)"),
    ("= semirings.min", "= semirings.Monoid(semirings.minimum, np.inf)"),  # not known to be idempotent
    ("= semirings.min", "= semirings.Monoid(semirings.minimum, 1e9, idempotent=True)"),
    *(("x = gasla.vertex(np.float32", "x = gasla.vertex(np.float64"), ("edge(np.float64", "edge(np.float32")),
    *(("edge(np.int32, init=0)", "edge(np.int32)"), ("parameter(np.int64", "parameter(np.int32")),
    *(("src.x", "dst.x"), ("src.x + edge.w", "src.x + edge.back.w"), ("src.x + edge.w", "src.x - edge.w")),
    *(("* 0.5", "* 0.25"), ("* 0.5", "/ 0.5"), ("* 0.5", "* -0.0"), ("* 0.5", "* 0.0"), ("+ 1}", "+ 2}")),
    *(("vertex.y < 7", "vertex.y <= 7"), ("vertex.y < 7", "vertex.y < self.p"), ("vertex.y < 7", "vertex.id < 7")),
    *(
        ("after.y - before.y", "before.y - after.y"),
        ("missing=3", "missing=4"),
        ("def total", "def sum"),
        ("p = ", "q = "),
    ),
    *(("def mask(self, vertex)", "def wake(self, vertex)"), ("def mask(self, vertex)", "def _mask(self, vertex)")),
]


def program(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "<program>", "exec"), names)
    return names["P"]


PLAIN = PROGRAM.replace("self.at(vertex.y - 1).y", "vertex.y")  # stages look up no other vertices


def of(declared: Any, id_type: Any = I4, **options: bool) -> str:
    found = fingerprint.fingerprint(Module(declared.traced(id_type), **options))
    assert found is not None
    return found


def test_each_change_of_a_program_changes_it() -> None:
    """Of a type, an operator, a symbol, a constant, a name, a monoid or its laws, a setting."""
    assert all(PROGRAM.count(old) >= 1 for old, _ in CHANGES)
    found = [of(program(PROGRAM.replace(old, new))) for old, new in [("", ""), *CHANGES]]
    same = {mark: [change for change, each in zip([("", ""), *CHANGES], found) if each == mark] for mark in found}
    assert [changes for changes in same.values() if len(changes) > 1] == []


def test_each_option_of_a_plan_changes_it() -> None:
    options: list[dict[str, bool]] = [{}, {"deterministic": True}, {"scheduled": True}]
    options.append({"scheduled": True, "staged": True})
    found = [of(program(PLAIN), **each) for each in options]
    assert len({*found, of(program(PLAIN), np.dtype(np.int64))}) == 5


def test_each_file_that_makes_text_changes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernel.py").write_text("x = 1")
    monkeypatch.setattr(fingerprint, "FOLDERS", [*fingerprint.FOLDERS, tmp_path])
    found = set()
    for text in ("x = 1", "x = 2"):
        (tmp_path / "kernel.py").write_text(text)
        fingerprint.files.cache_clear()
        found.add(of(program(PROGRAM)))
    fingerprint.files.cache_clear()
    assert len(found) == 2


def imported(names: list[str]) -> set[str]:
    """The modules of both packages that some modules import, and those that these import."""
    seen: set[str] = set()
    while names:
        name = names.pop()
        spec = find_spec(name) if name not in seen and name.partition(".")[0] in ("gasla", "semirings") else None
        if spec is None or spec.origin is None:
            continue
        seen.add(name)
        for node in ast.parse(Path(spec.origin).read_text("utf8")).body:  # what is imported later makes no text
            if isinstance(node, ast.ImportFrom) and node.module:
                names += [
                    node.module,
                    *(f"{node.module}.{alias.name}" for alias in node.names if is_module(node, alias)),
                ]
    return seen


def is_module(node: ast.ImportFrom, alias: ast.alias) -> bool:
    try:
        return find_spec(f"{node.module}.{alias.name}") is not None
    except ModuleNotFoundError:
        return False


def test_files_hold_all_that_text_is_made_by_and_imports() -> None:
    modules = ["program.generate", "product.simd4_printer", "product.vector_printer"]
    names = imported([f"gasla.cpu.{name}" for name in (*modules, *kernels())])
    files = {Path(str(find_spec(name).origin)) for name in names}  # type: ignore[union-attr]
    assert files <= {file for folder in fingerprint.FOLDERS for file in folder.glob("*.py")}


def test_walk_programs_have_one_too() -> None:
    plans = [walk_plan(declared, id_type) for declared in (Everything, Biased) for id_type in (I4, np.dtype(np.int64))]
    marks = [fingerprint.fingerprint_of_walk(plan) for plan in plans]
    again = fingerprint.fingerprint_of_walk(WalkTracer(Biased, I4).walk_plan())
    assert len({*marks}) == 4
    assert marks[2] == again is not None


def kernels() -> list[str]:
    folder = Path(generate.__file__).parents[1] / "kernels"
    files = [file.relative_to(folder.parent) for file in folder.rglob("*.py") if file.stem != "__init__"]
    return [".".join(file.with_suffix("").parts) for file in files]


def some_cases(count: int) -> list[Case]:
    found: list[Case] = []

    @settings(max_examples=count, phases=[Phase.generate], suppress_health_check=[*HealthCheck], database=None)
    @given(cases())
    def collect(case: Case) -> None:
        found.append(case)

    seed(1)(collect)()
    return found


def plan_of(case: Case) -> Module:
    is_staged = case.mode == "staged"
    traced = case.program.traced(I4)
    return Module(traced, case.mode == "deterministic", case.mode == "scheduled" or is_staged, is_staged)


class Recorded:
    """Something of which only attributes are asked; it notes their names."""

    def __init__(self, of: Any, names: set[str]) -> None:
        self.__dict__.update(of=of, names=names)

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return getattr(self.of, name)


@pytest.mark.parametrize("count", [10, pytest.param(40, marks=pytest.mark.thorough)])
def test_text_differs_only_where_the_fingerprint_does(count: int) -> None:
    """And text asks nothing of a program's class or an aggregate but what the fingerprint covers."""
    texts: dict[str, str] = {}
    asked: set[str] = set()
    asked_of_aggregates: set[str] = set()
    for case in some_cases(count):
        plan, again = plan_of(case), plan_of(case)
        mark = fingerprint.fingerprint(plan)
        assert mark is not None
        assert mark == fingerprint.fingerprint(again)
        traced: Any = again.traced
        for each in (traced.aggregates, traced.deposits):
            each.update({name: Recorded(declared, asked_of_aggregates) for name, declared in each.items()})
        object.__setattr__(traced, "program", Recorded(traced.program, asked))
        again.__dict__.clear()
        again.__init__(traced, plan.deterministic, plan.scheduled, plan.staged)  # type: ignore[misc]
        assert texts.setdefault(mark, plan.source_text) == plan.source_text == again.source_text
    assert asked <= {*fingerprint.SETTINGS, "edge_fields", "reduce", "__name__"}
    assert asked_of_aggregates <= {"monoid"}
    assert len(texts) > count / 2


@pytest.mark.parametrize("count", [5, pytest.param(25, marks=pytest.mark.thorough)])
def test_text_asks_nothing_else_of_monoids(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()
    cases = some_cases(count)
    plans = [plan_of(case) for case in cases]

    def noting(self: Any, name: str) -> Any:
        asked.add(name)
        return object.__getattribute__(self, name)

    monkeypatch.setattr(semirings.Monoid, "__getattribute__", noting)
    assert all(plan.source_text for plan in plans)
    described = {"combine", "identity", "terminal", "commutative", "idempotent", "is_neutral"}
    # `combination`, `is_final` and `takes_first` follow from these; `name` is for messages.
    followed = {
        "combination",
        "is_final",
        "takes_first",
        "monoids",
        "each",
        "name",
        "op",
        "_identity",
        "_terminal",
        "_value",
    }
    assert {name for name in asked if not name.startswith("__")} <= described | followed | {
        "of",
        "lower",
        "type",
        "_combine",
    }


def test_it_is_the_same_in_every_process() -> None:
    text = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.cpu import test_fingerprint as t; "
    text += "print(t.of(t.program(t.PROGRAM)), *map(t.fingerprint.fingerprint, map(t.plan_of, t.some_cases(3))))"
    found = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        found.add(subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, check=True).stdout)
    assert len(found) == 1


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_what_is_not_known_has_none(empty_cache: Path) -> None:
    """So that its code goes by its IR, whatever the state of its class may be."""

    class Own(semirings.Monoid):
        pass

    graph = gasla.Graph.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0], n=3)
    made = []
    for monoid in (np.minimum, np.minimum, np.maximum):
        declared = program(PROGRAM)
        declared.reduce = Own(monoid, np.inf if monoid is np.minimum else -np.inf)
        assert Module(declared.traced(I4)).fingerprint is None
        found = gasla.run(declared(), graph, x={0: 1.0}).x.tolist()
        assert found == gasla.run(declared(), graph, compile=False, x={0: 1.0}).x.tolist()
        made.append(len([*(empty_cache / "kernels").iterdir()]))
    assert made[0] == made[1] < made[2]


def test_stored_code_is_found_without_text(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared, graph = program(PROGRAM), gasla.Graph.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0], n=3)
    expected = gasla.run(declared(), graph, x={0: 1.0}).x.tolist()
    generate.plan.cache_clear()

    def refused(_: Module) -> str:
        raise AssertionError("functions were printed")

    monkeypatch.setattr(Module, "printed", property(refused))
    assert gasla.run(declared(), graph.with_values(np.array([1.0, 2.0, 3.0])), x={0: 1.0}).x.tolist() == expected
