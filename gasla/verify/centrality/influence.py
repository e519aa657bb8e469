"""Verifier of influence maximization. It simulates cascades, which must reach as many vertices as the answer says."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.arguments import edge_probabilities
from gasla.graph.graph import as_graph
from gasla.verify._common import SAMPLES, VerificationError, edges_of, reachable, verifier

ERRORS = 5  # number of standard errors of the simulations' mean by which the spread may differ from the mean


@verifier()
def influence_maximization(
    graph: Any,
    seeds: ArrayLike,
    spread: float,
    ratio: float | None = None,
    *,
    probability: float | None = 0.1,
    tolerance: float = 0.1,
    samples: int = SAMPLES,
) -> None:
    """Verify `seeds` and `spread` of `gasla.influence_maximization`, and that `ratio`, if given, is within 0 and 1.

    Seeds are different vertices. The mean number of vertices that `samples` simulated cascades reach from them differs
    from the spread by at most `tolerance` times the mean, and some standard errors. Probabilities that the function
    refuses are its errors here, too.

    Examples
    --------
    >>> from gasla import Graph
    >>> star = Graph.from_edges([0, 0, 0], [1, 2, 3])
    >>> influence_maximization(star, [0], 4.0, probability=1)
    >>> influence_maximization(star, [1], 4.0, probability=1)
    Traceback (most recent call last):
    gasla.verify.VerificationError: the spread is 4; cascades reach 1 vertices on average
    """
    edges = edges_of(graph)
    seed_ids = np.asarray(seeds)
    if seed_ids.ndim != 1 or seed_ids.dtype.kind not in "iu" or not len(seed_ids):
        raise VerificationError(f"seeds are {seed_ids.dtype} of shape {seed_ids.shape}; expected ids of vertices")
    if seed_ids.min() < 0 or seed_ids.max() >= edges.n or len(np.unique(seed_ids)) < len(seed_ids):
        raise VerificationError(f"the seeds {seed_ids.tolist()} are not different vertices")
    if ratio is not None and not 0 <= ratio <= 1:
        raise VerificationError(f"the ratio is {ratio}; expected 0 to 1")
    chances = edge_probabilities(as_graph(graph), probability)
    rng, chance = np.random.default_rng(0), edges.weight if probability is None else chances
    sizes = []
    for _ in range(samples):
        passes = rng.random(len(edges.src)) < chance
        sizes.append(reachable(edges.n, edges.src[passes], edges.dst[passes], seed_ids).sum())
    mean, error = float(np.mean(sizes)), float(np.std(sizes)) / np.sqrt(samples)
    if not abs(spread - mean) <= tolerance * mean + ERRORS * error:
        raise VerificationError(f"the spread is {spread:g}; cascades reach {mean:g} vertices on average")
