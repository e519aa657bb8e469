"""The analysis that `gasla demo` prints: the airports of the world, and the flights between them."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import gasla
from gasla.graph.datasets import Airports, openflights
from gasla.progress import bar

Array = NDArray[Any]

# IATA codes of the northernmost and the southernmost airport in the largest component
NORTHERNMOST, SOUTHERNMOST = "LYR", "USH"
CREDIT = "Data: OpenFlights.org (ODbL)"


class Leg(NamedTuple):
    """One flight of a journey. `start` and `end` are numbers of airports."""

    start: int
    end: int
    kilometers: float


class Network(NamedTuple):
    """The flight network. `matrix[i, j]` is the length in kilometers of the route from airport i to airport j."""

    matrix: Any
    airports: Airports
    without_route: int


class Findings(NamedTuple):
    """All results of the analysis of the flight network, which the report and the map show."""

    network: Network
    rank: Array
    betweenness: Array
    component: Array
    origin: int
    destination: int
    level: Array
    legs: list[Leg]


def network() -> Network:
    """Return the flight network without the airports that have no route.

    Examples
    --------
    >>> flights = network()
    >>> len(flights.airports.name), flights.without_route
    (3214, 4484)
    """
    matrix, airports = openflights()
    served_ids = np.flatnonzero(np.diff(matrix.indptr) + np.bincount(matrix.indices, minlength=matrix.shape[0]))
    served = Airports(*(column[served_ids] for column in airports))
    return Network(matrix[served_ids][:, served_ids], served, matrix.shape[0] - served_ids.size)


def find_airport(airports: Airports, wanted: str) -> int:
    """Return the number of the airport with this IATA code, or of the only airport with this city or name.

    Examples
    --------
    >>> airports = network().airports
    >>> str(airports.name[find_airport(airports, "lhr")])
    'London Heathrow Airport'
    >>> find_airport(airports, "London")
    Traceback (most recent call last):
    ValueError: airport 'London' could be any of YXU, LTN, LGW, LCY, LHR, STN; expected one of these codes
    """
    text = wanted.strip().casefold()
    for column in (airports.iata, airports.city, airports.name):
        matches = [v for v, value in enumerate(column.tolist()) if text and value.casefold() == text]
        if len(matches) == 1:
            return matches[0]
        if matches:
            several = ", ".join(str(airports.iata[v] or airports.name[v]) for v in matches)
            raise ValueError(f"airport {wanted!r} could be any of {several}; expected one of these codes")
    raise ValueError(f"airport {wanted!r} has no route or does not exist; expected an IATA code such as LHR, or a city")


def shortest_route(matrix: Any, origin: int, destination: int) -> list[Leg]:
    """Return the flights of the route between two airports that is shortest in kilometers.

    The list is empty if there is no route, or if origin and destination are the same.
    """
    distances, parents = gasla.sssp(matrix, origin, parents=True)
    stops = [destination] if np.isfinite(distances[destination]) else [origin]
    while stops[-1] != origin:
        stops.append(int(parents[stops[-1]]))
    stops.reverse()
    return [Leg(u, v, float(distances[v] - distances[u])) for u, v in pairwise(stops)]


def examine(origin: str = NORTHERNMOST, destination: str = SOUTHERNMOST) -> Findings:
    """Analyze the flight network, with the shortest route between two airports, and return all results."""
    flights = network()
    start, end = (find_airport(flights.airports, wanted) for wanted in (origin, destination))
    graph = gasla.Graph(flights.matrix)
    with bar("PageRank"):
        rank = gasla.pagerank(graph, weighted=False).ranks
    with bar("betweenness"):
        betweenness = gasla.betweenness_centrality(graph)
    with bar("components"):
        component = gasla.connected_components(graph).labels
    with bar("shortest routes"):
        level = gasla.bfs(graph, start)
        legs = shortest_route(graph, start, end)
    return Findings(flights, rank, betweenness, component, start, end, level, legs)


def report(findings: Findings, top: int = 10) -> Iterator[str]:
    """Yield the lines of text that `gasla demo` prints. Tables of airports have `top` rows."""
    airports = findings.network.airports
    n = findings.rank.size
    yield f"{n:,} airports and {findings.network.matrix.nnz:,} routes between them, June 2014"
    yield f"({findings.network.without_route:,} more airports have no route). {CREDIT}"
    yield ""
    yield from _report_leaders(airports, findings.rank, findings.betweenness, top)
    yield ""
    yield from _report_route(findings)
    yield ""
    yield from _report_components(airports, findings.component)
    yield ""
    yield from _report_levels(findings)


def _report_leaders(airports: Airports, rank: Array, betweenness: Array, top: int) -> Iterator[str]:
    yield "The most important airports"
    yield f"    {'by PageRank':36}  {'by betweenness (fraction of all shortest paths)'}"
    by_rank, by_betweenness = (np.argsort(-score, kind="stable")[:top] for score in (rank, betweenness))
    for position, (ranked, central) in enumerate(zip(by_rank, by_betweenness), 1):
        left = f"{rank[ranked]:6.2%}  {airports.iata[ranked]}  {airports.city[ranked]}"
        score = betweenness[central]
        yield f"{position:3} {left:36}  {score:6.2%}  {airports.iata[central]}  {airports.city[central]}"


def _report_route(findings: Findings) -> Iterator[str]:
    start, end = (
        f"{findings.network.airports.city[v]} ({_iata_code(findings, v)})"
        for v in (findings.origin, findings.destination)
    )
    if not findings.legs:
        yield (
            f"There is no route from {start} to {end}"
            if findings.origin != findings.destination
            else f"{start} is both origin and destination"
        )
        return
    total = sum(leg.kilometers for leg in findings.legs)
    yield f"The shortest route from {start} to {end}: {total:,.0f} km, {_flight_text(len(findings.legs))}"
    for leg in findings.legs:
        names = (f"{_iata_code(findings, v)} {findings.network.airports.city[v]}" for v in (leg.start, leg.end))
        yield "    {:24} → {:24} {:>7,.0f} km".format(*names, leg.kilometers)
    fewest = int(findings.level[findings.destination])
    if fewest < len(findings.legs):
        yield f"    ({_flight_text(fewest)} are enough on a longer route)"


def _report_components(airports: Airports, component: Array) -> Iterator[str]:
    sizes = np.bincount(component)
    yield f"The network has {sizes.size} connected components"
    for piece in np.argsort(-sizes, kind="stable")[:8]:
        members = airports.city[component == piece]
        names = "the rest of the world" if sizes[piece] > 20 else ", ".join(sorted(set(members.tolist()))[:5])
        yield f"    {sizes[piece]:6,} airports: {names}"


def _report_levels(findings: Findings) -> Iterator[str]:
    yield f"Number of flights from {findings.network.airports.city[findings.origin]}"
    counts = np.bincount(findings.level[findings.level > 0], minlength=2)
    for level, count in enumerate(counts[1:].tolist(), 1):
        airports = "airport " if count == 1 else "airports"
        yield f"    {_flight_text(level):>10}  {count:6,} {airports}  {'█' * round(40 * count / counts.max())}".rstrip()
    unreachable_count = int((findings.level < 0).sum())
    if unreachable_count:
        yield f"    {'never':>10}  {unreachable_count:6,} airports"


def _flight_text(count: int) -> str:
    return "1 flight" if count == 1 else f"{count} flights"


def _iata_code(findings: Findings, v: int) -> str:
    return str(findings.network.airports.iata[v]) or "no code"


def draw_map(findings: Findings, path: str | Path, dpi: int = 150) -> None:
    """Draw a map of the network with the most important airports and the chosen route. This needs Matplotlib."""
    from gasla.demo.worldmap import Captions, Places, draw

    flights, airports = findings.network, findings.network.airports
    tails, heads = flights.matrix.nonzero()
    start, end = np.unique(np.sort(np.stack([tails, heads]), axis=0), axis=1)
    stops = [findings.origin, *(leg.end for leg in findings.legs)] if findings.legs else []
    total = sum(leg.kilometers for leg in findings.legs)
    captions = Captions(
        title="The airports that hold the world together",
        subtitle=f"{findings.rank.size:,} airports and {flights.matrix.nnz:,} routes of June 2014, along great circles",
        size="size: PageRank",
        heat="color: betweenness, fraction of all shortest paths",
        route=f"the shortest route: {' → '.join(airports.city[stops].tolist())}, {total:,.0f} km" if stops else "",
        credit=f"{CREDIT} · drawn by gasla",
    )
    places = Places(airports.longitude, airports.latitude, airports.city, findings.rank, findings.betweenness)
    draw(places, start, end, captions, path, route=stops, dpi=dpi)
