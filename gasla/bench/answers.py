"""Do answers say the same? Each takes one form first: parents become depths, labels become smallest members."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, device_of, moved

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
    if len(answers) < 2 and algorithm != "betweenness":
        return {}  # there is nobody to agree with, and none of these overflows
    if len({device_of(answer) for answer in answers.values()}) > 1:
        answers = {name: moved(answer, "cpu") for name, answer in answers.items()}
    forms = {name: comparable(algorithm, answer, sources) for name, answer in answers.items()}
    finite = {n: a for n, a in forms.items() if algorithm != "betweenness" or bool(np.isfinite(a).all())}
    notes = {name: "overflows" for name in forms if name not in finite}
    if len(finite) > 1:
        reference = trusted if trusted in finite else _most_agreed(algorithm, finite)
        for name, form in finite.items():
            if name != reference and not agree(algorithm, form, finite[reference]):
                notes[name] = f"wrong: differs from {reference}"
    return notes


def _most_agreed(algorithm: str, forms: dict[str, Any]) -> str:
    others = [*list(forms)[1:], next(iter(forms))]
    return max(others, key=lambda name: sum(agree(algorithm, forms[name], form) for form in forms.values()))


def comparable(algorithm: str, answer: Any, sources: list[int]) -> Any:
    """Return the answer, found from these sources, as an array that two right answers share, up to rounding."""
    return _FORMS[algorithm](array_module(answer).asarray(answer), sources)


def agree(algorithm: str, a: Any, b: Any) -> bool:
    """Return whether two comparable answers are equal, up to what float32 sums may differ by."""
    if a.shape != b.shape:
        return False
    if algorithm == "pagerank":
        return bool(abs(a - b).sum() < 1e-3)
    if algorithm == "betweenness":
        return bool((abs(a - b) <= 1e-6 + 1e-3 * abs(b)).all())
    return bool((a == b).all())


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


def _distances(values: Any, _: list[int]) -> Any:
    values = values.astype(np.float64)
    return array_module(values).where(values < UNREACHED, values, np.inf)


def _smallest_members(labels: Any, sources: list[int]) -> Any:
    _, first, inverse = array_module(labels).unique(labels, return_index=True, return_inverse=True)
    return first[inverse]


def _ranks(values: Any, _: list[int]) -> Any:
    """Ranks with sum one: NetworKit lets the share of vertices without edges go."""
    values = values.astype(np.float64)
    return values / values.sum()


def _scores(values: Any, sources: list[int]) -> Any:
    """Scores relative to the largest, but for the sources: peers scale undirected graphs and sources in other ways."""
    values = values.astype(np.float64)
    values[array_module(values).asarray(sources)] = 0
    largest = float(values.max())
    return values / largest if np.isfinite(largest) and largest > 0 else values


_FORMS: dict[str, Any] = {
    "bfs": lambda parents, sources: depths(parents, sources[0]),
    "levels": lambda levels, _: levels,
    "sssp": _distances,
    "pagerank": _ranks,
    "components": _smallest_members,
    "triangles": lambda count, _: count.astype(np.int64),
    "betweenness": _scores,
}
