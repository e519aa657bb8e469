"""The engine for graphs whose parts are on several ranks, each of which runs the CPU's engine on its own part."""

from typing import Any, NoReturn

from gasla.distributed.block_array import BlockArray
from gasla.distributed.checkpoint import Checkpoint
from gasla.distributed.cluster import Cluster, current
from gasla.distributed.communicator import Communicator, Rank, RankError, Ranks
from gasla.distributed.engine.partition import Edges
from gasla.distributed.engine.rank_run import sentences
from gasla.distributed.engine.refusals import absent
from gasla.distributed.engine.running import Compiled, Interpreted
from gasla.distributed.failures import WorkerLost
from gasla.distributed.sharded import Graph
from gasla.distributed.thread_ranks import ThreadRanks
from gasla.distributed.together.joint_primitives import DistributedPrimitives

__all__ = ["BlockArray", "Cluster", "Communicator", "Edges", "Graph", "Rank", "RankError", "Ranks", "ThreadRanks"]
__all__ += ["Checkpoint", "WorkerLost", "current"]

# The face of an engine, as far as ranks have it; see `gasla.engines.Engine`.
prepare = Compiled().prepare
interpreted = Interpreted()
primitives = DistributedPrimitives


def explain(runs: Any, program: Any, graph: Any) -> list[str]:
    """What such runs do, and why: a sentence each."""
    return sentences(program, graph, runs.options)


def staged(program: Any, graph: Any, fields: Any) -> NoReturn:
    """Refuse: a loop by hand would have to say when ranks tell each other what."""
    raise absent(f"stages of {type(program).__name__} can't run on a distributed graph; expected gasla.run")


def workspace(program: Any, graph: Any, deterministic: bool) -> NoReturn:
    """Refuse: each rank takes its own."""
    raise absent("a distributed graph has no workspace in one place; Graph.report() says what each rank holds")
