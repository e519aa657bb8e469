"""Patterns of docstrings and signatures that are hard to read only become fewer."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain

from tests.helpers import ROOT

LIMITS = {
    "a docstring that begins with 'See', and says nothing alone": 0,
    "a function whose docstring begins with a noun: write 'Return the …', or what the function does": 0,
    "a semicolon in the first line of a docstring: write two sentences": 0,
    "a dtype that is called kind": 0,
    "a function of more than seven parameters that are not described, there or at the head of the file of kernels": 27,
}
"""How often each pattern occurs. Lower a number when you remove some; never raise it."""

NOUN = re.compile(r"(The|An?|These|Whether|Why|For each|Bytes|Sentences|Statements|CUDA source|As)\b|`")


def described(text: str) -> set[str]:
    """Return the names that the section on parameters of a docstring describes."""
    section = re.search(r"^Parameters.*\n-+\n((?:.*\n?)*?)(?=^\w.*\n---|\Z)", text, re.MULTILINE)
    lines = re.findall(r"^(\w[\w, ]*) :", section[1], re.MULTILINE) if section else []
    return {name.strip() for line in lines for name in line.split(",")}


def patterns(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each pattern that a module has, and the line."""
    see, noun, semicolon, kind, parameters = LIMITS
    of_kernels = described(ast.get_docstring(tree) or "")
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        text = ast.get_docstring(node) or ""
        if text.startswith("See"):
            yield see, node.lineno
        if ";" in text.partition("\n")[0]:
            yield semicolon, node.lineno
        if isinstance(node, ast.ClassDef):
            continue
        is_property = any("property" in ast.unparse(one) for one in node.decorator_list)
        if not is_property and NOUN.match(text):
            yield noun, node.lineno
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        given = [one for one in given if one.arg not in ("self", "cls")]
        if len(given) > 7 and not {one.arg for one in given} <= described(text) | of_kernels:
            yield parameters, node.lineno
        if any(one.arg == "kind" and "dtype" in ast.unparse(one.annotation) for one in given if one.annotation):
            yield kind, node.lineno


def test_hard_patterns_become_fewer() -> None:
    places: dict[str, list[str]] = {pattern: [] for pattern in LIMITS}
    for path in chain(ROOT.glob("gasla/**/*.py"), ROOT.glob("semirings/**/*.py")):
        for pattern, line in patterns(ast.parse(path.read_text(encoding="utf-8"))):
            places[pattern].append(f"{path.relative_to(ROOT)}:{line}")
    found = {pattern: len(there) for pattern, there in places.items()}
    assert found == LIMITS, "the places are: " + str({p: places[p] for p in LIMITS if found[p] > LIMITS[p]})


def test_each_pattern_is_found() -> None:
    code = '''
def f(a, b, c, d, e, f, g, kind: "np.dtype"):
    """The number; 0 if none."""

class C:
    """See `D`."""
'''
    assert Counter(pattern for pattern, _ in patterns(ast.parse(code))) == dict.fromkeys(LIMITS, 1)
