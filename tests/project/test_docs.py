"""The guide and the recipes run as printed, their remarks are true, and the examples run."""

import functools
import inspect
import re
import runpy
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from tests.helpers import ROOT

TRIED = (
    "0 [0 0] -> [1 2] carry [inf inf]",
    "An iteration pushes where few edges are active, and pulls where many are.",
    "1 2 push few edges are active",
    "roots [0]",
    "sizes [3 3 3 2 2]",
)


def blocks_of(text: str) -> list[str]:
    """The Python of a page that runs."""
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.slow  # compiles some forty programs; continuous integration runs it by name
def test_the_guide_runs_and_prints_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each chapter stands by itself."""
    names: dict[str, Any] = {}
    for page in sorted((ROOT / "docs" / "guide").glob("*.md")):
        path = tmp_path / f"page_{page.stem.replace('-', '_')}.py"  # a page may have a module's name
        path.write_text("\n".join(blocks_of(page.read_text(encoding="utf-8"))), encoding="utf-8")
        names |= runpy.run_path(str(path), run_name=path.stem)
    printed = capsys.readouterr().out
    counterexample = "FAILS identity: op(e, x) = x: for x = -1.0 the left side is 1.0"
    remarks = ("Graph(n=4, m=5, values=float32)", "[0 1 1 2]", "[inf  4.  1. inf]", "2 [0 1 0 1]", counterexample)
    more = ("[0 1 1] [0 1 0]", "[11 22 33]", "[3] [0, 3]", "[0 1 2 3]", "[1 0 0 0 1]", "[64. 0. 96.]")
    going_on = ("[2 2 2 1]", "[0 2 1 3]", "[0.36 0.2 0.45 0. ]")
    for remark in (*remarks, *more, *going_on, *TRIED):
        assert remark.replace(" ", "") in printed.replace(" ", "")
    np.testing.assert_array_equal(names["result"].width, [np.inf, 4, 1, 1])
    np.testing.assert_array_equal(names["state"].width, [np.inf, 4, 1, 1])
    np.testing.assert_allclose(names["norms"], np.sqrt((names["A"].toarray() ** 2).sum(axis=1)))
    np.testing.assert_allclose(names["triangles"] / names["pairs"], [1, 2 / 3, 2 / 3, 1])
    assert names["count"] == 1


ENGINES = [
    pytest.param(False, id="numpy"),
    pytest.param(True, id="compiled", marks=pytest.mark.slow),  # compiles ten programs
]


@pytest.mark.thorough
@pytest.mark.parametrize("compiled", ENGINES)
def test_recipes_run_and_print_what_they_say(
    compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    code = "\n".join(blocks_of(text))
    path = tmp_path / "recipes.py"
    path.write_text(code, encoding="utf-8")
    if not compiled:
        monkeypatch.setattr(gasla, "run", functools.partial(gasla.run, compile=False))
    runpy.run_path(str(path), run_name="recipes")
    remarks = re.findall(r"^print\(.*\)  # (.*?)(?:: .*)?$", code, re.MULTILINE)
    assert len(remarks) == code.count("\nprint(")
    assert capsys.readouterr().out.split("\n")[:-1] == remarks


def test_recipes_are_short() -> None:
    for recipe in (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        lines = [line for block in blocks_of(recipe) for line in block.splitlines() if line.strip()]
        assert len(lines) <= 30, recipe.splitlines()[0]


def test_the_page_on_the_engine_shows_what_is_printed() -> None:
    text = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "engine"}
    (block,) = blocks_of(text)
    exec(compile(block, "engine.md", "exec"), names)
    printed = "\n".join(line.strip() for line in names["source"].splitlines())
    shown = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(shown) == 2
    for part in "…".join(shown).split("…"):
        assert "\n".join(line.strip() for line in part.strip().splitlines()) in printed, part


def test_words_of_the_glossary_stand_where_it_says() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([^`]+)` \|$", text, re.MULTILINE)
    assert len(rows) == text.count("\n| ") - 1
    for words, path in rows:
        source = (ROOT / "gasla" / path).read_text(encoding="utf-8").lower()
        assert all(word in source for word in words.split(", ")), (words, path)
    assert rows == sorted(rows)


ELSEWHERE = ("airport_map", "custom_semiring")  # run by tests/cli/test_demo.py and tests/operations/test_products.py
NEEDED = {"graphsage": "torch_geometric"}  # packages that no extra of gasla brings
EXAMPLES = [
    pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem in ELSEWHERE else [])
    for path in sorted((ROOT / "examples").glob("*.py"))
]


@pytest.mark.thorough
@pytest.mark.parametrize("path", EXAMPLES)
def test_examples_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if path.stem in NEEDED:
        pytest.importorskip(NEEDED[path.stem])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if not {"_build", "api", "gallery"} & {*page.parts}]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


PUBLIC = [gasla, gasla.datasets, gasla.io, gasla.primitives, gasla.progress, gasla.stages, gasla.verify, semirings]


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_public_names_are_documented(module: ModuleType) -> None:
    """Everything says what it is; a function also names its parameters, if several, and shows an example.

    A verifier names the function whose answer it verifies, and of the parameters those that this one does not have.
    """
    for name in module.__all__:
        thing = getattr(module, name)
        assert is_documented(thing), name
        for part, method in vars(thing).items() if inspect.isclass(thing) else ():
            assert part.startswith("_") or not inspect.isfunction(method) or method.__doc__, (name, part)
        if inspect.isfunction(thing):
            doc = inspect.getdoc(thing) or ""
            text, _, examples = doc.partition("Examples\n--------\n")
            parameters = {*inspect.signature(thing).parameters}
            if module is gasla.verify:
                verified = re.search(r"`gasla\.(\w+)`", text)
                assert verified, name
                parameters -= {*inspect.signature(getattr(gasla, verified[1])).parameters}
            if len(parameters) > 1 or module is gasla.verify:
                assert all(re.search(rf"\b{word}\b", text) for word in parameters), name
            assert examples.startswith(">>> ") or "\n>>> " in examples, name


def is_documented(thing: Any) -> bool:
    """Whether it has text of its own, if it is something that can."""
    return bool(thing.__doc__) or not (isinstance(thing, type | ModuleType) or inspect.isfunction(thing))


LABELS = {"Stored zero", "Loop", "Parallel edges", "Direction", "Disconnected", "Uniqueness", "Repeatability"}


def test_every_algorithm_says_how_it_reads_edges() -> None:
    """The site shows each section under its function, too."""
    sections = runpy.run_path(str(ROOT / "docs" / "_ext" / "edge_semantics.py"))["sections"]
    text = (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")
    shown = sections(text)
    assert all(sentences.keys() == LABELS and all(sentences.values()) for sentences in shown.values())
    assert text.count("\n- *") == len(LABELS) * (text.count("\n### ") + 1)
    walks = ("operations.walks", "operations.sampled_walks", "operations.sampling", "operations.edge_samples")
    algorithms = {name for name, home in gasla._HOMES.items() if home.startswith(("algorithms.", *walks))}
    assert shown.keys() == algorithms - {"WalkProgram"}


def test_every_function_stands_in_the_table_of_functions() -> None:
    """With NetworkX's name in bold where gasla serves it. Tests of ranks compare what it says of them."""
    from gasla.backends.networkx_info import NAMES

    text = (ROOT / "docs" / "functions.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:3] == "| `"]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(names) == sorted(gasla.__all__)
    for row in rows:
        for bold, name in re.findall(r"(\**)`(\w+)`", row[4] if len(row) > 4 else ""):
            assert bool(bold) == (name in NAMES), name


def test_names_beside_those_of_other_libraries_are_in_gasla() -> None:
    is_ours, count = False, 0
    for line in (ROOT / "docs" / "peers.md").read_text(encoding="utf-8").splitlines():
        cells = re.split(r" \| ", line.strip("| ")) if line.startswith("| ") else []
        if len(cells) != 2:
            is_ours = is_ours and line.startswith("|--")
            continue
        if cells[1] in ("gasla", "reason"):
            is_ours = cells[1] == "gasla"
            continue
        for name in re.findall(r"`([A-Za-z_]\w*(?:\.\w+)?)(?:\([^`]*\))?`", cells[1] if is_ours else ""):
            first, _, second = name.partition(".")
            if first in ("graph", "scipy", "gasla"):
                continue
            count += 1
            assert first in gasla.__all__ and (not second or hasattr(getattr(gasla, first), second)), (name, line)
    assert count > 150


def test_the_table_of_networkxs_functions_is_what_the_backend_declares() -> None:
    nx = pytest.importorskip("networkx", minversion="3.6")
    pytest.importorskip("gasla.backends.networkx")
    from gasla.backends.networkx.dispatch import OFFERED

    text = (ROOT / "docs" / "networkx.md").read_text(encoding="utf-8")
    supported, _, table = text.partition("## The 100 functions that are used most")
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", table.partition("\n## ")[0], re.MULTILINE)
    assert len(dict(rows)) == len(rows) == 100
    for name, served in rows:
        assert name in nx.utils.backends._registered_algorithms
        offer = OFFERED.get(name)
        assert served == ("no" if offer is None else "by request" if offer.choice else "yes"), name
    by_request = supported.partition("**By request**")[2].partition("\n\n`simple_cycles`")[0]
    named = {
        name
        for line in by_request.splitlines()
        if line[:1] == "|"
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert named == {name for name, offer in OFFERED.items() if offer.choice}
