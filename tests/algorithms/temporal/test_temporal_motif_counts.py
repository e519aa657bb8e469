"""Temporal motifs against all triples of edges; laws; what is refused."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import gasla
from gasla.graph.graph import Graph
from tests.helpers.law import Answer, Asked, Row, only


def motifs(q: Asked) -> Answer:
    graph = q.graph.with_edge_attributes(time=q.here(q.edge_was * 7 % 11))
    return {name: count for name, count in gasla.temporal_motif_counts(graph, 4).items() if count}


LAWS = [Row("temporal_motif_counts", motifs, split=only("each part counts"), gpu=False)]


def brute(src: Any, dst: Any, times: Any, delta: float) -> dict[str, int]:
    """By all triples of edges in the order of time."""
    names = ("0>1", "1>0", "0>2", "2>0", "1>2", "2>1")
    found = {f"0>1,{second},{third}": 0 for second, third in product(names, names)}
    edges = sorted((t, u, v) for t, u, v in zip(times, src, dst) if u != v)
    for triple in combinations(edges, 3):
        (first, *_), (second, *_), (third, *_) = triple
        numbers: dict[Any, int] = {}
        name = ",".join(">".join(str(numbers.setdefault(v, len(numbers))) for v in ends) for _, *ends in triple)
        if first < second < third <= first + delta and name in found:
            found[name] += 1
    return found


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("delta", [0, 3, 10.5, 1000])
def test_counts_are_those_of_all_triples(n: int, delta: float) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(0, 35))
        src, dst = rng.integers(0, n, (2, m))
        times: Any = rng.integers(0, 20, m) if seed % 2 else rng.random(m) * 20
        graph = Graph.from_edges(src, dst, n=n).with_edge_attributes(time=times)
        found = gasla.temporal_motif_counts(graph, delta)
        assert found == brute(src.tolist(), dst.tolist(), times.tolist(), delta)


def test_dates_and_durations() -> None:
    days = np.array(["2026-01-01", "2026-01-02", "2026-01-03", "2026-02-01"], "M8[D]")
    graph = Graph.from_edges([0, 1, 2, 0], [1, 2, 0, 1]).with_edge_attributes(sent=days)
    for delta in ("48h", np.timedelta64(2, "D"), days[2].item() - days[0].item()):
        found = gasla.temporal_motif_counts(graph, delta, time="sent")
        assert {name: count for name, count in found.items() if count} == {"0>1,1>2,2>0": 1}
    assert sum(gasla.temporal_motif_counts(graph, "47h", time="sent").values()) == 0


def test_hubs_and_long_windows() -> None:
    """All triples of the edges from a hub: those between the same two vertices apart."""
    n, each = 30, 4
    times = np.random.default_rng(0).permutation(n * each)
    graph = Graph.from_edges(np.zeros(n * each, int), np.repeat(np.arange(1, n + 1), each)).with_edge_attributes(
        time=times
    )
    found = gasla.temporal_motif_counts(graph, 10**6)
    assert found["0>1,0>1,0>1"] == n * 4
    assert sum(found[name] for name in ("0>1,0>1,0>2", "0>1,0>2,0>1", "0>1,0>2,0>2")) == n * 6 * (n - 1) * each
    assert sum(found.values()) == sum(found[name] for name in found if ">1,0" in name and name.count("0>") == 3)


@pytest.mark.parametrize(
    ("delta", "time", "error", "words"),
    [
        (-1, "time", ValueError, "delta is -1"),
        ("soon", "time", ValueError, "delta is 'soon'; expected a duration"),
        (True, "time", TypeError, "delta is True"),
        (1, "times", ValueError, "'times' is no edge attribute"),
        ("24h", "time", TypeError, "delta is '24h'; expected a number"),
    ],
)
def test_what_is_refused(delta: Any, time: str, error: type[Exception], words: str) -> None:
    graph = Graph.from_edges([0, 1], [1, 0]).with_edge_attributes(time=[1, 2])
    with pytest.raises(error, match=words):
        gasla.temporal_motif_counts(graph, delta, time=time)


@pytest.mark.gpu
def test_a_graph_on_a_gpu_is_refused() -> None:
    graph = Graph.from_edges([0, 1], [1, 0]).with_edge_attributes(time=[1, 2]).to("gpu")
    with pytest.raises(TypeError, match="on the GPU"):
        gasla.temporal_motif_counts(graph, 1)
