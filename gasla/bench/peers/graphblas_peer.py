"""SuiteSparse:GraphBLAS through python-graphblas, with the algorithms of LAGraph."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import graphblas as gb
import numpy as np
from graphblas import Matrix, Scalar, Vector, binary, monoid, select, semiring, unary
from graphblas.dtypes import BOOL, FP32, FP64, INT32, INT64
from scipy.sparse import csr_array

from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.peers import DAMPING, PAGERANK_ITERATIONS, SIMILAR, TRUSS, levels_of, searches, threads

ANY_SECONDI = semiring.ss.any_secondi[INT32]
ANY_PAIR = semiring.any_pair[BOOL]
MAX_SECOND = semiring.max_second[FP32]
MIN_PLUS = semiring.min_plus[FP32]
MIN_SECOND = semiring.min_second[INT32]
PLUS_SECOND = semiring.plus_second[FP32]
PLUS_FIRST = semiring.plus_first[FP64]
PLUS_PAIR = semiring.plus_pair[INT64]
PLUS_TIMES = semiring.plus_times[FP32]
# The width of a bucket in delta-stepping is the largest weight times this factor. Among the factors 1/16 to 1/2, it is
# the fastest on R-MAT graphs.
BUCKET = 1 / 8
SAMPLED_EDGES = 4  # number of edges per vertex that the first phase of FastSV uses


class GraphBLAS:
    """Algorithms as in LAGraph, among them direction-optimizing BFS, delta-stepping, FastSV and batched Brandes."""

    name = "graphblas"

    def __init__(self, graph: BenchmarkGraph) -> None:
        gb.ss.config["nthreads"] = threads()
        self.graph = graph
        self.n = graph.matrix.shape[0]

    @cached_property
    def pattern(self) -> Matrix:
        """The matrix of all edges with a single stored value, the fastest form for algorithms that ignore weights."""
        return _matrix(self.graph.matrix, np.array([1], np.int32), iso=True)

    @cached_property
    def degrees(self) -> Vector:
        return Vector.from_dense(np.diff(self.graph.matrix.indptr).astype(np.int64))

    @cached_property
    def light_and_heavy(self) -> tuple[Matrix, Matrix, float]:
        """The matrix of light edges, the matrix of heavy edges, and the width of a bucket.

        Light edges have at most the width of a bucket as weight.
        """
        weights = _matrix(self.graph.matrix, self.graph.matrix.data)
        delta = float(np.ceil(BUCKET * self.graph.matrix.data.max()))
        return (
            weights.select(select.valuele, _fp32(delta)).new(),
            weights.select(select.valuegt, _fp32(delta)).new(),
            delta,
        )

    @staticmethod
    def dense(result: Any) -> Any:
        """Convert a result to an array with -1 in place of missing entries. Return a number or an array as it is."""
        if isinstance(result, list):
            return levels_of(result, GraphBLAS.dense)
        if isinstance(result, tuple):
            return _values_at_edges(*result)
        if isinstance(result, Matrix):
            return float(result.reduce_scalar(monoid.plus).get(0))
        return result.to_dense(fill_value=-1) if isinstance(result, Vector) else result

    def multi_source_bfs(self, sources: list[int]) -> Any:
        return searches(self, sources)

    def bfs(self, source: int) -> Vector:
        """Run LAGr_BreadthFirstSearch, which multiplies the frontier by the matrix over the semiring any_secondi.

        It pushes from the frontier, and pulls while the frontier is wide.
        """
        A, n = self.pattern, self.n
        parents, frontier, degrees = Vector(INT32, n), Vector(INT32, n), Vector(INT64, n)
        parents.ss.config["sparsity_control"] = {"bitmap", "full"}
        parents[source] = frontier[source] = source
        unexplored, size, last, push = A.nvals, 1, 0, True
        while size:
            if push and size > last:
                degrees.clear()
                degrees(frontier.S) << self.degrees
                edges = degrees.reduce().get(0)
                unexplored -= edges
                push = edges <= unexplored / 8
            elif not push:
                push = size < last and size <= n / 512
            frontier.ss.config["sparsity_control"] = {"sparse"} if push else {"bitmap"}
            frontier(~parents.S, replace=True) << ANY_SECONDI(frontier @ A if push else A @ frontier)
            parents(frontier.S) << frontier
            last, size = size, frontier.nvals
        return parents

    def sssp(self, source: int) -> Vector:
        """Run LAGr_SingleSourceShortestPath, which is delta-stepping.

        Light edges are relaxed until all vertices of a bucket are settled, then the heavy edges once.
        """
        light, heavy, delta = self.light_and_heavy
        distances = Vector.from_dense(np.full(self.n, np.inf, np.float32))
        distances[source] = 0
        bucket = Vector(FP32, self.n)
        bucket[source] = 0
        low, high = 0.0, delta
        while True:
            while bucket.nvals:
                bucket << select.valuelt(_relax(bucket, light, distances), _fp32(high))
            settled = select.valuege(distances, _fp32(low)).new()
            settled << select.valuelt(settled, _fp32(high))
            _relax(settled, heavy, distances)
            unsettled = select.valuege(distances, _fp32(high)).new()
            nearest = unsettled.reduce(monoid.min).get(np.inf)
            if nearest == np.inf:
                return distances
            low, high = high, (nearest // delta + 1) * delta
            bucket << select.valuelt(unsettled, _fp32(high))

    def pagerank(self) -> Vector:
        """Run LAGr_PageRank, in which each vertex sums its neighbors' ranks divided by their degrees.

        The ranks of sinks are spread evenly.
        """
        A, n = self.pattern, self.n
        degrees = np.diff(self.graph.matrix.indptr)
        divisor = Vector.from_dense((np.maximum(degrees, 1) / DAMPING).astype(np.float32))
        sinks = np.flatnonzero(degrees == 0)
        is_sink = Vector.from_coo(sinks, True, size=n)
        ranks = Vector.from_dense(np.full(n, 1 / n, np.float32))
        sink_ranks, shares = Vector(FP32, n), Vector(FP32, n)
        for _ in range(PAGERANK_ITERATIONS):
            sink_ranks(is_sink.S, replace=True) << ranks
            teleport = (1 - DAMPING + DAMPING * sink_ranks.reduce().get(0)) / n
            shares << ranks.ewise_mult(divisor, binary.truediv[FP32])
            ranks[:] << _fp32(teleport)
            ranks(binary.plus[FP32]) << PLUS_SECOND(A @ shares)
        return ranks

    def hits(self) -> np.ndarray:
        """Return the hub scores of HITS. Each half of an iteration sums the scores of neighbors."""
        A, hubs = self.pattern, Vector.from_dense(np.full(self.n, 1 / self.n, np.float32))
        for _ in range(PAGERANK_ITERATIONS):
            authorities = PLUS_SECOND(A @ hubs).new()
            authorities << authorities.apply(binary.truediv[FP32], right=_fp32(authorities.reduce().get(0)))
            hubs << PLUS_SECOND(A @ authorities)
            hubs << hubs.apply(binary.truediv[FP32], right=_fp32(hubs.reduce().get(0)))
        # vertices without edges have no entry in the sparse vector, and get the score 0
        return hubs.to_dense(fill_value=0)

    def maximal_independent_set(self) -> np.ndarray:
        """Run LAGraph_MaximalIndependentSet: Luby's algorithm with random scores that decrease with the degree."""
        A, n, degrees = self.pattern, self.n, np.diff(self.graph.matrix.indptr)
        draws = np.random.default_rng(0).random(n, np.float32)
        score = Vector.from_dense((0.0001 + draws) / (1 + 2 * degrees).astype(np.float32))
        (waiting,) = np.nonzero(degrees)
        candidates = Vector.from_coo(waiting, True, size=n)
        members = degrees == 0
        scores, largest, beside = Vector(FP32, n), Vector(FP32, n), Vector(BOOL, n)
        while candidates.nvals:
            scores(candidates.S, replace=True) << score
            largest(candidates.S, replace=True) << MAX_SECOND(A @ scores)
            joining = select.valueeq(scores.ewise_add(largest, binary.gt[FP32]).new(), True).new()
            joining << joining.apply(unary.one[BOOL])
            joining(candidates.S, replace=True) << joining
            members[joining.to_coo(values=False)[0]] = True
            beside(candidates.S, replace=True) << ANY_PAIR(A @ joining)
            candidates(~joining.S, replace=True) << candidates
            candidates(~beside.S, replace=True) << candidates
        return members

    def components(self) -> np.ndarray:
        """Run LG_CC_FastSV6, which finds components by hooking and shortcutting.

        The first phase uses a few edges per vertex. The second phase uses the edges of vertices outside the largest
        tree.
        """
        indptr, indices = self.graph.matrix.indptr, self.graph.matrix.indices
        parent = np.arange(self.n, dtype=np.int32)
        if len(indices) > 2 * SAMPLED_EDGES * self.n:
            sampled = np.minimum(np.diff(indptr), SAMPLED_EDGES)
            parent = _fast_sv(*_select_entries(indptr, indices, indptr[:-1], sampled), parent)
            sample = parent[np.random.default_rng(0).integers(0, self.n, 864)]
            largest = np.bincount(sample).argmax()
            outside_vertices = np.flatnonzero(parent != largest)
            sub_indptr, sub_indices = _select_entries(
                indptr, indices, indptr[outside_vertices], np.diff(indptr)[outside_vertices]
            )
            if len(sub_indices) == 0:
                return parent
            outside = csr_array(
                (np.ones(len(sub_indices), np.int8), sub_indices, sub_indptr), shape=(len(outside_vertices), self.n)
            ).tocoo()
            row, column = outside_vertices[outside.coords[0]].astype(np.int32), outside.coords[1]
            edges_both_ways = csr_array(
                (np.ones(2 * len(row), np.int8), (np.append(row, column), np.append(column, row))), shape=(self.n,) * 2
            )
            return _fast_sv(edges_both_ways.indptr, edges_both_ways.indices, parent)
        return _fast_sv(indptr, indices, parent, self.pattern)

    def triangles(self) -> int:
        """Run LAGr_TriangleCount by the method Sandia LL. If degrees are skewed, vertices are sorted by degree.

        The method LUT takes twice as long on such graphs.
        """
        A, degrees = self.pattern, np.diff(self.graph.matrix.indptr)
        if degrees.mean() > 4 * np.median(degrees):
            order = np.argsort(-degrees, kind="stable")
            A = A[order, order].new()
        lower = A.select(select.tril, -1).new()
        counts = Matrix(INT64, self.n, self.n)
        counts(lower.S) << PLUS_PAIR(lower @ lower)
        return counts.reduce_scalar().get(0)

    def edge_support(self) -> tuple[Matrix, csr_array]:
        """Return the number of triangles at each edge. Edges in no triangle have no entry, which `dense` fills in."""
        counts = Matrix(INT64, self.n, self.n)
        counts(self.pattern.S) << PLUS_PAIR(self.pattern @ self.pattern.T)
        return counts, self.graph.matrix

    def jaccard(self) -> tuple[Matrix, csr_array]:
        """Return the Jaccard similarity of both ends of each edge.

        It is the number of common neighbors, divided by the size of the union of both neighborhoods.
        """
        common = Matrix(FP64, self.n, self.n)
        common(self.pattern.S) << semiring.plus_pair[FP64](self.pattern @ self.pattern.T)
        return self._over_either(common), self.graph.matrix

    def top_k_similar(self) -> np.ndarray:
        """Return for each vertex the largest Jaccard similarities, computed for all pairs and selected by NumPy."""
        common = semiring.plus_pair[FP64](self.pattern @ self.pattern.T).new()
        indptr, _, scores = self._over_either(select.offdiag(common).new()).to_csr()
        highest_scores = np.zeros((self.n, SIMILAR))
        for row, (first, last) in enumerate(pairwise(indptr.tolist())):
            row_scores = scores[first:last]
            row_scores = -np.sort(
                -(row_scores if len(row_scores) <= SIMILAR else np.partition(row_scores, -SIMILAR)[-SIMILAR:])
            )
            highest_scores[row, : len(row_scores)] = row_scores
        return highest_scores

    def _over_either(self, common: Matrix) -> Matrix:
        """Return Jaccard similarities, given the numbers of common neighbors of pairs of vertices as a matrix.

        Each number is divided by the size of the union of both neighborhoods.
        """
        degrees = self.degrees.dup(FP64).diag()
        either = semiring.plus_second[FP64](common @ degrees).new()
        either << either.ewise_mult(semiring.plus_first[FP64](degrees @ common), binary.plus)
        either << either.ewise_mult(common, binary.minus)
        return common.ewise_mult(either, binary.truediv).new()

    def adamic_adar(self) -> tuple[Matrix, csr_array]:
        """Return for each edge the sum of 1 / log(degree) over the common neighbors of its ends."""
        weights = 1 / np.log(np.maximum(np.diff(self.graph.matrix.indptr), 2))
        weighed = semiring.plus_second[FP64](self.pattern @ Vector.from_dense(weights).diag()).new()
        sums = Matrix(FP64, self.n, self.n)
        sums(self.pattern.S) << PLUS_FIRST(weighed @ self.pattern.T)
        return sums, self.graph.matrix

    def k_truss(self) -> tuple[Matrix, csr_array]:
        """Run LAGraph_KTruss.

        It counts triangles at the remaining edges and drops edges in too few triangles, until no edge is dropped.
        """
        remaining = self.pattern
        while True:
            counts = Matrix(INT64, self.n, self.n)
            counts(remaining.S) << PLUS_PAIR(remaining @ remaining.T)
            counts = counts.select(">=", TRUSS - 2).new()
            if counts.nvals == remaining.nvals:
                return counts.dup(BOOL), self.graph.matrix
            remaining = counts

    @cached_property
    def weighted(self) -> Matrix:
        return _matrix(self.graph.matrix, self.graph.matrix.data)

    @cached_property
    def lower(self) -> Matrix:
        return _matrix(self.graph.lower, np.array([1], np.int32), iso=True)

    @cached_property
    def features(self) -> Matrix:
        return Matrix.from_dense(self.graph.features)

    @cached_property
    def vector(self) -> Vector:
        return Vector.from_dense(self.graph.vector)

    def mxv(self) -> np.ndarray:
        return PLUS_TIMES(self.weighted @ self.vector).new().to_dense(fill_value=0)

    def mxm(self) -> Matrix:
        """Return the product of the matrix with itself."""
        return PLUS_TIMES(self.weighted @ self.weighted).new()

    def mxm_masked(self) -> Matrix:
        """Return the number of triangles at each edge of the lower triangle L of the matrix: L @ L masked by L."""
        counts = Matrix(INT64, self.n, self.n)
        counts(self.lower.S) << PLUS_PAIR(self.lower @ self.lower)
        return counts

    def aggregate_features(self) -> np.ndarray:
        """Return the product of the graph's matrix, which is symmetric, and the dense matrix of features."""
        return PLUS_TIMES(self.weighted @ self.features).new().to_dense(fill_value=0)

    def betweenness(self, sources: list[int]) -> np.ndarray:
        """Run LAGr_Betweenness, which is Brandes' algorithm for all sources at once.

        It counts shortest paths level by level, and then sums dependencies in the opposite order of levels.
        """
        A, source_count, n = self.pattern, len(sources), self.n
        rows = np.arange(source_count)
        paths = Matrix.from_coo(rows, sources, np.ones(source_count), nrows=source_count, ncols=n)
        paths.ss.config["sparsity_control"] = {"bitmap", "full"}
        frontier = Matrix(FP64, source_count, n)
        frontier(~paths.S) << PLUS_FIRST(paths @ A)
        levels = []
        last_pull = False
        while frontier.nvals:
            levels.append(frontier.dup(bool))
            paths(binary.plus) << frontier
            filled_share = frontier.nvals / (source_count * n)
            last_pull = filled_share > (0.06 if last_pull else 0.10)
            frontier.ss.config["sparsity_control"] = {"bitmap"} if last_pull else {"sparse", "hypersparse"}
            frontier(~paths.S, replace=True) << PLUS_FIRST(frontier @ (A.T if last_pull else A))
        update = Matrix.from_dense(np.ones((source_count, n)))
        W = Matrix(FP64, source_count, n)
        for depth in range(len(levels) - 1, 0, -1):
            W(levels[depth].S, replace=True) << update.ewise_mult(paths, binary.truediv)
            wide, wider = (levels[d].nvals / (source_count * n) for d in (depth, depth - 1))
            pull = wide > 0.10 and wide > wider
            W.ss.config["sparsity_control"] = {"bitmap"} if pull else {"sparse", "hypersparse"}
            W(levels[depth - 1].S, replace=True) << PLUS_FIRST(W @ (A.T if pull else A))
            update(binary.plus) << W.ewise_mult(paths, binary.times)
        return update.reduce_columnwise().new().to_dense() - source_count


def _matrix(A: csr_array, values: np.ndarray, iso: bool = False) -> Matrix:
    n = A.shape[0]
    return Matrix.ss.import_csr(
        nrows=n,
        ncols=n,
        indptr=A.indptr.astype(np.uint64),
        col_indices=A.indices.astype(np.uint64),
        values=values.copy(),
        is_iso=iso,
        sorted_cols=True,
    )


def _fp32(x: float) -> Scalar:
    """Return a number as a scalar of GraphBLAS with the type FP32.

    Selecting from an FP32 vector by a plain Python number silently gives wrong results.
    """
    return Scalar.from_value(np.float32(x))


def _relax(bucket: Vector, edges: Matrix, distances: Vector) -> Vector:
    """Relax the edges of the matrix `edges` that leave vertices of a bucket. Return the distances that decreased."""
    candidates = Vector(FP32, distances.size)
    candidates << MIN_PLUS(bucket @ edges)
    is_shorter = candidates.ewise_mult(distances, binary.lt).new()
    candidates(is_shorter.V, replace=True) << candidates
    distances(candidates.S) << candidates
    return candidates


def _select_entries(
    indptr: np.ndarray, indices: np.ndarray, first: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the row offsets and column ids of a matrix whose rows are made of parts of another matrix's rows.

    Row i of the result has `count[i]` entries, taken from position `first[i]` of `indices` on.
    """
    ends = np.cumsum(count)
    positions = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - count), count)
    return np.append(0, ends), indices[positions]


def _fast_sv(indptr: np.ndarray, indices: np.ndarray, parent: np.ndarray, A: Matrix | None = None) -> np.ndarray:
    """Return the root of each vertex in a forest in which each tree is a connected component, by the algorithm FastSV.

    In each round a vertex is hooked to the smallest grandparent of its neighbors, until no grandparent changes.
    """
    n = len(parent)
    if A is None:
        A = Matrix.ss.import_csr(
            nrows=n, ncols=n, indptr=indptr.astype(np.uint64), col_indices=indices.astype(np.uint64),
            values=np.array([1], np.int32), is_iso=True,
        )  # fmt: skip
    one_a_row = np.arange(n + 1, dtype=np.uint64)
    grandparent = Vector.from_dense(parent)
    smallest = Vector.from_dense(parent)
    parents = Vector.from_dense(parent)
    while True:
        smallest(binary.min) << MIN_SECOND(A @ grandparent)
        hooks = Matrix.ss.import_csr(
            nrows=n, ncols=n, indptr=one_a_row.copy(), col_indices=parent.astype(np.uint64),
            values=np.array([1], np.int32), is_iso=True, sorted_cols=True,
        )  # fmt: skip
        parents(binary.min) << semiring.min_first[INT32](smallest @ hooks)
        parents << parents.ewise_add(smallest, binary.min)
        parents << parents.ewise_add(grandparent, binary.min)
        parent = parents.to_dense()
        new = parent[parent]
        if np.array_equal(new, grandparent.to_dense()):
            return new
        grandparent = Vector.from_dense(new)


def _values_at_edges(matrix: Matrix, A: csr_array) -> np.ndarray:
    """Return the entry of a matrix at the position of each stored edge of the graph, in the order of rows, or 0 for a
    missing entry.
    """
    rows, columns, values = matrix.to_coo()
    owners = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    keys, wanted = owners * A.shape[0] + A.indices, rows.astype(np.int64) * A.shape[0] + columns.astype(np.int64)
    order = np.argsort(keys)
    result = np.zeros(A.nnz, values.dtype)
    result[order[np.searchsorted(keys, wanted, sorter=order)]] = values
    return result
