"""A run on one rank by an engine that begins each superstep anew: on a GPU, the kernel of a run owns its active set.

What a run keeps between iterations are the fields, so a run of one iteration from the fields and the active vertices of
the last one continues it. Between supersteps the fields belong to the rank, which updates its mirrors in them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gasla.engines import Runs
from gasla.graph.arguments import NO_LIMIT
from gasla.graph.graph import Graph
from gasla.program.binding import Outcome
from gasla.program.frontier import Frontier
from gasla.program.program import VertexProgram


class RestartedPart:
    """A part (`gasla.engines.Part`) that starts a run anew for each superstep: the methods that a rank calls.

    Parameters
    ----------
    runs : Runs
        The program, prepared by the engine.
    graph : Graph
        The shard.
    program : callable
        Returns the program with the current values of its parameters.
    fields : callable
        Returns the current values of all fields, on the graph's device.
    everyone : bool
        Whether all vertices are active in every superstep.
    """

    def __init__(
        self,
        runs: Runs,
        graph: Graph,
        program: Callable[[], VertexProgram],
        fields: Callable[[], Mapping[str, Any]],
        everyone: bool,
    ) -> None:
        self._runs, self._graph, self._program, self._fields, self._everyone = runs, graph, program, fields, everyone
        self.iteration, self.edges, self.ended = 0, 0, False
        self._run(Frontier.none(graph.n), 0)

    def _run(self, frontier: Frontier, iterations: int) -> None:
        """Run at most `iterations` iterations from a frontier and the current fields, and keep what they found."""
        run = self._runs.begin(self._program(), self._graph, self._fields(), frontier, None, None, None)
        try:
            run.advance(iterations)
            while not run.ended and run.iteration < iterations:
                run.advance(iterations)
            self._outcome: Outcome = run.outcome()
            self.iteration += run.iteration
            self.edges += run.edges
            self.ended = run.ended
        finally:
            run.close()

    def go_on(self, active: Any, parameters: Mapping[str, Any]) -> None:
        """Set the active vertices. The parameters are those of the program."""
        n = self._graph.n
        self._frontier = Frontier.all(n, self._graph.device) if self._everyone else Frontier.of(n, active)
        self.ended = False

    def advance(self, until: int) -> None:
        """Run until the iteration `until`, or the end."""
        self._run(self._frontier, until if until >= NO_LIMIT else until - self.iteration)

    def state(self) -> Mapping[str, Any]:
        """Return the current values of fields."""
        return self._outcome[0]

    def outcome(self) -> Outcome:
        """Return the state after the last superstep."""
        return self._outcome

    def close(self) -> None:
        """Do nothing: each superstep's run was closed."""
