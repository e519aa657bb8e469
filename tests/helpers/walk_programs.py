"""Walk programs that tests share, and a walker in plain Python that calls their functions as they are."""

from types import SimpleNamespace
from typing import Any

import numpy as np

import gasla
from gasla.algorithms.walks.node2vec_walks import Node2Vec
from gasla.algorithms.walks.random_walks import RandomWalk
from gasla.graph.graph import Graph
from semirings import hash as hashed
from semirings import minimum, random, where


class Everything(gasla.WalkProgram):
    """Reads all that there is to read, and does all that there is to do."""

    height = gasla.vertex(np.float32, init=lambda v: v.id % 7, missing=3)
    place = gasla.vertex((np.float64, (2,)), init=lambda v: np.stack([v.id % 8 * 0.5, v.id * 0 + 1]))
    half = gasla.vertex(np.float16, init=0.5)
    weight = gasla.edge(np.float32)
    chance = gasla.parameter(np.float32, 0.125)
    last = gasla.parameter(np.int64, 9)

    def bound(self) -> Any:
        return self.last

    def stop(self, vertex: Any) -> Any:
        return where(vertex.in_degree > 12, vertex.half * 0.25, self.chance * 0.25)

    def restart(self, vertex: Any) -> Any:
        return where(vertex.id == self.start, 0.0, self.chance / (1 + vertex.out_degree % 3))

    def accept(self, previous: Any, vertex: Any, target: Any, edge: Any) -> Any:
        likes = minimum(abs(target.height - previous.height) + target.place[0] * 0.01, 4) + edge.weight
        likes = likes + self.at(self.start).height * 0.1 + (edge.id % 2) + where(self.step > 3, 0.25, 0)
        near = where(self.has_edge(target, vertex), likes, likes * 0.5)
        far = where(self.has_edge(previous, target) & (target.id != self.n - 1), near, near * 0.25)
        return where(vertex.id % 11 == 3, 0, far)


class Wrong(gasla.WalkProgram):
    """Gives more than it may."""

    def bound(self) -> Any:
        return 2

    def accept(self, previous: Any, vertex: Any, target: Any, edge: Any) -> Any:
        return where(self.step == 2, 3.0, 1.0)


class Biased(Node2Vec):
    """Node2vec with other parameters by default."""

    p = gasla.parameter(np.float64, 0.01)
    q = gasla.parameter(np.float64, 3)


PROGRAMS: dict[str, Any] = {"RandomWalk": RandomWalk, "Node2Vec": Biased, "Everything": Everything, "Wrong": Wrong}


def fields_of(program: Any, graph: Graph) -> dict[str, Any]:
    """Some fields to start with."""
    return {"height": np.arange(graph.n)[::-1] % 5} if program is Everything else {}


def graph_of(kind: Any) -> Graph:
    """Hubs, loops, parallel edges, dead ends, weights of 0, unsorted lists."""
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 60, (2, 500), dtype=np.int32) ** 2 // 60
    made = Graph.from_edges(src, dst, rng.integers(0, 4, 500) / 2, n=64)
    return Graph.from_csr(made.out.indptr.astype(kind), made.out.indices, made.out_values)


class PlainWalker:
    """One walker at a time, by Python's numbers: what the engines' bits are compared with.

    `fields` are whole arrays of the program's own fields.
    """

    def __init__(self, program: Any, graph: Graph, seed: int, weighted: bool, fields: dict[str, np.ndarray]) -> None:
        self.program, self.graph, self.seed, self.weighted, self.fields = program, graph, seed, weighted, fields
        kind = type(program)
        self.missing = {n: f.type(f.missing) for n, f in kind.vertex_fields.items() if f.missing is not None}
        self.edges = set(zip(np.repeat(np.arange(graph.n), graph.out_degrees).tolist(), graph.out.indices.tolist()))
        for name, parameter in kind.parameters.items():
            setattr(program, name, parameter.type(program.values[name]))
        program.n = graph.n
        program.at = self.vertex
        program.has_edge = lambda a, b: np.bool_((int(a.id), int(b.id)) in self.edges)
        self.bound = float(program.bound())

    def vertex(self, v: int) -> Any:
        """The fields of a vertex; of none what they are where missing."""
        if v < 0:
            return SimpleNamespace(id=np.int64(-1), **self.missing)
        own = {name: array[v] for name, array in self.fields.items()}
        degrees = np.int64(self.graph.in_degrees[v]), np.int64(self.graph.out_degrees[v])
        return SimpleNamespace(id=np.int64(v), in_degree=degrees[0], out_degree=degrees[1], **own)

    def walk(self, w: int, start: int, steps: int) -> list[int]:
        """Where it is."""
        program, walk, before = self.program, [start], -1
        program.start = np.int64(start)
        for t in range(steps):
            program.step, v = np.int64(t), walk[-1]
            if v < 0 or self.does("stop", v, random(self.seed, w, t, -1)):
                walk.append(-1)
            elif self.does("restart", v, random(self.seed, w, t, -2)):
                walk.append(start)
                before = -1
                continue
            else:
                walk.append(self.step(w, t, before, v))
            before = v
        return walk

    def does(self, name: str, v: int, lot: float) -> bool:
        """Whether it does that."""
        function = getattr(self.program, name, None)
        return function is not None and bool(lot < np.float64(function(self.vertex(v))))

    def step(self, w: int, t: int, before: int, v: int) -> int:
        """Where it goes."""
        lists = self.graph.out
        ks = range(*lists.indptr[v : v + 2].tolist())
        weights = np.ones(len(ks))
        if self.weighted and self.graph.out_values is not None:
            sums = np.cumsum(self.graph.out_values[ks.start : ks.stop].astype(np.float64))
            weights = np.diff(sums, prepend=0.0)
        if not weights.any():
            return -1

        def drawn(draw: int) -> int:
            if self.weighted:
                return ks[int(np.searchsorted(sums, random(self.seed, w, t, draw) * sums[-1], "right"))]
            return ks[int(hashed(self.seed, w, t, draw)) * len(ks) >> 64]

        k = drawn(0)
        if not hasattr(self.program, "accept"):
            return int(lists.indices[k])
        tries = 32 + len(ks)
        for i in range(tries):
            if random(self.seed, w, t, 1 + 2 * i) * self.bound < self.accepted(before, v, k):
                return int(lists.indices[k])
            k = drawn(2 + 2 * i)
        shares = [x * (self.accepted(before, v, k) / self.bound) for x, k in zip(weights, ks)]
        mark = random(self.seed, w, t, 1 + 2 * tries) * np.cumsum(shares)[-1]
        total, found = 0.0, -1
        for k, more in zip(ks, shares):
            if more > 0:
                found, total = int(lists.indices[k]), total + more
                if total > mark:
                    break
        return found

    def accepted(self, before: int, v: int, k: int) -> float:
        """What accept gives of the edge at a position."""
        target, values = int(self.graph.out.indices[k]), self.graph.out_values
        edge = SimpleNamespace(
            id=np.int64(self.graph.out.numbers()[k]), weight=np.float32(1 if values is None else values[k])
        )
        return float(self.program.accept(self.vertex(before), self.vertex(v), self.vertex(target), edge))
