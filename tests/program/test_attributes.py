"""Programs that read attributes of edges and vertices by name, on every engine."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import Graph
from gasla.gpu.program.plan import Variant
from tests.helpers.emulated_loop import EmulatedRun

GPU = pytest.param("gpu", marks=pytest.mark.gpu)


class Cheapest(gasla.VertexProgram):
    """Least cost of a path, of two attributes and the values; each vertex starts with a fee."""

    reduce = semirings.min
    cost = gasla.vertex(np.float64, init=np.inf)
    fee = gasla.vertex(np.float64, init=lambda vertex: vertex.fee * 2)
    time = gasla.edge(np.float64, attribute="time in hours")
    price = gasla.edge(np.float64, attribute="price")
    own = gasla.edge(np.float64)

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return src.cost + dst.fee + 100 * edge.time + edge.price + edge.own

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"cost": semirings.minimum(vertex.cost, gathered)}

    def activate(self, before: Any, after: Any) -> Any:
        return after.cost < before.cost


class Sum(Cheapest):
    """The same cost as one value."""

    own = gasla.edge(np.float64)

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return src.cost + dst.fee + edge.own


def case(seed: int, n: int = 60, m: int = 300) -> tuple[Graph, Graph]:
    """A graph with attributes, and one with their sum as its values."""
    rng = np.random.default_rng(seed)
    graph = Graph.from_edges(*rng.integers(0, n, (2, m)), rng.integers(0, 9, m).astype(np.float64), n=n)
    price, time, fee = rng.integers(1, 50, m), rng.integers(0, 5, m).astype(np.float32), rng.integers(0, 9, n)
    graph = graph.with_edge_attributes({"price": price, "time in hours": time}).with_vertex_attributes(fee=fee)
    return graph, graph.with_values(100.0 * time + price + graph.values)


@pytest.mark.parametrize("direction", ["in", "out", "all"])
@pytest.mark.parametrize("device", ["cpu", GPU])
def test_a_program_reads_attributes_by_name(direction: str, device: Any) -> None:
    kinds = [type(kind.__name__, (kind,), {"direction": direction}) for kind in (Cheapest, Sum)]
    for seed in range(3):
        graph, summed = (one.to(device) for one in case(seed))
        start: Any = {"active": [0], "cost": {0: 0.0}}
        expected = gasla.run(kinds[1], summed, **start).cost
        assert gasla.run(kinds[0], graph, **start).cost.tolist() == expected.tolist()
        if device == "cpu":
            assert gasla.run(kinds[0], graph, compile=False, **start).cost.tolist() == expected.tolist()


def test_the_reverse_edge_has_attributes() -> None:
    class Back(gasla.VertexProgram):
        reduce = semirings.plus
        everyone = True
        total = gasla.vertex(np.int64)
        price = gasla.edge(np.int64, attribute="price")

        def gather(self, src: Any, dst: Any, edge: Any) -> Any:
            return edge.back.price

        def apply(self, vertex: Any, gathered: Any) -> Any:
            return {"total": gathered}

    graph = Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1]).with_edge_attributes(price=[1, 2, 30, 40])
    for compiled in (True, False):
        assert gasla.run(Back, graph, max_iterations=1, compile=compiled).total.tolist() == [1, 32, 40]


def test_walks_and_stages_read_attributes() -> None:
    class Along(gasla.WalkProgram):
        lane = gasla.edge(np.int64, attribute="lane")

        def accept(self, previous: Any, vertex: Any, target: Any, edge: Any) -> Any:
            return edge.lane == 1

    graph = Graph.from_edges([0, 0, 1, 2, 2], [1, 2, 0, 0, 1]).with_edge_attributes(lane=[0, 1, 1, 0, 1])
    assert gasla.walk(Along, graph, [0], 3, seed=2).tolist() == [[0, 2, 1, 0]]


def test_errors_name_the_field_and_the_nearest_attribute() -> None:
    graph = case(0)[0]
    wrong = graph.with_edge_attributes({"time in hours": None}).with_edge_attributes({"time in hour": graph.values})
    for compiled in (True, False):
        with pytest.raises(ValueError, match=r"Cheapest.time reads an edge attribute.*did you mean 'time in hour'"):
            gasla.run(Cheapest, wrong, active=[0], compile=compiled)
    whole = graph.with_edge_attributes(price=np.full(graph.m, 0.5))
    program = type("Whole", (Cheapest,), {"price": gasla.edge(np.int64, attribute="price")})
    with pytest.raises(TypeError, match="holds float64, and the program's edge field is int64"):
        gasla.run(program, whole, active=[0])
    with pytest.raises(AttributeError, match="has no field 'fee'"):
        gasla.run(Cheapest, graph.with_vertex_attributes(fee=None), active=[0])
    with pytest.raises(TypeError, match="attribute is 'x' and init is 0"):
        gasla.edge(np.int64, init=0, attribute="x")
    program = type("Writes", (Cheapest,), {"scatter": lambda self, src, dst, edge: {"price": 1.0}})
    with pytest.raises(ValueError, match="scatter writes 'price'"):
        gasla.run(program, graph, active=[0])


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_attributes_in_the_emulated_loop_of_the_gpu(tmp_path: Path) -> None:
    graph, summed = case(5)
    expected = gasla.run(Sum, summed, active=[0], cost={0: 0.0}).cost
    run = EmulatedRun(Cheapest, graph, Variant(graph.out.indptr.dtype), 2, {}, tmp_path)
    assert run.run(np.array([0], graph.id_dtype), cost={0: 0.0})["cost"].tolist() == expected.tolist()


def test_the_width_of_buckets_follows_the_attribute() -> None:
    class Near(Cheapest):
        time = gasla.edge(np.float64, attribute="price")

        def gather(self, src: Any, dst: Any, edge: Any) -> Any:
            return src.cost + edge.time

        def priority(self, vertex: Any) -> Any:
            return vertex.cost

    graph = case(3)[0].with_values(None)
    graph = graph.with_edge_attributes(price=graph.edge_attributes["price"] * 1e9)
    own = type("Own", (Near,), {"time": gasla.edge(np.float64)})
    start: Any = {"active": [0], "cost": {0: 0.0}}
    found = gasla.run(Near, graph, **start)
    expected = gasla.run(own, graph.weighted_by("price"), **start)
    assert found.cost.tolist() == expected.cost.tolist()
    assert found.iterations == expected.iterations
