"""Explains in sentences what the GPU engine does with a program on a graph, and why."""

from gasla.gpu.program import engine
from gasla.gpu.program.inputs import graph_arrays, offset_type
from gasla.gpu.program.plan import GpuPlan
from gasla.gpu.program.rows import PACKED
from gasla.gpu.program.variants import Shape, choose
from gasla.gpu.program.workspace import SMALL, is_small
from gasla.gpu.runtime import compile
from gasla.graph.graph import Graph
from gasla.graph.streamed import PackedIds
from gasla.host_memory import on_host
from gasla.names import given
from gasla.program import reasons
from gasla.program.binding import PUSH
from gasla.program.program import VertexProgram


def sentences(runs: engine.Prepared, program: VertexProgram, graph: Graph) -> list[str]:
    """Return the sentences of `gasla.explain` for a program that has been prepared on a graph on the GPU."""
    plan = runs._find(program, graph).plan
    workspace = engine._workspace_size(plan, graph)
    compiled = compile.is_compiled(plan.source)
    return [
        *reasons.sentences(plan, runs._way),
        *reasons.of_graph(plan, program, graph, "once and kept for the next runs"),
        *in_host_memory(plan, program, graph),
        reasons.of_memory(plan, graph, workspace),
        *loop(plan),
        f"It runs on the GPU, in a kernel that NVRTC {'has compiled already' if compiled else 'compiles first'}.",
    ]


def without_gpu(program: VertexProgram, graph: Graph, way: int, deterministic: bool, scheduled: bool) -> list[str]:
    """Return the sentences of `gasla.explain` for a graph on the CPU, about how a GPU would run the program.

    Sentences that depend on the degrees of the graph are left out, because the degrees are only inspected on a GPU.
    """
    shape = Shape(is_small=is_small(graph) and way != PUSH)
    plan = GpuPlan(
        program.traced(graph.id_dtype),
        choose(program, graph.id_dtype, offset_type(program, graph), deterministic, scheduled, shape),
    )
    return [
        *reasons.sentences(plan, way),
        *loop(plan),
        "The graph is on the CPU: on a GPU, its degrees may choose another loop.",
    ]


def in_host_memory(plan: GpuPlan, program: VertexProgram, graph: Graph) -> list[str]:
    """Return a list with a sentence on how many bytes of adjacency lists stay in host memory, where the GPU reads them.

    The list is empty if the GPU has all adjacency lists in its own memory.
    """
    if not graph.is_streamed:
        return []
    arrays = graph_arrays(reasons.Bound(plan, program, graph))
    packed_arrays = {ids.data.ptr: ids.words for ids in arrays.values() if isinstance(ids, PackedIds)}
    plain_arrays = {a.data.ptr: a for a in arrays.values() if not isinstance(a, PackedIds) and on_host(a) is not None}
    size, packing = (
        sum(int(a.nbytes) for a in (packed_arrays | plain_arrays).values()),
        ", with packed ids" if packed_arrays else "",
    )
    return [f"Neighbor lists stay in host memory, {size:,} bytes{packing}, which the GPU reads over the link."]


def loop(plan: GpuPlan) -> list[str]:
    """Return the sentences of `gasla.explain` about a program's kernel: how its threads divide vertices and edges among
    themselves, and whether vertices are renumbered.
    """
    variant, lines = plan.variant, []
    if variant.small:
        lines.append(f"One block does all the work: the graph has no more than {SMALL:,} vertices and edges.")
    if plan.wide:
        lines.append("A warp handles one vertex at a time; its lanes hold the items of wide vectors, 32 side by side.")
    if plan.keyed is not None:
        shared = f", of longer lists in {variant.table_slots} slots per warp" if variant.table_slots else ""
        lines.append(f"Keys of lists of up to 32 edges are grouped in registers{shared}; hubs use global memory.")
    if plan.wide and plan.partitions_rows:
        lines.append("Long rows are cut into pieces, which are distributed over all warps.")
    if plan.rows:
        method = "packed 32 to a warp" if variant.row_lanes == PACKED else f"by {variant.row_lanes} threads per row"
        lines.append(f"Whole rows are reduced, {method}; long rows are cut into pieces.")
    if plan.relabelled:
        lines.append(
            "Vertices are renumbered by descending degree internally, so that most neighbors are found in the cache."
        )
    if plan.small_frontiers:
        lines.append("No vertex has very many edges: a few threads handle each vertex, and small frontiers stay lists.")
    if variant.local:
        lines.append("Neighbors have nearby ids, as in a road network: many iterations with few vertices are expected.")
    if plan.searches:
        lines.append("A pull visits only vertices that the mask still admits, and looks for any active neighbor.")
    if plan.lane_groups:
        lines.append("A few threads handle each vertex of the schedule, as none has very many edges.")
    if plan.cuts_rows:
        lines.append("Long rows of the schedule are cut into pieces, which are distributed over all warps.")
    for name in sorted(plan.read_by_level):
        lines.append(
            f"{given(name)} of a neighbor has its initial value until the schedule reaches the neighbor's level."
        )
    return lines
