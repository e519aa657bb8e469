"""Oracles of motifs and triads: every set of three or four vertices is looked at."""

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np

from gasla.verify._common import VerificationError
from tests.oracles.patterns import matrix_one_way

# Degrees in ascending order, and (out-degree, in-degree) of all vertices: no two forms have the same.
MOTIFS = {
    "path3": (1, 1, 2),
    "triangle": (2, 2, 2),
    "path4": (1, 1, 2, 2),
    "star3": (1, 1, 1, 3),
    "cycle4": (2, 2, 2, 2),
    "paw": (1, 2, 2, 3),
    "diamond": (2, 2, 3, 3),
    "clique4": (3, 3, 3, 3),
}
TRIADS = {
    name: tuple(sorted((int(pair[0]), int(pair[1])) for pair in degrees.split()))
    for name, degrees in {
        "003": "00 00 00",
        "012": "10 01 00",
        "102": "11 11 00",
        "021D": "20 01 01",
        "021U": "02 10 10",
        "021C": "10 11 01",
        "111D": "11 12 10",
        "111U": "11 21 01",
        "030T": "20 11 02",
        "030C": "11 11 11",
        "201": "22 11 11",
        "120D": "20 12 12",
        "120U": "02 21 21",
        "120C": "21 11 12",
        "210": "21 22 12",
        "300": "22 22 22",
    }.items()
}


def motif_counts(graph: Any, counts: dict[str, int]) -> None:
    """Verify the number of induced motifs of three and four vertices.

    Examples
    --------
    >>> import gasla
    >>> square = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> motif_counts(square, gasla.motif_counts(square))
    """
    one_way = matrix_one_way(graph).toarray() > 0
    joined, found = one_way | one_way.T, Counter[tuple[int, ...]]()
    for size in (3, 4):
        for some in combinations(range(len(joined)), size):
            part = joined[np.ix_(some, some)]
            reached = np.linalg.matrix_power(part.astype(int) + np.eye(size, dtype=int), size)
            if (reached > 0).all():
                found[tuple(sorted(part.sum(axis=1).tolist()))] += 1
    _compare({name: found[degrees] for name, degrees in MOTIFS.items()}, counts)


def triadic_census(graph: Any, counts: dict[str, int]) -> None:
    """Verify the number of triads of each type.

    Examples
    --------
    >>> import gasla
    >>> ring = gasla.Graph.from_edges([0, 1, 2], [1, 2, 0])
    >>> triadic_census(ring, gasla.triadic_census(ring))
    """
    edges = matrix_one_way(graph).toarray()
    found = Counter[tuple[tuple[int, int], ...]]()
    for some in combinations(range(len(edges)), 3):
        part = edges[np.ix_(some, some)]
        found[tuple(sorted(zip(part.sum(axis=1).tolist(), part.sum(axis=0).tolist())))] += 1
    _compare({name: found[degrees] for name, degrees in TRIADS.items()}, counts)


def _compare(right: dict[str, int], counts: dict[str, int]) -> None:
    for name in right.keys() | counts.keys():
        if counts.get(name) != right.get(name):
            raise VerificationError(f"{name} is there {right.get(name)} times, not {counts.get(name)}")
