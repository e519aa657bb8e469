"""Draw the Mermaid flowcharts of pages as SVG when the site is built, without JavaScript. GitHub draws them by itself.

Understood is a small part of the language: `flowchart TB` or `LR`, nodes `id["text<br/>text"]`, and arrows `-->` and
`-.->` between them. A node stands one layer behind the last of those that lead to it.
"""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

NODE = re.compile(r'(\w+)\["([^"]*)"\]')
ARROW = re.compile(r"\s+(-->|-\.->)\s+")
LETTER, LINE, PAD, GAP_ACROSS, GAP_ALONG = 6.7, 17, 10, 24, 34
STYLE = "font: 13px system-ui, sans-serif; max-width: 100%; height: auto; color: inherit"

Chart = tuple[dict[str, list[str]], list[tuple[str, str, bool]], bool]


def parse(source: str) -> Chart:
    """Return the lines of text of each node, the arrows (dashed or not), and whether layers go to the right."""
    texts: dict[str, list[str]] = {}
    arrows = []
    head, *rest = source.strip().splitlines()
    for line in rest:
        for name, text in NODE.findall(line):
            texts[name] = text.split("<br/>")
        parts = ARROW.split(NODE.sub(r"\1", line).strip())
        for name in parts[::2]:
            texts.setdefault(name, [name])
        arrows += [(parts[k - 1], parts[k + 1], parts[k] == "-.->") for k in range(1, len(parts), 2)]
    return texts, arrows, head.split()[1] == "LR"


def layers(chart: Chart) -> list[list[str]]:
    """Return the nodes of each layer."""
    texts, arrows, _ = chart
    level = dict.fromkeys(texts, 0)
    for _ in texts:
        for start, end, _ in arrows:
            level[end] = max(level[end], level[start] + 1)
    return [[name for name in texts if level[name] == k] for k in range(max(level.values()) + 1)]


def draw(source: str) -> str:
    """Return a flowchart as SVG, in the color of the text around it."""
    chart = parse(source)
    texts, arrows, to_right = chart
    size = {name: (LETTER * max(map(len, t)) + 2 * PAD, LINE * len(t) + 2 * PAD) for name, t in texts.items()}
    along, across = (0, 1) if to_right else (1, 0)
    rows = layers(chart)
    breadth = max(sum(size[n][across] for n in row) + GAP_ACROSS * (len(row) - 1) for row in rows)
    place: dict[str, list[float]] = {}
    depth = 1.0
    for row in rows:
        at = (breadth - sum(size[n][across] for n in row) - GAP_ACROSS * (len(row) - 1)) / 2 + 1
        thickness = max(size[n][along] for n in row)
        for name in row:
            place[name] = [0.0, 0.0]
            place[name][along], place[name][across] = depth + (thickness - size[name][along]) / 2, at
            at += size[name][across] + GAP_ACROSS
        depth += thickness + GAP_ALONG
    extent = (depth - GAP_ALONG, breadth + 1) if to_right else (breadth + 1, depth - GAP_ALONG)
    parts = [arrow(place, size, start, end, dashed, along) for start, end, dashed in arrows]
    parts += [box(texts[name], *place[name], *size[name]) for name in texts]
    marker = '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    marker += '<path d="M0 0L8 4L0 8z" fill="currentColor"/></marker>'
    view = f'viewBox="0 0 {extent[0] + 1:.0f} {extent[1] + 1:.0f}" width="{extent[0] + 1:.0f}"'
    label = html.escape("; ".join(" ".join(t) for t in texts.values()), quote=True)
    return f'<svg {view} style="{STYLE}" role="img" aria-label="{label}"><defs>{marker}</defs>{"".join(parts)}</svg>'


def box(lines: list[str], x: float, y: float, width: float, height: float) -> str:
    """Return a node: its first line in bold."""
    shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="5" '
    shape += 'fill="currentColor" fill-opacity="0.06" stroke="currentColor" stroke-opacity="0.5"/>'
    for k, line in enumerate(lines):
        weight = ' font-weight="600"' if k == 0 and len(lines) > 1 else ""
        at = f'x="{x + width / 2:.1f}" y="{y + PAD + LINE * (k + 0.75):.1f}"'
        shape += f'<text {at} text-anchor="middle" fill="currentColor"{weight}>{html.escape(line)}</text>'
    return shape


def arrow(place: Any, size: Any, start: str, end: str, dashed: bool, along: int) -> str:
    """Return a curve from the end of one node to the beginning of another."""
    first = [place[start][k] + size[start][k] * (1 if k == along else 0.5) for k in (0, 1)]
    last = [place[end][k] + size[end][k] * (0 if k == along else 0.5) for k in (0, 1)]
    middle = (first[along] + last[along]) / 2
    bend = [[middle if k == along else point[k] for k in (0, 1)] for point in (first, last)]
    points = [f"{x:.1f} {y:.1f}" for x, y in (first, *bend, last)]
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    path = f"M{points[0]}C{points[1]} {points[2]} {points[3]}"
    return f'<path d="{path}" fill="none" stroke="currentColor" marker-end="url(#tip)"{dashes}/>'


class Drawn(SphinxTransform):
    """Replace the code blocks."""

    default_priority = 500

    def apply(self, **_: Any) -> None:
        """Draw each."""
        for node in list(self.document.findall(nodes.literal_block)):
            if node.get("language") == "mermaid":
                node.replace_self(nodes.raw("", f'<p class="diagram">{draw(node.astext())}</p>', format="html"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Draw when a page has been read."""
    app.add_transform(Drawn)
    return {"parallel_read_safe": True}
