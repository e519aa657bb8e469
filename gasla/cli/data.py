"""Input and output of the command line, which are graphs with names of vertices, and tables of answers."""

import re
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gasla.graph.datasets import Airports
from gasla.graph.dates import clock_of
from gasla.graph.exchange import vertex_table
from gasla.graph.exchange.libraries import undirected
from gasla.graph.graph import Graph
from gasla.graph.io.formats import FORMATS
from gasla.names import meant
from gasla.output import replacing

Array = NDArray[Any]

SHIPPED = ("openflights", "ny-roads", "town")
TABLES = (".npy", ".npz", ".csv", ".txt", ".parquet", ".feather")


class Named(NamedTuple):
    """A graph that a command has read, and its name. For airports, it also has their codes, cities and coordinates."""

    name: str
    graph: Graph
    airports: Airports | None = None
    # for each edge attribute that an option names or gives by its position in the file: the attribute's name
    columns: Mapping[str, str] = MappingProxyType({})

    def vertex(self, text: str) -> int:
        """Return the vertex that an option names, by its name or number, or by the code, city or name of an airport."""
        if (names := self.graph.naming) is not None:
            is_integer = names.have_integers and _is_number(text) and names.find(text) is None
            return self.graph.vertex(int(text) if is_integer else text)
        if _is_number(text):
            # numbers of more than 20 digits are outside any graph, and so are their first 20 digits, which are
            # converted fast
            number = int(text[:20])
            if not 0 <= number < self.graph.n:
                raise ValueError(f"vertex {text[:60]} is outside a graph of {self.graph.n} vertices")
            return number
        if self.airports is None:
            raise ValueError(f"vertex {text!r} is not a number; expected 0 to {self.graph.n - 1}")
        from gasla.demo.airports import find_airport

        return find_airport(self.airports, text)

    def label(self, vertex: int) -> str:
        """Return how the output writes a vertex, by its name, its number, or its airport's code, city and country."""
        if self.graph.names is not None:
            return str(self.graph.names[vertex])
        if self.airports is None:
            return f"vertex {vertex}"
        code = str(self.airports.iata[vertex]) or "---"
        return f"{code}  {self.airports.city[vertex]}, {self.airports.country[vertex]}"


def _is_number(text: str) -> bool:
    return re.fullmatch("-?[0-9]+", text) is not None


def add_reading(parser: ArgumentParser, name: str = "GRAPH") -> None:
    """Add the options of commands that read a graph to the parser of a command."""
    parser.add_argument(
        "graph", metavar=name, help="a file, or one of the included graphs: openflights, ny-roads, town"
    )
    formats_help = f"file format: {', '.join(FORMATS)} (default: by the suffix of the file)"
    parser.add_argument("--format", metavar="F", help=formats_help)
    parser.add_argument("--undirected", action="store_true", help="read every edge of the file in both directions")
    rows = "file with a row for each vertex: names in order, isolated ones too, and attributes"
    parser.add_argument("--vertex-table", metavar="FILE", help=rows)
    columns = "columns of a table, by name or position from 0 (default: by usual titles, such as source and target)"
    parser.add_argument("--columns", metavar="SRC,DST[,WEIGHT]", help=columns)
    weight = "column of weights, by name or position; or an attribute of a file that names its attributes"
    parser.add_argument("--weight", metavar="W", help=weight)
    attributes = "further columns to keep, by name or position, for convert"
    parser.add_argument("--attributes", metavar="A,B,…", help=attributes)
    within_help = "use only the edges whose attribute is from START to END, numbers or dates; either may be empty"
    parser.add_argument("--within", metavar="NAME,START,END", help=within_help)
    vertices = "whether ids in a table are names or numbers of vertices (default: strings and large integers are names)"
    parser.add_argument("--vertices", choices=("names", "numbers"), help=vertices)
    kinds = "the two columns of a table hold two kinds of vertices, such as users and items"
    parser.add_argument("--bipartite", action=BooleanOptionalAction, help=kinds)
    separator = "character between columns of a text file, such as ; or tab (default: detected)"
    parser.add_argument("--separator", metavar="S", help=separator)
    bad = "whether malformed rows of a text file are an error, or skipped with a warning (default: error)"
    parser.add_argument("--on-bad-rows", choices=("error", "skip"), default="error", help=bad)


def load(options: Namespace, attributes: Sequence[str] = ()) -> Named:
    """Load an included graph or a file, by the options of `add_reading`, with `attributes` as further edge
    attributes.
    """
    if options.within is None:
        return _load_all_edges(options, attributes)
    column, comma, bounds = options.within.partition(",")
    if not comma:
        raise ValueError(f"--within {options.within}: expected an attribute and two numbers or dates, as in time,7,20")
    bounds_given = window(bounds, f"--within {column}:")
    named = _load_all_edges(options, [*attributes, column])
    edges = named.graph.edge_attributes
    edges.require(name := named.columns.get(column, column), "--within")
    clock = clock_of(edges, name, 0)
    if clock is None and isinstance(text := next((end for end in bounds_given if isinstance(end, str)), None), str):
        raise ValueError(
            f"--within {options.within}: {text!r}; expected numbers, as {column!r} holds {edges.types[name]}"
        )
    start, end = bounds_given if clock is None else clock.bounds(bounds_given)
    inside, numbers = np.ones(named.graph.m, bool), edges.numbers(name)
    if start is not None:
        inside &= numbers >= start
    if end is not None:
        inside &= numbers <= end
    return named._replace(graph=named.graph.select(inside))


def _load_all_edges(options: Namespace, attributes: Sequence[str]) -> Named:
    """Load a graph as `load` does, but with all edges, whatever the option `--within` says."""
    from gasla import datasets, io

    name, format, path = options.graph, options.format, Path(options.graph)
    if name in SHIPPED and format is None and not path.exists():
        if name == "openflights":
            flights = datasets.openflights()
            return Named(name, _as_requested(Graph(flights.matrix), options), flights.airports)
        return Named(
            name, _as_requested(Graph(datasets.town().matrix if name == "town" else datasets.ny_roads()), options)
        )
    if not path.exists():
        beside = [str(path.parent / each.name) for each in path.parent.glob("*")]
        hint = meant(name, [*SHIPPED, *beside])
        raise ValueError(f"{name}: no such file, and not one of the included graphs {', '.join(SHIPPED)}{hint}")
    if io.format_of(path, format) not in (*io.TABLES, "edges"):
        attributes = ()  # files of other formats are read with all their attributes, so no attributes are requested
    graph = io.read(path, format, **reading(options, attributes))
    return Named(name, graph, columns=dict(zip(_attributes(options, attributes), graph.edge_attributes)))


def _as_requested(graph: Graph, options: Namespace) -> Graph:
    """Return an included graph as it is, or with edges in both directions if `--undirected` was given."""
    return undirected(graph) if options.undirected else graph


def reading(options: Namespace, attributes: Sequence[str] = ()) -> dict[str, Any]:
    """Return the keyword arguments of `gasla.io.read` that follow from the options of a command. `attributes` are
    further edge attributes to read.
    """
    tabs = {"\\t": "\t", "tab": "\t"}  # a tab is hard to type in a shell, so these texts stand for it as a delimiter
    keywords = _parse_columns(options.columns)
    if options.weight is not None:
        if "weight" in keywords:
            raise ValueError(
                f"--weight {options.weight} and --columns {options.columns}: expected one column of weights"
            )
        keywords["weight"] = _parse_column(options.weight)
    if words := _attributes(options, attributes):
        keywords["attributes"] = [_parse_column(word) for word in words]
    if options.vertices is not None:
        keywords["names"] = options.vertices == "names"
    if options.bipartite is not None:
        keywords["bipartite"] = options.bipartite
    if options.undirected:
        keywords["undirected"] = True
    if options.vertex_table is not None:
        keywords["vertices"] = options.vertex_table
    if options.separator is not None:
        keywords["separator"] = tabs.get(options.separator, options.separator)
    if options.on_bad_rows != "error":
        keywords["on_bad_rows"] = options.on_bad_rows
    return keywords


def _attributes(options: Namespace, more: Sequence[str]) -> list[str]:
    """Return the names of the edge attributes to read, each once, from `--attributes` and from `more`."""
    names = [] if options.attributes is None else options.attributes.split(",")
    return [*dict.fromkeys([*names, *more])]


def window(given: str, option: str) -> tuple[Any, Any]:
    """Parse two bounds that are separated by a comma. Each is a number, a date or empty.

    Examples
    --------
    >>> window("7,", "--window"), window(",2026-01-31 12:00", "--window")
    ((7, None), (None, '2026-01-31 12:00'))
    """
    words = given.split(",")
    if len(words) != 2:
        raise ValueError(f"{option} {given}: expected two numbers or dates, as in 7,20; either may be empty")
    start, end = map(_parse_bound, words)
    return start, end


def _parse_bound(word: str) -> Any:
    """Parse a bound of a time window. Return a number, None if the bound is empty, or its text, which may be a date."""
    try:
        # a whole number is parsed as int, which is exact beyond 2**53, unlike float
        return int(word) if word.removeprefix("-").isdecimal() else float(word) if word else None
    except ValueError:
        return word


def _parse_columns(text: str | None) -> dict[str, Any]:
    """Parse `--columns` into arguments of `gasla.io.read`.

    Examples
    --------
    >>> _parse_columns("0,user")
    {'src': 0, 'dst': 'user'}
    """
    if text is None:
        return {}
    words = [_parse_column(word) for word in text.split(",")]
    if len(words) not in (2, 3) or "" in words:
        raise ValueError(f"--columns {text}: expected two or three columns, as in --columns source,target,weight")
    return dict(zip(("src", "dst", "weight"), words))


def _parse_column(word: str) -> str | int:
    return int(word) if word.isascii() and word.isdigit() else word


def check_table(path: str, columns: int) -> Path:
    """Check, before a long computation, that a table with this number of columns can be written to a path. Return the
    path.
    """
    target = Path(path)
    if target.suffix.lower() not in TABLES:
        raise ValueError(f"--output {path}: unknown suffix; expected one of {', '.join(TABLES)}")
    if not columns:
        raise ValueError(
            f"--output {path}: the answer is a single number or a few, which can't be saved; leave the option out"
        )
    if target.suffix.lower() == ".npy" and columns > 1:
        raise ValueError(
            f"--output {path}: a .npy file holds one array, and the answer has {columns}; use .npz, .csv or .txt"
        )
    if target.suffix.lower() in (".parquet", ".feather"):
        from gasla.graph.exchange.columns import arrow

        arrow()
    return check_target(target)


def check_target(path: str | Path) -> Path:
    """Check that the folder of an output file exists, and that the file is no folder. Return the path."""
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise ValueError(f"{path} can't be written: folder {target.parent} does not exist")
    if target.is_dir():
        raise ValueError(f"{path} can't be written: it is a folder")
    return target


def check_picture(path: str | Path, what: str, otherwise: str = "") -> Path:
    """Check, before a long computation, that a picture can be drawn and saved to a path. Return the path.

    `what` needs Matplotlib, and `otherwise` says in the error what to do without it.
    """
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise ImportError(", ".join(filter(None, [f"{what} needs Matplotlib: pip install 'gasla[plot]'", otherwise])))
    from gasla.demo.worldmap import picture_format

    target = check_target(path)
    picture_format(target)
    return target


def write_table(path: Path, columns: Mapping[str, Array], graph: Named) -> None:
    """Write one or more arrays to a file, atomically.

    `.npy` and `.npz` files hold the arrays unchanged. All other formats have one row per vertex, and one column per row
    of a two-dimensional array: `.txt` for `numpy.loadtxt`; `.csv`, `.parquet` and `.feather` with titles and a column
    of vertex numbers.
    """
    ending = path.suffix.lower()
    if ending not in (".npy", ".npz"):
        columns = {name: x for title, array in columns.items() for name, x in single_columns(title, array)}
    if ending in vertex_table.FILES:
        table = vertex_table.in_zone({"vertex": np.arange(graph.graph.n), **columns, **called(graph)}, graph.graph)
        vertex_table.write(path, table)
        return
    with replacing(path) as stream:
        if ending == ".npy":
            stream.write(_bytes_of(np.save, next(iter(columns.values()))))
        elif ending == ".npz":
            stream.write(_bytes_of(np.savez, **columns))
        else:
            stream.writelines(f"{' '.join(row)}\n".encode() for row in zip(*map(vertex_table.words, columns.values())))


def called(graph: Named) -> dict[str, Array]:
    """Return the columns with the names of vertices, which come first in a table, or no columns if vertices have no
    names.
    """
    if graph.graph.names is not None:
        return {"name": graph.graph.names}
    if graph.airports is not None:
        return {"iata": graph.airports.iata, "name": graph.airports.name}
    return {}


def single_columns(title: str, array: Array) -> Iterator[tuple[str, Array]]:
    """Yield the rows of a two-dimensional array as columns with numbered titles, or a one-dimensional array as it
    is.
    """
    if array.ndim == 1:
        yield title, array
    else:
        yield from ((f"{title} {i}", row) for i, row in enumerate(array))


def _bytes_of(save: Callable[..., None], *arrays: Array, **named: Array) -> memoryview:
    """Return the bytes that `save`, a function of NumPy, would write to a file.

    NumPy's own file output bypasses Python, and does not report a full disk.
    """
    archive = BytesIO()
    save(archive, *arrays, **named)
    return archive.getbuffer()
