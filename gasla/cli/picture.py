"""The command `gasla draw`, which draws a graph with answers of algorithms as colors and sizes of vertices."""

from argparse import Namespace
from typing import Any

import numpy as np

import gasla
from gasla.cli import compute, data, text
from gasla.cli.answer_table import chosen, columns_of
from gasla.graph.exchange.vertex_names import Names
from gasla.output import replacing
from gasla.progress import bar


def add_commands(commands: Any) -> None:
    """Add the command `draw` to the parser of the command line."""
    help_text = "draw a graph: vertices by the answers of algorithms, edges as lines or as a density"
    parser = commands.add_parser("draw", help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.")
    data.add_reading(parser)
    parser.add_argument("--output", "-o", metavar="FILE", required=True, help="the picture: .png, .svg or .pdf")
    positions_help = "two attributes of the vertices, such as longitude,latitude (default: by layout)"
    parser.add_argument("--positions", metavar="X,Y", help=positions_help)
    score_help = "a vertex attribute, or a command with one value per vertex, such as pagerank; a beginning will do"
    parser.add_argument("--color", metavar="SCORE", help=f"score that colors vertices: {score_help}")
    parser.add_argument("--size", metavar="SCORE", help="score that the area of vertices grows with, as for --color")
    bands_help = "limits between scores that have different colors, such as 5,10,15"
    parser.add_argument("--bands", metavar="LIMITS", help=bands_help)
    labels_help = "number of the most important vertices to name (default: 10; with --bands none)"
    parser.add_argument("--labels", type=text.count, metavar="N", help=labels_help)
    parser.add_argument("--arrows", action="store_true", help="show directions; only where edges are lines")
    parser.add_argument("--seed", type=text.count, default=0, metavar="N", help="seed of the layout (default: 0)")
    compute.add_device(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Run `gasla draw`: read the graph, compute the scores, draw and write the picture. Return the exit code."""
    target = data.check_picture(options.output, "gasla draw")
    positions = None if options.positions is None else tuple(options.positions.split(","))
    if positions is not None and len(positions) != 2:
        raise ValueError(f"--positions {options.positions}: expected two vertex attributes, as in --positions x,y")
    bands = None if options.bands is None else [_number("--bands", word) for word in options.bands.split(",")]
    compute.use_device(options.device, options.threads)
    with bar(f"reading {options.graph}"):
        named = with_places(data.load(options))
    if positions is not None:
        for attribute in positions:
            named.graph.vertex_attributes.require(attribute)
    score_names = {part: getattr(options, part) for part in ("color", "size")}
    verbs = {name: chosen(name) for name in score_names.values() if name and name not in named.graph.vertex_attributes}
    scores: dict[Any, Any] = {}
    for name, verb in verbs.items():
        with bar(f"computing {verb.name}"):
            scores[name] = next(iter(columns_of(verb, named, options.device).values()))
    with bar(f"drawing {options.graph}"):
        figure, ax = canvas()
        graph = named.graph.to(options.device)
        drawing_options: dict[str, Any] = {part: scores.get(name, name) for part, name in score_names.items()}
        drawing_options |= {"bands": bands, "labels": options.labels, "arrows": options.arrows, "seed": options.seed}
        gasla.draw(graph, positions, ax=ax, **drawing_options)
        with replacing(target) as stream:
            figure.savefig(stream, format=target.suffix[1:].lower(), dpi=150, bbox_inches="tight")
    caption = ax.get_title(loc="left")
    print(f"wrote {target}: {graph.n:,} vertices, {graph.m:,} edges{f' ({caption})' * bool(caption)}")
    return 0


def _number(option: str, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"{option} has {word!r}; expected numbers, as in {option} 5,10,15") from None


def canvas() -> tuple[Any, Any]:
    """Return a new Matplotlib figure and its axes. pyplot does not know the figure, so it opens no window for the
    figure and does not keep it.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 10), layout="constrained")
    return figure, figure.subplots()


def with_places(named: data.Named) -> data.Named:
    """Return the included graph of airports with the airports' codes as vertex names and their coordinates as
    attributes.

    Return any other graph as it is.
    """
    if (airports := named.airports) is None:
        return named
    graph = named.graph.with_vertex_attributes(longitude=airports.longitude, latitude=airports.latitude)
    graph.naming = Names(np.where(airports.iata == "", airports.name, airports.iata))
    return named._replace(graph=graph)
