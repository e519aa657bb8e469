"""Each pattern by which threads share memory is right under C's memory model, and needs the orders that it has.

The patterns are written as litmus tests of herd7, which searches all executions that the model RC11 allows. LLVM
compiles atomics to what keeps this model on every processor. `docs/cpu-engine.md` explains the patterns.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gasla.compiler.builtin import ORDERS
from gasla.cpu.kernels import atomics, queues
from gasla.cpu.primitive import boruvka, forest, suitor
from gasla.cpu.runtime import threads, workers

HERD = os.environ.get("HERD7") or shutil.which("herd7")


class Pattern(NamedTuple):
    """A litmus test: initial values, the threads' code, and an outcome that must not be."""

    functions: tuple[Any, ...]  # that have the atomics
    initial: str
    code: tuple[str, ...]
    never: str


PATTERNS = {
    "a job and its arguments": Pattern(
        (threads._run_once, workers._serve),
        "[job] = 0; [part] = 0;",
        (
            "*part = 1; int r0 = fetch_add_release(job, 1);",  # acq_rel in the text, for a worker that falls asleep
            "int r0 = compare_and_swap_acquire(job, 1, 2); if (r0) { int r1 = *part; }",
        ),
        "1:r0=1 /\\ 1:r1=0",
    ),
    "the end of a job": Pattern(
        (threads._while_it_is, workers._serve),
        "[job] = 2; [result] = 0;",
        ("*result = 1; store_release(job, 0);", "int r0 = load_acquire(job); if (r0 == 0) { int r1 = *result; }"),
        "1:r0=0 /\\ 1:r1=0",
    ),
    "a worker that falls asleep": Pattern(
        (threads._run_once, workers._serve, workers.wake),
        "[asleep] = 0; [job] = 0;",
        (
            "int r0 = fetch_add_relaxed(asleep, 1); int r1 = fetch_add_acq_rel(job, 0);",
            "int r0 = fetch_add_acq_rel(job, 1); int r1 = compare_and_swap_relaxed(asleep, 1, 0);",
        ),
        "0:r1=0 /\\ 1:r1=0",  # it has no job, and nobody wakes it
    ),
    "a barrier": Pattern(
        (threads.barrier, threads._while_it_is),
        "[x] = 0; [y] = 0; [arrived] = 0; [generation] = 0;",
        (
            "*x = 1; int r0 = fetch_add_acq_rel(arrived, 1); int r1 = 1;"
            " if (r0 == 1) { store_relaxed(arrived, 0); store_release(generation, 1); }"
            " else { r1 = load_acquire(generation); }"
            " if (r1) { int r2 = *y; }",
            "*y = 1; int r0 = fetch_add_acq_rel(arrived, 1); int r1 = 1;"
            " if (r0 == 1) { store_relaxed(arrived, 0); store_release(generation, 1); }"
            " else { r1 = load_acquire(generation); }"
            " if (r1) { int r2 = *x; }",
        ),
        "(0:r1=1 /\\ 0:r2=0) \\/ (1:r1=1 /\\ 1:r2=0)",
    ),
    "two barriers in a row": Pattern(
        (threads.barrier, threads._while_it_is),
        "[arrived] = 1; [generation] = 0;",  # the first thread has arrived
        (
            "int r1 = load_acquire(generation); if (r1 == 1) { int r2 = fetch_add_acq_rel(arrived, 1); }",
            "int r0 = fetch_add_acq_rel(arrived, 1); store_relaxed(arrived, 0); store_release(generation, 1);",
        ),
        "0:r1=1 /\\ not (0:r2=0)",
    ),
    "news of a changed part": Pattern(
        (queues.add_news, queues.take_news, atomics.improve),
        "[field] = 9; [news] = 0;",
        (
            "int r0 = compare_and_swap_relaxed(field, 9, 1); int r1 = fetch_or_release(news, 1);",
            "int r0 = fetch_and_acquire(news, 0); int r1 = load_relaxed(field);",
        ),
        "1:r0=1 /\\ 1:r1=9",  # the bit is cleared, and the new value not sent
    ),
    "a claim": Pattern(
        (queues.claim,),
        "[bits] = 0;",
        ("int r0 = fetch_or_relaxed(bits, 1);", "int r0 = fetch_or_relaxed(bits, 1);"),
        "(0:r0=0 /\\ 1:r0=0) \\/ (0:r0=1 /\\ 1:r0=1)",
    ),
    "tickets": Pattern(
        (queues.take,),
        "[ticket] = 0;",
        ("int r0 = fetch_add_relaxed(ticket, 1);", "int r0 = fetch_add_relaxed(ticket, 1);"),
        "(0:r0=0 /\\ 1:r0=0) \\/ (0:r0=1 /\\ 1:r0=1)",
    ),
    "two trees that are united": Pattern(
        (forest._unite, forest.find),
        "[p2] = 2;",
        (
            "int r0 = compare_and_swap_relaxed(p2, 2, 1); int r1 = load_relaxed(p2);",
            "int r0 = compare_and_swap_relaxed(p2, 2, 0); int r1 = load_relaxed(p2);",
        ),
        "(0:r0=1 /\\ 1:r0=1) \\/ 0:r1=2 \\/ 1:r1=2",
    ),
    "the best edge of a tree": Pattern(
        (boruvka._offer,),
        "[best] = -1; [left] = 0;",
        (
            "*left = 7; int r0 = compare_and_swap_release(best, -1, 1);",
            "int r0 = load_acquire(best); if (r0 == 1) { int r1 = *left; }",
        ),
        "1:r0=1 /\\ 1:r1=0",
    ),
    "a suitor's offer": Pattern(
        (suitor._propose, suitor._is_better),
        "[suitor] = 0; [offer] = 0;",
        (
            "store_relaxed(offer, 5); int r0 = compare_and_swap_release(suitor, 0, 1);",
            "int r0 = load_acquire(suitor); int r1 = load_relaxed(offer);",
        ),
        "1:r0=1 /\\ 1:r1=0",
    ),
    "a suitor that is rejected": Pattern(
        (suitor._propose, suitor._beats_suitor, suitor._is_better),
        "[suitor] = 1; [offer] = 5;",
        (
            "int r0 = compare_and_swap_relaxed(suitor, 1, 2); store_release(offer, 7);",
            "int r0 = load_relaxed(suitor); int r1 = load_acquire(offer); int r2 = load_relaxed(suitor);",
        ),
        "1:r0=1 /\\ 1:r1=7 /\\ 1:r2=1",  # the new offer is taken for the one made here
    ),
    "the heap of a rejected suitor": Pattern(
        (suitor._propose,),
        "[suitor] = 0; [heap] = 0;",
        (
            "*heap = 1; int r0 = compare_and_swap_release(suitor, 0, 1);",
            "int r0 = compare_and_swap_acquire(suitor, 1, 2); if (r0) { int r1 = *heap; }",
        ),
        "1:r0=1 /\\ 1:r1=0",
    ),
}
# Patterns whose atomics the text gives more than this pattern needs, because another pattern needs it.
STRONGER = {
    "a job and its arguments": {"fetch_add_release": "fetch_add_acq_rel"},
    "a suitor's offer": {
        "store_relaxed": "store_release",
        "compare_and_swap_release": "compare_and_swap_acq_rel",
        "load_relaxed": "load_acquire",
    },
    "a suitor that is rejected": {"compare_and_swap_relaxed": "compare_and_swap_acq_rel"},
    "the heap of a rejected suitor": {
        "compare_and_swap_release": "compare_and_swap_acq_rel",
        "compare_and_swap_acquire": "compare_and_swap_acq_rel",
    },
}
ATOMIC = re.compile(r"\b(load|store|fetch_add|fetch_or|fetch_and|compare_and_swap)_(relaxed|acquire|release|acq_rel)\b")
WEAKER = {"acq_rel": ("acquire", "release"), "acquire": ("relaxed",), "release": ("relaxed",), "relaxed": ()}


@pytest.mark.parametrize("name", PATTERNS)
def test_the_text_has_the_orders_of_the_pattern(name: str) -> None:
    pattern = PATTERNS[name]
    text = "".join(inspect.getsource(getattr(f, "plain", f)) for f in pattern.functions)
    used = {match[0] for match in ATOMIC.finditer(text)}
    needed = {match[0] for code in pattern.code for match in ATOMIC.finditer(code)}
    assert {STRONGER.get(name, {}).get(atomic, atomic) for atomic in needed} <= used


needs_herd = pytest.mark.skipif(HERD is None, reason="needs herd7, of herdtools7; HERD7 may have its path")


@needs_herd
@pytest.mark.parametrize("name", PATTERNS)
def test_no_execution_has_the_outcome(name: str, tmp_path: Path) -> None:
    assert not is_possible(PATTERNS[name], PATTERNS[name].code, tmp_path)


@needs_herd
@pytest.mark.parametrize("name", PATTERNS)
def test_no_order_can_be_weaker(name: str, tmp_path: Path) -> None:
    pattern = PATTERNS[name]
    for code, where in weakened(pattern.code):
        assert is_possible(pattern, code, tmp_path), f"{where} would do"


def weakened(code: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
    """The codes in which one order is weaker, everywhere in one thread or, if threads run the same code, in all."""
    found = []
    for atomic in dict.fromkeys(match for text in code for match in ATOMIC.findall(text)):
        operation, order = atomic
        for weaker in WEAKER[order]:
            changed = tuple(text.replace(f"{operation}_{order}(", f"{operation}_{weaker}(") for text in code)
            found.append((changed, f"{operation}_{weaker}"))
    return found


def is_possible(pattern: Pattern, code: tuple[str, ...], folder: Path) -> bool:
    """Whether an execution has the outcome, or a data race."""
    path = folder / "pattern.litmus"
    path.write_text(litmus(pattern, code))
    options = os.environ.get("HERD7_OPTIONS", "").split()
    done = subprocess.run(
        [str(HERD), *options, "-model", "rc11.cat", str(path)], capture_output=True, text=True, check=True
    )
    observed = re.search(r"^Observation \S+ (Never|Sometimes|Always)", done.stdout, re.M)
    assert observed, done.stdout + done.stderr
    return observed[1] != "Never" or "Flag" in done.stdout or "Undef" in done.stdout


def litmus(pattern: Pattern, code: tuple[str, ...]) -> str:
    """The text of a litmus test in herd's C, where an expected value lies in memory of its own."""
    initial, threads_code = pattern.initial, []
    for text in code:
        while found := SWAP.search(text):
            place = f"expected{initial.count('[expected')}"
            initial += f" [{place}] = {found[3]};"
            orders = ", ".join(IN_C[order] for order in ORDERS[found[1]])
            swap = f"atomic_compare_exchange_strong_explicit({found[2]}, {place}, {found[4]}, {orders})"
            text = text[: found.start()] + swap + text[found.end() :]
        threads_code.append(
            ACCESS.sub(lambda match: f"atomic_{match[1]}_explicit({match[3]}, {IN_C[ORDERS[match[2]][0]]})", text)
        )
    parameters = ", ".join(f"volatile int* {place}" for place in re.findall(r"\[(\w+)\]", initial))
    lines = [f"P{number} ({parameters}) {{ {text} }}" for number, text in enumerate(threads_code)]
    return "\n".join(["C pattern", f"{{ {initial} }}", *lines, f"exists ({pattern.never})", ""])


SWAP = re.compile(r"compare_and_swap_(\w+)\((\w+), (-?\w+), (\w+)\)")
ACCESS = re.compile(r"\b(load|store|fetch_add|fetch_or|fetch_and)_(relaxed|acquire|release|acq_rel)\(([^)]*)\)")
IN_C = {order: f"memory_order_{order}" for order in ("acquire", "release", "acq_rel")}
IN_C["monotonic"] = "memory_order_relaxed"
