"""Find the matches of a pattern whose edges are told apart. A match has an edge of the graph for each edge of the
pattern.

Edges are matched one after another, so that a condition between two edges is tested as soon as both are matched. The
graph's edges are sorted by their ends, so that the edges that may come next are a range of them. Blocks of matches are
extended by such ranges, depth-first.
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

PART = 1 << 18  # largest number of partial matches that are extended in one block, to bound memory


class _AdjacencyLists(NamedTuple):
    """The edges of a relation in CSR form, sorted by both ends: an undirected edge is in the lists of both its ends.

    `indptr` has the offset of each vertex's list. For each entry, `others` has the vertex at the other end of the edge,
    and `ids` the id of the edge. `keys` has n times the vertex whose list holds the entry, plus the other end. Keys
    ascend, so that a binary search finds the edges between two vertices.
    """

    indptr: Array
    keys: Array
    others: Array
    ids: Array


class _Step(NamedTuple):
    """A step of the search for matches of a pattern, which adds one more edge of the pattern to partial matches.

    The vertices of a partial match are numbered by the order in which they were added. The edge is sought in the
    adjacency list of the vertex with the number `owner`, and leads to that with the number `place`. The vertex `place`
    is new if `is_new`, or else the match has it already.
    """

    edge: int
    lists: _AdjacencyLists
    owner: int
    place: int
    is_new: bool
    above: tuple[int, ...]  # numbers of the matched vertices whose ids must be smaller than that of the new vertex
    # edges that must be missing: the number of a matched vertex, and True for the edge from it to the new vertex, or
    # False for the reverse
    apart: tuple[tuple[int, bool], ...]
    vertex: int
    between: tuple[Between, ...]


class EdgeMatching:
    """A search for matches of a pattern that have an edge id for each edge of the pattern, so parallel edges count
    apart.

    The graph is in host memory. `labels` has the number of each vertex's label. `masks` has a bool array for each of
    the pattern's relations, which says which edges of the graph are in the relation. `between` are the conditions on
    two edges.
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
        is_proper = src != dst
        if not pattern.directed and is_undirected(graph, graph.value_type is not None):
            is_proper &= src < dst  # an edge is stored in both directions, of which only one counts
        self.src, self.dst = src.astype(np.int64), dst.astype(np.int64)
        self.masks = [is_proper, *(mask & is_proper for mask in masks)]
        self._lists: dict[tuple[int, bool], _AdjacencyLists] = {}

    # --- results for callers: the number of matches, in total and per vertex or edge, or the matches themselves -------

    def count(self) -> int:
        """Return the number of matches."""
        return sum(columns.shape[1] for columns, _ in self._match_blocks())

    def per_vertex(self) -> Array:
        """Return the number of matches that each vertex is in."""
        tally = np.zeros(self.graph.n, np.int64)
        for _, vertices in self._match_blocks():
            tally += np.bincount(vertices.ravel(), minlength=self.graph.n)
        return tally

    def per_edge(self) -> Array:
        """Return the number of matches that each edge is in."""
        tally = np.zeros(self.graph.m, np.int64)
        for columns, _ in self._match_blocks():
            tally += np.bincount(columns.ravel(), minlength=self.graph.m)
        return tally

    def reduced(self, semiring: Semiring) -> Any:
        """Return the sum over all matches of the product of their edges' values."""
        values: Any = self.graph.values
        totals = [semiring.monoid.reduce(values[:0])]
        with np.errstate(all="ignore"):
            for columns, _ in self._match_blocks():
                product = values[columns[0]]
                for ids in columns[1:]:
                    product = semiring.multiply(product, values[ids])
                totals.append(semiring.monoid.reduce(product))
            return semiring.monoid.reduce(np.array(totals[1:])) if len(totals) > 1 else totals[0]

    def listed(self, most: int | None) -> Array:
        """Return all matches as an array with a row of edge ids for each. Raise ValueError if there are more than
        `most`.
        """
        number, blocks = 0, [np.empty((len(self.edges), 0), np.int64)]
        for columns, _ in self._match_blocks():
            number += columns.shape[1]
            if most is not None and number > most:
                raise ValueError(
                    f"there are more than {most:,} matches, which is the limit; raise limit, or pass count=True"
                )
            require_room("the matches have", number * len(columns), 16, "cpu", "pass count=True, or block")
            blocks.append(columns)
        return _smallest_images(np.concatenate(blocks, axis=1), self._edge_permutations).T

    def stream(self, most: int) -> Iterator[Array]:
        """Yield all matches as the search finds them, in arrays of at most `most` rows of edge ids."""
        for columns, _ in self._match_blocks():
            for start in range(0, columns.shape[1], most):
                yield _smallest_images(columns[:, start : start + most], self._edge_permutations).T

    # --- symmetries of the pattern, which would otherwise make the search find a match several times ------------------

    @cached_property
    def _automorphisms(self) -> list[tuple[int, ...]]:
        """The automorphisms of the pattern that keep its conditions between edges: they map matches to matches."""
        known = {(condition.earlier, condition.later, id(condition.expression)) for condition in self.between}

        def is_kept(automorphism: tuple[int, ...]) -> bool:
            moved = {
                (
                    self._image_of(condition.earlier, automorphism),
                    self._image_of(condition.later, automorphism),
                    id(condition.expression),
                )
                for condition in self.between
            }
            return moved == known

        return [automorphism for automorphism in self.pattern.automorphisms if is_kept(automorphism)]

    def _image_of(self, pair: Pair, a: tuple[int, ...]) -> Pair:
        u, v = a[pair[0]], a[pair[1]]
        return (u, v) if self.pattern.directed or u < v else (v, u)

    @cached_property
    def _edge_permutations(self) -> list[tuple[int, ...]]:
        """The automorphisms of the pattern as permutations of its edges: entry e is the number of the edge to which e
        is mapped.
        """
        return sorted(
            {
                tuple(self.edges.index(self._image_of(pair, automorphism)) for pair in self.edges)
                for automorphism in self._automorphisms
            }
        )

    # --- the depth-first search, which extends blocks of partial matches by one edge at a time ------------------------

    def _match_blocks(self) -> Iterator[tuple[Array, Array]]:
        """Yield blocks of matches, each as two arrays with a column for each match.

        The first array has edge ids, with a row for each edge of the pattern. The second array has vertices, in the
        order in which the search matches the pattern's vertices.
        """
        steps, order = self._steps()
        first_step, lists = steps[0], steps[0].lists
        owners = lists.keys // max(self.graph.n, 1)
        edge_order = np.argsort([step.edge for step in steps])
        for start in track(range(0, len(owners), PART), "blocks"):
            part = slice(start, start + PART)
            vertices = np.stack([owners[part], lists.others[part]])
            keep = self._has_label(order[0], vertices[0]) & self._satisfies(
                first_step, vertices[:1], slice(None), vertices[1]
            )
            for columns, matched in self._extend_all(lists.ids[part][None, keep], vertices[:, keep], steps[1:], steps):
                yield columns[edge_order], matched

    def _extend_all(
        self, columns: Array, vertices: Array, steps: Sequence[_Step], all_steps: Sequence[_Step]
    ) -> Iterator[tuple[Array, Array]]:
        """Extend a block of partial matches by all remaining edges of the pattern, and yield blocks of complete
        matches.

        The partial match in column i has the edge ids `columns[:, i]` and the vertices `vertices[:, i]`. `steps` are
        the steps for the remaining edges, out of `all_steps`.
        """
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
            part_lengths = lengths[part]
            match_index = np.repeat(np.arange(part.start, part.stop), part_lengths)
            positions = np.arange(len(match_index)) + np.repeat(
                low[part] - running_sums(part_lengths)[:-1], part_lengths
            )
            keep = (
                self._satisfies(step, vertices, match_index, lists.others[positions])
                if step.is_new
                else np.ones(len(positions), bool)
            )
            for condition in step.between:
                keep &= self._condition_holds(condition, columns, match_index, lists.ids[positions], all_steps)
            match_index, positions = match_index[keep], positions[keep]
            longer_columns, longer_vertices = (
                np.concatenate([columns[:, match_index], lists.ids[positions][None]]),
                vertices[:, match_index],
            )
            if step.is_new:
                longer_vertices = np.concatenate([longer_vertices, lists.others[positions][None]])
            yield from self._extend_all(longer_columns, longer_vertices, steps[1:], all_steps)

    def _has_label(self, v: int, vertices: Array) -> Any:
        """Return a mask of the given vertices of the graph that have the label of the pattern's vertex `v`.

        If `v` has no label, all of them may match.
        """
        wanted = self.pattern.labels[v]
        return np.ones(len(vertices), bool) if wanted < 0 or self.labels is None else self.labels[vertices] == wanted

    def _satisfies(self, step: _Step, vertices: Array, match_index: Any, new: Array) -> Array:
        """Return a mask of the new vertices that can extend their partial matches, by their label, id, and missing
        edges.

        The vertex new[i] extends the partial match in column match_index[i] of `vertices`. Conditions between edges are
        not tested here.
        """
        keep: Array = self._has_label(step.vertex, new)
        for place, matched in enumerate(vertices):
            keep &= matched[match_index] < new if place in step.above else matched[match_index] != new
        for place, forward in step.apart:
            u, v = (vertices[place][match_index], new) if forward else (new, vertices[place][match_index])
            keys = self._adjacency(0, False).keys
            positions = np.searchsorted(keys, u * self.graph.n + v)
            keep &= keys[np.minimum(positions, len(keys) - 1)] != u * self.graph.n + v
        return keep

    def _condition_holds(
        self, condition: Between, columns: Array, match_index: Array, new: Array, steps: Sequence[_Step]
    ) -> Array:
        """Return a mask of the new edges for which the condition `condition`, on two edges of the pattern, holds.

        The new edge new[i] extends the partial match in column match_index[i] of `columns`, which has edge ids. The
        condition is on this edge and an edge of that match.
        """
        numbers = [step.edge for step in steps]
        records = []
        for pair in condition[:2]:
            position = numbers.index(self.edges.index(pair))
            ids = columns[position][match_index] if position < len(columns) else new
            readers = {name: readable(read, ids) for name, read in columns_of(self.graph).items()}
            records.append(Record("edge", Lazy(readers)))
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(condition.test(*records), bool), len(new))

    def _adjacency(self, relation: int, backward: bool) -> _AdjacencyLists:
        """Return the adjacency lists of a relation's edges, by source, or by target if `backward`. They are kept for
        reuse.

        An undirected edge is in the lists of both its ends.
        """
        if (relation, backward) not in self._lists:
            ids, n = np.flatnonzero(self.masks[relation]), self.graph.n
            owners, other_ends = (self.dst, self.src) if backward else (self.src, self.dst)
            keys = owners[ids] * n + other_ends[ids]
            if not self.pattern.directed:
                keys, ids = np.concatenate([keys, other_ends[ids] * n + owners[ids]]), np.concatenate([ids, ids])
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            indptr = np.searchsorted(keys, np.arange(n + 1) * n)
            self._lists[relation, backward] = _AdjacencyLists(indptr, keys, keys % max(n, 1), ids[order])
        return self._lists[relation, backward]

    def _relation(self, pair: Pair) -> int:
        return next(iter(self.pattern.relations.get(pair, ())), 0)

    def _steps(self) -> tuple[list[_Step], list[int]]:
        """Return the steps of the search, one for each edge of the pattern, and the order in which vertices are
        matched.

        The first edge is one in the relation with the fewest edges. Next comes an edge whose ends are both matched, if
        there is any, or else the edge that makes the most conditions testable.
        """
        sizes = {pair: int(self.masks[self._relation(pair)].sum()) for pair in self.edges}
        condition_counts = {pair: sum(pair in condition[:2] for condition in self.between) for pair in self.edges}
        first = min(self.edges, key=lambda pair: (sizes[pair], -condition_counts[pair]))
        chain, order = [first], [*first]
        while len(chain) < len(self.edges):
            adjacent = [pair for pair in self.edges if pair not in chain and not {*pair}.isdisjoint(order)]
            chain.append(max(adjacent, key=lambda pair: (
                {*pair} <= {*order}, len(self._testable_conditions(pair, chain)), -sizes[pair],
            )))  # fmt: skip
            order += [v for v in chain[-1] if v not in order]
        above = smaller_places(order, len(order), self._automorphisms)
        seen: list[int] = [chain[0][0]]
        steps = []
        for k, pair in enumerate(chain):
            steps.append(self._step(pair, chain[:k], seen, above))
            seen += [v for v in pair if v not in seen]
        return steps, order

    def _testable_conditions(self, pair: Pair, before: Sequence[Pair]) -> tuple[Between, ...]:
        """Return the conditions on the edge `pair` and another edge, which is among the edges `before` that are matched
        already.
        """
        pairs = {*before, pair}
        return tuple(condition for condition in self.between if pair in condition[:2] and {*condition[:2]} <= pairs)

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
        lists = self._adjacency(self._relation(pair), pattern.directed and (u, v) != pair)
        place = len(seen) if is_new else seen.index(v)
        smaller, decided = above[v] if is_new else (), self._testable_conditions(pair, before)
        return _Step(self.edges.index(pair), lists, seen.index(u), place, is_new, smaller, tuple(apart), v, decided)


def _smallest_images(columns: Array, group: Sequence[tuple[int, ...]]) -> Array:
    """Replace each match by the smallest, in lexicographic order, of the equal matches under permutations of the
    pattern's edges.

    `group` has the permutations.

    Each column is a match. Without this, the order of the search would determine which of several equal matches is
    found.
    """
    best = columns
    for permutation in group:
        image = columns[list(permutation)]
        first_difference = (image != best).argmax(axis=0)
        column_ids = np.arange(columns.shape[1])
        is_less = image[first_difference, column_ids] < best[first_difference, column_ids]
        best = np.where(is_less, image, best)
    return best
