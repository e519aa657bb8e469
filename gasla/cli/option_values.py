"""Options of commands whose values need more than a conversion to a number.

Such values are names of vertices or attributes, names of files, patterns, durations and windows of time.
"""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gasla.algorithms.patterns.pattern import Pattern
from gasla.cli.data import Named, window
from gasla.graph.dates import length
from gasla.graph.io import read_ends

Array = NDArray[Any]
DEGREES = "its in-degree and out-degree"


def default_source(graph: Named) -> int:
    """Return the vertex of largest out-degree, from which searches start by default."""
    if not graph.graph.n:
        raise ValueError("the graph has no vertices; expected at least one, for the source")
    return int(np.argmax(graph.graph.out_degrees))


def numbers(path: str, what: str, rows: str, ndim: Literal[1, 2] = 2) -> Array:
    """Read a file of numbers (.npy or text), and return its array.

    The entries are numbers of any type if `ndim` is 2, and integers if `ndim` is 1. `what` and `rows` are parts of
    error messages: the option with its value, and what a row stands for.
    """
    kind = "numbers" if ndim == 2 else "integers"
    try:
        array = np.load(path) if path.endswith(".npy") else np.loadtxt(path, float if ndim == 2 else int, ndmin=ndim)
    except ValueError as error:
        raise ValueError(f"{what}: {error}; expected {kind}, {rows}") from None
    if array.ndim != ndim or array.dtype.kind not in ("biuf" if ndim == 2 else "iu"):
        raise ValueError(f"{what}: {array.dtype}{array.shape}; expected {kind}, {rows}")
    return array


def _read_features(graph: Named, path: str | None) -> Array:
    """Read the file that the option `--features` names. Return an array with one row per vertex.

    Without the option, the features of a vertex are its in-degree and its out-degree.
    """
    if path is None:
        return np.stack([graph.graph.in_degrees, graph.graph.out_degrees], axis=1).astype(np.float64)
    return numbers(path, f"--features {path}", "one row per vertex")


def _parse_duration(word: str) -> float | str:
    """Parse the value of the option `--duration`. Return a number, or the text itself if it names an edge attribute."""
    try:
        return float(word)
    except ValueError:
        return word


def _locations(graph: Named, given: str | None) -> Array:
    """Return the value of `--locations` as two coordinates per vertex, which are NaN where a location is unknown.

    The option names two vertex attributes, or a file.
    """
    if given is None:
        raise ValueError("--locations is missing; expected a file, or two vertex attributes, as in --locations x,y")
    if "," in given and not Path(given).exists():
        names, attributes = given.split(","), graph.graph.vertex_attributes
        if len(names) != 2:
            raise ValueError(f"--locations {given}: expected two vertex attributes, as in --locations x,y")
        for name in names:
            attributes.require(name, "--locations")
        return np.stack([attributes[name] for name in names], axis=1).astype(np.float64)
    if not given.endswith(".npy"):
        return _read_locations(graph, given)
    locations = numbers(given, f"--locations {given}", "two per vertex")
    if locations.shape != (graph.graph.n, 2):
        raise ValueError(f"--locations {given}: shape {locations.shape}; expected ({graph.graph.n}, 2)")
    return locations


def _read_locations(graph: Named, path: str) -> Array:
    """Return the coordinates of all vertices from a text file whose lines have a vertex and two numbers.

    The coordinates of vertices that are not in the file are NaN.
    """
    locations = np.full((graph.graph.n, 2), np.nan)
    with open(path, encoding="utf-8", newline="") as file:
        content = file.read().splitlines()
    delimiter = next((sign for sign in ",;\t" if content and sign in content[0]), " ")
    for number, row in enumerate(csv.reader(content, delimiter=delimiter, skipinitialspace=True), 1):
        try:
            name, *numbers = (word.strip() for word in row)
            x, y = map(float, numbers)
        except ValueError:
            if number > 1:  # the first line may be a header, so it may lack numbers
                raise ValueError(
                    f"--locations {path}, line {number}: {delimiter.join(row)!r}; expected a vertex and two numbers"
                ) from None
        else:
            locations[graph.vertex(name)] = x, y
    return locations


def _read_labels(_: Named, path: str | None) -> Array:
    """Read the file that the option `--labels` names. Return a label per vertex."""
    if path is None:
        raise ValueError("--labels is missing; expected a .npy or text file with a label per vertex")
    return numbers(path, f"--labels {path}", "one per vertex", ndim=1)


def _check_pattern(given: str) -> str:
    """Return the value of `--pattern`, after checking that it is the name or the edges of a pattern.

    Whether the pattern needs `--directed` is not checked here.
    """
    for directed in (True, False):
        try:
            Pattern.of(given, directed)
        except ValueError as wrong:
            error = wrong
        else:
            return given
    raise ValueError(f"--pattern {given}: {error}")


def _read_pairs(graph: Named, path: str | None) -> tuple[Array, Array] | None:
    """Read the table that the option `--pairs` names. Return both vertices of each pair, or None without the option."""
    if path is None:
        return None
    try:
        pairs = read_ends(path, names=True)
    except ValueError as error:
        reason = str(error).partition("; pass ")[0]
        raise ValueError(f"--pairs {reason}; expected a table with the columns src and dst") from None
    vertices = np.array([graph.vertex(str(name)) for name in pairs.names.tolist()], np.int64)  # type: ignore[union-attr]
    src, dst = pairs.edges()
    return vertices[src], vertices[dst]


def _vertices_or_all(graph: Named, names: list[str] | None) -> Array:
    """Return the vertices with these names, or all vertices if `names` is None, because the option was not given."""
    return np.arange(graph.graph.n) if names is None else np.array([*map(graph.vertex, names)])


# For each parameter whose option is not a plain number or choice: arguments of `ArgumentParser.add_argument`, and a
# function of the graph and the option's value that returns the value of the parameter.
SPECIAL_OPTIONS: dict[str, tuple[dict[str, Any], Callable[[Named, Any], Any]]] = {
    "source": (
        {"help": "source vertex (default: the vertex of largest out-degree)"},
        lambda graph, name: default_source(graph) if name is None else graph.vertex(name),
    ),
    "features": (
        {"metavar": "FILE", "help": f".npy or text file with one row per vertex (default: {DEGREES})"},
        _read_features,
    ),
    "pattern": (
        {
            "default": "triangle",
            "help": "a name, such as cycle4, or edges, such as 0-1,1-2 or 0>1,1>2 (default: %(default)s)",
        },
        lambda _, given: _check_pattern(given),
    ),
    "labels": ({"metavar": "FILE", "help": ".npy or text file with a label per vertex"}, _read_labels),
    "locations": (
        {
            "metavar": "FILE|X,Y",
            "help": ".npy file with a row per vertex, NaN where unknown; text file with lines VERTEX,X,Y; "
            "or two vertex attributes",
        },
        _locations,
    ),
    "time": (
        {"metavar": "NAME", "default": "time", "help": "{time} (default: %(default)s)"},
        lambda graph, given: graph.columns.get(given, given),
    ),
    "duration": (
        {"metavar": "X|NAME", "type": _parse_duration, "default": 0, "help": "{duration} (default: %(default)s)"},
        lambda graph, given: graph.columns.get(given, given),
    ),
    "delta": ({"metavar": "X", "type": _parse_duration, "help": "{delta}"}, lambda _, given: given),
    "pairs": (
        {"metavar": "FILE", "help": "table with a pair of vertices in each row (default: the ends of each edge)"},
        _read_pairs,
    ),
    "window": (
        {
            "metavar": "START,END",
            "help": "use only edges that depart and arrive within it, numbers or dates; either may be empty; or a "
            "duration, such as 24h",
        },
        lambda _, given: given if given is None or length(given) is not None else window(given, "--window"),
    ),
    "starts": ({"nargs": "+", "help": "{starts} (default: every vertex once)"}, _vertices_or_all),
    "ids": ({"nargs": "+", "help": "{ids} (default: every vertex once)"}, _vertices_or_all),
    "target": (
        {"help": "target vertex (default: the last vertex)"},
        lambda graph, name: graph.graph.n - 1 if name is None else graph.vertex(name),
    ),
}
