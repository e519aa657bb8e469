"""Maximum flows along shortest paths, on one thread of the CPU (`primitives.send_flow`)."""

from typing import Any

from gasla.graph.graph import Graph
from gasla.operations.primitives import residual_sources, send_flow


class AugmentedFlow:
    """A maximum flow in a network of integer capacities, with the methods of `Preflow`."""

    def __init__(self, network: Graph, source: int, target: int) -> None:
        self.network, self.target = network, target
        self.arrived, self._net = send_flow(network, source, target)

    def net(self) -> Any:
        """Return the net flow of each edge: its flow minus that of its partner, in int64."""
        return self._net

    def source_side(self) -> Any:
        """Mark the largest source side of the minimum cuts: vertices without a residual path to the target."""
        return ~residual_sources(self.network, self._net, self.target)

    def return_excess(self) -> None:
        """Do nothing: all that left the source has arrived."""
