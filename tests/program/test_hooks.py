"""A further function of programs is one entry of the table: everything else follows, in all engines."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gasla.program.hooks import HOOKS

ROOT = Path(__file__).parents[2]
ENTRY = '    "tally": Hook("revise", ("vertex",), "vertex fields", "counts", "revise"),\n'
BEFORE = '    "priority": Hook('
SCRIPT = """
import numpy as np
import gasla, semirings
from gasla import distributed, stages
from gasla.gpu.program import generate
from gasla.gpu.program.plan import Variant

class Counted(gasla.VertexProgram):
    hops = gasla.vertex(np.int64, init=9)
    before, count, later = gasla.vertex(np.int64), gasla.vertex(np.int64), gasla.vertex(np.int64)
    reduce = semirings.min
    def gather(self, src, dst, edge): return src.hops + 1
    def apply(self, vertex, gathered): return {"hops": semirings.minimum(vertex.hops, gathered)}
    def post_apply(self, vertex): return {"before": vertex.count}
    def tally(self, vertex): return {"count": vertex.count + 1, "later": vertex.before}

class Late(Counted):
    sent = gasla.edge(np.int64, init=0)
    def scatter(self, src, dst, edge): return {"sent": src.count}

class Mistyped(Counted):
    def tallly(self, vertex): return {"count": 0}

def by_hand(state, frontier):
    while frontier:
        receivers = stages.contract(state, stages.expand(state, frontier))
        frontier = stages.apply(state, receivers, stages.gather(state, receivers, frontier))
        stages.post_apply(state, receivers)
    return state

def words(run):
    try: run()
    except (TypeError, ValueError) as error: return str(error)
    return "no error"

graph = gasla.Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 2])  # vertex 2 receives twice
spread = distributed.Graph.from_graph(graph, distributed.ThreadRanks(2))
start = {"active": [0], "hops": {0: 0}}
for found in (
    gasla.run(Counted, graph, **start),
    gasla.run(Counted, graph, **start, deterministic=True),
    gasla.run(Counted, graph, **start, compile=False),
    by_hand(stages.start(Counted, graph, hops={0: 0}), gasla.Frontier(4, [0])),
    gasla.run(Counted, spread, **start),
):
    print(*(np.asarray(getattr(found, name)) for name in ("count", "before", "later")))
print(words(lambda: gasla.run(Late, spread, **start)))
print(gasla.run(Counted, graph, schedule=[-1, 0, 0, 1], hops={0: 0}).count)
for staged in (False, True):
    text = generate.Module(Counted.traced(np.dtype(np.int32)), Variant(np.dtype(np.int32), staged=staged)).source
    print(text.partition("void revise")[2].partition("return")[0].count("tally_("), "REVISES = true" in text)
print(words(Mistyped.traced))
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with the library; its files are links, except the table, which has one more entry."""
    program = tmp_path / "gasla" / "program"
    program.mkdir(parents=True)
    (tmp_path / "semirings").symlink_to(ROOT / "semirings")
    for own, copy in ((ROOT / "gasla", program.parent), (ROOT / "gasla" / "program", program)):
        for each in own.iterdir():
            if each.name not in ("program", "hooks.py", "__pycache__"):
                (copy / each.name).symlink_to(each)
    text = (ROOT / "gasla" / "program" / "hooks.py").read_text(encoding="utf-8")
    assert text.count(BEFORE) == 1 and "tally" not in HOOKS
    (program / "hooks.py").write_text(text.replace(BEFORE, ENTRY + BEFORE), encoding="utf-8")
    return tmp_path


def test_a_further_function_is_one_entry(library: Path) -> None:
    touched = [file for file in (library / "gasla").rglob("*") if file.is_file() and not file.is_symlink()]
    assert [file.name for file in touched] == ["hooks.py"]
    environment = {**os.environ, "PYTHONPATH": str(library), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, cwd=library, timeout=120
    )
    assert done.returncode == 0, done.stderr
    *runs, refused, scheduled, loop, staged, mistyped = done.stdout.splitlines()
    assert runs == ["[0 1 2 1] [0 0 1 0] [0 0 1 0]"] * 5
    assert "post_apply or tally has already changed" in refused
    assert scheduled == "[0 1 1 1]"
    assert loop == staged == "1 True"
    assert "tally" in mistyped.replace("tallly", "")
