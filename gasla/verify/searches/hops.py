"""Verifiers of numbers of hops, such as eccentricities, sizes of neighborhoods and effective diameters."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import (
    SAMPLES,
    Array,
    Edges,
    VerificationError,
    distances_from,
    edges_of,
    sample,
    verifier,
    vertex_answer,
)


def _sampled_levels(edges: Edges, samples: int) -> Iterator[tuple[int, Array]]:
    """Yield each vertex of a random sample, and its distance in edges to every vertex, by SciPy.

    The distance to a vertex that can't be reached is inf.
    """
    matrix = edges.matrix()
    for v in sample(edges.n, samples).tolist():
        yield v, distances_from(matrix, v, unweighted=True)


@verifier()
def eccentricity(graph: Any, distances: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Verify `distances` of `gasla.eccentricity` for `samples` vertices, by searches of SciPy.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> eccentricity(path, [2, 1, 0])
    >>> eccentricity(path, [2, 1, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 has eccentricity 1, but its farthest vertex is at distance 0
    """
    edges = edges_of(graph)
    answer = vertex_answer("distances", distances, edges.n, "iu")
    for v, level in _sampled_levels(edges, samples):
        farthest = int(level[np.isfinite(level)].max())
        if answer[v] != farthest:
            raise VerificationError(
                f"vertex {v} has eccentricity {answer[v]}, but its farthest vertex is at distance {farthest}"
            )


@verifier()
def k_hop_counts(graph: Any, k: int, counts: ArrayLike, *, tolerance: float = 0, samples: int = SAMPLES) -> None:
    """Verify `counts` of `gasla.k_hop_counts` for `samples` vertices, by searches of SciPy.

    The largest relative error that is allowed is `tolerance`. For estimates, it should be some times 1.04 /
    sqrt(registers).

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> k_hop_counts(path, 1, [2.0, 2.0, 1.0])
    >>> k_hop_counts(path, 1, [2.0, 3.0, 1.0], tolerance=0.2)
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 is said to have 3.0 vertices within 1 hops; there are 2
    """
    edges = edges_of(graph)
    answer = vertex_answer("counts", counts, edges.n, "f")
    for v, level in _sampled_levels(edges, samples):
        expected = int((level <= k).sum())
        if not abs(answer[v] - expected) <= tolerance * expected:
            raise VerificationError(
                f"vertex {v} is said to have {answer[v]} vertices within {k} hops; there are {expected}"
            )


@verifier()
def effective_diameter(
    graph: Any, diameter: float, *, share: float = 0.9, tolerance: float = 1e-9, samples: int = SAMPLES
) -> None:
    """Verify the `diameter` that `gasla.effective_diameter` returned: the distance within which the given share of all
    connected pairs of vertices lie.

    The distance is not always whole, because the share is interpolated linearly between whole distances. If half of the
    pairs are within distance 1, and all within distance 2, then three quarters count as within distance 1.5.

    The share may be off by `tolerance`, which should be larger for estimates, and for graphs of more vertices than
    `samples`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ring = csr_array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    >>> effective_diameter(ring, 0.5, share=0.5)
    >>> effective_diameter(ring, 1.5, share=0.5)
    Traceback (most recent call last):
    gasla.verify.VerificationError: 0.8333 of the pairs are within the distance 1.5; expected 0.5
    """
    edges = edges_of(graph)
    if np.ndim(diameter) or not 0 <= diameter < np.inf:
        raise VerificationError(f"the distance is {diameter}; expected a number, 0 or more")
    counts = np.zeros(max(edges.n, 1))
    for _, level in _sampled_levels(edges, samples):
        counts += np.bincount(level[np.isfinite(level)].astype(int), minlength=len(counts))
    within = counts.cumsum()
    longest = int(np.argmax(within == within[-1]))
    if edges.n <= samples and diameter > longest:
        raise VerificationError(f"the distance is {diameter}, but no pair is farther apart than {longest}")
    if not edges.n:  # without vertices there are no pairs whose distances could be verified
        return
    total = within[-1]
    share_within = float(np.interp(diameter, np.arange(len(within)), within)) / total
    if not abs(share_within - share) <= tolerance and not (diameter == 0 and within[0] / total >= share - tolerance):
        raise VerificationError(f"{share_within:.4g} of the pairs are within the distance {diameter}; expected {share}")
