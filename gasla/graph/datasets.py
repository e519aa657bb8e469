"""Real graphs that ship with the package, and names of the synthetic graphs of `gasla.graph.generators`.

License and attribution of each real graph are next to it in `gasla/data`.
"""

from __future__ import annotations

import lzma
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gasla.graph.generators import fingerprint, grid, kron, rgg, rmat, sources, town, uniform, with_weights

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "Airports",
    "OpenFlights",
    "fingerprint",
    "great_circle",
    "grid",
    "kron",
    "ny_roads",
    "openflights",
    "rgg",
    "rmat",
    "sources",
    "town",
    "uniform",
    "with_weights",
]

Array = np.ndarray[Any, Any]
EARTH_RADIUS = 6371.0088  # mean radius in kilometers


class Airports(NamedTuple):
    """The names and places of the airports, in one array per column."""

    name: Array
    city: Array
    country: Array
    iata: Array  # the airport's code of three letters, such as "LHR", or an empty string
    latitude: Array  # in degrees, north is positive
    longitude: Array


class OpenFlights(NamedTuple):
    """The flight network: `matrix` [i, j] holds the kilometers from airport i to airport j where a route exists."""

    matrix: csr_array
    airports: Airports


def openflights() -> OpenFlights:
    """Return the airports of the world and the routes between them, in June 2014.

    There are 7,698 airports, 4,484 of which have no route, and 36,907 directed routes. The weight of a route is its
    great-circle distance in kilometers (float64).

    Notes
    -----
    Data of OpenFlights.org, Open Database License 1.0; see openflights_LICENSE.txt in gasla/data.

    Examples
    --------
    >>> flights = openflights()
    >>> flights.matrix.shape, flights.matrix.nnz
    ((7698, 7698), 36907)
    >>> heathrow, kennedy = (flights.airports.iata.tolist().index(code) for code in ("LHR", "JFK"))
    >>> round(float(flights.matrix[heathrow, kennedy]))
    5540
    """
    import csv

    from scipy.sparse import csr_array

    lines = list(csv.reader(_text("openflights_airports.csv.xz").splitlines()[1:]))
    name, city, country, iata, latitude, longitude = (np.array(column) for column in zip(*lines))
    airports = Airports(name, city, country, iata, latitude.astype(np.float64), longitude.astype(np.float64))
    routes = _text("openflights_routes.csv.xz").splitlines()[1:]
    src, dst = np.ascontiguousarray(np.loadtxt(routes, dtype=np.int32, delimiter=",").T)
    coordinates = airports.latitude, airports.longitude
    kilometers = great_circle(*(x[src] for x in coordinates), *(x[dst] for x in coordinates))
    indptr = np.searchsorted(src, np.arange(len(lines) + 1)).astype(np.int32)
    return OpenFlights(csr_array((kilometers, dst, indptr), shape=(len(lines), len(lines))), airports)


def ny_roads() -> csr_array:
    """Return the roads of New York City: 264,346 junctions, 365,050 two-way roads, all of weight 1 (float32).

    The graph has a high diameter: a breadth-first search takes over 600 levels from most junctions. `with_weights`
    gives it whole-number weights.

    Notes
    -----
    Public domain (US Census TIGER/Line, by way of the 9th DIMACS challenge); see ny_roads_LICENSE.txt in gasla/data.

    Examples
    --------
    >>> ny_roads().nnz
    730100
    """
    from scipy.sparse import csr_array

    with (files("gasla") / "data" / "ny_roads.npz").open("rb") as stream, np.load(stream) as road_arrays:
        counts, steps = road_arrays["counts"], road_arrays["steps"].astype(np.int32)
    n = len(counts)
    larger = np.repeat(np.arange(n, dtype=np.int32), counts) + (steps[0] | steps[1] << 8 | steps[2] << 16)
    indptr = np.append(0, np.cumsum(counts, dtype=np.int32)).astype(np.int32)
    upper = csr_array((np.ones(len(larger), np.float32), larger, indptr), shape=(n, n))
    return upper + upper.T.tocsr()


def great_circle(latitude: Any, longitude: Any, other_latitude: Any, other_longitude: Any) -> Any:
    """Return the distance in kilometers between places given in degrees, on a spherical Earth (haversine formula).

    Parameters
    ----------
    latitude, longitude, other_latitude, other_longitude : number or array
        North and east are positive.

    Examples
    --------
    >>> round(float(great_circle(51.5, 0, 40.7, -74)))
    5579
    """
    first_latitude, first_longitude, second_latitude, second_longitude = (
        np.radians(x) for x in (latitude, longitude, other_latitude, other_longitude)
    )
    chord = (
        np.sin((second_latitude - first_latitude) / 2) ** 2
        + np.cos(first_latitude) * np.cos(second_latitude) * np.sin((second_longitude - first_longitude) / 2) ** 2
    )
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(chord))


def _text(name: str) -> str:
    return lzma.decompress((files("gasla") / "data" / name).read_bytes()).decode()
