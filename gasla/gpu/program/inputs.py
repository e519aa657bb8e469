"""Prepares what a kernel reads besides fields: adjacency lists and edge values in the kernel's types, and the width of
buckets of priorities.
"""

from typing import Any

import numpy as np

from gasla.graph.graph import Graph
from gasla.graph.weights import mean_size
from gasla.program.binding import Binding, values_in_order
from gasla.program.program import VertexProgram


def offset_type(program: VertexProgram, graph: Graph) -> np.dtype:
    """Return the type of a kernel's adjacency offsets, int32 or int64.

    It is int64 if there are 2**31 or more entries, or if the user made the graph with int64 offsets.
    """
    entries = graph.m * (2 if program.direction == "all" else 1)
    given_lists = graph.lists.rows or graph.lists.columns
    needs_64_bits = entries >= 2**31 or (given_lists is not None and given_lists.indptr.dtype.itemsize == 8)
    return np.dtype(np.int64 if needs_64_bits else np.int32)


def graph_arrays(binding: Binding) -> dict[str, Any]:
    """Return the arrays of a program's graph that the kernel reads, by the names of the kernel's arguments.

    Names that begin with `g` belong to the adjacency lists over which vertices gather. Names that begin with `s` belong
    to the adjacency lists along which active vertices send.
    """
    plan, graph = binding.plan, binding.graph
    as_type = graph.lists.as_type
    arrays = {}
    for list_side, lists in zip("gs", binding._sides(), strict=True):
        if list_side == "s" and not plan.sends:
            continue
        arrays[f"{list_side}p"] = lists.indptr().astype(plan.offset_type, copy=False)
        ids = lists.stored_ids()
        arrays[f"{list_side}i"] = ids if plan.variant.packed else as_type(ids, graph.id_dtype)
        if (plan.needs_gather_ids if list_side == "g" else plan.needs_send_ids) and lists.has_ids:
            arrays[f"{list_side}e"] = as_type(lists.ids(), plan.offset_type)
        for name in plan.edge_values:
            arrays[f"{list_side}v_{name}"] = lists.values(binding.traced.edge_types[name], binding.weighted(name))
        if list_side == "g" and plan.needs_leaving:
            arrays["leaving"] = lists.leaving()
        if plan.needs_gather_partners if list_side == "g" else plan.needs_send_partners:
            arrays[f"{list_side}b"] = as_type(lists.partners(), plan.offset_type)
    for name in plan.back_values:
        arrays[f"value_{name}"] = values_in_order(binding.weighted(name), binding.traced.edge_types[name])
    for degree in plan.degrees:
        degree_lists = graph.in_ if degree == "in_degree" else graph.out
        arrays[f"{degree[:-6]}p"] = degree_lists.indptr.astype(plan.offset_type, copy=False)
    return arrays


def default_delta(binding: Binding) -> float:
    """Return the default width of a bucket, which is a range of priorities that a kernel processes together.

    The width is a small multiple of the mean edge value over the mean degree. The multiple is much larger where
    neighbors have nearby ids, as in road networks. In such a graph few vertices are active at a time, so fewer
    iterations are worth visiting some edges twice. If priorities are not sums of edge values, the default is 0, which
    stands for a fixed fraction of the range of the postponed priorities.
    """
    plan, graph = binding.plan, binding.graph
    if not plan.adds_up:
        return 0.0
    values, degree = binding.lengths().valued.each, max(graph.m, 1) / max(graph.n, 1)
    mean = 1.0 if values is None or graph.m == 0 else _mean_size(values)
    factor = 640 / degree if plan.variant.local else 5 if plan.small_frontiers else 4
    delta = factor * mean / degree
    return delta if np.isfinite(delta) and delta > 0 else 1.0


def _mean_size(values: Any) -> float:
    """Return the mean absolute value of an array on the GPU, or of a sample of 65,536 entries if the array is longer.

    The sample is 32 slices of the array, which are copied to the host, so that no kernel has to be compiled.
    """
    slices, entries = 32, 2048
    if len(values) <= slices * entries:
        return mean_size(values.get())
    step = len(values) // slices
    return mean_size(
        np.concatenate(
            [values[sample_start : sample_start + entries].get() for sample_start in range(0, len(values), step)]
        )
    )
