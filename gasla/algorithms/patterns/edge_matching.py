"""The matches of a pattern whose edges are told apart: for each edge of the pattern, an edge of the graph.

Edges are matched one after another, so that conditions between two are tested as soon as both are there. Edges are
sorted by their ends: those that may follow are a range of them. Blocks of matches are extended by ranges, depth-first.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.patterns.edge_conditions import Between, Pair, columns_of, edges_of, readable
from gasla.algorithms.patterns.pattern import Pattern
from gasla.algorithms.patterns.pattern_joins import smaller_places
from gasla.arrays import running_sums, shares
from gasla.graph.graph import Graph, is_undirected
from gasla.graph.memory_limit import require_room
from gasla.program.records import Lazy, Record
from gasla.progress import track
from semirings import Semiring

Array = np.ndarray[Any, Any]

PART = 1 << 18  # matches per block


class _Lists(NamedTuple):
    """Edges sorted by their ends, in one direction or both: where those of each vertex begin, other ends, and numbers.

    A key is the vertex whose list it is times n, plus the other end.
    """

    indptr: Array
    keys: Array
    others: Array
    ids: Array


class _Step(NamedTuple):
    """The next edge. It is in the list of a matched vertex, and its other end is at a place, matched before or new."""

    edge: int
    lists: _Lists
    owner: int
    place: int
    is_new: bool
    above: tuple[int, ...]  # places of smaller vertices
    apart: tuple[tuple[int, bool], ...]  # places of vertices that have no edge to the new one, or none from it
    vertex: int
    between: tuple[Between, ...]


class EdgeMatching:
    """A pattern in a graph in host memory, whose edges are told apart.

    `labels` has the number of each vertex's label, `masks` which edges are in each of the pattern's relations.
    """

    def __init__(
        self,
        graph: Graph,
        pattern: Pattern,
        induced: bool,
        labels: Array | None,
        masks: Sequence[Array],
        between: Sequence[Between],
    ) -> None:
        self.graph, self.pattern, self.induced, self.labels, self.between = graph, pattern, induced, labels, between
        self.edges = edges_of(pattern)
        src, dst = graph.edges()
        there = src != dst
        if not pattern.directed and is_undirected(graph, graph.value_type is not None):
            there &= src < dst  # an edge is stored in both directions
        self.src, self.dst = src.astype(np.int64), dst.astype(np.int64)
        self.masks = [there, *(mask & there for mask in masks)]
        self._lists: dict[tuple[int, bool], _Lists] = {}

    # --- what is asked ------------------------------------------------------------------------------------------------

    def count(self) -> int:
        """Return the number of matches."""
        return sum(columns.shape[1] for columns, _ in self._matches())

    def per_vertex(self) -> Array:
        """Return the number of matches that each vertex is in."""
        tally = np.zeros(self.graph.n, np.int64)
        for _, vertices in self._matches():
            tally += np.bincount(vertices.ravel(), minlength=self.graph.n)
        return tally

    def per_edge(self) -> Array:
        """Return the number of matches that each edge is in."""
        tally = np.zeros(self.graph.m, np.int64)
        for columns, _ in self._matches():
            tally += np.bincount(columns.ravel(), minlength=self.graph.m)
        return tally

    def reduced(self, semiring: Semiring) -> Any:
        """Return the sum over all matches of the product of their edges' values."""
        values: Any = self.graph.values
        totals = [semiring.monoid.reduce(values[:0])]
        with np.errstate(all="ignore"):
            for columns, _ in self._matches():
                product = values[columns[0]]
                for ids in columns[1:]:
                    product = semiring.multiply(product, values[ids])
                totals.append(semiring.monoid.reduce(product))
            return semiring.monoid.reduce(np.array(totals[1:])) if len(totals) > 1 else totals[0]

    def listed(self, most: int | None) -> Array:
        """Return all matches, as rows of the ids of edges. Raise ValueError if there are more than `most`."""
        number, blocks = 0, [np.empty((len(self.edges), 0), np.int64)]
        for columns, _ in self._matches():
            number += columns.shape[1]
            if most is not None and number > most:
                raise ValueError(
                    f"there are more than {most:,} matches, which is the limit; raise limit, or pass count=True"
                )
            require_room("the matches have", number * len(columns), 16, "cpu", "pass count=True, or block")
            blocks.append(columns)
        return _smallest(np.concatenate(blocks, axis=1), self._images).T

    def stream(self, most: int) -> Iterator[Array]:
        """Yield all matches in arrays of at most `most` rows, as they are found."""
        for columns, _ in self._matches():
            for start in range(0, columns.shape[1], most):
                yield _smallest(columns[:, start : start + most], self._images).T

    # --- symmetries ---------------------------------------------------------------------------------------------------

    @cached_property
    def _group(self) -> list[tuple[int, ...]]:
        """The automorphisms that keep conditions between edges."""
        known = {(one.earlier, one.later, id(one.expression)) for one in self.between}

        def is_kept(a: tuple[int, ...]) -> bool:
            moved = {
                (self._moved(one.earlier, a), self._moved(one.later, a), id(one.expression)) for one in self.between
            }
            return moved == known

        return [a for a in self.pattern.automorphisms if is_kept(a)]

    def _moved(self, pair: Pair, a: tuple[int, ...]) -> Pair:
        u, v = a[pair[0]], a[pair[1]]
        return (u, v) if self.pattern.directed or u < v else (v, u)

    @cached_property
    def _images(self) -> list[tuple[int, ...]]:
        """The automorphisms as permutations of the edges."""
        return sorted({tuple(self.edges.index(self._moved(pair, a)) for pair in self.edges) for a in self._group})

    # --- the search ---------------------------------------------------------------------------------------------------

    def _matches(self) -> Iterator[tuple[Array, Array]]:
        """Yield blocks of matches: the ids of edges, by the pattern's, and the vertices in the order of matching."""
        steps, order = self._steps()
        first, lists = steps[0], steps[0].lists
        owners = lists.keys // max(self.graph.n, 1)
        places = np.argsort([step.edge for step in steps])
        for start in track(range(0, len(owners), PART), "blocks"):
            part = slice(start, start + PART)
            vertices = np.stack([owners[part], lists.others[part]])
            keep = self._has_label(order[0], vertices[0]) & self._fits(first, vertices[:1], slice(None), vertices[1])
            for columns, matched in self._extended(lists.ids[part][None, keep], vertices[:, keep], steps[1:], steps):
                yield columns[places], matched

    def _extended(
        self, columns: Array, vertices: Array, steps: Sequence[_Step], all_steps: Sequence[_Step]
    ) -> Iterator[tuple[Array, Array]]:
        """Yield blocks of matches that extend some by all remaining edges. Each column is a match."""
        if not columns.shape[1]:
            return
        if not steps:
            yield columns, vertices
            return
        step, n, lists = steps[0], self.graph.n, steps[0].lists
        owners = vertices[step.owner]
        if step.is_new:
            low, high = lists.indptr[owners], lists.indptr[owners + 1]
        else:
            keys = owners * n + vertices[step.place]
            low, high = (np.searchsorted(lists.keys, keys, side) for side in ("left", "right"))
        lengths = high - low
        for part in shares(lengths, PART):
            each = lengths[part]
            which = np.repeat(np.arange(part.start, part.stop), each)
            at = np.arange(len(which)) + np.repeat(low[part] - running_sums(each)[:-1], each)
            keep = self._fits(step, vertices, which, lists.others[at]) if step.is_new else np.ones(len(at), bool)
            for one in step.between:
                keep &= self._holds(one, columns, which, lists.ids[at], all_steps)
            which, at = which[keep], at[keep]
            longer, grown = np.concatenate([columns[:, which], lists.ids[at][None]]), vertices[:, which]
            if step.is_new:
                grown = np.concatenate([grown, lists.others[at][None]])
            yield from self._extended(longer, grown, steps[1:], all_steps)

    def _has_label(self, v: int, vertices: Array) -> Any:
        """Return whether vertices have the label of the pattern's vertex v."""
        wanted = self.pattern.labels[v]
        return np.ones(len(vertices), bool) if wanted < 0 or self.labels is None else self.labels[vertices] == wanted

    def _fits(self, step: _Step, vertices: Array, which: Any, new: Array) -> Array:
        """Return whether new vertices fit at the other end of an edge of some matches.

        Conditions between edges are not tested.
        """
        keep: Array = self._has_label(step.vertex, new)
        for place, matched in enumerate(vertices):
            keep &= matched[which] < new if place in step.above else matched[which] != new
        for place, forward in step.apart:
            u, v = (vertices[place][which], new) if forward else (new, vertices[place][which])
            keys = self._lists_of(0, False).keys
            at = np.searchsorted(keys, u * self.graph.n + v)
            keep &= keys[np.minimum(at, len(keys) - 1)] != u * self.graph.n + v
        return keep

    def _holds(self, one: Between, columns: Array, which: Array, new: Array, steps: Sequence[_Step]) -> Array:
        """Return whether a condition between new edges and edges of some matches holds."""
        numbers = [step.edge for step in steps]
        records = []
        for pair in one[:2]:
            place = numbers.index(self.edges.index(pair))
            ids = columns[place][which] if place < len(columns) else new
            makers = {name: readable(read, ids) for name, read in columns_of(self.graph).items()}
            records.append(Record("edge", Lazy(makers)))
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(one.test(*records), bool), len(new))

    def _lists_of(self, relation: int, backward: bool) -> _Lists:
        """Return the edges of a relation, by their sources or by their targets. Undirected ones are there by both."""
        if (relation, backward) not in self._lists:
            ids, n = np.flatnonzero(self.masks[relation]), self.graph.n
            owners, others = (self.dst, self.src) if backward else (self.src, self.dst)
            keys = owners[ids] * n + others[ids]
            if not self.pattern.directed:
                keys, ids = np.concatenate([keys, others[ids] * n + owners[ids]]), np.concatenate([ids, ids])
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            indptr = np.searchsorted(keys, np.arange(n + 1) * n)
            self._lists[relation, backward] = _Lists(indptr, keys, keys % max(n, 1), ids[order])
        return self._lists[relation, backward]

    def _relation(self, pair: Pair) -> int:
        return next(iter(self.pattern.relations.get(pair, ())), 0)

    def _steps(self) -> tuple[list[_Step], list[int]]:
        """Return the edges of the pattern in the order of matching, and its vertices.

        The first edge is one of the rarest relation; next comes an edge between matched vertices, or with the most
        conditions that can be tested.
        """
        sizes = {pair: int(self.masks[self._relation(pair)].sum()) for pair in self.edges}
        tested = {pair: sum(pair in one[:2] for one in self.between) for pair in self.edges}
        first = min(self.edges, key=lambda pair: (sizes[pair], -tested[pair]))
        chain, order = [first], [*first]
        while len(chain) < len(self.edges):
            near = [pair for pair in self.edges if pair not in chain and not {*pair}.isdisjoint(order)]
            chain.append(max(near, key=lambda pair: (
                {*pair} <= {*order}, len(self._decided(pair, chain)), -sizes[pair],
            )))  # fmt: skip
            order += [v for v in chain[-1] if v not in order]
        above = smaller_places(order, len(order), self._group)
        seen: list[int] = [chain[0][0]]
        steps = []
        for k, pair in enumerate(chain):
            steps.append(self._step(pair, chain[:k], seen, above))
            seen += [v for v in pair if v not in seen]
        return steps, order

    def _decided(self, pair: Pair, before: Sequence[Pair]) -> tuple[Between, ...]:
        """Return the conditions between an edge and the edges before it in the pattern."""
        pairs = {*before, pair}
        return tuple(one for one in self.between if pair in one[:2] and {*one[:2]} <= pairs)

    def _step(
        self, pair: Pair, before: Sequence[Pair], seen: Sequence[int], above: dict[int, tuple[int, ...]]
    ) -> _Step:
        u, v = pair if pair[0] in seen else pair[::-1]
        is_new, pattern = v not in seen, self.pattern
        apart = [
            (place, forward)
            for place, w in enumerate(seen)
            for forward in ((True, False) if pattern.directed else (True,))
            if self.induced and is_new and ((w, v) if forward else (v, w)) not in pattern.edges
        ]
        lists = self._lists_of(self._relation(pair), pattern.directed and (u, v) != pair)
        place = len(seen) if is_new else seen.index(v)
        smaller, decided = above[v] if is_new else (), self._decided(pair, before)
        return _Step(self.edges.index(pair), lists, seen.index(u), place, is_new, smaller, tuple(apart), v, decided)


def _smallest(columns: Array, group: Sequence[tuple[int, ...]]) -> Array:
    """Replace each match by the smallest of its images under permutations."""
    best = columns
    for a in group:
        image = columns[list(a)]
        first = (image != best).argmax(axis=0)
        each = np.arange(columns.shape[1])
        is_less = image[first, each] < best[first, each]
        best = np.where(is_less, image, best)
    return best
