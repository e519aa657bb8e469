"""Functions that format plain text, such as rankings, histograms and aligned columns, and that parse numbers."""

from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gasla.cli.data import Named


def count(word: str) -> int:
    """Parse an option that is a whole number, 0 or more.

    Examples
    --------
    >>> count("10")
    10
    """
    if not (word.isascii() and word.isdigit()):
        raise ArgumentTypeError(f"{word!r}; expected a whole number, 0 or more")
    return int(word)


def aligned(rows: Mapping[str, object]) -> Iterator[str]:
    """Yield a line for each name with its value. The values are aligned in a column.

    Examples
    --------
    >>> list(aligned({"vertices": 3, "edges": 1200}))
    ['vertices  3', 'edges     1,200']
    """
    width = max(map(len, rows), default=0)
    for name, value in rows.items():
        yield f"{name:{width}}  {value:,}" if isinstance(value, int) else f"{name:{width}}  {value}"


def of_time(value: Any) -> str:
    """Return the text of a date, or of a duration in days, hours, minutes and seconds.

    Examples
    --------
    >>> of_time(np.datetime64("2026-01-31T12:00:00.000")), of_time(np.timedelta64(93_600_500, "ms"))
    ('2026-01-31 12:00:00', '1 day, 2:00:00.500000')
    """
    if isinstance(value, np.timedelta64):
        return str(value.astype("m8[us]").item())
    day, _, clock = str(value).partition("T")
    return f"{day} {clock.rstrip('0').rstrip('.') if '.' in clock else clock}".strip()


def ranking(graph: Named, scores: NDArray[Any], top: int, dates: NDArray[Any] | None = None) -> Iterator[str]:
    """Yield a line for each of the `top` vertices with the highest scores.

    If `dates` are given, the scores are these dates as integers, and the lines show the dates.
    """
    for place, v in enumerate(np.argsort(-scores, kind="stable")[:top].tolist(), 1):
        score = scores[v].item()
        if dates is not None:
            yield f"{place:4}  {of_time(dates[v]):>14}  {graph.label(v)}"
            continue
        shown = f"{score:>14,}" if isinstance(score, int) else f"{score:14.6g}"
        yield f"{place:4}  {shown}  {graph.label(v)}"


def histogram(names: Sequence[str], counts: Sequence[int], unit: str) -> Iterator[str]:
    """Yield the lines of a histogram: for each count its name, the count with its unit, and a bar of proportional
    length.

    Examples
    --------
    >>> for line in histogram(["1", "10"], [4, 2], "vertices"):
    ...     print(line)
     1  4 vertices ████████████████████████████████████████
    10  2 vertices ████████████████████
    """
    largest = max(counts, default=0)
    width = max(map(len, names), default=0)
    digits = len(f"{largest:,}")
    for name, count in zip(names, counts):
        yield f"{name:>{width}}  {count:>{digits},} {unit} {'█' * round(40 * count / max(largest, 1))}".rstrip()


def shortened(names: Sequence[str], counts: Sequence[int], rows: int) -> tuple[list[str], list[int]]:
    """Merge adjacent rows of a histogram, given by their names and counts, so that at most `rows` rows remain.

    Examples
    --------
    >>> shortened(["0", "1", "2", "3", "4"], [1, 1, 1, 1, 1], 3)
    (['0-1', '2-3', '4'], [2, 2, 1])
    """
    step = -(-len(names) // rows) or 1
    groups = [(names[i : i + step], counts[i : i + step]) for i in range(0, len(names), step)]
    return [some[0] if len(some) == 1 else f"{some[0]}-{some[-1]}" for some, _ in groups], [sum(c) for _, c in groups]
