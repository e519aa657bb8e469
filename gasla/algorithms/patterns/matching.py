"""Find or count the matches of a pattern in a simple graph.

A compiled join extends matches depth-first. Where compiling a join is not worthwhile, blocks of partial matches are
extended by one vertex at a time with operations on whole arrays. Both find the same matches. Vertices are renumbered by
degree, so that hubs are reached from their small neighbors.
"""

import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from operator import and_
from typing import Any

import numpy as np

from gasla.algorithms.patterns import directed_counts, match_counts
from gasla.algorithms.patterns.pattern import Pattern
from gasla.algorithms.patterns.pattern_joins import Counting, Listing, counting, listing
from gasla.arrays import array_module, shares
from gasla.graph.graph import Graph
from gasla.operations.joins import JoinRun, join, joins
from gasla.operations.primitives import common, count_cliques, has_edges
from gasla.program import EdgeFrontier
from gasla.program.join_plan import Join, JoinPlan, Reach

Array = np.ndarray[Any, Any]  # a NumPy or CuPy array
# for each relation its graph and the reversed graph, which are one object if it is undirected
Sides = list[tuple[Graph, Graph]]

PART = 1 << 22  # largest number of neighbors that are read in one block, to bound memory
ROWS = 1 << 20  # number of matches whose vertices get their original ids in one step, to bound memory
AHEAD = 1 << 10  # largest number of blocks of edges whose matches are counted before these matches are written
FORMULAS = 4  # largest number of vertices of an undirected pattern that formulas count without matching
SAMPLES = 1 << 10  # number of sampled edges from which the number of matches is estimated
MANY = 10**11  # estimated number of partial matches above which users are warned
# For a pattern of at most four vertices in a graph of at most so many edges, compiling a join takes longer than it
# saves.
FEW = 1 << 15


class Matching:
    """A search for the matches of a pattern in a simple graph, which counts or lists them.

    `labels` has the number of each vertex's label, if the pattern has labels. `related` has for each of the pattern's
    relations 1, 2, … the simple graph of the edges in the relation.
    """

    def __init__(
        self, simple: Graph, pattern: Pattern, induced: bool, labels: Array | None = None, related: Sequence[Graph] = ()
    ) -> None:
        self.simple, self.pattern, self.induced, self.labels, self.related = simple, pattern, induced, labels, related
        is_large = pattern.size > 4 or simple.m > FEW
        self.is_joined = joins(simple) and pattern.size > 1 and is_large
        self._known_map_counts: list[tuple[Pattern, int]] = []

    @cached_property
    def _ordered(self) -> tuple[list[Graph], Array]:
        """The simple graph and the graph of each relation, with vertices sorted by degree, and each vertex's original
        id.
        """
        first, order = match_counts.by_degree(self.simple)
        return [first, *(match_counts.in_order(each, order) for each in self.related)], order

    def _kinds(self, pattern: Pattern, merged: Sequence[int] = ()) -> Array:
        """Return for each vertex of the graph a bit mask, with a bit for each vertex of the pattern that it can match.

        A vertex can match if it has the label, at least the degrees, and an edge in each relation of the pattern's
        vertex. The `merged` vertices of the pattern may be matched with the same vertex, and so count as one neighbor.
        """
        (graph, *related), vertices = self._ordered
        kinds = array_module(vertices).zeros(graph.n, np.uint8)
        for v in range(pattern.size):
            out, in_ = pattern.degrees_of(v, merged)
            may_be = (graph.out_degrees >= out) & (graph.in_degrees >= in_)
            if self.labels is not None and pattern.labels[v] >= 0:
                may_be &= self.labels[vertices] == pattern.labels[v]
            for ends, relations in pattern.relations.items():
                for graph_of_relation in (related[relation - 1] for relation in relations if v in ends):
                    may_be &= (graph_of_relation.out_degrees if v == ends[0] else graph_of_relation.in_degrees) > 0
            kinds |= may_be.astype(np.uint8) << np.uint8(v)
        return kinds

    @cached_property
    def _listing(self) -> Listing:
        return listing(self.pattern, self.induced)

    # --- numbers of matches, in total and per vertex, by formulas or by joins -----------------------------------------

    def count(self) -> int:
        """Return the number of matches."""
        by_formula = self._count_by_formula(self.pattern)
        if by_formula is not None:
            return by_formula
        if not self.is_joined:
            return sum(columns.shape[1] for columns in self._match_columns())
        self._warn_if_slow(self._counting)
        return self._count_maps(self.pattern, self.induced) // len(self.pattern.automorphisms)

    def _count_by_formula(self, pattern: Pattern) -> int | None:
        """Return the number of matches of a pattern by a formula or a count of cliques, or None if there is no
        formula.
        """
        if self.labels is not None or self.related:
            return None
        induced = self.induced and pattern is self.pattern
        if pattern.directed:
            return directed_counts.matches(self.simple, pattern, induced)
        if pattern.size <= FORMULAS:
            return match_counts.matches(self.simple, pattern, induced)
        if len(pattern.edges) == pattern.size * (pattern.size - 1):
            return count_cliques(self.simple, pattern.size)
        if pattern.degrees == (2,) * 5 and not induced:
            return match_counts.five_cycles(self.simple)
        return None

    def _count_maps(self, pattern: Pattern, induced: bool) -> int:
        """Return the number of maps of a pattern to the graph, which is the number of matches times that of
        automorphisms.

        Maps in which counted vertices coincide are subtracted: they are maps of the smaller patterns in the plan's
        `merged`. Results are kept, so that isomorphic patterns are counted once.
        """
        for known, maps in self._known_map_counts:
            if next(known.isomorphisms(pattern), None) is not None:
                return maps
        by_formula = None if pattern is self.pattern else self._count_by_formula(pattern)
        if by_formula is not None:
            maps = by_formula * len(pattern.automorphisms)
        elif pattern.size == 1:
            maps = int(self._kinds(pattern).sum())
        else:
            count_plan, graphs, kinds = (
                self._counting if pattern is self.pattern else self._counting_plan(pattern, induced)
            )
            maps = count_plan.times * join(count_plan.plan, graphs[0], kinds, graphs[1:]).total()
            maps -= sum(self._count_maps(merged, False) for merged in count_plan.merged)
        if not induced:
            self._known_map_counts.append((pattern, maps))
        return maps

    def _counting_plan(self, pattern: Pattern, induced: bool) -> tuple[Counting, list[Graph], Array]:
        """Return a plan to count the maps of a pattern to the graph, and the arguments of its join: graphs, and a bit
        mask per vertex.

        The bit mask says which vertices of the pattern the vertex can match. If the plan asks for it, vertices are
        renumbered in the reverse order.
        """
        plan = counting(pattern, induced)
        graphs, kinds = self._ordered[0], self._kinds(pattern, plan.free)
        if plan.descends:
            xp = array_module(kinds)
            descending = xp.arange(len(kinds), dtype=self.simple.id_dtype)[::-1]
            graphs, kinds = [each.subgraph(descending) for each in graphs], xp.ascontiguousarray(kinds[::-1])
        return plan, graphs, kinds

    @cached_property
    def _counting(self) -> tuple[Counting, list[Graph], Array]:
        return self._counting_plan(self.pattern, self.induced)

    def _warn_if_slow(self, counted: tuple[Counting | Listing, list[Graph], Array]) -> None:
        """Warn the user if finding matches by a join takes very long on a CPU, by an estimate of the number of partial
        matches.

        `counted` is the plan of the join, with its graphs and bit masks.
        """
        search_plan, graphs, kinds = counted
        if self.simple.engine != "cpu" or self.simple.m <= FEW:
            return
        if (steps := sum(expected(search_plan.plan, graphs, kinds))) > MANY:
            warnings.warn(
                f"some {steps:.1g} partial matches are to be visited, by an estimate; bound the pattern by labels or "
                "conditions, or look at the first matches: block=1000",
                stacklevel=4,
            )

    def explained(self) -> str:
        """Return a text that says how matches are counted and listed, and an estimate of their number."""
        if self.pattern.size == 1:
            return "Each vertex that has the label is a match."
        graphs, kinds = self._ordered[0], self._kinds(self.pattern)
        listing, count_plan = self._listing, self._counting[0]
        matches = expected(listing.plan, graphs, kinds)[-1]
        lines = [f"Listing matches vertices {_join_numbers(listing.order)} of the pattern in this order."]
        if self.labels is None and not self.related:
            lines.append("Counting may do without: cliques, and most patterns of up to four vertices, have formulas.")
        if self.is_joined:
            order, size = count_plan.order, count_plan.plan.size
            steps = sum(expected(count_plan.plan, *self._counting[1:]))
            lines += [
                f"Otherwise it matches vertices {_join_numbers(order[:size])}, and counts what fits at the others."
            ]
            lines += [f"That visits some {steps:.2g} partial matches."]
        return "\n".join([*lines, f"There are some {matches:.2g} matches, as estimated by {SAMPLES:,} samples."])

    def per_vertex(self) -> Array:
        """Return the number of matches that each vertex is in."""
        graphs, vertices = self._ordered
        xp = array_module(vertices)
        tally = xp.zeros(len(vertices), np.int64)
        if self.is_joined:
            self._warn_if_slow((self._listing, graphs, self._kinds(self.pattern)))
            tally[vertices] = join(self._listing.plan, graphs[0], self._kinds(self.pattern), graphs[1:]).tally()
            return tally
        for columns in self._match_columns():
            tally[vertices] += xp.bincount(columns.ravel(), minlength=len(vertices))
        return tally

    # --- the matches themselves, as rows of vertices ------------------------------------------------------------------

    def listed(self, number: int) -> Array:
        """Return all matches as an array with a row for each, which has the graph's vertex for each vertex of the
        pattern.

        `number` is the number of matches, which the caller has counted.
        """
        rows = array_module(self.simple.out.indices).empty((number, self.pattern.size), self.simple.id_dtype)
        filled = 0
        if self.is_joined:
            counting, writing = self._compile_joins()
            counts = np.array(counting.count(), np.int64)
            offsets = np.cumsum(counts) - counts
            writing.write(0, np.stack([np.zeros_like(counts), counts, offsets], axis=1), rows)
            for filled in range(0, number, ROWS):
                rows[filled : filled + ROWS] = self._original_rows(rows[filled : filled + ROWS].T)
            filled = int(counts.sum())
        else:
            for columns in self._match_columns():
                rows[filled : filled + columns.shape[1]] = self._original_rows(columns)
                filled += columns.shape[1]
        assert filled == number, f"{filled} matches were found, and {number} counted"
        return rows

    def stream(self, most: int) -> Iterator[Array]:
        """Yield all matches as they are found, in arrays of at most `most` rows."""
        for columns in self._write_blocks(most) if self.is_joined else self._match_columns():
            for start in range(0, columns.shape[1], most):
                yield self._original_rows(columns[:, start : start + most])

    def _original_rows(self, columns: Array) -> Array:
        """Turn matches from the form of the search into that of results.

        In the search a match is a column of renumbered vertices, in the order of matching. In results it is a row of
        original ids, in the order of the pattern's vertices.
        """
        positions = np.argsort(self._listing.order).tolist()
        return _smallest_images(self._ordered[1][columns[positions]], self.pattern).T

    def _compile_joins(self) -> tuple[JoinRun, JoinRun]:
        """Return two compiled joins that find the matches of the pattern: one counts the matches, and one writes them.

        Both handle a block of the graph's edges at a time, from which matches begin.
        """
        graphs, kinds = self._ordered[0], self._kinds(self.pattern)
        plans = self._listing.counting, self._listing.plan
        counting, writing = (join(plan, graphs[0], kinds, graphs[1:]) for plan in plans)
        return counting, writing

    def _write_blocks(self, most: int) -> Iterator[Array]:
        """Yield arrays of matches with a column for each match, which a compiled join writes.

        The matches of blocks of edges are counted first, so that arrays of the right size can be made. Counting a block
        stops at `most` matches, so a block that reaches `most` is written in several parts.
        """
        counting, writing = self._compile_joins()
        xp = array_module(self.simple.out.indices)
        first_block, block_count = 0, 4
        while first_block < counting.blocks:
            counts = counting.count(first_block, min(block_count, counting.blocks - first_block), most)
            for group_start, group_end in _groups(counts, most):
                skip = 0
                while True:
                    row_counts = np.minimum(counts[group_start:group_end], most)
                    requests = np.stack(
                        [np.full_like(row_counts, skip), row_counts, np.cumsum(row_counts) - row_counts], axis=1
                    )
                    rows = xp.empty((int(row_counts.sum()), self.pattern.size), self.simple.id_dtype)
                    written = sum(writing.write(first_block + group_start, requests, rows))
                    yield rows[:written].T
                    skip += written
                    if counts[group_start] < most or written < most:
                        break
            first_block, block_count = first_block + len(counts), min(2 * block_count, AHEAD)

    def _match_columns(self) -> Iterator[Array]:
        """Yield arrays of matches with a column for each match, found by operations on whole arrays and without a
        compiled join.
        """
        graphs, vertices = self._ordered
        kinds = None if self.labels is None else self._kinds(self.pattern)
        sides = _with_reverse_graphs(graphs, self.pattern.directed)
        joins = self._listing.plan.joins
        first = array_module(vertices).arange(len(vertices), dtype=graphs[0].id_dtype)
        if kinds is not None:
            first = first[_may_match(kinds, joins[0])]
        yield from _extend_all(sides, kinds, first[None], joins[1:])


def _join_numbers(vertices: Sequence[int]) -> str:
    return ", ".join(map(str, vertices))


def _groups(counts: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of blocks of edges (first block, end) that together have less than `most` matches, to write them at
    once.

    `counts` has the number of matches of each block. A block that has `most` or more is a range of its own, and a block
    without matches may be in no range.
    """
    begin = total = 0
    for block, count in enumerate(counts):
        if total and total + count >= most:
            yield begin, block
            begin, total = block, 0
        total += count
        if not total:
            begin = block + 1
    if total:
        yield begin, len(counts)


# --- a join without compiled code: extend blocks of partial matches by operations on whole arrays ---------------------


def _extend_all(sides: Sides, kinds: Array | None, columns: Array, joins: Sequence[Join]) -> Iterator[Array]:
    """Extend a block of partial matches by all vertices of the pattern that are missing, and yield blocks of matches.

    Each column of `columns` is a partial match. `joins` has the conditions for each vertex of the pattern that is still
    to be matched.
    """
    if not columns.shape[1]:
        return
    if not joins:
        yield columns
        return
    for block, match_index, new_vertices in _extend_by_one(sides, kinds, columns, joins[0]):
        extended = array_module(columns).concatenate([block[:, match_index], new_vertices[None]])
        yield from _extend_all(sides, kinds, extended, joins[1:])


def _extend_by_one(
    sides: Sides, kinds: Array | None, columns: Array, join: Join
) -> Iterator[tuple[Array, Array, Array]]:
    """Extend a block of partial matches by one more vertex of the pattern, in parts of bounded size.

    Yield three arrays for each part: some of the partial matches (a column each), and for each extended match the index
    of the column that it extends and its new vertex.
    """
    xp = array_module(columns)
    for chosen, (first_reach, second_reach) in _candidate_lists(sides, columns, join):
        graph, src, dst = (
            sides[first_reach.relation][first_reach.backward],
            chosen[first_reach.place],
            chosen[second_reach.place],
        )
        for part in shares(xp.minimum(graph.out_degrees[src], graph.out_degrees[dst]), PART):
            block = chosen[:, part]
            above = block[list(join.above)].max(axis=0) if join.above else None
            match_index, new_vertices = common(graph, EdgeFrontier(graph.n, src[part], src[part], dst[part]), above)
            remaining_join = join._replace(
                within=tuple(reach for reach in join.within if reach not in (first_reach, second_reach))
            )
            fits = _satisfies(sides, kinds, block, match_index, new_vertices, remaining_join)
            yield block, *((match_index, new_vertices) if fits is None else (match_index[fits], new_vertices[fits]))


def _with_reverse_graphs(graphs: Sequence[Graph], directed: bool) -> Sides:
    return [(graph, graph.reversed() if directed else graph) for graph in graphs]


def expected(plan: JoinPlan, graphs: Sequence[Graph], kinds: Array) -> list[float]:
    """Estimate the number of partial matches with the first two, three, … vertices of a join, from random samples.

    A sample is an edge. It is extended by one vertex at a time, drawn among those that fit, and its weight is
    multiplied by the number of vertices that fit.

    D. E. Knuth: Estimating the Efficiency of Backtrack Programs. Mathematics of Computation 29 (1975).
    """
    random, sides, xp = np.random.default_rng(0), _with_reverse_graphs(graphs, plan.directed), array_module(kinds)
    first_join, second_join = plan.joins[:2]
    reach = second_join.within[0]
    lists = sides[reach.relation][reach.backward].sorted_out
    m = len(lists.indices)
    if m == 0:
        return [0.0] * (plan.size - 1)
    positions = xp.asarray(random.integers(0, m, SAMPLES))
    u, v = xp.searchsorted(lists.indptr, positions, side="right") - 1, lists.indices[positions]
    u, sample_ids = u.astype(v.dtype), xp.arange(SAMPLES)
    fits = _may_match(kinds[u], first_join) & _may_match(kinds[v], second_join) & ((u < v) | (not second_join.above))
    satisfies_rest = _satisfies(
        sides, None, u[None], sample_ids, v, second_join._replace(within=second_join.within[1:])
    )
    chosen = xp.flatnonzero(fits if satisfies_rest is None else fits & satisfies_rest)
    # The last row has the number of the sample in each column, by which its weight is found.
    columns, weights = xp.stack([u, v, sample_ids])[:, chosen], xp.full(SAMPLES, m / SAMPLES)
    totals = [float(weights[columns[-1]].sum())]
    for next_join in plan.joins[2:]:
        extended_blocks = []
        for block, owners, fitting in _extend_by_one(sides, kinds, columns, next_join):
            counts = xp.bincount(owners, minlength=block.shape[1])
            ends, can_extend = xp.cumsum(counts), xp.flatnonzero(counts)
            pick = (ends - counts)[can_extend] + (
                xp.asarray(random.random(len(can_extend))) * counts[can_extend]
            ).astype(np.int64)
            weights[block[-1, can_extend]] *= counts[can_extend]
            extended_blocks.append(
                xp.concatenate([block[:-1, can_extend], fitting[pick][None], block[-1:, can_extend]])
            )
        no_columns = xp.empty((len(columns) + 1, 0), columns.dtype)
        columns = xp.concatenate([no_columns, *extended_blocks], axis=1)
        totals.append(float(weights[columns[-1]].sum()))
    return totals


def _candidate_lists(sides: Sides, columns: Array, join: Join) -> Iterator[tuple[Array, tuple[Reach, Reach]]]:
    """Yield blocks of partial matches, each with two adjacency lists whose intersection has all candidates for the next
    vertex.

    A list is given as a matched vertex, a relation and a direction. The two are the same if a single list holds the
    candidates. They also are if lists are of different relations or directions, which can't be intersected. Then
    matches are split by which of two lists is shorter.
    """
    only_reach = join.within[0]
    groups = [
        [reach for reach in join.within if reach[1:] == direction_and_relation]
        for direction_and_relation in dict.fromkeys(r[1:] for r in join.within)
    ]
    pairs = [(group[0], group[1]) for group in groups if len(group) > 1]
    if pairs or len(join.within) == 1:
        yield columns, pairs[0] if pairs else (only_reach, only_reach)
        return
    first_reach, second_reach = join.within[:2]
    lengths = [
        sides[reach.relation][reach.backward].out_degrees[columns[reach.place]] for reach in (first_reach, second_reach)
    ]
    is_shorter = lengths[0] <= lengths[1]
    yield columns[:, is_shorter], (first_reach, first_reach)
    yield columns[:, ~is_shorter], (second_reach, second_reach)


def _satisfies(
    sides: Sides, kinds: Array | None, columns: Array, match_index: Array, new_vertices: Array, join: Join
) -> Array | None:
    """Return a mask of the new vertices that satisfy the conditions of a join which are not tested yet, or None if all
    are.

    The vertex new_vertices[i] extends the partial match in column match_index[i] of `columns`.
    """

    def has(reach: Reach) -> Array:
        graph = sides[reach.relation][reach.backward]
        return has_edges(graph, EdgeFrontier(graph.n, new_vertices, columns[reach.place][match_index], new_vertices))

    conditions = [has(reach) for reach in join.within] + [~has(reach) for reach in join.outside]
    conditions += [new_vertices != columns[place][match_index] for place in join.apart]
    if kinds is not None:
        conditions.append(_may_match(kinds[new_vertices], join))
    return reduce(and_, conditions) if conditions else None


def _may_match(kinds: Array, join: Join) -> Array:
    return (kinds >> np.uint8(join.vertex) & np.uint8(1)).astype(bool)


def _smallest_images(columns: Array, pattern: Pattern) -> Array:
    """Replace each match by the smallest, in lexicographic order, of the equal matches under the pattern's
    automorphisms.

    Each column is a match. Without this, the order of matching would determine which of several equal matches is
    returned.
    """
    xp, group = array_module(columns), pattern.automorphisms
    for vertex in range(pattern.size):
        # one automorphism for each vertex that can be mapped to `vertex`, with all earlier vertices fixed
        choices = {automorphism[vertex]: automorphism for automorphism in group}
        best, smallest = columns[vertex], columns
        for other, automorphism in choices.items():
            if other != vertex:
                is_less = columns[other] < best
                best, smallest = (
                    xp.minimum(best, columns[other]),
                    xp.where(is_less, columns[list(automorphism)], smallest),
                )
        columns = smallest
        group = [automorphism for automorphism in group if automorphism[vertex] == vertex]
    return columns
