"""Templates: what is known of a plan is worked out, and what is compiled does what the template says."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla.compiler.function import Compiled, compiled, kinds_of
from gasla.compiler.kernel_types import CompileError
from gasla.compiler.template import Arrays

HEAD = """
from typing import Any
import numpy as np
from gasla.compiler.function import compiled
from gasla.compiler.template import Each, Record, known, where_used
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import is_used, leave

FEW = 3
plan: Any = known()


class Own(Record):
    x: Any
    y: Any
    z: Any
    three: Any
    to: Each
    sum: Each
    part: Each
    combine: Each


"""
NAMES = ["x", "y", "z", "to_a", "to_b", "total", "a", "b", "sum_a", "sum_b", "part_0", "part_1", "part_2"]


@compiled
def one_more(u: Any) -> Any:  # pragma: no cover - compiled
    """In place of a function that is printed from an expression."""
    return u + 1


class Plan:
    """What the templates below ask."""

    names, takes, arguments, fingerprint = ("a", "b"), ["a", "b"], NAMES, None
    total, both = Arrays(["total"], False, [8]), Arrays(["x", "y"], True)
    is_small, is_large, five, printed = True, False, np.float32(5), {"combine_a": one_more, "combine_b": one_more}

    def doubled(self, number: int) -> int:
        return 2 * number


def arguments() -> list[Any]:
    arrays = [np.arange(40, dtype=np.float64) for _ in NAMES[:8]]
    arrays[2] = np.arange(8, dtype=np.uint64)
    return [*arrays, *map(float, range(5))]


Made = Callable[..., Compiled]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Made]:
    count = 0

    def made(text: str) -> Compiled:
        nonlocal count
        count += 1
        file = tmp_path / f"some_templates_{count}.py"
        file.write_text(HEAD + text)
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[file.stem] = module
        spec.loader.exec_module(module)
        return Compiled(module.f.plain, plan=Plan())

    yield made
    for k in range(count):
        sys.modules.pop(f"some_templates_{k + 1}", None)


def text_of(function: Compiled) -> str:
    return "\n".join(function.source(kinds_of(arguments())))


def template(*lines: str, name: str = "f(run: Own)", mark: str = "@compiled\n") -> str:
    return f'{mark}def {name}:\n    """Some."""\n' + "".join(f"    {line}\n" for line in lines) + "\n\n"


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (["if plan.is_small:", "    run.x[0] = 1", "else:", "    run.y[0] = 1"], ["x[0] = 1"]),
        (["if plan.is_small and run.x[0] > 1:", "    run.x[0] = 1"], ["if x[0] > 1:", "    x[0] = 1"]),
        (["if run.x[0] > 1 and plan.is_small:", "    run.x[0] = 1"], ["if x[0] > 1:", "    x[0] = 1"]),
        (["if plan.is_large and run.x[0] > 1:", "    run.x[0] = 1", "run.y[0] = 1"], ["y[0] = 1"]),
        (["if not plan.is_large or run.x[0] > 1:", "    run.x[0] = 1"], ["x[0] = 1"]),
        (["if run.x[0] > 1:", "    if plan.is_large:", "        run.x[0] = 1"], ["if x[0] > 1:", "    pass"]),
        (["run.x[0] = 1 if plan.is_large else run.y[0]"], ["x[0] = y[0]"]),
        (["run.x[plan.doubled(FEW)] = FEW - 1 + plan.five"], ["x[6] = 2 + np.float32(5.0)"]),
        (["for name in plan.names:", "    run.to[name][0] = run.sum[name]"], ["to_a[0] = sum_a", "to_b[0] = sum_b"]),
        (["for i in range(FEW):", "    run.x[i] = run.part[i]"], [f"x[{i}] = part_{i}" for i in range(3)]),
        (["run.local['src', plan.takes] = tuple(run.x[i] for i in range(FEW - 1))"], ["src_a, src_b = x[0], x[1]"]),
        (["plan.total[run.z[0]] = FEW"], ["total[z[0]] = FEW"]),
        (["match plan.names:", "    case (first, _):", "        run.x[0] = run.local[first][1]"], ["x[0] = a[1]"]),
        (["for name in [plan.names[1]]:", "    run.x[0] = run.combine[name](1)"], ["x[0] = combine_b(1)"]),
        (["if 'a' in plan.names and plan.five is not None:", "    run.x[0] = 1"], ["x[0] = 1"]),
    ],
    ids=lambda lines: lines[0],
)
def test_what_is_known_is_worked_out(make: Made, lines: list[str], left: list[str]) -> None:
    text = text_of(make(template(*lines)))
    assert [line.replace("plan.total[", "total[") for line in text.splitlines()[3:]] == [f"    {x}" for x in left]


def test_functions_without_a_decorator_are_written_out(make: Made) -> None:
    twice = template("more = 2 * value", "return more + extra", name="twice(value, extra=1)", mark="")
    each = template("for i in range(len(run.z)):", "    yield i", name="each(run: Own)", mark="")
    function = make(twice + each + template("for v in each(run):", "    run.y[v] = twice(run.x[v])"))
    assert text_of(function).splitlines()[3:] == [
        *("    for i in range(len(z)):", "        v = i", "        more = 2 * x[v]", "        y[v] = more + 1"),
    ]
    given = arguments()
    function(*given)
    assert given[1].tolist() == [2.0 * v + 1 if v < 8 else v for v in range(40)]


def test_locals_of_functions_that_are_written_out_are_their_own(make: Made) -> None:
    other = template("v = value + 1", "return v", name="other(value)", mark="")
    given = arguments()
    make(other + template("v = run.x[1]", "run.y[0] = other(v)", "run.y[1] = v"))(*given)
    assert given[1][:2].tolist() == [2, 1]


def test_arguments_are_computed_once(make: Made) -> None:
    """Before the function changes what they were computed from."""
    change = template("run.x[0] = 7", "run.y[0] = value", name="change(run: Own, value)", mark="")
    given = arguments()
    make(change + template("change(run, run.x[0])"))(*given)
    assert given[0][0] == 7 and given[1][0] == 0


def test_a_function_is_left_from_within_others(make: Made) -> None:
    check = template("if run.x[0] > 1:", "    leave(plan.is_small)", name="check(run: Own)", mark="")
    function = make(check + template("check(run)", "return False"))
    assert text_of(function).splitlines()[3:] == ["    if x[0] > 1:", "        return True", "    return False"]
    given = arguments()
    assert function(*given) is False
    given[0][0] = 2
    assert function(*given) is True


def test_arguments_follow_from_use(make: Made) -> None:
    """Of a kernel all are taken, of a function that it calls those that are used and not set."""
    inner = template("run.y[0] = run.three", name="inner(run: Own)", mark="@stage\n")
    function = make(inner + template("run.three = run.x[3]", "inner(run)"))
    text = text_of(function)
    assert text.splitlines()[:2] == ["@stage", "def inner(y, three):"]
    assert f"@compiled\ndef f({', '.join(NAMES)}):" in text and "    inner(y, three)" in text
    given = arguments()
    function(*given)
    assert given[1][0] == 3


def test_what_a_function_takes_may_have_other_types_in_another_kernel(make: Made) -> None:
    inner = template("run.y[0] = run.x[1]", name="inner(run: Own)", mark="@stage\n")
    function = make(inner + template("inner(run)"))
    for dtype in (np.float64, np.int32, np.uint8):
        given = arguments()
        given[0] = np.arange(5, 9, dtype=dtype)
        function(*given)
        assert given[1][0] == 6


def test_a_function_is_compiled_for_each_constant_once(make: Made) -> None:
    keyed = template("x[0] = run.combine[key](x[0])", name="improve(run: Own, key, x)")
    lines = [*("for name in plan.names:", "    improve(run, name, run.x)"), "improve(run, 'a', run.y)"]
    function = make(keyed + template(*lines))
    text = text_of(function)
    assert [text.count(f"def improve_{name}(x)") for name in "ab"] == [1, 1]
    assert "x[0] = combine_a(x[0])" in text and text.endswith("    improve_a(x)\n    improve_b(x)\n    improve_a(y)")


def test_variables_are_set_where_they_are_used(make: Made) -> None:
    lines = "run.local['one'], run.local['two'] = 1.0, 2.0", "run.three = run.local['two'] + 1", "run.local['four'] = 4"
    some = template(*lines, name="some(run: Own)", mark="@where_used\n")
    asks = ["some(run)", "while run.x[0] < 9:", "    run.x[0] += run.three"]
    asks += ["if is_used('three'):", "    run.x[1] = 1", "if is_used('four'):", "    run.x[1] = 2"]
    function = make(some + template(*asks))
    shown = ["one, two = 1.0, 2.0", "three = two + 1", "while x[0] < 9:", "    x[0] += three", "x[1] = 1"]
    assert text_of(function).splitlines()[3:] == [f"    {line}" for line in shown]
    given = arguments()
    function(*given)
    assert given[0][:2].tolist() == [9, 1]


def test_a_variable_that_a_loop_sets_is_read_anew(make: Made) -> None:
    """Also if it is an argument of the kernel, and was read before it is first set."""
    given = arguments()
    lines = ["for i in range(4):", "    run.y[i] = run.sum['b']", "    add(run)"]
    add = template("run.sum['b'] += 2", name="add(run: Own)", mark="")
    make(add + template(*lines))(*given)
    assert given[1][:4].tolist() == [1, 3, 5, 7]


def test_values_in_several_arrays(make: Made) -> None:
    given = arguments()
    make(template("plan.both[run.z[1]] = plan.both[run.z[3]]", "plan.total[run.z[2]] = plan.total[run.z[0]]"))(*given)
    assert given[0][1] == given[1][1] == 3 and given[5][10] == 8


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["run.x[0] = run.w"], r"run\.w: the record does not declare this"),
        (["run.x[0] = run.three"], "three is not known here"),
        (["run.x[0] = early(run)"], "returns under a condition; expected one return"),
        (["run.x[0] = plan.missing"], "can't be computed while compiling: 'Plan' object has no attribute 'missing'"),
        (["run.x[0] = early(run, 1)"], "early: too many positional arguments"),
        (["run.x[0] = run.sum[run.z[0]]"], "only known in the running kernel; expected a part of a name"),
        (["for name in run.sum['a']:", "    pass"], "f64 has no items that are known while compiling"),
        (["run.x[0] = [run.x[1]]"], "is only known in the running kernel"),
    ],
)
def test_what_can_not_be_compiled_is_refused(make: Made, lines: list[str], message: str) -> None:
    early = template("if run.x[0] > 1:", "    return 1", "return 2", name="early(run: Own)", mark="")
    with pytest.raises(CompileError, match=message):
        text_of(make(early + template(*lines)))
