"""Pages link to files of the repository, which lie beside the site: their names stay, without a link.

Diagrams of Mermaid, which GitHub draws, are shown as their source.
"""

from __future__ import annotations

import re
from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")


def unlink(app: Sphinx, page: str, content: list[str]) -> None:
    """Put the text of such links in their place; that they lead somewhere, tests/project/test_docs.py sees."""
    content[0] = OUTSIDE.sub(r"\1", content[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register both."""
    app.connect("source-read", unlink)
    app.add_lexer("mermaid", TextLexer)
    return {"parallel_read_safe": True}
