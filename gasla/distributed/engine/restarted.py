"""A run on one rank's GPU, where the engine begins a new run of one iteration in each superstep.

This is necessary because a kernel on a GPU owns the set of active vertices during a run, while in a distributed run
other ranks activate vertices between iterations. The fields and the active vertices are all that one iteration needs
from the one before, so the new run continues the old one. Between supersteps the rank updates its mirrors in the
fields.
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
    """The part of a run that takes place on one rank's GPU, where each superstep is a new run of the engine.

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
        """Run at most `iterations` iterations in a new run of the engine, and store the results.

        The new run begins with the current fields, and with the vertices of `frontier` as active vertices.
        """
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
        """Set the vertices that are active in the next superstep.

        `active` has their local numbers, and is ignored if all vertices are active in every superstep. `parameters` is
        not used, because each new run of the engine asks for the parameters' current values.
        """
        n = self._graph.n
        self._frontier = Frontier.all(n, self._graph.device) if self._everyone else Frontier.of(n, active)
        self.ended = False

    def advance(self, until: int) -> None:
        """Run until iteration `until`, or until no vertex is active."""
        self._run(self._frontier, until if until >= NO_LIMIT else until - self.iteration)

    def state(self) -> Mapping[str, Any]:
        """Return the values of the fields after the last superstep."""
        return self._outcome[0]

    def outcome(self) -> Outcome:
        """Return the results of the engine's run in the last superstep: fields, iteration, edges visited, active
        vertices and aggregates.
        """
        return self._outcome

    def close(self) -> None:
        """Do nothing, because the engine's run was closed at the end of each superstep."""
