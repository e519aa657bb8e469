"""Edge fields of a distributed program: calls of `scatter`, and conversion between the shard's and the input's edge
order.

A rank stores all edges over which its vertices gather, even if another rank owns the source. So it also calls `scatter`
for its mirrors, after it has received which of them are active.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gasla.arrays import as_values
from gasla.distributed.communicator import Communicator
from gasla.distributed.engine.partition import exchange_arrays, exchange_joined, places_by_owner
from gasla.distributed.engine.shard import Shard
from gasla.names import given as given_name
from gasla.names import inner
from gasla.program.program import VertexProgram
from gasla.program.tracing import Traced
from gasla.reference.on_arrays import write


def scatter(run: Any, active: np.ndarray, seen_by_others: Mapping[str, Any]) -> None:
    """Call the program's `scatter` for the out-edges of the active vertices `active`, and store the edge fields that it
    returns.

    `run` is a `RankRun`, and only edges in this rank's shard are scattered. `seen_by_others` has the fields from before
    the iteration, which `scatter` reads at vertices other than the edge's ends.
    """
    shard, types, functions = run.shard, run.traced.edge_types, run.functions()
    functions.seen_by_others = seen_by_others
    values = {name: dtype for name, dtype in types.items() if name not in functions.edge}
    functions.edge |= {name: _read_only_values(run, given_name(name), dtype) for name, dtype in values.items()}
    edge_positions, ids = _find_out_edges(shard, active), shard.array_on("cpu", "edge_ids", shard.edge_ids)
    src, dst = (functions.vertices(endpoints[edge_positions]) for endpoints in shard.graph_on("cpu").edges())
    leaves = np.bool_(run.program.direction == "in")
    record_fields = {"id": lambda: as_values(ids[edge_positions].astype(np.int64)), "leaves": lambda: leaves}
    write(
        functions.edge,
        types,
        edge_positions,
        functions.call("scatter", src, dst, functions.link("edge", edge_positions, record_fields)),
    )


def _read_only_values(run: Any, name: str, dtype: Any) -> np.ndarray:
    """Return the values of an edge field that the program only reads, for the edges of this rank's shard.

    The values are those of an edge attribute, or else the graph's edge values, converted to `dtype`. In a graph without
    edge values they are ones.
    """
    shard, attribute = run.shard, run.program.edge_fields[name].attribute
    values: Any = shard.graph_on("cpu").values if attribute is None else shard.attributes[attribute]
    return np.ones(shard.graph.m, dtype) if values is None else values.astype(dtype, copy=False)


def _find_out_edges(shard: Shard, vertices: np.ndarray) -> np.ndarray:
    """Return the numbers, within this rank's shard and ascending, of the out-edges of the given local vertices."""
    lists = shard.graph_on("cpu").out
    first_positions = lists.indptr[vertices].astype(np.int64)
    counts = lists.indptr[vertices + 1].astype(np.int64) - first_positions
    list_ends = np.cumsum(counts)
    positions = np.repeat(first_positions - (list_ends - counts), counts) + np.arange(int(counts.sum()))
    ids: np.ndarray = np.sort(lists.numbers()[positions])
    return ids


def attributes_read(program: VertexProgram, traced: Traced) -> dict[str, str]:
    """Return the names of the edge attributes that a program reads, by the names of the edge fields to which the
    program binds them.
    """
    read = set().union(*(function.reads("edge") for function in traced.functions.values()))
    fields = program.edge_fields.items()
    return {name: field.attribute for name, field in fields if field.attribute is not None and inner(name) in read}


# --- sending edge values between the order of a rank's shard and the order of the input -------------------------------


def _even_bounds(shard: Shard, communicator: Communicator) -> np.ndarray:
    """Return the ranges of edge numbers for which ranks store results: rank r stores those from bounds[r] to bounds[r +
    1] - 1.

    All ranges have about the same length.
    """
    return shard.m * np.arange(communicator.size + 1) // communicator.size


def to_input_order(communicator: Communicator, shard: Shard, values: np.ndarray) -> np.ndarray:
    """Send the values of an edge field from the ranks that compute them to the ranks that store results (collective).

    `values` has an entry per edge of this rank's shard. Return the values that this rank stores, which are those of a
    range of edge numbers, in ascending order.
    """
    bounds, edge_ids = _even_bounds(shard, communicator), shard.array_on("cpu", "edge_ids", shard.edge_ids)
    positions_by_owner = places_by_owner(bounds, edge_ids)
    ids = exchange_joined(communicator, [edge_ids[positions_for_rank] for positions_for_rank in positions_by_owner])
    received_values = exchange_joined(
        communicator, [values[positions_for_rank] for positions_for_rank in positions_by_owner]
    )
    first_edge, last_edge = bounds[communicator.rank : communicator.rank + 2]
    values_in_order = np.empty((int(last_edge - first_edge), *values.shape[1:]), values.dtype)
    values_in_order[ids - first_edge] = received_values
    return values_in_order


def from_input_order(shard: Shard, communicator: Communicator, share: np.ndarray) -> np.ndarray:
    """Fetch values of this shard's edges from the ranks that store results by edge number (collective).

    `share` has the values that this rank stores: those of its range of edge numbers. Return the values in the order of
    the shard's edges.
    """
    bounds, edge_ids = _even_bounds(shard, communicator), shard.array_on("cpu", "edge_ids", shard.edge_ids)
    positions_by_owner, first_edge = places_by_owner(bounds, edge_ids), bounds[communicator.rank]
    values_for_ranks = [
        share[ids - first_edge]
        for ids in exchange_arrays(
            communicator, [edge_ids[positions_of_owner] for positions_of_owner in positions_by_owner]
        )
    ]
    values_by_position = np.empty((len(edge_ids), *share.shape[1:]), share.dtype)
    for positions_at_owner, values in zip(
        positions_by_owner, exchange_arrays(communicator, values_for_ranks), strict=True
    ):
        values_by_position[positions_at_owner] = values
    return values_by_position
