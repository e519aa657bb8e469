"""Buckets, and what is done when nothing is active: by peeling, whose answer is known, and by whole small programs."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
import semirings
from tests.helpers.programs import Cores, Reaches, Stirring, Thawing


def graph_of(made: nx.Graph) -> csr_array:
    if not len(made):
        return csr_array((0, 0), dtype=np.float32)
    return csr_array(nx.to_scipy_sparse_array(made, weight=None, dtype=np.float32, format="csr"))


GRAPHS = {
    "karate": nx.karate_club_graph(),
    "star": nx.star_graph(200),
    "path": nx.path_graph(100),
    "random": nx.gnm_random_graph(120, 700, seed=3),
    "complete": nx.complete_graph(12),
    "large": nx.barabasi_albert_graph(4000, 5, seed=2),
    "apart": nx.disjoint_union(nx.complete_graph(5), nx.empty_graph(4)),
    "nothing": nx.empty_graph(0),
    "one": nx.empty_graph(1),
}


@pytest.fixture(params=[False, True], ids=["by NumPy", "compiled"])
def compiled(request):
    return request.param


@pytest.mark.thorough
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
def test_cores_by_buckets(name, direction, compiled):
    made = GRAPHS[name]
    result = gasla.run(Cores, graph_of(made), direction=direction, compile=compiled)
    assert result.converged
    np.testing.assert_array_equal(result.degree, [core for _, core in sorted(nx.core_number(made).items())])


@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "large"])
@pytest.mark.slow
def test_searches_one_after_another(name, compiled):
    made = nx.gnp_random_graph(40, 0.05, seed=1, directed=True) if name == "random" else GRAPHS[name]
    result = gasla.run(Reaches, graph_of(made), active=[], compile=compiled)
    assert result.converged
    reach = np.zeros((len(made), len(made)), bool)
    for u, v in made.to_directed().edges:
        reach[u, v] = True
    for k in range(len(made)):
        reach |= reach[:, k : k + 1] & reach[k]
    np.testing.assert_array_equal(result.count, reach.sum(axis=0))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["karate", "random", "apart", "large"])
@pytest.mark.parametrize("options", [{}, {"callback": lambda result: False}, {"deterministic": True}])
def test_buckets_and_waking_are_as_by_numpy(name, options):
    graph = graph_of(GRAPHS[name])
    for limit in (0, 1, 5, 100):
        expected = gasla.run(Thawing, graph, compile=False, max_iterations=limit)
        found = gasla.run(Thawing, graph, max_iterations=limit, **options)
        for field in ("warmth", "opened"):
            np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))
        assert (found.iterations, found.converged) == (expected.iterations, expected.converged)
        np.testing.assert_array_equal(found.active.mask, expected.active.mask)


@pytest.mark.slow
def test_who_wakes_is_asked_of_what_the_iteration_left():
    graph = graph_of(GRAPHS["random"])
    for limit in (2, 100):
        expected = gasla.run(Stirring, graph, compile=False, max_iterations=limit)
        found = gasla.run(Stirring, graph, max_iterations=limit)
        np.testing.assert_array_equal(found.x, expected.x)
        assert (found.iterations, found.converged) == (expected.iterations, expected.converged)


@pytest.mark.thorough
@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("program", [Cores, Reaches, Thawing])
@pytest.mark.parametrize("direction", ["auto", "pull"])
def test_two_threads_open_what_one_does(program, direction):
    for name in ("karate", "random", "star"):
        graph = gasla.Graph(graph_of(GRAPHS[name]))
        start = {"active": []} if program is Reaches else {}
        expected = gasla.run(program, graph, compile=False, **start)
        prepared = gasla.prepare(program, graph, direction=direction)
        for found in (prepared(**start), prepared(**start)):  # the second one on what the first left
            for field in program.vertex_fields:
                np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))
            assert (found.iterations, found.converged) == (expected.iterations, expected.converged)


def fields(**functions):
    """A program with some functions, that is refused."""
    return type("Refused", (gasla.VertexProgram,), {"x": gasla.vertex(np.int32), "reduce": semirings.plus, **functions})


@pytest.mark.parametrize(
    ("functions", "error", "words"),
    [
        ({"bucket": lambda self, v: v.x * 0.5}, TypeError, "bucket returned .*expected a whole number"),
        ({"bucket": lambda self, v: v.x > 1}, TypeError, "expected a whole number"),
        ({"bucket": lambda self, v: (v.x, v.x)}, TypeError, "expected a whole number"),
        ({"bucket": lambda self, v: v.x + self.iteration}, ValueError, "reads self.iteration"),
        ({"bucket": lambda self, v: v.x + self.bucket}, ValueError, "reads self.bucket"),
        ({"bucket": lambda self, v: v.x, "priority": lambda self, v: v.x}, ValueError, "a bucket and a priority"),
        ({"bucket": lambda self, v: v.x, "scatter": lambda self, s, d, e: {}}, ValueError, "a bucket and a scatter"),
        ({"bucket": lambda self, v: v.x, "everyone": True}, ValueError, "everyone = True"),
        ({"idle": lambda self: {}}, ValueError, "write wake"),
        ({"idle": lambda self: 3, "wake": lambda self, v: True}, TypeError, "expected a dict"),
        ({"idle": lambda self: {"k": 3}, "wake": lambda self, v: True}, ValueError, "'k'.*expected some of: nothing"),
        ({"wake": lambda self, v: v.x}, TypeError, "wake"),
    ],
)
def test_impossible_input_is_refused(functions, error, words):
    with pytest.raises(error, match=words):
        gasla.run(fields(**functions), graph_of(GRAPHS["karate"]))


def test_schedules_and_stages_open_no_buckets():
    graph = graph_of(GRAPHS["karate"])
    with pytest.raises(ValueError, match=r"no mask, scatter, bucket"):
        gasla.run(Cores, graph, schedule=np.zeros(34, int))
    with pytest.raises(ValueError, match=r"reads self\.bucket"):
        gasla.stages.start(Cores, graph)


def test_explain_says_who_goes_on():
    graph = graph_of(GRAPHS["karate"])
    assert "Vertices wait in buckets" in str(gasla.explain(Cores, graph))
    assert "idle sets self.turn, and wake is called for every vertex" in str(gasla.explain(Reaches, graph))


def test_explain_says_what_never_ends():
    graph = graph_of(GRAPHS["karate"])
    always = fields(apply=lambda self, v, _: {"x": v.x + 1}, activate=lambda self, a, b: True, everyone=True)
    again = fields(apply=lambda self, v, _: {"x": v.x + 1}, wake=lambda self, v: True)
    for program, why in ((always, "every vertex is always active"), (again, "wake is always true")):
        assert f"It never ends by itself: {why}" in str(gasla.explain(program, graph))
        program.stop = lambda self: self.iteration > 3
        ending = type("Ending", (program,), {})
        assert "never ends" not in str(gasla.explain(ending, graph))
    assert "never ends" not in str(gasla.explain(Reaches, graph))
