"""The commands `split-edges` and `negative-edges`, which make data for link prediction as tables of edges."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import gasla
from gasla.cli import data, text
from gasla.cli.verbs import descriptions
from gasla.graph.exchange import vertex_table
from gasla.graph.graph import Graph
from gasla.progress import bar

OUTPUT = "table to write, with columns src and dst: .csv, .parquet or .feather"


def add_commands(commands: Any) -> None:
    """Add the commands `split-edges` and `negative-edges` to the parser of the command line."""
    split = commands.add_parser("split-edges", help="split the edges of a graph at random into several tables")
    data.add_reading(split)
    split.add_argument("outputs", nargs="+", metavar="OUT", help=f"{OUTPUT}; one for each fraction")
    fractions = "the fraction of the edges in each table; they add up to 1 (default: %(default)s)"
    split.add_argument("--fractions", default="0.8,0.1,0.1", metavar="X,X,…", help=fractions)
    split.set_defaults(run=run_split)

    negative = commands.add_parser("negative-edges", help="draw pairs of vertices without an edge")
    data.add_reading(negative)
    sentences = descriptions(gasla.negative_edges)
    negative.add_argument("output", metavar="OUT", help=OUTPUT)
    negative.add_argument("--count", type=text.count, required=True, metavar="N", help=sentences["count"])
    negative.set_defaults(run=run_negative)
    for parser in (split, negative):
        parser.add_argument("--seed", type=text.count, default=0, metavar="N", help="seed (default: 0)")


def run_split(options: Namespace) -> int:
    """Run `gasla split-edges`, which writes the edges of a graph to several tables. Return the exit code."""
    targets = [_check_table_path(path) for path in options.outputs]
    try:
        fractions = [float(word) for word in options.fractions.split(",")]
    except ValueError:
        raise ValueError(f"--fractions {options.fractions}: expected numbers, such as 0.8,0.1,0.1") from None
    if len(fractions) != len(targets):
        raise ValueError(f"--fractions {options.fractions}: expected one for each of {len(targets)} output files")
    with bar(f"reading {options.graph}"):
        graph = data.load(options).graph
    with bar("splitting edges"):
        sets = gasla.split_edges(graph, fractions, seed=options.seed)
    src, dst = graph.edges()
    columns = {} if graph.values is None else {"weight": graph.values}
    columns |= {name: column for name, column in graph.edge_attributes.items() if name not in ("src", "dst", "weight")}
    for target, numbers in zip(targets, sets):
        _write_edges(target, graph, src[numbers], dst[numbers], {name: each[numbers] for name, each in columns.items()})
    return 0


def run_negative(options: Namespace) -> int:
    """Run `gasla negative-edges`, which writes pairs of vertices without an edge to a table. Return the exit code."""
    target = _check_table_path(options.output)
    with bar(f"reading {options.graph}"):
        graph = data.load(options).graph
    with bar("drawing pairs"):
        src, dst = gasla.negative_edges(graph, options.count, undirected=options.undirected, seed=options.seed)
    _write_edges(target, graph, src, dst, {})
    return 0


def _check_table_path(path: str) -> Path:
    """Check, before a long computation, that a table can be written to a path. Return the path."""
    return data.check_target(vertex_table.check_file(path))


def _write_edges(target: Path, graph: Graph, src: Any, dst: Any, columns: dict[str, Any]) -> None:
    """Write edges with further columns to a table. Vertices are written by name if they have names."""
    ends = [side if graph.names is None else graph.names[side] for side in (src, dst)]
    with bar(f"writing {target}"):
        vertex_table.write(target, {"src": ends[0], "dst": ends[1], **columns})
    print(f"wrote {target}: {len(src):,} edges")
