"""Graphs of which one measure varies and the others don't: how cost grows with vertices, edges and diameter alone.

    python -m benchmarks.shapes FOLDER               writes them
    gasla bench --graphs FOLDER/strip3.npz,...       measures them

strip3, strip5, ...      2**18 vertices as a grid of 2**3, 2**5, ... rows: the diameter varies
vertices14, ...          2**23 uniform edges, nearly, between 2**14, ... vertices
degree4, degree16, ...   2**16 vertices with 4, 16, ... uniform edges each, nearly
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, save_npz

from gasla import datasets


def strip(rows: int, columns: int) -> csr_array:
    """A grid, edges to the right and down."""
    ids = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    src = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
    dst = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
    return csr_array((np.ones(len(src), np.float32), (src, dst)), shape=(ids.size, ids.size))


def shapes() -> Iterator[tuple[str, csr_array]]:
    """All of them, with their names."""
    for k in (3, 5, 7, 9):
        yield f"strip{k}", strip(1 << k, 1 << 18 - k)
    for scale in (14, 16, 18, 20):
        yield f"vertices{scale}", datasets.uniform(scale, (1 << 22) >> scale)
    for degree in (4, 16, 64, 256):
        yield f"degree{degree}", datasets.uniform(16, degree // 2)


def main(folder: str) -> None:
    """Write all into a folder."""
    for name, matrix in shapes():
        save_npz(Path(folder) / f"{name}.npz", matrix, compressed=False)


if __name__ == "__main__":
    main(sys.argv[1])
