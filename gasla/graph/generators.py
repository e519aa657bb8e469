"""Benchmark graphs that are bit-identical on every machine: R-MAT, Kronecker, uniform, grid, random geometric; a town.

Every random choice is a splitmix64 hash of a counter, compared as an integer. There is no random generator and no
floating-point arithmetic, except for the lengths of a town's roads. `fingerprint` (a sum of hashed edges modulo 2**64)
identifies a graph. All graphs are undirected: both directions are stored, without self loops and parallel edges, with
sorted rows. Weights are whole numbers in float32.

R-MAT: Chakrabarti, Zhan, Faloutsos, "R-MAT: A recursive model for graph mining" (2004); parameters of Graph500.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gasla.arrays import array_module, index_dtype
from gasla.graph.memory_limit import require_room
from gasla.progress import track

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "SEEDS",
    "fingerprint",
    "first_of_largest",
    "grid",
    "kron",
    "rgg",
    "rmat",
    "sources",
    "town",
    "uniform",
    "with_weights",
]

Array = np.ndarray[Any, Any]
Pairs = Iterator[tuple[Array, Array]]

SEEDS = {
    "edges": 0x1234_5678_9ABC_DEF0,
    "order": 0x0F1E_2D3C_4B5A_6978,
    "weights": 0x5DEE_CE66_D1CE_4E5B,
    "cuts": 0x2545_F491_4F6C_DD1D,
    "points": 0x9E6C_63D0_876A_46E5,
    "sources": 0xD6E8_FEB8_6659_FD93,
}
_EDGE, _PERMUTATION, _WEIGHT, _CUT, _POINT, _SOURCE = SEEDS.values()
_PRINT = 1
BYTES = 16  # lower bound of the bytes of memory for each random edge and each vertex, while a graph is made
_HALF = np.uint64(32)
# distance of junctions in meters, and the number of possible shifts of a junction by whole meters
_BETWEEN, _JITTER = 100, 41
_MAIN, _STREET = 14, 7  # speed on main roads and on other streets, in meters per second
_BLOCK = 1 << 16  # how many numbers are hashed at a time, few enough to stay in the processor's cache
_NO_WEIGHTS = np.empty(0, np.float32)


def rmat(scale: int, edge_factor: int = 16) -> csr_array:
    """Return an R-MAT graph with the parameters of Graph500 (a = .57, b = c = .19): skewed degrees, shuffled ids.

    Parameters
    ----------
    scale : int
        The graph has ``2**scale`` vertices.
    edge_factor : int
        Edges drawn per vertex; repeated edges and self loops are dropped.

    Examples
    --------
    >>> A = rmat(10)
    >>> A.shape, A.nnz, fingerprint(A)
    ((1024, 1024), 21030, '89fd5595a0d36c37')
    """
    scale, edge_factor = _as_int("scale", scale), _as_int("edge_factor", edge_factor)
    n = _vertex_count(scale, edge_factor)
    order = np.argsort(_hash(np.arange(n, dtype=np.uint64), _PERMUTATION))
    endpoint_blocks = (kronecker_ends(edges, scale) for edges in _number_blocks(edge_factor * n))
    return _make_undirected(n, ((order[u], order[v]) for u, v in endpoint_blocks), largest_weight=255)


def kron(scale: int) -> csr_array:
    """Return an R-MAT graph (`rmat`) with 48 edges per vertex, like kron_g500-logn of the 10th DIMACS challenge.

    Examples
    --------
    >>> kron(8).nnz
    8608
    """
    return rmat(scale, edge_factor=48)


def uniform(scale: int, edge_factor: int = 16) -> csr_array:
    """Return a graph of ``2**scale`` vertices and `edge_factor` uniformly random edges per vertex (about Erdős-Rényi).

    Parameters
    ----------
    scale : int
    edge_factor : int
        As for `rmat`.

    Examples
    --------
    >>> uniform(8).nnz
    7678
    """
    scale, edge_factor = _as_int("scale", scale), _as_int("edge_factor", edge_factor)
    n = _vertex_count(scale, edge_factor)
    shift = np.uint64(64 - scale)
    two, one = np.uint64(2), np.uint64(1)
    pairs = (
        (_hash(edges * two, _EDGE) >> shift, _hash(edges * two + one, _EDGE) >> shift)
        for edges in _number_blocks(edge_factor * n)
    )
    return _make_undirected(n, pairs, largest_weight=255)


def grid(scale: int) -> csr_array:
    """Return a square grid of ``2**scale`` vertices in row-major order, with a random tenth of its edges removed.

    Examples
    --------
    >>> grid(8).nnz
    866
    """
    scale = _as_int("scale", scale)
    n = _vertex_count(scale, 2)
    if scale % 2:
        raise ValueError(f"scale is {scale}; a square grid of 2**scale vertices needs an even one")
    return _make_undirected(n, _grid_pairs(1 << scale // 2), largest_weight=1000)


def rgg(scale: int) -> csr_array:
    """Return a random geometric graph: ``2**scale`` random points, with edges between close ones.

    Each point has about 16 neighbors. Points are numbered by the cells of a grid, in row-major order.

    Examples
    --------
    >>> rgg(8).nnz
    3854
    """
    scale = _as_int("scale", scale)
    # If there were fewer points, cells would be so large that squared distances overflow.
    n = _vertex_count(scale, 8, smallest=7)
    return _make_undirected(n, _geometric_pairs(n), largest_weight=255)


class Town(NamedTuple):
    """A road network with the positions of its junctions.

    `matrix` [i, j] is the travel time from junction i to junction j in seconds. `x` and `y` are positions in meters.
    """

    matrix: csr_array
    x: Array
    y: Array


def town(scale: int = 12) -> Town:
    """Return a synthetic town: streets, faster main roads, a river with few bridges, and the places of junctions.

    The town has ``2**scale`` junctions, about 100 m apart, which are numbered by rows from the south-west corner. A
    random seventh of the streets is missing, so that a few junctions may be cut off. Every eighth street is a main
    road, which is complete. Roads go both ways. Travel times in seconds are whole numbers (float32).

    Parameters
    ----------
    scale : int
        An even number.

    Examples
    --------
    >>> matrix, x, y = town()
    >>> matrix.shape, matrix.nnz, fingerprint(matrix)
    ((4096, 4096), 14048, 'bc5eb1247e5dcc93')
    >>> x[:3], y[:3]
    (array([ 34., 130., 226.]), array([13., 29., 31.]))
    """
    scale = _as_int("scale", scale)
    n = _vertex_count(scale, 2)
    if scale % 2:
        raise ValueError(f"scale is {scale}; a square town of 2**scale junctions needs an even one")
    grid_width = 1 << scale // 2
    ids = np.arange(n, dtype=np.uint64)
    x, y = (
        (_BETWEEN * grid_coordinate + _hash(ids * np.uint64(2) + np.uint64(i), _POINT) % np.uint64(_JITTER)).astype(
            np.float64
        )
        for i, grid_coordinate in enumerate((ids % np.uint64(grid_width), ids // np.uint64(grid_width)))
    )
    u, v, speed = _make_roads(grid_width)
    seconds = np.rint(np.sqrt((x[u] - x[v]) ** 2 + (y[u] - y[v]) ** 2) / speed)
    return Town(_symmetric_matrix(n, u, v, seconds.astype(np.float32)), x, y)


def _make_roads(grid_width: int) -> tuple[Array, Array, Array]:
    """Return the two ends of each road of a town with `grid_width` rows and columns of junctions, and the roads'
    speeds.
    """
    ids = np.arange(grid_width * grid_width).reshape(grid_width, grid_width)
    endpoint_blocks, speeds = [], []
    for across, (u, v) in enumerate(((ids[:, :-1], ids[:, 1:]), (ids[:-1], ids[1:]))):
        street = u % grid_width if across else u // grid_width  # the number of the street that the road is a part of
        is_main = street % 8 == 4
        exists = is_main | (_hash(_pair_keys(u, v), _CUT) % np.uint64(7) != 0)
        if across:
            # removes the roads that cross the river, except for the bridges
            exists &= (u // grid_width != grid_width // 2 - 1) | (street % 16 == 4)
        endpoint_blocks.append(np.stack([u[exists], v[exists]]))
        speeds.append(np.where(is_main[exists], _MAIN, _STREET))
    return *np.concatenate(endpoint_blocks, axis=1), np.concatenate(speeds)


def _symmetric_matrix(n: int, u: Array, v: Array, values: Array) -> csr_array:
    """Return a sparse matrix that stores each edge (u, v) in both directions with its value, and has sorted rows."""
    from scipy.sparse import coo_array

    src, dst = np.append(u, v).astype(np.int32), np.append(v, u).astype(np.int32)
    return coo_array((np.append(values, values), (src, dst)), shape=(n, n)).tocsr()


def fingerprint(A: Any) -> str:
    """Return a sum of hashed edges as 16 hexadecimal digits, which does not depend on the order of edges.

    Examples
    --------
    >>> fingerprint(grid(4))
    '50cd2f7fb0212cc4'
    """
    coo = _check_matrix(A).tocoo()
    hash_sum = 0
    for start in track(range(0, coo.nnz, _BLOCK), "blocks"):
        keys = _pair_keys(*(endpoint_ids[start : start + _BLOCK] for endpoint_ids in coo.coords))
        hash_sum += int(_hash(keys, _PRINT).sum(dtype=np.uint64))
    return f"{hash_sum % 2**64:016x}"


def sources(A: Any, count: int = 8) -> list[int]:
    """Return `count` pseudorandom vertices of graph `A`'s largest weakly connected component, the same in each call.

    Examples
    --------
    >>> sources(grid(4), 3)
    [13, 4, 10]
    """
    from scipy.sparse.csgraph import connected_components

    count = _as_int("count", count)
    return first_of_largest(connected_components(_check_matrix(A), directed=True, connection="weak")[1], count)


def first_of_largest(labels: Array, count: int) -> list[int]:
    """Return `count` pseudorandom vertices of the largest component. `labels` has the component of each vertex."""
    order = np.argsort(_hash(np.arange(len(labels), dtype=np.uint64), _SOURCE))
    is_in_largest = labels[order] == np.bincount(labels).argmax()
    chosen_ids: list[int] = order[is_in_largest][:count].tolist()
    return chosen_ids


def with_weights(A: Any, largest: int = 255) -> csr_array:
    """Return `A` with pseudorandom float32 weights 1, 2, ... `largest`, equal for both directions of an edge.

    Examples
    --------
    >>> with_weights(grid(2), largest=9).data
    array([6., 4., 6., 9., 4., 9., 9., 9.], dtype=float32)
    """
    from scipy.sparse import csr_array

    largest = _as_int("largest", largest)
    if not 1 <= largest <= 2**24:
        raise ValueError(f"largest is {largest}; expected 1 to {2**24}, which float32 holds exactly")
    A = csr_array(_check_matrix(A))
    row, column = A.tocoo().coords
    weights = [_weights(row[i : i + _BLOCK], column[i : i + _BLOCK], largest) for i in range(0, A.nnz, _BLOCK)]
    return csr_array((np.concatenate([_NO_WEIGHTS, *weights]), A.indices, A.indptr), shape=A.shape)


def _as_int(name: str, argument: Any) -> int:
    """Return an integer argument as an int of Python, because NumPy's integers may overflow.

    Raise TypeError otherwise.
    """
    if not isinstance(argument, int | np.integer) or isinstance(argument, bool):
        raise TypeError(f"{name} is {reprlib.repr(argument)}; expected a whole number")
    return int(argument)


def _check_matrix(A: Any) -> Any:
    if not hasattr(A, "tocoo") or len(A.shape) != 2:
        raise TypeError(f"A is {reprlib.repr(A)}; expected a sparse matrix of SciPy")
    return A


def _vertex_count(scale: int, edge_factor: int, smallest: int = 1) -> int:
    """Return the number of vertices of a graph to be made, ``2**scale``, after checks.

    Raise MemoryError if there is no memory for `edge_factor` edges per vertex, counted as they are drawn, with
    repetitions. `smallest` is the smallest scale that is allowed.
    """
    if not smallest <= scale <= 31:
        raise ValueError(f"scale is {scale}; expected {smallest} to 31, for 2**scale vertices")
    require_room("the graph has", (1 + edge_factor) << scale, BYTES, "cpu", "a smaller scale, or a smaller edge_factor")
    return 1 << scale


def _hash(counter: Array, seed: int) -> Array:
    """Return a pseudorandom 64-bit number for each number in `counter`: its splitmix64 hash.

    The number at position k of the random sequence for a seed is the hash of k.
    """
    z = counter * np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z ^= z >> np.uint64(shift)
        z *= np.uint64(factor)
    z ^= z >> np.uint64(31)
    return z


def _number_blocks(edge_count: int) -> Iterator[Array]:
    """Yield the numbers 0, 1, ... total - 1 as arrays of `_BLOCK` numbers."""
    for start in track(range(0, edge_count, _BLOCK), "blocks"):
        yield np.arange(start, min(start + _BLOCK, edge_count), dtype=np.uint64)


def _pair_keys(row: Array, column: Array) -> Array:
    """Return a 64-bit number for each edge, with its row in the upper half and its column in the lower half.

    Sorting these numbers sorts edges by row, then column.
    """
    return row.astype(np.uint64) << _HALF | column.astype(np.uint64)


def _weights(row: Array, column: Array, largest: int) -> Array:
    """Return a pseudorandom weight from 1 to `largest` for each edge, computed as a hash of its two ends.

    `row` and `column` are the edges' ends. Both directions of an edge get the same weight.
    """
    hashed = _hash(_pair_keys(np.minimum(row, column), np.maximum(row, column)), _WEIGHT) >> _HALF
    return ((hashed * np.uint64(largest)) >> _HALF).astype(np.float32) + np.float32(1)


def _make_undirected(n: int, pairs: Pairs, largest_weight: int) -> csr_array:
    """Return the undirected graph of the given edges as a CSR array with pseudorandom weights.

    Self loops are dropped, and parallel edges become one edge. `pairs` yields the edges as arrays of ends.
    """
    from scipy.sparse import csr_array

    keys = np.concatenate([_pair_keys(np.minimum(u, v), np.maximum(u, v))[u != v] for u, v in pairs])
    keys.sort()
    keys = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
    small, large = (keys >> _HALF).astype(np.int32), (keys & np.uint64(2**32 - 1)).astype(np.int32)
    del keys
    indptr = np.searchsorted(small, np.arange(n + 1)).astype(index_dtype(2 * len(large)))
    upper = with_weights(csr_array((np.ones(len(large), np.float32), large, indptr), shape=(n, n)), largest_weight)
    upper.has_canonical_format = True
    return upper + upper.T.tocsr()


def kronecker_ends(edges: Array, scale: int) -> tuple[Array, Array]:
    """Return the sources and targets of the edges of a Kronecker graph (R-MAT) that have the given numbers.

    Each bit of the ids comes from one random choice of a quadrant of the matrix. `edges` is a uint64 array of NumPy or
    CuPy, and so are the results.
    """
    first_threshold, ab, abc = (np.uint64(int(quadrant_share * 2**32)) for quadrant_share in (0.57, 0.76, 0.95))
    u, v = (array_module(edges).zeros_like(edges) for _ in range(2))
    for level in range(scale):
        random = _hash(edges * np.uint64(64) + np.uint64(level), _EDGE) >> _HALF
        is_lower = random >= ab
        is_right = (random >= first_threshold) ^ is_lower ^ (random >= abc)
        u = u + u + is_lower
        v = v + v + is_right
    return u, v


def _grid_pairs(grid_width: int) -> Pairs:
    """Yield the edges of a square grid as arrays of ends: to the right and downwards, without the removed tenth."""
    threshold = np.uint64(int(0.1 * 2**32))
    width, one, two = np.uint64(grid_width), np.uint64(1), np.uint64(2)
    for v in _number_blocks(grid_width * grid_width):
        has_right_edge = (v % width < width - one) & (_hash(v * two, _CUT) >> _HALF >= threshold)
        yield v[has_right_edge], v[has_right_edge] + one
        lower = (v // width < width - one) & (_hash(v * two + one, _CUT) >> _HALF >= threshold)
        yield v[lower], v[lower] + width


def _geometric_pairs(n: int) -> Pairs:
    """Yield the pairs of points that are at most the width of a cell apart.

    The unit square is divided into square cells, so only points of the same or adjacent cells are compared.
    """
    cells = round((3.14159265 * n / 16) ** 0.5)  # number of cells along a side of the square
    squared_radius = ((1 << 32) // cells) ** 2
    i = np.arange(n, dtype=np.uint64)
    x, y = _hash(i * np.uint64(2), _POINT) >> _HALF, _hash(i * np.uint64(2) + np.uint64(1), _POINT) >> _HALF
    column, row = (x * np.uint64(cells)) >> _HALF, (y * np.uint64(cells)) >> _HALF
    order = np.argsort(row * np.uint64(cells) + column, kind="stable")
    x, y, column, row = np.stack([x, y, column, row])[:, order].astype(np.int64)
    start = np.searchsorted(row * cells + column, np.arange(cells * cells + 1))
    for block in _number_blocks(n):
        for across, down in ((0, 0), (1, 0), (-1, 1), (0, 1), (1, 1)):
            point = block.astype(np.int64)
            point = point[
                (column[point] + across >= 0) & (column[point] + across < cells) & (row[point] + down < cells)
            ]
            cell = (row[point] + down) * cells + column[point] + across
            first_partner = point + 1 if across == down == 0 else start[cell]
            u, v = _pairs_in_ranges(point, first_partner, start[cell + 1])
            is_close = (x[u] - x[v]) ** 2 + (y[u] - y[v]) ** 2 <= squared_radius
            yield u[is_close], v[is_close]


def _pairs_in_ranges(left_points: Array, first_partners: Array, partner_limits: Array) -> tuple[Array, Array]:
    """Return all pairs of a number ``left_points[k]`` and a number from ``first_partners[k]`` to ``partner_limits[k] -
    1``, as two arrays.
    """
    counts = partner_limits - first_partners
    range_ends = np.cumsum(counts)
    return np.repeat(left_points, counts), np.arange(range_ends[-1] if len(range_ends) else 0) + np.repeat(
        partner_limits - range_ends, counts
    )
