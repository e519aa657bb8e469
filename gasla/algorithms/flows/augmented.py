"""Maximum flows along shortest paths, on one thread of the CPU (`primitives.send_flow`)."""

from typing import Any

from gasla.graph.graph import Graph
from gasla.operations.primitives import residual_sources, send_flow


class AugmentedFlow:
    """A maximum flow in a network of integer capacities, computed on one thread, with the same methods as `Preflow`."""

    def __init__(self, network: Graph, source: int, target: int) -> None:
        self.network, self.target = network, target
        self.arrived, self._net = send_flow(network, source, target)

    def net(self) -> Any:
        """Return the net flow of each edge as int64: its flow minus that of its reverse edge."""
        return self._net

    def source_side(self) -> Any:
        """Return a mask of the largest source side of a minimum cut: all vertices that can't reach the target.

        A vertex can't reach the target if no path of edges with residual capacity leads there.
        """
        return ~residual_sources(self.network, self._net, self.target)

    def return_excess(self) -> None:
        """Do nothing. This flow has no excess, since all that left the source has arrived, unlike that of `Preflow`."""
