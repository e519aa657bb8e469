"""Questions to verifiers, and mutants: right answers, each spoiled in some dozens of small ways.

A question asks one verifier about one small graph. It has the right answer, found by NetworkX, by linear algebra or by
trying everything; and, where there are several right answers, `is_right`, which decides without the verifier whether a
mutant is another of them. Otherwise any mutant is wrong that differs. `tests/verify/test_mutants.py` asks.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from scipy.sparse import coo_array

import gasla

Array = np.ndarray[Any, Any]
Answer = dict[str, Any]


class Question(NamedTuple):
    """A verifier about a graph."""

    check: Callable[..., None]  # is called with the parts of an answer
    answer: Answer
    is_right: Callable[..., bool] | None = None


Asked = Iterable[Question]
Questions = dict[str, tuple[Callable[["Small"], Asked], tuple[str, ...]]]  # about some of `GRAPHS`, by verifier


# --- graphs ----------------------------------------------------------------------------------------------------------


class Small:
    """A graph of a few vertices, as NetworkX has it in several readings."""

    def __init__(self, n: int, src: Any, dst: Any, weight: Any) -> None:
        self.n, self.src, self.dst = n, np.asarray(src), np.asarray(dst)
        self.weight = np.asarray(weight, np.float64)
        self.matrix = gasla.Graph(coo_array((self.weight, (self.src, self.dst)), shape=(n, n)))
        self.edges = list(zip(self.src.tolist(), self.dst.tolist(), self.weight.tolist()))
        self.dense = np.zeros((n, n))  # parallel edges add up
        np.add.at(self.dense, (self.src, self.dst), self.weight)
        self.counts = np.zeros((n, n))
        np.add.at(self.counts, (self.src, self.dst), 1)

    @property
    def directed(self) -> nx.DiGraph:
        """The lightest of parallel edges."""
        graph = nx.DiGraph()
        graph.add_nodes_from(range(self.n))
        for u, v, w in self.edges:
            graph.add_edge(u, v, weight=min(w, graph.edges[u, v]["weight"] if graph.has_edge(u, v) else w))
        return graph

    @property
    def simple(self) -> nx.Graph:
        """Without directions, loops and weights."""
        graph = nx.Graph()
        graph.add_nodes_from(range(self.n))
        graph.add_edges_from((u, v) for u, v, _ in self.edges if u != v)
        return graph

    @property
    def joined(self) -> Array:
        return np.asarray(nx.to_numpy_array(self.simple, nodelist=range(self.n))) > 0


def _random(seed: int, n: int, m: int, loops: bool = False) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    src, dst, weight = rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(1, 6, m)
    keep = np.ones(m, bool) if loops else src != dst
    if not loops:
        keep &= np.isin(np.arange(m), np.unique(src * n + dst, return_index=True)[1])
    return src[keep], dst[keep], weight[keep]


def _both_ways(src: Array, dst: Array, weight: Array) -> tuple[Array, Array, Array]:
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    first = np.unique(low * 1000 + high, return_index=True)[1]
    low, high, weight = low[first], high[first], weight[first]
    return np.r_[low, high], np.r_[high, low], np.r_[weight, weight]


def _islands() -> tuple[Array, Array, Array]:
    """Two that are alone, a triangle with a tail, and a square."""
    src, dst = [1, 2, 3, 3, 5, 6, 7, 8], [2, 3, 1, 4, 6, 7, 8, 5]
    return _both_ways(np.array(src), np.array(dst), np.array([2, 1, 3, 1, 2, 2, 1, 4]))


GRAPHS = {
    "directed": Small(11, *_random(3, 11, 34)),
    "undirected": Small(10, *_both_ways(*_random(4, 10, 22))),
    "multigraph": Small(9, *_random(5, 9, 36, loops=True)),
    "islands": Small(10, *_islands()),
    "star": Small(9, *_both_ways(np.zeros(8, int), np.arange(1, 9), np.arange(1, 9))),
    "acyclic": Small(10, *(lambda s, d, w: (np.minimum(s, d), np.maximum(s, d), w))(*_random(6, 10, 24))),
    "two sides": Small(10, *(lambda s, d, w: (s // 2, 5 + d // 2, w))(*_random(7, 10, 20))),
}
ALL = ("directed", "undirected", "multigraph", "islands", "star")


# --- mutants ---------------------------------------------------------------------------------------------------------


def mutants(answer: Answer) -> Iterator[tuple[str, Answer]]:
    """The answer with one of its parts spoiled."""
    rng = np.random.default_rng(1)
    for name, part in answer.items():
        changed = _scalars(part) if np.ndim(part) == 0 else _arrays(np.asarray(part), rng)
        for how, value in changed:
            if not same(value, part):
                yield f"{name}: {how}", answer | {name: value}


def same(one: Any, other: Any) -> bool:
    """Whether nobody could tell them apart: numbers that linear algebra has found are rounded."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.dtype.kind != "f":
        return one.shape == other.shape and np.array_equal(one, other)
    finite = other[np.isfinite(other)]
    return np.allclose(one, other, rtol=1e-12, atol=1e-14 * np.abs(finite).max(initial=0))


def _scalars(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool):
        yield "the other", not value
        return
    yield from (("one more", value + 1), ("one less", value - 1), ("doubled", value * 2), ("negative", -value))
    yield "none", type(value)(0)
    yield "huge", type(value)(2**53)
    if isinstance(value, float):
        yield "a little more", value * (1 + 1e-3)
        yield "a little less", value * (1 - 1e-3)
        for wrong in (np.nan, np.inf, -np.inf):
            yield str(wrong), wrong


def _arrays(values: Array, rng: Any) -> Iterator[tuple[str, Array]]:
    """All that is done to arrays, whatever they hold; then what is done to numbers of their kind."""
    size = values.size
    yield "empty", values[:0]
    if not size:
        yield "a zero more", np.append(values, np.zeros((1, *values.shape[1:]), values.dtype), axis=0)
        return
    yield "the last dropped", values[:-1]
    yield "the first dropped", values[1:]
    yield "the last twice", np.concatenate([values, values[-1:]])
    yield "the first twice", np.concatenate([values[:1], values])
    yield "one dimension more", values[..., np.newaxis]
    yield "backwards", values[::-1].copy()
    yield "rolled", np.roll(values, 1)
    yield "rolled by rows", np.roll(values, 1, axis=0)
    yield "permuted", rng.permutation(values.ravel()).reshape(values.shape)
    yield "all the same", np.full_like(values, values.flat[0])
    yield "all zero", np.zeros_like(values)
    flat = values.ravel()
    for _ in range(2):
        i, j = rng.integers(0, size, 2).tolist()
        yield f"{i} and {j} swapped", _at(values, [i, j], flat[[j, i]])
        yield f"{i} copied to {j}", _at(values, j, flat[i])
    places = sorted({int(flat.argmax()), int(flat.argmin()), int(rng.integers(0, size))})
    if values.dtype.kind == "b":
        yield "all the other", ~values
        yield "all true", np.ones_like(values)
        for i in range(size):
            yield f"{i} the other", _at(values, i, ~flat[i])
        return
    yield "all doubled", values * 2
    yield "all one more", values + 1
    yield "all one less", values - 1
    yield "all negative", -values
    changes: dict[str, Callable[[Any], Any]] = {
        "one more": lambda x: x + 1,
        "one less": lambda x: x - 1,
        "negative": lambda x: -1 - x,
        "doubled": lambda x: x * 2,
        "zero": lambda x: x * 0,
        "-1": lambda x: -1,
        "-7": lambda x: -7,
        "many": lambda x: 10 * size + x,
        "the largest": lambda x: np.iinfo(values.dtype).max,
    }
    if values.dtype.kind == "f":
        yield "all a little more", values * (1 + 1e-3)
        yield "all a little higher", values + 1e-3
        yield "all NaN", np.full_like(values, np.nan)
        del changes["the largest"]
        changes |= {
            "a little more": lambda x: x * (1 + 1e-3),
            "a little less": lambda x: x * (1 - 1e-3),
            "a little higher": lambda x: x + 1e-3,
            "NaN": lambda x: np.nan,
            "inf": lambda x: np.inf,
            "-inf": lambda x: -np.inf,
            "huge": lambda x: 1e300,
        }
    for i in places:
        for how, change in changes.items():
            with np.errstate(all="ignore"):
                yield f"{i} {how}", _at(values, i, np.asarray(change(flat[i])).astype(values.dtype))


def _at(values: Array, places: Any, to: Any) -> Array:
    copy = values.copy()
    copy.reshape(-1)[places] = to
    return copy
