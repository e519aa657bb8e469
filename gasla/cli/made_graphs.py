"""The commands `nearest-neighbors-graph` and `project`, which make graphs of points or of other graphs."""

from argparse import Namespace
from typing import Any, get_args

import gasla
from gasla.cli import data, text
from gasla.cli.option_values import numbers
from gasla.cli.verbs import descriptions
from gasla.operations.nearest_neighbors import Metric
from gasla.progress import bar

NEAREST = "make the graph in which each point has edges to the k nearest other points"
PROJECT = "project a bipartite graph onto one side: join its vertices that have a common neighbor"


def add_commands(commands: Any) -> None:
    """Add the commands `nearest-neighbors-graph` and `project` to the parser of the command line."""
    output = "file to write; its suffix is the format"
    nearest = commands.add_parser("nearest-neighbors-graph", help=NEAREST, description=NEAREST)
    nearest.add_argument("points", metavar="POINTS", help=".npy or text file with a row of coordinates per point")
    nearest.add_argument("output", metavar="OUT", help=f"{output}; the values are distances")
    sentences = descriptions(gasla.nearest_neighbors_graph)
    nearest.add_argument(
        "--k", type=text.count, default=10, metavar="N", help=f"{sentences['k']} (default: %(default)s)"
    )
    metric = "the distance between points (default: %(default)s)"
    nearest.add_argument("--metric", choices=get_args(Metric), default="euclidean", help=metric)
    nearest.add_argument("--symmetric", action="store_true", help=sentences["symmetric"])
    nearest.set_defaults(run=run_nearest)

    project = commands.add_parser("project", help=PROJECT, description=PROJECT)
    data.add_reading(project)
    project.add_argument("output", metavar="OUT", help=f"{output}; the values are numbers of common neighbors")
    side = "the vertices to keep: those that edges start from, or those that edges end at (default: %(default)s)"
    project.add_argument("--side", choices=("src", "dst"), default="src", help=side)
    project.set_defaults(run=run_project)


def run_nearest(options: Namespace) -> int:
    """Run `gasla nearest-neighbors-graph`, which joins each point to its nearest points. Return the exit code."""
    from gasla import io

    io.format_of(data.check_target(options.output), to_write=True)
    points = numbers(options.points, options.points, "one row per point")
    with bar("computing neighbors"):
        graph = gasla.nearest_neighbors_graph(points, options.k, metric=options.metric, symmetric=options.symmetric)
    return _write_graph(options.output, graph)


def run_project(options: Namespace) -> int:
    """Run `gasla project`, which projects a bipartite graph onto one side. Return the exit code."""
    from gasla import io
    from gasla.graph.io import unstored
    from gasla.graph.io.formats import NAMES_OF_VERTICES

    format = io.format_of(data.check_target(options.output), to_write=True)
    with bar(f"reading {options.graph}"):
        graph = data.load(options).graph
    if NAMES_OF_VERTICES in unstored(graph, format):
        raise ValueError(
            f"{options.output} can't store the names of {options.graph}; expected .csv, .parquet, .npz or .graphml"
        )
    with bar("projecting"):
        is_side = (graph.out_degrees if options.side == "src" else graph.in_degrees) > 0
        projected = gasla.project(graph, is_side if graph.sides is None else ("src", "dst").index(options.side))
    return _write_graph(options.output, projected)


def _write_graph(output: str, graph: Any) -> int:
    """Write a graph to a file, and print its numbers of vertices and edges. Return the exit code."""
    from gasla import io

    with bar(f"writing {output}"):
        io.write(output, graph)
    print(f"wrote {output}: {graph.n:,} vertices, {graph.m:,} edges")
    return 0
