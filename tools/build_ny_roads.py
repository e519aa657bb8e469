"""Build gasla/data/ny_roads.npz from the road graph of New York City in PACE 2016 form.

    python tools/build_ny_roads.py NY.gr.xz

Input: NY.gr.xz of https://github.com/ben-strasser/road-graphs-pace16: `c` comments, one line `p tw VERTICES EDGES`,
then an edge `u v` a line, u < v, vertices from 1, sorted. Kept, compressed with LZMA: for every vertex the number of
its larger neighbours, and for every edge v - u as three bytes in planes (low bytes first, then middle, then high).
"""

import sys
import zipfile
from pathlib import Path

import numpy as np

TARGET = Path(__file__).resolve().parent.parent / "gasla" / "data" / "ny_roads.npz"


def main(path: str) -> None:
    """Read the graph, write it packed."""
    edges = np.loadtxt(path, dtype=np.int64, comments=["c", "p"])
    with_header = np.genfromtxt(path, dtype=str, comments="c", max_rows=1)
    u, v = edges.T - 1
    assert (np.diff(u) >= 0).all() and (u < v).all(), "edges must be sorted, smaller end first"
    counts = np.bincount(u, minlength=int(with_header[2])).astype(np.uint8)
    steps = (v - u).astype("<u4").view(np.uint8).reshape(-1, 4).T
    with zipfile.ZipFile(TARGET, "w", zipfile.ZIP_LZMA) as archive:
        for name, array in (("counts", counts), ("steps", np.ascontiguousarray(steps[:3]))):
            member = zipfile.ZipInfo(f"{name}.npy")  # without today's date: the same bits every time
            member.compress_type = zipfile.ZIP_LZMA
            with archive.open(member, "w") as stream:
                np.lib.format.write_array(stream, array)
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
