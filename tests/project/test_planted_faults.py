"""Twenty small faults, each planted in a copy of gasla by itself: the default tests notice every one.

Run by name, `pytest -m slow -rP tests/project/test_planted_faults.py`, which prints the tests that noticed each fault.
A fault that no test notices shows a gap in the default tests.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers import ROOT

pytestmark = pytest.mark.slow


class Fault(NamedTuple):
    """A file, its right text, the fault that replaces it, and the test file, below tests/, that must notice it."""

    file: str
    right: str
    planted: str
    test: str


FAULTS = [
    # kernels, one of them without a barrier
    Fault(
        "gasla/cpu/primitive/select_top_k.py", "column > its_column", "column < its_column", "operations/test_top_k.py"
    ),
    Fault(
        "gasla/cpu/primitive/cliques.py",
        "range(middle + _ONE, words)",
        "range(middle, words)",
        "algorithms/patterns/test_cliques.py",
    ),
    Fault(
        "gasla/cpu/primitive/draw_samples.py",
        "drawn[j] = top if _has(drawn, j, place) else place",
        "drawn[j] = ZERO if _has(drawn, j, place) else place",
        "algorithms/walks/test_random_walks.py",
    ),
    Fault(
        "gasla/cpu/primitive/forest.py",
        "before)\n    barrier(control, threads)",
        "before)",
        "algorithms/components/test_connected.py",
    ),
    Fault(
        "gasla/cpu/primitive/intersections.py",
        "marks[np.uint64(w)] >= count",
        "marks[np.uint64(w)] > count",
        "operations/test_intersections.py",
    ),
    Fault(
        "gasla/cpu/primitive/listing.py",
        "i_end, above[e] + 1)",
        "i_end, above[e] + 2)",
        "algorithms/patterns/test_cliques.py",
    ),
    Fault(
        "gasla/cpu/primitive/neighbors.py",
        "counts[thread, np.uint64(w)] += 1",
        "counts[thread, u] += 1",
        "algorithms/community/test_triangles.py",
    ),
    Fault(
        "gasla/cpu/primitive/support.py",
        "counters[k] += tally[w] - 1",
        "counters[k] += tally[w]",
        "algorithms/community/test_edge_support.py",
    ),
    # what is generated
    Fault(
        "gasla/cpu/kernels/products/gustavson.py",
        "is_new = marks[run.j] == 0",
        "is_new = False",
        "operations/test_mxm.py",
    ),
    Fault(
        "gasla/cpu/kernels/products/vector.py",
        "simd4.within(run.last - run.e), run.last",
        "simd4.within(run.last - run.e - ONE), run.last",
        "operations/test_products.py",
    ),
    Fault(
        "gasla/cpu/kernels/loop.py",
        "and run.self_iteration < run.limit\n",
        "and run.self_iteration <= run.limit\n",
        "program/test_runs.py",
    ),
    Fault(
        "gasla/cpu/kernels/atomics.py",
        "field[v] = run.combine[key](old, value)",
        "field[v] = value",
        "program/test_runs.py",
    ),
    Fault(
        "gasla/cpu/kernels/pull.py",
        'run, i, run.local["value", i]',
        'run, i + 1, run.local["value", i]',
        "program/test_runs.py",
    ),
    Fault("gasla/cpu/kernels/draws.py", "mark = part * total", "mark = part", "algorithms/walks/test_random_walks.py"),
    Fault("semirings/printers/python.py", 'f" or {a} != {a}"', 'f" or {b} != {b}"', "semirings/test_semantics.py"),
    # the compiler
    Fault(
        "gasla/compiler/emit.py", '"s" if a.type.scalar.kind == "i" else "u"', '"s"', "compiler/test_kernel_language.py"
    ),
    # algorithms
    Fault(
        "gasla/algorithms/acyclic/longest_path.py",
        "maximum(vertex.length, length)",
        "minimum(vertex.length, length)",
        "algorithms/acyclic/test_orders_and_longest_paths.py",
    ),
    Fault(
        "gasla/algorithms/centrality/pagerank.py",
        "lost = self.alpha * self.lost",
        "lost = -self.alpha * self.lost",
        "algorithms/test_basics.py",
    ),
    Fault(
        "gasla/algorithms/clustering/square_clustering.py",
        "- 2 * triangles",
        "- triangles",
        "algorithms/similarity/test_two_hops.py",
    ),
    Fault("gasla/algorithms/flows/preflow.py", "came - left", "came + left", "algorithms/flows/test_maximum_flow.py"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whose code is compiled once; what a fault changes is compiled anew."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("gasla", "semirings", "tests", "benchmarks"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "docs/semantics.md", "docs/laws.md"):
        (tree / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    return tree


def run(tree: Path, test: str) -> subprocess.CompletedProcess[str]:
    """Default tests of a copy, up to the first that fails."""
    environment = os.environ | {"PYTHONPATH": str(tree), "GASLA_CACHE_DIR": str(tree / "cache")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"tests/{test}"]
    command += ["-m", "not slow and not thorough"]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def test_they_are_twenty_and_elsewhere() -> None:
    assert len(FAULTS) == len({fault.file for fault in FAULTS}) == 20


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: Path(fault.file).stem)
def test_a_fault_is_noticed(fault: Fault, copy: Path) -> None:
    path = copy / fault.file
    text = path.read_text(encoding="utf-8")
    assert text.count(fault.right) == 1, f"{fault.file} has {fault.right!r} not once; plant the fault elsewhere"
    path.write_text(text.replace(fault.right, fault.planted), encoding="utf-8")
    try:
        done = run(copy, fault.test)
    finally:
        path.write_text(text, encoding="utf-8")
    assert done.returncode == 1, (
        f"no default test of {fault.test} notices it:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    )
    assert "CompileError" not in done.stdout, f"what is planted is refused, not wrong:\n{done.stdout[-4000:]}"
    print(*re.findall(r"^FAILED (.*)", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("test", sorted({fault.test for fault in FAULTS}))
def test_without_a_fault_all_pass(test: str, copy: Path) -> None:
    done = run(copy, test)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
