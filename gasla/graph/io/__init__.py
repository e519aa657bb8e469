"""Graph files: `read` and `write`, the format told by the file's name.

===============  ====================================  ==============================================================
format           names                                 what it holds
===============  ====================================  ==============================================================
``"mtx"``        ``.mtx``                              Matrix Market, coordinate form
``"edges"``      ``.txt`` ``.el`` ``.wel`` ``.tsv``    an edge a line, ids from 0, with or without a weight (SNAP)
``"gr"``         ``.gr``                               DIMACS: arcs of the 9th challenge, or the PACE form (undirected)
``"metis"``      ``.graph`` ``.metis``                 METIS: undirected, the neighbours of a vertex a line
``"npz"``        ``.npz``                              `scipy.sparse.save_npz`
``"csv"``        ``.csv``                              a table, an edge a row; ids are numbers or names
``"parquet"``    ``.parquet``                          the same
``"feather"``    ``.feather`` ``.arrow``               the same
===============  ====================================  ==============================================================

A name may go on with ``.gz``, ``.bz2`` or ``.xz``: the file is then compressed. A text file without weights reads as
weights 1 (float32); whole-number weights read as int64 (uint64, where it takes that), others as float64. Parallel edges
are kept. Tables need pyarrow (``pip install 'gasla[arrow]'``), and are read as a `Graph`, which has the names of
vertices; without a column of weights, it has no values. So is an edge list with a header, with names for ids, or with
another separator than spaces. Lines that begin with ``#`` or ``%`` are comments: anywhere in an edge list, and above
the first row of a CSV file.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from gasla.graph.io import dimacs, edge_tables, edges, matrix_market, metis, npz
from gasla.graph.io.files import COMPRESSIONS, FormatError, compress, to_csr, translate_errors
from gasla.graph.io.separated import SPACES, is_plain
from gasla.output import replacing

if TYPE_CHECKING:
    from gasla.graph.exchange.columns import Column

__all__ = ["TABLES", "FormatError", "format_of", "read", "write"]

_FORMATS: dict[str, ModuleType] = {"mtx": matrix_market, "edges": edges, "gr": dimacs, "metis": metis, "npz": npz}
_NAMES = {suffix: format for format, module in _FORMATS.items() for suffix in module.SUFFIXES}

_NAMES |= edge_tables.SUFFIXES
TABLES = tuple(dict.fromkeys(edge_tables.SUFFIXES.values()))
_ALL = (*_FORMATS, *TABLES)
_NETWORKX = (".graphml", ".gml", ".gexf", ".net", ".dot", ".json")


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    src: Column | None = None,
    dst: Column | None = None,
    weight: Column | None = None,
    names: bool | None = None,
    separator: str | None = None,
    on_bad_rows: Literal["error", "skip"] = "error",
) -> Any:
    r"""Return the graph in a file: a square sparse array, columns ascending in every row, or of a table a `Graph`.

    Parameters
    ----------
    path : path
    format : {"mtx", "edges", "gr", "metis", "npz", "csv", "parquet", "feather"}, optional
        By default told by the name (see `gasla.io`).
    src, dst, weight, names : optional
        Of tables and edge lists: columns, by name or place, and whether ids are names; see `Graph.from_table`. The
        first line of a text is a header unless it holds a number; where it doesn't and nothing else tells, names of
        columns say that it is, and places that it isn't.
    separator : str, optional
        Of CSV files and edge lists: the character between columns, or ``" "`` for any number of spaces and tabs. By
        default the comma, semicolon, tab or ``|`` that divides the first two rows into equally many columns; without
        one, spaces in an edge list.
    on_bad_rows : {"error", "skip"}
        Of CSV files and edge lists: what to do with a row that has another number of columns than the first, or a cell
        that is no id or no number. ``"skip"`` leaves such rows out, and warns with how many there are, and with the
        line and the fault of the first.

    Returns
    -------
    scipy.sparse.csr_array or Graph
        A Graph of a table, and of an edge list whose ids are names.

    Warns
    -----
    UserWarning
        If rows were left out.

    Raises
    ------
    FormatError
        The file is malformed or truncated; the message names the line, what stood there and what was expected.
    MemoryError
        The file asks for more memory than there is; the message has both numbers. Where only the ids show that, it is
        a FormatError, too.
    ImportError
        pyarrow is missing, and it is a table.

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
    path = as_path(path)
    format = format_of(path, format)
    if on_bad_rows not in ("error", "skip"):
        raise ValueError(f"on_bad_rows is {on_bad_rows!r}; expected 'error' or 'skip'")
    is_text, skips = format in ("csv", "edges"), on_bad_rows == "skip"
    if not is_text and (separator is not None or skips):
        raise ValueError(f"separator and on_bad_rows are of CSV files and edge lists; {path} is read as {format!r}")
    columns = src, dst, weight
    if format in TABLES:
        return edge_tables.read(path, format, columns, names, separator, skips)
    if format != "edges":
        if any(given is not None for given in (*columns, names)):
            raise ValueError(f"src, dst, weight and names are of tables and edge lists; {path} is read as {format!r}")
        with translate_errors(path):
            return _FORMATS[format].read(path)
    has_columns = separator not in (None, SPACES) or any(given is not None for given in columns)
    if not path.is_file() or (not has_columns and not names and is_plain(path)):  # a pipe is read once
        with translate_errors(path):
            return edges.read(path, skips, is_numbered=names is False)
    graph = edge_tables.read(path, format, columns, names, separator, skips)
    return graph if graph.names is not None else to_csr(graph.n, *graph.edges(), graph.values)


def write(path: str | os.PathLike[str], A: Any, format: str | None = None) -> None:
    """Write a graph to a file; a file of that name is replaced once the new one is complete, and not before.

    Parameters
    ----------
    path : path
    A : sparse array, sparse matrix or Graph
    format : {"mtx", "edges", "gr", "metis", "npz", "csv", "parquet", "feather"}, optional
        By default told by the name (see `gasla.io`). Tables hold names, and no vertices without edges: a graph that
        would come back without some is refused, unless it goes to Parquet or Feather and has no names. A CSV file
        doesn't tell names that are numbers below 2**31 from numbers of vertices: read it with ``names=True``.

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
    with replacing(path) as file, compress(file, path) as stream:
        if format in _FORMATS:
            _FORMATS[format].write(stream, graph, path)
        else:
            edge_tables.write(stream, graph.to("cpu"), path, format)


def as_path(path: Any) -> Path:
    """A path, or an error that says where it goes."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path is a {type(path).__name__}; expected the name of a file, which comes first: "
            "gasla.io.write('graph.mtx', graph), gasla.io.read('graph.mtx')"
        )
    return Path(path)


def format_of(path: str | os.PathLike[str], format: str | None = None) -> str:
    """Return the format of a file: `format` if it is given, or what the name of `path` tells.

    Examples
    --------
    >>> format_of("roads.gr.xz")
    'gr'
    """
    path = Path(path)
    if format is None:
        suffixes = [suffix.lower() for suffix in path.suffixes]
        if suffixes and suffixes[-1] in COMPRESSIONS:
            suffixes.pop()
        if not suffixes or suffixes[-1] not in _NAMES:
            foreign = suffixes and suffixes[-1] in _NETWORKX
            hint = "; networkx reads it, and Graph.from_networkx takes what it gives" if foreign else ""
            raise ValueError(
                f"{path}: the name does not tell the format; expected one that ends in {', '.join(_NAMES)}, "
                f"or format= one of {', '.join(_ALL)}{hint}"
            )
        format = _NAMES[suffixes[-1]]
    if format not in _ALL:
        raise ValueError(f"format is {format!r}; expected one of {', '.join(_ALL)}")
    return format
