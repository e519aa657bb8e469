"""Graphs and results as pieces of HTML: tables of facts, of fields, and a small picture of degrees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np

from gasla.arrays import converted, moved
from gasla.graph.adjacency import Array

_HIGH, _WIDE = 48, 14  # pixels, of the picture and of a bar
_SINGLE = np.dtype(np.float32)
_SHOWN = 4  # values of a field, from the first on


def of_graph(facts: Mapping[str, str], degrees: Array) -> str:
    """A table of facts above a histogram of degrees.

    Examples
    --------
    >>> of_graph({"vertices": "3"}, np.array([1, 1, 4])).count("<rect")
    2
    """
    return _page("Graph", facts, _histogram(degrees))


def of_result(facts: Mapping[str, str], fields: Mapping[str, Any]) -> str:
    """A table of facts above one of fields: type, shape, from where to where values go, and the first few.

    Examples
    --------
    >>> of_result({"iterations": "3"}, {"level": np.array([0, 2, 1])}).count("<td")
    6
    """
    titles = "".join(f"<th>{title}</th>" for title in ("field", "type", "shape", "range", "first values"))
    rows = "".join(
        _row([name, str(array.dtype), str(array.shape), _range(array), _first(array)]) for name, array in fields.items()
    )
    return _page("Result", facts, f"<table><tr>{titles}</tr>{rows}</table>" if rows else "")


def _page(title: str, facts: Mapping[str, str], more: str) -> str:
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items()
    )
    return f"<div><b>{title}</b><table>{rows}</table>{more}</div>"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _range(array: Array) -> str:
    """The least and the largest value: NaN, if any is."""
    if not array.size:
        return ""
    array = converted(array, _SINGLE) if array.dtype == np.float16 else array
    return f"{_short(array.min())} to {_short(array.max())}"


def _first(array: Array) -> str:
    """The first values, vectors in brackets."""
    few = moved(array[:_SHOWN], "cpu")
    said = [_short(x) if few.ndim == 1 else f"[{', '.join(map(_short, x[:_SHOWN]))}{_more(x)}]" for x in few]
    return ", ".join(said) + _more(array)


def _more(array: Array) -> str:
    return ", …" if len(array) > _SHOWN else ""


def _short(number: Any) -> str:
    """A number in few digits; CuPy's may be arrays of no dimension."""
    value = number.item()
    return f"{value:.4g}" if isinstance(value, float) else str(value)


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
