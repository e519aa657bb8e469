"""Geolocation: vertices without a location take the spatial median of their neighbors' locations.

Locations spread from the located vertices outward, one edge at a time. The spatial median, the point with the smallest
sum of distances, is found by Weiszfeld's iteration, as changed by Vardi and Zhang for points that coincide with a
neighbor. All vertices iterate in one run, and a vertex is computed again as long as one of its neighbors still moves.
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.paths.sssp import sssp
from gasla.arrays import module_of, moved
from gasla.graph.arguments import check_flags, most_iterations, real_number
from gasla.graph.exchange.vertex_names import as_numbers
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.validate import as_array
from gasla.log import warn
from gasla.operations.primitives import simplify
from gasla.operations.result import ConvergenceWarning
from gasla.operations.run import run
from gasla.program import VertexProgram, option, parameter, vertex
from gasla.rows import Command, Row

Array = Any  # a NumPy or CuPy array
PERIOD = 8  # number of iterations between two in which positions are extrapolated


class Medians(VertexProgram):
    """position(v) moves to the spatial median of the positions of its in-neighbors. The first position is their mean.

    A self loop makes a vertex that has moved iterate again. The run ends after `max_iterations`, or when no vertex
    moves further than `tol`.
    """

    sphere = option(False)
    position = vertex((np.float64, (3,)))
    located = vertex(np.bool_)
    move = vertex((np.float64, (3,)))  # last move of the vertex, as it was before being lengthened
    tol = parameter(np.float64, 1e-9)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        """Return what an in-neighbor adds to the Weiszfeld step of a vertex, as a vector of five numbers.

        The first three are the unit vector toward the in-neighbor, the fourth is the weight 1 / distance, and the last
        is 1 if the in-neighbor is at the vertex's own position, else 0. For a vertex without a location yet, the first
        three are the position of the in-neighbor, with weight 1.
        """
        ahead = src.position - dst.position
        apart = semirings.sqrt(semirings.plus(ahead * ahead))
        if self.sphere:  # keep only the part tangent to the sphere, along the great circle
            ahead = ahead - dst.position * semirings.plus(ahead * dst.position)
        length = semirings.sqrt(semirings.plus(ahead * ahead))
        is_here = apart <= self.tol
        unit = ahead * semirings.where(is_here | (length == 0), 0.0, 1 / semirings.maximum(length, 1e-300))
        weight = semirings.where(is_here, 0.0, 1 / semirings.maximum(apart, 1e-300))
        value = semirings.where(dst.located, unit, src.position)
        # A self loop is there to activate its vertex again, so it adds 0 to the sums.
        counts = semirings.where(src.id == dst.id, 0.0, 1.0)
        pulls = semirings.where(dst.located, weight, 1.0) * counts
        coincides = semirings.where(dst.located & is_here, 1.0, 0.0) * counts
        return semirings.vector(value[0] * counts, value[1] * counts, value[2] * counts, pulls, coincides)

    def apply(self, vertex, gathered):
        total = semirings.vector(gathered[0], gathered[1], gathered[2])
        length = semirings.sqrt(semirings.plus(total * total))
        move_share = semirings.maximum(1 - gathered[4] / semirings.maximum(length, 1e-300), 0.0)
        share = semirings.where(vertex.located, move_share, 1.0) / semirings.maximum(gathered[3], 1e-300)
        move = total * semirings.where(gathered[3] > 0, share, 0.0)
        position = vertex.position + move * semirings.where(
            vertex.located, self.leap(vertex.move, move, gathered[3]), 1.0
        )
        if self.sphere:
            radius = semirings.sqrt(semirings.plus(position * position))
            # the center of the sphere has no direction, so if the mean is there, this point on the sphere replaces it
            pole = semirings.vector(0.0, 0.0, 1.0)
            position = semirings.where(radius > 1e-12, position / semirings.maximum(radius, 1e-12), pole)
        return {"position": position, "located": True, "move": move}

    def leap(self, last, move, weight):
        """Return the factor by which the current move of a vertex is lengthened, so that fewer iterations are needed.

        It is 1 except in every `PERIOD`-th iteration. If successive moves then point the same way and shrink by a
        constant ratio, the factor is the sum of the geometric series of all moves to come, 1 / (1 - ratio). A
        lengthened move is at most 1 over the sum of the inverse distances to the in-neighbors, so it does not pass a
        nearby in-neighbor.
        """
        inner_product, last_square = semirings.plus(last * move), semirings.plus(last * last)
        length = semirings.sqrt(semirings.plus(move * move))
        ratio = inner_product / semirings.maximum(last_square, 1e-300)
        straight = (inner_product > 0) & (inner_product * inner_product > 0.9 * last_square * length * length)
        is_due = (self.iteration % PERIOD == 0) & straight & (ratio > 0.5)
        largest_factor = 1 / semirings.maximum(weight * length, 1e-300)
        moves = semirings.minimum(1 / semirings.maximum(1 - ratio, 1e-12), largest_factor)
        return semirings.where(is_due, semirings.maximum(moves, 1.0), 1.0)

    def activate(self, before, after):
        move = after.position - before.position
        return ~before.located | (semirings.plus(move * move) > self.tol * self.tol)


def geolocate(graph: Any, locations: Any, *, sphere: bool = False, tol: float = 1e-9, max_iter: int = 1000) -> Any:
    """Estimate the locations of vertices from those of their neighbors, by spatial medians.

    A vertex at distance d from the nearest vertices with a location takes the spatial median of its neighbors at
    distance d - 1: the point with the smallest sum of distances to them. Unlike a mean, it does not follow a few
    neighbors far away.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected: direction, self loops, parallel edges and values are ignored.
    locations : (n, 2) array of numbers
        A location for each vertex, or a row of NaN where it is unknown.
    sphere : bool, default False
        Whether locations are latitudes and longitudes in degrees, and distances lengths of great circles. Otherwise
        they are points of a plane.
    tol : float, default 1e-9
        A vertex is done when it moves no further: in radians on the sphere, in the plane relative to the largest extent
        of the given locations.
    max_iter : int, default 1000
        Most iterations, besides one for each edge between a vertex and the nearest location.

    Returns
    -------
    (n, 2) array of float64
        The given locations, and the estimated ones. NaN where no path leads to a vertex with a location.

    Raises
    ------
    TypeError, ValueError
        If `locations` is not a row of two numbers per vertex, or a row is infinite, has one NaN alone, or on the sphere
        a latitude beyond 90 degrees.

    Warns
    -----
    ConvergenceWarning
        If vertices still move after the last iteration.

    Notes
    -----
    Weiszfeld's iteration, as changed by Vardi and Zhang, begins at the mean, and is extrapolated where it is slow. With
    an even number of neighbors on a line all points between the middle two are medians; one of them is returned. On the
    sphere the sum of distances can have several minima, unless the neighbors are within a quarter of it; the one near
    the mean is returned. Each iteration visits the edges of vertices that still move.

    References
    ----------
    R. Compton, D. Jurgens, D. Allen: Geotagging One Hundred Million Twitter Accounts with Total Variation Minimization.
    IEEE Big Data 2014. Y. Vardi, C.-H. Zhang: The multivariate L1-median and associated data depth. PNAS 97 (2000).

    Examples
    --------
    >>> import gasla
    >>> import numpy as np
    >>> star = gasla.Graph.from_edges([3, 3, 3, 3], [0, 1, 2, 4])
    >>> unknown = [np.nan, np.nan]
    >>> gasla.geolocate(star, [[0.0, 0.0], [0.0, 1.0], [0.0, 50.0], unknown, unknown])
    array([[ 0.,  0.],
           [ 0.,  1.],
           [ 0., 50.],
           [ 0.,  1.],
           [ 0.,  1.]])
    """
    graph = whole_graph(graph)
    check_flags(sphere=sphere)
    tol, limit = real_number("tol", tol), most_iterations("max_iter", max_iter)
    xp: Any = module_of(graph.device)
    rows = _location_rows(graph, locations, bool(sphere))
    known = ~xp.isnan(rows[:, 0])
    if not bool(known.any()):
        return rows
    waves, depth = _outward_edges(graph, known)
    start, middle, extent = _unit_vectors(rows, xp), 0.0, 1.0
    if not sphere:
        middle = rows[known].min(axis=0) / 2 + rows[known].max(axis=0) / 2
        extent = float(abs(rows[known] - middle).max()) or 1.0
        start = xp.concatenate([(rows - middle) / extent, xp.zeros((graph.n, 1))], axis=1)
    start = xp.where(known[:, None], start, 0.0)
    result = run(
        Medians(sphere=bool(sphere), tol=tol), waves, active=xp.flatnonzero(known), position=start, located=known,
        max_iterations=depth + limit,
    )  # fmt: skip
    if not result.converged:
        message = f"the locations still change after {result.iterations} iterations; raise max_iter, or tol"
        warn(message, ConvergenceWarning)
    positions = _latitudes_and_longitudes(result.position, xp) if sphere else result.position[:, :2] * extent + middle
    positions = xp.where(result.located[:, None], positions, np.nan)
    return xp.where(known[:, None], rows, positions)


def _location_rows(graph: Graph, locations: Any, sphere: bool) -> Array:
    """Return the argument `locations` as an (n, 2) float64 array on the graph's device.

    Raise an error if a location is not valid.
    """
    array = as_array("locations", locations)
    if array.dtype.kind not in "iuf" or array.shape != (graph.n, 2):
        raise TypeError(
            f"locations is {array.dtype}{array.shape}; expected ({graph.n}, 2) numbers, a row for each vertex, of NaN "
            "where it is unknown"
        )
    rows: Array = moved(array, graph.device).astype(np.float64)
    xp: Any = module_of(graph.device)
    unknown = xp.isnan(rows)
    is_wrong = xp.isinf(rows).any(axis=1) | (unknown[:, 0] != unknown[:, 1]) | (abs(rows) > 1e300).any(axis=1)
    if sphere:
        is_wrong |= abs(rows[:, 0]) > 90
    if bool(is_wrong.any()):
        v = int(is_wrong.argmax())
        expectation = "a latitude from -90 to 90 and a longitude" if sphere else "two finite numbers, of 1e300 at most"
        raise ValueError(f"locations of vertex {v} is {rows[v].tolist()}; expected {expectation}, or NaN for both")
    return rows


def _outward_edges(graph: Graph, is_located: Array) -> tuple[Graph, int]:
    """Return a graph along whose edges locations spread from located vertices, and the number of steps to the farthest
    ones.

    Its edges lead from each vertex to neighbors that are one step further from the located vertices. Vertices that are
    reached but have no location in the input also have a self loop.
    """
    xp: Any = module_of(graph.device)
    simple = simplify(graph).with_values(None)
    src, dst = simple.edges()
    steps = sssp(simple, as_numbers(simple, xp.flatnonzero(is_located).tolist()))
    leads = (steps[src] + 1 == steps[dst]) & (steps[dst] < np.inf)
    loops = xp.flatnonzero((steps > 0) & (steps < np.inf)).astype(src.dtype)
    waves = Graph.from_edges(xp.concatenate([src[leads], loops]), xp.concatenate([dst[leads], loops]), n=graph.n)
    return waves, int(xp.where(steps < np.inf, steps, 0).max())


def _unit_vectors(degrees: Array, xp: Any) -> Array:
    """Return the (n, 3) unit vectors of points on the sphere, given as rows of latitude and longitude in degrees."""
    latitude, longitude = xp.radians(degrees[:, 0]), xp.radians(degrees[:, 1])
    flat = xp.cos(latitude)
    return xp.stack([flat * xp.cos(longitude), flat * xp.sin(longitude), xp.sin(latitude)], axis=1)


def _latitudes_and_longitudes(units: Array, xp: Any) -> Array:
    """Return rows of latitude and longitude in degrees for (n, 3) unit vectors."""
    x, y, z = units.T
    return xp.degrees(xp.stack([xp.arctan2(z, xp.hypot(x, y)), xp.arctan2(y, x)], axis=1))


def _has_location(locations: Any) -> Any:
    """Return a mask of the vertices that have a location: their rows of `locations` are not NaN."""
    return ~np.isnan(locations[:, 0])


def _estimated_vertices(result_view: Any) -> Any:
    """Return the vertices whose location was estimated. `result_view` has the results of the command.

    They have no location in the input, but have one in the result.
    """
    return np.flatnonzero(_has_location(result_view["found"]) & ~_has_location(result_view.arguments["locations"]))


ROW = Row(
    geolocate,
    Command(
        *("geolocate", {"x": "x", "y": "y"}),
        lambda f: (
            f"{_has_location(f.arguments['locations']).sum():,} of {f.graph.n:,} vertices have a location, and "
            f"{len(_estimated_vertices(f)):,} others an estimated one{':' * bool(len(_estimated_vertices(f)))}"
        ),
        lambda f: f.coordinates("found", _estimated_vertices(f)),
        unpack=lambda _, found: {"found": found, "x": found[:, 0], "y": found[:, 1]},
    ),
    method="medians of neighbors' places in rounds (Compton, Jurgens, Allen, IEEE Big Data 2014)",
    longer="Vertices iterate towards a median of their neighbors, and locations spread an edge at a time.",
)
