"""A graph as a piece of HTML: facts, and how many vertices have how many out-edges as a small picture."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np

from gasla.graph.adjacency import Array

_HIGH, _WIDE = 48, 14  # pixels, of the picture and of a bar


def page(facts: Mapping[str, str], degrees: Array) -> str:
    """A table of facts above a histogram of degrees.

    Examples
    --------
    >>> page({"vertices": "3"}, np.array([1, 1, 4])).count("<rect")
    2
    """
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items()
    )
    return f"<div><b>Graph</b><table>{rows}</table>{_histogram(degrees)}</div>"


def _histogram(degrees: Array) -> str:
    """Bars for degrees 0, 1, 2-3, 4-7, …; heights by the logarithm of counts, so that few vertices show too."""
    if not len(degrees):
        return ""
    counts = np.bincount(np.where(degrees > 0, np.frexp(degrees)[1], 0))
    heights = np.ceil(_HIGH * np.log1p(counts) / np.log1p(counts.max())).astype(int).tolist()
    bars = []
    for place, (count, height) in enumerate(zip(counts.tolist(), heights)):
        if not count:
            continue
        span = str(place) if place < 2 else f"{2 ** (place - 1)}-{2**place - 1}"
        bars.append(
            f"<rect x='{place * _WIDE}' y='{_HIGH - height}' width='{_WIDE - 2}' height='{height}' fill='#4c78a8'>"
            f"<title>{count:,} vertices with {span} out-edges</title></rect>"
        )
    return (
        f"<svg width='{len(counts) * _WIDE}' height='{_HIGH}' role='img' aria-label='out-degrees'>{''.join(bars)}</svg>"
        "<div><small>out-edges a vertex: 0, 1, 2-3, 4-7, …</small></div>"
    )
