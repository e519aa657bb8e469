"""Each pattern by which threads share memory is right under C's memory model, and needs the orders that it has.

`tests.helpers.memory_model` searches all executions that the model allows, and LLVM compiles atomics to what keeps this
model on every processor. `docs/cpu-engine.md` explains the patterns.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from gasla.cpu.kernels import atomics, queues
from gasla.cpu.primitive import boruvka, drain_levels, forest, suitor
from gasla.cpu.runtime import threads, workers
from tests.helpers.memory_model import is_possible


class Pattern(NamedTuple):
    """What threads do, and an outcome that must not be."""

    functions: tuple[Any, ...]  # that have the atomics
    initial: dict[str, int]
    code: tuple[str, ...]
    never: Callable[..., bool | None]
    stronger: dict[str, str] = {}  # the order in the text, where another pattern needs a stronger one


JOB = (threads._run_once, workers._serve)
SUITOR = (suitor._propose, suitor._beats_suitor, suitor._is_better)
ARRIVES = """
write("{own}", 1)
passes = fetch_add_acq_rel("arrived", 1) == 1
if passes:
    store_relaxed("arrived", 0)
    store_release("generation", 1)
else:
    passes = load_acquire("generation") == 1
if passes:
    seen = read("{other}")
"""
PATTERNS = {
    "a job and its arguments": Pattern(
        JOB,
        {"job": 0, "part": 0},
        (
            'write("part", 1)\nfetch_add_release("job", 1)',
            'if compare_and_swap_acquire("job", 1, 2):\n    seen = read("part")',
        ),
        lambda caller, worker: worker.seen == 0,
        {"fetch_add_release": "fetch_add_acq_rel"},
    ),
    "the results of a job": Pattern(
        (threads._while_it_is, workers._serve),
        {"job": 2, "result": 0},
        (
            'write("result", 1)\nstore_release("job", 0)',
            'if load_acquire("job") == 0:\n    seen = read("result")',
        ),
        lambda worker, caller: caller.seen == 0,
    ),
    "a job that is withdrawn": Pattern(
        JOB,
        {"job": 1},
        ('mine = compare_and_swap_relaxed("job", 1, 0)', 'mine = compare_and_swap_relaxed("job", 1, 2)'),
        lambda caller, worker: caller.mine == worker.mine,
        {"compare_and_swap_relaxed": "compare_and_swap_acquire"},
    ),
    "a worker that falls asleep": Pattern(
        (*JOB, workers.wake),
        {"asleep": 0, "job": 0},
        (
            'fetch_add_relaxed("asleep", 1)\njob = fetch_add_acq_rel("job", 0)',
            'fetch_add_acq_rel("job", 1)\nwakes = compare_and_swap_relaxed("asleep", 1, 0)',
        ),
        lambda worker, caller: worker.job == 0 and caller.wakes is False,
    ),
    "a barrier": Pattern(
        (threads.barrier, threads._while_it_is),
        {"x": 0, "y": 0, "arrived": 0, "generation": 0},
        (ARRIVES.format(own="x", other="y"), ARRIVES.format(own="y", other="x")),
        lambda first, second: first.seen == 0 or second.seen == 0,
    ),
    "two barriers in a row": Pattern(
        (threads.barrier, threads._while_it_is),
        {"arrived": 1, "generation": 0},  # the first thread has arrived at the first barrier
        (
            'if load_acquire("generation") == 1:\n    before = fetch_add_relaxed("arrived", 1)',
            'fetch_add_relaxed("arrived", 1)\nstore_relaxed("arrived", 0)\nstore_release("generation", 1)',
        ),
        lambda first, second: first.before not in (None, 0),
        {"fetch_add_relaxed": "fetch_add_acq_rel"},
    ),
    "news of a changed part": Pattern(
        (queues.add_news, queues.take_news, atomics.improve),
        {"field": 9, "news": 0},
        (
            'compare_and_swap_relaxed("field", 9, 1)\nfetch_or_release("news", 1)',
            'bits = fetch_and_acquire("news", 0)\nseen = load_relaxed("field")',
        ),
        lambda improver, sender: sender.bits == 1 and sender.seen == 9,  # the bit is gone, and the new value not sent
    ),
    "a claim": Pattern(
        (queues.claim,),
        {"bits": 0},
        ('old = fetch_or_relaxed("bits", 1)', 'old = fetch_or_relaxed("bits", 1)'),
        lambda first, second: first.old == second.old,
    ),
    "tickets": Pattern(
        (queues.take,),
        {"ticket": 0},
        ('mine = fetch_add_relaxed("ticket", 1)', 'mine = fetch_add_relaxed("ticket", 1)'),
        lambda first, second: first.mine == second.mine,
    ),
    "a degree that falls to the level": Pattern(
        (drain_levels._drain,),
        {"degree": 2},
        ('before = fetch_add_relaxed("degree", -1)',) * 2,
        lambda first, second: (first.before == 2) == (second.before == 2),  # exactly one lists the vertex
    ),
    "two trees that are united": Pattern(
        (forest._unite, forest.find),
        {"parent": 2},
        (
            'hangs = compare_and_swap_relaxed("parent", 2, 1)\nthen = load_relaxed("parent")',
            'hangs = compare_and_swap_relaxed("parent", 2, 0)\nthen = load_relaxed("parent")',
        ),
        lambda first, second: first.hangs == second.hangs or 2 in (first.then, second.then),
    ),
    "the best edge of a tree": Pattern(
        (boruvka._offer,),
        {"best": -1, "left": 0},
        (
            'write("left", 7)\ncompare_and_swap_release("best", -1, 1)',
            'if load_acquire("best") == 1:\n    seen = read("left")',
        ),
        lambda first, second: second.seen == 0,
    ),
    "a suitor's offer": Pattern(
        SUITOR,
        {"suitor": 0, "offer": 0},
        (
            'store_relaxed("offer", 5)\ncompare_and_swap_release("suitor", 0, 1)',
            'suitor = load_acquire("suitor")\nseen = load_relaxed("offer")',
        ),
        lambda first, second: second.suitor == 1 and second.seen == 0,
        {
            "store_relaxed": "store_release",
            "compare_and_swap_release": "compare_and_swap_acq_rel",
        },
    ),
    "a suitor that is rejected": Pattern(
        SUITOR,
        {"suitor": 1, "offer": 5},
        (
            'compare_and_swap_relaxed("suitor", 1, 2)\nstore_release("offer", 7)',
            'first = load_relaxed("suitor")\nseen = load_acquire("offer")\nthen = load_relaxed("suitor")',
        ),
        lambda rejects, looks: looks.first == 1 and looks.seen == 7 and looks.then == 1,  # an offer made elsewhere
        {"compare_and_swap_relaxed": "compare_and_swap_acq_rel"},
    ),
    "the heap of a rejected suitor": Pattern(
        SUITOR,
        {"suitor": 0, "heap": 0},
        (
            'write("heap", 1)\ncompare_and_swap_release("suitor", 0, 1)',
            'if compare_and_swap_acquire("suitor", 1, 2):\n    seen = read("heap")',
        ),
        lambda first, second: second.seen == 0,
        {
            "compare_and_swap_release": "compare_and_swap_acq_rel",
            "compare_and_swap_acquire": "compare_and_swap_acq_rel",
        },
    ),
}
ATOMIC = re.compile(r"\b(load|store|fetch_add|fetch_or|fetch_and|compare_and_swap)_(relaxed|acquire|release|acq_rel)\b")
WEAKER = {"acq_rel": ("acquire", "release"), "acquire": ("relaxed",), "release": ("relaxed",), "relaxed": ()}


@pytest.mark.parametrize("name", PATTERNS)
def test_the_kernels_have_the_orders_of_the_pattern(name: str) -> None:
    pattern = PATTERNS[name]
    text = "".join(inspect.getsource(getattr(function, "plain", function)) for function in pattern.functions)
    text = text.replace("_unordered(", "_relaxed(")  # of which C has no name; the instructions are the same
    needed = {match[0] for code in pattern.code for match in ATOMIC.finditer(code)}
    assert {pattern.stronger.get(atomic, atomic) for atomic in needed} <= {m[0] for m in ATOMIC.finditer(text)}


@pytest.mark.parametrize("name", PATTERNS)
def test_no_execution_has_the_outcome(name: str) -> None:
    pattern = PATTERNS[name]
    assert not is_possible(pattern.initial, pattern.code, pattern.never)


@pytest.mark.parametrize("name", PATTERNS)
def test_no_order_can_be_weaker(name: str) -> None:
    """With any one order weaker, in all threads that run this text, there is the outcome or a data race."""
    pattern = PATTERNS[name]
    for operation, order in {match for code in pattern.code for match in ATOMIC.findall(code)}:
        for weaker in WEAKER[order]:
            code = [text.replace(f"{operation}_{order}(", f"{operation}_{weaker}(") for text in pattern.code]
            assert is_possible(pattern.initial, code, pattern.never), f"{operation}_{weaker} would do"


# Outcomes that the literature says the model allows, or not: each with the threads' text and whether it is allowed.
KNOWN: dict[str, tuple[tuple[str, ...], Callable[..., bool | None], bool]] = {
    "store buffering": (
        ('store_release("x", 1)\na = load_acquire("y")', 'store_release("y", 1)\na = load_acquire("x")'),
        lambda p, q: p.a == 0 and q.a == 0,
        True,
    ),
    "relaxed message passing": (
        ('store_relaxed("x", 1)\nstore_relaxed("y", 1)', 'a = load_relaxed("y")\nb = load_relaxed("x")'),
        lambda p, q: q.a == 1 and q.b == 0,
        True,
    ),
    "message passing": (
        ('store_relaxed("x", 1)\nstore_release("y", 1)', 'a = load_acquire("y")\nb = load_relaxed("x")'),
        lambda p, q: q.a == 1 and q.b == 0,
        False,
    ),
    "a release sequence": (
        (
            'store_relaxed("x", 1)\nstore_release("y", 1)',
            'fetch_add_relaxed("y", 1)',
            'a = load_acquire("y")\nb = load_relaxed("x")',
        ),
        lambda p, q, r: r.a == 2 and r.b == 0,
        False,
    ),
    "load buffering": (
        ('a = load_relaxed("x")\nstore_relaxed("y", 1)', 'a = load_relaxed("y")\nstore_relaxed("x", 1)'),
        lambda p, q: p.a == 1 and q.a == 1,
        False,  # RC11 forbids what C11 allows
    ),
    "an older value after a newer one": (
        ('store_relaxed("x", 1)', 'a = load_relaxed("x")\nb = load_relaxed("x")'),
        lambda p, q: q.a == 1 and q.b == 0,
        False,
    ),
    "independent reads of independent writes": (
        (
            'store_release("x", 1)',
            'store_release("y", 1)',
            'a = load_acquire("x")\nb = load_acquire("y")',
            'a = load_acquire("y")\nb = load_acquire("x")',
        ),
        lambda p, q, r, s: r.a == 1 and r.b == 0 and s.a == 1 and s.b == 0,
        True,
    ),
    "two writes each": (
        ('store_relaxed("x", 1)\nstore_relaxed("y", 2)\n', 'store_relaxed("y", 1)\nstore_relaxed("x", 2)\n',
         'a = load_relaxed("x")\nb = load_relaxed("x")', 'a = load_relaxed("y")\nb = load_relaxed("y")'),
        lambda p, q, r, s: (r.a, r.b, s.a, s.b) == (2, 1, 2, 1),
        True,
    ),
    "a lost addition": (
        ('a = fetch_add_relaxed("x", 1)', 'a = fetch_add_relaxed("x", 1)'),
        lambda p, q: p.a == q.a,
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_the_search_finds_what_is_known_of_the_model(name: str) -> None:
    code, outcome, is_allowed = KNOWN[name]
    assert is_possible({"x": 0, "y": 0}, code, outcome) == is_allowed


def test_a_data_race_is_found() -> None:
    code = ('write("x", 1)\nstore_relaxed("y", 1)', 'if load_acquire("y"):\n    read("x")')
    assert is_possible({"x": 0, "y": 0}, code, lambda p, q: False)
    assert not is_possible({"x": 0, "y": 0}, code, lambda p, q: False, races=False)
    assert not is_possible({"x": 0, "y": 0}, (code[0].replace("relaxed", "release"), code[1]), lambda p, q: False)
