"""Runs of phases in one launch on a GPU, against turns that the host drives on the CPU."""

import _thread
import threading
from typing import Any

import numpy as np
import pytest

import gasla
from gasla.graph.graph import Graph
from tests.gpu.test_phases_emulated import CASES, compare, skewed
from tests.gpu.test_runs import NO_END, Turning

pytestmark = pytest.mark.gpu


def of_several_blocks() -> Graph:
    """A graph of as many vertices as the cases have start values for."""
    rng = np.random.default_rng(5)
    return Graph.from_edges(rng.integers(0, 200, 9000), (200 * rng.random(9000) ** 3).astype(np.int64), n=200)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("graph", [skewed, of_several_blocks], ids=["one block", "several blocks"])
def test_equals_turns_of_the_cpu(case: str, graph: Any) -> None:
    phases, options, _ = CASES[case]
    on_cpu = graph()
    expected = gasla.run(phases, on_cpu, **options)
    on_gpu = on_cpu.to("gpu")
    for _ in range(2):  # the second has the arrays of the first
        compare(phases, gasla.run(phases, on_gpu, **options), expected)


@pytest.mark.parametrize("until", ["once", "still"])
def test_ctrl_c_ends_turns(until: Any) -> None:
    graph = of_several_blocks().to("gpu")
    phases = [gasla.Phase(Turning, until=until)] if until == "once" else [Turning, gasla.Phase(Turning)]
    gasla.run(phases, graph, max_iterations=3)
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        gasla.run(phases, graph, max_iterations=NO_END)
    timer.join()
    assert gasla.run(phases, graph, max_iterations=3).iterations == 3


def test_progress_and_callbacks() -> None:
    graph, seen = of_several_blocks().to("gpu"), []  # type: tuple[Graph, list[int]]
    found = gasla.run([Turning, gasla.Phase(Turning)], graph, max_iterations=200_000, progress=seen.append)
    assert found.iterations == 200_000
    assert seen == sorted(seen)
    turns: list[int] = []
    gasla.run([Turning], graph, max_iterations=3, callback=lambda result: turns.append(result.iterations))
    assert turns == [1, 2, 3]
