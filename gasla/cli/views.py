"""Text output of answers, with a function for each kind, such as scores of vertices, values of edges, sets and paths.

A heading is the first line of output, and a view yields the other lines. Both are functions of an `Answered`, which
the descriptions of functions in `gasla/rows.py` write with its methods.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gasla
from gasla.cli import text
from gasla.cli.data import Named
from gasla.progress import track

Array = NDArray[Any]


@dataclass(frozen=True)
class Answered:
    """The arguments and the result of a command. For an `Answered` f, `f["levels"]` is the part `levels` of the result.

    Methods that yield text yield a line for each item, up to `top` items.
    """

    names: Named
    arguments: Mapping[str, Any]  # the arguments that gasla's function was called with, by name
    answer: Mapping[str, Any]  # the parts of the function's result, by name
    top: int  # maximum number of items that are printed

    def __getitem__(self, name: str) -> Any:
        return self.answer[name]

    @property
    def graph(self) -> gasla.Graph:
        """The graph of the command, in the host's memory."""
        return self.names.graph

    @property
    def pairs(self) -> tuple[Array, Array] | None:
        """The two vertices of each pair that the command was given, or None if its answer is about edges."""
        return self.arguments.get("pairs")

    def label(self, vertex: int) -> str:
        """Return how the output writes a vertex, by its name or number."""
        return self.names.label(vertex)

    def end(self, name: str) -> str:
        """Return how the output writes the vertex that was passed as the argument `name`, such as "source"."""
        return self.label(self.arguments[name])

    @property
    def ends(self) -> str:
        """The source and the target of a search, as the output writes them."""
        return f"{self.end('source')} to {self.end('target')}"

    # --- views (lines after the heading) of one number per vertex

    def ranking(self, name: str) -> Iterator[str]:
        """Yield a line for each of the vertices with the highest scores. `name` is the part of the answer with the
        scores.
        """
        return text.ranking(self.names, self[name], self.top)

    def times_named(self, name: str) -> Iterator[str]:
        """Yield a line for each of the vertices that occur most often in an array of the answer."""
        return text.ranking(self.names, np.bincount(self[name], minlength=self.graph.n), self.top)

    def histogram(self, name: str, word: str) -> Iterator[str]:
        """Yield a line with a bar for each value of a part of the answer, with the number of vertices that have the
        value.

        The values are integers from 0. In each line, `word` stands before the value.
        """
        counts = np.bincount(self[name][self[name] >= 0]).tolist()
        names, counts = text.shortened([*map(str, range(len(counts)))], counts, 20)
        return text.histogram([f"{word} {name}" for name in names], counts, "vertices")

    def counts(self, name: str, titles: Mapping[int, str]) -> Iterator[str]:
        """Yield a line for each value in `titles`, with the number of vertices that have it."""
        return text.histogram([*titles.values()], [int((self[name] == x).sum()) for x in titles], "vertices")

    def spread(self, name: str, title: str, which: Any = None) -> Iterator[str]:
        """Yield a histogram of distances or times, then a title, and then a line for each vertex with the highest
        values.

        `which` is a mask of the vertices that count. By default these are the reached vertices.
        """
        values, dates = self[name], None
        is_shown = is_reached(values) if which is None else which
        if values.dtype.kind in "mM":
            values, dates = values.view(np.int64), values
        if is_shown.any() and np.ptp(values[is_shown]) > 0:
            is_float = values.dtype.kind == "f"
            counts, bounds = np.histogram(
                values[is_shown], bins=10 if is_float else min(10, int(np.ptp(values[is_shown])))
            )
            bin_labels = [f"{x:,.6g}" if is_float else f"{x:,.0f}" for x in bounds.tolist()]
            if dates is not None:
                bin_labels = [*map(text.of_time, bounds.astype(np.int64).view(dates.dtype))]
            yield from text.histogram([f"{a} to {b}" for a, b in pairwise(bin_labels)], counts.tolist(), "vertices")
        yield title
        # `ranking` negates this value, so its negation must fit the dtype, as that of the smallest integer would not
        lowest = -np.inf if values.dtype.kind == "f" else np.iinfo(values.dtype).min + 1
        yield from text.ranking(
            self.names, np.where(is_shown, values, lowest), min(self.top, int(is_shown.sum())), dates
        )

    def coordinates(self, name: str, which: Any = None) -> Iterator[str]:
        """Yield a line with the coordinates of each of the first vertices, or of the first vertices in `which`."""
        for v in range(self.graph.n)[: self.top] if which is None else which[: self.top].tolist():
            yield f"      {' '.join(f'{x:12.4f}' for x in self[name][v].tolist())}  {self.label(v)}"

    def per_source(self, name: str) -> Iterator[str]:
        """Yield a line for each source, with the number of vertices reached from it and the largest distance if
        known.
        """
        for source, row in list(zip(self.arguments["sources"], self[name]))[: self.top]:
            reached = row[is_reached(row)]
            farthest = "" if row.dtype == bool else f", largest distance {reached.max(initial=0).item():,.6g}"
            yield f"      {reached.size:>14,} reached from {self.label(source)}{farthest}"

    def cells(self) -> Iterator[str]:
        """Yield a line for each source, with the number of vertices that are nearest to it and their largest distance.

        Sources with the most vertices come first.
        """
        sources, cell_of_vertex, distance = self.arguments["sources"], self["nearest"], self["distances"]
        sizes = np.bincount(cell_of_vertex[cell_of_vertex >= 0], minlength=len(sources))
        for place, i in enumerate(np.argsort(-sizes, kind="stable")[: self.top].tolist(), 1):
            name, farthest = self.label(sources[i]), distance[cell_of_vertex == i].max(initial=0).item()
            yield f"{place:4}  {sizes[i]:>14,} vertices nearest to {name}, largest distance {farthest:,.6g}"

    def groups(self) -> Iterator[str]:
        """Yield a line for each of the largest groups, with its size and one of its vertices."""
        _, first_member, sizes = np.unique(self["labels"], return_index=True, return_counts=True)
        for place, c in enumerate(np.argsort(-sizes, kind="stable")[: self.top].tolist(), 1):
            yield f"{place:4}  {sizes[c]:>14,} vertices, among them {self.label(int(first_member[c]))}"

    def features(self) -> Iterator[str]:
        """Yield a line for each feature, with its minimum, mean and maximum over all vertices."""
        numbers = np.atleast_2d(self["aggregated"].T)
        for i, feature in enumerate(numbers[: self.top] if numbers.size else []):
            yield f"{i:4}  {feature.min():14,.6g}  {feature.mean():14,.6g}  {feature.max():14,.6g}"

    # --- views (lines after the heading) of lists of vertices, of rows of vertices, and of edges

    def listed(
        self, vertices: Array, numbers: Any = None, places: bool = True, between: str = " – ", more: str = ""
    ) -> Iterator[str]:
        """Yield a line for each of the first `top` entries of `vertices`, with an optional number at the end.

        An entry is a vertex, or a row of vertices, such as a walk, which are separated by `between`. With `places`,
        lines are numbered from 1. With `more`, such as "vertices", an added line says how many entries are not printed.
        """
        rows = (vertices.reshape(-1, 1) if vertices.ndim == 1 else vertices)[: self.top].tolist()
        texts = [""] * len(rows) if numbers is None else [f"{x:14,.6g}  " for x in numbers[: self.top].tolist()]
        for place, (row, number) in enumerate(zip(rows, texts), 1):
            yield f"{f'{place:4}  ' if places else ''}{number}{between.join(map(self.label, row))}"
        if more and len(vertices) > self.top:
            yield f"      and {len(vertices) - self.top:,} {more}"

    def named(self, vertices: Array) -> Iterator[str]:
        """Yield a line for each of the first `top` entries of `vertices`, with the labels of vertices only.

        An entry is a vertex, or a row of vertices, such as the two ends of an edge. These lines show neither the
        position of the entry nor a number, which `listed` can show.
        """
        return (f"      {line}" for line in self.listed(vertices, places=False))

    def edges(self, numbers: Any) -> Iterator[str]:
        """Yield a line with both ends of each edge whose id is in `numbers`, for at most `top` edges.

        If the command was given pairs of vertices, `numbers` are the indices of pairs.
        """
        return self.named(np.stack([ends[numbers[: self.top]] for ends in self.pairs or self.graph.edges()], axis=1))

    def members(self, name: str) -> Array:
        """Return the indices at which a mask, which is a part of the answer, is True."""
        return np.flatnonzero(self[name])

    def highest(self, name: str) -> Array:
        """Return the ids of the edges, those of the highest values first."""
        return np.argsort(-self[name], kind="stable")

    def along_path(self) -> Array:
        """Return the distance of each vertex on a shortest path from the first vertex of the path."""
        numbers, values = self["edges"], self.graph.values
        lengths = np.ones(len(numbers)) if values is None else values[numbers]
        return np.append(0, lengths.cumsum(dtype=np.float64))[: len(self["path"])]

    def paths(self) -> Iterator[str]:
        """Yield a line for each path, with its length and its vertices. The vertices in the middle of a long path are
        omitted.
        """
        for place, (distance, path, _) in enumerate(self["paths"][: self.top], 1):
            labels = [self.label(v) for v in path.tolist()]
            shown_labels = labels if len(labels) <= 5 else [*labels[:3], f"… {len(labels) - 5:,} more …", *labels[-2:]]
            yield f"{place:4}  {distance:14,.6g}  {' – '.join(shown_labels)}"

    def similar(self) -> Iterator[str]:
        """Yield a line for each of the vertices that are most similar to some vertex, with this vertex and the
        score.
        """
        first, scores = self["vertices"][:, :1], self["scores"].max(axis=1, initial=0)
        order = np.argsort(-scores, kind="stable")
        order = order[(first[order] >= 0).any(axis=1)]
        return self.listed(np.concatenate([order[:, None], first[order]], axis=1), scores[order], places=False)

    # --- headings, which are the first line of output -----------------------------------------------------------------

    def convergence(self, title: str) -> str:
        """Return a heading that says whether an iteration converged and its residual, and that ends with a title."""
        return (
            f"{'converged' if self['converged'] else 'did NOT converge'} after {self['iterations']} iterations, "
            f"residual {self['residual']:.3g}; the {title}:"
        )

    def reached(self, name: str) -> str:
        """Return a heading with the number of vertices that a search reached from the source."""
        return f"{is_reached(self[name]).sum():,} of {self.graph.n:,} vertices reached from {self.end('source')}"

    def from_sources(self, title: str) -> str:
        """Return a heading that is a title with the number of sources."""
        sources = self.arguments["sources"]
        return f"{title} from {self.graph.n if sources is None else len(sources):,} sources:"

    def inside(self, name: str, what: str) -> str:
        """Return a heading with the number of vertices or edges (named by `what`) for which a mask in the answer is
        True.
        """
        is_inside = self[name]
        return f"{is_inside.sum():,} of {len(is_inside):,} {what}{', among them' * bool(is_inside.any())}"

    def of_degree(self, what: str) -> str:
        """Return a part of a heading, such as "are in the 3-core". `what` is the kind of subgraph, such as "core"."""
        k = self.arguments["k"]
        return f"are in the main {what}" if k is None else f"are in the {k:,}-{what}"

    def positive(self, name: str, what: str) -> str:
        """Return a heading with the number of edges, or pairs of vertices, whose value is above 0."""
        scores = self[name]
        items = f"{len(scores):,} {'stored edges' if self.pairs is None else 'pairs'}"
        return f"{(scores > 0).sum():,} of {items} {what}{', most' * bool(len(scores))}"

    def counted(self, name: str, what: str, title: str) -> str:
        """Return a heading with the length of an array. A title follows if the array is not empty."""
        return f"{len(self[name]):,} {what}{title * bool(len(self[name]))}"

    def grouped(self, what: str) -> str:
        """Return a heading with the number of groups, and how many of them are single vertices."""
        _, sizes = np.unique(self["labels"], return_counts=True)
        return f"{len(sizes):,} {what}, {(sizes == 1).sum():,} of them single vertices; the largest:"

    # --- masks that say which vertices have a finite value

    def happens(self, name: str) -> Array:
        """Return a mask of the finite times in a part of the answer.

        The smallest and the largest integer of a dtype stand for infinite times.
        """
        times = self[name]
        if times.dtype.kind in "mM":
            return ~np.isnat(times)
        if times.dtype.kind == "f":
            return np.isfinite(times)
        extremes = np.iinfo(times.dtype)
        happening: Array = (times > extremes.min) & (times < extremes.max)
        return happening


def is_reached(values: Array) -> Array:
    """Return a mask of the vertices that a search reached, from their levels, distances, or bools."""
    if values.dtype == bool:
        return values
    reached: Array = values >= 0 if values.dtype.kind == "i" else np.isfinite(values)
    return reached


def traversed(f: Answered) -> int:
    """Return the number of stored edges that a call traverses, from which TEPS are computed.

    A search traverses the edges whose source is reached. Other calls traverse all edges.
    """
    reached = next((f[name] for name in ("levels", "distances", "reached") if name in f.answer), None)
    if reached is not None and {"source", "sources"} & f.arguments.keys():
        return sum(_edges_from(f, is_reached(row)) for row in np.atleast_2d(reached))
    if "sources" not in f.arguments:
        return f.graph.m
    sources = range(f.graph.n) if f.arguments["sources"] is None else f.arguments["sources"]
    return sum(_edges_from(f, gasla.bfs(f.graph, s) >= 0) for s in track(sources, "sources"))


def _edges_from(f: Answered, reached: Array) -> int:
    return int(f.graph.out_degrees[reached].sum(dtype=np.int64))
