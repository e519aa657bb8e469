"""Show docs/algorithms.md under each function: how it reads a matrix, and how far its answer is determined.

That page has a section per function (or per several that agree), with a list of labeled sentences.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx  # tests read the page without it

PAGE = Path(__file__).parents[1] / "algorithms.md"
SECTION = re.compile(r"^### (.+)\n\n((?:- .+\n(?:  .+\n)*)+)", re.MULTILINE)
ITEM = re.compile(r"^- \*(.+?)\*: (.+(?:\n  .+)*)", re.MULTILINE)


def sections(text: str) -> dict[str, dict[str, str]]:
    """Return, for each function, the sentence under each label."""
    found = {}
    for names, items in SECTION.findall(text):
        labeled = {label: " ".join(sentence.split()) for label, sentence in ITEM.findall(items)}
        found.update(dict.fromkeys(re.findall(r"`(\w+)`", names), labeled))
    return found


def append(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Append the section of a function to its docstring."""
    labeled = sections(PAGE.read_text(encoding="utf-8")).get(name.removeprefix("gasla."), {})
    if labeled and what == "function":
        lines += ["", ".. rubric:: Edge semantics", ""]
        lines += [f":{label}: {sentence}" for label, sentence in labeled.items()]
        lines += ["", ":doc:`What these words mean </algorithms>`", ""]


def setup(app: Sphinx) -> dict[str, Any]:
    """Append after numpydoc has read the docstring, which would take the list for text."""
    app.connect("autodoc-process-docstring", append, priority=900)
    return {"parallel_read_safe": True}
