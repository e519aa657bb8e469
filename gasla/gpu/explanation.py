"""What the GPU engine does with a program on a graph, and why, in words: read off the kernel that it makes for them."""

from gasla.gpu.program import engine
from gasla.gpu.program.plan import GpuPlan
from gasla.gpu.program.rows import PACKED
from gasla.gpu.program.workspace import SMALL
from gasla.gpu.runtime import compile
from gasla.graph.graph import Graph
from gasla.names import given
from gasla.program import reasons
from gasla.program.program import VertexProgram


def sentences(runs: engine.Prepared, program: VertexProgram, graph: Graph) -> list[str]:
    """See `gasla.engines.Engine.explain`."""
    plan = runs._find(program, graph).plan
    workspace = engine._workspace_size(plan, graph)
    compiled = compile.is_compiled(plan.source)
    return [
        *reasons.sentences(plan, runs._way),
        *reasons.of_graph(plan, program, graph, plan.walks_out, "once and kept for the next runs"),
        reasons.of_memory(plan, graph, workspace),
        *loop(plan),
        f"It runs on the GPU, in a kernel that NVRTC {'has compiled already' if compiled else 'compiles first'}.",
    ]


def loop(plan: GpuPlan) -> list[str]:
    """Which loop the kernel has, and how threads share vertices and edges."""
    variant, found = plan.variant, []
    if variant.small:
        found.append(f"One block does all: the graph has no more than {SMALL:,} vertices and edges.")
    for name in plan.near_fields:
        found.append(f"{given(name)} lives in that block's shared memory.")
    if plan.wide:
        found.append("A warp takes a vertex, and its lanes those of wide vectors, 32 at a time.")
    if plan.keyed is not None:
        near = f", of others in {variant.table_slots} slots a warp" if variant.table_slots else ""
        found.append(f"Keys of lists of up to 32 edges are told apart in registers{near}; hubs have tables in memory.")
    if plan.wide and plan.shares_rows:
        found.append("Long rows are cut into pieces, which all warps share.")
    if plan.rows:
        how = "packed side by side" if variant.row_lanes == PACKED else f"taken by {variant.row_lanes} threads each"
        found.append(f"Rows are reduced whole, {how}; long ones are cut into pieces.")
    if plan.wide:
        found.append("A warp takes a vertex, and its lanes the numbers of a vector side by side.")
    if plan.relabelled:
        found.append(
            "Vertices are renumbered by falling degree meanwhile, for most neighbours to be found in the cache."
        )
    if plan.thin:
        found.append("No vertex has very many edges, so that a few threads take each, and thin frontiers stay lists.")
    if variant.local:
        found.append(
            "Neighbours have near numbers, as in a road network: many iterations of few vertices are expected."
        )
    if plan.searches:
        found.append("A pull looks for any active neighbour of those vertices alone that the mask still admits.")
    if plan.flat:
        found.append("A few threads take each vertex of the schedule, as none has very many edges.")
    if plan.cuts_rows:
        found.append("Long rows of the schedule are cut into pieces, which all warps share.")
    for name in sorted(plan.timed):
        found.append(f"Neighbours read a copy of {given(name)} as it starts, until their turn has come.")
    return found
