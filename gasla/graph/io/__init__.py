"""Graph files: `read` and `write`. The file name determines the format.

===============  ====================================  ==============================================================
format           file names                            content
===============  ====================================  ==============================================================
``"mtx"``        ``.mtx``                              Matrix Market, coordinate form
``"edges"``      ``.txt`` ``.el`` ``.wel`` ``.tsv``    one edge per line, ids from 0, optional weight (SNAP)
``"gr"``         ``.gr``                               DIMACS: arcs of the 9th challenge, or the PACE form (undirected)
``"metis"``      ``.graph`` ``.metis``                 METIS: undirected, the neighbors of one vertex per line
``"npz"``        ``.npz``                              `scipy.sparse.save_npz`, with names and attributes
``"graphml"``    ``.graphml``                          GraphML, with names and attributes, by NetworkX
``"gml"``        ``.gml``                              GML, with names and attributes, by NetworkX
``"csv"``        ``.csv``                              a table, one edge per row; ids are numbers or names
``"parquet"``    ``.parquet``                          a table, as for CSV
``"feather"``    ``.feather`` ``.arrow``               a table, as for CSV
``"folder"``     ``.gasla``, or a folder of ``.npy``   a folder of arrays, mapped into memory instead of read: `open`
===============  ====================================  ==============================================================

A further suffix ``.gz``, ``.bz2`` or ``.xz`` compresses the file. Text files without weights get weights 1 (float32);
whole-number weights are read as int64 (uint64 if they need it), all others as float64. Parallel edges are kept. Tables
need pyarrow (``pip install 'gasla[arrow]'``), and are read as a `Graph` with the names of vertices, without values if
there is no column of weights. Edge lists with a header, with names as ids, or with a separator other than spaces are
read as tables. Lines that begin with ``#`` or ``%`` are comments: anywhere in an edge list, and above the first row of
a CSV file.

Names and attributes of vertices and edges are kept by ``.npz``, ``.graphml``, ``.gml`` and ``.gasla``; tables keep
names and attributes of edges; other formats keep neither. `write` refuses a graph of which a format would lose some.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, cast

from gasla.graph.arguments import check_flags
from gasla.graph.io import (
    dimacs,
    edge_tables,
    edges,
    folder,
    gml,
    graphml,
    mapped_csr,
    matrix_market,
    metis,
    npz,
    sorting,
)
from gasla.graph.io.edge_tables import Columns
from gasla.graph.io.files import COMPRESSIONS, FormatError, Part, compress, to_csr, translate_errors
from gasla.graph.io.separated import SPACES, is_plain
from gasla.graph.validate import are_sparse
from gasla.output import replacing

if TYPE_CHECKING:
    from gasla.graph.exchange.columns import Column
    from gasla.graph.graph import Graph

__all__ = ["TABLES", "FormatError", "convert", "format_of", "open", "read", "write"]

_FORMATS: dict[str, ModuleType] = {"mtx": matrix_market, "edges": edges, "gr": dimacs, "metis": metis, "npz": npz}
_FORMATS |= {"graphml": graphml, "gml": gml}
_NAMES = {suffix: format for format, module in _FORMATS.items() for suffix in module.SUFFIXES}

_NAMES |= edge_tables.SUFFIXES
_NAMES |= dict.fromkeys(folder.SUFFIXES, "folder")
TABLES = tuple(dict.fromkeys(edge_tables.SUFFIXES.values()))
_ALL = (*_FORMATS, *TABLES, "folder")
NAMES_OF_VERTICES = "the names of vertices"
_KEEP_ALL = ("npz", "graphml", "gml", "folder")  # names and attributes; tables keep none of vertices, others nothing
_NETWORKX = (".gexf", ".net", ".dot", ".json")


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    src: Column | None = None,
    dst: Column | None = None,
    weight: Column | None = None,
    attributes: Sequence[Column] | None = None,
    names: bool | None = None,
    separator: str | None = None,
    on_bad_rows: Literal["error", "skip"] = "error",
) -> Any:
    r"""Return the graph in a file: a square sparse array with ascending columns in each row, or a `Graph` for a table.

    Parameters
    ----------
    path : path
    format : {"mtx", "edges", "gr", "metis", "npz", "graphml", "gml", "csv", "parquet", "feather"}, optional
        By default determined by the file name (see `gasla.io`).
    src, dst, weight, names : optional
        For tables and edge lists: columns by name or position, and whether ids are names; see `Graph.from_table`. For
        folders, ``.npz``, GraphML and GML files with attributes, `weight` is the name of one (`Graph.weighted_by`). The
        first line of a text file is a header unless it contains a number. If it contains no number and could be either,
        passing names of columns says that it is a header, passing positions that it is an edge.
    attributes : list of str or int, optional
        For tables and edge lists: columns of numbers or dates to keep as `edge_attributes` of a `Graph`. By default
        those that `write` has written to a Parquet or Feather file.
    separator : str, optional
        For CSV files and edge lists: the character between columns, or ``" "`` for any number of spaces and tabs. By
        default the comma, semicolon, tab or ``|`` that divides the first two rows into the same number of columns; if
        there is none, spaces in an edge list.
    on_bad_rows : {"error", "skip"}
        For CSV files and edge lists: what to do with a row with another number of columns than the first, or with an
        invalid id or weight. ``"skip"`` leaves these rows out, and warns with their number and the first error.

    Returns
    -------
    scipy.sparse.csr_array or Graph
        A Graph for a table, for an edge list with attributes or whose ids are names, for an ``.npz`` file with names or
        attributes, for GraphML and GML, and for a folder, which is opened (`open`).

    Warns
    -----
    UserWarning
        If rows were left out.

    Raises
    ------
    FormatError
        The file is malformed or truncated; the message has the line, what was found there and what was expected.
    MemoryError
        The graph needs more memory than available; the message states both numbers. If this is only known after
        reading ids, the error is a FormatError as well.
    ImportError
        The file is a table, and pyarrow is missing; or GraphML or GML, and NetworkX is missing.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "triangle.txt"
    >>> _ = path.write_text("0 1\n1 2\n2 0\n")
    >>> read(path).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    from gasla.graph.graph import as_graph

    path = as_path(path)
    format = format_of(path, format)
    if on_bad_rows not in ("error", "skip"):
        raise ValueError(f"on_bad_rows is {on_bad_rows!r}; expected 'error' or 'skip'")
    is_text, skips = format in ("csv", "edges"), on_bad_rows == "skip"
    if not is_text and (separator is not None or skips):
        raise ValueError(f"separator and on_bad_rows are for CSV files and edge lists; {path} is read as {format!r}")
    columns = Columns(src, dst, weight, attributes)
    if format in TABLES:
        return edge_tables.read(path, format, columns, names, separator, skips)
    if format in ("folder", "npz", "graphml", "gml") and columns.given == [weight] and names is None:
        return as_graph(read(path, format)).weighted_by(cast(str, weight))
    if format == "folder" and not columns.given and names is None:
        return open(path)
    if format != "edges":
        if columns.given or names is not None:
            raise ValueError(
                f"src, dst, weight, attributes and names are for tables and edge lists; {path} is read as {format!r}"
            )
        with translate_errors(path):
            return _FORMATS[format].read(path)
    has_columns = separator not in (None, SPACES) or bool(columns.given)
    if not path.is_file() or (not has_columns and not names and is_plain(path)):  # a pipe can be read only once
        with translate_errors(path):
            return edges.read(path, skips, is_numbered=names is False)
    graph = edge_tables.read(path, format, columns, names, separator, skips)
    return graph if graph.names is not None or graph.edge_attributes else to_csr(graph.n, *graph.edges(), graph.values)


def write(path: str | os.PathLike[str], A: Any, format: str | None = None, *, lossy: bool = False) -> None:
    """Write a graph to a file. An existing file is replaced only after the new one is complete.

    Parameters
    ----------
    path : path
    A : sparse array, sparse matrix or Graph
    format : {"mtx", "edges", "gr", "metis", "npz", "graphml", "gml", "csv", "parquet", "feather"}, optional
        By default determined by the file name (see `gasla.io`). Tables can't store vertices without edges; a graph that
        would lose vertices is an error (Parquet and Feather store the number of vertices of a graph without names). If
        names are integers below 2**31, read the CSV file with ``names=True``.
    lossy : bool
        True writes the file without the names and attributes that the format can't store, and leaves them out without
        an error. The values are always stored.

    Raises
    ------
    ValueError
        The graph has names or attributes that the format can't store, and `lossy` is False; or what the message says,
        such as weights that are not whole numbers for METIS.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from gasla import datasets
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "grid.mtx.gz"
    >>> write(path, datasets.grid(4))
    >>> (read(path) != datasets.grid(4)).nnz
    0
    """
    from gasla.graph.graph import as_graph

    path = as_path(path)
    format = format_of(path, format)
    graph = as_graph(A)
    check_flags(lossy=lossy)
    if not lossy and (lost := unstored(graph, format)):
        can = ".npz, .graphml, .gml and .gasla can; pass lossy=True to leave out what the format can't store"
        raise ValueError(f"{path}: {format} files can't store {' and '.join(lost)}; {can}")
    if format == "folder":
        graph = graph.to("cpu")
        sorting.write_folder(path, sorting.parts_of(graph), sorting.default_memory(), graph)
        return
    with replacing(path) as file, compress(file, path) as stream:
        if format in _FORMATS:
            _FORMATS[format].write(stream, graph, path)
        else:
            edge_tables.write(stream, graph.to("cpu"), path, format)


def unstored(graph: Graph, format: str) -> list[str]:
    """List, in words, the names and attributes of a graph that a file of this format can't store.

    An attribute that is the graph's values (`Graph.weighted_by`) can be stored: values always are.

    Examples
    --------
    >>> from gasla import Graph
    >>> graph = Graph.from_edges([0], [1]).with_edge_attributes(time=[5]).with_vertex_attributes(height=[1, 2])
    >>> unstored(graph, "mtx")
    ["the edge attribute 'time'", "the vertex attribute 'height'"]
    >>> unstored(graph, "parquet"), unstored(graph, "npz")
    (["the vertex attribute 'height'"], [])
    """
    if format in _KEEP_ALL:
        return []
    found = [f"the vertex attribute {name!r}" for name in graph.vertex_attributes]
    if format in TABLES:
        return found
    same = graph.edge_attributes.name_of(graph.values)
    found = [f"the edge attribute {name!r}" for name in graph.edge_attributes if name != same] + found
    return found if graph.naming is None else [NAMES_OF_VERTICES, *found]


def open(path: str | os.PathLike[str]) -> Graph:
    """Open a graph without reading it: its arrays are memory-mapped, and pages are read on first access.

    A graph may thus be larger than memory. Searches, shortest paths, PageRank, components and core numbers take memory
    in proportion to the number of vertices only; functions that build other lists of the edges take more.

    Parameters
    ----------
    path : path
        A folder written by `convert` or `write`, whose name ends in ``.gasla``; a folder with the arrays of a CSR
        matrix as files ``indptr.npy``, ``indices.npy`` and, for values, ``data.npy``; or a file written by
        ``scipy.sparse.save_npz(path, A, compressed=False)``, A in CSR or CSC form.

    Returns
    -------
    Graph
        On the CPU. Edges are numbered by their positions in the lists. The arrays are read-only.

    Raises
    ------
    FormatError
        The files are damaged or incomplete, or the archive is compressed: `convert` makes a folder of it. All ids are
        checked, which reads them once from disk.

    Notes
    -----
    A ``.gasla`` folder holds the lists in both directions. Arrays of a matrix are in one direction: if lists ascend and
    edges lead both ways, with equal values, these serve as the other direction; else in-lists are built in memory when
    an algorithm needs them, and `convert` makes a folder that holds them.

    If a file changes afterwards, the next call of an algorithm raises a RuntimeError, and so does a run during which it
    changes. If a file is truncated while pages of it are read, the system ends the process (SIGBUS).

    Examples
    --------
    >>> import tempfile, pathlib, gasla
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "flights.gasla"
    >>> write(path, gasla.datasets.openflights().matrix)
    >>> flights = open(path)
    >>> int(gasla.bfs(flights, 0).max())
    9
    """
    path = as_path(path)
    if path.suffix.lower() == ".npz" or mapped_csr.is_folder(path):
        if not path.exists():
            raise FormatError(path, None, "does not exist; expected an archive of scipy.sparse.save_npz")
        return mapped_csr.open_matrix(path)
    return folder.open_folder(path)


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
    memory: int | None = None,
    **reading: Any,
) -> Graph:
    r"""Convert a graph file to a folder for `open`, in bounded memory.

    Parameters
    ----------
    source : path
        A file that `read` reads. Edge lists, CSV, Matrix Market and DIMACS files, also compressed, are read in parts;
        so are ``.npz`` files, and Parquet and Feather files whose ids are numbers, also with attributes. Other
        formats, CSV files with attributes, and files with names are read as a whole, which is an error if they do not
        fit memory.
    target : path
        The folder to write; its name ends in ``.gasla``. An existing one is replaced once the new one is complete.
    format : str, optional
        Of the source, as in `read`.
    memory : int, optional
        Bytes that sorting may take, apart from 16 per vertex; by default an eighth of the machine's, at most 1 GiB. The
        disk meanwhile holds up to 50 bytes per edge, and twice its attributes, in the parent folder of the target.
    **reading
        Arguments of `read` for tables and edge lists: `src`, `dst`, `weight`, `attributes`, `names`, `separator`,
        `on_bad_rows`.

    Returns
    -------
    Graph
        The opened graph; without values if the file has no weights.

    Raises
    ------
    FormatError, MemoryError
        As `read`.
    OSError
        The disk is full; the files written so far are deleted.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "triangle.txt"
    >>> _ = path.write_text("0 1 5\n1 2 3\n2 0 4\n")
    >>> convert(path, path.with_suffix(".gasla"))
    Graph(n=3, m=3, values=int64)
    """
    source, target = as_path(source), as_path(target)
    if format_of(target) != "folder":
        raise ValueError(f"{target} is not a folder name; expected one that ends in {', '.join(folder.SUFFIXES)}")
    if memory is not None and (not isinstance(memory, int) or memory < 1):
        raise ValueError(f"memory is {memory!r}; expected a number of bytes, 1 or more")
    parts, graph = _parts(source, format_of(source, format), reading)
    with translate_errors(source):
        sorting.write_folder(target, parts, memory or sorting.default_memory(), graph)
    return folder.open_folder(target)


def _parts(path: Path, format: str, reading: dict[str, Any]) -> tuple[Iterator[Part], Graph | None]:
    """The edges of a file, in blocks if its format and its columns allow that; else its graph as well."""
    from gasla.graph.graph import as_graph

    blocks = _blocks(path, format, reading)
    if blocks is not None:
        return blocks, None
    graph = as_graph(read(path, format, **reading))
    return sorting.parts_of(graph), graph


def _blocks(path: Path, format: str, reading: dict[str, Any]) -> Iterator[Part] | None:
    """The edges of a file in blocks; None for formats and arguments that need the file as a whole."""
    names = reading.get("names")
    columns = Columns(*(reading.get(name) for name in ("src", "dst", "weight", "attributes")))
    if format in ("mtx", "gr") and not reading:
        return cast(Iterator[Part], _FORMATS[format].parts(path))
    if format == "npz" and not reading:
        return npz.parts(path)
    if names or not set(reading) <= {"src", "dst", "weight", "attributes", "names", "separator"}:
        return None
    if format == "edges" and set(reading) <= {"names"} and path.is_file() and is_plain(path):
        blocks: Iterator[Part] | None = edges.parts(path)
    elif format in ("csv", "edges"):
        blocks = edge_tables.parts_of_text(path, columns, names, reading.get("separator"), format == "csv")
    elif format in TABLES and "separator" not in reading:
        blocks = edge_tables.parts_of_table(path, format, columns, names)
    else:
        return None
    return blocks if blocks is None or names is False else _beyond_doubt(path, blocks)


def _beyond_doubt(path: Path, parts: Iterator[Part]) -> Iterator[Part]:
    """The parts; FormatError after the last one if there are so few edges that ids may be names."""
    n, m, states_n = 0, 0, False
    for part in parts:
        n, m = max(n, part.n, *(1 + int(ids.max(initial=-1)) for ids in (part.src, part.dst))), m + len(part.src)
        states_n = states_n or part.states_n
        yield part
    if not states_n and (doubt := are_sparse(n, m)):
        raise FormatError(path, None, doubt)


def as_path(path: Any) -> Path:
    """`path` as a Path; TypeError if it is neither a string nor a path, as if arguments were swapped."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path is a {type(path).__name__}; expected a file name as the first argument: "
            "gasla.io.write('graph.mtx', graph), gasla.io.read('graph.mtx')"
        )
    return Path(path)


def format_of(path: str | os.PathLike[str], format: str | None = None) -> str:
    """Return the format of a file: `format` if given, else determined by the name of `path`.

    Examples
    --------
    >>> format_of("roads.gr.xz")
    'gr'
    """
    path = Path(path)
    if format is None and mapped_csr.is_folder(path):
        format = "folder"
    if format is None:
        suffixes = [suffix.lower() for suffix in path.suffixes]
        if suffixes and suffixes[-1] in COMPRESSIONS:
            suffixes.pop()
        if not suffixes or suffixes[-1] not in _NAMES:
            foreign = suffixes and suffixes[-1] in _NETWORKX
            hint = "; read it with NetworkX, and pass the result to Graph.from_networkx" if foreign else ""
            raise ValueError(
                f"{path}: unknown file name suffix; expected one of {', '.join(_NAMES)}, "
                f"or format= one of {', '.join(_ALL)}{hint}"
            )
        format = _NAMES[suffixes[-1]]
    if format not in _ALL:
        raise ValueError(f"format is {format!r}; expected one of {', '.join(_ALL)}")
    return format
