"""The formats of graph files, from which the table in `gasla.io`, error messages and the command line are made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from gasla.graph.io import (
    dimacs,
    dot,
    edge_tables,
    edges,
    folder,
    gexf,
    gml,
    graphml,
    json_graphs,
    konect,
    mapped_csr,
    matrix_market,
    metis,
    npz,
    pajek,
    sif,
)
from gasla.graph.io.files import COMPRESSIONS

NAMES_OF_VERTICES = "the names of vertices"
NAMES, EDGES, VERTICES = "names", "attributes of edges", "attributes of vertices"
ALL = (NAMES, EDGES, VERTICES)


class Format(NamedTuple):
    """A format of graph files, and the module that reads and writes it.

    `module` has ``read(path)``, and ``write(stream, graph, path)`` if files are written, except for tables and folders,
    which `gasla.io` reads and writes by functions of their own.
    """

    name: str
    suffixes: tuple[str, ...]
    content: str
    module: ModuleType
    keeps: tuple[str, ...] = ()  # what the files can store of a graph besides edges and their values, such as "names"
    drops: str = ""  # what files may hold that gasla does not read, in words
    is_table: bool = False

    @property
    def is_written(self) -> bool:
        """Whether gasla writes files of this format."""
        return hasattr(self.module, "write") or self.name == "folder"


_COLUMNS = "columns that are not chosen"
_ROWS = (
    Format("mtx", matrix_market.SUFFIXES, "Matrix Market; the zeros of an array are no edges", matrix_market),
    Format("edges", edges.SUFFIXES, "one edge per line, ids from 0, optional weight (SNAP)", edges),
    Format("konect", konect.SUFFIXES, "KONECT, files called ``out.NAME``; times become the attribute time", konect),
    Format("gr", dimacs.SUFFIXES, "DIMACS: roads, PACE, colorings, flows; written as roads", dimacs, drops="`n` lines"),
    Format("metis", metis.SUFFIXES, "METIS: undirected", metis, drops="sizes and weights of vertices"),
    Format("npz", npz.SUFFIXES, "`scipy.sparse.save_npz`, with names and attributes", npz, ALL),
    Format("graphml", graphml.SUFFIXES, "GraphML, by NetworkX", graphml, ALL, "texts, ids of edges"),
    Format("gml", gml.SUFFIXES, "GML, by NetworkX", gml, ALL, "texts"),
    Format("gexf", gexf.SUFFIXES, "GEXF, of Gephi", gexf, ALL, "texts, looks, values in time"),
    Format(
        "json", json_graphs.SUFFIXES, "JSON: node-link, d3, Cytoscape.js, graphology", json_graphs, ALL, "texts, looks"
    ),
    Format("dot", dot.SUFFIXES, "DOT, of Graphviz", dot, ALL, "texts, looks, subgraphs"),
    Format("pajek", pajek.SUFFIXES, "Pajek, with coordinates x, y and z", pajek, (NAMES,), "relations, looks"),
    Format("sif", sif.SUFFIXES, "SIF, of Cytoscape: source, relation, targets", sif, (NAMES,), "relations"),
    Format("csv", (".csv",), "a table, one edge per row", edge_tables, (NAMES, EDGES), _COLUMNS, True),
    Format("parquet", (".parquet",), "a table, as for CSV", edge_tables, (NAMES, EDGES), _COLUMNS, True),
    Format("feather", (".feather", ".arrow"), "a table, as for CSV", edge_tables, (NAMES, EDGES), _COLUMNS, True),
    Format("folder", folder.SUFFIXES, "a folder of ``.npy`` files, mapped into memory: see `open`", folder, ALL),
)
FORMATS = {row.name: row for row in _ROWS}
TABLES = tuple(row.name for row in _ROWS if row.is_table)
_OF_SUFFIX = {suffix: row.name for row in _ROWS for suffix in row.suffixes}


def format_of(path: Path, format: str | None, *, to_write: bool) -> str:
    """Return the name of a file's format, such as "mtx": the argument `format`, or if it is None, by the suffix.

    Raise ValueError for a format that can't be read or, if `to_write`, can't be written.
    """
    name = _format_of_name(path) if format is None else format
    able = [row.name for row in _ROWS if row.is_written or not to_write]
    if name is None or (format is not None and name not in FORMATS):
        suffixes = ", ".join(suffix for suffix, row in _OF_SUFFIX.items() if row in able)
        if format is not None:
            raise ValueError(f"format is {format!r}; expected one of {', '.join(able)}")
        raise ValueError(
            f"{path}: unknown file name suffix; expected one of {suffixes}, or format= one of {', '.join(able)}"
        )
    if name not in able:
        raise ValueError(f"{path}: gasla reads {name} files, and doesn't write them; expected one of {', '.join(able)}")
    return name


def _format_of_name(path: Path) -> str | None:
    """Return the name of the format that the suffix of a file's name determines, or None if the suffix is unknown."""
    if mapped_csr.is_folder(path):
        return "folder"
    if path.is_dir() and edge_tables.has_parts(path):
        return "parquet"
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    format_name = _OF_SUFFIX.get(suffixes[-1]) if suffixes else None
    return "konect" if format_name is None and konect.has_name(path) else format_name


def table() -> str:
    """Return the table of all formats for the documentation, in reStructuredText."""
    return "\n".join(_table_lines())


def _table_lines() -> Iterator[str]:
    titles = "format", "file names", "content", "keeps besides edges and values", "does not read"
    yield ".. list-table::\n   :header-rows: 1\n"
    for cells in (titles, *map(_table_row, _ROWS)):
        yield from (f"   {'*' if cell_index == 0 else ' '} - {cell}" for cell_index, cell in enumerate(cells))


def _table_row(row: Format) -> tuple[str, ...]:
    """Return the cells of a format in the table for the documentation."""
    names = " ".join(f"``{suffix}``" for suffix in row.suffixes)
    keeps = "all" if row.keeps == ALL else ", ".join(row.keeps)
    read_only = "" if row.is_written else " (only read)"
    return f'``"{row.name}"``{read_only}', names, row.content, keeps, row.drops
