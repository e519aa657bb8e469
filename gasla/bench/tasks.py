"""What is measured, an entry an algorithm: where it starts, when two answers agree, what a right one is like.

A contestant's method of that name is called with a source, with several, or with nothing. Whatever measures (`gasla
bench`, the asv suite, `benchmarks.compare`, `benchmarks.gpu`) reads this table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from gasla.arrays import array_module, device_of, moved
from gasla.bench import answers, properties
from gasla.bench.graphs import SELECTED, BenchmarkGraph
from gasla.bench.peers import DRAWN, STEPS

SOME = 4  # sources of a call that takes several, where the table doesn't say how many


def walkers_times(each: int) -> Callable[[BenchmarkGraph], int]:
    """How many steps all walkers take, of so many each: none comes to an end, as edges lead both ways."""
    return lambda graph: each * len(graph.walkers)


class Task(NamedTuple):
    """What a benchmark has to know of one algorithm."""

    starts: Literal["source", "sources", "nowhere"]  # what its method is called with
    broken: Callable[[BenchmarkGraph, Any, list[int]], str]  # what is wrong with gasla's answer, or ""
    form: Callable[[Any, list[int]], Any] = lambda answer, _: answer  # what two right answers share
    agree: Callable[[Any, Any], bool] = answers.equal  # whether two forms are equal, up to rounding
    several: int | None = None  # how many sources it takes
    part: float = 1.0  # of the stored edges that count
    counted: Callable[[BenchmarkGraph], int] | None = None  # how much counts, in place of edges
    is_trusted: bool = True  # an answer in which nothing is found broken is right
    may_overflow: bool = False


TASKS: dict[str, Task] = {
    "bfs": Task("source", properties.tree, lambda parents, sources: answers.depths(parents, sources[0])),
    "levels": Task("source", properties.search),
    "sssp": Task("source", properties.shortest_paths, answers.distances),
    "pagerank": Task("nowhere", properties.power, answers.ranks, answers.near_in_sum),
    "personal_pageranks": Task("nowhere", properties.personal, agree=answers.near_in_sum),
    "katz": Task("nowhere", properties.katz, answers.unit, answers.near),
    "eigenvector": Task("nowhere", properties.eigenvector, answers.nothing),
    "bipartite": Task("nowhere", lambda *_: "", is_trusted=False),
    "bridges": Task("nowhere", lambda *_: "", answers.pairs, is_trusted=False),
    "articulation_points": Task("nowhere", lambda *_: "", answers.ascending, is_trusted=False),
    "hits": Task("nowhere", properties.mutual, answers.ranks, answers.near_in_sum),
    "components": Task("nowhere", properties.pieces, answers.smallest_members),
    "minimum_spanning_forest": Task("nowhere", properties.lightest_forest, answers.nothing),
    "strong_components": Task("nowhere", properties.strong_pieces, answers.smallest_members, part=SELECTED),
    "condensation": Task("nowhere", properties.condensed, part=SELECTED),
    "ego_graph": Task("source", properties.surroundings),
    "triangles": Task(
        "nowhere", lambda *_: "", lambda count, _: count.astype(np.int64), answers.equal, is_trusted=False
    ),
    "edge_support": Task("nowhere", properties.supports, is_trusted=False),
    "clustering": Task("nowhere", lambda *_: "", agree=answers.near, is_trusted=False),
    "jaccard": Task("nowhere", partial(properties.alike, measure="jaccard"), agree=answers.near),
    "adamic_adar": Task("nowhere", partial(properties.alike, measure="adamic_adar"), agree=answers.near),
    "top_k_similar": Task("nowhere", properties.similar, agree=answers.near),
    "square_clustering": Task("nowhere", lambda *_: "", agree=answers.near, is_trusted=False),
    "k_truss": Task("nowhere", properties.trusses, is_trusted=False),
    "four_cliques": Task("nowhere", lambda *_: "", is_trusted=False),
    "label_propagation": Task("nowhere", properties.communities, answers.nothing),
    "louvain_communities": Task("nowhere", properties.modular, answers.nothing),
    "modularity": Task("nowhere", properties.quality, agree=answers.near),
    "pagerank_nibble": Task("source", properties.nibbled, answers.nothing),
    "core_number": Task("nowhere", properties.cores, is_trusted=False),
    "maximal_independent_set": Task("nowhere", properties.independent, answers.nothing),
    "greedy_color": Task("nowhere", properties.proper, answers.nothing),
    "maximal_matching": Task("nowhere", properties.matched, answers.nothing),
    "weighted_matching": Task("nowhere", properties.matched, answers.nothing),
    "topological_order": Task("nowhere", properties.order, answers.nothing, part=0.5),
    "longest_path": Task("nowhere", properties.longest, part=0.5),
    "maximum_flow": Task("nowhere", lambda *_: "", is_trusted=False),
    "minimum_cut": Task("nowhere", lambda *_: "", is_trusted=False),
    "aggregate_features": Task("nowhere", properties.sums, agree=answers.near),
    "betweenness": Task("sources", properties.shares, answers.scores, answers.near, may_overflow=True),
    "edge_betweenness": Task("sources", properties.edge_shares, answers.unit, answers.near, may_overflow=True),
    "multi_source_bfs": Task("sources", properties.searches, several=64),
    "multi_source_shortest_paths": Task("sources", properties.all_shortest_paths, answers.distances, several=8),
    "closeness": Task("sources", properties.nearness, agree=answers.near, several=64),
    "random_walks": Task("nowhere", properties.walked, answers.nothing, counted=walkers_times(STEPS)),
    "node2vec_walks": Task("nowhere", properties.walked, answers.nothing, counted=walkers_times(STEPS)),
    "sample_neighbors": Task("nowhere", properties.drawn, answers.nothing, counted=walkers_times(DRAWN)),
    "harmonic": Task("sources", properties.harmony, agree=answers.near, several=64),
}
ALGORITHMS = tuple(TASKS)


def sources_of(graph: BenchmarkGraph, algorithm: str, some: int = SOME) -> list[int]:
    """The sources of a call that takes several."""
    count = TASKS[algorithm].several
    return graph.sources[:some] if count is None else graph.spread(count)


def bind(peer: Any, algorithm: str, sources: list[int], some: list[int]) -> Callable[[int], Any] | None:
    """Return the peer's algorithm as a function of the round, or None where it has none.

    In each round it starts from another of the sources; or, if it takes several, from some.
    """
    method = getattr(peer, algorithm, None)
    if method is None:
        return None
    return {
        "source": lambda number: method(sources[number % len(sources)]),
        "sources": lambda _: method(some),
        "nowhere": lambda _: method(),
    }[TASKS[algorithm].starts]


def edges(graph: BenchmarkGraph, algorithm: str, some: list[int]) -> list[int]:
    """How many edges count, by the round; of walks and samples, as many as are taken."""
    counted = TASKS[algorithm].counted
    return {
        "source": lambda: [graph.reach(s).edges for s in graph.sources],
        "sources": lambda: [sum(graph.reach(s).edges for s in some)],
        "nowhere": lambda: [counted(graph) if counted else int(TASKS[algorithm].part * graph.graph.m)],
    }[TASKS[algorithm].starts]()


def disagreements(algorithm: str, found: dict[str, Any], sources: list[int], trusted: str | None) -> dict[str, str]:
    """Say whose answer is not the others', and whose overflowed.

    Parameters
    ----------
    found : dict
        Answers by contestant, gasla first; arrays of NumPy or CuPy.
    trusted : str or None
        Whose answer was found right by its properties. Where there is none, the answer that most agree with is taken
        for the right one, a peer's rather than gasla's.
    """
    task = TASKS[algorithm]
    if len(found) < 2 and not task.may_overflow:
        return {}  # there is nobody to agree with
    if len({device_of(answer) for answer in found.values()}) > 1:
        found = {name: moved(answer, "cpu") for name, answer in found.items()}
    forms = {name: comparable(algorithm, answer, sources) for name, answer in found.items()}
    finite = {name: form for name, form in forms.items() if not task.may_overflow or bool(np.isfinite(form).all())}
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
    return TASKS[algorithm].form(array_module(answer).asarray(answer), sources)


def agree(algorithm: str, a: Any, b: Any) -> bool:
    """Return whether two comparable answers are equal, up to what float32 sums may differ by."""
    return a.shape == b.shape and TASKS[algorithm].agree(a, b)
