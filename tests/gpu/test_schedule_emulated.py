"""Scheduled runs of the GPU without a GPU: the generated loop on an emulated block of two warps, on NumPy's arrays."""

import ctypes
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
from gasla.algorithms.centrality.betweenness.brandes import SCALED, Count, scaled_plus
from gasla.gpu.program.plan import Variant, as_ctypes_value
from gasla.graph.graph import Graph
from tests.gpu.test_schedule import PROGRAMS, Alone, First, graph_of
from tests.helpers import programs
from tests.helpers.emulated_loop import EmulatedLoop
from tests.helpers.in_turns import in_turns

RUN = 'extern "C" void run(const Program::Arguments* a) { warp::run([=] { run_loop(*a); }); }\n'
SHORT_ROWS = {"UNCUT": (256, 40), "PIECE": (1024, 100), "MARKED": (256, 20)}
WideCount = type(Count(number=SCALED, reduce=scaled_plus))
QUICK = (First, Alone, programs.Spread, WideCount)
STARTS: dict[Any, dict[str, Any]] = dict([*PROGRAMS, (WideCount, {"paths": {0: (1, 0)}})])
WALKS: dict[str, dict[str, bool]] = {
    "packed": {},
    "flat": {"bounded_degree": True},
    "one block": {"bounded_degree": True, "small": True},
}
CASES = in_turns([(program,) for program in STARTS], [(walk,) for walk in WALKS])
pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


class Emulated(EmulatedLoop):
    """A scheduled run, in which all lengths of rows occur on a small graph."""

    entry = RUN

    def __init__(self, program: Any, graph: Graph, walk: dict[str, bool], folder: Path) -> None:
        shape = Variant(graph.out.indptr.dtype, scheduled=True, **walk)
        super().__init__(program, graph, shape, 1, SHORT_ROWS, folder)
        for name in ("pieces", "piece_values") * self.plan.cuts_rows:
            self.put(name, np.full(1 << 16, 0xAB, np.uint8))  # there are more than rows are long

    def fill(self, name: str, given: Any) -> None:
        """Let the kernel fill a field, if it can."""
        seeds, value, kind = given or {}, self.plan.starts[name].number, self.traced.vertex_types[name]
        fills = value is not None and len(seeds) <= 1
        setattr(self.arguments, f"fills_{name}", fills)
        if fills:
            at, seed = next(iter(seeds.items()), (-1, 0))
            for part, x in (("start", value), ("at", at), ("seed", as_ctypes_value(seed, kind)), ("from", 0)):
                setattr(self.arguments, f"{part}_{name}", x)

    def run(
        self, schedule: gasla.Schedule, lanes: int, at_once: int, log: bool, fill: bool, start: dict[str, Any]
    ) -> dict[str, Any]:
        """The fields after all iterations, `at_once` in a launch."""
        levels, first, depth = schedule.levels.astype(np.int32), schedule.first, schedule.depth
        fields = {
            name: self.put(f"v_{name}", self._vertex_array(name, start.get(name))) for name in self.traced.vertex_types
        }
        for name, values in fields.items():
            setattr(self.arguments, f"fills_{name}", 0)
            self.put(f"from_{name}", values.copy())
            if fill:
                self.fill(name, start.get(name))
                values[...] = 77 if getattr(self.arguments, f"fills_{name}") else values
        self.put("levels", levels)
        order = np.argsort(levels, kind="stable")
        self.put("aside", order.astype(self.graph.id_dtype))
        self.put("starts", np.searchsorted(levels[order], first + np.arange(depth + 1)).astype(np.int64))
        self.log = self.put("log", np.zeros((depth + 1, 4), np.int64))
        arguments, now = self.arguments, self.page.control
        arguments.active_count, arguments.lanes, arguments.log_rows = depth, lanes, (depth + 1) * log
        arguments.first_level, arguments.backward = first, schedule.is_reversed
        arguments.fresh, arguments.limit = True, 0
        while arguments.fresh or (now.size and not now.done):
            arguments.limit += at_once
            self.kernel(ctypes.byref(arguments))
            arguments.fresh = False
        return fields


def grid(offsets: str) -> Graph:
    v = np.arange(144).reshape(12, 12)
    src, dst = np.concatenate([v[:, 1:].ravel(), v[1:].ravel()]), np.concatenate([v[:, :-1].ravel(), v[:-1].ravel()])
    return graph_of(np.concatenate([src, dst]), np.concatenate([dst, src]), 144, offsets == "i8")


def skewed(offsets: str) -> Graph:
    rng = np.random.default_rng(4)
    dst = (90 * rng.random(1500) ** 4).astype(np.int64)
    dst[:400] = 5
    return graph_of(rng.integers(0, 90, 1500), dst, 90, offsets == "i8")


@pytest.mark.parametrize(
    ("program", "walk"),
    [pytest.param(*c.values, id=c.id, marks=c.marks if c.values[0] in QUICK else pytest.mark.slow) for c in CASES],
)
def test_equals_the_cpu(program: Any, walk: str, tmp_path: Path) -> None:
    start = STARTS[program]
    for offsets, make in (("i4", skewed), ("i8", grid)):
        emulated, graph = Emulated(program, make(offsets), WALKS[walk], tmp_path / offsets), make("i4")
        some = np.random.default_rng(3).integers(-1, 6, graph.n)
        deep = gasla.Schedule(np.minimum(np.arange(graph.n), 9), first=2)
        for schedule, lanes in ((gasla.Schedule(some), 4), (deep, 16), (deep.reversed(), 16)):
            expected = gasla.run(program, graph, schedule=schedule, trace=True, **start)
            for at_once, log, fill in ((100, False, True), (1, True, False)):
                fields = emulated.run(schedule, lanes, at_once, log, fill, start)
                for name, values in fields.items():
                    np.testing.assert_array_equal(values, expected.state[name], err_msg=name)
                now = emulated.page.control
                assert now.iteration == expected.iterations
                assert now.total == expected.edges or program in (programs.Hops, programs.Bits)  # which may end early
            assert emulated.log[: now.iteration, 0].tolist() == expected.trace["active"].tolist()
            assert emulated.log[:, 1].sum() == now.total
