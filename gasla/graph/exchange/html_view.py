"""HTML for notebooks: a graph's properties and histogram of degrees, or a result's properties and table of fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np

from gasla.arrays import converted, moved
from gasla.graph.adjacency import Array

_HIGH, _WIDE = 48, 14  # height of the histogram and width of a bar, in pixels
_SINGLE = np.dtype(np.float32)
_SHOWN_COUNT = 4  # number of values of each field that are shown, from the first on


def of_graph(properties: Mapping[str, str], degrees: Array) -> str:
    """Return HTML with a table of a graph's properties above a histogram of its degrees.

    Examples
    --------
    >>> of_graph({"vertices": "3"}, np.array([1, 1, 4])).count("<rect")
    2
    """
    return _render_page("Graph", properties, _render_histogram(degrees))


def of_result(properties: Mapping[str, str], fields: Mapping[str, Any]) -> str:
    """Return HTML with a table of a result's properties, above a table of its fields.

    Of each field it has the type, the shape, the range and the first values.

    Examples
    --------
    >>> of_result({"iterations": "3"}, {"level": np.array([0, 2, 1])}).count("<td")
    6
    """
    titles = "".join(f"<th>{title}</th>" for title in ("field", "type", "shape", "range", "first values"))
    rows = "".join(
        _render_row([name, str(array.dtype), str(array.shape), _range_text(array), _first_values_text(array)])
        for name, array in fields.items()
    )
    return _render_page("Result", properties, f"<table><tr>{titles}</tr>{rows}</table>" if rows else "")


def _render_page(title: str, properties: Mapping[str, str], further_html: str) -> str:
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in properties.items()
    )
    return f"<div><b>{title}</b><table>{rows}</table>{further_html}</div>"


def _render_row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _range_text(array: Array) -> str:
    """Return the smallest and the largest value of an array as text for HTML, or "nan to nan" if any value is NaN."""
    if not array.size:
        return ""
    array = converted(array, _SINGLE) if array.dtype == np.float16 else array
    return f"{_format_number(array.min())} to {_format_number(array.max())}"


def _first_values_text(array: Array) -> str:
    """Return the first values of an array as text. Values that are vectors are in brackets."""
    values = moved(array[:_SHOWN_COUNT], "cpu")
    texts = [
        _format_number(x) if values.ndim == 1 else f"[{', '.join(map(_format_number, x[:_SHOWN_COUNT]))}{_ellipsis(x)}]"
        for x in values
    ]
    return ", ".join(texts) + _ellipsis(array)


def _ellipsis(array: Array) -> str:
    return ", …" if len(array) > _SHOWN_COUNT else ""


def _format_number(scalar: Any) -> str:
    """Return a number as text with few digits.

    A scalar of CuPy is a 0-d array, whose value is copied from the GPU first.
    """
    value = scalar.item()
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _render_histogram(degrees: Array) -> str:
    """Return an SVG histogram with one bar each for vertices of degree 0, 1, 2-3, 4-7, ….

    The heights of the bars are logarithms of the counts, so that small counts are visible.
    """
    if not len(degrees):
        return ""
    counts = np.bincount(np.where(degrees > 0, np.frexp(degrees)[1], 0))
    heights = np.ceil(_HIGH * np.log1p(counts) / np.log1p(counts.max())).astype(int).tolist()
    bars = []
    for bar, (count, height) in enumerate(zip(counts.tolist(), heights)):
        if not count:
            continue
        span = str(bar) if bar < 2 else f"{2 ** (bar - 1)}-{2**bar - 1}"
        bars.append(
            f"<rect x='{bar * _WIDE}' y='{_HIGH - height}' width='{_WIDE - 2}' height='{height}' fill='#4c78a8'>"
            f"<title>{count:,} vertices with {span} out-edges</title></rect>"
        )
    return (
        f"<svg width='{len(counts) * _WIDE}' height='{_HIGH}' role='img' aria-label='out-degrees'>{''.join(bars)}</svg>"
        "<div><small>out-degrees: 0, 1, 2-3, 4-7, …</small></div>"
    )
