"""Build gasla/data/ny_roads.npz from the road graph of New York City in PACE 2016 form.

    python tools/build_ny_roads.py NY.gr.xz

Input: NY.gr.xz of https://github.com/ben-strasser/road-graphs-pace16: `c` comments, one line `p tw VERTICES EDGES`,
then one line `u v` per edge, u < v, vertices from 1, sorted. Output, compressed by LZMA: for each vertex the number of
its larger neighbors; for each edge v - u as three bytes, in three planes (all low bytes, then middle, then high bytes).
"""

import sys
import zipfile
from pathlib import Path

import numpy as np

TARGET = Path(__file__).resolve().parent.parent / "gasla" / "data" / "ny_roads.npz"


def main(path: str) -> None:
    """Read the graph, and write it in packed form."""
    edges = np.loadtxt(path, dtype=np.int64, comments=["c", "p"])
    with_header = np.genfromtxt(path, dtype=str, comments="c", max_rows=1)
    u, v = edges.T - 1
    assert (np.diff(u) >= 0).all() and (u < v).all(), "edges must be sorted, smaller end first"
    counts = np.bincount(u, minlength=int(with_header[2])).astype(np.uint8)
    steps = (v - u).astype("<u4").view(np.uint8).reshape(-1, 4).T
    with zipfile.ZipFile(TARGET, "w", zipfile.ZIP_LZMA) as archive:
        for name, array in (("counts", counts), ("steps", np.ascontiguousarray(steps[:3]))):
            member = zipfile.ZipInfo(f"{name}.npy")  # without the current date, so that output is reproducible
            member.compress_type = zipfile.ZIP_LZMA
            with archive.open(member, "w") as stream:
                np.lib.format.write_array(stream, array)
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
