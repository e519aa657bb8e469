"""Graphs stored as folders of NumPy arrays, which are memory-mapped, so that a graph may be larger than memory.

A folder holds ``graph.json``, which describes the graph, and arrays as ``.npy`` files: adjacency lists by rows
(``rows-offsets``, ``rows-ids``, ``rows-values``), in which ids ascend, and by columns, unless these are the same. Edges
are numbered by rows, and attributes of edges (``edge-attribute-0-values``, …) are in that order. `sorting` writes
folders; this module opens them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from gasla.graph.adjacency import Adjacency, Array
from gasla.graph.attributes import NO_EDGE_ATTRIBUTES, NO_VERTEX_ATTRIBUTES, Attributes, Of
from gasla.graph.dates import TimeType, parsed_time_types
from gasla.graph.exchange.vertex_names import Names
from gasla.graph.graph import Graph
from gasla.graph.io.files import FormatError, names_of_json, names_to_json, parsed_json, require_version
from gasla.graph.mapped_files import MappedFiles
from gasla.graph.neighbor_lists import Lists
from gasla.graph.validate import as_values, check_offsets, check_range, is_value_type

SUFFIXES = (".gasla",)
FORMAT, VERSION = "gasla graph", 2  # A folder of version 1 has no dates.
DESCRIPTION, NAMES = "graph.json", "names.json"
_EXPECTED = "expected a folder that gasla.io.convert or gasla.io.write has written"


class Description(NamedTuple):
    """The content of ``graph.json``, except for the format and its version."""

    n: int
    m: int
    has_values: bool
    has_loops: bool
    has_parallel_edges: bool
    is_symmetric: bool  # whether the number of edges from i to j equals that from j to i, for all vertices i and j
    # whether the graph is symmetric, has bitwise equal values in both directions, and no parallel edges
    is_mirrored: bool


class KnownProperties(NamedTuple):
    """The properties of a graph's adjacency lists that ``graph.json`` states.

    gasla takes them from the folder, so that it need not read all adjacency lists to find them out.
    """

    ascend: bool
    repeat: bool
    have_loops: bool
    are_symmetric: bool


def open_folder(path: Path) -> Graph:
    """Return the graph in a folder, with its arrays memory-mapped. See `gasla.io.open`."""
    description = _read_description(path)
    files = MappedFiles(path, [file for file in sorted(path.iterdir()) if file.suffix in (".npy", ".json")])
    rows = _map_lists(path, "rows", description)
    columns = rows if description.is_symmetric else _map_lists(path, "columns", description)
    values = _map_array(path, "rows-values", description.m) if description.has_values else None
    by_column = values
    if description.has_values and not description.is_mirrored:
        by_column = _map_array(path, "columns-values", description.m)
    lists = Lists(description.n, "cpu", Adjacency(*rows))
    # `Graph.from_csr` would read all ids from disk once more to check them, so this builds the graph without it.
    graph: Graph = Graph.__new__(Graph)
    properties = KnownProperties(True, description.has_parallel_edges, description.has_loops, description.is_symmetric)
    incoming = Adjacency(*columns, lists.out.transposed_edge_ids)
    for adjacency in (lists.out, incoming):
        adjacency.__dict__["properties"] = properties
    lists.__dict__["in_"] = incoming
    edges, vertices = _attributes(path, "edge", description.m), _attributes(path, "vertex", description.n)
    files.require_unchanged()
    lists.files, files.columns = files, [values, *edges.arrays(), *vertices.arrays()]
    graph._set_lists(lists, as_values(values, description.m))
    graph.valued.__dict__ |= {"by_out": values, "by_in": by_column, "are_mirrored": description.is_mirrored}
    graph.naming, graph.edge_attributes, graph.vertex_attributes = _read_names(path, description.n), edges, vertices
    return graph


def _read_description(path: Path) -> Description:
    """Return the content of ``graph.json``. Raise FormatError if it is missing, damaged or of a later version."""
    file = path / DESCRIPTION
    if not file.is_file():
        reason = (
            f"has no file {DESCRIPTION}" if path.is_dir() else "is not a folder" if path.exists() else "does not exist"
        )
        raise FormatError(path, None, f"{reason}; {_EXPECTED}")
    try:
        entries = parsed_json(file, file.read_bytes())
        if entries["format"] != FORMAT:
            raise ValueError(f"has format {entries['format']!r}")
        require_version(file, "folder", entries["version"], VERSION)
        description = Description(**{name: entries[name] for name in Description._fields})
    except FormatError:
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise FormatError(file, None, f"is damaged ({error}); {_EXPECTED}") from error
    field_types = get_type_hints(Description)
    if not all(type(value) is field_types[name] for name, value in description._asdict().items()) or description.n < 0:
        raise FormatError(file, None, f"is damaged: its content is {description._asdict()}; {_EXPECTED}")
    return description


def _map_lists(path: Path, list_kind: str, about: Description) -> tuple[Array, Array]:
    """Return the offsets and the vertex ids of a graph's adjacency lists, memory-mapped.

    `list_kind` is "rows" for the targets of each source, or "columns" for the sources of each target. Raise FormatError
    if an offset or an id is out of range.
    """
    offsets, ids = _map_array(path, f"{list_kind}-offsets", about.n + 1), _map_array(path, f"{list_kind}-ids", about.m)
    try:
        check_offsets(offsets, about.n, about.m)
        check_range(f"{list_kind}-ids", ids, about.n)
    except ValueError as error:
        raise FormatError(path, None, f"is damaged ({error}); {_EXPECTED}") from error
    return offsets, ids


def _map_array(path: Path, name: str, length: int) -> Array:
    """Return the array in the file `name`.npy of a folder, memory-mapped.

    Raise FormatError unless the array has this length and a dtype that gasla writes.
    """
    file = path / f"{name}.npy"
    try:
        mapped = np.load(file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise FormatError(path, None, f"has no file {file.name}; {_EXPECTED}") from error
    except (OSError, MemoryError):
        raise
    # Many types of exceptions are caught, because a damaged header raises anything from SyntaxError to TokenError.
    except Exception as error:
        raise FormatError(file, None, f"is damaged or truncated ({error}); {_EXPECTED}") from error
    if mapped.shape != (length,) or mapped.dtype.hasobject or not mapped.dtype.isnative:
        shape = f"has shape {mapped.shape} and type {mapped.dtype}"
        raise FormatError(file, None, f"{shape}; expected ({length},), according to {DESCRIPTION}")
    if not name.endswith("values") and mapped.dtype not in (np.int32, np.int64):
        raise FormatError(file, None, f"has type {mapped.dtype}; expected int32 or int64")
    array: Array = np.asarray(mapped)
    return array


def _attributes(path: Path, owner: Of, count: int) -> Attributes:
    """Return the attributes of edges or vertices that ``graph.json`` lists, with memory-mapped columns."""
    description = parsed_json(path / DESCRIPTION, (path / DESCRIPTION).read_bytes())
    names, times = description.get(f"{owner}_attributes", []), description.get(f"{owner}_times", {})
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FormatError(path / DESCRIPTION, None, f"is damaged: {owner}_attributes is {names!r}; {_EXPECTED}")
    columns = {name: _map_array(path, f"{owner}-attribute-{i}-values", count) for i, name in enumerate(names)}
    for name, column in columns.items():
        if not is_value_type(column.dtype):
            raise FormatError(path, None, f"is damaged: attribute {name!r} has type {column.dtype}; {_EXPECTED}")
    if not columns:
        return {"edge": NO_EDGE_ATTRIBUTES, "vertex": NO_VERTEX_ATTRIBUTES}[owner]
    try:
        return Attributes(owner, columns, None, parsed_time_types(times, columns))
    except (ValueError, TypeError) as error:
        raise FormatError(path / DESCRIPTION, None, f"is damaged: {owner}_times: {error}; {_EXPECTED}") from error


def write_attributes(path: Path, graph: Graph) -> dict[str, Any]:
    """Write the attributes of a graph as ``.npy`` files, and return the entries of ``graph.json`` that describe them.

    Attributes of edges are written in the order of edges sorted by source and target.
    """
    for attributes in (graph.edge_attributes, graph.vertex_attributes):
        for i, column in enumerate(map(attributes.numbers, attributes)):
            in_order = column[graph.sorted_out.numbers()] if attributes.of == "edge" else column
            with open(path / f"{attributes.of}-attribute-{i}-values.npy", "xb") as file:
                np.lib.format.write_array(file, in_order, allow_pickle=False)
    edges, vertices = graph.edge_attributes, graph.vertex_attributes
    return about_attributes("edge", edges, edges.time_types) | about_attributes("vertex", vertices, vertices.time_types)


def about_attributes(of: Of, names: Iterable[str], time_types: Mapping[str, TimeType]) -> dict[str, Any]:
    """Return the entries of ``graph.json`` that describe attributes: their names, and the types of dates and times."""
    entries: dict[str, Any] = {f"{of}_attributes": [*names], f"{of}_times": time_types}
    return {key: value for key, value in entries.items() if value}


def _read_names(path: Path, n: int) -> Names | None:
    file = path / NAMES
    return names_of_json(file, file.read_bytes(), n) if file.exists() else None


def describe(path: Path, about: Description, names: Names | None, attributes: dict[str, Any]) -> None:
    """Write ``graph.json``, and ``names.json`` if vertices have names."""
    if names is not None:
        (path / NAMES).write_text(names_to_json(names), "utf-8")
    # The folder gets the earliest version that can hold the graph, so that older releases of gasla can read it.
    version = VERSION if any(name.endswith("_times") for name in attributes) else 1
    text = json.dumps({"format": FORMAT, "version": version, **about._asdict(), **attributes}, indent=2)
    (path / DESCRIPTION).write_text(text + "\n", "utf-8")
