"""Draw: a picture of a graph with Matplotlib. Few edges are lines; of many, an image shows the density.

The image adds up points along a sample of the edges, so that its memory and time do not grow with the graph. A point
stands for a part of its edge, and its weight is the length of that part.
"""

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from gasla.algorithms.drawing.layout import layout
from gasla.arrays import array_module, moved
from gasla.graph.arguments import MOST_SEED, check_flags, real_number, several_vertices, whole_number
from gasla.graph.exchange.vertex_table import columns_of
from gasla.graph.graph import Graph, whole_graph
from gasla.rows import Row

Array = np.ndarray[Any, Any]  # a NumPy array

MOST_LINES = 40_000  # largest number of stored edges that are drawn as lines
MOST_SAMPLED = 1_000_000  # largest number of edges from which the image of a density is computed; more are sampled
MOST_POINTS = 10_000_000  # largest number of points along edges from which the image of a density is computed
MOST_DOTS = 50_000  # largest number of vertices that are drawn
MOST_BANDS = 200  # largest number of bands of scores, so that each band has a color of its own
PIXELS = 1000  # number of pixels along the longer side of an image that shows the density of edges
AT_ONCE = 1 << 20  # approximate number of points along edges that are in memory at once, while a density is computed
LARGEST_AREA = 250.0  # area of the vertex with the largest size, in square points
GRAY, MISSING = "0.45", "0.75"  # colors of edges, and of vertices whose score is not finite
LOOP_RADIUS = 0.015  # radius of the circle of a self loop, as a fraction of the picture's size


def draw(
    graph: Any,
    positions: Any = None,
    *,
    ax: Any = None,
    color: Any = None,
    size: Any = None,
    bands: Sequence[float] | None = None,
    labels: Any = None,
    arrows: bool = False,
    cmap: Any = "viridis",
    seed: int = 0,
) -> Any:
    """Draw a graph with Matplotlib: vertices by score, the most important ones named, edges as lines or as a density.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Edges are drawn without their values; two edges between the same vertices are one line.
    positions : (n, 2) array, or two names of vertex attributes, optional
        Where the vertices are, such as ``("longitude", "latitude")``; by default `layout` places them. A vertex whose
        position is not finite is left out.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.
    color : (n,) array of numbers, a result with one, the name of a vertex attribute, or a color, optional
        The score that colors each vertex, or one color for all. Vertices whose score is not finite are gray.
    size : (n,) array of numbers, a result with one, the name of a vertex attribute, or a number, optional
        The score that the area of each vertex grows with, or the area of all in square points.
    bands : sequence of numbers, optional
        Limits between scores that have different colors, ascending, such as ``[5, 10, 15]`` minutes for isochrones: all
        scores from one limit up to the next have one color. Only where `color` is a score.
    labels : int, several vertices, or mapping of vertices to texts, optional
        How many of the most important vertices are labeled with their names, or numbers in a graph without names; or
        which vertices; or which vertices with which texts. By default ten, with `bands` none. The most important
        vertices have the largest `size`; without sizes, the largest `color` if that is floating-point; else the most
        edges.
    arrows : bool
        Whether lines have arrowheads. Only where edges are drawn as lines.
    cmap : str or matplotlib.colors.Colormap
        The colors for scores.
    seed : int
        For `layout`, for the sample of a density, and for the choice and order of vertices without sizes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, without frame. Its last collection has the vertices: ``ax.figure.colorbar(ax.collections[-1])``.

    Raises
    ------
    TypeError, ValueError
        If an argument does not fit the graph, no vertex attribute has a name, or arrows are asked for on a density.
    ImportError
        If Matplotlib is missing.

    See Also
    --------
    layout : The positions alone, for other libraries.

    Notes
    -----
    A graph of more than 40,000 stored edges is drawn as a density: an image of the length of edges per pixel, on a
    logarithmic scale, made of at most a million edges at random. Of more than 50,000 vertices those of the largest
    sizes are drawn, the largest on top. A color is no importance: without sizes, vertices are chosen and put on top of
    each other at random, so that low scores are seen as well as high ones; with `bands` those below the last limit come
    first. Labeled vertices are always drawn. The title states omitted edges and vertices. Loops are circles, and are
    not part of a density.

    Drawing takes a few seconds for a graph of any size. `layout` takes longer: it looks at every edge, many times.

    Examples
    --------
    >>> import gasla, networkx as nx
    >>> from matplotlib.figure import Figure
    >>> flights = gasla.Graph.from_networkx(nx.DiGraph([("OSL", "FCO"), ("FCO", "CGN"), ("OSL", "CGN")]))
    >>> ax = gasla.draw(flights, ax=Figure().subplots(), color=gasla.pagerank(flights), labels=2)
    >>> [text.get_text() for text in ax.texts]
    ['CGN', 'FCO']
    >>> ax.figure.savefig("flights.png")  # doctest: +SKIP
    """
    graph = whole_graph(graph)
    Axes, mapping = _import_matplotlib(cmap)
    if ax is not None and not isinstance(ax, Axes):
        raise TypeError(f"ax is {reprlib.repr(ax)}; expected Matplotlib's axes, such as those of plt.subplots()")
    check_flags(arrows=arrows)
    if arrows and graph.m > MOST_LINES:
        raise ValueError(
            f"arrows is True, but {graph.m:,} edges are drawn as a density; expected {MOST_LINES:,} at most"
        )
    seed = whole_number("seed", seed, MOST_SEED)
    colors = _vertex_colors(graph, color)
    norm = _band_norm(bands, colors, mapping)
    areas = _vertex_areas(graph, size)
    has_sizes = size is not None and not isinstance(size, Real)
    labels = (10 if bands is None else 0) if labels is None else labels
    texts = _label_texts(graph, labels, areas if has_sizes else _label_importance(graph, colors))
    vertex_positions = _vertex_positions(graph, positions, seed)

    ax = _new_axes() if ax is None else ax
    random = np.random.default_rng(seed)
    sentences = _draw_edges(ax, graph, vertex_positions, arrows, random)
    importance = random.random(graph.n) + (0 if norm is None else colors < norm.vmax)
    order = _drawing_order(vertex_positions, areas if has_sizes else importance, list(texts))
    sentences += _draw_vertices(ax, vertex_positions, order, colors, areas, {"cmap": mapping, "norm": norm})
    _write_labels(ax, vertex_positions, texts, areas)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if sentences:
        ax.set_title("; ".join(sentences), loc="left", fontsize=9)
    return ax


# --- arguments: check them, and convert them to arrays and texts ------------------------------------------------------


def _import_matplotlib(cmap: Any) -> tuple[Any, Any]:
    """Import Matplotlib, and return its class of axes and the colormap that `cmap` names.

    Vertices whose score is not finite get the color `MISSING`.
    """
    try:
        from matplotlib.axes import Axes
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Colormap
    except ImportError:
        raise ImportError("gasla.draw needs Matplotlib: pip install 'gasla[plot]'") from None
    if not isinstance(cmap, str | Colormap):
        raise TypeError(f"cmap is {reprlib.repr(cmap)}; expected the name of a colormap, or a Colormap")
    return Axes, ScalarMappable(cmap=cmap).get_cmap().with_extremes(bad=MISSING)


def _new_axes() -> Any:
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(8, 8), layout="constrained")[1]


def _vertex_colors(graph: Graph, colors: Any) -> Any:
    """Return the argument `color` of `draw` as a number for each vertex, or as one color for all vertices."""
    from matplotlib.colors import is_color_like

    if colors is None:
        return "C0"
    if isinstance(colors, str) and colors not in graph.vertex_attributes and is_color_like(colors):
        return colors
    return _vertex_scores(graph, "color", colors)


def _vertex_areas(graph: Graph, size: Any) -> Array:
    """Return the area of each vertex's dot in square points, from the argument `size` of `draw`."""
    default_area = min(max(5_000 / max(graph.n, 1), 0.5), 60.0)
    if size is None:
        return np.full(graph.n, default_area)
    if isinstance(size, Real):
        return np.full(graph.n, real_number("size", size))
    scores = _vertex_scores(graph, "size", size)
    scores = np.where(np.isfinite(scores), np.maximum(scores, 0), 0)
    scores = scores / max(float(scores.max(initial=0)), np.finfo(float).tiny)
    smallest = min(default_area, 4.0)
    return smallest + (LARGEST_AREA - smallest) * scores


def _vertex_scores(graph: Graph, name: str, scores: Any) -> Array:
    """Return the argument `name`, an array or the name of a vertex attribute, as a number for each vertex, in host
    memory.
    """
    if isinstance(scores, str):
        graph.vertex_attributes.require(scores)
        scores = graph.vertex_attributes.numbers(scores)
    fields = columns_of(graph.n, None, (), {name: scores})
    del fields["vertex"]
    if len(fields) > 1:
        field_names = ", ".join(field.removeprefix(f"{name}_") for field in fields)
        raise ValueError(f"{name} is a {type(scores).__name__} with {field_names}; expected one of these")
    (values,) = fields.values()
    if values.dtype.kind not in "biuf":
        remedy = "np.unique(values, return_inverse=True)[1] numbers them"
        raise TypeError(f"{name} holds values of type {values.dtype}; expected numbers: {remedy}")
    return values if values.dtype.kind != "b" else values.astype(np.int8)


def _band_norm(bands: Any, colors: Any, mapping: Any) -> Any:
    """Return Matplotlib's map from scores of vertices to colors, in which each band of scores has one color.

    `bands` is the argument of `draw`, the bounds of the bands. If it is None, return None.
    """
    from matplotlib.colors import BoundaryNorm

    if bands is None:
        return None
    if isinstance(colors, str):
        raise ValueError("bands are given, but color is no score of each vertex; expected both or neither")
    if isinstance(bands, str) or not hasattr(bands, "__iter__"):
        raise TypeError(f"bands is {reprlib.repr(bands)}; expected several ascending numbers, such as [5, 10, 15]")
    limits = np.array([real_number(f"bands[{k}]", limit, -np.inf) for k, limit in enumerate(bands)], np.float64)
    if not 2 <= len(limits) <= MOST_BANDS or (np.diff(limits) <= 0).any():
        raise ValueError(f"bands is {reprlib.repr(bands)}; expected 2 to {MOST_BANDS} ascending numbers")
    finite = colors[np.isfinite(colors)]
    has_values_below, has_values_above = bool((finite < limits[0]).any()), bool((finite >= limits[-1]).any())
    extensions = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    return BoundaryNorm(limits, mapping.N, extend=extensions[has_values_below, has_values_above])  # type: ignore[arg-type]


def _label_importance(graph: Graph, colors: Any) -> Array:
    """Return a score for each vertex of a drawing, by which the most important vertices get labels, if vertices have no
    sizes.

    It is the score that gives the color, if this is a float, and otherwise the degree.
    """
    if not isinstance(colors, str) and colors.dtype.kind == "f":
        return np.where(np.isfinite(colors), colors, -np.inf)
    return np.asarray(moved(graph.out_degrees, "cpu") + moved(graph.in_degrees, "cpu"), np.float64)


def _label_texts(graph: Graph, labels: Any, importance: Array) -> dict[int, str]:
    """Return a dict from each vertex that gets a label to the text of the label."""
    if isinstance(labels, Mapping):
        vertices = several_vertices(graph, "labels", [*labels], "vertex")
        return dict(zip(vertices, map(str, labels.values())))
    if isinstance(labels, str) or hasattr(labels, "__iter__"):
        vertices = several_vertices(graph, "labels", labels, "vertex")
    else:
        count = whole_number("labels", labels)
        vertices = np.argsort(-importance, kind="stable")[:count].tolist()
    return {v: str(graph.name(v)) for v in vertices}


def _vertex_positions(graph: Graph, positions: Any, seed: int) -> Array:
    """Return the argument `positions` as an (n, 2) array in host memory, with NaN for vertices without a position.

    If it is None, positions are computed by `layout`.
    """
    if positions is None:
        return np.asarray(moved(layout(graph, seed=seed), "cpu"))
    if isinstance(positions, list | tuple) and len(positions) == 2 and all(isinstance(name, str) for name in positions):
        for name in positions:
            graph.vertex_attributes.require(name)
        positions = np.stack([moved(graph.vertex_attributes.numbers(name), "cpu") for name in positions], axis=1)
    try:
        array = np.asarray(moved(positions, "cpu"))
    except ValueError:  # NumPy refuses rows of unequal lengths, which the check of the shape reports
        array = np.asarray(None)
    expectation = f"expected ({graph.n}, 2), a row x, y for each vertex, or the names of two vertex attributes"
    if array.shape != (graph.n, 2):
        shape = f"have shape {array.shape}" if array.ndim else f"are {reprlib.repr(positions)}"
        hint = "; np.transpose makes these" if array.shape == (2, graph.n) else ""
        raise ValueError(f"positions {shape}; {expectation}{hint}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"positions hold values of type {array.dtype}; {expectation}")
    array = array.astype(np.float64)
    return np.where(np.isfinite(array).all(axis=1)[:, None], array, np.nan)


# --- edges: draw them as lines, or if there are many, as an image of their density ------------------------------------


def _draw_edges(ax: Any, graph: Graph, vertex_positions: Array, arrows: bool, random: np.random.Generator) -> list[str]:
    """Draw the edges.

    Return sentences for the title that say how many edges an image of a density shows, if it is one.
    """
    has_place = np.isfinite(vertex_positions[:, 0])
    src, dst = _sampled(graph, random)
    count = len(src)
    is_visible = has_place[src] & has_place[dst]
    src, dst = src[is_visible], dst[is_visible]
    if graph.m <= MOST_LINES:
        _draw_lines(ax, vertex_positions, src, dst, arrows)
        return []
    smallest_corner, largest_corner = (
        vertex_positions[has_place].min(axis=0, initial=np.inf),
        vertex_positions[has_place].max(axis=0, initial=-np.inf),
    )
    if len(src):
        _show_density(
            ax,
            density(vertex_positions, src, dst, smallest_corner, largest_corner, random),
            smallest_corner,
            largest_corner,
        )
    return [f"{count:,} of {graph.m:,} edges, as a density" if count < graph.m else f"{count:,} edges as a density"]


def _sampled(graph: Graph, random: np.random.Generator) -> tuple[Array, Array]:
    """Return the tails and heads of the edges to draw: all, or a random sample if there are more than `MOST_SAMPLED`.

    For the sample, the adjacency lists are cut into slices of equal length, and one random edge of each is taken.
    """
    if graph.m <= MOST_SAMPLED:
        src, dst = graph.edges()
    else:
        numbers = np.arange(MOST_SAMPLED) + random.random(MOST_SAMPLED)
        numbers = (numbers * (graph.m / MOST_SAMPLED)).astype(np.int64)
        sampled = moved(np.minimum(numbers, graph.m - 1), graph.device)
        out = graph.out
        src, dst = array_module(sampled).searchsorted(out.indptr, sampled, side="right") - 1, out.indices[sampled]
    return moved(src, "cpu"), moved(dst, "cpu")


def _draw_lines(ax: Any, vertex_positions: Array, src: Array, dst: Array, arrows: bool) -> None:
    """Draw one line for each pair of adjacent vertices, as one collection of Matplotlib. Self loops are circles."""
    from matplotlib.collections import LineCollection

    edge_endpoints = np.stack([src, dst], axis=1) if arrows else np.sort(np.stack([src, dst], axis=1), axis=1)
    edge_endpoints = np.unique(edge_endpoints, axis=0)
    is_loop = edge_endpoints[:, 0] == edge_endpoints[:, 1]
    lines: list[Any] = [*vertex_positions[edge_endpoints[~is_loop]]]
    if is_loop.any():
        radius = LOOP_RADIUS * (
            float(np.nanmax(np.ptp(vertex_positions[np.isfinite(vertex_positions[:, 0])], axis=0))) or 1.0
        )
        angles = np.linspace(-np.pi / 2, 3 * np.pi / 2, 33)
        circle = radius * np.stack([np.cos(angles), 1 + np.sin(angles)], axis=1)
        lines += [vertex_positions[v] + circle for v in edge_endpoints[is_loop, 0]]
    alpha = min(0.6, 15 / max(len(lines), 1) ** 0.5)
    ax.add_collection(LineCollection(lines, colors=GRAY, linewidths=0.7, alpha=alpha, zorder=1))
    if arrows and not is_loop.all():
        start, end = vertex_positions[edge_endpoints[~is_loop, 0]], vertex_positions[edge_endpoints[~is_loop, 1]]
        directions = end - start
        directions /= np.maximum(np.hypot(*directions.T), np.finfo(float).tiny)[:, None]
        middle = start + 0.6 * (end - start)
        head = {"headwidth": 6, "headlength": 8, "headaxislength": 8, "minshaft": 1, "pivot": "mid", "width": 0.012}
        units = {"angles": "xy", "units": "inches", "scale_units": "inches", "scale": 10}
        ax.quiver(*middle.T, *directions.T, color=GRAY, zorder=2, **units, **head)


def density(placed: Array, src: Array, dst: Array, low: Array, high: Array, random: np.random.Generator) -> Array:
    """Return an image of the density of edges: the total length of edges in each pixel, with row 0 at the bottom.

    The image shows the box from `low` to `high`. Lengths are in pixels.
    """
    pixel = max(float((high - low).max()), np.finfo(float).tiny) / PIXELS
    width, height = (int(extent) + 1 for extent in (high - low) / pixel)
    start, end = (placed[src] - low) / pixel, (placed[dst] - low) / pixel
    lengths = np.hypot(*(end - start).T)
    counts = np.ceil(lengths * min(1.0, MOST_POINTS / max(float(lengths.sum()), 1.0))).astype(np.int64)
    image = np.zeros(width * height)
    for batch in _point_batches(counts):
        count = counts[batch]
        edge = np.repeat(np.arange(batch.start, batch.stop), count)
        point_of_edge = np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count)
        fraction = ((point_of_edge + random.random(len(edge))) / counts[edge])[:, None]
        column, row = (start[edge] * (1 - fraction) + end[edge] * fraction).astype(np.int64).T
        cell = np.clip(row, 0, height - 1) * width + np.clip(column, 0, width - 1)
        image += np.bincount(cell, lengths[edge] / counts[edge], width * height)
    return image.reshape(height, width)


def _point_batches(counts: Array) -> Iterator[slice]:
    """Yield slices of the edges, each with about `AT_ONCE` points along its edges, so that the memory for points is
    bounded.

    `counts` has the number of points along each edge.
    """
    point_totals = np.cumsum(counts)
    cuts = np.searchsorted(point_totals, np.arange(AT_ONCE, int(point_totals[-1]) if len(point_totals) else 0, AT_ONCE))
    bounds = np.unique(np.concatenate([[0], cuts, [len(counts)]]))
    return (slice(int(batch_start), int(batch_end)) for batch_start, batch_end in pairwise(bounds))


def _show_density(ax: Any, image: Array, smallest_corner: Array, largest_corner: Array) -> None:
    """Show an image of the density of edges on the axes, in gray on a logarithmic scale."""
    is_drawn = image > 0
    shade = np.log1p(image / max(float(np.median(image[is_drawn])), 1e-300)) if is_drawn.any() else image
    darkest = max(float(np.quantile(shade[is_drawn], 0.99)), 1e-300) if is_drawn.any() else 1.0
    pixels = np.zeros((*image.shape, 4))
    pixels[..., :3] = float(GRAY)
    pixels[..., 3] = np.minimum(shade / darkest, 1)
    pixel = (float((largest_corner - smallest_corner).max()) or 1.0) / PIXELS
    right_edge, top = smallest_corner + np.array(image.shape[::-1]) * pixel
    ax.imshow(pixels, extent=(smallest_corner[0], right_edge, smallest_corner[1], top), origin="lower", zorder=1)


# --- vertices: draw the most important ones, and write their labels ---------------------------------------------------


def _drawing_order(vertex_positions: Array, importance: Array, labeled: list[int]) -> Array:
    """Return the vertices to draw, in ascending order of importance, so that the most important one is drawn on top.

    At most `MOST_DOTS` are returned: vertices with labels, and then the most important ones.
    """
    importance = np.where(np.isfinite(vertex_positions[:, 0]), importance, -1)
    is_labeled = np.zeros(len(vertex_positions), bool)
    is_labeled[labeled] = True
    order = np.lexsort((importance, is_labeled))[-MOST_DOTS:]
    order = order[importance[order] >= 0]
    return order[np.argsort(importance[order], kind="stable")]


def _draw_vertices(
    ax: Any, vertex_positions: Array, order: Array, colors: Any, areas: Array, scale: Mapping[str, Any]
) -> list[str]:
    """Draw a dot for each vertex, in the order `order`.

    Return sentences for the title that say how many vertices are left out, if any.
    """
    is_score = not isinstance(colors, str)
    if is_score and np.isfinite(colors[order]).any():
        options = {"c": colors[order].astype(np.float64), "plotnonfinite": True, **scale}
    else:
        options = {"color": MISSING if is_score else colors}
    ax.scatter(*vertex_positions[order].T, s=areas[order], linewidths=0, zorder=3, **options)
    placed_count = int(np.isfinite(vertex_positions[:, 0]).sum())
    sentences = [f"{len(order):,} of {placed_count:,} vertices"] if len(order) < placed_count else []
    unplaced_count = len(vertex_positions) - placed_count
    return sentences + [f"vertices without a position, left out: {unplaced_count:,}"] * bool(unplaced_count)


def _write_labels(ax: Any, positions: Array, texts: Mapping[int, str], areas: Array) -> None:
    """Write the text of each labeled vertex above the vertex."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2, foreground="white")]
    for v, text in texts.items():
        if np.isfinite(positions[v, 0]):
            rise = 1 + (areas[v] / np.pi) ** 0.5
            ax.annotate(
                text, positions[v], (0, rise), textcoords="offset points", ha="center", va="bottom", fontsize=8,
                zorder=4, path_effects=halo, parse_math=False,
            )  # fmt: skip


ROW = Row(
    draw,
    method="density of lines on a grid of pixels: Datashader; no paper",
    longer="Matplotlib draws lines or an image on the CPU.",
)  # no `Command` here: gasla/cli has the command, which writes a picture
