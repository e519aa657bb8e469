"""The most important airports of the world, on a map (needs Matplotlib).

    python examples/airport_map.py [FROM] [TO] [PICTURE]

FROM and TO are IATA codes or cities; the shortest route between them is highlighted. `gasla demo` does the same; see
gasla/demo/airports.py for the algorithms and gasla/demo/worldmap.py for the drawing.
"""

import sys

from gasla.demo import airports as demo


def main(origin: str = demo.NORTHERNMOST, destination: str = demo.SOUTHERNMOST, picture: str = "airports.png") -> None:
    """Print the report and draw the map."""
    found = demo.examine(origin, destination)
    print("\n".join(demo.report(found)))
    demo.draw_map(found, picture)
    print(f"\nThe map is in {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
