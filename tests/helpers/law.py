"""What a law is, and a question about a graph: the words of the rows in `laws.py`, and in tests of single algorithms.

A law says what an answer does when the question changes in a way that should not matter, or matters in a known way. A
row calls its function on a graph and returns the answer in terms of the graph as it was drawn (`Asked` translates). So
"same" means: the same answer for the same vertices and edges, whatever their numbers are now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import gasla

Array = np.ndarray[Any, Any]
Answer = dict[str, Any]


def host(x: Any) -> Any:
    """An array of a device or of ranks as NumPy's."""
    if hasattr(x, "compute"):
        x = x.compute()
    return x.get() if hasattr(x, "get") and not isinstance(x, dict) else x


@dataclass
class Asked:
    """A question about a drawn graph that may have been changed since: its numbers now, and what they were."""

    given: Any  # the graph as the function gets it: a Graph or a matrix, here or elsewhere
    plain: gasla.Graph  # the same on the CPU, for verifiers
    now: Array  # the number of each drawn vertex
    edge_was: Array  # the drawn edge that each edge is, or is a part of; -1 for those that were added
    m: int  # drawn edges
    factor: float = 1.0  # what weights were multiplied by
    seed: int = 0

    @property
    def n(self) -> int:
        return self.plain.n

    @cached_property
    def was(self) -> Array:
        """The drawn vertex that each vertex is; -1 for those that were added."""
        names = np.full(self.plain.n, -1)
        names[self.now] = np.arange(len(self.now))
        return names

    @property
    def graph(self) -> gasla.Graph:
        """For methods of Graph."""
        return gasla.as_graph(self.given)

    def here(self, x: Any) -> Any:
        """An argument on the device of the graph."""
        from gasla.arrays import moved

        return moved(x, "gpu") if getattr(self.graph, "device", "cpu") == "gpu" else x

    def v(self, vertex: int) -> int:
        """The number that a drawn vertex has now; those beyond the last begin anew."""
        return int(self.now[vertex % len(self.now)])

    def at_vertices(self, x: Any) -> Array:
        """By drawn vertex."""
        return np.asarray(host(x))[self.now]

    def at_edges(self, x: Any) -> Array:
        """By drawn edge; the parts of an edge have the same."""
        drawn = self.edge_was >= 0
        x, which = np.asarray(host(x))[drawn], self.edge_was[drawn]
        found = np.zeros(self.m, x.dtype)
        found[which] = x
        if not np.array_equal(found[which], x, equal_nan=x.dtype.kind == "f"):
            np.testing.assert_allclose(found[which], x, rtol=1e-9, err_msg="parts of an edge differ")
        return found

    def edge_sums(self, x: Any) -> Array:
        """By drawn edge, what its parts come to."""
        drawn = self.edge_was >= 0
        return np.bincount(self.edge_was[drawn], np.asarray(host(x), float)[drawn], self.m)

    def vertices(self, ids: Any) -> Array:
        """A set of vertices; those that were added are left out."""
        found = np.sort(self.was[np.asarray(host(ids))])
        return found[found >= 0]

    def groups(self, labels: Any) -> Array:
        """A partition: each drawn vertex by the first one of its group."""
        labels = np.asarray(host(labels))[self.now]
        return np.array([int(np.flatnonzero(labels == label)[0]) for label in labels])

    def pairs(self, ends: Any) -> list[tuple[int, int]]:
        """A set of undirected edges, by their ends."""
        return sorted(
            {(min(a, b), max(a, b)) for a, b in self.was[np.asarray(host(ends), int).reshape(-1, 2)].tolist()}
        )

    def joined(
        self, graph: Any, names: Any = None, by: Any = np.add, counts: bool = False
    ) -> dict[tuple[int, int], float]:
        """The edges of a graph that was made, by the drawn vertices that they join; parallel ones together."""
        names = self.was if names is None else self.was[np.asarray(host(names))]
        graph = graph.to("cpu")
        lists, found = graph.out, {}
        src = np.repeat(np.arange(graph.n), np.diff(lists.indptr))
        values = np.ones(graph.m) if graph.values is None or counts else np.asarray(graph.out_values, float)
        for i, j, value in zip(names[src].tolist(), names[lists.indices].tolist(), values.tolist(), strict=True):
            found[i, j] = by(found[i, j], value) if (i, j) in found else value
        return dict(sorted(found.items()))

    def check(self, verifier: Callable[..., None], *args: Any, **options: Any) -> None:
        """Let a verifier of gasla look at an answer as it is."""
        verifier(self.plain, *map(host, args), **options)


@dataclass(frozen=True)
class Law:
    """What an answer comes to, in words for the table and as a function of the answer before."""

    words: str
    expected: Callable[[Answer, Asked, Asked], Answer]  # before; the question then, and now
    how: str = "copies"  # of a split: its parts have the weight each ("copies"), or share it; "all": all are split
    atol: float = 0.0  # by which numbers may differ
    refused: bool = False  # whether there is an error in place of an answer

    def __str__(self) -> str:
        return self.words


def times(words: str, **powers: int) -> Law:
    """Some parts are multiplied by a power of the factor; others are the same."""

    def expected(before: Answer, then: Asked, now: Asked) -> Answer:
        return {name: _scaled(x, now.factor, powers.get(name, 0)) for name, x in before.items()}

    return Law(words, expected)


def _scaled(x: Any, factor: float, power: int) -> Any:
    if isinstance(x, dict):
        return {key: _scaled(value, factor, power) for key, value in x.items()}
    for _ in range(abs(power)):
        x = np.asarray(x) * (factor if power > 0 else 1 / factor)
    return x


def only(words: str, *names: str, how: str = "copies") -> Law:
    """Of an answer's parts these are the same, the others are for verifiers alone."""
    return Law(words, lambda before, then, now: {name: before[name] for name in names if name in before}, how)


def by_size(words: str, factor: Callable[[int, int], float], *names: str) -> Law:
    """With more vertices, some parts are multiplied by a factor of both numbers of vertices."""

    def expected(before: Answer, then: Asked, now: Asked) -> Answer:
        return {name: x * factor(then.n, now.n) if name in names else x for name, x in before.items()}

    return Law(words, expected)


def nearly(*names: str) -> Law:
    """As `WEIGHS_0`, but of an answer's other parts zeros decide ties."""
    return Law(WEIGHS_0.words, only("", *names).expected, WEIGHS_0.how, WEIGHS_0.atol)


SAME = Law("same", lambda before, then, now: before)
PROPORTION = Law("the same up to a factor", lambda before, then, now: before)
SHARED = Law("the same if the parts share its weight", SAME.expected, "shares")
COPIED = Law("same", SAME.expected)
COPIED_WEIGHTS = Law("the same if each part has its weight", SAME.expected)
ALL_SPLIT = Law("each part counts; the same if every edge is split", SAME.expected, "all")
VERIFIED = only("another right answer: verified")
REFUSED = Law("an error", SAME.expected, refused=True)
# Of stored zeros. What is done: weights become zeros ("set"), zeros are added, or zeros become tiny weights.
EDGE = Law("an edge", SAME.expected, "set")  # whatever it weighs
NO_EDGE = Law("no edge", SAME.expected, "added")
WEIGHS_0 = Law("an edge of weight 0", SAME.expected, "tiny", atol=1e-12)
VERIFIED_0 = Law("an edge of weight 0: verified", lambda before, then, now: {}, "set")
KEPT = only("a weight like any other")
TIMES = "times the factor"


@dataclass(frozen=True)
class Row:
    """A function, how it is called, and its laws."""

    function: str  # as gasla or Graph has it
    call: Callable[[Asked], Answer]
    options: str = ""  # beside the function's name in the table
    kinds: tuple[str, ...] = ("any", "symmetric")  # of graphs to draw
    least: int = 0  # the least weight
    order: Law = SAME
    zeros: Law = EDGE
    nan: Law = REFUSED  # where weights are read
    split: Law = COPIED
    isolated: Law = SAME
    renamed: Law = SAME
    scaled: Law = SAME
    types: Law = SAME
    forms: Law = SAME
    engines: Law = SAME
    weights: bool = False  # whether it reads weights: else they may be anything, and none
    ranks: bool = False  # whether graphs over ranks are taken
    gpu: bool = True
    wraps: bool = False  # whether values keep their own type, in which sums wrap
    rtol: float = 1e-9
    networkx: str = ""  # counterparts at other doors, where the same laws hold
    csgraph: str = ""

    @property
    def name(self) -> str:
        return f"{self.function}({self.options})" if self.options else self.function


COLUMNS: Mapping[str, str] = {
    "order": "entries in another order",
    "zeros": "a stored zero",
    "nan": "a weight that is NaN",
    "split": "an edge split into two parallel edges",
    "isolated": "isolated vertices added",
    "renamed": "vertices renamed",
    "scaled": "weights times a power of two",
    "types": "weights in another type",
    "forms": "form of the matrix",
    "engines": "threads and engine",
}


# --- calls ---------------------------------------------------------------------------------------------------------


def scores(function: str, *args: Any, parts: Iterable[str] = ("scores",), **options: Any) -> Callable[[Asked], Answer]:
    """The call of a function whose answer is an array of scores, or a tuple with some."""

    def call(q: Asked) -> Answer:
        found = getattr(gasla, function)(q.given, *args, **options)
        if isinstance(found, tuple):
            return {name: q.at_vertices(getattr(found, name)) for name in parts}
        return {next(iter(parts)): q.at_vertices(found)}

    return call


def verified(function: str, verifier: Callable[..., None], **options: Any) -> Callable[[Asked], Answer]:
    """The call of a function whose answer is an array of scores, which a verifier looks at."""

    def call(q: Asked) -> Answer:
        found = getattr(gasla, function)(q.given, **options)
        q.check(verifier, found, **options)
        return {"scores": q.at_vertices(found)}

    return call
