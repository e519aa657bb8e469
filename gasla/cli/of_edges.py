"""What the command line says of answers about edges."""

from collections.abc import Iterator

import numpy as np

from gasla.cli.verbs import Answered, Array


def pairs(found: Answered) -> Iterator[str]:
    """How many bridges there are, and some of them."""
    rows, label = found.answer["bridges"].tolist(), found.graph.label
    yield f"{len(rows):,} bridges{'; the first:' if rows else ''}"
    yield from (f"{place:4}  {label(u)} and {label(v)}" for place, (u, v) in enumerate(rows[: found.top], 1))


def forest(found: Answered) -> Iterator[str]:
    """How many edges there are, and what they weigh."""
    count, n = len(found.answer["edges"]), found.graph.graph.n
    yield f"{count:,} edges of weight {found.answer['total'].item():,} join {n:,} vertices to {n - count:,} trees"


def supported(found: Answered) -> Iterator[str]:
    """How many edges are in triangles, and those that are in most."""
    support = found.answer["support"]
    yield f"{(support > 0).sum():,} of {len(support):,} stored edges are in triangles{', most' if len(support) else ''}"
    yield from _edges(found, np.argsort(-support, kind="stable")[: found.top])


def truss(found: Answered) -> Iterator[str]:
    """How many edges are in the truss, and which come first."""
    member, k = found.answer["edges"], found.arguments["k"]
    name = "the main truss" if k is None else f"the truss of {k:,}"
    yield f"{member.sum():,} of {len(member):,} stored edges are in {name}{', among them' if member.any() else ''}"
    yield from _edges(found, np.flatnonzero(member)[: found.top])


def _edges(found: Answered, numbers: Array) -> Iterator[str]:
    """The ends of some edges."""
    lists, label = found.graph.graph.out, found.graph.label
    places = np.argsort(lists.numbers(), kind="stable")[numbers]
    ends = zip(lists.owners()[places].tolist(), lists.indices[places].tolist())
    yield from (f"      {label(u)} – {label(v)}" for u, v in ends)
