"""Link names of gasla in the text of pages, such as `gasla.bfs` or `Graph.select`, to the reference.

Names without `gasla.` are linked where they are unambiguous: not `vertex`, and none on pages about other libraries.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

import gasla

OTHERS = {"networkx", "csgraph", "changelog"}
WORDS = {"vertex", "edge", "parameter", "option", "aggregate", "run", "walk", "prepare", "explain"}


def target(text: str, page: str) -> str | None:
    """Return the full name that a text in code font may stand for."""
    name = re.sub(r"\(.*\)$", "", text.strip()).replace("graph.", "Graph.")
    if name.startswith(("gasla.", "semirings.")):
        return name
    first = name.partition(".")[0]
    if page in OTHERS or first not in gasla.__all__ or (first in WORDS and page != "functions"):
        return None
    return f"gasla.{name}"


def link(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Put a link around each name that the reference has."""
    if page.startswith(("api/", "gallery/")):
        return
    known = app.env.domains["py"].objects
    for node in list(tree.findall(nodes.literal)):
        name = target(node.astext(), page)
        if name not in known or isinstance(node.parent, nodes.reference | nodes.title):
            continue
        entry = known[name]
        node.replace_self(make_refnode(app.builder, page, entry.docname, entry.node_id, node.deepcopy(), name))


def setup(app: Sphinx) -> dict[str, Any]:
    """Link once all names are known."""
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True}
