"""What several threads read and write at the same time, LLVM is told of: each such access is atomic, if unordered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import datasets
from gasla.compiler.function import Compiled, compiled, kind_of
from gasla.compiler.objects import host
from gasla.compiler.unit import Unit
from gasla.cpu.primitive import forest
from gasla.cpu.program.generate import plan
from gasla.cpu.runtime import intrinsics
from gasla.cpu.runtime.threads import new_control
from semirings import minimum

pytestmark = pytest.mark.thorough

GRAPH = gasla.Graph(datasets.grid(4))


class Nearest(gasla.VertexProgram):
    """Improvements go straight into the field."""

    distance = gasla.vertex(np.int16, init=999)
    reduce = semirings.min

    def gather(self, src, dst, edge):  # type: ignore[no-untyped-def]
        return src.distance + np.int16(1)

    def apply(self, vertex, gathered):  # type: ignore[no-untyped-def]
        return {"distance": minimum(vertex.distance, gathered)}


class Reached(gasla.VertexProgram):
    """The first to come applies at once, and others too: they leave the same."""

    seen = gasla.vertex(np.int16)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):  # type: ignore[no-untyped-def]
        return vertex.seen == 0

    def gather(self, src, dst, edge):  # type: ignore[no-untyped-def]
        return src.id + 1

    def apply(self, vertex, gathered):  # type: ignore[no-untyped-def]
        return {"seen": np.int16(1)}


class Counted(Reached):
    """Likewise, but for a claim: each that applies leaves another value."""

    def apply(self, vertex, gathered):  # type: ignore[no-untyped-def]
        return {"seen": vertex.seen + np.int16(1)}


class Lanes(Nearest):
    """Improvements of parts, of which some are new."""

    distance = gasla.vertex((np.int16, (3,)), init=999)


def text_of(function: Compiled, takes: Sequence[Any], name: str) -> str:
    """What LLVM is given of a function and of those that it calls; of those alone that the one named is made of."""
    unit = Unit(host()[0], function.plan)
    unit.export(function.kernel_function, tuple(takes))
    texts = {**unit.parts, f"{function.plain.__name__}.": unit.ir()}
    waiting = [symbol for symbol in texts if symbol.rpartition(".")[0] == name]
    assert len(waiting) == 1
    for symbol in waiting:
        waiting += {*re.findall(r"^declare .*?@([\w.]+)", texts[symbol], re.M)} & texts.keys() - {*waiting}
    return "\n".join(texts[symbol] for symbol in waiting)


def plain(text: str) -> list[str]:
    """The accesses to 16-bit words that LLVM may think nobody else sees, though they are not on the stack."""
    own = {*re.findall(r"(\S+) = alloca", text)}
    found = [
        x
        for x in text.splitlines()
        if re.search(r"\b(load|store)[\w ]* i16\b", x) and not re.search(" (unordered|monotonic)", x)
    ]
    return [x for x in found if not {*re.findall(r"ptr (%[\w.]+)", x)} & own]


@pytest.mark.parametrize("program", [Nearest, Reached, Counted, Lanes])
def test_a_push_reads_and_writes_fields_with_atomics(program: type[gasla.VertexProgram]) -> None:
    gasla.run(program, GRAPH, active=[0], direction="push")
    loop = plan(program, GRAPH.id_dtype, False, False, False).kernels["run_loop"]
    (takes,) = loop._kernels
    text = text_of(loop, takes, "push")
    assert re.search(r"load atomic i16.* unordered", text)
    assert re.search(r"load atomic i64.* unordered", text)  # of a bitmap's words
    assert program in (Nearest, Lanes) or re.search(r"store atomic i16.* unordered", text)
    assert plain(text) == []
    assert plain(text_of(loop, takes, "run_loop"))  # which also fills the fields


@pytest.mark.parametrize("kernel", [forest._link, forest._link_outward, forest._compress])
def test_forests_are_read_and_written_with_atomics(kernel: Any) -> None:
    lists, parents, word = GRAPH.out, np.arange(GRAPH.n, dtype=np.int16), np.uint64(1)
    edges = lists.indptr, lists.indices, parents, word, word, 0
    given = {forest._link: (*edges, True, word), forest._compress: (parents, word)}.get(kernel, (*edges, word))
    text = text_of(kernel, [kind_of(x) for x in (1, 1, new_control(), *given)], kernel.__name__)
    assert re.search(r"load atomic i16.* unordered", text) and re.search(r"store atomic i16.* unordered", text)
    assert plain(text) == []


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int32, np.uint64, np.float32, np.float64])
def test_any_element_can_be_loaded_and_stored(dtype: Any) -> None:
    @compiled
    def move(array):  # type: ignore[no-untyped-def]
        intrinsics.store_relaxed(array, 1, intrinsics.load_relaxed(array, 0))
        intrinsics.store_release(array, 3, intrinsics.load_acquire(array, 2))

    array = np.array([1, 0, 3, 0], dtype)
    move(array)
    assert array.tolist() == np.array([1, 1, 3, 3], dtype).tolist()


class Torn(Reached):
    """Two words of what was gathered: two threads must not leave one each."""

    pair = gasla.vertex((np.int32, (2,)))

    def apply(self, vertex, gathered):  # type: ignore[no-untyped-def]
        return {"seen": np.int16(1), "pair": gathered}


def test_several_threads_apply_at_once_only_where_no_value_could_be_torn() -> None:
    assert Reached.traced(np.dtype(np.int32)).settles
    assert not Torn.traced(np.dtype(np.int32)).settles
