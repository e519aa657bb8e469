"""The program's own edge fields: what a scatter writes, and their values in the order of the input.

A rank holds the edges over which its vertices gather, whichever rank owns their other end. So it scatters for its
mirrors as well, once it has heard which of them are active.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from gasla.arrays import as_values
from gasla.distributed.communicator import Communicator
from gasla.distributed.engine.partition import exchange_arrays, owners_of
from gasla.distributed.engine.shard import Shard
from gasla.names import given as given_name
from gasla.names import inner
from gasla.program.binding import layout
from gasla.program.records import Lazy, Record
from semirings.types import computed


def scatter(run: Any, active: np.ndarray) -> None:
    """Active vertices write to the edges along which they wake others, those that are here. `run` is a RankRun."""
    shard, traced = run.shard, run.traced
    places = _leading_from(shard, active)
    src, dst = shard.graph.edges()
    vertices = {**run.state, **run.start.whole}
    ends = [Record("vertex", Lazy(_makers(vertices, vs[places]))) for vs in (src, dst)]
    values = {given_name(n): _values(shard, kind) for n, kind in traced.edge_types.items() if n not in run.edge_state}
    known: dict[str, Any] = {**values, **run.edge_state, "id": shard.edge_ids}
    leaves = np.bool_(run.program.direction == "in")
    link = Record("edge", Lazy({**_makers(known, places), "leaves": lambda: leaves}))
    for name, value in run.call("scatter", *ends, link).items():
        kind = traced.edge_types[inner(name)]
        shape, base = layout(kind, len(places))
        with np.errstate(all="ignore"):
            run.edge_state[name][places] = np.broadcast_to(np.asarray(value), shape[::-1]).astype(base).T


def _makers(fields: dict[str, np.ndarray], places: np.ndarray) -> dict[str, Callable[[], Any]]:
    def reading(array: np.ndarray) -> Callable[[], Any]:
        kind: Any = computed(array.dtype)
        return lambda: as_values(array[places].astype(kind, copy=False).T)  # which turns round vectors alone

    return {name: reading(array) for name, array in fields.items()}


def _values(shard: Shard, kind: Any) -> np.ndarray:
    """The graph's own values, as an edge field of this type has them."""
    values: Any = shard.graph.values
    return np.ones(shard.graph.m, kind) if values is None else values.astype(kind, copy=False)


def _leading_from(shard: Shard, vertices: np.ndarray) -> np.ndarray:
    """The numbers of the shard's edges that lead from some vertices, ascending."""
    lists = shard.graph.out
    first = lists.indptr[vertices].astype(np.int64)
    counts = lists.indptr[vertices + 1].astype(np.int64) - first
    ends = np.cumsum(counts)
    positions = np.repeat(first - (ends - counts), counts) + np.arange(int(counts.sum()))
    found: np.ndarray = np.sort(lists.numbers()[positions])
    return found


# --- in the order of the input ----------------------------------------------------------------------------------------


def _bounds(shard: Shard, communicator: Communicator) -> np.ndarray:
    """Each rank has an even share of the edges' places for what a result says of them."""
    return shard.m * np.arange(communicator.size + 1) // communicator.size


def by_place(communicator: Communicator, shard: Shard, values: np.ndarray) -> np.ndarray:
    """A rank's share of the values of all edges, from those of each shard."""
    bounds = _bounds(shard, communicator)
    owners = owners_of(bounds, shard.edge_ids)
    order = np.argsort(owners, kind="stable")
    cuts = np.searchsorted(owners[order], np.arange(communicator.size + 1))
    parts = [order[a:b] for a, b in pairwise(cuts)]
    ids = np.concatenate(exchange_arrays(communicator, [shard.edge_ids[part] for part in parts]))
    found = np.concatenate(exchange_arrays(communicator, [values[part] for part in parts]))
    first, last = bounds[communicator.rank : communicator.rank + 2]
    share = np.empty((int(last - first), *values.shape[1:]), values.dtype)
    share[ids - first] = found
    return share


def of_places(shard: Shard, communicator: Communicator, share: np.ndarray) -> np.ndarray:
    """The values of a shard's edges, from the ranks' shares of those of all."""
    bounds = _bounds(shard, communicator)
    owners = owners_of(bounds, shard.edge_ids)
    order = np.argsort(owners, kind="stable")
    cuts = np.searchsorted(owners[order], np.arange(communicator.size + 1))
    parts = [shard.edge_ids[order[a:b]] for a, b in pairwise(cuts)]
    first = bounds[communicator.rank]
    answers = [share[ids - first] for ids in exchange_arrays(communicator, parts)]
    found = np.empty((len(order), *share.shape[1:]), share.dtype)
    found[order] = np.concatenate(exchange_arrays(communicator, answers))
    return found
