"""The engine for graphs whose parts are on several ranks, each of which runs the CPU's engine on its own part."""

from gasla.distributed.block_array import BlockArray
from gasla.distributed.communicator import Communicator, Rank, RankError, Ranks
from gasla.distributed.engine.partition import Edges
from gasla.distributed.engine.running import Compiled, Interpreted
from gasla.distributed.engine.together import DistributedPrimitives
from gasla.distributed.sharded import Graph
from gasla.distributed.thread_ranks import ThreadRanks

__all__ = ["BlockArray", "Communicator", "Edges", "Graph", "Rank", "RankError", "Ranks", "ThreadRanks"]

prepare = Compiled().prepare  # see `gasla.engines.Runner`
interpreted = Interpreted()
primitives = DistributedPrimitives
