"""Kernels in which vertices write to fields of their out-edges, as the program's `scatter` says.

If adjacency lists have each edge at both of its ends, the edge is written only once.
"""

import numpy as np

from gasla.cpu.kernels.hooks import item, load, perform, store
from gasla.cpu.kernels.passes import all_receivers, counted, edges_of, newly_active, variables
from gasla.cpu.kernels.record import Pass, plan
from gasla.cpu.runtime.blocks import stage
from gasla.program.statements import scattered


@stage
def scatter(run: Pass):
    """Let the vertices that are active in the next iteration write to fields of their out-edges.

    The program's `scatter` computes the new values.
    """
    variables(run)
    if plan.staged:
        for v in all_receivers(run, 5):
            u = v
            scatter_from(run, u)
    else:
        for u in newly_active(run, 5):
            scatter_from(run, u)
    counted(run)


def scatter_from(run: Pass, u):
    """Call the program's `scatter` for each out-edge of the vertex `u`, and store the new fields of the edge."""
    load(run, "src", u, "scatter", copy="new")
    for e in edges_of(run, "s", u):
        if not plan.scatters_from_tails or run.leaving[e]:
            v = np.uint64(run.si[e])
            perform(run, scattered(plan), v, "s", e)


@stage
def catch_up_edges(run: Pass):
    """For all edges that `scatter` has written, update the copies of edge fields that are read as fields of reverse
    edges.
    """
    variables(run)
    for u in newly_active(run, 6):
        for e in edges_of(run, "s", u):
            if not plan.scatters_from_tails or run.leaving[e]:
                for name in sorted(plan.edges_behind):
                    store(
                        run.was[name],
                        plan.edge_type(name),
                        np.uintp(run.se[e]),
                        item(run.e[name], plan.edge_type(name), np.uintp(run.se[e])),
                    )
    counted(run)
