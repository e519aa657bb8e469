"""A program prepared for stages that Python calls one by one, on the CPU."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gasla.cpu.program.prepared import Prepared
from gasla.cpu.program.workspace import Workspace
from gasla.graph.graph import Graph
from gasla.names import inner
from gasla.program.frontier import EdgeFrontier, Frontier
from gasla.program.program import VertexProgram
from gasla.program.records import Record
from semirings.types import HALF


class Staged(Prepared):
    """A program, a graph, and the arrays between stages; `gasla.gpu.program.staged.Staged` is its GPU counterpart."""

    _has_begun = False

    def __init__(self, program: VertexProgram, graph: Graph, fields: Mapping[str, Any]) -> None:
        super().__init__(program, graph, staged=True)
        own: Workspace = {}
        self._use(own)
        if self.plan.keyed is not None:
            own["table_keys", self._shapes["table_keys"]].fill(-1)
        self.iteration = 0
        self._start(fields, None)

    @property
    def arrays(self) -> dict[str, Any]:
        """The arguments of stages, by name."""
        return dict(zip(self._places, self._arguments, strict=True))

    def gather(self, receivers: np.ndarray, active: Frontier, iteration: int) -> None:
        """Gather for each receiver; the values are kept for `apply`."""
        if self.plan.keeps_active:
            self._get("bits")[:] = 0
            for parity in (0, 1):
                self.set_active(active, parity)
        self._over("gather_list", receivers, iteration)

    def apply(self, receivers: np.ndarray, iteration: int) -> np.ndarray:
        """Apply the gathered values; returns a mask of the vertices that are active next."""
        self._get("activated")[:] = False
        self._over("apply_list", receivers, iteration)
        activated: np.ndarray = self._get("activated").copy()
        return activated

    def scatter(self, vertices: np.ndarray, iteration: int) -> None:
        """Write to the out-edges of vertices."""
        self._over("scatter", vertices, iteration)

    def post_apply(self, receivers: np.ndarray, iteration: int) -> None:
        """Run post_apply on the receivers."""
        self._over("post_apply", receivers, iteration)

    def mask(self, vertices: np.ndarray, iteration: int) -> np.ndarray:
        """Evaluate the mask for vertices."""
        admitted = self._evaluate("mask", iteration, self._vertices(vertices))
        return np.broadcast_to(admitted, len(vertices))

    def edge_mask(self, edges: EdgeFrontier, places: np.ndarray, iteration: int) -> np.ndarray:
        """Evaluate the edge mask for edges, whose positions in the neighbor lists are given as well."""
        ends = self._vertices(edges.src), self._vertices(edges.dst)
        leaves: Any = self.program.direction == "in"
        if self.program.direction == "all":
            leaves = self.graph.leaving[places]
        own, partners = self._edges(edges.ids), self.plan.needs_send_partners
        back = Record("edge's partner", self._edges(self.graph.reverse_edge_ids[edges.ids])) if partners else None
        admitted = self._evaluate("edge_mask", iteration, *ends, Record("edge", own | {"leaves": leaves, "back": back}))
        return np.broadcast_to(admitted, len(edges))

    def _over(self, stage: str, vertices: np.ndarray, iteration: int) -> None:
        """Run a stage for vertices."""
        self._put("receivers", np.ascontiguousarray(vertices, self.ids))
        self._get("counts")[:] = 0
        self._put("receiver_count", np.int64(len(vertices)))
        self._put("self_iteration", np.int64(iteration))
        self.call(stage)

    # --- masks, evaluated by the program's own Python functions ----------------------------------------------------

    def _evaluate(self, function: str, iteration: int, *records: Record) -> np.ndarray:
        """Call one of the program's functions on NumPy arrays."""
        stand_in = object.__new__(type(self.program))
        stand_in.__dict__.update(self.by_given_name(self.parameters()), iteration=iteration, n=self.graph.n)
        return np.asarray(getattr(type(self.program), function)(stand_in, *records))

    def _vertices(self, ids: np.ndarray) -> Record:
        """The fields of vertices, as arguments of the program's functions."""
        graph = self.graph
        kinds = self.traced.vertex_types
        fields = self.by_given_name({n: _items_first(self._get(f"v_{n}")[ids], kinds[n]) for n in kinds})
        degrees = {"in_degree": graph.in_degrees, "out_degree": graph.out_degrees}
        return Record("vertex", {**fields, "id": ids, **{n: d[ids].astype(np.int64) for n, d in degrees.items()}})

    def _edges(self, ids: np.ndarray) -> dict[str, Any]:
        """The fields of edges, as arguments of the program's functions."""
        fields: dict[str, Any] = {"id": ids}
        for name, declared in self.program.edge_fields.items():
            if declared.is_value:
                values = self.weighted(inner(name)).values
                fields[name] = np.ones(len(ids)) if values is None else values[ids]
            else:
                kind = self.traced.edge_types[inner(name)]
                fields[name] = _items_first(self._get(f"e_{inner(name)}")[ids], kind)
        return fields


def _items_first(values: np.ndarray, kind: Any) -> np.ndarray:
    """Arrays as the program's functions take them: the items of vectors along the first axis."""
    if getattr(kind, "scalar", kind) == HALF:
        values = values.view(HALF).astype(np.float32)
    return values.T if values.ndim == 2 else values
