"""The commands that run no algorithm, which are `info`, `generate`, `convert`, `demo` and `warm`."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gasla.cli import data, text
from gasla.progress import bar

FAMILIES = {
    "rmat": "skewed degrees as in Graph500, 16 edges per vertex",
    "kron": "as rmat, with 48 edges per vertex",
    "uniform": "uniformly random edges, 16 per vertex",
    "grid": "square grid with a tenth of its edges removed",
    "rgg": "random points in a square, close ones joined",
}


def add_commands(commands: Any) -> None:
    """Add the commands `info`, `generate`, `convert`, `demo` and `warm` to the parser of the command line."""
    help_text = "print properties of a graph: sizes, symmetry, components, weights, degrees"
    info = commands.add_parser("info", help=help_text, description=help_text)
    data.add_reading(info)
    info.set_defaults(run=run_info)

    families = "; ".join(f"{name}: {what}" for name, what in FAMILIES.items())
    generate = commands.add_parser(
        "generate", help="make a synthetic graph of 2**SCALE vertices", description=f"Families of graphs: {families}."
    )
    generate.add_argument("family", choices=FAMILIES, metavar="FAMILY", help=", ".join(FAMILIES))
    generate.add_argument("scale", type=int, metavar="SCALE", help="the graph has 2**SCALE vertices")
    generate.add_argument(
        "--output", "-o", required=True, metavar="FILE", help="file to write; its suffix is the format"
    )
    generate.set_defaults(run=run_generate)

    convert = commands.add_parser("convert", help="write a graph in another format")
    data.add_reading(convert, "IN")
    convert.add_argument("output", metavar="OUT", help="file to write; its suffix is the format")
    convert.add_argument("--names", metavar="FILE", help="file for the names of vertices: .csv, .parquet or .feather")
    lossy = "leave out names and attributes that the format can't store"
    convert.add_argument("--lossy", action="store_true", help=lossy)
    convert.set_defaults(run=run_convert)

    demo = commands.add_parser("demo", help="analyze the flights of the world: print a report and draw a map")
    demo.add_argument("--from", dest="origin", metavar="AIRPORT", help="IATA code or city (default: the northernmost)")
    demo.add_argument(
        "--to", dest="destination", metavar="AIRPORT", help="IATA code or city (default: the southernmost)"
    )
    demo.add_argument("--output", "-o", default="airports.png", metavar="FILE", help="the map (default: airports.png)")
    demo.add_argument("--no-map", action="store_true", help="print only the report")
    demo.add_argument("--top", type=text.count, default=10, metavar="N", help="length of rankings (default: 10)")
    demo.set_defaults(run=run_demo)

    help_text = (
        "compile functions ahead of their first use, or all of the NetworkX backend's, which takes minutes, once"
    )
    warm = commands.add_parser("warm", help=help_text, description=help_text)
    warm.add_argument("functions", nargs="*", metavar="FUNCTION", help="of gasla, such as bfs (default: NetworkX's)")
    warm.add_argument(
        "--values",
        type=lambda names: [None if name == "none" else name for name in names.split(",")],
        metavar="TYPES",
        help="types of the edges' values, with none for none (default: none,float64)",
    )
    warm.add_argument("--gpu", action="store_true", help="for the GPU of this machine, all functions if none is named")
    warm.set_defaults(run=run_warm)


def run_info(options: Namespace) -> int:
    """Run `gasla info`, which prints properties of a graph. Return the exit code."""
    with bar(f"reading {options.graph}"):
        named = data.load(options)
    with bar("computing properties"):
        lines = [*text.aligned(_properties(named.graph)), "", *_degrees(named.graph)]
    print("\n".join(lines))
    return 0


def _properties(graph: Any) -> dict[str, object]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    from gasla.graph.datasets import fingerprint

    pattern = csr_array((np.ones(graph.m, np.int8), graph.out.indices, graph.out.indptr), shape=(graph.n, graph.n))
    values = graph.values
    return {
        "vertices": graph.n,
        "edges": graph.m,
        "edges per vertex": f"{graph.m / max(graph.n, 1):.3g}",
        "symmetric": "yes" if graph.is_symmetric else "no",
        "self loops": len(np.unique(graph.out.indices[graph.out.owners() == graph.out.indices])),
        "components": int(connected_components(pattern, connection="weak")[0]),
        "weights": "none"
        if not graph.m or values is None
        else f"{values.dtype}, {values.min():,.6g} to {values.max():,.6g}",
        "types": f"vertices {graph.id_dtype}, offsets {graph.out.indptr.dtype}",
        "bytes held": graph.nbytes,
        "fingerprint": fingerprint(pattern),
    }


def _degrees(graph: Any) -> Iterator[str]:
    degrees = np.asarray(graph.out_degrees)
    # the index of the bin of each degree, where the bins are 0, 1, 2-3, 4-7, and so on
    bins = np.where(degrees > 0, np.frexp(degrees)[1], 0)
    counts = np.bincount(bins).tolist()
    names = ["0", "1", *(f"{2 ** (b - 1)}-{2**b - 1}" for b in range(2, len(counts)))]
    yield from text.histogram([f"{name} out-edges" for name in names[: len(counts)]], counts, "vertices")


def run_generate(options: Namespace) -> int:
    """Run `gasla generate`, which writes a synthetic graph. Return the exit code."""
    from gasla import datasets, io

    io.format_of(data.check_target(options.output), to_write=True)
    with bar(f"making {options.family} {options.scale}"):
        matrix = getattr(datasets, options.family)(options.scale)
        fingerprint = datasets.fingerprint(matrix)
    with bar(f"writing {options.output}"):
        io.write(options.output, matrix)
    print(f"wrote {options.output}: {matrix.shape[0]:,} vertices, {matrix.nnz:,} edges, {fingerprint}")
    return 0


def run_convert(options: Namespace) -> int:
    """Run `gasla convert`, which writes a graph in another format. Return the exit code."""
    from gasla import io
    from gasla.graph.io import unstored
    from gasla.graph.io.formats import NAMES_OF_VERTICES

    if Path(options.output).suffix.lower() == ".gasla":
        return convert_to_folder(options)
    format = io.format_of(data.check_target(options.output), to_write=True)
    names = None if options.names is None else data.check_table(options.names, 2)
    with bar(f"reading {options.graph}"):
        named = data.load(options)
    graph = named.graph
    if graph.names is None and names is not None:
        raise ValueError(f"--names {names}: the vertices of {options.graph} have no names")
    elsewhere = NAMES_OF_VERTICES if names is not None else ""
    lost = [what for what in unstored(graph, format) if what != elsewhere]
    if lost and not options.lossy:
        hint = "--names FILE.csv for names, or --lossy" if NAMES_OF_VERTICES in lost else "--lossy"
        raise ValueError(f"{options.output} can't store {' and '.join(lost)} of {options.graph}; add {hint}")
    with bar(f"writing {options.output}"):
        io.write(options.output, graph, lossy=True)
        if names is not None:
            data.write_table(names, {}, named)
    print(f"wrote {options.output}: {graph.n:,} vertices, {graph.m:,} edges")
    return 0


def convert_to_folder(options: Namespace) -> int:
    """Run `gasla convert` to a folder, which works in bounded memory and keeps names. Return the exit code."""
    from gasla import io

    is_shipped = options.graph in data.SHIPPED and not Path(options.graph).exists()
    if is_shipped or options.within is not None:
        with bar(f"writing {options.output}"):
            io.write(options.output, data.load(options).graph)
            graph = io.open(options.output)
    else:
        with bar(f"converting {options.graph}"):
            graph = io.convert(options.graph, options.output, format=options.format, **data.reading(options))
    print(f"wrote {options.output}: {graph.n:,} vertices, {graph.m:,} edges")
    return 0


def run_demo(options: Namespace) -> int:
    """Run `gasla demo`, which prints a report on the world's flights and draws a map. Return the exit code."""
    from gasla.demo import airports as demo

    if not options.no_map:
        data.check_picture(options.output, "the map", "or pass --no-map for the report only")
    findings = demo.examine(options.origin or demo.NORTHERNMOST, options.destination or demo.SOUTHERNMOST)
    print("\n".join(demo.report(findings, options.top)))
    if not options.no_map:
        with bar("drawing the map"):
            demo.draw_map(findings, options.output)
        print(f"\nThe map is in {options.output}")
    return 0


def _graph_functions() -> list[str]:
    from gasla.shipping.calls import MORE, names

    return [name for name in names() if name not in MORE]


def run_warm(options: Namespace) -> int:
    """Run `gasla warm`, which compiles functions ahead of their first use. Return the exit code."""
    if options.functions or options.gpu:
        import gasla

        wanted = options.functions or _graph_functions()
        functions = [getattr(gasla, name, None) for name in wanted]
        if None in functions:
            name = wanted[functions.index(None)]
            raise ValueError(f"gasla has no function {name!r}; expected names such as bfs, sssp, pagerank")
        with bar("compiling"):
            keywords = {"values": options.values} if options.values else {}
            kernel_count = gasla.warm(*functions, device="gpu" if options.gpu else "cpu", **keywords)
        print(f"compiled {kernel_count} kernels of {len(functions)} functions")
        return 0

    from gasla.backends.warmup import warm

    if options.values:
        raise ValueError("--values is given without a function; expected names such as bfs, sssp, pagerank")
    with bar("compiling"):
        count = warm()
    print(f"compiled {count} functions")
    return 0
