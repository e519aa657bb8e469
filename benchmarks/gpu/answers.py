"""Is an answer right? Decided on the GPU, from properties that only a right answer has, and from known numbers.

Each function returns what is wrong, or "". `ends` are the sources and destinations of all edges; arrays may be NumPy's
or CuPy's. `gasla.verify` does the same more thoroughly, on the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module

Ends = tuple[Any, Any]


def _found(n: int, vertices: Any) -> Any:
    """Which vertices occur."""
    found = array_module(vertices).zeros(n, bool)
    found[vertices] = True
    return found


def levels(ends: Ends, source: int, level: Any) -> str:
    """No edge skips a level, and whoever is reached has a neighbour one level up."""
    src, dst = ends
    if int(level[source]) != 0 or int((level == 0).sum()) != 1:
        return "another vertex than the source is at level 0"
    above, below = level[src], level[dst]
    if bool(((above >= 0) & ((below < 0) | (below > above + 1))).any()):
        return "an edge skips a level"
    has_neighbour = _found(len(level), dst[(above >= 0) & (below == above + 1)])
    return "a vertex has no neighbour one level up" if bool(((level > 0) & ~has_neighbour).any()) else ""


def parents(ends: Ends, source: int, level: Any, parent: Any) -> str:
    """The source is its own parent; any other reached vertex has an edge from its parent, who is one level up."""
    src, dst = ends
    right = (parent[dst] == src) & (level[src] + 1 == level[dst])
    has_parent = _found(len(level), dst[right])
    has_parent[source] = True
    if int(parent[source]) != source or bool((has_parent != (level >= 0)).any()):
        return "a parent is not one"
    return "" if bool((parent[level < 0] == -1).all()) else "a vertex out of reach has a parent"


def distances(ends: Ends, weights: Any, source: int, distance: Any) -> str:
    """No edge offers a shorter way, and every distance but the source's is attained; weights must be positive."""
    src, dst = ends
    if float(distance[source]) != 0:
        return "the source is not at distance 0"
    offer, have = distance[src] + weights, distance[dst]
    if bool((offer < have).any()):
        return "an edge offers a shorter way"
    attained = _found(len(distance), dst[(offer == have) & (offer < np.inf)])
    attained[source] = True
    return "a distance is not attained" if bool((attained != (distance < np.inf)).any()) else ""


def ranks(pattern: Any, rank: Any, alpha: float = 0.85, tolerance: float = 1e-5) -> str:
    """One more power iteration, in float64 by cuSPARSE or SciPy, hardly moves them. The graph is undirected."""
    n, rank = len(rank), rank.astype(np.float64)
    degree = pattern @ array_module(rank).ones(n)
    lost = float(rank[degree == 0].sum())
    further = (1 - alpha + alpha * lost) / n + alpha * (pattern @ (rank / array_module(rank).maximum(degree, 1)))
    moved = float(abs(further - rank).sum())
    return "" if moved < tolerance else f"another iteration moves the ranks by {moved:.2g}"


def labels(ends: Ends, count: int, label: Any) -> str:
    """No edge leaves its component, and there are as many labels as components; not whether these are connected."""
    if bool((label[ends[0]] != label[ends[1]]).any()):
        return "an edge leaves its component"
    distinct = int(_found(len(label), label).sum())
    return "" if distinct == count else f"{count} components with {distinct} labels"


def scores(score: Any, sources: list[int], depths: list[Any]) -> str:
    """All scores of sampled sources together are the sum of (distance - 1) over all that these reach."""
    n, total = len(score), score.astype(np.float64)
    looked_at = array_module(score).full(n, float(len(sources)))
    looked_at[array_module(score).asarray(sources)] = max(len(sources) - 1, 1)
    total = float((total * looked_at).sum()) * 2 / (n - 1)
    expected = sum(int((level[level > 0] - 1).sum(dtype=np.int64)) for level in depths)
    return "" if abs(total - expected) <= 1e-6 * expected else f"scores sum to {total:.8g}, distances to {expected:.8g}"
