"""Programs that take turns, against the same done by hand, on both engines and by NumPy."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

import gasla
import semirings
from gasla.arrays import moved

WAYS = [
    pytest.param({}, id="compiled"),
    pytest.param({"compile": False}, id="by NumPy"),
    pytest.param({"device": "gpu"}, id="gpu", marks=pytest.mark.gpu),
]


class Authorities(gasla.VertexProgram):
    """What hubs point to."""

    hub = gasla.vertex(np.float64, init=1)
    authority = gasla.vertex(np.float64)
    everyone = True
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.hub

    def apply(self, vertex, gathered):
        return {"authority": gathered}

    @gasla.aggregate(semirings.plus)
    def total(self, before, after):
        return after.authority


class Hubs(gasla.VertexProgram):
    """What points to authorities, by what these come to in all."""

    hub = gasla.vertex(np.float64, init=7)  # the first phase's holds
    authority = gasla.vertex(np.float64)
    total = gasla.parameter(np.float64, 1)
    everyone = True
    direction = "out"
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.authority

    def apply(self, vertex, gathered):
        return {"hub": gathered / self.total}


class Forward(gasla.VertexProgram):
    """Marks go along edges."""

    mark = gasla.vertex(np.int32, init=-1)
    turn = gasla.parameter(np.int32, 0)
    reduce = semirings.any
    sources = "active"

    def start(self, vertex):
        return vertex.id == self.turn

    def mask(self, vertex):
        return vertex.mark < self.turn

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"mark": self.turn}


class Counting(gasla.VertexProgram):
    """How often each vertex was marked."""

    mark = gasla.vertex(np.int32)
    count = gasla.vertex(np.int32)
    turn = gasla.parameter(np.int32, 0)
    everyone = True

    def apply(self, vertex, gathered):
        return {"count": vertex.count + (vertex.mark == self.turn)}

    def activate(self, before, after):
        return True

    def stop(self):
        return self.turn == 9


def some(n: int = 30) -> csr_array:
    return csr_array(random_array((n, n), density=0.1, rng=np.random.default_rng(3)))


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
def test_two_of_everyone(way: dict[str, Any]) -> None:
    A = some()
    found = gasla.run([Authorities, Hubs], A, max_iterations=5, **way)
    pattern, hub = (A != 0).astype(float), np.ones(30)
    for _ in range(5):
        authority = pattern.T @ hub
        hub = pattern @ authority / authority.sum()
    np.testing.assert_allclose(moved(found.hub, "cpu"), hub)
    np.testing.assert_allclose(moved(found.authority, "cpu"), authority)
    assert (found.iterations, found.converged) == (5, False)
    assert np.isclose(float(found.aggregates["total"]), authority.sum())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.slow
def test_stays_start_where_they_say(way: dict[str, Any]) -> None:
    A = some()
    found = gasla.run([gasla.Phase(Forward, until="still"), Counting], A, **way)
    reach = A.toarray() != 0
    for k in range(30):
        reach |= reach[:, k : k + 1] & reach[k]
    np.testing.assert_array_equal(moved(found.count, "cpu"), reach[:10].sum(axis=0))
    assert (found.iterations, found.converged) == (10, True)


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
def test_a_turn_that_leaves_nothing_active_is_the_last(way: dict[str, Any]) -> None:
    class Lower(gasla.VertexProgram):
        label = gasla.vertex(gasla.ID, init=lambda vertex: vertex.id)
        reduce = semirings.min

        def start(self, vertex):
            return True

        def gather(self, src, dst, edge):
            return src.label

        def apply(self, vertex, gathered):
            return {"label": semirings.minimum(vertex.label, gathered)}

    class Back(Lower):
        direction = "out"

    path = csr_array(np.eye(20, k=1))
    turns: list[int] = []
    found = gasla.run([Lower, Back], path, active=[], callback=lambda result: turns.append(result.iterations), **way)
    assert found.converged
    assert turns == list(range(1, found.iterations + 1))
    assert not moved(found.label, "cpu").any()
    assert len(found.active) == 0


@pytest.mark.thorough
def test_fields_live_in_arrays_of_the_callers_and_start_with_what_is_given() -> None:
    A, mine = some(), np.zeros(30)
    found = gasla.run([Authorities, Hubs], A, max_iterations=2, hub=np.arange(30.0), out={"authority": mine})
    assert found.authority is mine
    again = gasla.run([Authorities, Hubs], A, max_iterations=2, hub=np.arange(30.0))
    np.testing.assert_array_equal(found.hub, again.hub)
    np.testing.assert_array_equal(mine, again.authority)


@pytest.mark.slow
def test_parameters_that_idle_sets_are_shared() -> None:
    class Rising(gasla.VertexProgram):
        x = gasla.vertex(np.int32)
        k = gasla.parameter(np.int32, 0)

        def apply(self, vertex, gathered):
            return {"x": vertex.x + 1}

        def activate(self, before, after):
            return False

        def idle(self):
            return {"k": self.k + 1}

        def wake(self, vertex):
            return (vertex.id == 0) & (self.k % 4 != 0)

    class Seeing(gasla.VertexProgram):
        seen = gasla.vertex(np.int32)
        k = gasla.parameter(np.int32, 0)
        everyone = True

        def apply(self, vertex, gathered):
            return {"seen": self.k}

        def stop(self):
            return self.k >= 8

    path = csr_array(np.eye(3, k=1))
    for compile in (False, True):
        found = gasla.run([gasla.Phase(Rising, until="still"), Seeing], path, compile=compile)
        assert found.seen.tolist() == [8, 8, 8]


@pytest.mark.thorough
def test_a_run_gives_values_to_parameters() -> None:
    seen = gasla.run([gasla.Phase(Forward, until="still"), Limited], some(), limit=3)
    assert (seen.iterations, seen.converged) == (4, True)


class Limited(gasla.VertexProgram):
    """Ends the run after so many turns."""

    mark = gasla.vertex(np.int32)
    limit = gasla.parameter(np.int32, 0)
    turn = gasla.parameter(np.int32, 0)
    everyone = True

    def apply(self, vertex, gathered):
        return {"mark": vertex.mark}

    def activate(self, before, after):
        return True

    def stop(self):
        return self.turn == self.limit


class Other(gasla.VertexProgram):
    hub = gasla.vertex(np.float32)


class Twice(gasla.VertexProgram):
    hub = gasla.parameter(np.float64, 1)


@pytest.mark.parametrize(
    ("phases", "options", "error", "words"),
    [
        ([], {}, ValueError, "no phases"),
        ([3], {}, TypeError, "program is 3"),
        ([Hubs, Other], {}, TypeError, r"Hubs.hub is a vertex field of type float64, and Other.hub a .* float32"),
        ([Hubs, Twice], {}, TypeError, "Twice.hub a parameter"),
        ([Hubs, Authorities], {"trace": True}, ValueError, "no trace"),
        ([Hubs, Authorities], {"schedule": np.zeros(30, int)}, ValueError, "no schedule"),
        ([Hubs, Authorities], {"heat": 3}, TypeError, "no phase has 'heat'"),
        ([Hubs(total=2.0), Hubs(total=3.0)], {}, ValueError, "phases have total = 2.0 and 3.0"),
        ([Hubs, Authorities], {"max_iterations": -1}, ValueError, "max_iterations"),
        ([Hubs, Authorities], {"out": {"heat": np.zeros(30)}}, TypeError, "no phase has a vertex field 'heat'"),
        ([Hubs, Authorities], {"out": {"hub": np.zeros(30, np.float32)}}, TypeError, "expected a numpy array"),
        (Forward, {}, ValueError, "start"),
    ],
)
def test_impossible_input_is_refused(phases: Any, options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        gasla.run(phases, some(), **options)


def test_a_phase_goes_on_once_or_until_still() -> None:
    with pytest.raises(ValueError, match="until is 'twice'"):
        gasla.Phase(Hubs, until="twice")  # type: ignore[arg-type]
