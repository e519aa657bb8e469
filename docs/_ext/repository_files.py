"""Pages link to files of the repository, which are not part of the site: their names stay, without a link."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)]*)\)")


def unlink(app: Sphinx, page: str, content: list[str]) -> None:
    """Replace links that lead out of docs/ by their text; tests/project/test_docs.py checks their targets."""

    def text(found: re.Match[str]) -> str:
        levels, inside = found[0].count("../"), page.count("/")
        return found[0] if levels <= inside else found[1]

    content[0] = OUTSIDE.sub(text, content[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Change pages as they are read."""
    app.connect("source-read", unlink)
    return {"parallel_read_safe": True}
