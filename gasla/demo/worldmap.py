"""Draw a network of places on a map of the world with Matplotlib, without coastline data.

Each connection is a great circle. All connections are added up in one image, like a long exposure, so that busy regions
glow and a single ocean crossing is a fine line. Continents become visible by themselves. Places are dots with given
size and color. The projection is Equal Earth (Šavrič, Patterson, Jenny, 2018).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gasla.output import replacing

Array = NDArray[Any]
# left, right, bottom and top edge of the map, in coordinates of the map projection
Box = tuple[float, float, float, float]

# The central meridian in degrees. With this one, the left and right edges of the map run through the Bering Strait, so
# that they cut no land.
CENTER = 11.0
SOUTH, NORTH = -59.0, 84.0
WIDTH = 16.0  # width of the picture in inches
NAMED = 46  # maximum number of places whose names are written on the map

SKY, SEA, GRID, TEXT, FAINT, ROUTE = "#05070d", "#080d18", "#1b2738", "#e8eef7", "#8593a8", "#c8ff3d"
LIGHT = ["#080d18", "#0b2036", "#0f4166", "#1e7aa8", "#62c3e0", "#e4fbff"]
HEAT = ["#ff9a3c", "#ff6a3d", "#ff3d6e", "#ff4fd8", "#f9c9ff"]


class Places(NamedTuple):
    """The places of a map. Each array has one entry for each place."""

    longitude: Array
    latitude: Array
    name: Array
    size: Array  # determines the size of the dot
    heat: Array  # determines the color of the dot


class Captions(NamedTuple):
    """The texts that are written around the map, such as its title and legends."""

    title: str
    subtitle: str
    size: str  # what the size of a dot means
    heat: str  # what the color of a dot means
    route: str  # what the highlighted route on the map is
    credit: str


def draw(
    places: Places,
    start: Array,
    end: Array,
    captions: Captions,
    path: str | Path,
    *,
    route: Sequence[int] = (),
    dpi: int = 150,
) -> None:
    """Draw places and the connections `start[i]` - `end[i]` between them, and save the picture.

    Parameters
    ----------
    places : Places
        The places to draw.
    start, end : array of int
        The two places of each connection.
    captions : Captions
        The texts around the map.
    path : str or Path
        Output file; the suffix determines the format.
    route : sequence of int
        Places along a highlighted route.
    dpi : int, default 150
        Pixels per inch; the picture is 16 inches wide.
    """
    figure, axes, box = _new_figure()
    _draw_sea(axes)
    _draw_connections(axes, exposure(places, start, end, round(WIDTH * dpi), box), box)
    _draw_dots(axes, places, np.isin(np.arange(places.size.size), np.r_[start, end]))
    _draw_route(axes, places, route)
    _write_names(figure, axes, places, route)
    _draw_legend(figure, places, captions)
    with replacing(path) as stream:
        figure.savefig(stream, format=picture_format(path), dpi=dpi, facecolor=SKY)


def picture_format(path: str | Path) -> str:
    """Return the picture format that the suffix of a file name stands for.

    Examples
    --------
    >>> picture_format("airports.png")
    'png'
    >>> picture_format("airports.doc")
    Traceback (most recent call last):
    ValueError: airports.doc: unknown picture format; expected a name that ends in one of ...
    """
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    ending = Path(path).suffix.lower()
    if ending.removeprefix(".") not in known:
        raise ValueError(
            f"{path}: unknown picture format; expected a name that ends in one of .{', .'.join(sorted(known))}"
        )
    return ending.removeprefix(".")


def project(longitude: Array, latitude: Array) -> tuple[Array, Array]:
    """Return the Equal Earth coordinates of points, given their longitudes and latitudes in degrees.

    Examples
    --------
    >>> x, y = project(np.array([11.0, 11.0]), np.array([0.0, 90.0]))
    >>> x.round(3), y.round(3)
    (array([0., 0.]), array([0.   , 1.317]))
    """
    t = np.arcsin(np.sqrt(3) / 2 * np.sin(np.radians(latitude)))
    stretch = 1.340264 - 3 * 0.081106 * t**2 + 7 * 0.000893 * t**6 + 9 * 0.003796 * t**8
    x = 2 * np.sqrt(3) / 3 * np.radians(_from_center(longitude)) * np.cos(t) / stretch
    return x, t * (1.340264 - 0.081106 * t**2 + 0.000893 * t**6 + 0.003796 * t**8)


def _from_center(longitude: Array) -> Array:
    """Return longitudes in degrees from the central meridian: -180 at the map's left edge, 180 at its right edge."""
    return (longitude - CENTER + 180) % 360 - 180


def _to_sphere(places: Places) -> Array:
    longitude, latitude = np.radians(places.longitude), np.radians(places.latitude)
    around = np.cos(latitude)
    return np.stack([around * np.cos(longitude), around * np.sin(longitude), np.sin(latitude)], axis=-1)


def _points_on_circles(start: Array, end: Array, at: Array) -> tuple[Array, Array]:
    """Return the longitudes and latitudes of points on great circles.

    `start` and `end` are points on the unit sphere between which the great circles lead. `at` is the position of each
    returned point on its circle, from 0 at the start to 1 at the end.
    """
    angle = np.arccos(np.clip((start * end).sum(axis=-1), -1, 1))[..., None]
    sine = np.maximum(np.sin(angle), 1e-12)
    point = np.sin((1 - at) * angle) / sine * start + np.sin(at * angle) / sine * end
    return np.degrees(np.arctan2(point[..., 1], point[..., 0])), np.degrees(np.arcsin(np.clip(point[..., 2], -1, 1)))


def exposure(places: Places, start: Array, end: Array, width: int, box: Box) -> Array:
    """Return an image in which the brightness of a pixel is the sum over all connections through it.

    Each connection is a great circle, sampled at about two points per pixel. Longer connections are fainter.
    """
    left, right, bottom, top = box
    height = round(width * (top - bottom) / (right - left))
    points = _to_sphere(places)
    arc = np.arccos(np.clip((points[start] * points[end]).sum(axis=1), -1, 1))
    image = np.zeros(width * height)
    previous_longest = -1.0
    # Connections of similar length are drawn together, each with the same number of sample points.
    for samples in 2 ** np.arange(3, 14):
        longest = samples / 2 * (right - left) / width if samples < 8192 else np.inf
        group = np.flatnonzero((arc > previous_longest) & (arc <= longest))
        previous_longest = longest
        at = ((np.arange(samples) + 0.5) / samples)[:, None, None]
        for block in np.array_split(group, 1 + group.size * samples // 2_000_000):
            x, y = project(*_points_on_circles(points[start[block]], points[end[block]], at))
            strength = np.broadcast_to(arc[block] * (0.05 + arc[block]) ** -0.35 / samples, x.shape)
            _add_points(
                image, (x - left) / (right - left) * width, (y - bottom) / (top - bottom) * height, strength, width
            )
    return image.reshape(height, width)


def _add_points(image: Array, x: Array, y: Array, strength: Array, width: int) -> None:
    """Add points to an image. The strength of a point is distributed over the four pixels nearest to it."""
    height = image.size // width
    column, row = np.floor(x - 0.5).astype(int), np.floor(y - 0.5).astype(int)
    right, up = x - 0.5 - column, y - 0.5 - row
    for j, i, share in [
        (column, row, (1 - right) * (1 - up)),
        (column + 1, row, right * (1 - up)),
        (column, row + 1, (1 - right) * up),
        (column + 1, row + 1, right * up),
    ]:
        inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
        image += np.bincount((i * width + j)[inside], (strength * share)[inside], image.size)


def _new_figure() -> tuple[Any, Any, Box]:
    """Return a new Matplotlib figure, the axes of its map, and the coordinates of the map's edges.

    The figure is independent of pyplot, so that no window opens.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    edge, _ = project(np.array([CENTER + 179.999]), np.zeros(1))
    _, ends = project(np.zeros(2), np.array([SOUTH, NORTH]))
    box = (-1.01 * float(edge[0]), 1.01 * float(edge[0]), 1.02 * float(ends[0]), 1.01 * float(ends[1]))
    figure = Figure(figsize=(WIDTH, 8.4))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.01, 0.06, 0.98, 0.86))
    axes.set(xlim=box[:2], ylim=box[2:], aspect="equal")
    axes.axis("off")
    return figure, axes, box


def _draw_sea(axes: Any) -> None:
    """Draw the background of the map, which is the sea with lines of equal latitude and longitude."""
    up = np.linspace(SOUTH, NORTH, 200)
    west, east = CENTER - 179.999, CENTER + 179.999
    axes.fill(*project(np.repeat([west, east], 200), np.r_[up, up[::-1]]), color=SEA, linewidth=0, zorder=0)
    across = np.linspace(west, east, 400)
    for meridian in range(-180, 180, 30):
        axes.plot(*project(np.full(200, float(meridian)), up), color=GRID, linewidth=0.6, zorder=0)
    for parallel in range(-30, 90, 30):
        axes.plot(*project(across, np.full(400, float(parallel))), color=GRID, linewidth=0.6, zorder=0)


def _draw_connections(axes: Any, light: Array, box: Box) -> None:
    """Draw the image `light` of all connections on the map. Brightness is on a logarithmic scale."""
    from matplotlib.colors import LinearSegmentedColormap

    is_lit = light > 0
    if not is_lit.any():
        return
    value = np.log1p(light / np.median(light[is_lit]))
    value /= np.quantile(value[is_lit], 0.9995)
    colors = LinearSegmentedColormap.from_list("light", LIGHT)(np.clip(value, 0, 1))
    colors[..., 3] = np.clip(4 * value, 0, 1)
    axes.imshow(colors, extent=box, origin="lower", interpolation="bilinear", zorder=1, aspect="equal")


def _dot_area(part: Array | float) -> Any:
    """Return the area of a dot in square points. `part` is the size of the dot's place relative to the largest size."""
    return 140 * np.asarray(part) ** 1.3


def _heat_colors(places: Places) -> Any:
    """Return Matplotlib's mapping from the heat of a place to the color of its dot.

    Its scale is a square root, so that small differences near zero are visible.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    top = float(places.heat.max(initial=0)) or 1.0
    return ScalarMappable(PowerNorm(0.5, 0, top), LinearSegmentedColormap.from_list("heat", HEAT))


def _draw_dots(axes: Any, places: Places, joined: Array) -> None:
    """Draw a dot with a halo for each place that has a connection, and a tiny dot for each other place."""
    x, y = project(places.longitude, places.latitude)
    axes.scatter(x[~joined], y[~joined], s=0.25, color="#3a4a63", linewidth=0, zorder=1)
    order = np.flatnonzero(joined)[np.argsort(places.size[joined])]
    area = _dot_area(places.size[order] / places.size.max())
    color = _heat_colors(places).to_rgba(places.heat[order])
    axes.scatter(x[order], y[order], s=3 * area, color=color, alpha=0.12, linewidth=0, zorder=3)
    axes.scatter(x[order], y[order], s=area, color=color, alpha=0.9, linewidth=0.3, edgecolor=SKY, zorder=4)


def _draw_route(axes: Any, places: Places, route: Sequence[int]) -> None:
    """Draw the highlighted route on the map, with a ring at each stop."""
    points = _to_sphere(places)
    for start, end in pairwise(route):
        curve = _points_on_circles(points[start], points[end], np.linspace(0, 1, 400)[:, None])
        for piece in _split_at_map_edges(*curve):
            for width, alpha in [(9, 0.08), (5, 0.15), (1.8, 1.0)]:
                axes.plot(*piece, color=ROUTE, linewidth=width, alpha=alpha, solid_capstyle="round", zorder=5)
    stops = np.array(route, int)
    x, y = project(places.longitude[stops], places.latitude[stops])
    axes.scatter(x, y, s=26, color=SKY, edgecolor=ROUTE, linewidth=1.6, zorder=6)


def _split_at_map_edges(longitude: Array, latitude: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the parts of a curve in map coordinates.

    The curve is cut where it leaves the map at the left or right edge and reenters at the other edge.
    """
    cuts = 1 + np.flatnonzero(np.abs(np.diff(_from_center(longitude))) > 180)
    for piece in np.split(np.arange(longitude.size), cuts):
        yield project(longitude[piece], latitude[piece])


def _write_names(figure: Any, axes: Any, places: Places, route: Sequence[int]) -> None:
    """Write the names of the route's stops and of the most important places, so that no two names overlap.

    Of the free positions around a place, the one that hides the fewest large dots is chosen.
    """
    x, y = project(places.longitude, places.latitude)
    order = np.argsort(-_importance(places), kind="stable")
    dots = axes.transData.transform(np.stack([x, y], axis=1)[order[:60]])
    boxes: list[Any] = []
    named_places: list[int] = []
    for v in map(int, [*route, *order]):
        too_near = np.hypot(x[named_places] - x[v], y[named_places] - y[v]).min(initial=9.0) < 0.05
        if len(named_places) >= NAMED:
            return
        if v in named_places or (too_near and v not in route):
            continue
        distance = 4 + 6 * float(places.size[v] / places.size.max())
        choices: list[tuple[int, int, Any, Any]] = []
        for side, vertical in [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)]:
            text = _write_name(axes, places.name[v], (x[v], y[v]), (side, vertical), distance, v in route)
            box = text.get_window_extent(figure.canvas.get_renderer()).expanded(1.04, 1.1)
            if any(box.overlaps(other) for other in boxes):
                text.remove()
            else:
                hidden = ((dots > box.min) & (dots < box.max)).all(axis=1).sum()
                choices.append((hidden, len(choices), text, box))
        for _, _, text, _ in sorted(choices)[1:]:
            text.remove()
        if choices:
            boxes.append(min(choices)[3])
            named_places.append(v)


def _importance(places: Places) -> Array:
    """Return how important each place is, so that the most important places get their names written.

    The importance is the size of the place's dot plus its heat, each relative to the largest.
    """
    return places.size / places.size.max() + places.heat / (places.heat.max() or 1)


def _write_name(
    axes: Any, name: Any, at: tuple[float, float], towards: tuple[int, int], away: float, on_route: bool
) -> Any:
    from matplotlib.patheffects import withStroke

    side, lift = towards
    return axes.annotate(
        str(name),
        at,
        (side * away, lift * away),
        textcoords="offset points",
        ha=("center", "left", "right")[side],
        va=("center", "bottom", "top")[lift],
        color=ROUTE if on_route else TEXT,
        fontsize=10 if on_route else 8.5,
        weight="bold" if on_route else "normal",
        path_effects=[withStroke(linewidth=2.5, foreground=SKY, alpha=0.85)],
        zorder=7,
    )


def _draw_legend(figure: Any, places: Places, captions: Captions) -> None:
    """Write the texts around the map, and draw the legends of sizes and colors."""
    from matplotlib.lines import Line2D

    figure.text(0.02, 0.955, captions.title, color=TEXT, fontsize=20, weight="bold", va="center")
    figure.text(0.02, 0.918, captions.subtitle, color=FAINT, fontsize=11, va="center")
    figure.text(0.02, 0.022, captions.route, color=ROUTE, fontsize=10, va="center")
    figure.text(0.985, 0.022, captions.credit, color=FAINT, fontsize=9, ha="right", va="center")

    largest, hottest = float(places.size.max()), float(places.heat.max())
    dots = [
        Line2D(
            [],
            [],
            marker="o",
            linestyle="",
            color=HEAT[0],
            markersize=_dot_area(part) ** 0.5,
            label=f"{part * largest:.1%}",
        )
        for part in (1.0, 0.5, 0.2)
    ]
    figure.text(0.02, 0.165, captions.size, color=FAINT, fontsize=9)
    figure.legend(
        handles=dots,
        loc="lower left",
        bbox_to_anchor=(0.014, 0.125),
        ncols=3,
        frameon=False,
        labelcolor=FAINT,
        fontsize=8,
        borderaxespad=0,
    )
    bar = figure.add_axes((0.02, 0.075, 0.14, 0.012))
    scale = figure.colorbar(_heat_colors(places), cax=bar, orientation="horizontal")
    scale.outline.set_visible(False)
    scale.set_ticks([0, hottest / 4, hottest], labels=["0", f"{hottest / 4:.1%}", f"{hottest:.1%}"])
    bar.tick_params(colors=FAINT, labelsize=8, length=0)
    bar.set_title(captions.heat, color=FAINT, fontsize=9, loc="left", pad=4)
