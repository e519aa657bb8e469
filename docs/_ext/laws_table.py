"""Write the table of tests/helpers/laws.py into the page on laws."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from tests.helpers.laws import page


def write(app: Sphinx, name: str, content: list[str]) -> None:
    """Put the table where the page has its mark."""
    if name == "laws":
        content[0] = page(content[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Change the page as it is read."""
    app.connect("source-read", write)
    return {"parallel_read_safe": True}
