"""The specializer: what is known of a plan is worked out, and the text that is left does what the template says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gasla.cpu.program import specialize
from gasla.cpu.program.specialize import Arrays, Specializer, code

HEAD = "from gasla.cpu.program.specialize import is_used, key, local, plan, where_used\n\nFEW = 3\n\n"
Write = Callable[..., str]


class Plan:
    """What the templates below ask."""

    names, takes = ("a", "b"), ["a", "b"]
    total, both = Arrays(["total"], False, [8]), Arrays(["x", "y"], True)
    is_small, is_large = True, False
    value = code("x[0]")

    def doubled(self, number: int) -> int:
        return 2 * number


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.setattr(specialize, "FOLDER", tmp_path)

    def written(text: str, arguments: str = "x y z") -> str:
        specialize.parsed.cache_clear()
        (tmp_path / "some.py").write_text(HEAD + text)
        return "\n".join(Specializer(Plan(), arguments.split()).add("some", "f").texts)

    yield written
    specialize.parsed.cache_clear()


def template(*lines: str, name: str = "f()", mark: str = "@stage\n") -> str:
    return f'{mark}def {name}:\n    """Some."""\n' + "".join(f"    {line}\n" for line in lines) + "\n\n"


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (["if plan.is_small:", "    x[0] = 1", "else:", "    y[0] = 1"], ["x[0] = 1"]),
        (["if plan.is_small and x[0] > 1:", "    x[0] = 1"], ["if x[0] > 1:", "    x[0] = 1"]),
        (["if plan.is_large and x[0] > 1:", "    x[0] = 1", "y[0] = 1"], ["y[0] = 1"]),
        (["if not plan.is_large or x[0] > 1:", "    x[0] = 1"], ["x[0] = 1"]),
        (["if x[0] > 1:", "    if plan.is_large:", "        x[0] = 1"], ["if x[0] > 1:", "    pass"]),
        (["x[0] = 1 if plan.is_large else y[0]"], ["x[0] = y[0]"]),
        (["x[plan.doubled(FEW)] = FEW - 1"], ["x[6] = 2"]),
        (["for name in plan.names:", "    to_[name][0] = sum_[name]"], ["to_a[0] = sum_a", "to_b[0] = sum_b"]),
        (["for i in range(FEW):", "    x[i] = part_[i]"], [f"x[{i}] = part_{i}" for i in range(3)]),
        (["local['src', plan.names] = tuple(x[i] for i in range(FEW - 1))"], ["src_a, src_b = x[0], x[1]"]),
        (["x[1] = plan.value + min(plan.value, FEW)"], ["x[1] = x[0] + min(x[0], 3)"]),
        (["plan.total[x[0]] = FEW"], ["total[np.uint64(8) + x[0]] = 3"]),
        (["plan.both[z[0]] = min(*plan.both[0])"], ["x[z[0]], y[z[0]] = min(x[0], y[0])"]),
        (["match plan.names:", "    case (first, _):", "        x[0] = local[first]"], ["x[0] = a"]),
    ],
    ids=lambda lines: lines[0],
)
def test_what_is_known_is_worked_out(write: Write, lines: list[str], left: list[str]) -> None:
    text = write(template(*lines))
    assert text.splitlines()[3:] == [f"    {line}" for line in left]


def test_functions_without_a_decorator_are_written_out(write: Write) -> None:
    twice = template("more = 2 * value", "return more + extra", name="twice(value, extra=1)", mark="")
    each = template("for i in range(len(x)):", "    yield x[i]", name="each()", mark="")
    found = write(twice + each + template("for v in each():", "    y[v] = twice(v)", "yield_at = 0"))
    assert found.splitlines()[3:] == [
        *("    for i in range(len(x)):", "        v = x[i]", "        more = 2 * v", "        y[v] = more + 1"),
        "    yield_at = 0",
    ]


def test_names_of_the_plan_are_parameters(write: Write) -> None:
    text = write(template("return a[i]", name="inner(i, *takes)") + template("y[0] = inner(1, *local[plan.takes])"))
    assert text.splitlines()[1] == "def inner(i, a, b):" and text.splitlines()[-1] == "    y[0] = inner(1, a, b)"


def test_a_function_is_left_from_within_others(write: Write) -> None:
    check = template("if x[0] > 1:", "    leave(plan.is_small)", name="check()", mark="")
    assert write(check + template("check()", "return False")).splitlines()[3:] == [
        *("    if x[0] > 1:", "        return True", "    return False"),
    ]


def test_arguments_follow_from_use(write: Write) -> None:
    """Of a kernel all are taken, of a function that it calls those that are used."""
    text = write(template("y[0] = 1", name="inner()") + template("inner()"))
    assert text.splitlines()[:2] == ["@stage", "def inner(y):"]
    assert "@compiled\ndef f(x, y, z):" in text and "    inner(y)" in text


def test_a_function_is_written_for_each_key_once(write: Write) -> None:
    keyed = template("x[0] = combine_[key](x[0])", name="improve_(x)", mark="@compiled\n")
    lines = ["for name in plan.names:", "    improve_[name](x)", "improve_[None](y)", "improve_['a'](z)"]
    text = write(keyed + template(*lines))
    assert [text.count(f"def {name}(x)") for name in ("improve_a", "improve_b", "improve")] == [1, 1, 1]
    assert "x[0] = combine(x[0])" in text and "    improve(y)\n    improve_a(z)" in text


def test_variables_are_set_where_they_are_used(write: Write) -> None:
    some = template("one, two = 1, 2", "three = two + 1", "four = 4", name="some()", mark="@where_used\n")
    asks = ["some()", "x[0] = three", "if is_used('three'):", "    x[1] = 1", "if is_used('four'):", "    x[1] = 2"]
    text = write(some + template(*asks))
    assert text.splitlines()[3:] == [
        f"    {x}" for x in ("one, two = 1, 2", "three = two + 1", "x[0] = three", "x[1] = 1")
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["while test():", "    x[0] = 1"], "inlines a function that has statements"),
        (["if x[0] > 1 and test():", "    x[0] = 1"], "inlines a function that has statements"),
        (["if x[0] > 1 and plan.is_large:", "    x[0] = 1"], "put it first"),
        (["x[0] = early()"], "that only the running kernel can decide"),
        (["x[0] = plan.names + (lambda: 1)"], "not evaluated while generating"),
    ],
)
def test_what_can_not_be_written_is_refused(write: Write, lines: list[str], message: str) -> None:
    test = template("y[0] = 1", "return y[0] > 1", name="test()", mark="")
    early = template("if x[0] > 1:", "    return 1", "return 2", name="early()", mark="")
    with pytest.raises(SyntaxError, match=message):
        write(test + early + template(*lines))


def known_files() -> list[Any]:
    return sorted(path.stem for path in specialize.FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", known_files())
def test_files_of_kernels_are_python(name: str) -> None:
    """So that linters and documentation read them as they read any other."""
    file = specialize.parsed(name)
    __import__(f"gasla.cpu.kernels.{name}" if name != "__init__" else "gasla.cpu.kernels")
    assert not file.is_template or file.known
