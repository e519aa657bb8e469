"""What a call over GPUs costs the host, and what a failure leaves: without a GPU, by kernels that end at once."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
from gasla import distributed
from gasla.algorithms.traversal.bfs import LEVELS
from gasla.distributed import block_array
from gasla.distributed.thread_ranks import ThreadRanks
from gasla.gpu.program import engine, peers, workspace
from tests.distributed.test_ranks import random_graph
from tests.helpers import programs
from tests.helpers.launched_kernels import Kernel, with_launched_kernels

HERE = str(Path(gasla.__file__).parent)


def python_calls(call: Callable[[], Any]) -> int:
    """The calls of gasla's own Python functions in the third call, when all is prepared."""
    call()
    call()
    count = 0

    def look(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        name = frame.f_code.co_name
        is_inlined = name.startswith("<") and name != "<lambda>"  # by later Pythons
        count += event == "call" and frame.f_code.co_filename.startswith(HERE) and not is_inlined

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


def spread_over(monkeypatch: pytest.MonkeyPatch, cards: int) -> distributed.Graph:
    """A graph over that many GPUs, all of which take part."""
    spread = distributed.Graph.from_graph(random_graph(200, 3000), with_launched_kernels(monkeypatch, cards))
    spread.one_card = False
    return spread


def hops(graph: Any) -> Any:
    return gasla.run(programs.Hops, graph, active=[3], hops={3: 0}, max_iterations=2)


@pytest.mark.parametrize(
    ("call", "first", "further"),
    [
        (lambda graph: gasla.bfs(graph, 3), 120, 33),
        (lambda graph: gasla.pagerank(graph, tol=0, max_iter=5, weighted=False), 185, 42),
    ],
)
def test_calls_are_short(call: Any, first: int, further: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the runs of a program share is prepared once."""
    counts = []
    for cards in (1, 2, 4):
        with monkeypatch.context() as patch:
            spread = spread_over(patch, cards)
            counts.append(python_calls(lambda: call(spread)))  # noqa: B023 (called here)
    assert counts[0] <= first, counts
    assert counts[2] - counts[1] <= 2 * further, counts
    assert counts[1] - counts[0] <= further + 10, counts


def test_a_run_on_one_card_is_as_short_as_without_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    spread = spread_over(monkeypatch, 2)
    spread.one_card = True
    without = spread.on_one_device(lambda whole: whole)
    assert python_calls(lambda: gasla.bfs(spread, 3)) <= python_calls(lambda: gasla.bfs(without, 3)) + 30


def test_a_run_on_one_card_may_be_left_until_its_results_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    spread = spread_over(monkeypatch, 2)
    spread.one_card = True
    waited, cupy = list[str](), sys.modules["cupy"]
    stream: Any = cupy.cuda.get_current_stream()
    stream.synchronize = lambda: waited.append("for the stream")
    monkeypatch.setattr(engine, "wait", lambda *_: waited.append("for the kernel"))
    levels = {3: 0}
    result = gasla.run(LEVELS, spread, active=[3], level=levels, wait=False)
    waited.clear()  # the copy of the graph, made in the first run, is waited for
    result = gasla.run(LEVELS, spread, active=[3], level=levels, wait=False)
    block = spread.ranks.members()[1].kept[result.level.handle.key]
    assert waited == []
    assert block["level"].dtype == np.int32 and waited == ["for the stream"]
    assert result.converged and waited == ["for the stream", "for the kernel"]
    gasla.run(LEVELS, spread, active=[3], level=levels)
    assert waited[2:] == ["for the kernel"]
    gasla.run(LEVELS, spread, active=[3], wait=False, out={"level": result.level})
    assert waited[3] == "for the stream" and "for the kernel" in waited[4:]


def test_small_results_are_read_without_a_thread_for_each_card(monkeypatch: pytest.MonkeyPatch) -> None:
    spread, calls = spread_over(monkeypatch, 2), list[Any]()
    levels, each = gasla.bfs(spread, 3), ThreadRanks.each
    monkeypatch.setattr(ThreadRanks, "each", lambda *given: calls.append(given[1]) or each(*given))
    assert np.asarray(levels).shape == (spread.n,) and not calls
    monkeypatch.setattr(block_array, "SMALL", 0)
    assert np.asarray(levels).shape == (spread.n,) and len(calls) == 1


def test_every_kernel_is_launched_before_one_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    spread = spread_over(monkeypatch, 3)
    finish, launched = peers.PeerRun.finish, list[int]()

    def look(run: peers.PeerRun, progress: Any) -> None:
        launched.append(Kernel.launched)
        finish(run, progress)

    monkeypatch.setattr(peers.PeerRun, "finish", look)
    before = Kernel.launched
    hops(spread)
    assert launched == [before + 3] * 3


@pytest.mark.parametrize("error", [OSError("no such card"), MemoryError("out of memory"), KeyboardInterrupt()])
def test_a_launch_that_fails_ends_the_kernels_before_it(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    spread = spread_over(monkeypatch, 3)
    hops(spread)
    launch, pages = Kernel.launch_prepared, list[Any]()

    def fail(kernel: Kernel, blocks: int, pointers: Any) -> None:
        if len(pages) == 1:
            raise error
        pages.append(workspace.Page.from_address(pointers._struct_and_pointer[0].page))
        launch(kernel, blocks, pointers)

    with monkeypatch.context() as patch:
        patch.setattr(Kernel, "launch_prepared", fail)
        with pytest.raises(type(error)) as caught:
            hops(spread)
    assert pages[0].stop == pages[0].ended > 0
    if not isinstance(error, KeyboardInterrupt):
        assert caught.value.__notes__[0].startswith("on rank 1 of 3 on card 1 of")
    assert hops(spread).iterations == 2


def test_memory_that_runs_out_on_a_card_leaves_the_others_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    spread = spread_over(monkeypatch, 2)
    hops(spread)
    cupy: Any = sys.modules["cupy"]
    alloc, before = cupy.cuda.alloc, Kernel.launched

    def fail(size: int) -> Any:
        if cupy.cuda.Device().id == 1:
            raise MemoryError("out of memory")
        return alloc(size)

    freed = list[Any]()
    with monkeypatch.context() as patch:
        patch.setattr(cupy.cuda, "alloc", fail)
        patch.setattr(engine, "free_blocks", freed.append)
        with pytest.raises(MemoryError, match="a run of Hops needs") as caught:
            hops(spread)
    assert freed == [[1]]
    assert caught.value.__notes__[0].startswith("on rank 1 of 2 on card 1 of")
    assert Kernel.launched == before
    assert hops(spread).iterations == 2


class Fault(RuntimeError):
    """As CuPy raises it after a kernel that read an illegal address."""

    status = 700


def test_after_a_fault_of_a_kernel_the_error_asks_for_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    spread = spread_over(monkeypatch, 2)
    hops(spread)

    def fail(_: Any) -> None:
        raise Fault("cudaErrorIllegalAddress: an illegal memory access was encountered")

    monkeypatch.setattr(peers.PeerRun, "finish", lambda run, progress: fail(run))
    with pytest.raises(Fault) as caught:
        hops(spread)
    where, advice = caught.value.__notes__
    assert where.startswith("on rank 0 of 2 on card 0 of") and advice.endswith("start a new process")
    monkeypatch.setattr(peers, "meet", lambda *_: fail(None))  # buffers are made anew
    with pytest.raises(Fault) as caught:
        hops(spread)
    assert caught.value.__notes__ == [advice]


def test_parameters_are_those_of_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments are kept for the next run of the same program, unless its parameters may change unseen."""
    spread, seen = spread_over(monkeypatch, 2), list[int]()
    launch = Kernel.launch_prepared

    def look(kernel: Kernel, blocks: int, pointers: Any) -> None:
        seen.append(pointers._struct_and_pointer[0].self_step)
        launch(kernel, blocks, pointers)

    monkeypatch.setattr(Kernel, "launch_prepared", look)
    changing = np.array(5)
    fixed, other = Stepping(step=1), Stepping(step=changing)
    for program in (fixed, fixed, other):
        gasla.run(program, spread, active=[3], max_iterations=1)
    changing[...] = 6
    gasla.run(other, spread, active=[3], max_iterations=1)
    gasla.run(fixed, spread, active=[3], max_iterations=1, step=7)
    gasla.run(fixed, spread, active=[3], max_iterations=1)
    gasla.run(Stepping(step=1), spread, active=[3], max_iterations=1)
    gasla.run(Stepping(step=True), spread, active=[3], max_iterations=1)
    gasla.run(Stepping(step=2), spread, active=[3], max_iterations=1)
    assert seen == [1, 1, 1, 1, 5, 5, 6, 6, 7, 7, 1, 1, 1, 1, 1, 1, 2, 2]


class Stepping(programs.Hops):
    """Hops of any length."""

    step = gasla.parameter(np.int64, 1)

    def gather(self, src, dst, edge):
        return src.hops + self.step
