"""Vertices write to their out-edges; if lists have edges from both ends, each edge is written once."""
# mypy: ignore-errors

import numpy as np

from gasla.cpu.kernels.hooks import item, load, run, store
from gasla.cpu.kernels.passes import all_receivers, counted, edges_of, newly_active, variables
from gasla.cpu.program.specialize import plan
from gasla.cpu.runtime.blocks import stage
from gasla.program.statements import scattered


@stage
def scatter():
    """The vertices that are active next write to their out-edges."""
    variables()
    if plan.staged:
        for v in all_receivers(5):
            u = v
            scatter_from(u)
    else:
        for u in newly_active(5):
            scatter_from(u)
    counted()


def scatter_from(u):
    """Write to the out-edges of a vertex."""
    load("src", u, "scatter", copy="new")
    for e in edges_of("s", u):
        if not plan.scatters_from_tails or leaving[e]:
            v = np.uint64(si[e])
            run(scattered(plan), v, "s", e)


@stage
def catch_up_edges():
    """Update the copies of written edges that their partners read."""
    variables()
    for u in newly_active(6):
        for e in edges_of("s", u):
            if not plan.scatters_from_tails or leaving[e]:
                for name in sorted(plan.edges_behind):
                    store(
                        was_[name],
                        plan.edge_type(name),
                        np.uintp(se[e]),
                        item(e_[name], plan.edge_type(name), np.uintp(se[e])),
                    )
    counted()
