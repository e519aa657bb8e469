"""NumPy archives as `scipy.sparse.save_npz` writes them; SciPy reads and writes them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gasla.io.files import FormatError, open_bytes, to_csr, weights
from semirings.types import SCALAR_NAMES

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from gasla.graph import Graph

SUFFIXES = (".npz",)


def read(path: Path) -> csr_array:
    """Return the graph in an archive."""
    from scipy.sparse import coo_array, coo_matrix, csr_array, load_npz

    expected = "expected what scipy.sparse.save_npz writes"
    with open_bytes(path) as stream:
        if not zipfile.is_zipfile(stream):
            raise FormatError(path, None, f"is no archive, or truncated; {expected}")
        stream.seek(0)
        try:
            A = load_npz(stream)
            if A.ndim == 2 and A.format != "coo":
                A = csr_array(A)
                A.check_format(full_check=True)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, zipfile.BadZipFile) as error:
            reason = "holds no sparse array" if "does not contain" in str(error) else error
            raise FormatError(path, None, f"{reason}; {expected}") from error
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        shape = " x ".join(map(str, A.shape))
        raise FormatError(path, None, f"a matrix of {shape}; expected a square one, a row a vertex")
    if A.dtype.name not in SCALAR_NAMES:
        raise FormatError(path, None, f"holds {A.dtype} values; expected one of {', '.join(SCALAR_NAMES)}")
    rows = A.shape[0]
    return to_csr(rows, A.row, A.col, A.data) if isinstance(A, (coo_array, coo_matrix)) else csr_array(A)


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write an archive of the CSR arrays."""
    from scipy.sparse import csr_array, save_npz

    archive = io.BytesIO()  # an archive seeks back, which a compressed stream cannot do
    save_npz(archive, csr_array((weights(graph), graph.out.indices, graph.out.indptr), shape=(graph.n, graph.n)))
    stream.write(archive.getbuffer())
