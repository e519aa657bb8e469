"""Verifiers of positions. Layouts are checked by the lengths of edges, locations by the distances to neighbors."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import SAMPLES, Array, VerificationError, distances_from, edges_of, require, sample, verifier

# distances by which `_is_worse` moves a vertex to look for a better place, as fractions of the distance to its farthest
# neighbor
STEPS = 10.0 ** np.arange(-4, 1)
DIRECTIONS = 16


@verifier()
def layout(graph: Any, positions: ArrayLike) -> None:
    """Verify `positions` of `gasla.layout` by the lengths of edges.

    The squared distances of all pairs of vertices have a mean that does not depend on which vertex is where. A layout
    places neighbors closer together, so the mean of edges is at most that of pairs, and equal if all are neighbors.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> layout(path, [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    >>> layout(path, [[-0.5, 0.5], [1.0, -1.0], [-0.5, 0.5]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertices 0 and 2 have one position
    """
    simple = edges_of(graph).simple().tocoo()
    n, edges = simple.shape[0], simple.nnz
    places = np.asarray(positions)
    if places.shape != (n, 2) or places.dtype.kind != "f":
        raise VerificationError(f"positions: ({n}, 2) floats were expected, not {places.dtype}{places.shape}")
    places = places.astype(np.float64)
    require(np.isfinite(places).all(axis=1), lambda v: f"vertex {v} has the position {places[v].tolist()}")
    order = np.lexsort(places.T)
    lower_place, next_place = places[order[:-1]], places[order[1:]]
    is_apart = (lower_place != next_place).any(axis=1)
    require(is_apart, lambda i: f"vertices {order[i]} and {order[i + 1]} have one position")
    extent = np.abs(places).max(initial=0)
    middle = np.abs(places.mean(axis=0)).max() if n else 0.0
    if not middle <= 1e-9 * extent:
        raise VerificationError(f"the mean of the positions is {middle:g} from 0")
    if not edges:
        return
    length = float(((places[simple.row] - places[simple.col]) ** 2).sum()) / edges
    if not abs(length - 1) <= 1e-6:
        raise VerificationError(f"the squared lengths of edges have the mean {length:g}; expected 1")
    # the mean of the squared distances of all pairs, which follows from the squares of the positions, as their mean is
    # 0
    distance = 2 * float((places**2).sum()) / (n - 1)
    if not distance >= 1 - 1e-6:
        raise VerificationError(
            f"squared distances of all pairs have the mean {distance:g}, less than 1, that of edges"
        )


@verifier()
def geolocate(
    graph: Any,
    locations: ArrayLike,
    found: ArrayLike,
    *,
    sphere: bool = False,
    tolerance: float = 1e-7,
    samples: int = SAMPLES,
) -> None:
    """Verify `found`, the locations of `gasla.geolocate`: given ones are kept, and `samples` others are medians.

    The mean distance to the neighbors may exceed the smallest possible one by `tolerance`, relative to the largest
    coordinate of the given locations.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> unknown = [np.nan, np.nan]
    >>> geolocate(path, [[0.0, 0.0], unknown, [1.0, 1.0]], [[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]])
    >>> geolocate(path, [[0.0, 0.0], unknown, [1.0, 1.0]], [[0.0, 0.0], [0.5, 0.9], [1.0, 1.0]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the location of vertex 1 is no median of those of its neighbors: [0.5, 0.9]
    """
    simple, known_locations, answer = edges_of(graph).simple(), np.asarray(locations, np.float64), np.asarray(found)
    n = simple.shape[0]
    if answer.shape != (n, 2) or answer.dtype.kind != "f":
        raise VerificationError(f"({n}, 2) floating-point numbers were expected, not {answer.dtype}{answer.shape}")
    known = ~np.isnan(known_locations[:, 0])
    is_unchanged = (answer == known_locations).all(axis=1) | ~known
    require(is_unchanged, lambda v: f"vertex {v} was at {known_locations[v].tolist()}, not at {answer[v].tolist()}")
    steps = _hops_to_known(simple, known)
    located = np.isfinite(answer).all(axis=1) if len(steps) else known
    require(
        located == np.isfinite(steps),
        lambda v: f"vertex {v} is at {answer[v].tolist()}, {steps[v]} edges from a known location",
    )
    require(located | np.isnan(answer).all(axis=1), lambda v: f"vertex {v} is at {answer[v].tolist()}")
    estimated = np.flatnonzero(located & ~known)
    slack = tolerance * (1.0 if sphere else float(np.abs(known_locations[known]).max(initial=0)))
    for v in estimated[sample(len(estimated), samples)].tolist():
        neighbors = simple.indices[simple.indptr[v] : simple.indptr[v + 1]]
        closer = answer[neighbors[steps[neighbors] + 1 == steps[v]]]
        if _is_worse(answer[v], closer, sphere, slack):
            raise VerificationError(
                f"the location of vertex {v} is no median of those of its neighbors: {answer[v].tolist()}"
            )


def _hops_to_known(simple: Any, known: Array) -> Array:
    """Return for each vertex the number of edges to the nearest vertex with a known location, by SciPy.

    The number is infinite if no vertex with a known location can be reached.
    """
    if not known.any():
        return np.full(len(known), np.inf)
    return distances_from(simple, np.flatnonzero(known), unweighted=True, min_only=True)


def _is_worse(place: Array, others: Array, sphere: bool, slack: float) -> bool:
    """Return whether some other place has a smaller sum of distances to the neighbors than the given place has.

    Places in several directions and distances are tried, on the sphere only close ones. `others` are the
    locations of the neighbors, and `slack` is the allowed error per neighbor.
    """
    size = float(_distance_matrix(place[None], others, sphere).max())
    angles = np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS)
    unit_moves = np.stack([np.sin(angles), np.cos(angles)], axis=1)
    steps = size * (STEPS[:2] if sphere else STEPS)
    moves = (steps[:, None, None] * unit_moves).reshape(-1, 2)
    # moves are converted to degrees; a degree of longitude is shorter than one of latitude, so longitude moves by more
    if sphere:
        moves = np.degrees(moves) / [1, max(np.cos(np.radians(place[0])), 1e-6)]
    places = place + moves if sphere else np.concatenate([place + moves, others])
    if sphere:
        places = places[np.abs(places[:, 0]) <= 90]
    best = _distance_matrix(places, others, sphere).sum(axis=1).min(initial=np.inf)
    return bool(_distance_matrix(place[None], others, sphere).sum() > best + slack * len(others))


def _distance_matrix(places: Array, others: Array, sphere: bool) -> Array:
    """Return the matrix of distances from each of `places` to each of `others`.

    On the sphere, distances are angles in radians, by the haversine formula.
    """
    difference = places[:, None] - others[None]
    if not sphere:
        return np.hypot(difference[..., 0], difference[..., 1])
    half = np.radians(difference) / 2
    shrink = np.cos(np.radians(places[:, None, 0])) * np.cos(np.radians(others[None, :, 0]))
    chord = np.sin(half[..., 0]) ** 2 + shrink * np.sin(half[..., 1]) ** 2
    return 2 * np.arcsin(np.sqrt(np.clip(chord, 0, 1)))
