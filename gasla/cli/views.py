"""Text output of answers by their shape: scores of vertices, values of edges, sets, groups and rows of vertices, paths.

A heading is the first line of output, and a view yields the other lines. Both are functions of an `Answered`; most
functions here make one, given the name of the part of the answer to show.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, pairwise
from typing import Any

import numpy as np

import gasla
from gasla.cli import text
from gasla.cli.verbs import Answered, Array, View
from gasla.progress import track

Pick = Callable[[Answered], Any]  # a part of an answer, or a line about it


def several(*views: View) -> View:
    """Several views in sequence."""
    return lambda f: chain.from_iterable(view(f) for view in views)


def line(heading: Pick) -> View:
    """A view of one line."""
    return lambda f: [heading(f)]


# --- one number per vertex --------------------------------------------------------------------------------------------


def ranking(name: str) -> View:
    """The vertices with the highest scores."""
    return lambda f: text.ranking(f.named, f[name], f.top)


def times_named(name: str) -> View:
    """The vertices that occur most often in an array."""
    return lambda f: text.ranking(f.named, np.bincount(f[name], minlength=f.graph.n), f.top)


def histogram(name: str, word: str) -> View:
    """The number of vertices with each value, from 0."""

    def view(f: Answered) -> Iterator[str]:
        counts = np.bincount(f[name][f[name] >= 0]).tolist()
        names, counts = text.shortened([*map(str, range(len(counts)))], counts, 20)
        return text.histogram([f"{word} {name}" for name in names], counts, "vertices")

    return view


def counts(name: str, titles: Mapping[int, str]) -> View:
    """The number of vertices with each of some values."""
    return lambda f: text.histogram([*titles.values()], [int((f[name] == x).sum()) for x in titles], "vertices")


def spread(name: str, title: str, which: Pick | None = None) -> View:
    """A histogram of the distances or times of the vertices in a mask, by default the reached ones, and the highest."""

    def view(f: Answered) -> Iterator[str]:
        values = f[name]
        some = is_reached(values) if which is None else which(f)
        if some.any() and np.ptp(values[some]) > 0:
            is_float = values.dtype.kind == "f"
            found, bounds = np.histogram(values[some], bins=10 if is_float else min(10, int(np.ptp(values[some]))))
            shown = [f"{x:,.6g}" if is_float else f"{x:,.0f}" for x in bounds.tolist()]
            yield from text.histogram([f"{a} to {b}" for a, b in pairwise(shown)], found.tolist(), "vertices")
        yield title
        lowest = -np.inf if values.dtype.kind == "f" else np.iinfo(values.dtype).min + 1  # whose negation fits
        yield from text.ranking(f.named, np.where(some, values, lowest), min(f.top, int(some.sum())))

    return view


def coordinates(name: str, which: Pick | None = None) -> View:
    """The coordinates of the first vertices, or of the first ones of some."""

    def view(f: Answered) -> Iterator[str]:
        for v in range(f.graph.n)[: f.top] if which is None else which(f)[: f.top].tolist():
            yield f"      {' '.join(f'{x:12.4f}' for x in f[name][v].tolist())}  {f.label(v)}"

    return view


def per_source(name: str) -> View:
    """For each source, the number of vertices reached, and the largest distance, if there are distances."""

    def view(f: Answered) -> Iterator[str]:
        for source, row in list(zip(f.arguments["sources"], f[name]))[: f.top]:
            some = row[is_reached(row)]
            farthest = "" if row.dtype == bool else f", largest distance {some.max(initial=0).item():,.6g}"
            yield f"      {some.size:>14,} reached from {f.label(source)}{farthest}"

    return view


def cells(f: Answered) -> Iterator[str]:
    """The sources with the largest cells, and the farthest vertex of each."""
    sources, which, distance = f.arguments["sources"], f["nearest"], f["distances"]
    sizes = np.bincount(which[which >= 0], minlength=len(sources))
    for place, i in enumerate(np.argsort(-sizes, kind="stable")[: f.top].tolist(), 1):
        farthest = distance[which == i].max(initial=0).item()
        yield f"{place:4}  {sizes[i]:>14,} vertices nearest to {f.label(sources[i])}, largest distance {farthest:,.6g}"


def groups(f: Answered) -> Iterator[str]:
    """The largest groups, each with one of its vertices."""
    _, first, sizes = np.unique(f["labels"], return_index=True, return_counts=True)
    for place, c in enumerate(np.argsort(-sizes, kind="stable")[: f.top].tolist(), 1):
        yield f"{place:4}  {sizes[c]:>14,} vertices, among them {f.label(int(first[c]))}"


def features(f: Answered) -> Iterator[str]:
    """Minimum, mean and maximum of each feature."""
    numbers = np.atleast_2d(f["aggregated"].T)
    for i, one in enumerate(numbers[: f.top] if numbers.size else []):
        yield f"{i:4}  {one.min():14,.6g}  {one.mean():14,.6g}  {one.max():14,.6g}"


# --- vertices, and rows of vertices -----------------------------------------------------------------------------------


def listed(
    ids: str | Pick, numbers: Pick | None = None, places: bool = True, between: str = " – ", more: Pick | None = None
) -> Callable[[Answered], Iterator[str]]:
    """The first vertices, or rows of vertices, numbered, with optional values; then the number of `more`."""

    def view(f: Answered) -> Iterator[str]:
        found = f[ids] if isinstance(ids, str) else ids(f)
        rows = (found.reshape(-1, 1) if found.ndim == 1 else found)[: f.top].tolist()
        some = [""] * len(rows) if numbers is None else [f"{x:14,.6g}  " for x in numbers(f)[: f.top].tolist()]
        for place, (row, number) in enumerate(zip(rows, some), 1):
            yield f"{f'{place:4}  ' if places else ''}{number}{between.join(map(f.label, row))}"
        if more is not None and len(found) > f.top:
            yield f"      and {len(found) - f.top:,} {more(f)}"

    return view


def named(ids: str | Pick) -> View:
    """The first vertices, or rows of vertices, without numbers."""
    view = listed(ids, places=False)
    return lambda f: (f"      {line}" for line in view(f))


def edges(numbers: Pick) -> View:
    """The ends of the first edges."""
    return named(lambda f: np.stack([ends[numbers(f)[: f.top]] for ends in f.graph.edges()], axis=1))


def members(name: str) -> Pick:
    """The positions where a mask is True."""
    return lambda f: np.flatnonzero(f[name])


def highest(name: str) -> Pick:
    """The edge numbers, by descending values."""
    return lambda f: np.argsort(-f[name], kind="stable")


def along_path(f: Answered) -> Array:
    """The distance of each vertex of a shortest path from its start."""
    numbers, values = f["edges"], f.graph.values
    lengths = np.ones(len(numbers)) if values is None else values[numbers]
    return np.append(0, lengths.cumsum(dtype=np.float64))[: len(f["path"])]


def paths(f: Answered) -> Iterator[str]:
    """The length of each path, and its vertices: the first three and the last two of more than five."""
    for place, (distance, path, _) in enumerate(f["paths"][: f.top], 1):
        labels = [f.label(v) for v in path.tolist()]
        shown = labels if len(labels) <= 5 else [*labels[:3], f"… {len(labels) - 5:,} more …", *labels[-2:]]
        yield f"{place:4}  {distance:14,.6g}  {' – '.join(shown)}"


def similar(f: Answered) -> Iterator[str]:
    """The most similar pairs of each vertex and the most similar other vertex."""
    first, scores = f["vertices"][:, :1], f["scores"].max(axis=1, initial=0)
    order = np.argsort(-scores, kind="stable")
    order = order[(first[order] >= 0).any(axis=1)]
    pairs = np.concatenate([order[:, None], first[order]], axis=1)
    return listed(lambda _: pairs, lambda _: scores[order], places=False)(f)


# --- headings ---------------------------------------------------------------------------------------------------------


def convergence(title: str) -> Pick:
    """Whether an iteration converged, its residual, and a title."""
    return lambda f: (
        f"{'converged' if f['converged'] else 'did NOT converge'} after {f['iterations']} iterations, residual "
        f"{f['residual']:.3g}; the {title}:"
    )


def reached(name: str) -> Pick:
    """The number of vertices reached from the source."""
    return lambda f: f"{is_reached(f[name]).sum():,} of {f.graph.n:,} vertices reached from {f.end('source')}"


def from_sources(title: str) -> Pick:
    """A title with the number of sources."""
    return lambda f: f"{title.format(f.graph.n if (some := f.arguments['sources']) is None else len(some))}:"


def inside(name: str, what: str, where: Pick) -> Pick:
    """The number of vertices or edges in a mask."""
    return lambda f: f"{f[name].sum():,} of {len(f[name]):,} {what} {where(f)}{', among them' * bool(f[name].any())}"


def positive(name: str, what: str) -> Pick:
    """The number of edges with a value above 0."""
    return lambda f: f"{(f[name] > 0).sum():,} of {len(f[name]):,} stored edges {what}{', most' * bool(len(f[name]))}"


def counted(name: str, what: str, title: str) -> Pick:
    """The length of an array, and a title if it is not empty."""
    return lambda f: f"{len(f[name]):,} {what}{title * bool(len(f[name]))}"


def grouped(what: str) -> Pick:
    """The number of groups."""

    def heading(f: Answered) -> str:
        _, sizes = np.unique(f["labels"], return_counts=True)
        return f"{len(sizes):,} {what}, {(sizes == 1).sum():,} of them single vertices; the largest:"

    return heading


# --- edges ------------------------------------------------------------------------------------------------------------


def is_reached(values: Array) -> Array:
    """A mask of the levels, distances or truth values that belong to reached vertices."""
    if values.dtype == bool:
        return values
    reached: Array = values >= 0 if values.dtype.kind == "i" else np.isfinite(values)
    return reached


def happens(times: Array) -> Array:
    """A mask of the times that are neither infinite nor an extreme of their type, which stands for it."""
    if times.dtype.kind == "f":
        return np.isfinite(times)
    extremes = np.iinfo(times.dtype)
    happening: Array = (times > extremes.min) & (times < extremes.max)
    return happening


def is_placed(locations: Array) -> Array:
    """A mask of the vertices with a location."""
    return ~np.isnan(locations[:, 0])


def traversed(f: Answered) -> int:
    """The number of stored edges that a call traverses: for searches, edges whose source is reached; else all edges."""
    reached = next((f[name] for name in ("levels", "distances", "reached") if name in f.answer), None)
    if reached is not None and {"source", "sources"} & f.arguments.keys():
        return sum(_edges_from(f, is_reached(row)) for row in np.atleast_2d(reached))
    if "sources" not in f.arguments:
        return f.graph.m
    sources = range(f.graph.n) if f.arguments["sources"] is None else f.arguments["sources"]
    return sum(_edges_from(f, gasla.bfs(f.graph, s) >= 0) for s in track(sources, "sources"))


def _edges_from(f: Answered, reached: Array) -> int:
    return int(f.graph.out_degrees[reached].sum(dtype=np.int64))
