"""Stable names are there with their parameters, the list has every public name, and deprecated names go in time."""

import ast
import inspect
import re
import runpy
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
from gasla.deprecation import removal
from tests.helpers import ROOT

LIST = runpy.run_path(str(ROOT / "docs" / "_ext" / "stability.py"))
PROMISES: dict[str, str] = LIST["promises"]()


@pytest.mark.parametrize("name", PROMISES)
def test_a_stable_name_takes_what_it_took(name: str) -> None:
    actual = LIST["signature"](LIST["lookup"](name))
    reason = broken(PROMISES[name], actual)
    assert reason is None, f"{name}{actual}: {reason}; docs/stable-api.txt promises {name}{PROMISES[name]}"


def broken(promised: str, actual: str) -> str | None:
    """The first call that a promised signature allows and an actual one refuses; None if there is none."""
    if not promised:
        return None
    old, new = arguments(promised), arguments(actual)
    names = [each.arg for each in (*new.posonlyargs, *new.args)]
    takes_any = new.kwarg is not None
    for place, each in enumerate((*old.posonlyargs, *old.args)):
        if names[place : place + 1] != [each.arg] and not (new.vararg and takes_any):
            return f"parameter {place} was {each.arg}"
    for each in old.kwonlyargs:
        if each.arg not in {*names, *(one.arg for one in new.kwonlyargs)} and not takes_any:
            return f"has no parameter {each.arg}"
    if added := required(new) - required(old):
        return f"requires {', '.join(sorted(added))}"
    return None


def arguments(text: str) -> ast.arguments:
    (function,) = ast.parse(f"def f{text}: ...").body
    assert isinstance(function, ast.FunctionDef)
    return function.args


def required(given: ast.arguments) -> set[str]:
    positional = [each.arg for each in (*given.posonlyargs, *given.args)]
    first = len(positional) - len(given.defaults)
    return {*positional[:first], *(one.arg for one, value in zip(given.kwonlyargs, given.kw_defaults) if value is None)}


@pytest.mark.parametrize(
    ("promised", "actual", "reason"),
    [
        ("(a, b=..., *, c=...)", "(a, b=..., d=..., *, c=..., e=...)", None),
        ("(a, *, c=...)", "(a, c=...)", None),
        ("(a, b)", "(b, a)", "parameter 0 was a"),
        ("(a, *, c=...)", "(a)", "has no parameter c"),
        ("(a, b=...)", "(a, b)", "requires b"),
        ("(a)", "(a, *, c)", "requires c"),
    ],
)
def test_what_breaks_a_promise(promised: str, actual: str, reason: str | None) -> None:
    assert broken(promised, actual) == reason


def test_every_public_name_is_in_the_list_and_in_the_reference() -> None:
    names: dict[str, list[str]] = LIST["public"]()
    modules = {f"gasla.{name}" for name in gasla.__all__ if isinstance(getattr(gasla, name), ModuleType)}
    assert {*names} == {"gasla", "semirings", *modules}
    assert len(set(names["gasla"]) | {name.removeprefix("gasla.") for name in modules}) == len(gasla.__all__)
    source = (ROOT / "docs" / "_ext" / "api_pages.py").read_text(encoding="utf-8")
    pages = re.search(r"^MODULES = (\[.*?\])", source, re.MULTILINE | re.DOTALL)
    assert pages is not None and {*ast.literal_eval(pages[1])} == {*names} - {"gasla"}
    known = {f"{module}.{name}" for module, each in names.items() for name in each}
    assert {name for name in PROMISES if ".Graph." not in name} <= known
    page = LIST["page"]()
    assert all(f"``{name.rpartition('.')[2]}``" in page for name in known)


def deprecations() -> Iterator[tuple[str, str]]:
    """The file and the release of each deprecation in the library."""
    for path in sorted((ROOT / "gasla").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.name == "deprecation.py" or not re.search(r"\b(deprecated|warn)\(", text):  # as most files, quickly
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                given = {each.arg: each.value for each in node.keywords}
                if node.func.id == "deprecated":
                    yield path.name, ast.literal_eval(given["since"])
                elif node.func.id == "warn" and len(node.args) == 3:
                    yield path.name, ast.literal_eval(node.args[2])


def test_what_is_deprecated_goes_two_releases_later() -> None:
    """Delete the old name in the release that the warning names."""
    found = [*deprecations()]
    assert found
    version = release(gasla.__version__)
    assert all(release(since) <= version < release(removal(since)) for _, since in found), found


def release(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


PATH = csr_array(np.eye(4, k=1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            lambda: gasla.bfs(PATH, 0, max_depth=2),
            lambda: gasla.bfs(PATH, 0, depth_limit=2),
            "max_depth of bfs is deprecated since gasla 0.2, and gasla 0.4 will not have it; use depth_limit",
        ),
        (
            lambda: gasla.verify.bfs(PATH, 0, [0, 1, -1, -1], max_depth=1),
            lambda: gasla.verify.bfs(PATH, 0, [0, 1, -1, -1], depth_limit=1),
            "max_depth of bfs is deprecated since gasla 0.2",
        ),
        (
            lambda: gasla.source(Short, "numba"),
            lambda: gasla.source(Short, "cpu"),
            'the target "numba" is deprecated since gasla 0.2, and gasla 0.4 will not have it; use "cpu"',
        ),
    ],
)
def test_old_names_work_and_warn_at_the_call(old: Any, new: Any, message: str) -> None:
    with pytest.warns(DeprecationWarning, match=re.escape(message)) as found:
        answer = old()
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(answer, new())


def test_both_names_at_once_are_refused() -> None:
    with (
        pytest.warns(DeprecationWarning, match="use depth_limit"),
        pytest.raises(TypeError, match="bfs got both max_depth and depth_limit; pass depth_limit"),
    ):
        gasla.bfs(PATH, 0, depth_limit=1, max_depth=2)


def test_the_signature_shows_only_the_new_name() -> None:
    assert [*inspect.signature(gasla.bfs).parameters] == ["graph", "source", "parents", "depth_limit", "start"]


class Short(gasla.WalkProgram):
    def stop(self, vertex: Any) -> Any:
        return 0.5
