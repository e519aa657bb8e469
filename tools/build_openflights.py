"""Build gasla/data/openflights_*.csv.xz from the tables that OpenFlights publishes.

    python tools/build_openflights.py AIRPORTS.DAT ROUTES.DAT

Input: data/airports.dat and data/routes.dat of https://github.com/jpatokal/openflights. Output for each airport: name,
city, country, IATA code (empty if there is none), latitude and longitude with six decimals. Routes become distinct
pairs of airports, numbered from 0 in the order of the table. Routes without two airports of the table are left out.
"""

import csv
import io
import lzma
import sys
from collections.abc import Iterable
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "gasla" / "data"


def rows(path: str) -> list[list[str]]:
    """Return the fields of every line."""
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream, doublequote=False, escapechar="\\"))


def write(name: str, table: Iterable[Iterable[object]]) -> None:
    """Write one compressed table with a header."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    packed = lzma.compress(text.getvalue().encode(), preset=9 | lzma.PRESET_EXTREME)
    (DATA / name).write_bytes(packed)
    print(f"{DATA / name}: {len(packed)} bytes")


def main(airports_path: str, routes_path: str) -> None:
    """Read both tables, write both."""
    airports, routes = rows(airports_path), rows(routes_path)
    number = {line[0]: i for i, line in enumerate(airports)}
    pairs = {(number[line[3]], number[line[5]]) for line in routes if line[3] in number and line[5] in number}
    kept = [
        [name, city, country, iata if len(iata) == 3 else "", f"{float(latitude):.6f}", f"{float(longitude):.6f}"]
        for _, name, city, country, iata, _, latitude, longitude, *_ in airports
    ]
    write("openflights_airports.csv.xz", [["name", "city", "country", "iata", "latitude", "longitude"], *kept])
    write("openflights_routes.csv.xz", [["from", "to"], *sorted(pairs)])


if __name__ == "__main__":
    main(*sys.argv[1:])
