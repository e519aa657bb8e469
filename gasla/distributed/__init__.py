"""The engine for graphs partitioned over ranks: each rank runs the CPU or GPU engine on its own part of the graph."""

from typing import Any, NoReturn

from gasla.distributed.block_array import BlockArray
from gasla.distributed.checkpoint import Checkpoint
from gasla.distributed.cluster import Cluster, current
from gasla.distributed.collectives.joint_primitives import DistributedPrimitives
from gasla.distributed.communicator import Communicator, Rank, RankError, Ranks
from gasla.distributed.distributed_graph import Graph
from gasla.distributed.engine import one_card
from gasla.distributed.engine.distributed_run import Compiled, Interpreted
from gasla.distributed.engine.partition import Edges
from gasla.distributed.engine.rank_runs import sentences
from gasla.distributed.engine.unsupported import not_whole
from gasla.distributed.failures import WorkerLost
from gasla.distributed.thread_ranks import ThreadRanks

__all__ = ["BlockArray", "Cluster", "Communicator", "Edges", "Graph", "Rank", "RankError", "Ranks", "ThreadRanks"]
__all__ += ["Checkpoint", "WorkerLost", "current"]

# The interface that each engine has (`gasla.engines.Engine`).
prepare = Compiled().prepare
interpreted = Interpreted()
primitives = DistributedPrimitives


def explain(runs: Any, program: Any, graph: Any) -> list[str]:
    """Return sentences that explain how the ranks, or one GPU alone, would run a vertex program on a distributed graph,
    and why.
    """
    lines, are_all = one_card.sentences(program, graph, runs.options)
    return lines if are_all else [*lines, *sentences(program, graph, runs.options)]


def staged(program: Any, graph: Any, fields: Any) -> NoReturn:
    """Raise TypeError: gasla can't call the stages of a vertex program one by one on a distributed graph, because the
    caller would have to start each exchange of values between ranks.
    """
    raise not_whole("stages: ranks run whole programs, by gasla.run")


def workspace(program: Any, graph: Any, deterministic: bool) -> NoReturn:
    """Raise TypeError: for a distributed graph, each rank has a workspace (the memory of a run) of its own, so there is
    no single one to return.
    """
    raise not_whole("one workspace: Graph.report() has the memory of each rank")
