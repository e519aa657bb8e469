"""Where the tests of a module are: `python -m tests.helpers.where_tested gasla/graph/io/gml.py` prints their paths.

They are in the folders of tests whose `__init__.py` names the module, or a package around it. Of these, the files
`test_*NAME*.py` are its tests. Where there are none, they are the files that import it, and the files and folders that
have the name of its package. Where there are none of these either, it is the whole folder.
"""

import ast
import re
import sys
from functools import cache
from pathlib import Path

from tests.helpers import ROOT

TESTS = ROOT / "tests"


def where_tested(module: Path) -> list[str]:
    """Return the paths of a module's tests, relative to the repository; none where nothing tells them."""
    names = [*module.with_suffix("").parts]
    is_package = names[-1] == "__init__"
    if is_package:
        names.pop()
    told = [rooms for end in range(len(names), 0, -1) if (rooms := rooms_that_name(".".join(names[:end])))]
    rooms = dict.fromkeys(room for level in told for room in level) or contents()  # a module of `gasla` itself: in any
    files = [path for room in rooms for path in tests_in(room)]
    found = [path for path in files if has_name(path, names[-1].strip("_"))]
    if not found and not is_package:
        found = [path for path in files if imports(path, names)]
        if (package := names[-2]) not in contents():  # of a room, whose name only some of its files have
            found += [path for room in rooms for path in (TESTS / room).rglob(package) if path.is_dir()]
            found += [path for path in files if has_name(path, package) and path not in found]
    whole = [TESTS / room for level in told[:1] for room in level] or [TESTS] * is_package
    found = [path for path in found or whole if not {*path.parents} & {*found}]
    return [path.relative_to(ROOT).as_posix() for path in found]


def rooms_that_name(module: str) -> list[str]:
    """Return the folders of tests that say that they test a module, or a package."""
    return [room for room, text in contents().items() if re.search(rf"\b{re.escape(module)}(?!\.?\w)", text)]


@cache
def contents() -> dict[str, str]:
    """Return the docstring of each folder of tests."""
    files = sorted(TESTS.glob("*/__init__.py"))
    found = {path.parent.name: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in files}
    return {room: text for room, text in found.items() if text and text.startswith("Tests of ")}


@cache
def tests_in(room: str) -> list[Path]:
    """Return the files of tests in a folder, and below."""
    return sorted((TESTS / room).rglob("test_*.py"))


def has_name(path: Path, name: str) -> bool:
    """Whether the name of a test file has this word, in the plural or not."""
    return re.search(rf"_{name.removesuffix('s')}s?(_|$)", path.stem) is not None


def imports(path: Path, names: list[str]) -> bool:
    """Whether a test file writes a module with dots, or imports it from its package."""
    text, package, name = text_of(path), ".".join(names[:-1]), names[-1]
    if package not in text or name not in text:  # most files, found in a hundredth of the time
        return False
    package = re.escape(package)
    return re.search(rf"\b{package}\.{name}\b|^ *from {package} import .*\b{name}\b", text, re.MULTILINE) is not None


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print(*where_tested(Path(given)), sep="\n")
