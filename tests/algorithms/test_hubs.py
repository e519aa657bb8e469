"""On hubs, functions take about linear time, as their pages say: some in every run, all by name."""

import os

import pytest

from tests.helpers import hubs
from tests.helpers.laws import ROWS

PAIRS = [*hubs.trials(ROWS)]
ONCE = {"k_shortest_paths", "adamic_adar", "shared_nearest_neighbors"}  # took quadratic time, or Python's
MANY = int(os.environ.get("GASLA_LEAVES", str(10**6)))


def check(pairs: list[hubs.Trial], leaves: int, most: float) -> None:
    """Each call ends within some seconds of CPU time, or is refused within them."""
    late = []
    for row, shape in pairs:
        for _ in range(3):  # the first time it may be compiled, and other processes may be in the way
            found = hubs.time_of(row, shape, leaves, 4 * most)
            if found.seconds < most:
                break
        else:
            late.append(f"{row.name}, {shape.__name__}: {found.seconds:.2f} s {found.refusal}")
    assert not late, "\n".join(late)


def test_some_functions_on_hubs() -> None:
    check([pair for pair in PAIRS if pair[0].function in ONCE] + PAIRS[::120], 40_000, 0.5)


@pytest.mark.thorough
def test_more_functions_on_hubs() -> None:
    check(PAIRS[2::6], 40_000, 0.5)


@pytest.mark.slow
def test_all_functions_on_large_hubs(capsys: pytest.CaptureFixture[str]) -> None:
    check(PAIRS, MANY, MANY * 1.5e-5)
    with capsys.disabled():
        print(f"\n{len(PAIRS)} calls on hubs of {MANY:,} leaves")
