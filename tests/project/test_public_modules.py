"""The modules of gasla that the documentation names: each can be imported, and `import gasla` imports none of them."""

import ast
import pickle
import subprocess
import sys

import pytest

import gasla
from tests.helpers import ROOT

MODULES = gasla._MODULES


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_every_module_is_imported_as_such() -> None:
    """Before anything has asked gasla for an attribute."""
    assert run("\n".join(f"import gasla.{name}; print('{name}')" for name in MODULES)).split() == [*MODULES]
    assert run("from gasla.io import read; from gasla.datasets import openflights; print(read.__name__)") == "read\n"


def test_the_documentation_names_no_other_module() -> None:
    """The pages of the reference, and what the text imports."""
    source = (ROOT / "docs" / "_ext" / "api_pages.py").read_text(encoding="utf-8")
    pages = next(
        ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MODULES"
    )
    assert {name.removeprefix("gasla.") for name in pages} - {"semirings"} <= {*MODULES}


def test_a_light_import() -> None:
    code = "import sys, gasla; print([n for n in sys.modules if n.startswith('gasla.') or n in ('numpy', 'scipy')])"
    assert run(code).strip() == "[]"


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_an_attribute_with_its_docstring(name: str) -> None:
    module = getattr(gasla, name)
    assert module is sys.modules[f"gasla.{name}"]
    assert module.__doc__ and not module.__doc__.startswith("The public name")
    assert all(hasattr(module, public) for public in getattr(module, "__all__", ()))


def test_what_is_pickled_comes_back() -> None:
    for thing in (gasla.io.read, gasla.io.FormatError, gasla.datasets.grid, gasla.primitives.Oriented):
        assert pickle.loads(pickle.dumps(thing)) is thing
