"""Runs the stages of a program (gather, apply, scatter) one by one on the GPU, for a loop that a user has written."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gasla.arrays import address
from gasla.gpu.program import generate, tables
from gasla.gpu.program.inputs import graph_arrays, offset_type
from gasla.gpu.program.plan import Variant
from gasla.gpu.runtime.compile import Kernel, kernel, struct
from gasla.graph.graph import Graph
from gasla.program import EdgeFrontier, Frontier, VertexProgram
from gasla.program.binding import Binding
from semirings import VectorType

MOST_BLOCKS = 8  # largest number of blocks per multiprocessor


class Staged(Binding):
    """A program bound to a graph, for a loop that a user has written: the loop calls stages such as `gather` one by
    one.

    The object has the arrays that one stage passes to the next. Each stage is a launch of its own.
    `gasla.cpu.program.staged.Staged` is the same on the CPU.
    """

    def __init__(self, program: VertexProgram, graph: Graph, fields: Mapping[str, Any]) -> None:
        program_class: Any = type(program)
        variant = Variant(offset_type(program, graph), staged=True, packed=graph.lists.packs)
        self.plan = generate.module(program_class, graph.id_dtype, variant)
        super().__init__(program, graph)
        fields = self.by_inner_name(fields)
        self.check(fields)
        self.arrays: dict[str, Any] = {f"v_{n}": self._vertex_array(n, fields.get(n)) for n in self.traced.vertex_types}
        self.arrays |= {f"e_{n}": self._edge_array(n, fields) for n in self.plan.edge_states}
        self.arrays |= {name: self._aside(dtype) for name, dtype in self.plan.components}
        self.arrays |= graph_arrays(self)
        table_bytes = tables.sizes(self.plan, graph, 0, shares=False)
        self.arrays |= {name: self.xp.zeros(byte_count, np.uint8) for name, byte_count in table_bytes.items()}
        self._arguments = self.plan.struct()
        self._arguments.self_n = graph.n
        for name, array in self.arrays.items():
            setattr(self._arguments, name, address(array))
        for name, value in self.parameters().items():
            setattr(self._arguments, f"self_{name}", value.item())

    def state(self) -> Mapping[str, Any]:
        """Return the fields of vertices and edges, by name, as the stages have left them."""
        names = (*self.traced.vertex_types, *self.plan.edge_states)
        arrays = {n: self.arrays[f"e_{n}" if n in self.plan.edge_states else f"v_{n}"] for n in names}
        return self.by_given_name(arrays)

    # The following methods run the stages of an iteration. Users call them by way of `gasla.stages`.

    def gather(self, receivers: Any, active: Frontier, iteration: int) -> None:
        """Compute and store the gathered value of each vertex in `receivers` from its active neighbors, for `apply`."""
        if self.plan.keeps_active:
            self._set("bits", self._bits(active.mask))
        if self.plan.keyed is not None:
            self.arrays["keys_used"].fill(0)
        self.over("gather", receivers, iteration)

    def apply(self, receivers: Any, iteration: int) -> Any:
        """Run the program's `apply` on the gathered values of the vertices in `receivers`.

        Return a boolean mask of the graph's vertices, which is True for those that become active.
        """
        flags = self._set("flags", self.xp.zeros(self.graph.n, bool))
        self.over("apply", receivers, iteration)
        return flags

    def scatter(self, vertices: Any, iteration: int) -> None:
        """Run the program's `scatter` on the out-edges of the given vertices.

        Each warp takes equally many edges, so high degrees don't make some warps slower.
        """
        xp, offsets = self.xp, self.arrays["sp"]
        ids = vertices.astype(np.int64, copy=False)
        edge_totals = xp.cumsum(offsets[ids + 1] - offsets[ids], dtype=np.int64)
        self._arguments.edges = edges = int(edge_totals[-1]) if len(edge_totals) else 0
        edges_before = xp.zeros_like(edge_totals)
        edges_before[1:] = edge_totals[:-1]
        widest = max(self.plan.offset_type.itemsize, self.ids.itemsize)
        self._set("queue", xp.stack([edges_before, ids], axis=1).astype(f"i{widest}"))  # `Entry` in frontier.cuh
        self._launch("scatter", edges, len(ids), iteration)

    def mask(self, vertices: Any, iteration: int) -> Any:
        """Return a boolean for each of the given vertices: whether the program's `mask` lets the vertex receive."""
        flags = self._set("flags", self.xp.empty(len(vertices), bool))
        self.over("mask", vertices, iteration)
        return flags

    def edge_mask(self, vertices: Any, edges: EdgeFrontier, places: Any, iteration: int) -> Any:
        """Return a boolean for each of the given out-edges: whether the program's `edge_mask` lets a value pass along
        the edge.

        `places` are the positions of the edges in the adjacency lists.
        """
        flags = self._set("flags", self.xp.empty(len(edges), bool))
        self._set("targets", edges.dst.astype(self.ids, copy=False))
        self._set("places", places.astype(self.plan.offset_type, copy=False))
        self.over("edge_mask", edges.src, iteration)
        return flags

    # The following methods launch stages, and turn arrays into their arguments.

    def over(self, stage: str, vertices: Any, iteration: int) -> None:
        """Launch the kernel of one of the program's stages, such as "gather", on the given vertices."""
        self._set("vertices", self.xp.ascontiguousarray(vertices, dtype=self.ids))
        self._launch(stage, len(vertices), len(vertices), iteration)

    def _launch(self, stage: str, work_items: int, count: int, iteration: int) -> None:
        if work_items == 0:
            return
        arguments = self._arguments
        arguments.count, arguments.iteration = count, iteration
        stage_kernel = _kernel(self.plan, stage)
        stage_kernel.plain(min(stage_kernel.blocks, -(-work_items // stage_kernel.threads)), struct(arguments))

    def _set(self, name: str, array: Any) -> Any:
        self.arrays[name] = array
        setattr(self._arguments, name, address(array))
        return array

    def _bits(self, mask: Any) -> Any:
        """Pack a boolean mask of vertices into a bitmap of 32-bit words, as kernels read it."""
        packed_bytes = self.xp.packbits(mask, bitorder="little")
        bits = self.xp.zeros((len(packed_bytes) + 3) // 4 * 4, np.uint8)
        bits[: len(packed_bytes)] = packed_bytes
        return bits

    def _aside(self, value_type: Any) -> Any:
        """Return an uninitialized array with an entry of type `value_type` for each vertex, to store gathered values
        for `apply`.
        """
        n = self.graph.n
        return (
            self.xp.empty((n, value_type.length), value_type.scalar)
            if isinstance(value_type, VectorType)
            else self.xp.empty(n, value_type)
        )


def _kernel(plan: generate.Module, stage: str) -> Kernel:
    return kernel(plan.source, f"stage_{stage}", generate.STAGE_THREADS, MOST_BLOCKS)
