"""Temporal motifs count how often three edges among two or three vertices follow one another within a duration.

The first two edges of each motif are visited, and the third edges are counted by searches among the times of the edges
between two vertices. So the time of a call depends on how many edges a window has at a vertex.
"""

from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import numpy as np

from gasla.algorithms.temporal.times import timed
from gasla.graph.arguments import real_number
from gasla.graph.dates import length
from gasla.graph.edge_times import LARGEST_TIME
from gasla.graph.graph import whole_graph
from gasla.operations.joins import edge_triples
from gasla.rows import Row, counts

# the possible second and third edges of a motif, whose first edge is 0>1
LATER = "0>1", "1>0", "0>2", "2>0", "1>2", "2>1"


def temporal_motif_counts(
    graph: Any, delta: float | str | timedelta | np.timedelta64, *, time: str = "time"
) -> dict[str, int]:
    """Count the motifs of three edges, each later than the one before, within a time.

    Parameters
    ----------
    graph : Graph
        With an edge attribute for the times, such as of `Graph.from_table(…, attributes=["time"])`. Each parallel edge
        counts. Values and self loops are ignored.
    delta : float, or a duration if times are dates
        The longest time from the first edge to the third one, 0 or more; for dates such as ``"24h"``, a `timedelta` or
        a `numpy.timedelta64`.
    time : str, default "time"
        The name of the edge attribute: numbers or dates.

    Returns
    -------
    dict of str to int
        The exact number of each of the 36 motifs, named by the edges in the order of time; vertices are numbered as
        they come up: "0>1,1>2,2>0" is a cycle. Two edges at the same time follow one another in no order.

    Raises
    ------
    TypeError, ValueError
        If the graph is on a GPU or has no such attribute, a time is not finite, or `delta` is not a duration.

    See Also
    --------
    gasla.subgraph_matches : patterns without times.
    gasla.earliest_arrival : paths in the order of time.

    Notes
    -----
    The rows of Paranjape's table have the same second edge, and its columns the same third one; the first 6 numbers
    here are those with the second edge "0>1". Takes time for each pair of edges at a vertex within `delta` of each
    other, and some 150 bytes per edge.

    References
    ----------
    A. Paranjape, A. R. Benson, J. Leskovec: Motifs in Temporal Networks. WSDM 2017.

    Examples
    --------
    >>> import gasla
    >>> transfers = gasla.Graph.from_edges([0, 1, 2, 0], [1, 2, 0, 1]).with_edge_attributes(time=[1, 3, 4, 20])
    >>> {name: count for name, count in gasla.temporal_motif_counts(transfers, 5).items() if count}
    {'0>1,1>2,2>0': 1}
    """
    graph = whole_graph(graph)
    if graph.engine != "cpu":
        raise TypeError(
            "temporal_motif_counts takes a graph in host memory, and this one is on the GPU: graph.to('cpu')"
        )
    graph.edge_attributes.require(time, "time")
    if isinstance(delta, str | timedelta | np.timedelta64):
        if length(delta) is None or delta in graph.edge_attributes:
            raise ValueError(f"delta is {delta!r}; expected a duration, such as '90min' or '24h', or a number")
        if time not in graph.edge_attributes.time_types:
            raise TypeError(f"delta is {delta!r}; expected a number, as {time!r} holds numbers")
    else:
        real_number("delta", delta, most=LARGEST_TIME)
    search = timed(graph, time, delta)
    columns = search.graph.edge_attributes
    src, dst = graph.edges()
    keep = src != dst
    counts = edge_triples(
        graph, *(edge_column[keep] for edge_column in (src, dst, columns["departure"], columns["arrival"]))
    )
    return {
        f"0>1,{second},{third}": count for (second, third), count in zip(product(LATER, LATER), counts, strict=True)
    }


ROW = Row(
    temporal_motif_counts,
    replace(counts("temporal-motif-counts", "motifs of three edges in the order of time"), defaults={"delta": 3600.0}),
    "temporal_motif_counts(timed, 5)",
    method="counters in a sliding window (Paranjape, Benson, Leskovec, WSDM 2017)",
    longer="Pairs of edges at a vertex within the time are counted, on one thread per vertex; hubs have many.",
)
