"""HTML for notebooks: graphs (properties, histogram of degrees) and results (properties, table of fields)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np

from gasla.arrays import converted, moved
from gasla.graph.adjacency import Array

_HIGH, _WIDE = 48, 14  # pixels: height of the histogram, width of a bar
_SINGLE = np.dtype(np.float32)
_SHOWN = 4  # number of first values shown of each field


def of_graph(properties: Mapping[str, str], degrees: Array) -> str:
    """Return a table of properties above a histogram of degrees.

    Examples
    --------
    >>> of_graph({"vertices": "3"}, np.array([1, 1, 4])).count("<rect")
    2
    """
    return _page("Graph", properties, _histogram(degrees))


def of_result(properties: Mapping[str, str], fields: Mapping[str, Any]) -> str:
    """Return a table of properties above a table of fields: type, shape, range and first values of each.

    Examples
    --------
    >>> of_result({"iterations": "3"}, {"level": np.array([0, 2, 1])}).count("<td")
    6
    """
    titles = "".join(f"<th>{title}</th>" for title in ("field", "type", "shape", "range", "first values"))
    rows = "".join(
        _row([name, str(array.dtype), str(array.shape), _range(array), _first(array)]) for name, array in fields.items()
    )
    return _page("Result", properties, f"<table><tr>{titles}</tr>{rows}</table>" if rows else "")


def _page(title: str, properties: Mapping[str, str], more: str) -> str:
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in properties.items()
    )
    return f"<div><b>{title}</b><table>{rows}</table>{more}</div>"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _range(array: Array) -> str:
    """Return the smallest and the largest value, as text, or NaN if any value is."""
    if not array.size:
        return ""
    array = converted(array, _SINGLE) if array.dtype == np.float16 else array
    return f"{_short(array.min())} to {_short(array.max())}"


def _first(array: Array) -> str:
    """Return the first values, vectors in brackets."""
    few = moved(array[:_SHOWN], "cpu")
    said = [_short(x) if few.ndim == 1 else f"[{', '.join(map(_short, x[:_SHOWN]))}{_more(x)}]" for x in few]
    return ", ".join(said) + _more(array)


def _more(array: Array) -> str:
    return ", …" if len(array) > _SHOWN else ""


def _short(number: Any) -> str:
    """Return a number in few digits. CuPy's scalars are 0-d arrays, which are read first."""
    value = number.item()
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _histogram(degrees: Array) -> str:
    """Return bars for degrees 0, 1, 2-3, 4-7, ….

    Their heights are logarithms of counts, so small counts are visible.
    """
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
        "<div><small>out-degrees: 0, 1, 2-3, 4-7, …</small></div>"
    )
