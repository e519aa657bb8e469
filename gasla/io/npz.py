"""NumPy archives as `scipy.sparse.save_npz` writes them; SciPy reads and writes them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gasla.io.files import FormatError, open_bytes, to_csr, weights

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from gasla.graph import Graph

SUFFIXES = (".npz",)


def read(path: Path) -> csr_array:
    """Return the graph in an archive."""
    from scipy.sparse import coo_array, coo_matrix, csr_array, load_npz

    with open_bytes(path) as stream:
        try:
            A = load_npz(stream)
            if A.format != "coo":
                A = csr_array(A)
                A.check_format(full_check=True)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, zipfile.BadZipFile) as error:
            raise FormatError(path, None, f"{error}; expected what scipy.sparse.save_npz writes") from error
    rows, columns = A.shape
    if rows != columns:
        raise FormatError(path, None, f"a matrix of {rows} x {columns}; expected a square one, a row a vertex")
    return to_csr(rows, A.row, A.col, A.data) if isinstance(A, (coo_array, coo_matrix)) else csr_array(A)


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write an archive of the CSR arrays."""
    from scipy.sparse import csr_array, save_npz

    archive = io.BytesIO()  # an archive seeks back, which a compressed stream cannot do
    save_npz(archive, csr_array((weights(graph), graph.out.indices, graph.out.indptr), shape=(graph.n, graph.n)))
    stream.write(archive.getbuffer())
