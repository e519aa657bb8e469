"""`Plan`: what is decided about a program before it runs, the same for all engines.

For example, a plan says whether iterations push or pull, which fields have a second copy, and which data of edges a
run reads.
"""

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

import semirings
from gasla.names import given, inner
from gasla.program.fields import bounds_of
from gasla.program.hooks import ALONG, BETWEEN, COMPUTING, HOOKS, REVISING, WRITING
from gasla.program.reductions.absorbing import absorbing_fields, leaves
from gasla.program.reductions.activating import activates_on_change, change
from gasla.program.tracing import Function, Traced
from semirings import Expr, Symbol, TupleType, VectorType
from semirings.bounds import bounds
from semirings.expr import rebuilt
from semirings.operators import scalars
from semirings.types import parts_of

if TYPE_CHECKING:
    from gasla.program.frontier import Frontier

# The array from which `self.at(index)` reads a field. "only" is the array of a field that has one copy. "behind" is
# a second copy that keeps the values from before an iteration until its end. If a field has two copies that swap roles
# after each iteration, "old" is the copy from before the iteration, "left" is the copy that the iteration has written,
# and "next" is the copy that the next iteration will read. For an aggregate with a value per vertex, "reduced" are the
# values of this iteration, and "reduced before" those of the last iteration.
Where = Literal["only", "behind", "old", "left", "next", "reduced", "reduced before"]
# Names of arguments that stand for vertices. "other" stands for a vertex that is read by `self.at`.
VERTICES = ("src", "dst", "vertex", "other")
# A gathered value that consists of more numbers than this is pulled, never pushed. A push takes one atomic operation
# for each number, and one bit that marks the number as new.
MOST_PARTS = 8


class Part(NamedTuple):
    """One of the numbers that make up a gathered value, such as an item of a tuple, with the expression that combines
    two.

    The number is reduced independently of the value's other numbers.
    """

    item: int | None  # position of the number's item in the tuple, or None if no tuple is gathered
    lane: int | None  # position of the number in its vector, or None if the number is not in a vector
    combined: Expr  # expression that combines two such numbers, the symbols x and y, by the monoid

    @property
    def type(self) -> np.dtype:
        """The NumPy dtype of this number."""
        return self.combined.dtype


@dataclass(eq=False)
class Plan:
    """The decisions that all engines share about how to run one program, such as whether iterations push or pull.

    `scheduled` says that a schedule gives the vertices that receive in each iteration, so that no vertex is activated.
    `staged` says that the user's own loop calls the stages (gather, apply and so on) one by one. Gather then stores its
    values in an array, and apply marks the active vertices.
    """

    traced: Traced
    deterministic: bool = False
    scheduled: bool = False
    staged: bool = False

    def __post_init__(self) -> None:
        traced, program = self.traced, self.traced.program
        self.functions: Mapping[str, Function] = traced.functions
        self.gathers = "gather" in traced.functions
        self.components = _accumulators(traced.gathered_type) if self.gathers else []
        self.everyone = program.everyone and not self.scheduled
        self.keyed = traced.keyed
        self.takes_first = (
            self.gathers
            and self.keyed is None
            and traced.monoid.takes_first(  # type: ignore[union-attr]
                semirings.as_expr(traced.functions["gather"].result), traced.bounds("gather")
            )
        )
        # Fields into which gathered values may be reduced directly. If there are any, only active vertices have to
        # send: an inactive vertex has sent the same values in an earlier iteration.
        absorbing = self._absorbing_fields()
        self.absorbs = () if self.deterministic or self.scheduled or not self.parts else absorbing
        conflict, looked_up = set() if self.absorbs else traced.gathers_what_apply_writes, traced.looked_up
        # fields that other vertices may read at the moment at which a vertex writes them
        self.in_place: set[str] = set()
        if program.order == "in place":
            self.in_place = conflict | looked_up
            self._check_in_place(conflict)
            conflict, looked_up = set(), set()
        # If every vertex receives in each iteration, fields that other vertices read while they are written have two
        # copies: an iteration reads one and writes the other.
        self.doubled = conflict | looked_up if self.everyone else set()
        floats = [
            n
            for n, aggregate in traced.deposits.items()
            if traced.deposit_types[n].kind == "f" and not aggregate.monoid.idempotent
        ]
        if self.deterministic and floats:
            raise ValueError(
                f"{program.__name__}.{given(floats[0])} reduces floats at vertices by "
                f"{traced.deposits[floats[0]].monoid.name}, in any order; expected integers, or an order that "
                "doesn't matter, with deterministic=True"
            )
        # Any other field that functions read by `self.at` while it is written has a second copy too. This copy keeps
        # the values from before the iteration. At the end of the iteration, the vertices that received update the copy.
        self.behind = looked_up - self.doubled
        # An edge field also has a second copy if scatter both writes the field and reads it of the reverse edge, as
        # another thread may be writing the reverse edge's value at that moment.
        scatter = traced.functions.get("scatter")
        self.edges_behind = set() if scatter is None else scatter.reads("back") & scatter.result.keys()
        if self.staged and self.edges_behind:
            raise TypeError(
                f"{program.__name__}.scatter writes {given(min(self.edges_behind))!r} and reads its old value of "
                "partners; stages have no iterations that would define it: expected gasla.run"
            )
        if self.staged and traced.looks_up:
            raise TypeError(
                f"{program.__name__} reads or reduces at other vertices, by their values before an iteration; "
                "stages have no iterations that would define these: expected gasla.run"
            )
        self.two_phases = self.staged or (bool(conflict) and not self.everyone)
        self.active_only = (not self.scheduled or self.staged) and (program.sources == "active" or bool(absorbing))
        self.keeps_active = self.active_only or bool(
            not self.scheduled and (not self.everyone or {"scatter", "wake"} & traced.hooks)
        )
        # Functions that change the vertices that received once more. Each runs over these vertices in a pass of its
        # own.
        self.revising = [name for name in REVISING if name in traced.functions]
        self.keeps_receivers = self.two_phases or bool(self.revising or self.behind)
        self.pushes = self.reason_to_pull is None
        self.push_at_once = bool(
            self.pushes and self.takes_first and not self.keeps_receivers and not {"activate", "bucket"} & traced.hooks
        )
        self.prioritised = "priority" in traced.functions and bool(self.absorbs)
        if self.scheduled and not self.staged:
            self.functions = {name: f for name, f in traced.functions.items() if name != "activate"}
        elif "apply" in traced.functions and "activate" not in traced.functions:
            self.functions = {**traced.functions, "activate": change(traced)}

    def _check_in_place(self, conflict: set[str]) -> None:
        """Raise an error if the program can't run with `order = "in place"`.

        With this order, functions read new values as soon as they are written. `conflict` are the fields that gather
        reads of neighbors and that apply writes in the same iteration.
        """
        cls, field_types = self.traced.program, self.traced.vertex_types
        problem = f"{cls.__name__} runs in place, where the values read depend on the order of threads; expected "
        if self.deterministic:
            raise ValueError(f"{problem}deterministic=False, or order='synchronous'")
        if self.scheduled:
            instead = "stages" if self.staged else "a schedule, whose vertices read each other's old values"
            raise ValueError(f"{problem}order='synchronous' for {instead}")
        if conflict and cls.sources == "active":
            raise ValueError(
                f"{problem}sources = 'all': {given(min(conflict))} of an active neighbor may change before it is read, "
                "and be read again in the next iteration"
            )
        for name in sorted(self.in_place):
            if not isinstance(field_types[name], np.dtype):
                raise TypeError(
                    f"{cls.__name__}.{given(name)} is {field_types[name]}, and read while it is written, as the "
                    "program runs in place; expected a single number, which is written atomically, or "
                    "order='synchronous'"
                )

    @functools.cached_property
    def final(self) -> Expr | None:
        """The test whether a gathered value can no longer change, so that its reduction may end early.

        It is an expression of the symbol `x`, the value so far, or None if the monoid has no such value. For floats
        only the monoid `any` has one: every other float may still change to NaN.
        """
        monoid, gathered_type = self.traced.monoid, self.traced.gathered_type if self.gathers else None
        if monoid is None or self.keyed is not None or (terminal_value := monoid.terminal(gathered_type)) is None:
            return None
        is_number = isinstance(gathered_type, np.dtype) and gathered_type.kind != "f"
        return monoid.is_final(Symbol("x", gathered_type)) if is_number or terminal_value is semirings.ANY else None

    @property
    def stages(self) -> list[str]:
        """The names of the stages, such as "gather" and "apply", that a user's own loop over the program calls one by
        one.
        """
        hook_stages = (HOOKS[name].stage for name in self.functions if name in HOOKS)
        return [*dict.fromkeys(("apply", *filter(None, hook_stages)))]

    @property
    def has_buckets(self) -> bool:
        """Whether activated vertices wait in buckets, as in programs with the function `bucket`.

        A run opens the lowest bucket that is not empty when no vertex is active.
        """
        return "bucket" in self.functions and not self.staged

    @property
    def resumes(self) -> bool:
        """Whether a run may go on although no vertex is active.

        It then opens the next bucket, or `wake` activates vertices.
        """
        return self.has_buckets or ("wake" in self.functions and not self.staged)

    @functools.cached_property
    def stop_sees_fields(self) -> bool:
        """Whether `stop` reads a field from an array that the next iteration writes.

        If so, threads wait for each other after `stop` and before the next iteration.
        """
        read = self.functions["stop"].reads("other") if "stop" in self.functions else set()
        return bool(read & self.traced.writes(*WRITING) - self.doubled - self.behind)

    def where_found(self, function: str, field: str) -> Where:
        """Return from which of a field's arrays a function reads the field of another vertex by `self.at`.

        Fields may have several arrays, such as the values before and after an iteration. The result is one of the words
        that `Where` explains, such as "old".
        """
        if field in self.traced.deposits:
            return "reduced" if function == "stop" else "reduced before"
        if field in self.behind:
            return "behind"
        if field not in self.doubled:
            return "only"
        return "old" if function not in BETWEEN else "left" if function == "stop" else "next"

    @functools.cached_property
    def changes(self) -> list[str]:
        """The names of the parameters that the program's `idle` changes during a run.

        There are none in a user's own loop over stages, because such a loop does not call `idle`.
        """
        return [] if self.staged or "idle" not in self.functions else list(self.functions["idle"].result)

    @functools.cached_property
    def ends_when_still(self) -> bool:
        """Whether a run ends once no vertex is active. If not, only `stop` or `max_iterations` ends it.

        Without `everyone`, a vertex receives only from active vertices, so a run without active vertices is over. With
        `everyone`, a run is over if `apply` changed no vertex, as the next iteration would compute the same values
        again. This is not certain if a function also reads something that differs in the next iteration
        (`what_varies`). A program with `activate` or `wake` decides itself which vertices are active, and so when its
        run ends.
        """
        return self.staged or not self.everyone or not self.is_active_by_change or self.what_varies is None

    @functools.cached_property
    def what_varies(self) -> tuple[str, str] | None:
        """Name a reason why a run may go on after an iteration in which `apply` changes no field.

        None means that there is no such reason. A reason is a pair of names: a function of the program, and a value
        that this function reads. The function is one of those that determine new fields of vertices, such as `gather`
        and `apply` (the tuple COMPUTING has them all). The value is one that may differ in the next iteration although
        `apply` has changed nothing:

        - the number of the iteration;
        - a field that a hook writes after `apply`, because the hook can change the field once more;
        - an aggregate that depends on more than the fields that all vertices have after the iteration.
        """
        traced, later = self.traced, self.traced.revised
        numbers = {"iteration", *traced.aggregates, *traced.deposits}
        varying = {
            name
            for name in numbers - {"iteration"}
            if "mask" in traced.functions
            or any(
                source_role == "before" or field in (numbers if source_role == "self" else later)
                for source_role, field in self._values_read(name)
            )
        }
        return self.find_read({"iteration", *varying}, later | varying)

    def first_active(self, given: "Frontier") -> "Frontier":
        """Return the vertices that are active when a run starts, where `given` are the vertices that the caller asks
        for.

        This is `given`, if the run keeps track of active vertices. Otherwise all vertices are active, unless `given` is
        empty.
        """
        return given if self.keeps_active or not len(given) else type(given).all(given.n)

    def is_over(self, left: int, n: int) -> bool:
        """Return whether a run ends when `left` of the graph's n vertices are active or wait in buckets.

        It ends if `left` is 0. A run that only `stop` can end goes on nevertheless, unless the graph has no vertices.
        """
        return left == 0 if self.ends_when_still else n == 0

    @property
    def is_active_by_change(self) -> bool:
        """Whether the active vertices are exactly those whose fields `apply` has changed."""
        return not {"activate", "wake"} & self.traced.functions.keys()

    def find_read(self, of_self: Collection[str], of_vertices: Collection[str]) -> tuple[str, str] | None:
        """Return the first function of the program that reads any of the given names, together with that name.

        Return None if there is no such function. Only functions that determine the new fields of a vertex are searched,
        such as `gather` and `apply`. `of_self` are names of attributes of `self`, and `of_vertices` are names of vertex
        fields.
        """
        for name in COMPUTING:
            for source_role, field in self._values_read(name):
                if field in (of_self if source_role == "self" else of_vertices if source_role in VERTICES else ()):
                    return name, f"self.{given(field)}" if source_role == "self" else given(field)
        return None

    def _values_read(self, name: str) -> list[tuple[str, str]]:
        """Return what the function `name` of the program reads, as sorted pairs of an argument and a field of the
        argument.

        An example is ("src", "level"). The list is empty if the program does not have the function.
        """
        function = self.traced.functions.get(name)
        return [] if function is None else sorted(function.sources[symbol.name] for symbol in function.symbols)

    @functools.cached_property
    def never_ends(self) -> bool:
        """Whether only `max_iterations` ends a run.

        This holds if the program has no `stop`, and either some vertex is always active or runs go on without active
        vertices.
        """
        if not self.everyone or "stop" in self.functions:
            return False
        return not self.ends_when_still or (self._is_always_true("activate") and "mask" not in self.functions)

    @functools.cached_property
    def measures_first(self) -> bool:
        """Whether aggregates are also computed over the start values of all vertices, before the first iteration.

        This is needed if the first iteration reads an aggregate, or if the aggregates after an iteration do not cover
        all vertices.
        """
        return bool(self.traced.measures) and (self.traced.reads_ahead or not self.everyone)

    @property
    def always_wakes(self) -> bool:
        """Whether a run never ends because `wake` activates every vertex again.

        This requires that neither buckets nor `stop` can end the run.
        """
        return self._is_always_true("wake") and not {"bucket", "stop"} & self.functions.keys()

    def _is_always_true(self, test: str) -> bool:
        """Return whether one of the program's functions, `test`, returns True for every vertex, whatever its fields
        are.
        """
        function = self.functions.get(test)
        return function is not None and function.result is semirings.as_expr(np.bool_(True))

    @functools.cached_property
    def adds_up(self) -> bool:
        """Whether priorities are sums of edge values along a path, as distances are.

        If so, the width of a bucket (the range of priorities that are processed together) is chosen from the edge
        values.
        """
        if not self.prioritised:
            return False
        gather, field_numbers = self.functions["gather"], leaves(self.traced, "src", self.absorbs)
        values = [("edge", name) for name in self.edge_values]
        for value, accumulator, leaf in zip(
            scalars(semirings.as_expr(gather.result)), self.parts, field_numbers, strict=True
        ):
            x, y = (Symbol(name, accumulator.type) for name in "xy")
            terms = _terms_of_sum(value)
            added = [term for term in terms if term is not leaf]
            if accumulator.combined is not semirings.minimum(x, y) or len(terms) != 2 or len(added) != 1:
                return False
            if gather.sources.get(added[0].payload) not in values:
                return False
        return _operands_of_minimum(self.functions["priority"].result, _uncast) == set(
            leaves(self.traced, "vertex", self.absorbs)
        )

    @functools.cached_property
    def closes(self) -> bool:
        """Whether a vertex that the mask has refused once stays refused, so that a bitmap can record it as closed.

        `apply` never runs for a refused vertex, so its fields stay the same. If the mask reads nothing else that may
        change, its answer stays the same too.
        """
        mask = self.functions.get("mask")
        if mask is None or not self.push_at_once or not self.traced.settles or self.changes:
            return False
        roles = {mask.sources[symbol.name] for symbol in mask.symbols}
        constant = self.traced.parameter_types.keys() - self.traced.changing
        return all(source_role == "vertex" or name in constant for source_role, name in roles)

    @functools.cached_property
    def applies_once(self) -> bool:
        """Whether the mask refuses every vertex for which `apply` has run, so that it runs at most once per vertex.

        This holds in searches: the mask compares a field with a constant, and apply writes a value beyond it.
        """
        if not self.closes:
            return False
        mask, applied = self.functions["mask"], self.functions["apply"].result
        test = mask.result
        if test.op not in ("less", "less_equal", "equal") or [x.op for x in test.args] != ["symbol", "constant"]:
            return False
        tested, limit = test.args
        source_role, name = mask.sources[tested.payload]
        smallest_applied = bounds(applied[name], self.traced.bounds("apply"))[0] if source_role == "vertex" else -np.inf
        return bool(smallest_applied >= limit.payload if test.op == "less" else smallest_applied > limit.payload)

    @functools.cached_property
    def ranks_least(self) -> bool:
        """Whether a vertex's priority is the minimum of those fields into which gathered values are reduced directly.

        If so, a push that lowers one of these fields can lower the priority without reading the other fields.
        """
        priority = self.functions["priority"].result if self.prioritised else None
        return priority is not None and _operands_of_minimum(priority) == set(
            leaves(self.traced, "vertex", self.absorbs)
        )

    @functools.cached_property
    def lane_gather(self) -> Function | None:
        """The program's `gather` as a function that computes one item of a vector, for a warp whose threads compute all
        items.

        It is None if items are computed in different ways. In this function, the symbol of a vector field stands for
        one item of the vector.
        """
        gathered_type, gather = self.traced.gathered_type, self.functions["gather"]
        if not isinstance(gathered_type, VectorType) or not self.parts:
            return None
        distinct = {
            rebuilt(value, functools.partial(_item_symbol, lane))
            for lane, value in enumerate(scalars(semirings.as_expr(gather.result)))
        }
        result = distinct.pop()
        symbols = tuple(symbol for symbol in semirings.free_symbols(result) if isinstance(symbol, Symbol))
        if (
            distinct
            or len({accumulator.combined for accumulator in self.parts}) > 1
            or any(_is_vector(symbol) for symbol in symbols)
        ):
            return None
        return Function("lane", result, symbols, gather.sources)

    @property
    def only_pushes(self) -> bool:
        """Whether every iteration pushes, as in programs with priorities: few of their vertices are active at once."""
        return self.prioritised and not self.staged

    @property
    def only_pulls(self) -> bool:
        """Whether every iteration pulls, so that a run keeps no list of the vertices that receive.

        It is False here. Engines override this, and pull on small graphs, where pulling is faster.
        """
        return False

    @property
    def is_tuple(self) -> bool:
        """Whether the program gathers a tuple, not a single number or a vector."""
        return self.gathers and isinstance(self.traced.gathered_type, TupleType)

    @functools.cached_property
    def absorption(self) -> tuple[str, ...] | str:
        """The fields into which gathered values may be reduced directly, or a sentence that says why there are none."""
        fields = absorbing_fields(self.traced)
        if isinstance(fields, tuple) and not activates_on_change(self.traced, fields):
            return "activate asks for more than whether a value changed"
        return fields

    def _absorbing_fields(self) -> tuple[str, ...]:
        is_absorbing = not self.traced.program.everyone and isinstance(self.absorption, tuple)
        return self.absorption if is_absorbing else ()  # type: ignore[return-value]

    @functools.cached_property
    def parts(self) -> list[Part]:
        """The numbers that make up a gathered value, each with the expression that combines two of them.

        The list is empty if the numbers are not reduced independently of each other, or if they are too many to be
        pushed one by one.
        """
        if not self.gathers or self.keyed is not None:
            return []
        gathered_type, monoid = self.traced.gathered_type, self.traced.monoid
        assert monoid is not None
        positions = _positions(gathered_type)
        if len(positions) > MOST_PARTS or (combinations := semirings.independent(monoid, gathered_type)) is None:
            return []
        return [Part(*position, e) for position, e in zip(positions, combinations, strict=True)]

    @functools.cached_property
    def is_single(self) -> bool:
        """Whether the program gathers a single number, not a tuple or a vector."""
        return self.gathers and isinstance(self.traced.gathered_type, np.dtype)

    @functools.cached_property
    def reason_to_pull(self) -> str | None:
        """The reason why active vertices never push, as a clause of a sentence, or None if they may push.

        They may push if that gives the same result as a pull.
        """
        cls, monoid = self.traced.program, self.traced.monoid
        if monoid is None:
            return "nothing is gathered"
        if self.keyed is not None:
            return "values are reduced by key, at the receiver"
        if self.scheduled:
            return "the receivers of each iteration are known ahead"
        if self.everyone:
            return "everyone = True: every vertex gathers in every iteration"
        if self.deterministic:
            return "deterministic=True: pushed values arrive in any order"
        if cls.sources != "active" and isinstance(self.absorption, str):
            return f"values of inactive neighbors count as well (sources = 'all'): {self.absorption}"
        if not monoid.commutative:
            return f"{monoid.name} depends on the order of values: it is not commutative"
        if self.traced.held is not None:
            return f"{monoid.name} has no identity, so that each pushed value would need a flag"
        if not (self.parts or self.takes_first):
            return f"{_describe_gathered(self.traced.gathered_type)} {self._why_whole()}"
        return None

    def _why_whole(self) -> str:
        assert self.traced.monoid is not None
        if sum(getattr(component, "length", 1) for component in parts_of(self.traced.gathered_type)) > MOST_PARTS:
            return f"has over {MOST_PARTS} numbers, more than are pushed one by one"
        return f"is combined as a whole by {self.traced.monoid.name}: no atomic operation does that"

    @functools.cached_property
    def used(self) -> set[tuple[str, str]]:
        """What the program's functions read, as pairs such as ("src", "level"): the field `level` of `src`."""
        return {function.sources[symbol.name] for function in self.functions.values() for symbol in function.symbols}

    @functools.cached_property
    def edge_values(self) -> list[str]:
        """The read-only edge fields that some function of the program reads. They hold the matrix's values or edge
        attributes.
        """
        return [n for n in self.traced.edge_types if n not in self.edge_states and ("edge", n) in self.used]

    @functools.cached_property
    def edge_states(self) -> list[str]:
        return [inner(n) for n, edge_field in self.traced.program.edge_fields.items() if not edge_field.is_value]

    @functools.cached_property
    def starting(self) -> dict[str, tuple[Any, Any]]:
        """The vertex and edge fields that a caller may give start values for, each with its type and the range of its
        numbers.

        For floats, None stands in place of the range.
        """
        field_types = {**self.traced.vertex_types, **{n: self.traced.edge_types[n] for n in self.edge_states}}
        return {name: (field_type, bounds_of(field_type)) for name, field_type in field_types.items()}

    @functools.cached_property
    def back_values(self) -> list[str]:
        """The read-only edge fields that some function of the program reads of an edge's reverse edge (`edge.back`)."""
        return [n for n in self.traced.edge_types if n not in self.edge_states and ("back", n) in self.used]

    def _edge_roles(self, *names: str) -> set[str]:
        """Return what the named functions of the program read of an edge: names of fields, "id" and "leaves".

        "back" is included if a function reads anything of the reverse edge.
        """
        functions = [self.functions[n] for n in names if n in self.functions]
        fields = {function_field for function in functions for function_field in function.reads("edge")}
        return fields | ({"back"} if any(function.reads("back") for function in functions) else set())

    @functools.cached_property
    def _read_in_lists(self) -> tuple[set[str], set[str]]:
        """What the program's functions read of edges, as two sets of names, such as fields and "id".

        The first set is read in the adjacency lists over which vertices gather. The second is read in the adjacency
        lists that lead from active vertices to those that receive.
        """
        names = ("gather", "edge_mask", "scatter") if self.pushes else ("edge_mask", "scatter")
        return self._edge_roles(*ALONG), self._edge_roles(*names)

    @functools.cached_property
    def needs_gather_ids(self) -> bool:
        return bool(self._read_in_lists[0] & {"id", *self.edge_states})

    @functools.cached_property
    def needs_send_ids(self) -> bool:
        return "scatter" in self.functions or bool(self._read_in_lists[1] & {"id", *self.edge_states})

    @functools.cached_property
    def knows_partners(self) -> bool:
        """Whether any function of the program reads an edge's partner, which is the edge in the other direction."""
        return any(source_role == "back" for source_role, _ in self.used)

    @functools.cached_property
    def needs_gather_partners(self) -> bool:
        return "back" in self._read_in_lists[0]

    @functools.cached_property
    def needs_send_partners(self) -> bool:
        return "back" in self._read_in_lists[1]

    @functools.cached_property
    def needs_leaving(self) -> bool:
        """Whether a run reads which entries of adjacency lists of both directions are out-edges."""
        return self.scatters_from_tails or ("edge", "leaves") in self.used

    @functools.cached_property
    def reduces_in_order(self) -> bool:
        """Whether a vertex reduces the values of its edges in the order in which the graph's input had the edges."""
        monoid = self.traced.monoid
        if monoid is None or not monoid.commutative:
            return monoid is not None
        is_sum = self.keyed is not None and self.keyed.total.kind == "f" and not monoid.idempotent
        return is_sum and self.deterministic

    @functools.cached_property
    def sums_in_order(self) -> bool:
        """Whether the vertices' values are added to aggregates in ascending order of the vertices' ids.

        Deterministic runs do this for floats, as a sum of floats is rounded differently in another order.
        """
        return self.deterministic and any(dtype.kind == "f" for dtype in self.traced.aggregate_types.values())

    @functools.cached_property
    def scatters_from_tails(self) -> bool:
        """Whether the program's `scatter` runs on edges in adjacency lists that contain every edge twice, once at each
        end.

        It then skips one of the two entries.
        """
        return "scatter" in self.functions and self.traced.program.direction == "all"

    @functools.cached_property
    def sends(self) -> bool:
        """Whether a run ever traverses the edges that lead from active vertices to those that receive."""
        if self.scheduled:
            return self.staged and bool({"scatter", "edge_mask"} & self.functions.keys())
        return not self.everyone or "scatter" in self.functions

    @functools.cached_property
    def degrees(self) -> set[str]:
        return {field_name for source_role, field_name in self.used if field_name in ("in_degree", "out_degree")}


def _terms_of_sum(e: Expr) -> list[Expr]:
    """Return the terms of an expression that is a sum: a, b and c for `a + (b + c)`. Casts are removed.

    If the expression is not a sum, the result has the expression alone.
    """
    if e.op == "cast":
        return _terms_of_sum(e.args[0])
    return [term for operand in e.args for term in _terms_of_sum(operand)] if e.op == "add" else [e]


def _operands_of_minimum(e: Expr, look: Callable[[Expr], Expr] = lambda e: e) -> set[Expr]:
    """Return the operands of nested minima in an expression: a, b and c for `minimum(a, minimum(b, c))`.

    `look` is called on each expression first, for example to remove its casts.
    """
    e = look(e)
    return _operands_of_minimum(e.args[0], look) | _operands_of_minimum(e.args[1], look) if e.op == "minimum" else {e}


def _uncast(e: Expr) -> Expr:
    return _uncast(e.args[0]) if e.op == "cast" else e


def _is_vector(e: Expr) -> bool:
    return isinstance(e.type, VectorType)


def _item_symbol(lane: int, e: Expr, _: Any) -> Expr | None:
    """Return a symbol with the name of a vector field if the expression `e` is item `lane` of that field, else None.

    With these symbols in a function's result for each item, the results are equal if all items are computed in the same
    way.
    """
    is_own = e.op == "item" and e.payload == lane and _is_vector(e.args[0]) and isinstance(e.args[0], Symbol)
    return Symbol(str(e.args[0].payload), e.type) if is_own else None


def _positions(value_type: Any) -> list[tuple[int | None, int | None]]:
    """Return the position of each number in a gathered value of type `value_type`, as a pair.

    The first of the pair is the position of the number's item in the gathered tuple, or None if no tuple is gathered.
    The second is the position of the number in its vector, or None if the number is not in a vector.
    """
    items = list(enumerate(value_type.items)) if isinstance(value_type, TupleType) else [(None, value_type)]
    return [(item, lane) for item, k in items for lane in (range(k.length) if isinstance(k, VectorType) else [None])]


def _describe_gathered(value_type: Any) -> str:
    return f"the gathered value, {'a tuple' if isinstance(value_type, TupleType) else 'a vector'},"


def _accumulators(value_type: Any) -> list[tuple[str, Any]]:
    """Return the names and types of the arrays that hold gathered values: one array, or one per item of a tuple."""
    if isinstance(value_type, TupleType):
        return [(f"acc_{i}", k) for i, k in enumerate(value_type.items)]
    return [("acc", value_type)]
