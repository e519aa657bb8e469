"""Graph files: `read` and `write`. The file name determines the format.

{formats}

A further suffix ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` compresses the file (``.zst`` by pyarrow). Every file is read as
a `Graph`, without values if the file has no weights. Whole-number weights are read as int64 (uint64 if they need it),
all others as float64. Parallel edges are kept. Tables need pyarrow (``pip install 'gasla[arrow]'``), GraphML and GML
NetworkX (``pip install 'gasla[networkx]'``). Edge lists with a header, with names as ids, or with a separator other
than spaces are read as tables. Lines that begin with ``#`` or ``%`` are comments: anywhere in an edge list, and above
the first row of a CSV file. In an edge list of numbers, so is the rest of a line from a word that begins with one.

A missing value is an error that names its place; an edge of a file with attributes without a weight, where others have
one, counts 1, with a warning. Attributes that are no numbers everywhere are left out of such a file, with a warning.
`write` refuses a graph of which a format would lose some.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from gasla.graph.arguments import check_flags
from gasla.graph.io import edge_tables, edges, folder, formats, mapped_csr, matrix_market, networkx_files, npz, sorting
from gasla.graph.io.edge_tables import Columns
from gasla.graph.io.files import FormatError, Part, compress, to_graph, translate_errors
from gasla.graph.io.formats import ALL, EDGES, FORMATS, NAMES, TABLES
from gasla.graph.io.separated import SPACES, is_bipartite, is_plain
from gasla.graph.validate import are_sparse
from gasla.output import replacing

if TYPE_CHECKING:
    from gasla.graph.exchange.columns import Column
    from gasla.graph.graph import Graph

__all__ = ["TABLES", "FormatError", "convert", "format_of", "open", "read", "write"]
__doc__ = (__doc__ or "").format(formats=formats.table())


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
    bipartite: bool | None = None,
    undirected: bool | None = None,
    vertices: Any = None,
    vertex: Column | None = None,
    on_bad_rows: Literal["error", "skip"] = "error",
) -> Graph:
    r"""Return the graph in a file.

    Parameters
    ----------
    path : path
    format : str, optional
        One of the formats of `gasla.io`. By default determined by the file name.
    src, dst, weight, names : optional
        For tables and edge lists: columns by name or position, and whether ids are names; see `Graph.from_table`. For
        files that name their attributes, `weight` is the name of one (`Graph.weighted_by`). The first line of a text
        file is a header unless it contains a number. If it contains no number and could be either, passing names of
        columns says that it is a header, passing positions that it is an edge.
    attributes : list of str or int, optional
        For tables and edge lists: columns of numbers or dates to keep as `edge_attributes` of a `Graph`. By default
        those that `write` has written to a Parquet or Feather file.
    separator : str, optional
        For CSV files and edge lists: the character between columns, or ``" "`` for any number of spaces and tabs. By
        default the comma, semicolon, tab or ``|`` that divides the first two rows into the same number of columns; if
        there is none, spaces in an edge list.
    bipartite : bool, optional
        For tables and edge lists: whether the two columns hold two kinds of vertices, see `Graph.from_table`; for
        Matrix Market files: whether rows and columns are two sides, see `Graph.from_bipartite`. By default True for a
        file of KONECT that says so by ``% bip``.
    undirected : bool, optional
        True: every edge leads both ways, in any format. An edge is followed by its reverse, unless each edge of the
        file has an equal reverse edge already. By default the file decides.
    vertices : path or table, optional
        A row for each vertex, as in `Graph.from_table`: a table in memory, or a file, CSV, Parquet, Feather, or DIMACS
        coordinates (``.co``), whose columns become the attributes x and y. With `bipartite` that of one side, or two.
    vertex : str or int, optional
        The column of ids in `vertices`.
    on_bad_rows : {"error", "skip"}
        For CSV files and edge lists: what to do with a row with another number of columns than the first, or with an
        invalid id or weight. ``"skip"`` leaves these rows out, and warns with their number and the first error.

    Returns
    -------
    Graph
        On the CPU. Edges of tables are numbered in the order of the rows, of other formats by their sources and, for
        each source, by ascending targets. A folder is opened (`open`). ``to_scipy()`` is its matrix.

    Warns
    -----
    UserWarning
        If rows were left out, or attributes or labels of a file; if edges without a weight count 1; or if ids of two
        kinds of vertices seem to be the same.

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
    >>> read(path), read(path, undirected=True).m
    (Graph(n=3, m=3, values=None), 6)
    """
    from gasla.graph.exchange.libraries import undirected as with_reverses

    path = as_path(path)
    format = format_of(path, format)
    if on_bad_rows not in ("error", "skip"):
        raise ValueError(f"on_bad_rows is {on_bad_rows!r}; expected 'error' or 'skip'")
    is_text, skips = format in ("csv", "edges"), on_bad_rows == "skip"
    if not is_text and (separator is not None or skips):
        raise ValueError(f"separator and on_bad_rows are for CSV files and edge lists; {path} is read as {format!r}")
    flags = {"bipartite": bipartite, "undirected": undirected}
    check_flags(**{name: argument for name, argument in flags.items() if argument is not None})
    if format == "edges" and bipartite is None and path.is_file() and is_bipartite(path):
        bipartite = True
    columns = Columns(src, dst, weight, attributes, bipartite, undirected)
    graph = _read(path, format, columns, names, separator, skips)
    if vertices is not None:
        graph = edge_tables.joined(graph, vertices, vertex, names)
    return with_reverses(graph) if undirected else graph


def _read(path: Path, format: str, columns: Columns, names: bool | None, separator: str | None, skips: bool) -> Graph:
    """Return the graph in a file of a known format, with only the edges that the file stores.

    If the caller passed ``undirected=True``, `read` adds the reverse edges afterwards.
    """
    from gasla.graph.graph import as_graph

    if format in TABLES:
        return edge_tables.read(path, format, columns, names, separator, skips)
    if set(FORMATS[format].keeps) == {*ALL} and columns.given == [columns.weight] and names is None:
        return as_graph(_read(path, format, Columns(), None, None, False)).weighted_by(cast(str, columns.weight))
    if format == "folder" and not columns.given and names is None:
        return open(path)
    if format == "mtx" and not columns.given and names is None:
        with translate_errors(path):
            return matrix_market.read(path, columns.bipartite)
    if format != "edges":
        if columns.given or names is not None or columns.bipartite is not None:
            options_text = "src, dst, weight, attributes, names and bipartite"
            raise ValueError(f"{options_text} are for tables and edge lists; {path} is read as {format!r}")
        with translate_errors(path):
            return cast("Graph", FORMATS[format].module.read(path))
    if path.is_file() and not columns.given and names is None and networkx_files.has_dicts(path):
        return networkx_files.read_edge_list(path)
    has_columns = separator not in (None, SPACES) or bool(columns.given) or columns.bipartite
    # A pipe can be read only once. Looking at its first row would consume that row, so a pipe is always read as a plain
    # edge list.
    if not path.is_file() or (not has_columns and not names and is_plain(path)):
        with translate_errors(path):
            return edges.read(path, skips, names is False, columns.bipartite)
    graph = edge_tables.read(path, format, columns, names, separator, skips)
    if graph.names is not None or graph.edge_attributes:
        return graph
    return to_graph(graph.n, *graph.edges(), graph.values)


def read_ends(path: str | os.PathLike[str], **reading: Any) -> Graph:
    """Return the graph in a file without its weights and attributes.

    Further columns of a table are ignored, so they need not be numbers.
    """
    path = as_path(path)
    format = format_of(path)
    if format in TABLES or (format == "edges" and not is_plain(path)):
        return edge_tables.read(path, format, Columns(only_ends=True), **reading)
    return read(path, format).with_values(None)


def write(path: str | os.PathLike[str], A: Any, format: str | None = None, *, lossy: bool = False) -> None:
    """Write a graph to a file. An existing file is replaced only after the new one is complete.

    Parameters
    ----------
    path : path
    A : sparse array, sparse matrix or Graph
    format : str, optional
        One of the formats of `gasla.io`. By default determined by the file name. Tables can't store vertices without
        edges; a graph that would lose vertices is an error (Parquet and Feather store the number of vertices of a graph
        without names). If names are integers below 2**31, read the CSV file with ``names=True``.
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
    >>> (read(path).to_scipy() != datasets.grid(4)).nnz
    0
    """
    from gasla.graph.graph import whole_graph

    path = as_path(path)
    format = format_of(path, format, to_write=True)
    graph = whole_graph(A)
    check_flags(lossy=lossy)
    if not lossy and (lost := unstored(graph, format)):
        able = ", ".join(row.suffixes[0] for row in FORMATS.values() if row.keeps == ALL and row.is_written)
        can = f"{able} can; pass lossy=True to leave out what the format can't store"
        raise ValueError(f"{path}: {format} files can't store {' and '.join(lost)}; {can}")
    if format == "folder":
        graph = graph.to("cpu")
        sorting.write_folder(path, sorting.parts_of(graph), sorting.default_memory(), graph)
        return
    with replacing(path) as file, compress(file, path) as stream:
        if format in TABLES:
            edge_tables.write(stream, graph.to("cpu"), path, format)
        else:
            FORMATS[format].module.write(stream, graph, path)


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
    keeps = FORMATS[format].keeps
    same = graph.edge_attributes.name_of(graph.values)
    lost = [] if NAMES in keeps or graph.naming is None else [formats.NAMES_OF_VERTICES]
    lost += [] if EDGES in keeps else [f"the edge attribute {name!r}" for name in graph.edge_attributes if name != same]
    return lost + ([] if keeps == ALL else [f"the vertex attribute {name!r}" for name in graph.vertex_attributes])


def open(path: str | os.PathLike[str]) -> Graph:
    """Open a graph without reading it: its arrays are memory-mapped, and pages are read on first access.

    A graph may thus be larger than memory. Searches, shortest paths, PageRank and components take memory in proportion
    to the number of vertices only, and so do core numbers of a symmetric graph without self loops and parallel edges.
    Functions that build other lists of the edges take more, such as core numbers of another graph: 30 bytes per edge.

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
        Bytes that sorting may take, apart from 16 per vertex; by default an eighth of what is free, at most 1 GiB. The
        disk meanwhile holds up to 50 bytes per edge, and twice its attributes, in the parent folder of the target.
    **reading
        Arguments of `read` for tables and edge lists: `src`, `dst`, `weight`, `attributes`, `names`, `separator`,
        `bipartite`, `on_bad_rows`.

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
    edge_parts, graph = _parts_or_graph(source, format_of(source, format), reading)
    with translate_errors(source):
        sorting.write_folder(target, edge_parts, memory or sorting.default_memory(), graph)
    return folder.open_folder(target)


def _parts_or_graph(path: Path, format: str, reading: dict[str, Any]) -> tuple[Iterator[Part], Graph | None]:
    """Return the edges of a file in parts, and the graph if the file had to be read as a whole.

    If the format allows reading in bounded memory, the parts are read one by one, and None is returned in place of the
    graph. Otherwise the whole graph is read first, and the parts are slices of its edges.
    """
    blocks = _read_in_parts(path, format, reading)
    if blocks is not None:
        return blocks, None
    graph = read(path, format, **reading)
    return sorting.parts_of(graph), graph


def _read_in_parts(path: Path, format: str, reading: dict[str, Any]) -> Iterator[Part] | None:
    """Return an iterator over parts of a file's edges, which never holds the whole file in memory.

    Return None if the format or the arguments of `convert` require reading the file as a whole.
    """
    names = reading.get("names")
    columns = Columns(**{name: reading[name] for name in ("src", "dst", "weight", "attributes") if name in reading})
    if format in ("mtx", "gr") and not reading:
        return cast(Iterator[Part], FORMATS[format].module.parts(path))
    if format == "npz" and not reading:
        return npz.parts(path)
    if format == "edges" and path.is_file() and (is_bipartite(path) or networkx_files.has_dicts(path)):
        return None
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
    return blocks if blocks is None or names is False else _check_ids_at_end(path, blocks)


def _check_ids_at_end(path: Path, parts: Iterator[Part]) -> Iterator[Part]:
    """Yield the parts of a file's edges unchanged, and check at the end that ids are vertex numbers.

    After the last part, raise FormatError if the largest id is so large for the number of edges that ids may be names,
    such as account numbers. A file that states its number of vertices is not checked.
    """
    n, m, states_n = 0, 0, False
    for edge_part in parts:
        n, m = (
            max(n, edge_part.n, *(1 + int(ids.max(initial=-1)) for ids in (edge_part.src, edge_part.dst))),
            m + len(edge_part.src),
        )
        states_n = states_n or edge_part.states_n
        yield edge_part
    if not states_n and (doubt := are_sparse(n, m)):
        raise FormatError(path, None, doubt)


def as_path(path: Any) -> Path:
    """Return `path` as a Path.

    Raise TypeError if it is neither a string nor a path, such as a graph in the wrong place.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path is a {type(path).__name__}; expected a file name as the first argument: "
            "gasla.io.write('graph.mtx', graph), gasla.io.read('graph.mtx')"
        )
    return Path(path)


def format_of(path: str | os.PathLike[str], format: str | None = None, *, to_write: bool = False) -> str:
    """Return the format of a file: the argument `format`, or if that is None, the format of the suffix of `path`.

    With `to_write` the error says what to write instead of a format that gasla lacks.

    Examples
    --------
    >>> format_of("roads.gr.xz")
    'gr'
    """
    return formats.format_of(Path(path), format, to_write=to_write)
