"""Three questions about the world's flights, each answered by products over another semiring.

    python examples/custom_semiring.py [FROM] [TO]

FROM and TO are IATA codes or cities. In a product `gasla.vxm(x, flights, semiring)` each airport combines its incoming
flights: *multiply* combines the value at the start of a flight with the flight, *add* reduces over all flights.
"""

import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import gasla
import semirings
from gasla.demo import airports as demo
from semirings import Monoid, Semiring

Array = np.ndarray[Any, Any]

# 1. The most reliable route: probabilities multiply along a route, and the best route counts. A predefined semiring.
surest = semirings.max_times

# 2. The fastest route: a user-defined multiply. 850 km/h, and 90 minutes on the ground per flight.
quickest = Semiring(semirings.min, lambda hours, kilometers: hours + kilometers / 850 + 1.5, name="quickest")

# 3. The spread of a cold: a user-defined add, the probability that at least one of two independent events happens.
at_least_one = Monoid(lambda x, y: x + y - x * y, identity=0, name="at_least_one")
contagion = Semiring(at_least_one, semirings.binary.times)


def best_values(start: Array, flights: gasla.Graph, semiring: Semiring) -> Array:
    """Repeat products, accumulated into the result, until nothing changes: the best value over routes of any length."""
    best, before = start.copy(), None
    while not np.array_equal(best, before):
        before = best.copy()
        gasla.vxm(best, flights, semiring, accum=semiring.monoid, out=best)
    return best


def route(best: Array, flights: gasla.Graph, semiring: Semiring, origin: int, target: int) -> list[int]:
    """The airports on the best route, from its end: a multiply may also return the index that a value comes from."""
    first = semirings.argmin if semiring.monoid is semirings.min else semirings.argmax
    with_stop = Semiring(first, lambda x, y, i, k, j: (semiring.multiply(x, y), k), name=f"{semiring.name}_stop")
    _, previous = gasla.vxm(best, flights, with_stop)
    stops = [target]
    while stops[-1] != origin:
        stops.append(int(previous[stops[-1]]))
    return stops[::-1]


def days(flights: gasla.Graph, origin: int, count: int) -> Iterator[Array]:
    """The probability that each airport has the cold, day by day; it never ends."""
    chance = np.zeros(flights.n)
    chance[origin] = 1
    for _ in range(count):
        gasla.vxm(chance, flights, contagion, accum=at_least_one, out=chance)
        yield chance.copy()


def with_values(matrix: csr_array, values: Array) -> gasla.Graph:
    """The flights with other values, as a Graph, which caches its columns: every `vxm` after the first is fast."""
    return gasla.Graph(csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape))


def at(place: int, here: float, elsewhere: float, n: int) -> Array:
    """A constant vector, except for one position."""
    values = np.full(n, elsewhere, np.float64)
    values[place] = here
    return values


def main(origin_name: str = demo.NORTHERNMOST, target_name: str = demo.SOUTHERNMOST) -> None:
    """Print the answers."""
    kilometers, airports, _ = demo.network()
    origin, target = (demo.find_airport(airports, name) for name in (origin_name, target_name))
    n = kilometers.shape[0]

    def show(stops: list[int]) -> None:
        legs = [f"{airports.iata[a]} -{kilometers[a, b]:.0f} km- {airports.iata[b]}" for a, b in pairwise(stops)]
        print(f"   {len(legs)} flights: {', '.join(legs)}")

    print(f"From {airports.city[origin]} to {airports.city[target]}")
    on_time = with_values(kilometers, 0.95 * np.exp(-((kilometers.data / 8_000) ** 2)))
    chances = best_values(at(origin, 1, 0, n), on_time, surest)
    if chances[target] == 0:
        raise SystemExit(f"No flights lead from {origin_name} to {target_name}.")
    print(f"\n1. Surest ({surest.name}): all is on time with a chance of {chances[target]:.0%}; long flights are risky")
    show(route(chances, on_time, surest, origin, target))

    flights = with_values(kilometers, kilometers.data)
    hours = best_values(at(origin, 0, np.inf, n), flights, quickest)
    print(f"\n2. Quickest ({quickest.name}, an own multiply): {hours[target]:.1f} hours")
    show(route(hours, flights, quickest, origin, target))

    print(f"\n3. A cold ({contagion.name}, an own add): a route passes it on with a chance of 3% a day")
    history = np.array(list(days(with_values(kilometers, np.full(kilometers.nnz, 0.03)), origin, 120)))
    caught = np.where(history[-1] > 0.5, (history > 0.5).argmax(axis=0) + 1, 0)  # the day, 0 if it did not
    order = np.flatnonzero(caught)[np.argsort(caught[caught > 0], kind="stable")]
    for day in 15, 30, 60, 120:
        latest = [airports.city[v] for v in order[caught[order] <= day][-4:]]
        print(f"   day {day:3}: {history[day - 1].sum():5.0f} airports expected to have it, lately {', '.join(latest)}")
    print(f"   {airports.city[target]}: " + (f"on day {caught[target]}" if caught[target] else "later, or never"))


if __name__ == "__main__":
    main(*sys.argv[1:])
