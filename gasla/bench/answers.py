"""Do answers say the same? Each takes one form first: parents become depths, labels become smallest members."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, moved

UNREACHED = 1e300  # distances from here on mean out of reach: some peers write inf, some the largest double


def disagreements(algorithm: str, answers: dict[str, Any], sources: list[int], trusted: str | None) -> dict[str, str]:
    """Say whose answer is not the others', and whose overflowed.

    Parameters
    ----------
    answers : dict
        By contestant, gasla first; arrays of NumPy or CuPy.
    trusted : str or None
        Whose answer was found right by its properties. Where there is none, the answer that most agree with is taken
        for the right one, a peer's rather than gasla's.
    """
    forms = {name: comparable(algorithm, answer, sources) for name, answer in answers.items()}
    finite = {n: a for n, a in forms.items() if algorithm != "betweenness" or np.isfinite(a).all()}
    notes = {name: "overflows" for name in forms if name not in finite}
    if len(finite) > 1:
        reference = trusted if trusted in finite else _most_agreed(algorithm, finite)
        for name, form in finite.items():
            if name != reference and not agree(algorithm, form, finite[reference]):
                notes[name] = f"wrong: differs from {reference}"
    return notes


def _most_agreed(algorithm: str, forms: dict[str, np.ndarray]) -> str:
    others = [*list(forms)[1:], next(iter(forms))]
    return max(others, key=lambda name: sum(agree(algorithm, forms[name], form) for form in forms.values()))


def comparable(algorithm: str, answer: Any, sources: list[int]) -> np.ndarray:
    """Return the answer, found from these sources, as a NumPy array that two right answers share, up to rounding."""
    form: np.ndarray = _FORMS[algorithm](np.asarray(moved(answer, "cpu")), sources)
    return form


def agree(algorithm: str, a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two comparable answers are equal, up to what float32 sums may differ by."""
    if a.shape != b.shape:
        return False
    if algorithm == "pagerank":
        return bool(np.abs(a - b).sum() < 1e-3)
    if algorithm == "betweenness":
        return bool(np.allclose(a, b, rtol=1e-3, atol=1e-6))
    return bool(np.array_equal(a, b))


def depths(parents: Any, source: int) -> Any:
    """Return how many steps every vertex is from the source along its parents, -1 where they do not lead there."""
    xp = array_module(parents)
    vertices = xp.arange(len(parents))
    ancestor = xp.where(parents < 0, vertices, parents)
    ancestor[source] = source
    steps = (ancestor != vertices).astype(np.int64)
    while bool((ancestor != (further := ancestor[ancestor])).any()):
        steps += steps[ancestor]
        ancestor = further
    return xp.where(ancestor == source, steps, -1)


def _distances(values: np.ndarray, _: list[int]) -> np.ndarray:
    values = values.astype(np.float64)
    return np.where(values < UNREACHED, values, np.inf)


def _smallest_members(labels: np.ndarray, sources: list[int]) -> np.ndarray:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return first[inverse]


def _ranks(values: np.ndarray, _: list[int]) -> np.ndarray:
    """Ranks with sum one: NetworKit lets the share of vertices without edges go."""
    values = values.astype(np.float64)
    return values / values.sum()


def _scores(values: np.ndarray, sources: list[int]) -> np.ndarray:
    """Scores relative to the largest, but for the sources: peers scale undirected graphs and sources in other ways."""
    values = values.astype(np.float64)
    values[sources] = 0
    return values / max(values.max(initial=0.0), np.finfo(np.float64).tiny) if np.isfinite(values).all() else values


_FORMS: dict[str, Any] = {
    "bfs": lambda parents, sources: depths(parents, sources[0]),
    "levels": lambda levels, _: levels,
    "sssp": _distances,
    "pagerank": _ranks,
    "components": _smallest_members,
    "triangles": lambda count, _: count.astype(np.int64),
    "betweenness": _scores,
}
