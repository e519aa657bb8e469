"""Graph files: `read` and `write`, the format told by the file's name.

===============  ====================================  ==============================================================
format           names                                 what it holds
===============  ====================================  ==============================================================
``"mtx"``        ``.mtx``                              Matrix Market, coordinate form
``"edges"``      ``.txt`` ``.el`` ``.wel`` ``.tsv``    an edge a line, ids from 0, with or without a weight (SNAP)
``"gr"``         ``.gr``                               DIMACS: arcs of the 9th challenge, or the PACE form (undirected)
``"metis"``      ``.graph`` ``.metis``                 METIS: undirected, the neighbours of a vertex a line
``"npz"``        ``.npz``                              `scipy.sparse.save_npz`
===============  ====================================  ==============================================================

A name may go on with ``.gz``, ``.bz2`` or ``.xz``: the file is then compressed. A text file without weights reads as
weights 1 (float32); whole-number weights read as int64, others as float64. Parallel edges are kept.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gasla.graph.io import dimacs, edges, matrix_market, metis, npz
from gasla.graph.io.files import COMPRESSIONS, FormatError, compressed, translated
from gasla.output import replacing

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["FormatError", "format_of", "read", "write"]

_FORMATS: dict[str, ModuleType] = {"mtx": matrix_market, "edges": edges, "gr": dimacs, "metis": metis, "npz": npz}
_NAMES = {suffix: format for format, module in _FORMATS.items() for suffix in module.SUFFIXES}


def read(path: str | os.PathLike[str], format: str | None = None) -> csr_array:
    r"""Return the graph in a file as a square sparse array, columns ascending in every row.

    Parameters
    ----------
    path : path
    format : {"mtx", "edges", "gr", "metis", "npz"}, optional
        By default told by the name (see `gasla.io`).

    Raises
    ------
    FormatError
        The file is malformed or truncated; the message names the line and what was expected there.

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
    path = Path(path)
    module = _FORMATS[format_of(path, format)]
    with translated(path):
        A: csr_array = module.read(path)
        return A


def write(path: str | os.PathLike[str], A: Any, format: str | None = None) -> None:
    """Write a graph to a file; a file of that name is replaced once the new one is complete, and not before.

    Parameters
    ----------
    path : path
    A : sparse array, sparse matrix or Graph
    format : {"mtx", "edges", "gr", "metis", "npz"}, optional
        By default told by the name (see `gasla.io`).

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

    path = Path(path)
    module = _FORMATS[format_of(path, format)]
    graph = as_graph(A)
    with replacing(path) as file, compressed(file, path) as stream:
        module.write(stream, graph, path)


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
            raise ValueError(
                f"{path}: the name does not tell the format; expected one that ends in {', '.join(_NAMES)}, "
                f"or format= one of {', '.join(_FORMATS)}"
            )
        format = _NAMES[suffixes[-1]]
    if format not in _FORMATS:
        raise ValueError(f"format is {format!r}; expected one of {', '.join(_FORMATS)}")
    return format
