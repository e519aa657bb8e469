"""A run on one rank. Each superstep is one iteration of an engine on the rank's shard, then an exchange with all ranks.

If ranks have GPUs, the engine is that of the GPU. Then the fields and the ids of active vertices are arrays on the GPU.

After its iteration, a rank sends to each other rank the updates of the vertices that are mirrored there, the number of
its active vertices, and its part of the aggregates. So all ranks know the same totals, and make the same decisions.
"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from gasla.arrays import finish, moved
from gasla.distributed.communicator import Communicator
from gasla.distributed.engine.edge_fields import scatter
from gasla.distributed.engine.exchange import Exchange
from gasla.distributed.engine.local_state import local_vertices
from gasla.distributed.engine.rank_runs import RankRuns
from gasla.distributed.engine.restarted import RestartedPart
from gasla.distributed.engine.vertex_aggregates import VertexAggregates
from gasla.engines import Part
from gasla.graph.arguments import NO_LIMIT
from gasla.names import given as given_name
from gasla.names import inner
from gasla.program.binding import PULL
from gasla.program.frontier import Frontier
from gasla.program.part import FIRST, OWN, PREFIX
from gasla.program.program import VertexProgram
from gasla.reference.on_arrays import Functions, taken


class RankRun:
    """The part of a vertex program's run that takes place on one rank. Fields and aggregates have the names of the
    user's program.
    """

    def __init__(
        self,
        communicator: Communicator,
        runs: RankRuns,
        program: VertexProgram,
        values: Mapping[str, Any],
        active: Frontier,
        left: list[RankRuns],
    ) -> None:
        # `close` appends the prepared program `runs` to this list, and the next run of the program takes it from there
        self._left = left
        self.communicator, self.runs, self.program = communicator, runs, program
        self.shard, self.options, self.traced, self.xp = runs.shard, runs.options, runs.traced, runs.xp
        self.start = runs.start
        self.start.program = program
        self._is_on_card = self.has_card
        self.state = {name: self._on_device(array) for name, array in self.start.vertex_fields(values).items()}
        self.parameters: dict[str, Any] = dict(self.start.parameters_of())
        self.exchange = Exchange(runs, self.state, self._is_on_card)
        self.iteration, self.edges, self.ended, self.stopped = 0, 0, False, False
        self.bucket, self.waiting = -1, np.zeros(self.shard.own, bool)
        self.exchanges, self.bytes = 0, 0
        # whether to record a trace, and the trace's rows that the calling process has not fetched yet
        self.traces, self.rows = False, list[tuple[int, ...]]()
        self.aggregates: dict[str, Any] = {}
        self.at_vertices = VertexAggregates(self.traced, self.shard)
        self._edges_before = 0
        self._begin(values)
        active = runs.whole.first_active(active)
        local = self.xp.arange(runs.graph.n) if active.is_all else self._on_device(local_vertices(self.shard, active))
        self._begin_active(local)

    def _begin(self, values: Mapping[str, Any]) -> None:
        """Begin a run of the engine on this rank's shard (its part of the graph), on the CPU or on the rank's GPU.

        `values` has the start values of the fields.
        """
        runs, edge = self.runs, self.start.edge_fields(values) | self.runs.edge_constant
        # A run holds this lock until `close`. As long as it is locked, no other run can reserve the worker threads.
        self.turn = runs.engine.turn
        self.turn.acquire()
        try:
            self.running: Part = self._begin_on_card(edge) if self._is_on_card else self._begin_on_cpu(edge)
        except BaseException:
            self.turn.release()
            raise
        names = [*map(given_name, runs.whole.edge_states)]
        state = self.running.state() if names else {}
        self.edge_state = {name: on_host(state[name]) for name in names}

    def _begin_on_cpu(self, edge: dict[str, Any]) -> Any:
        """Begin the engine's run on the CPU, and return it. The engine updates the arrays of this object's fields in
        place.

        `edge` has the start values of edge fields.
        """
        runs = self.runs
        fields = self.state | runs.constant | self.at_vertices.arrays
        start_values = {name: fields.pop(name) for name in runs.doubled}
        no_vertices = Frontier.none(runs.graph.n)
        return runs.engine.begin(
            self._with_parameters(), runs.graph, start_values | edge, no_vertices, None, None, fields
        )

    def _begin_on_card(self, edge: dict[str, Any]) -> Any:
        """Begin the engine's run on this rank's GPU, and return an object that begins a new one of one iteration in
        each superstep.

        `edge` has the start values of edge fields.
        """
        constant = {**self.runs.constant, **{name: self._on_device(x) for name, x in edge.items()}}

        def fields() -> dict[str, Any]:
            changing = {**self.at_vertices.arrays, **self.edge_state}
            return {**self.state, **constant, **{name: self._on_device(array) for name, array in changing.items()}}

        self.edge_state = {}
        starts_with_all = self.runs.plan.everyone and not self.runs.plan.active_only
        return RestartedPart(self.runs.engine, self.runs.graph, self._with_parameters, fields, starts_with_all)

    @property
    def has_card(self) -> bool:
        """Whether this rank runs on a GPU."""
        return self.options.has_card

    def _on_device(self, x: Any) -> Any:
        """Return a NumPy array as an array on the device of this run. Return anything else unchanged."""
        return moved(x, self.options.device) if self._is_on_card and isinstance(x, np.ndarray) else x

    def _on_host(self, x: Any) -> Any:
        """Return an array or a number of this run in the host's memory."""
        return on_host(x) if self._is_on_card else x

    def close(self) -> None:
        """End the engine's run, release its lock, and keep the prepared program and its memory for the next run."""
        self.running.close()
        self.turn.release()
        self._left.append(self.runs)

    def _with_parameters(self) -> VertexProgram:
        """Return the program that this rank runs on its shard, with the current values of all its parameters.

        Beside the user's parameters these are sizes of the whole graph, the iteration, the bucket and aggregates.
        """
        shard = self.shard
        run_values = {"n": shard.n, "iteration": self.iteration, "bucket": self.bucket}
        local = {OWN: shard.own, FIRST: shard.first}
        local_program: VertexProgram = self.runs.local(
            **self.parameters, **self.aggregates, **{PREFIX + name: x for name, x in run_values.items()}, **local
        )
        return local_program

    def _changed(self) -> dict[str, Any]:
        """Return the current values of those parameters of this rank's program that differ between supersteps.

        Such parameters are the iteration, the bucket, aggregates, and what `idle` changes. The keys are the names
        inside the program's traced functions.
        """
        values_by_name = {PREFIX + "iteration": self.iteration, PREFIX + "bucket": self.bucket}
        values_by_name |= self.aggregates | self.parameters
        return {name: values_by_name[name_of] for name, name_of in self.runs.changing.items()}

    # --- the vertices that are active first, and aggregates from before the first iteration ---------------------------

    def _begin_active(self, active: Any) -> None:
        """Set the vertices that are active in the first iteration, and exchange with all ranks what they need before
        the iteration.

        They need the aggregates of the start values, the number of active vertices, and, if the program processes
        vertices in *buckets* (in the order of a whole number that it computes for each vertex), the lowest bucket.
        """
        self.active = active
        self._exchange_at_vertices(has_run=True)
        own_active, mirrors = active[active < self.shard.own], active[active >= self.shard.own]
        if self.runs.types or self.runs.whole.resumes:
            if "bucket" in self.traced.functions:
                self.waiting[self._on_host(own_active)] = True
                own_active, mirrors = own_active[:0], mirrors[:0]
            self._exchange(own_active, self._partial_aggregates(), False)
            self.active = self.xp.concatenate([own_active, mirrors])
            self._resume()
        else:
            self._exchange_active_count(len(own_active))

    def _exchange_active_count(self, own_count: int) -> None:
        counts = self.communicator.allgather(np.array([own_count], np.int64))
        self.total = int(np.sum(counts))
        self.exchanges += 1
        self.ended = self.is_over()

    def _partial_aggregates(self) -> dict[str, Any]:
        """Return what this rank's own vertices contribute to each aggregate: numbers that are then reduced over all
        ranks.

        They are those of the last iteration, or of the start values before the first one.
        """
        if not self.runs.types:
            return {}
        aggregates = self.running.outcome()[5]
        return {name: self._on_host(aggregates[PREFIX + name]) for name in self.runs.types}

    def _exchange_at_vertices(self, has_run: bool) -> None:
        """Replace each aggregate that has a value per vertex by its totals over all ranks, after an iteration or at the
        start.

        `has_run` is False if this rank had nothing to do in the iteration, so that it contributes nothing.
        """
        if not self.at_vertices.arrays:
            return
        arrays_by_name = self.running.outcome()[5] if has_run else {}
        own_sums = {name.removeprefix(PREFIX): on_host(array) for name, array in arrays_by_name.items()}
        self.bytes += self.at_vertices.exchange(self.communicator, own_sums if has_run else None)
        self.exchanges += 2 * len(self.at_vertices.arrays)

    # --- supersteps: an iteration on this rank, and the exchange with all ranks ---------------------------------------

    def advance(self, until: int) -> None:
        """Run supersteps on this rank, together with all other ranks, until iteration `until` or the end of the run."""
        while not self.ended and self.iteration < until:
            self.communicator.superstep = self.iteration  # error messages say in which superstep an error was raised
            self._step()

    def _step(self) -> None:
        active, aggregate_shares, counts_before = self.total, self.runs.identities, (self.exchanges, self.bytes)
        new_active = self.active[:0]
        before_apply = self._copy_fields_for_scatter()
        has_run = bool(self.runs.graph.n and (self.runs.plan.everyone or len(self.active)))
        if has_run:
            new_active, aggregate_shares = self._iterate()
        if "bucket" in self.traced.functions:
            new_active = self.functions().open(self._on_host(new_active), self.waiting)
        traversed = self._exchange(new_active, aggregate_shares, True)
        self.edges += traversed
        if "scatter" in self.traced.functions:
            scatter(self, self._on_host(self.active), before_apply)
        self._exchange_at_vertices(has_run)
        self.stopped = "stop" in self.traced.functions and bool(self.functions().call("stop"))
        self.iteration += 1
        if self.stopped:
            self.ended = True
        else:
            self._resume()
        if self.traces:
            self.rows.append(
                (active, traversed, PULL, self.exchanges - counts_before[0], self.bytes - counts_before[1])
            )

    def _copy_fields_for_scatter(self) -> dict[str, Any]:
        """Return copies of the fields that `scatter` will read at arbitrary vertices (by `self.at`).

        The copies are made before the iteration, because `scatter` sees the values from before it there.
        """
        scatter = self.traced.functions.get("scatter")
        read = set() if scatter is None else scatter.reads("other")
        return {inner(name): array.copy() for name, array in self.state.items() if inner(name) in read}

    def is_over(self) -> bool:
        """Return whether no vertex of any rank is active, so that the run is over."""
        return self.runs.whole.is_over(self.total, self.shard.n)

    def _iterate(self) -> tuple[Any, dict[str, Any]]:
        """Run one iteration of the engine on this rank, or several until it has no active vertex if the program allows
        that.

        Return this rank's own vertices that are active next, and its part of each aggregate.
        """
        running, runs = self.running, self.runs
        running.go_on(self.active, self._changed())
        target = NO_LIMIT if runs.drains else running.iteration + 1
        while not running.ended and running.iteration < target:
            running.advance(target)
        state, _, _, _, frontier, aggregates = running.outcome()
        # On a GPU no kernel writes edge fields, because `scatter` is called on the host after all ranks have exchanged
        # values. So there is nothing to fetch.
        if not self._is_on_card:
            self.edge_state = {name: state[name] for name in self.edge_state}
        self.state = {name: state[name] for name in self.state}
        aggregate_shares = {name: self._on_host(aggregates[PREFIX + name]) for name in runs.types}
        if runs.whole.keeps_active:
            return self.xp.sort(self._on_device(frontier.ids)), aggregate_shares
        # If all vertices take part in every iteration, only the number of active vertices matters. So any ids may be
        # returned.
        return self.xp.arange(min(len(frontier), self.shard.own)), aggregate_shares

    def _exchange(self, new_active: Any, aggregate_shares: Mapping[str, Any], news: bool) -> int:
        """Exchange active vertices, edge counts and aggregates with all ranks, and store the totals.

        Parameters
        ----------
        new_active : array
            This rank's own vertices that are active next.
        aggregate_shares : mapping
            This rank's part of each aggregate.
        news : bool
            Whether to send changed values of own vertices to the ranks that mirror them.

        Returns
        -------
        int
            The number of edges that all ranks together have traversed since the previous exchange.
        """
        runs, new_active, head = self.runs, self._on_device(new_active), np.zeros(1, self.runs.head)
        updates = self.exchange.updates(self.state, new_active) if news else []
        head["active"] = sum([len(update.places) for _, update in updates]) if runs.drains else len(new_active)
        head["edges"], self._edges_before = self.running.edges - self._edges_before, self.running.edges
        for name, aggregate_share in aggregate_shares.items():
            head["aggregates"][name] = aggregate_share
        self.exchanges += 1
        messages, updates_received, sent_bytes = self.exchange.swap(
            self.communicator, np.frombuffer(head, np.uint8), updates
        )
        self.bytes += sent_bytes
        active_parts = [new_active[:0] if runs.drains else new_active]
        active_parts += [self.exchange.receive(rank, update, self.state) for rank, update in updates_received]
        self.active = self.xp.concatenate(active_parts) if len(active_parts) > 1 else active_parts[0]
        if self._is_on_card:
            # copies from other GPUs' arrays must end before the ranks that own the arrays free them
            finish(self.options.device)
        message_heads = np.frombuffer(b"".join([message[: runs.head.itemsize] for message in messages]), runs.head)
        self.total = sum(message_heads["active"].tolist())
        if runs.types:
            with np.errstate(all="ignore"):
                # The parts of an aggregate are in the order of the ranks, and are added in this order. So every rank
                # gets the same bits.
                for name, monoid in runs.monoids.items():
                    self.aggregates[name] = runs.types[name].type(monoid.reduce(message_heads["aggregates"][name]))
        self.ended = self.is_over()
        return sum(message_heads["edges"].tolist())

    # --- what all ranks decide alike after a superstep: buckets, `idle` and `wake` ------------------------------------

    def functions(self) -> Functions:
        """Return an object that calls the functions of the program that run between supersteps, such as `stop`.

        It has the current values of everything that these functions read.
        """
        shard, state = self.shard, self.state | self.edge_state
        numbers = {"n": shard.n, "iteration": self.iteration, "bucket": self.bucket}
        readers_by_name = {name: functools.partial(taken, array) for name, array in self.start.global_values.items()}
        vertex, edge = ({inner(n): state[n] for n in names} for names in (self.state, self.edge_state))
        own_range = shard.first, shard.own
        functions_on_values = Functions(
            self.program, self.traced, self.parameters, numbers, vertex, edge, readers_by_name, own_range
        )
        functions_on_values.aggregates = {inner(name): value for name, value in self.aggregates.items()}
        functions_on_values.deposits = {inner(name): array for name, array in self.at_vertices.arrays.items()}
        return functions_on_values

    def _resume(self) -> None:
        """If no vertex of any rank is active, activate the vertices in the next bucket, or those that the program's
        `wake` returns.

        A bucket is the set of vertices with the same number, if the program processes vertices in the order of a
        number. Before `wake`, the program's `idle` is called, which may change parameters.
        """
        if self.total or not self.runs.whole.resumes:
            return
        functions = self.traced.functions
        if "bucket" in functions and self._open_next():
            return
        if "wake" in functions:
            self.parameters.update(self.functions().idle())
            woken = self.functions().woken(self.shard.own)
            if "bucket" in functions:
                self.waiting[woken] = True
                self._open_next()
            else:
                self._exchange(woken, self._parts_of_same_total(), True)

    def _parts_of_same_total(self) -> dict[str, Any]:
        """Return what this rank contributes to each aggregate in an exchange that must leave the totals of all ranks
        unchanged.

        The first rank contributes the totals, and all other ranks the identity.
        """
        return self.aggregates.copy() if self.communicator.rank == 0 else self.runs.identities

    def _open_next(self) -> bool:
        """Make active, on all ranks, the vertices that wait in the lowest bucket (collective).

        A bucket is the set of vertices with the same number, if the program processes vertices in the order of a
        number. Return False if no vertex of any rank waits.
        """
        ids, buckets = self.functions().ask_again(self.waiting)
        no_bucket = np.iinfo(np.int64).max
        lowest = int(np.min(self.communicator.allgather(np.array([buckets.min(initial=no_bucket)], np.int64))))
        self.exchanges += 1
        if lowest == no_bucket:
            return False
        self.bucket, opened = lowest, ids[buckets == lowest]
        self.waiting[opened] = False
        self._exchange(opened, self._parts_of_same_total(), True)
        return True


def on_host(x: Any) -> Any:
    """Copy an array that is on a GPU to the host's memory, and return the copy. Return anything else unchanged."""
    return moved(x, "cpu")
